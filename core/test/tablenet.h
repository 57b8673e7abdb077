/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Networks for the tests of core: tables of paths, filled by hand or by a
 * model. Links are called l1, l2, ...; endpoints k1, k2, ... on hosts of the
 * same name. Nothing is checked; where memory runs out the test aborts.
 *
 * It does not model forwarding: a table may hold paths that no tables of
 * switches could give. So each endpoint is a leaf of its own, and there are
 * no switches. Links of paths that are given by hand are crossed from their
 * first end by who has the smaller number, host links by their host.
 */
#ifndef CORE_TEST_TABLENET_H
#define CORE_TEST_TABLENET_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/paths/paths.h"
#include "core/test/named.h"
#include "util/rng.h"

struct tablenet {
    struct network net; /* hand &t->net to pathset_create */
    size_t n;           /* endpoints */
    struct table_path {
        uint32_t *arc;
        int n; /* -1: no path */
    } *path;            /* [n * n] */
    struct link_info *info;
    char (*id)[24];
    char (*name)[NAMED_BYTES];
};

static void *table_alloc (size_t n, size_t size)
{
    void *p = calloc (n + 1, size);

    if (!p)
        abort ();
    return p;
}

static int table_walk (const void *net, uint32_t from, uint32_t to,
                       uint32_t *arc, struct error *err)
{
    const struct tablenet *t = net;
    const struct table_path *p = &t->path[from * t->n + to];

    if (p->n < 0)
        return error_input (err, "dead end");
    memcpy (arc, p->arc, p->n * sizeof (*arc));
    return p->n;
}

/* Places: first the endpoints, to receive; then PATH_MAX_HOPS per endpoint,
 * one for each hop of what it sends.
 */
static uint32_t table_place (const void *net, uint32_t endpoint)
{
    (void)net;
    return endpoint;
}

static uint32_t table_attach (const void *net, uint32_t endpoint,
                              uint32_t *arc)
{
    const struct tablenet *t = net;

    *arc = NETWORK_NONE;
    return t->n + endpoint * PATH_MAX_HOPS;
}

static uint32_t table_hop (const void *net, uint32_t place, uint32_t to,
                           uint32_t *arc)
{
    const struct tablenet *t = net;
    uint32_t from = (place - t->n) / PATH_MAX_HOPS;
    int hop = (place - t->n) % PATH_MAX_HOPS;
    const struct table_path *p = &t->path[from * t->n + to];

    if (p->n < 0)
        return NETWORK_NONE;
    *arc = p->arc[hop];
    return hop + 1 == p->n ? to : place + 1;
}

/* n endpoints, links l1 .. l<nlinks>: link 0 .. n-1 is the host link of the
 * endpoint of that number by its kind and class, whatever the paths say; the
 * others are switch links of class 1. All paths are dead ends.
 */
__attribute__ ((unused)) static struct tablenet *
tablenet_create (size_t n, size_t nlinks)
{
    struct tablenet *t = table_alloc (1, sizeof (*t));

    t->n = n;
    t->path = table_alloc (n * n, sizeof (*t->path));
    t->info = table_alloc (nlinks, sizeof (*t->info));
    t->id = table_alloc (nlinks, sizeof (*t->id));
    t->name = table_alloc (n, sizeof (*t->name));
    for (size_t i = 0; i < n * n; i++)
        t->path[i].n = -1;
    for (size_t i = 0; i < n; i++)
        snprintf (t->name[i], sizeof (t->name[i]), "k%zu", i + 1);
    for (size_t i = 0; i < nlinks; i++) {
        snprintf (t->id[i], sizeof (t->id[i]), "l%zu", i + 1);
        t->info[i] = (struct link_info){
            .id = t->id[i],
            .kind = i < n ? LINK_HOST : LINK_SWITCH,
            .class_id = i < n ? 0 : 1,
            .class_name = i < n ? "host" : "switch",
            .host = i < n ? t->name[i] : NULL,
            .end = { NETWORK_NONE, NETWORK_NONE },
        };
    }
    t->net = (struct network){
        .net = t,
        .hash = "table",
        .nlinks = nlinks,
        .link = t->info,
        .nplaces = n + n * PATH_MAX_HOPS,
        .walk = table_walk,
        .place = table_place,
        .attach = table_attach,
        .hop = table_hop,
    };
    return t;
}

