/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Transport: carries messages between the endpoints of a job.
 *
 * A plug point. To add one, write transport_<name>.c, declare its table here
 * and list it in step.c.
 *
 * A transport is unreliable: messages may be lost, repeated or late, but not
 * damaged. A rail is one of this host's own endpoints, 0 .. rails-1. A peer is
 * any endpoint of the group that connect () is given, own ones included: a
 * message from a rail to itself goes through its adapter and over no cable, or
 * is lost.
 *
 * A rail may have its own clock, finer than now_ns: that of its device. Stamps
 * are of this clock, in ns; only differences between them are meaningful. The
 * round trip of a message and its answer is
 *
 *     answer's stamp_ns - message's stamp_ns - answer's held_ns
 *
 * One rail serves all LIDs of a port, each with its own path. A timed message
 * names the LIDs that it uses, and its answer returns by the same. All other
 * messages use the first LIDs and flow 0.
 */
#ifndef PROBE_TRANSPORT_H
#define PROBE_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"
#include "util/site.h"

enum {
    TRANSPORT_DATA_MAX = 256,   /* bytes of a message */
    TRANSPORT_ADDRESS_MAX = 48, /* bytes of an address */
    TRANSPORT_RAILS_MAX = 16,
    TRANSPORT_LMC_MAX = 7,
    TRANSPORT_FLOWS_MAX = 64,
};

/* What an endpoint publishes: its port in the fabric, and an address that only
 * its transport understands.
 */
struct transport_address {
    uint64_t guid;  /* of the port */
    uint16_t lid;   /* the first of 2^lmc; 0: none, as on Ethernet */
    uint8_t lmc;
    uint8_t number; /* among its node's ports, from 0 on; ports that cannot be
                       used leave gaps */
    uint8_t len;
    uint8_t data[TRANSPORT_ADDRESS_MAX];
    /* not sent: */
    const char *node; /* its publisher's name */
    uint64_t subnet;  /* its prefix, from data; 0: not known, or Ethernet */
};

/* A way between a rail and a peer: the LIDs it uses, counted from the first,
 * and its flow. Each flow has queue pairs of its own at both ends, so that
 * switches that spread messages may send it over other cables than another
 * flow.
 */
struct transport_way {
    uint8_t own;
    uint8_t other;
    uint8_t flow;
};

struct packet {
    int64_t time_ns;  /* when it arrived, by now_ns */
    int64_t stamp_ns; /* the same by the rail's clock */
    int64_t held_ns;  /* how long its sender held the message that this one
                         answers */
    uint32_t peer;    /* sender */
    uint32_t rail;    /* receiver */
    struct transport_way way; /* by which it came; if the own LID is not known,
                                 the first: the path depends on the other */
    size_t len;
    uint8_t data[TRANSPORT_DATA_MAX];
};

/* Belongs to a message whose round trip is timed. */
struct transport_timing {
    const struct packet *answers; /* NULL: no answer; else it returns by the way
                                     on which that packet came */
    struct transport_way way;     /* if it is no answer */
    int64_t stamp_ns;             /* set by send: when it was sent */
};

/* A burst: bulk data between a rail and a peer, in both directions at once, or
 * from a rail to itself. Or messages as a user's program sends them, so many in
 * either direction: the peer gets as many as it expects, even if they are there
 * before it does.
 */
struct transport_burst {
    uint32_t rail, peer;
    struct transport_way way;
    uint64_t bytes;   /* in each direction; or of each message */
    uint32_t out, in; /* messages; both 0: it is bulk data */
    bool strict;      /* without relaxed ordering */
    /* set: */
    bool lost;        /* not all arrived here in time; or a message did not */
    double bits;      /* per second, of bulk data that arrived here: the best
                         contiguous three quarters; 0 if it was lost */
    int64_t there_ns; /* when the last message was here, by now_ns */
};

/* What a rail's driver says of its port. */
struct transport_port {
    double bits;       /* data rate; 0: not known */
    uint32_t mtu;      /* of bursts, bytes; 0: not known */
    bool relaxed;      /* writes may be relaxed in order */
    uint64_t retries;  /* counted so far by the adapter; UINT64_MAX: not known */
};

/* Messages that arrived and were dropped. */
struct transport_counts {
    uint32_t repeated; /* seen before, or too old to know */
    uint32_t foreign;  /* from no member or another run, or invalid */
};

/* What a handle begins with; others only read it. */
struct transport_handle {
    size_t rails;
    struct transport_address address[TRANSPORT_RAILS_MAX];
    char device[64]; /* the kernel's name of the first rail's device; "": it is
                        not a kernel device */
    bool own_clock;  /* the first rail has one, as far as is known yet */
    bool lost[TRANSPORT_RAILS_MAX]; /* what is sent over this rail is lost; recv
                                       fails if no rail is left */
    struct transport_counts counts;

