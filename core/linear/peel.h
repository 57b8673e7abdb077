/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An order in which a sparse matrix is as triangular as possible.
 *
 * Most rows of a job have a link that no other row has, or only rows that were
 * removed before. Peeled off one after the other, they form a triangle, to
 * which elimination adds nothing. The rest is small: some hundreds of rows out
 * of thousands.
 */
#ifndef CORE_PEEL_H
#define CORE_PEEL_H

#include <stddef.h>
#include <stdint.h>

#include "core/linear/sparse.h"

#define PEEL_ALL SIZE_MAX

/* Row row[k] has column col[k], which none of row[k + 1], ..., row[n - 1] has.
 * The other rows may have anything.
 */
struct peel {
    size_t n;
    uint32_t *row, *col; /* [n] the triangle */
    size_t nrows, ncols; /* left over: */
    uint32_t *other_row; /* [nrows] ascending, if most was 1 */
    uint32_t *other_col; /* [ncols] likewise */
};

/* Peel a matrix as long as there is a column that `most` rows or fewer have. 1
 * puts no row aside that could have a column of its own; PEEL_ALL gives the
 * largest triangle. Cost: the entries. Call peel_clear when done.
 */
void peel_make (struct peel *p, const struct sparse *a, size_t most);

/* Put aside rows that make the inverse of the triangle grow: afterwards it maps
 * random signs to a root mean square of at most `limit` in every column.
 */
void peel_steady (struct peel *p, const struct sparse *a, double limit);

void peel_clear (struct peel *p);

#endif /* CORE_PEEL_H */
