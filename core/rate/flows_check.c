/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The checker of throughput plans. It shares with their planner only paths,
 * nominal rates and what flows get where they share links (fair_rates).
 */
#include "config.h"
#include "core/rate/flows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/rate/across.h"
#include "core/rate/carry.h"
#include "util/alloc.h"
#include "util/sort.h"

#define SLACK 1e-6 /* of a rate */

struct flows_checker {
    struct pathset *ps;
    const uint32_t *slot; /* [endpoints]; NULL: by cards */
    double *rate;     /* [nlinks] */
    double *load;     /* [2 * nlinks] in the round: caps of flows */
    uint32_t *count;  /* [2 * nlinks] flows */
    uint32_t *twoway; /* [nlinks] flows on both its arcs */
    bool *filled;     /* [nlinks] in some round */
};

static const char *checker_endpoint_name (const struct flows_checker *c,
                                          uint32_t i)
{
    return pathset_endpoint (c->ps, i)->name;
}

static const char *id (const struct flows_checker *c, uint32_t link)
{
    return pathset_network (c->ps)->link[link].id;
}

static uint64_t checked_pair_key (struct probe p)
{
    return p.a < p.b ? (uint64_t)p.a << 32 | p.b : (uint64_t)p.b << 32 | p.a;
}

/* Check that no two ends of n flows share a card or slot. */
static int check_cards (const struct flows_checker *c, const struct probe *p,
                        size_t n, size_t round, struct error *err)
{
    const struct network *net = pathset_network (c->ps);
    uint32_t *key = xarray (2 * n, sizeof (*key));
    int rc = 0;

    for (size_t i = 0; i < 2 * n; i++) {
        uint32_t end = i % 2 ? p[i / 2].b : p[i / 2].a;

        key[i] = c->slot     ? c->slot[end]
                 : net->card ? net->card (net->net,
                                          pathset_endpoint (c->ps, end)->id)
                             : pathset_port (c->ps, end);
    }
    qsort (key, 2 * n, sizeof (*key), compare_u32);
    for (size_t i = 1; i < 2 * n && rc == 0; i++)
        if (key[i] == key[i - 1])
            rc = error_input (err, "round %zu: two ports of a card have flows",
                              round);
    free (key);
    return rc;
}

/* Check that no port or card is in two flows of a round, and no pair in two
 * rounds, but for those that repeat flows.
 */
static int check_pairs (const struct flows_checker *c, const struct plan *plan,
                        struct error *err)
{
    size_t *last = xcalloc (pathset_ports (c->ps), sizeof (*last));
    uint64_t *pair = xarray (plan_probes (plan), sizeof (*pair));
    size_t n, npairs = 0;
    size_t new = plan_rounds (plan) - plan_confirm_rounds (plan);
    int rc = 0;

    for (size_t r = 1; r <= plan_rounds (plan); r++) {
        const struct probe *p = plan_round (plan, r - 1, &n);

        if (rc == 0 && n == 0)
            rc = error_input (err, "round %zu is empty", r);
        for (size_t i = 0; rc == 0 && i < 2 * n; i++) {
            uint32_t end = i % 2 ? p[i / 2].b : p[i / 2].a;

            if (end >= pathset_size (c->ps))
                rc = error_input (err, "round %zu: endpoint %u is out of"
                                       " range", r, end);
            else if (last[pathset_port (c->ps, end)] == r)
                rc = error_input (err, "round %zu: %s is in two flows", r,
                                  checker_endpoint_name (c, end));
            else
                last[pathset_port (c->ps, end)] = r;
        }
        if (rc == 0)
            rc = check_cards (c, p, n, r, err);
        for (size_t i = 0; rc == 0 && i < n && r <= new; i++)
            pair[npairs++] = checked_pair_key (p[i]);
    }
    qsort (pair, npairs, sizeof (*pair), compare_u64);
    for (size_t i = 1; rc == 0 && i < npairs; i++)
        if (pair[i] == pair[i - 1])
            rc = error_input (err, "%s and %s are a flow twice",
                              checker_endpoint_name (c, pair[i] >> 32),
                              checker_endpoint_name (c, (uint32_t)pair[i]));
    free (last);
    free (pair);
    return rc;
}

/* Put a flow, which crosses n arcs, on its links with its cap: the lowest of
 * their rates.
 */
static int load_flow (struct flows_checker *c, struct probe p,
                      const uint32_t *arc, size_t n, size_t round,
                      struct error *err)
{
    double cap = HUGE_VAL;

    for (size_t k = 0; k < n; k++)
        cap = fmin (cap, c->rate[arc[k] / 2]);
    for (size_t k = 0; k < n; k++) {
        c->load[arc[k]] += cap;
        c->count[arc[k]]++;
        for (size_t j = 0; j < k; j++) {
            if (arc[j] == arc[k])
                return error_input (err,
                                    "round %zu: %s to %s crosses %s twice"
                                    " in one direction",
                                    round, checker_endpoint_name (c, p.a),
                                    checker_endpoint_name (c, p.b),
                                    id (c, arc[k] / 2));
            c->twoway[arc[k] / 2] += arc[j] == (arc[k] ^ 1);
        }
    }
    return 0;
}

