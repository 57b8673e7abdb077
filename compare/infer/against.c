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
#include "util/pool.h"
#include "util/sort.h"

#define NONE FABRIC_NONE
#define CLEARLY 3.0

enum { WAYS_MIN = 2, HOPS = 64 };

/* A host that is in both. */
struct leaf_host {
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

struct comparing {
    struct pool *pool; /* out's */
    const struct topology_model *m;
    struct against *out;
    struct leaf_host *member;
    size_t nmembers;
    struct leaf *leaf;
    size_t nleaves;
    uint32_t *owner;   /* [nvertices] leaf of a home; NONE */
    double centre[HOPS]; /* by hops; NAN: too few paths */
};

/* The switch at the other end of a port's cable; NONE: no cable, or not a
 * switch.
 */
static uint32_t far_switch (const struct fabric *f, uint32_t port)
{
    uint32_t far = fabric_far_port (f, port);
    uint32_t node = far == NONE ? NONE : f->port[far].node;

    return far != NONE && f->node[node].type == NODE_SWITCH ? node : NONE;
}

static int compare_leaf_hosts (const void *a, const void *b)
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
    const struct fabric *f = out->f;
    uint32_t *home = pool_alloc (w->pool, m->nvertices, sizeof (*home));

    w->member = pool_alloc (w->pool, m->nnodes, sizeof (*w->member));
    out->stranger = pool_alloc (w->pool, m->nnodes, sizeof (*out->stranger));
    /* the only vertex that a node is joined to; nvertices: there are more */
    memset (home, 0xff, m->nvertices * sizeof (*home));
    for (size_t i = 0; i < m->nedges; i++) {
        const struct topology_edge *e = &m->edge[i];

        home[e->a] = home[e->a] == NONE ? e->b : m->nvertices;
        home[e->b] = home[e->b] == NONE ? e->a : m->nvertices;
    }
    for (uint32_t v = 0; v < m->nnodes; v++) {
        uint32_t end = fabric_find_endpoint (f, m->label[v]);
        uint32_t leaf = end == NONE ? NONE
                                    : far_switch (f, f->endpoint[end].port);
        bool at_switch = home[v] >= m->nnodes && home[v] < m->nvertices;

        if (leaf == NONE)
            out->stranger[out->nstrangers++] = v;
        else
            w->member[w->nmembers++]
                = (struct leaf_host){ end, leaf, at_switch ? home[v] : NONE };
    }
    qsort (w->member, w->nmembers, sizeof (*w->member), compare_leaf_hosts);
}

/* The leaves with at least two members, with the home of most of these. Members
 * of other leaves are alone. A home belongs to the leaf with the most members
 * there.
 */
static void find_model_leaves (struct comparing *w)
{
    struct against *out = w->out;
    size_t *has = pool_alloc (w->pool, w->m->nvertices, sizeof (*has)), n;

    w->leaf = pool_alloc (w->pool, w->nmembers, sizeof (*w->leaf));
    w->owner = pool_alloc (w->pool, w->m->nvertices, sizeof (*w->owner));
    memset (w->owner, 0xff, w->m->nvertices * sizeof (*w->owner));
    for (size_t i = 0; i < w->nmembers; i += n) {
        const struct leaf_host *v = &w->member[i];
        struct leaf *l = &w->leaf[w->nleaves];
        uint32_t best = NONE;
        size_t most = 0, same = 0;

        /* members are sorted by leaf, then home */
        for (n = 0; i + n < w->nmembers && v[n].leaf == v->leaf; n++) {
            same = n > 0 && v[n].home == v[n - 1].home ? same + 1 : 1;
            if (v[n].home != NONE && same > most) {
                most = same;
                best = v[n].home;
            }
        }
        if (n == 1) {
            out->alone++;
            continue;
        }
        *l = (struct leaf){ v->leaf, i, n, NONE };
        if (best != NONE && most > has[best]) {
            if (w->owner[best] != NONE)
                w->leaf[w->owner[best]].home = NONE;
            w->owner[best] = w->nleaves;
            l->home = best;
            has[best] = most;
        }
        w->nleaves++;
    }
    out->compared = w->nmembers - out->alone;
    for (size_t i = 0; i < w->nleaves; i++)
        out->switches += w->leaf[i].home != NONE;
}

