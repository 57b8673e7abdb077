/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bounds: how few rounds could do.
 *
 * Notes: a level divides the endpoints into groups, the sets S. One pass over
 * the trees of all endpoints tells for all levels which links are own to
 * which group: link x of the tree of i is crossed by the rows of i and every
 * endpoint above x. So x may be own to the group of i and, where those above
 * x are all of one group, to that; what it is own to is what all i leave.
 *
 * A group with c own links gives ceil (c / |S|) at most. Groups are evaluated
 * by falling c / |S| as long as they can beat the best so far. The rows of a
 * group are walked, sorted to drop doubles, and added to an echelon form only
 * if a random null vector tells that they are new.
 */
#include "config.h"
#include "core/bound.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/echelon.h"
#include "core/plan.h"
#include "core/tree.h"
#include "util/rng.h"

enum {
    ANY = UINT32_MAX,        /* own to every group as yet */
    NONE = UINT32_MAX - 1,
    MIXED = UINT32_MAX - 2,  /* endpoints of several groups */
    LEVELS_MAX = PATH_MAX_HOPS + 2,
    WASTE = 8,               /* dependent rows until z is drawn anew */
};

static const uint64_t effort = UINT64_C (1) << 30; /* entries touched */

struct level {
    enum bound_kind kind;
    size_t ngroups;
    uint32_t *group;      /* [n] of an endpoint */
    uint32_t *first;      /* [ngroups + 1] into member: */
    uint32_t *member;     /* [n] */
    uint32_t (*owner)[2]; /* [nlinks] groups it may be own to */
    uint32_t *own;        /* [ngroups] number of links */
    uint32_t *above;      /* of the tree at hand: [steps] group, MIXED */
};

struct search {
    struct pathset *ps;
    const struct network *net;
    size_t n;
    struct tree *tree;
    struct level level[LEVELS_MAX];
    size_t nlevels;
    size_t above_size;
    int32_t *column;      /* [nlinks] of the echelon form at hand, or -1 */
    struct rng rng;
    uint64_t work;
    struct bound *bound;
};

const char *bound_kind_name (enum bound_kind kind)
{
    static const char *const name[] = {
        [BOUND_HOSTS] = "all hosts",
        [BOUND_END] = "host end",
        [BOUND_LINK] = "switch link",
        [BOUND_LEAF] = "leaf",
        [BOUND_POD] = "pod",
    };

    return name[kind];
}

static size_t ceil_div (size_t a, size_t b)
{
    return (a + b - 1) / b;
}

static void offer (struct search *s, enum bound_kind kind, size_t need,
                   size_t width, uint32_t at)
{
    struct bound *b = s->bound;

    if (ceil_div (need, width) <= b->rounds)
        return;
    b->rounds = ceil_div (need, width);
    b->kind = kind;
    b->need = need;
    b->width = width;
    b->at = at;
}

/*
 * Levels
 */

static int add_level (struct search *s, enum bound_kind kind,
                      const uint32_t *group, size_t ngroups)
{
    struct level *l = &s->level[s->nlevels++];

    *l = (struct level){ .kind = kind, .ngroups = ngroups };
    l->group = calloc (s->n + 1, sizeof (*l->group));
    l->first = calloc (ngroups + 2, sizeof (*l->first));
    l->member = calloc (s->n + 1, sizeof (*l->member));
    l->owner = calloc (s->net->nlinks + 1, sizeof (*l->owner));
    l->own = calloc (ngroups + 1, sizeof (*l->own));
    if (!l->group || !l->first || !l->member || !l->owner || !l->own)
        return -1;
    for (size_t i = 0; i < s->n; i++) {
        l->group[i] = group[i];
        l->first[group[i] + 2]++;
    }
    for (size_t g = 0; g < ngroups; g++)
        l->first[g + 2] += l->first[g + 1];
    for (size_t i = 0; i < s->n; i++)
        l->member[l->first[group[i] + 1]++] = i;
    for (size_t x = 0; x < s->net->nlinks; x++)
        l->owner[x][0] = l->owner[x][1] = ANY;
    return 0;
}

