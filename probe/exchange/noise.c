/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The test "noise": measure a pair while others exchange messages, and compare
 * this with the same pair alone.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "compare/pattern/pattern.h"
#include "probe/exchange/pairs.h"
#include "probe/exchange/program.h"
#include "util/alloc.h"

enum { LABEL_MAX = 256 };

struct noise_how {
    uint32_t processes;    /* number of noise processes */
    const uint32_t *fixed; /* [processes] NULL: drawn anew in each repeat */
    size_t length;         /* bytes of their messages */
    unsigned int messages; /* from each to each of the others, per repeat */
    uint64_t seed;
    uint64_t goals;        /* maximum number of steps of the pattern */
};

/* As noise_draw. If the noise processes are fixed, set them and leave the rest
 * of process[] as it is.
 */
static int draw (const struct noise_how *noise, uint32_t n,
                 const struct probe *goal, uint64_t pass, uint32_t *process,
                 struct error *err)
{
    if (!noise->fixed)
        return noise_draw (n, noise->processes, goal, noise->seed, pass,
                           process, err);
    memcpy (process + 2, noise->fixed,
            noise->processes * sizeof (*process));
    return 0;
}

/* Index of this process among the n noise processes; n: it is not one. */
static uint32_t find (uint32_t me, const uint32_t *process, uint32_t n)
{
    uint32_t i = 0;

    while (i < n && process[i] != me)
        i++;
    return i;
}

/* Exchange messages with all other noise processes. Lost messages are ignored.
 */
static int make (const struct party *p, const uint32_t *process, uint32_t n,
                 uint32_t mine, const struct noise_how *noise,
                 struct error *err)
{
    for (unsigned int k = 0; k < noise->messages; k++) {
        for (uint32_t i = 1; i < n; i++)
            if (p->comm->start_recv (p->c, process[(mine + n - i) % n],
                                     noise->length, err) < 0)
                return -1;
        for (uint32_t i = 1; i < n; i++)
            if (p->comm->start_send (p->c, process[(mine + i) % n],
                                     noise->length, err) < 0)
                return -1;
        if (p->comm->wait_all (p->c, err) < 0)
            return -1;
    }
    return 0;
}

struct noise_goal {
    const struct comm_exchange *ex;
    const struct probe *pair;
    size_t len;
    struct measure_how how; /* of one repeat */
};

static int is_in (const struct party *p, const struct noise_goal *goal)
{
    return p->me == goal->pair->a || p->me == goal->pair->b;
}

static int measure_goal (const struct party *p, const struct noise_goal *goal,
                         struct results *r, struct error *err)
{
    bool first = p->me == goal->pair->a;

    return measure (p, goal->ex, first ? goal->pair->b : goal->pair->a, first,
                    goal->len, &goal->how, r, err);
}

/* One repeat, with n noise processes. */
static int repeat (const struct party *p, const struct noise_goal *goal,
                   const uint32_t *process, uint32_t n,
                   const struct noise_how *noise, struct results *r,
                   struct error *err)
{
    uint32_t mine = find (p->me, process, n);

    if (p->comm->barrier (p->c, err) < 0)
        return -1;
    if (is_in (p, goal))
        return measure_goal (p, goal, r, err);
    return mine < n ? make (p, process, n, mine, noise, err) : 0;
}

struct noise_goals {
    const struct noise_how *noise;
    uint32_t *process; /* [n] as of noise_draw: goal pair, noise, idle */
    struct results *alone, *noisy;
    uint64_t pass;
};

static int run_goal (const struct party *p, struct noise_goals *st,
                     const struct noise_goal *goal, unsigned int repeats,
                     struct error *err)
{
    for (unsigned int i = 0; i < repeats; i++)
        if (draw (st->noise, p->n, goal->pair, st->pass++, st->process, err)
                < 0
            || repeat (p, goal, NULL, 0, st->noise, st->alone, err) < 0
            || repeat (p, goal, st->process + 2, st->noise->processes,
                       st->noise, st->noisy, err) < 0)
            return -1;
    return 0;
}

/* All goal pairs at one length. */
static int run_length (struct party *p, struct noise_goals *st,
                       const struct pattern *goals, uint64_t ngoals,
                       struct noise_goal *goal, unsigned int repeats,
                       struct error *err)
{
    for (uint64_t i = 0; i < ngoals; i++) {
        struct probe pair;

        pattern_step (goals, i, &pair);
        goal->pair = &pair;
        if (run_goal (p, st, goal, repeats, err) < 0)
            return -1;
    }
    return 0;
}

