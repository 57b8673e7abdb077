/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes. K = A' W A is eliminated column by column, those with the fewest
 * neighbours first (minimum degree, roughly: the limit rises whenever no column
 * is below it). Near a job most unknowns are hosts' offsets and links that few
 * rows cross, which have some dozens. What is then left is nearly full, and
 * eliminated as such (linalg_eliminate), with g' as one more row.
 */
#include "config.h"
#include "core/linear/marginal.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/linear/linalg.h"
#include "util/alloc.h"
#include "util/sort.h"

enum { SPARSE_MAX = 96 }; /* neighbours: with more, full rows are faster */

/* A row of K, also beyond the diagonal. */
struct normal_row {
    size_t n;
    uint32_t *col; /* ascending */
    double *v;
};

struct elimination {
    const struct sparse *a;
    struct normal_row *row; /* [ncols] */
    double *g;              /* [ncols] */
    bool *kept, *gone;      /* [ncols] */
    uint32_t *col;          /* [ncols] room for a row */
    double *v;
};

/* Take what the room has, n entries, for a row. */
static void take_normal (struct elimination *e, uint32_t j, size_t n)
{
    struct normal_row *row = &e->row[j];

    if (n > row->n) {
        free (row->col);
        free (row->v);
        row->col = xarray (n, sizeof (*row->col));
        row->v = xarray (n, sizeof (*row->v));
    }
    memcpy (row->col, e->col, n * sizeof (*row->col));
    memcpy (row->v, e->v, n * sizeof (*row->v));
    row->n = n;
}

static void make_normal (struct elimination *e, const double *w,
                         const double *t)
{
    const struct sparse *a = e->a;
    struct sparse *back = sparse_transpose (a);
    double *sum = xcalloc (a->ncols, sizeof (*sum));
    uint32_t *by = xcalloc (a->ncols, sizeof (*by)); /* the last, from 1 */

    for (uint32_t j = 0; j < a->ncols; j++) {
        size_t n = 0;

        for (size_t r = back->start[j]; r < back->start[j + 1]; r++) {
            size_t i = back->col[r];
            double f = w[i] * back->value[r];

            e->g[j] += t ? f * t[i] : 0;
            for (size_t x = a->start[i]; x < a->start[i + 1]; x++) {
                uint32_t col = a->col[x];

                if (by[col] != j + 1)
                    e->col[n++] = col;
                by[col] = j + 1;
                sum[col] += f * a->value[x];
            }
        }
        if (n > 0)
            qsort (e->col, n, sizeof (*e->col), compare_u32);
        for (size_t k = 0; k < n; k++) {
            e->v[k] = sum[e->col[k]];
            sum[e->col[k]] = 0;
        }
        take_normal (e, j, n);
    }
    sparse_destroy (back);
    free (sum);
    free (by);
}

/* Row u without unknown j: it loses f times row j. */
static void subtract_row (struct elimination *e, uint32_t u, uint32_t j,
                          double f)
{
    const struct normal_row *x = &e->row[u], *y = &e->row[j];
    size_t n = 0, q = 0;

    for (size_t p = 0; p < x->n || q < y->n;) {
        uint32_t a = p < x->n ? x->col[p] : UINT32_MAX;
        uint32_t b = q < y->n ? y->col[q] : UINT32_MAX;
        uint32_t col = a < b ? a : b;
        double v = 0;

        if (a == col)
            v = x->v[p++];
        if (b == col)
            v -= f * y->v[q++];
        e->col[n] = col;
        e->v[n] = v;
        n += col != j;
    }
    take_normal (e, u, n);
    e->g[u] -= f * e->g[j];
}

static int eliminate_column (struct elimination *e, uint32_t j)
{
    struct normal_row *row = &e->row[j];
    double pivot = 0;

    for (size_t k = 0; k < row->n; k++)
        if (row->col[k] == j)
            pivot = row->v[k];
    if (!(pivot > 0)) {
        errno = EDOM;
        return -1;
    }
    for (size_t k = 0; k < row->n; k++)
        if (row->col[k] != j)
            subtract_row (e, row->col[k], j, row->v[k] / pivot);
    free (row->col);
    free (row->v);
    *row = (struct normal_row){ 0 };
    e->gone[j] = true;
    return 0;
}

static int eliminate_sparse (struct elimination *e)
{
    for (size_t most = 1; most <= SPARSE_MAX;) {
        bool some = false;

        for (uint32_t j = 0; j < e->a->ncols; j++)
            if (!e->kept[j] && !e->gone[j] && e->row[j].n <= most + 1) {
                if (eliminate_column (e, j) < 0)
                    return -1;
                some = true;
            }
        if (!some)
            most += most / 8 + 1;
    }
    return 0;
}

/* Eliminate what is left, into m. */
static int eliminate_full (struct elimination *e, struct marginal *m,
                           const uint32_t *keep, size_t most)
{
    size_t ncols = e->a->ncols, n = 0, first;
    uint32_t *at = xarray (ncols, sizeof (*at));
    uint32_t *left = xarray (ncols, sizeof (*left));
    double **row = NULL;
    int rc = -1;

    for (uint32_t j = 0; j < ncols; j++)
        if (!e->kept[j] && !e->gone[j])
            left[n++] = j;
    first = n;
    for (size_t k = 0; k < m->n; k++)
        left[n++] = keep[k];
    for (uint32_t i = 0; i < n; i++)
        at[left[i]] = i;
    errno = E2BIG;
    if (n > most)
        goto done;
    row = linalg_triangle (n + 1);
    for (size_t i = 0; i < n; i++) {
        const struct normal_row *from = &e->row[left[i]];

        for (size_t k = 0; k < from->n; k++)
            if (at[from->col[k]] <= i)
                row[i][at[from->col[k]]] = from->v[k];
        row[n][i] = e->g[left[i]];
    }
    if ((rc = linalg_eliminate (row, n + 1, first)) < 0)
        goto done;
    m->k = linalg_triangle (m->n);
    m->g = xarray (m->n, sizeof (*m->g));
    for (size_t i = 0; i < m->n; i++)
        memcpy (m->k[i], row[first + i] + first, (i + 1) * sizeof (**m->k));
    memcpy (m->g, row[n] + first, m->n * sizeof (*m->g));
done:
    free (at);
    free (left);
    free (row);
    return rc;
}

int marginal_make (struct marginal *m, const struct sparse *a, const double *w,
                   const double *t, const uint32_t *keep, size_t n, size_t most)
{
    struct elimination e = {
        .a = a,
        .row = xcalloc (a->ncols, sizeof (*e.row)),
        .g = xcalloc (a->ncols, sizeof (*e.g)),
        .kept = xcalloc (a->ncols, sizeof (*e.kept)),
        .gone = xcalloc (a->ncols, sizeof (*e.gone)),
        .col = xarray (a->ncols, sizeof (*e.col)),
        .v = xarray (a->ncols, sizeof (*e.v)),
    };
    int rc;

    *m = (struct marginal){ .n = n };
    for (size_t k = 0; k < n; k++)
        e.kept[keep[k]] = true;
    make_normal (&e, w, t);
    rc = eliminate_sparse (&e) < 0 ? -1 : eliminate_full (&e, m, keep, most);
    for (size_t j = 0; j < a->ncols; j++) {
        free (e.row[j].col);
        free (e.row[j].v);
    }
    free (e.row);
    free (e.g);
    free (e.kept);
    free (e.gone);
    free (e.col);
    free (e.v);
    return rc;
}

void marginal_clear (struct marginal *m)
{
    free (m->k);
    free (m->g);
    *m = (struct marginal){ 0 };
}
