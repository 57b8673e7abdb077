/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Trees: all paths to one endpoint at once. */
#include "config.h"
#include "core/paths/tree.h"

#include <stdlib.h>

#include "util/alloc.h"

struct mark {
    uint32_t tree; /* the last tree that has the place */
    uint32_t step; /* its step there */
};

struct tree_scratch {
    uint32_t *place;   /* [nleaves] where a leaf's paths begin */
    struct mark *mark; /* [nplaces] */
    uint32_t grown;    /* trees so far */
};

/* Number the leaves by the places that first hops lead to. */
static void find_leaves (struct tree *t, const struct network *net)
{
    size_t n = pathset_size (t->ps);
    struct mark *mark = t->scratch->mark; /* until the first tree is grown */
    uint32_t ports = 0; /* found so far; ports are numbered in this order */

    for (size_t i = 0; i < n; i++) {
        uint32_t id = pathset_endpoint (t->ps, i)->id;
        uint32_t place = net->attach (net->net, id, &t->up[i]);

        if (place == NETWORK_NONE) /* no connection: tree_grow will report it */
            place = net->place (net->net, id);
        if (!mark[place].tree) {
            mark[place] = (struct mark){ 1, t->nleaves };
            t->scratch->place[t->nleaves++] = place;
        }
        t->leaf_of[i] = mark[place].step;
        t->first[t->leaf_of[i] + 1]++;
        if (pathset_port (t->ps, i) == ports) {
            t->ports[t->leaf_of[i]]++;
            ports++;
        }
    }
    for (size_t l = 0; l < t->nleaves; l++) {
        mark[t->scratch->place[l]] = (struct mark){ 0, t->first[l] };
        t->first[l + 1] += t->first[l];
    }
    for (size_t i = 0; i < n; i++)
        t->member[mark[t->scratch->place[t->leaf_of[i]]].step++] = i;
}

struct tree *tree_create (const struct pathset *ps)
{
    const struct network *net = pathset_network (ps);
    size_t n = pathset_size (ps);
    struct tree *t = xcalloc (1, sizeof (*t));

    t->scratch = xcalloc (1, sizeof (*t->scratch));
    t->ps = ps;
    t->leaf_of = xcalloc (n + 1, sizeof (*t->leaf_of));
    t->first = xcalloc (n + 2, sizeof (*t->first));
    t->member = xcalloc (n + 1, sizeof (*t->member));
    t->ports = xcalloc (n + 1, sizeof (*t->ports));
    t->up = xcalloc (n + 1, sizeof (*t->up));
    t->leaf = xcalloc (n + 1, sizeof (*t->leaf));
    t->scratch->place = xcalloc (n + 1, sizeof (*t->scratch->place));
    t->arc = xcalloc (net->nplaces + 1, sizeof (*t->arc));
    t->parent = xcalloc (net->nplaces + 1, sizeof (*t->parent));
    t->scratch->mark = xcalloc (net->nplaces + 1, sizeof (*t->scratch->mark));
    find_leaves (t, net);
    return t;
}

void tree_destroy (struct tree *t)
{
    if (!t)
        return;
    free (t->leaf_of);
    free (t->first);
    free (t->member);
    free (t->ports);
    free (t->up);
    free (t->arc);
    free (t->parent);
    free (t->leaf);
    free (t->scratch->place);
    free (t->scratch->mark);
    free (t->scratch);
    free (t);
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
    struct mark *mark = t->scratch->mark;
    uint32_t now = ++t->scratch->grown;

    t->to = to;
    t->n = 1;
    t->arc[0] = NETWORK_NONE;
    t->parent[0] = 0;
    mark[net->place (net->net, id)] = (struct mark){ now, 0 };
    for (size_t l = 0; l < t->nleaves; l++) {
        uint32_t place = t->scratch->place[l];
        uint32_t at[PATH_MAX_HOPS];
        uint32_t arc[PATH_MAX_HOPS];
        uint32_t step;
        int hops = 0;

        t->leaf[l] = 0;
        if (l == t->leaf_of[to] && t->ports[l] == 1)
            continue;
        while (mark[place].tree != now) {
            if (hops == PATH_MAX_HOPS)
                return broken (t, l, err);
            at[hops] = place;
            place = net->hop (net->net, place, id, &arc[hops]);
            if (place == NETWORK_NONE)
                return broken (t, l, err);
            hops++;
        }
        for (step = mark[place].step; hops-- > 0; step = t->n++) {
            mark[at[hops]] = (struct mark){ now, t->n };
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
