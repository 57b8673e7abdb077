/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rates - how well are links found that carry too little?
 *
 *   rates [--smallest] [-n TRIALS] [-s SEED] [-w WORKERS] [-r RUNS] [-b] [-p] [-v]
 *         [DAY/FAULT|NETWORK...]
 *
 * Each trial draws a job's hosts, what each host and cable carries, and others'
 * flows. A run is what a check does: loads_make, two bursts of each flow,
 * loads_again, five of each, crowd_make, one of each. A first run is the baseline
 * (-b: there is none); the fault begins, and RUNS (default: 4) more, as if a day apart,
 * are judged, each by all before. Others' flows are drawn again for each run; of
 * those that never pause one in ten stays till the next.
 *
 * Days: quiet; mixed (hosts of 100, 200 and 400 Gb/s); site: others' flows on 5 to
 * 30 % of the cables between switches, each wants 10 to 90 % of a cable, and half of
 * them pause during 20 to 80 % of the bursts; hosts that carry -5 to +2 %, 1 % more or
 * less in each run; a third of the hosts of another kind, at 87 %; a tenth in slots
 * below their adapters; some PCIe links that idle at 2.5 GT/s; storage that is busy
 * from one side; beside, same: a quiet day, but for one flow of others that never
 * pauses, wants 30 to 90 % of a cable between switches that the job uses, and stays for
 * all runs: of another cable than the fault's, or the same.
 *
 * Faults: none; pcie-half; width-half; host-N and switch-N: N % less of its cable;
 * host-oneway, switch-oneway: half of one direction; receive-75; numa-77;
 * throttle-13; asic-60: all cables of a switch at 60 %. Those of cables between
 * switches are drawn from what the job's plan can fill.
 *
 *   named     trials whose worst finding of the fault's link has it alone, or with
 *             links that the flows do not tell apart from it, in the first run
 *   crowd     trials in which the job's paths allow a crowd over the fault's cable;
 *             (named) of these
 *   FAIL      ... at that level; UNKNOWN
 *   false     trials with a WARN or FAIL of other links; (FAIL) with a FAIL
 *   unknown   trials with an UNKNOWN finding of other links
 *   again     trials in which the last run has it as WARN or FAIL, of links
 *             between switches by the baseline of the runs before; then its false ones
 *   drained   trials in which two runs, one after the other, have a FAIL of one host
 *             end without a fault
 *   bursts    of a host, on average, in a run
 *
 * -p: below each row, on the same fabric, what others do, with two bursts a flow: all
 * pairs in n - 1 rounds that know no routes (a host whose median is 10 % below
 * that of all); ClusterKit's rule (pairs below 93 % of the best are measured again,
 * half as many in a round each time; what stays is bad); halving (a ring over
 * half of the hosts, then of the slower half). How many rounds or rings they need,
 * how often they name the fault, and something else.
 */
#include "config.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/need.h"
#include "bench/networks.h"
#include "core/judge/rates.h"
#include "core/linear/stats.h"
#include "core/rate/carry.h"
#include "core/rate/crowd.h"
#include "core/rate/loads.h"
#include "core/test/traffic.h"
#include "ibquery/fabric.h"
#include "report/words.h"
#include "util/alloc.h"

#define COUNT(v) (sizeof (v) / sizeof ((v)[0]))

enum { WORKERS_MAX = 2, METHODS = 3, RUNS_MOST = 14 };

#define GB 1e9
#define PAYLOAD (4096. / (4096 + 26))
#define USUAL .975 /* of payload, by a host */

static const struct {
    const char *name;
    unsigned int ports;
    size_t hosts; /* of the job; 0: all */
} networks[] = {
    { "16/128", 8, 16 },
    { "64/128", 8, 64 },
    { "32/432", 12, 32 },
    { "128", 8, 0 },
};

enum day { DAY_QUIET, DAY_MIXED, DAY_SITE, DAY_BESIDE, DAY_SAME, DAYS };
static const char *const days[DAYS]
    = { "quiet", "mixed", "site", "beside", "same" };

