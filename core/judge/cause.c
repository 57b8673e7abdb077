/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes. Entries list which causes affect each row: a key (the cause), the row
 * and a value. Sorted, they are columns. Keys begin with the kind, so the
 * simplest cause of a signature comes first and names it.
 *
 * A route is one from a switch that has a detour to the endpoint: with d-mod-k
 * routing, switches on the way up have one, others never do. It shifts all rows
 * that pass there by the difference between the paths.
 */
#include "config.h"
#include "core/judge/cause.h"

#include <stdlib.h>
#include <string.h>

#include "core/paths/multipath.h"
#include "util/alloc.h"
#include "util/map.h"
#include "util/pool.h"
#include "util/sort.h"

enum {
    CLASS_LINKS_MIN = 4,  /* measured links of a class that is a cause */
    SWITCH_LINKS_MIN = 2, /* the same for a switch */
    DRIFT_ROUNDS_MIN = 4, /* rounds for a drift, whose time is in */
    DRIFT_PARTS = 16,     /* ... parts of the stage */
    INDEX_BITS = 30,
};

const struct suspect_traits suspect_traits[] = {
    /* a switch link, if one is among the suspects */
    [SUSPECT_LINK] = { 0, 0.15, true, false, FINDING_HOST_END },
    [SUSPECT_ARC] = { 0, 0.05, true, false, FINDING_HOST_END },
    [SUSPECT_SWITCH] = { 1, 0.05, true, false, FINDING_SWITCH },
    /* limits */
    [SUSPECT_CLASS] = { 2, 0.05, false, true, FINDING_KINDS },
    [SUSPECT_DRIFT] = { 3, 0.05, false, true, FINDING_KINDS },
    [SUSPECT_WARM] = { 3, 0.05, true, false, FINDING_HOST_END },
    [SUSPECT_ROUTE] = { 4, 0.5, false, false, FINDING_ROUTE },
    [SUSPECT_ROW] = { 4, 0.1, false, false, FINDING_ROUTE },
};
_Static_assert (sizeof (suspect_traits) / sizeof (suspect_traits[0])
                    == SUSPECT_KINDS, "each kind has traits");

struct cause_entry {
    uint64_t key;
    uint32_t row;
    uint16_t value;
};

struct cause_build {
    struct pathset *ps;
    const struct network *net;
    size_t rounds; /* of the first stage; 0: rows have no times */
    struct cause_entry *entry;
    size_t n;
};

static int compare_cause_entries (const void *va, const void *vb)
{
    const struct cause_entry *a = va;
    const struct cause_entry *b = vb;

    return a->key != b->key ? util_compare (a->key, b->key)
                            : util_compare (a->row, b->row);
}

/* Add to the entries of the row, which begin at `first`. */
static void put_cause_entry (struct cause_build *b, size_t first,
                             struct suspect s, uint32_t row, unsigned int value)
{
    uint64_t key = (uint64_t)s.kind << 2 * INDEX_BITS
                   | (uint64_t)s.index << INDEX_BITS | s.to;
    size_t i = first;

    if (value == 0)
        return;
    while (i < b->n && b->entry[i].key != key)
        i++;
    if (i == b->n) {
        b->entry = xgrow (b->entry, b->n, sizeof (*b->entry));
        b->entry[b->n++] = (struct cause_entry){ key, row, 0 };
    }
    b->entry[i].value += value;
}

static int put_routes (struct cause_build *b, size_t first, uint32_t row,
                       size_t from, size_t to, unsigned int value,
                       struct error *err)
{
    uint32_t arc[PATH_MAX_HOPS];
    int n = pathset_walk (b->ps, from, to, arc, err);

    for (int k = 1; k + 1 < n; k++) {
        uint32_t sw = b->net->link[arc_link (arc[k])].end[arc[k] % 2];

        if (sw != NETWORK_NONE)
            put_cause_entry (
                b, first, (struct suspect){ SUSPECT_ROUTE, sw, (uint32_t)to },
                row, value);
    }
    return n;
}

