/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "core/rate/crowd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/linear/stats.h"
#include "core/paths/tree.h"
#include "util/alloc.h"
#include "util/rng.h"
#include "util/sort.h"

enum {
    CROWD_ROUNDS = 16, /* at most 64 */
    CROWD_ENDS = 3,    /* of an arc that are tried, */
    CROWD_SEEN = 512,  /* of so many */
};

#define CROWD_ASKED .8 /* of an arc: less does not count */
#define CROWD_SAME .93 /* of the most: as much as that */

struct crowd_maker {
    struct pathset *ps;
    const struct bursts *b;
    struct tree *leaves;
    double *best;   /* [2 * nlinks] the most that a flow had, */
    double *asked;  /* [2 * nlinks] or should have had; 0: no flow */
    double usual;   /* share of that */
    uint32_t *host; /* [endpoints] numbers */
    uint64_t *busy; /* [endpoints] of a host: rounds, as bits */
    uint64_t *used; /* [2 * nlinks] the same of arcs */
    bool *wanted;   /* [2 * nlinks] arcs that are low */
    double *load;   /* [2 * nlinks] of crowds, in their bursts */
    struct rng rng;
    struct plan *plan;
};

/* An arc that is low, and a flow that crossed it. */
struct crowd_goal {
    uint32_t arc, from, end;
    bool host; /* the arc leads to one */
    double share;
};

/* Flows that cross an arc. Apart: they share nothing behind it. Clear: they cross no
 * other low arc, there or back, as bursts of a cable have a limit.
 */
struct crowd_draft {
    uint32_t arc;
    bool apart, clear;
    uint32_t from[CROWD_FLOWS], end[CROWD_FLOWS], input[CROWD_FLOWS];
    uint32_t behind[CROWD_FLOWS * PATH_MAX_HOPS];
    size_t n, nbehind;
    double able; /* share of the arc: what the rest of their paths lets through */
};

/* One direction of a flow: its arcs; 0: it was not measured. */
static int walk_flow (const struct crowd_maker *m, size_t i, int k,
                      const double (*expected)[2], uint32_t *arc)
{
    const struct burst_flow *f = &m->b->flow[i];

    return f->a == f->b || f->way[k].kept == 0 || expected[i][k] == HUGE_VAL
               ? 0
               : pathset_walk (m->ps, k ? f->b : f->a, k ? f->a : f->b, arc,
                               NULL);
}

/* Usual is what most host links had at best: others' traffic may be on the paths of
 * most flows.
 */
static void note_best (struct crowd_maker *m, const double (*expected)[2])
{
    const struct network *net = pathset_network (m->ps);
    double *share = xarray (2 * net->nlinks, sizeof (*share));
    size_t n = 0;

    for (size_t i = 0; i < 2 * m->b->nflows; i++) {
        double best = m->b->flow[i / 2].way[i % 2].best;
        double asked = expected[i / 2][i % 2];
        uint32_t arc[PATH_MAX_HOPS];
        int hops = walk_flow (m, i / 2, i % 2, expected, arc);

        for (int h = 0; h < hops; h++) {
            m->best[arc[h]] = fmax (m->best[arc[h]], best);
            m->asked[arc[h]] = fmax (m->asked[arc[h]], asked);
        }
    }
    for (uint32_t x = 0; x < 2 * net->nlinks; x++)
        if (net->link[arc_link (x)].kind == LINK_HOST && m->asked[x] > 0)
            share[n++] = m->best[x] / m->asked[x];
    m->usual = n < CARRY_USUAL_MIN ? 1 : fmin (1, stats_median (share, n));
    free (share);
}

static bool is_low_arc (const struct crowd_maker *m, uint32_t arc)
{
    return m->best[arc] < CROWD_BELOW * m->usual * m->asked[arc];
}

static int compare_goals (const void *va, const void *vb)
{
    const struct crowd_goal *a = va, *b = vb;
    int order = b->host - a->host;

    order = order ? order : util_compare (a->share, b->share);
    return order ? order : util_compare (a->arc, b->arc);
}

/* One for each low arc between switches, and that into each host of which it or the one
 * out is low: hosts first, as the cables to one that is slow look low, too; then the lowest
 * first.
 */
