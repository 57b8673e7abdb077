/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes: a host's home in the model is the switch at the other end of its only
 * edge. A home and a switch of the snapshot are matched if most hosts of each
 * are hosts of the other. A host whose home does not match its switch is
 * reported as being elsewhere.
 *
 * The hops between two matched switches are the least number of cables between
 * them in the snapshot, whatever its routes, because the latencies are also
 * those of the model's shortest paths. Paths with the same number of hops have
 * a centre, the median of their latencies, if there are at least WAYS_MIN of
 * them. A path is wrong if it is CLEARLY nearer to another centre than to its
 * own.
 */
#include "config.h"
#include "compare/infer/against.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/linear/stats.h"
#include "util/alloc.h"
#include "util/sort.h"

#define NONE FABRIC_NONE
#define CLEARLY 3.0

enum { WAYS_MIN = 2, HOPS = 64 };

/* A host that is in both. */
struct leaf_host {
    uint32_t node;     /* of the model */
    uint32_t endpoint;
    uint32_t leaf;     /* node of the fabric: its switch */
    uint32_t home;     /* vertex; NONE: no edge, or not exactly one to a
                          switch */
};

/* A switch of the snapshot, and its home in the model. */
struct leaf {
    uint32_t node;     /* of the fabric */
    size_t first, n;   /* its members */
    uint32_t home;     /* NONE: no home of its own */
};

/* A path between two leaves. */
struct leaf_way {
    uint32_t a, b;     /* leaves */
    unsigned int hops;
    double ns;
};

struct comparing {
    const struct topology_model *m;
    struct against *out;
    struct routes *routes;
    struct leaf_host *member;
    size_t nmembers;
    struct leaf *leaf;
    size_t nleaves;
    size_t *count;     /* [nvertices] scratch: members by home */
    uint32_t *owner;   /* [nvertices] leaf of a home; NONE */
    struct leaf_way *way;
    size_t nways;
    double centre[HOPS]; /* by hops; NAN: too few paths */
};

/* The switch at the other end of a port's cable; NONE: no cable, or not a
 * switch.
 */
static uint32_t far_switch (const struct fabric *f, uint32_t port)
{
    uint32_t link = f->port[port].link;
    uint32_t node;

    if (link == NONE)
        return NONE;
    port = f->link[link].a == port ? f->link[link].b : f->link[link].a;
    node = f->port[port].node;
    return f->node[node].type == NODE_SWITCH ? node : NONE;
}

/* home[node]: the only vertex that it is joined to, if that is a switch. */
static void find_homes (const struct topology_model *m, uint32_t *home)
{
    bool many;

    for (uint32_t v = 0; v < m->nnodes; v++)
        home[v] = NONE;
    for (size_t i = 0; i < m->nedges; i++) {
        const struct topology_edge *e = &m->edge[i];

        if (e->a >= m->nnodes)
            continue;
        many = home[e->a] != NONE;
        home[e->a] = many || e->b < m->nnodes ? m->nvertices : e->b;
        if (e->b < m->nnodes)
            home[e->b] = m->nvertices;
    }
    for (uint32_t v = 0; v < m->nnodes; v++)
        if (home[v] == m->nvertices)
            home[v] = NONE;
}

static int compare_members (const void *a, const void *b)
{
    const struct leaf_host *x = a, *y = b;

    if (x->leaf != y->leaf)
        return util_compare (x->leaf, y->leaf);
    if (x->home != y->home)
        return util_compare (x->home, y->home);
    return util_compare (x->endpoint, y->endpoint);
}

static void find_members (struct comparing *w)
{
    const struct topology_model *m = w->m;
    struct against *out = w->out;
    uint32_t *home = xarray (m->nnodes, sizeof (*home));

    w->member = xarray (m->nnodes, sizeof (*w->member));
    out->stranger = xarray (m->nnodes, sizeof (*out->stranger));
    find_homes (m, home);
    for (uint32_t v = 0; v < m->nnodes; v++) {
        uint32_t endpoint = fabric_find_endpoint (out->f, m->label[v]);
        uint32_t leaf
            = endpoint == NONE
                  ? NONE
                  : far_switch (out->f, out->f->endpoint[endpoint].port);

        if (leaf == NONE)
            out->stranger[out->nstrangers++] = v;
        else
            w->member[w->nmembers++]
                = (struct leaf_host){ v, endpoint, leaf, home[v] };
    }
    free (home);
    qsort (w->member, w->nmembers, sizeof (*w->member), compare_members);
}

