/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Topologies inferred from latencies: cases that can be drawn by hand, noise
 * on top of them, and answers that there are not.
 */
#include "config.h"
#include "compare/infer/infer.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "compare/test/alike.h"
#include "tests/tap.h"
#include "util/rng.h"

struct side {
    uint32_t a, b;
    double ns;
};

/* What stands behind a matrix: edges up to the first of no length. */
struct net {
    uint32_t nodes, switches;
    const struct side *side;
};

/* How nodes and pairs depart from it. */
struct trouble {
    double ends;    /* nodes' edges are longer, evenly from 0 to this */
    double noise;   /* standard deviation of a pair */
    double unknown; /* share of the pairs */
    uint64_t seed;
};

static struct topology_model *draw (const struct net *net,
                                    const struct trouble *t, struct rng *rng)
{
    struct topology_model *m = topology_create (net->nodes, NULL);

    for (uint32_t i = 0; i < net->switches; i++)
        topology_add_switch (m);
    for (const struct side *s = net->side; s->ns > 0; s++)
        topology_add_edge (m, s->a, s->b,
                           s->ns + (s->a < net->nodes
                                        ? t->ends * rng_uniform (rng)
                                        : 0));
    topology_normal (m, 0);
    return m;
}

/* The latencies of a model's pairs, with trouble. */
static struct infer_matrix *measure (const struct topology_model *m,
                                     const struct trouble *t, struct rng *rng)
{
    struct infer_matrix *w = infer_matrix_create (m->nnodes, NULL);
    double *d = calloc ((size_t)m->nnodes * m->nvertices, sizeof (*d));

    topology_paths (m, d, NULL);
    for (uint32_t a = 0; a < m->nnodes; a++)
        for (uint32_t b = a + 1; b < m->nnodes; b++)
            if (rng_uniform (rng) >= t->unknown)
                infer_matrix_set (w, a, b,
                                  d[(size_t)a * m->nvertices + b]
                                      + t->noise * rng_normal (rng));
    free (d);
    return w;
}

/* Longest difference of the latencies of the edges of two models alike. */
static double difference (const struct topology_model *a,
                          const struct topology_model *b)
{
    double *da = calloc ((size_t)a->nnodes * a->nvertices, sizeof (*da));
    double *db = calloc ((size_t)b->nnodes * b->nvertices, sizeof (*db));
    double most = 0;

    topology_paths (a, da, NULL);
    topology_paths (b, db, NULL);
    for (uint32_t i = 0; i < a->nnodes; i++)
        for (uint32_t j = 0; j < a->nnodes; j++)
            most = fmax (most,
                         fabs (da[(size_t)i * a->nvertices + j]
                               - db[(size_t)i * b->nvertices + j]));
    for (size_t i = 0; i < a->nedges; i++)
        most = fmax (most, fabs (a->edge[i].latency_ns
                                 - b->edge[i].latency_ns));
    free (da);
    free (db);
    return most;
}

/* Whether the net is found, with latencies that are off by `near` at most. */
static bool is_found (const struct net *net, const struct trouble *t,
                      double near)
{
    struct rng rng;
    struct topology_model *truth, *m;
    struct infer_matrix *w;
    struct error err;
    bool found;

    rng_seed (&rng, t->seed);
    truth = draw (net, t, &rng);
    w = measure (truth, t, &rng);
    m = infer_switches (w, 0, &err);
    found = m && topology_alike (m, truth) && difference (m, truth) <= near;
    infer_matrix_destroy (w);
    topology_destroy (truth);
    topology_destroy (m);
    return found;
}

