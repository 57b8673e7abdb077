/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes: a round is filled arc by arc, starting with those that were loaded
 * least often, in random order. For each arc, the known pairs that cross it are
 * tried until its load suffices. If it does not, the flows are removed again,
 * unless they load the arc more than any round before. When a round adds
 * nothing, other pairs are drawn for the arcs that are left; after DRAWS such
 * draws, the search ends.
 */
#include "config.h"
#include "compare/throughput/flows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare/throughput/across.h"
#include "compare/throughput/fair.h"
#include "util/alloc.h"
#include "util/rng.h"

/*
 * Packing: a round of flows while it is filled
 *
 * A flow is an exchange of a pair in both directions at once. Alone it gets its
 * *cap*: the lowest rate of all links on its paths there and back. A link is
 * *full* if the caps of its flows together exceed its rate in some direction. A
 * round is *good* if each flow is limited in at most one place, which is known
 * (flows.h has the conditions). Then all flows that cross no full link get
 * their caps, and a full link carries its rate by max-min fairness,
 * independently of other links.
 */

#define PACKING_SLACK 1e-9 /* of a rate: rounding errors */

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

struct flow_packing {
    const struct pathset *ps;
    const double *rate;
    size_t narcs;
    struct flow *flow; /* [nports / 2 + 1] */
    size_t nflows;
    struct flow_crossing *at;
    size_t nat, at_size;
    double *load;    /* [narcs] */
    uint32_t *last;  /* [narcs] crossing */
    uint8_t *busy;   /* [nports] */
    uint8_t *full;   /* [nlinks] */
    uint8_t *spoilt; /* [nlinks] one of its flows crosses a full link */
};

static void packing_destroy (struct flow_packing *p)
{
    if (!p)
        return;
    free (p->flow);
    free (p->at);
    free (p->load);
    free (p->last);
    free (p->busy);
    free (p->full);
    free (p->spoilt);
    free (p);
}

static void packing_clear (struct flow_packing *p)
{
    p->nflows = p->nat = 0;
    memset (p->load, 0, p->narcs * sizeof (*p->load));
    memset (p->last, 0xff, p->narcs * sizeof (*p->last));
    memset (p->busy, 0, pathset_ports (p->ps));
    memset (p->full, 0, p->narcs / 2);
    memset (p->spoilt, 0, p->narcs / 2);
}

/* An empty round; rate[nlinks] is borrowed. */
static struct flow_packing *packing_create (const struct pathset *ps,
                                            const double *rate)
{
    struct flow_packing *p = xarray (1, sizeof (*p));
    size_t m = pathset_network (ps)->nlinks;

    *p = (struct flow_packing){
        .ps = ps,
        .rate = rate,
        .narcs = 2 * m,
        .flow = xarray (pathset_ports (ps) / 2 + 1, sizeof (*p->flow)),
        .load = xarray (2 * m, sizeof (*p->load)),
        .last = xarray (2 * m, sizeof (*p->last)),
        .busy = xarray (pathset_ports (ps), 1),
        .full = xarray (m, 1),
        .spoilt = xarray (m, 1),
    };
    packing_clear (p);
    return p;
}

static uint8_t *busy (const struct flow_packing *p, uint32_t endpoint)
{
    return &p->busy[pathset_port (p->ps, endpoint)];
}

/* The arcs of both directions; arc[] has room for ROW_MAX. Returns their
 * number, or -1 with err.
 */
static int both_ways (const struct flow_packing *p, struct probe pair,
                      uint32_t *arc, struct error *err)
{
    int there = pathset_walk (p->ps, pair.a, pair.b, arc, err);
    int back = there < 0
                   ? -1
                   : pathset_walk (p->ps, pair.b, pair.a, arc + there, err);

    return back < 0 ? -1 : there + back;
}

static bool has (const uint32_t *arc, int n, uint32_t x)
{
    for (int k = 0; k < n; k++)
        if (arc[k] == x)
            return true;
    return false;
}

static double cap_of (const struct flow_packing *p, const uint32_t *arc, int n)
{
    double cap = HUGE_VAL;

    for (int k = 0; k < n; k++)
        cap = fmin (cap, p->rate[arc_link (arc[k])]);
    return cap;
}

static bool overflows (const struct flow_packing *p, uint32_t arc, double cap)
{
    return p->load[arc] + cap > p->rate[arc_link (arc)] * (1 + PACKING_SLACK);
}

