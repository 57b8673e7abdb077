/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "probe/exchange/noise.h"

#include <stdlib.h>
#include <string.h>

#include "compare/pattern/pattern.h"
#include "probe/exchange/pairs.h"
#include "probe/exchange/results.h"

/* As noise_draw, or with the processes that are always the ones. */
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

/* This process among those that make noise; n: it is not. */
static uint32_t find (uint32_t me, const uint32_t *process, uint32_t n)
{
    uint32_t i = 0;

    while (i < n && process[i] != me)
        i++;
    return i;
}

/* Messages from and to all others that make noise. What is lost is no matter.
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

struct goal {
    const struct comm_exchange *ex;
    const struct probe *pair;
    size_t len;
    struct measure_how how; /* of one repeat */
};

static int is_in (const struct party *p, const struct goal *goal)
{
    return p->me == goal->pair->a || p->me == goal->pair->b;
}

static int measure_goal (const struct party *p, const struct goal *goal,
                         struct results *r, struct error *err)
{
    bool first = p->me == goal->pair->a;

    return measure (p, goal->ex, first ? goal->pair->b : goal->pair->a, first,
                    goal->len, &goal->how, r, err);
}

/* A repeat, by n processes that make noise. */
static int repeat (const struct party *p, const struct goal *goal,
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

struct state {
    const struct noise_how *noise;
    uint32_t *process; /* [n] goal pair, noise, idle */
    struct results *alone, *noisy;
    uint64_t pass;
};

static int run_goal (const struct party *p, struct state *st,
                     const struct goal *goal, unsigned int repeats,
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
static int run_length (struct party *p, struct state *st,
                       const struct pattern *goals, uint64_t ngoals,
                       struct goal *goal, unsigned int repeats,
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

int noise_run (struct party *p, const struct pattern *goals,
               const struct comm_exchange *ex, const uint64_t *length,
               size_t nlengths, const struct measure_how *how,
               const struct noise_how *noise, struct series *alone,
               struct series *noisy, struct error *err)
{
    uint64_t ngoals = pattern_steps (goals);
    struct state st = {
        .noise = noise,
        .process = calloc (p->n, sizeof (*st.process)),
        .alone = results_create (p->n, false),
        .noisy = results_create (p->n, false),
    };
    /* one, where nobody says: the noise may be over before many */
    unsigned int n = how->exchanges > 0 ? how->exchanges : 1;
    struct goal goal = { .ex = ex,
                         .how = { .warm_up = how->warm_up, .repeats = 1,
                                  .exchanges = n } };
    int64_t start = p->comm->now_ns (p->c);
    int rc = -1;

    if (ngoals > noise->goals)
        ngoals = noise->goals;
    if (!st.process || !st.alone || !st.noisy) {
        error_nomem (err);
        goto error;
    }
    for (size_t k = 0; k < nlengths; k++) {
        goal.len = length[k];
        if (run_length (p, &st, goals, ngoals, &goal, how->repeats, err) < 0
            || results_collect (st.alone, p, length[k], alone, err) < 0
            || results_collect (st.noisy, p, length[k], noisy, err) < 0)
            goto error;
        progress_show (&p->progress, k + 1, nlengths);
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
