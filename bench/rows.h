/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Many rows and the rank of some of them.
 *
 * Read by bench/price, which needs the rank of rows that avoid certain
 * endpoints or links. Most rows of a network depend on a few others, so a row
 * is reduced only if a random null vector shows that it is independent.
 */
#ifndef BENCH_ROWS_H
#define BENCH_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "core/check/echelon.h"
#include "core/plan/plan.h"
#include "util/rng.h"

/* Rows as lists of columns; a column is listed as often as it counts. Each row
 * is stored once.
 */
struct rows {
    size_t m;           /* columns */
    size_t n, size;
    struct probe *pair; /* [n] the first pair that had this row */
    size_t *first;      /* [n + 1] into col: */
    uint32_t *col;
    size_t col_size;
    uint32_t *uses;     /* [m] entries of a column: good weights for a form */
    uint64_t *mark;     /* [m] random; a row's hash is their sum */
    uint64_t *seen;     /* [seen_size] hash table; 0: free */
    size_t seen_size;
};

/* Set up with no rows and m columns. Call rows_clear when done. */
void rows_init (struct rows *r, size_t m, struct rng *rng);
void rows_clear (struct rows *r);

/* Add the row of n columns of a pair, unless it is empty or already stored. (A
 * different row is taken for a stored one with probability 2^-64.)
 */
void rows_add (struct rows *r, struct probe pair, const uint32_t *col,
               size_t n);

/* Add rows which[0 .. n-1] to the form, in that order, if they are independent,
 * until the rank is `enough` or *effort (entries touched) is spent. The work
 * done is subtracted from *effort, down to 0. If taken is not NULL, taken[i] is
 * set for each row i that was added.
 */
void rows_span (const struct rows *r, struct echelon *e,
                const uint32_t *which, size_t n, size_t enough,
                struct rng *rng, uint64_t *effort, uint8_t *taken);

#endif /* BENCH_ROWS_H */
