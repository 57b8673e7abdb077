/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes: all flows of a plan, with their arcs, are stored in order first. The
 * sums of a round are computed again when they are needed: the arcs of its
 * flows are few compared with those of the network.
 */
#include "config.h"
#include "compare/throughput/carry.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare/throughput/across.h"
#include "compare/throughput/fair.h"
#include "core/linear/stats.h"
#include "util/alloc.h"

struct flows {
    size_t n, nrounds, narcs;
    size_t *round; /* [nrounds + 1] its first flow */
    size_t *first; /* [n + 1] its first arc */
    uint32_t *arc;
};

struct slow_by {
    size_t flow;
    uint32_t link;
};

struct judging {
    const struct network *net;
    const struct flows *f;
    double *nominal;        /* [nlinks] */
    const double *rate;     /* [n] measured */
    double *fair;           /* [n] by nominal rates; HUGE_VAL: not measured */
    double *sum;            /* [narcs] in one round */
    double *through;        /* [nswitches] in one round */
    double floor;           /* share below which a flow is slow */
    struct slow_by *suspect; /* of the slow flows, by flow */
    size_t nsuspects;
    size_t *explains;       /* [nlinks] flows */
    struct carry *out;
};

static void flows_clear (struct flows *f)
{
    free (f->round);
    free (f->first);
    free (f->arc);
}

static int lay_out (struct flows *f, const struct pathset *ps,
                    const struct plan *plan, struct error *err)
{
    size_t size = 0, n = 0, at = 0;

    *f = (struct flows){
        .n = plan_probes (plan),
        .nrounds = plan_rounds (plan),
        .narcs = 2 * pathset_network (ps)->nlinks,
    };
    f->round = xcalloc (f->nrounds + 1, sizeof (*f->round));
    f->first = xcalloc (f->n + 1, sizeof (*f->first));
    for (size_t r = 0; r < f->nrounds; r++) {
        const struct probe *p = plan_round (plan, r, &n);

        f->round[r + 1] = f->round[r] + n;
        for (size_t i = 0; i < n; i++) {
            size_t flow = f->round[r] + i;
            int there, back;

            if (at + ROW_MAX > size) {
                size = 2 * size + ROW_MAX;
                f->arc = xrealloc (f->arc, size, sizeof (*f->arc));
            }
            if ((there = pathset_walk (ps, p[i].a, p[i].b, f->arc + at, err))
                    < 0
                || (back = pathset_walk (ps, p[i].b, p[i].a,
                                         f->arc + at + there, err)) < 0)
                return -1;
            at += there + back;
            f->first[flow + 1] = at;
        }
    }
    return 0;
}

/* Fair rates of a round's flows for which skip[] is not NAN. */
static void share_round (const struct flows *f, size_t round,
                         const double *skip, const double *capacity,
                         double *rate)
{
    size_t from = f->round[round], n = f->round[round + 1] - from, m = 0;
    size_t *first = xcalloc (n + 1, sizeof (*first));
    uint32_t *arc = xarray (f->first[from + n] - f->first[from], sizeof (*arc));
    double *fair = xarray (n, sizeof (*fair));

    for (size_t i = 0; i < n; i++) {
        size_t flow = from + i, more = f->first[flow + 1] - f->first[flow];

        if (skip && isnan (skip[flow]))
            continue;
        memcpy (arc + first[m], f->arc + f->first[flow],
                more * sizeof (*arc));
        first[m + 1] = first[m] + more;
        m++;
    }
    fair_rates (first, arc, m, capacity, f->narcs, fair);
    m = 0;
    for (size_t i = from; i < from + n; i++)
        rate[i] = skip && isnan (skip[i]) ? NAN : fair[m++];
    free (first);
    free (arc);
    free (fair);
}

