/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Many sets of samples together: each row once, as exact as all of them, and
 * links that none of them separates.
 */
#include "config.h"
#include "core/samples/observe.h"

#include <math.h>
#include <stdlib.h>

#include "core/linear/stats.h"
#include "core/samples/simulate.h"
#include "core/solve/solve.h"
#include "core/test/tablenet.h"
#include "tests/tap.h"
#include "util/rng.h"

enum { LINKS_MAX = 400 };

static struct error err;

static void check (bool fine)
{
    if (!fine) {
        diag ("%s", err.text);
        abort ();
    }
}

/* The same links, by a set of some endpoints of the network. */
static struct samples *measured (struct pathset *ps, const double *latency,
                                 double noise_ns, uint64_t seed)
{
    struct plan_options plan_opts = { .extra_rounds = 1, .seed = 1 };
    struct simulate_options opts = {
        .noise_ns = noise_ns, .repeats = noise_ns > 0 ? 9 : 1, .seed = seed,
    };
    struct plan *plan = plan_make (ps, &plan_opts, &err);
    struct samples *s;

    check (plan != NULL);
    s = simulate (ps, plan, latency, &opts, &err);
    check (s != NULL);
    plan_destroy (plan);
    return s;
}

/* Add samples of one set, renamed as the endpoints of another are. */
static void add (struct combine *c, const struct pathset *all,
                 const struct pathset *ps, struct samples *s, double share)
{
    struct observations o;

    for (size_t i = 0; i < s->nsamples; i++) {
        struct sample *p = &s->sample[i];
        bool first = p->initiator == p->a;

        p->a = (uint32_t)pathset_find (all, pathset_endpoint (ps, p->a)->name);
        p->b = (uint32_t)pathset_find (all, pathset_endpoint (ps, p->b)->name);
        p->initiator = first ? p->a : p->b;
    }
    check (observe (&o, all, s, RTT_MEDIAN, &(struct accuracy){ 0 }, &err)
           == 0);
    combine_add (c, &o, share);
    observations_clear (&o);
}

/* Repeats that do not differ leave the instrument's error. */
static void test_accuracy (void)
{
    static const struct {
        struct accuracy accuracy;
        double var;
    } tab[] = {
        { { .ns = 3 }, 9 }, { { .of_reading = .02 }, 16 },
        { { .ns = 3, .of_reading = .02 }, 25 }, { { 0 }, 1 },
    };
    struct tablenet *net = tablenet_fattree (4, 2, TABLE_DMODK, 1);
    struct pathset *ps = tablenet_pathset (net, NULL, 0);
    struct samples *s = samples_create ();

    for (uint32_t b = 1; b < 4; b++) {
        struct sample x = { .a = 0, .b = b, .initiator = 0, .sent = 5 };

        for (int q = 0; q < RTT_COUNT; q++)
            x.rtt_ns[q] = 100 * b; /* 200 is usual */
        samples_add (s, &x);
    }
    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++) {
        struct observations o;

        check (observe (&o, ps, s, RTT_MEDIAN, &tab[i].accuracy, &err) == 0);
        ok (o.n == 3 && fabs (o.v[0].var - tab[i].var) < 1e-9,
            "accurate to %g ns and %g of a reading: variance %g",
            tab[i].accuracy.ns, tab[i].accuracy.of_reading, o.v[0].var);
        observations_clear (&o);
    }
    samples_destroy (s);
    pathset_destroy (ps);
    tablenet_destroy (net);
}

/* Messages that differ by 60 ns where loopbacks are exact: of 2 us others' traffic
 * may be why, of 500 us processors are.
 */
