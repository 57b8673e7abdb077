/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which endpoints are needed to resolve suspects.
 *
 * Notes. Each pair of endpoints has two random numbers modulo 2^61 - 1. Over
 * the rows of some pairs a suspect has two sums, of these numbers times how
 * often the row crosses it. Columns are proportional if and only if the
 * quotients of these sums are equal (wrong with probability 2^-61). So sets of
 * suspects are sets of equal quotients, and rows are added to the sums without
 * being stored. The sums need only the crossings of suspects, not the rows: for
 * the tree of paths to an endpoint, the suspects on the path from each leaf.
 */
#include "config.h"
#include "core/plan/separate.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/paths/tree.h"
#include "core/plan/rref.h"
#include "util/alloc.h"
#include "util/rng.h"
#include "util/sort.h"

enum {
    PAIRS_MAX = 4 * 1000 * 1000, /* of idle endpoints, tried */
};

#define NONE UINT32_MAX

struct pair_crossing { /* the path from a leaf crosses a suspect */
    uint32_t leaf;
    uint32_t suspect;
};

/* Crossings on the paths to an endpoint, by ascending leaf. */
struct ways {
    struct pair_crossing *v;
    size_t n;
};

struct separate_sums {
    uint64_t v[2];
};

struct separate {
    const struct pathset *ps;
    struct tree *tree;
    size_t n;             /* suspects */
    uint32_t *number;     /* [nlinks] index of a suspect, or NONE */
    struct ways *to;      /* [endpoints] */
    uint8_t *in;          /* [endpoints] in use */
    struct separate_sums *sums;  /* [n] over the rows of those in use */
    struct separate_sums *trial; /* [n] */
    uint64_t *quotient;   /* [n] */
    uint64_t *sorted;     /* [n] */
    uint64_t *product;    /* [n + 1] */
};

/* The random numbers of a pair, the same for both orders. */
static struct separate_sums numbers (uint32_t a, uint32_t b)
{
    uint64_t key = a < b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a;
    struct separate_sums s
        = { { rng_mix (2 * key) % PRIME, rng_mix (2 * key + 1) % PRIME } };

    return s;
}

static void count_in (struct separate_sums *sums, const struct separate_sums *r)
{
    for (int k = 0; k < 2; k++)
        sums->v[k] = prime_add (sums->v[k], r->v[k]);
}

/* Quotients of the sums, 0 if they are 0: all with one inversion. */
static void divide (struct separate *s, const struct separate_sums *sums)
{
    uint64_t inverse;

    s->product[0] = 1;
    for (size_t i = 0; i < s->n; i++)
        s->product[i + 1] = prime_mul (s->product[i],
                                       sums[i].v[0] ? sums[i].v[0] : 1);
    inverse = prime_inverse (s->product[s->n]);
    for (size_t i = s->n; i-- > 0;) {
        uint64_t one = prime_mul (inverse, s->product[i]);

        inverse = prime_mul (inverse, sums[i].v[0] ? sums[i].v[0] : 1);
        s->quotient[i] = prime_mul (sums[i].v[1], one);
    }
}

/* The number of sets of suspects that the sums resolve. */
static size_t sets (struct separate *s, const struct separate_sums *sums)
{
    size_t n = 0;

    divide (s, sums);
    memcpy (s->sorted, s->quotient, s->n * sizeof (*s->sorted));
    qsort (s->sorted, s->n, sizeof (*s->sorted), compare_u64);
    for (size_t i = 0; i < s->n; i++)
        n += i == 0 || s->sorted[i] != s->sorted[i - 1];
    return n;
}

static uint32_t up_suspect (const struct separate *s, uint32_t i)
{
    uint32_t up = s->tree->up[i];

    return up == NETWORK_NONE ? NONE : s->number[arc_link (up)];
}

/* Are two endpoints of one port, so that there is no path between them? */
static bool are_one (const struct separate *s, uint32_t a, uint32_t b)
{
    return pathset_port (s->ps, a) == pathset_port (s->ps, b);
}

/* List the suspects that the row of a and b crosses, each as often as it does.
 * Return their number.
 */
