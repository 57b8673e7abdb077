/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes: a host's home in the model is the switch that its only edge leads to.
 * Homes and switches of the snapshot are matched where each has most of the
 * other's hosts; all hosts that are not where their switch's match is, are
 * elsewhere.
 *
 * The hops between matched switches are the fewest cables of the snapshot,
 * whatever its routes, as the latencies are those of the model's shortest
 * paths. Ways of as many hops have a centre, the median of their latencies, if
 * there are WAYS_MIN of them at least. A way is wrong where it is CLEARLY
 * nearer to another centre than to its own.
 */
#include "config.h"
#include "compare/infer/against.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "compare/infer/routes.h"
#include "core/linear/stats.h"

#define NONE FABRIC_NONE
#define CLEARLY 3.0

enum { WAYS_MIN = 2, HOPS = 64 };

/* A host of both. */
struct member {
    uint32_t node;     /* of the model */
    uint32_t endpoint;
    uint32_t leaf;     /* node of the fabric: its switch */
    uint32_t home;     /* vertex; NONE: nothing that could be a switch of
                          hosts */
};

/* A switch of the snapshot and what is its home in the model. */
struct leaf {
    uint32_t node;     /* of the fabric */
    size_t first, n;   /* its members */
    uint32_t home;     /* NONE: it has none of its own */
};

/* A way between two leaves. */
struct way {
    uint32_t a, b;     /* leaves */
    unsigned int hops;
    double ns;
};

struct work {
    const struct topology_model *m;
    struct against *out;
    struct routes *routes;
    struct member *member;
    size_t nmembers;
    struct leaf *leaf;
    size_t nleaves;
    size_t *count;     /* [nvertices] scratch: members by home */
    uint32_t *owner;   /* [nvertices] leaf of a home; NONE */
    struct way *way;
    size_t nways;
    double centre[HOPS]; /* by hops; NAN: too few */
};

/* The switch that a port's cable leads to; NONE: no cable, or another node. */
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

/* By node: the only vertex that it is joined to, if that is a switch. */
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
    const struct member *x = a, *y = b;

    if (x->leaf != y->leaf)
        return x->leaf < y->leaf ? -1 : 1;
    if (x->home != y->home)
        return x->home < y->home ? -1 : 1;
    return (x->endpoint > y->endpoint) - (x->endpoint < y->endpoint);
}

static int find_members (struct work *w, struct error *err)
{
    const struct topology_model *m = w->m;
    struct against *out = w->out;
    uint32_t *home = calloc (m->nnodes + 1, sizeof (*home));

    w->member = calloc (m->nnodes + 1, sizeof (*w->member));
    out->stranger = calloc (m->nnodes + 1, sizeof (*out->stranger));
    if (!home || !w->member || !out->stranger) {
        free (home);
        return error_nomem (err);
    }
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
                = (struct member){ v, endpoint, leaf, home[v] };
    }
    free (home);
    qsort (w->member, w->nmembers, sizeof (*w->member), compare_members);
    return 0;
}

/* The leaves with two members at least; members of others are alone. */
static int find_leaves (struct work *w, struct error *err)
{
    struct against *out = w->out;
    size_t n;

    w->leaf = calloc (w->nmembers + 1, sizeof (*w->leaf));
    if (!w->leaf)
        return error_nomem (err);
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
    return 0;
}

