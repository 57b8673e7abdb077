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
#include <time.h>

#include "prolog/audit/missed.h"
#include "prolog/slurm/accounting.h"
#include "report/comment.h"
#include "util/alloc.h"
#include "util/json.h"
#include "util/text.h"

enum { HOUR_S = 3600, DAY_S = 24 * HOUR_S, COMMENTS_AT_ONCE = 200 };

void service_log (const struct service *s, const char *fmt, ...)
{
    va_list ap;
    char *text;

    va_start (ap, fmt);
    text = xvasprintf (fmt, ap);
    va_end (ap);
    fprintf (s->log, "%s\n", text_clean (text));
    fflush (s->log);
    free (text);
}

enum verdict_status service_status (const json_t *obj, const char *key)
{
    for (int i = VERDICT_OK; i <= VERDICT_FAIL; i++)
        if (!strcmp (json_text (obj, key),
                     verdict_status_name ((enum verdict_status)i)))
            return (enum verdict_status)i;
    return VERDICT_UNKNOWN;
}

static enum ledger_why why_of (const json_t *v)
{
    enum ledger_why why = LEDGER_SEARCH;

    while (why > LEDGER_BY_HAND
           && strcmp (json_text (v, "why"), ledger_why_name (why)) != 0)
        why--;
    return why;
}

struct queue_audit *service_audits (const json_t *list)
{
    struct queue_audit *a = xcalloc (json_array_size (list), sizeof (*a));
    const json_t *v;
    size_t i;

    json_array_foreach (list, i, v)
        a[i] = (struct queue_audit){
            .id = json_int (v, "id", 0),
            .begun = json_int (v, "begun", 0),
            .result = json_int (v, "job", -1) >= 0,
            .why = why_of (v),
            .job = (uint64_t)json_int (v, "about", 0),
            .uid = json_int (v, "uid", -1),
        };
    return a;
}

int service_may_audit (const struct service *s, enum ledger_why reason,
                       char why[QUEUE_WHY_MAX], struct error *err)
{
    int64_t now = time (NULL);
    json_t *list = ledger_list (s->ledger, LEDGER_BEGUN, now - HOUR_S,
                                now + HOUR_S, err);
    struct queue_audit *audit = service_audits (list);
    int rc = -1;

    if (list)
        rc = queue_may (audit, json_array_size (list), reason,
                        (size_t)s->site.audits_per_hour, now, why);
    free (audit);
    json_decref (list);
    return rc;
}

void service_keep (struct service *s, enum kept what, const char *why)
{
    static const char *const names[] = {
        [KEPT_JOBS] = "jobs wait for their audits",
        [KEPT_USER] = "jobs wait for their audits",
        [KEPT_CONFIRM] = "nodes wait for an audit that confirms a finding",
        [KEPT_AGAIN] = "drained nodes wait for an audit that clears them",
    };

    if (!strcmp (s->kept[what], why))
        return;
    if (*why)
        service_log (s, "%s: %s", names[what], why);
    else
        service_log (s, "no longer so: %s: %s", names[what], s->kept[what]);
    strcpy (s->kept[what], why);
}

int service_leave_out (struct ledger *ledger, struct hostlist *nodes,
                       struct error *err)
{
    int64_t now = time (NULL);
    json_t *faulty = ledger_faulty (ledger, now, err);
    size_t n = 0;

    if (!faulty)
        return -1;
    for (size_t i = 0; i < nodes->count; i++)
        if (ledger_is_out (faulty, nodes->name[i], now))
            free (nodes->name[i]);
        else
            nodes->name[n++] = nodes->name[i];
    nodes->count = n;
    json_decref (faulty);
    return 0;
}