static void share_all (const struct flows *f, const double *skip,
                       const double *link_rate, double *rate)
{
    double *capacity = xarray (f->narcs, sizeof (*capacity));

    for (size_t x = 0; x < f->narcs; x++)
        capacity[x] = link_rate[x / 2];
    for (size_t r = 0; r < f->nrounds; r++)
        share_round (f, r, skip, capacity, rate);
    free (capacity);
}

int carry_simulate (const struct pathset *ps, const struct plan *plan,
                    const double *link_rate, double *rate, struct error *err)
{
    struct flows f;
    int rc = lay_out (&f, ps, plan, err);

    if (rc == 0)
        share_all (&f, NULL, link_rate, rate);
    flows_clear (&f);
    return rc;
}

/* For each arc of the round, the sum of v[flow] over its measured flows. */
static void sum_round (struct judging *w, size_t round, const double *v)
{
    const struct flows *f = w->f;
    size_t from = f->round[round], to = f->round[round + 1];

    for (size_t k = f->first[from]; k < f->first[to]; k++)
        w->sum[f->arc[k]] = 0;
    for (size_t i = from; i < to; i++)
        for (size_t k = f->first[i]; k < f->first[i + 1]; k++)
            w->sum[f->arc[k]] += isnan (w->rate[i]) ? 0 : v[i];
}

static struct carry_link *of_arc (struct judging *w, uint32_t arc)
{
    return &w->out->link[arc_link (arc)];
}

/* A flow that passes a switch, in both directions, crosses four arcs at it, so
 * each arc contributes a quarter of its load.
 */
static void pass_switches (struct judging *w, uint32_t arc, double carried)
{
    const uint32_t *end = w->net->link[arc_link (arc)].end;

    for (int k = 0; k < 2; k++)
        if (end[k] != NETWORK_NONE) {
            w->through[end[k]] += carried / 4;
            w->out->through[end[k]] = fmax (w->out->through[end[k]],
                                            w->through[end[k]]);
        }
}

/* The most that each arc and switch carried, and what was offered to it in that
 * round.
 */
static void find_most (struct judging *w, size_t round)
{
    const struct flows *f = w->f;
    size_t from = f->first[f->round[round]];
    size_t to = f->first[f->round[round + 1]];

    sum_round (w, round, w->rate);
    memset (w->through, 0, w->net->nswitches * sizeof (*w->through));
    for (size_t k = from; k < to; k++) {
        uint32_t x = f->arc[k];
        struct carry_link *l = of_arc (w, x);

        if (w->sum[x] <= 0) /* no load, or already done in this round */
            continue;
        l->rounds[x % 2]++;
        pass_switches (w, x, w->sum[x]);
        if (w->sum[x] > l->carried[x % 2]) {
            l->carried[x % 2] = w->sum[x];
            l->offered[x % 2] = 0; /* set below */
        }
        w->sum[x] = 0;
    }
    sum_round (w, round, w->fair);
    for (size_t k = from; k < to; k++) {
        uint32_t x = f->arc[k];

        if (of_arc (w, x)->offered[x % 2] == 0)
            of_arc (w, x)->offered[x % 2] = w->sum[x];
    }
}

static void find_usual (struct judging *w, bool known, double much)
{
    double *share = xarray (w->f->n, sizeof (*share));
    size_t n = 0;

    for (size_t i = 0; i < w->f->n; i++)
        if (!isnan (w->rate[i]))
            share[n++] = w->rate[i] / w->fair[i];
    w->out->flows = n;
    w->out->lost = w->f->n - n;
    w->out->usual = n > 0 ? stats_median (share, n) : NAN;
    w->floor = w->out->usual;
    if (known)
        w->floor = n < CARRY_USUAL_MIN ? 1 : fmin (1, w->floor);
    w->floor *= 1 - much;
    free (share);
}