/* Cables that all messages between two endpoints cross, within places or among
 * others of a bundle, which others' messages cross.
 */
static void put_sure (struct cause_build *b, size_t first, uint32_t row,
                      size_t from, size_t to, unsigned int value)
{
    struct multipath *paths = b->net->multi;
    const struct multipath_share *way;
    size_t n = multipath_shares (paths, pathset_endpoint (b->ps, from)->id,
                                 pathset_endpoint (b->ps, to)->id, &way);

    for (size_t i = 0; i < n; i++)
        if (way[i].share > MULTIPATH_SURE
            && !multipath_is_single (paths, way[i].link))
            put_cause_entry (b, first,
                             (struct suspect){ SUSPECT_LINK, way[i].link, 0 },
                             row, value);
}

/* When a row was measured, in parts of the first stage; of the second alone: its
 * middle, since what all take more by then was subtracted (observe_stage).
 */
static unsigned int drift_time (const struct cause_build *b,
                                const struct observation *o)
{
    return o->round < b->rounds
               ? (unsigned int)(DRIFT_PARTS * o->round / b->rounds)
               : DRIFT_PARTS / 2;
}

static int put_row (struct cause_build *b, uint32_t row,
                    const struct observation *o, struct error *err)
{
    size_t first = b->n;
    bool timed = b->rounds >= DRIFT_ROUNDS_MIN, again = o->round >= b->rounds;

    for (size_t p = 0; p < o->n; p++) {
        uint32_t link = o->link[p];
        unsigned int n = o->count[p];
        const struct link_info *info = &b->net->link[link];
        bool bundle = b->net->multi
                      && !multipath_is_single (b->net->multi, link);
        const struct {
            struct suspect suspect;
            unsigned int value;
        } at[] = {
            { { SUSPECT_LINK, link, 0 }, bundle ? 0 : n },
            { { SUSPECT_ARC, 2 * link, 0 }, bundle ? 0 : o->forth[p] },
            { { SUSPECT_ARC, 2 * link + 1, 0 }, bundle ? 0 : n - o->forth[p] },
            { { SUSPECT_CLASS, info->class_id, 0 }, n },
            { { SUSPECT_SWITCH, info->end[0], 0 }, n },
            { { SUSPECT_SWITCH, info->end[1], 0 }, n },
            /* in the second stage it is as warm as it gets */
            { { SUSPECT_WARM, link, 0 },
              bundle || !timed ? 0
                               : n * (again ? DRIFT_PARTS : drift_time (b, o)) },
        };

        for (size_t k = 0; k < sizeof (at) / sizeof (at[0]); k++)
            if (at[k].suspect.index != NETWORK_NONE)
                put_cause_entry (b, first, at[k].suspect, row, at[k].value);
    }
    put_cause_entry (b, first,
                     (struct suspect){ SUSPECT_ROW,
                                       o->oneway || o->a < o->b ? o->a : o->b,
                                       o->oneway || o->a < o->b ? o->b : o->a },
                     row, 1);
    if (timed)
        put_cause_entry (b, first, (struct suspect){ SUSPECT_DRIFT, 0, 0 }, row,
                         row_crossings (o->count, o->n) * drift_time (b, o));
    if (o->apart > 0) {
        put_sure (b, first, row, o->a, o->b, o->oneway ? 2 : 1);
        if (!o->oneway)
            put_sure (b, first, row, o->b, o->a, 1);
    }
    if (b->net->multi) /* no wrong routes among many */
        return 0;
    if (o->oneway) /* twice */
        return put_routes (b, first, row, o->a, o->b, 2, err) < 0 ? -1 : 0;
    return put_routes (b, first, row, o->a, o->b, 1, err) < 0
                   || put_routes (b, first, row, o->b, o->a, 1, err) < 0
               ? -1
               : 0;
}

/*
 * Detours
 */

static uint32_t tail (const struct network *net, uint32_t arc)
{
    return net->link[arc_link (arc)].end[arc % 2];
}

