/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A fabric that is read from several files, in any order: what each file says,
 * and where, until all have been read.
 *
 * Filled by the parsers of this directory (parser.c), joined by import_finish
 * (join.c). The nodes and ports are those of the fabric that is being built.
 * Each has a note with what the fabric has no field for. What is given twice
 * must agree: a function returns -1 with err if it contradicts something that
 * was read before, and so does import_finish if the files do not match. The
 * message begins with one place and names the other.
 */
#ifndef IBQUERY_IMPORT_PARSER_H
#define IBQUERY_IMPORT_PARSER_H

#include <inttypes.h>

#include "ibquery/import/import.h"

enum {
    LIDS = FABRIC_MAX_LID + 1,
    IMPORT_UNKNOWN = -1, /* a LID or an LMC */
};

/* Where something was read. */
struct place {
    const char *file; /* its name; NULL: nowhere */
    uint64_t line;    /* from 1; 0 before the first */
};
#define PLACE "%s:%" PRIu64 /* of a place's file and line */

/* A text that another program wrote, read line by line, in memory that does not
 * grow with the text.
 */
struct scan {
    struct place at; /* of the line that scan_line returned last */
    FILE *fp;
    char *buf;
    size_t start, end; /* the part of buf that is not yet returned */
    bool eof;
};

/* The address of an adapter's port, or of port 0 of a switch. */
struct import_address {
    struct place at;  /* file NULL: not given */
    unsigned int lid;
    uint64_t guid;    /* 0: not given */
    int lmc;          /* or IMPORT_UNKNOWN */
};

/* For each node of the fabric. */
struct node_note {
    struct place at;
    struct place lft_at;
    struct import_address address; /* of a switch */
    uint32_t sections;            /* of import_csv's that have it, as bits; of
                                     a switch's port 0, too */
};

/* A cable as seen from the node's port. The far node may be added later. */
struct import_cable {
    unsigned int port;
    uint64_t far;
    unsigned int far_port;
    int far_lid;        /* or IMPORT_UNKNOWN */
    unsigned int width; /* as struct fabric_link's */
    char speed[8];
    enum port_state state;
    bool both;          /* its line describes both ends */
};

/* For each port of the fabric. */
struct port_note {
    struct import_address address;
    struct place at; /* of its cable; file NULL: there is none */
    struct import_cable cable;
    uint32_t sections;
    uint8_t fec;     /* enum fec */
    uint32_t counters; /* its number in the import's counters, from 1; 0: it has
                          none */
};

/* A forwarding table for the LIDs first to last. If it is `complete`, a LID
 * without an entry has no route. Otherwise this is not known, and LIDs of
 * adapters and routers must have an entry. `lacks_last`: the last LID may be
 * left out even of a complete table.
 */
struct import_table {
    uint64_t guid;
    unsigned int first, last;
    bool lacks_last, complete;
    struct place at;
    uint8_t *lft;
    size_t size;       /* of lft */
    unsigned int next; /* the lowest LID that may follow */
    size_t routes;
};

/* How a switch spreads messages, apart from its service levels. */
enum { IMPORT_NO_ENTRY = UINT8_MAX };
struct import_spread {
    uint64_t guid;
    struct place at;
    bool private_lfts;
    struct spread_group *group; /* [ngroups] */
    size_t ngroups;
    struct spread_entry *entry; /* [nentries] by LID; its state may be
                                   IMPORT_NO_ENTRY */
    size_t nentries;            /* 0: no file has groups and entries */
    unsigned int next_group;    /* the lowest sub-group that may follow */
};

/* A LID according to the topology, and according to the tables: then its owner
 * is the port with this GUID, or IMPORT_SOMEBODY: some port, or IMPORT_UNTOLD: it
 * is not known whether a port owns it.
 */
#define IMPORT_UNTOLD 0
#define IMPORT_SOMEBODY UINT64_MAX
struct import_lid {
    struct place at;     /* file NULL: no port has it */
    uint32_t node;
    uint32_t port;       /* FABRIC_NONE: the node is a switch */
    uint64_t guid;       /* of the port; 0: not given */
    uint64_t table_guid;
    struct place table_at; /* file NULL: in no table */
};

/* Where import_csv is. */
enum { CSV_MAX_COLUMNS = 512 };
struct import_csv {
    const struct csv_section *section; /* NULL: it is not read */
    char name[64];      /* of the section; "" in none */
    uint32_t bit;       /* its number's */
    bool header;        /* its columns are known */
    size_t ncolumns;
    uint8_t slot[CSV_MAX_COLUMNS]; /* where a column belongs */
    uint32_t seen;      /* sections, as bits */
};