static void test_quiet (void)
{
    static const double least[] = { 2e3, 5e5 };
    struct tablenet *net = tablenet_fattree (4, 2, TABLE_DMODK, 1);
    struct pathset *ps = tablenet_pathset (net, NULL, 0);

    for (size_t i = 0; i < 2; i++) {
        struct samples *s = samples_create ();
        struct observations o;
        size_t quiet = 0;

        for (uint32_t b = 1; b < 4; b++) {
            struct sample x = { .a = 0, .b = b, .initiator = 0, .sent = 20 };
            struct loopback y = { .end = b };

            for (int q = 0; q < RTT_COUNT; q++) {
                x.rtt_ns[q] = least[i] + 60 * q;
                y.rtt_ns[q] = 1000;
            }
            samples_add (s, &x);
            samples_add_loopback (s, &y);
        }
        check (observe (&o, ps, s, RTT_FASTEST, &observe_accuracy, &err) == 0);
        for (size_t k = 0; k < o.n; k++)
            quiet += o.v[k].quiet;
        ok (o.n == 3 && quiet == (least[i] > 1e5 ? 3 : 0),
            "round trips of %g us beside exact loopbacks: %zu of 3 quiet",
            least[i] / 1e3, quiet);
        observations_clear (&o);
        samples_destroy (s);
    }
    pathset_destroy (ps);
    tablenet_destroy (net);
}

static struct observation one (uint32_t a, uint32_t b, double rtt, double var)
{
    return (struct observation){
        .a = a, .b = b, .rtt_ns = rtt, .var = var, .repeats = 1,
    };
}

static void test_mean (void)
{
    struct tablenet *net = tablenet_fattree (4, 2, TABLE_DMODK, 1);
    struct pathset *ps = tablenet_pathset (net, NULL, 0);
    struct observation v[] = {
        one (0, 1, 100, 4), one (1, 0, 104, 4), one (0, 2, 200, 1),
        one (0, 2, 200, 1), one (3, 2, 300, 9), one (3, 2, 400, 9),
    };
    struct observations in = { .v = v, .n = 6, .sigma_ns = 2 };
    struct observations o;
    struct combine *c = combine_create ();

    combine_add (c, &in, 0.5);
    combine_add (c, &in, 1);
    check (combine_finish (c, ps, &o, &err) == 0);
    ok (o.n == 3 && o.sigma_ns == 2, "%zu pairs", o.n);
    ok (o.v[0].a == 0 && o.v[0].b == 1 && fabs (o.v[0].rtt_ns - 102) < 1e-9
            && o.v[0].repeats == 4 && o.v[0].n == 2,
        "the mean of both directions");
    ok (fabs (o.v[1].var - 1 / 3.) < 1e-9,
        "of variance one over the sum of weights");
    ok (fabs (o.v[2].rtt_ns - 350) < 1e-9 && fabs (o.v[2].var - 3) < 1e-9,
        "also where they scatter");
    observations_clear (&o);
    combine_destroy (c);
    c = combine_create ();
    in = (struct observations){ .v = v, .n = 1 };
    combine_add (c, &in, 1);
    v[0].rtt_ns = 200;
    combine_add (c, &in, 0.25);
    check (combine_finish (c, ps, &o, &err) == 0);
    ok (fabs (o.v[0].rtt_ns - 120) < 1e-9, "shares count");
    observations_clear (&o);
    combine_destroy (c);
    c = combine_create ();
    ok (combine_finish (c, ps, &o, &err) == 0 && o.n == 0, "of nothing none");
    observations_clear (&o);
    v[0].var = pow (v[0].rtt_ns / 3, 2);
    combine_add (c, &in, 1);
    ok (combine_finish (c, ps, &o, &err) == 0 && o.n == 0,
        "what is within four standard deviations of nothing is left out");
    observations_clear (&o);
    combine_destroy (c);
    pathset_destroy (ps);
    tablenet_destroy (net);
}

/* Times of 20 pairs, of which some change, that differ by more than their
 * variance of 1 says.
 */
