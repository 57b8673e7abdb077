/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rounds for jobs: what every packing must be, whatever the job. */
#include "config.h"
#include "core/plan/pack.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/plan/demand.h"
#include "core/plan/span.h"
#include "core/test/treenet.h"
#include "tests/tap.h"

#define COUNT(v) (sizeof (v) / sizeof ((v)[0]))

enum { EFFORT = 3000000 };

/* rounds: at most; 0: not said */
static const struct {
    size_t ports, levels;
    enum tree_routing routing;
    size_t hosts;
    bool contiguous;
    size_t rounds;
} jobs[] = {
    { 8, 2, TREE_DMODK, 2, false, 1 },
    { 12, 3, TREE_MINHOP, 3, false, 3 },
    { 12, 3, TREE_DMODK, 4, true, 3 }, /* on one leaf */
    { 12, 3, TREE_DMODK, 16, false, 20 },
    { 12, 3, TREE_MINHOP, 16, true, 6 },
    { 12, 3, TREE_DMODK, 64, false, 26 },
    { 12, 3, TREE_MINHOP, 64, false, 28 },
    { 12, 3, TREE_MINHOP, 64, true, 8 },
    { 24, 3, TREE_DMODK, 64, false, 65 },
    { 24, 3, TREE_MINHOP, 64, false, 52 },
    { 12, 3, TREE_RANDOM, 40, false, 0 },
};

static struct pathset *job_pathset (const struct treenet *t, size_t n,
                                    bool contiguous, uint64_t seed)
{
    uint32_t *who;
    struct pathset *ps;

    if (!contiguous)
        return treenet_random (t, n, seed);
    who = treenet_alloc (n, sizeof (*who));
    for (size_t i = 0; i < n; i++)
        who[i] = i;
    ps = treenet_pathset (t, who, n);
    free (who);
    return ps;
}

/* The rank of all candidates, by elimination of every one. */
static size_t rank_of (const struct basis *b)
{
    struct rref *r = rref_create (b->m);
    size_t rank;

    for (size_t i = 0; i < b->n; i++)
        rref_add (r, b->col + b->first[i], b->count + b->first[i],
                      b->first[i + 1] - b->first[i]);
    rank = rref_rank (r);
    rref_destroy (r);
    return rank;
}

/* The rank of the rows picked. */
static size_t rank_picked (const struct basis *b, const struct rounds *r)
{
    struct rref *rref = rref_create (b->m);
    size_t rank;

    for (size_t i = 0; i < r->n; i++) {
        size_t at = b->first[r->slot[i].pair];

        rref_add (rref, b->col + at, b->count + at,
                      b->first[r->slot[i].pair + 1] - at);
    }
    rank = rref_rank (rref);
    rref_destroy (rref);
    return rank;
}

/* Links and endpoints that two slots of a round share, and empty rounds. */
static size_t faults (const struct basis *b, const struct rounds *r)
{
    size_t size = b->m + b->nports;
    uint8_t *busy = treenet_alloc (size * r->count, 1);
    uint8_t *used = treenet_alloc (r->count, 1);
    size_t n = 0;

    for (size_t i = 0; i < r->n; i++) {
        uint8_t *round = busy + size * r->slot[i].round;
        uint32_t pair = r->slot[i].pair;

        used[r->slot[i].round] = 1;
        n += round[b->m + b->pair[pair].a]++;
        n += round[b->m + b->pair[pair].b]++;
        for (size_t k = b->first[pair]; k < b->first[pair + 1]; k++)
            n += round[b->col[k]]++;
    }
    for (size_t i = 0; i < r->count; i++)
        n += !used[i];
    free (busy);
    free (used);
    return n;
}

static void pack (struct packing *p, struct pathset *ps, uint64_t effort,
                  uint64_t eliminate)
{
    static struct rng rng;
    struct error err;

    rng_seed (&rng, 5);
    if (pack_job (p, ps, &rng, eliminate, &err) < 0
        || pack_search (p, effort, &err) < 0)
        abort ();
}

static bool same (const struct rounds *x, const struct rounds *y)
{
    return x->n == y->n && x->count == y->count
        && !memcmp (x->slot, y->slot, x->n * sizeof (*x->slot));
}

