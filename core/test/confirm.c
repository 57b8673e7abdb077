/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The confirm stage measures what looked slow, and tells its suspects apart. */
#include "config.h"
#include "core/judge/confirm.h"

#include <stdlib.h>

#include "core/samples/simulate.h"
#include "core/test/tablenet.h"
#include "tests/tap.h"

#define COUNT(v) (sizeof (v) / sizeof ((v)[0]))

enum { PORTS = 8, HALF = PORTS / 2, HOSTS = 128 };

static struct plan *first_stage (struct pathset *ps)
{
    struct plan_options opts = { .extra_rounds = 2, .seed = 1 };
    struct error err;
    struct plan *plan = plan_make (ps, &opts, &err);

    if (!plan)
        abort ();
    return plan;
}

/* How often the round trip crosses a suspect; -1: no matter, a row's. */
static int crossings (const struct pathset *ps, const struct probe *p,
                      const struct suspect *s)
{
    const struct link_info *link = pathset_network (ps)->link;
    uint32_t arc[2][PATH_MAX_HOPS];
    uint32_t end[2] = { p->a, p->b };
    struct error err;
    int sum = 0;

    if (s->kind == SUSPECT_ROW)
        return (p->a == s->index && p->b == s->to)
               || (p->b == s->index && p->a == s->to);
    for (int way = 0; way < 2; way++) {
        int n = pathset_walk (ps, end[way], end[!way], arc[way], &err);

        for (int k = 0; k < n; k++) {
            uint32_t a = arc[way][k];
            const uint32_t *sw = link[arc_link (a)].end;

            switch (s->kind) {
            case SUSPECT_LINK:
                sum += arc_link (a) == s->index;
                break;
            case SUSPECT_ARC:
                sum += a == s->index;
                break;
            case SUSPECT_SWITCH:
                sum += sw[0] == s->index || sw[1] == s->index;
                break;
            default:
                sum += end[!way] == s->to && sw[a % 2] == s->index;
            }
        }
    }
    return sum;
}

static bool in_first (const struct plan *plan, const struct probe *p)
{
    for (size_t r = 0; r < plan_rounds (plan) - plan_confirm_rounds (plan);
         r++) {
        size_t n;
        const struct probe *old = plan_round (plan, r, &n);

        for (size_t i = 0; i < n; i++)
            if ((old[i].a == p->a && old[i].b == p->b)
                || (old[i].a == p->b && old[i].b == p->a))
                return true;
    }
    return false;
}

struct stage {
    size_t probes;
    size_t rows[8];     /* that cross suspect i */
    size_t apart[8][8]; /* that cross one more often than the other */
    size_t known;       /* that cross any, and were in the first stage */
    size_t controls;    /* that cross none */
};

static struct stage look (const struct pathset *ps, const struct plan *plan,
                          const struct suspect *suspect, size_t nsuspects)
{
    struct stage stage = { 0 };

    for (size_t r = plan_rounds (plan) - plan_confirm_rounds (plan);
         r < plan_rounds (plan); r++) {
        size_t n;
        const struct probe *p = plan_round (plan, r, &n);

        for (size_t i = 0; i < n; i++) {
            int count[8];
            bool some = false;

            for (size_t k = 0; k < nsuspects; k++) {
                count[k] = crossings (ps, &p[i], &suspect[k]);
                some |= count[k] != 0;
                stage.rows[k] += count[k] != 0;
                for (size_t j = 0; j < k; j++)
                    stage.apart[k][j] += count[k] != count[j];
            }
            stage.probes++;
            stage.controls += !some;
            stage.known += some && in_first (plan, &p[i]);
        }
    }
    return stage;
}

/* A fat tree of two levels of switches whose links say which switches they
 * join: leaf s of hosts 4 s .. 4 s + 3, its up link u to switch 8 + u.
 */
static struct tablenet *two_levels (void)
{
    struct tablenet *t = tablenet_fattree (PORTS, 2, TABLE_DMODK, 1);

    for (uint32_t i = 0; i < t->n; i++) {
        t->info[i].end[1] = i / HALF;
        t->info[t->n + i].end[0] = i / HALF;
        t->info[t->n + i].end[1] = t->n / HALF + i % HALF;
    }
    t->net.nswitches = t->n / HALF + HALF;
    return t;
}

enum { UP = 32 }; /* of the 32 hosts' tree: its first up link */

