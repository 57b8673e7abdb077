/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "ibquery/walk.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/text.h"

/* A hop. Places of the network: a switch is at its node's index, adapter ports
 * follow after all nodes.
 */
struct walk_hop {
    uint32_t arc;   /* FABRIC_NONE: not connected, or not up */
    uint32_t place; /* at the far end */
};

/* What a hop needs of a node and of an end, close together in memory: this is
 * read as often as there are pairs of leaves and ends.
 */
struct forward {
    const uint8_t *lft; /* [top + 1] */
    uint32_t first_port;
    uint16_t top;
    uint8_t nports;     /* 0: does not forward */
};

struct walk_target {
    uint32_t place, port;
    uint16_t lid;
};

struct fabric_walk {
    struct network network;
    struct switch_info *sw;
    char (*id)[17];
    struct forward *forward; /* [nnodes] */
    struct walk_target *target;   /* [nends] */
    struct walk_hop hop[];        /* [nports] */
};

static const uint8_t no_lft[1] = { LFT_NO_ROUTE };

static uint32_t place_of (const struct fabric *f, uint32_t port)
{
    uint32_t node = f->port[port].node;

    return f->node[node].type == NODE_SWITCH ? node
                                             : (uint32_t)f->nnodes + port;
}

static int network_walk (const void *net, uint32_t from, uint32_t to,
                         uint32_t *arc, struct error *err)
{
    return fabric_walk (net, from, to, arc, err);
}

static uint32_t network_place (const void *net, uint32_t end)
{
    const struct fabric *f = net;

    return f->walk->target[end].place;
}

static uint32_t network_attach (const void *net, uint32_t end, uint32_t *arc)
{
    const struct fabric *f = net;
    const struct fabric_walk *w = f->walk;
    const struct walk_hop *hop = &w->hop[w->target[end].port];

    *arc = hop->arc;
    return hop->place;
}

static inline const struct walk_hop *next_hop (const struct fabric *f,
                                          uint32_t place, unsigned int lid)
{
    const struct forward *n;
    unsigned int out;

    if (place >= f->nnodes)
        return NULL;
    n = &f->walk->forward[place];
    out = lid <= n->top ? n->lft[lid] : LFT_NO_ROUTE;
    if (out == 0 || out > n->nports)
        return NULL;
    return &f->walk->hop[n->first_port + out - 1];
}

static uint32_t network_hop (const void *net, uint32_t place, uint32_t to,
                             uint32_t *arc)
{
    const struct fabric *f = net;
    const struct walk_hop *hop = next_hop (f, place, f->walk->target[to].lid);

    if (!hop)
        return NETWORK_NONE;
    *arc = hop->arc;
    return hop->place;
}

static void add_hop (const struct fabric *f, uint32_t port,
                     struct walk_hop *hop)
{
    uint32_t link = f->port[port].link;
    const struct fabric_link *l;

    *hop = (struct walk_hop){ FABRIC_NONE, NETWORK_NONE };
    if (link == FABRIC_NONE)
        return;
    l = &f->link[link];
    if (!fabric_is_up (f, l))
        return;
    hop->arc = 2 * link + (l->a != port);
    hop->place = place_of (f, l->a == port ? l->b : l->a);
}

static void add_switch (struct fabric_walk *w, const struct fabric *f,
                        uint32_t node)
{
    const struct fabric_node *n = &f->node[node];

    w->forward[node] = (struct forward){ no_lft, n->first_port, 0, 0 };
    if (n->type != NODE_SWITCH)
        return;
    if (n->lft) {
        w->forward[node].lft = n->lft;
        w->forward[node].top = n->lft_top;
        w->forward[node].nports = n->nports;
    }
    snprintf (w->id[node], sizeof (w->id[node]), "%016" PRIx64,
              n->guid);
    w->sw[node] = (struct switch_info){ w->id[node], n->name };
}

