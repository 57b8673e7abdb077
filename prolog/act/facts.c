/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The inputs of the policy.
 *
 * Notes. The links of interest are found in two steps. The audits with findings
 * give the suspected links, to which the links of nodes that we drained are
 * added. Then each of these links is looked up in all audits of that time: the
 * routes over it show to which host it belonged, and if it is not suspected, it
 * may be clean. A host link is known by the endpoint at its end.
 */
#include "config.h"
#include "prolog/act/facts.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ibquery/nodemap.h"
#include "util/alloc.h"
#include "util/sort.h"

enum {
    DAY_S = 24 * 3600,
    AUDIT_S = 3600, /* longer than any audit takes */
};

/* A host link in an audit: clean and open only if it is the host's own, peer a node. */
struct link_audit {
    struct ledger_seen x;
    uint32_t endpoint;
};

struct facts_reading {
    struct facts *facts;
    struct ledger *ledger;
    const struct fabric *fabric;
    const char **node;        /* [nendpoints] node of the endpoint */
    uint32_t *endpoint;       /* [nlinks] of a host link; FABRIC_NONE: none */
    int64_t from;             /* the first audit that counts, */
    int64_t oldest;           /* ... also for drains of ours that stand */
    int64_t *since;           /* [nendpoints] audit from which on its link is of
                                 interest; 0: it is not */
    size_t nlinks;            /* of interest */
    struct link_audit *seen;  /* by audit, endpoint */
    size_t nseen;
    struct policy_audit *audit; /* the input's */
    int64_t *id;              /* audits that the policy gets */
    size_t nids;
    bool failed;              /* ... and err says why */
    struct error *err;
};

void facts_doubt (struct facts *facts, const char *sentence)
{
    if (facts->input.unreadable)
        return;
    snprintf (facts->unreadable, sizeof (facts->unreadable), "%s", sentence);
    facts->input.unreadable = facts->unreadable;
}

static void report_unknown_row (struct facts_reading *r, const char *what,
                                int64_t id)
{
    char text[80];

    snprintf (text, sizeof (text), "%s %" PRId64 " of the ledger is not of a "
              "kind that is known", what, id);
    facts_doubt (r->facts, text);
}

/* --- rows of the ledger -------------------------------------------------- */

/* Read rows of the ledger, none after a failure. */
#define READ(rows, call)                     \
    do {                                     \
        *(rows) = (struct ledger_rows){ 0 }; \
        if (!r->failed)                      \
            r->failed = (call) < 0;          \
    } while (0)

static void list_ledger_rows (struct facts_reading *r, enum ledger_kind kind,
                              int64_t from, struct ledger_rows *rows)
{
    READ (rows, ledger_list (r->ledger, kind, from, 0, rows, r->err));
}

/* --- actions ------------------------------------------------------------- */

/* The oldest first. */
static void read_actions (struct facts_reading *r)
{
    struct ledger_rows *rows = &r->facts->input.actions;
    size_t all;

    list_ledger_rows (r, LEDGER_ACTIONS, INT64_MAX, rows);
    for (size_t i = 0; i < rows->n / 2; i++) {
        struct ledger_action *other = &rows->action[rows->n - 1 - i];
        struct ledger_action newer = rows->action[i];

        rows->action[i] = *other;
        *other = newer;
    }
    all = rows->n;
    rows->n = 0;
    for (size_t i = 0; i < all; i++)
        if (rows->action[i].kind >= POLICY_DRAIN
            && rows->action[i].kind < POLICY_KINDS)
            rows->action[rows->n++] = rows->action[i];
        else
            report_unknown_row (r, "action", rows->action[i].id);
}

/* --- links of interest --------------------------------------------------- */

static void add_host_link (struct facts_reading *r, uint32_t endpoint,
                           int64_t from)
{
    int64_t *since;

    if (endpoint == FABRIC_NONE)
        return;
    since = &r->since[endpoint];
    if (*since == 0 && r->nlinks++ == FACTS_LINKS_MAX)
        facts_doubt (r->facts, "too many links are suspected at once");
    if (*since == 0 || from < *since)
        *since = from;
}

/* Add the audits from `from` on with findings; about the link if not NULL. */
static void add_audits_with_findings (struct facts_reading *r, int64_t from,
                                      const char *link)
{
    struct ledger_rows rows;

    READ (&rows, ledger_found (r->ledger, from, link, &rows, r->err));
    for (size_t i = 0; i < rows.n; i++) {
        r->id = xgrow (r->id, r->nids, sizeof (*r->id));
        r->id[r->nids++] = rows.seen[i].audit;
    }
}

/* Whether a drain by us may still stand: newer actions are only resumes that
 * may not be applied.
 */
