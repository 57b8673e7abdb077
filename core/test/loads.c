/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The second part of a plan, and the second look: an example, then plans of many
 * networks and jobs, which a checker that is not their maker's checks.
 */
#include "config.h"
#include "core/rate/loads.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "core/paths/multipath.h"
#include "core/rate/across.h"
#include "core/rate/carry.h"
#include "core/rate/flows.h"
#include "core/test/tablenet.h"
#include "core/test/treenet.h"
#include "tests/tap.h"
#include "util/map.h"

#define GB 1e9

/* Flows of each endpoint's port, with others, and how many rounds it is in. */
struct outcome {
    bool good;
    size_t rounds, links, filled, hosts, host_filled;
    size_t least; /* flows of a port */
    size_t far;   /* flows that cross links between switches */
};

static struct outcome loads_outcome (struct pathset *ps,
                                     const struct plan *plan,
                                     const uint32_t *slot)
{
    const struct network *net = pathset_network (ps);
    struct outcome out = { .rounds = plan_rounds (plan) };
    size_t *flows = table_alloc (pathset_ports (ps), sizeof (*flows)), n;
    const struct plan_target *t = plan_targets (plan, &out.links);
    struct error err = { 0 };

    out.good = flows_check_slots (ps, plan, slot, &err) == 0;
    if (!out.good)
        diag ("%s", err.text);
    for (size_t i = 0; i < out.links; i++) {
        bool host = net->link[t[i].link].kind == LINK_HOST;

        out.filled += t[i].filled;
        out.hosts += host;
        out.host_filled += host && t[i].filled;
    }
    for (size_t r = 0; r < out.rounds; r++) {
        const struct probe *p = plan_round (plan, r, &n);

        for (size_t i = 0; i < n; i++) {
            uint32_t arc[PATH_MAX_HOPS];

            out.far += pathset_walk (ps, p[i].a, p[i].b, arc, NULL) > 2;
            flows[pathset_port (ps, p[i].a)]++;
            flows[pathset_port (ps, p[i].b)]++;
        }
    }
    out.least = SIZE_MAX;
    for (size_t i = 0; i < pathset_ports (ps); i++)
        out.least = flows[i] < out.least ? flows[i] : out.least;
    free (flows);
    return out;
}

static struct outcome make_loads (struct pathset *ps,
                                  const struct loads_options *opts)
{
    struct error err = { 0 };
    struct plan *plan = loads_make (ps, opts, &err);
    struct outcome out = { 0 };

    if (plan)
        out = loads_outcome (ps, plan, opts->slot);
    else
        diag ("%s", err.text);
    plan_destroy (plan);
    return out;
}

static void set_rates (struct link_info *info, size_t nlinks, size_t n,
                       double host, double other)
{
    for (size_t l = 0; l < nlinks; l++)
        info[l].rate = GB * (l < n ? host : other);
}

static const struct tree_case {
    size_t p, q;
    enum tree_routing routing;
    double host, other; /* Gb/s */
    size_t job;         /* endpoints drawn, 0: all; or the first ones */
    bool first;
    bool hosts;
    double filled; /* share of the links, at least */
    size_t rounds; /* at most */
    size_t least;  /* flows of a port */
} trees[] = {
    { 8, 3, TREE_DMODK, 200, 200, 0, 0, 0, 1, 7, 2 },
    { 8, 3, TREE_MINHOP, 200, 200, 0, 0, 0, 1, 10, 2 },
    { 8, 3, TREE_MINHOP, 100, 200, 0, 0, 0, .97, 20, 2 },
    { 8, 3, TREE_DMODK, 0, 0, 0, 0, 0, 1, 7, 2 },
    { 8, 3, TREE_DMODK, 200, 200, 2, 1, 0, 1, 1, 1 },
    { 8, 3, TREE_DMODK, 200, 200, 2, 0, 0, 1, 1, 1 },
    { 8, 3, TREE_DMODK, 200, 200, 3, 1, 0, 1, 3, 2 },
    { 8, 3, TREE_DMODK, 200, 200, 3, 0, 0, 1, 3, 2 },
    { 8, 3, TREE_DMODK, 200, 200, 4, 1, 0, 1, 2, 2 },
    { 8, 3, TREE_DMODK, 200, 200, 6, 1, 0, 1, 7, 2 },
    { 8, 3, TREE_DMODK, 200, 200, 16, 1, 0, 1, 6, 2 },
    { 8, 3, TREE_MINHOP, 200, 200, 16, 1, 0, 1, 7, 2 },
    { 8, 3, TREE_MINHOP, 200, 200, 16, 0, 0, 1, 14, 2 },
    { 36, 2, TREE_DMODK, 200, 200, 150, 0, 0, 1, 24, 2 },
    { 36, 2, TREE_MINHOP, 200, 400, 150, 1, 0, .9, 16, 2 },
    { 24, 3, TREE_DMODK, 200, 200, 0, 0, 0, 1, 8, 2 },
    { 24, 3, TREE_MINHOP, 200, 200, 0, 0, 0, 1, 10, 2 },
    { 8, 3, TREE_DMODK, 200, 200, 0, 0, 1, 1, 2, 2 },
    { 12, 3, TREE_DMODK, 200, 200, 63, 1, 1, 1, 3, 2 },
    { 12, 3, TREE_MINHOP, 200, 200, 40, 0, 1, 1, 8, 1 },
};

