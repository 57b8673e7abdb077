/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Candidates for a plan. */
#include "config.h"
#include "core/plan/basis.h"

#include <stdlib.h>

#include "core/plan/rref.h"
#include "util/alloc.h"
#include "util/map.h"
#include "util/terminal.h"

enum {
    ALL_KEPT = 1 << 15,   /* pairs up to which all are kept */
    ENOUGH = 16,          /* rows of a class to keep per link, if more */
    SPAN_WORK = 25000000, /* to find the missing rows, in entries */
};

int basis_open (struct basis *b, struct pathset *ps, struct error *err)
{
    *b = (struct basis){ .ps = ps, .nports = pathset_ports (ps) };
    b->first = xgrow (NULL, 0, sizeof (*b->first));
    b->first[0] = 0;
    return pathset_links (ps, &b->m, err) ? 0 : -1;
}

void basis_clear (struct basis *b)
{
    free (b->pair);
    free (b->port);
    free (b->class_id);
    free (b->first);
    free (b->col);
    free (b->count);
    *b = (struct basis){ 0 };
}

static void push_entry (struct basis *b, uint32_t col, uint8_t count)
{
    size_t at = b->first[b->n]++;

    b->col = xgrow (b->col, at, sizeof (*b->col));
    b->count = xgrow (b->count, at, sizeof (*b->count));
    b->col[at] = col;
    b->count[at] = count;
}

/* Append a pair whose row begins at first[n]; entries follow. */
static void push_pair (struct basis *b, struct probe pair, struct probe port,
                       uint16_t class_id)
{
    b->pair = xgrow (b->pair, b->n, sizeof (*b->pair));
    b->port = xgrow (b->port, b->n, sizeof (*b->port));
    b->class_id = xgrow (b->class_id, b->n, sizeof (*b->class_id));
    b->pair[b->n] = pair;
    b->port[b->n] = port;
    b->class_id[b->n++] = class_id;
    b->first = xgrow (b->first, b->n, sizeof (*b->first));
    b->first[b->n] = b->first[b->n - 1];
}

void basis_push (struct basis *b, uint32_t from, uint32_t to,
                 const struct row *row)
{
    if (row->n == 0)
        return;
    push_pair (b, (struct probe){ from, to },
               (struct probe){ pathset_port (b->ps, from),
                               pathset_port (b->ps, to) },
               2 * row->n + !row->symmetric);
    for (size_t k = 0; k < row->n; k++)
        push_entry (b, pathset_column (b->ps, row->link[k]), row->count[k]);
}

int basis_add (struct basis *b, uint32_t from, uint32_t to, struct error *err)
{
    struct row row;

    if (pathset_row (b->ps, from, to, &row, err) < 0)
        return -1;
    basis_push (b, from, to, &row);
    return 0;
}

int basis_of_plan (struct basis *b, const struct plan *plan,
                   struct pathset *ps, struct error *err)
{
    int rc = basis_open (b, ps, err);

    for (size_t r = 0; r < plan_rounds (plan); r++) {
        size_t n;
        const struct probe *p = plan_round (plan, r, &n);

        for (size_t i = 0; i < n && rc == 0; i++)
            rc = basis_add (b, p[i].a, p[i].b, err);
    }
    return rc;
}

void basis_copy (struct basis *to, const struct basis *from, size_t i)
{
    push_pair (to, from->pair[i], from->port[i], from->class_id[i]);
    for (size_t k = from->first[i]; k < from->first[i + 1]; k++)
        push_entry (to, from->col[k], from->count[k]);
}

/* Replace the pairs by n of them, in the given order. */
static void reorder_basis (struct basis *b, const uint32_t *order, size_t n)
{
    struct basis to = { .ps = b->ps, .m = b->m, .nports = b->nports };

    to.all = b->all && n == b->n;
    to.first = xgrow (NULL, 0, sizeof (*to.first));
    to.first[0] = 0;
    for (size_t i = 0; i < n; i++)
        basis_copy (&to, b, order[i]);
    basis_clear (b);
    *b = to;
}