/* Columns that no row picked crosses. */
static size_t uncovered (const struct basis *b, const struct rounds *r)
{
    uint8_t *crossed = treenet_alloc (b->m, 1);
    size_t n = 0;

    for (size_t i = 0; i < r->n; i++)
        for (size_t k = b->first[r->slot[i].pair];
             k < b->first[r->slot[i].pair + 1]; k++)
            crossed[b->col[k]] = 1;
    for (size_t c = 0; c < b->m; c++)
        n += !crossed[c];
    free (crossed);
    return n;
}

/* What is picked with so little elimination, beside the rank. */
static void test_spent (struct pathset *ps, size_t rank, uint64_t eliminate)
{
    struct packing p, again;

    pack (&p, ps, EFFORT, eliminate);
    pack (&again, ps, EFFORT, eliminate);
    ok (!p.maximal || p.rounds.n == rank,
        "%zu rows of %zu with an effort of %ju%s", p.rounds.n, rank,
        (uintmax_t)eliminate, p.maximal ? "" : ", which is not all");
    ok (rank_picked (&p.basis, &p.rounds) == p.rounds.n
            && faults (&p.basis, &p.rounds) == 0
            && uncovered (&p.basis, &p.rounds) == 0,
        "independent, nothing shared in a round, every link crossed");
    ok (same (&p.rounds, &again.rounds), "the same from the same seed");
    pack_clear (&p);
    pack_clear (&again);
}

/* Effort for nothing, for a part of the way, for more and more of it. */
static void test_effort (void)
{
    static const uint64_t efforts[] = { 0, 3000, 30000, 100000, 300000 };
    struct treenet *t = treenet_create (12, 3, TREE_MINHOP, 7);
    struct pathset *ps = treenet_random (t, 64, 7);
    struct packing none;
    size_t rank;

    pack (&none, ps, EFFORT, 0);
    rank = rank_of (&none.basis);
    ok (!none.maximal && none.rounds.n < rank,
        "without effort, it is not maximal");
    pack_clear (&none);
    for (size_t i = 0; i < COUNT (efforts); i++)
        test_spent (ps, rank, efforts[i]);
    pathset_destroy (ps);
    treenet_destroy (t);
}

static void test_jobs (void)
{
    for (size_t i = 0; i < COUNT (jobs); i++) {
        struct treenet *t = treenet_create (jobs[i].ports, jobs[i].levels,
                                            jobs[i].routing, i);
        struct pathset *ps = job_pathset (t, jobs[i].hosts,
                                          jobs[i].contiguous, i);
        struct packing p, again;
        size_t rank;

        pack (&p, ps, EFFORT, UINT64_MAX);
        pack (&again, ps, EFFORT, UINT64_MAX);
        rank = rank_of (&p.basis);
        ok (p.maximal && p.rounds.n == rank
                && rank_picked (&p.basis, &p.rounds) == rank,
            "%zu of %zu hosts: %zu rows of rank %zu", jobs[i].hosts, t->n,
            p.rounds.n, rank);
        ok (faults (&p.basis, &p.rounds) == 0,
            "nothing shared in a round, none empty");
        ok (jobs[i].rounds == 0 || p.rounds.count <= jobs[i].rounds,
            "%zu rounds of %zu", p.rounds.count, jobs[i].rounds);
        ok (same (&p.rounds, &again.rounds), "the same from the same seed");
        pack_clear (&p);
        pack_clear (&again);
        pathset_destroy (ps);
        treenet_destroy (t);
    }
}

/* Work is counted over all that is tried, not each on its own. */
static void test_work (void)
{
    enum { MORE = 2000000 };
    struct treenet *t = treenet_create (12, 3, TREE_MINHOP, 7);
    struct pathset *ps = treenet_random (t, 64, 7);
    struct packing once, more;
    uint64_t effort;

    pack (&once, ps, 0, UINT64_MAX);
    effort = pack_work (&once) + MORE;
    pack (&more, ps, effort, UINT64_MAX);
    ok (once.maximal && more.maximal && pack_work (&more) > pack_work (&once)
            && pack_work (&more) < 2 * pack_work (&once) + MORE,
        "work %" PRIu64 ", of at most %" PRIu64 " and a last packing",
        pack_work (&more), effort);
    pack_clear (&once);
    pack_clear (&more);
    pathset_destroy (ps);
    treenet_destroy (t);
}

/* Elimination fills in so much that the rank is only found by the way; the
 * proof that it is all (plan/span) stands beside it.
 */