static void test_trees (void)
{
    for (size_t i = 0; i < sizeof (trees) / sizeof (trees[0]); i++) {
        const struct tree_case *c = &trees[i];
        struct loads_options opts = { .hosts = c->hosts, .seed = 1 };
        struct treenet *t = treenet_create (c->p, c->q, c->routing, 1);
        uint32_t *who = table_alloc (t->n, sizeof (*who));
        struct pathset *ps;
        struct outcome out;

        set_rates (t->info, t->net.nlinks, t->n, c->host, c->other);
        for (size_t k = 0; k < t->n; k++)
            who[k] = k;
        ps = c->job && !c->first
                 ? treenet_random (t, c->job, 1)
                 : treenet_pathset (t, who, c->job ? c->job : t->n);
        out = make_loads (ps, &opts);
        ok (out.good && out.filled >= c->filled * out.links
                && out.rounds <= c->rounds && out.least >= c->least
                && out.hosts == pathset_size (ps)
                && out.host_filled == out.hosts,
            "%zu %sof %zu hosts, %g and %g Gb/s%s: %zu rounds fill %zu of %zu"
            " links, %zu flows of a host",
            pathset_size (ps), c->first ? "neighbours " : "", t->n, c->host,
            c->other, c->hosts ? ", hosts" : "", out.rounds, out.filled,
            out.links, out.least);
        pathset_destroy (ps);
        treenet_destroy (t);
        free (who);
    }
}

/* Any network, rates drawn for each link. */
static void test_irregular (void)
{
    static const double rates[] = { 100, 100, 200, 400 };
    size_t filled = 0, links = 0;
    int good = 0;

    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct tablenet *t = tablenet_irregular (6, 24, 4, seed);
        const struct loads_options opts = { .seed = seed };
        struct pathset *ps;
        struct outcome out;
        struct rng rng;

        rng_seed (&rng, seed);
        for (size_t l = 0; l < t->net.nlinks; l++)
            t->info[l].rate = GB * rates[rng_below (&rng, 4)];
        ps = tablenet_pathset (t, NULL, 0);
        out = make_loads (ps, &opts);
        good += out.good && out.least >= 2;
        filled += out.filled;
        links += out.links;
        pathset_destroy (ps);
        tablenet_destroy (t);
    }
    ok (good == 20 && filled >= links * 3 / 4,
        "%d of 20 networks of drawn rates: %zu of %zu links filled", good,
        filled, links);
}

/* Leaves of six: two hosts at 400 Gb/s, three at 200, one at 100, and one link in
 * four between switches at 100.
 */
