/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Candidates for a plan. */
#include "config.h"
#include "core/plan/basis.h"

#include <stdlib.h>
#include <string.h>

#include "core/plan/grid.h"
#include "core/plan/prime.h"
#include "core/plan/span.h"
#include "util/alloc.h"

enum {
    COVER = 8,     /* rows of one length that a link should have */
    ALL_KEPT = 1 << 15, /* pairs up to which all are kept */
    ENOUGH = 16,   /* rows of a class to keep per link, if more */
    STALE_MAX = 50, /* rows that a null vector may misjudge */
    NULL_COST = 4, /* entries of a null vector per entry of a row */
    SPAN_WORK = 20000000, /* to find the missing rows, in entries */
    CHAIN_MAX = 8, /* matches that are tried for one endpoint */
    CLASSES = 2 * ROW_MAX + 2,
};

/* Rows as they are found, before sorting. */
struct list {
    size_t n, size;
    struct probe *pair;
    uint16_t *class_id;
    size_t nentries, entries_size;
    uint32_t *col;
    uint8_t *count;
};

static void list_clear (struct list *l)
{
    free (l->pair);
    free (l->class_id);
    free (l->col);
    free (l->count);
}

/* Make room for one more pair and `entries` of its row. */
static void list_reserve (struct list *l, size_t entries)
{
    if (l->n == l->size) {
        l->size = 2 * l->size + 256;
        l->pair = xrealloc (l->pair, l->size, sizeof (*l->pair));
        l->class_id = xrealloc (l->class_id, l->size, sizeof (*l->class_id));
    }
    if (l->nentries + entries > l->entries_size) {
        l->entries_size = 2 * l->entries_size + ROW_MAX;
        l->col = xrealloc (l->col, l->entries_size, sizeof (*l->col));
        l->count = xrealloc (l->count, l->entries_size, sizeof (*l->count));
    }
}

/* Append a row; an empty one is left out. */
static void list_push (struct list *l, const struct pathset *ps, size_t a,
                       size_t b, const struct row *row)
{
    if (row->n == 0)
        return;
    list_reserve (l, row->n);
    l->pair[l->n] = (struct probe){ a, b };
    l->class_id[l->n++] = 2 * row->n + !row->symmetric;
    for (size_t k = 0; k < row->n; k++) {
        l->col[l->nentries] = pathset_column (ps, row->link[k]);
        l->count[l->nentries++] = row->count[k];
    }
}

/* Find the ports of the n pairs. */
static void find_ports (struct basis *b, const struct pathset *ps)
{
    b->nports = pathset_ports (ps);
    b->port = xcalloc (b->n + 1, sizeof (*b->port));
    for (size_t i = 0; i < b->n; i++)
        b->port[i] = (struct probe){ pathset_port (ps, b->pair[i].a),
                                     pathset_port (ps, b->pair[i].b) };
}

/* Move the list into the basis in class order; b->m must be set. */
static void sort_list (struct basis *b, const struct list *l,
                       const struct pathset *ps)
{
    size_t start[CLASSES + 1] = { 0 };
    size_t from = 0;

    for (size_t i = 0; i < l->n; i++)
        start[l->class_id[i] + 1]++;
    for (size_t c = 0; c < CLASSES; c++)
        start[c + 1] += start[c];
    b->n = l->n;
    b->pair = xcalloc (l->n + 1, sizeof (*b->pair));
    b->class_id = xcalloc (l->n + 1, sizeof (*b->class_id));
    b->first = xcalloc (l->n + 1, sizeof (*b->first));
    b->col = xcalloc (l->nentries + 1, sizeof (*b->col));
    b->count = xcalloc (l->nentries + 1, sizeof (*b->count));
    for (size_t c = 0; c < CLASSES; c++)
        for (size_t i = start[c]; i < start[c + 1]; i++) {
            b->class_id[i] = c;
            b->first[i + 1] = b->first[i] + c / 2;
        }
    for (size_t i = 0; i < l->n; i++) {
        size_t at = start[l->class_id[i]]++;
        size_t len = l->class_id[i] / 2;

        b->pair[at] = l->pair[i];
        memcpy (b->col + b->first[at], l->col + from,
                len * sizeof (*b->col));
        memcpy (b->count + b->first[at], l->count + from, len);
        from += len;
    }
    find_ports (b, ps);
}

