/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "core/judge/rates.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/judge/judgement.h"
#include "core/linear/stats.h"
#include "core/paths/multipath.h"
#include "core/rate/carry.h"
#include "core/rate/crowd.h"
#include "util/alloc.h"
#include "util/sort.h"
#include "util/text.h"

enum {
    KIND_MIN = 4,        /* ports of a kind, for their usual share to count */
    PAYLOAD_LEAST = 128, /* bytes of a PCIe packet */
    SWITCH_CAUSES = 3,   /* low links of a switch that is low */
    STAYS_MIN = 2,       /* runs before, in which a switch link was low */
    RUNS_MAX = 32,       /* that are looked at */
};

#define SHARE_OWN .93  /* of its own baseline */
#define SWITCH_CHANCE .02 /* switches that are so by chance */
#define STAYS_CHANCE .02 /* open links that carry the same each time by chance */
#define SWITCH_LOW .75 /* of a low switch's links are low */
#define SHARE_SAME .05 /* rates that differ by less are the same */
#define SHARE_MOSTLY .75 /* of a link's flows that another one explains */
#define SHARE_USUAL .97
#define SHARE_MOST 1.1
#define OTHERS_LEAST .02 /* others' traffic that is none */
#define ERROR_LEAST .01
#define ERROR_MOST .1

/* A port of the set. */
struct rate_port {
    uint32_t link, end;         /* an endpoint of it */
    uint32_t arc[2];            /* that it sends over, receives by */
    const struct burst_port *p; /* NULL: not described */
    double nominal;  /* payload of port, link and PCIe; HUGE_VAL: not known */
    double doubt;    /* share of it that PCIe's payload may cost */
    double share[2]; /* most of what is nominal, sent and received; 0: none */
    double loopback; /* 0: not measured */
    size_t kind;
};

struct rate_kind { /* ports of one nominal rate */
    size_t n;
    double nominal, usual[2];
    bool known[2]; /* by its own ports */
    size_t first;  /* a port of it */
};

struct rating {
    struct verdict *v;
    const struct judge_options *opts;
    const struct pathset *ps;
    const struct network *net;
    const struct bursts *b;
    struct rate_port *port;
    size_t nports;
    struct rate_kind *kind; /* [nports] */
    size_t nkinds;
    double top;       /* the greatest usual share */
    double payload;   /* share of the wire's data that is payload */
    double *arc_bits; /* [2 * nlinks] what to expect, of one cable */
    double *full_bits; /* the same of all cables of a bundle; HUGE_VAL: not known */
    double *before; /* [2 * nlinks] share of nominal in the baseline; 0 */
    bool *own;      /* [2 * nlinks] expected by that */
    double *doubt;  /* [2 * nlinks] */
    double error;
    struct flows flows;
    size_t nways; /* directions of flows, by rounds */
    struct flow_way *way;
    double *rate, *worst, *fair; /* [nways] */
    struct carry *carry;
    struct crowd *crowd; /* [2 * nlinks] */
    const struct baseline *base;
    size_t *first; /* [2 * nlinks + 1] of the baseline's rates, of each arc */
    size_t untold;
    size_t rivals; /* switch links that may be low by others' traffic, and [nswitches] */
    size_t *meet;  /* so many if all of them meet at that switch */
    struct alike_link { /* those that carry as much both ways, */
        size_t cause;   /* which carry_finding, */
        double share;   /* and how much */
    } *alike;
    size_t nalike;
    bool traffic;  /* crowds tell of others' */
    bool *blamed;  /* [nlinks] what a host's own signs show */
    bool *told; /* [nlinks] a finding or untold */
};

static double double_known (double bits)
{
    return bits > 0 ? bits : HUGE_VAL;
}

/*
 * Ports, and what is usual for their kinds
 */

static double port_payload (const struct rating *r, const struct rate_port *x)
{
    double link = x->link == NETWORK_NONE ? 0 : r->net->link[x->link].rate;
    struct burst_port p = { .bits = link };

    if (x->p) {
        p.mtu = x->p->mtu;
        /* a port that came up at less than its link can do is the fault */
        p.bits = fmax (link, x->p->bits);
    }
    return p.mtu > 0 ? burst_port_bits (&p)
                     : double_known (p.bits * r->payload);
}

static void describe_port (struct rating *r, struct rate_port *x)
{
    double payload = port_payload (r, x), least;

    x->nominal = payload;
    x->doubt = 0;
    if (!x->p || x->p->able.lanes == 0)
        return;
    least = pcie_usable (&x->p->able, PAYLOAD_LEAST);
    x->nominal = fmin (payload, burst_pcie_bits (&x->p->able));
    if (least > 0 && least < x->nominal)
        x->doubt = 1 - least / x->nominal;
}

static void find_ports (struct rating *r)
{
    r->nports = pathset_ports (r->ps);
    r->port = xcalloc (r->nports, sizeof (*r->port));
    r->payload = 1;
    for (uint32_t e = (uint32_t)pathset_size (r->ps); e-- > 0;) {
        struct rate_port *x = &r->port[pathset_port (r->ps, e)];

        x->end = e;
        x->link = pathset_end_link (r->ps, e);
        x->arc[0] = x->arc[1] = NETWORK_NONE;
    }
    for (size_t i = 0; i < r->b->nports; i++) {
        const struct burst_port *p = &r->b->port[i];

        r->port[pathset_port (r->ps, p->end)].p = p;
        if (p->mtu > 0 && p->bits > 0)
            r->payload = fmin (r->payload, burst_port_bits (p) / p->bits);
    }
    for (size_t i = 0; i < r->nports; i++)
        describe_port (r, &r->port[i]);
}

static int compare_ports (const struct rate_port *x, const struct rate_port *y)
{
    static const struct burst_port none;
    const struct burst_port *a = x->p ? x->p : &none, *b = y->p ? y->p : &none;
    int order = util_compare (x->nominal, y->nominal);

    order = order ? order : util_compare (a->mtu, b->mtu);
    order = order ? order : util_compare (a->able.lanes, b->able.lanes);
    return order ? order : util_compare (a->able.mts, b->able.mts);
}

static int compare_port_kinds (const void *va, const void *vb)
{
    return compare_ports (*(struct rate_port *const *)va,
                          *(struct rate_port *const *)vb);
}

/* The most of its nominal share that each port got in any flow, and that of its
 * loopback. flat: a flow in each direction by what is nominal.
 */
