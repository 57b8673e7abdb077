/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes
 *
 * A search from one switch gives the set of ports on cheapest paths, 64 bits,
 * for every switch. The sets for switches with hosts (leaves) are kept, because
 * destinations are routed in random order, not leaf by leaf. Memory: 8 bytes *
 * leaves * switches, and switches * LIDs for the tables. Cost: switches *
 * cables for the searches, hosts * switches for the choices.
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
#include "util/terminal.h"

enum { UNREACHED = UINT16_MAX };

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
        error_input (err, "the %s has %" PRIu64 " hosts and needs %" PRIu64
                          " LIDs, but there are %d", name, hosts,
                     hosts + switches, FABRIC_MAX_LID);
        return NULL;
    }
    w = xcalloc (1, sizeof (*w));
    w->pool = pool_create ();
    snprintf (w->name, sizeof (w->name), "%s", name);
    w->nhosts = hosts;
    w->nswitches = switches;
    w->nports = ports;
    w->rails = w->each = 1;
    w->sw = pool_alloc (w->pool, switches, sizeof (*w->sw));
    w->host = pool_alloc (w->pool, hosts, sizeof (*w->host));
    w->port = pool_alloc (w->pool, switches * ports, sizeof (*w->port));
    for (size_t i = 0; i < switches * ports; i++)
        w->port[i].peer = -1;
    return w;
}

static struct wiring_port *wiring_port_at (const struct wiring *w,
                                           unsigned int s, unsigned int port)
{
    return &w->port[(size_t)s * w->nports + port];
}

void wiring_cable (struct wiring *w, unsigned int s, unsigned int port,
                   unsigned int t, unsigned int t_port, unsigned int cost)
{
    *wiring_port_at (w, s, port) = (struct wiring_port){ t, t_port, cost };
    *wiring_port_at (w, t, t_port) = (struct wiring_port){ s, port, cost };
}

/* List the smaller ends of all cables. Return their number. */
static size_t list_cables (const struct wiring *w, uint32_t *list)
{
    size_t n = 0;

    for (size_t i = 0; i < (size_t)w->nswitches * w->nports; i++) {
        const struct wiring_port *p = &w->port[i];

        if (p->peer >= 0 && i < (size_t)p->peer * w->nports + p->number)
            list[n++] = i;
    }
    return n;
}

static void remove_cable (struct wiring *w, size_t end)
{
    struct wiring_port *p = &w->port[end];

    if (p->peer >= 0)
        wiring_port_at (w, p->peer, p->number)->peer = -1;
    p->peer = -1;
}

static void remove_switch (struct wiring *w, uint32_t s)
{
    for (size_t k = 0; k < w->nports; k++)
        remove_cable (w, (size_t)s * w->nports + k);
    w->sw[s].lid = 0;
}

/* Shuffle 0 .. n-1 in list. */
static void shuffle (struct rng *rng, uint32_t *list, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        list[i] = i;
    rng_shuffle (rng, list, n);
}

/* Keep the connected component with the most hosts; list has room for all
 * switches.
 */
static int keep_largest (struct wiring *w, uint32_t *list, struct error *err)
{
    uint32_t *hosts = xcalloc (w->nswitches + 1, sizeof (*hosts));
    uint32_t best = 0, found = 0;

    for (uint32_t s = 0; s < w->nswitches; s++) {
        size_t tail = 0;

        if (w->sw[s].component != 0)
            continue;
        w->sw[s].component = ++found;
        list[tail++] = s;
        for (size_t head = 0; head < tail; head++)
            for (uint32_t k = 0; k < w->nports; k++) {
                int32_t peer = wiring_port_at (w, list[head], k)->peer;

                if (peer < 0 || w->sw[peer].component != 0)
                    continue;
                w->sw[peer].component = found;
                list[tail++] = peer;
            }
    }
    for (uint32_t i = 0; i < w->nhosts; i++) {
        const struct wiring_switch *at = &w->sw[w->host[i].at];

        if (w->host[i].lid != 0 && at->lid != 0
            && ++hosts[at->component] > hosts[best])
            best = at->component;
    }
    for (uint32_t s = 0; s < w->nswitches; s++)
        if (w->sw[s].component != best)
            remove_switch (w, s);
    for (uint32_t i = 0; i < w->nhosts; i++)
        if (w->sw[w->host[i].at].lid == 0)
            w->host[i].lid = 0;
    free (hosts);
    return best != 0 ? 0 : error_input (err, "the %s has no hosts", w->name);
}

