/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm fabric export: a snapshot in the file formats of other programs. */
#include "config.h"

#include <string.h>

#include "ibquery/export/lfts.h"
#include "ibquery/export/netfile.h"
#include "ibquery/export/topology.h"
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

static fabric_write_f given;

static int set_format (void *field, const char *value, struct error *err)
{
    for (size_t i = 0; i < sizeof (formats) / sizeof (formats[0]); i++)
        if (strcmp (value, formats[i].name) == 0) {
            *(fabric_write_f *)field = formats[i].write;
            return 0;
        }
    return error_input (err, "'%.40s' is no format to export", value);
}

static const struct opt options[] = {
    { "format", 0, "F", set_format, 0,
      "netfile (of ibsim), ibnetdiscover (its output), lfts (dump_fts's, for "
      "opensm -R file), topology.conf (of Slurm)" },
    { 0 },
};

static int check (const struct inputs *in, struct error *err)
{
    (void)in;
    return given ? 0 : error_input (err, "--format is missing");
}

static int run (struct inputs *in, struct error *err)
{
    return fabric_save (in->fabric, in, given, err);
}

const struct verb verb_fabric_export = {
    .name = "export",
    .needs = TAKES_FABRIC,
    .may = TAKES_OUTPUT,
    .options = options,
    .given = &given,
    .check = check,
    .run = run,
};
