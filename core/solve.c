/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes on the method.
 *
 * Let A be the measured rows, t their RTTs, x the links' latencies, all in ns
 * with A x = t up to noise. A has less than full column rank as a rule: only
 * combinations of links are determined. Let R be the reduced row echelon form
 * of A and P its pivot columns; R's rows are the simplest combinations that
 * are determined: those with one entry are links, the others groups. Since R
 * holds the identity in its pivot columns,
 *
 *     A = A_P R     and so     A x = A_P y     with y = R x,
 *
 * exactly, where A_P (the columns of A at the pivots) is sparse, small
 * integers, and of full column rank. So there is no need for R's
 * coefficients, which can be large and odd, in the arithmetic: least squares
 * for y is
 *
 *     A_P' W A_P y = A_P' W t,     W = diag (1 / variance),
 *
 * by Cholesky and refinement with residuals of the sparse form. Any row a in
 * the span has the latency a_P . y, of variance a_P' (A_P' W A_P)^-1 a_P: the
 * RTT of every pair, where the rank is full, whether or not its links can be
 * told apart. Normal equations square the condition, which for rows of a
 * network is some hundreds (with redundant rounds a few dozen), so six digits
 * are left over even before refinement.
 *
 * Cost: rank^3 / 3 multiplications, and as much again for the variances of
 * pairs; one dense matrix of rank^2 numbers, three with pairs. 432 hosts
 * (rank 1,296): 0.3 s, 40 MB.
 *
 * Where the repeats show no spread at all (simulated without noise, or single
 * repeats), all rows weigh the same and the variance is taken from the
 * residual, if there are more rows than the rank; else no standard error is
 * known.
 */
#include "config.h"
#include "core/solve.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "core/linalg.h"
#include "core/observe.h"
#include "core/rref.h"

enum { REFINEMENTS = 3 };

/* Rows by pivot: entries [start[i], start[i + 1]) of row i. */
struct system {
    struct rref *form;
    size_t rank;
    size_t nrows;
    size_t *start;
    uint32_t *var;
    double *value;
    double *weight;
    double *l; /* factor of A_P' W A_P */
    double *u; /* its inverse, transposed */
};

static void system_clear (struct system *s)
{
    rref_destroy (s->form);
    free (s->start);
    free (s->var);
    free (s->value);
    free (s->weight);
    free (s->l);
    free (s->u);
}

struct by_length {
    size_t n;
    size_t row;
};

