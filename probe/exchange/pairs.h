/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The test "pairs": pairs of processes, step by step. */
#ifndef PROBE_EXCHANGE_PAIRS_H
#define PROBE_EXCHANGE_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compare/pattern/pattern.h"
#include "compare/series/series.h"
#include "core/plan/plan.h"
#include "probe/exchange/exchange.h"
#include "util/error.h"

/* Measure the pairs of a pattern, length by length; before each step all
 * processes wait for each other. Process 0, which alone has a series, collects
 * the results now and then, or, if a pair may be in several steps
 * (again_and_again), with all its repeats at the end of a length. In the end
 * the series is sorted and has the number of steps and probes and the duration
 * in seconds. Return 0, or -1 with err.
 */
int pairs_run (struct party *p, const struct pattern *pattern,
               const struct comm_exchange *ex, const uint64_t *length,
               size_t nlengths, const struct measure_how *how,
               bool again_and_again, struct series *s, struct error *err);

/* The same for everyone with everyone, itself included, all at once: each
 * receiver times each message, from the start of all to the wait that completes
 * it. The number of exchanges per repeat is ignored: it is one.
 */
int pairs_run_all (struct party *p, const uint64_t *length, size_t nlengths,
                   const struct measure_how *how, struct series *s,
                   struct error *err);

/* At process 0, complete the series: set the numbers, and the seconds since
 * `start`, and sort it. Elsewhere do nothing. Return 0, or -1 with err.
 */
int pairs_finish (const struct party *p, int64_t start, uint64_t steps,
                  uint64_t probes, struct series *s, struct error *err);

/* All get the n pairs of process 0, as a pattern with one pair per step; the
 * arguments of other processes are ignored. If process 0 has none, all fail.
 * Return NULL with err on failure.
 */
struct pattern *pairs_tell (const struct party *p, const struct probe *pair,
                            size_t n, struct error *err);

/* The process with this label, else the first one on this host; p->n: none. */
uint32_t pairs_process (const struct party *p, const char *name);

#endif /* PROBE_EXCHANGE_PAIRS_H */