static size_t crossed (const struct separate *s, uint32_t a, uint32_t b,
                       uint32_t *suspect)
{
    size_t n = 0;

    for (int way = 0; way < 2; way++) {
        const struct ways *w = &s->to[way ? a : b];
        uint32_t leaf = s->tree->leaf_of[way ? b : a];
        uint32_t up = up_suspect (s, way ? b : a);
        size_t low = 0, high = w->n;

        if (up != NONE)
            suspect[n++] = up;
        while (low < high) { /* the first crossing from the leaf */
            size_t mid = (low + high) / 2;

            if (w->v[mid].leaf < leaf)
                low = mid + 1;
            else
                high = mid;
        }
        for (; low < w->n && w->v[low].leaf == leaf; low++)
            suspect[n++] = w->v[low].suspect;
    }
    return n;
}

/* Add the row of a pair to the sums. */
static void add_row (const struct separate *s, uint32_t a, uint32_t b,
                     struct separate_sums *sums)
{
    struct separate_sums r = numbers (a, b);
    uint32_t suspect[ROW_MAX];
    size_t n = crossed (s, a, b, suspect);

    for (size_t i = 0; i < n; i++)
        count_in (&sums[suspect[i]], &r);
}

/* Add the rows between one endpoint and those in use from `from` on. */
static void add_endpoint (const struct separate *s, uint32_t i, uint32_t from,
                          struct separate_sums *sums)
{
    for (uint32_t x = from; x < pathset_size (s->ps); x++)
        if (s->in[x] && !are_one (s, x, i))
            add_row (s, i, x, sums);
}

static void use (struct separate *s, uint32_t i)
{
    add_endpoint (s, i, 0, s->sums);
    s->in[i] = 1;
}

static void recount (struct separate *s)
{
    memset (s->sums, 0, s->n * sizeof (*s->sums));
    for (uint32_t a = 0; a < pathset_size (s->ps); a++)
        if (s->in[a])
            add_endpoint (s, a, a + 1, s->sums);
}

/* The number of sets if the row of a and b, or for b == NONE all rows of a with
 * those in use, is added.
 */
static size_t sets_with (struct separate *s, uint32_t a, uint32_t b)
{
    memcpy (s->trial, s->sums, s->n * sizeof (*s->trial));
    if (b == NONE)
        add_endpoint (s, a, 0, s->trial);
    else
        add_row (s, a, b, s->trial);
    return sets (s, s->trial);
}

/* The number of sets with all endpoints in use. Adding paths instead of rows
 * gives the same, so only crossings are read.
 */
static size_t sets_at_best (struct separate *s)
{
    const struct tree *t = s->tree;
    size_t size = pathset_size (s->ps);

    memset (s->trial, 0, s->n * sizeof (*s->trial));
    for (uint32_t b = 0; b < size; b++) {
        for (size_t k = 0; k < s->to[b].n; k++) {
            const struct pair_crossing *c = &s->to[b].v[k];

            for (size_t i = t->first[c->leaf]; i < t->first[c->leaf + 1];
                 i++) {
                struct separate_sums r = numbers (t->member[i], b);

                if (!are_one (s, t->member[i], b))
                    count_in (&s->trial[c->suspect], &r);
            }
        }
        for (uint32_t a = 0; a < size && up_suspect (s, b) != NONE; a++) {
            struct separate_sums r = numbers (a, b);

            if (!are_one (s, a, b))
                count_in (&s->trial[up_suspect (s, b)], &r);
        }
    }
    return sets (s, s->trial);
}

/* The idle endpoint that gives the most sets; NONE if none adds a set. */
static uint32_t best_single (struct separate *s, const uint8_t *idle,
                             size_t now)
{
    uint32_t best = NONE;

    for (uint32_t i = 0; i < pathset_size (s->ps); i++) {
        size_t then;

        if (!idle[i] || s->in[i])
            continue;
        then = sets_with (s, i, NONE);
        if (then > now) {
            now = then;
            best = i;
        }
    }
    return best;
}

