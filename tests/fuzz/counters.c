/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file of counters; one that was accepted is written. */
#include "config.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

#include "ibquery/links/counters.h"

static void use (const struct counters *c)
{
    char *text = NULL;
    size_t len;
    FILE *fp = open_memstream (&text, &len);

    if (!fp || counters_write (c, fp, NULL) < 0 || fclose (fp) != 0)
        abort ();
    free (text);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    FILE *fp = fuzz_file (data, size);
    struct error err;
    struct counters *c = counters_read (fp, "input", &err);

    fclose (fp);
    if (c)
        use (c);
    counters_destroy (c);
    return 0;
}
