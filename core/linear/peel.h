/* SPDX-License-Identifier: GPL-2.0-or-later */
/* In which order a sparse matrix is as triangular as it gets.
 *
 * Most rows of a job hold a link that no other row holds, or none but rows
 * that are out of the way already. Peeled off one after the other they make a
 * triangle, to which elimination adds nothing. What is left over is small:
 * some hundreds of rows of thousands.
 */
#ifndef CORE_PEEL_H
#define CORE_PEEL_H

#include <stddef.h>
#include <stdint.h>

#include "core/linear/sparse.h"

#define PEEL_ALL SIZE_MAX

/* Row row[k] holds column col[k], and none of row[k + 1], ..., row[n - 1]
 * does. The other rows may hold anything.
 */
struct peel {
    size_t n;
    uint32_t *row, *col; /* [n] the triangle */
    size_t nrows, ncols; /* left over: */
    uint32_t *other_row; /* [nrows] rising, if most was 1 */
    uint32_t *other_col; /* [ncols] as well */
};

/* Peel a matrix, as long as there is a column that `most` rows or fewer hold:
 * 1 puts no row aside that could hold a column of its own; PEEL_ALL is for
 * the largest triangle. Cost: the entries. peel_clear is due.
 */
void peel_make (struct peel *p, const struct sparse *a, size_t most);

/* Put aside what makes the inverse of the triangle grow: afterwards the root
 * mean square of what it makes of random signs is at most `limit` in every
 * column.
 */
void peel_steady (struct peel *p, const struct sparse *a, double limit);

void peel_clear (struct peel *p);

#endif /* CORE_PEEL_H */
