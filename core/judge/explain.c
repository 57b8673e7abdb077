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
 * so forward selection (orthogonal least squares) adds the candidate of the
 * best score while that is positive, drops those that a later one made
 * superfluous, and at last tries to exchange each for a better one, which
 * mends what greed got wrong. A score is the gain less what the best of all
 * healthy candidates of the kind may reach by chance: z^2, where z is
 * exceeded with the kind's share of `alarms` over their number. So many
 * routes do not hide a few links, and of two that explain alike the simpler
 * is taken.
 *
 * All but H_kk is a sparse product for a candidate; H_kk would need a system
 * solved for each. It is estimated for all at once from draws z* of what
 * healthy rows look like (model_draw), since E (d_k' z*)^2 = H_kk: their mean
 * square, averaged with what the group's candidates have on average of d_k'
 * N^-1 d_k, their bound. Only where the estimate lets a candidate compete it
 * is computed.
 *
 * Noise that the model underestimates must not look like causes: the scale is
 * taken from standardised residuals z_i / sqrt ((V^-1)_ii), each of which is
 * a row's residual against its prediction from all other rows: while there
 * may be causes left, from their lower third, which many slow rows cannot
 * move (nor a class that is off as a whole, so it is tried without those as
 * well); in the end from their median.
 *
 * Cost: a pass over all signatures per cause and candidate cause, 16 to 64
 * draws and a system for each candidate that competes.
 */
#include "config.h"
#include "core/judge/explain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/linear/linalg.h"
#include "core/linear/stats.h"

enum {
    SCALE_ENOUGH = 16, /* rows that say something on the scale */
    ROWS_PER_CAUSE = 2,
    TURNS_MAX = 4 * CAUSES_MAX,
    SWEEPS_MAX = 3,
    DRAWS_MIN = 16,
    DRAWS_MAX = 64,
    DRAWS_ROWS = 1 << 16, /* over all draws, if between these */
    DRAWS_PRIOR = 8,   /* draws that a kind's average counts as */
    DRAWS_SEED = 2,
    COMPUTE_TURNS = 3, /* of LSQ_LANES candidates that compete */
    SUSPECTS_MAX = 8 * LSQ_LANES, /* computed */
    GROUPS = SUSPECT_KINDS + 1, /* of information that is alike */
};

#define SETTLED 0.9          /* of the scale before */
#define KNOWABLE 1e-5        /* of d' N^-1 d; of less the model knows nothing */
#define INDEPENDENT 1e-4     /* less is a copy of what was chosen */
#define COMPETES 0.6         /* of the best one's gain, by the estimate */
#define SUSPECT_MARGIN 15.1  /* chi square, 1 degree, 1e-4 */
#define SUSPECT_COMPETES 0.5 /* of the cause's gain, by the estimate */

/* of `alarms` */
static const double share[SUSPECT_KINDS] = {
    [SUSPECT_LINK] = 0.15,  [SUSPECT_ARC] = 0.05,  [SUSPECT_SWITCH] = 0.05,
    [SUSPECT_CLASS] = 0.05, [SUSPECT_ROUTE] = 0.6, [SUSPECT_ROW] = 0.1,
};

struct work {
    struct explanation *ex;
    size_t nrows;
    double *d;                         /* scratch over the rows */
    double *score;                     /* [causes->n] */
    double h[CAUSES_MAX * CAUSES_MAX]; /* factor of H_SS */
    double chance[SUSPECT_KINDS];      /* z, see above */
};

static enum suspect_kind kind_of (const struct explanation *ex, size_t k)
{
    return causes_simplest (ex->causes, k)->suspect.kind;
}

static double threshold (const struct work *w, size_t k)
{
    return w->ex->scale * w->chance[kind_of (w->ex, k)];
}

/* V^-1 of a signature; NULL with errno ENOMEM. */
static double *whiten (struct work *w, size_t k)
{
    double *p = malloc ((w->nrows + 1) * sizeof (*p));

    causes_expand (w->ex->causes, k, w->d, w->nrows);
    if (!p || model_whiten (w->ex->model, w->d, 1, p) < 0) {
        free (p);
        return NULL;
    }
    return p;
}

/* d' N^-1 d, which d' V^-1 d is less than. */
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

    ex->info[k] = info < KNOWABLE * bound ? 0 : fmin (info, bound);
}

