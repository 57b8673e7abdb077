/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frames between a client (transport_emu) and pmm-emu, over a Unix stream
 * socket.
 *
 * A frame is the length of its payload (2 bytes), its type (1), a zero (1),
 * then the payload; integers are little-endian (probe/wire.h).
 *
 *     HELLO    to emu     version 4, host name        the first frame
 *     WELCOME  to client  count 4, then per rail of the host:
 *                         endpoint 4, port GUID 8, LID 2, LMC 1, subnet 8
 *     JOIN     to emu     session key 8, clients of the session 4
 *     SEND     to emu     own endpoint 4, other endpoint 4, own LID 1, other
 *                         LID 1, both counted from the first, pad 4, own queue
 *                         pair 4, other's 4, service level 1, 1 if they are
 *                         reliably connected 1, message
 *     WAIT     to emu     deadline 8, in ns of virtual time
 *     RECV     to client  time 8, from endpoint 4, own endpoint 4, other LID 1,
 *                         own LID 1, own queue pair 4, message
 *     TIMEOUT  to client  time 8: the deadline has passed
 *     PORTS    to emu     (after JOIN) write the host's ports
 *     PORTS    to client  the directory of these ports (tests/emu/sysfs.h)
 *     ERROR    to client  a sentence; the emulator then closes
 *
 * After JOIN every WAIT is answered by one RECV or TIMEOUT. A client's clock is
 * the time in that answer and stands still until the next one, so computing
 * costs a client no virtual time; it sends at that time. A session ends with
 * its last connection.
 *
 * A pad is a number of bytes that follow the message on the wire only: they are
 * not delivered.
 */
#ifndef PROBE_EMU_PROTO_H
#define PROBE_EMU_PROTO_H

enum {
    EMU_VERSION = 6,
    EMU_HEADER = 4,
    EMU_RAIL = 23,                      /* bytes, in a WELCOME */
    EMU_SEND_HEADER = 24,
    EMU_RECV_HEADER = 22,
    EMU_DATA_MAX = 256,                 /* bytes of a message */
    EMU_SIZE_MAX = 4096,                /* bytes with its pad: the MTU */
    EMU_PAYLOAD_MAX = EMU_SEND_HEADER + EMU_DATA_MAX,
    EMU_FRAME_MAX = EMU_HEADER + EMU_PAYLOAD_MAX,
    EMU_LEVEL_MAX = 15,
    EMU_RAILS_MAX = 16,                 /* endpoints per host */
    EMU_CLIENTS_MAX = 16384,            /* per session */
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
};

#endif /* PROBE_EMU_PROTO_H */
