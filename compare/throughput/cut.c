/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes: vertices are the network's places that are switches, then the ports
 * of the set, a source and a sink. A link is two edges, each the other's way
 * back, each with its rate. Maximum flow by Dinic's method: along shortest
 * ways, found level by level, until none is left. Whole bits a second, so that
 * nothing is rounded.
 */
#include "config.h"
#include "compare/throughput/cut.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "compare/throughput/carry.h"
#include "util/rng.h"

#define MANY (INT64_C (1) << 60) /* bits a second: no limit */
#define NO_EDGE UINT32_MAX
#define NO_LEVEL UINT32_MAX

struct edge {
    uint32_t to, next; /* of the same vertex */
    int64_t left;      /* edge i ^ 1 leads back */
};

struct graph {
    struct pathset *ps;
    const struct network *net;
    size_t nports, nvertices, nedges;
    uint32_t source, sink;
    struct edge *edge;
    uint32_t *first;   /* [nvertices] edge */
    struct edge *links_edge; /* both as they are with links alone */
    uint32_t *links_first;
    size_t nlinks;
    uint32_t *next;    /* [nvertices] edge to try */
    uint32_t *level, *queue;
    uint32_t *port;    /* [nports] endpoint */
    const double *rate;
};

static void graph_clear (struct graph *g)
{
    free (g->edge);
    free (g->first);
    free (g->links_edge);
    free (g->links_first);
    free (g->next);
    free (g->level);
    free (g->queue);
    free (g->port);
}

static uint32_t vertex_of (const struct graph *g, size_t port)
{
    return g->net->nplaces + port;
}

static void add_edge (struct graph *g, uint32_t from, uint32_t to,
                      int64_t there, int64_t back)
{
    g->edge[g->nedges] = (struct edge){ to, g->first[from], there };
    g->first[from] = g->nedges++;
    g->edge[g->nedges] = (struct edge){ from, g->first[to], back };
    g->first[to] = g->nedges++;
}

static int64_t whole (double rate)
{
    return rate < (double)MANY ? llround (rate) : MANY;
}

static void add_links (struct graph *g, const uint32_t *link, size_t m)
{
    memset (g->first, 0xff, g->nvertices * sizeof (*g->first));
    for (size_t i = 0; i < m; i++) {
        const struct link_info *l = &g->net->link[link[i]];
        int64_t rate = whole (g->rate[link[i]]);

        if (l->end[0] != NETWORK_NONE && l->end[1] != NETWORK_NONE)
            add_edge (g, l->end[0], l->end[1], rate, rate);
    }
    for (size_t p = 0; p < g->nports; p++) {
        uint32_t arc, id = pathset_endpoint (g->ps, g->port[p])->id;
        uint32_t at = g->net->attach (g->net->net, id, &arc);
        int64_t rate = arc == NETWORK_NONE
            ? MANY : whole (g->rate[arc_link (arc)]);

        if (at != NETWORK_NONE)
            add_edge (g, vertex_of (g, p), at, rate, rate);
    }
    g->nlinks = g->nedges;
    memcpy (g->links_edge, g->edge, g->nlinks * sizeof (*g->edge));
    memcpy (g->links_first, g->first, g->nvertices * sizeof (*g->first));
}

static int graph_init (struct graph *g, struct error *err)
{
    size_t m;
    const uint32_t *link = pathset_links (g->ps, &m, err);

    if (!link)
        return -1;
    g->nports = pathset_ports (g->ps);
    g->source = vertex_of (g, g->nports);
    g->sink = g->source + 1;
    g->nvertices = g->sink + 1;
    g->edge = calloc (2 * (m + 2 * g->nports) + 1, sizeof (*g->edge));
    g->first = calloc (g->nvertices, sizeof (*g->first));
    g->links_edge = calloc (2 * (m + g->nports) + 1, sizeof (*g->edge));
    g->links_first = calloc (g->nvertices, sizeof (*g->first));
    g->next = calloc (g->nvertices, sizeof (*g->next));
    g->level = calloc (g->nvertices, sizeof (*g->level));
    g->queue = calloc (g->nvertices, sizeof (*g->queue));
    g->port = calloc (g->nports + 1, sizeof (*g->port));
    if (!g->edge || !g->first || !g->links_edge || !g->links_first
        || !g->next || !g->level || !g->queue || !g->port)
        return error_nomem (err);
    for (size_t i = pathset_size (g->ps); i-- > 0;)
        g->port[pathset_port (g->ps, i)] = i;
    add_links (g, link, m);
    return 0;
}

/* Distances by edges that are not full, from a vertex; and the order in which
 * they were found, of so many vertices.
 */
