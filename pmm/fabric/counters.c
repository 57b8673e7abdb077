/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm fabric counters: what the ports of the live fabric have counted. */
#include "config.h"

#include <stddef.h>

#include "ibquery/links/counters.h"
#include "ibquery/snapshot.h"
#if HAVE_UMAD
#include "ibquery/read/collect.h"
#include "ibquery/read/device.h"
#include "ibquery/read/discover.h"
#include "pmm/fabric/live.h"
#endif
#include "pmm/common.h"
#include "pmm/fabric/fabric_verb.h"
#include "util/file.h"

#if HAVE_UMAD
struct counters_options {
    struct live_options live;
    const char *fabric, *output;
};

#define FIELD(name) offsetof (struct counters_options, name)
static const struct opt counters_table[] = {
    { "fabric", 'f', "FILE", opt_string, FIELD (fabric),
      "the snapshot that has the ports; else the fabric is read" },
    { "output", 'o', "FILE", opt_string, FIELD (output),
      "write the counters here, not to standard output" },
    LIVE_OPTIONS (struct counters_options, live),
    { 0 },
};
#undef FIELD

static struct fabric *find_fabric (const struct counters_options *o,
                                   const struct mads_options *mads,
                                   struct error *err)
{
    const struct discover_options opts = {
        .ca = o->live.ca,
        .port = o->live.port,
        .mads = *mads,
    };

    return o->fabric ? fabric_load (o->fabric, err)
                     : discover (&opts, NULL, err);
}

static struct counters *read_counters (const struct counters_options *o,
                                       struct error *err)
{
    struct mads_options opts;
    struct counters *c = NULL;
    struct device_port used;
    struct fabric *f;
    struct mads *m;

    if (live_mads (&o->live, &opts, err) < 0
        || !(f = find_fabric (o, &opts, err)))
        return NULL;
    m = device_open (o->live.ca, o->live.port, &opts, &used, err);
    if (m && (c = collect (m, f, err))) {
        snprintf (c->source, sizeof (c->source), "%s/%d", used.ca, used.port);
        live_report (&o->live, mads_counts (m));
    }
    mads_destroy (m);
    fabric_destroy (f);
    return c;
}

static int save (const struct counters *c, const char *path,
                 struct error *err)
{
    struct outfile *out = file_create (path, err);

    if (!out)
        return -1;
    return file_finish (out, counters_write (c, file_stream (out), err), err);
}

int fabric_verb_counters (int argc, char **argv)
{
    struct counters_options o = { .live = live_defaults () };
    struct counters *c = NULL;
    struct error err;
    int status;

    if (options_parse (counters_table, &o, argc, argv, "", 0, 0, &status) < 0)
        return status;
    status = EXIT_OK;
    if (!(c = read_counters (&o, &err)) || save (c, o.output, &err) < 0)
        status = fail (argv[0], &err);
    counters_destroy (c);
    return status;
}
#else
int fabric_verb_counters (int argc, char **argv)
{
    struct error err;

    (void)argc;
    error_world (&err, "this pmm was built without the libraries that read "
                       "live fabrics");
    return fail (argv[0], &err);
}
#endif