static void find_shares (struct rating *r, double (*flat)[2])
{
    for (size_t i = 0; i < r->b->nflows; i++) {
        const struct burst_flow *f = &r->b->flow[i];
        struct rate_port *a = &r->port[pathset_port (r->ps, f->a)];
        struct rate_port *b = &r->port[pathset_port (r->ps, f->b)];

        if (f->a == f->b) {
            a->loopback = fmax (a->loopback, f->way[0].best);
            continue;
        }
        for (int w = 0; w < 2; w++) {
            struct rate_port *from = w ? b : a, *to = w ? a : b;
            double share = f->way[w].best / flat[i][w];

            /* what the partner limits tells nothing of this port */
            if (flat[i][w] >= RATES_WARN * from->nominal)
                from->share[0] = fmax (from->share[0], share);
            if (flat[i][w] >= RATES_WARN * to->nominal)
                to->share[1] = fmax (to->share[1], share);
        }
    }
}

static double median_share (struct rate_port *const *port, size_t n, int way,
                            size_t *of)
{
    double *v = xarray (n, sizeof (*v)), median = SHARE_USUAL;

    *of = 0;
    for (size_t i = 0; i < n; i++)
        if (port[i]->share[way] > 0)
            v[(*of)++] = port[i]->share[way];
    stats_sort (v, *of);
    if (*of > 0) /* of an even number the upper one: most are more than half */
        median = v[*of / 2];
    free (v);
    return fmin (median, SHARE_MOST);
}

/* The usual share of each kind of port, by direction: the median of its ports;
 * of few, that of all.
 */
static void find_kinds (struct rating *r)
{
    struct rate_port **by = xarray (r->nports, sizeof (*by));
    double all[2];

    r->kind = xcalloc (r->nports, sizeof (*r->kind));
    for (size_t i = 0; i < r->nports; i++)
        by[i] = &r->port[i];
    qsort (by, r->nports, sizeof (*by), compare_port_kinds);
    for (int way = 0; way < 2; way++) {
        size_t n;

        all[way] = median_share (by, r->nports, way, &n);
        if (n < KIND_MIN)
            all[way] = SHARE_USUAL;
    }
    r->top = 0;
    for (size_t i = 0, from; i < r->nports;) {
        struct rate_kind *k = &r->kind[r->nkinds];

        for (from = i; i < r->nports && compare_ports (by[i], by[from]) == 0;
             i++)
            by[i]->kind = r->nkinds;
        k->nominal = by[from]->nominal;
        k->first = (size_t)(by[from] - r->port);
        for (int way = 0; way < 2; way++) {
            size_t n;

            k->usual[way] = median_share (by + from, i - from, way, &n);
            k->known[way] = n >= KIND_MIN;
            k->n = n > k->n ? n : k->n;
            if (!k->known[way])
                k->usual[way] = all[way];
            r->top = fmax (r->top, fmin (1, k->usual[way]));
        }
        r->nkinds++;
    }
    free (by);
}

/* What most hosts of a kind lack, and slots below their adapters. */
static void limit_kinds (struct rating *r)
{
    for (size_t i = 0; i < r->nkinds; i++) {
        const struct rate_kind *k = &r->kind[i];
        const struct rate_port *first = &r->port[k->first];
        int way = k->usual[1] < k->usual[0];
        double payload = port_payload (r, first);
        char name[96] = "";

        if (k->n == 0 || k->nominal == HUGE_VAL)
            continue;
        if (first->p && first->p->able.lanes > 0)
            snprintf (name, sizeof (name), "ports in slots of %s",
                      PCIE_SHOWN (&first->p->able));
        if (k->known[way] && k->usual[way] < RATES_WARN * (1 - first->doubt))
            verdict_limit (
                r->v, VERDICT_OK,
                FACT (RATE_ALIKE,
                      N ((double)k->n, k->usual[way] * k->nominal, k->nominal),
                      NAMES (*name ? name : "ports of one kind")));
        if (k->nominal < RATES_FAIL * payload && payload < HUGE_VAL) {
            const char **host = xarray (r->nports, sizeof (*host));
            size_t n = 0;
            char *fold;

            for (size_t q = 0; q < r->nports; q++)
                if (r->port[q].kind == i)
                    host[n++] = pathset_endpoint (r->ps, r->port[q].end)->host;
            n = text_unique (host, n);
            fold = hostlist_fold (host, n);
            verdict_limit (
                r->v, VERDICT_OK,
                FACT (RATE_SLOT,
                      N (first->p->able.lanes, first->p->able.mts / 1e3,
                         k->nominal, payload),
                      NAMES (fold ? fold : "?")));
            free (fold);
            free (host);
        }
    }
}

/*
 * What to expect of each arc
 */

static size_t cables_of (const struct rating *r, uint32_t link)
{
    return r->net->multi && r->net->multi->cables[link] > 0
               ? r->net->multi->cables[link]
               : 1;
}

/* The share of nominal that an arc carried in the baseline, at best; 0. */
static void find_before (struct rating *r)
{
    r->first = xcalloc (2 * r->net->nlinks + 1, sizeof (*r->first));
    for (size_t i = 0; r->base && i < r->base->nrates; i++) {
        const struct baseline_rate *b = &r->base->rate[i];
        double share = fmin (b->bits / b->expected, SHARE_MOST);

        r->before[b->arc] = fmax (r->before[b->arc], share);
        r->first[b->arc + 1]++;
    }
    for (size_t x = 0; x < 2 * r->net->nlinks; x++)
        r->first[x + 1] += r->first[x];
}

/* known: by ports of its kind; else the baseline knows better, however low. */
static void expect_arc (struct rating *r, uint32_t arc, double nominal,
                        double usual, bool known, double doubt)
{
    double share = usual;

    r->own[arc] = r->before[arc] > 0
                  && (!known || r->before[arc] >= RATES_WARN * usual);
    if (r->own[arc])
        share = r->before[arc];
    r->doubt[arc] = r->own[arc] ? 0 : doubt;
    r->arc_bits[arc] = nominal < HUGE_VAL ? nominal * share : 0;
    r->full_bits[arc] = double_known (r->arc_bits[arc])
                        * (double)cables_of (r, arc_link (arc));
}

static void expect_arcs (struct rating *r)
{
    for (uint32_t l = 0; l < r->net->nlinks; l++)
        for (uint32_t way = 0; way < 2; way++)
            expect_arc (r, 2 * l + way,
                        double_known (r->net->link[l].rate * r->payload),
                        r->top, true, 0);
    for (size_t i = 0; i < r->nports; i++) {
        const struct rate_port *x = &r->port[i];
        const struct rate_kind *k = &r->kind[x->kind];

        for (int way = 0; way < 2; way++)
            if (x->arc[way] != NETWORK_NONE)
                expect_arc (r, x->arc[way], x->nominal, k->usual[way],
                            k->known[way], k->known[way] ? 0 : x->doubt);
    }
}

/*
 * Flows
 */

