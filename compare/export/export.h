/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Plans and latencies as other programs read them. */
#ifndef COMPARE_EXPORT_H
#define COMPARE_EXPORT_H

#include <stdint.h>
#include <stdio.h>

#include "compare/infer/matrix.h"
#include "core/paths/paths.h"
#include "core/plan/plan.h"
#include "util/error.h"

/* A plan for ClusterKit: its pairwise tests measure the pairs of a file, a line
 * each, "ROUND NODE NODE" (-f FILE; NVIDIA HPC-X, "Running ClusterKit").
 *
 * Rounds count from 1; nodes are called by their hosts. Return 0, or -1 with
 * err: a host is in two probes of a round, by two of its rails, which it knows
 * nothing of.
 */
int clusterkit_write (const struct plan *plan, const struct pathset *ps,
                      FILE *fp, struct error *err);

/* Pair latencies for LogGOPSim (Hoefler, Schneider, Lumsdaine, "LogGOPSim -
 * simulating large-scale applications in the LogGOPS model", 2010).
 *
 * There a small message takes o + L + o: L is a measured latency, half a round
 * trip, less twice the overhead o of either side. In ns, whole numbers.
 *
 * The options of the simulator: "-L L -o O", L being the median of the pairs
 * that are known. Return 0, or -1 with err: none is, or L is below zero.
 */
int loggops_write (const struct infer_matrix *m, double overhead_ns, FILE *fp,
                   struct error *err);

/* L of every pair: a line for each sender, of what it is to each receiver, 0 to
 * itself. Return 0, or -1 with err: a pair is not known, or below zero.
 */
int loggops_write_pairs (const struct infer_matrix *m, double overhead_ns,
                         FILE *fp, struct error *err);

/* Latencies as target architectures of Scotch, onto which it maps processes
 * (Pellegrini, "Scotch and libScotch user's guide", section on target files).
 *
 * Terminals, on which processes are placed, are nodes by their numbers.
 * Distances are latencies in ns, or whatever the matrix is in, rounded to
 * whole numbers of 1 at least.
 *
 * As it is, "deco 0": all distances, and the nodes halved again and again, of
 * which Scotch makes use from the top down. Nodes go into halves by which of
 * two that are far from each other they are nearer to. Return 0, or -1 with
 * err: a pair is not known.
 */
int scotch_write_deco (const struct infer_matrix *m, FILE *fp,
                       struct error *err);

/* As a tree of equal groups, "tleaf": latencies are clustered (infer/cluster,
 * with eps), and the nodes whose latencies are in the first so many clusters
 * are to be groups of one size, one level in the other. A link of a level
 * costs what that level is farther than the one below. Terminal k is node
 * order[k]; order[] holds as many as there are nodes. Return 0, or -1 with err:
 * a pair is not known, or they are no such groups.
 */
int scotch_write_tleaf (const struct infer_matrix *m, double eps,
                        uint32_t *order, FILE *fp, struct error *err);

#endif /* COMPARE_EXPORT_H */
