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

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/linear/stats.h"
#include "util/alloc.h"

enum { GRAINS = 1024 };

#define RESOLUTION 1e-6 /* relative: closer values are equal */

static struct cluster unite (const struct cluster *a, const struct cluster *b)
{
    double n = (double)(a->n + b->n), apart = b->mean - a->mean;

    return (struct cluster){
        .n = a->n + b->n,
        .mean = a->mean + apart * ((double)b->n / n),
        .squares = a->squares + b->squares
                   + apart * apart * ((double)a->n * (double)b->n / n),
    };
}

/* Unite piece i with the next one. */
static void unite_at (struct clusters *ps, size_t i)
{
    ps->c[i] = unite (&ps->c[i], &ps->c[i + 1]);
    ps->n--;
    memmove (&ps->c[i + 1], &ps->c[i + 2], (ps->n - i - 1) * sizeof (*ps->c));
}

/* How much uniting two neighbours adds to the sum of squares. */
static double loss (const struct cluster *a, double floor)
{
    (void)floor;
    return unite (&a[0], &a[1]).squares - a[0].squares - a[1].squares;
}

/* Their distance in standard deviations; floor: a variance at least. */
static double apart (const struct cluster *a, double floor)
{
    double var = (a[0].squares + a[1].squares) / (double)(a[0].n + a[1].n);

    return (a[1].mean - a[0].mean) / sqrt (fmax (var, floor));
}

/* The piece for which `value`, of it and the next one, is least. *min: it. */
static size_t
find_least_piece (const struct clusters *ps, double floor,
                  double (*value) (const struct cluster *, double), double *min)
{
    size_t best = 0;

    *min = INFINITY;
    for (size_t i = 0; i + 1 < ps->n; i++) {
        double v = value (&ps->c[i], floor);

        if (v < *min) {
            *min = v;
            best = i;
        }
    }
    return best;
}

static double criterion (const struct clusters *ps, size_t values,
                         double floor)
{
    double n = (double)values, p = 2.0 * (double)ps->n - 1, sum = 0;

    if (n - p - 1 <= 0)
        return ps->n == 1 ? 0 : INFINITY;
    for (size_t i = 0; i < ps->n; i++)
        sum += ps->c[i].squares;
    return n * log (fmax (sum / n, floor)) + p * log (n) * n / (n - p - 1);
}

/* Cut sorted values into pieces, where gaps are wider than all but GRAINS. */
static struct clusters cut (const double *v, size_t n)
{
    struct clusters ps
        = { xarray (n < GRAINS ? n : GRAINS, sizeof (*ps.c)), 0 };
    double narrow = 0;

    if (n > GRAINS) {
        double *gap = xarray (n, sizeof (*gap));

        for (size_t i = 0; i + 1 < n; i++)
            gap[i] = v[i + 1] - v[i];
        stats_sort (gap, n - 1);
        narrow = gap[n - 1 - GRAINS];
        free (gap);
    }
    for (size_t i = 0; i < n; i++) {
        struct cluster one = { 1, v[i], 0 };

        if (i > 0 && v[i] - v[i - 1] <= narrow)
            ps.c[ps.n - 1] = unite (&ps.c[ps.n - 1], &one);
        else
            ps.c[ps.n++] = one;
    }
    return ps;
}

void clusters_find (struct clusters *cl, const double *v, size_t n, double eps)
{
    double *sorted = xarray (n, sizeof (*sorted));
    double floor = fmax (eps, RESOLUTION) / CLUSTER_APART, min = INFINITY, d;
    struct clusters ps;
    size_t known = 0, i;

    *cl = (struct clusters){ xarray (CLUSTER_MAX, sizeof (*cl->c)), 0 };
    for (i = 0; i < n; i++)
        if (!isnan (v[i]))
            sorted[known++] = v[i];
    stats_sort (sorted, known);
    if (known > 0)
        floor *= fabs (sorted[known / 2]);
    floor *= floor;
    ps = cut (sorted, known);
    while (ps.n > 0) {
        double value = ps.n <= CLUSTER_MAX ? criterion (&ps, known, floor)
                                           : INFINITY;

        if (value < min || (ps.n == 1 && value <= min)) {
            min = value;
            cl->n = ps.n;
            memcpy (cl->c, ps.c, ps.n * sizeof (*ps.c));
        }
        if (ps.n == 1)
            break;
        unite_at (&ps, find_least_piece (&ps, floor, loss, &d));
    }
    for (i = find_least_piece (cl, floor, apart, &d); d < CLUSTER_APART;
         i = find_least_piece (cl, floor, apart, &d))
        unite_at (cl, i);
    free (ps.c);
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
    double min = INFINITY;

    k->near[a] = a;
    for (uint32_t b = 0; b < k->n; b++)
        if (b != a && !k->gone[b] && mean (k, a, b) < min) {
            min = mean (k, a, b);
            k->near[a] = b;
        }
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

uint32_t linkage (uint32_t n, double *sum, double *weight, struct merge *merge)
{
    struct linkage k = {
        .n = n, .sum = sum, .weight = weight,
        .gone = xcalloc (n, sizeof (*k.gone)),
        .near = xarray (n, sizeof (*k.near)),
    };
    uint32_t merges = 0, best;

    for (uint32_t a = 0; a < n; a++)
        look_near (&k, a);
    for (;;) {
        best = n;
        for (uint32_t a = 0; a < n; a++)
            if (!k.gone[a] && k.near[a] != a
                && (best == n
                    || mean (&k, a, k.near[a])
                           < mean (&k, best, k.near[best])))
                best = a;
        if (best == n)
            break;
        merge[merges] = (struct merge){
            .a = best, .b = k.near[best], .mean = mean (&k, best, k.near[best]),
            .pairs = weight[(size_t)best * n + k.near[best]],
        };
        unite_groups (&k, best, merge[merges++].b);
    }
    free (k.gone);
    free (k.near);
    return merges;
}
