/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes on the method. The minimum is where the gradient A' W (t - A y)
 * vanishes, K y = A' W t with K = A' W A; conjugate gradients, preconditioned
 * by K's diagonal, need nothing of K but its product with a vector, which
 * goes through the rows once: a_i . p, times w_i, back along the row. So a
 * row is read once per iteration, nothing is kept per row, and several
 * vectors side by side cost little more than one, because what takes the time
 * is to get at the entries of a row. Each of these lanes is an iteration of
 * its own, with its own step lengths.
 *
 * Conjugate gradients on the normal equations lose what the square of the
 * condition takes away. So solutions are refined: the residual t - A y is
 * computed from the rows, its gradient is the right-hand side of the next
 * correction, until the gradient is as small as asked for or gets no smaller.
 * The condition of networks is some dozens with redundant rounds, some
 * hundreds without: two or three corrections give all digits.
 *
 * A sketch is that of perturb and optimise (Papandreou, Yuille, "Gaussian
 * sampling by local perturbations", 2010): for e_i with mean 0 and variance
 * 1 / w_i the minimum for t = e has the covariance C. The e_i are random
 * signs.
 */
#include "config.h"
#include "core/lsq.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    ITERATIONS_MAX = 20000,
    REFINEMENTS_MAX = 12,
};

#define CORRECTION 1e-8   /* tolerance of one correction */
#define LEVEL_OUT 1e-10   /* gradient that may get no smaller */

struct lsq {
    const struct sparse *a;
    double *w;       /* [nrows] */
    double *inverse; /* [ncols] of K's diagonal */
    uint64_t *iterations;
};

void lsq_destroy (struct lsq *q)
{
    int saved = errno;

    if (!q)
        return;
    free (q->w);
    free (q->inverse);
    free (q->iterations);
    free (q);
    errno = saved;
}

static int set_diagonal (struct lsq *q)
{
    const struct sparse *a = q->a;

    for (size_t i = 0; i < a->nrows; i++) {
        if (!(q->w[i] > 0) || !isfinite (q->w[i]))
            goto error;
        for (size_t k = a->start[i]; k < a->start[i + 1]; k++)
            q->inverse[a->col[k]] += q->w[i] * a->value[k] * a->value[k];
    }
    for (size_t c = 0; c < a->ncols; c++) {
        q->inverse[c] = 1 / q->inverse[c];
        if (!isfinite (q->inverse[c]))
            goto error;
    }
    return 0;
error:
    errno = EDOM;
    return -1;
}

struct lsq *lsq_create (const struct sparse *a, const double *w)
{
    struct lsq *q = calloc (1, sizeof (*q));

    if (!q)
        return NULL;
    q->a = a;
    q->w = malloc ((a->nrows + 1) * sizeof (*q->w));
    q->inverse = calloc (a->ncols + 1, sizeof (*q->inverse));
    q->iterations = calloc (1, sizeof (*q->iterations));
    if (!q->w || !q->inverse || !q->iterations) {
        errno = ENOMEM;
        goto error;
    }
    for (size_t i = 0; i < a->nrows; i++)
        q->w[i] = w ? w[i] : 1;
    if (set_diagonal (q) < 0)
        goto error;
    return q;
error:
    lsq_destroy (q);
    return NULL;
}

uint64_t lsq_iterations (const struct lsq *q)
{
    return *q->iterations;
}

/* Vectors of L lanes have entry c of lane l at c * L + l. The functions below
 * are for any L, and compiled for one and for LSQ_LANES.
 */
#define INLINE static inline __attribute__ ((always_inline))

/* z = K p, pz = p . z */
INLINE void product (const struct lsq *q, size_t L, const double *restrict p,
                     double *restrict z, double *restrict pz)
{
    const struct sparse *a = q->a;

    memset (z, 0, a->ncols * L * sizeof (*z));
    memset (pz, 0, L * sizeof (*pz));
    for (size_t i = 0; i < a->nrows; i++) {
        double s[LSQ_LANES] = { 0 };

        for (size_t k = a->start[i]; k < a->start[i + 1]; k++) {
            const double *restrict x = p + a->col[k] * L;
            double v = a->value[k];

            for (size_t l = 0; l < L; l++)
                s[l] += v * x[l];
        }
        for (size_t l = 0; l < L; l++) {
            double t = q->w[i] * s[l];

            pz[l] += s[l] * t;
            s[l] = t;
        }
        for (size_t k = a->start[i]; k < a->start[i + 1]; k++) {
            double *restrict x = z + a->col[k] * L;
            double v = a->value[k];

            for (size_t l = 0; l < L; l++)
                x[l] += v * s[l];
        }
    }
}

