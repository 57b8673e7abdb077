/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm fabric import: a snapshot out of what the stock tools wrote. */
#include "config.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "ibquery/import/import.h"
#include "ibquery/snapshot.h"
#include "pmm/common.h"
#include "pmm/fabric/fabric_verb.h"
#include "util/file.h"

struct import_options {
    const char *output;
    struct strings formats; /* "FORMAT:FILE" */
};

#define FIELD(name) offsetof (struct import_options, name)
static const struct opt import_table[] = {
    { "format", 0, "F:FILE", opt_append, FIELD (formats),
      "a FILE more, of format F whatever it looks like: ibnetdiscover, lst "
      "(opensm-subnet.lst, ibdiagnet), lfts (dump_fts, ibroute, "
      "opensm-lfts.dump), fdbs (opensm.fdbs, ibdiagnet)" },
    { "output", 'o', "FILE", opt_string, FIELD (output),
      "write the snapshot here, not to standard output" },
    { 0 },
};
#undef FIELD

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
    if (!(format = strndup (text, colon - text)))
        return error_nomem (err);
    rc = import_path (d, colon + 1, format, err);
    free (format);
    return rc;
}

/* "import net fts": of which files a fabric is. */
static void name_source (const struct import_options *o, char **path, size_t n,
                         char *text, size_t size)
{
    size_t len = snprintf (text, size, "import");

    for (size_t i = 0; i < n + o->formats.n && len < size; i++) {
        const char *name = i < n ? path[i] : o->formats.v[i - n];
        const char *slash = strrchr (name, '/');

        len += snprintf (text + len, size - len, " %s",
                         slash ? slash + 1 : name);
    }
}

static int import_all (struct draft *d, const struct import_options *o,
                       char **path, size_t n, struct error *err)
{
    for (size_t i = 0; i < n; i++)
        if (import_path (d, path[i], NULL, err) < 0)
            return -1;
    for (size_t i = 0; i < o->formats.n; i++)
        if (import_as (d, o->formats.v[i], err) < 0)
            return -1;
    return 0;
}

int fabric_verb_import (int argc, char **argv)
{
    struct import_options o = { 0 };
    struct fabric *f = NULL;
    struct draft *d;
    char source[FABRIC_NAME_MAX];
    struct error err;
    int first, status;

    first = options_parse (import_table, &o, argc, argv, "FILE...", 0, argc,
                           &status);
    if (first < 0)
        return status;
    status = EXIT_OK;
    name_source (&o, argv + first, argc - first, source, sizeof (source));
    d = draft_create ();
    if (import_all (d, &o, argv + first, argc - first, &err) < 0
        || !(f = draft_finish (d, source, &err))
        || fabric_save (f, o.output, fabric_write, &err) < 0)
        status = fail (argv[0], &err);
    draft_destroy (d);
    fabric_destroy (f);
    free (o.formats.v);
    return status;
}
