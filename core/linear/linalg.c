/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes: every entry is a product along two rows. Rows are taken BLOCK at a
 * time, so that these stay in cache while the others pass. A product has four
 * sums, in two registers of the vector type of gcc and clang.
 */
#include "config.h"
#include "core/linear/linalg.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"

enum { BLOCK = 16 };

typedef double lanes __attribute__ ((vector_size (16)));

static lanes load (const double *p)
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

double linalg_dot (const double *a, const double *b, size_t n)
{
    lanes s = { 0, 0 };
    lanes t = { 0, 0 };
    double sum;
    size_t k = 0;

    for (; k + 4 <= n; k += 4) {
        s += load (a + k) * load (b + k);
        t += load (a + k + 2) * load (b + k + 2);
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
        lanes sum = load (y + k) + factor * load (x + k);

        memcpy (y + k, &sum, sizeof (sum));
    }
    if (k < n)
        y[k] += f * x[k];
}

int linalg_cholesky (double *a, size_t n)
{
    for (size_t first = 0; first < n; first += BLOCK)
        for (size_t i = first; i < n; i++)
            for (size_t j = first; j < min (first + BLOCK, i + 1); j++) {
                double *row = a + i * n;
                const double *pivot = a + j * n;
                double d = row[j] - linalg_dot (row, pivot, j);

                if (j < i)
                    row[j] = d / pivot[j];
                else if (d > 0 && isfinite (d))
                    row[j] = sqrt (d);
                else {
                    errno = EDOM;
                    return -1;
                }
            }
    return 0;
}

void linalg_solve (const double *l, size_t n, double *b)
{
    for (size_t i = 0; i < n; i++)
        b[i] = (b[i] - linalg_dot (l + i * n, b, i)) / l[i * n + i];
    for (size_t i = n; i-- > 0;) {
        b[i] /= l[i * n + i];
        for (size_t j = 0; j < i; j++)
            b[j] -= l[i * n + j] * b[i];
    }
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
