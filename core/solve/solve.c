/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes on the method.
 *
 * Let A be the measured rows, t their RTTs, x the links' latencies, A x = t up
 * to noise. A usually has less than full column rank: only combinations of
 * links are determined. Let R be the reduced row echelon form of A and P its
 * pivot columns; R's rows with one entry are determined links, the others
 * groups. Since R has the identity in its pivot columns,
 *
 *     A = A_P R     and so     A x = A_P y     with y = R x,
 *
 * exactly, where A_P (the columns of A at the pivots) is sparse, has small
 * integers, and is of full column rank. So R's coefficients, perhaps large
 * fractions, are not needed: least squares for y is
 *
 *     A_P' W A_P y = A_P' W t,     W = diag (1 / variance),
 *
 * solved by linear/lsq to a fraction of the noise. Any row a in the span has
 * the latency a_P . y, of variance a_P' C a_P with C = (A_P' W A_P)^-1: this is
 * the RTT of every pair, if the rank is full, even if its links are not
 * resolved.
 *
 * Only R can take long: rows that determine few links leave groups of
 * thousands. R is needed neither for P nor to find the determined links, where
 * a random null vector is 0; so if R takes too much work, groups are left out.
 * If elimination takes long and there are enough rows, a random z is solved for:
 * A determines all links if and only if the solution for A z is z.
 *
 * If links changed between the measurements, rows contradict each other more
 * than the noise suggests. With `local` each link's variance is multiplied by
 * the mean square residual of the rows across it, in units of the noise and of
 * the share of its variance that residuals have, with MISFIT_PRIOR rows that
 * fit added.
 *
 * Without any spread of the repeats all rows have the same weight, and the
 * variance is estimated from the residual, if there are more rows than the
 * rank; otherwise no standard error is known.
 */
#include "config.h"
#include "core/solve/solve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/linear/lsq.h"
#include "core/linear/sparse.h"
#include "core/paths/multipath.h"
#include "core/plan/rref.h"
#include "core/solve/splits.h"
#include "util/alloc.h"
#include "util/rng.h"
#include "util/sort.h"
#include "util/terminal.h"

enum {
    WORK_MAX = 300 * 1000 * 1000,   /* of elimination; after */
    ASK_AFTER_ENTRIES = 20,         /* ... times the entries of the rows */
    ASK_ITERATIONS = 500,           /* ... it is asked if all is determined */
    WORK_GROUPS = 20 * 1000 * 1000, /* to find the groups */
    MISFIT_PRIOR = 4,               /* rows */
    SEED = 1,
    PREDICT_EXACT_MAX = 300, /* unknowns */
    PREDICT_SKETCH = 16,
    PREDICT_WORST = 24,
    PREDICT_WORK = 20 * 1000 * 1000,    /* of elimination, twice */
    PREDICT_ENTRIES = 60 * 1000 * 1000, /* entries times iterations, or */
    PREDICT_ITERATIONS = 300,           /* so many iterations, if more */
};

#define FIRST_TOLERANCE 1e-5 /* of the RTTs, while noise is not known yet */
#define LAST_TOLERANCE 1e-11
#define NULL_ERROR_MAX 1e-6 /* error of a random vector of size 1 */
/* tolerances of sketches, whose random errors are three times greater */
#define ROUGH_ERRORS_TOLERANCE 0.3
#define ROUGH_SHARES_TOLERANCE 1.0

struct system {
    size_t m; /* links */
    const uint32_t *link;
    size_t rank;
    int32_t *pivot;    /* [m] the unknown of a column, -1: none; NULL: all
                          columns are unknowns, and determined */
    uint64_t *null;    /* [m] a null vector: 0 for determined links */
    struct rref *form; /* reduced; NULL: groups are too large */
    struct sparse *a;  /* A_P, [rank] columns */
    double *weight;    /* 1 / variance */
    double *misfit;    /* [m] see find_misfits; NULL: not used */
    struct lsq *lsq;
    uint64_t work_max; /* for elimination */
};

static void system_clear (struct system *s)
{
    rref_destroy (s->form);
    free (s->pivot);
    free (s->null);
    sparse_destroy (s->a);
    free (s->weight);
    free (s->misfit);
    lsq_destroy (s->lsq);
}

