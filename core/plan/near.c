/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Endpoints around a link.
 *
 * Notes. A junction is a switch X seen from a leaf S. For each other leaf T it
 * is tested which endpoints of T are reached from S through X, and which of S
 * from T. Leaves where both is true come first, ordered by their distance from
 * X. A switch link has two junctions, its ends A and B, seen from a leaf on
 * either side; at the far one, only paths that crossed the link count. This
 * uses forwarding only, hop by hop; no path is stored.
 */
#include "config.h"
#include "core/plan/near.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/paths/tree.h"
#include "util/alloc.h"

struct near {
    struct pathset *ps;
    const struct network *net;
    size_t n;
    struct tree *tree;   /* for its leaves */
    uint32_t *place;     /* [nleaves] where a leaf's paths begin */
    uint8_t *through;    /* [n] has a path through the junction */
    uint64_t *key;       /* [nleaves] low: a promising leaf */
    uint8_t *taken;      /* [n] is in pool */
    uint32_t *pool;      /* [n] */
    size_t npool;
};

/* Sizes of a ring: leaves to start from, leaves per junction, endpoints of
 * each.
 */
static const struct {
    size_t from, leaves, each;
} rings[NEAR_RINGS - 1] = {
    { 1, 2, 3 }, { 2, 3, 6 }, { 2, 4, 12 }, { 4, 8, 24 },
};

struct near *near_create (struct pathset *ps)
{
    const struct network *net = pathset_network (ps);
    struct near *near = xcalloc (1, sizeof (*near));

    near->ps = ps;
    near->net = net;
    near->n = pathset_size (ps);
    near->tree = tree_create (ps);
    near->place = xcalloc (near->tree->nleaves, sizeof (*near->place));
    near->key = xcalloc (near->tree->nleaves, sizeof (*near->key));
    near->through = xcalloc (near->n, 1);
    near->taken = xcalloc (near->n, 1);
    near->pool = xcalloc (near->n, sizeof (*near->pool));
    for (size_t l = 0; l < near->tree->nleaves; l++) {
        uint32_t first = near->tree->member[near->tree->first[l]];
        uint32_t id = pathset_endpoint (ps, first)->id;
        uint32_t arc;

        near->place[l] = net->attach (net->net, id, &arc);
        if (near->place[l] == NETWORK_NONE)
            near->place[l] = net->place (net->net, id);
    }
    return near;
}

void near_destroy (struct near *near)
{
    if (!near)
        return;
    tree_destroy (near->tree);
    free (near->place);
    free (near->through);
    free (near->key);
    free (near->taken);
    free (near->pool);
    free (near);
}

struct junction {
    uint32_t at;  /* the switch */
    uint32_t arc; /* arc by which to reach it, NETWORK_NONE: any */
};

static bool arrives (const struct near *near, uint32_t place, uint32_t to)
{
    uint32_t id = pathset_endpoint (near->ps, to)->id;

    return place == near->net->place (near->net->net, id);
}

/* Hops from a place to an endpoint, -1 if there is no path. */
static int distance (const struct near *near, uint32_t place, uint32_t to)
{
    uint32_t id = pathset_endpoint (near->ps, to)->id;
    uint32_t arc;
    int hops = 0;

    for (; !arrives (near, place, to); hops++) {
        if (hops == PATH_MAX_HOPS || place == NETWORK_NONE)
            return -1;
        place = near->net->hop (near->net->net, place, id, &arc);
    }
    return hops;
}

/* Does the path from a place to an endpoint lead through the junction, entering
 * by its arc or (`back`) leaving by the reverse of it?
 */
static bool leads_through (const struct near *near, uint32_t place,
                           uint32_t to, const struct junction *j, bool back)
{
    uint32_t id = pathset_endpoint (near->ps, to)->id;
    uint32_t in = NETWORK_NONE;

    for (int hops = 0; hops < PATH_MAX_HOPS && place != NETWORK_NONE
         && !arrives (near, place, to); hops++) {
        uint32_t out = NETWORK_NONE;
        uint32_t next = near->net->hop (near->net->net, place, id, &out);

        if (place == j->at)
            return j->arc == NETWORK_NONE
                   || (back ? out == (j->arc ^ 1) : in == j->arc);
        in = out;
        place = next;
    }
    return false;
}

/* Mark the endpoints whose paths from leaf `from`, or to it, lead through the
 * junction, and give each leaf its key.
 */
static void survey (struct near *near, const struct junction *j,
                    size_t from, const uint8_t *prefer)
{
    const struct tree *t = near->tree;

    memset (near->through, 0, near->n);
    for (size_t l = 0; l < t->nleaves; l++) {
        int hops = distance (near, j->at, t->member[t->first[l]]);
        uint64_t there = 0, back = 0, liked = 0;

        for (size_t k = t->first[l]; k < t->first[l + 1]; k++) {
            uint32_t c = t->member[k];
            bool yes = leads_through (near, near->place[from], c, j, false);

            there += yes;
            near->through[c] |= yes;
            liked += prefer && prefer[c];
        }
        for (size_t k = t->first[from]; k < t->first[from + 1] && l != from;
             k++) {
            bool yes = leads_through (near, near->place[l], t->member[k], j,
                                      true);

            back += yes;
            near->through[t->member[k]] |= yes;
        }
        if (l == from)
            back = there; /* to its own: only if it is the junction */
        near->key[l] = UINT64_MAX;
        if (hops >= 0 && (there || back))
            near->key[l] = ((uint64_t)(!there || !back) << 60)
                | ((uint64_t)!liked << 59) | ((uint64_t)hops << 32) | l;
    }
}

