/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pairs of a series, or paths of a fabric, as a matrix of latencies. */
#ifndef COMPARE_PAIRS_H
#define COMPARE_PAIRS_H

#include "compare/infer/matrix.h"
#include "core/paths/paths.h"
#include "compare/series/series.h"
#include "util/error.h"

/* Of a sorted series, the pairs that were measured at a length: a statistic of
 * their times (series_stat_known), the mean of both sides where either
 * initiated. Nodes are the processes, in their order, by their labels. NULL
 * with err: nothing was measured at that length, there is no more of it than
 * how times spread, or two labels are the same.
 */
struct infer_matrix *infer_matrix_of_series (const struct series *s,
                                             uint64_t length,
                                             enum series_stat stat,
                                             struct error *err);

/* Of endpoints, how many links the path between two of them crosses: the mean
 * of both ways. NULL with err.
 */
struct infer_matrix *infer_matrix_of_paths (const struct pathset *ps,
                                            struct error *err);

#endif /* COMPARE_PAIRS_H */
