/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes on fair rates: if all growing flows of an arc go on, it is full at the
 * level left / growing. The arc with the lowest level is full first. Levels
 * only rise, as flows stop elsewhere, so an outdated level in the heap is
 * corrected when it is read.
 *
 * Notes on slow links: the sums of a round are computed again when they are
 * needed: the arcs of its flows are few compared with those of the network.
 */
#include "config.h"
#include "core/rate/carry.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/linear/stats.h"
#include "core/paths/multipath.h"
#include "core/rate/across.h"
#include "util/alloc.h"
#include "util/map.h"
#include "util/sort.h"

/*
 * Fair rates
 */

/* Let the arc at place i sink in a heap of n arcs, the lowest level first. */
static void sift_down (uint32_t *heap, size_t n, size_t i, const double *level)
{
    for (;;) {
        uint32_t x = heap[i];
        size_t least = i;

        for (size_t k = 2 * i + 1; k <= 2 * i + 2 && k < n; k++)
            if (level[heap[k]] < level[heap[least]])
                least = k;
        if (least == i)
            return;
        heap[i] = heap[least];
        heap[least] = x;
        i = least;
    }
}

void fair_rates (const struct csr *flows, const double *link_rate,
                 size_t nlinks, double *rate)
{
    size_t narcs = 2 * nlinks, n = 0;
    struct csr on = csr_transpose (flows, narcs);
    double *left = xarray (narcs, sizeof (*left)); /* of an arc's rate */
    double *level = xarray (narcs, sizeof (*level)); /* when last computed */
    uint32_t *growing = xarray (narcs, sizeof (*growing)); /* flows */
    uint32_t *heap = xarray (narcs, sizeof (*heap));

    for (size_t i = 0; i < flows->n; i++)
        rate[i] = HUGE_VAL;
    for (size_t x = 0; x < narcs; x++) {
        left[x] = link_rate[x / 2];
        growing[x] = on.start[x + 1] - on.start[x];
        if (growing[x] == 0)
            continue;
        level[x] = left[x] / growing[x];
        heap[n++] = x;
    }
    for (size_t i = n; i-- > 0;)
        sift_down (heap, n, i, level);
    while (n > 0) {
        uint32_t x = heap[0];
        double now = growing[x] > 0 ? fmax (left[x], 0) / growing[x]
                                    : HUGE_VAL;

        if (now > level[x]) { /* some of its flows stopped elsewhere */
            level[x] = now;
            sift_down (heap, n, 0, level);
            continue;
        }
        if (now == HUGE_VAL) /* no flow grows any more */
            break;
        for (size_t i = on.start[x]; i < on.start[x + 1]; i++) {
            uint32_t flow = on.v[i];

            if (rate[flow] != HUGE_VAL)
                continue;
            rate[flow] = now;
            for (size_t k = flows->start[flow]; k < flows->start[flow + 1];
                 k++) {
                left[flows->v[k]] -= now;
                growing[flows->v[k]]--;
            }
        }
        heap[0] = heap[--n];
        sift_down (heap, n, 0, level);
    }
    csr_clear (&on);
    free (left);
    free (level);
    free (growing);
    free (heap);
}

/*
 * Bursts
 */

/* Limits of a round's flows, numbered as they occur. After the network's arcs
 * come two for each port: what it sends, and what it receives.
 */
struct burst_limits {
    const struct bursts *b;
    const struct pathset *ps;
    const double *arc_bits;
    const struct burst_port **port; /* [nports] */
    uint32_t *number;   /* [2 * nlinks + 2 * nports] from 1; 0: not in it */
    uint32_t *used;     /* what has a number, */
    double *bits;       /* and its rate, both directions as one link's */
    size_t n;
    struct csr flows;   /* directions of flows */
    size_t room;        /* for so many limits in flows.v */
};

static double known_bits (double bits)
{
    return bits > 0 ? bits : HUGE_VAL;
}

/* Of what a packet has on the wire, what is payload. */
static double payload_share (const struct burst_port *p, double bits)
{
    return p && p->bits > 0 ? burst_port_bits (p) / p->bits * bits : bits;
}

