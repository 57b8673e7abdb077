/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Quantiles, robust spread, normal tails; dense matrices. */
#include "config.h"
#include "core/linear/stats.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/linear/linalg.h"
#include "tests/tap.h"
#include "util/rng.h"

static bool near (double a, double b)
{
    return fabs (a - b) <= 1e-9 * (1 + fabs (b));
}

static void test_quantiles (void)
{
    static const struct {
        double v[5];
        size_t n;
        double p;
        double expected;
    } tab[] = {
        { { 7 }, 1, 0, 7 },
        { { 7 }, 1, 0.95, 7 },
        { { 2, 1 }, 2, 0.5, 1.5 },
        { { 2, 1 }, 2, 0.25, 1.25 },
        { { 5, 1, 4, 2, 3 }, 5, 0, 1 },
        { { 5, 1, 4, 2, 3 }, 5, 0.25, 2 },
        { { 5, 1, 4, 2, 3 }, 5, 0.05, 1.2 },
        { { 5, 1, 4, 2, 3 }, 5, 1, 5 },
        { { 4, 4, 4, 9 }, 4, 0.75, 5.25 },
    };

    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++) {
        double v[5];

        for (size_t k = 0; k < tab[i].n; k++)
            v[k] = tab[i].v[k];
        stats_sort (v, tab[i].n);
        ok (near (stats_quantile (v, tab[i].n, tab[i].p), tab[i].expected),
            "quantile %g of %zu values is %g", tab[i].p, tab[i].n,
            tab[i].expected);
    }
}

static void test_robust (void)
{
    double v[1001];
    double centre;
    struct rng rng;

    rng_seed (&rng, 1);
    for (int i = 0; i < 1001; i++)
        v[i] = i % 10 ? 500 + 20 * rng_normal (&rng) : 1e9;
    centre = stats_median (v, 1001);
    ok (fabs (centre - 502.8) < 4, "a tenth of outliers: median %.1f",
        centre);
    centre = stats_mad (v, 1001, centre);
    ok (centre > 19 && centre < 25, "and 1.4826 MAD %.1f", centre);
    ok (fabs (stats_normal_two_sided (0.05) - 1.959964) < 1e-6
            && fabs (stats_normal_two_sided (1e-6) - 4.891638) < 1e-6,
        "normal tails");
}

/* A median is that of the sorted values, also of many that are alike. */
static void test_median (void)
{
    enum { N_MAX = 64, KINDS = 4 };
    double v[N_MAX], sorted[N_MAX];
    struct rng rng;
    int same = 0;

    rng_seed (&rng, 1);
    for (size_t n = 1; n <= N_MAX; n++)
        for (size_t kind = 0; kind < KINDS; kind++) {
            for (size_t i = 0; i < n; i++)
                sorted[i] = v[i]
                    = kind == 0   ? (double)i
                      : kind == 1 ? -(double)i
                                  : (double)rng_below (
                                        &rng, kind == 2 ? 3 : 1000);
            stats_sort (sorted, n);
            same += stats_median (v, n) == stats_quantile (sorted, n, 0.5);
            stats_sort (v, n);
            same += memcmp (v, sorted, n * sizeof (*v)) == 0;
        }
    ok (same == 2 * KINDS * N_MAX, "medians of 1 to %d values, which remain",
        N_MAX);
}

static void test_matrix (size_t n)
{
    double *a = linalg_matrix (n);
    double *l = linalg_matrix (n);
    double *x = malloc (n * sizeof (*x));
    double *inv;
    double worst = 0;
    struct rng rng;

    rng_seed (&rng, n);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++)
            a[i * n + j] = a[j * n + i] = rng_uniform (&rng) - 0.5;
        a[i * n + i] += n;
        x[i] = i % 7;
    }
    for (size_t i = 0; i < n * n; i++)
        l[i] = a[i];
    if (linalg_cholesky (l, n) < 0 || !(inv = linalg_inverse (l, n)))
        abort ();
    linalg_solve (l, n, x);
    for (size_t i = 0; i < n; i++) {
        double b = linalg_dot (a + i * n, x, n);

        worst = fmax (worst, fabs (b - (double)(i % 7)));
        for (size_t j = 0; j < n; j++)
            worst = fmax (worst, fabs (linalg_dot (a + i * n, inv + j * n, n)
                                       - (i == j)));
    }
    ok (worst < 1e-11, "%zu by %zu: solution and inverse to %.0e", n, n,
        worst);
    free (a);
    free (l);
    free (x);
    free (inv);
}

static void test_singular (void)
{
    double a[4] = { 1, 1, 1, 1 };
    double b[4] = { 1, 0, NAN, 1 };

    errno = 0;
    ok (linalg_cholesky (a, 2) < 0 && errno == EDOM, "singular: EDOM");
    ok (linalg_cholesky (b, 2) < 0, "not a number: refused");
    errno = 0;
}

/* As far as medians of normal values lie apart, and no further where one in
 * eight of these is an outlier.
 */
static void test_median_error (void)
{
    enum { TIMES = 2000, N = 101 };
    double squares = 0, error = 0, spoilt = 0;
    double v[N];
    struct rng rng;

    rng_seed (&rng, 1);
    for (int i = 0; i < TIMES; i++) {
        for (int k = 0; k < N; k++)
            v[k] = rng_normal (&rng);
        stats_sort (v, N);
        squares += pow (stats_quantile (v, N, 0.5), 2) / TIMES;
        error += stats_median_error (v, N) / TIMES;
        for (int k = 0; k < N / 8; k++)
            v[N - 1 - k] = 1e6;
        spoilt += stats_median_error (v, N) / TIMES;
    }
    ok (fabs (error / sqrt (squares) - 1) < 0.1,
        "standard error of the median: %g, medians are %g apart", error,
        sqrt (squares));
    ok (near (error, spoilt), "outliers do not change it");
    ok (isnan (stats_median_error (v, 1)), "one value tells none");
}

int main (void)
{
    static const size_t size[] = { 1, 2, 3, 5, 63, 64, 65, 131, 200 };

    test_quantiles ();
    test_robust ();
    test_median ();
    test_median_error ();
    for (size_t i = 0; i < sizeof (size) / sizeof (size[0]); i++)
        test_matrix (size[i]);
    test_singular ();
    return done_testing ();
}
