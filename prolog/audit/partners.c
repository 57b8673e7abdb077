/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "prolog/audit/partners.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/paths/paths.h"
#include "ibquery/guids.h"
#include "util/alloc.h"

/* An idle node. */
struct partner {
    bool near;      /* on the node's switch */
    bool taken;     /* chosen, or the node itself */
    bool former;    /* a partner in an earlier audit */
    uint64_t tells; /* bit i: round trips with it do not cross other[i] */
};

struct partner_choice {
    const struct partners_wish *wish;
    const struct fabric *f;
    const char **node_of; /* [nendpoints] */
    struct partner *v; /* [idle->count], and one for all nodes not idle */
    uint32_t other[PARTNERS_OTHERS];
    size_t nothers;
    uint8_t need[PARTNERS_OTHERS]; /* partners still needed for it */
    char **partner;
    size_t n, most;
};

/* The switch of an endpoint, as a node of the fabric; FABRIC_NONE if it has no
 * link.
 */
static uint32_t switch_of (const struct fabric *f, size_t endpoint)
{
    uint32_t port = f->endpoint[endpoint].port;
    uint32_t link = f->port[port].link;

    if (link == FABRIC_NONE)
        return FABRIC_NONE;
    return f->port[f->link[link].a == port ? f->link[link].b
                                           : f->link[link].a].node;
}

static struct partner *find (const struct partner_choice *c, const char *node)
{
    const struct hostlist *idle = c->wish->idle;
    const char *const *name = (const char *const *)idle->name;
    const char *const *found = text_find (name, idle->count, node);

    return &c->v[found ? (size_t)(found - name) : idle->count];
}

static bool is_own (const struct partner_choice *c, size_t endpoint)
{
    return switch_of (c->f, endpoint) != FABRIC_NONE
           && !strcmp (c->node_of[endpoint], c->wish->node);
}

/* sw [nnodes] is scratch, all false. */
static void find_near (const struct partner_choice *c, bool *sw)
{
    for (size_t i = 0; i < c->f->nendpoints; i++)
        if (is_own (c, i))
            sw[switch_of (c->f, i)] = true;
    for (size_t i = 0; i < c->f->nendpoints; i++)
        if (switch_of (c->f, i) != FABRIC_NONE && sw[switch_of (c->f, i)])
            find (c, c->node_of[i])->near = true;
}

static uint32_t link_of (const struct partner_choice *c, size_t endpoint)
{
    return c->f->port[c->f->endpoint[endpoint].port].link;
}

static bool is_suspect (const struct partner_choice *c, uint32_t link)
{
    size_t i = 0;

    while (i < c->wish->nsuspects
           && strcmp (c->wish->suspect[i], c->f->link[link].id) != 0)
        i++;
    return i < c->wish->nsuspects;
}

/* The suspects that are links, without the node's own links. */
static void find_others (struct partner_choice *c)
{
    for (size_t i = 0;
         i < c->wish->nsuspects && c->nothers < PARTNERS_OTHERS; i++) {
        uint32_t link = fabric_find_link (c->f, c->wish->suspect[i]);
        bool own = link == FABRIC_NONE;

        for (size_t e = 0; !own && e < c->f->nendpoints; e++)
            own = is_own (c, e) && link_of (c, e) == link;
        if (!own) {
            c->need[c->nothers] = PARTNERS_TELL;
            c->other[c->nothers++] = link;
        }
    }
}

/* The other links that a round trip does not cross. A broken path counts as if
 * it crosses all of them.
 */
static uint64_t told_by (const struct partner_choice *c, uint32_t a, uint32_t b)
{
    const struct network *net = fabric_network (c->f);
    uint32_t arc[2 * PATH_MAX_HOPS];
    struct error err;
    int there = net->walk (net->net, a, b, arc, &err);
    int back = there < 0 ? -1 : net->walk (net->net, b, a, arc + there, &err);
    uint64_t tells = 0;

    for (size_t i = 0; back >= 0 && i < c->nothers; i++) {
        int k = 0;

        while (k < there + back && arc_link (arc[k]) != c->other[i])
            k++;
        if (k == there + back)
            tells |= UINT64_C (1) << i;
    }
    return tells;
}