/* x += alpha p, r -= alpha z, rr = r . D r */
INLINE void step (const struct lsq *q, size_t L, const double *alpha,
                  const double *restrict p, const double *restrict z,
                  double *restrict x, double *restrict r, double *rr)
{
    double sum[LSQ_LANES] = { 0 };

    for (size_t c = 0; c < q->a->ncols; c++)
        for (size_t l = 0; l < L; l++) {
            size_t k = c * L + l;

            x[k] += alpha[l] * p[k];
            r[k] -= alpha[l] * z[k];
            sum[l] += q->inverse[c] * r[k] * r[k];
        }
    memcpy (rr, sum, L * sizeof (*rr));
}

/* p = D r + beta p */
INLINE void turn (const struct lsq *q, size_t L, const double *beta,
                  const double *restrict r, double *restrict p)
{
    for (size_t c = 0; c < q->a->ncols; c++)
        for (size_t l = 0; l < L; l++) {
            size_t k = c * L + l;

            p[k] = q->inverse[c] * r[k] + beta[l] * p[k];
        }
}

/* x = C r from x = 0, r in ruins afterwards. work: 2 vectors. */
INLINE int iterate (const struct lsq *q, size_t L, double tolerance,
                    double *restrict r, double *restrict x,
                    double *restrict work)
{
    size_t n = q->a->ncols * L;
    double *p = work;
    double *z = work + n;
    double zero[LSQ_LANES] = { 0 };
    double alpha[LSQ_LANES];
    double beta[LSQ_LANES];
    double goal[LSQ_LANES];
    double rr[LSQ_LANES];
    double next[LSQ_LANES];
    double pz[LSQ_LANES];

    memset (x, 0, n * sizeof (*x));
    memset (work, 0, 2 * n * sizeof (*work));
    step (q, L, zero, p, z, x, r, rr);
    turn (q, L, zero, r, p);
    for (size_t l = 0; l < L; l++)
        goal[l] = tolerance * tolerance * rr[l];
    for (size_t i = 0; i < ITERATIONS_MAX; i++) {
        size_t busy = 0;

        for (size_t l = 0; l < L; l++)
            busy += rr[l] > goal[l];
        if (busy == 0)
            return 0;
        product (q, L, p, z, pz);
        for (size_t l = 0; l < L; l++)
            alpha[l] = rr[l] > goal[l] && pz[l] > 0 ? rr[l] / pz[l] : 0;
        step (q, L, alpha, p, z, x, r, next);
        for (size_t l = 0; l < L; l++) {
            beta[l] = alpha[l] > 0 ? next[l] / rr[l] : 0;
            rr[l] = next[l];
        }
        turn (q, L, beta, r, p);
        ++*q->iterations;
    }
    errno = EDOM;
    return -1;
}

static int iterate_one (const struct lsq *q, double tolerance, double *r,
                        double *x, double *work)
{
    return iterate (q, 1, tolerance, r, x, work);
}

static int iterate_lanes (const struct lsq *q, double tolerance, double *r,
                          double *x, double *work)
{
    return iterate (q, LSQ_LANES, tolerance, r, x, work);
}

/* g = A' W (t - A y); returns sqrt (g . D g). */
static double gradient (const struct lsq *q, const double *t, const double *y,
                        double *g)
{
    const struct sparse *a = q->a;
    double sum = 0;

    memset (g, 0, a->ncols * sizeof (*g));
    for (size_t i = 0; i < a->nrows; i++) {
        double r = q->w[i] * (t[i] - sparse_row_dot (a, i, y));

        for (size_t k = a->start[i]; k < a->start[i + 1]; k++)
            g[a->col[k]] += a->value[k] * r;
    }
    for (size_t c = 0; c < a->ncols; c++)
        sum += q->inverse[c] * g[c] * g[c];
    return sqrt (sum);
}

