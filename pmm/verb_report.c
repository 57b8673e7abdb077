/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm report: a verdict as text or as a page, or what the comments of jobs
 * contain.
 */
#include "config.h"

#include <string.h>
#include <time.h>

#include "core/judge/verdict.h"
#include "ibquery/compare/cabling.h"
#include "pmm/verb.h"
#include "report/page/page.h"
#include "report/report.h"
#include "util/json.h"
#if defined(HAVE_LEDGER) && defined(HAVE_SLURM)
#include "prolog/slurm/accounting.h"
#include "report/history.h"
#endif

enum { DEFAULT_SINCE_S = 30 * 24 * 3600 };

static struct report_words {
    int64_t since; /* 0: not given */
    bool sacct, html;
    const char *cabling, *counters;
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
      "summarise the comments of jobs" },
    { "since", 0, "TIME", opt_since, FIELD (since),
      "only jobs that ended later: 12h, 7d, a date (default: 30d)" },
    { "html", 0, NULL, opt_true, FIELD (html),
      "write the verdict as one HTML file, with what else is given" },
    { "cabling", 0, "FILE", opt_string, FIELD (cabling),
      "the table of cables, for their labels" },
    { "counters", 0, "FILE", opt_string, FIELD (counters),
      "the counters that pmm fabric counters wrote" },
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

static int report_job_history (struct inputs *in)
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
static int report_job_history (struct inputs *in)
{
    (void)in;
    die_input ("--sacct: this pmm was built without Slurm, or without the "
               "ledger");
}
#endif

/*
 * The page
 */

#ifdef HAVE_LEDGER
/* The past of a verdict's suspects; NULL without -L. */
static json_t *read_suspect_history (struct inputs *in, const struct verdict *v)
{
    if (!in->ledger_path)
        return NULL;
    inputs_ledger (in, LEDGER_READ);
    return verb_keep_json (need (ledger_history (
        in->ledger, fabric_network (in->fabric), v, PAGE_AUDITS, &fault)));
}
#else
static json_t *read_suspect_history (struct inputs *in, const struct verdict *v)
{
    (void)v;
    if (in->ledger_path)
        die_input ("--ledger: this pmm was built without the ledger");
    return NULL;
}
#endif

static int report_page (struct inputs *in)
{
    struct verdict *v = inputs_result (in, in->operand[0]);
    struct cabling *cabling = NULL;
    struct counters *counters = NULL;
    struct page page;

    if (given.cabling) {
        FILE *fp = need (file_open_input (given.cabling, &fault));

        cabling = verb_own_cabling (
            cabling_read (in->fabric, fp, given.cabling, &fault));
        file_close_input (fp);
    }
    if (given.counters)
        counters = verb_own_counters (counters_load (given.counters, &fault));
    page = (struct page){
        .fabric = in->fabric, .verdict = v, .made = (int64_t)time (NULL),
        .ps = in->ps, .plan = in->plan, .samples = in->samples,
        .baseline = in->base, .cabling = cabling, .counters = counters,
        .history = read_suspect_history (in, v),
    };
    need_ok (page_write (&page, inputs_output (in), &fault));
    return exit_status (v->status);
}

static int report_verdict (struct inputs *in)
{
    struct verdict *v = inputs_verdict (in, in->operand[0]);

    report_text (v, in->fabric, inputs_output (in));
    return exit_status (v->status);
}

static const struct opt_rule rules[] = {
    { NULL, OPT_NEEDS, "VERDICT sacct" },
    { "sacct", OPT_EXCLUDES, "VERDICT fabric html" },
    { "samples", OPT_NEEDS, "plan" },
    { "json since", OPT_NEEDS, "sacct" },
    { "plan baseline ledger cabling counters", OPT_NEEDS, "html" },
    { 0 },
};

static int run_report (struct inputs *in)
{
    return given.sacct  ? report_job_history (in)
           : given.html ? report_page (in)
                        : report_verdict (in);
}

const struct verb verb_report = {
    .group = VERBS_SITE, .name = "report",
    .help = "show a verdict as text or as a page, or what jobs' comments say",
    .may = TAKES_FABRIC | TAKES_JSON | TAKES_COLOUR | TAKES_OUTPUT | TAKES_PLAN
           | TAKES_SAMPLES | TAKES_BASELINES | TAKES_LEDGER,
    .operands = "[VERDICT]", .max = 1,
    .options = options, .given = &given, .rules = rules, .run = run_report,
};
