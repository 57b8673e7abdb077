/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Halve: what a switch can carry at most, by the hosts behind its ports.
 *
 * Hosts of one half of its subtrees talk to those of the other: the more
 * evenly it is halved, the more pairs cross the switch at a time. Subtrees of
 * 2, 3, 3, 4 and 6 hosts give 9 and 9.
 */
#ifndef COMPARE_HALVE_H
#define COMPARE_HALVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

enum { HALVE_SUM_MAX = 1 << 22 }; /* of all weights */

/* Divide n weights into two halves whose sums differ by as little as any two
 * do. second[i]: weight i is in the second half, the lighter one where they
 * differ; its sum is returned in *sum. Exact, by the sums that can be reached
 * with ever more of the weights: n times half of their total. Return 0, or -1
 * with err.
 */
int halve (const uint32_t *weight, size_t n, bool *second, uint32_t *sum,
           struct error *err);

#endif /* COMPARE_HALVE_H */
