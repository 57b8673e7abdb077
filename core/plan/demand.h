/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Demand: in how many rounds a port has to be busy.
 *
 * Read by plan/rounds, which places the most demanding ports first. If a job
 * has two hosts on a leaf, or five in a pod, everything that the paths there
 * can determine must come from probes of these few hosts.
 *
 * Let S be a set of ports: one port, or a set connected by pairs of at most h
 * hops each way, for any h (in a tree: leaves, pods). A link is own to S if
 * every row that crosses it has an end in S. The rank of the rows of S,
 * restricted to the own links, is at most the number of probes with an end in S
 * that any basis has. Divided by |S|, it is the number of rounds in which a
 * port of S is busy on average. The demand of a port is the largest such number
 * over all S that contain it.
 */
#ifndef CORE_DEMAND_H
#define CORE_DEMAND_H

#include "core/plan/basis.h"

/* The demand of each port, [nports]; the caller frees it. Cost: the entries of
 * the basis once per length of path, and a small elimination.
 */
double *demand_find (const struct basis *basis);

#endif /* CORE_DEMAND_H */
