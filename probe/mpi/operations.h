/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cost of MPI's operations: `pmm-probe-mpi operations`.
 *
 * All processes time
 *
 *     barrier - t1 - barrier - t2 - operation - barrier - t3
 *
 * The cost of the operation is (t3 - t2) - (t2 - t1), because barriers cost
 * much more while other programs use the processors, for longer than one repeat
 * takes. DT, the cost of reading the timer, is measured by reading it
 * repeatedly; DB, that of a barrier, by a barrier alone, minus DT. An operation
 * that is too fast for this is repeated many times per measurement.
 *
 * Point-to-point operations run between process 0 and the last, which under the
 * usual distributions is on another node; the others only take part in the
 * barriers.
 *
 * Made by operations_run; read by people and, as JSON of kind "operations", by
 * programs:
 *
 *     "mpi", "processes", "hosts", "repeats", "fast_repeats", "operations":
 *     [{"name","text","us":{"min","p25","median","p75","max","mean","sd"},
 *       "stderr_us"}]
 *
 * The cost is the median of the repeats: a process that is preempted now and
 * then does not change it. Its standard error (stats_median_error) includes the
 * scatter of both barriers; it is null if there is only one repeat. A median
 * within a few standard errors of zero, or below, cannot be separated from the
 * scatter of the barrier.
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
    uint64_t repeats;      /* per operation, 1 or more */
    uint64_t fast_repeats; /* per repeat of a fast operation */
    uint64_t warm_up;      /* repeats before, not counted */
};

/* As seen by this process. */
struct operation_cost {
    const char *name; /* for programs: "allreduce_10" */
    const char *text; /* for people */
    double us[SERIES_STATS];
    double error; /* of the median; NAN: one repeat */
};

/* Rows of the table, DT and DB first. */
size_t operations_count (void);

/* Measure all into cost[operations_count ()]. Every process of comm, 2 or more,
 * calls this with the same options. Return 0, or -1 with err.
 */
int operations_run (MPI_Comm comm, const struct operations_options *opts,
                    struct operation_cost *cost, struct error *err);

/* The circumstances of a measurement, for the head of its output. */
struct operations_scene {
    const char *mpi; /* the library's name and version */
    unsigned int processes, hosts;
    const struct operations_options *opts;
};

/* Print one line per operation: microseconds, standard error, operation. */
void operations_print (const struct operations_scene *scene,
                       const struct operation_cost *cost, FILE *fp);

/* Return 0, or -1 with err. */
int operations_write (const struct operations_scene *scene,
                      const struct operation_cost *cost, FILE *fp,
                      struct error *err);

#endif /* PROBE_MPI_OPERATIONS_H */
