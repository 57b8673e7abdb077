/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Clusters of values on a line.
 *
 * Notes: the values are sorted and cut at their widest gaps into GRAINS pieces.
 * Then the two neighbours whose union adds least to the sum of squares within
 * pieces are merged (Ward, J. Am. Stat. Assoc. 58, 1963), down to one. Of the
 * last CLUSTER_MAX partitions, the one with the least N log (S / N) + p log N *
 * N / (N - p - 1) is chosen. S is the sum of squares, and p = 2 k - 1 means and
 * borders are free: Schwarz's criterion, with the correction for few values.
 * Then neighbours that overlap are merged.
 *
 * S is never less than what values of the given resolution would leave, so that
 * values without any noise do not become clusters of rounding errors.
 */
#include "config.h"
#include "compare/infer/cluster.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/linear/stats.h"
#include "util/alloc.h"

enum { GRAINS = 1024 };

#define RESOLUTION 1e-6 /* relative: closer values are equal */

/* A piece of the sorted values; its sum of squares is about its mean. */
struct piece {
    size_t n;
    double mean, squares, min, max;
};

struct pieces {
    struct piece *p;
    size_t n;
    size_t values;
    double floor; /* variance that each value has at least */
};

bool cluster_less (double a, double b, double eps)
{
    return 2 * (b - a) > eps * (a + b);
}

static struct piece unite (const struct piece *a, const struct piece *b)
{
    double n = (double)(a->n + b->n), apart = b->mean - a->mean;

    return (struct piece){
        .n = a->n + b->n,
        .mean = a->mean + apart * ((double)b->n / n),
        .squares = a->squares + b->squares
                   + apart * apart * ((double)a->n * (double)b->n / n),
        .min = a->min,
        .max = b->max,
    };
}

/* Unite piece i with the next one. */
static void unite_at (struct pieces *ps, size_t i)
{
    ps->p[i] = unite (&ps->p[i], &ps->p[i + 1]);
    ps->n--;
    memmove (&ps->p[i + 1], &ps->p[i + 2], (ps->n - i - 1) * sizeof (*ps->p));
}

/* How much uniting piece i with the next one adds to the sum of squares. */
static double loss (const struct pieces *ps, size_t i)
{
    struct piece both = unite (&ps->p[i], &ps->p[i + 1]);

    return both.squares - ps->p[i].squares - ps->p[i + 1].squares;
}

/* Distance of piece i and the next one, in standard deviations. */
static double apart (const struct pieces *ps, size_t i)
{
    const struct piece *a = &ps->p[i], *b = &ps->p[i + 1];
    double var = (a->squares + b->squares) / (double)(a->n + b->n);

    return (b->mean - a->mean) / sqrt (fmax (var, ps->floor));
}

/* The i for which `value` is least. */
static size_t least (const struct pieces *ps,
                     double (*value) (const struct pieces *, size_t))
{
    size_t best = 0;
    double min = INFINITY;

    for (size_t i = 0; i + 1 < ps->n; i++) {
        double v = value (ps, i);

        if (v < min) {
            min = v;
            best = i;
        }
    }
    return best;
}

static double criterion (const struct pieces *ps)
{
    double n = (double)ps->values, free = 2.0 * (double)ps->n - 1, sum = 0;

    if (n - free - 1 <= 0)
        return ps->n == 1 ? 0 : INFINITY;
    for (size_t i = 0; i < ps->n; i++)
        sum += ps->p[i].squares;
    return n * log (fmax (sum / n, ps->floor))
           + free * log (n) * n / (n - free - 1);
}

/* A width. Fewer than GRAINS gaps of the sorted values are wider. */
static double narrow_gap (const double *v, size_t n)
{
    double *gap, least_gap;

    if (n <= GRAINS)
        return 0;
    gap = xarray (n, sizeof (*gap));
    for (size_t i = 0; i + 1 < n; i++)
        gap[i] = v[i + 1] - v[i];
    stats_sort (gap, n - 1);
    least_gap = gap[n - 1 - GRAINS];
    free (gap);
    return least_gap;
}

/* Cut sorted values into pieces. */
static void cut (struct pieces *ps, const double *v, size_t n)
{
    double narrow = narrow_gap (v, n);

    ps->p = xarray (n < GRAINS ? n : GRAINS, sizeof (*ps->p));
    ps->values = n;
    for (size_t i = 0; i < n; i++) {
        struct piece one = { 1, v[i], 0, v[i], v[i] };

        if (i > 0 && v[i] - v[i - 1] <= narrow)
            ps->p[ps->n - 1] = unite (&ps->p[ps->n - 1], &one);
        else
            ps->p[ps->n++] = one;
    }
}

/* The partition with the least criterion. ps is consumed. */
static struct pieces choose (struct pieces *ps)
{
    struct pieces best = *ps;
    double min = INFINITY;

