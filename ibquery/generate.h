/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fabrics that are computed: for plans, simulations and tests. */
#ifndef IBQUERY_GENERATE_H
#define IBQUERY_GENERATE_H

#include <stdio.h>

#include "ibquery/fabric.h"

enum routing {
    /* Up by the destination's digits, so that each has a tower of its own:
     * no two destinations share a link on the way down (as opensm's ftree).
     */
    ROUTING_DMODK,
    /* Any shortest path: each switch takes the port that the fewest
     * destinations use so far, the lowest of these, with destinations in an
     * order drawn from the seed (as opensm's minhop).
     */
    ROUTING_MINHOP,
};

/* The p-port q-tree: 2(p/2)^q hosts h0001 .., and 2q(p/2)^q cables. Switches
 * of level 1 (at the hosts) to q are s1-0001 .., each with p ports, 1 .. p/2
 * downwards (at level q: all). LIDs: hosts in order, then switches.
 */
struct fat_tree {
    unsigned int ports;  /* p, even: 2 .. 64 */
    unsigned int levels; /* q: 1 .. 6 */
    enum routing routing;
    uint64_t seed;
};

/* A finished fabric, or NULL with err: sizes out of range, more LIDs than
 * there are.
 */
struct fabric *generate_fat_tree (const struct fat_tree *tree,
                                  struct error *err);

/* Write a generated fabric as a netfile of ibsim, hosts first: the same
 * cables and GUIDs, to be routed by an SM. Return 0, or -1 with err.
 */
int generate_netfile (const struct fabric *f, FILE *fp, struct error *err);

#endif /* IBQUERY_GENERATE_H */
