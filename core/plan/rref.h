/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sparse row echelon form, modulo the prime P = 2^61 - 1.
 *
 * Used by the planner (is this row new?) and by the solver (what do the rows
 * determine?). Rows are added one by one. rref_reduce then brings the form
 * into its reduced shape: row i has the value 1 in its pivot column, which no
 * other row holds. So a row of the reduced form that is its pivot alone is a
 * link whose latency is determined; one with more entries is a group.
 *
 * Modulo P stands for over the rationals: rows that are independent modulo P
 * are independent. The converse fails only where P divides a minor of the
 * matrix, which for a network means never: there are about 2^55 primes of
 * this size and a given minor has a few dozen prime factors that large.
 *
 * Cost: a row with a column that no row had before costs its own entries;
 * any other costs the entries of the rows that it is reduced by. Add short
 * rows first, and rows of neighbours one after the other: columns that are
 * determined early leave what is kept of later rows short.
 */
#ifndef CORE_RREF_H
#define CORE_RREF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/rng.h"

enum {
    RREF_RATIONAL_MAX = 1 << 20, /* of |p| and q, see rref_rational */
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
 * True if it was independent of the rows so far: rank is one more then.
 */
bool rref_add (struct rref *r, const uint32_t *col, const uint8_t *count,
               size_t n);

/* The same, and z, a null vector of the rows so far (rref_null), is made one
 * of this row, too, where that costs nothing: where the row has a column that
 * no row before had. Of any other row that is added z does not know.
 */
bool rref_add_null (struct rref *r, const uint32_t *col, const uint8_t *count,
                    size_t n, uint64_t *z);

/* rref_add for a row that has a column which no row before had: it is
 * independent for that, and costs no more than its entries. Any other row is
 * left out: false.
 */
bool rref_add_fresh (struct rref *r, const uint32_t *col,
                     const uint8_t *count, size_t n);

/* True if the row lies in the span of the rows added. */
bool rref_spans (struct rref *r, const uint32_t *col, const uint8_t *count,
                 size_t n);

size_t rref_rank (const struct rref *r);

/* Reduce the form: rref_row and rref_pivot mean something from here to the
 * next rref_add. Cost: the entries of the reduced form, about.
 */
void rref_reduce (struct rref *r);

/* The same with an end: false where it would take more than so much work (as
 * rref_work counts it); the form is then good for rref_destroy only.
 */
bool rref_reduce_within (struct rref *r, uint64_t most);

/* Row i < rank of the reduced form: its n entries, the pivot (value 1) first,
 * the others in no order, none of them in the pivot column of another row.
 * Borrowed until the next rref_add.
 */
const struct rref_entry *rref_row (const struct rref *r, size_t i, size_t *n);

/* The row of the reduced form whose pivot is col, or -1. A row (col, count)
 * that lies in the span is the sum of count[i] times row rref_pivot (col[i])
 * over its pivot columns.
 */
int rref_pivot (const struct rref *r, uint32_t col);

/* Draw a random vector z[m] that is orthogonal to every row added. A row
 * outside their span has row . z == 0 by chance of 1/P only, so one z tells
 * for any number of rows whether they add to the rank.
 */
void rref_null (const struct rref *r, struct rng *rng, uint64_t *z);

/* row . z modulo P. */
uint64_t rref_dot (const uint32_t *col, const uint8_t *count, size_t n,
                   const uint64_t *z);

/* Work done so far, in entries touched: a clock that does not depend on the
 * machine.
 */
uint64_t rref_work (const struct rref *r);

/* Entries of the form: what a null vector costs. */
uint64_t rref_entries (const struct rref *r);

/* The rational p/q, q > 0, in lowest terms, that value stands for. Exact for
 * every coefficient with |p| and q at most RREF_RATIONAL_MAX, since two such
 * fractions never meet modulo P (2 * 2^40 < P). Return 0, or -1 where there
 * is no such fraction: the coefficient lies beyond. (One that lies beyond is
 * taken for a small one less than once in 2^20 cases.)
 */
int rref_rational (uint64_t value, int64_t *p, int64_t *q);

#endif /* CORE_RREF_H */
