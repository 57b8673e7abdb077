/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which processes exchange messages in each step.
 *
 * Notes: kinds pair places, 0 .. n-1; p->id maps a place to a process, so
 * shuffling, hosts and plans only fill this map in different ways. A pairing
 * computes any pair of any step from its number in constant time, for processes
 * and for groups of them.
 */
#include "config.h"
#include "compare/pattern/pattern.h"

#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/pool.h"
#include "util/map.h"
#include "util/rng.h"
#include "util/sort.h"

/* The finalizer of MurmurHash3: each bit of x changes half of the result, on
 * average.
 */
static uint64_t mix_murmur (uint64_t x)
{
    x = (x ^ (x >> 33)) * 0xff51afd7ed558ccd;
    x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53;
    return x ^ (x >> 33);
}

void order_draw (struct order *o, uint64_t n, struct rng *rng)
{
    o->n = n;
    o->half = 1;
    while (UINT64_C (1) << 2 * o->half < n)
        o->half++;
    for (int k = 0; k < ORDER_ROUNDS; k++)
        o->key[k] = rng_next (rng);
}

static uint64_t permute_index (const struct order *o, uint64_t x)
{
    uint64_t mask = (UINT64_C (1) << o->half) - 1;
    uint64_t left = x >> o->half;
    uint64_t right = x & mask;

    for (int k = 0; k < ORDER_ROUNDS; k++) {
        uint64_t next = left ^ (mix_murmur (right ^ o->key[k]) & mask);

        left = right;
        right = next;
    }
    return left << o->half | right;
}

uint64_t order_at (const struct order *o, uint64_t i)
{
    do
        i = permute_index (o, i);
    while (i >= o->n);
    return i;
}

/* A method that pairs n, floor(n/2) pairs per step. */
struct pairing {
    uint64_t (*steps) (uint32_t n);
    struct probe (*pair) (uint32_t n, uint64_t step, uint32_t k);
};

/* An odd number of places form a circle. A step pairs those that are equally
 * far from place `step`. If n is even, that place is paired with the last one,
 * which is not on the circle.
 */
static uint64_t circle (uint32_t n)
{
    return (n - 1) | 1;
}

static struct probe circle_pair (uint32_t n, uint64_t step, uint32_t k)
{
    uint64_t c = circle (n);

    if (k == c / 2)
        return (struct probe){ step, n - 1 };
    return (struct probe){ (step + k + 1) % c, (step + c - k - 1) % c };
}

static uint64_t halves (uint32_t n)
{
    return n - n / 2;
}

static struct probe halves_pair (uint32_t n, uint64_t step, uint32_t k)
{
    return (struct probe){ k, n / 2 + (k + step) % halves (n) };
}

static const struct pairing one_factor = { circle, circle_pair };
static const struct pairing bisection = { halves, halves_pair };

struct pattern {
    struct pool *pool; /* of it */
    const struct pattern_row *kind;
    uint32_t n;
    uint64_t turn;   /* steps before roles are swapped */
    uint32_t width;  /* the greatest number of pairs in a step */
    uint64_t steps;
    uint32_t *id;    /* the process of a place; [n], or [endpoints] of a plan */
    uint32_t groups; /* by host: places first[g] .. first[g + 1] - 1, */
    uint32_t *first; /* [groups + 1], are group g's */
    uint64_t *from;  /* [steps of the pairing + 1] first step of each */
    const struct plan *plan;
    struct probe *pair; /* given ones */
    bool shuffle;
    struct order order; /* of `turn` steps */
    struct rng rng;     /* while it is created */
};

struct pattern_row {
    const char *name, *help;
    bool once;    /* roles are never swapped */
    bool by_host;
    const struct pairing *pairing;
    uint32_t (*step) (const struct pattern *p, uint64_t step,
                      struct probe *pair);
    struct receivers (*with) (uint32_t n, uint32_t a); /* if it is whole */
};

/* one-factor, bisection */

static uint32_t paired_step (const struct pattern *p, uint64_t step,
                             struct probe *pair)
{
    for (uint32_t k = 0; k < p->n / 2; k++)
        pair[k] = p->kind->pairing->pair (p->n, step, k);
    return p->n / 2;
}

/* by-host: the pairing's step of groups, and the position in it */

static uint32_t group_size (const struct pattern *p, uint32_t g)
{
    return p->first[g + 1] - p->first[g];
}

static uint64_t grouped_turns (const struct pattern *p)
{
    return p->groups < 2 ? 0 : p->kind->pairing->steps (p->groups);
}

