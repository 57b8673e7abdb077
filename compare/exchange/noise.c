/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The test "noise": measure a pair while others exchange messages, and compare
 * this with the same pair alone.
 */
#include "config.h"

#include <stdlib.h>

#include "compare/pattern/pattern.h"
#include "compare/exchange/program.h"
#include "util/alloc.h"

enum { LABEL_MAX = 256 };

/* Process numbers are laid out as noise_draw does: goal pair, noise, idle. */
struct noise_how {
    uint32_t *process;  /* [all] */
    uint32_t processes; /* number of noise processes */
    bool fixed;         /* else drawn anew in each repeat */
    size_t length;      /* bytes of their messages */
    uint64_t pass;      /* repeats so far */
};

/* Find the processes of a list of labels, at most max. Return how many, or -1
 * with err.
 */
static int find_noise_processes (const struct party *p, const char *list,
                                 uint32_t *process, uint32_t max,
                                 struct error *err)
{
    char label[LABEL_MAX];
    uint32_t n = 0;

    while (args_next (&list, label, sizeof (label))) {
        if (n == max)
            return error_input (err, "more than %u processes", max);
        process[n] = pairs_process (p, label);
        if (process[n] == p->n)
            return error_input (err, "no process is '%.80s'", label);
        for (uint32_t i = 0; i < n; i++)
            if (process[i] == process[n])
                return error_input (err, "'%.80s' is listed twice", label);
        n++;
    }
    return (int)n;
}

/* The goal pairs: the one of --goal, which becomes process[0] and [1], or else
 * all pairs, one by one.
 */
static struct pattern *find_goals (const struct exchange_session *x,
                                   uint32_t *process, struct error *err)
{
    struct pattern_options opts = { x->args->seed, true };
    int n;

    if (!x->args->goal)
        return pattern_create (PATTERN_ONE_TO_ONE, x->party.n, x->host, &opts,
                               err);
    n = find_noise_processes (&x->party, x->args->goal, process, 2, err);
    if (n >= 0 && n != 2)
        error_input (err, "a pair is two processes");
    if (n == 2)
        return pattern_of_pairs (
            &(struct probe){ process[0], process[1] }, 1, x->party.n, NULL,
            err);
    error_prefix (err, "--goal");
    return NULL;
}

/* If --noise-on names the noise processes, they are fixed. */
static int find_noise (const struct exchange_session *x, struct noise_how *how,
                       struct error *err)
{
    uint32_t *noisy = how->process + 2;
    int n;

    if (!x->args->noise_on)
        return 0;
    n = find_noise_processes (&x->party, x->args->noise_on, noisy, x->party.n,
                              err);
    for (int i = 0; i < n; i++)
        if (noisy[i] == how->process[0] || noisy[i] == how->process[1])
            n = error_input (err, "the goal pair makes no noise");
    if (n < 0)
        return error_prefix (err, "--noise-on");
    how->fixed = true;
    how->processes = (uint32_t)n;
    return 0;
}

/* If this process is one of them, exchange messages with all other noise
 * processes. Lost messages are ignored.
 */
static int run_noise_exchange (const struct exchange_session *x,
                               const struct noise_how *how, struct error *err)
{
    const struct party *p = &x->party;
    const uint32_t *noisy = how->process + 2;
    uint32_t n = how->processes, mine = 0;
    struct comm_messages *m = xarray (2 * (size_t)n, sizeof (*m));
    size_t all = 0;
    int rc = 1;

    while (mine < n && noisy[mine] != p->me)
        mine++;
    for (uint32_t i = 1; mine < n && i < n; i++) {
        m[all++] = (struct comm_messages){ .peer = noisy[(mine + n - i) % n],
                                           .n = 1 };
        m[all++] = (struct comm_messages){ .peer = noisy[(mine + i) % n],
                                           .sends = true, .n = 1 };
    }
    for (uint64_t k = 0; all > 0 && rc >= 0 && k < x->args->noise_messages; k++)
        rc = p->comm->run (p->c, m, all, how->length, err);
    free (m);
    return rc < 0 ? -1 : 0;
}

/* One repeat of a goal pair, with noise or without. */
static int repeat_goal_pair (const struct exchange_session *x,
                             const struct probe *goal, size_t len,
                             const struct noise_how *noise, struct results *r,
                             struct error *err)
{
    struct measure_how one = x->args->how;

    one.repeats = 1;
    if (measure_step (&x->party, x->ex, goal, 1, len, &one, r, err) < 0)
        return -1;
    return noise ? run_noise_exchange (x, noise, err) : 0;
}

