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

/* Endpoints in both fabrics with the same first switch, and so the same answer:
 * one represents all. An endpoint whose cable has changed is a source of its
 * own.
 */
struct diff_source {
    uint32_t port;   /* of a */
    uint32_t weight; /* endpoints */
};

struct diff_work {
    struct diff *d;
    const struct fabric *a, *b;
    uint32_t *node_b, *node_a; /* d's */
    uint32_t *far_a, *far_b;   /* by port: the other end of its cable */
    uint32_t *entries;         /* by switch of b: table entries that changed */
    struct diff_source *source;
    size_t nsources;
    uint32_t *source_of;       /* by port of a; FABRIC_NONE */

    /* The LID whose routes are compared: its number in both, the ports that
     * have it (FABRIC_NONE: a switch), and what is known by node.
     */
    uint16_t lid_a, lid_b;
    uint32_t to_a, to_b;
    uint8_t *same;             /* the routes of both are the same */
    uint8_t *reach_a, *reach_b; /* it is reached */
    uint32_t *stack;
};

static uint32_t *far_ends (const struct fabric *f)
{
    uint32_t *far = cables_none (f->nports);

    for (size_t i = 0; i < f->nports; i++)
        far[i] = fabric_far_port (f, i);
    return far;
}

/* The same port in b; FABRIC_NONE if there is none. */
static uint32_t port_b (const struct diff_work *w, uint32_t port)
{
    const struct fabric_port *p = &w->a->port[port == FABRIC_NONE ? 0 : port];
    uint32_t node = port == FABRIC_NONE ? FABRIC_NONE : w->node_b[p->node];

    return node != FABRIC_NONE && p->num <= w->b->node[node].nports
               ? w->b->node[node].first_port + p->num - 1
               : FABRIC_NONE;
}

/*
 * Nodes
 */

/* The node of b that replaces node i, which is gone: it is new, and at the same
 * ports of the same neighbours, for at least half of the cables.
 */
static uint32_t find_replacement (const struct diff_work *w, uint32_t i)
{
    const struct fabric_node *n = &w->a->node[i], *now;
    uint32_t found = FABRIC_NONE;
    unsigned int cables = 0, votes = 0;

    for (uint32_t p = n->first_port; p < n->first_port + n->nports; p++) {
        uint32_t far, port;

        if (w->far_a[p] == FABRIC_NONE)
            continue;
        cables++;
        far = port_b (w, w->far_a[p]);
        if (far == FABRIC_NONE || (port = w->far_b[far]) == FABRIC_NONE
            || w->b->port[port].num != w->a->port[p].num
            || w->node_a[w->b->port[port].node] != FABRIC_NONE)
            continue;
        if (found == FABRIC_NONE)
            found = w->b->port[port].node;
        votes += w->b->port[port].node == found;
    }
    if (found == FABRIC_NONE || 2 * votes < cables)
        return FABRIC_NONE;
    now = &w->b->node[found];
    return n->type == now->type
                   && (n->type == NODE_SWITCH
                       || strcmp (n->desc, now->desc) == 0)
               ? found
               : FABRIC_NONE;
}

/* Match nodes by GUID; then those that are replaced. Neighbours are matched by
 * GUID, so the order does not matter, unless one new node could replace two:
 * then it replaces the first.
 */
static void match_nodes (struct diff_work *w)
{
    struct diff_pairs *list = &w->d->nodes_replaced;
    size_t kept = 0;

    list->v = xarray (w->a->nnodes, sizeof (*list->v));
    for (size_t i = 0; i < w->a->nnodes; i++) {
        uint32_t k = fabric_find_node (w->b, w->a->node[i].guid);

        if (k == FABRIC_NONE || w->a->node[i].type != w->b->node[k].type)
            continue;
        w->node_b[i] = k;
        w->node_a[k] = i;
    }
    for (size_t i = 0; i < w->a->nnodes; i++) {
        uint32_t now = w->node_b[i] == FABRIC_NONE ? find_replacement (w, i)
                                                   : FABRIC_NONE;

        if (now != FABRIC_NONE)
            list->v[list->n++] = (struct diff_pair){ i, now };
    }
    for (size_t i = 0; i < list->n; i++) {
        struct diff_pair p = list->v[i];

        if (w->node_a[p.b] != FABRIC_NONE)
            continue;
        w->node_b[p.a] = p.b;
        w->node_a[p.b] = p.a;
        list->v[kept++] = p;
    }
    list->n = kept;
}

/* List the hosts of f that `other` has neither by name nor by an adapter, and
 * the nodes that it lacks, without those of these hosts.
 */
