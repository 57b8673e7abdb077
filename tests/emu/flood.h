/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Flood: what the links do under flows that offer more than they carry.
 *
 * Made by model for its background. A flow offers bytes at a rate; each hop of
 * its way it comes to the next link by an input: the link that it came by, or
 * at its host the flow itself, as an adapter serves its queues in turn. A link
 * that is offered less than it carries carries all of it. One that is offered
 * as much or more is saturated, and serves the inputs in turn (round-robin):
 * those that want less than their turns give get what they want, the full ones
 * share the rest alike, each for its flows in proportion to what they offer.
 * No packet is dropped: a flow that gets less than it offers fills the buffers
 * of all links on its way up to the one that holds it up (credits), so that at
 * these a packet waits, too, also one that goes elsewhere.
 *
 * A packet of somebody else's waits
 *
 *   turn_ns * u   where it enters a link that is saturated or held up, u
 *                 uniform from 0 to 1: until it is its input's turn. With k
 *                 full inputs this is the time of k packets of the flows' at
 *                 the pace at which the link moves on, the phase random;
 *   ahead_ns      behind a link whose buffer at the far end is full: until the
 *                 FLOOD_BUFFER packets before it there have had their turns.
 *
 * Not emulated: virtual lanes and queues for each output; buffers deeper than
 * FLOOD_BUFFER packets, which make the wait longer, but not other; flows that
 * only share a full buffer lose no rate; congestion control (FECN, BECN); our
 * own packets do not take the flows' turns from them.
 */
#ifndef EMU_FLOOD_H
#define EMU_FLOOD_H

#include <stddef.h>
#include <stdint.h>

#include "core/paths/paths.h"

enum {
    FLOOD_PACKET = 4096, /* bytes, of the flows */
    FLOOD_BUFFER = 1,    /* of their packets, at the far end of a link */
};

struct flood_flow {
    double offer; /* bytes per ns */
    double rate;  /* what it gets */
    int full;     /* the hop, from 0 on, that holds it up; -1: none */
    int hops;
    uint32_t arc[PATH_MAX_HOPS];
};

struct flood_arc {
    double rate;     /* bytes per ns that it carries */
    double turn_ns;  /* 0: it is neither saturated nor held up */
    double ahead_ns; /* 0: its far end has room */
};

/* Fill rate and full of n flows, and out[arc] for all arcs; a link's byte_ns
 * [arc / 2] is what a byte takes.
 */
void flood (struct flood_flow *flow, size_t n, const double *byte_ns,
            struct flood_arc *out, size_t narcs);

#endif /* EMU_FLOOD_H */
