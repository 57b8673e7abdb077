/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the comments of jobs say, from Slurm's accounting. */
#include "config.h"
#include "pmm/sacct.h"

#include <time.h>

#include "prolog/slurm/accounting.h"
#include "report/history.h"
#include "util/file.h"
#include "util/json.h"

enum { DEFAULT_SINCE_S = 30 * 24 * 3600 };

struct reading {
    struct history *history;
    struct error *err;
    int rc;
};

static void take_job (void *arg, const struct accounting_job *job)
{
    struct reading *r = arg;

    if (r->rc == 0)
        r->rc = history_add (r->history, job->job, job->end,
                             job->admin_comment, job->comment, r->err);
}

static int write_json (struct history *h, int64_t since, FILE *fp,
                       struct error *err)
{
    json_t *file = json_file ("history", NULL);
    json_t *history = history_json (h);
    int rc = -1;

    if (!file || !history
        || json_object_set_new (file, "since", json_integer (since)) < 0
        || json_object_update (file, history) < 0)
        error_nomem (err);
    else
        rc = json_write (file, fp, err);
    json_decref (history);
    json_decref (file);
    return rc;
}

static int save (struct history *h, bool json, int64_t since,
                 const char *output, struct error *err)
{
    struct outfile *out = file_create (output, err);
    int rc = 0;

    if (!out)
        return -1;
    if (!json)
        history_text (h, file_stream (out));
    else
        rc = write_json (h, since, file_stream (out), err);
    return file_finish (out, rc, err);
}

int sacct_report (int64_t since, bool json, const char *output,
                  struct error *err)
{
    int64_t now = time (NULL);
    struct reading r = { history_create (), err, 0 };
    int rc;

    if (!r.history)
        return error_nomem (err);
    if (since == 0)
        since = now - DEFAULT_SINCE_S;
    rc = accounting_read (since, now + 1, take_job, &r, err);
    if (rc == 0)
        rc = r.rc;
    if (rc == 0)
        rc = save (r.history, json, since, output, err);
    history_destroy (r.history);
    return rc;
}
