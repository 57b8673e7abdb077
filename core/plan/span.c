/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What sums of weights over all paths tell.
 *
 * Notes: up(i) is the weight of the first hop of endpoint i and path(s,i) the
 * sum over its tree from leaf s, modulo 2^61 - 1. A *cell* keeps 32 bits of a
 * value for a leaf s and a destination i that can be compared:
 *
 * - path(s,i) - up(i): for random weights, a on leaf s and b on leaf t use the
 *   same links there and back if the cells (s,b) and (t,a) agree;
 * - path(s,i) + up(i), negated if s is before the leaf of i: the row of a and b
 *   has a sum other than 0 if the cells (s,b) and (t,a) differ.
 *
 * The certificate stores no cells: that psi(a,t) is one value for all a on a
 * leaf is tested for all t at once, by sums over t with random factors; that C
 * is antisymmetric, by C(u,v) + C(v,u) = 0 for random vectors u and v. Each
 * test misses a difference with probability 1/P.
 */
#include "config.h"
#include "core/plan/span.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/paths/tree.h"
#include "core/plan/rref.h"
#include "util/alloc.h"
#include "util/terminal.h"

enum {
    COVER = 8,   /* rows of one length that a link should have */
    MATCHES = 8, /* that are tried for one endpoint */
    PART = 4,    /* one leaf in so many is searched for missing pairs */
};

/*
 * Cells
 */

enum cell_kind { CELL_LINKS, CELL_ROWS };

struct cells {
    struct tree *tree;
    uint32_t *cell;  /* by leaf of the destination, leaf, destination */
    uint64_t *own;   /* [n] by endpoint: the value for its own leaf, not
                        negated */
};

static void cells_clear (struct cells *c)
{
    tree_destroy (c->tree);
    free (c->cell);
    free (c->own);
}

/* The endpoints of a leaf. */
static const uint32_t *leaf_members (const struct tree *t, size_t leaf,
                                     size_t *n)
{
    *n = t->first[leaf + 1] - t->first[leaf];
    return t->member + t->first[leaf];
}

/* The cells from leaf s to the members of leaf t, in their order. */
static uint32_t *cells_to (const struct cells *c, size_t s, size_t t)
{
    const uint32_t *first = c->tree->first;

    return c->cell + first[t] * c->tree->nleaves
        + s * (first[t + 1] - first[t]);
}

/* Fill all cells, for weights of the links. */
static int cells_fill (struct cells *c, struct pathset *ps,
                       enum cell_kind kind, const uint64_t *weight,
                       struct error *err)
{
    struct tree *t = tree_create (ps);
    size_t L = t->nleaves;
    uint64_t *sum = xarray (tree_steps (t), sizeof (*sum));
    uint8_t *used = xcalloc (pathset_network (ps)->nlinks, 1);
    int rc = 0;

    *c = (struct cells){ .tree = t };
    c->cell = xarray (L * pathset_size (ps), sizeof (*c->cell));
    c->own = xarray (pathset_size (ps), sizeof (*c->own));
    for (size_t at = 0; at < pathset_size (ps) && rc == 0; at++) {
        uint32_t to = t->member[at];
        size_t own = t->leaf_of[to];
        size_t nth = at - t->first[own];
        uint64_t up = tree_first_hop (t, to, weight);

        /* of rows, it is done as often as some are missing */
        if (kind == CELL_LINKS)
            terminal_work ("following paths", at, pathset_size (ps));
        else
            terminal_work ("finding missing probes", 0, 0);
        if ((rc = tree_grow (t, to, err)) < 0)
            break;
        for (size_t k = 1; k < t->n; k++)
            used[arc_link (t->arc[k])] = 1;
        tree_sum (t, weight, kind == CELL_ROWS ? up : prime_neg (up), PRIME,
                  sum);
        c->own[to] = sum[t->leaf[own]];
        for (size_t s = 0; s < L; s++) {
            uint64_t x = sum[t->leaf[s]];

            if (kind == CELL_ROWS && s < own)
                x = prime_neg (x);
            cells_to (c, s, own)[nth] = (uint32_t)x;
        }
    }
    if (rc == 0)
        pathset_set_links (ps, used);
    free (sum);
    free (used);
    return rc;
}

