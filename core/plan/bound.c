/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bounds: the least number of rounds that a plan can have.
 *
 * Notes: a level divides the ports into groups, each of which is a set S. A
 * link has at most two owners in a level. Each of them has its own column for
 * it, so the groups are independent, and one elimination serves all of a level.
 *
 * A basis that takes rows which avoid S first, and rows with both ends in S
 * last, gives the need of S: the ends of its rows. For all other sets it gives
 * an upper limit: they need at most as many as this basis has in them. So the
 * set with the greatest limit is always tried next. The limits of the others
 * decrease with each basis, until no set can beat the best, or the effort is
 * spent.
 */
#include "config.h"
#include "core/plan/bound.h"

#include <stdlib.h>
#include <string.h>

#include "core/paths/tree.h"
#include "core/plan/rref.h"
#include "util/alloc.h"
#include "util/rng.h"
#include "util/sets.h"
#include "util/terminal.h"

enum {
    PAIRS_MAX = 1 << 19, /* rows in memory; those of 1,024 endpoints */
    PAIR_WORK = 128,     /* to read a pair and its levels, in entries */
};

#define NONE UINT32_MAX      /* no group owns the link */
#define ANY (UINT32_MAX - 1) /* no row has crossed it so far */

struct level {
    size_t n;        /* groups */
    uint32_t *group; /* [nports] */
    uint32_t *ports; /* [n] of a group */
    uint32_t *need;  /* [n] rank of its rows in own links */
};

struct levels {
    const struct basis *basis;
    struct level *v;
    size_t n;
    uint64_t work;
};

static void levels_clear (struct levels *l)
{
    for (size_t i = 0; i < l->n; i++) {
        free (l->v[i].group);
        free (l->v[i].ports);
        free (l->v[i].need);
    }
    free (l->v);
}

/* Restrict the owners of each link to the groups at the ends of its rows. */
static void find_owners (const struct basis *b, const struct level *l,
                         uint32_t (*own)[2])
{
    for (size_t c = 0; c < b->m; c++)
        own[c][0] = own[c][1] = ANY;
    for (size_t i = 0; i < b->n; i++) {
        uint32_t s = l->group[b->port[i].a], t = l->group[b->port[i].b];

        for (size_t k = b->first[i]; k < b->first[i + 1]; k++) {
            uint32_t *o = own[b->col[k]];

            if (o[0] == ANY) {
                o[0] = s;
                o[1] = t != s ? t : NONE;
            }
            for (int e = 0; e < 2; e++)
                if (o[e] != s && o[e] != t)
                    o[e] = NONE;
        }
    }
}

/* The rank of each group's rows in its own links. */
static void find_needs (struct levels *levels, struct level *l)
{
    const struct basis *b = levels->basis;
    uint32_t (*own)[2] = xarray (b->m, sizeof (*own));
    struct rng rng;
    struct screen s = { .rref = rref_create (2 * b->m), .rng = &rng };

    rng_seed (&rng, 1);
    screen_draw (&s);
    find_owners (b, l, own);
    for (size_t i = 0; i < b->n; i++) {
        uint32_t end[2] = { l->group[b->port[i].a], l->group[b->port[i].b] };

        for (int e = 0; e < (end[0] == end[1] ? 1 : 2); e++) {
            uint32_t col[ROW_MAX];
            uint8_t count[ROW_MAX];
            size_t n = 0;

            for (size_t k = b->first[i]; k < b->first[i + 1]; k++) {
                const uint32_t *o = own[b->col[k]];

                if (o[0] != end[e] && o[1] != end[e])
                    continue;
                col[n] = o[0] == end[e] ? b->col[k] : b->m + b->col[k];
                count[n++] = b->count[k];
            }
            if (n > 0 && screen_add (&s, col, count, n))
                l->need[end[e]]++;
        }
    }
    levels->work += rref_work (s.rref) + s.work + b->first[b->n];
    rref_destroy (s.rref);
    free (s.z);
    free (own);
}

/* Add the level of the sets in up, unless they are those of the last one or all
 * ports.
 */
static void add_level (struct levels *levels, uint32_t *up)
{
    size_t nports = levels->basis->nports;
    struct level l = { .group = xarray (nports, sizeof (*l.group)) };

    l.ports = xcalloc (nports, sizeof (*l.ports));
    l.need = xcalloc (nports, sizeof (*l.need));
    for (size_t i = 0; i < nports; i++) { /* the root is a set's least */
        uint32_t root = sets_find (up, i);

        l.group[i] = root == i ? l.n++ : l.group[root];
        l.ports[l.group[i]]++;
    }
    if (l.n > 1 && (levels->n == 0 || l.n < levels->v[levels->n - 1].n)) {
        find_needs (levels, &l);
        levels->v = xgrow (levels->v, levels->n, sizeof (l));
        levels->v[levels->n++] = l;
        return;
    }
    free (l.group);
    free (l.ports);
    free (l.need);
}

