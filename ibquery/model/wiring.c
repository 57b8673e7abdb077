/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes
 *
 * A search from one switch (Dial's algorithm: one bucket per distance,
 * WIRING_MAX_COST + 1 of them in use at a time) gives the set of ports on
 * cheapest paths, 64 bits, for every switch. The sets for switches with hosts
 * (leaves) are kept, because destinations are routed in random order, not leaf
 * by leaf. Memory: 8 bytes * leaves * switches, and switches * LIDs for the
 * tables. Cost: switches * cables for the searches, hosts * switches for the
 * choices.
 *
 * Whatever the rule, routes to a switch (management) use the port of the set
 * that the switch's number selects (modulo the size of the set).
 */
#include "config.h"
#include "ibquery/model/wiring.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/rng.h"

enum { NOBODY = -1, FAR = UINT16_MAX, BUCKETS = WIRING_MAX_COST + 1 };

struct port {
    int32_t peer;   /* switch at the far end, or NOBODY */
    uint8_t number; /* its port there */
    uint8_t cost;
};

struct wiring_node {
    uint32_t group, number;
    uint32_t first, count, divisor; /* up ports, wiring_up */
    uint32_t component;
    uint32_t lid;   /* 0: pruned */
    uint32_t index; /* in the fabric */
    int32_t leaf;   /* index of its sets, or NOBODY */
};

struct plug {
    uint32_t at, port;
    uint32_t lid; /* 0: pruned */
};

struct wiring {
    char name[FABRIC_NAME_MAX];
    uint32_t nhosts, nswitches, nports;
    uint32_t lids;
    struct wiring_node *node; /* [nswitches] */
    struct plug *host; /* [nhosts] */
    struct port *port; /* [nswitches * nports] */
    uint8_t *lft;      /* [nswitches * (lids + 1)] */
};

struct hop_search {
    uint16_t *distance;        /* [nswitches] */
    uint32_t *bucket[BUCKETS]; /* [nswitches * nports] each */
    size_t n[BUCKETS];
};

/* What the rules for equally good ports use. */
struct router {
    const struct wiring *w;
    uint32_t *used; /* [nswitches * nports] destinations by port */
    struct rng rng;
};

static size_t sockets (const struct wiring *w)
{
    return (size_t)w->nswitches * w->nports;
}

struct wiring *wiring_create (const char *name, uint64_t hosts,
                              uint64_t switches, unsigned int ports,
                              struct error *err)
{
    struct wiring *w;

    if (ports > WIRING_MAX_PORTS) {
        error_input (err, "the %s needs switches of %u ports; %d is the most",
                     name, ports, WIRING_MAX_PORTS);
        return NULL;
    }
    if (hosts > FABRIC_MAX_LID || switches > FABRIC_MAX_LID - hosts) {
        error_input (err,
                     "the %s has %" PRIu64 " hosts and needs %" PRIu64
                     " LIDs, but there are %d",
                     name, hosts, hosts + switches, FABRIC_MAX_LID);
        return NULL;
    }
    w = xcalloc (1, sizeof (*w));
    snprintf (w->name, sizeof (w->name), "%s", name);
    w->nhosts = hosts;
    w->nswitches = switches;
    w->nports = ports;
    w->node = xcalloc (switches, sizeof (*w->node));
    w->host = xcalloc (hosts, sizeof (*w->host));
    w->port = xcalloc (sockets (w), sizeof (*w->port));
    for (size_t i = 0; i < sockets (w); i++)
        w->port[i].peer = NOBODY;
    return w;
}

void wiring_destroy (struct wiring *w)
{
    if (!w)
        return;
    free (w->node);
    free (w->host);
    free (w->port);
    free (w->lft);
    free (w);
}

static struct port *port_of (const struct wiring *w, unsigned int s,
                             unsigned int port)
{
    return &w->port[(size_t)s * w->nports + port];
}

void wiring_switch (struct wiring *w, unsigned int s, unsigned int group,
                    unsigned int number)
{
    w->node[s].group = group;
    w->node[s].number = number;
}

void wiring_host (struct wiring *w, unsigned int host, unsigned int s,
                  unsigned int port)
{
    w->host[host] = (struct plug){ .at = s, .port = port };
}