/* Measure the goal pairs of a pattern, one per step: each repeat first alone,
 * then with noise, which starts together with the warm-up. Noise messages are
 * all started, then waited for, whatever the goal pair's exchange is. Process
 * 0, which alone has series, gets the results, sorted. Return 0, or -1 with
 * err.
 */
static int measure_goals (struct exchange_session *x,
                          const struct pattern *goals,
                          const struct noise_how *noise, struct series *alone,
                          struct series *noisy, struct error *err)
{
    const struct measure_how *how = &x->args->how;
    const struct lengths *l = &x->length;
    struct party *p = &x->party;
    uint64_t ngoals = pattern_steps (goals);
    struct noise_goals st = {
        .noise = noise,
        .process = xarray (p->n, sizeof (*st.process)),
        .alone = results_create (p->n, false),
        .noisy = results_create (p->n, false),
    };
    /* default 1: the noise may end before many exchanges are done */
    unsigned int n = how->exchanges > 0 ? how->exchanges : 1;
    struct noise_goal goal = { .ex = x->ex,
                         .how = { .warm_up = how->warm_up, .repeats = 1,
                                  .exchanges = n } };
    int64_t start = p->comm->now_ns (p->c);
    int rc = -1;

    if (ngoals > noise->goals)
        ngoals = noise->goals;
    for (size_t k = 0; k < l->n; k++) {
        goal.len = l->v[k];
        if (run_length (p, &st, goals, ngoals, &goal, how->repeats, err) < 0
            || results_collect (st.alone, p, l->v[k], alone, err) < 0
            || results_collect (st.noisy, p, l->v[k], noisy, err) < 0)
            goto error;
        progress_show (&p->progress, k + 1, l->n);
    }
    rc = pairs_finish (p, start, ngoals, ngoals, alone, err);
    if (rc == 0)
        rc = pairs_finish (p, start, ngoals, ngoals, noisy, err);
error:
    progress_hide (&p->progress);
    results_destroy (st.alone);
    results_destroy (st.noisy);
    free (st.process);
    return rc;
}

/*
 * The test
 */

/* Find the processes of a list of labels, at most max. Return how many, or -1
 * with err.
 */
static int find_all (const struct party *p, const char *list,
                     uint32_t *process, uint32_t max, struct error *err)
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
                return error_input (err, "'%.80s' is there twice", label);
        n++;
    }
    return (int)n;
}

/* The goal pairs: the one of --goal, or else all pairs, one by one. */
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

/* If --noise-on names the noise processes, put them into process[n]. */
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

/* Measure, alone and with noise, and compare both series. */
static int run_goals (struct exchange_session *x, const struct pattern *goals,
                      const struct noise_how *noise, struct error *err)
{
    static const char *const what[] = { "alone, us", "noise, us" };
    struct series *alone, *noisy;

    if ((noise->length > x->length.v[x->length.n - 1]
         && x->party.comm->reserve (x->party.c, noise->length, err) < 0)
        || session_series (x, x->ex->both_ways ? SERIES_ASYNC_ONE_TO_ONE
                                               : SERIES_ONE_TO_ONE,
                           "alone", x->ex->name, &alone, err) < 0
        || session_series (x, x->args->blocking ? SERIES_NOISE_BLOCKING
                                                : SERIES_NOISE,
                           "noise", x->ex->name, &noisy, err) < 0)
        return -1;
    if (noisy)
        describe (noisy, noise);
    if (measure_goals (x, goals, noise, alone, noisy, err) < 0)
        return -1;
    session_compare (x, alone, noisy, what);
    return 0;
}

static int run (struct exchange_session *x, struct error *err)
{
    const struct exchange_args *a = x->args;
    const struct party *p = &x->party;
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
    uint32_t *process = xarray (p->n, sizeof (*process));
    int rc = -1;

    if (check (a, p, err) == 0 && (goals = find_goals (x, &goal, err))
        && find_noise (x, &goal, process, &noise, err) == 0)
        rc = run_goals (x, goals, &noise, err);
    pattern_destroy (goals);
    free (process);
    return rc;
}

const struct exchange_test exchange_noise = {
    .name = "noise",
    .help = "what a pair sees while others exchange messages",
    .options = args_noise,
    .exchange = "both-ways",
    .length = { (uint64_t[]){ 0 }, 1 },
    .run = run,
};
