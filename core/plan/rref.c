/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sparse row echelon form modulo 2^61 - 1.
 *
 * Nothing is reduced before it has to be, since a reduced form fills in before
 * it gets sparse again.
 *
 * A row that has a column which no row had before is independent of them. It is
 * *fresh*: it is stored unchanged, with that column as its pivot. Any other row
 * is *late*: it is reduced by all others and the rest is stored. So a fresh row
 * has pivots of earlier fresh rows, and late pivots of any time. A late row has
 * no fresh pivots, and late pivots only of later late rows. To reduce a row,
 * the fresh rows that it meets are subtracted from the last to the first, and
 * after that the late ones from the first to the last. Null vectors are
 * computed in the opposite order.
 *
 * The pivot of a late row is its column that the fewest rows have (Markowitz),
 * since it is eliminated from later rows.
 *
 * Structural pivots of this kind: J.-C. Faugere, S. Lachartre, "Parallel
 * Gaussian elimination for Groebner bases computations in finite fields", 2010;
 * C. Bouillaguet, C. Delaplace, "Sparse Gaussian elimination modulo p: an
 * update", 2016.
 */
#include "config.h"
#include "core/plan/rref.h"

#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"

enum {
    STALE_MAX = 50, /* rows that a null vector may misjudge */
    NULL_COST = 4,  /* entries of a null vector per entry of a row */
    DOT_COST = 3,   /* the same for products with it */
};

struct rref_line { /* a row of the form, its pivot first */
    struct rref_entry *entry;
    size_t n;
    bool late;
};

struct rref_column {
    int32_t pivot; /* row that has this pivot, or -1 */
    uint32_t held; /* rows that have the column */
    uint64_t acc;  /* 0 outside a reduction */
    bool at;       /* false outside a reduction */
};

struct rref {
    size_t m, rank;
    struct rref_line *line;    /* [m], the first `rank` are in use */
    struct rref_column *col;   /* [m] */
    uint32_t *touched;         /* [m] */
    uint64_t *fresh, *late;    /* bits [m]: rows to reduce by, 0 outside */
    uint64_t entries, work;
};

/* a > 0 */
static uint64_t prime_inverse (uint64_t a)
{
    uint64_t x = 1;

    if (a <= 2) /* nearly always: how often a row crosses a link */
        return a == 1 ? 1 : (PRIME + 1) / 2;
    for (uint64_t e = PRIME - 2; e > 0; e >>= 1) {
        if (e & 1)
            x = prime_mul (x, a);
        a = prime_mul (a, a);
    }
    return x;
}

struct rref *rref_create (size_t m)
{
    struct rref *r = xcalloc (1, sizeof (*r));

    r->m = m;
    r->line = xcalloc (m, sizeof (*r->line));
    r->col = xcalloc (m, sizeof (*r->col));
    r->touched = xcalloc (m, sizeof (*r->touched));
    r->fresh = xcalloc (m / 64 + 1, sizeof (*r->fresh));
    r->late = xcalloc (m / 64 + 1, sizeof (*r->late));
    for (size_t c = 0; c < m; c++)
        r->col[c].pivot = -1;
    return r;
}

struct rref *rref_copy (const struct rref *r)
{
    struct rref *to = rref_create (r->m);

    to->rank = r->rank;
    to->entries = r->entries;
    memcpy (to->col, r->col, r->m * sizeof (*r->col));
    for (size_t i = 0; i < r->rank; i++) {
        to->line[i] = r->line[i];
        to->line[i].entry = xarray (r->line[i].n, sizeof (*r->line[i].entry));
        memcpy (to->line[i].entry, r->line[i].entry,
                r->line[i].n * sizeof (*r->line[i].entry));
    }
    return to;
}

void rref_destroy (struct rref *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->rank; i++)
        free (r->line[i].entry);
    free (r->line);
    free (r->col);
    free (r->touched);
    free (r->fresh);
    free (r->late);
    free (r);
}

static void accumulate (struct rref *r, uint32_t col, uint64_t value,
                        size_t *n)
{
    struct rref_column *c = &r->col[col];

    if (!c->at) {
        c->at = true;
        r->touched[(*n)++] = col;
        if (c->pivot >= 0)
            (r->line[c->pivot].late ? r->late : r->fresh)[c->pivot / 64]
                |= UINT64_C (1) << (c->pivot % 64);
    }
    c->acc = prime_add (c->acc, value);
}

/* Eliminate the pivot of row i from acc. */
static void eliminate_pivot (struct rref *r, size_t i, size_t *n)
{
    const struct rref_line *l = &r->line[i];
    uint64_t *acc = &r->col[l->entry[0].col].acc;
    uint64_t factor = prime_neg (*acc);

    if (factor == 0)
        return;
    *acc = 0;
    for (size_t k = 1; k < l->n; k++)
        accumulate (r, l->entry[k].col,
                    prime_mul (factor, l->entry[k].value), n);
    r->work += l->n;
}

