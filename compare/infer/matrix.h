/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Latencies of all pairs of nodes: the input of the inference.
 *
 * Made from measured pairs or read from a file. Read by search, fit and
 * export. File: text, in nanoseconds or another unit. '#' starts a comment;
 * lines may be empty. Any other line is the label of a node and its n values,
 * '-' if not known. The diagonal is ignored:
 *
 *     # from    n1    n2    n3
 *     n1         0  1210  1440
 *     n2      1206     0     -
 *     n3      1444  1438     0
 */
#ifndef COMPARE_MATRIX_H
#define COMPARE_MATRIX_H

#include <stdint.h>
#include <stdio.h>

#include "compare/series/series.h"
#include "core/paths/paths.h"
#include "util/error.h"

enum {
    INFER_MAX_NODES = 2048,
    INFER_MAX_LABEL = 255, /* bytes */
};

#define INFER_MIN_NS 1e-6
#define INFER_MAX_NS 1e15

struct infer_matrix {
    uint32_t n;
    double *ns;   /* [n * n], symmetric, 0 on the diagonal; NAN: not known */
    char **label; /* [n] printable, without blanks; unique */
};

/* n nodes with no known latency, labelled from "1" to n; n from 2 to
 * INFER_MAX_NODES. NULL with err.
 */
struct infer_matrix *infer_matrix_create (uint32_t n, struct error *err);
void infer_matrix_destroy (struct infer_matrix *m);

/* Name node a by a cleaned copy: control characters, blanks and '#' become '?'.
 * Return 0, or -1 with err: the label is empty, too long or not unique. Cost: a
 * comparison with all labels.
 */
int infer_matrix_name (struct infer_matrix *m, uint32_t a, const char *label,
                       struct error *err);

/* The latency of the pair; NAN: not known. */
static inline double infer_matrix_at (const struct infer_matrix *m, uint32_t a,
                                      uint32_t b)
{
    return m->ns[(size_t)a * m->n + b];
}
void infer_matrix_set (struct infer_matrix *m, uint32_t a, uint32_t b,
                       double ns);

/* For all pairs, replace the values of the two directions by their mean, or by
 * the one that is known.
 */
void infer_matrix_mean (struct infer_matrix *m);

/* The latencies of all known pairs, into v [n * n]. Returns their number. */
size_t infer_matrix_values (const struct infer_matrix *m, double *v);

/* Number of pairs that are not known. */
uint64_t infer_matrix_unknown (const struct infer_matrix *m);

/* Values are in units of `unit_ns`; they are from INFER_MIN_NS to INFER_MAX_NS.
 * NULL with err as "NAME:LINE: sentence".
 */
struct infer_matrix *infer_matrix_read (FILE *fp, const char *name,
                                        double unit_ns, struct error *err);

/* The matrix without the nodes that have no known latency. Their labels go to
 * lost [*nlost]; the caller frees each, and the list. NULL with err: fewer than
 * two nodes are left; *lost is NULL then.
 */
struct infer_matrix *infer_matrix_measured (const struct infer_matrix *m,
                                            char ***lost, size_t *nlost,
                                            struct error *err);

/* Matrices of latencies from a series' pairs or a fabric's paths. */

/* From a sorted series: the pairs that were measured at this length, a
 * statistic of their times (series_stat_known), the mean of both sides if both
 * initiated. Nodes are the processes, in their order, by their labels. NULL
 * with err: nothing was measured at that length, the series only knows the
 * spread of times, or two labels are the same.
 */
struct infer_matrix *infer_matrix_of_series (const struct series *s,
                                             uint64_t length,
                                             enum series_stat stat,
                                             struct error *err);

/* From endpoints: the number of links of the path between two of them, the mean
 * of both directions. NULL with err.
 */
struct infer_matrix *infer_matrix_of_paths (const struct pathset *ps,
                                            struct error *err);

#endif /* COMPARE_MATRIX_H */
