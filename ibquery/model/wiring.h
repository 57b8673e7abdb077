/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Wiring: the switches, hosts and cables of a computed fabric, and its routes.
 *
 * Made by generate, for each family of fabrics, port by port; pruned, then
 * turned into a fabric. Switches and hosts are numbered from 0 by their maker,
 * and so are the ports of a switch (port 0 here is number 1 of the fabric).
 *
 * Routes are shortest paths by the cables' costs, so they have no loops; a rule
 * picks one of the equally good ports. Both hold after pruning, too. Nothing
 * checks whether buffers of switches can wait for each other in a cycle
 * (deadlock): these fabrics are for plans and simulations.
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

/* Switches with `ports` ports each, and hosts, not yet connected. `name` is for
 * errors and the fabric's source ("12-port 3-tree"). NULL with err: too many
 * ports or LIDs.
 */
struct wiring *wiring_create (const char *name, uint64_t hosts,
                              uint64_t switches, unsigned int ports,
                              struct error *err);
void wiring_destroy (struct wiring *w);

/* Set switch s to number `number` of group `group` (a level or subgraph), both
 * from 1. No two switches may be equal.
 */
void wiring_switch (struct wiring *w, unsigned int s, unsigned int group,
                    unsigned int number);

/* Join a host to a port; join two switches by a cable. The ports must be free.
 * Join each host once. cost: 1 .. WIRING_MAX_COST.
 */
void wiring_host (struct wiring *w, unsigned int host, unsigned int s,
                  unsigned int port);
void wiring_cable (struct wiring *w, unsigned int s, unsigned int port,
                   unsigned int t, unsigned int t_port, unsigned int cost);

/* The up ports of a switch, for ROUTING_DMODK: host d uses first + d / divisor
 * % count.
 */
void wiring_up (struct wiring *w, unsigned int s, unsigned int first,
                unsigned int count, unsigned int divisor);

/* Make the fabric. `how->prune` percent of the hosts, switches and switch links
 * are removed at random, and then what is cut off from the largest remaining
 * component. NULL with err if no hosts are left.
 */
struct fabric *wiring_fabric (struct wiring *w, const struct choice *how,
                              struct error *err);

#endif /* IBQUERY_WIRING_H */
