/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the step of an audit printed: its record, and its lines of ports. */
#include "config.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "ibquery/ports.h"
#include "prolog/audit/parts.h"

#define NONCE "00000000000000000000000000000001"

static void read_record (const char *text)
{
    const struct fabric *f = fuzz_fabric ();
    const char *node[16] = { NULL };
    char *copy = strdup (text);
    struct audit_record record;
    struct error err;

    if (!copy || f->nendpoints > sizeof (node) / sizeof (node[0]))
        abort ();
    for (size_t i = 0; i < f->nendpoints; i++)
        node[i] = f->endpoint[i].name;
    record_read (&record, copy, strlen (copy), NONCE, f, node, &err);
    record_clear (&record);
    free (copy);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    char *text = fuzz_text (data, size), *rest = text, *line;
    struct port_traffic traffic;
    struct local_port port;

    read_record (text);
    while ((line = strsep (&rest, "\n")))
        if (!ports_parse (line, NONCE, &port))
            ports_parse_traffic (line, NONCE, &traffic);
    free (text);
    return 0;
}
