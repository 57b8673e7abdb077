/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Route: whether a cause is a slow link or a wrong route, and from which
 * switch.
 *
 * Rows in which a link carries the messages of one endpoint only look the same
 * for both. A slow link may add any time. A wrong route adds (or saves) the
 * difference between the latencies of the links that it crosses and of those
 * that it should cross. These are about as expected, or as other causes give
 * them (judge/detour). The more likely of the two is chosen.
 */
#ifndef CORE_ROUTE_H
#define CORE_ROUTE_H

#include <stddef.h>
#include <stdint.h>

#include "core/judge/explain.h"
#include "core/paths/paths.h"

/* Find what cause c stands for, in *face. For most causes this is the cause
 * itself. For a route or a link between switches it is the most likely of all
 * such that explain it as well, and the cause becomes that one by explain_swap;
 * NULL: none of them would have such an excess. Links are more likely than
 * routes if their excess is above fail_ns. Return 0, or -1 with errno EDOM.
 */
int route_or_link (struct explanation *ex, size_t c, const struct pathset *ps,
                   double fail_ns, const struct member **face);

/* Switches that may send messages the wrong way, if cause c is a route: at most
 * `most` of them into sw, the likeliest first. Return how many, or -1 with
 * errno EDOM.
 */
int route_switches (struct explanation *ex, size_t c,
                    const struct pathset *ps, uint32_t *sw, size_t most);

#endif /* CORE_ROUTE_H */