static size_t find_levels (struct graph *g, uint32_t from)
{
    size_t n = 0;

    memset (g->level, 0xff, g->nvertices * sizeof (*g->level));
    g->level[from] = 0;
    g->queue[n++] = from;
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

/* Send up to `most` from a vertex to the sink, level by level. */
static int64_t send (struct graph *g, uint32_t from, int64_t most)
{
    int64_t sent = 0;

    if (from == g->sink)
        return most;
    for (; g->next[from] != NO_EDGE;
         g->next[from] = g->edge[g->next[from]].next) {
        uint32_t i = g->next[from];
        struct edge *e = &g->edge[i];
        int64_t more = most - sent < e->left ? most - sent : e->left;

        if (more == 0 || g->level[e->to] != g->level[from] + 1)
            continue;
        more = send (g, e->to, more);
        e->left -= more;
        g->edge[i ^ 1].left += more;
        sent += more;
        if (sent == most) /* and the edge may have more */
            break;
    }
    return sent;
}

static void restore_links (struct graph *g)
{
    memcpy (g->edge, g->links_edge, g->nlinks * sizeof (*g->edge));
    memcpy (g->first, g->links_first, g->nvertices * sizeof (*g->first));
    g->nedges = g->nlinks;
}

/* The maximum flow from ports of the first half to the others. */
static int64_t max_flow (struct graph *g, const bool *first)
{
    int64_t sum = 0;

    restore_links (g);
    for (size_t p = 0; p < g->nports; p++)
        if (first[p])
            add_edge (g, g->source, vertex_of (g, p), MANY, 0);
        else
            add_edge (g, vertex_of (g, p), g->sink, MANY, 0);
    for (;;) {
        find_levels (g, g->source);
        if (g->level[g->sink] == NO_LEVEL)
            return sum;
        memcpy (g->next, g->first, g->nvertices * sizeof (*g->next));
        sum += send (g, g->source, INT64_MAX);
    }
}

/* The half of the ports that are nearest to one of them, itself included. */
static void nearest_half (struct graph *g, size_t port, bool *first)
{
    size_t n, left = (g->nports + 1) / 2;

    restore_links (g);
    n = find_levels (g, vertex_of (g, port));
    memset (first, 0, g->nports * sizeof (*first));
    for (size_t i = 0; i < n && left > 0; i++)
        if (g->queue[i] >= vertex_of (g, 0)) {
            first[g->queue[i] - vertex_of (g, 0)] = true;
            left--;
        }
    /* who cannot be reached is as good as any other */
    for (size_t p = 0; p < g->nports && left > 0; p++)
        if (!first[p]) {
            first[p] = true;
            left--;
        }
}

/* Random pairs across the halves, a round for each pairing. */
static struct plan *pair_up (const struct graph *g, const bool *first,
                             struct rng *rng)
{
    size_t n = g->nports / 2;
    struct plan *plan = plan_create ("throughput");
    uint32_t *half[2] = { calloc (n + 2, sizeof (**half)),
                          calloc (n + 2, sizeof (**half)) };
    size_t count[2] = { 0 };
    int rc = plan && half[0] && half[1] ? 0 : -1;

    for (size_t p = 0; p < g->nports && rc == 0; p++)
        half[!first[p]][count[!first[p]]++] = g->port[p];
    for (size_t r = 0; r < CUT_PAIRINGS && rc == 0; r++) {
        rng_shuffle (rng, half[0], count[0]);
        for (size_t i = 0; i < n && rc == 0; i++)
            plan_add (plan, r, half[0][i], half[1][i]);
    }
    free (half[0]);
    free (half[1]);
    if (rc == 0)
        return plan;
    plan_destroy (plan);
    return NULL;
}

static int find_effective (const struct graph *g, const bool *first,
                           struct rng *rng, double *mean, struct error *err)
{
    struct plan *plan = pair_up (g, first, rng);
    double *got = plan ? calloc (plan_probes (plan) + 1, sizeof (*got)) : NULL;
    int rc = -1;

    *mean = 0;
    if (!got)
        error_nomem (err);
    else
        rc = carry_simulate (g->ps, plan, g->rate, got, err);
    for (size_t i = 0; rc == 0 && i < plan_probes (plan); i++)
        *mean += got[i] / CUT_PAIRINGS;
    free (got);
    plan_destroy (plan);
    return rc;
}

static int find_narrowest (struct graph *g, struct rng *rng, bool *narrowest,
                           struct cut *out, struct error *err)
{
    bool *first = calloc (g->nports + 1, sizeof (*first));
    int64_t least = INT64_MAX;

    if (!first)
        return error_nomem (err);
    for (int i = 0; i < CUT_HALVINGS; i++) {
        int64_t most;

        nearest_half (g, rng_below (rng, g->nports), first);
        most = max_flow (g, first);
        if (most >= least)
            continue;
        least = most;
        memcpy (narrowest, first, g->nports * sizeof (*first));
    }
    out->most = least;
    out->ports[0] = (g->nports + 1) / 2;
    out->ports[1] = g->nports / 2;
    free (first);
    return 0;
}

int cut_find (struct pathset *ps, const double *rate, uint64_t seed,
              struct cut *out, struct error *err)
{
    struct graph g = { .ps = ps, .net = pathset_network (ps), .rate = rate };
    bool *first = NULL;
    struct rng rng;
    int rc = -1;

    *out = (struct cut){ 0 };
    if (pathset_ports (ps) < 2)
        return 0;
    rng_seed (&rng, seed);
    if (graph_init (&g, err) < 0)
        goto error;
    if (!(first = calloc (g.nports + 1, sizeof (*first)))) {
        error_nomem (err);
        goto error;
    }
    if (find_narrowest (&g, &rng, first, out, err) == 0)
        rc = find_effective (&g, first, &rng, &out->effective, err);
error:
    free (first);
    graph_clear (&g);
    return rc;
}
