/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which endpoints are needed to resolve suspects.
 *
 * Notes. Each pair of endpoints has two random numbers modulo 2^61 - 1. Over
 * the rows of some pairs a suspect has two sums, of these numbers times how
 * often the row crosses it. Columns are proportional if and only if the
 * quotients of these sums are equal (wrong with probability 2^-61). So sets of
 * suspects are sets of equal quotients, and rows are added to the sums without
 * being stored. A row is two paths, so paths can be added instead: for all
 * endpoints together, from their trees.
 */
#include "config.h"
#include "core/plan/separate.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/paths/tree.h"
#include "core/plan/basis.h"
#include "core/plan/rref.h"
#include "util/alloc.h"
#include "util/map.h"
#include "util/rng.h"

enum {
    PAIRS_MAX = 4 * 1000 * 1000, /* of idle endpoints, tried */
};

#define NONE UINT32_MAX

struct separate_sums {
    uint64_t v[2];
};

struct separate {
    const struct pathset *ps;
    size_t size;          /* endpoints */
    const uint8_t *idle;  /* [size] */
    struct tree *tree;
    size_t n;             /* suspects */
    uint32_t *number;     /* [nlinks] index of a suspect, or NONE */
    uint8_t *in;          /* [size] in use */
    struct separate_sums *sums;  /* [n] over the rows of those in use */
    struct separate_sums *trial; /* [n] */
    uint32_t *first;      /* [n] the first suspect of a set */
};

/* Add the random numbers of a pair, the same for both orders, to the sums of
 * some suspects, or subtract them.
 */
static void count (struct separate_sums *sums, const uint32_t *suspect,
                   size_t n, uint32_t a, uint32_t b, bool subtract)
{
    uint64_t key = a < b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a;

    for (int k = 0; k < 2 && n > 0; k++) {
        uint64_t x = rng_mix (2 * key + k) % PRIME;

        for (size_t i = 0; i < n; i++) {
            uint64_t *sum = &sums[suspect[i]].v[k];

            *sum = prime_add (*sum, subtract ? prime_neg (x) : x);
        }
    }
}

/* Are two columns proportional? */
static bool alike (const struct separate_sums *x, const struct separate_sums *y)
{
    return (x->v[0] == 0) == (y->v[0] == 0)
           && prime_mul (x->v[0], y->v[1]) == prime_mul (x->v[1], y->v[0]);
}

/* The number of sets of suspects that the sums resolve; with set_of, that of
 * each suspect.
 */
static size_t sets (struct separate *s, const struct separate_sums *sums,
                    uint32_t *set_of)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++) {
        size_t k = 0;

        while (k < n && !alike (&sums[s->first[k]], &sums[i]))
            k++;
        if (k == n)
            s->first[n++] = i;
        if (set_of)
            set_of[i] = k;
    }
    return n;
}

/* List the suspects that the row of a and b crosses, each as often as it does.
 * Return their number. That all paths exist is known from their trees.
 */
static size_t crossed (const struct separate *s, uint32_t a, uint32_t b,
                       uint32_t *suspect)
{
    size_t n = 0;

    for (int way = 0; way < 2 && pathset_is_pair (s->ps, a, b); way++) {
        uint32_t arc[PATH_MAX_HOPS];
        int hops = pathset_walk (s->ps, way ? b : a, way ? a : b, arc, NULL);

        for (int k = 0; k < hops; k++)
            if (s->number[arc_link (arc[k])] != NONE)
                suspect[n++] = s->number[arc_link (arc[k])];
    }
    return n;
}

/* Add the row of a pair to the sums, or subtract it. */
static void add_row (const struct separate *s, uint32_t a, uint32_t b,
                     struct separate_sums *sums, bool subtract)
{
    uint32_t suspect[ROW_MAX];
    size_t n = crossed (s, a, b, suspect);

    count (sums, suspect, n, a, b, subtract);
}

/* Add the rows between one endpoint and those in use. */
static void add_endpoint (const struct separate *s, uint32_t i,
                          struct separate_sums *sums, bool subtract)
{
    for (uint32_t x = 0; x < s->size; x++)
        if (s->in[x])
            add_row (s, i, x, sums, subtract);
}

