/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Colouring: probes that conflict are placed in different rounds.
 *
 * Read by plan/paper. Vertices are probes, colours are rounds.
 */
#ifndef CORE_COLOUR_H
#define CORE_COLOUR_H

#include <stddef.h>
#include <stdint.h>

#include "util/csr.h"

/* n vertices; the neighbours of v are next[first[v] .. first[v + 1] - 1],
 * ascending.
 */
struct graph {
    size_t n;
    size_t *first; /* [n + 1] */
    uint32_t *next;
};

/* The conflict graph of vertices that need some of m resources each: two
 * vertices that need the same one are neighbours. Call graph_clear when done.
 */
void graph_conflicts (struct graph *g, const struct csr *needs, size_t m);
void graph_clear (struct graph *g);

/* Colour by descending degree, each colour for as many vertices as possible
 * (Welch, Powell, "An upper bound for the chromatic number of a graph and its
 * application to timetabling problems", 1967). Fill colour[n] and return the
 * number of colours.
 */
int colour_welch_powell (const struct graph *g, uint32_t *colour);

/* Search for a colouring with fewer than `colours` colours, as few as possible
 * but not below `enough`: branch and bound, the vertex with the most colours
 * around it first (Brelaz, "New methods to color the vertices of a graph",
 * 1979). It stops when *effort, in vertices coloured, is spent, and subtracts
 * the work from it. If it finds one, it fills colour[n] and returns its number
 * of colours; otherwise it returns `colours`.
 */
int colour_exact (const struct graph *g, int colours, int enough,
                  uint64_t *effort, uint32_t *colour);

#endif /* CORE_COLOUR_H */
