/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Some unknowns without the others, against dense arithmetic. */
#include "config.h"
#include "core/linear/marginal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/linear/linalg.h"
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
static void test_marginal (size_t n, size_t rows, size_t step)
{
    struct problem p = problem_make (n, rows);
    double *y = calloc (n, sizeof (*y)), *l = normal_of (&p, y), *c;
    uint32_t *keep = calloc (n, sizeof (*keep));
    double worst = 0, most = 0;
    struct marginal m;
    size_t kept = 0;

    for (uint32_t j = 0; j < n; j += (uint32_t)step)
        keep[kept++] = j;
    if (linalg_cholesky (l, n) < 0)
        abort ();
    linalg_solve (l, n, y);
    c = linalg_inverse (l, n);
    ok (marginal_make (&m, p.a, p.w, p.t, keep, kept, n) == 0 && m.n == kept,
        "%zu of %zu unknowns, of %zu rows", kept, n, rows);
    if (linalg_eliminate (m.k, kept, kept) < 0)
        abort ();
    linalg_solve_triangle (m.k, kept, m.g);
    for (size_t i = 0; i < kept; i++) {
        double *column = calloc (kept, sizeof (*column));

        worst = fmax (worst, fabs (m.g[i] - y[keep[i]]));
        column[i] = 1;
        linalg_solve_triangle (m.k, kept, column);
        for (size_t j = 0; j < kept; j++)
            most = fmax (most, fabs (column[j] - c[keep[j] * n + keep[i]]));
        free (column);
    }
    ok (worst < 1e-10, "... have the same values: %.0e off", worst);
    ok (most < 1e-10, "... and covariance: %.0e off", most);
    marginal_clear (&m);
    problem_clear (&p);
    free (y);
    free (l);
    free (c);
    free (keep);
}

static void test_refused (void)
{
    struct problem p = problem_make (600, 6000);
    static const uint32_t keep[] = { 0, 17, 300 };
    struct marginal m;

    errno = 0;
    ok (marginal_make (&m, p.a, p.w, p.t, keep, 3, 300) < 0 && errno == E2BIG,
        "too many are left: E2BIG");
    marginal_clear (&m);
    for (size_t i = 0; i < 6600; i++)
        p.w[i] = 0;
    errno = 0;
    ok (marginal_make (&m, p.a, p.w, p.t, keep, 3, 600) < 0 && errno == EDOM,
        "nothing is known of one: EDOM");
    marginal_clear (&m);
    problem_clear (&p);
}

int main (void)
{
    test_marginal (60, 20, 4);      /* all sparse */
    test_marginal (240, 400, 3);    /* some full */
    test_marginal (606, 6000, 10);  /* most */
    test_marginal (120, 300, 1);    /* all are kept */
    test_marginal (120, 300, 120);  /* one is */
    test_refused ();
    return done_testing ();
}