/* Compute the information of n signatures, at most LSQ_LANES. */
static int compute_info (struct work *w, const size_t *k, size_t n)
{
    size_t size = n * w->nrows + 1;
    double *d = calloc (size, sizeof (*d));
    double *p = malloc (size * sizeof (*p));
    int rc = -1;

    if (!d || !p)
        goto done;
    for (size_t i = 0; i < n; i++)
        causes_expand (w->ex->causes, k[i], d + i * w->nrows, w->nrows);
    if (model_whiten (w->ex->model, d, n, p) < 0)
        goto done;
    for (size_t i = 0; i < n; i++) {
        set_info (w->ex, k[i],
                  causes_dot (w->ex->causes, k[i], p + i * w->nrows));
        w->ex->exact[k[i]] = true;
    }
    rc = 0;
done:
    free (d);
    free (p);
    return rc;
}

/* Estimate all causes anew; z becomes what they leave over. */
static int refit (struct work *w)
{
    struct explanation *ex = w->ex;
    size_t n = ex->n;
    double e[CAUSES_MAX];

    for (size_t i = 0; i < n; i++) {
        size_t k = ex->cause[i].signature;

        for (size_t j = 0; j <= i; j++)
            w->h[i * n + j] = causes_dot (ex->causes, k, ex->cause[j].p);
        e[i] = causes_dot (ex->causes, k, ex->unexplained);
    }
    if (linalg_cholesky (w->h, n) < 0)
        return -1;
    linalg_solve (w->h, n, e);
    memcpy (ex->z, ex->unexplained, w->nrows * sizeof (*ex->z));
    for (size_t i = 0; i < n; i++) {
        double unit = causes_simplest (ex->causes, ex->cause[i].signature)
                          ->unit;
        double column[CAUSES_MAX] = { 0 };

        column[i] = 1;
        linalg_solve (w->h, n, column);
        ex->cause[i].excess_ns = e[i] / unit;
        ex->cause[i].stderr_ns = sqrt (column[i]) / unit;
        for (size_t r = 0; r < w->nrows; r++)
            ex->z[r] -= e[i] * ex->cause[i].p[r];
    }
    return 0;
}

/* What is slow takes more time. But routes and classes differ either way; and so
 * do a host and a row, of which the baseline may have seen a slow day.
 */
static bool is_excess (const struct explanation *ex, size_t k)
{
    const struct causes *c = ex->causes;
    const struct suspect *s = &causes_simplest (c, k)->suspect;

    if (c->start[k + 1] - c->start[k] == 1)
        return false;
    if (s->kind == SUSPECT_LINK)
        return c->detours.net->link[s->index].kind != LINK_HOST;
    return s->kind == SUSPECT_ARC || s->kind == SUSPECT_SWITCH;
}

/* What others' traffic may have added to all rows of a signature alike, of its
 * simplest member.
 */
static double doubt_of (const struct explanation *ex, size_t k)
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

/* Let standard errors have the noise's scale and traffic in them. */
static void widen_errors (struct explanation *ex)
{
    for (size_t i = 0; i < ex->n; i++)
        ex->cause[i].stderr_ns
            = hypot (ex->cause[i].stderr_ns * ex->scale,
                     doubt_of (ex, ex->cause[i].signature));
}

/* Information on signature k beside all causes. */
static double information (const struct work *w, size_t k)
{
    const struct explanation *ex = w->ex;
    double left = ex->info[k];
    double v[CAUSES_MAX];

    for (size_t i = 0; i < ex->n; i++)
        v[i] = causes_dot (ex->causes, k, ex->cause[i].p);
    /* forward substitution alone: |L^-1 v|^2 = v' H^-1 v */
    for (size_t i = 0; i < ex->n; i++) {
        v[i] = (v[i] - linalg_dot (w->h + i * ex->n, v, i))
               / w->h[i * ex->n + i];
        left -= v[i] * v[i];
    }
    return left;
}

/* How much chi square improves by signature k. */
static double gain (const struct work *w, size_t k)
{
    const struct explanation *ex = w->ex;
    double h = ex->info[k];
    double left;
    double b = causes_dot (ex->causes, k, ex->z);

    if (!(h > 0) || (b < 0 && is_excess (ex, k)))
        return 0;
    left = information (w, k);
    if (left < INDEPENDENT * h) {
        /* of an estimate it proves nothing but that it is too small */
        if (ex->exact[k] || ex->n == 0)
            return 0;
        left = h;
    }
    return b * b / left;
}

