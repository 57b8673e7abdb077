/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The management agents of a fabric, in this process: they answer a reader's
 * MADs out of a struct fabric, and out of what a test says of its nodes and
 * ports. For the half-broken states that no simulator shows.
 *
 * Answered: NodeInfo, NodeDescription, SwitchInfo, PortInfo, LinearForwarding-
 * Table, SMInfo, SLtoVLMappingTable and, of the vendor's, AdaptiveRoutingInfo
 * with the table of groups and the groups, PrivateLFTInfo and PortSLToPrivate-
 * LFTMap as SMPs, by directed route or by LID, and PortInfoExtended's FEC mode,
 * where a node has it; ClassPortInfo, PortCounters and PortCountersExtended as
 * GMPs by LID. A route is followed port by port and leads only over ports that
 * are at least Init; a LID by the switches' tables, over ports that are Active.
 *
 * Not simulated: Set () and traps, virtual lanes, partitions, tables other
 * than the linear one, the ports of an adapter with a virtual switch. Time is
 * computed: an answer takes 10 to 50 us, in which others overtake it, and what
 * is lost is reported when its time is over.
 *
 * Everything in struct agents_node and struct agents_port may be changed at
 * any time, and so may the fabric's tables, LIDs and descriptions.
 */
#ifndef IBQUERY_TEST_AGENTS_H
#define IBQUERY_TEST_AGENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "ibquery/fabric.h"
#include "ibquery/read/mads.h"
#include "util/rng.h"

enum {
    AGENTS_SL_TO_VL = 0x17,
    AGENTS_PRIVATE_INFO = 0xff10,
    AGENTS_PRIVATE_MAP = 0xff14,
    AGENTS_AR_INFO = 0xff20,
    AGENTS_AR_GROUPS = 0xff21,
    AGENTS_AR_LFT = 0xff23,
};

/* Of PortCounters and PortCountersExtended, which see the same ones; the
 * former stop at their largest value.
 */
enum agents_counter {
    COUNT_SYMBOL_ERRORS,
    COUNT_LINK_RECOVERIES,
    COUNT_LINK_DOWNED,
    COUNT_RECEIVE_ERRORS,
    COUNT_REMOTE_ERRORS,
    COUNT_RELAY_ERRORS,
    COUNT_XMIT_DISCARDS,
    COUNT_XMIT_CONSTRAINT,
    COUNT_RECEIVE_CONSTRAINT,
    COUNT_LOCAL_INTEGRITY,
    COUNT_OVERRUNS,
    COUNT_VL15_DROPPED,
    COUNT_XMIT_WORDS,
    COUNT_RECEIVE_WORDS,
    COUNT_XMIT_PACKETS,
    COUNT_RECEIVE_PACKETS,
    COUNT_XMIT_WAIT,
    AGENTS_COUNTERS,
};

/* A width or a speed in PortInfo's codes. */
struct agents_rate {
    uint8_t supported, enabled, active;
};

struct agents_port {
    uint8_t state, phys; /* as smp.h calls them: the fabric's, or Active and
                            LinkUp where it has a cable, Down and Polling
                            where not */
    struct agents_rate width, speed, extended; /* as the cable's */
    bool fdr10;          /* the vendor's ExtendedPortInfo says so */
    uint16_t fec;        /* FECModeActive */
    uint32_t lrtl;       /* LinkRoundTripLatency: the fabric's */
    uint8_t vls;         /* OperationalVLs: 0, reserved */
    uint16_t drops;      /* levels that each SL-to-VL table of it maps to VL 15:
                            the fabric's */
    uint64_t count[AGENTS_COUNTERS];
};

