/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A fabric beside a topology that was inferred from latencies alone: where the
 * two disagree, by names.
 *
 * Made by against_compare; read by `pmm infer --against`.
 *
 * Hosts are compared by who shares a switch with whom, switches by how far
 * they are from each other: all that latencies can tell. So a switch is known
 * by its hosts, and who has less than two that were measured is not compared;
 * nor is what lies between such switches, but by its length: of spines side by
 * side latencies see one. How long a way of so many cables is, the ways of the
 * snapshot tell, by the median of those that have as many.
 */
#ifndef COMPARE_AGAINST_H
#define COMPARE_AGAINST_H

#include <stddef.h>
#include <stdint.h>

#include "compare/infer/model.h"
#include "ibquery/fabric.h"
#include "util/error.h"

/* Hosts that the snapshot has on one switch, and latencies on another. */
struct against_hosts {
    uint32_t *endpoint; /* of the fabric */
    size_t n;
    uint32_t at;        /* node: their switch in the snapshot */
    uint32_t with;      /* node: the switch with whose hosts they are by
                           latency; FABRIC_NONE: with none's */
};

/* Two switches that are nearer to each other or farther than the snapshot has
 * it.
 */
struct against_way {
    uint32_t a, b;       /* nodes */
    unsigned int hops;   /* cables between them in the snapshot */
    unsigned int seen;   /* by latency */
};

struct against {
    const struct fabric *f;     /* the caller's */
    size_t compared;            /* hosts */
    size_t switches;            /* found again by their hosts */
    size_t nclear;              /* ways between these that are as the snapshot
                                   has them */
    struct against_hosts *hosts;
    size_t nhosts;
    struct against_way *way;
    size_t nways;
    uint32_t *stranger;         /* nodes that the fabric has not */
    size_t nstrangers;
    size_t alone;               /* hosts without another one measured on their
                                   switch */
    size_t unclear;             /* ways whose latency is between those of two
                                   numbers of hops */
};

/* Compare. Nodes of the model are called as the fabric's hosts or endpoints.
 * The fabric has to outlive the result.
 */
struct against *against_compare (const struct fabric *f,
                                 const struct topology_model *m);
void against_destroy (struct against *a);

#endif /* COMPARE_AGAINST_H */