static double score_of (const struct work *w, size_t k, double gain)
{
    double t = threshold (w, k);

    return gain - t * t;
}

/* The best LSQ_LANES of those above a score whose information is estimated. */
static size_t list_rivals (const struct work *w, double above, size_t *list)
{
    size_t n = 0;

    for (size_t k = 0; k < w->ex->causes->n; k++) {
        size_t i = n;

        if (w->ex->exact[k] || w->score[k] <= above)
            continue;
        while (i > 0 && w->score[list[i - 1]] < w->score[k])
            i--;
        if (i == LSQ_LANES)
            continue;
        n = n < LSQ_LANES ? n + 1 : n;
        memmove (list + i + 1, list + i, (n - 1 - i) * sizeof (*list));
        list[i] = k;
    }
    return n;
}

/* Find the signature of the best score; *best is SIZE_MAX where none is
 * positive. Return 0, or -1 with errno ENOMEM.
 */
static int best_cause (struct work *w, size_t *best, double *most)
{
    struct explanation *ex = w->ex;
    size_t n = ex->causes->n;

    *best = SIZE_MAX;
    *most = 0;
    for (size_t k = 0; k < n; k++) {
        double g = gain (w, k);

        /* what may be more than estimated competes */
        w->score[k] = score_of (w, k, ex->exact[k] ? g : g / COMPETES);
        if (ex->exact[k] && w->score[k] > *most) {
            *most = w->score[k];
            *best = k;
        }
    }
    for (int turn = 0; turn < COMPUTE_TURNS; turn++) {
        size_t next[LSQ_LANES];
        size_t k = list_rivals (w, *most, next);

        if (k == 0)
            break;
        if (compute_info (w, next, k) < 0)
            return -1;
        for (size_t i = 0; i < k; i++) {
            w->score[next[i]] = score_of (w, next[i], gain (w, next[i]));
            if (w->score[next[i]] > *most) {
                *most = w->score[next[i]];
                *best = next[i];
            }
        }
    }
    return 0;
}