int service_audit (struct service *s, const struct hostlist *nodes,
                   const struct ledger_cause *cause, const char *before,
                   struct audit_result *result, struct error *err)
{
    const struct audit audit = {
        .site = &s->site,
        .conf = s->conf,
        .ledger = s->ledger,
        .fabric = s->fabric,
        .stop = s->stop,
        .report = s->log,
    };
    const char *node[AUDIT_NODES_MAX];
    struct audit_request request = { .node = node, .cause = *cause,
                                     .before = before };
    int rc;

    request.n = nodes->count < AUDIT_NODES_MAX ? nodes->count
                                               : AUDIT_NODES_MAX;
    for (size_t i = 0; i < request.n; i++)
        node[i] = nodes->name[i * nodes->count / request.n];
    rc = audit_run (&audit, &request, result, err);
    if (rc > 0)
        service_log (s, "audit %" PRId64 " of %s: %s: %s", result->id,
                     COUNTED (request.n, "node"),
                     verdict_status_name (result->status),
                     result->sentence);
    else if (rc == 0)
        service_log (s, "no audit: %s", result->sentence);
    return rc;
}

/*
 * Comments of audited jobs
 */

static enum finding_kind kind_of (const json_t *obj)
{
    enum finding_kind kind = FINDING_KINDS - 1;

    while (kind > 0 && strcmp (json_text (obj, "kind"),
                               finding_kind_name (kind)) != 0)
        kind--;
    return kind;
}

/* A finding, and memory for what it points to. */
struct comment_finding {
    struct finding finding;
    uint32_t link, sw;
    char *node;
};

/* The host at an end of a link; NULL: none. */
static char *host_of (const struct fabric *f, uint32_t link)
{
    const struct fabric_link *l = &f->link[link];
    uint32_t end[2] = { l->a, l->b };

    for (size_t i = 0; i < 2; i++) {
        uint32_t host = f->node[f->port[end[i]].node].host;

        if (host != FABRIC_NONE)
            return f->host[host].name;
    }
    return NULL;
}

static uint32_t find_switch (const struct fabric *f, const char *id)
{
    const struct network *net = fabric_network (f);

    for (uint32_t i = 0; i < net->nswitches; i++)
        if (net->sw[i].id && !strcmp (net->sw[i].id, id))
            return i;
    return FABRIC_NONE;
}

/* Fill in as much of a finding as a comment shows. Only the first suspect link,
 * switch and node are kept; nnodes is 1 if all suspects have the same node.
 * False if the finding has no suspect link, or if a suspect is no longer in the
 * fabric.
 */
static bool read_finding (struct comment_finding *w, const json_t *finding,
                          const struct fabric *f)
{
    const json_t *excess = json_object_get (finding, "excess_ns");
    struct finding *x = &w->finding;
    bool known = true;
    size_t i;
    json_t *v;

    *x = (struct finding){
        .level = service_status (finding, "level"),
        .kind = kind_of (finding),
        .excess_ns = json_is_number (excess) ? json_number_value (excess)
                                             : NAN,
        .suspect = &w->link,
        .sw = &w->sw,
        .node = &w->node,
    };
    json_array_foreach (json_object_get (finding, "suspects"), i, v) {
        const char *id = json_text (v, "id");

        if (!strcmp (json_text (v, "role"), "link")) {
            uint32_t link = fabric_find_link (f, id);
            char *node = link == FABRIC_NONE ? NULL : host_of (f, link);

            if (x->nsuspects++ == 0) {
                w->link = link;
                w->node = node;
                x->nnodes = node != NULL;
            }
            else if (node && (!w->node || strcmp (node, w->node) != 0))
                x->nnodes++;
            known &= link != FABRIC_NONE;
        }
        else if (!strcmp (json_text (v, "role"), "switch")) {
            uint32_t sw = find_switch (f, id);

            if (x->nsw++ == 0)
                w->sw = sw;
            known &= sw != FABRIC_NONE;
        }
    }
    return known && x->nsuspects > 0;
}

