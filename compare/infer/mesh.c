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

#include "compare/infer/infer.h"
#include "util/alloc.h"
#include "util/sort.h"

enum { ROUNDS = 8 };

struct pair_length {
    double d;
    uint32_t a, b; /* a < b */
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
        return util_compare (a->d, b->d);
    if (a->a != b->a)
        return util_compare (a->a, b->a);
    return util_compare (a->b, b->b);
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
            || (g->eps > 0 && 2 * (path - ab) <= g->eps * (ab + path)))
            return true;
    }
    return false;
}

/* The edges of n vertices with distances d [n * n] (NAN: not known, no edge),
 * by ascending d, into *edge, which the caller frees. A path is as short if it
 * is longer by no more than `slack`, or by no more than eps, relatively.
 */
static size_t basic_edges (const double *d, uint32_t n, double slack,
                           double eps, struct pair_length **edge)
{
    struct drawing g = {
        .d = d, .n = n, .slack = slack, .eps = eps,
        .next = xarray ((size_t)n * n, sizeof (*g.next)),
        .degree = xcalloc (n, sizeof (*g.degree)),
    };
    struct pair_length *pair
        = xarray ((size_t)n * (n - 1) / 2, sizeof (*pair));
    size_t pairs = 0, count = 0;

    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = a + 1; b < n; b++)
            if (!isnan (d[(size_t)a * n + b]))
                pair[pairs++]
                    = (struct pair_length){ d[(size_t)a * n + b], a, b };
    qsort (pair, pairs, sizeof (*pair), by_length);
    for (size_t i = 0; i < pairs; i++) {
        uint32_t a = pair[i].a, b = pair[i].b;

        if (path_over (&g, a, b) || path_over (&g, b, a))
            continue;
        g.next[(size_t)a * n + g.degree[a]++] = b;
        g.next[(size_t)b * n + g.degree[b]++] = a;
        pair[count++] = pair[i];
    }
    *edge = pair;
    free (g.next);
    free (g.degree);
    return count;
}

/* Replace the distances [n * n] by the means of their clusters, into mean; NANs
 * and the diagonal stay. Returns the clusters; *most: the greatest standard
 * deviation of any.
 */
static struct clusters cluster_pairs (const double *d, uint32_t n,
                                      double *mean, double *most)
{
    double *v = xarray ((size_t)n * n, sizeof (*v));
    struct clusters cl;
    size_t count = 0;

    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = 0; b < a; b++)
            v[count++] = d[(size_t)a * n + b];
    clusters_find (&cl, v, count, 0);
    *most = 0;
    for (size_t i = 0; i < cl.n; i++)
        *most = fmax (*most, sqrt (cl.c[i].squares / (double)cl.c[i].n));
    for (size_t i = 0; i < (size_t)n * n; i++)
        mean[i] = isnan (d[i]) || i % (n + 1) == 0 || cl.n == 0
                      ? d[i]
                      : cl.c[clusters_of (&cl, d[i])].mean;
    free (v);
    return cl;
}

struct topology_model *infer_basic (const struct infer_matrix *m, double eps)
{
    struct topology_model *model
        = topology_create (m->n, (const char *const *)m->label);
    double *d = xcalloc ((size_t)m->n * m->n, sizeof (*d));
    double slack = 0, squares = 0, count = 0, most;
    struct pair_length *edge;
    size_t n;

    if (eps > 0) {
        memcpy (d, m->ns, (size_t)m->n * m->n * sizeof (*d));
    }
    else {
        struct clusters cl = cluster_pairs (m->ns, m->n, d, &most);

        for (size_t i = 0; i < cl.n; i++) {
            squares += cl.c[i].squares;
            count += (double)cl.c[i].n;
        }
        if (count > 0)
            slack = CLUSTER_APART * sqrt (squares / count)
                    + 1e-9 * cl.c[cl.n - 1].mean;
        clusters_clear (&cl);
    }
    n = basic_edges (d, m->n, slack, eps, &edge);
    for (size_t i = 0; i < n; i++)
        topology_add_edge (model, edge[i].a, edge[i].b, edge[i].d);
    topology_normal (model, 0);
    free (edge);
    free (d);
    return model;
}

struct mesh {
    uint32_t n;
    double zero;
    const struct infer_level *l;
    double *end; /* [n] */
    double *d;   /* [n * n] without the ends */
};

