/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Robust centre, spread and quantiles; tails of the normal distribution. */
#ifndef CORE_STATS_H
#define CORE_STATS_H

#include <stddef.h>

/* Sort v[0 .. n-1], lowest first. */
void stats_sort (double *v, size_t n);

/* Quantile p (0 .. 1) of sorted v, n > 0, by linear interpolation between
 * order statistics (R's type 7).
 */
double stats_quantile (const double *v, size_t n, double p);

/* Standard error of the median of sorted v, for any distribution: half the
 * distance of the quantiles 1/2 +- 1 / (2 sqrt (n)) (after McKean and Schrader
 * 1984). NAN if n < 2.
 */
double stats_median_error (const double *v, size_t n);

/* Median; 1.4826 times the median distance from `centre`, which estimates the
 * standard deviation of a normal distribution. n > 0; both reorder v, and
 * stats_mad also changes its values.
 */
double stats_median (double *v, size_t n);
double stats_mad (double *v, size_t n, double centre);

/* The z that the absolute value of a standard normal variable exceeds with
 * probability p, 0 < p < 1.
 */
double stats_normal_two_sided (double p);

#endif /* CORE_STATS_H */
