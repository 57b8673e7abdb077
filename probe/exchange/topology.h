/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whole topologies: all exchanges of a star, a ring or a complete graph.
 *
 * One-directional, with blocking messages:
 *
 *     star      process 0 sends to all; each of the others receives, then
 *               replies
 *     complete  each sends to all that come after it, in order; it replies to
 *               messages from those before it as they arrive
 *     ring      each sends to its right and receives from its left; then it
 *               sends to its left and receives from its right
 *
 * Replies of the complete graph and sends of the ring are not waited for one by
 * one, because that could be a deadlock. Two-directional: all receives and
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

/* Measure a shape at one length: how->repeats repeats of as many passes as
 * there are exchanges per repeat. The time of a repeat is the mean of its
 * passes, from when all processes have reached its start to when all have
 * reached its end, by the clock of process 0. Process 0, which alone has a
 * series, adds the result to it. Repeats are lost from the first one in which a
 * process lost something. Return 1; 0, in all processes, if some are lost: then
 * no further topology of all processes is possible; or -1 with err.
 */
int topology_run (const struct party *p, enum series_shape shape,
                  bool both_ways, size_t len, const struct measure_how *how,
                  struct series *s, struct error *err);

#endif /* PROBE_EXCHANGE_TOPOLOGY_H */
