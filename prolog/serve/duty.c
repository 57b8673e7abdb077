/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions that the duties of the audit service share, and the small duties.
 *
 * Notes. A comment is made from the ledger, not from the audit that just ran.
 * So it is the same comment if the service is killed in between.
 */
#include "config.h"
#include "prolog/serve/duty.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <time.h>

#include "prolog/audit/baseline.h"
#include "prolog/audit/parts.h"
#include "prolog/slurm/accounting.h"
#include "report/comment.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/text.h"

enum {
    HOUR_S = 3600,
    DAY_S = 24 * HOUR_S,
    PRUNE_S = 3 * HOUR_S,
    COMMENTS_AT_ONCE = 200,
};

void service_log (const struct service *s, enum service_line kind,
                  const char *fmt, ...)
{
    static const struct {
        int priority;
        const char *token;
    } kinds[] = {
        [LINE_SERVICE] = { LOG_INFO, "pmm-service" },
        [LINE_TROUBLE] = { LOG_ERR, "pmm-trouble" },
        [LINE_RECOVERED] = { LOG_NOTICE, "pmm-recovered" },
        [LINE_FABRIC] = { LOG_INFO, "pmm-fabric" },
        [LINE_JOB] = { LOG_INFO, "pmm-job" },
        [LINE_AUDIT] = { LOG_INFO, "pmm-audit" },
        [LINE_FAIL] = { LOG_WARNING, "pmm-fail" },
        [LINE_POLICY] = { LOG_NOTICE, "pmm-policy" },
        [LINE_DRAIN] = { LOG_WARNING, "pmm-drain" },
        [LINE_RESUME] = { LOG_NOTICE, "pmm-resume" },
        [LINE_MISSED] = { LOG_WARNING, "pmm-missed" },
        [LINE_NOTIFY] = { LOG_ERR, "pmm-notify" },
        [LINE_KEEP] = { LOG_INFO, "pmm-keep" },
    };
    va_list ap;
    char *text;

    va_start (ap, fmt);
    text = xvasprintf (fmt, ap);
    va_end (ap);
    if (s->journal)
        fprintf (s->log, "<%d>%s: ", kinds[kind].priority, kinds[kind].token);
    fprintf (s->log, "%s\n", text_clean (text));
    fflush (s->log);
    free (text);
}

int service_may_audit (const struct service *s, struct ledger *ledger,
                       enum ledger_why reason, struct error *err)
{
    char why[QUEUE_WHY_MAX];
    int64_t now = clock_date ();
    struct ledger_rows begun;

    return ledger_list (ledger, LEDGER_BEGUN, now - HOUR_S, now + HOUR_S, &begun,
                        err) < 0
               ? -1
               : queue_may (begun.audit, begun.n, reason,
                            (size_t)s->site.audits_per_hour, now, why);
}

int service_leave_out (struct ledger *ledger, struct hostlist *nodes,
                       struct error *err)
{
    int64_t now = clock_date ();
    struct ledger_rows faulty;
    size_t n = 0;

    if (ledger_faulty (ledger, now, &faulty, err) < 0)
        return -1;
    for (size_t i = 0; i < nodes->count; i++)
        if (ledger_is_out (&faulty, nodes->name[i], now))
            free (nodes->name[i]);
        else
            nodes->name[n++] = nodes->name[i];
    nodes->count = n;
    return 0;
}

int service_audit (const struct service *s, struct ledger *ledger,
                   const struct hostlist *nodes,
                   const struct ledger_cause *cause, const char *before,
                   int64_t *id, struct error *err)
{
    const char *node[AUDIT_NODES_MAX];
    size_t n = nodes->count < AUDIT_NODES_MAX ? nodes->count : AUDIT_NODES_MAX;
    const struct audit audit = {
        .site = &s->site, .conf = s->conf, .ledger = ledger,
        .fabric = s->fabric, .stop = s->stop, .report = s->log, .node = node,
        .n = n, .cause = *cause, .before = before,
    };
    struct audit_result result;
    int rc;

    for (size_t i = 0; i < n; i++)
        node[i] = nodes->name[i * nodes->count / n];
    rc = audit_run (&audit, &result, err);
    if (rc > 0)
        service_log (s, result.status == VERDICT_FAIL ? LINE_FAIL : LINE_AUDIT,
                     "audit %" PRId64 " of %s: %s: %s", result.id,
                     COUNTED (n, "node"),
                     verdict_status_name (result.status), result.sentence);
    else if (rc == 0)
        service_log (s, LINE_AUDIT, "no audit: %s", result.sentence);
    if (id)
        *id = result.id;
    return rc > 0 && service_astray (ledger, result.astray, result.id, err) < 0
               ? -1
               : rc;
}

