/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROBE_MPI_OPERATIONS_H
#define PROBE_MPI_OPERATIONS_H

#include <stdint.h>

#include "probe/exchange/program.h"
#include "util/error.h"

/* Measure what MPI's operations cost, a fast one fast_repeats times per repeat.
 * All processes, 2 or more, call this; process 0 prints the costs and writes
 * them to --output. Return 0, or -1 with err.
 */
int operations_run (const struct exchange_session *x, uint64_t fast_repeats,
                    struct error *err);

#endif /* PROBE_MPI_OPERATIONS_H */
