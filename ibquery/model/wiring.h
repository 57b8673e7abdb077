/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Wiring: the switches, hosts and cables of a computed fabric, and its routes.
 *
 * Made by generate, for each family of fabrics, port by port; pruned, then
 * turned into a fabric. Switches and hosts are 0 .. as their maker counts
 * them, ports of a switch too (port 0 here is number 1 of the fabric).
 *
 * Routes are shortest paths by the cables' costs, so that they never loop; a
 * rule picks among the ports that are equally good. All of them remain good
 * for whatever has been pruned. Whether the buffers of the switches can wait
 * for each other in a circle (deadlock), nobody looks into: these fabrics are
 * for plans and simulations.
 */
#ifndef IBQUERY_WIRING_H
#define IBQUERY_WIRING_H

#include <stdint.h>

#include "ibquery/model/generate.h"
#include "util/error.h"

enum {
    WIRING_MAX_PORTS = 64, /* of a switch */
    WIRING_MAX_COST = 3,
};

struct wiring;

/* Nothing but names: switches of `ports` each, not yet connected. `name` is
 * for errors and the fabric's source ("12-port 3-tree"). NULL with err: too
 * many ports, more LIDs than there are.
 */
struct wiring *wiring_create (const char *name, uint64_t hosts,
                              uint64_t switches, unsigned int ports,
                              struct error *err);
void wiring_destroy (struct wiring *w);

/* Switch s is number `number` (from 1) of a group (level, subgraph, from 1);
 * no two are the same.
 */
void wiring_switch (struct wiring *w, unsigned int s, unsigned int group,
                    unsigned int number);

/* Join a host to a port, two switches by a cable. Ports are free before. Each
 * host is joined once. cost: 1 .. WIRING_MAX_COST.
 */
void wiring_host (struct wiring *w, unsigned int host, unsigned int s,
                  unsigned int port);
void wiring_cable (struct wiring *w, unsigned int s, unsigned int port,
                   unsigned int t, unsigned int t_port, unsigned int cost);

/* Up ports of a switch, for ROUTING_DMODK: host d's is
 * first + d / divisor % count.
 */
void wiring_up (struct wiring *w, unsigned int s, unsigned int first,
                unsigned int count, unsigned int divisor);

/* The fabric, `how->prune` percent of the hosts, switches and switch-switch
 * cables removed at random, and what is then cut off from the largest rest;
 * NULL with err (no hosts are left).
 */
struct fabric *wiring_fabric (struct wiring *w, const struct choice *how,
                              struct error *err);

#endif /* IBQUERY_WIRING_H */