static void list_missing (const struct fabric *f, const struct fabric *other,
                          const uint32_t *match, struct diff_list *hosts,
                          struct diff_list *nodes)
{
    bool *listed = xcalloc (f->nhosts, sizeof (*listed));

    hosts->v = xarray (f->nhosts, sizeof (*hosts->v));
    nodes->v = xarray (f->nnodes, sizeof (*nodes->v));
    for (size_t i = 0; i < f->nhosts; i++) {
        const struct fabric_host *h = &f->host[i];
        bool there = fabric_find_host (other, h->name) != FABRIC_NONE;

        for (uint32_t e = h->first; !there && e < h->first + h->count; e++) {
            uint32_t node = match[f->port[f->endpoint[e].port].node];

            there = node != FABRIC_NONE
                    && other->node[node].host != FABRIC_NONE;
        }
        listed[i] = !there;
        if (!there)
            hosts->v[hosts->n++] = i;
    }
    for (size_t i = 0; i < f->nnodes; i++)
        if (match[i] == FABRIC_NONE
            && (f->node[i].host == FABRIC_NONE || !listed[f->node[i].host]))
            nodes->v[nodes->n++] = i;
    free (listed);
}

/* Compare what the nodes in both fabrics report about themselves. */
static void compare_nodes (struct diff_work *w)
{
    struct diff_pairs *list = &w->d->nodes_changed;

    list->v = xarray (w->a->nnodes, sizeof (*list->v));
    for (size_t i = 0; i < w->a->nnodes; i++) {
        const struct fabric_node *n = &w->a->node[i], *now;

        if (w->node_b[i] == FABRIC_NONE)
            continue;
        now = &w->b->node[w->node_b[i]];
        if (strcmp (n->desc, now->desc) != 0 || n->nports != now->nports
            || (n->adaptive.known && now->adaptive.known
                && (n->adaptive.ud != now->adaptive.ud
                    || n->adaptive.rc != now->adaptive.rc)))
            list->v[list->n++] = (struct diff_pair){ i, w->node_b[i] };
        w->d->addresses += n->lid != now->lid;
        for (unsigned int k = 0; n->type != NODE_SWITCH && k < n->nports
                                 && k < now->nports; k++) {
            const struct fabric_port *p = &w->a->port[n->first_port + k];
            const struct fabric_port *q = &w->b->port[now->first_port + k];

            w->d->addresses += p->guid != q->guid || p->lid != q->lid
                               || p->lmc != q->lmc;
        }
    }
}

/*
 * Cables
 */

/* A port of b in the common numbering. */
static uint32_t common (const struct diff_work *w, uint32_t port)
{
    const struct fabric_port *p = &w->b->port[port];
    uint32_t node = w->node_a[p->node];

    return node != FABRIC_NONE && p->num <= w->a->node[node].nports
               ? w->a->node[node].first_port + p->num - 1
               : w->a->nports + port;
}

static uint8_t worst_state (const struct fabric *f,
                            const struct fabric_link *l)
{
    uint8_t a = f->port[l->a].state, b = f->port[l->b].state;

    return a < b ? a : b;
}

static bool is_retrained (const struct diff_work *w, struct cable_pair p)
{
    const struct fabric_link *x = &w->a->link[p.before];
    const struct fabric_link *y = &w->b->link[p.after];
    uint8_t was = worst_state (w->a, x), is = worst_state (w->b, y);

    return (x->width && y->width && x->width != y->width)
           || (*x->speed && *y->speed && strcmp (x->speed, y->speed) != 0)
           || (was && is && was != is);
}

