/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fabric as plain arrays: nodes, ports, links, forwarding tables.
 *
 * Made by discover (live), snapshot (file), generate (models). Read by walk,
 * the emulator and the reports. File: pmm-fabric(5).
 *
 * References are indices; FABRIC_NONE is no index. After fabric_finish ()
 * nothing changes any more, and: nodes are sorted by GUID; links by the GUID
 * and port of their smaller end; hosts by name. Every text is printable ASCII.
 *
 * A port with LMC > 0 has 2^LMC LIDs, and each is routed separately. So paths
 * lead between *ends*: an end is an endpoint with one of its LIDs, and ends are
 * the endpoint ids of the network (core/paths). End i is endpoint i with its
 * base LID and has its name. The ends of the other LIDs follow after all
 * endpoints; they are named "h0001~1" by the distance from the base LID.
 *
 * Snapshots of several subnets can be joined to one fabric. Then LIDs are
 * unique in a subnet only, there is no path between subnets, and an adapter
 * with ports in two of them is one node.
 */
#ifndef IBQUERY_FABRIC_H
#define IBQUERY_FABRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/paths/paths.h"
#include "util/error.h"
#include "util/map.h"
#include "util/pool.h"
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
    FABRIC_MAX_LRTL = 0xfffffe, /* of 24 bits; all ones: none was measured */
    FABRIC_MAX_SUBNETS = 16,
    FABRIC_MAX_GROUPS = 1 << 12, /* of ports, of a switch */
    FABRIC_MAX_VENDOR = 0xffffff, /* of 24 bits */
};

enum node_type { NODE_CA = 1, NODE_SWITCH = 2, NODE_ROUTER = 3 };

/* A port's state, as in PortInfo. */
enum port_state {
    PORT_UNKNOWN = 0,
    PORT_DOWN = 1,
    PORT_INIT = 2,
    PORT_ARMED = 3,
    PORT_ACTIVE = 4,
};

/* How a switch spreads messages over several ports, as it reports it. Bit i of
 * a mask: on service level i.
 */
enum spread_state {
    SPREAD_BOUNDED,
    SPREAD_FREE,
    SPREAD_STATIC,     /* to the port alone; else to any of the group, */
    SPREAD_HASHED,     /* by a hash even where others are adaptive */
};

struct spread_entry {
    uint8_t state;
    uint8_t port;      /* the static port, as in struct fabric_node's lft */
    uint16_t group;    /* below ngroups; 0 if static */
};

struct spread_group {
    uint64_t port[4];  /* bit p % 64 of word p / 64: port p */
};

struct fabric_spread {
    bool known;        /* the switch has reported it */
    bool recovery;     /* fast recovery: it avoids ports whose link fails */
    bool private_lfts; /* it has several tables, one by service level */
    uint16_t ud, rc;   /* adaptive: datagrams; reliable connections */
    uint16_t hashed;   /* by a hash of their addresses, if not adaptive */
    uint16_t ngroups;
    struct spread_group *group; /* [ngroups] */
    struct spread_entry *entry; /* [lft_top + 1] by LID; NULL: not known */
};

struct fabric_node {
    uint64_t guid;
    uint64_t system;     /* SystemImageGUID of its chassis or card; 0 unknown */
    uint32_t vendor;     /* VendorID and DeviceID, which a product has: */
    uint16_t device;     /* 0 unknown */
    enum node_type type;
    char *desc;          /* NodeDescription, cleaned */
    char *name;          /* for texts: its description, plus its GUID if others
                            have the same; never "" */
    uint8_t nports;      /* external ports 1 .. nports */
    uint16_t lid;        /* switch: of port 0 */
    uint32_t first_port; /* port[first_port + n - 1] is number n */
    uint32_t host;       /* CA: index into hosts; FABRIC_NONE: not a host
                            (SHARP) */
    uint8_t level;       /* switch: see ibquery/hosts.h */
    struct fabric_spread spread; /* switch; owns its arrays */
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
    uint8_t subnet;      /* below nsubnets; a switch's ports are all in one */
    uint32_t link;       /* FABRIC_NONE: not connected */
    uint16_t dropped;    /* service levels, as bits, whose messages its
                            SL-to-VL tables drop, as far as known */
    struct port_rates rates; /* of its cable; empty: not known */
    uint32_t lrtl;       /* LinkRoundTripLatency of its cable, in a unit of the
                            port's own; 0: not known */
    char *plug;          /* what its end of the cable says of itself, cleaned:
                            vendor, part, serial number; NULL: not known */
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
    char *name;          /* "host", or "host:1", "host:2" if it has several */
    char *rail;          /* "mlx5_3/1": its adapter and port as the adapter's
                            description has them after the host's name; NULL:
                            not known, or the host has only this one */
    uint32_t more;       /* first end of its other LIDs; there are 2^LMC - 1 */
};

