/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "compare/infer/infer.h"

#include <math.h>
#include <stdlib.h>

#include "util/alloc.h"

int join_external (struct infer_matrix *m, uint32_t external,
                   struct error *err)
{
    const double *way = m->ns + (size_t)external * m->n;
    double least = INFINITY;
    double more = 0;

    for (uint32_t i = 0; i < m->n; i++) {
        if (i == external)
            continue;
        if (isnan (way[i]))
            return error_input (err, "%s has not measured %s", m->label[i],
                                m->label[external]);
        least = fmin (least, way[i]);
    }
    for (uint32_t i = 0; i < m->n; i++)
        for (uint32_t j = 0; j < i; j++) {
            double ns = infer_matrix_at (m, i, j);

            if (i != external && j != external && !isnan (ns))
                more = fmax (more, ns / 2 - way[i] / 2 - way[j] / 2 + least);
        }
    for (uint32_t i = 0; i < m->n; i++)
        if (i != external)
            infer_matrix_set (m, i, external, way[i] - least + more);
    return 0;
}

/* A node of the model between nodes. */
struct joined_node {
    const struct join_part *part; /* NULL: none */
    double shorter;               /* by how much its edges are shorter */
};

/* The distance from the core that measured, or the nearest core, to the vertex
 * by which the node is connected.
 */
static double uplink_distance (const struct join_part *p)
{
    const struct topology_model *m = p->cores;
    double *d = xarray ((size_t)m->nnodes * m->nvertices, sizeof (*d));
    double least = INFINITY;

    topology_paths (m, d, NULL);
    for (uint32_t v = 0; v < m->nnodes; v++)
        if (v != p->external && (p->by == TOPOLOGY_NONE || p->by == v))
            least = fmin (least, d[(size_t)p->external * m->nvertices + v]);
    free (d);
    return least;
}

static int find_parts (struct joined_node *node,
                       const struct topology_model *nodes,
                       const struct join_part *part, size_t n,
                       struct error *err)
{
    for (size_t i = 0; i < n; i++) {
        const char *label = nodes->label[part[i].node];

        if (node[part[i].node].part)
            return error_input (err, "%s has two models of its cores", label);
        node[part[i].node].part = &part[i];
        node[part[i].node].shorter = uplink_distance (&part[i]);
        if (isinf (node[part[i].node].shorter))
            return error_input (err, "the cores of %s are not joined to the "
                                     "way out", label);
    }
    return 0;
}

/* Copy the edges of a model, of which vertex v is vertex[v] of the result. node
 * NULL: none is shorter.
 */
static int copy_edges (struct topology_model *out,
                       const struct topology_model *m, const uint32_t *vertex,
                       const struct joined_node *node, struct error *err)
{
    for (size_t i = 0; i < m->nedges; i++) {
        const struct topology_edge *e = &m->edge[i];
        double ns = e->latency_ns;

        if (node && e->a < m->nnodes)
            ns -= node[e->a].shorter;
        if (node && e->b < m->nnodes)
            ns -= node[e->b].shorter;
        if (ns < 0)
            return error_input (err, "an edge of %s, %.0f ns, is shorter than "
                                     "the way out of the node",
                                m->label[e->a], e->latency_ns);
        topology_add_edge (out, vertex[e->a], vertex[e->b], ns)->rate
            = e->rate;
    }
    return 0;
}

/* The nodes of the result, without edges. NULL with err. */
static struct topology_model *create_nodes (const struct joined_node *node,
                                            const struct topology_model *m,
                                            const struct join_part *part,
                                            size_t nparts, struct error *err)
{
    struct topology_model *out;
    const char **label;
    size_t n = m->nnodes - nparts;

    for (size_t i = 0; i < nparts; i++)
        n += part[i].cores->nnodes - 1;
    if (n > INFER_MAX_NODES) {
        error_input (err, "nodes and cores are more than %d", INFER_MAX_NODES);
        return NULL;
    }
    label = xarray (n, sizeof (*label));
    n = 0;
    for (uint32_t v = 0; v < m->nnodes; v++)
        if (!node[v].part)
            label[n++] = m->label[v];
    for (size_t i = 0; i < nparts; i++)
        for (uint32_t v = 0; v < part[i].cores->nnodes; v++)
            if (v != part[i].external)
                label[n++] = part[i].cores->label[v];
    out = topology_create (n, label);
    free (label);
    return out;
}

static int fill_model (struct topology_model *out, struct joined_node *node,
                       const struct topology_model *nodes,
                       const struct join_part *part, size_t n,
                       struct error *err)
{
    uint32_t *vertex = xarray (nodes->nvertices, sizeof (*vertex)), next = 0;
    int rc;

    for (uint32_t v = 0; v < nodes->nvertices; v++)
        vertex[v] = v < nodes->nnodes && !node[v].part
                        ? next++
                        : topology_add_switch (out);
    rc = copy_edges (out, nodes, vertex, node, err);
    for (size_t i = 0; i < n && rc == 0; i++) {
        const struct topology_model *cores = part[i].cores;
        uint32_t *core = xarray (cores->nvertices, sizeof (*core));

        for (uint32_t v = 0; v < cores->nvertices; v++)
            core[v] = v == part[i].external ? vertex[part[i].node]
                      : v < cores->nnodes   ? next++
                                            : topology_add_switch (out);
        rc = copy_edges (out, cores, core, NULL, err);
        free (core);
    }
    free (vertex);
    return rc;
}

struct topology_model *join_models (const struct topology_model *nodes,
                                    const struct join_part *part, size_t n,
                                    struct error *err)
{
    struct joined_node *node = xcalloc (nodes->nnodes, sizeof (*node));
    struct topology_model *out = NULL;

    if (find_parts (node, nodes, part, n, err) == 0
        && (out = create_nodes (node, nodes, part, n, err))) {
        if (fill_model (out, node, nodes, part, n, err) == 0)
            topology_normal (out, 0);
        else {
            topology_destroy (out);
            out = NULL;
        }
    }
    free (node);
    return out;
}
