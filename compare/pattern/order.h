/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Order: a permutation of 0 .. n-1 from a seed. Numbers are computed one at a
 * time and not stored, for steps that are too many for an array.
 *
 * It is a balanced Feistel network (Luby, Rackoff, "How to construct
 * pseudorandom permutations from pseudorandom functions", 1988) over the least
 * even number of bits that holds n numbers. It is applied until the result is
 * below n (Black, Rogaway, "Ciphers with arbitrary finite domains", 2002):
 * fewer than four times on average. Its keys have 1,024 bits in total.
 */
#ifndef COMPARE_ORDER_H
#define COMPARE_ORDER_H

#include <stdint.h>

#include "util/rng.h"

enum { ORDER_ROUNDS = 16 };

struct order {
    uint64_t n;
    unsigned int half; /* bits of either half of a number */
    uint64_t key[ORDER_ROUNDS];
};

/* Draw a permutation of n numbers, n below 2^62. */
void order_draw (struct order *o, uint64_t n, struct rng *rng);

/* The number at place i, i < n. */
uint64_t order_at (const struct order *o, uint64_t i);

#endif /* COMPARE_ORDER_H */
