/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Find out what is there: nodes, ports, cables and forwarding tables, by
 * directed routes from the own port; each node is asked once, whatever the
 * routes to it.
 *
 * Made by explore_all (everything), explore_places (all but the tables) and
 * reach (what a guide asks for). The first two begin with what libibnetdisc
 * finds (netdisc.h), where they may, and ask for what it has left out: a
 * description, a PortInfo, the far end of a port that is up; and for tables.
 * Read by explore_fabric, which checks that nothing is missing, and by steady
 * (explore_look).
 *
 * Nodes are in the order in which they were found, the own one first.
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
    uint64_t guid;         /* of an adapter's; 0: it was not reached */
    struct mads_to *ahead; /* the route to its far end; NULL: not asked */
    uint32_t far;          /* node, EXPLORE_NONE */
    uint8_t far_port;
    bool asked, known;     /* PortInfo is asked for; came */
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
    struct fabric_adaptive adaptive; /* asked with it */
    uint8_t *lft;               /* of a switch: whole blocks */
    enum explore_state *block;  /* with a guide: of each block */
    bool used;                  /* with `part`: it belongs to it */
};

/* Who decides what is asked: of a node that is found, no more than who it is,
 * and the rest where the guide asks for it when something has come. Each
 * returns 0, or -1 with err.
 */
struct explore_guide {
    /* SwitchInfo of a switch, and a block of its table. */
    int (*table) (void *arg, uint32_t node, struct error *err);
    int (*block) (void *arg, uint32_t node, unsigned int block,
                  struct error *err);
    /* Who is at the far end of a port; `far` is EXPLORE_NONE where nobody
     * answers. Of the own node, this comes first; port 0: it is a switch.
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
    bool part;                  /* only what is `used` is of interest */
    bool moved;                 /* explore_look: what came first is no more */
    bool pending;               /* ... and some switch has a change that the
                                   subnet manager has not seen */
};

/* The mads stay the caller's, and live longer. */
struct explore *explore_create (struct mads *m);
void explore_destroy (struct explore *e);

/* Forget everything. */
void explore_clear (struct explore *e);

/* All that can be reached from the own port. Return 0, or -1 with err
 * (ERROR_WORLD) naming what did not come: node and port or block.
 */
int explore_all (struct explore *e, struct error *err);

/* The same without the switches' tables. */
int explore_places (struct explore *e, struct error *err);

/* What the guide asks for, which is no longer needed afterwards; what is known
 * already is not asked for again.
 */
int explore_by (struct explore *e, const struct explore_guide *guide,
                struct error *err);

/* For a guide: ask a switch for its SwitchInfo, for a block of its table, or
 * who is at the far end of a port (and for PortInfo of both ends), if that
 * has not been asked. The last returns 0, or -1 with err: it is too far away.
 */
void explore_table (struct explore *e, uint32_t node);
void explore_block (struct explore *e, uint32_t node, unsigned int block);
int explore_ahead (struct explore *e, uint32_t node, unsigned int port,
                   struct error *err);

/* Look again at what tells of a change: SwitchInfo of all switches that have
 * been asked for it. Return 1 where nothing has changed and no switch has
 * PortStateChange set, 0 where that cannot be said, -1 with err.
 */
int explore_look (struct explore *e, struct error *err);

/* EXPLORE_NONE where there is none. */
uint32_t explore_find (const struct explore *e, uint64_t guid);

/* A finished fabric; NULL with err where something is missing or does not fit
 * together: a cable of which the ends disagree, a switch that no subnet
 * manager has configured. Where `part` is set, it is one of what is used.
 */
struct fabric *explore_fabric (const struct explore *e, const char *source,
                               struct error *err);

#endif /* IBQUERY_EXPLORE_H */