/* As best_single, for the row between two idle endpoints. */
static struct probe best_pair (struct separate *s, const uint8_t *idle,
                               size_t now)
{
    const struct tree *t = s->tree;
    struct probe best = { NONE, NONE };
    size_t looked = 0;

    for (uint32_t b = 0; b < pathset_size (s->ps); b++) {
        const struct ways *w = &s->to[b];
        bool all = up_suspect (s, b) != NONE;
        uint32_t leaf = NONE;

        for (size_t k = 0; idle[b] && !s->in[b] && looked < PAIRS_MAX
             && k < (all ? t->nleaves : w->n); k++) {
            uint32_t next = all ? k : w->v[k].leaf;

            for (size_t i = t->first[next]; next != leaf
                 && i < t->first[next + 1]; i++) {
                uint32_t a = t->member[i];
                size_t then;

                if (are_one (s, a, b) || !idle[a] || s->in[a])
                    continue;
                then = sets_with (s, a, b);
                looked++;
                if (then > now) {
                    now = then;
                    best = (struct probe){ a, b };
                }
            }
            leaf = next;
        }
    }
    return best;
}

/* Add endpoints until there are as many sets as wanted, or no more can be had,
 * and drop those that are not needed.
 */
static void choose (struct separate *s, const uint8_t *idle, size_t wanted)
{
    size_t now;

    while ((now = sets (s, s->sums)) < wanted) {
        uint32_t one = best_single (s, idle, now);
        struct probe two;

        if (one != NONE) {
            use (s, one);
            continue;
        }
        two = best_pair (s, idle, now);
        if (two.a == NONE)
            break;
        use (s, two.a);
        use (s, two.b);
    }
    for (uint32_t i = 0; i < pathset_size (s->ps); i++) {
        if (!idle[i] || !s->in[i])
            continue;
        s->in[i] = 0;
        recount (s);
        s->in[i] = sets (s, s->sums) < now;
    }
    recount (s);
}

/*
 * Probes: a few of the rows that cross the suspects differently, which separate
 * all sets.
 */

/* A row between endpoints in use that crosses a suspect, one for each pattern.
 */
struct suspect_pattern {
    uint64_t hash;
    struct probe probe;
};

static int compare_pattern (const void *a, const void *b)
{
    const struct suspect_pattern *x = a;
    const struct suspect_pattern *y = b;

    if (x->hash != y->hash)
        return util_compare (x->hash, y->hash);
    if (x->probe.a != y->probe.a)
        return util_compare (x->probe.a, y->probe.a);
    return util_compare (x->probe.b, y->probe.b);
}

/* The same for two rows that cross the suspects in the same way. */
static uint64_t pattern_hash (const uint32_t *suspect, size_t n)
{
    uint64_t hash = 0;

    for (size_t i = 0; i < n; i++) {
        size_t first = 0, count = 1;

        while (suspect[first] != suspect[i])
            first++;
        for (size_t k = i + 1; k < n && first == i; k++)
            count += suspect[k] == suspect[i];
        if (first == i)
            hash += rng_mix (4 * suspect[i] + count);
    }
    return hash;
}

static void find_probes (struct separate *s, struct separation *out)
{
    struct suspect_pattern *v = NULL;
    size_t found = 0, n = 0, now = 1;

    for (uint32_t a = 0; a < pathset_size (s->ps); a++)
        for (uint32_t b = a + 1; s->in[a] && b < pathset_size (s->ps); b++) {
            uint32_t suspect[ROW_MAX];
            size_t crossings = s->in[b] && !are_one (s, a, b)
                ? crossed (s, a, b, suspect) : 0;

            if (crossings == 0)
                continue;
            v = xgrow (v, found, sizeof (*v));
            v[found++] = (struct suspect_pattern){
                pattern_hash (suspect, crossings), { a, b },
            };
        }
    if (found > 0)
        qsort (v, found, sizeof (*v), compare_pattern);
    for (size_t i = 0; i < found; i++)
        if (i == 0 || v[i].hash != v[n - 1].hash)
            v[n++] = v[i];
    out->probe = xarray (n, sizeof (*out->probe));
    memset (s->sums, 0, s->n * sizeof (*s->sums));
    while (now < out->nsets && n > 0) {
        size_t best = n;

        for (size_t i = 0; i < n; i++) {
            size_t then = sets_with (s, v[i].probe.a, v[i].probe.b);

            if (then > now) {
                now = then;
                best = i;
            }
        }
        if (best == n) /* two together may separate what neither does alone */
            best = 0;
        out->probe[out->nprobes++] = v[best].probe;
        add_row (s, v[best].probe.a, v[best].probe.b, s->sums);
        v[best] = v[--n];
    }
    free (v);
}

