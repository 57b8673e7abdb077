/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "compare/infer/join.h"

#include <math.h>
#include <stdlib.h>

#include "util/alloc.h"

#define NONE TOPOLOGY_NONE

int join_external (struct infer_matrix *m, uint32_t external,
                   struct error *err)
{
    double least = INFINITY;
    double more = 0;

    for (uint32_t i = 0; i < m->n; i++) {
        if (i == external)
            continue;
        if (isnan (infer_matrix_at (m, i, external)))
            return error_input (err, "%s has not measured %s", m->label[i],
                                m->label[external]);
        least = fmin (least, infer_matrix_at (m, i, external));
    }
    for (uint32_t i = 0; i < m->n; i++)
        for (uint32_t j = 0; j < i; j++)
            if (i != external && j != external
                && !isnan (infer_matrix_at (m, i, j)))
                more = fmax (more,
                             infer_matrix_at (m, i, j) / 2
                                 - infer_matrix_at (m, i, external) / 2
                                 - infer_matrix_at (m, j, external) / 2
                                 + least);
    for (uint32_t i = 0; i < m->n; i++)
        if (i != external)
            infer_matrix_set (m, i, external,
                              infer_matrix_at (m, i, external) - least
                                  + more);
    return 0;
}

struct joint {
    const struct topology_model *nodes;
    const struct join_part *part;
    size_t nparts;
    uint32_t *part_of;          /* [nodes->nnodes] NONE: none */
    double *shorter;            /* [nodes->nnodes] by how much its edges are
                                   shorter */
    uint32_t *node;             /* [nodes->nnodes] in the result, if a node has
                                   no part */
    uint32_t *first;            /* [nparts] in the result */
    struct topology_model *out;
};

static int find_parts (struct joint *j, struct error *err)
{
    for (uint32_t v = 0; v < j->nodes->nnodes; v++)
        j->part_of[v] = NONE;
    for (size_t i = 0; i < j->nparts; i++) {
        uint32_t node = j->part[i].node;

        if (j->part_of[node] != NONE)
            return error_input (err, "%s has two models of its cores",
                                j->nodes->label[node]);
        j->part_of[node] = i;
    }
    return 0;
}

/* The distance from the core that measured, or the nearest core, to the vertex
 * by which the node is connected.
 */
static int find_shorter (struct joint *j, const struct join_part *p,
                         struct error *err)
{
    const struct topology_model *m = p->cores;
    double *d = xarray ((size_t)m->nnodes * m->nvertices, sizeof (*d));
    double least = INFINITY;

    topology_paths (m, d, NULL);
    for (uint32_t v = 0; v < m->nnodes; v++)
        if (v != p->external && (p->by == NONE || p->by == v))
            least = fmin (least, d[(size_t)p->external * m->nvertices + v]);
    free (d);
    if (isinf (least))
        return error_input (err, "the cores of %s are not joined to the way "
                                 "out",
                            j->nodes->label[p->node]);
    j->shorter[p->node] = least;
    return 0;
}

static int create_nodes (struct joint *j, struct error *err)
{
    const struct topology_model *m = j->nodes;
    const char **label;
    size_t n = 0;

    for (size_t i = 0; i < j->nparts; i++)
        n += j->part[i].cores->nnodes - 1;
    n += m->nnodes - j->nparts;
    if (n > INFER_MAX_NODES)
        return error_input (err, "nodes and cores are more than %d",
                            INFER_MAX_NODES);
    label = xarray (n, sizeof (*label));
    n = 0;
    for (uint32_t v = 0; v < m->nnodes; v++)
        if (j->part_of[v] == NONE) {
            j->node[v] = n;
            label[n++] = m->label[v];
        }
    for (size_t i = 0; i < j->nparts; i++) {
        const struct join_part *p = &j->part[i];

        j->first[i] = n;
        for (uint32_t v = 0; v < p->cores->nnodes; v++)
            if (v != p->external)
                label[n++] = p->cores->label[v];
    }
    j->out = topology_create (n, label);
    free (label);
    return 0;
}

static int copy_edges (struct joint *j, const struct topology_model *m,
                       const uint32_t *vertex, const double *shorter,
                       struct error *err)
{
    for (size_t i = 0; i < m->nedges; i++) {
        const struct topology_edge *e = &m->edge[i];
        double ns = e->latency_ns;

        if (shorter && e->a < m->nnodes)
            ns -= shorter[e->a];
        if (shorter && e->b < m->nnodes)
            ns -= shorter[e->b];
        if (ns < 0)
            return error_input (err, "an edge of %s, %.0f ns, is shorter than "
                                     "the way out of the node",
                                m->label[e->a], e->latency_ns);
        topology_add_edge (j->out, vertex[e->a], vertex[e->b], ns);
        j->out->edge[j->out->nedges - 1].rate = e->rate;
    }
    return 0;
}

/* Add the vertices of the model between nodes; way[i] becomes that of part i.
 */
static int add_nodes (struct joint *j, uint32_t *way, struct error *err)
{
    const struct topology_model *m = j->nodes;
    uint32_t *vertex = xarray (m->nvertices, sizeof (*vertex));
    int rc;

    for (uint32_t v = 0; v < m->nvertices; v++) {
        uint32_t part = v < m->nnodes ? j->part_of[v] : NONE;

        if (v < m->nnodes && part == NONE)
            vertex[v] = j->node[v];
        else
            vertex[v] = topology_add_switch (j->out);
        if (part != NONE)
            way[part] = vertex[v];
    }
    rc = copy_edges (j, m, vertex, j->shorter, err);
    free (vertex);
    return rc;
}

static int add_part (struct joint *j, size_t i, uint32_t way,
                     struct error *err)
{
    const struct join_part *p = &j->part[i];
    const struct topology_model *m = p->cores;
    uint32_t *vertex = xarray (m->nvertices, sizeof (*vertex));
    int rc;

    for (uint32_t v = 0; v < m->nvertices; v++)
        vertex[v] = v == p->external ? way
                    : v < m->nnodes ? j->first[i] + v - (v > p->external)
                                    : topology_add_switch (j->out);
    rc = copy_edges (j, m, vertex, NULL, err);
    free (vertex);
    return rc;
}

static int join_all (struct joint *j, uint32_t *way, struct error *err)
{
    if (find_parts (j, err) < 0)
        return -1;
    for (size_t i = 0; i < j->nparts; i++)
        if (find_shorter (j, &j->part[i], err) < 0)
            return -1;
    if (create_nodes (j, err) < 0 || add_nodes (j, way, err) < 0)
        return -1;
    for (size_t i = 0; i < j->nparts; i++)
        if (add_part (j, i, way[i], err) < 0)
            return -1;
    topology_normal (j->out, 0);
    return 0;
}

struct topology_model *join_models (const struct topology_model *nodes,
                                    const struct join_part *part, size_t n,
                                    struct error *err)
{
    struct joint j = {
        .nodes = nodes,
        .part = part,
        .nparts = n,
        .part_of = xcalloc (nodes->nnodes, sizeof (*j.part_of)),
        .shorter = xcalloc (nodes->nnodes, sizeof (*j.shorter)),
        .node = xcalloc (nodes->nnodes, sizeof (*j.node)),
        .first = xcalloc (n, sizeof (*j.first)),
    };
    uint32_t *way = xcalloc (n, sizeof (*way));

    if (join_all (&j, way, err) < 0) {
        topology_destroy (j.out);
        j.out = NULL;
    }
    free (j.part_of);
    free (j.shorter);
    free (j.node);
    free (j.first);
    free (way);
    return j.out;
}
