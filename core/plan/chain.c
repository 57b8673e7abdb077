/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Chains: make room in rounds that are full.
 *
 * Notes: a pair needs its links and its endpoints' ports in a round, numbered
 * one after the other. `holder` gives the slot that has each, so chains can be
 * followed without a search.
 */
#include "config.h"
#include "core/plan/chain.h"

#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"

enum {
    BLOCKERS_MAX = 4, /* pairs that may block one pair */
    CHAIN_MAX = 24,   /* pairs that are swapped at most */
    NEEDS_MAX = ROW_MAX + 2,
};

struct chain {
    const struct basis *basis;
    struct rounds *rounds;
    size_t nneeds;     /* links, then ports */
    uint32_t **holder; /* [round][need] slot + 1 */
    size_t *size;      /* [round] slots */
    size_t nholder;    /* rounds with allocated memory */
    uint32_t *mark;    /* [need] stamp of the pair that needs it */
    uint32_t *seen;    /* [rank] stamp of the chain that has the slot */
    uint32_t stamp;
    uint64_t work;
};

/* What a pair keeps busy. */
static size_t needs (const struct chain *c, uint32_t pair, uint32_t *list)
{
    const struct basis *b = c->basis;
    size_t n = 0;

    list[n++] = b->m + b->port[pair].a;
    list[n++] = b->m + b->port[pair].b;
    for (size_t k = b->first[pair]; k < b->first[pair + 1]; k++)
        list[n++] = b->col[k];
    return n;
}

static void hold (struct chain *c, uint32_t slot, uint32_t holder)
{
    const struct rounds_slot *s = &c->rounds->slot[slot];
    uint32_t list[NEEDS_MAX];
    size_t n = needs (c, s->pair, list);

    for (size_t k = 0; k < n; k++)
        c->holder[s->round][list[k]] = holder;
}

static void add_holder (struct chain *c)
{
    c->size = xgrow (c->size, c->nholder, sizeof (*c->size));
    c->holder = xgrow (c->holder, c->nholder, sizeof (*c->holder));
    c->holder[c->nholder++] = xarray (c->nneeds, sizeof (**c->holder));
}

static void clear_round (struct chain *c, size_t round)
{
    memset (c->holder[round], 0, c->nneeds * sizeof (**c->holder));
    c->size[round] = 0;
}

struct chain *chain_create (const struct basis *basis, struct rounds *rounds,
                            size_t rank)
{
    struct chain *c = xcalloc (1, sizeof (*c));

    c->basis = basis;
    c->rounds = rounds;
    c->nneeds = basis->m + basis->nports;
    c->mark = xcalloc (c->nneeds, sizeof (*c->mark));
    c->seen = xcalloc (rank + 1, sizeof (*c->seen));
    rounds->slot = xrealloc (rounds->slot, rank + 1, sizeof (*rounds->slot));
    rounds->size = rank + 1;
    while (c->nholder < rounds->count)
        add_holder (c);
    chain_reset (c);
    return c;
}

void chain_destroy (struct chain *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->nholder; i++)
        free (c->holder[i]);
    free (c->holder);
    free (c->size);
    free (c->mark);
    free (c->seen);
    free (c);
}

void chain_reset (struct chain *c)
{
    const struct rounds *r = c->rounds;

    for (size_t round = 0; round < r->count; round++)
        clear_round (c, round);
    for (size_t i = 0; i < r->n; i++) {
        hold (c, i, i + 1);
        c->size[r->slot[i].round]++;
    }
}

void chain_open (struct chain *c)
{
    if (c->rounds->count == c->nholder)
        add_holder (c);
    clear_round (c, c->rounds->count++);
}

size_t chain_size (const struct chain *c, size_t round)
{
    return c->size[round];
}

bool chain_fits (struct chain *c, uint32_t pair, size_t round)
{
    const struct basis *b = c->basis;
    const uint32_t *holder = c->holder[round];

    c->work++;
    if (holder[b->m + b->port[pair].a] || holder[b->m + b->port[pair].b])
        return false;
    for (size_t k = b->first[pair]; k < b->first[pair + 1]; k++)
        if (holder[b->col[k]])
            return false;
    return true;
}

void chain_place (struct chain *c, uint32_t pair, size_t round)
{
    struct rounds *r = c->rounds;

    r->slot[r->n] = (struct rounds_slot){ pair, round };
    hold (c, r->n, r->n + 1);
    r->n++;
    c->size[round]++;
}

/* Find the slots that block a pair in a round; return their number, or more
 * than BLOCKERS_MAX.
 */
