/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "core/rate/loads.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/linear/stats.h"
#include "core/paths/tree.h"
#include "core/rate/across.h"
#include "core/rate/carry.h"
#include "core/rate/flows.h"
#include "util/alloc.h"
#include "util/map.h"
#include "util/sort.h"

enum {
    HOST_TIMES = 2,   /* flows of a host link */
    LEAF_ROUNDS = 64, /* of pairs at one leaf, at most */
    AGAIN_TIMES = 2,
    AGAIN_ROUNDS = 4, /* with other partners, */
    ALONE_ROUNDS = 4, /* and with few flows at a time */
};

/* Pairs at one leaf, which cross host links alone. */
struct near_pairs {
    struct pathset *ps;
    const struct loads_options *opts;
    uint32_t *slot;         /* [endpoints] */
    uint64_t *busy;         /* [endpoints] by slot: rounds, as bits */
    uint8_t *flows;         /* [ports] that fill its link */
    uint8_t *any;           /* [ports] flows */
    struct map done;        /* pairs */
    const uint8_t *suspect; /* [columns] of a second look; NULL */
    struct plan *plan;
};

struct leaf_port {
    uint32_t end;  /* its first endpoint */
    uint32_t rail; /* of its host's at this leaf */
    double rate;   /* of its link; 0: not known */
    const char *host;
};

static int compare_leaf_hosts (const void *a, const void *b)
{
    const struct leaf_port *x = a, *y = b;
    int order = strcmp (x->host, y->host);

    return order ? order : util_compare (x->end, y->end);
}

/* The fastest first; neighbours are of different hosts if there are any. */
static int compare_leaf_ports (const void *a, const void *b)
{
    const struct leaf_port *x = a, *y = b;
    int order = util_compare (y->rate, x->rate);

    order = order ? order : util_compare (x->rail, y->rail);
    return order ? order : util_compare (x->end, y->end);
}

/* Add a new pair to the first round from `round` on that has room. */
static void add_near_pair (struct near_pairs *w, const struct leaf_port *a,
                           const struct leaf_port *b, unsigned int round)
{
    uint64_t *x = &w->busy[w->slot[a->end]], *y = &w->busy[w->slot[b->end]];
    uint32_t port[2]
        = { pathset_port (w->ps, a->end), pathset_port (w->ps, b->end) };

    while (round < LEAF_ROUNDS && (*x | *y) >> round & 1)
        round++;
    if (round == LEAF_ROUNDS || x == y
        || !pathset_is_pair (w->ps, a->end, b->end)
        || map_find (&w->done, pair_key (a->end, b->end)) != MAP_NONE)
        return;
    map_put (&w->done, pair_key (a->end, b->end), 1);
    *x |= UINT64_C (1) << round;
    *y |= UINT64_C (1) << round;
    w->flows[port[0]] += b->rate >= a->rate;
    w->flows[port[1]] += a->rate >= b->rate;
    w->any[port[0]]++;
    w->any[port[1]]++;
    plan_add (w->plan, round, a->end, b->end);
}

/* The ports of a leaf, in the order above. */
static size_t list_leaf_ports (const struct pathset *ps, const struct tree *t,
                               size_t leaf, struct leaf_port *port)
{
    const struct network *net = pathset_network (ps);
    uint32_t next = 0;
    size_t n = 0;

    /* ports are numbered in the order of their first endpoints */
    for (uint32_t k = t->first[leaf]; k < t->first[leaf + 1]; k++) {
        uint32_t end = t->member[k];

        if (pathset_port (ps, end) < next)
            continue;
        next = pathset_port (ps, end) + 1;
        port[n++] = (struct leaf_port){
            .end = end,
            .rate = t->up[end] == NETWORK_NONE
                        ? 0
                        : net->link[arc_link (t->up[end])].rate,
            .host = pathset_endpoint (ps, end)->host,
        };
    }
    qsort (port, n, sizeof (*port), compare_leaf_hosts);
    for (size_t i = 1; i < n; i++)
        if (!strcmp (port[i].host, port[i - 1].host))
            port[i].rail = port[i - 1].rail + 1;
    qsort (port, n, sizeof (*port), compare_leaf_ports);
    return n;
}

