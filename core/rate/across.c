/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes: the load on an arc is limited by the ports that send across it and by
 * those that receive across it, each at the rate of its own link. Each receiver
 * is counted once, when its tree contains the arc. Senders are counted by leaf.
 * An arc stores at most LEAVES leaves and stops counting if these suffice for
 * its rate. If there are more leaves, only the arc's rate and the receivers
 * limit it.
 */
#include "config.h"
#include "core/rate/across.h"

#include <math.h>
#include <stdlib.h>

#include "core/paths/tree.h"
#include "core/plan/span.h"
#include "util/alloc.h"
#include "util/terminal.h"

enum {
    LEAVES = 4,
    FEW = 32, /* endpoints: all pairs are read */
};

/* What is known of an arc so far. */
struct crossed_arc {
    uint64_t seen; /* pairs */
    uint32_t leaf[LEAVES];
    uint8_t nleaves;
    bool many;     /* more leaves than these, or enough */
    uint32_t port; /* last receiver, from 1 */
    double senders, receivers; /* sums of their rates */
};

struct crossings {
    struct across *a;
    struct pathset *ps;
    const double *rate;
    const bool *wanted;
    struct rng *rng;
    struct tree *tree;
    struct crossed_arc *arc; /* [2 * nlinks] */
    double *leaf_rate;       /* [nleaves] sum over its ports */
};

double *across_column_rates (const struct pathset *ps, const uint32_t *link,
                             size_t m)
{
    const struct network *net = pathset_network (ps);
    double *rate = xarray (m, sizeof (*rate));
    double greatest = 0;

    for (size_t c = 0; c < m; c++) {
        rate[c] = net->link[link ? link[c] : c].rate;
        greatest = fmax (greatest, rate[c]);
    }
    for (size_t c = 0; c < m; c++)
        if (rate[c] <= 0)
            rate[c] = greatest > 0 ? greatest : 1;
    return rate;
}

double *across_rates (const struct pathset *ps)
{
    return across_column_rates (ps, NULL, pathset_network (ps)->nlinks);
}

bool across_known (const struct pathset *ps)
{
    const struct network *net = pathset_network (ps);

    for (size_t l = 0; l < net->nlinks; l++)
        if (net->link[l].rate > 0)
            return true;
    return false;
}

/* The rate of an endpoint's own link; no limit if it has none. */
static double port_rate (const struct crossings *s, uint32_t e)
{
    uint32_t up = across_arc_of (s->ps, s->tree->up[e]);

    return up == NETWORK_NONE ? HUGE_VAL : s->rate[arc_link (up)];
}

static void sum_leaves (struct crossings *s)
{
    const struct tree *t = s->tree;
    bool *counted = xcalloc (pathset_ports (s->ps), sizeof (*counted));

    s->leaf_rate = xcalloc (t->nleaves, sizeof (*s->leaf_rate));
    for (size_t i = 0; i < pathset_size (s->ps); i++) {
        bool *port = &counted[pathset_port (s->ps, i)];

        if (!*port)
            s->leaf_rate[t->leaf_of[i]] += port_rate (s, i);
        *port = true;
    }
    free (counted);
}

/* A random member of the leaf on another port than the tree's endpoint; that
 * endpoint if there is none.
 */
static uint32_t draw_sender (struct crossings *s, size_t leaf)
{
    const struct tree *t = s->tree;
    uint32_t n = t->first[leaf + 1] - t->first[leaf];
    uint32_t at = rng_below (s->rng, n);

    for (uint32_t i = 0; i < n; i++) {
        uint32_t from = t->member[t->first[leaf] + (at + i) % n];

        if (pathset_port (s->ps, from) != pathset_port (s->ps, t->to))
            return from;
    }
    return t->to;
}

/* Draw ACROSS_PAIRS of all pairs of an arc, each with the same chance. If `leaf`
 * is one, the sender is then drawn from it.
 */
