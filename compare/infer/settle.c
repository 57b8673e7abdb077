/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Least squares for the edges of a model, from their present values.
 *
 * Notes: conjugate gradients on the normal equations (CGLS), with unknowns
 * scaled by the number of their rows. They converge to the minimum nearest to
 * the start, so a matrix without full rank needs no special treatment.
 */
#include "config.h"
#include "compare/infer/steps.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/linear/linalg.h"
#include "util/alloc.h"

enum { ITERATIONS = 300 };

#define ENOUGH 1e-18 /* of the sum of squared latencies: stop when a step gains
                        less */

/* The measured pairs' paths. */
struct path_rows {
    struct csr edges; /* by pair */
    double *rest;     /* [pairs] measured minus the path's length */
    double enough;    /* a sum of squares */
    bool apart;       /* some nodes are not joined */
};

static void rows_clear (struct path_rows *r)
{
    csr_clear (&r->edges);
    free (r->rest);
}

static struct path_rows rows_make (const struct topology_model *m,
                                   const struct infer_matrix *w)
{
    size_t n = m->nnodes, nv = m->nvertices, pairs = n * (n - 1) / 2, at = 0;
    double *d = xarray (n * nv, sizeof (*d));
    uint32_t *last = xarray (n * nv, sizeof (*last));
    struct path_rows r = { .rest = xarray (pairs, sizeof (*r.rest)) };
    struct csr *c = &r.edges;

    c->start = xcalloc (pairs + 1, sizeof (*c->start));
    topology_paths (m, d, last);
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = a + 1; b < n; b++) {
            const uint32_t *up = last + a * nv;
            double ns = infer_matrix_at (w, a, b);

            if (isinf (d[a * nv + b]))
                r.apart = true;
            if (isnan (ns) || isinf (d[a * nv + b]))
                continue;
            r.enough += ENOUGH * ns * ns;
            r.rest[c->n] = ns - d[a * nv + b];
            for (uint32_t v = b; v != a; v = up[v]) {
                c->v = xgrow (c->v, at, sizeof (*c->v));
                c->v[at++] = topology_edge_of (m, v, up[v]);
            }
            c->start[++c->n] = at;
        }
    free (d);
    free (last);
    return r;
}

/* How many rows each edge is in. The caller frees the list. */
static double *count_rows (const struct topology_model *m,
                           const struct path_rows *r)
{
    double *count = xcalloc (m->nedges, sizeof (*count));

    for (size_t k = 0; k < r->edges.start[r->edges.n]; k++)
        count[r->edges.v[k]]++;
    return count;
}

/* Remove the edges that are in no row. Returns whether there were any. */
static bool drop_unused (struct topology_model *m, const struct path_rows *r)
{
    double *used = count_rows (m, r);
    size_t kept = 0, before = m->nedges;

    for (size_t e = 0; e < before; e++)
        if (used[e] > 0)
            m->edge[kept++] = m->edge[e];
    m->nedges = kept;
    free (used);
    return kept < before;
}

static double times (const struct path_rows *r, size_t i, const double *x)
{
    double sum = 0;

    for (size_t k = r->edges.start[i]; k < r->edges.start[i + 1]; k++)
        sum += x[r->edges.v[k]];
    return sum;
}

/* The gradient, divided by the edges' rows. Returns its square. */
static double gradient (const struct path_rows *r, const double *count,
                        size_t n, double *s)
{
    double sum = 0;

    memset (s, 0, n * sizeof (*s));
    for (size_t i = 0; i < r->edges.n; i++)
        for (size_t k = r->edges.start[i]; k < r->edges.start[i + 1]; k++)
            s[r->edges.v[k]] += r->rest[i];
    for (size_t e = 0; e < n; e++) {
        double scale = count[e] > 0 ? 1 / count[e] : 0;

        sum += s[e] * s[e] * scale;
        s[e] *= scale;
    }
    return sum;
}

static void minimise (struct topology_model *m, struct path_rows *r)
{
    size_t n = m->nedges;
    double *count = count_rows (m, r);
    double *p = xarray (n, sizeof (*p)), *s = xarray (n, sizeof (*s));
    double old = gradient (r, count, n, p);

    for (int i = 0; i < ITERATIONS; i++) {
        double length = 0, step, new;

        for (size_t k = 0; k < r->edges.n; k++)
            length += pow (times (r, k, p), 2);
        if (!(length > 0))
            break;
        step = old / length;
        for (size_t e = 0; e < n; e++)
            m->edge[e].latency_ns += step * p[e];
        for (size_t k = 0; k < r->edges.n; k++)
            r->rest[k] -= step * times (r, k, p);
        new = gradient (r, count, n, s);
        for (size_t e = 0; e < n; e++)
            p[e] = s[e] + new / old * p[e];
        old = new;
        if (step * step * length <= r->enough)
            break;
    }
    for (size_t e = 0; e < n; e++)
        m->edge[e].latency_ns = fmax (0, m->edge[e].latency_ns);
    free (count);
    free (p);
    free (s);
}

