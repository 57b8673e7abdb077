/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Vertices that are at one switch.
 *
 * Notes: if a and b are at one switch, all d(a,c) - d(b,c) equal the difference
 * of their ends, which are their distances to that switch. With the mean of
 * this difference over c,
 *
 *     g(a,b) = (d(a,b) + mean_c (d(a,c) - d(b,c))) / 2
 *
 * is the end of a, whatever ends the others have: it is the mean of Gromov's
 * products (b|c) at a. In a metric it is never less than a's end, since d(a,b)
 * + d(a,c) >= d(b,c) without the ends. So the least over b estimates the end,
 * and
 *
 *     e(a,b) = d(a,b) - min_b g(a,b) - min_a g(b,a)
 *
 * estimates the distance between the switches of a and b. Vertices are
 * clustered by e, by average linkage: all pairs of two groups decide together,
 * not a single one. Cutting at e = `zero` gives the groups.
 *
 * Then the groups are fitted by least squares as d(a,b) = end_a + end_b +
 * D(group, group), where D is 0 within a group (in closed form if all pairs are
 * known). Vertices that do not fit their group leave it, the worst first (on a
 * ring, each vertex is between two others, and e to both is 0). Groups that are
 * no more than `zero` apart are united. A vertex that is alone and fits a group
 * joins it. A vertex misfits if, towards some group, its residuals are too
 * large or too one-sided for a noise of zero / NOISES.
 */
#include "config.h"
#include "compare/infer/steps.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "compare/infer/cluster.h"
#include "util/alloc.h"

#define NOISES 4.0 /* `zero` in standard deviations of one value */

enum { FILLS = 6 };

struct twins {
    const struct infer_level *l;
    struct merge *merge; /* by e, as far as these are known */
    uint32_t nmerges;
};

/* A level of n vertices without known distances. */
static struct infer_level *level_create (uint32_t n)
{
    size_t size = (size_t)n * n;
    struct infer_level *l = xarray (1, sizeof (*l));

    *l = (struct infer_level){
        .n = n,
        .vertex = xcalloc (n, sizeof (*l->vertex)),
        .d = xarray (size, sizeof (*l->d)),
        .w = xcalloc (size, sizeof (*l->w)),
    };
    for (size_t i = 0; i < size; i++)
        l->d[i] = i % (n + 1) ? NAN : 0;
    return l;
}

void level_destroy (struct infer_level *l)
{
    if (!l)
        return;
    free (l->vertex);
    free (l->d);
    free (l->w);
    free (l);
}

struct infer_level *level_of_matrix (const struct infer_matrix *m)
{
    struct infer_level *l = level_create (m->n);

    memcpy (l->d, m->ns, (size_t)m->n * m->n * sizeof (*l->d));
    for (uint32_t a = 0; a < m->n; a++) {
        l->vertex[a] = a;
        for (uint32_t b = 0; b < m->n; b++)
            l->w[(size_t)a * m->n + b]
                = a != b && !isnan (infer_matrix_at (m, a, b));
    }
    return l;
}

static double *square (uint32_t n)
{
    return xcalloc ((size_t)n * n, sizeof (double));
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

/* e of all known pairs, times their weight; 0 for other pairs. */
static double *separations (const struct infer_level *l)
{
    double *e = square (l->n), *least = xarray (l->n, sizeof (*least));
    uint32_t n = l->n;

    for (uint32_t a = 0; a < n; a++)
        least[a] = INFINITY;
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = a + 1; b < n; b++) {
            double delta;

            if (level_w (l, a, b) <= 0)
                continue;
            delta = difference (l, a, b);
            least[a] = fmin (least[a], (level_d (l, a, b) + delta) / 2);
            least[b] = fmin (least[b], (level_d (l, a, b) - delta) / 2);
        }
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = 0; b < n; b++)
            if (level_w (l, a, b) > 0)
                e[(size_t)a * n + b]
                    = (level_d (l, a, b) - least[a] - least[b])
                      * level_w (l, a, b);
    free (least);
    return e;
}

struct twins *twins_find (const struct infer_level *l)
{
    struct twins *t = xcalloc (1, sizeof (*t));
    double *sum = separations (l), *weight = square (l->n);

    t->l = l;
    t->merge = xarray (l->n, sizeof (*t->merge));
    memcpy (weight, l->w, (size_t)l->n * l->n * sizeof (*weight));
    t->nmerges = linkage (l->n, sum, weight, t->merge);
    free (sum);
    free (weight);
    return t;
}

