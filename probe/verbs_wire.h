/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What goes over verbs, as bytes, and what is to be believed of it. Nothing
 * here needs a device.
 *
 * An address, little-endian: version 1, flags 1, P_Key 2, QP 3, cores 1, gap in
 * us 4, machine 4, GID 16, and the port's name for people, up to 16.
 *
 * A datagram: the run's nonce 8, sending peer 4, sequence number 4, time held
 * in ns 4, type 1, zero 1, bytes of the pad 2, then data, then the pad. Over UD
 * the room of a GRH is before it.
 */
#ifndef PROBE_VERBS_WIRE_H
#define PROBE_VERBS_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probe/transport.h"
#include "util/error.h"

enum {
    VERBS_HEADER = 24,
    VERBS_GRH = 40,
    VERBS_GID = 16,
    VERBS_NAME_MAX = 16, /* "mlx5_0/1" */
    VERBS_SLOT = VERBS_GRH + VERBS_HEADER + TRANSPORT_DATA_MAX,
};

/* An endpoint, as the others need to know it. */
struct verbs_address {
    bool ethernet;    /* RoCE, reached by GID; else InfiniBand, by LID */
    bool roce_v1;
    bool global;      /* InfiniBand: by LID and GID; Ethernet: always */
    bool rc;          /* pings by RC; else by UD, as everything else */
    bool first;       /* of its process */
    uint8_t mtu;      /* as ibv_mtu has it: 128 << mtu bytes; 0: no pads */
    const char *node; /* not in the bytes, as are the LIDs: */
    uint16_t lid;     /* ... transport_address has them */
    uint8_t lmc;
    uint16_t pkey;
    uint32_t qpn;     /* of the UD queue pair */
    uint32_t gap_us;  /* it wants, as in transport.h */
    uint32_t machine; /* the same for processes that share its cores, */
    uint8_t cores;    /* ... which are so many, or more than 254 */
    uint8_t gid[VERBS_GID];
    char name[VERBS_NAME_MAX + 1];
};

/* Fill to->data, len, lid and lmc, not the GUID. */
void verbs_address_pack (const struct verbs_address *a,
                         struct transport_address *to);

/* False where the bytes make no sense. */
bool verbs_address_unpack (struct verbs_address *a,
                           const struct transport_address *from);

/* Whether two endpoints can speak: same kind of network, service and GID, the
 * same subnet, P_Keys that match. Return 0, or -1 with err, which names the
 * second.
 */
int verbs_agree (const struct transport_address *a,
                 const struct transport_address *b, struct error *err);

/* Where processes share a machine that has fewer cores, those that ping at
 * the same time would disturb one another: they take turns.
 */
struct verbs_share {
    size_t processes; /* on the machine of `self` */
    size_t before;    /* ... those that come before its own */
    size_t turns;     /* of a round, for all of the run; at least 1 */
    size_t mine;      /* from 0 on */
};

/* Find that out for one of n endpoints, the first of a process. */
void verbs_find_share (const struct verbs_address *at, size_t n, size_t self,
                       struct verbs_share *share);

enum verbs_type {
    VERBS_DATA = 1, /* of the user of the transport */
    VERBS_WIRE,     /* "my RC queue pair for you is ...": number 4, what
                       else is to be said 1, its service level 1, by which LID
                       of mine 1, of yours 1 */
};
enum verbs_wire_flag {
    VERBS_WIRE_READY = 1, /* it is connected to yours */
    VERBS_WIRE_ASKS = 2,  /* answer me */
};

struct verbs_header {
    uint32_t from; /* peer */
    uint32_t sequence;
    uint32_t held_ns;
    enum verbs_type type;
    uint16_t pad;
};

void verbs_header_pack (uint8_t buf[VERBS_HEADER], uint64_t nonce,
                        const struct verbs_header *h);

/* False for what is no datagram of the run: another nonce, too short or long
 * for its pad, no type that is known, no peer below npeers.
 */
bool verbs_header_unpack (struct verbs_header *h, const uint8_t *buf,
                          size_t len, uint64_t nonce, size_t npeers);

/* Sequence numbers of one sender, from 1 on: those seen of the last 64. A
 * window begins as zeros. True for a number that is new; false for one that
 * was there, or is from before the window.
 */
struct verbs_window {
    uint32_t last;
    uint64_t seen; /* bit i: last - i */
};
bool verbs_window_take (struct verbs_window *w, uint32_t sequence);

/* Whether the room of the GRH, as a device has filled it over Ethernet, says
 * that the sender has this GID: an IPv4 header in its second half where the
 * GID is an IPv4 address, else an IPv6 one.
 */
bool verbs_grh_is_from (const uint8_t grh[VERBS_GRH],
                        const uint8_t gid[VERBS_GID]);

/* From where a UD datagram came, as a device tells, and whether that is an
 * endpoint: by queue pair, and by GID where it has sent a GRH, else by LIDs. On
 * Ethernet a device that does not say that it shows the GRH is believed.
 */
struct verbs_origin {
    uint32_t qpn;
    uint16_t lid;
    const uint8_t *grh; /* NULL: it shows none */
};
bool verbs_is_from (const struct verbs_origin *origin,
                    const struct verbs_address *at);

/* Whether ports with these P_Keys may speak: the same partition, and not as
 * limited members both.
 */
bool verbs_pkeys_match (uint16_t a, uint16_t b);

/* Whether a port's P_Key is a better one to use than the best so far (0: there
 * is none): of the partition that is wanted (0: of any), and a full member
 * rather than a limited one, as two limited ones cannot communicate.
 */
bool verbs_pkey_is_better (uint16_t pkey, uint16_t best, uint16_t wanted);

/* A port's GIDs. */
struct verbs_gid {
    unsigned int index;
    bool v1;
    uint8_t gid[VERBS_GID];
};

/* The GID to use on Ethernet, the best of n: RoCE v2 before v1; of an IPv4
 * address before a global one before a link-local one. Returns its place, or
 * -1 for n == 0.
 */
int verbs_choose_gid (const struct verbs_gid *gid, size_t n);

/* The code of an RC queue pair's time-out, after which it sends again what was
 * not acknowledged: of the InfiniBand specification, 4.096 us times a power of
 * two, the least that is longer than ns; at most 31.
 */
uint8_t verbs_timeout_code (int64_t ns);

/* Ticks of a clock of so many kHz as ns. */
int64_t verbs_ticks_ns (uint64_t ticks, uint64_t khz);

/* Whether a stamp that was just seen is of the clock that says now: of the
 * recent past.
 */
bool verbs_stamp_is_sound (int64_t stamp_ns, int64_t now_ns);

#endif /* PROBE_VERBS_WIRE_H */