static void sample_arc_pair (struct crossings *s, uint32_t arc, size_t leaf,
                             struct probe pair)
{
    uint64_t at = s->arc[arc].seen++;

    if (at < ACROSS_PAIRS)
        s->a->arc[arc].npairs = at + 1;
    else
        at = rng_below (s->rng, at + 1);
    if (at >= ACROSS_PAIRS)
        return;
    if (leaf != SIZE_MAX)
        pair.a = draw_sender (s, leaf);
    s->a->arc[arc].pair[at] = pair;
}

static void count_senders (struct crossings *s, uint32_t arc, size_t leaf)
{
    struct crossed_arc *x = &s->arc[arc];

    for (uint8_t i = 0; i < x->nleaves && !x->many; i++)
        if (x->leaf[i] == leaf)
            return;
    if (x->many)
        return;
    x->senders += s->leaf_rate[leaf];
    x->many = x->nleaves == LEAVES || x->senders >= s->rate[arc_link (arc)];
    if (x->nleaves < LEAVES)
        x->leaf[x->nleaves++] = leaf;
}

/* The arcs of the path from a leaf to the tree's endpoint. */
static void add_leaf_path (struct crossings *s, size_t leaf)
{
    const struct tree *t = s->tree;
    struct probe pair = { t->to, t->to };
    uint32_t port = pathset_port (s->ps, t->to) + 1;

    for (uint32_t k = t->leaf[leaf]; k != 0; k = t->parent[k]) {
        uint32_t arc = across_arc_of (s->ps, t->arc[k]);
        struct crossed_arc *x = &s->arc[arc];

        if (s->wanted && !s->wanted[arc])
            continue;
        if (x->port != port)
            x->receivers += port_rate (s, t->to);
        x->port = port;
        count_senders (s, arc, leaf);
        sample_arc_pair (s, arc, leaf, pair);
    }
}

/* First hops, which do not depend on the receiver. */
static void add_first_hops (struct crossings *s, uint32_t from)
{
    size_t n = pathset_size (s->ps);
    uint32_t arc = across_arc_of (s->ps, s->tree->up[from]);

    if (arc == NETWORK_NONE || (s->wanted && !s->wanted[arc]))
        return;
    s->arc[arc].senders = s->arc[arc].receivers = port_rate (s, from);
    for (int i = 0; i < ACROSS_PAIRS; i++) {
        uint32_t to = rng_below (s->rng, n);

        if (pathset_is_pair (s->ps, from, to))
            sample_arc_pair (s, arc, SIZE_MAX, (struct probe){ from, to });
    }
}

/* Where few leaves or receivers have paths over an arc: other senders of the same
 * leaves.
 */
static void add_senders (struct crossings *s, uint32_t arc)
{
    const struct tree *t = s->tree;
    struct across_arc *x = &s->a->arc[arc];
    uint8_t n = x->npairs;

    for (uint32_t turn = 1; x->npairs < ACROSS_PAIRS; turn++) {
        bool any = false;

        for (uint8_t i = 0; i < n && x->npairs < ACROSS_PAIRS; i++) {
            size_t leaf = t->leaf_of[x->pair[i].a];
            const uint32_t *member = t->member + t->first[leaf];
            uint32_t size = t->first[leaf + 1] - t->first[leaf], k = 0;
            struct probe p = { 0, x->pair[i].b };

            if (turn >= size)
                continue;
            any = true;
            while (member[k] != x->pair[i].a)
                k++;
            p.a = member[(k + turn) % size];
            if (pathset_port (s->ps, p.a) != pathset_port (s->ps, p.b))
                x->pair[x->npairs++] = p;
        }
        if (!any)
            return;
    }
}

/* A port is in one flow at a time: its link gets at most what the fastest of all
 * others can send or take.
 */
