/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The leader of bursts: from plans of flows to the members' tasks, and from what
 * arrived there to rates.
 */
#include "config.h"
#include "probe/burst.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/rate/carry.h"
#include "core/rate/crowd.h"
#include "core/rate/flows.h"
#include "core/rate/loads.h"
#include "probe/burst_work.h"
#include "util/alloc.h"

enum {
    PASSES = 2,      /* of the first stage, that count */
    LATE = 20,       /* times BURST_NS: a burst is lost; */
    LATE_GAPS = 400, /* or so many gaps of the transport, as over soft RoCE, */
    LATE_MAX_NS = 1000000000, /* up to this */
    BYTES_MAX = 1 << 30,      /* of a burst */
    STEP_NS
    = 3000000, /* a step, about: its burst, a barrier, files of the kernel */
};

/* The share of BURST_CABLE_NS that is for the first stage, and for two: what is left is
 * for crowds' bursts, of CROWD_NS each.
 */
#define FIRST_SHARE .6
#define SECOND_SHARE .9
#define CROWD_NS                                                               \
    (int64_t) (BURST_CABLE_NS * (1 - SECOND_SHARE)                             \
               / (CROWD_ROOM * (1 + 1. / BURST_WARM)))
/* Strict ordering is better if its best burst is, by this share: more than bursts
 * differ.
 */
#define BETTER_SHARE .05
#define USUAL_BITS 1e11 /* where no rate is known */

/* A flow, and the tasks that its two ends have of it (a loopback: one), without
 * and with strict ordering: indices of the members' tasks; SIZE_MAX: none.
 */
struct lead_flow {
    struct burst_flow flow;
    uint64_t bytes;
    unsigned int bursts, strict;
    size_t task[2][2]; /* [strict][of a, of b] */
};

struct lead_bursts {
    struct group *g;
    const struct burst_options *opts;
    struct probe_result *result;
    struct bursts *all;   /* what is known so far */
    struct plan *plan;    /* of the first stage, */
    struct plan *again;   /* of the second */
    struct plan *crowd;   /* of the third */
    double *busy;         /* [2 * nlinks] of arcs between switches: bursts so far */
    size_t rails;         /* of the member with most */
    size_t rounds_max;
    uint32_t *slot;       /* [endpoint of ps] */
    bool uplinks;         /* cables between switches may be used */

    /* of a stage */
    struct lead_flow *flow;
    size_t nflows;
    size_t rounds;        /* of flows */
    struct burst_work *work; /* [members] */
};

static const struct probe_end *end_of (const struct lead_bursts *lead,
                                       uint32_t end)
{
    return &lead->opts->end[end];
}

static void add_lead_flow (struct lead_bursts *lead, uint32_t a, uint32_t b,
                           size_t round, bool crowd)
{
    struct lead_flow flow = { .flow = { .a = a,
                                        .b = b,
                                        .round = (uint32_t)round,
                                        .crowd = crowd },
                              .bursts = 0 };

    memset (flow.task, 0xff, sizeof (flow.task));
    lead->flow = xgrow (lead->flow, lead->nflows, sizeof (flow));
    lead->flow[lead->nflows++] = flow;
}

/* The flows of the plan, then a loopback for each rail that has one, by the end
 * with its lowest LID; beside crowds there are none.
 */
static void list_flows (struct lead_bursts *lead, const struct plan *plan,
                        bool crowds)
{
    const struct group *g = lead->g;
    uint32_t *own = xarray (g->npeers, sizeof (*own));
    size_t n;

    lead->rounds = plan_rounds (plan);
    memset (own, 0xff, g->npeers * sizeof (*own));
    for (size_t r = 0; r < lead->rounds; r++) {
        const struct probe *probe = plan_round (plan, r, &n);

        for (size_t i = 0; i < 2 * n; i++) {
            uint32_t end = i % 2 ? probe[i / 2].b : probe[i / 2].a;
            uint32_t *of = &own[end_of (lead, end)->peer];

            if (*of == UINT32_MAX
                || end_of (lead, end)->lid < end_of (lead, *of)->lid)
                *of = end;
            if (i % 2)
                add_lead_flow (lead, probe[i / 2].a, probe[i / 2].b, r,
                               crowds);
        }
    }
    for (uint32_t p = 0; p < g->npeers && !crowds; p++)
        if (own[p] != UINT32_MAX)
            add_lead_flow (lead, own[p], own[p],
                           lead->rounds + p - g->first[g->member_of[p]], false);
    free (own);
}

