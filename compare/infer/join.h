/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Models of what is inside of nodes, joined to the model of what is between
 * them.
 *
 * Latencies between the cores of one node say nothing of the way out of it. So
 * each core also measures a neighbour, an external process on another node:
 * by how much one core is further from it than the nearest one is how much
 * further from the way out it is. In the joined model the external process
 * stands for the way out, as a switch, and the node's edges to other nodes end
 * there.
 */
#ifndef COMPARE_JOIN_H
#define COMPARE_JOIN_H

#include <stddef.h>
#include <stdint.h>

#include "compare/infer/matrix.h"
#include "compare/infer/model.h"
#include "util/error.h"

/* Make of the latencies between the cores and the external process those
 * between the cores and the way out: the least of them is subtracted from all,
 * and as much added as the cores need to be no nearer to each other over the
 * way out than they were measured to be. So a path between cores stays in the
 * node. Return 0, or -1 with err: a core has not measured the external process.
 */
int join_external (struct infer_matrix *m, uint32_t external,
                   struct error *err);

struct join_part {
    uint32_t node;                      /* of the model between nodes */
    const struct topology_model *cores; /* what is inside of it */
    uint32_t external;                  /* node of that: the way out */
    uint32_t by;                        /* node of that: the core that measured
                                           other nodes; TOPOLOGY_NONE: the one
                                           that is nearest to the way out */
};

/* Put the n parts into a model of nodes. The edges of a node are shortened by
 * what its core that measured is away from the way out. Nodes of the result:
 * those without a part, then the cores part by part. NULL with err: a node has
 * two parts, an edge is shorter than what it is to be shortened by, more than
 * INFER_MAX_NODES.
 */
struct topology_model *join_models (const struct topology_model *nodes,
                                    const struct join_part *part, size_t n,
                                    struct error *err);

#endif /* COMPARE_JOIN_H */