struct fabric_end {
    uint32_t endpoint;
    uint16_t lid;
    char *name;          /* "host:2~1"; for the base LID the endpoint's name */
};

struct fabric_host {
    char *name;
    uint32_t first, count; /* of its endpoints; the rails are sorted by port
                              GUID */
};

struct fabric_walk; /* walk.c's */
struct node_names;

struct fabric {
    char *source;        /* origin: "mlx5_0/1", "generate ..." */
    int64_t time;        /* when it was read, seconds since 1970; 0 unknown */
    uint64_t subnet;     /* the prefix of its GIDs; 0 unknown, or several: */
    uint64_t prefix[FABRIC_MAX_SUBNETS]; /* [nsubnets] ascending */
    size_t nsubnets;     /* if it was joined; else 0 */
    const struct node_names *names; /* for nodes that are added, in place of
                            their descriptions; the caller's; NULL: none, as
                            after fabric_finish */
    bool part;           /* only what the paths between its hosts use */
    struct fabric_node *node;
    size_t nnodes;
    struct fabric_port *port;
    size_t nports;
    struct fabric_link *link;
    size_t nlinks;
    struct fabric_endpoint *endpoint;
    size_t nendpoints;
    struct fabric_end *end;
    size_t nends;        /* from nendpoints on: LIDs other than the base */
    struct fabric_host *host;
    size_t nhosts;
    char **class_name;   /* by class_id: "host 4xHDR", "switch 1-2 4xHDR" */
    size_t nclasses;
    char **warning;      /* what is unusual but not wrong */
    size_t nwarnings;
    char hash[33];       /* of topology and LFTs, hex; of the parts' hashes */
    struct link_info *link_info; /* [nlinks], the links as core sees them */
    struct fabric_walk *walk;
    struct pool *pool;   /* of texts and tables */
    struct map by_guid;  /* nodes */
    struct map by_port_guid; /* endpoints */
};

/* Build: nodes in any order, then cables, then fabric_finish.
 *
 * fabric_add_node returns the node's index (valid until fabric_finish sorts).
 * All return -1 (fabric_port_at NULL) with err for what cannot be: a GUID that
 * is taken, a port that is taken or out of range, a width or speed that is none
 * of struct fabric_link, a group that is used and has no ports. Tables are
 * copied; texts, too, cleaned and cut. A switch's groups, and an entry for each
 * LID of its lft, follow its lft. The caller sets a node's system, vendor,
 * device and spread, and a port's dropped, rates, lrtl and state.
 */
struct fabric *fabric_create (void);
void fabric_destroy (struct fabric *f);
int64_t fabric_add_node (struct fabric *f, uint64_t guid, enum node_type type,
                         unsigned int nports, const char *desc,
                         struct error *err);
int fabric_set_switch_lid (struct fabric *f, uint32_t node, uint16_t lid,
                           struct error *err);
struct fabric_port *fabric_port_at (struct fabric *f, uint32_t node,
                                    unsigned int port, struct error *err);
int fabric_set_port (struct fabric *f, uint32_t node, unsigned int port,
                     uint64_t guid, uint16_t lid, unsigned int lmc,
                     struct error *err);
void fabric_set_plug (struct fabric *f, struct fabric_port *p,
                      const char *text);
int fabric_add_cable (struct fabric *f, uint32_t node_a, unsigned int port_a,
                      uint32_t node_b, unsigned int port_b,
                      unsigned int width, const char *speed,
                      struct error *err);
