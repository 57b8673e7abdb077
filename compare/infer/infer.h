/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inference of switches: the topology that explains the latencies of a matrix
 * with the fewest edges. The method is described in switches.c.
 *
 * Nodes at one switch are equally far from everything else but for their own
 * ends, which may differ; so are switches at another switch. What is left in
 * the end is a mesh, of the edges that no path is as short as.
 *
 * Cables need not be alike: values are told in classes, between which there are
 * gaps. What cables differ by is told as switches only where noise leaves no
 * doubt about it.
 */
#ifndef COMPARE_INFER_H
#define COMPARE_INFER_H

#include "compare/infer/matrix.h"
#include "compare/infer/model.h"
#include "util/error.h"

/* Infer. Lengths up to eps times the median latency are none; where eps is 0,
 * what counts as none is found. NULL, with err saying why, where the topology
 * cannot be told: latencies that should be told apart overlap. Cost: some
 * dozens times n^3.
 */
struct topology_model *infer_switches (const struct infer_matrix *m, double eps,
                                       struct error *err);

/* Nodes and edges alone, without switches: by rising latency, two nodes are
 * joined by an edge unless there is a path as short already, over a neighbour d
 * of either: W (a, d) + W (d, b), where W is what was measured. Where eps is 0,
 * the latencies are clustered first, each is that of its cluster, and a path is
 * as short if it is longer by no more than clusters must be apart; else they
 * compare by eps, relatively, as they are. Cost: the pairs times the edges of a
 * node.
 */
struct topology_model *infer_basic (const struct infer_matrix *m, double eps);

#endif /* COMPARE_INFER_H */