static double burst_limit_bits (const struct burst_limits *w, uint32_t limit)
{
    const struct network *net = pathset_network (w->ps);
    size_t narcs = 2 * net->nlinks;
    const struct burst_port *p;

    if (limit < narcs) {
        uint32_t link = arc_link (limit);
        double cables = net->multi && net->multi->cables[link] > 0
                            ? net->multi->cables[link]
                            : 1;

        return cables
               * known_bits (w->arc_bits ? w->arc_bits[limit]
                                         : net->link[link].rate);
    }
    p = w->port[(limit - narcs) / 2];
    return p ? fmin (known_bits (p->bits),
                     burst_pcie_bits (&p->able) / payload_share (p, 1))
             : HUGE_VAL;
}

/* Add a limit to the last direction. */
static void add_burst_limit (struct burst_limits *w, uint32_t limit)
{
    uint32_t *number = &w->number[limit];
    double bits = burst_limit_bits (w, limit);

    if (bits == HUGE_VAL)
        return;
    if (*number == 0) {
        w->used = xgrow (w->used, w->n, sizeof (*w->used));
        w->bits = xgrow (w->bits, w->n, sizeof (*w->bits));
        w->used[w->n] = limit;
        w->bits[w->n++] = bits;
        *number = w->n;
    }
    w->flows.v[w->flows.start[w->flows.n]++] = 2 * (*number - 1);
}

static int add_burst_way (struct burst_limits *w, uint32_t a, uint32_t b,
                          struct error *err)
{
    uint32_t ends = 2 * pathset_network (w->ps)->nlinks, arc[PATH_MAX_HOPS];
    size_t *at = &w->flows.start[++w->flows.n];
    int n = a == b ? 0 : pathset_walk (w->ps, a, b, arc, err);

    if (n < 0)
        return -1;
    *at = at[-1];
    add_burst_limit (w, ends + 2 * pathset_port (w->ps, a));
    for (int i = 0; i < n; i++)
        add_burst_limit (w, arc[i]);
    add_burst_limit (w, ends + 2 * pathset_port (w->ps, b) + 1);
    return 0;
}

/* The flows of a round: n keys, whose lower halves are their numbers. */
static int expect_burst_round (struct burst_limits *w, const uint64_t *key,
                               size_t n, double (*rate)[2], struct error *err)
{
    double *fair = xarray (2 * n, sizeof (*fair));
    size_t size = 2 * n * (PATH_MAX_HOPS + 2), way = 0;
    int rc = 0;

    if (size > w->room) {
        w->flows.v = xrealloc (w->flows.v, size, sizeof (*w->flows.v));
        w->flows.start = xrealloc (w->flows.start, 2 * n + 1,
                                   sizeof (*w->flows.start));
        w->room = size;
    }
    w->flows.n = w->flows.start[0] = 0;
    for (size_t i = 0; i < n && rc == 0; i++) {
        const struct burst_flow *f = &w->b->flow[(uint32_t)key[i]];

        if ((rc = add_burst_way (w, f->a, f->b, err)) == 0 && f->a != f->b)
            rc = add_burst_way (w, f->b, f->a, err);
    }
    if (rc == 0)
        fair_rates (&w->flows, w->bits, w->n, fair);
    for (size_t i = 0; i < n && rc == 0; i++) {
        const struct burst_flow *f = &w->b->flow[(uint32_t)key[i]];
        const struct burst_port *a = w->port[pathset_port (w->ps, f->a)];
        const struct burst_port *b = w->port[pathset_port (w->ps, f->b)];
        double *of = rate[(uint32_t)key[i]];

        of[0] = fair[way++];
        of[1] = f->a == f->b ? of[0] : fair[way++];
        for (int k = 0; k < 2; k++)
            of[k] = fmin (payload_share (a, of[k]), payload_share (b, of[k]));
    }
    while (w->n > 0)
        w->number[w->used[--w->n]] = 0;
    free (fair);
    return rc;
}

static int sort_burst_flows (const struct bursts *b, const struct pathset *ps,
                             uint64_t *key, struct error *err)
{
    for (size_t i = 0; i < b->nflows; i++) {
        const struct burst_flow *f = &b->flow[i];

        if (f->a >= pathset_size (ps) || f->b >= pathset_size (ps))
            return error_input (err, "endpoint %u is not in the plan",
                                f->a >= pathset_size (ps) ? f->a : f->b);
        key[i] = (uint64_t)f->round << 32 | i;
    }
    qsort (key, b->nflows, sizeof (*key), compare_u64);
    return 0;
}

