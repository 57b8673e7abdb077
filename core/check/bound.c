/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bounds: the least number of rounds that a plan can have.
 *
 * Notes: a level divides the endpoints into groups, each of which is a set S.
 *
 * First, own links. One pass over the trees of all endpoints finds for all
 * levels which links are own to which group: link x of the tree of i is crossed
 * by the rows of i with every endpoint above x. So x can be own to the group of
 * i and, if all endpoints above x are of one group, to that group. A group of c
 * own links has at least c rows. Groups are evaluated by descending c / |S| as
 * long as this reaches the best bound so far: rows with both ends in S may
 * still increase it. Cost: n trees; about 50 ms for a job of 800 hosts.
 *
 * Then, if all pairs' rows fit in memory, need itself. A basis that takes rows
 * which avoid S first, and rows with both ends in S last, gives need: the ends
 * of its rows. For all other sets it gives an upper limit: they need at most as
 * many as this basis has in them. So the set with the greatest limit is always
 * tried next. The limits of the others decrease with each basis, until no set
 * can beat the best, or the effort is spent.
 */
#include "config.h"
#include "core/check/bound.h"

#include <stdbool.h>
#include <stdlib.h>

#include "core/check/echelon.h"
#include "core/check/rows.h"
#include "core/paths/tree.h"
#include "util/alloc.h"
#include "util/rng.h"
#include "util/sets.h"

enum {
    LEVELS_MAX = PATH_MAX_HOPS + 2,
    PAIRS_MAX = 1 << 19, /* rows in memory; those of 1,024 endpoints */
    WALK_COST = 16,      /* of a pair, in entries touched */
    BLOCKS = 3,          /* of rows: with no, one, two ends in a set */
};

enum { /* values that are not groups */
    ANY = UINT32_MAX,       /* not yet limited to any group */
    NONE = UINT32_MAX - 1,
    MIXED = UINT32_MAX - 2, /* endpoints of several groups */
};

struct level {
    enum bound_kind kind;
    size_t ngroups;
    size_t set;           /* index of group 0's set */
    uint32_t *group;      /* [n] by endpoint */
    uint32_t *first;      /* [ngroups + 1] into member: */
    uint32_t *member;     /* [n] */
    uint32_t *ports;      /* [ngroups] ports of its members */
    uint32_t (*owner)[2]; /* [nlinks] groups that it may be own to */
    uint32_t *above;      /* [steps] of the current tree: group, MIXED */
};

struct set {
    enum bound_kind kind;
    uint32_t level, group; /* BOUND_LINK: group is the column */
    size_t width;
    uint32_t at;           /* as in struct bound */
    uint32_t own;          /* links */
    uint32_t most;         /* upper limit of its need */
};

struct bound_search {
    struct pathset *ps;
    const struct network *net;
    size_t n, nports, m;
    struct tree *tree;
    struct level level[LEVELS_MAX];
    size_t nlevels;
    struct set *set;
    size_t nsets;
    int32_t *column;       /* [nlinks] of own links, or -1 */
    struct rng rng;
    uint64_t effort;       /* remaining */
    struct bound *bound;
};

const char *bound_kind_name (enum bound_kind kind)
{
    static const char *const name[] = {
        [BOUND_HOSTS] = "all hosts",
        [BOUND_END] = "host end",
        [BOUND_LINK] = "link",
        [BOUND_LEAF] = "leaf",
        [BOUND_POD] = "pod",
        [BOUND_CYCLE] = "odd cycle",
    };

    return name[kind];
}

const char *bound_set_name (const struct bound *bound,
                            const struct pathset *ps)
{
    switch (bound->kind) {
    case BOUND_HOSTS:
    case BOUND_CYCLE:
        return "";
    case BOUND_LINK:
        return pathset_network (ps)->link[bound->at].id;
    default:
        return pathset_endpoint (ps, bound->at)->name;
    }
}

static size_t ceil_div (size_t a, size_t b)
{
    return (a + b - 1) / b;
}

/* Record that the set needs at least that many probes. */
static void offer (struct bound_search *s, const struct set *set, size_t need)
{
    struct bound *b = s->bound;
    size_t rounds = ceil_div (need, set->width);

    if (rounds < b->rounds || (rounds == b->rounds && set->kind >= b->kind))
        return;
    *b = (struct bound){
        .rounds = rounds,
        .kind = set->kind,
        .need = need,
        .width = set->width,
        .at = set->at,
        .rank = b->rank,
        .sets = b->sets,
        .looked = b->looked,
        .best = b->best,
    };
}

