/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Robust least squares: rows that do not fit the others count less. */
#ifndef CORE_ROBUST_H
#define CORE_ROBUST_H

#include <stddef.h>

#include "core/linear/sparse.h"

/* How the weight of a row falls with its residual: not at all; as 1 / |u| above
 * 1.345 standard deviations (Huber); to zero at 4.685 (Tukey's biweight). All
 * three keep 95 % or more of the precision if the noise is normal.
 */
enum robust {
    ROBUST_NONE,
    ROBUST_HUBER,
    ROBUST_TUKEY,
};

/* Lower the weights w [nrows] in place and move y, the solution for the given
 * weights, to the solution for the new ones, by iteratively reweighted least
 * squares. A residual is in units of its own standard deviation, for which
 * share [nrows] is the redundancy of the rows (covariance_redundancy), and of
 * the scale of the residuals: 1.4826 times their median size, at least
 * scale_min: 1 if the weights are those of the noise, else 0. A row of less
 * than a tenth redundancy is not judged by its residual and keeps its weight.
 * Return 0, or -1 with errno EDOM, as lsq_solve.
 */
int robust_solve (const struct sparse *a, const double *t, const double *share,
                  enum robust method, double scale_min, double tolerance,
                  double *w, double *y);

#endif /* CORE_ROBUST_H */
