/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pair latencies for LogGOPSim (Hoefler, Schneider, Lumsdaine, "LogGOPSim -
 * simulating large-scale applications in the LogGOPS model", 2010).
 *
 * There a small message takes o + L + o: L is a measured latency, half a round
 * trip, less twice the overhead o of either side. In ns, whole numbers.
 */
#ifndef COMPARE_LOGGOPS_H
#define COMPARE_LOGGOPS_H

#include <stdio.h>

#include "compare/infer/matrix.h"
#include "util/error.h"

/* The options of the simulator: "-L L -o O", L being the median of the pairs
 * that are known. Return 0, or -1 with err: none is, or L is below zero.
 */
int loggops_write (const struct infer_matrix *m, double overhead_ns, FILE *fp,
                   struct error *err);

/* L of every pair: a line for each sender, of what it is to each receiver, 0 to
 * itself. Return 0, or -1 with err: a pair is not known, or below zero.
 */
int loggops_write_pairs (const struct infer_matrix *m, double overhead_ns,
                         FILE *fp, struct error *err);

#endif /* COMPARE_LOGGOPS_H */
