/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The contents of a draft, for draft.c, which fills it, and join.c.
 *
 * The nodes and ports are those of the fabric that is being built. Each has a
 * note with what the fabric has no field for: the file and line that gave it.
 */
#ifndef IBQUERY_IMPORT_NOTES_H
#define IBQUERY_IMPORT_NOTES_H

#include "ibquery/import/draft.h"

enum { LIDS = FABRIC_MAX_LID + 1 };

/* For each node of the fabric; of a switch also its port 0 and its table. */
struct node_note {
    struct place at;
    struct place lid_at; /* file NULL: not given */
    struct place lft_at;
    uint64_t port_guid;
};

/* For each port of the fabric. */
struct port_note {
    struct place lid_at; /* file NULL: not given */
    int lmc;             /* or DRAFT_UNKNOWN */
    struct place at;     /* of its cable; file NULL: there is none */
    struct draft_cable cable;
};

struct table {
    struct draft_table is;
    struct place at;
    uint8_t *lft;
    size_t size;       /* of lft */
    unsigned int next; /* the lowest LID that may follow */
    size_t routes;
    bool complete;
};

/* A LID according to the topology, and according to the tables. */
struct lid {
    struct place at;     /* file NULL: no port has it */
    uint32_t node;
    uint32_t port;       /* FABRIC_NONE: the node is a switch */
    uint64_t guid;       /* of the port; 0: not given */
    uint64_t table_guid; /* or DRAFT_UNTOLD, DRAFT_SOMEBODY */
    struct place table_at; /* file NULL: in no table */
};

struct draft {
    struct fabric *f;
    struct node_note *node;
    size_t nodes; /* allocated */
    struct port_note *port;
    size_t ports; /* allocated */
    struct table *table;
    size_t ntables;
    bool in_table;
    uint64_t allowed; /* bytes that tables may still use */
    struct lid *lid;  /* [LIDS] */
};

#endif /* IBQUERY_IMPORT_NOTES_H */