static size_t blockers (struct chain *c, const uint32_t *list, size_t nlist,
                        size_t round, uint32_t *slot)
{
    size_t n = 0;

    c->work += nlist;
    for (size_t k = 0; k < nlist; k++) {
        uint32_t s = c->holder[round][list[k]];
        size_t i = 0;

        if (!s)
            continue;
        while (i < n && slot[i] != s - 1)
            i++;
        if (i < n)
            continue;
        if (n == BLOCKERS_MAX)
            return n + 1;
        slot[n++] = s - 1;
    }
    return n;
}

static bool wants_marked (const struct chain *c, uint32_t slot)
{
    uint32_t list[NEEDS_MAX];
    size_t n = needs (c, c->rounds->slot[slot].pair, list);

    for (size_t k = 0; k < n; k++)
        if (c->mark[list[k]] == c->stamp)
            return true;
    return false;
}

/* Follow the chains from the n slots in `slot`, of `round`, back and forth
 * between it and the other round. Return the number of slots in them; 0 if they
 * are too long, or contain a slot that needs something marked.
 */
static size_t follow (struct chain *c, uint32_t *slot, size_t n, size_t round,
                      size_t other)
{
    for (size_t i = 0; i < n; i++)
        c->seen[slot[i]] = c->stamp;
    for (size_t i = 0; i < n; i++) {
        const struct rounds_slot *s = &c->rounds->slot[slot[i]];
        const uint32_t *holder = c->holder[s->round == round ? other : round];
        uint32_t list[NEEDS_MAX];
        size_t nlist = needs (c, s->pair, list);

        c->work += nlist;
        for (size_t k = 0; k < nlist; k++) {
            uint32_t next = holder[list[k]];

            if (!next || c->seen[--next] == c->stamp)
                continue;
            if (n == CHAIN_MAX
                || (s->round == round && wants_marked (c, next)))
                return 0;
            c->seen[next] = c->stamp;
            slot[n++] = next;
        }
    }
    return n;
}

static void swap (struct chain *c, const uint32_t *slot, size_t n,
                  size_t round, size_t other)
{
    for (size_t i = 0; i < n; i++)
        hold (c, slot[i], 0);
    for (size_t i = 0; i < n; i++) {
        struct rounds_slot *s = &c->rounds->slot[slot[i]];

        c->size[s->round]--;
        s->round = s->round == round ? other : round;
        c->size[s->round]++;
        hold (c, slot[i], slot[i] + 1);
    }
}

/* Make room in a round for a pair that needs `list`. */
static bool make_room (struct chain *c, const uint32_t *list, size_t nlist,
                       size_t round)
{
    uint32_t slot[CHAIN_MAX];
    uint32_t way[BLOCKERS_MAX];
    size_t n = blockers (c, list, nlist, round, way);

    if (n == 0)
        return true;
    if (n > BLOCKERS_MAX)
        return false;
    for (size_t other = 0; other < c->rounds->count; other++) {
        size_t length;

        if (other == round)
            continue;
        c->stamp++;
        for (size_t k = 0; k < nlist; k++)
            c->mark[list[k]] = c->stamp;
        memcpy (slot, way, n * sizeof (*way));
        if ((length = follow (c, slot, n, round, other)) > 0) {
            swap (c, slot, length, round, other);
            return true;
        }
    }
    return false;
}

bool chain_put (struct chain *c, uint32_t pair)
{
    uint32_t list[NEEDS_MAX];
    size_t nlist = needs (c, pair, list);

    for (size_t round = 0; round < c->rounds->count; round++)
        if (make_room (c, list, nlist, round)) {
            chain_place (c, pair, round);
            return true;
        }
    return false;
}

/* Remove a slot; the last one takes its place. */
static void take_out (struct chain *c, uint32_t slot)
{
    struct rounds *r = c->rounds;
    uint32_t last = r->n - 1;

    c->size[r->slot[slot].round]--;
    hold (c, slot, 0);
    if (slot != last) {
        hold (c, last, 0);
        r->slot[slot] = r->slot[last];
        hold (c, slot, slot + 1);
    }
    r->n--;
}

bool chain_replace (struct chain *c, uint32_t pair, size_t round,
                    size_t most)
{
    uint32_t list[NEEDS_MAX];
    uint32_t way[BLOCKERS_MAX];
    size_t nlist = needs (c, pair, list);
    size_t count = c->rounds->count;

    for (size_t i = 0; i < count; i++) {
        size_t at = (round + i) % count;
        size_t n = blockers (c, list, nlist, at, way);

        if (n == 0 || n > most || n > BLOCKERS_MAX)
            continue;
        while (blockers (c, list, nlist, at, way) > 0)
            take_out (c, way[0]);
        chain_place (c, pair, at);
        return true;
    }
    return false;
}

uint64_t chain_work (const struct chain *c)
{
    return c->work;
}
