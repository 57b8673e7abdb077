/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Colouring: graphs whose chromatic number is known. */
#include "config.h"
#include "core/plan/colour.h"

#include <stdlib.h>

#include "tests/tap.h"
#include "util/rng.h"

enum { VERTICES_MAX = 64, EDGES_MAX = 1024 };

struct edges {
    size_t n, m;
    uint32_t end[EDGES_MAX][2];
};

static void add (struct edges *e, uint32_t a, uint32_t b)
{
    e->end[e->m][0] = a;
    e->end[e->m++][1] = b;
}

/* An edge is a resource that its two ends hold. */
static struct graph graph_of (const struct edges *e)
{
    size_t start[VERTICES_MAX + 1] = { 0 };
    uint32_t resource[2 * EDGES_MAX];
    struct graph g;
    size_t at = 0;

    for (size_t v = 0; v < e->n; v++) {
        for (size_t i = 0; i < e->m; i++)
            if (e->end[i][0] == v || e->end[i][1] == v)
                resource[at++] = i;
        start[v + 1] = at;
    }
    graph_conflicts (&g, &(struct csr){ e->n, start, resource }, e->m);
    return g;
}

static int proper (const struct edges *e, const uint32_t *colour, int colours)
{
    for (size_t v = 0; v < e->n; v++)
        if (colour[v] >= (uint32_t)colours)
            return 0;
    for (size_t i = 0; i < e->m; i++)
        if (colour[e->end[i][0]] == colour[e->end[i][1]])
            return 0;
    return 1;
}

/* Welch and Powell's colours, and the fewest; -1: not checked. */
static void check (const char *name, const struct edges *e, int greedy,
                   int fewest)
{
    struct graph g = graph_of (e);
    uint32_t colour[VERTICES_MAX];
    uint64_t effort = 1000000;
    int n = colour_welch_powell (&g, colour);
    int best;

    ok (n >= fewest && (greedy < 0 || n == greedy) && proper (e, colour, n),
        "%s: %d colours by degree", name, n);
    best = colour_exact (&g, n + 1, 0, &effort, colour);
    ok (best == fewest && effort > 0 && proper (e, colour, best),
        "%s: %d at least", name, best);
    effort = 1000000;
    ok (colour_exact (&g, fewest, 0, &effort, colour) == fewest && effort > 0,
        "%s: not in fewer", name);
    graph_clear (&g);
}

static void test_known (void)
{
    struct edges none = { .n = 5 };
    struct edges complete = { .n = 7 };
    struct edges odd = { .n = 9 };
    struct edges petersen = { .n = 10 };
    struct edges crown = { .n = 8 };
    struct edges grotzsch = { .n = 11 };

    for (uint32_t a = 0; a < 7; a++)
        for (uint32_t b = 0; b < a; b++)
            add (&complete, a, b);
    for (uint32_t a = 0; a < 9; a++)
        add (&odd, a, (a + 1) % 9);
    for (uint32_t a = 0; a < 5; a++) {
        add (&petersen, a, (a + 1) % 5);
        add (&petersen, a, a + 5);
        add (&petersen, a + 5, (a + 2) % 5 + 5);
        /* Mycielski's of the 5-cycle: no triangle, 4 colours */
        add (&grotzsch, a, (a + 1) % 5);
        add (&grotzsch, a + 5, (a + 1) % 5);
        add (&grotzsch, a + 5, (a + 4) % 5);
        add (&grotzsch, a + 5, 10);
    }
    /* pairs 2i, 2i+1 are joined to all pairs but their own: by the numbers
     * a greedy colouring needs one colour a pair, two suffice
     */
    for (uint32_t a = 0; a < 8; a += 2)
        for (uint32_t b = 1; b < 8; b += 2)
            if (b != a + 1)
                add (&crown, a, b);
    check ("no edges", &none, 1, 1);
    check ("complete graph", &complete, 7, 7);
    check ("odd cycle", &odd, -1, 3);
    check ("Petersen's graph", &petersen, -1, 3);
    check ("Groetzsch's graph", &grotzsch, -1, 4);
    check ("crown", &crown, 4, 2);
}

/* A graph with a colouring of 5 hidden in it, and a clique of 5. */
static void test_hidden (void)
{
    struct edges e = { .n = 30 };
    struct rng rng;
    struct graph g;
    uint32_t colour[VERTICES_MAX];
    uint64_t effort = 3;

    rng_seed (&rng, 1);
    for (uint32_t a = 0; a < e.n; a++)
        for (uint32_t b = 0; b < a; b++)
            if (a % 5 != b % 5 && (a < 5 || rng_below (&rng, 3) > 0))
                add (&e, a, b);
    check ("hidden colouring", &e, -1, 5);
    g = graph_of (&e);
    ok (colour_exact (&g, 9, 0, &effort, colour) == 9 && effort == 0,
        "effort that does not suffice finds nothing");
    graph_clear (&g);
}

int main (void)
{
    test_known ();
    test_hidden ();
    return done_testing ();
}
