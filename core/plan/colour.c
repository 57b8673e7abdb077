/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Colouring: probes that conflict are placed in different rounds. */
#include "config.h"
#include "core/plan/colour.h"

#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/sort.h"

#define NONE UINT32_MAX

/*
 * The graph
 */

void graph_conflicts (struct graph *g, const struct csr *needs, size_t m)
{
    struct csr holders = csr_transpose (needs, m);
    uint32_t *stamp = xcalloc (needs->n, sizeof (*stamp));
    size_t n = 0;

    *g = (struct graph){ .n = needs->n };
    g->first = xcalloc (g->n + 1, sizeof (*g->first));
    for (size_t v = 0; v < g->n; v++) {
        stamp[v] = v + 1;
        for (size_t k = needs->start[v]; k < needs->start[v + 1]; k++) {
            uint32_t r = needs->v[k];

            for (size_t i = holders.start[r]; i < holders.start[r + 1]; i++) {
                uint32_t w = holders.v[i];

                if (stamp[w] == v + 1)
                    continue;
                stamp[w] = v + 1;
                g->next = xgrow (g->next, n, sizeof (*g->next));
                g->next[n++] = w;
            }
        }
        g->first[v + 1] = n;
        if (n > g->first[v])
            qsort (g->next + g->first[v], n - g->first[v], sizeof (*g->next),
                   compare_u32);
    }
    csr_clear (&holders);
    free (stamp);
}

void graph_clear (struct graph *g)
{
    free (g->first);
    free (g->next);
}

static size_t degree (const struct graph *g, uint32_t v)
{
    return g->first[v + 1] - g->first[v];
}

/*
 * Welch and Powell
 */

/* Vertices by descending degree, equal ones in numerical order: a counting
 * sort. The caller frees it.
 */
static uint32_t *by_degree (const struct graph *g)
{
    uint32_t *order = xcalloc (g->n + 1, sizeof (*order));
    size_t *start = xcalloc (g->n + 2, sizeof (*start));

    for (size_t v = 0; v < g->n; v++)
        start[g->n - degree (g, v) + 1]++;
    for (size_t k = 0; k <= g->n; k++)
        start[k + 1] += start[k];
    for (size_t v = 0; v < g->n; v++)
        order[start[g->n - degree (g, v)]++] = v;
    free (start);
    return order;
}

int colour_welch_powell (const struct graph *g, uint32_t *colour)
{
    uint32_t *order = by_degree (g);
    uint32_t *barred = xcalloc (g->n + 1, sizeof (*barred));
    size_t left = g->n;
    uint32_t c = 0;

    for (size_t v = 0; v < g->n; v++)
        colour[v] = NONE;
    for (; left > 0; c++)
        for (size_t i = 0; i < g->n; i++) {
            uint32_t v = order[i];

            if (colour[v] != NONE || barred[v] == c + 1)
                continue;
            colour[v] = c;
            left--;
            for (size_t k = g->first[v]; k < g->first[v + 1]; k++)
                barred[g->next[k]] = c + 1;
        }
    free (order);
    free (barred);
    return c;
}

/*
 * Branch and bound
 */

struct branch {
    const struct graph *g;
    int best, enough;
    uint64_t effort;
    uint32_t *colour;   /* [n] current; NONE */
    uint32_t *found;    /* [n] the caller's */
    uint32_t *around;   /* [n] colours among the neighbours */
    uint32_t *count;    /* [n * width] neighbours with a colour */
    size_t width;
};

static void paint (struct branch *b, uint32_t v, uint32_t c)
{
    b->colour[v] = c;
    for (size_t k = b->g->first[v]; k < b->g->first[v + 1]; k++) {
        uint32_t w = b->g->next[k];

        b->around[w] += b->count[w * b->width + c]++ == 0;
    }
}

static void unpaint (struct branch *b, uint32_t v)
{
    uint32_t c = b->colour[v];

    b->colour[v] = NONE;
    for (size_t k = b->g->first[v]; k < b->g->first[v + 1]; k++) {
        uint32_t w = b->g->next[k];

        b->around[w] -= --b->count[w * b->width + c] == 0;
    }
}

/* The uncoloured vertex with the most colours around it; of these the one with
 * the most neighbours.
 */
static uint32_t hardest (const struct branch *b)
{
    uint32_t best = NONE;

    for (size_t v = 0; v < b->g->n; v++)
        if (b->colour[v] == NONE
            && (best == NONE || b->around[v] > b->around[best]
                || (b->around[v] == b->around[best]
                    && degree (b->g, v) > degree (b->g, best))))
            best = v;
    return best;
}

/* Colour the remaining vertices; `used` colours are in use. */
static void descend (struct branch *b, int used)
{
    uint32_t v = hardest (b);

    if (v == NONE) {
        b->best = used;
        memcpy (b->found, b->colour, b->g->n * sizeof (*b->found));
        return;
    }
    for (int c = 0; c <= used; c++) {
        int now = c == used ? used + 1 : used;

        if (now >= b->best || b->best <= b->enough || b->effort == 0)
            return;
        if (b->count[v * b->width + c] > 0)
            continue;
        b->effort--;
        paint (b, v, c);
        descend (b, now);
        unpaint (b, v);
    }
}

int colour_exact (const struct graph *g, int colours, int enough,
                  uint64_t *effort, uint32_t *colour)
{
    struct branch b = {
        .g = g,
        .best = colours,
        .enough = enough,
        .effort = *effort,
        .found = colour,
        .width = colours + 1,
    };

    b.colour = xcalloc (g->n + 1, sizeof (*b.colour));
    b.around = xcalloc (g->n + 1, sizeof (*b.around));
    b.count = xcalloc (g->n * b.width + 1, sizeof (*b.count));
    for (size_t v = 0; v < g->n; v++)
        b.colour[v] = NONE;
    descend (&b, 0);
    *effort = b.effort;
    free (b.colour);
    free (b.around);
    free (b.count);
    return b.best;
}
