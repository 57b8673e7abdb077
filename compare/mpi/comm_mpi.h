/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A comm (compare/exchange/comm.h) over MPI.
 *
 * If a process dies, MPI itself ends the program, or hangs: no message is ever
 * reported as lost, and every failure is -1.
 *
 * The label of a process is its host, SLURMD_NODENAME or MPI's processor name.
 * If a host has several processes, the label includes a core, and the process
 * is bound to it. The cores are those that srun or mpirun allows it: if each
 * process has just one, that is its core. If they are more than cores, some
 * share one.
 */
#ifndef COMPARE_MPI_COMM_MPI_H
#define COMPARE_MPI_COMM_MPI_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#include "compare/exchange/program.h"
#include "compare/mpi/places.h"
#include "util/error.h"

/* Messages of a run. A receive has a buffer of its own, which stays for a later
 * one. All sends use the same buffer, comm_mpi.out.
 */
struct started {
    MPI_Request *request; /* [room] */
    MPI_Status *status;   /* gcc rejects MPICH's MPI_STATUSES_IGNORE */
    int *done;
    struct comm_messages **row;
    uint8_t **buffer;     /* [room]; NULL until needed */
    size_t room;
};

/* All may call MPI with its communicator, which returns errors, and with its
 * buffers to send from and receive into, as large as reserved.
 */
struct comm_mpi {
    MPI_Comm comm;
    int rank, size;
    struct mpi_place *place; /* [size] */
    struct place_name *name; /* [size] */
    const char **label, **host; /* [size] the names in these */
    uint32_t hosts;
    struct error shared; /* why times are wrong; no text: they are not */
    size_t len; /* bytes of the longest message */
    uint8_t *out, *in;
    struct started started;
    uint64_t want_buffer;
    uint8_t *buffer; /* attached to MPI for buffered sends; NULL: none */
};

struct comm_mpi_options {
    enum place_naming naming;
    uint64_t buffer; /* bytes for MPI's buffered sends; 0: what the longest
                        message needs */
};

/* Open a comm; all processes of mpi call this with the same options. It makes
 * its own communicator. Return NULL with err on failure; ERROR_INPUT is
 * returned by all processes or none.
 */
struct comm_mpi *comm_mpi_open (MPI_Comm mpi,
                                const struct comm_mpi_options *opts,
                                struct error *err);
void comm_mpi_close (struct comm_mpi *c);

/* This process, as one of all. */
struct party comm_mpi_party (struct comm_mpi *c);

/* Make sure that MPI has a buffer for buffered sends of len bytes. Return 0, or
 * -1 with err: the requested buffer is too small.
 */
int comm_mpi_buffer (struct comm_mpi *c, size_t len, struct error *err);

/* The library's name and version, on one line. */
void comm_mpi_describe (char *buf, size_t size);

extern const struct comm comm_mpi;

/* MPI's own kinds of exchange (kinds.c). */
extern const struct comm_exchange comm_mpi_kinds[];

/* Measure what MPI's operations cost, a fast one fast_repeats times per repeat.
 * All processes, 2 or more, call this; process 0 prints the costs and writes
 * them to --output. Return 0, or -1 with err.
 */
int operations_run (const struct exchange_session *x, uint64_t fast_repeats,
                    struct error *err);

/* Call an MPI function on this communicator with the arguments that follow: 0,
 * or -1 with one sentence in err: `if (CALL (err, MPI_Barrier, comm) < 0)`.
 */
#define CALL(err, function, ...) \
    comm_mpi_check (function (__VA_ARGS__), #function, err)

/* Set err to MPI's description of a code that is not MPI_SUCCESS. Return -1. */
int comm_mpi_failed (int code, const char *function, struct error *err);

static inline int comm_mpi_check (int code, const char *function,
                                  struct error *err)
{
    return code == MPI_SUCCESS ? 0 : comm_mpi_failed (code, function, err);
}

#endif /* COMPARE_MPI_COMM_MPI_H */
