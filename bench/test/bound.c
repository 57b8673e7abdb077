/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bounds: networks whose bounds can be worked out on paper, the definition on
 * small random ones, and never above the rounds of a plan.
 */
#include "config.h"
#include "bench/bound.h"

#include <stdlib.h>
#include <string.h>

#include "bench/paper_method.h"
#include "core/check/echelon.h"
#include "core/plan/plan.h"
#include "core/test/tablenet.h"
#include "core/test/treenet.h"
#include "tests/tap.h"

#define COUNT(v) (sizeof (v) / sizeof ((v)[0]))

/* Worked out on paper. Let h be links of the a hosts, g of the b, t the trunk
 * and x the branches; rows by halves.
 *
 * - A star: h_i + h_j, rank n; a basis has an odd cycle: 3 rounds.
 * - One host and 5, 5 branches: the g are known, so rows are h + x_k, 5 more.
 *   All of them need h: 5 rounds.
 * - Two hosts and 8, 8 branches: h_1 + h_2, h_1 + x_k, h_2 + x_k: 10 more,
 *   all of which need the pair of hosts: 5 rounds. But of h_i + x_k, no more
 *   than 9 are independent, and h_1 + h_2 needs both hosts at once: 11 ends,
 *   two to a round, 6 rounds.
 */
static const struct {
    const char *name;
    size_t a, b;
    int trunk;
    size_t branches;
    size_t rank, rounds, need, width; /* 0, 0: not said */
    enum bound_kind kind;
} known[] = {
    { "two hosts", 2, 0, 0, 0, 1, 1, 1, 1, BOUND_HOSTS },
    { "star of 3", 3, 0, 0, 0, 3, 3, 3, 1, BOUND_HOSTS },
    { "star of 4", 4, 0, 0, 0, 4, 3, 3, 1, BOUND_CYCLE },
    { "star of 8", 8, 0, 0, 0, 8, 3, 3, 1, BOUND_CYCLE },
    { "star of 9", 9, 0, 0, 0, 9, 3, 9, 4, BOUND_HOSTS },
    { "one and 5, 5 branches", 1, 5, 0, 5, 10, 5, 5, 1, BOUND_END },
    { "two and 8, 8 branches", 2, 8, 0, 8, 18, 6, 11, 2, BOUND_POD },
};

static void test_known (void)
{
    for (size_t i = 0; i < COUNT (known); i++) {
        struct tablenet *t = tablenet_two_stars (known[i].a, known[i].b,
                                                 known[i].trunk,
                                                 known[i].branches);
        struct pathset *ps = tablenet_pathset (t, NULL, 0);
        struct bound found, given;
        struct error err;

        if (bound_find (ps, 0, BOUND_EFFORT, &found, &err) < 0
            || bound_find (ps, known[i].rank, BOUND_EFFORT, &given, &err) < 0)
            abort ();
        ok (found.rank == known[i].rank && found.rounds == known[i].rounds
                && found.kind == known[i].kind
                && (known[i].width == 0
                    || (found.need == known[i].need
                        && found.width == known[i].width))
                && found.best,
            "%s: rank %zu, bound %zu by %s %s, %zu / %zu", known[i].name,
            found.rank, found.rounds, bound_kind_name (found.kind),
            bound_set_name (&found, ps), found.need, found.width);
        ok (given.rounds == found.rounds && given.kind == found.kind
                && given.rank == found.rank && given.best,
            "%s: the same where the rank is given", known[i].name);
        pathset_destroy (ps);
        tablenet_destroy (t);
    }
}

/* By the definition: rank of the rows of all pairs for which avoid says no. */
enum { AVOID_NOTHING, AVOID_END, AVOID_LINK };