static int format_comment (struct ledger *ledger, const struct fabric *f,
                           int64_t audit, char entry[COMMENT_ENTRY_MAX + 1],
                           struct error *err)
{
    json_t *result = ledger_result (ledger, audit, err);
    json_t *extent = result ? ledger_extent (ledger, audit, err) : NULL;
    struct comment_finding worst = { 0 };
    struct verdict v = {
        .status = service_status (result, "status"),
        .links = (size_t)json_int (extent, "links", 0),
        .rounds = (size_t)json_int (extent, "rounds", 0),
        .finding = &worst.finding,
    };
    const json_t *finding
        = json_array_get (json_object_get (result, "findings"), 0);
    struct comment c;

    v.nfindings = finding && read_finding (&worst, finding, f)
                  && worst.finding.level >= v.status;
    comment_of_audit (&c, audit, &v, f);
    comment_format (&c, entry);
    json_decref (extent);
    json_decref (result);
    return result && extent ? 0 : -1;
}

int service_comment (struct service *s, uint64_t job, int64_t audit,
                     struct error *err)
{
    char entry[COMMENT_ENTRY_MAX + 1];

    if (!strcmp (s->site.action, "report"))
        return 0;
    if (format_comment (s->ledger, s->fabric, audit, entry, err) < 0
        || ledger_comment_add (s->ledger, time (NULL), job, 0, entry, err) < 0)
        return -1;
    return 0;
}

int duty_comments (struct service *s, struct error *err)
{
    int written = 0;
    int tried = 0; /* stays 0 if the site wants no comments */

    if (strcmp (s->site.action, "report"))
        tried = accounting_flush (s->ledger, time (NULL), COMMENTS_AT_ONCE,
                                  &written, err);
    s->untried = tried == 0;
    if (written > 0)
        service_log (s, "%s written",
                     COUNTED ((uint64_t)written, "comment"));
    return tried < 0 ? -1 : 0;
}

/*
 * Nodes not audited for a long time, and old audits
 */

/* Log each node at most once a day, and keep the time when it was logged. */
static void log_missed (struct service *s, const struct hostlist *missed,
                        int64_t now)
{
    const char **node = xarray (missed->count, sizeof (*node));
    json_t *logged = xcheck (json_object ());
    size_t n = 0;

    for (size_t i = 0; i < missed->count; i++) {
        int64_t then = json_int (s->missed, missed->name[i], INT64_MIN / 2);

        if (llabs (now - then) >= DAY_S) {
            node[n++] = missed->name[i];
            then = now;
        }
        json_put (logged, missed->name[i], json_integer (then));
    }
    json_decref (s->missed);
    s->missed = logged;
    if (n > 0) {
        char *list = xcheck (hostlist_fold (node, n));

        service_log (s, "not audited for a day or more: %s: %.400s (pmm ledger "
                        "missed)", COUNTED (n, "node"), list);
        free (list);
    }
    free (node);
}

int duty_missed (struct service *s, struct error *err)
{
    int64_t now = time (NULL);
    struct controller_nodes nodes;
    struct hostlist missed;
    int rc;

    if (controller_nodes (&nodes, err) < 0)
        return -1;
    rc = missed_nodes (&missed, s->ledger, &s->site, s->fabric, s->map, &nodes,
                       now, err);
    if (rc == 0)
        log_missed (s, &missed, now);
    hostlist_clear (&missed);
    controller_nodes_clear (&nodes);
    return rc;
}

int duty_prune (struct service *s, struct error *err)
{
    int64_t now = time (NULL);
    int64_t n;

    if (s->site.ledger_days == 0)
        return 0;
    n = ledger_prune (s->ledger, now - (int64_t)s->site.ledger_days * DAY_S,
                      INT64_MAX, err);
    if (n > 0)
        service_log (s, "%s of more than %s ago forgotten",
                     COUNTED ((uint64_t)n, "audit"),
                     COUNTED ((uint64_t)s->site.ledger_days, "day"));
    return n < 0 ? -1 : 0;
}
