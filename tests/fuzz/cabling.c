/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A table of the cables that fuzz_fabric should have. */
#include "config.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

#include "ibquery/compare/cabling.h"

static void use (const struct cabling *c)
{
    for (size_t i = 0; i < c->nlines; i++) {
        PORT_NAME (c->f, c->line[i].a);
        PORT_NAME (c->f, c->line[i].b);
    }
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    FILE *fp = fuzz_file (data, size);
    struct error err;
    struct cabling *c = cabling_read (fuzz_fabric (), fp, "input", &err);

    fclose (fp);
    if (c)
        use (c);
    cabling_destroy (c);
    return 0;
}
