/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes on the method. At the minimum the gradient A' W (t - A y) is 0: K y =
 * A' W t with K = A' W A. Conjugate gradients need only the product of K with a
 * vector, which is one pass over the rows: a_i . p, times w_i, added back along
 * the row. So a row is read once per iteration, and nothing is stored per row.
 * Several vectors side by side cost little more than one, because most of the
 * time is spent on reading the entries of a row. Each of these lanes is an
 * iteration of its own, with its own step lengths. Rows are sorted by length,
 * for branch prediction, and the product of rows whose links are crossed
 * equally often (nearly all) uses sums only.
 *
 * The preconditioner has the same form, G' D G: a factorised sparse approximate
 * inverse (Kolotilina, Yeremin, 1993). Row i of G has column i and its PATTERN
 * strongest neighbours in K among the columns before it; it solves K restricted
 * to these. Columns are ordered by their weight, so columns with few rows come
 * before those with many. On fat trees this joins the links of a host's tower,
 * and halves the iterations. G is rounded to floats: it has to be positive, not
 * exact. Modes that hardly any row determines are solved for exactly, and added
 * (linear/coarse).
 *
 * If there are few more rows than columns, as for a job, the condition is
 * thousands and more. Then K itself is factorised (linear/direct): an exact
 * inverse, up to rounding, and an iteration or two are enough. So it is for a
 * caller that solves often.
 *
 * The square root of r' G' D G r, which every iteration computes, is about the
 * distance from the solution in the norm of K, that is, in standard errors: no
 * combination of the unknowns has a greater error, in units of its own standard
 * error. It is the stopping criterion.
 *
 * Conjugate gradients on the normal equations lose digits with the square of
 * the condition. So exact solutions are refined: the residual t - A y is
 * computed from the rows, and its gradient is the right-hand side of the next
 * correction, until it gets no smaller. The condition of networks is some
 * dozens with redundant rounds, some hundreds without: two or three corrections
 * give all digits.
 *
 * A sketch uses perturb and optimise (Papandreou, Yuille, "Gaussian sampling by
 * local perturbations", 2010): for e_i with mean 0 and variance 1 / w_i the
 * minimum for t = e has the covariance C. The e_i are random signs.
 *
 * Memory: 40 bytes per entry of A and 5 vectors of LSQ_LANES lanes; with the
 * factor up to DENSE_MAX^2 numbers more, and a vector for each row in excess of
 * columns.
 *
 * The covariance is exact by the Cholesky factor of K, or a sketch. Then the
 * unknowns with the greatest variances get their own columns of C, so that the
 * greatest standard error is not random.
 */
#include "config.h"
#include "core/linear/lsq.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/linear/coarse.h"
#include "core/linear/direct.h"
#include "core/linear/linalg.h"
#include "util/alloc.h"
#include "util/sort.h"

enum {
    PATTERN = 2, /* neighbours in a row of the preconditioner */
    SIDE = PATTERN + 1,
    FEW = 8,         /* columns per row in excess of columns, and */
    FULL_MAX = 6000, /* of a full matrix (144 MB), at which to factorise */
    ITERATIONS_MAX = 50000,
    REFINEMENTS_MAX = 12,
};

#define DIRECT_ERROR 1e-6 /* relative, at most, of a solution by linear/direct */
#define CORRECTION 1e-8 /* relative error after one correction */
#define COLUMN_TOLERANCE 3e-2 /* of columns of C: 0.2 % of variances */
#define LEVEL_OUT 1e-10 /* relative, if it gets no smaller; or */
#define ROUNDING 1e-15  /* of the size of the terms of the residual */

/* V' diag (weight) V, V by rows. The first rows have one value each, and are in
 * runs of one length.
 */
struct form {
    size_t nrows;
    size_t *start; /* [nrows + 1] */
    uint32_t *col;
    float *value;
    double *weight;
    size_t *run; /* [nruns + 1] their starts; the end of the last */
    size_t nruns;
    double *square; /* [run[nruns]] weight times the value squared */
};

struct lsq {
    const struct sparse *a;
    size_t n;      /* columns */
    struct form k; /* A' W A */
    uint32_t *row; /* [nrows] row of a for each row of k */
    struct form g; /* its approximate inverse, unless there is d */
    struct direct *d;
    struct coarse *c;     /* a correction of g; NULL: none */
    uint64_t *iterations; /* until now, */
    uint64_t most;        /* and allowed */
};

static void form_clear (struct form *f)
{
    free (f->start);
    free (f->col);
    free (f->value);
    free (f->weight);
    free (f->run);
    free (f->square);
}

static void form_create (struct form *f, size_t nrows, size_t entries)
{
    f->nrows = nrows;
    f->start = xcalloc (nrows + 1, sizeof (*f->start));
    f->col = xarray (entries, sizeof (*f->col));
    f->value = xarray (entries, sizeof (*f->value));
    f->weight = xarray (nrows, sizeof (*f->weight));
}

void lsq_destroy (struct lsq *q)
{
    int saved = errno;

    if (!q)
        return;
    form_clear (&q->k);
    form_clear (&q->g);
    direct_destroy (q->d);
    coarse_destroy (q->c);
    free (q->row);
    free (q->iterations);
    free (q);
    errno = saved;
}

/*
 * The preconditioner
 */

/* A by columns, and work space for one column of K. */
struct lsq_columns {
    size_t *start; /* [n + 2] */
    uint32_t *row; /* ascending */
    float *value;
    uint32_t *entry;  /* entry of k for each entry */
    double *diagonal; /* [n] of K */
    double *sum;      /* [n] 0 outside strongest () */
    uint32_t *touched;
    uint32_t *by;     /* [n] the last column that touched it */
};

/* Columns are ordered by weight. */
static bool is_lighter_column (const struct lsq_columns *c, uint32_t a,
                               uint32_t b)
{
    return c->diagonal[a] < c->diagonal[b]
           || (c->diagonal[a] == c->diagonal[b] && a < b);
}

static void columns_make (struct lsq_columns *c, struct lsq *q)
{
    struct form *k = &q->k;
    size_t n = q->n;
    size_t entries = k->start[k->nrows];

    c->start = xcalloc (n + 2, sizeof (*c->start));
    c->row = xarray (entries, sizeof (*c->row));
    c->value = xarray (entries, sizeof (*c->value));
    c->entry = xarray (entries, sizeof (*c->entry));
    c->diagonal = xcalloc (n, sizeof (*c->diagonal));
    c->sum = xcalloc (n, sizeof (*c->sum));
    c->touched = xarray (n + 1, sizeof (*c->touched));
    c->by = xarray (n, sizeof (*c->by));
    memset (c->by, 0xff, n * sizeof (*c->by));
    for (size_t i = 0; i < k->nrows; i++)
        for (size_t e = k->start[i]; e < k->start[i + 1]; e++) {
            c->start[k->col[e] + 2]++;
            c->diagonal[k->col[e]] += k->weight[i] * k->value[e] * k->value[e];
        }
    /* sort the entries of each row in the order of the columns */
    for (size_t i = 0; i < k->nrows; i++)
        for (size_t e = k->start[i] + 1; e < k->start[i + 1]; e++) {
            uint32_t col = k->col[e];
            float value = k->value[e];
            size_t at = e;

            for (;
                 at > k->start[i] && is_lighter_column (c, col, k->col[at - 1]);
                 at--) {
                k->col[at] = k->col[at - 1];
                k->value[at] = k->value[at - 1];
            }
            k->col[at] = col;
            k->value[at] = value;
        }
    /* start[j + 1] is the place of column j's next entry, and in the end the
     * start of column j + 1
     */
    for (size_t j = 2; j <= n; j++)
        c->start[j] += c->start[j - 1];
    for (size_t i = 0; i < k->nrows; i++)
        for (size_t e = k->start[i]; e < k->start[i + 1]; e++) {
            size_t at = c->start[k->col[e] + 1]++;

            c->row[at] = (uint32_t)i;
            c->value[at] = k->value[e];
            c->entry[at] = (uint32_t)e;
        }
}

/* K (a, b): a sum along the shorter of the two columns. */
static double normal_entry (const struct lsq_columns *c, const double *w,
                            uint32_t a, uint32_t b)
{
    double sum = 0;
    size_t at;

    if (c->start[a + 1] - c->start[a] > c->start[b + 1] - c->start[b]) {
        uint32_t t = a;

        a = b;
        b = t;
    }
    at = c->start[b];
    for (size_t e = c->start[a]; e < c->start[a + 1]; e++) {
        size_t end = c->start[b + 1];

        /* bisect for the first entry of b in this row or after it */
        while (at < end) {
            size_t middle = (at + end) / 2;

            if (c->row[middle] < c->row[e])
                at = middle + 1;
            else
                end = middle;
        }
        if (at < c->start[b + 1] && c->row[at] == c->row[e])
            sum += w[c->row[e]] * c->value[e] * c->value[at];
    }
    return sum;
}

struct neighbour {
    uint32_t col;
    double k; /* K (j, col) */
    double strength;
};

/* Find the columns before j that are most strongly coupled to it, the strongest
 * first. Return their number.
 */
static size_t strongest (struct lsq_columns *c, const struct form *k,
                         uint32_t j, struct neighbour *best)
{
    size_t ntouched = 0;
    size_t n = 0;

    for (size_t e = c->start[j]; e < c->start[j + 1]; e++) {
        size_t i = c->row[e];
        double f = k->weight[i] * c->value[e];

        for (size_t x = k->start[i]; x < c->entry[e]; x++) {
            uint32_t col = k->col[x];

            c->touched[ntouched] = col; /* a sum may cancel to 0 */
            ntouched += c->by[col] != j;
            c->by[col] = j;
            c->sum[col] += f * k->value[x];
        }
    }
    for (size_t t = 0; t < ntouched; t++) {
        uint32_t col = c->touched[t];
        double v = c->sum[col];
        double s = v * v / c->diagonal[col];
        size_t at = n;

        c->sum[col] = 0;
        for (; at > 0 && best[at - 1].strength < s; at--)
            best[at] = best[at - 1];
        best[at] = (struct neighbour){ col, v, s };
        n += n < PATTERN && s > 0;
    }
    return n;
}

/* Solve m x = (0, .., 0, 1) with m n by n. Return -1 if it is not positive
 * definite.
 */
static int solve_last (double m[SIDE][SIDE], size_t n, double *x)
{
    for (size_t j = 0; j < n; j++)
        for (size_t i = j; i < n; i++) {
            double s = m[i][j];

            for (size_t l = 0; l < j; l++)
                s -= m[i][l] * m[j][l];
            if (i > j)
                m[i][j] = s / m[j][j];
            else if (s > 1e-9 * m[j][j])
                m[j][j] = sqrt (s);
            else
                return -1;
        }
    x[n - 1] = 1 / (m[n - 1][n - 1] * m[n - 1][n - 1]);
    for (size_t i = n - 1; i-- > 0;) {
        x[i] = 0;
        for (size_t l = i + 1; l < n; l++)
            x[i] -= m[l][i] * x[l];
        x[i] /= m[i][i];
    }
    return 0;
}

/* Row j of G: 1 on the diagonal, its weight in D. */
static void add_factor_row (struct form *g, struct lsq_columns *c,
                            const struct form *k, uint32_t j)
{
    uint32_t *col = g->col + g->start[j];
    float *value = g->value + g->start[j];
    struct neighbour best[SIDE];
    double x[SIDE] = { 0 };
    double m[SIDE][SIDE];
    size_t n = strongest (c, k, j, best);

    do {
        for (size_t p = 0; p < n; p++) {
            col[p] = best[p].col;
            m[p][p] = c->diagonal[col[p]];
            m[n][p] = best[p].k;
            for (size_t q = 0; q < p; q++)
                m[p][q] = normal_entry (c, k->weight, col[p], col[q]);
        }
        col[n] = j;
        m[n][n] = c->diagonal[j];
    } while (solve_last (m, n + 1, x) < 0 && n-- > 0);
    for (size_t p = 0; p <= n; p++)
        value[p] = (float)(x[p] / x[n]);
    g->weight[j] = x[n];
    g->start[j + 1] = g->start[j] + n + 1;
}

static int precondition (struct lsq *q)
{
    struct lsq_columns c = { 0 };
    int rc = 0;

    form_create (&q->g, q->n, q->n * SIDE);
    columns_make (&c, q);
    for (uint32_t j = 0; j < q->n; j++)
        if (!(c.diagonal[j] > 0) || !isfinite (1 / c.diagonal[j]))
            rc = -1;
    for (uint32_t j = 0; j < q->n && rc == 0; j++)
        add_factor_row (&q->g, &c, &q->k, j);
    free (c.start);
    free (c.row);
    free (c.value);
    free (c.entry);
    free (c.diagonal);
    free (c.sum);
    free (c.touched);
    free (c.by);
    if (rc < 0)
        errno = EDOM;
    return rc;
}

/* True if all values of row i are the same. */
static bool alike (const struct sparse *a, size_t i)
{
    for (size_t e = a->start[i]; e < a->start[i + 1]; e++)
        if (a->value[e] != a->value[a->start[i]])
            return false;
    return true;
}

/* Sort rows into q->row: those with a single value by length, then the others.
 */
static void sort_rows_by_length (struct lsq *q)
{
    const struct sparse *a = q->a;
    struct form *k = &q->k;
    size_t longest = 0;
    size_t *at;

    for (size_t i = 0; i < a->nrows; i++)
        if (longest < a->start[i + 1] - a->start[i])
            longest = a->start[i + 1] - a->start[i];
    at = xcalloc (longest + 3, sizeof (*at));
    k->run = xcalloc (longest + 2, sizeof (*k->run));
    /* at[l + 1] counts rows of length l, later it is the place of the next one
     */
    for (size_t i = 0; i < a->nrows; i++)
        at[alike (a, i) ? a->start[i + 1] - a->start[i] + 1 : longest + 2]++;
    for (size_t l = 1; l < longest + 3; l++) {
        if (at[l] > 0 && l < longest + 2)
            k->run[++k->nruns] = at[l - 1] + at[l];
        at[l] += at[l - 1];
    }
    for (size_t i = 0; i < a->nrows; i++)
        q->row[at[alike (a, i) ? a->start[i + 1] - a->start[i] : longest + 1]++]
            = (uint32_t)i;
    free (at);
}

static int weigh_rows (struct lsq *q, const double *w)
{
    struct form *k = &q->k;

    for (size_t i = 0; i < k->nrows; i++) {
        double first = k->start[i] < k->start[i + 1] ? k->value[k->start[i]] : 0;

        k->weight[i] = w ? w[q->row[i]] : 1;
        k->square[i] = k->weight[i] * first * first;
        if (!(k->weight[i] > 0) || !isfinite (k->weight[i])) {
            errno = EDOM;
            return -1;
        }
    }
    return 0;
}

/* Copy the rows for the product. */
static int copy_rows (struct lsq *q, const double *w)
{
    const struct sparse *a = q->a;
    struct form *k = &q->k;

    q->row = xarray (a->nrows, sizeof (*q->row));
    k->square = xarray (a->nrows, sizeof (*k->square));
    form_create (k, a->nrows, a->start[a->nrows]);
    sort_rows_by_length (q);
    for (size_t i = 0; i < k->nrows; i++) {
        size_t from = a->start[q->row[i]];
        size_t n = a->start[q->row[i] + 1] - from;

        for (size_t e = 0; e < n; e++) {
            k->col[k->start[i] + e] = a->col[from + e];
            k->value[k->start[i] + e] = a->value[from + e];
        }
        k->start[i + 1] = k->start[i] + n;
    }
    return weigh_rows (q, w);
}

/* Without a preconditioner. */
static struct lsq *lsq_make (const struct sparse *a, const double *w)
{
    struct lsq *q = xcalloc (1, sizeof (*q));

    q->a = a;
    q->n = a->ncols;
    q->most = UINT64_MAX;
    q->iterations = xcalloc (1, sizeof (*q->iterations));
    if (copy_rows (q, w) == 0)
        return q;
    lsq_destroy (q);
    return NULL;
}

struct lsq *lsq_create (const struct sparse *a, const double *w)
{
    size_t extra = a->nrows - a->ncols; /* huge if there are fewer rows */
    struct lsq *q = lsq_make (a, w);

    if (q
        && ((extra <= a->ncols / FEW
             && (q->d = direct_create (a, w, NULL, 0, FULL_MAX)))
            || precondition (q) == 0))
        return q;
    lsq_destroy (q);
    return NULL;
}

struct lsq *lsq_create_direct (const struct sparse *a, const double *w,
                               const uint32_t *keep, size_t n, size_t most)
{
    struct lsq *q = lsq_make (a, w);

    if (q && (q->d = direct_create (a, w, keep, n, most)))
        return q;
    lsq_destroy (q);
    return NULL;
}

double *const *lsq_kept (const struct lsq *q)
{
    return q->d ? direct_kept (q->d) : NULL;
}

int lsq_reweigh (struct lsq *q, const double *w)
{
    if (weigh_rows (q, w) < 0)
        return -1;
    if (q->d)
        return direct_renew (q->d, q->a, w);
    if (q->c)
        coarse_reweigh (q->c, w);
    return 0;
}

void lsq_correct (struct lsq *q, const struct sparse *modes)
{
    double *w;

    if (q->d)
        return;
    w = xarray (q->k.nrows, sizeof (*w));
    for (size_t i = 0; i < q->k.nrows; i++)
        w[q->row[i]] = q->k.weight[i];
    coarse_destroy (q->c);
    q->c = coarse_create (q->a, w, modes);
    free (w);
}

void lsq_limit (struct lsq *q, uint64_t iterations)
{
    q->most = *q->iterations + iterations;
}

/*
 * Conjugate gradients
 */

/* Vectors of L lanes have entry c of lane l at c * L + l. The functions below
 * are for any L; they are compiled for 1 and for LSQ_LANES.
 */
#define INLINE static inline __attribute__ ((always_inline))

/* z += F p and pz += p . z for rows first .. last-1, of `length` equal entries.
 */
INLINE void run_product (const struct form *f, size_t first, size_t last,
                         size_t length, size_t L, const double *restrict p,
                         double *restrict z, double *restrict pz)
{
    const uint32_t *col = f->col + f->start[first];

    for (size_t i = first; i < last; i++, col += length) {
        double s[LSQ_LANES] = { 0 };

        for (size_t e = 0; e < length; e++)
            for (size_t l = 0; l < L; l++)
                s[l] += p[col[e] * L + l];
        for (size_t l = 0; l < L; l++) {
            double t = f->square[i] * s[l];

            pz[l] += s[l] * t;
            s[l] = t;
        }
        for (size_t e = 0; e < length; e++)
            for (size_t l = 0; l < L; l++)
                z[col[e] * L + l] += s[l];
    }
}

/* z = F p over n columns, pz = p . z */
INLINE void form_product (const struct form *f, size_t n, size_t L,
                          const double *restrict p, double *restrict z,
                          double *restrict pz)
{
    double sum[LSQ_LANES] = { 0 };

    memset (z, 0, n * L * sizeof (*z));
    for (size_t r = 0; r < f->nruns; r++) {
        size_t first = f->run[r];
        size_t last = f->run[r + 1];
        size_t length = f->start[first + 1] - f->start[first];

        /* the lengths of fat trees are unrolled */
        if (length == 2)
            run_product (f, first, last, 2, L, p, z, sum);
        else if (length == 4)
            run_product (f, first, last, 4, L, p, z, sum);
        else if (length == 6)
            run_product (f, first, last, 6, L, p, z, sum);
        else
            run_product (f, first, last, length, L, p, z, sum);
    }
    for (size_t i = f->nruns > 0 ? f->run[f->nruns] : 0; i < f->nrows; i++) {
        double s[LSQ_LANES] = { 0 };

        for (size_t e = f->start[i]; e < f->start[i + 1]; e++) {
            const double *restrict x = p + f->col[e] * L;
            double v = f->value[e];

            for (size_t l = 0; l < L; l++)
                s[l] += v * x[l];
        }
        for (size_t l = 0; l < L; l++) {
            double t = f->weight[i] * s[l];

            sum[l] += s[l] * t;
            s[l] = t;
        }
        for (size_t e = f->start[i]; e < f->start[i + 1]; e++) {
            double *restrict x = z + f->col[e] * L;
            double v = f->value[e];

            for (size_t l = 0; l < L; l++)
                x[l] += v * s[l];
        }
    }
    memcpy (pz, sum, L * sizeof (*pz));
}

/* z = approximately C r, rz = r . z */
INLINE void approximate (const struct lsq *q, size_t L, const double *r,
                         double *z, double *work, double *rz)
{
    if (q->d)
        direct_apply (q->d, L, r, z, work, rz);
    else
        form_product (&q->g, q->n, L, r, z, rz);
    if (q->c)
        coarse_apply (q->c, L, r, z, rz);
}

/* x = C r from x = 0, until the distance is below `absolute`, or below
 * `relative` times that of 0. r is overwritten. work: 3 vectors.
 */
INLINE int conjugate_gradient (const struct lsq *q, size_t L, double absolute,
                               double relative, double *restrict r,
                               double *restrict x, double *restrict work)
{
    size_t n = q->n;
    double *p = work;
    double *z = work + n * L;
    double *spare = z + n * L;
    double alpha[LSQ_LANES];
    double beta[LSQ_LANES];
    double goal[LSQ_LANES];
    double rr[LSQ_LANES];
    double next[LSQ_LANES];
    double pz[LSQ_LANES];

    if (q->d && fmax (absolute, relative) >= DIRECT_ERROR) {
        approximate (q, L, r, x, spare, rr);
        return 0;
    }
    memset (x, 0, n * L * sizeof (*x));
    approximate (q, L, r, z, spare, rr);
    memcpy (p, z, n * L * sizeof (*p));
    for (size_t l = 0; l < L; l++)
        goal[l] = fmax (absolute * absolute, relative * relative * rr[l]);
    for (size_t i = 0; i < ITERATIONS_MAX; i++) {
        size_t busy = 0;

        for (size_t l = 0; l < L; l++)
            busy += rr[l] > goal[l];
        if (busy == 0)
            return 0;
        if (*q->iterations >= q->most)
            break;
        form_product (&q->k, n, L, p, z, pz);
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
        ++*q->iterations;
    }
    errno = EDOM;
    return -1;
}

static int iterate_one (const struct lsq *q, double absolute, double relative,
                        double *r, double *x, double *work)
{
    return conjugate_gradient (q, 1, absolute, relative, r, x, work);
}

/* Processors that have wider vectors take half as long for the same figures:
 * none of AVX2's instructions fuses a product with a sum.
 */
#if defined __x86_64__ && defined __GLIBC__ && !defined __clang__
__attribute__ ((target_clones ("avx2", "default")))
#endif
static int iterate_lanes (const struct lsq *q, double absolute, double relative,
                          double *r, double *x, double *work)
{
    return conjugate_gradient (q, LSQ_LANES, absolute, relative, r, x, work);
}

/* g = A' W (t - A y); return approximately its distance. *size is the norm of
 * the terms of the residual. work: 2 vectors.
 */
static double lsq_gradient (const struct lsq *q, const double *t,
                            const double *y, double *g, double *size,
                            double *work)
{
    const struct form *k = &q->k;
    double squares = 0;
    double sum;

    memset (g, 0, q->n * sizeof (*g));
    for (size_t i = 0; i < k->nrows; i++) {
        double r = t[q->row[i]];
        double all = fabs (r);

        for (size_t e = k->start[i]; e < k->start[i + 1]; e++) {
            double x = k->value[e] * y[k->col[e]];

            r -= x;
            all += fabs (x);
        }
        squares += k->weight[i] * all * all;
        r *= k->weight[i];
        for (size_t e = k->start[i]; e < k->start[i + 1]; e++)
            g[k->col[e]] += k->value[e] * r;
    }
    *size = sqrt (squares);
    approximate (q, 1, g, work, work + q->n, &sum);
    return sqrt (sum);
}

int lsq_solve (const struct lsq *q, const double *t, double tolerance,
               double *y)
{
    size_t n = q->n;
    double *g = xarray (5 * n, sizeof (*g));
    double *x = g + n;
    double start = 0, size, now;
    double last = INFINITY;
    int rc = 0;

    for (int i = 0; i <= REFINEMENTS_MAX; i++) {
        now = lsq_gradient (q, t, y, g, &size, x + n);
        start = fmax (start, now);
        if (now <= tolerance || now > last / 2)
            break;
        if ((rc = iterate_one (q, tolerance / 2, CORRECTION, g, x, x + n)) < 0)
            break;
        for (size_t c = 0; c < n; c++)
            y[c] += x[c];
        last = now;
    }
    if (rc == 0 && !(now <= fmax (tolerance, ROUNDING * size))) {
        memset (x, 0, n * sizeof (*x));
        start = fmax (start, lsq_gradient (q, t, x, g, &size, x + n));
        if (!(now <= LEVEL_OUT * start)) {
            errno = EDOM;
            rc = -1;
        }
    }
    free (g);
    return rc;
}

int lsq_covariance (const struct lsq *q, const double *b, size_t n,
                    double tolerance, double *x)
{
    size_t L = n == 1 ? 1 : LSQ_LANES;
    size_t m = q->n;
    double *r = xarray (5 * L * m, sizeof (*r));
    double *found = r + L * m;
    int rc = 0;

    for (size_t first = 0; first < n && rc == 0; first += L) {
        size_t lanes = n - first < L ? n - first : L;

        memset (r, 0, L * m * sizeof (*r));
        for (size_t l = 0; l < lanes; l++)
            for (size_t c = 0; c < m; c++)
                r[c * L + l] = b[(first + l) * m + c];
        rc = (L == 1 ? iterate_one : iterate_lanes) (q, 0, tolerance, r, found,
                                                     found + L * m);
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
static void draw_random_residuals (const struct lsq *q, uint64_t seed,
                                   size_t lane, double *b)
{
    const struct form *k = &q->k;

    memset (b, 0, LSQ_LANES * q->n * sizeof (*b));
    for (size_t i = 0; i < k->nrows; i++) {
        double root = sqrt (k->weight[i]);
        uint64_t sign = bits (seed, q->row[i], lane);
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
    size_t m = q->n;
    double *r = xarray (5 * LSQ_LANES * m, sizeof (*r));
    double *x = r + LSQ_LANES * m;
    int rc = 0;

    for (size_t j = 0; j + LSQ_LANES <= k && rc == 0; j += LSQ_LANES) {
        draw_random_residuals (q, seed, j, r);
        rc = iterate_lanes (q, tolerance, 0, r, x, x + LSQ_LANES * m);
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

/*
 * Covariance
 */

struct covariance {
    size_t n;
    double *inverse; /* [n * n], or NULL: */
    double *sketch;  /* [n * k] */
    size_t k;
    uint64_t seed;
    double *variance; /* [n] */
};

void covariance_destroy (struct covariance *c)
{
    int saved = errno;

    if (!c)
        return;
    free (c->inverse);
    free (c->sketch);
    free (c->variance);
    free (c);
    errno = saved;
}

static int invert_covariance (struct covariance *c, const struct sparse *a,
                              const double *w)
{
    double *k = linalg_matrix (c->n);
    int rc;

    for (size_t i = 0; i < a->nrows; i++)
        for (size_t p = a->start[i]; p < a->start[i + 1]; p++)
            for (size_t q = a->start[i]; q < a->start[i + 1]; q++)
                k[a->col[p] * c->n + a->col[q]]
                    += (w ? w[i] : 1) * a->value[p] * a->value[q];
    if ((rc = linalg_cholesky (k, c->n)) == 0) {
        c->inverse = linalg_inverse (k, c->n);
        for (size_t i = 0; i < c->n; i++)
            c->variance[i] = c->inverse[i * c->n + i];
    }
    free (k);
    return rc;
}

struct by_variance {
    double variance;
    size_t i;
};

static int compare_variances (const void *va, const void *vb)
{
    const struct by_variance *a = va;
    const struct by_variance *b = vb;

    return a->variance != b->variance ? util_compare (b->variance, a->variance)
                                      : util_compare (a->i, b->i);
}

/* Replace the greatest variances by those from columns of C. */
static int refine (struct covariance *c, const struct lsq *q, size_t worst)
{
    struct by_variance *order = xarray (c->n, sizeof (*order));
    double *b = xarray (2 * LSQ_LANES * c->n, sizeof (*b));
    double *x = b + LSQ_LANES * c->n;
    int rc = 0;

    for (size_t i = 0; i < c->n; i++)
        order[i] = (struct by_variance){ c->variance[i], i };
    qsort (order, c->n, sizeof (*order), compare_variances);
    worst = worst < c->n ? worst : c->n;
    for (size_t first = 0; first < worst && rc == 0; first += LSQ_LANES) {
        size_t lanes = worst - first < LSQ_LANES ? worst - first : LSQ_LANES;

        memset (b, 0, lanes * c->n * sizeof (*b));
        for (size_t l = 0; l < lanes; l++)
            b[l * c->n + order[first + l].i] = 1;
        rc = lsq_covariance (q, b, lanes, COLUMN_TOLERANCE, x);
        for (size_t l = 0; l < lanes && rc == 0; l++) {
            size_t i = order[first + l].i;

            c->variance[i] = x[l * c->n + i];
        }
    }
    free (order);
    free (b);
    return rc;
}

static int sketch_covariance (struct covariance *c, const struct lsq *q,
                              const struct covariance_options *opts)
{
    c->k = opts->sketch;
    c->seed = opts->seed;
    c->sketch = xarray (c->n, c->k * sizeof (*c->sketch));
    if (lsq_sketch (q, c->k, opts->seed, opts->tolerance, c->sketch) < 0)
        return -1;
    for (size_t i = 0; i < c->n; i++)
        c->variance[i]
            = linalg_dot (c->sketch + i * c->k, c->sketch + i * c->k, c->k)
              / (double)c->k;
    return refine (c, q, opts->worst);
}

struct covariance *covariance_create (const struct sparse *a, const double *w,
                                      const struct lsq *q,
                                      const struct covariance_options *opts)
{
    struct covariance *c = xcalloc (1, sizeof (*c));

    c->n = a->ncols;
    c->variance = xcalloc (c->n, sizeof (*c->variance));
    if ((c->n <= opts->exact ? invert_covariance (c, a, w)
                             : sketch_covariance (c, q, opts))
        < 0) {
        covariance_destroy (c);
        return NULL;
    }
    return c;
}

double covariance_variance (const struct covariance *c, size_t i)
{
    return c->variance[i];
}

double covariance_of (const struct covariance *c, const uint32_t *col,
                      const int8_t *value, size_t n)
{
    double sum = 0;

    if (c->sketch)
        return lsq_sketch_variance (c->sketch, c->k, col, value, n);
    for (size_t p = 0; p < n; p++)
        for (size_t q = 0; q < n; q++)
            sum += value[p] * value[q] * c->inverse[col[p] * c->n + col[q]];
    return fmax (sum, 0);
}

/* What is left of a row's variance, R, and what is fitted, H, are 1 together. k
 * draws estimate each, with an error of sqrt (2 / k) of itself. The mean of R
 * and 1 - H, weighted by their errors, has the lesser of both at most.
 */
static double sketch_share (const struct covariance *c, const struct sparse *a,
                            const double *w, size_t i, double *r)
{
    size_t first = a->start[i];
    double left, fitted;

    lsq_sketch_residual (a, w, c->sketch, c->k, c->seed, i, r);
    left = linalg_dot (r, r, c->k) / (double)c->k;
    fitted = (w ? w[i] : 1)
             * lsq_sketch_variance (c->sketch, c->k, a->col + first,
                                    a->value + first, a->start[i + 1] - first);
    return fmin (fmax ((left * fitted * fitted + (1 - fitted) * left * left)
                       / (left * left + fitted * fitted), 0), 1);
}

void covariance_redundancy (const struct covariance *c, const struct sparse *a,
                            const double *w, double *share)
{
    double *r = xarray (c->k, sizeof (*r));

    for (size_t i = 0; i < a->nrows; i++) {
        size_t first = a->start[i];

        if (c->sketch)
            share[i] = sketch_share (c, a, w, i, r);
        else {
            double h = covariance_of (c, a->col + first, a->value + first,
                                      a->start[i + 1] - first);

            share[i] = fmax (1 - h * (w ? w[i] : 1), 0);
        }
    }
    free (r);
}
