/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Redundant: rounds after those of the basis, chosen to reduce variance.
 *
 * A maximal independent set of rows determines everything that can be
 * determined, but some of it badly, and it leaves no residual in which an
 * outlier would show. Each redundant round takes the link-disjoint probes that
 * most reduce the variance of their links, given all probes before them; the
 * method is described in redundant.c.
 */
#ifndef CORE_REDUNDANT_H
#define CORE_REDUNDANT_H

#include <stddef.h>
#include <stdint.h>

#include "core/paths/paths.h"
#include "core/plan/basis.h"
#include "core/plan/plan.h"
#include "util/error.h"

/* Append `extra` rounds of candidates, pairs of the set, to the plan, each with
 * as many probes as fit; a probe may be repeated. None are added if there are
 * no candidates. The same seed gives the same rounds. Cost: per round the sum
 * of the squared lengths of all rows, and the entries of a sample of the
 * candidates. Return 0, or -1 with err.
 */
int redundant_extend (struct plan *plan, struct pathset *ps,
                      const struct basis *candidates, size_t extra,
                      uint64_t seed, struct error *err);

#endif /* CORE_REDUNDANT_H */
