/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes: each group knows which one is nearest to it, so that most steps look
 * at a row of the matrix, not at all of it.
 */
#include "config.h"
#include "compare/infer/linkage.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

struct groups {
    uint32_t n;
    double *sum, *weight; /* [n * n] */
    bool *gone;           /* [n] into another one */
    uint32_t *near;       /* [n] to whom a group is nearest; itself: nobody */
};

static double mean (const struct groups *k, uint32_t a, uint32_t b)
{
    double w = k->weight[(size_t)a * k->n + b];

    return w > 0 ? k->sum[(size_t)a * k->n + b] / w : INFINITY;
}

static void look_near (struct groups *k, uint32_t a)
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

static void unite (struct groups *k, uint32_t a, uint32_t b)
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

static int64_t unite_all (struct groups *k, struct merge *merge)
{
    for (uint32_t a = 0; a < k->n; a++)
        look_near (k, a);
    for (int64_t n = 0;; n++) {
        uint32_t best = k->n;

        for (uint32_t a = 0; a < k->n; a++)
            if (!k->gone[a] && k->near[a] != a
                && (best == k->n
                    || mean (k, a, k->near[a])
                           < mean (k, best, k->near[best])))
                best = a;
        if (best == k->n)
            return n;
        merge[n] = (struct merge){
            best,
            k->near[best],
            mean (k, best, k->near[best]),
        };
        unite (k, merge[n].a, merge[n].b);
    }
}

int64_t linkage (uint32_t n, double *sum, double *weight, struct merge *merge)
{
    struct groups k = {
        .n = n,
        .sum = sum,
        .weight = weight,
        .gone = calloc ((size_t)n + 1, sizeof (*k.gone)),
        .near = calloc ((size_t)n + 1, sizeof (*k.near)),
    };
    int64_t merges = k.gone && k.near ? unite_all (&k, merge) : -1;

    free (k.gone);
    free (k.near);
    return merges;
}
