/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sets of endpoints of a test's network, each the only one of the host of its
 * name. Where memory runs out the test aborts.
 */
#ifndef CORE_TEST_NAMED_H
#define CORE_TEST_NAMED_H

#include <stdint.h>
#include <stdlib.h>

#include "core/paths/paths.h"
#include "util/rng.h"

enum { NAMED_BYTES = 24 };

/* The set of endpoints who[0 .. n-1] of all, or of all where who is NULL. */
__attribute__ ((unused)) static struct pathset *
named_pathset (const struct network *net, char (*name)[NAMED_BYTES],
               size_t all, const uint32_t *who, size_t n)
{
    struct endpoint *e = calloc (all + n + 1, sizeof (*e));
    struct pathset *ps;
    struct error err;

    if (!e)
        abort ();
    if (!who)
        n = all;
    for (size_t i = 0; i < n; i++) {
        uint32_t id = who ? who[i] : i;

        e[i] = (struct endpoint){ id, name[id], name[id] };
    }
    if (!(ps = pathset_create (net, e, n, &err)))
        abort ();
    free (e);
    return ps;
}

/* A set of n endpoints of all, drawn at random. */
__attribute__ ((unused)) static struct pathset *
named_random (const struct network *net, char (*name)[NAMED_BYTES], size_t all,
              size_t n, uint64_t seed)
{
    uint32_t *who = calloc (all + 1, sizeof (*who));
    struct pathset *ps;
    struct rng rng;

    if (!who)
        abort ();
    rng_seed (&rng, seed);
    for (size_t i = 0; i < all; i++)
        who[i] = i;
    rng_shuffle (&rng, who, all);
    ps = named_pathset (net, name, all, who, n);
    free (who);
    return ps;
}

#endif /* CORE_TEST_NAMED_H */
