/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Each allocation of the steps that check what malloc returns fails once: that
 * is an error in words, never a crash and never half a result.
 */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/check/bound.h"
#include "compare/export/scotch.h"
#include "compare/infer/pairs.h"
#include "compare/pattern/schedule.h"
#include "core/plan/paper.h"
#include "core/plan/plan.h"
#include "core/plan/separate.h"
#include "core/samples/samples.h"
#include "core/samples/simulate.h"
#include "compare/series/compare.h"
#include "compare/series/line.h"
#include "core/test/tablenet.h"
#include "compare/throughput/across.h"
#include "compare/throughput/carry.h"
#include "compare/throughput/cut.h"
#include "compare/throughput/flows.h"
#include "compare/throughput/measured.h"
#include "compare/throughput/through.h"
#include "tests/scarce.h"
#include "tests/tap.h"

enum { TRIES = 100 };

/* One step of the pipeline: 0, or -1 with err. What it leaves behind, the
 * steps after it find in the job.
 */
struct job {
    struct tablenet *net;
    struct pathset *ps;
    struct plan *plan;
    struct samples *samples;
    double latency[64];
    FILE *null;
};

static int step_plan (struct job *job, struct error *err)
{
    struct plan_options opts = { .extra_rounds = 1, .seed = 1 };
    struct plan *plan = plan_make (job->ps, &opts, err);

    plan_destroy (plan);
    return plan ? 0 : -1;
}

static int step_paper (struct job *job, struct error *err)
{
    struct plan_options opts = { .seed = 1 };
    struct plan *plan = paper_make_first (job->ps, &opts, err);

    plan_destroy (plan);
    return plan ? 0 : -1;
}

static int step_schedule (struct job *job, struct error *err)
{
    struct pattern_options opts = { .seed = 1, .shuffle = true };
    struct plan *plan = schedule_make (job->ps, PATTERN_BY_HOST, &opts, err);

    plan_destroy (plan);
    return plan ? 0 : -1;
}

/* As a tree and as it is; the files are nobody's. */
static int step_export (struct job *job, struct error *err)
{
    struct infer_matrix *m = infer_matrix_of_paths (job->ps, err);
    uint32_t order[8];
    int rc = m && scotch_write_tleaf (m, .05, order, job->null, err) == 0
             && scotch_write_deco (m, job->null, err) == 0 ? 0 : -1;

    infer_matrix_destroy (m);
    return rc;
}

static int step_bound (struct job *job, struct error *err)
{
    struct bound bound;

    return bound_find (job->ps, 0, BOUND_QUICK, &bound, err);
}

static int step_separate (struct job *job, struct error *err)
{
    const uint8_t idle[64] = { 0, 1, 1, 1, 1, 1, 1, 1 };
    const uint32_t suspect[] = { 0, 8, 9 };
    struct separation s;
    int rc = separate (job->ps, idle, suspect, 3, &s, err);

    if (rc == 0)
        separation_clear (&s);
    return rc;
}

static int step_check (struct job *job, struct error *err)
{
    return plan_check (job->ps, job->plan, err);
}

static int step_simulate (struct job *job, struct error *err)
{
    struct simulate_options opts = { .noise_ns = 10, .repeats = 3 };
    struct samples *samples = simulate (job->ps, job->plan, job->latency,
                                        &opts, err);

    samples_destroy (samples);
    return samples ? 0 : -1;
}

/* Every pair at two lengths, and what follows from that. */
static int fill_series (struct series *s, struct error *err)
{
    for (uint32_t i = 0; i < 8; i++)
        if (series_add_process (s, NULL, "host", err) < 0)
            return -1;
    for (uint32_t i = 0; i < 128; i++) {
        struct series_pair p = {
            .a = i / 16,
            .b = i / 2 % 8,
            .count = 1,
            .length = i % 2,
            .time_ns = { [SERIES_MEDIAN] = 100 + i },
        };

        if (series_add_pair (s, &p, err) < 0)
            return -1;
    }
    return series_sort (s, err);
}

static int step_series (struct job *job, struct error *err)
{
    struct series *s = series_create (SERIES_ALL_TO_ALL);
    struct series_comparison c;
    struct series_fit *fit = NULL;
    size_t n;
    int rc = -1;

    (void)job;
    if (!s)
        return error_nomem (err);
    if (fill_series (s, err) == 0
        && (fit = series_fit (s, SERIES_MEDIAN, &n, err))
        && series_compare (&c, s, s, SERIES_MEDIAN, err) == 0) {
        comparison_clear (&c);
        rc = 0;
    }
    free (fit);
    series_destroy (s);
    return rc;
}

