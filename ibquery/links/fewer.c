/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "ibquery/links/fewer.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ibquery/links/rails.h"
#include "util/alloc.h"
#include "util/csr.h"
#include "util/sort.h"
#include "util/text.h"

enum {
    MORE_OF = 4, MORE = 3, /* of four peers three have more rails */
    FEW_SHARE = 8,         /* of hosts: so many may lack the same */
    HALF_SHARE = 64,       /* ... half of the rails */
};

struct fewer_search {
    const struct fabric *f;
    struct pool *pool;
    uint32_t *rail;     /* [nendpoints] number of its name */
    uint32_t *family;   /* [nhosts] FABRIC_NONE: not compared */
    size_t *members;    /* [nfamilies] */
    uint64_t *same;     /* [nhosts] equal for the same rails in a family, */
    uint64_t *sorted;   /* ... all of them */
    struct csr leaves;  /* of each host, */
    struct csr hosts;   /* at each node */
    uint32_t *seen;     /* [nhosts] the host, plus 1, whose peer it was last */
    uint32_t *peer;     /* [npeers] */
    size_t npeers;
    uint32_t *have;     /* [nrails] peers that have it */
    uint32_t *value;    /* [nhosts] */
};

/* Whether a host's name is the first word of its adapters' descriptions. */
static bool is_named (const struct fabric *f, uint32_t host)
{
    const struct fabric_host *h = &f->host[host];
    uint32_t port = f->endpoint[h->first].port;
    const char *desc = f->node[f->port[port].node].desc;
    size_t len = strlen (h->name);

    return strncmp (desc, h->name, len) == 0
           && (desc[len] == ' ' || !desc[len]);
}

char *fewer_rail (const struct fabric *f, uint32_t endpoint,
                  char buf[FEWER_RAIL])
{
    const struct fabric_port *p = &f->port[f->endpoint[endpoint].port];
    const char *blank = strchr (f->node[p->node].desc, ' ');

    *buf = '\0';
    if (blank)
        snprintf (buf, FEWER_RAIL, "%s/%u", blank + 1, p->num);
    return buf;
}

/* Number the names of rails. Return how many there are. */
static size_t number_rails (struct fewer_search *s)
{
    const struct fabric *f = s->f;
    char (*name)[FEWER_RAIL]
        = pool_alloc (s->pool, f->nendpoints, sizeof (*name));
    const char **sorted = pool_alloc (s->pool, f->nendpoints, sizeof (*sorted));
    size_t n;

    for (uint32_t e = 0; e < f->nendpoints; e++)
        sorted[e] = fewer_rail (f, e, name[e]);
    n = text_unique (sorted, f->nendpoints);
    for (uint32_t e = 0; e < f->nendpoints; e++)
        s->rail[e] = text_find (sorted, n, name[e]) - sorted;
    return n;
}

/* Each number in a name becomes '#'. */
static char *fold_name (struct pool *pool, const char *name)
{
    char *fold = pool_strdup (pool, name), *to = fold;

    for (; *name; name++)
        if (!isdigit ((unsigned char)*name))
            *to++ = *name;
        else if (to == fold || to[-1] != '#')
            *to++ = '#';
    *to = '\0';
    return fold;
}

static void number_families (struct fewer_search *s)
{
    const struct fabric *f = s->f;
    const char **name = pool_alloc (s->pool, f->nhosts, sizeof (*name));
    const char **sorted = pool_alloc (s->pool, f->nhosts, sizeof (*sorted));
    size_t n;

    for (uint32_t h = 0; h < f->nhosts; h++)
        sorted[h] = name[h] = fold_name (s->pool, f->host[h].name);
    n = text_unique (sorted, f->nhosts);
    s->members = pool_alloc (s->pool, n, sizeof (*s->members));
    for (uint32_t h = 0; h < f->nhosts; h++) {
        s->family[h] = FABRIC_NONE;
        if (is_named (f, h)) {
            s->family[h] = text_find (sorted, n, name[h]) - sorted;
            s->members[s->family[h]]++;
        }
    }
}