static int compare_lengths (const void *va, const void *vb)
{
    const struct by_length *a = va;
    const struct by_length *b = vb;

    if (a->n != b->n)
        return a->n < b->n ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

/* Columns of a row of links. */
static void columns (const struct pathset *ps, const uint32_t *link, size_t n,
                     uint32_t *col)
{
    for (size_t i = 0; i < n; i++)
        col[i] = (uint32_t)pathset_column (ps, link[i]);
}

static int make_form (struct system *s, const struct pathset *ps, size_t m,
                      const struct observations *o, struct error *err)
{
    struct by_length *order = malloc ((o->n + 1) * sizeof (*order));
    uint32_t col[ROW_MAX];

    if (!order || !(s->form = rref_create (m)))
        goto error;
    for (size_t i = 0; i < o->n; i++)
        order[i] = (struct by_length){ o->v[i].n, i };
    qsort (order, o->n, sizeof (*order), compare_lengths);
    for (size_t i = 0; i < o->n; i++) {
        const struct observation *row = &o->v[order[i].row];

        columns (ps, row->link, row->n, col);
        if (rref_add (s->form, col, row->count, row->n) < 0)
            goto error;
    }
    s->rank = rref_rank (s->form);
    free (order);
    return 0;
error:
    free (order);
    return error_nomem (err);
}

static size_t pivots (const struct system *s, const struct pathset *ps,
                      const uint32_t *link, const uint8_t *count, size_t n,
                      uint32_t *var, double *value)
{
    size_t k = 0;

    for (size_t i = 0; i < n; i++) {
        int p = rref_pivot (s->form, (uint32_t)pathset_column (ps, link[i]));

        if (p >= 0) {
            var[k] = (uint32_t)p;
            value[k++] = count[i];
        }
    }
    return k;
}

/* Set up and factor the normal equations of the observed rows. */
static int system_make (struct system *s, struct pathset *ps,
                        const struct observations *o, struct error *err)
{
    size_t entries = 0;
    size_t m;

    if (!pathset_links (ps, &m, err) || make_form (s, ps, m, o, err) < 0)
        return -1;
    s->nrows = o->n;
    for (size_t i = 0; i < o->n; i++)
        entries += o->v[i].n;
    s->start = calloc (o->n + 1, sizeof (*s->start));
    s->var = malloc ((entries + 1) * sizeof (*s->var));
    s->value = malloc ((entries + 1) * sizeof (*s->value));
    s->weight = malloc ((o->n + 1) * sizeof (*s->weight));
    s->l = linalg_matrix (s->rank);
    if (!s->start || !s->var || !s->value || !s->weight || !s->l)
        return error_nomem (err);
    for (size_t i = 0; i < o->n; i++) {
        const struct observation *row = &o->v[i];
        size_t first = s->start[i];
        size_t k = pivots (s, ps, row->link, row->count, row->n,
                           s->var + first, s->value + first);

        s->start[i + 1] = first + k;
        s->weight[i] = 1 / row->var;
        for (size_t p = first; p < first + k; p++)
            for (size_t q = first; q < first + k; q++)
                s->l[s->var[p] * s->rank + s->var[q]]
                    += s->weight[i] * s->value[p] * s->value[q];
    }
    if (linalg_cholesky (s->l, s->rank) < 0)
        return error_world (err, "the rows are too ill-conditioned to solve");
    if (!(s->u = linalg_invert_factor (s->l, s->rank)))
        return error_nomem (err);
    return 0;
}

static double fit (const struct system *s, size_t row, const double *y)
{
    double sum = 0;

    for (size_t p = s->start[row]; p < s->start[row + 1]; p++)
        sum += s->value[p] * y[s->var[p]];
    return sum;
}

/* Least squares by refinement from zero: each turn solves for what the one
 * before left over.
 */
static int least_squares (const struct system *s,
                          const struct observations *o, double *y)
{
    double *d = malloc ((s->rank + 1) * sizeof (*d));

    if (!d)
        return -1;
    for (int turn = 0; turn <= REFINEMENTS; turn++) {
        for (size_t j = 0; j < s->rank; j++)
            d[j] = 0;
        for (size_t i = 0; i < s->nrows; i++) {
            double r = s->weight[i] * (o->v[i].rtt_ns - fit (s, i, y));

            for (size_t p = s->start[i]; p < s->start[i + 1]; p++)
                d[s->var[p]] += s->value[p] * r;
        }
        linalg_solve (s->l, s->rank, d);
        for (size_t j = 0; j < s->rank; j++)
            y[j] += d[j];
    }
    free (d);
    return 0;
}

/* The residual and what follows from it. Returns the factor of variances. */
static double assess (struct solution *sol, const struct system *s,
                      const struct observations *o, const double *y)
{
    double weight = 0;
    double mean = 0;
    double rss = 0;
    double wrss = 0;
    double wtss = 0;

    for (size_t i = 0; i < s->nrows; i++) {
        weight += s->weight[i];
        mean += s->weight[i] * o->v[i].rtt_ns;
    }
    mean /= weight;
    for (size_t i = 0; i < s->nrows; i++) {
        double r = o->v[i].rtt_ns - fit (s, i, y);

        rss += r * r;
        wrss += s->weight[i] * r * r;
        wtss += s->weight[i] * pow (o->v[i].rtt_ns - mean, 2);
    }
    sol->rows = s->nrows;
    sol->rank = s->rank;
    sol->dof = s->nrows - s->rank;
    sol->residual_ns = sqrt (rss / (double)s->nrows);
    sol->r2 = sol->dof > 0 && wtss > 0 ? 1 - wrss / wtss : NAN;
    if (o->sigma_ns > 0)
        return 1;
    return sol->dof > 0 ? wrss / (double)sol->dof : NAN;
}

static int add_group (struct solution *sol, const struct rref_entry *entry,
                      size_t n, const uint32_t *link, double latency_ns,
                      double stderr_ns)
{
    struct group *g = &sol->group[sol->ngroups];

    g->member = malloc (n * sizeof (*g->member));
    if (!g->member)
        return -1;
    sol->ngroups++;
    g->n = n;
    g->latency_ns = latency_ns;
    g->stderr_ns = stderr_ns;
    for (size_t i = 0; i < n; i++) {
        struct group_member *m = &g->member[i];

        m->link = link[entry[i].col];
        if (rref_rational (entry[i].value, &m->p, &m->q) < 0)
            m->p = m->q = 0;
    }
    return 0;
}

static double square_sum (const double *v, size_t n)
{
    return linalg_dot (v, v, n);
}

static int fill (struct solution *sol, const struct system *s,
                 const uint32_t *link, size_t m, const double *y,
                 double factor)
{
    sol->link = malloc ((m + 1) * sizeof (*sol->link));
    sol->group = calloc (s->rank + 1, sizeof (*sol->group));
    if (!sol->link || !sol->group)
        return -1;
    sol->nlinks = m;
    for (size_t j = 0; j < m; j++)
        sol->link[j] = (struct link_estimate){ link[j], NAN, NAN };
    for (size_t i = 0; i < s->rank; i++) {
        size_t n;
        const struct rref_entry *entry = rref_row (s->form, i, &n);
        double se = sqrt (factor * square_sum (s->u + i * s->rank, s->rank));

        if (n == 1) {
            sol->link[entry->col].latency_ns = y[i];
            sol->link[entry->col].stderr_ns = se;
        }
        else if (add_group (sol, entry, n, link, y[i], se) < 0)
            return -1;
    }
    return 0;
}

static int fill_pairs (struct solution *sol, const struct system *s,
                       const struct pathset *ps, const double *y,
                       double factor, struct error *err)
{
    size_t n = pathset_size (ps);
    double *inverse = linalg_inverse (s->u, s->rank);

    sol->pair = malloc ((n * (n - 1) / 2 + 1) * sizeof (*sol->pair));
    if (!inverse || !sol->pair)
        goto nomem;
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = a + 1; b < n; b++) {
            struct pair_estimate pair = { a, b, 0, 0 };
            struct row row;
            uint32_t var[ROW_MAX];
            double value[ROW_MAX];
            size_t k;

            if (pathset_row (ps, a, b, &row, err) < 0)
                goto error;
            columns (ps, row.link, row.n, var);
            if (!rref_spans (s->form, var, row.count, row.n))
                continue;
            k = pivots (s, ps, row.link, row.count, row.n, var, value);
            for (size_t p = 0; p < k; p++) {
                pair.rtt_ns += value[p] * y[var[p]];
                for (size_t q = 0; q < k; q++)
                    pair.stderr_ns += value[p] * value[q]
                                      * inverse[var[p] * s->rank + var[q]];
            }
            pair.stderr_ns = sqrt (factor * fmax (pair.stderr_ns, 0));
            sol->pair[sol->npairs++] = pair;
        }
    free (inverse);
    return 0;
nomem:
    error_nomem (err);
error:
    free (inverse);
    return -1;
}

