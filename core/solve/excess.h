/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Switches whose links are all slow by the same amount.
 *
 * A switch adds to a round trip by two of its links, so the column of a switch
 * is half the sum of those of its links, and no probes can resolve a slow
 * switch from links that all happen to be slow. But it is unlikely that all are
 * slow by the same amount. So a common excess of a switch's links over their
 * classes is tested, and reported for the switch.
 */
#ifndef CORE_EXCESS_H
#define CORE_EXCESS_H

#include <stdint.h>

#include "core/linear/covariance.h"
#include "core/paths/paths.h"
#include "core/solve/solution.h"

/* Fill the switches of the solution from its links. Link i of the solution is
 * unknown unknown[i] of the covariance, NETWORK_NONE if it is not determined;
 * factor is that of variances, NAN if it is not known.
 */
void excess_find (struct solution *s, const struct network *net,
                  const uint32_t *unknown, const struct covariance *c,
                  double factor);

#endif /* CORE_EXCESS_H */
