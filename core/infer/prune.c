/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes: if an edge goes, the paths that cross it get longer by what the next
 * best way between its ends takes more, or, where its ends become one, shorter
 * by the edge; other edges may make good for that, so that what it costs is
 * less than count * change^2 / (2 noise^2) digits. The edge that costs least
 * goes first, and then all is looked at again.
 */
#include "config.h"
#include "core/infer/prune.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { SWITCHES_MAX = 512 };

struct pruning {
    struct topology_model *m;
    const struct infer_matrix *w;
    uint32_t n;          /* switches */
    double *d;           /* [nnodes * nvertices] */
    uint32_t *last;      /* the same */
    double *length;      /* [n * n] of the edge between two switches */
    double *way;         /* [n] */
    bool *done;          /* [n] */
    uint32_t *count;     /* [nedges] measured pairs that cross the edge */
};

static void count_pairs (struct pruning *p)
{
    const struct topology_model *m = p->m;

    memset (p->count, 0, m->nedges * sizeof (*p->count));
    for (uint32_t a = 0; a < m->nnodes; a++) {
        const uint32_t *last = p->last + (size_t)a * m->nvertices;

        for (uint32_t b = 0; b < a; b++) {
            if (isnan (infer_matrix_at (p->w, a, b)))
                continue;
            for (uint32_t v = b; last[v] != TOPOLOGY_NONE; v = last[v])
                p->count[topology_edge_of (m, v, last[v])]++;
        }
    }
}

static void fill_lengths (struct pruning *p)
{
    const struct topology_model *m = p->m;

    for (size_t i = 0; i < (size_t)p->n * p->n; i++)
        p->length[i] = INFINITY;
    for (size_t i = 0; i < m->nedges; i++) {
        const struct topology_edge *e = &m->edge[i];
        uint32_t a = e->a - m->nnodes, b = e->b - m->nnodes;

        if (e->a >= m->nnodes)
            p->length[(size_t)a * p->n + b] = p->length[(size_t)b * p->n + a]
                = e->latency_ns;
    }
}

/* Length of the shortest way from switch a to b but for their own edge. */
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
        for (uint32_t v = 0; v < p->n; v++)
            if (!(at == a && v == b))
                p->way[v] = fmin (p->way[v],
                                  p->way[at]
                                      + p->length[(size_t)at * p->n + v]);
    }
    return p->way[b];
}

/* What it costs that edge i goes, in units of a square. */
static double loss_of (struct pruning *p, size_t i)
{
    const struct topology_edge *e = &p->m->edge[i];
    double more = other_way (p, e->a - p->m->nnodes, e->b - p->m->nnodes)
                  - e->latency_ns;
    double change = fmin (fmax (more, 0), e->latency_ns);

    return p->count[i] * change * change;
}

/* Take away edge i, or let its ends be one. */
static void take (struct pruning *p, size_t i)
{
    struct topology_model *m = p->m;
    struct topology_edge *e = &m->edge[i];
    double more = other_way (p, e->a - m->nnodes, e->b - m->nnodes)
                  - e->latency_ns;

    if (more > e->latency_ns) {
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
        double least = INFINITY;
        size_t best = m->nedges;

        if (topology_paths (m, p->d, p->last) < 0)
            return -1;
        count_pairs (p);
        fill_lengths (p);
        for (size_t i = 0; i < m->nedges; i++) {
            double loss;

            if (m->edge[i].a < m->nnodes || !(m->edge[i].latency_ns > 0))
                continue;
            loss = loss_of (p, i);
            if (loss < least) {
                least = loss;
                best = i;
            }
        }
        if (best == m->nedges || least > most)
            break;
        take (p, best);
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
    p.length = malloc ((size_t)n * n * sizeof (*p.length));
    p.way = malloc (n * sizeof (*p.way));
    p.done = malloc (n * sizeof (*p.done));
    p.count = malloc ((m->nedges + 1) * sizeof (*p.count));
    if (p.d && p.last && p.length && p.way && p.done && p.count)
        rc = prune_all (&p, squares, digits);
    free (p.d);
    free (p.last);
    free (p.length);
    free (p.way);
    free (p.done);
    free (p.count);
    return rc;
}
