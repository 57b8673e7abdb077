/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums of weights over all paths. */
#include "config.h"
#include "core/plan/grid.h"

#include <stdlib.h>

#include "core/plan/prime.h"
#include "util/alloc.h"

enum {
    CELLS_MAX = 1 << 27, /* of both directions: 512 MiB */
};

/* Number of members of the leaves of a block. */
static size_t members (const struct grid *g, size_t block)
{
    size_t first, end;

    grid_block (g, block, &first, &end);
    return g->tree->first[end] - g->tree->first[first];
}

/* Choose the fewest blocks that fit, and make room for the two largest. */
static void allocate (struct grid *g)
{
    size_t nleaves = g->tree->nleaves;
    size_t size;

    for (g->nblocks = 1;; g->nblocks *= 2) {
        size_t most = 0;

        g->width = (nleaves + g->nblocks - 1) / g->nblocks;
        for (size_t b = 0; b < g->nblocks; b++)
            if (members (g, b) > most)
                most = members (g, b);
        size = g->width * most;
        if ((g->nblocks > 1 ? 2 * size : size) <= CELLS_MAX || g->width <= 1)
            break;
    }
    for (int k = 0; k < (g->nblocks > 1 ? 2 : 1); k++)
        g->cell[k] = xarray (size, sizeof (*g->cell[k]));
    for (int k = 0; k < 2; k++)
        g->hops[k] = xarray (g->width, g->width);
}

struct grid *grid_create (const struct pathset *ps)
{
    struct grid *g = xcalloc (1, sizeof (*g));

    g->tree = tree_create (ps);
    allocate (g);
    g->own = xcalloc (pathset_size (ps), sizeof (*g->own));
    g->sum = xcalloc (tree_steps (g->tree), sizeof (*g->sum));
    g->depth = xcalloc (tree_steps (g->tree), sizeof (*g->depth));
    return g;
}

void grid_destroy (struct grid *g)
{
    if (!g)
        return;
    tree_destroy (g->tree);
    free (g->cell[0]);
    free (g->cell[1]);
    free (g->hops[0]);
    free (g->hops[1]);
    free (g->own);
    free (g->sum);
    free (g->depth);
    free (g);
}

void grid_block (const struct grid *g, size_t block, size_t *first,
                 size_t *end)
{
    size_t nleaves = g->tree->nleaves;

    *first = block * g->width < nleaves ? block * g->width : nleaves;
    *end = *first + g->width < nleaves ? *first + g->width : nleaves;
}

/* Sums from all leaves to an endpoint, by step of its tree. */
static int sum_tree (struct grid *g, const uint64_t *weight, uint32_t to,
                     uint64_t start, struct error *err)
{
    const struct tree *t = g->tree;

    if (tree_grow (g->tree, to, err) < 0)
        return -1;
    tree_sum (t, weight, start, PRIME, g->sum);
    for (size_t k = 1; k < t->n; k++)
        g->depth[k] = g->depth[t->parent[k]] + 1;
    return 0;
}

/* Fill column `at` of the cells from the leaves of one block. */
static void fill (struct grid *g, enum grid_kind kind, uint32_t *cell,
                  size_t block, size_t at, size_t width)
{
    const struct tree *t = g->tree;
    size_t own = t->leaf_of[t->to];
    size_t first, end;

    grid_block (g, block, &first, &end);
    for (size_t s = first; s < end; s++) {
        uint64_t x = g->sum[t->leaf[s]];

        if (kind == GRID_ROWS && s < own)
            x = prime_neg (x);
        cell[(s - first) * width + at] = (uint32_t)x;
    }
}

/* Fill in the hops from the leaves of one block to the destination's leaf. */
static void fill_hops (struct grid *g, int from)
{
    const struct tree *t = g->tree;
    size_t own = t->leaf_of[t->to];
    size_t first, end;

    if (t->member[t->first[own]] != t->to)
        return;
    grid_block (g, g->block[from], &first, &end);
    for (size_t s = first; s < end; s++)
        g->hops[from][(s - first) * g->width + own % g->width]
            = g->depth[t->leaf[s]];
}

static int load (struct grid *g, enum grid_kind kind, const uint64_t *weight,
                 int from, struct error *err)
{
    const struct tree *t = g->tree;
    size_t width = members (g, g->block[!from]);
    size_t first, end;

    grid_block (g, g->block[!from], &first, &end);
    for (size_t at = 0; at < width; at++) {
        uint32_t to = t->member[t->first[first] + at];
        uint64_t up = tree_first_hop (t, to, weight);

        if (sum_tree (g, weight, to, kind == GRID_ROWS ? up : prime_neg (up),
                      err) < 0)
            return -1;
        g->own[to] = g->sum[t->leaf[t->leaf_of[to]]];
        fill (g, kind, g->cell[from], g->block[from], at, width);
        fill_hops (g, from);
    }
    return 0;
}

int grid_load (struct grid *g, enum grid_kind kind, const uint64_t *weight,
               size_t p, size_t q, struct error *err)
{
    g->block[0] = p;
    g->block[1] = q;
    if (load (g, kind, weight, 0, err) < 0)
        return -1;
    return p == q ? 0 : load (g, kind, weight, 1, err);
}

const uint32_t *grid_cells (const struct grid *g, size_t s, size_t t)
{
    int from = s / g->width != g->block[0];
    const uint32_t *first = g->tree->first;
    size_t begin, end;

    grid_block (g, g->block[!from], &begin, &end);
    return g->cell[from]
        + s % g->width * (first[end] - first[begin])
        + first[t] - first[begin];
}

size_t grid_hops (const struct grid *g, size_t s, size_t t)
{
    int from = s / g->width != g->block[0];
    int back = t / g->width != g->block[0];

    if (s == t)
        return 0;
    return g->hops[from][s % g->width * g->width + t % g->width]
        + g->hops[back][t % g->width * g->width + s % g->width];
}
