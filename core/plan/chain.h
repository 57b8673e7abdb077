/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Chains: make room in rounds that are full.
 *
 * The pairs that block a pair in a round move to another round, the pairs that
 * block them there move back, and so on (Kempe chains, known from graph
 * colouring). The set of placed pairs stays the same, and so does its rank.
 * Used by plan/rounds and plan/layers.
 */
#ifndef CORE_CHAIN_H
#define CORE_CHAIN_H

#include <stdbool.h>

#include "core/plan/basis.h"
#include "core/plan/rounds.h"

struct chain;

/* For the pairs of a basis in the given rounds, never more than `rank`. Both
 * are borrowed; room is made for `rank` slots.
 */
struct chain *chain_create (const struct basis *basis, struct rounds *rounds,
                            size_t rank);
void chain_destroy (struct chain *c);

/* Read the rounds again after they were changed by other means; there must not
 * be more of them than before.
 */
void chain_reset (struct chain *c);

/* Open an empty round. */
void chain_open (struct chain *c);

/* Pairs in a round. */
size_t chain_size (const struct chain *c, size_t round);

/* Whether a round has room for a pair as it is; put it there. */
bool chain_fits (struct chain *c, uint32_t pair, size_t round);
void chain_place (struct chain *c, uint32_t pair, size_t round);

/* Place a pair in any of the existing rounds, swapping others if that makes
 * room. False: there is no room.
 */
bool chain_put (struct chain *c, uint32_t pair);

/* Place a pair in the first round from `round` on where at most `most` others
 * block it; these are removed. False: there is no such round.
 */
bool chain_replace (struct chain *c, uint32_t pair, size_t round,
                    size_t most);

/* Work so far, in links read. */
uint64_t chain_work (const struct chain *c);

#endif /* CORE_CHAIN_H */
