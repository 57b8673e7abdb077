/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes on the method. The rows of the peel's triangle come first, then as many
 * of the others as needed; the columns of the triangle first, then the rest:
 *
 *     B = ( T  U )
 *         ( V  X )
 *
 * T, U and V are stored unchanged, a row of T next to the same row of U. The
 * Schur complement X - V T^-1 U of all other rows is small and dense. Gaussian
 * elimination with partial pivoting chooses its rows, and gives the factors of
 * S, the part of it that is in B.
 *
 * The rows N that are not in B are few as well. With Z = N B^-1,
 *
 *     (B' B + N' N)^-1 = B^-1 (1 - Z' (1 + Z Z')^-1 Z) B'^-1.
 *
 * B alone as a preconditioner is from M. A. Saunders, "Sparse least squares by
 * conjugate gradients: a comparison of preconditioning methods", 1979.
 *
 * A peel is greedy: the column with the fewest rows is the next one of the
 * triangle, with one of these rows; the others are put aside. Columns are in
 * lists, one for each number of rows. The inverse of a triangle may grow as
 * fast as 2^n: chains of differences. peel_steady starts with the last rows; a
 * row that is put aside counts as 0 for those before it.
 */
#include "config.h"
#include "core/linear/factor.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/linear/linalg.h"
#include "core/linear/lsq.h"
#include "util/alloc.h"
#include "util/rng.h"

#define INLINE static inline __attribute__ ((always_inline))

/* A pivot of this size, relative to the greatest entry, is a rounding error. */
#define NOTHING 1e-14

#define NONE UINT32_MAX

enum { SIGNS = 8, SEED = 1 };

/*
 * Peel
 */

struct peeling {
    const struct sparse *a;
    struct peel *p;
    struct sparse *rows;   /* the transpose: rows by column */
    bool *gone;            /* [nrows] */
    uint32_t *count;       /* [ncols] rows that are not gone; 0: gone */
    uint32_t *head;        /* [nrows + 1] list of the columns of a count */
    uint32_t *next, *prev; /* [ncols] links of the lists */
    size_t least;          /* no column has a lower count */
};

void peel_clear (struct peel *p)
{
    free (p->row);
    free (p->col);
    free (p->other_row);
    free (p->other_col);
}

static void add_column_to_bucket (struct peeling *s, uint32_t col)
{
    uint32_t *head = &s->head[s->count[col]];

    s->prev[col] = NONE;
    s->next[col] = *head;
    if (*head != NONE)
        s->prev[*head] = col;
    *head = col;
    if (s->least > s->count[col])
        s->least = s->count[col];
}

static void remove_row (struct peeling *s, uint32_t row)
{
    const struct sparse *a = s->a;

    s->gone[row] = true;
    for (size_t e = a->start[row]; e < a->start[row + 1]; e++) {
        uint32_t c = a->col[e];

        if (s->prev[c] == NONE)
            s->head[s->count[c]] = s->next[c];
        else
            s->next[s->prev[c]] = s->next[c];
        if (s->next[c] != NONE)
            s->prev[s->next[c]] = s->prev[c];
        if (--s->count[c] > 0)
            add_column_to_bucket (s, c);
    }
}

/* Keep the row with the greatest divisor, then the shortest; put others aside.
 */
static void peel_column (struct peeling *s, uint32_t col)
{
    const size_t *start = s->a->start;
    size_t first = s->rows->start[col];
    size_t end = s->rows->start[col + 1];
    struct peel *p = s->p;
    uint32_t keep = NONE;
    int most = 0;

    for (size_t e = first; e < end; e++) {
        uint32_t i = s->rows->col[e];
        int size = abs (s->rows->value[e]);

        if (!s->gone[i]
            && (keep == NONE || size > most
                || (size == most
                    && start[i + 1] - start[i]
                           < start[keep + 1] - start[keep]))) {
            keep = i;
            most = size;
        }
    }
    p->row[p->n] = keep;
    p->col[p->n++] = col;
    for (size_t e = first; e < end; e++) {
        uint32_t i = s->rows->col[e];

        if (s->gone[i])
            continue;
        if (i != keep)
            p->other_row[p->nrows++] = i;
        remove_row (s, i);
    }
}

