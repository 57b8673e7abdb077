/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes: all products are c -= a b' or c += a b' over tiles of 64 rows and 64
 * columns, 32 kB each, with both operands read along their rows. The kernel
 * keeps 4 by 2 sums of two lanes in registers, which is what plain SSE2 has
 * room for; the vector types are those of gcc and clang and compile on every
 * machine.
 */
#include "config.h"
#include "core/linear/linalg.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"

enum { TILE = 64 };

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

/* c[0 .. 3][0 .. 1] += sign a b', n long */
static void kernel (double *c, size_t ldc, const double *a, size_t lda,
                    const double *b, size_t ldb, size_t n, double sign)
{
    lanes s[4][2] = { { { 0, 0 } } };
    size_t k = 0;

    for (; k + 2 <= n; k += 2) {
        lanes b0 = load (b + k);
        lanes b1 = load (b + ldb + k);

        for (int i = 0; i < 4; i++) {
            lanes ai = load (a + i * lda + k);

            s[i][0] += ai * b0;
            s[i][1] += ai * b1;
        }
    }
    for (int i = 0; i < 4; i++) {
        double s0 = s[i][0][0] + s[i][0][1];
        double s1 = s[i][1][0] + s[i][1][1];

        if (k < n) {
            s0 += a[i * lda + k] * b[k];
            s1 += a[i * lda + k] * b[ldb + k];
        }
        c[i * ldc] += sign * s0;
        c[i * ldc + 1] += sign * s1;
    }
}

/* c += sign a b' with c ni by nj, over nk */
static void product (double *c, size_t ldc, const double *a, size_t lda,
                     const double *b, size_t ldb, size_t ni, size_t nj,
                     size_t nk, double sign)
{
    size_t i = 0;

    for (; i + 4 <= ni; i += 4) {
        size_t j = 0;

        for (; j + 2 <= nj; j += 2)
            kernel (c + i * ldc + j, ldc, a + i * lda, lda, b + j * ldb, ldb,
                    nk, sign);
        if (j < nj)
            for (size_t r = i; r < i + 4; r++)
                c[r * ldc + j]
                    += sign * linalg_dot (a + r * lda, b + j * ldb, nk);
    }
    for (; i < ni; i++)
        for (size_t j = 0; j < nj; j++)
            c[i * ldc + j] += sign * linalg_dot (a + i * lda, b + j * ldb, nk);
}

/* The factor of one diagonal tile. */
static int factor (double *a, size_t lda, size_t n)
{
    for (size_t j = 0; j < n; j++) {
        double *row = a + j * lda;
        double d = row[j] - linalg_dot (row, row, j);

        if (!(d > 0) || !isfinite (d)) {
            errno = EDOM;
            return -1;
        }
        row[j] = sqrt (d);
        for (size_t i = j + 1; i < n; i++)
            a[i * lda + j]
                = (a[i * lda + j] - linalg_dot (a + i * lda, row, j)) / row[j];
    }
    return 0;
}

int linalg_cholesky (double *a, size_t n)
{
    for (size_t k = 0; k < n; k += TILE) {
        size_t nk = min (TILE, n - k);
        double *akk = a + k * n + k;

        if (factor (akk, n, nk) < 0)
            return -1;
        for (size_t i = k + nk; i < n; i++) {
            double *row = a + i * n + k;

            for (size_t j = 0; j < nk; j++)
                row[j] = (row[j] - linalg_dot (row, akk + j * n, j))
                         / akk[j * n + j];
        }
        for (size_t i = k + nk; i < n; i += TILE)
            for (size_t j = k + nk; j <= i; j += TILE)
                product (a + i * n + j, n, a + i * n + k, n, a + j * n + k, n,
                         min (TILE, n - i), min (TILE, n - j), nk, -1);
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

/* Row j of u is column j of W = L^-1. Tile (J, I) of u, I > J, is that of
 * -L_II^-1 (sum over K from J to I - 1 of L_IK W_KJ), transposed.
 */
double *linalg_invert_factor (const double *l, size_t n)
{
    double *u = linalg_matrix (n);

    for (size_t j = 0; j < n; j += TILE) {
        size_t nj = min (TILE, n - j);

        for (size_t i = j; i < n; i += TILE) {
            size_t ni = min (TILE, n - i);

            for (size_t k = j; k < i; k += TILE)
                product (u + j * n + i, n, u + j * n + k, n, l + i * n + k, n,
                         nj, ni, min (TILE, i - k), -1);
            /* solve with L_II, each row of the tile separately */
            for (size_t c = j; c < j + nj; c++) {
                double *row = u + c * n + i;

                if (i == j)
                    row[c - j] = 1;
                for (size_t r = 0; r < ni; r++)
                    row[r] = (row[r] - linalg_dot (row, l + (i + r) * n + i, r))
                             / l[(i + r) * n + i + r];
            }
        }
    }
    return u;
}

double *linalg_inverse (const double *u, size_t n)
{
    double *inv = linalg_matrix (n);

    for (size_t i = 0; i < n; i += TILE)
        for (size_t j = 0; j <= i; j += TILE)
            for (size_t k = i; k < n; k += TILE)
                product (inv + i * n + j, n, u + i * n + k, n, u + j * n + k, n,
                         min (TILE, n - i), min (TILE, n - j),
                         min (TILE, n - k), 1);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            inv[j * n + i] = inv[i * n + j];
    return inv;
}