    best.p = xarray (CLUSTER_MAX, sizeof (*best.p));
    while (ps->n > 1) {
        double value = ps->n <= CLUSTER_MAX ? criterion (ps) : INFINITY;

        if (value < min) {
            min = value;
            best.n = ps->n;
            memcpy (best.p, ps->p, ps->n * sizeof (*ps->p));
        }
        unite_at (ps, least (ps, loss));
    }
    if (criterion (ps) <= min) {
        best.n = 1;
        best.p[0] = ps->p[0];
    }
    return best;
}

static void hand_over (struct clusters *cl, const struct pieces *ps)
{
    cl->c = xarray (ps->n, sizeof (*cl->c));
    cl->n = ps->n;
    for (size_t i = 0; i < ps->n; i++) {
        const struct piece *p = &ps->p[i];

        cl->c[i] = (struct cluster){
            .mean = p->mean,
            .sd = sqrt (p->squares / (double)p->n),
            .min = p->min,
            .max = p->max,
            .n = p->n,
        };
    }
}

void clusters_find (struct clusters *cl, const double *v, size_t n, double eps)
{
    double *sorted = xarray (n, sizeof (*sorted));
    struct pieces ps = { 0 }, best;
    double same = fmax (eps, RESOLUTION) / CLUSTER_APART;
    size_t known = 0;

    *cl = (struct clusters){ 0 };
    for (size_t i = 0; i < n; i++)
        if (!isnan (v[i]))
            sorted[known++] = v[i];
    if (known > 0) {
        stats_sort (sorted, known);
        same *= fabs (sorted[known / 2]);
        ps.floor = same * same;
        cut (&ps, sorted, known);
        best = choose (&ps);
        while (best.n > 1
               && apart (&best, least (&best, apart)) < CLUSTER_APART)
            unite_at (&best, least (&best, apart));
        hand_over (cl, &best);
        free (ps.p);
        free (best.p);
    }
    free (sorted);
}

void clusters_clear (struct clusters *cl)
{
    free (cl->c);
    *cl = (struct clusters){ 0 };
}

size_t clusters_of (const struct clusters *cl, double value)
{
    size_t i = 0;

    while (i + 1 < cl->n
           && value - cl->c[i].mean > cl->c[i + 1].mean - value)
        i++;
    return i;
}

/* Notes: each group stores its nearest group, so most steps examine one row of
 * the matrix, not all of it.
 */

struct linkage {
    uint32_t n;
    double *sum, *weight; /* [n * n] */
    bool *gone;           /* [n] into another one */
    uint32_t *near;       /* [n] the nearest group; itself: none */
};

static double mean (const struct linkage *k, uint32_t a, uint32_t b)
{
    double w = k->weight[(size_t)a * k->n + b];

    return w > 0 ? k->sum[(size_t)a * k->n + b] / w : INFINITY;
}

static void look_near (struct linkage *k, uint32_t a)
{
    uint32_t best = a;
    double min = INFINITY;

    for (uint32_t b = 0; b < k->n; b++)
        if (b != a && !k->gone[b] && mean (k, a, b) < min) {
            min = mean (k, a, b);
            best = b;
        }
    k->near[a] = best;
}

static void unite_groups (struct linkage *k, uint32_t a, uint32_t b)
{
    k->gone[b] = true;
    for (uint32_t c = 0; c < k->n; c++) {
        size_t to = (size_t)a * k->n + c, from = (size_t)b * k->n + c;

        if (c == a || k->gone[c])
            continue;
        k->sum[(size_t)c * k->n + a] = k->sum[to] += k->sum[from];
        k->weight[(size_t)c * k->n + a] = k->weight[to] += k->weight[from];
    }
    look_near (k, a);
    for (uint32_t c = 0; c < k->n; c++) {
        if (c == a || k->gone[c])
            continue;
        if (k->near[c] == a || k->near[c] == b)
            look_near (k, c);
        else if (mean (k, c, a) < mean (k, c, k->near[c]))
            k->near[c] = a;
    }
}

static uint32_t unite_all (struct linkage *k, struct merge *merge)
{
    for (uint32_t a = 0; a < k->n; a++)
        look_near (k, a);
    for (uint32_t n = 0;; n++) {
        uint32_t best = k->n;

        for (uint32_t a = 0; a < k->n; a++)
            if (!k->gone[a] && k->near[a] != a
                && (best == k->n
                    || mean (k, a, k->near[a]) < mean (k, best, k->near[best])))
                best = a;
        if (best == k->n)
            return n;
        merge[n] = (struct merge){
            best,
            k->near[best],
            mean (k, best, k->near[best]),
        };
        unite_groups (k, merge[n].a, merge[n].b);
    }
}

uint32_t linkage (uint32_t n, double *sum, double *weight, struct merge *merge)
{
    struct linkage k = {
        .n = n,
        .sum = sum,
        .weight = weight,
        .gone = xcalloc (n, sizeof (*k.gone)),
        .near = xarray (n, sizeof (*k.near)),
    };
    uint32_t merges = unite_all (&k, merge);

    free (k.gone);
    free (k.near);
    return merges;
}
