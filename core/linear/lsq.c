/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes on the method. At the minimum the gradient A' W (t - A y) is 0: K y =
 * A' W t with K = A' W A. Conjugate gradients need only the product of K with a
 * vector, one pass over the rows: a_i . p, times w_i, added back along the row.
 * LSQ_LANES vectors side by side cost little more than one, because most of the
 * time is spent on reading the rows; each has step lengths of its own.
 *
 * The preconditioner is the diagonal of K. But if there are few more rows than
 * columns, as for a job, the condition is thousands and more: then there is an
 * exact inverse (linear/factor), and one iteration is enough.
 *
 * With the preconditioner M, the root of r' M r is about the distance from the
 * solution in standard errors: no combination of the unknowns has a greater
 * error, in units of its own standard error. It is the stopping criterion. The
 * diagonal underestimates it by the root of the condition, so then an
 * absolute goal is SURE times it.
 *
 * Conjugate gradients on the normal equations lose digits with the square of
 * the condition. So solutions are refined: the residual t - A y is computed from
 * the rows, and its gradient is the right-hand side of the next correction,
 * until it gets no smaller.
 *
 * A sketch uses perturb and optimise (Papandreou, Yuille, "Gaussian sampling by
 * local perturbations", 2010): for e_i with mean 0 and variance 1 / w_i the
 * minimum for t = e has the covariance C. The e_i are random signs.
 */
#include "config.h"
#include "core/linear/lsq.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/linear/factor.h"
#include "util/alloc.h"

enum {
    FEW = 8,          /* columns per row in excess of columns, and */
    DENSE_MAX = 1500, /* columns left over, at which to factorise */
    ITERATIONS_MAX = 50000,
    REFINEMENTS_MAX = 12,
};

#define SURE 0.03       /* of a tolerance, without an exact inverse */
#define CORRECTION 1e-8 /* relative error after one correction */
#define STEADY 1e8      /* limit of the triangle to factorise */
#define LEVEL_OUT 1e-10 /* relative, if it gets no smaller; or */
#define ROUNDING 1e-15  /* of the size of the terms of the residual */

struct lsq {
    const struct sparse *a;
    double *weight;   /* [rows] */
    double *inverse;  /* [columns] of the diagonal of K; not used if there is */
    struct factor *f; /* an exact inverse */
    uint64_t *left;   /* iterations */
};

void lsq_destroy (struct lsq *q)
{
    int saved = errno;

    if (!q)
        return;
    factor_destroy (q->f);
    free (q->weight);
    free (q->inverse);
    free (q->left);
    free (q);
    errno = saved;
}

struct lsq *lsq_create (const struct sparse *a, const double *w)
{
    struct lsq *q = xcalloc (1, sizeof (*q));
    size_t extra = a->nrows - a->ncols; /* huge if there are fewer rows */
    bool positive = true;

    q->a = a;
    q->left = xarray (1, sizeof (*q->left));
    *q->left = UINT64_MAX;
    q->weight = xarray (a->nrows, sizeof (*q->weight));
    q->inverse = xcalloc (a->ncols, sizeof (*q->inverse));
    for (size_t i = 0; i < a->nrows; i++) {
        q->weight[i] = w ? w[i] : 1;
        positive &= q->weight[i] > 0 && isfinite (q->weight[i]);
        for (size_t e = a->start[i]; e < a->start[i + 1]; e++)
            q->inverse[a->col[e]] += q->weight[i] * a->value[e] * a->value[e];
    }
    for (size_t c = 0; c < a->ncols; c++) {
        q->inverse[c] = 1 / q->inverse[c];
        positive &= q->inverse[c] > 0 && isfinite (q->inverse[c]);
    }
    if (!positive) {
        lsq_destroy (q);
        errno = EDOM;
        return NULL;
    }
    /* the exact inverse, if it is not too large */
    if (extra <= FACTOR_EXTRA_MAX && extra <= a->ncols / FEW) {
        struct peel p;

        peel_make (&p, a, PEEL_ALL);
        peel_steady (&p, a, STEADY);
        if (p.ncols <= DENSE_MAX)
            q->f = factor_create (a, q->weight, &p);
        peel_clear (&p);
    }
    return q;
}

void lsq_limit (struct lsq *q, uint64_t iterations)
{
    *q->left = iterations;
}

/*
 * Conjugate gradients
 */

/* Vectors of L lanes have entry c of lane l at c * L + l. The functions below
 * are for any L; they are compiled for 1 and for LSQ_LANES.
 */
#define INLINE static inline __attribute__ ((always_inline))

/* z = K p, pz = p . z */
INLINE void product (const struct lsq *q, size_t L, const double *restrict p,
                     double *restrict z, double *restrict pz)
{
    const struct sparse *a = q->a;
    double sum[LSQ_LANES] = { 0 };

    memset (z, 0, a->ncols * L * sizeof (*z));
    for (size_t i = 0; i < a->nrows; i++) {
        double s[LSQ_LANES] = { 0 };

        for (size_t e = a->start[i]; e < a->start[i + 1]; e++)
            for (size_t l = 0; l < L; l++)
                s[l] += a->value[e] * p[a->col[e] * L + l];
        for (size_t l = 0; l < L; l++) {
            double t = q->weight[i] * s[l];

            sum[l] += s[l] * t;
            s[l] = t;
        }
        for (size_t e = a->start[i]; e < a->start[i + 1]; e++)
            for (size_t l = 0; l < L; l++)
                z[a->col[e] * L + l] += a->value[e] * s[l];
    }
    memcpy (pz, sum, L * sizeof (*pz));
}

/* z = approximately C r, rz = r . z */
INLINE void approximate (const struct lsq *q, size_t L, const double *r,
                         double *z, double *work, double *rz)
{
    double sum[LSQ_LANES] = { 0 };

    if (q->f) {
        factor_apply (q->f, L, r, z, work, rz);
        return;
    }
    for (size_t c = 0; c < q->a->ncols; c++)
        for (size_t l = 0; l < L; l++) {
            z[c * L + l] = q->inverse[c] * r[c * L + l];
            sum[l] += r[c * L + l] * z[c * L + l];
        }
    memcpy (rz, sum, L * sizeof (*rz));
}

/* x = C r from x = 0, until the distance is below `absolute`, or below
 * `relative` times that of 0. r is overwritten. work: 3 vectors.
 */
INLINE int iterate (const struct lsq *q, size_t L, double absolute,
                    double relative, double *restrict r, double *restrict x,
                    double *restrict work)
{
    size_t n = q->a->ncols;
    double *p = work;
    double *z = work + n * L;
    double *spare = z + n * L;
    double alpha[LSQ_LANES];
    double beta[LSQ_LANES];
    double goal[LSQ_LANES];
    double rr[LSQ_LANES];
    double next[LSQ_LANES];
    double pz[LSQ_LANES];
    double sure = q->f ? 1 : SURE;

    memset (x, 0, n * L * sizeof (*x));
    approximate (q, L, r, z, spare, rr);
    memcpy (p, z, n * L * sizeof (*p));
    for (size_t l = 0; l < L; l++)
        goal[l] = fmax (pow (sure * absolute, 2), relative * relative * rr[l]);
    for (size_t i = 0; i < ITERATIONS_MAX; i++) {
        size_t busy = 0;

        for (size_t l = 0; l < L; l++)
            busy += rr[l] > goal[l];
        if (busy == 0)
            return 0;
        if (*q->left == 0)
            break;
        product (q, L, p, z, pz);
        for (size_t l = 0; l < L; l++)
            alpha[l] = rr[l] > goal[l] && pz[l] > 0 ? rr[l] / pz[l] : 0;
        for (size_t c = 0; c < n; c++)
            for (size_t l = 0; l < L; l++) {
                x[c * L + l] += alpha[l] * p[c * L + l];
                r[c * L + l] -= alpha[l] * z[c * L + l];
            }
        approximate (q, L, r, z, spare, next);
        for (size_t l = 0; l < L; l++) {
            beta[l] = alpha[l] > 0 ? next[l] / rr[l] : 0;
            rr[l] = next[l];
        }
        for (size_t c = 0; c < n; c++)
            for (size_t l = 0; l < L; l++)
                p[c * L + l] = z[c * L + l] + beta[l] * p[c * L + l];
        --*q->left;
    }
    errno = EDOM;
    return -1;
}

static int iterate_lanes (const struct lsq *q, size_t L, double absolute,
                          double relative, double *r, double *x, double *work)
{
    return L == 1 ? iterate (q, 1, absolute, relative, r, x, work)
                  : iterate (q, LSQ_LANES, absolute, relative, r, x, work);
}

/* g = A' W (t - A y); return approximately its distance. *size is the norm of
 * the terms of the residual. work: 2 vectors.
 */
static double gradient (const struct lsq *q, const double *t, const double *y,
                        double *g, double *size, double *work)
{
    const struct sparse *k = q->a;
    double squares = 0;
    double sum;

    memset (g, 0, q->a->ncols * sizeof (*g));
    for (size_t i = 0; i < k->nrows; i++) {
        double r = t[i];
        double all = fabs (r);

        for (size_t e = k->start[i]; e < k->start[i + 1]; e++) {
            double x = k->value[e] * y[k->col[e]];

            r -= x;
            all += fabs (x);
        }
        squares += q->weight[i] * all * all;
        r *= q->weight[i];
        for (size_t e = k->start[i]; e < k->start[i + 1]; e++)
            g[k->col[e]] += k->value[e] * r;
    }
    *size = sqrt (squares);
    approximate (q, 1, g, work, work + q->a->ncols, &sum);
    return sqrt (sum);
}

int lsq_solve (const struct lsq *q, const double *t, double tolerance,
               double *y)
{
    size_t n = q->a->ncols;
    double *g = xarray (5 * n, sizeof (*g));
    double *x = g + n;
    double start, size, now;
    double last = INFINITY;
    int rc = 0;

    memset (x, 0, n * sizeof (*x));
    start = gradient (q, t, x, g, &size, x + n);
    for (int i = 0; i <= REFINEMENTS_MAX; i++) {
        now = gradient (q, t, y, g, &size, x + n);
        start = fmax (start, now);
        if (now <= tolerance || now > last / 2)
            break;
        rc = iterate_lanes (q, 1, tolerance / 2, CORRECTION, g, x, x + n);
        if (rc < 0)
            break;
        for (size_t c = 0; c < n; c++)
            y[c] += x[c];
        last = now;
    }
    free (g);
    if (rc == 0
        && !(now <= fmax (tolerance, LEVEL_OUT * start)
             || now <= ROUNDING * size)) {
        errno = EDOM;
        rc = -1;
    }
    return rc;
}

int lsq_covariance (const struct lsq *q, const double *b, size_t n,
                    double tolerance, double *x)
{
    size_t L = n == 1 ? 1 : LSQ_LANES;
    size_t m = q->a->ncols;
    double *r = xarray (5 * L * m, sizeof (*r));
    double *found = r + L * m;
    int rc = 0;

    for (size_t first = 0; first < n && rc == 0; first += L) {
        size_t lanes = n - first < L ? n - first : L;

        memset (r, 0, L * m * sizeof (*r));
        for (size_t l = 0; l < lanes; l++)
            for (size_t c = 0; c < m; c++)
                r[c * L + l] = b[(first + l) * m + c];
        rc = iterate_lanes (q, L, 0, tolerance, r, found, found + L * m);
        for (size_t l = 0; l < lanes && rc == 0; l++)
            for (size_t c = 0; c < m; c++)
                x[(first + l) * m + c] = found[c * L + l];
    }
    free (r);
    return rc;
}

/* 64 random bits for a row (SplitMix64's finaliser). */
static uint64_t bits (uint64_t seed, uint64_t row, uint64_t lane)
{
    uint64_t z = seed + row * UINT64_C (0x9e3779b97f4a7c15)
                 + (lane / 64 + 1) * UINT64_C (0xd1342543de82ef95);

    z = (z ^ (z >> 30)) * UINT64_C (0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C (0x94d049bb133111eb);
    return (z ^ (z >> 31)) >> (lane % 64);
}

/* b = A' W e for LSQ_LANES draws of e, beginning with number `lane`. */
static void draw (const struct lsq *q, uint64_t seed, size_t lane, double *b)
{
    const struct sparse *k = q->a;

    memset (b, 0, LSQ_LANES * q->a->ncols * sizeof (*b));
    for (size_t i = 0; i < k->nrows; i++) {
        double root = sqrt (q->weight[i]);
        uint64_t sign = bits (seed, i, lane);
        double e[LSQ_LANES];

        for (size_t l = 0; l < LSQ_LANES; l++)
            e[l] = sign >> l & 1 ? root : -root;
        for (size_t x = k->start[i]; x < k->start[i + 1]; x++)
            for (size_t l = 0; l < LSQ_LANES; l++)
                b[k->col[x] * LSQ_LANES + l] += e[l] * k->value[x];
    }
}

int lsq_sketch (const struct lsq *q, size_t k, uint64_t seed, double tolerance,
                double *sketch)
{
    size_t m = q->a->ncols;
    double *r = xarray (5 * LSQ_LANES * m, sizeof (*r));
    double *x = r + LSQ_LANES * m;
    int rc = 0;

    for (size_t j = 0; j + LSQ_LANES <= k && rc == 0; j += LSQ_LANES) {
        draw (q, seed, j, r);
        rc = iterate_lanes (q, LSQ_LANES, tolerance, 0, r, x,
                            x + LSQ_LANES * m);
        for (size_t c = 0; c < m; c++)
            memcpy (sketch + c * k + j, x + c * LSQ_LANES,
                    LSQ_LANES * sizeof (*x));
    }
    free (r);
    return rc;
}

double lsq_sketch_variance (const double *sketch, size_t k, const uint32_t *col,
                            const int8_t *value, size_t n)
{
    double sum = 0;

    for (size_t j = 0; j < k; j++) {
        double s = 0;

        for (size_t e = 0; e < n; e++)
            s += value[e] * sketch[col[e] * k + j];
        sum += s * s;
    }
    return sum / (double)k;
}

void lsq_sketch_residual (const struct sparse *a, const double *w,
                          const double *sketch, size_t k, uint64_t seed,
                          size_t i, double *r)
{
    double root = w ? sqrt (w[i]) : 1;

    for (size_t j = 0; j < k; j++) {
        r[j] = bits (seed, i, j) & 1 ? 1 : -1;
        for (size_t e = a->start[i]; e < a->start[i + 1]; e++)
            r[j] -= root * a->value[e] * sketch[a->col[e] * k + j];
    }
}
