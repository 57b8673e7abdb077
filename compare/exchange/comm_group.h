/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Comm over a group: the tests' view of the transports verbs and emu. A process
 * is a member of the group and uses its first port.
 *
 * A round trip of messages that a ping holds (probe/group.h) is one, timed by
 * the port's own clock if it has one, and lost if the network lost it.
 * Processes that share a core ping in turns, as in a check (probe/probe.h).
 *
 * All other messages are the transport's (struct transport_burst): their bytes
 * are on the wire but never read. A run has those with TRANSPORT_RAILS_MAX
 * members at a time. They are lost if they do not come within twice the time
 * after which a silent member is dead (group_dead_ns), and that of their bytes
 * at 10 MB/s; from then on all messages between the two are lost, until the
 * next barrier.
 *
 * Notes are letters: who waits for one asks for it now and then. What is
 * collected and told are objects that members fetch, between two barriers.
 */
#ifndef COMPARE_EXCHANGE_COMM_GROUP_H
#define COMPARE_EXCHANGE_COMM_GROUP_H

#include "compare/exchange/comm.h"
#include "probe/group.h"

struct comm_group;

/* Open a comm for a group and the host of each member, both borrowed. From now
 * on the group's letters belong to it. All members close it at the same time:
 * they wait for each other, as long as any member may still request something
 * that it missed. comm_group_drop does not wait.
 */
struct comm_group *comm_group_open (struct group *g, const char *const *host);
void comm_group_close (struct comm_group *c);
void comm_group_drop (struct comm_group *c);

extern const struct comm comm_group;

#endif /* COMPARE_EXCHANGE_COMM_GROUP_H */
