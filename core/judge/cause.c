/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes. Every row says which causes it has a part in: entries of a key (the
 * cause), the row and a value. A stable radix sort by key makes columns of
 * them, rows rising, since rows are gone through in order; keys begin with the
 * kind, so that the simplest cause of a signature comes first and names it.
 * Signatures are compared by hash, then in full. All is linear in the rows'
 * links.
 *
 * A route is one from a switch that has a detour to the endpoint
 * (judge/detour): with d-mod-k routing one on the way up, never one on the way
 * down. It shifts all rows that pass the switch on the way to the endpoint, by
 * as much as the two ways differ, of either sign.
 */
#include "config.h"
#include "core/judge/cause.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    CLASS_ENOUGH = 4,  /* links that make a class */
    SWITCH_ENOUGH = 2, /* a switch */
    INDEX_BITS = 30,
    ROW_CAUSES = 8 * ROW_MAX, /* entries of a row at most */
};

#define NONE SIZE_MAX

struct entry {
    uint64_t key;
    uint32_t row;
    uint16_t value;
};

struct build {
    struct pathset *ps;
    const struct network *net;
    const struct observations *obs;
    uint32_t *switch_links; /* [nswitches] measured links of a switch */
    uint32_t *class_links;  /* [class_id] of a class */
    struct entry *entry;
    size_t n, size;
};

static uint64_t make_key (enum suspect_kind kind, uint32_t index, uint32_t to)
{
    return (uint64_t)kind << 2 * INDEX_BITS | (uint64_t)index << INDEX_BITS
           | to;
}

static struct suspect key_suspect (uint64_t key)
{
    return (struct suspect){
        .kind = (enum suspect_kind) (key >> 2 * INDEX_BITS),
        .index = key >> INDEX_BITS & ((1u << INDEX_BITS) - 1),
        .to = key & ((1u << INDEX_BITS) - 1),
    };
}

/* Add to the entries of the row that begin at `first`. */
static void put (struct build *b, size_t first, uint64_t key, uint32_t row,
                 unsigned int value)
{
    size_t i = first;

    if (value == 0)
        return;
    while (i < b->n && b->entry[i].key != key)
        i++;
    if (i == b->n)
        b->entry[b->n++] = (struct entry){ key, row, 0 };
    b->entry[i].value += value;
}

static int put_routes (struct build *b, size_t first, uint32_t row, size_t from,
                       size_t to, struct error *err)
{
    uint32_t arc[PATH_MAX_HOPS];
    int n = pathset_walk (b->ps, from, to, arc, err);

    for (int k = 1; k + 1 < n; k++) {
        uint32_t sw = b->net->link[arc_link (arc[k])].end[arc[k] % 2];

        if (sw != NETWORK_NONE)
            put (b, first, make_key (SUSPECT_ROUTE, sw, (uint32_t)to), row,
                 1);
    }
    return n;
}

static int put_row (struct build *b, uint32_t row, struct error *err)
{
    const struct observation *o = &b->obs->v[row];
    size_t first = b->n;

    if (b->n + ROW_CAUSES > b->size) {
        size_t size = 2 * b->size + ROW_CAUSES;
        struct entry *entry = realloc (b->entry, size * sizeof (*entry));

        if (!entry)
            return error_nomem (err);
        b->entry = entry;
        b->size = size;
    }
    for (size_t p = 0; p < o->n; p++) {
        const struct link_info *info = &b->net->link[o->link[p]];
        uint32_t back = o->count[p] - o->forth[p];

        put (b, first, make_key (SUSPECT_LINK, o->link[p], 0), row,
             o->count[p]);
        put (b, first, make_key (SUSPECT_ARC, 2 * o->link[p], 0), row,
             o->forth[p]);
        put (b, first, make_key (SUSPECT_ARC, 2 * o->link[p] + 1, 0), row,
             back);
        put (b, first, make_key (SUSPECT_CLASS, info->class_id, 0), row,
             o->count[p]);
        for (int end = 0; end < 2; end++)
            if (info->end[end] != NETWORK_NONE)
                put (b, first, make_key (SUSPECT_SWITCH, info->end[end], 0),
                     row, o->count[p]);
    }
    if (put_routes (b, first, row, o->a, o->b, err) < 0
        || put_routes (b, first, row, o->b, o->a, err) < 0)
        return -1;
    put (b, first,
         make_key (SUSPECT_ROW, o->a < o->b ? o->a : o->b,
                   o->a < o->b ? o->b : o->a),
         row, 1);
    return 0;
}

