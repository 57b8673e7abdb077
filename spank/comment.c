/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm-comment: put what a check said behind the Comment of the own job.
 *
 *     pmm-comment JOB STATUS SENTENCE
 *
 * The plugin runs it as the user who owns the job, and ends it when it takes
 * too long. Exit: 0 it is there, 2 usage, 3 it is not, with one sentence.
 */
#include "config.h"

#include <errno.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/comment.h"
#include "util/error.h"
#include "util/text.h"

static int slurm_fault (struct error *err)
{
    return error_world (err, "slurmctld: %s",
                        slurm_strerror (slurm_get_errno ()));
}

/* The job's Comment, "" for none; NULL with err. */
static const char *load_comment (uint32_t id, struct error *err)
{
    job_info_msg_t *msg;

    if (slurm_load_job (&msg, id, 0) != SLURM_SUCCESS) {
        slurm_fault (err);
        return NULL;
    }
    for (uint32_t i = 0; i < msg->record_count; i++)
        if (msg->job_array[i].job_id == id)
            return msg->job_array[i].comment ? msg->job_array[i].comment : "";
    error_world (err, "there is no job %u", id);
    return NULL;
}

static int append (uint32_t id, const char *entry, struct error *err)
{
    const char *comment = load_comment (id, err);
    job_desc_msg_t change;

    if (!comment)
        return -1;
    slurm_init_job_desc_msg (&change);
    change.job_id = id;
    change.comment = comment_append (comment, entry, COMMENT_JOB_MAX);
    if (!change.comment && errno == EEXIST)
        return 0;
    if (!change.comment)
        return error_errno (err, "the Comment cannot be extended");
    return slurm_update_job (&change) == SLURM_SUCCESS ? 0 : slurm_fault (err);
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

    if (argc != 4) {
        fprintf (stderr, "Usage: pmm-comment JOB OK|WARN|FAIL|UNKNOWN "
                         "SENTENCE\n");
        return ERROR_INPUT;
    }
    if (parse (argv + 1, &id, entry, &err) == 0) {
        slurm_init (NULL);
        if (append (id, entry, &err) == 0)
            return EXIT_SUCCESS;
    }
    fprintf (stderr, "pmm-comment: %s\n", err.text);
    return (int)err.fault;
}