static uint32_t find_root (uint32_t *up, uint32_t x)
{
    while (up[x] != x)
        x = up[x] = up[up[x]];
    return x;
}

static void join (uint32_t *up, uint32_t x, uint32_t y)
{
    x = find_root (up, x);
    y = find_root (up, y);
    up[x > y ? x : y] = x < y ? x : y;
}

/* Join leaves in up[d] where a path of length d leads from one to the other.
 * The paths to a leaf's first endpoint stand for all: any division will do.
 */
static int join_leaves (struct search *s, uint32_t **up, struct error *err)
{
    struct tree *t = s->tree;
    uint32_t *depth = NULL;
    size_t size = 0;

    for (size_t l = 0; l < t->nleaves; l++) {
        if (tree_grow (t, t->member[t->first[l]], err) < 0) {
            free (depth);
            return -1;
        }
        if (size < t->n) {
            size = 2 * t->n;
            free (depth);
            if (!(depth = calloc (size, sizeof (*depth))))
                return error_nomem (err);
        }
        for (size_t k = 1; k < t->n; k++)
            depth[k] = depth[t->parent[k]] + 1;
        for (size_t k = 0; k < t->nleaves; k++)
            if (k != l)
                join (up[depth[t->leaf[k]]], l, k);
    }
    free (depth);
    return 0;
}

/* A level for each d at which leaves grow together. */
static int add_pods (struct search *s, uint32_t **up, uint32_t *group)
{
    size_t L = s->tree->nleaves;
    size_t before = L;

    for (size_t d = 1; d <= PATH_MAX_HOPS; d++) {
        size_t ngroups = 0;

        for (size_t l = 0; l < L; l++)
            join (up[d], l, find_root (up[d - 1], l));
        for (size_t l = 0; l < L; l++)
            ngroups += up[d][l] == l;
        if (ngroups == 1)
            break;
        if (ngroups == before)
            continue;
        before = ngroups;
        ngroups = 0;
        /* roots are their groups' lowest; up[0] has served */
        for (size_t l = 0; l < L; l++)
            up[0][l] = up[d][l] == l ? ngroups++
                                     : up[0][find_root (up[d], l)];
        for (size_t i = 0; i < s->n; i++)
            group[i] = up[0][s->tree->leaf_of[i]];
        if (add_level (s, BOUND_POD, group, ngroups) < 0)
            return -1;
    }
    return 0;
}

static int make_levels (struct search *s, struct error *err)
{
    size_t L = s->tree->nleaves;
    uint32_t *up[PATH_MAX_HOPS + 1] = { NULL };
    uint32_t *group = calloc (s->n + 1, sizeof (*group));
    int rc = -1;

    if (!group)
        goto nomem;
    for (size_t d = 0; d <= PATH_MAX_HOPS; d++) {
        if (!(up[d] = calloc (L + 1, sizeof (**up))))
            goto nomem;
        for (size_t l = 0; l < L; l++)
            up[d][l] = l;
    }
    for (size_t i = 0; i < s->n; i++)
        group[i] = i;
    if (add_level (s, BOUND_END, group, s->n) < 0)
        goto nomem;
    if (L > 1 && L < s->n
        && add_level (s, BOUND_LEAF, s->tree->leaf_of, L) < 0)
        goto nomem;
    if (join_leaves (s, up, err) < 0)
        goto out;
    if (add_pods (s, up, group) < 0)
        goto nomem;
    rc = 0;
    goto out;
nomem:
    error_nomem (err);
out:
    for (size_t d = 0; d <= PATH_MAX_HOPS; d++)
        free (up[d]);
    free (group);
    return rc;
}

/*
 * Own links
 */

/* Rows between group g and group h (MIXED: others, of several groups) cross
 * link x.
 */
