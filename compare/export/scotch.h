/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Latencies as target architectures of Scotch, onto which it maps processes
 * (Pellegrini, "Scotch and libScotch user's guide", section on target files).
 *
 * Terminals, on which processes are placed, are nodes by their numbers.
 * Distances are latencies in ns, or whatever the matrix is in, rounded to
 * whole numbers of 1 at least.
 */
#ifndef COMPARE_SCOTCH_H
#define COMPARE_SCOTCH_H

#include <stdint.h>
#include <stdio.h>

#include "compare/infer/matrix.h"
#include "util/error.h"

/* As it is, "deco 0": all distances, and the nodes halved again and again, of
 * which Scotch makes use from the top down. Nodes go into halves by which of
 * two that are far from each other they are nearer to. Return 0, or -1 with
 * err: a pair is not known.
 */
int scotch_write_deco (const struct infer_matrix *m, FILE *fp,
                       struct error *err);

/* As a tree of equal groups, "tleaf": latencies are clustered (infer/cluster,
 * with eps), and the nodes whose latencies are in the first so many clusters
 * are to be groups of one size, one level in the other. A link of a level
 * costs what that level is farther than the one below. Terminal k is node
 * order[k]; order[] holds as many as there are nodes. Return 0, or -1 with err:
 * a pair is not known, or they are no such groups.
 */
int scotch_write_tleaf (const struct infer_matrix *m, double eps,
                        uint32_t *order, FILE *fp, struct error *err);

#endif /* COMPARE_SCOTCH_H */
