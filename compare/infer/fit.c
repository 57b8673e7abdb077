/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes: the rank is computed exactly, by elimination modulo a prime
 * (plan/rref). Least squares (linear/lsq) use its pivot columns, which are
 * independent. The other columns keep the model's values, on the other side of
 * the equation. An edge is determined if its row of the reduced form contains
 * only the edge.
 */
#include "config.h"
#include "compare/infer/fit.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "core/linear/lsq.h"
#include "core/linear/sparse.h"
#include "core/paths/paths.h"
#include "core/plan/rref.h"
#include "util/alloc.h"

enum {
    EXACT_MAX = 4096, /* edges whose standard errors are exact */
    SKETCH = 64,
    SEED = 1,
};

#define NONE UINT32_MAX

struct fitting {
    struct fit *fit;
    const struct topology_model *m;
    const struct infer_matrix *w;
    struct routes *routes;
    struct pathset *ps;
    struct rref *form;
    uint32_t *column;  /* [nedges] into the reduced matrix; NONE: free */
    size_t ncols;
    struct sparse *a;
    double *t;         /* [pairs] */
};

/* Call fn for the round trip of each pair that was measured and is connected.
 */
typedef void (*row_f) (struct fitting *w, const struct row *row, double ns);

static int each_pair (struct fitting *w, row_f fn, struct error *err)
{
    size_t n = w->w->n;
    struct row row;

    w->fit->apart = 0;
    for (size_t a = 0; a < n; a++)
        for (size_t b = a + 1; b < n; b++) {
            double ns = infer_matrix_at (w->w, a, b);

            if (isnan (ns))
                continue;
            if (isinf (routes_ns (w->routes, a, b))) {
                w->fit->apart++;
                continue;
            }
            if (pathset_row (w->ps, a, b, &row, err) < 0)
                return -1;
            fn (w, &row, 2 * ns);
        }
    return 0;
}

static void eliminate (struct fitting *w, const struct row *row, double ns)
{
    (void)ns;
    w->fit->pairs++;
    rref_add (w->form, row->link, row->count, row->n);
}

static int find_rank (struct fitting *w, struct error *err)
{
    struct fit *fit = w->fit;
    size_t n;

    w->form = rref_create (fit->nedges);
    if (each_pair (w, eliminate, err) < 0)
        return -1;
    rref_reduce (w->form);
    fit->rank = rref_rank (w->form);
    fit->dof = fit->pairs - fit->rank;
    for (uint32_t e = 0; e < fit->nedges; e++) {
        int i = rref_pivot (w->form, e);

        w->column[e] = i < 0 ? NONE : w->ncols++;
        fit->determined[e] = i >= 0 && (rref_row (w->form, i, &n), n == 1);
    }
    return 0;
}

static void add_row (struct fitting *w, const struct row *row, double ns)
{
    uint32_t col[ROW_MAX];
    int8_t value[ROW_MAX];
    size_t n = 0;

    for (size_t k = 0; k < row->n; k++) {
        uint32_t c = w->column[row->link[k]];

        if (c == NONE) {
            ns -= row->count[k] * w->m->edge[row->link[k]].latency_ns;
            continue;
        }
        col[n] = c;
        value[n++] = row->count[k];
    }
    w->t[w->a->nrows] = ns;
    sparse_add (w->a, col, value, n);
}

/* Sums of squares. Measured latencies are half round trips. */
static void judge_fit (struct fitting *w, const double *y)
{
    struct fit *fit = w->fit;
    double residual = 0, total = 0, mean = 0;
    size_t k = 0;

    for (size_t a = 0; a < w->w->n; a++)
        for (size_t b = a + 1; b < w->w->n; b++) {
            double ns = infer_matrix_at (w->w, a, b);

            if (isnan (ns) || isinf (routes_ns (w->routes, a, b)))
                continue;
            residual += pow ((w->t[k] - sparse_row_dot (w->a, k, y)) / 2, 2);
            k++;
            total += (ns - mean) * (ns - mean) * (double)(k - 1) / (double)k;
            mean += (ns - mean) / (double)k;
        }
    if (fit->dof == 0)
        return;
    fit->residual_ns = sqrt (residual / (double)fit->dof);
    if (!(total > 0))
        return;
    fit->r2 = 1 - residual / total;
    fit->r2_adjusted = 1 - residual / (double)fit->dof
                           / (total / (double)(fit->pairs - 1));
}

static int fit_rows (struct fitting *w, struct error *err)
{
    static const struct covariance_options exact = {
        .exact = EXACT_MAX, .sketch = SKETCH, .tolerance = LSQ_ROUGH,
        .seed = SEED,
    };
    struct fit *fit = w->fit;
    double *y = xcalloc (w->ncols, sizeof (*y));
    struct covariance *c = NULL;
    struct lsq *q = NULL;

    w->t = xcalloc (fit->pairs, sizeof (*w->t));
    w->a = sparse_create (w->ncols);
    if (each_pair (w, add_row, err) < 0)
        goto done;
    if ((q = lsq_create (w->a, NULL)) && lsq_solve (q, w->t, LSQ_EXACT, y) == 0
        && (c = covariance_create (w->a, NULL, q, &exact)))
        judge_fit (w, y);
    else
        error_errno (err, "the edges of the model cannot be fitted");
    for (size_t e = 0; c && e < fit->nedges; e++) {
        if (w->column[e] == NONE)
            continue;
        fit->latency_ns[e] = y[w->column[e]];
        if (fit->determined[e]) /* of one round trip: twice a latency */
            fit->stderr_ns[e] = sqrt (covariance_variance (c, w->column[e]))
                                * (2 * fit->residual_ns);
    }
done:
    free (y);
    lsq_destroy (q);
    covariance_destroy (c);
    return c ? 0 : -1;
}

int fit_model (struct fit *fit, const struct topology_model *m,
               const struct infer_matrix *w, struct error *err)
{
    size_t n = m->nedges;
    struct fitting work = { .fit = fit, .m = m, .w = w };
    int rc = -1;

    *fit = (struct fit){
        .nedges = n,
        .residual_ns = NAN,
        .r2 = NAN,
        .r2_adjusted = NAN,
        .latency_ns = xarray (n, sizeof (*fit->latency_ns)),
        .stderr_ns = xarray (n, sizeof (*fit->stderr_ns)),
        .determined = xcalloc (n, sizeof (*fit->determined)),
    };
    for (size_t e = 0; e < n; e++) {
        fit->latency_ns[e] = m->edge[e].latency_ns;
        fit->stderr_ns[e] = NAN;
    }
    work.column = xcalloc (n, sizeof (*work.column));
    work.routes = routes_create (m);
    work.ps = routes_nodes (work.routes, err);
    if (work.ps && find_rank (&work, err) == 0)
        rc = work.ncols > 0 ? fit_rows (&work, err) : 0;
    free (work.column);
    free (work.t);
    sparse_destroy (work.a);
    rref_destroy (work.form);
    pathset_destroy (work.ps);
    routes_destroy (work.routes);
    return rc;
}

void fit_clear (struct fit *fit)
{
    free (fit->latency_ns);
    free (fit->stderr_ns);
    free (fit->determined);
    *fit = (struct fit){ 0 };
}

void fit_apply (const struct fit *fit, struct topology_model *m)
{
    for (size_t e = 0; e < m->nedges; e++)
        m->edge[e].latency_ns = fmax (fit->latency_ns[e], 0);
}