/* Whether all flows of a link cross it in both directions (both), or all in one
 * (not both). If the link becomes full, this must hold.
 */
static bool crossed_alike (const struct flow_packing *p, uint32_t link,
                           bool both)
{
    for (uint32_t x = 2 * link; x <= 2 * link + 1; x++)
        for (uint32_t c = p->last[x]; c != NO_CROSSING; c = p->at[c].before) {
            uint32_t d = p->last[x ^ 1];

            while (d != NO_CROSSING && p->at[d].flow != p->at[c].flow)
                d = p->at[d].before;
            if ((d != NO_CROSSING) != both)
                return false;
        }
    return true;
}

/* Whether the round stays good with a flow on these arcs. *fills: the target is
 * then full.
 */
static bool fits (const struct flow_packing *p, const uint32_t *arc, int n,
                  double cap, uint32_t target, bool *fills)
{
    *fills = false;
    for (int k = 0; k < n; k++) {
        uint32_t link = arc_link (arc[k]);

        if (p->full[link] || has (arc, k, arc[k]))
            return false;
        if (!overflows (p, arc[k], cap))
            continue;
        if (link != target || p->spoilt[link])
            return false;
        *fills = true;
    }
    return !*fills
           || crossed_alike (p, target,
                             has (arc, n, 2 * target)
                                 && has (arc, n, 2 * target + 1));
}

static void reserve (struct flow_packing *p, size_t n)
{
    if (p->nat + n <= p->at_size)
        return;
    p->at_size = 2 * (p->nat + n);
    p->at = xrealloc (p->at, p->at_size, sizeof (*p->at));
}

static size_t end_of (const struct flow_packing *p, size_t flow)
{
    return flow + 1 < p->nflows ? p->flow[flow + 1].first : p->nat;
}

/* Mark a link full: no other link of its flows may become full. */
static void set_full (struct flow_packing *p, uint32_t link)
{
    p->full[link] = 1;
    for (uint32_t x = 2 * link; x <= 2 * link + 1; x++)
        for (uint32_t c = p->last[x]; c != NO_CROSSING; c = p->at[c].before) {
            uint32_t flow = p->at[c].flow;

            for (size_t k = p->flow[flow].first; k < end_of (p, flow); k++)
                p->spoilt[arc_link (p->at[k].arc)] = 1;
        }
}

/* Add the flow of a pair. No link but `target` may become full by it. Returns
 * 1; 0 if the round would not be good; or -1 with err.
 */
static int packing_add (struct flow_packing *p, struct probe pair,
                        uint32_t target, struct error *err)
{
    uint32_t arc[ROW_MAX];
    bool fills;
    double cap;
    int n;

    if (*busy (p, pair.a) || *busy (p, pair.b)
        || pathset_port (p->ps, pair.a) == pathset_port (p->ps, pair.b))
        return 0;
    if ((n = both_ways (p, pair, arc, err)) < 0)
        return -1;
    cap = cap_of (p, arc, n);
    if (!fits (p, arc, n, cap, target, &fills))
        return 0;
    reserve (p, n);
    p->flow[p->nflows] = (struct flow){ pair, cap, p->nat };
    for (int k = 0; k < n; k++) {
        p->at[p->nat]
            = (struct flow_crossing){ arc[k], p->nflows, p->last[arc[k]] };
        p->last[arc[k]] = p->nat++;
        p->load[arc[k]] += cap;
    }
    p->nflows++;
    *busy (p, pair.a) = *busy (p, pair.b) = 1;
    if (fills)
        set_full (p, target);
    return 1;
}

/* Remove all flows after the first n. None of them may have filled a link. */
static void packing_undo (struct flow_packing *p, size_t n)
{
    while (p->nflows > n) {
        const struct flow *f = &p->flow[p->nflows - 1];

        while (p->nat > f->first) {
            const struct flow_crossing *c = &p->at[--p->nat];

            p->last[c->arc] = c->before;
            p->load[c->arc]
                = c->before == NO_CROSSING ? 0 : p->load[c->arc] - f->cap;
        }
        *busy (p, f->pair.a) = *busy (p, f->pair.b) = 0;
        p->nflows--;
    }
}

/* carried[2 * nlinks]: the load of each arc by the flows' fair rates. flow[2 *
 * nlinks]: the last flow that crosses the arc, SIZE_MAX if there is none.
 */