static void test_mixed (void)
{
    static const double rates[] = { 400, 200, 200, 100, 200, 400 };
    struct treenet *t = treenet_create (12, 2, TREE_DMODK, 1);
    struct pathset *ps = treenet_pathset (t, NULL, 0);
    struct loads_options opts = { .seed = 1 };
    struct outcome out;

    for (size_t l = 0; l < t->net.nlinks; l++)
        t->info[l].rate = GB
                          * (l < t->n     ? rates[l % 6]
                             : l % 4 == 0 ? 100
                                          : 400);
    out = make_loads (ps, &opts);
    ok (out.good && out.least >= 2 && out.host_filled == out.hosts
            && out.filled * 10 >= out.links * 9,
        "mixed rates: %zu rounds fill %zu of %zu links, those of all hosts",
        out.rounds, out.filled, out.links);
    opts.hosts = true;
    out = make_loads (ps, &opts);
    ok (out.good && out.least >= 2 && out.host_filled == out.hosts
            && out.far == 0 && out.links == out.hosts,
        "... %zu rounds fill those of hosts, within their leaves", out.rounds);
    pathset_destroy (ps);
    treenet_destroy (t);
}

/* Five hosts at one leaf, one at another one. */
static void test_lone_host (void)
{
    static const uint32_t who[] = { 0, 1, 2, 3, 4, 30 };
    struct treenet *t = treenet_create (12, 2, TREE_DMODK, 1);
    struct pathset *ps = treenet_pathset (t, who, 6);
    struct loads_options opts = { .seed = 1 };
    struct outcome out = make_loads (ps, &opts);
    struct plan *plan;
    size_t links;

    ok (out.good && out.least >= 2 && out.filled == out.links
            && out.rounds <= 6,
        "a host alone at a leaf: %zu rounds, 2 flows each", out.rounds);
    opts.hosts = true;
    out = make_loads (ps, &opts);
    ok (out.good && out.least == 1 && out.far == 1 && out.rounds == 3
            && out.links == 6 && out.filled == 6,
        "... host links: one pair between leaves");
    opts.near = true;
    out = make_loads (ps, &opts);
    ok (out.good && out.least == 0 && out.far == 0 && out.links == 6
            && out.filled == 5, "... pairs of a leaf alone: it has none");
    opts.hosts = opts.near = false;
    opts.rounds_max = 3;
    plan = loads_make (ps, &opts, NULL);
    plan_targets (plan, &links);
    ok (!plan_maximal (plan) && plan_rounds (plan) == 3 && links == 6,
        "... at most three rounds: host links alone");
    plan_destroy (plan);
    opts.rounds_max = 6;
    plan = loads_make (ps, &opts, NULL);
    ok (plan_maximal (plan) && plan_rounds (plan) <= 6, "... six: all");
    plan_destroy (plan);
    pathset_destroy (ps);
    treenet_destroy (t);
}

static uint32_t two_per_card (const void *net, uint32_t endpoint)
{
    (void)net;
    return endpoint / 2;
}

static void test_cards (void)
{
    struct treenet *t = treenet_create (8, 2, TREE_DMODK, 1);
    struct pathset *ps = treenet_pathset (t, NULL, 0);
    struct loads_options opts = { .seed = 1 };
    uint32_t slot[32];
    struct outcome out;
    struct plan *plan;
    struct error err;

    for (size_t i = 0; i < 32; i++)
        slot[i] = 1000 * (i % 16);
    opts.slot = slot;
    out = make_loads (ps, &opts);
    ok (out.good && out.least >= 2 && out.filled == out.links,
        "two hosts to a slot: %zu rounds", out.rounds);
    opts.slot = NULL;
    t->net.card = two_per_card;
    out = make_loads (ps, &opts);
    ok (out.good && out.least >= 2 && out.filled == out.links,
        "two ports to a card, at one leaf: %zu rounds", out.rounds);

    plan = plan_create ("throughput");
    plan_set_rank (plan, out.links, 0, 0);
    plan_add (plan, 0, 0, 2);
    ok (flows_check (ps, plan, &err) == 0, "a pair");
    plan_add (plan, 0, 1, 4);
    ok (flows_check (ps, plan, &err) < 0 && strstr (err.text, "of a card"),
        "... and another one of its card: %s", err.text);
    plan_destroy (plan);
    pathset_destroy (ps);
    treenet_destroy (t);
}

