/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Audits by hand, for tests: what the audit service does with the ledger, a step
 * at a time.
 *
 *     entries begin -L LEDGER -f FABRIC [--hosts LIST] [--job N]
 *     entries add -L LEDGER -f FABRIC --plan FILE --samples FILE [--baseline FILE]
 *     entries baseline -L LEDGER -f FABRIC [-n N] -o FILE
 *     entries export -L LEDGER
 *
 * Begin an audit, and print its nonce; judge its result, enter it, and exit as
 * pmm judge does; write what the ledger knows of each link; print all that it
 * has as JSON lines.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/baseline/baseline.h"
#include "core/judge/judge.h"
#include "core/plan/plan.h"
#include "core/samples/samples.h"
#include "ibquery/snapshot.h"
#include "prolog/audit/baseline.h"
#include "prolog/ledger/ledger.h"
#include "prolog/ledger/ledger_db.h"
#include "report/words.h"
#include "util/alloc.h"
#include "util/file.h"
#include "util/json.h"
#include "util/options.h"
#include "util/site.h"
#include "util/text.h"

enum { HOSTS_MAX = 1000 };

static struct words {
    const char *ledger, *fabric, *hosts, *plan, *samples, *baseline, *output;
    uint64_t job;
    int last;
} given = { .last = BASELINE_LAST };

#define FIELD(name) offsetof (struct words, name)
static const struct opt options[] = {
    { "ledger", 'L', "FILE", opt_string, FIELD (ledger), "" },
    { "fabric", 'f', "FILE", opt_string, FIELD (fabric), "" },
    { "hosts", 0, "LIST", opt_string, FIELD (hosts), "" },
    { "job", 0, "N", opt_u64, FIELD (job), "" },
    { "plan", 0, "FILE", opt_string, FIELD (plan), "" },
    { "samples", 0, "FILE", opt_string, FIELD (samples), "" },
    { "baseline", 0, "FILE", opt_string, FIELD (baseline), "" },
    { "output", 'o', "FILE", opt_string, FIELD (output), "" },
    { "last", 'n', "N", opt_int, FIELD (last), "" },
    { 0 },
};

static struct error err;
static struct fabric *f;
static struct ledger *ledger;

static void *need (void *p)
{
    if (p)
        return p;
    fprintf (stderr, "entries: %s\n", err.text);
    exit (err.fault == ERROR_WORLD ? 3 : 2);
}

static void need_ok (int64_t rc)
{
    need (rc < 0 ? NULL : &err);
}

static FILE *input (const char *path)
{
    return need (file_open_input (path, &err));
}

static int begin (void)
{
    const struct ledger_cause cause = { .job = given.job };
    char nonce[LEDGER_NONCE_BYTES];
    struct hostlist hl = { 0 };
    struct pathset *ps;
    const char **host;

    if (given.hosts)
        need_ok (hostlist_parse (&hl, given.hosts, HOSTS_MAX, &err));
    ps = need (fabric_pathset (f, (const char *const *)hl.name, hl.count,
                               &err));
    host = xarray (pathset_size (ps), sizeof (*host));
    for (size_t i = 0; i < pathset_size (ps); i++)
        host[i] = pathset_endpoint (ps, i)->host;
    need_ok (ledger_begin (ledger, time (NULL), f->hash, &cause, host,
                           pathset_size (ps), nonce, &err));
    puts (nonce);
    free (host);
    pathset_destroy (ps);
    hostlist_clear (&hl);
    return 0;
}

