/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The solver finds what the paths determine, exactly where there is no noise.
 */
#include "config.h"
#include "core/solve.h"

#include <jansson.h>
#include <math.h>
#include <time.h>

#include "core/simulate.h"
#include "core/test/tablenet.h"
#include "tests/tap.h"

#define EXACT 1e-9

static void check (const void *p, const struct error *err)
{
    if (!p) {
        diag ("%s", err->text);
        abort ();
    }
}

static struct plan *plan_of (struct pathset *ps)
{
    struct plan_options opts = { .extra_rounds = 2, .seed = 1 };
    struct error err;
    struct plan *plan = plan_make (ps, &opts, &err);

    check (plan, &err);
    return plan;
}

static struct samples *simulated (struct pathset *ps, const struct plan *plan,
                                  const double *latency, double noise_ns,
                                  uint64_t seed)
{
    struct simulate_options opts = {
        .noise_ns = noise_ns,
        .repeats = noise_ns > 0 ? 9 : 1,
        .seed = seed,
    };
    struct error err;
    struct samples *s = simulate (ps, plan, latency, &opts, &err);

    check (s, &err);
    return s;
}

static struct solution *solved (struct pathset *ps, const struct samples *s,
                                bool pairs)
{
    struct solve_options opts = { RTT_MEDIAN, pairs, ROBUST_NONE };
    struct error err;
    struct solution *sol = solve (ps, s, &opts, &err);

    check (sol, &err);
    return sol;
}

/*
 * The paper's sample network
 */

static const struct pair {
    uint32_t a, b; /* k1 is 0 */
    double rtt_ns;
} measured[] = {
    { 0, 1, 16 }, { 0, 2, 37 }, { 0, 3, 36 }, { 0, 4, 18 },
    { 0, 5, 17 }, { 1, 4, 20 }, { 2, 3, 25 },
}, follow[] = {
    { 1, 2, 39 }, { 1, 3, 38 }, { 1, 5, 19 }, { 2, 4, 41 },
    { 2, 5, 40 }, { 3, 4, 40 }, { 3, 5, 39 }, { 4, 5, 21 },
};

enum { MEASURED = sizeof (measured) / sizeof (measured[0]) };

static struct samples *paper_samples (size_t n)
{
    struct samples *s = samples_create ();

    for (size_t i = 0; i < n; i++) {
        struct sample sample = {
            .a = measured[i].a,
            .b = measured[i].b,
            .round = (uint32_t)i,
            .initiator = measured[i].a,
            .sent = 1,
        };
        double rtt = measured[i].rtt_ns;

        sample_quantiles (&sample, &rtt, 1);
        if (samples_add (s, &sample) < 0)
            abort ();
    }
    return s;
}

static bool near (double a, double b)
{
    return fabs (a - b) <= EXACT * fabs (b);
}

static double rtt_of (const struct solution *sol, uint32_t a, uint32_t b)
{
    for (size_t i = 0; i < sol->npairs; i++)
        if (sol->pair[i].a == a && sol->pair[i].b == b)
            return sol->pair[i].rtt_ns;
    return NAN;
}

static void test_paper (void)
{
    static const double latency[8] = { 3.5, 4.5, NAN, NAN, 6.5, 6, 5.5, 5 };
    struct tablenet *net = tablenet_paper ();
    struct pathset *ps = tablenet_pathset (net, NULL, 0);
    struct samples *s = paper_samples (MEASURED);
    struct solution *sol = solved (ps, s, true);
    const struct group *g = sol->group;

    ok (sol->rank == 7 && sol->dof == 0 && isnan (sol->r2),
        "rank 7, no degree of freedom, no r2");
    for (size_t i = 0; i < 8; i++)
        ok (isnan (latency[i]) ? isnan (sol->link[i].latency_ns)
                               : near (sol->link[i].latency_ns, latency[i]),
            "l%zu is %g", i + 1, sol->link[i].latency_ns);
    ok (sol->ngroups == 1 && g->n == 2 && near (g->latency_ns, 8.5)
            && g->member[0].link + g->member[1].link == 2 + 3
            && g->member[0].p == 1 && g->member[0].q == 1
            && g->member[1].p == 1 && g->member[1].q == 1,
        "one group, l3 + l4, of 8.5");
    ok (sol->npairs == 15, "every pair is determined");
    for (size_t i = 0; i < sizeof (follow) / sizeof (follow[0]); i++)
        ok (near (rtt_of (sol, follow[i].a, follow[i].b), follow[i].rtt_ns),
            "k%u to k%u: %g", follow[i].a + 1, follow[i].b + 1,
            follow[i].rtt_ns);
    solution_destroy (sol);
    samples_destroy (s);

    /* without k3k4: k3, k4 cannot be told from what is between */
    s = paper_samples (MEASURED - 1);
    sol = solved (ps, s, true);
    ok (sol->rank == 6 && isnan (sol->link[4].latency_ns)
            && near (sol->link[0].latency_ns, 3.5) && sol->ngroups == 2,
        "one RTT less: rank 6, l5 and l6 in groups");
    ok (sol->npairs == 14 && isnan (rtt_of (sol, 2, 3))
            && near (rtt_of (sol, 2, 4), 41),
        "its pair is not determined, the others are");
    solution_destroy (sol);
    samples_destroy (s);
    pathset_destroy (ps);
    tablenet_destroy (net);
}