static void test_subnets (void)
{
    struct tablenet *t = tablenet_subnets (2, 9);
    struct pathset *ps = tablenet_pathset (t, NULL, 0);
    const struct loads_options opts = { .seed = 1 };
    struct outcome out = make_loads (ps, &opts);

    ok (out.good && out.least >= 2 && out.filled == 9 && out.rounds <= 4,
        "two subnets, side by side: %zu rounds", out.rounds);
    pathset_destroy (ps);
    tablenet_destroy (t);
}

/* Two addresses for each port of a tree: endpoints i and i + n. */
static const struct treenet *lmc_net;

static uint32_t lmc_place (const void *net, uint32_t e)
{
    return treenet_place (net, e % lmc_net->n);
}

static uint32_t lmc_attach (const void *net, uint32_t e, uint32_t *arc)
{
    return treenet_attach (net, e % lmc_net->n, arc);
}

static uint32_t lmc_hop (const void *net, uint32_t place, uint32_t to,
                         uint32_t *arc)
{
    return treenet_hop (net, place, to % lmc_net->n, arc);
}

static int lmc_walk (const void *net, uint32_t from, uint32_t to,
                     uint32_t *arc, struct error *err)
{
    return treenet_walk (net, from % lmc_net->n, to % lmc_net->n, arc, err);
}

static void test_lmc (void)
{
    struct treenet *t = treenet_create (8, 2, TREE_DMODK, 1);
    struct network net = t->net;
    struct endpoint *e = table_alloc (2 * t->n, sizeof (*e));
    char (*name)[NAMED_BYTES] = table_alloc (2 * t->n, sizeof (*name));
    const struct loads_options opts = { .seed = 1 };
    struct outcome out;
    struct pathset *ps;

    lmc_net = t;
    net.place = lmc_place;
    net.attach = lmc_attach;
    net.hop = lmc_hop;
    net.walk = lmc_walk;
    for (size_t i = 0; i < 2 * t->n; i++) {
        snprintf (name[i], sizeof (name[i]), "%s~%zu", t->name[i % t->n],
                  i / t->n);
        e[i] = (struct endpoint){ i, name[i], t->name[i % t->n] };
    }
    ps = pathset_create (&net, e, 2 * t->n, NULL);
    out = make_loads (ps, &opts);
    ok (out.good && pathset_ports (ps) == t->n && out.least >= 2
            && out.filled == out.links,
        "two addresses for each port: %zu rounds", out.rounds);
    pathset_destroy (ps);
    treenet_destroy (t);
    free (e);
    free (name);
}

/* Up ports that lead nearer are all the same to its switches. */
static size_t spread_hops (const void *net, const struct traffic_class *as,
                           uint32_t place, uint32_t to, uint32_t *arc,
                           size_t most)
{
    const struct treenet *t = net;
    uint32_t l = place / t->each + 1, s = place % t->each;

    (void)as;
    if (place >= t->nswitches || l == t->q || most < t->k
        || s / t->power[l - 1] == to / t->power[l])
        return 0;
    for (uint32_t u = 0; u < t->k; u++)
        arc[u] = 2 * (l * t->n + s * t->k + u);
    return t->k;
}

/* Leaves of three hosts, one, and two, between which messages are spread. */
static void test_spread (void)
{
    static const uint32_t who[] = { 0, 1, 2, 5, 8, 9 };
    const struct traffic_class as = { 0, true };
    struct treenet *t = treenet_create (8, 2, TREE_DMODK, 1);
    struct loads_options opts = { .hosts = true, .seed = 1 };
    struct pathset *ps, *on;
    struct outcome out;
    struct multipath *m;

    set_rates (t->info, t->net.nlinks, t->n, 200, 200);
    t->net.hops = spread_hops;
    ps = treenet_pathset (t, who, 6);
    m = multipath_create ((const struct pathset *const *)&ps, 1, &as, NULL);
    on = m ? pathset_on (ps, &m->network, NULL) : NULL;
    if (!on)
        abort ();
    out = make_loads (on, &opts);
    ok (out.good && out.far == 1 && out.least == 1 && out.rounds == 3
            && out.links == 6 && out.filled == 6,
        "messages are spread: pairs of a leaf, and one of the lone host");
    opts.near = true;
    out = make_loads (on, &opts);
    ok (out.good && out.far == 0 && out.filled == 5 && out.rounds == 3,
        "... pairs of a leaf alone");
    pathset_destroy (on);
    pathset_destroy (ps);
    multipath_destroy (m);
    treenet_destroy (t);
}

