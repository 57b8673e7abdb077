/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Weighted least squares with a sparse matrix, and the covariance of its
 * solution, at any size: by conjugate gradients. The method is described in
 * lsq.c.
 *
 * A is nrows by ncols, of full column rank; w[i] is the weight of row i, one
 * over its variance. C = (A' W A)^-1 is the covariance of the y that minimises
 * the sum of w[i] (a_i . y - t_i)^2. A prior is given as rows: "x_i - x_j is 0
 * +- s" is a row of 1 and -1, of weight 1 / s^2, with t = 0.
 *
 * All results are the same on every machine that rounds alike, and for any
 * number of threads.
 */
#ifndef CORE_LSQ_H
#define CORE_LSQ_H

#include <stddef.h>
#include <stdint.h>

#include "core/linear/sparse.h"

enum {
    LSQ_LANES = 8, /* right-hand sides that are solved together */
};

/* Tolerances. For solutions and sketches: the error of any combination of the
 * unknowns, in its own standard errors (approximately, as given by the
 * weights). For columns of C: relative; a variance has the square of it.
 */
#define LSQ_EXACT 0.0 /* as exact as doubles get; not for columns of C */
#define LSQ_FINE 1e-3
#define LSQ_CLOSE 3e-2 /* for solutions from noisy data */
#define LSQ_ROUGH 1e-1 /* for a sketch: its random error is greater */

struct lsq;

/* Prepare for a matrix and its weights; w NULL: all 1. The matrix is borrowed
 * and must not grow; w is copied. Cost: the entries times those of a row; if
 * there are few rows, that of factor_create (linear/factor). NULL with errno
 * EDOM if a column has no weight, or weights are not positive and finite.
 */
struct lsq *lsq_create (const struct sparse *a, const double *w);
void lsq_destroy (struct lsq *q);

/* The minimum for t [nrows], into y [ncols]; on entry y is the initial guess, 0
 * if there is none. Cost: iterations times the entries. The number of
 * iterations grows with the condition of A (some dozens with many redundant
 * rows, one or two with few) and with the digits. Return 0, or -1 with errno
 * EDOM if it did not converge in a reasonable number of iterations: A is
 * rank-deficient or too ill-conditioned.
 */
int lsq_solve (const struct lsq *q, const double *t, double tolerance,
               double *y);

/* x = C b for n vectors together, vector k in b[k * ncols ...]; likewise x. A
 * unit vector gives a column of C, so its own entry is a variance. Return value
 * as lsq_solve.
 */
int lsq_covariance (const struct lsq *q, const double *b, size_t n,
                    double tolerance, double *x);

/* A sketch of the covariance: k random vectors y_j with E (y_j y_j') = C, so
 * that the variance of any combination c . y is about the mean of (c . y_j)^2,
 * with a relative standard error of sqrt (2 / k). Entry c of vector j is in
 * sketch[c * k + j]. k is a multiple of LSQ_LANES. The same seed draws the same
 * numbers for a row of the same index, whatever rows follow. Cost: k /
 * LSQ_LANES solves. Return value as lsq_solve.
 */
int lsq_sketch (const struct lsq *q, size_t k, uint64_t seed, double tolerance,
                double *sketch);

/* Variance of one combination, from the sketch. */
double lsq_sketch_variance (const double *sketch, size_t k, const uint32_t *col,
                            const int8_t *value, size_t n);

/* The residual of row i in each of the k draws of the sketch with that seed, in
 * standard deviations of the row: r [k], of variance 1 - w a' C a each. a and w
 * are those of the lsq.
 */
void lsq_sketch_residual (const struct sparse *a, const double *w,
                          const double *sketch, size_t k, uint64_t seed,
                          size_t i, double *r);

/* Limit all further computations to so many iterations; a computation that
 * would take more returns -1 with errno EDOM.
 */
void lsq_limit (struct lsq *q, uint64_t iterations);

/* The covariance C of a solution (covariance.c): exact for small problems, a
 * sketch for larger ones.
 *
 * A sketch of k vectors gives any variance with a relative error of sqrt (2 /
 * k), and a standard error with half of that: 9 % for k = 64. It is unbiased,
 * and its errors average out over many unknowns.
 */
struct covariance;

struct covariance_options {
    size_t exact;     /* unknowns up to which it is exact: n^3 / 2
                         multiplications, n^2 numbers */
    size_t sketch;    /* vectors above that, a multiple of LSQ_LANES */
    size_t worst;     /* unknowns whose variance is exact even then */
    double tolerance; /* of the sketch: LSQ_ROUGH */
    uint64_t seed;
};

/* The covariance for rows a with weights w (NULL: 1); q is lsq_create (a, w).
 * All are borrowed for the call only. NULL with errno EDOM if the rows are too
 * ill-conditioned.
 */
struct covariance *covariance_create (const struct sparse *a, const double *w,
                                      const struct lsq *q,
                                      const struct covariance_options *opts);
void covariance_destroy (struct covariance *c);

/* Variance of unknown i; of a combination of unknowns. */
double covariance_variance (const struct covariance *c, size_t i);
double covariance_of (const struct covariance *c, const uint32_t *col,
                      const int8_t *value, size_t n);

/* The redundancy of each row of a, with the weights w that were given to
 * covariance_create: the share of its variance, 0 to 1, that is left in its
 * residual. 0 if no other rows determine the same value.
 */
void covariance_redundancy (const struct covariance *c, const struct sparse *a,
                            const double *w, double *share);

#endif /* CORE_LSQ_H */
