/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes
 *
 * To compare cables, the ports of both fabrics share one numbering: a's ports
 * have their own numbers; a port of b that a also has gets a's number; all
 * other ports of b follow.
 *
 * Routes are not walked pair by pair. For one LID, the tables of all switches
 * form a forest. Whether a switch's route to the LID has changed follows from
 * its own entry and from the answer of the next switch. So one pass answers for
 * all switches, and each source has the answer of its first switch.
 */
#include "config.h"
#include "ibquery/compare/diff.h"

#include <stdlib.h>
#include <string.h>

#include "ibquery/compare/cables.h"
#include "util/alloc.h"
#include "util/sort.h"

/* Which nodes are the same. */
struct fabric_match {
    const struct fabric *a, *b;
    uint32_t *node_b; /* by node of a; FABRIC_NONE: it is gone */
    uint32_t *node_a; /* by node of b */
    uint32_t *far_a;  /* by port of a: the other end of its cable */
    uint32_t *far_b;
};

static uint32_t *far_ends (const struct fabric *f)
{
    uint32_t *far = cables_none (f->nports);

    for (size_t i = 0; i < f->nlinks; i++) {
        far[f->link[i].a] = f->link[i].b;
        far[f->link[i].b] = f->link[i].a;
    }
    return far;
}

/* The same port in b; FABRIC_NONE if there is none. */
static uint32_t port_b (const struct fabric_match *m, uint32_t port)
{
    const struct fabric_port *p;
    uint32_t node;

    if (port == FABRIC_NONE)
        return FABRIC_NONE;
    p = &m->a->port[port];
    node = m->node_b[p->node];
    return node != FABRIC_NONE && p->num <= m->b->node[node].nports
               ? m->b->node[node].first_port + p->num - 1
               : FABRIC_NONE;
}

/*
 * Nodes
 */

static void match_guids (struct fabric_match *m)
{
    for (size_t i = 0; i < m->a->nnodes; i++) {
        uint32_t k = fabric_find_node (m->b, m->a->node[i].guid);

        if (k == FABRIC_NONE || m->a->node[i].type != m->b->node[k].type)
            continue;
        m->node_b[i] = k;
        m->node_a[k] = i;
    }
}

/* The node that is now at the same port of the same neighbour, if it is new and
 * its port has the same number.
 */
static uint32_t successor (const struct fabric_match *m, uint32_t port)
{
    uint32_t far = port_b (m, m->far_a[port]), now;

    if (far == FABRIC_NONE || (now = m->far_b[far]) == FABRIC_NONE
        || m->b->port[now].num != m->a->port[port].num
        || m->node_a[m->b->port[now].node] != FABRIC_NONE)
        return FABRIC_NONE;
    return m->b->port[now].node;
}

/* The node of b that replaces node i, which is gone. */
static uint32_t find_replacement (const struct fabric_match *m, uint32_t i)
{
    const struct fabric_node *n = &m->a->node[i];
    uint32_t found = FABRIC_NONE;
    unsigned int cables = 0, votes = 0;

    for (unsigned int k = 0; k < n->nports; k++) {
        uint32_t port = n->first_port + k, now;

        if (m->far_a[port] == FABRIC_NONE)
            continue;
        cables++;
        now = successor (m, port);
        if (found == FABRIC_NONE)
            found = now;
        votes += now != FABRIC_NONE && now == found;
    }
    if (found == FABRIC_NONE || 2 * votes < cables
        || n->type != m->b->node[found].type
        || (n->type != NODE_SWITCH
            && strcmp (n->desc, m->b->node[found].desc) != 0))
        return FABRIC_NONE;
    return found;
}

/* Neighbours are matched by GUID, so the order does not matter, unless one new
 * node could replace two: then it replaces the first.
 */
