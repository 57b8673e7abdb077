/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bursts of one port of an RDMA device: RC, RDMA WRITE with immediate data.
 *
 * A pair is this port's end of a flow: a few queue pairs, each with a few
 * messages outstanding. All that they receive goes to one buffer, in which
 * others may write and which is never read. Whom a pair is of follows from the
 * peer, the way and whether its writes are strictly in order; a few pairs are
 * kept, those that were prepared last. For messages of users there is a pair
 * for each peer, with one queue pair.
 *
 * Written from documents and tested with soft RoCE only. Not tested: relaxed
 * ordering, the device's clock.
 *
 * Nothing here sends or receives messages: the transport exchanges what
 * verbs_bulk_prepare and verbs_bulk_take say.
 */
#ifndef PROBE_VERBS_BULK_H
#define PROBE_VERBS_BULK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probe/transport.h"
#include "probe/verbs_device.h"
#include "probe/verbs_wire.h"
#include "util/error.h"

struct verbs_bulk;

/* Whom a pair is of. */
struct verbs_bulk_end {
    uint32_t peer;
    const struct verbs_address *at; /* its */
    struct transport_way way;
    bool strict;
};

/* For a port that is the self-th of n peers, in the run with this key;
 * `talks`: for messages of users. NULL with err. The device must live longer.
 */
struct verbs_bulk *verbs_bulk_open (const struct verbs_device *d, uint64_t key,
                                    uint32_t self, size_t n, bool talks,
                                    struct error *err);
void verbs_bulk_close (struct verbs_bulk *b);

/* Prepare a pair, on this service level: 1: it is ready; 0: it is not yet; if
 * tell->made is not 0, send this to the peer. Do not tell it again before
 * again_ns have passed. -1 with err: the device cannot.
 */
int verbs_bulk_prepare (struct verbs_bulk *b, const struct verbs_bulk_end *end,
                        uint8_t sl, int64_t again_ns,
                        struct verbs_bulk_info *tell, struct error *err);

/* Take what a peer has told of its end. Return whether to send the answer. */
bool verbs_bulk_take (struct verbs_bulk *b, const struct verbs_bulk_end *end,
                      uint8_t sl, const struct verbs_bulk_info *told,
                      struct verbs_bulk_info *answer);

/* As transport.bulk: b[i] is that of burst[i]'s rail, NULL if it is lost.
 * `spins`: poll, do not sleep. When there is nothing to do, `idle` is called,
 * if it is not NULL; false: end, and return so.
 */
bool verbs_bulk_run (struct verbs_bulk *const *b, struct transport_burst *burst,
                     size_t n, int64_t deadline_ns, bool spins,
                     bool (*idle) (void *arg), void *arg);

/* As transport.bulk_port; b may be NULL. */
void verbs_bulk_port (const struct verbs_device *d, const struct verbs_bulk *b,
                      struct transport_port *port);

/* As transport.trouble. */
const char *verbs_bulk_trouble (const struct verbs_bulk *b);

#endif /* PROBE_VERBS_BULK_H */
