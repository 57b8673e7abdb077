/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prices of links, and the rounds that they say there must be.
 *
 * Read by bench/planner: what the plain bounds (check/bound) leave open.
 *
 * Give every link a price. A row costs what its links cost together, each
 * once however often it is crossed. No basis costs less than the one that
 * takes the cheapest independent row next, as in any matroid, and a round can
 * sell each link once. So, whatever the prices,
 *
 *     ceil (cost of the cheapest basis / sum of all prices)
 *
 * rounds are needed at least. The best prices are the dual of a linear
 * program, "a mixture of bases that loads no link more than need be".
 *
 * As a rule no round can sell all, as rows that share no link leave some
 * over. Where rows are few, all rounds can be looked at.
 */
#ifndef BENCH_PRICE_H
#define BENCH_PRICE_H

#include <stddef.h>
#include <stdint.h>

#include "core/check/rows.h"
#include "core/paths/paths.h"
#include "util/error.h"
#include "util/rng.h"

struct price {
    uint64_t cost; /* of the cheapest basis */
    uint64_t sum;  /* what a round sells at most; 0: nothing is known */
};

#define PRICE_FIRST (UINT64_C (1) << 28) /* what is dear costs at first */

/* Search for prices that say most, beginning with each[rows->m], 1 ..
 * PRICE_FIRST, which are set to those found. rows are those of all pairs, and
 * rank is theirs, or less where it is not known. *effort, in entries touched,
 * is what may be spent; what was is taken off it.
 */
struct price price_find (const struct rows *rows, size_t rank, uint64_t *each,
                         struct rng *rng, uint64_t *effort);

/* Search for prices, beginning with each[rows->m], at which no `rounds` rounds
 * can sell a basis, since no round sells so much of it; where none are found
 * the sum is 0. A basis must need a round. The rest as price_find, but
 * that the effort grows exponentially with the rows of a round.
 */
struct price price_exclude (const struct rows *rows, size_t rank,
                            size_t rounds, uint64_t *each, struct rng *rng,
                            uint64_t *effort);

/* Rounds needed at least. */
size_t price_rounds (const struct price *price);

/* Raise *rounds, which no plan for the set has less of, to what prices say, as
 * far as the effort goes. rank is that of all pairs. Sets of more than 1,024
 * endpoints are left alone. 0, or -1 with err.
 */
int price_bound (struct pathset *ps, size_t rank, uint64_t effort,
                 size_t *rounds, struct error *err);

#endif /* BENCH_PRICE_H */
