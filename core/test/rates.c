/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a verdict says of rates: faults are planted in the rates of a fat tree of 200
 * Gb/s, whose hosts send bursts.
 */
#include "config.h"
#include "core/judge/rates.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "core/rate/flows.h"
#include "core/test/scene.h"
#include "tests/tap.h"

enum { OTHERS_MAX = 8 };

static void scene_open (struct scene *s, size_t job)
{
    struct flows_options opts = { .times = 2, .seed = 1 };

    scene_create (s, 2, TREE_DMODK, job, 198.7 * GB,
                  (struct traffic_host){ 194 * GB, 194 * GB, 197 * GB }, 3);
    s->plan = flows_make (s->ps, &opts, NULL);
    for (uint32_t i = 0; i < s->n; i++)
        s->port[i] = (struct burst_port){
            .end = i,
            .bits = 200 * GB,
            .mtu = 4096,
            .able = { 16, 16000 },
            .now = { 16, 16000 },
            .could = { 16, 16000 },
        };
}

static struct bursts *scene_bursts (struct scene *s)
{
    struct bursts *b = bursts_create ();

    if (traffic_measure (&s->traffic, s->ps, s->plan, 0, b, &s->rng, NULL) < 0)
        abort ();
    traffic_loopbacks (&s->traffic, s->ps, 1000, b, &s->rng);
    for (size_t i = 0; i < s->n; i++)
        bursts_add_port (b, &s->port[i]);
    return b;
}

static void scene_baseline (struct scene *s)
{
    struct samples *before = samples_create ();
    struct error err;

    before->bursts = scene_bursts (s);
    s->base = baseline_of (before, s->ps, &err);
    if (!s->base)
        abort ();
    samples_destroy (before);
}

static struct verdict *scene_judge (struct scene *s, struct bursts *b)
{
    struct verdict *v = verdict_create ();

    if (judge_rates (v, s->ps, b, s->base, &judge_defaults, NULL) < 0)
        abort ();
    bursts_destroy (b);
    return v;
}

static const struct fact *fact_of (const struct finding *f, enum fact_kind kind)
{
    for (size_t i = 0; i < f->nfacts; i++)
        if (f->fact[i].kind == kind)
            return &f->fact[i];
    return NULL;
}

static const struct fact *limit_of (const struct verdict *v,
                                    enum fact_kind kind)
{
    for (size_t i = 0; i < v->nlimits; i++)
        if (v->limit[i].kind == kind)
            return &v->limit[i];
    return NULL;
}

static const struct finding *only_finding (const struct verdict *v)
{
    return v->nfindings == 1 ? &v->finding[0] : NULL;
}

/* The first: PCIe at half its lanes, with what tells it from a cable. */
static void test_pcie (void)
{
    struct scene s;
    struct verdict *v;
    const struct finding *f;

    scene_open (&s, 16);
    s.host[3] = (struct traffic_host){ 98 * GB, 98 * GB, 98 * GB };
    s.port[3].now.lanes = 8;
    v = scene_judge (&s, scene_bursts (&s));
    f = only_finding (v);
    ok (f && f->level == VERDICT_FAIL && f->basis == BASIS_RATE
            && f->kind == FINDING_HOST_END && f->nsuspects == 1
            && f->suspect[0] == pathset_end_link (s.ps, 3) && f->nnodes == 1
            && !strcmp (f->node[0], pathset_endpoint (s.ps, 3)->host),
        "PCIe at half its lanes is a FAIL of the host, without a baseline");
    ok (f && fabs (f->rate_bits - 98 * GB) < 3 * GB
            && fabs (f->rate_expected_bits - 194 * GB) < 6 * GB
            && f->loopback == LOOPBACK_SLOW && fact_of (f, FACT_RATE)
            && fact_of (f, FACT_RATE_PCIE)
            && fact_of (f, FACT_RATE_PCIE)->n[0] == 8
            && fact_of (f, FACT_RATE_PCIE)->n[2] == 16
            && fact_of (f, FACT_RATE_LOOPBACK),
        "... with its rate, PCIe and loopback");
    verdict_destroy (v);
    scene_close (&s);
}

/* A port that came up at one lane of four: its host need not be asked what it did
 * before.
 */
