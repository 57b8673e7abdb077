/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Solve: samples to latencies, by weighted least squares over what the
 * measured rows determine. The method is described in solve.c.
 */
#ifndef CORE_SOLVE_H
#define CORE_SOLVE_H

#include <stdbool.h>

#include "core/paths.h"
#include "core/plan.h"
#include "core/samples.h"
#include "core/solution.h"
#include "util/error.h"

struct solve_options {
    int quantile; /* of the repeats: RTT_MIN, RTT_P25, RTT_MEDIAN, ... */
    bool pairs;   /* estimate the RTT of every pair as well */
};

/* Solve for the links of the set. Samples that were all lost are left out:
 * the rank may then be less than planned. NULL with err where nothing was
 * measured, a path is broken, or memory is short.
 */
struct solution *solve (struct pathset *ps, const struct samples *samples,
                        const struct solve_options *opts, struct error *err);

/* Predict the standard errors that a plan gives: root mean square and
 * greatest over identified links and groups, in units of the standard error
 * of one RTT. An empty plan gives 0. Costs rank^3 / 2 multiplications: 0.3 s
 * for 432 hosts. Return 0, or -1 with err.
 */
int solve_predict (struct pathset *ps, const struct plan *plan, double *rms,
                   double *max, struct error *err);

#endif /* CORE_SOLVE_H */
