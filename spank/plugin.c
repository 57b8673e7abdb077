/* SPDX-License-Identifier: GPL-2.0-or-later */
/* spank_pmm.so: which context does what.
 *
 * Slurm heeds -1 only of a plugin that is `required` in plugstack.conf; there,
 * -1 on a node can drain it. So -1 is returned where a job is vetoed, and for
 * bad arguments in srun, salloc and sbatch; everything else returns 0.
 */
#include "config.h"

#include <pthread.h>
#include <signal.h>
#include <slurm/spank.h>
#include <time.h>

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

/* Check, without the two signals that say what a write's return value says as
 * well: a user's `ulimit -f`, or somebody who no longer reads what srun says,
 * may cost the check, and not the job. They come to the thread that writes.
 */
static int shielded (int (*check) (spank_t sp, int argc, char **argv),
                     spank_t sp, int argc, char **argv)
{
    const struct timespec at_once = { 0 };
    sigset_t shield;
    sigset_t before;
    sigset_t old;
    int rc;

    sigemptyset (&shield);
    sigaddset (&shield, SIGXFSZ);
    sigaddset (&shield, SIGPIPE);
    sigpending (&before);
    pthread_sigmask (SIG_BLOCK, &shield, &old);
    rc = check (sp, argc, argv);
    if (sigismember (&before, SIGXFSZ))
        sigdelset (&shield, SIGXFSZ);
    if (sigismember (&before, SIGPIPE))
        sigdelset (&shield, SIGPIPE);
    while (sigtimedwait (&shield, NULL, &at_once) > 0)
        ;
    pthread_sigmask (SIG_SETMASK, &old, NULL);
    return rc;
}

int slurm_spank_init_post_opt (spank_t sp, int argc, char **argv)
{
    switch (spank_context ()) {
    case S_CTX_LOCAL:
        options_tell_hooks (sp);
        return shielded (srun_check_early, sp, argc, argv);
    case S_CTX_ALLOCATOR:
        options_tell_hooks (sp);
        return 0;
    default:
        return 0;
    }
}

int slurm_spank_local_user_init (spank_t sp, int argc, char **argv)
{
    return spank_context () == S_CTX_LOCAL
               ? shielded (srun_check, sp, argc, argv)
               : 0;
}

int slurm_spank_task_init (spank_t sp, int argc, char **argv)
{
    return spank_context () == S_CTX_REMOTE
               ? shielded (slurmstepd_check, sp, argc, argv)
               : 0;
}
