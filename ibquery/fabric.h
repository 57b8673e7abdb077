/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fabric as plain arrays: nodes, ports, links, forwarding tables.
 *
 * Made by discover (live), snapshot (file), generate (models). Read by walk,
 * the emulator and the reports. File: pmm-fabric(5).
 *
 * Everything refers to everything else by index; FABRIC_NONE is no index.
 * After fabric_finish () nothing changes any more, and:
 * nodes are sorted by GUID; links by the GUID and port of their smaller end;
 * hosts by name.
 *
 * Who is a host, and what it is called, is ibquery/hosts.h's. Every text in
 * here is printable ASCII.
 *
 * A port of LMC > 0 has 2^LMC LIDs, each of which is routed on its own. What
 * messages are sent to and paths lead between are therefore *ends*: an endpoint
 * by one of its LIDs, the numbers of the network (core/paths). End i is
 * endpoint i by its base LID, called as the endpoint; its other LIDs are
 * behind all endpoints, called "h0001~1" by their distance from the base. On
 * the wire (probe/) a message takes its way by LIDs alone: the ends of a port
 * are one process's, on one queue pair.
 */
#ifndef IBQUERY_FABRIC_H
#define IBQUERY_FABRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/paths/paths.h"
#include "util/error.h"
#include "util/map.h"
#include "util/rates.h"

#define FABRIC_NONE UINT32_MAX

enum {
    FABRIC_MAX_NODES = 1 << 20,
    FABRIC_MAX_PORTS = 1 << 22, /* of all nodes */
    FABRIC_MAX_LID = 0xbfff, /* the last unicast LID */
    LFT_NO_ROUTE = 0xff,
    FABRIC_NAME_MAX = 64,    /* bytes of a NodeDescription */
    FABRIC_MAX_WARNINGS = 100,
    FABRIC_MAX_LMC = 7,
};

enum node_type {
    NODE_CA = 1,
    NODE_SWITCH = 2,
    NODE_ROUTER = 3,
};

/* A port's state, as PortInfo has it. */
enum port_state {
    PORT_UNKNOWN = 0,
    PORT_DOWN = 1,
    PORT_INIT = 2,
    PORT_ARMED = 3,
    PORT_ACTIVE = 4,
};

/* The service levels, bit by bit, on which a switch sends messages another way
 * than its table says, as it likes, by what carries them.
 */
struct fabric_adaptive {
    bool known;  /* it has told */
    uint16_t ud, rc;
};

struct fabric_node {
    uint64_t guid;
    uint64_t system;     /* SystemImageGUID: the chassis or card that it is a
                            part of; 0 unknown */
    enum node_type type;
    char *desc;          /* NodeDescription, cleaned */
    char *name;          /* what texts call it: its description, where others
                            have that too with its GUID behind it; never "" */
    uint8_t nports;      /* external ports 1 .. nports */
    uint16_t lid;        /* switch: of port 0 */
    uint32_t first_port; /* port[first_port + n - 1] is number n */
    uint32_t host;       /* CA: into hosts; FABRIC_NONE: no host (SHARP) */
    uint8_t level;       /* switch: as ibquery/hosts.h says */
    struct fabric_adaptive adaptive; /* switch */
    uint16_t lft_top;    /* switch: last LID of its table */
    uint8_t *lft;        /* [lft_top + 1] port by LID, LFT_NO_ROUTE */
};

struct fabric_port {
    uint32_t node;
    uint8_t num;
    uint64_t guid;       /* CA ports; a switch's are its node's */
    uint16_t lid;        /* CA ports; 0: none yet */
    uint8_t lmc;
    uint8_t state;       /* enum port_state */
    uint32_t link;       /* FABRIC_NONE: not connected */
    struct port_rates rates; /* of its cable; what is not told is empty */
};

