/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Least squares for the edges of a model, from their present values.
 *
 * Notes: conjugate gradients on the normal equations (CGLS), with unknowns
 * scaled by the number of their rows. They converge to the minimum nearest to
 * the start, so a matrix without full rank needs no special treatment.
 */
#include "config.h"
#include "compare/infer/steps.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "compare/infer/cluster.h"
#include "core/linear/linalg.h"
#include "util/alloc.h"

enum { ITERATIONS = 300 };

#define ENOUGH 1e-18 /* of the sum of squared latencies: stop when a step gains
                        less */

/* The measured pairs' paths: row i has the edges edge[start[i]] .. */
struct path_rows {
    size_t n, size;
    size_t *start; /* [pairs + 1] */
    uint32_t *edge;
    double *rest;  /* [pairs] measured minus the path's length */
    double enough; /* a sum of squares */
    bool apart;    /* some nodes are not joined */
};

static void rows_clear (struct path_rows *r)
{
    free (r->start);
    free (r->edge);
    free (r->rest);
    *r = (struct path_rows){ 0 };
}

/* Add the path from a, whose tree is `last`, to b. */
static void rows_add (struct path_rows *r, const struct topology_model *m,
                      const uint32_t *last, uint32_t a, uint32_t b)
{
    size_t at = r->start[r->n];

    for (; b != a; b = last[b]) {
        r->edge = xgrow (r->edge, at, sizeof (*r->edge));
        r->edge[at++] = topology_edge_of (m, b, last[b]);
    }
    r->start[++r->n] = at;
}

static struct path_rows rows_make (const struct topology_model *m,
                                   const struct infer_matrix *w)
{
    size_t n = m->nnodes, nv = m->nvertices, pairs = n * (n - 1) / 2;
    double *d = xarray (n * nv, sizeof (*d));
    uint32_t *last = xarray (n * nv, sizeof (*last));
    struct path_rows r = {
        .start = xcalloc (pairs + 1, sizeof (*r.start)),
        .rest = xarray (pairs, sizeof (*r.rest)),
    };

    topology_paths (m, d, last);
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = a + 1; b < n; b++) {
            double ns = infer_matrix_at (w, a, b);

            if (isinf (d[a * nv + b]))
                r.apart = true;
            if (isnan (ns) || isinf (d[a * nv + b]))
                continue;
            r.enough += ENOUGH * ns * ns;
            r.rest[r.n] = ns - d[a * nv + b];
            rows_add (&r, m, last + a * nv, a, b);
        }
    free (d);
    free (last);
    return r;
}

/* Remove the edges that are in no row. Returns whether there were any. */
static bool drop_unused (struct topology_model *m, const struct path_rows *r,
                         double *used)
{
    size_t kept = 0, before = m->nedges;

    memset (used, 0, m->nedges * sizeof (*used));
    for (size_t i = 0; i < r->start[r->n]; i++)
        used[r->edge[i]]++;
    for (size_t e = 0; e < before; e++)
        if (used[e] > 0)
            m->edge[kept++] = m->edge[e];
    m->nedges = kept;
    return kept < before;
}

static double times (const struct path_rows *r, size_t i, const double *x)
{
    double sum = 0;

    for (size_t k = r->start[i]; k < r->start[i + 1]; k++)
        sum += x[r->edge[k]];
    return sum;
}

/* The scaled gradient. Returns its square. */
static double gradient (const struct path_rows *r, const double *scale,
                        size_t n, double *s)
{
    double sum = 0;

    memset (s, 0, n * sizeof (*s));
    for (size_t i = 0; i < r->n; i++)
        for (size_t k = r->start[i]; k < r->start[i + 1]; k++)
            s[r->edge[k]] += r->rest[i];
    for (size_t e = 0; e < n; e++) {
        sum += s[e] * s[e] * scale[e];
        s[e] *= scale[e];
    }
    return sum;
}

/* One step along p. *old is the square of the previous gradient. Returns by how
 * much the sum of squares fell.
 */
static double descend (struct topology_model *m, struct path_rows *r,
                       const double *scale, double *p, double *s, double *old)
{
    double length = 0, step, new;

    for (size_t i = 0; i < r->n; i++)
        length += pow (times (r, i, p), 2);
    if (!(length > 0))
        return 0;
    step = *old / length;
    for (size_t e = 0; e < m->nedges; e++)
        m->edge[e].latency_ns += step * p[e];
    for (size_t i = 0; i < r->n; i++)
        r->rest[i] -= step * times (r, i, p);
    new = gradient (r, scale, m->nedges, s);
    for (size_t e = 0; e < m->nedges; e++)
        p[e] = s[e] + new / *old * p[e];
    *old = new;
    return step * step * length;
}

