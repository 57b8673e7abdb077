/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The inputs of the policy.
 *
 * Notes. The links of interest are found in two steps. The audits with findings
 * give the suspected links, to which the links of nodes that we drained are
 * added. Then each of these links is looked up in all audits of that time: the
 * routes over it show to which host it belonged, and if it is not suspected, it
 * may be clean.
 */
#include "config.h"
#include "prolog/act/facts.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ibquery/guids.h"
#include "util/alloc.h"
#include "util/sort.h"

enum {
    DAY_S = 24 * 3600,
    AUDIT_S = 3600, /* longer than any audit takes */
};

/* A host link of interest, and from which audit on. */
struct host_link {
    uint32_t link;
    const char *host, *node, *port; /* port NULL: not known */
    int64_t from;
};

/* A host link in an audit. */
struct link_audit {
    int64_t audit;
    size_t of; /* the host link */
    const char *peer; /* all RTTs over it were with this node; NULL: several */
    bool lossy; /* half of its probes or more were lost */
    bool own;   /* all routes over it ended at its host */
    bool clean; /* it was measured against a baseline, and not suspected */
    bool open;  /* it was not judged */
};

struct facts_reading {
    struct facts *facts;
    struct ledger *ledger;
    const struct fabric *fabric;
    const char **node;        /* [nendpoints] node of the endpoint */
    int64_t from;             /* the first audit that counts, */
    int64_t oldest;           /* ... also for drains of ours that stand */
    struct host_link *host_link;
    size_t nhost_links;
    size_t *place;            /* [nlinks] 1 + its host link */
    struct link_audit *seen;  /* by audit, host link */
    size_t nseen;
    const struct link_audit **now; /* [nhost_links] in the current audit */
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

static void doubt_row (struct facts_reading *r, const char *what, int64_t id)
{
    char text[80];

    snprintf (text, sizeof (text), "%s %" PRId64 " of the ledger is not of a "
              "kind that is known", what, id);
    facts_doubt (r->facts, text);
}

static void *alloc (struct facts_reading *r, size_t n, size_t size)
{
    return ledger_alloc (&r->facts->pool, n, size);
}

/* The ledger's rows of a kind; none after a failure. */
static void *rows (struct facts_reading *r, const struct ledger_rows *what,
                   struct ledger_key key, size_t *n)
{
    void *v = NULL;

