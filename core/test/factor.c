/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Test peel and factor. */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/linear/factor.h"
#include "core/linear/lsq.h"
#include "tests/tap.h"
#include "util/rng.h"

enum { ROWS = 320, COLUMNS = 300, PER_ROW = 4, CHAIN = 60 };

/* A row for each column, which it holds, and some more. */
static struct sparse *draw_matrix (struct rng *rng)
{
    struct sparse *a = sparse_create (COLUMNS);

    for (uint32_t i = 0; a && i < ROWS; i++) {
        uint32_t col[PER_ROW];
        int8_t value[PER_ROW];
        size_t n = 0;

        while (n < PER_ROW) {
            uint32_t c = n == 0 && i < COLUMNS
                             ? i : (uint32_t)rng_below (rng, COLUMNS);
            bool twice = false;

            for (size_t k = 0; k < n; k++)
                twice |= col[k] == c;
            if (twice)
                continue;
            col[n] = c;
            value[n++] = (int8_t)(1 + rng_below (rng, 2));
        }
        sparse_add (a, col, value, n);
    }
    return a;
}

/* Rows x_i + 2 x_i+1 + 2 x_i+2: a triangle whose inverse grows. */
static struct sparse *chain_matrix (void)
{
    static const int8_t value[] = { 1, 2, 2 };
    struct sparse *a = sparse_create (CHAIN);

    for (uint32_t i = 0; i < CHAIN; i++) {
        uint32_t col[] = { i, i + 1, i + 2 };

        sparse_add (a, col, value, i + 2 < CHAIN ? 3 : CHAIN - i);
    }
    return a;
}

static bool holds (const struct sparse *a, uint32_t row, uint32_t col)
{
    for (size_t e = a->start[row]; e < a->start[row + 1]; e++)
        if (a->col[e] == col)
            return true;
    return false;
}

/* True if every index below n is once in one of the two lists. */
static bool partition (size_t n, const uint32_t *x, size_t nx,
                       const uint32_t *y, size_t ny)
{
    unsigned char *seen = calloc (n + 1, 1);
    bool good = nx + ny == n;

    for (size_t i = 0; i < nx + ny && good; i++) {
        uint32_t at = i < nx ? x[i] : y[i - nx];

        good = at < n && !seen[at]++;
    }
    free (seen);
    return good;
}

static void check_peel (const struct sparse *a, const struct peel *p,
                        const char *what)
{
    size_t bad = 0;

    for (size_t k = 0; k < p->n; k++) {
        bad += !holds (a, p->row[k], p->col[k]);
        for (size_t j = k + 1; j < p->n; j++)
            bad += holds (a, p->row[j], p->col[k]);
    }
    ok (bad == 0, "%s: a triangle of %zu", what, p->n);
    ok (partition (a->nrows, p->row, p->n, p->other_row, p->nrows)
            && partition (a->ncols, p->col, p->n, p->other_col, p->ncols),
        "%s: nothing twice, nothing left out", what);
}

static void test_peel (const struct sparse *a)
{
    struct peel all;
    struct peel some;

    peel_make (&all, a, PEEL_ALL);
    peel_make (&some, a, 1);
    check_peel (a, &all, "all");
    check_peel (a, &some, "columns of one row");
    ok (some.n <= all.n, "the second is no larger");
    peel_clear (&all);
    peel_clear (&some);
}

/* z = (A' W A)^-1 r has to give r back. */
static void check_inverse (const struct sparse *a, const double *w,
                           const struct factor *f, struct rng *rng,
                           const char *what)
{
    size_t n = a->ncols;
    size_t size = n * LSQ_LANES;
    double *r = calloc (4 * size + a->nrows, sizeof (*r));
    double *z = r + size;
    double *work = z + size;
    double *one = work + size;
    double *y = one + size;
    double *back = work;
    double rz[LSQ_LANES];
    double off = 0;
    double differ = 0;

    if (!r)
        abort ();
    for (size_t c = 0; c < size; c++)
        r[c] = rng_normal (rng);
    factor_apply (f, LSQ_LANES, r, z, work, rz);
    for (size_t l = 0; l < LSQ_LANES; l++) {
        double dot = 0;

        for (size_t c = 0; c < n; c++) {
            one[c] = z[c * LSQ_LANES + l];
            dot += one[c] * r[c * LSQ_LANES + l];
        }
        differ = fmax (differ, fabs (dot / rz[l] - 1));
        sparse_times (a, one, y);
        for (size_t i = 0; i < a->nrows; i++)
            y[i] *= w ? w[i] : 1;
        memset (back, 0, n * sizeof (*back));
        for (size_t i = 0; i < a->nrows; i++)
            for (size_t k = a->start[i]; k < a->start[i + 1]; k++)
                back[a->col[k]] += a->value[k] * y[i];
        for (size_t c = 0; c < n; c++)
            off = fmax (off, fabs (back[c] - r[c * LSQ_LANES + l]));
    }
    ok (off < 1e-6 && differ < 1e-9, "%s: the inverse, off by %.1e", what,
        off);
    for (size_t c = 0; c < n; c++)
        one[c] = r[c * LSQ_LANES];
    factor_apply (f, 1, one, one + n, one + 2 * n, rz);
    differ = 0;
    for (size_t c = 0; c < n; c++)
        differ = fmax (differ, fabs (one[n + c] - z[c * LSQ_LANES]));
    ok (differ < 1e-9, "%s: one lane is as eight are", what);
    free (r);
}

static void test_factor (const struct sparse *a, const double *w,
                         double limit, struct rng *rng, const char *what)
{
    struct peel p;
    struct factor *f;

    peel_make (&p, a, PEEL_ALL);
    peel_steady (&p, a, limit);
    check_peel (a, &p, what);
    ok ((f = factor_create (a, w, &p)) != NULL, "%s: factorised", what);
    if (f)
        check_inverse (a, w, f, rng, what);
    factor_destroy (f);
    peel_clear (&p);
}

static void test_steady (const struct sparse *a)
{
    struct peel p;
    size_t before;

    peel_make (&p, a, PEEL_ALL);
    before = p.n;
    peel_steady (&p, a, 1e3);
    ok (p.n < before && p.n > before / 2,
        "of %zu rows that grow %zu remain", before, p.n);
    peel_clear (&p);
}

static void test_deficient (void)
{
    static const uint32_t col[] = { 0, 1 };
    static const int8_t value[] = { 1, 1 };
    struct sparse *a = sparse_create (2);
    struct peel p;

    for (int i = 0; i < 3; i++)
        sparse_add (a, col, value, 2);
    peel_make (&p, a, PEEL_ALL);
    ok (!factor_create (a, NULL, &p) && errno == EDOM,
        "a sum alone is refused");
    peel_clear (&p);
    sparse_destroy (a);
    factor_destroy (NULL);
}

int main (void)
{
    struct rng rng;
    struct sparse *a;
    struct sparse *chain = chain_matrix ();
    double w[ROWS];

    rng_seed (&rng, 1);
    a = draw_matrix (&rng);
    if (!a || !chain)
        abort ();
    for (size_t i = 0; i < ROWS; i++)
        w[i] = .5 + rng_uniform (&rng);
    test_peel (a);
    test_factor (a, NULL, 1e6, &rng, "plain");
    test_factor (a, w, 1e6, &rng, "weights");
    test_factor (a, w, 1, &rng, "a small triangle");
    test_steady (chain);
    test_deficient ();
    sparse_destroy (a);
    sparse_destroy (chain);
    return done_testing ();
}