void wiring_cable (struct wiring *w, unsigned int s, unsigned int port,
                   unsigned int t, unsigned int t_port, unsigned int cost)
{
    *port_of (w, s, port) = (struct port){ t, t_port, cost };
    *port_of (w, t, t_port) = (struct port){ s, port, cost };
}

void wiring_up (struct wiring *w, unsigned int s, unsigned int first,
                unsigned int count, unsigned int divisor)
{
    w->node[s].first = first;
    w->node[s].count = count;
    w->node[s].divisor = divisor;
}

static void pull (struct wiring *w, size_t socket)
{
    struct port *p = &w->port[socket];

    if (p->peer == NOBODY)
        return;
    port_of (w, p->peer, p->number)->peer = NOBODY;
    p->peer = NOBODY;
}

static void remove_cable (struct wiring *w, uint32_t socket)
{
    pull (w, socket);
}

static void remove_switch (struct wiring *w, uint32_t s)
{
    for (size_t k = 0; k < w->nports; k++)
        pull (w, (size_t)s * w->nports + k);
    w->node[s].lid = 0;
}

static void remove_host (struct wiring *w, uint32_t host)
{
    w->host[host].lid = 0;
}

/* Remove how->prune percent of the n things in list. */
static void thin (struct wiring *w, uint32_t *list, size_t n,
                  const struct choice *how, struct rng *rng,
                  void (*remove) (struct wiring *w, uint32_t thing))
{
    rng_shuffle (rng, list, n);
    for (size_t i = 0; i < n * how->prune / 100; i++)
        remove (w, list[i]);
}

/* Number the connected components; list has room for all switches. */
static void find_components (struct wiring *w, uint32_t *list)
{
    uint32_t found = 0;

    for (uint32_t s = 0; s < w->nswitches; s++)
        w->node[s].component = 0;
    for (uint32_t s = 0; s < w->nswitches; s++) {
        size_t tail = 0;

        if (w->node[s].component != 0)
            continue;
        w->node[s].component = ++found;
        list[tail++] = s;
        for (size_t head = 0; head < tail; head++)
            for (uint32_t k = 0; k < w->nports; k++) {
                int32_t peer = port_of (w, list[head], k)->peer;

                if (peer == NOBODY || w->node[peer].component != 0)
                    continue;
                w->node[peer].component = found;
                list[tail++] = peer;
            }
    }
}

/* Keep the component with the most hosts; list as above. */
static int keep_largest (struct wiring *w, uint32_t *list, struct error *err)
{
    uint32_t *hosts = xcalloc (w->nswitches + 1, sizeof (*hosts));
    uint32_t best = 0;

    find_components (w, list);
    for (uint32_t i = 0; i < w->nhosts; i++) {
        const struct wiring_node *at = &w->node[w->host[i].at];

        if (w->host[i].lid != 0 && at->lid != 0
            && ++hosts[at->component] > hosts[best])
            best = at->component;
    }
    for (uint32_t s = 0; s < w->nswitches; s++)
        if (w->node[s].component != best)
            remove_switch (w, s);
    for (uint32_t i = 0; i < w->nhosts; i++)
        if (w->node[w->host[i].at].lid == 0)
            remove_host (w, i);
    free (hosts);
    return best != 0 ? 0 : error_input (err, "the %s has no hosts", w->name);
}

static int prune (struct wiring *w, const struct choice *how,
                  struct error *err)
{
    size_t size = sockets (w) > w->nhosts ? sockets (w) : w->nhosts;
    uint32_t *list = xarray (size, sizeof (*list));
    size_t cables = 0;
    struct rng rng;
    int rc;

    rng_seed (&rng, how->seed);
    for (uint32_t i = 0; i < sockets (w); i++) {
        const struct port *p = &w->port[i];

        if (p->peer != NOBODY
            && i < (size_t)p->peer * w->nports + p->number)
            list[cables++] = i;
    }
    thin (w, list, cables, how, &rng, remove_cable);
    for (uint32_t s = 0; s < w->nswitches; s++)
        list[s] = s;
    thin (w, list, w->nswitches, how, &rng, remove_switch);
    for (uint32_t i = 0; i < w->nhosts; i++)
        list[i] = i;
    thin (w, list, w->nhosts, how, &rng, remove_host);
    rc = keep_largest (w, list, err);
    free (list);
    return rc;
}

