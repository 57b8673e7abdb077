/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Measured: the rates of a plan's flows, from a series and back. A process is the
 * endpoint that its label names, else the first one of its host. Exchanges go
 * in both directions at once: in `time`, half the duration of an exchange, half
 * of its 2 L bytes pass, L / 2 in each direction.
 */
#ifndef COMPARE_MEASURED_H
#define COMPARE_MEASURED_H

#include <stdint.h>

#include "compare/series/series.h"
#include "core/paths/paths.h"
#include "core/plan/plan.h"
#include "util/error.h"

/* Fill rate[] with bits per second in each direction, for each probe of the
 * plan in its order, by the greatest length and the median (the mean if there
 * is none) of the repeats; NAN if not measured. A pair that was measured from
 * both sides gets the mean. Return 0, or -1 with err: the series is of another
 * test, the set knows none of its processes, or a rate is impossible.
 */
int measured_rates (const struct series *s, const struct pathset *ps,
                    const struct plan *plan, double *rate, struct error *err);

/* The rate of one pair, named for the error, by one of its rows; NAN: not
 * measured. Return 0, or -1 with err.
 */
int measured_rate (const struct series_row *row, const char *a, const char *b,
                   double *rate, struct error *err);

/* A series of messages of this length in which flows have these rates; NAN:
 * they were lost. NULL with err.
 */
struct series *measured_series (const struct pathset *ps,
                                const struct plan *plan, const double *rate,
                                uint64_t length, struct error *err);

#endif /* COMPARE_MEASURED_H */
