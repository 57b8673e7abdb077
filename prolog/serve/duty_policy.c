/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Let the policy decide and act, and run the audits that it waits for: of the
 * node and of idle partners.
 */
#include "config.h"
#include "prolog/serve/duty.h"

#include <stdlib.h>
#include <string.h>

#include "prolog/act/act.h"
#include "prolog/audit/partners.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/text.h"

enum {
    PARTNERS = 15,
    RETRY_S = 60,
    SOON_S = 10,
    PATIENCE_S = 3600, /* wait so long for a partner that resolves the link */
};

static void log_policy_line (void *arg, enum policy_kind kind, const char *line)
{
    service_log (arg, kind == POLICY_DRAIN    ? LINE_DRAIN
                      : kind == POLICY_RESUME ? LINE_RESUME : LINE_POLICY,
                 "%s", line);
}

/*
 * Nodes that wait for an audit
 */

/* A node for which the policy waits for an audit. */
static struct wish {
    char node[64];
    enum ledger_why why; /* CONFIRM or AGAIN */
    uint64_t audit; /* CONFIRM: the audit to confirm, */
    struct hostlist suspects; /* ... and the ids of its FAIL's suspects */
    int64_t when;   /* not before */
    int64_t held;   /* no audit was possible: not before */
    bool waits;     /* for a partner that resolves its link */
} *wishes;
static size_t nwishes;

size_t duty_wishes (void)
{
    return nwishes;
}

void duty_wishes_clear (void)
{
    for (size_t i = 0; i < nwishes; i++)
        hostlist_clear (&wishes[i].suspects);
    free (wishes);
    wishes = NULL;
    nwishes = 0;
}

/* Keep the nodes that the policy waits for now. A node that is held because no
 * audit was possible stays held.
 */
static void update_wishes (const struct decisions *d)
{
    struct wish *v = xcalloc (d->n, sizeof (*v));
    size_t n = 0;

    for (size_t i = 0; i < d->n; i++) {
        const struct policy_finding *f = d->v[i].finding;
        const struct wish *old = wishes, *end = wishes + nwishes;

        if (d->v[i].kind != POLICY_WAIT
            || strlen (d->v[i].node) >= sizeof (v->node))
            continue;
        while (old < end && strcmp (old->node, d->v[i].node))
            old++;
        strcpy (v[n].node, d->v[i].node);
        v[n].audit = d->v[i].audit;
        v[n].why = v[n].audit ? LEDGER_CONFIRM : LEDGER_AGAIN;
        v[n].when = d->v[i].when;
        v[n].held = old < end ? old->held : INT64_MIN;
        v[n].waits = old < end && old->waits && old->audit == v[n].audit;
        if (f)
            v[n].suspects.name = xarray (f->nsuspects, sizeof (char *));
        for (size_t k = 0; f && k < f->nsuspects; k++)
            v[n].suspects.name[v[n].suspects.count++]
                = xstrdup (f->suspect[k].link);
        n++;
    }
    duty_wishes_clear ();
    wishes = v;
    nwishes = n;
}

int duty_policy (const struct service *s, struct ledger *ledger,
                 struct service_state *state, struct error *err)
{
    struct act_report report;
    int rc = act_round (&report, &s->site, ledger, s->fabric, clock_date (),
                        log_policy_line, (void *)s, err);

    if (rc == 0 && !report.busy)
        notify_decisions (state, &report.decisions);
    if (rc == 0) {
        update_wishes (&report.decisions);
        rc = report.drained + report.resumed > 0 ? DUTY_DID : 0;
    }
    act_report_clear (&report);
    return rc;
}

/*
 * Their audits
 */

/* Among the wishes with this reason, find the one that has been due longest and
 * whose node is idle or drained by us (idle NULL: any node). A hold that ends
 * too far in the future is ignored: the clock was set back. NULL: none.
 */
static struct wish *find_due (enum ledger_why why, const struct hostlist *idle,
                              const struct hostlist *drained, int64_t now)
{
    struct wish *due = NULL;

    for (struct wish *w = wishes; w < wishes + nwishes; w++)
        if (w->why == why && w->when <= now
            && (w->held <= now || w->held > now + RETRY_S)
            && (!due || w->when < due->when)
            && (!idle || hostlist_has (idle, w->node)
                || hostlist_has (drained, w->node)))
            due = w;
    return due;
}

