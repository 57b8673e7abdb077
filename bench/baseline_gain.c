/* SPDX-License-Identifier: GPL-2.0-or-later */
/* baseline_gain - how much do other jobs' samples help a new job?
 *
 *   baseline_gain [--smallest] [TRIALS [SEED]]
 *
 * Jobs have 16 or 64 random hosts of a 432-host 3-tree. Cables take 0 to 150
 * ns; noise is 50 ns, with 1 % outliers of 2,000 ns on average, and 5 repeats
 * from each side. Baselines are: none; one, three or ten other such jobs; an
 * earlier run of the same job. Prints, for some of the job's rows and links:
 *
 *   sd         standard deviation of a row's expected RTT, median, ns
 *   basis      share of the links that are judged on basis baseline
 *   smallest   excess of a link that equals six standard errors, median, ns
 */
#include "config.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/need.h"
#include "core/judge/explain.h"
#include "core/linear/stats.h"
#include "core/plan/plan.h"
#include "core/samples/simulate.h"
#include "core/test/treenet.h"
#include "util/rng.h"

enum {
    TRIALS = 4,
    BASELINES_MAX = 10,
    REPEATS = 5,
    PORTS = 12,
    LOOKED_AT = 32, /* rows and links that are examined per job */
};

#define HOST_NS 420.0
#define SWITCH_NS 130.0
#define SPREAD_NS 150.0
#define NOISE_NS 50.0
static const struct accuracy accuracy = { .ns = 5 };
#define BASIS_SHARE 0.25 /* as in the judge */
#define SIGMAS 6

static const struct {
    const char *name;
    size_t others;
    bool own;
} cases[] = {
    { "none", 0, false },
    { "1 other job", 1, false },
    { "3 other jobs", 3, false },
    { "10 other jobs", 10, false },
    { "the job itself", 0, true },
};

enum { CASES = sizeof (cases) / sizeof (cases[0]) };

/* The samples of a job of n random hosts, as observations. */
static struct pathset *measure (const struct treenet *net, size_t n,
                                const double *latency, uint64_t hosts,
                                uint64_t noise, struct model_run *run)
{
    struct observations *o = &run->obs;
    struct plan_options opts = { .extra_rounds = 2, .seed = hosts };
    struct simulate_options sim = {
        .noise_ns = NOISE_NS,
        .outlier_share = 0.01,
        .outlier_ns = 2000,
        .repeats = REPEATS,
        .seed = noise,
    };
    struct pathset *ps = treenet_random (net, n, hosts);
    struct error err;
    struct plan *plan = need (plan_make (ps, &opts, &err), &err);
    struct samples *s
        = need (simulate (ps, plan, latency, &sim, &err), &err);

    if (observe (o, ps, s, RTT_MEDIAN, &accuracy, &err) < 0)
        die (&err);
    samples_destroy (s);
    plan_destroy (plan);
    return ps;
}

struct figures {
    double sd, basis, smallest;
};

static double row_sd (const struct model *m, size_t row)
{
    double *v = treenet_alloc (m->nrows, sizeof (*v));
    double *u = treenet_alloc (model_unknowns (m), sizeof (*u));
    double var;

    v[row] = 1;
    model_transpose (m, v, u);
    /* no baseline determines the hosts' offsets in this run */
    for (size_t i = m->n + m->nclasses; i < model_unknowns (m); i++)
        u[i] = 0;
    var = model_prior_variance (m, u);
    free (v);
    free (u);
    return sqrt (var);
}

/* Whether the baseline constrains an excess of signature k; its standard error.
 */
static bool has_basis (const struct model *m, const struct causes *c, size_t k,
                       double *se)
{
    double *d = treenet_alloc (m->nrows, sizeof (*d));
    double *p = treenet_alloc (m->nrows, sizeof (*p));
    double *u = treenet_alloc (model_unknowns (m), sizeof (*u));
    double alone = 0;
    double var;

    causes_expand (c, k, d, m->nrows);
    if (model_whiten (m, d, 1, MODEL_EXACT, p) < 0)
        abort ();
    *se = 1 / (sqrt (causes_dot (c, k, p)) * causes_simplest (c, k)->unit);
    model_transpose (m, p, u);
    for (size_t l = 0; l < m->m; l++)
        alone += pow (u[l] * m->spread[m->class_of[l]], 2);
    /* no baseline determines the hosts' offsets in this run */
    for (size_t i = m->n + m->nclasses; i < model_unknowns (m); i++)
        u[i] = 0;
    var = model_prior_variance (m, u);
    free (d);
    free (p);
    free (u);
    return var < BASIS_SHARE * alone;
}