/* Sort by key, stable; bytes that all keys have in common cost nothing. */
static int sort_entries (struct build *b)
{
    struct entry *from = b->entry;
    struct entry *to = malloc ((b->n + 1) * sizeof (*to));

    if (!to)
        return -1;
    for (int shift = 0; shift < 64; shift += 8) {
        size_t at[257] = { 0 };

        for (size_t i = 0; i < b->n; i++)
            at[(from[i].key >> shift & 255) + 1]++;
        if (b->n == 0 || at[(from[0].key >> shift & 255) + 1] == b->n)
            continue;
        for (int d = 1; d < 257; d++)
            at[d] += at[d - 1];
        for (size_t i = 0; i < b->n; i++)
            to[at[from[i].key >> shift & 255]++] = from[i];
        b->entry = to;
        to = from;
        from = b->entry;
    }
    free (to);
    return 0;
}

/* How many measured links a switch or class has: those of few are none. */
static int count_links (struct build *b)
{
    bool *seen = calloc (b->net->nlinks + 1, sizeof (*seen));
    uint32_t classes = 0;

    for (size_t l = 0; l < b->net->nlinks; l++)
        if (b->net->link[l].class_id >= classes)
            classes = b->net->link[l].class_id + 1;
    b->switch_links = calloc (b->net->nswitches + 1, sizeof (uint32_t));
    b->class_links = calloc (classes + 1, sizeof (uint32_t));
    if (!seen || !b->switch_links || !b->class_links) {
        free (seen);
        return -1;
    }
    for (size_t i = 0; i < b->obs->n; i++)
        for (size_t p = 0; p < b->obs->v[i].n; p++)
            seen[b->obs->v[i].link[p]] = true;
    for (size_t l = 0; l < b->net->nlinks; l++) {
        if (!seen[l])
            continue;
        b->class_links[b->net->link[l].class_id]++;
        for (int end = 0; end < 2; end++)
            if (b->net->link[l].end[end] != NETWORK_NONE)
                b->switch_links[b->net->link[l].end[end]]++;
    }
    free (seen);
    return 0;
}

static bool is_possible (const struct build *b, const struct causes *c,
                         const struct suspect *s)
{
    if (s->kind == SUSPECT_ROUTE)
        return detour_exists (&c->detours, s->index,
                              pathset_endpoint (b->ps, s->to)->id);
    if (s->kind == SUSPECT_SWITCH)
        return b->switch_links[s->index] >= SWITCH_ENOUGH;
    if (s->kind == SUSPECT_CLASS)
        return b->class_links[s->index] >= CLASS_ENOUGH;
    return true;
}

/*
 * Columns to signatures
 */

/* Append a column as a signature, its values in lowest terms. Return what
 * they were divided by.
 */
static unsigned int append (struct causes *c, const struct entry *e, size_t n)
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

/* Members on their way to their places. */
struct gathered {
    struct member member;
    size_t signature;
    bool dropped;
};

struct table {
    uint32_t *slot; /* signature + 1 */
    size_t mask;
    struct gathered *member;
    size_t n;
};

/* The signature equal to the last appended one, or that itself. */
static size_t intern (struct causes *c, struct table *t)
{
    size_t at = column_hash (c, c->n) & t->mask;

    while (t->slot[at] && !same_column (c, t->slot[at] - 1, c->n))
        at = (at + 1) & t->mask;
    if (!t->slot[at])
        t->slot[at] = (uint32_t)++c->n;
    return t->slot[at] - 1;
}

/* Kinds of which members stand side by side. */
static int rank (enum suspect_kind kind)
{
    static const int rank[SUSPECT_KINDS] = {
        [SUSPECT_SWITCH] = 1,
        [SUSPECT_CLASS] = 2,
        [SUSPECT_ROUTE] = 3,
        [SUSPECT_ROW] = 3,
    };

    return rank[kind];
}

