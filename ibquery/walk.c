/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "ibquery/walk.h"

#include <inttypes.h>
#include <stdlib.h>

#include "util/text.h"

struct hop {
    uint32_t link; /* FABRIC_NONE: not connected */
    uint32_t port, node; /* at the far end */
};

struct fabric_walk {
    struct network network;
    struct hop hop[];
};

static int network_walk (const void *net, uint32_t from, uint32_t to,
                         uint32_t *link, struct error *err)
{
    return fabric_walk (net, from, to, link, err);
}

struct fabric_walk *walk_create (const struct fabric *f)
{
    struct fabric_walk *w;

    w = malloc (sizeof (*w) + f->nports * sizeof (w->hop[0]));
    if (!w)
        return NULL;
    w->network.net = f;
    w->network.hash = f->hash;
    w->network.nlinks = f->nlinks;
    w->network.link = f->link_info;
    w->network.walk = network_walk;
    for (size_t i = 0; i < f->nports; i++) {
        struct hop *hop = &w->hop[i];

        hop->link = f->port[i].link;
        hop->port = hop->node = FABRIC_NONE;
        if (hop->link != FABRIC_NONE) {
            const struct fabric_link *l = &f->link[hop->link];

            hop->port = l->a == i ? l->b : l->a;
            hop->node = f->port[hop->port].node;
        }
    }
    return w;
}

void walk_destroy (struct fabric_walk *w)
{
    free (w);
}

/* Why the path ends at this switch, where `out` is what its table says. */
static int dead_end (const struct fabric_node *n, unsigned int lid,
                     unsigned int out, struct error *err)
{
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
    return error_input (err,
                        "switch %s (%016" PRIx64 ") sends LID %u to port %u, "
                        "which is not connected",
                        n->desc, n->guid, lid, out);
}

int fabric_walk (const struct fabric *f, uint32_t from, uint32_t to,
                 uint32_t *link, struct error *err)
{
    const struct hop *table = f->walk->hop;
    uint32_t port = f->endpoint[to].port;
    unsigned int lid = f->port[port].lid;
    const struct hop *hop = &table[f->endpoint[from].port];
    const struct fabric_node *n;
    int hops = 0;

    if (from == to)
        return 0;
    for (;;) {
        unsigned int out;

        link[hops++] = hop->link;
        if (hop->port == port)
            return hops;
        n = &f->node[hop->node];
        if (n->type != NODE_SWITCH)
            return error_input (err,
                                "%s/%u, at the end of a cable, is not where "
                                "LID %u is",
                                n->desc, f->port[hop->port].num, lid);
        if (hops == PATH_MAX_HOPS)
            return error_input (err,
                                "LID %u is sent in a loop that includes "
                                "switch %s (%016" PRIx64 ")",
                                lid, n->desc, n->guid);
        out = lid <= n->lft_top && n->lft ? n->lft[lid] : LFT_NO_ROUTE;
        if (out == 0 || out > n->nports)
            return dead_end (n, lid, out, err);
        hop = &table[n->first_port + out - 1];
        if (hop->link == FABRIC_NONE)
            return dead_end (n, lid, out, err);
    }
}

const struct network *fabric_network (const struct fabric *f)
{
    return &f->walk->network;
}

static void add_endpoint (const struct fabric *f, uint32_t id,
                          struct endpoint *e)
{
    e->id = id;
    e->name = f->endpoint[id].name;
    e->host = f->host[f->endpoint[id].host].name;
}

static int not_found (const char *const *name, size_t n, struct error *err)
{
    char *list = hostlist_fold (name, n);

    if (!list)
        return error_nomem (err);
    error_input (err, "not in the fabric: %s", list);
    free (list);
    return -1;
}

/* Endpoints of the names, in their order. */
static int resolve (const struct fabric *f, const char *const *name, size_t n,
                    struct endpoint *list, size_t *count, struct error *err)
{
    const char **missing = calloc (n, sizeof (*missing));
    size_t nmissing = 0;
    int rc = -1;

    if (!missing)
        return error_nomem (err);
    *count = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t host = fabric_find_host (f, name[i]);
        uint32_t id, end;

        if (host != FABRIC_NONE) {
            id = f->host[host].first;
            end = id + f->host[host].count;
        } else {
            id = fabric_find_endpoint (f, name[i]);
            end = id + 1;
            if (id == FABRIC_NONE) {
                missing[nmissing++] = name[i];
                continue;
            }
        }
        for (; id < end; id++) {
            if (*count == f->nendpoints) {
                error_input (err, "%s is named twice", name[i]);
                goto error;
            }
            add_endpoint (f, id, &list[(*count)++]);
        }
    }
    rc = nmissing == 0 ? 0 : not_found (missing, nmissing, err);
error:
    free (missing);
    return rc;
}

struct pathset *fabric_pathset (const struct fabric *f,
                                const char *const *name, size_t n,
                                struct error *err)
{
    struct pathset *ps = NULL;
    struct endpoint *list;
    size_t count = f->nendpoints;

    list = calloc (count + 1, sizeof (*list));
    if (!list) {
        error_nomem (err);
        return NULL;
    }
    if (n == 0) {
        for (size_t i = 0; i < count; i++)
            add_endpoint (f, i, &list[i]);
    } else if (resolve (f, name, n, list, &count, err) < 0)
        goto error;
    ps = pathset_create (fabric_network (f), list, count, err);
error:
    free (list);
    return ps;
}

struct pathset *fabric_resolve (const char *const *name, size_t n, void *arg,
                                struct error *err)
{
    struct endpoint none = { 0 };

    if (n == 0) /* nobody, not everybody */
        return pathset_create (fabric_network (arg), &none, 0, err);
    return fabric_pathset (arg, name, n, err);
}
