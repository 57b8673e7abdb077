/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fabrics that are computed: for plans, simulations and tests.
 *
 * Hosts are called h0001 .., switches s<group>-<number>; what the groups are,
 * each family says. LIDs: hosts in order, then switches; with an LMC, all of a
 * host's, to each of which the rule finds routes as to another host. The same
 * numbers and seed give the same fabric on every machine. No family promises
 * that its routes are free of deadlock.
 *
 * All functions return a finished fabric, or NULL with err: a size that is out
 * of range, switches of more than 64 ports, more LIDs than there are.
 */
#ifndef IBQUERY_GENERATE_H
#define IBQUERY_GENERATE_H

#include <stdint.h>
#include <stdio.h>

#include "ibquery/fabric.h"

/* Which of the shortest paths. */
enum routing {
    /* Up by the destination's digits, so that each has a tower of its own:
     * no two destinations share a link on the way down (as opensm's ftree).
     * Other LIDs of a destination are so many ports further on each level.
     * In families that have no up and down: the lowest port.
     */
    ROUTING_DMODK,
    /* Each switch takes the port that the fewest destinations use so far, the
     * lowest of these, with destinations in an order drawn from the seed (as
     * opensm's minhop); the first LIDs of all before the others.
     */
    ROUTING_MINHOP,
    /* Each switch draws one for each destination. */
    ROUTING_RANDOM,
};

/* "dmodk", "minhop", "random"; the other way round, -1 for another name. */
const char *routing_name (enum routing routing);
int routing_find (const char *name);

/* What all families leave open. */
struct choice {
    enum routing routing;
    uint64_t seed;
    /* So many percent, 0 .. 90, of the hosts, of the switches and of the
     * cables between switches are missing, drawn by the seed, and what is cut
     * off from the largest rest as well.
     */
    unsigned int prune;
    unsigned int lmc; /* of the hosts' ports, 0 .. FABRIC_MAX_LMC */
};

/* The p-port q-tree: 2(p/2)^q hosts and 2q(p/2)^q cables. Groups are the
 * levels, 1 (at the hosts) to q; of the p ports of a switch, 1 .. p/2 lead
 * downwards (at level q: all).
 *
 * Oversubscribed k times, the leaves have p/(k+1) up ports, rounded down, and
 * k times as many hosts; all else fits in.
 */
struct fat_tree {
    unsigned int ports;         /* p, even: 2 .. 64 */
    unsigned int levels;        /* q: 1 .. 6 */
    struct choice how;
    unsigned int oversubscribe; /* k: 0 is 1 */
};
struct fabric *generate_fat_tree (const struct fat_tree *tree,
                                  struct error *err);

/* Dragonfly (Kim, Dally, Scott, Abts, ISCA 2008) of its greatest size: groups
 * of `routers` that are all joined, one cable between any two of the
 * routers * globals + 1 groups. Minimal routes: at most one cable in the
 * group, one to the other, one in that.
 */
struct dragonfly {
    unsigned int hosts;   /* p, of a router: 1 .. 62 */
    unsigned int routers; /* a, of a group: 1 .. 62 */
    unsigned int globals; /* h, ports to other groups, of a router: 1 .. 62 */
    struct choice how;
};
struct fabric *generate_dragonfly (const struct dragonfly *fly,
                                   struct error *err);

/* Slim fly (Besta, Hoefler, SC 2014) on the graph of McKay, Miller, Siran
 * (J. Combin. Theory B 74, 1998) with generators after Hafner (Discrete Math.
 * 276, 2004): 2q^2 routers in two groups, each with (3q - d)/2 others next to
 * it, where the prime power q is 4w + d and d is -1, 0 or 1. Diameter 2.
 */
struct slimfly {
    unsigned int q;     /* 3 .. 41 */
    unsigned int hosts; /* of a router; 0: half its neighbours, rounded up */
    struct choice how;
};
struct fabric *generate_slimfly (const struct slimfly *fly,
                                 struct error *err);

/* Irregular: a random tree of all switches, and random cables (parallel ones
 * happen) until a switch has `degree` on average. Hosts crowd: a switch has
 * none to three lots in the draw that places each.
 */
struct irregular {
    unsigned int switches; /* 1 .. 4096 */
    unsigned int hosts;
    unsigned int degree;   /* 1 .. 32 */
    struct choice how;
};
struct fabric *generate_irregular (const struct irregular *net,
                                   struct error *err);

#endif /* IBQUERY_GENERATE_H */
