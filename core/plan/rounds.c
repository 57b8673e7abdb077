/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rounds in which no link is shared, and room in them. */
#include "config.h"
#include "core/plan/rounds.h"

#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/sort.h"

enum {
    BLOCKERS_MAX = 4, /* pairs that may block one pair */
    CHAIN_MAX = 24,   /* pairs that are swapped at most */
    NEEDS_MAX = ROW_MAX + 2,
};

void rounds_open (struct rounds *r, const struct basis *basis)
{
    *r = (struct rounds){
        .basis = basis,
        .nneeds = basis->m + basis->nports,
    };
    r->load = xcalloc (r->nneeds, sizeof (*r->load));
    r->mark = xcalloc (r->nneeds, sizeof (*r->mark));
}

void rounds_clear (struct rounds *r)
{
    free (r->slot);
    free (r->load);
    free (r->at);
    free (r->size);
    free (r->mark);
    free (r->seen);
    *r = (struct rounds){ 0 };
}

/* What a pair keeps busy; return the number. */
static size_t needs (const struct rounds *r, uint32_t pair, uint32_t *list)
{
    const struct basis *b = r->basis;
    size_t n = 2;

    list[0] = b->m + b->port[pair].a;
    list[1] = b->m + b->port[pair].b;
    for (size_t k = b->first[pair]; k < b->first[pair + 1]; k++)
        list[n++] = b->col[k];
    return n;
}

static uint32_t *slot_holder (const struct rounds *r, uint32_t need,
                              size_t round)
{
    return &r->at[need * r->room + round];
}

/* Enter a slot, or remove it. */
static void mark_slot (struct rounds *r, uint32_t slot, bool held)
{
    const struct rounds_slot *s = &r->slot[slot];
    uint32_t list[NEEDS_MAX];
    size_t n = needs (r, s->pair, list);

    for (size_t k = 0; k < n; k++) {
        *slot_holder (r, list[k], s->round) = held ? slot + 1 : 0;
        r->load[list[k]] += held ? 1 : -1;
    }
    r->size[s->round] += held ? 1 : -1;
}

void rounds_add (struct rounds *r)
{
    if (r->count == r->room) {
        size_t room = 2 * r->room + 8;
        uint32_t *at = xcalloc (r->nneeds * room, sizeof (*at));

        for (size_t k = 0; k < r->nneeds && r->room > 0; k++)
            memcpy (at + k * room, r->at + k * r->room,
                    r->room * sizeof (*at));
        free (r->at);
        r->at = at;
        r->size = xrealloc (r->size, room, sizeof (*r->size));
        r->room = room;
    }
    r->size[r->count++] = 0;
}

static bool pair_fits_round (const struct rounds *r, uint32_t pair,
                             size_t round)
{
    const struct basis *b = r->basis;

    if (*slot_holder (r, b->m + b->port[pair].a, round)
        || *slot_holder (r, b->m + b->port[pair].b, round))
        return false;
    for (size_t k = b->first[pair]; k < b->first[pair + 1]; k++)
        if (*slot_holder (r, b->col[k], round))
            return false;
    return true;
}

bool rounds_fit (struct rounds *r, uint32_t pair, size_t round)
{
    r->work++;
    return pair_fits_round (r, pair, round);
}

size_t rounds_room (const struct rounds *r, uint32_t pair)
{
    size_t round = 0;

    while (round < r->count && !pair_fits_round (r, pair, round))
        round++;
    return round;
}

void rounds_place (struct rounds *r, uint32_t pair, size_t round)
{
    r->slot = xgrow (r->slot, r->n, sizeof (*r->slot));
    r->seen = xgrow (r->seen, r->n, sizeof (*r->seen));
    r->slot[r->n] = (struct rounds_slot){ pair, round };
    r->seen[r->n] = 0;
    mark_slot (r, r->n++, true);
}

void rounds_set (struct rounds *r, const struct rounds_slot *slot, size_t n,
                 size_t count)
{
    r->n = r->count = 0;
    memset (r->load, 0, r->nneeds * sizeof (*r->load));
    if (r->room > 0)
        memset (r->at, 0, r->nneeds * r->room * sizeof (*r->at));
    while (r->count < count)
        rounds_add (r);
    for (size_t i = 0; i < n; i++)
        rounds_place (r, slot[i].pair, slot[i].round);
}

static int compare_slots (const void *a, const void *b)
{
    const struct rounds_slot *x = a;
    const struct rounds_slot *y = b;

    return util_compare (x->pair, y->pair);
}

struct rounds_slot *rounds_sorted (const struct rounds *r)
{
    struct rounds_slot *slot = xarray (r->n, sizeof (*slot));

    if (r->n > 0) {
        memcpy (slot, r->slot, r->n * sizeof (*slot));
        qsort (slot, r->n, sizeof (*slot), compare_slots);
    }
    return slot;
}

