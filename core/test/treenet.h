/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fat trees of any size, for tests and benchmarks: places, hops and paths are
 * computed from the numbering, so that no snapshot is needed and LIDs set no
 * limit. Endpoint and host k<i+1> is i; where memory runs out it aborts.
 *
 * p-port q-tree, k = p/2: n = 2k^q hosts, m = qn links. Switch (l, x, y) of
 * level l = 1 .. q has x < n/k^l (tops: x = 0), y < k^(l-1); its up link u
 * leads to (l+1, x/k, u k^(l-1) + y). Link i < n is host i's; the level of a
 * switch link is its class. Places: switches level by level, then hosts.
 */
#ifndef CORE_TEST_TREENET_H
#define CORE_TEST_TREENET_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/paths/paths.h"
#include "core/test/named.h"

enum tree_routing {
    TREE_DMODK,  /* up by the digits of the destination: needs no table */
    TREE_MINHOP, /* each switch deals out its up ports in turn to hosts in
                    random order, as `pmm fabric generate` does */
    TREE_RANDOM, /* the same, each deal in an order of its own */
};

enum { TREENET_LEVELS = 6 };

struct treenet {
    struct network net; /* hand &t->net to pathset_create */
    size_t n, q;
    uint32_t k;         /* narrow, as they are quicker to divide by */
    uint32_t power[TREENET_LEVELS + 1]; /* of k */
    uint32_t each;      /* switches of a level below the top */
    uint32_t nswitches;
    uint8_t *up;        /* [n][(q - 1) each] up port, NULL: d-mod-k */
    struct link_info *info;
    struct switch_info *sw;
    char (*id)[24];     /* of links */
    char (*name)[NAMED_BYTES];   /* of hosts */
    char (*switch_id)[48];
};

static void *treenet_alloc (size_t n, size_t size)
{
    void *p = calloc (n + 1, size);

    if (!p)
        abort ();
    return p;
}

static uint32_t treenet_place (const void *net, uint32_t endpoint)
{
    const struct treenet *t = net;

    return t->nswitches + endpoint;
}

static uint32_t treenet_attach (const void *net, uint32_t endpoint,
                                uint32_t *arc)
{
    const struct treenet *t = net;

    *arc = 2 * endpoint;
    return endpoint / t->k;
}

static uint32_t treenet_hop (const void *net, uint32_t place, uint32_t to,
                             uint32_t *arc)
{
    const struct treenet *t = net;
    uint32_t l = place / t->each + 1; /* tops are fewer than a level */
    uint32_t s = place % t->each;
    uint32_t width, x, y;

    if (place >= t->nswitches)
        return NETWORK_NONE;
    width = t->power[l - 1];
    x = l == t->q ? 0 : s / width;
    y = s - x * width;
    if (l < t->q && to / t->power[l] != x) {
        uint32_t u = t->up ? t->up[(size_t)to * (t->q - 1) * t->each + place]
                         : to / width % t->k;

        *arc = 2 * (l * t->n + s * t->k + u);
        x = l + 1 == t->q ? 0 : x / t->k;
        return l * t->each + x * t->power[l] + u * width + y;
    }
    if (l == 1) {
        *arc = 2 * to + 1;
        return t->nswitches + to;
    }
    width = t->power[l - 2];
    s = to / t->power[l - 1] * width + y % width;
    *arc = 2 * ((l - 1) * t->n + s * t->k + y / width) + 1;
    return (l - 2) * t->each + s;
}

static int treenet_walk (const void *net, uint32_t from, uint32_t to,
                         uint32_t *arc, struct error *err)
{
    uint32_t place;
    int n = 0;

    (void)err;
    if (from == to)
        return 0;
    place = treenet_attach (net, from, &arc[n++]);
    while (place != treenet_place (net, to))
        place = treenet_hop (net, place, to, &arc[n++]);
    return n;
}

/* Deal out up ports, as pmm fabric generate does with the same seed. */
static void treenet_route (struct treenet *t, enum tree_routing routing,
                           uint64_t seed)
{
    size_t nup = (t->q - 1) * t->each;
    uint32_t *order = treenet_alloc (t->n, sizeof (*order));
    uint32_t *deal = treenet_alloc (nup * t->k, sizeof (*deal));
    uint8_t *next = treenet_alloc (nup, sizeof (*next));
    struct rng rng;

    t->up = treenet_alloc (t->n * nup, 1);
    for (size_t i = 0; i < t->n; i++)
        order[i] = i;
    for (size_t i = 0; i < nup * t->k; i++)
        deal[i] = i % t->k;
    rng_seed (&rng, seed);
    rng_shuffle (&rng, order, t->n);
    for (size_t i = 0; i < t->n; i++)
        for (size_t s = 0; s < nup; s++) {
            size_t l = s / t->each + 1;
            uint32_t *d = &deal[s * t->k];

            if (s % t->each / t->power[l - 1] == order[i] / t->power[l])
                continue; /* down */
            if (next[s] == 0 && routing == TREE_RANDOM)
                rng_shuffle (&rng, d, t->k);
            t->up[order[i] * nup + s] = d[next[s]];
            next[s] = (next[s] + 1) % t->k;
        }
    free (order);
    free (deal);
    free (next);
}

