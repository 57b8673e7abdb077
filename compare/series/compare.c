/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "compare/series/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/sort.h"

#define NONE UINT32_MAX

/* Processes by label; if labels are equal, by number. */
struct label_index {
    const char *label;
    uint32_t index;
};

static int compare_names (const void *x, const void *y)
{
    const struct label_index *p = x, *q = y;
    int order = strcmp (p->label, q->label);

    return order ? order : util_compare (p->index, q->index);
}

static struct label_index *sorted_names (const struct series *s)
{
    struct label_index *v = xarray (s->nprocesses, sizeof (*v));

    for (uint32_t i = 0; i < s->nprocesses; i++)
        v[i] = (struct label_index){ s->process[i].label, i };
    qsort (v, s->nprocesses, sizeof (*v), compare_names);
    return v;
}

/* [process of x] the same process in y, or NONE. */
static uint32_t *match (const struct series *x, const struct series *y)
{
    struct label_index *p = sorted_names (x);
    struct label_index *q = sorted_names (y);
    uint32_t *map = xarray (x->nprocesses, sizeof (*map));
    uint32_t k = 0;

    for (uint32_t i = 0; i < x->nprocesses; i++) {
        while (k < y->nprocesses && strcmp (q[k].label, p[i].label) < 0)
            k++;
        map[p[i].index] = NONE;
        if (k < y->nprocesses && !strcmp (q[k].label, p[i].label))
            map[p[i].index] = q[k++].index;
    }
    free (p);
    free (q);
    return map;
}

/* One series, as seen from the other. */
struct view {
    const struct series *s;
    uint32_t *map;       /* the other series' processes in s */
    bool any_length;     /* both have one length each */
    enum series_stat stat;
};

/* The same pair as the other's p; NULL: s does not have it. */
static const struct series_pair *twin (const struct view *v,
                                       const struct series_pair *p)
{
    uint64_t length = v->any_length ? v->s->length[0] : p->length;
    uint32_t a = v->map[p->a], b = v->map[p->b];
    const struct series_pair *q
        = a == NONE || b == NONE ? NULL : series_at (v->s, a, b, length);

    return series_measured (q) && !isnan (q->time_ns[v->stat]) ? q : NULL;
}

static void add (struct deviation *d, double x, const struct series_pair *at)
{
    d->mean += x;
    d->absolute += fabs (x);
    d->quadratic += x * x;
    if (!d->at || fabs (x) > fabs (d->max)) {
        d->max = x;
        d->at = at;
    }
}

static void finish (struct deviation *d, size_t n)
{
    if (n == 0) {
        *d = (struct deviation){ NAN, NAN, NAN, NAN, NULL };
        return;
    }
    d->mean /= (double)n;
    d->absolute /= (double)n;
    d->quadratic = sqrt (d->quadratic / (double)n);
}

/* Pairs of s that the other series lacks go to `only`. */
static void split (struct series_comparison *c, const struct series *s,
                   const struct view *other, int which)
{
    size_t relative = 0;

    c->only[which] = xarray (s->npairs, sizeof (*c->only[0]));
    for (size_t i = 0; i < s->npairs; i++) {
        const struct series_pair *p = &s->pair[i];
        const struct series_pair *q = twin (other, p);
        double x = p->time_ns[c->stat];

        if (!series_measured (p) || isnan (x))
            continue;
        if (!q) {
            c->only[which][c->nonly[which]++] = p;
        } else if (which == 0) {
            double d = q->time_ns[c->stat] - x;

            add (&c->ns, d, p);
            c->n++;
            if (x > 0) {
                add (&c->relative, d / x, p);
                relative++;
            }
            else if (d > 0) {
                c->boundless = true;
            }
        }
    }
    if (which == 0) {
        finish (&c->ns, c->n);
        finish (&c->relative, relative);
    }
}

int series_compare (struct series_comparison *c, const struct series *x,
                    const struct series *y, enum series_stat stat,
                    struct error *err)
{
    bool any_length = x->nlengths == 1 && y->nlengths == 1;
    enum series_stat of_one = series_stat_known (x, stat);
    enum series_stat of_both = series_stat_known (y, of_one);
    struct view of_x = { x, NULL, any_length, of_both };
    struct view of_y = { y, NULL, any_length, of_both };

    *c = (struct series_comparison){ .stat = of_both };
    if (series_stat_known (x, of_both) != of_both)
        return error_input (err, "one knows the %s of its pairs, the other "
                                 "the %s",
                            series_stat_name (of_one),
                            series_stat_name (of_both));
    of_x.map = match (y, x);
    of_y.map = match (x, y);
    split (c, x, &of_y, 0);
    split (c, y, &of_x, 1);
    free (of_x.map);
    free (of_y.map);
    return 0;
}

void comparison_clear (struct series_comparison *c)
{
    free (c->only[0]);
    free (c->only[1]);
    *c = (struct series_comparison){ 0 };
}
