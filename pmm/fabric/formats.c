/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm fabric import and export: the file formats of other programs. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "ibquery/export/formats.h"
#include "ibquery/import/import.h"
#include "ibquery/snapshot.h"
#include "pmm/verb.h"
#include "util/alloc.h"

/*
 * Import
 */

static struct strings imports; /* "FORMAT:FILE" */

static const struct opt import_options[] = {
    { "format", 0, "F:FILE", opt_append, 0,
      "a FILE more, of format F whatever it looks like: ibnetdiscover, lst "
      "(opensm-subnet.lst, ibdiagnet), lfts (dump_fts, ibroute, "
      "opensm-lfts.dump), fdbs (opensm.fdbs, ibdiagnet)" },
    { 0 },
};

static int import_path (struct draft *d, const char *path, const char *format,
                        struct error *err)
{
    FILE *fp = file_open_input (path, err);
    int rc;

    if (!fp)
        return -1;
    rc = import_file (d, fp, strcmp (path, "-") == 0 ? "standard input" : path,
                      format, err);
    file_close_input (fp);
    return rc;
}

/* "FORMAT:FILE" */
static int import_as (struct draft *d, const char *text, struct error *err)
{
    const char *colon = strchr (text, ':');
    char *format;
    int rc;

    if (!colon)
        return error_input (err, "'%.80s' is no FORMAT:FILE", text);
    format = xasprintf ("%.*s", (int)(colon - text), text);
    rc = import_path (d, colon + 1, format, err);
    free (format);
    return rc;
}

static int run_import (struct inputs *in, struct error *err)
{
    char source[FABRIC_NAME_MAX]; /* "import net fts" */
    size_t n = in->noperands;
    size_t len = snprintf (source, sizeof (source), "import");
    struct draft *d = draft_create ();
    struct fabric *f = NULL;
    int rc = 0;

    for (size_t i = 0; i < n + imports.n && rc == 0; i++) {
        const char *name = i < n ? in->operand[i] : imports.v[i - n];
        const char *slash = strrchr (name, '/');

        if (len < sizeof (source))
            len += snprintf (source + len, sizeof (source) - len, " %s",
                             slash ? slash + 1 : name);
        rc = i < n ? import_path (d, name, NULL, err)
                   : import_as (d, name, err);
    }
    if (rc == 0)
        rc = (f = draft_finish (d, source, err))
                 ? inputs_put_fabric (in, f, fabric_write, err) : -1;
    draft_destroy (d);
    fabric_destroy (f);
    return rc;
}

const struct verb verb_fabric_import = {
    .name = "import",
    .may = TAKES_OUTPUT, .operands = "FILE...", .max = -1,
    .options = import_options, .given = &imports, .run = run_import,
};

/*
 * Export
 */

static const struct fabric_format {
    const char *name;
    fabric_write_f write;
} formats[] = {
    { "netfile", netfile_write_lids },
    { "ibnetdiscover", netdiscover_write },
    { "lfts", lfts_write },
    { "topology.conf", topology_write },
    { 0 },
};

static const struct fabric_format *format;

static int set_format (void *field, const char *value, struct error *err)
{
    int i = FIND_ROW (formats, value, err);

    (void)field;
    format = i < 0 ? NULL : &formats[i];
    return i < 0 ? -1 : 0;
}

static const struct opt export_options[] = {
    { "format", 0, "F", set_format, 0,
      "netfile (of ibsim), ibnetdiscover (its output), lfts (dump_fts's, for "
      "opensm -R file), topology.conf (of Slurm)" },
    { 0 },
};

static int check_export (const struct inputs *in, struct error *err)
{
    (void)in;
    return format ? 0 : error_input (err, "--format is missing");
}

static int run_export (struct inputs *in, struct error *err)
{
    return inputs_put_fabric (in, in->fabric, format->write, err);
}

const struct verb verb_fabric_export = {
    .name = "export",
    .needs = TAKES_FABRIC, .may = TAKES_OUTPUT,
    .options = export_options, .given = &format, .check = check_export,
    .run = run_export,
};