/* The leaves with at least two members. Members of other leaves are alone. */
static void find_leaves (struct comparing *w)
{
    struct against *out = w->out;
    size_t n;

    w->leaf = xarray (w->nmembers, sizeof (*w->leaf));
    for (size_t i = 0; i < w->nmembers; i += n) {
        for (n = 1; i + n < w->nmembers
                    && w->member[i + n].leaf == w->member[i].leaf;
             n++)
            ;
        if (n == 1)
            out->alone++;
        else
            w->leaf[w->nleaves++]
                = (struct leaf){ w->member[i].leaf, i, n, NONE };
    }
    out->compared = w->nmembers - out->alone;
}

/* The home of most members of a leaf; *n: how many. */
static uint32_t most_at (struct comparing *w, const struct leaf *l, size_t *n)
{
    const struct leaf_host *v = &w->member[l->first];
    uint32_t best = NONE;

    *n = 0;
    for (size_t i = 0; i < l->n; i++)
        if (v[i].home != NONE && ++w->count[v[i].home] > *n) {
            *n = w->count[v[i].home];
            best = v[i].home;
        }
    for (size_t i = 0; i < l->n; i++)
        if (v[i].home != NONE)
            w->count[v[i].home] = 0;
    return best;
}

static void match_leaves (struct comparing *w)
{
    size_t nvertices = w->m->nvertices;
    size_t *has = xcalloc (nvertices, sizeof (*has));

    w->count = xcalloc (nvertices, sizeof (*w->count));
    w->owner = xarray (nvertices, sizeof (*w->owner));
    memset (w->owner, 0xff, nvertices * sizeof (*w->owner));
    for (uint32_t i = 0; i < w->nleaves; i++) {
        size_t n;
        uint32_t home = most_at (w, &w->leaf[i], &n);

        if (home == NONE || n <= has[home])
            continue;
        if (w->owner[home] != NONE)
            w->leaf[w->owner[home]].home = NONE;
        w->owner[home] = i;
        w->leaf[i].home = home;
        has[home] = n;
    }
    free (has);
    for (size_t i = 0; i < w->nleaves; i++)
        w->out->switches += w->leaf[i].home != NONE;
}

/* Members [first, first + n) of a leaf have the same home, which is not the
 * leaf's.
 */
static void add_hosts (struct comparing *w, const struct leaf *l, size_t first,
                       size_t n)
{
    struct against_hosts *h = &w->out->hosts[w->out->nhosts++];
    uint32_t home = w->member[first].home;
    uint32_t owner = home == NONE ? NONE : w->owner[home];

    *h = (struct against_hosts){
        .endpoint = xarray (n, sizeof (*h->endpoint)),
        .n = n,
        .at = l->node,
        .with = owner == NONE ? NONE : w->leaf[owner].node,
    };
    for (size_t i = 0; i < n; i++)
        h->endpoint[i] = w->member[first + i].endpoint;
}

static void compare_hosts (struct comparing *w)
{
    w->out->hosts = xarray (w->nmembers, sizeof (*w->out->hosts));
    for (size_t i = 0; i < w->nleaves; i++) {
        const struct leaf *l = &w->leaf[i];
        size_t n;

        for (size_t k = l->first; k < l->first + l->n; k += n) {
            for (n = 1; k + n < l->first + l->n
                        && w->member[k + n].home == w->member[k].home;
                 n++)
                ;
            if (w->member[k].home == NONE || w->member[k].home != l->home)
                add_hosts (w, l, k, n);
        }
    }
}

/* A member whose home is that of its leaf. */
static const struct leaf_host *at_home (const struct comparing *w,
                                        const struct leaf *l)
{
    const struct leaf_host *v = &w->member[l->first];

    while (v->home != l->home)
        v++;
    return v;
}

/* Number of cables from a switch to all others, into hops [nnodes]; HOPS: no
 * path, or a longer one. queue has room for all nodes.
 */
static void find_hops (const struct fabric *f, uint32_t from,
                       unsigned int *hops, uint32_t *queue)
{
    size_t head = 0, tail = 0;

    for (size_t i = 0; i < f->nnodes; i++)
        hops[i] = HOPS;
    hops[from] = 0;
    queue[tail++] = from;
    while (head < tail) {
        const struct fabric_node *n = &f->node[queue[head++]];
        unsigned int next = hops[n - f->node] + 1;

        for (uint32_t k = 0; k < n->nports && next < HOPS; k++) {
            uint32_t to = far_switch (f, n->first_port + k);

            if (to == NONE || hops[to] < HOPS)
                continue;
            hops[to] = next;
            queue[tail++] = to;
        }
    }
}