static const struct side three_threes[] = {
    { 0, 9, 1 },   { 1, 9, 1 },   { 2, 9, 1 },   { 3, 10, 1 }, { 4, 10, 1 },
    { 5, 10, 1 },  { 6, 11, 1 },  { 7, 11, 1 },  { 8, 11, 1 }, { 9, 12, 1 },
    { 10, 12, 1 }, { 11, 12, 1 }, { 0 },
};
static const struct side of_one_kind[] = {
    { 0, 4, 1 }, { 1, 4, 1 }, { 2, 4, 2 }, { 3, 4, 3 }, { 0 },
};
static const struct side two_kinds[] = {
    { 0, 6, 1 }, { 1, 6, 1 }, { 2, 6, 1 }, { 3, 6, 2 }, { 4, 6, 2 },
    { 5, 6, 2 }, { 0 },
};
static const struct side ring[] = {
    { 0, 12, 1 },  { 1, 12, 1 },  { 2, 12, 1 },  { 3, 13, 1 },
    { 4, 13, 1 },  { 5, 13, 1 },  { 6, 14, 1 },  { 7, 14, 1 },
    { 8, 14, 1 },  { 9, 15, 1 },  { 10, 15, 1 }, { 11, 15, 1 },
    { 12, 13, 2 }, { 13, 14, 2 }, { 14, 15, 2 }, { 12, 15, 2 }, { 0 },
};
static const struct side lonely_ring[] = {
    { 0, 6, 1 },  { 1, 7, 1 },  { 2, 8, 1 },   { 3, 9, 1 },  { 4, 10, 1 },
    { 5, 11, 1 }, { 6, 7, 2 },  { 7, 8, 2 },   { 8, 9, 2 },  { 9, 10, 2 },
    { 10, 11, 2 }, { 6, 11, 2 }, { 0 },
};
/* pairs of nodes, pairs of their switches, one above; a node at the top */
static const struct side three_levels[] = {
    { 0, 9, 1 },   { 1, 9, 1 },   { 2, 10, 1 },  { 3, 10, 1 },  { 4, 11, 1 },
    { 5, 11, 1 },  { 6, 12, 1 },  { 7, 12, 1 },  { 8, 15, 1 },  { 9, 13, 1 },
    { 10, 13, 1 }, { 11, 14, 1 }, { 12, 14, 1 }, { 13, 15, 1 }, { 14, 15, 1 },
    { 0 },
};
/* nodes along a line of switches */
static const struct side line[] = {
    { 0, 6, 1 }, { 1, 6, 1 }, { 2, 7, 1 }, { 3, 8, 1 }, { 4, 9, 1 },
    { 5, 9, 1 }, { 6, 7, 2 }, { 7, 8, 2 }, { 8, 9, 2 }, { 0 },
};
static const struct side one_switch[] = {
    { 0, 3, 1 }, { 1, 3, 1 }, { 2, 3, 1 }, { 0 },
};
static const struct side one_cable[] = { { 0, 1, 2 }, { 0 } };

static const struct {
    struct net net;
    const char *what;
} nets[] = {
    { { 9, 4, three_threes }, "nine hosts in three threes" },
    { { 4, 1, of_one_kind }, "two of one kind and two others" },
    { { 6, 1, two_kinds }, "two kinds on one switch" },
    { { 12, 4, ring }, "four switches in a ring" },
    { { 6, 6, lonely_ring }, "six switches in a ring, a host each" },
    { { 9, 7, three_levels }, "three levels of switches" },
    { { 6, 4, line }, "a line of switches" },
    { { 3, 1, one_switch }, "three hosts" },
    { { 2, 0, one_cable }, "two hosts" },
};

enum { NETS = sizeof (nets) / sizeof (nets[0]) };

static void test_exact (void)
{
    static const struct trouble none = { 0 };
    static const struct trouble ends = { .ends = 3, .seed = 1 };

    for (int i = 0; i < NETS; i++) {
        ok (is_found (&nets[i].net, &none, 1e-6), "%s", nets[i].what);
        ok (is_found (&nets[i].net, &ends, 1e-6), "%s, all ends different",
            nets[i].what);
    }
}

static void test_noise (void)
{
    for (uint64_t seed = 1; seed <= 10; seed++) {
        const struct trouble t = { .noise = 0.15, .seed = seed };
        const struct trouble more
            = { .ends = 3, .noise = 0.15, .unknown = 0.03, .seed = seed };

        ok (is_found (&nets[0].net, &t, 0.5), "three threes with noise");
        ok (is_found (&nets[3].net, &t, 0.5), "a ring with noise");
        ok (is_found (&nets[0].net, &more, 0.5),
            "three threes with noise, all ends different, some not known");
        ok (is_found (&nets[3].net, &more, 0.5),
            "a ring with noise, all ends different, some not known");
    }
}

static void test_basic (void)
{
    static const struct side four[] = {
        { 0, 1, 3 }, { 0, 2, 3 }, { 0, 3, 3 }, { 1, 2, 3 }, { 2, 3, 3 }, { 0 },
    };
    static const struct net net = { 4, 0, four };
    static const double eps[] = { 0, 0.1 };
    struct rng rng;

    for (size_t i = 0; i < sizeof (eps) / sizeof (eps[0]); i++) {
        const struct trouble t
            = { .noise = i == 0 ? 0 : 0.05, .seed = 1 };
        struct topology_model *truth, *m;
        struct infer_matrix *w;

        rng_seed (&rng, 1);
        truth = draw (&net, &t, &rng);
        w = measure (truth, &t, &rng);
        m = infer_basic (w, eps[i]);
        ok (m->nedges == 5 && topology_alike (m, truth),
            "four hosts, eps %g: five edges", eps[i]);
        topology_destroy (truth);
        topology_destroy (m);
        infer_matrix_destroy (w);
    }
}

/* Latencies of 16 cores of two sockets, evenly from `least` up to `width`
 * more; between sockets `apart` more.
 */