static void compare_cables (struct diff_work *w)
{
    const struct fabric *a = w->a, *b = w->b;
    size_t nports = a->nports + b->nports;
    struct cable *before = xarray (a->nlinks, sizeof (*before));
    struct cable *after = xarray (b->nlinks, sizeof (*after));
    bool *is_host = xcalloc (nports, sizeof (*is_host));
    struct diff *d = w->d;
    struct cables c;

    d->move = xarray (a->nlinks, sizeof (*d->move));
    d->retrained.v = xarray (a->nlinks, sizeof (*d->retrained.v));
    for (size_t i = 0; i < a->nlinks; i++)
        before[i] = (struct cable){ a->link[i].a, a->link[i].b };
    for (size_t i = 0; i < b->nlinks; i++)
        after[i] = (struct cable){ common (w, b->link[i].a),
                                   common (w, b->link[i].b) };
    for (size_t i = 0; i < a->nports; i++)
        is_host[i] = a->node[a->port[i].node].type != NODE_SWITCH;
    for (size_t i = 0; i < b->nports; i++)
        is_host[common (w, i)] = b->node[b->port[i].node].type != NODE_SWITCH;
    cables_compare (&c, before, a->nlinks, after, b->nlinks, is_host, nports);
    for (size_t i = 0; i < c.nsame; i++)
        if (is_retrained (w, c.same[i]))
            d->retrained.v[d->retrained.n++]
                = (struct diff_pair){ c.same[i].before, c.same[i].after };
    for (size_t i = 0; i < c.nmoves; i++) {
        const struct cable_move *m = &c.move[i];
        const struct fabric_link *l = &b->link[m->cable.after];
        bool at_a = after[m->cable.after].a == m->stays;

        d->move[d->nmoves++] = (struct diff_move){
            .link = { m->cable.before, m->cable.after },
            .stays = at_a ? l->a : l->b,
            .from = m->from,
            .to = at_a ? l->b : l->a,
            .swap = m->swap,
        };
    }
    d->cables_lost = (struct diff_list){ c.lost, c.nlost };
    d->cables_added = (struct diff_list){ c.added, c.nadded };
    c.lost = c.added = NULL;
    cables_clear (&c);
    free (before);
    free (after);
    free (is_host);
}

/*
 * Routes
 */

enum answer { UNKNOWN, ASKED, YES, NO };

/* The answer of a node if it does not depend on the next one (YES, NO); else
 * UNKNOWN, and *next is that node.
 */
typedef enum answer (*ask_f) (const struct diff_work *w, uint32_t node,
                              uint32_t *next);

/* All nodes on the way get the answer of its end; `round` is the answer for a
 * loop.
 */
static enum answer settle (const struct diff_work *w, uint8_t *known,
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
        w->stack[depth++] = node;
        answer = ask (w, node, &node);
    }
    while (depth > 0)
        known[w->stack[--depth]] = answer;
    return answer;
}

