/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Edges between vertices of which no two are twins.
 *
 * Notes: the end of a vertex v is its distance from the rest: the least of
 * Gromov's products (d(v,b) + d(v,c) - d(b,c)) / 2 over all b, c, which is the
 * distance to the nearest path between two others. Noise makes the least of
 * many products too small. The mean of those that exceed it by no more than
 * `zero` is less biased. An end is never negative: messages need not take the
 * shortest path (on a dragonfly they do not), and then products of vertices
 * without an end are negative.
 *
 * After the ends are subtracted, similar distances are made equal. If the
 * distances form clusters that noise explains, the ends are fitted to them,
 * d(a,b) = end_a + end_b + mean of the cluster, and each distance becomes its
 * cluster's mean. This fit does not determine how much all ends may grow while
 * all means shrink; the least products determine that afterwards. Then a pair
 * is an edge unless there is a path that is as short.
 */
#include "config.h"
#include "compare/infer/steps.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "compare/infer/cluster.h"
#include "compare/infer/infer.h"
#include "util/alloc.h"

/*
 * Edges unless a path is as short
 */

struct basic_edge {
    uint32_t a, b; /* a < b */
};

struct pair_length {
    double d;
    uint32_t a, b;
};

/* State while edges are added. v has degree[v] neighbours so far, from next[v *
 * n] on.
 */
struct drawing {
    const double *d;
    uint32_t n;
    double slack, eps;
    uint32_t *next, *degree;
};

static int by_length (const void *va, const void *vb)
{
    const struct pair_length *a = va, *b = vb;

    if (a->d != b->d)
        return a->d < b->d ? -1 : 1;
    if (a->a != b->a)
        return a->a < b->a ? -1 : 1;
    return (a->b > b->b) - (a->b < b->b);
}

/* Whether a path from a over a neighbour of b is as short as ab. Its first part
 * must be shorter than ab. Then it was examined before and is joined; otherwise
 * two pairs that differ only by noise could each be left out because of the
 * other.
 */
static bool path_over (const struct drawing *g, uint32_t a, uint32_t b)
{
    double ab = g->d[(size_t)a * g->n + b];

    for (uint32_t i = 0; i < g->degree[b]; i++) {
        uint32_t over = g->next[(size_t)b * g->n + i];
        double first = g->d[(size_t)a * g->n + over];
        double path = first + g->d[(size_t)over * g->n + b];

        if (!(first < ab))
            continue;
        if (path <= ab + g->slack
            || (g->eps > 0 && !cluster_less (ab, path, g->eps)))
            return true;
    }
    return false;
}

static void join (struct drawing *g, uint32_t a, uint32_t b)
{
    g->next[(size_t)a * g->n + g->degree[a]++] = b;
    g->next[(size_t)b * g->n + g->degree[b]++] = a;
}

/* The known pairs, by ascending length. */
static size_t sort_pairs (const double *d, uint32_t n, struct pair_length *pair)
{
    size_t count = 0;

    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = a + 1; b < n; b++)
            if (!isnan (d[(size_t)a * n + b]))
                pair[count++]
                    = (struct pair_length){ d[(size_t)a * n + b], a, b };
    qsort (pair, count, sizeof (*pair), by_length);
    return count;
}

/* The edges of n vertices with distances d [n * n] (NAN: not known, no edge),
 * by ascending d, into edge, which the caller frees. A path is as short if it
 * is longer by no more than `slack`, or by no more than eps, relatively.
 */
static size_t basic_edges (const double *d, uint32_t n, double slack,
                           double eps, struct basic_edge **edge)
{
    size_t pairs = (size_t)n * (n - 1) / 2;
    struct drawing g = {
        .d = d,
        .n = n,
        .slack = slack,
        .eps = eps,
        .next = xarray ((size_t)n * n, sizeof (*g.next)),
        .degree = xcalloc (n, sizeof (*g.degree)),
    };
    struct pair_length *pair = xarray (pairs, sizeof (*pair));
    size_t count = 0;

    *edge = xarray (pairs, sizeof (**edge));
    pairs = sort_pairs (d, n, pair);
    for (size_t i = 0; i < pairs; i++) {
        uint32_t a = pair[i].a, b = pair[i].b;

        if (path_over (&g, a, b) || path_over (&g, b, a))
            continue;
        join (&g, a, b);
        (*edge)[count++] = (struct basic_edge){ a, b };
    }
    free (pair);
    free (g.next);
    free (g.degree);
    return count;
}