/* Hosts in order, each at a multiple of its number of LIDs; then switches. */
static int number_lids (struct wiring *w, unsigned int lmc, struct error *err)
{
    uint32_t next = 1U << lmc;

    for (uint32_t i = 0; i < w->nhosts; i++)
        if (w->host[i].lid != 0) {
            w->host[i].lid = next;
            next += 1U << lmc;
        }
    for (uint32_t s = 0; s < w->nswitches; s++)
        if (w->node[s].lid != 0)
            w->node[s].lid = next++;
    w->lids = next - 1;
    if (w->lids > FABRIC_MAX_LID)
        return error_input (err, "%u LIDs, but there are %d", w->lids,
                            FABRIC_MAX_LID);
    return 0;
}

static int select_parts (struct wiring *w, const struct choice *how,
                         struct error *err)
{
    for (uint32_t i = 0; i < w->nhosts; i++)
        w->host[i].lid = 1;
    for (uint32_t s = 0; s < w->nswitches; s++)
        w->node[s].lid = 1;
    if (how->prune > 90)
        return error_input (err, "0 to 90 percent can be pruned, not %u",
                            how->prune);
    if (how->prune > 0 && prune (w, how, err) < 0)
        return -1;
    if (how->lmc > FABRIC_MAX_LMC)
        return error_input (err, "an LMC is 0 to %d, not %u", FABRIC_MAX_LMC,
                            how->lmc);
    return number_lids (w, how->lmc, err);
}

static void search_init (struct hop_search *q, const struct wiring *w)
{
    q->distance = xarray (w->nswitches, sizeof (*q->distance));
    for (int b = 0; b < BUCKETS; b++)
        q->bucket[b] = xarray (sockets (w) + 1, sizeof (*q->bucket[b]));
}

static void search_clear (struct hop_search *q)
{
    free (q->distance);
    for (int b = 0; b < BUCKETS; b++)
        free (q->bucket[b]);
}

/* Distances from every switch to one. */
static void search_from (struct hop_search *q, const struct wiring *w,
                         unsigned int to)
{
    size_t waiting = 1;

    for (uint32_t s = 0; s < w->nswitches; s++)
        q->distance[s] = FAR;
    memset (q->n, 0, sizeof (q->n));
    q->distance[to] = 0;
    q->bucket[0][q->n[0]++] = to;
    for (unsigned int d = 0; waiting > 0; d++) {
        unsigned int b = d % BUCKETS;

        for (size_t i = 0; i < q->n[b]; i++) {
            uint32_t s = q->bucket[b][i];

            for (uint32_t k = 0; k < w->nports && q->distance[s] == d; k++) {
                const struct port *p = port_of (w, s, k);
                unsigned int next = d + p->cost, nb = next % BUCKETS;

                if (p->peer == NOBODY || q->distance[p->peer] <= next)
                    continue;
                q->distance[p->peer] = next;
                q->bucket[nb][q->n[nb]++] = p->peer;
                waiting++;
            }
        }
        waiting -= q->n[b];
        q->n[b] = 0;
    }
}

/* The ports of a switch on cheapest paths to the switch where the search began,
 * as a bit set.
 */
static uint64_t good_ports (const struct hop_search *q, const struct wiring *w,
                            unsigned int s)
{
    uint64_t set = 0;

    for (uint32_t k = 0; k < w->nports; k++) {
        const struct port *p = port_of (w, s, k);

        if (p->peer != NOBODY
            && q->distance[p->peer] + p->cost == q->distance[s])
            set |= (uint64_t)1 << k;
    }
    return set;
}

static unsigned int lowest (uint64_t set)
{
    return __builtin_ctzll (set);
}

static unsigned int nth (uint64_t set, unsigned int n)
{
    while (n-- > 0)
        set &= set - 1;
    return lowest (set);
}

/* The rules: the port of switch s, from those in set, for a host's LID, which
 * is `lid` after its first.
 */