int lsq_solve (const struct lsq *q, const double *t, double tolerance,
               double *y)
{
    size_t n = q->a->ncols;
    double *g = malloc ((4 * n + 1) * sizeof (*g));
    double *x = g + n;
    double start;
    double before = INFINITY;
    double now;
    int rc = -1;

    if (!g)
        return -1;
    memset (x, 0, n * sizeof (*x));
    start = gradient (q, t, x, g);
    for (int i = 0; i <= REFINEMENTS_MAX; i++) {
        now = gradient (q, t, y, g);
        start = fmax (start, now);
        if (now <= tolerance * start || now > before / 2)
            break;
        if (iterate_one (q, fmax (CORRECTION, tolerance * start / now / 2),
                         g, x, x + n) < 0)
            goto done;
        for (size_t c = 0; c < n; c++)
            y[c] += x[c];
        before = now;
    }
    if (now <= fmax (tolerance, LEVEL_OUT) * start)
        rc = 0;
    else
        errno = EDOM;
done:
    free (g);
    return rc;
}

int lsq_covariance (const struct lsq *q, const double *b, size_t n,
                    double tolerance, double *x)
{
    size_t m = q->a->ncols;
    double *r = malloc ((4 * LSQ_LANES * m + 1) * sizeof (*r));
    double *found = r + LSQ_LANES * m;
    int rc = -1;

    if (!r)
        return -1;
    for (size_t first = 0; first < n; first += LSQ_LANES) {
        size_t lanes = n - first < LSQ_LANES ? n - first : LSQ_LANES;

        memset (r, 0, LSQ_LANES * m * sizeof (*r));
        for (size_t l = 0; l < lanes; l++)
            for (size_t c = 0; c < m; c++)
                r[c * LSQ_LANES + l] = b[(first + l) * m + c];
        if (iterate_lanes (q, tolerance, r, found, found + LSQ_LANES * m) < 0)
            goto done;
        for (size_t l = 0; l < lanes; l++)
            for (size_t c = 0; c < m; c++)
                x[(first + l) * m + c] = found[c * LSQ_LANES + l];
    }
    rc = 0;
done:
    free (r);
    return rc;
}

/* 64 random bits of a row (SplitMix64's finaliser). */
static uint64_t bits (uint64_t seed, uint64_t row, uint64_t lane)
{
    uint64_t z = seed + row * UINT64_C (0x9e3779b97f4a7c15)
                 + (lane / 64 + 1) * UINT64_C (0xd1342543de82ef95);

    z = (z ^ (z >> 30)) * UINT64_C (0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C (0x94d049bb133111eb);
    return (z ^ (z >> 31)) >> (lane % 64);
}

/* b = A' W e for LSQ_LANES draws of e, from number `lane` on. */
static void draw (const struct lsq *q, uint64_t seed, size_t lane, double *b)
{
    const struct sparse *a = q->a;

    memset (b, 0, LSQ_LANES * a->ncols * sizeof (*b));
    for (size_t i = 0; i < a->nrows; i++) {
        double root = sqrt (q->w[i]);
        uint64_t sign = bits (seed, i, lane);

        for (size_t k = a->start[i]; k < a->start[i + 1]; k++)
            for (size_t l = 0; l < LSQ_LANES; l++)
                b[a->col[k] * LSQ_LANES + l]
                    += (sign >> l & 1 ? root : -root) * a->value[k];
    }
}

int lsq_sketch (const struct lsq *q, size_t k, uint64_t seed,
                double tolerance, double *sketch)
{
    size_t m = q->a->ncols;
    double *r = malloc ((4 * LSQ_LANES * m + 1) * sizeof (*r));
    double *x = r + LSQ_LANES * m;
    int rc = -1;

    if (!r)
        return -1;
    for (size_t j = 0; j + LSQ_LANES <= k; j += LSQ_LANES) {
        draw (q, seed, j, r);
        if (iterate_lanes (q, tolerance, r, x, x + LSQ_LANES * m) < 0)
            goto done;
        for (size_t c = 0; c < m; c++)
            memcpy (sketch + c * k + j, x + c * LSQ_LANES,
                    LSQ_LANES * sizeof (*x));
    }
    rc = 0;
done:
    free (r);
    return rc;
}

double lsq_sketch_variance (const double *sketch, size_t k,
                            const uint32_t *col, const int8_t *value,
                            size_t n)
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