static void use (struct separate *s, uint32_t i)
{
    add_endpoint (s, i, s->sums, false);
    s->in[i] = 1;
}

/* The number of sets if the row of a and b, or for b == NONE all rows of a with
 * those in use, is added.
 */
static size_t sets_with (struct separate *s, uint32_t a, uint32_t b)
{
    memcpy (s->trial, s->sums, s->n * sizeof (*s->trial));
    if (b == NONE)
        add_endpoint (s, a, s->trial, false);
    else
        add_row (s, a, b, s->trial, false);
    return sets (s, s->trial, NULL);
}

static uint32_t up_suspect (const struct separate *s, uint32_t i)
{
    uint32_t up = s->tree->up[i];

    return up == NETWORK_NONE ? NONE : s->number[arc_link (up)];
}

/* The suspects on the tree's path from a leaf. */
static size_t on_path (const struct separate *s, size_t leaf,
                       uint32_t *suspect)
{
    const struct tree *t = s->tree;
    size_t n = 0;

    for (uint32_t k = t->leaf[leaf]; k != 0; k = t->parent[k])
        if (s->number[arc_link (t->arc[k])] != NONE && n < ROW_MAX)
            suspect[n++] = s->number[arc_link (t->arc[k])];
    return n;
}

/* Find the number of sets with all endpoints in use. Return 0, or -1 with err.
 */
static int sets_at_best (struct separate *s, size_t *most, struct error *err)
{
    const struct tree *t = s->tree;

    memset (s->trial, 0, s->n * sizeof (*s->trial));
    for (uint32_t b = 0; b < s->size; b++) {
        uint32_t suspect[ROW_MAX], up = up_suspect (s, b);

        if (tree_grow (s->tree, b, err) < 0)
            return -1;
        for (size_t l = 0; l < t->nleaves; l++) {
            size_t n = on_path (s, l, suspect);

            for (size_t i = t->first[l]; i < t->first[l + 1] && n > 0; i++)
                if (pathset_is_pair (s->ps, t->member[i], b))
                    count (s->trial, suspect, n, t->member[i], b, false);
        }
        for (uint32_t a = 0; a < s->size && up != NONE; a++)
            if (pathset_is_pair (s->ps, a, b))
                count (s->trial, &up, 1, a, b, false);
    }
    *most = sets (s, s->trial, NULL);
    return 0;
}

static bool is_free (const struct separate *s, uint32_t i)
{
    return s->idle[i] && !s->in[i];
}

/* The idle endpoint that gives the most sets; NONE if none adds a set. */
static uint32_t best_single (struct separate *s, size_t now)
{
    uint32_t best = NONE;

    for (uint32_t i = 0; i < s->size; i++) {
        size_t then = is_free (s, i) ? sets_with (s, i, NONE) : 0;

        if (then > now) {
            now = then;
            best = i;
        }
    }
    return best;
}

/* As best_single, for the row between two idle endpoints. */
static struct probe best_pair (struct separate *s, size_t now)
{
    const struct tree *t = s->tree;
    struct probe best = { NONE, NONE };
    size_t looked = 0;

    for (uint32_t b = 0; b < s->size && looked < PAIRS_MAX; b++) {
        uint32_t suspect[ROW_MAX];
        bool all = up_suspect (s, b) != NONE;

        if (!is_free (s, b) || tree_grow (s->tree, b, NULL) < 0)
            continue;
        for (size_t l = 0; l < t->nleaves; l++) {
            bool any = all || on_path (s, l, suspect) > 0;

            for (size_t i = t->first[l]; i < t->first[l + 1] && any; i++) {
                uint32_t a = t->member[i];
                size_t then;

                if (!pathset_is_pair (s->ps, a, b) || !is_free (s, a))
                    continue;
                then = sets_with (s, a, b);
                looked++;
                if (then > now) {
                    now = then;
                    best = (struct probe){ a, b };
                }
            }
        }
    }
    return best;
}

/* Add endpoints until there are as many sets as wanted, or no more can be had,
 * and drop those that are not needed.
 */
