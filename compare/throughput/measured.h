/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Measured: the rates of a plan's flows, out of a series of its pairs, and a
 * series as such flows would give it.
 *
 * A process is the endpoint that its label names, else the first one of its
 * host. Exchanges are both ways at once: in half of an exchange's duration,
 * time, half of its 2 L bytes pass, L / 2 in either direction.
 */
#ifndef COMPARE_MEASURED_H
#define COMPARE_MEASURED_H

#include <stdint.h>

#include "core/paths/paths.h"
#include "core/plan/plan.h"
#include "compare/series/series.h"
#include "util/error.h"

/* Fill rate[] with bits a second in either direction, by the greatest length
 * and the median (the mean where there is none) of the repeats, for each probe
 * of the plan in its order; NAN where it was not measured. A pair that was
 * measured from both sides has the mean of these. Return 0, or -1 with err: a
 * series of something else, or of no process that the set knows, or a rate that
 * no link has.
 */
int measured_rates (const struct series *s, const struct pathset *ps,
                    const struct plan *plan, double *rate, struct error *err);

/* A series of messages of so many bytes in which flows have these rates, or
 * NAN: were lost. NULL with err.
 */
struct series *measured_series (const struct pathset *ps,
                                const struct plan *plan, const double *rate,
                                uint64_t length, struct error *err);

#endif /* COMPARE_MEASURED_H */
