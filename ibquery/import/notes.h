/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a draft holds, for draft.c, which writes it down, and join.c.
 *
 * The nodes and ports are those of a fabric that is being built, with a note
 * beside each of what it has no place for: who said it.
 */
#ifndef IBQUERY_IMPORT_NOTES_H
#define IBQUERY_IMPORT_NOTES_H

#include "ibquery/import/draft.h"

enum { LIDS = FABRIC_MAX_LID + 1 };

/* Of a node of the fabric; of a switch's port 0 and table. */
struct node_note {
    struct place at;
    struct place lid_at; /* file NULL: not told */
    struct place lft_at;
    uint64_t port_guid;
};

/* Of a port of the fabric. */
struct port_note {
    struct place lid_at; /* file NULL: not told */
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

/* A LID as the topology has it, and as the tables have it. */
struct lid {
    struct place at;     /* file NULL: nobody's */
    uint32_t node;
    uint32_t port;       /* FABRIC_NONE: a switch's */
    uint64_t guid;       /* of the port; 0: not told */
    uint64_t table_guid; /* or DRAFT_UNTOLD, DRAFT_SOMEBODY */
    struct place table_at; /* file NULL: in no table */
};

struct draft {
    struct fabric *f;
    struct node_note *node;
    size_t nodes; /* there is room for */
    struct port_note *port;
    size_t ports;
    struct table *table;
    size_t ntables;
    bool in_table;
    uint64_t allowed; /* bytes that tables may still take */
    struct lid *lid;  /* [LIDS] */
};

#endif /* IBQUERY_IMPORT_NOTES_H */
