/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rounds in which no link is shared: for jobs, where any pair may be needed.
 *
 * Basis and rounds are chosen together. Candidates are taken in an order that
 * is good for elimination, not round by round. A candidate that adds to the
 * rank goes to the first round in which its links and endpoints are idle. If
 * there is none, it is skipped, because others may replace it. Endpoints that
 * have to be busy all the time (plan/demand) are placed before all others, with
 * rows that no others can replace.
 *
 * If paths have little in common, elimination causes fill-in, so it has a
 * limit. After that, rows are taken that have a column which no row before had,
 * which proves that they are independent, until all columns are covered. The
 * rows are then independent, but may not be a maximal set.
 */
#ifndef CORE_ROUNDS_H
#define CORE_ROUNDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/plan/basis.h"
#include "core/plan/rref.h"
#include "util/rng.h"

struct rounds {
    struct rounds_slot {
        uint32_t pair; /* of the basis */
        uint32_t round;
    } *slot;
    size_t n, size;
    size_t count; /* rounds */
    size_t least; /* no fewer are possible with these candidates */
    bool maximal; /* no other candidate is independent of these */
    uint64_t work; /* entries read or touched, approximate */
};

/* Work, in entries of rows read or touched, in total. */
struct rounds_effort {
    uint64_t search;    /* after which no fewer rounds are searched for */
    uint64_t eliminate; /* after which nothing is eliminated */
    uint64_t far;       /* replaces search, if more, while rounds exceed */
    double near;        /* so many times the least number of rounds */
};

/* Choose a maximal independent set of the candidates in few rounds; or, if
 * elimination would take more than its effort, an independent set that covers
 * all columns. It ends when no fewer rounds are possible. The same seed and
 * effort give the same rounds on every machine. If rref is not NULL, *rref gets
 * the form of the chosen rows. Call rounds_clear when done.
 */
void rounds_pack (struct rounds *rounds, const struct basis *basis,
                  struct rng *rng, const struct rounds_effort *effort,
                  struct rref **rref);

void rounds_clear (struct rounds *rounds);

#endif /* CORE_ROUNDS_H */
