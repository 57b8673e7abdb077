/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Permutations that are stored nowhere. */
#include "config.h"
#include "compare/pattern/pattern.h"

#include <stdbool.h>
#include <string.h>

#include "tests/tap.h"

enum { SIZE_MAX_TESTED = 300 };

static bool is_permutation (const struct order *o)
{
    bool seen[SIZE_MAX_TESTED] = { false };

    for (uint64_t i = 0; i < o->n; i++) {
        uint64_t at = order_at (o, i);

        if (at >= o->n || seen[at])
            return false;
        seen[at] = true;
    }
    return true;
}

static void test_permutations (void)
{
    struct rng rng;
    int wrong = 0;

    rng_seed (&rng, 1);
    for (uint64_t n = 1; n <= SIZE_MAX_TESTED; n++) {
        struct order o;

        order_draw (&o, n, &rng);
        wrong += !is_permutation (&o);
    }
    ok (wrong == 0, "each of 1 to %d numbers comes once", SIZE_MAX_TESTED);
}

/* Of four numbers, all 24 orders come, none much more often than others. */
static void test_all_orders (void)
{
    int count[256] = { 0 };
    int orders = 0, least = 2400, most = 0;
    struct rng rng;

    rng_seed (&rng, 2);
    for (int k = 0; k < 2400; k++) {
        struct order o;
        int code = 0;

        order_draw (&o, 4, &rng);
        for (uint64_t i = 0; i < 4; i++)
            code = code << 2 | (int)order_at (&o, i);
        count[code]++;
    }
    for (int code = 0; code < 256; code++) {
        orders += count[code] > 0;
        if (count[code] > most)
            most = count[code];
        if (count[code] > 0 && count[code] < least)
            least = count[code];
    }
    ok (orders == 24 && least > 50 && most < 200,
        "%d orders of 4 numbers, %d to %d times each in 2400", orders, least,
        most);
}

/* Neighbours among many do not stay neighbours. */
static void test_many (void)
{
    struct order o;
    struct rng rng;
    int near = 0, beyond = 0, low = 0;

    rng_seed (&rng, 3);
    order_draw (&o, UINT64_C (11664) * 11663 / 2, &rng);
    for (uint64_t i = 0; i < 10000; i++) {
        uint64_t x = order_at (&o, i), y = order_at (&o, i + 1);

        near += (x > y ? x - y : y - x) < o.n / 10000;
        beyond += x >= o.n;
        low += x < o.n / 2;
    }
    ok (beyond == 0 && near < 20 && low > 4700 && low < 5300,
        "of 68 million: %d neighbours, %d of 10000 in the lower half", near,
        low);
}

int main (void)
{
    test_permutations ();
    test_all_orders ();
    test_many ();
    return done_testing ();
}
