/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Route: whether a cause is a slow link or a route that is wrong, and from
 * which switch on.
 *
 * Rows in which a link carries one endpoint's messages only say the same of
 * both. A slow link takes any time more; what a wrong route takes more, or
 * less, is the latency of its links over that of those that it should cross,
 * which are all about as expected, or what other causes say (judge/detour).
 * The likelier of the two it is taken for.
 */
#ifndef CORE_ROUTE_H
#define CORE_ROUTE_H

#include <stddef.h>
#include <stdint.h>

#include "core/judge/explain.h"
#include "core/paths/paths.h"

/* What cause c is taken for: itself, but of a route or a link between switches
 * the likeliest of all such that explain it as well, which the cause becomes by
 * explain_swap; NULL: of these, none would make such an excess. Links of more
 * than fail_ns are likelier than routes. Return 0, or -1 with errno EDOM.
 */
int route_or_link (struct explanation *ex, size_t c, const struct pathset *ps,
                   double fail_ns, const struct member **face);

/* Switches from which messages may go the wrong way, where cause c is a
 * route: at most `most` of them into sw, the likeliest first. Return how many,
 * or -1 with errno EDOM.
 */
int route_switches (struct explanation *ex, size_t c,
                    const struct pathset *ps, uint32_t *sw, size_t most);

#endif /* CORE_ROUTE_H */