struct agents_node {
    uint64_t guid;       /* that it tells; two may tell the same */
    uint64_t system_guid; /* SystemImageGUID: the fabric's, or its GUID */
    uint64_t mkey;       /* that every SMP must bring; 0: none */
    unsigned int loss;   /* per cent of the MADs to it that are lost */
    unsigned int busy;   /* so many are answered "busy" first */
    uint16_t lft_top;    /* switch: LinearFDBTop */
    bool changed;        /* switch: PortStateChange */
    struct {
        bool known, enabled, by_sl, recovery, hash;
        uint16_t group_cap, sl_mask, hash_mask;
        uint8_t off;     /* transports, as bits: 1 UD, 2 RC */
        uint8_t masks;   /* of a group, one less */
    } ar;                /* switch: AdaptiveRoutingInfo; the fabric's */
    struct {
        uint8_t mode;    /* 0: off */
        uint8_t table[16]; /* by service level, of every port */
    } private;           /* switch: the first table, or the second on level 1 */
    bool extended_info;  /* it has PortInfoExtended; not so */
    bool no_lrtl;        /* LinkRoundTripLatency is not valid; it is */
    struct {
        uint16_t caps;   /* PerfMgt's capability masks: all of it */
        uint32_t caps2;
    } perf;
    struct {
        uint8_t state;   /* 0: runs no SM */
        uint8_t priority;
        uint32_t act_count;
    } sm;                /* adapter: SMInfo, asked at its first port */
};

/* One MAD that has arrived. */
struct agents_request {
    uint64_t number;     /* of all that were sent: 1, 2, .. */
    uint32_t node;       /* who is asked, of the fabric */
    unsigned int port;   /* where it came in */
    uint8_t class;       /* SMPs: MADS_DIRECTED, by LID as well */
    uint16_t attribute;
    uint32_t modifier;
};

struct agents {
    const struct fabric *f;
    uint32_t port;       /* the adapter's port that asks */
    uint32_t from;       /* or the switch that asks; FABRIC_NONE */
    unsigned int loss;   /* per cent of all MADs that are lost */
    struct rng rng;
    struct agents_node *node; /* [f->nnodes] */
    struct agents_port *p;    /* [f->nports] */
    uint64_t sent;       /* MADs so far */
    int64_t now_us;
    struct agents_count {
        uint8_t class;
        uint16_t attribute;
        uint64_t n;
    } *count;            /* [ncounts] of those that arrived */
    size_t ncounts;

    /* Before a MAD is answered (here the world may change), and after: here
     * the answer may. False: it is lost. NULL: nothing.
     */
    bool (*before) (struct agents *a, const struct agents_request *r,
                    void *arg);
    bool (*after) (struct agents *a, const struct agents_request *r,
                   uint8_t answer[MADS_SIZE], void *arg);
    void *arg;

    struct agents_flight {
        struct mads_packet packet;
        int64_t at_us;
    } *flight;           /* [nflights] answers on their way */
    size_t nflights;
};

/* The fabric, which stays the caller's, is asked from the first port of host
 * `from` (NULL: the first host's); the SM is there as well. NULL where there is
 * no memory or no such host. `seed` is for what is lost.
 */
struct agents *agents_create (const struct fabric *f, const char *from,
                              uint64_t seed);
void agents_destroy (struct agents *a);

/* From now on it is another fabric that has the asking port's GUID: what is
 * known of nodes and ports is as new, but M_Keys, losses and the SM are kept
 * for the GUIDs that were there. A switch tells PortStateChange where its
 * cables are not what they were, and the SM has been at work. Return 0, or -1.
 */
int agents_become (struct agents *a, const struct fabric *f);

/* Answer one MAD; lid is where it is sent, where it has no directed route.
 * Returns whether there is an answer.
 */
bool agents_answer (struct agents *a, uint16_t lid,
                    const uint8_t request[MADS_SIZE],
                    uint8_t answer[MADS_SIZE]);

/* The wire to them, with their clock. One at a time; closing it leaves the
 * agents alive.
 */
struct mads_wire agents_wire (struct agents *a);

/* The port that fabric_find_port finds. NULL where there is none. */
struct agents_port *agents_port (struct agents *a, const char *name);

/* The node of a switch's or adapter's description (or of a host's name). */
struct agents_node *agents_node (struct agents *a, const char *name);

/* How many have arrived for this attribute. */
uint64_t agents_count (const struct agents *a, enum mads_class class,
                       uint16_t attribute);

#endif /* IBQUERY_TEST_AGENTS_H */
