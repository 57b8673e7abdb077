/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Three simple methods for comparison with the judge, on the same samples.
 *
 * naive: a row's median minus that of the same row of the baseline. The value
 * of a host is half the median over its rows, minus that of all hosts. It knows
 * only host links. sparse: the minima of rows minus those of the baseline,
 * minus their median, explained by the fewest links. The column that explains
 * most is added while it explains more than chance does (six standard
 * deviations of the noise, from the MAD of the residuals). All excesses are
 * then fitted again by least squares, and negative ones are dropped. voting:
 * in the manner of 007 (Arzani et al., NSDI 2018). Each flow that is slower by
 * `ns` than its pair's fast ones votes for the cables that it may cross but
 * others avoid, by their shares, as no trace tells which it does cross. The
 * cables with most votes are found, their voters leave, and so on while they
 * have a hundredth of all votes. Only where flows were kept.
 */
#ifndef BENCH_REFERENCE_H
#define BENCH_REFERENCE_H

#include <stddef.h>
#include <stdint.h>

#include "core/paths/paths.h"
#include "core/samples/samples.h"

enum { REFERENCES = 3, REFERENCE_FOUND = 16 };

/* Findings of a method: sets of links with the same column, the worst first. */
struct reference {
    size_t n;
    struct {
        uint32_t link[64];
        size_t nlinks;
        double excess_ns; /* in one direction */
    } found[REFERENCE_FOUND];
};

extern const char *const reference_names[REFERENCES];

/* Find what is slower by at least `ns`. Rows are those that both have. */
void reference_find (struct reference r[REFERENCES], struct pathset *ps,
                     const struct samples *run, const struct samples *base,
                     double ns);

#endif /* BENCH_REFERENCE_H */