/* Pair port i, which lacks flows, with others of n: faster ones, or any. */
static void pair_rest (struct near_pairs *w, const struct leaf_port *port,
                       size_t n, size_t i)
{
    uint32_t own = pathset_port (w->ps, port[i].end);

    for (int slower = 0; slower <= w->opts->hosts; slower++)
        for (size_t k = 1; k < n; k++) {
            const struct leaf_port *p = &port[(i + k) % n];

            if ((slower ? w->any : w->flows)[own] < HOST_TIMES
                && (slower ? p->rate < port[i].rate : p->rate > port[i].rate))
                add_near_pair (w, &port[i], p, 0);
        }
}

/* Ports of one rate in a ring: each is in two pairs. If their number is odd, the
 * last pair has a round of its own.
 */
static void pair_leaf (struct near_pairs *w, const struct leaf_port *port,
                       size_t n)
{
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && port[end].rate == port[i].rate; end++)
            ;
        for (size_t k = i; k < (end - i == 2 ? i + 1 : end) && end - i > 1; k++)
            add_near_pair (w, &port[k], &port[k + 1 < end ? k + 1 : i],
                           (k - i) % 2);
    }
    for (size_t i = 0; i < n; i++)
        pair_rest (w, port, n, i);
}

static void near_open (struct near_pairs *w, struct pathset *ps,
                       const struct loads_options *opts)
{
    size_t n = pathset_size (ps);

    *w = (struct near_pairs){
        .ps = ps,
        .opts = opts,
        .slot = flows_slots (ps, opts->slot),
        .busy = xcalloc (n, sizeof (*w->busy)),
        .flows = xcalloc (pathset_ports (ps), 1),
        .any = xcalloc (pathset_ports (ps), 1),
        .plan = plan_create ("throughput"),
    };
}

static void near_clear (struct near_pairs *w)
{
    free (w->slot);
    free (w->busy);
    free (w->flows);
    free (w->any);
    map_clear (&w->done);
    plan_destroy (w->plan);
}

/* Call a function for the ports of each leaf. */
static void each_leaf (struct near_pairs *w,
                       void (*pair) (struct near_pairs *w,
                                     const struct leaf_port *port, size_t n))
{
    struct tree *t = tree_create (w->ps);
    struct leaf_port *port = xarray (pathset_ports (w->ps), sizeof (*port));

    for (size_t l = 0; l < t->nleaves; l++)
        pair (w, port, list_leaf_ports (w->ps, t, l, port));
    tree_destroy (t);
    free (port);
}

/* The column of an endpoint's link, or -1. */
static int end_column (const struct pathset *ps, uint32_t end)
{
    uint32_t link = pathset_end_link (ps, end);

    return link == NETWORK_NONE ? -1 : pathset_column (ps, link);
}

/* The plan so far, if nothing is to be added. */
static struct plan *take_near_plan (struct near_pairs *w, size_t links)
{
    struct plan *plan = w->plan;

    w->plan = NULL;
    plan_set_rank (plan, links, 0, 0);
    return plan;
}

/*
 * The plan
 */

/* How often links are to be loaded, beyond the near pairs if those are all that
 * host links should have. Returns whether any is.
 */
static bool count_loads (const struct near_pairs *w, const uint32_t *link,
                         size_t m, uint8_t *often)
{
    const struct network *net = pathset_network (w->ps);
    const struct loads_options *opts = w->opts;
    bool more = false;

    for (size_t c = 0; c < m; c++) {
        often[c] = net->link[link[c]].kind == LINK_SWITCH && !opts->hosts;
        more |= often[c] > 0;
    }
    for (size_t i = 0; i < pathset_size (w->ps); i++) {
        int column = end_column (w->ps, i);
        bool alone = w->any[pathset_port (w->ps, i)] == 0;

        if (column < 0)
            continue;
        often[column] = !opts->hosts           ? HOST_TIMES
                        : alone && !opts->near ? 1
                                               : 0;
        more |= often[column] > 0 && alone;
    }
    return more;
}

