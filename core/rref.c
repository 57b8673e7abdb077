/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sparse reduced row echelon form modulo 2^61 - 1.
 *
 * The pivot of a new row is its column that the fewest other rows hold
 * (Markowitz), since each of them has to be rid of it. Columns know the rows
 * that hold them; such a list may name a row that has lost the column since,
 * or name one twice, and is right again when the column becomes a pivot.
 */
#include "config.h"
#include "core/rref.h"

#include <errno.h>
#include <stdlib.h>

struct line { /* a row of the form */
    struct rref_entry *entry;
    size_t n, size;
};

struct column {
    uint32_t *row;
    size_t n, size;
    int32_t pivot; /* row whose pivot this is, or -1 */
};

struct rref {
    size_t m, rank;
    struct line *line;  /* [m], rank of them in use */
    struct column *col; /* [m] */
    uint64_t *acc;      /* [m], 0 outside a reduction */
    uint32_t *at;       /* [m], 0 outside a reduction */
    uint32_t *touched;  /* [m] */
    uint64_t work;
};

static uint64_t add (uint64_t a, uint64_t b)
{
    uint64_t s = a + b;

    return s >= RREF_PRIME ? s - RREF_PRIME : s;
}

static uint64_t neg (uint64_t a)
{
    return a ? RREF_PRIME - a : 0;
}

static uint64_t mul (uint64_t a, uint64_t b)
{
    unsigned __int128 t = (unsigned __int128)a * b;

    return add ((uint64_t)t & RREF_PRIME, (uint64_t)(t >> 61));
}

static uint64_t inverse (uint64_t a)
{
    uint64_t x = 1;

    for (uint64_t e = RREF_PRIME - 2; e > 0; e >>= 1) {
        if (e & 1)
            x = mul (x, a);
        a = mul (a, a);
    }
    return x;
}

struct rref *rref_create (size_t m)
{
    struct rref *r = calloc (1, sizeof (*r));

    if (!r)
        return NULL;
    r->line = calloc (m + 1, sizeof (*r->line));
    r->col = calloc (m + 1, sizeof (*r->col));
    r->acc = calloc (m + 1, sizeof (*r->acc));
    r->at = calloc (m + 1, sizeof (*r->at));
    r->touched = calloc (m + 1, sizeof (*r->touched));
    if (!r->line || !r->col || !r->acc || !r->at || !r->touched) {
        rref_destroy (r);
        errno = ENOMEM;
        return NULL;
    }
    r->m = m;
    for (size_t c = 0; c < m; c++)
        r->col[c].pivot = -1;
    return r;
}

void rref_destroy (struct rref *r)
{
    int saved = errno;

    if (!r)
        return;
    for (size_t c = 0; c < r->m; c++) {
        free (r->line[c].entry);
        free (r->col[c].row);
    }
    free (r->line);
    free (r->col);
    free (r->acc);
    free (r->at);
    free (r->touched);
    free (r);
    errno = saved;
}

/* Room for one more of `each` bytes behind the n in use. */
static int grow (void **v, size_t n, size_t *size, size_t each)
{
    size_t more = *size ? 2 * *size : 4;
    void *new;

    if (n < *size)
        return 0;
    if (!(new = realloc (*v, more * each)))
        return -1;
    *v = new;
    *size = more;
    return 0;
}

static int line_push (struct line *l, uint32_t col, uint64_t value)
{
    if (grow ((void **)&l->entry, l->n, &l->size, sizeof (*l->entry)) < 0)
        return -1;
    l->entry[l->n++] = (struct rref_entry){ col, value };
    return 0;
}

static int column_push (struct column *c, uint32_t row)
{
    if (grow ((void **)&c->row, c->n, &c->size, sizeof (*c->row)) < 0)
        return -1;
    c->row[c->n++] = row;
    return 0;
}

static void accumulate (struct rref *r, uint32_t col, uint64_t value,
                        size_t *n)
{
    if (!r->at[col]) {
        r->at[col] = 1;
        r->touched[(*n)++] = col;
    }
    r->acc[col] = add (r->acc[col], value);
}

/* Subtract what the form explains. Leaves the rest in acc, its columns in
 * touched, and returns their number; forget () is due.
 */
