/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "core/linear/sparse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct sparse *sparse_create (size_t ncols)
{
    struct sparse *a = calloc (1, sizeof (*a));

    if (!a || !(a->start = calloc (1, sizeof (*a->start)))) {
        free (a);
        errno = ENOMEM;
        return NULL;
    }
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

static int reserve_rows (struct sparse *a)
{
    size_t size = a->rows_size ? 2 * a->rows_size : 64;
    size_t *start;

    if (a->nrows < a->rows_size)
        return 0;
    if (!(start = realloc (a->start, (size + 1) * sizeof (*start))))
        return -1;
    a->start = start;
    a->rows_size = size;
    return 0;
}

static int reserve_entries (struct sparse *a, size_t n)
{
    size_t need = a->start[a->nrows] + n;
    size_t size = a->entries_size ? 2 * a->entries_size : 256;
    uint32_t *col;
    int8_t *value;

    if (need <= a->entries_size)
        return 0;
    if (size < need)
        size = need;
    if (!(col = realloc (a->col, size * sizeof (*col))))
        return -1;
    a->col = col;
    if (!(value = realloc (a->value, size)))
        return -1;
    a->value = value;
    a->entries_size = size;
    return 0;
}

int sparse_add (struct sparse *a, const uint32_t *col, const int8_t *value,
                size_t n)
{
    size_t first = a->start[a->nrows];

    if (reserve_rows (a) < 0 || reserve_entries (a, n) < 0)
        return -1;
    if (n > 0) {
        memcpy (a->col + first, col, n * sizeof (*col));
        memcpy (a->value + first, value, n);
    }
    a->start[++a->nrows] = first + n;
    return 0;
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

void sparse_transposed_times (const struct sparse *a, const double *y,
                              double *x)
{
    memset (x, 0, a->ncols * sizeof (*x));
    for (size_t i = 0; i < a->nrows; i++)
        for (size_t k = a->start[i]; k < a->start[i + 1]; k++)
            x[a->col[k]] += a->value[k] * y[i];
}