struct fabric_link {
    uint32_t a, b;       /* ports; a is the smaller end, its id the link's */
    char id[24];         /* "%016x/%u" */
    enum link_kind kind;
    uint8_t width;       /* lanes: 1, 2, 4, 8, 12; 0 unknown */
    char speed[8];       /* SDR DDR QDR FDR10 FDR EDR HDR NDR XDR, "" unknown */
    bool internal;       /* both ends are in one chassis or card */
    uint32_t class_id;
};

struct fabric_endpoint {
    uint32_t port;
    uint32_t host;
    char *name;          /* "host", or "host:1", "host:2" where it has
                            several */
    uint32_t more;       /* first end of its other LIDs, 2^LMC - 1 of them */
};

struct fabric_end {
    uint32_t endpoint;
    uint16_t lid;
    char *name;          /* "host:2~1"; the endpoint's for its base LID */
};

struct fabric_host {
    char *name;
    uint32_t first, count; /* of its endpoints, rails in the order of their
                              port GUIDs */
};

struct fabric_walk; /* walk.c's */

struct fabric {
    char *source;        /* where it is from: "mlx5_0/1", "generate ..." */
    int64_t time;        /* when it was read, seconds since 1970; 0 unknown */
    uint64_t subnet;     /* the prefix of its GIDs; 0 unknown */
    bool part;           /* no more than the paths between its hosts use */
    struct fabric_node *node;
    size_t nnodes;
    struct fabric_port *port;
    size_t nports;
    struct fabric_link *link;
    size_t nlinks;
    struct fabric_endpoint *endpoint;
    size_t nendpoints;
    struct fabric_end *end;
    size_t nends;        /* from nendpoints on: of other LIDs than the base */
    struct fabric_host *host;
    size_t nhosts;
    char **class_name;   /* by class_id: "host 4xHDR", "switch 1-2 4xHDR" */
    size_t nclasses;
    char **warning;      /* what is odd but not wrong */
    size_t nwarnings;
    char hash[33];       /* of topology and LFTs, hex */
    struct link_info *link_info; /* [nlinks], what core sees of the links */
    struct fabric_walk *walk;
    struct map by_guid;  /* nodes */
};

/* Build: nodes in any order, then cables, then fabric_finish.
 *
 * fabric_add_node returns the node's index (valid until fabric_finish sorts),
 * or -1 with err: a GUID twice, no ports. fabric_add_cable joins two ports by
 * node index and port number; -1 with err where one is taken or out of range,
 * or width or speed is none that struct fabric_link knows. A state that is
 * none of enum port_state is unknown. fabric_set_lft takes a copy. Texts are
 * copied, cleaned and cut.
 */
struct fabric *fabric_create (void);
void fabric_destroy (struct fabric *f);
int64_t fabric_add_node (struct fabric *f, uint64_t guid, enum node_type type,
                         unsigned int nports, const char *desc,
                         struct error *err);
int fabric_set_switch_lid (struct fabric *f, uint32_t node, uint16_t lid,
                           struct error *err);
int fabric_set_port (struct fabric *f, uint32_t node, unsigned int port,
                     uint64_t guid, uint16_t lid, unsigned int lmc,
                     struct error *err);
int fabric_set_rates (struct fabric *f, uint32_t node, unsigned int port,
                      const struct port_rates *rates, struct error *err);
void fabric_set_system (struct fabric *f, uint32_t node, uint64_t system);
int fabric_set_state (struct fabric *f, uint32_t node, unsigned int port,
                      enum port_state state, struct error *err);
int fabric_set_adaptive (struct fabric *f, uint32_t node, uint16_t ud,
                         uint16_t rc, struct error *err);
int fabric_add_cable (struct fabric *f, uint32_t node_a, unsigned int port_a,
                      uint32_t node_b, unsigned int port_b,
                      unsigned int width, const char *speed,
                      struct error *err);
int fabric_set_lft (struct fabric *f, uint32_t node, const uint8_t *lft,
                    unsigned int top, struct error *err);
void fabric_set_source (struct fabric *f, const char *source, int64_t time);

