/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Across: which pairs of a set can load an arc, and by how much at most.
 *
 * Computed from the trees of all endpoints (paths/tree); cost: n times the size
 * of a tree. Links are the set's columns (pathset_links), and arcs theirs.
 */
#ifndef CORE_ACROSS_H
#define CORE_ACROSS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/paths/paths.h"
#include "core/plan/plan.h"
#include "util/error.h"
#include "util/rng.h"

enum {
    ACROSS_PAIRS = 12, /* of an arc, drawn from all */
    ACROSS_ALIKE = 6,  /* of a link, that use the same links in both
                          directions */
};

struct across_arc {
    double most; /* bits per second that the endpoints can put on it, at most
                    its rate; 0 if no path crosses it */
    uint8_t npairs;
    struct probe pair[ACROSS_PAIRS]; /* the path from a to b crosses it */
};

struct across_link {
    uint8_t nalike;
    struct probe alike[ACROSS_ALIKE]; /* the shortest first */
    uint8_t nnear; /* how many of these are the shortest */
    uint8_t near;  /* how many links these cross */
};

struct across {
    size_t nlinks; /* columns */
    struct across_arc *arc;   /* [2 * nlinks] */
    struct across_link *link; /* [nlinks] */
};

/* The rates of the network's links, bits per second: nominal; if that is not
 * known, the greatest known rate; 1 if no rate is known. An array of nlinks that
 * the caller frees. across_column_rates: those of m links alone.
 */
double *across_rates (const struct pathset *ps);
double *across_column_rates (const struct pathset *ps, const uint32_t *link,
                             size_t m);

/* The arc of a column for one of the network's; NETWORK_NONE: no path of the set
 * crosses it.
 */
static inline uint32_t across_arc_of (const struct pathset *ps, uint32_t arc)
{
    int column = arc == NETWORK_NONE ? -1 : pathset_column (ps, arc_link (arc));

    return column < 0 ? NETWORK_NONE : 2 * (uint32_t)column + arc % 2;
}

/* Whether the nominal rate of any link is known. */
bool across_known (const struct pathset *ps);

/* Find the pairs; rate[] of the columns. Call across_clear in any case. Return 0,
 * or -1 with err.
 */
int across_find (struct across *a, struct pathset *ps, const double *rate,
                 struct rng *rng, struct error *err);

/* Draw other pairs for the arcs with wanted[2 * nlinks]. */
int across_draw (struct across *a, struct pathset *ps, const double *rate,
                 const bool *wanted, struct rng *rng, struct error *err);

void across_clear (struct across *a);

#endif /* CORE_ACROSS_H */
