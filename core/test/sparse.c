/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sparse products and least squares say what dense arithmetic says. */
#include "config.h"
#include "core/linear/lsq.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "core/linear/linalg.h"
#include "core/linear/sparse.h"
#include "tests/tap.h"
#include "util/rng.h"

enum { COLUMNS = 90, ROWS = 150, ENTRIES = 5 };

static void *alloc (size_t n, size_t size)
{
    void *p = calloc (n + 1, size);

    if (!p)
        abort ();
    return p;
}

static double *alloc_doubles (size_t n)
{
    return alloc (n, sizeof (double));
}

/* Random rows; the first ones make the rank full. Weights within a factor of
 * ten.
 */
static struct sparse *random_rows (double *w, uint64_t seed)
{
    struct sparse *a = sparse_create (COLUMNS);
    struct rng rng;

    rng_seed (&rng, seed);
    for (uint32_t i = 0; i < ROWS; i++) {
        uint32_t col[COLUMNS];
        int8_t value[ENTRIES];

        for (uint32_t c = 0; c < COLUMNS; c++)
            col[c] = c;
        rng_shuffle (&rng, col, COLUMNS);
        for (int k = 0; k < ENTRIES; k++)
            value[k] = (int8_t)rng_below (&rng, 4) - 1;
        for (uint32_t c = 0; i < COLUMNS && c < COLUMNS; c++)
            if (col[c] == i) {
                col[c] = col[0];
                col[0] = i;
                value[0] = 2;
            }
        sparse_add (a, col, value, i % ENTRIES + 1);
        w[i] = 1 + 9 * rng_uniform (&rng);
    }
    return a;
}

static double *dense (const struct sparse *a)
{
    double *d = alloc_doubles (a->nrows * a->ncols);

    for (size_t i = 0; i < a->nrows; i++)
        for (size_t k = a->start[i]; k < a->start[i + 1]; k++)
            d[i * a->ncols + a->col[k]] += a->value[k];
    return d;
}

/* (A' W A)^-1, by linalg */
static double *dense_covariance (const struct sparse *a, const double *w)
{
    double *d = dense (a);
    double *k = linalg_matrix (a->ncols);
    double *c;

    if (!k)
        abort ();
    for (size_t i = 0; i < a->nrows; i++)
        for (size_t p = 0; p < a->ncols; p++)
            for (size_t q = 0; q < a->ncols; q++)
                k[p * a->ncols + q]
                    += w[i] * d[i * a->ncols + p] * d[i * a->ncols + q];
    if (linalg_cholesky (k, a->ncols) < 0
        || !(c = linalg_inverse (k, a->ncols)))
        abort ();
    free (d);
    free (k);
    return c;
}

static double distance (const double *x, const double *y, size_t n)
{
    double worst = 0;

    for (size_t i = 0; i < n; i++)
        worst = fmax (worst, fabs (x[i] - y[i]));
    return worst;
}

static void test_products (const struct sparse *a)
{
    double *d = dense (a);
    double *x = alloc_doubles (COLUMNS);
    double *y = alloc_doubles (ROWS);
    double *want = alloc_doubles (ROWS);

    for (size_t c = 0; c < COLUMNS; c++)
        x[c] = 1.0 / (double)(c + 1);
    for (size_t i = 0; i < ROWS; i++)
        want[i] = linalg_dot (d + i * COLUMNS, x, COLUMNS);
    sparse_times (a, x, y);
    ok (a->nrows == ROWS && distance (y, want, ROWS) < 1e-14, "A x");
    free (d);
    free (x);
    free (y);
    free (want);
}