/* The unknown of a column; -1: not a pivot. */
static int unknown_of_column (const struct system *s, uint32_t col)
{
    return s->pivot ? s->pivot[col] : (int)col;
}

/* Append a row of links to the rows of columns. */
static void add_link_row (struct sparse *a, const struct pathset *ps,
                          const uint32_t *link, const uint8_t *count, size_t n)
{
    uint32_t col[ROW_MAX];
    int8_t value[ROW_MAX];

    for (size_t i = 0; i < n; i++) {
        col[i] = (uint32_t)pathset_column (ps, link[i]);
        value[i] = (int8_t)count[i];
    }
    sparse_add (a, col, value, n);
}

/* Keep the pivots of a row of columns. Return their number. */
static size_t pivots (const struct system *s, const uint32_t *col,
                      const int8_t *value, size_t n, uint32_t *var,
                      int8_t *kept)
{
    size_t k = 0;

    for (size_t i = 0; i < n; i++) {
        int p = unknown_of_column (s, col[i]);

        if (p >= 0) {
            var[k] = (uint32_t)p;
            kept[k++] = value[i];
        }
    }
    return k;
}

/* A row, to be sorted by length and then by its entries: groups must not depend
 * on the order of measuring.
 */
struct by_length {
    size_t n;
    const uint32_t *col;
    const int8_t *value;
};

static int compare_lengths (const void *va, const void *vb)
{
    const struct by_length *a = va;
    const struct by_length *b = vb;

    if (a->n != b->n)
        return util_compare (a->n, b->n);
    for (size_t i = 0; i < a->n; i++)
        if (a->col[i] != b->col[i])
            return util_compare (a->col[i], b->col[i]);
    return memcmp (a->value, b->value, a->n);
}

static struct sparse *sort_sparse_rows (const struct sparse *a)
{
    struct by_length *order = xarray (a->nrows, sizeof (*order));
    struct sparse *sorted = sparse_create (a->ncols);

    for (size_t i = 0; i < a->nrows; i++)
        order[i] = (struct by_length){
            .n = a->start[i + 1] - a->start[i],
            .col = a->col + a->start[i],
            .value = a->value + a->start[i],
        };
    qsort (order, a->nrows, sizeof (*order), compare_lengths);
    for (size_t i = 0; i < a->nrows; i++)
        sparse_add (sorted, order[i].col, order[i].value, order[i].n);
    free (order);
    return sorted;
}

static bool determines_all (const struct sparse *a,
                            const struct sparse *splits)
{
    struct lsq *q = lsq_create (a, NULL);
    double *z = xcalloc (2 * a->ncols + a->nrows, sizeof (*z));
    double *y = z + a->ncols;
    double *t = y + a->ncols;
    bool all = q != NULL; /* NULL: there is a column without entries */
    struct rng rng;

    rng_seed (&rng, SEED);
    for (size_t j = 0; j < a->ncols; j++)
        z[j] = rng_normal (&rng);
    sparse_times (a, z, t);
    if (q) {
        lsq_correct (q, splits);
        lsq_limit (q, ASK_ITERATIONS);
    }
    /* most that are not given back show it at once */
    for (int i = 0; i < 2 && all; i++) {
        all = lsq_solve (q, t, i == 0 ? LSQ_FINE : LSQ_EXACT, y) == 0;
        for (size_t j = 0; j < a->ncols; j++)
            all = all && fabs (y[j] - z[j]) <= (i == 0 ? 0.1 : NULL_ERROR_MAX);
    }
    lsq_destroy (q);
    free (z);
    return all;
}

/* The order in which to eliminate rows, which are sorted by length. Rows that have
 * a column of their own, or one that only rows after them have, come last: they
 * cost nothing. The caller frees it.
 */