/*
 * Fewer pairs of many
 */

struct thinner {
    const struct basis *basis;
    struct rng *rng;
    uint8_t *keep;      /* [n] */
    uint8_t *cover;     /* [m] rows of the current class that are kept */
    uint32_t *order;    /* [n] */
    struct rref *rref;  /* of the rows that are kept */
    uint64_t *z;        /* [m] a null vector of it */
    unsigned int stale;
    uint64_t nulls;     /* work for null vectors */
};

static void thinner_clear (struct thinner *t)
{
    free (t->keep);
    free (t->cover);
    free (t->order);
    rref_destroy (t->rref);
    free (t->z);
}

static void thinner_init (struct thinner *t, const struct basis *b,
                          struct rng *rng)
{
    *t = (struct thinner){ .basis = b, .rng = rng };
    t->keep = xcalloc (b->n + 1, 1);
    t->cover = xcalloc (b->m + 1, 1);
    t->order = xcalloc (b->n + 1, sizeof (*t->order));
    t->rref = rref_create (b->m);
    t->z = xcalloc (b->m + 1, sizeof (*t->z));
}

/* Keep, in random order, the rows of a class that have a link with too few kept
 * rows.
 */
static void keep_class (struct thinner *t, size_t from, size_t end)
{
    const struct basis *b = t->basis;

    memset (t->cover, 0, b->m);
    for (size_t i = from; i < end; i++)
        t->order[i] = i;
    rng_shuffle (t->rng, t->order + from, end - from);
    for (size_t i = from; i < end; i++) {
        size_t pair = t->order[i];

        for (size_t k = b->first[pair]; k < b->first[pair + 1]; k++)
            t->keep[pair] |= t->cover[b->col[k]] < ENOUGH;
        for (size_t k = b->first[pair];
             t->keep[pair] && k < b->first[pair + 1]; k++)
            if (t->cover[b->col[k]] < ENOUGH)
                t->cover[b->col[k]]++;
    }
}

static void draw_null (struct thinner *t)
{
    rref_null (t->rref, t->rng, t->z);
    t->nulls += rref_entries (t->rref) / NULL_COST;
    t->stale = 0;
}

/* Add a row if it is independent. */
static bool add_new (struct thinner *t, size_t pair)
{
    if (basis_dot (t->basis, pair, t->z) == 0)
        return false;
    if (basis_add_null (t->basis, pair, t->rref, t->z))
        return true;
    if (++t->stale == STALE_MAX)
        draw_null (t);
    return false;
}

/* Keep the rows that the kept ones lack for the rank of all. False if that is
 * too much work.
 */
static bool keep_rank (struct thinner *t)
{
    for (int kept = 1; kept >= 0; kept--) {
        draw_null (t);
        for (size_t i = 0; i < t->basis->n; i++) {
            if (t->keep[i] == kept)
                t->keep[i] |= add_new (t, i);
            if (rref_work (t->rref) + t->nulls > SPAN_WORK)
                return false;
        }
    }
    return true;
}

/* Remove all other pairs. */
static void keep_only (struct basis *b, const uint8_t *keep)
{
    size_t n = 0;
    size_t at = 0;

    for (size_t i = 0; i < b->n; i++) {
        size_t from = b->first[i];
        size_t len = b->first[i + 1] - from;

        if (!keep[i])
            continue;
        memmove (b->col + at, b->col + from, len * sizeof (*b->col));
        memmove (b->count + at, b->count + from, len);
        b->pair[n] = b->pair[i];
        b->port[n] = b->port[i];
        b->class_id[n] = b->class_id[i];
        b->first[n++] = at;
        at += len;
    }
    b->first[n] = at;
    b->all = n == b->n;
    b->n = n;
    b->pair = xrealloc (b->pair, n, sizeof (*b->pair));
    b->port = xrealloc (b->port, n, sizeof (*b->port));
    b->class_id = xrealloc (b->class_id, n, sizeof (*b->class_id));
    b->first = xrealloc (b->first, n + 1, sizeof (*b->first));
    b->col = xrealloc (b->col, at, sizeof (*b->col));
    b->count = xrealloc (b->count, at, sizeof (*b->count));
}

