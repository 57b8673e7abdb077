/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What one member does in a stage of bursts (probe/burst), and what it found.
 *
 * Notes: formats, little-endian; numbers are sizes in bytes.
 *
 * The leader sends each member: version 1, service level 1, passes that count 1,
 * rounds 4, those of them before the loopbacks 4, the time in which a burst must
 * be done, in ns, 4, tasks 4; per task, in the order of the rounds: round 4, peer
 * 4, rail 1, own LID 1, the peer's LID 1, bursts 1, whether without relaxed
 * ordering 1, bytes 4. A task takes part in the first passes, as many as it has
 * bursts; one with the rail itself is a loopback.
 *
 * Each member replies: version 1; why it could not measure, length 1 and text;
 * per task, of what arrived here: bursts kept 1, lost 1, bits per second of the
 * best 8, of the worst 8; per rail, what struct burst_port has (pack_port).
 */
#ifndef PROBE_BURST_WORK_H
#define PROBE_BURST_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/samples/bursts.h"
#include "ibquery/local.h"
#include "probe/burst.h"
#include "probe/group.h"
#include "util/error.h"

enum {
    BURST_PASSES_MAX = 5,
    BURST_WARM = 8, /* the first pass has this part of a burst's bytes */
};

struct burst_task {
    uint32_t round;
    uint32_t peer;
    uint8_t rail;
    uint8_t own_lid, other_lid;
    uint8_t bursts;
    bool strict;
    uint32_t bytes;
    /* found: */
    bool off; /* there are no bursts with the peer */
    struct burst_way got;
};

/* What a rail's host says of it, and what its counters showed while it had bursts,
 * pass by pass.
 */
struct burst_rail {
    const struct local_port *port; /* NULL: the kernel does not show it */
    struct local_traffic before;
    int64_t since_ns;
    double ns, bytes[2], own[2]; /* sums; bytes NAN: not known */
    bool looked;                 /* in this pass: */
    uint64_t retries, errors;    /* before; UINT64_MAX: not known */
    struct pcie pcie;            /* the faster of all readings */
    struct burst_port found;     /* end: not set */
};

struct burst_work { /* of one member */
    unsigned int level, passes;
    uint32_t rounds, flow_rounds, late_ns;
    struct burst_task *task;
    size_t ntasks;
    size_t rails;
    const char *sysfs; /* of the transport */
    struct local_port *port;
    size_t nports;
    struct burst_rail rail[TRANSPORT_RAILS_MAX];
    char why[BURST_WHY + 1]; /* what went wrong; "": nothing */
};

void burst_work_clear (struct burst_work *w);

/* The part that a member is sent; the caller frees the data. */
void burst_work_pack (const struct burst_work *w, struct group_blob *blob);

/* Run it, with all other members. What goes wrong with the bursts is in `why`;
 * return -1 with err if the group has failed.
 */
int burst_work_run (struct group *g, struct burst_work *w, struct error *err);

/* What it found, as a member's answer; and that in the leader's copy of the
 * member's work: false if it is invalid.
 */
void burst_work_pack_found (const struct burst_work *w,
                            struct group_blob *blob);
bool burst_work_take_found (struct burst_work *w,
                            const struct group_blob *blob);

#endif /* PROBE_BURST_WORK_H */
