/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Colouring: probes that conflict go into different rounds. */
#include "config.h"
#include "core/plan/colour.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

/*
 * The graph
 */

/* Vertices by resource: those of r are vertex[first[r] .. first[r + 1] - 1]. */
struct holders {
    size_t *first;    /* [m + 1] */
    uint32_t *vertex;
};

static int find_holders (struct holders *h, size_t n, const size_t *start,
                         const uint32_t *resource, size_t m)
{
    h->first = calloc (m + 2, sizeof (*h->first));
    h->vertex = calloc (start[n] + 1, sizeof (*h->vertex));
    if (!h->first || !h->vertex)
        return -1;
    for (size_t k = 0; k < start[n]; k++)
        h->first[resource[k] + 2]++;
    for (size_t r = 0; r < m; r++)
        h->first[r + 2] += h->first[r + 1];
    for (size_t v = 0; v < n; v++)
        for (size_t k = start[v]; k < start[v + 1]; k++)
            h->vertex[h->first[resource[k] + 1]++] = v;
    return 0;
}

static int compare (const void *a, const void *b)
{
    const uint32_t *x = a;
    const uint32_t *y = b;

    return (*x > *y) - (*x < *y);
}

/* The neighbours of v behind those of the vertices before. */
static int add_neighbours (struct graph *g, size_t *size, uint32_t *stamp,
                           const struct holders *h, const size_t *start,
                           const uint32_t *resource, size_t v)
{
    size_t at = g->first[v];

    stamp[v] = v + 1;
    for (size_t k = start[v]; k < start[v + 1]; k++)
        for (size_t i = h->first[resource[k]]; i < h->first[resource[k] + 1];
             i++) {
            uint32_t w = h->vertex[i];

            if (stamp[w] == v + 1)
                continue;
            stamp[w] = v + 1;
            if (at == *size) {
                size_t more = 2 * *size + 64;
                uint32_t *next = realloc (g->next, more * sizeof (*next));

                if (!next)
                    return -1;
                g->next = next;
                *size = more;
            }
            g->next[at++] = w;
        }
    g->first[v + 1] = at;
    qsort (g->next + g->first[v], at - g->first[v], sizeof (*g->next),
           compare);
    return 0;
}

int graph_conflicts (struct graph *g, size_t n, const size_t *start,
                     const uint32_t *resource, size_t m)
{
    struct holders h = { 0 };
    uint32_t *stamp = calloc (n + 1, sizeof (*stamp));
    size_t size = 4 * n + 64;
    int rc = -1;

    *g = (struct graph){ .n = n };
    g->first = calloc (n + 1, sizeof (*g->first));
    g->next = calloc (size, sizeof (*g->next));
    if (!stamp || !g->first || !g->next
        || find_holders (&h, n, start, resource, m) < 0)
        goto out;
    for (size_t v = 0; v < n; v++)
        if (add_neighbours (g, &size, stamp, &h, start, resource, v) < 0)
            goto out;
    rc = 0;
out:
    free (h.first);
    free (h.vertex);
    free (stamp);
    return rc;
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

/* Vertices by falling degree, equal ones as they are numbered: a counting
 * sort. The caller frees; NULL with errno ENOMEM.
 */
static uint32_t *by_degree (const struct graph *g)
{
    uint32_t *order = calloc (g->n + 1, sizeof (*order));
    size_t *start = calloc (g->n + 2, sizeof (*start));

    if (!order || !start) {
        free (order);
        free (start);
        return NULL;
    }
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
    uint32_t *barred = calloc (g->n + 1, sizeof (*barred));
    size_t left = g->n;
    uint32_t c = 0;

    if (!order || !barred) {
        free (order);
        free (barred);
        return -1;
    }
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
    uint32_t *colour;   /* [n] as yet; NONE */
    uint32_t *found;    /* [n] the caller's */
    uint32_t *around;   /* [n] colours among the neighbours */
    uint32_t *count;    /* [n * width] neighbours of a colour */
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

/* The uncoloured vertex with the most colours around it, of these the one
 * with the most neighbours.
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

/* Colour what is left, `used` colours being in use. */
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
    int rc = -1;

    b.colour = calloc (g->n + 1, sizeof (*b.colour));
    b.around = calloc (g->n + 1, sizeof (*b.around));
    b.count = calloc (g->n * b.width + 1, sizeof (*b.count));
    if (!b.colour || !b.around || !b.count)
        goto out;
    for (size_t v = 0; v < g->n; v++)
        b.colour[v] = NONE;
    descend (&b, 0);
    *effort = b.effort;
    rc = b.best;
out:
    free (b.colour);
    free (b.around);
    free (b.count);
    return rc;
}
