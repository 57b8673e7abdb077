/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compare two series: by how much the pairs of one deviate from those of the
 * other.
 */
#ifndef COMPARE_COMPARE_H
#define COMPARE_COMPARE_H

#include <stdbool.h>
#include <stddef.h>

#include "compare/series/series.h"
#include "util/error.h"

/* Of d = y - x over the pairs of both. */
struct deviation {
    double mean, absolute, quadratic; /* mean of d, mean of |d|, root mean
                                         square of d */
    double max;                       /* the d of greatest |d|, signed */
    const struct series_pair *at;     /* of x, where d is greatest */
};

struct series_comparison {
    enum series_stat stat; /* the statistic that was compared */
    size_t n;              /* number of pairs and lengths that both have */
    struct deviation ns;
    struct deviation relative; /* of d / x, pairs with x > 0 */
    bool boundless;            /* a pair with x = 0 deviates */
    const struct series_pair **only[2]; /* those that only x, that only y has */
    size_t nonly[2];
};

/* Compare statistic stat of each pair; if one series does not have it, a
 * statistic that both have; if there is none, it is an error. Processes with
 * the same label are the same; if a label occurs more than once, the first of x
 * is the first of y, and so on. If each series has one length, the lengths may
 * differ: that of a solution is 0. Both must be sorted and outlive the result.
 * Return 0, or -1 with err; call comparison_clear after 0. With n 0 the
 * deviations are NAN.
 */
int series_compare (struct series_comparison *c, const struct series *x,
                    const struct series *y, enum series_stat stat,
                    struct error *err);
void comparison_clear (struct series_comparison *c);

#endif /* COMPARE_COMPARE_H */