/*
 * Levels
 */

static void add_level (struct bound_search *s, enum bound_kind kind,
                       const uint32_t *group, size_t ngroups)
{
    struct level *l = &s->level[s->nlevels++];
    uint32_t ports = 0;

    *l = (struct level){ .kind = kind, .ngroups = ngroups };
    l->group = xcalloc (s->n + 1, sizeof (*l->group));
    l->first = xcalloc (ngroups + 2, sizeof (*l->first));
    l->member = xcalloc (s->n + 1, sizeof (*l->member));
    l->ports = xcalloc (ngroups + 1, sizeof (*l->ports));
    l->owner = xcalloc (s->net->nlinks + 1, sizeof (*l->owner));
    for (size_t i = 0; i < s->n; i++) {
        l->group[i] = group[i];
        l->first[group[i] + 2]++;
        if (pathset_port (s->ps, i) == ports) { /* first endpoint of the port */
            l->ports[group[i]]++;
            ports++;
        }
    }
    for (size_t g = 0; g < ngroups; g++)
        l->first[g + 2] += l->first[g + 1];
    for (size_t i = 0; i < s->n; i++)
        l->member[l->first[group[i] + 1]++] = i;
    for (size_t x = 0; x < s->net->nlinks; x++)
        l->owner[x][0] = l->owner[x][1] = ANY;
}

/* Join leaves in up[d] if a path of length d leads from one to the other. The
 * paths to a leaf's first endpoint represent all: any division is valid.
 */
static int join_leaves (struct bound_search *s, uint32_t **up,
                        struct error *err)
{
    struct tree *t = s->tree;
    uint32_t *depth = xcalloc (tree_steps (t), sizeof (*depth));
    int rc = 0;

    for (size_t l = 0; l < t->nleaves && rc == 0; l++) {
        if ((rc = tree_grow (t, t->member[t->first[l]], err)) < 0)
            break;
        for (size_t k = 1; k < t->n; k++)
            depth[k] = depth[t->parent[k]] + 1;
        for (size_t k = 0; k < t->nleaves; k++)
            if (k != l)
                sets_unite (up[depth[t->leaf[k]]], l, k);
    }
    free (depth);
    return rc;
}

/* Add a level for each d at which leaves merge. */
static void add_pods (struct bound_search *s, uint32_t **up, uint32_t *group)
{
    size_t L = s->tree->nleaves;
    size_t before = L;

    for (size_t d = 1; d <= PATH_MAX_HOPS; d++) {
        size_t ngroups = 0;

        for (size_t l = 0; l < L; l++)
            sets_unite (up[d], l, sets_find (up[d - 1], l));
        for (size_t l = 0; l < L; l++)
            ngroups += up[d][l] == l;
        if (ngroups == 1)
            break;
        if (ngroups == before)
            continue;
        before = ngroups;
        ngroups = 0;
        /* a root is the lowest of its group; up[0] is free for reuse */
        for (size_t l = 0; l < L; l++)
            up[0][l] = up[d][l] == l ? ngroups++
                                     : up[0][sets_find (up[d], l)];
        for (size_t i = 0; i < s->n; i++)
            group[i] = up[0][s->tree->leaf_of[i]];
        add_level (s, BOUND_POD, group, ngroups);
    }
}

static int make_levels (struct bound_search *s, struct error *err)
{
    size_t L = s->tree->nleaves;
    uint32_t *up[PATH_MAX_HOPS + 1] = { NULL };
    uint32_t *group = xcalloc (s->n + 1, sizeof (*group));
    int rc;

    for (size_t d = 0; d <= PATH_MAX_HOPS; d++) {
        up[d] = xcalloc (L + 1, sizeof (**up));
        for (size_t l = 0; l < L; l++)
            up[d][l] = l;
    }
    for (size_t i = 0; i < s->n; i++)
        group[i] = pathset_port (s->ps, i);
    add_level (s, BOUND_END, group, s->nports);
    if (L > 1 && L < s->nports)
        add_level (s, BOUND_LEAF, s->tree->leaf_of, L);
    if ((rc = join_leaves (s, up, err)) == 0)
        add_pods (s, up, group);
    for (size_t d = 0; d <= PATH_MAX_HOPS; d++)
        free (up[d]);
    free (group);
    return rc;
}

