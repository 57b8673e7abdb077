/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes. Unknowns with the fewest neighbours in K are eliminated first, roughly:
 * a limit rises whenever none is below it (minimum degree). Which neighbours each
 * has by then is found first, in sets of bits, and the order by that. Near a job
 * most unknowns are hosts' offsets and links that few rows cross. Those left over
 * at last are neighbours of most others: they are eliminated as a full matrix
 * (linear/linalg), whose products take a fraction of the time of one by one.
 *
 * With u what is left of a column's row when it is eliminated, and p its
 * diagonal, L has the column u / p, and D the entry p. Row j of K is reduced by
 * all columns before it that have j, found by lists: each column that is done is
 * in that of its next row. The full part is L L'.
 */
#include "config.h"
#include "core/linear/direct.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/linear/linalg.h"
#include "core/linear/lsq.h"
#include "util/alloc.h"
#include "util/csr.h"

#define INLINE static inline __attribute__ ((always_inline))

/* Neighbours, as a share of what is left, from which on full is faster: its
 * products take a sixth of the time.
 */
#define FULL_SHARE 0.4

#define NONE UINT32_MAX

enum { COLUMNS_MAX = 1 << 14 }; /* 32 MB of neighbours */

struct direct {
    size_t n, nkept;
    uint32_t *order; /* [n] as they are eliminated; the kept ones are last */
    uint32_t *place; /* [n] its inverse */
    size_t nsparse;  /* of order; the others as a full matrix */
    size_t *start;   /* [nsparse + 1] columns of L: */
    uint32_t *at;    /* places, ascending, without their own */
    double *v;
    double *pivot;   /* [nsparse] D */
    double **full;   /* [n - nsparse] the factor of the others */
    double **kept;   /* [nkept] its rows of the kept ones, from their first on */
};

/*
 * The order
 */

struct ordering {
    struct direct *d;
    size_t words;   /* of a set: */
    uint64_t *near; /* [n] an unknown's neighbours that are left, and itself */
    uint32_t *size; /* [n] of its set, until it is gone: 0 */
    bool *kept;
    size_t room; /* for d->at */
};

INLINE void find_neighbours (struct ordering *o, const struct sparse *a)
{
    for (size_t i = 0; i < a->nrows; i++)
        for (size_t e = a->start[i]; e < a->start[i + 1]; e++) {
            uint64_t *set = o->near + a->col[e] * o->words;

            for (size_t f = a->start[i]; f < a->start[i + 1]; f++)
                set[a->col[f] / 64] |= UINT64_C (1) << a->col[f] % 64;
        }
}

INLINE uint32_t count_set (const uint64_t *set, size_t words)
{
    uint32_t n = 0;

    for (size_t w = 0; w < words; w++)
        n += (uint32_t)__builtin_popcountll (set[w]);
    return n;
}

/* Unknown u is a neighbour of what is eliminated, of set `gone`. */
INLINE void merge_neighbours (struct ordering *o, uint32_t u,
                              const uint64_t *gone, uint32_t j)
{
    uint64_t *set = o->near + u * o->words;

    for (size_t w = 0; w < o->words; w++)
        set[w] |= gone[w];
    set[j / 64] &= ~(UINT64_C (1) << j % 64);
    o->size[u] = count_set (set, o->words);
}

/* Eliminate unknown j: its neighbours become each other's. */
INLINE void order_next (struct ordering *o, uint32_t j)
{
    struct direct *d = o->d;
    const uint64_t *set = o->near + j * o->words;
    size_t n = d->start[d->nsparse];

    if (n + o->size[j] > o->room) {
        o->room = 2 * (n + o->size[j]);
        d->at = xrealloc (d->at, o->room, sizeof (*d->at));
    }
    for (size_t w = 0; w < o->words; w++)
        for (uint64_t left = set[w]; left; left &= left - 1) {
            uint32_t u = (uint32_t)(64 * w)
                         + (uint32_t)__builtin_ctzll (left);

            if (u == j)
                continue;
            d->at[n++] = u;
            if (!o->kept[u])
                merge_neighbours (o, u, set, j);
        }
    o->size[j] = 0;
    d->order[d->nsparse++] = j;
    d->start[d->nsparse] = n;
}

