/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Without a baseline, cables of many lengths, which LinkRoundTripLatency shows
 * in units of 8 ns and with an error of one: one that is 300 ns slower is found
 * where it is known, and no other is; nor where it tells nothing of lengths.
 *
 * Of 40 such cables among 32 hosts 29 are found, and none without LRTL; with
 * noise of 100 ns 6 of 20; of 16 hosts hardly any link is determined. Nothing
 * healthy was found in 180 trials of each kind, of other lengths, too.
 *
 *     lrtl.t [TRIALS [HOSTS [NS OF THE LONGEST [NS OF THE SLOW [NOISE]]]]]
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/judge/confirm.h"
#include "core/judge/judge.h"
#include "core/samples/simulate.h"
#include "core/test/tablenet.h"
#include "tests/tap.h"
#include "util/rng.h"

enum { UNIT = 8, REPEATS = 5 };

/* What LRTL tells. */
enum lrtl { NOTHING, LENGTHS, OTHERS, ONE_MISSING, ONE_WRONG, KINDS };

static const char *const names[KINDS] = {
    "not known", "lengths", "nothing of lengths", "lengths, but of one cable",
    "lengths, but wrong of one cable",
};

struct rates {
    unsigned int alarms, found, others; /* healthy; with a slow cable */
    unsigned int used; /* healthy: the verdict says that LRTL was used */
};

static struct trial {
    unsigned int trials, hosts;
    double longest_ns, slow_ns, noise_ns;
} trial = { .hosts = 32, .longest_ns = 400, .slow_ns = 300, .noise_ns = 30 };

static void set_lengths (struct tablenet *net, const struct pathset *ps,
                         double *latency, enum lrtl kind, struct rng *rng)
{
    uint32_t arc[PATH_MAX_HOPS];
    struct error err;

    for (size_t l = 0; l < net->net.nlinks; l++) {
        struct link_info *info = &net->info[l];
        double ns = trial.longest_ns * rng_uniform (rng);
        double off = 2 * rng_uniform (rng) - 1;

        latency[l] = (info->kind == LINK_HOST ? 420 : 130) + ns
                     + 40 * rng_uniform (rng);
        info->lrtl = kind == NOTHING ? 0
                     : kind == OTHERS
                         ? 50 + rng_below (rng, 99)
                         : rint ((400 + 2 * ns) / UNIT + off);
    }
    pathset_walk (ps, 0, 1, arc, &err);
    if (kind == ONE_MISSING)
        net->info[arc_link (arc[0])].lrtl = 0;
    if (kind == ONE_WRONG)
        net->info[arc_link (arc[0])].lrtl = 16e6;
}

static struct samples *measure (struct pathset *ps, const struct plan *plan,
                                const double *latency, uint64_t seed)
{
    const struct simulate_options sim = {
        .noise_ns = trial.noise_ns,
        .outlier_share = 0.01,
        .outlier_ns = 3000,
        .repeats = REPEATS,
        .seed = seed,
    };
    struct error err;

    return simulate (ps, plan, latency, &sim, &err);
}

static struct verdict *check (struct pathset *ps, const double *latency,
                              uint64_t seed)
{
    const struct plan_options opts = { .extra_rounds = 2, .seed = seed };
    struct error err;
    struct plan *first = plan_make (ps, &opts, &err), *plan;
    struct samples *s = measure (ps, first, latency, seed);
    struct verdict *v;

    plan = confirm_plan (ps, first, s, NULL, &confirm_defaults, &err);
    samples_destroy (s);
    s = measure (ps, plan, latency, seed);
    v = judge (ps, plan, s, NULL, NULL, &err);
    if (!v)
        diag ("%s", err.text);
    samples_destroy (s);
    plan_destroy (first);
    plan_destroy (plan);
    return v;
}

static struct rates try (enum lrtl kind)
{
    struct tablenet *net = tablenet_fattree (8, 3, TABLE_DMODK, 1);
    double *latency = table_alloc (net->net.nlinks, sizeof (*latency));
    struct rates r = { 0 };

    for (unsigned int seed = 2; seed < 2 + trial.trials; seed++) {
        struct pathset *ps = tablenet_random (net, trial.hosts, seed);
        struct verdict *v;
        struct error err;
        struct rng rng;
        const uint32_t *link;
        uint32_t slow;
        size_t m;

        rng_seed (&rng, seed);
        set_lengths (net, ps, latency, kind, &rng);
        v = check (ps, latency, 2 * seed);
        r.alarms += v->nfindings > 0;
        for (size_t i = 0; i < v->nlimits; i++)
            r.used += v->limit[i].kind == FACT_NO_BASELINE_LRTL;
        verdict_destroy (v);
        link = pathset_links (ps, &m, &err);
        slow = link[rng_below (&rng, m)];
        latency[slow] += trial.slow_ns;
        v = check (ps, latency, 2 * seed + 1);
        for (size_t i = 0; i < v->nfindings; i++) {
            const struct finding *f = &v->finding[i];
            bool named = false;

            for (size_t k = 0; k < f->nsuspects; k++)
                named |= f->suspect[k] == slow;
            r.found += named;
            r.others += !named;
        }
        verdict_destroy (v);
        pathset_destroy (ps);
    }
    free (latency);
    tablenet_destroy (net);
    return r;
}

int main (int argc, char **argv)
{
    struct rates r[KINDS];

    trial.trials = trials (12) < 12 ? 1 : SANITIZED ? 3 : 12;
    if (argc > 1)
        trial.trials = strtoul (argv[1], NULL, 10);
    if (argc > 2)
        trial.hosts = strtoul (argv[2], NULL, 10);
    if (argc > 3)
        trial.longest_ns = strtod (argv[3], NULL);
    if (argc > 4)
        trial.slow_ns = strtod (argv[4], NULL);
    if (argc > 5)
        trial.noise_ns = strtod (argv[5], NULL);
    for (int k = 0; k < KINDS; k++) {
        r[k] = try (k);
        diag ("LRTL: %s: found %u of %u, others %u, healthy alarms %u, used %u",
              names[k], r[k].found, trial.trials, r[k].others, r[k].alarms,
              r[k].used);
    }
    for (int k = 0; k < KINDS; k++)
        ok (r[k].alarms + r[k].others == 0, "%s: nothing healthy is found",
            names[k]);
    ok (r[NOTHING].used + r[OTHERS].used == 0,
        "what tells nothing of lengths is not used");
    ok (r[LENGTHS].used == trial.trials && r[ONE_MISSING].used > 0
            && r[ONE_WRONG].used > 0,
        "what tells lengths is, for the classes of which all is known");
    ok (2 * r[LENGTHS].found > trial.trials
            && 4 * r[NOTHING].found < trial.trials,
        "a slow cable among long ones is found by it");
    return done_testing ();
}
