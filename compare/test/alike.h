/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether two inferred topologies are alike. */
#ifndef COMPARE_TEST_ALIKE_H
#define COMPARE_TEST_ALIKE_H

#include <stdlib.h>
#include <string.h>

#include "compare/infer/model.h"
#include "util/alloc.h"
#include "util/rng.h"

/* A number that is equal for models that are alike: in each round, a vertex's
 * new colour depends on its own and on those of its neighbours.
 */
static inline uint64_t topology_digest (const struct topology_model *m)
{
    uint64_t *colour = xarray (m->nvertices, sizeof (*colour));
    uint64_t *sum = xarray (m->nvertices, sizeof (*sum));
    uint64_t value = 0;

    for (uint32_t v = 0; v < m->nvertices; v++)
        colour[v] = v < m->nnodes ? rng_mix (v) : 0;
    for (uint32_t round = m->nnodes; round < m->nvertices + 1; round++) {
        memset (sum, 0, m->nvertices * sizeof (*sum));
        for (size_t i = 0; i < m->nedges; i++) {
            sum[m->edge[i].a] += rng_mix (colour[m->edge[i].b]);
            sum[m->edge[i].b] += rng_mix (colour[m->edge[i].a]);
        }
        for (uint32_t v = 0; v < m->nvertices; v++)
            colour[v] = rng_mix (colour[v] ^ rng_mix (sum[v]));
    }
    for (uint32_t v = 0; v < m->nvertices; v++)
        value += rng_mix (colour[v]);
    free (colour);
    free (sum);
    return value;
}

/* Whether two models of the same nodes in the same order have the same switches
 * and edges, whatever their latencies. Switches are distinguished by their
 * neighbours, repeatedly (colour refinement, beginning with the nodes);
 * switches that this cannot distinguish count as alike.
 */
static inline bool topology_alike (const struct topology_model *a,
                                   const struct topology_model *b)
{
    return a->nnodes == b->nnodes && a->nvertices == b->nvertices
           && a->nedges == b->nedges
           && topology_digest (a) == topology_digest (b);
}

#endif /* COMPARE_TEST_ALIKE_H */
