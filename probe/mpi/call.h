/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls of MPI whose failure is one sentence.
 *
 * It needs MPI_ERRORS_RETURN on the communicator; comm_mpi_open sets it.
 */
#ifndef PROBE_MPI_CALL_H
#define PROBE_MPI_CALL_H

#include <mpi.h>

#include "util/error.h"

/* Call function with the arguments behind it: 0, or -1 with err:
 * `if (CALL (err, MPI_Barrier, comm) < 0)`.
 */
#define CALL(err, function, ...) \
    call_check (function (__VA_ARGS__), #function, err)

/* What MPI says of a code that is not MPI_SUCCESS, in err. Return -1. */
int call_failed (int code, const char *function, struct error *err);

static inline int call_check (int code, const char *function,
                              struct error *err)
{
    return code == MPI_SUCCESS ? 0 : call_failed (code, function, err);
}

#endif /* PROBE_MPI_CALL_H */
