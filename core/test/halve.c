/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Halve: against all subsets. */
#include "config.h"
#include "core/rate/cut.h"

#include "tests/tap.h"
#include "util/rng.h"

enum { WEIGHTS = 10 };

static const struct {
    uint32_t weight[WEIGHTS];
    size_t n;
    uint32_t sum; /* of the lighter half */
} rows[] = {
    { { 2, 3, 3, 4, 6 }, 5, 9 }, /* by weight, falling: 10 and 8 */
    { { 0 }, 0, 0 },
    { { 7 }, 1, 0 },
    { { 5, 5 }, 2, 5 },
    { { 1, 1, 10 }, 3, 2 },
    { { 0, 3, 0, 3 }, 4, 3 },
    { { 8, 7, 6, 5, 4 }, 5, 15 },
    { { 3, 3, 2, 2, 2 }, 5, 6 },
};

/* The halves are what was said of them. */
static bool adds_up (const uint32_t *weight, size_t n, uint32_t wanted)
{
    bool second[WEIGHTS];
    uint32_t sum, is = 0;

    if (halve (weight, n, second, &sum, NULL) < 0)
        return false;
    for (size_t i = 0; i < n; i++)
        is += second[i] ? weight[i] : 0;
    return sum == wanted && is == wanted;
}

static uint32_t best (const uint32_t *weight, size_t n)
{
    uint32_t total = 0, most = 0;

    for (size_t i = 0; i < n; i++)
        total += weight[i];
    for (unsigned int set = 0; set < 1U << n; set++) {
        uint32_t sum = 0;

        for (size_t i = 0; i < n; i++)
            sum += set & 1U << i ? weight[i] : 0;
        if (2 * sum <= total && sum > most)
            most = sum;
    }
    return most;
}

int main (void)
{
    const uint32_t huge[] = { HALVE_SUM_MAX, 1 };
    struct rng rng;
    bool second[2];
    uint32_t sum;
    int good = 0;

    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++)
        ok (adds_up (rows[i].weight, rows[i].n, rows[i].sum),
            "%zu weights: %u in the lighter half", rows[i].n, rows[i].sum);
    rng_seed (&rng, 1);
    for (int i = 0; i < 200; i++) {
        uint32_t weight[WEIGHTS];
        size_t n = 1 + rng_below (&rng, WEIGHTS);

        for (size_t k = 0; k < n; k++)
            weight[k] = rng_below (&rng, i < 100 ? 8 : 1000);
        good += adds_up (weight, n, best (weight, n));
    }
    ok (good == 200, "%d of 200 draws are halved as well as can be", good);
    ok (halve (huge, 2, second, &sum, NULL) < 0, "too much is an error");
    return done_testing ();
}
