/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm fabric export: a snapshot as other programs read it. */
#include "config.h"

#include <stddef.h>
#include <string.h>

#include "ibquery/export/lfts.h"
#include "ibquery/export/netfile.h"
#include "ibquery/export/topology.h"
#include "ibquery/snapshot.h"
#include "pmm/common.h"
#include "pmm/fabric/fabric_verb.h"

static const struct {
    const char *name;
    fabric_write_f write;
} formats[] = {
    { "netfile", netfile_write_lids },
    { "ibnetdiscover", netdiscover_write },
    { "lfts", lfts_write },
    { "topology.conf", topology_write },
};

struct export_options {
    const char *fabric, *output;
    fabric_write_f write;
};

static int set_format (void *field, const char *value, struct error *err)
{
    for (size_t i = 0; i < sizeof (formats) / sizeof (formats[0]); i++)
        if (strcmp (value, formats[i].name) == 0) {
            *(fabric_write_f *)field = formats[i].write;
            return 0;
        }
    return error_input (err, "'%.40s' is no format to export", value);
}

#define FIELD(name) offsetof (struct export_options, name)
static const struct opt export_table[] = {
    { "fabric", 'f', "FILE", opt_string, FIELD (fabric), "the snapshot" },
    { "format", 0, "F", set_format, FIELD (write),
      "netfile (of ibsim), ibnetdiscover (its output), lfts (dump_fts's, for "
      "opensm -R file), topology.conf (of Slurm)" },
    { "output", 'o', "FILE", opt_string, FIELD (output),
      "write here, not to standard output" },
    { 0 },
};
#undef FIELD

int fabric_verb_export (int argc, char **argv)
{
    struct export_options o = { 0 };
    struct fabric *f = NULL;
    struct error err;
    int status, rc = -1;

    if (options_parse (export_table, &o, argc, argv, "", 0, 0, &status) < 0)
        return status;
    if (!o.fabric)
        error_input (&err, "-f FABRIC is missing");
    else if (!o.write)
        error_input (&err, "--format is missing");
    else if ((f = fabric_load (o.fabric, &err)))
        rc = fabric_save (f, o.output, o.write, &err);
    fabric_destroy (f);
    return rc < 0 ? fail (argv[0], &err) : EXIT_OK;
}
