/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The covariance C = (A' W A)^-1 of a least squares solution: exact for small
 * problems, a sketch for larger ones.
 *
 * A sketch of k vectors gives any variance with a relative error of sqrt (2 /
 * k), and a standard error with half of that: 9 % for k = 64. It is unbiased,
 * and its errors average out over many unknowns.
 */
#ifndef CORE_COVARIANCE_H
#define CORE_COVARIANCE_H

#include <stddef.h>
#include <stdint.h>

#include "core/linear/lsq.h"
#include "core/linear/sparse.h"

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

#endif /* CORE_COVARIANCE_H */
