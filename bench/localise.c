/* SPDX-License-Identifier: GPL-2.0-or-later */
/* localise - how well do two stages localise what is slow?
 *
 *   localise [--smallest] [-n TRIALS] [-s SEED] [-w WORKERS] [-r ROUTING]
 *            [-e SE] [-f one|spread|half] [-a FLOWSxMESSAGES] [-l] [-x DIR]
 *            [CASE|NOISE/FAULT|NETWORK...]
 *
 * Each trial draws the lengths of all cables (0 to 150 ns), the hosts of a job
 * (HOSTS/FABRIC; a fabric's size alone: all of them) and a fault. It takes
 * samples for a baseline and for the first stage, plans the confirm stage,
 * takes samples of both stages and judges these. Noise is 50 ns, with 1 %
 * outliers of 2,000 ns on average, and 5 repeats from each side. Only fabric,
 * planner, simulator and judge run here; bench/judge-rates includes probes and
 * a wire.
 *
 * NOISE/FAULT is a case on a day like a site's: a noise of `pmm simulate
 * --noise` (core/samples/simulate), drawn separately for the baseline and the
 * run, with adapters and sockets of several kinds, and with loopbacks unless -l
 * is given. FAULT is healthy, host+NS, switch+NS, oneway+NS, two+NS, bent+NS (a
 * cable between switches, and a wrong route that crosses it), or what a host's
 * or a switch's cable does to some messages: host-tailPERCENT, -alternate,
 * -warm, -dropPERCENT; it is a change that is not a fault, or both: CHANGE/FAULT
 * (bench/truth.h). Lines below such a case are other methods on the same
 * samples: naive, the median excess of a host's rows; sparse, a greedy
 * regression with non-negative excesses; voting (bench/reference.h).
 *
 * -f spread: switches hash, each repeat is a flow, and the confirm stage has
 * FLOWS of MESSAGES (-a FLOWSxMESSAGES: 32x48; 256x1 is as where they adapt).
 * -f half: every second switch does. -f one: one flow a pair, and the tables are
 * believed.
 *
 * -x DIR writes each trial there for other methods: docs/benchmark.md.
 *
 * A wrong route sends the messages for one host through another port of a
 * switch. It changes an RTT of the first stage by at least SE standard errors
 * (3).
 *
 *   found      faults that are among the suspects of a finding; for a route,
 *              its switch is among at most three
 *   FAIL       of these, those in a FAIL
 *   false      findings, per trial, that do not contain a fault
 *   (FAIL)     of these, those that are a FAIL
 *   suspects   mean number in a finding with a fault; in parentheses, how many
 *              links the measured rows cannot resolve from the fault
 *   UNKNOWN    share of verdicts; then the share of OK
 *   again      trials with a confirm stage, its probes and its rounds
 *   ms         for the confirm plan and for the verdict
 */
#include "config.h"

#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench/need.h"
#include "bench/networks.h"
#include "bench/reference.h"
#include "bench/truth.h"
#include "core/judge/confirm.h"
#include "core/judge/judge.h"
#include "core/paths/tree.h"
#include "ibquery/fabric.h"
#include "ibquery/snapshot.h"
#include "report/words.h"
#include "util/alloc.h"

#define COUNT(v) (sizeof (v) / sizeof ((v)[0]))

enum { FAULTS_MAX = 2, WORKERS_MAX = 2, REPEATS = 20,
       SWITCHES_FEW = 3, BENDS = 200000 };

#define NOISE_NS 50.0
/* standard error of one RTT, from the medians of both sides */
#define RTT_STDERR_NS (NOISE_NS * sqrt (M_PI_2 / REPEATS))
#define BUSY_SHARE 0.2
#define BUSY_P 0.3
#define BUSY_NS 400.0

/* The cases without a kind of noise. */
static const struct condition conditions[] = {
    { "slow", 1, FAULT_LINK, .excess_ns = 1000 },
    { "blind", 1, FAULT_LINK, .excess_ns = 1000, .blind = true },
    { "two", 2, FAULT_LINK, .excess_ns = 1000 },
    { "300", 1, FAULT_LINK, .excess_ns = 300 },
    { "oneway", 1, FAULT_ARC, .excess_ns = 2000 },
    { "switch", 1, FAULT_SWITCH, .excess_ns = 500 },
    { "route", 1, FAULT_ROUTE, .excess_ns = 0 },
    { "healthy", 0, FAULT_LINK, .excess_ns = 0 },
    { "busy", 0, FAULT_LINK, .busy = true },
};