static double variance_of (double sigma, uint32_t changed)
{
    enum { PAIRS = 20, SETS = 400 };
    struct tablenet *net = tablenet_fattree (8, 2, TABLE_DMODK, 1);
    struct pathset *ps = tablenet_pathset (net, NULL, 0);
    struct combine *c = combine_create ();
    struct observations o;
    struct rng rng;
    double var;

    rng_seed (&rng, 1);
    for (int set = 0; set < SETS; set++) {
        struct observation v[PAIRS];
        struct observations in = { .v = v, .n = PAIRS, .sigma_ns = 1 };

        for (uint32_t i = 0; i < PAIRS; i++)
            v[i] = one (0, i + 1, 1000 + sigma * rng_normal (&rng)
                                      + (i < changed && set % 2 ? 500 : 0),
                        1);
        combine_add (c, &in, 1);
    }
    check (combine_finish (c, ps, &o, &err) == 0);
    var = o.v[0].var * SETS;
    observations_clear (&o);
    combine_destroy (c);
    pathset_destroy (ps);
    tablenet_destroy (net);
    return var;
}

static void test_scatter (void)
{
    ok (fabs (variance_of (1, 0) - 1) < 0.05
            && fabs (variance_of (0.1, 0) - 1) < 1e-9,
        "pairs that scatter as they should, or less");
    ok (fabs (variance_of (3, 0) - 9) < 0.5, "three times as much: %.2f",
        variance_of (3, 0));
    ok (fabs (variance_of (3, 5) - 9) < 1, "where a quarter changes: %.2f",
        variance_of (3, 5));
}

/* Observations one by one and all at once are the same problem. */
static void test_alike (void)
{
    struct tablenet *net = tablenet_fattree (4, 3, TABLE_MINHOP, 1);
    struct pathset *ps = tablenet_pathset (net, NULL, 0);
    struct solve_options opts = { .quantile = RTT_MEDIAN };
    struct combine *c = combine_create ();
    struct samples *all = samples_create ();
    struct solution *both = NULL;
    struct solution *each = NULL;
    struct observations o;
    double latency[LINKS_MAX];
    double off = 0, narrow = 0;

    for (size_t j = 0; j < net->net.nlinks; j++)
        latency[j] = 100 + (double)j;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct samples *s = measured (ps, latency, 10, seed);

        for (size_t i = 0; i < s->nsamples; i++) {
            struct sample p = s->sample[i];

            p.round += 1000 * (uint32_t)seed;
            samples_add (all, &p);
        }
        add (c, ps, ps, s, 1);
        samples_destroy (s);
    }
    check (combine_finish (c, ps, &o, &err) == 0
           && (each = solve_observations (ps, &o, &opts, &err)) != NULL
           && (both = solve (ps, all, &opts, &err)) != NULL);
    ok (4 * each->rows <= both->rows && both->rank == each->rank,
        "%zu rows, not %zu, of rank %zu", each->rows, both->rows, each->rank);
    for (size_t j = 0; j < each->nlinks; j++) {
        double d = each->link[j].latency_ns - both->link[j].latency_ns;

        off = fmax (off, fabs (d) / both->link[j].stderr_ns);
        narrow = fmax (narrow,
                       both->link[j].stderr_ns / each->link[j].stderr_ns);
    }
    ok (off < 1 && narrow < 1.1,
        "no link is off by more than %.2f standard errors", off);
    solution_destroy (both);
    solution_destroy (each);
    observations_clear (&o);
    combine_destroy (c);
    samples_destroy (all);
    pathset_destroy (ps);
    tablenet_destroy (net);
}

/* How many links a solution determines; whether it does this one. */
static size_t determined (const struct solution *sol, uint32_t link,
                          double *latency)
{
    size_t n = 0;

    *latency = NAN;
    for (size_t i = 0; i < sol->nlinks; i++) {
        n += !isnan (sol->link[i].latency_ns);
        if (sol->link[i].link == link)
            *latency = sol->link[i].latency_ns;
    }
    return n;
}

