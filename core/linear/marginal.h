/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Some unknowns of a least squares problem, without the others (the method is in
 * marginal.c).
 *
 * The problem is that of linear/lsq: rows A of weights W and values t. If y are
 * the unknowns that are kept, the others are chosen as fits best for any y, and
 * what is left is K y = g: y = K^-1 g is their part of the solution, and K^-1 of
 * the covariance.
 */
#ifndef CORE_MARGINAL_H
#define CORE_MARGINAL_H

#include <stddef.h>
#include <stdint.h>

#include "core/linear/sparse.h"

struct marginal {
    size_t n;
    double **k; /* its triangle (linear/linalg) */
    double *g;  /* [n] */
};

/* Keep columns keep[n], ascending; t NULL: all 0. Cost: the entries and what elimination adds
 * to them, while that is little, then c^3 / 6 products and c^2 / 2 numbers for
 * the c columns left over. 0, or -1 with errno EDOM if A is rank-deficient, or
 * E2BIG if c is more than `most`; call marginal_clear in any case.
 */
int marginal_make (struct marginal *m, const struct sparse *a, const double *w,
                   const double *t, const uint32_t *keep, size_t n,
                   size_t most);
void marginal_clear (struct marginal *m);

#endif /* CORE_MARGINAL_H */
