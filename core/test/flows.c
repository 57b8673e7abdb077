/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Plans that load links: their rounds on networks of several rates, what fair
 * rates make of them, and plans that the checker is to refuse.
 */
#include "config.h"
#include "core/rate/flows.h"

#include <math.h>
#include <string.h>

#include "core/plan/plan.h"
#include "core/test/tablenet.h"
#include "core/test/treenet.h"
#include "core/rate/across.h"
#include "core/rate/carry.h"
#include "tests/tap.h"

static const double GIGA = 1e9;

/* What fair rates make of a round: carried[2 * nlinks] grows to it. */
static void carry (const struct plan *plan, const struct pathset *ps,
                   size_t round, const double *rate, double *carried)
{
    size_t nlinks = pathset_network (ps)->nlinks, n;
    const struct probe *p = plan_round (plan, round, &n);
    size_t *start = calloc (n + 1, sizeof (*start));
    uint32_t *arc = calloc (n * ROW_MAX + 1, sizeof (*arc));
    double *sum = calloc (2 * nlinks + 1, sizeof (*sum));
    double *got = calloc (n + 1, sizeof (*got));
    struct csr flows = { n, start, arc };

    if (!start || !arc || !sum || !got)
        abort ();
    for (size_t i = 0; i < n; i++) {
        uint32_t *at = arc + start[i];

        at += pathset_walk (ps, p[i].a, p[i].b, at, NULL);
        at += pathset_walk (ps, p[i].b, p[i].a, at, NULL);
        start[i + 1] = at - arc;
    }
    fair_rates (&flows, rate, nlinks, got);
    for (size_t i = 0; i < n; i++)
        for (size_t k = start[i]; k < start[i + 1]; k++)
            sum[arc[k]] += got[i];
    for (size_t x = 0; x < 2 * nlinks; x++)
        carried[x] = fmax (carried[x], sum[x]);
    free (start);
    free (arc);
    free (sum);
    free (got);
}

struct outcome {
    size_t rounds, links, filled;
    double arcs; /* share of used arcs that carry all that they could */
    bool good;
};

static struct outcome look (struct pathset *ps, const struct plan *plan)
{
    const struct network *net = pathset_network (ps);
    double *rate = across_rates (ps);
    double *carried = calloc (2 * net->nlinks + 1, sizeof (*carried));
    double *column;
    struct outcome out = { .rounds = plan_rounds (plan) };
    const struct plan_target *t = plan_targets (plan, &out.links);
    struct across across;
    struct error err = { 0 };
    size_t used = 0, loaded = 0, m;
    const uint32_t *link = pathset_links (ps, &m, NULL);
    struct rng rng;

    rng_seed (&rng, 1);
    if (!rate || !carried || !link)
        abort ();
    column = across_column_rates (ps, link, m);
    if (across_find (&across, ps, column, &rng, NULL) < 0)
        abort ();
    out.good = flows_check (ps, plan, &err) == 0;
    if (!out.good)
        diag ("%s", err.text);
    for (size_t r = 0; r < out.rounds; r++)
        carry (plan, ps, r, rate, carried);
    for (size_t i = 0; i < out.links; i++) {
        double most = fmax (carried[2 * t[i].link],
                            carried[2 * t[i].link + 1]);
        bool filled = most >= rate[t[i].link] * (1 - 1e-6);

        out.filled += filled;
        out.good = out.good && filled == t[i].filled;
    }
    for (size_t x = 0; x < 2 * m; x++) {
        double most = across.arc[x].most;

        used += most > 0;
        loaded += most > 0
                  && carried[2 * link[x / 2] + x % 2] >= most * (1 - 1e-6);
    }
    out.arcs = (double)loaded / used;
    across_clear (&across);
    free (column);
    free (rate);
    free (carried);
    return out;
}

static struct outcome make (struct pathset *ps, unsigned int times)
{
    struct flows_options opts = { .times = times, .seed = 1 };
    struct error err = { 0 };
    struct plan *plan = flows_make (ps, &opts, &err);
    struct outcome out = { 0 };

    if (plan)
        out = look (ps, plan);
    else
        diag ("%s", err.text);
    plan_destroy (plan);
    return out;
}

