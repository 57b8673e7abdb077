/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Vertices and how far they are apart. */
#include "config.h"
#include "compare/infer/level.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct level *level_create (uint32_t n)
{
    size_t size = (size_t)n * n + 1;
    struct level *l = calloc (1, sizeof (*l));

    if (!l || !(l->vertex = calloc ((size_t)n + 1, sizeof (*l->vertex)))
        || !(l->d = malloc (size * sizeof (*l->d)))
        || !(l->w = calloc (size, sizeof (*l->w)))) {
        level_destroy (l);
        return NULL;
    }
    l->n = n;
    for (size_t i = 0; i < size; i++)
        l->d[i] = i % (n + 1) ? NAN : 0;
    return l;
}

void level_destroy (struct level *l)
{
    if (!l)
        return;
    free (l->vertex);
    free (l->d);
    free (l->w);
    free (l);
}

struct level *level_of_matrix (const struct infer_matrix *m)
{
    struct level *l = level_create (m->n);

    if (!l)
        return NULL;
    memcpy (l->d, m->ns, (size_t)m->n * m->n * sizeof (*l->d));
    for (uint32_t a = 0; a < m->n; a++) {
        l->vertex[a] = a;
        for (uint32_t b = 0; b < m->n; b++)
            l->w[(size_t)a * m->n + b]
                = a != b && !isnan (infer_matrix_at (m, a, b));
    }
    return l;
}
