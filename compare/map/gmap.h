/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Scotch's mapping of a communication graph onto nodes (Pellegrini, Roman,
 * "Scotch: a software package for static mapping by dual recursive
 * bipartitioning of process and architecture graphs", 1996), if built with
 * libscotch.
 */
#ifndef COMPARE_GMAP_H
#define COMPARE_GMAP_H

#include <stdbool.h>
#include <stdint.h>

#include "compare/infer/matrix.h"
#include "compare/map/talk.h"
#include "util/error.h"

extern const bool gmap_built;

/* Set node[ranks]: about `tasks` on each node. Amounts and latencies are scaled
 * to small whole numbers. Return 0, or -1 with err.
 */
int gmap (const struct talk *t, const struct infer_matrix *hosts,
          uint32_t tasks, uint32_t *node, struct error *err);

#endif /* COMPARE_GMAP_H */
