/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Named noises: what a host's loopback shows is in its round trips, and both
 * ways of a round trip are as long as it is.
 */
#include "config.h"
#include "core/samples/simulate.h"

#include <math.h>
#include <string.h>

#include "core/test/tablenet.h"
#include "tests/tap.h"

enum { N = 40000, A = 0, B = 9, SEEDS = 20 };

static struct tablenet *net;
static struct pathset *ps;

struct ways {
    uint32_t arc[2 * PATH_MAX_HOPS];
    int there, back;
};

static struct ways walk (void)
{
    struct ways w;
    struct error err;

    w.there = pathset_walk (ps, A, B, w.arc, &err);
    w.back = pathset_walk (ps, B, A, w.arc + w.there, &err);
    if (w.there < 0 || w.back < 0)
        abort ();
    return w;
}

/* Means of a round trip, of both its ways, of its ends' loopbacks. */
struct means {
    double round, ways, loops;
};

static struct means measure (const char *name, uint64_t seed, bool arcs)
{
    struct noise *n = noise_create (noise_find (name), &net->net,
                                    pathset_size (ps), seed);
    struct means m = { 0, 0, 0 };
    struct ways w = walk ();
    struct rng rng;

    rng_seed (&rng, 1);
    if (!arcs)
        w.there = w.back = 0;
    for (uint32_t i = 0; i < N; i++) {
        m.round += noise_message_ns (n, A, B, i, w.arc, w.there + w.back,
                                     &rng) / N;
        m.ways += noise_way_ns (n, A, i, w.arc, w.there, &rng) / N
                  + noise_way_ns (n, B, i, w.arc + w.there, w.back, &rng) / N;
        m.loops += noise_loopback_ns (n, A, &rng) / N
                   + noise_loopback_ns (n, B, &rng) / N;
    }
    noise_destroy (n);
    return m;
}

static void test_names (void)
{
    const char *all = noise_names ();
    size_t n = 0, found = 0;

    for (const struct noise_kind *k = noise_kinds; k->name; k++, n++)
        found += noise_find (k->name) == k && strstr (all, k->name) != NULL;
    ok (n > 10 && found == n, "%zu kinds: %s", n, all);
    ok (!noise_find ("") && !noise_find ("calmer"), "no others");
}

/* Over days and places where something is going on. */
static void test_ways (const char *name)
{
    double worst = 0, most = 0;

    for (uint64_t seed = 1; seed <= trials (SEEDS); seed++) {
        struct means m = measure (name, seed, true);

        worst = fmax (worst, fabs (m.ways - m.round));
        most = fmax (most, fabs (m.round));
    }
    ok (worst < 1 + most / 100, "%s: there and back come to a round trip, up "
                                "to %.0f ns, but for %.0f", name, most, worst);
}

/* Loopbacks of both ends have all that the hosts do, and the jitter twice. */
static void test_loopbacks (void)
{
    double jitter = 15 * exp (.6 * .6 / 2);
    double worst = 0, most = 0;

    for (uint64_t seed = 1; seed <= trials (SEEDS); seed++) {
        struct means m = measure ("repin600", seed, false);

        worst = fmax (worst, fabs (m.loops - jitter - m.round));
        most = fmax (most, fabs (m.round - jitter));
    }
    ok (most > 500 && worst < 1,
        "who runs elsewhere shows it in loopbacks, %.0f ns but for %.1f", most,
        worst);
}

int main (void)
{
    net = tablenet_fattree (8, 2, TABLE_DMODK, 1);
    ps = tablenet_pathset (net, NULL, 0);
    test_names ();
    test_ways ("calm");
    test_ways ("bgq5");
    test_ways ("repin600");
    test_ways ("late3");
    test_loopbacks ();
    pathset_destroy (ps);
    tablenet_destroy (net);
    return done_testing ();
}