static void narrow (struct level *l, uint32_t x, uint32_t g, uint32_t h)
{
    uint32_t *owner = l->owner[x];

    if (owner[0] == ANY) {
        owner[0] = g;
        owner[1] = h == g || h == MIXED ? NONE : h;
        return;
    }
    for (int k = 0; k < 2; k++)
        if (owner[k] != g && owner[k] != h)
            owner[k] = NONE;
}

static void merge (uint32_t *above, uint32_t g)
{
    *above = *above == NONE || *above == g ? g : MIXED;
}

/* The group above each step of the tree, step 0 holding all endpoints but its
 * own.
 */
static void fill_above (struct level *l, const struct tree *t)
{
    for (size_t k = 0; k < t->n; k++)
        l->above[k] = NONE;
    for (size_t f = 0; f < t->nleaves; f++)
        for (uint32_t i = t->first[f]; i < t->first[f + 1]; i++)
            if (t->member[i] != t->to) {
                merge (&l->above[t->leaf[f]], l->group[t->member[i]]);
                if (l->above[t->leaf[f]] == MIXED)
                    break;
            }
    for (size_t k = t->n - 1; k > 0; k--)
        merge (&l->above[t->parent[k]], l->above[k]);
}

static void own_of_tree (struct level *l, const struct tree *t)
{
    uint32_t g = l->group[t->to];

    fill_above (l, t);
    if (t->up[t->to] != NETWORK_NONE)
        narrow (l, arc_link (t->up[t->to]), g, l->above[0]);
    for (size_t k = 1; k < t->n; k++)
        narrow (l, arc_link (t->arc[k]), g, l->above[k]);
}

/* Room in all levels for the steps of the tree at hand. */
static int fit_above (struct search *s)
{
    if (s->tree->n <= s->above_size)
        return 0;
    s->above_size = 2 * s->tree->n;
    for (size_t v = 0; v < s->nlevels; v++) {
        struct level *l = &s->level[v];

        free (l->above);
        if (!(l->above = calloc (s->above_size, sizeof (*l->above))))
            return -1;
    }
    return 0;
}

static int find_own (struct search *s, struct error *err)
{
    for (size_t i = 0; i < s->n; i++) {
        if (tree_grow (s->tree, i, err) < 0)
            return -1;
        if (fit_above (s) < 0)
            return error_nomem (err);
        for (size_t v = 0; v < s->nlevels; v++)
            own_of_tree (&s->level[v], s->tree);
    }
    for (size_t v = 0; v < s->nlevels; v++)
        for (size_t x = 0; x < s->net->nlinks; x++)
            for (int k = 0; k < 2; k++)
                if (s->level[v].owner[x][k] < MIXED)
                    s->level[v].own[s->level[v].owner[x][k]]++;
    return 0;
}

/*
 * Rows and their rank
 */

/* Rows as lists of columns, a column as often as it counts; each once. */
struct rows {
    size_t n, size;
    size_t *first;        /* [n + 1] into col: */
    uint32_t *col;
    size_t col_size;
    struct probe *pair;   /* [n] one that has this row */
    uint64_t *seen;       /* [seen_size] hash table of hashes, 0: free */
    size_t seen_size;
    uint64_t *mark;       /* [nlinks] random: a row's hash is their sum */
};

static void rows_clear (struct rows *r)
{
    free (r->first);
    free (r->col);
    free (r->pair);
    free (r->seen);
    free (r->mark);
}

static int rows_init (struct rows *r, struct search *s)
{
    *r = (struct rows){ .size = 1024, .col_size = 1024, .seen_size = 4096 };
    r->first = calloc (r->size + 1, sizeof (*r->first));
    r->col = calloc (r->col_size, sizeof (*r->col));
    r->pair = calloc (r->size, sizeof (*r->pair));
    r->seen = calloc (r->seen_size, sizeof (*r->seen));
    r->mark = calloc (s->net->nlinks + 1, sizeof (*r->mark));
    if (!r->first || !r->col || !r->pair || !r->seen || !r->mark)
        return -1;
    for (size_t x = 0; x < s->net->nlinks; x++)
        r->mark[x] = rng_next (&s->rng);
    return 0;
}

