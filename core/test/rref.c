/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The echelon form, against plain Gauss-Jordan over the rationals. */
#include "config.h"
#include "core/plan/rref.h"

#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"

#define COUNT(v) (sizeof (v) / sizeof ((v)[0]))

enum { MAX = 12 };

struct fraction {
    __int128 p, q;
};

/* Is col alone a row of the form? */
static bool identified (const struct rref *r, uint32_t col)
{
    int p = rref_pivot (r, col);
    size_t n = 0;

    if (p >= 0)
        rref_row (r, (size_t)p, &n);
    return n == 1;
}

static struct fraction fraction (__int128 p, __int128 q)
{
    __int128 a = p < 0 ? -p : p;
    __int128 b = q;

    while (b) {
        __int128 t = a % b;

        a = b;
        b = t;
    }
    return (struct fraction){ p / a, q / a };
}

static struct fraction minus_times (struct fraction x, struct fraction y,
                                    struct fraction z)
{
    struct fraction yz = fraction (y.p * z.p, y.q * z.q);

    return fraction (x.p * yz.q - yz.p * x.q, x.q * yz.q);
}

static struct fraction divide (struct fraction x, struct fraction y)
{
    return y.p < 0 ? fraction (-x.p * y.q, x.q * -y.p)
                   : fraction (x.p * y.q, x.q * y.p);
}

/* Reduce the n rows of a, pivots in the columns of `order` first come first
 * served. Returns the rank; row i has its pivot in pivot[i].
 */
static size_t gauss (struct fraction a[MAX][MAX], size_t n,
                     const uint32_t *order, size_t m, size_t *pivot)
{
    size_t rank = 0;

    for (size_t o = 0; o < m; o++) {
        size_t c = order[o];
        size_t r = rank;
        struct fraction row[MAX];

        while (r < n && a[r][c].p == 0)
            r++;
        if (r == n)
            continue;
        memcpy (row, a[r], sizeof (row));
        memcpy (a[r], a[rank], sizeof (row));
        for (size_t k = 0; k < m; k++)
            a[rank][k] = divide (row[k], row[c]);
        for (size_t i = 0; i < n; i++) {
            struct fraction f = a[i][c];

            if (i != rank && f.p)
                for (size_t k = 0; k < m; k++)
                    a[i][k] = minus_times (a[i][k], f, a[rank][k]);
        }
        pivot[rank++] = c;
    }
    return rank;
}

static int add (struct rref *r, const uint8_t *row, size_t m)
{
    uint32_t col[MAX];
    uint8_t count[MAX];
    size_t n = 0;

    for (size_t c = 0; c < m; c++)
        if (row[c]) {
            col[n] = c;
            count[n++] = row[c];
        }
    return rref_add (r, col, count, n);
}

/* True if the form is what Gauss makes of the same rows and pivots. */
static int equal (const struct rref *r, struct fraction a[MAX][MAX],
                  size_t n, size_t m)
{
    uint32_t order[MAX];
    size_t pivot[MAX];
    size_t at = 0;

    for (size_t i = 0; i < rref_rank (r); i++) {
        size_t k;

        order[at++] = rref_row (r, i, &k)->col;
    }
    for (uint32_t c = 0; c < m; c++)
        if (rref_pivot (r, c) < 0)
            order[at++] = c;
    if (at != m || gauss (a, n, order, m, pivot) != rref_rank (r))
        return 0;
    for (size_t i = 0; i < rref_rank (r); i++) {
        size_t k, others = 0, nonzero = 0;
        const struct rref_entry *e = rref_row (r, i, &k);

        if (e[0].value != 1 || e[0].col != pivot[i]
            || rref_pivot (r, e[0].col) != (int)i
            || identified (r, e[0].col) != (k == 1))
            return 0;
        for (size_t c = 0; c < m; c++)
            nonzero += a[i][c].p != 0;
        for (size_t x = 0; x < k; x++) {
            struct fraction f = a[i][e[x].col];
            int64_t p, q;

            others += rref_rational (e[x].value, &p, &q) == 0 && p == f.p
                && q == f.q;
        }
        if (others != k || nonzero != k)
            return 0;
    }
    return 1;
}

static void test_random (void)
{
    struct rng rng;
    const size_t many = trials (2000);
    size_t good = 0, answers = 0, spans = 0, nulls = 0;

    rng_seed (&rng, 1);
    for (size_t t = 0; t < many; t++) {
        size_t m = 1 + rng_below (&rng, MAX - 1);
        size_t n = rng_below (&rng, MAX);
        uint8_t row[MAX][MAX] = { { 0 } };
        struct fraction a[MAX][MAX];
        struct rref *r = rref_create (m);
        uint64_t z[MAX];
        int ok_answers = 1, ok_spans = 1, ok_null = 1;

        for (size_t i = 0; i < n; i++) {
            size_t before = rref_rank (r);
            uint32_t col[MAX];
            int rc;

            for (size_t c = 0; c < m; c++) {
                col[c] = c;
                if (rng_below (&rng, 3) == 0)
                    row[i][c] = 1 + rng_below (&rng, 2);
            }
            rc = rref_spans (r, col, row[i], m) ? 0 : 1;
            ok_spans &= add (r, row[i], m) == rc
                && rref_spans (r, col, row[i], m);
            ok_answers &= rref_rank (r) == before + rc;
        }
        rref_null (r, &rng, z);
        for (size_t i = 0; i < n; i++) {
            uint32_t col[MAX];

            for (size_t c = 0; c < m; c++) {
                col[c] = c;
                a[i][c] = (struct fraction){ row[i][c], 1 };
            }
            ok_null &= rref_dot (col, row[i], m, z) == 0;
        }
        rref_reduce (r);
        good += equal (r, a, n, m);
        answers += ok_answers;
        spans += ok_spans;
        nulls += ok_null;
        rref_destroy (r);
    }
    ok (good == many, "%zu of %zu forms are Gauss-Jordan's", good, many);
    ok (answers == many, "the rank counts the independent rows");
    ok (spans == many, "rref_spans foretells rref_add");
    ok (nulls == many, "null vectors are orthogonal to every row");
}

