/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The checker of throughput plans. It shares only paths and nominal rates with
 * their planner. In a good round, the rate of a flow follows from its cap and
 * the full link that it crosses, if any: on a full link, flows get their caps,
 * the lowest first, as long as these are below an equal share of what is left.
 */
#include "config.h"
#include "compare/throughput/flows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare/throughput/across.h"
#include "util/alloc.h"
#include "util/sort.h"

#define SLACK 1e-6 /* of a rate */

struct checked_flow {
    uint32_t arc[ROW_MAX];
    int n;
    double cap;
    double rate; /* at most the cap */
};

/* A flow on an arc of a full link. */
struct share {
    uint32_t arc;
    double cap;
    struct checked_flow *flow;
};

struct flows_checker {
    struct pathset *ps;
    const struct plan *plan;
    size_t nlinks;
    double *rate;        /* [nlinks] */
    struct checked_flow *flow; /* [nports / 2] of the round */
    size_t n;
    double *load;        /* [2 * nlinks] caps */
    uint32_t *count;     /* [2 * nlinks] flows */
    uint32_t *twoway;    /* [nlinks] flows on both its arcs */
    uint8_t *port;       /* [nports] busy */
    struct share *share; /* [nports] of the round; each flow at most twice */
    size_t nshares;
    bool *filled;        /* [nlinks] in some round */
    uint64_t *pair;      /* of all rounds */
    size_t npairs;
};

static const char *name (const struct flows_checker *c, uint32_t i)
{
    return pathset_endpoint (c->ps, i)->name;
}

static const char *id (const struct flows_checker *c, uint32_t link)
{
    return pathset_network (c->ps)->link[link].id;
}

static int take_port (struct flows_checker *c, uint32_t end, size_t round,
                      struct error *err)
{
    if (end >= pathset_size (c->ps))
        return error_input (err, "round %zu: endpoint %u is out of range",
                            round, end);
    if (c->port[pathset_port (c->ps, end)]++)
        return error_input (err, "round %zu: %s is in two flows", round,
                            name (c, end));
    return 0;
}

static int load_flow (struct flows_checker *c, struct probe p, size_t round,
                      struct error *err)
{
    struct checked_flow *f = &c->flow[c->n++];
    int there, back;

    if (take_port (c, p.a, round, err) < 0
        || take_port (c, p.b, round, err) < 0
        || (there = pathset_walk (c->ps, p.a, p.b, f->arc, err)) < 0
        || (back = pathset_walk (c->ps, p.b, p.a, f->arc + there, err)) < 0)
        return -1;
    f->n = there + back;
    f->cap = HUGE_VAL;
    for (int k = 0; k < f->n; k++)
        f->cap = f->rate = fmin (f->cap, c->rate[f->arc[k] / 2]);
    for (int k = 0; k < f->n; k++) {
        c->load[f->arc[k]] += f->cap;
        c->count[f->arc[k]]++;
        for (int j = 0; j < k; j++) {
            if (f->arc[j] == f->arc[k])
                return error_input (err, "round %zu: %s to %s crosses %s twice"
                                    " in one direction", round,
                                    name (c, p.a), name (c, p.b),
                                    id (c, f->arc[k] / 2));
            c->twoway[f->arc[k] / 2] += f->arc[j] == (f->arc[k] ^ 1);
        }
    }
    c->pair[c->npairs++] = p.a < p.b ? (uint64_t)p.a << 32 | p.b
                                     : (uint64_t)p.b << 32 | p.a;
    return 0;
}

/* Check that a flow crosses at most one full link, in the same way as the
 * link's other flows: all in both directions, or all in one.
 */
static int check_flow (struct flows_checker *c, struct checked_flow *f,
                       size_t round, struct error *err)
{
    uint32_t full = UINT32_MAX;

    for (int k = 0; k < f->n; k++) {
        uint32_t link = f->arc[k] / 2;

        if (fmax (c->load[2 * link], c->load[2 * link + 1])
            <= c->rate[link] * (1 + SLACK))
            continue;
        if (full != UINT32_MAX && full != link)
            return error_input (err, "round %zu: flow %zu crosses two links"
                                " that are full", round,
                                (size_t)(f - c->flow) + 1);
        full = link;
    }
    for (int k = 0; k < f->n; k++) {
        uint32_t two = c->twoway[f->arc[k] / 2];

        if (f->arc[k] / 2 != full)
            continue;
        if (two > 0 && (c->count[2 * full] != two
                        || c->count[2 * full + 1] != two))
            return error_input (err, "round %zu: %s is full, and some of its"
                                " flows cross it one way, some both ways",
                                round, id (c, full));
        c->share[c->nshares++] = (struct share){ f->arc[k], f->cap, f };
    }
    return 0;
}

