/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare/series/series.h"
#include "util/alloc.h"
#include "util/sort.h"

#define NONE UINT32_MAX

/* Order processes by label, of equal labels by number. */
static int compare_process_labels (const void *x, const void *y)
{
    const struct series_process *p = *(struct series_process *const *)x;
    const struct series_process *q = *(struct series_process *const *)y;
    int order = strcmp (p->label, q->label);

    return order ? order : util_compare (p, q);
}

static const struct series_process **sorted (const struct series *s)
{
    const struct series_process **v = xarray (s->nprocesses, sizeof (*v));

    for (uint32_t i = 0; i < s->nprocesses; i++)
        v[i] = &s->process[i];
    qsort (v, s->nprocesses, sizeof (*v), compare_process_labels);
    return v;
}

/* [process of x] the same process in y, or NONE. */
static uint32_t *match_processes (const struct series *x,
                                  const struct series *y)
{
    const struct series_process **p = sorted (x), **q = sorted (y);
    uint32_t *map = xarray (x->nprocesses, sizeof (*map));
    uint32_t k = 0;

    for (uint32_t i = 0; i < x->nprocesses; i++) {
        uint32_t *to = &map[p[i] - x->process];

        while (k < y->nprocesses && strcmp (q[k]->label, p[i]->label) < 0)
            k++;
        *to = k < y->nprocesses && !strcmp (q[k]->label, p[i]->label)
                  ? (uint32_t)(q[k++] - y->process)
                  : NONE;
    }
    free (p);
    free (q);
    return map;
}

static void add_deviation (struct deviation *d, double x,
                           const struct series_row *at)
{
    d->mean += x;
    d->absolute += fabs (x);
    d->quadratic += x * x;
    if (!d->at || fabs (x) > fabs (d->max)) {
        d->max = x;
        d->at = at;
    }
}

static void finish_deviation (struct deviation *d, size_t n)
{
    if (n == 0) {
        *d = (struct deviation){ NAN, NAN, NAN, NAN, NULL };
        return;
    }
    d->mean /= (double)n;
    d->absolute /= (double)n;
    d->quadratic = sqrt (d->quadratic / (double)n);
}

/* Add the deviations of the pairs of x from those of y; the pairs that y lacks
 * go to c->only[which]. map[process of x]: in y.
 */
static void add_pair_deviations (struct series_comparison *c,
                                 const struct series *x, const struct series *y,
                                 int which)
{
    bool any_length = x->nlengths == 1 && y->nlengths == 1;
    uint32_t *map = match_processes (x, y);
    size_t n = 0, relative = 0;

    c->only[which] = xarray (x->npairs, sizeof (*c->only[0]));
    for (size_t i = 0; i < x->npairs; i++) {
        const struct series_row *p = &x->row[i], *q = NULL;
        uint32_t a = map[p->a], b = map[p->b];
        double time = p->time_ns[c->stat], d;

        if (!series_measured (p) || isnan (time))
            continue;
        if (a != NONE && b != NONE)
            q = series_at (y, a, b, any_length ? y->length[0] : p->length);
        if (!series_measured (q) || isnan (q->time_ns[c->stat])) {
            c->only[which][c->nonly[which]++] = p;
            continue;
        }
        if (which == 1)
            continue;
        d = q->time_ns[c->stat] - time;
        add_deviation (&c->ns, d, p);
        n++;
        if (time > 0) {
            add_deviation (&c->relative, d / time, p);
            relative++;
        }
        else if (d > 0)
            c->boundless = true;
    }
    if (which == 0) {
        c->n = n;
        finish_deviation (&c->ns, n);
        finish_deviation (&c->relative, relative);
    }
    free (map);
}

int series_compare (struct series_comparison *c, const struct series *x,
                    const struct series *y, enum series_stat stat,
                    struct error *err)
{
    enum series_stat of_one = series_stat_known (x, stat);
    enum series_stat of_both = series_stat_known (y, of_one);

    *c = (struct series_comparison){ .stat = of_both };
    if (series_stat_known (x, of_both) != of_both)
        return error_input (err, "one knows the %s of its pairs, the other the "
                                 "%s", series_stat_names[of_one],
                            series_stat_names[of_both]);
    add_pair_deviations (c, x, y, 0);
    add_pair_deviations (c, y, x, 1);
    return 0;
}

void comparison_clear (struct series_comparison *c)
{
    free (c->only[0]);
    free (c->only[1]);
    *c = (struct series_comparison){ 0 };
}
