/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Model, causes and explanation: what is computed without any matrix of the
 * size of the problem is what dense arithmetic says; of every kind of cause
 * one is planted, and it alone is found.
 */
#include "config.h"
#include "core/judge/explain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/linear/linalg.h"
#include "core/plan/plan.h"
#include "core/samples/simulate.h"
#include "core/test/treenet.h"
#include "tests/tap.h"
#include "util/sort.h"

enum {
    NODES = 24,
    DRAWS = 512,
};

#define NOISE_NS 50.0
static const struct accuracy accuracy = { .ns = 5 };

static void check (bool good, const struct error *err)
{
    if (!good) {
        diag ("%s", err->text);
        abort ();
    }
}

/* A job on a fabric and what its plan measures. */
struct job {
    struct treenet *net;
    struct pathset *ps;
    struct plan *plan;
    double *latency;
    struct model_run before, now;
};

static void take (struct job *job, uint64_t seed, struct observations *o)
{
    struct simulate_options sim = {
        .noise_ns = NOISE_NS,
        .repeats = 5,
        .seed = seed,
    };
    struct error err;
    struct samples *s = simulate (job->ps, job->plan, job->latency, &sim,
                                  &err);

    check (s, &err);
    check (observe (o, job->ps, s, RTT_MEDIAN, &accuracy, &err) == 0, &err);
    samples_destroy (s);
}

static void job_open (struct job *job, struct treenet *net, size_t nodes,
                      uint64_t seed)
{
    struct plan_options opts = { .extra_rounds = 2, .seed = seed };
    struct error err;
    struct rng rng;

    *job = (struct job){ .net = net };
    job->ps = treenet_random (net, nodes, seed);
    check ((job->plan = plan_make (job->ps, &opts, &err)) != NULL, &err);
    job->latency = treenet_alloc (net->net.nlinks, sizeof (double));
    rng_seed (&rng, seed);
    for (size_t l = 0; l < net->net.nlinks; l++)
        job->latency[l] = 150 + 150 * rng_uniform (&rng);
    take (job, 2 * seed, &job->before.obs);
    take (job, 2 * seed + 1, &job->now.obs);
}

static void job_close (struct job *job)
{
    observations_clear (&job->before.obs);
    observations_clear (&job->now.obs);
    plan_destroy (job->plan);
    pathset_destroy (job->ps);
    free (job->latency);
}

static void job_model (struct job *job, struct model *m, bool baseline)
{
    struct error err;

    check (model_make (m, job->ps, &job->now, &job->before, baseline, NULL, &err)
                   == 0
               && model_reweigh (m) == 0,
           &err);
}

/*
 * The model against dense arithmetic
 */

/* Row i of a side, as a vector over its columns. */
static void expand (const struct sparse *a, size_t row, double *v)
{
    memset (v, 0, a->ncols * sizeof (*v));
    for (size_t e = a->start[row]; e < a->start[row + 1]; e++)
        v[a->col[e]] = a->value[e];
}

/* Factor of the precision before the job's samples. */
static double *dense_prior (const struct model *m)
{
    const struct sparse *a = m->prior;
    double *k = linalg_matrix (a->ncols);
    double *v = treenet_alloc (a->ncols, sizeof (*v));

    for (size_t i = 0; i < a->nrows; i++) {
        expand (a, i, v);
        for (size_t c = 0; c < a->ncols; c++)
            for (size_t d = 0; d <= c && v[c] != 0; d++)
                k[c * a->ncols + d] += m->weight[i] * v[c] * v[d];
    }
    if (linalg_cholesky (k, a->ncols) < 0)
        abort ();
    free (v);
    return k;
}

/* V, n by n. */
static double *dense_covariance (const struct model *m)
{
    const struct sparse *a = m->a;
    double *prior = dense_prior (m);
    double *v = treenet_alloc (m->nrows * m->nrows, sizeof (*v));
    double *x = treenet_alloc (a->ncols, sizeof (*x));

    for (size_t i = 0; i < m->nrows; i++) {
        expand (a, model_row (m, i), x);
        linalg_solve (prior, a->ncols, x);
        for (size_t k = 0; k < m->nrows; k++)
            v[i * m->nrows + k] = sparse_row_dot (a, model_row (m, k), x);
        v[i * m->nrows + i] += m->obs->v[i].var;
    }
    free (prior);
    free (x);
    return v;
}

