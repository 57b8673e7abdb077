/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "prolog/audit/partners.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/paths/paths.h"
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
    const char *const *node_of; /* [nendpoints] */
    struct partner *v; /* [idle->count], and one for all nodes not idle */
    uint32_t other[PARTNERS_OTHERS];
    size_t nothers;
    uint8_t need[PARTNERS_OTHERS]; /* partners still needed for it */
    char **partner;
    size_t n, most;
};

static struct partner *find_idle_partner (const struct partner_choice *c,
                                          const char *node)
{
    const struct hostlist *idle = c->wish->idle;
    const char *const *name = (const char *const *)idle->name;
    const char *const *found = text_find (name, idle->count, node);

    return &c->v[found ? (size_t)(found - name) : idle->count];
}

static uint32_t endpoint_link (const struct partner_choice *c, size_t endpoint)
{
    return c->f->port[c->f->endpoint[endpoint].port].link;
}

/* The switch of an endpoint; NETWORK_NONE: none. */
static uint32_t switch_of (const struct partner_choice *c, size_t endpoint)
{
    const struct network *net = fabric_network (c->f);
    uint32_t link = endpoint_link (c, endpoint);

    if (link == FABRIC_NONE)
        return NETWORK_NONE;
    return net->link[link].end[net->link[link].end[0] == NETWORK_NONE];
}

/* Whether an endpoint is the node's, and has a link. */
static bool is_node_endpoint (const struct partner_choice *c, size_t endpoint)
{
    return endpoint_link (c, endpoint) != FABRIC_NONE
           && !strcmp (c->node_of[endpoint], c->wish->node);
}

/* Find the suspects that are links: in *own, whether one of them is the node's;
 * the others in c->other.
 */
static void find_others (struct partner_choice *c, bool *own)
{
    for (size_t i = 0; i < c->wish->suspects->count; i++) {
        uint32_t link = fabric_find_link (c->f, c->wish->suspects->name[i]);
        bool mine = false;

        for (size_t e = 0; e < c->f->nendpoints; e++)
            if (link != FABRIC_NONE && is_node_endpoint (c, e)
                && endpoint_link (c, e) == link)
                mine = own[e] = true;
        if (!mine && link != FABRIC_NONE && c->nothers < PARTNERS_OTHERS) {
            c->need[c->nothers] = PARTNERS_TELL;
            c->other[c->nothers++] = link;
        }
    }
}

/* The other links that a round trip does not cross. A broken path, or none,
 * counts as if it crosses all of them.
 */
static uint64_t links_excluded_by (const struct partner_choice *c, uint32_t a,
                                   uint32_t b)
{
    const struct network *net = fabric_network (c->f);
    uint32_t arc[2 * PATH_MAX_HOPS];
    struct error err;
    int there = net->walk (net->net, a, b, arc, &err);
    int back = there < 0 ? -1 : net->walk (net->net, b, a, arc + there, &err);
    uint64_t tells = 0;

    for (size_t i = 0; back > 0 && i < c->nothers; i++) {
        int k = 0;

        while (k < there + back && arc_link (arc[k]) != c->other[i])
            k++;
        if (k == there + back)
            tells |= UINT64_C (1) << i;
    }
    return tells;
}

static void take_partner (struct partner_choice *c, size_t k)
{
    if (c->v[k].taken)
        return;
    c->v[k].taken = true;
    c->partner[c->n++] = c->wish->idle->name[k];
    for (size_t i = 0; i < c->nothers; i++)
        if (c->need[i] > 0)
            c->need[i] -= c->v[k].tells >> i & 1;
}

/* Take the nodes that meet most of the remaining need. A former partner is
 * taken only if it gains more than any other node.
 */
