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
#include "core/plan/paper.h"
#include "core/plan/plan.h"
#include "core/plan/separate.h"
#include "core/samples/samples.h"
#include "core/samples/simulate.h"
#include "core/test/tablenet.h"
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
};

static bool open_job (struct job *job)
{
    struct plan_options opts = { .extra_rounds = 1, .seed = 1 };
    struct simulate_options sim = { .noise_ns = 10, .repeats = 3 };
    struct error err;

    job->net = tablenet_fattree (4, 2, TABLE_MINHOP, 1);
    job->ps = tablenet_pathset (job->net, NULL, 0);
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
