/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A rail: one port with its queues. One UD queue pair carries everything. If
 * the service is RC, timed messages have a queue pair per peer and LIDs
 * instead.
 *
 * If a way to a peer cannot be made (no route, no neighbour), messages sent
 * there are lost; the first such failure is kept as the rail's trouble.
 */
#ifndef PROBE_VERBS_RAIL_H
#define PROBE_VERBS_RAIL_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probe/transport.h"
#include "probe/verbs_device.h"
#include "probe/verbs_wire.h"
#include "util/error.h"
#include "util/site.h"

/* Shared by the rails of a process. */
struct verbs_run {
    struct transport_handle *handle;
    uint64_t key; /* nonce of all datagrams */
    uint32_t qkey;
    size_t npeers;
    struct verbs_address *at;    /* [npeers] */
    struct verbs_window *window; /* [npeers] of datagrams to any own rail */
};

struct verbs_rail {
    struct verbs_run *run; /* borrowed, from verbs_rail_start on */
    struct verbs_device device;
    struct verbs_address at;
    struct transport_address address;
    struct ibv_comp_channel *channel;
    struct ibv_cq *sends, *receives;
    struct ibv_cq_ex *stamped; /* the same as receives; NULL: not extended */
    struct verbs_qp *ud;
    struct verbs_way **way; /* [npeers] lists */
    uint32_t nrc, rc_max;  /* RC queue pairs */
    uint32_t self;         /* peer */
    uint8_t sl;            /* of timed messages */
    uint32_t sequence;     /* of the last datagram */
    bool armed;            /* the channel will notify of the next receive */
    bool told;             /* it has; its event must be read */
    bool trusted;          /* the device's stamps are plausible */
    bool lost;             /* failed: its messages are lost */
    struct error trouble;  /* text "": none */
};

/* Open a port, the first of its process or not, for messages with or without
 * pads, and fill in its address. Return 0, or -1 with err; call
 * verbs_rail_close in both cases.
 */
int verbs_rail_open (struct verbs_rail *rail,
                     const struct verbs_port_name *name, bool first,
                     bool pads, const struct site *site, struct error *err);
void verbs_rail_close (struct verbs_rail *rail);

/* Start sending and receiving. Return 0, or -1 with err. */
int verbs_rail_start (struct verbs_rail *rail, struct verbs_run *run,
                      uint32_t self, struct error *err);

/* Send a datagram by UD, or by the RC queue pair. If there is no way, it is
 * lost. If there are pads, an untimed message waits for room in the queue, at
 * most one gap. Return 0, or -1 with err.
 */
int verbs_rail_send (struct verbs_rail *rail, uint32_t peer,
                     enum verbs_type type, const uint8_t *data, size_t len,
                     size_t pad, struct transport_timing *timing,
                     struct error *err);

/* Take one datagram, if there is any. Return 1 with packet filled in, 0 if
 * there was none or none for the caller, or -1 with err. *came is set if
 * anything came at all.
 */
int verbs_rail_take (struct verbs_rail *rail, struct packet *packet, bool *came,
                     struct error *err);

/* Prepare for timed messages. Return 1, 0 if the peer has not answered yet, or
 * -1 with err.
 */
int verbs_rail_prepare (struct verbs_rail *rail, uint32_t peer,
                        struct transport_way by, struct error *err);

#endif /* PROBE_VERBS_RAIL_H */