static void test_solve (const struct sparse *a, const double *w,
                        const double *c)
{
    struct lsq *q = lsq_create (a, w);
    double *t = alloc_doubles (ROWS);
    double *b = alloc_doubles (COLUMNS);
    double *y = alloc_doubles (COLUMNS);
    double *want = alloc_doubles (COLUMNS);
    double scale = 0;
    int rc;

    for (size_t i = 0; i < ROWS; i++)
        t[i] = 1000 + (double)(i * i % 71);
    for (size_t i = 0; i < ROWS; i++)
        for (size_t k = a->start[i]; k < a->start[i + 1]; k++)
            b[a->col[k]] += w[i] * a->value[k] * t[i];
    for (size_t i = 0; i < COLUMNS; i++) {
        want[i] = linalg_dot (c + i * COLUMNS, b, COLUMNS);
        scale = fmax (scale, fabs (want[i]));
    }
    rc = lsq_solve (q, t, LSQ_EXACT, y);
    ok (rc == 0 && distance (y, want, COLUMNS) < 1e-12 * scale,
        "the minimum: off by %.0e of the greatest",
        distance (y, want, COLUMNS) / scale);
    y[3] += 100;
    ok (lsq_solve (q, t, LSQ_EXACT, y) == 0
            && distance (y, want, COLUMNS) < 1e-12 * scale,
        "from a guess as well");
    for (size_t i = 0; i < ROWS; i++)
        t[i] = 0;
    ok (lsq_solve (q, t, LSQ_EXACT, y) == 0
            && linalg_dot (y, y, COLUMNS) < 1e-18,
        "of nothing: 0");
    lsq_destroy (q);
    free (t);
    free (b);
    free (y);
    free (want);
}

static void test_covariance (const struct sparse *a, const double *w,
                             const double *c)
{
    enum { N = 11 }; /* more than lanes, and no multiple */
    struct lsq *q = lsq_create (a, w);
    double *b = alloc_doubles (N * COLUMNS);
    double *x = alloc_doubles (N * COLUMNS);
    double entry = 0;
    double variance = 0;

    for (size_t i = 0; i < N; i++)
        b[i * COLUMNS + 7 * i] = 1;
    ok (lsq_covariance (q, b, N, 1e-6, x) == 0, "columns of C");
    for (size_t i = 0; i < N; i++) {
        size_t j = 7 * i;

        entry = fmax (entry, distance (x + i * COLUMNS, c + j * COLUMNS,
                                       COLUMNS));
        variance = fmax (variance, fabs (x[i * COLUMNS + j]
                                         - c[j * COLUMNS + j]));
    }
    ok (entry < 1e-7 && variance < 1e-12,
        "entries off by %.0e, variances by its square, %.0e", entry,
        variance);
    lsq_destroy (q);
    free (b);
    free (x);
}

static void test_sketch (const struct sparse *a, const double *w,
                         const double *c)
{
    enum { K = 4096 };
    struct lsq *q = lsq_create (a, w);
    double *s = alloc_doubles (K * COLUMNS);
    double *again = alloc_doubles (K * COLUMNS);
    double chi2 = 0;
    double worst = 0;

    ok (lsq_sketch (q, K, 5, LSQ_FINE, s) == 0
            && lsq_sketch (q, K, 5, LSQ_FINE, again) == 0
            && distance (s, again, K * COLUMNS) == 0,
        "a sketch, the same for the same seed");
    for (uint32_t i = 0; i < COLUMNS; i++) {
        uint32_t col[2] = { i, (i + 31) % COLUMNS };
        int8_t value[2] = { 2, -1 };
        double want = 4 * c[i * COLUMNS + i]
                      + c[col[1] * COLUMNS + col[1]]
                      - 4 * c[i * COLUMNS + col[1]];
        double z = (lsq_sketch_variance (s, K, col, value, 2) / want - 1)
                   / sqrt (2.0 / K);

        chi2 += z * z / COLUMNS;
        worst = fmax (worst, fabs (z));
    }
    ok (chi2 < 1.6 && worst < 5,
        "variances scatter as stated: chi square %.2f, worst %.1f", chi2,
        worst);
    ok (lsq_sketch (q, LSQ_LANES, 6, LSQ_FINE, again) == 0
            && distance (s, again, LSQ_LANES) > 0,
        "another seed, other vectors");
    lsq_destroy (q);
    free (s);
    free (again);
}

