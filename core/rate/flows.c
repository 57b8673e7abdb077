/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes: a round is filled arc by arc, the least often loaded first, in random
 * order. For each arc, the known pairs that cross it are tried until its load
 * suffices. If it does not, the flows are removed again, unless they load the
 * arc more than any round before. When a round adds nothing, other pairs are
 * drawn for the arcs that are left, DRAWS times.
 *
 * A flow is an exchange of a pair in both directions at once. Alone it gets its
 * cap: the lowest rate of all links on its paths. By the conditions of flows.h
 * all flows that cross no full link get their caps, and a full link carries its
 * rate by max-min fairness, independently of other links.
 */
#include "config.h"
#include "core/rate/flows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/rate/across.h"
#include "core/rate/carry.h"
#include "util/alloc.h"
#include "util/map.h"
#include "util/rng.h"
#include "util/terminal.h"

enum {
    ROUNDS_MAX = 4096,
    DRAWS = 2, /* draws of other pairs, when a round adds nothing */
    NEAR_TRIES = 3,
};

#define SLACK 1e-9 /* of a rate: rounding errors */

/* Links are columns of the set, and arcs theirs. */
#define NO_CROSSING UINT32_MAX

struct flow {
    struct probe pair;
    double cap;
    size_t first; /* of its crossings, up to the next flow's first */
};

/* A flow on an arc. The crossings of an arc are a list, the last first. */
struct flow_crossing {
    uint32_t arc, flow, before;
};

/* The best that rounds have achieved so far on an arc. */
struct arc_goal {
    double best;
    unsigned int times;  /* how often it had enough, */
    unsigned int wanted; /* and should have */
    struct probe last;   /* a flow of the last such time */
    uint8_t near;        /* remaining tries to load it by the nearest pairs
                            alone */
};

struct maker {
    struct pathset *ps;
    const struct flows_options *opts;
    struct rng rng;
    const uint32_t *link; /* [nlinks] of the network */
    size_t nlinks;
    double *rate;   /* [nlinks] */
    uint32_t *slot; /* [endpoints] of its port: one flow at a time */
    struct across across;

    /* the round that is being filled */
    struct flow *flow; /* [nports / 2 + 1] */
    size_t nflows;
    struct flow_crossing *at;
    size_t nat;
    double *load;    /* [2 * nlinks] */
    uint32_t *last;  /* [2 * nlinks] crossing */
    uint8_t *busy;   /* [slots] */
    uint8_t *full;   /* [nlinks] */
    bool filled;     /* some link is full */
    uint8_t *spoilt; /* [nlinks] one of its flows crosses a full link */

    struct map done;       /* pairs that have been used */
    struct arc_goal *goal; /* [2 * nlinks] */
    uint32_t *order;       /* [2 * nlinks] arcs that are to be loaded */
    size_t norder;
    unsigned int most; /* that an arc is to be loaded */
    size_t rounds_max, nbegin;
    struct plan *plan;
};

/*
 * A round
 */

static void clear_round (struct maker *m)
{
    m->nflows = m->nat = 0;
    m->filled = false;
    memset (m->load, 0, 2 * m->nlinks * sizeof (*m->load));
    memset (m->last, 0xff, 2 * m->nlinks * sizeof (*m->last));
    memset (m->busy, 0, pathset_size (m->ps)); /* slots are no more */
    memset (m->full, 0, m->nlinks);
    memset (m->spoilt, 0, m->nlinks);
}

static uint8_t *busy (const struct maker *m, uint32_t endpoint)
{
    return &m->busy[m->slot[endpoint]];
}

static bool contains_arc (const uint32_t *arc, int n, uint32_t x)
{
    for (int k = 0; k < n; k++)
        if (arc[k] == x)
            return true;
    return false;
}

/* Whether all flows of a link cross it in both directions (both), or all in one
 * (not both). If the link becomes full, this must hold.
 */
static bool crossed_alike (const struct maker *m, uint32_t link, bool both)
{
    for (uint32_t x = 2 * link; x <= 2 * link + 1; x++)
        for (uint32_t c = m->last[x]; c != NO_CROSSING; c = m->at[c].before) {
            uint32_t d = m->last[x ^ 1];

            while (d != NO_CROSSING && m->at[d].flow != m->at[c].flow)
                d = m->at[d].before;
            if ((d != NO_CROSSING) != both)
                return false;
        }
    return true;
}

