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
 * processes wait for one another. Process 0, which alone has a series, gets
 * what was measured, every now and then or, where a pair may be in several
 * steps (again_and_again), with all its repeats at the end of a length; at last
 * it is sorted, with the number of steps and probes and the seconds it took.
 * Return 0, or -1 with err.
 */
int pairs_run (struct party *p, const struct pattern *pattern,
               const struct comm_exchange *ex, const uint64_t *length,
               size_t nlengths, const struct measure_how *how,
               bool again_and_again, struct series *s, struct error *err);

/* The same of everyone with everyone, itself included, all at once: each
 * message is timed by its receiver, from the start of all to the wait that
 * completes it. How many exchanges a repeat has does not matter: it is one.
 */
int pairs_run_all (struct party *p, const uint64_t *length, size_t nlengths,
                   const struct measure_how *how, struct series *s,
                   struct error *err);

/* What process 0 writes down in its series when all is over: the seconds from
 * start on; sorted. Elsewhere nothing. Return 0, or -1 with err.
 */
int pairs_finish (const struct party *p, int64_t start, uint64_t steps,
                  uint64_t probes, struct series *s, struct error *err);

/* All get the n pairs that process 0 has, as a pattern of one a step; elsewhere
 * what is given is not read. Where process 0 has none, all fail. NULL with err.
 */
struct pattern *pairs_tell (const struct party *p, const struct probe *pair,
                            size_t n, struct error *err);

/* The process of a label, else the first of a host; p->n: there is none. */
uint32_t pairs_process (const struct party *p, const char *name);

#endif /* PROBE_EXCHANGE_PAIRS_H */
