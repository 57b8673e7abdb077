/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Twins: vertices that are at one switch. From there on, whatever their own
 * ways to it are, they are equally far from everything else; of two, it takes
 * a third to tell. The method is described in twins.c.
 */
#ifndef COMPARE_TWINS_H
#define COMPARE_TWINS_H

#include <stdint.h>

#include "compare/infer/level.h"

struct twins;

/* Look at all pairs of a level, which is borrowed. NULL with errno ENOMEM.
 * Cost: n^3.
 */
struct twins *twins_find (const struct level *l);
void twins_destroy (struct twins *t);

/* The groups of a level's vertices, 0 .. next->n - 1. Members of a group of
 * two or more are at one switch, which is `end` away from them. The vertices
 * of the next level are not set where they are switches.
 */
struct groups {
    uint32_t *of;       /* [n] the group of a vertex */
    uint32_t *size;     /* [next->n] */
    double *end;        /* [n] >= 0; 0 where it is alone */
    struct level *next;
};

/* Group, where lengths up to `zero` are none and a quarter of it is the
 * standard deviation of one pair's latency. Return 0, or -1 with errno ENOMEM.
 * Cost: n^2, and as often again as vertices turn out to be in a wrong group.
 */
int twins_group (const struct twins *t, double zero, struct groups *g);
void groups_clear (struct groups *g);

#endif /* COMPARE_TWINS_H */
