/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is judged where switches spread messages over paths of several lengths:
 * on a dragonfly, and a tree that lacks some cables; and where only some spread.
 */
#include "config.h"
#include "core/paths/multipath.h"

#include <stdlib.h>
#include <string.h>

#include "core/judge/judge.h"
#include "core/plan/plan.h"
#include "core/samples/simulate.h"
#include "ibquery/model/generate.h"
#include "tests/tap.h"
#include "util/rng.h"

enum { JOB = 48, CABLES = 16 /* one in so many is tried */ };
#define SLOW_NS 1000

/* The samples of the job's plan, with a link slower by ns. */
static struct samples *measure_spread (const struct fabric *f,
                                       const struct pathset *ps,
                                       const struct plan *plan, uint32_t slow,
                                       double ns, uint64_t seed)
{
    static const struct traffic_class datagrams = { 0, false };
    const struct simulate_options sim = { .noise_ns = 20, .repeats = 16,
                                          .seed = seed, .spread = &datagrams };
    double *latency = malloc (f->nlinks * sizeof (*latency));
    struct samples *s;

    for (size_t l = 0; l < f->nlinks; l++)
        latency[l] = (f->link[l].kind == LINK_HOST ? 400 : 150 + l * 37 % 150)
                     + (l == slow ? ns : 0);
    s = simulate (ps, plan, latency, &sim, NULL);
    free (latency);
    return s;
}

static bool has_limit (const struct verdict *v, enum fact_kind kind)
{
    for (size_t i = 0; i < v->nlimits; i++)
        if (v->limit[i].kind == kind)
            return true;
    return false;
}

static size_t tried, found, wrong;

/* A cable that all messages of a pair cross is found, not the hosts behind it.
 */
static void test_cable (const struct fabric *f, struct pathset *ps,
                        const struct plan *plan, const struct baseline *base,
                        uint32_t slow, uint64_t seed)
{
    struct samples *now = measure_spread (f, ps, plan, slow, SLOW_NS, seed);
    struct verdict *v = judge (ps, plan, now, base, NULL, NULL);
    bool any = false;

    tried++;
    for (size_t i = 0; i < v->nfindings; i++) {
        const struct finding *of = &v->finding[i];
        bool is = false;

        for (size_t k = 0; k < of->nsuspects; k++)
            is |= of->suspect[k] == slow;
        any |= is;
        wrong += !is && of->kind == FINDING_HOST_END;
    }
    found += any;
    verdict_destroy (v);
    samples_destroy (now);
}

/* Places hold cables of their own: flows differ in length, which is no slow
 * cable, and no slow host end without a baseline.
 */
static void test_uneven (struct fabric *f, uint64_t seed, bool whole)
{
    struct plan_options opts = { .extra_rounds = 2, .seed = seed };
    const char *host[JOB];
    struct baseline *base;
    struct samples *before, *now, *again;
    struct pathset *ps;
    struct verdict *v;
    struct plan *plan;
    struct rng rng;
    uint32_t slow;

    for (size_t i = 0; i < JOB; i++)
        host[i] = f->host[i].name;
    slow = f->port[f->endpoint[f->host[JOB / 2].first].port].link;
    ps = fabric_pathset (f, host, JOB, NULL);
    rng_seed (&rng, seed);
    tried = found = wrong = 0;
    plan = plan_make (ps, &opts, NULL);
    before = measure_spread (f, ps, plan, slow, 0, seed);
    v = judge (ps, plan, before, NULL, NULL, NULL);
    ok (v->nfindings == 0 && has_limit (v, FACT_UNEVEN_PAIRS)
            && has_limit (v, FACT_FLOWS_ENOUGH) != whole,
        "%s: paths of several lengths are no finding", f->source);
    verdict_destroy (v);
    now = measure_spread (f, ps, plan, slow, SLOW_NS, seed + 1);
    v = judge (ps, plan, now, NULL, NULL, NULL);
    ok (v->nfindings == 0 && has_limit (v, FACT_UNEVEN),
        "... nor is a slow host end, without a baseline");
    verdict_destroy (v);
    base = baseline_of (before, ps, NULL);
    v = judge (ps, plan, now, base, NULL, NULL);
    ok (v->nfindings == 1 && v->finding[0].level != VERDICT_UNKNOWN
            && v->finding[0].nsuspects == 1 && v->finding[0].suspect[0] == slow,
        "... with one, it is the only finding");
    verdict_destroy (v);
    for (uint32_t l = 0; l < f->nlinks; l++)
        if (f->link[l].kind == LINK_SWITCH && rng_below (&rng, CABLES) == 0)
            test_cable (f, ps, plan, base, l, seed + l);
    ok (wrong == 0 && found > 0,
        "... and %zu of %zu slow cables between switches are found, none as a "
        "host end", found, tried);
    again = measure_spread (f, ps, plan, slow, 0, seed + 2);
    v = judge (ps, plan, again, base, NULL, NULL);
    ok (v->status == VERDICT_OK, "... and a healthy run is OK");
    verdict_destroy (v);
    baseline_destroy (base);
    samples_destroy (before);
    samples_destroy (now);
    samples_destroy (again);
    plan_destroy (plan);
    pathset_destroy (ps);
    fabric_destroy (f);
}

/* Where only some switches spread, others' messages keep to one of the cables
 * that these choose from. That cables differ in length is no finding.
 */
static void test_half (struct fabric *f, uint64_t seed)
{
    struct plan_options opts = { .extra_rounds = 6, .seed = seed };
    const char *host[JOB / 2];
    struct samples *before, *now;
    struct baseline *base;
    struct pathset *ps;
    struct verdict *v;
    struct plan *plan;

    for (size_t i = 0; i < f->nnodes; i += 2)
        f->node[i].spread.hashed = 0;
    for (size_t i = 0; i < JOB / 2; i++)
        host[i] = f->host[i * 5].name;
    ps = fabric_pathset (f, host, JOB / 2, NULL);
    plan = plan_make (ps, &opts, NULL);
    before = measure_spread (f, ps, plan, NETWORK_NONE, 0, seed);
    now = measure_spread (f, ps, plan, NETWORK_NONE, 0, seed + 1);
    v = judge (ps, plan, now, NULL, NULL, NULL);
    ok (v->nfindings == 0, "%s, half of it spreads: no finding", f->source);
    verdict_destroy (v);
    base = baseline_of (before, ps, NULL);
    v = judge (ps, plan, now, base, NULL, NULL);
    ok (v->status == VERDICT_OK, "... and OK with a baseline");
    verdict_destroy (v);
    baseline_destroy (base);
    samples_destroy (before);
    samples_destroy (now);
    plan_destroy (plan);
    pathset_destroy (ps);
    fabric_destroy (f);
}

int main (void)
{
    struct choice how = { .spread = { .known = true, .hashed = 1 } };
    struct dragonfly fly = { .hosts = 2, .routers = 4, .globals = 2,
                             .how = how };
    struct fat_tree tree = { .ports = 8, .levels = 3, .how = how };

    tree.how.prune = 15;
    tree.how.seed = 3;
    for (uint64_t seed = 1; seed <= trials (2); seed++) {
        test_uneven (generate_dragonfly (&fly, NULL), seed, true);
        test_uneven (generate_fat_tree (&tree, NULL), seed, false);
    }
    tree.how.prune = 0;
    for (uint64_t seed = 1; seed <= trials (4); seed++)
        test_half (generate_fat_tree (&tree, NULL), seed);
    return done_testing ();
}