static void packing_expect (const struct flow_packing *p, double *carried,
                            size_t *flow)
{
    size_t *first = xarray (p->nflows + 1, sizeof (*first));
    uint32_t *arc = xarray (p->nat, sizeof (*arc));
    double *capacity = xarray (p->narcs, sizeof (*capacity));
    double *rate = xarray (p->nflows, sizeof (*rate));

    for (size_t i = 0; i < p->nflows; i++)
        first[i] = p->flow[i].first;
    first[p->nflows] = p->nat;
    for (size_t k = 0; k < p->nat; k++)
        arc[k] = p->at[k].arc;
    for (size_t x = 0; x < p->narcs; x++)
        capacity[x] = p->rate[x / 2];
    fair_rates (first, arc, p->nflows, capacity, p->narcs, rate);
    for (size_t x = 0; x < p->narcs; x++) {
        carried[x] = 0;
        flow[x] = SIZE_MAX;
    }
    for (size_t i = 0; i < p->nflows; i++)
        for (size_t k = first[i]; k < first[i + 1]; k++) {
            carried[arc[k]] += rate[i];
            flow[arc[k]] = i;
        }
    free (first);
    free (arc);
    free (capacity);
    free (rate);
}

/*
 * The plan
 */

enum {
    ROUNDS_MAX = 4096,
    DRAWS = 2, /* draws of other pairs, when a round adds nothing */
    NEAR_TRIES = 3,
};

/* Pairs that have been used: a hash table of pairs; 0: empty. */
struct pairs {
    uint64_t *key;
    size_t n, size; /* a power of two */
};

/* The best that rounds have achieved so far on an arc. */
struct load {
    double best;
    unsigned int times;    /* how often it had enough */
    struct probe last;     /* a flow of the last such time */
    uint8_t near;          /* remaining tries to load it by the nearest pairs
                              alone */
};

struct maker {
    struct pathset *ps;
    const struct flows_options *opts;
    struct rng rng;
    double *rate;          /* [nlinks] */
    struct across across;
    struct flow_packing *round;
    struct pairs done;
    struct load *load;     /* [2 * nlinks] */
    bool *target;          /* [nlinks] */
    uint32_t *order;       /* [2 * nlinks] arcs of targets */
    size_t norder;
    double *carried;       /* [2 * nlinks] in this round */
    size_t *flow;
    struct plan *plan;
};

static uint64_t key_of (struct probe p)
{
    uint64_t low = p.a < p.b ? p.a : p.b;
    uint64_t high = p.a < p.b ? p.b : p.a;

    return high << 32 | low; /* high > 0 */
}

static uint64_t *find (const struct pairs *set, uint64_t key)
{
    size_t i = (key ^ key >> 29) * 0x9e3779b97f4a7c15 >> 20;

    while (set->key[i &= set->size - 1] && set->key[i] != key)
        i++;
    return &set->key[i];
}

static void insert (struct pairs *set, uint64_t key)
{
    if (2 * set->n >= set->size) {
        struct pairs more
            = { .n = set->n, .size = set->size ? 2 * set->size : 1024 };

        more.key = xcalloc (more.size, sizeof (*more.key));
        for (size_t i = 0; i < set->size; i++)
            if (set->key[i])
                *find (&more, set->key[i]) = set->key[i];
        free (set->key);
        *set = more;
    }
    *find (set, key) = key;
    set->n++;
}

static bool contains (const struct pairs *set, struct probe p)
{
    return set->size > 0 && *find (set, key_of (p)) != 0;
}

static void maker_clear (struct maker *m)
{
    packing_destroy (m->round);
    across_clear (&m->across);
    free (m->rate);
    free (m->done.key);
    free (m->load);
    free (m->target);
    free (m->order);
    free (m->carried);
    free (m->flow);
}

static int set_targets (struct maker *m, struct error *err)
{
    size_t nlinks = m->across.nlinks, n;
    const uint32_t *link = pathset_links (m->ps, &n, err);

    if (!link)
        return -1;
    if (m->opts->link) {
        link = m->opts->link;
        n = m->opts->nlinks;
    }
    for (size_t i = 0; i < n; i++) {
        if (link[i] >= nlinks)
            return error_input (err, "link %u is out of range", link[i]);
        m->target[link[i]] = true;
    }
    for (size_t x = 0; x < 2 * nlinks; x++)
        if (m->target[x / 2] && m->across.most[x] > 0) {
            m->order[m->norder++] = x;
            m->load[x].near = m->across.near[x / 2] > 0 ? NEAR_TRIES : 0;
        }
    return 0;
}

