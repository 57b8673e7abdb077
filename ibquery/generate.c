/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes
 *
 * Let h = p/2. A subtree of level l < q has h^l hosts and, at its top, h^(l-1)
 * switches; the whole has h^(q-1) at level q. So a switch is (l, pod, c): the
 * subtree, and which of its tops. Up port u of (l, pod, c) leads to
 * (l + 1, pod / h, c + u h^(l-1)); there, the subtree's place among its
 * siblings is the port. A host is a subtree of level 0.
 *
 * Messages to switches (management) take shortest paths in both routings.
 */
#include "config.h"
#include "ibquery/generate.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "util/rng.h"

enum { MAX_PORTS = 64, MAX_LEVELS = 6, NOWHERE = -1 };

struct tree {
    struct fabric *f;
    unsigned int p, q, h;
    unsigned int power[MAX_LEVELS + 1]; /* of h */
    unsigned int hosts, switches, leaves;
    unsigned int first[MAX_LEVELS + 2]; /* switch of a level; the end */
    int32_t *peer;  /* [switches][p] switch behind a port, or NOWHERE */
    uint8_t *lft;   /* [switches][lids + 1] */
    size_t lft_size;
    uint8_t *dist;  /* [switches] hops, of the last search */
    uint32_t *queue;
};

static unsigned int host_lid (unsigned int host)
{
    return host + 1;
}

static unsigned int switch_lid (const struct tree *t, unsigned int s)
{
    return t->hosts + s + 1;
}

static unsigned int level_of (const struct tree *t, unsigned int s)
{
    unsigned int level = 1;

    while (s >= t->first[level + 1])
        level++;
    return level;
}

static int init (struct tree *t, const struct fat_tree *tree,
                 struct error *err)
{
    uint64_t lids, hosts = 2;

    if (tree->ports < 2 || tree->ports > MAX_PORTS || tree->ports % 2 != 0)
        return error_input (err,
                            "a fat tree's switches have 2, 4, .. or %d ports, "
                            "not %u",
                            MAX_PORTS, tree->ports);
    if (tree->levels < 1 || tree->levels > MAX_LEVELS)
        return error_input (err, "a fat tree has 1 to %d levels, not %u",
                            MAX_LEVELS, tree->levels);
    t->p = tree->ports;
    t->q = tree->levels;
    t->h = t->p / 2;
    for (unsigned int i = 0; i < t->q; i++)
        hosts *= t->h;
    lids = hosts + (hosts / t->h) * (t->q - 1) + hosts / t->h / 2;
    if (lids > FABRIC_MAX_LID)
        return error_input (err,
                            "the %u-port %u-tree has %" PRIu64 " hosts and "
                            "needs %" PRIu64 " LIDs, but there are %d",
                            t->p, t->q, hosts, lids, FABRIC_MAX_LID);
    t->hosts = hosts;
    t->switches = lids - hosts;
    t->leaves = t->q == 1 ? 1 : hosts / t->h;
    t->power[0] = 1;
    for (unsigned int i = 1; i <= t->q; i++) {
        t->power[i] = t->power[i - 1] * t->h;
        t->first[i + 1] = t->first[i]
                          + (i < t->q ? hosts / t->h : hosts / t->h / 2);
    }
    t->lft_size = lids + 1;
    t->peer = malloc (t->switches * t->p * sizeof (*t->peer));
    t->lft = malloc (t->switches * t->lft_size);
    t->dist = malloc (t->switches);
    t->queue = malloc (t->switches * sizeof (*t->queue));
    t->f = fabric_create ();
    if (!t->peer || !t->lft || !t->dist || !t->queue || !t->f)
        return error_nomem (err);
    memset (t->peer, NOWHERE, t->switches * t->p * sizeof (*t->peer));
    memset (t->lft, LFT_NO_ROUTE, t->switches * t->lft_size);
    return 0;
}

static void clear (struct tree *t)
{
    fabric_destroy (t->f);
    free (t->peer);
    free (t->lft);
    free (t->dist);
    free (t->queue);
}

static int add_nodes (struct tree *t, struct error *err)
{
    int width = t->hosts > 9999 ? 5 : 4;
    char desc[FABRIC_NAME_MAX];

    for (unsigned int i = 0; i < t->hosts; i++) {
        uint64_t guid = 0x0002c90000000000 + (i + 1) * 16;

        snprintf (desc, sizeof (desc), "h%0*u mlx5_0", width, i + 1);
        if (fabric_add_node (t->f, guid, NODE_CA, 1, desc, err) < 0
            || fabric_set_port (t->f, i, 1, guid + 1, host_lid (i), 0, err)
                   < 0)
            return -1;
    }
    for (unsigned int s = 0; s < t->switches; s++) {
        unsigned int level = level_of (t, s), n = s - t->first[level] + 1;
        uint64_t guid = 0x0002c90000000000 + ((uint64_t)level << 32) + n * 16;

        snprintf (desc, sizeof (desc), "s%u-%04u", level, n);
        if (fabric_add_node (t->f, guid, NODE_SWITCH, t->p, desc, err) < 0
            || fabric_set_switch_lid (t->f, t->hosts + s, switch_lid (t, s),
                                      err) < 0)
            return -1;
    }
    return 0;
}