static void choose (struct separate *s, size_t wanted)
{
    size_t now;

    while ((now = sets (s, s->sums, NULL)) < wanted) {
        uint32_t one = best_single (s, now);
        struct probe two = { one, NONE };

        if (one == NONE)
            two = best_pair (s, now);
        if (two.a == NONE)
            break;
        use (s, two.a);
        if (two.b != NONE)
            use (s, two.b);
    }
    for (uint32_t i = 0; i < s->size; i++) {
        if (!s->idle[i] || !s->in[i])
            continue;
        s->in[i] = 0;
        add_endpoint (s, i, s->sums, true);
        if (sets (s, s->sums, NULL) < now)
            use (s, i);
    }
}

/* Find a few of the rows of those in use, each of which crosses the suspects
 * differently, that separate all sets.
 */
static void find_probes (struct separate *s, struct separation *out)
{
    struct map known = { 0 };
    struct probe *v = NULL;
    size_t n = 0, now = 1;

    for (uint32_t a = 0; a < s->size; a++)
        for (uint32_t b = a + 1; s->in[a] && b < s->size; b++) {
            uint32_t suspect[ROW_MAX];
            size_t crossings = s->in[b] ? crossed (s, a, b, suspect) : 0;
            uint64_t key = 0;

            for (size_t i = 0; i < crossings; i++)
                key += rng_mix (suspect[i]);
            if (crossings == 0 || map_find (&known, key) != MAP_NONE)
                continue;
            map_put (&known, key, 0);
            v = xgrow (v, n, sizeof (*v));
            v[n++] = (struct probe){ a, b };
        }
    map_clear (&known);
    out->probe = xarray (n, sizeof (*out->probe));
    memset (s->sums, 0, s->n * sizeof (*s->sums));
    while (now < out->nsets && n > 0) {
        size_t best = 0; /* if no other: two together may separate what neither
                            does alone */

        for (size_t i = 0; i < n; i++) {
            size_t then = sets_with (s, v[i].a, v[i].b);

            if (then > now) {
                now = then;
                best = i;
            }
        }
        out->probe[out->nprobes++] = v[best];
        add_row (s, v[best].a, v[best].b, s->sums, false);
        v[best] = v[--n];
    }
    free (v);
}

int separate (struct pathset *ps, const uint8_t *idle,
              const uint32_t *suspect, size_t n, struct separation *out,
              struct error *err)
{
    size_t nlinks = pathset_network (ps)->nlinks, most;
    struct separate s = {
        .ps = ps, .size = pathset_size (ps), .idle = idle, .n = n,
        .tree = tree_create (ps),
        .number = xarray (nlinks, sizeof (*s.number)),
        .in = xcalloc (pathset_size (ps), 1),
        .sums = xcalloc (n, sizeof (*s.sums)),
        .trial = xcalloc (n, sizeof (*s.trial)),
        .first = xarray (n, sizeof (*s.first)),
    };
    int rc;

    *out = (struct separation){ 0 };
    memset (s.number, 0xff, nlinks * sizeof (*s.number));
    for (size_t i = 0; i < n; i++)
        s.number[suspect[i]] = i;
    if ((rc = sets_at_best (&s, &most, err)) == 0) {
        for (uint32_t i = 0; i < s.size; i++)
            if (!idle[i])
                use (&s, i);
        out->nsets_before = sets (&s, s.sums, NULL);
        choose (&s, most);
        out->set_of = xarray (n, sizeof (*out->set_of));
        out->nsets = sets (&s, s.sums, out->set_of);
        out->extra = xarray (s.size, sizeof (*out->extra));
        for (uint32_t i = 0; i < s.size; i++)
            if (idle[i] && s.in[i])
                out->extra[out->nextra++] = i;
        find_probes (&s, out);
    }
    tree_destroy (s.tree);
    free (s.number);
    free (s.in);
    free (s.sums);
    free (s.trial);
    free (s.first);
    return rc;
}

void separation_clear (struct separation *out)
{
    free (out->extra);
    free (out->probe);
    free (out->set_of);
    *out = (struct separation){ 0 };
}
