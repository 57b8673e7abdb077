/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A rail: one port with its queues. One UD queue pair carries everything, or
 * where the service is RC, everything but the timed messages, for which there
 * is a queue pair per peer.
 *
 * A way to a peer that cannot be made (no route, no neighbour) loses what is
 * sent there; the first such failure is remembered as the rail's trouble.
 */
#ifndef PROBE_VERBS_RAIL_H
#define PROBE_VERBS_RAIL_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probe/transport.h"
#include "probe/verbs_device.h"
#include "probe/verbs_qp.h"
#include "probe/verbs_wire.h"
#include "util/error.h"
#include "util/site.h"

/* What the rails of a process have in common. */
struct verbs_run {
    uint64_t key; /* nonce of all datagrams */
    uint32_t qkey;
    size_t npeers;
    struct verbs_address *at;    /* [npeers] */
    struct verbs_window *window; /* [npeers] of datagrams to any own rail */
    int64_t gap_ns;
    size_t size_max; /* of a message with its pad; 0: there are no pads */
    struct transport_counts counts;
};

struct verbs_way { /* from a rail to a peer */
    struct transport_way by;
    struct ibv_ah *ah;   /* NULL: not made yet, or failed */
    struct ibv_ah *timed; /* on the pings' service level, where it is another
                             than the site's; as ah */
    struct verbs_qp *rc; /* NULL: none */
    int64_t due_ns;      /* to make the AH, or to ask for the RC queue pair
                            at the other end; not before */
    struct verbs_way *next; /* by other LIDs */
};

struct verbs_rail {
    struct verbs_run *run; /* borrowed, from verbs_rail_start on */
    struct verbs_device device;
    struct verbs_address at;
    struct transport_address address;
    struct ibv_comp_channel *channel;
    struct verbs_cq sends, receives;
    struct verbs_qp ud;
    struct verbs_way **way; /* [npeers] lists */
    uint32_t nrc, rc_max;  /* RC queue pairs */
    uint32_t self;         /* peer */
    uint8_t sl;            /* of timed messages */
    uint32_t sequence;     /* of the last datagram */
    bool armed;            /* the channel will tell of the next receive, */
    bool told;             /* ... or has, and its word is to be taken */
    bool trusted;          /* the device's stamps are known to be sound */
    bool lost;             /* failed: what is sent by it is lost */
    struct error trouble;  /* its text is "": none */
};

/* Open a port, the first of its process or another, for messages with pads or
 * without, and fill in its address. Return 0, or -1 with err; verbs_rail_close
 * is due in both cases.
 */
int verbs_rail_open (struct verbs_rail *rail,
                     const struct verbs_port_name *name, bool first,
                     bool pads, const struct site *site, struct error *err);
void verbs_rail_close (struct verbs_rail *rail);

/* Begin to send and receive. Return 0, or -1 with err. */
int verbs_rail_start (struct verbs_rail *rail, struct verbs_run *run,
                      uint32_t self, struct error *err);

/* Send a datagram by UD, or by the RC queue pair. Where there is no way it is
 * lost. Where there are pads, what is not timed waits for room in the queue,
 * no longer than a gap. Return 0, or -1 with err.
 */
int verbs_rail_send (struct verbs_rail *rail, uint32_t peer,
                     enum verbs_type type, const uint8_t *data, size_t len,
                     size_t pad, struct transport_timing *timing,
                     struct error *err);

/* Take one datagram, if there is any. Return 1 with packet filled in, 0 where
 * there was none or none for the caller, or -1 with err. *came says whether
 * anything came at all.
 */
int verbs_rail_take (struct verbs_rail *rail, struct packet *packet, bool *came,
                     struct error *err);

/* Make ready for timed messages. Return 1, or 0 where the peer has not
 * answered yet, or -1 with err.
 */
int verbs_rail_prepare (struct verbs_rail *rail, uint32_t peer,
                        struct transport_way by, struct error *err);

#endif /* PROBE_VERBS_RAIL_H */
