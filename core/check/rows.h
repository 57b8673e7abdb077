/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Many rows and the rank of some of them.
 *
 * Read by check/bound, which asks for the rank of rows that avoid this or
 * that. Most rows of a network follow from few, so that none is reduced
 * before a random null vector has told that it is new.
 */
#ifndef CORE_ROWS_H
#define CORE_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "core/check/echelon.h"
#include "core/plan/plan.h"
#include "util/rng.h"

/* Rows as lists of columns, a column as often as it counts, each row once. */
struct rows {
    size_t m;           /* columns */
    size_t n, size;
    struct probe *pair; /* [n] the first that had this row */
    size_t *first;      /* [n + 1] into col: */
    uint32_t *col;
    size_t col_size;
    uint32_t *uses;     /* [m] of a column: good weights of an echelon form */
    uint64_t *mark;     /* [m] random; a row's hash is their sum */
    uint64_t *seen;     /* [seen_size] hash table; 0: free */
    size_t seen_size;
};

/* No rows of m columns. rows_clear is due. */
void rows_init (struct rows *r, size_t m, struct rng *rng);
void rows_clear (struct rows *r);

/* Add the row of n columns of a pair, unless it is empty or there already
 * (or, once in 2^64 pairs of rows, another of its hash).
 */
void rows_add (struct rows *r, struct probe pair, const uint32_t *col,
               size_t n);

/* Add to the form what rows which[0 .. n-1] have to add, in that order, until
 * the rank is `enough` or *effort (entries touched) is spent; that much is
 * taken off it, down to 0. Where taken is not NULL, taken[i] is set for each
 * row i added.
 */
void rows_span (const struct rows *r, struct echelon *e,
                const uint32_t *which, size_t n, size_t enough,
                struct rng *rng, uint64_t *effort, uint8_t *taken);

#endif /* CORE_ROWS_H */
