/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Select: few endpoints and probes that determine some links. */
#include "config.h"
#include "core/plan/plan.h"

#include <string.h>

#include "core/plan/rref.h"
#include "core/test/tablenet.h"
#include "core/test/treenet.h"
#include "tests/tap.h"

#define COUNT(v) (sizeof (v) / sizeof ((v)[0]))

static const struct plan_options opts = { .seed = 1 };

/* Do all pairs of some endpoints determine the link? */
static bool spans (struct pathset *ps, uint64_t who, uint32_t link)
{
    static const uint8_t two = 2;
    size_t n = pathset_size (ps);
    struct rref *r = rref_create (pathset_network (ps)->nlinks);
    struct row row;
    bool yes;

    for (size_t a = 0; a < n; a++)
        for (size_t b = a + 1; b < n; b++)
            if (who >> a & 1 && who >> b & 1
                && pathset_row (ps, a, b, &row, NULL) == 0)
                rref_add (r, row.link, row.count, row.n);
    yes = rref_spans (r, &link, &two, 1);
    rref_destroy (r);
    return yes;
}

/* The fewest endpoints that do, by exhaustion; 0: not even all. */
static size_t fewest (struct pathset *ps, uint32_t link)
{
    size_t n = pathset_size (ps);
    size_t best = 0;

    for (uint64_t who = 0; who < UINT64_C (1) << n; who++) {
        size_t hosts = __builtin_popcountll (who);

        if ((best == 0 || hosts < best) && hosts > 1 && spans (ps, who, link))
            best = hosts;
    }
    return best;
}

/* Small networks, each link for itself. */
/* The example to read first: the cable of one host of a tree takes two other
 * hosts and three probes.
 */
static void test_example (void)
{
    struct tablenet *t = tablenet_fattree (8, 2, TABLE_DMODK, 1);
    struct pathset *all = tablenet_pathset (t, NULL, 0), *ps;
    const uint32_t cable = 0; /* of the first host */
    struct error err = { 0 };
    struct plan *plan = select_links (all, &cable, 1, &opts, &ps, &err);

    ok (plan && pathset_size (ps) == 3 && plan_probes (plan) == 3
            && plan_check (ps, plan, &err) == 0,
        "a host's cable: three hosts, three probes%s%s",
        err.text[0] ? ": " : "", err.text);
    plan_destroy (plan);
    pathset_destroy (ps);
    pathset_destroy (all);
    tablenet_destroy (t);
}

static void test_small (void)
{
    enum { HOSTS = 8 };
    const size_t many = trials (60);
    size_t asked = 0, least = 0, absolute = 0, sound = 0, said = 0;

    for (size_t i = 0; i < many; i++) {
        struct tablenet *t = i == 0 ? tablenet_paper ()
                                    : tablenet_irregular (4, HOSTS, i % 5, i);
        struct pathset *all = tablenet_pathset (t, NULL, 0);
        size_t m;
        const uint32_t *link = pathset_links (all, &m, NULL);

        for (size_t k = 0; k < m; k += 3) {
            struct error err = { 0 };
            struct pathset *ps;
            struct plan *plan = select_links (all, &link[k], 1, &opts, &ps,
                                              &err);
            size_t hosts = fewest (all, link[k]);
            const struct plan_target *target;
            size_t n;

            asked++;
            if (!plan) {
                diag ("network %zu, %s: %s", i, t->info[link[k]].id, err.text);
                continue;
            }
            target = plan_targets (plan, &n);
            sound += n == 1 && plan_check (ps, plan, &err) == 0;
            said += (target->n == 1) == (hosts > 0) && target->n > 0;
            absolute += hosts > 0;
            least += hosts > 0 && pathset_size (ps) == hosts;
            plan_destroy (plan);
            pathset_destroy (ps);
        }
        pathset_destroy (all);
        tablenet_destroy (t);
    }
    ok (sound == asked, "%zu of %zu plans pass the checker", sound, asked);
    ok (said == asked, "%zu say rightly whether the link is determined", said);
    ok (3 * absolute > 5 * many && absolute < asked, "%zu of them are", absolute);
    ok (10 * least >= 9 * absolute, "%zu with the fewest endpoints there are",
        least);
}

/* Whole trees. The most that each may take. */
static const struct {
    int p, q;
    enum tree_routing routing;
    size_t level; /* of the links; q: switches */
    size_t hosts, probes;
} trees[] = {
    { 8, 3, TREE_DMODK, 0, 3, 3 },
    { 8, 3, TREE_DMODK, 1, 5, 6 },
    { 8, 3, TREE_DMODK, 2, 5, 6 },
    { 8, 3, TREE_DMODK, 3, 18, 40 },
    { 8, 3, TREE_MINHOP, 0, 3, 3 },
    { 8, 3, TREE_MINHOP, 1, 12, 20 },
    { 8, 3, TREE_MINHOP, 2, 18, 60 },
    { 8, 3, TREE_RANDOM, 3, 32, 200 },
    { 36, 3, TREE_DMODK, 1, 5, 6 },
    { 36, 3, TREE_DMODK, 2, 5, 6 },
    { 24, 3, TREE_MINHOP, 1, 14, 30 },
    { 12, 4, TREE_DMODK, 3, 5, 6 },
};

static size_t links_of (const struct treenet *t, uint32_t sw, uint32_t *link)
{
    size_t n = 0;

    for (uint32_t i = 0; i < t->net.nlinks; i++)
        if (t->info[i].end[0] == sw || t->info[i].end[1] == sw)
            link[n++] = i;
    return n;
}

