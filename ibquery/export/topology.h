/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A fabric as topology.conf for Slurm's topology/tree plugin.
 *
 * Every switch that has hosts is a leaf. A group of a level contains what can
 * reach each other without crossing a higher level, however many switches that
 * takes: a pod of a fat tree is one group. So the groups form a tree even if
 * the switches do not. If cables join leaves to each other, a comment in the
 * file says so: then only groups of leaves are known.
 *
 * Slurm wants each node once. So a host is placed at the switch of its first
 * port in the plane that has the most endpoints. Hosts that are named by a GUID
 * are left out.
 */
#ifndef IBQUERY_TOPOLOGY_H
#define IBQUERY_TOPOLOGY_H

#include <stdio.h>

#include "ibquery/fabric.h"

/* Return 0, or -1 with err if no host has a name, or if this is a part of a
 * fabric.
 */
int topology_write (const struct fabric *f, FILE *fp, struct error *err);

#endif /* IBQUERY_TOPOLOGY_H */