struct solution *solve (struct pathset *ps, const struct samples *samples,
                        const struct solve_options *opts, struct error *err)
{
    struct observations o;
    struct system s = { 0 };
    struct solution *sol = NULL;
    double *y = NULL;
    const uint32_t *link;
    double factor;
    size_t m;

    if (observe (&o, ps, samples, opts->quantile, 0, err) < 0)
        goto error;
    if (o.n == 0) {
        error_world (err, "no probe gave a round-trip time");
        goto error;
    }
    if (system_make (&s, ps, &o, err) < 0
        || !(link = pathset_links (ps, &m, err)))
        goto error;
    y = calloc (s.rank + 1, sizeof (*y));
    sol = calloc (1, sizeof (*sol));
    if (!y || !sol || least_squares (&s, &o, y) < 0) {
        error_nomem (err);
        goto error;
    }
    factor = assess (sol, &s, &o, y);
    if (fill (sol, &s, link, m, y, factor) < 0) {
        error_nomem (err);
        goto error;
    }
    if (opts->pairs && fill_pairs (sol, &s, ps, y, factor, err) < 0)
        goto error;
    goto done;
error:
    solution_destroy (sol);
    sol = NULL;
done:
    free (y);
    system_clear (&s);
    observations_clear (&o);
    return sol;
}

/* Samples of one repeat each that say nothing but which rows there are. */
static struct samples *rows_of (const struct plan *plan)
{
    struct samples *samples = samples_create ();

    if (!samples)
        return NULL;
    for (size_t r = 0; r < plan_rounds (plan); r++) {
        size_t n;
        const struct probe *probe = plan_round (plan, r, &n);

        for (size_t i = 0; i < n; i++) {
            struct sample sample = {
                .a = probe[i].a,
                .b = probe[i].b,
                .round = (uint32_t)r,
                .initiator = probe[i].a,
                .sent = 1,
            };

            if (samples_add (samples, &sample) < 0) {
                samples_destroy (samples);
                return NULL;
            }
        }
    }
    return samples;
}

int solve_predict (struct pathset *ps, const struct plan *plan, double *rms,
                   double *max, struct error *err)
{
    struct samples *samples = rows_of (plan);
    struct observations o = { 0 };
    struct system s = { 0 };
    double sum = 0;
    int rc = -1;

    *rms = *max = 0;
    if (!samples)
        return error_nomem (err);
    if (samples->nsamples == 0) {
        rc = 0;
        goto done;
    }
    if (observe (&o, ps, samples, RTT_MEDIAN, 0, err) < 0
        || system_make (&s, ps, &o, err) < 0)
        goto done;
    for (size_t i = 0; i < s.rank; i++) {
        double var = square_sum (s.u + i * s.rank, s.rank);

        sum += var;
        *max = fmax (*max, sqrt (var));
    }
    *rms = sqrt (sum / (double)s.rank);
    rc = 0;
done:
    samples_destroy (samples);
    system_clear (&s);
    observations_clear (&o);
    return rc;
}
