/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes. With excess r of covariance V, signatures d_c (a column of A for a
 * link, a unit vector for a row) and z = V^-1 r, causes S have the
 * generalised least squares estimate
 *
 *     H_SS e = g,   H_cc' = d_c' V^-1 d_c',   g_c = d_c' z.
 *
 * Adding candidate k to S improves chi square by its gain
 *
 *     (d_k' z_S)^2 / (H_kk - H_kS H_SS^-1 H_Sk),   z_S = V^-1 (r - D_S e),
 *
 * so forward selection (orthogonal least squares) adds the candidate of the
 * largest gain while that is significant, drops those that a later one made
 * superfluous, and at last tries to exchange each for a better one, which
 * mends what greed got wrong. A slow link shows in all its rows, so its gain
 * exceeds that of each row alone; a row that was disturbed on its own gains
 * more as a row. Where a link has one row only, the two are the same, and
 * the link is taken. A class as a whole is a candidate too: hosts that run
 * all slower than when the baseline was taken are one cause, not many.
 *
 * Noise that the model underestimates must not look like causes: the scale is
 * taken from standardised residuals z_i / sqrt ((V^-1)_ii), each of which is
 * a row's residual against its prediction from all other rows: while there
 * may be causes left, from their lower third, which many slow rows cannot
 * move (nor a class that is off as a whole, so it is tried without those as
 * well); in the end from their median.
 */
#include "config.h"
#include "core/explain.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/linalg.h"
#include "core/stats.h"

enum {
    CLASS_ENOUGH = 4,  /* links that make a class */
    SCALE_ENOUGH = 16, /* rows that say something on the scale */
    ROWS_PER_CAUSE = 2,
    TURNS_MAX = 4 * CAUSES_MAX,
    SWEEPS_MAX = 3,
};

#define FALSE_ALARMS 1e-4  /* causes in a healthy run */
#define SETTLED 0.9          /* of the scale before */
#define INDEPENDENT 1e-9   /* less is a copy of what was chosen */
#define PREFER_LINK 1.0001 /* over anything else of the same gain */
#define SUSPECT_MARGIN 15.1 /* chi square, 1 degree, 1e-4 */

struct work {
    const struct model *model;
    struct explanation *ex;
    double *zr;      /* V^-1 r, nothing explained */
    double *d;       /* scratch over the rows */
    double *class_info; /* [nclasses] as the model's col_info; 0: too few */
    double h[CAUSES_MAX * CAUSES_MAX]; /* factor of H_SS */
    double threshold;
};

/* d_c' v */
static double dot (const struct model *model, const struct cause *c,
                   const double *v)
{
    double sum = 0;

    switch (c->kind) {
    case CAUSE_LINK:
        return model_dot (model, c->index, v);
    case CAUSE_ROW:
        return v[c->index];
    case CAUSE_CLASS:
        for (size_t j = 0; j < model->m; j++)
            if (model->class_of[j] == c->index)
                sum += model_dot (model, (uint32_t)j, v);
    }
    return sum;
}

static double info (const struct work *w, const struct cause *c)
{
    switch (c->kind) {
    case CAUSE_LINK:
        return w->model->col_info[c->index];
    case CAUSE_ROW:
        return w->model->row_info[c->index];
    case CAUSE_CLASS:
        return w->class_info[c->index];
    }
    return 0;
}

/* d_c, into scratch. */
static const double *signature (struct work *w, const struct cause *c)
{
    memset (w->d, 0, w->model->nrows * sizeof (*w->d));
    switch (c->kind) {
    case CAUSE_LINK:
        model_add_column (w->model, c->index, w->d);
        break;
    case CAUSE_ROW:
        w->d[c->index] = 1;
        break;
    case CAUSE_CLASS:
        for (size_t j = 0; j < w->model->m; j++)
            if (w->model->class_of[j] == c->index)
                model_add_column (w->model, (uint32_t)j, w->d);
    }
    return w->d;
}

static int fill_class_info (struct work *w)
{
    const struct model *model = w->model;
    double *p = malloc ((model->nrows + 1) * sizeof (*p));

    w->class_info = calloc (model->nclasses + 1, sizeof (*w->class_info));
    if (!p || !w->class_info)
        goto error;
    for (size_t k = 0; k < model->nclasses; k++) {
        struct cause c = { .kind = CAUSE_CLASS, .index = (uint32_t)k };
        size_t n = 0;

        for (size_t j = 0; j < model->m; j++)
            n += model->class_of[j] == k;
        if (n < CLASS_ENOUGH)
            continue;
        if (model_whiten (model, signature (w, &c), p) < 0)
            goto error;
        w->class_info[k] = dot (model, &c, p);
    }
    free (p);
    return 0;
error:
    free (p);
    return -1;
}

/* Estimate all causes anew; z becomes what they leave over. */
static int refit (struct work *w)
{
    struct explanation *ex = w->ex;
    size_t n = ex->n;
    double e[CAUSES_MAX];

    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++)
            w->h[i * n + j] = dot (w->model, &ex->cause[i], ex->cause[j].p);
        e[i] = dot (w->model, &ex->cause[i], w->zr);
    }
    if (linalg_cholesky (w->h, n) < 0)
        return -1;
    linalg_solve (w->h, n, e);
    memcpy (ex->z, w->zr, w->model->nrows * sizeof (*ex->z));
    for (size_t i = 0; i < n; i++) {
        double unit[CAUSES_MAX] = { 0 };

        unit[i] = 1;
        linalg_solve (w->h, n, unit);
        ex->cause[i].excess_ns = e[i];
        ex->cause[i].stderr_ns = sqrt (unit[i]);
        for (size_t r = 0; r < w->model->nrows; r++)
            ex->z[r] -= e[i] * ex->cause[i].p[r];
    }
    return 0;
}

