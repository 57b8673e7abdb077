/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Latency and throughput of each pair: the line l + s / t fitted to its times
 * by size s; and times without the transmission time of the message itself.
 */
#ifndef COMPARE_LINE_H
#define COMPARE_LINE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/paths/paths.h"
#include "compare/series/series.h"
#include "util/error.h"

struct series_fit {
    uint32_t a, b;     /* processes */
    size_t n;          /* lengths, 2 at least */
    double latency_ns; /* l */
    double stderr_ns;  /* of it; NAN if n is 2 */
    double rate;       /* t, bytes per second; NAN: time does not grow */
    double r2;         /* 1 - residual / total sum of squares, weighted as the
                          fit; NAN if the total is 0 */
};

/* Fit all pairs that have times at two lengths or more, in order of a and b.
 * With two lengths the line goes through both points. With more, least squares
 * minimise the relative residuals: times grow over orders of magnitude, and so
 * does their spread; with equal weights, the errors of the longest messages
 * would determine l. The caller frees; NULL with err, also if no pair has two
 * lengths.
 */
struct series_fit *series_fit (const struct series *s, enum series_stat stat,
                               size_t *n, struct error *err);

/* Write the fits as a table. Return 0, or -1 with err. */
int series_fit_write (const struct series *s, enum series_stat stat, FILE *fp,
               struct error *err);

enum own_time {
    OWN_CUT_THROUGH,       /* l = l' - s / t_min, t_min of the path's links */
    OWN_STORE_AND_FORWARD, /* l = l' - sum of s / t_i over the path's links */
};

/* Subtract the message's own transmission time from all pairs' times: the mean
 * of both directions, by the nominal rates of the links. endpoint[i] is the
 * endpoint of process i. SD stays; a time that would be negative becomes NAN.
 * Return 0, or -1 with err (no path; a link of unknown rate).
 */
int series_less_own_time (struct series *s, const struct network *net,
                          const uint32_t *endpoint, enum own_time how,
                          struct error *err);

#endif /* COMPARE_LINE_H */
