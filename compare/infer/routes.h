/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The shortest paths of a model as a network: whatever works on a fabric's
 * paths (plans, their checker, the solver) works on those of an inferred
 * topology, too.
 *
 * Made by routes_create from a topology_model. Links are its edges, called
 * "h0001 - switch 1" after their vertices; endpoints are its nodes, and where
 * there are no switches between them, nodes forward what is for others.
 */
#ifndef COMPARE_ROUTES_H
#define COMPARE_ROUTES_H

#include <stddef.h>
#include <stdint.h>

#include "compare/infer/model.h"
#include "core/paths/paths.h"
#include "util/error.h"

struct routes;

/* The model is in its normal form; it is borrowed, must not change and has to
 * outlive the routes. Cost: that of topology_paths, and a number for each node
 * and vertex. NULL with err.
 */
struct routes *routes_create (const struct topology_model *m,
                              struct error *err);
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

#endif /* COMPARE_ROUTES_H */
