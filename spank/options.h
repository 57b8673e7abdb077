/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The settings of the user and of the site: the SPANK options
 * --pmm-check[=MODE] and --pmm-output=PATH, pmm.conf, and the plugin's
 * arguments in plugstack.conf.
 */
#ifndef SPANK_OPTIONS_H
#define SPANK_OPTIONS_H

#include <slurm/spank.h>
#include <stdbool.h>

#include "util/error.h"
#include "util/site.h"

enum check_mode { MODE_OFF, MODE_REPORT, MODE_REQUIRE };

struct settings {
    struct site site;        /* pmm.conf, then the words */
    const char *const *word; /* key=value of plugstack.conf, borrowed */
    int words;
    bool asked;              /* the user gave --pmm-check or --pmm-output: only
                                then is the user told why there is no check */
    bool chosen;             /* the user gave --pmm-check ... */
    enum check_mode mode;    /* ... with this mode */
    const char *output;      /* --pmm-output, or NULL; borrowed */
};

/* Register the options. Call it in slurm_spank_init of every context that
 * parses options. A bad argument is an error only in srun, salloc and sbatch,
 * because on a node an error could drain the node.
 */
int options_register (spank_t sp);

/* Tell the hooks of the job the mode that the user asked for, as
 * SPANK_PMM_CHECK in their environment; in the srun of a check, that this is
 * one. Call it in slurm_spank_init_post_opt of srun, salloc and sbatch.
 */
void options_tell_hooks (spank_t sp);

/* Fill s with the user's options and those of the site. Return 0, or -1 with
 * err; the user's options are valid even then. Call settings_clear in both
 * cases.
 */
int settings_read (struct settings *s, int argc, char **argv,
                   struct error *err);
void settings_clear (struct settings *s);

/* False if the mode is off for jobs of all partitions. */
bool settings_any (const struct settings *s);

/* The mode of a job in this partition. --pmm-output alone turns `off` into
 * `report`.
 */
enum check_mode settings_mode (const struct settings *s,
                               const char *partition);

/* True if the output is a file, not a directory: its name ends in .json. */
bool settings_one_file (const struct settings *s);

#endif /* SPANK_OPTIONS_H */
