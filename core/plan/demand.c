/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Demand: in how many rounds a port has to be busy. */
#include "config.h"
#include "core/plan/demand.h"

#include <stdlib.h>

#include "core/plan/rref.h"
#include "util/alloc.h"
#include "util/rng.h"
#include "util/sets.h"

enum { STALE_MAX = 100 }; /* rows that a null vector may misjudge */

#define NONE UINT32_MAX /* no set owns it */
#define ANY (UINT32_MAX - 1) /* no row has crossed it so far */

struct demand {
    const struct basis *basis;
    uint32_t *up;       /* [nports] union-find */
    uint32_t *set;      /* [nports] number of its set */
    uint32_t *size;     /* [sets] */
    uint32_t *need;     /* [sets] */
    uint32_t (*own)[2]; /* [m] sets that own a link: two at most */
    uint16_t *hops;     /* [basis->n] of the round trip */
    uint64_t *z;        /* [2 m] */
};

static void demand_clear (struct demand *d)
{
    free (d->up);
    free (d->set);
    free (d->size);
    free (d->need);
    free (d->own);
    free (d->hops);
    free (d->z);
}

static void demand_init (struct demand *d, const struct basis *b)
{
    size_t n = b->nports;

    *d = (struct demand){ .basis = b };
    d->up = xcalloc (n + 1, sizeof (*d->up));
    d->set = xcalloc (n + 1, sizeof (*d->set));
    d->size = xcalloc (n + 1, sizeof (*d->size));
    d->need = xcalloc (n + 1, sizeof (*d->need));
    d->own = xcalloc (b->m + 1, sizeof (*d->own));
    d->hops = xcalloc (b->n + 1, sizeof (*d->hops));
    d->z = xcalloc (2 * b->m + 1, sizeof (*d->z));
    for (size_t i = 0; i < n; i++)
        d->up[i] = i;
    for (size_t i = 0; i < b->n; i++)
        for (size_t k = b->first[i]; k < b->first[i + 1]; k++)
            d->hops[i] += b->count[k];
}

/* Number the sets; return their number. */
static size_t number_sets (struct demand *d)
{
    size_t n = 0;

    for (size_t i = 0; i < d->basis->nports; i++)
        if (sets_find (d->up, i) == i) {
            d->set[i] = n;
            d->size[n] = d->need[n] = 0;
            n++;
        }
    for (size_t i = 0; i < d->basis->nports; i++) {
        d->set[i] = d->set[sets_find (d->up, i)];
        d->size[d->set[i]]++;
    }
    return n;
}

static void narrow (uint32_t *own, uint32_t s, uint32_t t)
{
    if (own[0] == ANY) {
        own[0] = s;
        own[1] = t != s ? t : NONE;
        return;
    }
    for (int i = 0; i < 2; i++)
        if (own[i] != s && own[i] != t)
            own[i] = NONE;
}

static void find_own (struct demand *d)
{
    const struct basis *b = d->basis;

    for (size_t c = 0; c < b->m; c++)
        d->own[c][0] = d->own[c][1] = ANY;
    for (size_t i = 0; i < b->n; i++)
        for (size_t k = b->first[i]; k < b->first[i + 1]; k++)
            narrow (d->own[b->col[k]], d->set[b->port[i].a],
                    d->set[b->port[i].b]);
}

/* The row of a pair in the links that set s owns. Each of the two owners of a
 * link has its own column for it, so the sets are independent.
 */
static size_t own_row (const struct demand *d, size_t pair, uint32_t s,
                       uint32_t *col, uint8_t *count)
{
    const struct basis *b = d->basis;
    size_t n = 0;

    for (size_t k = b->first[pair]; k < b->first[pair + 1]; k++) {
        const uint32_t *own = d->own[b->col[k]];

        if (own[0] != s && own[1] != s)
            continue;
        col[n] = own[0] == s ? b->col[k] : b->m + b->col[k];
        count[n++] = b->count[k];
    }
    return n;
}

static void find_needs (struct demand *d)
{
    struct rref *rref = rref_create (2 * d->basis->m);
    unsigned int stale = 0;
    struct rng rng;

    rng_seed (&rng, 1);
    rref_null (rref, &rng, d->z);
    for (size_t i = 0; i < d->basis->n; i++) {
        uint32_t set[2] = { d->set[d->basis->port[i].a],
                            d->set[d->basis->port[i].b] };

        for (int e = 0; e < (set[0] == set[1] ? 1 : 2); e++) {
            uint32_t col[ROW_MAX];
            uint8_t count[ROW_MAX];
            size_t n = own_row (d, i, set[e], col, count);

            if (rref_dot (col, count, n, d->z) == 0)
                continue;
            if (rref_add_null (rref, col, count, n, d->z))
                d->need[set[e]]++;
            else if (++stale == STALE_MAX) {
                rref_null (rref, &rng, d->z);
                stale = 0;
            }
        }
    }
    rref_destroy (rref);
}

static void raise_demand (struct demand *d, double *demand)
{
    find_own (d);
    find_needs (d);
    for (size_t i = 0; i < d->basis->nports; i++) {
        double x = (double)d->need[d->set[i]] / d->size[d->set[i]];

        if (demand[i] < x)
            demand[i] = x;
    }
}

/* Join the ends of pairs that are `hops` hops apart; return the number of
 * pairs.
 */
static size_t join (struct demand *d, unsigned int hops)
{
    size_t n = 0;

    for (size_t i = 0; i < d->basis->n; i++)
        if (d->hops[i] == hops) {
            sets_unite (d->up, d->basis->port[i].a, d->basis->port[i].b);
            n++;
        }
    return n;
}

double *demand_find (const struct basis *basis)
{
    double *demand = xcalloc (basis->nports, sizeof (*demand));
    struct demand d;
    size_t joined = 0;

    demand_init (&d, basis);
    if (number_sets (&d) > 1)
        raise_demand (&d, demand);
    for (unsigned int h = 1; joined < basis->n; h++) {
        size_t n = join (&d, h);

        joined += n;
        if (n > 0 && number_sets (&d) > 1)
            raise_demand (&d, demand);
    }
    demand_clear (&d);
    return demand;
}
