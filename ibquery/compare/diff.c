/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes
 *
 * To compare cables, the ports of both fabrics share one numbering: a's ports
 * have their own numbers; a port of b that a also has gets a's number; all
 * other ports of b follow.
 *
 * Endpoints with the same first switch have the same routes from there on, so
 * one of them is walked for all, in both fabrics side by side.
 */
#include "config.h"
#include "ibquery/compare/diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/linear/stats.h"
#include "ibquery/spread.h"
#include "util/alloc.h"
#include "util/sort.h"
#include "util/terminal.h"

/* Endpoints of a that are also in b: one port, and how many it represents. An
 * endpoint whose cable has changed is a source of its own.
 */
struct diff_source {
    uint32_t port, weight;
};

struct diff_work {
    struct pool *pool; /* d's */
    struct diff *d;
    const struct fabric *a, *b;
    uint32_t *node_b, *node_a; /* d's */
    uint32_t *far_a, *far_b;   /* by port: the other end of its cable */
    uint32_t *entries;         /* by switch of b: table entries that changed */
    struct diff_source *source;
    size_t nsources;
    uint32_t *source_of;       /* by port of a; FABRIC_NONE */
};

static uint32_t *far_ends (struct pool *pool, const struct fabric *f)
{
    uint32_t *far = cables_none (pool, f->nports);

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
    uint32_t *now = cables_none (w->pool, w->a->nnodes);

    for (size_t i = 0; i < w->a->nnodes; i++) {
        uint32_t k = fabric_find_node (w->b, w->a->node[i].guid);

        if (k == FABRIC_NONE || w->a->node[i].type != w->b->node[k].type)
            continue;
        w->node_b[i] = k;
        w->node_a[k] = i;
    }
    for (size_t i = 0; i < w->a->nnodes; i++)
        if (w->node_b[i] == FABRIC_NONE)
            now[i] = find_replacement (w, i);
    for (size_t i = 0; i < w->a->nnodes; i++)
        if (now[i] != FABRIC_NONE && w->node_a[now[i]] == FABRIC_NONE) {
            w->node_b[i] = now[i];
            w->node_a[now[i]] = i;
            pairs_add (w->pool, &w->d->nodes_replaced, i, now[i]);
        }
}

/* List the hosts of a, or of b if in_b, that the other has neither by name nor by
 * an adapter, and the nodes that it lacks, without those of these hosts.
 */
static void list_missing_nodes (struct diff *d, const uint32_t *match,
                                bool in_b, struct pairs *hosts,
                                struct pairs *nodes)
{
    const struct fabric *f = in_b ? d->b : d->a, *other = in_b ? d->a : d->b;
    bool *listed = pool_alloc (d->pool, f->nhosts, sizeof (*listed));

    for (uint32_t i = 0; i < f->nhosts; i++) {
        const struct fabric_host *h = &f->host[i];
        bool there = fabric_find_host (other, h->name) != FABRIC_NONE;

        for (uint32_t e = h->first; !there && e < h->first + h->count; e++) {
            uint32_t node = match[f->port[f->endpoint[e].port].node];

            there = node != FABRIC_NONE
                    && other->node[node].host != FABRIC_NONE;
        }
        listed[i] = !there;
        if (!there)
            pairs_add (d->pool, hosts, in_b ? FABRIC_NONE : i,
                       in_b ? i : FABRIC_NONE);
    }
    for (uint32_t i = 0; i < f->nnodes; i++)
        if (match[i] == FABRIC_NONE
            && (f->node[i].host == FABRIC_NONE || !listed[f->node[i].host]))
            pairs_add (d->pool, nodes, in_b ? FABRIC_NONE : i,
                       in_b ? i : FABRIC_NONE);
}

