/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums of weights over all paths: one cell per leaf and destination, enough to
 * compare there with back for every pair of endpoints.
 *
 * Every link has a weight modulo 2^61 - 1; up(i) is the weight of the first hop
 * of endpoint i and path(s,i) the sum over its tree from leaf s. A cell keeps
 * 32 bits of the value to compare.
 *
 * Made by plan/basis (rows that use the same links there and back) and
 * plan/span (rows outside a span).
 */
#ifndef CORE_GRID_H
#define CORE_GRID_H

#include <stddef.h>
#include <stdint.h>

#include "core/paths/tree.h"
#include "util/error.h"

enum grid_kind {
    /* path(s,i) - up(i): for random weights, a on leaf s and b on leaf t use
     * the same links there and back if the cells (s,b) and (t,a) agree
     */
    GRID_LINKS,
    /* path(s,i) + up(i), negated if s is before the leaf of i: the row of a and
     * b has a sum other than 0 if the cells (s,b) and (t,a) differ
     */
    GRID_ROWS,
};

struct grid {
    struct tree *tree;
    size_t width;      /* leaves of a block; the last may have fewer */
    size_t nblocks;
    /* of the blocks loaded last: */
    size_t block[2];
    uint32_t *cell[2]; /* [leaves of one][destinations of the other] */
    uint8_t *hops[2];  /* [leaves of one][leaves of the other] to its first
                          member */
    uint64_t *own;     /* [n] by endpoint: the value for its own leaf, not
                          negated */
    uint64_t *sum;     /* [tree_steps] scratch */
    uint8_t *depth;    /* [tree_steps] scratch */
};

/* If all cells would take too much memory, there are several blocks of leaves,
 * and a grid holds the cells between two of them.
 */
struct grid *grid_create (const struct pathset *ps);
void grid_destroy (struct grid *g);

/* Leaves of a block: *first .. *end - 1. */
void grid_block (const struct grid *g, size_t block, size_t *first,
                 size_t *end);

/* Fill the cells from the leaves of block p to the members of the leaves of
 * block q, and back. Cost: the trees of these members. Return 0, or -1 with
 * err.
 */
int grid_load (struct grid *g, enum grid_kind kind, const uint64_t *weight,
               size_t p, size_t q, struct error *err);

/* The cells from leaf s to the members of leaf t, in their order; one of the
 * leaves is in block p, the other in block q.
 */
const uint32_t *grid_cells (const struct grid *g, size_t s, size_t t);

/* Links from s to an endpoint on t, and back, without the endpoints' first
 * links. Leaves as above; 0 if s == t.
 */
size_t grid_hops (const struct grid *g, size_t s, size_t t);

#endif /* CORE_GRID_H */
