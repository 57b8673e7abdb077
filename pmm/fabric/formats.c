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

static struct import_words {
    struct strings files; /* "FORMAT:FILE" */
    const char *counters;
} imports;

static const struct opt import_options[] = {
    { "format", 0, "F:FILE", opt_append, offsetof (struct import_words, files),
      "a FILE more, of format F whatever it looks like: ibnetdiscover, lst "
      "(opensm-subnet.lst, ibdiagnet), lfts (dump_fts, ibroute, "
      "opensm-lfts.dump), fdbs (opensm.fdbs, ibdiagnet), far, plft, db_csv or "
      "net_dump_ext (ibdiagnet)" },
    { "counters", 0, "FILE", opt_string,
      offsetof (struct import_words, counters),
      "write the counters and bit error rates of ibdiagnet there" },
    { 0 },
};

static void write_counters (struct draft *d, const struct fabric *f)
{
    struct counters *c = need (draft_counters (d, f, &fault));
    struct outfile *out = need (file_create (imports.counters, &fault));

    need_ok (file_finish (out, counters_write (c, file_stream (out), &fault),
                          &fault));
    counters_destroy (c);
}

static int run_import (struct inputs *in)
{
    char source[FABRIC_NAME_MAX]; /* "import net fts" */
    size_t n = in->noperands;
    size_t len = snprintf (source, sizeof (source), "import");
    struct draft *d = draft_create ();

    for (size_t i = 0; i < n + imports.files.n; i++) {
        const char *name = i < n ? in->operand[i] : imports.files.v[i - n];
        const char *slash = strrchr (name, '/');
        const char *colon = i < n ? NULL : strchr (name, ':');
        const char *path = colon ? colon + 1 : name;
        char *format = NULL;
        FILE *fp;

        if (len < sizeof (source))
            len += snprintf (source + len, sizeof (source) - len, " %s",
                             slash ? slash + 1 : name);
        if (i >= n && !colon)
            die_input ("'%.80s' is not FORMAT:FILE", name);
        if (colon)
            format = xasprintf ("%.*s", (int)(colon - name), name);
        fp = need (file_open_input (path, &fault));
        need_ok (import_file (d, fp, strcmp (path, "-") == 0 ? "standard input"
                                                             : path,
                              format, &fault));
        file_close_input (fp);
        free (format);
    }
    in->fabric = need (draft_finish (d, source, &fault));
    for (size_t i = 0; i < in->fabric->nwarnings; i++)
        fprintf (stderr, "warning: %s\n", in->fabric->warning[i]);
    need_ok (fabric_write (in->fabric, inputs_output (in), &fault));
    if (imports.counters)
        write_counters (d, in->fabric);
    draft_destroy (d);
    return EXIT_OK;
}

const struct verb verb_fabric_import = {
    .name = "import", .help = "a snapshot from other programs' files",
    .may = TAKES_OUTPUT, .operands = "FILE...", .max = -1,
    .options = import_options, .given = &imports, .run = run_import,
};

/*
 * Export
 */

static const struct fabric_format {
    const char *name;
    int (*write) (const struct fabric *f, FILE *fp, struct error *err);
} formats[] = {
    { "netfile", netfile_write_lids },
    { "ibnetdiscover", netdiscover_write },
    { "lfts", lfts_write },
    { "topology.conf", topology_write },
    { 0 },
};

static int format = -1; /* of formats; -1: not given */

static const struct opt export_options[] = {
    { "format", 0, "F", NULL, 0,
      "of ibsim, ibnetdiscover's output, dump_fts's for opensm -R file, of "
      "Slurm", OPT_ROWS (formats) },
    { 0 },
};

static void check_export (const struct inputs *in)
{
    (void)in;
    if (format < 0)
        die_input ("--format is missing");
}

static int run_export (struct inputs *in)
{
    if (formats[format].write != topology_write)
        inputs_need_one (in->fabric, in->fabric_path);
    need_ok (formats[format].write (in->fabric, inputs_output (in), &fault));
    return EXIT_OK;
}

const struct verb verb_fabric_export = {
    .name = "export", .help = "a snapshot as a file of other programs",
    .needs = TAKES_FABRIC, .may = TAKES_OUTPUT,
    .options = export_options, .given = &format, .check = check_export,
    .run = run_export,
};
