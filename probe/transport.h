/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Transport: what carries messages between the endpoints of a job.
 *
 * A plug point. To add one, write transport_<name>.c, declare its table here
 * and list it in transport.c. All but `open` and `agree` get what open
 * returned; those marked so may be NULL, where there is nothing to do.
 *
 * A transport is unreliable: messages may be lost, repeated or late, not
 * damaged. A rail is one of this host's own endpoints, 0 .. rails-1; a peer is
 * any endpoint of the group that connect () is given, own ones included: what a
 * rail sends to itself goes through its adapter and over no cable, or is lost.
 *
 * A rail may have a clock of its own, a finer one than now_ns: that of its
 * device. Stamps are of this clock, in ns, and only their differences mean
 * anything. The round trip of a message and its answer is
 *
 *     answer's stamp_ns - message's stamp_ns - answer's held_ns
 *
 * A port may have several LIDs, to each of which the path is another. One rail
 * serves all of them; a timed message says by which it goes, and its answer
 * goes back by the same. All other messages go by the first.
 *
 * A message may have a pad after it: bytes that keep the wire busy, as those of
 * a user's message do, and that are not delivered.
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
};

/* What an endpoint publishes: its port in the fabric, and where messages reach
 * it, which only its transport understands.
 */
struct transport_address {
    uint64_t guid; /* of the port */
    uint16_t lid;  /* the first of 2^lmc; 0: it has none, as on Ethernet */
    uint8_t lmc;
    uint8_t number; /* among its node's, from 0 on; those that cannot be used
                       are missing */
    uint8_t len;
    uint8_t data[TRANSPORT_ADDRESS_MAX];
    const char *node; /* whose name it is published under; not part of it */
};

/* A way between a rail and a peer: by which LIDs of theirs, counted from the
 * first.
 */
struct transport_way {
    uint8_t own;
    uint8_t other;
};

struct packet {
    int64_t time_ns;  /* when it came, by now_ns */
    int64_t stamp_ns; /* ... by the rail's clock */
    int64_t held_ns;  /* for how long its sender had what it answers */
    uint32_t peer;    /* from */
    uint32_t rail;    /* to */
    struct transport_way way; /* by which it came; where the transport cannot
                                 tell to which own LID, the first will do, as
                                 paths follow from where a message goes */
    size_t len;
    uint8_t data[TRANSPORT_DATA_MAX];
};

/* What goes with a message whose round trip is timed. */
struct transport_timing {
    const struct packet *answers; /* NULL: it is no answer; else it goes back
                                     by the way on which that came */
    struct transport_way way;     /* of what is no answer */
    int64_t stamp_ns;             /* set by send: when it left */
};

/* Messages that came and were dropped. */
struct transport_counts {
    uint32_t repeated; /* the same one again, or one from long ago */
    uint32_t foreign;  /* of no member, of another run, or no message */
};

struct transport {
    const char *name;

    /* Open this host's endpoints, as the site says; `pads` where messages are
     * to have some. NULL with err.
     */
    void *(*open) (const struct site *site, const char *host, bool pads,
                   struct error *err);
    void (*close) (void *t);

    size_t (*rails) (const void *t);
    const struct transport_address *(*address) (const void *t, size_t rail);

    /* Whether messages can go from one address to another. Return 0, or -1
     * with err, which names the second one's device. May be NULL.
     */
    int (*agree) (const struct transport_address *a,
                  const struct transport_address *b, struct error *err);

    /* Take part in a group: n peers on `members` hosts, the group's secret
     * key. Return 0, or -1 with err.
     */
    int (*connect) (void *t, uint64_t key,
                    const struct transport_address *peer, size_t n,
                    size_t members, struct error *err);

    /* After connect: a round trip takes less than this, unless something is
     * wrong. Rounds and time-outs are measured in it; all members have the
     * same.
     */
    int64_t (*gap_ns) (const void *t);

    /* After connect: how long a message may be with its pad; all members have
     * the same. May be NULL: there are no pads.
     */
    size_t (*size_max) (const void *t);

    /* After connect: in how many turns the members had better ping in a round,
     * as some share a core, and which is this one's, from 0 on. All have the
     * same number of turns. May be NULL: there is one.
     */
    size_t (*turns) (const void *t, size_t *mine);

    /* Make ready for timed messages to a peer by a way; its transport is to do
     * the same for this rail. Return 1, 0 where that is under way, to be called
     * again, or -1 with err. May be NULL.
     */
    int (*prepare) (void *t, uint32_t rail, uint32_t peer,
                    struct transport_way way, struct error *err);

    /* Send timed messages on this service level from now on; what was made
     * ready before is not. May be NULL: there are no levels.
     */
    void (*set_level) (void *t, unsigned int level);

    /* Wait for messages on a core of its own from now on, or asleep. Return
     * whether it is the former. May be NULL: there is no difference.
     */
    bool (*attend) (void *t, bool on);

    /* Send now, or with the next recv, a message and a pad of so many bytes;
     * timing is NULL for a message that is not timed. Return 0, or -1 with
     * err.
     */
    int (*send) (void *t, uint32_t rail, uint32_t peer, const uint8_t *data,
                 size_t len, size_t pad, struct transport_timing *timing,
                 struct error *err);

    /* Wait for a message until the deadline. Return 1, 0 where the deadline
     * has passed, -1 with err where the transport is gone.
     */
    int (*recv) (void *t, int64_t deadline_ns, struct packet *packet,
                 struct error *err);

    /* Whether a rail still carries messages: what is sent by one that does not
     * is lost, and recv fails when there is no other. May be NULL: all do.
     */
    bool (*usable) (const void *t, uint32_t rail);

    /* The name of a rail's device, as the kernel has it. May be NULL: it is
     * none of the kernel's.
     */
    void (*device) (const void *t, size_t rail, char *name, size_t size);

    /* The transport's clock. */
    int64_t (*now_ns) (const void *t);

    /* May be NULL. */
    const struct transport_counts *(*counts) (const void *t);

    /* After connect: where the kernel shows this host's ports, as they are now,
     * in place of LOCAL_SYSFS; NULL: nowhere. The op may be NULL: it is that.
     */
    const char *(*sysfs) (void *t);

    /* One sentence about what got lost here and why, a rail before a way, or
     * NULL where nothing went wrong. May be NULL.
     */
    const char *(*trouble) (const void *t);
};

extern const struct transport transport_emu;
extern const struct transport transport_verbs;

/* The transport of this name. NULL with err. */
const struct transport *transport_find (const char *name, struct error *err);

#endif /* PROBE_TRANSPORT_H */
