/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Model: the topology that latencies let one see. Nodes, which were measured;
 * switches, which were not, but explain the latencies; edges between them,
 * with a latency each. Two nodes are as far from each other as the shortest
 * path between them is long.
 *
 * Made by basic (nodes alone) and switches. Read by fit, join, the writers and
 * whoever compares it to a fabric.
 *
 * What latencies cannot tell, it does not say: a switch with less than three
 * edges is part of a longer edge, parallel switches are one, and a switch
 * that no node is at may as well be cables between all that it joins.
 */
#ifndef COMPARE_MODEL_H
#define COMPARE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/paths/paths.h"
#include "util/error.h"

#define TOPOLOGY_NONE UINT32_MAX

struct topology_edge {
    uint32_t a, b;     /* vertices, a < b */
    double latency_ns; /* one way, over all of it; >= 0 */
    double rate;       /* bytes per second; 0: not known */
};

struct topology_model {
    uint32_t nnodes;   /* vertices 0 .. nnodes - 1 are nodes, those of the
                          matrix in its order; from there on, switches */
    uint32_t nvertices;
    char **label;      /* [nnodes] */
    struct topology_edge *edge; /* in the normal form by a, then b */
    size_t nedges;
    double noise_ns;   /* standard deviation of what was measured about it */
    double r2;         /* of the pairs: 1: nothing is left; NAN: no freedom */
    size_t dof;        /* pairs measured less edges; 0: no freedom */
};

/* A model of these nodes, alone; labels are copied (NULL: "1" to "n"). */
struct topology_model *topology_create (uint32_t nnodes,
                                        const char *const *label);
struct topology_model *topology_copy (const struct topology_model *m);
void topology_destroy (struct topology_model *m);

/* The node of this label; TOPOLOGY_NONE: there is none. */
uint32_t topology_find (const struct topology_model *m, const char *label);

/* Write "h0001", or "switch 1", which no node is called. */
void topology_name (const struct topology_model *m, uint32_t vertex, char *buf,
                    size_t size);

/* Another switch. Returns its vertex. */
uint32_t topology_add_switch (struct topology_model *m);

/* Join two vertices that are not joined yet. Return 0, or -1 with errno EINVAL
 * for a loop.
 */
int topology_add_edge (struct topology_model *m, uint32_t a, uint32_t b,
                       double latency_ns);

/* The edge between two vertices of a model in its normal form; nedges where
 * there is none.
 */
size_t topology_edge_of (const struct topology_model *m, uint32_t a,
                         uint32_t b);

/* Bring it into its normal form: switches that are joined by no more than
 * `zero` become one, of two edges between the same vertices the longer goes,
 * switches with less than three edges go (two become one edge), edges are
 * sorted, and switches numbered as they are met from node 0 on.
 */
void topology_normal (struct topology_model *m, double zero);

/* Length of the shortest paths from all nodes to all vertices, into
 * d [nnodes * nvertices]: INFINITY where there is no path. If `last` is not
 * NULL, the vertex before the end of that path, TOPOLOGY_NONE at its start.
 * Cost: nodes times edges times a log.
 */
void topology_paths (const struct topology_model *m, double *d, uint32_t *last);

/* Whether two models of the same nodes in the same order have the same
 * switches and edges, whatever their latencies. Switches are told by their
 * neighbours, again and again (colour refinement from the nodes on); those that
 * this cannot tell from each other count as alike.
 */
bool topology_alike (const struct topology_model *a,
                     const struct topology_model *b);

/* The shortest paths of a model as a network: whatever works on a fabric's
 * paths (plans, their checker, the solver) works on those of an inferred
 * topology, too.
 *
 * Made by routes_create from a topology_model. Links are its edges, called
 * "h0001 - switch 1" after their vertices; endpoints are its nodes, and where
 * there are no switches between them, nodes forward what is for others.
 */

struct routes;

/* The model is in its normal form; it is borrowed, must not change and has to
 * outlive the routes. Cost: that of topology_paths, and a number for each node
 * and vertex.
 */
struct routes *routes_create (const struct topology_model *m);
void routes_destroy (struct routes *r);

/* As long as the routes. Its hash is that of the names of all edges. */
const struct network *routes_network (const struct routes *r);

/* The set of all nodes, in the order of the model; NULL with err. */
struct pathset *routes_nodes (const struct routes *r, struct error *err);

/* The set of the nodes of these names: a pathset_resolve_f whose `arg` is the
 * routes.
 */
struct pathset *routes_resolve (const char *const *name, size_t n, void *arg,
                                struct error *err);

/* Latency of the path from a node to a vertex; INFINITY where there is
 * none.
 */
double routes_ns (const struct routes *r, uint32_t node, uint32_t to);

#endif /* COMPARE_MODEL_H */