static void test_hard (void)
{
    struct treenet *t = treenet_create (24, 3, TREE_MINHOP, 1);
    struct pathset *ps = treenet_random (t, 200, 2);
    struct packing p;
    struct error err;

    pack (&p, ps, 0, 400000000);
    screen_draw (&p.form);
    ok (p.maximal && p.rounds.n == rref_rank (p.form.rref)
            && p.rounds.n < p.basis.m,
        "a hard job: %zu rows, of %zu links", p.rounds.n, p.basis.m);
    ok (span_complete (ps, p.form.z, p.rng, &err) == 1, "they span all");
    ok (faults (&p.basis, &p.rounds) == 0,
        "nothing shared in a round, none empty");
    ok (p.bound <= p.rounds.count && p.rounds.count <= 1.3 * p.bound,
        "%zu rounds, of %zu at least", p.rounds.count, p.bound);
    pack_clear (&p);
    pathset_destroy (ps);
    treenet_destroy (t);
}

/* More effort is of use: the job takes 8 rounds at once and 6 in the end, no
 * fewer being possible.
 */
static void test_far (void)
{
    struct treenet *t = treenet_create (12, 3, TREE_MINHOP, 7);
    struct pathset *ps = job_pathset (t, 64, true, 7);
    struct packing near, far;

    pack (&near, ps, 0, UINT64_MAX);
    pack (&far, ps, 20000000, UINT64_MAX);
    ok (far.rounds.count < near.rounds.count && far.maximal
            && far.bound <= far.rounds.count
            && rank_picked (&far.basis, &far.rounds) == far.rounds.n
            && faults (&far.basis, &far.rounds) == 0,
        "%zu rounds where there is time, %zu without, %zu at least",
        far.rounds.count, near.rounds.count, far.bound);
    pack_clear (&far);
    pack_clear (&near);
    pathset_destroy (ps);
    treenet_destroy (t);
}

/* Some of many pairs: enough for each link, and for the rank of all. */
static void test_candidates (void)
{
    struct treenet *t = treenet_create (12, 3, TREE_MINHOP, 3);
    struct pathset *ps = treenet_random (t, 400, 3);
    struct rref *all = NULL;
    size_t few = SIZE_MAX;
    size_t n = pathset_size (ps);
    uint32_t *rows;
    struct basis b;
    struct error err;
    struct rng rng;

    rng_seed (&rng, 1);
    if (basis_make (&b, ps, &rng, &err) < 0 || !(all = rref_create (b.m)))
        abort ();
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n && rref_rank (all) < b.m; k++) {
            struct row row;

            if (pathset_row (ps, i, k, &row, &err) < 0)
                abort ();
            for (size_t j = 0; j < row.n; j++)
                row.link[j] = pathset_column (ps, row.link[j]);
            rref_add (all, row.link, row.count, row.n);
        }
    ok (b.n < n * (n - 1) / 4, "%zu of %zu pairs", b.n, n * (n - 1) / 2);
    ok (rank_of (&b) == rref_rank (all), "of the rank of all, %zu",
        rref_rank (all));
    rows = treenet_alloc (b.m, sizeof (*rows));
    for (size_t k = 0; k < b.first[b.n]; k++)
        rows[b.col[k]]++;
    for (size_t c = 0; c < b.m; c++)
        few = rows[c] < few ? rows[c] : few;
    ok (few >= 8, "each link with %zu rows at least", few);
    free (rows);
    rref_destroy (all);
    basis_clear (&b);
    pathset_destroy (ps);
    treenet_destroy (t);
}

/* One host of a leaf of its own beside a whole leaf: d-mod-k sends each of
 * the others another way, and only the one can tell.
 */
static void test_demand (void)
{
    struct treenet *t = treenet_create (8, 2, TREE_DMODK, 1);
    const uint32_t who[] = { 0, 4, 5, 6, 7 };
    struct pathset *ps = treenet_pathset (t, who, COUNT (who));
    double *demand;
    struct basis b;
    struct error err;
    struct rng rng;

    rng_seed (&rng, 1);
    if (basis_make (&b, ps, &rng, &err) < 0)
        abort ();
    demand = demand_find (&b);
    ok (demand[0] == 4, "the lonely host is busy in %g rounds", demand[0]);
    ok (demand[1] < demand[0], "a host among others in %g", demand[1]);
    free (demand);
    basis_clear (&b);
    pathset_destroy (ps);
    treenet_destroy (t);
}

int main (void)
{
    test_jobs ();
    test_effort ();
    test_work ();
    test_hard ();
    test_far ();
    test_candidates ();
    test_demand ();
    return done_testing ();
}
