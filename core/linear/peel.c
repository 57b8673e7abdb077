/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes: a greedy method. The column with the fewest rows is the next of the
 * triangle, with one of these rows; the others are put aside. If a column is in
 * one row only, none is put aside. Columns are in lists, one for each number of
 * rows.
 *
 * The inverse of a triangle can grow as fast as 2^n, and sometimes does: chains
 * of differences. peel_steady starts with the last rows; if a row is put aside,
 * its column counts as 0 for those before it.
 */
#include "config.h"
#include "core/linear/peel.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/rng.h"

#define NONE UINT32_MAX

enum { SIGNS = 8, SEED = 1 };

struct peeling {
    const struct sparse *a;
    struct peel *p;
    size_t *start; /* [ncols + 2] rows by column */
    uint32_t *row;
    int8_t *value;
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

static void peeling_clear (struct peeling *s)
{
    free (s->start);
    free (s->row);
    free (s->value);
    free (s->gone);
    free (s->count);
    free (s->head);
    free (s->next);
    free (s->prev);
}

static void alloc (struct peeling *s)
{
    const struct sparse *a = s->a;
    size_t entries = a->start[a->nrows];
    struct peel *p = s->p;

    s->start = xcalloc (a->ncols + 2, sizeof (*s->start));
    s->row = xarray (entries, sizeof (*s->row));
    s->value = xarray (entries, sizeof (*s->value));
    s->gone = xcalloc (a->nrows, sizeof (*s->gone));
    s->count = xcalloc (a->ncols, sizeof (*s->count));
    s->head = xarray (a->nrows + 1, sizeof (*s->head));
    s->next = xarray (a->ncols, sizeof (*s->next));
    s->prev = xarray (a->ncols, sizeof (*s->prev));
    p->row = xarray (a->ncols, sizeof (*p->row));
    p->col = xarray (a->ncols, sizeof (*p->col));
    p->other_row = xarray (a->nrows, sizeof (*p->other_row));
    p->other_col = xarray (a->ncols, sizeof (*p->other_col));
}

static void unlist (struct peeling *s, uint32_t col)
{
    if (s->prev[col] == NONE)
        s->head[s->count[col]] = s->next[col];
    else
        s->next[s->prev[col]] = s->next[col];
    if (s->next[col] != NONE)
        s->prev[s->next[col]] = s->prev[col];
}

static void list (struct peeling *s, uint32_t col)
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

static void transpose (struct peeling *s)
{
    const struct sparse *a = s->a;

    /* start[c + 1] is the place of column c's next entry */
    for (size_t e = 0; e < a->start[a->nrows]; e++) {
        s->start[a->col[e] + 2]++;
        s->count[a->col[e]]++;
    }
    for (size_t c = 2; c < a->ncols + 2; c++)
        s->start[c] += s->start[c - 1];
    for (uint32_t i = 0; i < a->nrows; i++)
        for (size_t e = a->start[i]; e < a->start[i + 1]; e++) {
            size_t at = s->start[a->col[e] + 1]++;

            s->row[at] = i;
            s->value[at] = a->value[e];
        }
    s->least = a->nrows + 1;
    for (size_t n = 0; n <= a->nrows; n++)
        s->head[n] = NONE;
    for (uint32_t c = (uint32_t)a->ncols; c-- > 0;)
        if (s->count[c] > 0)
            list (s, c);
}

/* Choose the row to keep among those that have a column: the one with the
 * greatest value there, since it is the divisor, then the shortest.
 */
static uint32_t choose (const struct peeling *s, uint32_t col)
{
    const size_t *start = s->a->start;
    uint32_t best = NONE;
    int most = 0;

    for (size_t e = s->start[col]; e < s->start[col + 1]; e++) {
        uint32_t i = s->row[e];
        int size = abs (s->value[e]);

        if (s->gone[i])
            continue;
        if (best == NONE || size > most
            || (size == most
                && start[i + 1] - start[i] < start[best + 1] - start[best])) {
            best = i;
            most = size;
        }
    }
    return best;
}

static void remove_row (struct peeling *s, uint32_t row)
{
    const struct sparse *a = s->a;

    s->gone[row] = true;
    for (size_t e = a->start[row]; e < a->start[row + 1]; e++) {
        uint32_t c = a->col[e];

        unlist (s, c);
        if (--s->count[c] > 0)
            list (s, c);
    }
}

static void peel_column (struct peeling *s, uint32_t col)
{
    struct peel *p = s->p;
    uint32_t keep = choose (s, col);

    p->row[p->n] = keep;
    p->col[p->n++] = col;
    for (size_t e = s->start[col]; e < s->start[col + 1]; e++) {
        uint32_t i = s->row[e];

        if (s->gone[i])
            continue;
        if (i != keep)
            p->other_row[p->nrows++] = i;
        remove_row (s, i);
    }
}

/* Collect what is neither in the triangle nor put aside. */
static void gather (struct peeling *s)
{
    struct peel *p = s->p;

    for (uint32_t i = 0; i < s->a->nrows; i++)
        if (!s->gone[i])
            p->other_row[p->nrows++] = i;
    for (uint32_t c = 0; c < s->a->ncols; c++)
        s->count[c] = 0;
    for (size_t k = 0; k < p->n; k++)
        s->count[p->col[k]] = 1;
    for (uint32_t c = 0; c < s->a->ncols; c++)
        if (s->count[c] == 0)
            p->other_col[p->ncols++] = c;
}

void peel_make (struct peel *p, const struct sparse *a, size_t most)
{
    struct peeling s = { .a = a, .p = p };

    *p = (struct peel){ 0 };
    alloc (&s);
    transpose (&s);
    most = most < a->nrows ? most : a->nrows;
    for (; s.least <= most; s.least++)
        while (s.head[s.least] != NONE)
            peel_column (&s, s.head[s.least]);
    gather (&s);
    peeling_clear (&s);
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