static void minimise (struct topology_model *m, struct path_rows *r,
                      double *scale)
{
    double *p = xarray (m->nedges, sizeof (*p));
    double *s = xarray (m->nedges, sizeof (*s));
    double old;

    for (size_t e = 0; e < m->nedges; e++)
        scale[e] = 0;
    for (size_t i = 0; i < r->start[r->n]; i++)
        scale[r->edge[i]]++;
    for (size_t e = 0; e < m->nedges; e++)
        scale[e] = scale[e] > 0 ? 1 / scale[e] : 0;
    old = gradient (r, scale, m->nedges, s);
    memcpy (p, s, m->nedges * sizeof (*p));
    for (int i = 0; i < ITERATIONS; i++)
        if (descend (m, r, scale, p, s, &old) <= r->enough)
            break;
    for (size_t e = 0; e < m->nedges; e++)
        m->edge[e].latency_ns = fmax (0, m->edge[e].latency_ns);
    free (p);
    free (s);
}

/* Set noise_ns, r2 and dof of the model. Returns the sum of squares. */
static double judge (struct topology_model *m, const struct infer_matrix *w,
                     const struct path_rows *r)
{
    double sum = 0, mean = 0, total = 0;
    size_t n = 0;

    for (size_t i = 0; i < r->n; i++)
        sum += r->rest[i] * r->rest[i];
    for (uint32_t a = 0; a < w->n; a++)
        for (uint32_t b = a + 1; b < w->n; b++) {
            double ns = infer_matrix_at (w, a, b);

            if (isnan (ns))
                continue;
            n++;
            total += (ns - mean) * (ns - mean) * (double)(n - 1) / (double)n;
            mean += (ns - mean) / (double)n;
        }
    m->dof = r->n > m->nedges ? r->n - m->nedges : 0;
    m->noise_ns = m->dof ? sqrt (sum / (double)m->dof) : 0;
    m->r2 = m->dof && total > 0 ? 1 - sum / total : NAN;
    return r->apart ? INFINITY : sum;
}

double settle (struct topology_model *m, const struct infer_matrix *w)
{
    double *scale = xarray (m->nedges, sizeof (*scale));
    struct path_rows r = rows_make (m, w);
    double squares;

    if (drop_unused (m, &r, scale)) {
        rows_clear (&r);
        r = rows_make (m, w);
    }
    minimise (m, &r, scale);
    rows_clear (&r);
    r = rows_make (m, w);
    squares = judge (m, w, &r);
    rows_clear (&r);
    free (scale);
    return squares;
}

/* Notes: an edge can be removed in two ways: its two vertices become one, or
 * paths use the next shortest path between them. In both cases a combination of
 * edges that was free is forced to 0: the edge, or that path minus the edge.
 * Let its value be v, and its variance c times that of a pair (from the inverse
 * of the normal equations). Then the sum of squares grows by v^2 / c (Wald's
 * test), if all other paths stay the same; this already includes that the other
 * edges adapt. The edge that costs least is removed first, and then all costs
 * are computed again.
 */

enum { SWITCHES_MAX = 512 };

#define LOOSE 1e-6 /* weight, in pairs, that keeps an edge at its value */
#define FIXED 1e9  /* the same for an edge of length 0 */

struct pruning {
    struct topology_model *m;
    const struct infer_matrix *w;
    uint32_t n;       /* switches */
    double *d;        /* [nnodes * nvertices] */
    uint32_t *last;   /* the same */
    double *variance; /* [nedges * nedges] covariances of edges; unit: the
                         variance of a pair */
    size_t *edge;     /* [n * n] between two switches; nedges: none */
    double *way;      /* [n] */
    uint32_t *before; /* [n] */
    bool *done;       /* [n] */
    size_t *path;     /* [nedges] edges of a path */
};

/* The cost of removing an edge, as a sum of squares, and how it is removed. */
struct edge_loss {
    double square;
    bool unite; /* its vertices become one */
};

/* The normal equations: for two edges, the number of measured pairs that cross
 * both.
 */
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

/* Return 0, or -1 if the equations are singular. Edges that the pairs do not
 * determine get a large variance.
 */
