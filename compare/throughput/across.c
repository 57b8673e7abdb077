/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes: the load on an arc is limited by the ports that send across it and by
 * those that receive across it, each at the rate of its own link. Each receiver
 * is counted once, when its tree contains the arc. Senders are counted by leaf.
 * An arc stores at most LEAVES leaves and stops counting if these suffice for
 * its rate. If there are more leaves, only the arc's rate and the receivers
 * limit it.
 */
#include "config.h"
#include "compare/throughput/across.h"

#include <math.h>
#include <stdlib.h>

#include "core/paths/tree.h"
#include "core/plan/basis.h"
#include "util/alloc.h"

enum { LEAVES = 4 };

struct senders {
    uint32_t leaf[LEAVES];
    uint8_t n;
    bool many; /* more leaves than these, or enough */
    double rate;
};

struct crossings {
    struct across *a;
    struct pathset *ps;
    const double *rate;
    const bool *wanted;
    struct rng *rng;
    struct tree *tree;
    struct senders *senders; /* [2 * nlinks] */
    double *receivers;       /* [2 * nlinks] */
    uint32_t *port_of;       /* [2 * nlinks] last receiver, from 1 */
    uint64_t *seen;          /* [2 * nlinks] pairs so far */
    double *leaf_rate;       /* [nleaves] sum over its ports */
};

double *across_rates (const struct pathset *ps)
{
    const struct network *net = pathset_network (ps);
    double *rate = xarray (net->nlinks, sizeof (*rate));
    double greatest = 0;

    for (size_t l = 0; l < net->nlinks; l++)
        greatest = fmax (greatest, net->link[l].rate);
    for (size_t l = 0; l < net->nlinks; l++)
        rate[l] = net->link[l].rate > 0 ? net->link[l].rate
                : greatest > 0 ? greatest : 1;
    return rate;
}

bool across_known (const struct pathset *ps)
{
    const struct network *net = pathset_network (ps);

    for (size_t l = 0; l < net->nlinks; l++)
        if (net->link[l].rate > 0)
            return true;
    return false;
}

static void crossing_clear (struct crossings *s)
{
    tree_destroy (s->tree);
    free (s->senders);
    free (s->receivers);
    free (s->port_of);
    free (s->seen);
    free (s->leaf_rate);
}

/* The rate of an endpoint's own link; no limit if it has none. */
static double port_rate (const struct crossings *s, uint32_t e)
{
    uint32_t up = s->tree->up[e];

    return up == NETWORK_NONE ? HUGE_VAL : s->rate[arc_link (up)];
}

static void crossing_init (struct crossings *s)
{
    size_t narcs = 2 * s->a->nlinks;
    const struct tree *t;
    bool *counted;

    s->tree = tree_create (s->ps);
    t = s->tree;
    counted = xcalloc (pathset_ports (s->ps), sizeof (*counted));
    s->senders = xcalloc (narcs, sizeof (*s->senders));
    s->receivers = xcalloc (narcs, sizeof (*s->receivers));
    s->port_of = xcalloc (narcs, sizeof (*s->port_of));
    s->seen = xcalloc (narcs, sizeof (*s->seen));
    s->leaf_rate = xcalloc (t->nleaves, sizeof (*s->leaf_rate));
    for (size_t i = 0; i < pathset_size (s->ps); i++) {
        bool *port = &counted[pathset_port (s->ps, i)];

        if (!*port)
            s->leaf_rate[t->leaf_of[i]] += port_rate (s, i);
        *port = true;
    }
    free (counted);
}

/* Draw ACROSS_PAIRS of all pairs of an arc, each with the same chance. */
static void keep (struct crossings *s, uint32_t arc, struct probe pair)
{
    struct probe *kept = &s->a->pair[(size_t)arc * ACROSS_PAIRS];
    uint64_t at = s->seen[arc]++;

    if (at < ACROSS_PAIRS)
        s->a->npairs[arc] = at + 1;
    else
        at = rng_below (s->rng, at + 1);
    if (at < ACROSS_PAIRS)
        kept[at] = pair;
}

static void count_receiver (struct crossings *s, uint32_t arc, uint32_t to)
{
    uint32_t port = pathset_port (s->ps, to) + 1;

    if (s->port_of[arc] == port)
        return;
    s->port_of[arc] = port;
    s->receivers[arc] += port_rate (s, to);
}

static void count_senders (struct crossings *s, uint32_t arc, size_t leaf)
{
    struct senders *v = &s->senders[arc];

    if (v->many)
        return;
    for (uint8_t i = 0; i < v->n; i++)
        if (v->leaf[i] == leaf)
            return;
    v->rate += s->leaf_rate[leaf];
    v->many = v->n == LEAVES || v->rate >= s->rate[arc_link (arc)];
    if (v->n < LEAVES)
        v->leaf[v->n++] = leaf;
}

