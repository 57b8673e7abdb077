/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Demand: in how many rounds a port is busy at least.
 *
 * Notes: a level divides the ports into groups, each of which is a set S. A
 * link has at most two owners in a level. Each of them has its own column for
 * it, so the groups are independent, and one elimination serves all of a level.
 */
#include "config.h"
#include "core/plan/demand.h"

#include <stdlib.h>

#include "core/plan/rref.h"
#include "util/alloc.h"
#include "util/pool.h"
#include "util/rng.h"
#include "util/sets.h"

#define NONE UINT32_MAX      /* no group owns the link */
#define ANY (UINT32_MAX - 1) /* no row has crossed it so far */

void demand_levels_clear (struct demand_levels *l)
{
    pool_destroy (l->pool);
}

/* Restrict the owners of each link to the groups at the ends of its rows. */
static void find_owners (const struct basis *b, const struct demand_level *l,
                         uint32_t (*own)[2])
{
    for (size_t c = 0; c < b->m; c++)
        own[c][0] = own[c][1] = ANY;
    for (size_t i = 0; i < b->n; i++) {
        uint32_t s = l->group[b->port[i].a], t = l->group[b->port[i].b];

        for (size_t k = b->first[i]; k < b->first[i + 1]; k++) {
            uint32_t *o = own[b->col[k]];

            if (o[0] == ANY) {
                o[0] = s;
                o[1] = t != s ? t : NONE;
            }
            for (int e = 0; e < 2; e++)
                if (o[e] != s && o[e] != t)
                    o[e] = NONE;
        }
    }
}

/* The rank of each group's rows in its own links. */
static void find_needs (struct demand_levels *levels, struct demand_level *l)
{
    const struct basis *b = levels->basis;
    uint32_t (*own)[2] = xarray (b->m, sizeof (*own));
    struct rng rng;
    struct screen s = { .rref = rref_create (2 * b->m), .rng = &rng };

    rng_seed (&rng, 1);
    screen_draw (&s);
    find_owners (b, l, own);
    for (size_t i = 0; i < b->n; i++) {
        uint32_t end[2] = { l->group[b->port[i].a], l->group[b->port[i].b] };

        for (int e = 0; e < (end[0] == end[1] ? 1 : 2); e++) {
            uint32_t col[ROW_MAX];
            uint8_t count[ROW_MAX];
            size_t n = 0;

            for (size_t k = b->first[i]; k < b->first[i + 1]; k++) {
                const uint32_t *o = own[b->col[k]];

                if (o[0] != end[e] && o[1] != end[e])
                    continue;
                col[n] = o[0] == end[e] ? b->col[k] : b->m + b->col[k];
                count[n++] = b->count[k];
            }
            if (n > 0 && screen_add (&s, col, count, n))
                l->need[end[e]]++;
        }
    }
    levels->work += rref_work (s.rref) + s.work + b->first[b->n];
    rref_destroy (s.rref);
    free (s.z);
    free (own);
}

/* Add the level of the sets in up, unless they are those of the last one or all
 * ports.
 */
static void add_level (struct demand_levels *levels, uint32_t *up)
{
    size_t nports = levels->basis->nports;
    struct pool *pool = levels->pool;
    struct demand_level l = {
        .group = pool_alloc (pool, nports, sizeof (*l.group)),
        .ports = pool_alloc (pool, nports, sizeof (*l.ports)),
        .need = pool_alloc (pool, nports, sizeof (*l.need)),
    };

    for (size_t i = 0; i < nports; i++) { /* the root is a set's least */
        uint32_t root = sets_find (up, i);

        l.group[i] = root == i ? l.n++ : l.group[root];
        l.ports[l.group[i]]++;
    }
    if (l.n > 1 && (levels->n == 0 || l.n < levels->v[levels->n - 1].n)) {
        find_needs (levels, &l);
        levels->v = pool_grow (pool, levels->v, levels->n, sizeof (l));
        levels->v[levels->n++] = l;
    }
}

struct demand_levels demand_levels (const struct basis *b)
{
    struct demand_levels levels = { .basis = b, .pool = pool_create () };
    uint32_t *up = xarray (b->nports, sizeof (*up));
    uint16_t *hops = xcalloc (b->n, sizeof (*hops)); /* of the round trip */
    size_t joined = 0;

    for (size_t i = 0; i < b->nports; i++)
        up[i] = i;
    for (size_t i = 0; i < b->n; i++)
        for (size_t k = b->first[i]; k < b->first[i + 1]; k++)
            hops[i] += b->count[k];
    add_level (&levels, up);
    for (unsigned int h = 1; joined < b->n; h++) {
        size_t before = joined;

        for (size_t i = 0; i < b->n; i++)
            if (hops[i] == h) {
                sets_unite (up, b->port[i].a, b->port[i].b);
                joined++;
            }
        if (joined > before)
            add_level (&levels, up);
    }
    free (up);
    free (hops);
    return levels;
}

double *demand_find (const struct basis *basis)
{
    struct demand_levels levels = demand_levels (basis);
    double *demand = xcalloc (basis->nports, sizeof (*demand));

    for (size_t v = 0; v < levels.n; v++)
        for (size_t i = 0; i < basis->nports; i++) {
            const struct demand_level *l = &levels.v[v];
            double x = (double)l->need[l->group[i]] / l->ports[l->group[i]];

            demand[i] = x > demand[i] ? x : demand[i];
        }
    demand_levels_clear (&levels);
    return demand;
}
