/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Solution: latencies, as far as the measured paths determine them.
 *
 * Made by solve/solve. Written for people and tools. File: JSON, kind
 * "solution".
 *
 * A latency is the one-way time over a cable plus half the crossing of either
 * device, in ns, the mean of the two directions; a pair's RTT is row . latency.
 * What is not determined is NAN here and null in the file.
 */
#ifndef CORE_SOLUTION_H
#define CORE_SOLUTION_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "core/paths/paths.h"
#include "util/error.h"
#include "util/pool.h"

struct link_estimate {
    uint32_t link;
    double latency_ns; /* NAN: not determined, except in groups */
    double stderr_ns;  /* NAN if latency_ns is, or no spread is known */
};

/* p/q times the latency of a link; q == 0: not an exact fraction. */
struct group_member {
    uint32_t link;
    int64_t p, q;
};

/* A combination of links whose sum is determined but whose members are not: a
 * row of the reduced row echelon form with more than one entry.
 */
struct link_group {
    struct group_member *member; /* pivot first, with 1/1 */
    size_t n;
    double latency_ns, stderr_ns;
};

struct pair_estimate {
    uint32_t a, b; /* endpoints of the set, a < b */
    double rtt_ns, stderr_ns;
};

/* A switch whose links are slower than others of their classes, all by about
 * the same amount: the excess of each link.
 */
struct switch_excess {
    uint32_t sw; /* of the network */
    double excess_ns, stderr_ns;
    uint32_t *link; /* [n] those that show it */
    size_t n;
};

struct solution {
    struct pool *pool;          /* has all of it */
    struct link_estimate *link; /* the job's links, sorted */
    size_t nlinks;
    struct link_group *group;
    size_t ngroups;
    size_t unlisted;            /* groups of too many links to be useful */
    struct pair_estimate *pair; /* only if requested, and determined */
    size_t npairs;
    struct switch_excess *sw; /* significant ones, the most significant first */
    size_t nswitches;
    size_t switches_tested;
    size_t rows;        /* measured */
    size_t rank;        /* of them */
    size_t dof;         /* rows - rank */
    double residual_ns; /* root mean square of RTT - fit */
    size_t outliers;    /* rows with less than a quarter of their weight: only
                           if the solution is robust */
    double r2;          /* 1 - residual / total sum of squares; NAN: dof 0 */
};

void solution_destroy (struct solution *s);

/* Write the file; groups are called "g1", "g2", ... in order. Return 0, or -1
 * with err.
 */
int solution_write (const struct solution *s, const struct pathset *ps,
                    FILE *fp, struct error *err);

/* The file as a JSON object, to which a caller may add members; its links are
 * in the solution's order. The caller frees it.
 */
json_t *solution_json (const struct solution *s, const struct pathset *ps);

/* Fill the switches from the links (excess.c). Link i of the solution is
 * unknown unknown[i] of the covariance, or NETWORK_NONE; factor: of variances,
 * or NAN.
 */
struct covariance;
void excess_find (struct solution *s, const struct network *net,
                  const uint32_t *unknown, const struct covariance *c,
                  double factor);

#endif /* CORE_SOLUTION_H */
