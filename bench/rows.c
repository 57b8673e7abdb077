/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Many rows and the rank of some of them.
 *
 * Notes: let z be a random null vector of the form at some moment. A row
 * outside the form's span at that moment has row . z != 0. So when all rows
 * have been tested with one z, those outside the span have been added and none
 * is missing. Rows that became dependent by rows added since still look
 * independent to this z; after a few of them it is cheaper to draw another and
 * start a new pass.
 */
#include "config.h"
#include "bench/rows.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"

enum {
    ROWS_FIRST = 256, /* initial room */
    WASTE_MAX = 8,    /* dependent rows reduced by one z */
};

void rows_init (struct rows *r, size_t m, struct rng *rng)
{
    *r = (struct rows){
        .m = m,
        .size = ROWS_FIRST,
        .col_size = ROWS_FIRST,
        .seen_size = 4 * ROWS_FIRST,
    };
    r->pair = xcalloc (r->size, sizeof (*r->pair));
    r->first = xcalloc (r->size + 1, sizeof (*r->first));
    r->col = xcalloc (r->col_size, sizeof (*r->col));
    r->uses = xcalloc (m + 1, sizeof (*r->uses));
    r->mark = xcalloc (m + 1, sizeof (*r->mark));
    r->seen = xcalloc (r->seen_size, sizeof (*r->seen));
    for (size_t c = 0; c < m; c++)
        r->mark[c] = rng_next (rng);
}

void rows_clear (struct rows *r)
{
    free (r->pair);
    free (r->first);
    free (r->col);
    free (r->uses);
    free (r->mark);
    free (r->seen);
}

/* Put a hash into a table; false if it is already there. */
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

static void grow_rows (struct rows *r)
{
    uint64_t *seen;

    r->size *= 2;
    r->pair = xrealloc (r->pair, r->size, sizeof (*r->pair));
    r->first = xrealloc (r->first, r->size + 1, sizeof (*r->first));
    seen = xcalloc (4 * r->size, sizeof (*seen));
    for (size_t i = 0; i < r->seen_size; i++)
        if (r->seen[i] != 0)
            insert (seen, 4 * r->size, r->seen[i]);
    free (r->seen);
    r->seen = seen;
    r->seen_size = 4 * r->size;
}

void rows_add (struct rows *r, struct probe pair, const uint32_t *col,
               size_t n)
{
    uint64_t hash = 0;

    for (size_t k = 0; k < n; k++)
        hash += r->mark[col[k]];
    if (r->n == r->size)
        grow_rows (r);
    if (r->first[r->n] + n > r->col_size) {
        r->col_size = 2 * (r->col_size + n);
        r->col = xrealloc (r->col, r->col_size, sizeof (*r->col));
    }
    if (hash == 0 || !insert (r->seen, r->seen_size, hash))
        return;
    memcpy (r->col + r->first[r->n], col, n * sizeof (*col));
    for (size_t k = 0; k < n; k++)
        r->uses[col[k]]++;
    r->pair[r->n] = pair;
    r->first[r->n + 1] = r->first[r->n] + n;
    r->n++;
}

static uint64_t dot (const struct rows *r, size_t i, const uint64_t *z)
{
    uint64_t sum = 0;

    for (size_t k = r->first[i]; k < r->first[i + 1]; k++)
        sum += z[r->col[k]];
    return sum % ECHELON_PRIME;
}

void rows_span (const struct rows *r, struct echelon *e,
                const uint32_t *which, size_t n, size_t enough,
                struct rng *rng, uint64_t *effort, uint8_t *taken)
{
    uint64_t *z = xcalloc (r->m + 1, sizeof (*z));
    uint64_t work = 0;
    size_t met = 0, waste = WASTE_MAX;

    for (size_t k = 0; met < n && echelon_rank (e) < enough; met++, k++) {
        uint32_t i = which[k %= n];
        const uint32_t *col = r->col + r->first[i];
        size_t len = r->first[i + 1] - r->first[i];
        uint64_t before = echelon_work (e);
        bool added;

        if (waste == WASTE_MAX) {
            work += echelon_null (e, rng, z);
            waste = met = 0;
        }
        work += len;
        if (work >= *effort)
            break;
        if (dot (r, i, z) == 0)
            continue;
        added = echelon_add (e, col, len);
        if (added && taken)
            taken[i] = 1;
        waste += !added;
        work += echelon_work (e) - before;
    }
    *effort -= work < *effort ? work : *effort;
    free (z);
}
