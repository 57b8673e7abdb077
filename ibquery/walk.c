/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Paths through the fabric, by its forwarding tables. A table made by
 * fabric_finish has for each port the cable and what it leads to, so a hop
 * costs one access to it and one to an LFT.
 *
 * Where a switch spreads messages and its groups of ports are not known, they
 * are all ports whose neighbours are nearest to the destination: those are what
 * subnet managers put into the groups of a tree. If the table's own port is not
 * one of them, the routing is of another kind, and the table is all that is
 * known. Distances are found when first asked for, and kept for as many
 * destinations' switches as NEAR_BYTES has room for.
 */
#include "config.h"
#include "ibquery/fabric.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ibquery/hosts.h"
#include "ibquery/spread.h"
#include "util/alloc.h"
#include "util/text.h"

/* A hop. Places of the network: a switch is at its node's index, adapter ports
 * follow after all nodes.
 */
struct walk_hop {
    uint32_t arc;   /* FABRIC_NONE: not connected, or not up */
    uint32_t place; /* at the far end */
};

enum {
    NEAR_BYTES = 64 << 20, /* of all distances that are kept */
    UNREACHED = UINT8_MAX, /* a distance that is not known */
};

/* Distances of all nodes from a switch, in cables. */
struct walk_near {
    uint32_t node;
    uint8_t *cables; /* [nnodes]; NULL: none yet */
};

struct fabric_walk {
    struct network network;
    struct walk_near *near; /* [nnear], a switch's at its node modulo nnear */
    size_t nnear;
    struct switch_info *sw;
    char (*id)[17];
    struct walk_hop hop[]; /* [nports] */
};

static uint32_t place_of_port (const struct fabric *f, uint32_t port)
{
    uint32_t node = f->port[port].node;

    return f->node[node].type == NODE_SWITCH ? node
                                             : (uint32_t)f->nnodes + port;
}

static uint32_t end_port (const struct fabric *f, uint32_t end)
{
    return f->endpoint[f->end[end].endpoint].port;
}

static uint32_t network_subnet (const void *net, uint32_t end)
{
    const struct fabric *f = net;

    return f->port[end_port (f, end)].subnet;
}

static int network_walk (const void *net, uint32_t from, uint32_t to,
                         uint32_t *arc, struct error *err)
{
    return fabric_walk (net, from, to, arc, err);
}

static uint32_t network_place (const void *net, uint32_t end)
{
    return place_of_port (net, end_port (net, end));
}

/* The first endpoint of the host on the same adapter, or on another one with the
 * same SystemImageGUID.
 */
static uint32_t network_card (const void *net, uint32_t end)
{
    const struct fabric *f = net;
    uint32_t own = f->end[end].endpoint;
    const struct fabric_host *host = &f->host[f->endpoint[own].host];
    uint32_t node = f->port[f->endpoint[own].port].node;

    for (uint32_t e = host->first; e < own; e++) {
        uint32_t other = f->port[f->endpoint[e].port].node;

        if (other == node
            || (f->node[node].system != 0
                && f->node[other].system == f->node[node].system))
            return e;
    }
    return own;
}

static uint32_t network_attach (const void *net, uint32_t end, uint32_t *arc)
{
    const struct fabric *f = net;
    const struct walk_hop *hop = &f->walk->hop[end_port (f, end)];

    *arc = hop->arc;
    return hop->place;
}

static inline const struct walk_hop *next_hop (const struct fabric *f,
                                               uint32_t place,
                                               unsigned int lid)
{
    const struct fabric_node *n;
    unsigned int out;

    if (place >= f->nnodes)
        return NULL;
    n = &f->node[place];
    out = fabric_entry (n, lid);
    return out == 0 || out > n->nports ? NULL
                                       : &f->walk->hop[n->first_port + out - 1];
}

static uint32_t network_hop (const void *net, uint32_t place, uint32_t to,
                             uint32_t *arc)
{
    const struct fabric *f = net;
    const struct walk_hop *hop = next_hop (f, place, f->end[to].lid);

    if (!hop
        || (f->nsubnets > 0
            && f->port[f->node[place].first_port].subnet
                   != network_subnet (f, to)))
        return NETWORK_NONE;
    *arc = hop->arc;
    return hop->place;
}

