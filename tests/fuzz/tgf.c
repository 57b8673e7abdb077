/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A graph of an inferred topology: what is read can be written, and is the
 * same when it is read again.
 */
#include "config.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

#include "compare/infer/graph.h"
#include "compare/test/alike.h"

static void again (const struct topology_model *m)
{
    struct topology_model *other;
    FILE *fp = tmpfile ();
    struct error err;

    if (!fp || tgf_write (m, NULL, fp, &err) < 0)
        abort ();
    rewind (fp);
    other = tgf_read (fp, "again", &err);
    if (!other || !topology_alike (m, other))
        abort ();
    topology_destroy (other);
    fclose (fp);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    FILE *fp = fuzz_file (data, size);
    struct error err;
    struct topology_model *m = tgf_read (fp, "input", &err);

    fclose (fp);
    if (m)
        again (m);
    topology_destroy (m);
    return 0;
}