static void match_replaced (struct fabric_match *m, struct diff_pairs *list)
{
    size_t kept = 0;

    list->v = xarray (m->a->nnodes, sizeof (*list->v));
    for (size_t i = 0; i < m->a->nnodes; i++) {
        uint32_t now = m->node_b[i] == FABRIC_NONE ? find_replacement (m, i)
                                                   : FABRIC_NONE;

        if (now != FABRIC_NONE)
            list->v[list->n++] = (struct diff_pair){ i, now };
    }
    for (size_t i = 0; i < list->n; i++) {
        struct diff_pair p = list->v[i];

        if (m->node_a[p.b] != FABRIC_NONE)
            continue;
        m->node_b[p.a] = p.b;
        m->node_a[p.b] = p.a;
        list->v[kept++] = p;
    }
    list->n = kept;
}

/* Hosts of f that `other` has neither by name nor by an adapter. */
static void list_hosts (const struct fabric *f, const struct fabric *other,
                        const uint32_t *match, struct diff_list *list)
{
    list->v = xarray (f->nhosts, sizeof (*list->v));
    for (size_t i = 0; i < f->nhosts; i++) {
        const struct fabric_host *h = &f->host[i];
        bool there = fabric_find_host (other, h->name) != FABRIC_NONE;

        for (uint32_t e = h->first; !there && e < h->first + h->count; e++) {
            uint32_t node = match[f->port[f->endpoint[e].port].node];

            there = node != FABRIC_NONE
                    && other->node[node].host != FABRIC_NONE;
        }
        if (!there)
            list->v[list->n++] = i;
    }
}

/* Nodes of f that the other fabric lacks, without those of the listed hosts. */
static void list_nodes (const struct fabric *f, const uint32_t *match,
                        const struct diff_list *hosts, struct diff_list *list)
{
    bool *listed = xcalloc (f->nhosts, sizeof (*listed));

    list->v = xarray (f->nnodes, sizeof (*list->v));
    for (size_t i = 0; i < hosts->n; i++)
        listed[hosts->v[i]] = true;
    for (size_t i = 0; i < f->nnodes; i++)
        if (match[i] == FABRIC_NONE
            && (f->node[i].host == FABRIC_NONE || !listed[f->node[i].host]))
            list->v[list->n++] = i;
    free (listed);
}

static bool same_port (const struct fabric_port *p, const struct fabric_port *q)
{
    return p->guid == q->guid && p->lid == q->lid && p->lmc == q->lmc;
}

static bool same_node (const struct fabric_node *n,
                       const struct fabric_node *now)
{
    return strcmp (n->desc, now->desc) == 0 && n->nports == now->nports
           && (!n->adaptive.known || !now->adaptive.known
               || (n->adaptive.ud == now->adaptive.ud
                   && n->adaptive.rc == now->adaptive.rc));
}

/* Compare what the nodes in both fabrics report about themselves. */
static void compare_nodes (struct diff *d, const struct fabric_match *m)
{
    struct diff_pairs *list = &d->nodes_changed;

    list->v = xarray (d->a->nnodes, sizeof (*list->v));
    for (size_t i = 0; i < d->a->nnodes; i++) {
        const struct fabric_node *n = &d->a->node[i], *now;

        if (m->node_b[i] == FABRIC_NONE)
            continue;
        now = &d->b->node[m->node_b[i]];
        if (!same_node (n, now))
            list->v[list->n++] = (struct diff_pair){ i, m->node_b[i] };
        d->addresses += n->lid != now->lid;
        for (unsigned int k = 0; n->type != NODE_SWITCH && k < n->nports
                                 && k < now->nports; k++)
            d->addresses += !same_port (&d->a->port[n->first_port + k],
                                        &d->b->port[now->first_port + k]);
    }
}

/*
 * Cables
 */

/* A port of b in the common numbering. */
static uint32_t common (const struct fabric_match *m, uint32_t port)
{
    const struct fabric_port *p = &m->b->port[port];
    uint32_t node = m->node_a[p->node];

    return node != FABRIC_NONE && p->num <= m->a->node[node].nports
               ? m->a->node[node].first_port + p->num - 1
               : m->a->nports + port;
}

