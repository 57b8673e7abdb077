/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Settle: the latencies of a model's edges, nearer to what was measured.
 *
 * Made for the search among models (compare/infer/switches), where it need not
 * say how sure it is: that is fit's.
 */
#ifndef COMPARE_SETTLE_H
#define COMPARE_SETTLE_H

#include <stddef.h>

#include "compare/infer/matrix.h"
#include "compare/infer/model.h"

/* Take edges away that no shortest path between measured pairs uses, and move
 * the latencies of the others by least squares; what the pairs leave open
 * stays as it is. The paths are those of the beginning. Sets noise_ns, r2 and
 * dof of the model, which is in its normal form. *squares is what is left,
 * along the paths of the end; INFINITY where two nodes are not joined.
 * Return 0, or -1 with errno ENOMEM.
 */
int settle (struct topology_model *m, const struct infer_matrix *w,
            double *squares);

#endif /* COMPARE_SETTLE_H */