void peel_make (struct peel *p, const struct sparse *a, size_t most)
{
    struct peeling s = {
        .a = a,
        .p = p,
        .rows = sparse_transpose (a),
        .gone = xcalloc (a->nrows, sizeof (*s.gone)),
        .count = xarray (a->ncols, sizeof (*s.count)),
        .head = xarray (a->nrows + 1, sizeof (*s.head)),
        .next = xarray (a->ncols, sizeof (*s.next)),
        .prev = xarray (a->ncols, sizeof (*s.prev)),
        .least = a->nrows + 1,
    };

    *p = (struct peel){
        .row = xarray (a->ncols, sizeof (*p->row)),
        .col = xarray (a->ncols, sizeof (*p->col)),
        .other_row = xarray (a->nrows, sizeof (*p->other_row)),
        .other_col = xarray (a->ncols, sizeof (*p->other_col)),
    };
    for (size_t n = 0; n <= a->nrows; n++)
        s.head[n] = NONE;
    for (uint32_t c = (uint32_t)a->ncols; c-- > 0;) {
        s.count[c] = (uint32_t)(s.rows->start[c + 1] - s.rows->start[c]);
        if (s.count[c] > 0)
            add_column_to_bucket (&s, c);
    }
    most = most < a->nrows ? most : a->nrows;
    for (; s.least <= most; s.least++)
        while (s.head[s.least] != NONE)
            peel_column (&s, s.head[s.least]);
    /* what is neither in the triangle nor put aside */
    for (uint32_t i = 0; i < a->nrows; i++)
        if (!s.gone[i])
            p->other_row[p->nrows++] = i;
    memset (s.count, 0, a->ncols * sizeof (*s.count));
    for (size_t k = 0; k < p->n; k++)
        s.count[p->col[k]] = 1;
    for (uint32_t c = 0; c < a->ncols; c++)
        if (s.count[c] == 0)
            p->other_col[p->ncols++] = c;
    sparse_destroy (s.rows);
    free (s.gone);
    free (s.count);
    free (s.head);
    free (s.next);
    free (s.prev);
}

/* y of the row: random signs minus the row's product with y so far, divided by
 * the pivot. Return their mean square.
 */
static double invert_row (const struct sparse *a, uint32_t row, uint32_t col,
                          uint64_t signs, const double *y, double *out)
{
    double pivot = 0;
    double sum = 0;

    for (int l = 0; l < SIGNS; l++)
        out[l] = signs >> l & 1 ? 1 : -1;
    for (size_t e = a->start[row]; e < a->start[row + 1]; e++) {
        if (a->col[e] == col)
            pivot = a->value[e];
        for (int l = 0; l < SIGNS; l++)
            out[l] -= a->value[e] * y[(size_t)a->col[e] * SIGNS + l];
    }
    for (int l = 0; l < SIGNS; l++) {
        out[l] /= pivot;
        sum += out[l] * out[l];
    }
    return sum / SIGNS;
}

void peel_steady (struct peel *p, const struct sparse *a, double limit)
{
    double *y = xcalloc (a->ncols * SIGNS, sizeof (*y));
    size_t n = p->n;
    struct rng rng;

    rng_seed (&rng, SEED);
    for (size_t k = p->n; k-- > 0;) {
        double out[SIGNS];

        if (invert_row (a, p->row[k], p->col[k], rng_next (&rng), y, out)
            <= limit * limit) {
            memcpy (y + (size_t)p->col[k] * SIGNS, out, sizeof (out));
            p->row[--n] = p->row[k];
            p->col[n] = p->col[k];
        }
        else {
            p->other_row[p->nrows++] = p->row[k];
            p->other_col[p->ncols++] = p->col[k];
        }
    }
    p->n -= n;
    memmove (p->row, p->row + n, p->n * sizeof (*p->row));
    memmove (p->col, p->col + n, p->n * sizeof (*p->col));
    free (y);
}

