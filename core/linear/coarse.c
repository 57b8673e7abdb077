/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes. M K M' = B' W B with B = A M', which is very sparse: most modes cancel
 * in most rows. Where modes depend on each other, what only they could change is
 * left alone: each has a row of its own, of hardly any weight.
 */
#include "config.h"
#include "core/linear/coarse.h"

#include <stdlib.h>
#include <string.h>

#include "core/linear/direct.h"
#include "core/linear/lsq.h"
#include "util/alloc.h"

enum { MOST = 2000 }; /* modes of a full matrix: 16 MB */

#define OWN 1e-9 /* weight of a mode's own row, as a share of its others */

struct coarse {
    struct sparse *modes; /* of each column */
    struct sparse *b;   /* A M' without empty rows, and a row for each mode */
    size_t rows;        /* of the former */
    uint32_t *row;      /* [rows] of A */
    double *w;          /* [b->nrows] */
    struct direct *d;   /* NULL: no correction */
};

struct product {
    const struct sparse *modes; /* of each column */
    int *sum;                   /* [modes] 0 but for `touched` */
    uint32_t *touched;          /* [modes] */
    uint32_t *by;               /* [modes] the last row + 1 that did */
    uint32_t *col;              /* [modes] */
    int8_t *value;
};

/* Row i of A M', into p->col and p->value. Return its entries. */
static size_t product_row (struct product *p, const struct sparse *a, size_t i)
{
    size_t touched = 0, n = 0;

    for (size_t e = a->start[i]; e < a->start[i + 1]; e++)
        for (size_t m = p->modes->start[a->col[e]];
             m < p->modes->start[a->col[e] + 1]; m++) {
            uint32_t mode = p->modes->col[m];

            if (p->by[mode] != i + 1)
                p->touched[touched++] = mode;
            p->by[mode] = (uint32_t)i + 1;
            p->sum[mode] += a->value[e] * p->modes->value[m];
        }
    for (size_t t = 0; t < touched; t++) {
        uint32_t mode = p->touched[t];

        if (p->sum[mode] != 0) {
            p->col[n] = mode;
            p->value[n++] = (int8_t)p->sum[mode];
        }
        p->sum[mode] = 0;
    }
    return n;
}

static void multiply (struct coarse *c, const struct sparse *a)
{
    static const int8_t one = 1;
    size_t modes = c->modes->ncols;
    struct product p = {
        .modes = c->modes,
        .sum = xcalloc (modes, sizeof (*p.sum)),
        .touched = xarray (modes, sizeof (*p.touched)),
        .by = xcalloc (modes, sizeof (*p.by)),
        .col = xarray (modes, sizeof (*p.col)),
        .value = xarray (modes, sizeof (*p.value)),
    };

    c->b = sparse_create (modes);
    c->row = xarray (a->nrows, sizeof (*c->row));
    for (size_t i = 0; i < a->nrows; i++) {
        size_t n = product_row (&p, a, i);

        if (n > 0) {
            sparse_add (c->b, p.col, p.value, n);
            c->row[c->rows++] = (uint32_t)i;
        }
    }
    for (uint32_t m = 0; m < modes; m++)
        sparse_add (c->b, &m, &one, 1);
    free (p.sum);
    free (p.touched);
    free (p.by);
    free (p.col);
    free (p.value);
}

void coarse_reweigh (struct coarse *c, const double *w)
{
    double *own = c->w + c->rows;

    memset (own, 0, c->modes->ncols * sizeof (*own));
    for (size_t i = 0; i < c->rows; i++) {
        c->w[i] = w ? w[c->row[i]] : 1;
        for (size_t e = c->b->start[i]; e < c->b->start[i + 1]; e++)
            own[c->b->col[e]]
                += OWN * c->w[i] * c->b->value[e] * c->b->value[e];
    }
    for (size_t m = 0; m < c->modes->ncols; m++)
        if (!(own[m] > 0))
            own[m] = 1; /* no row sees it */
    direct_destroy (c->d);
    c->d = direct_create (c->b, c->w, NULL, 0, MOST);
}

struct coarse *coarse_create (const struct sparse *a, const double *w,
                              const struct sparse *modes)
{
    struct coarse *c = xcalloc (1, sizeof (*c));

    c->modes = sparse_transpose (modes);
    multiply (c, a);
    c->w = xarray (c->b->nrows, sizeof (*c->w));
    coarse_reweigh (c, w);
    return c;
}

void coarse_destroy (struct coarse *c)
{
    if (!c)
        return;
    sparse_destroy (c->modes);
    sparse_destroy (c->b);
    free (c->row);
    free (c->w);
    direct_destroy (c->d);
    free (c);
}

void coarse_apply (const struct coarse *c, size_t lanes, const double *r,
                   double *z, double *rz)
{
    const struct sparse *m = c->modes;
    size_t n = m->ncols * lanes;
    double *sum, *y, more[LSQ_LANES];

    if (!c->d)
        return;
    sum = xcalloc (3 * n, sizeof (*sum));
    y = sum + n;
    for (size_t i = 0; i < m->nrows; i++)
        for (size_t e = m->start[i]; e < m->start[i + 1]; e++)
            for (size_t l = 0; l < lanes; l++)
                sum[m->col[e] * lanes + l] += m->value[e] * r[i * lanes + l];
    direct_apply (c->d, lanes, sum, y, y + n, more);
    for (size_t i = 0; i < m->nrows; i++)
        for (size_t e = m->start[i]; e < m->start[i + 1]; e++)
            for (size_t l = 0; l < lanes; l++)
                z[i * lanes + l] += m->value[e] * y[m->col[e] * lanes + l];
    for (size_t l = 0; l < lanes; l++)
        rz[l] += more[l];
    free (sum);
}
