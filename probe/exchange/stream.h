/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Streams: messages of any length between the members of a group, that arrive,
 * each once and in order, for as long as both live.
 *
 * A message is a train of packets, each the pad of a letter (probe/group.h):
 * its bytes are on the wire but never read. A note is a message of one
 * packet that carries what is in it. Of what has left for a member no more than
 * STREAM_WINDOW packets are on their way at a time, and no more than
 * STREAM_FLIGHT for all.
 *
 * Letters may be lost, come twice or out of order. A member that waits asks now
 * and then and tells what it has; what it misses is sent again. What came is
 * told with packets that go back, every STREAM_WINDOW / 4 packets, or by a
 * member that waits for a gap of the transport and has nothing to send. So an
 * exchange without losses needs no more packets than its messages do.
 *
 * A member that is silent though it is asked is dead (group_dead_ns): what was
 * to go there or to come from there is lost, now and ever after, and should it
 * live it finds no answer, so that neither waits for the other. A message that
 * a living member does not send in that time is lost to its receiver, and a
 * late one is not taken for another: with each barrier messages come of age,
 * and those of an earlier one are dropped.
 *
 * Calls return 1, 0 where it is lost, or -1 with err where the group has
 * failed.
 *
 * Letters, by kind; numbers are of packets, from 1 on for each direction:
 *
 *     packet 1   number; data: what its sender misses first 4, end of a
 *                message 1 or of a note 2 or neither 0 1, age 1, a note's
 *                bytes
 *     has 2      what is missed first; data: bit i: that + i is here 8
 *     asks 3     as has; its receiver sends what is not there, and answers
 *     answers 4  as has; its receiver sends what is not there
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

/* For a group that is borrowed, whose letters are the stream's from now on. */
struct stream *stream_create (struct group *g);
void stream_destroy (struct stream *s);

/* Whether messages may be longer than zero bytes: where there are pads. */
bool stream_carries (const struct stream *s);

/* Messages are of another age from now on: after a barrier of all. */
void stream_age (struct stream *s);

/* Send a message: done when the last packet has left. Receive one: done when it
 * is here, whatever its length. stream_receive_any takes one of any member, and
 * gives up when there was none for as long as a silent member is waited for.
 */
int stream_send (struct stream *s, uint32_t to, size_t len,
                 struct error *err);
int stream_receive (struct stream *s, uint32_t from, struct error *err);
int stream_receive_any (struct stream *s, uint32_t *from, struct error *err);

/* Start that, also with oneself. A send returns 1, or -1 with err. */
int stream_start_send (struct stream *s, uint32_t to, size_t len,
                       struct error *err);
void stream_start_receive (struct stream *s, uint32_t from);

/* Wait for the next of what was started (0: there is nothing left), or for all
 * of it (0: some of it was lost).
 */
int stream_wait_one (struct stream *s, struct comm_done *done,
                     struct error *err);
int stream_wait_all (struct stream *s, struct error *err);

/* Notes are in order among themselves, apart from messages. len is that of
 * buf, and then of the note, which is cut where there is less room.
 */
int stream_send_note (struct stream *s, uint32_t to, const void *data,
                      size_t len, struct error *err);
int stream_receive_note (struct stream *s, uint32_t from, void *buf,
                         size_t *len, struct error *err);

#endif /* PROBE_EXCHANGE_STREAM_H */