int fabric_set_lft (struct fabric *f, uint32_t node, const uint8_t *lft,
                    unsigned int top, struct error *err);
int fabric_set_groups (struct fabric *f, uint32_t node,
                       const struct spread_group *group, size_t ngroups,
                       const struct spread_entry *entry, struct error *err);
void fabric_set_source (struct fabric *f, const char *source, int64_t time);

/* Add a warning. The same text is kept once; warnings beyond
 * FABRIC_MAX_WARNINGS are dropped.
 */
void fabric_warn (struct fabric *f, const char *fmt, ...)
    __attribute__ ((format (printf, 2, 3)));

/* Sort, check (LIDs unique and aligned), name hosts and endpoints, find levels
 * and classes, hash. Return 0, or -1 with err; after an error only
 * fabric_destroy may be called.
 *
 * The hash covers nodes, cables, LIDs and, for the LIDs that exist, the
 * forwarding tables. It does not cover names, widths, speeds and states: a
 * cable that trained slower is the same cable, and its baseline stays valid.
 * Nor how switches spread messages: on a level that is not spread, the same
 * samples mean the same paths, and samples say whether their level was; and
 * whoever did not answer must not make another fabric.
 */
int fabric_finish (struct fabric *f, struct error *err);

/* Join n > 1 finished fabrics, which are changed and still to be destroyed: one
 * for each subnet; name[i] is what err calls part[i]. NULL with err: a part's
 * prefix is not known or is that of another one, or the parts contradict each
 * other.
 */
struct fabric *fabric_join (struct fabric *const *part,
                            const char *const *name, size_t n,
                            struct error *err);

/* Look up; FABRIC_NONE if there is no match. fabric_find_node also works while
 * the fabric is being built; fabric_by_guid takes the 16 digits of its GUID.
 * fabric_host_named takes a host's name also without its domain, if only one
 * host has that: so do all that follow. fabric_hosts_named returns how many
 * have it, and the host if that is one.
 * fabric_find_endpoint takes a host's name for its first rail,
 * fabric_find_guid the GUID of its port, fabric_endpoint_at its adapter's GUID
 * and its port's number. fabric_find_end takes the same names, also with "~1"
 * etc. appended ("~0" is the base LID). fabric_find_link takes either end as
 * "guid/port" (so also a link id) or as "NAME/PORT"; NAME is a host's name, the
 * node's name in texts, or a unique description. fabric_find_port takes the
 * same and returns that end's port. fabric_find_switch takes a GUID or such a
 * name and returns the node.
 */
uint32_t fabric_find_node (const struct fabric *f, uint64_t guid);
uint32_t fabric_by_guid (const struct fabric *f, const char *digits);
uint32_t fabric_find_host (const struct fabric *f, const char *name);
uint32_t fabric_host_named (const struct fabric *f, const char *name);
size_t fabric_hosts_named (const struct fabric *f, const char *name,
                           uint32_t *first);
uint32_t fabric_find_endpoint (const struct fabric *f, const char *name);
uint32_t fabric_find_guid (const struct fabric *f, uint64_t guid);
uint32_t fabric_endpoint_at (const struct fabric *f, uint64_t node_guid,
                             unsigned int port);
uint32_t fabric_find_end (const struct fabric *f, const char *name);
uint32_t fabric_find_link (const struct fabric *f, const char *text);
uint32_t fabric_find_port (const struct fabric *f, const char *text);
uint32_t fabric_find_switch (const struct fabric *f, const char *text);

/* "ca", "switch", "router". */
const char *fabric_type_name (enum node_type type);

/* "unknown", "down", "init", "armed", "active". fabric_find_state is the
 * reverse; -1 for any other name.
 */
const char *fabric_state_name (enum port_state state);
int fabric_find_state (const char *name);

/* The port at the far end of a port's cable; FABRIC_NONE if it has none. The
 * port to which a node forwards a LID, or LFT_NO_ROUTE.
 */
static inline uint32_t fabric_far_port (const struct fabric *f, uint32_t port)
{
    uint32_t link = f->port[port].link;

    return link == FABRIC_NONE       ? FABRIC_NONE
           : f->link[link].a == port ? f->link[link].b
                                     : f->link[link].a;
}