static struct crowd_goal *list_goals (const struct crowd_maker *m,
                                      const double (*expected)[2], size_t *n)
{
    const struct network *net = pathset_network (m->ps);
    struct crowd_goal *goal = NULL;

    *n = 0;
    for (size_t i = 0; i < 2 * m->b->nflows; i++) {
        const struct burst_flow *f = &m->b->flow[i / 2];
        uint32_t arc[PATH_MAX_HOPS];
        int hops = walk_flow (m, i / 2, i % 2, expected, arc);

        for (int h = 0; h < hops; h++) {
            const struct link_info *info = &net->link[arc_link (arc[h])];
            bool out = info->kind == LINK_HOST && h == 0;
            uint32_t into = out ? arc[h] ^ 1 : arc[h];

            if (m->wanted[into] || !is_low_arc (m, arc[h])
                || m->asked[arc[h]] < CROWD_ASKED * info->rate)
                continue;
            m->wanted[into] = true;
            goal = xgrow (goal, *n, sizeof (*goal));
            goal[(*n)++]
                = (struct crowd_goal){ into, (i % 2) ^ out ? f->b : f->a,
                                       (i % 2) ^ out ? f->a : f->b,
                                       info->kind == LINK_HOST,
                                       m->best[arc[h]] / m->asked[arc[h]] };
        }
    }
    if (*n > 0)
        qsort (goal, *n, sizeof (*goal), compare_goals);
    return goal;
}

/* Walk a path. Return where it crosses the arc; -1: nowhere. */
static int walk_across (const struct crowd_maker *m, uint32_t from,
                        uint32_t end, uint32_t across, uint32_t *arc, int *hops)
{
    *hops = m->host[from] == m->host[end]
                ? 0
                : pathset_walk (m->ps, from, end, arc, NULL);
    for (int at = 1; at < *hops; at++)
        if (arc[at] == across)
            return at;
    return -1;
}

/* Whether some flow to this end did not cross the arc. */
static bool is_reached_else (const struct crowd_maker *m, uint32_t end,
                             uint32_t arc)
{
    for (size_t i = 0; i < 2 * m->b->nflows; i++) {
        const struct burst_flow *f = &m->b->flow[i / 2];
        uint32_t from = i % 2 ? f->b : f->a, to = i % 2 ? f->a : f->b;
        uint32_t path[PATH_MAX_HOPS];
        int hops;

        if (f->a != f->b && f->way[i % 2].kept > 0
            && m->host[to] == m->host[end]
            && walk_across (m, from, to, arc, path, &hops) < 0)
            return true;
    }
    return false;
}

/* Whether its host lets so much in, as far as it says. */
static bool is_able_end (const struct crowd_maker *m, uint32_t end, double bits)
{
    const struct burst_port *p = bursts_port (m->b, end);

    /* its rate without relaxed ordering is not measured again */
    return !p
           || (p->order != ORDER_BETTER
               && fmin (burst_port_bits (p), burst_pcie_bits (&p->able))
                      >= CROWD_ASKED * bits);
}

/* Whether a crowd may end there: behind the arc, all its flows share the rest of the
 * path.
 */
static bool may_end (const struct crowd_maker *m, const struct crowd_goal *goal,
                     uint32_t end)
{
    double bits = pathset_network (m->ps)->link[arc_link (goal->arc)].rate;
    uint32_t arc[PATH_MAX_HOPS];
    int hops, at = walk_across (m, goal->from, end, goal->arc, arc, &hops);

    if (at < 0 || !is_able_end (m, end, bits))
        return false;
    while (++at < hops - 1)
        if (is_low_arc (m, arc[at]))
            return false;
    return !is_low_arc (m, arc[hops - 1])
           || !is_reached_else (m, end, goal->arc);
}

static double able_on (const struct crowd_maker *m, const uint32_t *arc, int n)
{
    double able = 1;

    for (int h = 0; h < n; h++)
        if (m->asked[arc[h]] > 0)
            able = fmin (able, m->best[arc[h]] / (m->usual * m->asked[arc[h]]));
    return able;
}