/* How much chi square improves by one more cause. */
static double gain (const struct work *w, const struct cause *c)
{
    const struct explanation *ex = w->ex;
    double h = info (w, c);
    double left = h;
    double v[CAUSES_MAX];
    double b;

    if (!(h > 0))
        return 0;
    for (size_t i = 0; i < ex->n; i++)
        v[i] = dot (w->model, c, ex->cause[i].p);
    /* forward substitution alone: |L^-1 v|^2 = v' H^-1 v */
    for (size_t i = 0; i < ex->n; i++) {
        v[i] = (v[i] - linalg_dot (w->h + i * ex->n, v, i))
               / w->h[i * ex->n + i];
        left -= v[i] * v[i];
    }
    if (left < INDEPENDENT * h)
        return 0;
    b = dot (w->model, c, ex->z);
    return b * b / left;
}

static void consider (const struct work *w, enum cause_kind kind, size_t n,
                      struct cause *best, double *most)
{
    for (size_t i = 0; i < n; i++) {
        struct cause c = { .kind = kind, .index = (uint32_t)i };
        double g = gain (w, &c);

        if (g > (kind == CAUSE_LINK ? 1 : PREFER_LINK) * *most) {
            *most = g;
            *best = c;
        }
    }
}

static double best_cause (const struct work *w, struct cause *best)
{
    double most = 0;

    *best = (struct cause){ 0 };
    consider (w, CAUSE_LINK, w->model->m, best, &most);
    consider (w, CAUSE_CLASS, w->model->nclasses, best, &most);
    consider (w, CAUSE_ROW, w->model->nrows, best, &most);
    return most;
}

static int add (struct work *w, struct cause *c)
{
    if (!(c->p = malloc ((w->model->nrows + 1) * sizeof (*c->p))))
        return -1;
    if (model_whiten (w->model, signature (w, c), c->p) < 0) {
        free (c->p);
        return -1;
    }
    w->ex->cause[w->ex->n++] = *c;
    return refit (w);
}

/* Take cause i out, without freeing it. */
static struct cause take (struct work *w, size_t i)
{
    struct explanation *ex = w->ex;
    struct cause c = ex->cause[i];

    memmove (&ex->cause[i], &ex->cause[i + 1],
             (--ex->n - i) * sizeof (ex->cause[0]));
    return c;
}

