/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "compare/infer/infer.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"

enum { CORES = 4, OUT = CORES };

/* Two sockets of two cores, 2 within and 6 between; the way out is at the
 * first, the second is 4 further from it.
 */
static struct infer_matrix *node_matrix (void)
{
    static const double out[CORES] = { 1000, 1000, 1004, 1004 };
    struct infer_matrix *w = infer_matrix_create (CORES + 1, NULL);

    for (uint32_t i = 0; i < CORES; i++) {
        for (uint32_t j = 0; j < i; j++)
            infer_matrix_set (w, i, j, i / 2 == j / 2 ? 2 : 6);
        infer_matrix_set (w, i, OUT, out[i]);
    }
    return w;
}

static void test_external (void)
{
    struct infer_matrix *w = node_matrix ();
    struct error err;

    ok (join_external (w, OUT, &err) == 0, "cores and a neighbour");
    ok (infer_matrix_at (w, 0, OUT) == 1 && infer_matrix_at (w, 1, OUT) == 1,
        "the near cores are half of what they are from each other away");
    ok (infer_matrix_at (w, 2, OUT) == 5 && infer_matrix_at (w, 3, OUT) == 5,
        "and the far ones 4 more");
    infer_matrix_set (w, 2, OUT, NAN);
    ok (join_external (w, OUT, &err) < 0
            && strcmp (err.text, "3 has not measured 5") == 0,
        "one that has not measured it: %s", err.text);
    infer_matrix_destroy (w);
}

/* Cores c1 to c4 of a node and its way out, as above. */
static struct topology_model *node_model (void)
{
    static const char *const label[] = { "c1", "c2", "c3", "c4", "way" };
    struct topology_model *m = topology_create (CORES + 1, label);
    uint32_t near = topology_add_switch (m);
    uint32_t far = topology_add_switch (m);

    for (uint32_t i = 0; i < CORES; i++)
        topology_add_edge (m, i, i < 2 ? near : far, 1);
    topology_add_edge (m, near, far, 4);
    topology_add_edge (m, near, OUT, 0);
    topology_normal (m, -1);
    return m;
}

/* Three nodes, n1 to n3, on a switch. */
static struct topology_model *net_model (double spoke)
{
    static const char *const label[] = { "n1", "n2", "n3" };
    struct topology_model *m = topology_create (3, label);
    uint32_t sw = topology_add_switch (m);

    for (uint32_t i = 0; i < 3; i++)
        topology_add_edge (m, i, sw, spoke);
    topology_normal (m, 0);
    return m;
}

/* The length of the path between two nodes by name. */
static double between (const struct topology_model *m, const char *a,
                       const char *b)
{
    double *d = calloc ((size_t)m->nnodes * m->nvertices, sizeof (*d));
    uint32_t at[2] = { 0, 0 };
    double ns;

    for (uint32_t v = 0; v < m->nnodes; v++) {
        if (!strcmp (m->label[v], a))
            at[0] = v;
        if (!strcmp (m->label[v], b))
            at[1] = v;
    }
    topology_paths (m, d, NULL);
    ns = d[(size_t)at[0] * m->nvertices + at[1]];
    free (d);
    return ns;
}

static void test_join (void)
{
    struct topology_model *net = net_model (100);
    struct topology_model *cores = node_model ();
    struct join_part part = { 0, cores, OUT, TOPOLOGY_NONE };
    struct topology_model *m = join_models (net, &part, 1, NULL);

    ok (m && m->nnodes == 6, "two nodes and four cores");
    ok (between (m, "n2", "n3") == 200, "nodes are as far as they were");
    ok (between (m, "c1", "n2") == 200, "so is the core that measured");
    ok (between (m, "c3", "n2") == 204, "the other socket is further");
    ok (between (m, "c1", "c2") == 2 && between (m, "c1", "c3") == 6,
        "and cores are as far from each other as they were");
    topology_destroy (m);
    part.by = 2;
    m = join_models (net, &part, 1, NULL);
    ok (between (m, "c3", "n2") == 200 && between (m, "c1", "n2") == 196,
        "where a core of the other socket measured, the edge is shorter");
    topology_destroy (m);
    topology_destroy (cores);
    topology_destroy (net);
}

static void test_two (void)
{
    struct topology_model *net = net_model (100);
    struct topology_model *cores = node_model ();
    static const char *const label[] = { "d1", "d2", "d3", "d4", "way" };
    struct topology_model *others = node_model ();
    struct join_part part[] = { { 2, cores, OUT, TOPOLOGY_NONE },
                                { 0, others, OUT, TOPOLOGY_NONE } };
    struct topology_model *m;
    struct error err;

    for (uint32_t i = 0; i <= CORES; i++) {
        free (others->label[i]);
        others->label[i] = strdup (label[i]);
    }
    m = join_models (net, part, 2, NULL);
    ok (m && m->nnodes == 9 && between (m, "c1", "d1") == 200
            && between (m, "c3", "d3") == 208 && between (m, "d4", "n2") == 204,
        "two nodes with cores");
    topology_destroy (m);
    part[1].node = 2;
    ok (!join_models (net, part, 2, &err)
            && strcmp (err.text, "n3 has two models of its cores") == 0,
        "not twice the same: %s", err.text);
    topology_destroy (net);
    net = net_model (0.5);
    ok (!join_models (net, part, 1, &err)
            && strcmp (err.text, "an edge of n3, 0 ns, is shorter than the way "
                                 "out of the node") == 0,
        "an edge that is too short: %s", err.text);
    topology_destroy (net);
    topology_destroy (others);
    topology_destroy (cores);
}

int main (void)
{
    test_external ();
    test_join ();
    test_two ();
    return done_testing ();
}
