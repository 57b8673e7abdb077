/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "compare/throughput/packing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare/throughput/fair.h"
#include "util/alloc.h"

#define NO_CROSSING UINT32_MAX

struct flow {
    struct probe pair;
    double cap;
    size_t first; /* of its crossings, up to the next flow's */
};

/* A flow on an arc. Those of an arc's flows are chained, the last first. */
struct crossing {
    uint32_t arc, flow, before;
};

struct packing {
    const struct pathset *ps;
    const double *rate;
    size_t narcs;
    struct flow *flow;     /* [nports / 2 + 1] */
    size_t nflows;
    struct crossing *at;
    size_t nat, at_size;
    double *load;          /* [narcs] */
    uint32_t *last;        /* [narcs] crossing */
    uint8_t *busy;         /* [nports] */
    uint8_t *full;         /* [nlinks] */
    uint8_t *spoilt;       /* [nlinks] a flow of it crosses a full link */
};

void packing_destroy (struct packing *p)
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

struct packing *packing_create (const struct pathset *ps, const double *rate,
                                struct error *err)
{
    struct packing *p = xcalloc (1, sizeof (*p));
    size_t m = pathset_network (ps)->nlinks;

    if (!p)
        goto nomem;
    p->ps = ps;
    p->rate = rate;
    p->narcs = 2 * m;
    p->flow = xcalloc (pathset_ports (ps) / 2 + 1, sizeof (*p->flow));
    p->load = xcalloc (p->narcs + 1, sizeof (*p->load));
    p->last = xcalloc (p->narcs + 1, sizeof (*p->last));
    p->busy = xcalloc (pathset_ports (ps) + 1, 1);
    p->full = xcalloc (m + 1, 1);
    p->spoilt = xcalloc (m + 1, 1);
    if (!p->flow || !p->load || !p->last || !p->busy || !p->full
        || !p->spoilt)
        goto nomem;
    packing_clear (p);
    return p;
nomem:
    error_nomem (err);
    packing_destroy (p);
    return NULL;
}

void packing_clear (struct packing *p)
{
    p->nflows = p->nat = 0;
    memset (p->load, 0, p->narcs * sizeof (*p->load));
    memset (p->last, 0xff, p->narcs * sizeof (*p->last));
    memset (p->busy, 0, pathset_ports (p->ps));
    memset (p->full, 0, p->narcs / 2);
    memset (p->spoilt, 0, p->narcs / 2);
}

static uint8_t *busy (const struct packing *p, uint32_t endpoint)
{
    return &p->busy[pathset_port (p->ps, endpoint)];
}

/* The arcs there and back; arc[] holds ROW_MAX. */
static int both_ways (const struct packing *p, struct probe pair,
                      uint32_t *arc, struct error *err)
{
    int there = pathset_walk (p->ps, pair.a, pair.b, arc, err);
    int back = there < 0 ? -1 : pathset_walk (p->ps, pair.b, pair.a,
                                              arc + there, err);

    return back < 0 ? -1 : there + back;
}

static bool has (const uint32_t *arc, int n, uint32_t x)
{
    for (int k = 0; k < n; k++)
        if (arc[k] == x)
            return true;
    return false;
}

static double cap_of (const struct packing *p, const uint32_t *arc, int n)
{
    double cap = HUGE_VAL;

    for (int k = 0; k < n; k++)
        cap = fmin (cap, p->rate[arc_link (arc[k])]);
    return cap;
}

static bool overflows (const struct packing *p, uint32_t arc, double cap)
{
    return p->load[arc] + cap
           > p->rate[arc_link (arc)] * (1 + PACKING_SLACK);
}

/* How many flows there are on an arc that cross the other arc, too: all or
 * none of them where the link may be full.
 */
static bool crossed_alike (const struct packing *p, uint32_t link, bool both)
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

/* Would the round be good with a flow of these arcs? *fills: the target is
 * full then.
 */
static bool fits (const struct packing *p, const uint32_t *arc, int n,
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
           || crossed_alike (p, target, has (arc, n, 2 * target)
                                            && has (arc, n, 2 * target + 1));
}

