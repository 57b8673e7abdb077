/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm-comment: append the outcome of a check to the Comment of its job.
 *
 *     pmm-comment JOB STATUS SENTENCE
 *
 * The plugin runs it as the job's user, and kills it if it takes too long.
 * Exit: 0 the comment is written, or --help; 2 usage error; 3 it is not
 * written, with one sentence.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/comment.h"
#include "util/error.h"
#include "util/slurmapi.h"
#include "util/text.h"

/* Append an entry to the Comment of a job, if it is not there yet. */
static int append_job_comment (uint32_t id, const char *entry,
                               struct error *err)
{
    const job_info_t *job = NULL;
    job_desc_msg_t change;
    job_info_msg_t *msg;
    int rc = 0;

    if (slurm_load_job (&msg, slurmapi_job (id), 0) != SLURM_SUCCESS)
        return error_world (err, "slurmctld: %s", slurm_strerror (errno));
    for (uint32_t i = 0; i < msg->record_count && !job; i++)
        if (msg->job_array[i].slurmapi_job_id == id)
            job = &msg->job_array[i];
    slurm_init_job_desc_msg (&change);
    change.slurmapi_job_id = id;
    if (!job)
        rc = error_world (err, "there is not a job id %u", id);
    else if ((change.comment
              = comment_append (job->comment, entry, COMMENT_JOB_MAX))) {
        if (slurm_update_job (&change) != SLURM_SUCCESS)
            rc = error_world (err, "slurmctld: %s", slurm_strerror (errno));
        free (change.comment);
    }
    else if (errno != EEXIST)
        rc = error_errno (err, "the Comment cannot be extended");
    slurm_free_job_info_msg (msg);
    return rc;
}

static int parse_comment_args (char **arg, uint32_t *id, char *entry,
                               struct error *err)
{
    struct comment c;
    uint64_t job;

    if (text_u64 (arg[0], 1, UINT32_MAX, &job) < 0)
        return error_input (err, "'%.40s' is not a job id", arg[0]);
    *id = (uint32_t)job;
    for (int i = VERDICT_OK; i <= VERDICT_FAIL; i++)
        if (!strcmp (arg[1], verdict_status_name ((enum verdict_status)i))) {
            comment_of_check (&c, (enum verdict_status)i, arg[2]);
            comment_format (&c, entry);
            return 0;
        }
    return error_input (err, "'%.40s' is not a status", arg[1]);
}

int main (int argc, char **argv)
{
    char entry[COMMENT_ENTRY_MAX + 1];
    struct error err;
    uint32_t id = 0;
    bool help = argc == 2
                && (!strcmp (argv[1], "--help") || !strcmp (argv[1], "-h"));

    if (argc != 4) {
        fprintf (help ? stdout : stderr,
                 "Usage: pmm-comment JOB OK|WARN|FAIL|UNKNOWN SENTENCE\n");
        return help ? EXIT_SUCCESS : ERROR_INPUT;
    }
    if (parse_comment_args (argv + 1, &id, entry, &err) == 0
        && slurmapi_start (&err) == 0
        && append_job_comment (id, entry, &err) == 0)
        return EXIT_SUCCESS;
    fprintf (stderr, "pmm-comment: %s\n", err.text);
    return (int)err.fault;
}