static void test_port (void)
{
    const struct finding *f;
    const struct fact *port;
    struct verdict *v;
    struct scene s;
    uint32_t link;

    scene_open (&s, 16);
    link = pathset_end_link (s.ps, 3);
    s.arc_bits[2 * link] = s.arc_bits[2 * link + 1] = 50 * GB;
    s.port[3].bits = 50 * GB;
    v = scene_judge (&s, scene_bursts (&s));
    f = only_finding (v);
    port = f ? fact_of (f, FACT_RATE_PORT) : NULL;
    ok (f && f->level == VERDICT_FAIL && f->suspect[0] == link && port
            && port->n[0] == 50 * GB && port->n[1] == 200 * GB,
        "a port at a quarter of its link's rate is a FAIL, which says so");
    verdict_destroy (v);
    scene_close (&s);
}

/* Two hosts at one leaf, which both may be it: rates before and others' traffic are
 * asked of both.
 */
static void test_two (void)
{
    static const struct {
        bool base;
        double others;
        enum verdict_status level;
    } tab[] = {
        { false, 0, VERDICT_WARN },
        { true, 0, VERDICT_FAIL },
        { true, NAN, VERDICT_WARN },
    };

    for (size_t i = 0; i < sizeof (tab) / sizeof (*tab); i++) {
        const struct burst_way way = { 5, 0, 99 * GB, 98 * GB };
        struct bursts *b = bursts_create ();
        const struct finding *f;
        struct verdict *v;
        struct scene s;

        scene_open (&s, 0);
        if (tab[i].base)
            scene_baseline (&s);
        s.port[1].others_bits = tab[i].others;
        bursts_add_flow (b, &(struct burst_flow){ 0, 1, 0, { way, way } });
        for (uint32_t k = 0; k < 2; k++) {
            const struct burst_way own = { 2, 0, 197 * GB, 197 * GB };

            bursts_add_flow (b, &(struct burst_flow){ k, k, 1, { own } });
            bursts_add_port (b, &s.port[k]);
        }
        v = scene_judge (&s, b);
        f = only_finding (v);
        ok (f && f->level == tab[i].level && f->nsuspects == 2
                && f->nnodes == 2,
            "one of two host ends, %s baseline, others' traffic %g: %s",
            tab[i].base ? "with a" : "no", tab[i].others,
            verdict_status_name (tab[i].level));
        verdict_destroy (v);
        scene_close (&s);
    }
}

enum row_link { ROW_NONE, ROW_HOST, ROW_UPLINK };

/* What is planted at host 5 or at an uplink. */
static const struct rates_row {
    const char *what;
    enum row_link at;
    double arc[2];  /* shares that the arcs keep; 0: all */
    double host[3]; /* likewise: send, receive, loopback */
    bool base;      /* with a baseline */
    double others;  /* others' traffic that its port counted, Gb/s; -1: none
                          was counted */
    enum verdict_status level; /* OK: no finding */
    enum fact_kind fact;       /* that the finding has; or 0 */
    size_t job;                /* hosts; 0: all */
} rows[] = {
    { "a healthy job", ROW_NONE, .level = VERDICT_OK, .job = 16 },
    { "a healthy fabric", ROW_NONE, .level = VERDICT_OK },
    { "a healthy fabric, with a baseline", ROW_NONE, .base = true,
      .level = VERDICT_OK },
    { "a host's cable at half", ROW_HOST, .arc = { .5, .5 },
      .level = VERDICT_WARN, .fact = FACT_RATE_LOOPBACK },
    { "... with a baseline", ROW_HOST, .arc = { .5, .5 }, .base = true,
      .level = VERDICT_FAIL, .fact = FACT_RATE_BEFORE },
    { "... of which nobody counted others' traffic", ROW_HOST,
      .arc = { .5, .5 }, .base = true, .others = -1, .level = VERDICT_WARN },
    { "... in a job of 16", ROW_HOST, .arc = { .5, .5 }, .base = true,
      .level = VERDICT_FAIL, .job = 16 },
    { "a fifth less", ROW_HOST, .arc = { .8, .8 }, .base = true,
      .level = VERDICT_WARN },
    { "a twentieth less", ROW_HOST, .arc = { .94, .94 }, .base = true,
      .level = VERDICT_OK },
    { "what a host sends, at half", ROW_HOST, .host = { .5, 1, 1 },
      .base = true, .level = VERDICT_FAIL, .fact = FACT_RATE_SENT },
    { "what a host receives, at 70 %", ROW_HOST, .host = { 1, .7, 1 },
      .base = true, .level = VERDICT_FAIL, .fact = FACT_RATE_RECEIVED },
    { "throttled to 13 %, with every file good", ROW_HOST,
      .host = { .13, .13, .13 }, .level = VERDICT_WARN,
      .fact = FACT_RATE_LOOPBACK },
    { "... with a baseline", ROW_HOST, .host = { .13, .13, .13 }, .base = true,
      .level = VERDICT_FAIL },
    { "others' traffic at a host that its port counted", ROW_HOST,
      .arc = { .5, 1 }, .base = true, .others = 97, .level = VERDICT_OK },
    { "a switch's cable at half", ROW_UPLINK, .arc = { .5, .5 }, .base = true,
      .level = VERDICT_UNKNOWN },
    { "a switch's cable at 80 %", ROW_UPLINK, .arc = { .8, .8 }, .base = true,
      .level = VERDICT_OK },
};

