/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm report: a verdict as text, or what the comments of jobs contain. */
#include "config.h"

#include <string.h>
#include <time.h>

#include "core/judge/verdict.h"
#include "pmm/verb.h"
#include "report/report.h"
#if defined(HAVE_LEDGER) && defined(HAVE_SLURM)
#include "prolog/slurm/accounting.h"
#include "report/history.h"
#include "util/json.h"
#endif

enum { DEFAULT_SINCE_S = 30 * 24 * 3600 };

static struct report_words {
    int64_t since; /* 0: not given */
    bool sacct;
} given;

/* "12h", "7d": a time before now. Return -1 if it is not one. */
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

/* "2026-11-21", "2026-11-21T18:50", or with seconds; local time. */
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
        return error_input (err, "'%.40s' is not a time in the past: 12h, 7d, "
                                 "2026-11-21 or 2026-11-21T18:50", value);
    return 0;
}

#define FIELD(name) offsetof (struct report_words, name)
static const struct opt options[] = {
    { "sacct", 0, NULL, opt_true, FIELD (sacct),
      "what the comments of jobs say" },
    { "since", 0, "TIME", opt_since, FIELD (since),
      "of jobs that ended after it: 12h, 7d, a date (default: 30d)" },
    { 0 },
};

/*
 * Comments of jobs, from Slurm's accounting
 */

#if defined(HAVE_LEDGER) && defined(HAVE_SLURM)
static void take_job (void *history, const struct accounting_job *job)
{
    need_ok (history_add (history, job->job, job->end, job->admin_comment,
                          job->comment, &fault));
}

static int report_sacct (struct inputs *in)
{
    int64_t now = time (NULL);
    int64_t since = given.since ? given.since : now - DEFAULT_SINCE_S;
    struct history *h = history_create ();

    need_ok (accounting_read (since, now + 1, take_job, h, &fault));
    if (in->json) {
        json_t *members = json_pack ("{s:I}", "since", (json_int_t)since);

        json_object_update_new (members, history_json (h));
        inputs_put_json (in, "history", NULL, members);
    }
    else
        history_text (h, inputs_output (in));
    history_destroy (h);
    return EXIT_OK;
}
#else
static int report_sacct (struct inputs *in)
{
    (void)in;
    die_input ("--sacct: this pmm was built without Slurm, or without the "
               "ledger");
}
#endif

static int report_verdict (struct inputs *in)
{
    const char *path = in->operand[0];
    struct verdict *v;
    FILE *fp;
    int status;

    inputs_fabric (in);
    fp = need (file_open_input (path, &fault));
    v = need (verdict_read (fp, path, fabric_network (in->fabric), &fault));
    file_close_input (fp);
    report_text (v, in->fabric, inputs_output (in));
    status = exit_status (v->status);
    verdict_destroy (v);
    return status;
}

static void check (const struct inputs *in)
{
    if (given.sacct && (in->noperands > 0 || in->fabric_path))
        die_input ("--sacct takes neither -f nor a verdict");
    if (!given.sacct && (in->json || given.since))
        die_input ("--json and --since go with --sacct");
    if (!given.sacct && in->noperands == 0)
        die_input ("--sacct, or -f FABRIC and a VERDICT are "
                                 "wanted");
}

static int run (struct inputs *in)
{
    return given.sacct ? report_sacct (in) : report_verdict (in);
}

const struct verb verb_report = {
    .group = VERBS_SITE, .name = "report",
    .help = "a verdict for people; what jobs' comments say",
    .may = TAKES_FABRIC | TAKES_JSON | TAKES_OUTPUT, .operands = "[VERDICT]",
    .max = 1,
    .options = options, .given = &given, .check = check, .run = run,
};