/* Where a switch sends the LID: the port at the other end of the cable. */
static uint32_t hop (const struct fabric_node *n, const uint32_t *far,
                     uint16_t lid)
{
    unsigned int port = fabric_entry (n, lid);

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

static enum answer ask_reach_a (const struct diff_work *w, uint32_t node,
                                uint32_t *next)
{
    return arrive (w->a, hop (&w->a->node[node], w->far_a, w->lid_a), w->to_a,
                   next);
}

static enum answer ask_reach_b (const struct diff_work *w, uint32_t node,
                                uint32_t *next)
{
    return arrive (w->b, hop (&w->b->node[node], w->far_b, w->lid_b), w->to_b,
                   next);
}

static enum answer ask_same (const struct diff_work *w, uint32_t node,
                             uint32_t *next)
{
    const struct fabric_node *n = &w->a->node[node], *now;
    uint32_t far;

    if (w->node_b[node] == FABRIC_NONE)
        return NO;
    now = &w->b->node[w->node_b[node]];
    far = hop (n, w->far_a, w->lid_a);
    if (fabric_entry (n, w->lid_a) != fabric_entry (now, w->lid_b)
        || port_b (w, far) != hop (now, w->far_b, w->lid_b))
        return NO;
    if (far == FABRIC_NONE)
        return YES;
    *next = w->a->port[far].node;
    return w->a->node[*next].type == NODE_SWITCH ? UNKNOWN : YES;
}

/* Compare the routes of the `weight` endpoints that `from` represents. */
static void compare_route (struct diff_work *w, uint32_t from, uint32_t weight)
{
    struct diff_routes *r = &w->d->routes;
    uint32_t far_a = w->far_a[from], far_b = w->far_b[port_b (w, from)];
    uint32_t node_a = FABRIC_NONE, node_b = FABRIC_NONE;
    enum answer before, now;

    r->total += weight;
    before = arrive (w->a, far_a, w->to_a, &node_a);
    now = arrive (w->b, far_b, w->to_b, &node_b);
    if (port_b (w, far_a) == far_b
        && (before != UNKNOWN
            || settle (w, w->same, node_a, ask_same, YES) == YES))
        return;
    if (before == UNKNOWN)
        before = settle (w, w->reach_a, node_a, ask_reach_a, NO);
    if (now == UNKNOWN)
        now = settle (w, w->reach_b, node_b, ask_reach_b, NO);
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

static void list_sources (struct diff_work *w)
{
    uint32_t *at = cables_none (w->a->nnodes); /* by switch: its source */

    w->source = xcalloc (w->a->nendpoints, sizeof (*w->source));
    w->source_of = cables_none (w->a->nports);
    for (size_t i = 0; i < w->a->nendpoints; i++) {
        uint32_t port = w->a->endpoint[i].port, now = port_b (w, port);
        uint32_t far = w->far_a[port], alone = FABRIC_NONE, *of = &alone;

        if (now == FABRIC_NONE || !is_endpoint (w->b, now))
            continue;
        if (port_b (w, far) == w->far_b[now]
            && w->a->node[w->a->port[far].node].type == NODE_SWITCH)
            of = &at[w->a->port[far].node];
        if (*of == FABRIC_NONE) {
            *of = w->nsources++;
            w->source[*of].port = port;
        }
        w->source[*of].weight++;
        w->source_of[port] = *of;
    }
    free (at);
}

/* Compare the tables for one LID and, if it is `routed`, the routes to it. */
static void compare_lid (struct diff_work *w, unsigned int lid_a,
                         unsigned int lid_b, bool routed)
{
    w->lid_a = lid_a;
    w->lid_b = lid_b;
    for (size_t i = 0; i < w->a->nnodes; i++)
        if (w->a->node[i].type == NODE_SWITCH && w->node_b[i] != FABRIC_NONE)
            w->entries[w->node_b[i]]
                += fabric_entry (&w->a->node[i], lid_a)
                   != fabric_entry (&w->b->node[w->node_b[i]], lid_b);
    if (!routed)
        return;
    memset (w->same, UNKNOWN, w->a->nnodes);
    memset (w->reach_a, UNKNOWN, w->a->nnodes);
    memset (w->reach_b, UNKNOWN, w->b->nnodes);
    for (size_t i = 0; i < w->nsources; i++) {
        uint32_t weight = w->source[i].weight - (w->source_of[w->to_a] == i);

        if (weight > 0)
            compare_route (w, w->source[i].port, weight);
    }
}

static int compare_tables (const void *va, const void *vb)
{
    const struct diff_table *x = va, *y = vb;

    return x->entries != y->entries ? util_compare (y->entries, x->entries)
                                    : util_compare (x->node, y->node);
}

static void compare_routes (struct diff_work *w)
{
    const struct fabric *a = w->a, *b = w->b;
    struct diff_routes *r = &w->d->routes;

    w->entries = xcalloc (b->nnodes, sizeof (*w->entries));
    w->same = xarray (a->nnodes, 1);
    w->reach_a = xarray (a->nnodes, 1);
    w->reach_b = xarray (b->nnodes, 1);
    w->stack = cables_none (a->nnodes + b->nnodes);
    list_sources (w);
    for (size_t i = 0; i < a->nports; i++) {
        const struct fabric_port *p = &a->port[i], *q;

        w->to_a = i;
        w->to_b = port_b (w, i);
        if (w->to_b == FABRIC_NONE || p->lid == 0)
            continue;
        q = &b->port[w->to_b];
        for (unsigned int k = 0; q->lid != 0 && k < 1U << p->lmc
                                 && k < 1U << q->lmc; k++)
            compare_lid (w, p->lid + k, q->lid + k,
                         is_endpoint (a, i) && is_endpoint (b, w->to_b));
    }
    for (size_t i = 0; i < a->nnodes; i++) {
        uint32_t now = w->node_b[i];

        if (now != FABRIC_NONE && a->node[i].lid && b->node[now].lid)
            compare_lid (w, a->node[i].lid, b->node[now].lid, false);
    }
    r->table = xarray (b->nnodes, sizeof (*r->table));
    for (size_t i = 0; i < b->nnodes; i++)
        if (w->entries[i] > 0)
            r->table[r->ntables++] = (struct diff_table){ i, w->entries[i] };
    qsort (r->table, r->ntables, sizeof (*r->table), compare_tables);
}

struct diff *diff_fabrics (const struct fabric *a, const struct fabric *b)
{
    struct diff *d = xcalloc (1, sizeof (*d));
    struct diff_work w = { .d = d, .a = a, .b = b };

    d->a = a;
    d->b = b;
    w.node_b = d->node_b = cables_none (a->nnodes);
    w.node_a = d->node_a = cables_none (b->nnodes);
    w.far_a = far_ends (a);
    w.far_b = far_ends (b);
    match_nodes (&w);
    list_missing (a, b, w.node_b, &d->hosts_gone, &d->nodes_gone);
    list_missing (b, a, w.node_a, &d->hosts_added, &d->nodes_added);
    compare_nodes (&w);
    compare_cables (&w);
    compare_routes (&w);
    free (w.far_a);
    free (w.far_b);
    free (w.entries);
    free (w.source);
    free (w.source_of);
    free (w.same);
    free (w.reach_a);
    free (w.reach_b);
    free (w.stack);
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
