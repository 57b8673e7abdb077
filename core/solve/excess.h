/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Switches whose links are slow all alike.
 *
 * What a switch adds to a round trip it adds by two of its links, so the
 * column of a switch is half the sum of those of its links, and no probes
 * tell a slow switch from links that all happen to be slow. But that they all
 * happen to be, by the same amount, is not what to believe: a common excess
 * of a switch's links over their classes is tested, and named as the
 * switch's.
 */
#ifndef CORE_EXCESS_H
#define CORE_EXCESS_H

#include <stdint.h>

#include "core/linear/covariance.h"
#include "core/paths/paths.h"
#include "core/solve/solution.h"

/* Fill the switches of the solution from its links. Link i of it is unknown
 * unknown[i] of the covariance, NETWORK_NONE where it is not determined;
 * factor is that of variances, NAN where none is known.
 */
void excess_find (struct solution *s, const struct network *net,
                  const uint32_t *unknown, const struct covariance *c,
                  double factor);

#endif /* CORE_EXCESS_H */
