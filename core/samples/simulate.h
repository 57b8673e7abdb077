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

#include <stdint.h>

#include "core/paths/paths.h"
#include "core/plan/plan.h"
#include "core/samples/noise.h"
#include "core/samples/samples.h"
#include "util/error.h"

struct simulate_options {
    double noise_ns;         /* standard deviation of one RTT; 0: none */
    double outlier_share;    /* of RTTs that are longer, 0 .. 1, by an */
    double outlier_ns;       /* exponential with this mean */
    const struct noise *noise; /* in addition; NULL: none */
    unsigned int repeats;    /* from each side, at least 1 */
    uint64_t seed;
    /* [endpoints] time of a message to itself: loopbacks are measured before,
     * between and after the rounds, for all endpoints, with the noise of hosts
     * and messages; NULL: no loopbacks
     */
    const double *loopback_ns;

    /* faults and traffic; NULL if there are none */
    const double *arc_ns; /* [2 * nlinks] extra time of one direction */
    /* [nlinks] probability that a message waits at a link for others' messages,
     * by an exponential with mean busy_ns. In each pass it is multiplied by a
     * number uniform over [0, 2), the same for all messages that cross the
     * link.
     */
    const double *busy;
    double busy_ns;
};

/* latency_ns[l] is that of link l of the network, at least 0. Both sides of
 * each probe initiate. NULL with err.
 */
struct samples *simulate (const struct pathset *ps, const struct plan *plan,
                          const double *latency_ns,
                          const struct simulate_options *opts,
                          struct error *err);

#endif /* CORE_SIMULATE_H */
