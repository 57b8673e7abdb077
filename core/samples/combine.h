/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Combine: observations of many sets of samples, taken at different times,
 * into one of each row. What no set tells by itself is so solved for from all
 * together, with work that grows with the rows that differ.
 */
#ifndef CORE_COMBINE_H
#define CORE_COMBINE_H

#include <stddef.h>

#include "core/paths/paths.h"
#include "core/samples/observe.h"
#include "util/error.h"

/* Observations so far. NULL with errno ENOMEM. */
struct combine;
struct combine *combine_create (void);
void combine_destroy (struct combine *c);

/* Take in observations, all between endpoints of one set of paths. Of what
 * each says a share counts, 0 < share <= 1: as if its variance was 1 / share
 * times what it is, like that of what may have changed since. Return 0, or -1
 * with errno ENOMEM.
 */
int combine_add (struct combine *c, const struct observations *o,
                 double share);

/* Each pair's once: the weighted mean, of round 0. Its variance is that of the
 * mean; if observations of one pair scatter by more than theirs lets expect,
 * with most pairs, all are so much greater. Where something changed, few do:
 * that shows in the mean. Return 0, or -1 with err; observations_clear is due
 * in both cases.
 */
int combine_finish (const struct combine *c, const struct pathset *ps,
                    struct observations *o, struct error *err);

#endif /* CORE_COMBINE_H */