static void test_trees (void)
{
    for (size_t i = 0; i < COUNT (trees); i++) {
        struct treenet *t = treenet_create (trees[i].p, trees[i].q,
                                            trees[i].routing, i);
        struct pathset *all = treenet_pathset (t, NULL, 0);
        size_t hosts = 0, probes = 0, good = 0;
        struct error err = { 0 };

        for (size_t k = 0; k < 3; k++) {
            bool whole = trees[i].level == (size_t)trees[i].q
                         && trees[i].p == 8;
            uint32_t link[64] = {
                trees[i].level % trees[i].q * t->n + (7 + k * 1234) % t->n
            };
            size_t n = whole ? links_of (t, k * 39, link) : 1;
            struct pathset *ps;
            struct plan *plan = select_links (all, link, n, &opts, &ps, &err);
            size_t targets = 0, alone = 0;
            const struct plan_target *pt
                = plan ? plan_targets (plan, &targets) : NULL;

            for (size_t j = 0; j < targets; j++)
                alone += pt[j].n == 1;
            if (plan && alone == n && plan_check (ps, plan, &err) == 0) {
                good++;
                hosts = pathset_size (ps) > hosts ? pathset_size (ps) : hosts;
                probes = plan_probes (plan) > probes ? plan_probes (plan)
                                                     : probes;
            }
            plan_destroy (plan);
            pathset_destroy (ps);
        }
        ok (good == 3 && hosts <= trees[i].hosts
                && probes <= trees[i].probes,
            "%d-port %d-tree, %s, level %zu: %zu hosts, %zu probes%s%s",
            trees[i].p, trees[i].q,
            trees[i].routing == TREE_DMODK ? "d-mod-k" : "min-hop",
            trees[i].level, hosts, probes, *err.text ? ": " : "", err.text);
        pathset_destroy (all);
        treenet_destroy (t);
    }
}

/* What others need to be told: the links in series that come together only,
 * those on no path, and those asked for twice.
 */
static void test_odds (void)
{
    const uint32_t series[] = { 2, 3, 2 };
    const uint32_t two[] = { 0, 1 };
    struct tablenet *t = tablenet_paper ();
    struct pathset *all = tablenet_pathset (t, NULL, 0);
    struct error err = { 0 };
    struct pathset *ps;
    struct plan *plan = select_links (all, series, 3, &opts, &ps, &err);
    const struct plan_options more = { .seed = 1, .extra_rounds = 2 };
    struct plan *again;
    size_t n = 0;
    const struct plan_target *target = plan ? plan_targets (plan, &n) : NULL;

    ok (n == 2 && target[0].link == 2 && target[0].n == 2
            && target[0].member[0].p == target[0].member[1].p
            && plan_check (ps, plan, &err) == 0,
        "two links in series are determined together only: %s", err.text);
    pathset_destroy (ps);
    again = select_links (all, series, 3, &opts, &ps, &err);
    ok (plan && again && plan_probes (plan) == plan_probes (again)
            && plan_rounds (plan) == plan_rounds (again),
        "the same seed, the same plan");
    plan_destroy (again);
    pathset_destroy (ps);
    again = select_links (all, series, 3, &more, &ps, &err);
    ok (plan && again && plan_rounds (again) == plan_rounds (plan) + 2
            && plan_check (ps, again, &err) == 0,
        "with two redundant rounds: %s", err.text);
    plan_destroy (plan);
    plan_destroy (again);
    pathset_destroy (ps);
    pathset_destroy (all);

    all = tablenet_pathset (t, two, 2);
    plan = select_links (all, (uint32_t[]){ 5 }, 1, &opts, &ps, &err);
    ok (!plan && !ps && strstr (err.text, "no path between these hosts"),
        "a link out of reach: %s", err.text);
    plan = select_links (all, (uint32_t[]){ 0, 5 }, 2, &opts, &ps, &err);
    target = plan ? plan_targets (plan, &n) : NULL;
    ok (plan && n == 2 && target[0].n + target[1].n == 2,
        "beside one within reach it is undetermined");
    plan_destroy (plan);
    pathset_destroy (ps);
    pathset_destroy (all);

    all = tablenet_pathset (t, two, 0);
    plan = select_links (all, (uint32_t[]){ 0 }, 1, &opts, &ps, &err);
    ok (!plan && strstr (err.text, "no path between"), "no hosts: %s",
        err.text);
    pathset_destroy (all);
    tablenet_destroy (t);
}

/* The checker does not believe a plan that promises too much. */
static void test_checker (void)
{
    const struct plan_member first = { 0, 1, 1 };
    struct tablenet *t = tablenet_paper ();
    struct pathset *ps = tablenet_pathset (t, NULL, 0);
    struct plan *plan = plan_create ("links");
    struct error err = { 0 };

    plan_add (plan, 0, 0, 1);
    plan_add (plan, 1, 1, 4);
    plan_add_target (plan, 0, &first, 1);
    plan_set_rank (plan, 8, 2, 2);
    ok (plan_check (ps, plan, &err) < 0
            && strstr (err.text, "what is to be known of l1"),
        "two probes of a triangle: %s", err.text);
    plan_add (plan, 2, 0, 4);
    plan_set_rank (plan, 8, 3, 3);
    ok (plan_check (ps, plan, &err) == 0, "all three");
    plan_destroy (plan);
    pathset_destroy (ps);
    tablenet_destroy (t);
}

int main (void)
{
    test_example ();
    test_small ();
    test_trees ();
    test_odds ();
    test_checker ();
    return done_testing ();
}
