/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Redundant rounds: what they buy. */
#include "config.h"
#include "core/plan/basis.h"

#include <math.h>
#include <string.h>

#include "core/linear/lsq.h"
#include "core/linear/sparse.h"
#include "core/plan/plan.h"
#include "core/test/tablenet.h"
#include "core/test/treenet.h"
#include "tests/tap.h"

#define COUNT(v) (sizeof (v) / sizeof ((v)[0]))

static struct plan *make (struct pathset *ps, uint64_t seed,
                          unsigned int extra)
{
    struct plan_options opts = { .extra_rounds = extra, .seed = seed };
    struct error err;
    struct plan *plan = plan_make (ps, &opts, &err);

    if (!plan)
        diag ("%s", err.text);
    return plan;
}

static struct sparse *matrix (const struct plan *plan, struct pathset *ps)
{
    size_t m;
    struct sparse *a;

    pathset_links (ps, &m, NULL);
    a = sparse_create (m);
    for (size_t r = 0; r < plan_rounds (plan); r++) {
        size_t n;
        const struct probe *p = plan_round (plan, r, &n);

        for (size_t i = 0; i < n; i++) {
            struct row row;

            if (pathset_row (ps, p[i].a, p[i].b, &row, NULL) < 0)
                abort ();
            for (size_t k = 0; k < row.n; k++)
                row.link[k] = pathset_column (ps, row.link[k]);
            sparse_add (a, row.link, (int8_t *)row.count, row.n);
        }
    }
    return a;
}

/* Standard errors of the links, in units of one RTT's: of the worst 8 by the
 * sketch the greatest is exact.
 */
static void errors (const struct plan *plan, struct pathset *ps, double *rms,
                    double *max)
{
    enum { K = 32, WORST = 8 };
    struct sparse *a = matrix (plan, ps);
    struct lsq *q = lsq_create (a, NULL);
    double *y = calloc (a->ncols * K, sizeof (*y));
    double *v = calloc (a->ncols, sizeof (*v));
    double *unit = calloc (a->ncols * WORST, sizeof (*unit));
    double *column = calloc (a->ncols * WORST, sizeof (*column));
    size_t worst[WORST];
    double sum = 0;

    if (!q || !y || !v || !unit || !column
        || lsq_sketch (q, K, 1, LSQ_ROUGH, y) < 0)
        abort ();
    for (size_t c = 0; c < a->ncols; c++) {
        for (int j = 0; j < K; j++)
            v[c] += y[c * K + j] * y[c * K + j] / K;
        sum += v[c];
    }
    for (size_t k = 0; k < WORST; k++) {
        worst[k] = 0;
        for (size_t c = 1; c < a->ncols; c++)
            if (v[c] > v[worst[k]])
                worst[k] = c;
        v[worst[k]] = 0;
        unit[k * a->ncols + worst[k]] = 1;
    }
    if (lsq_covariance (q, unit, WORST, LSQ_FINE, column) < 0)
        abort ();
    *rms = sqrt (sum / a->ncols);
    *max = 0;
    for (size_t k = 0; k < WORST; k++)
        *max = fmax (*max, sqrt (column[k * a->ncols + worst[k]]));
    free (y);
    free (v);
    free (unit);
    free (column);
    lsq_destroy (q);
    sparse_destroy (a);
}

static const struct {
    size_t p, q;
    enum tree_routing routing;
} wholes[] = {
    { 8, 3, TREE_DMODK }, { 8, 3, TREE_MINHOP }, { 12, 3, TREE_DMODK },
    { 12, 3, TREE_MINHOP }, { 12, 3, TREE_RANDOM }, { 24, 3, TREE_DMODK },
    { 24, 3, TREE_MINHOP },
};

/* Two rounds bring whole fabrics to a standard error of one RTT's per link,
 * of three at most.
 */
static void test_wholes (void)
{
    for (size_t i = 0; i < COUNT (wholes); i++) {
        struct treenet *t = treenet_create (wholes[i].p, wholes[i].q,
                                            wholes[i].routing, i);
        struct pathset *ps = treenet_pathset (t, NULL, 0);
        struct plan *plan = make (ps, i, 2);
        struct error err = { 0 };
        double rms, max;

        if (plan && plan_check (ps, plan, &err) == 0
            && plan_rounds (plan) == plan_basis_rounds (plan) + 2) {
            errors (plan, ps, &rms, &max);
            ok (rms <= 1.0 && max <= 3.0,
                "%zu hosts, %s: %zu + 2 rounds, rms %.2f, at most %.2f",
                pathset_size (ps),
                wholes[i].routing == TREE_DMODK ? "d-mod-k" : "min-hop",
                plan_basis_rounds (plan), rms, max);
        }
        else
            ok (0, "network %zu: %s", i, err.text);
        plan_destroy (plan);
        pathset_destroy (ps);
        treenet_destroy (t);
    }
}

