/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm fabric read: make a snapshot of the live fabric. */
#include "config.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "ibquery/snapshot.h"
#if HAVE_UMAD
#include "ibquery/read/discover.h"
#endif
#include "pmm/common.h"
#include "pmm/fabric/fabric_verb.h"
#include "pmm/inputs.h"
#include "util/text.h"

#if HAVE_UMAD
struct read_options {
    const char *ca, *output, *hosts, *hint;
    int port, timeout_ms, retries, window, rate, deadline_ms;
    uint64_t mkey, max;
    bool verbose;
};

#define FIELD(name) offsetof (struct read_options, name)
static const struct opt read_table[] = {
    { "ca", 'C', "CA", opt_string, FIELD (ca),
      "read through this adapter, not the first that is active" },
    { "port", 'P', "PORT", opt_int, FIELD (port), "and this port of it" },
    { "output", 'o', "FILE", opt_string, FIELD (output),
      "write the snapshot here, not to standard output" },
    { "hosts", 0, "LIST", opt_string, FIELD (hosts),
      "only what these hosts' messages use, node[01-16] or @FILE" },
    { "hint", 0, "FILE", opt_string, FIELD (hint),
      "a snapshot that may still know where they are" },
    { "mkey", 0, "KEY", opt_u64, FIELD (mkey), "the fabric's M_Key (0x...)" },
    { "smps", 0, "N", opt_int, FIELD (window), "queries in flight: 8" },
    { "rate", 0, "N", opt_int, FIELD (rate),
      "queries a second, 0: as many as there is time for: 20000" },
    { "timeout", 't', "MS", opt_int, FIELD (timeout_ms),
      "how long to wait for an answer at most: 1000" },
    { "retries", 0, "N", opt_int, FIELD (retries),
      "how often to ask again: 15" },
    { "max-smps", 0, "N", opt_u64, FIELD (max),
      "give up where more queries are needed" },
    { "deadline", 0, "MS", opt_int, FIELD (deadline_ms),
      "give up after this time" },
    { "verbose", 'v', NULL, opt_true, FIELD (verbose),
      "say what it took" },
    { 0 },
};
#undef FIELD

static int check_read_options (const struct read_options *o,
                               struct error *err)
{
    if (o->port > 254)
        return error_input (err, "--port is 1 to 254");
    if (o->timeout_ms < 1 || o->timeout_ms > 60000)
        return error_input (err, "--timeout is 1 to 60000 ms");
    if (o->retries > 100)
        return error_input (err, "--retries is at most 100");
    if (o->window < 1 || o->window > MADS_MAX_WINDOW)
        return error_input (err, "--smps is 1 to %d", MADS_MAX_WINDOW);
    if (o->hint && !o->hosts)
        return error_input (err, "--hint goes with --hosts");
    return 0;
}

static struct fabric *read_fabric (const struct read_options *o,
                                   const struct reach_hosts *hosts,
                                   struct error *err)
{
    const struct discover_options opts = {
        .hosts = hosts,
        .ca = o->ca,
        .port = o->port,
        .mads = {
            .mkey = o->mkey,
            .timeout_ms = o->timeout_ms,
            .retries = o->retries,
            .window = o->window,
            .rate = o->rate,
            .max = o->max,
            .deadline_ms = o->deadline_ms,
        },
    };
    struct mads_counts counts;
    struct fabric *f = discover (&opts, &counts, err);

    if (f && o->verbose)
        fprintf (stderr,
                 "%" PRIu64 " queries, %" PRIu64 " of them without an "
                 "answer\n",
                 counts.sent, counts.lost);
    return f;
}

static struct fabric *read_part (const struct read_options *o,
                                 struct error *err)
{
    struct hostlist hl = { 0 };
    struct reach_hosts hosts = { 0 };
    struct fabric *f = NULL, *hint = NULL;
    char *text = inputs_text (o->hosts, err);

    if (!text || hostlist_parse (&hl, text, FABRIC_MAX_LID, err) < 0)
        error_prefix (err, "--hosts");
    else if (hl.count == 0)
        error_input (err, "--hosts names nobody");
    else if (!o->hint || (hint = fabric_load (o->hint, err))) {
        hosts.name = (const char *const *)hl.name;
        hosts.n = hl.count;
        hosts.hint = hint;
        f = read_fabric (o, &hosts, err);
    }
    fabric_destroy (hint);
    hostlist_clear (&hl);
    free (text);
    return f;
}

int fabric_verb_read (int argc, char **argv)
{
    struct read_options o = {
        .timeout_ms = mads_defaults.timeout_ms,
        .retries = mads_defaults.retries,
        .window = mads_defaults.window,
        .rate = mads_defaults.rate,
    };
    struct fabric *f = NULL;
    struct error err;
    int status;

    if (options_parse (read_table, &o, argc, argv, "", 0, 0, &status) < 0)
        return status;
    status = EXIT_OK;
    if (check_read_options (&o, &err) < 0
        || !(f = o.hosts ? read_part (&o, &err)
                         : read_fabric (&o, NULL, &err))
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
