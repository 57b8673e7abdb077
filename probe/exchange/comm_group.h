/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Comm over a group: what tests see of the transports verbs and emu. A process
 * is a member of the group, by its first port, and labelled by its host.
 *
 * Messages are trains of packets (stream.h): none is lost but those of a member
 * that died. A round trip of what one datagram holds is a ping, timed by the
 * port's own clock where it has one, and lost where the network lost it; a
 * longer one is two trains.
 *
 * Where processes share a core those that ping at the same time take turns, as
 * in a check (probe/probe.h).
 */
#ifndef PROBE_EXCHANGE_COMM_GROUP_H
#define PROBE_EXCHANGE_COMM_GROUP_H

#include "probe/exchange/comm.h"
#include "probe/group.h"
#include "util/error.h"

struct comm_group;

/* For a group and the host of each member, both borrowed. All close it at the
 * same time: they wait for one another, as long as anyone may still ask for
 * what it missed.
 */
struct comm_group *comm_group_open (struct group *g, const char *const *host);
void comm_group_close (struct comm_group *c);

/* The table of what such a comm can do, under a transport's name, which is
 * borrowed.
 */
struct comm comm_group_table (const char *name);

#endif /* PROBE_EXCHANGE_COMM_GROUP_H */