/* Sum over all links of 1 / distance^2 to the link that is nearest to it of
 * those that can be told from it: dense, the definition.
 */
static double doubts (const struct plan *plan, struct pathset *ps)
{
    struct sparse *a = matrix (plan, ps);
    size_t m = a->ncols;
    double *gram = calloc (m * m, sizeof (*gram));
    double sum = 0;

    if (!gram)
        abort ();
    for (size_t i = 0; i < a->nrows; i++)
        for (size_t k = a->start[i]; k < a->start[i + 1]; k++)
            for (size_t j = a->start[i]; j < a->start[i + 1]; j++)
                gram[a->col[k] * m + a->col[j]] += a->value[k] * a->value[j];
    for (size_t c = 0; c < m; c++) {
        double least = INFINITY;

        for (size_t r = 0; r < m; r++) {
            double d = gram[c * m + c]
                - gram[c * m + r] * gram[c * m + r] / gram[r * m + r];

            if (r != c && d > 1e-9 && d < least)
                least = d;
        }
        sum += 1 / least;
    }
    free (gram);
    sparse_destroy (a);
    return sum;
}

/* Rounds of whatever fits, as it comes. */
static void extend_anyhow (struct plan *plan, struct pathset *ps,
                           size_t extra, uint64_t seed)
{
    size_t n = pathset_size (ps);
    uint8_t *busy = calloc (pathset_network (ps)->nlinks, 1);
    struct rng rng;

    rng_seed (&rng, seed);
    for (size_t e = 0; e < extra; e++) {
        size_t round = plan_rounds (plan);

        memset (busy, 0, pathset_network (ps)->nlinks);
        for (size_t i = 0; i < 100 * n; i++) {
            size_t a = rng_below (&rng, n);
            size_t b = rng_below (&rng, n);
            bool free_links = a != b;
            struct row row;

            if (a == b || pathset_row (ps, a, b, &row, NULL) < 0)
                continue;
            for (size_t k = 0; k < row.n; k++)
                free_links = free_links && !busy[row.link[k]];
            for (size_t k = 0; k < row.n && free_links; k++)
                busy[row.link[k]] = 1;
            if (free_links)
                plan_add (plan, round, a, b);
        }
    }
    free (busy);
}

static const struct {
    size_t p, hosts;
    enum tree_routing routing;
} jobs[] = {
    { 8, 16, TREE_DMODK }, { 8, 16, TREE_MINHOP }, { 12, 64, TREE_DMODK },
    { 12, 64, TREE_MINHOP }, { 12, 16, TREE_DMODK }, { 12, 200, TREE_DMODK },
};

static void test_jobs (void)
{
    for (size_t i = 0; i < COUNT (jobs); i++) {
        struct treenet *t = treenet_create (jobs[i].p, 3, jobs[i].routing, i);
        struct pathset *ps = treenet_random (t, jobs[i].hosts, i);
        struct plan *plan = make (ps, i, 4);
        struct plan *minimal = make (ps, i, 0);
        struct plan *anyhow = minimal ? plan_copy (minimal) : NULL;
        struct error err = { 0 };
        double none, chosen, random;

        if (!plan || !anyhow || plan_check (ps, plan, &err) < 0) {
            ok (0, "job %zu: %s", i, err.text);
            continue;
        }
        extend_anyhow (anyhow, ps, 4, i);
        none = doubts (minimal, ps);
        chosen = doubts (plan, ps);
        random = doubts (anyhow, ps);
        ok (chosen < random && random < none,
            "%zu of %zu hosts: doubts %.1f; %.1f by 4 rounds, %.1f by any",
            jobs[i].hosts, t->n, none, chosen, random);
        plan_destroy (plan);
        plan_destroy (minimal);
        plan_destroy (anyhow);
        pathset_destroy (ps);
        treenet_destroy (t);
    }
}

static void test_odds (void)
{
    struct tablenet *t = tablenet_paper ();
    struct pathset *ps = tablenet_pathset (t, NULL, 0);
    struct plan *none = make (ps, 1, 0);
    struct plan *many = make (ps, 1, 40);
    struct basis basis;
    struct rng rng;
    struct error err = { 0 };

    rng_seed (&rng, 1);
    ok (plan_rounds (none) == plan_basis_rounds (none), "none asked for");
    ok (plan_rounds (many) == plan_basis_rounds (many) + 40
            && plan_check (ps, many, &err) == 0,
        "more rounds than pairs: %s", err.text);
    if (basis_make (&basis, ps, &rng, &err) < 0)
        abort ();
    basis.n = 0;
    ok (redundant_extend (none, ps, &basis, 2, 1, &err) == 0
            && plan_rounds (none) == plan_basis_rounds (none),
        "no candidates, no rounds");
    basis_clear (&basis);
    plan_destroy (none);
    plan_destroy (many);
    pathset_destroy (ps);
    tablenet_destroy (t);
}

int main (void)
{
    test_wholes ();
    test_jobs ();
    test_odds ();
    return done_testing ();
}
