/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes. Tukey's estimate has several minima. So its iteration starts from
 * Huber's result and keeps that scale. (Holland, Welsch, "Robust regression
 * using iteratively reweighted least-squares", 1977.)
 *
 * The residual of a row depends on the row's own weight. With leverage h = 1 -
 * share and q = h / (1 - h), the residual of a row that the fit ignores is 1 +
 * q times that of a row with full weight, and (1 + q) / (1 + f q) times as
 * large with a factor f. What is tested is the residual without the row's own
 * influence, in units of its standard deviation, sqrt (1 + q).
 *
 * In a plan with few redundant rows an outlier has a small residual, and its
 * neighbours get a part of it: more repeats per probe help more.
 */
#include "config.h"
#include "core/solve/solve.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "core/linear/lsq.h"
#include "core/linear/stats.h"
#include "util/alloc.h"

enum { PASSES_MAX = 30 };

#define HUBER 1.345
#define TUKEY 4.685
#define REDUNDANCY_MIN 0.1      /* smallest share for judging by the residual */
#define SETTLED_MAX_CHANGE 1e-2 /* greatest final change of a row's factor */
#define FACTOR_MIN 1e-4 /* keeps the rank */
#define ROUGH_TOLERANCES \
    10 /* times the tolerance, until weights have settled */

/* The factor of a row's weight for a residual of u standard deviations. */
static double factor_of (enum robust method, double u)
{
    double x = u / TUKEY;

    if (method == ROBUST_HUBER)
        return u <= HUBER ? 1 : HUBER / u;
    return x < 1 ? pow (1 - x * x, 2) : 0;
}

struct robust_fit {
    struct lsq *q;
    const struct sparse *a;
    const double *t;
    const double *share;
    const double *base; /* weights as given */
    double scale_min;
    double *u;      /* [nrows] sizes of residuals, standardised */
    double *factor; /* [nrows] of the weights */
    double *room;   /* [nrows] */
};

/* Fill u; return the scale. */
static double residuals (struct robust_fit *f, const double *y)
{
    size_t n = 0;

    for (size_t i = 0; i < f->a->nrows; i++) {
        double r = f->t[i] - sparse_row_dot (f->a, i, y);
        double odds;

        f->u[i] = 0;
        if (f->share[i] < REDUNDANCY_MIN)
            continue;
        odds = 1 / f->share[i] - 1;
        f->u[i] = fabs (r) * sqrt (f->base[i]) * (1 + f->factor[i] * odds)
                  / sqrt (1 + odds);
        f->room[n++] = f->u[i];
    }
    return n > 0 ? 1.4826 * stats_median (f->room, n) : 0;
}

/* Iterate until the factors do not change. *scale: 0 to estimate it in each
 * pass; on return the one that was used last.
 */
static int reweight_until_stable (struct robust_fit *f, enum robust method,
                                  double *scale, double tolerance, double *w,
                                  double *y)
{
    bool fixed = *scale > 0;

    for (int pass = 0; pass < PASSES_MAX; pass++) {
        double found = residuals (f, y);
        double change = 0;

        if (!fixed)
            *scale = fmax (found, f->scale_min);
        if (!(*scale > 0)) /* more than half of the rows fit exactly */
            return 0;
        for (size_t i = 0; i < f->a->nrows; i++) {
            double x = fmax (factor_of (method, f->u[i] / *scale), FACTOR_MIN);

            change = fmax (change, fabs (x - f->factor[i]));
            f->factor[i] = x;
        }
        if (change < SETTLED_MAX_CHANGE)
            return 0;
        for (size_t i = 0; i < f->a->nrows; i++)
            w[i] = f->base[i] * f->factor[i];
        if (lsq_reweigh (f->q, w) < 0
            || lsq_solve (f->q, f->t, ROUGH_TOLERANCES * tolerance, y) < 0)
            return -1;
    }
    return 0;
}

int robust_solve (struct lsq *q, const struct sparse *a, const double *t,
                  const double *share, enum robust method, double scale_min,
                  double tolerance, double *w, double *y)
{
    size_t n = a->nrows;
    double *room = xarray (4 * n, sizeof (*room));
    double *base = room + n;
    struct robust_fit f = {
        .q = q,
        .a = a,
        .t = t,
        .share = share,
        .base = base,
        .scale_min = scale_min,
        .u = room + 2 * n,
        .factor = room + 3 * n,
        .room = room,
    };
    double scale = 0;
    int rc = 0;

    for (size_t i = 0; i < n; i++) {
        base[i] = w[i];
        f.factor[i] = 1;
    }
    if (method != ROBUST_NONE)
        rc = reweight_until_stable (&f, ROBUST_HUBER, &scale, tolerance, w, y);
    if (rc == 0 && method == ROBUST_TUKEY && scale > 0)
        rc = reweight_until_stable (&f, ROBUST_TUKEY, &scale, tolerance, w, y);
    if (rc == 0)
        rc = lsq_solve (q, t, tolerance, y);
    free (room);
    return rc;
}
