/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm report: a verdict for people; what the comments of jobs say. */
#include "config.h"

#include <stddef.h>
#include <string.h>
#include <time.h>

#include "core/judge/verdict.h"
#include "ibquery/snapshot.h"
#include "pmm/common.h"
#include "pmm/sacct.h"
#include "pmm/verb.h"
#include "report/report.h"
#include "util/file.h"
#include "util/text.h"

struct options {
    const char *fabric, *output;
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
    { "fabric", 'f', "FILE", opt_string, FIELD (fabric),
      "the snapshot, for VERDICT" },
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

static int report_sacct (const struct options *o, struct error *err)
{
#if defined(HAVE_LEDGER) && defined(HAVE_SLURM)
    return sacct_report (o->since, o->json, o->output, err);
#else
    (void)o;
    return error_input (err, "--sacct: this pmm was built without Slurm, or "
                             "without the ledger");
#endif
}

/* Return the verdict's status, or -1 with err. */
static int report_verdict (const struct options *o, const char *path,
                           struct error *err)
{
    struct fabric *f = NULL;
    struct verdict *v = NULL;
    struct outfile *out = NULL;
    FILE *fp = NULL;
    int rc = -1;

    if ((f = fabric_load (o->fabric, err))
        && (fp = file_open_input (path, err))
        && (v = verdict_read (fp, path, fabric_network (f), err))
        && (out = file_create (o->output, err))) {
        report_text (v, f, file_stream (out));
        rc = file_commit (out, err) < 0 ? -1 : (int)v->status;
    }
    if (fp)
        file_close_input (fp);
    verdict_destroy (v);
    fabric_destroy (f);
    return rc;
}

static int check_usage (const struct options *o, const char *path,
                        struct error *err)
{
    if (o->sacct && (path || o->fabric))
        return error_input (err, "--sacct takes neither -f nor a verdict");
    if (o->sacct)
        return 0;
    if (o->json || o->since)
        return error_input (err, "--json and --since go with --sacct");
    if (!path || !o->fabric)
        return error_input (err, "--sacct, or -f FABRIC and a VERDICT are "
                                 "wanted");
    return 0;
}

int verb_report (int argc, char **argv)
{
    static const int status_of[] = {
        [VERDICT_OK] = EXIT_OK,
        [VERDICT_WARN] = EXIT_OK,
        [VERDICT_UNKNOWN] = EXIT_WORLD,
        [VERDICT_FAIL] = EXIT_FAIL,
    };
    struct options o = { 0 };
    struct error err;
    const char *path;
    int status;
    int first = options_parse (table, &o, argc, argv, "[VERDICT]", 0, 1,
                               &status);
    int rc;

    if (first < 0)
        return status;
    path = first < argc ? argv[first] : NULL;
    if (check_usage (&o, path, &err) < 0)
        rc = -1;
    else if (o.sacct)
        rc = report_sacct (&o, &err) < 0 ? -1 : VERDICT_OK;
    else
        rc = report_verdict (&o, path, &err);
    return rc < 0 ? fail (argv[0], &err) : status_of[rc];
}