void twins_destroy (struct twins *t)
{
    if (!t)
        return;
    free (t->merge);
    free (t);
}

/* A grouping during its construction. Groups have numbers below n; some numbers
 * are not used.
 */
struct grouping {
    const struct infer_level *l;
    double *fd, *fw;    /* [n * n] of the level, with the fit's values for
                           unknown pairs; the level's own if all pairs are
                           known */
    bool unknown;
    double usual;       /* mean weight of a known pair */
    double noise;       /* variance of one pair's latency */
    double zero;
    uint32_t *of, *size;
    double *end;
    double *d, *w;      /* [n * n] between groups */
    double *sum, *sums, *weight; /* [n] scratch */
};

static double filled_d (const struct grouping *k, uint32_t a, uint32_t b)
{
    return k->fd[(size_t)a * k->l->n + b];
}

static double filled_w (const struct grouping *k, uint32_t a, uint32_t b)
{
    return k->fw[(size_t)a * k->l->n + b];
}

static void fit_between (struct grouping *k)
{
    uint32_t n = k->l->n;

    memset (k->d, 0, (size_t)n * n * sizeof (*k->d));
    memset (k->w, 0, (size_t)n * n * sizeof (*k->w));
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = 0; b < n; b++) {
            size_t at = (size_t)k->of[a] * n + k->of[b];
            double w = filled_w (k, a, b);

            if (w <= 0)
                continue;
            k->d[at] += w * (filled_d (k, a, b) - k->end[a] - k->end[b]);
            k->w[at] += w;
        }
    for (uint32_t g = 0; g < n; g++)
        for (uint32_t h = 0; h < n; h++) {
            size_t at = (size_t)g * n + h;

            if (k->w[at] > 0)
                k->d[at] = g == h ? 0 : k->d[at] / k->w[at];
        }
}

/* *mean: half the mean distance within a group, which is the mean of its ends.
 * Returns the mean weight of these pairs.
 */
static double mean_end (const struct grouping *k, uint32_t g, double *mean)
{
    double sum = 0, weight = 0;
    size_t pairs = 0;

    for (uint32_t a = 0; a < k->l->n; a++)
        for (uint32_t b = 0; k->of[a] == g && b < a; b++)
            if (k->of[b] == g && filled_w (k, a, b) > 0) {
                sum += filled_d (k, a, b);
                weight += filled_w (k, a, b);
                pairs++;
            }
    *mean = pairs > 0 ? sum / (double)pairs / 2 : 0;
    return pairs > 0 ? weight / (double)pairs : 0;
}

/* For each vertex outside a group, the mean distance to its members, into sum,
 * and the mean weight, into weight.
 */
static void mean_columns (struct grouping *k, uint32_t g)
{
    uint32_t n = k->l->n;

    memset (k->sum, 0, n * sizeof (*k->sum));
    memset (k->sums, 0, n * sizeof (*k->sums));
    memset (k->weight, 0, n * sizeof (*k->weight));
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t c = 0; k->of[a] == g && c < n; c++)
            if (k->of[c] != g && filled_w (k, a, c) > 0) {
                k->sum[c] += filled_d (k, a, c);
                k->weight[c] += filled_w (k, a, c);
                k->sums[c]++;
            }
    for (uint32_t c = 0; c < n; c++)
        if (k->sums[c] > 0) {
            k->sum[c] /= k->sums[c];
            k->weight[c] /= k->sums[c];
        }
}

/* The ends of a group's members: the group's mean end, plus how much farther
 * than the mean member each is from the other vertices, on average. A member's
 * distances to the other members also contain its own end, hence size - 2.
 */
static void fit_ends (struct grouping *k, uint32_t g)
{
    double mean, within = mean_end (k, g, &mean);

    mean_columns (k, g);
    for (uint32_t a = 0; a < k->l->n; a++) {
        double more = 0, weight = within * (k->size[g] - 2.0);

        if (k->of[a] != g)
            continue;
        for (uint32_t c = 0; c < k->l->n; c++) {
            if (filled_w (k, a, c) <= 0)
                continue;
            if (k->of[c] == g) {
                more += within * (filled_d (k, a, c) - 2 * mean);
            } else {
                more += k->weight[c] * (filled_d (k, a, c) - k->sum[c]);
                weight += k->weight[c];
            }
        }
        k->end[a] = weight > 0 ? fmax (0, mean + more / weight) : mean;
    }
}

