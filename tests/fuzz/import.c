/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What other programs wrote of a fabric: files, parted by lines of "====", of
 * any format. A fabric that they make is written as a snapshot and read again.
 */
#include "config.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "ibquery/import/import.h"

#define PART "====\n"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    const uint8_t *end = data + size, *next;
    struct import *d = import_create (NULL);
    struct counters *c = NULL;
    struct fabric *f = NULL;
    struct error err;
    int rc = 0;

    for (; rc == 0 && data < end; data = next) {
        const uint8_t *part = memmem (data, end - data, PART, strlen (PART));
        FILE *fp = fuzz_file (data, (part ? part : end) - data);

        rc = import_file (d, fp, "input", NULL, &err);
        fclose (fp);
        next = part ? part + strlen (PART) : end;
    }
    if (rc == 0)
        f = import_finish (d, "fuzz", &err);
    if (f)
        c = import_counters (d, f, &err);
    counters_destroy (c);
    import_destroy (d);
    if (f)
        fuzz_again (f);
    fabric_destroy (f);
    return 0;
}