static const struct malady {
    const char *name;
    enum { AT_NONE, AT_HOST, AT_CABLE, AT_ASIC } at;
    double arc[2];    /* what is left of the cable */
    double host[3];   /* of sending, receiving, the loopback */
    bool pcie, width; /* PCIe or the port says so */
} maladies[] = {
    { "none", AT_NONE, { 1, 1 }, { 1, 1, 1 } },
    { "pcie-half", AT_HOST, { 1, 1 }, { .5, .5, .5 }, .pcie = true },
    { "width-half", AT_HOST, { .5, .5 }, { 1, 1, 1 }, .width = true },
    { "host-10", AT_HOST, { .9, .9 }, { 1, 1, 1 } },
    { "host-20", AT_HOST, { .8, .8 }, { 1, 1, 1 } },
    { "host-50", AT_HOST, { .5, .5 }, { 1, 1, 1 } },
    { "host-oneway", AT_HOST, { .5, 1 }, { 1, 1, 1 } },
    { "receive-75", AT_HOST, { 1, 1 }, { 1, .75, .75 } },
    { "numa-77", AT_HOST, { 1, 1 }, { .77, .77, .77 } },
    { "throttle-13", AT_HOST, { 1, 1 }, { .13, .13, .13 } },
    { "switch-10", AT_CABLE, { .9, .9 }, { 1, 1, 1 } },
    { "switch-20", AT_CABLE, { .8, .8 }, { 1, 1, 1 } },
    { "switch-50", AT_CABLE, { .5, .5 }, { 1, 1, 1 } },
    { "switch-oneway", AT_CABLE, { .5, 1 }, { 1, 1, 1 } },
    { "asic-60", AT_ASIC, { .6, .6 }, { 1, 1, 1 } },
};

struct method_sums {
    size_t runs, named, wrong;
};

struct rate_sums {
    size_t trials, named, failed, unknown;
    size_t crowd, crowd_named;
    size_t stray, stray_failed, stray_unknown, drained;
    size_t again, again_stray, again_failed;
    size_t bursts, ends;
    struct method_sums method[METHODS];
};

struct day_scene {
    const struct malady *what;
    enum day day;
    const struct network *net;
    struct pathset *ps;
    size_t n;
    struct plan *plan;
    double *arc_bits;          /* [2 * nlinks] */
    struct traffic_host *host; /* [n] */
    double *adapter;           /* [n] share of what is usual */
    bool *slot, *idle, *kin;   /* [n] */
    struct traffic_flow *other, *store;
    size_t nothers, nstores;
    struct rng rng;
    uint32_t fault; /* link, or switch; NETWORK_NONE */
    uint32_t sick;  /* endpoint; NETWORK_NONE */
    bool ill;
    bool crowd; /* possible over the fault's cable */
};

static double nominal_of (const struct day_scene *s, uint32_t end)
{
    return s->net->link[pathset_end_link (s->ps, end)].rate;
}

static struct pcie_rate slot_of (const struct day_scene *s, uint32_t end)
{
    double bits = nominal_of (s, end);

    if (s->slot[end])
        return (struct pcie_rate){ 8, bits > 150 * GB ? 16000 : 8000 };
    if (s->kin[end]) /* told from the others by its slot */
        return (struct pcie_rate){ 16, 64000 };
    return (struct pcie_rate){ 16, bits > 250 * GB ? 32000 : 16000 };
}

/* What a host can do in this run. */
static struct traffic_host host_now (struct day_scene *s, uint32_t end)
{
    struct pcie_rate slot = slot_of (s, end);
    double run = s->day == DAY_SITE ? 1 + .01 * rng_normal (&s->rng) : 1;
    double bits = fmin (nominal_of (s, end) * PAYLOAD,
                        pcie_usable (&slot, PCIE_PAYLOAD))
                  * USUAL * s->adapter[end] * run;
    struct traffic_host host = { bits, bits, bits * 1.01 };

    if (s->ill && s->sick == end) {
        host.send *= s->what->host[0];
        host.receive *= s->what->host[1];
        host.loopback *= s->what->host[2];
    }
    return host;
}

static bool is_sick_link (const struct day_scene *s, uint32_t link)
{
    const uint32_t *end = s->net->link[link].end;

    return s->fault != NETWORK_NONE
           && (s->what->at == AT_ASIC ? end[0] == s->fault || end[1] == s->fault
                                      : link == s->fault);
}

static void set_arcs (struct day_scene *s)
{
    for (uint32_t x = 0; x < 2 * s->net->nlinks; x++) {
        uint32_t link = arc_link (x);

        s->arc_bits[x] = s->net->link[link].rate * PAYLOAD;
        if (s->ill && is_sick_link (s, link))
            s->arc_bits[x] *= s->what->arc[x % 2];
    }
}

/* One that never pauses. */
static void draw_steady (struct day_scene *s)
{
    size_t n;
    const uint32_t *link = pathset_links (s->ps, &n, NULL);
    uint32_t of = s->fault;

    while (s->day != DAY_SAME || of == NETWORK_NONE) {
        of = link[rng_below (&s->rng, n)];
        if (s->net->link[of].kind == LINK_SWITCH && of != s->fault)
            break;
    }
    s->other[0] = (struct traffic_flow){
        2 * of + (uint32_t)rng_below (&s->rng, 2),
        (.3 + .6 * rng_uniform (&s->rng)) * s->net->link[of].rate,
        0,
    };
    s->nothers = 1;
}

