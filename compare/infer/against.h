/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compare a fabric with a topology that was inferred from latencies alone:
 * where they disagree, by names.
 *
 * Made by against_compare; read by `pmm-compare infer --against`.
 *
 * Latencies tell which hosts share a switch, and how far switches are from each
 * other; nothing else is compared. A switch is identified by its hosts, so a
 * switch with fewer than two measured hosts is not compared. Between compared
 * switches only the length of the path is: latencies show parallel spines as
 * one. The expected length of a path with k cables is the median over all paths
 * with k cables in the snapshot.
 */
#ifndef COMPARE_AGAINST_H
#define COMPARE_AGAINST_H

#include <stddef.h>
#include <stdint.h>

#include "compare/infer/model.h"
#include "ibquery/fabric.h"

/* Hosts that are on one switch in the snapshot, and on another by latency. */
struct against_hosts {
    uint32_t *endpoint; /* of the fabric */
    size_t n;
    uint32_t at;        /* node: their switch in the snapshot */
    uint32_t with;      /* node: the switch whose hosts they are with by
                           latency; FABRIC_NONE: none */
};

/* Two switches that are nearer to each other, or farther apart, than in the
 * snapshot.
 */
struct against_way {
    uint32_t a, b;       /* nodes */
    unsigned int hops;   /* cables between them in the snapshot */
    unsigned int seen;   /* by latency */
    double ns;           /* between them by latency */
};

struct against {
    struct pool *pool;          /* of all of it */
    const struct fabric *f;     /* the caller's */
    size_t compared;            /* hosts */
    size_t switches;            /* identified by their hosts */
    size_t nclear;              /* paths between these that agree with the
                                   snapshot */
    struct against_hosts *hosts;
    size_t nhosts;
    struct against_way *way;
    size_t nways;
    uint32_t *stranger;         /* nodes that are not in the fabric */
    size_t nstrangers;
    size_t alone;               /* hosts that are the only one measured on their
                                   switch */
    size_t unclear;             /* paths whose latency is between those of two
                                   numbers of hops */
};

/* Compare. Labels of the model's nodes are names of the fabric's hosts or
 * endpoints. The fabric must outlive the result.
 */
struct against *against_compare (const struct fabric *f,
                                 const struct topology_model *m);
void against_destroy (struct against *a);

#endif /* COMPARE_AGAINST_H */
