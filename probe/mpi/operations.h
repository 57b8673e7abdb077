/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What MPI's operations cost: `pmm-probe-mpi operations`.
 *
 * All processes time
 *
 *     barrier - t1 - barrier - t2 - operation - barrier - t3
 *
 * and what the operation costs is t3 - t2 less t2 - t1: barriers cost much more
 * while something else has the processors, for longer than one repeat takes.
 * DT, the cost of reading the timer, is measured as reading it again and again;
 * DB, that of a barrier, as a barrier alone, net of DT. An operation that is
 * too fast for that is done many times at each go.
 *
 * Point to point it is between process 0 and the last, which under the usual
 * distributions is on another node; the others are in the barriers only.
 *
 * Made by operations_run; read by people and, as JSON of kind "operations", by
 * programs:
 *
 *     "mpi", "processes", "hosts", "repeats", "fast_repeats", "operations":
 *     [{"name","text","us":{"min","p25","median","p75","max","mean","sd"},
 *       "stderr_us"}]
 *
 * What one costs is the median of its repeats: a process that is preempted now
 * and then does not move it. Its standard error is that of the median
 * (stats_median_error) of what scatters as both barriers do; null where one
 * repeat does not tell. A median that is within a few of its standard
 * errors of zero, or below, could not be told from the barrier's own scatter.
 */
#ifndef PROBE_MPI_OPERATIONS_H
#define PROBE_MPI_OPERATIONS_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "compare/series/series.h"
#include "util/error.h"

struct operations_options {
    uint64_t repeats;      /* of an operation, 1 or more */
    uint64_t fast_repeats; /* at each of them, of one that is fast */
    uint64_t warm_up;      /* repeats before, which do not count */
};

/* As this process saw it. */
struct operation_cost {
    const char *name; /* for programs: "allreduce_10" */
    const char *text; /* for people */
    double us[SERIES_STATS];
    double error; /* of the median; NAN: one repeat */
};

/* Rows of the table, DT and DB first. */
size_t operations_count (void);

/* Measure all into cost[operations_count ()]; every process of comm, 2 or more,
 * calls it with the same options. Return 0, or -1 with err.
 */
int operations_run (MPI_Comm comm, const struct operations_options *opts,
                    struct operation_cost *cost, struct error *err);

/* What was measured where, for the head of what is written. */
struct operations_scene {
    const char *mpi; /* the library, in a word or two */
    unsigned int processes, hosts;
    const struct operations_options *opts;
};

/* Lines of microseconds, their standard error and the operation. */
void operations_print (const struct operations_scene *scene,
                       const struct operation_cost *cost, FILE *fp);

/* Return 0, or -1 with err. */
int operations_write (const struct operations_scene *scene,
                      const struct operation_cost *cost, FILE *fp,
                      struct error *err);

#endif /* PROBE_MPI_OPERATIONS_H */
