/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A snapshot; one that was accepted is written and read again, and joined with
 * another subnet's.
 */
#include "config.h"
#include "tests/fuzz/fuzz.h"

#include "ibquery/model/generate.h"
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

static void join (struct fabric *f)
{
    static const char *const name[] = { "input", "tree" };
    struct fat_tree tree = { .ports = 4, .levels = 1, .how.subnet = 1 };
    struct fabric *part[] = { f, generate_fat_tree (&tree, NULL) };
    struct fabric *both;

    if (f->subnet == 0)
        f->subnet = 2;
    both = fabric_join (part, name, 2, NULL);
    if (both)
        walk (both);
    fabric_destroy (both);
    fabric_destroy (part[1]);
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
        join (f);
    }
    fabric_destroy (f);
    return 0;
}
