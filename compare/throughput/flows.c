/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes: a round is filled link by link, those first that were loaded least
 * often, and of these in random order. Each tries the pairs that are known to
 * cross it until it has what it is to have; else these are taken back, unless
 * they bring more than any round before. Rounds that bring nothing more end
 * the search, after other pairs were drawn for what is left.
 */
#include "config.h"
#include "compare/throughput/flows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare/throughput/across.h"
#include "compare/throughput/packing.h"
#include "util/rng.h"

enum {
    ROUNDS_MAX = 4096,
    DRAWS = 2, /* of other pairs, when a round brings nothing */
    NEAR_TRIES = 3,
};

/* Pairs that have been measured: a hash table of what is 0 or a pair. */
struct pairs {
    uint64_t *key;
    size_t n, size; /* a power of two */
};

/* What rounds so far have brought on an arc. */
struct load {
    double best;
    unsigned int times;    /* all it is to have */
    struct probe last;     /* one of the flows */
    uint8_t near;          /* tries left to load it by the nearest pairs */
};

struct maker {
    struct pathset *ps;
    const struct flows_options *opts;
    struct rng rng;
    double *rate;          /* [nlinks] */
    struct across across;
    struct packing *round;
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

static int insert (struct pairs *set, uint64_t key)
{
    if (2 * set->n >= set->size) {
        struct pairs more = { .size = set->size ? 2 * set->size : 1024 };

        if (!(more.key = calloc (more.size, sizeof (*more.key))))
            return -1;
        for (size_t i = 0; i < set->size; i++)
            if (set->key[i])
                *find (&more, set->key[i]) = set->key[i];
        more.n = set->n;
        free (set->key);
        *set = more;
    }
    *find (set, key) = key;
    set->n++;
    return 0;
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
    m->load = calloc (2 * nlinks + 1, sizeof (*m->load));
    m->target = calloc (nlinks + 1, sizeof (*m->target));
    m->order = calloc (2 * nlinks + 1, sizeof (*m->order));
    m->carried = calloc (2 * nlinks + 1, sizeof (*m->carried));
    m->flow = calloc (2 * nlinks + 1, sizeof (*m->flow));
    if (!m->load || !m->target || !m->order || !m->carried || !m->flow)
        return error_nomem (err);
    if (!(m->rate = across_rates (m->ps, err))
        || across_find (&m->across, m->ps, m->rate, &m->rng, err) < 0
        || !(m->round = packing_create (m->ps, m->rate, err)))
        return -1;
    return set_targets (m, err);
}

static bool is_host (const struct maker *m, uint32_t arc)
{
    return pathset_network (m->ps)->link[arc_link (arc)].kind == LINK_HOST;
}

/* Has the arc what it is to have, of so much? */
static bool enough (const struct maker *m, uint32_t arc, double load)
{
    return load >= m->across.most[arc] * (1 - PACKING_SLACK);
}

/* Is an endpoint of the pair one of the last flow's across the arc? */
static bool is_again (const struct maker *m, uint32_t arc, struct probe p)
{
    const struct load *l = &m->load[arc];

    return l->times > 0
           && (p.a == l->last.a || p.a == l->last.b || p.b == l->last.a
               || p.b == l->last.b);
}

/* Add of n pairs those that fit, until the arc has enough. In a first pass
 * those of other endpoints than the last time. 0, or -1 with err.
 */
static int add_pairs (struct maker *m, uint32_t arc, const struct probe *pair,
                      size_t n, struct error *err)
{
    uint32_t link = arc_link (arc);

    for (int again = 0; again < 2; again++)
        for (size_t i = 0; i < n; i++) {
            if (enough (m, arc, packing_load (m->round, arc))
                || packing_is_full (m->round, link))
                return 0;
            if (packing_is_busy (m->round, pair[i].a)
                || packing_is_busy (m->round, pair[i].b)
                || is_again (m, arc, pair[i]) != again
                || contains (&m->done, pair[i]))
                continue;
            if (packing_add (m->round, pair[i], link, err) < 0)
                return -1;
        }
    return 0;
}

/* Load an arc; without success leave the round as it was. */
static int load_arc (struct maker *m, uint32_t arc, struct error *err)
{
    const struct across *a = &m->across;
    uint32_t link = arc_link (arc);
    size_t before = packing_flows (m->round);
    double load;

    if (add_pairs (m, arc, &a->alike[(size_t)link * ACROSS_ALIKE],
                   a->nalike[link], err) < 0
        || add_pairs (m, arc, &a->pair[(size_t)arc * ACROSS_PAIRS],
                      a->npairs[arc], err) < 0)
        return -1;
    load = packing_load (m->round, arc);
    if (!enough (m, arc, load) && !packing_is_full (m->round, link)
        && load <= m->load[arc].best * (1 + PACKING_SLACK))
        packing_undo (m->round, before);
    return 0;
}

/* The same by the nearest pairs alone. */
static int load_near (struct maker *m, uint32_t arc, struct error *err)
{
    const struct across *a = &m->across;
    uint32_t link = arc_link (arc);
    size_t before = packing_flows (m->round);

    if (add_pairs (m, arc, &a->alike[(size_t)link * ACROSS_ALIKE],
                   a->nnear[link], err) < 0)
        return -1;
    if (enough (m, arc, packing_load (m->round, arc))) {
        m->load[arc].near = 0;
        return 0;
    }
    m->load[arc].near--;
    if (!packing_is_full (m->round, link))
        packing_undo (m->round, before);
    return 0;
}

/* Those that have few links on their nearest pairs' ways first. */
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

/* Arcs that were loaded so often, host ends last. */
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

/* Put the round into the plan. Returns 1, or 0 where it brings nothing more;
 * -1 with err.
 */
static int keep_round (struct maker *m, struct error *err)
{
    size_t round = plan_rounds (m->plan);
    bool more = false;

    if (packing_expect (m->round, m->carried, m->flow, err) < 0)
        return -1;
    for (size_t i = 0; i < m->norder; i++) {
        uint32_t x = m->order[i];
        struct load *l = &m->load[x];

        if (l->times < m->opts->times && enough (m, x, m->carried[x])) {
            l->times++;
            l->last = packing_pair (m->round, m->flow[x]);
            more = true;
        }
        if (m->carried[x] > l->best * (1 + PACKING_SLACK)) {
            l->best = m->carried[x];
            more = true;
        }
    }
    for (size_t i = 0; i < packing_flows (m->round) && more; i++) {
        struct probe p = packing_pair (m->round, i);

        if (insert (&m->done, key_of (p)) < 0)
            return error_nomem (err);
        plan_add (m->plan, round, p.a, p.b);
    }
    packing_clear (m->round);
    return more;
}

static int draw_more (struct maker *m, struct error *err)
{
    bool *wanted = calloc (2 * m->across.nlinks + 1, sizeof (*wanted));
    int rc = wanted ? 0 : error_nomem (err);

    for (size_t i = 0; i < m->norder && rc == 0; i++)
        wanted[m->order[i]] = m->load[m->order[i]].times < m->opts->times;
    if (rc == 0)
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
        int rc = fill_round (m, err);

        if (rc < 0 || (rc = keep_round (m, err)) < 0)
            return -1;
        if (rc > 0)
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
    struct maker m = { .ps = ps, .opts = opts };
    size_t links = 0;

    if (!(m.plan = plan_create ("throughput"))) {
        error_nomem (err);
        return NULL;
    }
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
