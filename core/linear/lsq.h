/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Weighted least squares with a sparse matrix, and the covariance of the
 * solution, at any size (the method is in lsq.c).
 *
 * A is nrows by ncols, of full column rank; w[i] is the weight of row i, one
 * over its variance. C = (A' W A)^-1 is the covariance of the y that minimises
 * the sum of w[i] (a_i . y - t_i)^2. A prior is a row, too: "x_i - x_j is 0 +-
 * s" has 1 and -1, weight 1 / s^2 and t = 0.
 *
 * Results are the same on every machine that rounds alike.
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
 * unknowns in its own standard errors, approximately. For columns of C:
 * relative; a variance has the square of it.
 */
#define LSQ_EXACT 0.0 /* as exact as doubles get; not for columns of C */
#define LSQ_FINE 1e-3
#define LSQ_CLOSE 3e-2 /* for solutions from noisy data */
#define LSQ_ROUGH 1e-1 /* for a sketch: its random error is greater */

struct lsq;

/* Prepare for a matrix, which is borrowed and must not grow, and its weights,
 * which are copied; w NULL: all 1. Cost: the entries, and direct_create's with
 * few rows (linear/direct). NULL with errno EDOM if a column has no weight, or
 * weights are not positive and finite.
 */
struct lsq *lsq_create (const struct sparse *a, const double *w);
void lsq_destroy (struct lsq *q);

/* The same, by the factor of A' W A: one iteration is enough. For its cost,
 * keep[n] and `most` see direct_create (linear/direct), which may refuse with
 * errno E2BIG.
 */
struct lsq *lsq_create_direct (const struct sparse *a, const double *w,
                               const uint32_t *keep, size_t n, size_t most);

/* What that factor leaves for the columns that are kept (direct_kept); NULL:
 * there is no factor.
 */
double *const *lsq_kept (const struct lsq *q);

/* Help the iteration with modes that few or bad rows may determine, a row each
 * over the columns (linear/coarse). Not needed with an exact inverse. It stops
 * where errors in these modes are small, too.
 */
void lsq_correct (struct lsq *q, const struct sparse *modes);

/* Give the rows other weights, as lsq_create. A factor is made anew; the
 * approximate inverse that makes iterations few stays as it is: for weights of
 * which most are alike. 0, or -1 with errno EDOM; then only destroy it.
 */
int lsq_reweigh (struct lsq *q, const double *w);

/* The minimum for t [nrows], into y [ncols]; on entry y is the initial guess.
 * Cost: the entries times the iterations, whose number grows with the condition
 * of A and with the digits. 0, or -1 with errno EDOM if it does not converge: A
 * is rank-deficient or too ill-conditioned.
 */
int lsq_solve (const struct lsq *q, const double *t, double tolerance,
               double *y);

/* x = C b for n vectors together, vector k in b[k * ncols ...]; likewise x. A
 * unit vector gives a column of C. Return value as lsq_solve.
 */
int lsq_covariance (const struct lsq *q, const double *b, size_t n,
                    double tolerance, double *x);

/* A sketch of the covariance: k random vectors y_j with E (y_j y_j') = C, so
 * that the variance of a combination c . y is about the mean of (c . y_j)^2, to
 * a relative standard error of sqrt (2 / k). Entry c of vector j is in
 * sketch[c * k + j]; k is a multiple of LSQ_LANES. A seed draws the same
 * numbers for a row of the same index, whatever rows follow. Return value as
 * lsq_solve.
 */
int lsq_sketch (const struct lsq *q, size_t k, uint64_t seed, double tolerance,
                double *sketch);

/* Variance of one combination, from the sketch. */
double lsq_sketch_variance (const double *sketch, size_t k, const uint32_t *col,
                            const int8_t *value, size_t n);

/* The residual of row i in each of the k draws of that sketch, in standard
 * deviations of the row: r [k], of variance 1 - w a' C a each.
 */
void lsq_sketch_residual (const struct sparse *a, const double *w,
                          const double *sketch, size_t k, uint64_t seed,
                          size_t i, double *r);

/* Limit all further computations to so many iterations; one that would take
 * more returns -1 with errno EDOM.
 */
void lsq_limit (struct lsq *q, uint64_t iterations);

/* The covariance C of a solution: exact for small problems, or a
 * sketch of k vectors, which gives a standard error to sqrt (1 / 2 k): 9 % for
 * k = 64.
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
 * All are borrowed for the call only. NULL with errno EDOM if ill-conditioned.
 */
struct covariance *covariance_create (const struct sparse *a, const double *w,
                                      const struct lsq *q,
                                      const struct covariance_options *opts);
void covariance_destroy (struct covariance *c);

/* Variance of unknown i; of a combination of unknowns. */
double covariance_variance (const struct covariance *c, size_t i);
double covariance_of (const struct covariance *c, const uint32_t *col,
                      const int8_t *value, size_t n);

/* The redundancy of each row of a, with the same weights: the share of its
 * variance that is left in its residual. 0: no other rows determine its value.
 */
void covariance_redundancy (const struct covariance *c, const struct sparse *a,
                            const double *w, double *share);

#endif /* CORE_LSQ_H */