/*
 * The second look
 */

struct look {
    struct treenet *t;
    struct pathset *ps;
    struct loads_options opts;
    struct plan *first;
    double *arc; /* [2 * nlinks] true rates */
};

static void look_open (struct look *s, enum tree_routing routing,
                       const uint32_t *who, size_t n, bool hosts)
{
    struct error err;

    *s = (struct look){ .t = treenet_create (8, 3, routing, 1) };
    set_rates (s->t->info, s->t->net.nlinks, s->t->n, 200, 200);
    s->ps = treenet_pathset (s->t, who, n);
    s->opts = (struct loads_options){ .hosts = hosts, .seed = 1 };
    if (!(s->first = loads_make (s->ps, &s->opts, &err)))
        abort ();
    s->arc = table_alloc (2 * s->t->net.nlinks, sizeof (*s->arc));
    for (size_t x = 0; x < 2 * s->t->net.nlinks; x++)
        s->arc[x] = 200 * GB;
}

static void look_close (struct look *s)
{
    plan_destroy (s->first);
    pathset_destroy (s->ps);
    treenet_destroy (s->t);
    free (s->arc);
}

/* Add what the flows of a plan carried. */
static struct bursts *run_bursts (const struct look *s,
                                  const struct plan *plan, struct bursts *b,
                                  double usual)
{
    size_t from = b->nflows;
    double (*rate)[2];

    for (size_t r = 0; r < plan_rounds (plan); r++) {
        size_t n;
        const struct probe *p = plan_round (plan, r, &n);

        for (size_t i = 0; i < n; i++)
            bursts_add_flow (b, &(struct burst_flow){ p[i].a, p[i].b, from + r,
                                                      { { 0 } } });
    }
    rate = table_alloc (b->nflows, sizeof (*rate));
    if (bursts_expected (b, s->ps, s->arc, rate, NULL) < 0)
        abort ();
    for (size_t i = from; i < b->nflows; i++)
        for (int k = 0; k < 2; k++)
            b->flow[i].way[k]
                = (struct burst_way){ .kept = 2, .best = usual * rate[i][k] };
    free (rate);
    return b;
}

/* How many new flows of a plan cross a link, and other slow ones of n beside. */
struct crossing {
    size_t flows, repeats, others;
};

static struct crossing crossed (const struct look *s, const struct plan *plan,
                                const uint32_t *slow, size_t n, size_t which)
{
    struct crossing c = { 0 };
    size_t flows;
    size_t new = plan_rounds (plan) - plan_confirm_rounds (plan);

    for (size_t r = 0; r < plan_rounds (plan); r++) {
        const struct probe *p = plan_round (plan, r, &flows);

        for (size_t i = 0; i < flows; i++) {
            bool own = false, other = false;
            struct row row;

            if (pathset_row (s->ps, p[i].a, p[i].b, &row, NULL) < 0)
                abort ();
            for (size_t k = 0; k < row.n; k++)
                for (size_t x = 0; x < n; x++) {
                    own |= row.link[k] == slow[x] && x == which;
                    other |= row.link[k] == slow[x] && x != which;
                }
            c.flows += own && r < new;
            c.repeats += own && r >= new;
            c.others += own && other && r < new;
        }
    }
    return c;
}

/* None of its new pairs is one of the first plan's. */
static bool pairs_are_new (const struct plan *first, const struct plan *plan)
{
    struct map done = { 0 };
    bool new = true;
    size_t n, last = plan_rounds (plan) - plan_confirm_rounds (plan);

    for (size_t r = 0; r < plan_rounds (first); r++) {
        const struct probe *p = plan_round (first, r, &n);

        for (size_t i = 0; i < n; i++)
            map_put (&done, pair_key (p[i].a, p[i].b), 1);
    }
    for (size_t r = 0; r < last; r++) {
        const struct probe *p = plan_round (plan, r, &n);

        for (size_t i = 0; i < n; i++)
            new = new && map_find (&done, pair_key (p[i].a, p[i].b))
                             == MAP_NONE;
    }
    map_clear (&done);
    return new;
}

