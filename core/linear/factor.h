/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Factorisation of the normal matrix of a sparse matrix with few more rows than
 * columns, however ill-conditioned (the method is in factor.c).
 *
 * Most rows of a job have a link that no other row has, or only rows that were
 * removed before. Peeled off one after the other, they form a triangle, to
 * which elimination adds nothing. The rest is small: some hundreds of rows.
 */
#ifndef CORE_FACTOR_H
#define CORE_FACTOR_H

#include <stddef.h>
#include <stdint.h>

#include "core/linear/sparse.h"

#define PEEL_ALL SIZE_MAX

enum {
    FACTOR_EXTRA_MAX = 256, /* most rows in excess of columns */
};

/* Row row[k] has column col[k], which none of the later rows has. The other
 * rows may have anything.
 */
struct peel {
    size_t n;
    uint32_t *row, *col; /* [n] the triangle */
    size_t nrows, ncols; /* left over: */
    uint32_t *other_row; /* [nrows] ascending, if most was 1 */
    uint32_t *other_col; /* [ncols] likewise */
};

/* Peel while there is a column that `most` rows or fewer have. 1 puts no row
 * aside that could have a column of its own; PEEL_ALL gives the largest
 * triangle. Cost: the entries. Call peel_clear when done.
 */
void peel_make (struct peel *p, const struct sparse *a, size_t most);

/* Put aside rows that make the inverse of the triangle grow: it then maps
 * random signs to a root mean square of at most `limit`.
 */
void peel_steady (struct peel *p, const struct sparse *a, double limit);

void peel_clear (struct peel *p);

struct factor;

/* Factorise rows of W^1/2 A, whose peel is p; w NULL: all 1. All are borrowed
 * for the call only. Cost: the entries for each row left over, these rows times
 * the square of the columns left over, and the columns times the square of the
 * rows in excess. NULL with errno EDOM if A is rank-deficient.
 */
struct factor *factor_create (const struct sparse *a, const double *w,
                              const struct peel *p);
void factor_destroy (struct factor *f);

/* z = (A' W A)^-1 r, up to rounding, and rz = r . z, for one vector or for
 * LSQ_LANES side by side; work is a vector like r.
 */
void factor_apply (const struct factor *f, size_t lanes, const double *r,
                   double *z, double *work, double *rz);

#endif /* CORE_FACTOR_H */