/* How many bytes each flow sends in so much time. In crowds one way may have more room
 * than the other.
 */
static int size_flows (struct lead_bursts *lead, int64_t ns, struct error *err)
{
    const struct network *net = pathset_network (lead->opts->ps);
    double (*rate)[2] = xcalloc (lead->nflows, sizeof (*rate));
    struct bursts *b = bursts_create ();
    int rc;

    for (size_t i = 0; i < lead->nflows; i++)
        bursts_add_flow (b, &lead->flow[i].flow);
    for (size_t i = 0; i < lead->all->nports; i++)
        bursts_add_port (b, &lead->all->port[i]);
    rc = bursts_expected (b, lead->opts->ps, NULL, rate, err);
    for (size_t i = 0; i < lead->nflows && rc == 0; i++) {
        struct lead_flow *f = &lead->flow[i];
        bool loops = f->flow.a == f->flow.b;
        double bits = loops           ? rate[i][0]
                      : f->flow.crowd ? fmin (rate[i][0], rate[i][1])
                                      : fmax (rate[i][0], rate[i][1]);
        uint32_t link = pathset_end_link (lead->opts->ps, f->flow.a);

        if (!isfinite (bits) && link != NETWORK_NONE)
            bits = net->link[link].rate;
        if (!isfinite (bits) || !(bits > 0))
            bits = USUAL_BITS;
        f->bytes = (uint64_t)fmin (fmax (bits * ((double)ns / 8e9), BURST_WARM),
                                   BYTES_MAX);
    }
    bursts_destroy (b);
    free (rate);
    return rc;
}

/* The arcs of a flow between switches, there and back. Return their number. */
static size_t arcs_between (const struct lead_bursts *lead,
                            const struct burst_flow *f,
                            uint32_t arc[2 * PATH_MAX_HOPS])
{
    const struct pathset *ps = lead->opts->ps;
    const struct network *net = pathset_network (ps);
    size_t n = 0;

    for (int way = 0; way < 2; way++) {
        uint32_t hop[PATH_MAX_HOPS];
        int hops = f->a == f->b ? 0
                                : pathset_walk (ps, way ? f->b : f->a,
                                                way ? f->a : f->b, hop, NULL);

        for (int i = 0; i < hops; i++)
            if (net->link[arc_link (hop[i])].kind == LINK_SWITCH)
                arc[n++] = hop[i];
    }
    return n;
}

/* Bursts that a flow may have, step by step. */
struct burst_allowance {
    unsigned int bursts, strict;
};

/* Give the flows first .. last-1, those of a round, more bursts, as far as no cable
 * is busy for longer than `most` bursts. What part of a burst it is busy is what
 * its flows have of its rate.
 */
static void allow_round (struct lead_bursts *lead, size_t first, size_t last,
                         double most, const struct burst_allowance *more,
                         bool begins)
{
    const struct network *net = pathset_network (lead->opts->ps);
    double times = more->bursts + more->strict
                   + (begins || more->strict > 0 ? 1. / BURST_WARM : 0);
    double *load = xcalloc (2 * net->nlinks, sizeof (*load));
    uint32_t arc[2 * PATH_MAX_HOPS];

    for (size_t i = first; i < last; i++) {
        size_t n = arcs_between (lead, &lead->flow[i].flow, arc);

        for (size_t k = 0; k < n; k++) {
            double full = net->link[arc_link (arc[k])].rate * (BURST_NS / 8e9);

            load[arc[k]] += full > 0 ? (double)lead->flow[i].bytes / full : 1;
        }
    }
    for (size_t i = 0; i < 2 * net->nlinks; i++) {
        load[i] = times * fmin (load[i], 1);
        if (load[i] > 0 && lead->uplinks && lead->busy[i] + load[i] <= most)
            lead->busy[i] += load[i];
        else if (load[i] > 0)
            load[i] = HUGE_VAL;
    }
    for (size_t i = first; i < last; i++) {
        struct lead_flow *f = &lead->flow[i];
        size_t n = arcs_between (lead, &f->flow, arc), k = 0;

        while (k < n && load[arc[k]] < HUGE_VAL)
            k++;
        if (k == n && (begins || f->bursts > 0)) {
            f->bursts += more->bursts;
            f->strict += more->strict;
        }
    }
    free (load);
}

