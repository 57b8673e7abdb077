/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "core/linear/stats.h"

#include <math.h>
#include <stdlib.h>

#include "util/sort.h"

void stats_sort (double *v, size_t n)
{
    qsort (v, n, sizeof (*v), compare_doubles);
}

double stats_quantile (const double *v, size_t n, double p)
{
    double h = (double)(n - 1) * p;
    size_t i = (size_t)h;

    if (i + 1 >= n)
        return v[n - 1];
    return v[i] + (h - (double)i) * (v[i + 1] - v[i]);
}

double stats_median_error (const double *v, size_t n)
{
    double off = 0.5 / sqrt ((double)n);

    if (n < 2)
        return NAN;
    return (stats_quantile (v, n, 0.5 + off) - stats_quantile (v, n, 0.5 - off))
           / 2;
}

/* Put the value of rank k at its place, with none before it that is greater and
 * none after it that is less (Hoare, "Algorithm 65: find", 1961).
 */
static void select_rank (double *v, size_t n, size_t k)
{
    ptrdiff_t low = 0, high = (ptrdiff_t)n - 1, rank = (ptrdiff_t)k;

    while (low < high) {
        double pivot = v[rank];
        ptrdiff_t i = low, j = high;

        do {
            while (v[i] < pivot)
                i++;
            while (v[j] > pivot)
                j--;
            if (i <= j) {
                double t = v[i];

                v[i++] = v[j];
                v[j--] = t;
            }
        } while (i <= j);
        if (j < rank)
            low = i;
        if (rank < i)
            high = j;
    }
}

double stats_median (double *v, size_t n)
{
    size_t middle = (n - 1) / 2;

    select_rank (v, n, middle);
    if (n % 2 == 0)
        select_rank (v + middle + 1, n - middle - 1, 0);
    return stats_quantile (v, n, 0.5);
}

double stats_mad (double *v, size_t n, double centre)
{
    for (size_t i = 0; i < n; i++)
        v[i] = fabs (v[i] - centre);
    return 1.4826 * stats_median (v, n);
}

double stats_normal_two_sided (double p)
{
    double lo = 0;
    double hi = 40;

    /* erfc decreases: bisect until the doubles are equal */
    for (int i = 0; i < 80; i++) {
        double z = (lo + hi) / 2;

        if (erfc (z * M_SQRT1_2) > p)
            lo = z;
        else
            hi = z;
    }
    return hi;
}
