/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "ibquery/links/rails.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "util/csr.h"
#include "util/sort.h"
#include "util/text.h"

enum {
    RAILS_MAX = 64,  /* of a host; it is none that has more */
    RULED_SHARE = 3, /* of a rail's hosts: as many may be odd, at most, */
    ODD_SHARE = 16, /* and of all; */
    MANY = 100, MANY_SHARE = 8, /* of so many rails: so many of all */
    NEAR = 2,        /* hosts before and after, by their names, */
    NEAR_ALIKE = 2,  /* ... so many of which tell where a rail belongs */
    FEW_SHARE = 2,   /* of all compared, so many must have enough peers */
};

/* Where an endpoint is cabled to. */
struct rail_place {
    uint32_t rail;  /* number of its name; FABRIC_NONE: not compared */
    uint32_t leaf;  /* node */
};

struct rail_search {
    const struct fabric *f;
    struct pool *pool;
    struct rail_place *at; /* [nendpoints] */
    size_t nrails, ncompared;
    struct csr hosts;      /* at each node, if it is a leaf */
    size_t *shared;        /* [nhosts] rails of a host that are at a leaf of it */
    uint32_t *peer;        /* [npeers] hosts that share any */
    size_t npeers;
    uint32_t *order;       /* [nhosts] by name: cn9, cn10 */
    uint32_t *position;    /* [nhosts] there */
    uint32_t *leaf;        /* [nhosts] of a rail's peers */
    struct rail_count {
        size_t all, odd;   /* hosts that have enough peers; that are odd */
    } *count;              /* [nrails] */
};

uint32_t rails_leaf (const struct fabric *f, uint32_t endpoint)
{
    uint32_t far = fabric_far_port (f, f->endpoint[endpoint].port);
    uint32_t node = far == FABRIC_NONE ? far : f->port[far].node;

    return node != FABRIC_NONE && f->node[node].type == NODE_SWITCH
               ? node
               : FABRIC_NONE;
}

/* Number the names of rails; list the hosts at each leaf. */
static void find_rail_leaves (struct rail_search *s)
{
    const struct fabric *f = s->f;
    const char **name = pool_alloc (s->pool, f->nendpoints, sizeof (*name));
    size_t *count = pool_alloc (s->pool, f->nhosts, sizeof (*count));
    size_t n = 0;
    struct csr by_host;

    for (uint32_t e = 0; e < f->nendpoints; e++)
        if (f->endpoint[e].rail)
            name[n++] = f->endpoint[e].rail;
    s->nrails = text_unique (name, n);
    for (uint32_t e = 0; e < f->nendpoints; e++) {
        const char *rail = f->endpoint[e].rail;
        uint32_t leaf = rails_leaf (f, e), host = f->endpoint[e].host;

        s->at[e] = (struct rail_place){ FABRIC_NONE, leaf };
        if (!rail || leaf == FABRIC_NONE || f->host[host].count > RAILS_MAX)
            continue;
        s->at[e].rail = text_find (name, s->nrails, rail) - name;
        count[host]++;
        s->ncompared++;
    }
    by_host = csr_create (f->nhosts, count);
    for (uint32_t e = 0, at = 0; e < f->nendpoints; e++)
        if (s->at[e].rail != FABRIC_NONE)
            by_host.v[at++] = s->at[e].leaf;
    s->hosts = csr_transpose (&by_host, f->nnodes);
    csr_clear (&by_host);
}

/* Whether any rail of a host is at a leaf. */
static bool is_at (const struct rail_search *s, uint32_t host, uint32_t leaf)
{
    const struct fabric_host *h = &s->f->host[host];

    for (uint32_t e = h->first; e < h->first + h->count; e++)
        if (s->at[e].rail != FABRIC_NONE && s->at[e].leaf == leaf)
            return true;
    return false;
}

/* Find the hosts at the leaves of a host's rails. Return how many of these are
 * compared.
 */
static size_t find_rail_peers (struct rail_search *s, uint32_t host)
{
    const struct fabric_host *h = &s->f->host[host];
    size_t rails = 0;

    s->npeers = 0;
    for (uint32_t e = h->first; e < h->first + h->count; e++) {
        uint32_t at = s->at[e].leaf, last = FABRIC_NONE;

        if (s->at[e].rail == FABRIC_NONE)
            continue;
        rails++;
        for (size_t i = s->hosts.start[at]; i < s->hosts.start[at + 1]; i++) {
            uint32_t peer = s->hosts.v[i];

            if (peer != host && peer != last && s->shared[peer]++ == 0)
                s->peer[s->npeers++] = peer;
            last = peer;
        }
    }
    return rails;
}

/* The place of a host's rail; NULL: it has none of that name. */
static const struct rail_place *find_rail_place (const struct rail_search *s,
                                                 uint32_t host, uint32_t rail)
{
    const struct fabric_host *h = &s->f->host[host];
    uint32_t e = h->first;

    while (e < h->first + h->count && s->at[e].rail != rail)
        e++;
    return e < h->first + h->count ? &s->at[e] : NULL;
}