/* Keep enough pairs for a choice, without losing rank; keep all if it takes too
 * long to find the rank.
 */
static void thin (struct basis *b, struct rng *rng)
{
    struct thinner t;
    size_t from = 0;

    thinner_init (&t, b, rng);
    for (size_t i = 1; i <= b->n; i++)
        if (i == b->n || b->class_id[i] != b->class_id[from]) {
            keep_class (&t, from, i);
            from = i;
        }
    if (keep_rank (&t))
        keep_only (b, t.keep);
    thinner_clear (&t);
}

/*
 * Equal rows: most rows between the endpoints of two ports are equal, because
 * there are few different paths
 */

struct basis_known {
    uint64_t *mark; /* [nlinks] random: a row's key is its sum of them */
    uint64_t *sum;  /* [size] a hash table; 0: free */
    size_t size;
};

static void known_clear (struct basis_known *k)
{
    free (k->mark);
    free (k->sum);
}

/* Make room for the rows of all pairs. */
static void known_init (struct basis_known *k, const struct pathset *ps)
{
    size_t n = pathset_size (ps);
    size_t nlinks = pathset_network (ps)->nlinks;
    struct rng rng;

    k->size = n * n;
    k->mark = xcalloc (nlinks + 1, sizeof (*k->mark));
    k->sum = xcalloc (k->size + 1, sizeof (*k->sum));
    rng_seed (&rng, n);
    for (size_t i = 0; i < nlinks; i++)
        k->mark[i] = rng_next (&rng);
}

/* Whether a row is known; it is added if not. */
static bool is_known (struct basis_known *k, const struct row *row)
{
    uint64_t sum = 0;
    size_t at;

    for (size_t i = 0; i < row->n; i++)
        sum += row->count[i] * k->mark[row->link[i]];
    for (at = sum % k->size; k->sum[at] && k->sum[at] != sum;)
        at = (at + 1) % k->size;
    if (k->sum[at] == sum)
        return true;
    k->sum[at] = sum;
    return false;
}

/* Append the rows of all pairs, without duplicates. */
static int push_all (struct list *l, const struct pathset *ps,
                     struct error *err)
{
    size_t n = pathset_size (ps);
    bool several = n > pathset_ports (ps); /* per port: else no duplicates */
    struct basis_known known = { 0 };
    struct row row;
    int rc = 0;

    if (several)
        known_init (&known, ps);
    for (size_t a = 0; a < n && rc == 0; a++)
        for (size_t b = a + 1; b < n && rc == 0; b++)
            if ((rc = pathset_row (ps, a, b, &row, err)) == 0
                && !(several && is_known (&known, &row)))
                list_push (l, ps, a, b, &row);
    known_clear (&known);
    return rc;
}

int basis_make (struct basis *basis, struct pathset *ps, struct rng *rng,
                struct error *err)
{
    size_t n = pathset_size (ps);
    struct list l = { 0 };
    int rc;

    *basis = (struct basis){ 0 };
    if (n > 1 && (n - 1) / 2 > BASIS_PAIRS_MAX / n)
        return basis_symmetric (basis, ps, rng, err);
    if (!pathset_links (ps, &basis->m, err))
        return -1;
    if ((rc = push_all (&l, ps, err)) == 0) {
        sort_list (basis, &l, ps);
        basis->all = true;
    }
    list_clear (&l);
    if (rc == 0 && basis->n > ALL_KEPT)
        thin (basis, rng);
    return rc;
}

/*
 * Pairs that use the same links there and back
 */