static void take (struct near *near, uint32_t i)
{
    if (!near->taken[i]) {
        near->taken[i] = 1;
        near->pool[near->npool++] = i;
    }
}

/* Take up to `each` endpoints of a leaf: two thirds with a path through the
 * junction, then others.
 */
static void take_leaf (struct near *near, size_t leaf, size_t each,
                       const uint8_t *prefer)
{
    const struct tree *t = near->tree;
    size_t quota[2] = { each - each / 3, each };
    size_t got = 0;

    for (int pass = 0; pass < 4; pass++)
        for (size_t k = t->first[leaf]; k < t->first[leaf + 1]; k++) {
            uint32_t i = t->member[k];

            if (near->through[i] == (pass < 2)
                && (prefer && prefer[i]) == (pass % 2 == 0)
                && got < quota[pass / 2]) {
                take (near, i);
                got++;
            }
        }
}

static void take_junction (struct near *near, const struct junction *j,
                           size_t from, size_t leaves, size_t each,
                           const uint8_t *prefer)
{
    survey (near, j, from, prefer);
    take_leaf (near, from, each, prefer);
    for (size_t i = 0; i < leaves; i++) {
        size_t best = 0;

        for (size_t l = 1; l < near->tree->nleaves; l++)
            if (near->key[l] < near->key[best])
                best = l;
        if (near->key[best] == UINT64_MAX)
            break;
        take_leaf (near, best, each, prefer);
        near->key[best] = UINT64_MAX;
    }
}

/* Number `which` of the leaves on the near side of an arc, in the order of
 * distance from its near end: leaves to whose endpoints the far end sends back
 * over the arc. NETWORK_NONE: there are fewer.
 */
static uint32_t leaf_behind (struct near *near, uint32_t a, uint32_t b,
                             uint32_t arc, size_t which,
                             const uint8_t *prefer)
{
    uint64_t last = 0;
    uint64_t best = 0;

    for (size_t round = 0; round <= which; round++) {
        best = UINT64_MAX;
        for (size_t i = 0; i < near->n; i++) {
            uint32_t id = pathset_endpoint (near->ps, i)->id;
            uint32_t out = NETWORK_NONE;
            uint64_t key;
            int hops;

            near->net->hop (near->net->net, b, id, &out);
            if (out != (arc ^ 1) || (hops = distance (near, a, i)) < 0)
                continue;
            key = ((uint64_t)(hops + 1) << 33)
                | ((uint64_t)!(prefer && prefer[i]) << 32)
                | near->tree->leaf_of[i];
            if (key > last && key < best)
                best = key;
        }
        if (best == UINT64_MAX)
            return NETWORK_NONE;
        last = best;
    }
    return best & UINT32_MAX;
}

/* A link between switches: from a leaf on the side of `a`, its junctions b and
 * a.
 */
static void take_side (struct near *near, uint32_t arc, uint32_t a,
                       uint32_t b, unsigned int ring, const uint8_t *prefer)
{
    for (size_t i = 0; i < rings[ring].from; i++) {
        struct junction far = { b, arc };
        struct junction this = { a, NETWORK_NONE };
        uint32_t from = leaf_behind (near, a, b, arc, i, prefer);

        if (from == NETWORK_NONE)
            break;
        take_junction (near, &far, from, rings[ring].leaves, rings[ring].each,
                       prefer);
        take_junction (near, &this, from, rings[ring].leaves,
                       rings[ring].each, prefer);
    }
}

/* A host link: its endpoint and others of the leaf, and leaves beyond. */
static void take_host (struct near *near, uint32_t link, uint32_t at,
                       unsigned int ring, const uint8_t *prefer)
{
    struct junction j = { at, NETWORK_NONE };

    for (size_t i = 0; i < near->n; i++)
        if (near->tree->up[i] != NETWORK_NONE
            && arc_link (near->tree->up[i]) == link) {
            take (near, i);
            take_junction (near, &j, near->tree->leaf_of[i],
                           rings[ring].leaves, rings[ring].each, prefer);
        }
}

static bool crossed_by_tables (const struct near *near, uint32_t link)
{
    const struct link_info *info = &near->net->link[link];

    return info->end[0] < near->net->nswitches
           && info->end[1] < near->net->nswitches;
}

const uint32_t *near_link (struct near *near, uint32_t link,
                           unsigned int ring, const uint8_t *prefer,
                           size_t max, size_t *n)
{
    const uint32_t *end = near->net->link[link].end;

    near->npool = 0;
    if (ring == NEAR_RINGS - 1) {
        for (size_t i = 0; i < near->n && near->n <= max; i++)
            take (near, i);
    }
    else if (crossed_by_tables (near, link)) {
        take_side (near, 2 * link, end[0], end[1], ring, prefer);
        if (ring > 0 || near->npool == 0)
            take_side (near, 2 * link + 1, end[1], end[0], ring, prefer);
    }
    else {
        for (int k = 0; k < 2; k++)
            if (end[k] < near->net->nswitches)
                take_host (near, link, end[k], ring, prefer);
    }
    for (size_t i = 0; i < near->npool; i++)
        near->taken[near->pool[i]] = 0;
    if (near->npool > max)
        near->npool = max;
    *n = near->npool;
    return near->pool;
}