static int remove_random_cables (struct wiring *w, const struct choice *how,
                                 struct error *err)
{
    size_t size = (size_t)w->nswitches * w->nports + w->nhosts, cables;
    uint32_t *list = xarray (size, sizeof (*list));
    struct rng rng;
    int rc;

    rng_seed (&rng, how->seed);
    cables = list_cables (w, list);
    rng_shuffle (&rng, list, cables);
    for (size_t i = 0; i < cables * how->prune / 100; i++)
        remove_cable (w, list[i]);
    shuffle (&rng, list, w->nswitches);
    for (size_t i = 0; i < (size_t)w->nswitches * how->prune / 100; i++)
        remove_switch (w, list[i]);
    shuffle (&rng, list, w->nhosts);
    for (size_t i = 0; i < (size_t)w->nhosts * how->prune / 100; i++)
        w->host[list[i]].lid = 0;
    rc = keep_largest (w, list, err);
    free (list);
    return rc;
}

/* Prune, then number the LIDs: hosts in order, each at a multiple of its number
 * of LIDs; then switches.
 */
static int number_lids (struct wiring *w, const struct choice *how,
                        struct error *err)
{
    uint32_t next = 1U << how->lmc;

    for (uint32_t i = 0; i < w->nhosts; i++)
        w->host[i].lid = 1;
    for (uint32_t s = 0; s < w->nswitches; s++)
        w->sw[s].lid = 1;
    if (how->prune > 90)
        return error_input (err, "0 to 90 percent can be pruned, not %u",
                            how->prune);
    if (how->prune > 0 && remove_random_cables (w, how, err) < 0)
        return -1;
    if (how->lmc > FABRIC_MAX_LMC)
        return error_input (err, "an LMC is 0 to %d, not %u", FABRIC_MAX_LMC,
                            how->lmc);
    for (uint32_t i = 0; i < w->nhosts; i++)
        if (w->host[i].lid != 0) {
            w->host[i].lid = next;
            next += 1U << how->lmc;
        }
    for (uint32_t s = 0; s < w->nswitches; s++)
        if (w->sw[s].lid != 0)
            w->sw[s].lid = next++;
    w->lids = next - 1;
    if (w->lids > FABRIC_MAX_LID)
        return error_input (err, "%u LIDs, but there are %d", w->lids,
                            FABRIC_MAX_LID);
    return 0;
}

/* Distances from every switch to one. A switch is queued again if a cheaper
 * path is found; queue is a ring for all switches.
 */
