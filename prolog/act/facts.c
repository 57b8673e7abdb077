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
#include "util/json.h"
#include "util/sort.h"

enum {
    DAY_S = 24 * 3600,
    AUDIT_S = 3600, /* longer than any audit takes */
};

/* A host link in an audit. */
struct link_audit {
    int64_t audit;
    uint32_t endpoint;
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

/* Zeroed memory of the facts. */
static void *alloc (struct facts_reading *r, size_t n, size_t size)
{
    struct facts *f = r->facts;

    f->block = xgrow (f->block, f->nblocks, sizeof (*f->block));
    return f->block[f->nblocks++] = xcalloc (n, size);
}

/* Rows of the ledger, none after a failure. */
#define READ(call) read_rows (r, r->failed ? NULL : (call))

static json_t *read_rows (struct facts_reading *r, json_t *rows)
{
    r->failed |= !rows;
    return rows;
}

static json_t *list_ledger_rows (struct facts_reading *r, enum ledger_kind kind,
                                 int64_t from)
{
    return READ (ledger_list (r->ledger, kind, from, 0, r->err));
}

static int64_t number_of (const json_t *row, const char *column)
{
    return json_int (row, column, 0);
}

static double real_of (const json_t *row, const char *column)
{
    const json_t *v = json_object_get (row, column);

    return json_is_number (v) ? json_number_value (v) : NAN;
}

/* A text that lives as long as the facts; NULL if the column is NULL. */
static const char *copy_column_text (struct facts_reading *r, const json_t *row,
                                     const char *column)
{
    const char *s = json_string_value (json_object_get (row, column));

    return s ? strcpy (alloc (r, strlen (s) + 1, 1), s) : NULL;
}

/* The enum that the column has the word of; n: none of the n words. */
static unsigned int word_of (const json_t *row, const char *column,
                             const char *(*word) (unsigned int),
                             unsigned int n)
{
    unsigned int i = 0;

    while (i < n && strcmp (word (i), json_text (row, column)))
        i++;
    return i;
}

/* --- actions ------------------------------------------------------------- */

static void read_actions (struct facts_reading *r)
{
    json_t *rows = list_ledger_rows (r, LEDGER_ACTIONS, INT64_MAX);
    size_t n = json_array_size (rows);
    struct policy_input *in = &r->facts->input;
    struct policy_action *action = alloc (r, n, sizeof (*action));

    in->action = action;
    for (size_t i = n; i-- > 0;) { /* the newest is first */
        const json_t *row = json_array_get (rows, i);
        struct policy_action *a = &action[in->nactions];

        *a = (struct policy_action){
            .id = (uint64_t)number_of (row, "id"),
            .kind = word_of (row, "kind", policy_kind_name, POLICY_LIFTED + 1),
            .node = copy_column_text (r, row, "node"),
            .link = copy_column_text (r, row, "link"),
            .reason = copy_column_text (r, row, "reason"),
            .time = number_of (row, "intended"),
            .after = (uint64_t)number_of (row, "after"),
            .unsure = json_is_null (json_object_get (row, "done")),
        };
        if (a->kind >= POLICY_DRAIN && a->kind <= POLICY_LIFTED)
            in->nactions++;
        else
            report_unknown_row (r, "action", (int64_t)a->id);
    }
    json_decref (rows);
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
    json_t *rows = READ (ledger_found (r->ledger, from, link, r->err));
    const json_t *row;
    size_t i;

    json_array_foreach (rows, i, row) {
        r->id = xgrow (r->id, r->nids, sizeof (*r->id));
        r->id[r->nids++] = number_of (row, "audit");
    }
    json_decref (rows);
}

/* Whether a drain by us may still stand: newer actions are only resumes that
 * may not be applied.
 */
static bool is_drain_maybe_active (const struct policy_input *in,
                                   const struct policy_action *drain)
{
    for (const struct policy_action *a = drain + 1;
         a < in->action + in->nactions; a++)
        if (!strcmp (drain->node, a->node)
            && !(a->kind == POLICY_RESUME && a->unsure))
            return false;
    return drain->kind == POLICY_DRAIN;
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
    json_t *rows = list_ledger_rows (r, LEDGER_SUSPECTS, r->from);
    const json_t *row;
    size_t i;

    json_array_foreach (rows, i, row) {
        uint32_t link = fabric_find_link (r->fabric, json_text (row, "link"));

        if (link != FABRIC_NONE)
            add_host_link (r, r->endpoint[link], r->from);
    }
    json_decref (rows);
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
    const char *host = f->host[f->endpoint[e].host].name;
    json_t *rows = READ (ledger_link_audits (
        r->ledger, r->since[e], endpoint_link_id (r, e), host, r->err));
    const json_t *row;
    size_t i;

    json_array_foreach (rows, i, row) {
        uint32_t h = fabric_host_named (f, json_text (row, "peer"));
        bool own = number_of (row, "own");
        struct link_audit v = {
            .audit = number_of (row, "audit"),
            .endpoint = e,
            .lossy = number_of (row, "lossy"),
            .own = own,
            .clean = own && number_of (row, "clean"),
            .open = own && number_of (row, "open"),
        };

        /* its node; its own name if it is not in the fabric */
        v.peer = h != FABRIC_NONE && f->host[h].count > 0
                     ? r->node[f->host[h].first]
                     : copy_column_text (r, row, "peer");
        if (v.clean || v.open) {
            r->id = xgrow (r->id, r->nids, sizeof (*r->id));
            r->id[r->nids++] = v.audit;
        }
        r->seen = xgrow (r->seen, r->nseen, sizeof (*r->seen));
        r->seen[r->nseen++] = v;
    }
    json_decref (rows);
}

static int compare_link_audits (const void *va, const void *vb)
{
    const struct link_audit *a = va;
    const struct link_audit *b = vb;

    return a->audit != b->audit ? util_compare (a->audit, b->audit)
                                : util_compare (a->endpoint, b->endpoint);
}

/* --- audits -------------------------------------------------------------- */

/* The name of a host link's port, "mlx5_0/1"; NULL: not known. */
static const char *host_port_name (struct facts_reading *r, uint32_t endpoint)
{
    const char *name /* "node1 mlx5_0/1" */
        = PORT_NAME (r->fabric, r->fabric->endpoint[endpoint].port);
    const char *port = strchr (name, ' ');

    return port ? strcpy (alloc (r, strlen (port), 1), port + 1) : NULL;
}

/* A link that an audit suspects. */
static struct policy_suspect suspect_of (struct facts_reading *r,
                                         int64_t audit, const json_t *row)
{
    uint32_t link = fabric_find_link (r->fabric, json_text (row, "id"));
    const struct link_audit key = {
        .audit = audit,
        .endpoint = link == FABRIC_NONE ? link : r->endpoint[link],
    };
    const struct link_audit *v
        = r->nseen > 0 ? bsearch (&key, r->seen, r->nseen, sizeof (key),
                                  compare_link_audits)
                       : NULL;
    struct policy_suspect s = { .link = copy_column_text (r, row, "id") };

    if (v && v->own) {
        s.host = r->node[v->endpoint];
        s.port = host_port_name (r, v->endpoint);
        s.peer = v->peer;
        s.lossy = v->lossy;
    }
    return s;
}

static struct policy_finding finding_of (struct facts_reading *r,
                                         int64_t audit, const json_t *row)
{
    const json_t *suspects = json_object_get (row, "suspects");
    struct policy_suspect *s
        = alloc (r, json_array_size (suspects), sizeof (*s));
    struct policy_finding f = {
        .level = word_of (row, "level", verdict_status_name, VERDICT_FAIL + 1),
        .kind = word_of (row, "kind", finding_kind_name, FINDING_KINDS),
        .basis = word_of (row, "basis", finding_basis_name, FINDING_BASES),
        .excess_ns = real_of (row, "excess_ns"),
        .stderr_ns = real_of (row, "stderr_ns"),
        .expected_ns = real_of (row, "expected_ns"),
        .suspect = s,
        .nsuspects = json_array_size (suspects),
    };

    if (f.level > VERDICT_FAIL || f.kind >= FINDING_KINDS
        || f.basis >= FINDING_BASES) {
        report_unknown_row (r, "a finding of audit", audit);
        f.level = VERDICT_UNKNOWN;
        f.kind = FINDING_ROUTE;
        f.basis = BASIS_LOSS;
    }
    for (size_t i = 0; i < f.nsuspects; i++)
        s[i] = suspect_of (r, audit, json_array_get (suspects, i));
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

    for (size_t i = 0; i < n; i++)
        if (open ? v[i].open : v[i].clean)
            s[f.nsuspects++] = (struct policy_suspect){
                .link = endpoint_link_id (r, v[i].endpoint),
                .host = r->node[v[i].endpoint],
                .port = host_port_name (r, v[i].endpoint),
            };
    return f;
}

/* Give the policy an audit, with the nseen host links of interest in it. */
static void add_audit (struct facts_reading *r, const json_t *row,
                       const struct link_audit *seen, size_t nseen)
{
    const json_t *findings = json_object_get (row, "findings");
    size_t n = json_array_size (findings);
    struct policy_finding *f = alloc (r, n + 3, sizeof (*f));
    enum verdict_status status
        = word_of (row, "status", verdict_status_name, VERDICT_FAIL + 1);
    int64_t id = number_of (row, "id");
    bool limited = number_of (row, "limited");
    bool unclear = limited;

    if (status > VERDICT_FAIL)
        report_unknown_row (r, "audit", id);
    for (size_t i = 0; i < n; i++) {
        f[i] = finding_of (r, id, json_array_get (findings, i));
        /* a FAIL or UNKNOWN that is not about a host end */
        unclear = unclear || (f[i].level >= VERDICT_UNKNOWN
                              && f[i].kind != FINDING_HOST_END);
    }
    f[n] = no_finding (r, true, seen, nseen);
    n += f[n].nsuspects > 0;
    if (!limited || status != VERDICT_UNKNOWN) {
        f[n++] = no_finding (r, false, seen, nseen);
        if (unclear) {
            f[n] = f[n - 1];
            f[n++].level = VERDICT_UNKNOWN;
        }
    }
    r->audit[r->facts->input.naudits++] = (struct policy_audit){
        .id = (uint64_t)id,
        .time = number_of (row, "ended"),
        .whole = number_of (row, "whole"),
        .complete = number_of (row, "complete"),
        .asked = (size_t)number_of (row, "asked"),
        .nodes = (size_t)number_of (row, "answered"),
        .leader = copy_column_text (r, row, "leader"),
        .finding = f,
        .nfindings = n,
    };
}

static void read_fact_audits (struct facts_reading *r)
{
    size_t first = 0, end = 0;

    if (r->nids > 0)
        qsort (r->id, r->nids, sizeof (*r->id), compare_u64);
    if (r->nseen > 0)
        qsort (r->seen, r->nseen, sizeof (*r->seen), compare_link_audits);
    r->audit = alloc (r, r->nids, sizeof (*r->audit));
    r->facts->input.audit = r->audit;
    for (size_t i = 0; i < r->nids && !r->failed; i++) {
        int64_t id = r->id[i];
        json_t *row;

        if (i > 0 && r->id[i - 1] == id)
            continue;
        if (r->facts->input.naudits == FACTS_AUDITS_MAX) {
            facts_doubt (r->facts, "too many audits found something");
            break;
        }
        for (first = end; first < r->nseen && r->seen[first].audit < id;)
            first++;
        for (end = first; end < r->nseen && r->seen[end].audit == id;)
            end++;
        row = READ (ledger_result (r->ledger, id, r->err));
        if (row)
            add_audit (r, row, &r->seen[first], end - first);
        json_decref (row);
    }
}

/* --- audits about a node, mutes, resets, signs --------------------------- */

static void read_tries (struct facts_reading *r)
{
    json_t *rows = list_ledger_rows (r, LEDGER_TRIES, r->oldest);
    size_t n = r->facts->input.ntried = json_array_size (rows);
    struct policy_try *v = alloc (r, n, sizeof (*v));

    r->facts->input.tried = v;
    for (size_t i = 0; i < n; i++) {
        const json_t *row = json_array_get (rows, i);

        v[i].node = copy_column_text (r, row, "node");
        v[i].audit = (uint64_t)number_of (row, "audit");
        v[i].time = number_of (row, "begun");
    }
    json_decref (rows);
}

static void read_mutes (struct facts_reading *r)
{
    json_t *rows = list_ledger_rows (r, LEDGER_MUTES, 0);
    size_t n = r->facts->input.nmutes = json_array_size (rows);
    struct policy_mute *v = alloc (r, n, sizeof (*v));

    r->facts->input.mute = v;
    for (size_t i = 0; i < n; i++) {
        const json_t *row = json_array_get (rows, i);

        if (*json_text (row, "link"))
            v[i].link = copy_column_text (r, row, "link");
        if (*json_text (row, "node"))
            v[i].node = copy_column_text (r, row, "node");
        v[i].until = number_of (row, "until");
    }
    json_decref (rows);
}

static void read_resets (struct facts_reading *r)
{
    json_t *rows = list_ledger_rows (r, LEDGER_REBASES, 0);
    size_t n = r->facts->input.nresets = json_array_size (rows);
    struct policy_reset *v = alloc (r, n, sizeof (*v));

    r->facts->input.reset = v;
    for (size_t i = 0; i < n; i++) {
        const json_t *row = json_array_get (rows, i);

        v[i].link = copy_column_text (r, row, "link");
        v[i].after = (uint64_t)number_of (row, "after");
    }
    json_decref (rows);
}

/* Those at the link of a host that is still there. */
static void read_signs (struct facts_reading *r)
{
    json_t *rows = list_ledger_rows (r, LEDGER_SIGNS, r->from);
    struct policy_input *in = &r->facts->input;
    struct policy_sign *v = alloc (r, json_array_size (rows), sizeof (*v));
    const json_t *row;
    size_t i;

    in->sign = v;
    json_array_foreach (rows, i, row) {
        uint32_t link = fabric_find_link (r->fabric, json_text (row, "link"));
        uint32_t e = link == FABRIC_NONE ? link : r->endpoint[link];
        enum sign_kind kind = word_of (row, "kind", sign_name, SIGN_SPEED + 1);

        if (kind > SIGN_SPEED)
            report_unknown_row (r, "a sign of audit", number_of (row, "audit"));
        else if (e != FABRIC_NONE
                 && !strcmp (json_text (row, "host"), r->node[e]))
            v[in->nsigns++] = (struct policy_sign){
                .kind = kind,
                .link = copy_column_text (r, row, "link"),
                .host = r->node[e],
                .time = number_of (row, "time"),
                .after = (uint64_t)number_of (row, "audit"),
            };
    }
    json_decref (rows);
}

/* --- reading ------------------------------------------------------------- */

/* Find the nodes of the endpoints, and which endpoint a host link ends at: of a
 * cable between two hosts, its end a.
 */
static void find_endpoints (struct facts_reading *r, const struct nodemap *map)
{
    const struct fabric *f = r->fabric;

    r->node = nodemap_nodes (map, f);
    r->since = alloc (r, f->nendpoints, sizeof (*r->since));
    r->endpoint = alloc (r, f->nlinks, sizeof (*r->endpoint));
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
    find_endpoints (r, map);
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
    add_audits_with_findings (r, r->from, NULL);
    add_ledger_suspects (r);
    for (uint32_t e = 0; e < r->fabric->nendpoints; e++)
        if (r->since[e] > 0 && r->nlinks <= FACTS_LINKS_MAX)
            add_link_audits (r, e);
    read_fact_audits (r);
    read_tries (r);
    read_mutes (r);
    read_resets (r);
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
    read_facts (&r, map, now - span - AUDIT_S);
    ledger_release (ledger);
    free (r.node);
    free (r.seen);
    free (r.id);
    return r.failed ? -1 : 0;
}

/* Whether a node still has the drain that the resume should have ended. */
static bool shows_drain (const struct policy_input *in,
                         const struct policy_action *resume)
{
    const struct policy_action *drain = resume;
    const struct policy_node *n = in->node, *end = n + in->nnodes;

    while (drain > in->action && (drain->kind != POLICY_DRAIN
                                  || strcmp (drain->node, resume->node)))
        drain--;
    while (n < end && strcmp (n->name, resume->node))
        n++;
    return n < end && drain->kind == POLICY_DRAIN
           && !strcmp (drain->node, n->name) && n->drained && n->reason
           && n->by && in->self && !strcmp (n->reason, drain->reason)
           && !strcmp (n->by, in->self);
}

void facts_nodes (struct facts *facts, const struct policy_node *node,
                  size_t n)
{
    struct policy_input *in = &facts->input;
    struct policy_action *kept = (struct policy_action *)in->action;

    in->node = node;
    in->nnodes = n;
    for (size_t i = 0; i < in->nactions; i++) {
        const struct policy_action *a = &in->action[i];

        if (a->kind != POLICY_RESUME || !a->unsure || !shows_drain (in, a))
            *kept++ = *a;
    }
    in->nactions = (size_t)(kept - in->action);
}

void facts_clear (struct facts *facts)
{
    int saved_errno = errno;

    for (size_t i = 0; i < facts->nblocks; i++)
        free (facts->block[i]);
    free (facts->block);
    *facts = (struct facts){ 0 };
    errno = saved_errno;
}
