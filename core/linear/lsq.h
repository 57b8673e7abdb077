/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Weighted least squares with a sparse matrix, and the covariance of its
 * solution, at any size: by conjugate gradients. The method is described in
 * lsq.c.
 *
 * A is nrows by ncols, of full column rank; w[i] is the weight of row i, one
 * over its variance. C = (A' W A)^-1 is the covariance of the y that
 * minimises the sum of w[i] (a_i . y - t_i)^2. A prior belongs into the rows:
 * "x_i - x_j is zero, give or take s" is a row of 1 and -1 of weight 1 / s^2
 * and t = 0.
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
    LSQ_LANES = 8, /* right-hand sides that are solved for at once */
};

/* Tolerances. Of solutions and sketches: how far off any combination of the
 * unknowns may be, in its own standard errors (about; as the weights have
 * it). Of columns of C: relative, and a variance is off by the square.
 */
#define LSQ_EXACT 0.0 /* as near as doubles get; not for columns of C */
#define LSQ_FINE 1e-3
#define LSQ_CLOSE 3e-2 /* of solutions where there is noise */
#define LSQ_ROUGH 1e-1 /* of a sketch: its own chance is greater */

struct lsq;

/* Prepare for the matrix and its weights, w == NULL: all 1. The matrix is
 * borrowed and must not grow; w is copied. Cost: the entries times those of a
 * row; that of factor_create (linear/factor) where rows are few. NULL with
 * errno EDOM where a column has no weight, or weights are not positive and
 * finite.
 */
struct lsq *lsq_create (const struct sparse *a, const double *w);
void lsq_destroy (struct lsq *q);

/* The minimum for t [nrows], into y [ncols]; on entry y is the guess to start
 * from, 0 for none. Cost: iterations times the entries; the iterations grow
 * with the condition of A (some dozens with many redundant rows, one or two
 * with few) and with the digits. Return 0; -1 with errno EDOM where it did not
 * converge in as many iterations as make sense: A is rank-deficient or hopeless.
 */
int lsq_solve (const struct lsq *q, const double *t, double tolerance,
               double *y);

/* x = C b for n vectors at once, vector k in b[k * ncols ...]; likewise x.
 * A unit vector gives a column of C, so its own entry is a variance. Returns
 * as lsq_solve.
 */
int lsq_covariance (const struct lsq *q, const double *b, size_t n,
                    double tolerance, double *x);

/* A sketch of the covariance: k random vectors y_j with E (y_j y_j') = C, so
 * that the variance of any combination c . y is about the mean of (c . y_j)^2,
 * with a relative standard error of sqrt (2 / k). Vector j has its entry c
 * in sketch[c * k + j]. k is a multiple of LSQ_LANES. The same seed draws the
 * same numbers for a row of the same index, whatever rows come behind it.
 * Cost: k / LSQ_LANES solves. Returns as lsq_solve.
 */
int lsq_sketch (const struct lsq *q, size_t k, uint64_t seed, double tolerance,
                double *sketch);

/* Variance of one combination, as the sketch has it. */
double lsq_sketch_variance (const double *sketch, size_t k, const uint32_t *col,
                            const int8_t *value, size_t n);

/* What row i is off the k draws of the sketch of that seed, in its standard
 * deviations: r [k], of variance 1 - w a' C a each. a and w are the lsq's.
 */
void lsq_sketch_residual (const struct sparse *a, const double *w,
                          const double *sketch, size_t k, uint64_t seed,
                          size_t i, double *r);

/* Let all that is computed from here on take so many iterations at most; -1
 * with errno EDOM is the answer to what would take more.
 */
void lsq_limit (struct lsq *q, uint64_t iterations);

/* Iterations so far (of LSQ_LANES right-hand sides, or one): a clock that
 * does not depend on the machine.
 */
uint64_t lsq_iterations (const struct lsq *q);

#endif /* CORE_LSQ_H */