static size_t reduce (struct rref *r, const uint32_t *col,
                      const uint8_t *count, size_t n)
{
    size_t ntouched = 0;
    size_t keep = 0;

    for (size_t i = 0; i < n; i++) {
        int32_t p = r->col[col[i]].pivot;

        if (p < 0) {
            accumulate (r, col[i], count[i], &ntouched);
            continue;
        }
        for (size_t k = 1; k < r->line[p].n; k++) {
            const struct rref_entry *e = &r->line[p].entry[k];

            accumulate (r, e->col, mul (neg (count[i]), e->value), &ntouched);
        }
        r->work += r->line[p].n;
    }
    r->work += n;
    for (size_t i = 0; i < ntouched; i++) {
        uint32_t c = r->touched[i];

        r->at[c] = 0;
        if (r->acc[c])
            r->touched[keep++] = c;
    }
    return keep;
}

static void forget (struct rref *r, size_t n)
{
    for (size_t i = 0; i < n; i++)
        r->acc[r->touched[i]] = 0;
}

/* Rid `row` of the pivot column of line l: add the right multiple of l. */
static int eliminate (struct rref *r, uint32_t row, const struct line *l)
{
    struct line *q = &r->line[row];
    size_t f = 1;
    size_t keep = 1;
    uint64_t factor;
    int rc = -1;

    while (f < q->n && q->entry[f].col != l->entry[0].col)
        f++;
    r->work += q->n + l->n;
    if (f == q->n)
        return 0;
    factor = neg (q->entry[f].value);
    q->entry[f] = q->entry[--q->n];
    for (size_t k = 1; k < q->n; k++)
        r->at[q->entry[k].col] = k;
    for (size_t k = 1; k < l->n; k++) {
        uint32_t c = l->entry[k].col;
        uint64_t v = mul (factor, l->entry[k].value);

        if (r->at[c])
            q->entry[r->at[c]].value = add (q->entry[r->at[c]].value, v);
        else if (line_push (q, c, v) < 0
                 || column_push (&r->col[c], row) < 0)
            goto done;
    }
    rc = 0;
done:
    for (size_t k = 1; k < q->n; k++) {
        r->at[q->entry[k].col] = 0;
        if (q->entry[k].value)
            q->entry[keep++] = q->entry[k];
    }
    q->n = keep;
    return rc;
}

/* Make the reduced row in acc the next row of the form. */
static int append (struct rref *r, size_t n)
{
    struct line *l = &r->line[r->rank];
    uint32_t pivot = r->touched[0];
    struct column *c;
    uint64_t scale;

    for (size_t i = 1; i < n; i++)
        if (r->col[r->touched[i]].n < r->col[pivot].n)
            pivot = r->touched[i];
    scale = inverse (r->acc[pivot]);
    if (line_push (l, pivot, 1) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (r->touched[i] != pivot
            && line_push (l, r->touched[i],
                          mul (r->acc[r->touched[i]], scale)) < 0)
            return -1;
    c = &r->col[pivot];
    for (size_t i = 0; i < c->n; i++)
        if (eliminate (r, c->row[i], l) < 0)
            return -1;
    free (c->row);
    *c = (struct column){ .pivot = (int32_t)r->rank };
    for (size_t k = 1; k < l->n; k++)
        if (column_push (&r->col[l->entry[k].col], r->rank) < 0)
            return -1;
    r->rank++;
    return 0;
}

int rref_add (struct rref *r, const uint32_t *col, const uint8_t *count,
              size_t n)
{
    size_t rest = reduce (r, col, count, n);
    int rc = 0;

    if (rest > 0)
        rc = append (r, rest) < 0 ? -1 : 1;
    forget (r, rest);
    return rc;
}

bool rref_spans (struct rref *r, const uint32_t *col, const uint8_t *count,
                 size_t n)
{
    size_t rest = reduce (r, col, count, n);

    forget (r, rest);
    return rest == 0;
}

size_t rref_rank (const struct rref *r)
{
    return r->rank;
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
            z[c] = rng_below (rng, RREF_PRIME);
    for (size_t i = 0; i < r->rank; i++) {
        const struct line *l = &r->line[i];
        uint64_t sum = 0;

        for (size_t k = 1; k < l->n; k++)
            sum = add (sum, mul (l->entry[k].value, z[l->entry[k].col]));
        z[l->entry[0].col] = neg (sum);
    }
}

uint64_t rref_dot (const uint32_t *col, const uint8_t *count, size_t n,
                   const uint64_t *z)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < n; i++)
        sum = add (sum, mul (count[i], z[col[i]]));
    return sum;
}

uint64_t rref_work (const struct rref *r)
{
    return r->work;
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

/* Half of Euclid's algorithm: r = t * value modulo P all the way down, and
 * the first r that is small enough has the only small t (Wang, 1981).
 */
int rref_rational (uint64_t value, int64_t *p, int64_t *q)
{
    uint64_t r0 = RREF_PRIME;
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
