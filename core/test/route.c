/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Detours go where forwarding tables send them; a table's entry that is wrong
 * is found from RTTs alone, and the switch named; a slow link that says the
 * same of the rows is one where no detour takes as much.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/judge/confirm.h"
#include "core/judge/cause.h"
#include "core/judge/judge.h"
#include "core/samples/simulate.h"
#include "core/test/treenet.h"
#include "tests/tap.h"

enum { PORTS = 8, LEVELS = 3, HOSTS = 16 };

#define SWITCH_NS 130.0
#define HOST_NS 420.0
#define LENGTH_NS 150.0
#define NOISE_NS 50.0

static void check (bool good, const struct error *err)
{
    if (!good) {
        diag ("%s", err->text);
        abort ();
    }
}

/*
 * Detours
 */

static uint32_t head (const struct network *net, uint32_t arc)
{
    return net->link[arc_link (arc)].end[!(arc % 2)];
}

/* Each step of a detour is where the last one led, and what the tables say. */
static bool is_sound (const struct network *net, uint32_t sw, uint32_t to,
                      const uint32_t *arc, int n)
{
    bool good = n > 1
                && net->link[arc_link (arc[0])].end[arc[0] % 2] == sw;

    for (int k = 1; k < n && good; k++) {
        uint32_t next;
        uint32_t at = head (net, arc[k - 1]);

        good = at != sw
               && net->hop (net->net, at, to, &next) != NETWORK_NONE
               && next == arc[k];
    }
    return good && head (net, arc[n - 1]) == NETWORK_NONE;
}

static void test_detours (enum tree_routing routing, const char *name)
{
    struct treenet *t = treenet_create (PORTS, LEVELS, routing, 1);
    const struct network *net = &t->net;
    struct pool *pool = pool_create ();
    struct detours d;
    size_t ways = 0;
    size_t sound = 0;
    size_t up = 0;
    size_t down = 0;

    detours_make (&d, pool, net);
    for (uint32_t from = 0; from < t->n; from += 17)
        for (uint32_t to = 5; to < t->n; to += 29) {
            uint32_t arc[PATH_MAX_HOPS];
            int n = net->walk (net->net, from, to, arc, NULL);

            for (int k = 1; k < n; k++) {
                uint32_t sw = net->link[arc_link (arc[k])].end[arc[k] % 2];
                uint32_t way[PATH_MAX_HOPS];

                *(k < n / 2 ? &up : &down) += detour_exists (&d, sw, to);
                for (size_t i = d.first[sw]; i < d.first[sw + 1]; i++) {
                    int hops = detour_walk (&d, d.arc[i], to, way);

                    ways += hops > 0;
                    sound += hops > 0 && d.arc[i] != arc[k]
                             && is_sound (net, sw, to, way, hops);
                }
            }
        }
    ok (ways > 0 && sound == ways, "%s: %zu detours, all arrive", name, ways);
    ok (up > 0 && (down == 0) == (routing == TREE_DMODK),
        "... from %zu switches on the way up, %zu down", up, down);
    pool_destroy (pool);
    treenet_destroy (t);
}

/*
 * A network with a wrong entry
 */

struct bent {
    struct network net;
    const struct network *right;
    uint32_t sw, to; /* of the wrong entry */
    uint32_t arc;    /* what it says */
};

static uint32_t bent_place (const void *net, uint32_t endpoint)
{
    const struct bent *b = net;

    return b->right->place (b->right->net, endpoint);
}

static uint32_t bent_attach (const void *net, uint32_t endpoint,
                             uint32_t *arc)
{
    const struct bent *b = net;

    return b->right->attach (b->right->net, endpoint, arc);
}

static uint32_t bent_hop (const void *net, uint32_t place, uint32_t to,
                          uint32_t *arc)
{
    const struct bent *b = net;

    if (place != b->sw || to != b->to)
        return b->right->hop (b->right->net, place, to, arc);
    *arc = b->arc;
    return head (b->right, b->arc);
}

static int bent_walk (const void *net, uint32_t from, uint32_t to,
                      uint32_t *arc, struct error *err)
{
    const struct bent *b = net;
    uint32_t end = bent_place (net, to);
    uint32_t at = bent_attach (net, from, arc);
    int n = *arc == NETWORK_NONE ? 0 : 1;

    (void)err;
    while (at != end && n < PATH_MAX_HOPS)
        at = bent_hop (b, at, to, &arc[n++]);
    return n;
}