INLINE void order_sparse (struct ordering *o)
{
    struct direct *d = o->d;
    bool some = true;

    for (size_t most = 2;
         some || (double)most < FULL_SHARE * (double)(d->n - d->nsparse);) {
        some = false;
        for (uint32_t j = 0; j < d->n; j++)
            if (!o->kept[j] && o->size[j] > 0 && o->size[j] <= most) {
                order_next (o, j);
                some = true;
            }
        if (!some)
            most += most / 8 + 1;
    }
}

/* Find the order, and which rows each sparse column has. Processors count the
 * bits of a word by an instruction that their first ones lacked.
 */
#if defined __x86_64__ && defined __GLIBC__ && !defined __clang__
__attribute__ ((target_clones ("avx2", "default")))
#endif
static void find_order (struct direct *d, const struct sparse *a,
                        const uint32_t *keep)
{
    struct ordering o = {
        .d = d,
        .words = (d->n + 63) / 64,
        .size = xarray (d->n, sizeof (*o.size)),
        .kept = xcalloc (d->n, sizeof (*o.kept)),
    };
    size_t n;

    o.near = xcalloc (d->n, o.words * sizeof (*o.near));
    for (size_t k = 0; k < d->nkept; k++)
        o.kept[keep[k]] = true;
    find_neighbours (&o, a);
    for (uint32_t j = 0; j < d->n; j++)
        o.size[j] = count_set (o.near + j * o.words, o.words);
    order_sparse (&o);
    n = d->nsparse;
    for (uint32_t j = 0; j < d->n; j++)
        if (!o.kept[j] && o.size[j] > 0)
            d->order[n++] = j;
    for (size_t k = 0; k < d->nkept; k++)
        d->order[n++] = keep[k];
    for (uint32_t i = 0; i < d->n; i++)
        d->place[d->order[i]] = i;
    free (o.near);
    free (o.size);
    free (o.kept);
}

/* Make places of unknowns, ascending: a transpose is, and so is that of it. */
static void sort_columns (struct direct *d)
{
    const struct csr columns = { d->nsparse, d->start, d->at };
    struct csr rows, sorted;

    for (size_t e = 0; e < d->start[d->nsparse]; e++)
        d->at[e] = d->place[d->at[e]];
    rows = csr_transpose (&columns, d->n);
    sorted = csr_transpose (&rows, d->nsparse);
    free (d->start);
    free (d->at);
    d->start = sorted.start;
    d->at = sorted.v;
    csr_clear (&rows);
}

/*
 * The factor
 */

struct reduction {
    struct direct *d;
    const struct sparse *a;
    struct sparse *back; /* a by columns */
    const double *w;
    double *sum;    /* [n] by place: a row of K */
    size_t *entry;  /* [nsparse] of a column that is done, its next row; */
    uint32_t *head; /* [nsparse] of a row: the columns that have it next, */
    uint32_t *next; /* [nsparse] in a list */
};

/* Add row i of K to sum. */
static void add_normal (struct reduction *r, uint32_t i)
{
    const struct sparse *a = r->a;
    uint32_t j = r->d->order[i];

    for (size_t e = r->back->start[j]; e < r->back->start[j + 1]; e++) {
        size_t row = r->back->col[e];
        double f = (r->w ? r->w[row] : 1) * r->back->value[e];

        for (size_t x = a->start[row]; x < a->start[row + 1]; x++)
            r->sum[r->d->place[a->col[x]]] += f * a->value[x];
    }
}