static void add_suspect (struct judging *w, size_t flow, uint32_t link)
{
    /* once per link, in either direction */
    for (size_t i = w->nsuspects; i-- > 0 && w->suspect[i].flow == flow;)
        if (w->suspect[i].link == link)
            return;
    w->suspect = xgrow (w->suspect, w->nsuspects, sizeof (*w->suspect));
    w->suspect[w->nsuspects++] = (struct slow_by){ flow, link };
}

static void find_suspects (struct judging *w, size_t round, double much)
{
    const struct flows *f = w->f;

    sum_round (w, round, w->rate);
    for (size_t i = f->round[round]; i < f->round[round + 1]; i++) {
        size_t before = w->nsuspects;

        if (isnan (w->rate[i]) || w->rate[i] >= w->floor * w->fair[i])
            continue;
        w->out->slow++;
        for (size_t k = f->first[i]; k < f->first[i + 1]; k++) {
            uint32_t x = f->arc[k];
            double most = of_arc (w, x)->carried[x % 2];

            if (w->sum[x] >= most * (1 - much)
                && most < w->floor * w->nominal[x / 2])
                add_suspect (w, i, x / 2);
        }
        w->out->unexplained += w->nsuspects == before;
    }
}

/* Count, for each link, the flows that both it and `link` explain. */
static void mark_alike (struct judging *w, uint32_t link, size_t *common)
{
    for (size_t i = 0; i < w->nsuspects;) {
        size_t from = i, flow = w->suspect[i].flow;
        bool has = false;

        for (; i < w->nsuspects && w->suspect[i].flow == flow; i++)
            has = has || w->suspect[i].link == link;
        for (size_t k = from; k < i && has; k++)
            common[w->suspect[k].link]++;
    }
}

/* Remove the flows that a link explains. Returns the sum of their shares. */
static double take_away (struct judging *w, uint32_t link)
{
    double sum = 0;
    size_t keep = 0;

    for (size_t i = 0; i < w->nsuspects;) {
        size_t from = i, flow = w->suspect[i].flow;
        bool has = false;

        for (; i < w->nsuspects && w->suspect[i].flow == flow; i++)
            has = has || w->suspect[i].link == link;
        if (has)
            sum += w->rate[flow] / w->fair[flow];
        for (size_t k = from; k < i && !has; k++)
            w->suspect[keep++] = w->suspect[k];
    }
    w->nsuspects = keep;
    return sum;
}

static void add_finding (struct judging *w, uint32_t link)
{
    struct carry *out = w->out;
    struct carry_finding *f = &out->finding[out->nfindings++];
    size_t *common = xcalloc (out->nlinks, sizeof (*common));

    mark_alike (w, link, common);
    *f = (struct carry_finding){ .flows = w->explains[link] };
    for (size_t l = 0; l < out->nlinks; l++)
        if (common[l] == f->flows && w->explains[l] == f->flows) {
            f->link = xgrow (f->link, f->nlinks, sizeof (*f->link));
            f->link[f->nlinks++] = l;
        }
    free (common);
    f->share = take_away (w, link) / f->flows;
}

/* The link that explains the most flows; on a tie, the one that carried the
 * smallest share of its rate.
 */
static uint32_t best_link (struct judging *w)
{
    uint32_t best = 0;
    double least = HUGE_VAL;

    memset (w->explains, 0, w->out->nlinks * sizeof (*w->explains));
    for (size_t i = 0; i < w->nsuspects; i++)
        w->explains[w->suspect[i].link]++;
    for (size_t i = 0; i < w->nsuspects; i++) {
        uint32_t l = w->suspect[i].link;
        const struct carry_link *c = &w->out->link[l];
        double share = fmax (c->carried[0], c->carried[1]) / w->nominal[l];

        if (i == 0 || w->explains[l] > w->explains[best]
            || (w->explains[l] == w->explains[best] && share < least)) {
            best = l;
            least = share;
        }
    }
    return best;
}

static struct carry *carry_create (size_t nlinks, size_t nswitches)
{
    struct carry *c = xcalloc (1, sizeof (*c));

