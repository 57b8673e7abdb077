/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm fabric read: make a snapshot of the live fabric. */
#include "config.h"

#include <stddef.h>

#include "ibquery/snapshot.h"
#if HAVE_IBNETDISC
#include "ibquery/read/discover.h"
#endif
#include "pmm/common.h"
#include "pmm/fabric/fabric_verb.h"

#if HAVE_IBNETDISC
struct read_options {
    struct discover_options discover;
    const char *output;
};

#define FIELD(name) offsetof (struct read_options, name)
static const struct opt read_table[] = {
    { "ca", 'C', "CA", opt_string, FIELD (discover.ca),
      "read through this adapter, not the first that is active" },
    { "port", 'P', "PORT", opt_int, FIELD (discover.port),
      "and this port of it" },
    { "output", 'o', "FILE", opt_string, FIELD (output),
      "write the snapshot here, not to standard output" },
    { "timeout", 't', "MS", opt_int, FIELD (discover.timeout_ms),
      "how long to wait for an answer: 1000" },
    { "retries", 0, "N", opt_int, FIELD (discover.retries),
      "how often to ask again: 3" },
    { "smps", 0, "N", opt_int, FIELD (discover.max_smps),
      "queries in flight: 8" },
    { "mkey", 0, "KEY", opt_u64, FIELD (discover.mkey),
      "the fabric's M_Key (0x...)" },
    { 0 },
};
#undef FIELD

static int check_read_options (const struct read_options *o,
                               struct error *err)
{
    if (o->discover.port > 254)
        return error_input (err, "--port is 1 to 254");
    if (o->discover.timeout_ms < 1 || o->discover.timeout_ms > 60000)
        return error_input (err, "--timeout is 1 to 60000 ms");
    if (o->discover.retries > 100)
        return error_input (err, "--retries is at most 100");
    if (o->discover.max_smps < 1 || o->discover.max_smps > 64)
        return error_input (err, "--smps is 1 to 64");
    return 0;
}

int fabric_verb_read (int argc, char **argv)
{
    struct read_options o = { .discover = discover_defaults };
    struct fabric *f = NULL;
    struct error err;
    int status;

    if (options_parse (read_table, &o, argc, argv, "", 0, 0, &status) < 0)
        return status;
    status = EXIT_OK;
    if (check_read_options (&o, &err) < 0
        || !(f = discover (&o.discover, &err))
        || fabric_save (f, o.output, fabric_write, &err) < 0)
        status = fail (argv[0], &err);
    fabric_destroy (f);
    return status;
}
#else
int fabric_verb_read (int argc, char **argv)
{
    struct error err;

    (void)argc;
    error_world (&err, "this pmm was built without the libraries that read "
                       "live fabrics");
    return fail (argv[0], &err);
}
#endif