struct method { /* methods of bench/reference */
    size_t found, wrong; /* faults; findings without one */
};

struct sums {
    struct method method[REFERENCES];
    size_t ok;
    size_t trials, faults, found, failed;
    size_t stray, stray_failed;
    size_t suspects, smallest; /* of the faults that were found */
    size_t unknown;
    size_t confirmed, rounds, probes;
    double confirm_s, judge_s;
};

static double now (void)
{
    struct timespec t;

    clock_gettime (CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

struct trial {
    const struct condition *what;
    struct truth truth;
    const struct network *net;
    struct pathset *ps;
    struct pathset *actual; /* for wrong routes */
    struct tree *tree;      /* trees of actual */
    struct plan *plan;
    const uint32_t *link;   /* [m] of the job */
    size_t m;
    uint8_t *used;          /* [2 * nlinks] arcs that its paths cross */
    double *busy;           /* [nlinks] */
    uint32_t fault[FAULTS_MAX]; /* links, arcs or switches (also of routes) */
    bool bend;                  /* messages take the wrong route */
    bool delays;                /* as of confirm_options */
    uint8_t *entry, right;      /* the wrong entry of a table; its right
                                   value */
    double change_se;           /* greatest change of an RTT, in standard
                                   errors */
    size_t changed;             /* number of rows that change */
};

/* Whether a link is the fault or a part of it. */
static bool is_fault (const struct trial *t, int i, uint32_t link)
{
    const uint32_t *end = t->net->link[link].end;

    switch (t->what->kind) {
    case FAULT_SWITCH:
        return end[0] == t->fault[i] || end[1] == t->fault[i];
    case FAULT_ARC:
        return link == arc_link (t->fault[i]);
    case FAULT_ROUTE:
        return false;
    default:
        return link == t->fault[i];
    }
}

static double rtt_ns (const struct trial *t, const struct row *row)
{
    double sum = 0;

    for (size_t k = 0; k < row->n; k++)
        sum += row->count[k] * t->truth.latency[row->link[k]];
    return sum;
}

static double least_se = 3; /* least change of an RTT by a wrong route */

/* Whether all paths still lead to the endpoint, and the change of some RTT in
 * the plan exceeds least_se.
 */
static bool matters (struct trial *t, uint32_t to)
{
    double most = 0;

    t->changed = 0;
    if (tree_grow (t->tree, to, NULL) < 0)
        return false;
    for (size_t r = 0; r < plan_rounds (t->plan); r++) {
        size_t n;
        const struct probe *p = plan_round (t->plan, r, &n);

        for (size_t i = 0; i < n; i++) {
            struct row row;
            struct row is;
            double change;

            if (p[i].a != to && p[i].b != to)
                continue;
            if (pathset_row (t->ps, p[i].a, p[i].b, &row, NULL) < 0
                || pathset_row (t->actual, p[i].a, p[i].b, &is, NULL) < 0)
                return false;
            change = fabs (rtt_ns (t, &is) - rtt_ns (t, &row));
            t->changed += change > 0;
            most = fmax (most, change / RTT_STDERR_NS);
        }
    }
    t->change_se = most;
    return most > least_se;
}

/* Whether the path between two endpoints of the job crosses a link, with the
 * actual routes.
 */
static bool is_crossed (const struct trial *t, uint32_t from, uint32_t to,
                        uint32_t link)
{
    uint32_t arc[PATH_MAX_HOPS];
    int hops = pathset_walk (t->actual, from, to, arc, NULL);

    for (int k = 0; k < hops; k++)
        if (arc_link (arc[k]) == link)
            return true;
    return false;
}

/* Plant a wrong route: a switch on a path of the job sends messages for its end
 * through another port, so that they cross the link `over` (NETWORK_NONE: any).
 * Returns the switch; NETWORK_NONE: no such route was found.
 */
static uint32_t misroute (struct trial *t, uint32_t over)
{
    for (int tries = 0; tries < BENDS; tries++) {
        size_t n = pathset_size (t->ps);
        uint32_t from = rng_below (&t->truth.rng, n);
        uint32_t to = rng_below (&t->truth.rng, n);
        const struct fabric_endpoint *end;
        uint32_t arc[PATH_MAX_HOPS];
        struct fabric_node *sw;
        uint32_t place;
        int hops;

        if (from == to
            || (hops = pathset_walk (t->ps, from, to, arc, NULL)) < 2)
            continue;
        place = arc[1 + rng_below (&t->truth.rng, hops - 1)];
        place = t->net->link[arc_link (place)].end[place % 2];
        sw = &t->truth.actual->node[place];
        end = &t->truth.actual->endpoint[pathset_endpoint (t->ps, to)->id];
        t->entry = &sw->lft[t->truth.actual->port[end->port].lid];
        t->right = *t->entry;
        *t->entry = 1 + rng_below (&t->truth.rng, sw->nports);
        if (*t->entry != t->right
            && (over == NETWORK_NONE || is_crossed (t, from, to, over))
            && matters (t, to))
            return place;
        *t->entry = t->right;
    }
    t->entry = NULL;
    return NETWORK_NONE;
}

/* Draw a link or a direction that the job uses, or a switch. */
static uint32_t draw_fault (struct trial *t)
{
    for (;;) {
        uint32_t link = t->link[rng_below (&t->truth.rng, t->m)];
        uint32_t side = rng_below (&t->truth.rng, 2);

        switch (t->what->kind) {
        case FAULT_LINK:
            return link;
        case FAULT_HOST_END:
        case FAULT_CABLE:
            if ((t->net->link[link].kind == LINK_HOST)
                == (t->what->kind == FAULT_HOST_END))
                return link;
            break;
        case FAULT_ARC:
            if (t->used[2 * link + side])
                return 2 * link + side;
            break;
        case FAULT_SWITCH:
            if (t->net->link[link].end[side] != NETWORK_NONE)
                return t->net->link[link].end[side];
            break;
        case FAULT_ROUTE:
            return misroute (t, NETWORK_NONE);
        }
    }
}

static void plant (struct trial *t)
{
    truth_draw (&t->truth, t->what, t->ps);
    for (size_t l = 0; l < t->net->nlinks && t->what->busy; l++)
        t->busy[l] = rng_uniform (&t->truth.rng) < BUSY_SHARE ? BUSY_P : 0;
    for (int i = 0; i < t->what->faults; i++)
        do
            t->fault[i] = draw_fault (t);
        while (i > 0 && t->fault[i] == t->fault[i - 1]);
    t->bend = t->what->bend
              && misroute (t, t->fault[0]) != NETWORK_NONE;
}

/* The job's hosts, drawn in any order, but that of a faulty link first. */
static void order_hosts (struct trial *t, const char **host)
{
    size_t n = pathset_size (t->ps);
    uint32_t *order = xcalloc (n, sizeof (*order));
    const char *faulty
        = t->what->faults > 0 && t->what->kind == FAULT_HOST_END
              ? t->net->link[t->fault[0]].host : NULL;

    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    rng_shuffle (&t->truth.rng, order, n);
    for (size_t i = 0; i < n; i++) {
        host[i] = pathset_endpoint (t->ps, order[i])->host;
        if (faulty && !strcmp (host[i], faulty)) {
            host[i] = host[0];
            host[0] = faulty;
        }
    }
    free (order);
}

/* Begin the change and the faults. */
static void slow_down (struct trial *t)
{
    size_t n = pathset_size (t->ps);
    const char **host = xcalloc (n, sizeof (*host));
    double ns = t->what->excess_ns;

    order_hosts (t, host);
    truth_begin (&t->truth, t->what, t->ps, host, n);
    for (int i = 0; i < t->what->faults; i++)
        for (uint32_t l = 0; l < t->net->nlinks && t->what->ails == AILS_SLOW;
             l++)
            if (is_fault (t, i, l) && t->what->kind != FAULT_ARC)
                t->truth.latency[l] += ns;
    if (t->what->faults > 0 && t->what->kind == FAULT_ARC)
        t->truth.arc[t->fault[0]] += ns;
    if (t->what->ails != AILS_SLOW)
        t->truth.ailing = t->fault[0];
    t->truth.moved = (t->what->faults > 0 && t->what->kind == FAULT_ROUTE)
                     || t->bend;
    free (host);
}

static bool with_loopbacks = true;
static enum { FLOWS_NONE, FLOWS_ONE, FLOWS_SPREAD } flows;
static const struct traffic_class datagrams;
static size_t every = 1; /* switches that spread */
static unsigned int again_flows = SAMPLE_FLOWS_AGAIN;
static unsigned int again_messages = SAMPLE_TIMES_AGAIN;

static struct samples *measure (const struct trial *t,
                                const struct plan *plan, uint64_t seed)
{
    struct simulate_options sim = {
        .repeats = REPEATS,
        .seed = seed,
    };
    struct samples *s;

    if (flows != FLOWS_NONE)
        sim.spread = &datagrams;
    sim.one_flow = flows == FLOWS_ONE;
    if (plan != t->plan && (t->delays || flows == FLOWS_SPREAD)) {
        sim.again = plan_rounds (t->plan);
        sim.flows = flows == FLOWS_SPREAD ? again_flows : 1;
        sim.messages = flows == FLOWS_SPREAD ? again_messages
                                             : SAMPLE_REPEATS_AGAIN;
    }
    if (!t->what->noise) {
        sim.noise_ns = NOISE_NS;
        sim.outlier_share = 0.01;
        sim.outlier_ns = 2000;
        sim.busy = t->busy;
        sim.busy_ns = BUSY_NS;
    }
    s = truth_measure (&t->truth, t->ps, plan, t->what->noise,
                       t->what->noise && with_loopbacks, sim);
    if (flows == FLOWS_ONE) /* the tables are believed */
        s->spread = 0;
    return s;
}

/* The number of links that the plan's rows cannot resolve from this one, itself
 * included.
 */
static size_t alike (const struct trial *t, const struct plan *plan,
                     uint32_t link)
{
    struct column {
        uint32_t rows, agree; /* rows that cross it; of these, those in
                                 proportion to the link */
        uint8_t count, of;    /* in the first such row: of it; of the link */
    } *column = xcalloc (t->net->nlinks, sizeof (*column));
    size_t n = 0;

    for (size_t r = 0; r < plan_rounds (plan); r++) {
        size_t nprobes;
        const struct probe *p = plan_round (plan, r, &nprobes);

        for (size_t i = 0; i < nprobes; i++) {
            struct error err;
            struct row row;
            uint8_t own = 0;

            if (pathset_row (t->ps, p[i].a, p[i].b, &row, &err) < 0)
                die (&err);
            for (size_t k = 0; k < row.n; k++)
                if (row.link[k] == link)
                    own = row.count[k];
            for (size_t k = 0; k < row.n; k++) {
                struct column *c = &column[row.link[k]];

                if (c->rows++ == 0) {
                    c->count = row.count[k];
                    c->of = own;
                }
                c->agree += own && row.count[k] * c->of == own * c->count;
            }
        }
    }
    for (size_t k = 0; k < t->m; k++) {
        const struct column *c = &column[t->link[k]];

        n += c->rows == column[link].rows && c->agree == c->rows;
    }
    free (column);
    return n;
}

static bool names (const struct trial *t, const struct finding *f, int fault)
{
    if (t->what->kind == FAULT_ROUTE) {
        for (size_t k = 0; k < f->nsw; k++)
            if (f->sw[k] == t->fault[fault])
                return f->kind == FINDING_ROUTE && f->nsw <= SWITCHES_FEW;
        return false;
    }
    for (size_t k = 0; k < f->nsuspects; k++)
        if (is_fault (t, fault, f->suspect[k]))
            return true;
    for (size_t k = 0; k < f->noneway && t->what->kind == FAULT_ARC; k++)
        if (is_fault (t, fault, f->oneway[k]))
            return true;
    return false;
}

static void count (const struct trial *t, const struct plan *plan,
                   const struct verdict *v, struct sums *sums)
{
    bool found[FAULTS_MAX] = { false };
    bool failed[FAULTS_MAX] = { false };

    for (size_t k = 0; k < v->nfindings; k++) {
        const struct finding *f = &v->finding[k];
        bool stray = true;

        for (int i = 0; i < t->what->faults; i++) {
            if (!names (t, f, i))
                continue;
            stray = false;
            failed[i] |= f->level == VERDICT_FAIL;
            if (found[i] || t->what->kind >= FAULT_SWITCH) {
                found[i] = true;
                continue;
            }
            found[i] = true;
            sums->suspects += f->nsuspects;
            sums->smallest += alike (t, plan, t->what->kind == FAULT_ARC
                                                  ? arc_link (t->fault[i])
                                                  : t->fault[i]);
        }
        sums->stray += stray;
        sums->stray_failed += stray && f->level == VERDICT_FAIL;
    }
    for (int i = 0; i < t->what->faults; i++) {
        sums->faults++;
        sums->found += found[i];
        sums->failed += failed[i];
    }
    sums->unknown += v->status == VERDICT_UNKNOWN;
    sums->ok += v->status == VERDICT_OK;
    sums->trials++;
}

/* The same for the other methods. */
static void count_methods (const struct trial *t, const struct samples *run,
                           const struct samples *base, struct sums *sums)
{
    struct reference r[REFERENCES];

    reference_find (r, t->ps, run, base, judge_defaults.fail_ns);
    for (int i = 0; i < REFERENCES; i++) {
        bool found[FAULTS_MAX] = { false };

        for (size_t k = 0; k < r[i].n; k++) {
            struct finding f = { .suspect = r[i].found[k].link,
                                 .nsuspects = r[i].found[k].nlinks,
                                 .oneway = r[i].found[k].link,
                                 .noneway = r[i].found[k].nlinks };
            bool stray = true;

            for (int x = 0; x < t->what->faults; x++)
                if (names (t, &f, x)) {
                    stray = false;
                    found[x] = true;
                }
            sums->method[i].wrong += stray;
        }
        for (int x = 0; x < t->what->faults; x++)
            sums->method[i].found += found[x];
    }
}

static void show (const struct trial *t, const struct plan *plan,
                  const struct verdict *v)
{
    for (int i = 0; i < t->what->faults; i++)
        printf ("# planted %s\n",
                t->what->kind == FAULT_SWITCH || t->what->kind == FAULT_ROUTE
                    ? t->net->sw[t->fault[i]].name
                : t->what->kind == FAULT_ARC
                    ? t->net->link[arc_link (t->fault[i])].id
                    : t->net->link[t->fault[i]].id);
    if (t->truth.moved)
        printf ("# %zu rows by %.1f standard errors\n", t->changed,
                t->change_se);
    printf ("# %s, %zu + %zu rounds\n", verdict_status_name (v->status),
            plan_rounds (plan) - plan_confirm_rounds (plan),
            plan_confirm_rounds (plan));
    for (size_t k = 0; k < v->nfindings; k++)
        printf ("#   %s %s, of %zu: %.0f +- %.0f: %s\n",
                verdict_status_name (v->finding[k].level),
                t->net->link[v->finding[k].suspect[0]].id,
                v->finding[k].nsuspects, v->finding[k].excess_ns,
                v->finding[k].stderr_ns, words_why (&v->finding[k]));
    for (size_t k = 0; k < v->nfindings; k++)
        for (size_t i = 0; i < v->finding[k].nsw; i++)
            printf ("#     %s\n", t->net->sw[v->finding[k].sw[i]].name);
    for (size_t k = 0; k < v->nlimits; k++)
        printf ("#   %s\n", words_fact (&v->limit[k]));
}

/*
 * Export
 */

static const char *export_to; /* -x: a directory; NULL */

static FILE *export_open (const char *dir, const char *name)
{
    char path[4096];
    FILE *fp;

    snprintf (path, sizeof (path), "%s/%s", dir, name);
    if (!(fp = fopen (path, "w"))) {
        perror (path);
        exit (1);
    }
    return fp;
}

static void export_close (FILE *fp, int rc, const struct error *err)
{
    if (rc < 0)
        die (err);
    if (fclose (fp) != 0) {
        perror ("localise");
        exit (1);
    }
}

/* The links of the faults; those of a switch all together. */
static json_t *export_faults (const struct trial *t)
{
    json_t *list = json_array ();

    for (int i = 0; i < t->what->faults; i++) {
        json_t *links = json_array ();

        for (uint32_t l = 0; l < t->net->nlinks; l++)
            if (is_fault (t, i, l))
                json_array_append_new (links,
                                       json_string (t->net->link[l].id));
        json_array_append_new (list, links);
    }
    return list;
}

/* Write what a method is given, and the truth. */
static void export (const struct trial *t, uint64_t seed,
                    const struct plan *plan, const struct samples *before,
                    const struct samples *s)
{
    char dir[2048], *at;
    struct error err;
    json_t *truth;
    FILE *fp;
    int len;

    len = snprintf (dir, sizeof (dir), "%s/", export_to);
    snprintf (dir + len, sizeof (dir) - len, "%s-%zu-%ju", t->what->name,
              pathset_size (t->ps), (uintmax_t)seed);
    while ((at = strchr (dir + len, '/')))
        *at = '-';
    if (mkdir (dir, 0777) < 0) {
        perror (dir);
        exit (1);
    }
    fp = export_open (dir, "fabric.pmm");
    export_close (fp, fabric_write (t->truth.f, fp, &err), &err);
    fp = export_open (dir, "plan.json");
    export_close (fp, plan_write (plan, t->ps, NULL, fp, &err), &err);
    fp = export_open (dir, "baseline.json");
    export_close (fp, samples_write (before, t->ps, fp, &err), &err);
    fp = export_open (dir, "samples.json");
    export_close (fp, samples_write (s, t->ps, fp, &err), &err);
    truth = json_pack ("{s:s, s:i, s:o}", "case", t->what->name, "hosts",
                       (int)pathset_size (t->ps), "faults",
                       export_faults (t));
    fp = export_open (dir, "truth.json");
    export_close (fp, json_dumpf (truth, fp, JSON_INDENT (1)), &err);
    json_decref (truth);
}

static bool verbose; /* -v: print the faults and the findings */

static void run_trial (struct trial *t, uint64_t seed, struct sums *sums)
{
    struct confirm_options opts = confirm_defaults;
    struct samples *before;
    struct samples *s;
    struct baseline *base;
    struct plan *plan;
    struct verdict *v;
    struct error err;
    double start;

    t->truth.moved = false;
    plant (t);
    before = measure (t, t->plan, 4 * seed);
    base = t->what->blind ? NULL
                          : need (baseline_of (before, t->ps, &err), &err);
    slow_down (t);
    s = measure (t, t->plan, 4 * seed + 1);
    opts.seed = seed;
    opts.delays = &t->delays;
    start = now ();
    plan = need (confirm_plan (t->ps, t->plan, s, base, &opts, &err), &err);
    sums->confirm_s += now () - start;
    if (plan_confirm_rounds (plan) > 0) {
        samples_destroy (s);
        s = measure (t, plan, 4 * seed + 1);
        sums->confirmed++;
        sums->rounds += plan_confirm_rounds (plan);
        sums->probes += plan_probes (plan) - plan_probes (t->plan);
    }
    start = now ();
    v = need (judge (t->ps, plan, s, base, NULL, &err), &err);
    sums->judge_s += now () - start;
    if (export_to)
        export (t, seed, plan, before, s);
    count (t, plan, v, sums);
    if (t->what->noise)
        count_methods (t, s, before, sums);
    if (verbose)
        show (t, plan, v);
    if (t->entry)
        *t->entry = t->right;
    t->entry = NULL;
    verdict_destroy (v);
    baseline_destroy (base);
    samples_destroy (s);
    samples_destroy (before);
    plan_destroy (plan);
}

static void find_used (struct trial *t)
{
    struct error err;
    struct tree *tree = tree_create (t->ps);

    for (size_t i = 0; i < pathset_size (t->ps); i++) {
        if (tree_grow (tree, i, &err) < 0)
            die (&err);
        for (size_t k = 1; k < tree->n; k++)
            t->used[tree->arc[k]] = 1;
        t->used[tree->up[i]] = 1;
    }
    tree_destroy (tree);
}

static void trial_open (struct trial *t, size_t hosts, uint64_t seed)
{
    struct plan_options opts = { .extra_rounds = 2, .seed = seed };
    struct error err;

    t->net = t->truth.net;
    t->ps = need (draw_hosts (t->truth.f, hosts, &t->truth.rng, &err), &err);
    t->actual = need (pathset_on (t->ps, fabric_network (t->truth.actual),
                                  &err), &err);
    t->tree = tree_create (t->actual);
    t->plan = need (plan_make (t->ps, &opts, &err), &err);
    t->link = need ((void *)pathset_links (t->ps, &t->m, &err), &err);
    t->busy = xcalloc (t->net->nlinks, sizeof (*t->busy));
    t->used = xcalloc (2 * t->net->nlinks, sizeof (*t->used));
    find_used (t);
}

static void trial_close (struct trial *t)
{
    plan_destroy (t->plan);
    pathset_destroy (t->ps);
    tree_destroy (t->tree);
    pathset_destroy (t->actual);
    free (t->busy);
    free (t->used);
}

struct args {
    size_t trials, workers;
    uint64_t seed;
    enum routing routing;
};

/* Run trials first, first + step ... */
static struct sums run_share (const struct args *args,
                              const struct truth *truth,
                              const struct network_case *net,
                              const struct condition *what, size_t first)
{
    struct sums sums = { 0 };
    struct trial t = { .what = what, .truth = *truth };

    for (size_t i = first; i < args->trials; i += args->workers) {
        uint64_t seed = args->seed * 1000000 + i;

        rng_seed (&t.truth.rng, seed);
        if (!t.ps || net->hosts > 0)
            trial_open (&t, net->hosts, seed);
        run_trial (&t, seed, &sums);
        if (net->hosts > 0)
            trial_close (&t);
    }
    if (net->hosts == 0 && t.ps)
        trial_close (&t);
    return sums;
}

static void add (struct sums *to, const struct sums *s)
{
    to->trials += s->trials;
    to->faults += s->faults;
    to->found += s->found;
    to->failed += s->failed;
    to->stray += s->stray;
    to->stray_failed += s->stray_failed;
    to->suspects += s->suspects;
    to->smallest += s->smallest;
    to->unknown += s->unknown;
    to->ok += s->ok;
    for (int i = 0; i < REFERENCES; i++) {
        to->method[i].found += s->method[i].found;
        to->method[i].wrong += s->method[i].wrong;
    }
    to->confirmed += s->confirmed;
    to->rounds += s->rounds;
    to->probes += s->probes;
    to->confirm_s += s->confirm_s;
    to->judge_s += s->judge_s;
}

/* Run one process per worker. They return their sums through a pipe. */
static struct sums run_trials (const struct args *args,
                               const struct truth *truth,
                               const struct network_case *net,
                               const struct condition *what)
{
    struct sums sums = { 0 };
    struct {
        int fd[2];
        pid_t pid;
    } worker[WORKERS_MAX], *p = worker;

    fflush (stdout);
    for (size_t w = 0; w < args->workers; w++, p++) {
        struct sums part;

        if (pipe (p->fd) < 0 || (p->pid = fork ()) < 0) {
            perror ("localise");
            exit (1);
        }
        if (p->pid > 0)
            continue;
        part = run_share (args, truth, net, what, w);
        fflush (stdout);
        _exit (write (p->fd[1], &part, sizeof (part)) != sizeof (part));
    }
    for (p = worker; p < worker + args->workers; p++) {
        struct sums part = { 0 };
        int status;

        close (p->fd[1]);
        if (read (p->fd[0], &part, sizeof (part)) != sizeof (part)
            || waitpid (p->pid, &status, 0) < 0 || status != 0) {
            fprintf (stderr, "localise: a worker failed\n");
            exit (1);
        }
        close (p->fd[0]);
        add (&sums, &part);
    }
    return sums;
}

static void print_row (const struct network_case *net,
                       const struct condition *what, const struct sums *s)
{
    double n = (double)s->trials;
    char found[64] = "";
    char suspects[64] = "";
    char again[64] = "";

    if (s->faults > 0)
        snprintf (found, sizeof (found), "%zu/%zu", s->found, s->faults);
    if (s->smallest > 0)
        snprintf (suspects, sizeof (suspects), "%.2f (%.2f)",
                  (double)s->suspects / (double)s->found,
                  (double)s->smallest / (double)s->found);
    if (s->confirmed > 0)
        snprintf (again, sizeof (again), "%zu, %.1f in %.1f", s->confirmed,
                  (double)s->probes / (double)s->confirmed,
                  (double)s->rounds / (double)s->confirmed);
    printf ("| %-7s | %-7s | %9s | %4zu | %.3f (%.3f) | %-13s "
            "| %.3f (%.3f) | %-17s | %.1f + %.1f |\n",
            what->name, net->name, found, s->failed, (double)s->stray / n,
            (double)s->stray_failed / n, suspects, (double)s->unknown / n,
            (double)s->ok / n, again, 1e3 * s->confirm_s / n,
            1e3 * s->judge_s / n);
    for (int i = 0; i < REFERENCES && what->noise; i++)
        printf ("| ... %s | | | %zu | (%.3f) | | | | |\n",
                reference_names[i], s->method[i].found,
                (double)s->method[i].wrong / n);
    fflush (stdout);
}

/* Whether a word names this row of a table, or no word names any row. */
static bool selected (const char *name, char *const *word, const bool *mine)
{
    bool any = false;

    for (size_t i = 0; word[i]; i++) {
        if (mine[i] && !strcmp (word[i], name))
            return true;
        any |= mine[i];
    }
    return !any;
}

static void run (const struct args *args, char *const *word,
                 const bool *is_network, const bool *is_case)
{
    printf ("| case    | network |     found | FAIL | false (FAIL)  "
            "| suspects      | UNKNOWN | again             | ms |\n"
            "|---|---|---|---|---|---|---|---|---|\n");
    for (const struct network_case *net = network_cases; net->name; net++) {
        struct truth truth;

        if (!selected (net->name, word, is_network))
            continue;
        truth_open (&truth, net, args->routing, args->seed);
        for (size_t i = 0; i < truth.f->nnodes && flows != FLOWS_NONE;
             i += every)
            truth.f->node[i].spread
                = (struct fabric_spread){ .known = true, .hashed = 1 };
        for (size_t c = 0; word[c]; c++) {
            struct condition of;
            struct sums sums;

            if (!is_case[c] || !condition_parse (&of, word[c]))
                continue;
            sums = run_trials (args, &truth, net, &of);
            print_row (net, &of, &sums);
        }
        for (size_t c = 0; c < COUNT (conditions); c++) {
            struct sums sums;

            if (!selected (conditions[c].name, word, is_case))
                continue;
            sums = run_trials (args, &truth, net, &conditions[c]);
            print_row (net, &conditions[c], &sums);
        }
        truth_close (&truth);
    }
}

int main (int argc, char **argv)
{
    static char *small[] = { "16/128", NULL };
    bool least = smallest (argc, argv);
    struct args args = { .trials = least ? 1 : 20, .workers = 2, .seed = 1 };
    bool *is_network = xcalloc (argc, sizeof (*is_network));
    bool *is_case = xcalloc (argc, sizeof (*is_case));
    int c;

    while ((c = getopt (argc, argv, "n:s:w:r:e:f:a:x:lv")) != -1) {
        switch (c) {
        case 'n': args.trials = number (optarg, 1, 1000000); break;
        case 's': args.seed = number (optarg, 0, 1000000); break;
        case 'w': args.workers = number (optarg, 1, WORKERS_MAX); break;
        case 'e': least_se = (double)number (optarg, 0, 1000); break;
        case 'f':
            flows = strcmp (optarg, "one") ? FLOWS_SPREAD : FLOWS_ONE;
            every = strcmp (optarg, "half") ? 1 : 2;
            break;
        case 'a':
            sscanf (optarg, "%ux%u", &again_flows, &again_messages);
            break;
        case 'x': export_to = optarg; break;
        case 'l': with_loopbacks = false; break;
        case 'v': verbose = true; break;
        case 'r': args.routing = routing_argument (optarg); break;
        default:
            fprintf (stderr,
                     "Usage: localise [--smallest] [-n TRIALS] [-s SEED] "
                     "[-w WORKERS] [-r dmodk|minhop|random] [-e SE] "
                     "[-f one|spread|half] [-l] [-v] [-x DIR] "
                     "[CASE|NOISE/FAULT|NETWORK]...\n");
            return 2;
        }
    }
    print_command (argc, argv);
    printf (", %zu trials, %s:\n\n", args.trials,
            routing_names[args.routing]);
    argv = least && !argv[optind] ? small : argv + optind;
    for (size_t i = 0; argv[i]; i++) {
        struct condition of;

        is_network[i] = network_case_find (argv[i]);
        for (size_t k = 0; k < COUNT (conditions); k++)
            is_case[i] |= !strcmp (argv[i], conditions[k].name);
        is_case[i] |= condition_parse (&of, argv[i])
                      && of.change != CHANGE_ROUTES;
        if (!is_network[i] && !is_case[i])
            no_case (argv[i]);
    }
    run (&args, argv, is_network, is_case);
    free (is_network);
    free (is_case);
    return 0;
}
