/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The solver finds what the paths determine, exactly where there is no noise.
 */
#include "config.h"
#include "core/solve/solve.h"

#include <jansson.h>
#include <math.h>
#include <time.h>

#include "core/samples/simulate.h"
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
    struct solve_options opts = { .pairs = pairs, .quantile = RTT_MEDIAN };
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

        sample_quantiles (sample.rtt_ns, &rtt, 1);
        samples_add (s, &sample);
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
    const struct link_group *g = sol->group;

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

/* Truth of group g. */
static double group_truth (const struct link_group *g, const double *latency)
{
    double sum = 0;

    for (size_t k = 0; k < g->n; k++)
        sum += (double)g->member[k].p / (double)g->member[k].q
               * latency[g->member[k].link];
    return sum;
}

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
        const struct link_group *g = &sol->group[i];

        worst = fmax (worst, fabs (g->latency_ns / group_truth (g, latency)
                                   - 1));
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

/*
 * What is said of errors
 */

/* Squared errors of links and groups, and what was stated of them, summed
 * over runs.
 */
struct tally {
    size_t runs;
    size_t n;
    double *error2;  /* [n] */
    double *stated2; /* [n] */
    double residual2;
};

static void tally_add (struct tally *t, const struct solution *sol,
                       const double *latency)
{
    size_t k = 0;

    t->n = sol->nlinks + sol->ngroups;
    if (!t->error2) {
        t->error2 = table_alloc (t->n, sizeof (double));
        t->stated2 = table_alloc (t->n, sizeof (double));
    }
    for (size_t i = 0; i < sol->nlinks; i++, k++) {
        const struct link_estimate *l = &sol->link[i];

        if (isnan (l->latency_ns))
            continue;
        t->error2[k] += pow (l->latency_ns - latency[l->link], 2);
        t->stated2[k] += pow (l->stderr_ns, 2);
    }
    for (size_t i = 0; i < sol->ngroups; i++, k++) {
        const struct link_group *g = &sol->group[i];

        t->error2[k] += pow (g->latency_ns - group_truth (g, latency), 2);
        t->stated2[k] += pow (g->stderr_ns, 2);
    }
    t->residual2 += pow (sol->residual_ns, 2);
    t->runs++;
}

static void tally_clear (struct tally *t)
{
    free (t->error2);
    free (t->stated2);
}

/* rms over all, that of the worst, and the mean over all, as ratios of what
 * was observed to what was stated.
 */
static void tally_ratios (const struct tally *t, double *rms, double *worst,
                          double *mean)
{
    double error2 = 0;
    double stated2 = 0;
    size_t most = 0;
    size_t n = 0;

    *mean = 0;
    for (size_t i = 0; i < t->n; i++) {
        if (t->stated2[i] == 0)
            continue;
        error2 += t->error2[i];
        stated2 += t->stated2[i];
        *mean += sqrt (t->error2[i] / t->stated2[i]);
        n++;
        if (t->stated2[i] > t->stated2[most])
            most = i;
    }
    *rms = sqrt (error2 / stated2);
    *worst = sqrt (t->error2[most] / t->stated2[most]);
    *mean /= (double)n;
}

static bool within (double ratio, double share)
{
    return fabs (ratio - 1) <= share;
}

/* Estimates scatter as much as they say, and as was predicted. */
static void test_errors (int p, int q, enum table_routing routing,
                         size_t nodes, unsigned int extra_rounds,
                         enum robust robust)
{
    /* errors of a job's groups are mostly the same few of its rows' */
    uint64_t all = nodes ? 1000 : 200, runs = trials ((unsigned int)all);
    double bound = 0.1 * sqrt ((double)all / (double)runs);
    static const char *const name[] = { "plain", "Huber", "Tukey" };
    struct tablenet *net = tablenet_fattree (p, q, routing, 7);
    struct pathset *ps = nodes ? tablenet_random (net, nodes, 3)
                               : tablenet_pathset (net, NULL, 0);
    struct plan_options popts = { .extra_rounds = extra_rounds, .seed = 1 };
    struct plan *plan;
    double *latency = random_latencies (net, 11);
    struct solve_options opts = { .quantile = RTT_MEDIAN, .robust = robust };
    struct tally t = { 0 };
    double stated2 = 0;
    double rms;
    double worst;
    double mean;
    double predicted;
    double max;
    double unit = 50 * sqrt (M_PI_2 / 18); /* 9 repeats from either side */
    double most = 0;
    struct error err;
    size_t n = 0;