/* Lay out the directions of all flows but loopbacks, by rounds. */
static int lay_out_ways (struct rating *r, struct error *err)
{
    if (flows_of_bursts (&r->flows, &r->way, &r->nways, r->ps, r->b, err) < 0)
        return -1;
    for (size_t k = 0, way = 0; k < r->flows.nrounds; k++)
        for (size_t i = 0; i < r->flows.round[k].n; i++, way++) {
            const struct csr *c = &r->flows.round[k];
            const struct burst_flow *f = &r->b->flow[r->way[way].flow];
            bool back = r->way[way].way > 0;

            if (c->start[i] == c->start[i + 1])
                continue;
            r->port[pathset_port (r->ps, back ? f->b : f->a)].arc[0]
                = c->v[c->start[i]];
            r->port[pathset_port (r->ps, back ? f->a : f->b)].arc[1]
                = c->v[c->start[i + 1] - 1];
        }
    return 0;
}

static const struct burst_way *way_of (const struct rating *r, size_t i)
{
    return &r->b->flow[r->way[i].flow].way[r->way[i].way];
}

static void set_rates (struct rating *r, double (*flat)[2])
{
    r->rate = xarray (r->nways, sizeof (*r->rate));
    r->worst = xarray (r->nways, sizeof (*r->worst));
    r->fair = xarray (r->nways, sizeof (*r->fair));
    for (size_t i = 0; i < r->nways; i++) {
        const struct burst_way *w = way_of (r, i);

        r->fair[i] = flat[r->way[i].flow][r->way[i].way];
        r->worst[i] = w->worst;
        r->rate[i] = w->kept > 0 && r->fair[i] < HUGE_VAL ? w->best : NAN;
        if (isnan (r->rate[i]))
            r->fair[i] = NAN;
    }
}

/* What crowds tell; nothing else is told by them: together they have more beside
 * others' traffic than a flow that they are to explain.
 */
static void take_crowds (struct rating *r)
{
    r->crowd = crowd_arcs (r->net, &r->flows, r->rate, r->worst, r->fair,
                           r->full_bits);
    for (size_t i = 0; i < r->nways; i++)
        if (r->b->flow[r->way[i].flow].crowd)
            r->rate[i] = r->fair[i] = NAN;
}

/* Twice the usual difference between the bursts of a flow, as a share. */
static void find_error (struct rating *r)
{
    double *v = xarray (r->nways, sizeof (*v));
    size_t n = 0;

    for (size_t i = 0; i < r->nways; i++) {
        const struct burst_way *w = way_of (r, i);

        if (w->kept > 1)
            v[n++] = (w->best - w->worst) / w->best;
    }
    r->error = n > 0 ? 2 * stats_median (v, n) : 0;
    r->error = fmin (fmax (r->error, ERROR_LEAST), ERROR_MOST);
    free (v);
}

/* Fair rates, if arcs have r->arc_bits, which include all limits. */
static int expect_flows (struct rating *r, double (*flat)[2], struct error *err)
{
    struct bursts alone = { .flow = r->b->flow, .nflows = r->b->nflows };

    return bursts_expected (&alone, r->ps, r->arc_bits, flat, err);
}

static struct carry *explain_flows (const struct rating *r)
{
    const struct carry_flows of = {
        .flows = &r->flows,
        .rate = r->rate,
        .fair = r->fair,
        .arc_bits = r->full_bits,
        .most = SHARE_MOSTLY,
        .blamed = r->blamed,
        .floor = SHARE_OWN,
        .same = SHARE_SAME,
    };

    return carry_explain (r->net, &of);
}

/*
 * Findings
 */

/* Flows over a link, in these directions. */
struct link_flows {
    size_t flows;
    uint32_t kept, lost;
    double worst;    /* of a burst, of its flow's best */
    double at_worst; /* that burst's rate */
};

static struct link_flows flows_over (const struct rating *r, uint32_t link,
                                     unsigned int ways)
{
    struct link_flows all = { .worst = 1 };
    size_t last = SIZE_MAX, way = 0;

    for (size_t k = 0; k < r->flows.nrounds; k++)
        for (size_t i = 0; i < r->flows.round[k].n; i++, way++) {
            const struct csr *c = &r->flows.round[k];
            const struct burst_way *w = way_of (r, way);

            for (size_t x = c->start[i]; x < c->start[i + 1]; x++) {
                if (arc_link (c->v[x]) != link || !(ways >> c->v[x] % 2 & 1))
                    continue;
                all.flows += r->way[way].flow != last;
                last = r->way[way].flow;
                all.kept += w->kept;
                all.lost += w->lost;
                if (w->kept > 0 && w->worst < all.worst * w->best) {
                    all.worst = w->worst / w->best;
                    all.at_worst = w->worst;
                }
            }
        }
    return all;
}

static const struct rate_port *port_at (const struct rating *r, uint32_t link)
{
    for (size_t i = 0; i < r->nports; i++)
        if (r->port[i].link == link)
            return &r->port[i];
    return NULL;
}

/* What its PCIe link lets through while it runs below what its path is able to;
 * HUGE_VAL: it does not.
 */
static double pcie_below (const struct rate_port *x)
{
    return x && x->p && pcie_bits (&x->p->now) > 0
                   && pcie_bits (&x->p->now) < pcie_bits (&x->p->able)
               ? pcie_usable (&x->p->now, PCIE_PAYLOAD)
               : HUGE_VAL;
}

/* The port itself came up at less than its link. */
static bool is_port_below (const struct rating *r, const struct rate_port *x)
{
    return x && x->p && x->p->bits > 0
           && x->p->bits < RATES_WARN * r->net->link[x->link].rate;
}

/* Hosts whose port or loopback is low, or without a loopback their PCIe. */
static void blame_hosts (struct rating *r)
{
    for (size_t i = 0; i < r->nports; i++) {
        const struct rate_port *x = &r->port[i];
        double expected = HUGE_VAL;

        for (int way = 0; way < 2; way++)
            if (x->arc[way] != NETWORK_NONE)
                expected = fmin (expected, r->full_bits[x->arc[way]]);
        if (x->link == NETWORK_NONE || expected == HUGE_VAL)
            continue;
        r->blamed[x->link]
            |= is_port_below (r, x)
               || (x->loopback > 0 ? x->loopback < RATES_WARN * expected
                                   : pcie_below (x) < RATES_WARN * expected);
    }
}

struct low_link {
    uint32_t link;
    unsigned int ways;            /* that are low */
    uint32_t arc;                 /* the lowest */
    double rate, expected;        /* of that */
    double share;                 /* with the error, in its favour */
    bool fails;                   /* some direction, by the baseline */
    const struct rate_port *port; /* of a host link */
    bool pcie, below, loop_slow, loop_fast;
};

