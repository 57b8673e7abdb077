/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A snapshot; one that was accepted is written and read again. */
#include "config.h"
#include "tests/fuzz/fuzz.h"

#include "ibquery/snapshot.h"

enum { WALK_MAX = 32 };

static void walk (const struct fabric *f)
{
    struct pathset *ps;
    size_t m;

    if (f->nendpoints > WALK_MAX)
        return;
    ps = fabric_pathset (f, NULL, 0, NULL);
    if (ps)
        pathset_links (ps, &m, NULL);
    pathset_destroy (ps);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    FILE *fp = fuzz_file (data, size);
    struct error err;
    struct fabric *f = fabric_read (fp, "input", &err);

    fclose (fp);
    if (f) {
        fuzz_again (f);
        walk (f);
    }
    fabric_destroy (f);
    return 0;
}
