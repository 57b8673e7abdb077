/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Paths: which links the messages between two endpoints cross.
 *
 * Made by ibquery/walk (from LFTs) or a test (from a table). Read by everything
 * in core. Not stored in a file: paths follow from the fabric.
 *
 * Links are the integers 0 .. nlinks-1 of the network, endpoints the integers 0
 * .. n-1 of the set, in the order in which they were given. The set holds names
 * only as labels for files; core does not interpret them.
 *
 * A port may have several endpoints: several addresses (LIDs, if LMC is not 0),
 * with different paths to each. They share the port's connection, above all its
 * first hop, so no two of them are ever busy at the same time. There is no path
 * between them, nor between endpoints of different subnets: their row is empty.
 */
#ifndef CORE_PATHS_H
#define CORE_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

enum {
    PATH_MAX_HOPS = 64,          /* a longer one is a loop */
    ROW_MAX = 2 * PATH_MAX_HOPS, /* distinct links of a round trip */
};

enum link_kind {
    LINK_HOST,   /* one end is a host: "host end" in reports */
    LINK_SWITCH, /* both ends are switches */
};

struct link_info {
    const char *id;         /* "guid/port" of its smaller end */
    enum link_kind kind;
    uint32_t class_id;      /* links that should be equal share one */
    const char *class_name; /* for reports */
    const char *host;       /* LINK_HOST: the host's name, else NULL */
    const char *rail;       /* ... and which of the host's several it is, for
                               people ("mlx5_3/1"); NULL: not known */
    uint32_t end[2];        /* switches at its ends, NETWORK_NONE: a host */
    uint8_t cage[2];        /* of these switches, which may hold the plugs of
                               several links; 0: not known */
    double lrtl;            /* LinkRoundTripLatency, the mean of its ends', in
                               their unit; 0: not known */
    double rate;            /* nominal data rate, bits per second in either
                               direction; 0: not known */
};

/* An arc is one direction of a link: 2 * link from its first end to its second,
 * 2 * link + 1 back.
 */
static inline uint32_t arc_link (uint32_t arc)
{
    return arc / 2;
}

#define NETWORK_NONE UINT32_MAX

/* The same number for both orders of two endpoints or places, sorted by the
 * lower one, then by the other.
 */
static inline uint64_t pair_key (uint32_t a, uint32_t b)
{
    return a < b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a;
}

/* What a network may spread by. */
struct traffic_class {
    unsigned int level; /* service level */
    bool rc;            /* reliable connections, not datagrams */
};

struct switch_info {
    const char *id;   /* GUID, 16 hex digits */
    const char *name; /* for people */
};

/* A network: something that routes messages. One const struct per kind of
 * network. All pointers are borrowed and must outlive every pathset made from
 * them.
 *
 * Messages are forwarded by their destination alone, from place to place: a
 * place is a switch, or the port at which an endpoint receives.
 */
struct network {
    const void *net;
    const char *hash; /* "fabric" in every file; "" for a test's table */
    size_t nlinks;
    const struct link_info *link; /* [nlinks] */
    size_t nswitches;             /* places 0 .. nswitches-1 may be switches */
    const struct switch_info *sw; /* [nswitches]; id NULL: not a switch */
    size_t nplaces;
    /* The subnet of an endpoint, below nsubnets. NULL: there is only one. */
    uint32_t (*subnet) (const void *net, uint32_t endpoint);
    size_t nsubnets;
    /* Arcs from endpoint `from` to endpoint `to` (the network's numbers), in
     * order, at most PATH_MAX_HOPS. Return their number, 0 for endpoints of one
     * port or of different subnets, or -1 with err: a loop, a dead end.
     */
    int (*walk) (const void *net, uint32_t from, uint32_t to, uint32_t *arc,
                 struct error *err);
    /* The same hop by hop, for all paths to an endpoint at once (paths/tree).
     *
     * place: where messages for the endpoint arrive. Endpoints with the same
     * place are addresses of one port.
     * attach: where the first hop of the endpoint leads, for any
     * destination, and the arc in *arc; NETWORK_NONE in *arc if the endpoint
     * itself is that place.
     * hop: where a message for `to` goes from a place, and by which arc.
     * NETWORK_NONE if it is not forwarded: then walk gives the reason; also in
     * another subnet.
     */
    uint32_t (*place) (const void *net, uint32_t endpoint);
    uint32_t (*attach) (const void *net, uint32_t endpoint, uint32_t *arc);
    uint32_t (*hop) (const void *net, uint32_t place, uint32_t to,
                     uint32_t *arc);
    /* The card of an endpoint: those of one number are ports of an adapter, or
     * of adapters that share a card and so its PCIe path. NULL: each port has
     * its own.
     */
    uint32_t (*card) (const void *net, uint32_t endpoint);
    /* Where messages for `to` may go from a place that spreads them over
     * several ports: at most `most` arcs, ascending. Return their number; 0: by
     * `hop` alone. NULL: no place spreads any.
     */
    size_t (*hops) (const void *net, const struct traffic_class *as,
                    uint32_t place, uint32_t to, uint32_t *arc, size_t most);
    struct multipath *multi; /* whose places these are; NULL */
};