/*
 * Factorise
 */

struct factor {
    size_t n, triangle; /* rows; number of them in T */
    uint32_t *where;    /* [n] position of a column of A */
    size_t *start;      /* [n + 1] rows (T U) without T's diagonal, rows V */
    size_t *rest;       /* [triangle] start of the part in U */
    double *pivot;      /* [triangle] the diagonal of T */
    uint32_t *col;
    double *value;
    double *dense;   /* [side * side] factors of S, unit lower */
    size_t side;     /* n - triangle */
    uint32_t *extra; /* [nextra] rows that are not in B */
    size_t nextra;
    double *z;    /* [n * nextra] N B^-1, transposed */
    double *core; /* [nextra * nextra] Cholesky factor of 1 + Z Z' */
};

void factor_destroy (struct factor *f)
{
    int saved = errno;

    if (!f)
        return;
    free (f->where);
    free (f->start);
    free (f->rest);
    free (f->pivot);
    free (f->col);
    free (f->value);
    free (f->dense);
    free (f->extra);
    free (f->z);
    free (f->core);
    free (f);
    errno = saved;
}

/* Append the entries of row i of A at positions first .. last-1, except the
 * pivot of the row itself.
 */
static void copy_part (struct factor *f, const struct sparse *a, uint32_t i,
                       double root, size_t self, size_t first, size_t last,
                       size_t *at)
{
    for (size_t e = a->start[i]; e < a->start[i + 1]; e++) {
        uint32_t c = f->where[a->col[e]];

        if (c < first || c >= last || c == self)
            continue;
        f->col[*at] = c;
        f->value[(*at)++] = root * a->value[e];
    }
}

/* Row i of A becomes row k of the triangle. */
static int copy_triangle (struct factor *f, const struct sparse *a, uint32_t i,
                          double root, size_t k)
{
    size_t at = f->start[k];

    f->pivot[k] = 0;
    for (size_t e = a->start[i]; e < a->start[i + 1]; e++)
        if (f->where[a->col[e]] == k)
            f->pivot[k] = root * a->value[e];
    copy_part (f, a, i, root, k, 0, f->triangle, &at);
    f->rest[k] = at;
    copy_part (f, a, i, root, k, f->triangle, f->n, &at);
    f->start[k + 1] = at;
    if (f->pivot[k] != 0)
        return 0;
    errno = EDOM;
    return -1;
}

/* A row of the Schur complement; x [n] is 0 before and after. */
static void complement (const struct factor *f, const struct sparse *a,
                        uint32_t i, double root, double *x, double *row)
{
    for (size_t e = a->start[i]; e < a->start[i + 1]; e++)
        x[f->where[a->col[e]]] += root * a->value[e];
    for (size_t k = 0; k < f->triangle; k++) {
        double s = x[k] / f->pivot[k];

        if (s == 0)
            continue;
        x[k] = 0;
        for (size_t e = f->start[k]; e < f->start[k + 1]; e++)
            x[f->col[e]] -= s * f->value[e];
    }
    memcpy (row, x + f->triangle, f->side * sizeof (*row));
    memset (x + f->triangle, 0, f->side * sizeof (*x));
}

/* Eliminate n rows in place; the chosen ones come first. */
static int eliminate_dense_rows (double *s, size_t n, size_t side,
                                 uint32_t *who)
{
    double least = 0;

    for (size_t e = 0; e < n * side; e++)
        least = fmax (least, NOTHING * fabs (s[e]));
    for (size_t j = 0; j < side; j++) {
        const double *pivot = s + j * side;
        size_t best = j;

        for (size_t i = j + 1; i < n; i++)
            if (fabs (s[i * side + j]) > fabs (s[best * side + j]))
                best = i;
        if (best >= n || !(fabs (s[best * side + j]) > least)) {
            errno = EDOM;
            return -1;
        }
        if (best != j) {
            uint32_t w = who[j];

            who[j] = who[best];
            who[best] = w;
            for (size_t c = 0; c < side; c++) {
                double t = s[j * side + c];

                s[j * side + c] = s[best * side + c];
                s[best * side + c] = t;
            }
        }
        for (size_t i = j + 1; i < n; i++) {
            double *row = s + i * side;
            double factor = row[j] / pivot[j];

            row[j] = factor;
            if (factor == 0)
                continue;
            linalg_add (row + j + 1, -factor, pivot + j + 1, side - j - 1);
        }
    }
    return 0;
}