    plan = plan_make (ps, &popts, &err);
    check (plan, &err);
    for (uint64_t run = 0; run < runs; run++) {
        struct samples *s = simulated (ps, plan, latency, 50, run);
        struct solution *sol = solve (ps, s, &opts, &err);

        check (sol, &err);
        tally_add (&t, sol, latency);
        solution_destroy (sol);
        samples_destroy (s);
    }
    tally_ratios (&t, &rms, &worst, &mean);
    ok (within (rms, bound) && within (worst, 1.5 * bound)
            && within (mean, bound),
        "%d-port %d-tree, %s, %zu hosts, %s: observed errors over stated ones:"
        " rms %.3f, worst %.3f, mean %.3f", p, q,
        routing ? "min-hop" : "d-mod-k", pathset_size (ps), name[robust],
        rms, worst, mean);
    check (solve_predict (ps, plan, &predicted, &max, &err) == 0 ? &err : NULL,
           &err);
    for (size_t i = 0; i < t.n; i++) {
        stated2 += t.stated2[i] / (double)runs;
        most = fmax (most, t.stated2[i] / (double)runs);
        n += t.stated2[i] > 0;
    }
    ok (within (sqrt (stated2 / (double)n) / unit / predicted, 0.1)
            && within (sqrt (most) / unit / max, 0.1),
        "and as was predicted: rms %.2f of %.2f, max %.2f of %.2f of an RTT's",
        sqrt (stated2 / (double)n) / unit, predicted, sqrt (most) / unit, max);
    tally_clear (&t);
    free (latency);
    plan_destroy (plan);
    pathset_destroy (ps);
    tablenet_destroy (net);
}

/* A pair measured twice, with other quartiles. */
static struct solution *measured_twice (double first, double first_spread,
                                        double second, double second_spread)
{
    struct tablenet *net = tablenet_paper ();
    struct pathset *ps = tablenet_pathset (net, NULL, 0);
    struct samples *s = paper_samples (MEASURED);
    struct sample again = s->sample[0];
    struct solution *sol;

    again.round = MEASURED;
    for (int i = 0; i < 2; i++) {
        struct sample *x = i ? &again : &s->sample[0];
        double rtt = i ? second : first;
        double spread = i ? second_spread : first_spread;

        x->sent = spread > 0 ? 100 : 1;
        for (int q = 0; q < RTT_COUNT; q++)
            x->rtt_ns[q] = rtt;
        x->rtt_ns[RTT_P25] -= spread / 2;
        x->rtt_ns[RTT_P75] += spread / 2;
    }
    samples_add (s, &again);
    sol = solved (ps, s, true);
    samples_destroy (s);
    pathset_destroy (ps);
    tablenet_destroy (net);
    return sol;
}

static void test_weights (void)
{
    struct solution *sol = measured_twice (16, 0, 18, 0);
    static const double rtt[] = { 16, 18, 37, 36, 18, 17, 20, 25 };
    double sum = 0;
    double sum2 = 0;
    double tss;

    for (int i = 0; i < 8; i++) {
        sum += rtt[i];
        sum2 += rtt[i] * rtt[i];
    }
    tss = sum2 - sum * sum / 8;
    ok (near (rtt_of (sol, 0, 1), 17) && sol->rows == 8 && sol->dof == 1
            && near (sol->residual_ns, 0.5) && near (sol->r2, 1 - 2 / tss),
        "16 and 18 are 17: residual %.3f, r2 %.6f", sol->residual_ns,
        sol->r2);
    for (size_t i = 0; i < sol->npairs; i++)
        if (sol->pair[i].a == 0 && sol->pair[i].b == 1)
            ok (near (sol->pair[i].stderr_ns, 1),
                "variance 2 of an RTT, by the residual, and half of that");
    solution_destroy (sol);

    sol = measured_twice (16, 0.2, 18, 2);
    ok (rtt_of (sol, 0, 1) > 16 && rtt_of (sol, 0, 1) < 16.2,
        "the steady one counts for more: %.3f", rtt_of (sol, 0, 1));
    solution_destroy (sol);
}