/* Find the nodes and the leader of the audit to confirm: names borrowed from the
 * rows. None if the audit is no longer in the ledger.
 */
static int find_former (struct ledger *ledger, const struct wish *w,
                        struct hostlist *former, const char **leader,
                        struct ledger_rows *rows, struct error *err)
{
    *leader = NULL;
    *rows = (struct ledger_rows){ 0 };
    if (w->why != LEDGER_CONFIRM)
        return 0;
    if (ledger_list (ledger, LEDGER_HOSTS, (int64_t)w->audit, 0, rows, err) < 0)
        return -1;
    former->name = xarray (rows->n, sizeof (*former->name));
    for (size_t i = 0; i < rows->n; i++) {
        former->name[former->count++] = (char *)rows->host[i].host;
        if (rows->host[i].led)
            *leader = rows->host[i].host;
    }
    return 0;
}

/* Audit the node with partners. Wait (w->waits) for other idle nodes if those
 * that are idle do not resolve the node's link from another. Without partners
 * there is no audit: no node is drained or resumed by its own word alone.
 */
static int confirm_wish (const struct service *s, struct ledger *ledger,
                         struct wish *w, const struct hostlist *idle,
                         struct error *err)
{
    const struct ledger_cause cause = { .why = w->why, .node = w->node };
    int64_t now = clock_date ();
    char *name[PARTNERS + 1] = { w->node };
    struct hostlist nodes = { .name = name, .count = 1 };
    struct hostlist former = { 0 };
    const struct partners_wish wish = {
        .node = w->node, .idle = idle, .former = &former,
        .suspects = &w->suspects, .turn = (uint64_t)now / RETRY_S,
    };
    const char *before, *alike = NULL;
    struct ledger_rows rows;
    int rc = find_former (ledger, w, &former, &before, &rows, err);

    if (rc == 0)
        nodes.count += (size_t)partners_choose (s->fabric, s->node_of, &wish,
                                                &name[1], PARTNERS, &alike);
    if (nodes.count > 1) {
        bool waits = alike && now - w->when < PATIENCE_S;

        if (waits && !w->waits)
            service_log (s, LINE_POLICY,
                         "node %s is to be audited again, but no idle node "
                         "resolves its link from %s: waiting up to %d min for "
                         "one", w->node, alike, PATIENCE_S / 60);
        w->waits = waits;
    }
    if (rc == 0 && !w->waits && nodes.count > 1) {
        service_log (s, LINE_POLICY, "node %s is audited again, with %s",
                     w->node, COUNTED (nodes.count - 1, "other"));
        rc = service_audit (s, ledger, &nodes, &cause, before, NULL, err);
    }
    if (rc > 0)
        w->when = INT64_MAX; /* until the policy says */
    else
        w->held = now + (nodes.count > 1 ? RETRY_S : SOON_S);
    free (former.name);
    return rc;
}

int duty_confirm (const struct service *s, struct ledger *ledger,
                  struct service_state *state, struct error *err)
{
    enum { REASONS = 2 };
    static const enum ledger_why why[] = { LEDGER_CONFIRM, LEDGER_AGAIN };
    int64_t now = clock_date ();
    struct hostlist idle = { 0 }, drained = { 0 };
    struct wish *w = NULL;
    int may[REASONS] = { 0 };
    int rc = -1, how = nwishes > 0 ? DUTY_UNTRIED : 0;

    (void)state;
    for (size_t k = 0; k < REASONS; k++) {
        if (find_due (why[k], NULL, NULL, now)
            && (may[k] = service_may_audit (s, ledger, why[k], err)) < 0)
            return -1;
        if (find_due (why[k], NULL, NULL, now + SOON_S))
            how |= DUTY_HURRY;
    }
    if (!may[0] && !may[1])
        return how;
    if (controller_idle (&idle, s->site.audit_partition, err) == 0
        && controller_drained (&drained, err) == 0
        && service_leave_out (ledger, &idle, err) == 0
        && service_leave_out (ledger, &drained, err) == 0) {
        for (size_t k = 0; k < REASONS && !w; k++)
            if (may[k])
                w = find_due (why[k], &idle, &drained, now);
        rc = w ? confirm_wish (s, ledger, w, &idle, err) : 0;
    }
    hostlist_clear (&idle);
    hostlist_clear (&drained);
    return rc < 0 ? -1 : rc > 0 ? how | DUTY_DID : how;
}
