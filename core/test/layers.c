/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packings of whole fabrics, and of jobs that take most of some pods: disjoint,
 * independent, of full rank, near the bound.
 */
#include "config.h"
#include "core/plan/pack.h"

#include <stdlib.h>
#include <string.h>

#include "core/test/tablenet.h"
#include "core/test/treenet.h"
#include "tests/tap.h"

/* The rank of all pairs. */
static size_t full_rank (struct pathset *ps)
{
    struct basis all;
    struct rng rng;
    struct error err;
    struct rref *rref;
    size_t rank;

    rng_seed (&rng, 1);
    if (basis_make (&all, ps, &rng, &err) < 0
        || !(rref = rref_create (all.m)))
        abort ();
    for (size_t i = 0; i < all.n; i++)
        rref_add (rref, all.col + all.first[i], all.count + all.first[i],
                  all.first[i + 1] - all.first[i]);
    rank = rref_rank (rref);
    rref_destroy (rref);
    basis_clear (&all);
    return rank;
}

/* How many slots share a link or an endpoint with another of their round, or
 * follow from those before; and rounds that are empty.
 */
static size_t faults (const struct rounds *rounds, const struct basis *b)
{
    size_t width = b->m + b->nports;
    uint8_t *busy = table_alloc (rounds->count * width, 1);
    struct rref *rref = rref_create (b->m);
    uint8_t *used = table_alloc (rounds->count, 1);
    size_t n = 0;

    if (!rref)
        abort ();
    for (size_t i = 0; i < rounds->n; i++) {
        const struct rounds_slot *s = &rounds->slot[i];
        uint8_t *round = busy + s->round * width;
        size_t at = b->first[s->pair];
        size_t len = b->first[s->pair + 1] - at;

        n += s->round >= rounds->count;
        used[s->round] = 1;
        n += round[b->m + b->pair[s->pair].a]++;
        n += round[b->m + b->pair[s->pair].b]++;
        for (size_t k = at; k < at + len; k++)
            n += round[b->col[k]]++;
        n += rref_add (rref, b->col + at, b->count + at, len) != 1;
    }
    for (size_t r = 0; r < rounds->count; r++)
        n += !used[r];
    free (used);
    free (busy);
    rref_destroy (rref);
    return n;
}

enum { JOB_EFFORT = 40000000 };

/* Pack, as a job if it is one, with every check there is. Returns the rounds, 0
 * where it fails.
 */
static size_t pack (struct pathset *ps, uint64_t seed, uint64_t effort,
                    bool job, size_t *bound)
{
    struct packing p;
    struct rng rng;
    struct error err;
    size_t count = 0;
    int rc;

    rng_seed (&rng, seed);
    if ((rc = pack_whole (&p, ps, &rng, !job, &err)) > 0) {
        pack_clear (&p);
        rc = pack_job (&p, ps, &rng, UINT64_MAX, &err);
        effort = JOB_EFFORT;
    }
    if (rc < 0 || pack_search (&p, effort, &err) < 0)
        diag ("%s", err.text);
    else {
        *bound = plan_least_rounds (p.basis.nports, p.rank);
        if (p.rounds.n == p.rank && p.rank == full_rank (ps)
            && faults (&p.rounds, &p.basis) == 0)
            count = p.rounds.count;
    }
    pack_clear (&p);
    return count;
}

static const struct {
    size_t ports, levels;
    enum tree_routing routing;
    size_t above;    /* rounds above the bound, at most */
    uint64_t effort;
} trees[] = {
    { 8, 2, TREE_DMODK, 1, 0 },       { 8, 2, TREE_RANDOM, 2, 0 },
    { 8, 3, TREE_DMODK, 1, 0 },       { 8, 3, TREE_MINHOP, 2, 0 },
    { 8, 3, TREE_RANDOM, 2, 0 },      { 12, 2, TREE_DMODK, 1, 0 },
    { 12, 3, TREE_DMODK, 1, 0 },      { 12, 3, TREE_MINHOP, 1, 0 },
    { 12, 3, TREE_RANDOM, 1, 0 },     { 8, 4, TREE_DMODK, 1, 0 },
    { 8, 3, TREE_MINHOP, 2, 2000000 }, { 4, 3, TREE_DMODK, 3, 0 },
};

static void test_trees (void)
{
    for (size_t i = 0; i < sizeof (trees) / sizeof (trees[0]); i++) {
        struct treenet *t = treenet_create (trees[i].ports, trees[i].levels,
                                            trees[i].routing, i);
        struct pathset *ps = treenet_pathset (t, NULL, 0);
        size_t bound = 0;
        size_t rounds = pack (ps, i, trees[i].effort, false, &bound);

        ok (rounds >= bound && rounds > 0
                && rounds <= bound + trees[i].above,
            "%zu-port %zu-tree, routing %d: %zu rounds, bound %zu",
            trees[i].ports, trees[i].levels, trees[i].routing, rounds, bound);
        pathset_destroy (ps);
        treenet_destroy (t);
    }
}

/* Jobs of hosts in a row, with few in the first pod: these have to be busy in
 * nearly all rounds, by rows that symmetric ones do not span.
 */
static const struct {
    size_t ports;
    enum tree_routing routing;
    uint32_t from, end;
    size_t bound; /* no plan has fewer rounds (bench/bound) */
} jobs[] = {
    { 12, TREE_DMODK, 30, 108, 14 }, { 16, TREE_DMODK, 56, 192, 18 },
    { 16, TREE_MINHOP, 56, 192, 16 }, { 20, TREE_DMODK, 90, 300, 22 },
};

static void test_jobs (void)
{
    for (size_t i = 0; i < sizeof (jobs) / sizeof (jobs[0]); i++) {
        struct treenet *t = treenet_create (jobs[i].ports, 3, jobs[i].routing,
                                            1);
        size_t n = jobs[i].end - jobs[i].from;
        uint32_t *who = table_alloc (n, sizeof (*who));
        struct pathset *ps;
        size_t hosts, rounds;

        for (size_t k = 0; k < n; k++)
            who[k] = jobs[i].from + k;
        ps = treenet_pathset (t, who, n);
        rounds = pack (ps, 1, 0, true, &hosts);
        ok (jobs[i].bound > hosts && rounds >= jobs[i].bound
                && rounds <= 1.3 * jobs[i].bound,
            "%zu-port 3-tree, routing %d, hosts %u to %u: %zu rounds, bound"
            " %zu", jobs[i].ports, jobs[i].routing, jobs[i].from, jobs[i].end,
            rounds, jobs[i].bound);
        pathset_destroy (ps);
        treenet_destroy (t);
        free (who);
    }
}

/* Small networks of any shape, some without symmetric rows that span all. */
static void test_irregular (void)
{
    const size_t many = trials (200);
    size_t good = 0;

    for (size_t i = 0; i < many; i++) {
        struct tablenet *t = tablenet_irregular (1 + i % 7, 2 + i % 13, i % 6,
                                                 i);
        struct pathset *ps = tablenet_pathset (t, NULL, 0);
        size_t bound;

        good += pack (ps, i, i % 2 ? 10000 : 0, false,
                      &bound) > 0;
        pathset_destroy (ps);
        tablenet_destroy (t);
    }
    ok (good == many, "%zu of %zu irregular networks", good, many);
}

int main (void)
{
    test_trees ();
    test_jobs ();
    test_irregular ();
    return done_testing ();
}
