/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes: a Cholesky factor is made a BLOCK of columns at a time. A copy of these,
 * the panel, stays in cache while its products are taken from all columns right
 * of it, a TILE of columns at a time. A product has four sums, in registers of
 * the vector types of gcc and clang.
 */
#include "config.h"
#include "core/linear/linalg.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"

enum { BLOCK = 64, TILE = 128 }; /* columns */

typedef double lanes __attribute__ ((vector_size (16)));

static lanes load_lanes (const double *p)
{
    lanes v;

    memcpy (&v, p, sizeof (v));
    return v;
}

static size_t min (size_t a, size_t b)
{
    return a < b ? a : b;
}

double *linalg_matrix (size_t n)
{
    return xcalloc (n, n * sizeof (double));
}

double **linalg_triangle (size_t n)
{
    double **row
        = xcalloc (1, n * sizeof (*row) + n * (n + 1) / 2 * sizeof (**row));
    double *all = (double *)(row + n);

    for (size_t i = 0; i < n; i++)
        row[i] = all + i * (i + 1) / 2;
    return row;
}

double linalg_dot (const double *a, const double *b, size_t n)
{
    lanes s = { 0, 0 };
    lanes t = { 0, 0 };
    double sum;
    size_t k = 0;

    for (; k + 4 <= n; k += 4) {
        s += load_lanes (a + k) * load_lanes (b + k);
        t += load_lanes (a + k + 2) * load_lanes (b + k + 2);
    }
    s += t;
    sum = s[0] + s[1];
    for (; k < n; k++)
        sum += a[k] * b[k];
    return sum;
}

void linalg_add (double *y, double f, const double *x, size_t n)
{
    lanes factor = { f, f };
    size_t k = 0;

    for (; k + 2 <= n; k += 2) {
        lanes sum = load_lanes (y + k) + factor * load_lanes (x + k);

        memcpy (y + k, &sum, sizeof (sum));
    }
    if (k < n)
        y[k] += f * x[k];
}

typedef double wide __attribute__ ((vector_size (32)));

#define LOAD(v, from) memcpy (&(v), (from), sizeof (v))

static inline __attribute__ ((always_inline)) double sum_lanes (const wide *s)
{
    return ((*s)[0] + (*s)[2]) + ((*s)[1] + (*s)[3]);
}

static inline __attribute__ ((always_inline)) double
dot_block (const double *a, const double *b)
{
    wide s = { 0 };

    for (size_t k = 0; k < BLOCK; k += 4) {
        wide u, v;

        LOAD (u, a + k);
        LOAD (v, b + k);
        s += u * v;
    }
    return sum_lanes (&s);
}

/* Take the products of two rows of the panel at a with four at b from columns j
 * .. j+3 of rows x and y.
 */
static inline __attribute__ ((always_inline)) void
subtract_tile (const double *a, const double *b, double *x, double *y)
{
    wide s00 = { 0 }, s01 = { 0 }, s02 = { 0 }, s03 = { 0 };
    wide s10 = { 0 }, s11 = { 0 }, s12 = { 0 }, s13 = { 0 };

    for (size_t k = 0; k < BLOCK; k += 4) {
        wide u, v, w;

        LOAD (u, a + k);
        LOAD (v, a + BLOCK + k);
        LOAD (w, b + k);
        s00 += u * w;
        s10 += v * w;
        LOAD (w, b + BLOCK + k);
        s01 += u * w;
        s11 += v * w;
        LOAD (w, b + 2 * BLOCK + k);
        s02 += u * w;
        s12 += v * w;
        LOAD (w, b + 3 * BLOCK + k);
        s03 += u * w;
        s13 += v * w;
    }
    x[0] -= sum_lanes (&s00);
    x[1] -= sum_lanes (&s01);
    x[2] -= sum_lanes (&s02);
    x[3] -= sum_lanes (&s03);
    y[0] -= sum_lanes (&s10);
    y[1] -= sum_lanes (&s11);
    y[2] -= sum_lanes (&s12);
    y[3] -= sum_lanes (&s13);
}

/* Subtract the products of the panel's rows, of BLOCK columns each, from all
 * columns from `left` on.
 */
static inline __attribute__ ((always_inline)) void
subtract_panel (double *const *row, size_t n, size_t left, const double *panel)
{
    for (; left < n; left += TILE) {
        const double *b = panel + left * BLOCK;
        size_t right = min (left + TILE, n);

        for (size_t i = left; i < n; i += 2) {
            const double *a = panel + i * BLOCK;
            size_t j = left;

            for (; i + 1 < n && j + 4 <= min (right, i + 1); j += 4)
                subtract_tile (a, b + (j - left) * BLOCK, row[i] + j,
                               row[i + 1] + j);
            for (size_t r = i; r < min (i + 2, n); r++)
                for (size_t c = j; c < min (right, r + 1); c++)
                    row[r][c] -= dot_block (panel + r * BLOCK,
                                            panel + c * BLOCK);
        }
    }
}