static struct plan *look_again (const struct look *s, struct bursts *b)
{
    struct error err = { 0 };
    struct plan *plan = loads_again (s->ps, s->first, b, &s->opts, &err);

    if (!plan || (plan_rounds (plan) > 0
                  && flows_check (s->ps, plan, &err) < 0)) {
        diag ("%s", err.text);
        plan_destroy (plan);
        plan = NULL;
    }
    bursts_destroy (b);
    return plan;
}

static const struct again_case {
    const char *what;
    enum tree_routing routing;
    size_t n; /* hosts, the first ones; 0: all */
    bool hosts;
    uint32_t slow[3]; /* links, NONE: no more */
    int arc;          /* 0, 1: of this direction alone; 2: both */
    double usual;
    size_t rounds;    /* at most */
    size_t flows;     /* new ones of each slow link, at least */
} again[] = {
#define NONE UINT32_MAX
    { "all is good", TREE_DMODK, 0, 0, { NONE, NONE, NONE }, 2, 1, 0, 0 },
    { "all is at 87 %", TREE_DMODK, 0, 0, { NONE, NONE, NONE }, 2, .87, 0, 0 },
    { "a host of 16", TREE_DMODK, 16, 0, { 5, NONE, NONE }, 2, 1, 8, 2 },
    { "... what it receives", TREE_DMODK, 16, 0, { 5, NONE, NONE }, 1, 1, 8,
      2 },
    { "... host links alone", TREE_DMODK, 16, 1, { 5, NONE, NONE }, 2, 1, 4,
      1 },
    { "two hosts of a leaf", TREE_DMODK, 16, 0, { 5, 6, NONE }, 2, 1, 8, 1 },
    { "a host and two uplinks", TREE_MINHOP, 0, 0, { 5, 140, 300 }, 2, 1, 8,
      2 },
    { "one direction of an uplink", TREE_DMODK, 0, 0, { 140, NONE, NONE }, 0, 1,
      8, 2 },
    { "three hosts of all, 87 % is usual", TREE_DMODK, 0, 0, { 5, 77, 100 }, 2,
      .87, 8, 2 },
    { "one of a pair", TREE_DMODK, 2, 0, { 1, NONE, NONE }, 2, 1, 1, 0 },
    { "one of three", TREE_DMODK, 3, 0, { 1, NONE, NONE }, 2, 1, 3, 0 },
};

static void test_again (void)
{
    for (size_t i = 0; i < sizeof (again) / sizeof (again[0]); i++) {
        const struct again_case *c = &again[i];
        uint32_t who[128];
        struct plan *plan;
        struct look s;
        size_t n = 0;
        bool good;

        for (uint32_t k = 0; k < 128; k++)
            who[k] = k;
        look_open (&s, c->routing, who, c->n ? c->n : 128, c->hosts);
        for (; n < 3 && c->slow[n] != NONE; n++)
            for (int k = 0; k < 2; k++)
                if (c->arc == 2 || c->arc == k)
                    s.arc[2 * c->slow[n] + k] /= 2;
        plan = look_again (&s, run_bursts (&s, s.first, bursts_create (),
                                           c->usual));
        good = plan && plan_rounds (plan) <= c->rounds
               && pairs_are_new (s.first, plan)
               && (n > 0) == (plan_rounds (plan) > 0);
        for (size_t k = 0; plan && k < n; k++) {
            struct crossing x = crossed (&s, plan, c->slow, n, k);

            good = good && x.flows >= c->flows && x.others == 0
                   && x.flows + x.repeats > 0;
            diag ("link %u: %zu flows, %zu repeats", c->slow[k], x.flows,
                  x.repeats);
        }
        ok (good, "%s: %zu rounds, %zu flows", c->what,
            plan ? plan_rounds (plan) : 0, plan ? plan_probes (plan) : 0);
        plan_destroy (plan);
        look_close (&s);
    }
}