static int add (void)
{
    static const int exits[] = { [VERDICT_FAIL] = 1, [VERDICT_UNKNOWN] = 3 };
    struct judge_options thresholds;
    struct pathset *ps = NULL;
    struct baseline *base = NULL;
    struct samples *s;
    struct verdict *v;
    struct plan *plan;
    struct site site;
    char *says;
    FILE *fp;
    int status;

    need_ok (site_read (&site, NULL, 0, &err));
    thresholds = judge_site_options (&site);
    site_clear (&site);
    fp = input (given.plan);
    plan = need (plan_read (fp, given.plan, f->hash, fabric_resolve, f, &ps,
                            &err));
    fclose (fp);
    fp = input (given.samples);
    s = need (samples_read (fp, given.samples, f->hash, fabric_resolve, f, &ps,
                            &err));
    fclose (fp);
    if (given.baseline) {
        fp = input (given.baseline);
        base = need (baseline_near (fp, given.baseline, ps,
                                    baseline_enough (plan_probes (plan)),
                                    fabric_resolve, f, &err));
        fclose (fp);
    }
    v = need (judge (ps, plan, s, base, &thresholds, &err));
    says = words_sentence (v, f);
    need_ok (ledger_record (ledger, time (NULL), ps, s, v, says, &err) > 0
                 ? 0 : -1);
    status = v->status;
    free (says);
    verdict_destroy (v);
    baseline_destroy (base);
    samples_destroy (s);
    plan_destroy (plan);
    pathset_destroy (ps);
    return status == VERDICT_FAIL || status == VERDICT_UNKNOWN ? exits[status]
                                                               : 0;
}

static int write_baseline (void)
{
    struct site_baseline site = { ledger, f, "" };
    struct baseline *b = need (site_baseline_make (&site, (size_t)given.last,
                                                   &err));
    struct outfile *out = need (file_create (given.output, &err));

    need_ok (file_finish (out, baseline_write (b, file_stream (out), &err),
                          &err));
    baseline_destroy (b);
    return 0;
}

/* The product lists only those that are due. */
static void export_comments (void)
{
    static const char sql[]
        = "SELECT json_object ('kind', 'comment', 'job', job, 'tries', tries,"
          " 'done', done, 'error', error, 'text', text) FROM comment ORDER BY id";
    sqlite3_stmt *stmt = NULL;
    sqlite3 *db = NULL;

    need_ok (sqlite3_open (given.ledger, &db) == SQLITE_OK
                     && sqlite3_prepare_v2 (db, sql, -1, &stmt, NULL)
                            == SQLITE_OK
                 ? 0 : -1);
    while (sqlite3_step (stmt) == SQLITE_ROW)
        puts ((const char *)sqlite3_column_text (stmt, 0));
    sqlite3_finalize (stmt);
    sqlite3_close (db);
}

static int export (void)
{
    static const struct {
        const char *kind;
        enum ledger_kind list;
    } lists[] = {
        { "action", LEDGER_ACTIONS },
        { "mute", LEDGER_MUTES },
        { "rebase", LEDGER_REBASES },
    };
    int64_t id = 0;
    int more;

    while ((more = ledger_number (ledger, LEDGER_NEXT, id, NULL, &id, &err)) > 0)
        need_ok (json_write_file ("audit", NULL,
                                  need (ledger_audit (ledger, id, &err)),
                                  stdout, &err));
    need_ok (more);
    for (size_t k = 0; k < sizeof (lists) / sizeof (lists[0]); k++) {
        json_t *list
            = need (ledger_json (ledger, lists[k].list, INT64_MAX, 0, &err)),
            *v;
        size_t i;

        json_array_foreach (list, i, v)
            need_ok (json_write_file (lists[k].kind, NULL, json_incref (v),
                                      stdout, &err));
        json_decref (list);
    }
    export_comments ();
    return 0;
}

int main (int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run) (void);
        enum ledger_mode mode;
    } words[] = {
        { "begin", begin, LEDGER_CREATE },
        { "add", add, LEDGER_WRITE },
        { "baseline", write_baseline, LEDGER_READ },
        { "export", export, LEDGER_READ },
    };
    const struct opt_group groups[] = { { options, &given, NULL }, { 0 } };
    int status = 2;

    if (argc > 1)
        need_ok (options_get (groups, NULL, argc - 1, argv + 1, &err));
    for (size_t i = 0; argc > 1 && i < sizeof (words) / sizeof (words[0]); i++) {
        if (strcmp (argv[1], words[i].name) != 0)
            continue;
        if (given.fabric)
            f = need (fabric_load (given.fabric, &err));
        ledger = need (ledger_open (given.ledger, words[i].mode, &err));
        status = words[i].run ();
        ledger_close (ledger);
        fabric_destroy (f);
    }
    return status;
}
