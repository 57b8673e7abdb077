/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Mesh: what is left of a topology when no two vertices are twins any more:
 * rings, dragonflies, slim flies and the like. The method is described in
 * mesh.c.
 */
#ifndef COMPARE_MESH_H
#define COMPARE_MESH_H

#include "compare/infer/level.h"
#include "compare/infer/model.h"

/* Join the vertices of a level in the model: those that are at the end of a
 * way of their own by a switch, and between these the edges that are needed.
 * Lengths up to `zero` are none. Return 0, or -1 with errno ENOMEM. Cost: n^3.
 */
int mesh_join (const struct level *l, double zero, struct topology_model *m);

#endif /* COMPARE_MESH_H */
