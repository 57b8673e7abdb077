/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes: the flows whose rates change are found by a walk from one flow over its
 * resources to the others that use these. Rates are then those of fair_rates, of
 * which each resource is a link with one direction; a cap is one more, of the
 * flow alone.
 */
#include "config.h"
#include "tests/emu/fluid.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "core/rate/carry.h"
#include "util/alloc.h"

struct fluid {
    size_t nresources;
    fluid_rate_f rate;
    const void *of;
    fluid_change_f change;
    void *to;
    struct fluid_use **first; /* [nresources] */
    uint32_t *seen;           /* [nresources] by the walk with this number */
    uint32_t *number;         /* [nresources] if seen: in this walk */
    uint32_t walk;
    struct fluid_flow **found; /* [nfound] by the last walk */
    size_t nfound, nnumbers;   /* flows, and resources that they use */
};

struct fluid *fluid_create (size_t nresources, fluid_rate_f rate,
                            const void *of, fluid_change_f change, void *to)
{
    struct fluid *f = xcalloc (1, sizeof (*f));

    *f = (struct fluid){
        .nresources = nresources,
        .rate = rate,
        .of = of,
        .change = change,
        .to = to,
        .first = xcalloc (nresources, sizeof (*f->first)),
        .seen = xcalloc (nresources, sizeof (*f->seen)),
        .number = xcalloc (nresources, sizeof (*f->number)),
    };
    return f;
}

void fluid_destroy (struct fluid *f)
{
    if (!f)
        return;
    free (f->first);
    free (f->seen);
    free (f->number);
    free (f->found);
    free (f);
}

static void find_flow (struct fluid *f, struct fluid_flow *flow)
{
    if (flow->seen == f->walk)
        return;
    flow->seen = f->walk;
    f->found = xgrow (f->found, f->nfound, sizeof (*f->found));
    f->found[f->nfound++] = flow;
}

static void begin_walk (struct fluid *f)
{
    f->walk++;
    f->nfound = f->nnumbers = 0;
}

/* Find this flow and all that share with it. */
static void find_sharing (struct fluid *f, struct fluid_flow *flow)
{
    size_t i = f->nfound;

    for (find_flow (f, flow); i < f->nfound; i++)
        for (size_t k = 0; k < f->found[i]->uses; k++) {
            uint32_t r = f->found[i]->resource[k];

            if (f->seen[r] == f->walk)
                continue;
            f->seen[r] = f->walk;
            f->number[r] = (uint32_t)f->nnumbers++;
            for (struct fluid_use *u = f->first[r]; u; u = u->next)
                find_flow (f, u->flow);
        }
}

/* The flow's resources, as arcs of links that have no way back. */
static size_t put_arcs (const struct fluid *f, const struct fluid_flow *flow,
                        size_t i, size_t nresources, uint32_t *arc,
                        double *carries)
{
    for (size_t k = 0; k < flow->uses; k++) {
        uint32_t number = f->number[flow->resource[k]];

        arc[k] = 2 * number;
        carries[number] = f->rate (f->of, flow->resource[k]);
    }
    arc[flow->uses] = (uint32_t)(2 * (nresources + i));
    carries[nresources + i] = flow->cap;
    return flow->uses + (flow->cap < HUGE_VAL);
}

/* Share among the flows that were found, but for one that has ended. */
static void share_found (struct fluid *f, int64_t now,
                         const struct fluid_flow *ended)
{
    size_t n = f->nfound, nresources = f->nnumbers, arcs = 0;
    struct csr of = { .n = n, .start = xcalloc (n + 1, sizeof (*of.start)) };
    double *carries = xcalloc (nresources + n, sizeof (*carries));
    double *rate = xarray (n, sizeof (*rate));

    for (size_t i = 0; i < n; i++)
        arcs += f->found[i]->uses + 1;
    of.v = xarray (arcs, sizeof (*of.v));
    for (size_t i = 0; i < n; i++)
        of.start[i + 1]
            = of.start[i]
              + (f->found[i] == ended ? 0
                                      : put_arcs (f, f->found[i], i, nresources,
                                                  of.v + of.start[i], carries));
    fair_rates (&of, carries, nresources + n, rate);
    for (size_t i = 0; i < n; i++) {
        struct fluid_flow *flow = f->found[i];
        double bytes = flow->rate * (double)(now - flow->since);

        flow->rate = flow == ended ? 0 : rate[i];
        flow->since = now;
        f->change (f->to, flow, now, bytes);
    }
    csr_clear (&of);
    free (carries);
    free (rate);
}

void fluid_join (struct fluid *f, struct fluid_flow *flow, int64_t now)
{
    flow->rate = flow->cap;
    flow->since = now;
    flow->seen = 0;
    for (size_t k = 0; k < flow->uses; k++) {
        struct fluid_use *u = &flow->use[k];
        struct fluid_use **first = &f->first[flow->resource[k]];

        *u = (struct fluid_use){ .flow = flow, .next = *first };
        if (*first)
            (*first)->prev = u;
        *first = u;
    }
}

static void unlink_flow (struct fluid *f, struct fluid_flow *flow)
{
    for (size_t k = 0; k < flow->uses; k++) {
        struct fluid_use *u = &flow->use[k];

        if (u->next)
            u->next->prev = u->prev;
        if (u->prev)
            u->prev->next = u->next;
        else
            f->first[flow->resource[k]] = u->next;
    }
}

void fluid_leave (struct fluid *f, struct fluid_flow *flow, int64_t now)
{
    double bytes = flow->rate * (double)(now - flow->since);

    unlink_flow (f, flow);
    flow->rate = 0;
    flow->since = now;
    f->change (f->to, flow, now, bytes);
}

void fluid_begin (struct fluid *f, struct fluid_flow *flow, int64_t now)
{
    fluid_join (f, flow, now);
    flow->rate = 0;
    begin_walk (f);
    find_sharing (f, flow);
    share_found (f, now, NULL);
}

void fluid_end (struct fluid *f, struct fluid_flow *flow, int64_t now)
{
    begin_walk (f);
    find_sharing (f, flow);
    unlink_flow (f, flow);
    share_found (f, now, flow);
}

void fluid_share (struct fluid *f, int64_t now)
{
    begin_walk (f);
    for (size_t r = 0; r < f->nresources; r++)
        if (f->first[r])
            find_sharing (f, f->first[r]->flow);
    share_found (f, now, NULL);
}

size_t fluid_flows (const struct fluid *f, uint32_t resource)
{
    size_t n = 0;

    for (const struct fluid_use *u = f->first[resource]; u; u = u->next)
        n++;
    return n;
}

double fluid_untold (const struct fluid *f, uint32_t resource, int64_t now)
{
    double bytes = 0;

    for (const struct fluid_use *u = f->first[resource]; u; u = u->next)
        if (now > u->flow->since)
            bytes += u->flow->rate * (double)(now - u->flow->since);
    return bytes;
}