/* Drop the least significant cause that is none, if any. */
static int drop_one (struct work *w)
{
    struct explanation *ex = w->ex;
    double least = w->threshold;
    size_t who = ex->n;

    for (size_t i = 0; i < ex->n; i++) {
        double t = fabs (ex->cause[i].excess_ns) / ex->cause[i].stderr_ns;

        if (t < least) {
            least = t;
            who = i;
        }
    }
    if (who == ex->n)
        return 0;
    free (take (w, who).p);
    return refit (w) < 0 ? -1 : 1;
}

static int forward (struct work *w)
{
    struct explanation *ex = w->ex;
    size_t most = w->model->nrows / ROWS_PER_CAUSE;

    if (most < 1)
        most = 1;
    if (most > CAUSES_MAX)
        most = CAUSES_MAX;
    for (int turn = 0; turn < TURNS_MAX; turn++) {
        struct cause c;
        int rc;

        if (sqrt (best_cause (w, &c)) <= w->threshold)
            return 0;
        if (ex->n == most)
            break;
        if (add (w, &c) < 0)
            return -1;
        while ((rc = drop_one (w)) > 0)
            ;
        if (rc < 0)
            return -1;
    }
    ex->full = true;
    return 0;
}

/* Exchange causes for better ones. */
static int exchange (struct work *w)
{
    struct explanation *ex = w->ex;
    bool changed = ex->n > 1;

    for (int sweep = 0; sweep < SWEEPS_MAX && changed; sweep++) {
        changed = false;
        for (size_t i = 0; i < ex->n; i++) {
            struct cause old = take (w, 0);
            struct cause new;
            double before;

            if (refit (w) < 0) {
                free (old.p);
                return -1;
            }
            before = gain (w, &old);
            if (best_cause (w, &new) > before * PREFER_LINK) {
                free (old.p);
                changed = true;
                if (add (w, &new) < 0)
                    return -1;
                continue;
            }
            ex->cause[ex->n++] = old;
            if (refit (w) < 0)
                return -1;
        }
    }
    return 0;
}

/* Scale of the noise by the p quantile of the standardised residuals, where
 * `normal` is that quantile of a standard normal's size.
 */
static double noise_scale (const struct work *w, double p, double normal)
{
    const struct model *model = w->model;
    double *v = w->d;
    size_t n = 0;

    for (size_t i = 0; i < model->nrows; i++)
        if (model->row_info[i] > 0)
            v[n++] = fabs (w->ex->z[i]) / sqrt (model->row_info[i]);
    if (n < SCALE_ENOUGH)
        return 1;
    stats_sort (v, n);
    return fmax (1, stats_quantile (v, n, p) / normal);
}

static double lower_third (const struct work *w)
{
    return noise_scale (w, 1 / 3., 0.4307);
}

/* The scale, before anything is explained, with whole classes or without. */
static int first_scale (struct work *w)
{
    struct explanation *ex = w->ex;
    double scale = lower_third (w);
    int rc = 0;

    for (size_t k = 0; k < w->model->nclasses && k < CAUSES_MAX; k++) {
        struct cause c = { .kind = CAUSE_CLASS, .index = (uint32_t)k };

        if (rc == 0 && gain (w, &c) > 0)
            rc = add (w, &c);
    }
    ex->scale = fmin (scale, lower_third (w));
    while (ex->n > 0)
        free (take (w, ex->n - 1).p);
    return rc < 0 ? -1 : refit (w);
}

int explain (const struct model *model, struct explanation *ex)
{
    struct work *w = calloc (1, sizeof (*w));
    size_t size = (model->nrows + 1) * sizeof (double);
    double candidates = (double)(model->m + model->nclasses + model->nrows);
    double z = stats_normal_two_sided (FALSE_ALARMS / candidates);
    double scale;
    int rc = -1;

    *ex = (struct explanation){ .scale = 1 };
    if (!w)
        return -1;
    w->model = model;
    w->ex = ex;
    w->zr = model->z;
    w->d = malloc (size);
    ex->z = malloc (size);
    if (!w->d || !ex->z || fill_class_info (w) < 0)
        goto done;
    memcpy (ex->z, model->z, model->nrows * sizeof (*ex->z));
    if (first_scale (w) < 0)
        goto done;
    /* what is explained no longer passes for noise */
    do {
        scale = ex->scale;
        ex->full = false;
        w->threshold = scale * z;
        if (forward (w) < 0 || exchange (w) < 0)
            goto done;
        ex->scale = lower_third (w);
    } while (ex->scale < SETTLED * scale);
    ex->scale = noise_scale (w, 0.5, 0.6745);
    for (size_t i = 0; i < ex->n; i++)
        ex->cause[i].stderr_ns *= ex->scale;
    rc = 0;
done:
    free (w->class_info);
    free (w->d);
    free (w);
    return rc;
}