static int reserve (struct packing *p, size_t n)
{
    struct crossing *at;

    if (p->nat + n <= p->at_size)
        return 0;
    at = realloc (p->at, 2 * (p->nat + n) * sizeof (*at));
    if (!at)
        return -1;
    p->at = at;
    p->at_size = 2 * (p->nat + n);
    return 0;
}

static size_t end_of (const struct packing *p, size_t flow)
{
    return flow + 1 < p->nflows ? p->flow[flow + 1].first : p->nat;
}

/* No other link of its flows may become full. */
static void set_full (struct packing *p, uint32_t link)
{
    p->full[link] = 1;
    for (uint32_t x = 2 * link; x <= 2 * link + 1; x++)
        for (uint32_t c = p->last[x]; c != NO_CROSSING; c = p->at[c].before) {
            uint32_t flow = p->at[c].flow;

            for (size_t k = p->flow[flow].first; k < end_of (p, flow); k++)
                p->spoilt[arc_link (p->at[k].arc)] = 1;
        }
}

int packing_add (struct packing *p, struct probe pair, uint32_t target,
                 struct error *err)
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
    if (reserve (p, n) < 0)
        return error_nomem (err);
    p->flow[p->nflows] = (struct flow){ pair, cap, p->nat };
    for (int k = 0; k < n; k++) {
        p->at[p->nat] = (struct crossing){ arc[k], p->nflows,
                                           p->last[arc[k]] };
        p->last[arc[k]] = p->nat++;
        p->load[arc[k]] += cap;
    }
    p->nflows++;
    *busy (p, pair.a) = *busy (p, pair.b) = 1;
    if (fills)
        set_full (p, target);
    return 1;
}

void packing_undo (struct packing *p, size_t n)
{
    while (p->nflows > n) {
        const struct flow *f = &p->flow[p->nflows - 1];

        while (p->nat > f->first) {
            const struct crossing *c = &p->at[--p->nat];

            p->last[c->arc] = c->before;
            p->load[c->arc] = c->before == NO_CROSSING
                ? 0 : p->load[c->arc] - f->cap;
        }
        *busy (p, f->pair.a) = *busy (p, f->pair.b) = 0;
        p->nflows--;
    }
}

size_t packing_flows (const struct packing *p)
{
    return p->nflows;
}

struct probe packing_pair (const struct packing *p, size_t i)
{
    return p->flow[i].pair;
}

bool packing_is_busy (const struct packing *p, uint32_t endpoint)
{
    return *busy (p, endpoint);
}

bool packing_is_full (const struct packing *p, uint32_t link)
{
    return p->full[link];
}

double packing_load (const struct packing *p, uint32_t arc)
{
    return p->load[arc];
}

int packing_expect (const struct packing *p, double *carried, size_t *flow,
                    struct error *err)
{
    size_t *first = xcalloc (p->nflows + 1, sizeof (*first));
    uint32_t *arc = xcalloc (p->nat + 1, sizeof (*arc));
    double *capacity = xcalloc (p->narcs + 1, sizeof (*capacity));
    double *rate = xcalloc (p->nflows + 1, sizeof (*rate));
    int rc = -1;

    if (!first || !arc || !capacity || !rate) {
        error_nomem (err);
        goto error;
    }
    for (size_t i = 0; i < p->nflows; i++)
        first[i] = p->flow[i].first;
    first[p->nflows] = p->nat;
    for (size_t k = 0; k < p->nat; k++)
        arc[k] = p->at[k].arc;
    for (size_t x = 0; x < p->narcs; x++)
        capacity[x] = p->rate[x / 2];
    if (fair_rates (first, arc, p->nflows, capacity, p->narcs, rate, err) < 0)
        goto error;
    for (size_t x = 0; x < p->narcs; x++) {
        carried[x] = 0;
        flow[x] = SIZE_MAX;
    }
    for (size_t i = 0; i < p->nflows; i++)
        for (size_t k = first[i]; k < first[i + 1]; k++) {
            carried[arc[k]] += rate[i];
            flow[arc[k]] = i;
        }
    rc = 0;
error:
    free (first);
    free (arc);
    free (capacity);
    free (rate);
    return rc;
}