/* Compare a rail with its peers', of a host with so many. */
static struct rail_odd compare_rail_to_peers (struct rail_search *s,
                                              uint32_t endpoint, size_t rails)
{
    const struct rail_place *own = &s->at[endpoint];
    struct rail_odd x = { .endpoint = endpoint };

    for (size_t i = 0; i < s->npeers; i++) {
        const struct rail_place *at
            = find_rail_place (s, s->peer[i], own->rail);
        size_t others
            = s->shared[s->peer[i]] - is_at (s, s->peer[i], own->leaf);

        if (at && others > 0 && 3 * others >= 2 * (rails - 1))
            s->leaf[x.of++] = at->leaf;
    }
    if (x.of < RAILS_PEERS)
        return (struct rail_odd){ .of = 0 };
    /* what most have is in the middle */
    qsort (s->leaf, x.of, sizeof (*s->leaf), compare_u32);
    x.leaf = s->leaf[x.of / 2];
    for (size_t i = 0; i < x.of; i++)
        x.agree += s->leaf[i] == x.leaf;
    return x;
}

static int compare_hosts_by_name (const void *a, const void *b, void *arg)
{
    const struct fabric_host *host = ((const struct rail_search *)arg)->f->host;

    return strverscmp (host[*(const uint32_t *)a].name,
                       host[*(const uint32_t *)b].name);
}

static void order_hosts_by_name (struct rail_search *s)
{
    const struct fabric *f = s->f;

    for (uint32_t h = 0; h < f->nhosts; h++)
        s->order[h] = h;
    if (f->nhosts > 0)
        qsort_r (s->order, f->nhosts, sizeof (*s->order), compare_hosts_by_name,
                 s);
    for (uint32_t h = 0; h < f->nhosts; h++)
        s->position[s->order[h]] = h;
}

/* Whether hosts with names next to its own have the rail at the same leaf. */
static bool is_near (const struct rail_search *s, uint32_t host,
                     uint32_t endpoint)
{
    size_t at = s->position[host], alike = 0;
    size_t end = at + NEAR + 1 < s->f->nhosts ? at + NEAR + 1 : s->f->nhosts;

    for (size_t i = at > NEAR ? at - NEAR : 0; i < end; i++) {
        const struct rail_place *p
            = i == at ? NULL
                      : find_rail_place (s, s->order[i], s->at[endpoint].rail);

        alike += p && p->leaf == s->at[endpoint].leaf;
    }
    return alike >= NEAR_ALIKE;
}

/* If all rails of a host are odd, each by the others, take out those of which
 * its name tells that they are where they belong, unless it does of all. Return
 * how many are left.
 */
static size_t drop_rails_in_place (const struct rail_search *s, uint32_t host,
                                   size_t rails, struct rail_odd *odd, size_t n)
{
    size_t near = 0, kept = 0;

    for (size_t i = 0; i < n; i++)
        near += is_near (s, host, odd[i].endpoint);
    if (n < rails || near == n)
        return n;
    for (size_t i = 0; i < n; i++)
        if (!is_near (s, host, odd[i].endpoint))
            odd[kept++] = odd[i];
    return kept;
}

/* Whether hosts have leaves by a rule, and some may be odd. */
static bool is_ruled (const struct rail_search *s)
{
    size_t all = 0, odd = 0;

    for (size_t r = 0; r < s->nrails; r++) {
        struct rail_count *c = &s->count[r];

        if (RULED_SHARE * c->odd > c->all)
            c->all = 0;
        all += c->all;
        odd += c->all > 0 ? c->odd : 0;
    }
    return (all < MANY ? ODD_SHARE : MANY_SHARE) * odd <= all
           && FEW_SHARE * all >= s->ncompared;
}

size_t rails_find_odd (const struct fabric *f, struct pool *p,
                       struct rail_odd **odd)
{
    struct rail_search s = {
        .f = f, .pool = p, .at = pool_alloc (p, f->nendpoints, sizeof (*s.at)),
        .shared = pool_alloc (p, f->nhosts, sizeof (*s.shared)),
        .peer = pool_alloc (p, f->nhosts, sizeof (*s.peer)),
        .leaf = pool_alloc (p, f->nhosts, sizeof (*s.leaf)),
        .order = pool_alloc (p, f->nhosts, sizeof (*s.order)),
        .position = pool_alloc (p, f->nhosts, sizeof (*s.position)),
    };
    size_t n = 0, kept = 0, before;

    *odd = NULL;
    find_rail_leaves (&s);
    order_hosts_by_name (&s);
    s.count = pool_alloc (p, s.nrails, sizeof (*s.count));
    for (uint32_t h = 0; h < f->nhosts; h++) {
        uint32_t first = f->host[h].first;
        size_t rails = find_rail_peers (&s, h);

        before = n;
        for (uint32_t e = first; e < first + f->host[h].count; e++) {
            const struct rail_place *own = &s.at[e];
            struct rail_odd x = { .of = 0 };

            if (own->rail != FABRIC_NONE)
                x = compare_rail_to_peers (&s, e, rails);
            if (x.of == 0)
                continue;
            s.count[own->rail].all++;
            if (2 * x.agree > x.of && x.leaf == own->leaf)
                continue;
            *odd = pool_grow (p, *odd, n, sizeof (**odd));
            (*odd)[n++] = x;
        }
        if (n > before)
            n = before
                + drop_rails_in_place (&s, h, rails, *odd + before, n - before);
        for (size_t i = before; i < n; i++)
            s.count[s.at[(*odd)[i].endpoint].rail].odd++;
        for (size_t i = 0; i < s.npeers; i++)
            s.shared[s.peer[i]] = 0;
    }
    /* those for which most peers agree, if there is a rule at all */
    for (size_t i = 0, ruled = is_ruled (&s); i < n && ruled; i++)
        if (s.count[s.at[(*odd)[i].endpoint].rail].all > 0
            && 2 * (*odd)[i].agree > (*odd)[i].of)
            (*odd)[kept++] = (*odd)[i];
    csr_clear (&s.hosts);
    return kept;
}