/*
 * Setting up
 */

static void clear (struct separate *s)
{
    for (size_t i = 0; s->to && i < pathset_size (s->ps); i++)
        free (s->to[i].v);
    tree_destroy (s->tree);
    free (s->number);
    free (s->to);
    free (s->in);
    free (s->sums);
    free (s->trial);
    free (s->quotient);
    free (s->sorted);
    free (s->product);
}

static int init (struct separate *s, struct pathset *ps, const uint8_t *idle,
                 const uint32_t *suspect, size_t n, struct error *err)
{
    size_t size = pathset_size (ps);
    size_t nlinks = pathset_network (ps)->nlinks;

    *s = (struct separate){ .ps = ps, .n = n };
    s->number = xarray (nlinks + 1, sizeof (*s->number));
    s->to = xcalloc (size + 1, sizeof (*s->to));
    s->in = xcalloc (size + 1, 1);
    s->sums = xcalloc (n + 1, sizeof (*s->sums));
    s->trial = xcalloc (n + 1, sizeof (*s->trial));
    s->quotient = xcalloc (n + 1, sizeof (*s->quotient));
    s->sorted = xcalloc (n + 1, sizeof (*s->sorted));
    s->product = xcalloc (n + 2, sizeof (*s->product));
    memset (s->number, 0xff, nlinks * sizeof (*s->number));
    for (size_t i = 0; i < n; i++)
        s->number[suspect[i]] = i;
    s->tree = tree_create (ps);
    for (uint32_t i = 0; i < size; i++) {
        const struct tree *t = s->tree;
        struct ways *w = &s->to[i];

        s->in[i] = !idle[i];
        if (tree_grow (s->tree, i, err) < 0)
            return -1;
        for (uint32_t leaf = 0; leaf < t->nleaves; leaf++)
            for (uint32_t k = t->leaf[leaf]; k != 0; k = t->parent[k]) {
                uint32_t crossed = s->number[arc_link (t->arc[k])];

                if (crossed == NONE)
                    continue;
                w->v = xgrow (w->v, w->n, sizeof (*w->v));
                w->v[w->n++] = (struct pair_crossing){ leaf, crossed };
            }
    }
    return 0;
}

int separate (struct pathset *ps, const uint8_t *idle,
              const uint32_t *suspect, size_t n, struct separation *out,
              struct error *err)
{
    size_t size = pathset_size (ps);
    struct separate s;
    int rc = init (&s, ps, idle, suspect, n, err);

    *out = (struct separation){ 0 };
    if (rc == 0) {
        recount (&s);
        out->nsets_before = sets (&s, s.sums);
        choose (&s, idle, sets_at_best (&s));
        out->set_of = xarray (n, sizeof (*out->set_of));
        divide (&s, s.sums);
        for (size_t i = 0; i < n; i++) { /* in the order of the suspects */
            size_t k = 0;

            while (s.quotient[k] != s.quotient[i])
                k++;
            out->set_of[i] = k < i ? out->set_of[k] : out->nsets++;
        }
        out->extra = xarray (size, sizeof (*out->extra));
        for (uint32_t i = 0; i < size; i++)
            if (idle[i] && s.in[i])
                out->extra[out->nextra++] = i;
        find_probes (&s, out);
    }
    clear (&s);
    return rc;
}

void separation_clear (struct separation *out)
{
    free (out->extra);
    free (out->probe);
    free (out->set_of);
    *out = (struct separation){ 0 };
}