/* Whether the round stays good with a flow on these arcs. *fills: the target is
 * then full.
 */
static bool flow_fits_round (const struct maker *m, const uint32_t *arc, int n,
                             double cap, uint32_t target, bool *fills)
{
    *fills = false;
    for (int k = 0; k < n; k++) {
        uint32_t link = arc_link (arc[k]);

        if (m->full[link] || contains_arc (arc, k, arc[k]))
            return false;
        if (m->load[arc[k]] + cap <= m->rate[link] * (1 + SLACK))
            continue;
        if (link != target || m->spoilt[link])
            return false;
        *fills = true;
    }
    return !*fills
           || crossed_alike (m, target,
                             contains_arc (arc, n, 2 * target)
                                 && contains_arc (arc, n, 2 * target + 1));
}

/* Mark a link full: no other link of its flows may become full. */
static void set_full (struct maker *m, uint32_t link)
{
    m->full[link] = 1;
    m->filled = true;
    for (uint32_t x = 2 * link; x <= 2 * link + 1; x++)
        for (uint32_t c = m->last[x]; c != NO_CROSSING; c = m->at[c].before) {
            size_t flow = m->at[c].flow;
            size_t end = flow + 1 < m->nflows ? m->flow[flow + 1].first
                                              : m->nat;

            for (size_t k = m->flow[flow].first; k < end; k++)
                m->spoilt[arc_link (m->at[k].arc)] = 1;
        }
}

/* Add the flow of a pair, unless the round would not be good any more. No link
 * but `target` may become full by it; alone: nor does it cross any other that is
 * to be loaded. Return 0, or -1 with err.
 */
static int add_flow (struct maker *m, struct probe pair, uint32_t target,
                     bool alone, struct error *err)
{
    uint32_t arc[ROW_MAX];
    double cap = HUGE_VAL;
    bool fills;
    int n, back;

    if (m->slot[pair.a] == m->slot[pair.b])
        return 0;
    if ((n = pathset_walk (m->ps, pair.a, pair.b, arc, err)) < 0
        || (back = pathset_walk (m->ps, pair.b, pair.a, arc + n, err)) < 0)
        return -1;
    n += back;
    for (int k = 0; k < n; k++) {
        arc[k] = across_arc_of (m->ps, arc[k]);
        cap = fmin (cap, m->rate[arc_link (arc[k])]);
        if (alone && arc_link (arc[k]) != target && m->goal[arc[k]].wanted > 0)
            return 0;
    }
    if (!flow_fits_round (m, arc, n, cap, target, &fills))
        return 0;
    m->flow[m->nflows] = (struct flow){ pair, cap, m->nat };
    for (int k = 0; k < n; k++) {
        m->at = xgrow (m->at, m->nat, sizeof (*m->at));
        m->at[m->nat]
            = (struct flow_crossing){ arc[k], m->nflows, m->last[arc[k]] };
        m->last[arc[k]] = m->nat++;
        m->load[arc[k]] += cap;
    }
    m->nflows++;
    *busy (m, pair.a) = *busy (m, pair.b) = 1;
    if (fills)
        set_full (m, target);
    return 0;
}

/* Remove all flows after the first n. None of them may have filled a link. */
static void remove_last_flows (struct maker *m, size_t n)
{
    while (m->nflows > n) {
        const struct flow *f = &m->flow[--m->nflows];

        while (m->nat > f->first) {
            const struct flow_crossing *c = &m->at[--m->nat];

            m->last[c->arc] = c->before;
            m->load[c->arc]
                = c->before == NO_CROSSING ? 0 : m->load[c->arc] - f->cap;
        }
        *busy (m, f->pair.a) = *busy (m, f->pair.b) = 0;
    }
}

/*
 * Fill rounds
 */

static uint64_t unordered_pair_key (struct probe p)
{
    return p.a < p.b ? (uint64_t)p.b << 32 | p.a : (uint64_t)p.a << 32 | p.b;
}

/* Whether this load is as much as the arc can get. */
static bool has_enough_load (const struct maker *m, uint32_t arc, double load)
{
    return load >= m->across.arc[arc].most * (1 - SLACK);
}

