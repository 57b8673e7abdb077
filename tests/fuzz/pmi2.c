/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What comes from slurmstepd over the socket of PMI-2. */
#include "config.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "probe/coord.h"

enum { RANKS_MAX = 64, TIMEOUT_MS = 60000 };

static void meet (struct coord *c)
{
    unsigned int size = c->size;
    struct coord_blob *blob;

    if (size == 0 || c->rank >= size)
        abort ();
    if (size > RANKS_MAX)
        return;
    if (!(blob = calloc (size, sizeof (*blob))))
        abort ();
    if (c->means->exchange (c, (const uint8_t *)"me", 2, blob, NULL) == 0)
        for (unsigned int i = 0; i < size; i++)
            if (blob[i].len > COORD_BLOB_MAX)
                abort ();
    free (blob);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct error err;
    char text[16];
    int fd[2];
    struct coord *c;

    if (socketpair (AF_UNIX, SOCK_STREAM, 0, fd) < 0
        || write (fd[1], data, size) != (ssize_t)size
        || shutdown (fd[1], SHUT_WR) < 0)
        abort ();
    snprintf (text, sizeof (text), "%d", fd[0]);
    setenv ("PMI_FD", text, 1);
    if ((c = coord_open ("pmi2", TIMEOUT_MS, &err))) {
        meet (c);
        c->means->close (c);
    }
    else
        close (fd[0]);
    close (fd[1]);
    return 0;
}