static const struct {
    const char *what;
    size_t n;
    struct suspect suspect[3];
    size_t rows, apart; /* of each; of each two */
} table[] = {
    { "a host end", 1, { { SUSPECT_LINK, 5, 0 } }, 4, 0 },
    { "two host ends", 2,
      { { SUSPECT_LINK, 5, 0 }, { SUSPECT_LINK, 17, 0 } }, 4, 2 },
    { "a switch link", 1, { { SUSPECT_LINK, UP + 6, 0 } }, 4, 0 },
    { "a host end, its way up, and another's", 3,
      { { SUSPECT_LINK, 5, 0 }, { SUSPECT_LINK, UP + 5, 0 },
        { SUSPECT_LINK, UP + 29, 0 } }, 4, 2 },
    { "a switch link that sends slowly", 1,
      { { SUSPECT_ARC, 2 * (UP + 6), 0 } }, 4, 0 },
    { "a leaf, or one of its host ends", 2,
      { { SUSPECT_SWITCH, 2, 0 }, { SUSPECT_LINK, 9, 0 } }, 4, 2 },
    { "a switch at the top", 1, { { SUSPECT_SWITCH, 9, 0 } }, 4, 0 },
    { "the way of a leaf to a host", 1, { { SUSPECT_ROUTE, 3, 21 } }, 4, 0 },
    { "the way of a leaf or of the top to a host", 2,
      { { SUSPECT_ROUTE, 3, 21 }, { SUSPECT_ROUTE, 9, 21 } }, 2, 2 },
    { "a round trip", 1, { { SUSPECT_ROW, 3, 30 } }, 4, 0 },
};

static void test_kinds (void)
{
    struct tablenet *t = two_levels ();
    struct pathset *ps = tablenet_pathset (t, NULL, 0);
    struct plan *plan = first_stage (ps);

    for (size_t i = 0; i < COUNT (table); i++) {
        struct suspicion s = { 1000, 50, (struct suspect *)table[i].suspect,
                               table[i].n, false };
        struct suspicions list = { &s, 1 };
        struct plan *longer = plan_copy (plan);
        struct error err = { 0 };
        struct stage stage;
        bool all = true;

        if (!longer
            || confirm_suspects (longer, ps, &list, NULL, &confirm_defaults,
                                 &err)
                   < 0)
            abort ();
        stage = look (ps, longer, s.suspect, s.n);
        for (size_t k = 0; k < s.n; k++) {
            all &= stage.rows[k] >= table[i].rows;
            for (size_t j = 0; j < k; j++)
                all &= stage.apart[k][j] >= table[i].apart;
        }
        ok (all, "%s: %zu rows cross the first suspect", table[i].what,
            stage.rows[0]);
        ok (stage.probes - stage.controls <= 4 * s.n * s.n
                && stage.controls > 0 && plan_confirm_rounds (longer) <= 4,
            "... %zu probes and %zu to control, in %zu rounds",
            stage.probes - stage.controls, stage.controls,
            plan_confirm_rounds (longer));
        ok (s.suspect->kind == SUSPECT_ROW
                || 2 * stage.known <= stage.probes - stage.controls,
            "... with partners that are new, most of them");
        ok (plan_check (ps, longer, &err) == 0, "... in a sound plan%s%s",
            err.text[0] ? ": " : "", err.text);
        plan_destroy (longer);
    }
    plan_destroy (plan);
    pathset_destroy (ps);
    tablenet_destroy (t);
}

/* Many causes share the rounds. */
static void test_many (void)
{
    enum { CAUSES = 40 };
    struct tablenet *t = two_levels ();
    struct pathset *ps = tablenet_pathset (t, NULL, 0);
    struct plan *plan = first_stage (ps);
    struct suspect suspect[CAUSES];
    struct suspicion cause[CAUSES];
    struct suspicions list = { cause, CAUSES };
    struct error err = { 0 };
    int rc;

    for (uint32_t i = 0; i < CAUSES; i++) {
        suspect[i] = (struct suspect){ SUSPECT_LINK, i, 0 };
        cause[i] = (struct suspicion){ 1000 - i, 50, &suspect[i], 1, false };
    }
    rc = confirm_suspects (plan, ps, &list, NULL, &confirm_defaults, &err);
    ok (rc == 0 && plan_confirm_rounds (plan) == 4
            && plan_check (ps, plan, &err) == 0,
        "%d causes: a sound plan, %zu rounds%s", CAUSES,
        plan_confirm_rounds (plan), err.text);
    plan_destroy (plan);
    pathset_destroy (ps);
    tablenet_destroy (t);
}

/* Two hosts have no other partners. */
static void test_pair (void)
{
    struct tablenet *t = two_levels ();
    struct pathset *ps = tablenet_random (t, 2, 1);
    struct plan *plan = first_stage (ps);
    struct suspect suspect = { SUSPECT_LINK,
                               pathset_endpoint (ps, 0)->id, 0 };
    struct suspicion s = { 1000, 50, &suspect, 1, false };
    struct suspicions list = { &s, 1 };
    struct error err = { 0 };

    ok (confirm_suspects (plan, ps, &list, NULL, &confirm_defaults, &err) == 0
            && plan_confirm_rounds (plan) == 4
            && plan_check (ps, plan, &err) == 0,
        "two hosts: the same again%s", err.text);
    plan_destroy (plan);
    pathset_destroy (ps);
    tablenet_destroy (t);
}

