/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "compare/infer/model.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare/infer/graph.h"
#include "core/plan/plan.h"
#include "tests/tap.h"

/* Two pairs of nodes below two switches; one more node, joined to a node. */
static const char text[] = "1 a\n2 b\n3 c\n4 d\n5 e\n6 switch\n7 switch\n#\n"
                           "1 6 l: 1\n2 6 l: 1\n3 7 l: 2\n4 7 l: 2\n"
                           "6 7 l: 5\n5 4 l: 3\n";

static struct topology_model *model (void)
{
    FILE *fp = fmemopen ((void *)text, strlen (text), "r");
    struct topology_model *m = tgf_read (fp, "graph", NULL);

    fclose (fp);
    return m;
}

static void test_paths (const struct topology_model *m)
{
    struct routes *r = routes_create (m);
    struct pathset *ps = routes_nodes (r, NULL);
    uint32_t arc[PATH_MAX_HOPS];
    struct row row;
    bool joins = true;
    int n;

    ok (pathset_size (ps) == 5, "all nodes are there");
    n = pathset_walk (ps, 0, 4, arc, NULL);
    ok (n == 4, "from a to e: %d edges, through d", n);
    for (int i = 0; i < n; i++) {
        const struct topology_edge *e = &m->edge[arc_link (arc[i])];
        const struct topology_edge *before
            = i > 0 ? &m->edge[arc_link (arc[i - 1])] : NULL;
        uint32_t from = arc[i] & 1 ? e->b : e->a;

        joins &= !before
                 || from == (arc[i - 1] & 1 ? before->a : before->b);
    }
    ok (joins, "each of which begins where the one before ended");
    ok (pathset_row (ps, 0, 4, &row, NULL) == 0 && row.n == 4 && row.symmetric
            && row.count[0] == 2,
        "the round trip takes each twice");
    ok (strcmp (pathset_network (ps)->link[0].id, "a - switch 1") == 0,
        "edges are called after their ends");
    pathset_destroy (ps);
    routes_destroy (r);
}

/* What makes plans for fabrics makes one for a model. */
static void test_plan (const struct topology_model *m)
{
    struct routes *r = routes_create (m);
    struct pathset *ps = routes_nodes (r, NULL);
    struct plan_options opts = { .seed = 1 };
    struct plan *plan = plan_make (ps, &opts, NULL);

    ok (plan_check (ps, plan, NULL) == 0, "a plan");
    ok (plan_links (plan) == 6 && plan_rank (plan) == 6,
        "that determines all edges");
    plan_destroy (plan);
    pathset_destroy (ps);
    routes_destroy (r);
}

static void test_apart (void)
{
    struct topology_model *m = topology_create (3, NULL);
    struct error err;
    struct pathset *ps;
    struct routes *r;
    uint32_t arc[PATH_MAX_HOPS];

    topology_add_edge (m, 0, 1, 1);
    r = routes_create (m);
    ps = routes_nodes (r, NULL);
    ok (pathset_walk (ps, 0, 2, arc, &err) < 0,
        "a node that nothing joins: %s", err.text);
    pathset_destroy (ps);
    routes_destroy (r);
    topology_destroy (m);
}

int main (void)
{
    struct topology_model *m = model ();

    test_paths (m);
    test_plan (m);
    test_apart ();
    topology_destroy (m);
    return done_testing ();
}