enum { BAD = 3 };

/* The first probe of each of the first rounds is bad. */
static bool is_bad (const struct sample *s, const struct plan *plan)
{
    size_t n;
    const struct probe *probe = plan_round (plan, s->round, &n);

    return s->round < BAD && s->a == probe->a && s->b == probe->b;
}

/* A few rows that are far off, from whichever side they are measured. */
static void test_robust (void)
{
    static const char *const name[] = { "plain", "Huber", "Tukey" };
    struct tablenet *net = tablenet_fattree (8, 2, TABLE_DMODK, 7);
    struct pathset *ps = tablenet_pathset (net, NULL, 0);
    struct plan_options popts = { .extra_rounds = 12, .seed = 3 };
    struct error err;
    struct plan *plan = plan_make (ps, &popts, &err);
    double *latency = random_latencies (net, 11);
    double rms[3];

    check (plan, &err);
    for (int m = ROBUST_NONE; m <= ROBUST_TUKEY; m++) {
        struct solve_options opts = { .quantile = RTT_MEDIAN, .robust = m };
        struct samples *s = simulated (ps, plan, latency, 10, 5);
        struct solution *sol;
        double sum = 0;

        for (size_t i = 0; i < s->nsamples; i++)
            if (is_bad (&s->sample[i], plan))
                for (int q = 0; q < RTT_COUNT; q++)
                    s->sample[i].rtt_ns[q] += 3000;
        sol = solve (ps, s, &opts, &err);
        check (sol, &err);
        for (size_t i = 0; i < sol->nlinks; i++)
            sum += pow (sol->link[i].latency_ns - latency[sol->link[i].link],
                        2);
        rms[m] = sqrt (sum / (double)sol->nlinks);
        ok (m ? sol->outliers >= BAD && sol->outliers < 2 * BAD
              : sol->outliers == 0, "%s: %zu rows are not believed",
            name[m], sol->outliers);
        solution_destroy (sol);
        samples_destroy (s);
    }
    ok (rms[ROBUST_NONE] > 50 && rms[ROBUST_HUBER] < 2
            && rms[ROBUST_TUKEY] < 2,
        "%d rows off by 3 us: errors of %.1f, Huber %.1f, Tukey %.1f ns", BAD,
        rms[0], rms[1], rms[2]);
    free (latency);
    plan_destroy (plan);
    pathset_destroy (ps);
    tablenet_destroy (net);
}

/*
 * Switches
 */

/* Give the links of a fat tree their ends, level after level. */
static struct switch_info *add_switches (struct tablenet *t, int p, int q)
{
    size_t k = p / 2;
    size_t level = t->n / k; /* switches of one below the top */
    struct switch_info *sw;

    t->net.nswitches = (q - 1) * level + level / 2;
    sw = table_alloc (t->net.nswitches, sizeof (*sw));
    for (size_t i = 0; i < t->net.nswitches; i++)
        sw[i] = (struct switch_info){ "s", "switch" };
    t->net.sw = sw;
    for (size_t i = 0; i < t->n; i++)
        t->info[i].end[1] = i / k;
    for (size_t l = 1, below = 1; l < (size_t)q; l++, below *= k)
        for (size_t s = 0; s < level; s++)
            for (size_t u = 0; u < k; u++) {
                struct link_info *info = &t->info[l * t->n + s * k + u];
                size_t x = l + 1 < (size_t)q ? s / below / k : 0;

                info->end[0] = (l - 1) * level + s;
                info->end[1] = l * level + x * below * k + u * below
                               + s % below;
            }
    return sw;
}

