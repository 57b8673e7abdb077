/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The bytes that go over verbs, and the checks on what arrives. Nothing here
 * needs a device.
 *
 * An address, little-endian: version 1, flags 1, P_Key 2, QP 3, cores 1, gap in
 * us 4, machine 4, GID 16, and the port's name for people, up to 16.
 *
 * A datagram: the run's nonce 8, sending peer 4, sequence number 4, time held
 * in ns 4, type 1, zero 3, then data. Over UD, room for a GRH precedes it.
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
    VERBS_SL_MAX = 15,
    VERBS_BULK_PAIRS = 4,     /* queue pairs of a flow, at most */
    VERBS_BULK_SIZE_LOG = 16, /* the least size of a message */
    VERBS_BULK_SIZE = 44,
};

/* An endpoint, as published to the others. */
struct verbs_address {
    bool ethernet;    /* RoCE, reached by GID; else InfiniBand, by LID */
    bool roce_v1;
    bool global;      /* InfiniBand: by LID and GID; Ethernet: always */
    bool rc;          /* pings by RC; else by UD, like the rest */
    bool first;       /* of its process */
    const char *node; /* node and LIDs are not in the bytes: */
    uint16_t lid;     /* transport_address has them */
    uint8_t lmc;
    uint16_t pkey;
    uint32_t qpn;     /* of the UD queue pair */
    uint32_t gap_us;  /* that it needs, see transport.h */
    uint32_t machine; /* the same for processes that share cores */
    uint8_t cores;    /* their number; 255: more than 254 */
    uint8_t gid[VERBS_GID];
    char name[VERBS_NAME_MAX + 1];
};

/* Fill in data, len, lid and lmc of `to`, not the GUID. unpack returns false if
 * the bytes are invalid.
 */
void verbs_address_pack (const struct verbs_address *a,
                         struct transport_address *to);
bool verbs_address_unpack (struct verbs_address *a,
                           const struct transport_address *from);

/* As transport.subnet. */
uint64_t verbs_subnet (const struct transport_address *a);

/* Check that two endpoints can communicate: same kind of network, service and
 * GID, same subnet, matching P_Keys. Return 0, or -1 with err, which names the
 * second.
 */
int verbs_agree (const struct transport_address *a,
                 const struct transport_address *b, struct error *err);

/* If processes share a machine that has fewer cores, those that ping at the
 * same time would disturb each other: they take turns.
 */
struct verbs_share {
    size_t processes; /* on the machine of `self` */
    size_t before;    /* of these, before this one */
    size_t turns;     /* per round, the same for the run; at least 1 */
    size_t mine;      /* from 0 on */
};

/* Find this for `self`, one of n endpoints, the first of its process. */
void verbs_find_share (const struct verbs_address *at, size_t n, size_t self,
                       struct verbs_share *share);

enum verbs_type {
    VERBS_DATA = 1, /* from the transport's user */
    VERBS_WIRE,     /* "my queue pair for your flow is ...": number 4, flags 1,
                       its service level 1, my LID 1, your LID 1 */
    VERBS_BULK,     /* my end of a flow of bursts: verbs_bulk_info */
};
enum verbs_wire_flag {
    VERBS_WIRE_READY = 1, /* it knows, or is connected to, yours */
    VERBS_WIRE_ASKS = 2,  /* please answer */
    VERBS_WIRE_FLOW = 4,  /* times the flow */
};

struct verbs_header {
    uint32_t from; /* peer */
    uint32_t sequence;
    uint32_t held_ns;
    enum verbs_type type;
};

/* unpack returns false if this is no datagram of the run: another nonce, too
 * short, too long, an unknown type, or no peer below npeers.
 */
void verbs_header_pack (uint8_t buf[VERBS_HEADER], uint64_t nonce,
                        const struct verbs_header *h);
bool verbs_header_unpack (struct verbs_header *h, const uint8_t *buf,
                          size_t len, uint64_t nonce, size_t npeers);

/* One end of a flow of bursts (probe/verbs_bulk), as its peer is told: a set of
 * queue pairs, to be connected to those of the peer. Both use the lesser MTU,
 * size and number.
 */