static void choose_best_partners (struct partner_choice *c, uint64_t turn)
{
    size_t count = c->wish->idle->count;

    while (c->n < c->most) {
        size_t best = 0;
        size_t most = 0;

        for (size_t i = 0; i < count; i++) {
            const struct partner *v = &c->v[(i + turn) % count];
            size_t g = 0;

            for (size_t k = 0; !v->taken && k < c->nothers; k++)
                g += 2 * c->need[k] * (v->tells >> k & 1);
            g -= g > 0 && v->former;
            if (g > most) {
                most = g;
                best = (i + turn) % count;
            }
        }
        if (most == 0)
            break;
        take_partner (c, best);
    }
}

/* Take nodes at every step-th place, then at those between, while there are
 * fewer than `most` partners: those that were no partners before come first.
 */
static void take_spread (struct partner_choice *c, bool near, size_t step,
                         size_t most)
{
    size_t count = c->wish->idle->count;

    for (int again = 0; again < 2; again++)
        for (size_t first = 0; first < step; first++)
            for (size_t i = first; i < count && c->n < most; i += step) {
                size_t k = (i + c->wish->turn) % count;

                if (c->v[k].former == again && (c->v[k].near || !near))
                    take_partner (c, k);
            }
}

const char *partners_leader (const char *const *node, size_t n,
                             const char *about, const char *before,
                             uint64_t turn)
{
    const char *not[] = { before, about, NULL };
    const char **fit = xarray (n, sizeof (*fit));
    const char *leader;
    size_t count = 0;

    /* leave out both; if that leaves none, only `about`, or nobody */
    for (size_t k = 0; k < 3 && count == 0; k++)
        for (size_t i = 0; i < n; i++) {
            bool out = false;

            for (size_t j = k; j < 2; j++)
                out |= not[j] && !strcmp (node[i], not[j]);
            if (!out)
                fit[count++] = node[i];
        }
    leader = count > 0 ? fit[turn % count] : NULL;
    free (fit);
    return leader;
}

static void describe_idle_nodes (struct partner_choice *c)
{
    const struct fabric *f = c->f;
    bool *sw = xcalloc (f->nnodes, sizeof (*sw));   /* a switch of the node */
    bool *own = xcalloc (f->nendpoints, sizeof (*own)); /* ends at a suspect */

    c->v[c->wish->idle->count].taken = true;
    find_idle_partner (c, c->wish->node)->taken = true;
    for (size_t i = 0; c->wish->former && i < c->wish->former->count; i++)
        find_idle_partner (c, c->wish->former->name[i])->former = true;
    for (size_t i = 0; i < f->nendpoints; i++)
        if (is_node_endpoint (c, i) && switch_of (c, i) != NETWORK_NONE)
            sw[switch_of (c, i)] = true;
    for (size_t i = 0; i < f->nendpoints; i++)
        if (switch_of (c, i) != NETWORK_NONE && sw[switch_of (c, i)])
            find_idle_partner (c, c->node_of[i])->near = true;
    find_others (c, own);
    for (uint32_t a = 0; c->nothers > 0 && a < f->nendpoints; a++)
        for (uint32_t b = 0; own[a] && b < f->nendpoints; b++) {
            struct partner *v = find_idle_partner (c, c->node_of[b]);

            if (!v->taken)
                v->tells |= links_excluded_by (c, a, b);
        }
    free (own);
    free (sw);
}

int partners_choose (const struct fabric *f, const char *const *node_of,
                     const struct partners_wish *wish, char **partner,
                     size_t most, const char **alike)
{
    struct partner_choice c = {
        .wish = wish, .f = f, .node_of = node_of,
        .v = xcalloc (wish->idle->count + 1, sizeof (*c.v)), .partner = partner,
        .most = most,
    };

    describe_idle_nodes (&c);
    take_spread (&c, true, 1, most < PARTNERS_NEAR ? most : PARTNERS_NEAR);
    choose_best_partners (&c, wish->turn);
    take_spread (&c, false, wish->idle->count / (most + 1) + 1, most);
    *alike = NULL;
    for (size_t i = c.nothers; i-- > 0;)
        if (c.need[i] == PARTNERS_TELL)
            *alike = f->link[c.other[i]].id;
    free (c.v);
    return (int)c.n;
}