static void cross (struct crossings *s, uint32_t arc, size_t leaf,
                   struct probe pair)
{
    if (s->wanted && !s->wanted[arc])
        return;
    count_receiver (s, arc, pair.b);
    count_senders (s, arc, leaf);
    keep (s, arc, pair);
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

/* The arcs of the path from a leaf to the tree's endpoint. */
static void cross_leaf (struct crossings *s, size_t leaf)
{
    const struct tree *t = s->tree;
    struct probe pair = { draw_sender (s, leaf), t->to };

    for (uint32_t k = t->leaf[leaf]; k != 0 && pair.a != pair.b;
         k = t->parent[k])
        cross (s, t->arc[k], leaf, pair);
}

/* First hops, which do not depend on the receiver. */
static void cross_first (struct crossings *s, uint32_t from)
{
    size_t n = pathset_size (s->ps);
    uint32_t arc = s->tree->up[from];

    if (arc == NETWORK_NONE || (s->wanted && !s->wanted[arc]))
        return;
    s->senders[arc].rate = s->receivers[arc] = port_rate (s, from);
    for (int i = 0; i < ACROSS_PAIRS; i++) {
        uint32_t to = rng_below (s->rng, n);

        if (pathset_port (s->ps, to) != pathset_port (s->ps, from))
            keep (s, arc, (struct probe){ from, to });
    }
}

static void set_most (const struct crossings *s)
{
    for (size_t x = 0; x < 2 * s->a->nlinks; x++) {
        const struct senders *v = &s->senders[x];
        double most = fmin (s->rate[x / 2], s->receivers[x]);

        s->a->most[x] = v->many ? most : fmin (most, v->rate);
    }
}

int across_draw (struct across *a, struct pathset *ps, const double *rate,
                 const bool *wanted, struct rng *rng, struct error *err)
{
    struct crossings s = {
        .a = a,
        .ps = ps,
        .rate = rate,
        .wanted = wanted,
        .rng = rng,
    };
    int rc = 0;

    crossing_init (&s);
    for (size_t to = 0; to < pathset_size (ps) && rc == 0; to++) {
        rc = tree_grow (s.tree, to, err);
        for (size_t l = 0; l < s.tree->nleaves && rc == 0; l++)
            cross_leaf (&s, l);
        cross_first (&s, to);
    }
    if (rc == 0 && !wanted)
        set_most (&s);
    crossing_clear (&s);
    return rc;
}

static int find_alike (struct across *a, struct pathset *ps, struct rng *rng,
                       struct error *err)
{
    struct basis basis;
    size_t m;
    const uint32_t *link = pathset_links (ps, &m, err);

    if (!link || basis_symmetric (&basis, ps, rng, err) < 0)
        return -1;
    for (size_t i = 0; i < basis.n; i++)
        for (size_t k = basis.first[i]; k < basis.first[i + 1]; k++) {
            uint32_t l = link[basis.col[k]];
            size_t length = basis.first[i + 1] - basis.first[i];

            if (a->nalike[l] == ACROSS_ALIKE)
                continue;
            if (a->nalike[l] == 0)
                a->near[l] = length;
            a->nnear[l] += length == a->near[l];
            a->alike[(size_t)l * ACROSS_ALIKE + a->nalike[l]++]
                = basis.pair[i];
        }
    basis_clear (&basis);
    return 0;
}

int across_find (struct across *a, struct pathset *ps, const double *rate,
                 struct rng *rng, struct error *err)
{
    size_t m = pathset_network (ps)->nlinks;

    *a = (struct across){
        .nlinks = m,
        .most = xcalloc (2 * m, sizeof (*a->most)),
        .npairs = xcalloc (2 * m, 1),
        .pair = xcalloc (2 * m * ACROSS_PAIRS, sizeof (*a->pair)),
        .nalike = xcalloc (m, 1),
        .alike = xcalloc (m * ACROSS_ALIKE, sizeof (*a->alike)),
        .nnear = xcalloc (m, 1),
        .near = xcalloc (m, 1),
    };
    if (find_alike (a, ps, rng, err) < 0)
        return -1;
    return across_draw (a, ps, rate, NULL, rng, err);
}

void across_clear (struct across *a)
{
    free (a->most);
    free (a->npairs);
    free (a->pair);
    free (a->nalike);
    free (a->alike);
    free (a->nnear);
    free (a->near);
    *a = (struct across){ 0 };
}
