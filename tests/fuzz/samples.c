/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A samples file of fuzz_fabric; what was accepted is written. */
#include "config.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

#include "core/samples/samples.h"

static void use (const struct samples *p, struct pathset *ps)
{
    char *text = NULL;
    size_t len;
    FILE *fp = open_memstream (&text, &len);

    if (!fp || samples_write (p, ps, fp, NULL) < 0 || fclose (fp) != 0)
        abort ();
    free (text);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct fabric *f = fuzz_fabric ();
    FILE *fp = fuzz_file (data, size);
    struct pathset *ps = NULL;
    struct samples *p;
    struct error err;

    p = samples_read (fp, "input", f->hash, fabric_resolve, f, &ps, &err);
    fclose (fp);
    if (p)
        use (p, ps);
    samples_destroy (p);
    pathset_destroy (ps);
    return 0;
}
