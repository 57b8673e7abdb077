/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Route: whether a cause is a slow link or a route that is wrong, and from
 * which switch on.
 *
 * Rows in which a link carries one endpoint's messages only say the same of
 * both. A slow link takes any time more; what a wrong route takes more, or
 * less, is the latency of its links over that of those that it should cross,
 * which are all about as expected (judge/detour). A cause that such a detour
 * would explain is taken for a wrong route, since that harms nobody: nothing
 * fails for it.
 */
#ifndef CORE_ROUTE_H
#define CORE_ROUTE_H

#include <stddef.h>
#include <stdint.h>

#include "core/judge/explain.h"
#include "core/paths/paths.h"

/* What cause c is taken for: of all that explain it as well, the likeliest
 * route where one fits, a link between switches where none does, else itself.
 * The cause becomes that, by explain_swap. Return NULL with errno ENOMEM.
 */
const struct member *route_or_link (struct explanation *ex, size_t c,
                                    const struct pathset *ps);

/* Switches from which messages may go the wrong way, where cause c is a
 * route: at most `most` of them into sw, the likeliest first. Return how many,
 * or -1 with errno ENOMEM.
 */
int route_switches (struct explanation *ex, size_t c,
                    const struct pathset *ps, uint32_t *sw, size_t most);

#endif /* CORE_ROUTE_H */