static size_t *elimination_order (const struct sparse *a)
{
    struct sparse *rows = sparse_transpose (a); /* by column */
    size_t *order = xarray (a->nrows, sizeof (*order));
    size_t *count = xarray (a->ncols, sizeof (*count)); /* rows not yet last */
    uint32_t *single = xarray (a->ncols, sizeof (*single));
    bool *placed = xcalloc (a->nrows, sizeof (*placed));
    size_t n = 0, last = a->nrows;

    for (uint32_t c = (uint32_t)a->ncols; c-- > 0;) {
        count[c] = rows->start[c + 1] - rows->start[c];
        if (count[c] == 1)
            single[n++] = c;
    }
    while (n > 0) {
        uint32_t c = single[--n];
        size_t e = rows->start[c], i;

        if (count[c] == 0)
            continue;
        while (placed[rows->col[e]])
            e++;
        i = order[--last] = rows->col[e];
        placed[i] = true;
        for (e = a->start[i]; e < a->start[i + 1]; e++)
            if (--count[a->col[e]] == 1)
                single[n++] = a->col[e];
    }
    for (size_t i = 0; i < a->nrows; i++)
        if (!placed[i])
            order[n++] = i;
    sparse_destroy (rows);
    free (count);
    free (single);
    free (placed);
    return order;
}

/* Eliminate rows. Return 1: all; 0: not all, as they determine all columns; -1:
 * this is too much work.
 */
static int eliminate_system_rows (struct system *s, const struct sparse *rows,
                                  const struct sparse *splits)
{
    struct sparse *a = sort_sparse_rows (rows);
    struct rng rng;
    struct screen form = { s->form, &rng };
    uint64_t work = 0, ask = ASK_AFTER_ENTRIES * a->start[a->nrows];
    size_t *order;
    int rc = 1;

    rng_seed (&rng, SEED);
    screen_draw (&form);
    order = elimination_order (a);
    for (size_t k = 0;
         k < a->nrows && rc == 1 && rref_rank (s->form) < a->ncols; k++) {
        size_t i = order[k], first = a->start[i];

        screen_add (&form, a->col + first, (const uint8_t *)a->value + first,
                    a->start[i + 1] - first);
        work = rref_work (s->form) + form.work;
        if (work > s->work_max)
            rc = -1;
        else if (work > ask) {
            ask = UINT64_MAX;
            rc = a->nrows < a->ncols || !determines_all (rows, splits);
        }
    }
    free (order);
    free (form.z);
    sparse_destroy (a);
    return rc;
}

/* Find the unknowns, and what is determined; s->form remains if it is reduced
 * with little work. 0; 1 with err if all is too much work.
 */
static int make_form (struct system *s, const struct sparse *rows,
                      const struct sparse *splits, struct error *err)
{
    size_t ncols = rows->ncols;
    struct rng rng;
    int rc;

    s->form = rref_create (ncols);
    rc = eliminate_system_rows (s, rows, splits);
    if (rc < 0) {
        error_world (err,
                     "these %zu rows take too much work to tell what they "
                     "determine",
                     rows->nrows);
        return 1;
    }
    s->rank = rc > 0 ? rref_rank (s->form) : ncols;
    if (s->rank < ncols) {
        s->pivot = xarray (ncols, sizeof (*s->pivot));
        s->null = xcalloc (ncols, sizeof (*s->null));
        for (size_t c = 0; c < ncols; c++)
            s->pivot[c] = rref_pivot (s->form, (uint32_t)c);
        rng_seed (&rng, SEED);
        rref_null (s->form, &rng, s->null);
    }
    if (s->rank == ncols || !rref_reduce_within (s->form, WORK_GROUPS)) {
        rref_destroy (s->form);
        s->form = NULL;
    }
    return 0;
}

static int solve_ill_conditioned (struct error *err)
{
    return error_world (err, "the rows are too ill-conditioned to solve");
}

/* The rows of unknowns; takes those of columns. */
static struct sparse *rows_of_unknowns (const struct system *s,
                                        struct sparse *rows)
{
    struct sparse *a;
    uint32_t *var;
    int8_t *kept;

    if (!s->pivot)
        return rows;
    a = sparse_create (s->rank);
    var = xarray (s->rank, sizeof (*var));
    kept = xarray (s->rank, sizeof (*kept));
    for (size_t i = 0; i < rows->nrows; i++) {
        size_t first = rows->start[i];

        sparse_add (a, var, kept,
                    pivots (s, rows->col + first, rows->value + first,
                            rows->start[i + 1] - first, var, kept));
    }
    sparse_destroy (rows);
    free (var);
    free (kept);
    return a;
}