/*
 * Pairs that use the same links there and back
 */

struct finder {
    struct pathset *ps;
    struct cells cells;
    struct basis *basis;
    uint8_t *cover[ROW_MAX + 1]; /* [row length][link]: rows so far */
    uint32_t *head, *next;       /* members of a leaf by hash of cells */
    uint32_t mask;
};

/* Keep the row of a and b if it is symmetric and one of its links has few of
 * that length. Return its length, 0 if it is not symmetric, -1 with err.
 */
static int keep_symmetric_row (struct finder *f, size_t a, size_t b,
                               struct error *err)
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
        cover[row.link[k]] += cover[row.link[k]] < COVER;
    basis_push (f->basis, a, b, &row);
    return row.n;
}

/* Does an endpoint's first link have too few rows of that length? */
static bool lacks (const struct finder *f, size_t i, int length)
{
    uint32_t up = f->cells.tree->up[i];

    return length == 0 || up == NETWORK_NONE
        || f->cover[length][arc_link (up)] < COVER;
}

static uint32_t *bucket (const struct finder *f, uint32_t cell)
{
    return &f->head[(cell ^ cell >> 16) & f->mask];
}

/* Find pairs between two leaves: members of s look up those of t, each of which
 * is used once.
 */
static int find_leaf_pairs (struct finder *f, size_t s, size_t t,
                            struct rng *rng, struct error *err)
{
    const uint32_t *x = cells_to (&f->cells, s, t);
    const uint32_t *y = cells_to (&f->cells, t, s);
    size_t ns, nt;
    const uint32_t *ms = leaf_members (f->cells.tree, s, &ns);
    const uint32_t *mt = leaf_members (f->cells.tree, t, &nt);
    size_t turn = rng_below (rng, ns);
    int length = 0;

    for (size_t j = 0; j < nt; j++) {
        uint32_t *head = bucket (f, x[j]);

        f->next[j] = *head;
        *head = j + 1;
    }
    for (size_t k = 0; k < ns && length >= 0; k++) {
        size_t i = k + turn < ns ? k + turn : k + turn - ns;
        uint32_t *at = bucket (f, y[i]);

        for (int tries = 0; *at && tries < MATCHES; tries++) {
            size_t j = *at - 1;

            if (x[j] == y[i]
                && (lacks (f, ms[i], length) || lacks (f, mt[j], length))) {
                length = keep_symmetric_row (f, ms[i], mt[j], err);
                *at = f->next[j];
                break;
            }
            at = &f->next[j];
        }
    }
    for (size_t j = 0; j < nt; j++)
        *bucket (f, x[j]) = 0;
    return length < 0 ? -1 : 0;
}

/* Find pairs on one leaf: the first endpoint of each port with some that follow
 * it, in a ring. (Ports are numbered in the order of these.)
 */
static int join_own (struct finder *f, size_t s, struct error *err)
{
    size_t size, n = 0;
    const uint32_t *member = leaf_members (f->cells.tree, s, &size);
    uint32_t *own = f->next;
    uint32_t port = 0;

    for (size_t i = 0; i < size; i++)
        if (pathset_port (f->ps, member[i]) >= port) {
            own[n++] = member[i];
            port = pathset_port (f->ps, member[i]) + 1;
        }
    for (size_t d = 1; d <= n / 2 && d <= COVER; d++)
        for (size_t i = 0; i < (2 * d == n ? d : n); i++) {
            uint32_t a = own[i], b = own[(i + d) % n];

            if (f->cells.own[a] == f->cells.own[b]
                && keep_symmetric_row (f, a, b, err) < 0)
                return -1;
        }
    return 0;
}

/* Join all leaves, in an order that prefers none: by the distance of their
 * numbers, drawn at random.
 */
