/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The generator repeats itself and is what its header says it is. */
#include "config.h"
#include "util/rng.h"

#include <math.h>
#include <string.h>

#include "tests/tap.h"

enum { DRAWS = 200000 };

/* The authors' generator, as published, over the same state. */
static uint64_t reference (uint64_t *s, int *p)
{
#define ROTL(x, k) (((x) << (k)) | ((x) >> (64 - (k))))
    const int q = *p;
    const uint64_t s0 = s[*p = (*p + 1) & 15];
    uint64_t s15 = s[q];
    const uint64_t result = ROTL (s0 + s15, 23) + s15;

    s15 ^= s0;
    s[q] = ROTL (s0, 25) ^ s15 ^ (s15 << 27);
    s[*p] = ROTL (s15, 36);
    return result;
}

static void test_sequence (void)
{
    struct rng a;
    struct rng b;
    uint64_t s[16];
    int p = 0;
    int same = 1;
    int differ = 0;

    rng_seed (&a, 0);
    /* SplitMix64's first output from 0 is well known */
    ok (a.s[0] == 0xe220a8397b1dcdaf, "state is filled by SplitMix64");
    memcpy (s, a.s, sizeof (s));
    for (int i = 0; i < 1000; i++)
        same &= rng_next (&a) == reference (s, &p);
    ok (same, "1,000 numbers equal the published generator's");

    rng_seed (&a, 7);
    rng_seed (&b, 8);
    for (int i = 0; i < 100; i++)
        differ |= rng_next (&a) != rng_next (&b);
    ok (differ, "another seed, other numbers");
}

static void test_below (void)
{
    struct rng rng;
    int count[6] = { 0 };
    double chi2 = 0;
    int in = 1;

    rng_seed (&rng, 1);
    for (int i = 0; i < DRAWS; i++)
        count[rng_below (&rng, 6)]++;
    for (int i = 0; i < 6; i++)
        chi2 += pow (count[i] - DRAWS / 6., 2) / (DRAWS / 6.);
    ok (chi2 < 20.5, "below 6: chi square %.1f of 5 degrees", chi2);
    for (int i = 0; i < 1000; i++)
        in &= rng_below (&rng, (1ULL << 63) + 1) <= 1ULL << 63;
    ok (in, "below a large bound");
    ok (rng_below (&rng, 1) == 0, "below 1 is 0");
}

static void test_moments (void)
{
    static const struct {
        const char *name;
        double (*fn) (struct rng *rng);
        double mean;
        double variance;
        double min;
        double max;
    } tab[] = {
        { "uniform", rng_uniform, 0.5, 1 / 12., 0, 1 },
        { "normal", rng_normal, 0, 1, -40, 40 },
        { "exponential", rng_exponential, 1, 1, 0, 40 },
    };

    for (size_t k = 0; k < sizeof (tab) / sizeof (tab[0]); k++) {
        struct rng rng;
        double sum = 0;
        double sum2 = 0;
        double mean;
        int in = 1;

        rng_seed (&rng, 42);
        for (int i = 0; i < DRAWS; i++) {
            double x = tab[k].fn (&rng);

            sum += x;
            sum2 += x * x;
            in &= x >= tab[k].min && x < tab[k].max;
        }
        mean = sum / DRAWS;
        ok (in && fabs (mean - tab[k].mean) < 0.01
                && fabs (sum2 / DRAWS - mean * mean - tab[k].variance) < 0.03,
            "%s: range, mean, variance", tab[k].name);
    }
}

static void test_shuffle (void)
{
    struct rng rng;
    uint32_t v[100];
    int seen[100] = { 0 };
    int fixed = 0;
    int once = 1;

    rng_seed (&rng, 3);
    for (uint32_t i = 0; i < 100; i++)
        v[i] = i;
    rng_shuffle (&rng, v, 100);
    for (uint32_t i = 0; i < 100; i++) {
        seen[v[i]]++;
        fixed += v[i] == i;
    }
    for (int i = 0; i < 100; i++)
        once &= seen[i] == 1;
    ok (once && fixed < 10, "shuffled: a permutation, %d fixed", fixed);
    rng_shuffle (&rng, v, 0);
    rng_shuffle (&rng, v, 1);
    ok (1, "shuffling nothing");
}

int main (void)
{
    test_sequence ();
    test_below ();
    test_moments ();
    test_shuffle ();
    return done_testing ();
}
