/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A permutation that is computed one number at a time. */
#include "config.h"
#include "compare/pattern/order.h"

/* The finalizer of MurmurHash3: each bit of x changes half of the result, on
 * average.
 */
static uint64_t mix (uint64_t x)
{
    x = (x ^ (x >> 33)) * 0xff51afd7ed558ccd;
    x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53;
    return x ^ (x >> 33);
}

void order_draw (struct order *o, uint64_t n, struct rng *rng)
{
    o->n = n;
    o->half = 1;
    while (UINT64_C (1) << 2 * o->half < n)
        o->half++;
    for (int k = 0; k < ORDER_ROUNDS; k++)
        o->key[k] = rng_next (rng);
}

static uint64_t walk (const struct order *o, uint64_t x)
{
    uint64_t mask = (UINT64_C (1) << o->half) - 1;
    uint64_t left = x >> o->half;
    uint64_t right = x & mask;

    for (int k = 0; k < ORDER_ROUNDS; k++) {
        uint64_t next = left ^ (mix (right ^ o->key[k]) & mask);

        left = right;
        right = next;
    }
    return left << o->half | right;
}

uint64_t order_at (const struct order *o, uint64_t i)
{
    do
        i = walk (o, i);
    while (i >= o->n);
    return i;
}
