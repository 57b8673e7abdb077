/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The simulator's faults and traffic show where they should, and nowhere else.
 */
#include "config.h"
#include "core/samples/simulate.h"

#include <stdlib.h>

#include "core/test/tablenet.h"
#include "tests/tap.h"

enum { LINKS = 64, SLOW = 37, REPEATS = 9 };

struct job {
    struct tablenet *net;
    struct pathset *ps;
    struct plan *plan;
    double latency[LINKS];
    struct samples *quiet;
};

static struct samples *measure (const struct job *job,
                                const struct plan *plan,
                                const struct simulate_options *opts)
{
    struct error err;
    struct samples *s = simulate (job->ps, plan, job->latency, opts, &err);

    if (!s)
        abort ();
    return s;
}

static void job_open (struct job *job)
{
    struct plan_options opts = { .extra_rounds = 2, .seed = 1 };
    struct simulate_options sim = { .repeats = REPEATS };
    struct error err;

    job->net = tablenet_fattree (8, 2, TABLE_DMODK, 1);
    job->ps = tablenet_pathset (job->net, NULL, 0);
    if (!(job->plan = plan_make (job->ps, &opts, &err)))
        abort ();
    for (size_t l = 0; l < LINKS; l++)
        job->latency[l] = 100 + l;
    job->quiet = measure (job, job->plan, &sim);
}

static void job_close (struct job *job)
{
    samples_destroy (job->quiet);
    plan_destroy (job->plan);
    pathset_destroy (job->ps);
    tablenet_destroy (job->net);
}

/* Crossings of the slow link in its direction from the first end. */
static int forth (const struct job *job, const struct sample *s, int *count)
{
    struct error err;
    struct row row;

    if (pathset_row (job->ps, s->a, s->b, &row, &err) < 0)
        abort ();
    *count = 0;
    for (size_t i = 0; i < row.n; i++)
        if (row.link[i] == SLOW) {
            *count = row.count[i];
            return row.forth[i];
        }
    return 0;
}

static void test_direction (const struct job *job)
{
    double arc[2 * LINKS] = { [2 * SLOW] = 1000 };
    struct simulate_options sim = { .repeats = REPEATS, .arc_ns = arc };
    struct samples *s = measure (job, job->plan, &sim);
    size_t crossed = 0;
    bool all = true;

    for (size_t i = 0; i < s->nsamples; i++) {
        int count;
        int n = forth (job, &s->sample[i], &count);

        crossed += n > 0;
        all &= s->sample[i].rtt_ns[RTT_MEDIAN]
               == job->quiet->sample[i].rtt_ns[RTT_MEDIAN] + 1000 * n;
    }
    ok (all && crossed > 0, "one direction: %zu of %zu RTTs, by its crossings",
        crossed, s->nsamples);
    samples_destroy (s);
}

/* What messages to oneself take, and what is not of them. */
static void test_loopbacks (const struct job *job)
{
    double own[LINKS] = { 0 };
    double arc[2 * LINKS] = { [2 * SLOW] = 1000 };
    struct simulate_options sim = { .repeats = REPEATS, .arc_ns = arc,
                                    .loopback_ns = own };
    size_t n = pathset_size (job->ps);
    size_t rounds = plan_rounds (job->plan);
    struct samples *s;
    bool all;

    for (size_t i = 0; i < n; i++)
        own[i] = 500 + i;
    s = measure (job, job->plan, &sim);
    all = s->nloopbacks == 3 * n;
    for (size_t i = 0; all && i < s->nloopbacks; i++) {
        const struct loopback *l = &s->loopback[i];

        all = l->end == i % n && l->round == i / n * rounds / 2
              && l->rtt_ns[RTT_MIN] == own[l->end]
              && l->rtt_ns[RTT_MAX] == own[l->end];
    }
    ok (all && job->quiet->nloopbacks == 0,
        "loopbacks before, amid and behind the rounds, whatever cables do");
    samples_destroy (s);
}

static void test_busy (const struct job *job)
{
    double busy[LINKS] = { [SLOW] = 0.5 };
    struct simulate_options sim = { .repeats = REPEATS, .busy = busy,
                                    .busy_ns = 500, .seed = 3 };
    struct samples *s = measure (job, job->plan, &sim);
    size_t later = 0;
    size_t crossed = 0;
    bool apart = true;
    bool longer = true;

    for (size_t i = 0; i < s->nsamples; i++) {
        double more = s->sample[i].rtt_ns[RTT_MAX]
                      - job->quiet->sample[i].rtt_ns[RTT_MAX];
        int count;

        forth (job, &s->sample[i], &count);
        crossed += count > 0;
        later += more > 0;
        longer &= more >= 0;
        apart &= count > 0 || more == 0;
    }
    ok (later > crossed / 2 && longer, "traffic: %zu of %zu RTTs took longer",
        later, crossed);
    ok (apart, "... all of them across the busy link");
    samples_destroy (s);
}

static void test_prefix (const struct job *job)
{
    double busy[LINKS] = { [SLOW] = 0.5, [3] = 0.2 };
    struct simulate_options sim = {
        .repeats = REPEATS, .noise_ns = 50, .outlier_share = 0.1,
        .outlier_ns = 1000, .busy = busy, .busy_ns = 500, .seed = 3,
    };
    struct plan *longer = plan_copy (job->plan);
    struct samples *s = measure (job, job->plan, &sim);
    struct samples *t;
    bool same;

    if (!longer)
        abort ();
    plan_add (longer, plan_rounds (longer), 0, 9);
    t = measure (job, longer, &sim);
    same = t->nsamples == s->nsamples + 2;
    for (size_t i = 0; i < s->nsamples; i++)
        for (int q = 0; q < RTT_COUNT; q++)
            same &= s->sample[i].rtt_ns[q] == t->sample[i].rtt_ns[q];
    ok (same, "a longer plan begins with the same samples");
    samples_destroy (s);
    samples_destroy (t);
    plan_destroy (longer);
}

int main (void)
{
    struct job job;

    job_open (&job);
    test_direction (&job);
    test_loopbacks (&job);
    test_busy (&job);
    test_prefix (&job);
    job_close (&job);
    return done_testing ();
}
