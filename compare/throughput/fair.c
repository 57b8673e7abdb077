/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes: if all growing flows of an arc go on, it is full at the level left /
 * growing. The arc with the lowest level is full first. Levels only rise, as
 * flows stop elsewhere, so an outdated level in the heap is corrected when it
 * is read.
 */
#include "config.h"
#include "compare/throughput/fair.h"

#include <math.h>
#include <stdlib.h>

#include "util/alloc.h"

struct arc_load {
    double left;      /* of its capacity, without the flows that stopped */
    uint32_t growing; /* number of growing flows */
    size_t first, n;  /* its flows, into `member` */
};

struct fair {
    const size_t *first;
    const uint32_t *arc;
    struct arc_load *load; /* [narcs] */
    uint32_t *member;
    uint32_t *heap;     /* arcs */
    double *level;      /* [narcs] when it was last computed */
    size_t n;           /* size of the heap */
};

static double level (const struct arc_load *l)
{
    return l->growing > 0 ? fmax (l->left, 0) / l->growing : HUGE_VAL;
}

static void sift (struct fair *f, size_t i)
{
    for (;;) {
        uint32_t x = f->heap[i];
        size_t least = i;

        for (size_t k = 2 * i + 1; k <= 2 * i + 2 && k < f->n; k++)
            if (f->level[f->heap[k]] < f->level[f->heap[least]])
                least = k;
        if (least == i)
            return;
        f->heap[i] = f->heap[least];
        f->heap[least] = x;
        i = least;
    }
}

static void fair_init (struct fair *f, size_t nflows, const double *capacity,
                       size_t narcs)
{
    size_t at = 0;

    f->load = xcalloc (narcs, sizeof (*f->load));
    f->member = xarray (f->first[nflows], sizeof (*f->member));
    f->heap = xarray (narcs, sizeof (*f->heap));
    f->level = xarray (narcs, sizeof (*f->level));
    for (size_t k = f->first[0]; k < f->first[nflows]; k++)
        f->load[f->arc[k]].growing++;
    for (size_t x = 0; x < narcs; x++) {
        f->load[x].left = capacity[x];
        f->load[x].first = at;
        at += f->load[x].growing;
        f->level[x] = level (&f->load[x]);
        if (f->load[x].growing > 0)
            f->heap[f->n++] = x;
    }
    for (size_t i = 0; i < nflows; i++)
        for (size_t k = f->first[i]; k < f->first[i + 1]; k++) {
            struct arc_load *l = &f->load[f->arc[k]];

            f->member[l->first + l->n++] = i;
        }
    for (size_t i = f->n; i-- > 0;)
        sift (f, i);
}

/* A flow stops at a rate: the capacity left on its arcs falls by that rate. */
static void stop (struct fair *f, uint32_t flow, double at)
{
    for (size_t k = f->first[flow]; k < f->first[flow + 1]; k++) {
        struct arc_load *l = &f->load[f->arc[k]];

        l->left -= at;
        l->growing--;
    }
}

static void fill (struct fair *f, double *rate)
{
    while (f->n > 0) {
        uint32_t x = f->heap[0];
        const struct arc_load *l = &f->load[x];
        double now = level (l);

        if (now > f->level[x]) { /* some of its flows stopped elsewhere */
            f->level[x] = now;
            sift (f, 0);
            continue;
        }
        if (now == HUGE_VAL) /* no flow grows any more */
            return;
        for (size_t i = 0; i < l->n; i++) {
            uint32_t flow = f->member[l->first + i];

            if (rate[flow] == HUGE_VAL) {
                rate[flow] = now;
                stop (f, flow, now);
            }
        }
        f->heap[0] = f->heap[--f->n];
        sift (f, 0);
    }
}

void fair_rates (const size_t *first, const uint32_t *arc, size_t nflows,
                 const double *capacity, size_t narcs, double *rate)
{
    struct fair f = { .first = first, .arc = arc };

    for (size_t i = 0; i < nflows; i++)
        rate[i] = HUGE_VAL;
    fair_init (&f, nflows, capacity, narcs);
    fill (&f, rate);
    free (f.load);
    free (f.member);
    free (f.heap);
    free (f.level);
}