/* The level of single ports, then one for each number of hops that joins any.
 */
static struct levels find_levels (const struct basis *b)
{
    struct levels levels = { .basis = b };
    uint32_t *up = xarray (b->nports, sizeof (*up));
    uint16_t *hops = xcalloc (b->n, sizeof (*hops)); /* of the round trip */
    size_t joined = 0;

    for (size_t i = 0; i < b->nports; i++)
        up[i] = i;
    for (size_t i = 0; i < b->n; i++)
        for (size_t k = b->first[i]; k < b->first[i + 1]; k++)
            hops[i] += b->count[k];
    add_level (&levels, up);
    for (unsigned int h = 1; joined < b->n; h++) {
        size_t before = joined;

        for (size_t i = 0; i < b->n; i++)
            if (hops[i] == h) {
                sets_unite (up, b->port[i].a, b->port[i].b);
                joined++;
            }
        if (joined > before)
            add_level (&levels, up);
    }
    free (up);
    free (hops);
    return levels;
}

double *demand_find (const struct basis *basis)
{
    struct levels levels = find_levels (basis);
    double *demand = xcalloc (basis->nports, sizeof (*demand));

    for (size_t v = 0; v < levels.n; v++)
        for (size_t i = 0; i < basis->nports; i++) {
            const struct level *l = &levels.v[v];
            double x = (double)l->need[l->group[i]] / l->ports[l->group[i]];

            demand[i] = x > demand[i] ? x : demand[i];
        }
    levels_clear (&levels);
    return demand;
}

/*
 * The best set
 */

struct bound_set {
    enum bound_kind kind;
    const struct level *level; /* NULL: a link */
    uint32_t group;            /* or the column of the link */
    size_t width;
    uint32_t at;               /* as in struct bound */
    size_t most;               /* upper limit of its need */
};

