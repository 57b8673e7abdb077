/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm report: what the comments of jobs say, from Slurm's accounting. */
#include "config.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pmm/common.h"
#include "pmm/verb.h"
#include "prolog/accounting.h"
#include "report/history.h"
#include "util/file.h"
#include "util/json.h"
#include "util/text.h"

enum { DEFAULT_SINCE_S = 30 * 24 * 3600 };

struct options {
    const char *output;
    int64_t since; /* 0: not given */
    bool sacct, json;
};

/* "12h", "7d": so long ago. Return -1 if it is no such thing. */
static int parse_ago (const char *value, int64_t now, int64_t *since)
{
    static const struct {
        char unit;
        int seconds;
    } tab[] = { { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 }, { 'w', 604800 } };
    size_t len = strlen (value);
    char number[16];
    uint64_t n;

    if (len < 2 || len > sizeof (number))
        return -1;
    memcpy (number, value, len - 1);
    number[len - 1] = '\0';
    if (text_u64 (number, 0, 1000000, &n) < 0)
        return -1;
    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++)
        if (tab[i].unit == value[len - 1]) {
            *since = now - (int64_t)n * tab[i].seconds;
            return 0;
        }
    return -1;
}

/* "2026-11-21", "2026-11-21T18:50" or with seconds, of the local time. */
static int parse_date (const char *value, int64_t *since)
{
    static const char *const formats[]
        = { "%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S" };

    for (size_t i = 0; i < sizeof (formats) / sizeof (formats[0]); i++) {
        struct tm tm = { .tm_isdst = -1 };
        const char *end = strptime (value, formats[i], &tm);

        if (end && !*end) {
            *since = mktime (&tm);
            return *since > 0 ? 0 : -1;
        }
    }
    return -1;
}

static int opt_since (void *field, const char *value, struct error *err)
{
    int64_t now = time (NULL);
    int64_t *since = field;

    if ((parse_ago (value, now, since) < 0 && parse_date (value, since) < 0)
        || *since > now || *since <= 0)
        return error_input (err, "'%.40s' is no time that has been: 12h, 7d, "
                                 "2026-11-21 or 2026-11-21T18:50", value);
    return 0;
}

#define FIELD(name) offsetof (struct options, name)
static const struct opt table[] = {
    { "sacct", 0, NULL, opt_true, FIELD (sacct),
      "what the comments of jobs say" },
    { "since", 0, "TIME", opt_since, FIELD (since),
      "of jobs that ended after it: 12h, 7d, a date; 30d" },
    { "json", 0, NULL, opt_true, FIELD (json), "as JSON" },
    { "output", 'o', "FILE", opt_string, FIELD (output),
      "write here, not to standard output" },
    { 0 },
};
#undef FIELD

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

static int save (struct history *h, const struct options *o, int64_t since,
                 struct error *err)
{
    struct outfile *out = file_create (o->output, err);

    if (!out)
        return -1;
    if (!o->json)
        history_text (h, file_stream (out));
    else if (write_json (h, since, file_stream (out), err) < 0) {
        file_abort (out);
        return -1;
    }
    return file_commit (out, err);
}

static int report (const struct options *o, struct error *err)
{
    int64_t now = time (NULL);
    int64_t since = o->since ? o->since : now - DEFAULT_SINCE_S;
    struct reading r = { history_create (), err, 0 };
    int rc;

    if (!r.history)
        return error_nomem (err);
    rc = accounting_read (since, now + 1, take_job, &r, err);
    if (rc == 0)
        rc = r.rc;
    if (rc == 0)
        rc = save (r.history, o, since, err);
    history_destroy (r.history);
    return rc;
}

int verb_report (int argc, char **argv)
{
    struct options o = { 0 };
    struct error err;
    int status;

    if (options_parse (table, &o, argc, argv, "", 0, 0, &status) < 0)
        return status;
    if (!o.sacct) {
        error_input (&err, "--sacct is missing");
        return fail (argv[0], &err);
    }
    return report (&o, &err) < 0 ? fail (argv[0], &err) : EXIT_OK;
}
