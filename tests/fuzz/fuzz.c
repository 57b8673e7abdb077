/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "ibquery/model/generate.h"

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