int bursts_expected (const struct bursts *b, const struct pathset *ps,
                     const double *arc_bits, double (*rate)[2],
                     struct error *err)
{
    size_t nports = pathset_ports (ps);
    struct burst_limits w = {
        .b = b,
        .ps = ps,
        .arc_bits = arc_bits,
        .port = xcalloc (nports, sizeof (*w.port)),
        .number = xcalloc (2 * (pathset_network (ps)->nlinks + nports),
                           sizeof (*w.number)),
    };
    uint64_t *key = xarray (b->nflows, sizeof (*key));
    int rc = sort_burst_flows (b, ps, key, err);

    for (size_t i = 0; i < b->nports; i++)
        if (b->port[i].end < pathset_size (ps))
            w.port[pathset_port (ps, b->port[i].end)] = &b->port[i];
    for (size_t i = 0, from; i < b->nflows && rc == 0;) {
        for (from = i; i < b->nflows && key[i] >> 32 == key[from] >> 32; i++)
            ;
        rc = expect_burst_round (&w, key + from, i - from, rate, err);
    }
    csr_clear (&w.flows);
    free (w.port);
    free (w.number);
    free (w.used);
    free (w.bits);
    free (key);
    return rc;
}

/*
 * The flows of a plan
 */

void flows_clear (struct flows *f)
{
    for (size_t r = 0; r < f->nrounds; r++)
        csr_clear (&f->round[r]);
    free (f->round);
}

int flows_lay_out (struct flows *f, const struct pathset *ps,
                   const struct plan *plan, const double *measured,
                   struct error *err)
{
    size_t flow = 0;

    f->nrounds = plan_rounds (plan);
    f->round = xcalloc (f->nrounds, sizeof (*f->round));
    for (size_t r = 0; r < f->nrounds; r++) {
        struct csr *arcs = &f->round[r];
        const struct probe *p = plan_round (plan, r, &arcs->n);

        arcs->start = xcalloc (arcs->n + 1, sizeof (*arcs->start));
        arcs->v = xarray (arcs->n * ROW_MAX, sizeof (*arcs->v));
        for (size_t i = 0; i < arcs->n; i++, flow++) {
            size_t at = arcs->start[i];
            int there = 0, back = 0;

            if ((!measured || !isnan (measured[flow]))
                && ((there = pathset_walk (ps, p[i].a, p[i].b, arcs->v + at,
                                           err)) < 0
                    || (back = pathset_walk (ps, p[i].b, p[i].a,
                                             arcs->v + at + there, err)) < 0))
                return -1;
            arcs->start[i + 1] = at + there + back;
        }
        arcs->v = xrealloc (arcs->v, arcs->start[arcs->n] + 1,
                            sizeof (*arcs->v));
    }
    return 0;
}

int flows_of_bursts (struct flows *f, struct flow_way **way, size_t *n,
                     const struct pathset *ps, const struct bursts *b,
                     struct error *err)
{
    uint64_t *key = xarray (b->nflows, sizeof (*key));
    int rc = sort_burst_flows (b, ps, key, err);

    *n = 0;
    *way = xarray (2 * b->nflows, sizeof (**way));
    *f = (struct flows){ .round = xcalloc (b->nflows, sizeof (*f->round)) };
    for (size_t i = 0, end; i < b->nflows && rc == 0; i = end) {
        struct csr *c = &f->round[f->nrounds++];

        for (end = i; end < b->nflows && key[end] >> 32 == key[i] >> 32;)
            end++;
        c->start = xcalloc (2 * (end - i) + 1, sizeof (*c->start));
        c->v = xarray (2 * (end - i) * PATH_MAX_HOPS, sizeof (*c->v));
        for (size_t k = 2 * i; k < 2 * end && rc == 0; k++) {
            uint32_t number = (uint32_t)key[k / 2];
            uint32_t from = b->flow[number].a, to = b->flow[number].b;
            int hops;

            if (from == to)
                continue;
            hops
                = k % 2
                      ? pathset_walk (ps, to, from, c->v + c->start[c->n], err)
                      : pathset_walk (ps, from, to, c->v + c->start[c->n], err);
            if (hops < 0) {
                rc = -1;
                break;
            }
            c->start[c->n + 1] = c->start[c->n] + (size_t)hops;
            c->n++;
            (*way)[(*n)++] = (struct flow_way){ number, k % 2 };
        }
        c->v = xrealloc (c->v, c->start[c->n] + 1, sizeof (*c->v));
    }
    free (key);
    return rc;
}

