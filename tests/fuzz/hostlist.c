/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A list of hosts; folded and parsed again it has as many. */
#include "config.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

#include "util/text.h"

enum { HOSTS_MAX = 1 << 12 };

static void again (const struct hostlist *hl)
{
    char *text = hostlist_fold ((const char *const *)hl->name, hl->count);
    struct hostlist same = { 0 };

    if (!text || hostlist_parse (&same, text, HOSTS_MAX, NULL) < 0
        || same.count != hl->count)
        abort ();
    hostlist_clear (&same);
    free (text);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    char *text = fuzz_text (data, size);
    struct hostlist hl = { 0 };
    struct error err;

    if (hostlist_parse (&hl, text, HOSTS_MAX, &err) == 0)
        again (&hl);
    hostlist_clear (&hl);
    free (text);
    return 0;
}
