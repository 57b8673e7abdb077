/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rest: what a model leaves of the values, which is noise if the model is
 * right. The method is described in rest.c.
 *
 * Made for the answer of the search among models (compare/infer/switches).
 */
#ifndef COMPARE_REST_H
#define COMPARE_REST_H

#include "compare/infer/matrix.h"
#include "compare/infer/model.h"

/* Pairs that are nearer to each other than the model says, the pattern of which
 * is the most unlike noise.
 */
struct rest {
    double digits; /* (of base e) that what is left is shorter by, if first it
                      is said which pairs these are: noise alone saves more
                      than d once in e^d times, at most */
    double ns;     /* by so much they are nearer, in the mean */
    double most;   /* ns: by so much any pair is nearer, or further */
};

/* Look at what a model, which is settled and in its normal form, leaves.
 * Return 0, or -1 with errno ENOMEM. Cost: n^3.
 */
int rest_of (const struct topology_model *m, const struct infer_matrix *w,
             struct rest *rest);

#endif /* COMPARE_REST_H */