static int join_leaves (struct finder *f, struct rng *rng, struct error *err)
{
    size_t L = f->cells.tree->nleaves;
    uint32_t *step = xarray (L, sizeof (*step));
    int rc = 0;

    for (size_t s = 0; s < L && rc == 0; s++)
        rc = join_own (f, s, err);
    for (size_t d = 0; d < L / 2; d++)
        step[d] = d + 1;
    rng_shuffle (rng, step, L / 2);
    for (size_t d = 0; d < L / 2 && rc == 0; d++)
        for (size_t s = 0; s < L && rc == 0; s++) {
            size_t t = (s + step[d]) % L;

            terminal_work ("finding pairs", d * L + s, L / 2 * L);
            if (2 * step[d] != L || s < t)
                rc = find_leaf_pairs (f, s, t, rng, err);
        }
    free (step);
    return rc;
}

int span_symmetric (struct basis *basis, struct pathset *ps, struct rng *rng,
                    struct error *err)
{
    size_t nlinks = pathset_network (ps)->nlinks;
    uint64_t *weight = xarray (nlinks, sizeof (*weight));
    struct finder f = { .ps = ps, .basis = basis };
    int rc = -1;

    *basis = (struct basis){ 0 };
    for (size_t i = 0; i < nlinks; i++)
        weight[i] = rng_below (rng, PRIME);
    if (cells_fill (&f.cells, ps, CELL_LINKS, weight, err) == 0
        && basis_open (basis, ps, err) == 0) {
        size_t most = 0;

        for (size_t l = 0; l < f.cells.tree->nleaves; l++) {
            size_t n;

            leaf_members (f.cells.tree, l, &n);
            most = n > most ? n : most;
        }
        for (f.mask = 1; f.mask < 2 * most; f.mask = 2 * f.mask + 1)
            ;
        f.head = xcalloc ((size_t)f.mask + 1, sizeof (*f.head));
        f.next = xarray (most, sizeof (*f.next));
        rc = join_leaves (&f, rng, err);
    }
    cells_clear (&f.cells); /* the largest part, before more memory is used */
    if (rc == 0)
        basis_sort (basis, 0);
    for (size_t i = 0; i <= ROW_MAX; i++)
        free (f.cover[i]);
    free (f.head);
    free (f.next);
    free (weight);
    return rc;
}

/*
 * The certificate
 */

/* z by link; links that no path uses are 0. */
static uint64_t *by_link (struct pathset *ps, const uint64_t *z,
                          struct error *err)
{
    uint64_t *weight;
    size_t m;
    const uint32_t *link = pathset_links (ps, &m, err);

    if (!link)
        return NULL;
    weight = xcalloc (pathset_network (ps)->nlinks + 1, sizeof (*weight));
    for (size_t c = 0; c < m; c++)
        weight[link[c]] = z[c];
    return weight;
}

struct span_check {
    struct tree *tree;
    const uint64_t *weight;
    uint64_t *psi;       /* [tree_steps] by step */
    uint64_t *factor[2]; /* [nleaves] u, v */
    uint64_t *sum[2];    /* [nleaves] C u, C v, by leaf */
};

/* Test whether the members of a leaf agree. Between themselves, those of one
 * port have one value, those of all others the opposite, and with more than two
 * ports it is 0.
 */
