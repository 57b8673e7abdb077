/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Trees: all paths to one endpoint at once. */
#include "config.h"
#include "core/tree.h"

#include <errno.h>
#include <stdlib.h>

struct tree_scratch {
    uint32_t *place;  /* [nleaves] where a leaf's paths begin */
    uint32_t *step;   /* [nplaces] of a place, where stamp says so */
    uint32_t *stamp;  /* [nplaces] the tree it was in last */
    uint32_t grown;   /* trees so far */
    size_t size;      /* of arc and parent */
};

static int add_step (struct tree *t, uint32_t arc, uint32_t parent)
{
    if (t->n == t->scratch->size) {
        size_t size = t->scratch->size ? 2 * t->scratch->size : 256;
        uint32_t *v = realloc (t->arc, size * sizeof (*v));

        if (!v)
            return -1;
        t->arc = v;
        if (!(v = realloc (t->parent, size * sizeof (*v))))
            return -1;
        t->parent = v;
        t->scratch->size = size;
    }
    t->arc[t->n] = arc;
    t->parent[t->n++] = parent;
    return 0;
}

/* Number the leaves by the places that the first hops lead to. */
static void find_leaves (struct tree *t, const struct network *net)
{
    size_t n = pathset_size (t->ps);
    uint32_t *leaf_at = t->scratch->step; /* as long as no tree is grown */
    uint32_t *known = t->scratch->stamp;

    for (size_t i = 0; i < n; i++) {
        uint32_t id = pathset_endpoint (t->ps, i)->id;
        uint32_t place = net->attach (net->net, id, &t->up[i]);

        if (place == NETWORK_NONE) /* no way out: tree_grow will say so */
            place = net->place (net->net, id);
        if (!known[place]) {
            known[place] = 1;
            leaf_at[place] = t->nleaves;
            t->scratch->place[t->nleaves++] = place;
        }
        t->leaf_of[i] = leaf_at[place];
        t->first[t->leaf_of[i] + 1]++;
    }
    for (size_t l = 0; l < t->nleaves; l++) {
        known[t->scratch->place[l]] = 0;
        leaf_at[t->scratch->place[l]] = t->first[l];
        t->first[l + 1] += t->first[l];
    }
    for (size_t i = 0; i < n; i++)
        t->member[leaf_at[t->scratch->place[t->leaf_of[i]]]++] = i;
}

struct tree *tree_create (const struct pathset *ps, struct error *err)
{
    const struct network *net = pathset_network (ps);
    size_t n = pathset_size (ps);
    struct tree *t = calloc (1, sizeof (*t));

    if (!t || !(t->scratch = calloc (1, sizeof (*t->scratch))))
        goto nomem;
    t->ps = ps;
    t->leaf_of = calloc (n + 1, sizeof (*t->leaf_of));
    t->first = calloc (n + 2, sizeof (*t->first));
    t->member = calloc (n + 1, sizeof (*t->member));
    t->up = calloc (n + 1, sizeof (*t->up));
    t->leaf = calloc (n + 1, sizeof (*t->leaf));
    t->scratch->place = calloc (n + 1, sizeof (*t->scratch->place));
    t->scratch->step = calloc (net->nplaces + 1, sizeof (*t->scratch->step));
    t->scratch->stamp = calloc (net->nplaces + 1,
                                sizeof (*t->scratch->stamp));
    if (!t->leaf_of || !t->first || !t->member || !t->up || !t->leaf
        || !t->scratch->place || !t->scratch->step || !t->scratch->stamp)
        goto nomem;
    find_leaves (t, net);
    return t;
nomem:
    error_nomem (err);
    tree_destroy (t);
    return NULL;
}

void tree_destroy (struct tree *t)
{
    int saved = errno;

    if (!t)
        return;
    free (t->leaf_of);
    free (t->first);
    free (t->member);
    free (t->up);
    free (t->arc);
    free (t->parent);
    free (t->leaf);
    if (t->scratch) {
        free (t->scratch->place);
        free (t->scratch->step);
        free (t->scratch->stamp);
        free (t->scratch);
    }
    free (t);
    errno = saved;
}

/* What is wrong with the path from a leaf, in the words of who walks it. */
static int broken (const struct tree *t, size_t leaf, struct error *err)
{
    uint32_t arc[PATH_MAX_HOPS];
    uint32_t from = t->member[t->first[leaf]];

    if (from == t->to)
        from = t->member[t->first[leaf] + 1];
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
    uint32_t end = net->place (net->net, id);
    uint32_t *step = t->scratch->step;
    uint32_t *stamp = t->scratch->stamp;
    uint32_t now = ++t->scratch->grown;

    t->to = to;
    t->n = 0;
    if (add_step (t, NETWORK_NONE, 0) < 0)
        return error_nomem (err);
    stamp[end] = now;
    step[end] = 0;
    for (size_t l = 0; l < t->nleaves; l++) {
        uint32_t place = t->scratch->place[l];
        uint32_t at[PATH_MAX_HOPS];
        uint32_t arc[PATH_MAX_HOPS];
        int hops = 0;

        t->leaf[l] = 0;
        if (l == t->leaf_of[to] && t->first[l + 1] - t->first[l] == 1)
            continue;
        while (stamp[place] != now) {
            uint32_t next;

            if (hops == PATH_MAX_HOPS)
                return broken (t, l, err);
            next = net->hop (net->net, place, id, &arc[hops]);
            if (next == NETWORK_NONE)
                return broken (t, l, err);
            at[hops++] = place;
            place = next;
        }
        while (hops-- > 0) {
            stamp[at[hops]] = now;
            step[at[hops]] = t->n;
            if (add_step (t, arc[hops], step[place]) < 0)
                return error_nomem (err);
            place = at[hops];
        }
        t->leaf[l] = step[place];
    }
    return 0;
}