static bool is_drain_maybe_active (const struct policy_input *in,
                                   const struct ledger_action *drain)
{
    for (const struct ledger_action *a = drain + 1;
         a < in->actions.action + in->actions.n; a++)
        if (!strcmp (drain->node, a->node)
            && !(a->kind == POLICY_RESUME && a->done < 0))
            return false;
    return drain->kind == POLICY_DRAIN;
}

/* Add the links of nodes whose drain by us may still stand, from the drain on.
 */
static void add_drained (struct facts_reading *r)
{
    const struct policy_input *in = &r->facts->input;
    const struct fabric *f = r->fabric;

    for (size_t i = 0; i < in->actions.n; i++) {
        const struct ledger_action *a = &in->actions.action[i];
        int64_t from = a->after + 1;

        if (!is_drain_maybe_active (in, a))
            continue;
        from = from < r->from ? from : r->from;
        r->oldest = from < r->oldest ? from : r->oldest;
        for (uint32_t e = 0; e < f->nendpoints; e++) {
            uint32_t link = f->port[f->endpoint[e].port].link;

            if (link != FABRIC_NONE && !strcmp (r->node[e], a->node)) {
                add_host_link (r, r->endpoint[link], from);
                add_audits_with_findings (r, from, f->link[link].id);
            }
        }
    }
}

static void add_ledger_suspects (struct facts_reading *r)
{
    struct ledger_rows rows;

    list_ledger_rows (r, LEDGER_SUSPECTS, r->from, &rows);
    for (size_t i = 0; i < rows.n; i++) {
        uint32_t link = fabric_find_link (r->fabric, rows.link[i].link);

        if (link != FABRIC_NONE)
            add_host_link (r, r->endpoint[link], r->from);
    }
}

static const char *endpoint_link_id (const struct facts_reading *r,
                                     uint32_t endpoint)
{
    const struct fabric *f = r->fabric;

    return f->link[f->port[f->endpoint[endpoint].port].link].id;
}

/* Add a host link in all audits that crossed it. */
static void add_link_audits (struct facts_reading *r, uint32_t e)
{
    const struct fabric *f = r->fabric;
    struct ledger_rows rows;

    READ (&rows, ledger_link_audits (
                     r->ledger, r->since[e], endpoint_link_id (r, e),
                     f->host[f->endpoint[e].host].name, &rows, r->err));
    for (size_t i = 0; i < rows.n; i++) {
        struct link_audit v = { rows.seen[i], e };
        uint32_t h = fabric_host_named (f, v.x.peer ? v.x.peer : "");

        v.x.clean &= v.x.own;
        v.x.open &= v.x.own;
        if (h != FABRIC_NONE && f->host[h].count > 0) /* it is in the fabric */
            v.x.peer = r->node[f->host[h].first];
        if (v.x.clean || v.x.open) {
            r->id = xgrow (r->id, r->nids, sizeof (*r->id));
            r->id[r->nids++] = v.x.audit;
        }
        r->seen = xgrow (r->seen, r->nseen, sizeof (*r->seen));
        r->seen[r->nseen++] = v;
    }
}

static int compare_link_audits (const void *va, const void *vb)
{
    const struct link_audit *a = va;
    const struct link_audit *b = vb;

    return a->x.audit != b->x.audit ? util_compare (a->x.audit, b->x.audit)
                                    : util_compare (a->endpoint, b->endpoint);
}

/* --- audits -------------------------------------------------------------- */

/* The name of a host link's port, "mlx5_0/1"; NULL: not known. */
static const char *host_port_name (struct facts_reading *r, uint32_t endpoint)
{
    const char *name /* "node1 mlx5_0/1" */
        = PORT_NAME (r->fabric, r->fabric->endpoint[endpoint].port);
    const char *port = strchr (name, ' ');

    return port ? pool_strdup (r->facts->pool, port + 1) : NULL;
}

static struct policy_suspect suspect_of (struct facts_reading *r, int64_t audit,
                                         const char *id)
{
    uint32_t link = fabric_find_link (r->fabric, id);
    const struct link_audit key = {
        .x.audit = audit,
        .endpoint = link == FABRIC_NONE ? link : r->endpoint[link],
    };
    const struct link_audit *v
        = find_sorted (&key, r->seen, r->nseen, compare_link_audits);

    return v && v->x.own
               ? (struct policy_suspect){ id, r->node[v->endpoint],
                                          host_port_name (r, v->endpoint),
                                          v->x.peer, v->x.lossy, v->x.rated }
               : (struct policy_suspect){ .link = id };
}

