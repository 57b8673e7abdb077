/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rounds in which no link is shared.
 *
 * Basis and rounds are chosen together: a round takes candidates in class
 * order as long as none of their links and endpoints is busy and each adds
 * to the rank. A candidate that adds nothing never will, and is dropped.
 * Several random orders within the classes are tried, and for each the last
 * rounds are dissolved as long as what they held can be replaced by rows
 * that fit into the rounds before.
 */
#ifndef CORE_ROUNDS_H
#define CORE_ROUNDS_H

#include <stddef.h>
#include <stdint.h>

#include "core/basis.h"
#include "core/rref.h"
#include "util/rng.h"

struct rounds {
    struct rounds_slot {
        uint32_t pair; /* of the basis */
        uint32_t round;
    } *slot;
    size_t n, size;
    size_t count; /* rounds */
};

/* Pick a maximal independent set of the candidates in few rounds; stop early
 * where rounds == bound (rank, rounds) cannot be beaten. The same seed gives
 * the same rounds on every machine: effort is counted, not timed. Where the
 * rref is not NULL, *rref gets the form of the rows picked. Return 0, or -1
 * with errno ENOMEM; rounds_clear is due after 0.
 */
int rounds_pack (struct rounds *rounds, const struct basis *basis,
                 struct rng *rng, struct rref **rref);

void rounds_clear (struct rounds *rounds);

#endif /* CORE_ROUNDS_H */