/* Put a hash into the table; false where it was there. */
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
    size_t *first = realloc (r->first, (size + 1) * sizeof (*first));
    struct probe *pair;
    uint64_t *seen;

    if (!first)
        return -1;
    r->first = first;
    if (!(pair = realloc (r->pair, size * sizeof (*pair))))
        return -1;
    r->pair = pair;
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

/* The row of a pair, only the links that have a column. */
static int rows_add (struct rows *r, struct search *s, uint32_t a, uint32_t b,
                     struct error *err)
{
    uint32_t arc[ROW_MAX];
    int there = pathset_walk (s->ps, a, b, arc, err);
    int back = there < 0 ? -1 : pathset_walk (s->ps, b, a, arc + there, err);
    uint64_t hash = 0;
    size_t at = r->first[r->n];

    if (back < 0)
        return -1;
    s->work += there + back;
    if (at + ROW_MAX > r->col_size) {
        size_t size = 2 * r->col_size;
        uint32_t *col = realloc (r->col, size * sizeof (*col));

        if (!col)
            return error_nomem (err);
        r->col = col;
        r->col_size = size;
    }
    for (int k = 0; k < there + back; k++) {
        uint32_t x = arc_link (arc[k]);

        if (s->column[x] >= 0) {
            r->col[at++] = s->column[x];
            hash += r->mark[x];
        }
    }
    if (hash == 0 || !insert (r->seen, r->seen_size, hash))
        return 0;
    r->pair[r->n++] = (struct probe){ a, b };
    r->first[r->n] = at;
    if (r->n == r->size && grow_rows (r) < 0)
        return error_nomem (err);
    return 0;
}

static uint64_t dot (const struct rows *r, size_t i, const uint64_t *z)
{
    uint64_t sum = 0;

    for (size_t k = r->first[i]; k < r->first[i + 1]; k++)
        sum += z[r->col[k]];
    return sum % ECHELON_PRIME;
}

/* Rank of the rows of m columns, those with skip[i] left out; less than that
 * where the effort ends before. A z that meets every row tells all that were
 * new when it was drawn. Returns the rank, or -1 out of memory.
 */
static int64_t rank_of (struct search *s, const struct rows *r, size_t m,
                        const uint8_t *skip)
{
    struct echelon *e = echelon_create (m, NULL);
    uint64_t *z = calloc (m + 1, sizeof (*z));
    int64_t rank = -1;
    size_t met = 0, waste = WASTE;

    if (!e || !z)
        goto out;
    for (size_t i = 0; met < r->n && echelon_rank (e) < m; i++, met++) {
        size_t at = r->first[i %= r->n];
        size_t n = r->first[i + 1] - at;
        uint64_t before = echelon_work (e);
        int added;

        if (s->work > effort)
            break;
        if (waste == WASTE) {
            s->work += echelon_null (e, &s->rng, z);
            waste = met = 0;
        }
        if (skip && skip[i])
            continue;
        s->work += n;
        if (dot (r, i, z) == 0)
            continue;
        if ((added = echelon_add (e, r->col + at, n)) < 0)
            goto out;
        waste += !added;
        s->work += echelon_work (e) - before;
    }
    rank = echelon_rank (e);
out:
    echelon_destroy (e);
    free (z);
    return rank;
}

/* The links of the network that belong to group g of a level, or all that
 * are used, become columns. Returns their number.
 */
static size_t set_columns (struct search *s, const struct level *l, size_t g)
{
    size_t m = 0;

    for (size_t x = 0; x < s->net->nlinks; x++) {
        const uint32_t *owner = l->owner[x];

        s->column[x] = -1;
        if (owner[0] == g || owner[1] == g)
            s->column[x] = m++;
    }
    return m;
}

/* Bound the need of a group by the rank of its rows in its own links. */
static int look (struct search *s, const struct level *l, size_t g,
                 struct error *err)
{
    size_t m = set_columns (s, l, g);
    size_t width = l->first[g + 1] - l->first[g];
    struct rows rows;
    int64_t need = -1;

