/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Redundant rounds.
 *
 * Notes. Let c be a link's column over the rows so far, and r that of another
 * link. If only the latencies of these two were unknown, the variance of the
 * first would be 1 / (c.c - (c.r)^2 / r.r), in units of one RTT's. The same
 * number measures how well a change of the link is separated from one of the
 * other. The link's rival is the one for which it is greatest, and its doubt is
 * the square of it. A candidate's gain is the decrease of the doubts of the
 * links that it crosses, per link, since no other probe can cross these links
 * in that round.
 *
 * This considers only pairs of links; the true variance depends on all. Ranking
 * by the variance itself (random vectors of its covariance) was tried. On whole
 * fat trees of 432 to 11,664 hosts the standard errors with two rounds are 0.60
 * to 0.75 of an RTT's on average and at most 2.1, instead of 0.60 to 0.90 and
 * 2.7, for five times the cost; on jobs it separates the worst pairs less well.
 * Rivals also work on jobs that determine little, and use integers except for
 * the quotients.
 *
 * Cost: per round the sum of the squared lengths of all rows, to find the
 * rivals; the entries of a sample of candidates, and sorting it.
 */
#include "config.h"
#include "core/plan/redundant.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/linear/sparse.h"
#include "util/alloc.h"
#include "util/rng.h"

enum {
    SCORED = 12, /* candidates whose gain is computed, per link */
};

#define NONE UINT32_MAX

struct row_choice {
    uint32_t pair;
    uint32_t at; /* place in the shuffled order, for equal gains */
    double gain;
};

struct redundancy {
    const struct basis *basis;
    struct sparse *rows;   /* of the plan so far */
    struct rng rng;
    uint32_t *square;      /* [m] c.c */
    uint32_t *shared;      /* [m] c.r of a link and its rival */
    uint32_t *rival;       /* [m] or NONE */
    struct row_choice *choice; /* [n] */
    uint32_t *order;       /* [n] candidates, shuffled */
    uint8_t *busy;         /* [m + nports] */
    uint8_t *here;         /* [m] counts of the current row, else 0 */
    uint32_t *dot;         /* [m] */
    uint32_t *touched;     /* [m] */
};

/* Rows of the plan that cross a column: row[k], start[c] <= k < start[c + 1].
 */
struct row_crossing {
    size_t *start;
    uint32_t *row;
    uint8_t *count;
};

static size_t row_of (const struct basis *b, uint32_t pair,
                      const uint32_t **col, const uint8_t **count)
{
    *col = b->col + b->first[pair];
    *count = b->count + b->first[pair];
    return b->first[pair + 1] - b->first[pair];
}

static void crossing_clear (struct row_crossing *x)
{
    free (x->start);
    free (x->row);
    free (x->count);
}

static void crossing_make (struct row_crossing *x, const struct sparse *a)
{
    size_t entries = a->start[a->nrows];

    x->start = xcalloc (a->ncols + 2, sizeof (*x->start));
    x->row = xcalloc (entries + 1, sizeof (*x->row));
    x->count = xcalloc (entries + 1, 1);
    for (size_t k = 0; k < entries; k++)
        x->start[a->col[k] + 2]++;
    for (size_t c = 0; c < a->ncols; c++)
        x->start[c + 2] += x->start[c + 1];
    for (size_t i = 0; i < a->nrows; i++)
        for (size_t k = a->start[i]; k < a->start[i + 1]; k++) {
            size_t at = x->start[a->col[k] + 1]++;

            x->row[at] = i;
            x->count[at] = a->value[k];
        }
}

/* Compute the products of column c with all others that are not 0, in dot;
 * their columns are in touched. Return their number.
 */
static size_t products (struct redundancy *w, const struct row_crossing *x,
                        size_t c)
{
    const struct sparse *a = w->rows;
    size_t n = 0;

    for (size_t k = x->start[c]; k < x->start[c + 1]; k++)
        for (size_t i = a->start[x->row[k]]; i < a->start[x->row[k] + 1];
             i++) {
            if (w->dot[a->col[i]] == 0)
                w->touched[n++] = a->col[i];
            w->dot[a->col[i]] += x->count[k] * a->value[i];
        }
    return n;
}

/* Find each link's rival. A proportional column is not a rival: the rows of the
 * basis span those of all pairs, so no row can separate the two.
 */
static void find_rivals (struct redundancy *w)
{
    const struct sparse *a = w->rows;
    struct row_crossing x;

    crossing_make (&x, a);
    memset (w->square, 0, a->ncols * sizeof (*w->square));
    for (size_t k = 0; k < a->start[a->nrows]; k++)
        w->square[a->col[k]] += a->value[k] * a->value[k];
    for (size_t c = 0; c < a->ncols; c++) {
        size_t n = products (w, &x, c);
        double most = 0;

        w->rival[c] = NONE;
        for (size_t i = 0; i < n; i++) {
            uint32_t r = w->touched[i];
            uint64_t dot = w->dot[r];
            double part = (double)(dot * dot) / w->square[r];

            if (dot * dot < (uint64_t)w->square[c] * w->square[r]
                && (part > most || (part == most && r < w->rival[c]))) {
                most = part;
                w->rival[c] = r;
                w->shared[c] = dot;
            }
            w->dot[r] = 0;
        }
    }
    crossing_clear (&x);
}

/* Squared, so that the greatest have the most weight. */
static double doubt (uint64_t square, uint64_t shared, uint64_t rival)
{
    double d = (double)rival / (double)(square * rival - shared * shared);

    return d * d;
}