static unsigned int pick_digit (struct router *r, uint32_t s, uint32_t host,
                                unsigned int lid, uint64_t set)
{
    const struct wiring_node *n = &r->w->node[s];
    unsigned int wanted = 0;
    uint64_t from;

    if (n->count != 0)
        wanted = n->first + (host / n->divisor + lid) % n->count;
    from = set >> wanted << wanted;
    return lowest (from != 0 ? from : set);
}

static unsigned int pick_least (struct router *r, uint32_t s, uint32_t host,
                                unsigned int lid, uint64_t set)
{
    const uint32_t *used = r->used + (size_t)s * r->w->nports;
    unsigned int best = lowest (set);

    (void)host;
    (void)lid;
    for (; set != 0; set &= set - 1)
        if (used[lowest (set)] < used[best])
            best = lowest (set);
    return best;
}

static unsigned int pick_random (struct router *r, uint32_t s, uint32_t host,
                                 unsigned int lid, uint64_t set)
{
    (void)s;
    (void)host;
    (void)lid;
    return nth (set, rng_below (&r->rng, __builtin_popcountll (set)));
}

static unsigned int (*const pick[]) (struct router *r, uint32_t s,
                                     uint32_t host, unsigned int lid,
                                     uint64_t set)
    = {
          [ROUTING_DMODK] = pick_digit,
          [ROUTING_MINHOP] = pick_least,
          [ROUTING_RANDOM] = pick_random,
      };

static uint8_t *entry (const struct wiring *w, uint32_t s, uint32_t lid)
{
    return &w->lft[(size_t)s * (w->lids + 1) + lid];
}

/* Search from every switch: routes to it, and the sets of leaves. */
static void route_switches (struct wiring *w, uint64_t *set)
{
    struct hop_search q = { 0 };

    search_init (&q, w);
    for (uint32_t to = 0; to < w->nswitches; to++) {
        if (w->node[to].lid == 0)
            continue;
        search_from (&q, w, to);
        for (uint32_t s = 0; s < w->nswitches; s++) {
            uint64_t good = w->node[s].lid != 0 ? good_ports (&q, w, s) : 0;
            int32_t leaf = w->node[to].leaf;

            if (leaf != NOBODY)
                set[(size_t)leaf * w->nswitches + s] = good;
            if (good != 0)
                *entry (w, s, w->node[to].lid)
                    = nth (good, to % __builtin_popcountll (good)) + 1;
        }
        *entry (w, to, w->node[to].lid) = 0;
    }
    search_clear (&q);
}

static void route_host (struct wiring *w, const struct choice *how,
                        uint32_t host, unsigned int lid, const uint64_t *set,
                        struct router *r)
{
    const struct plug *plug = &w->host[host];
    int32_t leaf = w->node[plug->at].leaf;

    for (uint32_t s = 0; s < w->nswitches; s++) {
        uint64_t good = set[(size_t)leaf * w->nswitches + s];
        unsigned int port = plug->port;

        if (w->node[s].lid == 0)
            continue;
        if (s != plug->at)
            port = pick[how->routing](r, s, host, lid, good);
        r->used[(size_t)s * w->nports + port]++;
        *entry (w, s, plug->lid + lid) = port + 1;
    }
}

static size_t count_leaves (struct wiring *w)
{
    size_t leaves = 0;

    for (uint32_t s = 0; s < w->nswitches; s++)
        w->node[s].leaf = NOBODY;
    for (uint32_t i = 0; i < w->nhosts; i++)
        if (w->host[i].lid != 0 && w->node[w->host[i].at].leaf == NOBODY)
            w->node[w->host[i].at].leaf = leaves++;
    return leaves;
}