/* keep: of those that never pause, one in ten. */
static void draw_others (struct day_scene *s, bool keep)
{
    bool steady = s->day == DAY_BESIDE || s->day == DAY_SAME;
    double share = s->day == DAY_SITE ? .05 + .25 * rng_uniform (&s->rng) : 0;
    size_t n = 0;

    if (steady && !keep)
        draw_steady (s);
    if (steady)
        return;
    for (size_t i = 0; i < s->nothers && keep; i++)
        if (s->other[i].pause == 0 && rng_below (&s->rng, 10) == 0)
            s->other[n++] = s->other[i];
    if (keep)
        share = fmax (0, share - .05);
    for (uint32_t l = 0; l < s->net->nlinks; l++) {
        if (s->net->link[l].kind != LINK_SWITCH
            || rng_uniform (&s->rng) >= share)
            continue;
        for (uint32_t way = 0; way < 2; way++)
            if (rng_below (&s->rng, 3) > 0)
                s->other[n++] = (struct traffic_flow){
                    2 * l + way,
                    (.1 + .8 * rng_uniform (&s->rng)) * s->net->link[l].rate,
                    rng_below (&s->rng, 2) ? 0
                                           : .2 + .6 * rng_uniform (&s->rng),
                };
    }
    s->nothers = n;
    for (size_t i = 0; i < s->nstores; i++)
        s->other[s->nothers++] = s->store[i];
}

static void draw_hosts_of_day (struct day_scene *s)
{
    bool kin = s->day == DAY_SITE && rng_below (&s->rng, 2);

    s->nstores = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        uint32_t link = pathset_end_link (s->ps, i);
        bool site = s->day == DAY_SITE;

        s->kin[i] = kin && rng_below (&s->rng, 3) == 0;
        s->slot[i] = site && !s->kin[i] && rng_below (&s->rng, 10) == 0;
        s->idle[i] = site && rng_below (&s->rng, 20) == 0;
        s->adapter[i] = site ? .95 + .07 * rng_uniform (&s->rng) : 1;
        s->adapter[i] *= s->kin[i] ? .87 : 1;
        if (site && rng_below (&s->rng, 50) == 0)
            s->store[s->nstores++] = (struct traffic_flow){
                2 * link + (uint32_t)rng_below (&s->rng, 2),
                (.3 + .6 * rng_uniform (&s->rng)) * s->net->link[link].rate,
                0,
            };
    }
}

/* What a port says of itself. */
static struct burst_port port_now (const struct day_scene *s, uint32_t end)
{
    uint32_t link = pathset_end_link (s->ps, end);
    struct burst_port p = {
        .end = end,
        .bits = nominal_of (s, end),
        .mtu = 4096,
        .able = slot_of (s, end),
    };

    p.could = p.now = p.able;
    if (s->idle[end])
        p.now.mts = 2500;
    if (s->ill && s->sick == end) {
        if (s->what->pcie)
            p.now.lanes /= 2;
        if (s->what->width)
            p.bits /= 2;
    }
    for (size_t i = 0; i < s->nothers; i++)
        if (arc_link (s->other[i].arc) == link)
            p.others_bits
                = fmax (p.others_bits,
                        fmin (s->other[i].bits, s->net->link[link].rate / 2));
    return p;
}

static void begin_run (struct day_scene *s)
{
    set_arcs (s);
    for (uint32_t i = 0; i < s->n; i++)
        s->host[i] = host_now (s, i);
}

static struct traffic_sim traffic_now (const struct day_scene *s,
                                       unsigned int bursts)
{
    return (struct traffic_sim){
        .arc_bits = s->arc_bits,
        .host = s->host,
        .other = s->other,
        .nothers = s->nothers,
        .noise = .005,
        .bursts = bursts,
    };
}

static struct bursts *measure_run (struct day_scene *s, uint64_t seed)
{
    struct loads_options opts = { .seed = seed };
    struct bursts *b = bursts_create ();
    struct traffic_sim t;
    struct plan *again;
    struct error err;

    begin_run (s);
    t = traffic_now (s, 2);
    for (uint32_t i = 0; i < s->n; i++) {
        struct burst_port p = port_now (s, i);

        bursts_add_port (b, &p);
    }
    if (traffic_measure (&t, s->ps, s->plan, 0, b, &s->rng, &err) < 0)
        die (&err);
    traffic_loopbacks (&t, s->ps, 100000, b, &s->rng);
    again = need (loads_again (s->ps, s->plan, b, &opts, &err), &err);
    t.bursts = 5;
    if (traffic_measure (&t, s->ps, again, 1000, b, &s->rng, &err) < 0)
        die (&err);
    plan_destroy (again);
    again = need (crowd_make (s->ps, b, seed, &err), &err);
    t.bursts = 1; /* more would use a cable for too long */
    t.crowds = true;
    if (traffic_measure (&t, s->ps, again, 2000, b, &s->rng, &err) < 0)
        die (&err);
    plan_destroy (again);
    return b;
}

