/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the policy looks at.
 *
 * Notes: what is of interest is found in two steps. Audits that found
 * something say which links are, besides those of nodes that we drained. Then
 * each of these links is looked up in all audits of the time: the routes over
 * it say whose it was, and where it is not suspected, it may be clean.
 */
#include "config.h"
#include "prolog/act/docket.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ibquery/guids.h"

enum {
    DAY_S = 24 * 3600,
    AUDIT_S = 3600, /* longer than any audit takes */
};

/* A host link that is of interest, from an audit on. */
struct interest {
    uint32_t link;
    const char *host, *node, *port; /* port NULL: not known */
    int64_t from;
};

/* A link in an audit. */
struct sight {
    int64_t audit;
    size_t interest;
    const char *peer; /* all of them began at this node; NULL: at several */
    bool lossy; /* half of its messages or more were lost */
    bool own;   /* all routes over it ended at its host */
    bool clean; /* it was measured against a baseline, and not suspected */
    bool open;  /* it was not judged */
};

struct making {
    struct docket *d;
    struct ledger *ledger;
    const struct fabric *fabric;
    const char **node;   /* [nendpoints] whose it is */
    int64_t from;        /* the first audit that counts, */
    int64_t oldest;      /* ... where a drain of ours stands as well */
    struct interest *interest;
    size_t ninterests;
    size_t *place;       /* [nlinks] 1 + its interest */
    struct sight *sight; /* by audit, interest */
    size_t nsights;
    size_t next;         /* of the sights: those before are told */
    int64_t *id;         /* audits that are to be told of */
    size_t nids;
    struct error *err;
};

void docket_doubt (struct docket *d, const char *sentence)
{
    if (d->input.unreadable)
        return;
    snprintf (d->unreadable, sizeof (d->unreadable), "%s", sentence);
    d->input.unreadable = d->unreadable;
}

/* Memory that lives as long as the docket. NULL with err. */
static void *alloc (struct making *m, size_t n, size_t size)
{
    struct docket *d = m->d;
    void **block = realloc (d->block, (d->nblocks + 1) * sizeof (*block));
    void *p = NULL;

    if (block) {
        d->block = block;
        p = calloc (n + 1, size);
    }
    if (p)
        block[d->nblocks++] = p;
    else
        error_nomem (m->err);
    return p;
}

/* Keep rows, of which texts are borrowed. Takes them; NULL is passed on. */
static json_t *keep (struct making *m, json_t *rows)
{
    if (rows && json_array_append_new (m->d->rows, rows) < 0) {
        error_nomem (m->err);
        return NULL;
    }
    return rows;
}

/* Room for one more in a list of n that grows by doubling. */
static void *grow (struct making *m, void *v, size_t n, size_t size)
{
    void *p = v;

    if ((n & (n - 1)) == 0 && !(p = realloc (v, (n ? 2 * n : 1) * size)))
        error_nomem (m->err);
    return p;
}

static const char *text_of (const json_t *row, const char *key)
{
    return json_string_value (json_object_get (row, key));
}

/* Likewise, NULL where it is empty. */
static const char *name_of (const json_t *row, const char *key)
{
    const char *s = text_of (row, key);

    return s && *s ? s : NULL;
}

static int64_t number_of (const json_t *row, const char *key)
{
    return json_integer_value (json_object_get (row, key));
}

/* NAN where it is not known. */
static double real_of (const json_t *row, const char *key)
{
    const json_t *v = json_object_get (row, key);

    return json_is_number (v) ? json_number_value (v) : NAN;
}

/* The value from 0 to n - 1 whose name this is; n where there is none. */
static int find_name (const char *name, int n, const char *(*name_of) (int))
{
    int i = 0;

    while (i < n && (!name || strcmp (name_of (i), name) != 0))
        i++;
    return i;
}

static const char *level_name (int i)
{
    return verdict_status_name ((enum verdict_status)i);
}

static const char *kind_name (int i)
{
    return finding_kind_name ((enum finding_kind)i);
}

static const char *basis_name (int i)
{
    return finding_basis_name ((enum finding_basis)i);
}

static const char *action_name (int i)
{
    return policy_kind_name ((enum policy_kind)i);
}

static const char *kind_of_sign (int i)
{
    return sign_name ((enum sign_kind)i);
}

static void doubt_row (struct making *m, const char *what, int64_t id)
{
    char text[80];

    snprintf (text, sizeof (text), "%s %" PRId64 " of the ledger is not of a "
              "kind that is known", what, id);
    docket_doubt (m->d, text);
}