/* Host links as targets, but for those that the plan has. */
static void add_near_targets (const struct near_pairs *w, const uint8_t *often,
                              struct plan *plan)
{
    uint32_t next = 0;

    for (size_t i = 0; i < pathset_size (w->ps); i++) {
        uint32_t port = pathset_port (w->ps, i);
        int column = end_column (w->ps, i);

        if (port != next)
            continue;
        next++;
        if (column >= 0 && (!often || often[column] == 0))
            plan_add_target (plan, pathset_end_link (w->ps, i),
                             w->flows[port] > 0);
    }
}

struct plan *loads_make (struct pathset *ps, const struct loads_options *opts,
                         struct error *err)
{
    struct flows_options fill = {
        .slot = opts->slot,
        .seed = opts->seed,
        .rounds_max = opts->rounds_max > 0 ? opts->rounds_max + 1 : 0,
    };
    struct loads_options less = *opts;
    struct plan *plan = NULL;
    struct near_pairs w;
    uint8_t *often;
    size_t m;
    const uint32_t *link = pathset_links (ps, &m, err);

    if (!link)
        return NULL;
    near_open (&w, ps, opts);
    each_leaf (&w, pair_leaf);
    often = xcalloc (m, 1);
    if (!count_loads (&w, link, m, often)) {
        plan = take_near_plan (&w, m);
        add_near_targets (&w, NULL, plan);
    }
    else {
        fill.often = often;
        fill.begin = w.plan;
        if ((plan = flows_make (ps, &fill, err)) && opts->hosts)
            add_near_targets (&w, often, plan);
    }
    near_clear (&w);
    free (often);
    if (!plan || opts->hosts || opts->rounds_max == 0
        || plan_rounds (plan) <= opts->rounds_max)
        return plan;
    plan_destroy (plan);
    less.hosts = true;
    if ((plan = loads_make (ps, &less, err)))
        plan_set_maximal (plan, false);
    return plan;
}

/*
 * The second look
 */

struct second_look {
    struct pathset *ps;
    const struct bursts *b;
    double (*expected)[2]; /* [nflows] */
    double floor;          /* of what was expected */
    uint8_t *good;         /* [2 * columns] arcs that carried enough */
    uint8_t *often;        /* [columns] suspects */
    bool *covered;         /* [columns] by new flows */
};

enum way_look { WAY_NONE, WAY_GOOD, WAY_LOW };

static enum way_look look_at_way (const struct second_look *s, size_t flow,
                                  int k)
{
    const struct burst_way *way = &s->b->flow[flow].way[k];
    double expected = s->expected[flow][k];

    if (s->b->flow[flow].a == s->b->flow[flow].b || way->kept + way->lost == 0)
        return WAY_NONE;
    if (way->lost > 0)
        return WAY_LOW;
    return expected == HUGE_VAL              ? WAY_NONE
           : way->best < s->floor * expected ? WAY_LOW
                                             : WAY_GOOD;
}

/* The share of what was expected below which a flow is low. */
static void find_low_share (struct second_look *s)
{
    double *share = xarray (2 * s->b->nflows, sizeof (*share));
    size_t n = 0;

    s->floor = 0;
    for (size_t i = 0; i < s->b->nflows; i++)
        for (int k = 0; k < 2; k++)
            if (look_at_way (s, i, k) == WAY_GOOD)
                share[n++] = s->b->flow[i].way[k].best / s->expected[i][k];
    s->floor = LOADS_AGAIN_SHARE
               * (n < CARRY_USUAL_MIN ? 1 : fmin (1, stats_median (share, n)));
    free (share);
}