static void test_rows (void)
{
    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        const struct rates_row *row = &rows[i];
        const struct finding *f;
        struct verdict *v;
        struct scene s;
        uint32_t link;

        scene_open (&s, row->job);
        if (row->base)
            scene_baseline (&s);
        link = row->at == ROW_UPLINK ? (uint32_t)s.t->n + 5
                                     : pathset_end_link (s.ps, 5);
        for (int way = 0; way < 2 && row->at != ROW_NONE; way++)
            if (row->arc[way] > 0)
                s.arc_bits[2 * link + way] *= row->arc[way];
        if (row->host[0] > 0) {
            s.host[5].send *= row->host[0];
            s.host[5].receive *= row->host[1];
            s.host[5].loopback *= row->host[2];
        }
        if (row->at == ROW_HOST)
            s.port[5].others_bits = row->others < 0 ? NAN : row->others * GB;
        v = scene_judge (&s, scene_bursts (&s));
        f = only_finding (v);
        if (row->level == VERDICT_OK)
            ok (v->nfindings == 0, "%s: no finding", row->what);
        else
            ok (f && f->level == row->level && f->suspect[0] == link
                    && (row->at != ROW_HOST || f->nsuspects == 1)
                    && (row->fact == FACT_SAID || fact_of (f, row->fact)),
                "%s: %s", row->what, verdict_status_name (row->level));
        ok ((row->others > 0 || row->arc[0] == .8) && row->level == VERDICT_OK
                ? limit_of (v, FACT_RATE_UNTOLD) != NULL
                : !limit_of (v, FACT_RATE_UNTOLD),
            "... and whether a link could not be judged");
        verdict_destroy (v);
        scene_close (&s);
    }
}

/* All of a kind at 87 %, and slots below the adapter. */
/* Two of four carry less, as one of them is slow: that is not most of them. */
static void test_half_of_kind (void)
{
    struct bursts *b = bursts_create ();
    struct verdict *v;
    struct scene s;

    scene_open (&s, 0);
    for (uint32_t i = 0; i < 4; i++) {
        double bits = i / 2 == 1 ? 112 * GB : 197 * GB;
        struct burst_way way = { .kept = 2, .best = bits, .worst = bits };
        struct burst_flow flow = { .a = i, .b = i + 1, .way = { way, way } };

        if (i % 2 == 0)
            bursts_add_flow (b, &flow);
        way.best = way.worst = i == 2 ? 112 * GB : 197 * GB;
        bursts_add_flow (b, &(struct burst_flow){ i, i, 1, { way } });
        if (i == 2)
            s.port[i].now = (struct pcie_rate){ 8, 16000 };
        bursts_add_port (b, &s.port[i]);
    }
    v = scene_judge (&s, b);
    ok (!limit_of (v, FACT_RATE_ALIKE) && only_finding (v)
            && v->finding[0].suspect[0] == pathset_end_link (s.ps, 2)
            && v->finding[0].rate_expected_bits > 190 * GB,
        "half of a kind, slow by one host of a pair, are not most of it");
    verdict_destroy (v);
    scene_close (&s);
}