/* Draw a fault that the plan can show. */
static void draw_malady (struct day_scene *s)
{
    struct carry *c;
    struct bursts *b;
    struct error err;
    uint32_t *link = xarray (s->net->nlinks, sizeof (*link)), n = 0;

    s->fault = s->sick = NETWORK_NONE;
    if (s->what->at == AT_HOST) {
        s->sick = (uint32_t)rng_below (&s->rng, s->n);
        /* where a cable at 80 % is no less than the host needs, nothing shows it */
        s->slot[s->sick] = s->idle[s->sick] = s->kin[s->sick] = false;
        s->adapter[s->sick] = fmax (s->adapter[s->sick], .95);
        for (size_t i = 0; i < s->nstores; i++)
            if (arc_link (s->store[i].arc) == pathset_end_link (s->ps, s->sick))
                s->store[i--] = s->store[--s->nstores];
        s->fault = pathset_end_link (s->ps, s->sick);
    }
    else if (s->what->at != AT_NONE) {
        s->nothers = 0;
        b = measure_run (s, 1);
        c = need (bursts_carried (b, s->ps, &err), &err);
        for (uint32_t l = 0; l < s->net->nlinks; l++)
            if (s->net->link[l].kind == LINK_SWITCH
                && c->link[l].asked[0] > .9 * s->net->link[l].rate
                && c->link[l].asked[1] > .9 * s->net->link[l].rate)
                link[n++] = l;
        if (n > 0) {
            s->fault = link[rng_below (&s->rng, n)];
            if (s->what->at == AT_ASIC)
                s->fault = s->net->link[s->fault].end[rng_below (&s->rng, 2)];
        }
        carry_destroy (c);
        bursts_destroy (b);
    }
    free (link);
}

/* A path over an arc. */
struct across_path {
    uint32_t a, b, arc[PATH_MAX_HOPS];
    int at, hops;
};

static bool shares_tail (const struct across_path *p,
                         const struct across_path *q)
{
    for (int i = p->at + 1; i < p->hops; i++)
        for (int k = q->at + 1; k < q->hops; k++)
            if (p->arc[i] == q->arc[k])
                return true;
    return false;
}

/* Two flows over it through other ports can show that the arc is not at fault: they
 * share nothing behind it, or end at one host and other flows show the way there.
 */
static bool is_crowd_of_two (const struct across_path *p,
                             const struct across_path *q, const bool *elsewhere)
{
    if (p->arc[p->at - 1] == q->arc[q->at - 1] || p->a == q->a
        || p->a == q->b || p->b == q->a)
        return false;
    if (p->b != q->b)
        return !shares_tail (p, q);
    for (int i = p->at + 1; i < p->hops - 1; i++)
        if (!elsewhere[p->arc[i]])
            return false;
    return true;
}

static bool allows_crowd (const struct day_scene *s, uint32_t arc)
{
    struct across_path *path = xarray (s->n * s->n, sizeof (*path));
    bool *elsewhere = xcalloc (2 * s->net->nlinks, sizeof (*elsewhere)), may = false;
    size_t n = 0;

    for (uint32_t a = 0; a < s->n; a++)
        for (uint32_t b = 0; b < s->n; b++) {
            struct across_path *p = &path[n];

            p->a = a;
            p->b = b;
            p->hops = a == b ? 0 : pathset_walk (s->ps, a, b, p->arc, NULL);
            p->at = 0;
            for (int h = 1; h < p->hops; h++)
                if (p->arc[h] == arc)
                    p->at = h;
            for (int h = 0; h < p->hops && p->at == 0; h++)
                elsewhere[p->arc[h]] = true;
            n += p->at > 0;
        }
    for (size_t i = 0; i < n && !may; i++)
        for (size_t k = 0; k < i && !may; k++)
            may = is_crowd_of_two (&path[i], &path[k], elsewhere);
    free (path);
    free (elsewhere);
    return may;
}

static bool verbose;
static bool without_baseline;
static int judged = 4; /* runs */

static struct verdict *judge_run (struct day_scene *s,
                                  const struct baseline *base, uint64_t seed,
                                  struct samples **run, struct rate_sums *sums)
{
    const struct bursts *b;
    struct verdict *v = verdict_create ();
    struct error err;

    *run = samples_create ();
    (*run)->bursts = measure_run (s, seed);
    b = (*run)->bursts;

