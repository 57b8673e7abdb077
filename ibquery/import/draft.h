/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A fabric on its way from several files: what each says, and where, until all
 * have been read, in any order.
 *
 * Made by the parsers of this room, joined by draft_finish. Whatever is told
 * twice must be told alike: each function returns -1 with err where it
 * contradicts something, and draft_finish where the files do not fit one
 * another. The sentence then begins with one place and names the other.
 */
#ifndef IBQUERY_IMPORT_DRAFT_H
#define IBQUERY_IMPORT_DRAFT_H

#include "ibquery/fabric.h"
#include "ibquery/import/scan.h"

struct draft;
struct draft *draft_create (void);
void draft_destroy (struct draft *d);

/* A node; its index, or -1. */
struct draft_node {
    uint64_t guid;
    uint64_t system; /* SystemImageGUID; 0: not told */
    enum node_type type;
    unsigned int nports;
    const char *desc;
};
int64_t draft_node (struct draft *d, const struct place *at,
                    const struct draft_node *node, struct error *err);

/* The GUID and LID of a port: of a switch's port 0, or of another node's.
 * A guid of 0 and an lmc of DRAFT_UNKNOWN are not told.
 */
enum { DRAFT_UNKNOWN = -1 };
int draft_address (struct draft *d, const struct place *at, uint32_t node,
                   unsigned int port, uint64_t guid, unsigned int lid, int lmc,
                   struct error *err);

/* A cable as seen from the node's port. The far node may be told later; `both`:
 * the far end will not be told apart.
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

/* A forwarding table, of the LIDs first to last; then its entries in the order
 * of their LIDs, and its end, which may give a last LID that is less. Without
 * an entry a LID has no route where the table is `complete`; else nobody knows,
 * and hosts must have one.
 * `lacks_last`: so it is of the last LID in any case.
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

/* The table that has not ended; NULL: none. How many entries it has. */
const struct draft_table *draft_open (const struct draft *d);
size_t draft_routes (const struct draft *d);

/* Whose a LID is, as a table has it: a port's, of this GUID. DRAFT_SOMEBODY: a
 * port's, not told which; DRAFT_UNTOLD: it may be a port's.
 */
#define DRAFT_UNTOLD 0
#define DRAFT_SOMEBODY UINT64_MAX
int draft_owner (struct draft *d, const struct place *at, unsigned int lid,
                 uint64_t guid, struct error *err);

/* Join all: a finished fabric, or NULL with err. draft_destroy is due in both
 * cases.
 */
struct fabric *draft_finish (struct draft *d, const char *source,
                             struct error *err);

#endif /* IBQUERY_IMPORT_DRAFT_H */
