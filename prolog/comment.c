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

static int slurm_fault (struct error *err)
{
    return error_world (err, "slurmctld: %s",
                        slurm_strerror (errno));
}

static const job_info_t *find_job (const job_info_msg_t *msg, uint32_t id)
{
    for (uint32_t i = 0; i < msg->record_count; i++)
        if (msg->job_array[i].slurmapi_job_id == id)
            return &msg->job_array[i];
    return NULL;
}

static int update (uint32_t id, char *comment, struct error *err)
{
    job_desc_msg_t change;

    slurm_init_job_desc_msg (&change);
    change.slurmapi_job_id = id;
    change.comment = comment;
    return slurm_update_job (&change) == SLURM_SUCCESS ? 0 : slurm_fault (err);
}

static int append (uint32_t id, const char *entry, struct error *err)
{
    job_info_msg_t *msg;
    const job_info_t *job;
    char *comment = NULL;
    int rc = 0;

    if (slurm_load_job (&msg, slurmapi_job (id), 0) != SLURM_SUCCESS)
        return slurm_fault (err);
    if (!(job = find_job (msg, id)))
        rc = error_world (err, "there is no job %u", id);
    else if ((comment = comment_append (job->comment, entry,
                                        COMMENT_JOB_MAX)))
        rc = update (id, comment, err);
    else if (errno != EEXIST)
        rc = error_errno (err, "the Comment cannot be extended");
    free (comment);
    slurm_free_job_info_msg (msg);
    return rc;
}

static int parse (char **arg, uint32_t *id, char *entry, struct error *err)
{
    struct comment c;
    uint64_t job;

    if (text_u64 (arg[0], 1, UINT32_MAX, &job) < 0)
        return error_input (err, "'%.40s' is no job", arg[0]);
    *id = (uint32_t)job;
    for (int i = VERDICT_OK; i <= VERDICT_FAIL; i++)
        if (!strcmp (arg[1], verdict_status_name ((enum verdict_status)i))) {
            comment_of_check (&c, (enum verdict_status)i, arg[2]);
            comment_format (&c, entry);
            return 0;
        }
    return error_input (err, "'%.40s' is no status", arg[1]);
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
    if (parse (argv + 1, &id, entry, &err) == 0
        && slurmapi_start (&err) == 0 && append (id, entry, &err) == 0)
        return EXIT_SUCCESS;
    fprintf (stderr, "pmm-comment: %s\n", err.text);
    return (int)err.fault;
}