static size_t rank_without (const struct pathset *ps, int what, uint32_t x)
{
    struct echelon *e = echelon_create (pathset_network (ps)->nlinks, NULL);
    size_t n = pathset_size (ps);
    size_t rank;
    struct error err;

    for (size_t a = 0; a < n; a++)
        for (size_t b = a + 1; b < n; b++) {
            uint32_t link[2 * PATH_MAX_HOPS];
            int there = pathset_walk (ps, a, b, link, &err);
            int all = there + pathset_walk (ps, b, a, link + there, &err);
            int meets = what == AVOID_END && (a == x || b == x);

            for (int k = 0; k < all; k++) {
                link[k] = arc_link (link[k]);
                meets |= what == AVOID_LINK && link[k] == x;
            }
            if (!meets)
                echelon_add (e, link, all);
        }
    rank = echelon_rank (e);
    echelon_destroy (e);
    return rank;
}

/* What hosts, host ends and links give. */
static size_t by_definition (const struct pathset *ps)
{
    size_t rank = rank_without (ps, AVOID_NOTHING, 0);
    size_t best = plan_least_rounds (pathset_size (ps), rank);

    for (size_t i = 0; i < pathset_size (ps); i++) {
        size_t need = rank - rank_without (ps, AVOID_END, i);

        best = need > best ? need : best;
    }
    for (size_t x = 0; x < pathset_network (ps)->nlinks; x++) {
        size_t need = rank - rank_without (ps, AVOID_LINK, x);

        best = need > best ? need : best;
    }
    return best;
}

/* Small networks: at least what the definition gives for most kinds of sets,
 * at most the fewest rounds, which the paper's method finds for so few hosts;
 * and the less effort, the lower.
 */
static void test_irregular (void)
{
    const size_t many = trials (200);
    static const struct plan_options opts = { .seed = 1 };
    size_t good = 0, quick = 0, tight = 0;
    struct rng rng;

    rng_seed (&rng, 3);
    for (size_t i = 0; i < many; i++) {
        size_t hosts = 2 + rng_below (&rng, 5);
        size_t switches = 1 + rng_below (&rng, 6);
        size_t more = switches > 1 ? rng_below (&rng, 8) : 0;
        struct tablenet *t = tablenet_irregular (switches, hosts, more, i);
        struct pathset *ps = tablenet_pathset (t, NULL, 0);
        struct error err = { 0 };
        struct plan *plan = paper_make (ps, &opts, &err);
        struct bound bound, less;

        if (!plan || bound_find (ps, 0, BOUND_EFFORT, &bound, &err) < 0
            || bound_find (ps, plan_rank (plan), 1, &less, &err) < 0)
            abort ();
        good += bound.best && bound.rounds >= by_definition (ps)
            && bound.rounds <= plan_rounds (plan);
        quick += less.rounds <= bound.rounds
            && less.rounds == plan_least_rounds (hosts, plan_rank (plan));
        tight += bound.rounds == plan_rounds (plan);
        plan_destroy (plan);
        pathset_destroy (ps);
        tablenet_destroy (t);
    }
    ok (good == many, "%zu of %zu between definition and optimum", good,
        many);
    ok (quick == many, "without effort it is that of all hosts");
    ok (tight > many / 2, "%zu are the optimum", tight);
}

/* Trees: never above a plan, and with little effort not above the bound. */
static const struct {
    size_t p, q;
    enum tree_routing routing;
    size_t hosts; /* random ones; 0: all */
    size_t rounds; /* 0: not said */
} trees[] = {
    { 4, 2, TREE_DMODK, 0, 4 },
    { 8, 2, TREE_DMODK, 0, 4 },
    { 8, 2, TREE_MINHOP, 0, 4 },
    { 8, 3, TREE_DMODK, 0, 6 },
    { 8, 3, TREE_MINHOP, 0, 6 },
    { 8, 3, TREE_DMODK, 16, 0 },
    { 8, 3, TREE_MINHOP, 16, 0 },
    { 8, 3, TREE_RANDOM, 40, 0 },
    { 12, 3, TREE_DMODK, 64, 0 },
    { 12, 3, TREE_MINHOP, 64, 0 },
};