static int maker_init (struct maker *m, struct error *err)
{
    size_t nlinks = pathset_network (m->ps)->nlinks;

    rng_seed (&m->rng, m->opts->seed);
    m->load = xcalloc (2 * nlinks, sizeof (*m->load));
    m->target = xcalloc (nlinks, sizeof (*m->target));
    m->order = xarray (2 * nlinks, sizeof (*m->order));
    m->carried = xarray (2 * nlinks, sizeof (*m->carried));
    m->flow = xarray (2 * nlinks, sizeof (*m->flow));
    m->rate = across_rates (m->ps);
    m->round = packing_create (m->ps, m->rate);
    if (across_find (&m->across, m->ps, m->rate, &m->rng, err) < 0)
        return -1;
    return set_targets (m, err);
}

static bool is_host (const struct maker *m, uint32_t arc)
{
    return pathset_network (m->ps)->link[arc_link (arc)].kind == LINK_HOST;
}

/* Whether this load is as much as the arc can get. */
static bool enough (const struct maker *m, uint32_t arc, double load)
{
    return load >= m->across.most[arc] * (1 - PACKING_SLACK);
}

/* Whether the pair has an endpoint of the flow that loaded the arc last. */
static bool is_again (const struct maker *m, uint32_t arc, struct probe p)
{
    const struct load *l = &m->load[arc];

    return l->times > 0
           && (p.a == l->last.a || p.a == l->last.b || p.b == l->last.a
               || p.b == l->last.b);
}

/* Add those of n pairs that fit, until the arc has enough load. The first pass
 * uses only endpoints other than the last time. Return 0, or -1 with err.
 */
static int add_pairs (struct maker *m, uint32_t arc, const struct probe *pair,
                      size_t n, struct error *err)
{
    uint32_t link = arc_link (arc);

    for (int again = 0; again < 2; again++)
        for (size_t i = 0; i < n; i++) {
            if (enough (m, arc, m->round->load[arc]) || m->round->full[link])
                return 0;
            if (*busy (m->round, pair[i].a) || *busy (m->round, pair[i].b)
                || is_again (m, arc, pair[i]) != again
                || contains (&m->done, pair[i]))
                continue;
            if (packing_add (m->round, pair[i], link, err) < 0)
                return -1;
        }
    return 0;
}

/* Load an arc. If the load is neither enough nor a new maximum, restore the
 * round.
 */
static int load_arc (struct maker *m, uint32_t arc, struct error *err)
{
    const struct across *a = &m->across;
    uint32_t link = arc_link (arc);
    size_t before = m->round->nflows;
    double load;

    if (add_pairs (m, arc, &a->alike[(size_t)link * ACROSS_ALIKE],
                   a->nalike[link], err) < 0
        || add_pairs (m, arc, &a->pair[(size_t)arc * ACROSS_PAIRS],
                      a->npairs[arc], err) < 0)
        return -1;
    load = m->round->load[arc];
    if (!enough (m, arc, load) && !m->round->full[link]
        && load <= m->load[arc].best * (1 + PACKING_SLACK))
        packing_undo (m->round, before);
    return 0;
}

/* The same by the nearest pairs alone. */
static int load_near (struct maker *m, uint32_t arc, struct error *err)
{
    const struct across *a = &m->across;
    uint32_t link = arc_link (arc);
    size_t before = m->round->nflows;

    if (add_pairs (m, arc, &a->alike[(size_t)link * ACROSS_ALIKE],
                   a->nnear[link], err) < 0)
        return -1;
    if (enough (m, arc, m->round->load[arc])) {
        m->load[arc].near = 0;
        return 0;
    }
    m->load[arc].near--;
    if (!m->round->full[link])
        packing_undo (m->round, before);
    return 0;
}

/* Load arcs by their nearest pairs, starting with those whose nearest pairs
 * cross the fewest links.
 */