/*
 * Comments of audited jobs
 */

int service_comment (const struct service *s, struct ledger *ledger,
                     uint64_t job, int64_t audit, struct error *err)
{
    char entry[COMMENT_ENTRY_MAX + 1];
    struct ledger_result r;
    struct verdict *v;
    struct comment c;

    if (!strcmp (s->site.action, "report"))
        return 0;
    if (ledger_result (ledger, audit, s->fabric, false, &r, err) < 0
        || ledger_extent (ledger, audit, v = r.verdict, err) < 0)
        return -1;
    /* none that a limit outranks, or that is of another fabric */
    while (v->nfindings > 0 && (v->finding->level < v->status
                                || v->finding->nsuspects == 0))
        v->nfindings--;
    comment_of_audit (&c, audit, v, s->fabric);
    comment_format (&c, entry);
    return ledger_comment_add (ledger, clock_date (), job, 0, entry, err) < 0 ? -1
                                                                              : 0;
}

int duty_comments (const struct service *s, struct ledger *ledger,
                   struct service_state *state, struct error *err)
{
    int written = 0;
    int tried = 0; /* stays 0 if the site wants no comments */

    (void)state;
    if (strcmp (s->site.action, "report"))
        tried = accounting_flush (ledger, clock_date (), COMMENTS_AT_ONCE,
                                  &written, err);
    if (written > 0)
        service_log (s, LINE_KEEP, "%s written",
                     COUNTED ((uint64_t)written, "comment"));
    return tried < 0 ? -1 : tried == 0 ? DUTY_UNTRIED : 0;
}

/*
 * Nodes not audited for a long time, and old audits
 */

int duty_missed (const struct service *s, struct ledger *ledger,
                 struct service_state *state, struct error *err)
{
    int64_t now = clock_date ();
    struct controller_nodes nodes;
    const struct reports in = {
        .site = &s->site, .ledger = ledger, .fabric = s->fabric,
        .node_of = s->node_of, .nodes = &nodes,
    };
    struct hostlist missed = { 0 };
    static int64_t told; /* when nodes were last named */
    int rc;

    (void)state;
    if (llabs (now - told) < DAY_S)
        return 0;
    if ((rc = controller_nodes (&nodes, err)) == 0) {
        rc = missed_nodes (&missed, &in, now, err);
        controller_nodes_clear (&nodes);
    }
    if (rc == 0 && missed.count > 0) {
        char *list = hostlist_fold ((const char *const *)missed.name,
                                    missed.count);

        service_log (s, LINE_MISSED,
                     "not audited for a day or more: %s: %.400s (pmm ledger "
                     "missed)", COUNTED (missed.count, "node"), list);
        free (list);
        told = now;
    }
    hostlist_clear (&missed);
    return rc;
}

/* What the site's page was last made of; nodes NULL: it was not. */
static struct {
    int64_t changes; /* of the ledger, */
    struct timespec snapshot;
    char *nodes;     /* as page_nodes has them */
    int64_t news_made;
    int64_t due_ms;  /* when it is made though nothing changed */
} page_of;

void duty_reports_clear (void)
{
    free (page_of.nodes);
    page_of.nodes = NULL;
}

/* What the page shows of Slurm's nodes; the caller frees it. */
static char *page_nodes (const struct controller_nodes *nodes)
{
    char *text = NULL;
    size_t size;
    FILE *fp = xcheck (open_memstream (&text, &size));

    for (size_t i = 0; i < nodes->n; i++) {
        const struct policy_node *v = &nodes->v[i];
        const char *state = page_state (v);

        fprintf (fp, "%s %s %s\n", v->name, state ? state : "",
                 state && v->reason ? v->reason : "");
    }
    xcheck (fclose (fp) == 0 ? text : NULL);
    return text;
}

