/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bounds: the least number of rounds that a plan can have.
 *
 * Notes: a basis that takes rows which avoid S first, and rows with both ends
 * in S last, gives the need of S: the ends of its rows. For all other sets it
 * gives an upper limit: they need at most as many as this basis has in them. So
 * the set with the greatest limit is always tried next. The limits of the others
 * decrease with each basis, until no set can beat the best, or the effort is
 * spent.
 */
#include "config.h"
#include "bench/bound.h"

#include <stdlib.h>
#include <string.h>

#include "core/paths/tree.h"
#include "core/plan/demand.h"
#include "core/plan/rref.h"
#include "util/alloc.h"
#include "util/rng.h"
#include "util/terminal.h"

enum {
    PAIRS_MAX = 1 << 19, /* rows in memory; those of 1,024 endpoints */
    PAIR_WORK = 128,     /* to read a pair and its levels, in entries */
};

struct bound_set {
    enum bound_kind kind;
    const struct demand_level *level; /* NULL: a link */
    uint32_t group;            /* or the column of the link */
    size_t width;
    uint32_t at;               /* as in struct bound */
    size_t most;               /* upper limit of its need */
};

struct bound_search {
    struct basis basis;
    struct demand_levels levels;
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
static bool is_leaves (const struct demand_level *l, const struct pathset *ps,
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
        const struct demand_level *l = &s->levels.v[v];
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
        const struct demand_level *l = &s->levels.v[v];

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
    s.levels = demand_levels (&s.basis);
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
    demand_levels_clear (&s.levels);
    basis_clear (&s.basis);
    free (s.set);
    return 0;
}
