/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Join models of the inside of nodes to the model between nodes.
 *
 * Latencies between the cores of one node do not contain the way out of it. So
 * each core also measures an external process on another node. The difference
 * between a core and the nearest core is how much further it is from the way
 * out. In the joined model the external process stands for the way out, as a
 * switch, and the node's edges to other nodes end there.
 */
#ifndef COMPARE_JOIN_H
#define COMPARE_JOIN_H

#include <stddef.h>
#include <stdint.h>

#include "compare/infer/matrix.h"
#include "compare/infer/model.h"
#include "util/error.h"

/* Replace the latencies between the cores and the external process by those
 * between the cores and the way out. The least of them is subtracted from all.
 * Then enough is added that no path over the way out is shorter than a measured
 * latency between cores, so paths between cores stay in the node. Return 0, or
 * -1 with err: a core has not measured the external process.
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

#endif /* COMPARE_JOIN_H */
