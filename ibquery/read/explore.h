/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Find out what is there: nodes, ports, cables and forwarding tables, by
 * directed routes from the own port; each node is asked once, whatever the
 * routes to it.
 *
 * Made by explore_all (everything). Read by explore_fabric, which checks that
 * nothing is missing, and by steady (explore_look).
 *
 * Nodes are in the order in which they were found, the own one first.
 */
#ifndef IBQUERY_EXPLORE_H
#define IBQUERY_EXPLORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ibquery/fabric.h"
#include "ibquery/read/attr.h"
#include "ibquery/read/mads.h"
#include "util/error.h"

#define EXPLORE_NONE UINT32_MAX

struct explored_port {
    struct port_attr info;
    uint8_t raw[RATES_PORTINFO]; /* the whole PortInfo */
    uint64_t guid;         /* of an adapter's; 0: it was not reached */
    struct mads_to *ahead; /* the route to its far end; NULL: not asked */
    uint32_t far;          /* node, EXPLORE_NONE */
    uint8_t far_port;
    bool known;            /* PortInfo came */
};

struct explored_node {
    struct node_attr info;
    struct switch_attr sw;      /* of a switch */
    char desc[FABRIC_NAME_MAX + 1];
    const struct mads_to *to;
    struct explored_port *port; /* [info.nports + 1], by number */
    uint8_t *lft;               /* of a switch: whole blocks */
};

struct explore {
    struct mads *mads;
    struct mads_to self;
    struct explored_node **node;
    size_t nnodes;
    uint32_t *index;            /* of nodes by GUID: a hash table */
    size_t index_size;
    bool moved;                 /* explore_look: what came first is no more */
};

/* The mads stay the caller's, and live longer. */
struct explore *explore_create (struct mads *m, struct error *err);
void explore_destroy (struct explore *e);

/* All that can be reached from the own port. Return 0, or -1 with err
 * (ERROR_WORLD) naming what did not come: node and port or block.
 */
int explore_all (struct explore *e, struct error *err);

/* Look again at what tells of a change: SwitchInfo of every switch. Return 1
 * where nothing has changed and no switch has PortStateChange set, 0 where
 * that cannot be said, -1 with err.
 */
int explore_look (struct explore *e, struct error *err);

/* EXPLORE_NONE where there is none. */
uint32_t explore_find (const struct explore *e, uint64_t guid);

/* A finished fabric; NULL with err where something is missing or does not fit
 * together: a cable of which the ends disagree, a switch that no subnet
 * manager has configured.
 */
struct fabric *explore_fabric (const struct explore *e, const char *source,
                               struct error *err);

#endif /* IBQUERY_EXPLORE_H */
