/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The steps of the search for a topology (switches.c). */
#ifndef COMPARE_STEPS_H
#define COMPARE_STEPS_H

#include <stddef.h>
#include <stdint.h>

#include "compare/infer/matrix.h"
#include "compare/infer/model.h"

/* Level: vertices and how far they are apart, from which a step of the
 * inference makes the next level: nodes first, then switches for those nodes
 * that are at one, then switches for such switches.
 */
struct infer_level {
    uint32_t n;
    uint32_t *vertex; /* [n] of the model */
    double *d;        /* [n * n] mean over the pairs of nodes below, less
                         their ways to here; NAN: not known */
    double *w;        /* [n * n] how many pairs these are; 0: not known */
};

/* The nodes of a matrix. */
struct infer_level *level_of_matrix (const struct infer_matrix *m);
void level_destroy (struct infer_level *l);

static inline double level_d (const struct infer_level *l, uint32_t a,
                              uint32_t b)
{
    return l->d[(size_t)a * l->n + b];
}

static inline double level_w (const struct infer_level *l, uint32_t a,
                              uint32_t b)
{
    return l->w[(size_t)a * l->n + b];
}

/* Twins: vertices that are at one switch. From there on, whatever their own
 * ways to it are, they are equally far from everything else; of two, it takes
 * a third to tell. The method is described in twins.c.
 */
struct twins;

/* Look at all pairs of a level, which is borrowed. Cost: n^3. */
struct twins *twins_find (const struct infer_level *l);
void twins_destroy (struct twins *t);

/* The groups of a level's vertices, 0 .. next->n - 1. Members of a group of
 * two or more are at one switch, which is `end` away from them. The vertices
 * of the next level are not set where they are switches.
 */
struct groups {
    uint32_t *of;   /* [n] the group of a vertex */
    uint32_t *size; /* [next->n] */
    double *end;    /* [n] >= 0; 0 where it is alone */
    struct infer_level *next;
};

/* Group, where lengths up to `zero` are none and a quarter of it is the
 * standard deviation of one pair's latency. Cost: n^2, and as often again as
 * vertices turn out to be in a wrong group.
 */
struct groups twins_group (const struct twins *t, double zero);
void groups_clear (struct groups *g);

/* Mesh: what is left of a topology when no two vertices are twins any more:
 * rings, dragonflies, slim flies and the like. Join the vertices of a level in
 * the model: those that are at the end of a way of their own by a switch, and
 * between these the edges that are needed. Lengths up to `zero` are none. The
 * method is described in mesh.c. Cost: n^3.
 */
void mesh_join (const struct infer_level *l, double zero,
                struct topology_model *m);

/* Take edges away that no shortest path between measured pairs uses, and move
 * the latencies of the others by least squares; what the pairs leave open
 * stays as it is. The paths are those of the beginning. Sets noise_ns, r2 and
 * dof of the model, which is in its normal form. Returns the sum of squares
 * that is left along the paths of the end; INFINITY where two nodes are not
 * joined. How sure the latencies are it need not say: that is fit's.
 */
double settle (struct topology_model *m, const struct infer_matrix *w);

/* Take away the edges between two switches that explain less than they cost
 * (noise alone has put them there): by `digits` (of base e) an edge has to make
 * the values shorter, where squares is what the model leaves of these. An edge
 * may go, or its two switches become one. The model is in its normal form, and
 * has to be settled and made normal afterwards. Cost: for each that goes, that
 * of topology_paths, of the pairs' paths, the cube of the edges, and the edges
 * between switches times the square of these.
 */
void prune (struct topology_model *m, const struct infer_matrix *w,
            double squares, double digits);

/* What a model leaves of the values, which is noise if the model is right:
 * pairs that are nearer to each other than the model says, the pattern of which
 * is the most unlike noise. The method is described in settle.c.
 */
struct rest {
    double digits; /* (of base e) that what is left is shorter by, if first it
                      is said which pairs these are: noise alone saves more
                      than d once in e^d times, at most */
    double ns;     /* by so much they are nearer, in the mean */
    double most;   /* ns: by so much any pair is nearer, or further */
};

/* Look at what a model, which is settled and in its normal form, leaves. Cost:
 * n^3.
 */
struct rest rest_of (const struct topology_model *m,
                     const struct infer_matrix *w);

#endif /* COMPARE_STEPS_H */