static bool is_behind (const struct crowd_draft *d, const uint32_t *arc, int n)
{
    for (size_t i = 0; i < d->nbehind; i++)
        for (int h = 0; h < n; h++)
            if (d->behind[i] == arc[h])
                return true;
    return false;
}

static bool is_clear (const struct crowd_maker *m, const struct crowd_draft *d,
                      uint32_t from, uint32_t end)
{
    uint32_t arc[PATH_MAX_HOPS];

    for (int back = 0; back < 2; back++) {
        int hops = pathset_walk (m->ps, back ? end : from, back ? from : end,
                                 arc, NULL);

        for (int h = 0; h < hops; h++)
            if (m->wanted[arc[h]] && arc[h] != d->arc)
                return false;
    }
    return true;
}

static bool is_in_crowd (const struct crowd_maker *m,
                         const struct crowd_draft *d, uint32_t host)
{
    for (size_t i = 0; i < d->n; i++)
        if (m->host[d->from[i]] == host || m->host[d->end[i]] == host)
            return true;
    return false;
}

/* The arc by which a flow comes to the arc that it crosses there; by which its answers
 * leave a host that the arc leads to, if the way out is low: all that come to a host may
 * come by one cable.
 */
static uint32_t port_of_flow (const struct crowd_maker *m, uint32_t from, uint32_t end,
                              const uint32_t *arc, int at, int hops)
{
    uint32_t back[PATH_MAX_HOPS];

    if (at < hops - 1 || !is_low_arc (m, arc[at] ^ 1))
        return arc[at - 1];
    return pathset_walk (m->ps, end, from, back, NULL) > 1 ? back[1] : NETWORK_NONE;
}

/* Add a flow, if its path crosses the arc, through a new port. Return where. */
static int add_to_crowd (struct crowd_maker *m, struct crowd_draft *d,
                         uint32_t from, uint32_t end)
{
    uint32_t arc[PATH_MAX_HOPS], input;
    int hops, at = walk_across (m, from, end, d->arc, arc, &hops), rest;

    if (at < 0 || is_in_crowd (m, d, m->host[from]))
        return at;
    input = port_of_flow (m, from, end, arc, at, hops);
    for (size_t i = 0; i < d->n; i++)
        if (d->input[i] == input)
            return at;
    rest = hops - at - 1;
    if ((d->apart && is_behind (d, arc + at + 1, rest))
        || (d->clear && !is_clear (m, d, from, end)))
        return at;
    memcpy (d->behind + d->nbehind, arc + at + 1, rest * sizeof (*arc));
    d->nbehind += rest;
    d->able += fmin (able_on (m, arc, at),
                     d->apart ? able_on (m, arc + at + 1, rest) : 1);
    d->input[d->n] = input;
    d->end[d->n] = end;
    d->from[d->n++] = from;
    return at;
}

/* Add flows to an end, up to so many. The paths from a leaf's hosts differ in their
 * first hop.
 */
static void add_senders (struct crowd_maker *m, struct crowd_draft *d,
                         uint32_t end, size_t most)
{
    const struct tree *t = m->leaves;
    size_t first = rng_below (&m->rng, t->nleaves);

    for (size_t l = 0; l < t->nleaves && d->n < most; l++) {
        size_t leaf = (first + l) % t->nleaves;
        uint32_t n = t->first[leaf + 1] - t->first[leaf];
        uint32_t begin = (uint32_t)rng_below (&m->rng, n);

        for (uint32_t i = 0; i < n && d->n < most; i++) {
            uint32_t from = t->member[t->first[leaf] + (begin + i) % n];

            if (add_to_crowd (m, d, from, end) != 1
                && m->host[from] != m->host[end])
                break;
        }
    }
}

/* Rounds in which something of the crowd is busy; with `round`, make it so. */
static uint64_t use_crowd (struct crowd_maker *m, const struct crowd_draft *d,
                           uint64_t round)
{
    uint32_t arc[PATH_MAX_HOPS];
    uint64_t all = 0;

    for (size_t i = 0; i < d->n; i++) {
        all |= m->busy[m->host[d->from[i]]] |= round;
        all |= m->busy[m->host[d->end[i]]] |= round;
        for (int k = 0; k < 2; k++) {
            int hops = pathset_walk (m->ps, k ? d->end[i] : d->from[i],
                                     k ? d->from[i] : d->end[i], arc, NULL);

            for (int h = 0; h < hops; h++)
                all |= m->used[arc[h]] |= round;
        }
    }
    return all;
}

