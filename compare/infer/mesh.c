/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Edges between vertices of which no two are twins.
 *
 * Notes: how far vertex v is from the rest, its end, is the least of Gromov's
 * products (d(v,b) + d(v,c) - d(b,c)) / 2 over all b, c: the way to the nearest
 * path between two others. Noise makes the least of many too small; the mean
 * of those that are no more than `zero` above it is less so. It is never below
 * zero: messages need not take the shortest way (those of a dragonfly do not),
 * and then products are, of vertices that have no end.
 *
 * Behind the ends, what is alike is made the same: if the distances are in
 * clusters that noise explains, ends are fitted to these (d(a,b) = end_a +
 * end_b + mean of the cluster, which leaves open how much all ends may grow
 * while all means shrink: that the least product says again), and distances
 * become means. Then a pair is an edge unless there is a path as short.
 */
#include "config.h"
#include "compare/infer/mesh.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "compare/infer/basic.h"
#include "compare/infer/cluster.h"

enum { ROUNDS = 8 };

struct mesh {
    uint32_t n;
    double zero;
    const struct level *l;
    double *end;  /* [n] */
    double *d;    /* [n * n] behind the ends */
};

static double *at (const struct mesh *k, uint32_t a, uint32_t b)
{
    return &k->d[(size_t)a * k->n + b];
}

/* Distances behind the ends. */
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

/* The way from v to the nearest path between two others, by distances that
 * may be `more` off.
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

/* Lengthen the ends by what all products leave. */
static int find_ends (struct mesh *k, double more)
{
    double *longer = malloc ((k->n + 1) * sizeof (*longer));

    if (!longer)
        return -1;
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
    return 0;
}

/* Move the ends so that distances are as near to `mean` as they can be: with
 * R_a the sum of what is left over of a's pairs, and S of all, a's end takes
 * (R_a - S / (n - 1)) / (n - 2), if all are known. (S counts pairs once.)
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

/* The mean of its cluster for each distance. Returns whether noise explains
 * the clusters; -1 without memory.
 */
static int means (const struct mesh *k, double *mean)
{
    size_t n = (size_t)k->n * k->n, count = 0;
    double *v = malloc ((n + 1) * sizeof (*v));
    struct clusters cl = { 0 };
    int rc = 1;

    if (!v)
        return -1;
    for (uint32_t a = 0; a < k->n; a++)
        for (uint32_t b = 0; b < a; b++)
            v[count++] = *at (k, a, b);
    if (clusters_find (&cl, v, count, 0) < 0) {
        free (v);
        return -1;
    }
    for (size_t i = 0; i < cl.n; i++)
        rc = rc && cl.c[i].sd <= k->zero / 2;
    for (size_t i = 0; rc && i < n; i++)
        mean[i] = isnan (k->d[i]) || cl.n == 0 || i % (k->n + 1) == 0
                      ? k->d[i]
                      : cl.c[clusters_of (&cl, k->d[i])].mean;
    clusters_clear (&cl);
    free (v);
    return rc;
}

/* Make distances the same that are alike, if they are. */
static int draw_together (struct mesh *k)
{
    double *mean = malloc (((size_t)k->n * k->n + 1) * sizeof (*mean));
    double *rest = malloc ((k->n + 1) * sizeof (*rest));
    int rc = -1;

    if (!mean || !rest)
        goto out;
    for (int i = 0; i < ROUNDS; i++) {
        rc = means (k, mean);
        if (rc <= 0)
            goto out;
        if (fit_ends (k, mean, rest) < 1e-6 * k->zero)
            break;
    }
    rc = means (k, mean);
    if (rc == 1) {
        memcpy (k->d, mean, (size_t)k->n * k->n * sizeof (*mean));
        rc = find_ends (k, 0);
    }
out:
    free (mean);
    free (rest);
    return rc;
}

/* The vertices of the mesh: where an end has a length, a switch. */
static int add_ends (const struct mesh *k, struct topology_model *m,
                     uint32_t *vertex)
{
    for (uint32_t v = 0; v < k->n; v++) {
        vertex[v] = k->l->vertex[v];
        if (k->end[v] <= k->zero)
            continue;
        vertex[v] = topology_add_switch (m);
        if (topology_add_edge (m, k->l->vertex[v], vertex[v], k->end[v]) < 0)
            return -1;
    }
    return 0;
}

static int add_edges (const struct mesh *k, struct topology_model *m)
{
    uint32_t *vertex = malloc ((k->n + 1) * sizeof (*vertex));
    struct basic_edge *edge = NULL;
    int64_t n = -1;

    if (vertex && add_ends (k, m, vertex) == 0)
        n = basic_edges (k->d, k->n, k->zero, 0, &edge);
    for (int64_t i = 0; i < n; i++)
        if (topology_add_edge (m, vertex[edge[i].a], vertex[edge[i].b],
                               fmax (0, *at (k, edge[i].a, edge[i].b))) < 0)
            n = -1;
    free (edge);
    free (vertex);
    return n < 0 ? -1 : 0;
}

int mesh_join (const struct level *l, double zero, struct topology_model *m)
{
    struct mesh k = {
        .n = l->n,
        .zero = zero,
        .l = l,
        .end = calloc ((size_t)l->n + 1, sizeof (*k.end)),
        .d = malloc (((size_t)l->n * l->n + 1) * sizeof (*k.d)),
    };
    int rc = -1;

    if (k.end && k.d) {
        cut_ends (&k);
        rc = l->n < 3 || (find_ends (&k, zero) == 0 && draw_together (&k) >= 0)
                 ? add_edges (&k, m)
                 : -1;
    }
    free (k.end);
    free (k.d);
    return rc;
}