static void test_write (void)
{
    struct tablenet *net = tablenet_paper ();
    struct pathset *ps = tablenet_pathset (net, NULL, 0);
    struct samples *s = paper_samples (MEASURED);
    struct solution *sol = solved (ps, s, false);
    struct error err;
    char *text = NULL;
    size_t size;
    FILE *fp = open_memstream (&text, &size);
    json_t *json;
    json_t *l3;
    json_t *g1;

    ok (solution_write (sol, ps, fp, &err) == 0, "written");
    fclose (fp);
    json = json_loads (text, 0, NULL);
    l3 = json_array_get (json_object_get (json, "links"), 2);
    g1 = json_array_get (json_object_get (json, "groups"), 0);
    ok (json_is_null (json_object_get (l3, "latency_ns"))
            && !strcmp (json_string_value (json_array_get (
                            json_object_get (l3, "groups"), 0)),
                        "g1"),
        "l3: null, in group g1");
    ok (!strcmp (json_string_value (json_object_get (
                     json_object_get (g1, "members"), "l3")),
                 "1/1")
            && near (json_real_value (json_object_get (g1, "latency_ns")),
                     8.5),
        "g1: l3 with 1/1, 8.5 ns");
    ok (json_is_null (json_object_get (json, "r2"))
            && json_integer_value (json_object_get (json, "dof")) == 0,
        "dof 0, r2 null");
    json_decref (json);
    free (text);
    solution_destroy (sol);
    samples_destroy (s);
    pathset_destroy (ps);
    tablenet_destroy (net);
}

/*
 * Accuracy on fat trees
 */

/* Greatest relative errors of links, groups and pairs. */
static double worst_error (const struct solution *sol, struct pathset *ps,
                           const double *latency)
{
    double worst = 0;

    for (size_t i = 0; i < sol->nlinks; i++) {
        const struct link_estimate *l = &sol->link[i];

        if (!isnan (l->latency_ns))
            worst = fmax (worst, fabs (l->latency_ns / latency[l->link] - 1));
    }
    for (size_t i = 0; i < sol->ngroups; i++) {
        const struct group *g = &sol->group[i];
        double sum = 0;

        for (size_t k = 0; k < g->n; k++)
            sum += (double)g->member[k].p / (double)g->member[k].q
                   * latency[g->member[k].link];
        worst = fmax (worst, fabs (g->latency_ns / sum - 1));
    }
    for (size_t i = 0; i < sol->npairs; i++) {
        const struct pair_estimate *p = &sol->pair[i];
        struct error err;
        struct row row;
        double sum = 0;

        if (pathset_row (ps, p->a, p->b, &row, &err) < 0)
            abort ();
        for (size_t k = 0; k < row.n; k++)
            sum += row.count[k] * latency[row.link[k]];
        worst = fmax (worst, fabs (p->rtt_ns / sum - 1));
    }
    return worst;
}

static double *random_latencies (const struct tablenet *net, uint64_t seed)
{
    double *latency = table_alloc (net->net.nlinks, sizeof (*latency));
    struct rng rng;

    rng_seed (&rng, seed);
    for (size_t l = 0; l < net->net.nlinks; l++)
        latency[l] = 90 + 400 * rng_uniform (&rng);
    return latency;
}