/* The matrix with each latency replaced by its cluster's mean. *slack: how much
 * sums of these may deviate.
 */
static double *clustered (const struct infer_matrix *m, double *slack)
{
    size_t n = (size_t)m->n * m->n;
    double *d = xarray (n, sizeof (*d));
    double *v = xarray (n, sizeof (*v));
    struct clusters cl;
    double squares = 0;
    size_t count = 0;

    for (uint32_t a = 0; a < m->n; a++)
        for (uint32_t b = a + 1; b < m->n; b++)
            v[count++] = infer_matrix_at (m, a, b);
    clusters_find (&cl, v, count, 0);
    for (size_t i = 0; i < n; i++)
        d[i] = isnan (m->ns[i]) || cl.n == 0
                   ? NAN
                   : cl.c[clusters_of (&cl, m->ns[i])].mean;
    count = 0;
    for (size_t i = 0; i < cl.n; i++) {
        squares += cl.c[i].sd * cl.c[i].sd * (double)cl.c[i].n;
        count += cl.c[i].n;
    }
    *slack = count ? CLUSTER_APART * sqrt (squares / (double)count)
                         + 1e-9 * cl.c[cl.n - 1].mean
                   : 0;
    clusters_clear (&cl);
    free (v);
    return d;
}

struct topology_model *infer_basic (const struct infer_matrix *m, double eps)
{
    struct topology_model *model
        = topology_create (m->n, (const char *const *)m->label);
    double slack = 0;
    double *own = eps > 0 ? NULL : clustered (m, &slack);
    const double *d = own ? own : m->ns;
    struct basic_edge *edge;
    size_t n = basic_edges (d, m->n, slack, eps, &edge);

    for (size_t i = 0; i < n; i++)
        topology_add_edge (model, edge[i].a, edge[i].b,
                           d[(size_t)edge[i].a * m->n + edge[i].b]);
    topology_normal (model, 0);
    free (edge);
    free (own);
    return model;
}

/*
 * The mesh
 */

enum { ROUNDS = 8 };

struct mesh {
    uint32_t n;
    double zero;
    const struct infer_level *l;
    double *end;  /* [n] */
    double *d;    /* [n * n] without the ends */
};

static double *at (const struct mesh *k, uint32_t a, uint32_t b)
{
    return &k->d[(size_t)a * k->n + b];
}

/* The distances without the ends. */
static void cut_ends (struct mesh *k)
{
    for (uint32_t a = 0; a < k->n; a++)
        for (uint32_t b = 0; b < k->n; b++)
            *at (k, a, b) = a == b ? 0
                                   : level_d (k->l, a, b) - k->end[a]
                                         - k->end[b];
}

/* Gromov's product of b and c at v. */
static double product (const struct mesh *k, uint32_t v, uint32_t b,
                       uint32_t c)
{
    return (*at (k, v, b) + *at (k, v, c) - *at (k, b, c)) / 2;
}

/* The distance from v to the nearest path between two others. Distances may
 * have errors of `more`.
 */
static double least_product (const struct mesh *k, uint32_t v, double more)
{
    double least = INFINITY, sum = 0;
    size_t n = 0;

    for (uint32_t b = 0; b < k->n; b++)
        for (uint32_t c = 0; b != v && c < b; c++)
            if (c != v)
                least = fmin (least, product (k, v, b, c));
    if (isinf (least))
        return 0;
    for (uint32_t b = 0; b < k->n; b++)
        for (uint32_t c = 0; b != v && c < b; c++)
            if (c != v && product (k, v, b, c) <= least + more) {
                sum += product (k, v, b, c);
                n++;
            }
    return sum / (double)n;
}

/* Lengthen the ends by what the least products still leave. */
static void find_ends (struct mesh *k, double more)
{
    double *longer = xarray (k->n, sizeof (*longer));

    for (uint32_t v = 0; v < k->n; v++)
        longer[v] = fmax (least_product (k, v, more), 0);
    for (uint32_t v = 0; v < k->n; v++) {
        for (uint32_t b = 0; b < k->n; b++)
            if (b != v) {
                *at (k, v, b) -= longer[v];
                *at (k, b, v) -= longer[v];
            }
        k->end[v] += longer[v];
    }
    free (longer);
}

