/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The networks that are benchmarked: computed, not loaded. */
#ifndef BENCH_NETWORKS_H
#define BENCH_NETWORKS_H

#include <stddef.h>
#include <stdint.h>

#include "core/paths/paths.h"
#include "ibquery/model/generate.h"
#include "util/error.h"
#include "util/rng.h"

enum family {
    FAT_TREE,  /* ports, levels, oversubscription, rails */
    BIG_TREE,  /* ports, levels; no LIDs: too many */
    DRAGONFLY, /* p, a, h */
    SLIMFLY,   /* q, hosts per router */
    IRREGULAR, /* switches, hosts, degree */
    SAMPLE,    /* the paper's */
};

struct shape {
    enum family family;
    unsigned int size[4];
    enum routing routing;
    unsigned int prune;
};

struct instance {
    size_t n; /* endpoints */
    struct fabric *fabric;
    struct treenet *tree;
    struct tablenet *table;
};

/* Seeds are 1. Return 0, or -1 with err; call instance_clear after 0. */
int instance_make (struct instance *net, const struct shape *shape,
                   struct error *err);
void instance_clear (struct instance *net);

/* The set of endpoints who[0 .. n-1]; NULL with err. */
struct pathset *instance_pathset (const struct instance *net,
                                  const uint32_t *who, size_t n,
                                  struct error *err);

/* The set of n hosts drawn from all hosts of f; NULL with err. */
struct pathset *draw_hosts (struct fabric *f, size_t n, struct rng *rng,
                            struct error *err);

enum draw {
    WHOLE,
    RANDOM,     /* n endpoints drawn from all */
    CONTIGUOUS, /* n consecutive ones, from a random one */
};

/* Endpoints of a job, ascending, in an array that the caller frees; their
 * number is in *n (for WHOLE, set on return). NULL with err.
 */
uint32_t *instance_draw (const struct instance *net, enum draw how, size_t *n,
                         uint64_t seed, struct error *err);

/* Call fn (arg) in a process of its own, with a limit on its CPU seconds; its
 * results must be in shared memory. Return 0 if fn did, 1 if its time was over,
 * else -1.
 */
int apart (int (*fn) (void *arg), void *arg, unsigned int limit);

/* Zeroed memory that is shared with such processes; aborts if there is none. */
void *shared_alloc (size_t size);

/* "2 x AMD EPYC, gcc 12.2.0": for the head of results. */
void machine_name (char *buf, size_t size);

/* Seconds since a start: CPU time; wall time if that is too short for the CPU
 * clock, which on some machines ticks 100 times per second.
 */
struct stopwatch {
    double cpu, wall;
};
struct stopwatch stopwatch_start (void);
double stopwatch_seconds (const struct stopwatch *start);

#endif /* BENCH_NETWORKS_H */