void explanation_clear (struct explanation *ex)
{
    for (size_t i = 0; i < ex->n; i++)
        free (ex->cause[i].p);
    free (ex->z);
    *ex = (struct explanation){ 0 };
}

struct ranked {
    double gain;
    uint32_t col;
};

static int compare_ranked (const void *va, const void *vb)
{
    const struct ranked *a = va;
    const struct ranked *b = vb;

    if (a->gain != b->gain)
        return a->gain > b->gain ? -1 : 1;
    return (a->col > b->col) - (a->col < b->col);
}

uint32_t *explain_suspects (const struct model *model,
                            const struct explanation *ex, size_t c, size_t *n)
{
    struct work *w = calloc (1, sizeof (*w));
    struct ranked *v = malloc ((model->m + 1) * sizeof (*v));
    uint32_t *col = malloc ((model->m + 1) * sizeof (*col));
    struct explanation others = *ex;
    struct cause self = ex->cause[c];
    double own;
    size_t k = 0;

    /* the same with all other causes in place */
    others.z = malloc ((model->nrows + 1) * sizeof (*others.z));
    if (!w || !v || !col || !others.z)
        goto error;
    w->model = model;
    w->ex = &others;
    w->zr = model->z;
    take (w, c);
    if (refit (w) < 0)
        goto error;
    own = gain (w, &self);
    for (size_t j = 0; j < model->m; j++) {
        struct cause other = { .index = (uint32_t)j };
        double g = gain (w, &other);
        double pull = dot (model, &other, others.z);

        /* round off, so that equals stand in order */
        if (fabs (g - own) < 1e-6 * own || j == self.index)
            g = own;
        if (g > 0 && (pull > 0) == (self.excess_ns > 0)
            && own - g <= SUSPECT_MARGIN * ex->scale * ex->scale)
            v[k++] = (struct ranked){ g, (uint32_t)j };
    }
    qsort (v, k, sizeof (*v), compare_ranked);
    for (size_t i = 0; i < k; i++)
        col[i] = v[i].col;
    *n = k;
    goto done;
error:
    free (col);
    col = NULL;
done:
    free (others.z);
    free (v);
    free (w);
    return col;
}

/* A column, with its counts in lowest terms. */
struct column {
    const uint32_t *row;
    const uint8_t *count;
    size_t n;
    int unit; /* what counts are multiples of */
};

static int compare_columns (const void *va, const void *vb)
{
    const struct column *a = va;
    const struct column *b = vb;

    if (a->n != b->n)
        return a->n < b->n ? -1 : 1;
    for (size_t i = 0; i < a->n; i++) {
        int ca = a->count[i] / a->unit;
        int cb = b->count[i] / b->unit;

        if (a->row[i] != b->row[i])
            return a->row[i] < b->row[i] ? -1 : 1;
        if (ca != cb)
            return ca < cb ? -1 : 1;
    }
    return 0;
}

int explain_separable (const struct model *model, size_t *n)
{
    struct column *v = malloc ((model->m + 1) * sizeof (*v));
    size_t k = 0;

    if (!v)
        return -1;
    for (size_t j = 0; j < model->m; j++) {
        size_t first = model->col_start[j];
        struct column s = {
            .row = model->col_row + first,
            .count = model->col_count + first,
            .n = model->col_start[j + 1] - first,
            .unit = 2,
        };

        for (size_t i = 0; i < s.n; i++)
            if (s.count[i] == 1)
                s.unit = 1;
        if (s.n > 0)
            v[k++] = s;
    }
    qsort (v, k, sizeof (*v), compare_columns);
    *n = 0;
    for (size_t i = 0, end; i < k; i = end) {
        for (end = i + 1; end < k && compare_columns (&v[i], &v[end]) == 0;)
            end++;
        *n += end == i + 1;
    }
    free (v);
    return 0;
}