static void cut_ends (struct mesh *k)
{
    for (size_t i = 0; i < (size_t)k->n * k->n; i++)
        if (i % (k->n + 1))
            k->d[i] = k->l->d[i] - k->end[i / k->n] - k->end[i % k->n];
}

/* Gromov's product of b and c at v. */
static double gromov_product (const struct mesh *k, uint32_t v, uint32_t b,
                              uint32_t c)
{
    const double *d = k->d + (size_t)v * k->n;

    return (d[b] + d[c] - k->d[(size_t)b * k->n + c]) / 2;
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
                least = fmin (least, gromov_product (k, v, b, c));
    if (isinf (least))
        return 0;
    for (uint32_t b = 0; b < k->n; b++)
        for (uint32_t c = 0; b != v && c < b; c++)
            if (c != v && gromov_product (k, v, b, c) <= least + more) {
                sum += gromov_product (k, v, b, c);
                n++;
            }
    return sum / (double)n;
}

/* Lengthen the ends by what the least products still leave. */
static void estimate_end_lengths (struct mesh *k, double more)
{
    double *longer = xarray (k->n, sizeof (*longer));

    for (uint32_t v = 0; v < k->n; v++)
        longer[v] = fmax (least_product (k, v, more), 0);
    for (uint32_t v = 0; v < k->n; v++) {
        for (uint32_t b = 0; b < k->n; b++)
            if (b != v) {
                k->d[(size_t)v * k->n + b] -= longer[v];
                k->d[(size_t)b * k->n + v] -= longer[v];
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
static double shift_ends (struct mesh *k, const double *mean)
{
    double *rest = xcalloc (k->n, sizeof (*rest)), sum = 0, most = 0;

    for (uint32_t a = 0; a < k->n; a++) {
        for (size_t i = (size_t)a * k->n; i < (size_t)(a + 1) * k->n; i++)
            if (i % (k->n + 1) && !isnan (k->d[i]))
                rest[a] += k->d[i] - mean[i];
        sum += rest[a] / 2;
    }
    for (uint32_t a = 0; a < k->n; a++) {
        double more = (rest[a] - sum / (k->n - 1)) / (k->n - 2);

        k->end[a] += more;
        most = fmax (most, fabs (more));
    }
    cut_ends (k);
    free (rest);
    return most;
}

/* The mean of each distance's cluster. Returns whether noise explains the
 * clusters.
 */
static bool find_means (const struct mesh *k, double *mean)
{
    double most;
    struct clusters cl = cluster_pairs (k->d, k->n, mean, &most);

    clusters_clear (&cl);
    return most <= k->zero / 2;
}

/* Make similar distances equal if they form clusters. */
static void merge_similar_distances (struct mesh *k)
{
    double *mean = xcalloc ((size_t)k->n * k->n, sizeof (*mean));
    bool alike = true;

    for (int i = 0; i < ROUNDS && alike; i++) {
        alike = find_means (k, mean);
        if (alike && shift_ends (k, mean) < 1e-6 * k->zero)
            break;
    }
    if (alike && find_means (k, mean)) {
        memcpy (k->d, mean, (size_t)k->n * k->n * sizeof (*mean));
        estimate_end_lengths (k, 0);
    }
    free (mean);
}

void level_mesh (const struct infer_level *l, double zero,
                 struct topology_model *m)
{
    uint32_t *vertex = xarray (l->n, sizeof (*vertex));
    struct mesh k = {
        .n = l->n, .zero = zero, .l = l, .end = xcalloc (l->n, sizeof (*k.end)),
        .d = xcalloc ((size_t)l->n * l->n, sizeof (*k.d)),
    };
    struct pair_length *edge;
    size_t n;

    cut_ends (&k);
    if (l->n >= 3) {
        estimate_end_lengths (&k, zero);
        merge_similar_distances (&k);
    }
    for (uint32_t v = 0; v < l->n; v++) {
        vertex[v] = l->vertex[v];
        if (k.end[v] <= zero)
            continue;
        vertex[v] = topology_add_switch (m);
        topology_add_edge (m, l->vertex[v], vertex[v], k.end[v]);
    }
    n = basic_edges (k.d, l->n, zero, 0, &edge);
    for (size_t i = 0; i < n; i++)
        topology_add_edge (m, vertex[edge[i].a], vertex[edge[i].b],
                           fmax (0, edge[i].d));
    free (edge);
    free (vertex);
    free (k.end);
    free (k.d);
}