/* --- actions, mutes, resets ---------------------------------------------- */

/* The last drain of the node among the first n actions; NULL. */
static const struct policy_action *last_drain (const struct policy_action *a,
                                               size_t n, const char *node)
{
    while (n-- > 0)
        if (a[n].kind == POLICY_DRAIN && !strcmp (a[n].node, node))
            return &a[n];
    return NULL;
}

static int read_actions (struct making *m)
{
    json_t *rows = keep (m, ledger_actions (m->ledger, INT64_MAX, m->err));
    size_t n = json_array_size (rows);
    struct policy_action *action;
    struct docket *d = m->d;

    if (!rows || !(action = alloc (m, n, sizeof (*action)))
        || !(d->open = alloc (m, n, sizeof (*d->open))))
        return -1;
    d->input.action = d->action = action;
    for (size_t i = n; i-- > 0;) { /* they come newest first */
        const json_t *row = json_array_get (rows, i);
        struct policy_action *a = &action[d->input.nactions];

        *a = (struct policy_action){
            .id = (uint64_t)number_of (row, "id"),
            .kind = (enum policy_kind)find_name (text_of (row, "kind"),
                                                 POLICY_LIFTED + 1,
                                                 action_name),
            .node = text_of (row, "node"), .link = text_of (row, "link"),
            .reason = text_of (row, "reason"),
            .time = number_of (row, "intended"),
            .after = (uint64_t)number_of (row, "after"),
            .unsure = json_is_null (json_object_get (row, "done")),
        };
        if (a->kind < POLICY_DRAIN || a->kind > POLICY_LIFTED) {
            doubt_row (m, "action", number_of (row, "id"));
            continue;
        }
        if (a->unsure) {
            const struct policy_action *drain
                = a->kind == POLICY_RESUME
                      ? last_drain (action, d->input.nactions, a->node)
                      : a;

            d->open[d->nopen++] = (struct docket_open){
                .id = (int64_t)a->id, .kind = a->kind, .node = a->node,
                .reason = drain ? drain->reason : NULL,
            };
        }
        d->input.nactions++;
    }
    return 0;
}

static int read_mutes (struct making *m)
{
    json_t *rows = keep (m, ledger_mutes (m->ledger, m->err));
    struct policy_mute *mute;

    if (!rows
        || !(mute = alloc (m, json_array_size (rows), sizeof (*mute))))
        return -1;
    m->d->input.mute = mute;
    for (size_t i = 0; i < json_array_size (rows); i++) {
        const json_t *row = json_array_get (rows, i);

        mute[m->d->input.nmutes++] = (struct policy_mute){
            .link = name_of (row, "link"), .node = name_of (row, "node"),
            .until = number_of (row, "until"),
        };
    }
    return 0;
}

static int read_resets (struct making *m)
{
    json_t *rows = keep (m, ledger_rebases (m->ledger, m->err));
    struct policy_reset *reset;

    if (!rows
        || !(reset = alloc (m, json_array_size (rows), sizeof (*reset))))
        return -1;
    m->d->input.reset = reset;
    for (size_t i = 0; i < json_array_size (rows); i++) {
        const json_t *row = json_array_get (rows, i);

        reset[m->d->input.nresets++] = (struct policy_reset){
            .link = text_of (row, "link"),
            .after = (uint64_t)number_of (row, "after"),
        };
    }
    return 0;
}

/* --- what is of interest ------------------------------------------------- */

/* The endpoint at the end of a host link; FABRIC_NONE: it is none. */
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

static const char *host_of (const struct making *m, uint32_t endpoint)
{
    return m->fabric->host[m->fabric->endpoint[endpoint].host].name;
}

/* "mlx5_0/1" of "node1 mlx5_0", port 1. NULL with err. */
static int port_of (struct making *m, uint32_t endpoint, const char **port)
{
    char name[FABRIC_NAME_MAX + 8];
    const char *blank;
    char *text;

    fabric_port_name (m->fabric, m->fabric->endpoint[endpoint].port, name,
                      sizeof (name));
    *port = NULL;
    if (!(blank = strchr (name, ' ')))
        return 0;
    if (!(text = alloc (m, strlen (blank), 1)))
        return -1;
    *port = strcpy (text, blank + 1);
    return 0;
}

