/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Level: vertices and how far they are apart, from which a step of the
 * inference makes the next level: nodes first, then switches for those nodes
 * that are at one, then switches for such switches.
 *
 * Made by switches from a matrix, and by twins from a level.
 */
#ifndef COMPARE_LEVEL_H
#define COMPARE_LEVEL_H

#include <stddef.h>
#include <stdint.h>

#include "compare/infer/matrix.h"

struct level {
    uint32_t n;
    uint32_t *vertex; /* [n] of the model */
    double *d;        /* [n * n] mean over the pairs of nodes behind, less
                         their ways to here; NAN: not known */
    double *w;        /* [n * n] how many pairs these are; 0: not known */
};

/* n vertices of which nothing is known. NULL with errno ENOMEM. */
struct level *level_create (uint32_t n);
void level_destroy (struct level *l);

/* The nodes of a matrix. NULL with errno ENOMEM. */
struct level *level_of_matrix (const struct infer_matrix *m);

static inline double level_d (const struct level *l, uint32_t a, uint32_t b)
{
    return l->d[(size_t)a * l->n + b];
}

static inline double level_w (const struct level *l, uint32_t a, uint32_t b)
{
    return l->w[(size_t)a * l->n + b];
}

#endif /* COMPARE_LEVEL_H */
