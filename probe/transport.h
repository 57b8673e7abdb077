/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Transport: what carries messages between the endpoints of a job.
 *
 * A plug point. To add one, write transport_<name>.c, declare its table here
 * and list it in transport.c. All but `open` get what open returned.
 *
 * A transport is unreliable: messages may be lost, repeated or late, not
 * damaged. A rail is one of this host's own endpoints, 0 .. rails-1; a peer is
 * any endpoint of the group that connect () is given, own ones included.
 */
#ifndef PROBE_TRANSPORT_H
#define PROBE_TRANSPORT_H

#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

enum {
    TRANSPORT_DATA_MAX = 256,   /* bytes of a message */
    TRANSPORT_ADDRESS_MAX = 32, /* bytes of an address */
    TRANSPORT_RAILS_MAX = 16,
};

/* What an endpoint publishes: who it is in the fabric, and where messages
 * reach it, which only its transport understands.
 */
struct transport_address {
    uint64_t guid; /* of the port */
    uint16_t lid;
    uint8_t len;
    uint8_t data[TRANSPORT_ADDRESS_MAX];
};

struct packet {
    int64_t time_ns; /* when it came */
    uint32_t peer;   /* from */
    uint32_t rail;   /* to */
    size_t len;
    uint8_t data[TRANSPORT_DATA_MAX];
};

struct transport {
    const char *name;

    /* A round trip takes less than this, unless something is wrong: rounds
     * and time-outs are measured in it.
     */
    int64_t gap_ns;

    /* Open this host's endpoints; `where` is the transport's own (the
     * emulator's socket). NULL with err.
     */
    void *(*open) (const char *where, const char *host, struct error *err);
    void (*close) (void *t);

    size_t (*rails) (const void *t);
    const struct transport_address *(*address) (const void *t, size_t rail);

    /* Take part in a group: n peers on `members` hosts, the group's secret
     * key. Return 0, or -1 with err.
     */
    int (*connect) (void *t, uint64_t key,
                    const struct transport_address *peer, size_t n,
                    size_t members, struct error *err);

    /* Send now, or with the next recv. Return 0, or -1 with err. */
    int (*send) (void *t, uint32_t rail, uint32_t peer, const uint8_t *data,
                 size_t len, struct error *err);

    /* Wait for a message until the deadline. Return 1, 0 where the deadline
     * has passed, -1 with err where the transport is gone.
     */
    int (*recv) (void *t, int64_t deadline_ns, struct packet *packet,
                 struct error *err);

    /* The transport's clock. */
    int64_t (*now_ns) (const void *t);
};

extern const struct transport transport_emu;

/* The transport of this name. NULL with err. */
const struct transport *transport_find (const char *name, struct error *err);

#endif /* PROBE_TRANSPORT_H */
