/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes. Exact: the inverse of the Cholesky factor of A' W A, times itself.
 *
 * Above that size, the most important variances are still exact: the unknowns
 * that have the greatest variances in a sketch get their own columns of C. So
 * the greatest standard error of all is not random, unless the sketch misses
 * it.
 */
#include "config.h"
#include "core/linear/lsq.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/linear/linalg.h"
#include "util/alloc.h"
#include "util/sort.h"

/* For columns of C: variances to about 0.2 %. */
#define COLUMN_TOLERANCE 3e-2

struct covariance {
    size_t n;
    double *inverse; /* [n * n], or NULL: */
    double *sketch;  /* [n * k] */
    size_t k;
    uint64_t seed;
    double *variance; /* [n] */
};

void covariance_destroy (struct covariance *c)
{
    int saved = errno;

    if (!c)
        return;
    free (c->inverse);
    free (c->sketch);
    free (c->variance);
    free (c);
    errno = saved;
}

static int invert (struct covariance *c, const struct sparse *a,
                   const double *w)
{
    double *k = linalg_matrix (c->n);
    double *u;
    int rc;

    for (size_t i = 0; i < a->nrows; i++)
        for (size_t p = a->start[i]; p < a->start[i + 1]; p++)
            for (size_t q = a->start[i]; q < a->start[i + 1]; q++)
                k[a->col[p] * c->n + a->col[q]]
                    += (w ? w[i] : 1) * a->value[p] * a->value[q];
    if ((rc = linalg_cholesky (k, c->n)) == 0) {
        u = linalg_invert_factor (k, c->n);
        c->inverse = linalg_inverse (u, c->n);
        free (u);
        for (size_t i = 0; i < c->n; i++)
            c->variance[i] = c->inverse[i * c->n + i];
    }
    free (k);
    return rc;
}

struct by_variance {
    double variance;
    size_t i;
};

static int compare_variances (const void *va, const void *vb)
{
    const struct by_variance *a = va;
    const struct by_variance *b = vb;

    return a->variance != b->variance ? util_compare (b->variance, a->variance)
                                      : util_compare (a->i, b->i);
}

/* Replace the greatest variances by those from columns of C. */
static int refine (struct covariance *c, const struct lsq *q, size_t worst)
{
    struct by_variance *order = xarray (c->n, sizeof (*order));
    double *b = xarray (2 * LSQ_LANES * c->n, sizeof (*b));
    double *x = b + LSQ_LANES * c->n;
    int rc = 0;

    for (size_t i = 0; i < c->n; i++)
        order[i] = (struct by_variance){ c->variance[i], i };
    qsort (order, c->n, sizeof (*order), compare_variances);
    worst = worst < c->n ? worst : c->n;
    for (size_t first = 0; first < worst && rc == 0; first += LSQ_LANES) {
        size_t lanes = worst - first < LSQ_LANES ? worst - first : LSQ_LANES;

        memset (b, 0, lanes * c->n * sizeof (*b));
        for (size_t l = 0; l < lanes; l++)
            b[l * c->n + order[first + l].i] = 1;
        rc = lsq_covariance (q, b, lanes, COLUMN_TOLERANCE, x);
        for (size_t l = 0; l < lanes && rc == 0; l++) {
            size_t i = order[first + l].i;

            c->variance[i] = x[l * c->n + i];
        }
    }
    free (order);
    free (b);
    return rc;
}

static int sketch (struct covariance *c, const struct lsq *q,
                   const struct covariance_options *opts)
{
    c->k = opts->sketch;
    c->seed = opts->seed;
    c->sketch = xarray (c->n, c->k * sizeof (*c->sketch));
    if (lsq_sketch (q, c->k, opts->seed, opts->tolerance, c->sketch) < 0)
        return -1;
    for (size_t i = 0; i < c->n; i++)
        c->variance[i]
            = linalg_dot (c->sketch + i * c->k, c->sketch + i * c->k, c->k)
              / (double)c->k;
    return refine (c, q, opts->worst);
}

struct covariance *covariance_create (const struct sparse *a, const double *w,
                                      const struct lsq *q,
                                      const struct covariance_options *opts)
{
    struct covariance *c = xcalloc (1, sizeof (*c));

    c->n = a->ncols;
    c->variance = xcalloc (c->n, sizeof (*c->variance));
    if ((c->n <= opts->exact ? invert (c, a, w) : sketch (c, q, opts)) < 0) {
        covariance_destroy (c);
        return NULL;
    }
    return c;
}

double covariance_variance (const struct covariance *c, size_t i)
{
    return c->variance[i];
}

double covariance_of (const struct covariance *c, const uint32_t *col,
                      const int8_t *value, size_t n)
{
    double sum = 0;

    if (c->sketch)
        return lsq_sketch_variance (c->sketch, c->k, col, value, n);
    for (size_t p = 0; p < n; p++)
        for (size_t q = 0; q < n; q++)
            sum += value[p] * value[q] * c->inverse[col[p] * c->n + col[q]];
    return fmax (sum, 0);
}

void covariance_redundancy (const struct covariance *c, const struct sparse *a,
                            const double *w, double *share)
{
    double *r = xarray (c->k, sizeof (*r));

    for (size_t i = 0; i < a->nrows; i++) {
        size_t first = a->start[i];

        if (c->sketch) {
            /* from residuals, small shares are as accurate as great ones */
            lsq_sketch_residual (a, w, c->sketch, c->k, c->seed, i, r);
            share[i] = fmin (linalg_dot (r, r, c->k) / (double)c->k, 1);
        }
        else {
            double h = covariance_of (c, a->col + first, a->value + first,
                                      a->start[i + 1] - first);

            share[i] = fmax (1 - h * (w ? w[i] : 1), 0);
        }
    }
    free (r);
}
