/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The method of the source paper.
 *
 * Notes: elimination in the first order runs to the end, so its rank is that of
 * all pairs; other orders stop when they have as many rows. All maximal
 * independent sets of few pairs are found by including or skipping one pair
 * after the other; the included rows are in echelon form on a stack. The number
 * of sets is exponential in the number of pairs.
 */
#include "config.h"
#include "core/plan/paper.h"

#include <stdlib.h>
#include <string.h>

#include "core/plan/bound.h"
#include "core/plan/colour.h"
#include "core/plan/rref.h"
#include "util/alloc.h"
#include "util/rng.h"

enum {
    ORDERS_MAX = 16,
    FEW_PAIRS = 66, /* those of 12 endpoints */
};

#define ORDERS_EFFORT (UINT64_C (1) << 30) /* entries touched */
#define SETS_EFFORT (UINT64_C (1) << 22)   /* rows reduced, probes coloured */

struct paper {
    struct pathset *ps;
    size_t n, m, npairs;
    struct probe *pair;  /* [npairs] */
    uint32_t *order;     /* [npairs] */
    size_t rank;         /* of all pairs; 0: not known yet */
    size_t bound;
    uint32_t *set;       /* [rank] current pairs */
    size_t set_size;
    uint32_t *best;      /* [rank] pairs in the fewest rounds */
    uint32_t *colour;    /* [rank] their rounds */
    int rounds;          /* 0: none yet */
};

/* The row of a pair, in columns of the set. */
static int row_of (const struct paper *p, size_t pair, struct row *row,
                   struct error *err)
{
    if (pathset_row (p->ps, p->pair[pair].a, p->pair[pair].b, row, err) < 0)
        return -1;
    for (size_t i = 0; i < row->n; i++)
        row->link[i] = pathset_column (p->ps, row->link[i]);
    return 0;
}

/* Gaussian elimination of the pairs in their order: set[] is what it keeps. */
static int eliminate (struct paper *p, uint64_t *work, struct error *err)
{
    struct rref *form = rref_create (p->m);
    struct row row;
    int rc = 0;

    p->set_size = 0;
    for (size_t k = 0; k < p->npairs && rc == 0; k++) {
        if ((rc = row_of (p, p->order[k], &row, err)) == 0
            && rref_add (form, row.link, row.count, row.n))
            p->set[p->set_size++] = p->order[k];
        if (p->rank > 0 && p->set_size == p->rank)
            break;
    }
    p->rank = p->set_size;
    *work += rref_work (form);
    rref_destroy (form);
    return rc;
}

/* The conflict graph of set[]: resources are links and endpoints. */
static int conflicts (const struct paper *p, struct graph *g,
                      struct error *err)
{
    struct csr needs = { .n = p->set_size };
    int rc = 0;

    *g = (struct graph){ 0 };
    needs.start = xcalloc (needs.n + 1, sizeof (*needs.start));
    needs.v = xarray (needs.n, (ROW_MAX + 2) * sizeof (*needs.v));
    for (size_t v = 0; v < needs.n && rc == 0; v++) {
        uint32_t *need = needs.v + needs.start[v];
        struct row row;

        if ((rc = row_of (p, p->set[v], &row, err)) < 0)
            break;
        memcpy (need, row.link, row.n * sizeof (*row.link));
        need[row.n] = p->m + p->pair[p->set[v]].a;
        need[row.n + 1] = p->m + p->pair[p->set[v]].b;
        needs.start[v + 1] = needs.start[v] + row.n + 2;
    }
    if (rc == 0)
        graph_conflicts (g, &needs, p->m + p->n);
    csr_clear (&needs);
    return rc;
}

static void keep (struct paper *p, const uint32_t *colour, int rounds)
{
    memcpy (p->best, p->set, p->set_size * sizeof (*p->best));
    memcpy (p->colour, colour, p->set_size * sizeof (*p->colour));
    p->rounds = rounds;
}

/* Colour set[] and keep it if that takes fewer rounds than the best; if effort
 * is given, search for the fewest.
 */
static int colour_set (struct paper *p, uint64_t *effort, struct error *err)
{
    uint32_t *colour = xcalloc (p->set_size + 1, sizeof (*colour));
    struct graph g = { 0 };
    int rc = conflicts (p, &g, err);
    int rounds;

    if (rc == 0) {
        rounds = colour_welch_powell (&g, colour);
        if (p->rounds == 0 || rounds < p->rounds)
            keep (p, colour, rounds);
    }
    if (rc == 0 && effort) {
        rounds = colour_exact (&g, p->rounds, p->bound, effort, colour);
        if (rounds < p->rounds)
            keep (p, colour, rounds);
    }
    graph_clear (&g);
    free (colour);
    return rc;
}

static int try_orders (struct paper *p, int orders, struct rng *rng,
                       struct error *err)
{
    uint64_t work = 0;

    for (int i = 0; i < orders; i++) {
        uint64_t before = work;

        if (eliminate (p, &work, err) < 0 || colour_set (p, NULL, err) < 0)
            return -1;
        /* as long as another one can be completed */
        if (work + (work - before) > ORDERS_EFFORT)
            break;
        rng_shuffle (rng, p->order, p->npairs);
    }
    return 0;
}

/*
 * All maximal independent sets of few pairs
 */

