/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Solve: samples to latencies, by weighted least squares over what the
 * measured rows determine. The method is described in solve.c.
 */
#ifndef CORE_SOLVE_H
#define CORE_SOLVE_H

#include <stdbool.h>

#include "core/linear/lsq.h"
#include "core/linear/sparse.h"
#include "core/paths/paths.h"
#include "core/plan/plan.h"
#include "core/samples/observe.h"
#include "core/samples/samples.h"
#include "core/solve/solution.h"
#include "util/error.h"

/* How the weight of a row falls with its residual: not at all; as 1 / |u| above
 * 1.345 standard deviations (Huber); to zero at 4.685 (Tukey's biweight). All
 * three keep 95 % or more of the precision if the noise is normal.
 */
enum robust {
    ROBUST_NONE,
    ROBUST_HUBER,
    ROBUST_TUKEY,
};

struct solve_options {
    int quantile;       /* of the repeats: RTT_MIN, RTT_P25, RTT_MEDIAN, ... */
    bool pairs;         /* estimate the RTT of every pair as well */
    enum robust robust; /* how rows that do not fit are weighted */
    bool bare;          /* estimates alone: no standard errors, no switches;
                           ignores the robust method */
    bool local;         /* if noise is known: greater standard errors for links
                           whose rows fit worse */
};

enum {
    SOLVE_EXACT_MAX = 1500, /* unknowns up to which all variances are exact */
    SOLVE_SKETCH = 64,      /* vectors of the sketch above that, */
    SOLVE_SHARES = 16,      /* ... to see which rows fit, and */
    SOLVE_WORST = 24,       /* greatest variances that are exact then */
    SOLVE_GROUP_MAX = 64,   /* links of a group that is listed */
};

/* Solve for the links of the set. Samples that were all lost are left out.
 * Where messages were spread, the links are those of the network of places
 * (core/paths/multipath): a bundle's latency is that of its typical cable. A
 * cable within a place is taken to have SWITCH_FIGURE +- SWITCH_FIGURE.
 * Above SOLVE_EXACT_MAX unknowns, most standard errors are accurate to about 9
 * %. NULL with err if nothing was measured, a path is broken, or it would take
 * minutes to find what is determined. Groups of more than SOLVE_GROUP_MAX links
 * are not listed, nor any if it takes long to find them.
 */
struct solution *solve (struct pathset *ps, const struct samples *samples,
                        const struct solve_options *opts, struct error *err);

/* The same from observations of any origin, weighted by their variances; the
 * quantile is ignored.
 */
struct solution *solve_observations (struct pathset *ps,
                                     const struct observations *o,
                                     const struct solve_options *opts,
                                     struct error *err);

/* Predict the standard errors that a plan gives: root mean square and greatest
 * over determined links and groups, in standard errors of one RTT. Both are 0
 * for an empty plan, and where it would take more than some seconds. The
 * first is accurate to 1 %, the second to a few. 0, or -1 with err.
 */
int solve_predict (struct pathset *ps, const struct plan *plan, double *rms,
                   double *max, struct error *err);

/* Lower the weights w [nrows] in place, and those of q, which lsq_create made of
 * a and them, and move y to the solution, by iteratively reweighted least
 * squares. A residual is in its own standard deviations, by the redundancy share
 * [nrows] (covariance_redundancy), and in the scale of the residuals: 1.4826
 * times their median size, at least scale_min: 1 if the weights are those of the
 * noise, else 0. A row of less than a tenth redundancy keeps its weight. 0, or
 * -1 with errno EDOM.
 */
int robust_solve (struct lsq *q, const struct sparse *a, const double *t,
                  const double *share, enum robust method, double scale_min,
                  double tolerance, double *w, double *y);

#endif /* CORE_SOLVE_H */
