/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Many rows and the rank of some of them.
 *
 * Notes: let z be a random null vector of the form at some moment. What is
 * outside the form's span then, z tells from 0; so when z has met all rows,
 * those it told have been added and nothing is missing. Rows that an earlier
 * one has made dependent since look new to this z; after a few of them it
 * pays to draw another and go round once more.
 */
#include "config.h"
#include "core/check/rows.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROWS_FIRST = 256, /* room to begin with */
    WASTE_MAX = 8,    /* dependent rows reduced by one z */
};

int rows_init (struct rows *r, size_t m, struct rng *rng)
{
    *r = (struct rows){
        .m = m,
        .size = ROWS_FIRST,
        .col_size = ROWS_FIRST,
        .seen_size = 4 * ROWS_FIRST,
    };
    r->pair = calloc (r->size, sizeof (*r->pair));
    r->first = calloc (r->size + 1, sizeof (*r->first));
    r->col = calloc (r->col_size, sizeof (*r->col));
    r->uses = calloc (m + 1, sizeof (*r->uses));
    r->mark = calloc (m + 1, sizeof (*r->mark));
    r->seen = calloc (r->seen_size, sizeof (*r->seen));
    if (!r->pair || !r->first || !r->col || !r->uses || !r->mark
        || !r->seen)
        return -1;
    for (size_t c = 0; c < m; c++)
        r->mark[c] = rng_next (rng);
    return 0;
}

void rows_clear (struct rows *r)
{
    int saved = errno;

    free (r->pair);
    free (r->first);
    free (r->col);
    free (r->uses);
    free (r->mark);
    free (r->seen);
    errno = saved;
}

/* Put a hash into a table; false where it is there. */
static bool insert (uint64_t *seen, size_t size, uint64_t hash)
{
    size_t at = hash % size;

    while (seen[at] != 0 && seen[at] != hash)
        at = (at + 1) % size;
    if (seen[at] == hash)
        return false;
    seen[at] = hash;
    return true;
}

static int grow_rows (struct rows *r)
{
    size_t size = 2 * r->size;
    struct probe *pair = realloc (r->pair, size * sizeof (*pair));
    size_t *first;
    uint64_t *seen;

    if (!pair)
        return -1;
    r->pair = pair;
    if (!(first = realloc (r->first, (size + 1) * sizeof (*first))))
        return -1;
    r->first = first;
    if (!(seen = calloc (4 * size, sizeof (*seen))))
        return -1;
    for (size_t i = 0; i < r->seen_size; i++)
        if (r->seen[i] != 0)
            insert (seen, 4 * size, r->seen[i]);
    free (r->seen);
    r->seen = seen;
    r->seen_size = 4 * size;
    r->size = size;
    return 0;
}

static int grow_columns (struct rows *r, size_t n)
{
    size_t size = 2 * (r->col_size + n);
    uint32_t *col;

    if (r->first[r->n] + n <= r->col_size)
        return 0;
    if (!(col = realloc (r->col, size * sizeof (*col))))
        return -1;
    r->col = col;
    r->col_size = size;
    return 0;
}

int rows_add (struct rows *r, struct probe pair, const uint32_t *col,
              size_t n)
{
    uint64_t hash = 0;

    for (size_t k = 0; k < n; k++)
        hash += r->mark[col[k]];
    if ((r->n == r->size && grow_rows (r) < 0) || grow_columns (r, n) < 0)
        return -1;
    if (hash == 0 || !insert (r->seen, r->seen_size, hash))
        return 0;
    memcpy (r->col + r->first[r->n], col, n * sizeof (*col));
    for (size_t k = 0; k < n; k++)
        r->uses[col[k]]++;
    r->pair[r->n] = pair;
    r->first[r->n + 1] = r->first[r->n] + n;
    r->n++;
    return 0;
}

static uint64_t dot (const struct rows *r, size_t i, const uint64_t *z)
{
    uint64_t sum = 0;

    for (size_t k = r->first[i]; k < r->first[i + 1]; k++)
        sum += z[r->col[k]];
    return sum % ECHELON_PRIME;
}

int rows_span (const struct rows *r, struct echelon *e, const uint32_t *which,
               size_t n, size_t enough, struct rng *rng, uint64_t *effort,
               uint8_t *taken)
{
    uint64_t *z = calloc (r->m + 1, sizeof (*z));
    uint64_t work = 0;
    size_t met = 0, waste = WASTE_MAX;
    int rc = -1;

    if (!z)
        return -1;
    for (size_t k = 0; met < n && echelon_rank (e) < enough; met++, k++) {
        uint32_t i = which[k %= n];
        const uint32_t *col = r->col + r->first[i];
        size_t len = r->first[i + 1] - r->first[i];
        uint64_t before = echelon_work (e);
        int added;

        if (waste == WASTE_MAX) {
            work += echelon_null (e, rng, z);
            waste = met = 0;
        }
        work += len;
        if (work >= *effort)
            break;
        if (dot (r, i, z) == 0)
            continue;
        if ((added = echelon_add (e, col, len)) < 0)
            goto out;
        if (added && taken)
            taken[i] = 1;
        waste += !added;
        work += echelon_work (e) - before;
    }
    *effort -= work < *effort ? work : *effort;
    rc = 0;
out:
    free (z);
    return rc;
}
