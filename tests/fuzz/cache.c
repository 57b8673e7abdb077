/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The verdict cache, which hooks read as root. */
#include "config.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <unistd.h>

#include "prolog/node/cache.h"

static char path[] = "/tmp/pmm-fuzz.XXXXXX";

static void leave (void)
{
    unlink (path);
}

/* The one file of this process. */
static int open_file (void)
{
    static int fd = -1;

    if (fd < 0) {
        fd = mkstemp (path);
        atexit (leave);
    }
    return fd;
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct cache_port port = { .guid = 0x0002c90300000001 };
    struct cache_view view;
    struct error err;
    int fd = open_file ();

    if (ftruncate (fd, 0) < 0
        || pwrite (fd, data, size, 0) != (ssize_t)size)
        abort ();
    cache_read (path, geteuid (), "h0001", &view, &port, 1, &err);
    return 0;
}