static uint8_t worst_state (const struct fabric *f,
                            const struct fabric_link *l)
{
    uint8_t a = f->port[l->a].state, b = f->port[l->b].state;

    return a < b ? a : b;
}

static void retrained (struct diff *d, struct diff_pair p)
{
    const struct fabric_link *x = &d->a->link[p.a], *y = &d->b->link[p.b];
    uint8_t was = worst_state (d->a, x), is = worst_state (d->b, y);

    if ((x->width && y->width && x->width != y->width)
        || (*x->speed && *y->speed && strcmp (x->speed, y->speed) != 0)
        || (was && is && was != is))
        d->retrained.v[d->retrained.n++] = p;
}

static void add_move (struct diff *d, const struct fabric_match *m,
                      const struct cable_move *move)
{
    const struct fabric_link *l = &d->b->link[move->cable.after];
    bool at_a = common (m, l->a) == move->stays;

    d->move[d->nmoves++] = (struct diff_move){
        .link = { move->cable.before, move->cable.after },
        .stays = at_a ? l->a : l->b,
        .from = move->from,
        .to = at_a ? l->b : l->a,
        .swap = move->swap,
    };
}

static void take_list (struct diff_list *list, uint32_t **v, size_t n)
{
    *list = (struct diff_list){ *v, n };
    *v = NULL;
}

static void compare_cables (struct diff *d, const struct fabric_match *m)
{
    const struct fabric *a = d->a, *b = d->b;
    size_t nports = a->nports + b->nports;
    struct cable *before = xarray (a->nlinks, sizeof (*before));
    struct cable *after = xarray (b->nlinks, sizeof (*after));
    bool *is_host = xcalloc (nports, sizeof (*is_host));
    struct cables c;

    d->move = xarray (a->nlinks, sizeof (*d->move));
    d->retrained.v = xarray (a->nlinks, sizeof (*d->retrained.v));
    for (size_t i = 0; i < a->nlinks; i++)
        before[i] = (struct cable){ a->link[i].a, a->link[i].b };
    for (size_t i = 0; i < b->nlinks; i++)
        after[i] = (struct cable){ common (m, b->link[i].a),
                                   common (m, b->link[i].b) };
    for (size_t i = 0; i < a->nports; i++)
        is_host[i] = a->node[a->port[i].node].type != NODE_SWITCH;
    for (size_t i = 0; i < b->nports; i++)
        is_host[common (m, i)] = b->node[b->port[i].node].type != NODE_SWITCH;
    cables_compare (&c, before, a->nlinks, after, b->nlinks, is_host, nports);
    for (size_t i = 0; i < c.nsame; i++)
        retrained (d, (struct diff_pair){ c.same[i].before, c.same[i].after });
    for (size_t i = 0; i < c.nmoves; i++)
        add_move (d, m, &c.move[i]);
    take_list (&d->cables_lost, &c.lost, c.nlost);
    take_list (&d->cables_added, &c.added, c.nadded);
    cables_clear (&c);
    free (before);
    free (after);
    free (is_host);
}

/*
 * Routes
 */

enum answer { UNKNOWN, ASKED, YES, NO };

/* One LID, and what is known about it at each switch. */
struct target {
    const struct fabric_match *m;
    uint16_t lid_a, lid_b;
    uint32_t to_a, to_b; /* the port that has it; FABRIC_NONE: a switch */
    uint8_t *same;       /* by node of a: the routes of both are the same */
    uint8_t *reach_a;    /* by node of a, of b: it is reached */
    uint8_t *reach_b;
    uint32_t *stack;
};

/* The answer of a node if it does not depend on the next one (YES, NO); else
 * UNKNOWN, and *next is that node.
 */
typedef enum answer (*ask_f) (const struct target *t, uint32_t node,
                              uint32_t *next);

/* All nodes on the way get the answer of its end; `round` is the answer for a
 * loop.
 */