static const uint8_t *distances_to_switch (const struct fabric *f,
                                           uint32_t from)
{
    struct walk_near *near = &f->walk->near[from % f->walk->nnear];
    uint32_t *queue;
    size_t n = 0;

    if (near->cables && near->node == from)
        return near->cables;
    if (!near->cables)
        near->cables = pool_alloc (f->pool, f->nnodes, 1);
    near->node = from;
    memset (near->cables, UNREACHED, f->nnodes);
    near->cables[from] = 0;
    queue = xarray (f->nnodes, sizeof (*queue));
    queue[n++] = from;
    for (size_t i = 0; i < n && near->cables[queue[i]] < PATH_MAX_HOPS; i++)
        for (unsigned int k = 0; k < f->node[queue[i]].nports; k++) {
            uint32_t to
                = f->walk->hop[f->node[queue[i]].first_port + k].place;

            if (to >= f->nnodes || near->cables[to] != UNREACHED)
                continue;
            near->cables[to] = near->cables[queue[i]] + 1;
            queue[n++] = to;
        }
    free (queue);
    return near->cables;
}

/* Whether the hop from a switch brings a message nearer to its end, where it
 * arrives at a place; `near` are distances to that end's switch, NULL: it is
 * this one.
 */
static bool is_nearer (const struct fabric *f, const struct walk_hop *hop,
                       uint32_t node, uint32_t place, const uint8_t *near)
{
    return near ? hop->place < f->nnodes && near[hop->place] < near[node]
                : hop->place == place;
}

static bool spreads (const struct fabric_spread *s,
                     const struct traffic_class *as)
{
    uint16_t levels = s->hashed | (as->rc ? s->rc : s->ud);

    return s->known && as->level < SPREAD_LEVELS && levels >> as->level & 1;
}

static size_t network_hops (const void *net, const struct traffic_class *as,
                            uint32_t place, uint32_t to, uint32_t *arc,
                            size_t most)
{
    const struct fabric *f = net;
    unsigned int lid = f->end[to].lid;
    const struct walk_hop *hop, *own = next_hop (f, place, lid);
    const struct spread_group *group;
    uint32_t all[UINT8_MAX], attached, up, end = NETWORK_NONE;
    const uint8_t *near = NULL;
    const struct fabric_node *n;
    size_t count = 0, i;
    bool has_own = false, known;

    if (place >= f->nnodes || !spreads (&f->node[place].spread, as)
        || (f->nsubnets > 0
            && f->port[f->node[place].first_port].subnet
                   != network_subnet (f, to)))
        return 0;
    n = &f->node[place];
    attached = network_attach (net, to, &up);
    known = n->spread.entry && lid <= n->lft_top;
    group = spread_group_of (n, lid);
    if (!known && attached >= f->nnodes)
        return 0;
    if (attached == place)
        end = network_place (net, to);
    else if (!known)
        near = distances_to_switch (f, attached);
    for (unsigned int p = 1; p <= n->nports; p++) {
        hop = &f->walk->hop[n->first_port + p - 1];
        if (hop->arc == FABRIC_NONE
            || !(group   ? group->port[p / 64] >> p % 64 & 1
                 : known ? p == n->spread.entry[lid].port
                         : is_nearer (f, hop, place, end, near)))
            continue;
        for (i = count++; i > 0 && all[i - 1] > hop->arc; i--)
            all[i] = all[i - 1];
        all[i] = hop->arc;
        has_own |= hop == own;
    }
    if (!known && !has_own)
        return 0;
    count = count < most ? count : most;
    memcpy (arc, all, count * sizeof (*all));
    return count;
}

struct fabric_walk *walk_create (const struct fabric *f)
{
    struct fabric_walk *w = pool_alloc (
        f->pool, 1, sizeof (*w) + f->nports * sizeof (*w->hop));