    *n = 0;
    if (!r->failed)
        v = ledger_read (r->ledger, what, &key, &r->facts->pool, n, r->err);
    if (!v) {
        r->failed = true;
        *n = 0;
    }
    return v;
}

/* A number and a name: the row of several kinds. */
struct audit_link {
    int64_t number; /* of an audit, or of a finding in one */
    const char *link;
};

static const struct audit_link *links (struct facts_reading *r,
                                       enum ledger_kind kind, int64_t from,
                                       const char *link, size_t *n)
{
    const struct ledger_rows what = {
        kind,
        sizeof (struct audit_link),
        {
            LEDGER_COLUMN ("audit", LEDGER_INT, audit_link, number),
            LEDGER_COLUMN ("finding", LEDGER_INT, audit_link, number),
            LEDGER_COLUMN ("link", LEDGER_TEXT, audit_link, link),
        },
    };

    return rows (r, &what, (struct ledger_key){ from, link, NULL }, n);
}

/* --- actions ------------------------------------------------------------- */

static void read_actions (struct facts_reading *r)
{
    static const struct ledger_rows what = {
        LEDGER_ACTIONS,
        sizeof (struct policy_action),
        {
            LEDGER_COLUMN ("id", LEDGER_INT, policy_action, id),
            LEDGER_WORDS ("kind", policy_action, kind, policy_kind_name,
                          POLICY_LIFTED + 1),
            LEDGER_COLUMN ("node", LEDGER_TEXT, policy_action, node),
            LEDGER_COLUMN ("link", LEDGER_TEXT, policy_action, link),
            LEDGER_COLUMN ("reason", LEDGER_TEXT, policy_action, reason),
            LEDGER_COLUMN ("intended", LEDGER_INT, policy_action, time),
            LEDGER_COLUMN ("after", LEDGER_INT, policy_action, after),
            LEDGER_COLUMN ("done", LEDGER_UNSET, policy_action, unsure),
        },
    };
    struct facts *f = r->facts;
    size_t n;
    struct policy_action *newest
        = rows (r, &what, (struct ledger_key){ .from = INT64_MAX }, &n);
    struct policy_action *action = alloc (r, n, sizeof (*action));

    f->input.action = f->action = action;
    f->open = alloc (r, n, sizeof (*f->open));
    for (size_t i = n; i-- > 0;) {
        struct policy_action *a = &action[f->input.nactions];
        const struct policy_action *drain = a;

        *a = newest[i];
        if (a->kind < POLICY_DRAIN || a->kind > POLICY_LIFTED) {
            doubt_row (r, "action", (int64_t)a->id);
            continue;
        }
        while (a->kind == POLICY_RESUME && drain
               && (drain->kind != POLICY_DRAIN
                   || strcmp (drain->node, a->node)))
            drain = drain > action ? drain - 1 : NULL;
        if (a->unsure)
            f->open[f->nopen++] = (struct open_action){
                .id = (int64_t)a->id, .kind = a->kind, .node = a->node,
                .reason = drain ? drain->reason : NULL,
            };
        f->input.nactions++;
    }
}

/* --- links of interest --------------------------------------------------- */

/* The endpoint of a host link; FABRIC_NONE: not a host link. */
static uint32_t endpoint_of (const struct fabric *f, uint32_t link)
{
    const uint32_t port[] = { f->link[link].a, f->link[link].b };

    for (int end = 0; f->link[link].kind == LINK_HOST && end < 2; end++) {
        uint32_t host = f->node[f->port[port[end]].node].host;
        const struct fabric_host *h = &f->host[host];

        if (f->node[f->port[port[end]].node].type != NODE_CA
            || host == FABRIC_NONE)
            continue;
        for (uint32_t i = h->first; i < h->first + h->count; i++)
            if (f->endpoint[i].port == port[end])
                return i;
    }
    return FABRIC_NONE;
}

static void add_host_link (struct facts_reading *r, uint32_t link, int64_t from)
{
    const struct fabric *f = r->fabric;
    uint32_t endpoint = endpoint_of (f, link);
    char name[FABRIC_NAME_MAX + 8]; /* "node1 mlx5_0/1" */
    struct host_link *v;
    const char *port;

    if (endpoint == FABRIC_NONE)
        return;
    if (r->place[link] > 0) {
        v = &r->host_link[r->place[link] - 1];
        v->from = from < v->from ? from : v->from;
        return;
    }
    if (r->nhost_links == FACTS_LINKS_MAX) {
        facts_doubt (r->facts, "too many links are suspected at once");
        return;
    }
    fabric_port_name (f, f->endpoint[endpoint].port, name, sizeof (name));
    if ((port = strchr (name, ' ')))
        port = strcpy (alloc (r, strlen (port), 1), port + 1);
    r->host_link = xgrow (r->host_link, r->nhost_links, sizeof (*v));
    r->host_link[r->nhost_links] = (struct host_link){
        .link = link, .host = f->host[f->endpoint[endpoint].host].name,
        .node = r->node[endpoint], .port = port, .from = from,
    };
    r->place[link] = ++r->nhost_links;
}

static void add_id (struct facts_reading *r, int64_t id)
{
    r->id = xgrow (r->id, r->nids, sizeof (*r->id));
    r->id[r->nids++] = id;
}

/* Add the audits from `from` on with findings; about the link if not NULL. */
static void add_found (struct facts_reading *r, int64_t from, const char *link)
{
    size_t n;
    const struct audit_link *v
        = links (r, link ? LEDGER_FOUND_OF_LINK : LEDGER_FOUND, from, link,
                 &n);

    for (size_t i = 0; i < n; i++)
        add_id (r, v[i].number);
}

/* Add the links of nodes whose drain by us may still stand, from the drain on.
 */
static void add_drained (struct facts_reading *r)
{
    const struct policy_input *in = &r->facts->input;
    const struct fabric *f = r->fabric;

    for (size_t i = 0; i < in->nactions; i++) {
        const struct policy_action *a = &in->action[i];
        int64_t from = (int64_t)a->after + 1;
        bool stands = a->kind == POLICY_DRAIN;

        /* it may if newer actions are only resumes that may not be applied */
        for (size_t k = i + 1; k < in->nactions; k++)
            if (!strcmp (a->node, in->action[k].node)
                && !(in->action[k].kind == POLICY_RESUME
                     && in->action[k].unsure))
                stands = false;
        if (!stands)
            continue;
        from = from < r->from ? from : r->from;
        r->oldest = from < r->oldest ? from : r->oldest;
        for (uint32_t e = 0; e < f->nendpoints; e++) {
            uint32_t link = f->port[f->endpoint[e].port].link;

            if (link != FABRIC_NONE && !strcmp (r->node[e], a->node)) {
                add_host_link (r, link, from);
                add_found (r, from, f->link[link].id);
            }
        }
    }
}

/* Add a host link in all audits that crossed it. */
static void add_link_audits (struct facts_reading *r, size_t of)
{
    static const struct ledger_rows what = {
        LEDGER_LINK_AUDITS,
        sizeof (struct link_audit),
        {
            LEDGER_COLUMN ("audit", LEDGER_INT, link_audit, audit),
            LEDGER_COLUMN ("peer", LEDGER_TEXT, link_audit, peer),
            LEDGER_COLUMN ("lossy", LEDGER_BOOL, link_audit, lossy),
            LEDGER_COLUMN ("own", LEDGER_BOOL, link_audit, own),
            LEDGER_COLUMN ("clean", LEDGER_BOOL, link_audit, clean),
            LEDGER_COLUMN ("open", LEDGER_BOOL, link_audit, open),
        },
    };
    const struct host_link *l = &r->host_link[of];
    size_t n;
    struct link_audit *v
        = rows (r, &what,
                (struct ledger_key){ l->from, r->fabric->link[l->link].id,
                                     l->host }, &n);

    for (size_t i = 0; i < n; i++) {
        uint32_t h = v[i].peer ? fabric_find_host (r->fabric, v[i].peer)
                               : FABRIC_NONE;

        v[i].of = of;
        /* its node; its own name if it is not in the fabric */
        if (h != FABRIC_NONE && r->fabric->host[h].count > 0)
            v[i].peer = r->node[r->fabric->host[h].first];
        v[i].clean &= v[i].own;
        v[i].open &= v[i].own;
        if (v[i].clean || v[i].open)
            add_id (r, v[i].audit);
        r->seen = xgrow (r->seen, r->nseen, sizeof (*r->seen));
        r->seen[r->nseen++] = v[i];
    }
}

static int compare_link_audits (const void *va, const void *vb)
{
    const struct link_audit *a = va;
    const struct link_audit *b = vb;

    return a->audit != b->audit ? util_compare (a->audit, b->audit)
                                : util_compare (a->of, b->of);
}

/* --- audits -------------------------------------------------------------- */

/* The row of an audit: the policy's part, and the rest. */
struct audit_row {
    struct policy_audit a;
    enum verdict_status status;
    bool limited; /* by a limit about other links than those it names */
};

struct finding_row {
    struct policy_finding f;
    int64_t seq;
};

/* A link that the current audit suspects. */
static struct policy_suspect suspect_of (const struct facts_reading *r,
                                         const char *link)
{
    uint32_t n = fabric_find_link (r->fabric, link);
    const struct link_audit *v = n != FABRIC_NONE && r->place[n] > 0
                                     ? r->now[r->place[n] - 1]
                                     : NULL;
    struct policy_suspect s = { .link = link };

    if (v && v->own) {
        s.host = r->host_link[v->of].node;
        s.port = r->host_link[v->of].port;
        s.peer = v->peer;
        s.lossy = v->lossy;
    }
    return s;
}

/* The findings of an audit, with space for `more`. */
static struct policy_finding *read_findings (struct facts_reading *r,
                                             int64_t audit, size_t more,
                                             size_t *nfindings)
{
    static const struct ledger_rows what = {
        LEDGER_FINDINGS,
        sizeof (struct finding_row),
        {
            LEDGER_COLUMN ("seq", LEDGER_INT, finding_row, seq),
            LEDGER_WORDS ("level", finding_row, f.level, verdict_status_name,
                          VERDICT_FAIL + 1),
            LEDGER_WORDS ("kind", finding_row, f.kind, finding_kind_name,
                          FINDING_KINDS),
            LEDGER_WORDS ("basis", finding_row, f.basis, finding_basis_name,
                          BASIS_LOSS + 1),
            LEDGER_COLUMN ("excess_ns", LEDGER_REAL, finding_row, f.excess_ns),
            LEDGER_COLUMN ("stderr_ns", LEDGER_REAL, finding_row, f.stderr_ns),
            LEDGER_COLUMN ("expected_ns", LEDGER_REAL, finding_row,
                           f.expected_ns),
        },
    };
    size_t n, m, k = 0;
    const struct finding_row *row
        = rows (r, &what, (struct ledger_key){ .from = audit }, &n);
    const struct audit_link *v
        = links (r, LEDGER_AUDIT_SUSPECTS, audit, NULL, &m);
    struct policy_finding *f = alloc (r, n + more, sizeof (*f));
    struct policy_suspect *s = alloc (r, m, sizeof (*s));

    for (size_t i = 0; i < n; i++) {
        f[i] = row[i].f;
        if (f[i].level > VERDICT_FAIL || f[i].kind >= FINDING_KINDS
            || f[i].basis > BASIS_LOSS) {
            doubt_row (r, "a finding of audit", audit);
            f[i].level = VERDICT_UNKNOWN;
            f[i].kind = FINDING_ROUTE;
            f[i].basis = BASIS_LOSS;
        }
        for (f[i].suspect = &s[k]; k < m && v[k].number == row[i].seq; k++)
            s[k] = suspect_of (r, v[k].link);
        f[i].nsuspects = (size_t)(&s[k] - f[i].suspect);
    }
    *nfindings = n;
    return f;
}

/* A finding of those of n links that the audit found clean, or did not judge.
 */
static struct policy_finding no_finding (struct facts_reading *r, bool open,
                                         const struct link_audit *v, size_t n)
{
    struct policy_suspect *s = alloc (r, n, sizeof (*s));
    struct policy_finding f = {
        .level = open ? VERDICT_UNKNOWN : VERDICT_OK,
        .kind = FINDING_HOST_END, .basis = BASIS_BASELINE,
        .excess_ns = open ? NAN : 0, .expected_ns = NAN, .suspect = s,
    };

    for (size_t i = 0; i < n; i++) {
        const struct host_link *l = &r->host_link[v[i].of];

        if (open ? v[i].open : v[i].clean)
            s[f.nsuspects++] = (struct policy_suspect){
                .link = r->fabric->link[l->link].id, .host = l->node,
                .port = l->port,
            };
    }
    return f;
}

/* Give the policy an audit, with the nseen host links of interest in it. */
static void add_audit (struct facts_reading *r, const struct audit_row *row,
                       const struct link_audit *seen, size_t nseen)
{
    struct policy_audit *a
        = (struct policy_audit *)r->facts->input.audit
          + r->facts->input.naudits++;
    bool unclear = row->limited;
    struct policy_finding *f;
    size_t n;

    *a = row->a;
    if (row->status > VERDICT_FAIL)
        doubt_row (r, "audit", (int64_t)a->id);
    for (size_t i = 0; i < nseen; i++)
        r->now[seen[i].of] = &seen[i];
    f = read_findings (r, (int64_t)a->id, 3, &n);
    for (size_t i = 0; i < nseen; i++)
        r->now[seen[i].of] = NULL;
    a->finding = f;
    /* a FAIL or UNKNOWN that is not about a host end */
    for (size_t i = 0; i < n; i++)
        unclear = unclear || (f[i].level >= VERDICT_UNKNOWN
                              && f[i].kind != FINDING_HOST_END);
    f[n] = no_finding (r, true, seen, nseen);
    n += f[n].nsuspects > 0;
    if (!row->limited || row->status != VERDICT_UNKNOWN) {
        f[n++] = no_finding (r, false, seen, nseen);
        if (unclear) {
            f[n] = f[n - 1];
            f[n++].level = VERDICT_UNKNOWN;
        }
    }
    a->nfindings = n;
}

static void read_audits (struct facts_reading *r)
{
    static const struct ledger_rows what = {
        LEDGER_RESULT,
        sizeof (struct audit_row),
        {
            LEDGER_COLUMN ("id", LEDGER_INT, audit_row, a.id),
            LEDGER_COLUMN ("ended", LEDGER_INT, audit_row, a.time),
            LEDGER_COLUMN ("whole", LEDGER_BOOL, audit_row, a.whole),
            LEDGER_COLUMN ("complete", LEDGER_BOOL, audit_row, a.complete),
            LEDGER_COLUMN ("asked", LEDGER_SIZE, audit_row, a.asked),
            LEDGER_COLUMN ("answered", LEDGER_SIZE, audit_row, a.nodes),
            LEDGER_COLUMN ("leader", LEDGER_TEXT, audit_row, a.leader),
            LEDGER_COLUMN ("limited", LEDGER_BOOL, audit_row, limited),
            LEDGER_WORDS ("status", audit_row, status, verdict_status_name,
                          VERDICT_FAIL + 1),
        },
    };
    size_t first = 0, kept = 0;

    if (r->nids > 0)
        qsort (r->id, r->nids, sizeof (*r->id), compare_u64);
    for (size_t i = 0; i < r->nids; i++) /* each once */
        if (kept == 0 || r->id[kept - 1] != r->id[i])
            r->id[kept++] = r->id[i];
    r->nids = kept;
    if (r->nids > FACTS_AUDITS_MAX) {
        facts_doubt (r->facts, "too many audits found something");
        r->nids = FACTS_AUDITS_MAX;
    }
    if (r->nseen > 0)
        qsort (r->seen, r->nseen, sizeof (*r->seen), compare_link_audits);
    r->now = alloc (r, r->nhost_links, sizeof (*r->now));
    r->facts->input.audit = alloc (r, r->nids, sizeof (struct policy_audit));
    for (size_t i = 0; i < r->nids && !r->failed; i++) {
        size_t n, end;
        const struct audit_row *row
            = rows (r, &what, (struct ledger_key){ .from = r->id[i] }, &n);

        while (first < r->nseen && r->seen[first].audit < r->id[i])
            first++;
        for (end = first;
             end < r->nseen && r->seen[end].audit == r->id[i]; end++)
            ;
        if (n > 0)
            add_audit (r, row, r->seen + first, end - first);
        else
            doubt_row (r, "audit", r->id[i]);
    }
}

/* --- audits about a node, mutes, resets, signs --------------------------- */

static void read_lists (struct facts_reading *r)
{
    static const struct ledger_rows tries = {
        LEDGER_TRIES,
        sizeof (struct policy_try),
        {
            LEDGER_COLUMN ("node", LEDGER_TEXT, policy_try, node),
            LEDGER_COLUMN ("begun", LEDGER_INT, policy_try, time),
            LEDGER_COLUMN ("audit", LEDGER_INT, policy_try, audit),
        },
    };
    static const struct ledger_rows mutes = {
        LEDGER_MUTES,
        sizeof (struct policy_mute),
        {
            LEDGER_COLUMN ("link", LEDGER_NAME, policy_mute, link),
            LEDGER_COLUMN ("node", LEDGER_NAME, policy_mute, node),
            LEDGER_COLUMN ("until", LEDGER_INT, policy_mute, until),
        },
    };
    static const struct ledger_rows rebases = {
        LEDGER_REBASES,
        sizeof (struct policy_reset),
        {
            LEDGER_COLUMN ("link", LEDGER_TEXT, policy_reset, link),
            LEDGER_COLUMN ("after", LEDGER_INT, policy_reset, after),
        },
    };
    struct policy_input *in = &r->facts->input;

    in->tried = rows (r, &tries, (struct ledger_key){ .from = r->oldest },
                      &in->ntried);
    in->mute = rows (r, &mutes, (struct ledger_key){ 0 }, &in->nmutes);
    in->reset = rows (r, &rebases, (struct ledger_key){ 0 }, &in->nresets);
}

static void read_signs (struct facts_reading *r)
{
    static const struct ledger_rows what = {
        LEDGER_SIGNS,
        sizeof (struct policy_sign),
        {
            LEDGER_WORDS ("kind", policy_sign, kind, sign_name,
                          SIGN_SPEED + 1),
            LEDGER_COLUMN ("link", LEDGER_TEXT, policy_sign, link),
            LEDGER_COLUMN ("host", LEDGER_TEXT, policy_sign, host),
            LEDGER_COLUMN ("time", LEDGER_INT, policy_sign, time),
            LEDGER_COLUMN ("audit", LEDGER_INT, policy_sign, after),
        },
    };
    struct policy_input *in = &r->facts->input;
    size_t n;
    struct policy_sign *sign
        = rows (r, &what, (struct ledger_key){ .from = r->from }, &n);

    in->sign = sign;
    for (size_t i = 0; i < n; i++) {
        uint32_t link = fabric_find_link (r->fabric, sign[i].link);
        uint32_t e = link == FABRIC_NONE ? link
                                         : endpoint_of (r->fabric, link);

        if (sign[i].kind > SIGN_SPEED)
            doubt_row (r, "a sign of audit", (int64_t)sign[i].after);
        else if (sign[i].host && e != FABRIC_NONE
                 && !strcmp (sign[i].host, r->node[e]))
            sign[in->nsigns++] = sign[i];
    }
}

/* --- reading ------------------------------------------------------------- */

static void read_all (struct facts_reading *r, const struct nodemap *map,
                      int64_t since)
{
    const struct fabric *f = r->fabric;
    const struct audit_link *suspect;
    size_t n;

    r->node = alloc (r, f->nendpoints, sizeof (*r->node));
    r->place = alloc (r, f->nlinks, sizeof (*r->place));
    r->failed = guids_nodes (f, map, r->node, r->err) < 0;
    read_actions (r);
    if (r->failed
        || (r->from = ledger_since (r->ledger, since, r->err)) < 0) {
        r->failed = true;
        return;
    }
    if (r->from == 0) /* no audit is that new */
        r->from = INT64_MAX;
    r->oldest = r->from;
    add_drained (r);
    add_found (r, r->from, NULL);
    suspect = links (r, LEDGER_SUSPECTS, r->from, NULL, &n);
    for (size_t i = 0; i < n; i++) {
        uint32_t link = fabric_find_link (f, suspect[i].link);

        if (link != FABRIC_NONE)
            add_host_link (r, link, r->from);
    }
    for (size_t i = 0; i < r->nhost_links; i++)
        add_link_audits (r, i);
    read_audits (r);
    read_lists (r);
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

    *facts = (struct facts){ .input = { .now = now, .self = self } };
    if (ledger_hold (ledger, err) < 0)
        return -1;
    read_all (&r, map, now - span - AUDIT_S);
    ledger_release (ledger);
    free (r.host_link);
    free (r.seen);
    free (r.id);
    return r.failed ? -1 : 0;
}

/* Whether the node still has the drain that a resume should have ended. */
static bool shows_drain (const struct policy_input *in,
                         const struct open_action *o)
{
    for (size_t i = 0; i < in->nnodes; i++) {
        const struct policy_node *n = &in->node[i];

        if (!strcmp (n->name, o->node))
            return n->drained && o->reason && n->reason && n->by && in->self
                   && !strcmp (n->reason, o->reason)
                   && !strcmp (n->by, in->self);
    }
    return false;
}

void facts_nodes (struct facts *facts, const struct policy_node *node,
                  size_t n)
{
    struct policy_input *in = &facts->input;

    in->node = node;
    in->nnodes = n;
    for (size_t i = 0; i < facts->nopen; i++) {
        struct open_action *o = &facts->open[i];
        size_t kept = 0;

        o->pending = o->kind == POLICY_RESUME && shows_drain (in, o);
        for (size_t k = 0; k < in->nactions; k++)
            if (!o->pending || (int64_t)facts->action[k].id != o->id)
                facts->action[kept++] = facts->action[k];
        in->nactions = kept;
    }
}

void facts_clear (struct facts *facts)
{
    int saved_errno = errno;

    ledger_pool_clear (&facts->pool);
    *facts = (struct facts){ 0 };
    errno = saved_errno;
}
