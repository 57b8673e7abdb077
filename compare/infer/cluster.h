/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Clusters of values on a line: latencies that are the same but for noise.
 *
 * Two clusters next to each other are two if their means are further apart
 * than CLUSTER_APART times their common standard deviation; else they overlap
 * and are one. (Halves of an even spread are 3.5 apart, of a normal one 2.7.)
 * Clusters of which one is wide and one narrow are told by the same rule.
 */
#ifndef COMPARE_CLUSTER_H
#define COMPARE_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLUSTER_APART 4.0

enum {
    CLUSTER_MAX = 64, /* more classes than this are none */
};

struct cluster {
    double mean, sd;
    double min, max; /* of its values */
    size_t n;
};

struct clusters {
    struct cluster *c; /* by rising mean */
    size_t n;
};

/* Values compare relatively: a is less than b only if
 * 2 (b - a) / (a + b) > eps.
 */
bool cluster_less (double a, double b, double eps);

/* Find the clusters of the n values, NANs aside, by the rule above. Values
 * that differ by no more than eps (as above) are never told apart. Cost:
 * n log n, and some 10^7 steps.
 */
void clusters_find (struct clusters *cl, const double *v, size_t n, double eps);
void clusters_clear (struct clusters *cl);

/* The cluster of a value: the one whose mean is nearest. */
size_t clusters_of (const struct clusters *cl, double value);

/* Average linkage: what is near to each other becomes a group, the two groups
 * first whose pairs are nearest in the mean.
 */
struct merge {
    uint32_t a, b; /* b's group goes into a's; one is called by a member */
    double mean;   /* of the pairs between them */
};

/* Link n, of which each pair has a weight (0: not known) and a value times its
 * weight, in symmetric matrices [n * n] that are used up. Return how many
 * merges there are in merge [n - 1], by rising mean. Cost: n^2 to
 * n^3.
 */
uint32_t linkage (uint32_t n, double *sum, double *weight, struct merge *merge);

#endif /* COMPARE_CLUSTER_H */
