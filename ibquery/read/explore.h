/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Explore the fabric: nodes, ports, cables and forwarding tables, by directed
 * routes from the local port. Each node is asked once, however many routes lead
 * to it.
 *
 * Made by explore_all (everything), explore_places (everything but the tables)
 * and reach (what a guide asks for). The first two start with what libibnetdisc
 * finds (netdisc.h), if they may use it, and ask for what is missing: a
 * description, a PortInfo, the far end of a port that is up; and for tables.
 * Read by explore_fabric, which checks that nothing is missing, and by steady
 * (explore_look).
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

enum explore_state {
    EXPLORE_NOT_ASKED,
    EXPLORE_ASKED,
    EXPLORE_HERE,
};

struct explored_port {
    struct port_attr info;
    uint8_t raw[RATES_PORTINFO]; /* the whole PortInfo */
    uint64_t guid;         /* of an adapter's port; 0: not reached */
    struct mads_to *ahead; /* the route to its far end; NULL: not asked for */
    uint32_t far;          /* node, or EXPLORE_NONE */
    uint8_t far_port;
    bool asked, known;     /* PortInfo was requested; received */
    bool used;             /* with `part`: it belongs to it */
};

struct explored_node {
    struct node_attr info;
    struct switch_attr sw;      /* of a switch */
    char desc[FABRIC_NAME_MAX + 1];
    bool described;
    struct mads_to to;
    struct explored_port *port; /* [info.nports + 1], by number */
    enum explore_state table;   /* SwitchInfo */
    struct fabric_adaptive adaptive; /* requested with SwitchInfo */
    uint8_t *lft;               /* of a switch, in whole blocks */
    enum explore_state *block;  /* with a guide: state of each block */
    bool used;                  /* with `part`: it belongs to it */
};

/* A guide decides what is asked for. For a node that is found, only NodeInfo is
 * requested; the guide requests the rest when an answer has come. Each function
 * returns 0, or -1 with err.
 */
struct explore_guide {
    /* SwitchInfo of a switch, or a block of its table, has come. */
    int (*table) (void *arg, uint32_t node, struct error *err);
    int (*block) (void *arg, uint32_t node, unsigned int block,
                  struct error *err);
    /* The node at the far end of a port has answered; `far` is EXPLORE_NONE if
     * there was no answer. The first call is for the local node; if it is a
     * switch, port is 0.
     */
    int (*ahead) (void *arg, uint32_t node, unsigned int port,
                  struct error *err);
    void *arg;
};

struct explore {
    struct mads *mads;
    struct mads_to self;
    struct explored_node **node;
    size_t nnodes;
    struct map by_guid;         /* nodes */
    const struct explore_guide *guide;
    bool no_tables;             /* explore_places */
    bool part;                  /* only what is `used` becomes part of the
                                   fabric */
    bool moved;                 /* explore_look: a switch has changed since its
                                   first answer */
    bool pending;               /* ... and some switch reports a change that the
                                   subnet manager has not seen */
};

/* The caller keeps the mads, which must outlive the result. */
struct explore *explore_create (struct mads *m);
void explore_destroy (struct explore *e);

/* Discard everything. */
void explore_clear (struct explore *e);

/* Explore everything that the local port can reach. Return 0, or -1 with err
 * (ERROR_WORLD) that names what is missing: node and port or block.
 */
int explore_all (struct explore *e, struct error *err);

/* The same without the switches' tables. */
int explore_places (struct explore *e, struct error *err);

/* Explore what the guide asks for. The guide is not used after the return. What
 * is known already is not requested again.
 */
int explore_by (struct explore *e, const struct explore_guide *guide,
                struct error *err);

/* For a guide: ask a switch for its SwitchInfo, for a block of its table, or
 * for the node at the far end of a port (and for PortInfo of both ends), unless
 * already done. explore_ahead returns 0, or -1 with err if the far end is too
 * many hops away.
 */
void explore_table (struct explore *e, uint32_t node);
void explore_block (struct explore *e, uint32_t node, unsigned int block);
int explore_ahead (struct explore *e, uint32_t node, unsigned int port,
                   struct error *err);

/* Read SwitchInfo again from all switches that were asked for it. Return 1 if
 * nothing has changed and no switch has PortStateChange set, 0 if this is not
 * certain, -1 with err.
 */
int explore_look (struct explore *e, struct error *err);

/* EXPLORE_NONE if there is no such node. */
uint32_t explore_find (const struct explore *e, uint64_t guid);

/* Make a finished fabric; NULL with err if something is missing or
 * inconsistent: a cable with ends that disagree, a switch that no subnet
 * manager has configured. If `part` is set, it contains only what is used.
 */
struct fabric *explore_fabric (const struct explore *e, const char *source,
                               struct error *err);

#endif /* IBQUERY_EXPLORE_H */
