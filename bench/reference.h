/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two simple methods that a judge has to beat, on the same samples.
 *
 * naive: a row's median over that of the same row of the baseline; a host's is
 * the median over its rows, less that of all hosts. It knows host links alone.
 * sparse: the minima of rows over those of the baseline, less their median, by
 * the fewest links: the column that explains most is added while it explains
 * more than chance does (six of the noise's standard deviations, by the MAD of
 * what is left), all excesses are fitted anew by least squares, and what is
 * negative is dropped.
 */
#ifndef BENCH_REFERENCE_H
#define BENCH_REFERENCE_H

#include <stddef.h>
#include <stdint.h>

#include "core/paths/paths.h"
#include "core/samples/samples.h"

enum { REFERENCES = 2, REFERENCE_FOUND = 16 };

/* What a method says: sets of links of one column, the worst first. */
struct reference {
    size_t n;
    struct {
        uint32_t link[64];
        size_t nlinks;
        double excess_ns; /* one way */
    } found[REFERENCE_FOUND];
};

extern const char *const reference_names[REFERENCES];

/* Find what is at least `ns` slow. Rows are those that both have. */
void reference_find (struct reference r[REFERENCES], struct pathset *ps,
                     const struct samples *run, const struct samples *base,
                     double ns);

#endif /* BENCH_REFERENCE_H */
