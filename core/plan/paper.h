/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The source paper's own method, the baseline that plans are compared with.
 *
 * The paper's: the rows of all n(n-1)/2 pairs; Gaussian elimination, which
 * keeps a row if it is independent of those kept before, to a maximal
 * independent set; two of its probes conflict if they share a link or an
 * endpoint; the conflict graph is coloured by Welch and Powell's rule; a
 * colour is a round.
 *
 * Ours: the pairs' order, which the paper leaves open. Once as endpoints are
 * numbered, then at random as often as a counted effort allows, and the fewest
 * rounds are kept. Where there are few pairs, all maximal independent sets,
 * or as many as the effort allows, are coloured with as few colours as there
 * can be. The elimination is that of check/echelon.
 */
#ifndef CORE_PAPER_H
#define CORE_PAPER_H

#include "core/paths/paths.h"
#include "core/plan/plan.h"
#include "util/error.h"

enum {
    PAPER_HOSTS_MAX = 4096, /* all pairs of more are not looked at */
};

/* A plan of method "paper", without redundant rounds whatever opts says. The
 * same seed gives the same plan on every machine. NULL with err.
 */
struct plan *paper_make (struct pathset *ps, const struct plan_options *opts,
                         struct error *err);

/* The same with nothing of ours: the set found first, pairs being taken in the
 * order of their endpoints' numbers, and its colouring.
 */
struct plan *paper_make_first (struct pathset *ps,
                               const struct plan_options *opts,
                               struct error *err);

#endif /* CORE_PAPER_H */