/* Small jobs of random hosts: the link is one that none separates. */
static void test_separates (void)
{
    enum { JOBS = 60, SIZE = 4 };
    struct tablenet *net = tablenet_fattree (8, 3, TABLE_DMODK, 1);
    struct pathset *all = tablenet_pathset (net, NULL, 0);
    struct solve_options opts = { .quantile = RTT_MEDIAN };
    struct combine *c = combine_create ();
    double latency[LINKS_MAX], found;
    bool *alone = calloc (net->net.nlinks, sizeof (*alone));
    size_t together, more = 0;
    struct observations o;
    struct solution *sol;
    double worst = 0;

    for (size_t j = 0; j < net->net.nlinks; j++)
        latency[j] = 100 + (double)(j * j % 97);
    for (uint64_t job = 1; job <= JOBS; job++) {
        struct pathset *ps = tablenet_random (net, SIZE, job);
        struct samples *s = measured (ps, latency, 0, job);

        check ((sol = solve (ps, s, &opts, &err)) != NULL);
        for (size_t i = 0; i < sol->nlinks; i++)
            if (!isnan (sol->link[i].latency_ns))
                alone[sol->link[i].link] = true;
        solution_destroy (sol);
        add (c, all, ps, s, job % 2 ? 1 : 0.5);
        samples_destroy (s);
        pathset_destroy (ps);
    }
    check (combine_finish (c, all, &o, &err) == 0
           && (sol = solve_observations (all, &o, &opts, &err)) != NULL);
    together = determined (sol, 0, &found);
    for (size_t i = 0; i < sol->nlinks; i++) {
        uint32_t link = sol->link[i].link;

        if (isnan (sol->link[i].latency_ns))
            continue;
        more += !alone[link];
        worst = fmax (worst, fabs (sol->link[i].latency_ns - latency[link]));
    }
    ok (more > 50, "%d jobs of %d hosts determine %zu links, %zu of which none "
                   "of them does", JOBS, SIZE, together, more);
    ok (worst < 1e-6, "exactly: %.1g ns off at most", worst);
    solution_destroy (sol);
    observations_clear (&o);
    combine_destroy (c);
    free (alone);
    pathset_destroy (all);
    tablenet_destroy (net);
}

/* Jobs before and after a link changed: errors are greater the more the rows
 * contradict each other.
 */
static void test_change (void)
{
    enum { JOBS = 80, SIZE = 6, CHANGED = 5 };
    struct tablenet *net = tablenet_fattree (8, 3, TABLE_DMODK, 1);
    struct pathset *all = tablenet_pathset (net, NULL, 0);
    struct combine *c = combine_create ();
    struct solution *sol[2];
    struct observations o;
    double latency[LINKS_MAX];
    double here = 0, median[LINKS_MAX]; /* times as great */
    size_t n = 0;

    for (size_t j = 0; j < net->net.nlinks; j++)
        latency[j] = 100;
    for (uint64_t job = 1; job <= JOBS; job++) {
        struct pathset *ps = tablenet_random (net, SIZE, job);
        struct samples *s;

        latency[CHANGED] = job <= JOBS / 2 ? 100 : 500;
        s = measured (ps, latency, 10, job);
        add (c, all, ps, s, 1);
        samples_destroy (s);
        pathset_destroy (ps);
    }
    check (combine_finish (c, all, &o, &err) == 0);
    for (int local = 0; local < 2; local++) {
        struct solve_options opts = { .local = local };

        sol[local] = solve_observations (all, &o, &opts, &err);
        check (sol[local] != NULL);
    }
    for (size_t i = 0; i < sol[0]->nlinks; i++) {
        double more = sol[1]->link[i].stderr_ns / sol[0]->link[i].stderr_ns;

        if (sol[0]->link[i].link == CHANGED)
            here = more;
        else if (!isnan (more))
            median[n++] = more;
    }
    ok (here > 10, "where a link changed its error is %.0f times as great",
        here);
    ok (n > 100 && stats_median (median, n) < here / 5,
        "half of %zu others have less than %.1f times", n,
        stats_median (median, n));
    solution_destroy (sol[0]);
    solution_destroy (sol[1]);
    observations_clear (&o);
    combine_destroy (c);
    pathset_destroy (all);
    tablenet_destroy (net);
}

int main (void)
{
    test_accuracy ();
    test_quiet ();
    test_mean ();
    test_scatter ();
    test_alike ();
    test_separates ();
    test_change ();
    return done_testing ();
}