double settle (struct topology_model *m, const struct infer_matrix *w)
{
    struct path_rows r = rows_make (m, w);
    double squares = 0;

    if (drop_unused (m, &r)) {
        rows_clear (&r);
        r = rows_make (m, w);
    }
    minimise (m, &r);
    rows_clear (&r);
    r = rows_make (m, w);
    for (size_t i = 0; i < r.edges.n; i++)
        squares += r.rest[i] * r.rest[i];
    m->dof = r.edges.n > m->nedges ? r.edges.n - m->nedges : 0;
    m->noise_ns = m->dof ? sqrt (squares / (double)m->dof) : 0;
    if (r.apart)
        squares = INFINITY;
    rows_clear (&r);
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

/* The covariances of edges [nedges * nedges], in variances of a pair; NULL: the
 * equations are singular. Edges that the pairs do not determine get a large
 * variance.
 */
static double *find_variances (const struct topology_model *m,
                               const struct infer_matrix *w)
{
    struct path_rows r = rows_make (m, w);
    size_t n = m->nedges;
    double *normal = linalg_matrix (n), *inverse = NULL, *u;

    /* the number of pairs that cross both of two edges */
    for (size_t i = 0; i < r.edges.n; i++) {
        const uint32_t *end = r.edges.v + r.edges.start[i + 1];

        for (const uint32_t *e = r.edges.v + r.edges.start[i]; e < end; e++)
            for (const uint32_t *f = r.edges.v + r.edges.start[i]; f < end;
                 f++)
                normal[*e * n + *f]++;
    }
    for (size_t i = 0; i < n; i++)
        normal[i * n + i] += m->edge[i].latency_ns > 0 ? LOOSE : FIXED;
    if (linalg_cholesky (normal, n) == 0) {
        u = linalg_invert_factor (normal, n);
        inverse = linalg_inverse (u, n);
        free (u);
    }
    free (normal);
    rows_clear (&r);
    return inverse;
}

/* Variance of the path `last` to b minus edge i, which starts where it starts.
 */
static double other_variance (const struct topology_model *m,
                              const double *variance, size_t i,
                              const uint32_t *last)
{
    size_t *path = xarray (m->nvertices, sizeof (*path)), n = 1;
    double sum = 0;

    path[0] = i;
    for (uint32_t v = m->edge[i].b; v != m->edge[i].a; v = last[v])
        path[n++] = topology_edge_of (m, v, last[v]);
    for (size_t j = 0; j < n; j++)
        for (size_t k = 0; k < n; k++)
            sum += ((j == 0) == (k == 0) ? 1 : -1)
                   * variance[path[j] * m->nedges + path[k]];
    free (path);
    return sum;
}

/* Remove the edge that costs least, if that is at most `most`, or unite its
 * vertices. Returns whether there was one.
 */
static bool prune_one (struct topology_model *m, const struct infer_matrix *w,
                       double most)
{
    double *variance = find_variances (m, w), least = INFINITY;
    double *d = xarray (m->nvertices, sizeof (*d));
    uint32_t *last = xarray (m->nvertices, sizeof (*last));
    size_t best = m->nedges, first = 0;
    bool unite = false;
    struct csr between;

    while (first < m->nedges && m->edge[first].a < m->nnodes)
        first++;
    between = topology_edges (m, first);
    for (size_t i = first; variance && i < m->nedges; i++) {
        const struct topology_edge *e = &m->edge[i];
        double ns = e->latency_ns, loss, more;
        bool by_union = true;

        if (!(ns > 0))
            continue;
        loss = ns * ns / variance[i * (m->nedges + 1)];
        topology_paths_from (m, &between, i, e->a, d, last);
        if (isfinite (d[e->b])) {
            more = fmax (d[e->b] - ns, 0);
            more *= more / other_variance (m, variance, i, last);
            by_union = more > loss;
            loss = by_union ? loss : more;
        }
        if (loss < least) {
            least = loss;
            best = i;
            unite = by_union;
        }
    }
    csr_clear (&between);
    free (variance);
    free (d);
    free (last);
    if (best == m->nedges || least > most)
        return false;
    if (unite) {
        m->edge[best].latency_ns = 0; /* topology_normal unites them */
        return true;
    }
    m->nedges--;
    memmove (&m->edge[best], &m->edge[best + 1],
             (m->nedges - best) * sizeof (*m->edge));
    return true;
}

void prune (struct topology_model *m, const struct infer_matrix *w,
            double squares, double digits)
{
    uint32_t n = m->nvertices - m->nnodes;
    double most = 2 * digits * squares / (double)(m->dof ? m->dof : 1);

    if (n < 2 || n > SWITCHES_MAX)
        return;
    for (size_t edges = m->nedges; edges > 0 && prune_one (m, w, most);
         edges--)
        ;
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
 *   nodes, or all nodes may be in groups. They are found by average linkage.
 *   Their description takes log (n over m) digits for the m nodes that are in a
 *   group, m log g - log g! for the assignment of these to g groups, and log (k
 *   (k + 1)) for each of the numbers k = g and k = m - 2 g + 1.
 */

struct leftover {
    uint32_t n;     /* nodes */
    double *left;   /* [n * n] residuals over their standard deviation; 0: not
                       known */
    double *known;  /* [n * n] 1; 0: not known */
    double sd;      /* ns: standard deviation */
    uint32_t nvertices;
    uint32_t *at;   /* [n] the vertex of a node: its switch, or itself */
    struct rest rest; /* of the best pattern so far */
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
    for (size_t i = 0; i < (size_t)k->n * k->n; i++) {
        if (i % (k->n + 1) == 0 || isnan (w->ns[i]))
            continue;
        k->left[i] = w->ns[i] - d[i / k->n * m->nvertices + i % k->n];
        k->known[i] = 1;
        k->rest.most = fmax (k->rest.most, fabs (k->left[i]));
        sum += k->left[i] * k->left[i];
        known++;
    }
    k->sd = sqrt (sum / fmax (known, 1));
    for (size_t i = 0; sum > 0 && i < (size_t)k->n * k->n; i++)
        k->left[i] /= k->sd;
    free (d);
}

/* Keep a pattern that saves more digits than the best so far. */
static void keep (struct leftover *k, double digits, double mean)
{
    if (digits > k->rest.digits) {
        k->rest.digits = digits;
        k->rest.ns = -mean * k->sd;
    }
}

/* Blocks: rows are the nodes of one value of `of`, columns the nodes at one
 * vertex.
 */
static void look_blocks (struct leftover *k, const uint32_t *of)
{
    size_t nv = k->nvertices;
    double *sum = xcalloc (nv * nv, sizeof (*sum));
    double *count = xcalloc (nv * nv, sizeof (*count));
    double blocks = 0;

    for (uint32_t a = 0; a < k->n; a++)
        for (uint32_t b = 0; b < k->n; b++) {
            size_t i = of[a] * nv + k->at[b];

            /* within a switch each pair is there twice */
            if (of[a] == k->at[b] && b < a)
                continue;
            sum[i] += k->left[(size_t)a * k->n + b];
            count[i] += k->known[(size_t)a * k->n + b];
        }
    for (size_t i = 0; i < nv * nv; i++)
        blocks += count[i] > 0;
    for (size_t i = 0; i < nv * nv; i++)
        if (count[i] > 0 && sum[i] < 0)
            keep (k, sum[i] * sum[i] / (2 * count[i]) - log (blocks),
                  sum[i] / count[i]);
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

/* Start with each node alone, and apply the first merges, as long as their mean
 * is below 0. Returns after how many of them the most digits are saved.
 */
static uint32_t apply (const struct leftover *k, struct partition *g,
                       const struct merge *merge, uint32_t merges)
{
    uint32_t best = 0;
    double most = 0;

    g->n = g->members = 0;
    g->sum = g->pairs = 0;
    for (uint32_t a = 0; a < k->n; a++) {
        g->of[a] = a;
        g->size[a] = 1;
    }
    for (uint32_t i = 0; i < merges && merge[i].mean < 0; i++) {
        for (uint32_t a = 0; a < k->n; a++)
            if (g->of[a] == merge[i].b) {
                sum_pairs (k, g, a);
                move (g, a, merge[i].a);
            }
        if (saved (k->n, g) > most) {
            most = saved (k->n, g);
            best = i + 1;
        }
    }
    return best;
}

static void look_groups (struct leftover *k)
{
    uint32_t n = k->n, merges;
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

    memcpy (sum, k->left, size * sizeof (*sum));
    memcpy (weight, k->known, size * sizeof (*weight));
    merges = linkage (n, sum, weight, merge);
    apply (k, &g, merge, apply (k, &g, merge, merges));
    if (g.sum < 0)
        keep (k, saved (n, &g), g.sum / g.pairs);
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
    uint32_t n = m->nnodes, *self = xarray (n, sizeof (*self));
    struct leftover k = {
        .n = n,
        .left = xcalloc ((size_t)n * n, sizeof (*k.left)),
        .known = xcalloc ((size_t)n * n, sizeof (*k.known)),
        .nvertices = m->nvertices,
        .at = xarray (n, sizeof (*k.at)),
    };

    fill_left (&k, m, w);
    for (uint32_t a = 0; a < n; a++)
        k.at[a] = self[a] = a;
    for (size_t i = 0; i < m->nedges; i++)
        if (m->edge[i].a < n && m->edge[i].b >= n)
            k.at[m->edge[i].a] = m->edge[i].b;
    look_blocks (&k, k.at);
    look_blocks (&k, self);
    look_groups (&k);
    free (k.left);
    free (k.known);
    free (k.at);
    free (self);
    return k.rest;
}
