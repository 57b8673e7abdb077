/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prices of links, and the lower bound on rounds that they prove.
 *
 * Read by bench/planner: the gap that the plain bounds (bench/bound) leave.
 *
 * Give every link a price. The cost of a row is the sum over its links, each
 * once, however often it is crossed. No basis costs less than the greedy one,
 * which takes the cheapest independent row next, as in any matroid; and a round
 * can sell each link only once. So, for any prices, at least
 *
 *     ceil (cost of the cheapest basis / sum of all prices)
 *
 * rounds are needed. The best prices are the dual of a linear program: a
 * mixture of bases that minimises the load of the most loaded link.
 *
 * Usually no round can sell all links, as rows that share no link leave some
 * unused. If there are few rows, all rounds can be enumerated.
 */
#ifndef BENCH_PRICE_H
#define BENCH_PRICE_H

#include <stddef.h>
#include <stdint.h>

#include "bench/rows.h"
#include "core/paths/paths.h"
#include "util/error.h"
#include "util/rng.h"

struct price {
    uint64_t cost; /* of the cheapest basis */
    uint64_t sum;  /* what a round sells at most; 0: not known */
};

#define PRICE_FIRST (UINT64_C (1) << 28) /* initial price of an expensive
                                            link */

/* Search for the prices that give the best bound, from each[rows->m], 1 ..
 * PRICE_FIRST, which are set to those found. rows are those of all pairs, and
 * rank is theirs, or less if it is not known. *effort, in entries touched, is
 * the budget; what was used is subtracted.
 */
struct price price_find (const struct rows *rows, size_t rank, uint64_t *each,
                         struct rng *rng, uint64_t *effort);

/* Search for prices, from each[rows->m], at which `rounds` rounds cannot sell a
 * basis, because no round sells enough of it; if none are found, the sum is 0.
 * A basis must need a round. Otherwise like price_find, but the effort grows
 * exponentially with the rows of a round.
 */
struct price price_exclude (const struct rows *rows, size_t rank,
                            size_t rounds, uint64_t *each, struct rng *rng,
                            uint64_t *effort);

/* The least number of rounds. */
size_t price_rounds (const struct price *price);

/* Raise *rounds, a lower bound for any plan of the set, to the bound by prices,
 * as far as the effort allows. rank is that of all pairs. Sets of more than
 * 1,024 endpoints are skipped. Return 0, or -1 with err.
 */
int price_bound (struct pathset *ps, size_t rank, uint64_t effort,
                 size_t *rounds, struct error *err);

#endif /* BENCH_PRICE_H */
