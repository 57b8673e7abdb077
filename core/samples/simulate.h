/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Simulate: the samples that a plan would give on links of known latency.
 *
 * The truth may differ from what the plan was made for: walk it on a set of
 * the same endpoints of another network with the same links.
 *
 * A longer plan with the same rounds at its beginning gives the same samples
 * at its beginning, by the same seed.
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
    double outlier_share;    /* of RTTs that take longer, 0 .. 1, by an */
    double outlier_ns;       /* exponential of this mean */
    const struct noise *noise; /* beside that; NULL: none */
    unsigned int repeats;    /* from each side, at least 1 */
    uint64_t seed;
    /* [endpoints] what a message to oneself takes: loopbacks are measured
     * before, between and after the rounds, of all endpoints, with the noise of
     * hosts and messages; NULL: not
     */
    const double *loopback_ns;

    /* faults and traffic; NULL where there are none */
    const double *arc_ns; /* [2 * nlinks] what one direction has more */
    /* [nlinks] probability that a message waits at a link behind those of
     * others, by an exponential of mean busy_ns. In each pass it is that
     * times a number uniform over [0, 2), one for all who cross the link.
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
