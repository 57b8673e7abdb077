/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prices: against all bases of small systems of rows, and their rounds. */
#include "config.h"
#include "bench/price.h"

#include <stdbool.h>
#include <stdlib.h>

#include "bench/bound.h"
#include "core/plan/rref.h"
#include "core/test/tablenet.h"
#include "tests/tap.h"

enum { M = 7, ROWS = 11, EFFORT = 200000 };

/* Rows of 1 to 4 entries, some columns twice. */
static void draw_rows (struct rows *rows, struct rng *rng)
{
    rows_init (rows, M, rng);
    for (uint32_t i = 0; i < ROWS; i++) {
        size_t n = 1 + rng_below (rng, 4);
        uint32_t col[4];

        for (size_t k = 0; k < n; k++)
            col[k] = rng_below (rng, M);
        rows_add (rows, (struct probe){ i, i + 1 }, col, n);
    }
}

static void count_row (const struct rows *rows, size_t i, uint8_t *count)
{
    for (size_t c = 0; c < M; c++)
        count[c] = 0;
    for (size_t k = rows->first[i]; k < rows->first[i + 1]; k++)
        count[rows->col[k]]++;
}

/* The rank of the rows of a set, by the planner's elimination. */
static size_t rank_of (const struct rows *rows, unsigned int set)
{
    struct rref *rref = rref_create (M);
    size_t rank;

    for (size_t i = 0; i < rows->n; i++) {
        uint8_t all[M], count[M];
        uint32_t col[M];
        size_t n = 0;

        count_row (rows, i, all);
        for (uint32_t c = 0; c < M; c++)
            if (all[c] > 0) {
                col[n] = c;
                count[n++] = all[c];
            }
        if (set >> i & 1)
            rref_add (rref, col, count, n);
    }
    rank = rref_rank (rref);
    rref_destroy (rref);
    return rank;
}

static uint64_t cost_of (const struct rows *rows, unsigned int set,
                         const uint64_t *each)
{
    uint64_t cost = 0;

    for (size_t i = 0; i < rows->n; i++) {
        uint8_t count[M];

        count_row (rows, i, count);
        for (size_t c = 0; c < M; c++)
            cost += (set >> i & 1) && count[c] > 0 ? each[c] : 0;
    }
    return cost;
}

/* Can rows i and up of a set be put into so many rounds, of which busy[] says
 * which links they have taken?
 */
static bool fits (const struct rows *rows, unsigned int set, size_t i,
                  size_t rounds, unsigned int *busy)
{
    unsigned int links = 0;

    while (i < rows->n && !(set >> i & 1))
        i++;
    if (i == rows->n)
        return true;
    for (size_t k = rows->first[i]; k < rows->first[i + 1]; k++)
        links |= 1u << rows->col[k];
    for (size_t r = 0; r < rounds; r++) {
        bool good;

        if (busy[r] & links)
            continue;
        busy[r] |= links;
        good = fits (rows, set, i + 1, rounds, busy);
        busy[r] &= ~links;
        if (good)
            return true;
    }
    return false;
}

/* What all bases there are cost at least, and the fewest rounds of any. */
static size_t best_of_all (const struct rows *rows, size_t rank,
                           const uint64_t *each, uint64_t *cost)
{
    size_t rounds = ROWS;

    *cost = UINT64_MAX;
    for (unsigned int set = 0; set < 1u << rows->n; set++) {
        unsigned int busy[ROWS] = { 0 };
        uint64_t x;

        if ((size_t)__builtin_popcount (set) != rank
            || rank_of (rows, set) != rank)
            continue;
        x = cost_of (rows, set, each);
        *cost = x < *cost ? x : *cost;
        while (rounds > 0 && fits (rows, set, 0, rounds - 1, busy))
            rounds--;
    }
    return rounds;
}

/* Does it say that so many rounds do not do? */
static bool excluded (const struct rows *rows, size_t rank, size_t rounds,
                      struct rng *rng, uint64_t effort)
{
    struct price price;
    uint64_t each[M];

    for (size_t c = 0; c < M; c++)
        each[c] = PRICE_FIRST;
    price = price_exclude (rows, rank, rounds, each, rng, &effort);
    return price_rounds (&price) > rounds;
}

/* However much effort there is for it: the cost is that of the cheapest basis
 * at the prices that it says, and no plan has fewer rounds than it says.
 */