static int check_leaf (struct span_check *c, size_t s, struct error *err)
{
    const struct tree *t = c->tree;
    size_t n;
    const uint32_t *member = leaf_members (t, s, &n);
    uint64_t own = 0; /* of the first one's port */

    for (size_t i = 0; i < n; i++) {
        uint64_t sum[2] = { 0, 0 };
        uint64_t x;

        if (tree_grow (c->tree, member[i], err) < 0)
            return -1;
        tree_sum (t, c->weight, tree_first_hop (t, member[i], c->weight),
                  PRIME, c->psi);
        for (size_t l = 0; l < t->nleaves; l++)
            for (int k = 0; k < 2 && l != s; k++)
                sum[k] = prime_add (sum[k], prime_mul (c->factor[k][l],
                                                       c->psi[t->leaf[l]]));
        x = c->psi[t->leaf[s]];
        if (pathset_port (t->ps, member[i]) != pathset_port (t->ps, *member))
            x = prime_neg (x);
        if (i == 0) {
            c->sum[0][s] = sum[0];
            c->sum[1][s] = sum[1];
            own = x;
        }
        if (sum[0] != c->sum[0][s] || sum[1] != c->sum[1][s] || x != own
            || (t->ports[s] > 2 && own != 0))
            return 0;
    }
    return 1;
}

int span_complete (struct pathset *ps, const uint64_t *z, struct rng *rng,
                   struct error *err)
{
    uint64_t *weight = by_link (ps, z, err);
    struct span_check c = { .weight = weight };
    uint64_t total = 0;
    size_t L;
    int rc = 1;

    if (!weight)
        return -1;
    c.tree = tree_create (ps);
    L = c.tree->nleaves;
    c.psi = xarray (tree_steps (c.tree), sizeof (*c.psi));
    for (int k = 0; k < 2; k++) {
        c.factor[k] = xarray (L, sizeof (*c.factor[k]));
        c.sum[k] = xarray (L, sizeof (*c.sum[k]));
    }
    for (size_t s = 0; s < L; s++)
        for (int k = 0; k < 2; k++)
            c.factor[k][s] = rng_below (rng, PRIME);
    for (size_t s = 0; s < L && rc == 1; s++) {
        terminal_work ("checking all paths", s, L);
        rc = check_leaf (&c, s, err);
        for (int k = 0; k < 2 && rc == 1; k++)
            total = prime_add (total,
                               prime_mul (c.factor[k][s], c.sum[!k][s]));
    }
    tree_destroy (c.tree);
    free (weight);
    free (c.psi);
    for (int k = 0; k < 2; k++) {
        free (c.factor[k]);
        free (c.sum[k]);
    }
    return rc == 1 ? total == 0 : rc;
}

/*
 * Missing pairs
 */

/* A sample of the pairs found. */
struct found_pairs {
    struct rng *rng;
    struct probe *pair;
    size_t max, n;
    uint64_t seen;
};

static void add_found_pair (struct found_pairs *s, uint32_t a, uint32_t b)
{
    uint64_t at = s->n < s->max ? s->n++ : rng_below (s->rng, s->seen + 1);

    s->seen++;
    if (at < s->n)
        s->pair[at] = (struct probe){ a < b ? a : b, a < b ? b : a };
}

static bool uniform (const uint32_t *cell, size_t n, uint32_t value)
{
    for (size_t i = 0; i < n; i++)
        if (cell[i] != value)
            return false;
    return true;
}

/* Find pairs between two leaves: both members advance together, from a random
 * start, and with other shifts until one is found.
 */
static void search_pair (const struct cells *c, struct found_pairs *found,
                         size_t s, size_t t)
{
    const uint32_t *x = cells_to (c, s, t);
    const uint32_t *y = cells_to (c, t, s);
    size_t ns, nt;
    const uint32_t *ms = leaf_members (c->tree, s, &ns);
    const uint32_t *mt = leaf_members (c->tree, t, &nt);
    size_t turn;
    bool any = false;

    if (uniform (x, nt, x[0]) && uniform (y, ns, x[0]))
        return;
    turn = rng_below (found->rng, nt);
    for (size_t d = 0; d < nt && !any; d++)
        for (size_t k = 0; k < (ns > nt ? ns : nt); k++) {
            size_t i = k % ns;
            size_t j = (k + d + turn) % nt;

            if (x[j] == y[i])
                continue;
            any = true;
            add_found_pair (found, ms[i], mt[j]);
        }
}

/* Find pairs on one leaf: with the member before, or the one before that; with
 * all if some are of one port.
 */
