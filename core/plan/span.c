/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Do some rows span those of all pairs?
 *
 * Notes: that psi(a,t) is one value for all a on a leaf is tested for all t at
 * once, by sums over t with random factors; that C is antisymmetric, by C(u,v)
 * + C(v,u) = 0 for random vectors u and v. Each test misses a difference with
 * probability 1/P.
 */
#include "config.h"
#include "core/plan/span.h"

#include <stdbool.h>
#include <stdlib.h>

#include "core/paths/tree.h"
#include "core/plan/grid.h"
#include "core/plan/prime.h"
#include "util/alloc.h"

/* z by link; links that no path uses are 0. */
static uint64_t *by_link (struct pathset *ps, const uint64_t *z,
                          struct error *err)
{
    uint64_t *weight;
    size_t m;
    const uint32_t *link = pathset_links (ps, &m, err);

    if (!link)
        return NULL;
    weight = xcalloc (pathset_network (ps)->nlinks + 1, sizeof (*weight));
    for (size_t c = 0; c < m; c++)
        weight[link[c]] = z[c];
    return weight;
}

struct span_check {
    struct tree *tree;
    const uint64_t *weight;
    uint64_t *psi;       /* [nplaces + 1] by step */
    uint64_t *factor[2]; /* [nleaves] u, v */
    uint64_t *sum[2];    /* [nleaves] C u, C v, by leaf */
};

/* Test whether the members of a leaf agree. Between themselves, those of one
 * port have one value, those of all others the opposite, and with more than two
 * ports it is 0.
 */
static int check_leaf (struct span_check *c, size_t s, struct error *err)
{
    const struct tree *t = c->tree;
    size_t n = t->first[s + 1] - t->first[s];
    uint32_t port = pathset_port (t->ps, t->member[t->first[s]]);
    uint64_t own = 0; /* of that port */

    for (size_t i = 0; i < n; i++) {
        uint32_t to = t->member[t->first[s] + i];
        uint64_t sum[2] = { 0, 0 };
        uint64_t x;

        if (tree_grow (c->tree, to, err) < 0)
            return -1;
        tree_sum (t, c->weight, tree_first_hop (t, to, c->weight), PRIME,
                  c->psi);
        for (size_t l = 0; l < t->nleaves; l++)
            for (int k = 0; k < 2 && l != s; k++)
                sum[k] = prime_add (sum[k], prime_mul (c->factor[k][l],
                                                       c->psi[t->leaf[l]]));
        for (int k = 0; k < 2; k++)
            if (i == 0)
                c->sum[k][s] = sum[k];
            else if (sum[k] != c->sum[k][s])
                return 0;
        x = c->psi[t->leaf[s]];
        if (pathset_port (t->ps, to) != port)
            x = prime_neg (x);
        if (i == 0)
            own = x;
        if (x != own || (t->ports[s] > 2 && own != 0))
            return 0;
    }
    return 1;
}

static bool antisymmetric (const struct span_check *c)
{
    uint64_t sum = 0;

    for (size_t s = 0; s < c->tree->nleaves; s++)
        for (int k = 0; k < 2; k++)
            sum = prime_add (sum, prime_mul (c->factor[k][s],
                                             c->sum[!k][s]));
    return sum == 0;
}

int span_complete (struct pathset *ps, const uint64_t *z, struct rng *rng,
                   struct error *err)
{
    struct span_check c = { 0 };
    size_t nleaves;
    int rc = 1;

    if (!(c.weight = by_link (ps, z, err)))
        return -1;
    c.tree = tree_create (ps);
    nleaves = c.tree->nleaves;
    c.psi = xcalloc (tree_steps (c.tree), sizeof (*c.psi));
    for (int k = 0; k < 2; k++) {
        c.factor[k] = xcalloc (nleaves + 1, sizeof (*c.factor[k]));
        c.sum[k] = xcalloc (nleaves + 1, sizeof (*c.sum[k]));
    }
    for (size_t s = 0; s < nleaves; s++)
        for (int k = 0; k < 2; k++)
            c.factor[k][s] = rng_below (rng, PRIME);
    for (size_t s = 0; s < nleaves && rc == 1; s++)
        rc = check_leaf (&c, s, err);
    if (rc == 1)
        rc = antisymmetric (&c);
    tree_destroy (c.tree);
    free ((uint64_t *)c.weight);
    free (c.psi);
    for (int k = 0; k < 2; k++) {
        free (c.factor[k]);
        free (c.sum[k]);
    }
    return rc;
}

/* A sample of the pairs found with paths of one length. */
struct bin {
    struct probe *pair;
    size_t n;
    uint64_t seen;
};

enum { BINS = 2 * PATH_MAX_HOPS + 3 };

struct missing_pairs {
    struct grid *grid;
    struct rng *rng;
    struct bin bin[BINS];
    size_t max;
};

