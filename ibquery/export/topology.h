/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A fabric as Slurm's topology/tree plugin takes it: topology.conf.
 *
 * Every switch that has hosts is a leaf. What can be reached from each other
 * without going above a level is a group of that level, whatever number of
 * switches it takes: a pod of a fat tree is one. So the groups are a tree, even
 * where the switches are none; that leaves are joined to each other by cables
 * is said in a comment, and groups of them are then all that is known.
 *
 * A host is where its first port is, of the plane that most hosts are in: Slurm
 * wants each node once. Hosts that are called by a GUID are left out.
 */
#ifndef IBQUERY_TOPOLOGY_H
#define IBQUERY_TOPOLOGY_H

#include <stdio.h>

#include "ibquery/fabric.h"

/* Return 0, or -1 with err: no hosts, a part of a fabric. */
int topology_write (const struct fabric *f, FILE *fp, struct error *err);

#endif /* IBQUERY_TOPOLOGY_H */