/* Of a fat tree: Gb/s of host ends and of switch links; 0: not known. */
static const struct tree_case {
    size_t p, q;
    enum tree_routing routing;
    double host, other;
    size_t job;       /* endpoints drawn; 0: all */
    double filled;    /* share of the links, at least */
    double arcs;      /* share of the arcs with all they could, at least */
    size_t rounds;    /* at most */
} trees[] = {
    { 8, 2, TREE_DMODK, 0, 0, 0, 1, 1, 9 },
    { 8, 3, TREE_DMODK, 200, 200, 0, 1, 1, 12 },
    { 8, 3, TREE_MINHOP, 200, 200, 0, 1, 1, 14 },
    { 8, 3, TREE_RANDOM, 200, 200, 0, 1, 1, 14 },
    /* a link takes two hosts; one that leads to one host alone cannot have
     * them in that direction */
    { 8, 3, TREE_DMODK, 100, 200, 0, .9, .95, 30 },
    { 8, 3, TREE_MINHOP, 100, 200, 0, .9, .9, 30 },
    { 8, 3, TREE_MINHOP, 150, 200, 0, .9, .9, 100 },
    /* links slower than hosts */
    { 8, 3, TREE_MINHOP, 400, 200, 0, 1, .9, 14 },
    { 12, 3, TREE_DMODK, 200, 200, 0, 1, 1, 14 },
    { 12, 3, TREE_MINHOP, 200, 200, 64, .9, .9, 60 },
    { 12, 3, TREE_MINHOP, 100, 200, 64, .5, .9, 100 },
};

static void test_trees (void)
{
    for (size_t i = 0; i < sizeof (trees) / sizeof (trees[0]); i++) {
        const struct tree_case *c = &trees[i];
        struct treenet *t = treenet_create (c->p, c->q, c->routing, 1);
        struct pathset *ps;
        struct outcome out;

        for (size_t l = 0; l < t->net.nlinks; l++)
            t->info[l].rate = GIGA * (l < t->n ? c->host : c->other);
        ps = c->job ? treenet_random (t, c->job, 1)
                    : treenet_pathset (t, NULL, 0);
        out = make (ps, 2);
        ok (out.good && out.filled >= c->filled * out.links
                && out.arcs >= c->arcs && out.rounds <= c->rounds,
            "%zu of %zu hosts, %g and %g Gb/s: %zu rounds fill %zu of %zu"
            " links, %.1f %% of the arcs have all they could",
            pathset_size (ps), t->n, c->host, c->other, out.rounds,
            out.filled, out.links, 100 * out.arcs);
        pathset_destroy (ps);
        treenet_destroy (t);
    }
}

/* Any network, rates drawn for each link. */
static void test_irregular (void)
{
    static const double rates[] = { 25, 50, 100, 200, 400 };
    size_t filled = 0, links = 0;
    double arcs = 0;
    int good = 0;

    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct tablenet *t = tablenet_irregular (6, 24, 4, seed);
        struct pathset *ps;
        struct outcome out;
        struct rng rng;

        rng_seed (&rng, seed);
        for (size_t l = 0; l < t->net.nlinks; l++)
            t->info[l].rate = GIGA * rates[rng_below (&rng, 5)];
        ps = tablenet_pathset (t, NULL, 0);
        out = make (ps, 1);
        good += out.good;
        filled += out.filled;
        links += out.links;
        arcs += out.arcs / 20;
        pathset_destroy (ps);
        tablenet_destroy (t);
    }
    ok (good == 20 && filled >= links / 2 && arcs > .7,
        "%d of 20 networks of drawn rates: %zu of %zu links filled, %.0f %%"
        " of the arcs have all they could", good, filled, links, 100 * arcs);
}

static void test_few (void)
{
    struct tablenet *t = tablenet_paper ();
    struct flows_options opts = { .times = 2, .seed = 1 };
    struct error err;

    for (size_t n = 0; n <= 6; n++) {
        struct pathset *ps = tablenet_pathset (t, (uint32_t[]){ 0, 1, 2, 3, 4,
                                                                5 }, n);
        struct plan *plan = flows_make (ps, &opts, &err);
        size_t links;

        pathset_links (ps, &links, NULL);
        ok (plan && (plan_rounds (plan) == 0) == (n < 2)
                && plan_links (plan) == links
                && flows_check (ps, plan, &err) == 0,
            "%zu endpoints: %zu rounds", n, plan_rounds (plan));
        plan_destroy (plan);
        pathset_destroy (ps);
    }
    tablenet_destroy (t);
}

/* Two switches of four hosts each (0-3, 4-7), 100 Gb/s, and two cables that
 * join them, of 200 Gb/s: link 8 carries hosts 0, 1, 4, 5 and link 9 the
 * others, by who is lower. Link 10 is where 8 ends: it carries what 8 does.
 */
static struct tablenet *two_switches (void)
{
    struct tablenet *t = tablenet_create (8, 11);

