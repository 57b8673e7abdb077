/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a pair sees while others exchange messages, beside what it sees alone.
 */
#ifndef PROBE_EXCHANGE_NOISE_H
#define PROBE_EXCHANGE_NOISE_H

#include <stddef.h>
#include <stdint.h>

#include "compare/pattern/pattern.h"
#include "compare/series/series.h"
#include "probe/exchange/measure.h"
#include "probe/exchange/party.h"
#include "util/error.h"

struct noise_how {
    uint32_t processes; /* how many make noise, afresh in each repeat, */
    const uint32_t *fixed; /* ... or always these, NULL: drawn */
    size_t length;      /* bytes of their messages, */
    unsigned int messages; /* ... and how many to each of the others */
    uint64_t seed;
    uint64_t goals;     /* steps of the pattern at most */
};

/* Measure the goal pairs that a pattern has, one a step: each repeat alone,
 * then with noise, which begins as its warm-up does. Noise is all started, then
 * waited for, whatever the goal pair's exchange is. Process 0, which alone has
 * series, gets what was measured, sorted. Return 0, or -1 with err.
 */
int noise_run (struct party *p, const struct pattern *goals,
               const struct comm_exchange *ex, const uint64_t *length,
               size_t nlengths, const struct measure_how *how,
               const struct noise_how *noise, struct series *alone,
               struct series *noisy, struct error *err);

#endif /* PROBE_EXCHANGE_NOISE_H */
