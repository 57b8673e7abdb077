/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the processes of an MPI program are, and what to call them: pure, so
 * that each works it out from the same table.
 */
#ifndef PROBE_MPI_PLACES_H
#define PROBE_MPI_PLACES_H

#include <sched.h>
#include <stdint.h>

#include "util/error.h"

enum {
    PLACE_HOST_MAX = 64,  /* with the NUL */
    PLACE_LABEL_MAX = 72, /* "host:core" */
};

/* What a process says of itself. */
struct mpi_place {
    char host[PLACE_HOST_MAX]; /* a host name (text_is_hostname) */
    cpu_set_t cores;           /* that it may use, as cpu_cores has them */
};

enum place_naming {
    PLACE_BY_ANY,  /* by host where that is enough, else by core */
    PLACE_BY_HOST, /* one process per host only */
    PLACE_BY_CORE,
    PLACE_NAMINGS,
};

/* "any", "host", "core"; -1 where a name is none of them. */
int place_naming_find (const char *name);

/* What to call it and where it is to stay. */
struct place_name {
    char label[PLACE_LABEL_MAX]; /* unique; "host" or "host:core" */
    int core;                    /* -1: wherever it is */
};

/* Name n processes. By core, those that share a host and its cores get them in
 * turn, one each. Return 0, or -1 with err: more than one process of a host by
 * PLACE_BY_HOST, more processes than cores, cores that overlap.
 */
int places_name (const struct mpi_place *place, uint32_t n,
                 enum place_naming naming, struct place_name *name,
                 struct error *err);

/* How many hosts these are. */
uint32_t places_hosts (const struct mpi_place *place, uint32_t n);

#endif /* PROBE_MPI_PLACES_H */
