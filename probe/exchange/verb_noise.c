/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The test "noise". */
#include "config.h"
#include "probe/exchange/program.h"

#include <stdlib.h>

#include "compare/pattern/pattern.h"
#include "probe/exchange/exchange.h"
#include "probe/exchange/noise.h"
#include "probe/exchange/told.h"

enum { LABEL_MAX = 256 };

static const uint64_t no_bytes[] = { 0 };

/* The processes of a list of labels, at most max. Returns how many, or -1 with
 * err.
 */
static int find_all (const struct party *p, const char *list,
                     uint32_t *process, uint32_t max, struct error *err)
{
    char label[LABEL_MAX];
    uint32_t n = 0;

    while (args_next (&list, label, sizeof (label))) {
        if (n == max)
            return error_input (err, "more than %u processes", max);
        process[n] = told_process (p, label);
        if (process[n] == p->n)
            return error_input (err, "no process is '%.80s'", label);
        for (uint32_t i = 0; i < n; i++)
            if (process[i] == process[n])
                return error_input (err, "'%.80s' is there twice", label);
        n++;
    }
    return (int)n;
}

/* Who measures: the pair that was given, or all there are, one by one. */
static struct pattern *find_goals (const struct exchange_session *x,
                                   struct probe *goal, struct error *err)
{
    struct pattern_options opts = { x->args->seed, true };
    uint32_t pair[2];
    int n;

    if (!x->args->goal)
        return pattern_create (PATTERN_ONE_TO_ONE, x->party.n, x->host, &opts,
                               err);
    n = find_all (&x->party, x->args->goal, pair, 2, err);
    if (n != 2) {
        if (n >= 0)
            error_input (err, "a pair is two processes");
        error_prefix (err, "--goal");
        return NULL;
    }
    *goal = (struct probe){ pair[0], pair[1] };
    return pattern_of_pairs (goal, 1, x->party.n, NULL, err);
}

/* Who makes noise, where that is given: process[n]. */
static int find_noise (const struct exchange_session *x,
                       const struct probe *goal, uint32_t *process,
                       struct noise_how *noise, struct error *err)
{
    int n;

    if (!x->args->noise_on)
        return 0;
    n = find_all (&x->party, x->args->noise_on, process, x->party.n, err);
    for (int i = 0; i < n; i++)
        if (process[i] == goal->a || process[i] == goal->b)
            n = error_input (err, "the goal pair makes no noise");
    if (n < 0)
        return error_prefix (err, "--noise-on");
    noise->fixed = process;
    noise->processes = (uint32_t)n;
    return 0;
}

static int check (const struct exchange_args *a, const struct party *p,
                  struct error *err)
{
    if (a->how.batch_ns > 0)
        return error_input (err, "--batch-ms: noise does not wait; say how "
                                 "many --exchanges");
    if (p->n < 2 || (a->noise_processes > 0
                     && (uint32_t)a->noise_processes > p->n - 2))
        return error_input (err, "a goal pair and %d noise processes are more "
                                 "than %u",
                            a->noise_processes, p->n);
    return 0;
}

static void describe (struct series *s, const struct noise_how *noise)
{
    s->noise_length = noise->length;
    s->noise_messages = noise->messages;
    s->noise_processes = noise->processes;
}

/* The tables of two runs, then both side by side. */
static int run_noise (struct exchange_session *x, const struct pattern *goals,
                      const struct comm_exchange *ex,
                      const struct noise_how *noise, struct error *err)
{
    static const char *const what[] = { "alone, us", "noise, us" };
    const struct exchange_args *a = x->args;
    const uint64_t *length = a->length.n > 0 ? a->length.v : no_bytes;
    size_t n = a->length.n > 0 ? a->length.n : 1;
    uint64_t longest = length[n - 1];
    struct series *alone, *noisy;
    int rc;

    if (noise->length > longest)
        longest = noise->length;
    if (x->party.comm->reserve (x->party.c, longest, err) < 0
        || session_series (x, ex->both_ways ? SERIES_ASYNC_ONE_TO_ONE
                                            : SERIES_ONE_TO_ONE,
                           "alone", ex->name, &alone, err) < 0
        || session_series (x, a->blocking ? SERIES_NOISE_BLOCKING
                                          : SERIES_NOISE,
                           "noise", ex->name, &noisy, err) < 0)
        return -1;
    if (noisy)
        describe (noisy, noise);
    rc = noise_run (&x->party, goals, ex, length, n, &a->how, noise, alone,
                    noisy, err);
    return rc < 0 ? -1 : session_beside (x, alone, noisy, what, err);
}

static int run (struct exchange_session *x, struct error *err)
{
    const struct exchange_args *a = x->args;
    const struct party *p = &x->party;
    const char *name = a->exchange ? a->exchange
                       : a->blocking ? "round-trip"
                                     : "both-ways";
    const struct comm_exchange *ex = exchange_find (p->comm, name, err);
    struct noise_how noise = {
        .processes = a->noise_processes >= 0 ? (uint32_t)a->noise_processes
                     : p->n >= 2 ? p->n - 2 : 0,
        .length = a->noise_length,
        .messages = (unsigned int)a->noise_messages,
        .seed = a->seed,
        .goals = a->goals,
    };
    struct pattern *goals = NULL;
    struct probe goal = { 0, 0 };
    uint32_t *process = calloc (p->n, sizeof (*process));
    int rc = -1;

    if (!process)
        error_nomem (err);
    else if (ex && check (a, p, err) == 0
             && (goals = find_goals (x, &goal, err))
             && find_noise (x, &goal, process, &noise, err) == 0)
        rc = run_noise (x, goals, ex, &noise, err);
    pattern_destroy (goals);
    free (process);
    return rc;
}

const struct exchange_test exchange_noise = {
    .name = "noise",
    .help = "what a pair sees while others exchange messages",
    .options = args_noise,
    .run = run,
};
