/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rounds in which no link is shared: for jobs, where any pair may be needed.
 *
 * Basis and rounds are chosen together. Candidates are taken in an order that
 * is good to eliminate in, whatever round they go to: a candidate that adds
 * to the rank goes to the first round in which its links and endpoints are
 * idle, and is passed over where there is none, for others may do instead.
 * Endpoints that have to be busy all the time (plan/demand) are served before
 * all others, by rows that no others can replace.
 *
 * Where paths have little in common, elimination fills in. There is an end to
 * it: behind that, rows are taken that have a column which no row before had,
 * which is proof enough, and so until all columns are covered. What is picked
 * is independent then, but may not be all that is.
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
    size_t least; /* no fewer do, whatever is made of the candidates */
    bool maximal; /* no other candidate is independent of these */
    uint64_t work; /* that they took: entries looked at or touched, about */
};

/* Work, in entries of rows looked at or touched, all told. */
struct rounds_effort {
    uint64_t search;    /* behind which no fewer rounds are looked for */
    uint64_t eliminate; /* behind which nothing is eliminated */
    uint64_t far;       /* the same as search, if more, while rounds exceed */
    double near;        /* so many times those that there must be */
};

/* Pick a maximal independent set of the candidates in few rounds, or, where
 * elimination would take more than its effort, an independent one that covers
 * all columns. Ends where no fewer rounds are possible. The same seed and
 * effort give the same rounds on every machine. Where rref is not NULL, *rref
 * gets the form of the rows picked. rounds_clear is due.
 */
void rounds_pack (struct rounds *rounds, const struct basis *basis,
                  struct rng *rng, const struct rounds_effort *effort,
                  struct rref **rref);

void rounds_clear (struct rounds *rounds);

#endif /* CORE_ROUNDS_H */