/* Flows of a plan there to a series and back, judged. */
static int judge_flows (struct job *job, const struct plan *plan,
                        struct error *err)
{
    const struct carry_options opts = { .much = .2 };
    double *link = across_rates (job->ps, err), rate[64];
    struct series *s = NULL;
    struct carry *c = NULL;

    if (link)
        link[1] /= 2;
    if (link && flows_check (job->ps, plan, err) == 0
        && carry_simulate (job->ps, plan, link, rate, err) == 0
        && (s = measured_series (job->ps, plan, rate, 100, err))
        && measured_rates (s, job->ps, plan, rate, err) == 0)
        c = carry_make (job->ps, plan, rate, &opts, err);
    free (link);
    series_destroy (s);
    carry_destroy (c);
    return c ? 0 : -1;
}

static int step_flows (struct job *job, struct error *err)
{
    struct flows_options opts = { .times = 1, .seed = 1 };
    struct plan *plan = flows_make (job->ps, &opts, err);
    int rc = plan ? judge_flows (job, plan, err) : -1;

    plan_destroy (plan);
    return rc;
}

static int step_most (struct job *job, struct error *err)
{
    double *rate = across_rates (job->ps, err);
    struct through through;
    struct cut cut;
    int rc = -1;

    if (rate && cut_find (job->ps, rate, 1, &cut, err) == 0)
        rc = through_switch (job->ps, 8, rate, &through, err);
    free (rate);
    return rc;
}

static const struct {
    const char *name;
    int (*run) (struct job *job, struct error *err);
} steps[] = {
    { "plan", step_plan },
    { "check", step_check },
    { "bound", step_bound },
    { "paper", step_paper },
    { "simulate", step_simulate },
    { "separate", step_separate },
    { "series", step_series },
    { "schedule", step_schedule },
    { "export", step_export },
    { "flows", step_flows },
    { "most", step_most },
};

static bool open_job (struct job *job)
{
    struct plan_options opts = { .extra_rounds = 1, .seed = 1 };
    struct simulate_options sim = { .noise_ns = 10, .repeats = 3 };
    struct error err;

    job->net = tablenet_fattree (4, 2, TABLE_MINHOP, 1);
    job->ps = tablenet_pathset (job->net, NULL, 0);
    if (!(job->null = fopen ("/dev/null", "w")))
        return false;
    setvbuf (job->null, NULL, _IONBF, 0);
    for (size_t i = 0; i < 64; i++)
        job->latency[i] = 100 + i;
    job->plan = plan_make (job->ps, &opts, &err);
    job->samples = job->plan ? simulate (job->ps, job->plan, job->latency,
                                         &sim, &err)
                             : NULL;
    return job->samples;
}

static void close_job (struct job *job)
{
    samples_destroy (job->samples);
    plan_destroy (job->plan);
    pathset_destroy (job->ps);
    tablenet_destroy (job->net);
    if (job->null)
        fclose (job->null);
}

/* Fail each allocation of the step in turn, until there are no more. */
static void starve (const char *name, int (*run) (struct job *, struct error *),
                    struct job *job)
{
    size_t failed = 0;
    size_t passed = 0;
    size_t wrong = 0;
    size_t total;

    allocations = 0;
    if (run (job, &(struct error){ 0 }) < 0) {
        ok (0, "%s works where there is memory", name);
        return;
    }
    total = allocations;
    /* a few hundred of them, the first ones all */
    for (size_t i = 1; i <= total; i += 1 + i / TRIES) {
        struct error err = { 0 };
        int rc;

        allocations = 0;
        failing = i;
        rc = run (job, &err);
        failing = 0;
        if (rc == 0)
            passed++; /* it did without, or did not get that far */
        else if (err.fault == ERROR_WORLD && strstr (err.text, "memory"))
            failed++;
        else {
            wrong++;
            diag ("%s, allocation %zu: %s", name, i, err.text);
        }
    }
    ok (wrong == 0 && failed > passed,
        "%s: of %zu allocations %zu failed in words, %zu it did without",
        name, total, failed, passed);
}

int main (void)
{
    struct job job = { 0 };

#ifdef __SANITIZE_ADDRESS__
    skip ("allocations cannot be made to fail under the address sanitizer");
    return done_testing ();
#endif
    if (!ok (open_job (&job), "a job to starve"))
        return done_testing ();
    for (size_t i = 0; i < sizeof (steps) / sizeof (steps[0]); i++)
        starve (steps[i].name, steps[i].run, &job);
    close_job (&job);
    return done_testing ();
}
