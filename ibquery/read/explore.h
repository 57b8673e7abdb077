/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Explore the fabric: nodes, ports, cables and forwarding tables, by directed
 * routes from the local port. Each node is asked once, however many routes lead
 * to it.
 *
 * explore_all starts with what libibnetdisc finds (netdisc.h), if it may use
 * that, and asks for what is missing. With explore_start, only the
 * description and port 0 of a node are asked for by themselves, and the rest by
 * the functions below (reach).
 *
 * Nodes are in the order in which they were found; the local node is first.
 */
#ifndef IBQUERY_EXPLORE_H
#define IBQUERY_EXPLORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ibquery/fabric.h"
#include "ibquery/read/mads.h"
#include "ibquery/read/smp.h"
#include "util/error.h"
#include "util/map.h"

#define EXPLORE_NONE UINT32_MAX

enum explore_state { EXPLORE_NOT_ASKED, EXPLORE_ASKED, EXPLORE_HERE };

struct explored_port {
    struct port_attr info;
    uint8_t raw[RATES_PORTINFO]; /* the whole PortInfo */
    uint64_t guid;         /* of an adapter's port; 0: not reached */
    struct mads_to *ahead; /* the route to its far end; NULL: not asked for */
    uint32_t far;          /* node, or EXPLORE_NONE */
    uint8_t far_port;
    bool asked, known;     /* PortInfo was requested; received */
    bool mute;             /* it is active, and its far end does not answer */
    bool used;             /* with `part`: it belongs to it */
    uint16_t dropped;      /* as in struct fabric_port */
};

struct explored_node {
    struct node_attr info;
    struct switch_attr sw;      /* of a switch */
    char desc[FABRIC_NAME_MAX + 1];
    bool described;
    struct mads_to to;
    struct explored_port *port; /* [info.nports + 1], by number */
    enum explore_state table;   /* SwitchInfo */
    struct fabric_spread spread; /* requested with SwitchInfo; no groups */
    unsigned int max_groups;    /* that it can have, and how many masks each */
    unsigned int masks;         /* of them has */
    struct explored_groups *groups; /* groups.c's */
    uint8_t *lft;               /* of a switch, in whole blocks */
    enum explore_state *block;  /* of each block */
    bool used;                  /* with `part`: it belongs to it */
};

struct explore {
    struct mads *mads;
    const struct node_names *names; /* the fabric's; NULL: none */
    struct mads_to self;
    struct explored_node **node;
    size_t nnodes;
    struct map by_guid;         /* nodes */
    bool on_demand;             /* explore_start */
    bool no_tables;             /* explore_all leaves out the tables */
    bool part;                  /* only what is `used` becomes part of the
                                   fabric */
    bool moved;                 /* explore_look: a switch has changed since its
                                   first answer */
    bool pending;               /* ... and some switch reports a change that the
                                   subnet manager has not seen */
};

/* A struct explore of zeros but for its mads and names, which the caller keeps,
 * is empty; so is one after explore_clear.
 */
void explore_clear (struct explore *e);

/* Explore everything that the local port can reach. Return 0, or -1 with err
 * (ERROR_WORLD) that names what is missing: node and port or block.
 */
int explore_all (struct explore *e, struct error *err);

/* Ask for the local node, if it is not known. Then ask a switch for its
 * SwitchInfo, for a block of its table, or for the node at the far end of a
 * port (and for PortInfo of both ends), unless already done; explore_ahead
 * returns -1 with err if the far end is too many hops away. explore_run waits
 * for the answers.
 */
int explore_start (struct explore *e, struct error *err);
void explore_table (struct explore *e, uint32_t node);
void explore_block (struct explore *e, uint32_t node, unsigned int block);
int explore_ahead (struct explore *e, uint32_t node, unsigned int port,
                   struct error *err);
int explore_run (struct explore *e, struct error *err);

/* Read SwitchInfo again from all switches that were asked for it. Return 1 if
 * nothing has changed and no switch has PortStateChange set, 0 if this is not
 * certain, -1 with err.
 */
int explore_look (struct explore *e, struct error *err);

/* Make a finished fabric; NULL with err if something is missing or
 * inconsistent: a cable with ends that disagree, a switch that no subnet
 * manager has configured. If `part` is set, it contains only what is used.
 */
struct fabric *explore_fabric (const struct explore *e, const char *source,
                               struct error *err);

static inline bool explored_is_switch (const struct explored_node *n)
{
    return n->info.type == NODE_SWITCH;
}

#endif /* IBQUERY_EXPLORE_H */
