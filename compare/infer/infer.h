/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inference of switches: the topology that explains the latencies of a matrix
 * with the fewest edges. switches.c describes the method.
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

#endif /* COMPARE_INFER_H */