/* The last turn that begins at or before the step. */
static uint64_t find_turn (const struct pattern *p, uint64_t step)
{
    uint64_t low = 0, high = grouped_turns (p);

    while (high - low > 1) {
        uint64_t middle = (low + high) / 2;

        if (p->from[middle] <= step)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static uint32_t grouped_step (const struct pattern *p, uint64_t step,
                              struct probe *pair)
{
    uint64_t turn = find_turn (p, step);
    uint32_t shift = step - p->from[turn];
    uint32_t n = 0;

    for (uint32_t k = 0; k < p->groups / 2; k++) {
        struct probe g = p->kind->pairing->pair (p->groups, turn, k);
        uint32_t a = group_size (p, g.a), b = group_size (p, g.b);
        uint32_t less = a < b ? a : b, more = a < b ? b : a;

        for (uint32_t i = 0; shift < more && i < less; i++) {
            uint32_t j = (i + shift) % more;

            pair[n++] = (struct probe){ p->first[g.a] + (a < b ? i : j),
                                        p->first[g.b] + (a < b ? j : i) };
        }
    }
    return n;
}

static uint32_t serial_step (const struct pattern *p, uint64_t step,
                             struct probe *pair)
{
    pair[0] = circle_pair (p->n, step / (p->n / 2), step % (p->n / 2));
    return 1;
}

/* whole topologies */

/* Process a initiates exchanges with b, from <= b < to. */
struct receivers {
    uint32_t from, to;
};

static struct receivers all_receivers (uint32_t n, uint32_t a)
{
    (void)a;
    return (struct receivers){ 0, n };
}

static struct receivers from_first (uint32_t n, uint32_t a)
{
    return (struct receivers){ 1, a == 0 ? n : 1 };
}

static struct receivers with_next (uint32_t n, uint32_t a)
{
    return (struct receivers){ (a + 1) % n, (a + 1) % n + 1 };
}

static struct receivers with_later (uint32_t n, uint32_t a)
{
    return (struct receivers){ a + 1, n };
}

static uint32_t whole_step (const struct pattern *p, uint64_t step,
                            struct probe *pair)
{
    uint32_t n = 0;

    (void)step;
    for (uint32_t a = 0; a < p->n; a++) {
        struct receivers s = p->kind->with (p->n, a);

        for (uint32_t b = s.from; b < s.to; b++)
            pair[n++] = (struct probe){ a, b };
    }
    return n;
}

static const struct pattern_row kinds[PATTERN_KINDS] = {
    [PATTERN_ONE_FACTOR]
    = { "one-factor", "every pair once, half as many a step as processes",
        .pairing = &one_factor, .step = paired_step },
    [PATTERN_BISECTION]
    = { "bisection", "every pair across the halves of the processes once",
        .pairing = &bisection, .step = paired_step },
    [PATTERN_BY_HOST]
    = { "by-host", "all of a host with one other host at a time",
        .by_host = true, .pairing = &one_factor, .step = grouped_step },
    [PATTERN_BY_HOST_BISECTION]
    = { "by-host-bisection", "by host, across the halves of the hosts only",
        .by_host = true, .pairing = &bisection, .step = grouped_step },
    [PATTERN_ONE_TO_ONE]
    = { "one-to-one", "every pair once, one a step", .step = serial_step },
    [PATTERN_ALL_TO_ALL]
    = { "all-to-all", "everyone to everyone at once, itself included",
        .once = true, .step = whole_step, .with = all_receivers },
    [PATTERN_STAR]
    = { "star", "one process with all others",
        .once = true, .step = whole_step, .with = from_first },
    [PATTERN_RING]
    = { "ring", "each process with the next",
        .once = true, .step = whole_step, .with = with_next },
    [PATTERN_COMPLETE]
    = { "complete", "everyone with everyone else at once",
        .once = true, .step = whole_step, .with = with_later },
};

static uint32_t plan_step (const struct pattern *p, uint64_t step,
                           struct probe *pair)
{
    size_t n;
    const struct probe *probe = plan_round (p->plan, step, &n);

    memcpy (pair, probe, n * sizeof (*pair));
    return n;
}

static const struct pattern_row of_plan = { .step = plan_step };

static uint32_t given_step (const struct pattern *p, uint64_t step,
                            struct probe *pair)
{
    pair[0] = p->pair[step];
    return 1;
}

static const struct pattern_row of_pairs
    = { .once = true, .step = given_step };

const char *pattern_name (enum pattern_kind kind)
{
    return kinds[kind].name;
}

int pattern_find (const char *name)
{
    for (int k = 0; k < PATTERN_KINDS; k++)
        if (strcmp (kinds[k].name, name) == 0)
            return k;
    return -1;
}

const char *pattern_help (enum pattern_kind kind)
{
    return kinds[kind].help;
}

bool pattern_whole (enum pattern_kind kind)
{
    return kinds[kind].once;
}

/* A pattern whose places are the processes, so far. */
static struct pattern *create_pattern (const struct pattern_row *kind,
                                       uint32_t n, size_t places,
                                       const struct pattern_options *opts,
                                       struct error *err)
{
    struct pool *pool;
    struct pattern *p;

    if (n < 2 || n > PATTERN_PROCESSES_MAX) {
        error_input (err, "a pattern of %u processes: 2 to %d can be had", n,
                     PATTERN_PROCESSES_MAX);
        return NULL;
    }
    pool = pool_create ();
    p = pool_alloc (pool, 1, sizeof (*p));
    p->pool = pool;
    p->id = pool_alloc (pool, places, sizeof (*p->id));
    for (size_t i = 0; i < places; i++)
        p->id[i] = i;
    p->kind = kind;
    p->n = n;
    p->shuffle = opts && opts->shuffle;
    rng_seed (&p->rng, opts ? opts->seed : 0);
    return p;
}

/* Set the number of steps and their order. */
static struct pattern *finish_pattern (struct pattern *p, uint64_t turn,
                                       uint32_t width)
{
    p->turn = turn;
    p->width = width;
    p->steps = p->kind->once ? turn : 2 * turn;
    p->shuffle = p->shuffle && turn > 1;
    if (p->shuffle)
        order_draw (&p->order, turn, &p->rng);
    return p;
}

/* Order places by host; hosts are in the order of their first process. */
static void group_by_host (struct pattern *p, const uint32_t *host)
{
    /* first of host, place */
    uint64_t *key = pool_alloc (p->pool, p->n, sizeof (*key));
    uint32_t *id = pool_alloc (p->pool, p->n, sizeof (*id));
    struct map heads = { 0 };

    memcpy (id, p->id, p->n * sizeof (*id));
    p->first = pool_alloc (p->pool, p->n + 1, sizeof (*p->first));
    for (uint32_t i = 0; i < p->n; i++) {
        uint32_t of = host ? host[id[i]] : i, head = map_find (&heads, of);

        if (head == MAP_NONE)
            map_put (&heads, of, head = i);
        key[i] = (uint64_t)head << 32 | i;
    }
    qsort (key, p->n, sizeof (*key), compare_u64);
    for (uint32_t i = 0; i < p->n; i++) {
        p->id[i] = id[(uint32_t)key[i]];
        if (i == 0 || key[i] >> 32 != key[i - 1] >> 32)
            p->first[p->groups++] = i;
    }
    p->first[p->groups] = p->n;
    map_clear (&heads);
}

/* Where each step of the pairing begins. It takes as many steps as its largest
 * group has processes.
 */
static void count_turns (struct pattern *p)
{
    uint64_t turns = grouped_turns (p);

    p->from = pool_alloc (p->pool, turns + 1, sizeof (*p->from));
    for (uint64_t t = 0; t < turns; t++) {
        uint32_t most = 0;

        for (uint32_t k = 0; k < p->groups / 2; k++) {
            struct probe g = p->kind->pairing->pair (p->groups, t, k);
            uint32_t a = group_size (p, g.a), b = group_size (p, g.b);

            most = a > most ? a : most;
            most = b > most ? b : most;
        }
        p->from[t + 1] = p->from[t] + most;
    }
}

struct pattern *pattern_create (enum pattern_kind kind, uint32_t n,
                                const uint32_t *host,
                                const struct pattern_options *opts,
                                struct error *err)
{
    struct pattern *p = create_pattern (&kinds[kind], n, n, opts, err);
    uint32_t width = 0;

    if (!p)
        return NULL;
    if (p->shuffle)
        rng_shuffle (&p->rng, p->id, n);
    if (p->kind->by_host) {
        group_by_host (p, host);
        count_turns (p);
        return finish_pattern (p, p->from[grouped_turns (p)], n / 2);
    }
    if (p->kind->pairing)
        return finish_pattern (p, p->kind->pairing->steps (n), n / 2);
    if (!p->kind->with)
        return finish_pattern (p, circle (n) * (n / 2), 1);
    for (uint32_t a = 0; a < n; a++)
        width += p->kind->with (n, a).to - p->kind->with (n, a).from;
    return finish_pattern (p, 1, width);
}

/* Check that no process is twice in a round of a plan or out of range. */
static int check_rounds (const struct pattern *p, size_t nendpoints,
                         struct error *err)
{
    size_t *last = xcalloc (p->n, sizeof (*last)); /* round, from 1 */
    int rc = 0;

    for (size_t r = 0; r < plan_rounds (p->plan) && rc == 0; r++) {
        size_t n;
        const struct probe *probe = plan_round (p->plan, r, &n);

        if (n == 0)
            rc = error_input (err, "round %zu of the plan is empty", r + 1);
        for (size_t i = 0; i < 2 * n && rc == 0; i++) {
            uint32_t end = i % 2 ? probe[i / 2].b : probe[i / 2].a;

            if (end >= nendpoints || p->id[end] >= p->n)
                rc = error_input (err, "round %zu of the plan: an endpoint"
                                  " that no process has", r + 1);
            else if (last[p->id[end]] == r + 1)
                rc = error_input (err, "round %zu of the plan: process %u is"
                                  " in two pairs", r + 1, p->id[end]);
            else
                last[p->id[end]] = r + 1;
        }
    }
    free (last);
    return rc;
}

struct pattern *pattern_of_plan (const struct plan *plan,
                                 const uint32_t *process, size_t nendpoints,
                                 uint32_t n,
                                 const struct pattern_options *opts,
                                 struct error *err)
{
    struct pattern *p = create_pattern (&of_plan, n, nendpoints, opts, err);

    if (!p)
        return NULL;
    p->plan = plan;
    for (size_t e = 0; e < nendpoints; e++)
        p->id[e] = process[e];
    if (check_rounds (p, nendpoints, err) < 0) {
        pattern_destroy (p);
        return NULL;
    }
    return finish_pattern (p, plan_rounds (plan), n / 2);
}

struct pattern *pattern_of_pairs (const struct probe *pair, size_t npairs,
                                  uint32_t n,
                                  const struct pattern_options *opts,
                                  struct error *err)
{
    struct pattern *p = create_pattern (&of_pairs, n, n, opts, err);

    if (!p)
        return NULL;
    p->pair = pool_alloc (p->pool, npairs, sizeof (*p->pair));
    for (size_t i = 0; i < npairs; i++) {
        if (pair[i].a >= n || pair[i].b >= n || pair[i].a == pair[i].b) {
            error_input (err, "pair %zu: %u and %u are not two of %u"
                         " processes", i + 1, pair[i].a, pair[i].b, n);
            pattern_destroy (p);
            return NULL;
        }
        p->pair[i] = pair[i];
    }
    return finish_pattern (p, npairs, 1);
}

void pattern_destroy (struct pattern *p)
{
    if (p)
        pool_destroy (p->pool);
}

uint32_t pattern_processes (const struct pattern *p)
{
    return p->n;
}

uint64_t pattern_steps (const struct pattern *p)
{
    return p->steps;
}

uint64_t pattern_turn (const struct pattern *p)
{
    return p->turn;
}

uint32_t pattern_width (const struct pattern *p)
{
    return p->width;
}

uint32_t pattern_step (const struct pattern *p, uint64_t step,
                       struct probe *pair)
{
    bool swap = step >= p->turn;
    uint64_t at = swap ? step - p->turn : step;
    uint32_t n = p->kind->step (p, p->shuffle ? order_at (&p->order, at) : at,
                                pair);

    for (uint32_t k = 0; k < n; k++) {
        uint32_t a = p->id[pair[k].a], b = p->id[pair[k].b];

        pair[k] = swap ? (struct probe){ b, a } : (struct probe){ a, b };
    }
    return n;
}

/*
 * Noise
 */

int noise_draw (uint32_t n, uint32_t nnoise, const struct probe *goal,
                uint64_t seed, uint64_t pass, uint32_t *process,
                struct error *err)
{
    struct rng rng;
    uint32_t k = 0;

    if (n < 2 || nnoise > n - 2)
        return error_input (err, "%u noise processes and a pair: there are %u "
                                 "processes", nnoise, n);
    if (goal && (goal->a >= n || goal->b >= n || goal->a == goal->b))
        return error_input (err, "a goal pair of %u and %u: they are not two "
                                 "of %u processes", goal->a, goal->b, n);
    if (goal) {
        process[k++] = goal->a;
        process[k++] = goal->b;
    }
    for (uint32_t i = 0; i < n; i++)
        if (!goal || (i != goal->a && i != goal->b))
            process[k++] = i;
    /* for this pass alone, far from other passes and seeds */
    rng_seed (&rng, seed);
    rng_seed (&rng, rng_next (&rng) ^ pass);
    rng_shuffle (&rng, goal ? process + 2 : process, goal ? n - 2 : n);
    return 0;
}