struct verbs_bulk_info {
    uint32_t made;    /* number of the set: the sender has no other such */
    uint32_t knows;   /* the peer's set that it is connected to; 0: none */
    bool asks;        /* please answer */
    bool strict;      /* writes in order */
    struct transport_way way; /* as seen by the sender */
    uint8_t sl;
    uint8_t mtu;      /* as in ibv_mtu */
    uint8_t size_log; /* bytes of a message: 1 << size_log */
    uint8_t qps;      /* queue pairs; the i-th writes to the address and i times
                         the size */
    uint32_t qpn[VERBS_BULK_PAIRS];
    uint32_t rkey;
    uint64_t address;
};

/* unpack returns false if a field has no such value. */
void verbs_bulk_pack (uint8_t buf[VERBS_BULK_SIZE],
                      const struct verbs_bulk_info *info);
bool verbs_bulk_unpack (struct verbs_bulk_info *info, const uint8_t *buf,
                        size_t len);

/* How two ends meet, although messages get lost or are late: each makes sets of
 * queue pairs, and a set is connected once.
 */
struct verbs_meet {
    uint32_t made;  /* own set; 0: none */
    uint32_t other; /* the peer's that it is connected to; 0: none */
    bool ready;     /* that is connected to it, too */
};

/* Whether an own set is connected to an earlier one of a peer that now has
 * this: make another. And whether to connect it to a peer's set that is
 * connected to `knows`.
 */
bool verbs_meet_is_past (const struct verbs_meet *m, uint32_t made);
bool verbs_meet_may_connect (const struct verbs_meet *m, uint32_t knows);

/* Note what the peer has said, after this. */
void verbs_meet_hear (struct verbs_meet *m, uint32_t made, uint32_t knows);

/* The last 64 sequence numbers of one sender, from 1 on; zeros to begin with.
 * Return true for a new number; false for one that was seen, or is older than
 * the window.
 */
struct verbs_window {
    uint32_t last;
    uint64_t seen; /* bit i: last - i */
};
bool verbs_window_take (struct verbs_window *w, uint32_t sequence);

/* Whether the GRH bytes, as a device has filled them in over Ethernet, say that
 * the sender has this GID: if the GID is an IPv4 address, an IPv4 header in the
 * second half, else an IPv6 header.
 */
bool verbs_grh_is_from (const uint8_t grh[VERBS_GRH],
                        const uint8_t gid[VERBS_GID]);

/* The origin of a UD datagram as the device reports it, and whether it is one
 * of a given endpoint's queue pairs: by its number, and by GID if there is a
 * GRH, else by LIDs. On Ethernet, a device that does not report a GRH is
 * trusted.
 */
struct verbs_origin {
    uint32_t qpn;
    uint16_t lid;
    const uint8_t *grh; /* NULL: not reported */
};
bool verbs_is_from (const struct verbs_origin *origin,
                    const struct verbs_address *at, uint32_t qpn);

/* Whether ports with these P_Keys can communicate: the same partition, and not
 * both limited members. And whether a port's P_Key is better than the best so
 * far (0: none): of the wanted partition (0: any), and rather a full member.
 */
bool verbs_pkeys_match (uint16_t a, uint16_t b);
bool verbs_pkey_is_better (uint16_t pkey, uint16_t best, uint16_t wanted);

/* Of several GIDs on Ethernet, the first with the greatest worth is used: RoCE
 * v2 before v1; IPv4 before global before link-local. Not negative.
 */
int verbs_gid_worth (const uint8_t gid[VERBS_GID], bool v1);

/* The code of an RC queue pair's retransmission time-out, from the InfiniBand
 * specification: 4.096 us times a power of two, the smallest that exceeds ns;
 * at most 31.
 */
uint8_t verbs_timeout_code (int64_t ns);

/* Convert ticks of a clock with this frequency to ns. */
int64_t verbs_ticks_ns (uint64_t ticks, uint64_t khz);

/* Whether a stamp that was just read is from the clock that shows now_ns: in
 * the recent past.
 */
bool verbs_stamp_is_sound (int64_t stamp_ns, int64_t now_ns);

#endif /* PROBE_VERBS_WIRE_H */
