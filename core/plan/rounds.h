/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rounds in which no link is shared, and room in them.
 *
 * Where a round is full, the pairs that block a pair move to another round, the
 * pairs that block them there move back, and so on (Kempe chains, known from
 * graph colouring). The set of placed pairs stays the same, and so does its
 * rank. Used by plan/pack.
 */
#ifndef CORE_ROUNDS_H
#define CORE_ROUNDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/plan/basis.h"

struct rounds_slot {
    uint32_t pair; /* of the basis */
    uint32_t round;
};

struct rounds {
    const struct basis *basis;
    struct rounds_slot *slot; /* [n] */
    size_t n;
    size_t count;    /* rounds */
    uint64_t work;   /* so far, in links read */
    /* what a pair keeps busy: its links, then its ports */
    size_t nneeds;
    uint32_t *load;  /* [need] slots */
    uint32_t *at;    /* [need][room] slot + 1 of a round, 0: none */
    size_t room;
    uint32_t *size;  /* [room] slots of a round */
    uint32_t *mark;  /* [need] stamp of the pair that needs it */
    uint32_t *seen;  /* [n] stamp of the chain that has the slot */
    uint32_t stamp;
};

/* No rounds, for the pairs of a basis, which is borrowed and may grow. */
void rounds_open (struct rounds *r, const struct basis *basis);
void rounds_clear (struct rounds *r);

/* Replace all slots by n others, in `count` rounds. */
void rounds_set (struct rounds *r, const struct rounds_slot *slot, size_t n,
                 size_t count);

/* The slots, sorted by pair; the caller frees them. */
struct rounds_slot *rounds_sorted (const struct rounds *r);

/* Open an empty round. */
void rounds_add (struct rounds *r);

/* Remove the smallest round, or all empty ones; the last one takes its number.
 */
void rounds_dissolve (struct rounds *r);
void rounds_drop_empty (struct rounds *r);

/* Whether a round has room for a pair as it is; the first one that has, or
 * `count`; put it there.
 */
bool rounds_fit (struct rounds *r, uint32_t pair, size_t round);
size_t rounds_room (const struct rounds *r, uint32_t pair);
void rounds_place (struct rounds *r, uint32_t pair, size_t round);

/* Place a pair in any of the rounds, in the first that has room or where
 * `chains` make it. False: there is none.
 */
bool rounds_put (struct rounds *r, uint32_t pair, bool chains);

/* Place a pair in the first round from `round` on where at most `most` others
 * block it; these are removed. False: there is no such round.
 */
bool rounds_replace (struct rounds *r, uint32_t pair, size_t round,
                     size_t most);

#endif /* CORE_ROUNDS_H */
