/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Wiring: the switches, hosts and cables of a computed fabric, and its routes.
 *
 * Filled by generate, for each family of fabrics; pruned, then turned into a
 * fabric. Switches and hosts are numbered from 0, and so are the ports of a
 * switch (port 0 here is number 1 of the fabric).
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

enum { WIRING_MAX_PORTS = 64 /* of a switch */ };

struct wiring_switch {
    uint32_t group, number; /* a level or subgraph, and in it, from 1 */
    uint32_t first, count, divisor; /* up ports, for ROUTING_DMODK: host d uses
                                       first + d / divisor % count */
    /* wiring_fabric's: */
    uint32_t component;
    uint32_t lid;           /* 0: pruned */
    uint32_t index;         /* in the fabric */
    int32_t leaf;           /* index of its sets of ports; -1: no hosts */
};

struct wiring_host {
    uint32_t at, port;      /* switch, its port */
    uint32_t lid;           /* 0: pruned */
};

struct wiring_port {
    int32_t peer;           /* switch at the far end; -1: none */
    uint8_t number;         /* its port there */
    uint8_t cost;           /* of the cable, at least 1 */
};

struct wiring {
    struct pool *pool;
    char name[FABRIC_NAME_MAX];
    uint32_t nhosts, nswitches, nports, lids;
    uint32_t rails, each;     /* of `each` hosts in a row: the next `each` are
                                 their second adapters, and so on; 1: none has
                                 a second one */
    struct wiring_switch *sw; /* [nswitches] */
    struct wiring_host *host; /* [nhosts] */
    struct wiring_port *port; /* [nswitches * nports] */
    uint8_t *lft;             /* [nswitches * (lids + 1)] */
};

/* Switches with `ports` ports each, and hosts, not yet connected. `name` is for
 * errors and the fabric's source ("12-port 3-tree"). NULL with err: too many
 * ports or LIDs.
 */
struct wiring *wiring_create (const char *name, uint64_t hosts,
                              uint64_t switches, unsigned int ports,
                              struct error *err);

/* Join two free ports by a cable. */
void wiring_cable (struct wiring *w, unsigned int s, unsigned int port,
                   unsigned int t, unsigned int t_port, unsigned int cost);

/* Make the fabric. `how->prune` percent of the hosts, switches and switch links
 * are removed at random, and then what is cut off from the largest remaining
 * component. NULL with err if no hosts are left. Frees w.
 */
struct fabric *wiring_fabric (struct wiring *w, const struct choice *how,
                              struct error *err);

#endif /* IBQUERY_WIRING_H */
