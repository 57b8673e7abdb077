/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Noise: what round trips take beside the latencies of their links, on days
 * like a site's. A kind has a name; a run draws from it which hosts and arcs
 * are affected.
 *
 * Times are of round trips. The figures are guesses at what is usual: no
 * threshold of the judge is made of them.
 */
#ifndef CORE_NOISE_H
#define CORE_NOISE_H

#include <stdint.h>

#include "core/paths/paths.h"
#include "util/rng.h"

struct noise_kind {
    const char *name;
    double jitter_ns;   /* of each message: a lognormal of this median */
    double tail_share;  /* of messages: longer by an exponential of mean */
    double tail_ns;
    double shift_ns;    /* standard deviation, over hosts and runs, of what all
                           round trips to a host take more */
    double repin_share; /* of hosts: the process runs elsewhere than usual, */
    double repin_ns;    /* which takes so much more or less */
    double wait_share;  /* of arcs between switches: others' packets come */
    double wait_p;      /* of messages: wait for them, by an */
    double wait_ns;     /* exponential of this mean; */
    double burst_share; /* of these arcs: they do so in a few rounds */
    double sleep_share; /* of hosts: half of their messages wake it first,
                           which takes 1 to 50 us */
    double step_share;  /* of messages: the clock steps by 1 us either way */
    double loss_share;  /* of messages */
    unsigned int late;  /* hosts that answer 20 to 100 us late */
};

/* The last has no name. */
extern const struct noise_kind noise_kinds[];

/* NULL: no such kind; to say which there are, their names with commas. */
const struct noise_kind *noise_find (const char *name);
const char *noise_names (void);

/* One run's. */
struct noise;

/* Draw for n endpoints and all arcs of a network. */
struct noise *noise_create (const struct noise_kind *kind,
                            const struct network *net, size_t n,
                            uint64_t seed);
void noise_destroy (struct noise *n);

/* What it adds to a message of an endpoint to itself. */
double noise_loopback_ns (const struct noise *n, uint32_t end,
                          struct rng *rng);

/* What the noise adds to a message of the round trip between two endpoints in
 * a round, along these arcs; -INFINITY: it is lost.
 */
double noise_message_ns (const struct noise *n, uint32_t a, uint32_t b,
                         uint32_t round, const uint32_t *arc, int narcs,
                         struct rng *rng);

/* The same of one way of it, from an endpoint along these arcs, so that there
 * and back both come to what noise_message_ns is: but for loss and clocks that
 * step. `slice` is of the time, as a round is. And the probability that it is
 * lost.
 */
double noise_way_ns (const struct noise *n, uint32_t from, uint32_t slice,
                     const uint32_t *arc, int narcs, struct rng *rng);
double noise_way_loss (const struct noise *n);

#endif /* CORE_NOISE_H */