static double gain (struct redundancy *w, uint32_t pair)
{
    const uint32_t *col;
    const uint8_t *count;
    size_t n = row_of (w->basis, pair, &col, &count);
    double sum = 0;

    for (size_t k = 0; k < n; k++)
        w->here[col[k]] = count[k];
    for (size_t k = 0; k < n; k++) {
        uint32_t c = col[k];
        uint32_t r = w->rival[c];

        if (r != NONE)
            sum += doubt (w->square[c], w->shared[c], w->square[r])
                   - doubt (w->square[c] + count[k] * count[k],
                            w->shared[c] + count[k] * w->here[r],
                            w->square[r] + w->here[r] * w->here[r]);
    }
    for (size_t k = 0; k < n; k++)
        w->here[col[k]] = 0;
    return sum / n;
}

static bool fits (const struct redundancy *w, uint32_t pair)
{
    const struct basis *b = w->basis;
    const uint32_t *col;
    const uint8_t *count;
    size_t n = row_of (b, pair, &col, &count);

    if (w->busy[b->m + b->port[pair].a] || w->busy[b->m + b->port[pair].b])
        return false;
    for (size_t k = 0; k < n; k++)
        if (w->busy[col[k]])
            return false;
    return true;
}

static void take (struct redundancy *w, struct plan *plan, size_t round,
                  uint32_t pair)
{
    const struct basis *b = w->basis;
    const uint32_t *col;
    const uint8_t *count;
    size_t n = row_of (b, pair, &col, &count);

    w->busy[b->m + b->port[pair].a] = 1;
    w->busy[b->m + b->port[pair].b] = 1;
    for (size_t k = 0; k < n; k++)
        w->busy[col[k]] = 1;
    plan_add (plan, round, b->pair[pair].a, b->pair[pair].b);
    sparse_add (w->rows, col, (const int8_t *)count, n);
}

static int compare_choice (const void *a, const void *b)
{
    const struct row_choice *x = a;
    const struct row_choice *y = b;

    if (x->gain != y->gain)
        return x->gain < y->gain ? 1 : -1;
    return (x->at > y->at) - (x->at < y->at);
}

/* Make one round: the candidates of a sample with the greatest gains that fit,
 * and then any others that fit.
 */
static void fill_round (struct redundancy *w, struct plan *plan)
{
    const struct basis *b = w->basis;
    size_t n = b->n < SCORED * b->m ? b->n : SCORED * b->m;
    size_t round = plan_rounds (plan);

    memset (w->busy, 0, b->m + b->nports);
    rng_shuffle (&w->rng, w->order, b->n);
    for (size_t i = 0; i < n; i++)
        w->choice[i]
            = (struct row_choice){ w->order[i], i, gain (w, w->order[i]) };
    qsort (w->choice, n, sizeof (*w->choice), compare_choice);
    for (size_t i = 0; i < b->n; i++) {
        uint32_t pair = i < n ? w->choice[i].pair : w->order[i];

        if (fits (w, pair))
            take (w, plan, round, pair);
    }
}

/* Add the rows of a plan, over the columns of the set. */
static int add_plan (struct redundancy *w, const struct plan *plan,
                     struct pathset *ps, struct error *err)
{
    for (size_t r = 0; r < plan_rounds (plan); r++) {
        size_t n;
        const struct probe *p = plan_round (plan, r, &n);

        for (size_t i = 0; i < n; i++) {
            struct row row;

            if (pathset_row (ps, p[i].a, p[i].b, &row, err) < 0)
                return -1;
            for (size_t k = 0; k < row.n; k++)
                row.link[k] = pathset_column (ps, row.link[k]);
            sparse_add (w->rows, row.link, (const int8_t *)row.count, row.n);
        }
    }
    return 0;
}

static void work_init (struct redundancy *w, const struct basis *b,
                       uint64_t seed)
{
    *w = (struct redundancy){ .basis = b, .rows = sparse_create (b->m) };
    rng_seed (&w->rng, seed);
    w->square = xcalloc (b->m + 1, sizeof (*w->square));
    w->shared = xcalloc (b->m + 1, sizeof (*w->shared));
    w->rival = xcalloc (b->m + 1, sizeof (*w->rival));
    w->choice = xcalloc (b->n + 1, sizeof (*w->choice));
    w->order = xcalloc (b->n + 1, sizeof (*w->order));
    w->busy = xcalloc (b->m + b->nports + 1, 1);
    w->here = xcalloc (b->m + 1, 1);
    w->dot = xcalloc (b->m + 1, sizeof (*w->dot));
    w->touched = xcalloc (b->m + 1, sizeof (*w->touched));
    for (size_t i = 0; i < b->n; i++)
        w->order[i] = i;
}

static void work_clear (struct redundancy *w)
{
    sparse_destroy (w->rows);
    free (w->square);
    free (w->shared);
    free (w->rival);
    free (w->choice);
    free (w->order);
    free (w->busy);
    free (w->here);
    free (w->dot);
    free (w->touched);
}

int redundant_extend (struct plan *plan, struct pathset *ps,
                      const struct basis *candidates, size_t extra,
                      uint64_t seed, struct error *err)
{
    struct redundancy w;
    int rc;

    if (candidates->n == 0 || extra == 0)
        return 0;
    work_init (&w, candidates, seed);
    rc = add_plan (&w, plan, ps, err);
    for (size_t e = 0; e < extra && rc == 0; e++) {
        find_rivals (&w);
        fill_round (&w, plan);
    }
    work_clear (&w);
    return rc;
}