/* Rows first .. end-1 of the factor, in columns first .. end-1. */
static int factor_block (double *const *row, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++)
        for (size_t j = first; j <= i; j++) {
            double d = row[i][j]
                       - linalg_dot (row[i] + first, row[j] + first, j - first);

            if (j == i && !(d > 0 && isfinite (d)))
                return -1;
            row[i][j] = j < i ? d / row[j][j] : sqrt (d);
        }
    return 0;
}

/* The rows below in these columns, and into `panel`, whose other columns stay. */
static inline __attribute__ ((always_inline)) void
solve_panel (double *const *row, size_t n, size_t first, size_t end,
             double *panel)
{
    double block[BLOCK * BLOCK] = { 0 }; /* its column j is row j */

    for (size_t i = first; i < end; i++)
        for (size_t j = first; j < i; j++)
            block[(j - first) * BLOCK + i - first] = row[i][j];
    for (size_t i = end; i < n; i++) {
        double *x = row[i] + first, *own = panel + i * BLOCK;

        memcpy (own, x, (end - first) * sizeof (*own));
        for (size_t j = 0; j < end - first; j++) {
            double f = own[j] /= row[first + j][first + j];
            wide factor = { f, f, f, f };

            for (size_t k = j / 4 * 4; k < BLOCK; k += 4) {
                wide v, w;

                LOAD (v, own + k);
                LOAD (w, block + j * BLOCK + k);
                v -= factor * w;
                memcpy (own + k, &v, sizeof (v));
            }
        }
        memcpy (x, own, (end - first) * sizeof (*own));
    }
}

/* Processors with wider vectors give the same figures: no instruction fuses a
 * product with a sum, and a sum has the same order.
 */
#if defined __x86_64__ && defined __GLIBC__ && !defined __clang__
__attribute__ ((target_clones ("avx2", "default")))
#endif
int linalg_factor_triangle (double *const *row, size_t n)
{
    double *panel = xarray (n * BLOCK, sizeof (*panel));
    int rc = 0;

    for (size_t first = 0; first < n; first += BLOCK) {
        size_t end = min (first + BLOCK, n);

        if (end - first < BLOCK)
            memset (panel, 0, n * BLOCK * sizeof (*panel));
        if ((rc = factor_block (row, first, end)) < 0)
            break;
        solve_panel (row, n, first, end, panel);
        subtract_panel (row, n, end, panel);
    }
    free (panel);
    if (rc < 0)
        errno = EDOM;
    return rc;
}

void linalg_solve_triangle (double *const *row, size_t n, double *b)
{
    for (size_t i = 0; i < n; i++)
        b[i] = (b[i] - linalg_dot (row[i], b, i)) / row[i][i];
    for (size_t i = n; i-- > 0;) {
        b[i] /= row[i][i];
        linalg_add (b, -b[i], row[i], i);
    }
}

/* The rows of a square matrix, which the caller frees. */
static double **matrix_rows (const double *a, size_t n)
{
    double **row = xarray (n, sizeof (*row));

    for (size_t i = 0; i < n; i++)
        row[i] = (double *)a + i * n;
    return row;
}

void linalg_solve (const double *l, size_t n, double *b)
{
    double **row = matrix_rows (l, n);

    linalg_solve_triangle (row, n, b);
    free (row);
}

int linalg_cholesky (double *a, size_t n)
{
    double **row = matrix_rows (a, n);
    int rc = linalg_factor_triangle (row, n);

    free (row);
    return rc;
}

/* Row c of the result is column c of L^-1. */
static double *invert_factor (const double *l, size_t n)
{
    double *u = linalg_matrix (n);

    for (size_t first = 0; first < n; first += BLOCK)
        for (size_t c = 0; c < min (first + BLOCK, n); c++)
            for (size_t r = first > c ? first : c; r < min (first + BLOCK, n);
                 r++)
                u[c * n + r] = ((c == r)
                                - linalg_dot (u + c * n + c, l + r * n + c,
                                              r - c))
                               / l[r * n + r];
    return u;
}

double *linalg_inverse (const double *l, size_t n)
{
    double *u = invert_factor (l, n);
    double *inverse = linalg_matrix (n);

    for (size_t first = 0; first < n; first += BLOCK)
        for (size_t j = 0; j < min (first + BLOCK, n); j++)
            for (size_t i = first > j ? first : j; i < min (first + BLOCK, n);
                 i++)
                inverse[i * n + j] = inverse[j * n + i]
                    = linalg_dot (u + i * n + i, u + j * n + i, n - i);
    free (u);
    return inverse;
}