/* Compare what the nodes in both fabrics report about themselves. */
static void compare_node_attributes (struct diff_work *w)
{
    for (size_t i = 0; i < w->a->nnodes; i++) {
        const struct fabric_node *n = &w->a->node[i], *now;

        if (w->node_b[i] == FABRIC_NONE)
            continue;
        now = &w->b->node[w->node_b[i]];
        if (strcmp (n->desc, now->desc) != 0 || n->nports != now->nports
            || spread_differs (&n->spread, &now->spread))
            pairs_add (w->pool, &w->d->nodes_changed, i, w->node_b[i]);
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

static bool is_retrained (const struct diff_work *w, struct pair p)
{
    const struct fabric_link *x = &w->a->link[p.a], *y = &w->b->link[p.b];
    uint8_t was = worst_state (w->a, x), is = worst_state (w->b, y);

    return (x->width && y->width && x->width != y->width)
           || (*x->speed && *y->speed && strcmp (x->speed, y->speed) != 0)
           || (was && is && was != is);
}

/* How the LRTL of a cable's end has changed. */
struct diff_lrtl {
    uint32_t group;  /* the class of the cable, and which kind of node */
    uint32_t cable;  /* of `same` */
    double change;
};

static int compare_lrtl (const void *va, const void *vb)
{
    const struct diff_lrtl *x = va, *y = vb;

    return util_compare (x->group, y->group);
}

/* Find by how much ends of one group change in any case, and mark the cables of
 * those that change more: by 1 and -1, the direction, or SAME where an end does
 * not agree.
 */
enum { LRTL_ENOUGH = 16, LRTL_SAME = 2 };

static void mark_group (struct pool *pool, const struct diff_lrtl *v, size_t n,
                        int8_t *mark)
{
    double *off = pool_alloc (pool, n, sizeof (*off));
    double centre, most = INFINITY;

    for (size_t i = 0; i < n; i++)
        off[i] = v[i].change;
    centre = stats_median (off, n);
    for (size_t i = 0; i < n; i++)
        off[i] = fabs (v[i].change - centre);
    stats_sort (off, n);
    if (n >= LRTL_ENOUGH)
        most = 6 * (stats_quantile (off, n, 0.75) + 0.5) / 1.15;
    for (size_t i = 0; i < n; i++) {
        double more = v[i].change - centre;
        int8_t is = fabs (more) <= most ? LRTL_SAME : more > 0 ? 1 : -1;
        int8_t *was = &mark[v[i].cable];

        *was = *was == 0 || *was == is ? is : LRTL_SAME;
    }
}

void diff_replaced (struct pool *pool, const struct fabric *a,
                    const struct fabric *b, const struct pairs *same,
                    struct pairs *list)
{
    struct diff_lrtl *v = pool_alloc (pool, 2 * same->n, sizeof (*v));
    int8_t *mark = pool_alloc (pool, same->n, sizeof (*mark));
    size_t n = 0;

    for (uint32_t i = 0; i < same->n; i++) {
        const struct fabric_link *x = &a->link[same->v[i].a];
        const struct fabric_link *y = &b->link[same->v[i].b];
        const struct fabric_port *p[] = { &a->port[x->a], &a->port[x->b] };
        const struct fabric_port *q[] = { &b->port[y->a], &b->port[y->b] };
        uint64_t guid = a->node[p[0]->node].guid;
        bool crossed = guid != b->node[q[0]->node].guid
                       && guid == b->node[q[1]->node].guid;

        for (int e = 0; e < 2; e++) {
            const struct fabric_port *now = q[e ^ crossed];
            bool is_switch = a->node[p[e]->node].type == NODE_SWITCH;

            if (p[e]->lrtl != 0 && now->lrtl != 0)
                v[n++] = (struct diff_lrtl){
                    .group = 2 * x->class_id + is_switch, .cable = i,
                    .change = (double)now->lrtl - p[e]->lrtl,
                };
        }
    }
    if (n > 0)
        qsort (v, n, sizeof (*v), compare_lrtl);
    for (size_t i = 0, k = 0; i < n; i = k) {
        while (k < n && v[k].group == v[i].group)
            k++;
        mark_group (pool, v + i, k - i, mark);
    }
    for (size_t i = 0; i < same->n; i++)
        if (mark[i] == 1 || mark[i] == -1)
            pairs_add (pool, list, same->v[i].a, same->v[i].b);
}

static void compare_cables (struct diff_work *w)
{
    const struct fabric *a = w->a, *b = w->b;
    bool *is_host
        = pool_alloc (w->pool, a->nports + b->nports, sizeof (*is_host));
    struct pairs before = { 0 }, after = { 0 };
    struct cables *c = &w->d->cables;

    for (size_t i = 0; i < a->nlinks; i++)
        pairs_add (w->pool, &before, a->link[i].a, a->link[i].b);
    for (size_t i = 0; i < b->nlinks; i++)
        pairs_add (w->pool, &after, common (w, b->link[i].a),
                   common (w, b->link[i].b));
    for (size_t i = 0; i < a->nports; i++)
        is_host[i] = a->node[a->port[i].node].type != NODE_SWITCH;
    for (size_t i = 0; i < b->nports; i++)
        is_host[common (w, i)] = b->node[b->port[i].node].type != NODE_SWITCH;
    cables_compare (w->pool, c, &before, &after, is_host,
                    a->nports + b->nports);
    for (size_t i = 0; i < c->same.n; i++)
        if (is_retrained (w, c->same.v[i]))
            pairs_add (w->pool, &w->d->retrained, c->same.v[i].a,
                       c->same.v[i].b);
    diff_replaced (w->pool, a, b, &c->same, &w->d->replaced);
    for (size_t i = 0; i < c->nmoves; i++) {
        struct cable_move *m = &c->move[i];
        const struct fabric_link *l = &b->link[m->cable.b];
        bool at_a = after.v[m->cable.b].a == m->stays;

        m->stays = at_a ? l->a : l->b;
        m->to = at_a ? l->b : l->a;
    }
}

/*
 * Routes
 */

/* Where a message that is at this port, or nowhere, arrives next: the port of
 * the next node; FABRIC_NONE at the end of the route.
 */
static uint32_t next_port (const struct fabric *f, const uint32_t *far,
                           uint32_t port, unsigned int lid)
{
    const struct fabric_node *n;
    unsigned int out;

    if (port == FABRIC_NONE)
        return FABRIC_NONE;
    n = &f->node[f->port[port].node];
    out = n->type == NODE_SWITCH ? fabric_entry (n, lid) : 0;
    return out == 0 || out > n->nports ? FABRIC_NONE
                                       : far[n->first_port + out - 1];
}

/* Compare the routes from a source to the LID, which port to has, for `weight`
 * endpoints.
 */
static void compare_route (struct diff_work *w, uint32_t from, uint32_t to,
                           unsigned int lid_a, unsigned int lid_b,
                           uint32_t weight)
{
    uint32_t x = w->far_a[from], y = w->far_b[port_b (w, from)];
    uint32_t to_b = port_b (w, to);
    struct diff_routes *r = &w->d->routes;
    bool same = true, was = false, is = false;

    for (int hops = 0; hops < PATH_MAX_HOPS
                       && (x != FABRIC_NONE || y != FABRIC_NONE); hops++) {
        same &= x != FABRIC_NONE && port_b (w, x) == y;
        was |= x == to;
        is |= y == to_b;
        x = next_port (w->a, w->far_a, x, lid_a);
        y = next_port (w->b, w->far_b, y, lid_b);
        same &= x == FABRIC_NONE || y == FABRIC_NONE
                || w->a->port[w->far_a[x]].num == w->b->port[w->far_b[y]].num;
    }
    r->total += weight;
    if (!same && (was || is))
        r->changed += weight;
    if (was && !is)
        r->lost += weight;
    if (is && !was)
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
    uint32_t *at
        = cables_none (w->pool, w->a->nnodes); /* by switch: its source */

    w->source = pool_alloc (w->pool, w->a->nendpoints, sizeof (*w->source));
    w->source_of = cables_none (w->pool, w->a->nports);
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
}

/* Compare the tables' entries for one LID. */
static void compare_lft_entries (struct diff_work *w, unsigned int lid_a,
                                 unsigned int lid_b)
{
    for (size_t i = 0; i < w->a->nnodes; i++) {
        const struct fabric_node *n = &w->a->node[i], *now;

        if (n->type != NODE_SWITCH || w->node_b[i] == FABRIC_NONE)
            continue;
        now = &w->b->node[w->node_b[i]];
        w->entries[w->node_b[i]]
            += fabric_entry (n, lid_a) != fabric_entry (now, lid_b)
               || spread_moved (n, lid_a, now, lid_b);
    }
}

/* Compare the routes, and the entries, for the LIDs of a port in both. */
static void compare_port (struct diff_work *w, uint32_t to, uint32_t to_b)
{
    const struct fabric_port *p = &w->a->port[to], *q = &w->b->port[to_b];
    bool routed = is_endpoint (w->a, to) && is_endpoint (w->b, to_b);

    for (unsigned int k = 0; p->lid != 0 && q->lid != 0 && k < 1U << p->lmc
                             && k < 1U << q->lmc; k++) {
        compare_lft_entries (w, p->lid + k, q->lid + k);
        for (size_t i = 0; routed && i < w->nsources; i++) {
            uint32_t weight = w->source[i].weight - (w->source_of[to] == i);

            if (weight > 0)
                compare_route (w, w->source[i].port, to, p->lid + k,
                               q->lid + k, weight);
        }
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
    size_t ends = 0;

    w->entries = pool_alloc (w->pool, b->nnodes, sizeof (*w->entries));
    list_sources (w);
    for (size_t i = 0; i < a->nports; i++) {
        if (is_endpoint (a, i))
            terminal_work ("routes to port", ends++, a->nendpoints);
        if (port_b (w, i) != FABRIC_NONE)
            compare_port (w, i, port_b (w, i));
    }
    for (size_t i = 0; i < a->nnodes; i++) {
        uint32_t now = w->node_b[i];

        if (now != FABRIC_NONE && a->node[i].lid && b->node[now].lid)
            compare_lft_entries (w, a->node[i].lid, b->node[now].lid);
    }
    r->table = pool_alloc (w->pool, b->nnodes, sizeof (*r->table));
    for (size_t i = 0; i < b->nnodes; i++)
        if (w->entries[i] > 0)
            r->table[r->ntables++] = (struct diff_table){ i, w->entries[i] };
    qsort (r->table, r->ntables, sizeof (*r->table), compare_tables);
}

struct diff *diff_fabrics (const struct fabric *a, const struct fabric *b)
{
    struct diff *d = xcalloc (1, sizeof (*d));
    struct diff_work w = { .pool = pool_create (), .d = d, .a = a, .b = b };

    d->a = a;
    d->b = b;
    d->pool = w.pool;
    w.node_b = d->node_b = cables_none (d->pool, a->nnodes);
    w.node_a = d->node_a = cables_none (d->pool, b->nnodes);
    w.far_a = far_ends (d->pool, a);
    w.far_b = far_ends (d->pool, b);
    match_nodes (&w);
    list_missing_nodes (d, w.node_b, false, &d->hosts_gone, &d->nodes_gone);
    list_missing_nodes (d, w.node_a, true, &d->hosts_added, &d->nodes_added);
    compare_node_attributes (&w);
    compare_cables (&w);
    compare_routes (&w);
    return d;
}

void diff_destroy (struct diff *d)
{
    if (d)
        pool_destroy (d->pool);
    free (d);
}

bool diff_is_empty (const struct diff *d)
{
    return d->hosts_gone.n + d->hosts_added.n + d->nodes_gone.n
               + d->nodes_added.n + d->nodes_replaced.n + d->nodes_changed.n
               + d->cables.lost.n + d->cables.added.n + d->retrained.n
               + d->replaced.n + d->cables.nmoves + d->addresses
               + d->routes.changed
               + d->routes.ntables
           == 0;
}
