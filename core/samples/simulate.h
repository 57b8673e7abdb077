/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Simulate: the samples that a plan would give on links of known latency.
 *
 * The real routes may differ from those that the plan was made for: pass a set
 * of the same endpoints on another network with the same links.
 *
 * With the same seed, a longer plan that begins with the same rounds gives the
 * same samples for these rounds.
 */
#ifndef CORE_SIMULATE_H
#define CORE_SIMULATE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/paths/paths.h"
#include "core/plan/plan.h"
#include "core/samples/samples.h"
#include "util/error.h"
#include "util/rng.h"

/* Noise: what is added to the latencies of links in a round trip, as on a real
 * site. A run draws which hosts and arcs are affected. Times are of round
 * trips; they are guesses, on which no threshold of the judge depends.
 */
struct noise_kind {
    const char *name;
    double jitter_ns;   /* of each message: a lognormal with this median */
    double tail_share;  /* of messages: delayed by an exponential with mean */
    double tail_ns;
    double shift_ns;    /* standard deviation, over hosts and runs, of what all
                           round trips of a host have more */
    double repin_share; /* of hosts: the process runs on another core, */
    double repin_ns;    /* with so much more or less time */
    double wait_share;  /* of arcs between switches: others' packets; */
    double wait_p;      /* of messages: wait for them, by an */
    double wait_ns;     /* exponential with this mean; */
    double burst_share; /* of arcs between switches: bursts in some rounds */
    double sleep_share; /* of hosts: half of their messages wake it first, which
                           takes 1 to 50 us */
    double step_share;  /* of messages: the clock steps by 1 us either way */
    double loss_share;  /* of messages */
    unsigned int late;  /* hosts that answer 20 to 100 us late */
};

/* The last has no name. */
extern const struct noise_kind noise_kinds[];

/* NULL: unknown kind; the names of all kinds, separated by commas. */
const struct noise_kind *noise_find (const char *name);
const char *noise_names (void);

/* The noise of one run. */
struct noise;

/* Draw it for n endpoints and all arcs of a network. */
struct noise *noise_create (const struct noise_kind *kind,
                            const struct network *net, size_t n,
                            uint64_t seed);
void noise_destroy (struct noise *n);

/* Noise of a message from an endpoint to itself. */
double noise_loopback_ns (const struct noise *n, uint32_t end,
                          struct rng *rng);

/* Noise of one message of the round trip between two endpoints in a round,
 * along these arcs; -INFINITY: it is lost.
 */
double noise_message_ns (const struct noise *n, uint32_t a, uint32_t b,
                         uint32_t round, const uint32_t *arc, int narcs,
                         struct rng *rng);

/* The same for one direction, from an endpoint: there and back together equal
 * noise_message_ns, without loss and clock steps. `slice` divides time as a
 * round does.
 */
double noise_way_ns (const struct noise *n, uint32_t from, uint32_t slice,
                     const uint32_t *arc, int narcs, struct rng *rng);

/* A round trip on its way. */
struct simulated {
    uint32_t round;
    const uint32_t *arc; /* [narcs] that it crosses, the first `there` forth */
    int narcs, there;
};

struct simulate_options {
    double noise_ns;         /* standard deviation of one RTT; 0: none */
    double outlier_share;    /* of RTTs that are longer, 0 .. 1, by an */
    double outlier_ns;       /* exponential with this mean */
    const struct noise *noise; /* in addition; NULL: none */
    unsigned int repeats;    /* from each side, at least 1 */
    uint64_t seed;
    /* [endpoints] time of a message to itself, before, between and after the
     * rounds, with the noise of hosts; NULL: no loopbacks
     */
    const double *loopback_ns;
    /* messages of this kind are spread, and each repeat from each side is a
     * flow of its own, or, with one_flow, all are the same; NULL: the network's
     * single paths
     */
    const struct traffic_class *spread;
    bool one_flow;
    /* of rounds from `again` on, if that is not 0: flows from each side, and
     * messages of each
     */
    size_t again;
    unsigned int flows, messages;

    /* faults and traffic; NULL if there are none */
    const double *arc_ns; /* [2 * nlinks] extra time of one direction */
    /* [nlinks] probability that a message waits for others', by an exponential
     * with mean busy_ns; in each pass times a number uniform over [0, 2)
     */
    const double *busy;
    double busy_ns;
    /* what it takes more, -INFINITY if it is lost; NULL: nothing */
    double (*more) (void *arg, const struct simulated *trip, struct rng *rng);
    void *more_arg;
};

/* latency_ns[l] is that of link l of the network, at least 0. Both sides of
 * each probe initiate. Ends of one host share a clock. NULL with err.
 */
struct samples *simulate (const struct pathset *ps, const struct plan *plan,
                          const double *latency_ns,
                          const struct simulate_options *opts,
                          struct error *err);

#endif /* CORE_SIMULATE_H */
