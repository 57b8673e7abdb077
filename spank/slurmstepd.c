/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The plugin in slurmstepd.
 *
 * Notes: this is a child of slurmstepd that will become the batch script. It
 * has the user's ids and the script's standard output and error. It cannot
 * safely ask slurmctld, because a thread of slurmstepd may have held one of
 * Slurm's locks at the fork. The job's environment has all that is needed.
 * Slurm does not signal processes named slurmstepd, so we change our name for
 * the check; otherwise it would survive a scancel.
 */
#include "config.h"
#include "spank/check.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "util/slurmapi.h"
#include "util/text.h"

static int env_get (void *arg, const char *name, char *buf, int size)
{
    return spank_getenv (arg, name, buf, size) == ESPANK_SUCCESS ? 0 : -1;
}

static void env_set (void *arg, const char *name, const char *value)
{
    spank_setenv (arg, name, value, 1);
}

static int load_job (spank_t sp, struct job *job, struct error *err)
{
    char value[32];
    uint64_t nodes;

    if (job->id == 0
        || env_get (sp, "SLURM_JOB_NUM_NODES", value, sizeof (value)) < 0
        || text_u64 (value, 1, UINT32_MAX, &nodes) < 0)
        return error_world (err, "Slurm does not tell the job's nodes");
    job->nodes = (uint32_t)nodes;
    job->first_step = true;
    job->het = env_get (sp, "SLURM_HET_SIZE", value, sizeof (value)) == 0;
    env_get (sp, "SLURM_JOB_PARTITION", job->partition,
             sizeof (job->partition));
    env_get (sp, "SLURM_CLUSTER_NAME", job->cluster, sizeof (job->cluster));
    return 0;
}

/* End by this signal, as we would have without the check. From 24.11 on
 * slurmstepd handles and blocks signals, and its children inherit both.
 */
static void end_by (int sig)
{
    sigset_t set;

    signal (sig, SIG_DFL);
    sigemptyset (&set);
    sigaddset (&set, sig);
    pthread_sigmask (SIG_UNBLOCK, &set, NULL);
    raise (sig);
}

int slurmstepd_check (spank_t sp, int argc, char **argv)
{
    const struct job_env env = { { env_get, sp }, false, env_set };
    struct settings settings;
    struct job job = { 0 };
    struct error err;
    char name[16] = "";
    int sig = 0;
    int rc = CHECK_GO_ON;
    uint32_t step;
    uid_t uid;

    if (spank_get_item (sp, S_JOB_STEPID, &step) != ESPANK_SUCCESS
        || step != SLURM_BATCH_SCRIPT
        || spank_get_item (sp, S_JOB_UID, &uid) != ESPANK_SUCCESS
        || uid != geteuid ())
        return 0;
    prctl (PR_GET_NAME, name);
    prctl (PR_SET_NAME, "pmm-check");
    spank_get_item (sp, S_JOB_ID, &job.id);
    if (settings_read (&settings, argc, argv, &err) < 0)
        rc = check_failed (&settings, job.id, &env, err.text);
    else if (settings_any (&settings)) {
        if (load_job (sp, &job, &err) < 0)
            rc = check_failed (&settings, job.id, &env, err.text);
        else
            rc = check_job (&settings, &job, &env, &sig);
    }
    settings_clear (&settings);
    prctl (PR_SET_NAME, name);
    if (rc == CHECK_STOPPED)
        end_by (sig);
    return rc == CHECK_VETO ? -1 : 0;
}
