/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm fabric import: a snapshot from the output of the standard tools. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "ibquery/import/import.h"
#include "ibquery/snapshot.h"
#include "pmm/fabric/fabric_verb.h"
#include "util/alloc.h"

static struct strings formats; /* "FORMAT:FILE" */

static const struct opt options[] = {
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

/* "import net fts": the formats of the files that a fabric comes from. */
static void name_source (const struct inputs *in, char *text, size_t size)
{
    size_t n = in->noperands;
    size_t len = snprintf (text, size, "import");

    for (size_t i = 0; i < n + formats.n && len < size; i++) {
        const char *name = i < n ? in->operand[i] : formats.v[i - n];
        const char *slash = strrchr (name, '/');

        len += snprintf (text + len, size - len, " %s",
                         slash ? slash + 1 : name);
    }
}

static int import_all (struct draft *d, const struct inputs *in,
                       struct error *err)
{
    for (int i = 0; i < in->noperands; i++)
        if (import_path (d, in->operand[i], NULL, err) < 0)
            return -1;
    for (size_t i = 0; i < formats.n; i++)
        if (import_as (d, formats.v[i], err) < 0)
            return -1;
    return 0;
}

static int run (struct inputs *in, struct error *err)
{
    char source[FABRIC_NAME_MAX];
    struct fabric *f = NULL;
    struct draft *d = draft_create ();
    int rc = -1;

    name_source (in, source, sizeof (source));
    if (import_all (d, in, err) == 0
        && (f = draft_finish (d, source, err)))
        rc = fabric_save (f, in, fabric_write, err);
    draft_destroy (d);
    fabric_destroy (f);
    return rc;
}

const struct verb verb_fabric_import = {
    .name = "import",
    .may = TAKES_OUTPUT,
    .operands = "FILE...",
    .max = -1,
    .options = options,
    .given = &formats,
    .run = run,
};