/*
 * Own links
 */

/* Rows between group g and group h (MIXED: several other groups) cross link x.
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

/* Find the group above each step of the tree; step 0 has all endpoints but
 * those of its own port.
 */
static void fill_above (struct level *l, const struct tree *t)
{
    uint32_t to = pathset_port (t->ps, t->to);

    for (size_t k = 0; k < t->n; k++)
        l->above[k] = NONE;
    for (size_t f = 0; f < t->nleaves; f++)
        for (uint32_t i = t->first[f]; i < t->first[f + 1]; i++)
            if (pathset_port (t->ps, t->member[i]) != to) {
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

static int find_own (struct bound_search *s, struct error *err)
{
    for (size_t v = 0; v < s->nlevels; v++)
        s->level[v].above = xcalloc (tree_steps (s->tree),
                                     sizeof (*s->level[v].above));
    for (size_t i = 0; i < s->n; i++) {
        if (tree_grow (s->tree, i, err) < 0)
            return -1;
        for (size_t v = 0; v < s->nlevels; v++)
            own_of_tree (&s->level[v], s->tree);
    }
    for (size_t v = 0; v < s->nlevels; v++)
        for (size_t x = 0; x < s->net->nlinks; x++)
            for (int k = 0; k < 2; k++)
                if (s->level[v].owner[x][k] < MIXED)
                    s->set[s->level[v].set + s->level[v].owner[x][k]].own++;
    return 0;
}

/* Make the own links of a group the columns. Return their number. */
static size_t own_columns (struct bound_search *s, const struct level *l,
                           size_t g)
{
    size_t m = 0;

    for (size_t x = 0; x < s->net->nlinks; x++) {
        const uint32_t *owner = l->owner[x];

        s->column[x] = owner[0] == g || owner[1] == g ? (int32_t)m++ : -1;
    }
    return m;
}

/* Add the row of a pair, in the current columns. */
static int add_row (struct bound_search *s, struct rows *rows, uint32_t a,
                    uint32_t b, struct error *err)
{
    uint32_t arc[ROW_MAX];
    int there = pathset_walk (s->ps, a, b, arc, err);
    int back = there < 0 ? -1 : pathset_walk (s->ps, b, a, arc + there, err);
    size_t n = 0;

    if (back < 0)
        return -1;
    for (int k = 0; k < there + back; k++) {
        int32_t c = s->column[arc_link (arc[k])];

        if (c >= 0)
            arc[n++] = c;
    }
    rows_add (rows, (struct probe){ a, b }, arc, n);
    return 0;
}

/* Add rows between a group and others, or within it. */
static int add_rows_of (struct bound_search *s, struct rows *rows,
                        const struct level *l, size_t g, bool within,
                        struct error *err)
{
    for (uint32_t k = l->first[g]; k < l->first[g + 1]; k++) {
        uint32_t a = l->member[k];

        for (uint32_t b = 0; b < s->n; b++)
            if ((l->group[b] == g) == within && (!within || b > a)
                && add_row (s, rows, a, b, err) < 0)
                return -1;
    }
    return 0;
}

/* Add rows which[0 .. n-1] to the form, as rows_span. */
static void span (struct bound_search *s, const struct rows *rows,
                  struct echelon *e, const uint32_t *which, size_t n,
                  uint8_t *taken)
{
    size_t enough = s->bound->rank > 0 && s->bound->rank < rows->m
        ? s->bound->rank : rows->m;

    rows_span (rows, e, which, n, enough, &s->rng, &s->effort, taken);
}

/* Numbers from .. end-1 in random order; the caller frees. */
static uint32_t *shuffled (struct bound_search *s, size_t from, size_t end)
{
    uint32_t *v = xarray (end - from, sizeof (*v));

    for (size_t i = from; i < end; i++)
        v[i - from] = i;
    rng_shuffle (&s->rng, v, end - from);
    return v;
}

/* Add the rows from .. end-1 to the form, in random order. */
static void span_shuffled (struct bound_search *s, const struct rows *rows,
                           struct echelon *e, size_t from, size_t end)
{
    uint32_t *order = shuffled (s, from, end);

    span (s, rows, e, order, end - from, NULL);
    free (order);
}

/* Find the ends that a group's rows have in it, in its own links: it needs at
 * least as many. Rows within the group count only if the span of all others is
 * complete.
 */
static int try_own (struct bound_search *s, const struct set *set,
                    struct error *err)
{
    const struct level *l = &s->level[set->level];
    size_t m = own_columns (s, l, set->group);
    struct echelon *e = NULL;
    size_t outward, rank;
    struct rows rows;
    int rc = -1;

    rows_init (&rows, m, &s->rng);
    if (add_rows_of (s, &rows, l, set->group, false, err) < 0)
        goto out;
    outward = rows.n;
    if (add_rows_of (s, &rows, l, set->group, true, err) < 0)
        goto out;
    e = echelon_create (m, rows.uses);
    span_shuffled (s, &rows, e, 0, outward);
    rank = echelon_rank (e);
    if (s->effort > 0)
        span_shuffled (s, &rows, e, outward, rows.n);
    s->bound->looked++;
    offer (s, set, 2 * echelon_rank (e) - rank);
    rc = 0;
out:
    rows_clear (&rows);
    echelon_destroy (e);
    return rc;
}

/* Most own links per port first. */
static int compare_own (const void *a, const void *b)
{
    const struct set *x = *(const struct set *const *)a;
    const struct set *y = *(const struct set *const *)b;
    uint64_t p = (uint64_t)x->own * y->width;
    uint64_t q = (uint64_t)y->own * x->width;

    if (p != q)
        return p > q ? -1 : 1;
    return (x > y) - (x < y);
}

static int try_own_links (struct bound_search *s, struct error *err)
{
    const struct set **list = xcalloc (s->nsets + 1, sizeof (*list));
    int rc = 0;

    for (size_t i = 0; i < s->nsets; i++)
        list[i] = &s->set[i];
    qsort (list, s->nsets, sizeof (*list), compare_own);
    for (size_t i = 0; i < s->nsets && rc == 0; i++) {
        uint64_t walk = (uint64_t)list[i]->width * s->n * WALK_COST;

        if (list[i]->own < s->bound->rounds * list[i]->width)
            break;
        if (walk > s->effort)
            continue;
        s->effort -= walk;
        rc = try_own (s, list[i], err);
    }
    free (list);
    return rc;
}

/*
 * Need itself
 */

/* True if the rows of all pairs fit in memory. */
static bool holds_all (const struct bound_search *s)
{
    return s->n * (s->n - 1) / 2 <= PAIRS_MAX;
}

static uint64_t gather_cost (const struct bound_search *s)
{
    return (uint64_t)s->n * (s->n - 1) / 2 * WALK_COST;
}

/* Collect all pairs' rows, or near and random ones. */
static int gather (struct bound_search *s, struct rows *rows, struct error *err)
{
    bool all = holds_all (s);
    size_t each = PAIRS_MAX / s->n;

    for (size_t x = 0; x < s->net->nlinks; x++)
        s->column[x] = pathset_column (s->ps, x);
    for (size_t a = 0; a < s->n; a++)
        for (size_t k = 1; all ? a + k < s->n : k <= each; k++) {
            size_t b = all || k <= each / 2 ? (a + k) % s->n
                                            : rng_below (&s->rng, s->n);

            if (a != b && add_row (s, rows, a, b, err) < 0)
                return -1;
        }
    return 0;
}

/* How many ends of a row are in a set, or whether it crosses the link. */
static unsigned int touches (const struct bound_search *s,
                             const struct rows *rows, size_t i,
                             const struct set *set)
{
    const uint32_t *group;

    if (set->kind != BOUND_LINK) {
        group = s->level[set->level].group;
        return (group[rows->pair[i].a] == set->group)
            + (group[rows->pair[i].b] == set->group);
    }
    for (size_t k = rows->first[i]; k < rows->first[i + 1]; k++)
        if (rows->col[k] == set->group)
            return 1;
    return 0;
}

/* True if column k of a row occurred before. */
static bool repeats (const struct rows *rows, size_t i, size_t k)
{
    for (size_t j = rows->first[i]; j < k; j++)
        if (rows->col[j] == rows->col[k])
            return true;
    return false;
}

/* No set can need more ends than it has in a basis. */
static void lower_hopes (struct bound_search *s, const struct rows *rows,
                         const uint8_t *taken, uint32_t *count)
{
    size_t links = s->nsets - s->m; /* the set of column 0 */

    for (size_t i = 0; i < s->nsets; i++)
        count[i] = 0;
    for (size_t i = 0; i < rows->n; i++) {
        if (!taken[i])
            continue;
        for (size_t v = 0; v < s->nlevels; v++) {
            const struct level *l = &s->level[v];
            uint32_t g = l->group[rows->pair[i].a];
            uint32_t h = l->group[rows->pair[i].b];

            count[l->set + g]++;
            count[l->set + h]++;
        }
        for (size_t k = rows->first[i]; k < rows->first[i + 1]; k++)
            if (!repeats (rows, i, k))
                count[links + rows->col[k]]++;
    }
    for (size_t i = 0; i < s->nsets; i++)
        if (s->set[i].most > count[i])
            s->set[i].most = count[i];
}

/* The set with the greatest limit; NULL: no set can beat the best. */
static struct set *most_hopeful (struct bound_search *s)
{
    struct set *best = NULL;

    for (size_t i = 0; i < s->nsets; i++) {
        struct set *x = &s->set[i];

        if (!best || (uint64_t)x->most * best->width
                         > (uint64_t)best->most * x->width)
            best = x;
    }
    if (best && ceil_div (best->most, best->width) <= s->bound->rounds)
        return NULL;
    return best;
}

/* Order the rows for a basis: by the number of ends in the set, then by their
 * endpoints, in random order. (Rows sorted by endpoint cause far less fill-in
 * than rows in random order.) Those of k ends are order[start[k]] ..
 * order[start[k + 1] - 1].
 */
static void order_rows (struct bound_search *s, const struct rows *rows,
                        const struct set *set, uint32_t *order, size_t *start)
{
    uint32_t *place = shuffled (s, 0, s->n);
    uint32_t *key = xarray (rows->n, sizeof (*key));
    uint32_t *at = xcalloc (BLOCKS * s->n + 1, sizeof (*at));

    for (size_t i = 0; i < rows->n; i++) {
        uint32_t a = place[rows->pair[i].a];
        uint32_t b = place[rows->pair[i].b];

        key[i] = a < b ? a : b;
        if (set)
            key[i] += touches (s, rows, i, set) * s->n;
        at[key[i] + 1]++;
    }
    for (size_t k = 0; k < BLOCKS * s->n; k++)
        at[k + 1] += at[k];
    for (size_t k = 0; k <= BLOCKS; k++)
        start[k] = at[k * s->n];
    for (size_t i = 0; i < rows->n; i++)
        order[at[key[i]]++] = i;
    free (place);
    free (key);
    free (at);
}

/* The basis with the fewest ends in a set gives the set's need. Without a set
 * it gives the rank. If the effort is not sufficient, no need is recorded.
 */
static void try_basis (struct bound_search *s, const struct rows *rows,
                       struct set *set, uint32_t *count)
{
    uint32_t *order = xarray (rows->n, sizeof (*order));
    uint8_t *taken = xcalloc (rows->n, 1);
    struct echelon *e = echelon_create (rows->m, rows->uses);
    size_t start[BLOCKS + 1], need = 0;

    order_rows (s, rows, set, order, start);
    for (size_t k = 0; k < BLOCKS; k++) {
        size_t before = echelon_rank (e);

        span (s, rows, e, order + start[k], start[k + 1] - start[k], taken);
        need += k * (echelon_rank (e) - before);
    }
    if (s->bound->rank < echelon_rank (e))
        s->bound->rank = echelon_rank (e);
    if (s->effort > 0) {
        lower_hopes (s, rows, taken, count);
        if (set) {
            s->bound->looked++;
            set->most = need;
            offer (s, set, need);
        }
    }
    free (order);
    free (taken);
    echelon_destroy (e);
}

/* True if a row crosses two links, both equally often. */
static bool is_edge (const struct rows *rows, size_t i)
{
    const uint32_t *col = rows->col + rows->first[i];
    size_t n = rows->first[i + 1] - rows->first[i];
    size_t same = 0, other = n;

    for (size_t k = 0; k < n; k++) {
        same += col[k] == col[0];
        if (col[k] != col[0] && other == n)
            other = k;
        else if (col[k] != col[0] && col[k] != col[other])
            return false;
    }
    return 2 * same == n;
}

static void try_cycle (struct bound_search *s, const struct rows *rows)
{
    bool graph = s->bound->rank == s->m && s->m > 0;

    for (size_t i = 0; i < rows->n && graph; i++)
        graph = is_edge (rows, i);
    if (graph)
        offer (s, &(struct set){ .kind = BOUND_CYCLE, .width = 1 }, 3);
}

/* Find the rank if it is not known and, if all rows fit in memory, the needs of
 * sets, and cycles.
 */
static int try_bases (struct bound_search *s, struct error *err)
{
    struct set hosts = { .kind = BOUND_HOSTS, .width = s->nports / 2 };
    uint32_t *count = xcalloc (s->nsets, sizeof (*count));
    uint64_t before = s->effort;
    struct set *set = NULL;
    struct rows rows;
    int rc;

    rows_init (&rows, s->m, &s->rng);
    if ((rc = gather (s, &rows, err)) < 0)
        goto out;
    try_basis (s, &rows, NULL, count);
    offer (s, &hosts, s->bound->rank);
    /* as long as another one can be completed */
    while (holds_all (s) && s->effort > before - s->effort
           && (set = most_hopeful (s))) {
        before = s->effort;
        try_basis (s, &rows, set, count);
    }
    s->bound->best = holds_all (s) && s->effort > 0 && !set;
    if (holds_all (s))
        try_cycle (s, &rows);
out:
    rows_clear (&rows);
    free (count);
    return rc;
}

/*
 * The search
 */

static int list_sets (struct bound_search *s, struct error *err)
{
    const uint32_t *link = pathset_links (s->ps, &s->m, err);
    struct set *set;

    if (!link)
        return -1;
    for (size_t v = 0; v < s->nlevels; v++) {
        s->level[v].set = s->nsets;
        s->nsets += s->level[v].ngroups;
    }
    s->nsets += s->m;
    set = s->set = xcalloc (s->nsets, sizeof (*s->set));
    for (size_t v = 0; v < s->nlevels; v++) {
        const struct level *l = &s->level[v];

        for (size_t g = 0; g < l->ngroups; g++)
            *set++ = (struct set){
                .kind = l->kind,
                .level = v,
                .group = g,
                .width = l->ports[g],
                .at = l->member[l->first[g]],
                .most = UINT32_MAX,
            };
    }
    for (size_t c = 0; c < s->m; c++)
        *set++ = (struct set){
            .kind = BOUND_LINK,
            .group = c,
            .width = 1,
            .at = link[c],
            .most = UINT32_MAX,
        };
    s->bound->sets = s->nsets + 1;
    return 0;
}

/* Cost of reading all trees, in entries touched. */
static uint64_t trees_cost (const struct bound_search *s)
{
    return 8 * (uint64_t)s->n * s->tree->nleaves;
}

static void search_clear (struct bound_search *s)
{
    tree_destroy (s->tree);
    free (s->column);
    free (s->set);
    for (size_t v = 0; v < s->nlevels; v++) {
        struct level *l = &s->level[v];

        free (l->group);
        free (l->first);
        free (l->member);
        free (l->ports);
        free (l->owner);
        free (l->above);
    }
}

int bound_find (struct pathset *ps, size_t rank, uint64_t effort,
                struct bound *bound, struct error *err)
{
    struct bound_search s = {
        .ps = ps,
        .net = pathset_network (ps),
        .n = pathset_size (ps),
        .nports = pathset_ports (ps),
        .effort = effort,
        .bound = bound,
    };
    struct set hosts = { .kind = BOUND_HOSTS, .width = s.nports / 2 };
    int rc = 0;

    *bound = (struct bound){ .rank = rank };
    if (s.nports < 2)
        return 0;
    rng_seed (&s.rng, s.n);
    offer (&s, &hosts, rank);
    s.column = xcalloc (s.net->nlinks, sizeof (*s.column));
    s.tree = tree_create (ps);
    if (rank > 0 && trees_cost (&s) > effort)
        goto out;
    if (make_levels (&s, err) < 0
        || list_sets (&s, err) < 0 || find_own (&s, err) < 0
        || try_own_links (&s, err) < 0)
        rc = -1;
    else if (rank == 0 || (holds_all (&s) && gather_cost (&s) < s.effort))
        rc = try_bases (&s, err);
out:
    search_clear (&s);
    return rc;
}
