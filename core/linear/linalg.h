/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Dense symmetric matrices, n by n, row-major. */
#ifndef CORE_LINALG_H
#define CORE_LINALG_H

#include <stddef.h>

/* A zeroed n by n matrix for these functions; the caller frees it. */
double *linalg_matrix (size_t n);

/* Replace the lower triangle of a by its Cholesky factor L, a = L L'; the upper
 * one is neither read nor changed. 0, or -1 with errno EDOM if a is not
 * positive definite.
 */
int linalg_cholesky (double *a, size_t n);

/* Solve L L' x = b in place. */
void linalg_solve (const double *l, size_t n, double *b);

/* (L L')^-1 for the factor L; the caller frees it. */
double *linalg_inverse (const double *l, size_t n);

/* A zeroed lower triangle: row[i] has i + 1 numbers. The caller frees it, and
 * with it all rows.
 */
double **linalg_triangle (size_t n);

/* linalg_cholesky and linalg_solve with a triangle. */
int linalg_factor_triangle (double *const *row, size_t n);
void linalg_solve_triangle (double *const *row, size_t n, double *b);

double linalg_dot (const double *a, const double *b, size_t n);

/* y += f x */
void linalg_add (double *y, double f, const double *x, size_t n);

#endif /* CORE_LINALG_H */
