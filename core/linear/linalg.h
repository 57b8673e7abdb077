/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Dense symmetric matrices: Cholesky factor, solutions, inverse.
 *
 * Matrices are row-major, n by n. All work is done by one product of tiles that
 * stay in cache, with contiguous rows.
 */
#ifndef CORE_LINALG_H
#define CORE_LINALG_H

#include <stddef.h>

/* A zeroed n by n matrix for these functions; the caller frees it. */
double *linalg_matrix (size_t n);

/* Replace the lower triangle of a by its Cholesky factor L, a = L L'; the upper
 * triangle is neither read nor changed. n^3/6 multiplications. Return 0, or -1
 * with errno EDOM if a is not positive definite.
 */
int linalg_cholesky (double *a, size_t n);

/* Solve L L' x = b in place. */
void linalg_solve (const double *l, size_t n, double *b);

/* L^-1, transposed: an upper triangular matrix, zero below. n^3/6
 * multiplications. The caller frees it.
 */
double *linalg_invert_factor (const double *l, size_t n);

/* (L L')^-1, both triangles, from the matrix u of linalg_invert_factor: n^3/6
 * multiplications. The caller frees it. For one variance only: entry (i, i) is
 * the sum of squares of row i of u.
 */
double *linalg_inverse (const double *u, size_t n);

double linalg_dot (const double *a, const double *b, size_t n);

/* y += f x */
void linalg_add (double *y, double f, const double *x, size_t n);

#endif /* CORE_LINALG_H */