/* A null vector that learns: of rows with a column that none had, and of no
 * others, whatever was added in between.
 */
static void test_null_learns (void)
{
    struct rref *r = rref_create (5);
    const uint8_t rows[4][MAX] = {
        { 2, 2 }, { 0, 2, 2, 1 }, { 1, 0, 2 }, { 0, 0, 2, 1, 2 },
    };
    const uint32_t col[5] = { 0, 1, 2, 3, 4 };
    struct rng rng;
    struct screen s = { .rref = r, .rng = &rng };

    rng_seed (&rng, 4);
    screen_draw (&s);
    for (size_t i = 0; i < COUNT (rows); i++) {
        ok (screen_add (&s, col, rows[i], 5), "row %zu is new", i + 1);
        ok (screen_passes (&s, col, rows[i], 5) == (i == 2),
            "the null vector %s it", i == 2 ? "does not know" : "learns of");
    }
    ok (!screen_passes (&s, col, rows[0], 5)
            && !screen_passes (&s, col, rows[1], 5), "and forgets none");
    ok (!screen_add (&s, col, rows[2], 5), "a row twice is not new");
    screen_draw (&s);
    ok (!screen_passes (&s, col, rows[2], 5), "another vector knows all");
    rref_destroy (r);
    free (s.z);
}

static void test_null_tells (void)
{
    struct rref *r = rref_create (4);
    const uint8_t rows[3][MAX] = { { 2, 2 }, { 0, 2, 2 }, { 2, 0, 2, 1 } };
    const uint32_t col[4] = { 0, 1, 2, 3 };
    const uint8_t in[4] = { 2, 0, 2, 1 };  /* the third */
    const uint8_t out[4] = { 2, 0, 2, 0 };
    struct rng rng;
    uint64_t z[4];

    rng_seed (&rng, 3);
    for (size_t i = 0; i < COUNT (rows); i++)
        ok (add (r, rows[i], 4) == 1, "row %zu is new", i + 1);
    rref_null (r, &rng, z);
    ok (rref_dot (col, in, 4, z) == 0 && rref_dot (col, out, 4, z) != 0,
        "a null vector tells what is in the span");
    ok (add (r, rows[1], 4) == 0, "a row twice is not new");
    rref_reduce (r);
    ok (!identified (r, 0), "nothing alone yet");
    ok (add (r, out, 4) == 1, "a row beyond is new");
    rref_reduce (r);
    ok (identified (r, 3) && identified (r, 0), "all known with full rank");
    rref_destroy (r);

    r = rref_create (0);
    ok (r && rref_rank (r) == 0 && rref_add (r, NULL, NULL, 0) == 0,
        "no columns, no rank");
    rref_destroy (r);
    rref_destroy (NULL);
}

static uint64_t residue (int64_t p, uint64_t q)
{
    uint64_t x = 1;
    uint64_t e = PRIME - 2;
    uint64_t a = q;

    for (; e > 0; e >>= 1) {
        if (e & 1)
            x = (unsigned __int128)x * a % PRIME;
        a = (unsigned __int128)a * a % PRIME;
    }
    x = (unsigned __int128)x * (uint64_t)llabs (p) % PRIME;
    return p < 0 && x ? PRIME - x : x;
}

static void test_rational (void)
{
    static const struct {
        int64_t p, q;
        int rc;
    } table[] = {
        { 0, 1, 0 },
        { 1, 1, 0 },
        { -1, 1, 0 },
        { 1, 2, 0 },
        { -3, 2, 0 },
        { 34, 33, 0 },
        { RREF_RATIONAL_MAX, 1, 0 },
        { -RREF_RATIONAL_MAX, RREF_RATIONAL_MAX - 1, 0 },
        { 1, RREF_RATIONAL_MAX, 0 },
        { RREF_RATIONAL_MAX + 1, 1, -1 },
        { 1, RREF_RATIONAL_MAX + 1, -1 },
        { -RREF_RATIONAL_MAX - 3, RREF_RATIONAL_MAX + 1, -1 },
    };
    struct rng rng;
    int good = 0, taken = 0;

    for (size_t i = 0; i < COUNT (table); i++) {
        int64_t p = 7, q = 7;
        int rc = rref_rational (residue (table[i].p, table[i].q), &p, &q);

        ok (rc == table[i].rc
                && (rc < 0 || (p == table[i].p && q == table[i].q)),
            "%jd/%jd %s", (intmax_t)table[i].p, (intmax_t)table[i].q,
            rc < 0 ? "lies beyond" : "comes back");
    }
    rng_seed (&rng, 9);
    for (int i = 0; i < 20000; i++) {
        struct fraction f
            = fraction ((int64_t)rng_below (&rng, 2 * RREF_RATIONAL_MAX)
                            - RREF_RATIONAL_MAX,
                        1 + (int64_t)rng_below (&rng, RREF_RATIONAL_MAX));
        int64_t p, q;

        good += rref_rational (residue (f.p, f.q), &p, &q) == 0 && p == f.p
            && q == f.q;
        taken += rref_rational (rng_below (&rng, PRIME), &p, &q) == 0;
    }
    ok (good == 20000, "20,000 random fractions come back");
    ok (taken <= 2, "of 20,000 random residues %d pass for one", taken);
}

int main (void)
{
    test_random ();
    test_null_learns ();
    test_null_tells ();
    test_rational ();
    return done_testing ();
}
