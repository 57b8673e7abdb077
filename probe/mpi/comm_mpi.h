/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A comm (probe/exchange/comm.h) over MPI.
 *
 * MPI itself ends a program whose process dies, or hangs in it: nothing is ever
 * lost here, and a failure is -1.
 *
 * A process is called by its host, as SLURMD_NODENAME has it or MPI's processor
 * name, and by its core where there are several on a host, to which it is then
 * bound. The cores are those that srun or mpirun left it: where each has but
 * one, that is it.
 */
#ifndef PROBE_MPI_COMM_MPI_H
#define PROBE_MPI_COMM_MPI_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#include "probe/exchange/comm.h"
#include "probe/mpi/places.h"
#include "util/error.h"

struct comm_mpi;

struct comm_mpi_options {
    enum place_naming naming;
    uint64_t buffer; /* bytes that MPI has for buffered sends; 0: what the
                        longest message needs */
};

/* All processes of mpi call it, with the same options. It makes a communicator
 * of its own. NULL with err; where that is ERROR_INPUT, it is so everywhere.
 */
struct comm_mpi *comm_mpi_open (MPI_Comm mpi,
                                const struct comm_mpi_options *opts,
                                struct error *err);
void comm_mpi_close (struct comm_mpi *c);

uint32_t comm_mpi_hosts (const struct comm_mpi *c);

/* For callers of MPI itself: its communicator, on which errors are returned,
 * and what to send from and to receive into, of as many bytes as are reserved.
 */
struct comm_mpi_wire {
    MPI_Comm comm;
    uint8_t *out, *in;
};
struct comm_mpi_wire comm_mpi_wire (const struct comm_mpi *c);

/* See that MPI has a buffer for buffered sends of len bytes. Return 0, or -1
 * with err: the one that was asked for is too small.
 */
int comm_mpi_buffer (struct comm_mpi *c, size_t len, struct error *err);

extern const struct comm comm_mpi;

/* Its own kinds of exchange (kinds.c). */
extern const struct comm_exchange comm_mpi_kinds[];

/* Call an MPI function on this communicator with the arguments that follow: 0,
 * or -1 with one sentence in err: `if (CALL (err, MPI_Barrier, comm) < 0)`.
 */
#define CALL(err, function, ...) \
    comm_mpi_check (function (__VA_ARGS__), #function, err)

/* What MPI says of a code that is not MPI_SUCCESS, in err. Return -1. */
int comm_mpi_failed (int code, const char *function, struct error *err);

static inline int comm_mpi_check (int code, const char *function,
                                  struct error *err)
{
    return code == MPI_SUCCESS ? 0 : comm_mpi_failed (code, function, err);
}

#endif /* PROBE_MPI_COMM_MPI_H */
