/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Candidates for a plan. */
#include "config.h"
#include "core/basis.h"

#include <stdlib.h>

/* Pairs as they are found, before they are put in order. */
struct list {
    struct probe *pair;
    uint16_t *class_id;
    size_t n, size;
};

static void list_clear (struct list *l)
{
    free (l->pair);
    free (l->class_id);
}

static int list_push (struct list *l, size_t a, size_t b,
                      const struct row *row)
{
    if (l->n == l->size) {
        size_t size = l->size ? 2 * l->size : 256;
        struct probe *pair = realloc (l->pair, size * sizeof (*pair));
        uint16_t *class_id;

        if (!pair)
            return -1;
        l->pair = pair;
        class_id = realloc (l->class_id, size * sizeof (*class_id));
        if (!class_id)
            return -1;
        l->class_id = class_id;
        l->size = size;
    }
    l->pair[l->n] = (struct probe){ a, b };
    l->class_id[l->n++] = 2 * row->n + !row->symmetric;
    return 0;
}

enum { CLASSES = 2 * ROW_MAX + 2 };

/* Fill b from the list, in class order, walking each pair once more. */
static int sort_pairs (struct basis *b, const struct list *l,
                       struct pathset *ps, struct error *err)
{
    size_t start[CLASSES + 1] = { 0 };
    size_t entries = 0;
    struct row row;

    for (size_t i = 0; i < l->n; i++) {
        start[l->class_id[i] + 1]++;
        entries += l->class_id[i] / 2;
    }
    for (size_t c = 0; c < CLASSES; c++)
        start[c + 1] += start[c];
    b->nendpoints = pathset_size (ps);
    b->n = l->n;
    b->pair = calloc (l->n + 1, sizeof (*b->pair));
    b->class_id = calloc (l->n + 1, sizeof (*b->class_id));
    b->first = calloc (l->n + 1, sizeof (*b->first));
    b->col = calloc (entries + 1, sizeof (*b->col));
    b->count = calloc (entries + 1, sizeof (*b->count));
    if (!b->pair || !b->class_id || !b->first || !b->col || !b->count)
        return error_nomem (err);
    for (size_t i = 0; i < l->n; i++) {
        size_t at = start[l->class_id[i]]++;

        b->pair[at] = l->pair[i];
        b->class_id[at] = l->class_id[i];
    }
    for (size_t i = 0; i < b->n; i++) {
        size_t at = b->first[i];

        if (pathset_row (ps, b->pair[i].a, b->pair[i].b, &row, err) < 0)
            return -1;
        for (size_t k = 0; k < row.n; k++) {
            b->col[at + k] = pathset_column (ps, row.link[k]);
            b->count[at + k] = row.count[k];
        }
        b->first[i + 1] = at + row.n;
    }
    return 0;
}

static int push_pair (struct list *l, struct pathset *ps, size_t a, size_t b,
                      struct error *err)
{
    struct row row;

    if (pathset_row (ps, a, b, &row, err) < 0)
        return -1;
    if (list_push (l, a, b, &row) < 0)
        return error_nomem (err);
    return 0;
}

int basis_make (struct basis *basis, struct pathset *ps, struct rng *rng,
                struct error *err)
{
    size_t n = pathset_size (ps);
    size_t each = BASIS_PAIRS_MAX / (n + 1);
    struct list l = { 0 };
    int rc = -1;

    *basis = (struct basis){ 0 };
    if (!pathset_links (ps, &basis->m, err))
        return -1;
    for (size_t a = 0; a < n; a++) {
        if ((n - 1) / 2 <= each) {
            for (size_t b = a + 1; b < n; b++)
                if (push_pair (&l, ps, a, b, err) < 0)
                    goto error;
            continue;
        }
        for (size_t k = 1; k <= each; k++) {
            size_t b = k <= each / 2 ? a + k : rng_below (rng, n);

            if (b > a && b < n && push_pair (&l, ps, a, b, err) < 0)
                goto error;
        }
    }
    if (sort_pairs (basis, &l, ps, err) < 0)
        goto error;
    rc = 0;
error:
    if (rc < 0)
        basis_clear (basis);
    list_clear (&l);
    return rc;
}

void basis_clear (struct basis *basis)
{
    free (basis->pair);
    free (basis->class_id);
    free (basis->first);
    free (basis->col);
    free (basis->count);
    *basis = (struct basis){ 0 };
}

/* Rows outside the span, up to max of them, drawn evenly from all. */
static int missing (struct list *l, struct pathset *ps, const uint64_t *z,
                    struct rng *rng, size_t max, struct error *err)
{
    uint32_t col[ROW_MAX];
    size_t n = pathset_size (ps);
    size_t seen = 0;
    struct row row;

    for (size_t a = 0; a < n; a++)
        for (size_t b = a + 1; b < n; b++) {
            if (pathset_row (ps, a, b, &row, err) < 0)
                return -1;
            for (size_t k = 0; k < row.n; k++)
                col[k] = pathset_column (ps, row.link[k]);
            if (rref_dot (col, row.count, row.n, z) == 0)
                continue;
            seen++;
            if (l->n < max) {
                if (list_push (l, a, b, &row) < 0)
                    return error_nomem (err);
            }
            else {
                size_t at = rng_below (rng, seen);

                if (at < max) {
                    l->pair[at] = (struct probe){ a, b };
                    l->class_id[at] = 2 * row.n + !row.symmetric;
                }
            }
        }
    return 0;
}

int basis_extend (struct basis *basis, struct pathset *ps,
                  const struct rref *rref, struct rng *rng, size_t max,
                  struct error *err)
{
    uint64_t *z = calloc (basis->m + 1, sizeof (*z));
    struct basis new = { .m = basis->m };
    struct list l = { 0 };
    int found = -1;

    if (!z) {
        error_nomem (err);
        goto error;
    }
    rref_null (rref, rng, z);
    if (missing (&l, ps, z, rng, max, err) < 0)
        goto error;
    found = l.n;
    if (found == 0)
        goto error;
    for (size_t i = 0; i < basis->n; i++) {
        struct row row = {
            .n = basis->class_id[i] / 2,
            .symmetric = basis->class_id[i] % 2 == 0,
        };

        if (list_push (&l, basis->pair[i].a, basis->pair[i].b, &row) < 0) {
            found = error_nomem (err);
            goto error;
        }
    }
    if (sort_pairs (&new, &l, ps, err) < 0) {
        basis_clear (&new);
        found = -1;
        goto error;
    }
    basis_clear (basis);
    *basis = new;
error:
    list_clear (&l);
    free (z);
    return found;
}