static void add_target (struct fabric_walk *w, const struct fabric *f,
                        uint32_t end)
{
    uint32_t port = f->endpoint[f->end[end].endpoint].port;

    w->target[end] = (struct walk_target){
        .place = place_of (f, port),
        .port = port,
        .lid = f->end[end].lid,
    };
}

struct fabric_walk *walk_create (const struct fabric *f)
{
    struct fabric_walk *w;

    w = xarray (1, sizeof (*w) + f->nports * sizeof (w->hop[0]));
    w->sw = xcalloc (f->nnodes, sizeof (*w->sw));
    w->id = xcalloc (f->nnodes, sizeof (*w->id));
    w->forward = xarray (f->nnodes, sizeof (*w->forward));
    w->target = xarray (f->nends, sizeof (*w->target));
    w->network = (struct network){
        .net = f,
        .hash = f->hash,
        .nlinks = f->nlinks,
        .link = f->link_info,
        .nswitches = f->nnodes,
        .sw = w->sw,
        .nplaces = f->nnodes + f->nports,
        .walk = network_walk,
        .place = network_place,
        .attach = network_attach,
        .hop = network_hop,
    };
    for (size_t i = 0; i < f->nports; i++)
        add_hop (f, i, &w->hop[i]);
    for (size_t i = 0; i < f->nnodes; i++)
        add_switch (w, f, i);
    for (size_t i = 0; i < f->nends; i++)
        add_target (w, f, i);
    return w;
}

void walk_destroy (struct fabric_walk *w)
{
    if (!w)
        return;
    free (w->sw);
    free (w->id);
    free (w->forward);
    free (w->target);
    free (w);
}

/* Why the path ends at this switch; `out` is the entry of its table. */
static int dead_end (const struct fabric *f, const struct fabric_node *n,
                     unsigned int lid, unsigned int out, struct error *err)
{
    bool cabled;

    if (lid > n->lft_top || !n->lft)
        return error_input (err,
                            "switch %s (%016" PRIx64 "): LID %u lies beyond "
                            "its forwarding table, which ends at %u",
                            n->desc, n->guid, lid, n->lft_top);
    if (out == LFT_NO_ROUTE)
        return error_input (err,
                            "switch %s (%016" PRIx64 ") has no route to "
                            "LID %u",
                            n->desc, n->guid, lid);
    if (out == 0)
        return error_input (err,
                            "switch %s (%016" PRIx64 ") sends LID %u to "
                            "itself, port 0",
                            n->desc, n->guid, lid);
    if (out > n->nports)
        return error_input (err,
                            "switch %s (%016" PRIx64 ") sends LID %u to port "
                            "%u, but has %u ports",
                            n->desc, n->guid, lid, out, n->nports);
    cabled = f->port[n->first_port + out - 1].link != FABRIC_NONE;
    return error_input (err,
                        "switch %s (%016" PRIx64 ") sends LID %u to port %u, "
                        "which is not %s",
                        n->desc, n->guid, lid, out,
                        cabled ? "active" : "connected");
}

/* Why no cable continues the path from a place. */
static int no_hop (const struct fabric *f, uint32_t place, uint32_t arc,
                   unsigned int lid, struct error *err)
{
    const struct fabric_link *l = &f->link[arc_link (arc)];
    const struct fabric_port *end = &f->port[arc % 2 ? l->a : l->b];

    if (place < f->nnodes) {
        const struct fabric_node *n = &f->node[place];
        bool listed = n->lft && lid <= n->lft_top;

        return dead_end (f, n, lid, listed ? n->lft[lid] : LFT_NO_ROUTE, err);
    }
    return error_input (err,
                        "%s/%u, at the end of a cable, is not where LID %u is",
                        f->node[end->node].desc, end->num, lid);
}

static int looping (const struct fabric *f, uint32_t place, unsigned int lid,
                    struct error *err)
{
    const struct fabric_node *n = &f->node[place];

    return error_input (err,
                        "LID %u is sent in a loop that includes switch %s "
                        "(%016" PRIx64 ")",
                        lid, n->desc, n->guid);
}