/* Move the ends so that the distances approximate `mean` as well as possible.
 * If all pairs are known, a's end grows by (R_a - S / (n - 1)) / (n - 2), where
 * R_a is the sum of the residuals of a's pairs and S that of all pairs, each
 * counted once. Returns the largest change.
 */
static double fit_ends (struct mesh *k, const double *mean, double *rest)
{
    double sum = 0, most = 0;

    for (uint32_t a = 0; a < k->n; a++) {
        rest[a] = 0;
        for (uint32_t b = 0; b < k->n; b++)
            if (a != b && !isnan (*at (k, a, b)))
                rest[a] += *at (k, a, b) - mean[(size_t)a * k->n + b];
        sum += rest[a] / 2;
    }
    for (uint32_t a = 0; a < k->n; a++) {
        double more = (rest[a] - sum / (k->n - 1)) / (k->n - 2);

        k->end[a] += more;
        most = fmax (most, fabs (more));
    }
    cut_ends (k);
    return most;
}

/* For each distance, the mean of its cluster. Returns whether noise explains
 * the clusters.
 */
static bool means (const struct mesh *k, double *mean)
{
    size_t n = (size_t)k->n * k->n, count = 0;
    double *v = xarray (n, sizeof (*v));
    struct clusters cl;
    bool explained = true;

    for (uint32_t a = 0; a < k->n; a++)
        for (uint32_t b = 0; b < a; b++)
            v[count++] = *at (k, a, b);
    clusters_find (&cl, v, count, 0);
    for (size_t i = 0; i < cl.n; i++)
        explained = explained && cl.c[i].sd <= k->zero / 2;
    for (size_t i = 0; explained && i < n; i++)
        mean[i] = isnan (k->d[i]) || cl.n == 0 || i % (k->n + 1) == 0
                      ? k->d[i]
                      : cl.c[clusters_of (&cl, k->d[i])].mean;
    clusters_clear (&cl);
    free (v);
    return explained;
}

/* Make similar distances equal if they form clusters. */
static void draw_together (struct mesh *k)
{
    double *mean = xarray ((size_t)k->n * k->n, sizeof (*mean));
    double *rest = xarray (k->n, sizeof (*rest));
    bool alike = true;

    for (int i = 0; i < ROUNDS && alike; i++) {
        alike = means (k, mean);
        if (alike && fit_ends (k, mean, rest) < 1e-6 * k->zero)
            break;
    }
    if (alike && means (k, mean)) {
        memcpy (k->d, mean, (size_t)k->n * k->n * sizeof (*mean));
        find_ends (k, 0);
    }
    free (mean);
    free (rest);
}

/* The vertices of the mesh: a switch for each end that has a length. */
static void add_ends (const struct mesh *k, struct topology_model *m,
                      uint32_t *vertex)
{
    for (uint32_t v = 0; v < k->n; v++) {
        vertex[v] = k->l->vertex[v];
        if (k->end[v] <= k->zero)
            continue;
        vertex[v] = topology_add_switch (m);
        topology_add_edge (m, k->l->vertex[v], vertex[v], k->end[v]);
    }
}

static void add_edges (const struct mesh *k, struct topology_model *m)
{
    uint32_t *vertex = xarray (k->n, sizeof (*vertex));
    struct basic_edge *edge;
    size_t n = basic_edges (k->d, k->n, k->zero, 0, &edge);

    add_ends (k, m, vertex);
    for (size_t i = 0; i < n; i++)
        topology_add_edge (m, vertex[edge[i].a], vertex[edge[i].b],
                           fmax (0, *at (k, edge[i].a, edge[i].b)));
    free (edge);
    free (vertex);
}

void mesh_join (const struct infer_level *l, double zero,
                struct topology_model *m)
{
    struct mesh k = {
        .n = l->n,
        .zero = zero,
        .l = l,
        .end = xcalloc (l->n, sizeof (*k.end)),
        .d = xarray ((size_t)l->n * l->n, sizeof (*k.d)),
    };

    cut_ends (&k);
    if (l->n >= 3) {
        find_ends (&k, zero);
        draw_together (&k);
    }
    add_edges (&k, m);
    free (k.end);
    free (k.d);
}