/* Remove touched columns whose value is 0; return the number of the others. */
static size_t drop_zero_columns (struct rref *r, size_t n)
{
    size_t keep = 0;

    for (size_t i = 0; i < n; i++) {
        uint32_t c = r->touched[i];

        r->col[c].at = false;
        if (r->col[c].acc)
            r->touched[keep++] = c;
    }
    return keep;
}

/* Subtract the part in the span of the form. The rest is in acc, its columns in
 * touched; return their number. Call clear_touched_columns () afterwards.
 */
static size_t reduce_by_pivots (struct rref *r, const uint32_t *col,
                                const uint8_t *count, size_t n)
{
    size_t words = (r->rank + 63) / 64;
    size_t ntouched = 0;

    for (size_t i = 0; i < n; i++)
        if (count[i])
            accumulate (r, col[i], count[i], &ntouched);
    for (size_t w = words; w-- > 0;)
        while (r->fresh[w]) {
            int bit = 63 - __builtin_clzll (r->fresh[w]);

            r->fresh[w] &= ~(UINT64_C (1) << bit);
            eliminate_pivot (r, 64 * w + bit, &ntouched);
        }
    for (size_t w = 0; w < words; w++)
        while (r->late[w]) {
            int bit = __builtin_ctzll (r->late[w]);

            r->late[w] &= ~(UINT64_C (1) << bit);
            eliminate_pivot (r, 64 * w + bit, &ntouched);
        }
    r->work += n;
    return drop_zero_columns (r, ntouched);
}

static void clear_touched_columns (struct rref *r, size_t n)
{
    for (size_t i = 0; i < n; i++)
        r->col[r->touched[i]].acc = 0;
}

/* Make l, whose pivot is entry 0, the next row of the form. */
static void append_rref_row (struct rref *r, const struct rref_line *l)
{
    for (size_t k = 0; k < l->n; k++)
        r->col[l->entry[k].col].held++;
    r->entries += l->n;
    r->col[l->entry[0].col].pivot = (int32_t)r->rank;
    r->line[r->rank++] = *l;
}

/* The rest in acc, divided by its value in the column `pivot`. */
static void make_pivot_row (struct rref *r, size_t n, uint32_t pivot,
                            struct rref_line *l)
{
    uint64_t scale = prime_inverse (r->col[pivot].acc);

    l->entry = xarray (n, sizeof (*l->entry));
    l->n = 1;
    l->entry[0] = (struct rref_entry){ pivot, 1 };
    for (size_t i = 0; i < n; i++) {
        uint32_t c = r->touched[i];

        if (c != pivot)
            l->entry[l->n++] = (struct rref_entry){
                c, prime_mul (r->col[c].acc, scale)
            };
    }
}

/* The first of n columns that no row has had, or n. */
static size_t find_fresh (const struct rref *r, const uint32_t *col,
                          const uint8_t *count, size_t n)
{
    size_t i = 0;

    while (i < n && (r->col[col[i]].held || count[i] == 0))
        i++;
    return i;
}

/* The value of a null vector in the pivot column of a row. */
static void solve_pivot (const struct rref_line *l, uint64_t *z)
{
    uint64_t sum = 0;

    for (size_t k = 1; k < l->n; k++)
        sum = prime_add (sum,
                         prime_mul (l->entry[k].value, z[l->entry[k].col]));
    z[l->entry[0].col] = prime_neg (sum);
}

bool rref_add_fresh (struct rref *r, const uint32_t *col,
                     const uint8_t *count, size_t n)
{
    size_t pivot = find_fresh (r, col, count, n), rest = 0;
    struct rref_line l = { 0 };

    if (pivot == n)
        return false;
    for (size_t i = 0; i < n; i++)
        if (count[i]) {
            r->touched[rest++] = col[i];
            r->col[col[i]].acc = count[i];
        }
    make_pivot_row (r, rest, col[pivot], &l);
    append_rref_row (r, &l);
    clear_touched_columns (r, rest);
    r->work += n;
    return true;
}

bool rref_add (struct rref *r, const uint32_t *col, const uint8_t *count,
               size_t n)
{
    struct rref_line l = { .late = true };
    size_t rest;

    if (rref_add_fresh (r, col, count, n))
        return true;
    rest = reduce_by_pivots (r, col, count, n);
    if (rest > 0) {
        uint32_t pivot = r->touched[0];

        for (size_t i = 1; i < rest; i++)
            if (r->col[r->touched[i]].held < r->col[pivot].held)
                pivot = r->touched[i];
        make_pivot_row (r, rest, pivot, &l);
        append_rref_row (r, &l);
    }
    clear_touched_columns (r, rest);
    return rest > 0;
}

bool rref_spans (struct rref *r, const uint32_t *col, const uint8_t *count,
                 size_t n)
{
    size_t rest;

    if (find_fresh (r, col, count, n) < n)
        return false;
    rest = reduce_by_pivots (r, col, count, n);
    clear_touched_columns (r, rest);
    return rest == 0;
}

