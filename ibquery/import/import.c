/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The formats, and how their lines are read. */
#include "config.h"
#include "ibquery/import/import.h"

#include <stdlib.h>
#include <string.h>

#include "ibquery/import/parser.h"
#include "util/alloc.h"
#include "util/text.h"

enum { BUFFER = 1 << 16, MAX_LINE = 1 << 15 };

struct import_format {
    const char *name;
    const char *start[6]; /* words (scan_words) at the begin of a line that
                             identify it */
    int (*read) (struct import *d, char *line, struct error *err);
    int (*end) (struct import *d, struct error *err);
};

static const struct import_format formats[] = {
    { "ibnetdiscover",
      { "vendid=", "Switch % \"", "Ca % \"", "Rt % \"", "Chassis " },
      import_netdiscover, NULL },
    { "lst", { "{ SW", "{ CA", "{ R" }, import_list, NULL },
    { "lfts", { "Unicast lids " }, import_lfts, import_lfts_end },
    { "fdbs",
      { "dump_ucast_routes: Switch ",
        "osm_ucast_mgr_dump_ucast_routes: Switch " },
      import_fdbs, import_fdbs_end },
    { "far", { "Switch 0x" }, import_far, import_far_end },
    { "plft", { "dump_plft: " }, import_plft, NULL },
    { "net_dump_ext", { "Ty :" }, import_ber, NULL },
    { "db_csv", { "START_" }, import_csv, import_csv_end },
};
#define END (formats + sizeof (formats) / sizeof (formats[0]))

/* What people give instead, and what makes a file that can be read. */
#define CABLES "ibnetdiscover >cables.txt makes a file that can be read"
#define TABLES "dump_fts >tables.txt makes a file that can be read"

/* By how the file begins. */
static const struct {
    const char *begin;
    const char *what;
} binaries[] = {
    { "\x1f\x8b", "compressed: gzip -d unpacks it" },
    { "\xfd" "7zXZ", "compressed: xz -d unpacks it" },
    { "\x28\xb5\x2f\xfd", "compressed: zstd -d unpacks it" },
    { "BZh", "compressed: bzip2 -d unpacks it" },
    { "\x04\x22\x4d\x18", "compressed: lz4 -d unpacks it" },
    { "PK\x03\x04", "a zip file, or of an office program: unzip or save the "
                    "text in it" },
    { "%PDF-", "a PDF: " CABLES },
    { "\xff\xfe", "UTF-16: iconv -f UTF-16 -t UTF-8 makes a file that can be "
                  "read" },
    { "\xfe\xff", "UTF-16: iconv -f UTF-16 -t UTF-8 makes a file that can be "
                  "read" },
    { "\x2b\x83\xe7\x8f", "a cache of ibnetdiscover: ibnetdiscover "
                          "--load-cache FILE >cables.txt makes a file that can "
                          "be read" },
};

/* By a line: words at its begin, behind '*' anywhere. */
static const struct {
    const char *start[5];
    const char *what;
} strangers[] = {
    { { "*==( ", "*)==> " }, "the output of iblinkinfo: " CABLES },
    { { "Switch :", "Ca :", "Router :", "Rt :" },
      "a list of nodes without cables (ibnetdiscover -l, ibhosts, ibswitches): "
      CABLES },
    { { "CA '", "Infiniband device '", "hca_id:" },
      "about this host's adapters (ibstat, ibstatus, ibv_devinfo): " CABLES },
    { { "SW %", "CA %", "RT %" },
      "a report of ports without the GUIDs of adapters: give the output of "
      "ibnetdiscover without -p" },
    { { "Errors for ", "Data Counters for ", "## Summary: " },
      "the output of ibqueryerrors: " CABLES },
    { { "*Record dump:" }, "the output of saquery: " CABLES },
    { { "# Node info: ", "# Port info: ", "# Switch info: ",
        "# Port counters: ", "sminfo: " },
      "about one port or node (smpquery, perfquery, sminfo): " CABLES },
    { { "From ca {", "From switch {" }, "the output of ibtracert: " CABLES },
    { { "Multicast mlids " }, "a dump of multicast tables: " TABLES },
    { { "pmm-fabric " }, "a snapshot already: give it by -f" },
    { { "0x% \"" }, "a map of names: give it by --node-name-map FILE" },
    { { "0x% 0x%", "0x%:% 0x%:%", "Switch: guid 0x%" },
      "what opensm keeps for itself: give opensm-subnet.lst and opensm.fdbs" },
    { { "SwitchName=" },
      "Slurm's topology.conf, which has no cables: " CABLES },
    { { "-I- ", "-W- ", "-E- " },
      "a log of ibdiagnet: give ibdiagnet2.db_csv and ibdiagnet2.fdbs, which "
      "it wrote" },
    { { "*[main] ENTER", "*-> osm_", "*OpenSM " },
      "a log of opensm: " CABLES },
    { { "<?xml", "<!DOCTYPE", "<html", "<HTML" },
      "a web page or XML: " CABLES },
    { { "From: ", "Received: ", "Return-Path: ", "Subject: " },
      "a mail: save what is attached, or run ibnetdiscover >cables.txt" },
    { { "> vendid=", "> Switch ", "> Ca ", "> Unicast lids " },
      "quoted in a mail: " CABLES },
    { { "*: command not found", "*: Permission denied" },
      "a command that did not run: as root, " CABLES },
};