/* Join up port u of (level, pod, c); hosts are of level 0. */
static int add_cable (struct tree *t, unsigned int level, unsigned int pod,
                      unsigned int c, unsigned int u, struct error *err)
{
    bool top = level + 1 == t->q;
    unsigned int up_pod = top ? 0 : pod / t->h;
    unsigned int up_c = level == 0 ? 0 : c + u * t->power[level - 1];
    unsigned int up = t->first[level + 1] + up_pod * t->power[level] + up_c;
    unsigned int down_port = (top ? pod : pod % t->h) + 1;
    unsigned int node = pod, port = 1;

    if (level > 0) {
        unsigned int s = t->first[level] + pod * t->power[level - 1] + c;

        node = t->hosts + s;
        port = t->h + u + 1;
        t->peer[s * t->p + port - 1] = up;
        t->peer[up * t->p + down_port - 1] = s;
    }
    return fabric_add_cable (t->f, node, port, t->hosts + up, down_port, 4,
                             "HDR", err);
}

static int add_cables (struct tree *t, struct error *err)
{
    for (unsigned int i = 0; i < t->hosts; i++)
        if (add_cable (t, 0, i, 0, 0, err) < 0)
            return -1;
    for (unsigned int level = 1; level < t->q; level++)
        for (unsigned int pod = 0; pod < t->hosts / t->power[level]; pod++)
            for (unsigned int c = 0; c < t->power[level - 1]; c++)
                for (unsigned int u = 0; u < t->h; u++)
                    if (add_cable (t, level, pod, c, u, err) < 0)
                        return -1;
    return 0;
}

static void route_dmodk (struct tree *t)
{
    for (unsigned int s = 0; s < t->switches; s++) {
        unsigned int level = level_of (t, s);
        unsigned int pod = (s - t->first[level]) / t->power[level - 1];
        uint8_t *lft = t->lft + s * t->lft_size;

        for (unsigned int d = 0; d < t->hosts; d++) {
            unsigned int child = d / t->power[level - 1];

            if (level == t->q)
                lft[host_lid (d)] = child + 1;
            else if (d / t->power[level] == pod)
                lft[host_lid (d)] = child % t->h + 1;
            else
                lft[host_lid (d)] = t->h + child % t->h + 1;
        }
    }
}

/* Hops from every switch to one. */
static void search (struct tree *t, unsigned int to)
{
    size_t tail = 0;

    memset (t->dist, UINT8_MAX, t->switches);
    t->dist[to] = 0;
    t->queue[tail++] = to;
    for (size_t head = 0; head < tail; head++) {
        const int32_t *peer = t->peer + t->queue[head] * t->p;

        for (unsigned int k = 0; k < t->p; k++)
            if (peer[k] != NOWHERE && t->dist[peer[k]] == UINT8_MAX) {
                t->dist[peer[k]] = t->dist[t->queue[head]] + 1;
                t->queue[tail++] = peer[k];
            }
    }
}

/* The ports of a switch that lead closer, after search (), as a bit set. */
static uint64_t closer (const struct tree *t, unsigned int s)
{
    const int32_t *peer = t->peer + s * t->p;
    uint64_t set = 0;

    for (unsigned int k = 0; k < t->p; k++)
        if (peer[k] != NOWHERE && t->dist[peer[k]] < t->dist[s])
            set |= (uint64_t)1 << k;
    return set;
}

static void route_switches (struct tree *t)
{
    for (unsigned int to = 0; to < t->switches; to++) {
        unsigned int lid = switch_lid (t, to);

        search (t, to);
        for (unsigned int s = 0; s < t->switches; s++) {
            uint64_t set = closer (t, s);

            if (s != to)
                for (unsigned int k = to % __builtin_popcountll (set); k > 0;
                     k--)
                    set &= set - 1;
            t->lft[s * t->lft_size + lid]
                = s == to ? 0 : __builtin_ctzll (set) + 1;
        }
    }
}