struct trial {
    struct treenet *t;
    struct bent bent;
    struct pathset *ps, *actual;
    struct plan *plan;
    double *latency;
    double *arc_ns;
    struct rng rng;
};

static void trial_open (struct trial *t, uint64_t seed)
{
    struct plan_options opts = { .extra_rounds = 2, .seed = seed };
    struct error err;

    rng_seed (&t->rng, seed);
    t->t = treenet_create (PORTS, LEVELS, TREE_DMODK, 1);
    t->bent = (struct bent){ .net = t->t->net, .right = &t->t->net,
                             .sw = NETWORK_NONE };
    t->bent.net.net = &t->bent;
    t->bent.net.walk = bent_walk;
    t->bent.net.place = bent_place;
    t->bent.net.attach = bent_attach;
    t->bent.net.hop = bent_hop;
    t->ps = treenet_random (t->t, HOSTS, seed);
    t->actual = pathset_on (t->ps, &t->bent.net, &err);
    check (t->actual != NULL, &err);
    t->plan = plan_make (t->ps, &opts, &err);
    check (t->plan != NULL, &err);
    t->latency = treenet_alloc (t->t->net.nlinks, sizeof (double));
    t->arc_ns = treenet_alloc (2 * t->t->net.nlinks, sizeof (double));
    for (size_t l = 0; l < t->t->net.nlinks; l++)
        t->latency[l] = (t->t->net.link[l].kind == LINK_HOST ? HOST_NS
                                                             : SWITCH_NS)
                        + LENGTH_NS * rng_uniform (&t->rng);
}

static void trial_close (struct trial *t)
{
    plan_destroy (t->plan);
    pathset_destroy (t->ps);
    pathset_destroy (t->actual);
    treenet_destroy (t->t);
    free (t->latency);
    free (t->arc_ns);
}

static struct samples *measure (struct trial *t, struct pathset *ps,
                                const struct plan *plan, uint64_t seed)
{
    static double loopback_ns[HOSTS];
    struct simulate_options sim = {
        .loopback_ns = loopback_ns,
        .noise_ns = NOISE_NS,
        .repeats = 5,
        .seed = seed,
        .arc_ns = t->arc_ns,
    };
    struct samples *s;
    struct error err;

    for (size_t i = 0; i < HOSTS; i++) /* all alike, and no noise makes them 0 */
        loopback_ns[i] = 1000;
    s = simulate (ps, plan, t->latency, &sim, &err);

    check (s != NULL, &err);
    return s;
}

/* Both stages and their verdict. */
static struct verdict *run (struct trial *t, uint64_t seed,
                            void (*plant) (struct trial *t))
{
    struct confirm_options opts = confirm_defaults;
    struct samples *before = measure (t, t->ps, t->plan, 2 * seed);
    struct baseline *base = baseline_of (before, t->ps, NULL);
    struct samples *s;
    struct verdict *v;
    struct plan *plan;
    struct error err;

    plant (t);
    opts.seed = seed;
    s = measure (t, t->actual, t->plan, 2 * seed + 1);
    plan = confirm_plan (t->ps, t->plan, s, base, &opts, &err);
    check (plan != NULL, &err);
    samples_destroy (s);
    s = measure (t, t->actual, plan, 2 * seed + 1);
    v = judge (t->ps, plan, s, base, NULL, &err);
    check (v != NULL, &err);
    baseline_destroy (base);
    samples_destroy (s);
    samples_destroy (before);
    plan_destroy (plan);
    return v;
}

/* What a round trip of the plan takes more where the entry is wrong. */
static double change (struct trial *t, const struct probe *p)
{
    struct row is;
    struct row row;
    struct error err;
    double sum = 0;

    check (pathset_row (t->actual, p->a, p->b, &is, &err) == 0
               && pathset_row (t->ps, p->a, p->b, &row, &err) == 0, &err);
    for (size_t k = 0; k < is.n; k++)
        sum += is.count[k] * t->latency[is.link[k]];
    for (size_t k = 0; k < row.n; k++)
        sum -= row.count[k] * t->latency[row.link[k]];
    return sum;
}