static void test_kinds (void)
{
    const struct fact *fact;
    struct verdict *v;
    struct scene s;

    scene_open (&s, 0);
    for (size_t i = 0; i < s.n; i += 2) {
        s.host[i] = (struct traffic_host){ 88 * GB, 88 * GB, 88 * GB };
        s.port[i].able = s.port[i].now = (struct pcie_rate){ 8, 16000 };
    }
    s.host[4].send = 45 * GB;
    v = scene_judge (&s, scene_bursts (&s));
    fact = limit_of (v, FACT_RATE_ALIKE);
    ok (fact && fact->n[0] == 16 && fabs (fact->n[1] - 88 * GB) < 2 * GB,
        "a kind of host that carries less than it could is one remark");
    fact = limit_of (v, FACT_RATE_SLOT);
    ok (fact && fact->n[0] == 8 && fact->n[1] == 16
            && fabs (fact->n[2] - 113 * GB) < 1 * GB
            && fabs (fact->n[3] - 198.7 * GB) < 1 * GB && fact->name[0],
        "their slots, below the adapter, are another one");
    ok (only_finding (v)
            && v->finding[0].suspect[0] == pathset_end_link (s.ps, 4),
        "and one of them that is slower than its kind is found");
    verdict_destroy (v);
    scene_close (&s);
}

/* Others' flows that pause leave no finding; those that do not, no FAIL. */
static void test_others (void)
{
    size_t found = 0, failed = 0;

    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct verdict *v;
        struct scene s;

        scene_open (&s, 0);
        rng_seed (&s.rng, seed);
        scene_baseline (&s);
        s.traffic.nothers = OTHERS_MAX;
        for (size_t i = 0; i < OTHERS_MAX; i++)
            s.other[i] = (struct traffic_flow){
                2 * (uint32_t)(s.t->n + rng_below (&s.rng, 32)) + i % 2,
                .9 * 198 * GB,
                i % 4 ? .6 : 0,
            };
        v = scene_judge (&s, scene_bursts (&s));
        for (size_t i = 0; i < v->nfindings; i++) {
            found += v->finding[i].level != VERDICT_UNKNOWN;
            failed += v->finding[i].level == VERDICT_FAIL;
        }
        verdict_destroy (v);
        scene_close (&s);
    }
    ok (found == 0 && failed == 0,
        "others' traffic on a quarter of the switch links: nothing found (%zu, "
        "%zu "
        "FAIL)",
        found, failed);
}

/* A run for the baseline, of this audit. */
static struct samples *scene_run (struct scene *s)
{
    struct samples *run = samples_create ();

    run->bursts = scene_bursts (s);
    return run;
}

/* A switch link that was low in two runs before, too, is a WARN; unless others' flows
 * are over many links.
 */
static void test_again (void)
{
    for (int busy = 0; busy < 2; busy++) {
        struct samples *run[3];
        const struct finding *f;
        struct verdict *v;
        struct scene s;
        uint32_t arc;
        struct error err;

        scene_open (&s, 0);
        arc = 2 * (uint32_t)(s.t->n + 5);
        s.base = baseline_create (pathset_on (s.ps, &s.t->net, &err));
        run[0] = scene_run (&s);
        s.arc_bits[arc] = s.arc_bits[arc + 1] = 120 * GB;
        for (size_t i = 0; i < OTHERS_MAX; i++)
            s.other[i] = (struct traffic_flow){
                2 * (uint32_t)(s.t->n + 8 + 2 * i) + 1,
                190 * GB,
                0,
            };
        run[1] = scene_run (&s);
        run[2] = scene_run (&s);
        s.traffic.nothers = busy ? OTHERS_MAX : 0;
        for (int k = 2; k >= 0; k--)
            if (baseline_add (s.base, run[k], k + 1, &err) < 0)
                abort ();
        v = scene_judge (&s, scene_bursts (&s));
        f = only_finding (v);
        ok (busy ? v->nfindings == 0 && limit_of (v, FACT_RATE_UNTOLD)
                 : f && f->suspect[0] == arc_link (arc)
                       && f->level == VERDICT_WARN,
            "a switch link that was low before: %s",
            busy ? "a limit, as many are" : "WARN");
        verdict_destroy (v);
        for (int k = 0; k < 3; k++)
            samples_destroy (run[k]);
        scene_close (&s);
    }
}