static void test_model (struct job *job, bool baseline)
{
    struct model m;
    double *v;
    double *d;
    double *p;
    double *dense;
    double worst = 0;
    double most = 0;
    double exact;
    double mean = 0;
    struct rng rng;

    job_model (job, &m, baseline);
    v = dense_covariance (&m);
    d = treenet_alloc (m.nrows, sizeof (*d));
    dense = treenet_alloc (m.nrows, sizeof (*dense));
    p = treenet_alloc (DRAWS * m.nrows, sizeof (*p));
    rng_seed (&rng, 5);
    for (size_t i = 0; i < m.nrows; i++)
        d[i] = dense[i] = rng_normal (&rng);
    if (linalg_cholesky (v, m.nrows) < 0)
        abort ();
    linalg_solve (v, m.nrows, dense);
    model_whiten (&m, d, 1, MODEL_EXACT, p);
    for (size_t i = 0; i < m.nrows; i++) {
        worst = fmax (worst, fabs (p[i] - dense[i]));
        most = fmax (most, fabs (dense[i]));
    }
    ok (worst < 1e-4 * most, "baseline %d: V^-1 d is off by %.1g of %.1g",
        baseline, worst, most);
    exact = linalg_dot (d, p, m.nrows);
    model_draw (&m, 5, DRAWS, p);
    for (size_t i = 0; i < DRAWS; i++)
        mean += pow (linalg_dot (d, p + i * m.nrows, m.nrows), 2) / DRAWS;
    ok (fabs (mean / exact - 1) < 5 * sqrt (2. / DRAWS),
        "baseline %d: draws have the covariance V^-1 (%.3f of it)", baseline,
        mean / exact);
    free (v);
    free (d);
    free (dense);
    free (p);
    model_clear (&m);
}

/* What a baseline is good for. */
static void test_baseline (struct job *job)
{
    double variance[2];

    for (int baseline = 0; baseline < 2; baseline++) {
        struct model m;
        double *u;

        job_model (job, &m, baseline);
        u = treenet_alloc (model_unknowns (&m), sizeof (*u));
        expand (m.a, model_row (&m, 0), u);
        /* but for what the hosts do in the run */
        for (size_t i = m.n + m.nclasses; i < model_unknowns (&m); i++)
            u[i] = 0;
        variance[baseline] = model_prior_variance (&m, u);
        ok (m.uncovered == (baseline ? 0 : m.m),
            "baseline %d: %zu of %zu links not covered", baseline,
            m.uncovered, m.m);
        free (u);
        model_clear (&m);
    }
    ok (sqrt (variance[1]) < 2 * NOISE_NS && sqrt (variance[0]) > 2 * NOISE_NS,
        "an RTT is expected within %.0f ns, without a baseline %.0f ns",
        sqrt (variance[1]), sqrt (variance[0]));
}

/* Loopbacks of all hosts, in a run. */
static void loop_back (struct job *job, struct model_run *run, double ns)
{
    size_t n = pathset_size (job->ps);

    run->loopback = treenet_alloc (n, sizeof (*run->loopback));
    run->nloopbacks = n;
    for (uint32_t i = 0; i < n; i++)
        run->loopback[i] = (struct link_loopback){
            pathset_end_link (job->ps, i), { .ns = ns + i % 3, .sd = 1 + ns / 500 }
        };
    qsort (run->loopback, n, sizeof (*run->loopback), compare_u32);
}

/* The greatest difference of two models of the same rows. */
static double difference (const struct model *a, const struct model *b)
{
    size_t rows = a->nrows, n = model_unknowns (a);
    double *p = treenet_alloc (4 * rows, sizeof (*p));
    double *u = treenet_alloc (n, sizeof (*u)), worst = 0;

    for (size_t i = 0; i < rows; i++)
        p[i] = i % 7;
    model_whiten (a, p, 1, MODEL_EXACT, p + rows);
    model_whiten (b, p, 1, MODEL_EXACT, p + 2 * rows);
    for (size_t i = 0; i < n; i++)
        worst = fmax (worst, fabs (a->expected[i] - b->expected[i]));
    for (size_t i = 0; i < rows; i++) {
        worst = fmax (worst, fabs (p[rows + i] - p[2 * rows + i]));
        memset (p + 3 * rows, 0, rows * sizeof (*p));
        p[3 * rows + i] = 1;
        model_transpose (a, p + 3 * rows, u);
        worst = fmax (worst, fabs (model_prior_variance (a, u)
                                   / model_prior_variance (b, u) - 1));
    }
    free (p);
    free (u);
    return worst;
}

