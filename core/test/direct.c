/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A factor of the normal matrix, some unknowns last, against dense arithmetic. */
#include "config.h"
#include "core/linear/direct.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/linear/linalg.h"
#include "core/linear/lsq.h"
#include "tests/tap.h"
#include "util/rng.h"

enum { ENTRIES = 6 };

struct problem {
    struct sparse *a;
    double *w, *t;
};

/* Rows of a few unknowns each, and one of each alone. */
static struct problem problem_make (size_t n, size_t rows)
{
    struct problem p = {
        .a = sparse_create (n),
        .w = calloc (rows + n, sizeof (*p.w)),
        .t = calloc (rows + n, sizeof (*p.t)),
    };
    static const int8_t one = 1;
    struct rng rng;

    rng_seed (&rng, n + rows);
    for (size_t i = 0; i < rows; i++) {
        uint32_t col[ENTRIES];
        int8_t value[ENTRIES];

        for (uint32_t k = 0; k < ENTRIES; k++) {
            /* all of them distinct */
            col[k] = (uint32_t)(rng_below (&rng, n / ENTRIES) * ENTRIES + k);
            value[k] = (int8_t)(1 + rng_below (&rng, 2));
        }
        sparse_add (p.a, col, value, ENTRIES);
    }
    for (uint32_t j = 0; j < n; j++)
        sparse_add (p.a, &j, &one, 1);
    for (size_t i = 0; i < rows + n; i++) {
        p.w[i] = .1 + rng_uniform (&rng);
        p.t[i] = rng_normal (&rng);
    }
    return p;
}

static void problem_clear (struct problem *p)
{
    sparse_destroy (p->a);
    free (p->w);
    free (p->t);
}

/* A' W A and A' W t */
static double *normal_of (const struct problem *p, double *g)
{
    const struct sparse *a = p->a;
    double *k = linalg_matrix (a->ncols);

    for (size_t i = 0; i < a->nrows; i++)
        for (size_t e = a->start[i]; e < a->start[i + 1]; e++) {
            g[a->col[e]] += p->w[i] * a->value[e] * p->t[i];
            for (size_t f = a->start[i]; f < a->start[i + 1]; f++)
                k[a->col[e] * a->ncols + a->col[f]]
                    += p->w[i] * a->value[e] * a->value[f];
        }
    return k;
}

/* Keep every step-th unknown. */
static void test_direct (size_t n, size_t rows, size_t step)
{
    struct problem p = problem_make (n, rows);
    double *g = calloc (n, sizeof (*g)), *l = normal_of (&p, g), *c;
    double *x = calloc (n, sizeof (*x)), *work = calloc (n, sizeof (*work));
    double *y = calloc (n, sizeof (*y)), worst = 0, most = 0, gx = 0, product;
    uint32_t *keep = calloc (n, sizeof (*keep));
    struct direct *d;
    size_t kept = 0;

    for (uint32_t j = 0; j < n; j += (uint32_t)step)
        keep[kept++] = j;
    memcpy (y, g, n * sizeof (*y));
    if (linalg_cholesky (l, n) < 0)
        abort ();
    linalg_solve (l, n, y);
    c = linalg_inverse (l, n);
    d = direct_create (p.a, p.w, keep, kept, n);
    ok (d != NULL, "%zu unknowns, of %zu rows; %zu are last", n, rows, kept);
    direct_apply (d, 1, g, x, work, &product);
    for (size_t i = 0; i < n; i++) {
        worst = fmax (worst, fabs (x[i] - y[i]));
        gx += g[i] * x[i];
    }
    ok (worst < 1e-10 && fabs (gx - product) < 1e-6,
        "... the solution: %.0e off", worst);
    for (size_t i = 0; i < kept; i++) {
        double *column = calloc (kept, sizeof (*column));

        column[i] = 1;
        linalg_solve_triangle (direct_kept (d), kept, column);
        for (size_t j = 0; j < kept; j++)
            most = fmax (most, fabs (column[j] - c[keep[j] * n + keep[i]]));
        free (column);
    }
    ok (most < 1e-10, "... the covariance of these: %.0e off", most);
    for (size_t i = 0; i < p.a->nrows; i++)
        p.w[i] *= 4;
    memcpy (y, x, n * sizeof (*y));
    worst = direct_renew (d, p.a, p.w);
    direct_apply (d, 1, g, x, work, &product);
    for (size_t i = 0; i < n; i++)
        worst = fmax (worst, fabs (4 * x[i] - y[i]));
    ok (worst < 1e-10, "... with other weights: %.0e off", worst);
    direct_destroy (d);
    problem_clear (&p);
    free (g);
    free (x);
    free (y);
    free (work);
    free (l);
    free (c);
    free (keep);
}