/* Days when others use other links each. Of two links, what they can carry, and what
 * others want of each in the runs, both ways or one.
 */
enum { STAYS_RUNS = 5, STAYS_LINKS = 2 };

static const struct stays_row {
    const char *what;
    double able[STAYS_LINKS], want[STAYS_LINKS][STAYS_RUNS];
    bool oneway, warns[STAYS_LINKS];
} stays_rows[] = {
    { "one that lacks a fifth: WARN", { 160, 0 }, .warns = { true } },
    { "... if others use it as well now: WARN",
      { 160, 0 }, { { 0, 0, 0, 0, 190 } }, .warns = { true } },
    { "one of which others take a fifth in each run, one way: nothing",
      { 0, 0 }, { { 0, 40, 40, 40, 40 } }, .oneway = true },
    { "one of which others take a part in each run, another each time: nothing",
      { 0, 0 }, { { 0, 60, 90, 45, 75 } } },
    { "two that lack a fifth: both WARN", { 160, 160 }, .warns = { true, true } },
    { "... one of which others use now: it is not known which limited it before",
      { 160, 160 }, { { 0 }, { 0, 0, 0, 0, 190 } }, .warns = { true, false } },
};

static bool warns_of (const struct verdict *v, uint32_t link)
{
    for (size_t i = 0; i < v->nfindings; i++)
        if (v->finding[i].suspect[0] == link
            && v->finding[i].level == VERDICT_WARN)
            return true;
    return false;
}

static void test_stays (void)
{
    for (size_t n = 0; n < sizeof (stays_rows) / sizeof (stays_rows[0]); n++) {
        const struct stays_row *row = &stays_rows[n];
        struct samples *run[STAYS_RUNS] = { NULL };
        struct verdict *v;
        struct scene s;
        struct error err;
        uint32_t link;

        scene_open (&s, 0);
        link = (uint32_t)(s.t->n + 5);
        s.base = baseline_create (pathset_on (s.ps, &s.t->net, &err));
        for (size_t k = 0; k < STAYS_RUNS; k++) {
            for (uint32_t i = 0; i < OTHERS_MAX; i++)
                s.other[i] = (struct traffic_flow){
                    2 * (uint32_t)(s.t->n + 8 + (3 * i + 5 * k) % 24) + 1,
                    k > 0 ? (30 + 10 * i) * GB : 0,
                    0,
                };
            for (uint32_t i = 0; i < 2 * STAYS_LINKS; i++) {
                uint32_t arc = 2 * (link + i / 2) + i % 2;

                if (k == 1 && row->able[i / 2] > 0)
                    s.arc_bits[arc] = row->able[i / 2] * GB;
                if (row->want[i / 2][k] > 0 && (i % 2 == 0 || !row->oneway))
                    s.other[i] = (struct traffic_flow){
                        arc, row->want[i / 2][k] * GB, 0
                    };
            }
            s.traffic.nothers = OTHERS_MAX;
            if (k < STAYS_RUNS - 1)
                run[k] = scene_run (&s);
        }
        for (int k = STAYS_RUNS - 2; k >= 0; k--)
            if (baseline_add (s.base, run[k], k + 1, &err) < 0)
                abort ();
        v = scene_judge (&s, scene_bursts (&s));
        ok (warns_of (v, link) == row->warns[0]
                && warns_of (v, link + 1) == row->warns[1]
                && v->nfindings == (size_t)row->warns[0] + row->warns[1],
            "busy days, %s", row->what);
        verdict_destroy (v);
        for (size_t k = 0; k < STAYS_RUNS; k++)
            samples_destroy (run[k]);
        scene_close (&s);
    }
}

/* A crowd tells a switch link at half from one that others use, and from one that is
 * both.
 */