static struct policy_finding finding_of (struct facts_reading *r,
                                         const struct ledger_result *row,
                                         size_t finding)
{
    size_t n;
    const struct ledger_suspect *v = ledger_suspects (row, finding, &n);
    struct policy_suspect *s = pool_alloc (r->facts->pool, n, sizeof (*s));

    for (size_t i = 0; i < n; i++)
        s[i] = suspect_of (r, row->id, v[i].id);
    return (struct policy_finding){ row->verdict->finding[finding], s, n };
}

/* A finding of those of n links that the audit found clean, or did not judge.
 */
static struct policy_finding no_finding (struct facts_reading *r, bool open,
                                         const struct link_audit *v, size_t n)
{
    struct policy_suspect *s = pool_alloc (r->facts->pool, n, sizeof (*s));
    struct policy_finding f = {
        .x = { .level = open ? VERDICT_UNKNOWN : VERDICT_OK,
               .kind = FINDING_HOST_END, .basis = BASIS_BASELINE,
               .excess_ns = open ? NAN : 0, .expected_ns = NAN },
        .suspect = s,
    };

    for (size_t i = 0; i < n; i++)
        if (open ? v[i].x.open : v[i].x.clean)
            s[f.nsuspects++] = (struct policy_suspect){
                .link = endpoint_link_id (r, v[i].endpoint),
                .host = r->node[v[i].endpoint],
                .port = host_port_name (r, v[i].endpoint), .rated = v[i].x.rated,
            };
    return f;
}

/* Give the policy an audit, with the nseen host links of interest in it. */
static void add_audit (struct facts_reading *r, const struct ledger_result *row,
                       const struct link_audit *seen, size_t nseen)
{
    size_t n = row->verdict->nfindings;
    struct policy_finding *f = pool_alloc (r->facts->pool, n + 3, sizeof (*f));
    bool unclear = row->limited;

    if (row->status > VERDICT_FAIL)
        report_unknown_row (r, "audit", row->id);
    if (row->odd)
        report_unknown_row (r, "a finding of audit", row->id);
    for (size_t i = 0; i < n; i++) {
        f[i] = finding_of (r, row, i);
        /* a FAIL or UNKNOWN that is not about a host end */
        unclear = unclear || (f[i].x.level >= VERDICT_UNKNOWN
                              && f[i].x.kind != FINDING_HOST_END);
    }
    f[n] = no_finding (r, true, seen, nseen);
    n += f[n].nsuspects > 0;
    if (!row->limited || row->status != VERDICT_UNKNOWN) {
        f[n++] = no_finding (r, false, seen, nseen);
        if (unclear) {
            f[n] = f[n - 1];
            f[n++].x.level = VERDICT_UNKNOWN;
        }
    }
    r->audit[r->facts->input.naudits++] = (struct policy_audit){
        .id = (uint64_t)row->id, .time = row->ended, .whole = row->whole,
        .complete = row->complete, .asked = (size_t)row->asked,
        .nodes = (size_t)row->answered,
        .leader = row->leader, .finding = f, .nfindings = n,
    };
}

static void read_fact_audits (struct facts_reading *r)
{
    size_t first = 0, end = 0;

    sort_array (r->id, r->nids, compare_u64);
    sort_array (r->seen, r->nseen, compare_link_audits);
    r->audit = pool_alloc (r->facts->pool, r->nids, sizeof (*r->audit));
    r->facts->input.audit = r->audit;
    for (size_t i = 0; i < r->nids && !r->failed; i++) {
        int64_t id = r->id[i];
        struct ledger_result row;

        if (i > 0 && r->id[i - 1] == id)
            continue;
        if (r->facts->input.naudits == FACTS_AUDITS_MAX) {
            facts_doubt (r->facts, "too many audits found something");
            break;
        }
        for (first = end; first < r->nseen && r->seen[first].x.audit < id;)
            first++;
        for (end = first; end < r->nseen && r->seen[end].x.audit == id;)
            end++;
        if (ledger_result (r->ledger, id, r->fabric, true, &row, r->err) == 0)
            add_audit (r, &row, &r->seen[first], end - first);
        else
            r->failed = true;
    }
}

/* --- audits about a node, mutes, resets, signs --------------------------- */

/* Those at the link of a host that is still there. */
static void read_signs (struct facts_reading *r)
{
    struct ledger_rows *rows = &r->facts->input.signs;
    size_t n = 0;

    list_ledger_rows (r, LEDGER_SIGNS, r->from, rows);
    for (size_t i = 0; i < rows->n; i++) {
        const struct ledger_sign *v = &rows->sign[i];
        uint32_t link = fabric_find_link (r->fabric, v->link);
        uint32_t e = link == FABRIC_NONE ? link : r->endpoint[link];

        if (v->kind > SIGN_SPEED)
            report_unknown_row (r, "a sign of audit", v->audit);
        else if (e != FABRIC_NONE && v->host && !strcmp (v->host, r->node[e]))
            rows->sign[n++] = *v;
    }
    rows->n = n;
}

