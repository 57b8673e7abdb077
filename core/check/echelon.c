/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Echelon form of sparse rows modulo 2^31 - 1.
 *
 * Notes: a new row is reduced by the lines before it, in the order in which
 * these were made, because a line has no pivot of an earlier one. The rest is
 * scaled and stored; no line is ever changed.
 */
#include "config.h"
#include "core/check/echelon.h"

#include <stdlib.h>

#include "util/alloc.h"

#define PRIME ECHELON_PRIME

struct echelon_line {
    uint32_t pivot;
    size_t n;
    struct echelon_entry {
        uint32_t col, value;
    } *entry; /* [n], without the pivot */
};

struct echelon {
    size_t m;
    const uint32_t *weight;
    struct echelon_line *line;
    size_t rank;
    uint32_t *line_of; /* [m] 1 + line of that pivot, or 0 */
    uint64_t *acc;     /* [m], 0 outside a reduction */
    uint8_t *in;       /* [m] */
    uint32_t *touched; /* [m] */
    size_t ntouched;
    uint64_t *todo;    /* bits: lines that are still to be subtracted */
    uint64_t work;
};

/* x modulo 2^31 - 1 for any x. */
static uint64_t mod_prime (uint64_t x)
{
    x = (x & PRIME) + (x >> 31);
    x = (x & PRIME) + (x >> 31);
    return x >= PRIME ? x - PRIME : x;
}

static uint64_t power (uint64_t a, uint64_t e)
{
    uint64_t x = 1;

    for (; e > 0; e >>= 1) {
        if (e & 1)
            x = mod_prime (x * a);
        a = mod_prime (a * a);
    }
    return x;
}

struct echelon *echelon_create (size_t m, const uint32_t *weight)
{
    struct echelon *e = xcalloc (1, sizeof (*e));

    e->m = m;
    e->weight = weight;
    e->line_of = xcalloc (m + 1, sizeof (*e->line_of));
    e->acc = xcalloc (m + 1, sizeof (*e->acc));
    e->in = xcalloc (m + 1, 1);
    e->touched = xcalloc (m + 1, sizeof (*e->touched));
    e->todo = xcalloc (m / 64 + 1, sizeof (*e->todo));
    return e;
}

void echelon_destroy (struct echelon *e)
{
    if (!e)
        return;
    for (size_t i = 0; i < e->rank; i++)
        free (e->line[i].entry);
    free (e->line);
    free (e->line_of);
    free (e->acc);
    free (e->in);
    free (e->touched);
    free (e->todo);
    free (e);
}

static void add_echelon_value (struct echelon *e, uint32_t col, uint64_t value)
{
    if (!e->in[col]) {
        uint32_t l = e->line_of[col];

        e->in[col] = 1;
        e->touched[e->ntouched++] = col;
        if (l > 0)
            e->todo[(l - 1) / 64] |= UINT64_C (1) << ((l - 1) % 64);
    }
    e->acc[col] = mod_prime (e->acc[col] + value);
}

static void reduce_accumulator (struct echelon *e)
{
    for (size_t w = 0; w <= e->rank / 64; w++)
        while (e->todo[w]) {
            size_t i = 64 * w + __builtin_ctzll (e->todo[w]);
            const struct echelon_line *l = &e->line[i];
            uint64_t factor = PRIME - e->acc[l->pivot];

            e->todo[w] &= e->todo[w] - 1;
            if (e->acc[l->pivot] == 0)
                continue;
            e->acc[l->pivot] = 0;
            e->work += l->n;
            for (size_t k = 0; k < l->n; k++)
                add_echelon_value (e, l->entry[k].col,
                                   factor * l->entry[k].value);
        }
}

/* Make acc the next line. False if acc is empty. */
static bool append_echelon_line (struct echelon *e)
{
    struct echelon_line line = { 0 };
    uint32_t least = 0;
    uint64_t scale;
    bool any = false;

    for (size_t i = 0; i < e->ntouched; i++) {
        uint32_t c = e->touched[i], weight = e->weight ? e->weight[c] : 0;

        if (e->acc[c] == 0)
            continue;
        if (!any || weight < least || (weight == least && c < line.pivot)) {
            line.pivot = c;
            least = weight;
        }
        any = true;
    }
    if (!any)
        return false;
    line.entry = xarray (e->ntouched, sizeof (*line.entry));
    scale = power (e->acc[line.pivot], PRIME - 2);
    for (size_t i = 0; i < e->ntouched; i++) {
        uint32_t c = e->touched[i];

        if (e->acc[c] != 0 && c != line.pivot)
            line.entry[line.n++]
                = (struct echelon_entry){ c, mod_prime (e->acc[c] * scale) };
    }
    e->line = xgrow (e->line, e->rank, sizeof (line));
    e->line[e->rank++] = line;
    e->line_of[line.pivot] = e->rank;
    return true;
}

bool echelon_add (struct echelon *e, const uint32_t *col, size_t n)
{
    bool kept;

    e->work += n;
    for (size_t i = 0; i < n; i++)
        add_echelon_value (e, col[i], 1);
    reduce_accumulator (e);
    kept = append_echelon_line (e);
    for (size_t i = 0; i < e->ntouched; i++) {
        e->acc[e->touched[i]] = 0;
        e->in[e->touched[i]] = 0;
    }
    e->ntouched = 0;
    return kept;
}

size_t echelon_rank (const struct echelon *e)
{
    return e->rank;
}

uint64_t echelon_null (const struct echelon *e, struct rng *rng, uint64_t *z)
{
    uint64_t work = e->m;

    for (size_t c = 0; c < e->m; c++)
        if (e->line_of[c] == 0)
            z[c] = rng_below (rng, PRIME);
    for (size_t i = e->rank; i > 0; i--) {
        const struct echelon_line *l = &e->line[i - 1];
        uint64_t sum = 0;

        for (size_t k = 0; k < l->n; k++)
            sum = mod_prime (sum + l->entry[k].value * z[l->entry[k].col]);
        z[l->pivot] = sum ? PRIME - sum : 0;
        work += l->n;
    }
    return work;
}

uint64_t echelon_work (const struct echelon *e)
{
    return e->work;
}
