/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "core/linear/sparse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/csr.h"

struct sparse *sparse_create (size_t ncols)
{
    struct sparse *a = xcalloc (1, sizeof (*a));

    a->start = xcalloc (1, sizeof (*a->start));
    a->ncols = ncols;
    return a;
}

void sparse_destroy (struct sparse *a)
{
    int saved = errno;

    if (!a)
        return;
    free (a->start);
    free (a->col);
    free (a->value);
    free (a);
    errno = saved;
}

void sparse_add (struct sparse *a, const uint32_t *col, const int8_t *value,
                 size_t n)
{
    size_t first = a->start[a->nrows];

    if (a->nrows == a->rows_size) {
        a->rows_size = a->rows_size ? 2 * a->rows_size : 64;
        a->start = xrealloc (a->start, a->rows_size + 1, sizeof (*a->start));
    }
    if (first + n > a->entries_size) {
        a->entries_size = 2 * (first + n);
        a->col = xrealloc (a->col, a->entries_size, sizeof (*a->col));
        a->value = xrealloc (a->value, a->entries_size, 1);
    }
    if (n > 0) {
        memcpy (a->col + first, col, n * sizeof (*col));
        memcpy (a->value + first, value, n);
    }
    a->start[++a->nrows] = first + n;
}

struct sparse *sparse_transpose (const struct sparse *a)
{
    const struct csr rows = { a->nrows, a->start, a->col };
    struct csr columns = csr_transpose (&rows, a->ncols);
    size_t entries = a->start[a->nrows];
    size_t *next = xarray (a->ncols, sizeof (*next)); /* entry of a column */
    struct sparse *t = xcalloc (1, sizeof (*t));

    *t = (struct sparse){
        .nrows = a->ncols, .ncols = a->nrows, .rows_size = a->ncols,
        .start = columns.start, .col = columns.v,
        .value = xarray (entries, 1), .entries_size = entries,
    };
    for (size_t j = 0; j < a->ncols; j++)
        next[j] = t->start[j];
    for (size_t e = 0; e < entries; e++)
        t->value[next[a->col[e]]++] = a->value[e];
    free (next);
    return t;
}

double sparse_row_dot (const struct sparse *a, size_t i, const double *x)
{
    double sum = 0;

    for (size_t k = a->start[i]; k < a->start[i + 1]; k++)
        sum += a->value[k] * x[a->col[k]];
    return sum;
}

void sparse_times (const struct sparse *a, const double *x, double *y)
{
    for (size_t i = 0; i < a->nrows; i++)
        y[i] = sparse_row_dot (a, i, x);
}