static enum answer settle (const struct target *t, uint8_t *known,
                           uint32_t node, ask_f ask, enum answer round)
{
    enum answer answer = UNKNOWN;
    size_t depth = 0;

    while (answer == UNKNOWN) {
        if (known[node] != UNKNOWN) {
            answer = known[node] == ASKED ? round : known[node];
            break;
        }
        known[node] = ASKED;
        t->stack[depth++] = node;
        answer = ask (t, node, &node);
    }
    while (depth > 0)
        known[t->stack[--depth]] = answer;
    return answer;
}

static uint8_t entry (const struct fabric_node *n, uint16_t lid)
{
    return n->lft && lid <= n->lft_top ? n->lft[lid] : LFT_NO_ROUTE;
}

/* Where a switch sends the LID: the port at the other end of the cable. */
static uint32_t hop (const struct fabric_node *n, const uint32_t *far,
                     uint16_t lid)
{
    uint8_t port = entry (n, lid);

    return port == 0 || port > n->nports ? FABRIC_NONE
                                         : far[n->first_port + port - 1];
}

/* The next node on a route (UNKNOWN), or whether the target is reached. */
static enum answer arrive (const struct fabric *f, uint32_t port, uint32_t to,
                           uint32_t *next)
{
    if (port == FABRIC_NONE)
        return NO;
    *next = f->port[port].node;
    if (f->node[*next].type == NODE_SWITCH)
        return UNKNOWN;
    return port == to ? YES : NO;
}

static enum answer ask_reach_a (const struct target *t, uint32_t node,
                                uint32_t *next)
{
    const struct fabric_match *m = t->m;

    return arrive (m->a, hop (&m->a->node[node], m->far_a, t->lid_a), t->to_a,
                   next);
}

static enum answer ask_reach_b (const struct target *t, uint32_t node,
                                uint32_t *next)
{
    const struct fabric_match *m = t->m;

    return arrive (m->b, hop (&m->b->node[node], m->far_b, t->lid_b), t->to_b,
                   next);
}

static enum answer ask_same (const struct target *t, uint32_t node,
                             uint32_t *next)
{
    const struct fabric_match *m = t->m;
    uint32_t now = m->node_b[node], far;

    if (now == FABRIC_NONE
        || entry (&m->a->node[node], t->lid_a)
               != entry (&m->b->node[now], t->lid_b))
        return NO;
    far = hop (&m->a->node[node], m->far_a, t->lid_a);
    if (port_b (m, far) != hop (&m->b->node[now], m->far_b, t->lid_b))
        return NO;
    if (far == FABRIC_NONE)
        return YES;
    *next = m->a->port[far].node;
    return m->a->node[*next].type == NODE_SWITCH ? UNKNOWN : YES;
}

/* Endpoints in both fabrics with the same first switch, and so the same answer:
 * one represents all. An endpoint whose cable has changed is a source of its
 * own.
 */
struct diff_source {
    uint32_t port;   /* of a */
    uint32_t weight;
};

struct sources {
    struct diff_source *v;
    size_t n;
    uint32_t *of;    /* by port of a: its source; FABRIC_NONE */
};

/* Compare the routes of the `weight` endpoints that `from` represents. */
static void compare_route (struct diff_routes *r, const struct target *t,
                           uint32_t from, uint32_t weight)
{
    const struct fabric_match *m = t->m;
    uint32_t far_a = m->far_a[from], far_b = m->far_b[port_b (m, from)];
    uint32_t node_a = FABRIC_NONE, node_b = FABRIC_NONE;
    enum answer before, now;

    r->total += weight;
    before = arrive (m->a, far_a, t->to_a, &node_a);
    now = arrive (m->b, far_b, t->to_b, &node_b);
    if (port_b (m, far_a) == far_b
        && (before != UNKNOWN
            || settle (t, t->same, node_a, ask_same, YES) == YES))
        return;
    if (before == UNKNOWN)
        before = settle (t, t->reach_a, node_a, ask_reach_a, NO);
    if (now == UNKNOWN)
        now = settle (t, t->reach_b, node_b, ask_reach_b, NO);
    if (before == YES || now == YES)
        r->changed += weight;
    if (before == YES && now == NO)
        r->lost += weight;
    if (before == NO && now == YES)
        r->found += weight;
}