    if (rows_init (&rows, s) < 0)
        goto nomem;
    for (uint32_t k = l->first[g]; k < l->first[g + 1]; k++)
        for (uint32_t b = 0; b < s->n; b++) {
            uint32_t a = l->member[k];

            if ((l->group[b] != g || b > a)
                && rows_add (&rows, s, a, b, err) < 0)
                goto error;
        }
    if ((need = rank_of (s, &rows, m, NULL)) < 0)
        goto nomem;
    s->bound->looked++;
    offer (s, l->kind, need, width, l->member[l->first[g]]);
    goto error;
nomem:
    error_nomem (err);
error:
    rows_clear (&rows);
    return need < 0 ? -1 : 0;
}

/*
 * The search
 */

struct candidate {
    uint32_t level, group;
    uint32_t own, width;
};

/* Most own links per endpoint first. */
static int compare_candidate (const void *a, const void *b)
{
    const struct candidate *x = a;
    const struct candidate *y = b;
    uint64_t p = (uint64_t)x->own * y->width;
    uint64_t q = (uint64_t)y->own * x->width;

    if (p != q)
        return p > q ? -1 : 1;
    if (x->level != y->level)
        return x->level < y->level ? -1 : 1;
    return (x->group > y->group) - (x->group < y->group);
}

static struct candidate *list_candidates (struct search *s)
{
    struct candidate *list;
    size_t n = 0;

    for (size_t v = 0; v < s->nlevels; v++)
        n += s->level[v].ngroups;
    s->bound->sets = n + 1;
    if (!(list = calloc (n + 1, sizeof (*list))))
        return NULL;
    n = 0;
    for (size_t v = 0; v < s->nlevels; v++)
        for (size_t g = 0; g < s->level[v].ngroups; g++)
            list[n++] = (struct candidate){
                v, g, s->level[v].own[g],
                s->level[v].first[g + 1] - s->level[v].first[g]
            };
    qsort (list, n, sizeof (*list), compare_candidate);
    return list;
}

static int look_at_sets (struct search *s, struct error *err)
{
    struct candidate *list = list_candidates (s);
    int rc = -1;

    if (!list)
        return error_nomem (err);
    for (size_t i = 0; i + 1 < s->bound->sets; i++) {
        const struct candidate *c = &list[i];

        if (ceil_div (c->own, c->width) <= s->bound->rounds)
            break;
        if (s->work + (uint64_t)c->width * s->n * 8 > effort)
            continue;
        if (look (s, &s->level[c->level], c->group, err) < 0)
            goto out;
    }
    rc = 0;
out:
    free (list);
    return rc;
}

static void search_clear (struct search *s)
{
    tree_destroy (s->tree);
    free (s->column);
    for (size_t v = 0; v < s->nlevels; v++) {
        struct level *l = &s->level[v];

        free (l->group);
        free (l->first);
        free (l->member);
        free (l->owner);
        free (l->own);
        free (l->above);
    }
}

int bound_find (struct pathset *ps, size_t rank, struct bound *bound,
                struct error *err)
{
    struct search s = {
        .ps = ps,
        .net = pathset_network (ps),
        .n = pathset_size (ps),
        .bound = bound,
    };
    int rc = -1;

    *bound = (struct bound){ .rank = rank };
    if (s.n < 2)
        return 0;
    rng_seed (&s.rng, 1);
    if (!(s.column = calloc (s.net->nlinks + 1, sizeof (*s.column)))) {
        error_nomem (err);
        goto error;
    }
    offer (&s, BOUND_HOSTS, bound->rank, s.n / 2, 0);
    bound->looked++;
    if (!(s.tree = tree_create (ps, err)) || make_levels (&s, err) < 0
        || find_own (&s, err) < 0 || look_at_sets (&s, err) < 0)
        goto error;
    rc = 0;
error:
    search_clear (&s);
    return rc;
}
