/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What links carried: links of less rate are planted in networks whose flows
 * are max-min fair, and are to be named.
 */
#include "config.h"
#include "core/rate/carry.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "core/test/tablenet.h"
#include "core/test/treenet.h"
#include "core/rate/across.h"
#include "core/rate/flows.h"
#include "tests/tap.h"

static const double GIGA = 1e9;
#define MUCH .2

struct site {
    struct treenet *t;
    struct pathset *ps;
    struct plan *plan;
    double *link_rate, *rate;
    struct rng rng;
};

static void site_open (struct site *s, enum tree_routing routing,
                       double host, double other, size_t job)
{
    struct flows_options opts = { .times = 2, .seed = 1 };

    s->t = treenet_create (8, 3, routing, 1);
    for (size_t l = 0; l < s->t->net.nlinks; l++)
        s->t->info[l].rate = GIGA * (l < s->t->n ? host : other);
    s->ps = job ? treenet_random (s->t, job, 1)
                : treenet_pathset (s->t, NULL, 0);
    s->plan = flows_make (s->ps, &opts, NULL);
    s->link_rate = across_rates (s->ps);
    if (!s->plan || !s->link_rate)
        abort ();
    s->rate = calloc (plan_probes (s->plan) + 1, sizeof (*s->rate));
    if (!s->rate)
        abort ();
    rng_seed (&s->rng, 1);
}

static void site_close (struct site *s)
{
    free (s->rate);
    free (s->link_rate);
    plan_destroy (s->plan);
    pathset_destroy (s->ps);
    treenet_destroy (s->t);
}

/* Measure, with some noise, what `usual` leaves of it; and judge. */
static struct carry *measure (struct site *s, double usual)
{
    if (carry_simulate (s->ps, s->plan, s->link_rate, s->rate, NULL) < 0)
        abort ();
    for (size_t i = 0; i < plan_probes (s->plan); i++)
        s->rate[i] *= usual * (1 - .03 * rng_uniform (&s->rng));
    return carry_make (s->ps, s->plan, s->rate, MUCH, NULL);
}

static bool names (const struct carry_finding *f, uint32_t link)
{
    for (size_t i = 0; i < f->nlinks; i++)
        if (f->link[i] == link)
            return true;
    return false;
}

/* Do all findings name one of n links? */
static bool all_name (const struct carry *c, const uint32_t *link, size_t n)
{
    bool all = true;

    for (size_t i = 0; i < c->nfindings; i++) {
        bool one = false;

        for (size_t k = 0; k < n; k++)
            one = one || names (&c->finding[i], link[k]);
        all = all && one;
    }
    return all;
}

static const struct {
    const char *what;
    enum tree_routing routing;
    double host, other;
    size_t job;
    double usual;
    double alone, named; /* share of the links, at least */
} rows[] = {
    { "d-mod-k", TREE_DMODK, 200, 200, 0, 1, .99, 1 },
    { "min-hop", TREE_MINHOP, 200, 200, 0, 1, .95, 1 },
    { "min-hop, 60 % of the rate is usual", TREE_MINHOP, 200, 200, 0, .6, .95,
      1 },
    { "two hosts to a link", TREE_DMODK, 100, 200, 0, 1, .9, .99 },
    { "two hosts to a link, min-hop", TREE_MINHOP, 100, 200, 0, 1, .9, .99 },
    { "switch links slower than hosts", TREE_MINHOP, 400, 200, 0, 1, .9, .99 },
    { "32 hosts of 128", TREE_MINHOP, 200, 200, 32, 1, .5, 1 },
};

/* Each link in turn has a third of its rate. */
static void test_one (void)
{
    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        size_t n, alone = 0, named = 0, others = 0;
        const uint32_t *link;
        struct carry *c;
        struct site s;

        site_open (&s, rows[i].routing, rows[i].host, rows[i].other,
                   rows[i].job);
        link = pathset_links (s.ps, &n, NULL);
        c = measure (&s, rows[i].usual);
        ok (c && c->nfindings == 0 && c->slow == 0
                && fabs (c->usual - rows[i].usual) < .03,
            "%s: nothing is slow, %.2f is usual", rows[i].what, c->usual);
        carry_destroy (c);
        for (size_t k = 0; k < n; k++) {
            double is = s.link_rate[link[k]];

            s.link_rate[link[k]] /= 3;
            c = measure (&s, rows[i].usual);
            s.link_rate[link[k]] = is;
            if (c->nfindings > 0 && names (&c->finding[0], link[k])) {
                named++;
                alone += c->finding[0].nlinks == 1;
            }
            others += c->nfindings > 1;
            carry_destroy (c);
        }
        ok (named >= rows[i].named * n && alone >= rows[i].alone * n
                && others == 0,
            "... of %zu links, each slow in turn, %zu are named, %zu of them"
            " alone; %zu others", n, named, alone, others);
        site_close (&s);
    }
}