/* What a first judgement leaves to a second one, of more rows and other
 * loopbacks, gives what is worked out anew; of another baseline nothing is used.
 */
static void test_last (struct job *job)
{
    struct model last = { 0 }, first, second, anew;
    struct model_run early = job->now, late = job->now, before = job->before;
    struct observation was;
    struct error err;

    early.obs.n -= 5;
    loop_back (job, &before, 900);
    loop_back (job, &early, 910);
    loop_back (job, &late, 940);
    before.obs = job->before.obs;
    check (model_make (&first, job->ps, &early, &before, 1, &last, &err) == 0,
           &err);
    model_clear (&first);
    check (model_make (&second, job->ps, &late, &before, 1, &last, &err) == 0
               && model_make (&anew, job->ps, &late, &before, 1, NULL, &err) == 0
               && model_reweigh (&second) == 0 && model_reweigh (&anew) == 0,
           &err);
    ok (second.before == last.before && anew.before != last.before,
        "a second judgement takes what the first worked out");
    ok (difference (&second, &anew) < 1e-6, "... it is the same: %.0e off",
        difference (&second, &anew));
    model_clear (&second);
    model_clear (&anew);
    was = before.obs.v[1];
    before.obs.v[1].rtt_ns += 1;
    check (model_make (&second, job->ps, &late, &before, 1, &last, &err) == 0,
           &err);
    ok (second.before != last.before, "... not if the baseline differs");
    model_clear (&second);
    before.obs.v[1] = was;
    check (model_make (&second, job->ps, &late, &before, 0, &last, &err) == 0,
           &err);
    ok (second.before != last.before, "... or without one");
    model_clear (&second);
    model_clear (&last);
    free (before.loopback);
    free (early.loopback);
    free (late.loopback);
}

/*
 * Causes
 */

static bool same (const struct causes *c, size_t k, size_t j)
{
    size_t n = c->start[k + 1] - c->start[k];

    return n == c->start[j + 1] - c->start[j]
           && !memcmp (c->row + c->start[k], c->row + c->start[j],
                       n * sizeof (*c->row))
           && !memcmp (c->value + c->start[k], c->value + c->start[j],
                       n * sizeof (*c->value));
}

static void test_causes (struct job *job)
{
    const struct network *net = &job->net->net;
    struct causes c;
    struct error err;
    size_t links = 0;
    size_t m;
    bool distinct = true;
    bool arrives = true;

    check (causes_make (&c, job->ps, &job->now.obs, 0, &err) == 0, &err);
    check (pathset_links (job->ps, &m, &err) != NULL, &err);
    for (size_t k = 0; k < c.n; k++) {
        for (size_t j = 0; j < k && distinct; j++)
            distinct = !same (&c, k, j);
        for (size_t i = c.first[k]; i < c.first[k + 1]; i++) {
            const struct suspect *s = &c.member[i].suspect;

            links += s->kind == SUSPECT_LINK;
            /* the last switch is that of the host's own link */
            if (s->kind == SUSPECT_ROUTE)
                arrives &= net->link[pathset_endpoint (job->ps, s->to)->id]
                               .end[0] != s->index
                           && net->link[pathset_endpoint (job->ps, s->to)
                                            ->id].end[1] != s->index;
        }
    }
    ok (distinct, "%zu signatures, no two alike", c.n);
    ok (links == m, "every measured link is a cause, once");
    ok (arrives, "no route is wrong from the last switch on");
    causes_clear (&c);
}