/* The home of most of a leaf's members, in *n how many. */
static uint32_t most_at (struct work *w, const struct leaf *l, size_t *n)
{
    const struct member *v = &w->member[l->first];
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

static int match_leaves (struct work *w, struct error *err)
{
    size_t nvertices = w->m->nvertices;
    size_t *has = calloc (nvertices + 1, sizeof (*has));

    w->count = calloc (nvertices + 1, sizeof (*w->count));
    w->owner = malloc ((nvertices + 1) * sizeof (*w->owner));
    if (!has || !w->count || !w->owner) {
        free (has);
        return error_nomem (err);
    }
    memset (w->owner, 0xff, (nvertices + 1) * sizeof (*w->owner));
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
    return 0;
}

/* Members [first, first + n) of a leaf have one home, and it is not the
 * leaf's.
 */
static int add_hosts (struct work *w, const struct leaf *l, size_t first,
                      size_t n, struct error *err)
{
    struct against_hosts *h = &w->out->hosts[w->out->nhosts];
    uint32_t home = w->member[first].home;
    uint32_t owner = home == NONE ? NONE : w->owner[home];

    *h = (struct against_hosts){
        .endpoint = calloc (n, sizeof (*h->endpoint)),
        .n = n,
        .at = l->node,
        .with = owner == NONE ? NONE : w->leaf[owner].node,
    };
    if (!h->endpoint)
        return error_nomem (err);
    for (size_t i = 0; i < n; i++)
        h->endpoint[i] = w->member[first + i].endpoint;
    w->out->nhosts++;
    return 0;
}

static int compare_hosts (struct work *w, struct error *err)
{
    w->out->hosts = calloc (w->nmembers + 1, sizeof (*w->out->hosts));
    if (!w->out->hosts)
        return error_nomem (err);
    for (size_t i = 0; i < w->nleaves; i++) {
        const struct leaf *l = &w->leaf[i];
        size_t n;

        for (size_t k = l->first; k < l->first + l->n; k += n) {
            for (n = 1; k + n < l->first + l->n
                        && w->member[k + n].home == w->member[k].home;
                 n++)
                ;
            if ((w->member[k].home == NONE || w->member[k].home != l->home)
                && add_hosts (w, l, k, n, err) < 0)
                return -1;
        }
    }
    return 0;
}

/* A member of a leaf that is at home. */
static const struct member *at_home (const struct work *w,
                                     const struct leaf *l)
{
    const struct member *v = &w->member[l->first];

    while (v->home != l->home)
        v++;
    return v;
}

/* Cables between a switch and all others, into hops [nnodes]; HOPS: there is
 * no way, or a longer one. queue has room for all nodes.
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

static double length_between (const struct work *w, const struct member *x,
                              const struct member *y)
{
    return routes_ns (w->routes, x->node, y->node)
           - routes_ns (w->routes, x->node, x->home)
           - routes_ns (w->routes, y->node, y->home);
}

/* The ways from a leaf to those behind it in the list. */
static void add_ways (struct work *w, uint32_t a, const unsigned int *hops)
{
    const struct leaf *x = &w->leaf[a];

    for (uint32_t b = a + 1; b < w->nleaves; b++) {
        const struct leaf *y = &w->leaf[b];
        struct way *way = &w->way[w->nways];

        if (y->home == NONE || hops[y->node] == HOPS)
            continue;
        *way = (struct way){ a, b, hops[y->node],
                             length_between (w, at_home (w, x),
                                             at_home (w, y)) };
        w->nways += isfinite (way->ns);
    }
}

static int find_ways (struct work *w, struct error *err)
{
    const struct fabric *f = w->out->f;
    size_t n = w->out->switches;
    unsigned int *hops = calloc (f->nnodes + 1, sizeof (*hops));
    uint32_t *queue = calloc (f->nnodes + 1, sizeof (*queue));
    int rc = -1;

    w->way = calloc (n * n / 2 + 1, sizeof (*w->way));
    if (!hops || !queue || !w->way) {
        error_nomem (err);
        goto done;
    }
    if (!(w->routes = routes_create (w->m, err)))
        goto done;
    for (uint32_t a = 0; a < w->nleaves; a++) {
        if (w->leaf[a].home == NONE)
            continue;
        find_hops (f, w->leaf[a].node, hops, queue);
        add_ways (w, a, hops);
    }
    rc = 0;
done:
    free (hops);
    free (queue);
    return rc;
}

static int find_centres (struct work *w, struct error *err)
{
    double *v = calloc (w->nways + 1, sizeof (*v));

    if (!v)
        return error_nomem (err);
    for (unsigned int hops = 0; hops < HOPS; hops++) {
        size_t n = 0;

        for (size_t i = 0; i < w->nways; i++)
            if (w->way[i].hops == hops)
                v[n++] = w->way[i].ns;
        w->centre[hops] = n < WAYS_MIN ? NAN : stats_median (v, n);
    }
    free (v);
    return 0;
}

/* The hops whose centre is nearest; 0 where there is none. */
static unsigned int nearest (const struct work *w, double ns)
{
    unsigned int best = 0;

    for (unsigned int hops = 1; hops < HOPS; hops++)
        if (!isnan (w->centre[hops])
            && (best == 0 || fabs (w->centre[hops] - ns)
                                 < fabs (w->centre[best] - ns)))
            best = hops;
    return best;
}

static int compare_ways (struct work *w, struct error *err)
{
    struct against *out = w->out;

    out->way = calloc (w->nways + 1, sizeof (*out->way));
    if (!out->way)
        return error_nomem (err);
    for (size_t i = 0; i < w->nways; i++) {
        const struct way *way = &w->way[i];
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
    return 0;
}

struct against *against_compare (const struct fabric *f,
                                 const struct topology_model *m,
                                 struct error *err)
{
    struct against *out = calloc (1, sizeof (*out));
    struct work w = { .m = m, .out = out };
    int rc = -1;

    if (!out) {
        error_nomem (err);
        return NULL;
    }
    out->f = f;
    if (find_members (&w, err) == 0 && find_leaves (&w, err) == 0
        && match_leaves (&w, err) == 0 && compare_hosts (&w, err) == 0
        && find_ways (&w, err) == 0 && find_centres (&w, err) == 0)
        rc = compare_ways (&w, err);
    routes_destroy (w.routes);
    free (w.member);
    free (w.leaf);
    free (w.count);
    free (w.owner);
    free (w.way);
    if (rc == 0)
        return out;
    against_destroy (out);
    return NULL;
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