static int route_minhop (struct tree *t, uint64_t seed, struct error *err)
{
    uint32_t *order = malloc (t->hosts * sizeof (*order));
    uint32_t *used = calloc (t->switches * t->p, sizeof (*used));
    uint64_t *set = malloc ((size_t)t->leaves * t->switches * sizeof (*set));
    struct rng rng;
    int rc = -1;

    if (!order || !used || !set) {
        error_nomem (err);
        goto error;
    }
    for (unsigned int leaf = 0; leaf < t->leaves; leaf++) {
        search (t, leaf);
        for (unsigned int s = 0; s < t->switches; s++)
            set[(size_t)leaf * t->switches + s] = closer (t, s);
    }
    for (unsigned int i = 0; i < t->hosts; i++)
        order[i] = i;
    rng_seed (&rng, seed);
    rng_shuffle (&rng, order, t->hosts);
    for (unsigned int i = 0; i < t->hosts; i++) {
        unsigned int d = order[i], leaf = t->q == 1 ? 0 : d / t->h;

        for (unsigned int s = 0; s < t->switches; s++) {
            uint64_t left = set[(size_t)leaf * t->switches + s];
            uint32_t *count = used + s * t->p;
            unsigned int best = t->q == 1 ? d : d % t->h;

            if (s != leaf)
                best = __builtin_ctzll (left);
            for (; left != 0; left &= left - 1)
                if (count[__builtin_ctzll (left)] < count[best])
                    best = __builtin_ctzll (left);
            count[best]++;
            t->lft[s * t->lft_size + host_lid (d)] = best + 1;
        }
    }
    rc = 0;
error:
    free (order);
    free (used);
    free (set);
    return rc;
}

struct fabric *generate_fat_tree (const struct fat_tree *tree,
                                  struct error *err)
{
    struct tree t = { 0 };
    struct fabric *f;
    char source[FABRIC_NAME_MAX];

    if (init (&t, tree, err) < 0 || add_nodes (&t, err) < 0
        || add_cables (&t, err) < 0)
        goto error;
    if (tree->routing == ROUTING_DMODK)
        route_dmodk (&t);
    else if (route_minhop (&t, tree->seed, err) < 0)
        goto error;
    route_switches (&t);
    for (unsigned int s = 0; s < t.switches; s++)
        if (fabric_set_lft (t.f, t.hosts + s, t.lft + s * t.lft_size,
                            t.lft_size - 1, err) < 0)
            goto error;
    snprintf (source, sizeof (source), "fat-tree %u-port %u-tree %s seed %"
              PRIu64, t.p, t.q,
              tree->routing == ROUTING_DMODK ? "dmodk" : "minhop",
              tree->seed);
    if (fabric_set_source (t.f, source, 0, err) < 0
        || fabric_finish (t.f, err) < 0)
        goto error;
    f = t.f;
    t.f = NULL;
    clear (&t);
    return f;
error:
    clear (&t);
    return NULL;
}

/* A node as ibsim and its clients call it: a host by its own name. */
static void sim_name (const struct fabric *f, const struct fabric_node *n,
                      char name[FABRIC_NAME_MAX + 1])
{
    snprintf (name, FABRIC_NAME_MAX + 1, "%s",
              n->host != FABRIC_NONE ? f->host[n->host].name : n->desc);
}

static void put_node (const struct fabric *f, const struct fabric_node *n,
                      FILE *fp)
{
    bool is_switch = n->type == NODE_SWITCH;
    char name[FABRIC_NAME_MAX + 1], rate[16];

    sim_name (f, n, name);
    fprintf (fp,
             "\nvendid=0x2c9\ndevid=0x%x\nsysimgguid=0x%016" PRIx64
             "\n%sguid=0x%016" PRIx64 "\n%s %u \"%s\"\t# \"%s\"%s\n",
             is_switch ? 0xcf08 : 0x101b, n->guid, is_switch ? "switch" : "ca",
             n->guid, is_switch ? "Switch" : "Ca", n->nports, name, n->desc,
             is_switch ? " enhanced port 0 lid 0 lmc 0" : "");
    for (unsigned int k = 0; k < n->nports; k++) {
        uint32_t port = n->first_port + k, far;
        const struct fabric_link *l;

        if (f->port[port].link == FABRIC_NONE)
            continue;
        l = &f->link[f->port[port].link];
        far = l->a == port ? l->b : l->a;
        sim_name (f, &f->node[f->port[far].node], name);
        fabric_rate_name (l, rate, sizeof (rate));
        fprintf (fp, "[%u]\t\"%s\"[%u]\t# %s\"%s\" lid 0 %s\n", k + 1, name,
                 f->port[far].num, is_switch ? "" : "lid 0 lmc 0 ",
                 f->node[f->port[far].node].desc, rate);
    }
}

int generate_netfile (const struct fabric *f, FILE *fp, struct error *err)
{
    fprintf (fp, "# %s: %zu hosts, %zu cables\n", f->source, f->nhosts,
             f->nlinks);
    for (int switches = 0; switches < 2; switches++)
        for (size_t i = 0; i < f->nnodes; i++)
            if ((f->node[i].type == NODE_SWITCH) == switches)
                put_node (f, &f->node[i], fp);
    if (ferror (fp))
        return error_errno (err, "cannot write the netfile");
    return 0;
}