/* Fair rates of the flows, each round by itself. */
static void share (const struct flows *f, const double *link_rate,
                   size_t nlinks, double *rate)
{
    for (size_t r = 0; r < f->nrounds; r++) {
        fair_rates (&f->round[r], link_rate, nlinks, rate);
        rate += f->round[r].n;
    }
}

int carry_simulate (const struct pathset *ps, const struct plan *plan,
                    const double *link_rate, double *rate, struct error *err)
{
    struct flows f;
    int rc = flows_lay_out (&f, ps, plan, NULL, err);

    if (rc == 0)
        share (&f, link_rate, pathset_network (ps)->nlinks, rate);
    flows_clear (&f);
    return rc;
}

/*
 * Slow links
 */

#define CARRY_EQUAL .02 /* is the same: bursts of a flow differ by 1 % or so */

struct slow_by {
    size_t flow;
    uint32_t link;
    uint8_t ways;
};

struct judging {
    const struct network *net;
    const struct carry_flows *of;
    double *sum; /* [2 * nlinks] in one round; the most of a flow */
    double *most;
    double *through;         /* [nswitches] in one round */
    struct slow_by *suspect; /* of the slow flows, by flow */
    size_t nsuspects;
    size_t *explains;        /* [nlinks] flows */
    struct carry *out;
};

/* For each arc of a round, the sum of v[flow] over its flows. */
static void sum_round (struct judging *w, const struct csr *arcs,
                       const double *v)
{
    for (size_t k = 0; k < arcs->start[arcs->n]; k++)
        w->sum[arcs->v[k]] = w->most[arcs->v[k]] = 0;
    for (size_t i = 0; i < arcs->n; i++)
        for (size_t k = arcs->start[i]; k < arcs->start[i + 1] && !isnan (v[i]);
             k++) {
            w->sum[arcs->v[k]] += v[i];
            w->most[arcs->v[k]] = fmax (w->most[arcs->v[k]], v[i]);
        }
}

/* A flow that passes a switch, in both directions, crosses four arcs at it, so
 * each arc contributes a quarter of its load.
 */
static void pass_switches (struct judging *w, uint32_t arc, double carried)
{
    const uint32_t *end = w->net->link[arc_link (arc)].end;

    for (int k = 0; k < 2; k++)
        if (end[k] != NETWORK_NONE) {
            double *most = &w->out->through[end[k]];

            w->through[end[k]] += carried / 4;
            *most = fmax (*most, w->through[end[k]]);
        }
}

/* The most that each arc and switch carried, and what was offered to it then: of
 * rounds that carried the same the most, as a slow link carries that in all. The
 * round's first flow is number `from`.
 */
static void find_most (struct judging *w, const struct csr *arcs, size_t from)
{
    size_t narcs = arcs->start[arcs->n];

    sum_round (w, arcs, w->of->rate + from);
    memset (w->through, 0, w->net->nswitches * sizeof (*w->through));
    for (size_t k = 0; k < narcs; k++) {
        uint32_t x = arcs->v[k];
        struct carry_link *l = &w->out->link[arc_link (x)];

        if (w->sum[x] <= 0) /* no load, or already done in this round */
            continue;
        l->rounds[x % 2]++;
        pass_switches (w, x, w->sum[x]);
        if (w->sum[x] > l->carried[x % 2] * (1 + CARRY_EQUAL))
            l->offered[x % 2] = 0; /* set below, as is what is negative */
        else if (w->sum[x] >= l->carried[x % 2] * (1 - CARRY_EQUAL))
            l->offered[x % 2] *= -1;
        l->carried[x % 2] = fmax (l->carried[x % 2], w->sum[x]);
        w->sum[x] = 0;
    }
    sum_round (w, arcs, w->of->fair + from);
    for (size_t k = 0; k < narcs; k++) {
        uint32_t x = arcs->v[k];
        struct carry_link *l = &w->out->link[arc_link (x)];

        if (l->offered[x % 2] <= 0)
            l->offered[x % 2] = fmax (-l->offered[x % 2], w->sum[x]);
        l->asked[x % 2] = fmax (l->asked[x % 2], w->sum[x]);
    }
}

