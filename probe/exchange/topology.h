/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whole topologies: all exchanges of a star, a ring or a complete graph.
 *
 * One-directional, by blocking messages:
 *
 *     star      process 0 sends to all; each of the others receives, then
 *               replies
 *     complete  each sends to all that come after it, in order; what comes
 *               from those before it is replied to as it comes
 *     ring      each sends to its right, receives from its left, and when that
 *               is done sends to its left and receives from its right
 *
 * Replies of the complete graph and the sends of the ring are not waited for
 * one by one, since all might wait for all. Two-directional: all receives and
 * sends are started, then waited for.
 */
#ifndef PROBE_EXCHANGE_TOPOLOGY_H
#define PROBE_EXCHANGE_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>

#include "compare/series/series.h"
#include "probe/exchange/exchange.h"
#include "util/error.h"

enum { TOPOLOGY_PROCESSES_MIN = 3 };

/* Measure a shape at one length: how->repeats times as many passes as a repeat
 * has exchanges, their mean being the repeat's time: from when all processes
 * have come to when all have come again, by the clock of process 0. It, which
 * alone has a series, adds the result to it; repeats from the first on in which
 * a process lost something are lost. Return 1, 0 where some are, everywhere:
 * then there is no topology of all processes any more, or -1 with err.
 */
int topology_run (const struct party *p, enum series_shape shape,
                  bool both_ways, size_t len, const struct measure_how *how,
                  struct series *s, struct error *err);

#endif /* PROBE_EXCHANGE_TOPOLOGY_H */