static struct low_link low_link_of (const struct rating *r, uint32_t link,
                                    unsigned int ways)
{
    const struct carry_link *c = &r->carry->link[link];
    struct low_link low = { .link = link, .ways = ways, .share = HUGE_VAL };

    for (uint32_t way = 0; way < 2; way++) {
        uint32_t arc = 2 * link + way;
        double expected = fmin (c->asked[way], r->full_bits[arc]);
        double share = c->carried[way] / expected + r->error + r->doubt[arc];

        if (!(ways >> way & 1) || c->rounds[way] == 0)
            continue;
        low.fails |= r->own[arc] && share < RATES_FAIL;
        if (share < low.share) {
            low.arc = arc;
            low.rate = c->carried[way];
            low.expected = expected;
            low.share = share;
        }
    }
    if (r->net->link[link].kind == LINK_HOST)
        low.port = port_at (r, link);
    if (low.port) {
        double middle = (low.rate + low.expected) / 2;

        /* more than it lets through: it slowed down when it was idle */
        low.pcie = pcie_below (low.port) < RATES_WARN * low.expected
                   && low.rate < SHARE_MOST * pcie_below (low.port);
        low.below = is_port_below (r, low.port);
        low.loop_slow = low.port->loopback > 0 && low.port->loopback < middle;
        low.loop_fast = low.port->loopback >= middle;
    }
    return low;
}

static bool is_low (const struct rating *r, const struct low_link *low)
{
    return low->share < (r->own[low->arc] ? SHARE_OWN : RATES_WARN);
}

/* Whether others' traffic, as far as it was counted, explains it. */
static bool is_excused (const struct rating *r, const struct low_link *low)
{
    const struct burst_port *p = low->port ? low->port->p : NULL;

    for (size_t i = 0; i < r->opts->nbusy; i++) {
        const struct busy_link *busy = &r->opts->busy[i];

        if (busy->link == low->link)
            return true;
        for (size_t k = 0; k < busy->nway; k++)
            if (busy->way[k] == low->link)
                return true;
    }
    return p && !low->pcie && !low->below && !low->loop_slow
           && p->others_bits > OTHERS_LEAST * low->expected
           && p->others_bits > (low->expected - low->rate) / 2;
}

/* One link at most may be low by others' traffic, or several at one switch. */
static bool is_quiet (const struct rating *r)
{
    bool meet = r->rivals < 2;

    for (size_t k = 0; k < r->net->nswitches; k++)
        meet |= r->meet[k] == r->rivals;
    return !r->traffic && meet;
}

/* Whether others use an arc, which explains all that it lacks. */
static bool is_others (const struct rating *r, uint32_t arc)
{
    return crowd_others (&r->crowd[arc], r->error)
           && crowd_most (&r->crowd[arc], r->error) >= RATES_WARN;
}

/* What a link carried, and was asked for, in a run, as shares of its nominal rate, by
 * which both directions are alike; 0: it was not measured.
 */
struct link_run {
    double carried[2], asked[2];
};

/* This run, and those of the baseline, the newest first. Returns how many. */
static size_t runs_of (const struct rating *r, uint32_t link, struct link_run *run)
{
    const struct carry_link *c = &r->carry->link[link];
    const struct baseline_rate *rate = r->base ? r->base->rate : NULL;
    double bits = r->net->link[link].rate * r->payload;
    const size_t *first = &r->first[2 * link];
    size_t at[2] = { first[0], first[1] }, n = 1;

    run[0] = (struct link_run){
        { c->carried[0] / bits, c->carried[1] / bits },
        { fmin (c->asked[0], r->full_bits[2 * link]) / bits,
          fmin (c->asked[1], r->full_bits[2 * link + 1]) / bits },
    };
    for (; n < RUNS_MAX && (at[0] < first[1] || at[1] < first[2]); n++) {
        bool has[2] = { at[0] < first[1], at[1] < first[2] };

        if (has[0] && has[1] && rate[at[0]].audit != rate[at[1]].audit)
            has[rate[at[0]].audit > rate[at[1]].audit] = false;
        run[n] = (struct link_run){ { 0 }, { 0 } };
        for (int way = 0; way < 2; way++)
            if (has[way]) {
                run[n].carried[way] = rate[at[way]].bits / bits;
                run[n].asked[way] = rate[at[way]++].expected / bits;
            }
    }
    return n;
}

/* How often a switch link carried the same in the next run as in a direction that was
 * low, and not more there, if it was asked for more. Not this link, nor those that
 * carried the same as it, which it may limit.
 */
static double stays_by_chance (const struct rating *r, uint32_t link,
                               double share)
{
    double same = 2 * r->error;
    size_t low = 0, stays = 0;

    for (uint32_t l = 0; l < r->net->nlinks; l++) {
        struct link_run run[RUNS_MAX];
        size_t n = l == link || r->net->link[l].kind != LINK_SWITCH
                       ? 1
                       : runs_of (r, l, run);

        for (size_t i = 0; i < 2 * (n - 1); i++) {
            const struct link_run *next = &run[i / 2], *before = next + 1;
            double had = before->carried[i % 2], has = next->carried[i % 2];

            if (had >= RATES_WARN * before->asked[i % 2] || fabs (had - share) < same
                || fmax (next->asked[0], next->asked[1]) <= had * (1 + same))
                continue;
            low++;
            stays += fabs (has - had) < same
                     || (has < had && fabs (next->carried[!(i % 2)] - had) < same);
        }
    }
    return (.5 + (double)stays) / (1 + (double)low);
}

/* The newest runs, one after the other, in which a link carried less than it was asked
 * for, in the better of these directions.
 */
struct low_runs {
    size_t runs, same; /* in which it carried the most of them */
    double share;      /* that is */
    unsigned int now;  /* directions in which it carries that in this run */
    bool alike; /* it did in both, and no crowd shows others where it does now */
};