    if (judge_rates (v, s->ps, b, base, &judge_defaults, &err) < 0)
        die (&err);
    for (size_t i = 0; i < b->nflows; i++)
        sums->bursts += b->flow[i].way[0].kept + b->flow[i].way[1].kept;
    sums->ends += s->n;
    if (verbose) {
        for (size_t i = 0; i < v->nfindings; i++)
            printf ("#   %s %s, of %zu: %s\n",
                    verdict_status_name (v->finding[i].level),
                    s->net->link[v->finding[i].suspect[0]].id,
                    v->finding[i].nsuspects, words_why (&v->finding[i]));
        for (size_t i = 0; i < v->nlimits; i++)
            printf ("#   limit: %s\n", words_fact (&v->limit[i]));
    }
    return v;
}

static bool has_sick (const struct day_scene *s, const struct finding *f)
{
    bool has = false;

    for (size_t k = 0; k < f->nsuspects; k++)
        has |= is_sick_link (s, f->suspect[k]);
    return has;
}

static void count_run (const struct day_scene *s, const struct verdict *v,
                       int run, struct rate_sums *sums)
{
    enum verdict_status found = VERDICT_OK;
    bool stray = false, failed = false, unknown = false;

    for (size_t i = 0; i < v->nfindings; i++) {
        const struct finding *f = &v->finding[i];

        if (has_sick (s, f)) {
            /* a host end is named alone */
            if (f->level > found
                && (s->sick == NETWORK_NONE || f->nsuspects == 1))
                found = f->level;
            continue;
        }
        stray |= f->level != VERDICT_UNKNOWN;
        failed |= f->level == VERDICT_FAIL;
        unknown |= f->level == VERDICT_UNKNOWN;
    }
    if (run > 0) {
        sums->again += found == VERDICT_WARN || found == VERDICT_FAIL;
        sums->again_stray += stray;
        sums->again_failed += failed;
        return;
    }
    sums->named += found != VERDICT_OK;
    sums->crowd += s->crowd;
    sums->crowd_named += s->crowd && found != VERDICT_OK;
    sums->failed += found == VERDICT_FAIL;
    sums->unknown += found == VERDICT_UNKNOWN;
    sums->stray += stray;
    sums->stray_failed += failed;
    sums->stray_unknown += unknown;
}

static bool fails_host (const struct verdict *v, uint32_t link)
{
    for (size_t i = 0; i < v->nfindings; i++)
        if (v->finding[i].level == VERDICT_FAIL
            && v->finding[i].kind == FINDING_HOST_END
            && v->finding[i].suspect[0] == link)
            return true;
    return false;
}

/* Whether two runs, one after the other, FAIL a host end that has no fault. */
static bool drains_another (const struct day_scene *s,
                            struct verdict *const *v)
{
    for (uint32_t l = 0; l < s->net->nlinks; l++)
        for (int day = 1; day < judged; day++)
            if (!is_sick_link (s, l) && fails_host (v[day - 1], l)
                && fails_host (v[day], l))
                return true;
    return false;
}

/*
 * What others do
 */

static bool with_peers;

static double rates_of_pairs (struct day_scene *s, const struct probe *pair,
                              size_t n, double *rate)
{
    struct traffic_sim t = traffic_now (s, 2);
    struct bursts *b = bursts_create ();
    double least = HUGE_VAL;
    struct error err;

    if (traffic_round (&t, s->ps, pair, n, 0, b, &s->rng, &err) < 0)
        die (&err);
    for (size_t i = 0; i < n; i++) {
        rate[i] = fmin (b->flow[i].way[0].best, b->flow[i].way[1].best);
        least = fmin (least, rate[i]);
    }
    bursts_destroy (b);
    return least;
}

/* Whether a host is, or is not, what is at fault: for a cable, either is wrong. */
static void count_method (const struct day_scene *s, struct method_sums *m,
                          size_t runs, const bool *bad)
{
    bool wrong = false;

    m->runs += runs;
    for (uint32_t i = 0; i < s->n; i++)
        wrong |= bad[i] && i != s->sick;
    m->named += s->sick != NETWORK_NONE && bad[s->sick];
    m->wrong += wrong;
}

/* Round r of a tournament of n (even) hosts. */
static struct probe tournament_pair (size_t n, size_t r, size_t i)
{
    size_t m = n - 1, a = i == 0 ? m : (r + i) % m, b = (r + m - i) % m;

    return (struct probe){ (uint32_t)a, (uint32_t)b };
}

static void all_pairs (struct day_scene *s, struct method_sums *blind,
                       struct method_sums *kit)
{
    size_t n = s->n & ~(size_t)1, rounds = n - 1, half = n / 2, nbad = 0;
    double *rate = xarray (rounds * half, sizeof (*rate)), best = 0, *of, all;
    struct probe *pair = xarray (rounds * half, sizeof (*pair));
    bool *bad = xcalloc (s->n, sizeof (*bad));
    size_t runs = rounds, together;