/* The arcs of one direction of a flow, by columns. Returns their number, or -1
 * with err.
 */
static int walk_way (const struct second_look *s, size_t flow, int k,
                     uint32_t *arc, struct error *err)
{
    const struct burst_flow *f = &s->b->flow[flow];
    int n = pathset_walk (s->ps, k ? f->b : f->a, k ? f->a : f->b, arc, err);

    for (int i = 0; i < n; i++)
        arc[i] = across_arc_of (s->ps, arc[i]);
    return n;
}

/* Suspects of a low direction: its links that were not good in any other flow,
 * or else its ends'. Calls a function for each; returns 0, or -1 with err.
 */
static int each_suspect (struct second_look *s, size_t flow, int k,
                         void (*take) (struct second_look *s, uint32_t column,
                                       bool *any),
                         bool *any, struct error *err)
{
    uint32_t arc[PATH_MAX_HOPS];
    int n = walk_way (s, flow, k, arc, err), bad = 0;

    for (int i = 0; i < n; i++)
        if (!s->good[arc[i]]) {
            take (s, arc_link (arc[i]), any);
            bad++;
        }
    if (n > 0 && bad == 0) {
        take (s, arc_link (arc[0]), any);
        take (s, arc_link (arc[n - 1]), any);
    }
    return n < 0 ? -1 : 0;
}

static void take_suspect (struct second_look *s, uint32_t column, bool *any)
{
    s->often[column] = AGAIN_TIMES;
    *any = true;
}

static void take_covered (struct second_look *s, uint32_t column, bool *any)
{
    *any |= s->covered[column];
}

/* Mark the arcs that were good, then the suspects; *any: there are some. */
static int find_suspect_links (struct second_look *s, bool *any,
                               struct error *err)
{
    uint32_t arc[PATH_MAX_HOPS];

    for (int low = 0; low < 2; low++)
        for (size_t i = 0; i < s->b->nflows; i++)
            for (int k = 0; k < 2; k++) {
                int n = 0;

                if (look_at_way (s, i, k) != (low ? WAY_LOW : WAY_GOOD))
                    continue;
                if (low ? each_suspect (s, i, k, take_suspect, any, err) < 0
                        : (n = walk_way (s, i, k, arc, err)) < 0)
                    return -1;
                for (int x = 0; x < n; x++)
                    s->good[arc[x]] = 1;
            }
    return 0;
}

/* New partners for suspect hosts at their leaf: such that are not suspect, of
 * their rate or faster, if there are any.
 */
static void pair_suspects (struct near_pairs *w, const struct leaf_port *port,
                           size_t n)
{
    for (int kind = 0; kind < 4; kind++)
        for (size_t i = 0; i < n; i++) {
            int column = end_column (w->ps, port[i].end);
            const uint8_t *any = &w->any[pathset_port (w->ps, port[i].end)];

            for (size_t k = 1; k < n && column >= 0 && w->suspect[column] > 0
                               && *any < AGAIN_TIMES;
                 k++) {
                const struct leaf_port *p = &port[(i + k) % n];
                int other = end_column (w->ps, p->end);

                if ((kind & 1) == (p->rate < port[i].rate)
                    && kind >> 1 == (other >= 0 && w->suspect[other] > 0))
                    add_near_pair (w, &port[i], p, 0);
            }
        }
}

static int note_covered (struct second_look *s, const struct plan *plan,
                         struct error *err)
{
    for (size_t r = 0; r < plan_rounds (plan); r++) {
        size_t n;
        const struct probe *p = plan_round (plan, r, &n);

        for (size_t i = 0; i < n; i++) {
            struct row row;

            if (pathset_row (s->ps, p[i].a, p[i].b, &row, err) < 0)
                return -1;
            for (size_t k = 0; k < row.n; k++)
                s->covered[pathset_column (s->ps, row.link[k])] = true;
        }
    }
    return 0;
}

