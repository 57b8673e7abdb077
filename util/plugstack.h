/* SPDX-License-Identifier: GPL-2.0-or-later */
/* plugstack.conf: how Slurm is told to load a plugin.
 *
 * Lines `required|optional PATH [WORD]...` and `include PATTERN`, which may be
 * relative to the file that has it; # starts a comment.
 */
#ifndef UTIL_PLUGSTACK_H
#define UTIL_PLUGSTACK_H

#include <limits.h>
#include <stdbool.h>

#include "util/error.h"

enum { PLUGSTACK_LINE = 4096 }; /* bytes that Slurm reads of one */

struct plugstack_line {
    bool required;
    char path[PLUGSTACK_LINE];  /* of the plugin, as it is written */
    char words[PLUGSTACK_LINE]; /* behind it, one space between them */
    char file[PATH_MAX];        /* that has the line */
    int lineno;
};

/* Find the first line of the file at `path`, and of those that it includes,
 * that names a plugin whose file is `name`, in whatever directory. Return 1;
 * 0 where there is none; -1 with err where there is none in what could be
 * read, but not all could.
 */
int plugstack_find (const char *path, const char *name,
                    struct plugstack_line *line, struct error *err);

#endif /* UTIL_PLUGSTACK_H */
