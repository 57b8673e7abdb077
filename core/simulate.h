/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Simulate: the samples that a plan would give on links of known latency. */
#ifndef CORE_SIMULATE_H
#define CORE_SIMULATE_H

#include <stdint.h>

#include "core/paths.h"
#include "core/plan.h"
#include "core/samples.h"
#include "util/error.h"

struct simulate_options {
    double noise_ns;         /* standard deviation of one RTT; 0: none */
    double outlier_share;    /* of RTTs that take longer, 0 .. 1, by an */
    double outlier_ns;       /* exponential of this mean */
    unsigned int repeats;    /* from each side, at least 1 */
    uint64_t seed;
};

/* latency_ns[l] is that of link l of the network. Both sides of each probe
 * initiate. NULL with err.
 */
struct samples *simulate (const struct pathset *ps, const struct plan *plan,
                          const double *latency_ns,
                          const struct simulate_options *opts,
                          struct error *err);

#endif /* CORE_SIMULATE_H */
