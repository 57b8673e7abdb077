/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The plugin in srun. */
#include "config.h"
#include "spank/check.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/slurmapi.h"
#include "util/text.h"

static int env_get (void *arg, const char *name, char *buf, int size)
{
    const char *value = getenv (name);

    (void)arg;
    if (!value || strlen (value) >= (size_t)size)
        return -1;
    strcpy (buf, value);
    return 0;
}

static void env_set (void *arg, const char *name, const char *value)
{
    (void)arg;
    setenv (name, value, 1);
}

/* Ask slurmctld: the environment describes this step, not the job, and may be
 * from another job. Return 0, or -1 with err. *running is false for a job that
 * does not run, for instance because it has no nodes yet.
 */
static int load_job (uint32_t jobid, struct job *job, bool *running,
                     struct error *err)
{
    job_info_msg_t *msg = NULL;
    bool found = false;

    if (slurm_load_job (&msg, slurmapi_job (jobid), 0) != SLURM_SUCCESS)
        return error_world (err, "Slurm does not tell about job %u: %s",
                            jobid, slurm_strerror (errno));
    for (uint32_t i = 0; i < msg->record_count && !found; i++) {
        const job_info_t *info = &msg->job_array[i];

        if (info->slurmapi_job_id != jobid)
            continue;
        found = true;
        *running = (info->job_state & JOB_STATE_BASE) == JOB_RUNNING;
        job->id = jobid;
        job->nodes = info->num_nodes;
        job->het = info->het_job_id != 0;
        job->start = info->start_time;
        snprintf (job->partition, sizeof (job->partition), "%s",
                  info->partition ? info->partition : "");
        snprintf (job->cluster, sizeof (job->cluster), "%s",
                  info->cluster ? info->cluster : "");
    }
    slurm_free_job_info_msg (msg);
    if (!found)
        return error_world (err, "Slurm does not know job %u", jobid);
    return 0;
}

/* If the site configured no srun, use this srun's own program. */
static void take_own_srun (struct settings *set)
{
    char path[PATH_MAX];
    ssize_t n = readlink ("/proc/self/exe", path, sizeof (path) - 1);
    char *own, *last;

    if (n < 0 || strcmp (set->site.srun, PMM_SRUN_PATH))
        return;
    path[n] = '\0';
    last = strrchr (path, '/');
    if (last && !strcmp (last, "/srun") && (own = strdup (path))) {
        free (set->site.srun);
        set->site.srun = own;
    }
}

/* Check this job, unless an earlier call in this srun did. */
static int check (uint32_t jobid, bool early, int argc, char **argv)
{
    static uint32_t checked;
    static int rc;
    const struct job_env env = { { env_get, NULL }, true, env_set };
    struct settings settings;
    struct job job = { 0 };
    struct error err;
    bool running = true;
    int sig;

    if (getenv (STEP_NESTED))
        return 0;
    if (checked && checked == jobid)
        return rc;
    rc = CHECK_GO_ON;
    if (settings_read (&settings, argc, argv, &err) < 0) {
        checked = jobid;
        rc = check_failed (&settings, jobid, &env, err.text);
    }
    else if (settings_any (&settings)) {
        int loaded = load_job (jobid, &job, &running, &err);

        /* early: srun itself reports a problem with the job in SLURM_JOB_ID */
        if (!early || (loaded == 0 && running)) {
            checked = jobid;
            take_own_srun (&settings);
            rc = loaded < 0 ? check_failed (&settings, jobid, &env, err.text)
                            : check_job (&settings, &job, &env, &sig);
        }
    }
    settings_clear (&settings);
    /* if srun is interrupted, the job must not start either */
    return rc = rc == CHECK_GO_ON ? 0 : -1;
}

int srun_check_early (spank_t sp, int argc, char **argv)
{
    const char *value = getenv ("SLURM_JOB_ID");
    uint64_t jobid;

    (void)sp;
    if (!value || text_u64 (value, 1, UINT32_MAX, &jobid) < 0)
        return 0;
    return check ((uint32_t)jobid, true, argc, argv);
}

int srun_check (spank_t sp, int argc, char **argv)
{
    uint32_t jobid = 0; /* an id that Slurm does not know */

    spank_get_item (sp, S_JOB_ID, &jobid);
    return check (jobid, false, argc, argv);
}