/* Set up for rows of weights w; takes both. As make_form, or -1 with err. */
static int system_make (struct system *s, const struct network *net,
                        struct sparse *rows, double *w, bool determined,
                        struct error *err)
{
    struct sparse *splits = splits_make (net, s->link, s->m);
    int rc = 0;

    s->weight = w;
    s->rank = rows->ncols;
    if (!determined)
        rc = make_form (s, rows, splits, err);
    s->a = rows_of_unknowns (s, rows);
    splits = rows_of_unknowns (s, splits);
    if (rc == 0 && !(s->lsq = lsq_create (s->a, s->weight)))
        rc = solve_ill_conditioned (err);
    if (rc == 0)
        lsq_correct (s->lsq, splits);
    sparse_destroy (splits);
    return rc;
}

/* The observed rows, and their RTTs in t, which the caller frees. */
static int system_observed (struct system *s, struct pathset *ps,
                            const struct observations *o, double **t,
                            struct error *err)
{
    struct sparse *rows;
    double *w;

    if (!(s->link = pathset_links (ps, &s->m, err)))
        return -1;
    w = xarray (o->n, sizeof (*w));
    *t = xarray (o->n, sizeof (**t));
    rows = sparse_create (s->m);
    for (size_t i = 0; i < o->n; i++) {
        const struct observation *row = &o->v[i];

        add_link_row (rows, ps, row->link, row->count, row->n);
        w[i] = 1 / row->var;
        (*t)[i] = row->rtt_ns;
    }
    return system_make (s, pathset_network (ps), rows, w, false, err);
}

/* NULL: ill-conditioned. */
static struct covariance *covariance_with (const struct system *s,
                                           size_t sketch, size_t worst,
                                           double tolerance)
{
    const struct covariance_options opts = {
        .exact = SOLVE_EXACT_MAX,
        .sketch = sketch,
        .worst = worst,
        .tolerance = tolerance,
        .seed = SEED,
    };

    return covariance_create (s->a, s->weight, s->lsq, &opts);
}

/* Sum of w r^2 of the residuals. */
static double weighted_square_sum (const struct system *s, const double *t,
                                   const double *y)
{
    double sum = 0;

    for (size_t i = 0; i < s->a->nrows; i++) {
        double r = t[i] - sparse_row_dot (s->a, i, y);

        sum += s->weight[i] * r * r;
    }
    return sum;
}

/* Find y. With few unknowns: to the last digit. Otherwise close in units of the
 * noise, which is 1, or of the residual if the noise is not known. *tolerance
 * is set to the final one.
 */
static int find_minimum (const struct system *s, const double *t, bool noisy,
                         double *y, double *tolerance)
{
    double dof = (double)(s->a->nrows - s->rank);
    double least = LAST_TOLERANCE * sqrt (weighted_square_sum (s, t, y));

    *tolerance = noisy ? LSQ_CLOSE : FIRST_TOLERANCE / LAST_TOLERANCE * least;
    for (;;) {
        double close;

        if (*tolerance < least || dof == 0 || s->rank <= SOLVE_EXACT_MAX)
            *tolerance = LSQ_EXACT;
        if (lsq_solve (s->lsq, t, *tolerance, y) < 0)
            return -1;
        close = LSQ_CLOSE * sqrt (weighted_square_sum (s, t, y) / dof);
        if (noisy || *tolerance == LSQ_EXACT || *tolerance <= close)
            return 0;
        *tolerance = close / 2;
    }
}

/* Lower the weights of rows that do not fit. *outliers: how many fell to a
 * quarter.
 */
static int lower_weights (struct system *s, const double *t, enum robust method,
                          double scale_min, double tolerance, double *y,
                          size_t *outliers)
{
    size_t n = s->a->nrows;
    struct covariance *c
        = covariance_with (s, SOLVE_SHARES, 0, ROUGH_SHARES_TOLERANCE);
    double *base, *share;
    int rc;

    if (!c)
        return -1;
    base = xarray (n, sizeof (*base));
    share = xarray (n, sizeof (*share));
    memcpy (base, s->weight, n * sizeof (*base));
    covariance_redundancy (c, s->a, s->weight, share);
    rc = robust_solve (s->lsq, s->a, t, share, method, scale_min, tolerance,
                       s->weight, y);
    for (size_t i = 0; i < n && rc == 0; i++)
        *outliers += s->weight[i] < base[i] / 4;
    free (base);
    free (share);
    covariance_destroy (c);
    return rc;
}