static struct low_runs low_runs_of (const struct rating *r, uint32_t link,
                                    unsigned int ways)
{
    struct link_run run[RUNS_MAX];
    size_t n = runs_of (r, link, run), end = 0;
    double had[RUNS_MAX], asked[RUNS_MAX], best[2] = { 0, 0 }, same = 2 * r->error;
    struct low_runs l = { 0, 0, 0, 0, false };

    for (; end < n; end++) {
        const double *carried = run[end].carried;

        had[end] = asked[end] = 0;
        for (int way = 0; way < 2; way++)
            if (ways >> way & 1) {
                had[end] = fmax (had[end], carried[way]);
                asked[end] = fmax (asked[end], run[end].asked[way]);
            }
        /* it was free; or it had more, and nothing tells that it is low */
        if (end > 0 && (had[end] >= SHARE_OWN * asked[0]
                        || (had[end] > l.share * (1 + same)
                            && asked[end] <= had[end] * (1 + same))))
            break;
        l.share = fmax (l.share, had[end]);
        for (int way = 0; way < 2; way++)
            best[way] = fmax (best[way], carried[way]);
    }
    for (size_t i = 0; i < end; i++)
        if (asked[i] > l.share * (1 + same)) {
            l.runs++;
            l.same += had[i] > l.share * (1 - same);
        }
    l.alike = fmin (best[0], best[1]) > l.share * (1 - same);
    for (uint32_t way = 0; way < 2; way++)
        if (run[0].carried[way] > l.share * (1 - same)) {
            l.now |= 1u << way;
            l.alike &= !is_others (r, 2 * link + way);
        }
    return l;
}

/* Whether it carried the same at most in so many runs, and both ways, as chance does at
 * less than STAYS_CHANCE of the open links that are so both ways: others' flows come and
 * go, but over a slow link no run gets more. That it carried less in some runs, beside
 * others, says nothing. If it carries less now, and another one that is open carried as
 * much at most, that may have been the limit before.
 */
static bool is_lasting (const struct rating *r, size_t cause,
                        const struct low_link *low)
{
    struct low_runs l = low_runs_of (r, low->link, 3);
    bool other = false;

    for (size_t i = 0; i < r->nalike; i++)
        other |= r->alike[i].cause != cause
                 && fabs (r->alike[i].share - l.share) < 2 * r->error;
    return l.alike && l.same > 1 && (!other || l.now & low->ways)
           && (double)r->nalike
                      * pow (stays_by_chance (r, low->link, l.share),
                             (double)l.same - 1)
                  < STAYS_CHANCE;
}

/* Put those first of which that is true. Returns how many; all, if one is, but a host end
 * explains the same.
 */
static size_t find_lasting (const struct rating *r, size_t cause,
                            struct low_link *low, size_t n)
{
    size_t lasting = 0;

    for (size_t i = 0; i < n; i++) {
        struct low_link it = low[i];

        if (it.port || !is_lasting (r, cause, &it))
            continue;
        if (low[0].port)
            return n;
        low[i] = low[lasting];
        low[lasting++] = it;
    }
    return lasting;
}

/* Whether it was low in the newest runs of the baseline, too, one after the other, and is
 * alone with that: others' traffic would hardly stay on one cable.
 */
static bool is_alone (const struct rating *r, const struct low_link *low)
{
    return is_quiet (r)
           && low_runs_of (r, low->link, 1u << low->arc % 2).runs > STAYS_MIN;
}

static void count_rival (struct rating *r, size_t cause,
                         const struct low_link *low, size_t n, bool open)
{
    for (size_t i = 0; i < n; i++) {
        struct low_runs l = low_runs_of (r, low[i].link, 3);

        if (low[i].port || !l.alike)
            continue;
        r->alike = xgrow (r->alike, r->nalike, sizeof (*r->alike));
        r->alike[r->nalike++] = (struct alike_link){ cause, l.share };
    }
    r->rivals += open;
    for (size_t i = 0; i < 2 * n && open; i++) {
        uint32_t sw = r->net->link[low[i / 2].link].end[i % 2];

        if (sw != NETWORK_NONE && r->meet[sw] + 1 == r->rivals)
            r->meet[sw] = r->rivals;
    }
}

/* Whether flows that reached or left a host by several ports at once had no more than one
 * of them, in a direction in which it looks slow: others who use the cables behind those
 * ports would leave more of several.
 */
static bool limits_crowd (const struct rating *r, const struct low_link *low)
{
    bool limits = false;

    for (uint32_t way = 0; way < 2; way++) {
        const struct crowd *c = &r->crowd[2 * low->link + way];

        limits |= low->ways >> way & 1 && c->inputs > 1 && c->one > 0
                  && !crowd_others (c, r->error);
    }
    return limits;
}

/* Whether a crowd had all that an arc should carry, which single flows had not. */
static bool has_carried (const struct rating *r, uint32_t arc)
{
    const struct crowd *c = &r->crowd[arc];

    return crowd_others (c, r->error) && c->together + r->error >= RATES_WARN;
}

/* What crowds tell of suspects: others use them, or one of them is slow. Where others are
 * about a host in one direction, what it lacks in the other may be theirs, too.
 */
enum crowd_says { CROWD_NOTHING, CROWD_OTHERS, CROWD_SLOW };

static enum crowd_says ask_crowd (const struct rating *r,
                                  const struct low_link *low)
{
    bool slow = false, all = true, any = false;

    for (uint32_t way = 0; way < 2; way++) {
        uint32_t arc = 2 * low->link + way;
        bool others = low->port ? has_carried (r, arc) : is_others (r, arc);

        slow |= crowd_most (&r->crowd[arc], r->error) + r->error
                < CROWD_SLOW_BELOW;
        all &= !(low->ways >> way & 1) || others;
        any |= low->ways >> way & 1 && others;
    }
    if (slow)
        return CROWD_SLOW;
    return (low->port ? any : all) ? CROWD_OTHERS : CROWD_NOTHING;
}

/* The one that is slow comes first, unless a host end may be it. */
static enum crowd_says ask_crowds (const struct rating *r, struct low_link *low,
                                   size_t n)
{
    enum crowd_says all = CROWD_NOTHING;

    for (size_t i = 0; i < n; i++) {
        enum crowd_says says = ask_crowd (r, &low[i]);

        if (says == CROWD_SLOW && all < says && !low[0].port)
            low[0] = low[i];
        all = says > all ? says : all;
    }
    return all;
}

/* Whether all of n suspects are, sorted: hosts come first. */
static bool are_host_ends (const struct low_link *low, size_t n)
{
    return low[n - 1].port != NULL;
}

/* All suspects must fail, and be known to be without others' traffic. */
static enum verdict_status level_of (const struct rating *r,
                                     const struct low_link *low, size_t n,
                                     bool slow, bool doubtful)
{
    bool says = low->pcie || low->below;
    bool fails = true, counted = true;

    if (!are_host_ends (low, n))
        return slow || is_alone (r, low) ? VERDICT_WARN : VERDICT_UNKNOWN;
    for (size_t i = 0; i < n; i++) {
        fails &= low[i].fails;
        counted &= low[i].port->p && !isnan (low[i].port->p->others_bits);
    }
    /* it may be others' traffic, and nothing of the host shows it */
    if (!says && !low->loop_slow
        && (!counted || (doubtful && !limits_crowd (r, low))))
        return VERDICT_WARN;
    return fails || (says && low->share < RATES_FAIL) ? VERDICT_FAIL
                                                      : VERDICT_WARN;
}

