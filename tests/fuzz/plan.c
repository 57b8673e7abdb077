/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A plan of fuzz_fabric; what was accepted is checked and written. */
#include "config.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

#include "core/plan/plan.h"

static void use (const struct plan *p, struct pathset *ps)
{
    char *text = NULL;
    size_t len;
    FILE *fp = open_memstream (&text, &len);

    plan_check (ps, p, NULL);
    if (!fp || plan_write (p, ps, NULL, fp, NULL) < 0 || fclose (fp) != 0)
        abort ();
    free (text);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct fabric *f = fuzz_fabric ();
    FILE *fp = fuzz_file (data, size);
    struct pathset *ps = NULL;
    struct plan *p;
    struct error err;

    p = plan_read (fp, "input", f->hash, fabric_resolve, f, &ps, &err);
    fclose (fp);
    if (p)
        use (p, ps);
    plan_destroy (p);
    pathset_destroy (ps);
    return 0;
}
