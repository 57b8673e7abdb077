/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Streams: messages of any length between the members of a group. Each arrives
 * once and in order, as long as both members live.
 *
 * A message is a train of packets, each the pad of a letter (probe/group.h):
 * its bytes are on the wire but never read. A note is a message of one packet
 * whose content is delivered. At most STREAM_WINDOW packets to one member are
 * in flight at a time, and at most STREAM_FLIGHT in total.
 *
 * Letters may be lost, repeated or reordered. A member that waits asks now and
 * then and reports what it has; missing packets are sent again. Packets that go
 * back acknowledge what arrived; without any, a member acknowledges every
 * STREAM_WINDOW / 4 packets, or when it has waited for one gap of the transport
 * with nothing to send. So an exchange without losses needs no packets beyond
 * those of its messages.
 *
 * A member that stays silent though it is asked is dead (group_dead_ns): its
 * messages, in both directions, are lost from then on. If it is still alive, it
 * gets no answers, so that neither waits for the other. If a living member does
 * not send a message within that time, the message is lost to its receiver, and
 * a late one is not taken for another: each barrier begins a new age, and
 * messages of an earlier age are dropped.
 *
 * Calls return 1, 0 if the message is lost, or -1 with err if the group has
 * failed.
 *
 * Letters, by kind; numbers are of packets, from 1 on for each direction:
 *
 *     packet 1   number; data: the first packet that its sender misses 4; the
 *                end of a message 1, of a note 2 or neither 0 1; age 1; a
 *                note's bytes
 *     has 2      the first packet missed; data: bit i: that + i is here 8
 *     asks 3     as has; its receiver sends the missing packets, and answers
 *     answers 4  as has; its receiver sends the missing packets
 */
#ifndef PROBE_EXCHANGE_STREAM_H
#define PROBE_EXCHANGE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probe/exchange/comm.h"
#include "probe/group.h"
#include "util/error.h"

enum {
    STREAM_WINDOW = 64,
    STREAM_FLIGHT = 4096,
    STREAM_NOTE_MAX = GROUP_LETTER_MAX - 6, /* bytes */
};

struct stream;

/* Create a stream for a group, which is borrowed. From now on the group's
 * letters belong to the stream.
 */
struct stream *stream_create (struct group *g);
void stream_destroy (struct stream *s);

/* Whether messages may be longer than zero bytes: needs pads. */
bool stream_carries (const struct stream *s);

/* Begin a new age of messages: after a barrier of all. */
void stream_age (struct stream *s);

/* Send a message: done when the last packet is sent. Receive a message: done
 * when it has arrived, whatever its length. stream_receive_any takes one from
 * any member, and gives up after the time for which a silent member is waited
 * for.
 */
int stream_send (struct stream *s, uint32_t to, size_t len,
                 struct error *err);
int stream_receive (struct stream *s, uint32_t from, struct error *err);
int stream_receive_any (struct stream *s, uint32_t *from, struct error *err);

/* Start a message, also with oneself. A send returns 1, or -1 with err. */
int stream_start_send (struct stream *s, uint32_t to, size_t len,
                       struct error *err);
void stream_start_receive (struct stream *s, uint32_t from);

/* Wait until one of the started messages is done (0: none is left), or all of
 * them (0: some were lost).
 */
int stream_wait_one (struct stream *s, struct comm_done *done,
                     struct error *err);
int stream_wait_all (struct stream *s, struct error *err);

/* Notes are ordered among themselves, independent of messages. *len is the size
 * of buf, and then that of the note, which is cut if it does not fit.
 */
int stream_send_note (struct stream *s, uint32_t to, const void *data,
                      size_t len, struct error *err);
int stream_receive_note (struct stream *s, uint32_t from, void *buf,
                         size_t *len, struct error *err);

#endif /* PROBE_EXCHANGE_STREAM_H */
