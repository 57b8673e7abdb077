/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Flows: a plan whose rounds load links until they are full, to see what they
 * carry. Its method is "throughput".
 *
 * The pairs of a round exchange at the same time, both ways. A link's rate is
 * then what all flows across it carry together, at least; the greatest of all
 * rounds counts: of a host end, that over its partners. No pair is in two
 * rounds. In a round each flow is held up in one place at most, which is known:
 *
 * - a port is in one flow at most;
 * - a flow crosses no arc twice, and one full link at most (one whose flows'
 *   lowest rates are together more than its own in some direction);
 * - the flows of a full link cross it both ways, all of them, or one way.
 *
 * In each round, links that no round has loaded as often as asked for get flows
 * until they have what they carry by their nominal rates, or what their
 * endpoints can bring on them by these paths (across.h). Once it is by the
 * nearest pairs that use the same links there and back, host ends first, then
 * the links above: where few other links are in the way, what is slow further
 * up is none of them. A further time is by other endpoints where there are any.
 */
#ifndef COMPARE_FLOWS_H
#define COMPARE_FLOWS_H

#include "core/paths/paths.h"
#include "core/plan/plan.h"
#include "util/error.h"

struct flows_options {
    const uint32_t *link; /* to load; NULL: all that paths of the set cross */
    size_t nlinks;
    unsigned int times;   /* that each link is loaded, at least 1 */
    uint64_t seed;
};

/* Plan them. Targets of the plan are the links: alone those that are full in
 * a round, in some direction; with no members those that endpoints or paths
 * do not let be filled, or that no path crosses. Cost: trees of all endpoints,
 * and a few dozen pairs for each link. NULL with err.
 */
struct plan *flows_make (struct pathset *ps, const struct flows_options *opts,
                         struct error *err);

/* Check a plan without trusting its maker: that its rounds are as said above,
 * that no pair is there twice, and that some round fills each of its targets.
 * Return 0, or -1 with err.
 */
int flows_check (struct pathset *ps, const struct plan *plan,
                 struct error *err);

#endif /* COMPARE_FLOWS_H */
