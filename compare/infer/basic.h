/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Basic inference: nodes and edges alone, without switches.
 *
 * By rising latency, two nodes are joined by an edge unless there is a path as
 * short already: over a neighbour d of either, W (a, d) + W (d, b), where W is
 * what was measured.
 */
#ifndef COMPARE_BASIC_H
#define COMPARE_BASIC_H

#include <stddef.h>
#include <stdint.h>

#include "compare/infer/matrix.h"
#include "compare/infer/model.h"
#include "util/error.h"

/* The edges of n vertices that are d [n * n] apart (NAN: not known, no edge),
 * by rising d, into edge, which the caller frees. A path is as short if it is
 * longer by no more than `slack`, nor by more than eps, relatively. Returns
 * their number, or -1 with errno ENOMEM. Cost: the pairs times the edges of a
 * vertex.
 */
struct basic_edge {
    uint32_t a, b;
};
int64_t basic_edges (const double *d, uint32_t n, double slack, double eps,
                     struct basic_edge **edge);

/* The model of a matrix. Where eps is 0, the latencies are clustered first,
 * each is that of its cluster, and slack is what clusters must be apart; else
 * they compare by eps as they are. NULL with err.
 */
struct topology_model *infer_basic (const struct infer_matrix *m, double eps,
                                    struct error *err);

#endif /* COMPARE_BASIC_H */
