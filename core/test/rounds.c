/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rounds for jobs: what every packing must be, whatever the job. */
#include "config.h"
#include "core/plan/rounds.h"

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

static void pack (struct rounds *r, const struct basis *b, uint64_t eliminate)
{
    const struct rounds_effort effort = {
        .search = EFFORT,
        .eliminate = eliminate,
    };
    struct rng rng;

    rng_seed (&rng, 5);
    rounds_pack (r, b, &rng, &effort, NULL);
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
static void test_spent (const struct basis *b, size_t rank, uint64_t eliminate)
{
    struct rounds r, again;

    pack (&r, b, eliminate);
    pack (&again, b, eliminate);
    ok (!r.maximal || r.n == rank, "%zu rows of %zu with an effort of %ju%s",
        r.n, rank, (uintmax_t)eliminate, r.maximal ? "" : ", which is not all");
    ok (rank_picked (b, &r) == r.n && faults (b, &r) == 0
            && uncovered (b, &r) == 0,
        "independent, nothing shared in a round, every link crossed");
    ok (r.n == again.n && r.count == again.count
            && !memcmp (r.slot, again.slot, r.n * sizeof (*r.slot)),
        "the same from the same seed");
    rounds_clear (&r);
    rounds_clear (&again);
}

/* Effort for nothing, for a part of the way, for more and more of it. */
static void test_effort (void)
{
    static const uint64_t efforts[] = { 0, 3000, 30000, 100000, 300000 };
    struct treenet *t = treenet_create (12, 3, TREE_MINHOP, 7);
    struct pathset *ps = treenet_random (t, 64, 7);
    struct rounds none;
    struct basis b;
    struct error err;
    struct rng rng;
    size_t rank;

    rng_seed (&rng, 1);
    if (basis_make (&b, ps, &rng, &err) < 0)
        abort ();
    rank = rank_of (&b);
    for (size_t i = 0; i < COUNT (efforts); i++)
        test_spent (&b, rank, efforts[i]);
    pack (&none, &b, 0);
    ok (!none.maximal && none.n < rank, "without effort, it is not maximal");
    rounds_clear (&none);
    basis_clear (&b);
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
        struct rounds r, again;
        struct basis b;
        struct error err;
        struct rng rng;
        size_t rank;

        rng_seed (&rng, 1);
        if (basis_make (&b, ps, &rng, &err) < 0)
            abort ();
        rank = rank_of (&b);
        pack (&r, &b, UINT64_MAX);
        pack (&again, &b, UINT64_MAX);
        ok (r.maximal && r.n == rank && rank_picked (&b, &r) == rank,
            "%zu of %zu hosts: %zu rows of rank %zu", jobs[i].hosts, t->n,
            r.n, rank);
        ok (faults (&b, &r) == 0, "nothing shared in a round, none empty");
        ok (jobs[i].rounds == 0 || r.count <= jobs[i].rounds,
            "%zu rounds of %zu", r.count, jobs[i].rounds);
        ok (r.n == again.n && r.count == again.count
                && !memcmp (r.slot, again.slot, r.n * sizeof (*r.slot)),
            "the same from the same seed");
        rounds_clear (&r);
        rounds_clear (&again);
        basis_clear (&b);
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
    struct rounds_effort effort = { .eliminate = UINT64_MAX };
    struct rounds once, more;
    struct basis b;
    struct error err;
    struct rng rng;

    rng_seed (&rng, 1);
    if (basis_make (&b, ps, &rng, &err) < 0)
        abort ();
    rounds_pack (&once, &b, &rng, &effort, NULL);
    effort.search = once.work + MORE;
    rounds_pack (&more, &b, &rng, &effort, NULL);
    ok (once.maximal && more.maximal && more.work > once.work
            && more.work < 2 * once.work + MORE,
        "work %" PRIu64 ", of at most %" PRIu64 " and a last packing",
        more.work, effort.search);
    rounds_clear (&once);
    rounds_clear (&more);
    basis_clear (&b);
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
    const struct rounds_effort effort = { .eliminate = 400000000 };
    struct rref *rref;
    struct rounds r;
    struct basis b;
    struct error err;
    struct rng rng;
    uint64_t *z;

    rng_seed (&rng, 1);
    if (basis_make (&b, ps, &rng, &err) < 0)
        abort ();
    rounds_pack (&r, &b, &rng, &effort, &rref);
    z = treenet_alloc (b.m, sizeof (*z));
    rref_null (rref, &rng, z);
    ok (r.maximal && r.n == rref_rank (rref) && r.n < b.m,
        "a hard job: %zu rows, of %zu links", r.n, b.m);
    ok (span_complete (ps, z, &rng, &err) == 1, "they span all");
    ok (faults (&b, &r) == 0, "nothing shared in a round, none empty");
    ok (r.least <= r.count && r.count <= 1.3 * r.least,
        "%zu rounds, of %zu at least", r.count, r.least);
    free (z);
    rref_destroy (rref);
    rounds_clear (&r);
    basis_clear (&b);
    pathset_destroy (ps);
    treenet_destroy (t);
}

/* Effort for what is far from the bound is spent there only, and of use: the
 * job takes 8 rounds at once and 6 in the end, no fewer being possible.
 */
static void test_far (void)
{
    struct treenet *t = treenet_create (12, 3, TREE_MINHOP, 7);
    struct pathset *ps = job_pathset (t, 64, true, 7);
    struct rounds_effort effort = { .eliminate = UINT64_MAX, .near = 1.1 };
    struct rounds near, far;
    struct basis b;
    struct error err;
    struct rng rng;

    rng_seed (&rng, 1);
    if (basis_make (&b, ps, &rng, &err) < 0)
        abort ();
    rounds_pack (&near, &b, &rng, &effort, NULL);
    effort.far = 20000000;
    rounds_pack (&far, &b, &rng, &effort, NULL);
    ok (far.count < near.count && far.maximal && far.least <= far.count
            && rank_picked (&b, &far) == far.n && faults (&b, &far) == 0,
        "%zu rounds where there is time, %zu without, %zu at least",
        far.count, near.count, far.least);
    rounds_clear (&far);
    effort.near = near.count;
    rounds_pack (&far, &b, &rng, &effort, NULL);
    ok (far.work < effort.far / 2, "what is near takes no longer");
    rounds_clear (&far);
    rounds_clear (&near);
    basis_clear (&b);
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