/* Whether the pair has an endpoint of the flow that loaded the arc last. */
static bool is_again (const struct maker *m, uint32_t arc, struct probe p)
{
    const struct arc_goal *l = &m->goal[arc];

    return l->times > 0
           && (p.a == l->last.a || p.a == l->last.b || p.b == l->last.a
               || p.b == l->last.b);
}

/* Add those of n pairs that fit, until the arc has enough load. The first pass
 * uses only endpoints other than the last time. Return 0, or -1 with err.
 */
static int add_fitting_pairs (struct maker *m, uint32_t arc,
                              const struct probe *pair, size_t n, bool alone,
                              struct error *err)
{
    uint32_t link = arc_link (arc);

    for (int again = 0; again < 2; again++)
        for (size_t i = 0; i < n; i++) {
            if (has_enough_load (m, arc, m->load[arc]) || m->full[link])
                return 0;
            if (*busy (m, pair[i].a) || *busy (m, pair[i].b)
                || is_again (m, arc, pair[i]) != again
                || map_find (&m->done, unordered_pair_key (pair[i]))
                       != MAP_NONE)
                continue;
            if (add_flow (m, pair[i], link, alone, err) < 0)
                return -1;
        }
    return 0;
}

/* Load an arc, by its nearest pairs alone or by all. If the load is neither
 * enough nor, by all pairs, a new maximum, restore the round.
 */
static int load_arc (struct maker *m, uint32_t arc, bool near,
                     struct error *err)
{
    const struct across_link *l = &m->across.link[arc_link (arc)];
    const struct across_arc *x = &m->across.arc[arc];
    struct arc_goal *goal = &m->goal[arc];
    size_t before = m->nflows;
    double load;

    for (int alone = m->opts->apart; alone >= (near && m->opts->apart);
         alone--)
        if (add_fitting_pairs (m, arc, l->alike, near ? l->nnear : l->nalike,
                               alone, err)
                < 0
            || (!near
                && add_fitting_pairs (m, arc, x->pair, x->npairs, alone, err)
                       < 0))
            return -1;
    load = m->load[arc];
    if (near)
        goal->near = has_enough_load (m, arc, load) ? 0 : goal->near - 1;
    if (!has_enough_load (m, arc, load) && !m->full[arc_link (arc)]
        && (near || load <= goal->best * (1 + SLACK)))
        remove_last_flows (m, before);
    return 0;
}

/* How many links its nearest pairs cross; 0: they were tried. */
static unsigned int nearest (const struct maker *m, uint32_t arc)
{
    return m->goal[arc].near > 0 ? m->across.link[arc_link (arc)].near : 0;
}

/* Load arcs by their nearest pairs, starting with those whose nearest pairs
 * cross the fewest links.
 */
static int load_near (struct maker *m, struct error *err)
{
    size_t end[UINT8_MAX + 1] = { 0 };
    uint32_t *arc = xarray (m->norder, sizeof (*arc));
    size_t n = 0;
    int rc = 0;

    for (size_t i = 0; i < m->norder; i++)
        end[nearest (m, m->order[i])]++;
    for (size_t near = 1; near <= UINT8_MAX; near++)
        n = end[near] += n;
    for (size_t i = m->norder; i-- > 0;)
        if (nearest (m, m->order[i]) > 0)
            arc[--end[nearest (m, m->order[i])]] = m->order[i];
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = load_arc (m, arc[i], true, err);
    free (arc);
    return rc;
}

/* Those flows that the caller has put into this round. */
static int begin_flow_round (struct maker *m, struct error *err)
{
    size_t r = plan_rounds (m->plan), n = 0;
    const struct probe *p = r < m->nbegin ? plan_round (m->opts->begin, r, &n)
                                          : NULL;

    for (size_t i = 0; i < n; i++)
        if (add_flow (m, p[i], NETWORK_NONE, false, err) < 0)
            return -1;
    return 0;
}

/* Then arcs that were loaded least often, host links last. */
static int fill_flow_round (struct maker *m, struct error *err)
{
    const struct link_info *info = pathset_network (m->ps)->link;

    rng_shuffle (&m->rng, m->order, m->norder);
    if (begin_flow_round (m, err) < 0 || load_near (m, err) < 0)
        return -1;
    for (unsigned int times = 0; times < m->most; times++)
        for (int host = 0; host < 2; host++)
            for (size_t i = 0; i < m->norder; i++) {
                uint32_t x = m->order[i];

                if (m->goal[x].times == times && times < m->goal[x].wanted
                    && (info[m->link[arc_link (x)]].kind == LINK_HOST) == host
                    && load_arc (m, x, false, err) < 0)
                    return -1;
            }
    return 0;
}