    of = xarray (rounds * half, sizeof (*of));
    for (size_t r = 0; r < rounds; r++) {
        for (size_t i = 0; i < half; i++)
            pair[r * half + i] = tournament_pair (n, r, i);
        rates_of_pairs (s, pair + r * half, half, rate + r * half);
    }
    for (size_t i = 0; i < rounds * half; i++)
        best = fmax (best, of[i] = rate[i]);
    all = stats_median (of, rounds * half);
    for (uint32_t h = 0; h < s->n; h++) {
        size_t m = 0;

        for (size_t i = 0; i < rounds * half; i++)
            if (pair[i].a == h || pair[i].b == h)
                of[m++] = rate[i];
        bad[h] = m > 0 && stats_median (of, m) < .9 * all;
    }
    count_method (s, blind, rounds, bad);

    for (size_t i = 0; i < rounds * half; i++)
        if (rate[i] < .93 * best)
            pair[nbad++] = pair[i];
    for (together = half / 2; together > 0 && nbad > 0; together /= 2) {
        size_t kept = 0;

        for (size_t i = 0; i < nbad; i += together, runs++) {
            size_t m = together < nbad - i ? together : nbad - i;

            /* a host may be in several: it is measured in each */
            for (size_t k = 0; k < m; k++)
                rates_of_pairs (s, pair + i + k, 1, rate + i + k);
            if (together > 1)
                rates_of_pairs (s, pair + i, m, rate + i);
        }
        for (size_t i = 0; i < nbad; i++)
            if (rate[i] < .93 * best)
                pair[kept++] = pair[i];
        nbad = kept;
    }
    memset (bad, 0, s->n * sizeof (*bad));
    for (uint32_t h = 0; h < s->n; h++) {
        size_t m = 0;

        for (size_t i = 0; i < nbad; i++)
            m += pair[i].a == h || pair[i].b == h;
        bad[h] = 2 * m >= rounds; /* in most of its pairs */
    }
    count_method (s, kit, runs, bad);
    free (rate);
    free (pair);
    free (bad);
    free (of);
}

/* A ring over some hosts, as a collective's. */
static double ring_rate (struct day_scene *s, const uint32_t *host, size_t n)
{
    struct probe *pair = xarray (n, sizeof (*pair));
    double *rate = xarray (n, sizeof (*rate)), least;

    for (size_t i = 0; i < n; i++)
        pair[i] = (struct probe){ host[i], host[(i + 1) % n] };
    least = rates_of_pairs (s, pair, n == 2 ? 1 : n, rate);
    free (pair);
    free (rate);
    return least;
}

static void halve (struct day_scene *s, struct method_sums *m)
{
    uint32_t *host = xarray (s->n, sizeof (*host)), *at = host;
    bool *bad = xcalloc (s->n, sizeof (*bad));
    size_t n = s->n, runs = 0;

    for (uint32_t i = 0; i < s->n; i++)
        host[i] = i;
    while (n >= 4) {
        double first = ring_rate (s, at, n / 2);
        double second = ring_rate (s, at + n / 2, n - n / 2);

        runs += 2;
        if (runs == 2 && fmin (first, second) > .9 * fmax (first, second)
            && s->what->at == AT_NONE) {
            n = 0;
            break;
        }
        if (second < first)
            at += n / 2;
        n = second < first ? n - n / 2 : n / 2;
    }
    /* each of those left beside a host of the other half */
    if (n > 0) {
        uint32_t good = at == host ? host[s->n - 1] : host[0];
        double least = HUGE_VAL;
        uint32_t worst = at[0];

        for (size_t i = 0; i < n; i++, runs++) {
            double rate = ring_rate (s, (uint32_t[]){ at[i], good }, 2);

            if (rate < least) {
                least = rate;
                worst = at[i];
            }
        }
        bad[worst] = true;
    }
    count_method (s, m, runs, bad);
    free (host);
    free (bad);
}

/*
 * Trials
 */

struct bench_args {
    size_t trials, workers;
    uint64_t seed;
    size_t network;
    const struct malady *what;
    enum day day;
};