    c->nlinks = nlinks;
    c->link = xcalloc (nlinks, sizeof (*c->link));
    c->through = xcalloc (nswitches, sizeof (*c->through));
    c->finding = xcalloc (CARRY_FINDINGS_MAX, sizeof (*c->finding));
    return c;
}

void carry_destroy (struct carry *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->nfindings; i++)
        free (c->finding[i].link);
    free (c->finding);
    free (c->link);
    free (c->through);
    free (c);
}

struct carry *carry_make (const struct pathset *ps, const struct plan *plan,
                          const double *rate,
                          const struct carry_options *opts,
                          struct error *err)
{
    const struct network *net = pathset_network (ps);
    struct flows f;
    double much = opts->much;
    struct judging w = { .net = net, .f = &f, .rate = rate };

    if (lay_out (&f, ps, plan, err) == 0) {
        w.nominal = across_rates (ps);
        w.fair = xarray (f.n, sizeof (*w.fair));
        w.sum = xarray (f.narcs, sizeof (*w.sum));
        w.through = xarray (net->nswitches, sizeof (*w.through));
        w.explains = xarray (net->nlinks, sizeof (*w.explains));
        w.out = carry_create (net->nlinks, net->nswitches);
        share_all (&f, rate, w.nominal, w.fair);
        find_usual (&w, across_known (ps), much);
        for (size_t r = 0; r < f.nrounds; r++)
            find_most (&w, r);
        for (size_t r = 0; r < f.nrounds; r++)
            find_suspects (&w, r, much);
        while (w.nsuspects > 0 && w.out->nfindings < CARRY_FINDINGS_MAX)
            add_finding (&w, best_link (&w));
    }
    flows_clear (&f);
    free (w.nominal);
    free (w.fair);
    free (w.sum);
    free (w.through);
    free (w.explains);
    free (w.suspect);
    return w.out;
}

#define NO_PROCESS UINT32_MAX
#define RATE_MAX 1e15 /* bits per second: more than any link has */

/* The endpoint of a process, or NO_PROCESS. */
static uint32_t endpoint_of (const struct pathset *ps,
                             const struct series_process *p)
{
    int at = pathset_find (ps, p->label);

    for (size_t i = 0; i < pathset_size (ps) && at < 0; i++)
        if (strcmp (pathset_endpoint (ps, i)->host, p->host) == 0)
            at = (int)i;
    return at < 0 ? NO_PROCESS : (uint32_t)at;
}

/* Fill process[] by endpoint. Return 0, or -1 with err. */
static int find_processes (const struct series *s, const struct pathset *ps,
                           uint32_t *process, struct error *err)
{
    size_t known = 0;

    for (size_t i = 0; i < pathset_size (ps); i++)
        process[i] = NO_PROCESS;
    for (uint32_t i = 0; i < s->nprocesses; i++) {
        uint32_t e = endpoint_of (ps, &s->process[i]);

        if (e == NO_PROCESS)
            continue;
        if (process[e] != NO_PROCESS)
            return error_input (err, "two processes of the series are at %s",
                                pathset_endpoint (ps, e)->name);
        process[e] = i;
        known++;
    }
    return known > 0 ? 0
                     : error_input (err, "the series has no process at any"
                                         " endpoint of the plan");
}

static double pair_time (const struct series *s, uint32_t a, uint32_t b,
                         uint64_t length)
{
    const struct series_pair *pair = series_at (s, a, b, length);
    double ns;

    if (!series_measured (pair))
        return NAN;
    ns = pair->time_ns[SERIES_MEDIAN];
    return isnan (ns) ? pair->time_ns[SERIES_MEAN] : ns;
}

static double bits_a_second (double time_ns, uint64_t length)
{
    return time_ns > 0 ? length / 2. * 8 / (time_ns * 1e-9) : NAN;
}

