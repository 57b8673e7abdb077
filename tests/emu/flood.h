/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Flood: the state of the links under flows that offer more than they can
 * carry.
 *
 * Made by model for its background. A flow offers bytes at a rate. At each hop
 * it enters the next link through an input: the link that it came by, or, at
 * its host, the flow itself, because an adapter serves its queues in turn. A
 * link that is offered less than its capacity carries all of it. A link that is
 * offered as much or more is saturated and serves its inputs in turn
 * (round-robin): inputs that want less than their share get what they want; the
 * full ones share the rest equally, each among its flows in proportion to what
 * they offer. No packet is dropped: a flow that gets less than it offers fills
 * the buffers of all links on its path up to the one that holds it up
 * (credits). So packets wait at these links, too, even if they go elsewhere.
 *
 * A packet of other traffic waits
 *
 *   turn_ns * u   if it enters a link that is saturated or held up, until it is
 *                 its input's turn; u is uniform from 0 to 1. With k full
 *                 inputs turn_ns is the time of k packets of the flows at the
 *                 pace of the link; the phase is random;
 *   ahead_ns      behind a link whose buffer at the far end is full: until the
 *                 FLOOD_BUFFER packets ahead of it have been served.
 *
 * Not emulated: virtual lanes and queues per output; buffers deeper than
 * FLOOD_BUFFER packets, which only make the wait longer; flows that merely
 * share a full buffer lose no rate; congestion control (FECN, BECN); probe
 * messages take no turns away from the flows.
 */
#ifndef EMU_FLOOD_H
#define EMU_FLOOD_H

#include <stddef.h>
#include <stdint.h>

#include "core/paths/paths.h"

enum {
    FLOOD_PACKET = 4096, /* bytes, of the flows */
    FLOOD_BUFFER = 1,    /* in their packets, at the far end of a link */
};

struct flood_flow {
    double offer; /* bytes per ns */
    double rate;  /* what it achieves */
    int full;     /* hop, from 0, that limits it; -1: none */
    int hops;
    uint32_t arc[PATH_MAX_HOPS];
};

struct flood_arc {
    double rate;     /* bytes per ns that it carries */
    double turn_ns;  /* 0: neither saturated nor held up */
    double ahead_ns; /* 0: its far end has room */
};

/* Set rate and full of n flows, and out[arc] for all arcs; byte_ns[arc] is
 * the time per byte.
 */
void flood (struct flood_flow *flow, size_t n, const double *byte_ns,
            struct flood_arc *out, size_t narcs);

#endif /* EMU_FLOOD_H */
