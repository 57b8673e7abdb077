/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Select: a small set of endpoints and probes that determine some links, such
 * as those of a suspect switch or of one that was repaired.
 *
 * Read by pmm plan. A link is determined if its column's unit vector lies in
 * the span of the probes' rows; if no endpoints achieve that, the shortest
 * combination of links that was found to include it takes its place. Few
 * endpoints and probes are found greedily, link by link, each using what those
 * before it chose; then the ones that are not needed are dropped. The result is
 * good, but not always minimal.
 */
#ifndef CORE_SELECT_H
#define CORE_SELECT_H

#include <stddef.h>
#include <stdint.h>

#include "core/paths/paths.h"
#include "core/plan/plan.h"
#include "util/error.h"

/* At most so many endpoints around a link are tried. If a network has more,
 * "not determined" means: not by the nearest ones.
 */
enum { SELECT_NEAR_MAX = 256 };

/* Plan the measurement of the links target[0 .. n-1] (of the network;
 * duplicates count once) between endpoints of the set `all`. The plan's method
 * is "links", its endpoints are those of *ps, which the caller destroys;
 * plan_targets gives what it determines. opts sets the redundant rounds. The
 * same seed gives the same plan on every machine. NULL with err: a path is
 * broken, or none of the links is on a path.
 */
struct plan *select_links (struct pathset *all, const uint32_t *target,
                           size_t n, const struct plan_options *opts,
                           struct pathset **ps, struct error *err);

#endif /* CORE_SELECT_H */