__attribute__ ((unused)) static void tablenet_destroy (struct tablenet *t)
{
    for (size_t i = 0; i < t->n * t->n; i++)
        free (t->path[i].arc);
    free (t->path);
    free (t->info);
    free (t->id);
    free (t->name);
    free (t);
}

static void table_set (struct tablenet *t, size_t a, size_t b,
                       const uint32_t *arc, int n)
{
    struct table_path *p = &t->path[a * t->n + b];

    free (p->arc);
    p->arc = table_alloc (n, sizeof (*p->arc));
    memcpy (p->arc, arc, n * sizeof (*arc));
    p->n = n;
}

static uint32_t table_arc (uint32_t link, size_t a, size_t b)
{
    return 2 * link + (link == a ? 0 : link == b ? 1 : a > b);
}

/* The path from a to b: n links, each an int. With tablenet_both, also the
 * way back over the same links.
 */
__attribute__ ((unused)) static void
tablenet_path (struct tablenet *t, size_t a, size_t b, int n, ...)
{
    uint32_t arc[PATH_MAX_HOPS];
    va_list ap;

    va_start (ap, n);
    for (int i = 0; i < n; i++)
        arc[i] = table_arc (va_arg (ap, int), a, b);
    va_end (ap);
    table_set (t, a, b, arc, n);
}

__attribute__ ((unused)) static void
tablenet_both (struct tablenet *t, size_t a, size_t b, int n, ...)
{
    uint32_t arc[PATH_MAX_HOPS];
    uint32_t back[PATH_MAX_HOPS];
    va_list ap;

    va_start (ap, n);
    for (int i = 0; i < n; i++) {
        arc[i] = table_arc (va_arg (ap, int), a, b);
        back[n - 1 - i] = arc[i] ^ 1;
    }
    va_end (ap);
    table_set (t, a, b, arc, n);
    table_set (t, b, a, back, n);
}

/* The set of endpoints who[0 .. n-1], or of all where who is NULL. */
__attribute__ ((unused)) static struct pathset *
tablenet_pathset (const struct tablenet *t, const uint32_t *who, size_t n)
{
    return named_pathset (&t->net, t->name, t->n, who, n);
}

/* A set of n endpoints drawn at random. */
__attribute__ ((unused)) static struct pathset *
tablenet_random (const struct tablenet *t, size_t n, uint64_t seed)
{
    return named_random (&t->net, t->name, t->n, n, seed);
}

static uint32_t table_subnet (const void *net, uint32_t endpoint)
{
    return endpoint % ((const struct tablenet *)net)->net.nsubnets;
}

/* n hosts, endpoint i in subnet i modulo their number, which has one switch. */
__attribute__ ((unused)) static struct tablenet *
tablenet_subnets (size_t subnets, size_t n)
{
    struct tablenet *t = tablenet_create (n, n);

    t->net.subnet = table_subnet;
    t->net.nsubnets = subnets;
    for (size_t a = 0; a < n; a++)
        for (size_t b = 0; b < n; b++) {
            if (a % subnets == b % subnets && a != b)
                tablenet_path (t, a, b, 2, (int)a, (int)b);
            else
                tablenet_path (t, a, b, 0);
        }
    return t;
}

/* The sample network of the paper: k1, k2, k5, k6 (l1, l2, l7, l8) on switch
 * r1, k3, k4 (l5, l6) on r3; r1-r2 is l3, r2-r3 is l4.
 */