/* Add a crowd, or take it away, to the loads of cables. Return whether they have time. */
static bool load_crowd (struct crowd_maker *m, const struct crowd_draft *d,
                        double bursts)
{
    uint32_t arc[PATH_MAX_HOPS];
    bool fits = true;

    for (size_t i = 0; i < 2 * d->n; i++) {
        uint32_t from = d->from[i / 2], end = d->end[i / 2];
        int hops = pathset_walk (m->ps, i % 2 ? end : from, i % 2 ? from : end,
                                 arc, NULL);

        for (int h = 1; h < hops - 1; h++)
            fits &= (m->load[arc[h]] += bursts / (double)d->n) <= CROWD_ROOM;
    }
    return fits;
}

static bool has_time (struct crowd_maker *m, const struct crowd_draft *d)
{
    bool fits = load_crowd (m, d, 1);

    load_crowd (m, d, -1);
    return fits;
}

static bool add_crowd (struct crowd_maker *m, const struct crowd_draft *d)
{
    uint64_t busy = use_crowd (m, d, 0);
    size_t r = 0;

    while (r < CROWD_ROUNDS && busy >> r & 1)
        r++;
    if (r == CROWD_ROUNDS)
        return false;
    use_crowd (m, d, UINT64_C (1) << r);
    load_crowd (m, d, 1);
    for (size_t i = 0; i < d->n; i++)
        plan_add (m->plan, r, d->from[i], d->end[i]);
    return true;
}

struct crowd_host {
    const char *name;
    uint32_t end;
};

static int compare_crowd_hosts (const void *a, const void *b)
{
    return strcmp (((const struct crowd_host *)a)->name,
                   ((const struct crowd_host *)b)->name);
}

static void number_hosts (struct crowd_maker *m)
{
    size_t n = pathset_size (m->ps);
    struct crowd_host *by = xarray (n, sizeof (*by));

    for (uint32_t e = 0; e < n; e++)
        by[e] = (struct crowd_host){ pathset_endpoint (m->ps, e)->host, e };
    qsort (by, n, sizeof (*by), compare_crowd_hosts);
    for (uint32_t i = 0, number = 0; i < n; i++) {
        number += i > 0 && strcmp (by[i].name, by[i - 1].name) != 0;
        m->host[by[i].end] = number;
    }
    free (by);
}

/* The largest crowd of some ends: of one each that flows share nothing behind the arc,
 * or else of one for all.
 */
static struct crowd_draft find_crowd (struct crowd_maker *m,
                                      const struct crowd_goal *goal)
{
    struct crowd_draft best = { .n = 0 };
    uint32_t n = (uint32_t)pathset_size (m->ps);
    uint32_t first = (uint32_t)rng_below (&m->rng, n), arc[PATH_MAX_HOPS];
    int hops;

    for (int how = 3; how >= 0; how--) {
        bool apart = how & 1;
        struct crowd_draft d
            = { .arc = goal->arc, .apart = apart, .clear = how & 2 };

        for (uint32_t i = 0, tried = 0;
             i <= n && i <= CROWD_SEEN
             && tried < (apart ? 2 * CROWD_FLOWS : CROWD_ENDS)
             && best.n < CROWD_FLOWS;
             i++) {
            uint32_t end = i ? (first + i) % n : goal->end;

            if (apart ? walk_across (m, goal->from, end, d.arc, arc, &hops) < 0
                            || is_in_crowd (m, &d, m->host[end])
                      : !may_end (m, goal, end))
                continue;
            tried++;
            if (!apart) {
                d.n = d.nbehind = 0;
                d.able = 0;
            }
            add_senders (m, &d, end, apart ? d.n + 1 : CROWD_FLOWS);
            if (d.n > best.n && d.able >= CROWD_BELOW && has_time (m, &d))
                best = d;
        }
    }
    return best;
}