static int load_all_near (struct maker *m, struct error *err)
{
    size_t left = 0;

    for (size_t i = 0; i < m->norder; i++)
        left += m->load[m->order[i]].near > 0;
    for (unsigned int near = 1; near <= UINT8_MAX && left > 0; near++)
        for (size_t i = 0; i < m->norder; i++) {
            uint32_t x = m->order[i];

            if (m->across.near[arc_link (x)] != near || m->load[x].near == 0)
                continue;
            left--;
            if (load_near (m, x, err) < 0)
                return -1;
        }
    return 0;
}

/* Load the arcs that were loaded `times` times, host links last. */
static int load_all (struct maker *m, unsigned int times, struct error *err)
{
    for (int host = 0; host < 2; host++)
        for (size_t i = 0; i < m->norder; i++) {
            uint32_t x = m->order[i];

            if (m->load[x].times == times && is_host (m, x) == host
                && load_arc (m, x, err) < 0)
                return -1;
        }
    return 0;
}

static int fill_round (struct maker *m, struct error *err)
{
    int rc;

    rng_shuffle (&m->rng, m->order, m->norder);
    rc = load_all_near (m, err);
    for (unsigned int times = 0; times < m->opts->times && rc == 0; times++)
        rc = load_all (m, times, err);
    return rc;
}

/* Add the round to the plan, unless it achieves nothing new. Returns whether it
 * does.
 */
static bool keep_round (struct maker *m)
{
    size_t round = plan_rounds (m->plan);
    bool more = false;

    packing_expect (m->round, m->carried, m->flow);
    for (size_t i = 0; i < m->norder; i++) {
        uint32_t x = m->order[i];
        struct load *l = &m->load[x];

        if (l->times < m->opts->times && enough (m, x, m->carried[x])) {
            l->times++;
            l->last = m->round->flow[m->flow[x]].pair;
            more = true;
        }
        if (m->carried[x] > l->best * (1 + PACKING_SLACK)) {
            l->best = m->carried[x];
            more = true;
        }
    }
    for (size_t i = 0; i < m->round->nflows && more; i++) {
        struct probe p = m->round->flow[i].pair;

        insert (&m->done, key_of (p));
        plan_add (m->plan, round, p.a, p.b);
    }
    packing_clear (m->round);
    return more;
}

static int draw_more (struct maker *m, struct error *err)
{
    bool *wanted = xcalloc (2 * m->across.nlinks, sizeof (*wanted));
    int rc;

    for (size_t i = 0; i < m->norder; i++)
        wanted[m->order[i]] = m->load[m->order[i]].times < m->opts->times;
    rc = across_draw (&m->across, m->ps, m->rate, wanted, &m->rng, err);
    free (wanted);
    return rc;
}

static bool is_done (const struct maker *m)
{
    for (size_t i = 0; i < m->norder; i++)
        if (m->load[m->order[i]].times < m->opts->times)
            return false;
    return true;
}

static int make_rounds (struct maker *m, struct error *err)
{
    int draws = 0;

    while (!is_done (m) && plan_rounds (m->plan) < ROUNDS_MAX) {
        if (fill_round (m, err) < 0)
            return -1;
        if (keep_round (m))
            continue;
        if (draws++ == DRAWS)
            break;
        if (draw_more (m, err) < 0)
            return -1;
    }
    return 0;
}

static bool is_filled (const struct maker *m, uint32_t link)
{
    double best = fmax (m->load[2 * link].best, m->load[2 * link + 1].best);

    return best >= m->rate[link] * (1 - PACKING_SLACK);
}

static void add_targets (struct maker *m)
{
    for (uint32_t l = 0; l < m->across.nlinks; l++) {
        const struct plan_member alone = { l, 1, 1 };

        if (m->target[l])
            plan_add_target (m->plan, l, &alone, is_filled (m, l));
    }
}

struct plan *flows_make (struct pathset *ps, const struct flows_options *opts,
                         struct error *err)
{
    struct maker m = {
        .ps = ps,
        .opts = opts,
        .plan = plan_create ("throughput"),
    };
    size_t links = 0;

    if (pathset_ports (ps) < 2)
        return m.plan;
    if (maker_init (&m, err) < 0 || make_rounds (&m, err) < 0
        || !pathset_links (ps, &links, err)) {
        plan_destroy (m.plan);
        m.plan = NULL;
    }
    else {
        add_targets (&m);
        plan_set_rank (m.plan, links, 0, 0);
    }
    maker_clear (&m);
    return m.plan;
}