/* Links that a low flow crossed, in a direction that no good one crossed. */
static size_t count_suspects (const struct look *s, const struct bursts *b,
                              uint32_t slow, bool *found)
{
    size_t nlinks = s->t->net.nlinks, n = 0;
    double (*expected)[2] = table_alloc (b->nflows, sizeof (*expected));
    bool *seen[2] = { table_alloc (2 * nlinks, sizeof (bool)),
                      table_alloc (2 * nlinks, sizeof (bool)) };

    if (bursts_expected (b, s->ps, NULL, expected, NULL) < 0)
        abort ();
    for (size_t i = 0; i < b->nflows; i++)
        for (int k = 0; k < 2; k++) {
            const struct burst_flow *f = &b->flow[i];
            bool low = f->way[k].best < .95 * expected[i][k];
            uint32_t arc[PATH_MAX_HOPS];
            int hops = pathset_walk (s->ps, k ? f->b : f->a, k ? f->a : f->b,
                                     arc, NULL);

            for (int h = 0; h < hops; h++)
                seen[low][arc[h]] = true;
        }
    *found = false;
    for (size_t l = 0; l < nlinks; l++)
        if ((seen[1][2 * l] && !seen[0][2 * l])
            || (seen[1][2 * l + 1] && !seen[0][2 * l + 1])) {
            n++;
            *found |= l == slow;
        }
    free (expected);
    free (seen[0]);
    free (seen[1]);
    return n;
}

/* Each link in turn is slow: how many both looks resolve. */
static void test_resolved (void)
{
    static const struct {
        enum tree_routing routing;
        size_t n, links, alone; /* these resolved, at least */
    } rows[] = { { TREE_MINHOP, 128, 384, 384 },
                 { TREE_MINHOP, 16, 32, 25 },
                 /* a host's last links carry nothing but what it receives */
                 { TREE_DMODK, 16, 32, 16 } };
    uint32_t who[128];

    for (uint32_t k = 0; k < 128; k++)
        who[k] = k;
    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        size_t alone = 0, named = 0, m;
        const uint32_t *link;
        struct look s;

        look_open (&s, rows[i].routing, who, rows[i].n, false);
        link = pathset_links (s.ps, &m, NULL);
        for (size_t c = 0; c < m; c++) {
            double *arc = &s.arc[2 * link[c]];
            struct bursts *b;
            struct plan *plan;
            bool found;

            arc[0] = arc[1] = 100 * GB;
            b = bursts_create ();
            run_bursts (&s, s.first, b, 1);
            if (!(plan = loads_again (s.ps, s.first, b, &s.opts, NULL)))
                abort ();
            run_bursts (&s, plan, b, 1);
            alone += count_suspects (&s, b, link[c], &found) == 1 && found;
            named += found;
            arc[0] = arc[1] = 200 * GB;
            plan_destroy (plan);
            bursts_destroy (b);
        }
        ok (m == rows[i].links && named == m && alone >= rows[i].alone,
            "%zu links of %zu hosts, each slow in turn: %zu are suspect, %zu"
            " alone", m, rows[i].n, named, alone);
        look_close (&s);
    }
}

/* What is lost was not slow, and is looked at; what was never measured is not. */
static void test_lost (void)
{
    struct bursts *b;
    struct plan *plan;
    struct look s;

    look_open (&s, TREE_DMODK, (uint32_t[]){ 0, 1, 2, 3 }, 4, false);
    b = run_bursts (&s, s.first, bursts_create (), 1);
    b->flow[0].way[1].lost = 1;
    plan = look_again (&s, b);
    ok (plan && plan_rounds (plan) > 0, "a burst was lost: %zu rounds",
        plan ? plan_rounds (plan) : 0);
    plan_destroy (plan);
    b = run_bursts (&s, s.first, bursts_create (), 1);
    b->flow[0].way[1].kept = b->flow[0].way[0].kept = 0;
    b->flow[0].way[1].best = b->flow[0].way[0].best = 0;
    plan = look_again (&s, b);
    ok (plan && plan_rounds (plan) == 0, "a flow was not measured");
    plan_destroy (plan);
    look_close (&s);
}

int main (void)
{
    test_trees ();
    test_irregular ();
    test_mixed ();
    test_lone_host ();
    test_cards ();
    test_subnets ();
    test_lmc ();
    test_spread ();
    test_again ();
    test_resolved ();
    test_lost ();
    return done_testing ();
}