/* All repeats of a goal pair at one length, each alone, then with noise. */
static int run_goal (const struct exchange_session *x,
                     const struct probe *goal, size_t len,
                     struct noise_how *how, struct results *alone,
                     struct results *noisy, struct error *err)
{
    for (unsigned int i = 0; i < x->args->how.repeats; i++, how->pass++)
        if ((!how->fixed
             && noise_draw (x->party.n, how->processes, goal, x->args->seed,
                            how->pass, how->process, err) < 0)
            || repeat_goal_pair (x, goal, len, NULL, alone, err) < 0
            || repeat_goal_pair (x, goal, len, how, noisy, err) < 0)
            return -1;
    return 0;
}

/* Measure the goal pairs of a pattern, one per step: each repeat first alone,
 * then with noise, which starts together with the warm-up. Noise messages are
 * all started, then waited for, whatever the goal pair's exchange is. Process
 * 0, which alone has series, gets the results, sorted. Return 0, or -1 with
 * err.
 */
static int measure_goals (struct exchange_session *x,
                          const struct pattern *goals, struct noise_how *how,
                          struct series *alone, struct series *noisy,
                          struct error *err)
{
    const struct lengths *l = &x->length;
    struct party *p = &x->party;
    uint64_t ngoals = pattern_steps (goals);
    struct results *before = results_create (p->n, false);
    struct results *during = results_create (p->n, false);
    int64_t start = p->comm->now_ns (p->c);
    int rc = 0;

    if (ngoals > x->args->goals)
        ngoals = x->args->goals;
    for (size_t k = 0; k < l->n && rc == 0; k++) {
        for (uint64_t i = 0; i < ngoals && rc == 0; i++) {
            struct probe goal;

            pattern_step (goals, i, &goal);
            rc = run_goal (x, &goal, l->v[k], how, before, during, err);
        }
        if (rc < 0 || results_collect (before, p, l->v[k], alone, err) < 0
            || results_collect (during, p, l->v[k], noisy, err) < 0)
            rc = -1;
        else
            progress_show (&p->progress, k + 1, l->n);
    }
    if (rc < 0 || pairs_finish (p, start, ngoals, ngoals, alone, err) < 0
        || pairs_finish (p, start, ngoals, ngoals, noisy, err) < 0)
        rc = -1;
    progress_hide (&p->progress);
    results_destroy (before);
    results_destroy (during);
    return rc;
}

/* Measure, alone and with noise. */
static int run_goals (struct exchange_session *x, const struct pattern *goals,
                      struct noise_how *how, struct error *err)
{
    struct series *alone, *noisy;
    size_t most = x->length.v[x->length.n - 1];

    if (x->party.comm->reserve (x->party.c,
                                how->length > most ? how->length : most, NULL,
                                err) < 0
        || session_series (x, x->ex->both_ways ? SERIES_ASYNC_ONE_TO_ONE
                                               : SERIES_ONE_TO_ONE,
                           "alone", x->ex->name, &alone, err) < 0
        || session_series (x, x->args->blocking ? SERIES_NOISE_BLOCKING
                                                : SERIES_NOISE,
                           "noise", x->ex->name, &noisy, err) < 0)
        return -1;
    if (noisy) {
        noisy->noise_length = how->length;
        noisy->noise_messages = x->args->noise_messages;
        noisy->noise_processes = how->processes;
    }
    return measure_goals (x, goals, how, alone, noisy, err);
}

static int run_noise_test (struct exchange_session *x, struct error *err)
{
    const struct exchange_args *a = x->args;
    uint32_t n = x->party.n;
    struct pattern *goals = NULL;
    struct noise_how how = { .length = a->noise_length };
    int rc = -1;

    if (a->how.batch_ns > 0)
        return error_input (err, "--batch-ms: noise does not wait; say how "
                                 "many --exchanges");
    if (n < 2
        || (a->noise_processes > 0 && (uint32_t)a->noise_processes > n - 2))
        return error_input (err, "a goal pair and %d noise processes are more "
                                 "than %u", a->noise_processes, n);
    how.processes = a->noise_processes >= 0 ? (uint32_t)a->noise_processes
                                            : n - 2;
    how.process = xcalloc (n + 2, sizeof (*how.process));
    if ((goals = find_goals (x, how.process, err))
        && find_noise (x, &how, err) == 0)
        rc = run_goals (x, goals, &how, err);
    pattern_destroy (goals);
    free (how.process);
    return rc;
}

const struct exchange_test exchange_noise = {
    .name = "noise", .help = "what a pair sees while others exchange messages",
    .options = args_noise, .rules = args_noise_rules, .exchange = "both-ways",
    .length = { (uint64_t[]){ 0 }, 1 }, .run = run_noise_test,
};
