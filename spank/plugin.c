/* SPDX-License-Identifier: GPL-2.0-or-later */
/* spank_pmm.so: which context does what.
 *
 * Slurm heeds -1 only of a plugin that is `required` in plugstack.conf; there,
 * -1 on a node can drain it. So -1 is returned where a job is vetoed, and for
 * bad arguments in srun, salloc and sbatch; everything else returns 0.
 */
#include "config.h"

#include <slurm/spank.h>

#include "spank/options.h"
#include "spank/slurmstepd.h"
#include "spank/srun.h"

SPANK_PLUGIN (pmm, 1)

int slurm_spank_init (spank_t sp, int argc, char **argv)
{
    (void)argc;
    (void)argv;
    switch (spank_context ()) {
    case S_CTX_LOCAL:
    case S_CTX_ALLOCATOR:
    case S_CTX_REMOTE:
        if (options_register (sp) < 0)
            slurm_error ("pmm: Slurm does not take our options");
        break;
    default:
        break;
    }
    return 0;
}

int slurm_spank_init_post_opt (spank_t sp, int argc, char **argv)
{
    switch (spank_context ()) {
    case S_CTX_LOCAL:
        options_tell_hooks (sp);
        return srun_check_early (argc, argv);
    case S_CTX_ALLOCATOR:
        options_tell_hooks (sp);
        return 0;
    default:
        return 0;
    }
}

int slurm_spank_local_user_init (spank_t sp, int argc, char **argv)
{
    return spank_context () == S_CTX_LOCAL ? srun_check (sp, argc, argv) : 0;
}

int slurm_spank_task_init (spank_t sp, int argc, char **argv)
{
    return spank_context () == S_CTX_REMOTE ? slurmstepd_check (sp, argc, argv)
                                            : 0;
}