/* Remove a slot; the last one takes its place. */
static void remove_slot (struct rounds *r, uint32_t slot)
{
    uint32_t last = r->n - 1;

    mark_slot (r, slot, false);
    if (slot != last) {
        mark_slot (r, last, false);
        r->slot[slot] = r->slot[last];
        mark_slot (r, slot, true);
    }
    r->n--;
}

static uint32_t smallest (const struct rounds *r)
{
    uint32_t least = 0;

    for (size_t i = 1; i < r->count; i++)
        if (r->size[i] < r->size[least])
            least = i;
    return least;
}

void rounds_dissolve (struct rounds *r)
{
    uint32_t least = smallest (r);
    uint32_t last = r->count - 1;

    for (size_t i = r->n; i-- > 0;)
        if (r->slot[i].round == least)
            remove_slot (r, i);
    for (size_t i = 0; i < r->n; i++)
        if (r->slot[i].round == last) {
            mark_slot (r, i, false);
            r->slot[i].round = least;
            mark_slot (r, i, true);
        }
    r->count--;
}

void rounds_drop_empty (struct rounds *r)
{
    while (r->count > 0 && r->size[smallest (r)] == 0)
        rounds_dissolve (r);
}

/* Find the slots that block a pair in a round; return their number, or more
 * than BLOCKERS_MAX.
 */
static size_t blockers (struct rounds *r, const uint32_t *list, size_t nlist,
                        size_t round, uint32_t *slot)
{
    size_t n = 0;

    r->work += nlist;
    for (size_t k = 0; k < nlist; k++) {
        uint32_t s = *slot_holder (r, list[k], round);
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

/* Follow the chains from the n slots in `slot`, of `round`, back and forth
 * between it and the other round. Return the number of slots in them; 0 if they
 * are too long, or contain a slot that needs something marked.
 */
static size_t follow_chains (struct rounds *r, uint32_t *slot, size_t n,
                             size_t round, size_t other)
{
    for (size_t i = 0; i < n; i++)
        r->seen[slot[i]] = r->stamp;
    for (size_t i = 0; i < n; i++) {
        bool here = r->slot[slot[i]].round == round;
        uint32_t list[NEEDS_MAX], its[NEEDS_MAX];
        size_t nlist = needs (r, r->slot[slot[i]].pair, list);

        r->work += nlist;
        for (size_t k = 0; k < nlist; k++) {
            uint32_t next = *slot_holder (r, list[k], here ? other : round);
            size_t nits;

            if (!next || r->seen[--next] == r->stamp)
                continue;
            if (n == CHAIN_MAX)
                return 0;
            nits = here ? needs (r, r->slot[next].pair, its) : 0;
            while (nits > 0)
                if (r->mark[its[--nits]] == r->stamp)
                    return 0;
            r->seen[next] = r->stamp;
            slot[n++] = next;
        }
    }
    return n;
}

/* Make room in a round for a pair that needs `list`. */
static bool clear_round_for_pair (struct rounds *r, const uint32_t *list,
                                  size_t nlist, size_t round)
{
    uint32_t way[BLOCKERS_MAX], slot[CHAIN_MAX];
    size_t n = blockers (r, list, nlist, round, way);

    if (n == 0)
        return true;
    if (n > BLOCKERS_MAX)
        return false;
    for (size_t other = 0; other < r->count; other++) {
        size_t length;

        if (other == round)
            continue;
        r->stamp++;
        for (size_t k = 0; k < nlist; k++)
            r->mark[list[k]] = r->stamp;
        memcpy (slot, way, n * sizeof (*way));
        if ((length = follow_chains (r, slot, n, round, other)) == 0)
            continue;
        for (size_t i = 0; i < length; i++)
            mark_slot (r, slot[i], false);
        for (size_t i = 0; i < length; i++) {
            struct rounds_slot *s = &r->slot[slot[i]];

            s->round = s->round == round ? other : round;
            mark_slot (r, slot[i], true);
        }
        return true;
    }
    return false;
}

bool rounds_put (struct rounds *r, uint32_t pair, bool chains)
{
    uint32_t list[NEEDS_MAX];
    size_t nlist = needs (r, pair, list);
    size_t round = chains ? 0 : rounds_room (r, pair);

    while (chains && round < r->count
           && !clear_round_for_pair (r, list, nlist, round))
        round++;
    if (round == r->count)
        return false;
    rounds_place (r, pair, round);
    return true;
}

bool rounds_replace (struct rounds *r, uint32_t pair, size_t round,
                     size_t most)
{
    uint32_t list[NEEDS_MAX], way[BLOCKERS_MAX];
    size_t nlist = needs (r, pair, list);

    for (size_t i = 0; i < r->count; i++) {
        size_t at = (round + i) % r->count;
        size_t n = blockers (r, list, nlist, at, way);

        if (n == 0 || n > most || n > BLOCKERS_MAX)
            continue;
        while (blockers (r, list, nlist, at, way) > 0)
            remove_slot (r, way[0]);
        rounds_place (r, pair, at);
        return true;
    }
    return false;
}