static double length_between (const struct comparing *w,
                              const struct leaf_host *x,
                              const struct leaf_host *y)
{
    return routes_ns (w->routes, x->node, y->node)
           - routes_ns (w->routes, x->node, x->home)
           - routes_ns (w->routes, y->node, y->home);
}

/* The paths from a leaf to the leaves after it. */
static void add_ways (struct comparing *w, uint32_t a, const unsigned int *hops)
{
    const struct leaf *x = &w->leaf[a];

    for (uint32_t b = a + 1; b < w->nleaves; b++) {
        const struct leaf *y = &w->leaf[b];
        struct leaf_way *way = &w->way[w->nways];

        if (y->home == NONE || hops[y->node] == HOPS)
            continue;
        *way = (struct leaf_way){ a, b, hops[y->node],
                                  length_between (w, at_home (w, x),
                                                  at_home (w, y)) };
        w->nways += isfinite (way->ns);
    }
}

static void find_ways (struct comparing *w)
{
    const struct fabric *f = w->out->f;
    size_t n = w->out->switches;
    unsigned int *hops = xarray (f->nnodes, sizeof (*hops));
    uint32_t *queue = xarray (f->nnodes, sizeof (*queue));

    w->way = xarray (n * n / 2 + 1, sizeof (*w->way));
    w->routes = routes_create (w->m);
    for (uint32_t a = 0; a < w->nleaves; a++) {
        if (w->leaf[a].home == NONE)
            continue;
        find_hops (f, w->leaf[a].node, hops, queue);
        add_ways (w, a, hops);
    }
    free (hops);
    free (queue);
}

static void find_centres (struct comparing *w)
{
    double *v = xarray (w->nways, sizeof (*v));

    for (unsigned int hops = 0; hops < HOPS; hops++) {
        size_t n = 0;

        for (size_t i = 0; i < w->nways; i++)
            if (w->way[i].hops == hops)
                v[n++] = w->way[i].ns;
        w->centre[hops] = n < WAYS_MIN ? NAN : stats_median (v, n);
    }
    free (v);
}

/* The number of hops with the nearest centre; 0 if there is none. */
static unsigned int nearest (const struct comparing *w, double ns)
{
    unsigned int best = 0;

    for (unsigned int hops = 1; hops < HOPS; hops++)
        if (!isnan (w->centre[hops])
            && (best == 0 || fabs (w->centre[hops] - ns)
                                 < fabs (w->centre[best] - ns)))
            best = hops;
    return best;
}

static void compare_ways (struct comparing *w)
{
    struct against *out = w->out;

    out->way = xarray (w->nways, sizeof (*out->way));
    for (size_t i = 0; i < w->nways; i++) {
        const struct leaf_way *way = &w->way[i];
        unsigned int seen = nearest (w, way->ns);
        double own = fabs (w->centre[way->hops] - way->ns);

        if (isnan (own))
            out->unclear++;
        else if (seen == way->hops)
            out->nclear++;
        else if (own < CLEARLY * fabs (w->centre[seen] - way->ns))
            out->unclear++;
        else
            out->way[out->nways++] = (struct against_way){
                .a = w->leaf[way->a].node,
                .b = w->leaf[way->b].node,
                .hops = way->hops,
                .seen = seen,
            };
    }
}

struct against *against_compare (const struct fabric *f,
                                 const struct topology_model *m)
{
    struct against *out = xcalloc (1, sizeof (*out));
    struct comparing w = { .m = m, .out = out };

    out->f = f;
    find_members (&w);
    find_leaves (&w);
    match_leaves (&w);
    compare_hosts (&w);
    find_ways (&w);
    find_centres (&w);
    compare_ways (&w);
    routes_destroy (w.routes);
    free (w.member);
    free (w.leaf);
    free (w.count);
    free (w.owner);
    free (w.way);
    return out;
}

void against_destroy (struct against *a)
{
    if (!a)
        return;
    for (size_t i = 0; i < a->nhosts; i++)
        free (a->hosts[i].endpoint);
    free (a->hosts);
    free (a->way);
    free (a->stranger);
    free (a);
}
