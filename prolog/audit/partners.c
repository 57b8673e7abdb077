/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "prolog/audit/partners.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "probe/guids.h"

struct choice {
    const struct hostlist *idle;
    bool *near;     /* [idle->count] on the node's switch */
    bool *taken;    /* the node itself, too */
    bool *former;   /* a partner before */
    char **partner;
    size_t n, most;
};

/* The switch of an endpoint, as a node of the fabric; FABRIC_NONE. */
static uint32_t switch_of (const struct fabric *f, size_t endpoint)
{
    uint32_t port = f->endpoint[endpoint].port;
    uint32_t link = f->port[port].link;

    if (link == FABRIC_NONE)
        return FABRIC_NONE;
    return f->port[f->link[link].a == port ? f->link[link].b
                                           : f->link[link].a].node;
}

/* Mark an idle node. */
static void mark (const struct choice *c, bool *marks, const char *node)
{
    const char *const *name = (const char *const *)c->idle->name;
    const char *const *found = text_find (name, c->idle->count, node);

    if (found)
        marks[found - name] = true;
}

/* node_of [nendpoints]; sw [nnodes] is scratch, all false. */
static void find_near (const struct choice *c, const struct fabric *f,
                       const char *const *node_of, const char *node, bool *sw)
{
    for (size_t i = 0; i < f->nendpoints; i++)
        if (switch_of (f, i) != FABRIC_NONE && !strcmp (node_of[i], node))
            sw[switch_of (f, i)] = true;
    for (size_t i = 0; i < f->nendpoints; i++)
        if (switch_of (f, i) != FABRIC_NONE && sw[switch_of (f, i)])
            mark (c, c->near, node_of[i]);
}

static void take (struct choice *c, size_t k)
{
    if (c->taken[k] || c->n == c->most)
        return;
    c->taken[k] = true;
    c->partner[c->n++] = c->idle->name[k];
}

static void choose (struct choice *c, uint64_t turn)
{
    size_t count = c->idle->count;
    size_t step = count / (c->most + 1) + 1;

    for (int again = 0; again < 2; again++)
        for (size_t i = 0; i < count && c->n < PARTNERS_NEAR; i++) {
            size_t k = (i + turn) % count;

            if (c->near[k] && c->former[k] == again)
                take (c, k);
        }
    for (int again = 0; again < 2; again++)
        for (size_t first = 0; first < step; first++)
            for (size_t i = first; i < count; i += step)
                if (c->former[(i + turn) % count] == again)
                    take (c, (i + turn) % count);
}

/* The k-th of the nodes that are none of two, or their number. */
static const char *other (const char *const *node, size_t n, const char *a,
                          const char *b, size_t k, size_t *count)
{
    *count = 0;
    for (size_t i = 0; i < n; i++)
        if ((!a || strcmp (node[i], a)) && (!b || strcmp (node[i], b))
            && (*count)++ == k)
            return node[i];
    return NULL;
}

const char *partners_leader (const char *const *node, size_t n,
                             const char *about, const char *before,
                             uint64_t turn)
{
    size_t count;

    other (node, n, about, before, n, &count);
    if (count == 0)
        other (node, n, about, before = NULL, n, &count);
    if (count == 0)
        other (node, n, about = NULL, NULL, n, &count);
    return count > 0 ? other (node, n, about, before, turn % count, &count)
                     : NULL;
}

int partners_choose (const struct fabric *f, const struct nodemap *map,
                     const char *node, const struct hostlist *idle,
                     const struct hostlist *former, uint64_t turn,
                     char **partner, size_t most, struct error *err)
{
    const char **node_of = calloc (f->nendpoints + 1, sizeof (*node_of));
    bool *sw = calloc (f->nnodes + 1, sizeof (*sw));
    struct choice c = {
        .idle = idle,
        .near = calloc (idle->count + 1, sizeof (*c.near)),
        .taken = calloc (idle->count + 1, sizeof (*c.taken)),
        .former = calloc (idle->count + 1, sizeof (*c.former)),
        .partner = partner,
        .most = most,
    };
    int rc = -1;

    if (!node_of || !sw || !c.near || !c.taken || !c.former)
        error_nomem (err);
    else if (guids_nodes (f, map, node_of, err) == 0) {
        mark (&c, c.taken, node);
        for (size_t i = 0; former && i < former->count; i++)
            mark (&c, c.former, former->name[i]);
        find_near (&c, f, node_of, node, sw);
        choose (&c, turn);
        rc = (int)c.n;
    }
    free (node_of);
    free (sw);
    free (c.near);
    free (c.taken);
    free (c.former);
    return rc;
}