/* A detour that changes some RTT by 240 ns, nine standard errors. */
static void plant_route (struct trial *t)
{
    const struct network *net = &t->t->net;
    struct pool *pool = pool_create ();
    struct detours d;

    detours_make (&d, pool, net);
    for (;;) {
        size_t n;
        const struct probe *p
            = plan_round (t->plan, rng_below (&t->rng,
                                              plan_rounds (t->plan)), &n);
        uint32_t way[PATH_MAX_HOPS];
        uint32_t arc[PATH_MAX_HOPS];
        size_t i;
        int hops;

        p += rng_below (&t->rng, n);
        t->bent.to = pathset_endpoint (t->ps, p->b)->id;
        t->bent.sw = NETWORK_NONE;
        hops = pathset_walk (t->ps, p->a, p->b, arc, NULL);
        if (hops < 4)
            continue;
        i = 1 + rng_below (&t->rng, hops / 2 - 1);
        t->bent.sw = net->link[arc_link (arc[i])].end[arc[i] % 2];
        i = d.first[t->bent.sw];
        i += rng_below (&t->rng, d.first[t->bent.sw + 1] - i);
        t->bent.arc = d.arc[i];
        if (detour_walk (&d, t->bent.arc, t->bent.to, way) > 0
            && fabs (change (t, p)) > 240)
            break;
        t->bent.sw = NETWORK_NONE;
    }
    pool_destroy (pool);
}

static void test_routes (void)
{
    const size_t many = trials (20);
    size_t named = 0;
    size_t failed = 0;

    for (uint64_t seed = 1; seed <= many; seed++) {
        struct trial t = { 0 };
        struct verdict *v;
        bool found = false;

        trial_open (&t, seed);
        v = run (&t, seed, plant_route);
        for (size_t i = 0; i < v->nfindings; i++) {
            const struct finding *f = &v->finding[i];

            failed += f->level == VERDICT_FAIL;
            for (size_t k = 0; k < f->nsw && f->nsw <= 3; k++)
                found |= f->kind == FINDING_ROUTE && f->sw[k] == t.bent.sw;
        }
        named += found;
        verdict_destroy (v);
        trial_close (&t);
    }
    ok (10 * named >= 9 * many && failed == 0,
        "a wrong route: its switch among three at most in %zu of %zu trials, "
        "%zu FAIL", named, many, failed);
}

/* How many endpoints messages over an arc are for; 0: one message only. */
static size_t destinations (const struct trial *t, uint32_t arc)
{
    size_t n = 0;
    size_t pairs = 0;

    for (size_t to = 0; to < HOSTS; to++) {
        size_t before = pairs;

        for (size_t from = 0; from < HOSTS; from++) {
            uint32_t path[PATH_MAX_HOPS];
            int hops = from == to ? 0 : pathset_walk (t->ps, from, to, path,
                                                      NULL);

            for (int k = 0; k < hops; k++)
                pairs += path[k] == arc;
        }
        n += pairs > before;
    }
    return pairs > 1 ? n : 0;
}

/* A link up that carries one endpoint's messages alone, by so much. */
static double slow_ns;

static void plant_link (struct trial *t)
{
    for (;;) {
        uint32_t arc[PATH_MAX_HOPS];
        uint32_t from = rng_below (&t->rng, HOSTS);
        uint32_t to = rng_below (&t->rng, HOSTS);

        if (from == to || pathset_walk (t->ps, from, to, arc, NULL) < 6
            || destinations (t, arc[2]) != 1)
            continue;
        t->arc_ns[arc[2]] = slow_ns;
        return;
    }
}

static void test_links (void)
{
    static const struct {
        double ns;
        enum finding_kind kind;
        enum verdict_status level;
    } table[] = {
        { 2000, FINDING_SWITCH_LINK, VERDICT_FAIL },
        { 200, FINDING_ROUTE, VERDICT_WARN },
    };

    for (size_t i = 0; i < sizeof (table) / sizeof (table[0]); i++) {
        struct trial t = { 0 };
        struct verdict *v;

        slow_ns = table[i].ns;
        trial_open (&t, 3);
        v = run (&t, 3, plant_link);
        ok (v->nfindings == 1 && v->finding->kind == table[i].kind
                && v->finding->level == table[i].level,
            "one way to one host %.0f ns slower: %s", slow_ns,
            v->nfindings ? finding_kind_name (v->finding->kind) : "nothing");
        verdict_destroy (v);
        trial_close (&t);
    }
}

int main (void)
{
    test_detours (TREE_DMODK, "d-mod-k");
    test_detours (TREE_MINHOP, "min-hop");
    test_routes ();
    test_links ();
    return done_testing ();
}
