/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Latencies of a model's edges by least squares over the pairs' paths, and
 * which edges are needed.
 */
#include "config.h"
#include "compare/infer/steps.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "compare/infer/infer.h"
#include "core/linear/linalg.h"
#include "core/linear/lsq.h"
#include "core/linear/sparse.h"
#include "core/plan/rref.h"
#include "util/alloc.h"

enum {
    SWITCHES_MAX = 512, /* of a model that is pruned */
};

#define LOOSE 1e-6   /* weight, in pairs, that keeps an edge at its value */
#define FIXED 1e9    /* the same for an edge of length 0 */

/* The paths of the pairs that were measured and that the model joins. */
struct path_rows {
    struct csr edges; /* by pair */
    double *ns;       /* [pairs] measured */
    double *rest;     /* [pairs] measured minus the path's length */
    size_t apart;     /* pairs measured, but not joined */
    bool parted;      /* some nodes are not joined, measured or not */
};

static void rows_clear (struct path_rows *r)
{
    csr_clear (&r->edges);
    free (r->ns);
    free (r->rest);
}

static struct path_rows rows_make (const struct topology_model *m,
                                   const struct infer_matrix *w)
{
    size_t n = m->nnodes, nv = m->nvertices, pairs = n * (n - 1) / 2, at = 0;
    double *d = xarray (n * nv, sizeof (*d));
    uint32_t *last = xarray (n * nv, sizeof (*last));
    struct path_rows r = {
        .ns = xarray (pairs, sizeof (*r.ns)),
        .rest = xarray (pairs, sizeof (*r.rest)),
    };
    struct csr *c = &r.edges;

    c->start = xcalloc (pairs + 1, sizeof (*c->start));
    topology_paths (m, d, last);
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = a + 1; b < n; b++) {
            const uint32_t *up = last + a * nv;
            double ns = infer_matrix_at (w, a, b), path = d[a * nv + b];

            r.parted |= isinf (path);
            r.apart += isinf (path) && !isnan (ns);
            if (isnan (ns) || isinf (path))
                continue;
            r.ns[c->n] = ns;
            r.rest[c->n] = ns - path;
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

/*
 * The model's latencies: the minimum nearest to their present values, so a matrix
 * without full rank needs no special treatment.
 */

/* Remove the edges that are in no row. Returns whether there were any. */
static bool drop_unused (struct topology_model *m, const struct path_rows *r)
{
    bool *used = xcalloc (m->nedges, sizeof (*used));
    size_t kept = 0, before = m->nedges;

    for (size_t k = 0; k < r->edges.start[r->edges.n]; k++)
        used[r->edges.v[k]] = true;
    for (size_t e = 0; e < before; e++)
        if (used[e])
            m->edge[kept++] = m->edge[e];
    m->nedges = kept;
    free (used);
    return kept < before;
}

/* Find the change of the latencies that leaves least of the pairs' rest. A row of
 * its own keeps each edge, loosely, at its value.
 */
static void minimise (struct topology_model *m, const struct path_rows *r)
{
    size_t n = m->nedges, pairs = r->edges.n, rows = pairs + n;
    int8_t *one = memset (xarray (m->nvertices, 1), 1, m->nvertices);
    double *t = xcalloc (rows, sizeof (*t)), *y = xcalloc (n, sizeof (*y));
    double *weight = xarray (rows, sizeof (*weight));
    struct sparse *a = sparse_create (n);
    struct lsq *q;

    for (size_t i = 0; i < pairs; i++)
        sparse_add (a, r->edges.v + r->edges.start[i], one,
                    r->edges.start[i + 1] - r->edges.start[i]);
    for (uint32_t e = 0; e < n; e++)
        sparse_add (a, &e, one, 1);
    memcpy (t, r->rest, pairs * sizeof (*t));
    for (size_t i = 0; i < rows; i++)
        weight[i] = i < pairs ? 1 : LOOSE;
    q = n > 0 ? lsq_create (a, weight) : NULL;
    if (q && lsq_solve (q, t, LSQ_FINE, y) == 0)
        for (size_t e = 0; e < n; e++)
            m->edge[e].latency_ns = fmax (0, m->edge[e].latency_ns + y[e]);
    lsq_destroy (q);
    sparse_destroy (a);
    free (one);
    free (t);
    free (weight);
    free (y);
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
    if (r.parted)
        squares = INFINITY;
    rows_clear (&r);
    return squares;
}

/*
 * Edges that are not needed
 *
 * An edge can be removed in two ways: its two vertices become one, or
 * paths use the next shortest path between them. In both cases a combination of
 * edges that was free is forced to 0: the edge, or that path minus the edge.
 * Let its value be v, and its variance c times that of a pair (from the inverse
 * of the normal equations). Then the sum of squares grows by v^2 / c (Wald's
 * test), if all other paths stay the same; this already includes that the other
 * edges adapt. The edge that costs least is removed first, and then all costs
 * are computed again.
 */

/* The covariances of edges [nedges * nedges], in variances of a pair; NULL: the
 * equations are singular. Edges that the pairs do not determine get a large
 * variance.
 */
static double *find_variances (const struct topology_model *m,
                               const struct infer_matrix *w)
{
    struct path_rows r = rows_make (m, w);
    size_t n = m->nedges;
    double *normal = linalg_matrix (n), *inverse = NULL;

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
    if (linalg_cholesky (normal, n) == 0)
        inverse = linalg_inverse (normal, n);
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

/*
 * Whether the residuals of a model are noise
 *
 * If the model lacks a switch or an edge, or has a node at the wrong switch,
 * some nodes are nearer to each other than in the model. (Nodes that are
 * farther apart show less: of two paths of equal length, the model uses the one
 * that noise makes shorter.) The sum of k values of noise is below -z sigma
 * sqrt (k) with a probability of less than exp (-z^2 / 2). So of all patterns
 * that take d digits to name, one in exp (z^2 / 2 - d) is.
 *
 * The patterns are
 *
 * - blocks: the nodes at one switch, or one node, and the nodes at another.
 *
 * - groups: pairs within groups of nodes. There may be a single group of two
 *   nodes, or all nodes may be in groups. They are found by average linkage.
 */

struct residual {
    size_t n;         /* nodes */
    double *left;     /* [n * n] residuals; 0: not known */
    double *weight;   /* [n * n] 1; 0: not known */
    double variance;
    struct rest rest; /* of the best pattern so far */
};

/* A pattern of pairs: the sum of their residuals, and what naming it costs. */
static void check_residual_pattern (struct residual *k, double sum,
                                    double pairs, double name)
{
    double digits = sum * sum / (2 * pairs * k->variance) - name;

    if (sum < 0 && digits > k->rest.digits) {
        k->rest.digits = digits;
        k->rest.ns = -sum / pairs;
    }
}

/* Blocks: rows are the nodes of one value of `of`, columns the nodes of one
 * value of `at`; these are below nv.
 */
static void look_blocks (struct residual *k, const uint32_t *of,
                         const uint32_t *at, size_t nv)
{
    double *sum = xcalloc (nv * nv, sizeof (*sum));
    double *pairs = xcalloc (nv * nv, sizeof (*pairs));
    double blocks = 0;

    for (size_t a = 0; a < k->n; a++)
        for (size_t b = 0; b < k->n; b++) {
            /* within a switch each pair is there twice */
            if (of[a] == at[b] && b < a)
                continue;
            sum[of[a] * nv + at[b]] += k->left[a * k->n + b];
            pairs[of[a] * nv + at[b]] += k->weight[a * k->n + b];
        }
    for (size_t i = 0; i < nv * nv; i++)
        blocks += pairs[i] > 0;
    for (size_t i = 0; i < nv * nv; i++)
        check_residual_pattern (k, sum[i], pairs[i], log (blocks));
    free (pairs);
    free (sum);
}

/* The digits that name g groups of two or more among n nodes: log (n over m)
 * for the m nodes that are in one, m log g - log g! for their groups,
 * and log (k (k + 1)) for each of the numbers k = g and k = m - 2 g + 1.
 */
static double name_groups (double n, double g, double m)
{
    double more = m - 2 * g + 1;

    return lgamma (n + 1) - lgamma (m + 1) - lgamma (n - m + 1)
           + (m * log (g) - lgamma (g + 1)) + log (g * (g + 1))
           + log (more * (more + 1));
}

static void look_groups (struct residual *k)
{
    struct merge *merge = xarray (k->n, sizeof (*merge));
    uint32_t *size = xarray (k->n, sizeof (*size)), merges;
    double sum = 0, pairs = 0, groups = 0, members = 0;

    merges = linkage (k->n, k->left, k->weight, merge);
    for (size_t i = 0; i < k->n; i++)
        size[i] = 1;
    for (uint32_t i = 0; i < merges && merge[i].mean < 0; i++) {
        uint32_t a = merge[i].a, b = merge[i].b;
        int alone = (size[a] == 1) + (size[b] == 1);

        size[a] += size[b];
        groups += alone - 1;
        members += alone;
        sum += merge[i].mean * merge[i].pairs;
        pairs += merge[i].pairs;
        check_residual_pattern (k, sum, pairs,
                                name_groups ((double)k->n, groups, members));
    }
    free (merge);
    free (size);
}

struct rest rest_of (const struct topology_model *m,
                     const struct infer_matrix *w)
{
    size_t n = m->nnodes, nv = m->nvertices;
    double *d = xarray (n * nv, sizeof (*d)), known = 0;
    uint32_t *self = xarray (n, sizeof (*self)), *at = xarray (n, sizeof (*at));
    struct residual k = {
        .n = n, .left = xcalloc (n * n, sizeof (*k.left)),
        .weight = xcalloc (n * n, sizeof (*k.weight)),
    };

    topology_paths (m, d, NULL);
    for (size_t i = 0; i < n * n; i++) {
        if (i % (n + 1) == 0 || isnan (w->ns[i]))
            continue;
        k.left[i] = w->ns[i] - d[i / n * nv + i % n];
        k.weight[i] = 1;
        k.rest.most = fmax (k.rest.most, fabs (k.left[i]));
        k.variance += k.left[i] * k.left[i];
        known++;
    }
    k.variance /= known;
    for (size_t a = 0; a < n; a++)
        at[a] = self[a] = a;
    for (size_t i = 0; i < m->nedges; i++)
        if (m->edge[i].a < n && m->edge[i].b >= n)
            at[m->edge[i].a] = m->edge[i].b;
    look_blocks (&k, at, at, nv);
    look_blocks (&k, self, at, nv);
    look_groups (&k);
    free (k.left);
    free (k.weight);
    free (d);
    free (at);
    free (self);
    return k.rest;
}

/*
 * The final fit
 *
 * The rank is computed exactly, by elimination modulo a prime (plan/rref).
 * Least squares (linear/lsq) use its pivot columns, which are independent. The
 * other columns keep the model's values, on the other side of the equation. An
 * edge is determined if its row of the reduced form contains only the edge.
 */

/* The column of each edge among the pivots; UINT32_MAX: free. */
static uint32_t *find_pivot_columns (struct fit *fit, const struct path_rows *r)
{
    uint32_t *column = xarray (fit->nedges, sizeof (*column));
    uint8_t *one = memset (xarray (fit->nedges, 1), 1, fit->nedges);
    struct rref *form = rref_create (fit->nedges);
    size_t n, next = 0;

    for (size_t i = 0; i < r->edges.n; i++)
        rref_add (form, r->edges.v + r->edges.start[i], one,
                  r->edges.start[i + 1] - r->edges.start[i]);
    rref_reduce (form);
    fit->rank = rref_rank (form);
    for (uint32_t e = 0; e < fit->nedges; e++) {
        int i = rref_pivot (form, e);

        column[e] = i < 0 ? UINT32_MAX : next++;
        fit->determined[e] = i >= 0 && (rref_row (form, i, &n), n == 1);
    }
    rref_destroy (form);
    free (one);
    return column;
}

/* Sums of squares. */
static void judge_fit (struct fit *fit, const struct path_rows *r,
                       const struct sparse *a, const double *t,
                       const double *y)
{
    double residual = 0, total = 0, mean = 0, dof = (double)fit->dof;

    for (size_t i = 0; i < fit->pairs; i++) {
        residual += pow (t[i] - sparse_row_dot (a, i, y), 2);
        mean += r->ns[i] / (double)fit->pairs;
    }
    for (size_t i = 0; i < fit->pairs; i++)
        total += pow (r->ns[i] - mean, 2);
    if (fit->dof == 0)
        return;
    fit->residual_ns = sqrt (residual / dof);
    if (!(total > 0))
        return;
    fit->r2 = 1 - residual / total;
    fit->r2_adjusted
        = 1 - residual / dof / (total / (double)(fit->pairs - 1));
}

/* Fit the edges that have a column. */
static int fit_rows (struct fit *fit, struct topology_model *m,
                     const struct path_rows *r, const uint32_t *column,
                     struct error *err)
{
    static const struct covariance_options exact
        = { .exact = 4096, .sketch = 64, .tolerance = LSQ_ROUGH, .seed = 1 };
    uint32_t *col = xarray (m->nvertices, sizeof (*col));
    int8_t *one = memset (xarray (m->nvertices, 1), 1, m->nvertices);
    double *t = xarray (fit->pairs, sizeof (*t));
    double *y = xcalloc (fit->rank, sizeof (*y));
    struct sparse *a = sparse_create (fit->rank);
    struct covariance *c = NULL;
    struct lsq *q;

    for (size_t i = 0; i < fit->pairs; i++) {
        size_t n = 0;

        t[i] = r->ns[i];
        for (size_t k = r->edges.start[i]; k < r->edges.start[i + 1]; k++) {
            uint32_t e = r->edges.v[k];

            if (column[e] == UINT32_MAX)
                t[i] -= m->edge[e].latency_ns;
            else
                col[n++] = column[e];
        }
        sparse_add (a, col, one, n);
    }
    if ((q = lsq_create (a, NULL)) && lsq_solve (q, t, LSQ_EXACT, y) == 0
        && (c = covariance_create (a, NULL, q, &exact)))
        judge_fit (fit, r, a, t, y);
    else
        error_errno (err, "the edges of the model cannot be fitted");
    for (size_t e = 0; c && e < fit->nedges; e++) {
        if (column[e] == UINT32_MAX)
            continue;
        m->edge[e].latency_ns = fmax (y[column[e]], 0);
        if (fit->determined[e])
            fit->stderr_ns[e] = sqrt (covariance_variance (c, column[e]))
                                * fit->residual_ns;
    }
    free (col);
    free (one);
    free (t);
    free (y);
    sparse_destroy (a);
    lsq_destroy (q);
    covariance_destroy (c);
    return c ? 0 : -1;
}

int fit_model (struct fit *fit, struct topology_model *m,
               const struct infer_matrix *w, struct error *err)
{
    struct path_rows r = rows_make (m, w);
    size_t n = m->nedges;
    uint32_t *column;
    int rc;

    *fit = (struct fit){
        .pairs = r.edges.n, .apart = r.apart, .nedges = n, .residual_ns = NAN,
        .r2 = NAN, .r2_adjusted = NAN,
        .stderr_ns = xarray (n, sizeof (*fit->stderr_ns)),
        .determined = xcalloc (n, sizeof (*fit->determined)),
    };
    for (size_t e = 0; e < n; e++)
        fit->stderr_ns[e] = NAN;
    column = find_pivot_columns (fit, &r);
    fit->dof = fit->pairs - fit->rank;
    rc = fit->rank > 0 ? fit_rows (fit, m, &r, column, err) : 0;
    free (column);
    rows_clear (&r);
    return rc;
}

void fit_clear (struct fit *fit)
{
    free (fit->stderr_ns);
    free (fit->determined);
    *fit = (struct fit){ 0 };
}
