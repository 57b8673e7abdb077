/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "probe/mpi/call.h"

int call_failed (int code, const char *function, struct error *err)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int len;

    MPI_Error_string (code, text, &len);
    return error_world (err, "%s: %.300s", function, text);
}