static int add_interest (struct making *m, uint32_t link, int64_t from)
{
    uint32_t endpoint = endpoint_of (m->fabric, link);
    struct interest *v;

    if (endpoint == FABRIC_NONE)
        return 0;
    if (m->place[link] > 0) {
        v = &m->interest[m->place[link] - 1];
        v->from = from < v->from ? from : v->from;
        return 0;
    }
    if (m->ninterests == DOCKET_LINKS_MAX) {
        docket_doubt (m->d, "too many links are suspected at once");
        return 0;
    }
    if (!(v = grow (m, m->interest, m->ninterests, sizeof (*v))))
        return -1;
    m->interest = v;
    v += m->ninterests;
    *v = (struct interest){
        .link = link, .host = host_of (m, endpoint),
        .node = m->node[endpoint], .from = from,
    };
    m->place[link] = ++m->ninterests;
    return port_of (m, endpoint, &v->port);
}

static int add_id (struct making *m, int64_t id)
{
    int64_t *v = grow (m, m->id, m->nids, sizeof (*v));

    if (!v)
        return -1;
    m->id = v;
    v[m->nids++] = id;
    return 0;
}

/* Audits from `from` on that found something, of the link if it is not NULL. */
static int add_found (struct making *m, int64_t from, const char *link)
{
    json_t *ids = ledger_found (m->ledger, from, link, m->err);
    int rc = ids ? 0 : -1;

    for (size_t i = 0; rc == 0 && i < json_array_size (ids); i++)
        rc = add_id (m, number_of (json_array_get (ids, i), "audit"));
    json_decref (ids);
    return rc;
}

/* Whether our drain of the node may stand: nothing but a resume that may not
 * have come about is newer.
 */
static bool may_stand (const struct docket *d, const struct policy_action *a)
{
    const struct policy_action *end = d->input.action + d->input.nactions;

    for (const struct policy_action *b = a + 1; b < end; b++)
        if (!strcmp (a->node, b->node)
            && !(b->kind == POLICY_RESUME && b->unsure))
            return false;
    return true;
}

/* The links of nodes that we drained, since then. */
static int add_drained (struct making *m)
{
    const struct fabric *f = m->fabric;

    for (size_t i = 0; i < m->d->input.nactions; i++) {
        const struct policy_action *a = &m->d->input.action[i];
        int64_t from = (int64_t)a->after + 1;

        if (a->kind != POLICY_DRAIN || !may_stand (m->d, a))
            continue;
        from = from < m->from ? from : m->from;
        m->oldest = from < m->oldest ? from : m->oldest;
        for (uint32_t e = 0; e < f->nendpoints; e++) {
            uint32_t link = f->port[f->endpoint[e].port].link;

            if (link != FABRIC_NONE && !strcmp (m->node[e], a->node)
                && (add_interest (m, link, from) < 0
                    || add_found (m, from, f->link[link].id) < 0))
                return -1;
        }
    }
    return 0;
}

static int compare_ids (const void *va, const void *vb)
{
    int64_t a = *(const int64_t *)va;
    int64_t b = *(const int64_t *)vb;

    return (a > b) - (a < b);
}

static void sort_ids (struct making *m)
{
    size_t kept = 0;

    if (m->nids > 0)
        qsort (m->id, m->nids, sizeof (*m->id), compare_ids);
    for (size_t i = 0; i < m->nids; i++)
        if (kept == 0 || m->id[kept - 1] != m->id[i])
            m->id[kept++] = m->id[i];
    m->nids = kept;
}

/* The links that are suspected by any finding. */
static int add_suspects (struct making *m)
{
    json_t *rows = ledger_suspects (m->ledger, m->from, m->err);
    int rc = rows ? 0 : -1;

    for (size_t i = 0; rc == 0 && i < json_array_size (rows); i++) {
        uint32_t link = fabric_find_link (
            m->fabric, text_of (json_array_get (rows, i), "link"));

        if (link != FABRIC_NONE)
            rc = add_interest (m, link, m->from);
    }
    json_decref (rows);
    return rc;
}

/* A host's node; NULL where it is none, or not of the fabric. */
static const char *node_of_host (const struct making *m, const char *host)
{
    uint32_t h = host ? fabric_find_host (m->fabric, host) : FABRIC_NONE;

    return h != FABRIC_NONE && m->fabric->host[h].count > 0
               ? m->node[m->fabric->host[h].first]
               : host;
}

