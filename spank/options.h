/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the user asked for and what the site says, in one place: the SPANK
 * options --pmm-check[=MODE] and --pmm-output=PATH, pmm.conf, and the words
 * behind the plugin's name in plugstack.conf.
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
                                then are troubles of a check the user's */
    bool chosen;             /* the user gave --pmm-check, */
    enum check_mode mode;    /* and this with it */
    const char *output;      /* --pmm-output, or NULL; borrowed */
};

/* Register the options; due in slurm_spank_init of every context that parses
 * options. A bad argument is an error in srun, salloc and sbatch only: on a
 * node it would drain it.
 */
int options_register (spank_t sp);

/* Pass on to the hooks of the job, as SPANK_PMM_CHECK in their environment,
 * that the user asked for a check, and how; or, in the srun of a check, that
 * this is one. Due in slurm_spank_init_post_opt of srun, salloc and sbatch.
 */
void options_tell_hooks (spank_t sp);

/* Fill s with what was asked and with the site's options. Return 0, or -1
 * with err (what was asked is valid even then). settings_clear is due in both
 * cases.
 */
int settings_read (struct settings *s, int argc, char **argv,
                   struct error *err);
void settings_clear (struct settings *s);

/* True unless the mode is off for a job of any partition. */
bool settings_any (const struct settings *s);

/* The mode of a job in this partition. Who wants the output wants a check. */
enum check_mode settings_mode (const struct settings *s,
                               const char *partition);

/* True if the output is one file, and not a directory: its name ends as JSON
 * files do.
 */
bool settings_one_file (const struct settings *s);

#endif /* SPANK_OPTIONS_H */
