/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who is a host, what it is called, and which ports are its rails; at what
 * level switches are.
 *
 * A host is called by the first word of its NodeDescription ("node1 HCA-1",
 * "node1 mlx5_0"); several adapters or ports with one name are its rails.
 *
 * An adapter whose description names no host is called by its GUID, with a
 * warning. So are adapters whose description is another's, too, when these two
 * are on different cards, as their SystemImageGUIDs say: no host has two
 * devices of one name. Then nobody is called by that name: rails are what is
 * on one card, called by its smallest GUID. Adapters whose cards are not known
 * are believed to be of one host.
 *
 * A SHARP aggregation node is no host, and its cable counts with the
 * switches'; nor is a router. A port without a LID, or not active, is no rail,
 * with a warning.
 *
 * Levels: 1 where hosts are, else 1 + the least of the neighbours'; 0 where no
 * host can be reached. A switch that has few hosts compared with the others and
 * more cables to switches than any that has many is no place for hosts:
 * somebody has cabled a management node, or two, to a spine. Its level is its
 * neighbours' to say.
 */
#ifndef IBQUERY_HOSTS_H
#define IBQUERY_HOSTS_H

#include "ibquery/fabric.h"

/* Find the hosts and endpoints of a fabric whose nodes are sorted, once. */
void hosts_find (struct fabric *f);

/* Find the levels of a fabric whose hosts are known. */
void levels_find (struct fabric *f);

#endif /* IBQUERY_HOSTS_H */