static struct figures look (struct pathset *ps, const struct model_run *now,
                            const struct model_run *base, size_t nbase)
{
    struct figures f = { 0 };
    struct causes c;
    struct model m;
    struct error err;
    double *v;
    size_t step;
    size_t n = 0;

    if (model_make (&m, ps, now, base, nbase, NULL, &err) < 0
        || causes_make (&c, ps, &now->obs, 0, &err) < 0)
        die (&err);
    if (model_reweigh (&m) < 0)
        abort ();
    v = treenet_alloc (m.nrows + c.n, sizeof (*v));
    step = m.nrows / LOOKED_AT + 1;
    for (size_t i = 0; i < m.nrows; i += step)
        v[n++] = row_sd (&m, i);
    f.sd = stats_median (v, n);
    n = 0;
    step = c.kind[SUSPECT_LINK] / LOOKED_AT + 1;
    /* the signatures start with the links */
    for (size_t k = 0; k < c.n; k += step)
        if (causes_simplest (&c, k)->suspect.kind == SUSPECT_LINK) {
            double se;

            f.basis += has_basis (&m, &c, k, &se);
            v[n++] = SIGMAS * se;
        }
    f.basis /= (double)n;
    f.smallest = stats_median (v, n);
    free (v);
    causes_clear (&c);
    model_clear (&m);
    return f;
}

static void trial (const struct treenet *net, size_t hosts, uint64_t seed,
                   struct figures *sum)
{
    struct model_run base[BASELINES_MAX + 1] = { 0 };
    struct model_run now = { 0 };
    double *latency = treenet_alloc (net->net.nlinks, sizeof (*latency));
    struct pathset *ps;
    struct rng rng;

    rng_seed (&rng, seed);
    for (size_t l = 0; l < net->net.nlinks; l++)
        latency[l] = (net->info[l].kind == LINK_HOST ? HOST_NS : SWITCH_NS)
                     + SPREAD_NS * rng_uniform (&rng);
    ps = measure (net, hosts, latency, 100 * seed, 1000 * seed, &now);
    for (size_t i = 0; i < BASELINES_MAX; i++)
        pathset_destroy (measure (net, hosts, latency, 100 * seed + 1 + i,
                                  1000 * seed + 1 + i, &base[i]));
    pathset_destroy (measure (net, hosts, latency, 100 * seed,
                              1000 * seed + 99, &base[BASELINES_MAX]));
    for (size_t i = 0; i < CASES; i++) {
        struct figures f = look (ps, &now,
                                 cases[i].own ? base + BASELINES_MAX : base,
                                 cases[i].own ? 1 : cases[i].others);

        sum[i].sd += f.sd;
        sum[i].basis += f.basis;
        sum[i].smallest += f.smallest;
    }
    for (size_t i = 0; i <= BASELINES_MAX; i++)
        observations_clear (&base[i].obs);
    observations_clear (&now.obs);
    pathset_destroy (ps);
    free (latency);
}

int main (int argc, char **argv)
{
    static const size_t hosts[] = { 16, 64 };
    bool least = smallest (argc, argv);
    int given = argc - optind;
    size_t trials = given > 0 ? number (argv[optind], 1, 1000000)
                    : least   ? 1
                              : TRIALS;
    uint64_t seed = given > 1 ? number (argv[optind + 1], 0, 1000000) : 1;
    struct treenet *net = treenet_create (PORTS, 3, TREE_DMODK, 1);

    print_command (argc, argv);
    printf (", %zu trials, jobs of %zu hosts:\n\n"
            "| job | baseline       | sd (ns) | basis | smallest (ns) |\n"
            "|---|---|---|---|---|\n",
            trials, net->n);
    for (size_t h = 0; h < (least ? 1 : sizeof (hosts) / sizeof (hosts[0]));
         h++) {
        struct figures sum[CASES] = { { 0 } };

        for (size_t i = 0; i < trials; i++)
            trial (net, hosts[h], seed + i, sum);
        for (size_t i = 0; i < CASES; i++)
            printf ("| %3zu | %-14s | %7.0f | %.3f | %13.0f |\n", hosts[h],
                    cases[i].name, sum[i].sd / (double)trials,
                    sum[i].basis / (double)trials,
                    sum[i].smallest / (double)trials);
    }
    treenet_destroy (net);
    return 0;
}
