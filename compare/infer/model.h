/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Model: the topology as far as latencies show it. It has nodes, which were
 * measured; switches, which were not, but which explain the latencies; and
 * edges between them, each with a latency. The distance of two nodes is the
 * length of the shortest path between them.
 *
 * Made by search and graph. Read by fit, graph and against.
 *
 * It contains nothing that latencies cannot determine: a switch with fewer than
 * three edges is part of a longer edge, parallel switches are one, and a switch
 * without nodes may as well be cables between all its neighbours.
 */
#ifndef COMPARE_MODEL_H
#define COMPARE_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "compare/infer/matrix.h"
#include "core/paths/paths.h"
#include "util/csr.h"
#include "util/error.h"

#define TOPOLOGY_NONE UINT32_MAX

struct topology_edge {
    uint32_t a, b;     /* vertices, a < b */
    double latency_ns; /* in one direction, over all of it; >= 0 */
    double rate;       /* bytes per second; 0: not known */
};

struct topology_model {
    uint32_t nnodes;   /* vertices 0 .. nnodes - 1 are nodes, those of the
                          matrix in its order; the others are switches */
    uint32_t nvertices;
    char **label;      /* [nnodes] */
    struct topology_edge *edge; /* in the normal form, by a, then b */
    size_t nedges;
    double noise_ns;   /* standard deviation of the measurements from the
                          model */
    size_t dof;        /* measured pairs minus edges; 0: no degrees of
                          freedom */
};

/* A model of these nodes, without edges; labels are copied (NULL: "1" to "n").
 */
struct topology_model *topology_create (uint32_t nnodes,
                                        const char *const *label);
struct topology_model *topology_copy (const struct topology_model *m);
void topology_destroy (struct topology_model *m);

/* The node of this label; TOPOLOGY_NONE: there is none. */
uint32_t topology_find (const struct topology_model *m, const char *label);

/* Write the name: "h0001", or "switch 1", which is never a node's label. */
void topology_name (const struct topology_model *m, uint32_t vertex, char *buf,
                    size_t size);

/* Add a switch. Returns its vertex. */
uint32_t topology_add_switch (struct topology_model *m);

/* Join two vertices. Returns the new edge, until the next one is added. */
struct topology_edge *topology_add_edge (struct topology_model *m, uint32_t a,
                                         uint32_t b, double latency_ns);

/* The edge between two vertices of a model in its normal form; nedges if there
 * is none.
 */
size_t topology_edge_of (const struct topology_model *m, uint32_t a,
                         uint32_t b);

/* Bring the model into its normal form. Loops are removed. Switches joined by
 * an edge of at most `zero` become one. Of two edges between the same vertices
 * the longer is removed. Switches with fewer than three edges are removed
 * (their two edges become one). Edges are sorted, and switches are numbered in
 * the order in which they are met from node 0 on.
 */
void topology_normal (struct topology_model *m, double zero);

/* The edges of each vertex, ascending, without those before `first`. */
struct csr topology_edges (const struct topology_model *m, size_t first);

/* Length of the shortest paths from one vertex to all, over these edges but not
 * over edge `but`, into d [nvertices]; INFINITY if there is no path. last
 * [nvertices] gets the last vertex but one of each path; TOPOLOGY_NONE if there
 * is none.
 */
void topology_paths_from (const struct topology_model *m,
                          const struct csr *edges, size_t but, uint32_t from,
                          double *d, uint32_t *last);

/* The same from all nodes over all edges, into d and last [nnodes * nvertices].
 * last may be NULL. Cost: nodes times edges, a few times.
 */
void topology_paths (const struct topology_model *m, double *d, uint32_t *last);

/* The shortest paths of a model as a network: code for a fabric's paths (plans,
 * their checker, the solver) works on those of an inferred topology, too.
 *
 * Made by routes_create from a topology_model. Links are its edges, named
 * "h0001 - switch 1" by their vertices; the network's hash is that of these
 * names. Endpoints are its nodes; where nodes are joined directly, without
 * switches, they forward.
 */
struct routes;

/* The model must be in its normal form. It is borrowed, must not change, and
 * must outlive the routes. Cost: that of topology_paths, and one number per
 * node and vertex.
 */
struct routes *routes_create (const struct topology_model *m);
void routes_destroy (struct routes *r);

/* The set of all nodes, in the order of the model; NULL with err. */
struct pathset *routes_nodes (const struct routes *r, struct error *err);

#endif /* COMPARE_MODEL_H */