static void test_trees (void)
{
    static const struct plan_options opts = { .seed = 1 };

    for (size_t i = 0; i < COUNT (trees); i++) {
        struct treenet *t = treenet_create (trees[i].p, trees[i].q,
                                            trees[i].routing, i);
        uint32_t *who = table_alloc (t->n, sizeof (*who));
        struct pathset *ps;
        struct plan *plan;
        struct bound bound, quick;
        struct error err = { 0 };
        struct rng rng;

        rng_seed (&rng, i);
        for (size_t k = 0; k < t->n; k++)
            who[k] = k;
        rng_shuffle (&rng, who, t->n);
        ps = treenet_pathset (t, trees[i].hosts ? who : NULL, trees[i].hosts);
        plan = plan_make (ps, &opts, &err);
        if (!plan || bound_find (ps, 0, BOUND_EFFORT / 8, &bound, &err) < 0
            || bound_find (ps, plan_rank (plan), BOUND_QUICK, &quick, &err)
                < 0)
            abort ();
        ok (bound.rank == plan_rank (plan)
                && bound.rounds <= plan_rounds (plan)
                && quick.rounds <= bound.rounds
                && quick.rounds >= plan_least_rounds (pathset_size (ps), bound.rank)
                && (!trees[i].rounds || bound.rounds == trees[i].rounds),
            "%zu-port %zu-tree, routing %d, %zu hosts: bound %zu by %s, %zu"
            " at once, plan %zu", trees[i].p, trees[i].q, trees[i].routing,
            pathset_size (ps), bound.rounds, bound_kind_name (bound.kind),
            quick.rounds, plan_rounds (plan));
        plan_destroy (plan);
        pathset_destroy (ps);
        treenet_destroy (t);
        free (who);
    }
}

/* A leaf with few hosts among leaves with many. */
static void test_leaf (void)
{
    struct treenet *t = treenet_create (20, 2, TREE_DMODK, 1);
    uint32_t who[200];
    struct pathset *ps;
    struct bound bound;
    struct error err;
    size_t n = 2;

    /* hosts 0 and 1 of leaf 0, all 10 of the other 19 */
    who[0] = 0;
    who[1] = 1;
    for (uint32_t i = 10; i < 200; i++)
        who[n++] = i;
    ps = treenet_pathset (t, who, n);
    if (bound_find (ps, 0, BOUND_EFFORT, &bound, &err) < 0)
        abort ();
    /* its links, 2 of hosts and 10 up, can all be told, and no others' rows
     * cross them: 11 probes to other leaves, which see a host and an uplink
     * together, and one with both ends here, 2 ends to a round. All 192 hosts:
     * 392 probes, 96 to a round.
     */
    ok (bound.kind == BOUND_LEAF && bound.need == 13 && bound.width == 2
            && bound.rounds == 7
            && pathset_endpoint (ps, bound.at)->id < 2,
        "leaf of %s: %zu ends, %zu to a round",
        bound_set_name (&bound, ps), bound.need, bound.width);
    pathset_destroy (ps);
    treenet_destroy (t);
}

static void test_odds (void)
{
    struct tablenet *t = tablenet_create (3, 3);
    struct bound bound;
    struct error err = { 0 };
    struct pathset *ps;
    uint32_t one = 2;

    tablenet_both (t, 0, 1, 2, 0, 1);
    ps = tablenet_pathset (t, &one, 1);
    ok (bound_find (ps, 0, BOUND_EFFORT, &bound, &err) == 0
            && bound.rounds == 0, "one host: nothing to do");
    pathset_destroy (ps);
    ps = tablenet_pathset (t, NULL, 0);
    ok (bound_find (ps, 0, BOUND_EFFORT, &bound, &err) < 0
            && strstr (err.text, "dead end"), "no way: %s", err.text);
    pathset_destroy (ps);
    tablenet_destroy (t);
}

int main (void)
{
    test_known ();
    test_irregular ();
    test_trees ();
    test_leaf ();
    test_odds ();
    return done_testing ();
}