static int compare_shares (const void *a, const void *b)
{
    const struct share *x = a, *y = b;

    if (x->arc != y->arc)
        return util_compare (x->arc, y->arc);
    return util_compare (x->cap, y->cap);
}

static void share_links (struct flows_checker *c)
{
    double left = 0;
    uint32_t n = 0;

    qsort (c->share, c->nshares, sizeof (*c->share), compare_shares);
    for (size_t i = 0; i < c->nshares; i++, n--) {
        const struct share *s = &c->share[i];

        if (n == 0) { /* first share of this arc */
            n = c->count[s->arc];
            left = c->rate[s->arc / 2];
        }
        s->flow->rate = fmin (s->flow->rate, left / n);
        left -= fmin (s->cap, left / n);
    }
}

static int check_round (struct flows_checker *c, size_t round,
                        struct error *err)
{
    size_t n, m = c->nlinks;
    const struct probe *p = plan_round (c->plan, round, &n);

    memset (c->load, 0, 2 * m * sizeof (*c->load));
    memset (c->count, 0, 2 * m * sizeof (*c->count));
    memset (c->twoway, 0, m * sizeof (*c->twoway));
    memset (c->port, 0, pathset_ports (c->ps));
    c->n = c->nshares = 0;
    if (n == 0)
        return error_input (err, "round %zu is empty", round + 1);
    for (size_t i = 0; i < n; i++)
        if (load_flow (c, p[i], round + 1, err) < 0)
            return -1;
    for (size_t i = 0; i < n; i++)
        if (check_flow (c, &c->flow[i], round + 1, err) < 0)
            return -1;
    share_links (c);
    memset (c->load, 0, 2 * m * sizeof (*c->load));
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < c->flow[i].n; k++)
            c->load[c->flow[i].arc[k]] += c->flow[i].rate;
    for (size_t x = 0; x < 2 * m; x++)
        if (c->load[x] >= c->rate[x / 2] * (1 - SLACK))
            c->filled[x / 2] = true;
    return 0;
}

static int check_whole (struct flows_checker *c, struct error *err)
{
    size_t n, links;
    const struct plan_target *t = plan_targets (c->plan, &n);

    if (!pathset_links (c->ps, &links, err))
        return -1;
    if (plan_links (c->plan) != links || plan_rank (c->plan) > 0
        || plan_basis_rounds (c->plan) > 0
        || plan_confirm_rounds (c->plan) > 0)
        return error_input (err, "a plan of flows for %zu links has no rank,"
                            " and neither basis nor confirm rounds", links);
    qsort (c->pair, c->npairs, sizeof (*c->pair), compare_u64);
    for (size_t i = 1; i < c->npairs; i++)
        if (c->pair[i] == c->pair[i - 1])
            return error_input (err, "%s and %s are a flow twice",
                                name (c, c->pair[i] >> 32),
                                name (c, (uint32_t)c->pair[i]));
    for (size_t i = 0; i < n; i++)
        if (t[i].n > 0 && !c->filled[t[i].link])
            return error_input (err, "no round fills %s", id (c, t[i].link));
    return 0;
}

int flows_check (struct pathset *ps, const struct plan *plan,
                 struct error *err)
{
    size_t m = pathset_network (ps)->nlinks;
    struct flows_checker c = {
        .ps = ps,
        .plan = plan,
        .nlinks = m,
        .rate = across_rates (ps),
        .flow = xarray (pathset_ports (ps) / 2 + 2, sizeof (*c.flow)),
        .load = xarray (2 * m, sizeof (*c.load)),
        .count = xarray (2 * m, sizeof (*c.count)),
        .twoway = xarray (m, sizeof (*c.twoway)),
        .port = xarray (pathset_ports (ps), 1),
        .share = xarray (pathset_ports (ps) + 2, sizeof (*c.share)),
        .filled = xcalloc (m, sizeof (*c.filled)),
        .pair = xarray (plan_probes (plan), sizeof (*c.pair)),
    };
    int rc = 0;

    for (size_t r = 0; r < plan_rounds (plan) && rc == 0; r++)
        rc = check_round (&c, r, err);
    if (rc == 0)
        rc = check_whole (&c, err);
    free (c.rate);
    free (c.flow);
    free (c.load);
    free (c.count);
    free (c.twoway);
    free (c.port);
    free (c.share);
    free (c.filled);
    free (c.pair);
    return rc;
}
