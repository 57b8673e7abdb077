/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Vertices that are at one switch.
 *
 * The end of a vertex is its distance to its switch. If a and b are at one
 * switch, all d(a,c) - d(b,c) equal the difference of their ends. So
 *
 *     g(a,b) = (d(a,b) + mean_c (d(a,c) - d(b,c))) / 2
 *
 * is the end of a, whatever ends the others have: it is the mean of Gromov's
 * products (b|c) at a. For other b it is not less. So the least over b
 * estimates the end, and
 *
 *     e(a,b) = d(a,b) - min_b g(a,b) - min_a g(b,a)
 *
 * the distance between the switches of a and b. Vertices are clustered by e, by
 * average linkage; cutting at e = `zero` gives the groups.
 *
 * Then d(a,b) is end_a + end_b + D(group, group), where D is 0 within a group:
 * the end of a is the mean of its g(a,b) in the group, or of the end of b plus
 * their difference where d(a,b) is not known, and D is a mean over pairs.
 * Vertices that misfit leave their group, the worst first (on a ring, each
 * vertex is between two others, and e to both is 0). A vertex misfits if,
 * towards some group, its residuals are too large or too one-sided for a noise
 * of zero / NOISES.
 */
#include "config.h"
#include "compare/infer/steps.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/pool.h"

#define NOISES 4.0 /* `zero` in standard deviations of one value */

enum { PASSES = 4 };

static double *square (struct pool *pool, uint32_t n)
{
    return pool_alloc (pool, (size_t)n * n, sizeof (double));
}

/* A level of n vertices without known distances. */
static struct infer_level *level_create (uint32_t n)
{
    struct pool *pool = pool_create ();
    struct infer_level *l = pool_alloc (pool, 1, sizeof (*l));

    l->pool = pool;
    l->n = n;
    l->vertex = pool_alloc (pool, n, sizeof (*l->vertex));
    l->d = square (pool, n);
    l->w = square (pool, n);
    l->product = square (pool, n);
    l->merge = pool_alloc (pool, n, sizeof (*l->merge));
    for (size_t i = 0; i < (size_t)n * n; i++)
        l->d[i] = i % (n + 1) ? NAN : 0;
    return l;
}

void level_destroy (struct infer_level *l)
{
    if (l)
        pool_destroy (l->pool);
}

/* The weighted mean of d(a,c) - d(b,c) over all other vertices c; 0 if there
 * are none.
 */
static double difference (const struct infer_level *l, uint32_t a, uint32_t b)
{
    const double *da = l->d + (size_t)a * l->n, *db = l->d + (size_t)b * l->n;
    const double *wa = l->w + (size_t)a * l->n, *wb = l->w + (size_t)b * l->n;
    double sum = 0, weight = 0;

    for (uint32_t c = 0; c < l->n; c++) {
        double w;

        if (c == a || c == b || wa[c] <= 0 || wb[c] <= 0)
            continue;
        w = wa[c] * wb[c] / (wa[c] + wb[c]);
        sum += w * (da[c] - db[c]);
        weight += w;
    }
    return weight > 0 ? sum / weight : 0;
}

/* Cluster the vertices by e. */
static void link_level (struct infer_level *l)
{
    uint32_t n = l->n;
    struct pool *pool = pool_create ();
    double *e = square (pool, n), *weight = square (pool, n);
    double *least = pool_alloc (pool, n, sizeof (*least));

    for (uint32_t a = 0; a < n; a++)
        least[a] = INFINITY;
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = a + 1; b < n; b++) {
            double d = l->d[(size_t)a * n + b], delta;

            delta = difference (l, a, b);
            if (l->w[(size_t)a * n + b] <= 0) {
                l->product[(size_t)a * n + b] = delta;
                l->product[(size_t)b * n + a] = -delta;
                continue;
            }
            l->product[(size_t)a * n + b] = (d + delta) / 2;
            l->product[(size_t)b * n + a] = (d - delta) / 2;
            least[a] = fmin (least[a], (d + delta) / 2);
            least[b] = fmin (least[b], (d - delta) / 2);
        }
    memcpy (weight, l->w, (size_t)n * n * sizeof (*weight));
    for (size_t i = 0; i < (size_t)n * n; i++)
        if (weight[i] > 0)
            e[i] = (l->d[i] - least[i / n] - least[i % n]) * weight[i];
    l->nmerges = linkage (n, e, weight, l->merge);
    pool_destroy (pool);
}