/* Vectors side by side are as one by one. */
static void test_lanes (void)
{
    enum { N = 240 };
    struct problem p = problem_make (N, 400);
    struct direct *d = direct_create (p.a, p.w, NULL, 0, N);
    static double r[N * LSQ_LANES], z[N * LSQ_LANES], work[N * LSQ_LANES];
    static double one[N], alone[N];
    double rz[LSQ_LANES], product, worst = 0;
    struct rng rng;

    rng_seed (&rng, 1);
    for (size_t i = 0; i < N * LSQ_LANES; i++)
        r[i] = rng_normal (&rng);
    direct_apply (d, LSQ_LANES, r, z, work, rz);
    for (size_t l = 0; l < LSQ_LANES; l++) {
        for (size_t i = 0; i < N; i++)
            one[i] = r[i * LSQ_LANES + l];
        direct_apply (d, 1, one, alone, work, &product);
        worst = fmax (worst, fabs (product - rz[l]));
        for (size_t i = 0; i < N; i++)
            worst = fmax (worst, fabs (alone[i] - z[i * LSQ_LANES + l]));
    }
    ok (worst < 1e-12, "vectors side by side: %.0e off", worst);
    direct_destroy (d);
    problem_clear (&p);
}

static double distance (const double *x, const double *y, size_t n)
{
    double worst = 0;

    for (size_t i = 0; i < n; i++)
        worst = fmax (worst, fabs (x[i] - y[i]));
    return worst;
}

/* A solver with the factor finds what one that iterates does. */
static void test_solver (void)
{
    enum { N = 606 };
    struct problem p = problem_make (N, 3000);
    struct lsq *q = lsq_create (p.a, p.w);
    struct lsq *f = lsq_create_direct (p.a, p.w, NULL, 0, N);
    static double x[2][N], c[2][3 * N], sketch[2][LSQ_LANES * N], b[3 * N];
    const double tolerances[] = { 1e-9, 1e-5 };
    double off;
    bool fine;

    b[0] = b[N + 7] = b[2 * N + 600] = 1;
    fine = lsq_solve (q, p.t, LSQ_EXACT, x[0]) == 0
           && lsq_solve (f, p.t, LSQ_EXACT, x[1]) == 0;
    off = distance (x[0], x[1], N);
    ok (fine && off < 1e-12, "a solver with the factor: the solution, %.0e off",
        off);
    for (size_t i = 0; i < 2; i++) {
        fine = lsq_covariance (q, b, 3, tolerances[i], c[0]) == 0
               && lsq_covariance (f, b, 3, tolerances[i], c[1]) == 0;
        off = distance (c[0], c[1], 3 * N);
        ok (fine && off < tolerances[i], "... columns to %g: %.0e off",
            tolerances[i], off);
    }
    fine = lsq_sketch (q, LSQ_LANES, 1, 1e-9, sketch[0]) == 0
           && lsq_sketch (f, LSQ_LANES, 1, LSQ_ROUGH, sketch[1]) == 0;
    off = distance (sketch[0], sketch[1], LSQ_LANES * N);
    ok (fine && off < 1e-8, "... a sketch: %.0e off", off);
    lsq_destroy (q);
    lsq_destroy (f);
    errno = 0;
    ok (!lsq_create_direct (p.a, p.w, NULL, 0, 10) && errno == E2BIG,
        "... is refused if it is much work");
    problem_clear (&p);
}

/* With as many rows as columns the condition may be thousands: it is factorised,
 * and a few iterations give all digits.
 */
static void test_few_rows (void)
{
    enum { N = 400 };
    struct sparse *a = sparse_create (N), *sum = sparse_create (2);
    static double x[N], t[N], y[N];
    double off = INFINITY;
    struct rng rng;
    struct lsq *q;

    rng_seed (&rng, 1);
    for (uint32_t i = 0; i < N; i++) {
        const uint32_t col[] = { i, i + 1 };
        const int8_t value[] = { 1, 1 };

        sparse_add (a, col, value, i + 1 < N ? 2 : 1);
        x[i] = rng_normal (&rng);
        if (i < 3)
            sparse_add (sum, (const uint32_t[]){ 0, 1 }, value, 2);
    }
    sparse_times (a, x, t);
    q = lsq_create (a, NULL);
    lsq_limit (q, 6);
    if (lsq_solve (q, t, LSQ_EXACT, y) == 0)
        off = distance (x, y, N);
    ok (off < 1e-9, "a chain of sums, in six iterations: %.0e off", off);
    lsq_destroy (q);
    errno = 0;
    ok (!direct_create (sum, NULL, NULL, 0, 2) && errno == EDOM,
        "a sum alone: EDOM");
    sparse_destroy (a);
    sparse_destroy (sum);
}

static void test_refused (void)
{
    struct problem p = problem_make (600, 6000);
    static const uint32_t keep[] = { 0, 17, 300 };

    errno = 0;
    ok (!direct_create (p.a, p.w, keep, 3, 300) && errno == E2BIG,
        "too many are left: E2BIG");
    for (size_t i = 0; i < 6600; i++)
        p.w[i] = 0;
    errno = 0;
    ok (!direct_create (p.a, p.w, keep, 3, 600) && errno == EDOM,
        "nothing is known of one: EDOM");
    problem_clear (&p);
}

int main (void)
{
    test_direct (60, 20, 4);      /* all sparse */
    test_direct (240, 400, 3);    /* some full */
    test_direct (606, 6000, 10);  /* most */
    test_direct (120, 300, 1);    /* all are kept */
    test_direct (120, 300, 120);  /* one is */
    test_lanes ();
    test_solver ();
    test_few_rows ();
    test_refused ();
    return done_testing ();
}
