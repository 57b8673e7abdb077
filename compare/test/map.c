/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Orders of ranks: graphs as they are read, and orders that cost less. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare/map/order.h"
#include "compare/map/talk.h"
#include "tests/tap.h"
#include "util/rng.h"

static struct talk *read_text (const char *text, struct error *err)
{
    FILE *fp = fmemopen ((char *)text, strlen (text), "r");
    struct talk *t;

    if (!fp)
        abort ();
    t = talk_read (fp, "graph", err);
    fclose (fp);
    return t;
}

/* Eight nodes in pairs: the two of a pair are 1 apart, others 10. Partners are
 * i and i ^ 4, so that no order of Slurm's knows.
 */
static struct infer_matrix *pairs_of_nodes (void)
{
    struct infer_matrix *m = infer_matrix_create (8, NULL);

    if (!m)
        abort ();
    for (uint32_t a = 0; a < 8; a++)
        for (uint32_t b = 0; b < a; b++)
            infer_matrix_set (m, a, b, (a ^ b) == 4 ? 1 : 10);
    return m;
}

static double cost (const struct talk *t, const struct infer_matrix *m,
                    const uint32_t *node)
{
    double sum = 0;

    for (uint32_t r = 0; r < t->n; r++)
        for (size_t e = t->with.start[r]; e < t->with.start[r + 1]; e++)
            if (t->with.v[e] > r)
                sum += t->amount[e]
                       * infer_matrix_at (m, node[r], node[t->with.v[e]]);
    return sum;
}

static void test_example (void)
{
    struct infer_matrix *m = pairs_of_nodes ();
    struct talk *t = read_text ("0 1\n2 3\n4 5\n6 7\n", NULL);
    struct rank_order o;

    if (!t || order_ranks (&o, t, m, 1, NULL) < 0)
        abort ();
    ok (o.start[ORDER_BLOCK].sum == 40 && o.start[ORDER_CYCLIC].sum == 40
            && o.start[ORDER_BLOCK].rank == 10,
        "four pairs of ranks, a rank a node: 10 each by Slurm's orders");
    ok (o.cost.sum == 4 && o.cost.rank == 1 && cost (t, m, o.node) == 4,
        "... and 1 each if partners are on nodes that are near");
    order_clear (&o);
    if (order_ranks (&o, t, m, 2, NULL) < 0)
        abort ();
    ok (o.cost.sum == 0 && o.from == ORDER_BLOCK,
        "two ranks a node: none of block order's cost is left to save");
    order_clear (&o);
    talk_destroy (t);
    infer_matrix_destroy (m);
}

static void test_graphs (void)
{
    struct talk *g
        = read_text ("# a comment\n0 1 5\n\n1,0,2.5 # back\n3;2\n2 2 7\n",
                     NULL);
    struct talk *m = read_text ("0 5 0 0\n2.5 9 0 0\n0 0 7 0\n0 0 1 0\n",
                                   NULL);

    ok (g && g->n == 4 && g->total == 8.5 && g->with.start[4] == 4
            && g->with.v[g->with.start[3]] == 2 && g->amount[0] == 7.5,
        "a graph: both directions together, nothing of a rank to itself");
    ok (m && m->n == 4 && m->total == 8.5 && g
            && memcmp (m->with.v, g->with.v, 4 * sizeof (*g->with.v)) == 0
            && memcmp (m->amount, g->amount, 4 * sizeof (*g->amount)) == 0,
        "... the same as a matrix");
    talk_destroy (g);
    talk_destroy (m);
}

static void test_refused (void)
{
    static const struct {
        const char *text, *error;
    } bad[] = {
        { "0\n", "graph:1: not FROM TO [AMOUNT]" },
        { "0 1\n0 1 2 3\n", "graph:2: not FROM TO [AMOUNT]" },
        { "0 x\n", "graph:1: x is not an amount" },
        { "0 1 -1\n", "graph:1: -1 is not an amount" },
        { "0 1 nan\n", "graph:1: nan is not an amount" },
        { "0 65536\n", "graph:1: 65536 is not a rank" },
        { "0.5 1\n", "graph:1: 0.5 is not a rank" },
        { "0 1 0\n", "graph: no rank sends" },
        { "#\n", "graph: no rank sends" },
        { "0 1 2 3\n1 0 2\n", "graph:2: the matrix is not square" },
        { "0 1 2 3\n0 1 2 3\n0 1 2 3\n0 1 2 3\n0 1 2 3\n",
          "graph:5: the matrix is not square" },
        { "0 1 2 3\n", "graph: a matrix of 4 columns has 1 line" },
        { "{\"kind\": \"series\"", "graph:1: " },
    };

    for (size_t i = 0; i < sizeof (bad) / sizeof (bad[0]); i++) {
        struct error err = { 0 };
        struct talk *t = read_text (bad[i].text, &err);

        ok (!t && strncmp (err.text, bad[i].error, strlen (bad[i].error)) == 0,
            "refused: %s", err.text);
        talk_destroy (t);
    }
}

