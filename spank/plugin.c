/* SPDX-License-Identifier: GPL-2.0-or-later */
/* spank_pmm.so: calls the code for each SPANK context.
 *
 * Slurm heeds -1 only if the plugin is `required` in plugstack.conf; then -1 on
 * a node can drain the node. So -1 is returned only to veto a job, and for bad
 * arguments in srun, salloc and sbatch. Everything else returns 0.
 */
#include "config.h"

#include <pthread.h>
#include <signal.h>
#include <slurm/spank.h>
#include <time.h>

#include "spank/check.h"
#include "util/plugstack.h"

SPANK_PLUGIN (pmm, 1)

/* For pmm doctor, which cannot load the plugin: srun has its symbols. */
extern const struct plugin_built plugin_built;
const struct plugin_built plugin_built = { PLUGIN_BUILT, SLURM_VERSION_NUMBER };

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

/* Check with SIGXFSZ and SIGPIPE blocked: a user's `ulimit -f`, or a closed
 * standard error of srun, may end the check but not the job. The return value
 * of write shows the same errors. Both signals are sent to the thread that
 * writes, so blocking them in this thread is enough.
 */
static int call_with_signals_blocked (int (*check) (spank_t sp, int argc,
                                                    char **argv),
                                      spank_t sp, int argc, char **argv)
{
    const struct timespec at_once = { 0 };
    sigset_t shield, before, old;
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
        return call_with_signals_blocked (srun_check_early, sp, argc, argv);
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
               ? call_with_signals_blocked (srun_check, sp, argc, argv)
               : 0;
}

int slurm_spank_task_init (spank_t sp, int argc, char **argv)
{
    return spank_context () == S_CTX_REMOTE
               ? call_with_signals_blocked (slurmstepd_check, sp, argc, argv)
               : 0;
}
