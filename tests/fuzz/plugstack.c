/* SPDX-License-Identifier: GPL-2.0-or-later */
/* plugstack.conf; not what it includes, which is any file there is. */
#include "config.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "util/plugstack.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    static struct plugstack_line line;
    char path[32];
    int fd;

    if (memmem (data, size, "include", strlen ("include")))
        return 0;
    if ((fd = memfd_create ("plugstack.conf", MFD_CLOEXEC)) < 0
        || write (fd, data, size) != (ssize_t)size)
        abort ();
    snprintf (path, sizeof (path), "/proc/self/fd/%d", fd);
    if (plugstack_find (path, "p.so", &line, NULL) > 0
        && (strlen (line.path) >= PLUGSTACK_LINE
            || strlen (line.words) >= PLUGSTACK_LINE || line.lineno < 1))
        abort ();
    close (fd);
    return 0;
}