static void search_from (const struct wiring *w, uint32_t to,
                         uint16_t *distance, uint32_t *queue, bool *queued)
{
    size_t head = 0, waiting = 1;

    for (uint32_t s = 0; s < w->nswitches; s++)
        distance[s] = UNREACHED;
    distance[to] = 0;
    queue[0] = to;
    while (waiting > 0) {
        uint32_t s = queue[head];

        head = (head + 1) % w->nswitches;
        waiting--;
        queued[s] = false;
        for (uint32_t k = 0; k < w->nports; k++) {
            const struct wiring_port *p = wiring_port_at (w, s, k);
            unsigned int next = distance[s] + p->cost;

            if (p->peer < 0 || distance[p->peer] <= next)
                continue;
            distance[p->peer] = next;
            if (!queued[p->peer])
                queue[(head + waiting++) % w->nswitches] = p->peer;
            queued[p->peer] = true;
        }
    }
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

static uint8_t *lft_entry (const struct wiring *w, uint32_t s, uint32_t lid)
{
    return &w->lft[(size_t)s * (w->lids + 1) + lid];
}

/* Search from every switch: routes to it, and the sets of ports on cheapest
 * paths to leaves.
 */
static void compute_switch_routes (struct wiring *w, uint64_t *set)
{
    uint16_t *distance = pool_alloc (w->pool, w->nswitches, sizeof (*distance));
    uint32_t *queue = pool_alloc (w->pool, w->nswitches, sizeof (*queue));
    bool *queued = pool_alloc (w->pool, w->nswitches, sizeof (*queued));

    for (uint32_t to = 0; to < w->nswitches; to++) {
        int32_t leaf = w->sw[to].leaf;

        terminal_work ("routes to switch", to, w->nswitches);
        if (w->sw[to].lid == 0)
            continue;
        search_from (w, to, distance, queue, queued);
        for (uint32_t s = 0; s < w->nswitches; s++) {
            uint64_t good = 0;

            for (uint32_t k = 0; w->sw[s].lid != 0 && k < w->nports; k++) {
                const struct wiring_port *p = wiring_port_at (w, s, k);

                if (p->peer >= 0
                    && distance[p->peer] + p->cost == distance[s])
                    good |= (uint64_t)1 << k;
            }
            if (leaf >= 0)
                set[(size_t)leaf * w->nswitches + s] = good;
            if (good != 0)
                *lft_entry (w, s, w->sw[to].lid)
                    = nth (good, to % __builtin_popcountll (good)) + 1;
        }
        *lft_entry (w, to, w->sw[to].lid) = 0;
    }
}

/* Pick the port of switch s, from those in set, for the LID of a host that is
 * `lid` after its first. used: destinations by port of s.
 */
static unsigned int pick_output_port (const struct choice *how, struct rng *rng,
                                      const struct wiring_switch *sw,
                                      const uint32_t *used, uint32_t host,
                                      unsigned int lid, uint64_t set)
{
    unsigned int best = lowest (set), wanted = 0;
    uint64_t from;

    switch (how->routing) {
    case ROUTING_MINHOP:
        for (; set != 0; set &= set - 1)
            if (used[lowest (set)] < used[best])
                best = lowest (set);
        return best;
    case ROUTING_RANDOM:
        return nth (set, rng_below (rng, __builtin_popcountll (set)));
    case ROUTING_DMODK:
        break;
    }
    if (sw->count != 0)
        wanted = sw->first + (host / sw->divisor + lid) % sw->count;
    from = set >> wanted << wanted;
    return from != 0 ? lowest (from) : best;
}

static void route (struct wiring *w, const struct choice *how)
{
    size_t tables = w->nswitches * ((size_t)w->lids + 1), leaves = 0;
    size_t ports = (size_t)w->nswitches * w->nports;
    uint32_t *used = pool_alloc (w->pool, ports, sizeof (*used));
    uint32_t *order = pool_alloc (w->pool, w->nhosts, sizeof (*order));
    struct rng rng;
    uint64_t *set;

    for (uint32_t s = 0; s < w->nswitches; s++)
        w->sw[s].leaf = -1;
    for (uint32_t i = 0; i < w->nhosts; i++)
        if (w->host[i].lid != 0 && w->sw[w->host[i].at].leaf < 0)
            w->sw[w->host[i].at].leaf = leaves++;
    set = pool_alloc (w->pool, leaves * w->nswitches, sizeof (*set));
    w->lft = memset (pool_alloc (w->pool, tables, 1), LFT_NO_ROUTE, tables);
    compute_switch_routes (w, set);
    rng_seed (&rng, how->seed);
    for (uint32_t i = 0; i < w->nhosts; i++)
        order[i] = i;
    for (unsigned int lid = 0; lid < 1U << how->lmc; lid++) {
        rng_shuffle (&rng, order, w->nhosts);
        for (uint32_t i = 0; i < w->nhosts; i++) {
            const struct wiring_host *h = &w->host[order[i]];
            size_t leaf = w->sw[h->at].leaf;

            terminal_work ("routes to host", (size_t)lid * w->nhosts + i,
                           (size_t)w->nhosts << how->lmc);
            for (uint32_t s = 0; h->lid != 0 && s < w->nswitches; s++) {
                uint32_t *of = used + (size_t)s * w->nports;
                unsigned int port = h->port;

                if (w->sw[s].lid == 0)
                    continue;
                if (s != h->at)
                    port = pick_output_port (how, &rng, &w->sw[s], of, order[i],
                                             lid, set[leaf * w->nswitches + s]);
                of[port]++;
                *lft_entry (w, s, h->lid + lid) = port + 1;
            }
        }
    }
}

/* GUIDs from here on; numbers below do not reach those of the next subnet. */
static uint64_t first_guid (const struct choice *how)
{
    return 0x0002c90000000000 + ((uint64_t)how->subnet << 25);
}

static int add_wiring_switches (const struct wiring *w,
                                const struct choice *how, struct fabric *f,
                                struct error *err)
{
    for (uint32_t s = 0; s < w->nswitches; s++) {
        struct wiring_switch *n = &w->sw[s];
        uint64_t guid = first_guid (how) + ((uint64_t)n->group << 32)
                        + n->number * 16;
        char desc[FABRIC_NAME_MAX];
        int64_t node;

        if (n->lid == 0)
            continue;
        snprintf (desc, sizeof (desc), "s%u-%04u", n->group, n->number);
        node = fabric_add_node (f, guid, NODE_SWITCH, w->nports, desc, err);
        if (node < 0 || fabric_set_switch_lid (f, node, n->lid, err) < 0
            || fabric_set_lft (f, node, lft_entry (w, s, 0), w->lids, err) < 0)
            return -1;
        n->index = node;
        f->node[node].spread = how->spread;
    }
    return 0;
}

static int add_wiring_hosts (const struct wiring *w, const struct choice *how,
                             struct fabric *f, struct error *err)
{
    int width = w->nhosts / w->rails > 9999 ? 5 : 4;

    for (uint32_t i = 0; i < w->nhosts; i++) {
        const struct wiring_host *h = &w->host[i];
        uint64_t guid = first_guid (how) + (i + 1) * 16;
        char desc[FABRIC_NAME_MAX];
        int64_t node;

        if (h->lid == 0)
            continue;
        snprintf (desc, sizeof (desc), "h%0*u mlx5_%u", width,
                  i / (w->rails * w->each) * w->each + i % w->each + 1,
                  how->subnet * w->rails + i / w->each % w->rails);
        node = fabric_add_node (f, guid, NODE_CA, 1, desc, err);
        if (node < 0
            || fabric_set_port (f, node, 1, guid + 1, h->lid, how->lmc, err)
                   < 0
            || fabric_add_cable (f, node, 1, w->sw[h->at].index, h->port + 1,
                                 4, "HDR", err) < 0)
            return -1;
    }
    return 0;
}

static int add_cables (const struct wiring *w, struct fabric *f,
                       struct error *err)
{
    size_t ports = (size_t)w->nswitches * w->nports;
    uint32_t *list = pool_alloc (w->pool, ports, sizeof (*list));
    size_t n = list_cables (w, list);
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < n; i++) {
        const struct wiring_port *p = &w->port[list[i]];

        rc = fabric_add_cable (f, w->sw[list[i] / w->nports].index,
                               list[i] % w->nports + 1, w->sw[p->peer].index,
                               p->number + 1, 4, "HDR", err);
    }
    return rc;
}