void detours_make (struct detours *d, struct pool *pool,
                   const struct network *net)
{
    uint32_t narcs = 2 * (uint32_t)net->nlinks;
    size_t *first = pool_alloc (pool, net->nswitches + 2, sizeof (*first));

    *d = (struct detours){ net, first,
                           pool_alloc (pool, narcs, sizeof (*d->arc)) };
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t a = 0; a < narcs; a++)
            if (net->link[arc_link (a)].kind == LINK_SWITCH
                && tail (net, a) != NETWORK_NONE) {
                if (pass == 0)
                    first[tail (net, a) + 2]++;
                else
                    d->arc[first[tail (net, a) + 1]++] = a;
            }
        for (size_t s = 2; s < net->nswitches + 2 && pass == 0; s++)
            first[s] += first[s - 1];
    }
}

int detour_tables (const struct network *net, uint32_t at, uint32_t to,
                   uint32_t but, uint32_t *arc, int most)
{
    uint32_t target = net->place (net->net, to);
    int n = 0;

    while (at != target) {
        if (at == but || at == NETWORK_NONE || n == most)
            return -1;
        at = net->hop (net->net, at, to, &arc[n++]);
    }
    return n;
}

int detour_walk (const struct detours *d, uint32_t out, uint32_t to,
                 uint32_t *arc)
{
    const struct network *net = d->net;
    uint32_t sw = tail (net, out);
    uint32_t right;

    if (net->hop (net->net, sw, to, &right) == NETWORK_NONE || right == out)
        return 0;
    arc[0] = out;
    return 1
           + detour_tables (net, tail (net, out ^ 1), to, sw, arc + 1,
                            PATH_MAX_HOPS - 1);
}

bool detour_exists (const struct detours *d, uint32_t sw, uint32_t to)
{
    uint32_t arc[PATH_MAX_HOPS];

    for (size_t i = d->first[sw]; i < d->first[sw + 1]; i++)
        if (detour_walk (d, d->arc[i], to, arc) > 0)
            return true;
    return false;
}

/*
 * Columns to signatures
 */

struct cause_columns {
    const struct cause_build *b;
    struct causes *c;
    struct map by_hash; /* signatures */
    uint32_t *of_link;      /* [nlinks] signature of a link */
    uint32_t *switch_links; /* [nswitches] measured links of a switch */
    uint32_t *class_links;  /* [class_id] measured links of a class */
    size_t n;               /* members so far: */
    struct member *member;
    uint32_t *signature;      /* of each member */
    struct suspect *simplest; /* of a signature */
};

/* Append a column as a signature, its values in lowest terms. Return their
 * common divisor.
 */
static unsigned int append_signature (struct causes *c,
                                      const struct cause_entry *e, size_t n)
{
    unsigned int unit = 0;
    size_t at = c->start[c->n];

    for (size_t i = 0; i < n; i++) {
        unsigned int x = e[i].value;

        while (unit != 0) { /* Euclid */
            unsigned int rest = x % unit;

            x = unit;
            unit = rest;
        }
        unit = x;
    }
    for (size_t i = 0; i < n; i++) {
        c->row[at + i] = e[i].row;
        c->value[at + i] = e[i].value / unit;
    }
    c->start[c->n + 1] = at + n;
    return unit;
}

static uint64_t column_hash (const struct causes *c, size_t k)
{
    uint64_t h = 0;

    for (size_t e = c->start[k]; e < c->start[k + 1]; e++) {
        h = (h ^ c->row[e]) * 0x9e3779b97f4a7c15;
        h = (h ^ c->value[e] ^ h >> 31) * 0xbf58476d1ce4e5b9;
    }
    return h ^ h >> 32;
}

static bool same_column (const struct causes *c, size_t k, size_t j)
{
    size_t n = c->start[k + 1] - c->start[k];

    return n == c->start[j + 1] - c->start[j]
           && !memcmp (c->row + c->start[k], c->row + c->start[j],
                       n * sizeof (*c->row))
           && !memcmp (c->value + c->start[k], c->value + c->start[j],
                       n * sizeof (*c->value));
}