    /* after connect; all members have the same but for the last */
    int64_t gap_ns;  /* a round trip takes less than this, unless something is
                        wrong: the unit of rounds and time-outs */
    size_t turns;    /* at least 1, in which the members should ping in a round,
                        because some share a core */
    size_t mine;     /* this member's turn, from 0 on */
};

typedef int (*transport_take_f) (void *arg, const struct packet *packet,
                                 struct error *err);

/* Functions with err return 0, or -1 with err, unless they say otherwise. The
 * handle is their t. Those marked so may be NULL.
 */
struct transport {
    const char *name;

    /* Open this host's endpoints as the site configures them; `talks` if it is
     * for messages of users, which go to any peer. NULL with err.
     */
    void *(*open) (const struct site *site, const char *host, bool talks,
                   struct error *err);
    void (*close) (void *t);

    /* The prefix of an address's subnet; 0: not known, or Ethernet. May be
     * NULL: none is known.
     */
    uint64_t (*subnet) (const struct transport_address *a);

    /* Check that messages can go from one address to another; err names the
     * second one's device. May be NULL.
     */
    int (*agree) (const struct transport_address *a,
                  const struct transport_address *b, struct error *err);

    /* Join a group: n peers on `members` hosts, and the group's secret key. */
    int (*connect) (void *t, uint64_t key,
                    const struct transport_address *peer, size_t n,
                    size_t members, struct error *err);

    /* Prepare for timed messages to a peer by a way; the peer's transport must
     * do the same for this rail. Return 1; 0 if this is still in progress: call
     * again; or -1 with err. May be NULL.
     */
    int (*prepare) (void *t, uint32_t rail, uint32_t peer,
                    struct transport_way way, struct error *err);

    /* Send timed messages on this service level from now on; earlier
     * preparations are void. May be NULL: there are no levels.
     */
    void (*set_level) (void *t, unsigned int level);

    /* From now on, wait for messages actively on a core of this process's own,
     * or asleep. Return whether it is the former. May be NULL: there is no
     * difference.
     */
    bool (*attend) (void *t, bool on);

    /* Send a message, now or with the next recv. timing is NULL for a message
     * that is not timed.
     */
    int (*send) (void *t, uint32_t rail, uint32_t peer, const uint8_t *data,
                 size_t len, struct transport_timing *timing,
                 struct error *err);

    /* Wait for a message until the deadline. Return 1, 0 at the deadline, or -1
     * with err if the transport has failed.
     */
    int (*recv) (void *t, int64_t deadline_ns, struct packet *packet,
                 struct error *err);

    /* Prepare for bursts, as for timed messages, but that -1 is of this flow or
     * its rail alone; then run some at once, TRANSPORT_RAILS_MAX at most, one
     * of each rail and peer, until all have ended, or the deadline. Messages
     * that come meanwhile are given to `take`, which returns 0, or -1 with err,
     * and may send; NULL: none is received. Prepare again before each burst:
     * only the last few flows of a rail are kept, and none after a burst that
     * was lost. Both may be NULL, together with bulk_port: there are no bursts.
     * For messages of users, those between first LIDs are kept for all peers.
     */
    int (*bulk_prepare) (void *t, uint32_t rail, uint32_t peer,
                         struct transport_way way, bool strict,
                         struct error *err);
    int (*bulk) (void *t, struct transport_burst *burst, size_t n,
                 int64_t deadline_ns, transport_take_f take, void *arg,
                 struct error *err);
    void (*bulk_port) (void *t, uint32_t rail, struct transport_port *port);

    /* The transport's clock. */
    int64_t (*now_ns) (const void *t);

    /* After connect: the directory that shows the present state of this host's
     * ports, instead of LOCAL_SYSFS; NULL: there is none. May be NULL.
     */
    const char *(*sysfs) (void *t);

    /* One sentence about what was lost here and why, about a rail rather than a
     * way; NULL: nothing went wrong. May be NULL.
     */
    const char *(*trouble) (const void *t);
};

extern const struct transport transport_emu;
extern const struct transport transport_verbs;

/* A time of so many gaps, but at most ns, or two gaps if that is more. */
static inline int64_t transport_gaps (const struct transport_handle *h,
                                      int64_t gaps, int64_t ns)
{
    int64_t most = ns < 2 * h->gap_ns ? 2 * h->gap_ns : ns;

    return gaps * h->gap_ns < most ? gaps * h->gap_ns : most;
}

#endif /* PROBE_TRANSPORT_H */
