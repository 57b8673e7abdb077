/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes: vertices are the network's switches and the ports of the set. A link
 * is two edges, each the reverse of the other, each with its rate. Maximum flow
 * by Dinic's method: along shortest paths, level by level, until none is left.
 * Rates are whole bits per second, so nothing is rounded.
 */
#include "config.h"
#include "core/rate/cut.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/rate/carry.h"
#include "util/alloc.h"
#include "util/rng.h"
#include "util/sort.h"

#define MANY (INT64_C (1) << 60) /* bits per second: no limit */
#define NO_EDGE UINT32_MAX
#define NO_LEVEL UINT32_MAX

struct flow_edge {
    uint32_t to, next; /* next: of the same vertex */
    int64_t most, left; /* edge i ^ 1 is its reverse */
};

struct flow_graph {
    struct pathset *ps;
    const struct network *net;
    size_t nports, nvertices, nedges;
    struct flow_edge *edge;
    uint32_t *first;   /* [nvertices] first edge */
    uint32_t *next;    /* [nvertices] edge to try */
    uint32_t *level, *queue;
    uint32_t *port;    /* [nports] endpoint */
    const double *rate;
};

static void graph_clear (struct flow_graph *g)
{
    free (g->edge);
    free (g->first);
    free (g->next);
    free (g->level);
    free (g->queue);
    free (g->port);
}

static uint32_t vertex_of (const struct flow_graph *g, size_t port)
{
    return g->net->nplaces + port;
}

static void add_edge (struct flow_graph *g, uint32_t from, uint32_t to,
                      double rate)
{
    int64_t most = rate < (double)MANY ? llround (rate) : MANY;

    g->edge[g->nedges] = (struct flow_edge){ to, g->first[from], most, 0 };
    g->first[from] = g->nedges++;
    g->edge[g->nedges] = (struct flow_edge){ from, g->first[to], most, 0 };
    g->first[to] = g->nedges++;
}

static int graph_init (struct flow_graph *g, struct error *err)
{
    const struct network *net = g->net;
    size_t m;
    const uint32_t *link = pathset_links (g->ps, &m, err);

    if (!link)
        return -1;
    g->nports = pathset_ports (g->ps);
    g->nvertices = vertex_of (g, g->nports);
    g->edge = xarray (2 * (m + g->nports), sizeof (*g->edge));
    g->first = xarray (g->nvertices, sizeof (*g->first));
    g->next = xarray (g->nvertices, sizeof (*g->next));
    g->level = xarray (g->nvertices, sizeof (*g->level));
    g->queue = xarray (g->nvertices, sizeof (*g->queue));
    g->port = xarray (g->nports, sizeof (*g->port));
    for (size_t i = pathset_size (g->ps); i-- > 0;)
        g->port[pathset_port (g->ps, i)] = i;
    memset (g->first, 0xff, g->nvertices * sizeof (*g->first));
    for (size_t i = 0; i < m; i++) {
        const struct link_info *l = &net->link[link[i]];

        if (l->end[0] != NETWORK_NONE && l->end[1] != NETWORK_NONE)
            add_edge (g, l->end[0], l->end[1], g->rate[link[i]]);
    }
    for (size_t p = 0; p < g->nports; p++) {
        uint32_t arc, id = pathset_endpoint (g->ps, g->port[p])->id;
        uint32_t at = net->attach (net->net, id, &arc);

        if (at != NETWORK_NONE)
            add_edge (g, vertex_of (g, p), at,
                      arc == NETWORK_NONE ? MANY : g->rate[arc_link (arc)]);
    }
    return 0;
}

static void reset_flow (struct flow_graph *g)
{
    for (size_t e = 0; e < g->nedges; e++)
        g->edge[e].left = g->edge[e].most;
}

/* Distances from the ports with from[] along edges that are not full, and the
 * vertices in that order in queue. Returns their number.
 */
static size_t find_levels (struct flow_graph *g, const bool *from)
{
    size_t n = 0;

    memset (g->level, 0xff, g->nvertices * sizeof (*g->level));
    for (size_t p = 0; p < g->nports; p++)
        if (from[p]) {
            g->level[vertex_of (g, p)] = 0;
            g->queue[n++] = vertex_of (g, p);
        }
    for (size_t i = 0; i < n; i++)
        for (uint32_t e = g->first[g->queue[i]]; e != NO_EDGE;
             e = g->edge[e].next) {
            uint32_t to = g->edge[e].to;

            if (g->edge[e].left == 0 || g->level[to] != NO_LEVEL)
                continue;
            g->level[to] = g->level[g->queue[i]] + 1;
            g->queue[n++] = to;
        }
    return n;
}