static struct fabric *make_fabric (struct wiring *w, const struct choice *how,
                                   struct error *err)
{
    char source[2 * FABRIC_NAME_MAX], pruned[32] = "", lmc[16] = "";
    struct fabric *f;

    if (how->subnet >= FABRIC_MAX_SUBNETS) {
        error_input (err, "subnet %u is more than %d", how->subnet,
                     FABRIC_MAX_SUBNETS - 1);
        return NULL;
    }
    if (number_lids (w, how, err) < 0)
        return NULL;
    route (w, how);
    if (how->prune > 0)
        snprintf (pruned, sizeof (pruned), " prune %u %%", how->prune);
    if (how->lmc > 0)
        snprintf (lmc, sizeof (lmc), " LMC %u", how->lmc);
    snprintf (source, sizeof (source), "%s %s seed %" PRIu64 "%s%s", w->name,
              routing_names[how->routing], how->seed, pruned, lmc);
    f = fabric_create ();
    fabric_set_source (f, source, 0);
    if (how->subnet > 0)
        f->subnet = 0xfe80000000000000 + how->subnet;
    if (add_wiring_switches (w, how, f, err) == 0
        && add_wiring_hosts (w, how, f, err) == 0 && add_cables (w, f, err) == 0
        && fabric_finish (f, err) == 0)
        return f;
    fabric_destroy (f);
    return NULL;
}

struct fabric *wiring_fabric (struct wiring *w, const struct choice *how,
                              struct error *err)
{
    struct fabric *f = make_fabric (w, how, err);

    pool_destroy (w->pool);
    free (w);
    return f;
}