static void search_own (const struct cells *c, struct found_pairs *found,
                        size_t s)
{
    const struct pathset *ps = c->tree->ps;
    size_t n;
    const uint32_t *member = leaf_members (c->tree, s, &n);
    size_t most = n > c->tree->ports[s] ? n : 2;

    for (size_t d = 1; d <= most; d++)
        for (size_t i = d; i < n; i++)
            if (prime_add (c->own[member[i]], c->own[member[i - d]]) != 0
                && pathset_port (ps, member[i])
                       != pathset_port (ps, member[i - d]))
                add_found_pair (found, member[i], member[i - d]);
}

static int search_set (struct pathset *ps, const uint64_t *weight,
                       struct found_pairs *found, struct error *err)
{
    struct cells c = { 0 };
    int rc = cells_fill (&c, ps, CELL_ROWS, weight, err);

    for (size_t s = 0; rc == 0 && s < c.tree->nleaves; s++) {
        search_own (&c, found, s);
        for (size_t t = s + 1; t < c.tree->nleaves; t++)
            search_pair (&c, found, s, t);
    }
    cells_clear (&c);
    return rc;
}

/* Mark the leaves at which links have a weight, unless these are too many. */
static uint8_t *mark_leaves (const struct tree *t, const uint64_t *weight)
{
    const struct network *net = pathset_network (t->ps);
    uint8_t *place = xcalloc (net->nplaces, 1);
    uint8_t *mark = xcalloc (t->nleaves, 1);
    size_t n = 0;

    for (size_t i = 0; i < net->nlinks; i++)
        for (int e = 0; e < 2 && weight[i]; e++)
            if (net->link[i].end[e] < net->nplaces)
                place[net->link[i].end[e]] = 1;
    for (size_t l = 0; l < t->nleaves; l++)
        n += mark[l] = place[t->place[l]];
    if (n > t->nleaves / PART)
        memset (mark, 0, t->nleaves);
    free (place);
    return mark;
}

/* Search the endpoints of marked leaves, and of others drawn at random. */
static int search_part (struct pathset *ps, const uint64_t *weight,
                        struct found_pairs *found, struct error *err)
{
    struct tree *t = tree_create (ps);
    uint8_t *mark = mark_leaves (t, weight);
    struct endpoint *v = xarray (pathset_size (ps), sizeof (*v));
    uint32_t *whole = xarray (pathset_size (ps), sizeof (*whole));
    struct pathset *part;
    size_t n = 0;
    int rc = -1;

    for (size_t l = 0; l < t->nleaves; l++)
        for (size_t i = mark[l] || rng_below (found->rng, PART) == 0
                            ? t->first[l]
                            : t->first[l + 1];
             i < t->first[l + 1]; i++) {
            whole[n] = t->member[i];
            v[n++] = *pathset_endpoint (ps, t->member[i]);
        }
    if ((part = pathset_create (pathset_network (ps), v, n, err)))
        rc = search_set (part, weight, found, err);
    for (size_t i = 0; i < found->n; i++)
        found->pair[i] = (struct probe){ whole[found->pair[i].a],
                                         whole[found->pair[i].b] };
    pathset_destroy (part);
    tree_destroy (t);
    free (mark);
    free (v);
    free (whole);
    return rc;
}

struct probe *span_missing (struct pathset *ps, const uint64_t *z,
                            struct rng *rng, bool all, size_t max, size_t *n,
                            struct error *err)
{
    uint64_t *weight = by_link (ps, z, err);
    struct found_pairs found = { .rng = rng, .max = max };
    int rc = weight ? 0 : -1;

    found.pair = xarray (max, sizeof (*found.pair));
    if (rc == 0 && !all && pathset_size (ps) >= SPAN_PART_MIN)
        rc = search_part (ps, weight, &found, err);
    if (rc == 0 && found.n == 0)
        rc = search_set (ps, weight, &found, err);
    free (weight);
    *n = found.n;
    if (rc == 0)
        return found.pair;
    free (found.pair);
    return NULL;
}