static void test_crowd (void)
{
    static const struct {
        const char *what;
        double keeps, others; /* shares of the link */
        enum verdict_status level;
    } tab[] = {
        { "at half", .5, 0, VERDICT_WARN },
        { "at half, and others use it", .5, .9, VERDICT_WARN },
        { "that others use", 1, .9, VERDICT_OK },
        { "of which others use a third", 1, .35, VERDICT_OK },
    };

    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++) {
        const struct finding *f;
        struct verdict *v;
        struct plan *crowds;
        struct bursts *b;
        struct scene s;
        uint32_t arc;

        scene_open (&s, 0);
        arc = 2 * (uint32_t)(s.t->n + 5);
        s.arc_bits[arc] *= tab[i].keeps;
        s.other[0] = (struct traffic_flow){ arc, tab[i].others * 200 * GB, 0 };
        s.traffic.nothers = tab[i].others > 0;
        b = scene_bursts (&s);
        crowds = crowd_make (s.ps, b, 1, NULL);
        s.traffic.crowds = true;
        if (traffic_measure (&s.traffic, s.ps, crowds, 2000, b, &s.rng, NULL)
            < 0)
            abort ();
        v = scene_judge (&s, b);
        f = only_finding (v);
        if (tab[i].level == VERDICT_OK)
            ok (v->nfindings == 0 && limit_of (v, FACT_RATE_UNTOLD),
                "a switch link %s: a limit", tab[i].what);
        else
            ok (f && f->level == tab[i].level && f->suspect[0] == arc_link (arc)
                    && f->nsuspects == 1,
                "a switch link %s: %s", tab[i].what,
                verdict_status_name (tab[i].level));
        ok (!f || fact_of (f, FACT_RATE_CROWD), "... with what a crowd had");
        plan_destroy (crowds);
        verdict_destroy (v);
        scene_close (&s);
    }
}

/* Others use half of all links of a host's switch, and of others': the host does not FAIL
 * by that, and a crowd shows that it carries all. A host at half FAILs by a crowd.
 */
static void test_busy_leaf (void)
{
    enum { SEEDS = 10 };
    size_t failed = 0, found = 0, named = 0;

    for (uint64_t seed = 1; seed <= 2 * SEEDS; seed++) {
        bool slow = seed > SEEDS;
        struct plan *crowds;
        struct verdict *v;
        struct bursts *b;
        struct scene s;
        uint32_t own, leaf, l;

        scene_create (&s, 3, TREE_DMODK, 16, 200 * GB,
                      (struct traffic_host){ 200 * GB, 200 * GB, 200 * GB }, seed);
        s.plan = flows_make (s.ps, &(struct flows_options){ .times = 2, .seed = 1 },
                             NULL);
        for (uint32_t i = 0; i < s.n; i++)
            s.port[i] = (struct burst_port){ .end = i, .bits = 200 * GB };
        scene_baseline (&s);
        own = pathset_end_link (s.ps, (uint32_t)seed % 16);
        leaf = s.t->info[own].end[s.t->info[own].end[0] == NETWORK_NONE];
        for (l = 0; l < s.t->net.nlinks; l++)
            for (uint32_t way = 0; way < 2 && s.t->info[l].kind == LINK_SWITCH; way++)
                if (s.t->info[l].end[0] == leaf || s.t->info[l].end[1] == leaf)
                    s.other[s.traffic.nothers++]
                        = (struct traffic_flow){ 2 * l + way, 190 * GB, 0 };
        while (s.traffic.nothers < SCENE_OTHERS)
            s.other[s.traffic.nothers++] = (struct traffic_flow){
                2 * (uint32_t)s.t->n
                    + (uint32_t)rng_below (&s.rng, 2 * (s.t->net.nlinks - s.t->n)),
                190 * GB, 0
            };
        if (slow) {
            s.arc_bits[2 * own] = s.arc_bits[2 * own + 1] = 100 * GB;
            s.traffic.nothers = 0;
        }
        b = scene_bursts (&s);
        crowds = crowd_make (s.ps, b, 1, NULL);
        v = scene_judge (&s, b);
        for (size_t i = 0; i < v->nfindings && !slow; i++)
            failed += v->finding[i].level == VERDICT_FAIL;
        verdict_destroy (v);
        b = scene_bursts (&s);
        s.traffic.crowds = true;
        if (traffic_measure (&s.traffic, s.ps, crowds, 2000, b, &s.rng, NULL) < 0)
            abort ();
        v = scene_judge (&s, b);
        for (size_t i = 0; i < v->nfindings; i++) {
            const struct finding *f = &v->finding[i];

            found += !slow && f->kind == FINDING_HOST_END;
            named += slow && f->level == VERDICT_FAIL && f->suspect[0] == own
                     && f->nsuspects == 1;
        }
        plan_destroy (crowds);
        verdict_destroy (v);
        scene_close (&s);
    }
    ok (failed == 0, "others use all links of a leaf: no host FAILs (%zu)", failed);
    ok (found <= 1, "... and by a crowd none is named (%zu of %d)", found, SEEDS);
    ok (named == SEEDS, "a host at half FAILs (%zu of %d)", named, SEEDS);
}

