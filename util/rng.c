/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Random numbers, reproducible from a seed. */
#include "config.h"
#include "util/rng.h"

#include <math.h>

/* The increment of SplitMix64: 2^64 divided by the golden ratio. */
#define STEP UINT64_C (0x9e3779b97f4a7c15)

static uint64_t rotl (uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

uint64_t rng_mix (uint64_t x)
{
    uint64_t z = x + STEP;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

void rng_seed (struct rng *rng, uint64_t seed)
{
    for (int i = 0; i < 16; i++)
        rng->s[i] = rng_mix (seed + i * STEP);
    rng->p = 0;
}

uint64_t rng_next (struct rng *rng)
{
    unsigned int q = rng->p;
    unsigned int p = (q + 1) & 15;
    uint64_t s0 = rng->s[p];
    uint64_t s15 = rng->s[q];
    uint64_t result = rotl (s0 + s15, 23) + s15;

    s15 ^= s0;
    rng->s[q] = rotl (s0, 25) ^ s15 ^ (s15 << 27);
    rng->s[p] = rotl (s15, 36);
    rng->p = p;
    return result;
}

uint64_t rng_below (struct rng *rng, uint64_t n)
{
    /* skip the first 2^64 mod n numbers: they would favour small results */
    uint64_t skip = -n % n;
    uint64_t x;

    do
        x = rng_next (rng);
    while (x < skip);
    return x % n;
}

double rng_uniform (struct rng *rng)
{
    return (double)(rng_next (rng) >> 11) * 0x1p-53;
}

double rng_normal (struct rng *rng)
{
    double u;
    double v;
    double s;

    do {
        u = 2 * rng_uniform (rng) - 1;
        v = 2 * rng_uniform (rng) - 1;
        s = u * u + v * v;
    } while (s >= 1 || s == 0);
    return u * sqrt (-2 * log (s) / s);
}

double rng_exponential (struct rng *rng)
{
    return -log1p (-rng_uniform (rng));
}

void rng_shuffle (struct rng *rng, uint32_t *v, size_t n)
{
    for (size_t i = n; i > 1; i--) {
        size_t k = rng_below (rng, i);
        uint32_t t = v[i - 1];

        v[i - 1] = v[k];
        v[k] = t;
    }
}
