/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the plugin does in srun. */
#include "config.h"
#include "spank/srun.h"

#include <errno.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spank/check.h"

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

/* Ask the controller: the environment tells of this step, and may be of
 * another job.
 */
static int load_job (spank_t sp, struct job *job, struct error *err)
{
    job_info_msg_t *msg = NULL;
    bool found = false;

    if (spank_get_item (sp, S_JOB_ID, &job->id) != ESPANK_SUCCESS)
        return error_world (err, "Slurm does not tell the job id");
    if (slurm_load_job (&msg, job->id, 0) != SLURM_SUCCESS)
        return error_world (err, "Slurm does not tell about job %u: %s",
                            job->id, slurm_strerror (errno));
    for (uint32_t i = 0; i < msg->record_count && !found; i++) {
        const job_info_t *info = &msg->job_array[i];

        if (info->job_id != job->id)
            continue;
        found = true;
        job->nodes = info->num_nodes;
        job->het = info->het_job_id != 0;
        job->start = info->start_time;
        snprintf (job->partition, sizeof (job->partition), "%s",
                  info->partition ? info->partition : "");
    }
    slurm_free_job_info_msg (msg);
    if (!found)
        return error_world (err, "Slurm does not know job %u", job->id);
    env_get (NULL, "SLURM_CLUSTER_NAME", job->cluster, sizeof (job->cluster));
    return 0;
}

int srun_check (spank_t sp, int argc, char **argv)
{
    const struct job_env env = { { env_get, NULL }, env_set };
    struct settings settings;
    struct job job = { 0 };
    struct error err;
    int sig;
    int rc = CHECK_GO_ON;

    if (getenv (STEP_NESTED))
        return 0;
    if (settings_read (&settings, argc, argv, &err) < 0)
        rc = check_failed (&settings, err.text);
    else if (settings_any (&settings)) {
        if (load_job (sp, &job, &err) < 0)
            rc = check_failed (&settings, err.text);
        else
            rc = check_job (&settings, &job, &env, &sig);
    }
    settings_clear (&settings);
    /* who interrupts srun does not want the job */
    return rc == CHECK_GO_ON ? 0 : -1;
}