/* Words that a tool prints where a node did not answer it, or that it may not
 * ask: they are in the file if standard error was, too.
 */
static const char *const troubles[] = {
    "*ibwarn: [",      "*ibpanic: [", "*iberror: ",       "*.c:%; ",
    "*bad status %",   "*SubnGet",    "*mad_rpc",         "*umad_",
    "*failed, skipping port",         "*onnection timed out",
};

#define COUNT(a) (sizeof (a) / sizeof ((a)[0]))

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
static int fill_scan_buffer (struct scan *s, struct error *err)
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

/* Blanks for the no-break spaces of UTF-8, which web pages have for tabs. */
static void plain_blanks (char *line)
{
    static const char no_break[] = "\xc2\xa0";
    char *to = strstr (line, no_break);

    if (!to)
        return;
    for (const char *p = to; *p; p++) {
        bool is = strncmp (p, no_break, strlen (no_break)) == 0;

        *to++ = is ? ' ' : *p;
        p += is;
    }
    *to = '\0';
}

/* The next line, without its line end. The caller may change it; it is valid
 * until the next call. Return 1, 0 at the end, or -1 with err: a line longer
 * than any real one, a NUL byte, or a last line without an end.
 */
static int any_line (struct scan *s, char **line, struct error *err)
{
    char *newline = memchr (s->buf + s->start, '\n', s->end - s->start);
    size_t len;

    if (!newline && !s->eof) {
        if (fill_scan_buffer (s, err) < 0)
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
    plain_blanks (*line);
    return 1;
}

/* The same, without what ibsim says when a tool begins, if its standard error
 * is in the file, too.
 */
static int next_line (struct scan *s, char **line, struct error *err)
{
    int rc;

    while ((rc = any_line (s, line, err)) > 0
           && strncmp (*line, "ibwarn: [", strlen ("ibwarn: [")) == 0
           && strstr (*line, "] sim_connect: attached as client "))
        ;
    return rc;
}

/* The end of what the words take of a line, NULL if they are not there. */
static const char *match_words (const char *p, const char *words)
{
    static const char blank[] = " \t", hex[] = "0123456789abcdefABCDEF";

    for (; *words; words++) {
        const char *set = *words == ' ' ? blank : *words == '%' ? hex : NULL;
        size_t n = set ? strspn (p, set) : *p == *words;

        if (n == 0)
            return NULL;
        p += n;
    }
    return p;
}

bool scan_words (char **p, const char *words)
{
    const char *end = match_words (*p, words);

    if (end)
        *p += end - *p;
    return end;
}

/* Whether a line, which ends as a text or by '\n', has the words of a table. */
static bool line_has (const char *line, const char *words)
{
    if (*words != '*')
        return match_words (line + strspn (line, " \t"), words);
    for (; *line && *line != '\n'; line++)
        if (match_words (line, words + 1))
            return true;
    return false;
}

static bool is_trouble (const char *line)
{
    for (size_t i = 0; i < COUNT (troubles); i++)
        if (line_has (line, troubles[i]))
            return true;
    return false;
}

static int incomplete_file_error (const struct place *at, struct error *err)
{
    return place_input (at, err, "the tool could not ask a port: the file may "
                                 "be incomplete: run it again as root");
}

/* "{" and a name, or "[" and what is in it: not "[1]", a port. */
static bool is_json (const char *p)
{
    static const char blank[] = " \t\r\n";
    char open = *(p += strspn (p, blank));

    if (open != '{' && open != '[')
        return false;
    p++;
    p += strspn (p, blank);
    return *p && strchr (open == '{' ? "\"}" : "{[\"]", *p);
}

/* What the whole file is; NULL: text. */
static const char *find_binary (const struct scan *s)
{
    enum { TAR = 257 };

    for (size_t i = 0; i < COUNT (binaries); i++)
        if (strncmp (s->buf, binaries[i].begin, strlen (binaries[i].begin))
            == 0)
            return binaries[i].what;
    if (s->end > TAR + 5 && memcmp (s->buf + TAR, "ustar", 5) == 0)
        return "an archive: tar -xf unpacks it";
    return is_json (s->buf + s->start) ? "JSON, as UFM has it: " CABLES : NULL;
}

static const char *find_stranger (const char *line)
{
    for (size_t i = 0; i < COUNT (strangers); i++)
        for (size_t k = 0; k < COUNT (strangers[i].start); k++)
            if (strangers[i].start[k]
                && line_has (line, strangers[i].start[k]))
                return strangers[i].what;
    return NULL;
}

static const struct import_format *find_format (const char *line)
{
    for (const struct import_format *f = formats; f < END; f++)
        for (const char *const *start = f->start; *start; start++)
            if (line_has (line, *start))
                return f;
    return NULL;
}

/* The format of the first line that identifies one, in the first 64 KB. */
static const struct import_format *detect (struct scan *s, struct error *err)
{
    const struct place first = { s->at.file, 1 };
    const struct import_format *f = NULL;
    const char *what = find_binary (s);
    bool bad = false;

    for (const char *line = s->buf + s->start; *line && !f && !what;) {
        if (!(f = find_format (line)))
            what = find_stranger (line);
        bad |= is_trouble (line);
        line += strcspn (line, "\n");
        line += *line == '\n';
    }
    if (f)
        return f;
    if (what)
        place_input (&first, err, "this is %s", what);
    else if (bad)
        incomplete_file_error (&first, err);
    else if (s->start + strspn (s->buf + s->start, " \t\r\n") == s->end)
        place_input (&first, err, "the file is empty: see what the program "
                                  "printed on standard error");
    else
        place_input (&first, err, "the format is not known: what "
                                  "ibnetdiscover, dump_fts and ibroute print "
                                  "is read, opensm's and ibdiagnet's .lst and "
                                  ".fdbs, and ibdiagnet2.db_csv; " CABLES);
    return NULL;
}

static const struct import_format *by_name (const char *name, struct error *err)
{
    for (const struct import_format *f = formats; f < END; f++)
        if (strcmp (f->name, name) == 0)
            return f;
    error_input (err, "'%.40s' is not a format", name);
    return NULL;
}

/* Read what comes before the first line: also the byte order mark that some
 * programs write.
 */
static int begin_scan (struct scan *s, struct error *err)
{
    static const char mark[] = "\xef\xbb\xbf";

    if (fill_scan_buffer (s, err) < 0)
        return -1;
    if (strncmp (s->buf, mark, strlen (mark)) == 0)
        s->start = strlen (mark);
    return 0;
}

/* Whether a line that cannot be read has what a tool prints of a failure.
 * Readers may have put ends of texts into it.
 */
static bool has_trouble (struct scan *s, char *line)
{
    for (char *p = line; p < s->buf + s->start - 1; p++)
        if (!*p)
            *p = ' ';
    return is_trouble (line);
}

int import_file (struct import *d, FILE *fp, const char *name,
                 const char *format, struct error *err)
{
    const struct import_format *f = NULL;
    char *line;
    int rc = -1;

    d->s = (struct scan){ .at = { name, 0 }, .fp = fp,
                          .buf = xarray (BUFFER + 1, 1) };
    d->paragraph = -1;
    d->system = d->port_guid = d->vendor = d->device = 0;
    d->csv = (struct import_csv){ 0 };
    d->far = NULL;
    d->fdbs = 0;
    d->skip_table = false;
    if (begin_scan (&d->s, err) == 0)
        f = format ? by_name (format, err) : detect (&d->s, err);
    while (f && (rc = next_line (&d->s, &line, err)) > 0)
        if ((rc = f->read (d, line, err)) < 0) {
            if (has_trouble (&d->s, line))
                incomplete_file_error (&d->s.at, err);
            break;
        }
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

static bool scan_unsigned (char **p, int base, uint64_t max, uint64_t *value)
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
    return scan_unsigned (p, 10, max, value);
}

bool scan_hex (char **p, uint64_t max, uint64_t *value)
{
    return scan_unsigned (p, 16, max, value);
}

void scan_blanks (char **p)
{
    *p += strspn (*p, " \t");
}