static void add_columns (const struct build *b, struct causes *c,
                         struct table *t, size_t *link_signature)
{
    for (size_t i = 0, end; i < b->n; i = end) {
        struct suspect s = key_suspect (b->entry[i].key);
        struct gathered *g = &t->member[t->n];
        size_t before = c->n;
        unsigned int unit;

        for (end = i; end < b->n && b->entry[end].key == b->entry[i].key;)
            end++;
        if (!is_possible (b, c, &s))
            continue;
        unit = append (c, b->entry + i, end - i);
        *g = (struct gathered){
            .member = { s, s.kind == SUSPECT_ARC ? 2. * unit : unit },
            .signature = intern (c, t),
        };
        if (c->n > before)
            c->kind[s.kind]++;
        if (s.kind == SUSPECT_LINK)
            link_signature[s.index] = g->signature;
        /* of a link that is there as a whole, a direction is nothing new */
        if (s.kind == SUSPECT_ARC
            && link_signature[arc_link (s.index)] == g->signature)
            continue;
        t->n++;
    }
}

/* A switch's cable that carries one endpoint's messages alone looks like a
 * wrong route to it; at a host end, which both ways cross, that is not what
 * anybody would believe.
 */
static bool is_alternative (const struct build *b, const struct suspect *to,
                            const struct suspect *s)
{
    uint32_t link = to->kind == SUSPECT_ARC ? arc_link (to->index)
                                            : to->index;

    return s->kind == SUSPECT_ROUTE && to->kind <= SUSPECT_ARC
           && b->net->link[link].kind == LINK_SWITCH;
}

/* Put the members where their signatures want them. */
static int place_members (const struct build *b, struct causes *c,
                          const struct table *t)
{
    const struct suspect **simplest = calloc (c->n + 1, sizeof (*simplest));

    c->first = calloc (c->n + 2, sizeof (*c->first));
    c->member = malloc ((t->n + 1) * sizeof (*c->member));
    if (!simplest || !c->first || !c->member) {
        free (simplest);
        return -1;
    }
    for (size_t i = 0; i < t->n; i++) {
        struct gathered *g = &t->member[i];
        const struct suspect *s = &g->member.suspect;
        const struct suspect **to = &simplest[g->signature];

        if (!*to)
            *to = s;
        g->dropped = rank (s->kind) != rank ((*to)->kind)
                     && !is_alternative (b, *to, s);
        if (!g->dropped)
            c->first[g->signature + 2]++;
    }
    for (size_t k = 2; k <= c->n; k++)
        c->first[k] += c->first[k - 1];
    for (size_t i = 0; i < t->n; i++)
        if (!t->member[i].dropped)
            c->member[c->first[t->member[i].signature + 1]++]
                = t->member[i].member;
    free (simplest);
    return 0;
}

static int make_signatures (const struct build *b, struct causes *c)
{
    size_t columns = 0;
    size_t size = 16;
    size_t *link_signature;
    struct table t = { 0 };
    int rc = -1;

    for (size_t i = 0; i < b->n; i++)
        columns += i == 0 || b->entry[i].key != b->entry[i - 1].key;
    while (size < 2 * columns)
        size *= 2;
    t.mask = size - 1;
    t.slot = calloc (size, sizeof (*t.slot));
    t.member = malloc ((columns + 1) * sizeof (*t.member));
    link_signature = malloc ((b->net->nlinks + 1) * sizeof (*link_signature));
    c->start = calloc (columns + 2, sizeof (*c->start));
    c->row = malloc ((b->n + 1) * sizeof (*c->row));
    c->value = malloc ((b->n + 1) * sizeof (*c->value));
    if (!t.slot || !t.member || !link_signature || !c->start || !c->row
        || !c->value)
        goto done;
    add_columns (b, c, &t, link_signature);
    rc = place_members (b, c, &t);
done:
    free (t.slot);
    free (t.member);
    free (link_signature);
    return rc;
}

int causes_make (struct causes *c, struct pathset *ps,
                 const struct observations *obs, struct error *err)
{
    struct build b = {
        .ps = ps,
        .net = pathset_network (ps),
        .obs = obs,
    };
    int rc = -1;

    *c = (struct causes){ 0 };
    if (count_links (&b) < 0 || detours_make (&c->detours, b.net) < 0)
        goto nomem;
    for (size_t i = 0; i < obs->n; i++)
        if (put_row (&b, (uint32_t)i, err) < 0)
            goto done;
    if (sort_entries (&b) < 0 || make_signatures (&b, c) < 0)
        goto nomem;
    rc = 0;
    goto done;
nomem:
    error_nomem (err);
done:
    free (b.switch_links);
    free (b.class_links);
    free (b.entry);
    return rc;
}

void causes_clear (struct causes *c)
{
    free (c->start);
    free (c->row);
    free (c->value);
    free (c->first);
    free (c->member);
    detours_clear (&c->detours);
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