/* What a crowd had, by which the link can carry least. */
static void add_crowd_fact (struct rating *r, struct finding *f,
                            const struct low_link *low)
{
    const struct crowd *two = &r->crowd[2 * low->link];
    uint32_t way = crowd_most (&two[1], r->error)
                   < crowd_most (&two[0], r->error);

    if (two[way].inputs > 0)
        finding_add_fact (r->v, f,
                          FACT (RATE_CROWD,
                                N (two[way].inputs,
                                   two[way].together
                                       * r->full_bits[2 * low->link + way])));
}

static void add_rate_facts (struct rating *r, struct finding *f,
                            const struct low_link *low, bool alone)
{
    const struct link_info *info = &r->net->link[low->link];
    struct link_flows over = flows_over (r, low->link, low->ways);
    const struct burst_port *p = low->port ? low->port->p : NULL;
    struct verdict *v = r->v;
    struct fact rate
        = FACT (RATE, N ((double)over.flows, low->rate, low->expected));

    f->rate_bits = low->rate;
    f->rate_expected_bits = low->expected;
    if (low->ways != 3 && low->port)
        rate.kind = low->arc == low->port->arc[0] ? FACT_RATE_SENT
                                                  : FACT_RATE_RECEIVED;
    else if (low->ways != 3 && info->end[low->arc % 2] != NETWORK_NONE)
        rate.name[0] = r->net->sw[info->end[low->arc % 2]].name;
    finding_add_fact (v, f, rate);
    if (r->before[low->arc] > 0)
        finding_add_fact (
            v, f,
            FACT (RATE_BEFORE,
                  N (r->own[low->arc]
                         ? low->expected
                         : low->expected * r->before[low->arc] / r->top)));
    add_crowd_fact (r, f, low);
    if (p && low->below)
        finding_add_fact (v, f, FACT (RATE_PORT, N (p->bits, info->rate)));
    if (p && low->pcie)
        finding_add_fact (
            v, f,
            FACT (RATE_PCIE, N (p->now.lanes, p->now.mts / 1e3, p->able.lanes,
                                p->able.mts / 1e3, pcie_below (low->port))));
    if (alone && (low->loop_slow || low->loop_fast)) {
        finding_add_fact (v, f, FACT (RATE_LOOPBACK, N (low->port->loopback)));
        f->loopback = low->loop_slow ? LOOPBACK_SLOW : LOOPBACK_FAST;
    }
    if (p && p->order == ORDER_BETTER)
        finding_add_fact (v, f, FACT (RATE_STRICT));
    if (p && p->retries > 0)
        finding_add_fact (v, f, FACT (RATE_RETRIES, N ((double)p->retries)));
    if (p && p->errors > 0)
        finding_add_fact (v, f, FACT (RATE_ERRORS, N ((double)p->errors)));
    if (over.worst < RATES_FAIL)
        finding_add_fact (v, f, FACT (RATE_AT_TIMES, N (over.at_worst)));
    if (over.lost > 0)
        finding_add_fact (
            v, f, FACT (RATE_LOST, N (over.lost, over.lost + over.kept)));
}

/* A finding of latencies that has this link as its likeliest, or as one of those
 * that rates leave over.
 */
static struct finding *find_same_cause (const struct rating *r,
                                        const uint32_t *link, size_t n)
{
    for (size_t i = 0; i < r->v->nfindings; i++) {
        struct finding *f = &r->v->finding[i];

        if (f->kind != FINDING_HOST_END && f->kind != FINDING_SWITCH_LINK
            && f->kind != FINDING_NODE)
            continue;
        for (size_t k = 0; k < n && f->basis != BASIS_TRAFFIC; k++)
            if (has_suspect (f, link[k]))
                return f;
    }
    return NULL;
}

/* Put the suspects that both explain first. */
static void join_suspects (struct finding *f, const uint32_t *link, size_t n)
{
    size_t first = 0;

    for (size_t i = 0; i < f->nsuspects; i++)
        for (size_t k = 0; k < n; k++)
            if (f->suspect[i] == link[k]) {
                uint32_t it = f->suspect[i];

                memmove (f->suspect + first + 1, f->suspect + first,
                         (i - first) * sizeof (it));
                f->suspect[first++] = it;
                break;
            }
}

static void add_rate_suspect (struct rating *r, struct finding *f,
                              uint32_t link)
{
    const struct link_info *info = &r->net->link[link];

    if (!verdict_add_number (r->v, &f->suspect, &f->nsuspects, link))
        return;
    if (info->kind == LINK_SWITCH)
        f->kind = FINDING_SWITCH_LINK;
    else if (info->host)
        finding_add_host (r->v, f, info->host);
}

/* Others' traffic explains that flows lack much and that messages wait: what does not
 * FAIL by these may be nothing else.
 */
static void doubt_latency (struct finding *f)
{
    if (f && f->kind == FINDING_SWITCH_LINK && f->level == VERDICT_WARN)
        f->level = VERDICT_UNKNOWN;
}

static void note_untold (struct rating *r, const struct carry_finding *c)
{
    for (size_t i = 0; i < c->nlinks; i++)
        if (!r->told[c->link[i]]) {
            r->told[c->link[i]] = true;
            r->untold++;
        }
}

/* The likeliest first: what its own port, PCIe or loopback shows, then hosts,
 * then what carried the least share.
 */
static int compare_low_links (const void *va, const void *vb)
{
    const struct low_link *a = va, *b = vb;
    int x = 2 * (a->pcie || a->below || a->loop_slow) + (a->port != NULL);
    int y = 2 * (b->pcie || b->below || b->loop_slow) + (b->port != NULL);

    return x != y ? y - x : util_compare (a->share, b->share);
}

/* Judge what explains some flows; or only count, if it is a switch link that others'
 * traffic explains as well.
 */
