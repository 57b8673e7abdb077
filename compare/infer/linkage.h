/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Average linkage: what is near to each other becomes a group, the two groups
 * first whose pairs are nearest in the mean.
 *
 * Made for twins and rest.
 */
#ifndef COMPARE_LINKAGE_H
#define COMPARE_LINKAGE_H

#include <stdint.h>

struct merge {
    uint32_t a, b; /* b's group goes into a's; one is called by a member */
    double mean;   /* of the pairs between them */
};

/* Link n, of which each pair has a weight (0: not known) and a value times its
 * weight, in symmetric matrices [n * n] that are used up. Return how many
 * merges there are in merge [n - 1], by rising mean; -1 with errno ENOMEM.
 * Cost: n^2 to n^3.
 */
int64_t linkage (uint32_t n, double *sum, double *weight, struct merge *merge);

#endif /* COMPARE_LINKAGE_H */