struct plan *crowd_make (struct pathset *ps, const struct bursts *b,
                         uint64_t seed, struct error *err)
{
    size_t n = pathset_size (ps), narcs = 2 * pathset_network (ps)->nlinks;
    double (*expected)[2] = xcalloc (b->nflows, sizeof (*expected));
    struct crowd_maker m = {
        .ps = ps,
        .b = b,
        .leaves = tree_create (ps),
        .best = xcalloc (narcs, sizeof (*m.best)),
        .asked = xcalloc (narcs, sizeof (*m.asked)),
        .host = xarray (n, sizeof (*m.host)),
        .busy = xcalloc (n, sizeof (*m.busy)),
        .used = xcalloc (narcs, sizeof (*m.used)),
        .wanted = xcalloc (narcs, sizeof (*m.wanted)),
        .load = xcalloc (narcs, sizeof (*m.load)),
        .plan = plan_create ("throughput"),
    };
    struct plan *plan = m.plan;
    struct crowd_goal *goal = NULL;
    bool *done = xcalloc (narcs, sizeof (*done));
    size_t ngoals = 0;

    rng_seed (&m.rng, seed);
    number_hosts (&m);
    if (bursts_expected (b, ps, NULL, expected, err) < 0) {
        plan_destroy (plan);
        plan = NULL;
    }
    else {
        note_best (&m, expected);
        goal = list_goals (&m, expected, &ngoals);
    }
    /* hosts come first; a cable at half is low both ways: one crowd tells */
    for (int both = 1; both >= 0; both--)
        for (size_t i = 0; i < ngoals; i++) {
            uint32_t arc = goal[i].arc;
            struct crowd_draft d;

            if (both ? (!goal[i].host && !m.wanted[arc ^ 1]) || done[arc ^ 1]
                     : done[arc])
                continue;
            d = find_crowd (&m, &goal[i]);
            if (d.n > 1)
                done[arc] = add_crowd (&m, &d);
        }
    tree_destroy (m.leaves);
    free (expected);
    free (goal);
    free (m.best);
    free (m.asked);
    free (m.host);
    free (m.busy);
    free (m.used);
    free (m.wanted);
    free (m.load);
    free (done);
    return plan;
}

/*
 * What they tell
 */

/* A flow crosses an arc, behind another, from one host to another. */
struct crowd_crossing {
    uint32_t round, arc, input, host[2]; /* the arcs of these */
    double rate, worst, fair;
};

struct crowd_reader {
    const struct network *net;
    const struct flows *flows;
    const double *rate, *arc_bits;
    struct crowd_crossing *x; /* of all rounds, one after the other, by arc and input */
    size_t n;
    struct crowd *crowd;
};

static int compare_crossings (const void *va, const void *vb)
{
    const struct crowd_crossing *a = va, *b = vb;
    int order = util_compare (a->round, b->round);

    order = order ? order : util_compare (a->arc, b->arc);
    return order ? order : util_compare (a->input, b->input);
}

/* The flows of a round that cross an arc. */
static void note_crowd (struct crowd *crowd, const struct crowd_crossing *x,
                        size_t n, double bits)
{
    double rate = 0, fair = 0, worst = 0, share;
    uint32_t inputs = 0;

    for (size_t i = 0; i < n; i++) {
        rate += x[i].rate;
        worst += x[i].worst;
        fair += x[i].fair;
        inputs += i == 0 || x[i].input != x[i - 1].input;
    }
    share = rate / bits;
    if (isnan (share) || !(fair >= CROWD_ASKED * bits))
        return;
    if (inputs == 1) {
        if (crowd->one < CROWD_SAME * share)
            crowd->rounds = crowd->steady = 0;
        crowd->one = fmax (crowd->one, share);
        crowd->rounds += share > CROWD_SAME * crowd->one;
        crowd->steady += worst > CROWD_SAME * crowd->one * bits;
    }
    else if (inputs > crowd->inputs
             || (inputs == crowd->inputs && share > crowd->together)) {
        crowd->inputs = inputs;
        crowd->together = share;
    }
}