static void judge_low_links (struct rating *r, size_t cause, bool count)
{
    const struct carry_finding *c = &r->carry->finding[cause];
    struct low_link *low = xarray (c->nlinks, sizeof (*low));
    uint32_t *link = xarray (c->nlinks, sizeof (*link));
    size_t n = c->nlinks, lasting = 0;
    enum crowd_says says;
    struct finding *f;
    enum verdict_status level;

    for (size_t i = 0; i < n; i++) {
        low[i] = low_link_of (r, c->link[i], c->ways[i]);
        if (r->told[c->link[i]])
            goto done;
    }
    qsort (low, n, sizeof (*low), compare_low_links);
    if (low[0].pcie || low[0].below || low[0].loop_slow)
        n = 1;
    if (!is_low (r, &low[0]))
        goto done;
    says = ask_crowds (r, low, n);
    if (says == CROWD_SLOW && !low[0].port)
        n = 1;
    else if (!count && !are_host_ends (low, n))
        lasting = find_lasting (r, cause, low, n);
    n = lasting > 0 ? lasting : n;
    for (size_t i = 0; i < n; i++)
        link[i] = low[i].link;
    f = find_same_cause (r, link, n);
    for (size_t i = 0; i < n; i++)
        if (is_excused (r, &low[i]) || cables_of (r, low[i].link) > 1
            || (says == CROWD_OTHERS && !count && lasting == 0)) {
            if (!count) {
                note_untold (r, c);
                doubt_latency (f);
            }
            goto done;
        }
    if (count) {
        if (!f && !are_host_ends (low, n) && says != CROWD_SLOW)
            count_rival (r, cause, low, n, says == CROWD_NOTHING);
        r->traffic |= says == CROWD_OTHERS;
        goto done;
    }
    level = level_of (r, low, n, says == CROWD_SLOW || lasting > 0, c->doubtful);
    if (!f && level == VERDICT_UNKNOWN
        && (low[0].share >= RATES_FAIL || !is_quiet (r))) {
        note_untold (r, c);
        goto done;
    }
    if (f) {
        join_suspects (f, link, n);
        if (level == VERDICT_UNKNOWN)
            doubt_latency (f);
        else if (level > f->level)
            f->level = level;
    }
    else {
        f = verdict_add (r->v, level, BASIS_RATE);
        for (size_t i = 0; i < n; i++)
            add_rate_suspect (r, f, link[i]);
    }
    add_rate_facts (r, f, &low[0], n == 1);
    for (size_t i = 0; i < n; i++)
        r->told[link[i]] = true;
done:
    free (low);
    free (link);
}

/* The explanations that a link of a switch is in, and of its links that were asked to
 * carry much how many carried less.
 */
struct switch_load {
    size_t causes, loaded, low;
    bool others;  /* use one of them */
    uint32_t arc; /* the lowest */
    double share;
};

static void load_switch (const struct rating *r, struct switch_load *load,
                         uint32_t link)
{
    const struct carry_link *c = &r->carry->link[link];
    bool loaded = false, is = false;

    for (uint32_t way = 0; way < 2 && cables_of (r, link) == 1; way++) {
        double bits = r->full_bits[2 * link + way];
        double asked = fmin (c->asked[way], bits);

        if (c->rounds[way] == 0 || asked < CARRY_LOADED * bits)
            continue;
        loaded = true;
        is |= c->carried[way] < RATES_WARN * asked;
        load->others |= is_others (r, 2 * link + way);
        if (c->carried[way] / asked < load->share) {
            load->share = c->carried[way] / asked;
            load->arc = 2 * link + way;
        }
    }
    load->loaded += loaded;
    load->low += is;
}

static void add_switch (struct rating *r, uint32_t sw,
                        const struct switch_load *load)
{
    struct low_link low = low_link_of (r, arc_link (load->arc), 3);
    struct finding *f = verdict_add (r->v, VERDICT_WARN, BASIS_RATE);

    for (uint32_t l = 0; l < r->net->nlinks; l++) {
        const uint32_t *end = r->net->link[l].end;

        if ((end[0] != sw && end[1] != sw)
            || r->carry->link[l].rounds[0] + r->carry->link[l].rounds[1] == 0)
            continue;
        add_rate_suspect (r, f, l);
        r->told[l] = true;
    }
    f->kind = FINDING_SWITCH;
    verdict_add_number (r->v, &f->sw, &f->nsw, sw);
    low.port = NULL;
    add_rate_facts (r, f, &low, false);
}

/* Whether so many of a switch's links are low by chance, as often as others are, at
 * one of n switches.
 */
static bool is_by_chance (const struct switch_load *load,
                          const struct switch_load *all, size_t n)
{
    double share = (1. + (double)(all->low - load->low))
                   / (1. + (double)(all->loaded - load->loaded));

    return (double)n * pow (2, (double)load->loaded)
               * pow (share, (double)load->low)
           >= SWITCH_CHANCE;
}

/* A switch most of whose links are low, each by itself, is one finding. */
static void judge_switches (struct rating *r)
{
    size_t n = r->net->nswitches;
    struct switch_load *load = xcalloc (n, sizeof (*load));
    struct switch_load all = { .share = HUGE_VAL };

    for (size_t k = 0; k < n; k++)
        load[k].share = HUGE_VAL;
    for (uint32_t l = 0; l < r->net->nlinks; l++) {
        load_switch (r, &all, l);
        for (int k = 0; k < 2; k++)
            if (r->net->link[l].end[k] != NETWORK_NONE)
                load_switch (r, &load[r->net->link[l].end[k]], l);
    }
    for (size_t i = 0; i < r->carry->nfindings; i++) {
        const struct carry_finding *c = &r->carry->finding[i];

        for (int k = 0; k < 2; k++)
            if (r->net->link[c->link[0]].end[k] != NETWORK_NONE)
                load[r->net->link[c->link[0]].end[k]].causes++;
    }
    for (uint32_t k = 0; k < n; k++)
        if (load[k].causes >= SWITCH_CAUSES && !load[k].others
            && (double)load[k].low >= SWITCH_LOW * (double)load[k].loaded
            && !is_by_chance (&load[k], &all, n))
            add_switch (r, k, &load[k]);
    free (load);
}

/* Links all of whose bursts were lost. */
static void find_lost (struct rating *r)
{
    size_t way = 0;
    uint8_t *seen = xcalloc (r->net->nlinks, 1);

    for (size_t k = 0; k < r->flows.nrounds; k++)
        for (size_t i = 0; i < r->flows.round[k].n; i++, way++) {
            const struct csr *c = &r->flows.round[k];

            for (size_t x = c->start[i]; x < c->start[i + 1]; x++)
                seen[arc_link (c->v[x])] |= way_of (r, way)->kept > 0 ? 2 : 1;
        }
    for (size_t l = 0; l < r->net->nlinks; l++)
        if (seen[l] == 1 && !r->told[l])
            r->untold++;
    free (seen);
}

/*
 * What links carried, and what was left out
 */

static size_t count_filled (const struct rating *r, double *most, size_t *all)
{
    size_t few = 0;

    *most = 0;
    *all = 0;
    for (uint32_t l = 0; l < r->net->nlinks; l++) {
        const struct carry_link *c = &r->carry->link[l];
        double fill = fmax (c->asked[0] / r->full_bits[2 * l],
                            c->asked[1] / r->full_bits[2 * l + 1]);

        if (r->net->link[l].kind != LINK_SWITCH || !(fill > 0))
            continue;
        ++*all;
        if (fill < RATES_WARN) {
            few++;
            *most = fmax (*most, fill);
        }
    }
    return few;
}