static bool is_endpoint (const struct fabric *f, uint32_t port)
{
    const struct fabric_port *p = &f->port[port];

    return p->lid != 0 && p->link != FABRIC_NONE
           && f->node[p->node].host != FABRIC_NONE;
}

/* The switch of a to which a port's cable leads in both fabrics; FABRIC_NONE if
 * the cable has changed or leads to another adapter.
 */
static uint32_t first_switch (const struct fabric_match *m, uint32_t port)
{
    uint32_t far = m->far_a[port];
    uint32_t node = m->a->port[far].node;

    return port_b (m, far) == m->far_b[port_b (m, port)]
                   && m->a->node[node].type == NODE_SWITCH
               ? node
               : FABRIC_NONE;
}

static void add_source (struct sources *s, const struct fabric_match *m,
                        uint32_t *at, uint32_t port)
{
    uint32_t node = first_switch (m, port);

    if (node != FABRIC_NONE && at[node] != FABRIC_NONE)
        s->of[port] = at[node];
    else {
        s->of[port] = s->n;
        s->v[s->n++].port = port;
        if (node != FABRIC_NONE)
            at[node] = s->of[port];
    }
    s->v[s->of[port]].weight++;
}

static void list_sources (const struct fabric_match *m, struct sources *s)
{
    uint32_t *at = cables_none (m->a->nnodes); /* by switch: its source */

    s->v = xcalloc (m->a->nendpoints, sizeof (*s->v));
    s->of = cables_none (m->a->nports);
    for (size_t i = 0; i < m->a->nendpoints; i++) {
        uint32_t port = m->a->endpoint[i].port, now = port_b (m, port);

        if (now != FABRIC_NONE && is_endpoint (m->b, now))
            add_source (s, m, at, port);
    }
    free (at);
}

/* Compare the tables for one LID, and the routes to it from `sources`. */
static void compare_target (struct diff *d, struct target *t,
                            const struct sources *sources,
                            uint32_t *entries)
{
    const struct fabric_match *m = t->m;

    for (size_t i = 0; i < d->a->nnodes; i++)
        if (d->a->node[i].type == NODE_SWITCH && m->node_b[i] != FABRIC_NONE)
            entries[m->node_b[i]]
                += entry (&d->a->node[i], t->lid_a)
                   != entry (&d->b->node[m->node_b[i]], t->lid_b);
    if (sources->n == 0)
        return;
    memset (t->same, UNKNOWN, d->a->nnodes);
    memset (t->reach_a, UNKNOWN, d->a->nnodes);
    memset (t->reach_b, UNKNOWN, d->b->nnodes);
    for (size_t i = 0; i < sources->n; i++) {
        uint32_t weight = sources->v[i].weight - (sources->of[t->to_a] == i);

        if (weight > 0)
            compare_route (&d->routes, t, sources->v[i].port, weight);
    }
}

/* Compare all LIDs that a port has in both fabrics. */
static void compare_port (struct diff *d, struct target *t, uint32_t port,
                          const struct sources *sources, uint32_t *entries)
{
    static const struct sources nobody = { 0 };
    const struct fabric_port *p = &d->a->port[port], *q;
    bool routed;

    t->to_a = port;
    t->to_b = port_b (t->m, port);
    if (t->to_b == FABRIC_NONE || p->lid == 0)
        return;
    q = &d->b->port[t->to_b];
    routed = is_endpoint (d->a, t->to_a) && is_endpoint (d->b, t->to_b);
    for (unsigned int k = 0; q->lid != 0 && k < 1U << p->lmc
                             && k < 1U << q->lmc; k++) {
        t->lid_a = p->lid + k;
        t->lid_b = q->lid + k;
        compare_target (d, t, routed ? sources : &nobody, entries);
    }
}

