/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Results: what a process measured with each of the others at one length, until
 * process 0 puts it into a series; and how process 0 saves its series.
 */
#ifndef PROBE_EXCHANGE_RESULTS_H
#define PROBE_EXCHANGE_RESULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compare/series/series.h"
#include "core/plan/plan.h"
#include "probe/exchange/comm.h"
#include "util/error.h"

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

/* The n worst pairs of a sorted series, worst first. A pair's badness is the
 * ratio of its median to that of all pairs, at the length where this is
 * largest. Of (a, b) and (b, a) only the worse is included; pairs without any
 * answer are left out. Return the number of pairs written to pair[n].
 */
size_t results_worst (const struct series *s, struct probe *pair, size_t n);

/* Keep: saves the series that process 0 has collected even if the run is ended
 * from outside, as launchers do when they lose a process.
 *
 * keep_start: from now on, at SIGTERM or SIGINT, call fn in a thread of its
 * own, with the lock held, and end this process with ERROR_WORLD. Only one at a
 * time. Return NULL with err on failure.
 */
struct keep;
struct keep *keep_start (void (*fn) (void *arg), void *arg,
                         struct error *err);
/* Stop reacting: the series are being saved, which signals do not interrupt.
 * NULL is safe.
 */
void keep_over (struct keep *k);
/* Restore the previous signal handling. NULL is safe. */
void keep_stop (struct keep *k);

/* Keep fn from running while the series change. NULL is safe. */
void keep_lock (struct keep *k);
void keep_unlock (struct keep *k);

#endif /* PROBE_EXCHANGE_RESULTS_H */
