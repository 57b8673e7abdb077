/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "compare/infer/steps.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "compare/test/alike.h"
#include "tests/tap.h"
#include "util/rng.h"

enum { LEAVES = 4, EACH = 3, NODES = LEAVES * EACH };

#define NOISE 5.0
#define DIGITS 15.0

/* Four switches of three nodes each, joined by a fifth. */
static struct topology_model *tree (void)
{
    struct topology_model *m = topology_create (NODES, NULL);
    uint32_t leaf[LEAVES], top;

    for (int i = 0; i < LEAVES; i++)
        leaf[i] = topology_add_switch (m);
    top = topology_add_switch (m);
    for (uint32_t v = 0; v < NODES; v++)
        topology_add_edge (m, v, leaf[v / EACH], 400);
    for (int i = 0; i < LEAVES; i++)
        topology_add_edge (m, leaf[i], top, 100);
    topology_normal (m, 0);
    return m;
}

static struct infer_matrix *measure (const struct topology_model *m)
{
    struct infer_matrix *w = infer_matrix_create (m->nnodes, NULL);
    double *d = calloc ((size_t)m->nnodes * m->nvertices, sizeof (*d));
    struct rng rng;

    rng_seed (&rng, 1);
    topology_paths (m, d, NULL);
    for (uint32_t a = 0; a < m->nnodes; a++)
        for (uint32_t b = 0; b < a; b++)
            infer_matrix_set (w, a, b, d[(size_t)a * m->nvertices + b]
                                           + NOISE * rng_normal (&rng));
    free (d);
    return w;
}

/* Whether all that was too much goes, and nothing else. */
static void check (struct topology_model *m, const struct infer_matrix *w,
                   const struct topology_model *wanted, const char *what)
{
    topology_normal (m, 0);
    prune (m, w, settle (m, w), DIGITS);
    topology_normal (m, 0);
    ok (topology_alike (m, wanted), "%s: what is left is the tree", what);
    topology_destroy (m);
}

int main (void)
{
    struct topology_model *right = tree ();
    struct infer_matrix *w = measure (right);
    uint32_t top = right->nvertices - 1, more;
    struct topology_model *m;

    check (tree (), w, right, "a tree");
    m = tree ();
    topology_add_edge (m, NODES, NODES + 1, 197);
    check (m, w, right, "an edge that is about as long as the way");
    m = tree ();
    more = topology_add_switch (m);
    for (size_t i = 0; i < m->nedges; i++)
        if (m->edge[i].a >= NODES + 2 && m->edge[i].b == top)
            m->edge[i].b = more;
    topology_add_edge (m, top, more, 2);
    check (m, w, right, "a switch that is two");
    infer_matrix_destroy (w);
    topology_destroy (right);
    return done_testing ();
}
