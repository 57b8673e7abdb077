/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kinds of exchange between two processes, over any comm's messages.
 *
 *     round-trip  a message there, and when it is there one back
 *     one-way     all messages there, then as many back: one direction at a
 *                 time
 *     both-ways   a message each way at once, and wait for both
 *     async       as both-ways, but many of them at once
 *
 * Of one exchange alone the first two are the same, and so are the last two.
 * Half of the duration of a round trip without bytes is the latency; N
 * exchanges of L bytes in T have the rate 2 N L / T.
 */
#ifndef PROBE_EXCHANGE_EXCHANGE_H
#define PROBE_EXCHANGE_EXCHANGE_H

#include "probe/exchange/comm.h"
#include "probe/exchange/results.h"
#include "util/error.h"

/* The kind of this name: the comm's own, or else the generic one. NULL with
 * err, which names all that there are.
 */
const struct comm_exchange *exchange_find (const struct comm *comm,
                                           const char *name,
                                           struct error *err);

/* Kind i of a comm, its own first; NULL: there are no more. */
const struct comm_exchange *exchange_at (const struct comm *comm, size_t i);

enum {
    MEASURE_REPEATS_MAX = 1000 * 1000,
    MEASURE_EXCHANGES_MAX = 1 << 24,
    MEASURE_BOTH_WAYS = 16, /* exchanges of a repeat, by default */
};

struct measure_how {
    unsigned int warm_up;   /* exchanges before, which do not count */
    unsigned int repeats;
    /* Of a repeat, timed together; their mean counts. 0: one, or
     * MEASURE_BOTH_WAYS of a kind that goes both ways at once: the process that
     * is late for the first of them finds the other's message there.
     */
    unsigned int exchanges;
    int64_t batch_ns;       /* more of these, if need be, until a repeat takes
                               so long; 0: no more */
};

/* Measure with a peer at one length, both calling it. The one that is first has
 * the times in its results, each half of an exchange's. Return 0, or -1 with
 * err.
 */
int measure (const struct party *p, const struct comm_exchange *ex,
             uint32_t peer, bool first, size_t len,
             const struct measure_how *how, struct results *r,
             struct error *err);

/* How many exchanges to try next, where n took ns in place of batch_ns at
 * least; 0: n is enough.
 */
unsigned int measure_grow (unsigned int n, int64_t ns, int64_t batch_ns);

#endif /* PROBE_EXCHANGE_EXCHANGE_H */