/* How many bursts each flow has. */
static void allow_flows (struct lead_bursts *lead, enum stage stage)
{
    bool again = stage == STAGE_BURST_AGAIN;
    static const struct burst_allowance first[PASSES] = { { 1, 0 }, { 1, 0 } };
    static const struct burst_allowance second[] = {
        { 1, 0 }, { 0, 1 }, { 1, 0 }, { 0, 1 }, { BURST_PASSES_MAX - 2, 0 },
    };
    const struct burst_allowance *step = again ? second : first;
    size_t n = again ? sizeof (second) / sizeof (*second) : PASSES;
    double most = (double)BURST_CABLE_NS / BURST_NS
                  * (again                  ? SECOND_SHARE
                     : stage == STAGE_BURST ? FIRST_SHARE
                                            : 1);

    for (size_t k = 0; k < n; k++)
        for (size_t i = 0, last; i < lead->nflows; i = last) {
            for (last = i; last < lead->nflows
                           && lead->flow[last].flow.round
                                  == lead->flow[i].flow.round;)
                last++;
            allow_round (lead, i, last, most, &step[k], k == 0);
        }
}

static size_t add_burst_task (struct lead_bursts *lead, uint32_t own,
                              uint32_t other, const struct burst_task *task)
{
    const struct probe_end *a = end_of (lead, own), *b = end_of (lead, other);
    size_t m = lead->g->member_of[a->peer];
    struct burst_work *w = &lead->work[m];
    struct burst_task *t;

    w->task = xgrow (w->task, w->ntasks, sizeof (*w->task));
    t = &w->task[w->ntasks];
    *t = *task;
    t->peer = b->peer;
    t->rail = (uint8_t)(a->peer - lead->g->first[m]);
    t->own_lid = a->lid;
    t->other_lid = b->lid;
    return w->ntasks++;
}

/* Whether an end may do better without relaxed ordering. */
static bool is_relaxed (const struct lead_bursts *lead, uint32_t end)
{
    const struct burst_port *port = bursts_port (lead->all, end);

    return port && port->order == ORDER_RELAXED;
}

/* When a burst is lost. */
static uint32_t late_after (const struct group *g)
{
    int64_t ns = LATE_GAPS * g->t->gap_ns;

    return ns < LATE * BURST_NS ? LATE * BURST_NS
           : ns < LATE_MAX_NS   ? (uint32_t)ns
                                : LATE_MAX_NS;
}

/* Cut the flows into the members' tasks: rounds of flows, the same with strict
 * ordering, the loopbacks, and these with strict ordering.
 */
static void cut_flows (struct lead_bursts *lead)
{
    bool any[2] = { false, false };
    uint32_t flows, rounds, passes = 0;

    for (size_t i = 0; i < lead->nflows; i++) {
        struct lead_flow *f = &lead->flow[i];

        if (!is_relaxed (lead, f->flow.a) && !is_relaxed (lead, f->flow.b))
            f->strict = 0;
        any[f->flow.a == f->flow.b] |= f->strict > 0;
    }
    flows = (uint32_t)lead->rounds * (any[0] ? 2 : 1);
    rounds = flows + (uint32_t)lead->rails * (any[1] ? 2 : 1);
    for (unsigned int k = 0; k < 4; k++) {
        bool loops = k > 1, strict = k % 2;

        for (size_t i = 0; i < lead->nflows; i++) {
            struct lead_flow *f = &lead->flow[i];
            struct burst_task task = {
                .round = f->flow.round
                         + (loops    ? flows - (uint32_t)lead->rounds
                                           + strict * (uint32_t)lead->rails
                            : strict ? (uint32_t)lead->rounds
                                     : 0),
                .bursts = (uint8_t)(strict ? f->strict : f->bursts),
                .strict = strict,
                .bytes = (uint32_t)f->bytes,
            };

            if (loops != (f->flow.a == f->flow.b) || task.bursts == 0)
                continue;
            if (task.bursts > passes)
                passes = task.bursts;
            f->task[strict][0]
                = add_burst_task (lead, f->flow.a, f->flow.b, &task);
            if (!loops)
                f->task[strict][1]
                    = add_burst_task (lead, f->flow.b, f->flow.a, &task);
        }
    }
    for (size_t m = 0; m < lead->g->n; m++) {
        struct burst_work *w = &lead->work[m];

        w->level = lead->opts->level;
        w->passes = passes;
        w->rounds = rounds;
        w->flow_rounds = flows;
        w->late_ns = late_after (lead->g);
        w->rails = lead->g->first[m + 1] - lead->g->first[m];
    }
}

