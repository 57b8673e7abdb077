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
    struct rng rng;
    struct plan *plan;
};

/* An arc that is low, and a flow that crossed it. */
struct crowd_goal {
    uint32_t arc, from, end;
    double share;
};

/* Flows that cross an arc, to one end. */
struct crowd_draft {
    uint32_t arc, end;
    uint32_t from[CROWD_FLOWS], input[CROWD_FLOWS];
    size_t n;
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

static void note_best (struct crowd_maker *m, const double (*expected)[2])
{
    double *share = xarray (2 * m->b->nflows, sizeof (*share));
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
        if (hops > 0)
            share[n++] = best / asked;
    }
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
    int order = util_compare (a->share, b->share);

    return order ? order : util_compare (a->arc, b->arc);
}

/* One for each low arc between switches, the lowest first. */
static struct crowd_goal *list_goals (const struct crowd_maker *m,
                                      const double (*expected)[2], size_t *n)
{
    const struct network *net = pathset_network (m->ps);
    bool *known = xcalloc (2 * net->nlinks, sizeof (*known));
    struct crowd_goal *goal = NULL;

    *n = 0;
    for (size_t i = 0; i < 2 * m->b->nflows; i++) {
        const struct burst_flow *f = &m->b->flow[i / 2];
        uint32_t arc[PATH_MAX_HOPS];
        int hops = walk_flow (m, i / 2, i % 2, expected, arc);

        for (int h = 0; h < hops; h++) {
            const struct link_info *info = &net->link[arc_link (arc[h])];

            if (known[arc[h]] || info->kind != LINK_SWITCH
                || !is_low_arc (m, arc[h])
                || m->asked[arc[h]] < CROWD_ASKED * info->rate)
                continue;
            known[arc[h]] = true;
            goal = xgrow (goal, *n, sizeof (*goal));
            goal[(*n)++]
                = (struct crowd_goal){ arc[h], i % 2 ? f->b : f->a,
                                       i % 2 ? f->a : f->b,
                                       m->best[arc[h]] / m->asked[arc[h]] };
        }
    }
    if (*n > 0)
        qsort (goal, *n, sizeof (*goal), compare_goals);
    free (known);
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

        if (f->a != f->b && f->way[i % 2].kept > 0 && m->host[to] == m->host[end]
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

/* Add a flow from this endpoint, if its path crosses the arc, through a new port.
 * Return where.
 */
static int add_to_crowd (struct crowd_maker *m, struct crowd_draft *d,
                         uint32_t from)
{
    uint32_t arc[PATH_MAX_HOPS];
    int hops, at = walk_across (m, from, d->end, d->arc, arc, &hops);

    for (size_t i = 0; i < d->n; i++)
        if (at < 0 || d->input[i] == arc[at - 1]
            || m->host[d->from[i]] == m->host[from])
            return at;
    if (at > 0) {
        d->input[d->n] = arc[at - 1];
        d->from[d->n++] = from;
    }
    return at;
}

/* The paths from a leaf's hosts differ in their first hop. */
static void draft_crowd (struct crowd_maker *m, struct crowd_draft *d)
{
    const struct tree *t = m->leaves;
    size_t first = rng_below (&m->rng, t->nleaves);

    for (size_t l = 0; l < t->nleaves && d->n < CROWD_FLOWS; l++) {
        size_t leaf = (first + l) % t->nleaves;
        uint32_t n = t->first[leaf + 1] - t->first[leaf];
        uint32_t begin = (uint32_t)rng_below (&m->rng, n);

        for (uint32_t i = 0; i < n && d->n < CROWD_FLOWS; i++) {
            uint32_t from = t->member[t->first[leaf] + (begin + i) % n];

            if (add_to_crowd (m, d, from) != 1
                && m->host[from] != m->host[d->end])
                break;
        }
    }
}

/* Rounds in which something of the crowd is busy; with `round`, make it so. */
static uint64_t use_crowd (struct crowd_maker *m, const struct crowd_draft *d,
                           uint64_t round)
{
    uint64_t all = m->busy[m->host[d->end]] |= round;
    uint32_t arc[PATH_MAX_HOPS];

    for (size_t i = 0; i < d->n; i++) {
        all |= m->busy[m->host[d->from[i]]] |= round;
        for (int k = 0; k < 2; k++) {
            int hops = pathset_walk (m->ps, k ? d->end : d->from[i],
                                     k ? d->from[i] : d->end, arc, NULL);

            for (int h = 0; h < hops; h++)
                all |= m->used[arc[h]] |= round;
        }
    }
    return all;
}

static void add_crowd (struct crowd_maker *m, const struct crowd_draft *d)
{
    uint64_t busy = use_crowd (m, d, 0);
    size_t r = 0;

    while (r < CROWD_ROUNDS && busy >> r & 1)
        r++;
    if (r == CROWD_ROUNDS)
        return;
    use_crowd (m, d, UINT64_C (1) << r);
    for (size_t i = 0; i < d->n; i++)
        plan_add (m->plan, r, d->from[i], d->end);
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

/* The largest crowd of some ends. */
static struct crowd_draft find_crowd (struct crowd_maker *m,
                                      const struct crowd_goal *goal)
{
    struct crowd_draft best = { .n = 0 };
    uint32_t n = (uint32_t)pathset_size (m->ps);
    uint32_t first = (uint32_t)rng_below (&m->rng, n);

    for (uint32_t i = 0, tried = 0;
         i <= n && i <= CROWD_SEEN && tried < CROWD_ENDS
         && best.n < CROWD_FLOWS;
         i++) {
        struct crowd_draft d
            = { .arc = goal->arc, .end = i ? (first + i) % n : goal->end };

        if (!may_end (m, goal, d.end))
            continue;
        tried++;
        draft_crowd (m, &d);
        if (d.n > best.n)
            best = d;
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
        .plan = plan_create ("throughput"),
    };
    struct plan *plan = m.plan;
    struct crowd_goal *goal = NULL;
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
    for (size_t i = 0; i < ngoals; i++) {
        struct crowd_draft d = find_crowd (&m, &goal[i]);

        if (d.n > 1)
            add_crowd (&m, &d);
    }
    tree_destroy (m.leaves);
    free (expected);
    free (goal);
    free (m.best);
    free (m.asked);
    free (m.host);
    free (m.busy);
    free (m.used);
    return plan;
}

/*
 * What they tell
 */

/* A flow crosses an arc, behind another. */
struct crowd_crossing {
    uint32_t arc, input;
    double rate, fair;
};

static int compare_crossings (const void *va, const void *vb)
{
    const struct crowd_crossing *a = va, *b = vb;
    int order = util_compare (a->arc, b->arc);

    return order ? order : util_compare (a->input, b->input);
}

/* The flows of a round that cross an arc. */
static void note_crowd (struct crowd *crowd, const struct crowd_crossing *x,
                        size_t n, double bits)
{
    double rate = 0, fair = 0, share;
    uint32_t inputs = 0;

    for (size_t i = 0; i < n; i++) {
        rate += x[i].rate;
        fair += x[i].fair;
        inputs += i == 0 || x[i].input != x[i - 1].input;
    }
    share = rate / bits;
    if (isnan (share) || !(fair >= CROWD_ASKED * bits))
        return;
    if (inputs == 1)
        crowd->one = fmax (crowd->one, share);
    else if (inputs > crowd->inputs
             || (inputs == crowd->inputs && share > crowd->together)) {
        crowd->inputs = inputs;
        crowd->together = share;
    }
}

struct crowd *crowd_arcs (const struct network *net, const struct flows *flows,
                          const double *rate, const double *fair,
                          const double *arc_bits)
{
    struct crowd *crowd = xcalloc (2 * net->nlinks, sizeof (*crowd));

    for (size_t r = 0, from = 0; r < flows->nrounds;
         from += flows->round[r++].n) {
        const struct csr *c = &flows->round[r];
        size_t n = c->start[c->n];
        struct crowd_crossing *x = xarray (n, sizeof (*x));

        for (size_t i = 0; i < c->n; i++)
            for (size_t k = c->start[i]; k < c->start[i + 1]; k++)
                x[k] = (struct crowd_crossing){
                    c->v[k], k > c->start[i] ? c->v[k - 1] : NETWORK_NONE,
                    rate[from + i], fair[from + i]
                };
        qsort (x, n, sizeof (*x), compare_crossings);
        for (size_t i = 0, end; i < n; i = end) {
            for (end = i + 1; end < n && x[end].arc == x[i].arc; end++)
                ;
            note_crowd (&crowd[x[i].arc], &x[i], end - i, arc_bits[x[i].arc]);
        }
        free (x);
    }
    return crowd;
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
        + (c->together < c->one * (1 - 2 * error));
    return c->together * (k + m) / k;
}