static void limit_ends (struct crossings *s)
{
    double fastest[2] = { 0, 0 }; /* the first one may be of several */
    uint32_t port = UINT32_MAX;

    for (int find = 1; find >= 0; find--)
        for (size_t i = 0; i < pathset_size (s->ps); i++) {
            uint32_t own = pathset_port (s->ps, i);
            uint32_t link = pathset_end_link (s->ps, i), arc;
            double most;

            if (link == NETWORK_NONE
                || (arc = across_arc_of (s->ps, 2 * link)) == NETWORK_NONE)
                continue;
            most = find ? s->rate[arc / 2] : fastest[own == port];
            if (!find)
                for (uint32_t x = arc; x < arc + 2; x++)
                    s->a->arc[x].most = fmin (s->a->arc[x].most, most);
            else if (most > fastest[0]) {
                fastest[1] = own == port ? fastest[1] : fastest[0];
                fastest[0] = most;
                port = own;
            }
            else if (own != port)
                fastest[1] = fmax (fastest[1], most);
        }
}

int across_draw (struct across *a, struct pathset *ps, const double *rate,
                 const bool *wanted, struct rng *rng, struct error *err)
{
    size_t narcs = 2 * a->nlinks;
    struct crossings s = {
        .a = a,
        .ps = ps,
        .rate = rate,
        .wanted = wanted,
        .rng = rng,
        .tree = tree_create (ps),
        .arc = xcalloc (narcs, sizeof (*s.arc)),
    };
    int rc = 0;

    sum_leaves (&s);
    for (size_t to = 0; to < pathset_size (ps) && rc == 0; to++) {
        rc = tree_grow (s.tree, to, err);
        for (size_t l = 0; l < s.tree->nleaves && rc == 0; l++)
            add_leaf_path (&s, l);
        add_first_hops (&s, to);
    }
    /* first hops, which no tree has, are of one sender */
    for (size_t x = 0; x < narcs && rc == 0; x++)
        if (s.arc[x].port > 0)
            add_senders (&s, x);
    for (size_t x = 0; x < narcs && rc == 0 && !wanted; x++) {
        double most = fmin (rate[x / 2], s.arc[x].receivers);

        a->arc[x].most
            = s.arc[x].many ? most : fmin (most, s.arc[x].senders);
    }
    if (rc == 0 && !wanted)
        limit_ends (&s);
    tree_destroy (s.tree);
    free (s.arc);
    free (s.leaf_rate);
    return rc;
}

/* The pairs that use the same links in both directions. */
static int find_alike (struct across *a, struct pathset *ps, struct rng *rng,
                       struct error *err)
{
    struct basis basis;
    int rc = pathset_size (ps) <= FEW ? basis_all (&basis, ps, err)
                                      : span_symmetric (&basis, ps, rng, err);

    /* odd classes are those whose links there and back differ */
    for (size_t i = 0; rc == 0 && i < basis.n; i++)
        for (size_t k = basis.first[i];
             k < basis.first[i + 1] && basis.class_id[i] % 2 == 0; k++) {
            struct across_link *l = &a->link[basis.col[k]];
            size_t length = basis.first[i + 1] - basis.first[i];

            if (l->nalike == ACROSS_ALIKE)
                continue;
            if (l->nalike == 0)
                l->near = length;
            l->nnear += length == l->near;
            l->alike[l->nalike++] = basis.pair[i];
        }
    basis_clear (&basis);
    return rc;
}

int across_find (struct across *a, struct pathset *ps, const double *rate,
                 struct rng *rng, struct error *err)
{
    size_t m;

    *a = (struct across){ 0 };
    if (!pathset_links (ps, &m, err))
        return -1;
    *a = (struct across){
        .nlinks = m,
        .arc = xcalloc (2 * m, sizeof (*a->arc)),
        .link = xcalloc (m, sizeof (*a->link)),
    };
    if (find_alike (a, ps, rng, err) < 0)
        return -1;
    terminal_work ("filling links", 0, 0);
    return across_draw (a, ps, rate, NULL, rng, err);
}

void across_clear (struct across *a)
{
    free (a->arc);
    free (a->link);
}