/* Put column k in the list of its next row. */
static void list_column (struct reduction *r, uint32_t k)
{
    struct direct *d = r->d;
    uint32_t i = r->entry[k] < d->start[k + 1] ? d->at[r->entry[k]] : NONE;

    if (i >= d->nsparse)
        return;
    r->next[k] = r->head[i];
    r->head[i] = k;
}

static int reduce_row (struct reduction *r, uint32_t i)
{
    struct direct *d = r->d;
    double p;

    add_normal (r, i);
    for (uint32_t k = r->head[i], next; k != NONE; k = next) {
        double f = d->v[r->entry[k]] * d->pivot[k];

        next = r->next[k];
        for (size_t e = r->entry[k]; e < d->start[k + 1]; e++)
            r->sum[d->at[e]] -= f * d->v[e];
        r->entry[k]++;
        list_column (r, k);
    }
    p = d->pivot[i] = r->sum[i];
    if (!(p > 0)) {
        errno = EDOM;
        return -1;
    }
    for (size_t e = d->start[i]; e < d->start[i + 1]; e++)
        d->v[e] = r->sum[d->at[e]] / p;
    memset (r->sum, 0, d->n * sizeof (*r->sum));
    r->entry[i] = d->start[i];
    list_column (r, i);
    return 0;
}

/* What the sparse columns leave for the others. */
static void reduce_full (struct reduction *r)
{
    struct direct *d = r->d;
    size_t first = d->nsparse;

    for (uint32_t i = (uint32_t)first; i < d->n; i++) {
        add_normal (r, i);
        memcpy (d->full[i - first], r->sum + first,
                (i - first + 1) * sizeof (**d->full));
        memset (r->sum, 0, d->n * sizeof (*r->sum));
    }
    for (size_t k = 0; k < first; k++)
        for (size_t e = r->entry[k]; e < d->start[k + 1]; e++) {
            double *row = d->full[d->at[e] - first];
            double f = d->v[e] * d->pivot[k];

            for (size_t x = r->entry[k]; x <= e; x++)
                row[d->at[x] - first] -= f * d->v[x];
        }
}

static int factorise_full (struct direct *d)
{
    size_t n = d->n - d->nsparse, first = n - d->nkept;

    for (size_t i = 0; i < d->nkept; i++)
        d->kept[i] = d->full[first + i] + first;
    return linalg_factor_triangle (d->full, n);
}

int direct_renew (struct direct *d, const struct sparse *a, const double *w)
{
    struct reduction r = {
        .d = d,
        .a = a,
        .back = sparse_transpose (a),
        .w = w,
        .sum = xcalloc (d->n, sizeof (*r.sum)),
        .entry = xarray (d->nsparse, sizeof (*r.entry)),
        .head = xarray (d->nsparse, sizeof (*r.head)),
        .next = xarray (d->nsparse, sizeof (*r.next)),
    };
    int rc = 0;

    memset (r.head, 0xff, d->nsparse * sizeof (*r.head));
    for (uint32_t i = 0; i < d->nsparse && rc == 0; i++)
        rc = reduce_row (&r, i);
    if (rc == 0) {
        reduce_full (&r);
        rc = factorise_full (d);
    }
    sparse_destroy (r.back);
    free (r.sum);
    free (r.entry);
    free (r.head);
    free (r.next);
    return rc;
}

struct direct *direct_create (const struct sparse *a, const double *w,
                              const uint32_t *keep, size_t n, size_t most)
{
    struct direct *d = xcalloc (1, sizeof (*d));
    int rc = -1;

    *d = (struct direct){
        .n = a->ncols,
        .nkept = n,
        .order = xarray (a->ncols, sizeof (*d->order)),
        .place = xarray (a->ncols, sizeof (*d->place)),
        .start = xcalloc (a->ncols + 1, sizeof (*d->start)),
        .pivot = xarray (a->ncols, sizeof (*d->pivot)),
    };
    errno = E2BIG;
    if (d->n <= COLUMNS_MAX) {
        find_order (d, a, keep);
        if (d->n - d->nsparse <= most) {
            sort_columns (d);
            d->v = xarray (d->start[d->nsparse], sizeof (*d->v));
            d->full = linalg_triangle (d->n - d->nsparse);
            d->kept = xarray (d->nkept, sizeof (*d->kept));
            rc = direct_renew (d, a, w);
        }
    }
    if (rc == 0)
        return d;
    direct_destroy (d);
    return NULL;
}

