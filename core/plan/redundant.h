/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Redundant: rounds behind those of the basis, chosen for what they buy.
 *
 * A maximal independent set of rows determines all that can be determined, but
 * some of it badly, and it leaves no residual by which an outlier would show.
 * Each redundant round takes the probes, link-disjoint as ever, that most
 * lower the variance of their links given all probes before them; the method
 * is described in redundant.c.
 */
#ifndef CORE_REDUNDANT_H
#define CORE_REDUNDANT_H

#include <stddef.h>
#include <stdint.h>

#include "core/paths/paths.h"
#include "core/plan/basis.h"
#include "core/plan/plan.h"
#include "util/error.h"

/* Append `extra` rounds of candidates, pairs of the set, to the plan. As many
 * probes as fit; a probe may come again. None are added where there is no
 * candidate. The same seed gives the same rounds. Cost: per round a few dozen
 * least squares solves, and the entries of the candidates some dozen times.
 * Return 0, or -1 with err.
 */
int redundant_extend (struct plan *plan, struct pathset *ps,
                      const struct basis *candidates, size_t extra,
                      uint64_t seed, struct error *err);

#endif /* CORE_REDUNDANT_H */
