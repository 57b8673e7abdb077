/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Clusters on a line: none where there are none. */
#include "config.h"
#include "compare/infer/cluster.h"

#include <stdbool.h>

#include <math.h>

#include "tests/tap.h"
#include "util/rng.h"

enum { MANY = 3000 };

static void test_exact (void)
{
    static const struct {
        double v[8];
        size_t n, clusters;
        double eps, mean[3];
        const char *what;
    } tab[] = {
        { { 7 }, 1, 1, 0, { 7 }, "one value" },
        { { 7, 7, 7, 7 }, 4, 1, 0, { 7 }, "the same four times" },
        { { 3, 3, 6, 3, 3, 3 }, 6, 2, 0, { 3, 6 }, "one of six differs" },
        { { 2, 4, 2, 6, 4, 2, 6, 4 }, 8, 3, 0, { 2, 4, 6 }, "three" },
        { { 3, NAN, 3, 6, NAN, 3, 3 }, 7, 2, 0, { 3, 6 },
          "what is not known is no value" },
        { { 2.9, 3, 3.1, 6, 2.95, 3.05 }, 6, 2, 0, { 3, 6 }, "with noise" },
        { { 10, 10, 10, 11, 11, 11, 20, 20 }, 8, 2, 0.2, { 10.5, 20 },
          "eps hides what is near" },
        { { 1, 2, 3, 4, 5, 6, 7, 8 }, 8, 1, 0, { 4.5 }, "an even spread" },
    };

    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++) {
        struct clusters cl;
        bool same;

        clusters_find (&cl, tab[i].v, tab[i].n, tab[i].eps);
        same = cl.n == tab[i].clusters;
        ok (same, "%s: %zu clusters (%zu)", tab[i].what, tab[i].clusters,
            cl.n);
        for (size_t k = 0; same && k < cl.n; k++)
            same = fabs (cl.c[k].mean - tab[i].mean[k]) < 1e-9;
        ok (same, "%s: at their means", tab[i].what);
        clusters_clear (&cl);
    }
}

/* MANY values of two normal distributions that far apart. */
static size_t of_two (double apart, double share, uint64_t seed)
{
    double v[MANY];
    struct clusters cl;
    struct rng rng;
    size_t n;

    rng_seed (&rng, seed);
    for (int i = 0; i < MANY; i++)
        v[i] = 1000 + rng_normal (&rng)
               + (rng_uniform (&rng) < share ? apart : 0);
    clusters_find (&cl, v, MANY, 0);
    n = cl.n;
    clusters_clear (&cl);
    return n;
}

static void test_noise (void)
{
    for (uint64_t seed = 1; seed <= 5; seed++) {
        ok (of_two (8, 0.5, seed) == 2, "8 sigma apart: two");
        ok (of_two (8, 0.02, seed) == 2, "8 sigma apart, one rare: two");
        ok (of_two (2, 0.5, seed) == 1, "2 sigma apart: they overlap");
        ok (of_two (0, 0.5, seed) == 1, "all alike: one");
    }
}

static void test_compare (void)
{
    struct cluster c[2] = { { .mean = 3 }, { .mean = 6 } };
    struct clusters cl = { c, 2 };

    ok (clusters_of (&cl, 1) == 0 && clusters_of (&cl, 4.4) == 0
            && clusters_of (&cl, 4.6) == 1 && clusters_of (&cl, 9) == 1,
        "a value belongs to the nearest cluster");
}

int main (void)
{
    test_exact ();
    test_noise ();
    test_compare ();
    return done_testing ();
}