static void run_rate_trial (const struct bench_args *args, struct fabric *f,
                            uint64_t seed, struct rate_sums *sums)
{
    struct day_scene s
        = { .what = args->what, .day = args->day, .net = fabric_network (f) };
    struct loads_options opts = { .seed = seed };
    struct samples *run[1 + RUNS_MOST] = { samples_create () }; /* before; each day */
    struct verdict *v[RUNS_MOST];
    struct error err;

    rng_seed (&s.rng, seed);
    for (size_t l = 0; l < s.net->nlinks; l++)
        f->link_info[l].rate
            = args->day != DAY_MIXED ? 200 * GB
              : f->link_info[l].kind == LINK_SWITCH
                  ? 400 * GB
                  : 100 * GB * (double)(1 << rng_below (&s.rng, 3));
    s.ps = need (draw_hosts (f,
                             networks[args->network].hosts
                                 ? networks[args->network].hosts
                                 : f->nhosts,
                             &s.rng, &err),
                 &err);
    s.n = pathset_size (s.ps);
    s.arc_bits = xarray (2 * s.net->nlinks, sizeof (*s.arc_bits));
    s.host = xarray (s.n, sizeof (*s.host));
    s.adapter = xarray (s.n, sizeof (*s.adapter));
    s.slot = xcalloc (s.n, sizeof (*s.slot));
    s.idle = xcalloc (s.n, sizeof (*s.idle));
    s.kin = xcalloc (s.n, sizeof (*s.kin));
    s.other = xarray (4 * s.net->nlinks + s.n, sizeof (*s.other));
    s.store = xarray (s.n, sizeof (*s.store));
    s.plan = need (loads_make (s.ps, &opts, &err), &err);
    draw_hosts_of_day (&s);
    draw_malady (&s);
    if (s.what->at != AT_NONE && s.fault == NETWORK_NONE)
        goto done;
    s.crowd = s.what->at == AT_CABLE
              && (allows_crowd (&s, 2 * s.fault)
                  || allows_crowd (&s, 2 * s.fault + 1));
    draw_others (&s, false);
    run[0]->bursts = measure_run (&s, seed);
    s.ill = true;
    for (int day = 0; day < judged; day++) {
        struct baseline *base;

        draw_others (&s, day > 0);
        if (verbose)
            printf ("# trial %ju, run %d, fault %s\n", (uintmax_t)seed, day,
                    s.fault == NETWORK_NONE ? "none"
                    : s.what->at == AT_ASIC ? s.net->sw[s.fault].name
                                            : s.net->link[s.fault].id);
        base = baseline_create (
            need (pathset_on (s.ps, s.net, &err), &err));
        for (int64_t k = day; k >= 0; k--)
            if (baseline_add (base, run[k], k + 1, &err) < 0)
                die (&err);
        v[day] = judge_run (&s, without_baseline ? NULL : base, seed + 1 + day,
                            &run[day + 1], sums);
        baseline_destroy (base);
        if (day == 0 || day == judged - 1)
            count_run (&s, v[day], day, sums);
        if (day == 0 && with_peers) {
            all_pairs (&s, &sums->method[0], &sums->method[1]);
            halve (&s, &sums->method[2]);
        }
    }
    sums->trials++;
    sums->drained += drains_another (&s, v);
    for (int day = 0; day < judged; day++)
        verdict_destroy (v[day]);
done:
    for (int k = 0; k <= judged; k++)
        samples_destroy (run[k]);
    plan_destroy (s.plan);
    pathset_destroy (s.ps);
    free (s.arc_bits);
    free (s.host);
    free (s.adapter);
    free (s.slot);
    free (s.idle);
    free (s.kin);
    free (s.other);
    free (s.store);
}

static struct rate_sums run_part (const struct bench_args *args, size_t first)
{
    struct fat_tree tree
        = { .ports = networks[args->network].ports,
            .levels = 3,
            .how = { .routing = ROUTING_DMODK, .seed = args->seed } };
    struct rate_sums sums = { 0 };
    struct error err;
    struct fabric *f = need (generate_fat_tree (&tree, &err), &err);

    for (size_t i = first; i < args->trials; i += args->workers)
        run_rate_trial (args, f, args->seed * 1000000 + i, &sums);
    fabric_destroy (f);
    return sums;
}

/* All members are counts. */
static void add_sums (struct rate_sums *to, const struct rate_sums *s)
{
    for (size_t i = 0; i < sizeof (*to) / sizeof (size_t); i++)
        ((size_t *)to)[i] += ((const size_t *)s)[i];
}

static struct rate_sums run_parts (const struct bench_args *args)
{
    struct rate_sums sums = { 0 };
    int fd[WORKERS_MAX][2];
    pid_t pid[WORKERS_MAX];

    fflush (stdout);
    for (size_t w = 0; w < args->workers; w++) {
        struct rate_sums part;

        if (pipe (fd[w]) < 0 || (pid[w] = fork ()) < 0) {
            perror ("rates");
            exit (1);
        }
        if (pid[w] > 0)
            continue;
        part = run_part (args, w);
        fflush (stdout);
        _exit (write (fd[w][1], &part, sizeof (part)) != sizeof (part));
    }
    for (size_t w = 0; w < args->workers; w++) {
        struct rate_sums part;
        int status;

        close (fd[w][1]);
        if (read (fd[w][0], &part, sizeof (part)) != sizeof (part)
            || waitpid (pid[w], &status, 0) < 0 || status != 0) {
            fprintf (stderr, "rates: a worker failed\n");
            exit (1);
        }
        close (fd[w][0]);
        add_sums (&sums, &part);
    }
    return sums;
}

