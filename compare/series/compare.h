/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two series side by side: by how much the pairs of one deviate from those of
 * the other.
 */
#ifndef COMPARE_COMPARE_H
#define COMPARE_COMPARE_H

#include <stdbool.h>
#include <stddef.h>

#include "compare/series/series.h"
#include "util/error.h"

/* Of d = y - x over the pairs of both. */
struct deviation {
    double mean, absolute, quadratic; /* of d, of |d|, root of that of d^2 */
    double max;                       /* the d of greatest |d|, signed */
    const struct series_pair *at;     /* of x, where that is */
};

struct series_comparison {
    enum series_stat stat; /* what was compared */
    size_t n;              /* pairs, at each length, that both have */
    struct deviation ns;
    struct deviation relative; /* of d / x; pairs of x > 0 */
    bool boundless;            /* one of x = 0 deviates */
    const struct series_pair **only[2]; /* those that x, that y alone has */
    size_t nonly[2];
};

/* Compare what stat says of each pair (where one series does not know it,
 * what both know: else an error). Processes are the same that have the same
 * label, of several the first and the first, and so on. Where both series have
 * one length, that need not be the same: a solution's is 0. Both are sorted
 * and outlive the result. Return 0, or -1 with err; comparison_clear is due
 * after 0. With n 0 the deviations are NAN.
 */
int series_compare (struct series_comparison *c, const struct series *x,
                    const struct series *y, enum series_stat stat,
                    struct error *err);
void comparison_clear (struct series_comparison *c);

#endif /* COMPARE_COMPARE_H */