__attribute__ ((unused)) static struct tablenet *tablenet_paper (void)
{
    static const int host_link[6] = { 0, 1, 4, 5, 6, 7 };
    static const int near[6] = { 1, 1, 0, 0, 1, 1 };
    struct tablenet *t = tablenet_create (6, 8);

    for (size_t i = 0; i < 8; i++) {
        t->info[i].kind = LINK_SWITCH;
        t->info[i].host = NULL;
    }
    for (size_t a = 0; a < 6; a++) {
        struct link_info *info = &t->info[host_link[a]];

        info->kind = LINK_HOST;
        info->host = t->name[a];
        for (size_t b = 0; b < 6; b++) {
            if (a == b)
                continue;
            if (near[a] == near[b])
                tablenet_path (t, a, b, 2, host_link[a], host_link[b]);
            else
                tablenet_path (t, a, b, 4, host_link[a], near[a] ? 2 : 3,
                               near[a] ? 3 : 2, host_link[b]);
        }
    }
    for (size_t i = 0; i < 8; i++) {
        t->info[i].class_id = t->info[i].kind == LINK_HOST ? 0 : 1;
        t->info[i].class_name = t->info[i].kind == LINK_HOST ? "host"
                                                             : "switch";
    }
    return t;
}

enum table_routing {
    TABLE_DMODK,
    TABLE_MINHOP, /* each switch spreads its destinations over its up ports */
};

/* p-port q-tree, k = p/2: n = 2k^q hosts, m = qn links. Switch (l, x, y) of
 * level l = 1 .. q has x < n/k^l (tops: x = 0), y < k^(l-1); its up link u
 * leads to (l+1, x/k, u k^(l-1) + y). Link i < n is host i's; the level of a
 * switch link is its class.
 */
__attribute__ ((unused)) static struct tablenet *
tablenet_fattree (int p, int q, enum table_routing routing, uint64_t seed)
{
    static const char *const class_name[] = {
        "host", "switch 1-2", "switch 2-3", "switch 3-4", "switch 4-5",
    };
    size_t k = p / 2;
    size_t power[8] = { 1 };
    size_t n;
    struct tablenet *t;
    struct rng rng;
    uint32_t *dest;
    uint8_t *up;     /* [switch][destination] */
    uint32_t *count; /* [switch][up port] */

    for (int l = 1; l <= q; l++)
        power[l] = power[l - 1] * k;
    n = 2 * power[q];
    t = tablenet_create (n, q * n);
    for (size_t i = n; i < q * n; i++) {
        t->info[i].class_id = i / n;
        t->info[i].class_name = class_name[i / n];
    }
    /* below the top, a level has n/k switches */
    up = table_alloc (q * n / k * n, sizeof (*up));
    count = table_alloc (q * n, sizeof (*count));
    dest = table_alloc (n, sizeof (*dest));
    rng_seed (&rng, seed);
    for (size_t i = 0; i < n; i++)
        dest[i] = i;
    if (routing == TABLE_MINHOP)
        rng_shuffle (&rng, dest, n);
    for (size_t i = 0; i < n; i++)
        for (int l = 1; l < q; l++)
            for (size_t s = 0; s < n / k; s++) {
                size_t sw = (l - 1) * (n / k) + s;
                uint32_t *c = &count[sw * k];
                size_t best = rng_below (&rng, k);

                if (s / power[l - 1] == dest[i] / power[l])
                    continue; /* down */
                for (size_t u = 0; u < k; u++)
                    if (c[u] < c[best])
                        best = u;
                if (routing == TABLE_DMODK)
                    best = dest[i] / power[l - 1] % k;
                c[best]++;
                up[sw * n + dest[i]] = best;
            }
    for (size_t a = 0; a < n; a++)
        for (size_t b = 0; b < n; b++) {
            uint32_t arc[PATH_MAX_HOPS] = { 2 * a };
            size_t y = 0;
            int hops = 1;
            int l = 1;

            if (a == b)
                continue;
            for (; a / power[l] != b / power[l] && l < q; l++) {
                size_t s = a / power[l] * power[l - 1] + y;
                size_t sw = (l - 1) * (n / k) + s;
                size_t u = up[sw * n + b];

                arc[hops++] = 2 * (l * n + s * k + u);
                y += u * power[l - 1];
            }
            for (l--; l >= 1; l--) {
                size_t u = y / power[l - 1];

                y %= power[l - 1];
                arc[hops++] = 2 * (l * n
                    + (b / power[l] * power[l - 1] + y) * k + u) + 1;
            }
            arc[hops++] = 2 * b + 1;
            table_set (t, a, b, arc, hops);
        }
    free (up);
    free (count);
    free (dest);
    return t;
}