static double root_of (const double *w, uint32_t i)
{
    return w ? sqrt (w[i]) : 1;
}

/* The factors of S, and V. */
static int add_others (struct factor *f, const struct sparse *a,
                       const double *w, const struct peel *p)
{
    uint32_t *who = xarray (p->nrows, sizeof (*who));
    double *x = xcalloc (f->n, sizeof (*x));

    f->extra = who;
    f->dense = xarray (p->nrows * f->side, sizeof (*f->dense));
    for (size_t i = 0; i < p->nrows; i++) {
        who[i] = p->other_row[i];
        complement (f, a, who[i], root_of (w, who[i]), x,
                    f->dense + i * f->side);
    }
    free (x);
    if (eliminate_dense_rows (f->dense, p->nrows, f->side, who) < 0)
        return -1;
    for (size_t k = f->triangle; k < f->n; k++) {
        uint32_t i = who[k - f->triangle];
        size_t at = f->start[k];

        copy_part (f, a, i, root_of (w, i), SIZE_MAX, 0, f->triangle, &at);
        f->start[k + 1] = at;
    }
    f->nextra = p->nrows - f->side;
    memmove (who, who + f->side, f->nextra * sizeof (*who));
    return 0;
}

/*
 * Products with the inverse, for vectors of L lanes
 */

/* v -= s row, entries from .. to-1 */
INLINE void subtract_factor_row (const struct factor *f, size_t L, size_t from,
                                 size_t to, const double *restrict s,
                                 double *restrict v)
{
    for (size_t e = from; e < to; e++)
        for (size_t l = 0; l < L; l++)
            v[f->col[e] * L + l] -= f->value[e] * s[l];
}

/* s -= row . v */
INLINE void subtract_dot (const struct factor *f, size_t L, size_t from,
                          size_t to, const double *restrict v,
                          double *restrict s)
{
    for (size_t e = from; e < to; e++)
        for (size_t l = 0; l < L; l++)
            s[l] -= f->value[e] * v[f->col[e] * L + l];
}

/* s -= c v */
INLINE void subtract_lanes (size_t L, double c, const double *restrict v,
                            double *restrict s)
{
    for (size_t l = 0; l < L; l++)
        s[l] -= c * v[l];
}

/* v becomes T'^-1 v; with `all`, U' times that is subtracted from the part
 * after it.
 */
INLINE void solve_transposed (const struct factor *f, size_t L, int all,
                              double *v)
{
    for (size_t k = 0; k < f->triangle; k++) {
        double s[LSQ_LANES];

        for (size_t l = 0; l < L; l++)
            s[l] = v[k * L + l] / f->pivot[k];
        subtract_factor_row (f, L, f->start[k],
                             all ? f->start[k + 1] : f->rest[k], s, v);
        memcpy (v + k * L, s, L * sizeof (*s));
    }
}

/* v becomes T^-1 v; with `all`, T^-1 (v - U w) for the part w after it. */
INLINE void solve_triangle (const struct factor *f, size_t L, int all,
                            double *v)
{
    for (size_t k = f->triangle; k-- > 0;) {
        double s[LSQ_LANES];

        memcpy (s, v + k * L, L * sizeof (*s));
        subtract_dot (f, L, f->start[k], all ? f->start[k + 1] : f->rest[k], v,
                      s);
        for (size_t l = 0; l < L; l++)
            v[k * L + l] = s[l] / f->pivot[k];
    }
}