    w->nnear = f->nnodes * f->nnodes <= NEAR_BYTES
                   ? f->nnodes
                   : NEAR_BYTES / f->nnodes;
    w->near = pool_alloc (f->pool, w->nnear, sizeof (*w->near));
    w->sw = pool_alloc (f->pool, f->nnodes, sizeof (*w->sw));
    w->id = pool_alloc (f->pool, f->nnodes, sizeof (*w->id));
    w->network = (struct network){
        .net = f, .hash = f->hash, .nlinks = f->nlinks, .link = f->link_info,
        .nswitches = f->nnodes, .sw = w->sw, .nplaces = f->nnodes + f->nports,
        .subnet = f->nsubnets > 0 ? network_subnet : NULL,
        .nsubnets = f->nsubnets, .walk = network_walk, .place = network_place,
        .card = network_card, .attach = network_attach, .hop = network_hop,
        .hops = network_hops,
    };
    for (size_t i = 0; i < f->nports; i++) {
        uint32_t link = f->port[i].link;

        w->hop[i] = (struct walk_hop){ FABRIC_NONE, NETWORK_NONE };
        if (link != FABRIC_NONE && fabric_is_up (f, &f->link[link]))
            w->hop[i] = (struct walk_hop){
                2 * link + (f->link[link].a != i),
                place_of_port (f, fabric_far_port (f, i)),
            };
    }
    for (size_t i = 0; i < f->nnodes; i++) {
        if (f->node[i].type != NODE_SWITCH)
            continue;
        snprintf (w->id[i], sizeof (w->id[i]), "%016" PRIx64, f->node[i].guid);
        w->sw[i] = (struct switch_info){ w->id[i], f->node[i].name };
    }
    return w;
}

static bool has_lid (const struct fabric_port *p, unsigned int lid)
{
    return lid >= p->lid && lid < p->lid + (1U << p->lmc);
}

/* Why no cable continues the path from a place. */
static int no_hop (const struct fabric *f, uint32_t place, uint32_t arc,
                   unsigned int lid, struct error *err)
{
    const struct fabric_link *l = &f->link[arc_link (arc)];
    const struct fabric_port *end = &f->port[arc % 2 ? l->a : l->b];
    const struct fabric_node *n = &f->node[end->node];
    unsigned int out = fabric_entry (n, lid);
    char why[100];

    if (place >= f->nnodes)
        return error_input (err, "LID %u leads to %s/%u, which does not have "
                                 "it", lid, n->desc, end->num);
    if (!n->lft)
        return error_input (err, "switch %s (%016" PRIx64 ") has no forwarding "
                                 "table in this snapshot", n->desc, n->guid);
    if (lid > n->lft_top)
        return error_input (err, "switch %s (%016" PRIx64 "): LID %u lies "
                                 "beyond its forwarding table, which ends at "
                                 "%u", n->desc, n->guid, lid, n->lft_top);
    if (out == LFT_NO_ROUTE)
        return error_input (err, "switch %s (%016" PRIx64 ") has no route to "
                                 "LID %u", n->desc, n->guid, lid);
    if (out == 0)
        snprintf (why, sizeof (why), "itself, port 0");
    else if (out > n->nports)
        snprintf (why, sizeof (why), "port %u, but has %u ports", out,
                  n->nports);
    else
        snprintf (why, sizeof (why), "port %u, which is not %s", out,
                  f->port[n->first_port + out - 1].link != FABRIC_NONE
                      ? "active"
                      : "connected");
    return error_input (err, "switch %s (%016" PRIx64 ") sends LID %u to %s",
                        n->desc, n->guid, lid, why);
}

int fabric_walk_lid (const struct fabric *f, uint32_t port, unsigned int lid,
                     uint32_t *arc, struct error *err)
{
    const struct walk_hop *hop = &f->walk->hop[port];
    uint32_t place = hop->place;
    int hops = 0;

    if (has_lid (&f->port[port], lid))
        return 0;
    for (;;) {
        arc[hops++] = hop->arc;
        if (place >= f->nnodes
            && has_lid (&f->port[place - f->nnodes], lid))
            return hops;
        if (hops == PATH_MAX_HOPS && place < f->nnodes)
            return error_input (err, "LID %u is sent in a loop that includes "
                                     "switch %s (%016" PRIx64 ")", lid,
                                f->node[place].desc, f->node[place].guid);
        hop = next_hop (f, place, lid);
        if (!hop || hop->arc == FABRIC_NONE)
            return no_hop (f, place, arc[hops - 1], lid, err);
        place = hop->place;
    }
}

