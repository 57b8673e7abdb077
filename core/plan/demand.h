/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Demand: in how many rounds a port has to be busy.
 *
 * Read by plan/rounds, which serves those first that can wait least. Where a
 * job has two hosts behind a leaf, or five in a pod, all that the paths
 * there have to tell must be told by probes of these few.
 *
 * Let S be a set of ports: one, or all that hang together by pairs of at
 * most h hops each way, for any h (in a tree: leaves, pods). A link is own to
 * S if every row that crosses it has an end in S. The rank of the rows of S
 * with all but the own links left out is at most the number of probes with
 * an end in S that any basis has; divided by |S|, it is what each port of S is
 * busy with on average. The demand of a port is the largest such figure over
 * all S that it is in.
 */
#ifndef CORE_DEMAND_H
#define CORE_DEMAND_H

#include "core/plan/basis.h"

/* The demand of each port, [nports]; the caller frees it. Cost: the entries of
 * the basis once per length of path, and an elimination that has little to
 * eliminate.
 */
double *demand_find (const struct basis *basis);

#endif /* CORE_DEMAND_H */
