/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes. With excess r of covariance V, signatures d_c and z = V^-1 r, causes
 * S have the generalised least squares estimate
 *
 *     H_SS e = g,   H_cc' = d_c' V^-1 d_c',   g_c = d_c' z.
 *
 * Adding candidate k to S improves chi square by its gain
 *
 *     (d_k' z_S)^2 / (H_kk - H_kS H_SS^-1 H_Sk),   z_S = V^-1 (r - D_S e),
 *
 * so forward selection (orthogonal least squares) adds the candidate with the
 * best score while that is positive, and drops causes that became superfluous.
 * A score is the gain minus what the best of all healthy candidates of the kind
 * reaches by chance: z^2, where z is exceeded with the kind's share of `alarms`
 * over their number. So many routes do not hide a few links, and the simpler of
 * two equal causes is chosen.
 *
 * H_kk would need a system for each candidate. It is estimated for all at once
 * from draws z* of healthy rows (model_draw), since E (d_k' z*)^2 = H_kk: their
 * mean square, averaged with the group's mean share of the upper bound
 * d_k' N^-1 d_k. It is computed only where a candidate may compete.
 *
 * Noise that the model underestimates must not look like causes. So the scale
 * is estimated from standardised residuals z_i / sqrt ((V^-1)_ii): the lower
 * third of them, which slow rows do not change, while there may be causes left;
 * in the end the median. A class that is off as a whole, or a drift, changes all
 * of them, so the scale is also estimated without these.
 */
#include "config.h"
#include "core/judge/explain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/linear/linalg.h"
#include "core/linear/stats.h"
#include "util/alloc.h"
#include "util/pool.h"
#include "util/sort.h"

enum {
    SCALE_ROWS_MIN = 16, /* rows that are enough for the scale */
    ROWS_PER_CAUSE = 2,
    TURNS_MAX = 4 * CAUSES_MAX,
    DRAWS_MIN = 16,
    DRAWS_MAX = 64,
    DRAWS_ROWS = 1 << 16, /* over all draws, if between these */
    DRAWS_PRIOR = 8,      /* draws that a group's mean counts as */
    DRAWS_SEED = 2,
    COMPUTE_TURNS = 3,          /* of LSQ_LANES candidates that compete */
    SUSPECT_TURNS = 8,          /* the same for suspects */
    GROUPS = SUSPECT_KINDS + 1, /* of similar information */
};

#define SETTLED_SCALE_MIN 0.9    /* of the previous scale */
#define INFORMATION_MIN 1e-5     /* of d' N^-1 d; less is no information */
#define INDEPENDENT_MIN 1e-4     /* less: a copy of the chosen causes */
#define COMPETES_GAIN_MIN 0.6    /* share of a gain, if it is an estimate */
#define SUSPECT_MARGIN_CHI2 15.1 /* chi square, 1 degree, 1e-4 */
#define SUSPECT_GAIN_MIN 0.5     /* of the cause's gain */

/* Quantiles of the absolute value of a standard normal. */
#define NORMAL_THIRD 0.4307
#define NORMAL_MEDIAN 0.6745

static enum suspect_kind signature_kind (const struct explanation *ex, size_t k)
{
    return causes_simplest (ex->causes, k)->suspect.kind;
}

static bool is_host_link (const struct explanation *ex, size_t k)
{
    const struct suspect *s = &causes_simplest (ex->causes, k)->suspect;

    return s->kind == SUSPECT_LINK
           && ex->causes->detours.net->link[s->index].kind == LINK_HOST;
}

/* What chance gives, in standard errors. */
static double threshold (const struct explanation *ex, size_t k)
{
    return ex->scale * ex->chance[signature_kind (ex, k)];
}

/*
 * Information: d' V^-1 d
 */

/* d' N^-1 d, an upper bound of d' V^-1 d. */
static double bound_of (const struct explanation *ex, size_t k)
{
    const struct causes *c = ex->causes;
    double sum = 0;

    for (size_t e = c->start[k]; e < c->start[k + 1]; e++)
        sum += c->value[e] * c->value[e] / ex->model->obs->v[c->row[e]].var;
    return sum;
}

static void set_info (struct explanation *ex, size_t k, double info)
{
    double bound = bound_of (ex, k);

    ex->info[k] = info < INFORMATION_MIN * bound ? 0 : fmin (info, bound);
}

/* p = V^-1 of at most LSQ_LANES signatures, and their information. p NULL: only
 * that, roughly.
 */
static int whiten (struct explanation *ex, const size_t *k, size_t n, double *p)
{
    size_t nrows = ex->model->nrows;
    double *d = xcalloc (2 * n * nrows, sizeof (*d));
    double tolerance = p ? MODEL_EXACT : MODEL_ROUGH;
    int rc;

    p = p ? p : d + n * nrows;
    for (size_t i = 0; i < n; i++)
        causes_expand (ex->causes, k[i], d + i * nrows, nrows);
    rc = model_whiten (ex->model, d, n, tolerance, p);
    for (size_t i = 0; i < n && rc == 0; i++) {
        set_info (ex, k[i], causes_dot (ex->causes, k[i], p + i * nrows));
        ex->exact[k[i]] = true;
    }
    free (d);
    return rc;
}

/* Groups of similar information: a host link has less, by the host's offset. */
static int signature_group (const struct explanation *ex, size_t k)
{
    return is_host_link (ex, k) ? SUSPECT_KINDS : (int)signature_kind (ex, k);
}

/* Estimate all information from draws. */
static int estimate_information (struct explanation *ex)
{
    const struct causes *causes = ex->causes;
    const struct observation *row = ex->model->obs->v;
    size_t nrows = ex->model->nrows;
    size_t draws = DRAWS_ROWS / (nrows + 1) / LSQ_LANES * LSQ_LANES;
    double sum[GROUPS] = { 0 };
    double sum_bound[GROUPS] = { 0 };
    double rows = 0;
    double *z;

    if (draws < DRAWS_MIN)
        draws = DRAWS_MIN;
    if (draws > DRAWS_MAX)
        draws = DRAWS_MAX;
    z = xarray (draws * nrows, sizeof (*z));
    if (model_draw (ex->model, DRAWS_SEED, draws, z) < 0) {
        free (z);
        return -1;
    }
    for (size_t i = 0; i < draws * nrows; i++) {
        ex->row_info[i % nrows] += z[i] * z[i];
        rows += z[i] * z[i] * row[i % nrows].var / (double)(nrows * draws);
    }
    for (size_t r = 0; r < nrows; r++)
        ex->row_info[r] = (ex->row_info[r] + DRAWS_PRIOR * rows / row[r].var)
                          / (double)(draws + DRAWS_PRIOR);
    for (size_t k = 0; k < causes->n; k++) {
        for (size_t i = 0; i < draws; i++)
            ex->info[k] += pow (causes_dot (causes, k, z + i * nrows), 2);
        sum[signature_group (ex, k)] += ex->info[k] / (double)draws;
        sum_bound[signature_group (ex, k)] += bound_of (ex, k);
    }
    for (size_t k = 0; k < causes->n; k++) {
        int group = signature_group (ex, k);
        double mean = bound_of (ex, k) * sum[group] / sum_bound[group];

        set_info (ex, k,
                  (ex->info[k] + DRAWS_PRIOR * mean)
                      / (double)(draws + DRAWS_PRIOR));
    }
    free (z);
    return 0;
}

/*
 * Estimates
 */

/* What traffic may have added to all its rows alike, as the simplest member. */
static double signature_doubt (const struct explanation *ex, size_t k)
{
    const struct causes *c = ex->causes;
    double doubt = 0;
    double weight = 0;

    for (size_t e = c->start[k]; e < c->start[k + 1]; e++) {
        const struct observation *o = &ex->model->obs->v[c->row[e]];

        doubt += c->value[e] * o->doubt_ns / o->var;
        weight += c->value[e] * c->value[e] / o->var;
    }
    return doubt / weight / causes_simplest (c, k)->unit;
}

/* Estimate all causes again; z becomes the residual. */
static int refit (struct explanation *ex)
{
    size_t n = ex->n;
    double e[CAUSES_MAX];

    for (size_t i = 0; i < n; i++) {
        size_t k = ex->cause[i].signature;

        for (size_t j = 0; j <= i; j++)
            ex->h[i * n + j] = causes_dot (ex->causes, k, ex->cause[j].p);
        e[i] = causes_dot (ex->causes, k, ex->unexplained);
    }
    if (linalg_cholesky (ex->h, n) < 0)
        return -1;
    linalg_solve (ex->h, n, e);
    memcpy (ex->z, ex->unexplained, ex->model->nrows * sizeof (*ex->z));
    for (size_t i = 0; i < n; i++) {
        struct cause *c = &ex->cause[i];
        double unit = causes_simplest (ex->causes, c->signature)->unit;
        double column[CAUSES_MAX] = { 0 };

        column[i] = 1;
        linalg_solve (ex->h, n, column);
        c->t = e[i] / sqrt (column[i]);
        c->excess_ns = e[i] / unit;
        c->stderr_ns = hypot (ex->scale * sqrt (column[i]) / unit,
                              signature_doubt (ex, c->signature));
        for (size_t r = 0; r < ex->model->nrows; r++)
            ex->z[r] -= e[i] * c->p[r];
    }
    return 0;
}

/* What only adds. A link and a single row may have either sign, because the
 * baseline may have been slow.
 */
static bool is_excess (const struct explanation *ex, size_t k)
{
    return ex->causes->start[k + 1] - ex->causes->start[k] > 1
           && suspect_traits[signature_kind (ex, k)].slow
           && signature_kind (ex, k) != SUSPECT_LINK;
}

/* Information on signature k that the causes do not have. */
static double information (const struct explanation *ex, size_t k)
{
    double left = ex->info[k];
    double v[CAUSES_MAX];

    for (size_t i = 0; i < ex->n; i++)
        v[i] = causes_dot (ex->causes, k, ex->cause[i].p);
    /* forward substitution alone: |L^-1 v|^2 = v' H^-1 v */
    for (size_t i = 0; i < ex->n; i++) {
        v[i] = (v[i] - linalg_dot (ex->h + i * ex->n, v, i))
               / ex->h[i * ex->n + i];
        left -= v[i] * v[i];
    }
    return left;
}

/* How much chi square improves by signature k. */
static double signature_gain (const struct explanation *ex, size_t k)
{
    double left;
    double b = causes_dot (ex->causes, k, ex->z);

    if (!(ex->info[k] > 0) || (b < 0 && is_excess (ex, k)))
        return 0;
    left = information (ex, k);
    if (left < INDEPENDENT_MIN * ex->info[k]) {
        /* with an estimate this only shows that it is too small */
        if (ex->exact[k] || ex->n == 0)
            return 0;
        left = ex->info[k];
    }
    return b * b / left;
}

/*
 * The choice
 */

/* List the best LSQ_LANES signatures above a score that is only estimated. */
static size_t list_rivals (const struct explanation *ex, double above,
                           size_t *list)
{
    size_t n = 0;

    for (size_t k = 0; k < ex->causes->n; k++) {
        size_t i = n;

        if (ex->exact[k] || ex->score[k] <= above)
            continue;
        while (i > 0 && ex->score[list[i - 1]] < ex->score[k])
            i--;
        if (i == LSQ_LANES)
            continue;
        n = n < LSQ_LANES ? n + 1 : n;
        memmove (list + i + 1, list + i, (n - 1 - i) * sizeof (*list));
        list[i] = k;
    }
    return n;
}

/* Score all signatures; one that may be above `floor` by its exact gain, for at
 * most `turns` turns. With `best` the score is the gain above that of chance,
 * and the floor rises to the best one's, which *best becomes.
 */
static int find_best_signature (struct explanation *ex, double floor, int turns,
                                size_t *best)
{
    size_t next[LSQ_LANES];
    size_t n;

    for (size_t k = 0; k < ex->causes->n; k++) {
        double g = signature_gain (ex, k);

        ex->score[k] = (ex->exact[k] ? g : g / COMPETES_GAIN_MIN)
                       - (best ? pow (threshold (ex, k), 2) : 0);
        if (best && ex->exact[k] && ex->score[k] > floor) {
            floor = ex->score[k];
            *best = k;
        }
    }
    while (turns-- > 0 && (n = list_rivals (ex, floor, next)) > 0) {
        if (whiten (ex, next, n, NULL) < 0)
            return -1;
        for (size_t i = 0; i < n; i++) {
            size_t k = next[i];

            ex->score[k] = signature_gain (ex, k)
                           - (best ? pow (threshold (ex, k), 2) : 0);
            if (best && ex->score[k] > floor) {
                floor = ex->score[k];
                *best = k;
            }
        }
    }
    return 0;
}

/* Insert a cause at place i: in the old order H has a factor again, in another
 * one it may be singular by rounding.
 */
static int insert_cause (struct explanation *ex, size_t i, struct cause c)
{
    memmove (&ex->cause[i + 1], &ex->cause[i],
             (ex->n++ - i) * sizeof (ex->cause[0]));
    ex->cause[i] = c;
    return refit (ex);
}

static int add_cause (struct explanation *ex, size_t i, size_t k)
{
    struct cause c = {
        .signature = k,
        .p = xarray (ex->model->nrows, sizeof (*c.p)),
    };

    if (whiten (ex, &k, 1, c.p) == 0)
        return insert_cause (ex, i, c);
    free (c.p);
    return -1;
}

/* Remove cause i; the caller owns its p. */
static struct cause remove_cause (struct explanation *ex, size_t i)
{
    struct cause c = ex->cause[i];

    memmove (&ex->cause[i], &ex->cause[i + 1],
             (--ex->n - i) * sizeof (ex->cause[0]));
    return c;
}

/* Drop causes that chance explains as well, the least significant first. */
static int drop_chance_causes (struct explanation *ex)
{
    for (;;) {
        double least = 1;
        size_t who = ex->n;

        for (size_t i = 0; i < ex->n; i++) {
            const struct cause *c = &ex->cause[i];
            double t = (is_excess (ex, c->signature) ? c->t : fabs (c->t))
                       / threshold (ex, c->signature);

            if (t < least) {
                least = t;
                who = i;
            }
        }
        if (who == ex->n)
            return 0;
        free (remove_cause (ex, who).p);
        if (refit (ex) < 0)
            return -1;
    }
}

static int forward (struct explanation *ex)
{
    size_t most = ex->model->nrows / ROWS_PER_CAUSE;

    most = most < 1 ? 1 : most > CAUSES_MAX ? CAUSES_MAX : most;
    for (int turn = 0; turn < TURNS_MAX; turn++) {
        size_t k = SIZE_MAX;

        if (find_best_signature (ex, 0, COMPUTE_TURNS, &k) < 0)
            return -1;
        if (k == SIZE_MAX)
            return 0;
        if (ex->n == most)
            break;
        if (add_cause (ex, ex->n, k) < 0 || drop_chance_causes (ex) < 0)
            return -1;
    }
    ex->full = true;
    return 0;
}

/* Scale of the noise: the p quantile of standardised residuals over `normal`,
 * that of the size of a standard normal.
 */
static double noise_scale (const struct explanation *ex, double p,
                           double normal)
{
    double *v = xarray (ex->model->nrows, sizeof (*v));
    double scale = 1;
    size_t n = 0;

    for (size_t i = 0; i < ex->model->nrows; i++)
        if (ex->row_info[i] > 0)
            v[n++] = fabs (ex->z[i]) / sqrt (ex->row_info[i]);
    if (n >= SCALE_ROWS_MIN) {
        stats_sort (v, n);
        scale = fmax (1, stats_quantile (v, n, p) / normal);
    }
    free (v);
    return scale;
}

/* Add these signatures, at most LSQ_LANES, if they explain anything. */
static int add_whole (struct explanation *ex, const size_t *k, size_t n)
{
    size_t nrows = ex->model->nrows;
    double *p = xarray (n * nrows, sizeof (*p));
    int rc = whiten (ex, k, n, p);

    for (size_t i = 0; i < n && rc == 0 && ex->n < CAUSES_MAX; i++)
        if (signature_gain (ex, k[i]) > 0) {
            struct cause c = { k[i], .p = xarray (nrows, sizeof (*c.p)) };

            memcpy (c.p, p + i * nrows, nrows * sizeof (*c.p));
            rc = insert_cause (ex, ex->n, c);
        }
    free (p);
    return rc;
}

/* The scale at first: the smaller one of with and without what is of the run. */
static int first_scale (struct explanation *ex)
{
    double scale = noise_scale (ex, 1 / 3., NORMAL_THIRD);
    size_t whole[LSQ_LANES], n = 0;

    for (size_t k = 0; k < ex->causes->n; k++) {
        if (suspect_traits[signature_kind (ex, k)].whole)
            whole[n++] = k;
        if (n == LSQ_LANES || k + 1 == ex->causes->n) {
            if (add_whole (ex, whole, n) < 0)
                return -1;
            n = 0;
        }
    }
    ex->scale = fmin (scale, noise_scale (ex, 1 / 3., NORMAL_THIRD));
    while (ex->n > 0)
        free (remove_cause (ex, ex->n - 1).p);
    return refit (ex);
}

int explain (struct explanation *ex, const struct model *model,
             const struct causes *causes, double alarms)
{
    double *r = xarray (model->nrows, sizeof (*r));
    struct pool *pool = pool_create ();
    double scale;
    int rc = -1;

    *ex = (struct explanation){
        .pool = pool,
        .model = model,
        .causes = causes,
        .scale = 1,
        .z = pool_alloc (pool, model->nrows, sizeof (double)),
        .unexplained = pool_alloc (pool, model->nrows, sizeof (double)),
        .row_info = pool_alloc (pool, model->nrows, sizeof (double)),
        .info = pool_alloc (pool, causes->n, sizeof (double)),
        .exact = pool_alloc (pool, causes->n, sizeof (bool)),
        .score = pool_alloc (pool, causes->n, sizeof (double)),
        .h = pool_alloc (pool, CAUSES_MAX * CAUSES_MAX, sizeof (double)),
    };
    for (int kind = 0; kind < SUSPECT_KINDS; kind++)
        if (causes->kind[kind] > 0)
            ex->chance[kind]
                = stats_normal_two_sided (alarms * suspect_traits[kind].share
                                          / (double)causes->kind[kind]);
    model_residual (model, r);
    if (model_whiten (model, r, 1, MODEL_EXACT, ex->unexplained) < 0
        || estimate_information (ex) < 0 || refit (ex) < 0
        || first_scale (ex) < 0)
        goto done;
    /* explained rows no longer count as noise */
    do {
        scale = ex->scale;
        ex->full = false;
        if (forward (ex) < 0)
            goto done;
        ex->scale = noise_scale (ex, 1 / 3., NORMAL_THIRD);
    } while (ex->scale < SETTLED_SCALE_MIN * scale);
    ex->scale = noise_scale (ex, 0.5, NORMAL_MEDIAN);
    rc = refit (ex) < 0 ? -1 : drop_chance_causes (ex);
done:
    free (r);
    return rc;
}

void explanation_clear (struct explanation *ex)
{
    for (size_t i = 0; i < ex->n; i++)
        free (ex->cause[i].p);
    pool_destroy (ex->pool);
    *ex = (struct explanation){ 0 };
}

/*
 * Suspects
 */

static struct rival make_rival (const struct explanation *ex, size_t k,
                                double less)
{
    double b = causes_dot (ex->causes, k, ex->z)
               * causes_simplest (ex->causes, k)->unit;
    double g = signature_gain (ex, k);

    if (!(g > 0)) /* the cause's own, by rounding: a copy of others */
        return (struct rival){ .signature = k, .less = less };
    return (struct rival){
        .signature = k,
        .less = less,
        .excess_ns = g / b,
        .stderr_ns = hypot (ex->scale * sqrt (g) / b, signature_doubt (ex, k)),
    };
}

static int compare_rivals (const void *va, const void *vb)
{
    const struct rival *a = va;
    const struct rival *b = vb;

    return a->less != b->less ? util_compare (a->less, b->less)
                              : util_compare (a->signature, b->signature);
}

struct rival *explain_suspects (struct explanation *ex, size_t c, size_t *n)
{
    struct rival *list = xarray (ex->causes->n, sizeof (*list));
    size_t self = ex->cause[c].signature;
    bool slower = ex->cause[c].excess_ns > 0;
    struct cause old = remove_cause (ex, c);
    int rc = refit (ex);
    double own = signature_gain (ex, self);
    double least = fmax (own - SUSPECT_MARGIN_CHI2 * pow (ex->scale, 2),
                         SUSPECT_GAIN_MIN * own);

    *n = 0;
    list[(*n)++] = make_rival (ex, self, 0);
    if (rc == 0)
        rc = find_best_signature (ex, least, SUSPECT_TURNS, NULL);
    for (size_t k = 0; k < ex->causes->n && rc == 0; k++)
        if (k != self && ex->exact[k] && ex->score[k] > least
            && (causes_dot (ex->causes, k, ex->z) > 0) == slower)
            list[(*n)++] = make_rival (ex, k, own - ex->score[k]);
    qsort (list + 1, *n - 1, sizeof (*list), compare_rivals);
    if (insert_cause (ex, c, old) == 0 && rc == 0)
        return list;
    free (list);
    return NULL;
}

int explain_swap (struct explanation *ex, size_t c, size_t signature)
{
    free (remove_cause (ex, c).p);
    return add_cause (ex, c, signature);
}

/*
 * Bounds
 */

static double upper_bound (const struct explanation *ex, size_t k, double sd)
{
    double unit = causes_simplest (ex->causes, k)->unit;
    double left;

    for (size_t i = 0; i < ex->n; i++)
        if (ex->cause[i].signature == k)
            return fmax (ex->cause[i].excess_ns, 0)
                   + sd * ex->cause[i].stderr_ns;
    left = ex->info[k] > 0 ? information (ex, k) : 0;
    if (left <= INDEPENDENT_MIN * ex->info[k])
        return INFINITY;
    return (fmax (causes_dot (ex->causes, k, ex->z) / left, 0)
            + sd * ex->scale / sqrt (left))
           / unit;
}

int explain_bounds (struct explanation *ex, double sd, double enough,
                    double *upper)
{
    size_t next[LSQ_LANES];
    size_t n = 0;

    for (size_t k = 0; k < ex->causes->n; k++) {
        if (signature_kind (ex, k) == SUSPECT_LINK) {
            upper[k] = upper_bound (ex, k, sd);
            /* only an estimate: compute it if it matters */
            if (!ex->exact[k] && upper[k] > enough / 2)
                next[n++] = k;
        }
        if (n < (k + 1 < ex->causes->n ? LSQ_LANES : 1))
            continue;
        if (whiten (ex, next, n, NULL) < 0)
            return -1;
        while (n > 0) {
            n--;
            upper[next[n]] = upper_bound (ex, next[n], sd);
        }
    }
    return 0;
}