/* The load of each arc by the flows' fair rates: their caps if no link is full.
 * carried[2 * nlinks].
 */
static void compute_fair_loads (const struct maker *m, double *carried)
{
    struct csr arcs = {
        .n = m->nflows,
        .start = xarray (m->nflows + 1, sizeof (*arcs.start)),
        .v = xarray (m->nat, sizeof (*arcs.v)),
    };
    double *rate = xarray (m->nflows, sizeof (*rate));

    for (size_t i = 0; i < m->nflows; i++)
        arcs.start[i] = m->flow[i].first;
    arcs.start[m->nflows] = m->nat;
    for (size_t k = 0; k < m->nat; k++)
        arcs.v[k] = m->at[k].arc;
    fair_rates (&arcs, m->rate, m->nlinks, rate);
    memset (carried, 0, 2 * m->nlinks * sizeof (*carried));
    for (size_t k = 0; k < m->nat; k++)
        carried[arcs.v[k]] += rate[m->at[k].flow];
    csr_clear (&arcs);
    free (rate);
}

/* Add the round to the plan, unless it achieves nothing new. Returns whether it
 * does.
 */
static bool keep_round (struct maker *m)
{
    double *fair = xarray (m->filled ? 2 * m->nlinks : 0, sizeof (*fair));
    const double *carried = m->filled ? fair : m->load;
    size_t round = plan_rounds (m->plan);
    bool more = round < m->nbegin;

    if (m->filled)
        compute_fair_loads (m, fair);
    for (size_t i = 0; i < m->norder; i++) {
        uint32_t x = m->order[i];
        struct arc_goal *goal = &m->goal[x];

        if (goal->times < goal->wanted
            && has_enough_load (m, x, carried[x])) {
            goal->times++;
            goal->last = m->flow[m->at[m->last[x]].flow].pair;
            more = true;
        }
        if (carried[x] > goal->best * (1 + SLACK)) {
            goal->best = carried[x];
            more = true;
        }
    }
    for (size_t i = 0; i < m->nflows && more; i++) {
        struct probe p = m->flow[i].pair;

        map_put (&m->done, unordered_pair_key (p), 1);
        plan_add (m->plan, round, p.a, p.b);
    }
    clear_round (m);
    free (fair);
    return more;
}

/* Forget the arcs that were loaded often enough, and mark the others. Returns
 * their number.
 */
static size_t find_left (struct maker *m, bool *wanted)
{
    size_t left = 0;

    for (size_t i = 0; i < m->norder; i++) {
        uint32_t x = m->order[i];

        wanted[x] = m->goal[x].times < m->goal[x].wanted;
        if (wanted[x])
            m->order[left++] = x;
    }
    return m->norder = left;
}

/* Arcs that cannot get enough, or not so often, are content with any flow. */
static void settle_goals (struct maker *m)
{
    for (size_t i = 0; i < m->norder; i++) {
        uint32_t x = m->order[i];

        if (m->goal[x].best > 0 && m->goal[x].times == 0)
            m->goal[x].times = 1;
        m->across.arc[x].most = SLACK * m->rate[arc_link (x)];
    }
}

static int make_rounds (struct maker *m, struct error *err)
{
    bool *wanted = xcalloc (2 * m->nlinks, sizeof (*wanted));
    int stuck = 0, rc = 0;

    while (rc == 0
           && (find_left (m, wanted) > 0 || plan_rounds (m->plan) < m->nbegin)
           && plan_rounds (m->plan) < m->rounds_max) {
        terminal_work ("filling links", 0, 0);
        if ((rc = fill_flow_round (m, err)) < 0 || keep_round (m))
            continue;
        if (stuck < DRAWS)
            rc = across_draw (&m->across, m->ps, m->rate, wanted, &m->rng, err);
        else if (stuck == DRAWS && m->opts->often)
            settle_goals (m);
        else
            break;
        stuck++;
    }
    free (wanted);
    return rc;
}