static int sockets (double width, double apart, uint64_t seed,
                    struct error *err)
{
    struct infer_matrix *w = infer_matrix_create (16, NULL);
    struct topology_model *m;
    struct rng rng;
    int rc;

    rng_seed (&rng, seed);
    for (uint32_t a = 0; a < w->n; a++)
        for (uint32_t b = a + 1; b < w->n; b++)
            infer_matrix_set (w, a, b,
                              500 + width * rng_uniform (&rng)
                                  + (a / 8 == b / 8 ? 0 : apart));
    m = infer_switches (w, 0, err);
    rc = !m ? 0 : m->nvertices == m->nnodes + 2 ? 1 : 2;
    infer_matrix_destroy (w);
    topology_destroy (m);
    return rc;
}

/* Five switches in a ring, a host each, would have ten edges: any ten values
 * have such a topology.
 */
static void test_no_freedom (void)
{
    struct infer_matrix *w = infer_matrix_create (5, NULL);
    struct error err = { .text = "" };

    for (uint32_t a = 0; a < w->n; a++)
        for (uint32_t b = a + 1; b < w->n; b++)
            infer_matrix_set (w, a, b, b - a == 1 || b - a == 4 ? 4 : 6);
    ok (!infer_switches (w, 0, &err)
            && strstr (err.text, "as many edges as pairs"),
        "as many edges as pairs: cannot tell");
    infer_matrix_destroy (w);
}

static void test_overlap (void)
{
    struct error err;

    for (uint64_t seed = 1; seed <= 5; seed++) {
        ok (sockets (200, 100, seed, &err) == 0
                && strstr (err.text, "latencies overlap"),
            "latencies of two sockets overlap: cannot tell");
        ok (sockets (20, 15, seed, &err) == 0, "narrow ones as well");
        ok (sockets (20, 60, seed, &err) == 1,
            "they do not: two sockets");
    }
}

static void test_apart (void)
{
    struct infer_matrix *w = infer_matrix_create (4, NULL);
    struct error err;

    ok (!infer_switches (w, 0, &err)
            && strstr (err.text, "do not join"),
        "nothing is known: cannot tell");
    infer_matrix_destroy (w);
}

/* Switches at one above them, with 4 nodes each, or with 4, 3, 2, 1 in turn;
 * each edge between switches is 1 long.
 */
static struct net tree (uint32_t switches, bool uneven, struct side *side)
{
    struct net net = { 0, switches + 1, side };

    for (uint32_t i = 0; i < switches; i++)
        net.nodes += uneven ? 4 - i % 4 : 4;
    for (uint32_t i = 0, a = 0; i < switches; i++) {
        for (uint32_t end = a + (uneven ? 4 - i % 4 : 4); a < end; a++)
            *side++ = (struct side){ a, net.nodes + i, 3 };
        *side++ = (struct side){ net.nodes + i, net.nodes + switches, 1 };
    }
    *side = (struct side){ 0 };
    return net;
}

/* How often a net is found and how often something else is told. */
struct answers {
    unsigned int times, right, wrong;
};

static struct answers answers (const struct net *net, double ends,
                               double noise)
{
    struct answers n = { .times = trials (20) };

    for (uint64_t seed = 1; seed <= n.times; seed++) {
        const struct trouble t
            = { .ends = ends, .noise = noise, .seed = seed };
        struct topology_model *truth, *m;
        struct infer_matrix *w;
        struct error err;
        struct rng rng;

        rng_seed (&rng, t.seed);
        truth = draw (net, &t, &rng);
        w = measure (truth, &t, &rng);
        m = infer_switches (w, 0, &err);
        if (m && topology_alike (m, truth))
            n.right++;
        else if (m)
            n.wrong++;
        infer_matrix_destroy (w);
        topology_destroy (truth);
        topology_destroy (m);
    }
    return n;
}

static void test_trees (void)
{
    struct side side[64];

    for (int uneven = 0; uneven < 2; uneven++)
        for (int noise = 1; noise <= 7; noise++) {
            struct net net = tree (8, uneven, side);
            struct answers alike = answers (&net, 0, 0.1 * noise);
            struct answers other = answers (&net, 3, 0.1 * noise);

            ok (alike.wrong + other.wrong == 0
                    && (noise > 2 || alike.right + other.right == 2 * alike.times),
                "%s tree, noise 0.%d: of %u right %u and %u, wrong %u and %u",
                uneven ? "an uneven" : "a", noise, alike.times,
                alike.right, other.right, alike.wrong, other.wrong);
        }
}

int main (void)
{
    test_exact ();
    test_noise ();
    test_trees ();
    test_basic ();
    test_no_freedom ();
    test_overlap ();
    test_apart ();
    return done_testing ();
}
