/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Trees: all paths to one endpoint at once.
 *
 * Messages are forwarded by their destination, so the paths to an endpoint form
 * a tree. Paths from endpoints on one leaf (usually the switch that their first
 * hop leads to) differ only in that first hop. So all n^2 paths are read in n
 * times the size of a tree, about the number of leaves.
 *
 * row(a,b) is: first hop of a, the tree of b from a's leaf; first hop of b, the
 * tree of a from b's leaf.
 */
#ifndef CORE_TREE_H
#define CORE_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "core/paths/paths.h"
#include "util/error.h"

struct tree {
    struct pool *pool; /* has all of it */

    /* the same for all destinations */
    const struct pathset *ps;
    size_t nleaves;
    uint32_t *leaf_of;  /* [n] leaf of an endpoint of the set */
    uint32_t *first;    /* [nleaves + 1] into member: */
    uint32_t *member;   /* [n] endpoints by leaf, ascending within one */
    uint32_t *ports;    /* [nleaves] ports of a leaf's endpoints */
    uint32_t *up;       /* [n] arc of the first hop, NETWORK_NONE: none */

    /* for the destination of the last tree_grow: step k leads by arc[k] to step
     * parent[k] < k. Step 0 is the destination.
     */
    uint32_t to;
    size_t n;
    uint32_t *arc;      /* [n] arc[0] is unused */
    uint32_t *parent;   /* [n] */
    uint32_t *leaf;     /* [nleaves] step at which a leaf's path begins; 0 for
                           leaves of other subnets, and for the leaf of `to` if
                           its port is alone there */

    uint32_t *place;   /* [nleaves] where a leaf's paths begin */
    uint32_t *grown;   /* [nplaces] the last tree that has the place */
    uint32_t *step;    /* [nplaces] its step there */
    uint32_t ntrees;   /* so far */
};

/* Find the leaves of a set. */
struct tree *tree_create (const struct pathset *ps);
void tree_destroy (struct tree *t);

/* The tree of paths from all leaves of its subnet to endpoint `to` of the set.
 * Cost: its size. Return 0, or -1 with err naming a pair whose path is broken.
 */
int tree_grow (struct tree *t, size_t to, struct error *err);

/* Sums over paths: sum[k], k < t->n, is `start` plus the weights, [nlinks], of
 * the links from step k to the destination, modulo `modulus` <= 2^63. `start`
 * and all weights must be less than `modulus`. sum has room for tree_steps.
 */
void tree_sum (const struct tree *t, const uint64_t *weight, uint64_t start,
               uint64_t modulus, uint64_t *sum);

/* The largest number of steps of a tree of the set. */
static inline size_t tree_steps (const struct tree *t)
{
    return pathset_network (t->ps)->nplaces + 1;
}

/* The weight of the first hop of endpoint i. */
static inline uint64_t tree_first_hop (const struct tree *t, size_t i,
                                       const uint64_t *weight)
{
    return t->up[i] == NETWORK_NONE ? 0 : weight[arc_link (t->up[i])];
}

#endif /* CORE_TREE_H */