static const struct {
    const char *what;
    enum suspect_kind kind;
    double excess_ns;
    size_t rows; /* at least */
} planted[] = {
    { "a link", SUSPECT_LINK, 300, 4 },
    { "one direction", SUSPECT_ARC, 300, 4 },
    { "a switch", SUSPECT_SWITCH, 200, 4 },
    { "a class", SUSPECT_CLASS, 60, 4 },
    { "a route", SUSPECT_ROUTE, 400, 3 },
    { "a shorter route", SUSPECT_ROUTE, -400, 3 },
    { "a round trip", SUSPECT_ROUTE, 700, 1 },
};

/* A signature of a kind and enough rows, by chance. */
static size_t draw_cause (const struct causes *c, enum suspect_kind kind,
                          size_t rows, uint64_t seed)
{
    struct rng rng;
    size_t k;

    rng_seed (&rng, seed);
    for (int i = 0; i < 100000; i++) {
        k = rng_below (&rng, c->n);
        if (causes_simplest (c, k)->suspect.kind == kind
            && c->start[k + 1] - c->start[k] >= rows)
            return k;
    }
    return SIZE_MAX;
}

static void shift (struct observations *o, const struct causes *c, size_t k,
                   double ns)
{
    for (size_t e = c->start[k]; e < c->start[k + 1]; e++)
        o->v[c->row[e]].rtt_ns += c->value[e] * causes_simplest (c, k)->unit
                                  * ns;
}

static void test_planted (struct job *job)
{
    struct causes c;
    struct error err;

    check (causes_make (&c, job->ps, &job->now.obs, 0, &err) == 0, &err);
    for (size_t i = 0; i < sizeof (planted) / sizeof (planted[0]); i++) {
        size_t k = draw_cause (&c, planted[i].kind, planted[i].rows, i);
        struct explanation ex;
        struct model m;

        if (k == SIZE_MAX) {
            ok (false, "%s: there is none", planted[i].what);
            continue;
        }
        shift (&job->now.obs, &c, k, planted[i].excess_ns);
        job_model (job, &m, true);
        if (explain (&ex, &m, &c, 1e-3) < 0)
            abort ();
        ok (ex.n == 1 && ex.cause->signature == k
                && fabs (ex.cause->excess_ns - planted[i].excess_ns)
                       < 5 * ex.cause->stderr_ns,
            "%s: %zu cause%s, %+.0f +- %.0f ns of %+.0f", planted[i].what,
            ex.n, ex.n == 1 ? "" : "s", ex.n ? ex.cause->excess_ns : 0,
            ex.n ? ex.cause->stderr_ns : 0, planted[i].excess_ns);
        explanation_clear (&ex);
        model_clear (&m);
        shift (&job->now.obs, &c, k, -planted[i].excess_ns);
    }
    causes_clear (&c);
}

/* What is estimated for all is what is computed for few. */
static void test_info (struct job *job)
{
    struct explanation ex;
    struct causes c;
    struct model m;
    struct error err;
    double *d;
    double *p;
    size_t far = 0;
    size_t n = 0;

    check (causes_make (&c, job->ps, &job->now.obs, 0, &err) == 0, &err);
    job_model (job, &m, true);
    if (explain (&ex, &m, &c, 1e-3) < 0)
        abort ();
    ok (ex.n == 0, "a healthy job: nothing to explain");
    d = treenet_alloc (m.nrows, sizeof (*d));
    p = treenet_alloc (m.nrows, sizeof (*p));
    for (size_t k = 0; k < c.n; k += 7, n++) {
        double info;

        causes_expand (&c, k, d, m.nrows);
        model_whiten (&m, d, 1, MODEL_EXACT, p);
        info = causes_dot (&c, k, p);
        far += ex.info[k] > 2 * info || ex.info[k] < info / 2;
    }
    ok (far * 50 <= n, "information of %zu of %zu signatures is more than a "
                        "factor of 2 off", far, n);
    free (d);
    free (p);
    explanation_clear (&ex);
    causes_clear (&c);
    model_clear (&m);
}

int main (void)
{
    struct treenet *net = treenet_create (8, 3, TREE_MINHOP, 1);
    struct job job;

    job_open (&job, net, NODES, 3);
    test_planted (&job);
    test_model (&job, false);
    test_model (&job, true);
    test_baseline (&job);
    test_last (&job);
    test_causes (&job);
    test_info (&job);
    job_close (&job);
    treenet_destroy (net);
    return done_testing ();
}
