/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Measure one pair at one length. */
#ifndef PROBE_EXCHANGE_MEASURE_H
#define PROBE_EXCHANGE_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

#include "probe/exchange/party.h"
#include "probe/exchange/results.h"
#include "util/error.h"

enum {
    MEASURE_REPEATS_MAX = 1000 * 1000,
    MEASURE_EXCHANGES_MAX = 1 << 24,
    MEASURE_BOTH_WAYS = 16, /* exchanges of a repeat, where nobody says */
};

struct measure_how {
    unsigned int warm_up;   /* exchanges before, which do not count */
    unsigned int repeats;
    /* Of a repeat, timed together; their mean counts. 0: one, or of a kind
     * that goes both ways at once MEASURE_BOTH_WAYS, as who comes second to
     * the first of them finds the other's message there.
     */
    unsigned int exchanges;
    int64_t batch_ns;       /* more of these, if need be, until a repeat takes
                               so long; 0: no more */
};

/* Measure with a peer, both calling it. The one that is first has the times in
 * its results, each half of an exchange's. Return 0, or -1 with err.
 */
int measure (const struct party *p, const struct comm_exchange *ex,
             uint32_t peer, bool first, size_t len,
             const struct measure_how *how, struct results *r,
             struct error *err);

/* How many exchanges to try next, where n took ns in place of batch_ns at
 * least; 0: n is enough.
 */
unsigned int measure_grow (unsigned int n, int64_t ns, int64_t batch_ns);

#endif /* PROBE_EXCHANGE_MEASURE_H */