/*
 * From samples
 */

struct job {
    struct pathset *ps;
    struct plan *plan;
    double latency[3 * HOSTS];
    struct samples *before;
};

static struct samples *measure (const struct job *job,
                                const struct plan *plan, uint64_t seed)
{
    struct simulate_options sim = { .noise_ns = 50, .repeats = 5,
                                    .seed = seed };
    struct error err;
    struct samples *s = simulate (job->ps, plan, job->latency, &sim, &err);

    if (!s)
        abort ();
    return s;
}

static struct plan *confirm (const struct job *job, const struct samples *s,
                             uint64_t seed)
{
    struct confirm_options opts = confirm_defaults;
    struct error err;
    struct baseline *base = baseline_of (job->before, job->ps, &err);
    struct plan *plan;

    opts.seed = seed;
    plan = confirm_plan (job->ps, job->plan, s, base, &opts, &err);
    baseline_destroy (base);
    if (!plan) {
        diag ("%s", err.text);
        abort ();
    }
    return plan;
}

static bool same_rounds (const struct plan *x, const struct plan *y)
{
    for (size_t r = 0; r < plan_rounds (x); r++) {
        size_t n;
        size_t m;
        const struct probe *p = plan_round (x, r, &n);
        const struct probe *q = plan_round (y, r, &m);

        if (n != m || memcmp (p, q, n * sizeof (*p)))
            return false;
    }
    return true;
}

/* Probes of the confirm stage with this endpoint. */
static size_t asked (const struct plan *plan, uint32_t end)
{
    size_t sum = 0;

    for (size_t r = plan_rounds (plan) - plan_confirm_rounds (plan);
         r < plan_rounds (plan); r++) {
        size_t n;
        const struct probe *p = plan_round (plan, r, &n);

        for (size_t i = 0; i < n; i++)
            sum += p[i].a == end || p[i].b == end;
    }
    return sum;
}

static void test_stages (const struct tablenet *t, size_t hosts)
{
    struct job job = { .ps = tablenet_random (t, hosts, hosts) };
    struct samples *s;
    struct plan *plan;
    struct plan *again;
    struct error err = { 0 };
    struct stage stage;
    struct suspect host = { SUSPECT_LINK, 0, 0 };

    job.plan = first_stage (job.ps);
    host.index = pathset_endpoint (job.ps, 3)->id;
    for (size_t l = 0; l < COUNT (job.latency); l++)
        job.latency[l] = 200 + l % 90;
    job.before = measure (&job, job.plan, 1);

    s = measure (&job, job.plan, 2);
    plan = confirm (&job, s, 1);
    ok (plan_confirm_rounds (plan) == 0
            && plan_rounds (plan) == plan_rounds (job.plan),
        "%zu hosts: nothing is suspicious, nothing to confirm", hosts);
    plan_destroy (plan);
    samples_destroy (s);

    job.latency[host.index] += 1000;
    s = measure (&job, job.plan, 2);
    plan = confirm (&job, s, 1);
    again = confirm (&job, s, 1);
    stage = look (job.ps, plan, &host, 1);
    ok (plan_confirm_rounds (plan) > 0 && same_rounds (job.plan, plan)
            && plan_check (job.ps, plan, &err) == 0,
        "a slow host end: %zu rounds behind those of the first stage%s",
        plan_confirm_rounds (plan), err.text);
    ok (stage.rows[0] >= 3 && stage.probes <= 16 + 8,
        "%zu rows cross it, of %zu", stage.rows[0], stage.probes);
    ok (plan_rounds (plan) == plan_rounds (again)
            && same_rounds (plan, again),
        "the same seed, the same stage");
    plan_destroy (again);
    plan_destroy (plan);

    /* who does not answer is not asked again */
    for (size_t i = 0; i < s->nsamples; i++)
        if (s->sample[i].a == 5 || s->sample[i].b == 5)
            s->sample[i].lost = s->sample[i].sent;
    plan = confirm (&job, s, 1);
    ok (plan_confirm_rounds (plan) > 0 && asked (plan, 5) == 0
            && asked (plan, 3) > 0,
        "... without a host that does not answer");
    plan_destroy (plan);
    samples_destroy (s);
    samples_destroy (job.before);
    plan_destroy (job.plan);
    pathset_destroy (job.ps);
}

int main (void)
{
    struct tablenet *t = tablenet_fattree (PORTS, 3, TABLE_MINHOP, 1);

    test_kinds ();
    test_many ();
    test_pair ();
    test_stages (t, 16);
    test_stages (t, HOSTS);
    tablenet_destroy (t);
    return done_testing ();
}
