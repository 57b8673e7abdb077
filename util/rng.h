/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reproducible random numbers: xoroshiro1024++ (Blackman, Vigna, "Scrambled
 * linear pseudorandom number generators", 2021), 1,024 bits of state filled
 * from the seed by SplitMix64. For simulation and for choices, never for
 * secrets: nonces come from getrandom(2).
 */
#ifndef UTIL_RNG_H
#define UTIL_RNG_H

#include <stddef.h>
#include <stdint.h>

struct rng {
    uint64_t s[16];
    unsigned int p;
};

void rng_seed (struct rng *rng, uint64_t seed);

/* 64 bits, each of which depends on each bit of x (SplitMix64's mixing): a hash
 * of x, or the random number that belongs to it.
 */
uint64_t rng_mix (uint64_t x);

/* Uniform over all 64-bit numbers. */
uint64_t rng_next (struct rng *rng);

/* Uniform over 0 .. n-1, without bias; n > 0. */
uint64_t rng_below (struct rng *rng, uint64_t n);

/* Uniform over [0, 1). */
double rng_uniform (struct rng *rng);

/* Standard normal; exponential with mean 1. */
double rng_normal (struct rng *rng);
double rng_exponential (struct rng *rng);

/* Shuffle v[0 .. n-1]. */
void rng_shuffle (struct rng *rng, uint32_t *v, size_t n);

#endif /* UTIL_RNG_H */
