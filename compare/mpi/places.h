/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the processes of an MPI program run, and their labels. Pure functions,
 * so that each process gets the same result from the same table.
 */
#ifndef COMPARE_MPI_PLACES_H
#define COMPARE_MPI_PLACES_H

#include <sched.h>
#include <stdint.h>

#include "util/error.h"

enum {
    PLACE_HOST_MAX = 64,  /* with the NUL */
    PLACE_LABEL_MAX = 84, /* "host:core", or "host:core.2" */
};

/* What a process reports about itself. */
struct mpi_place {
    char host[PLACE_HOST_MAX]; /* a host name (text_is_hostname) */
    cpu_set_t cores;           /* that it may use, as in cpu_cores */
};

enum place_naming {
    PLACE_BY_ANY,  /* by host if that is unique, else by core */
    PLACE_BY_HOST, /* one process per host only */
    PLACE_BY_CORE,
};

/* "any", "host", "core"; ends in NULL. */
extern const char *const place_namings[];

/* A process's label and core. */
struct place_name {
    char label[PLACE_LABEL_MAX]; /* unique; "host", "host:core", or of the
                                    second on this core "host:core.2" */
    int core;                    /* -1: not bound */
};

/* Name n processes. By core, processes that share a host and its cores get one
 * core each, in turn. Return 0; 1 with err, if they are more than cores and
 * share some; or -1 with err: several processes on a host with PLACE_BY_HOST,
 * or cores that overlap.
 */
int places_name (const struct mpi_place *place, uint32_t n,
                 enum place_naming naming, struct place_name *name,
                 struct error *err);

/* The number of different hosts. */
uint32_t places_hosts (const struct mpi_place *place, uint32_t n);

#endif /* COMPARE_MPI_PLACES_H */
