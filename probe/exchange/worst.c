/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "probe/exchange/worst.h"

#include <stdbool.h>
#include <stdlib.h>

struct bad {
    uint32_t low, high; /* of the pair */
    bool swapped;       /* it is (high, low) */
    double factor;      /* over the median of all */
};

static int compare_doubles (const void *x, const void *y)
{
    double a = *(const double *)x;
    double b = *(const double *)y;

    return (a > b) - (a < b);
}

static int worse_first (const void *x, const void *y)
{
    const struct bad *a = x;
    const struct bad *b = y;

    return (a->factor < b->factor) - (a->factor > b->factor);
}

/* By pair, the worse of its two first. */
static int by_pair (const void *x, const void *y)
{
    const struct bad *a = x;
    const struct bad *b = y;

    if (a->low != b->low)
        return a->low < b->low ? -1 : 1;
    if (a->high != b->high)
        return a->high < b->high ? -1 : 1;
    return worse_first (x, y);
}

static bool counts (const struct series_pair *pair)
{
    return series_measured (pair) && pair->a != pair->b;
}

/* Rate n pairs of one length; v has room for as many. Returns how many count.
 */
static size_t rate (const struct series_pair *pair, size_t n, double *v,
                    struct bad *bad)
{
    size_t count = 0;

    for (size_t i = 0; i < n; i++)
        if (counts (&pair[i])) {
            bool swapped = pair[i].a > pair[i].b;

            v[count] = pair[i].time_ns[SERIES_MEDIAN];
            bad[count] = (struct bad){ swapped ? pair[i].b : pair[i].a,
                                       swapped ? pair[i].a : pair[i].b,
                                       swapped, v[count] };
            count++;
        }
    qsort (v, count, sizeof (*v), compare_doubles);
    for (size_t i = 0; i < count && v[count / 2] > 0; i++)
        bad[i].factor /= v[count / 2];
    return count;
}

static size_t rate_all (const struct series *s, double *v, struct bad *bad)
{
    size_t count = 0;
    size_t end;

    for (size_t i = 0; i < s->npairs; i = end) {
        for (end = i + 1; end < s->npairs
                          && s->pair[end].length == s->pair[i].length; end++)
            ;
        count += rate (&s->pair[i], end - i, v, bad + count);
    }
    return count;
}

int worst_pairs (const struct series *s, struct probe *pair, int n,
                 struct error *err)
{
    struct bad *bad = calloc (s->npairs + 1, sizeof (*bad));
    double *v = calloc (s->npairs + 1, sizeof (*v));
    size_t count, kept = 0;
    int i;

    if (!bad || !v) {
        free (bad);
        free (v);
        return error_nomem (err);
    }
    count = rate_all (s, v, bad);
    qsort (bad, count, sizeof (*bad), by_pair);
    for (size_t k = 0; k < count; k++)
        if (kept == 0 || bad[k].low != bad[kept - 1].low
            || bad[k].high != bad[kept - 1].high)
            bad[kept++] = bad[k];
    qsort (bad, kept, sizeof (*bad), worse_first);
    for (i = 0; i < n && (size_t)i < kept; i++)
        pair[i] = bad[i].swapped ? (struct probe){ bad[i].high, bad[i].low }
                                 : (struct probe){ bad[i].low, bad[i].high };
    free (bad);
    free (v);
    return i;
}