size_t rref_rank (const struct rref *r)
{
    return r->rank;
}

/* Replace the other pivots in row i by their rows, which are reduced already.
 */
static void substitute (struct rref *r, size_t i)
{
    struct rref_line *l = &r->line[i], old = *l;
    size_t n = 0;

    for (size_t k = 0; k < l->n; k++)
        accumulate (r, l->entry[k].col, l->entry[k].value, &n);
    for (size_t k = 1; k < l->n; k++)
        if (r->col[l->entry[k].col].pivot >= 0)
            eliminate_pivot (r, r->col[l->entry[k].col].pivot, &n);
    for (size_t k = 0; k < l->n; k++) {
        struct rref_column *c = &r->col[l->entry[k].col];

        if (c->pivot >= 0) /* accumulate () marked it for reduction */
            r->fresh[c->pivot / 64] = r->late[c->pivot / 64] = 0;
        c->held--;
    }
    n = drop_zero_columns (r, n);
    make_pivot_row (r, n, old.entry[0].col, l);
    clear_touched_columns (r, n);
    for (size_t k = 0; k < l->n; k++)
        r->col[l->entry[k].col].held++;
    r->entries += l->n;
    r->entries -= old.n;
    free (old.entry);
}

bool rref_reduce_within (struct rref *r, uint64_t most)
{
    uint64_t end = most < UINT64_MAX - r->work ? r->work + most : UINT64_MAX;

    for (size_t i = r->rank; i-- > 0 && r->work < end;)
        if (r->line[i].late)
            substitute (r, i);
    for (size_t i = 0; i < r->rank && r->work < end; i++)
        if (!r->line[i].late)
            substitute (r, i);
    return r->work < end;
}

const struct rref_entry *rref_row (const struct rref *r, size_t i, size_t *n)
{
    *n = r->line[i].n;
    return r->line[i].entry;
}

int rref_pivot (const struct rref *r, uint32_t col)
{
    return r->col[col].pivot;
}

void rref_null (const struct rref *r, struct rng *rng, uint64_t *z)
{
    for (size_t c = 0; c < r->m; c++)
        if (r->col[c].pivot < 0)
            z[c] = rng_below (rng, PRIME);
    for (size_t i = r->rank; i-- > 0;)
        if (r->line[i].late)
            solve_pivot (&r->line[i], z);
    for (size_t i = 0; i < r->rank; i++)
        if (!r->line[i].late)
            solve_pivot (&r->line[i], z);
}

uint64_t rref_dot (const uint32_t *col, const uint8_t *count, size_t n,
                   const uint64_t *z)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < n; i++)
        sum = prime_add (sum, prime_mul (count[i], z[col[i]]));
    return sum;
}

uint64_t rref_work (const struct rref *r)
{
    return r->work;
}

void screen_draw (struct screen *s)
{
    if (!s->z)
        s->z = xcalloc (s->rref->m, sizeof (*s->z));
    rref_null (s->rref, s->rng, s->z);
    s->work += s->rref->m + s->rref->entries / NULL_COST;
    s->stale = 0;
}

bool screen_passes (struct screen *s, const uint32_t *col,
                    const uint8_t *count, size_t n)
{
    s->work += n / DOT_COST;
    return rref_dot (col, count, n, s->z) != 0;
}

bool screen_add (struct screen *s, const uint32_t *col, const uint8_t *count,
                 size_t n)
{
    size_t rank = s->rref->rank;

    if (!screen_passes (s, col, count, n))
        return false;
    if (!rref_add (s->rref, col, count, n)) {
        if (++s->stale == STALE_MAX)
            screen_draw (s);
        return false;
    }
    if (!s->rref->line[rank].late)
        solve_pivot (&s->rref->line[rank], s->z);
    return true;
}

static uint64_t gcd (uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t t = a % b;

        a = b;
        b = t;
    }
    return a;
}

/* Half of Euclid's algorithm: r = t * value modulo P in every step, and the
 * first r that is small enough has the only small t (Wang, 1981).
 */
int rref_rational (uint64_t value, int64_t *p, int64_t *q)
{
    uint64_t r0 = PRIME;
    uint64_t r1 = value;
    int64_t t0 = 0;
    int64_t t1 = 1;

    while (r1 > RREF_RATIONAL_MAX) {
        uint64_t quotient = r0 / r1;
        uint64_t r2 = r0 - quotient * r1;
        int64_t t2 = t0 - (int64_t)quotient * t1;

        r0 = r1;
        r1 = r2;
        t0 = t1;
        t1 = t2;
    }
    if (llabs (t1) > RREF_RATIONAL_MAX
        || gcd (r1, (uint64_t)llabs (t1)) != 1)
        return -1;
    *p = t1 < 0 ? -(int64_t)r1 : (int64_t)r1;
    *q = llabs (t1);
    return 0;
}
