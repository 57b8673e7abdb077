/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Comm over a group: the tests' view of the transports verbs and emu. A process
 * is a member of the group, uses its first port, and is labelled by its host.
 *
 * Messages are trains of packets (stream.h): none is lost except those of a
 * member that died. A round trip of messages that fit into one datagram is a
 * ping, timed by the port's own clock if it has one, and lost if the network
 * lost it. A longer one is two trains.
 *
 * If processes share a core, those that ping at the same time take turns, as in
 * a check (probe/probe.h).
 */
#ifndef PROBE_EXCHANGE_COMM_GROUP_H
#define PROBE_EXCHANGE_COMM_GROUP_H

#include "probe/exchange/comm.h"
#include "probe/group.h"
#include "util/error.h"

struct comm_group;

/* Open a comm for a group and the host of each member, both borrowed. All
 * members close it at the same time: they wait for each other, as long as any
 * member may still request messages that it missed.
 */
struct comm_group *comm_group_open (struct group *g, const char *const *host);
void comm_group_close (struct comm_group *c);

/* The comm's table, under a transport's name, which is borrowed. */
struct comm comm_group_table (const char *name);

#endif /* PROBE_EXCHANGE_COMM_GROUP_H */
