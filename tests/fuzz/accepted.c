/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A list of accepted findings; one that was accepted is written and read again.
 */
#include "config.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

#include "ibquery/links/accepted.h"

static void use (const struct accepted *a)
{
    struct accepted again;
    struct error err;
    char *text = NULL;
    size_t len;
    FILE *fp = open_memstream (&text, &len);

    if (!fp || accepted_write (a, fp, &err) < 0 || fclose (fp) != 0)
        abort ();
    fp = fuzz_file ((const uint8_t *)text, len);
    if (accepted_read (&again, fp, "again", &err) < 0 || again.n != a->n)
        abort ();
    fclose (fp);
    accepted_clear (&again);
    free (text);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    FILE *fp = fuzz_file (data, size);
    struct accepted a;
    struct error err;

    if (accepted_read (&a, fp, "input", &err) == 0)
        use (&a);
    fclose (fp);
    accepted_clear (&a);
    return 0;
}