/* Two low links may be low by others' flows; not so likely if both are at one switch. */
static void test_meet (void)
{
    for (int meet = 0; meet < 2; meet++) {
        struct verdict *v;
        struct scene s;
        uint32_t arc;

        scene_open (&s, 0);
        arc = 2 * (uint32_t)(s.t->n + 5);
        s.arc_bits[arc] = 120 * GB;
        s.arc_bits[arc + (meet ? 2 : 10)] = 120 * GB;
        v = scene_judge (&s, scene_bursts (&s));
        ok (meet ? v->nfindings == 2 && v->finding[0].level == VERDICT_UNKNOWN
                       && v->finding[1].level == VERDICT_UNKNOWN
                 : v->nfindings == 0 && limit_of (v, FACT_RATE_UNTOLD),
            "two low links of %s: %s", meet ? "one switch" : "two switches",
            meet ? "UNKNOWN" : "a limit");
        verdict_destroy (v);
        scene_close (&s);
    }
}

static void test_switch (void)
{
    const struct finding *f;
    struct verdict *v;
    struct scene s;

    scene_open (&s, 0);
    scene_baseline (&s);
    for (uint32_t l = 0; l < s.t->net.nlinks; l++)
        for (int k = 0; k < 2; k++)
            if (s.t->info[l].end[k] == 2)
                s.arc_bits[2 * l] = s.arc_bits[2 * l + 1] = 119 * GB;
    v = scene_judge (&s, scene_bursts (&s));
    f = only_finding (v);
    ok (f && f->kind == FINDING_SWITCH && f->nsw == 1 && f->sw[0] == 2
            && f->level == VERDICT_WARN && f->nsuspects == 8,
        "all links of a switch at 60 %% are one finding, of the switch");
    verdict_destroy (v);
    scene_close (&s);
}

/* What latencies found before is one finding with it. */
static void test_same_cause (void)
{
    const struct finding *f;
    struct verdict *v = verdict_create ();
    struct finding *before = verdict_add (v, VERDICT_WARN, BASIS_CLASS);
    struct bursts *b;
    struct scene s;
    uint32_t link;

    scene_open (&s, 0);
    scene_baseline (&s);
    link = pathset_end_link (s.ps, 7);
    s.arc_bits[2 * link] = s.arc_bits[2 * link + 1] = 90 * GB;
    verdict_add_number (v, &before->suspect, &before->nsuspects, 40);
    verdict_add_number (v, &before->suspect, &before->nsuspects, link);
    b = scene_bursts (&s);
    ok (judge_rates (v, s.ps, b, s.base, &judge_defaults, NULL) == 0
            && (f = only_finding (v)) && f->basis == BASIS_CLASS
            && f->level == VERDICT_FAIL && f->suspect[0] == link
            && f->nsuspects == 2 && f->rate_bits < 95 * GB,
        "a link that is slow and carries little is one finding, the worse of "
        "both");
    bursts_destroy (b);
    verdict_destroy (v);
    scene_close (&s);
}
/* Others' flows make messages wait and take a share of the rate. So both signs together
 * prove no more of a link between switches than one of them: it is UNKNOWN, unless it
 * FAILs by its latency.
 */