/* Find y and its covariance, with the weights of the robust method. */
static int least_squares (struct system *s, const double *t, bool noisy,
                          const struct solve_options *opts, double *y,
                          struct covariance **c, size_t *outliers)
{
    double tolerance;

    if (find_minimum (s, t, noisy, y, &tolerance) < 0)
        return -1;
    if (opts->bare)
        return 0;
    if (opts->robust != ROBUST_NONE
        && lower_weights (s, t, opts->robust, noisy ? 1 : 0, tolerance, y,
                          outliers) < 0)
        return -1;
    *c = covariance_with (s, SOLVE_SKETCH, SOLVE_WORST, ROUGH_ERRORS_TOLERANCE);
    return *c ? 0 : -1;
}

/* Fill in the residual and what follows; return the factor of variances. */
static double assess (struct solution *sol, const struct system *s,
                      const double *t, bool noisy, const double *y)
{
    size_t n = s->a->nrows;
    double weight = 0;
    double mean = 0;
    double rss = 0;
    double wrss = 0;
    double wtss = 0;

    for (size_t i = 0; i < n; i++) {
        weight += s->weight[i];
        mean += s->weight[i] * t[i];
    }
    mean /= weight;
    for (size_t i = 0; i < n; i++) {
        double r = t[i] - sparse_row_dot (s->a, i, y);

        rss += r * r;
        wrss += s->weight[i] * r * r;
        wtss += s->weight[i] * pow (t[i] - mean, 2);
    }
    sol->rows = n;
    sol->rank = s->rank;
    sol->dof = n - s->rank;
    sol->residual_ns = sqrt (rss / (double)n);
    sol->r2 = sol->dof > 0 && wtss > 0 ? 1 - wrss / wtss : NAN;
    if (noisy)
        return 1;
    return sol->dof > 0 ? wrss / (double)sol->dof : NAN;
}

/* The factor for the variance of each column, from the residuals of its rows.
 */
static double *find_misfits (const struct system *s, const struct pathset *ps,
                             const struct observations *o, const double *y)
{
    double share = (double)(s->a->nrows - s->rank) / (double)s->a->nrows;
    double *sum = xcalloc (2 * s->m, sizeof (*sum));
    double *n = sum + s->m;

    for (size_t i = 0; i < o->n; i++) {
        double r = o->v[i].rtt_ns - sparse_row_dot (s->a, i, y);

        for (size_t k = 0; k < o->v[i].n; k++) {
            int j = pathset_column (ps, o->v[i].link[k]);

            sum[j] += r * r / o->v[i].var;
            n[j] += share;
        }
    }
    for (size_t j = 0; j < s->m; j++)
        sum[j] = fmax ((sum[j] + MISFIT_PRIOR) / (n[j] + MISFIT_PRIOR), 1);
    return sum;
}

static double misfit_of (const struct system *s, uint32_t col)
{
    return s->misfit ? s->misfit[col] : 1;
}

static double stderr_of (const struct covariance *c, double factor, size_t i)
{
    return c ? sqrt (factor * covariance_variance (c, i)) : NAN;
}

/* The determined links; where[i]: unknown of link i, or NETWORK_NONE. */
static void fill_links (struct solution *sol, const struct system *s,
                        const double *y, const struct covariance *c,
                        double factor, uint32_t *where)
{
    sol->link = pool_alloc (sol->pool, s->m, sizeof (*sol->link));
    sol->nlinks = s->m;
    for (uint32_t j = 0; j < s->m; j++) {
        struct link_estimate *l = &sol->link[j];

        *l = (struct link_estimate){ s->link[j], NAN, NAN };
        where[j] = NETWORK_NONE;
        if (s->null && s->null[j] != 0)
            continue;
        where[j] = (uint32_t)unknown_of_column (s, j);
        l->latency_ns = y[where[j]];
        l->stderr_ns = stderr_of (c, factor * misfit_of (s, j), where[j]);
    }
}

