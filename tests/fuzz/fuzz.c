/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "ibquery/model/generate.h"
#include "ibquery/snapshot.h"

FILE *fuzz_file (const uint8_t *data, size_t size)
{
    FILE *fp = size > 0 ? fmemopen ((void *)data, size, "r")
                        : fopen ("/dev/null", "r");

    if (!fp)
        abort ();
    return fp;
}

char *fuzz_text (const uint8_t *data, size_t size)
{
    char *text = strndup ((const char *)data, size);

    if (!text)
        abort ();
    return text;
}

struct fabric *fuzz_fabric (void)
{
    static struct fabric *f;
    const struct fat_tree tree = {
        .ports = 4,
        .levels = 2,
        .how = { ROUTING_DMODK, .seed = 1 },
    };

    if (!f && !(f = generate_fat_tree (&tree, NULL)))
        abort ();
    return f;
}

void fuzz_again (const struct fabric *f)
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
