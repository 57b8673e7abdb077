/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inference of switches: the topology that explains the latencies of a matrix
 * with the fewest edges. search.c describes the method.
 *
 * Nodes at one switch are equally far from everything else, except for their
 * own links, which may differ. The same holds for switches at another switch.
 * What remains is a mesh: the edges for which no other path is as short.
 *
 * Cables need not be alike: values are grouped in classes with gaps between
 * them. A difference between cables is taken for a switch only if noise cannot
 * explain it.
 */
#ifndef COMPARE_INFER_H
#define COMPARE_INFER_H

#include <stdbool.h>
#include <stddef.h>

#include "compare/infer/matrix.h"
#include "compare/infer/model.h"
#include "util/error.h"

/* Infer. Lengths up to eps times the median latency count as 0; if eps is 0,
 * that threshold is estimated. NULL with err if the topology cannot be
 * determined, because latencies that must be separated overlap. Cost: n^3,
 * times a few dozen.
 */
struct topology_model *infer_switches (const struct infer_matrix *m, double eps,
                                       struct error *err);

/* Nodes and edges only, no switches. By ascending latency, an edge joins two
 * nodes a and b unless a path over a neighbour d of either is as short: W (a,
 * d) + W (d, b), where W is the measured latency. If eps is 0, latencies are
 * clustered first and each is replaced by that of its cluster; a path is then
 * as short if it is longer by no more than the distance that clusters must
 * have. Otherwise latencies are compared by eps, relatively. Cost: the pairs
 * times the edges of a node.
 */
struct topology_model *infer_basic (const struct infer_matrix *m, double eps);

/* How well a model explains the measurements: least squares over all measured
 * pairs estimate the latencies of its edges. The row of a pair has the edges of
 * the model's shortest path.
 *
 * The rows may have a lower rank than there are edges. Example: a star of n
 * hosts that is measured only around a ring has rank n if n is odd, but n - 1
 * if n is even: the spokes may then grow and shrink alternately, and no pair
 * changes. The edges that are left free keep the model's latency, the others
 * are fitted, and edges that are not determined on their own are marked.
 */
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
    double *stderr_ns;  /* [nedges]; NAN if not determined, or if dof is 0 */
    bool *determined;   /* [nedges] by the pairs alone */
};

/* Fit the latencies of a model whose nodes are the processes of the matrix:
 * node i of the model is process i. Negative latencies become 0. Cost: a small
 * multiple of the pairs, and the cube of the edges. Return 0, or -1 with err;
 * call fit_clear in both cases.
 */
int fit_model (struct fit *fit, struct topology_model *m,
               const struct infer_matrix *w, struct error *err);
void fit_clear (struct fit *fit);

/* Join models of the inside of nodes to the model between nodes.
 *
 * Latencies between the cores of one node do not contain the way out of it. So
 * each core also measures an external process on another node. The difference
 * between a core and the nearest core is how much further it is from the way
 * out. In the joined model the external process stands for the way out, as a
 * switch, and the node's edges to other nodes end there.
 *
 * join_external replaces the latencies between the cores and the external
 * process by those between the cores and the way out. The least of them is
 * subtracted from all. Then enough is added that no path over the way out is
 * shorter than a measured latency between cores, so paths between cores stay in
 * the node. Return 0, or -1 with err: a core has not measured the external
 * process.
 */
int join_external (struct infer_matrix *m, uint32_t external,
                   struct error *err);

struct join_part {
    uint32_t node;                      /* of the model between nodes */
    const struct topology_model *cores; /* the inside of that node */
    uint32_t external;                  /* node of cores: the way out */
    uint32_t by;                        /* node of cores: the core that measured
                                           other nodes; TOPOLOGY_NONE: the one
                                           nearest to the way out */
};

/* Put the n parts into a model of nodes. The edges of a node are shortened by
 * the distance of its measuring core from the way out. Nodes of the result:
 * those without a part, then the cores part by part. NULL with err: a node has
 * two parts, an edge is shorter than that distance, or more than
 * INFER_MAX_NODES.
 */
struct topology_model *join_models (const struct topology_model *nodes,
                                    const struct join_part *part, size_t n,
                                    struct error *err);

#endif /* COMPARE_INFER_H */