struct bound_search {
    struct basis basis;
    struct levels levels;
    struct bound_set *set;
    size_t nsets;
    uint64_t effort;           /* remaining */
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
static void offer (struct bound *b, enum bound_kind kind, size_t need,
                   size_t width, uint32_t at)
{
    size_t rounds = ceil_div (need, width);

    if (rounds < b->rounds || (rounds == b->rounds && kind >= b->kind))
        return;
    b->rounds = rounds;
    b->kind = kind;
    b->need = need;
    b->width = width;
    b->at = at;
}

/* Are the groups of a level the leaves? */
static bool is_leaves (const struct level *l, const struct pathset *ps,
                       const struct tree *tree)
{
    for (size_t i = 0; i < pathset_size (ps); i++)
        if (l->group[pathset_port (ps, i)] != tree->leaf_of[i])
            return false; /* both are numbered by their first endpoints */
    return true;
}

static void list_sets (struct bound_search *s, struct pathset *ps,
                       const uint32_t *link)
{
    struct tree *tree = tree_create (ps);
    struct bound_set *set;

    s->nsets = s->basis.m;
    for (size_t v = 0; v < s->levels.n; v++)
        s->nsets += s->levels.v[v].n;
    set = s->set = xcalloc (s->nsets, sizeof (*s->set));
    for (size_t v = 0; v < s->levels.n; v++) {
        const struct level *l = &s->levels.v[v];
        enum bound_kind kind = v == 0 ? BOUND_END
            : is_leaves (l, ps, tree) ? BOUND_LEAF : BOUND_POD;

        for (size_t g = 0; g < l->n; g++)
            set[g] = (struct bound_set){ kind, l, g, l->ports[g], 0,
                                         SIZE_MAX };
        for (size_t i = pathset_size (ps); i-- > 0;)
            set[l->group[pathset_port (ps, i)]].at = i;
        for (size_t g = 0; g < l->n; g++)
            offer (s->bound, kind, l->need[g], l->ports[g], set[g].at);
        set += l->n;
    }
    for (size_t c = 0; c < s->basis.m; c++)
        set[c] = (struct bound_set){ BOUND_LINK, NULL, c, 1, link[c],
                                     SIZE_MAX };
    s->bound->sets = s->nsets + 1;
    tree_destroy (tree);
}

/* How many ends of a row are in a set, or whether it crosses the link. */
static unsigned int touches (const struct basis *b, size_t i,
                             const struct bound_set *set)
{
    if (!set)
        return 0;
    if (set->level)
        return (set->level->group[b->port[i].a] == set->group)
            + (set->level->group[b->port[i].b] == set->group);
    for (size_t k = b->first[i]; k < b->first[i + 1]; k++)
        if (b->col[k] == set->group)
            return 1;
    return 0;
}

/* Count a row of a basis for all sets: none can need more ends than it has. */
static void count_row (const struct bound_search *s, size_t i, uint32_t *count)
{
    const struct basis *b = &s->basis;

    for (size_t v = 0; v < s->levels.n; v++) {
        const struct level *l = &s->levels.v[v];

        count[l->group[b->port[i].a]]++;
        count[l->group[b->port[i].b]]++;
        count += l->n;
    }
    for (size_t k = b->first[i]; k < b->first[i + 1]; k++)
        count[b->col[k]]++;
}

/* The basis with the fewest ends in a set gives the set's need, any basis the
 * rank. Return false if the effort is not sufficient.
 */
static bool try_basis (struct bound_search *s, struct bound_set *set)
{
    const struct basis *b = &s->basis;
    uint32_t *count = xcalloc (s->nsets, sizeof (*count));
    struct rng rng;
    struct screen form = { .rref = rref_create (b->m), .rng = &rng };
    size_t need = 0;
    uint64_t work = 0;

    rng_seed (&rng, b->n);
    for (unsigned int ends = 0; ends <= (set ? 2 : 0); ends++) {
        screen_draw (&form);
        for (size_t i = 0; i < b->n && work < s->effort; i++) {
            if (touches (b, i, set) != ends
                || !screen_add (&form, BASIS_ROW (b, i)))
                continue;
            need += ends;
            count_row (s, i, count);
            work = rref_work (form.rref) + form.work;
        }
        work = rref_work (form.rref) + form.work;
    }
    s->effort -= work < s->effort ? work : s->effort;
    if (s->effort > 0) {
        s->bound->rank = rref_rank (form.rref);
        for (size_t i = 0; i < s->nsets; i++)
            if (s->set[i].most > count[i])
                s->set[i].most = count[i];
        if (set) {
            s->bound->looked++;
            set->most = need;
            offer (s->bound, set->kind, need, set->width, set->at);
        }
    }
    rref_destroy (form.rref);
    free (form.z);
    free (count);
    return s->effort > 0;
}

/* The set with the greatest limit; NULL: no set can beat the best. */
static struct bound_set *most_hopeful (const struct bound_search *s)
{
    struct bound_set *best = &s->set[0];

    for (size_t i = 1; i < s->nsets; i++)
        if (s->set[i].most * best->width > best->most * s->set[i].width)
            best = &s->set[i];
    return ceil_div (best->most, best->width) > s->bound->rounds ? best : NULL;
}

/* Is each row two links, both crossed equally often? */
static bool is_graph (const struct basis *b)
{
    for (size_t i = 0; i < b->n; i++)
        if (b->first[i + 1] - b->first[i] != 2
            || b->count[b->first[i]] != b->count[b->first[i] + 1])
            return false;
    return true;
}

int bound_find (struct pathset *ps, size_t rank, uint64_t effort,
                struct bound *bound, struct error *err)
{
    size_t n = pathset_size (ps);
    size_t half = pathset_ports (ps) / 2;
    uint64_t cost = n * (n - 1) / 2 * PAIR_WORK;
    struct bound_search s = { .bound = bound };
    struct bound_set *set = NULL;
    size_t m;

    *bound = (struct bound){ .rank = rank };
    if (half == 0)
        return 0;
    offer (bound, BOUND_HOSTS, rank, half, 0);
    if (cost > PAIRS_MAX * PAIR_WORK || cost > effort)
        return 0;
    if (basis_all (&s.basis, ps, err) < 0) {
        basis_clear (&s.basis);
        return -1;
    }
    terminal_work ("looking for a bound", 0, 0);
    s.levels = find_levels (&s.basis);
    list_sets (&s, ps, pathset_links (ps, &m, err));
    cost = s.levels.work > cost ? s.levels.work : cost;
    s.effort = effort > cost ? effort - cost : 0;
    if (try_basis (&s, NULL)) {
        offer (bound, BOUND_HOSTS, bound->rank, half, 0);
        while ((set = most_hopeful (&s)) && try_basis (&s, set))
            ;
        bound->best = !set;
        if (bound->rank == m && m > 0 && is_graph (&s.basis))
            offer (bound, BOUND_CYCLE, 3, 1, 0);
    }
    levels_clear (&s.levels);
    basis_clear (&s.basis);
    free (s.set);
    return 0;
}
