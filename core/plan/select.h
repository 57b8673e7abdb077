/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Select: the fewest endpoints and probes that determine some links, such as
 * those of a suspicious switch or of one that was repaired.
 *
 * Read by pmm plan. A link is determined where its column's unit vector lies
 * in the span of the probes' rows; where no endpoints do that, the shortest
 * combination of links that was found with it in it takes its place. Few
 * endpoints and probes are found greedily, link by link, each making use of
 * what those before it chose, and what turns out not to be needed is dropped:
 * a good answer, not always the least.
 */
#ifndef CORE_SELECT_H
#define CORE_SELECT_H

#include <stddef.h>
#include <stdint.h>

#include "core/paths/paths.h"
#include "core/plan/plan.h"
#include "util/error.h"

/* Around a link at most so many endpoints are looked at. Where a network has
 * more, "not determined" means: not by those nearest.
 */
enum { SELECT_NEAR_MAX = 256 };

/* Plan the measurement of the links target[0 .. n-1] (of the network; a link
 * given twice counts once) between endpoints of the set `all`. The plan's
 * method is "links", its endpoints are those of *ps, which the caller
 * destroys; plan_targets says what it determines. Redundant rounds as opts has
 * them. The same seed gives the same plan on every machine. NULL with err: a
 * path is broken, or none of the links is on a path.
 */
struct plan *select_links (struct pathset *all, const uint32_t *target,
                           size_t n, const struct plan_options *opts,
                           struct pathset **ps, struct error *err);

#endif /* CORE_SELECT_H */