struct finder {
    struct pathset *ps;
    struct grid *grid;
    struct list list;
    uint8_t *cover[ROW_MAX + 1]; /* [row length][link]: rows so far */
    uint64_t *weight;            /* [nlinks] */
    uint32_t *head, *next;       /* members of a leaf by hash of cells */
    uint32_t mask;
    uint32_t *own;               /* members of a leaf, one per port */
};

static void finder_clear (struct finder *f)
{
    grid_destroy (f->grid);
    list_clear (&f->list);
    for (size_t i = 0; i <= ROW_MAX; i++)
        free (f->cover[i]);
    free (f->weight);
    free (f->head);
    free (f->next);
    free (f->own);
}

static void finder_init (struct finder *f, struct pathset *ps,
                         struct rng *rng)
{
    size_t nlinks = pathset_network (ps)->nlinks;
    size_t most = 0;

    f->ps = ps;
    f->grid = grid_create (ps);
    for (size_t l = 0; l < f->grid->tree->nleaves; l++) {
        const uint32_t *first = &f->grid->tree->first[l];

        if (first[1] - first[0] > most)
            most = first[1] - first[0];
    }
    for (f->mask = 1; f->mask < 2 * most; f->mask = 2 * f->mask + 1)
        ;
    f->weight = xcalloc (nlinks + 1, sizeof (*f->weight));
    f->head = xcalloc ((size_t)f->mask + 1, sizeof (*f->head));
    f->next = xcalloc (most + 1, sizeof (*f->next));
    f->own = xcalloc (most + 1, sizeof (*f->own));
    for (size_t i = 0; i < nlinks; i++)
        f->weight[i] = rng_below (rng, PRIME);
}

/* Keep the row of a and b if it is symmetric and one of its links has few of
 * that length. Return its length, 0 if it is not symmetric, -1 with err.
 */
static int offer (struct finder *f, size_t a, size_t b, struct error *err)
{
    bool wanted = false;
    struct row row;
    uint8_t *cover;

    if (pathset_row (f->ps, a, b, &row, err) < 0)
        return -1;
    if (!row.symmetric)
        return 0;
    if (!f->cover[row.n])
        f->cover[row.n] = xcalloc (pathset_network (f->ps)->nlinks, 1);
    cover = f->cover[row.n];
    for (size_t k = 0; k < row.n; k++)
        wanted = wanted || cover[row.link[k]] < COVER;
    if (!wanted)
        return row.n;
    for (size_t k = 0; k < row.n; k++)
        if (cover[row.link[k]] < COVER)
            cover[row.link[k]]++;
    list_push (&f->list, f->ps, a, b, &row);
    return row.n;
}

/* Does an endpoint's first link have too few rows of that length? */
static bool lacks (const struct finder *f, size_t i, int length)
{
    uint32_t up = f->grid->tree->up[i];

    return length == 0 || up == NETWORK_NONE
        || f->cover[length][arc_link (up)] < COVER;
}

static uint32_t bucket (const struct finder *f, uint32_t cell)
{
    return (cell ^ cell >> 16) & f->mask;
}

/* Find pairs between two leaves: members of s look up those of t, each of which
 * is used once.
 */
static int join (struct finder *f, size_t s, size_t t, struct rng *rng,
                 struct error *err)
{
    const struct tree *tree = f->grid->tree;
    const uint32_t *x = grid_cells (f->grid, s, t);
    const uint32_t *y = grid_cells (f->grid, t, s);
    const uint32_t *ms = tree->member + tree->first[s];
    const uint32_t *mt = tree->member + tree->first[t];
    size_t ns = tree->first[s + 1] - tree->first[s];
    size_t nt = tree->first[t + 1] - tree->first[t];
    size_t turn = rng_below (rng, ns);
    int length = 0;