static void find_tells (struct partner_choice *c)
{
    for (uint32_t a = 0; c->nothers > 0 && a < c->f->nendpoints; a++)
        if (is_own (c, a) && is_suspect (c, link_of (c, a)))
            for (uint32_t b = 0; b < c->f->nendpoints; b++) {
                struct partner *v = find (c, c->node_of[b]);

                if (!v->taken)
                    v->tells |= told_by (c, a, b);
            }
}

static void take (struct partner_choice *c, size_t k)
{
    if (c->v[k].taken || c->n == c->most)
        return;
    c->v[k].taken = true;
    c->partner[c->n++] = c->wish->idle->name[k];
    for (size_t i = 0; i < c->nothers; i++)
        if (c->need[i] > 0)
            c->need[i] -= c->v[k].tells >> i & 1;
}

/* How much of the remaining need a node would meet. */
static size_t gain (const struct partner_choice *c, const struct partner *v)
{
    size_t sum = 0;

    for (size_t i = 0; !v->taken && i < c->nothers; i++)
        sum += c->need[i] * (v->tells >> i & 1);
    return sum;
}

/* Take the nodes that gain most. A former partner is taken only if it gains
 * more than any other node.
 */
static void take_telling (struct partner_choice *c, uint64_t turn)
{
    size_t count = c->wish->idle->count;

    while (c->n < c->most) {
        size_t best = 0;
        size_t most = 0;

        for (size_t i = 0; i < count; i++) {
            size_t k = (i + turn) % count;
            size_t g = 2 * gain (c, &c->v[k]);

            g -= g > 0 && c->v[k].former;
            if (g > most) {
                most = g;
                best = k;
            }
        }
        if (most == 0)
            break;
        take (c, best);
    }
}

static void choose (struct partner_choice *c)
{
    uint64_t turn = c->wish->turn;
    size_t count = c->wish->idle->count;
    size_t step = count / (c->most + 1) + 1;

    for (int again = 0; again < 2; again++)
        for (size_t i = 0; i < count && c->n < PARTNERS_NEAR; i++) {
            size_t k = (i + turn) % count;

            if (c->v[k].near && c->v[k].former == again)
                take (c, k);
        }
    take_telling (c, turn);
    for (int again = 0; again < 2; again++)
        for (size_t first = 0; first < step; first++)
            for (size_t i = first; i < count; i += step)
                if (c->v[(i + turn) % count].former == again)
                    take (c, (i + turn) % count);
}

/* The k-th of the nodes other than a and b. If there are at most k such nodes:
 * NULL, and *count is their number.
 */
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

static int find_all (struct partner_choice *c, const struct nodemap *map,
                     bool *sw, struct error *err)
{
    const struct hostlist *former = c->wish->former;

    if (guids_nodes (c->f, map, c->node_of, err) < 0)
        return -1;
    c->v[c->wish->idle->count].taken = true;
    find (c, c->wish->node)->taken = true;
    for (size_t i = 0; former && i < former->count; i++)
        find (c, former->name[i])->former = true;
    find_near (c, sw);
    find_others (c);
    find_tells (c);
    return 0;
}

/* One of the other links that round trips with all partners cross; NULL: none.
 */
static const char *find_alike (const struct partner_choice *c)
{
    for (size_t i = 0; i < c->nothers; i++)
        if (c->need[i] == PARTNERS_TELL)
            return c->f->link[c->other[i]].id;
    return NULL;
}

int partners_choose (const struct fabric *f, const struct nodemap *map,
                     const struct partners_wish *wish, char **partner,
                     size_t most, const char **alike, struct error *err)
{
    bool *sw = xcalloc (f->nnodes, sizeof (*sw));
    struct partner_choice c = {
        .wish = wish,
        .f = f,
        .node_of = xcalloc (f->nendpoints, sizeof (*c.node_of)),
        .v = xcalloc (wish->idle->count + 1, sizeof (*c.v)),
        .partner = partner,
        .most = most,
    };
    int rc = -1;

    if (find_all (&c, map, sw, err) == 0) {
        choose (&c);
        *alike = find_alike (&c);
        rc = (int)c.n;
    }
    free (sw);
    free (c.node_of);
    free (c.v);
    return rc;
}