static void test_same_traffic (void)
{
    for (int fails = 0; fails < 2; fails++) {
        enum verdict_status level = fails ? VERDICT_FAIL : VERDICT_WARN;
        struct verdict *v = verdict_create ();
        struct finding *before = verdict_add (v, level, BASIS_BASELINE);
        const struct finding *f;
        struct bursts *b;
        struct scene s;
        uint32_t arc;

        scene_open (&s, 0);
        scene_baseline (&s);
        arc = 2 * (uint32_t)(s.t->n + 5);
        s.arc_bits[arc] = 66 * GB;
        before->kind = FINDING_SWITCH_LINK;
        verdict_add_number (v, &before->suspect, &before->nsuspects,
                            arc_link (arc));
        b = scene_bursts (&s);
        ok (judge_rates (v, s.ps, b, s.base, &judge_defaults, NULL) == 0
                && (f = only_finding (v)) && f->rate_bits < 70 * GB
                && f->level == (fails ? VERDICT_FAIL : VERDICT_UNKNOWN),
            "a switch link that is slow by latency (%s), and carries a third: %s",
            verdict_status_name (level),
            verdict_status_name (fails ? VERDICT_FAIL : VERDICT_UNKNOWN));
        bursts_destroy (b);
        verdict_destroy (v);
        scene_close (&s);
    }
}


static void test_list (void)
{
    size_t low = 0, wrong = 0, nlinks;
    struct verdict *v;
    struct scene s;
    uint32_t link;

    scene_open (&s, 0);
    link = pathset_end_link (s.ps, 9);
    s.arc_bits[2 * link] = 50 * GB;
    v = scene_judge (&s, scene_bursts (&s));
    nlinks = s.t->net.nlinks;
    for (size_t i = 0; i < v->nrates; i++) {
        const struct verdict_rate *x = &v->rate[i];

        if (i > 0 && x[-1].arc >= x->arc)
            wrong++;
        if (x->arc == 2 * link)
            low += fabs (x->bits - 50 * GB) < 2 * GB && x->expected > 180 * GB;
        else
            wrong += x->bits < .9 * x->expected;
    }
    ok (low == 1 && wrong == 0 && v->nrates > nlinks && v->nrates <= 2 * nlinks,
        "the list of rates shows one arc below what was expected (%zu of %zu)",
        v->nrates, 2 * nlinks);
    verdict_destroy (v);
    scene_close (&s);
}

static void test_left (void)
{
    struct verdict *v;
    struct scene s;
    struct bursts *b = bursts_create ();

    scene_open (&s, 16);
    b->left = LEFT_FORBIDDEN | LEFT_HOSTS;
    v = scene_judge (&s, b);
    ok (v->nlimits == 2 && limit_of (v, FACT_RATE_FORBIDDEN)
            && limit_of (v, FACT_RATE_HOSTS) && v->nfindings == 0,
        "what was left out, and why");
    verdict_destroy (v);
    for (size_t i = 0; i < s.n; i++)
        s.port[i].able.lanes = 4;
    v = scene_judge (&s, scene_bursts (&s));
    ok (limit_of (v, FACT_RATE_FILLED) != NULL,
        "cables between switches that the job cannot fill");
    verdict_destroy (v);
    b = scene_bursts (&s);
    b->left = LEFT_SPREAD;
    v = scene_judge (&s, b);
    ok (limit_of (v, FACT_RATE_SPREAD) && !limit_of (v, FACT_RATE_FILLED),
        "... are not counted if they were to be left out");
    verdict_destroy (v);
    b = scene_bursts (&s);
    for (size_t i = 0; i < b->nflows; i++)
        if (b->flow[i].a == 2 || b->flow[i].b == 2)
            for (int way = 0; way < 2; way++)
                b->flow[i].way[way] = (struct burst_way){ .lost = 2 };
    v = scene_judge (&s, b);
    ok (v->nfindings == 0 && limit_of (v, FACT_RATE_UNTOLD),
        "a host all of whose bursts were lost is not judged");
    verdict_destroy (v);
    scene_close (&s);
}

int main (void)
{
    test_pcie ();
    test_port ();
    test_two ();
    test_rows ();
    test_half_of_kind ();
    test_kinds ();
    test_others ();
    test_again ();
    test_stays ();
    test_crowd ();
    test_busy_leaf ();
    test_meet ();
    test_switch ();
    test_same_cause ();
    test_same_traffic ();
    test_list ();
    test_left ();
    return done_testing ();
}