/* Send up to `most` from a vertex to ports of the second half, one level per
 * edge. Returns what was sent.
 */
static int64_t send_flow (struct flow_graph *g, uint32_t from, int64_t most,
                          const bool *first)
{
    int64_t sent = 0;

    if (from >= vertex_of (g, 0) && !first[from - vertex_of (g, 0)])
        return most;
    for (; g->next[from] != NO_EDGE;
         g->next[from] = g->edge[g->next[from]].next) {
        uint32_t i = g->next[from];
        struct flow_edge *e = &g->edge[i];
        int64_t more = most - sent < e->left ? most - sent : e->left;

        if (more == 0 || g->level[e->to] != g->level[from] + 1)
            continue;
        more = send_flow (g, e->to, more, first);
        e->left -= more;
        g->edge[i ^ 1].left += more;
        sent += more;
        if (sent == most) /* the edge may have capacity left */
            break;
    }
    return sent;
}

/* The maximum flow from the ports of the first half to the other ports. */
static int64_t max_flow (struct flow_graph *g, const bool *first)
{
    int64_t sum = 0, more;

    reset_flow (g);
    do {
        more = 0;
        find_levels (g, first);
        memcpy (g->next, g->first, g->nvertices * sizeof (*g->next));
        for (size_t p = 0; p < g->nports; p++)
            if (first[p])
                more += send_flow (g, vertex_of (g, p), MANY, first);
        sum += more;
    } while (more > 0);
    return sum;
}

/* The half of the ports that is nearest to one port, including it. */
static void nearest_half (struct flow_graph *g, size_t port, bool *first)
{
    size_t n, left = (g->nports + 1) / 2;

    memset (first, 0, g->nports * sizeof (*first));
    first[port] = true;
    reset_flow (g);
    n = find_levels (g, first);
    for (size_t i = 1; i < n && left > 1; i++)
        if (g->queue[i] >= vertex_of (g, 0)) {
            first[g->queue[i] - vertex_of (g, 0)] = true;
            left--;
        }
    /* any of the ports that cannot be reached */
    for (size_t p = 0; p < g->nports && left > 1; p++)
        if (!first[p]) {
            first[p] = true;
            left--;
        }
}

/* The mean rate of random pairs between the halves; one round per pairing. */
static int find_effective (const struct flow_graph *g, const bool *first,
                           struct rng *rng, double *mean, struct error *err)
{
    size_t n = g->nports / 2, count[2] = { 0 };
    struct plan *plan = plan_create ("throughput");
    double *got = xarray (CUT_PAIRINGS * n, sizeof (*got));
    uint32_t *half[2]
        = { xarray (n + 1, sizeof (**half)), xarray (n + 1, sizeof (**half)) };
    int rc;

    for (size_t p = 0; p < g->nports; p++)
        half[!first[p]][count[!first[p]]++] = g->port[p];
    for (size_t r = 0; r < CUT_PAIRINGS; r++) {
        rng_shuffle (rng, half[0], count[0]);
        for (size_t i = 0; i < n; i++)
            plan_add (plan, r, half[0][i], half[1][i]);
    }
    rc = carry_simulate (g->ps, plan, g->rate, got, err);
    *mean = 0;
    for (size_t i = 0; rc == 0 && i < CUT_PAIRINGS * n; i++)
        *mean += got[i] / CUT_PAIRINGS;
    free (got);
    free (half[0]);
    free (half[1]);
    plan_destroy (plan);
    return rc;
}

int cut_find (struct pathset *ps, const double *rate, uint64_t seed,
              struct cut *out, struct error *err)
{
    struct flow_graph g = {
        .ps = ps,
        .net = pathset_network (ps),
        .rate = rate,
    };
    int64_t least = INT64_MAX;
    bool *first, *narrowest;
    struct rng rng;
    int rc;

