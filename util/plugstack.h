/* SPDX-License-Identifier: GPL-2.0-or-later */
/* plugstack.conf: the file that tells Slurm which plugins to load.
 *
 * Lines `required|optional PATH [WORD]...` and `include PATTERN`; a pattern may
 * be relative to the file that contains it. '#' starts a comment.
 */
#ifndef UTIL_PLUGSTACK_H
#define UTIL_PLUGSTACK_H

#include <limits.h>
#include <stdbool.h>

#include "util/error.h"

enum { PLUGSTACK_LINE = 4096 }; /* bytes that Slurm reads of a line */

struct plugstack_line {
    bool required;
    char path[PLUGSTACK_LINE];  /* of the plugin, as written */
    char words[PLUGSTACK_LINE]; /* after it, separated by one space */
    char file[PATH_MAX];        /* that contains the line */
    int lineno;
};

/* Find the first line, in the file at `path` and the files that it includes,
 * with a plugin whose file name is `name`, in any directory. Return 1; 0 if
 * there is none; -1 with err if none was found but not everything could be
 * read.
 */
int plugstack_find (const char *path, const char *name,
                    struct plugstack_line *line, struct error *err);

/* What our plugin has for who looks at its bytes: only srun can load it. */
#define PLUGIN_BUILT "slurm-pmm for Slurm"
struct plugin_built {
    char text[20]; /* PLUGIN_BUILT */
    unsigned int version; /* SLURM_VERSION_NUMBER of its headers */
};

#endif /* UTIL_PLUGSTACK_H */