void direct_destroy (struct direct *d)
{
    int saved = errno;

    if (!d)
        return;
    free (d->order);
    free (d->place);
    free (d->start);
    free (d->at);
    free (d->v);
    free (d->pivot);
    free (d->full);
    free (d->kept);
    free (d);
    errno = saved;
}

double *const *direct_kept (const struct direct *d)
{
    return d->kept;
}

/* y -= f x, in L lanes */
INLINE void subtract_scaled_lanes (size_t L, double f, const double *restrict x,
                                   double *restrict y)
{
    for (size_t l = 0; l < L; l++)
        y[l] -= f * x[l];
}

/* Solve with the full part, x in its order. */
INLINE void apply_full (const struct direct *d, size_t L, double *x)
{
    size_t n = d->n - d->nsparse;

    if (L == 1) {
        linalg_solve_triangle (d->full, n, x);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        double s[LSQ_LANES];

        memcpy (s, x + i * L, L * sizeof (*s));
        for (size_t k = 0; k < i; k++)
            subtract_scaled_lanes (L, d->full[i][k], x + k * L, s);
        for (size_t l = 0; l < L; l++)
            x[i * L + l] = s[l] / d->full[i][i];
    }
    for (size_t i = n; i-- > 0;) {
        double s[LSQ_LANES];

        for (size_t l = 0; l < L; l++)
            s[l] = x[i * L + l] /= d->full[i][i];
        for (size_t k = 0; k < i; k++)
            subtract_scaled_lanes (L, d->full[i][k], s, x + k * L);
    }
}

INLINE void precondition_direct (const struct direct *d, size_t L,
                                 const double *r, double *z, double *x,
                                 double *rz)
{
    double sum[LSQ_LANES] = { 0 };

    for (size_t i = 0; i < d->n; i++)
        memcpy (x + i * L, r + d->order[i] * L, L * sizeof (*x));
    for (size_t k = 0; k < d->nsparse; k++)
        for (size_t e = d->start[k]; e < d->start[k + 1]; e++)
            subtract_scaled_lanes (L, d->v[e], x + k * L, x + d->at[e] * L);
    apply_full (d, L, x + d->nsparse * L);
    for (size_t k = d->nsparse; k-- > 0;) {
        for (size_t l = 0; l < L; l++)
            x[k * L + l] /= d->pivot[k];
        for (size_t e = d->start[k]; e < d->start[k + 1]; e++)
            subtract_scaled_lanes (L, d->v[e], x + d->at[e] * L, x + k * L);
    }
    for (size_t i = 0; i < d->n; i++) {
        memcpy (z + d->order[i] * L, x + i * L, L * sizeof (*z));
        for (size_t l = 0; l < L; l++)
            sum[l] += r[d->order[i] * L + l] * x[i * L + l];
    }
    memcpy (rz, sum, L * sizeof (*rz));
}

/* As iterate_lanes (linear/lsq). */
#if defined __x86_64__ && defined __GLIBC__ && !defined __clang__
__attribute__ ((target_clones ("avx2", "default")))
#endif
static void apply_lanes (const struct direct *d, const double *r, double *z,
                         double *work, double *rz)
{
    precondition_direct (d, LSQ_LANES, r, z, work, rz);
}

void direct_apply (const struct direct *d, size_t lanes, const double *r,
                   double *z, double *work, double *rz)
{
    if (lanes == 1)
        precondition_direct (d, 1, r, z, work, rz);
    else
        apply_lanes (d, r, z, work, rz);
}