/* A random network: `hosts` spread over `switches`, which a random tree and
 * `more` random cables join (parallel ones happen). Each switch has drawn a
 * shortest way to each host, so that there and back often differ.
 */
__attribute__ ((unused)) static struct tablenet *
tablenet_irregular (size_t switches, size_t hosts, size_t more, uint64_t seed)
{
    size_t cables = switches - 1 + more;
    struct tablenet *t = tablenet_create (hosts, hosts + cables);
    uint32_t (*end)[2] = table_alloc (cables, sizeof (*end));
    uint32_t *leaf = table_alloc (hosts, sizeof (*leaf));
    uint32_t *distance = table_alloc (switches, sizeof (*distance));
    uint32_t *next = table_alloc (switches, sizeof (*next)); /* cable */
    struct rng rng;

    rng_seed (&rng, seed);
    for (size_t c = 0; c < cables; c++) {
        end[c][0] = c < switches - 1 ? c + 1 : rng_below (&rng, switches);
        do
            end[c][1] = rng_below (&rng, c < switches - 1 ? c + 1 : switches);
        while (end[c][1] == end[c][0] && switches > 1);
    }
    for (size_t h = 0; h < hosts; h++)
        leaf[h] = rng_below (&rng, switches);
    for (size_t b = 0; b < hosts; b++) {
        for (size_t s = 0; s < switches; s++)
            distance[s] = s == leaf[b] ? 0 : PATH_MAX_HOPS;
        for (size_t round = 0; round < switches; round++)
            for (size_t c = 0; c < cables; c++)
                for (int k = 0; k < 2; k++)
                    if (distance[end[c][k]] > distance[end[c][!k]] + 1)
                        distance[end[c][k]] = distance[end[c][!k]] + 1;
        for (size_t s = 0; s < switches; s++) {
            uint64_t ways = 0;

            for (size_t c = 0; c < cables; c++)
                for (int k = 0; k < 2; k++)
                    if (end[c][k] == s
                        && distance[end[c][!k]] + 1 == distance[s]
                        && rng_below (&rng, ++ways) == 0)
                        next[s] = c;
        }
        for (size_t a = 0; a < hosts; a++) {
            uint32_t arc[PATH_MAX_HOPS] = { 2 * a };
            uint32_t s = leaf[a];
            int n = 1;

            if (a == b)
                continue;
            while (s != leaf[b]) {
                bool forth = end[next[s]][0] == s;

                arc[n++] = 2 * (hosts + next[s]) + !forth;
                s = end[next[s]][forth];
            }
            arc[n++] = 2 * b + 1;
            table_set (t, a, b, arc, n);
        }
    }
    free (end);
    free (leaf);
    free (distance);
    free (next);
    return t;
}

/* a hosts and b hosts, on a switch each. Of the a, host i leads to host j of
 * the b by its link, the trunk if there is one, branch j of `branches`, and
 * the link of j.
 */
__attribute__ ((unused)) static struct tablenet *
tablenet_two_stars (size_t a, size_t b, int trunk, size_t branches)
{
    struct tablenet *t = tablenet_create (a + b, a + b + 1 + branches);

    for (size_t i = 0; i < a + b; i++)
        for (size_t j = 0; j < i; j++) {
            int cross = i >= a && j < a;
            int branch = a + b + 1 + (branches ? i % branches : 0);

            if (!cross)
                tablenet_both (t, j, i, 2, (int)j, (int)i);
            else if (trunk && branches)
                tablenet_both (t, j, i, 4, (int)j, (int)(a + b), branch,
                               (int)i);
            else
                tablenet_both (t, j, i, 3, (int)j,
                               trunk ? (int)(a + b) : branch, (int)i);
        }
    return t;
}

#endif /* CORE_TEST_TABLENET_H */