static void compare_switch (struct diff *d, struct target *t, uint32_t node,
                            uint32_t *entries)
{
    static const struct sources nobody = { 0 };
    uint32_t now = t->m->node_b[node];

    if (now == FABRIC_NONE)
        return;
    t->to_a = t->to_b = FABRIC_NONE;
    t->lid_a = d->a->node[node].lid;
    t->lid_b = d->b->node[now].lid;
    if (t->lid_a != 0 && t->lid_b != 0)
        compare_target (d, t, &nobody, entries);
}

static int compare_tables (const void *va, const void *vb)
{
    const struct diff_table *x = va, *y = vb;

    return x->entries != y->entries ? util_compare (y->entries, x->entries)
                                    : util_compare (x->node, y->node);
}

static void list_tables (struct diff *d, const uint32_t *entries)
{
    struct diff_routes *r = &d->routes;

    r->table = xarray (d->b->nnodes, sizeof (*r->table));
    for (size_t i = 0; i < d->b->nnodes; i++)
        if (entries[i] > 0)
            r->table[r->ntables++] = (struct diff_table){ i, entries[i] };
    qsort (r->table, r->ntables, sizeof (*r->table), compare_tables);
}

static void compare_routes (struct diff *d, const struct fabric_match *m)
{
    uint32_t *entries = xcalloc (d->b->nnodes, sizeof (*entries));
    struct sources sources = { 0 };
    struct target t = {
        .m = m,
        .same = xarray (d->a->nnodes, 1),
        .reach_a = xarray (d->a->nnodes, 1),
        .reach_b = xarray (d->b->nnodes, 1),
        .stack = cables_none (d->a->nnodes + d->b->nnodes),
    };

    list_sources (m, &sources);
    for (size_t i = 0; i < d->a->nports; i++)
        compare_port (d, &t, i, &sources, entries);
    for (size_t i = 0; i < d->a->nnodes; i++)
        compare_switch (d, &t, i, entries);
    list_tables (d, entries);
    free (entries);
    free (sources.v);
    free (sources.of);
    free (t.same);
    free (t.reach_a);
    free (t.reach_b);
    free (t.stack);
}

struct diff *diff_fabrics (const struct fabric *a, const struct fabric *b)
{
    struct diff *d = xcalloc (1, sizeof (*d));
    struct fabric_match m = { a, b, cables_none (a->nnodes),
                              cables_none (b->nnodes), far_ends (a),
                              far_ends (b) };

    *d = (struct diff){ .a = a, .b = b, .node_b = m.node_b,
                        .node_a = m.node_a };
    match_guids (&m);
    match_replaced (&m, &d->nodes_replaced);
    list_hosts (a, b, m.node_b, &d->hosts_gone);
    list_hosts (b, a, m.node_a, &d->hosts_added);
    list_nodes (a, m.node_b, &d->hosts_gone, &d->nodes_gone);
    list_nodes (b, m.node_a, &d->hosts_added, &d->nodes_added);
    compare_nodes (d, &m);
    compare_cables (d, &m);
    compare_routes (d, &m);
    free (m.far_a);
    free (m.far_b);
    return d;
}

void diff_destroy (struct diff *d)
{
    if (!d)
        return;
    free (d->node_b);
    free (d->node_a);
    free (d->hosts_gone.v);
    free (d->hosts_added.v);
    free (d->nodes_gone.v);
    free (d->nodes_added.v);
    free (d->nodes_replaced.v);
    free (d->nodes_changed.v);
    free (d->cables_lost.v);
    free (d->cables_added.v);
    free (d->retrained.v);
    free (d->move);
    free (d->routes.table);
    free (d);
}

bool diff_is_empty (const struct diff *d)
{
    return d->hosts_gone.n + d->hosts_added.n + d->nodes_gone.n
               + d->nodes_added.n + d->nodes_replaced.n + d->nodes_changed.n
               + d->cables_lost.n + d->cables_added.n + d->retrained.n
               + d->nmoves + d->addresses + d->routes.changed
               + d->routes.ntables
           == 0;
}
