/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The formats, and how their lines are read. */
#include "config.h"
#include "ibquery/import/import.h"

#include <stdlib.h>
#include <string.h>

#include "ibquery/import/draft.h"
#include "util/alloc.h"
#include "util/text.h"

enum { BUFFER = 1 << 16, MAX_LINE = 1 << 15 };

struct import_format {
    const char *name;     /* or, if read is NULL, what the file is */
    const char *start[6]; /* beginnings of lines that identify it */
    int (*read) (struct draft *d, char *line, struct error *err);
    int (*end) (struct draft *d, struct error *err);
};

/* Files that are mistaken for formats come first. */
static const struct import_format formats[] = {
    { "a list of nodes without cables: give the output of ibnetdiscover "
      "without -l",
      { "Switch\t :", "Ca\t :", "Router\t :" }, NULL, NULL },
    { "a report of ports without the GUIDs of adapters: give the output of "
      "ibnetdiscover without -p",
      { "SW ", "CA ", "RT " }, NULL, NULL },
    { "a dump of multicast tables", { "Multicast mlids " }, NULL, NULL },
    { "a snapshot already", { "pmm-fabric " }, NULL, NULL },
    { "ibnetdiscover",
      { "vendid=", "Switch\t", "Ca\t", "Rt\t", "Chassis " },
      import_netdiscover, NULL },
    { "lst", { "{ " }, import_list, NULL },
    { "lfts", { "Unicast lids " }, import_lfts, import_lfts_end },
    { "fdbs",
      { "dump_ucast_routes: Switch ",
        "osm_ucast_mgr_dump_ucast_routes: Switch " },
      import_fdbs, import_fdbs_end },
    { "far", { "Switch 0x" }, import_far, import_far_end },
    { "plft", { "dump_plft: " }, import_plft, NULL },
    { "net_dump_ext", { "Ty :", "Ty  :" }, import_ber, NULL },
    { "db_csv", { "START_" }, import_csv, import_csv_end },
};
#define END (formats + sizeof (formats) / sizeof (formats[0]))

int place_error (const struct place *at, struct error *err)
{
    return error_prefix (err, PLACE, at->file, at->line);
}

int place_input (const struct place *at, struct error *err, const char *fmt,
                 ...)
{
    char text[sizeof (err->text)];

    TEXT_PRINT (text, sizeof (text), fmt);
    return error_input (err, PLACE ": %s", at->file, at->line, text);
}

/* Read more, after what is not yet returned. */
static int fill (struct scan *s, struct error *err)
{
    s->end -= s->start;
    memmove (s->buf, s->buf + s->start, s->end);
    s->start = 0;
    s->end += fread (s->buf + s->end, 1, BUFFER - s->end, s->fp);
    if (ferror (s->fp))
        return error_errno (err, "%s: cannot be read", s->at.file);
    s->eof = s->end < BUFFER;
    s->buf[s->end] = '\0';
    return 0;
}

/* The next line, without its line end. The caller may change it; it is valid
 * until the next call. Return 1, 0 at the end, or -1 with err: a line longer
 * than any real one, a NUL byte, or a last line without an end.
 */
static int next_line (struct scan *s, char **line, struct error *err)
{
    char *newline = memchr (s->buf + s->start, '\n', s->end - s->start);
    size_t len;

    if (!newline && !s->eof) {
        if (fill (s, err) < 0)
            return -1;
        newline = memchr (s->buf, '\n', s->end);
    }
    if (!newline && s->start == s->end)
        return 0;
    s->at.line++;
    *line = s->buf + s->start;
    len = (newline ? newline : s->buf + s->end) - *line;
    if (len >= MAX_LINE)
        return place_input (&s->at, err, "the line is longer than %d bytes",
                            MAX_LINE - 1);
    if (!newline)
        return place_input (&s->at, err, "the file is cut short");
    if (memchr (*line, '\0', len))
        return place_input (&s->at, err, "the line has a NUL byte");
    s->start += len + 1;
    if (len > 0 && (*line)[len - 1] == '\r')
        len--;
    (*line)[len] = '\0';
    return 1;
}

/* The format of the first line that identifies one, in the first 64 KB. */
static const struct import_format *detect (struct scan *s, struct error *err)
{
    const struct place first = { s->at.file, 1 };

    if (fill (s, err) < 0)
        return NULL;
    for (const char *line = s->buf; *line;) {
        for (const struct import_format *f = formats; f < END; f++)
            for (const char *const *start = f->start; *start; start++) {
                if (strncmp (line, *start, strlen (*start)) != 0)
                    continue;
                if (f->read)
                    return f;
                place_input (&first, err, "this is %s", f->name);
                return NULL;
            }
        line += strcspn (line, "\n");
        line += *line == '\n';
    }
    place_input (&first, err, "this is none of the formats known");
    return NULL;
}

static const struct import_format *by_name (const char *name, struct error *err)
{
    for (const struct import_format *f = formats; f < END; f++)
        if (f->read && strcmp (f->name, name) == 0)
            return f;
    error_input (err, "'%.40s' is not a format", name);
    return NULL;
}

int import_file (struct draft *d, FILE *fp, const char *name,
                 const char *format, struct error *err)
{
    const struct import_format *f;
    char *line;
    int rc = -1;

    d->s = (struct scan){ .at = { name, 0 }, .fp = fp,
                          .buf = xarray (BUFFER + 1, 1) };
    d->paragraph = -1;
    d->system = d->port_guid = d->vendor = d->device = 0;
    d->csv = (struct draft_csv){ 0 };
    d->far = NULL;
    d->fdbs = 0;
    d->skip_table = false;
    f = format ? by_name (format, err) : detect (&d->s, err);
    while (f && (rc = next_line (&d->s, &line, err)) > 0)
        if ((rc = f->read (d, line, err)) < 0)
            break;
    if (rc == 0 && f->end)
        rc = f->end (d, err);
    free (d->s.buf);
    return rc;
}

bool scan_text (char **p, const char *text)
{
    size_t len = strlen (text);

    if (strncmp (*p, text, len) != 0)
        return false;
    *p += len;
    return true;
}

bool scan_to (char **p, const char *text)
{
    char *found = strstr (*p, text);

    if (found)
        *p = found + strlen (text);
    return found;
}

static bool scan_digits (char **p, int base, uint64_t max, uint64_t *value)
{
    static const char digits[] = "0123456789abcdefABCDEF";
    const char *start = *p, *digit;
    uint64_t v = 0;

    for (; **p && (digit = strchr (digits, **p)); ++*p) {
        int d = digit - digits;

        d -= d > 15 ? 6 : 0;
        if (d >= base)
            break;
        if (v > (max - d) / base || v * base + d > max)
            return false;
        v = v * base + d;
    }
    *value = v;
    return *p > start;
}

bool scan_decimal (char **p, uint64_t max, uint64_t *value)
{
    return scan_digits (p, 10, max, value);
}

bool scan_hex (char **p, uint64_t max, uint64_t *value)
{
    return scan_digits (p, 16, max, value);
}

void scan_blanks (char **p)
{
    *p += strspn (*p, " \t");
}
