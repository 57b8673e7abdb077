/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Latency and throughput of pairs; times without the message's own. */
#include "config.h"
#include "compare/series/formats.h"

#include <math.h>
#include <stdlib.h>

#include "util/alloc.h"
#include "util/sort.h"

#define NS_PER_S 1e9
#define BITS 8

/*
 * Fit: with weights w = 1 / time^2 and weighted means of size and time, the
 * slope is Sxy / Sxx. The latency is the line's value at size 0.
 */

/* So that the lengths of a pair follow each other. */
static int compare_rows_by_pair (const void *x, const void *y)
{
    const struct series_row *p = *(const struct series_row *const *)x;
    const struct series_row *q = *(const struct series_row *const *)y;
    int order = util_compare (p->a, q->a);

    if (order == 0)
        order = util_compare (p->b, q->b);
    return order ? order : util_compare (p->length, q->length);
}

struct fit_sums {
    double w, x, y;       /* weights; weighted means */
    double xx, xy, yy;    /* sums of squares about the means */
};

static struct fit_sums sum (const struct series_row *const *p, size_t n,
                            enum series_stat stat)
{
    struct fit_sums s = { 0 };

    for (size_t i = 0; i < n; i++) {
        double y = p[i]->time_ns[stat];
        double w = 1 / (y * y);

        s.w += w;
        s.x += w * (double)p[i]->length;
        s.y += w * y;
    }
    s.x /= s.w;
    s.y /= s.w;
    for (size_t i = 0; i < n; i++) {
        double y = p[i]->time_ns[stat];
        double dx = (double)p[i]->length - s.x;

        s.xx += dx * dx / (y * y);
        s.xy += dx * (y - s.y) / (y * y);
        s.yy += (y - s.y) * (y - s.y) / (y * y);
    }
    return s;
}

/* Fit n > 1 points of one pair, of different lengths. */
static struct series_fit fit_pair_line (const struct series_row *const *p,
                                        size_t n, enum series_stat stat)
{
    struct fit_sums s = sum (p, n, stat);
    double slope = s.xy / s.xx;
    double residual = fmax (s.yy - slope * s.xy, 0);
    double dof = (double)n - 2;

    return (struct series_fit){
        .a = p[0]->a,
        .b = p[0]->b,
        .n = n,
        .latency_ns = s.y - slope * s.x,
        .stderr_ns = n > 2 ? sqrt (residual / dof
                                   * (1 / s.w + s.x * s.x / s.xx))
                           : NAN,
        .rate = slope > 0 ? NS_PER_S / slope : NAN,
        .r2 = s.yy > 0 ? 1 - residual / s.yy : NAN,
    };
}

struct series_fit *series_fit (const struct series *s, enum series_stat stat,
                               size_t *n, struct error *err)
{
    const struct series_row **p;
    struct series_fit *v;
    size_t points = 0, end;

    *n = 0;
    if (!series_stat_is_time (stat)) {
        error_input (err, "%s is not a time: no line fits it",
                     series_stat_names[stat]);
        return NULL;
    }
    p = xarray (s->npairs, sizeof (*p));
    for (size_t i = 0; i < s->npairs; i++)
        if (series_measured (&s->row[i]) && s->row[i].time_ns[stat] > 0)
            p[points++] = &s->row[i];
    qsort (p, points, sizeof (*p), compare_rows_by_pair);
    v = xarray (points / 2, sizeof (*v));
    for (size_t i = 0; i < points; i = end) {
        for (end = i + 1; end < points; end++)
            if (p[end]->a != p[i]->a || p[end]->b != p[i]->b)
                break;
        if (end - i > 1)
            v[(*n)++] = fit_pair_line (p + i, end - i, stat);
    }
    free (p);
    if (*n == 0) {
        error_input (err, "no pair has times at two lengths");
        free (v);
        v = NULL;
    }
    return v;
}

/*
 * Own time
 */

/* ns per byte from one endpoint to another. */
static int byte_time (const struct network *net, uint32_t from, uint32_t to,
                      enum own_time how, double *ns, struct error *err)
{
    uint32_t arc[PATH_MAX_HOPS];
    int n = net->walk (net->net, from, to, arc, err);

    *ns = 0;
    if (n < 0)
        return -1;
    for (int i = 0; i < n; i++) {
        const struct link_info *l = &net->link[arc_link (arc[i])];
        double hop;

        if (l->rate <= 0)
            return error_input (err, "the rate of link %s is not known", l->id);
        hop = BITS * NS_PER_S / l->rate;
        *ns = how == OWN_CUT_THROUGH ? fmax (*ns, hop) : *ns + hop;
    }
    return 0;
}

int series_less_own_time (struct series *s, const struct network *net,
                          const uint32_t *endpoint, enum own_time how,
                          struct error *err)
{
    for (size_t i = 0; i < s->npairs; i++) {
        struct series_row *p = &s->row[i];
        uint32_t a = endpoint[p->a], b = endpoint[p->b];
        double there, back;

        if (byte_time (net, a, b, how, &there, err) < 0
            || byte_time (net, b, a, how, &back, err) < 0)
            return error_prefix (err, "%s to %s", s->process[p->a].label,
                                 s->process[p->b].label);
        for (int k = 0; k < SERIES_STATS; k++) {
            if (k == SERIES_SD)
                continue;
            p->time_ns[k] -= (there + back) / 2 * (double)p->length;
            if (p->time_ns[k] < 0)
                p->time_ns[k] = NAN;
        }
    }
    return 0;
}