/*
 * The plan
 */

static void set_goals (struct maker *m)
{
    for (size_t x = 0; x < 2 * m->nlinks; x++) {
        struct arc_goal *goal = &m->goal[x];
        unsigned int wanted = m->opts->often ? m->opts->often[x / 2]
                                             : m->opts->times;

        if (m->across.arc[x].most <= 0 || wanted == 0)
            continue;
        goal->wanted = wanted;
        goal->near = m->across.link[x / 2].near > 0 ? NEAR_TRIES : 0;
        m->most = wanted > m->most ? wanted : m->most;
        m->order[m->norder++] = x;
    }
}

static void add_flow_targets (struct maker *m)
{
    for (uint32_t l = 0; l < m->nlinks; l++) {
        double best = fmax (m->goal[2 * l].best, m->goal[2 * l + 1].best);

        if (!m->opts->often || m->opts->often[l] > 0)
            plan_add_target (m->plan, m->link[l],
                             best >= m->rate[l] * (1 - SLACK));
    }
}

/* No pair of these is used again. */
static void set_done (struct maker *m, const struct plan *plan)
{
    for (size_t r = 0; plan && r < plan_rounds (plan); r++) {
        size_t n;
        const struct probe *p = plan_round (plan, r, &n);

        for (size_t i = 0; i < n; i++)
            map_put (&m->done, unordered_pair_key (p[i]), 1);
    }
}

uint32_t *flows_slots (const struct pathset *ps, const uint32_t *slot)
{
    const struct network *net = pathset_network (ps);
    size_t n = pathset_size (ps);
    uint32_t *of = xarray (n, sizeof (*of)), next = 0;
    struct map number = { 0 };

    for (size_t i = 0; i < n; i++) {
        uint32_t key = slot        ? slot[i]
                       : net->card ? net->card (net->net,
                                                pathset_endpoint (ps, i)->id)
                                   : pathset_port (ps, i);

        of[i] = map_find (&number, key);
        if (of[i] == MAP_NONE)
            map_put (&number, key, of[i] = next++);
    }
    map_clear (&number);
    return of;
}

struct plan *flows_make (struct pathset *ps, const struct flows_options *opts,
                         struct error *err)
{
    size_t nports = pathset_ports (ps), m2;
    struct plan *plan;
    struct maker m = {
        .ps = ps,
        .opts = opts,
        .rounds_max = opts->rounds_max > 0 ? opts->rounds_max : ROUNDS_MAX,
        .nbegin = opts->begin ? plan_rounds (opts->begin) : 0,
    };

    m.plan = plan = plan_create ("throughput");
    if (nports < 2)
        return plan;
    if (!(m.link = pathset_links (ps, &m.nlinks, err))) {
        plan_destroy (plan);
        return NULL;
    }
    m2 = 2 * m.nlinks;
    m.rate = across_column_rates (ps, m.link, m.nlinks);
    m.slot = flows_slots (ps, opts->slot);
    m.flow = xarray (nports / 2 + 1, sizeof (*m.flow));
    m.load = xarray (m2, sizeof (*m.load));
    m.last = xarray (m2, sizeof (*m.last));
    m.busy = xarray (pathset_size (ps), 1);
    m.full = xarray (m.nlinks, 1);
    m.spoilt = xarray (m.nlinks, 1);
    m.goal = xcalloc (m2, sizeof (*m.goal));
    m.order = xarray (m2, sizeof (*m.order));
    clear_round (&m);
    rng_seed (&m.rng, opts->seed);
    set_done (&m, opts->begin);
    set_done (&m, opts->before);
    if (across_find (&m.across, ps, m.rate, &m.rng, err) < 0)
        goto error;
    set_goals (&m);
    if (make_rounds (&m, err) < 0)
        goto error;
    add_flow_targets (&m);
    plan_set_rank (plan, m.nlinks, 0, 0);
    goto out;
error:
    plan_destroy (plan);
    plan = NULL;
out:
    across_clear (&m.across);
    map_clear (&m.done);
    free (m.rate);
    free (m.slot);
    free (m.flow);
    free (m.at);
    free (m.load);
    free (m.last);
    free (m.busy);
    free (m.full);
    free (m.spoilt);
    free (m.goal);
    free (m.order);
    return plan;
}