static void treenet_ends (struct treenet *t, size_t link)
{
    size_t l = link / t->n;
    size_t s = link % t->n / t->k;
    struct link_info *info = &t->info[link];
    uint32_t arc;

    if (l == 0) {
        info->end[0] = NETWORK_NONE;
        info->end[1] = treenet_attach (t, link, &arc);
        return;
    }
    info->end[0] = (l - 1) * t->each + s;
    info->end[1] = l * t->each
        + (l + 1 == t->q ? 0 : s / t->power[l] * t->power[l])
        + link % t->k * t->power[l - 1] + s % t->power[l - 1];
}

static void treenet_label (struct treenet *t)
{
    static const char *const class_name[] = {
        "host", "switch 1-2", "switch 2-3", "switch 3-4", "switch 4-5",
        "switch 5-6",
    };

    for (size_t i = 0; i < t->n; i++)
        snprintf (t->name[i], sizeof (t->name[i]), "k%zu", i + 1);
    for (size_t i = 0; i < t->q * t->n; i++) {
        snprintf (t->id[i], sizeof (t->id[i]), "l%zu", i + 1);
        t->info[i] = (struct link_info){
            .id = t->id[i],
            .kind = i < t->n ? LINK_HOST : LINK_SWITCH,
            .class_id = i / t->n,
            .class_name = class_name[i / t->n],
            .host = i < t->n ? t->name[i] : NULL,
        };
        treenet_ends (t, i);
    }
    for (size_t i = 0; i < t->nswitches; i++) {
        snprintf (t->switch_id[i], sizeof (t->switch_id[i]), "s%zu-%zu",
                  i / t->each + 1, i % t->each + 1);
        t->sw[i] = (struct switch_info){ t->switch_id[i], t->switch_id[i] };
    }
}

/* A tree of 2 .. TREENET_LEVELS levels; the seed is for the routing. */
__attribute__ ((unused)) static struct treenet *
treenet_create (size_t ports, size_t levels, enum tree_routing routing,
                uint64_t seed)
{
    struct treenet *t = treenet_alloc (1, sizeof (*t));

    t->k = ports / 2;
    t->q = levels;
    t->power[0] = 1;
    for (size_t l = 1; l <= levels; l++)
        t->power[l] = t->power[l - 1] * t->k;
    t->n = 2 * t->power[levels];
    t->each = t->n / t->k;
    t->nswitches = (levels - 1) * t->each + t->power[levels - 1];
    t->info = treenet_alloc (levels * t->n, sizeof (*t->info));
    t->id = treenet_alloc (levels * t->n, sizeof (*t->id));
    t->name = treenet_alloc (t->n, sizeof (*t->name));
    t->sw = treenet_alloc (t->nswitches, sizeof (*t->sw));
    t->switch_id = treenet_alloc (t->nswitches, sizeof (*t->switch_id));
    treenet_label (t);
    if (routing != TREE_DMODK)
        treenet_route (t, routing, seed);
    t->net = (struct network){
        .net = t,
        .hash = "tree",
        .nlinks = levels * t->n,
        .link = t->info,
        .nswitches = t->nswitches,
        .sw = t->sw,
        .nplaces = t->nswitches + t->n,
        .walk = treenet_walk,
        .place = treenet_place,
        .attach = treenet_attach,
        .hop = treenet_hop,
    };
    return t;
}

__attribute__ ((unused)) static void treenet_destroy (struct treenet *t)
{
    free (t->up);
    free (t->info);
    free (t->id);
    free (t->name);
    free (t->sw);
    free (t->switch_id);
    free (t);
}

/* The set of endpoints who[0 .. n-1], or of all where who is NULL. */
__attribute__ ((unused)) static struct pathset *
treenet_pathset (const struct treenet *t, const uint32_t *who, size_t n)
{
    return named_pathset (&t->net, t->name, t->n, who, n);
}

/* A set of n endpoints drawn at random. */
__attribute__ ((unused)) static struct pathset *
treenet_random (const struct treenet *t, size_t n, uint64_t seed)
{
    return named_random (&t->net, t->name, t->n, n, seed);
}

#endif /* CORE_TEST_TREENET_H */
