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
    return ((const struct fabric *)net)->walk->target[end].place;
}

static uint32_t network_attach (const void *net, uint32_t end, uint32_t *arc)
{
    const struct fabric_walk *w = ((const struct fabric *)net)->walk;
    const struct walk_hop *hop = &w->hop[w->target[end].port];

    *arc = hop->arc;
    return hop->place;
}

static inline const struct walk_hop *next_hop (const struct fabric *f,
                                               uint32_t place,
                                               unsigned int lid)
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

struct fabric_walk *walk_create (const struct fabric *f)
{
    struct fabric_walk *w
        = xarray (1, sizeof (*w) + f->nports * sizeof (w->hop[0]));

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
    for (size_t i = 0; i < f->nports; i++) {
        uint32_t link = f->port[i].link;

        w->hop[i] = (struct walk_hop){ FABRIC_NONE, NETWORK_NONE };
        if (link != FABRIC_NONE && fabric_is_up (f, &f->link[link]))
            w->hop[i] = (struct walk_hop){
                2 * link + (f->link[link].a != i),
                place_of (f, fabric_far_port (f, i)),
            };
    }
    for (size_t i = 0; i < f->nnodes; i++) {
        const struct fabric_node *n = &f->node[i];

        w->forward[i] = (struct forward){ no_lft, n->first_port, 0, 0 };
        if (n->lft)
            w->forward[i] = (struct forward){ n->lft, n->first_port,
                                              n->lft_top, n->nports };
        if (n->type != NODE_SWITCH)
            continue;
        snprintf (w->id[i], sizeof (w->id[i]), "%016" PRIx64, n->guid);
        w->sw[i] = (struct switch_info){ w->id[i], n->name };
    }
    for (size_t i = 0; i < f->nends; i++) {
        uint32_t port = f->endpoint[f->end[i].endpoint].port;

        w->target[i] = (struct walk_target){ place_of (f, port), port,
                                             f->end[i].lid };
    }
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
        return error_input (err,
                            "%s/%u, at the end of a cable, is not where LID %u "
                            "is",
                            n->desc, end->num, lid);
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
            return error_input (err,
                                "LID %u is sent in a loop that includes switch "
                                "%s (%016" PRIx64 ")",
                                end->lid, f->node[place].desc,
                                f->node[place].guid);
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
    const struct fabric *f = e->f;

    if (e->n == f->nends)
        return false;
    e->list[e->n++] = (struct endpoint){
        .id = id,
        .name = f->end[id].name,
        .host = f->host[f->endpoint[f->end[id].endpoint].host].name,
    };
    return true;
}

static bool list_endpoints (struct end_list *e, uint32_t first, uint32_t count)
{
    const struct fabric *f = e->f;
    bool room = true;

    for (uint32_t i = first; i < first + count; i++) {
        unsigned int lmc = e->lids ? f->port[f->endpoint[i].port].lmc : 0;

        for (unsigned int k = 0; k < 1U << lmc && room; k++)
            room = list_end (e, fabric_end_of (f, i, k));
    }
    return room;
}

/* Find the ends of the names, in order. */
static int resolve (struct end_list *e, const char *const *name, size_t n,
                    struct error *err)
{
    const char **missing = xarray (n, sizeof (*missing));
    size_t nmissing = 0;
    bool room = true;
    size_t i;

    for (i = 0; i < n && room; i++) {
        uint32_t host = fabric_find_host (e->f, name[i]);
        uint32_t id = fabric_find_end (e->f, name[i]);

        if (host != FABRIC_NONE)
            room = list_endpoints (e, e->f->host[host].first,
                                   e->f->host[host].count);
        else if (id != FABRIC_NONE)
            room = strchr (name[i], '~') ? list_end (e, id)
                                         : list_endpoints (e, id, 1);
        else
            missing[nmissing++] = name[i];
    }
    if (!room)
        error_input (err, "%s is named twice", name[i - 1]);
    else if (nmissing > 0) {
        char *list = xcheck (hostlist_fold (missing, nmissing));

        error_input (err, "not in the fabric: %s", list);
        free (list);
    }
    free (missing);
    return room && nmissing == 0 ? 0 : -1;
}

static struct pathset *make_pathset (const struct fabric *f, bool lids,
                                     const char *const *name, size_t n,
                                     struct error *err)
{
    struct end_list e = { .f = f, .lids = lids };
    struct pathset *ps = NULL;

    e.list = xcalloc (f->nends + 1, sizeof (*e.list));
    if (n == 0)
        list_endpoints (&e, 0, f->nendpoints);
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
