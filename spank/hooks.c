/* SPDX-License-Identifier: GPL-2.0-or-later */
/* spank_pmm_hooks.so: pmm-prolog and pmm-epilog by way of SPANK.
 *
 * A plugin of its own: slurmd starts a slurmstepd before and after each job on
 * each node as soon as any plugin has these callbacks, which a site is not to
 * pay for that does not use them. They return 0 always: a hook of a `required`
 * plugin that fails drains the node.
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
