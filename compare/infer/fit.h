/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How well a model explains what was measured: the latencies of its edges by
 * least squares over all measured pairs.
 *
 * Made by fit_model; read by `pmm infer`. A pair's row is the round trip over
 * the model's shortest paths, so that the sum over its edges is twice the
 * latency measured.
 *
 * The rows may determine less than there are edges: a star of n hosts that is
 * measured around a ring only has rank n if n is odd, and n - 1 if it is even,
 * when the spokes may grow and shrink in turn and no pair tells. Then the
 * edges left free keep the model's latency, the others fit in, and what is not
 * determined on its own is marked.
 */
#ifndef COMPARE_FIT_H
#define COMPARE_FIT_H

#include <stdbool.h>
#include <stddef.h>

#include "compare/infer/matrix.h"
#include "compare/infer/model.h"
#include "util/error.h"

struct fit {
    size_t pairs;       /* measured, that the model joins */
    size_t apart;       /* measured, that it does not join */
    size_t nedges;
    size_t rank;        /* of the pairs' rows; edges that no path crosses are
                           free, too */
    size_t dof;         /* pairs - rank */
    double residual_ns; /* root of the sum of squares over dof; NAN where dof
                           is 0 */
    double r2;          /* 1 - residual over total sum of squares; NAN where
                           dof or the total is 0 */
    double r2_adjusted; /* the same of the variances: each sum over its degrees
                           of freedom, dof and pairs - 1 */
    double *latency_ns; /* [nedges] */
    double *stderr_ns;  /* [nedges]; NAN where it is not determined, or dof is
                           0 */
    bool *determined;   /* [nedges] by the pairs alone */
};

/* Fit a model whose nodes are the processes of the matrix: node i of the model
 * is process i. Cost: some times the pairs, and the cube of the edges. Return
 * 0, or -1 with err; fit_clear is due in both cases.
 */
int fit_model (struct fit *fit, const struct topology_model *m,
               const struct infer_matrix *w, struct error *err);
void fit_clear (struct fit *fit);

/* Let the model have what was found, no latency below 0. */
void fit_apply (const struct fit *fit, struct topology_model *m);

#endif /* COMPARE_FIT_H */
