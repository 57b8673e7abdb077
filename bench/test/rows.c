/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The checker's elimination: random rows of known rank. */
#include "config.h"
#include "bench/rows.h"

#include <stdlib.h>

#include "tests/tap.h"

enum { N = 40, M = 60 };

/* Rows k < rank have column k alone among the first `rank`, and random ones
 * behind; the others are sums of two of them, so that the rank is known.
 */
static size_t row_of (size_t k, size_t rank, uint32_t *col)
{
    struct rng rng;
    size_t n = 0;

    if (k >= rank) {
        n = row_of (k % rank, rank, col);
        return n + row_of ((k + 1) % rank, rank, col + n);
    }
    rng_seed (&rng, k);
    col[n++] = k;
    while (n < 6)
        col[n++] = rank + rng_below (&rng, M - rank);
    return n;
}

static void test_rank (size_t rank)
{
    struct echelon *e = echelon_create (M, NULL);
    struct rng rng;
    uint64_t z[M];
    uint32_t col[12];
    size_t independent = 0, orthogonal = 0, outside = 0;

    rng_seed (&rng, 1);
    for (size_t k = N; k-- > 0;)
        independent += echelon_add (e, col, row_of (k, rank, col)) == 1;
    echelon_null (e, &rng, z);
    for (size_t k = 0; k < N; k++) {
        size_t n = row_of (k, rank, col);
        uint64_t sum = 0;

        for (size_t i = 0; i < n; i++)
            sum += z[col[i]];
        orthogonal += sum % ECHELON_PRIME == 0;
    }
    for (size_t c = 0; c < M; c++)
        outside += z[c] != 0;
    ok (independent == rank && echelon_rank (e) == rank,
        "%d rows of rank %zu", N, independent);
    ok (orthogonal == N && outside > M / 2,
        "a null vector of %zu entries is orthogonal to all of them", outside);
    echelon_destroy (e);
}

static void test_span (size_t rank)
{
    struct echelon *e = echelon_create (M, NULL);
    struct rows rows;
    struct rng rng;
    uint32_t which[N], col[12];
    uint8_t taken[N] = { 0 };
    uint64_t effort = 1 << 20;
    size_t count = 0;

    rng_seed (&rng, 1);
    rows_init (&rows, M, &rng);
    for (uint32_t k = 0; k < 2 * N; k++)
        rows_add (&rows, (struct probe){ k, 0 }, col,
                      row_of (k % N, rank, col));
    ok (rows.n == N && rows.pair[N - 1].a == N - 1,
        "%zu rows, each once", rows.n);
    for (uint32_t k = 0; k < N; k++)
        which[k] = k;
    rows_span (&rows, e, which, 5, M, &rng, &effort, taken);
    ok (echelon_rank (e) == 5, "5 of them");
    rows_span (&rows, e, which, N, 9, &rng, &effort, taken);
    ok (echelon_rank (e) == 9, "as many as are enough");
    rows_span (&rows, e, which, N, M, &rng, &effort, taken);
    for (size_t k = 0; k < N; k++)
        count += taken[k];
    ok (echelon_rank (e) == rank && count == rank && effort < 1 << 20
            && effort > 0, "and the rest: %zu are taken", count);
    echelon_destroy (e);
    e = echelon_create (M, NULL);
    effort = 40;
    rows_span (&rows, e, which, N, M, &rng, &effort, NULL);
    ok (echelon_rank (e) < rank && effort == 0, "effort that does not suffice");
    echelon_destroy (e);
    rows_clear (&rows);
}

int main (void)
{
    test_rank (20);
    test_rank (N);
    test_span (20);
    return done_testing ();
}