/* Keep the first trouble, and count the members that have some. */
static void add_trouble (struct burst_trouble *t, size_t member,
                         const char *why)
{
    if (*t->why && t->member == member)
        return;
    if (*t->why) {
        t->others++;
        return;
    }
    t->member = member;
    snprintf (t->why, sizeof (t->why), "%s", why);
}

/* What arrived of a flow at one of its ends: of a, what b sent; a loopback has its
 * own. NULL: it had no such bursts.
 */
static const struct burst_way *way_of (const struct lead_bursts *lead,
                                       const struct lead_flow *f, bool strict,
                                       int at)
{
    uint32_t peer = end_of (lead, at ? f->flow.b : f->flow.a)->peer;
    const struct burst_work *w = &lead->work[lead->g->member_of[peer]];
    size_t task = f->task[strict][at];

    return task == SIZE_MAX
                   || w->task[task].got.kept + w->task[task].got.lost == 0
               ? NULL
               : &w->task[task].got;
}

/* The place of what arrives at an end in a flow. */
static struct burst_way *place_of (struct burst_flow *f, int at)
{
    return &f->way[at || f->a == f->b ? 0 : 1];
}

/* Whether an end receives more with strict ordering than in any burst without;
 * loopbacks apart.
 */
static void find_strict_ends (const struct lead_bursts *lead, bool *strict)
{
    size_t n = pathset_size (lead->opts->ps);
    double (*best)[2] = xcalloc (n, sizeof (*best));

    for (size_t i = 0; i < lead->all->nflows; i++) {
        struct burst_flow *f = &lead->all->flow[i];

        for (int at = 0; at < 2 && f->a != f->b; at++) {
            double *most = best[at ? f->b : f->a];

            *most = fmax (*most, place_of (f, at)->best);
        }
    }
    for (size_t i = 0; i < lead->nflows; i++)
        for (int k = 0; k < 4; k++) {
            const struct lead_flow *f = &lead->flow[i];
            const struct burst_way *way = way_of (lead, f, k / 2, k % 2);
            double *most = &best[k % 2 ? f->flow.b : f->flow.a][k / 2];

            if (way && f->flow.a != f->flow.b)
                *most = fmax (*most, way->best);
        }
    for (size_t end = 0; end < n; end++)
        strict[end] = best[end][0] > 0
                      && best[end][1] > best[end][0] * (1 + BETTER_SHARE);
    free (best);
}

/* Of an end: its port, as its host told, or as it is known from the first stage,
 * with what has come since.
 */
static void join_port (struct lead_bursts *lead, uint32_t end, bool strict)
{
    const struct group *g = lead->g;
    uint32_t peer = end_of (lead, end)->peer;
    size_t m = g->member_of[peer];
    struct burst_port port = lead->work[m].rail[peer - g->first[m]].found;
    struct burst_port *before = NULL;

    port.end = end;
    for (size_t i = 0; i < lead->all->nports; i++)
        if (lead->all->port[i].end == end)
            before = &lead->all->port[i];
    if (strict)
        port.order = ORDER_BETTER;
    if (!before) {
        bursts_add_port (lead->all, &port);
        return;
    }
    if (port.order == ORDER_BETTER || before->order == ORDER_BETTER)
        port.order = ORDER_BETTER;
    if (pcie_bits (&before->now) > pcie_bits (&port.now)) {
        port.able = before->able;
        port.now = before->now;
        port.could = before->could;
    }
    port.others_bits = fmax (port.others_bits, before->others_bits);
    port.retries += before->retries;
    port.errors += before->errors;
    *before = port;
}

/* Add what the members found; leave out flows of which an end knows nothing. Where
 * strict ordering is better, only what came so counts.
 */