struct import {
    struct pool *pool;      /* of all but the tables */
    struct fabric *f;
    struct node_note *node; /* [f->nnodes] */
    struct port_note *port; /* [f->nports] */
    struct import_table *table;
    size_t ntables;
    struct import_table *open; /* the last table, until it ends */
    uint64_t allowed;         /* bytes that tables may still use */
    struct import_spread *spread;
    size_t nspreads;
    struct import_lid *lid;    /* [LIDS] */
    struct counters *counters; /* NULL: no file has any */
    size_t nuneven;           /* cables whose ends tell different rates */
    struct place uneven;      /* ... the first of them */
    int64_t began, ended;     /* when a file with counters was written, seconds
                                 since 1970; 0 unknown */

    /* The file that is being read. */
    struct scan s;
    int64_t paragraph;          /* import_netdiscover: its node; -1: none */
    uint64_t system, port_guid; /* of the next node; 0: not given, as are */
    uint64_t vendor, device;
    struct import_csv csv;
    struct import_spread *far; /* import_far: its switch; NULL: none */
    enum { FAR_OTHER, FAR_GROUPS, FAR_TABLES, FAR_ENTRIES } far_part;
    uint64_t fdbs;            /* import_fdbs: its switch; 0: none */
    bool skip_table;          /* ... whose table here is a private one */
};

/* Parsers: one line. Then, if there is an end, what is open must end. Return 0,
 * or -1 with err.
 */
int import_netdiscover (struct import *d, char *line, struct error *err);
int import_list (struct import *d, char *line, struct error *err);
int import_lfts (struct import *d, char *line, struct error *err);
int import_lfts_end (struct import *d, struct error *err);
int import_fdbs (struct import *d, char *line, struct error *err);
int import_fdbs_end (struct import *d, struct error *err);
int import_far (struct import *d, char *line, struct error *err);
int import_far_end (struct import *d, struct error *err);
int import_plft (struct import *d, char *line, struct error *err);
int import_csv (struct import *d, char *line, struct error *err);
int import_csv_end (struct import *d, struct error *err);
int import_ber (struct import *d, char *line, struct error *err);

/* Put "FILE:LINE: " before the message in err; place_input also makes the
 * message, as error_input does, and import_fault for the line that is being
 * read. All return -1.
 */
int place_error (const struct place *at, struct error *err);
int place_input (const struct place *at, struct error *err, const char *fmt,
                 ...) __attribute__ ((format (printf, 3, 4)));
#define import_fault(d, err, ...) place_input (&(d)->s.at, err, __VA_ARGS__)

/* Take something from *p. If it is there, return true and move *p after it;
 * else the position of *p is undefined. Numbers are at most max. scan_to
 * searches for the first occurrence. A blank in words stands for any number of
 * blanks and tabs, as a terminal or a web page makes them, and '%' for digits.
 */
bool scan_text (char **p, const char *text);
bool scan_words (char **p, const char *words);
bool scan_to (char **p, const char *text);
bool scan_decimal (char **p, uint64_t max, uint64_t *value);
bool scan_hex (char **p, uint64_t max, uint64_t *value);
void scan_blanks (char **p);

/* What the line that is being read says. */

/* Add a node. Return its index, or -1. */
int64_t import_node (struct import *d, uint64_t guid, enum node_type type,
                    unsigned int nports, uint64_t system, const char *desc,
                    struct error *err);

/* Which product a node is; 0: the file does not say. */
void import_product (struct import *d, uint32_t node, uint64_t vendor,
                    uint64_t device);

/* The address of a port: of port 0 of a switch, whatever `port` is, or of a
 * port of another node.
 */
int import_address (struct import *d, uint32_t node, unsigned int port,
                   uint64_t guid, unsigned int lid, int lmc,
                   struct error *err);
int import_cable (struct import *d, uint32_t node,
                 const struct import_cable *cable, struct error *err);

/* Begin a table; add entries in ascending order of the LIDs; end it, with its
 * last LID. The owner of an entry's LID.
 */
int import_table (struct import *d, uint64_t guid, unsigned int first,
                 unsigned int last, struct error *err);
int import_route (struct import *d, unsigned int lid, unsigned int port,
                 struct error *err);
int import_table_end (struct import *d, unsigned int last, bool complete,
                     struct error *err);
int import_owner (struct import *d, unsigned int lid, uint64_t guid,
                 struct error *err);

/* How a switch spreads messages; valid until the next call. */
struct import_spread *import_spread (struct import *d, uint64_t guid);

/* Take so much of what tables may use. Return -1 with err, without a place, if
 * that is less: each entry of a file adds IMPORT_ENTRY to it.
 */
enum { IMPORT_ENTRY = 64 };
int import_allow (struct import *d, size_t bytes, struct error *err);

#endif /* IBQUERY_IMPORT_PARSER_H */
