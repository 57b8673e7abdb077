/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A fabric that is read from several files, in any order: what each file says,
 * and where, until all have been read.
 *
 * Filled by the parsers of this directory, joined by draft_finish. What is
 * given twice must agree: a function returns -1 with err if it contradicts
 * something that was read before, and so does draft_finish if the files do not
 * match. The message begins with one place and names the other.
 */
#ifndef IBQUERY_IMPORT_DRAFT_H
#define IBQUERY_IMPORT_DRAFT_H

#include "ibquery/fabric.h"
#include "ibquery/import/scan.h"

struct draft;
struct draft *draft_create (void);
void draft_destroy (struct draft *d);

/* Add a node. Return its index, or -1. */
struct draft_node {
    uint64_t guid;
    uint64_t system; /* SystemImageGUID; 0: not given */
    enum node_type type;
    unsigned int nports;
    const char *desc;
};
int64_t draft_node (struct draft *d, const struct place *at,
                    const struct draft_node *node, struct error *err);

/* The GUID and LID of a port: of port 0 of a switch, or of a port of another
 * node. A guid of 0 and an lmc of DRAFT_UNKNOWN mean: not given.
 */
enum { DRAFT_UNKNOWN = -1 };
int draft_address (struct draft *d, const struct place *at, uint32_t node,
                   unsigned int port, uint64_t guid, unsigned int lid, int lmc,
                   struct error *err);

/* A cable as seen from the node's port. The far node may be added later.
 * `both`: this line describes both ends.
 */
struct draft_cable {
    unsigned int port;
    uint64_t far;
    unsigned int far_port;
    int far_lid;        /* or DRAFT_UNKNOWN */
    unsigned int width; /* as struct fabric_link's */
    char speed[8];
    enum port_state state;
    bool both;
};
int draft_cable (struct draft *d, const struct place *at, uint32_t node,
                 const struct draft_cable *cable, struct error *err);

/* A forwarding table for the LIDs first to last. draft_table begins it,
 * draft_route adds entries in ascending order of the LIDs, and draft_table_end
 * ends it; the latter may give a smaller last LID. If the table is `complete`,
 * a LID without an entry has no route. Otherwise this is not known, and LIDs of
 * adapters and routers must have an entry. `lacks_last`: the last LID may be
 * left out even of a complete table.
 */
struct draft_table {
    uint64_t guid;
    unsigned int first, last;
    bool lacks_last;
};
int draft_table (struct draft *d, const struct place *at,
                 const struct draft_table *table, struct error *err);
int draft_route (struct draft *d, const struct place *at, unsigned int lid,
                 unsigned int port, struct error *err);
int draft_table_end (struct draft *d, unsigned int last, bool complete,
                     struct error *err);

/* The table that has not ended, or NULL. How many entries the last table has.
 */
const struct draft_table *draft_open (const struct draft *d);
size_t draft_routes (const struct draft *d);

/* The owner of a LID according to a table: the port with this GUID.
 * DRAFT_SOMEBODY: some port, the table does not say which. DRAFT_UNTOLD: the
 * table does not say whether a port owns it.
 */
#define DRAFT_UNTOLD 0
#define DRAFT_SOMEBODY UINT64_MAX
int draft_owner (struct draft *d, const struct place *at, unsigned int lid,
                 uint64_t guid, struct error *err);

/* Join everything. Return a finished fabric, or NULL with err. The caller calls
 * draft_destroy in both cases.
 */
struct fabric *draft_finish (struct draft *d, const char *source,
                             struct error *err);

#endif /* IBQUERY_IMPORT_DRAFT_H */
