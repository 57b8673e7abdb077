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

#include <string.h>

struct cable_match {
    struct pool *pool;
    const struct pairs *before, *after;
    uint32_t *at[2];  /* by port: its cable of before, of after */
    uint32_t *mate;   /* by cable: its pair in the other list */
    uint32_t *stays;  /* by cable of before: the port shared with its mate */
};

void pairs_add (struct pool *pool, struct pairs *list, uint32_t a, uint32_t b)
{
    list->v = pool_grow (pool, list->v, list->n, sizeof (*list->v));
    list->v[list->n++] = (struct pair){ a, b };
}

uint32_t *cables_none (struct pool *pool, size_t n)
{
    uint32_t *v = pool_alloc (pool, n, sizeof (*v));

    return memset (v, 0xff, n * sizeof (*v));
}

static void match_cable (struct cable_match *w, uint32_t x, uint32_t y,
                         uint32_t port)
{
    w->mate[x] = y;
    w->mate[y] = x;
    w->stays[x < y ? x : y] = port;
}

/* The cable of the other list at end a or b of x, if it is not paired yet;
 * *port is that end.
 */
static uint32_t free_at (const struct cable_match *w, uint32_t x, bool b,
                         uint32_t *port)
{
    bool old = x < w->before->n;
    const struct pair *c = old ? &w->before->v[x]
                               : &w->after->v[x - w->before->n];
    uint32_t y = w->at[old][*port = b ? c->b : c->a];

    return y != CABLES_NONE && w->mate[y] == CABLES_NONE ? y : CABLES_NONE;
}

static uint32_t free_next (const struct cable_match *w, uint32_t x,
                           uint32_t *port)
{
    uint32_t y = free_at (w, x, false, port);

    return y != CABLES_NONE ? y : free_at (w, x, true, port);
}

/* Pair the cables of the path or ring, two by two, from x on. */
static void pair_off (struct cable_match *w, uint32_t x)
{
    uint32_t y, port;

    while (x != CABLES_NONE && (y = free_next (w, x, &port)) != CABLES_NONE) {
        match_cable (w, x, y, port);
        x = free_next (w, y, &port);
    }
}

static void match_all_cables (struct cable_match *w, const bool *is_host,
                              size_t nports)
{
    uint32_t n = w->before->n + w->after->n, port;

    for (uint32_t x = 0; x < w->before->n; x++) {
        uint32_t y = w->at[1][w->before->v[x].a];

        if (y != CABLES_NONE && y == w->at[1][w->before->v[x].b])
            match_cable (w, x, y, CABLES_NONE);
    }
    for (port = 0; port < nports; port++) {
        uint32_t x = w->at[0][port], y = w->at[1][port];

        if (is_host[port] && x != CABLES_NONE && y != CABLES_NONE
            && w->mate[x] == CABLES_NONE && w->mate[y] == CABLES_NONE)
            match_cable (w, x, y, port);
    }
    for (int rings = 0; rings < 2; rings++)
        for (uint32_t x = 0; x < n; x++)
            if (w->mate[x] == CABLES_NONE
                && (rings || free_at (w, x, false, &port) == CABLES_NONE
                    || free_at (w, x, true, &port) == CABLES_NONE))
                pair_off (w, x);
}

static uint32_t other_cable_end (const struct pair *c, uint32_t port)
{
    return c->a == port ? c->b : c->a;
}

static void collect_cable_changes (struct cables *c,
                                   const struct cable_match *w)
{
    for (uint32_t x = 0; x < w->before->n; x++) {
        struct pair p = { x, w->mate[x] - w->before->n };
        uint32_t port = w->stays[x];

        if (w->mate[x] == CABLES_NONE)
            pairs_add (w->pool, &c->lost, x, CABLES_NONE);
        else if (port == CABLES_NONE)
            pairs_add (w->pool, &c->same, p.a, p.b);
        else {
            c->move
                = pool_grow (w->pool, c->move, c->nmoves, sizeof (*c->move));
            c->move[c->nmoves++] = (struct cable_move){
                .cable = p, .stays = port,
                .from = other_cable_end (&w->before->v[x], port),
                .to = other_cable_end (&w->after->v[p.b], port),
                .swap = CABLES_NONE,
            };
        }
    }
    for (uint32_t y = 0; y < w->after->n; y++)
        if (w->mate[w->before->n + y] == CABLES_NONE)
            pairs_add (w->pool, &c->added, CABLES_NONE, y);
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

void cables_compare (struct pool *pool, struct cables *c,
                     const struct pairs *before, const struct pairs *after,
                     const bool *is_host, size_t nports)
{
    struct cable_match w = {
        .pool = pool, .before = before, .after = after,
        .at = { cables_none (pool, nports), cables_none (pool, nports) },
        .mate = cables_none (pool, before->n + after->n),
        .stays = cables_none (pool, before->n),
    };

    *c = (struct cables){ 0 };
    for (size_t x = 0; x < before->n; x++)
        w.at[0][before->v[x].a] = w.at[0][before->v[x].b] = x;
    for (size_t y = 0; y < after->n; y++)
        w.at[1][after->v[y].a] = w.at[1][after->v[y].b] = before->n + y;
    match_all_cables (&w, is_host, nports);
    collect_cable_changes (c, &w);
    find_swaps (c, w.at[0], nports);
}