/* v [side] becomes S'^-1 v */
INLINE void dense_transposed (const struct factor *f, size_t L, double *v)
{
    size_t n = f->side;

    for (size_t i = 0; i < n; i++) {
        const double *row = f->dense + i * n;

        for (size_t l = 0; l < L; l++)
            v[i * L + l] /= row[i];
        for (size_t c = i + 1; c < n; c++)
            subtract_lanes (L, row[c], v + i * L, v + c * L);
    }
    for (size_t i = n; i-- > 0;)
        for (size_t c = 0; c < i; c++)
            subtract_lanes (L, f->dense[i * n + c], v + i * L, v + c * L);
}

/* v [side] becomes S^-1 v */
INLINE void dense_solve (const struct factor *f, size_t L, double *v)
{
    size_t n = f->side;

    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < i; c++)
            subtract_lanes (L, f->dense[i * n + c], v + c * L, v + i * L);
    for (size_t i = n; i-- > 0;) {
        const double *row = f->dense + i * n;

        for (size_t c = i + 1; c < n; c++)
            subtract_lanes (L, row[c], v + c * L, v + i * L);
        for (size_t l = 0; l < L; l++)
            v[i * L + l] /= row[i];
    }
}

/* x = B'^-1 r with both by position; work [triangle] */
INLINE void inverse_transposed (const struct factor *f, size_t L, double *x,
                                double *work)
{
    double *other = x + f->triangle * L;

    solve_transposed (f, L, 1, x);
    dense_transposed (f, L, other);
    memset (work, 0, f->triangle * L * sizeof (*work));
    for (size_t i = 0; i < f->side; i++)
        subtract_factor_row (f, L, f->start[f->triangle + i],
                             f->start[f->triangle + i + 1], other + i * L,
                             work);
    solve_transposed (f, L, 0, work);
    for (size_t k = 0; k < f->triangle * L; k++)
        x[k] += work[k];
}

/* x = B^-1 x */
INLINE void inverse (const struct factor *f, size_t L, double *x, double *work)
{
    double *other = x + f->triangle * L;

    memcpy (work, x, f->triangle * L * sizeof (*work));
    solve_triangle (f, L, 0, work);
    for (size_t i = 0; i < f->side; i++)
        subtract_dot (f, L, f->start[f->triangle + i],
                      f->start[f->triangle + i + 1], work, other + i * L);
    dense_solve (f, L, other);
    solve_triangle (f, L, 1, x);
}

/* s [nextra] becomes (1 + Z Z')^-1 s */
INLINE void solve_core (const struct factor *f, size_t L, double *s)
{
    size_t k = f->nextra;

    for (size_t i = 0; i < k; i++) {
        for (size_t j = 0; j < i; j++)
            subtract_lanes (L, f->core[i * k + j], s + j * L, s + i * L);
        for (size_t l = 0; l < L; l++)
            s[i * L + l] /= f->core[i * k + i];
    }
    for (size_t i = k; i-- > 0;) {
        for (size_t l = 0; l < L; l++)
            s[i * L + l] /= f->core[i * k + i];
        for (size_t j = 0; j < i; j++)
            subtract_lanes (L, f->core[i * k + j], s + i * L, s + j * L);
    }
}

/* x becomes (1 + Z' Z)^-1 x = x - Z' (1 + Z Z')^-1 Z x; s: [nextra] */
INLINE void correct (const struct factor *f, size_t L, double *restrict x,
                     double *restrict s)
{
    size_t k = f->nextra;

    memset (s, 0, k * L * sizeof (*s));
    for (size_t c = 0; c < f->n; c++)
        for (size_t i = 0; i < k; i++)
            subtract_lanes (L, f->z[c * k + i], x + c * L, s + i * L);
    solve_core (f, L, s);
    for (size_t c = 0; c < f->n; c++)
        for (size_t i = 0; i < k; i++)
            subtract_lanes (L, -f->z[c * k + i], s + i * L, x + c * L);
}

