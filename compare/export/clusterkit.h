/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A plan for ClusterKit: its pairwise tests measure the pairs of a file, a line
 * each, "ROUND NODE NODE" (-f FILE; NVIDIA HPC-X, "Running ClusterKit").
 */
#ifndef COMPARE_CLUSTERKIT_H
#define COMPARE_CLUSTERKIT_H

#include <stdio.h>

#include "core/paths/paths.h"
#include "core/plan/plan.h"
#include "util/error.h"

/* Rounds count from 1; nodes are called by their hosts. Return 0, or -1 with
 * err: a host is in two probes of a round, by two of its rails, which it knows
 * nothing of.
 */
int clusterkit_write (const struct plan *plan, const struct pathset *ps,
                      FILE *fp, struct error *err);

#endif /* COMPARE_CLUSTERKIT_H */