static void join_found (struct lead_bursts *lead)
{
    uint32_t first = 0;
    size_t lost = 0, kept = 0;
    size_t n = pathset_size (lead->opts->ps);
    bool *seen = xcalloc (n, sizeof (*seen));
    bool *strict = xcalloc (n, sizeof (*strict));

    find_strict_ends (lead, strict);
    for (size_t i = 0; i < lead->all->nflows; i++) {
        struct burst_flow *f = &lead->all->flow[i];

        if (f->round >= first)
            first = f->round + 1;
        for (int at = 0; at < 2; at++)
            if (strict[at ? f->b : f->a])
                *place_of (f, at) = (struct burst_way){ 0 };
        if (f->way[0].kept + f->way[0].lost + f->way[1].kept + f->way[1].lost)
            lead->all->flow[kept++] = *f;
    }
    lead->all->nflows = kept;
    for (size_t i = 0; i < lead->nflows; i++) {
        const struct lead_flow *f = &lead->flow[i];
        struct burst_flow flow = f->flow;
        bool loops = flow.a == flow.b;

        if (f->bursts == 0)
            continue;
        if (!way_of (lead, f, false, 0)
            || (!loops && !way_of (lead, f, false, 1))) {
            /* some adapters have no loopback */
            lost += !loops;
            continue;
        }
        for (int at = 0; at < (loops ? 1 : 2); at++) {
            const struct burst_way *way
                = way_of (lead, f, strict[at ? flow.b : flow.a], at);

            if (way)
                *place_of (&flow, at) = *way;
        }
        flow.round += first;
        bursts_add_flow (lead->all, &flow);
        seen[flow.a] = seen[flow.b] = true;
    }
    for (uint32_t end = 0; end < n; end++)
        if (seen[end])
            join_port (lead, end, strict[end]);
    if (lost > 0)
        lead->all->left |= lead->all->nflows > 0 ? LEFT_HOSTS : LEFT_TRANSPORT;
    free (seen);
    free (strict);
}

/* Run a stage of these flows. */
static int run_burst_stage (struct lead_bursts *lead, const struct plan *plan,
                            enum stage stage, struct burst_trouble *trouble,
                            struct error *err)
{
    struct group *g = lead->g;
    struct stage_member *in = probe_result_stage (lead->result, stage);
    int rc;

    lead->work = xcalloc (g->n, sizeof (*lead->work));
    list_flows (lead, plan, stage == STAGE_BURST_CROWD);
    rc = size_flows (lead, stage == STAGE_BURST_CROWD ? CROWD_NS : BURST_NS,
                     err);
    if (rc == 0) {
        allow_flows (lead, stage);
        cut_flows (lead);
        for (size_t m = 0; m < g->n; m++)
            burst_work_pack (&lead->work[m], &in[m].told);
        rc = stage_tell (g, stage, in, err);
    }
    if (rc == 0)
        rc = burst_work_run (g, &lead->work[g->me], err);
    if (rc == 0)
        rc = stage_hear (g, stage, in, err);
    for (size_t m = 0; m < g->n && rc == 0; m++) {
        struct burst_work *w = &lead->work[m];

        if (!lead->result->member[m].answered)
            continue;
        if (m != g->me && !in[m].found.data)
            strcpy (w->why, "no answer during the bursts");
        else if (m != g->me && !burst_work_take_found (w, &in[m].found))
            strcpy (w->why, "an invalid answer about the bursts");
        if (*w->why)
            add_trouble (trouble, m, w->why);
    }
    if (rc == 0)
        join_found (lead);
    for (size_t m = 0; m < g->n; m++)
        burst_work_clear (&lead->work[m]);
    free (lead->work);
    free (lead->flow);
    lead->work = NULL;
    lead->flow = NULL;
    lead->nflows = 0;
    return rc;
}

/* Rails that share a PCIe path are of one slot, as those of a card are. */
static void find_slots (struct lead_bursts *lead)
{
    const struct group *g = lead->g;
    uint32_t *first = xarray (g->npeers, sizeof (*first));

    memset (first, 0xff, g->npeers * sizeof (*first));
    lead->slot = flows_slots (lead->opts->ps, NULL);
    for (uint32_t end = 0; end < pathset_size (lead->opts->ps); end++) {
        uint32_t peer = end_of (lead, end)->peer;
        size_t m = g->member_of[peer];
        uint32_t *of = &first[g->first[m]
                              + lead->result->member[m].slot[peer - g->first[m]]];

        if (*of == UINT32_MAX)
            *of = lead->slot[end];
        lead->slot[end] = *of;
    }
    free (first);
}

/* Plan the first stage: all links, or those of hosts if the others are not to be
 * measured, or if it would take too long; no plan if even that does.
 */
static int plan_bursts (void *arg, struct error *err)
{
    struct lead_bursts *lead = arg;
    const struct burst_options *opts = lead->opts;
    const struct loads_options how = {
        .hosts = opts->hosts || opts->spread,
        .near = opts->hosts,
        .slot = lead->slot,
        .rounds_max = lead->rounds_max,
        .seed = opts->seed,
    };

    lead->plan = lead->rounds_max > 0 ? loads_make (opts->ps, &how, err) : NULL;
    if (!lead->plan && lead->rounds_max > 0)
        return -1;
    if (!lead->plan || !plan_maximal (lead->plan)
        || plan_rounds (lead->plan) > lead->rounds_max)
        lead->all->left |= LEFT_TIME;
    return 0;
}

