/* SPDX-License-Identifier: GPL-2.0-or-later */
/* spank_pmm_hooks.so: run pmm-prolog and pmm-epilog by SPANK.
 *
 * This is a separate plugin: if any plugin has these callbacks, slurmd starts a
 * slurmstepd before and after each job on each node. Sites that do not use the
 * hooks should not pay for that. The callbacks always return 0, because a
 * failing hook of a `required` plugin drains the node.
 */
#include "config.h"

#include <slurm/spank.h>

#include "spank/jobhook.h"

SPANK_PLUGIN (pmm_hooks, 1)

int slurm_spank_job_prolog (spank_t sp, int argc, char **argv)
{
    (void)sp;
    jobhook_run ("pmm-prolog", argc, argv);
    return 0;
}

int slurm_spank_job_epilog (spank_t sp, int argc, char **argv)
{
    (void)sp;
    jobhook_run ("pmm-epilog", argc, argv);
    return 0;
}
