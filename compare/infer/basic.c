/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Edges unless a path is as short. */
#include "config.h"
#include "compare/infer/basic.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "compare/infer/cluster.h"

struct pair {
    double d;
    uint32_t a, b;
};

/* What is known while edges are drawn: the neighbours of v so far are
 * next[v * n ..].
 */
struct drawing {
    const double *d;
    uint32_t n;
    double slack, eps;
    uint32_t *next, *degree;
};

static int by_length (const void *va, const void *vb)
{
    const struct pair *a = va, *b = vb;

    if (a->d != b->d)
        return a->d < b->d ? -1 : 1;
    if (a->a != b->a)
        return a->a < b->a ? -1 : 1;
    return (a->b > b->b) - (a->b < b->b);
}

/* Whether a path from a over a neighbour of b is as short as ab. Its first part
 * has been looked at before ab, so that it is joined: what is as short but for
 * noise must not stand in for each other.
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

/* The pairs that are known, by rising length. */
static size_t sort_pairs (const double *d, uint32_t n, struct pair *pair)
{
    size_t count = 0;

    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = a + 1; b < n; b++)
            if (!isnan (d[(size_t)a * n + b]))
                pair[count++] = (struct pair){ d[(size_t)a * n + b], a, b };
    qsort (pair, count, sizeof (*pair), by_length);
    return count;
}

int64_t basic_edges (const double *d, uint32_t n, double slack, double eps,
                     struct basic_edge **edge)
{
    size_t pairs = (size_t)n * (n - 1) / 2;
    struct drawing g = {
        .d = d,
        .n = n,
        .slack = slack,
        .eps = eps,
        .next = malloc (((size_t)n * n + 1) * sizeof (*g.next)),
        .degree = calloc ((size_t)n + 1, sizeof (*g.degree)),
    };
    struct pair *pair = malloc ((pairs + 1) * sizeof (*pair));
    int64_t count = -1;

    *edge = malloc ((pairs + 1) * sizeof (**edge));
    if (*edge && pair && g.next && g.degree) {
        count = 0;
        pairs = sort_pairs (d, n, pair);
        for (size_t i = 0; i < pairs; i++) {
            uint32_t a = pair[i].a, b = pair[i].b;

            if (path_over (&g, a, b) || path_over (&g, b, a))
                continue;
            join (&g, a, b);
            (*edge)[count++] = (struct basic_edge){ a, b };
        }
    } else {
        free (*edge);
        *edge = NULL;
    }
    free (pair);
    free (g.next);
    free (g.degree);
    return count;
}

/* The matrix with each latency replaced by its cluster's mean; *slack is what
 * sums of them may be off by. NULL without memory.
 */
static double *clustered (const struct infer_matrix *m, double *slack)
{
    size_t n = (size_t)m->n * m->n;
    double *d = malloc (n * sizeof (*d));
    double *v = malloc (n * sizeof (*v));
    struct clusters cl = { 0 };
    double squares = 0;
    size_t count = 0;

    for (uint32_t a = 0; v && a < m->n; a++)
        for (uint32_t b = a + 1; b < m->n; b++)
            v[count++] = infer_matrix_at (m, a, b);
    if (!d || !v || clusters_find (&cl, v, count, 0) < 0) {
        free (d);
        free (v);
        return NULL;
    }
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

struct topology_model *infer_basic (const struct infer_matrix *m, double eps,
                                    struct error *err)
{
    struct topology_model *model
        = topology_create (m->n, (const char *const *)m->label);
    double slack = 0;
    double *own = eps > 0 ? NULL : clustered (m, &slack);
    const double *d = eps > 0 ? m->ns : own;
    struct basic_edge *edge = NULL;
    int64_t count = -1;

    if (model && d)
        count = basic_edges (d, m->n, slack, eps, &edge);
    for (int64_t i = 0; i < count; i++) {
        double ns = d[(size_t)edge[i].a * m->n + edge[i].b];

        if (topology_add_edge (model, edge[i].a, edge[i].b, ns) < 0)
            count = -1;
    }
    if (count < 0 || topology_normal (model, 0) < 0) {
        topology_destroy (model);
        model = NULL;
        error_nomem (err);
    }
    free (edge);
    free (own);
    return model;
}