void basis_sort (struct basis *b, size_t from)
{
    uint32_t *order = xarray (b->n, sizeof (*order));
    size_t start[BASIS_CLASSES + 1] = { 0 };

    for (size_t i = 0; i < from; i++)
        order[i] = i;
    for (size_t i = from; i < b->n; i++)
        start[b->class_id[i] + 1]++;
    for (size_t c = 0; c < BASIS_CLASSES; c++)
        start[c + 1] += start[c];
    for (size_t i = from; i < b->n; i++)
        order[from + start[b->class_id[i]]++] = i;
    reorder_basis (b, order, b->n);
    free (order);
}

int basis_all (struct basis *b, struct pathset *ps, struct error *err)
{
    size_t n = pathset_size (ps), nlinks = pathset_network (ps)->nlinks;
    /* Most rows between the endpoints of two ports are equal, because there are
     * few different paths: a row's key is a sum of random marks of its links.
     */
    bool several = n > pathset_ports (ps);
    uint64_t *mark = xarray (several ? nlinks : 0, sizeof (*mark));
    struct map known = { 0 };
    struct rng rng;
    int rc = basis_open (b, ps, err);

    rng_seed (&rng, n);
    for (size_t i = 0; several && i < nlinks; i++)
        mark[i] = rng_next (&rng);
    for (size_t from = 0; from < n && rc == 0; from++) {
        terminal_work ("listing pairs", from * (2 * n - from - 1) / 2,
                       n * (n - 1) / 2);
        for (size_t to = from + 1; to < n && rc == 0; to++) {
            struct row row;
            uint64_t key = 0;

            if ((rc = pathset_row (ps, from, to, &row, err)) < 0)
                break;
            for (size_t i = 0; several && i < row.n; i++)
                key += row.count[i] * mark[row.link[i]];
            if (several && map_find (&known, key) != MAP_NONE)
                continue;
            if (several)
                map_put (&known, key, 0);
            basis_push (b, from, to, &row);
        }
    }
    map_clear (&known);
    free (mark);
    b->all = true;
    basis_sort (b, 0);
    return rc;
}

/* Keep, in random order, those rows of the class of pairs from .. end-1 that
 * have a link with too few kept rows.
 */
static void keep_class (const struct basis *b, size_t from, size_t end,
                        struct rng *rng, uint8_t *keep)
{
    uint8_t *cover = xcalloc (b->m, 1); /* kept rows of a link */
    uint32_t *order = xarray (end - from, sizeof (*order));

    for (size_t i = from; i < end; i++)
        order[i - from] = i;
    rng_shuffle (rng, order, end - from);
    for (size_t i = 0; i < end - from; i++) {
        uint32_t pair = order[i];

        for (size_t k = b->first[pair]; k < b->first[pair + 1]; k++)
            keep[pair] |= cover[b->col[k]] < ENOUGH;
        for (size_t k = b->first[pair];
             keep[pair] && k < b->first[pair + 1]; k++)
            cover[b->col[k]] += cover[b->col[k]] < ENOUGH;
    }
    free (cover);
    free (order);
}

/* Keep enough pairs for a choice, without losing rank; keep all if it takes too
 * long to find the rank.
 */
static void reduce_candidates (struct basis *b, struct rng *rng)
{
    uint8_t *keep = xcalloc (b->n, 1);
    uint32_t *order = xarray (b->n, sizeof (*order));
    struct screen s = { .rref = rref_create (b->m), .rng = rng };
    size_t from = 0, n = 0;
    bool found = true;

    for (size_t i = 1; i <= b->n; i++)
        if (i == b->n || b->class_id[i] != b->class_id[from]) {
            keep_class (b, from, i, rng, keep);
            from = i;
        }
    for (int kept = 1; kept >= 0 && found; kept--) {
        screen_draw (&s);
        for (size_t i = 0; i < b->n && found; i++) {
            if (keep[i] == kept)
                keep[i] |= screen_add (&s, BASIS_ROW (b, i));
            found = rref_work (s.rref) + s.work <= SPAN_WORK;
        }
    }
    for (size_t i = 0; i < b->n; i++)
        if (keep[i])
            order[n++] = i;
    if (found)
        reorder_basis (b, order, n);
    rref_destroy (s.rref);
    free (s.z);
    free (keep);
    free (order);
}

int basis_make (struct basis *b, struct pathset *ps, struct rng *rng,
                struct error *err)
{
    int rc = basis_all (b, ps, err);

    if (rc == 0 && b->n > ALL_KEPT)
        reduce_candidates (b, rng);
    return rc;
}