/* The other unknowns are groups. */
static void fill_groups (struct solution *sol, const struct system *s,
                         const double *y, const struct covariance *c,
                         double factor)
{
    sol->group = pool_alloc (sol->pool, s->rank, sizeof (*sol->group));
    for (uint32_t j = 0; j < s->m && s->pivot; j++) {
        struct link_group *g = &sol->group[sol->ngroups];
        const struct rref_entry *entry;
        int i = s->pivot[j];
        size_t n = SIZE_MAX;
        double worst = 1;

        if (i < 0 || s->null[j] == 0)
            continue;
        entry = s->form ? rref_row (s->form, (size_t)i, &n) : NULL;
        if (n > SOLVE_GROUP_MAX) {
            sol->unlisted++;
            continue;
        }
        g->member = pool_alloc (sol->pool, n, sizeof (*g->member));
        g->n = n;
        for (size_t k = 0; k < n; k++) {
            struct group_member *m = &g->member[k];

            worst = fmax (worst, misfit_of (s, entry[k].col));
            m->link = s->link[entry[k].col];
            if (rref_rational (entry[k].value, &m->p, &m->q) < 0)
                m->p = m->q = 0;
        }
        g->latency_ns = y[i];
        g->stderr_ns = stderr_of (c, factor * worst, (size_t)i);
        sol->ngroups++;
    }
}

static int fill_pairs (struct solution *sol, const struct system *s,
                       const struct pathset *ps, const double *y,
                       const struct covariance *c, double factor,
                       struct error *err)
{
    size_t n = pathset_size (ps);

    sol->pair = pool_alloc (sol->pool, n * (n - 1) / 2, sizeof (*sol->pair));
    for (uint32_t a = 0; a < n; a++) {
        terminal_work ("pair", a * (2 * n - a - 1) / 2, n * (n - 1) / 2);
        for (uint32_t b = a + 1; b < n; b++) {
            struct pair_estimate pair = { a, b, 0, 0 };
            struct row row;
            uint32_t col[ROW_MAX];
            uint32_t var[ROW_MAX];
            int8_t kept[ROW_MAX];
            size_t k;

            if (pathset_row (ps, a, b, &row, err) < 0)
                return -1;
            if (row.n == 0)
                continue;
            for (size_t i = 0; i < row.n; i++)
                col[i] = (uint32_t)pathset_column (ps, row.link[i]);
            if (s->null && rref_dot (col, row.count, row.n, s->null) != 0)
                continue;
            k = pivots (s, col, (const int8_t *)row.count, row.n, var, kept);
            for (size_t i = 0; i < k; i++)
                pair.rtt_ns += kept[i] * y[var[i]];
            pair.stderr_ns
                = c ? sqrt (factor * covariance_of (c, var, kept, k)) : NAN;
            sol->pair[sol->npairs++] = pair;
        }
    }
    return 0;
}

struct solution *solve_observations (struct pathset *ps,
                                     const struct observations *o,
                                     const struct solve_options *opts,
                                     struct error *err)
{
    struct system s = { .work_max = WORK_MAX };
    struct covariance *c = NULL;
    struct solution *sol = NULL;
    struct pool *pool;
    uint32_t *where = NULL;
    double *y = NULL;
    double *t = NULL;
    bool noisy = o->sigma_ns > 0;
    double factor;

    if (o->n == 0) {
        error_world (err, "no probe gave a round-trip time");
        return NULL;
    }
    terminal_work ("solving", 0, 0);
    if (system_observed (&s, ps, o, &t, err) != 0)
        goto done;
    y = xcalloc (s.rank, sizeof (*y));
    where = xarray (s.m, sizeof (*where));
    pool = pool_create ();
    sol = pool_alloc (pool, 1, sizeof (*sol));
    sol->pool = pool;
    if (least_squares (&s, t, noisy, opts, y, &c, &sol->outliers) < 0) {
        solve_ill_conditioned (err);
        goto error;
    }
    if (opts->local && noisy && c)
        s.misfit = find_misfits (&s, ps, o, y);
    factor = assess (sol, &s, t, noisy, y);
    fill_links (sol, &s, y, c, factor, where);
    fill_groups (sol, &s, y, c, factor);
    if (c)
        excess_find (sol, pathset_network (ps), where, c, factor);
    if (!opts->pairs || fill_pairs (sol, &s, ps, y, c, factor, err) == 0)
        goto done;
error:
    solution_destroy (sol);
    sol = NULL;
done:
    free (y);
    free (t);
    free (where);
    covariance_destroy (c);
    system_clear (&s);
    return sol;
}

