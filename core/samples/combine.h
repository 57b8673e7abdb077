/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Combine: merge observations from many sets of samples, taken at different
 * times, into one per row. Links that no single set determines can then be
 * solved from all together, with work that grows with the number of distinct
 * rows.
 */
#ifndef CORE_COMBINE_H
#define CORE_COMBINE_H

#include <stddef.h>

#include "core/paths/paths.h"
#include "core/samples/observe.h"
#include "util/error.h"

/* The observations so far. */
struct combine;
struct combine *combine_create (void);
void combine_destroy (struct combine *c);

/* Add observations, all between endpoints of one set of paths, with a share, 0
 * < share <= 1, of their weight: the variance is multiplied by 1 / share, for
 * data that may be out of date.
 */
void combine_add (struct combine *c, const struct observations *o,
                  double share);

/* One observation per pair: the weighted mean, in round 0, with the variance of
 * that mean. If the observations of the typical pair scatter more than their
 * variances allow, all variances are increased by that factor. If only a few
 * pairs scatter, something changed: that shows in their means. Return 0, or -1
 * with err; call observations_clear in both cases.
 */
int combine_finish (const struct combine *c, const struct pathset *ps,
                    struct observations *o, struct error *err);

#endif /* CORE_COMBINE_H */
