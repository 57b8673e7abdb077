/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "core/samples/noise.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"

#define JITTER_LOG_SD 0.6
#define BURST_ROUNDS 0.3 /* share of rounds with a burst */
#define BURST_P 0.8
#define BURST_NS 1500.0
#define STEP_NS 1000.0

enum { SLEEP_MIN_NS = 1000, SLEEP_MAX_NS = 50000,
       LATE_MIN_NS = 20000, LATE_MAX_NS = 100000 };

#define CALM .jitter_ns = 15, .shift_ns = 8
#define USUAL .jitter_ns = 40, .shift_ns = 20

/* pmm(1) describes them. */
const struct noise_kind noise_kinds[] = {
    { "calm", CALM },
    { "site", USUAL, .tail_share = .02, .tail_ns = 2000, .repin_share = .1,
      .repin_ns = 200, .wait_share = .08, .wait_p = .3, .wait_ns = 400,
      .burst_share = .03, .sleep_share = .02 },
    { "busy", USUAL, .tail_share = .02, .tail_ns = 2000, .repin_share = .2,
      .repin_ns = 300, .wait_share = .15, .wait_p = .6, .wait_ns = 800,
      .burst_share = .1, .sleep_share = .02 },
    { "bgq5", USUAL, .wait_share = .05, .wait_p = .75, .wait_ns = 1500 },
    { "burst20", USUAL, .burst_share = .2 },
    { "cstate10", USUAL, .sleep_share = .1 },
    { "repin200", CALM, .repin_share = .1, .repin_ns = 200 },
    { "repin400", CALM, .repin_share = .2, .repin_ns = 400 },
    { "repin600", CALM, .repin_share = .2, .repin_ns = 600 },
    { "runsd60", .jitter_ns = 15, .shift_ns = 60 },
    { "steps", CALM, .step_share = .01 },
    { "loss5", CALM, .loss_share = .05 },
    { "hotspots", USUAL, .wait_share = .3, .wait_p = .9, .wait_ns = 300 },
    { "daemons", .jitter_ns = 80, .tail_share = .1, .tail_ns = 20000,
      .shift_ns = 40, .repin_share = .2, .repin_ns = 100, .sleep_share = .3 },
    { "late3", CALM, .late = 3 },
    { 0 },
};

const struct noise_kind *noise_find (const char *name)
{
    for (const struct noise_kind *k = noise_kinds; k->name; k++)
        if (!strcmp (k->name, name))
            return k;
    return NULL;
}

const char *noise_names (void)
{
    static char text[256];
    size_t len = 0;

    for (const struct noise_kind *k = noise_kinds; k->name; k++)
        len += (size_t)snprintf (text + len, sizeof (text) - len, "%s%s",
                                 len ? ", " : "", k->name);
    return text;
}

struct host_state {
    double shift_ns;
    bool sleeps, late;
};

struct noise {
    const struct noise_kind *kind;
    uint64_t seed;
    struct host_state *host; /* [endpoints] */
    uint8_t *waits, *bursts; /* [2 * nlinks] */
};

static bool happens (struct rng *rng, double p)
{
    return p > 0 && rng_uniform (rng) < p;
}

static double between (struct rng *rng, double low, double high)
{
    return low + (high - low) * rng_uniform (rng);
}

struct noise *noise_create (const struct noise_kind *kind,
                            const struct network *net, size_t n, uint64_t seed)
{
    struct noise *x = xcalloc (1, sizeof (*x));
    struct rng rng;

    x->kind = kind;
    x->seed = seed;
    x->host = xcalloc (n, sizeof (*x->host));
    x->waits = xcalloc (2 * net->nlinks, 1);
    x->bursts = xcalloc (2 * net->nlinks, 1);
    rng_seed (&rng, seed);
    for (size_t i = 0; i < n; i++) {
        x->host[i].shift_ns = kind->shift_ns * rng_normal (&rng);
        if (happens (&rng, kind->repin_share))
            x->host[i].shift_ns += happens (&rng, .5) ? kind->repin_ns
                                                      : -kind->repin_ns;
        x->host[i].sleeps = happens (&rng, kind->sleep_share);
    }
    for (unsigned int i = 0; i < kind->late && n > 0; i++)
        x->host[rng_below (&rng, n)].late = true;
    for (size_t k = 0; k < 2 * net->nlinks; k++)
        if (net->link[k / 2].kind == LINK_SWITCH) {
            x->waits[k] = happens (&rng, kind->wait_share);
            x->bursts[k] = happens (&rng, kind->burst_share);
        }
    return x;
}

void noise_destroy (struct noise *n)
{
    if (!n)
        return;
    free (n->host);
    free (n->waits);
    free (n->bursts);
    free (n);
}

/* Whether there is a burst in that round, for all messages that cross the arc.
 */
static bool is_on (const struct noise *n, uint32_t arc, uint32_t round)
{
    struct rng rng;

    rng_seed (&rng, n->seed ^ (uint64_t)arc << 20 ^ (uint64_t)round << 50);
    return rng_uniform (&rng) < BURST_ROUNDS;
}

static double traffic_ns (const struct noise *n, uint32_t round, uint32_t arc,
                          struct rng *rng)
{
    double ns = 0;

    if (n->waits[arc] && happens (rng, n->kind->wait_p))
        ns += n->kind->wait_ns * rng_exponential (rng);
    if (n->bursts[arc] && is_on (n, arc, round) && happens (rng, BURST_P))
        ns += BURST_NS * rng_exponential (rng);
    return ns;
}

static double host_ns (const struct host_state *h, struct rng *rng)
{
    double ns = h->shift_ns;

    if (h->sleeps && happens (rng, .5))
        ns += between (rng, SLEEP_MIN_NS, SLEEP_MAX_NS);
    if (h->late)
        ns += between (rng, LATE_MIN_NS, LATE_MAX_NS);
    return ns;
}

/* For a part of a round trip. */
static double delay (const struct noise_kind *kind, double part,
                     struct rng *rng)
{
    double ns = part * kind->jitter_ns
                * exp (JITTER_LOG_SD * rng_normal (rng));

    if (happens (rng, part * kind->tail_share))
        ns += kind->tail_ns * rng_exponential (rng);
    return ns;
}

static double jitter (const struct noise_kind *kind, struct rng *rng)
{
    double ns = delay (kind, 1, rng);

    if (happens (rng, kind->step_share))
        ns += happens (rng, .5) ? STEP_NS : -STEP_NS;
    return ns;
}

double noise_loopback_ns (const struct noise *n, uint32_t end, struct rng *rng)
{
    return jitter (n->kind, rng) + host_ns (&n->host[end], rng);
}

double noise_message_ns (const struct noise *n, uint32_t a, uint32_t b,
                         uint32_t round, const uint32_t *arc, int narcs,
                         struct rng *rng)
{
    double ns = jitter (n->kind, rng);

    if (happens (rng, n->kind->loss_share))
        return -INFINITY;
    ns += host_ns (&n->host[a], rng) + host_ns (&n->host[b], rng);
    for (int i = 0; i < narcs; i++)
        ns += traffic_ns (n, round, arc[i], rng);
    return ns;
}

double noise_way_ns (const struct noise *n, uint32_t from, uint32_t slice,
                     const uint32_t *arc, int narcs, struct rng *rng)
{
    double ns = delay (n->kind, .5, rng) + host_ns (&n->host[from], rng);

    for (int i = 0; i < narcs; i++)
        ns += traffic_ns (n, slice, arc[i], rng);
    return ns;
}

double noise_way_loss (const struct noise *n)
{
    return 1 - sqrt (1 - n->kind->loss_share);
}