int fabric_walk (const struct fabric *f, uint32_t from, uint32_t to,
                 uint32_t *arc, struct error *err)
{
    const struct fabric_walk *w = f->walk;
    const struct walk_target *end = &w->target[to];
    const struct walk_hop *hop = &w->hop[w->target[from].port];
    uint32_t place = hop->place;
    int hops = 0;

    if (w->target[from].port == end->port)
        return 0;
    for (;;) {
        arc[hops++] = hop->arc;
        if (place == end->place)
            return hops;
        if (hops == PATH_MAX_HOPS && place < f->nnodes)
            return looping (f, place, end->lid, err);
        hop = next_hop (f, place, end->lid);
        if (!hop || hop->arc == FABRIC_NONE)
            return no_hop (f, place, arc[hops - 1], end->lid, err);
        place = hop->place;
    }
}

const struct network *fabric_network (const struct fabric *f)
{
    return &f->walk->network;
}

static void add_end (const struct fabric *f, uint32_t id, struct endpoint *e)
{
    e->id = id;
    e->name = f->end[id].name;
    e->host = f->host[f->endpoint[f->end[id].endpoint].host].name;
}

/* The ends listed for a pathset. */
struct end_list {
    const struct fabric *f;
    bool lids;             /* an endpoint stands for all of its LIDs */
    struct endpoint *list; /* [f->nends] */
    size_t n;
};

/* False if there are too many. */
static bool list_end (struct end_list *e, uint32_t id)
{
    if (e->n == e->f->nends)
        return false;
    add_end (e->f, id, &e->list[e->n++]);
    return true;
}

static bool list_endpoint (struct end_list *e, uint32_t id)
{
    const struct fabric *f = e->f;
    unsigned int lmc = e->lids ? f->port[f->endpoint[id].port].lmc : 0;
    bool room = true;

    for (unsigned int k = 0; k < 1U << lmc && room; k++)
        room = list_end (e, fabric_end_of (f, id, k));
    return room;
}

static bool list_host (struct end_list *e, uint32_t host)
{
    const struct fabric_host *h = &e->f->host[host];
    bool room = true;

    for (uint32_t i = 0; i < h->count && room; i++)
        room = list_endpoint (e, h->first + i);
    return room;
}

static int not_found (const char *const *name, size_t n, struct error *err)
{
    char *list = xcheck (hostlist_fold (name, n));

    error_input (err, "not in the fabric: %s", list);
    free (list);
    return -1;
}

/* Find the ends of the names, in order. */
static int resolve (struct end_list *e, const char *const *name, size_t n,
                    struct error *err)
{
    const char **missing = xarray (n, sizeof (*missing));
    size_t nmissing = 0;
    int rc = -1;

    for (size_t i = 0; i < n; i++) {
        uint32_t host = fabric_find_host (e->f, name[i]);
        uint32_t id = fabric_find_end (e->f, name[i]);
        bool room;

        if (host != FABRIC_NONE)
            room = list_host (e, host);
        else if (id != FABRIC_NONE)
            room = strchr (name[i], '~') ? list_end (e, id)
                                         : list_endpoint (e, id);
        else {
            missing[nmissing++] = name[i];
            continue;
        }
        if (!room) {
            error_input (err, "%s is named twice", name[i]);
            goto error;
        }
    }
    rc = nmissing == 0 ? 0 : not_found (missing, nmissing, err);
error:
    free (missing);
    return rc;
}

static struct pathset *make_pathset (const struct fabric *f, bool lids,
                                     const char *const *name, size_t n,
                                     struct error *err)
{
    struct end_list e = { .f = f, .lids = lids };
    struct pathset *ps = NULL;

    e.list = xcalloc (f->nends + 1, sizeof (*e.list));
    for (size_t i = 0; n == 0 && i < f->nhosts; i++)
        list_host (&e, i);
    if (n == 0 || resolve (&e, name, n, err) == 0)
        ps = pathset_create (fabric_network (f), e.list, e.n, err);
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