struct infer_level *level_of_matrix (const struct infer_matrix *m)
{
    struct infer_level *l = level_create (m->n);

    memcpy (l->d, m->ns, (size_t)m->n * m->n * sizeof (*l->d));
    for (size_t i = 0; i < (size_t)m->n * m->n; i++)
        l->w[i] = i % (m->n + 1) && !isnan (m->ns[i]);
    for (uint32_t a = 0; a < m->n; a++)
        l->vertex[a] = a;
    link_level (l);
    return l;
}

/* A grouping during its construction. Groups have numbers below n; some numbers
 * are not used.
 */
struct grouping {
    const struct infer_level *l;
    uint32_t n;
    double noise;       /* variance of one pair's latency */
    double zero;
    uint32_t *of, *size;
    double *end;        /* [n] >= 0; 0 if the vertex is alone */
    double *d, *w;      /* [n * n] between groups */
    double *sum, *sums, *weight; /* [n] scratch, in one array */
};

/* What the others of its group say of a's end, on average; NAN: it is alone. */
static double average_end_length (const struct grouping *k, uint32_t a)
{
    double sum = 0, n = 0;

    for (uint32_t b = 0; b < k->n; b++) {
        size_t i = (size_t)a * k->n + b;

        if (k->of[b] != k->of[a] || b == a)
            continue;
        sum += k->l->product[i] + (k->l->w[i] > 0 ? 0 : k->end[b]);
        n++;
    }
    return sum / n;
}

static void fit_group_ends (struct grouping *k)
{
    const struct infer_level *l = k->l;
    uint32_t n = k->n;

    /* more than once for pairs that are not known; fmax takes 0 for NAN */
    for (int i = 0; i < PASSES; i++)
        for (uint32_t a = 0; a < n; a++)
            k->end[a] = fmax (0, average_end_length (k, a));
    memset (k->d, 0, (size_t)n * n * sizeof (*k->d));
    memset (k->w, 0, (size_t)n * n * sizeof (*k->w));
    for (size_t i = 0; i < (size_t)n * n; i++) {
        uint32_t a = i / n, b = i % n;
        size_t at = (size_t)k->of[a] * n + k->of[b];

        if (l->w[i] <= 0)
            continue;
        k->d[at] += l->w[i] * (l->d[i] - k->end[a] - k->end[b]);
        k->w[at] += l->w[i];
    }
    for (size_t at = 0; at < (size_t)n * n; at++)
        if (k->w[at] > 0)
            k->d[at] = at % (n + 1) ? k->d[at] / k->w[at] : 0;
}

/* How badly vertex a fits its group. The limit is 1. */
static double vertex_misfit (struct grouping *k, uint32_t a)
{
    const double *d = k->l->d + (size_t)a * k->n;
    const double *w = k->l->w + (size_t)a * k->n;
    double worst = 0;

    memset (k->sum, 0, 3 * (size_t)k->n * sizeof (*k->sum));
    for (uint32_t c = 0; c < k->n; c++) {
        uint32_t h = k->of[c];
        double rest;

        if (c == a || w[c] <= 0)
            continue;
        rest = d[c] - k->end[a] - k->end[c] - k->d[(size_t)k->of[a] * k->n + h];
        k->sum[h] += w[c] * rest;
        k->sums[h] += w[c] * rest * rest;
        k->weight[h] += w[c];
    }
    for (uint32_t h = 0; h < k->n; h++) {
        double count = k->size[h];

        if (k->sums[h] <= 0)
            continue;
        worst = fmax (worst, k->sums[h] / k->noise
                                 / (count + 4 * sqrt (2 * count) + 8));
        worst = fmax (worst, fabs (k->sum[h]) / NOISES
                                 / sqrt (k->weight[h] * k->noise));
    }
    return worst;
}