/* A host end and switch links at the same time, and flows that are lost. */
static void test_several (void)
{
    static const uint32_t slow[] = { 7, 130, 300 };
    bool found[3] = { false };
    struct carry *c;
    struct site s;

    site_open (&s, TREE_DMODK, 200, 200, 0);
    for (int i = 0; i < 3; i++)
        s.link_rate[slow[i]] /= 2;
    c = measure (&s, 1);
    for (size_t i = 0; i < c->nfindings; i++)
        for (int k = 0; k < 3; k++)
            found[k] = found[k] || (c->finding[i].nlinks == 1
                                    && names (&c->finding[i], slow[k]));
    ok (c->nfindings == 3 && found[0] && found[1] && found[2],
        "three slow links are three findings");
    ok (fabs (c->link[7].carried[0] - 100 * GIGA) < 3 * GIGA
            && fabs (c->link[7].offered[0] - 200 * GIGA) < 1
            && c->link[8].carried[0] > 190 * GIGA
            && c->link[8].rounds[0] > 1,
        "half the rate was carried, of what was offered");
    ok (c->through[0] > 380 * GIGA && c->through[0] <= 800 * GIGA,
        "%.0f Gb/s through a leaf of four hosts, four cables up",
        c->through[0] / GIGA);
    carry_destroy (c);

    for (size_t i = 0; i < plan_probes (s.plan); i++)
        s.rate[i] = i % 3 ? s.rate[i] : NAN;
    c = carry_make (s.ps, s.plan, s.rate, MUCH, NULL);
    ok (c && c->lost == (plan_probes (s.plan) + 2) / 3
            && c->lost + c->flows == plan_probes (s.plan)
            && c->nfindings > 0 && all_name (c, slow, 3),
        "a third of the flows is lost: the others name %zu of them",
        c->nfindings);
    carry_destroy (c);
    for (size_t i = 0; i < plan_probes (s.plan); i++)
        s.rate[i] = NAN;
    c = carry_make (s.ps, s.plan, s.rate, MUCH, NULL);
    ok (c && c->flows == 0 && isnan (c->usual) && c->nfindings == 0
            && c->link[7].carried[0] == 0 && c->through[0] == 0,
        "all of them: nothing is known");
    carry_destroy (c);
    site_close (&s);
}

/* Rates that nobody knows: what is usual counts. */
static void test_unknown (void)
{
    struct carry *c;
    struct site s;

    site_open (&s, TREE_DMODK, 0, 0, 0);
    for (size_t l = 0; l < s.t->net.nlinks; l++)
        s.link_rate[l] = 200 * GIGA;
    s.link_rate[130] = 80 * GIGA;
    c = measure (&s, 1);
    ok (c->nfindings == 1 && c->finding[0].nlinks == 1
            && c->finding[0].link[0] == 130
            && fabs (c->finding[0].share / c->usual - .4) < .02,
        "no nominal rates: slow beside the others");
    carry_destroy (c);
    site_close (&s);
}

/* A host receives little, and all of it by one cable: which of both it is, only what
 * the host sends can tell, if that is as little, and no cable before it is.
 */
static void test_ways (void)
{
    struct link_info info[] = {
        { .kind = LINK_HOST, .end = { NETWORK_NONE, NETWORK_NONE } },
        { .kind = LINK_SWITCH, .end = { NETWORK_NONE, NETWORK_NONE } },
        { .kind = LINK_SWITCH, .end = { NETWORK_NONE, NETWORK_NONE } },
    };
    static const struct {
        double sent;
        size_t crosses; /* cables */
        size_t suspects;
        bool doubtful;
        const char *says;
    } rows[] = {
        { 92, 1, 2, true, "that, or the one before it" },
        { 50, 1, 1, false, "it is the host's cable" },
        { 50, 2, 1, true, "the host's, unless others use both before it" },
    };
    const struct network net = { .link = info, .nlinks = 3 };
    size_t start[] = { 0, 2 };
    uint32_t received[] = { 3, 1 }, sent[] = { 0, 4 };
    const double bits[] = { 100, 100, 100, 100, 100, 100 };

    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        size_t sent_start[] = { 0, rows[i].crosses };
        struct csr round[] = {
            { .n = 1, .start = start, .v = received },
            { .n = 1, .start = start, .v = received },
            { .n = 1, .start = start, .v = received },
            { .n = 1, .start = sent_start, .v = sent },
        };
        const struct flows flows = { 4, round };
        const double rate[] = { 50, 50, 50, rows[i].sent };
        const struct carry_flows of
            = { &flows, rate, bits, bits, .floor = .93, .same = .05, .most = .75 };
        struct carry *c = carry_explain (&net, &of);

        ok (c->nfindings == 1 && c->finding[0].link[0] == 0
                && c->finding[0].nlinks == rows[i].suspects
                && c->finding[0].doubtful == rows[i].doubtful,
            "what a host sends is %g %%, over %zu cables: %s", rows[i].sent,
            rows[i].crosses, rows[i].says);
        carry_destroy (c);
    }
}

int main (void)
{
    test_ways ();
    test_one ();
    test_several ();
    test_unknown ();
    return done_testing ();
}
