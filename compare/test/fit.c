/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "compare/infer/infer.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/tap.h"
#include "util/rng.h"

#define NOISE 5.0

static bool near (double a, double b, double by)
{
    return fabs (a - b) <= by;
}

/* n nodes on a switch; spoke i is 10 (i + 1). */
static struct topology_model *star (uint32_t n)
{
    struct topology_model *m = topology_create (n, NULL);
    uint32_t centre = topology_add_switch (m);

    for (uint32_t i = 0; i < n; i++)
        topology_add_edge (m, i, centre, 10 * (i + 1));
    topology_normal (m, 0);
    return m;
}

/* All pairs of a model that measure[] allows, with noise. */
static struct infer_matrix *measured (const struct topology_model *m,
                                      bool (*allows) (uint32_t a, uint32_t b,
                                                      uint32_t n),
                                      double noise)
{
    struct infer_matrix *w = infer_matrix_create (m->nnodes, NULL);
    double *d = calloc ((size_t)m->nnodes * m->nvertices, sizeof (*d));
    struct rng rng;

    rng_seed (&rng, 1);
    topology_paths (m, d, NULL);
    for (uint32_t a = 0; a < m->nnodes; a++)
        for (uint32_t b = a + 1; b < m->nnodes; b++)
            if (allows (a, b, m->nnodes))
                infer_matrix_set (w, a, b, d[(size_t)a * m->nvertices + b]
                                               + noise * rng_normal (&rng));
    free (d);
    return w;
}

static bool all (uint32_t a, uint32_t b, uint32_t n)
{
    (void)n;
    return a != b;
}

static bool ring (uint32_t a, uint32_t b, uint32_t n)
{
    return (a + 1) % n == b || (b + 1) % n == a;
}

/* Forget the model's latencies: 1 each. */
static void blur (struct topology_model *m)
{
    for (size_t e = 0; e < m->nedges; e++)
        m->edge[e].latency_ns = 1;
}

static void test_star (void)
{
    struct topology_model *m = star (6);
    struct infer_matrix *w = measured (m, all, 0);
    struct fit fit;
    bool exact = true, determined = true;

    blur (m);
    ok (fit_model (&fit, m, w, NULL) == 0, "a star of six, all pairs");
    ok (fit.pairs == 15 && fit.rank == 6 && fit.dof == 9, "rank 6 of 15 pairs");
    for (size_t e = 0; e < 6; e++) {
        exact &= near (m->edge[e].latency_ns, 10 * (e + 1), 1e-6);
        determined &= fit.determined[e];
    }
    ok (exact, "each spoke is found");
    ok (determined, "and determined");
    ok (near (fit.r2, 1, 1e-9) && near (fit.r2_adjusted, 1, 1e-9)
            && near (fit.residual_ns, 0, 1e-6),
        "nothing is left");
    fit_clear (&fit);
    infer_matrix_destroy (w);
    topology_destroy (m);
}

static void test_ring (uint32_t n)
{
    struct topology_model *m = star (n);
    struct infer_matrix *w = measured (m, ring, 0);
    size_t determined = 0;
    struct fit fit;
    bool fits = true;

    for (size_t e = 0; e < n; e += 2)
        m->edge[e].latency_ns += 3;
    ok (fit_model (&fit, m, w, NULL) == 0
            && fit.rank == (n % 2 ? n : n - 1),
        "a star of %u around a ring: rank %u", n, n % 2 ? n : n - 1);
    for (size_t e = 0; e < n; e++)
        determined += fit.determined[e];
    ok (determined == (n % 2 ? n : 0), "which determines %zu spokes",
        determined);
    for (uint32_t a = 0; a < n; a++)
        fits &= near (m->edge[a].latency_ns + m->edge[(a + 1) % n].latency_ns,
                      infer_matrix_at (w, a, (a + 1) % n), 1e-6);
    ok (fits, "and the pairs fit");
    fit_clear (&fit);
    infer_matrix_destroy (w);
    topology_destroy (m);
}

static void test_noise (void)
{
    struct topology_model *m = star (40);
    struct infer_matrix *w = measured (m, all, NOISE);
    struct fit fit;
    size_t within = 0;

    fit_model (&fit, m, w, NULL);
    ok (near (fit.residual_ns, NOISE, NOISE / 10), "the noise is found: %.2f",
        fit.residual_ns);
    ok (fit.r2 > 0.99 && fit.r2 < 1 && fit.r2_adjusted < fit.r2,
        "R^2 %.5f, adjusted %.5f", fit.r2, fit.r2_adjusted);
    /* of n spokes, each in n - 1 pairs */
    ok (near (fit.stderr_ns[0], NOISE / sqrt (38), 0.1),
        "standard errors as they should be: %.3f", fit.stderr_ns[0]);
    for (size_t e = 0; e < 40; e++)
        within += near (m->edge[e].latency_ns, 10 * (e + 1),
                        2 * fit.stderr_ns[e]);
    ok (within >= 34, "%zu of 40 spokes are within two of them", within);
    fit_clear (&fit);
    infer_matrix_destroy (w);
    topology_destroy (m);
}

/* Two nodes, one edge: nothing is left over. Two that nothing joins. */
static void test_few (void)
{
    struct topology_model *m = topology_create (3, NULL);
    struct infer_matrix *w = infer_matrix_create (3, NULL);
    struct fit fit;

    infer_matrix_set (w, 0, 1, 7);
    infer_matrix_set (w, 0, 2, 9);
    topology_add_edge (m, 0, 1, 1);
    ok (fit_model (&fit, m, w, NULL) == 0 && fit.pairs == 1 && fit.apart == 1,
        "a pair that the model does not join is apart");
    ok (fit.dof == 0 && isnan (fit.r2) && isnan (fit.residual_ns)
            && isnan (fit.stderr_ns[0])
            && near (m->edge[0].latency_ns, 7, 1e-9),
        "without freedom, nothing is said of the fit");
    fit_clear (&fit);
    infer_matrix_destroy (w);
    topology_destroy (m);
}

int main (void)
{
    test_star ();
    for (uint32_t n = 3; n <= 9; n++)
        test_ring (n);
    test_noise ();
    test_few ();
    return done_testing ();
}