/* Return the signature that equals the last appended one, or that one itself.
 */
static uint32_t intern (struct cause_columns *t, const struct suspect *s)
{
    struct causes *c = t->c;
    uint64_t hash = column_hash (c, c->n);
    uint32_t k;

    while ((k = map_find (&t->by_hash, hash)) != MAP_NONE
           && !same_column (c, k, c->n))
        hash++;
    if (k == MAP_NONE) {
        k = (uint32_t)c->n++;
        map_put (&t->by_hash, hash, k);
        t->simplest[k] = *s;
        c->kind[s->kind]++;
    }
    return k;
}

/* Whether a column is a cause. The columns of links come before all others. */
static bool is_possible (const struct cause_columns *t, const struct suspect *s)
{
    switch (s->kind) {
    case SUSPECT_SWITCH:
        return t->switch_links[s->index] >= SWITCH_LINKS_MIN;
    case SUSPECT_CLASS:
        return t->class_links[s->index] >= CLASS_LINKS_MIN;
    case SUSPECT_ROUTE:
        return detour_exists (&t->c->detours, s->index,
                              pathset_endpoint (t->b->ps, s->to)->id);
    default:
        return true;
    }
}

/* Whether a suspect is stored as a member of a signature, in addition to the
 * simplest.
 */
static bool is_extra_member (const struct cause_columns *t,
                             const struct suspect *s, uint32_t signature)
{
    const struct suspect *simplest = &t->simplest[signature];
    uint32_t link = suspect_link (simplest);

    /* a direction adds nothing if the whole link is a member */
    if (s->kind == SUSPECT_ARC && t->of_link[arc_link (s->index)] == signature)
        return false;
    /* A switch link that carries the messages of one endpoint alone looks like
     * a wrong route to it. Not so a host link, which both directions cross:
     * there a route is unlikely.
     */
    if (s->kind == SUSPECT_ROUTE && link != NETWORK_NONE)
        return t->b->net->link[link].kind == LINK_SWITCH;
    return suspect_traits[s->kind].rank == suspect_traits[simplest->kind].rank;
}

static void add_columns (struct cause_columns *t)
{
    const struct cause_build *b = t->b;

    for (size_t i = 0, end; i < b->n; i = end) {
        uint64_t key = b->entry[i].key;
        uint32_t mask = (1u << INDEX_BITS) - 1;
        struct suspect s = {
            .kind = (enum suspect_kind) (key >> 2 * INDEX_BITS),
            .index = key >> INDEX_BITS & mask,
            .to = key & mask,
        };
        uint32_t signature;
        unsigned int unit;

        for (end = i; end < b->n && b->entry[end].key == key;)
            end++;
        /* what grows is seen in two rows at least */
        if (!is_possible (t, &s)
            || (s.kind == SUSPECT_WARM && end - i == 1))
            continue;
        unit = append_signature (t->c, b->entry + i, end - i);
        signature = intern (t, &s);
        if (s.kind == SUSPECT_LINK) {
            const struct link_info *link = &b->net->link[s.index];

            t->of_link[s.index] = signature;
            t->class_links[link->class_id]++;
            for (int end = 0; end < 2; end++)
                if (link->end[end] != NETWORK_NONE)
                    t->switch_links[link->end[end]]++;
        }
        if (!is_extra_member (t, &s, signature))
            continue;
        t->member[t->n] = (struct member){
            s, s.kind == SUSPECT_ARC     ? 2. * unit
               : s.kind == SUSPECT_DRIFT || s.kind == SUSPECT_WARM
                   ? (double)unit / DRIFT_PARTS
                                         : unit };
        t->signature[t->n++] = signature;
    }
}