/* The finalizer of SplitMix64: sums of such are equal for the same numbers. */
static uint64_t mix_bits (uint64_t x)
{
    x += 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

static void compare_sets (struct fewer_search *s)
{
    const struct fabric *f = s->f;

    for (uint32_t h = 0; h < f->nhosts; h++) {
        const struct fabric_host *host = &f->host[h];

        s->same[h] = mix_bits ((uint64_t)s->family[h] << 32);
        for (uint32_t e = host->first; e < host->first + host->count; e++)
            s->same[h] += mix_bits (s->rail[e]);
        s->sorted[h] = s->same[h];
    }
    if (f->nhosts > 0)
        qsort (s->sorted, f->nhosts, sizeof (*s->sorted), compare_u64);
}

/* How many hosts have the rails that a host has. */
static size_t count_same (const struct fewer_search *s, uint32_t host)
{
    const uint64_t *all = s->sorted;
    const uint64_t *at = bsearch (&s->same[host], all, s->f->nhosts,
                                  sizeof (*at), compare_u64);
    size_t first = at - all, end = first;

    while (first > 0 && all[first - 1] == *at)
        first--;
    while (end < s->f->nhosts && all[end] == *at)
        end++;
    return end - first;
}

static void find_fewer_leaves (struct fewer_search *s)
{
    const struct fabric *f = s->f;
    size_t *count = pool_alloc (s->pool, f->nhosts, sizeof (*count)), n = 0;

    for (uint32_t e = 0; e < f->nendpoints; e++)
        count[f->endpoint[e].host] += rails_leaf (f, e) != FABRIC_NONE;
    s->leaves = csr_create (f->nhosts, count);
    for (uint32_t e = 0; e < f->nendpoints; e++)
        if (rails_leaf (f, e) != FABRIC_NONE)
            s->leaves.v[n++] = rails_leaf (f, e);
    s->hosts = csr_transpose (&s->leaves, f->nnodes);
}

static void find_fewer_peers (struct fewer_search *s, uint32_t host)
{
    s->npeers = 0;
    s->seen[host] = host + 1;
    for (size_t i = s->leaves.start[host]; i < s->leaves.start[host + 1]; i++) {
        uint32_t leaf = s->leaves.v[i];

        for (size_t k = s->hosts.start[leaf]; k < s->hosts.start[leaf + 1];
             k++) {
            uint32_t peer = s->hosts.v[k];

            if (s->family[peer] == s->family[host]
                && s->seen[peer] != host + 1)
                s->peer[s->npeers++] = peer;
            s->seen[peer] = host + 1;
        }
    }
}

/* Fill in x, of a host whose peers are known, but for which rail it lacks.
 * Whether it has fewer than it should.
 */
static bool has_fewer (const struct fewer_search *s, uint32_t host,
                       struct rails_fewer *x)
{
    const struct fabric *f = s->f;
    size_t members = s->members[s->family[host]], lacks, few;

    if (s->npeers < RAILS_PEERS)
        return false;
    *x = (struct rails_fewer){ .host = host, .has = f->host[host].count,
                               .of = s->npeers, .example = FABRIC_NONE,
                               .leaf = FABRIC_NONE };
    for (size_t i = 0; i < s->npeers; i++) {
        s->value[i] = f->host[s->peer[i]].count;
        x->more += s->value[i] > x->has;
    }
    qsort (s->value, s->npeers, sizeof (*s->value), compare_u32);
    x->usual = s->value[s->npeers / 2];
    if (MORE_OF * x->more < MORE * x->of || x->usual <= x->has)
        return false;
    lacks = x->usual - x->has;
    few = 1 + members / (2 * lacks < x->usual ? FEW_SHARE : HALF_SHARE);
    return 2 * lacks <= x->usual && count_same (s, host) <= few;
}

static bool has_rail (const struct fewer_search *s, uint32_t host,
                      uint32_t rail, uint32_t *endpoint)
{
    const struct fabric_host *h = &s->f->host[host];
    uint32_t e = h->first;

    while (e < h->first + h->count && s->rail[e] != rail)
        e++;
    *endpoint = e;
    return e < h->first + h->count;
}

/* The rails that most peers have, and the host lacks: their number, and max of
 * them.
 */
static size_t find_lacking (struct fewer_search *s, uint32_t host,
                            uint32_t *rail, size_t max)
{
    enum { COUNT, TAKE, CLEAR, PASSES };
    const struct fabric *f = s->f;
    size_t n = 0;
    uint32_t own;

    for (int pass = COUNT; pass < PASSES; pass++)
        for (size_t i = 0; i < s->npeers; i++) {
            const struct fabric_host *h = &f->host[s->peer[i]];

            for (uint32_t e = h->first; e < h->first + h->count; e++) {
                uint32_t *have = &s->have[s->rail[e]];
                bool most = MORE_OF * *have >= MORE * s->npeers;

                if (pass == COUNT)
                    ++*have;
                else if (pass == CLEAR)
                    *have = 0;
                else if (most && !has_rail (s, host, s->rail[e], &own)) {
                    if (n < max)
                        rail[n] = s->rail[e];
                    n++;
                    *have = 0;
                }
            }
        }
    return n;
}

/* Which rail it is, and where most peers have it. */
static void place_rail (struct fewer_search *s, uint32_t rail,
                        struct rails_fewer *x)
{
    uint32_t e;

    x->alike = 0;
    for (size_t i = 0; i < s->npeers; i++)
        if (has_rail (s, s->peer[i], rail, &e)) {
            x->example = e;
            s->value[x->alike++] = rails_leaf (s->f, e);
        }
    qsort (s->value, x->alike, sizeof (*s->value), compare_u32);
    x->leaf = s->value[x->alike / 2];
}

static void add_fewer_host (struct fewer_search *s, struct rails_fewer x,
                            struct rails_fewer **list, size_t *n)
{
    size_t lacks = x.usual - x.has;
    uint32_t *rail = pool_alloc (s->pool, lacks, sizeof (*rail));
    bool known = find_lacking (s, x.host, rail, lacks) == lacks;

    if (known)
        qsort (rail, lacks, sizeof (*rail), compare_u32);
    for (size_t i = 0; i < (known ? lacks : 1); i++) {
        if (known)
            place_rail (s, rail[i], &x);
        *list = pool_grow (s->pool, *list, *n, sizeof (**list));
        (*list)[(*n)++] = x;
    }
}

size_t fewer_find (const struct fabric *f, struct pool *p,
                   struct rails_fewer **list)
{
    struct fewer_search s = {
        .f = f, .pool = p,
        .rail = pool_alloc (p, f->nendpoints, sizeof (*s.rail)),
        .family = pool_alloc (p, f->nhosts, sizeof (*s.family)),
        .same = pool_alloc (p, f->nhosts, sizeof (*s.same)),
        .sorted = pool_alloc (p, f->nhosts, sizeof (*s.sorted)),
        .seen = pool_alloc (p, f->nhosts, sizeof (*s.seen)),
        .peer = pool_alloc (p, f->nhosts, sizeof (*s.peer)),
        .value = pool_alloc (p, f->nhosts, sizeof (*s.value)),
    };
    size_t n = 0;

    *list = NULL;
    s.have = pool_alloc (p, number_rails (&s), sizeof (*s.have));
    number_families (&s);
    compare_sets (&s);
    find_fewer_leaves (&s);
    for (uint32_t h = 0; h < f->nhosts; h++) {
        struct rails_fewer x;

        if (s.family[h] == FABRIC_NONE)
            continue;
        find_fewer_peers (&s, h);
        if (has_fewer (&s, h, &x))
            add_fewer_host (&s, x, list, &n);
    }
    csr_clear (&s.leaves);
    csr_clear (&s.hosts);
    return n;
}

/*
 * In words
 */

/* The port that should be the rail: of an adapter with the host's name. */
static uint32_t find_rail_port (const struct fabric *f, const char *host,
                                const char *rail)
{
    char *desc = xasprintf ("%s %.*s", host,
                            (int)(strrchr (rail, '/') - rail), rail);
    unsigned long num = strtoul (strrchr (rail, '/') + 1, NULL, 10);
    uint32_t port = FABRIC_NONE;

    for (size_t i = 0; i < f->nnodes && port == FABRIC_NONE; i++)
        if (f->node[i].type == NODE_CA && strcmp (f->node[i].desc, desc) == 0
            && num <= f->node[i].nports)
            port = f->node[i].first_port + num - 1;
    free (desc);
    return port;
}

/* Adapters at a leaf whose host is not known. */
static size_t count_unnamed (const struct fabric *f, uint32_t leaf)
{
    const struct fabric_node *n = &f->node[leaf];
    size_t unnamed = 0;

    for (uint32_t p = n->first_port; p < n->first_port + n->nports; p++) {
        uint32_t far = fabric_far_port (f, p);
        uint32_t host = far == FABRIC_NONE ? far
                                           : f->node[f->port[far].node].host;

        unnamed += host != FABRIC_NONE && !is_named (f, host);
    }
    return unnamed;
}

static const char *state_of (const struct fabric_port *p)
{
    return p->link == FABRIC_NONE     ? "down"
           : p->state == PORT_ACTIVE  ? "without a LID"
           : p->state == PORT_UNKNOWN ? "in no state"
                                      : fabric_state_name (p->state);
}

char *fewer_text (const struct fabric *f, const struct rails_fewer *x)
{
    const char *host = f->host[x->host].name;
    char rail[FEWER_RAIL] = "", others[120] = "", *why;
    uint32_t port;
    size_t unnamed;

    if (x->example != FABRIC_NONE)
        fewer_rail (f, x->example, rail);
    if (!*rail) {
        why = xasprintf ("%s has %s, where %zu of its %zu peers have more, "
                         "most %zu",
                         host, COUNTED (x->has, "rail"), x->more, x->of,
                         x->usual);
        return text_clean (why);
    }
    unnamed = count_unnamed (f, x->leaf);
    if (unnamed > 0)
        snprintf (others, sizeof (others), "; or it is one of those there "
                                           "whose host is not known: %s",
                  COUNTED (unnamed, "adapter"));
    port = find_rail_port (f, host, rail);
    if (port != FABRIC_NONE)
        why = xasprintf ("%s %s is %s, where %zu of its %zu peers have it up "
                         "at %s",
                         host, rail, state_of (&f->port[port]), x->alike, x->of,
                         f->node[x->leaf].name);
    else
        why = xasprintf ("%s has no rail %s, where %zu of its %zu peers have "
                         "it at %s%s", host, rail, x->alike, x->of,
                         f->node[x->leaf].name, others);
    return text_clean (why);
}