static void test_switch (int p, int q, enum table_routing routing,
                         uint32_t slow, double excess)
{
    struct tablenet *net = tablenet_fattree (p, q, routing, 7);
    struct switch_info *sw = add_switches (net, p, q);
    struct pathset *ps = tablenet_pathset (net, NULL, 0);
    struct plan *plan = plan_of (ps);
    double *latency = table_alloc (net->net.nlinks, sizeof (*latency));
    struct rng rng;
    struct samples *s;
    struct solution *sol;
    bool right;

    rng_seed (&rng, 3);
    for (size_t l = 0; l < net->net.nlinks; l++) {
        const uint32_t *end = net->info[l].end;

        latency[l] = 300 + 150 * rng_uniform (&rng);
        if (end[0] == slow || end[1] == slow)
            latency[l] += excess;
    }
    latency[7] += 1000; /* and one link that is slow on its own */
    s = simulated (ps, plan, latency, 50, 5);
    sol = solved (ps, s, false);
    right = sol->nswitches == (excess > 0);
    for (size_t i = 0; i < sol->nswitches; i++) {
        const struct switch_excess *x = &sol->sw[i];

        diag ("switch %u: %.0f +- %.0f ns on %zu links", x->sw, x->excess_ns,
              x->stderr_ns, x->n);
        right &= x->sw == slow && x->n == (size_t)p
                 && fabs (x->excess_ns - excess) < 4 * x->stderr_ns;
    }
    ok (right && sol->switches_tested == net->net.nswitches,
        "%d-port %d-tree, %s, %+.0f ns at switch %u: %zu of %zu named", p, q,
        routing ? "min-hop" : "d-mod-k", excess, slow, sol->nswitches,
        sol->switches_tested);
    solution_destroy (sol);
    samples_destroy (s);
    free (latency);
    free (sw);
    plan_destroy (plan);
    pathset_destroy (ps);
    tablenet_destroy (net);
}

static void test_bare (void)
{
    struct tablenet *net = tablenet_paper ();
    struct pathset *ps = tablenet_pathset (net, NULL, 0);
    struct samples *s = paper_samples (MEASURED);
    struct solve_options opts = {
        .quantile = RTT_MEDIAN,
        .pairs = true,
        .bare = true,
    };
    struct error err;
    struct solution *sol = solve (ps, s, &opts, &err);

    check (sol, &err);
    ok (near (sol->link[0].latency_ns, 3.5) && isnan (sol->link[0].stderr_ns)
            && near (rtt_of (sol, 1, 2), 39) && sol->nswitches == 0,
        "estimates alone");
    solution_destroy (sol);
    samples_destroy (s);
    pathset_destroy (ps);
    tablenet_destroy (net);
}

static void test_unhappy (void)
{
    struct tablenet *net = tablenet_paper ();
    struct pathset *ps = tablenet_pathset (net, NULL, 0);
    struct solve_options opts = { .pairs = true, .quantile = RTT_MEDIAN };
    struct samples *s = samples_create ();
    struct sample lost = { .a = 0, .b = 1, .sent = 3, .lost = 3 };
    struct plan *plan = plan_create ("none");
    struct error err;
    double rms = 1;
    double max = 1;

    ok (!solve (ps, s, &opts, &err) && err.fault == ERROR_WORLD,
        "nothing measured: %s", err.text);
    samples_add (s, &lost);
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
        if (tree[i].p < 12 || tree[i].q < 3 || trials (4) == 4)
            test_accuracy (tree[i].p, tree[i].q, TABLE_DMODK, tree[i].nodes);
        test_accuracy (tree[i].p, tree[i].q, TABLE_MINHOP, tree[i].nodes);
    }
    test_errors (6, 2, TABLE_MINHOP, 0, 2, ROBUST_NONE);
    if (trials (4) == 4)
        test_errors (8, 3, TABLE_MINHOP, 0, 2, ROBUST_NONE);
    test_errors (8, 3, TABLE_DMODK, 16, 2, ROBUST_NONE);
    test_errors (8, 3, TABLE_MINHOP, 16, 2, ROBUST_NONE);
    test_errors (6, 2, TABLE_MINHOP, 0, 2, ROBUST_HUBER);
    test_errors (6, 2, TABLE_DMODK, 0, 6, ROBUST_TUKEY);
    test_weights ();
    test_robust ();
    test_switch (8, 3, TABLE_DMODK, 0, 0);
    test_switch (8, 3, TABLE_MINHOP, 0, 0);
    test_switch (8, 3, TABLE_DMODK, 3, 300);
    test_switch (8, 3, TABLE_MINHOP, 40, 300);
    test_switch (12, 2, TABLE_DMODK, 13, 300);
    test_bare ();
    test_unhappy ();
    return done_testing ();
}