static void move_vertex (struct grouping *k, uint32_t a, uint32_t to)
{
    k->size[k->of[a]]--;
    k->size[to]++;
    k->of[a] = to;
}

/* Remove the member that fits its group worst, if it misfits. Returns whether
 * there was one.
 */
static bool put_out (struct grouping *k)
{
    uint32_t worst = k->n, unused = 0;
    double most = 1;

    for (uint32_t a = 0; a < k->n; a++)
        if (k->size[k->of[a]] > 1) {
            double m = vertex_misfit (k, a);

            if (m > most) {
                most = m;
                worst = a;
            }
        }
    if (worst == k->n)
        return false;
    while (k->size[unused] > 0)
        unused++;
    move_vertex (k, worst, unused);
    return true;
}

/* The groups that result from the cut, improved. */
static void find_twin_groups (struct grouping *k)
{
    const struct infer_level *l = k->l;

    for (uint32_t a = 0; a < k->n; a++) {
        k->of[a] = a;
        k->size[a] = 1;
    }
    for (uint32_t i = 0; i < l->nmerges && l->merge[i].mean <= k->zero; i++)
        for (uint32_t a = 0; a < k->n; a++)
            if (k->of[a] == l->merge[i].b)
                move_vertex (k, a, l->merge[i].a);
    fit_group_ends (k);
    while (put_out (k))
        fit_group_ends (k);
}

/* The groups as a level, in the order of their first members; NULL if no vertex
 * is with another one. The model gets their switches.
 */
static struct infer_level *make_group_level (const struct grouping *k,
                                             struct topology_model *m)
{
    uint32_t *group = xarray (k->n, sizeof (*group)), count = 0;
    uint32_t *name = xarray (k->n, sizeof (*name));
    struct infer_level *next = NULL;

    memset (name, 0xff, k->n * sizeof (*name));
    for (uint32_t a = 0; a < k->n; a++)
        if (name[k->of[a]] == UINT32_MAX) {
            name[k->of[a]] = count;
            group[count++] = k->of[a];
        }
    if (count < k->n)
        next = level_create (count);
    for (size_t i = 0; next && i < (size_t)count * count; i++) {
        size_t at = (size_t)group[i / count] * k->n + group[i % count];

        if (i % (count + 1) == 0 || k->w[at] <= 0)
            continue;
        next->d[i] = k->d[at];
        next->w[i] = k->w[at];
    }
    for (uint32_t i = 0; next && i < count; i++)
        if (k->size[group[i]] > 1)
            next->vertex[i] = topology_add_switch (m);
    for (uint32_t a = 0; next && a < k->n; a++) {
        uint32_t *vertex = &next->vertex[name[k->of[a]]];

        if (k->size[k->of[a]] > 1)
            topology_add_edge (m, k->l->vertex[a], *vertex, k->end[a]);
        else
            *vertex = k->l->vertex[a];
    }
    free (group);
    free (name);
    return next;
}

struct infer_level *level_next (const struct infer_level *l, double zero,
                                struct topology_model *m)
{
    uint32_t n = l->n;
    struct pool *pool = pool_create ();
    double *scratch = pool_alloc (pool, 3 * (size_t)n, sizeof (*scratch));
    struct infer_level *next;
    struct grouping k = {
        .l = l, .n = n, .noise = zero * zero / (NOISES * NOISES), .zero = zero,
        .of = pool_alloc (pool, n, sizeof (*k.of)),
        .size = pool_alloc (pool, n, sizeof (*k.size)),
        .end = pool_alloc (pool, n, sizeof (*k.end)),
        .d = square (pool, n), .w = square (pool, n),
        .sum = scratch, .sums = scratch + n, .weight = scratch + 2 * (size_t)n,
    };

    find_twin_groups (&k);
    if ((next = make_group_level (&k, m)))
        link_level (next);
    pool_destroy (pool);
    return next;
}
