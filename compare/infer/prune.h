/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prune: edges between switches that noise alone has put into a model.
 *
 * Made for the search among models (compare/infer/switches).
 */
#ifndef COMPARE_PRUNE_H
#define COMPARE_PRUNE_H

#include "compare/infer/matrix.h"
#include "compare/infer/model.h"

/* Take away the edges between two switches that explain less than they cost:
 * by `digits` (of base e) an edge has to make the values shorter, where
 * squares is what the model leaves of these. One that could go as well as its
 * two switches be one goes. The model is in its normal form, and has to be
 * settled and made normal afterwards. Returns how many edges went, or -1 with
 * errno ENOMEM. Cost: for each that goes, that of topology_paths, of the pairs'
 * paths, the cube of the edges, and the edges between switches times the square
 * of these.
 */
int prune (struct topology_model *m, const struct infer_matrix *w,
           double squares, double digits);

#endif /* COMPARE_PRUNE_H */