/* Exact variances, and those of a sketch. */
static void test_variances (const struct sparse *a, const double *w,
                            const double *c)
{
    enum { K = 1024, WORST = 10 };
    static const struct covariance_options exact = { .exact = COLUMNS };
    static const struct covariance_options rough = {
        .sketch = K,
        .worst = WORST,
        .tolerance = LSQ_ROUGH,
        .seed = 3,
    };
    struct lsq *q = lsq_create (a, w);
    struct covariance *e = covariance_create (a, w, q, &exact);
    struct covariance *s = covariance_create (a, w, q, &rough);
    double *share = alloc_doubles (2 * ROWS);
    double dof[2] = { 0 };
    double off = 0;
    double ratio = 0;
    double most[2] = { 0 };
    double worst = 0;

    if (!e || !s)
        abort ();
    for (size_t i = 0; i < COLUMNS; i++) {
        off = fmax (off, fabs (covariance_variance (e, i)
                               - c[i * COLUMNS + i]));
        ratio += covariance_variance (s, i) / covariance_variance (e, i)
                 / COLUMNS;
        most[0] = fmax (most[0], covariance_variance (e, i));
        most[1] = fmax (most[1], covariance_variance (s, i));
    }
    ok (off < 1e-12, "variances as of the dense inverse");
    ok (fabs (ratio - 1) < 0.03 && fabs (most[1] / most[0] - 1) < 5e-3,
        "a sketch of %d: %.3f of them, %.4f of the greatest", K, ratio,
        most[1] / most[0]);
    covariance_redundancy (e, a, w, share);
    covariance_redundancy (s, a, w, share + ROWS);
    for (size_t i = 0; i < ROWS; i++) {
        dof[0] += share[i];
        dof[1] += share[ROWS + i];
        worst = fmax (worst, fabs (share[i] - share[ROWS + i]));
    }
    ok (fabs (dof[0] - (ROWS - COLUMNS)) < 1e-9
            && fabs (dof[1] / dof[0] - 1) < 0.02 && worst < 0.15,
        "the rows' redundancies sum up to rows - rank; by the sketch %.1f",
        dof[1]);
    covariance_destroy (e);
    covariance_destroy (s);
    covariance_destroy (NULL);
    lsq_destroy (q);
    free (share);
}

static void test_unhappy (void)
{
    static const uint32_t col[2] = { 0, 1 };
    static const int8_t value[2] = { 1, 1 };
    static const double bad[] = { 0, -1, NAN, INFINITY };
    struct sparse *a = sparse_create (3);
    struct lsq *q;
    double t[3] = { 1, 2, 0 };
    double y[3] = { 0 };

    for (int i = 0; i < 2; i++)
        sparse_add (a, col, value, 2);
    errno = 0;
    ok (!lsq_create (a, NULL) && errno == EDOM, "an empty column is refused");
    sparse_add (a, col + 1, value, 0);
    ok (a->nrows == 3 && a->start[3] == a->start[2], "an empty row is one");
    a->ncols = 2;
    for (size_t i = 0; i < sizeof (bad) / sizeof (bad[0]); i++) {
        double w[3] = { 1, bad[i], 1 };

        ok (!lsq_create (a, w) && errno == EDOM, "weight %g is refused",
            bad[i]);
    }
    /* singular, but the rows do not contradict that */
    q = lsq_create (a, NULL);
    ok (q && lsq_solve (q, t, LSQ_EXACT, y) == 0
            && fabs (y[0] + y[1] - 1.5) < 1e-14,
        "two rows of one kind: their mean");
    lsq_destroy (q);
    sparse_destroy (a);
    lsq_destroy (NULL);
    sparse_destroy (NULL);
}

int main (void)
{
    double w[ROWS];
    struct sparse *a = random_rows (w, 1);
    double *c = dense_covariance (a, w);

    test_products (a);
    test_solve (a, w, c);
    test_covariance (a, w, c);
    test_sketch (a, w, c);
    test_variances (a, w, c);
    test_unhappy ();
    sparse_destroy (a);
    free (c);
    return done_testing ();
}