static int add (struct work *w, size_t k)
{
    struct cause *c = &w->ex->cause[w->ex->n];

    *c = (struct cause){ .signature = k, .p = whiten (w, k) };
    if (!c->p)
        return -1;
    set_info (w->ex, k, causes_dot (w->ex->causes, k, c->p));
    w->ex->exact[k] = true;
    w->ex->n++;
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
    double least = 1;
    size_t who = ex->n;

    for (size_t i = 0; i < ex->n; i++) {
        const struct cause *c = &ex->cause[i];
        double ns = is_excess (ex, c->signature) ? c->excess_ns
                                                 : fabs (c->excess_ns);
        double t = ns / c->stderr_ns / threshold (w, c->signature);

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
    size_t most = w->nrows / ROWS_PER_CAUSE;

    if (most < 1)
        most = 1;
    if (most > CAUSES_MAX)
        most = CAUSES_MAX;
    for (int turn = 0; turn < TURNS_MAX; turn++) {
        double score;
        size_t k;
        int rc;

        if (best_cause (w, &k, &score) < 0)
            return -1;
        if (k == SIZE_MAX)
            return 0;
        if (ex->n == most)
            break;
        if (add (w, k) < 0)
            return -1;
        while ((rc = drop_one (w)) > 0)
            ;
        if (rc < 0)
            return -1;
    }
    ex->full = true;
    return 0;
}

/* Put a cause back where it was taken out: what had a factor in that order has
 * it again, whereas in another one it may be singular by rounding.
 */
static void put_back (struct work *w, size_t i, struct cause c)
{
    struct explanation *ex = w->ex;

    memmove (&ex->cause[i + 1], &ex->cause[i],
             (ex->n++ - i) * sizeof (ex->cause[0]));
    ex->cause[i] = c;
}

/* Exchange causes for better ones. */
static int exchange (struct work *w)
{
    struct explanation *ex = w->ex;
    bool changed = ex->n > 1;

    for (int sweep = 0; sweep < SWEEPS_MAX && changed; sweep++) {
        size_t i = 0;

        changed = false;
        for (size_t left = ex->n; left > 0; left--) {
            struct cause old = take (w, i);
            double score;
            size_t new;

            if (refit (w) < 0 || best_cause (w, &new, &score) < 0) {
                free (old.p);
                return -1;
            }
            if (new != SIZE_MAX && new != old.signature) {
                free (old.p);
                changed = true;
                if (add (w, new) < 0)
                    return -1;
                continue;
            }
            put_back (w, i++, old);
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
    const struct explanation *ex = w->ex;
    double *v = w->d;
    size_t n = 0;

    for (size_t i = 0; i < w->nrows; i++)
        if (ex->row_info[i] > 0)
            v[n++] = fabs (ex->z[i]) / sqrt (ex->row_info[i]);
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

    for (size_t k = 0; k < ex->causes->n && ex->n < CAUSES_MAX && rc == 0;
         k++) {
        if (kind_of (ex, k) != SUSPECT_CLASS)
            continue;
        rc = compute_info (w, &k, 1);
        if (rc == 0 && gain (w, k) > 0)
            rc = add (w, k);
    }
    ex->scale = fmin (scale, lower_third (w));
    while (ex->n > 0)
        free (take (w, ex->n - 1).p);
    return rc < 0 ? -1 : refit (w);
}

static void add_draw (struct explanation *ex, const double *z)
{
    for (size_t r = 0; r < ex->model->nrows; r++)
        ex->row_info[r] += z[r] * z[r];
    for (size_t k = 0; k < ex->causes->n; k++) {
        double b = causes_dot (ex->causes, k, z);

        ex->info[k] += b * b;
    }
}

/* Signatures of which the model knows about as much: of a host end, whose offset
 * in the run is not known, less than of other links.
 */
static int group_of (const struct explanation *ex, size_t k)
{
    const struct suspect *s = &causes_simplest (ex->causes, k)->suspect;

    if (s->kind == SUSPECT_LINK
        && ex->causes->detours.net->link[s->index].kind == LINK_HOST)
        return SUSPECT_KINDS;
    return s->kind;
}

/* Estimate all information from draws. */
static int sketch (struct work *w)
{
    struct explanation *ex = w->ex;
    const struct causes *causes = ex->causes;
    const struct observation *row = ex->model->obs->v;
    double *z = malloc ((LSQ_LANES * w->nrows + 1) * sizeof (*z));
    double sum[GROUPS] = { 0 };
    double sum_bound[GROUPS] = { 0 };
    double rows = 0;
    size_t draws = DRAWS_ROWS / (w->nrows + 1);
    struct rng rng;
    int rc = -1;

    if (draws < DRAWS_MIN)
        draws = DRAWS_MIN;
    if (draws > DRAWS_MAX)
        draws = DRAWS_MAX;
    if (!z)
        return -1;
    rng_seed (&rng, DRAWS_SEED);
    for (size_t i = 0; i < draws * w->nrows; i += w->nrows) {
        if (i % (LSQ_LANES * w->nrows) == 0
            && model_draw (ex->model, &rng, LSQ_LANES, z) < 0)
            goto done;
        add_draw (ex, z + i % (LSQ_LANES * w->nrows));
    }
    for (size_t r = 0; r < w->nrows; r++)
        rows += ex->row_info[r] * row[r].var / (double)(w->nrows * draws);
    for (size_t r = 0; r < w->nrows; r++)
        ex->row_info[r] = (ex->row_info[r] + DRAWS_PRIOR * rows / row[r].var)
                          / (double)(draws + DRAWS_PRIOR);
    for (size_t k = 0; k < causes->n; k++) {
        sum[group_of (ex, k)] += ex->info[k] / (double)draws;
        sum_bound[group_of (ex, k)] += bound_of (ex, k);
    }
    for (size_t k = 0; k < causes->n; k++) {
        int group = group_of (ex, k);
        double mean = bound_of (ex, k) * sum[group] / sum_bound[group];

        set_info (ex, k, (ex->info[k] + DRAWS_PRIOR * mean)
                             / (double)(draws + DRAWS_PRIOR));
    }
    rc = 0;
done:
    free (z);
    return rc;
}

static int work_open (struct work *w, struct explanation *ex)
{
    w->ex = ex;
    w->nrows = ex->model->nrows;
    w->d = malloc ((w->nrows + 1) * sizeof (*w->d));
    w->score = malloc ((ex->causes->n + 1) * sizeof (*w->score));
    return w->d && w->score ? 0 : -1;
}

static void work_close (struct work *w)
{
    if (w) {
        free (w->d);
        free (w->score);
        free (w);
    }
}

static int explanation_open (struct explanation *ex,
                             const struct model *model,
                             const struct causes *causes)
{
    size_t n = model->nrows + 1;

    *ex = (struct explanation){
        .model = model,
        .causes = causes,
        .scale = 1,
        .z = malloc (n * sizeof (double)),
        .unexplained = malloc (n * sizeof (double)),
        .row_info = calloc (n, sizeof (double)),
        .info = calloc (causes->n + 1, sizeof (double)),
        .exact = calloc (causes->n + 1, sizeof (bool)),
    };
    return ex->z && ex->unexplained && ex->row_info && ex->info && ex->exact
               ? 0
               : -1;
}

int explain (struct explanation *ex, const struct model *model,
             const struct causes *causes, double alarms)
{
    struct work *w = calloc (1, sizeof (*w));
    double scale;
    int rc = -1;

    if (explanation_open (ex, model, causes) < 0 || !w
        || work_open (w, ex) < 0)
        goto done;
    for (int kind = 0; kind < SUSPECT_KINDS; kind++)
        if (causes->kind[kind] > 0)
            w->chance[kind] = stats_normal_two_sided (
                alarms * share[kind] / (double)causes->kind[kind]);
    model_residual (model, w->d);
    if (model_whiten (model, w->d, 1, ex->unexplained) < 0 || sketch (w) < 0)
        goto done;
    memcpy (ex->z, ex->unexplained, w->nrows * sizeof (*ex->z));
    if (first_scale (w) < 0)
        goto done;
    /* what is explained no longer passes for noise */
    do {
        scale = ex->scale;
        ex->full = false;
        if (forward (w) < 0 || exchange (w) < 0)
            goto done;
        ex->scale = lower_third (w);
    } while (ex->scale < SETTLED * scale);
    ex->scale = noise_scale (w, 0.5, 0.6745);
    /* nor is a cause what the noise left over would do as well */
    while ((rc = drop_one (w)) > 0)
        ;
    if (rc < 0)
        goto done;
    widen_errors (ex);
    rc = 0;
done:
    work_close (w);
    return rc;
}

void explanation_clear (struct explanation *ex)
{
    for (size_t i = 0; i < ex->n; i++)
        free (ex->cause[i].p);
    free (ex->z);
    free (ex->unexplained);
    free (ex->row_info);
    free (ex->info);
    free (ex->exact);
    *ex = (struct explanation){ 0 };
}

/*
 * Suspects
 */

struct ranked {
    double gain;
    size_t signature;
};

static int compare_ranked (const void *va, const void *vb)
{
    const struct ranked *a = va;
    const struct ranked *b = vb;

    if (a->gain != b->gain)
        return a->gain > b->gain ? -1 : 1;
    return (a->signature > b->signature) - (a->signature < b->signature);
}

/* The same explanation without cause c; its z is the caller's. */
static int leave_out (struct work *w, struct explanation *others, size_t c)
{
    others->z = malloc ((others->model->nrows + 1) * sizeof (*others->z));
    if (!others->z || work_open (w, others) < 0)
        return -1;
    take (w, c);
    return refit (w);
}

/* Signatures that may explain what `self` does, the best first by what is
 * known of them.
 */
static size_t rank_rivals (struct work *w, size_t self, bool positive,
                           double own, struct ranked *v)
{
    size_t n = 0;

    for (size_t k = 0; k < w->ex->causes->n; k++) {
        double g = gain (w, k);

        if (k != self && g > SUSPECT_COMPETES * own
            && (causes_dot (w->ex->causes, k, w->ex->z) > 0) == positive)
            v[n++] = (struct ranked){ g, k };
    }
    qsort (v, n, sizeof (*v), compare_ranked);
    return n;
}

/* Compute the gains of the first n. */
static int compute_ranked (struct work *w, struct ranked *v, size_t n)
{
    for (size_t i = 0; i < n;) {
        size_t next[LSQ_LANES];
        size_t k = 0;

        for (; i < n && k < LSQ_LANES; i++)
            if (!w->ex->exact[v[i].signature])
                next[k++] = v[i].signature;
        if (k > 0 && compute_info (w, next, k) < 0)
            return -1;
    }
    for (size_t i = 0; i < n; i++)
        v[i].gain = gain (w, v[i].signature);
    return 0;
}

static struct rival make_rival (const struct work *w, size_t k, double less)
{
    const struct explanation *ex = w->ex;
    double b = causes_dot (ex->causes, k, ex->z);
    double g = gain (w, k);

    if (!(g > 0)) /* the cause's own, by rounding: it is a copy of others */
        return (struct rival){ .signature = k, .less = less };
    b *= causes_simplest (ex->causes, k)->unit;
    return (struct rival){
        .signature = k,
        .less = less,
        .excess_ns = g / b,
        .stderr_ns = hypot (ex->scale * sqrt (g) / b, doubt_of (ex, k)),
    };
}

struct rival *explain_suspects (struct explanation *ex, size_t c, size_t *n)
{
    struct explanation others = *ex;
    size_t self = ex->cause[c].signature;
    struct work *w = calloc (1, sizeof (*w));
    struct ranked *v = malloc ((ex->causes->n + 1) * sizeof (*v));
    struct rival *list = malloc ((ex->causes->n + 1) * sizeof (*list));
    size_t rivals;
    size_t k = 0;
    double own;

    others.z = NULL;
    if (!w || !v || !list || leave_out (w, &others, c) < 0)
        goto error;
    own = gain (w, self);
    rivals = rank_rivals (w, self, ex->cause[c].excess_ns > 0, own, v);
    if (compute_ranked (w, v, rivals < SUSPECTS_MAX ? rivals : SUSPECTS_MAX)
        < 0)
        goto error;
    qsort (v, rivals, sizeof (*v), compare_ranked);
    list[k++] = make_rival (w, self, 0);
    for (size_t i = 0; i < rivals; i++)
        if (own - v[i].gain <= SUSPECT_MARGIN * ex->scale * ex->scale)
            list[k++] = make_rival (w, v[i].signature, own - v[i].gain);
    *n = k;
    goto done;
error:
    free (list);
    list = NULL;
done:
    free (others.z);
    free (v);
    work_close (w);
    return list;
}

int explain_swap (struct explanation *ex, size_t c, size_t signature)
{
    struct work *w = calloc (1, sizeof (*w));
    int rc = -1;

    if (w && work_open (w, ex) == 0) {
        double *p = whiten (w, signature);

        if (p) {
            free (ex->cause[c].p);
            ex->cause[c].p = p;
            ex->cause[c].signature = signature;
            rc = refit (w);
            widen_errors (ex);
        }
    }
    work_close (w);
    return rc;
}

/*
 * Bounds
 */

int explain_bounds (struct explanation *ex, double sd, double enough,
                    double *upper)
{
    struct work *w = calloc (1, sizeof (*w));
    size_t next[LSQ_LANES];
    size_t n = 0;
    int rc = -1;

    if (!w || work_open (w, ex) < 0 || refit (w) < 0)
        goto done;
    for (int turn = 0; turn < 2; turn++)
        for (size_t k = 0; k < ex->causes->n; k++) {
            const struct member *m = causes_simplest (ex->causes, k);
            double left;

            if (m->suspect.kind != SUSPECT_LINK)
                continue;
            left = ex->info[k] > 0 ? information (w, k) : 0;
            upper[k] = INFINITY;
            for (size_t i = 0; i < ex->n; i++)
                if (ex->cause[i].signature == k)
                    upper[k] = fmax (ex->cause[i].excess_ns, 0)
                               + sd * hypot (ex->cause[i].stderr_ns * ex->scale,
                                             doubt_of (ex, k));
            if (left > INDEPENDENT * ex->info[k])
                upper[k] = (fmax (causes_dot (ex->causes, k, ex->z) / left, 0)
                            + sd * ex->scale / sqrt (left)) / m->unit;
            /* about: worth knowing better where it matters */
            if (turn == 0 && !ex->exact[k] && upper[k] > enough / 2)
                next[n++] = k;
            if (n > 0 && (n == LSQ_LANES || k + 1 == ex->causes->n)) {
                if (compute_info (w, next, n) < 0)
                    goto done;
                n = 0;
            }
        }
    rc = 0;
done:
    widen_errors (ex); /* refit has them without */
    work_close (w);
    return rc;
}
