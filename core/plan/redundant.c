/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Redundant rounds.
 *
 * Notes. Let c be a link's column over the rows so far, and r that of another
 * link. If only the latencies of these two were unknown, the variance of the
 * first would be 1 / (c.c - (c.r)^2 / r.r), in units of one RTT's. The same
 * number measures how well a change of the link is separated from one of the
 * other. The link's rival is the one for which it is greatest, and its doubt is
 * the square of it. A candidate's gain is the decrease of the doubts of the
 * links that it crosses, per link, since no other probe can cross these links
 * in that round.
 *
 * This considers only pairs of links; the true variance depends on all. Ranking
 * by the variance itself costs five times as much, gains little on whole fat
 * trees and separates the worst pairs of jobs less well.
 *
 * Cost: per round the sum of the squared lengths of all rows, to find the
 * rivals, and the entries of a sample of candidates.
 */
#include "config.h"
#include "core/plan/basis.h"

#include <stdlib.h>
#include <string.h>

#include "core/plan/rounds.h"
#include "util/alloc.h"
#include "util/csr.h"
#include "util/pool.h"
#include "util/rng.h"
#include "util/sort.h"
#include "util/terminal.h"

enum {
    SCORED = 12, /* candidates whose gain is computed, per link */
};

#define NONE UINT32_MAX

struct row_choice {
    uint32_t pair;
    uint32_t at; /* place in the shuffled order, for equal gains */
    double gain;
};

struct redundancy {
    const struct basis *basis;
    struct basis rows;  /* of the plan so far */
    uint64_t *square;   /* [m] c.c */
    uint64_t *shared;   /* [m] c.r of a link and its rival */
    uint32_t *rival;    /* [m] or NONE */
    uint8_t *here;      /* [m] counts of the current row, else 0 */
};

/* Find each link's rival. A proportional column is not a rival: the rows of the
 * basis span those of all pairs, so no row can separate the two.
 */
static void find_rivals (struct redundancy *w)
{
    const struct basis *a = &w->rows;
    struct csr crossing = csr_transpose (&(struct csr){ a->n, a->first,
                                                        a->col }, a->m);
    uint64_t *dot = xcalloc (a->m, sizeof (*dot)); /* products with a column */
    uint32_t *touched = xarray (a->m, sizeof (*touched));

    memset (w->square, 0, a->m * sizeof (*w->square));
    for (size_t k = 0; k < a->first[a->n]; k++)
        w->square[a->col[k]] += a->count[k] * a->count[k];
    for (size_t c = 0; c < a->m; c++) {
        double most = 0;
        size_t n = 0;

        for (size_t k = crossing.start[c]; k < crossing.start[c + 1]; k++) {
            uint32_t row = crossing.v[k];
            size_t own = a->first[row];

            while (a->col[own] != c)
                own++;
            for (size_t i = a->first[row]; i < a->first[row + 1]; i++) {
                if (dot[a->col[i]] == 0)
                    touched[n++] = a->col[i];
                dot[a->col[i]] += a->count[own] * a->count[i];
            }
        }
        w->rival[c] = NONE;
        for (size_t i = 0; i < n; i++) {
            uint32_t r = touched[i];
            uint64_t square = dot[r] * dot[r];
            double part = (double)square / w->square[r];

            if (square < w->square[c] * w->square[r]
                && (part > most || (part == most && r < w->rival[c]))) {
                most = part;
                w->rival[c] = r;
                w->shared[c] = dot[r];
            }
            dot[r] = 0;
        }
    }
    csr_clear (&crossing);
    free (dot);
    free (touched);
}

/* Squared, so that the greatest have the most weight. */
static double doubt (uint64_t square, uint64_t shared, uint64_t rival)
{
    double d = (double)rival / (double)(square * rival - shared * shared);

    return d * d;
}

static double pair_gain (struct redundancy *w, uint32_t pair)
{
    const uint32_t *col = w->basis->col + w->basis->first[pair];
    const uint8_t *count = w->basis->count + w->basis->first[pair];
    size_t n = w->basis->first[pair + 1] - w->basis->first[pair];
    double sum = 0;

    for (size_t k = 0; k < n; k++)
        w->here[col[k]] = count[k];
    for (size_t k = 0; k < n; k++) {
        uint32_t c = col[k];
        uint32_t r = w->rival[c];

        if (r != NONE)
            sum += doubt (w->square[c], w->shared[c], w->square[r])
                   - doubt (w->square[c] + count[k] * count[k],
                            w->shared[c] + count[k] * w->here[r],
                            w->square[r] + w->here[r] * w->here[r]);
    }
    for (size_t k = 0; k < n; k++)
        w->here[col[k]] = 0;
    return sum / n;
}

static int compare_choice (const void *a, const void *b)
{
    const struct row_choice *x = a;
    const struct row_choice *y = b;

    if (x->gain != y->gain)
        return x->gain < y->gain ? 1 : -1;
    return util_compare (x->at, y->at);
}

/* Make one round: the candidates of a sample with the greatest gains that fit,
 * and then any others that fit.
 */
static void fill_redundant_round (struct redundancy *w, struct plan *plan,
                                  uint32_t *order, struct rng *rng)
{
    const struct basis *b = w->basis;
    size_t n = b->n < SCORED * b->m ? b->n : SCORED * b->m;
    struct row_choice *choice = xarray (n, sizeof (*choice));
    size_t round = plan_rounds (plan);
    struct rounds busy;

    rounds_open (&busy, b);
    rounds_add (&busy);
    rng_shuffle (rng, order, b->n);
    for (size_t i = 0; i < n; i++)
        choice[i] = (struct row_choice){ order[i], i, pair_gain (w, order[i]) };
    qsort (choice, n, sizeof (*choice), compare_choice);
    for (size_t i = 0; i < b->n; i++) {
        uint32_t pair = i < n ? choice[i].pair : order[i];

        if (!rounds_fit (&busy, pair, 0))
            continue;
        rounds_place (&busy, pair, 0);
        plan_add (plan, round, b->pair[pair].a, b->pair[pair].b);
        basis_copy (&w->rows, b, pair);
    }
    rounds_clear (&busy);
    free (choice);
}

int redundant_extend (struct plan *plan, struct pathset *ps,
                      const struct basis *candidates, size_t extra,
                      uint64_t seed, struct error *err)
{
    struct redundancy w = { .basis = candidates };
    size_t m = candidates->m;
    struct pool *pool;
    uint32_t *order;
    struct rng rng;
    int rc;

    if (candidates->n == 0 || extra == 0)
        return 0;
    rng_seed (&rng, seed);
    pool = pool_create ();
    w.square = pool_alloc (pool, m, sizeof (*w.square));
    w.shared = pool_alloc (pool, m, sizeof (*w.shared));
    w.rival = pool_alloc (pool, m, sizeof (*w.rival));
    w.here = pool_alloc (pool, m, 1);
    order = pool_alloc (pool, candidates->n, sizeof (*order));
    for (size_t i = 0; i < candidates->n; i++)
        order[i] = i;
    rc = basis_of_plan (&w.rows, plan, ps, err);
    for (size_t e = 0; e < extra && rc == 0; e++) {
        terminal_work ("redundant round", e, extra);
        find_rivals (&w);
        fill_redundant_round (&w, plan, order, &rng);
    }
    basis_clear (&w.rows);
    pool_destroy (pool);
    return rc;
}