/* --- reading ------------------------------------------------------------- */

/* Find the nodes of the endpoints, and which endpoint a host link ends at: of a
 * cable between two hosts, its end a.
 */
static void find_endpoints (struct facts_reading *r, const struct nodemap *map)
{
    const struct fabric *f = r->fabric;

    r->node = nodemap_nodes (map, f);
    r->since = pool_alloc (r->facts->pool, f->nendpoints, sizeof (*r->since));
    r->endpoint = pool_alloc (r->facts->pool, f->nlinks, sizeof (*r->endpoint));
    for (size_t i = 0; i < f->nlinks; i++)
        r->endpoint[i] = FABRIC_NONE;
    for (uint32_t e = 0; e < f->nendpoints; e++) {
        uint32_t port = f->endpoint[e].port;
        uint32_t link = f->port[port].link;

        if (link != FABRIC_NONE
            && (r->endpoint[link] == FABRIC_NONE || f->link[link].a == port))
            r->endpoint[link] = e;
    }
}

static void read_facts (struct facts_reading *r, const struct nodemap *map,
                        int64_t since)
{
    struct facts *d = r->facts;
    struct policy_input *in = &d->input;

    find_endpoints (r, map);
    read_actions (r);
    if (r->failed
        || ledger_number (r->ledger, LEDGER_SINCE, since, NULL, &r->from,
                          r->err) < 0) {
        r->failed = true;
        return;
    }
    if (r->from == 0) /* no audit is that new */
        r->from = INT64_MAX;
    r->oldest = r->from;
    add_drained (r);
    add_audits_with_findings (r, r->from, NULL);
    add_ledger_suspects (r);
    for (uint32_t e = 0; e < r->fabric->nendpoints; e++)
        if (r->since[e] > 0 && r->nlinks <= FACTS_LINKS_MAX)
            add_link_audits (r, e);
    read_fact_audits (r);
    list_ledger_rows (r, LEDGER_TRIES, r->oldest, &in->tried);
    list_ledger_rows (r, LEDGER_MUTES, 0, &in->mutes);
    list_ledger_rows (r, LEDGER_REBASES, 0, &in->resets);
    read_signs (r);
}

int facts_read (struct facts *facts, struct ledger *ledger,
                const struct fabric *fabric, const struct nodemap *map,
                const char *self, int64_t now,
                const struct policy_config *cfg, struct error *err)
{
    int64_t span = cfg->confirm_within_s > DAY_S ? cfg->confirm_within_s
                                                 : DAY_S;
    struct facts_reading r
        = { .facts = facts, .ledger = ledger, .fabric = fabric, .err = err };

    *facts = (struct facts){ .input = { .now = now, .self = self },
                             .pool = pool_create () };
    if (ledger_hold (ledger, err) < 0)
        return -1;
    read_facts (&r, map, now - span - AUDIT_S);
    ledger_release (ledger);
    free (r.node);
    free (r.seen);
    free (r.id);
    return r.failed ? -1 : 0;
}

/* Whether a node still has the drain that the resume should have ended. */
static bool shows_drain (const struct policy_input *in,
                         const struct ledger_action *resume)
{
    const struct ledger_action *drain = resume;
    const struct policy_node *n = in->node, *end = n + in->nnodes;

    while (drain > in->actions.action && (drain->kind != POLICY_DRAIN
                                  || strcmp (drain->node, resume->node)))
        drain--;
    while (n < end && strcmp (n->name, resume->node))
        n++;
    return n < end && drain->kind == POLICY_DRAIN
           && !strcmp (drain->node, n->name) && n->drained && n->reason
           && n->by && in->self && !strcmp (n->reason, drain->reason)
           && !strcmp (n->by, in->self);
}

void facts_nodes (struct facts *facts, const struct policy_node *node, size_t n)
{
    struct policy_input *in = &facts->input;
    struct ledger_action *kept = in->actions.action;

    in->node = node;
    in->nnodes = n;
    for (size_t i = 0; i < in->actions.n; i++) {
        const struct ledger_action *a = &in->actions.action[i];

        if (a->kind != POLICY_RESUME || a->done >= 0 || !shows_drain (in, a))
            *kept++ = *a;
    }
    in->actions.n = (size_t)(kept - in->actions.action);
}

void facts_clear (struct facts *facts)
{
    int saved_errno = errno;

    pool_destroy (facts->pool);
    *facts = (struct facts){ 0 };
    errno = saved_errno;
}
