/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How well a model explains the measurements: least squares over all measured
 * pairs estimate the latencies of its edges.
 *
 * Made by fit_model; read by `pmm infer`. The row of a pair is the round trip
 * over the model's shortest paths, so the sum over its edges is twice the
 * measured latency.
 *
 * The rows may have a lower rank than there are edges. Example: a star of n
 * hosts that is measured only around a ring has rank n if n is odd, but n - 1
 * if n is even: the spokes may then grow and shrink alternately, and no pair
 * changes. The edges that are left free keep the model's latency, the others
 * are fitted, and edges that are not determined on their own are marked.
 */
#ifndef COMPARE_FIT_H
#define COMPARE_FIT_H

#include <stdbool.h>
#include <stddef.h>

#include "compare/infer/matrix.h"
#include "compare/infer/model.h"
#include "util/error.h"

struct fit {
    size_t pairs;       /* measured, and connected in the model */
    size_t apart;       /* measured, but not connected in it */
    size_t nedges;
    size_t rank;        /* of the pairs' rows; edges that no path crosses are
                           free, too */
    size_t dof;         /* pairs - rank */
    double residual_ns; /* root of the sum of squares over dof; NAN if dof is
                           0 */
    double r2;          /* 1 - residual over total sum of squares; NAN if dof or
                           the total is 0 */
    double r2_adjusted; /* the same for variances: each sum over its degrees of
                           freedom, dof and pairs - 1 */
    double *latency_ns; /* [nedges] */
    double *stderr_ns;  /* [nedges]; NAN if not determined, or if dof is 0 */
    bool *determined;   /* [nedges] by the pairs alone */
};

/* Fit a model whose nodes are the processes of the matrix: node i of the model
 * is process i. Cost: a small multiple of the pairs, and the cube of the edges.
 * Return 0, or -1 with err; call fit_clear in both cases.
 */
int fit_model (struct fit *fit, const struct topology_model *m,
               const struct infer_matrix *w, struct error *err);
void fit_clear (struct fit *fit);

/* Store the fitted latencies in the model; negative ones become 0. */
void fit_apply (const struct fit *fit, struct topology_model *m);

#endif /* COMPARE_FIT_H */
