/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The method of the source paper, the baseline for comparing plans.
 *
 * From the paper: Gaussian elimination of the rows of all n(n-1)/2 pairs keeps
 * a row if it is independent of those kept before; two of these probes conflict
 * if they share a link or an endpoint; the conflict graph is coloured by Welch
 * and Powell's rule ("An upper bound for the chromatic number of a graph and
 * its application to timetabling problems", 1967); a colour is a round.
 *
 * Ours: the order of the pairs, which the paper leaves open. First the order of
 * endpoint numbers, then random orders as often as a counted effort allows; the
 * fewest rounds are kept. Of few pairs thousands of orders are tried, and half
 * of these sets are coloured with Kempe chains (plan/rounds) instead.
 */
#include "config.h"
#include "bench/paper_method.h"

#include <stdlib.h>
#include <string.h>

#include "bench/bound.h"
#include "core/plan/basis.h"
#include "core/plan/rounds.h"
#include "core/plan/rref.h"
#include "util/alloc.h"
#include "util/csr.h"
#include "util/sort.h"

enum {
    ORDERS = 16,
    FEW_PAIRS = 66,    /* those of 12 endpoints: */
    FEW_ORDERS = 4000, /* until there are as few rounds as possible */
};

#define ORDERS_EFFORT (UINT64_C (1) << 30) /* entries touched */

struct paper {
    struct pathset *ps;
    size_t npairs, rank; /* 0: not known yet */
    struct probe *pair;  /* [npairs] in the current order */
    struct basis set;    /* the rows that elimination keeps */
    uint64_t work;
};

/* Eliminate the pairs in their order. The first time runs to the end, so its
 * rank is that of all pairs; others stop when they have as many rows.
 */
static int eliminate (struct paper *p, struct error *err)
{
    struct rref *form;
    int rc;

    basis_clear (&p->set);
    rc = basis_open (&p->set, p->ps, err);
    form = rref_create (p->set.m);
    for (size_t k = 0; k < p->npairs && rc == 0
         && (p->rank == 0 || p->set.n < p->rank); k++) {
        const struct probe *pair = &p->pair[k];
        size_t before = p->set.n;

        rc = basis_add (&p->set, pair->a, pair->b, err);
        if (p->set.n > before
            && !rref_add (form, BASIS_ROW (&p->set, before)))
            p->set.n = before;
    }
    p->rank = p->set.n;
    p->work += rref_work (form);
    rref_destroy (form);
    return rc;
}

/* The rows by descending number of the others that share a link with them, or,
 * with rng, in random order. The caller frees them.
 */
static uint64_t *order_rows (const struct basis *b, struct rng *rng)
{
    struct csr crossing = csr_transpose (&(struct csr){ b->n, b->first,
                                                        b->col }, b->m);
    uint32_t *stamp = xcalloc (b->n, sizeof (*stamp));
    uint64_t *order = xarray (b->n, sizeof (*order));

    for (uint32_t i = 0; i < b->n; i++) {
        uint64_t rest = rng ? rng_below (rng, UINT32_MAX) : UINT32_MAX;

        for (size_t k = b->first[i]; k < b->first[i + 1] && !rng; k++)
            for (size_t e = crossing.start[b->col[k]];
                 e < crossing.start[b->col[k] + 1]; e++) {
                rest -= stamp[crossing.v[e]] != i + 1;
                stamp[crossing.v[e]] = i + 1;
            }
        order[i] = rest << 32 | i;
    }
    csr_clear (&crossing);
    free (stamp);
    if (b->n > 0)
        qsort (order, b->n, sizeof (*order), compare_u64);
    return order;
}

/* Colour the rows: each round takes as many as fit, in that order; or each row
 * goes to any round where chains make room for it.
 */
static struct rounds colour (const struct basis *b, struct rng *chains)
{
    uint64_t *order = order_rows (b, chains);
    size_t left = chains ? 0 : b->n;
    struct rounds r;

    rounds_open (&r, b);
    for (size_t i = left; i < b->n; i++)
        while (!rounds_put (&r, (uint32_t)order[i], true))
            rounds_add (&r);
    while (left > 0) {
        size_t keep = 0;

        rounds_add (&r);
        for (size_t i = 0; i < left; i++)
            if (rounds_fit (&r, (uint32_t)order[i], r.count - 1))
                rounds_place (&r, (uint32_t)order[i], r.count - 1);
            else
                order[keep++] = order[i];
        left = keep;
    }
    free (order);
    return r;
}

/* The plan of the current rows, if it has fewer rounds than the best so far. */
static void keep_better (const struct paper *p, struct rng *chains,
                         struct plan **best)
{
    struct rounds r = colour (&p->set, chains);

    if (!*best || r.count < plan_rounds (*best)) {
        struct rounds_slot *slot = rounds_sorted (&r);

        plan_destroy (*best);
        *best = plan_create ("pmm");
        for (size_t i = 0; i < r.n; i++) {
            const struct probe *pair = &p->set.pair[slot[i].pair];

            plan_add (*best, slot[i].round, pair->a, pair->b);
        }
        plan_set_rank (*best, p->set.m, r.n, r.count);
        free (slot);
    }
    rounds_clear (&r);
}

static void probes_shuffle (struct rng *rng, struct probe *probe, size_t n)
{
    for (size_t i = n; i > 1; i--) {
        size_t k = rng_below (rng, i);
        struct probe p = probe[k];

        probe[k] = probe[i - 1];
        probe[i - 1] = p;
    }
}

/* Try at most so many orders. */
static struct plan *make (struct pathset *ps, size_t orders, uint64_t seed,
                          struct error *err)
{
    size_t n = pathset_size (ps);
    struct paper p = { .ps = ps };
    struct plan *best = NULL;
    struct bound bound = { 0 };
    struct rng rng;
    int rc = 0;

    if (n < 2)
        return plan_create ("pmm");
    if (n > PAPER_HOSTS_MAX) {
        error_input (err, "%zu endpoints are too many for the paper's method:"
                     " at most %d", n, PAPER_HOSTS_MAX);
        return NULL;
    }
    p.pair = xarray (n * (n - 1) / 2, sizeof (*p.pair));
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = a + 1; b < n; b++)
            p.pair[p.npairs++] = (struct probe){ a, b };
    rng_seed (&rng, seed);
    if (orders > 1 && p.npairs <= FEW_PAIRS) {
        rc = bound_find (ps, 0, BOUND_QUICK, &bound, err);
        orders = FEW_ORDERS;
    }
    for (size_t i = 0; i < orders && rc == 0; i++) {
        uint64_t before = p.work;

        if ((rc = eliminate (&p, err)) < 0)
            break;
        keep_better (&p, i >= ORDERS && i % 2 ? &rng : NULL, &best);
        /* another one must be completed within the effort, too */
        if (p.work + (p.work - before) > ORDERS_EFFORT
            || plan_rounds (best) <= bound.rounds)
            break;
        probes_shuffle (&rng, p.pair, p.npairs);
    }
    free (p.pair);
    basis_clear (&p.set);
    if (rc == 0)
        return best;
    plan_destroy (best);
    return NULL;
}

struct plan *paper_make (struct pathset *ps, const struct plan_options *opts,
                         struct error *err)
{
    return make (ps, ORDERS, opts->seed, err);
}

struct plan *paper_make_first (struct pathset *ps,
                               const struct plan_options *opts,
                               struct error *err)
{
    return make (ps, 1, opts->seed, err);
}