static void route (struct wiring *w, const struct choice *how)
{
    size_t leaves = count_leaves (w);
    size_t tables = w->nswitches * ((size_t)w->lids + 1);
    uint32_t *order = xarray (w->nhosts, sizeof (*order));
    uint64_t *set = xarray (leaves * w->nswitches, sizeof (*set));
    struct router r = { .w = w,
                        .used = xcalloc (sockets (w), sizeof (*r.used)) };

    w->lft = xarray (tables, 1);
    memset (w->lft, LFT_NO_ROUTE, tables);
    route_switches (w, set);
    rng_seed (&r.rng, how->seed);
    for (uint32_t i = 0; i < w->nhosts; i++)
        order[i] = i;
    for (unsigned int lid = 0; lid < 1U << how->lmc; lid++) {
        rng_shuffle (&r.rng, order, w->nhosts);
        for (uint32_t i = 0; i < w->nhosts; i++)
            if (w->host[order[i]].lid != 0)
                route_host (w, how, order[i], lid, set, &r);
    }
    free (order);
    free (set);
    free (r.used);
}

static int add_hosts (const struct wiring *w, unsigned int lmc,
                      struct fabric *f, struct error *err)
{
    int width = w->nhosts > 9999 ? 5 : 4;

    for (uint32_t i = 0; i < w->nhosts; i++) {
        const struct plug *plug = &w->host[i];
        uint64_t guid = 0x0002c90000000000 + (i + 1) * 16;
        char desc[FABRIC_NAME_MAX];
        int64_t node;

        if (plug->lid == 0)
            continue;
        snprintf (desc, sizeof (desc), "h%0*u mlx5_0", width, i + 1);
        node = fabric_add_node (f, guid, NODE_CA, 1, desc, err);
        if (node < 0
            || fabric_set_port (f, node, 1, guid + 1, plug->lid, lmc, err) < 0
            || fabric_add_cable (f, node, 1, w->node[plug->at].index,
                                 plug->port + 1, 4, "HDR", err)
                   < 0)
            return -1;
    }
    return 0;
}

static int add_switches (const struct wiring *w, struct fabric *f,
                         struct error *err)
{
    for (uint32_t s = 0; s < w->nswitches; s++) {
        struct wiring_node *n = &w->node[s];
        uint64_t guid = 0x0002c90000000000 + ((uint64_t)n->group << 32)
                        + n->number * 16;
        char desc[FABRIC_NAME_MAX];
        int64_t node;

        if (n->lid == 0)
            continue;
        snprintf (desc, sizeof (desc), "s%u-%04u", n->group, n->number);
        node = fabric_add_node (f, guid, NODE_SWITCH, w->nports, desc, err);
        if (node < 0 || fabric_set_switch_lid (f, node, n->lid, err) < 0
            || fabric_set_lft (f, node, entry (w, s, 0), w->lids, err) < 0)
            return -1;
        n->index = node;
    }
    return 0;
}

static int add_cables (const struct wiring *w, struct fabric *f,
                       struct error *err)
{
    for (size_t i = 0; i < sockets (w); i++) {
        const struct port *p = &w->port[i];

        if (p->peer != NOBODY
            && i < (size_t)p->peer * w->nports + p->number
            && fabric_add_cable (f, w->node[i / w->nports].index,
                                 i % w->nports + 1, w->node[p->peer].index,
                                 p->number + 1, 4, "HDR", err)
                   < 0)
            return -1;
    }
    return 0;
}

static void set_source (const struct wiring *w, const struct choice *how,
                        struct fabric *f)
{
    char source[2 * FABRIC_NAME_MAX], pruned[32] = "", lmc[16] = "";

    if (how->prune > 0)
        snprintf (pruned, sizeof (pruned), " prune %u %%", how->prune);
    if (how->lmc > 0)
        snprintf (lmc, sizeof (lmc), " LMC %u", how->lmc);
    snprintf (source, sizeof (source), "%s %s seed %" PRIu64 "%s%s", w->name,
              routing_name (how->routing), how->seed, pruned, lmc);
    fabric_set_source (f, source, 0);
}

struct fabric *wiring_fabric (struct wiring *w, const struct choice *how,
                              struct error *err)
{
    struct fabric *f = NULL;

    if (select_parts (w, how, err) < 0)
        return NULL;
    route (w, how);
    f = fabric_create ();
    set_source (w, how, f);
    if (add_switches (w, f, err) < 0 || add_hosts (w, how->lmc, f, err) < 0
        || add_cables (w, f, err) < 0 || fabric_finish (f, err) < 0) {
        fabric_destroy (f);
        return NULL;
    }
    return f;
}
