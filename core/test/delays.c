/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A link that delays some of its messages is named, by their share; others'
 * traffic, a host that sleeps and a clock that steps are not.
 *
 *     delays.t [TRIALS]
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "core/judge/confirm.h"
#include "core/judge/judge.h"
#include "core/samples/simulate.h"
#include "core/test/tablenet.h"
#include "tests/tap.h"
#include "util/rng.h"

enum { HOSTS = 16, REPEATS = 20 };

/* What happens at one link, or at one host. */
enum what { NOTHING, RETRANSMITS, RARELY, ALTERNATES, TRAFFIC, HELD, HELD_OLD };

/* Some hosts are older. */
enum { OLD_CLASS = 9, OLD_EACH = 3 };

struct delays {
    enum what what;
    uint32_t link;
    size_t trips;
    const struct network *net;
};

static double held_share (const struct delays *d, uint32_t link)
{
    if (d->what == HELD_OLD)
        return d->net->link[link].class_id != OLD_CLASS ? 0
               : link == d->link                        ? .11
                                                        : .05;
    return d->what != HELD ? 0 : link == d->link ? .07 : .025;
}

static double delay (void *arg, const struct simulated *trip, struct rng *rng)
{
    struct delays *d = arg;
    double ns = 0;

    d->trips++;
    for (int i = 0; i < trip->there && d->what >= HELD; i++)
        if ((i == 0 || i == trip->there - 1)
            && rng_uniform (rng) < held_share (d, arc_link (trip->arc[i])))
            ns += 5e3 + 45e3 * rng_uniform (rng);
    for (int i = 0; i < trip->narcs; i++)
        if (arc_link (trip->arc[i]) != d->link)
            continue;
        else if (d->what == RETRANSMITS && rng_uniform (rng) < .3)
            ns += 1e3 + 9e3 * rng_uniform (rng);
        else if (d->what == RARELY && rng_uniform (rng) < .03)
            ns += 2e3 + 18e3 * rng_uniform (rng);
        else if (d->what == ALTERNATES && d->trips % 2)
            ns += 1000;
        else if (d->what == TRAFFIC && rng_uniform (rng) < .75)
            ns += 1500 * rng_exponential (rng);
    return ns;
}

static struct samples *measure (struct pathset *ps, const struct plan *plan,
                                struct delays *d, const char *day, bool many,
                                uint64_t seed)
{
    static double latency[4096], loopback[HOSTS];
    const struct network *net = pathset_network (ps);
    struct noise *noise
        = noise_create (noise_find (day), net, pathset_size (ps), seed);
    const struct simulate_options sim = {
        .repeats = REPEATS,
        .seed = seed,
        .noise = noise,
        .loopback_ns = loopback,
        .more = delay,
        .more_arg = d,
        .again = many ? plan_rounds (plan) - plan_confirm_rounds (plan) : 0,
        .flows = 1,
        .messages = SAMPLE_REPEATS_AGAIN,
    };
    struct samples *s;
    struct error err;

    for (size_t l = 0; l < net->nlinks; l++)
        latency[l] = net->link[l].kind == LINK_HOST ? 420 : 130;
    for (size_t i = 0; i < HOSTS; i++)
        loopback[i] = 900;
    s = simulate (ps, plan, latency, &sim, &err);
    noise_destroy (noise);
    return s;
}

/* A link of the job that at least four rows cross: an older host's, any host's, or
 * another.
 */
static uint32_t choose (struct pathset *ps, const struct plan *plan,
                        enum link_kind kind, bool old, struct rng *rng)
{
    const struct network *net = pathset_network (ps);
    size_t *rows = table_alloc (net->nlinks, sizeof (*rows));
    uint32_t link;

    for (size_t r = 0; r < plan_rounds (plan); r++) {
        size_t n;
        const struct probe *p = plan_round (plan, r, &n);

        for (size_t i = 0; i < n; i++) {
            struct row row;
            struct error err;

            if (pathset_row (ps, p[i].a, p[i].b, &row, &err) == 0)
                for (size_t k = 0; k < row.n; k++)
                    rows[row.link[k]]++;
        }
    }
    do
        link = rng_below (rng, net->nlinks);
    while (net->link[link].kind != kind || rows[link] < 4
           || (old && net->link[link].class_id != OLD_CLASS));
    free (rows);
    return link;
}

