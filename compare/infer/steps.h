/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The steps of the search for a topology (search.c). */
#ifndef COMPARE_STEPS_H
#define COMPARE_STEPS_H

#include <stdint.h>

#include "compare/infer/cluster.h"
#include "compare/infer/matrix.h"
#include "compare/infer/model.h"

/* Level: vertices and the distances between them. From a level, a step of the
 * inference makes the next one: first nodes, then the switches of nodes that
 * share one, then the switches of such switches.
 */
struct infer_level {
    struct pool *pool; /* of it */
    uint32_t n;
    uint32_t *vertex; /* [n] of the model */
    double *d;        /* [n * n] mean over the pairs of nodes below, minus their
                         distances to here; NAN: not known */
    double *w;        /* [n * n] number of these pairs; 0: not known */
    double *product;  /* [n * n] of a pair at one switch: the end of the first
                         if their distance is known, else by how much it
                         exceeds the end of the second */
    struct merge *merge; /* [n] by the distances of their switches */
    uint32_t nmerges;
};

/* The level of a matrix's nodes. Cost: n^3. */
struct infer_level *level_of_matrix (const struct infer_matrix *m);
void level_destroy (struct infer_level *l);

/* Group the vertices that are at one switch, give each group of two or more a
 * switch in the model, and join its members to it. Returns the next level: the
 * switches, and the vertices that are alone; NULL if all are. Lengths up to
 * `zero` count as 0, and a quarter of it is the standard deviation of one
 * pair's latency. Cost: n^3.
 */
struct infer_level *level_next (const struct infer_level *l, double zero,
                                struct topology_model *m);

/* The rest of a topology when no two vertices are at one switch any more, such
 * as rings, dragonflies and slim flies. Vertices with a link of their own to a
 * switch get that switch in the model, and the necessary edges are added
 * between them. Lengths up to `zero` count as 0. Cost: n^3.
 */
void level_mesh (const struct infer_level *l, double zero,
                 struct topology_model *m);

/* Remove the edges that are on no shortest path between measured pairs, and fit
 * the latencies of the others by least squares; latencies that the pairs do not
 * determine stay. The paths are those at the beginning. Sets noise_ns and dof
 * of the model, which must be in its normal form. Returns the residual sum of
 * squares along the paths at the end; INFINITY if two nodes are not joined.
 * Standard errors are computed by fit.
 */
double settle (struct topology_model *m, const struct infer_matrix *w);

/* Remove edges between two switches that explain less than they cost (they
 * result from noise alone): an edge must shorten the description of the values
 * by `digits` (to base e). squares is the residual sum of squares of the model.
 * An edge is removed, or its two switches become one. The model must be in its
 * normal form; afterwards, settle it and make it normal again. Cost for each
 * removed edge: that of the pairs' paths, the cube of the edges, and the paths
 * between its switches.
 */
void prune (struct topology_model *m, const struct infer_matrix *w,
            double squares, double digits);

/* The residuals of a model, which are noise if the model is right. The pattern
 * of pairs that are nearer to each other than in the model, and that is least
 * like noise. settle.c describes the method.
 */
struct rest {
    double digits; /* (to base e) by which the description of the residuals gets
                      shorter if it first names these pairs: noise alone saves
                      more than d at most once in e^d times */
    double ns;     /* by how much they are nearer, on average */
    double most;   /* ns: the greatest difference of any pair, nearer or
                      further */
};

/* Examine the residuals of a model, which must be settled and in its normal
 * form. Cost: n^3.
 */
struct rest rest_of (const struct topology_model *m,
                     const struct infer_matrix *w);

#endif /* COMPARE_STEPS_H */