static double flow_rate (const struct series *s, uint32_t a, uint32_t b)
{
    uint64_t length = s->length[s->nlengths - 1];
    double there, back;

    if (a == NO_PROCESS || b == NO_PROCESS)
        return NAN;
    there = bits_a_second (pair_time (s, a, b, length), length);
    back = bits_a_second (pair_time (s, b, a, length), length);
    if (isnan (there) || isnan (back))
        return isnan (there) ? back : there;
    return (there + back) / 2;
}

int measured_rates (const struct series *s, const struct pathset *ps,
                    const struct plan *plan, double *rate, struct error *err)
{
    uint32_t *process;
    size_t at = 0;
    int rc;

    if (s->test != SERIES_ASYNC_ONE_TO_ONE)
        return error_input (err,
                            "a series of exchanges both ways at once is"
                            " wanted, this one is of %s",
                            series_test_name (s->test));
    if (s->nlengths == 0 || s->length[s->nlengths - 1] == 0)
        return error_input (err, "a series of messages without a byte");
    process = xarray (pathset_size (ps), sizeof (*process));
    rc = find_processes (s, ps, process, err);
    for (size_t r = 0; r < plan_rounds (plan) && rc == 0; r++) {
        size_t n;
        const struct probe *p = plan_round (plan, r, &n);

        for (size_t i = 0; i < n && rc == 0; i++, at++) {
            rate[at] = flow_rate (s, process[p[i].a], process[p[i].b]);
            if (rate[at] > RATE_MAX)
                rc = error_input (err,
                                  "%s to %s: %.3g Gb/s are more than any"
                                  " link has",
                                  pathset_endpoint (ps, p[i].a)->name,
                                  pathset_endpoint (ps, p[i].b)->name,
                                  rate[at] / 1e9);
        }
    }
    free (process);
    return rc;
}

static int add_flow (struct series *s, struct probe p, uint64_t length,
                     double rate, struct error *err)
{
    struct series_pair pair = {
        .a = p.a,
        .b = p.b,
        .count = 1,
        .lost = isnan (rate),
        .length = length,
    };

    for (int k = 0; k < SERIES_STATS; k++)
        pair.time_ns[k] = k == SERIES_SD ? 0 : length / 2. * 8 / rate * 1e9;
    if (isnan (rate))
        s->complete = false;
    return series_add_pair (s, &pair, err);
}

static int fill (struct series *s, const struct pathset *ps,
                 const struct plan *plan, const double *rate, uint64_t length,
                 struct error *err)
{
    size_t at = 0;

    for (size_t i = 0; i < pathset_size (ps); i++)
        if (series_add_process (s, pathset_endpoint (ps, i)->name,
                                pathset_endpoint (ps, i)->host, err)
            < 0)
            return -1;
    for (size_t r = 0; r < plan_rounds (plan); r++) {
        size_t n;
        const struct probe *p = plan_round (plan, r, &n);

        for (size_t i = 0; i < n; i++)
            if (add_flow (s, p[i], length, rate[at++], err) < 0)
                return -1;
    }
    s->steps = plan_rounds (plan);
    s->probes = plan_probes (plan);
    s->repeats = 1;
    snprintf (s->fabric, sizeof (s->fabric), "%s", pathset_network (ps)->hash);
    snprintf (s->pattern, sizeof (s->pattern), "%s", plan_method (plan));
    snprintf (s->exchange, sizeof (s->exchange), "both-ways");
    snprintf (s->transport, sizeof (s->transport), "simulated");
    return series_sort (s, err);
}

struct series *measured_series (const struct pathset *ps,
                                const struct plan *plan, const double *rate,
                                uint64_t length, struct error *err)
{
    struct series *s = series_create (SERIES_ASYNC_ONE_TO_ONE);

    if (fill (s, ps, plan, rate, length, err) < 0) {
        series_destroy (s);
        return NULL;
    }
    return s;
}