/* Set unknown pairs to the values of the fit, or forget them. */
static void fill (struct grouping *k, bool forget)
{
    for (uint32_t a = 0; a < k->l->n; a++)
        for (uint32_t b = 0; b < k->l->n; b++) {
            size_t groups = (size_t)k->of[a] * k->l->n + k->of[b];
            size_t at = (size_t)a * k->l->n + b;

            if (a == b || level_w (k->l, a, b) > 0)
                continue;
            k->fw[at] = forget || k->w[groups] <= 0 ? 0 : k->usual;
            k->fd[at] = k->end[a] + k->end[b] + k->d[groups];
        }
}

static void fit (struct grouping *k)
{
    if (k->unknown)
        fill (k, true);
    for (int i = 0; i < (k->unknown ? FILLS : 1); i++) {
        for (uint32_t g = 0; g < k->l->n; g++)
            if (k->size[g] > 1)
                fit_ends (k, g);
        for (uint32_t a = 0; a < k->l->n; a++)
            if (k->size[k->of[a]] == 1)
                k->end[a] = 0;
        fit_between (k);
        if (k->unknown)
            fill (k, false);
    }
}

/* How badly vertex a fits as a member of group g with this end. The limit is 1.
 */
static double misfit (const struct grouping *k, uint32_t a, uint32_t g,
                      double end)
{
    uint32_t n = k->l->n;
    double worst = 0;

    memset (k->sum, 0, n * sizeof (*k->sum));
    memset (k->sums, 0, n * sizeof (*k->sums));
    memset (k->weight, 0, n * sizeof (*k->weight));
    for (uint32_t c = 0; c < n; c++) {
        double w = level_w (k->l, a, c);
        double rest;

        if (c == a || w <= 0 || k->w[(size_t)g * n + k->of[c]] <= 0)
            continue;
        rest = level_d (k->l, a, c) - end - k->end[c]
               - k->d[(size_t)g * n + k->of[c]];
        k->sum[k->of[c]] += w * rest;
        k->sums[k->of[c]] += w * rest * rest;
        k->weight[k->of[c]] += w;
    }
    for (uint32_t h = 0; h < n; h++) {
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

static void move (struct grouping *k, uint32_t a, uint32_t to)
{
    k->size[k->of[a]]--;
    k->size[to]++;
    k->of[a] = to;
}

/* A number that no group uses. */
static uint32_t free_group (const struct grouping *k)
{
    uint32_t g = 0;

    while (k->size[g] > 0)
        g++;
    return g;
}

/* Remove the member that fits its group worst, if it misfits. Returns whether
 * there was one.
 */
static bool put_out (struct grouping *k)
{
    uint32_t worst = k->l->n;
    double most = 1;

    for (uint32_t a = 0; a < k->l->n; a++)
        if (k->size[k->of[a]] > 1) {
            double m = misfit (k, a, k->of[a], k->end[a]);

            if (m > most) {
                most = m;
                worst = a;
            }
        }
    if (worst == k->l->n)
        return false;
    move (k, worst, free_group (k));
    return true;
}

/* Unite the two nearest groups, if they are no more than `zero` apart. */
static bool unite (struct grouping *k)
{
    uint32_t n = k->l->n, from = n, to = n;
    double min = k->zero;

    for (uint32_t g = 0; g < n; g++)
        for (uint32_t h = 0; k->size[g] > 1 && h < g; h++)
            if (k->size[h] > 1 && k->w[(size_t)g * n + h] > 0
                && k->d[(size_t)g * n + h] <= min) {
                min = k->d[(size_t)g * n + h];
                from = g;
                to = h;
            }
    for (uint32_t a = 0; from < n && a < n; a++)
        if (k->of[a] == from)
            move (k, a, to);
    return from < n;
}

/* The end that vertex a would have in group g; NAN: not known. */
static double end_in (const struct grouping *k, uint32_t a, uint32_t g)
{
    double sum = 0, weight = 0;

    for (uint32_t b = 0; b < k->l->n; b++)
        if (k->of[b] == g && level_w (k->l, a, b) > 0) {
            sum += level_w (k->l, a, b) * (level_d (k->l, a, b) - k->end[b]);
            weight += level_w (k->l, a, b);
        }
    return weight > 0 ? sum / weight : NAN;
}

/* Move a vertex that is alone to the group that it fits best, if it fits any.
 */
static bool take_in (struct grouping *k)
{
    for (uint32_t a = 0; a < k->l->n; a++) {
        uint32_t best = k->l->n;
        double least = 1;

        for (uint32_t g = 0; k->size[k->of[a]] == 1 && g < k->l->n; g++) {
            double end = k->size[g] > 1 ? end_in (k, a, g) : NAN;
            double m = end >= 0 ? misfit (k, a, g, end) : INFINITY;

            if (m < least) {
                least = m;
                best = g;
            }
        }
        if (best < k->l->n) {
            move (k, a, best);
            return true;
        }
    }
    return false;
}

/* The groups that result from the cut. */
static void cut (struct grouping *k, const struct twins *t)
{
    for (uint32_t a = 0; a < k->l->n; a++) {
        k->of[a] = a;
        k->size[a] = 1;
    }
    for (uint32_t i = 0; i < t->nmerges && t->merge[i].mean <= k->zero; i++)
        for (uint32_t a = 0; a < k->l->n; a++)
            if (k->of[a] == t->merge[i].b)
                move (k, a, t->merge[i].a);
}

static void improve (struct grouping *k)
{
    fit (k);
    while (put_out (k))
        fit (k);
    while (unite (k))
        fit (k);
    while (put_out (k))
        fit (k);
    while (take_in (k))
        fit (k);
}

/* Return the groups, numbered in the order of their first members. */
static void hand_over (const struct grouping *k, struct groups *g)
{
    uint32_t n = k->l->n, count = 0;
    uint32_t *name = xarray (n, sizeof (*name));
    uint32_t *first = xarray (n, sizeof (*first));

    memset (name, 0xff, n * sizeof (*name));
    for (uint32_t a = 0; a < n; a++)
        if (name[k->of[a]] == UINT32_MAX) {
            first[count] = a;
            name[k->of[a]] = count++;
        }
    *g = (struct groups){
        .of = xarray (n, sizeof (*g->of)),
        .end = xarray (n, sizeof (*g->end)),
        .size = xarray (count, sizeof (*g->size)),
        .next = level_create (count),
    };
    for (uint32_t a = 0; a < n; a++) {
        g->end[a] = k->end[a];
        g->of[a] = name[k->of[a]];
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t own = k->of[first[i]];

        g->size[i] = k->size[own];
        g->next->vertex[i] = k->l->vertex[first[i]];
        for (uint32_t j = 0; j < count; j++) {
            size_t at = (size_t)own * n + k->of[first[j]];

            if (i == j || k->w[at] <= 0)
                continue;
            g->next->d[(size_t)i * count + j] = k->d[at];
            g->next->w[(size_t)i * count + j] = k->w[at];
        }
    }
    free (name);
    free (first);
}

/* Copy the level's distances if any are unknown. */
static void copy_unknown (struct grouping *k)
{
    size_t size = (size_t)k->l->n * k->l->n;
    size_t known = 0;

    k->fd = k->l->d;
    k->fw = k->l->w;
    for (size_t i = 0; i < size; i++)
        if (k->l->w[i] > 0) {
            k->usual += k->l->w[i];
            known++;
        }
    k->unknown = known < size - k->l->n;
    if (!k->unknown)
        return;
    k->usual /= (double)known;
    k->fd = square (k->l->n);
    k->fw = square (k->l->n);
    memcpy (k->fd, k->l->d, size * sizeof (*k->fd));
    memcpy (k->fw, k->l->w, size * sizeof (*k->fw));
}

struct groups twins_group (const struct twins *t, double zero)
{
    uint32_t n = t->l->n;
    struct grouping k = {
        .l = t->l,
        .noise = zero * zero / (NOISES * NOISES),
        .zero = zero,
        .of = xcalloc (n, sizeof (*k.of)),
        .size = xcalloc (n, sizeof (*k.size)),
        .end = xcalloc (n, sizeof (*k.end)),
        .d = square (n),
        .w = square (n),
        .sum = xcalloc (n, sizeof (*k.sum)),
        .sums = xcalloc (n, sizeof (*k.sums)),
        .weight = xcalloc (n, sizeof (*k.weight)),
    };
    struct groups g;

    copy_unknown (&k);
    cut (&k, t);
    improve (&k);
    hand_over (&k, &g);
    if (k.unknown) {
        free (k.fd);
        free (k.fw);
    }
    free (k.of);
    free (k.size);
    free (k.end);
    free (k.d);
    free (k.w);
    free (k.sum);
    free (k.sums);
    free (k.weight);
    return g;
}

void groups_clear (struct groups *g)
{
    free (g->of);
    free (g->size);
    free (g->end);
    level_destroy (g->next);
    *g = (struct groups){ 0 };
}