/* Random latencies, graphs and places: whatever they are. */
static void test_any (void)
{
    struct rng rng;
    int worse = 0, full = 0, wrong = 0, less = 0, farther = 0;

    rng_seed (&rng, 1);
    for (int k = 0; k < 60; k++) {
        uint32_t nodes = 2 + rng_below (&rng, 9);
        uint32_t tasks = 1 + rng_below (&rng, 5), used[16] = { 0 };
        uint32_t n = 2 + rng_below (&rng, nodes * tasks - 1);
        struct infer_matrix *m = infer_matrix_create (nodes, NULL);
        char text[4096] = "0 1 0.001\n";
        struct talk *t;
        struct rank_order o;

        if (!m)
            abort ();
        for (uint32_t a = 0; a < nodes; a++)
            for (uint32_t b = 0; b < a; b++)
                infer_matrix_set (m, a, b, 1 + 1e4 * rng_uniform (&rng));
        for (uint32_t e = 0; e < 3 * n; e++)
            snprintf (text + strlen (text), sizeof (text) - strlen (text),
                      "%u %u %.3g\n", (unsigned)rng_below (&rng, n),
                      (unsigned)rng_below (&rng, n),
                      1 + 1e3 * rng_exponential (&rng));
        t = read_text (text, NULL);
        if (!t || order_ranks (&o, t, m, tasks, NULL) < 0)
            abort ();
        for (uint32_t r = 0; r < t->n; r++)
            full += ++used[o.node[r]] > tasks;
        worse += o.cost.sum > o.start[ORDER_BLOCK].sum
                 || o.cost.sum > o.start[ORDER_CYCLIC].sum;
        less += o.cost.sum < o.start[ORDER_BLOCK].sum
                && o.cost.sum < o.start[ORDER_CYCLIC].sum;
        farther += o.cost.far
                   > o.start[o.start[ORDER_CYCLIC].sum
                             < o.start[ORDER_BLOCK].sum].far;
        wrong += fabs (cost (t, m, o.node) - o.cost.sum) > 1e-6 * o.cost.sum
                 || isnan (o.start[ORDER_SCOTCH].sum) == gmap_built;
        order_clear (&o);
        talk_destroy (t);
        infer_matrix_destroy (m);
    }
    ok (worse == 0, "60 random jobs: none costs more than block or cyclic");
    ok (less > 30, "... most less than either: %d", less);
    ok (farther == 0, "... in none are two that talk farther apart than in the"
                      " cheaper of the two");
    ok (full == 0, "... no node has more ranks than it takes");
    ok (wrong == 0, "... and the cost is what it says");
}

static void test_hosts (void)
{
    static const char *const label[] = {
        "n2:0", "n1:0", "n2:1", "n1:1", "n10",
    };
    struct infer_matrix *m = infer_matrix_create (5, NULL), *h;
    struct error err = { 0 };

    if (!m)
        abort ();
    for (uint32_t a = 0; a < 5; a++) {
        infer_matrix_name (m, a, label[a], NULL);
        for (uint32_t b = 0; b < a; b++)
            infer_matrix_set (m, a, b, a + b == 2 ? 3 : a == 4 ? 50 : 10 * a);
    }
    h = order_hosts (m, &err);
    ok (h && h->n == 3 && strcmp (h->label[0], "n2") == 0
            && strcmp (h->label[1], "n1") == 0
            && strcmp (h->label[2], "n10") == 0,
        "processes of hosts: the hosts");
    ok (h && infer_matrix_at (h, 0, 0) == 3 && infer_matrix_at (h, 1, 1) == 30
            && infer_matrix_at (h, 2, 2) == 0 && infer_matrix_at (h, 0, 2) == 50
            && infer_matrix_at (h, 0, 1) == (10 + 20 + 30 + 30) / 4.,
        "... by the means of their processes; 0 within where nothing is known");
    infer_matrix_destroy (h);
    infer_matrix_set (m, 4, 0, NAN);
    infer_matrix_set (m, 4, 2, NAN);
    h = order_hosts (m, &err);
    ok (!h && strcmp (err.text, "n2 to n10 is not known") == 0,
        "... refused: %s", err.text);
    infer_matrix_destroy (h);
    infer_matrix_destroy (m);
}

static void test_places (void)
{
    struct infer_matrix *m = pairs_of_nodes ();
    struct talk *t = read_text ("0 8\n", NULL);
    struct error err = { 0 };
    struct rank_order o;

    ok (order_ranks (&o, t, m, 1, &err) < 0, "refused: %s", err.text);
    order_clear (&o);
    ok (order_ranks (&o, t, m, 1 << 16, &err) < 0, "refused: %s", err.text);
    order_clear (&o);
    for (size_t i = 0; i < 64; i += 9)
        m->ns[i] = 99;
    ok (order_ranks (&o, t, m, 2, NULL) == 0 && o.cost.sum == 1,
        "nodes that are nearer than ranks of one: the two go to two");
    order_clear (&o);
    talk_destroy (t);
    infer_matrix_destroy (m);
}

int main (void)
{
    test_example ();
    test_graphs ();
    test_refused ();
    test_any ();
    test_hosts ();
    test_places ();
    done_testing ();
}
