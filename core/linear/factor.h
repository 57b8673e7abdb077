/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Factorisation of the normal matrix of a sparse matrix with few more rows than
 * columns: for least squares, however ill-conditioned. The method is described
 * in factor.c.
 */
#ifndef CORE_FACTOR_H
#define CORE_FACTOR_H

#include <stddef.h>

#include "core/linear/peel.h"
#include "core/linear/sparse.h"

enum {
    FACTOR_EXTRA_MAX = 256, /* most rows in excess of columns */
};

struct factor;

/* Factorise rows of W^1/2 A; p is its peel; w NULL: all 1. All are borrowed for
 * the call only. Cost: the entries for each row that p leaves over, and these
 * rows times the square of the columns left over; also the columns times the
 * square of the rows in excess of columns. NULL with errno EDOM if A is
 * rank-deficient.
 */
struct factor *factor_create (const struct sparse *a, const double *w,
                              const struct peel *p);
void factor_destroy (struct factor *f);

/* z = (A' W A)^-1 r, up to rounding, and rz = r . z; for one vector or for
 * LSQ_LANES vectors side by side (linear/lsq.c). work is a vector like r. Cost:
 * about four times the entries, twice the square of the columns left over, and
 * twice the columns for each row in excess of columns.
 */
void factor_apply (const struct factor *f, size_t lanes, const double *r,
                   double *z, double *work, double *rz);

#endif /* CORE_FACTOR_H */