static void test_all (void)
{
    const size_t many = trials (300);
    size_t cheapest = 0, below = 0, tight = 0, wrong = 0, proven = 0;
    struct rng rng;

    rng_seed (&rng, 11);
    for (size_t i = 0; i < many; i++) {
        uint64_t effort = i % 4 == 3 ? EFFORT : 1000 << i % 4;
        uint64_t each[M], cost, sum = 0;
        size_t rank, rounds;
        struct price price;
        struct rows rows;

        draw_rows (&rows, &rng);
        rank = rank_of (&rows, (1u << rows.n) - 1);
        for (size_t c = 0; c < M; c++)
            each[c] = 1 + rng_below (&rng, PRICE_FIRST);
        price = price_find (&rows, rank, each, &rng, &effort);
        for (size_t c = 0; c < M; c++)
            sum += each[c];
        rounds = best_of_all (&rows, rank, each, &cost);
        cheapest += price.sum == 0
            || (price.sum == sum && price.cost == cost);
        below += price_rounds (&price) <= rounds;
        tight += price_rounds (&price) == rounds;
        wrong += excluded (&rows, rank, rounds, &rng, EFFORT << i % 4)
            || excluded (&rows, rank, rounds, &rng, 50 << i % 8);
        proven += rounds == 1
            || excluded (&rows, rank, rounds - 1, &rng, EFFORT);
        rows_clear (&rows);
    }
    ok (cheapest == many, "%zu of %zu are the cheapest basis", cheapest,
        many);
    ok (below == many, "%zu are no more than the fewest rounds", below);
    ok (tight > many / 2, "%zu are the fewest", tight);
    ok (wrong == 0, "%zu rounds excluded that are possible", wrong);
    ok (proven > tight, "of %zu a round less is excluded", proven);
}

/* The three sides of a triangle of links a, b, c: a+b, b+c, c+a. Any two of
 * them share a link: 3 rounds, of which prices say 6 / 3 = 2, and, as a round
 * sells 2 of 3 links, 3. With a fourth link that all cross: 3.
 */
static void test_known (void)
{
    static const uint32_t side[3][3] = {
        { 0, 1, 3 }, { 1, 2, 3 }, { 2, 0, 3 },
    };

    for (size_t n = 2; n <= 3; n++) {
        uint64_t each[4] = { 1, 1, 1, 1 }, effort = EFFORT;
        struct price price;
        struct rows rows;
        struct rng rng;

        rng_seed (&rng, 1);
        rows_init (&rows, n + 1, &rng);
        for (uint32_t i = 0; i < 3; i++)
            rows_add (&rows, (struct probe){ i, i + 1 }, side[i], n);
        price = price_find (&rows, 3, each, &rng, &effort);
        ok (price_rounds (&price) == n, "a triangle%s: %zu rounds",
            n == 2 ? "" : " with a trunk", price_rounds (&price));
        effort = EFFORT;
        price = price_exclude (&rows, 3, 2, each, &rng, &effort);
        ok (price_rounds (&price) == 3, "two do not do");
        price = price_exclude (&rows, 3, 3, each, &rng, &effort);
        ok (price.sum == 0, "three may");
        effort = 1;
        price = price_find (&rows, 3, each, &rng, &effort);
        ok (price_rounds (&price) == 0 && effort == 0,
            "nothing is said without effort");
        rows_clear (&rows);
    }
}

/* Worked out on paper, as bench/test/bound.c does for sets. Let h be links of
 * the a hosts, g of the b, t the trunk.
 *
 * - The same with a trunk: of these 10 only h_1 + h_2 avoids it: 9 rounds, and
 *   in none of them there is room for h_1 + h_2: 10.
 * - Two and two with a trunk: h_1 + h_2, g_1 + g_2 avoid it, rank 5: 3 rows
 *   over the trunk, with no room beside them, and a round for the two: 4.
 */
static void test_sets (void)
{
    static const struct {
        size_t a, b, branches, rank, rounds;
    } known[] = {
        { 2, 2, 0, 5, 4 },
        { 2, 8, 8, 18, 10 },
    };

    for (size_t i = 0; i < sizeof (known) / sizeof (known[0]); i++) {
        struct tablenet *t = tablenet_two_stars (known[i].a, known[i].b, 1,
                                                 known[i].branches);
        struct pathset *ps = tablenet_pathset (t, NULL, 0);
        struct bound bound;
        struct error err;
        size_t rounds;

        if (bound_find (ps, 0, BOUND_EFFORT, &bound, &err) < 0)
            abort ();
        rounds = bound.rounds;
        if (price_bound (ps, bound.rank, BOUND_EFFORT, &rounds, &err) < 0)
            abort ();
        ok (bound.rank == known[i].rank && rounds == known[i].rounds
                && bound.rounds < rounds,
            "rank %zu, %zu rounds by prices, %zu by sets", bound.rank, rounds,
            bound.rounds);
        pathset_destroy (ps);
        tablenet_destroy (t);
    }
}

int main (void)
{
    test_known ();
    test_all ();
    test_sets ();
    return done_testing ();
}