static double now (void)
{
    struct timespec t;

    clock_gettime (CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

static void test_accuracy (int p, int q, enum table_routing routing,
                           size_t nodes)
{
    struct tablenet *net = tablenet_fattree (p, q, routing, 7);
    struct pathset *ps = nodes ? tablenet_random (net, nodes, 3)
                               : tablenet_pathset (net, NULL, 0);
    struct plan *plan = plan_of (ps);
    double *latency = random_latencies (net, 11);
    struct samples *s = simulated (ps, plan, latency, 0, 1);
    size_t n = pathset_size (ps);
    double start = now ();
    struct solution *sol = solved (ps, s, true);
    double seconds = now () - start;
    double worst = worst_error (sol, ps, latency);

    ok (worst <= EXACT && sol->npairs == n * (n - 1) / 2
            && sol->rank == plan_rank (plan),
        "%d-port %d-tree, %s, %zu hosts: rank %zu of %zu links, %zu groups, "
        "all pairs: error %.0e in %.3f s",
        p, q, routing ? "min-hop" : "d-mod-k", n, sol->rank, sol->nlinks,
        sol->ngroups, worst, seconds);
    solution_destroy (sol);
    samples_destroy (s);
    free (latency);
    plan_destroy (plan);
    pathset_destroy (ps);
    tablenet_destroy (net);
}

/* What is said of errors holds: estimates scatter as much as they say. */
static void test_errors (void)
{
    enum { RUNS = 200 };
    struct tablenet *net = tablenet_fattree (6, 2, TABLE_MINHOP, 7);
    struct pathset *ps = tablenet_pathset (net, NULL, 0);
    struct plan *plan = plan_of (ps);
    double *latency = random_latencies (net, 11);
    double chi2 = 0;
    double stated = 0;
    double rms;
    double max;
    size_t n = 0;
    struct error err;
    int rc;

    for (uint64_t run = 0; run < RUNS; run++) {
        struct samples *s = simulated (ps, plan, latency, 50, run);
        struct solution *sol = solved (ps, s, false);

        for (size_t i = 0; i < sol->nlinks; i++) {
            const struct link_estimate *l = &sol->link[i];

            chi2 += pow ((l->latency_ns - latency[l->link]) / l->stderr_ns,
                         2);
            stated += l->stderr_ns * l->stderr_ns;
            n++;
        }
        solution_destroy (sol);
        samples_destroy (s);
    }
    ok (chi2 / n > 0.75 && chi2 / n < 1.25,
        "estimates scatter as their errors say: chi square %.2f",
        chi2 / n);
    /* 9 repeats from either side */
    rc = solve_predict (ps, plan, &rms, &max, &err);
    ok (rc == 0
            && fabs (sqrt (stated / n) / (50 * sqrt (M_PI_2 / 18)) / rms - 1)
                   < 0.15
            && max >= rms,
        "and as was predicted: rms %.2f, max %.2f of an RTT's", rms, max);
    free (latency);
    plan_destroy (plan);
    pathset_destroy (ps);
    tablenet_destroy (net);
}

static void test_unhappy (void)
{
    struct tablenet *net = tablenet_paper ();
    struct pathset *ps = tablenet_pathset (net, NULL, 0);
    struct solve_options opts = { RTT_MEDIAN, true, ROBUST_NONE };
    struct samples *s = samples_create ();
    struct sample lost = { .a = 0, .b = 1, .sent = 3, .lost = 3 };
    struct plan *plan = plan_create ("none");
    struct error err;
    double rms = 1;
    double max = 1;

    ok (!solve (ps, s, &opts, &err) && err.fault == ERROR_WORLD,
        "nothing measured: %s", err.text);
    if (samples_add (s, &lost) < 0)
        abort ();
    ok (!solve (ps, s, &opts, &err) && err.fault == ERROR_WORLD,
        "everything lost: %s", err.text);
    ok (solve_predict (ps, plan, &rms, &max, &err) == 0 && rms == 0
            && max == 0,
        "an empty plan predicts nothing");
    solution_destroy (NULL);
    plan_destroy (plan);
    samples_destroy (s);
    pathset_destroy (ps);
    tablenet_destroy (net);
}

int main (void)
{
    static const struct {
        int p, q;
        size_t nodes; /* at random; 0: all */
    } tree[] = {
        { 4, 2, 0 }, { 6, 2, 0 }, { 8, 2, 0 },  { 12, 2, 0 },
        { 4, 3, 0 }, { 6, 3, 0 }, { 8, 3, 0 },  { 12, 3, 0 },
        { 8, 3, 16 }, { 12, 3, 64 }, { 8, 3, 2 },
    };

    test_paper ();
    test_write ();
    for (size_t i = 0; i < sizeof (tree) / sizeof (tree[0]); i++) {
        test_accuracy (tree[i].p, tree[i].q, TABLE_DMODK, tree[i].nodes);
        test_accuracy (tree[i].p, tree[i].q, TABLE_MINHOP, tree[i].nodes);
    }
    test_errors ();
    test_unhappy ();
    return done_testing ();
}
