/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What one bad row determines is found, and its error told, however well all
 * else is known.
 */
#include "config.h"
#include "core/linear/coarse.h"

#include <math.h>
#include <stdlib.h>

#include "core/linear/lsq.h"
#include "core/plan/plan.h"
#include "core/solve/splits.h"
#include "core/test/treenet.h"
#include "tests/tap.h"
#include "util/rng.h"

enum { PORTS = 8, LEVELS = 2, LEAF = PORTS / 2, DRAWS = 64 };

#define WEAK 1e-8 /* weight of the only messages that turn at leaf 0 */

struct day {
    struct pathset *ps;
    const uint32_t *link;
    size_t m;
    struct sparse *a, *splits;
    double *w;
    uint32_t host; /* column of a host of leaf 0 */
};

/* Rows between all hosts; of those inside leaf 0 one alone, which is bad. */
static void day_make (struct day *d)
{
    struct error err;
    size_t n = pathset_size (d->ps), rows = 0;

    if (!(d->link = pathset_links (d->ps, &d->m, &err)))
        abort ();
    d->a = sparse_create (d->m);
    d->w = calloc (n * n, sizeof (*d->w));
    for (size_t a = 0; a < n; a++)
        for (size_t b = a + 1; b < n; b++) {
            uint32_t col[ROW_MAX];
            int8_t value[ROW_MAX];
            struct row row;

            if (b < LEAF && a + b > 1)
                continue;
            if (pathset_row (d->ps, a, b, &row, &err) < 0)
                abort ();
            for (size_t i = 0; i < row.n; i++) {
                col[i] = (uint32_t)pathset_column (d->ps, row.link[i]);
                value[i] = (int8_t)row.count[i];
            }
            sparse_add (d->a, col, value, row.n);
            d->w[rows++] = b < LEAF ? WEAK : 1;
        }
    d->host = (uint32_t)pathset_column (d->ps, pathset_end_link (d->ps, 0));
    d->splits = splits_make (pathset_network (d->ps), d->link, d->m);
}

/* A message that goes through a switch does not tell its split. */
static void test_splits (const struct day *d)
{
    size_t told = 0, wrong = 0;

    for (size_t s = 0; s < d->splits->nrows; s++)
        for (size_t i = 0; i < d->a->nrows; i++) {
            double *x = calloc (d->m, sizeof (*x));
            double sum;

            for (size_t e = d->splits->start[s]; e < d->splits->start[s + 1];
                 e++)
                x[d->splits->col[e]] = d->splits->value[e];
            sum = sparse_row_dot (d->a, i, x);
            told += sum != 0;
            wrong += sum != 0 && sum != 4;
            free (x);
        }
    /* the other leaves have all of their pairs */
    ok (d->splits->nrows == PORTS && wrong == 0
            && told == 1 + (PORTS - 1) * LEAF * (LEAF - 1) / 2,
        "%zu splits, which %zu rows tell", d->splits->nrows, told);
}

static double sketched (const struct lsq *q, size_t n, uint32_t col)
{
    static const int8_t one = 1;
    double *sketch = calloc (n * DRAWS, sizeof (*sketch));
    double var = NAN;

    if (lsq_sketch (q, DRAWS, 1, LSQ_ROUGH, sketch) == 0)
        var = lsq_sketch_variance (sketch, DRAWS, &col, &one, 1);
    free (sketch);
    return sqrt (var);
}

static void test_weak (const struct day *d)
{
    struct lsq *plain = lsq_create (d->a, d->w), *q = lsq_create (d->a, d->w);
    struct lsq *exact = lsq_create_direct (d->a, d->w, NULL, 0, d->m);
    double *t = calloc (d->a->nrows, sizeof (*t));
    double *x = calloc (3 * d->m, sizeof (*x)), *y = x + d->m, *z = y + d->m;
    double off = 0, off_plain = 0, error, error_exact;
    struct rng rng;

    rng_seed (&rng, 1);
    for (size_t i = 0; i < d->a->nrows; i++)
        t[i] = 4000 + rng_normal (&rng) / sqrt (d->w[i]);
    lsq_correct (q, d->splits);
    if (lsq_solve (exact, t, LSQ_EXACT, x) < 0
        || lsq_solve (q, t, LSQ_CLOSE, y) < 0
        || lsq_solve (plain, t, LSQ_CLOSE, z) < 0)
        abort ();
    for (size_t i = 0; i < d->m; i++) {
        off = fmax (off, fabs (y[i] - x[i]));
        off_plain = fmax (off_plain, fabs (z[i] - x[i]));
    }
    error_exact = sketched (exact, d->m, d->host);
    error = sketched (q, d->m, d->host);
    ok (off < .1 * error_exact, "the solution is %.3f standard errors off",
        off / error_exact);
    ok (fabs (error / error_exact - 1) < .1, "... whose error is told: %.0f",
        error);
    diag ("without the correction: %.3f off, error %.1f",
          off_plain / error_exact, sketched (plain, d->m, d->host));
    lsq_destroy (plain);
    lsq_destroy (q);
    lsq_destroy (exact);
    free (t);
    free (x);
}

/* Modes that no row sees, or twice the same, do no harm. */
static void test_odd (const struct day *d)
{
    struct sparse *modes = sparse_create (d->m);
    struct lsq *q = lsq_create (d->a, d->w);
    double *t = calloc (d->a->nrows, sizeof (*t));
    double *x = calloc (d->m, sizeof (*x));
    double off = 0;

    for (int i = 0; i < 2; i++)
        for (size_t s = 0; s < d->splits->nrows; s++)
            sparse_add (modes, d->splits->col + d->splits->start[s],
                        d->splits->value + d->splits->start[s],
                        d->splits->start[s + 1] - d->splits->start[s]);
    sparse_add (modes, NULL, NULL, 0);
    for (size_t i = 0; i < d->m; i++)
        x[i] = 1;
    sparse_times (d->a, x, t);
    for (size_t i = 0; i < d->m; i++)
        x[i] = 0;
    lsq_correct (q, modes);
    ok (lsq_solve (q, t, LSQ_EXACT, x) == 0, "modes that depend are taken");
    for (size_t i = 0; i < d->m; i++)
        off = fmax (off, fabs (x[i] - 1));
    ok (off < 1e-6, "... %.1g off", off);
    lsq_destroy (q);
    sparse_destroy (modes);
    free (t);
    free (x);
}

int main (void)
{
    struct treenet *net = treenet_create (PORTS, LEVELS, TREE_DMODK, 1);
    struct day d = { .ps = treenet_pathset (net, NULL, 0) };

    day_make (&d);
    test_splits (&d);
    test_weak (&d);
    test_odd (&d);
    sparse_destroy (d.a);
    sparse_destroy (d.splits);
    free (d.w);
    pathset_destroy (d.ps);
    treenet_destroy (net);
    return done_testing ();
}