static int add_sights (struct making *m, size_t interest)
{
    const struct interest *in = &m->interest[interest];
    json_t *rows = keep (m, ledger_sights (m->ledger,
                                           m->fabric->link[in->link].id,
                                           in->host, in->from, m->err));
    int rc = rows ? 0 : -1;

    for (size_t i = 0; rc == 0 && i < json_array_size (rows); i++) {
        const json_t *row = json_array_get (rows, i);
        struct sight *v = grow (m, m->sight, m->nsights, sizeof (*v));

        if (!v) {
            rc = -1;
            break;
        }
        m->sight = v;
        v += m->nsights++;
        *v = (struct sight){
            .audit = number_of (row, "audit"), .interest = interest,
            .peer = node_of_host (m, text_of (row, "peer")),
            .lossy = number_of (row, "lossy"), .own = number_of (row, "own"),
            .clean = number_of (row, "own") && number_of (row, "clean"),
            .open = number_of (row, "own") && number_of (row, "open"),
        };
        if (v->clean || v->open)
            rc = add_id (m, v->audit);
    }
    return rc;
}

static int compare_sights (const void *va, const void *vb)
{
    const struct sight *a = va;
    const struct sight *b = vb;
    int order = compare_ids (&a->audit, &b->audit);

    return order ? order
                 : (a->interest > b->interest) - (a->interest < b->interest);
}

/* --- audits -------------------------------------------------------------- */

/* The link in the audit, if it was its host's; NULL: a switch's, or not known.
 */
static const struct sight *owned (const struct making *m, int64_t audit,
                                  const char *link)
{
    uint32_t n = fabric_find_link (m->fabric, link);
    struct sight key = { .audit = audit };
    const struct sight *s;

    if (n == FABRIC_NONE || m->place[n] == 0)
        return NULL;
    key.interest = m->place[n] - 1;
    s = m->nsights ? bsearch (&key, m->sight, m->nsights, sizeof (key),
                              compare_sights)
                   : NULL;
    return s && s->own ? s : NULL;
}

static int make_finding (struct making *m, int64_t audit, const json_t *row,
                         struct policy_finding *f)
{
    const json_t *suspects = json_object_get (row, "suspects");
    struct policy_suspect *s = alloc (m, json_array_size (suspects),
                                      sizeof (*s));
    int level = find_name (text_of (row, "level"), VERDICT_FAIL + 1,
                           level_name);
    int kind = find_name (text_of (row, "kind"), FINDING_KINDS,
                          kind_name);
    int basis = find_name (text_of (row, "basis"), BASIS_LOSS + 1,
                           basis_name);

    if (!s)
        return -1;
    if (level > VERDICT_FAIL || kind >= FINDING_KINDS || basis > BASIS_LOSS) {
        doubt_row (m, "a finding of audit", audit);
        level = VERDICT_UNKNOWN;
        kind = FINDING_ROUTE;
        basis = BASIS_LOSS;
    }
    *f = (struct policy_finding){
        .level = (enum verdict_status)level,
        .kind = (enum finding_kind)kind,
        .basis = (enum finding_basis)basis,
        .excess_ns = real_of (row, "excess_ns"),
        .stderr_ns = real_of (row, "stderr_ns"),
        .expected_ns = real_of (row, "expected_ns"),
        .suspect = s, .nsuspects = json_array_size (suspects),
    };
    for (size_t i = 0; i < f->nsuspects; i++) {
        const char *link = text_of (json_array_get (suspects, i), "id");
        const struct sight *seen = owned (m, audit, link);

        s[i] = (struct policy_suspect){ .link = link };
        if (seen) {
            s[i].host = m->interest[seen->interest].node;
            s[i].port = m->interest[seen->interest].port;
            s[i].peer = seen->peer;
            s[i].lossy = seen->lossy;
        }
    }
    return 0;
}

/* The links of interest that the audit found clean, or did not judge. */
static int make_sights (struct making *m, int64_t audit, bool open,
                        struct policy_finding *f)
{
    size_t first, end;
    struct policy_suspect *s;

    while (m->next < m->nsights && m->sight[m->next].audit < audit)
        m->next++;
    for (first = end = m->next;
         end < m->nsights && m->sight[end].audit == audit;)
        end++;
    if (!(s = alloc (m, end - first, sizeof (*s))))
        return -1;
    *f = (struct policy_finding){
        .level = open ? VERDICT_UNKNOWN : VERDICT_OK,
        .kind = FINDING_HOST_END, .basis = BASIS_BASELINE,
        .excess_ns = open ? NAN : 0, .expected_ns = NAN, .suspect = s,
    };
    for (size_t i = first; i < end; i++) {
        const struct interest *in = &m->interest[m->sight[i].interest];

        if (open ? m->sight[i].open : m->sight[i].clean)
            s[f->nsuspects++] = (struct policy_suspect){
                .link = m->fabric->link[in->link].id, .host = in->node,
                .port = in->port,
            };
    }
    return 0;
}