/* The cage that the plugs of two links are in, and its switch; 0: not in one. */
unsigned int network_cage (const struct network *net, uint32_t it,
                           uint32_t link, const struct switch_info **sw);

struct endpoint {
    uint32_t id;      /* the network's number */
    const char *name; /* "host", or "host:rail" if it has several */
    const char *host;
};

struct pathset;

/* A set of n endpoints of a network; their names are copied. No path is walked
 * yet. NULL with err (two endpoints with the same name or id: ERROR_INPUT).
 */
struct pathset *pathset_create (const struct network *net,
                                const struct endpoint *endpoint, size_t n,
                                struct error *err);
void pathset_destroy (struct pathset *ps);

/* The same endpoints on another network with the same numbering, for example
 * one with the real routes. NULL with err.
 */
struct pathset *pathset_on (const struct pathset *ps,
                            const struct network *net, struct error *err);

const struct network *pathset_network (const struct pathset *ps);
size_t pathset_size (const struct pathset *ps);
const struct endpoint *pathset_endpoint (const struct pathset *ps, size_t i);

/* The ports of a set are the integers 0 .. pathset_ports () - 1, in the order
 * of the first endpoint of each: the same numbers as the endpoints if each port
 * has only one. pathset_port is the port of endpoint i.
 */
size_t pathset_ports (const struct pathset *ps);
uint32_t pathset_port (const struct pathset *ps, size_t i);

/* The subnets of a set are the integers 0 .. pathset_subnets () - 1, in the
 * order of the first endpoint of each. pathset_part is a set of those endpoints
 * that are in one of them, in their order.
 */
size_t pathset_subnets (const struct pathset *ps);
uint32_t pathset_subnet (const struct pathset *ps, size_t i);
struct pathset *pathset_part (const struct pathset *ps, uint32_t subnet);

/* For what needs paths between all: return 0, or -1 with err if there are
 * several subnets.
 */
int pathset_one_subnet (const struct pathset *ps, struct error *err);

/* Whether a probe may go between two endpoints: they are different ports of one
 * subnet.
 */
bool pathset_is_pair (const struct pathset *ps, size_t a, size_t b);

/* Index of the endpoint with this name, or -1. */
int pathset_find (const struct pathset *ps, const char *name);

/* Arcs from endpoint a to endpoint b (indices of the set), as network.walk. */
int pathset_walk (const struct pathset *ps, size_t a, size_t b,
                  uint32_t *arc, struct error *err);

/* The link of an endpoint's port; NETWORK_NONE: it has none. */
uint32_t pathset_end_link (const struct pathset *ps, size_t end);

/* row(a,b): how often the round trip a -> b -> a crosses each link. Sorted by
 * link, counts 1 or 2; `forth` of these crossings are from the link's first end
 * to its second. Empty if they are no pair.
 */
struct row {
    size_t n;
    uint32_t link[ROW_MAX];
    uint8_t count[ROW_MAX];
    uint8_t forth[ROW_MAX];
    bool symmetric; /* forward and reverse use the same links */
};

/* How often a row crosses links in all, by the n counts of it. */
static inline unsigned int
row_crossings (const uint8_t *count, size_t n)
{
    unsigned int sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += count[i];
    return sum;
}

/* Return 0, or -1 with err, which names both endpoints (a path loops, has a
 * dead end, or crosses one link more than twice in a round trip).
 */
int pathset_row (const struct pathset *ps, size_t a, size_t b,
                 struct row *row, struct error *err);

/* The same for twice the way from a to b: as a round trip's, if the way back
 * crossed the same links in the same direction.
 */
int pathset_row_there (const struct pathset *ps, size_t a, size_t b,
                       struct row *row, struct error *err);

/* The links that the paths between all pairs of the set use, sorted: the
 * columns of the job. The first call reads the trees of all endpoints
 * (paths/tree); later calls are free. Return them, owned by the set, and their
 * number in *m; NULL with err if any path is broken.
 */
const uint32_t *pathset_links (struct pathset *ps, size_t *m,
                               struct error *err);

/* The same by who has read all trees: used[i] is not 0 if link i is one. */
void pathset_set_links (struct pathset *ps, const uint8_t *used);

/* Column of a link in that list, or -1. Call pathset_links first. */
int pathset_column (const struct pathset *ps, uint32_t link);

#endif /* CORE_PATHS_H */