/* Once per link, with the directions. */
static void add_flow_suspect (struct judging *w, size_t flow, uint32_t arc)
{
    uint8_t way = (uint8_t)(1 << arc % 2);

    for (size_t i = w->nsuspects; i-- > 0 && w->suspect[i].flow == flow;)
        if (w->suspect[i].link == arc_link (arc)) {
            w->suspect[i].ways |= way;
            return;
        }
    w->suspect = xgrow (w->suspect, w->nsuspects, sizeof (*w->suspect));
    w->suspect[w->nsuspects++] = (struct slow_by){ flow, arc_link (arc), way };
}

static void find_suspects (struct judging *w, const struct csr *arcs,
                           size_t from)
{
    const struct carry_flows *of = w->of;

    sum_round (w, arcs, of->rate + from);
    for (size_t i = 0; i < arcs->n; i++) {
        size_t before = w->nsuspects, flow = from + i;
        double rate = of->rate[flow];

        if (isnan (rate) || rate >= of->floor * of->fair[flow])
            continue;
        w->out->slow++;
        for (size_t k = arcs->start[i]; k < arcs->start[i + 1]; k++) {
            uint32_t x = arcs->v[k];
            double most = w->out->link[x / 2].carried[x % 2];

            if (w->sum[x] >= most * (1 - of->same)
                && most < of->floor * of->arc_bits[x]
                && rate >= w->most[x] * (1 - of->same))
                add_flow_suspect (w, flow, x);
        }
        w->out->unexplained += w->nsuspects == before;
    }
}

/* The link that explains the most flows, if none is blamed; on a tie a host's,
 * then the one that carried the smallest share of its rate.
 */
static uint32_t best_link (struct judging *w)
{
    const struct link_info *info = w->net->link;
    const bool *blamed = w->of->blamed;
    uint32_t best = 0;
    double least = HUGE_VAL;

    memset (w->explains, 0, w->out->nlinks * sizeof (*w->explains));
    for (size_t i = 0; i < w->nsuspects; i++)
        w->explains[w->suspect[i].link]++;
    for (size_t i = 0; i < w->nsuspects; i++) {
        uint32_t l = w->suspect[i].link;
        const struct carry_link *c = &w->out->link[l];
        double part
            = fmax (c->carried[0], c->carried[1])
              / fmax (w->of->arc_bits[2 * l], w->of->arc_bits[2 * l + 1]);

        int order = blamed ? blamed[l] - blamed[best] : 0;

        if (order == 0 && w->explains[l] != w->explains[best])
            order = w->explains[l] > w->explains[best] ? 1 : -1;
        if (order == 0)
            order
                = (info[l].kind == LINK_HOST) - (info[best].kind == LINK_HOST);
        if (i == 0 || order > 0 || (order == 0 && part < least)) {
            best = l;
            least = part;
        }
    }
    return best;
}

/* The directions in which a link explains flows; only one of them, if the other
 * carries nearly what it should: that is then no fault of both.
 */
static uint8_t low_ways (const struct judging *w, uint32_t link)
{
    const double *carried = w->out->link[link].carried;
    const double *bits = &w->of->arc_bits[2 * link];
    uint8_t ways = 0;

    for (size_t i = 0; i < w->nsuspects; i++)
        if (w->suspect[i].link == link)
            ways |= w->suspect[i].ways;
    for (int k = 0; k < 2 && ways == 3; k++)
        if (carried[!k] / bits[!k] > (1 + carried[k] / bits[k]) / 2)
            ways = (uint8_t)(1 << k);
    return ways;
}

/* Add the finding of a link, with the other links that explain the same flows,
 * and remove these flows.
 */
