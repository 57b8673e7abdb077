/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The method of the source paper: the baseline for comparing plans.
 *
 * From the paper: the rows of all n(n-1)/2 pairs; Gaussian elimination, which
 * keeps a row if it is independent of those kept before, gives a maximal
 * independent set; two of its probes conflict if they share a link or an
 * endpoint; the conflict graph is coloured by Welch and Powell's rule; a colour
 * is a round.
 *
 * Ours: the order of the pairs, which the paper leaves open. First the order of
 * endpoint numbers, then random orders as often as a counted effort allows; the
 * fewest rounds are kept. If there are few pairs, all maximal independent sets,
 * or as many as the effort allows, are coloured with the minimum number of
 * colours.
 */
#ifndef CORE_PAPER_H
#define CORE_PAPER_H

#include "core/paths/paths.h"
#include "core/plan/plan.h"
#include "util/error.h"

enum {
    PAPER_HOSTS_MAX = 4096, /* jobs with more are not planned */
};

/* A plan of method "paper", without redundant rounds (opts->extra_rounds is
 * ignored). The same seed gives the same plan on every machine. NULL with err.
 */
struct plan *paper_make (struct pathset *ps, const struct plan_options *opts,
                         struct error *err);

/* The same without our additions: the set that is found first, with pairs in
 * the order of their endpoints' numbers, and its colouring.
 */
struct plan *paper_make_first (struct pathset *ps,
                               const struct plan_options *opts,
                               struct error *err);

#endif /* CORE_PAPER_H */
