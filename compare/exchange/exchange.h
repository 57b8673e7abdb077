/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kinds of exchange between two processes, over any comm's messages.
 *
 *     round-trip  one message there, then one back
 *     one-way     all messages there, then as many back: one direction at a
 *                 time
 *     both-ways   one message each way at once; wait for both
 *     async       as both-ways, but many at once
 *
 * For a single exchange the first two are the same, and so are the last two.
 * Half of the duration of a round trip without bytes is the latency; N
 * exchanges of L bytes in time T have the rate 2 N L / T.
 */
#ifndef COMPARE_EXCHANGE_EXCHANGE_H
#define COMPARE_EXCHANGE_EXCHANGE_H

#include "compare/series/series.h"
#include "core/plan/plan.h"
#include "compare/exchange/comm.h"
#include "util/error.h"

/* Find the kind of this name: the comm's own, or else the generic one. Return
 * NULL with err, which lists all kinds.
 */
const struct comm_exchange *exchange_find (const struct comm *comm,
                                           const char *name,
                                           struct error *err);

/* A kind's run: as many messages there as its manner, an unsigned int, says
 * (NULL: all of them), then as many back, until n exchanges are done.
 */
int exchange_by_turns (const struct comm_exchange *ex, struct comm_side *s,
                       struct error *err);

/* All processes get the n words of process 0, which the caller frees; the word
 * and n of the others are ignored. NULL with err.
 */
uint32_t *party_tell (const struct party *p, const uint32_t *word, size_t *n,
                      struct error *err);

/* Results: what a process measured with each of the others at one length, until
 * process 0 puts it into a series.
 */
struct results;

/* Create empty results of a process that initiates its measurements, or that
 * receives them.
 */
struct results *results_create (uint32_t n, bool receives);
void results_destroy (struct results *r);

/* Add an exchange with a peer: its time, or that it was lost. */
void results_add (struct results *r, uint32_t peer, double time_ns);
void results_add_lost (struct results *r, uint32_t peer);

/* Process 0, which alone has a series, collects all processes' results as pairs
 * of this length; dead processes are marked. Afterwards all results are empty.
 * Return 0, or -1 with err.
 */
int results_collect (struct results *r, const struct party *p,
                     uint64_t length, struct series *s, struct error *err);

enum {
    MEASURE_REPEATS_MAX = 1000 * 1000,
    MEASURE_EXCHANGES_MAX = 1 << 24,
    MEASURE_BOTH_WAYS = 16, /* exchanges per repeat, by default */
};

struct measure_how {
    unsigned int warm_up;   /* exchanges before, not counted */
    unsigned int repeats;
    /* Exchanges per repeat, timed together; their mean counts. 0: one, or
     * MEASURE_BOTH_WAYS for a kind that goes both ways at once: there, the
     * process that starts the first exchange late finds the other's message
     * already there.
     */
    unsigned int exchanges;
    int64_t batch_ns;       /* increase them until a repeat takes this long; 0:
                               do not */
};

/* All wait for each other; then the two processes of each pair measure at one
 * length. Return 0, or -1 with err.
 */
int measure_step (const struct party *p, const struct comm_exchange *ex,
                  const struct probe *pair, uint32_t npairs, size_t len,
                  const struct measure_how *how, struct results *r,
                  struct error *err);

/* Measure with a peer at one length; both call it. The side that is first gets
 * the times in its results: half of an exchange each. Return 0, or -1 with err.
 */
int measure (const struct party *p, const struct comm_exchange *ex,
             uint32_t peer, bool first, size_t len,
             const struct measure_how *how, struct results *r,
             struct error *err);

/* How many exchanges to try next, if n took ns instead of at least batch_ns; 0:
 * n is enough.
 */
unsigned int measure_grow (unsigned int n, int64_t ns, int64_t batch_ns);

#endif /* COMPARE_EXCHANGE_EXCHANGE_H */
