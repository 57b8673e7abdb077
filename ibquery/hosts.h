/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which nodes are hosts, their names, and which ports are their rails; the
 * levels of the switches; the table of hops. For fabric_finish.
 *
 * A host's name is the first word of its NodeDescription ("node1 HCA-1", "node1
 * mlx5_0"); several adapters or ports with one name are its rails. An adapter
 * whose description contains no host name is named by its GUID; one warning
 * is of them all. So are adapters with equal descriptions on different cards
 * (by SystemImageGUID), since no host has two devices with one name: the ports of
 * one card are then the rails of one host, named by the card's smallest GUID.
 *
 * A SHARP aggregation node is not a host, and its cable counts as a switch
 * link. A router is not a host either. A port without a LID, or not active, is
 * not a rail; there is a warning.
 *
 * Levels: 1 for switches with hosts, else 1 + the smallest level of the
 * neighbours; 0 if no host can be reached. A switch that has few hosts compared
 * with the others, and more switch links than any switch with many hosts, is
 * not a leaf: a few management nodes are cabled to a spine.
 */
#ifndef IBQUERY_HOSTS_H
#define IBQUERY_HOSTS_H

#include "ibquery/fabric.h"

/* Get the first word of an adapter's description. Return whether it is its
 * host's name.
 */
bool hosts_tell (const char *desc, char name[FABRIC_NAME_MAX + 1]);

/* Find the hosts and endpoints of a fabric whose nodes are sorted, once. */
void hosts_find (struct fabric *f);

/* Find the levels of a fabric whose hosts are known. */
void levels_find (struct fabric *f);

/* Make the table by which paths are walked (walk.c), from a finished fabric. */
struct fabric_walk *walk_create (const struct fabric *f);

#endif /* IBQUERY_HOSTS_H */
