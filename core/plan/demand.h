/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Demand: in how many rounds a port is busy at least, by its own and its
 * neighbours' links.
 *
 * Made from the rows of all pairs. Read by plan/pack; bench/bound makes bounds
 * of it.
 *
 * Let S be a set of ports. A link is *own* to S if every row that crosses it
 * has an end in S. Any basis has at least as many ends in S as the rank of the
 * rows of S, restricted to the own links: the need of S. A round has at most
 * |S| of them.
 *
 * Sets: each port, and each set of ports that is connected by pairs of at most
 * h hops, for any h (in a tree: leaves, pods).
 */
#ifndef CORE_DEMAND_H
#define CORE_DEMAND_H

#include <stddef.h>
#include <stdint.h>

#include "core/plan/basis.h"

/* The ports as groups: the single ones, then those that so many hops join. */
struct demand_level {
    size_t n;        /* groups */
    uint32_t *group; /* [nports] */
    uint32_t *ports; /* [n] of a group */
    uint32_t *need;  /* [n] of a group */
};

struct demand_levels {
    const struct basis *basis;
    struct demand_level *v;
    size_t n;
    uint64_t work;
    struct pool *pool; /* of all of it */
};

/* A level for each number of hops that joins any groups. The basis, which is
 * borrowed, has all pairs. Cost: the entries of the basis and a small
 * elimination per level. The caller calls demand_levels_clear.
 */
struct demand_levels demand_levels (const struct basis *basis);
void demand_levels_clear (struct demand_levels *levels);

/* The demand of each port, [nports]: the number of rounds in which a port of a
 * set is busy on average, at most over all sets that contain it. If a job has
 * two hosts on a leaf, or five in a pod, everything that the paths there can
 * determine must come from probes of these few hosts. The caller frees it.
 */
double *demand_find (const struct basis *basis);

#endif /* CORE_DEMAND_H */
