/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Comm over a group: the tests' view of the transports verbs and emu. A process
 * is a member of the group and uses its first port.
 *
 * A message is a train of packets, each the pad of a letter (probe/group.h):
 * its bytes are on the wire but never read. A note is a message of one packet
 * whose content is delivered. Each arrives once and in order, as long as both
 * members live. At most COMM_GROUP_WINDOW packets to a member, and
 * COMM_GROUP_FLIGHT in total, are in flight.
 *
 * A member that waits asks now and then and reports what it has; packets that
 * it misses are sent again. Packets acknowledge what arrived before; without
 * any, a member acknowledges every COMM_GROUP_WINDOW / 4 packets, or after
 * one gap of waiting. So an exchange without losses needs no further packets.
 *
 * A member that stays silent though it is asked is dead (group_dead_ns): its
 * messages are lost from then on, and it gets no answers. If a living member
 * does not send a message within that time, the message is lost, too. Each
 * barrier begins a new age: messages of an earlier age are dropped.
 *
 * A round trip of messages that fit into one datagram is a ping, timed by the
 * port's own clock if it has one, and lost if the network lost it. A longer one
 * is two trains. Processes that share a core ping in turns, as in a check
 * (probe/probe.h).
 */
#ifndef COMPARE_EXCHANGE_COMM_GROUP_H
#define COMPARE_EXCHANGE_COMM_GROUP_H

#include "compare/exchange/comm.h"
#include "probe/group.h"
#include "util/error.h"

enum {
    COMM_GROUP_WINDOW = 64,
    COMM_GROUP_FLIGHT = 4096,
    COMM_GROUP_NOTE_MAX = GROUP_LETTER_MAX - 6, /* bytes */
};

struct comm_group;

/* Open a comm for a group and the host of each member, both borrowed. From now
 * on the group's letters belong to it. All members close it at the same time:
 * they wait for each other, as long as any member may still request messages
 * that it missed. comm_group_drop does not wait.
 */
struct comm_group *comm_group_open (struct group *g, const char *const *host);
void comm_group_close (struct comm_group *c);
void comm_group_drop (struct comm_group *c);

extern const struct comm comm_group;

#endif /* COMPARE_EXCHANGE_COMM_GROUP_H */
