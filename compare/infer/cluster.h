/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Clusters of values on a line: latencies that are the same except for noise.
 *
 * Two adjacent clusters are separate if their means are further apart than
 * CLUSTER_APART times their common standard deviation; otherwise they overlap
 * and are one. (The halves of a uniform distribution are 3.5 apart, those of a
 * normal one 2.7.) The same rule separates a wide cluster from a narrow one.
 */
#ifndef COMPARE_CLUSTER_H
#define COMPARE_CLUSTER_H

#include <stddef.h>
#include <stdint.h>

#define CLUSTER_APART 4.0

enum {
    CLUSTER_MAX = 64, /* no more classes than this */
};

struct cluster {
    size_t n;
    double mean, squares; /* sum of squares about the mean */
};

struct clusters {
    struct cluster *c; /* by ascending mean */
    size_t n;
};

/* Find the clusters of the n values by the rule above; NANs are ignored. Values
 * that differ by no more than eps, relatively, are never separated. Cost: n log
 * n, and about 10^7 steps.
 */
void clusters_find (struct clusters *cl, const double *v, size_t n, double eps);
void clusters_clear (struct clusters *cl);

/* The cluster of a value: the one whose mean is nearest. */
size_t clusters_of (const struct clusters *cl, double value);

/* Average linkage: repeatedly merge the two groups with the smallest mean over
 * the pairs between them.
 */
struct merge {
    uint32_t a, b; /* b's group joins a's; each is named by one of its
                      members */
    double mean;   /* over the pairs between them */
    double pairs;  /* the weight of these */
};

/* Link n items. Each pair has a weight (0: not known) and a value times its
 * weight, in symmetric matrices [n * n], which are overwritten. Return the
 * number of merges in merge [n - 1], by ascending mean. Cost: n^2 to n^3.
 */
uint32_t linkage (uint32_t n, double *sum, double *weight, struct merge *merge);

#endif /* COMPARE_CLUSTER_H */