/* Whether some flow crosses one arc, and not the other. */
static bool is_crossed_else (const struct crowd_reader *m, uint32_t arc,
                             uint32_t not)
{
    const double *rate = m->rate;
    bool is = false;

    for (size_t r = 0; r < m->flows->nrounds && !is;
         rate += m->flows->round[r++].n) {
        const struct csr *c = &m->flows->round[r];

        for (size_t i = 0; i < c->n && !is; i++) {
            bool has = false, other = false;

            for (size_t k = c->start[i]; k < c->start[i + 1]; k++) {
                has |= c->v[k] == arc;
                other |= c->v[k] == not;
            }
            is = has && !other && !isnan (rate[i]);
        }
    }
    return is;
}

/* Whether one host that these flows have in common limits them, as far as is known. */
static bool is_limited_by_host (const struct crowd_reader *m,
                                const struct crowd_crossing *x, size_t n)
{
    bool is = false;

    for (int k = 0; k < 2; k++) {
        const struct crowd *host = &m->crowd[x->host[k]];
        size_t i = 1;

        while (i < n && x[i].host[k] == x->host[k])
            i++;
        is |= i == n && n > 1 && fmax (host->one, host->together) < CROWD_BELOW
              && is_crossed_else (m, x->host[k], x->arc);
    }
    return is;
}

static void list_crossings (struct crowd_reader *m, const double *worst,
                            const double *fair)
{
    size_t n = 0, from = 0;

    for (size_t r = 0; r < m->flows->nrounds; r++)
        n += m->flows->round[r].start[m->flows->round[r].n];
    m->x = xarray (n, sizeof (*m->x));
    for (uint32_t r = 0; r < m->flows->nrounds; from += m->flows->round[r++].n) {
        const struct csr *c = &m->flows->round[r];

        for (size_t i = 0; i < c->n; i++)
            for (size_t k = c->start[i], end = c->start[i + 1]; k < end; k++) {
                uint32_t input = k > c->start[i] ? c->v[k - 1]
                                 : k + 1 < end   ? c->v[k + 1] /* out of a host */
                                                 : NETWORK_NONE;

                m->x[m->n++] = (struct crowd_crossing){
                    r, c->v[k], input, { c->v[c->start[i]], c->v[end - 1] },
                    m->rate[from + i], worst[from + i], fair[from + i]
                };
            }
    }
    if (n > 0)
        qsort (m->x, n, sizeof (*m->x), compare_crossings);
}

/* What rounds tell of host links, or then of those between switches. */
static void note_arcs (struct crowd_reader *m, bool hosts)
{
    for (size_t i = 0, end; i < m->n; i = end) {
        const struct crowd_crossing *x = &m->x[i];

        for (end = i + 1; end < m->n && m->x[end].round == x->round
                          && m->x[end].arc == x->arc;
             end++)
            ;
        if ((m->net->link[arc_link (x->arc)].kind == LINK_HOST) == hosts
            && (hosts || !is_limited_by_host (m, x, end - i)))
            note_crowd (&m->crowd[x->arc], x, end - i, m->arc_bits[x->arc]);
    }
}

struct crowd *crowd_arcs (const struct network *net, const struct flows *flows,
                          const double *rate, const double *worst,
                          const double *fair, const double *arc_bits)
{
    struct crowd_reader m = {
        .net = net,
        .flows = flows,
        .rate = rate,
        .arc_bits = arc_bits,
        .crowd = xcalloc (2 * net->nlinks, sizeof (*m.crowd)),
    };

    list_crossings (&m, worst, fair);
    note_arcs (&m, true);
    note_arcs (&m, false);
    free (m.x);
    return m.crowd;
}

bool crowd_others (const struct crowd *c, double error)
{
    return c->inputs > 0 && c->one > 0
           && c->together > c->one * (1 + 2 * error);
}

double crowd_most (const struct crowd *c, double error)
{
    double m, k = c->inputs;

    if (c->inputs == 0 || !(c->one > 0))
        return HUGE_VAL;
    m = fmax (1, ceil (1 / (c->one * (1 + error)) - 1))
        + (c->together < c->one * (1 - 2 * error))
        + (k == 2 && 2 * c->steady < c->rounds);
    return c->together * (k + m) / k;
}