static void add_carry_finding (struct judging *w, uint32_t link)
{
    struct carry *out = w->out;
    struct carry_finding *f = &out->finding[out->nfindings++];
    size_t *common = xcalloc (out->nlinks, sizeof (*common));
    uint8_t *ways = xcalloc (out->nlinks, 1);
    size_t *beside = xcalloc (out->nlinks, sizeof (*beside));
    uint8_t low = low_ways (w, link);
    /* flows in these directions; that another link explains, too; a cable does */
    size_t kept = 0, flows = 0, others = 0, cables = 0;

    *f = (struct carry_finding){ .flows = w->explains[link] };
    for (size_t i = 0, from; i < w->nsuspects;) {
        size_t flow = w->suspect[i].flow;
        bool has = false, is_low = false, cable = false;

        for (from = i; i < w->nsuspects && w->suspect[i].flow == flow; i++)
            if (w->suspect[i].link == link) {
                has = true;
                is_low = w->suspect[i].ways & low;
            }
            else
                cable |= w->net->link[w->suspect[i].link].kind == LINK_SWITCH;
        flows += is_low;
        others += is_low && i - from > 1;
        cables += is_low && cable;
        if (has)
            f->share += w->of->rate[flow] / w->of->fair[flow];
        for (size_t k = from; k < i; k++)
            if (has) {
                common[w->suspect[k].link]++;
                beside[w->suspect[k].link] += is_low;
                ways[w->suspect[k].link] |= w->suspect[k].ways;
            }
            else
                w->suspect[kept++] = w->suspect[k];
    }
    w->nsuspects = kept;
    f->share /= f->flows;
    f->doubtful = cables == flows;
    for (size_t l = 0; l < out->nlinks; l++) {
        bool mostly = others == flows
                      && (double)beside[l] >= w->of->most * (double)flows;

        if ((common[l] == f->flows && w->explains[l] == f->flows)
            || (mostly && low != 3)) {
            f->link = xgrow (f->link, f->nlinks, sizeof (*f->link));
            f->ways = xgrow (f->ways, f->nlinks, sizeof (*f->ways));
            f->ways[f->nlinks] = ways[l];
            f->link[f->nlinks++] = l;
        }
    }
    free (common);
    free (beside);
    free (ways);
}

void carry_destroy (struct carry *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->nfindings; i++) {
        free (c->finding[i].link);
        free (c->finding[i].ways);
    }
    free (c->finding);
    free (c->link);
    free (c->through);
    free (c);
}

struct carry *carry_explain (const struct network *net,
                             const struct carry_flows *of)
{
    void (*const steps[]) (struct judging *w, const struct csr *arcs,
                           size_t from) = { find_most, find_suspects };
    const struct flows *f = of->flows;
    struct carry *out = xcalloc (1, sizeof (*out));
    struct judging w = {
        .net = net,
        .of = of,
        .sum = xarray (2 * net->nlinks, sizeof (*w.sum)),
        .most = xarray (2 * net->nlinks, sizeof (*w.most)),
        .through = xarray (net->nswitches, sizeof (*w.through)),
        .explains = xarray (net->nlinks, sizeof (*w.explains)),
        .out = out,
    };

    *out = (struct carry){
        .nlinks = net->nlinks,
        .link = xcalloc (net->nlinks, sizeof (*out->link)),
        .through = xcalloc (net->nswitches, sizeof (*out->through)),
        .finding = xcalloc (CARRY_FINDINGS_MAX, sizeof (*out->finding)),
        .usual = NAN,
    };
    for (int k = 0; k < 2; k++)
        for (size_t r = 0, from = 0; r < f->nrounds; from += f->round[r++].n)
            steps[k](&w, &f->round[r], from);
    while (w.nsuspects > 0 && out->nfindings < CARRY_FINDINGS_MAX)
        add_carry_finding (&w, best_link (&w));
    free (w.sum);
    free (w.most);
    free (w.through);
    free (w.explains);
    free (w.suspect);
    return out;
}

