/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes
 *
 * A cable of one list shares ports with at most two of the other, one at each
 * end. So the cables that differ form paths and rings in which the lists
 * alternate. Pairing each path from one of its ends, and then each ring from
 * anywhere, leaves as few cables as possible without a pair.
 *
 * Here the cables of both lists share one numbering; those of `after` follow
 * those of `before`.
 */
#include "config.h"
#include "ibquery/compare/cables.h"

#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"

struct cable_match {
    const struct cable *before, *after;
    size_t nbefore, nafter;
    uint32_t *at[2];  /* by port: its cable of before, of after */
    uint32_t *mate;   /* by cable: its pair in the other list */
    uint32_t *stays;  /* by cable of before: the port shared with its mate */
};

static const struct cable *cable_of (const struct cable_match *w, uint32_t x)
{
    return x < w->nbefore ? &w->before[x] : &w->after[x - w->nbefore];
}

static void join (struct cable_match *w, uint32_t x, uint32_t y, uint32_t port)
{
    w->mate[x] = y;
    w->mate[y] = x;
    w->stays[x < y ? x : y] = port;
}

/* The cable of the other list at x's port, if it is not paired yet. */
static uint32_t free_at (const struct cable_match *w, uint32_t x,
                         uint32_t port)
{
    uint32_t y = w->at[x < w->nbefore][port];

    return y != CABLES_NONE && w->mate[y] == CABLES_NONE ? y : CABLES_NONE;
}

/* The same at one of x's ends, which *port is set to. */
static uint32_t free_next (const struct cable_match *w, uint32_t x,
                           uint32_t *port)
{
    const struct cable *c = cable_of (w, x);
    uint32_t y = free_at (w, x, *port = c->a);

    return y != CABLES_NONE ? y : free_at (w, x, *port = c->b);
}

/* Whether x ends a path: at one of its ends there is no cable to pair it with.
 */
static bool is_last (const struct cable_match *w, uint32_t x)
{
    const struct cable *c = cable_of (w, x);

    return free_at (w, x, c->a) == CABLES_NONE
           || free_at (w, x, c->b) == CABLES_NONE;
}

/* Pair the cables of the path or ring, two by two, from x on. */
static void pair_off (struct cable_match *w, uint32_t x)
{
    uint32_t y, port;

    while (x != CABLES_NONE && (y = free_next (w, x, &port)) != CABLES_NONE) {
        join (w, x, y, port);
        x = free_next (w, y, &port);
    }
}

static void pair (struct cable_match *w, const bool *is_host, size_t nports)
{
    size_t n = w->nbefore + w->nafter;

    for (size_t x = 0; x < w->nbefore; x++) {
        uint32_t y = w->at[1][w->before[x].a];

        if (y != CABLES_NONE && y == w->at[1][w->before[x].b])
            join (w, x, y, CABLES_NONE);
    }
    for (size_t port = 0; port < nports; port++) {
        uint32_t x = w->at[0][port], y = w->at[1][port];

        if (is_host[port] && x != CABLES_NONE && y != CABLES_NONE
            && w->mate[x] == CABLES_NONE && w->mate[y] == CABLES_NONE)
            join (w, x, y, port);
    }
    for (int rings = 0; rings < 2; rings++)
        for (size_t x = 0; x < n; x++)
            if (w->mate[x] == CABLES_NONE && (rings || is_last (w, x)))
                pair_off (w, x);
}

static uint32_t other_end (const struct cable *c, uint32_t port)
{
    return c->a == port ? c->b : c->a;
}

static void find_swaps (struct cables *c, uint32_t *by_port, size_t nports)
{
    memset (by_port, 0xff, nports * sizeof (*by_port));
    for (size_t i = 0; i < c->nmoves; i++)
        by_port[c->move[i].from] = i;
    for (size_t i = 0; i < c->nmoves; i++) {
        uint32_t other = by_port[c->move[i].to];

        if (other != CABLES_NONE && c->move[other].to == c->move[i].from)
            c->move[i].swap = other;
    }
}

static void collect (struct cables *c, const struct cable_match *w)
{
    for (uint32_t x = 0; x < w->nbefore; x++) {
        struct cable_pair p = { x, w->mate[x] - w->nbefore };
        uint32_t port = w->stays[x];

        if (w->mate[x] == CABLES_NONE)
            c->lost[c->nlost++] = x;
        else if (port == CABLES_NONE)
            c->same[c->nsame++] = p;
        else
            c->move[c->nmoves++] = (struct cable_move){
                .cable = p,
                .stays = port,
                .from = other_end (&w->before[x], port),
                .to = other_end (&w->after[p.after], port),
                .swap = CABLES_NONE,
            };
    }
    for (uint32_t y = 0; y < w->nafter; y++)
        if (w->mate[w->nbefore + y] == CABLES_NONE)
            c->added[c->nadded++] = y;
}

uint32_t *cables_none (size_t n)
{
    uint32_t *v = xarray (n, sizeof (*v));

    return memset (v, 0xff, n * sizeof (*v));
}

void cables_compare (struct cables *c, const struct cable *before,
                     size_t nbefore, const struct cable *after, size_t nafter,
                     const bool *is_host, size_t nports)
{
    struct cable_match w = {
        .before = before,
        .after = after,
        .nbefore = nbefore,
        .nafter = nafter,
        .at = { cables_none (nports), cables_none (nports) },
        .mate = cables_none (nbefore + nafter),
        .stays = cables_none (nbefore),
    };

    *c = (struct cables){
        .same = xarray (nbefore, sizeof (*c->same)),
        .move = xarray (nbefore, sizeof (*c->move)),
        .lost = xarray (nbefore, sizeof (*c->lost)),
        .added = xarray (nafter, sizeof (*c->added)),
    };
    for (size_t x = 0; x < nbefore; x++)
        w.at[0][before[x].a] = w.at[0][before[x].b] = x;
    for (size_t y = 0; y < nafter; y++)
        w.at[1][after[y].a] = w.at[1][after[y].b] = nbefore + y;
    pair (&w, is_host, nports);
    collect (c, &w);
    find_swaps (c, w.at[0], nports);
    free (w.at[0]);
    free (w.at[1]);
    free (w.mate);
    free (w.stays);
}

void cables_clear (struct cables *c)
{
    free (c->same);
    free (c->move);
    free (c->lost);
    free (c->added);
    *c = (struct cables){ 0 };
}
