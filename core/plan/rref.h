/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sparse row echelon form, modulo the prime P = 2^61 - 1.
 *
 * Used by the planner (is this row new?) and by the solver (what do the rows
 * determine?). Rows are added one by one. rref_reduce then brings the form into
 * its reduced shape: row i has the value 1 in its pivot column, which no other
 * row has. A row of it that has only its pivot is a link whose latency is
 * determined; one with more entries is a group.
 *
 * Rows that are independent modulo P are independent. The converse fails only
 * if P divides a minor of the matrix, which does not happen in practice: there
 * are about 2^55 primes of this size, and a minor has a few dozen such factors.
 *
 * Cost: a row with a column that no row had before costs its own entries; any
 * other row costs the entries of the rows that it is reduced by. Add short rows
 * first, and rows of neighbours one after the other.
 */
#ifndef CORE_RREF_H
#define CORE_RREF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/rng.h"

#define PRIME ((UINT64_C (1) << 61) - 1)

enum {
    RREF_RATIONAL_MAX = 1 << 20, /* for |p| and q, see rref_rational */
};

/* Arithmetic modulo P: 0 .. P-1 in, 0 .. P-1 out. */
static inline uint64_t prime_add (uint64_t a, uint64_t b)
{
    uint64_t s = a + b;

    return s >= PRIME ? s - PRIME : s;
}

static inline uint64_t prime_neg (uint64_t a)
{
    return a ? PRIME - a : 0;
}

static inline uint64_t prime_mul (uint64_t a, uint64_t b)
{
    unsigned __int128 t = (unsigned __int128)a * b;

    return prime_add ((uint64_t)t & PRIME, (uint64_t)(t >> 61));
}

struct rref_entry {
    uint32_t col;
    uint64_t value; /* 1 .. P-1 */
};

struct rref;

/* An empty form of m columns, 0 .. m-1. */
struct rref *rref_create (size_t m);
struct rref *rref_copy (const struct rref *r);
void rref_destroy (struct rref *r);

/* Add the row that has count[i] in column col[i], i < n, columns distinct.
 * Return true if it was independent of the rows so far: the rank is then one
 * more.
 */
bool rref_add (struct rref *r, const uint32_t *col, const uint8_t *count,
               size_t n);

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
 * rref_add. Cost: about the entries of the reduced form. False if that would
 * take more work (as rref_work counts it) than `most`; the form can then only
 * be destroyed.
 */
bool rref_reduce_within (struct rref *r, uint64_t most);

static inline void rref_reduce (struct rref *r)
{
    rref_reduce_within (r, UINT64_MAX);
}

/* Row i < rank of the reduced form: its n entries, the pivot (value 1) first,
 * the others in any order, none of them in the pivot column of another row.
 * Borrowed until the next rref_add.
 */
const struct rref_entry *rref_row (const struct rref *r, size_t i, size_t *n);

/* The row of the reduced form whose pivot is col, or -1. */
int rref_pivot (const struct rref *r, uint32_t col);

/* Draw a random vector z[m] that is orthogonal to every row added. A row
 * outside their span has row . z == 0 with probability 1/P only.
 */
void rref_null (const struct rref *r, struct rng *rng, uint64_t *z);

/* row . z modulo P. */
uint64_t rref_dot (const uint32_t *col, const uint8_t *count, size_t n,
                   const uint64_t *z);

/* Work so far, in entries touched: a clock that does not depend on the machine.
 */
uint64_t rref_work (const struct rref *r);

/* The rational p/q, q > 0, in lowest terms, that value represents. Return 0, or
 * -1 if |p| or q is more than RREF_RATIONAL_MAX. (No two smaller fractions are
 * equal modulo P; a larger one looks like a small one with probability 2^-20.)
 */
int rref_rational (uint64_t value, int64_t *p, int64_t *q);

/* A null vector in front of a form: a product with it shows which rows cannot
 * add to the rank. It misjudges rows that became dependent since it was drawn,
 * and is drawn again when that happened too often.
 */
struct screen {
    struct rref *rref;
    struct rng *rng;
    uint64_t *z;        /* [columns] */
    unsigned int stale; /* rows that it misjudged */
    uint64_t work;      /* for it, in entries touched */
};

/* Draw a null vector for the form as it is. Set up by `{ rref, rng }`; the
 * caller frees z.
 */
void screen_draw (struct screen *s);

/* False if the row cannot add to the rank of the form as of the last
 * screen_draw.
 */
bool screen_passes (struct screen *s, const uint32_t *col,
                    const uint8_t *count, size_t n);

/* rref_add, if the row passes. */
bool screen_add (struct screen *s, const uint32_t *col, const uint8_t *count,
                 size_t n);

#endif /* CORE_RREF_H */