/* The members of a leaf that have the same home, which is not the leaf's. */
static void compare_leaf_homes (struct comparing *w)
{
    struct against *out = w->out;

    out->hosts = pool_alloc (w->pool, w->nmembers, sizeof (*out->hosts));
    for (const struct leaf *l = w->leaf; l < w->leaf + w->nleaves; l++) {
        const struct leaf_host *v = &w->member[l->first];

        for (size_t i = 0, n; i < l->n; i += n) {
            uint32_t home = v[i].home;
            uint32_t owner = home == NONE ? NONE : w->owner[home];
            struct against_hosts *h = &out->hosts[out->nhosts];

            for (n = 1; i + n < l->n && v[i + n].home == home; n++)
                ;
            if (home != NONE && home == l->home)
                continue;
            out->nhosts++;
            *h = (struct against_hosts){
                .endpoint = pool_alloc (w->pool, n, sizeof (*h->endpoint)),
                .n = n, .at = l->node,
                .with = owner == NONE ? NONE : w->leaf[owner].node,
            };
            for (size_t k = 0; k < n; k++)
                h->endpoint[k] = v[i + k].endpoint;
        }
    }
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

/* The paths between leaves that have a home. */
static void find_leaf_paths (struct comparing *w)
{
    const struct topology_model *m = w->m;
    struct against *out = w->out;
    size_t n = out->switches;
    unsigned int *hops = pool_alloc (w->pool, out->f->nnodes, sizeof (*hops));
    uint32_t *queue = pool_alloc (w->pool, out->f->nnodes, sizeof (*queue));
    uint32_t *last = pool_alloc (w->pool, m->nvertices, sizeof (*last));
    double *d = pool_alloc (w->pool, m->nvertices, sizeof (*d));
    struct csr edges = topology_edges (m, 0);

    out->way = pool_alloc (w->pool, n * n / 2 + 1, sizeof (*out->way));
    for (const struct leaf *a = w->leaf; a < w->leaf + w->nleaves; a++) {
        if (a->home == NONE)
            continue;
        find_hops (out->f, a->node, hops, queue);
        topology_paths_from (m, &edges, m->nedges, a->home, d, last);
        for (const struct leaf *b = a + 1; b < w->leaf + w->nleaves; b++)
            if (b->home != NONE && hops[b->node] < HOPS
                && isfinite (d[b->home]))
                out->way[out->nways++] = (struct against_way){
                    .a = a->node, .b = b->node, .hops = hops[b->node],
                    .ns = d[b->home],
                };
    }
    csr_clear (&edges);
}

static void find_centres (struct comparing *w)
{
    const struct against *out = w->out;
    double *v = pool_alloc (w->pool, out->nways, sizeof (*v));

    for (unsigned int hops = 0; hops < HOPS; hops++) {
        size_t n = 0;

        for (size_t i = 0; i < out->nways; i++)
            if (out->way[i].hops == hops)
                v[n++] = out->way[i].ns;
        w->centre[hops] = n < WAYS_MIN ? NAN : stats_median (v, n);
    }
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

/* Keep the ways that differ. */
static void compare_ways (struct comparing *w)
{
    struct against *out = w->out;
    size_t kept = 0;

    for (size_t i = 0; i < out->nways; i++) {
        struct against_way *way = &out->way[i];
        double own = fabs (w->centre[way->hops] - way->ns);

        way->seen = nearest (w, way->ns);
        if (!isnan (own) && way->seen == way->hops)
            out->nclear++;
        else if (isnan (own)
                 || own < CLEARLY * fabs (w->centre[way->seen] - way->ns))
            out->unclear++;
        else
            out->way[kept++] = *way;
    }
    out->nways = kept;
}

struct against *against_compare (const struct fabric *f,
                                 const struct topology_model *m)
{
    struct pool *pool = pool_create ();
    struct against *out = pool_alloc (pool, 1, sizeof (*out));
    struct comparing w = { .pool = pool, .m = m, .out = out };

    out->pool = pool;
    out->f = f;
    find_members (&w);
    find_model_leaves (&w);
    compare_leaf_homes (&w);
    find_leaf_paths (&w);
    find_centres (&w);
    compare_ways (&w);
    return out;
}

void against_destroy (struct against *a)
{
    if (a)
        pool_destroy (a->pool);
}
