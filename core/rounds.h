/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rounds in which no link is shared: for jobs, where any pair may be needed.
 *
 * Basis and rounds are chosen together. Candidates are taken in an order that
 * is good to eliminate in, whatever round they go to: a candidate that adds
 * to the rank goes to the first round in which its links and endpoints are
 * idle, and is passed over where there is none, for others may do instead.
 * Endpoints that have to be busy all the time (core/demand) are served before
 * all others, by rows that no others can replace.
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

/* Pick a maximal independent set of the candidates in few rounds. `effort`
 * bounds the work, in rows' entries looked at, beyond a first packing; it ends
 * where no fewer rounds are possible. The same seed and effort give the same
 * rounds on every machine. Where rref is not NULL, *rref gets the form of the
 * rows picked. Return 0, or -1 with errno ENOMEM; rounds_clear is due after
 * 0.
 */
int rounds_pack (struct rounds *rounds, const struct basis *basis,
                 struct rng *rng, uint64_t effort, struct rref **rref);

void rounds_clear (struct rounds *rounds);

#endif /* CORE_ROUNDS_H */