/* Say what is odd; the same text twice counts once, and more than
 * FABRIC_MAX_WARNINGS are not kept.
 */
void fabric_warn (struct fabric *f, const char *fmt, ...)
    __attribute__ ((format (printf, 2, 3)));

/* Sort, check (LIDs unique and aligned), name hosts and endpoints, find levels
 * and classes, hash. Return 0, or -1 with err; the fabric is then good for
 * fabric_destroy alone.
 *
 * The hash covers nodes, cables, LIDs and, for the LIDs that exist, the
 * forwarding tables. Names, widths, speeds and states are left out: a cable
 * that trained slower is the same cable, and its baseline holds.
 */
int fabric_finish (struct fabric *f, struct error *err);

/* Look up; FABRIC_NONE where there is none. fabric_find_node works while the
 * fabric is built, too. fabric_find_endpoint takes a host's name for its first
 * rail; fabric_find_end the same names, and with "~1" and so on behind them
 * ("~0" is the base LID's). fabric_find_link takes either end as "guid/port"
 * (so a link id, too) or as "NAME/PORT" with a host's name, what texts call the
 * node, or a description that is unique; fabric_find_port the same, for that
 * end's port. fabric_find_switch takes a GUID or such a name, for a node.
 */
uint32_t fabric_find_node (const struct fabric *f, uint64_t guid);
uint32_t fabric_find_host (const struct fabric *f, const char *name);
uint32_t fabric_find_endpoint (const struct fabric *f, const char *name);
uint32_t fabric_find_end (const struct fabric *f, const char *name);
uint32_t fabric_find_link (const struct fabric *f, const char *text);
uint32_t fabric_find_port (const struct fabric *f, const char *text);
uint32_t fabric_find_switch (const struct fabric *f, const char *text);

/* "ca", "switch", "router". */
const char *fabric_type_name (enum node_type type);

/* "unknown", "down", "init", "armed", "active"; the other way round, -1 for
 * another name.
 */
const char *fabric_state_name (enum port_state state);
int fabric_find_state (const char *name);

/* Whether a cable carries messages, as far as is known. */
bool fabric_is_up (const struct fabric *f, const struct fabric_link *l);

/* Write "4xHDR", "4x?" or "": what is known of width and speed. */
void fabric_rate_name (const struct fabric_link *l, char *buf, size_t size);

/* Make names of nodes different: "-" and the node's GUID go behind those that
 * are alike, of which the ends are cut to keep them below FABRIC_NAME_MAX.
 * Names are replaced in place; node[i] is of name[i].
 */
void fabric_tell_apart (const struct fabric *f, char **name,
                        const uint32_t *node, size_t n);

/* Write "h0001 mlx5_0/1" or "leaf 1/12": an end of a link, for people. */
void fabric_port_name (const struct fabric *f, uint32_t port, char *buf,
                       size_t size);

/* An end of an endpoint: by the LID so far from its base, below 2^LMC. */
uint32_t fabric_end_of (const struct fabric *f, uint32_t endpoint,
                        unsigned int offset);

/* The paths between named hosts: `names` are hosts (all of their endpoints),
 * endpoints, or ends; n == 0 means every host. Who is not named by a LID is
 * there by the base LID; fabric_pathset_lids has such endpoints by all of their
 * LIDs. NULL with err naming who is not in the fabric. fabric_resolve is a
 * pathset_resolve_f whose `arg` is the fabric. Implemented by walk.c.
 * fabric_network is good after fabric_finish and as long as the fabric; an
 * endpoint's id in a set is its end.
 */
const struct network *fabric_network (const struct fabric *f);
struct pathset *fabric_pathset_lids (const struct fabric *f,
                                     const char *const *name, size_t n,
                                     struct error *err);
struct pathset *fabric_pathset (const struct fabric *f,
                                const char *const *name, size_t n,
                                struct error *err);
struct pathset *fabric_resolve (const char *const *name, size_t n, void *arg,
                                struct error *err);

#endif /* IBQUERY_FABRIC_H */
