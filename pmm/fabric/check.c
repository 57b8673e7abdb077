/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm fabric check: cables that are wrong by what their ports say. */
#include "config.h"

#include <stddef.h>

#include "ibquery/links/check.h"
#include "ibquery/snapshot.h"
#include "pmm/common.h"
#include "pmm/fabric/fabric_verb.h"
#include "util/file.h"

struct check_options {
    const char *fabric, *counters, *since, *output;
    bool json;
};

#define FIELD(name) offsetof (struct check_options, name)
static const struct opt check_table[] = {
    { "fabric", 'f', "FILE", opt_string, FIELD (fabric), "the snapshot" },
    { "counters", 0, "FILE", opt_string, FIELD (counters),
      "counters that were read last" },
    { "since", 0, "FILE", opt_string, FIELD (since),
      "and those that were read before" },
    { "json", 0, NULL, opt_true, FIELD (json),
      "as JSON, which pmm judge --signs reads" },
    { "output", 'o', "FILE", opt_string, FIELD (output),
      "write here, not to standard output" },
    { 0 },
};
#undef FIELD

struct check_inputs {
    struct fabric *fabric;
    struct counters *then, *now;
};

static int load (struct check_inputs *in, const struct check_options *o,
                 struct error *err)
{
    if (!o->fabric)
        return error_input (err, "-f FABRIC is missing");
    if (o->since && !o->counters)
        return error_input (err, "--since takes --counters as well");
    if (!(in->fabric = fabric_load (o->fabric, err))
        || (o->counters && !(in->now = counters_load (o->counters, err)))
        || (o->since && !(in->then = counters_load (o->since, err))))
        return -1;
    return 0;
}

static int save (const struct link_check *c, const struct fabric *f,
                 const struct check_options *o, struct error *err)
{
    struct outfile *out = file_create (o->output, err);

    if (!out)
        return -1;
    return file_finish (out,
                        (o->json ? check_write : check_write_text) (
                            c, f, file_stream (out), err),
                        err);
}

int fabric_verb_check (int argc, char **argv)
{
    static const int status_of[] = {
        [VERDICT_OK] = EXIT_OK,
        [VERDICT_UNKNOWN] = EXIT_WORLD,
        [VERDICT_FAIL] = EXIT_FAIL,
    };
    struct check_options o = { 0 };
    struct check_inputs in = { 0 };
    struct link_check *c = NULL;
    struct error err;
    int status;

    if (options_parse (check_table, &o, argc, argv, "", 0, 0, &status) < 0)
        return status;
    if (load (&in, &o, &err) < 0
        || !(c = check_links (in.fabric, in.then, in.now, &err))
        || save (c, in.fabric, &o, &err) < 0)
        status = fail (argv[0], &err);
    else
        status = status_of[check_status (c)];
    check_destroy (c);
    counters_destroy (in.then);
    counters_destroy (in.now);
    fabric_destroy (in.fabric);
    return status;
}
