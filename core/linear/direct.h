/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The normal matrix of a least squares problem, factorised: K = A' W A = L D L',
 * with some unknowns last (the method is in direct.c).
 *
 * The problem is that of linear/lsq: rows A of weights W. If y are the unknowns
 * that are kept for the end, the others are chosen as fits best for any y, and
 * what is left is K y = g. K^-1 is their part of the covariance.
 */
#ifndef CORE_DIRECT_H
#define CORE_DIRECT_H

#include <stddef.h>
#include <stdint.h>

#include "core/linear/sparse.h"

struct direct;

/* Keep columns keep[n], ascending; w NULL: all 1. All are borrowed for the call
 * only. Cost: the entries and what elimination adds to them, while that is little,
 * then c^3 / 6 products and c^2 / 2 numbers for the c columns left over. NULL with
 * errno EDOM if A is rank-deficient, or E2BIG if c is more than `most`.
 */
struct direct *direct_create (const struct sparse *a, const double *w,
                              const uint32_t *keep, size_t n, size_t most);
void direct_destroy (struct direct *d);

/* Factorise the same rows with other weights, in the same order. 0, or -1 with
 * errno EDOM; then only destroy it.
 */
int direct_renew (struct direct *d, const struct sparse *a, const double *w);

/* The Cholesky factor of what is left for those that are kept: a triangle
 * (linear/linalg), which belongs to d. An unknown that no row joins to another
 * may be given another weight there: its square is on the diagonal.
 */
double *const *direct_kept (const struct direct *d);

/* z = (A' W A)^-1 r, up to rounding, and rz = r . z, for one vector or for
 * LSQ_LANES side by side (linear/lsq); work is a vector like r.
 */
void direct_apply (const struct direct *d, size_t lanes, const double *r,
                   double *z, double *work, double *rz);

#endif /* CORE_DIRECT_H */
