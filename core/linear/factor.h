/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The normal matrix of a sparse matrix of few more rows than columns,
 * factorised: for least squares, however ill-conditioned. The method is
 * described in factor.c.
 */
#ifndef CORE_FACTOR_H
#define CORE_FACTOR_H

#include <stddef.h>

#include "core/linear/peel.h"
#include "core/linear/sparse.h"

enum {
    FACTOR_EXTRA_MAX = 256, /* rows more than columns that are worth it */
};

struct factor;

/* Factorise rows of W^1/2 A; p is its peel, w NULL: all 1. All are borrowed
 * for the call only. Cost: the entries for each of p's rows that are left
 * over, and these times the columns left over squared; the columns times the
 * square of the rows more than these. NULL with errno EDOM where no such rows are
 * found: A is rank-deficient.
 */
struct factor *factor_create (const struct sparse *a, const double *w,
                              const struct peel *p);
void factor_destroy (struct factor *f);

/* z = (A' W A)^-1 r, up to rounding, and rz = r . z; of one vector or of
 * LSQ_LANES side by side (linear/lsq.c). work is a vector as r is. Cost: some
 * four times the entries, twice the square of the columns left over, and
 * twice the columns for each row more than columns.
 */
void factor_apply (const struct factor *f, size_t lanes, const double *r,
                   double *z, double *work, double *rz);

#endif /* CORE_FACTOR_H */