/* Check that a flow crosses at most one full link, in the same way as the
 * link's other flows: all in both directions, or all in one.
 */
static int check_flow (const struct flows_checker *c, size_t flow,
                       const uint32_t *arc, size_t n, size_t round,
                       struct error *err)
{
    uint32_t full = UINT32_MAX, two;

    for (size_t k = 0; k < n; k++) {
        uint32_t link = arc[k] / 2;

        if (fmax (c->load[2 * link], c->load[2 * link + 1])
            <= c->rate[link] * (1 + SLACK))
            continue;
        if (full != UINT32_MAX && full != link)
            return error_input (err, "round %zu: flow %zu crosses two links"
                                " that are full", round, flow + 1);
        full = link;
    }
    if (full == UINT32_MAX || (two = c->twoway[full]) == 0
        || (c->count[2 * full] == two && c->count[2 * full + 1] == two))
        return 0;
    return error_input (err, "round %zu: %s is full, and some of its flows"
                        " cross it one way, some both ways", round,
                        id (c, full));
}

/* Check a round, and note which links its flows fill by their fair rates. */
static int check_flow_round (struct flows_checker *c, const struct probe *p,
                             const struct csr *arcs, size_t round,
                             struct error *err)
{
    size_t m = pathset_network (c->ps)->nlinks;
    double *rate;

    memset (c->load, 0, 2 * m * sizeof (*c->load));
    memset (c->count, 0, 2 * m * sizeof (*c->count));
    memset (c->twoway, 0, m * sizeof (*c->twoway));
    for (size_t i = 0; i < arcs->n; i++)
        if (load_flow (c, p[i], arcs->v + arcs->start[i],
                       arcs->start[i + 1] - arcs->start[i], round, err) < 0)
            return -1;
    for (size_t i = 0; i < arcs->n; i++)
        if (check_flow (c, i, arcs->v + arcs->start[i],
                        arcs->start[i + 1] - arcs->start[i], round, err) < 0)
            return -1;
    rate = xarray (arcs->n, sizeof (*rate));
    fair_rates (arcs, c->rate, m, rate);
    memset (c->load, 0, 2 * m * sizeof (*c->load));
    for (size_t i = 0; i < arcs->n; i++)
        for (size_t k = arcs->start[i]; k < arcs->start[i + 1]; k++)
            c->load[arcs->v[k]] += rate[i];
    for (size_t x = 0; x < 2 * m; x++)
        if (c->load[x] >= c->rate[x / 2] * (1 - SLACK))
            c->filled[x / 2] = true;
    free (rate);
    return 0;
}

static int check_whole (const struct flows_checker *c, const struct plan *plan,
                        struct error *err)
{
    size_t n, links;
    const struct plan_target *t = plan_targets (plan, &n);

    if (!pathset_links (c->ps, &links, err))
        return -1;
    if (plan_links (plan) != links || plan_rank (plan) > 0
        || plan_basis_rounds (plan) > 0)
        return error_input (err, "a plan of flows for %zu links has neither"
                            " rank nor basis rounds", links);
    for (size_t i = 0; i < n; i++)
        if (t[i].filled && !c->filled[t[i].link])
            return error_input (err, "no round fills %s", id (c, t[i].link));
    return 0;
}

int flows_check (struct pathset *ps, const struct plan *plan,
                 struct error *err)
{
    return flows_check_slots (ps, plan, NULL, err);
}

int flows_check_slots (struct pathset *ps, const struct plan *plan,
                       const uint32_t *slot, struct error *err)
{
    size_t n, m = pathset_network (ps)->nlinks;
    struct flows_checker c = {
        .ps = ps,
        .slot = slot,
        .rate = across_rates (ps),
        .load = xarray (2 * m, sizeof (*c.load)),
        .count = xarray (2 * m, sizeof (*c.count)),
        .twoway = xarray (m, sizeof (*c.twoway)),
        .filled = xcalloc (m, sizeof (*c.filled)),
    };
    struct flows f = { 0 };
    int rc = check_pairs (&c, plan, err);

    if (rc == 0)
        rc = flows_lay_out (&f, ps, plan, NULL, err);
    for (size_t r = 0; r < f.nrounds && rc == 0; r++)
        rc = check_flow_round (&c, plan_round (plan, r, &n), &f.round[r], r + 1,
                               err);
    if (rc == 0)
        rc = check_whole (&c, plan, err);
    flows_clear (&f);
    free (c.rate);
    free (c.load);
    free (c.count);
    free (c.twoway);
    free (c.filled);
    return rc;
}
