/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Goal pair, noise processes, idle ones. */
#include "config.h"
#include "compare/pattern/noise.h"

#include "util/rng.h"

/* A generator of the pass's own, far from those of other passes and seeds. */
static void seed_pass (struct rng *rng, uint64_t seed, uint64_t pass)
{
    rng_seed (rng, seed);
    rng_seed (rng, rng_next (rng) ^ pass);
}

int noise_draw (uint32_t n, uint32_t nnoise, const struct probe *goal,
                uint64_t seed, uint64_t pass, uint32_t *process,
                struct error *err)
{
    struct rng rng;
    uint32_t k = 0;

    if (n < 2 || nnoise > n - 2)
        return error_input (err, "%u noise processes and a pair: there are"
                            " %u processes", nnoise, n);
    if (goal && (goal->a >= n || goal->b >= n || goal->a == goal->b))
        return error_input (err, "a goal pair of %u and %u: they are not two"
                            " of %u processes", goal->a, goal->b, n);
    if (goal) {
        process[k++] = goal->a;
        process[k++] = goal->b;
    }
    for (uint32_t i = 0; i < n; i++)
        if (!goal || (i != goal->a && i != goal->b))
            process[k++] = i;
    seed_pass (&rng, seed, pass);
    rng_shuffle (&rng, goal ? process + 2 : process, goal ? n - 2 : n);
    return 0;
}