INLINE void precondition_factor (const struct factor *f, size_t L,
                                 const double *r, double *z, double *x,
                                 double *rz)
{
    double *work = z; /* until z is known */
    double sum[LSQ_LANES] = { 0 };

    for (size_t c = 0; c < f->n; c++)
        memcpy (x + f->where[c] * L, r + c * L, L * sizeof (*x));
    inverse_transposed (f, L, x, work);
    correct (f, L, x, work);
    inverse (f, L, x, work);
    for (size_t c = 0; c < f->n; c++) {
        memcpy (z + c * L, x + f->where[c] * L, L * sizeof (*x));
        for (size_t l = 0; l < L; l++)
            sum[l] += r[c * L + l] * z[c * L + l];
    }
    memcpy (rz, sum, L * sizeof (*rz));
}

void factor_apply (const struct factor *f, size_t lanes, const double *r,
                   double *z, double *work, double *rz)
{
    if (lanes == 1)
        precondition_factor (f, 1, r, z, work, rz);
    else
        precondition_factor (f, LSQ_LANES, r, z, work, rz);
}

/*
 * The rows that are not in B
 */

/* Z: rows of N times B^-1, LSQ_LANES at a time; and the core. */
static int add_extra (struct factor *f, const struct sparse *a, const double *w)
{
    size_t lanes = f->n * LSQ_LANES;
    double *x = xarray (2 * lanes, sizeof (*x));
    size_t k = f->nextra;

    f->z = xarray (f->n * k, sizeof (*f->z));
    f->core = linalg_matrix (k);
    for (size_t first = 0; first < k; first += LSQ_LANES) {
        size_t n = k - first < LSQ_LANES ? k - first : LSQ_LANES;

        memset (x, 0, lanes * sizeof (*x));
        for (size_t l = 0; l < n; l++) {
            uint32_t i = f->extra[first + l];

            for (size_t e = a->start[i]; e < a->start[i + 1]; e++)
                x[f->where[a->col[e]] * LSQ_LANES + l]
                    = root_of (w, i) * a->value[e];
        }
        inverse_transposed (f, LSQ_LANES, x, x + lanes);
        for (size_t c = 0; c < f->n; c++)
            memcpy (f->z + c * k + first, x + c * LSQ_LANES, n * sizeof (*x));
    }
    free (x);
    for (size_t i = 0; i < k; i++)
        f->core[i * k + i] = 1;
    for (size_t c = 0; c < f->n; c++) {
        const double *z = f->z + c * k;

        for (size_t i = 0; i < k; i++)
            if (z[i] != 0)
                linalg_add (f->core + i * k, z[i], z, i + 1);
    }
    return linalg_cholesky (f->core, k);
}

struct factor *factor_create (const struct sparse *a, const double *w,
                              const struct peel *p)
{
    struct factor *f = xcalloc (1, sizeof (*f));
    size_t entries = a->start[a->nrows];
    int rc = 0;

    f->n = a->ncols;
    f->triangle = p->n;
    f->side = p->ncols;
    f->where = xarray (f->n, sizeof (*f->where));
    f->start = xcalloc (f->n + 1, sizeof (*f->start));
    f->rest = xarray (f->n, sizeof (*f->rest));
    f->pivot = xarray (f->n, sizeof (*f->pivot));
    f->col = xarray (entries, sizeof (*f->col));
    f->value = xarray (entries, sizeof (*f->value));
    for (size_t k = 0; k < p->n; k++)
        f->where[p->col[k]] = (uint32_t)k;
    for (size_t c = 0; c < p->ncols; c++)
        f->where[p->other_col[c]] = (uint32_t)(p->n + c);
    for (size_t k = 0; k < p->n && rc == 0; k++)
        rc = copy_triangle (f, a, p->row[k], root_of (w, p->row[k]), k);
    if (rc == 0 && add_others (f, a, w, p) == 0 && add_extra (f, a, w) == 0)
        return f;
    factor_destroy (f);
    return NULL;
}