static int plan_bursts_again (void *arg, struct error *err)
{
    struct lead_bursts *lead = arg;
    struct loads_options how = {
        .hosts = !lead->uplinks || lead->opts->spread,
        .near = !lead->uplinks,
        .slot = lead->slot,
        .seed = lead->opts->seed,
    };

    lead->again = loads_again (lead->opts->ps, lead->plan, lead->all, &how,
                               err);
    return lead->again ? 0 : -1;
}

/* Crowds are for cables between switches. */
static int plan_crowds (void *arg, struct error *err)
{
    struct lead_bursts *lead = arg;

    lead->crowd = crowd_make (lead->opts->ps, lead->all, lead->opts->seed, err);
    return lead->crowd ? 0 : -1;
}

/* How many rounds of flows fit into the time that a stage of so many passes may
 * take: a part of what is left.
 */
static size_t rounds_in_time (const struct lead_bursts *lead,
                              unsigned int passes)
{
    int64_t left = (lead->g->deadline - group_now (lead->g)) / 4;
    int64_t rounds;

    if (left > BURST_TOTAL_NS)
        left = BURST_TOTAL_NS;
    rounds = left / (STEP_NS * (passes + 1)) - (int64_t)lead->rails;
    return rounds > 0 ? (size_t)rounds : 0;
}

void burst_lead (struct group *g, const struct burst_options *opts,
                 struct probe_result *result, struct burst_trouble *trouble)
{
    const struct network *net = pathset_network (opts->ps);
    struct lead_bursts lead = {
        .g = g,
        .opts = opts,
        .result = result,
        .all = bursts_create (),
        .busy = xcalloc (2 * net->nlinks, sizeof (double)),
        .uplinks = !opts->hosts,
    };
    struct error err;
    int rc;

    *trouble = (struct burst_trouble){ .member = SIZE_MAX };
    result->samples->bursts = lead.all;
    lead.all->left = (opts->hosts ? LEFT_SITE : 0)
                     | (opts->spread ? LEFT_SPREAD : 0);
    for (size_t m = 0; m < g->n; m++)
        if (g->first[m + 1] - g->first[m] > lead.rails)
            lead.rails = g->first[m + 1] - g->first[m];
    if (!g->transport->bulk) {
        lead.all->left = LEFT_TRANSPORT;
        free (lead.busy);
        return;
    }
    find_slots (&lead);
    lead.rounds_max = rounds_in_time (&lead, PASSES);
    rc = group_meanwhile (g, plan_bursts, &lead, &err);
    if (rc == 0 && lead.plan && plan_rounds (lead.plan) > 0
        && plan_rounds (lead.plan) <= lead.rounds_max)
        rc = run_burst_stage (&lead, lead.plan, STAGE_BURST, trouble, &err);
    if (rc == 0 && lead.all->nflows > 0)
        rc = group_meanwhile (g, plan_bursts_again, &lead, &err);
    if (rc == 0 && lead.again && plan_rounds (lead.again) > 0
        && 2 * plan_rounds (lead.again)
               <= rounds_in_time (&lead, BURST_PASSES_MAX))
        rc = run_burst_stage (&lead, lead.again, STAGE_BURST_AGAIN, trouble,
                              &err);
    if (rc == 0 && lead.all->nflows > 0 && lead.uplinks && !opts->spread)
        rc = group_meanwhile (g, plan_crowds, &lead, &err);
    if (rc == 0 && lead.crowd && plan_rounds (lead.crowd) > 0
        && plan_rounds (lead.crowd) <= rounds_in_time (&lead, PASSES))
        rc = run_burst_stage (&lead, lead.crowd, STAGE_BURST_CROWD, trouble,
                              &err);
    if (rc < 0 && !*trouble->why)
        snprintf (trouble->why, sizeof (trouble->why), "%.*s", BURST_WHY,
                  err.text);
    if (rc < 0 && lead.all->nflows == 0)
        lead.all->left |= LEFT_TRANSPORT;
    plan_destroy (lead.plan);
    plan_destroy (lead.again);
    plan_destroy (lead.crowd);
    free (lead.slot);
    free (lead.busy);
}
