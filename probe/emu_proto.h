/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a client (transport_emu) and pmm-emu tell each other: over a Unix stream
 * socket until the client has joined a session, then in memory that the two
 * share.
 *
 * A frame is the length of its payload (2 bytes), its type (1), a zero (1),
 * then the payload; integers are little-endian (probe/wire.h). Over the socket:
 *
 *     HELLO    to emu     version 4, host name        the first frame
 *     WELCOME  to client  count 4, then per rail of the host:
 *                         endpoint 4, port GUID 8, LID 2, LMC 1, subnet 8
 *     JOIN     to emu     session key 8, clients of the session 4
 *     JOINED   to client  with two descriptors: of the page, and of its bell
 *     ERROR    to client  a sentence; the emulator then closes
 *
 * In the page (struct emu_page) there are as many SENDs as the client has to
 * send, then one of the frames that are answered; the answer is one frame:
 *
 *     SEND     to emu     own endpoint 4, other endpoint 4, own LID 1, other
 *                         LID 1, both counted from the first, own queue pair
 *                         4, other's 4, service level 1, 1 if they are reliably
 *                         connected 1, message
 *     WAIT     to emu     deadline 8, in ns of virtual time
 *     RECV     to client  time 8, from endpoint 4, own endpoint 4, other LID 1,
 *                         own LID 1, own queue pair 4, message
 *     TIMEOUT  to client  time 8: the deadline has passed
 *     BULK     to emu     deadline 8, then per burst: own endpoint 4, other
 *                         endpoint 4, own LID 1, other LID 1, own queue pair 4,
 *                         other's 4, bytes 8, service level 1, kind 1: bit 0:
 *                         strictly ordered; 1: messages, which may be one way:
 *                         0 bytes, or 2: nothing comes; 3: a RECV may come
 *                         before the answer, after which a BULK without bursts
 *                         goes on
 *     BULK     to client  time 8, when all ended or the deadline passed; then per
 *                         burst: bits per second that came here 8, 0 if not all
 *                         did; when all was here 8
 *     PORT     to emu     own endpoint 4
 *     PORT     to client  bits per second 8, MTU 4, 1 if writes may be relaxed in
 *                         order 1, packets that were sent again 8
 *     MORE     to emu     there is more to send than the page holds
 *     MORE     to client  send it
 *     PORTS    to emu     write the host's ports
 *     PORTS    to client  the directory of these ports (tests/emu/sysfs.h)
 *
 * A client's clock is the time in the last RECV, TIMEOUT or BULK and stands still
 * until the next one, so computing costs a client no virtual time; it sends at
 * that time. A session ends with its last connection: a client that closes the
 * socket, or dies, has left.
 */
#ifndef PROBE_EMU_PROTO_H
#define PROBE_EMU_PROTO_H

#include <linux/futex.h>
#include <linux/time_types.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    EMU_VERSION = 9,
    EMU_HEADER = 4,
    EMU_RAIL = 23,                      /* bytes, in a WELCOME */
    EMU_SEND_HEADER = 20,
    EMU_RECV_HEADER = 22,
    EMU_DATA_MAX = 256,                 /* bytes of a message */
    EMU_LEVEL_MAX = 15,
    EMU_RAILS_MAX = 16,                 /* endpoints per host */
    EMU_BULK_HEADER = 8,
    EMU_BURST = 28,                     /* bytes, in a BULK */
    EMU_BURST_DONE = 16,                /* ... and in its answer */
    EMU_BURSTS_MAX = 16,
    EMU_PAYLOAD_MAX = EMU_BULK_HEADER + EMU_BURST * EMU_BURSTS_MAX,
    EMU_FRAME_MAX = EMU_HEADER + EMU_PAYLOAD_MAX,
    EMU_CLIENTS_MAX = 16384,            /* per session */
    EMU_OUT_MAX = 7680,                 /* bytes of frames in a page */
    EMU_LOOK_NS = 250000000,            /* see emu_page_sleep */
};

enum emu_burst_kind {
    EMU_STRICT = 1,
    EMU_MESSAGES = 2,
    EMU_DEAF = 4,
    EMU_SERVES = 8,
};

enum emu_frame {
    EMU_HELLO = 1,
    EMU_WELCOME,
    EMU_JOIN,
    EMU_SEND,
    EMU_WAIT,
    EMU_RECV,
    EMU_TIMEOUT,
    EMU_ERROR,
    EMU_PORTS,
    EMU_JOINED,
    EMU_MORE,
    EMU_BULK,
    EMU_PORT,
};

/* The longest other frames, to the emulator and to a client. */
_Static_assert (EMU_SEND_HEADER + EMU_DATA_MAX <= EMU_PAYLOAD_MAX
                    && 4 + EMU_RAIL * EMU_RAILS_MAX <= EMU_PAYLOAD_MAX,
                "all frames have room");

/* The memory that the emulator shares with one client. It belongs to whose turn
 * it is: the client writes `out` and `nout`, then gives the turn to the
 * emulator; that writes `in`, then gives it back. The emulator makes the memory
 * and believes nothing that is in it. Its size cannot be changed.
 *
 * If the emulator sleeps until a client has given it the turn, `rings` is 1;
 * the client then sets it to 0 and writes to its bell, an eventfd.
 */
enum emu_turn { EMU_TURN_CLIENT, EMU_TURN_EMU };

struct emu_page {
    _Atomic uint32_t turn;
    _Atomic uint32_t rings;
    _Atomic uint32_t cpu; /* where the emulator runs: clients are best there */
    _Atomic uint32_t nout;
    uint8_t in[EMU_FRAME_MAX];
    uint8_t out[EMU_OUT_MAX];
};

/* The client sleeps until the emulator wakes it, or for EMU_LOOK_NS at most,
 * since a killed emulator wakes no client. It returns at once if it is not the
 * emulator's turn.
 */
static inline void emu_page_sleep (struct emu_page *page)
{
    struct __kernel_old_timespec look = { .tv_nsec = EMU_LOOK_NS };

    syscall (SYS_futex, &page->turn, FUTEX_WAIT, EMU_TURN_EMU, &look, NULL, 0);
}

static inline void emu_page_wake (struct emu_page *page)
{
    syscall (SYS_futex, &page->turn, FUTEX_WAKE, 1, NULL, NULL, 0);
}

#endif /* PROBE_EMU_PROTO_H */
