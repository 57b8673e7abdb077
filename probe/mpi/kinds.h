/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kinds of exchange that only MPI has: sendrecv, nonblocking, ready,
 * persistent, buffered; and round trips without anything between them and MPI.
 * For comm_mpi.c.
 */
#ifndef PROBE_MPI_KINDS_H
#define PROBE_MPI_KINDS_H

#include "probe/exchange/comm.h"

extern const struct comm_exchange kinds[];

#endif /* PROBE_MPI_KINDS_H */