static void found (struct missing_pairs *s, size_t hops, size_t a, size_t b)
{
    struct bin *bin = &s->bin[hops];
    struct probe pair = { a < b ? a : b, a < b ? b : a };

    bin->seen++;
    if (bin->n == s->max) {
        uint64_t at = rng_below (s->rng, bin->seen);

        if (at < bin->n)
            bin->pair[at] = pair;
        return;
    }
    bin->pair = xgrow (bin->pair, bin->n, sizeof (pair));
    bin->pair[bin->n++] = pair;
}

static bool uniform (const uint32_t *cell, size_t n, uint32_t value)
{
    for (size_t i = 0; i < n; i++)
        if (cell[i] != value)
            return false;
    return true;
}

/* Find pairs between two leaves: both members advance together, from a random
 * start, and with other shifts until one is found.
 */
static void search_pair (struct missing_pairs *f, size_t s, size_t t)
{
    const struct tree *tree = f->grid->tree;
    const uint32_t *x = grid_cells (f->grid, s, t);
    const uint32_t *y = grid_cells (f->grid, t, s);
    const uint32_t *ms = tree->member + tree->first[s];
    const uint32_t *mt = tree->member + tree->first[t];
    size_t ns = tree->first[s + 1] - tree->first[s];
    size_t nt = tree->first[t + 1] - tree->first[t];
    size_t most = ns > nt ? ns : nt;
    size_t hops = grid_hops (f->grid, s, t);
    size_t turn;
    bool any = false;

    if (uniform (x, nt, x[0]) && uniform (y, ns, x[0]))
        return;
    turn = rng_below (f->rng, nt);
    for (size_t d = 0; d < nt && !any; d++)
        for (size_t k = 0; k < most; k++) {
            size_t i = k % ns;
            size_t j = (k + d + turn) % nt;

            if (x[j] == y[i])
                continue;
            any = true;
            found (f, hops, ms[i], mt[j]);
        }
}

/* Find pairs on one leaf: with the member before, or the one before that; with
 * all if some are of one port.
 */
static void search_own (struct missing_pairs *f, size_t s)
{
    const struct tree *tree = f->grid->tree;
    const uint32_t *member = tree->member + tree->first[s];
    const uint64_t *own = f->grid->own;
    const struct pathset *ps = tree->ps;
    size_t n = tree->first[s + 1] - tree->first[s];
    size_t most = n > tree->ports[s] ? n : 2;

    for (size_t d = 1; d <= most; d++)
        for (size_t i = d; i < n; i++)
            if (prime_add (own[member[i]], own[member[i - d]]) != 0
                && pathset_port (ps, member[i])
                       != pathset_port (ps, member[i - d]))
                found (f, 0, member[i], member[i - d]);
}

static void search_blocks (struct missing_pairs *f, size_t p, size_t q)
{
    size_t first[2], end[2];

    grid_block (f->grid, p, &first[0], &end[0]);
    grid_block (f->grid, q, &first[1], &end[1]);
    for (size_t s = first[0]; s < end[0]; s++) {
        if (p == q)
            search_own (f, s);
        for (size_t t = p == q ? s + 1 : first[1]; t < end[1]; t++)
            search_pair (f, s, t);
    }
}

/* Merge the bins, the shortest first; each may use at most half of the
 * remaining room if others follow.
 */
static struct probe *gather (const struct missing_pairs *f, size_t *n)
{
    struct probe *pair = xcalloc (f->max + 1, sizeof (*pair));
    size_t last = BINS - 1;

    *n = 0;
    while (last > 0 && f->bin[last].n == 0)
        last--;
    for (size_t i = 0; i <= last; i++) {
        size_t room = f->max - *n;

        if (i < last)
            room -= room / 2;
        for (size_t k = 0; k < f->bin[i].n && k < room; k++)
            pair[(*n)++] = f->bin[i].pair[k];
    }
    return pair;
}

struct probe *span_missing (struct pathset *ps, const uint64_t *z,
                            struct rng *rng, size_t max, size_t *n,
                            struct error *err)
{
    uint64_t *weight = by_link (ps, z, err);
    struct missing_pairs f = { .rng = rng, .max = max };
    struct probe *pair = NULL;

    if (!weight)
        return NULL;
    f.grid = grid_create (ps);
    for (size_t p = 0; p < f.grid->nblocks; p++)
        for (size_t q = p; q < f.grid->nblocks; q++) {
            if (grid_load (f.grid, GRID_ROWS, weight, p, q, err) < 0)
                goto error;
            search_blocks (&f, p, q);
        }
    pair = gather (&f, n);
error:
    grid_destroy (f.grid);
    free (weight);
    for (size_t i = 0; i < BINS; i++)
        free (f.bin[i].pair);
    return pair;
}