    for (size_t j = 0; j < nt; j++) {
        uint32_t *head = &f->head[bucket (f, x[j])];

        f->next[j] = *head;
        *head = j + 1;
    }
    for (size_t k = 0; k < ns && length >= 0; k++) {
        size_t i = k + turn < ns ? k + turn : k + turn - ns;
        uint32_t *at = &f->head[bucket (f, y[i])];

        for (int tries = 0; *at && tries < CHAIN_MAX; tries++) {
            size_t j = *at - 1;

            if (x[j] == y[i]
                && (lacks (f, ms[i], length) || lacks (f, mt[j], length))) {
                length = offer (f, ms[i], mt[j], err);
                *at = f->next[j];
                break;
            }
            at = &f->next[j];
        }
    }
    for (size_t j = 0; j < nt; j++)
        f->head[bucket (f, x[j])] = 0;
    return length < 0 ? -1 : 0;
}

/* List the first endpoint of each port of a leaf: ports are numbered in this
 * order. Return their number.
 */
static size_t list_own (struct finder *f, size_t s)
{
    const struct tree *tree = f->grid->tree;
    uint32_t next = 0;
    size_t n = 0;

    for (uint32_t k = tree->first[s]; k < tree->first[s + 1]; k++) {
        uint32_t port = pathset_port (f->ps, tree->member[k]);

        if (port < next)
            continue;
        f->own[n++] = tree->member[k];
        next = port + 1;
    }
    return n;
}

/* Find pairs on one leaf: each port with some that follow it, in a ring. */
static int join_own (struct finder *f, size_t s, struct error *err)
{
    const uint32_t *member = f->own;
    size_t n = list_own (f, s);

    for (size_t d = 1; d <= n / 2 && d <= COVER; d++)
        for (size_t i = 0; i < n; i++) {
            size_t k = (i + d) % n;

            if (2 * d == n && i >= k)
                continue;
            if (f->grid->own[member[i]] == f->grid->own[member[k]]
                && offer (f, member[i], member[k], err) < 0)
                return -1;
        }
    return 0;
}

/* Join all leaves of block p with those of block q, in an order that prefers
 * none: by the distance of their numbers, drawn at random.
 */
static int join_blocks (struct finder *f, size_t p, size_t q,
                        struct rng *rng, struct error *err)
{
    size_t first[2], end[2];
    size_t steps, width;
    uint32_t *step;
    int rc = 0;

    grid_block (f->grid, p, &first[0], &end[0]);
    grid_block (f->grid, q, &first[1], &end[1]);
    width = end[1] - first[1];
    step = xcalloc (width + 1, sizeof (*step));
    steps = p == q ? width / 2 : width;
    for (size_t d = 0; d < steps; d++)
        step[d] = d + (p == q);
    rng_shuffle (rng, step, steps);
    for (size_t d = 0; d < steps && rc == 0; d++)
        for (size_t i = 0; i < end[0] - first[0] && rc == 0; i++) {
            size_t s = first[0] + i;
            size_t t = first[1] + (i + step[d]) % width;

            if (p != q || 2 * step[d] != width || s < t)
                rc = join (f, s, t, rng, err);
        }
    free (step);
    return rc;
}

int basis_symmetric (struct basis *basis, struct pathset *ps,
                     struct rng *rng, struct error *err)
{
    struct finder f = { 0 };
    int rc = -1;

    *basis = (struct basis){ 0 };
    if (!pathset_links (ps, &basis->m, err))
        return -1;
    finder_init (&f, ps, rng);
    for (size_t p = 0; p < f.grid->nblocks; p++)
        for (size_t q = p; q < f.grid->nblocks; q++) {
            size_t first, end;

            if (grid_load (f.grid, GRID_LINKS, f.weight, p, q, err) < 0)
                goto error;
            grid_block (f.grid, p, &first, &end);
            for (size_t s = first; p == q && s < end; s++)
                if (join_own (&f, s, err) < 0)
                    goto error;
            if (join_blocks (&f, p, q, rng, err) < 0)
                goto error;
        }
    grid_destroy (f.grid); /* the largest part, before more memory is used */
    f.grid = NULL;
    sort_list (basis, &f.list, ps);
    rc = 0;
error:
    finder_clear (&f);
    return rc;
}