/* Add rounds that repeat flows: those of the first new round, a few at a time,
 * and low ones none of whose suspects has a new flow, as they were together.
 */
static int add_repeats (struct second_look *s, struct plan *plan,
                        struct error *err)
{
    size_t rounds = plan_rounds (plan), from = rounds, n = 0;
    const struct probe *p = rounds > 0 ? plan_round (plan, 0, &n) : NULL;
    size_t alone = n < ALONE_ROUNDS ? n : ALONE_ROUNDS;
    struct probe *first = xarray (n, sizeof (*first));
    struct map number = { 0 };
    int rc = note_covered (s, plan, err);

    for (size_t i = 0; i < n; i++)
        first[i] = p[i];
    for (size_t i = 0; i < n && alone > 1; i++)
        plan_add (plan, rounds + i % alone, first[i].a, first[i].b);
    from = plan_rounds (plan);
    for (size_t i = 0; i < s->b->nflows && rc == 0; i++) {
        const struct burst_flow *f = &s->b->flow[i];
        bool low = false, covered = false;
        uint32_t round;

        for (int k = 0; k < 2 && rc == 0; k++)
            if (look_at_way (s, i, k) == WAY_LOW) {
                low = true;
                rc = each_suspect (s, i, k, take_covered, &covered, err);
            }
        if (!low || covered || rc < 0)
            continue;
        if ((round = map_find (&number, f->round)) == MAP_NONE)
            map_put (&number, f->round, round = (uint32_t)number.n);
        plan_add (plan, from + round, f->a, f->b);
    }
    map_clear (&number);
    free (first);
    plan_set_confirm (plan, plan_rounds (plan) - rounds);
    return rc;
}

/* Flows of suspects with others. */
static struct plan *make_new_flows (struct second_look *s,
                                    const struct plan *first,
                                    const struct loads_options *opts,
                                    size_t links, struct error *err)
{
    struct flows_options fill = {
        .slot = opts->slot,
        .seed = opts->seed + 1,
        .often = s->often,
        .before = first,
        .apart = true,
        .rounds_max = AGAIN_ROUNDS,
    };
    struct near_pairs w;
    struct plan *plan;

    near_open (&w, s->ps, opts);
    w.suspect = s->often;
    for (size_t r = 0; r < plan_rounds (first); r++) {
        size_t n;
        const struct probe *p = plan_round (first, r, &n);

        for (size_t i = 0; i < n; i++)
            map_put (&w.done, pair_key (p[i].a, p[i].b), 1);
    }
    each_leaf (&w, pair_suspects);
    fill.begin = w.plan;
    plan = opts->hosts ? take_near_plan (&w, links)
                       : flows_make (s->ps, &fill, err);
    near_clear (&w);
    return plan;
}

struct plan *loads_again (struct pathset *ps, const struct plan *first,
                          const struct bursts *b,
                          const struct loads_options *opts, struct error *err)
{
    size_t m;
    struct plan *plan = NULL;
    bool any = false;
    struct second_look s = { .ps = ps, .b = b };

    if (!pathset_links (ps, &m, err))
        return NULL;
    s.expected = xcalloc (b->nflows, sizeof (*s.expected));
    s.good = xcalloc (2 * m, 1);
    s.often = xcalloc (m, 1);
    s.covered = xcalloc (m, sizeof (*s.covered));
    if (bursts_expected (b, ps, NULL, s.expected, err) == 0) {
        find_low_share (&s);
        if (find_suspect_links (&s, &any, err) == 0)
            plan = any ? make_new_flows (&s, first, opts, m, err)
                       : plan_create ("throughput");
    }
    if (plan && any && add_repeats (&s, plan, err) < 0) {
        plan_destroy (plan);
        plan = NULL;
    }
    free (s.expected);
    free (s.good);
    free (s.often);
    free (s.covered);
    return plan;
}