/* With the slow links at what they carried, what others were asked to carry. */
static int list_rates (struct rating *r, double (*flat)[2], struct error *err)
{
    struct carry *found = r->carry, *again;
    double *own = xarray (2 * r->net->nlinks, sizeof (*own));

    memcpy (own, r->full_bits, 2 * r->net->nlinks * sizeof (*own));
    for (size_t i = 0; i < found->nfindings; i++) {
        const struct carry_finding *c = &found->finding[i];

        for (uint32_t way = 0; way < 2; way++)
            if (c->ways[0] >> way & 1) {
                uint32_t arc = 2 * c->link[0] + way;

                r->arc_bits[arc] = found->link[c->link[0]].carried[way]
                                   / (double)cables_of (r, c->link[0]);
            }
    }
    if (expect_flows (r, flat, err) < 0) {
        free (own);
        return -1;
    }
    for (size_t i = 0; i < r->nways; i++)
        if (!isnan (r->rate[i]))
            r->fair[i] = flat[r->way[i].flow][r->way[i].way];
    again = explain_flows (r);
    for (uint32_t l = 0; l < r->net->nlinks; l++)
        for (uint32_t way = 0; way < 2; way++) {
            const struct carry_link *c = &again->link[l];
            double bits = own[2 * l + way];
            double asked = fmin (c->offered[way], bits);
            struct verdict *v = r->v;

            for (size_t i = 0; i < found->nfindings; i++)
                if (found->finding[i].link[0] == l
                    && found->finding[i].ways[0] >> way & 1)
                    asked = fmin (found->link[l].asked[way], bits);
            if (c->rounds[way] == 0 || cables_of (r, l) > 1
                || asked < CARRY_LOADED * bits)
                continue;
            v->rate
                = pool_grow (v->pool, v->rate, v->nrates, sizeof (*v->rate));
            v->rate[v->nrates++]
                = (struct verdict_rate){ 2 * l + way, c->carried[way], asked };
        }
    carry_destroy (again);
    free (own);
    return 0;
}

static void limit_left (struct rating *r)
{
    static const enum fact_kind why[] = {
        FACT_RATE_FORBIDDEN, FACT_RATE_TRANSPORT, FACT_RATE_SITE,
        FACT_RATE_TIME,      FACT_RATE_SPREAD,    FACT_RATE_HOSTS,
    };

    for (size_t i = 0; i < sizeof (why) / sizeof (why[0]); i++)
        if (r->b->left >> i & 1)
            verdict_limit (r->v, VERDICT_OK, (struct fact){ .kind = why[i] });
}

static void judge_flows (struct rating *r)
{
    double fill;
    size_t all, few = count_filled (r, &fill, &all);

    judge_switches (r);
    for (int count = 1; count >= 0; count--)
        for (size_t i = 0; i < r->carry->nfindings; i++)
            judge_low_links (r, i, count);
    find_lost (r);
    if (few > 0 && !(r->b->left & LEFT_UPLINKS))
        verdict_limit (r->v, VERDICT_OK,
                       FACT (RATE_FILLED,
                             N ((double)few, floor (100 * fill), (double)all)));
    if (r->untold > 0)
        verdict_limit (r->v, VERDICT_OK,
                       FACT (RATE_UNTOLD, N ((double)r->untold)));
}

/* The bursts, as they would be with ports that came up at what their links can. */
static int expect_nominal (struct rating *r, double (*flat)[2],
                           struct error *err)
{
    struct burst_port *port = xarray (r->b->nports, sizeof (*port));
    struct bursts as = *r->b;
    int rc;

    as.port = port;
    for (size_t i = 0; i < as.nports; i++) {
        const struct rate_port *x;

        port[i] = r->b->port[i];
        x = &r->port[pathset_port (r->ps, port[i].end)];
        if (x->link != NETWORK_NONE)
            port[i].bits = fmax (port[i].bits, r->net->link[x->link].rate);
    }
    rc = bursts_expected (&as, r->ps, NULL, flat, err);
    free (port);
    return rc;
}

static int rate_links (struct rating *r, struct error *err)
{
    double (*flat)[2] = xarray (r->b->nflows, sizeof (*flat));
    int rc = -1;

    find_ports (r);
    if (expect_nominal (r, flat, err) < 0 || lay_out_ways (r, err) < 0)
        goto done;
    find_shares (r, flat);
    find_kinds (r);
    find_before (r);
    expect_arcs (r);
    if (expect_flows (r, flat, err) < 0)
        goto done;
    set_rates (r, flat);
    find_error (r);
    take_crowds (r);
    blame_hosts (r);
    r->carry = explain_flows (r);
    limit_kinds (r);
    judge_flows (r);
    rc = list_rates (r, flat, err);
done:
    free (flat);
    return rc;
}

int judge_rates (struct verdict *v, const struct pathset *ps,
                 const struct bursts *b, const struct baseline *base,
                 const struct judge_options *opts, struct error *err)
{
    size_t narcs = 2 * pathset_network (ps)->nlinks;
    struct rating r = {
        .v = v,
        .opts = opts,
        .ps = ps,
        .net = pathset_network (ps),
        .b = b,
        .base = base,
        .arc_bits = xcalloc (narcs, sizeof (*r.arc_bits)),
        .full_bits = xcalloc (narcs, sizeof (*r.full_bits)),
        .before = xcalloc (narcs, sizeof (*r.before)),
        .own = xcalloc (narcs, sizeof (*r.own)),
        .doubt = xcalloc (narcs, sizeof (*r.doubt)),
        .blamed = xcalloc (pathset_network (ps)->nlinks, sizeof (*r.blamed)),
        .told = xcalloc (narcs, sizeof (*r.told)),
        .meet = xcalloc (pathset_network (ps)->nswitches, sizeof (*r.meet)),
    };
    int rc = 0;

    limit_left (&r);
    for (size_t i = 0; i < b->nports && rc == 0; i++)
        if (b->port[i].end >= pathset_size (ps))
            rc = error_input (err, "endpoint %u is not in the plan",
                              (unsigned int)b->port[i].end);
    if (rc == 0 && b->nflows > 0)
        rc = rate_links (&r, err);
    carry_destroy (r.carry);
    free (r.crowd);
    flows_clear (&r.flows);
    free (r.port);
    free (r.kind);
    free (r.arc_bits);
    free (r.full_bits);
    free (r.before);
    free (r.first);
    free (r.alike);
    free (r.own);
    free (r.doubt);
    free (r.blamed);
    free (r.told);
    free (r.meet);
    free (r.way);
    free (r.rate);
    free (r.worst);
    free (r.fair);
    return rc;
}