/* Whether what is off may be of more than the host ends it names. */
static bool is_unclear (const struct policy_finding *f, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (f[i].level >= VERDICT_UNKNOWN && f[i].kind != FINDING_HOST_END)
            return true;
    return false;
}

static int make_audit (struct making *m, const json_t *row,
                       struct policy_audit *a)
{
    const json_t *findings = json_object_get (row, "findings");
    size_t n = json_array_size (findings);
    struct policy_finding *f = alloc (m, n + 3, sizeof (*f));
    int status = find_name (text_of (row, "status"), VERDICT_FAIL + 1,
                            level_name);
    int64_t id = number_of (row, "id");
    /* it could not tell something of other links than those it names */
    bool vague = number_of (row, "limited");

    if (!f)
        return -1;
    if (status > VERDICT_FAIL)
        doubt_row (m, "audit", id);
    *a = (struct policy_audit){
        .id = (uint64_t)id, .time = number_of (row, "ended"),
        .whole = number_of (row, "whole"),
        .complete = number_of (row, "complete"),
        .asked = (size_t)number_of (row, "asked"),
        .nodes = (size_t)number_of (row, "answered"),
        .leader = text_of (row, "leader"), .finding = f, .nfindings = n,
    };
    for (size_t i = 0; i < n; i++)
        if (make_finding (m, id, json_array_get (findings, i), &f[i]) < 0)
            return -1;
    if (make_sights (m, id, true, &f[n]) < 0)
        return -1;
    n += f[n].nsuspects > 0;
    if (!vague || status != VERDICT_UNKNOWN) {
        if (make_sights (m, id, false, &f[n++]) < 0)
            return -1;
        if (vague || is_unclear (f, a->nfindings)) {
            f[n] = f[n - 1];
            f[n++].level = VERDICT_UNKNOWN;
        }
    }
    a->nfindings = n;
    return 0;
}

/* The results of the audits that are to be told of. */
static json_t *read_audits (struct making *m)
{
    json_t *rows = json_array ();

    sort_ids (m);
    if (m->nids > DOCKET_AUDITS_MAX) {
        docket_doubt (m->d, "too many audits found something");
        m->nids = DOCKET_AUDITS_MAX;
    }
    for (size_t i = 0; rows && i < m->nids; i++)
        if (json_array_append_new (rows, ledger_result (m->ledger, m->id[i],
                                                        m->err)) < 0) {
            json_decref (rows);
            return NULL;
        }
    if (!rows)
        error_nomem (m->err);
    return keep (m, rows);
}

static int make_audits (struct making *m)
{
    json_t *rows = read_audits (m);
    size_t n = json_array_size (rows);
    struct policy_audit *audit;

    if (!rows || !(audit = alloc (m, n, sizeof (*audit))))
        return -1;
    m->d->input.audit = audit;
    m->d->input.naudits = n;
    for (size_t i = 0; i < n; i++)
        if (make_audit (m, json_array_get (rows, i), &audit[i]) < 0)
            return -1;
    return 0;
}

static int make_evidence (struct making *m, int64_t since)
{
    if ((m->from = ledger_since (m->ledger, since, m->err)) < 0)
        return -1;
    if (m->from == 0) /* none is newer */
        m->from = INT64_MAX;
    m->oldest = m->from;
    if (add_drained (m) < 0 || add_found (m, m->from, NULL) < 0
        || add_suspects (m) < 0)
        return -1;
    for (size_t i = 0; i < m->ninterests; i++)
        if (add_sights (m, i) < 0)
            return -1;
    if (m->nsights > 0)
        qsort (m->sight, m->nsights, sizeof (*m->sight), compare_sights);
    return make_audits (m);
}

/* --- audits about a node ------------------------------------------------- */

static int make_tries (struct making *m)
{
    json_t *rows = keep (m, ledger_tries (m->ledger, m->oldest, m->err));
    size_t n = json_array_size (rows);
    struct policy_try *tried;

    if (!rows || !(tried = alloc (m, n, sizeof (*tried))))
        return -1;
    m->d->input.tried = tried;
    m->d->input.ntried = n;
    for (size_t i = 0; i < n; i++) {
        const json_t *row = json_array_get (rows, i);

        tried[i] = (struct policy_try){
            .node = text_of (row, "node"), .time = number_of (row, "begun"),
            .audit = (uint64_t)number_of (row, "audit"),
        };
    }
    return 0;
}