struct solution *solve (struct pathset *ps, const struct samples *samples,
                        const struct solve_options *opts, struct error *err)
{
    struct pathset *on = NULL;
    struct multipath *paths = NULL;
    struct solution *sol = NULL;
    struct observations o = { 0 };

    if (samples->spread > 0 && pathset_network (ps)->hops) {
        const struct traffic_class as = { (unsigned int)samples->level,
                                          samples->rc > 0 };

        paths = multipath_create ((const struct pathset *const *)&ps, 1, &as,
                                  err);
        on = paths ? pathset_on (ps, &paths->network, err) : NULL;
        ps = on;
    }
    if (ps && observe (&o, ps, samples, opts->quantile,
                       &(struct accuracy){ 0 }, err)
                  == 0) {
        for (size_t i = 0; i < o.n; i++) {
            o.v[i].rtt_ns -= SWITCH_FIGURE * o.v[i].within;
            o.v[i].var += SWITCH_FIGURE * SWITCH_FIGURE * o.v[i].apart;
        }
        sol = solve_observations (ps, &o, opts, err);
    }
    observations_clear (&o);
    pathset_destroy (on);
    multipath_destroy (paths);
    return sol;
}

/* The rows of a plan. NULL with err. */
static struct sparse *planned_rows (struct system *s, struct pathset *ps,
                                    const struct plan *plan, struct error *err)
{
    struct sparse *rows;

    if (!(s->link = pathset_links (ps, &s->m, err)))
        return NULL;
    rows = sparse_create (s->m);
    for (size_t r = 0; r < plan_rounds (plan); r++) {
        size_t n;
        const struct probe *probe = plan_round (plan, r, &n);

        for (size_t i = 0; i < n; i++) {
            struct row row;

            if (pathset_row (ps, probe[i].a, probe[i].b, &row, err) < 0) {
                sparse_destroy (rows);
                return NULL;
            }
            add_link_row (rows, ps, row.link, row.count, row.n);
        }
    }
    return rows;
}

int solve_predict (struct pathset *ps, const struct plan *plan, double *rms,
                   double *max, struct error *err)
{
    static const struct covariance_options opts = {
        .exact = PREDICT_EXACT_MAX,
        .sketch = PREDICT_SKETCH,
        .worst = PREDICT_WORST,
        .tolerance = LSQ_ROUGH,
        .seed = SEED,
    };
    struct system s = { .work_max = PREDICT_WORK };
    struct covariance *c = NULL;
    struct sparse *rows;
    double sum = 0;
    int rc;

    *rms = *max = 0;
    if (plan_probes (plan) == 0)
        return 0;
    terminal_work ("predicting errors", 0, 0);
    if (!(rows = planned_rows (&s, ps, plan, err)))
        return -1;
    rc = system_make (&s, pathset_network (ps), rows, NULL,
                      plan_rank (plan) == rows->ncols, err);
    if (rc == 0) {
        size_t most = PREDICT_ENTRIES / (s.a->start[s.a->nrows] + 1);

        lsq_limit (s.lsq,
                   most > PREDICT_ITERATIONS ? most : PREDICT_ITERATIONS);
        c = covariance_create (s.a, NULL, s.lsq, &opts);
    }
    for (size_t i = 0; i < s.rank && c; i++) {
        sum += covariance_variance (c, i);
        *max = fmax (*max, covariance_variance (c, i));
    }
    if (c) {
        *rms = sqrt (sum / (double)s.rank);
        *max = sqrt (*max);
    }
    covariance_destroy (c);
    system_clear (&s);
    return rc < 0 ? -1 : 0;
}
