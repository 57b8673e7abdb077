/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The source paper's method: its sample, and what the checker says. */
#include "config.h"
#include "bench/paper_method.h"

#include <string.h>

#include "core/test/tablenet.h"
#include "core/test/treenet.h"
#include "tests/tap.h"

static const struct plan_options opts = { .seed = 1 };

/* Rounds of a plan that passes the checker, or 0. */
static size_t rounds_of (struct pathset *ps, struct plan *plan)
{
    struct error err = { 0 };
    size_t rounds = 0;

    if (plan && plan_check (ps, plan, &err) == 0
        && plan_rounds (plan) == plan_basis_rounds (plan))
        rounds = plan_rounds (plan);
    else
        diag ("%s", err.text);
    plan_destroy (plan);
    return rounds;
}

/* Of its 1,518 maximal independent sets none fits into 2 rounds, 84 into 3
 * (core/test/plan); the paper has 5.
 */
static void test_sample (void)
{
    struct tablenet *t = tablenet_paper ();
    struct pathset *ps = tablenet_pathset (t, NULL, 0);
    struct error err = { 0 };
    size_t best = rounds_of (ps, paper_make (ps, &opts, &err));
    size_t first = rounds_of (ps, paper_make_first (ps, &opts, &err));
    struct plan *plan = paper_make (ps, &opts, &err);

    ok (best == 3, "the paper's sample in %zu rounds, the fewest", best);
    ok (first == 5, "its first set in %zu, as in the paper", first);
    ok (plan_rank (plan) == 7 && plan_links (plan) == 8 && plan_probes (plan) == 7,
        "7 probes, 8 links");
    plan_destroy (plan);
    pathset_destroy (ps);
    tablenet_destroy (t);
}

/* n hosts on one switch: a row is the sum of two host links, and n > 2 hosts
 * have rank n. An odd n needs ceil (n / floor (n / 2)) = 3 rounds; so does an
 * even one, since the pairs of two rounds form even cycles, each of which has
 * a row that follows from the others.
 */
static void test_star (void)
{
    static const struct {
        size_t n, rank, rounds;
    } star[] = {
        { 2, 1, 1 }, { 3, 3, 3 }, { 4, 4, 3 }, { 5, 5, 3 }, { 6, 6, 3 },
        { 7, 7, 3 }, { 9, 9, 3 }, { 11, 11, 3 },
    };

    for (size_t i = 0; i < sizeof (star) / sizeof (star[0]); i++) {
        size_t n = star[i].n;
        struct tablenet *t = tablenet_create (n, n);
        struct pathset *ps;
        struct plan *plan;
        struct error err = { 0 };
        size_t rank;

        for (size_t a = 0; a < n; a++)
            for (size_t b = 0; b < a; b++)
                tablenet_both (t, a, b, 2, (int)a, (int)b);
        ps = tablenet_pathset (t, NULL, 0);
        plan = paper_make (ps, &opts, &err);
        rank = plan_rank (plan);
        n = rounds_of (ps, plan);
        ok (rank == star[i].rank && n == star[i].rounds,
            "%zu hosts on a switch: rank %zu, %zu rounds", star[i].n, rank,
            n);
        pathset_destroy (ps);
        tablenet_destroy (t);
    }
}

static void test_trees (void)
{
    for (int routing = TREE_DMODK; routing <= TREE_RANDOM; routing++) {
        struct treenet *t = treenet_create (8, 2, routing, 1);
        struct pathset *ps = treenet_pathset (t, NULL, 0);
        struct error err = { 0 };
        struct plan *plan = paper_make (ps, &opts, &err);
        struct plan *again = paper_make (ps, &opts, &err);
        size_t rank = plan_rank (plan);
        size_t best = rounds_of (ps, plan);
        size_t same = rounds_of (ps, again);
        size_t first = rounds_of (ps, paper_make_first (ps, &opts, &err));

        ok (rank == 64 && best >= 4 && best <= first && best == same,
            "routing %d: %zu rounds, at first %zu", routing, best, first);
        pathset_destroy (ps);
        treenet_destroy (t);
    }
}

static void test_odds (void)
{
    struct treenet *t = treenet_create (36, 3, TREE_DMODK, 1);
    struct pathset *ps = treenet_pathset (t, NULL, 0);
    struct error err = { 0 };
    uint32_t one = 7;
    struct plan *plan;

    ok (!paper_make (ps, &opts, &err) && strstr (err.text, "too many"),
        "%s", err.text);
    pathset_destroy (ps);
    ps = treenet_pathset (t, &one, 1);
    plan = paper_make (ps, &opts, &err);
    ok (plan && plan_rounds (plan) == 0, "one host has an empty plan");
    plan_destroy (plan);
    pathset_destroy (ps);
    treenet_destroy (t);
}

int main (void)
{
    test_sample ();
    test_star ();
    test_trees ();
    test_odds ();
    return done_testing ();
}