static void make_signatures (struct causes *c, const struct cause_build *b)
{
    struct pool *work = pool_create ();
    struct cause_columns t = { .b = b, .c = c };
    uint32_t classes = 0;
    size_t columns = 0;

    for (size_t l = 0; l < b->net->nlinks; l++)
        if (b->net->link[l].class_id >= classes)
            classes = b->net->link[l].class_id + 1;
    for (size_t i = 0; i < b->n; i++)
        columns += i == 0 || b->entry[i].key != b->entry[i - 1].key;
    t.of_link = pool_alloc (work, b->net->nlinks, sizeof (*t.of_link));
    t.switch_links
        = pool_alloc (work, b->net->nswitches, sizeof (*t.switch_links));
    t.class_links = pool_alloc (work, classes, sizeof (*t.class_links));
    t.member = pool_alloc (work, columns, sizeof (*t.member));
    t.signature = pool_alloc (work, columns, sizeof (*t.signature));
    t.simplest = pool_alloc (work, columns, sizeof (*t.simplest));
    c->start = pool_alloc (c->pool, columns + 2, sizeof (*c->start));
    c->row = pool_alloc (c->pool, b->n, sizeof (*c->row));
    c->value = pool_alloc (c->pool, b->n, sizeof (*c->value));
    add_columns (&t);
    /* sort the members by signature */
    c->first = pool_alloc (c->pool, c->n + 2, sizeof (*c->first));
    c->member = pool_alloc (c->pool, t.n, sizeof (*c->member));
    for (size_t i = 0; i < t.n; i++)
        c->first[t.signature[i] + 2]++;
    for (size_t k = 2; k <= c->n; k++)
        c->first[k] += c->first[k - 1];
    for (size_t i = 0; i < t.n; i++)
        c->member[c->first[t.signature[i] + 1]++] = t.member[i];
    map_clear (&t.by_hash);
    pool_destroy (work);
}

int causes_make (struct causes *c, struct pathset *ps,
                 const struct observations *obs, size_t rounds,
                 struct error *err)
{
    struct cause_build b = { .ps = ps, .net = pathset_network (ps),
                             .rounds = rounds };
    int rc = 0;

    *c = (struct causes){ .pool = pool_create () };
    for (size_t i = 0; i < obs->n && rc == 0; i++)
        rc = put_row (&b, (uint32_t)i, &obs->v[i], err);
    if (rc == 0) {
        detours_make (&c->detours, c->pool, b.net);
        qsort (b.entry, b.n, sizeof (*b.entry), compare_cause_entries);
        make_signatures (c, &b);
    }
    free (b.entry);
    return rc;
}

unsigned int suspect_crossed (const struct suspect *s,
                              const struct network *net, uint32_t arc,
                              uint32_t to)
{
    const struct link_info *link = &net->link[arc_link (arc)];

    switch (s->kind) {
    case SUSPECT_LINK:
    case SUSPECT_WARM:
        return arc_link (arc) == s->index;
    case SUSPECT_ARC:
        return 2 * (arc == s->index);
    case SUSPECT_SWITCH:
        return link->end[0] == s->index || link->end[1] == s->index;
    case SUSPECT_ROUTE:
        return link->end[arc % 2] == s->index && to == s->to;
    case SUSPECT_CLASS:
    case SUSPECT_DRIFT:
    case SUSPECT_ROW:
    case SUSPECT_KINDS:
        break;
    }
    return 0;
}

void causes_clear (struct causes *c)
{
    pool_destroy (c->pool);
    *c = (struct causes){ 0 };
}

double causes_dot (const struct causes *c, size_t k, const double *v)
{
    double sum = 0;

    for (size_t e = c->start[k]; e < c->start[k + 1]; e++)
        sum += c->value[e] * v[c->row[e]];
    return sum;
}

void causes_expand (const struct causes *c, size_t k, double *d, size_t n)
{
    memset (d, 0, n * sizeof (*d));
    for (size_t e = c->start[k]; e < c->start[k + 1]; e++)
        d[c->row[e]] = c->value[e];
}