static void print_rates_row (const struct bench_args *args,
                             const struct rate_sums *s)
{
    static const char *const methods[METHODS]
        = { "all pairs", "ClusterKit's rule", "halving" };
    double n = s->trials > 0 ? (double)s->trials : NAN;

    printf (
        "| %s/%s | %s | %zu | %.1f %% | %.1f %% (%.1f %%) | %.1f %% (%.1f %%) "
        "| %.1f %% (%.1f %%) "
        "| %.1f %% | %.1f %% | %.1f %% (%.1f %%) | %zu | %.1f |\n",
        days[args->day], args->what->name, networks[args->network].name,
        s->trials, 100 * (double)s->named / n, 100 * (double)s->crowd / n,
        100 * (double)s->crowd_named / (double)(s->crowd ? s->crowd : 1),
        100 * (double)s->failed / n,
        100 * (double)s->unknown / n, 100 * (double)s->stray / n,
        100 * (double)s->stray_failed / n, 100 * (double)s->stray_unknown / n,
        100 * (double)s->again / n, 100 * (double)s->again_stray / n,
        100 * (double)s->again_failed / n, s->drained,
        (double)s->bursts / (double)s->ends);
    for (int i = 0; i < METHODS && with_peers; i++)
        printf ("| ... %s | | | %.1f %% | | | %.1f %% | | | | | %.0f runs |\n",
                methods[i], 100 * (double)s->method[i].named / n,
                100 * (double)s->method[i].wrong / n,
                (double)s->method[i].runs / n);
    fflush (stdout);
}

static bool parse_case (struct bench_args *args, const char *word)
{
    const char *slash = strchr (word, '/');

    for (int d = 0; d < DAYS && slash; d++)
        for (size_t i = 0; i < COUNT (maladies); i++)
            if (!strncmp (word, days[d], (size_t)(slash - word))
                && strlen (days[d]) == (size_t)(slash - word)
                && !strcmp (slash + 1, maladies[i].name)) {
                args->day = (enum day)d;
                args->what = &maladies[i];
                return true;
            }
    return false;
}

int main (int argc, char **argv)
{
    bool least = smallest (argc, argv), any = false;
    struct bench_args args
        = { .trials = least ? 1 : 50, .workers = 2, .seed = 1 };
    int c;

    while ((c = getopt (argc, argv, "n:s:w:r:bpv")) != -1)
        switch (c) {
        case 'n':
            args.trials = number (optarg, 1, 1000000);
            break;
        case 's':
            args.seed = number (optarg, 0, 1000000);
            break;
        case 'w':
            args.workers = number (optarg, 1, WORKERS_MAX);
            break;
        case 'r':
            judged = (int)number (optarg, 1, RUNS_MOST);
            break;
        case 'b':
            without_baseline = true;
            break;
        case 'p':
            with_peers = true;
            break;
        case 'v':
            verbose = true;
            break;
        default:
            fprintf (stderr, "Usage: rates [--smallest] [-n TRIALS] [-s SEED] "
                             "[-w WORKERS] [-r RUNS] [-b] [-p] [-v] "
                             "[DAY/FAULT|NETWORK]...\n");
            return 2;
        }
    print_command (argc, argv);
    printf (", %zu trials:\n\n"
            "| day/fault | network | trials | named | crowd (named) | FAIL (UNKNOWN) | false "
            "(FAIL) "
            "| unknown | again | false (FAIL) | drained | bursts |\n"
            "|---|---|---|---|---|---|---|---|---|---|---|---|\n",
            args.trials);
    for (size_t k = 0; k < COUNT (networks); k++) {
        struct rate_sums sums;
        bool named = false, mine = false;

        for (int i = optind; i < argc; i++)
            for (size_t q = 0; q < COUNT (networks); q++) {
                named |= !strcmp (argv[i], networks[q].name);
                mine |= q == k && !strcmp (argv[i], networks[q].name);
            }
        if ((named && !mine) || (least && !named && k > 0))
            continue;
        args.network = k;
        any = false;
        for (int i = optind; i < argc; i++)
            if (parse_case (&args, argv[i])) {
                any = true;
                sums = run_parts (&args);
                print_rates_row (&args, &sums);
            }
        for (size_t i = 0; i < COUNT (maladies) && !any; i++) {
            args.what = &maladies[i];
            args.day = DAY_SITE;
            sums = run_parts (&args);
            print_rates_row (&args, &sums);
        }
    }
    return 0;
}