int fabric_walk (const struct fabric *f, uint32_t from, uint32_t to,
                 uint32_t *arc, struct error *err)
{
    return network_subnet (f, from) == network_subnet (f, to)
               ? fabric_walk_lid (f, end_port (f, from), f->end[to].lid, arc,
                                  err)
               : 0;
}

const struct network *fabric_network (const struct fabric *f)
{
    return f->walk ? &f->walk->network : NULL;
}

/* The ends listed for a pathset. */
struct end_list {
    const struct fabric *f;
    bool lids;             /* an endpoint stands for all of its LIDs */
    struct endpoint *list; /* [f->nends] */
    size_t n;
};

/* Return -1 if there are more than the fabric has. */
static int list_end (struct end_list *e, uint32_t id)
{
    const struct fabric *f = e->f;

    if (e->n == f->nends)
        return -1;
    e->list[e->n++] = (struct endpoint){
        .id = id, .name = f->end[id].name,
        .host = f->host[f->endpoint[f->end[id].endpoint].host].name,
    };
    return 0;
}

static int list_endpoints (struct end_list *e, uint32_t first, uint32_t count)
{
    for (uint32_t i = first; i < first + count; i++)
        for (unsigned int k = 0, lmc = e->f->port[e->f->endpoint[i].port].lmc;
             k < (e->lids ? 1U << lmc : 1U); k++)
            if (list_end (e, fabric_end_of (e->f, i, k)) < 0)
                return -1;
    return 0;
}

/* Return 0; 1 if the name is not in the fabric; -1 as above. */
static int list_name (struct end_list *e, const char *name)
{
    uint32_t host = fabric_host_named (e->f, name);
    uint32_t id = fabric_find_end (e->f, name);

    if (host != FABRIC_NONE)
        return list_endpoints (e, e->f->host[host].first,
                               e->f->host[host].count);
    if (id == FABRIC_NONE)
        return 1;
    return strchr (name, '~') ? list_end (e, id) : list_endpoints (e, id, 1);
}

int fabric_not_found (const struct fabric *f, const char *const *name,
                      size_t n, struct error *err)
{
    char *list;

    for (size_t i = 0; i < n; i++) {
        uint32_t host;
        size_t count = fabric_hosts_named (f, name[i], &host);

        if (count > 1)
            return error_input (err, "%s: hosts of the fabric have this name "
                                     "with %zu domains: give one with its "
                                     "domain", name[i], count);
    }
    list = hostlist_fold (name, n);
    error_input (err, "not in the fabric: %s", list);
    free (list);
    return -1;
}

static struct pathset *make_pathset (const struct fabric *f, bool lids,
                                     const char *const *name, size_t n,
                                     struct error *err)
{
    const char **missing = xarray (n, sizeof (*missing));
    struct end_list e = { .f = f, .lids = lids };
    struct pathset *ps = NULL;
    size_t nmissing = 0;
    int rc = 0;

    e.list = xarray (f->nends, sizeof (*e.list));
    if (n == 0)
        list_endpoints (&e, 0, f->nendpoints);
    for (size_t i = 0; i < n && rc >= 0; i++) {
        if ((rc = list_name (&e, name[i])) > 0)
            missing[nmissing++] = name[i];
        if (rc < 0)
            error_input (err, "%s is named twice", name[i]);
    }
    if (rc >= 0 && nmissing > 0)
        fabric_not_found (f, missing, nmissing, err);
    else if (rc >= 0)
        ps = pathset_create (fabric_network (f), e.list, e.n, err);
    free (missing);
    free (e.list);
    return ps;
}

struct pathset *fabric_pathset (const struct fabric *f,
                                const char *const *name, size_t n,
                                struct error *err)
{
    return make_pathset (f, false, name, n, err);
}

struct pathset *fabric_pathset_lids (const struct fabric *f,
                                     const char *const *name, size_t n,
                                     struct error *err)
{
    return make_pathset (f, true, name, n, err);
}

struct pathset *fabric_resolve (const char *const *name, size_t n, void *arg,
                                struct error *err)
{
    struct endpoint none = { 0 };

    if (n == 0) /* no host, instead of every host */
        return pathset_create (fabric_network (arg), &none, 0, err);
    return fabric_pathset (arg, name, n, err);
}