struct stack {
    struct paper *paper;
    uint64_t *row;   /* [npairs * m] of all pairs */
    uint64_t *line;  /* [rank * m] of the included, reduced by those below */
    uint32_t *pivot; /* [rank] */
    uint64_t effort;
    struct error *err;
};

/* Reduce the row of a pair by the lines on the stack and put it on top. False
 * if nothing is left of it.
 */
static bool lay (struct stack *s, size_t pair)
{
    struct paper *p = s->paper;
    uint64_t *top = s->line + p->set_size * p->m;
    uint64_t scale;
    size_t c = 0;

    memcpy (top, s->row + pair * p->m, p->m * sizeof (*top));
    for (size_t i = 0; i < p->set_size; i++) {
        const uint64_t *line = s->line + i * p->m;
        uint64_t factor = prime_neg (top[s->pivot[i]]);

        for (size_t k = 0; k < p->m && factor != 0; k++)
            top[k] = prime_add (top[k], prime_mul (factor, line[k]));
    }
    while (c < p->m && top[c] == 0)
        c++;
    if (c == p->m)
        return false;
    scale = prime_inverse (top[c]);
    for (size_t k = c; k < p->m; k++)
        top[k] = prime_mul (top[k], scale);
    s->pivot[p->set_size] = c;
    return true;
}

/* Try all sets that contain set[] and otherwise pairs from `next` on. */
static int descend (struct stack *s, size_t next)
{
    struct paper *p = s->paper;

    if (p->set_size == p->rank)
        return colour_set (p, &s->effort, s->err);
    for (size_t k = next; k + p->rank - p->set_size <= p->npairs; k++) {
        if (s->effort == 0 || (size_t)p->rounds <= p->bound)
            return 0;
        s->effort--;
        if (!lay (s, k))
            continue;
        p->set[p->set_size++] = k;
        if (descend (s, k + 1) < 0)
            return -1;
        p->set_size--;
    }
    return 0;
}

static int try_sets (struct paper *p, struct error *err)
{
    struct stack s = { .paper = p, .effort = SETS_EFFORT, .err = err };
    int rc = 0;

    s.row = xcalloc (p->npairs * p->m, sizeof (*s.row));
    s.line = xarray ((p->rank + 1) * p->m, sizeof (*s.line));
    s.pivot = xarray (p->rank + 1, sizeof (*s.pivot));
    for (size_t k = 0; k < p->npairs && rc == 0; k++) {
        struct row row;

        rc = row_of (p, k, &row, err);
        for (size_t i = 0; rc == 0 && i < row.n; i++)
            s.row[k * p->m + row.link[i]] = row.count[i];
    }
    p->set_size = 0;
    if (rc == 0)
        rc = descend (&s, 0);
    free (s.row);
    free (s.line);
    free (s.pivot);
    return rc;
}

/*
 * The plan
 */

/* Find the rounds; try at most so many orders. */
static int find_rounds (struct paper *p, int orders, uint64_t seed,
                        struct error *err)
{
    struct bound bound;
    struct rng rng;
    size_t k = 0;

    if (!pathset_links (p->ps, &p->m, err))
        return -1;
    p->npairs = p->n * (p->n - 1) / 2;
    p->pair = xarray (p->npairs, sizeof (*p->pair));
    p->order = xarray (p->npairs, sizeof (*p->order));
    p->set = xarray (p->m, sizeof (*p->set));
    p->best = xarray (p->m, sizeof (*p->best));
    p->colour = xarray (p->m, sizeof (*p->colour));
    for (uint32_t a = 0; a < p->n; a++)
        for (uint32_t b = a + 1; b < p->n; b++, k++) {
            p->pair[k] = (struct probe){ a, b };
            p->order[k] = k;
        }
    rng_seed (&rng, seed);
    if (try_orders (p, orders, &rng, err) < 0)
        return -1;
    if (orders == 1 || p->npairs > FEW_PAIRS)
        return 0;
    if (bound_find (p->ps, p->rank, BOUND_QUICK, &bound, err) < 0)
        return -1;
    p->bound = bound.rounds;
    return try_sets (p, err);
}

static struct plan *make (struct pathset *ps, int orders, uint64_t seed,
                          struct error *err)
{
    struct paper p = { .ps = ps, .n = pathset_size (ps) };
    struct plan *plan = NULL;

    if (p.n > PAPER_HOSTS_MAX)
        error_input (err, "%zu endpoints are too many for the paper's method:"
                     " at most %d", p.n, PAPER_HOSTS_MAX);
    else if (p.n < 2 || find_rounds (&p, orders, seed, err) == 0) {
        plan = plan_create ("paper");
        for (size_t v = 0; v < p.rank; v++) {
            const struct probe *pair = &p.pair[p.best[v]];

            plan_add (plan, p.colour[v], pair->a, pair->b);
        }
        plan_set_rank (plan, p.m, p.rank, p.rounds);
        plan_set_bound (plan, p.bound);
    }
    free (p.pair);
    free (p.order);
    free (p.set);
    free (p.best);
    free (p.colour);
    return plan;
}

struct plan *paper_make (struct pathset *ps, const struct plan_options *opts,
                         struct error *err)
{
    return make (ps, ORDERS_MAX, opts->seed, err);
}

struct plan *paper_make_first (struct pathset *ps,
                               const struct plan_options *opts,
                               struct error *err)
{
    return make (ps, 1, opts->seed, err);
}
