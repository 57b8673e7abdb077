/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "ibquery/import/import.h"

#include <string.h>

struct import_format {
    const char *name;     /* or, if read is NULL, what the file is */
    const char *start[6]; /* beginnings of lines that identify it */
    import_f read;
};

static const struct import_format formats[] = {
    { "ibnetdiscover",
      { "vendid=", "Switch\t", "Ca\t", "Rt\t", "Chassis " },
      import_netdiscover },
    { "lst", { "{ " }, import_list },
    { "lfts", { "Unicast lids " }, import_lfts },
    { "fdbs",
      { "dump_ucast_routes: Switch ",
        "osm_ucast_mgr_dump_ucast_routes: Switch " },
      import_fdbs },
    { 0 },
};

/* Files that are mistaken for these formats; checked first. */
static const struct import_format others[] = {
    { "a list of nodes without cables: give the output of ibnetdiscover "
      "without -l",
      { "Switch\t :", "Ca\t :", "Router\t :" },
      NULL },
    { "a report of ports without the GUIDs of adapters: give the output of "
      "ibnetdiscover without -p",
      { "SW ", "CA ", "RT " },
      NULL },
    { "a dump of multicast tables", { "Multicast mlids " }, NULL },
    { "a snapshot already", { "pmm-fabric " }, NULL },
    { 0 },
};

static const struct import_format *find (const struct import_format *table,
                                         const char *line)
{
    for (; table->name; table++)
        for (const char *const *start = table->start; *start; start++)
            if (strncmp (line, *start, strlen (*start)) == 0)
                return table;
    return NULL;
}

/* The format of the first line that identifies one. */
static const struct import_format *detect (struct scan *s, struct error *err)
{
    const char *line = scan_peek (s, err);
    const struct import_format *format = NULL;

    if (!line)
        return NULL;
    while (*line && !format) {
        if (!(format = find (others, line)))
            format = find (formats, line);
        line += strcspn (line, "\n");
        line += *line == '\n';
    }
    if (format && format->read)
        return format;
    if (format)
        error_input (err, "this is %s", format->name);
    else
        error_input (err, "this is none of the formats known");
    s->at.line = 1;
    place_error (&s->at, err);
    return NULL;
}

static const struct import_format *by_name (const char *name, struct error *err)
{
    for (const struct import_format *f = formats; f->name; f++)
        if (strcmp (f->name, name) == 0)
            return f;
    error_input (err, "'%.40s' is no format", name);
    return NULL;
}

int import_file (struct draft *d, FILE *fp, const char *name,
                 const char *format, struct error *err)
{
    const struct import_format *f;
    struct scan s;
    int rc = -1;

    scan_open (&s, fp, name);
    f = format ? by_name (format, err) : detect (&s, err);
    if (f)
        rc = f->read (d, &s, err);
    scan_close (&s);
    return rc;
}