void basis_clear (struct basis *basis)
{
    free (basis->pair);
    free (basis->port);
    free (basis->class_id);
    free (basis->first);
    free (basis->col);
    free (basis->count);
    *basis = (struct basis){ 0 };
}

/* Columns of a pair's row, their counts and their number. */
#define ROW(b, i) \
    (b)->col + (b)->first[i], (b)->count + (b)->first[i], \
        (b)->first[(i) + 1] - (b)->first[i]

bool basis_add (const struct basis *b, uint32_t i, struct rref *rref)
{
    return rref_add (rref, ROW (b, i));
}

bool basis_add_null (const struct basis *b, uint32_t i, struct rref *rref,
                     uint64_t *z)
{
    return rref_add_null (rref, ROW (b, i), z);
}

bool basis_add_fresh (const struct basis *b, uint32_t i, struct rref *rref)
{
    return rref_add_fresh (rref, ROW (b, i));
}

bool basis_spans (const struct basis *b, uint32_t i, struct rref *rref)
{
    return rref_spans (rref, ROW (b, i));
}

uint64_t basis_dot (const struct basis *b, uint32_t i, const uint64_t *z)
{
    return rref_dot (ROW (b, i), z);
}

/* Move the contents of a basis into a list. */
static struct list take (struct basis *b)
{
    struct list l = {
        .n = b->n,
        .size = b->n,
        .pair = b->pair,
        .class_id = b->class_id,
        .nentries = b->n ? b->first[b->n] : 0,
        .entries_size = b->n ? b->first[b->n] : 0,
        .col = b->col,
        .count = b->count,
    };

    free (b->first);
    free (b->port);
    *b = (struct basis){ .m = b->m };
    return l;
}

/* Move a list into a basis, in its order. */
static void give (struct basis *b, struct list *l, const struct pathset *ps)
{
    b->first = xcalloc (l->n + 1, sizeof (*b->first));
    for (size_t i = 0; i < l->n; i++)
        b->first[i + 1] = b->first[i] + l->class_id[i] / 2;
    b->n = l->n;
    b->pair = l->pair;
    b->class_id = l->class_id;
    b->col = l->col;
    b->count = l->count;
    *l = (struct list){ 0 };
    find_ports (b, ps);
}

static int push_pairs (struct list *l, const struct pathset *ps,
                       const struct probe *pair, size_t n,
                       struct error *err)
{
    for (size_t i = 0; i < n; i++) {
        struct row row;

        if (pathset_row (ps, pair[i].a, pair[i].b, &row, err) < 0)
            return -1;
        list_push (l, ps, pair[i].a, pair[i].b, &row);
    }
    return 0;
}

int basis_append (struct basis *basis, const struct pathset *ps,
                  const struct probe *pair, size_t n, struct error *err)
{
    struct list l = take (basis);
    int rc = push_pairs (&l, ps, pair, n, err);

    if (rc == 0)
        give (basis, &l, ps);
    list_clear (&l);
    return rc;
}

int basis_extend (struct basis *basis, struct pathset *ps,
                  const struct rref *rref, struct rng *rng, size_t max,
                  struct error *err)
{
    uint64_t *z = xcalloc (basis->m + 1, sizeof (*z));
    struct probe *pair = NULL;
    struct list l = { 0 };
    size_t n = 0;
    int rc = -1;

    while (n == 0) { /* once, unless the search misses pairs */
        int complete;

        rref_null (rref, rng, z);
        if ((complete = span_complete (ps, z, rng, err)) != 0) {
            rc = complete < 0 ? -1 : 0;
            goto error;
        }
        free (pair);
        if (!(pair = span_missing (ps, z, rng, max, &n, err)))
            goto error;
    }
    l = take (basis);
    if (push_pairs (&l, ps, pair, n, err) == 0) {
        sort_list (basis, &l, ps);
        rc = n;
    }
error:
    list_clear (&l);
    free (pair);
    free (z);
    return rc;
}
