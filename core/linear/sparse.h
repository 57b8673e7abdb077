/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sparse matrices of small integers, row by row: the measured rows in terms of
 * links, or of any other columns.
 */
#ifndef CORE_SPARSE_H
#define CORE_SPARSE_H

#include <stddef.h>
#include <stdint.h>

/* Row i has value[k] in column col[k], start[i] <= k < start[i + 1]; columns
 * of a row are distinct, in any order.
 */
struct sparse {
    size_t nrows, ncols;
    size_t *start; /* [nrows + 1] */
    uint32_t *col;
    int8_t *value;
    size_t rows_size, entries_size; /* allocated */
};

/* A matrix of no rows. */
struct sparse *sparse_create (size_t ncols);
void sparse_destroy (struct sparse *a);

/* Append a row of n entries. */
void sparse_add (struct sparse *a, const uint32_t *col, const int8_t *value,
                 size_t n);

/* The same by columns: row j of the result has the rows of column j, ascending.
 */
struct sparse *sparse_transpose (const struct sparse *a);

/* a_i . x */
double sparse_row_dot (const struct sparse *a, size_t i, const double *x);

/* y = A x */
void sparse_times (const struct sparse *a, const double *x, double *y);

#endif /* CORE_SPARSE_H */
