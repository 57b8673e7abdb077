/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Trees: all paths to one endpoint at once. */
#include "config.h"
#include "core/paths/tree.h"

#include "util/pool.h"

struct tree *tree_create (const struct pathset *ps)
{
    const struct network *net = pathset_network (ps);
    size_t n = pathset_size (ps);
    struct pool *pool = pool_create ();
    struct tree *t = pool_alloc (pool, 1, sizeof (*t));
    uint32_t ports = 0; /* found so far; ports are numbered in this order */

    t->pool = pool;
    t->ps = ps;
    t->leaf_of = pool_alloc (pool, n + 1, sizeof (*t->leaf_of));
    t->first = pool_alloc (pool, n + 2, sizeof (*t->first));
    t->member = pool_alloc (pool, n + 1, sizeof (*t->member));
    t->ports = pool_alloc (pool, n + 1, sizeof (*t->ports));
    t->up = pool_alloc (pool, n + 1, sizeof (*t->up));
    t->leaf = pool_alloc (pool, n + 1, sizeof (*t->leaf));
    t->place = pool_alloc (pool, n + 1, sizeof (*t->place));
    t->arc = pool_alloc (pool, net->nplaces + 1, sizeof (*t->arc));
    t->parent = pool_alloc (pool, net->nplaces + 1, sizeof (*t->parent));
    t->grown = pool_alloc (pool, net->nplaces + 1, sizeof (*t->grown));
    t->step = pool_alloc (pool, net->nplaces + 1, sizeof (*t->step));
    /* number the leaves by the places that first hops lead to */
    for (size_t i = 0; i < n; i++) {
        uint32_t id = pathset_endpoint (ps, i)->id;
        uint32_t place = net->attach (net->net, id, &t->up[i]);

        if (place == NETWORK_NONE) /* no connection: tree_grow will report it */
            place = net->place (net->net, id);
        if (t->step[place] == 0) {
            t->place[t->nleaves++] = place;
            t->step[place] = t->nleaves; /* leaf + 1 until a tree is grown */
        }
        t->leaf_of[i] = t->step[place] - 1;
        t->first[t->leaf_of[i] + 2]++;
        if (pathset_port (ps, i) == ports) {
            t->ports[t->leaf_of[i]]++;
            ports++;
        }
    }
    for (size_t l = 0; l < t->nleaves; l++)
        t->first[l + 2] += t->first[l + 1];
    for (size_t i = 0; i < n; i++)
        t->member[t->first[t->leaf_of[i] + 1]++] = i;
    return t;
}

void tree_destroy (struct tree *t)
{
    if (t)
        pool_destroy (t->pool);
}

/* Report what is wrong with the path from a leaf, as walk describes it. */
static int broken (const struct tree *t, size_t leaf, struct error *err)
{
    uint32_t arc[PATH_MAX_HOPS];
    const uint32_t *member = t->member + t->first[leaf];
    uint32_t from;

    while (pathset_port (t->ps, *member) == pathset_port (t->ps, t->to))
        member++;
    from = *member;
    if (pathset_walk (t->ps, from, t->to, arc, err) < 0)
        return error_prefix (err, "%s to %s",
                             pathset_endpoint (t->ps, from)->name,
                             pathset_endpoint (t->ps, t->to)->name);
    return error_world (err, "the paths to %s do not form a tree",
                        pathset_endpoint (t->ps, t->to)->name);
}

int tree_grow (struct tree *t, size_t to, struct error *err)
{
    const struct network *net = pathset_network (t->ps);
    uint32_t id = pathset_endpoint (t->ps, to)->id;
    uint32_t now = ++t->ntrees, root = net->place (net->net, id);
    uint32_t subnet = pathset_subnet (t->ps, to);

    t->to = to;
    t->n = 1;
    t->arc[0] = NETWORK_NONE;
    t->parent[0] = 0;
    t->grown[root] = now;
    t->step[root] = 0;
    for (size_t l = 0; l < t->nleaves; l++) {
        uint32_t place = t->place[l];
        uint32_t at[PATH_MAX_HOPS];
        uint32_t arc[PATH_MAX_HOPS];
        uint32_t step;
        int hops = 0;

        t->leaf[l] = 0;
        if ((l == t->leaf_of[to] && t->ports[l] == 1)
            || pathset_subnet (t->ps, t->member[t->first[l]]) != subnet)
            continue;
        while (t->grown[place] != now) {
            if (hops == PATH_MAX_HOPS)
                return broken (t, l, err);
            at[hops] = place;
            place = net->hop (net->net, place, id, &arc[hops]);
            if (place == NETWORK_NONE)
                return broken (t, l, err);
            hops++;
        }
        for (step = t->step[place]; hops-- > 0; step = t->n++) {
            t->grown[at[hops]] = now;
            t->step[at[hops]] = t->n;
            t->arc[t->n] = arc[hops];
            t->parent[t->n] = step;
        }
        t->leaf[l] = step;
    }
    return 0;
}

void tree_sum (const struct tree *t, const uint64_t *weight, uint64_t start,
               uint64_t modulus, uint64_t *sum)
{
    sum[0] = start;
    for (size_t k = 1; k < t->n; k++) {
        uint64_t s = sum[t->parent[k]] + weight[arc_link (t->arc[k])];

        sum[k] = s >= modulus ? s - modulus : s;
    }
}