/* --- signs --------------------------------------------------------------- */

static int make_signs (struct making *m)
{
    json_t *rows = keep (m, ledger_signs (m->ledger, m->from, m->err));
    size_t n = json_array_size (rows);
    struct policy_input *in = &m->d->input;
    struct policy_sign *sign;

    if (!rows || !(sign = alloc (m, n, sizeof (*sign))))
        return -1;
    in->sign = sign;
    for (size_t i = 0; i < n; i++) {
        const json_t *row = json_array_get (rows, i);
        const char *link = text_of (row, "link");
        uint32_t l = fabric_find_link (m->fabric, link);
        uint32_t e = l == FABRIC_NONE ? l : endpoint_of (m->fabric, l);
        const char *host = text_of (row, "host");
        int kind = find_name (text_of (row, "kind"), SIGN_SPEED + 1,
                              kind_of_sign);

        if (kind > SIGN_SPEED)
            doubt_row (m, "a sign of audit", number_of (row, "audit"));
        else if (host && e != FABRIC_NONE && !strcmp (host, m->node[e]))
            sign[in->nsigns++] = (struct policy_sign){
                .kind = (enum sign_kind)kind, .link = link,
                .host = m->node[e], .time = number_of (row, "time"),
                .after = (uint64_t)number_of (row, "audit"),
            };
    }
    return 0;
}

/* --- all of it ----------------------------------------------------------- */

static int make (struct making *m, const struct nodemap *map, int64_t since)
{
    const struct fabric *f = m->fabric;

    if (!(m->d->rows = json_array ()))
        return error_nomem (m->err);
    if (!(m->node = alloc (m, f->nendpoints, sizeof (*m->node)))
        || !(m->place = alloc (m, f->nlinks, sizeof (*m->place)))
        || guids_nodes (f, map, m->node, m->err) < 0
        || read_actions (m) < 0 || read_mutes (m) < 0 || read_resets (m) < 0)
        return -1;
    return make_evidence (m, since) < 0 || make_tries (m) < 0
               ? -1
               : make_signs (m);
}

int docket_make (struct docket *d, struct ledger *ledger,
                 const struct fabric *fabric, const struct nodemap *map,
                 const char *self, int64_t now,
                 const struct policy_config *cfg, struct error *err)
{
    int64_t span = cfg->confirm_within_s > DAY_S ? cfg->confirm_within_s
                                                 : DAY_S;
    struct making m = { .d = d, .ledger = ledger, .fabric = fabric,
                        .err = err };
    int rc;

    *d = (struct docket){ .input = { .now = now, .self = self } };
    if (ledger_hold (ledger, err) < 0)
        return -1;
    rc = make (&m, map, now - span - AUDIT_S);
    ledger_release (ledger);
    free (m.interest);
    free (m.sight);
    free (m.id);
    return rc;
}

/* Whether the node shows the drain that a resume was to end. */
static bool shows_drain (const struct docket *d, const struct docket_open *o)
{
    const struct policy_input *in = &d->input;

    for (size_t i = 0; i < in->nnodes; i++) {
        const struct policy_node *n = &in->node[i];

        if (!strcmp (n->name, o->node))
            return n->drained && o->reason && n->reason && n->by && in->self
                   && !strcmp (n->reason, o->reason)
                   && !strcmp (n->by, in->self);
    }
    return false;
}

void docket_nodes (struct docket *d, const struct policy_node *node, size_t n)
{
    struct policy_action *action = d->action;
    struct docket_open *open = d->open;

    d->input.node = node;
    d->input.nnodes = n;
    for (size_t i = 0; i < d->nopen; i++) {
        size_t kept = 0;

        open[i].pending = open[i].kind == POLICY_RESUME
                          && shows_drain (d, &open[i]);
        for (size_t k = 0; k < d->input.nactions; k++)
            if (!open[i].pending || (int64_t)action[k].id != open[i].id)
                action[kept++] = action[k];
        d->input.nactions = kept;
    }
}

void docket_clear (struct docket *d)
{
    int saved_errno = errno;

    for (size_t i = 0; i < d->nblocks; i++)
        free (d->block[i]);
    free (d->block);
    json_decref (d->rows);
    *d = (struct docket){ 0 };
    errno = saved_errno;
}