    for (size_t l = 0; l < 11; l++)
        t->info[l].rate = (l < 8 ? 100 : 200) * GIGA;
    for (int a = 0; a < 8; a++)
        for (int b = a + 1; b < 8; b++)
            if (a / 4 == b / 4)
                tablenet_both (t, a, b, 2, a, b);
            else if (a % 4 < 2)
                tablenet_both (t, a, b, 4, a, 8, 10, b);
            else
                tablenet_both (t, a, b, 3, a, 9, b);
    /* there by link 9, back by link 8 */
    tablenet_path (t, 2, 5, 3, 2, 9, 5);
    tablenet_path (t, 5, 2, 3, 5, 8, 2);
    return t;
}

static const struct {
    const char *what;
    struct { size_t round; uint32_t a, b; } flow[4];
    size_t nflows;
    uint32_t target; /* 0: none */
    const char *error; /* NULL: a good plan */
} plans[] = {
    { "two fill a cable", { { 0, 2, 6 }, { 0, 3, 7 } }, 2, 9, NULL },
    { "one does not", { { 0, 2, 6 } }, 1, 9, "no round fills" },
    { "two in two rounds do not", { { 0, 2, 6 }, { 1, 3, 7 } }, 2, 9,
      "no round fills" },
    { "host ends", { { 0, 0, 1 }, { 0, 2, 3 } }, 2, 1, NULL },
    { "a pair twice, roles swapped", { { 0, 0, 4 }, { 1, 4, 0 } }, 2, 0,
      "a flow twice" },
    { "an endpoint twice", { { 0, 0, 4 }, { 0, 0, 5 } }, 2, 0,
      "is in two flows" },
    { "nobody", { { 0, 0, 8 } }, 1, 0, "out of range" },
    { "an empty round", { { 1, 0, 1 } }, 1, 0, "is empty" },
    { "four at a time, over both cables",
      { { 0, 0, 4 }, { 0, 1, 5 }, { 0, 3, 6 }, { 0, 7, 2 } }, 4, 0, NULL },
};

static bool expected (struct pathset *ps, const struct plan *plan,
                      const char *error)
{
    struct error err = { 0 };
    int rc = flows_check (ps, plan, &err);

    if (rc < 0)
        diag ("%s", err.text);
    return error ? rc < 0 && strstr (err.text, error) : rc == 0;
}

/* An empty one for the two switches, whose links are all in use. */
static struct plan *flows_plan (void)
{
    struct plan *plan = plan_create ("throughput");

    plan_set_rank (plan, 11, 0, 0);
    return plan;
}

static void test_check (void)
{
    struct tablenet *t = two_switches ();
    struct pathset *ps = tablenet_pathset (t, NULL, 0);
    struct plan *plan;

    for (size_t i = 0; i < sizeof (plans) / sizeof (plans[0]); i++) {
        plan = flows_plan ();
        for (size_t k = 0; k < plans[i].nflows; k++)
            plan_add (plan, plans[i].flow[k].round, plans[i].flow[k].a,
                      plans[i].flow[k].b);
        if (plans[i].target)
            plan_add_target (plan, plans[i].target, true);
        ok (expected (ps, plan, plans[i].error), "%s: %s", plans[i].what,
            plans[i].error ? plans[i].error : "good");
        plan_destroy (plan);
    }

    /* three hosts on 8 and 10 are more than both carry */
    plan = flows_plan ();
    t->info[8].rate = t->info[10].rate = 150 * GIGA;
    plan_add (plan, 0, 0, 4);
    plan_add (plan, 0, 1, 5);
    ok (expected (ps, plan, "two links that are full"),
        "two full links in a row");
    t->info[10].rate = 200 * GIGA;
    ok (expected (ps, plan, NULL), "... of which one is wide enough");
    plan_destroy (plan);

    plan = plan_create ("throughput");
    ok (expected (ps, plan, "11 links"), "the number of links");
    plan_destroy (plan);

    /* 2 to 5 crosses 8 on its way back alone */
    plan = flows_plan ();
    plan_add (plan, 0, 2, 5);
    plan_add (plan, 0, 0, 4);
    ok (expected (ps, plan, "some both ways"),
        "a full link, crossed one way and both ways");
    t->info[8].rate = 200 * GIGA;
    ok (expected (ps, plan, NULL), "... that need not be full");
    plan_destroy (plan);
    pathset_destroy (ps);
    tablenet_destroy (t);
}

int main (void)
{
    test_trees ();
    test_irregular ();
    test_few ();
    test_check ();
    return done_testing ();
}
