/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What spans the rows of all pairs, and what does not. Beside it the truth:
 * an elimination over all pairs.
 */
#include "config.h"
#include "core/plan/span.h"

#include <stdlib.h>

#include "core/plan/basis.h"
#include "core/plan/rref.h"
#include "core/test/tablenet.h"
#include "core/test/treenet.h"
#include "tests/tap.h"

static void *alloc (size_t n, size_t size)
{
    void *p = calloc (n + 1, size);

    if (!p)
        abort ();
    return p;
}

static int add (struct rref *rref, const struct basis *b, size_t i)
{
    size_t at = b->first[i];

    return rref_add (rref, b->col + at, b->count + at, b->first[i + 1] - at);
}

static size_t rank_of_all (struct pathset *ps)
{
    struct basis all;
    struct rng rng;
    struct error err;
    struct rref *rref;
    size_t rank;

    rng_seed (&rng, 1);
    if (basis_make (&all, ps, &rng, &err) < 0 || !(rref = rref_create (all.m)))
        abort ();
    for (size_t i = 0; i < all.n; i++)
        add (rref, &all, i);
    rank = rref_rank (rref);
    rref_destroy (rref);
    basis_clear (&all);
    return rank;
}

/* Add symmetric rows, then what span_missing finds, until nothing is missing;
 * at every step the certificate and the search must agree, with each other
 * and with the rank. Then take the last row out again.
 */
static void check (struct pathset *ps, const char *what)
{
    size_t rank = rank_of_all (ps);
    struct basis b;
    struct rng rng;
    struct error err;
    struct rref *rref;
    uint64_t *z;
    size_t symmetric, bad = 0, steps = 0, n;

    rng_seed (&rng, 2);
    if (span_symmetric (&b, ps, &rng, &err) < 0 || !(rref = rref_create (b.m)))
        abort ();
    z = alloc (b.m, sizeof (*z));
    for (size_t i = 0; i < b.n; i++) {
        bad += b.class_id[i] % 2;
        bad += i > 0 && b.class_id[i] < b.class_id[i - 1];
        add (rref, &b, i);
    }
    symmetric = rref_rank (rref);
    for (n = 1; n > 0 && steps < 100; steps++) {
        struct probe *pair;
        int complete;

        rref_null (rref, &rng, z);
        complete = span_complete (ps, z, &rng, &err);
        pair = span_missing (ps, z, &rng, false, 50, &n, &err);
        bad += complete != (rref_rank (rref) == rank);
        bad += complete != (n == 0) || n > 50 || !pair;
        for (size_t i = 0; i < n; i++) {
            struct basis one;
            struct row row;

            if (basis_open (&one, ps, &err) < 0
                || pathset_row (ps, pair[i].a, pair[i].b, &row, &err) < 0)
                abort ();
            basis_push (&one, pair[i].a, pair[i].b, &row);
            bad += rref_dot (one.col, one.count, one.first[1], z) == 0;
            add (rref, &one, 0);
            basis_clear (&one);
        }
        free (pair);
    }
    ok (bad == 0 && rref_rank (rref) == rank,
        "%s: %zu symmetric pairs, rank %zu, then %zu of %zu", what, b.n,
        symmetric, rref_rank (rref), rank);
    rref_destroy (rref);
    basis_clear (&b);
    free (z);
}

/* A single row fewer is seen, whichever it is. */
static void test_one_missing (void)
{
    struct treenet *t = treenet_create (8, 2, TREE_RANDOM, 1);
    struct pathset *ps = treenet_pathset (t, NULL, 0);
    struct basis all;
    struct rng rng;
    struct error err;
    struct rref *rref;
    uint32_t *picked;
    uint64_t *z;
    size_t n = 0, seen = 0;

    rng_seed (&rng, 1);
    if (basis_make (&all, ps, &rng, &err) < 0
        || !(rref = rref_create (all.m)))
        abort ();
    picked = alloc (all.m, sizeof (*picked));
    z = alloc (all.m, sizeof (*z));
    for (size_t i = 0; i < all.n; i++)
        if (add (rref, &all, i) > 0)
            picked[n++] = i;
    rref_destroy (rref);
    for (size_t without = 0; without < n; without++) {
        size_t missing;
        struct probe *pair;

        if (!(rref = rref_create (all.m)))
            abort ();
        for (size_t i = 0; i < n; i++)
            if (i != without)
                add (rref, &all, picked[i]);
        rref_null (rref, &rng, z);
        pair = span_missing (ps, z, &rng, false, 1, &missing, &err);
        seen += span_complete (ps, z, &rng, &err) == 0 && missing == 1;
        free (pair);
        rref_destroy (rref);
    }
    ok (n == 64 && seen == n, "each of %zu rows is missed (%zu)", n, seen);
    basis_clear (&all);
    free (picked);
    free (z);
    pathset_destroy (ps);
    treenet_destroy (t);
}

static const struct {
    size_t ports, levels;
    enum tree_routing routing;
    size_t hosts; /* random ones; 0: all */
} trees[] = {
    { 4, 2, TREE_DMODK, 0 },    { 4, 3, TREE_DMODK, 0 },
    { 4, 3, TREE_MINHOP, 0 },   { 4, 3, TREE_RANDOM, 0 },
    { 4, 4, TREE_RANDOM, 0 },   { 6, 3, TREE_DMODK, 0 },
    { 8, 2, TREE_RANDOM, 0 },   { 8, 3, TREE_DMODK, 0 },
    { 8, 3, TREE_MINHOP, 0 },   { 8, 3, TREE_RANDOM, 0 },
    { 8, 3, TREE_DMODK, 16 },   { 8, 3, TREE_RANDOM, 16 },
    { 12, 3, TREE_DMODK, 0 },   { 12, 3, TREE_RANDOM, 0 },
    { 12, 3, TREE_DMODK, 64 },  { 12, 3, TREE_MINHOP, 64 },
    { 12, 3, TREE_RANDOM, 64 }, { 12, 3, TREE_RANDOM, 2 },
};

int main (void)
{
    char what[80];

    for (size_t i = 0; i < sizeof (trees) / sizeof (trees[0]); i++) {
        struct treenet *t = treenet_create (trees[i].ports, trees[i].levels,
                                            trees[i].routing, i);
        struct pathset *ps = trees[i].hosts
            ? treenet_random (t, trees[i].hosts, i)
            : treenet_pathset (t, NULL, 0);

        snprintf (what, sizeof (what), "%zu-port %zu-tree, %zu hosts",
                  trees[i].ports, trees[i].levels, pathset_size (ps));
        check (ps, what);
        pathset_destroy (ps);
        treenet_destroy (t);
    }
    for (size_t i = 0; i < 40; i++) {
        struct tablenet *t = tablenet_irregular (1 + i % 7, 2 + i % 11, i % 5,
                                                 i);
        struct pathset *ps = tablenet_pathset (t, NULL, 0);

        snprintf (what, sizeof (what), "irregular %zu", i);
        check (ps, what);
        pathset_destroy (ps);
        tablenet_destroy (t);
    }
    test_one_missing ();
    return done_testing ();
}
