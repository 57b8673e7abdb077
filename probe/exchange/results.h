/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Results: what a process measured with each of the others at one length,
 * until process 0 has it in a series; and how process 0 keeps its series.
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

/* Empty ones of a process that initiates what it measures, or which receives
 * it.
 */
struct results *results_create (uint32_t n, bool receives);
void results_destroy (struct results *r);

/* One more exchange with a peer: its time; or it was lost. */
void results_add (struct results *r, uint32_t peer, double time_ns);
void results_add_lost (struct results *r, uint32_t peer);

/* Process 0, which alone has a series, gets all processes' results as pairs of
 * this length; those that died are marked. All results are empty then. Return
 * 0, or -1 with err.
 */
int results_collect (struct results *r, const struct party *p,
                     uint64_t length, struct series *s, struct error *err);

/* The n worst pairs of a sorted series, worst first. A pair is as bad as its
 * median is over that of all pairs, at the length where that is the most. Of
 * (a, b) and (b, a) only the worse is among them, nor are those of which
 * nothing came back. Returns how many pair[n] has got.
 */
size_t results_worst (const struct series *s, struct probe *pair, size_t n);

/* Keep: the series that process 0 has gathered are saved also when the run is
 * ended from outside, as launchers do that lose one of its processes.
 *
 * From now on, at SIGTERM or SIGINT, call fn in a thread of its own, with the
 * lock held, and end this process with ERROR_WORLD. One at a time. NULL with
 * err.
 */
struct keep;
struct keep *keep_start (void (*fn) (void *arg), void *arg,
                         struct error *err);
/* No more: the series are being saved, which signals do not end. NULL is safe.
 */
void keep_over (struct keep *k);
/* Signals do what they did before. NULL is safe. */
void keep_stop (struct keep *k);

/* Hold fn off while the series are changed. NULL is safe. */
void keep_lock (struct keep *k);
void keep_unlock (struct keep *k);

#endif /* PROBE_EXCHANGE_RESULTS_H */