static inline unsigned int fabric_entry (const struct fabric_node *n,
                                         unsigned int lid)
{
    return n->lft && lid <= n->lft_top ? n->lft[lid] : LFT_NO_ROUTE;
}

/* The prefix of a port's GID; 0: not known. */
static inline uint64_t fabric_prefix (const struct fabric *f,
                                      const struct fabric_port *port)
{
    return f->nsubnets > 0 ? f->prefix[port->subnet] : f->subnet;
}

/* Whether the fabric is of the subnet with that prefix, or may be, as one of
 * the two is not known.
 */
bool fabric_has_subnet (const struct fabric *f, uint64_t prefix);

/* Whether a cable carries messages, as far as known. */
bool fabric_is_up (const struct fabric *f, const struct fabric_link *l);

/* The width and speed of a cable, as far as known; as text: "4xHDR", "4x?" or
 * "".
 */
static inline struct rates fabric_rate (const struct fabric_link *l)
{
    return rates_of (l->width, l->speed);
}

void fabric_rate_name (const struct fabric_link *l, char buf[RATES_TEXT]);

/* Make names of nodes unique: append "-" and the node's GUID to those that are
 * equal; names are cut to stay below FABRIC_NAME_MAX. Names are replaced in
 * place, by those of the pool; name[i] belongs to node[i].
 */
void fabric_tell_apart (const struct fabric *f, struct pool *pool, char **name,
                        const uint32_t *node, size_t n);

/* Write an end of a link for people: "h0001 mlx5_0/1" or "leaf 1/12". Returns
 * buf; PORT_NAME is for use in one printf.
 */
char *fabric_port_name (const struct fabric *f, uint32_t port, char *buf,
                        size_t size);
enum { FABRIC_PORT_NAME = FABRIC_NAME_MAX + 8 };
#define PORT_NAME(f, port)                                                    \
    fabric_port_name ((f), (port), (char[FABRIC_PORT_NAME]){ 0 },             \
                      FABRIC_PORT_NAME)

/* Write what the ends of a cable say of themselves, once if it is the same:
 * "Mellanox MCP1600-E001E30 serial MT2043VS01234"; else "X -- Y", a's first, and
 * "?" for one that is not known. "" if neither is.
 */
enum { FABRIC_PLUGS = 2 * FABRIC_NAME_MAX + 8 };
char *fabric_plugs (const struct fabric *f, uint32_t link,
                    char buf[FABRIC_PLUGS]);

/* The end of an endpoint for the LID at this offset from its base, below 2^LMC.
 */
uint32_t fabric_end_of (const struct fabric *f, uint32_t endpoint,
                        unsigned int offset);

/* The paths between named hosts. A name is a host (all of its endpoints), an
 * endpoint, or an end; n == 0 means every host. An endpoint without an explicit
 * LID stands for its base LID, but in fabric_pathset_lids for all of its LIDs.
 * NULL with err that gives the name that is not in the fabric. fabric_resolve
 * is a pathset_resolve_f; its `arg` is the fabric.
 * fabric_network is valid after fabric_finish, as long as the fabric; an
 * endpoint id in a set is the number of an end.
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

/* The path of a message from end `from` to end `to`: its arcs in order, at most
 * PATH_MAX_HOPS. Return their number, 0 between ends of one port or of
 * different subnets, or -1 with err: a loop, a dead end, or the wrong adapter;
 * err names switch, port and LID. fabric_walk_lid: the same from an adapter's
 * port that has a cable.
 */
int fabric_walk (const struct fabric *f, uint32_t from, uint32_t to,
                 uint32_t *arc, struct error *err);
int fabric_walk_lid (const struct fabric *f, uint32_t port, unsigned int lid,
                     uint32_t *arc, struct error *err);

/* The error for names that the fabric does not have, or has with several
 * domains. Returns -1.
 */
int fabric_not_found (const struct fabric *f, const char *const *name,
                      size_t n, struct error *err);

#endif /* IBQUERY_FABRIC_H */