struct rates {
    unsigned int named, others;
};

static struct rates try (enum what what, enum link_kind kind, const char *day,
                         unsigned int trials)
{
    struct tablenet *net = tablenet_fattree (8, 3, TABLE_DMODK, 1);
    struct rates r = { 0 };

    for (size_t l = 0; l < net->n && what == HELD_OLD; l += OLD_EACH)
        net->info[l].class_id = OLD_CLASS;
    for (unsigned int seed = 1; seed <= trials; seed++) {
        const struct plan_options opts = { .extra_rounds = 2, .seed = seed };
        struct pathset *ps = tablenet_random (net, HOSTS, seed);
        struct delays d = { .what = NOTHING, .net = &net->net };
        struct confirm_options confirm = confirm_defaults;
        struct error err;
        struct plan *first = plan_make (ps, &opts, &err), *plan;
        struct samples *before = measure (ps, first, &d, "calm", false, seed);
        struct baseline *base = baseline_of (before, ps, &err);
        struct samples *s;
        struct verdict *v;
        struct rng rng;
        bool many = false;

        rng_seed (&rng, seed);
        d.link = choose (ps, first, kind, what == HELD_OLD, &rng);
        d.what = what;
        confirm.delays = &many;
        s = measure (ps, first, &d, day, false, seed + 1000);
        plan = confirm_plan (ps, first, s, base, &confirm, &err);
        samples_destroy (s);
        s = measure (ps, plan, &d, day, many, seed + 1000);
        v = judge (ps, plan, s, base, NULL, &err);
        for (size_t i = 0; i < v->nfindings; i++) {
            const struct finding *f = &v->finding[i];
            bool named = false;

            for (size_t k = 0; k < f->nsuspects; k++)
                named |= f->suspect[k] == d.link;
            named &= f->basis == BASIS_SLOW && f->level == VERDICT_WARN
                     && f->nfacts == 1 && f->fact->kind == FACT_DELAYED;
            r.named += named;
            r.others += !named;
        }
        verdict_destroy (v);
        samples_destroy (s);
        samples_destroy (before);
        baseline_destroy (base);
        plan_destroy (plan);
        plan_destroy (first);
        pathset_destroy (ps);
    }
    tablenet_destroy (net);
    return r;
}

int main (int argc, char **argv)
{
    static const struct {
        const char *what;
        enum what kind;
        enum link_kind link;
        const char *day;
        double least; /* share of the trials in which it is named */
    } tab[] = {
        { "a host's cable delays 30 %", RETRANSMITS, LINK_HOST, "site", .9 },
        { "another's does", RETRANSMITS, LINK_SWITCH, "site", .5 },
        { "3 %, on a calm day", RARELY, LINK_HOST, "calm", .8 },
        { "every other message", ALTERNATES, LINK_HOST, "calm", .9 },
        { "... on a site's day", ALTERNATES, LINK_HOST, "site", .75 },
        { "others' traffic, a mean of 1.5 us", TRAFFIC, LINK_SWITCH, "calm",
          0 },
        { "all processors hold some, one more", HELD, LINK_HOST, "calm", 0 },
        { "those of older hosts do, one more", HELD_OLD, LINK_HOST, "calm", 0 },
        { "hosts that sleep", NOTHING, LINK_HOST, "cstate10", 0 },
        { "clocks that step", NOTHING, LINK_HOST, "steps", 0 },
        { "a usual day", NOTHING, LINK_HOST, "site", 0 },
    };
    unsigned int trials = argc > 1 ? (unsigned int)atoi (argv[1]) : 12;

    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++) {
        struct rates r = try (tab[i].kind, tab[i].link, tab[i].day, trials);

        ok (tab[i].least > 0 ? r.named >= tab[i].least * trials
                             : r.named + r.others <= trials / 12,
            "%s: named in %u of %u, %u others", tab[i].what, r.named, trials,
            r.others);
    }
    return done_testing ();
}
