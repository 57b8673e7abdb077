/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Computed fabrics, for plans, simulations and tests.
 *
 * Hosts are named h0001 .., switches s<group>-<number>; each family defines its
 * groups. LIDs: hosts in order, then switches. With an LMC, a host has all of
 * its LIDs in sequence, and each is routed as if it were another host. The same
 * parameters and seed give the same fabric on every machine. The routes may
 * deadlock.
 *
 * All functions return a finished fabric, or NULL with err: a size out of
 * range, switches with more than 64 ports, or too many LIDs.
 */
#ifndef IBQUERY_GENERATE_H
#define IBQUERY_GENERATE_H

#include <stdint.h>

#include "ibquery/fabric.h"

/* Which of the shortest paths to use. */
enum routing {
    /* Up by the destination's digits, so that each destination has its own
     * tree: no two destinations share a link on the way down (as opensm's
     * ftree). The other LIDs of a destination use ports further on at each
     * level, by their offset. In families without up and down: the lowest port.
     */
    ROUTING_DMODK,
    /* Each switch uses the port with the fewest destinations so far, the lowest
     * of these. The order of destinations is random (by the seed), as opensm's
     * minhop; the first LIDs of all hosts come before the others.
     */
    ROUTING_MINHOP,
    /* Each switch picks a random port for each destination. */
    ROUTING_RANDOM,
};

/* "dmodk", "minhop", "random", NULL. */
extern const char *const routing_names[];

/* Options of all families. */
struct choice {
    enum routing routing;
    uint64_t seed;
    /* This percentage, 0 .. 90, of the hosts, of the switches and of the switch
     * links is removed at random (by the seed), and then what is cut off from
     * the largest remaining component.
     */
    unsigned int prune;
    unsigned int lmc; /* of the hosts' ports, 0 .. FABRIC_MAX_LMC */
    /* Below FABRIC_MAX_SUBNETS: the last digit of the subnet's prefix, and part
     * of the GUIDs, so that it can be joined with others. 0: no prefix.
     */
    unsigned int subnet;
    struct fabric_spread spread; /* of each switch; no groups, no entries */
};

/* The p-port q-tree: 2(p/2)^q hosts and 2q(p/2)^q cables. Groups are the
 * levels, 1 (at the hosts) to q. Of the p ports of a switch, 1 .. p/2 lead down
 * (at level q: all).
 *
 * With oversubscription k, the leaves have p/(k+1) up ports, rounded down, and
 * k times as many hosts; the rest of the tree is sized to fit.
 *
 * With r rails, a host has r adapters, each at another of r leaves in a row:
 * adapter i of all hosts of these leaves is at the i-th.
 */
struct fat_tree {
    unsigned int ports;         /* p, even: 2 .. 64 */
    unsigned int levels;        /* q: 1 .. 6 */
    struct choice how;
    unsigned int oversubscribe; /* k: 0 is 1 */
    unsigned int rails;         /* r, divides the leaves: 0 is 1 */
};
struct fabric *generate_fat_tree (const struct fat_tree *tree,
                                  struct error *err);

/* Dragonfly (Kim, Dally, Scott, Abts, ISCA 2008) of maximum size: groups of
 * `routers` that are fully connected, and one cable between any two of the
 * routers * globals + 1 groups. Minimal routes: at most one cable in the group,
 * one to the other group, and one in that.
 */
struct dragonfly {
    unsigned int hosts;   /* p, per router: 1 .. 62 */
    unsigned int routers; /* a, per group: 1 .. 62 */
    unsigned int globals; /* h, ports to other groups per router: 1 .. 62 */
    struct choice how;
};
struct fabric *generate_dragonfly (const struct dragonfly *fly,
                                   struct error *err);

/* Slim fly (Besta, Hoefler, SC 2014) on the graph of McKay, Miller, Siran (J.
 * Combin. Theory B 74, 1998) with generators after Hafner (Discrete Math. 276,
 * 2004): 2q^2 routers in two groups, each with (3q - d)/2 neighbours, for a
 * prime power q = 4w + d with d = -1, 0 or 1. Diameter 2.
 */
struct slimfly {
    unsigned int q;     /* 3 .. 41 */
    unsigned int hosts; /* per router; 0: half its neighbours, rounded up */
    struct choice how;
};
struct fabric *generate_slimfly (const struct slimfly *fly,
                                 struct error *err);

/* Irregular: a random tree of all switches, plus random cables (parallel ones
 * may occur) until a switch has `degree` on average. Hosts are unevenly
 * distributed: in the draw that places each host, a switch has zero to three
 * tickets.
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
