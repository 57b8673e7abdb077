/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A snapshot; one that was accepted is written and read again. */
#include "config.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "ibquery/snapshot.h"

enum { WALK_MAX = 32 };

static void again (const struct fabric *f)
{
    struct fabric *same;
    char *text = NULL;
    size_t len;
    FILE *fp = open_memstream (&text, &len);

    if (!fp || fabric_write (f, fp, NULL) < 0 || fclose (fp) != 0)
        abort ();
    fp = fuzz_file ((uint8_t *)text, len);
    same = fabric_read (fp, "again", NULL);
    fclose (fp);
    free (text);
    if (!same || strcmp (same->hash, f->hash) != 0)
        abort ();
    fabric_destroy (same);
}

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
        again (f);
        walk (f);
    }
    fabric_destroy (f);
    return 0;
}
