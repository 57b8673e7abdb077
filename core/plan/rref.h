/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sparse row echelon form, modulo the prime P = 2^61 - 1.
 *
 * Used by the planner (is this row new?) and by the solver (what do the rows
 * determine?). Rows are added one by one. rref_reduce then brings the form into
 * its reduced shape: row i has the value 1 in its pivot column, which no other
 * row has. So a row of the reduced form that has only its pivot is a link whose
 * latency is determined; one with more entries is a group.
 *
 * Arithmetic modulo P replaces that over the rationals: rows that are
 * independent modulo P are independent. The converse fails only if P divides a
 * minor of the matrix, which does not happen in practice: there are about 2^55
 * primes of this size, and a minor has a few dozen prime factors that large.
 *
 * Cost: a row with a column that no row had before costs its own entries; any
 * other row costs the entries of the rows that it is reduced by. Add short rows
 * first, and rows of neighbours one after the other: columns that are
 * determined early keep later rows short.
 */
#ifndef CORE_RREF_H
#define CORE_RREF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/rng.h"

enum {
    RREF_RATIONAL_MAX = 1 << 20, /* for |p| and q, see rref_rational */
};

struct rref_entry {
    uint32_t col;
    uint64_t value; /* 1 .. P-1 (plan/prime) */
};

struct rref;

/* An empty form of m columns, 0 .. m-1. */
struct rref *rref_create (size_t m);
void rref_destroy (struct rref *r);

/* Add the row that has count[i] in column col[i], i < n, columns distinct.
 * Return true if it was independent of the rows so far: the rank is then one
 * more.
 */
bool rref_add (struct rref *r, const uint32_t *col, const uint8_t *count,
               size_t n);

/* The same, with z, a null vector of the rows so far (rref_null). If the row
 * has a column that no row before had, z is made a null vector of this row,
 * too, at no cost. For any other row that is added, z is not changed.
 */
bool rref_add_null (struct rref *r, const uint32_t *col, const uint8_t *count,
                    size_t n, uint64_t *z);

/* rref_add for a row that has a column which no row before had: such a row is
 * independent and costs only its entries. Any other row is not added: false.
 */
bool rref_add_fresh (struct rref *r, const uint32_t *col,
                     const uint8_t *count, size_t n);

/* True if the row lies in the span of the rows added. */
bool rref_spans (struct rref *r, const uint32_t *col, const uint8_t *count,
                 size_t n);

size_t rref_rank (const struct rref *r);

/* Reduce the form: rref_row and rref_pivot are valid from here to the next
 * rref_add. Cost: about the entries of the reduced form.
 */
void rref_reduce (struct rref *r);

/* The same with a limit: false if it would take more work (as rref_work counts
 * it) than `most`; the form can then only be destroyed.
 */
bool rref_reduce_within (struct rref *r, uint64_t most);

/* Row i < rank of the reduced form: its n entries, the pivot (value 1) first,
 * the others in any order, none of them in the pivot column of another row.
 * Borrowed until the next rref_add.
 */
const struct rref_entry *rref_row (const struct rref *r, size_t i, size_t *n);

/* The row of the reduced form whose pivot is col, or -1. A row (col, count) in
 * the span is the sum of count[i] times row rref_pivot (col[i]) over its pivot
 * columns.
 */
int rref_pivot (const struct rref *r, uint32_t col);

/* Draw a random vector z[m] that is orthogonal to every row added. A row
 * outside their span has row . z == 0 with probability 1/P only, so one z shows
 * for any number of rows whether they add to the rank.
 */
void rref_null (const struct rref *r, struct rng *rng, uint64_t *z);

/* row . z modulo P. */
uint64_t rref_dot (const uint32_t *col, const uint8_t *count, size_t n,
                   const uint64_t *z);

/* Work so far, in entries touched: a clock that does not depend on the machine.
 */
uint64_t rref_work (const struct rref *r);

/* Entries of the form: the cost of a null vector. */
uint64_t rref_entries (const struct rref *r);

/* The rational p/q, q > 0, in lowest terms, that value represents. Exact for
 * every coefficient with |p| and q at most RREF_RATIONAL_MAX, since no two such
 * fractions are equal modulo P (2 * 2^40 < P). Return 0, or -1 if there is no
 * such fraction: the coefficient is larger. (A larger coefficient is taken for
 * a small one with probability less than 2^-20.)
 */
int rref_rational (uint64_t value, int64_t *p, int64_t *q);

#endif /* CORE_RREF_H */
