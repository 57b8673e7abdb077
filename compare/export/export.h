/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Plans and latencies in the file formats of other programs. */
#ifndef COMPARE_EXPORT_H
#define COMPARE_EXPORT_H

#include <stdint.h>
#include <stdio.h>

#include "compare/infer/matrix.h"
#include "core/paths/paths.h"
#include "core/plan/plan.h"
#include "util/error.h"

/* A plan for ClusterKit: its pairwise tests measure the pairs of a file, one
 * per line, "ROUND NODE NODE" (-f FILE; NVIDIA HPC-X, "Running ClusterKit").
 *
 * Rounds count from 1; nodes have the names of their hosts. ClusterKit does not
 * know rails. Return 0, or -1 with err: a host is in two probes of a round, by
 * two of its rails.
 */
int clusterkit_write (const struct plan *plan, const struct pathset *ps,
                      FILE *fp, struct error *err);

/* Pair latencies for LogGOPSim (Hoefler, Schneider, Lumsdaine, "LogGOPSim -
 * simulating large-scale applications in the LogGOPS model", 2010).
 *
 * In that model a small message takes o + L + o. So L is a measured latency,
 * half a round trip, minus twice the overhead o of one side. In ns, whole
 * numbers.
 *
 * This writes the options of the simulator: "-L L -o O". L is the median of all
 * known pairs. Return 0, or -1 with err: no pair is known, or L is negative.
 */
int loggops_write (const struct infer_matrix *m, double overhead_ns, FILE *fp,
                   struct error *err);

/* L of every pair: one line per sender, with L to each receiver, 0 to itself.
 * Return 0, or -1 with err: a pair is not known, or its L is negative.
 */
int loggops_write_pairs (const struct infer_matrix *m, double overhead_ns,
                         FILE *fp, struct error *err);

/* Latencies as target architectures of Scotch, which maps processes onto them
 * (Pellegrini, "Scotch and libScotch user's guide", section on target files).
 *
 * Terminals, on which Scotch places processes, are nodes by their numbers.
 * Distances are latencies in ns, or in the unit of the matrix, rounded to whole
 * numbers of at least 1.
 *
 * This writes "deco 0": all distances, and a recursive bisection of the nodes,
 * which Scotch uses from the top down. Each bisection takes two nodes that are
 * far from each other; every other node goes to the half of the nearer one.
 * Return 0, or -1 with err: a pair is not known.
 */
int scotch_write_deco (const struct infer_matrix *m, FILE *fp,
                       struct error *err);

/* As a tree of equal groups, "tleaf". Latencies are clustered (infer/cluster,
 * with eps). The nodes whose latencies are in the first k clusters must form
 * groups of one size, and the groups of k must lie within those of k + 1. A
 * link of a level costs the distance of that level minus that of the level
 * below. Terminal k is node order[k]; order[] has one entry per node. Return 0,
 * or -1 with err: a pair is not known, or there are no such groups.
 */
int scotch_write_tleaf (const struct infer_matrix *m, double eps,
                        uint32_t *order, FILE *fp, struct error *err);

#endif /* COMPARE_EXPORT_H */