    *out = (struct cut){ 0 };
    if (pathset_one_subnet (ps, err) < 0)
        return -1;
    if (pathset_ports (ps) < 2)
        return 0;
    rng_seed (&rng, seed);
    if (graph_init (&g, err) < 0)
        return -1;
    first = xarray (g.nports, sizeof (*first));
    narrowest = xcalloc (g.nports, sizeof (*narrowest));
    for (int i = 0; i < CUT_HALVINGS; i++) {
        int64_t most;

        nearest_half (&g, rng_below (&rng, g.nports), first);
        most = max_flow (&g, first);
        if (most >= least)
            continue;
        least = most;
        memcpy (narrowest, first, g.nports * sizeof (*first));
    }
    out->most = least;
    out->ports[0] = (g.nports + 1) / 2;
    out->ports[1] = g.nports / 2;
    rc = find_effective (&g, narrowest, &rng, &out->effective, err);
    free (first);
    free (narrowest);
    graph_clear (&g);
    return rc;
}

/*
 * The load on a switch
 */

/* by[s] is the number, from 1, of the first weight that makes the sum s
 * together with earlier ones. Followed back from a sum, these numbers descend,
 * so no weight is used twice.
 */
int halve (const uint32_t *weight, size_t n, bool *second, uint32_t *sum,
           struct error *err)
{
    uint64_t total = 0;
    size_t *by;

    for (size_t i = 0; i < n; i++)
        if ((total += weight[i]) > HALVE_SUM_MAX)
            return error_input (err, "more than %d to halve", HALVE_SUM_MAX);
    by = xcalloc (total / 2 + 1, sizeof (*by));
    for (size_t i = 0; i < n; i++)
        for (uint64_t s = total / 2; s >= weight[i] && s > 0; s--)
            if (by[s] == 0 && (s == weight[i] || by[s - weight[i]] > 0))
                by[s] = i + 1;
    *sum = total / 2;
    while (*sum > 0 && by[*sum] == 0)
        --*sum;
    memset (second, 0, n * sizeof (*second));
    for (uint32_t s = *sum; s > 0; s -= weight[by[s] - 1])
        second[by[s] - 1] = true;
    free (by);
    return 0;
}

/* The hosts reached through a port. */
struct subtree {
    uint32_t link;
    uint32_t ports;
    double rate; /* sum over their own links */
};

static int compare_subtree_links (const void *a, const void *b)
{
    const struct subtree *x = a, *y = b;

    return util_compare (x->link, y->link);
}

/* One subtree per port of the set; then links unite them. Returns their number.
 */
static size_t find_subtrees (const struct pathset *ps, uint32_t sw,
                             const double *rate, struct subtree *tree)
{
    const struct network *net = pathset_network (ps);
    size_t n = 0, joined = 0;

    for (size_t i = 0, port = 0; i < pathset_size (ps); i++) {
        uint32_t id = pathset_endpoint (ps, i)->id, arc, own;

        if (pathset_port (ps, i) != port) /* another address of the previous
                                             port */
            continue;
        port++;
        if (net->hop (net->net, sw, id, &arc) == NETWORK_NONE)
            continue;
        net->attach (net->net, id, &own);
        tree[n++] = (struct subtree){
            arc_link (arc),
            1,
            own == NETWORK_NONE ? HUGE_VAL : rate[arc_link (own)],
        };
    }
    qsort (tree, n, sizeof (*tree), compare_subtree_links);
    for (size_t i = 0; i < n; i++)
        if (joined > 0 && tree[joined - 1].link == tree[i].link) {
            tree[joined - 1].ports += tree[i].ports;
            tree[joined - 1].rate += tree[i].rate;
        }
        else
            tree[joined++] = tree[i];
    return joined;
}

int through_switch (const struct pathset *ps, uint32_t sw, const double *rate,
                    struct through *out, struct error *err)
{
    size_t n = pathset_ports (ps);
    struct subtree *tree = xarray (n, sizeof (*tree));
    uint32_t *weight = xarray (n, sizeof (*weight));
    bool *second = xarray (n, sizeof (*second));
    double half[2] = { 0 };
    int rc;

    *out = (struct through){ 0 };
    n = find_subtrees (ps, sw, rate, tree);
    for (size_t i = 0; i < n; i++) {
        weight[i] = tree[i].ports;
        out->ports[0] += weight[i];
    }
    rc = halve (weight, n, second, &out->ports[1], err);
    if (rc == 0) {
        for (size_t i = 0; i < n; i++)
            half[second[i]] += fmin (tree[i].rate, rate[tree[i].link]);
        out->subtrees = n;
        out->ports[0] -= out->ports[1];
        out->rate = fmin (half[0], half[1]);
    }
    free (tree);
    free (weight);
    free (second);
    return rc;
}
