/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Chains: make room in rounds that are full.
 *
 * What stands in the way of a pair in a round goes to another round, what
 * stands in its way there comes back, and so on (the chains of Kempe, known
 * from graph colouring). The pairs placed stay the same, and so does their
 * rank. Used by plan/rounds and plan/layers.
 */
#ifndef CORE_CHAIN_H
#define CORE_CHAIN_H

#include <stdbool.h>

#include "core/plan/basis.h"
#include "core/plan/rounds.h"

struct chain;

/* For the pairs of a basis in the given rounds, at most `rank` ever. Both are
 * borrowed; room is made for `rank` slots.
 */
struct chain *chain_create (const struct basis *basis, struct rounds *rounds,
                            size_t rank);
void chain_destroy (struct chain *c);

/* Look at the rounds anew, which were changed by other means: no more of them
 * than there have been.
 */
void chain_reset (struct chain *c);

/* Open an empty round. */
void chain_open (struct chain *c);

/* Pairs in a round. */
size_t chain_size (const struct chain *c, size_t round);

/* True if a round has room for a pair as it is; put it there. */
bool chain_fits (struct chain *c, uint32_t pair, size_t round);
void chain_place (struct chain *c, uint32_t pair, size_t round);

/* Place a pair in any of the rounds there are, swapping others where that
 * makes room. False: there is none.
 */
bool chain_put (struct chain *c, uint32_t pair);

/* Place a pair where others are in its way, `most` of them at the most, which
 * go: in the first such round from `round` on. False: there is none.
 */
bool chain_replace (struct chain *c, uint32_t pair, size_t round,
                    size_t most);

/* Work done so far, in links looked at. */
uint64_t chain_work (const struct chain *c);

#endif /* CORE_CHAIN_H */
