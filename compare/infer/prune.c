/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes: if an edge goes, its ends become one, or paths take the next best way
 * between them. Either way a combination of edges that has been free is bound
 * to be 0: the edge, or the way less the edge. If its value is v, and its
 * variance c times that of a pair (by the inverse of the normal equations),
 * the sum of squares grows by v^2 / c (Wald's test), the other edges' making
 * good for it included, as long as all other paths stay the same. The edge
 * that costs least goes first, and then all is looked at again.
 */
#include "config.h"
#include "compare/infer/prune.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/linear/linalg.h"

enum { SWITCHES_MAX = 512 };

#define LOOSE 1e-6 /* pairs by which an edge is what it is anyway */
#define FIXED 1e9  /* the same of one that is none any more */

struct pruning {
    struct topology_model *m;
    const struct infer_matrix *w;
    uint32_t n;        /* switches */
    double *d;         /* [nnodes * nvertices] */
    uint32_t *last;    /* the same */
    double *variance;  /* [nedges * nedges] of edges, in those of a pair */
    size_t *edge;      /* [n * n] between two switches; nedges: none */
    double *way;       /* [n] */
    uint32_t *before;  /* [n] */
    bool *done;        /* [n] */
    size_t *path;      /* [nedges] edges of a path */
};

/* What it costs that an edge goes, in units of a square, and how. */
struct loss {
    double square;
    bool unite; /* its ends become one */
};

/* The normal equations: how many measured pairs cross two edges. */
static void fill_normal (struct pruning *p)
{
    const struct topology_model *m = p->m;

    for (uint32_t a = 0; a < m->nnodes; a++) {
        const uint32_t *last = p->last + (size_t)a * m->nvertices;

        for (uint32_t b = 0; b < a; b++) {
            size_t n = 0;

            if (isnan (infer_matrix_at (p->w, a, b)))
                continue;
            for (uint32_t v = b; last[v] != TOPOLOGY_NONE; v = last[v])
                p->path[n++] = topology_edge_of (m, v, last[v]);
            for (size_t i = 0; i < n; i++)
                for (size_t j = 0; j < n; j++)
                    p->variance[p->path[i] * m->nedges + p->path[j]]++;
        }
    }
}

/* Return 0, or -1 with errno. What pairs do not determine varies a lot. */
static int find_variances (struct pruning *p)
{
    const struct topology_model *m = p->m;
    size_t n = m->nedges;
    double *u = NULL;

    free (p->variance);
    if (!(p->variance = linalg_matrix (n)))
        return -1;
    fill_normal (p);
    for (size_t i = 0; i < n; i++)
        p->variance[i * n + i] += m->edge[i].latency_ns > 0 ? LOOSE : FIXED;
    if (linalg_cholesky (p->variance, n) < 0
        || !(u = linalg_invert_factor (p->variance, n)))
        return -1;
    free (p->variance);
    p->variance = linalg_inverse (u, n);
    free (u);
    return p->variance ? 0 : -1;
}

static void fill_edges (struct pruning *p)
{
    const struct topology_model *m = p->m;

    for (size_t i = 0; i < (size_t)p->n * p->n; i++)
        p->edge[i] = m->nedges;
    for (size_t i = 0; i < m->nedges; i++) {
        const struct topology_edge *e = &m->edge[i];
        uint32_t a = e->a - m->nnodes, b = e->b - m->nnodes;

        if (e->a >= m->nnodes)
            p->edge[(size_t)a * p->n + b] = p->edge[(size_t)b * p->n + a] = i;
    }
}

static double length_of (const struct pruning *p, uint32_t a, uint32_t b)
{
    size_t i = p->edge[(size_t)a * p->n + b];

    return i < p->m->nedges ? p->m->edge[i].latency_ns : INFINITY;
}

/* Length of the shortest way from switch a to b but for their own edge; its
 * switches are in `before`, from b on.
 */
static double other_way (struct pruning *p, uint32_t a, uint32_t b)
{
    for (uint32_t v = 0; v < p->n; v++) {
        p->way[v] = v == a ? 0 : INFINITY;
        p->done[v] = false;
    }
    while (!p->done[b]) {
        uint32_t at = TOPOLOGY_NONE;

        for (uint32_t v = 0; v < p->n; v++)
            if (!p->done[v]
                && (at == TOPOLOGY_NONE || p->way[v] < p->way[at]))
                at = v;
        if (isinf (p->way[at]))
            break;
        p->done[at] = true;
        for (uint32_t v = 0; v < p->n; v++) {
            double way = p->way[at] + length_of (p, at, v);

            if (way < p->way[v] && !(at == a && v == b)) {
                p->way[v] = way;
                p->before[v] = at;
            }
        }
    }
    return p->way[b];
}

/* Variance of the other way less edge i. */
static double other_variance (struct pruning *p, size_t i, uint32_t a,
                              uint32_t b)
{
    size_t n = 0, nedges = p->m->nedges;
    double sum = 0;

    p->path[n++] = i;
    for (uint32_t v = b; v != a; v = p->before[v])
        p->path[n++] = p->edge[(size_t)v * p->n + p->before[v]];
    for (size_t j = 0; j < n; j++)
        for (size_t k = 0; k < n; k++)
            sum += ((j == 0) == (k == 0) ? 1 : -1)
                   * p->variance[p->path[j] * nedges + p->path[k]];
    return sum;
}

static struct loss loss_of (struct pruning *p, size_t i)
{
    const struct topology_edge *e = &p->m->edge[i];
    uint32_t a = e->a - p->m->nnodes, b = e->b - p->m->nnodes;
    double more = fmax (other_way (p, a, b) - e->latency_ns, 0);
    struct loss loss = {
        e->latency_ns * e->latency_ns / p->variance[i * (p->m->nedges + 1)],
        true,
    };

    if (isfinite (more)) {
        double square = more * more / other_variance (p, i, a, b);

        if (square <= loss.square)
            loss = (struct loss){ square, false };
    }
    return loss;
}

/* Take away edge i, or let its ends be one. */
static void take (struct topology_model *m, size_t i, bool unite)
{
    struct topology_edge *e = &m->edge[i];

    if (unite) {
        e->latency_ns = 0; /* drawn together by topology_normal */
        return;
    }
    memmove (e, e + 1, (m->nedges - i - 1) * sizeof (*e));
    m->nedges--;
}

static int prune_all (struct pruning *p, double squares, double digits)
{
    struct topology_model *m = p->m;
    double most = 2 * digits * squares / (double)(m->dof ? m->dof : 1);
    size_t edges = m->nedges;
    int gone = 0;

    while (edges-- > 0) {
        struct loss least = { INFINITY, false };
        size_t best = m->nedges;

        if (topology_paths (m, p->d, p->last) < 0)
            return -1;
        if (find_variances (p) < 0) /* EDOM: nothing can be said */
            return errno == EDOM ? gone : -1;
        fill_edges (p);
        for (size_t i = 0; i < m->nedges; i++) {
            struct loss loss;

            if (m->edge[i].a < m->nnodes || !(m->edge[i].latency_ns > 0))
                continue;
            loss = loss_of (p, i);
            if (loss.square < least.square) {
                least = loss;
                best = i;
            }
        }
        if (best == m->nedges || least.square > most)
            break;
        take (m, best, least.unite);
        gone++;
    }
    return gone;
}

int prune (struct topology_model *m, const struct infer_matrix *w,
           double squares, double digits)
{
    uint32_t n = m->nvertices - m->nnodes;
    size_t size = (size_t)m->nnodes * m->nvertices + 1;
    struct pruning p = { .m = m, .w = w, .n = n };
    int rc = -1;

    if (n < 2 || n > SWITCHES_MAX)
        return 0;
    p.d = malloc (size * sizeof (*p.d));
    p.last = malloc (size * sizeof (*p.last));
    p.edge = malloc ((size_t)n * n * sizeof (*p.edge));
    p.way = malloc (n * sizeof (*p.way));
    p.before = malloc (n * sizeof (*p.before));
    p.done = malloc (n * sizeof (*p.done));
    p.path = malloc ((m->nedges + 1) * sizeof (*p.path));
    if (p.d && p.last && p.edge && p.way && p.before && p.done && p.path)
        rc = prune_all (&p, squares, digits);
    free (p.d);
    free (p.last);
    free (p.variance);
    free (p.edge);
    free (p.way);
    free (p.before);
    free (p.done);
    free (p.path);
    return rc;
}
