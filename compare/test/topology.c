/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The inferred topology: normal form, paths, equality; the matrix it is made
 * from.
 */
#include "config.h"
#include "compare/infer/model.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare/infer/matrix.h"
#include "compare/test/alike.h"
#include "tests/tap.h"

struct side {
    uint32_t a, b;
    double ns;
};

static struct topology_model *make (uint32_t nodes, uint32_t switches,
                                    const struct side *side)
{
    struct topology_model *m = topology_create (nodes, NULL);

    while (m && switches-- > 0)
        topology_add_switch (m);
    for (; m && side->ns > 0; side++)
        topology_add_edge (m, side->a, side->b, side->ns);
    return m;
}

/* Four nodes on two switches, with too many switches on the way. */
static const struct side chain[] = {
    { 0, 6, 1 }, { 1, 6, 2 }, { 6, 5, 3 }, { 5, 8, 4 }, { 8, 9, 1e-3 },
    { 9, 2, 5 }, { 3, 8, 6 }, { 9, 7, 1 }, { 0, 6, 9 }, { 0 },
};

static void test_normal (void)
{
    static const struct side plain[] = {
        { 0, 4, 1 }, { 1, 4, 2 }, { 2, 5, 5 }, { 3, 5, 6 }, { 4, 5, 7 }, { 0 },
    };
    struct topology_model *m = make (4, 6, chain);
    bool same = true;

    topology_normal (m, 0.01);
    ok (m->nvertices == 6 && m->nedges == 5,
        "of six switches two are left");
    for (size_t i = 0; i < 5; i++) {
        size_t e = topology_edge_of (m, plain[i].b, plain[i].a);

        same = same && e < m->nedges
               && fabs (m->edge[e].latency_ns - plain[i].ns) < 1e-9;
    }
    ok (same, "with the edges and latencies that they stood for");
    ok (topology_edge_of (m, 0, 5) == m->nedges, "and no others");
    topology_destroy (m);
    m = make (4, 6, chain);
    topology_normal (m, 0);
    ok (m->nvertices == 6
            && m->edge[topology_edge_of (m, 2, 5)].latency_ns == 5.001,
        "a short edge is part of a longer one where nothing is zero");
    topology_destroy (m);
}

static void test_paths (void)
{
    struct topology_model *m = make (4, 6, chain);
    double *d = calloc (4 * 11, sizeof (*d));
    uint32_t *last = calloc (4 * 11, sizeof (*last));

    topology_add_switch (m);
    topology_paths (m, d, last);
    ok (d[0] == 0 && d[1] == 3
            && fabs (d[2] - 13.001) < 1e-9 && d[3] == 14,
        "paths from node 1");
    ok (last[0] == TOPOLOGY_NONE && last[1] == 6 && last[2] == 9
            && last[9] == 8,
        "the vertices before their ends");
    ok (isinf (d[10]) && last[10] == TOPOLOGY_NONE,
        "to a switch that is not joined there is none");
    ok (d[3 * 11 + 0] == 14 && d[3 * 11 + 3] == 0, "paths from node 4");
    free (d);
    free (last);
    topology_destroy (m);
}

static void test_alike (void)
{
    static const struct side ring[] = {
        { 0, 4, 1 }, { 1, 5, 1 }, { 2, 6, 1 }, { 3, 7, 1 },
        { 4, 5, 1 }, { 5, 6, 1 }, { 6, 7, 1 }, { 7, 4, 1 }, { 0 },
    };
    static const struct side turned[] = {
        { 0, 7, 2 }, { 1, 6, 1 }, { 2, 5, 3 }, { 3, 4, 1 },
        { 7, 6, 1 }, { 6, 5, 1 }, { 5, 4, 5 }, { 4, 7, 1 }, { 0 },
    };
    static const struct side crossed[] = {
        { 0, 4, 1 }, { 1, 5, 1 }, { 2, 6, 1 }, { 3, 7, 1 },
        { 4, 6, 1 }, { 5, 6, 1 }, { 5, 7, 1 }, { 7, 4, 1 }, { 0 },
    };
    struct topology_model *a = make (4, 4, ring);
    struct topology_model *b = make (4, 4, turned);
    struct topology_model *c = make (4, 4, crossed);

    ok (topology_alike (a, b), "numbers and latencies do not matter");
    ok (!topology_alike (a, c), "who is next to whom does");
    topology_destroy (a);
    topology_destroy (b);
    topology_destroy (c);
}

static void test_loop (void)
{
    struct topology_model *m = topology_create (2, NULL);

    topology_add_edge (m, 1, 1, 1);
    topology_normal (m, 0);
    ok (m->nedges == 0, "no vertex is next to itself");
    topology_destroy (m);
}

static struct infer_matrix *read_text (const char *text, struct error *err)
{
    FILE *fp = fmemopen ((char *)text, strlen (text), "r");
    struct infer_matrix *m = infer_matrix_read (fp, "f", 1, err);

    fclose (fp);
    return m;
}

static void test_matrix (void)
{
    static const struct {
        const char *text, *error;
    } bad[] = {
        { "# nothing\n", "f:1: there is no matrix" },
        { "a 0\n", "f:1: wanted is a label and a value for each node: 1 node, "
                   "not 2 to 2048" },
        { "a 0 1\n\nb 1\n", "f:3: 1 value, not 2" },
        { "a 0 1\nb 1 0 7\n", "f:2: more than 2 values" },
        { "a 0 1\n", "f:1: 1 node, not 2" },
        { "a 0 1\nb 1 0\nc 1 0\n", "f:3: more than 2 nodes" },
        { "a 0 1\na 1 0\n", "f:2: two nodes are called a" },
        { "a 0 x\nb 1 0\n", "f:1: 'x' is no latency" },
        { "a 0 -3\nb 1 0\n", "f:1: '-3' is no latency" },
        { "a 0 nan\nb 1 0\n", "f:1: 'nan' is no latency" },
    };
    struct error err;
    struct infer_matrix *m = read_text ("# from a b c\n\n a 0 3 -\n"
                                        "b\t5 0 7 # slow\r\nc - - 0\n", &err);

    ok (m && m->n == 3 && !strcmp (m->label[1], "b")
            && infer_matrix_at (m, 0, 1) == 4
            && infer_matrix_at (m, 2, 1) == 7
            && isnan (infer_matrix_at (m, 0, 2))
            && infer_matrix_unknown (m) == 1,
        "a matrix is read, both directions of a pair as one");
    ok (infer_matrix_name (m, 2, "c d#\n", &err) == 0
            && !strcmp (m->label[2], "c?d??")
            && infer_matrix_name (m, 2, "a", &err) < 0
            && infer_matrix_name (m, 2, "", &err) < 0,
        "labels are cleaned and no two the same");
    infer_matrix_destroy (m);
    for (size_t i = 0; i < sizeof (bad) / sizeof (bad[0]); i++) {
        m = read_text (bad[i].text, &err);
        ok (!m && !strcmp (err.text, bad[i].error), "refused: %s",
            bad[i].error);
        infer_matrix_destroy (m);
    }
}

int main (void)
{
    test_normal ();
    test_paths ();
    test_alike ();
    test_loop ();
    test_matrix ();
    return done_testing ();
}
