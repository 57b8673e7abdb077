/* SPDX-License-Identifier: GPL-2.0-or-later */
/* As many rows of a sparse matrix as it has columns, independent and
 * factorised: a preconditioner for least squares with few more rows than
 * unknowns, however ill-conditioned. The method is described in factor.c.
 */
#ifndef CORE_FACTOR_H
#define CORE_FACTOR_H

#include <stddef.h>

#include "core/peel.h"
#include "core/sparse.h"

struct factor;

/* Factorise rows of W^1/2 A; p is its peel, w NULL: all 1. All are borrowed
 * for the call only. Cost: the entries for each of p's rows that are left
 * over, and these times the columns left over squared. NULL with errno
 * ENOMEM, or EDOM where no such rows are found: A is rank-deficient.
 */
struct factor *factor_create (const struct sparse *a, const double *w,
                              const struct peel *p);
void factor_destroy (struct factor *f);

/* z = (B' B)^-1 r and rz = r . z, for the rows B that were chosen, or for all
 * rows where few were not; of one vector or of LSQ_LANES side by side
 * (core/lsq.c). work is a vector as r is. Cost: some four times the entries,
 * twice the square of the columns left over, and twice the columns for each
 * row that was not chosen.
 */
void factor_apply (const struct factor *f, size_t lanes, const double *r,
                   double *z, double *work, double *rz);

#endif /* CORE_FACTOR_H */
