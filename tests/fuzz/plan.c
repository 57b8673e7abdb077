/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A plan of fuzz_fabric; what was accepted is checked and written. The same
 * again by who knows only hosts, h0001 to h0008, and not their fabric: then it
 * is a pattern, or no process may be in two pairs.
 */
#include "config.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "compare/pattern/pattern.h"
#include "core/plan/plan.h"

enum { HOSTS = 8 };

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

static int find (const void *arg, const char *name, struct error *err)
{
    char host[sizeof ("h0001")];

    (void)arg;
    for (int i = 0; i < HOSTS; i++) {
        snprintf (host, sizeof (host), "h%04d", i + 1);
        if (!strcmp (name, host))
            return i;
    }
    return error_input (err, "%s is none of them", name);
}

/* What is no plan of the fabric may be one here, not the other way round. */
static void read_probes (const uint8_t *data, size_t size, bool good)
{
    static const uint32_t process[HOSTS] = { 0, 1, 2, 3, 4, 5, 6, 7 };
    FILE *fp = fuzz_file (data, size);
    char fabric[PLAN_FABRIC];
    struct error err = { .text = "" };
    struct plan *p = plan_read_probes (fp, "input", find, NULL, fabric, &err);
    struct pattern *pattern;

    fclose (fp);
    if (!p && (good || !*err.text))
        abort ();
    pattern = p ? pattern_of_plan (p, process, HOSTS, HOSTS, NULL, NULL)
                : NULL;
    pattern_destroy (pattern);
    plan_destroy (p);
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
    read_probes (data, size, p != NULL);
    if (p)
        use (p, ps);
    plan_destroy (p);
    pathset_destroy (ps);
    return 0;
}
