/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests of paths/tree: a tree says what the paths say, and a network that
 * forwards in a loop, into nothing or past its destination is refused.
 */
#include "config.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/paths/tree.h"
#include "core/test/treenet.h"
#include "tests/tap.h"

/* Three switches in a ring, one host on each: link i < 3 is host i's, link
 * 3 + s leads from switch s to the next. next[s][to] is the switch that s
 * forwards to, s itself for its own host, NOWHERE for nobody's.
 */
enum { RING = 3, NOWHERE = 9 };

struct ring {
    int next[RING][RING];
};

static uint32_t ring_place (const void *net, uint32_t endpoint)
{
    (void)net;
    return RING + endpoint;
}

static uint32_t ring_attach (const void *net, uint32_t endpoint,
                             uint32_t *arc)
{
    (void)net;
    *arc = 2 * endpoint;
    return endpoint;
}

static uint32_t ring_hop (const void *net, uint32_t place, uint32_t to,
                          uint32_t *arc)
{
    const struct ring *r = net;
    uint32_t next;

    if (place >= RING || r->next[place][to] == NOWHERE)
        return NETWORK_NONE;
    next = r->next[place][to];
    if (next == place) {
        *arc = 2 * place + 1;
        return RING + place;
    }
    *arc = (place + 1) % RING == next ? 2 * (RING + place)
                                      : 2 * (RING + next) + 1;
    return next;
}

static int ring_walk (const void *net, uint32_t from, uint32_t to,
                      uint32_t *arc, struct error *err)
{
    uint32_t place = ring_attach (net, from, &arc[0]);

    for (int n = 1; n < PATH_MAX_HOPS; n++) {
        place = ring_hop (net, place, to, &arc[n]);
        if (place == NETWORK_NONE)
            return error_input (err, "dead end");
        if (place == RING + to)
            return n + 1;
    }
    return error_input (err, "a loop");
}

static const struct link_info ring_link[2 * RING] = {
    { .id = "1" }, { .id = "2" }, { .id = "3" },
    { .id = "4" }, { .id = "5" }, { .id = "6" },
};

static struct pathset *ring_pathset (const struct network *net, size_t n)
{
    static const struct endpoint e[RING] = {
        { 0, "a", "a" }, { 1, "b", "b" }, { 2, "c", "c" },
    };
    struct error err;

    return pathset_create (net, e, n, &err);
}

static const struct {
    const char *name;
    struct ring ring;
    size_t n;          /* endpoints */
    const char *error; /* NULL: there is none */
} rings[] = {
    { "a ring", { { { 0, 1, 2 }, { 0, 1, 2 }, { 0, 1, 2 } } }, 3, NULL },
    { "the long way round", { { { 0, 1, 1 }, { 0, 1, 2 }, { 1, 1, 2 } } }, 3,
      NULL },
    { "a loop", { { { 0, 1, 1 }, { 0, 1, 0 }, { 0, 1, 2 } } }, 3,
      "a to c: a loop" },
    { "a loop that nobody of the job uses",
      { { { 0, 1, 1 }, { 0, 1, 0 }, { 0, 1, 2 } } }, 2, NULL },
    { "disconnected", { { { 0, 1, NOWHERE }, { 0, 1, NOWHERE },
                          { NOWHERE, NOWHERE, 2 } } }, 3,
      "c to a: dead end" },
    { "past its destination", { { { 1, 1, 2 }, { 2, 1, 2 }, { 0, 1, 2 } } },
      3, "b to a: a loop" },
};

static void test_rings (void)
{
    for (size_t i = 0; i < sizeof (rings) / sizeof (rings[0]); i++) {
        struct network net = {
            .net = &rings[i].ring,
            .hash = "ring",
            .nlinks = 2 * RING,
            .link = ring_link,
            .nplaces = 2 * RING,
            .walk = ring_walk,
            .place = ring_place,
            .attach = ring_attach,
            .hop = ring_hop,
        };
        struct pathset *ps = ring_pathset (&net, rings[i].n);
        struct error err = { .text = "" };
        const uint32_t *link;
        size_t m;

        if (!ps)
            abort ();
        link = pathset_links (ps, &m, &err);
        ok (rings[i].error ? !link && !strcmp (err.text, rings[i].error)
                                 && err.fault == ERROR_INPUT
                           : link != NULL,
            "%s: %s", rings[i].name, link ? "fine" : err.text);
        pathset_destroy (ps);
    }
}

static int compare_arcs (const void *a, const void *b)
{
    const uint32_t *x = a;
    const uint32_t *y = b;

    return (*x > *y) - (*x < *y);
}

/* True if the first hop of `from` and the tree of t->to are its path. */
static bool is_path (const struct tree *t, size_t from)
{
    uint32_t path[PATH_MAX_HOPS];
    uint32_t arc[PATH_MAX_HOPS];
    struct error err;
    int n = pathset_walk (t->ps, from, t->to, path, &err);
    int k = 0;

    if (t->up[from] != NETWORK_NONE)
        arc[k++] = t->up[from];
    for (uint32_t s = t->leaf[t->leaf_of[from]]; s != 0; s = t->parent[s]) {
        if (k == PATH_MAX_HOPS || t->parent[s] >= s)
            return false;
        arc[k++] = t->arc[s];
    }
    qsort (path, n, sizeof (*path), compare_arcs);
    qsort (arc, k, sizeof (*arc), compare_arcs);
    return n == k && memcmp (path, arc, n * sizeof (*path)) == 0;
}

static void test_paths (struct pathset *ps, const char *name)
{
    struct error err;
    struct tree *t = tree_create (ps);
    size_t n = pathset_size (ps);
    size_t steps = 0;
    size_t wrong = 0;

    for (size_t to = 0; to < n; to++) {
        if (tree_grow (t, to, &err) < 0)
            abort ();
        steps += t->n;
        for (size_t from = 0; from < n; from++)
            wrong += from != to && !is_path (t, from);
    }
    ok (wrong == 0, "%s, %zu endpoints on %zu leaves: %zu steps hold all "
        "paths", name, n, t->nleaves, steps);
    tree_destroy (t);
    pathset_destroy (ps);
}

int main (void)
{
    struct treenet *d = treenet_create (8, 3, TREE_DMODK, 1);
    struct treenet *m = treenet_create (6, 3, TREE_MINHOP, 1);

    test_rings ();
    test_paths (treenet_pathset (d, NULL, 0), "8-port 3-tree, d-mod-k");
    test_paths (treenet_pathset (m, NULL, 0), "6-port 3-tree, min-hop");
    test_paths (treenet_random (d, 20, 1), "a job");
    treenet_destroy (d);
    treenet_destroy (m);
    return done_testing ();
}