int duty_reports (const struct service *s, struct ledger *ledger,
                  struct service_state *state, struct error *err)
{
    struct controller_nodes nodes;
    struct reports in = {
        .site = &s->site, .ledger = ledger, .fabric = s->fabric,
        .node_of = s->node_of, .nodes = &nodes, .news = state->told.news.v,
        .nnews = state->told.news.n,
    };
    int64_t changes, news_made = state->told.news_made;
    char *shown;
    int rc = 0;

    if (!*s->site.reports)
        return 0;
    if ((changes = ledger_changes (ledger, err)) < 0
        || controller_nodes (&nodes, err) < 0)
        return -1;
    shown = page_nodes (&nodes);
    /* what is missed depends on the time, too */
    if ((page_of.changes != changes || clock_ms () >= page_of.due_ms
         || memcmp (&page_of.snapshot, &s->snapshot, sizeof (s->snapshot))
         || !page_of.nodes || strcmp (page_of.nodes, shown)
         || page_of.news_made != news_made)
        && (rc = reports_tidy (&s->site, ledger, err)) == 0
        && (rc = reports_index (&in, err)) >= 0 && rc < 2) {
        duty_reports_clear ();
        page_of.nodes = shown;
        shown = NULL;
        page_of.news_made = news_made;
        page_of.snapshot = s->snapshot;
        page_of.changes = changes;
        page_of.due_ms = clock_ms () + HOUR_S * INT64_C (1000);
    }
    free (shown);
    controller_nodes_clear (&nodes);
    return rc < 0 ? -1 : 0;
}

/* Once an hour, set what may be deleted: what is older than LedgerDays, counted
 * from the newest audit, or from now; but of the oldest only PRUNE_S, so that a
 * date that is wrong costs little until somebody looks.
 */
static int prune_before (const struct service *s, struct ledger *ledger,
                         struct prune *p, struct error *err)
{
    int64_t days = s->site.ledger_days, now = clock_date ();
    int64_t newest, oldest, before, n;

    if (clock_ms () < p->due_ms)
        return 0;
    p->due_ms = clock_ms () + HOUR_S * INT64_C (1000);
    if (ledger_old (ledger, 0, &oldest, &newest, err) < 0)
        return -1;
    if (newest > now)
        newest = now;
    before = newest - days * DAY_S;
    if ((n = ledger_old (ledger, before, &oldest, &newest, err)) < 0)
        return -1;
    if (n > 0 && oldest < before - DAY_S && clock_ms () >= p->told_old_ms) {
        p->told_old_ms = clock_ms () + DAY_S * INT64_C (1000);
        service_log (s, LINE_KEEP,
                     "%s older than LedgerDays, which is %" PRId64 ": those of "
                     "3 days are deleted in a day, all at once by pmm ledger "
                     "prune --days %" PRId64, COUNTED ((uint64_t)n, "audit"),
                     days, days);
    }
    if (n > 0) {
        if (p->before == 0)
            p->before = oldest;
        if (p->before < oldest - DAY_S) /* a clock was behind */
            p->before = oldest - DAY_S;
        p->before += PRUNE_S;
    }
    if (n == 0 || p->before > before)
        p->before = before;
    return 0;
}

int duty_settle (const struct service *s, struct ledger *ledger,
                 struct service_state *state, struct error *err)
{
    const struct site_baseline site = { ledger, s->fabric, s->site.baseline };
    char *said;
    int n = site_baseline_settle (&site, clock_date (), s->site.fail_ns, &said,
                                  err);

    (void)state;
    if (n > 0) {
        service_log (s, LINE_KEEP, "%s", said);
        free (said);
    }
    return n < 0 ? -1 : 0;
}

int duty_prune (const struct service *s, struct ledger *ledger,
                struct service_state *state, struct error *err)
{
    struct ledger_pruned done = { 0 };
    struct prune *p = &state->prune;

    if (s->site.ledger_days > 0
        && (prune_before (s, ledger, p, err) < 0
            || ledger_prune (ledger, p->before, INT64_MAX, &done, err) < 0))
        return -1;
    p->audits += done.audits;
    if (p->audits > 0 && !done.more) {
        service_log (s, LINE_KEEP, "%s older than %s deleted",
                     COUNTED ((uint64_t)p->audits, "audit"),
                     COUNTED ((uint64_t)s->site.ledger_days, "day"));
        p->audits = 0;
    }
    return done.more ? DUTY_HURRY : 0;
}