/* The median of the flows' rate over their fair share, of the n measured ones. */
static double find_usual_rate (const struct carry_flows *of, size_t flows,
                               size_t *n)
{
    double *shares = xarray (flows, sizeof (*shares)), usual;

    *n = 0;
    for (size_t i = 0; i < flows; i++)
        if (!isnan (of->rate[i]))
            shares[(*n)++] = of->rate[i] / of->fair[i];
    usual = *n > 0 ? stats_median (shares, *n) : NAN;
    free (shares);
    return usual;
}

struct carry *carry_make (const struct pathset *ps, const struct plan *plan,
                          const double *rate, double much, struct error *err)
{
    const struct network *net = pathset_network (ps);
    size_t n = plan_probes (plan), measured;
    double *nominal = across_rates (ps), *fair = xarray (n, sizeof (*fair));
    double *arc_bits = xarray (2 * net->nlinks, sizeof (*arc_bits)), usual;
    struct carry *out = NULL;
    struct flows f;
    struct carry_flows of
        = { &f, rate, fair, arc_bits, .same = much, .most = HUGE_VAL };

    for (size_t x = 0; x < 2 * net->nlinks; x++)
        arc_bits[x] = nominal[x / 2];
    if (flows_lay_out (&f, ps, plan, rate, err) == 0) {
        share (&f, nominal, net->nlinks, fair);
        usual = find_usual_rate (&of, n, &measured);
        of.floor = usual;
        if (across_known (ps))
            of.floor = measured < CARRY_USUAL_MIN ? 1 : fmin (1, usual);
        of.floor *= 1 - much;
        out = carry_explain (net, &of);
        out->usual = usual;
        out->flows = measured;
        out->lost = n - measured;
    }
    flows_clear (&f);
    free (nominal);
    free (arc_bits);
    free (fair);
    return out;
}

/* Sum up what was offered to links, of flows that should get these rates. */
static struct carry *carry_of_ways (const struct network *net,
                                    const struct flows *flows,
                                    const struct bursts *b,
                                    const struct flow_way *way, size_t n,
                                    double (*flat)[2])
{
    double *rate = xarray (n, sizeof (*rate)),
           *fair = xarray (n, sizeof (*fair));
    struct carry *out;

    for (size_t i = 0; i < n; i++) {
        const struct burst_way *w = &b->flow[way[i].flow].way[way[i].way];

        fair[i] = flat[way[i].flow][way[i].way];
        if (w->kept == 0 || fair[i] == HUGE_VAL || b->flow[way[i].flow].crowd)
            fair[i] = NAN;
        rate[i] = isnan (fair[i]) ? NAN : w->best;
    }
    out = carry_explain (
        net, &(struct carry_flows){ .flows = flows, .rate = rate, .fair = fair,
                                    .most = HUGE_VAL });
    free (rate);
    free (fair);
    return out;
}

struct carry *bursts_carried (const struct bursts *b, const struct pathset *ps,
                              struct error *err)
{
    const struct network *net = pathset_network (ps);
    const struct bursts alone = { .flow = b->flow, .nflows = b->nflows };
    double (*flat)[2] = xarray (b->nflows, sizeof (*flat));
    double *arc_bits = xarray (2 * net->nlinks, sizeof (*arc_bits));
    struct carry *out = NULL, *by_hosts = NULL;
    struct flow_way *way = NULL;
    struct flows flows = { 0 };
    size_t n;

    if (bursts_expected (b, ps, NULL, flat, err) == 0
        && flows_of_bursts (&flows, &way, &n, ps, b, err) == 0)
        out = carry_of_ways (net, &flows, b, way, n, flat);
    for (size_t x = 0; out && x < 2 * net->nlinks; x++)
        arc_bits[x] = net->link[x / 2].kind == LINK_HOST
                          ? out->link[x / 2].carried[x % 2]
                          : net->link[x / 2].rate;
    if (out && bursts_expected (&alone, ps, arc_bits, flat, err) == 0)
        by_hosts = carry_of_ways (net, &flows, b, way, n, flat);
    for (size_t l = 0; by_hosts && l < net->nlinks; l++)
        if (net->link[l].kind == LINK_SWITCH)
            out->link[l] = by_hosts->link[l];
    if (!by_hosts) {
        carry_destroy (out);
        out = NULL;
    }
    carry_destroy (by_hosts);
    flows_clear (&flows);
    free (way);
    free (flat);
    free (arc_bits);
    return out;
}
