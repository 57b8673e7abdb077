/* SPDX-License-Identifier: GPL-2.0-or-later */
/* spank_pmm_hooks.so: run pmm-prolog and pmm-epilog by SPANK.
 *
 * This is a separate plugin: if any plugin has these callbacks, slurmd starts a
 * slurmstepd before and after each job on each node. Sites that do not use the
 * hooks should not pay for that. The callbacks always return 0, because a
 * failing hook of a `required` plugin drains the node.
 *
 * The programs need some variables of our environment, which is the one that
 * slurmd gives to Prolog. spank_job_control_getenv crashes here (22.05).
 */
#include "config.h"

#include <slurm/spank.h>
#include <stdio.h>
#include <stdlib.h>

#include "util/clock.h"
#include "util/conf.h"
#include "util/program.h"
#include "util/site.h"

SPANK_PLUGIN (pmm_hooks, 1)

enum { DEADLINE_MS = 2000 }; /* in case the program's own deadline fails */

static const char *const passed[] = {
    "SLURMD_NODENAME",
    "SLURM_JOB_ID",
    "SLURM_JOB_NODELIST",
    "SLURM_JOB_PARTITION",
    "SLURM_NODELIST",
    "SPANK_PMM_CHECK",
};

static void run_hook_program (char *path, char *conf)
{
    char *with_conf[] = { path, (char *)"--conf", conf, NULL };
    char *plain[] = { path, NULL };
    static char *const none[] = { NULL };
    struct program_words words = { 0 };
    struct program program = {
        .argv = *conf ? with_conf : plain,
        .deadline_ms = clock_ms () + DEADLINE_MS,
    };
    const char *value;
    char **env;
    int status;

    for (size_t i = 0; i < sizeof (passed) / sizeof (passed[0]); i++)
        if ((value = getenv (passed[i])))
            program_add (&words, "%s=%s", passed[i], value);
    env = program_words_end (&words);
    program.env = env ? env : none;
    program_run (&program, &status);
    program_free (env);
}

static void run_hook (const char *program, int argc, char **argv)
{
    struct site site;
    char *path;

    if (conf_defaults (site_options, &site) < 0)
        return;
    for (int i = 0; i < argc; i++)
        conf_set_word (site_options, &site, argv[i], NULL);
    if (*site.hooks && asprintf (&path, "%s/%s", site.hooks, program) >= 0) {
        run_hook_program (path, site.conf);
        free (path);
    }
    site_clear (&site);
}

int slurm_spank_job_prolog (spank_t sp, int argc, char **argv)
{
    (void)sp;
    run_hook ("pmm-prolog", argc, argv);
    return 0;
}

int slurm_spank_job_epilog (spank_t sp, int argc, char **argv)
{
    (void)sp;
    run_hook ("pmm-epilog", argc, argv);
    return 0;
}
