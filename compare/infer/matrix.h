/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Latencies of all pairs of nodes: what a topology is inferred from.
 *
 * Made from measured pairs or read from a file. Read by cluster, basic,
 * switches. File: text, in nanoseconds (or any other unit: it is the model's
 * as well). '#' starts a comment, lines may be empty; any other line is the
 * label of a node and its n values, '-' where one is not known. What stands
 * on the diagonal is not looked at:
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
    char **label; /* [n] printable, without blanks; no two are the same */
};

/* n nodes of which nothing is known, called by their numbers from 1 on; n from
 * 2 to INFER_MAX_NODES. NULL with err.
 */
struct infer_matrix *infer_matrix_create (uint32_t n, struct error *err);
void infer_matrix_destroy (struct infer_matrix *m);

/* Name node a by a cleaned copy: control characters, blanks and '#' become
 * '?'. Return 0, or -1 with err: it is empty, too long, another one's (which
 * costs a look at all of them), or memory is out.
 */
int infer_matrix_name (struct infer_matrix *m, uint32_t a, const char *label,
                       struct error *err);

/* What is known of the pair, in either direction. */
static inline double infer_matrix_at (const struct infer_matrix *m, uint32_t a,
                                      uint32_t b)
{
    return m->ns[(size_t)a * m->n + b];
}
void infer_matrix_set (struct infer_matrix *m, uint32_t a, uint32_t b,
                       double ns);

/* Replace what a and b were measured to be from either side by the mean of the
 * two, or by the one that is known, for all pairs.
 */
void infer_matrix_mean (struct infer_matrix *m);

/* Pairs of which nothing is known. */
uint64_t infer_matrix_unknown (const struct infer_matrix *m);

/* Values are from INFER_MIN_NS to INFER_MAX_NS. NULL with err as "NAME:LINE:
 * sentence".
 */
struct infer_matrix *infer_matrix_read (FILE *fp, const char *name,
                                        struct error *err);
int infer_matrix_write (const struct infer_matrix *m, FILE *fp,
                        struct error *err);

/* The matrix without the nodes of which nothing is known; their labels are
 * handed over in lost [*nlost], which the caller frees (each, and the list).
 * NULL with err: less than two nodes are left; *lost is NULL then.
 */
struct infer_matrix *infer_matrix_measured (const struct infer_matrix *m,
                                            char ***lost, size_t *nlost,
                                            struct error *err);

/* Pairs of a series, or paths of a fabric, as a matrix of latencies. */

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

#endif /* COMPARE_MATRIX_H */