static int find_variances (struct pruning *p)
{
    const struct topology_model *m = p->m;
    size_t n = m->nedges;
    double *u;

    free (p->variance);
    p->variance = linalg_matrix (n);
    fill_normal (p);
    for (size_t i = 0; i < n; i++)
        p->variance[i * n + i] += m->edge[i].latency_ns > 0 ? LOOSE : FIXED;
    if (linalg_cholesky (p->variance, n) < 0)
        return -1;
    u = linalg_invert_factor (p->variance, n);
    free (p->variance);
    p->variance = linalg_inverse (u, n);
    free (u);
    return 0;
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

/* Length of the shortest path from switch a to b that does not use their own
 * edge. Its switches are in `before`, starting from b.
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
            if (!p->done[v] && (at == TOPOLOGY_NONE || p->way[v] < p->way[at]))
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

/* Variance of that other path minus edge i. */
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

static struct edge_loss loss_of (struct pruning *p, size_t i)
{
    const struct topology_edge *e = &p->m->edge[i];
    uint32_t a = e->a - p->m->nnodes, b = e->b - p->m->nnodes;
    double more = fmax (other_way (p, a, b) - e->latency_ns, 0);
    struct edge_loss loss = {
        e->latency_ns * e->latency_ns / p->variance[i * (p->m->nedges + 1)],
        true,
    };

    if (isfinite (more)) {
        double square = more * more / other_variance (p, i, a, b);

        if (square <= loss.square)
            loss = (struct edge_loss){ square, false };
    }
    return loss;
}

/* Remove edge i, or unite its two vertices. */
static void take (struct topology_model *m, size_t i, bool unite)
{
    struct topology_edge *e = &m->edge[i];

    if (unite) {
        e->latency_ns = 0; /* topology_normal unites them */
        return;
    }
    memmove (e, e + 1, (m->nedges - i - 1) * sizeof (*e));
    m->nedges--;
}

/* Remove the edge that costs least, if that is at most `most`. Returns whether
 * there was one.
 */
static bool prune_one (struct pruning *p, double most)
{
    struct topology_model *m = p->m;
    struct edge_loss least = { INFINITY, false };
    size_t best = m->nedges;

    topology_paths (m, p->d, p->last);
    if (find_variances (p) < 0)
        return false;
    fill_edges (p);
    for (size_t i = 0; i < m->nedges; i++) {
        struct edge_loss loss;

        if (m->edge[i].a < m->nnodes || !(m->edge[i].latency_ns > 0))
            continue;
        loss = loss_of (p, i);
        if (loss.square < least.square) {
            least = loss;
            best = i;
        }
    }
    if (best == m->nedges || least.square > most)
        return false;
    take (m, best, least.unite);
    return true;
}

void prune (struct topology_model *m, const struct infer_matrix *w,
            double squares, double digits)
{
    uint32_t n = m->nvertices - m->nnodes;
    size_t size = (size_t)m->nnodes * m->nvertices;
    double most = 2 * digits * squares / (double)(m->dof ? m->dof : 1);
    struct pruning p = { .m = m, .w = w, .n = n };

    if (n < 2 || n > SWITCHES_MAX)
        return;
    p.d = xarray (size, sizeof (*p.d));
    p.last = xarray (size, sizeof (*p.last));
    p.edge = xarray ((size_t)n * n, sizeof (*p.edge));
    p.way = xarray (n, sizeof (*p.way));
    p.before = xarray (n, sizeof (*p.before));
    p.done = xarray (n, sizeof (*p.done));
    p.path = xarray (m->nedges, sizeof (*p.path));
    for (size_t edges = m->nedges; edges > 0 && prune_one (&p, most); edges--)
        ;
    free (p.d);
    free (p.last);
    free (p.variance);
    free (p.edge);
    free (p.way);
    free (p.before);
    free (p.done);
    free (p.path);
}

/* Whether the residuals of a model are noise.
 *
 * Notes: if the model lacks a switch or an edge, or has a node at the wrong
 * switch, some nodes are nearer to each other than in the model. (Nodes that
 * are farther apart show less: of two paths of equal length, the model uses the
 * one that noise makes shorter.) The sum of k values of noise is below -z sigma
 * sqrt (k) with a probability of less than exp (-z^2 / 2). So of all patterns
 * that take d digits to name, one in exp (z^2 / 2 - d) is. The patterns are:
 *
 * - blocks: the nodes at one switch, or one node, and the nodes at another.
 *
 * - groups: pairs within groups of nodes. There may be a single group of two
 *   nodes, or all nodes may be in groups. They are found by average linkage and
 *   then improved node by node. Their description takes log (n over m) digits
 *   for the m nodes that are in a group, m log g - log g! for the assignment of
 *   these to g groups, and log (k (k + 1)) for each of the numbers k = g and k
 *   = m - 2 g + 1.
 */

enum { SWEEPS = 50 };

struct leftover {
    uint32_t n;      /* nodes */
    double *left;    /* [n * n] residuals over their standard deviation; 0: not
                        known */
    double sd, most; /* ns: standard deviation; greatest residual */
    uint8_t *known;  /* [n * n] */
    uint32_t *at;    /* [n] the vertex of a node: its switch, or itself */
    uint32_t nvertices;
};

/* Groups of nodes. Groups have numbers below n; some numbers are not used. */
struct partition {
    uint32_t *of, *size;   /* [n] */
    uint32_t n, members;   /* groups of two or more; nodes in these */
    double sum, pairs;     /* within these groups */
    double *sums, *counts; /* [n] scratch: a node's pairs, by group */
};

static void fill_left (struct leftover *k, const struct topology_model *m,
                       const struct infer_matrix *w)
{
    double *d = xarray ((size_t)m->nnodes * m->nvertices, sizeof (*d));
    double sum = 0, known = 0;

    topology_paths (m, d, NULL);
    for (uint32_t a = 0; a < k->n; a++)
        for (uint32_t b = 0; b < k->n; b++) {
            size_t i = (size_t)a * k->n + b;
            double ns = infer_matrix_at (w, a, b);

            if (a == b || isnan (ns))
                continue;
            k->left[i] = ns - d[(size_t)a * m->nvertices + b];
            k->known[i] = 1;
            k->most = fmax (k->most, fabs (k->left[i]));
            sum += k->left[i] * k->left[i];
            known++;
        }
    k->sd = sqrt (sum / fmax (known, 1));
    for (size_t i = 0; sum > 0 && i < (size_t)k->n * k->n; i++)
        k->left[i] /= k->sd;
    free (d);
}

/* Keep a pattern that saves more digits than the best so far. */
static void keep (struct rest *rest, double digits, double ns)
{
    if (digits > rest->digits) {
        rest->digits = digits;
        rest->ns = ns;
    }
}

/* Blocks: rows are the nodes of one value of `of`, columns the nodes at one
 * vertex.
 */
static void look_blocks (const struct leftover *k, const uint32_t *of,
                         struct rest *rest)
{
    uint32_t nv = k->nvertices;
    double *sum = xcalloc ((size_t)nv * nv, sizeof (*sum));
    double *count = xcalloc ((size_t)nv * nv, sizeof (*count));
    double blocks = 0;

    for (uint32_t a = 0; a < k->n; a++)
        for (uint32_t b = 0; b < k->n; b++) {
            size_t i = (size_t)of[a] * nv + k->at[b];

            /* within a switch each pair is there twice */
            if (of[a] == k->at[b] && b < a)
                continue;
            sum[i] += k->left[(size_t)a * k->n + b];
            count[i] += k->known[(size_t)a * k->n + b];
        }
    for (size_t i = 0; i < (size_t)nv * nv; i++)
        blocks += count[i] > 0;
    for (size_t i = 0; i < (size_t)nv * nv; i++)
        if (count[i] > 0 && sum[i] < 0)
            keep (rest, sum[i] * sum[i] / (2 * count[i]) - log (blocks),
                  -sum[i] / count[i] * k->sd);
    free (count);
    free (sum);
}

/* Digits that naming the groups saves. */
static double saved (uint32_t n, const struct partition *g)
{
    double ng = g->n, m = g->members, more = m - 2 * ng + 1;

    if (!(g->sum < 0))
        return 0;
    return g->sum * g->sum / (2 * g->pairs)
           - (lgamma (n + 1.0) - lgamma (m + 1) - lgamma (n - m + 1))
           - (m * log (ng) - lgamma (ng + 1)) - log (ng * (ng + 1))
           - log (more * (more + 1));
}

static void resize (struct partition *g, uint32_t group, int64_t by)
{
    uint32_t old = g->size[group], new = (uint32_t)(old + by);

    g->n += (new > 1) - (old > 1);
    g->members += (new > 1 ? new : 0) - (old > 1 ? old : 0);
    g->size[group] = new;
}

/* Sums and counts of a node's pairs, by the groups of the other nodes. */
static void sum_pairs (const struct leftover *k, struct partition *g,
                       uint32_t a)
{
    memset (g->sums, 0, k->n * sizeof (*g->sums));
    memset (g->counts, 0, k->n * sizeof (*g->counts));
    for (uint32_t b = 0; b < k->n; b++) {
        g->sums[g->of[b]] += k->left[(size_t)a * k->n + b];
        g->counts[g->of[b]] += k->known[(size_t)a * k->n + b];
    }
}

/* Move a node to another group; sum_pairs was called for it. */
static void move (struct partition *g, uint32_t a, uint32_t to)
{
    uint32_t from = g->of[a];

    g->sum += g->sums[to] - g->sums[from];
    g->pairs += g->counts[to] - g->counts[from];
    resize (g, from, -1);
    resize (g, to, 1);
    g->of[a] = to;
}

static void unite (const struct leftover *k, struct partition *g,
                   const struct merge *merge)
{
    for (uint32_t a = 0; a < k->n; a++)
        if (g->of[a] == merge->b) {
            sum_pairs (k, g, a);
            move (g, a, merge->a);
        }
}

/* Start with each node alone, and apply the first merges. */
static void begin (const struct leftover *k, struct partition *g,
                   const struct merge *merge, uint32_t merges)
{
    g->n = g->members = 0;
    g->sum = g->pairs = 0;
    for (uint32_t a = 0; a < k->n; a++) {
        g->of[a] = a;
        g->size[a] = 1;
    }
    for (uint32_t i = 0; i < merges; i++)
        unite (k, g, &merge[i]);
}

/* Start with the number of merges that saves the most digits. */
static void cut_best (const struct leftover *k, struct partition *g,
                      const struct merge *merge, uint32_t merges)
{
    double most = 0;
    uint32_t best = 0;

    begin (k, g, merge, 0);
    for (uint32_t i = 0; i < merges && merge[i].mean < 0; i++) {
        unite (k, g, &merge[i]);
        if (saved (k->n, g) > most) {
            most = saved (k->n, g);
            best = i + 1;
        }
    }
    begin (k, g, merge, best);
}

/* Move a node to the group, or to a new one, for which this saves the most
 * digits. Returns whether the node was moved.
 */
static bool move_best (const struct leftover *k, struct partition *g,
                       uint32_t a)
{
    uint32_t from = g->of[a], best = from;
    double most = saved (k->n, g) * (1 + 1e-9);
    bool empty = false;

    sum_pairs (k, g, a);
    for (uint32_t to = 0; to < k->n; to++) {
        if (to == from || (g->size[to] == 0 && empty))
            continue;
        empty = empty || g->size[to] == 0;
        move (g, a, to);
        if (saved (k->n, g) > most) {
            most = saved (k->n, g);
            best = to;
        }
        move (g, a, from);
    }
    if (best != from)
        move (g, a, best);
    return best != from;
}

static void improve (const struct leftover *k, struct partition *g)
{
    bool moved = g->n > 0;

    for (int i = 0; i < SWEEPS && moved; i++) {
        moved = false;
        for (uint32_t a = 0; a < k->n; a++)
            moved = move_best (k, g, a) || moved;
    }
}

static void look_groups (const struct leftover *k, struct rest *rest)
{
    uint32_t n = k->n;
    size_t size = (size_t)n * n;
    struct partition g = {
        .of = xarray (n, sizeof (*g.of)),
        .size = xarray (n, sizeof (*g.size)),
        .sums = xarray (n, sizeof (*g.sums)),
        .counts = xarray (n, sizeof (*g.counts)),
    };
    struct merge *merge = xarray (n, sizeof (*merge));
    double *sum = xarray (size, sizeof (*sum));
    double *weight = xarray (size, sizeof (*weight));

    for (size_t i = 0; i < size; i++) {
        sum[i] = k->left[i];
        weight[i] = k->known[i];
    }
    cut_best (k, &g, merge, linkage (n, sum, weight, merge));
    improve (k, &g);
    if (g.sum < 0)
        keep (rest, saved (n, &g), -g.sum / g.pairs * k->sd);
    free (g.of);
    free (g.size);
    free (g.sums);
    free (g.counts);
    free (merge);
    free (sum);
    free (weight);
}

struct rest rest_of (const struct topology_model *m,
                     const struct infer_matrix *w)
{
    uint32_t n = m->nnodes;
    struct leftover k = {
        .n = n,
        .left = xcalloc ((size_t)n * n, sizeof (*k.left)),
        .known = xcalloc ((size_t)n * n, sizeof (*k.known)),
        .at = xarray (n, sizeof (*k.at)),
        .nvertices = m->nvertices,
    };
    uint32_t *self = xarray (n, sizeof (*self));
    struct rest rest = { 0 };

    fill_left (&k, m, w);
    rest.most = k.most;
    for (uint32_t a = 0; a < n; a++)
        k.at[a] = self[a] = a;
    for (size_t i = 0; i < m->nedges; i++)
        if (m->edge[i].a < n && m->edge[i].b >= n)
            k.at[m->edge[i].a] = m->edge[i].b;
    look_blocks (&k, k.at, &rest);
    look_blocks (&k, self, &rest);
    look_groups (&k, &rest);
    free (k.left);
    free (k.known);
    free (k.at);
    free (self);
    return rest;
}
