/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes
 *
 * dump_fts, dump_lfts and ibroute write (import_lfts), with the number of
 * entries last,
 *
 *     Unicast lids [0x0-0x16] of switch DR path ... guid 0x... (leaf 1):
 *       Lid  Out   Destination
 *            Port     Info
 *     0x0001 005 : (Channel Adapter portguid 0x...: 'h0001 mlx5_0')
 *     0x0002 005 : (path #2 out of 2: portguid 0x...)
 *     22 valid lids dumped
 *
 * With -n, only the port follows the LID. opensm-lfts.dump has other
 * punctuation, and its last number is the last LID.
 *
 * opensm.fdbs (import_fdbs), and ibdiagnet's with another word before "Switch",
 * have
 *
 *     dump_ucast_routes: Switch 0x0000000000100000
 *     LID    : Port : Hops : Optimal
 *     0x0001 : 001  : 02   : yes
 *     0x0003 : UNREACHABLE
 *
 * for all LIDs from 1 to the last. A LID that no port has is UNREACHABLE. If a
 * switch has more than one table (PLFT_NUM), all but the first are skipped: it
 * is not known which packets use which table. A table has no header that gives
 * its length. It ends at the next table, or at the end of the file.
 */
#include "config.h"
#include "ibquery/import/parser.h"

#include <string.h>

/* Lines of lfts to skip, and lines that show that something is missing. */
static const struct {
    const char *start;
    const char *why; /* the error; NULL: skip the line */
} words[] = {
    { "Lid Out Destination", NULL },
    { "Port Info", NULL },
    { "*** WARNING ***: this command has been replaced by", NULL },
    { "#", NULL },
    { "Multicast mlids ", "these are multicast tables" },
};

int import_lfts_end (struct import *d, struct error *err)
{
    return d->open ? import_fault (d, err, "the table above does not say how "
                                          "long it is: lines are missing")
                   : 0;
}

static int lfts_header (struct import *d, char *p, struct error *err)
{
    uint64_t first, last, guid;

    if (import_lfts_end (d, err) < 0)
        return -1;
    if (!(scan_text (&p, "0x") ? scan_hex (&p, UINT16_MAX, &first)
                               : scan_decimal (&p, UINT16_MAX, &first))
        || !scan_text (&p, "-")
        || !(scan_text (&p, "0x") ? scan_hex (&p, UINT16_MAX, &last)
                                  : scan_decimal (&p, UINT16_MAX, &last))
        || !scan_text (&p, "] of switch ") || !scan_to (&p, "guid 0x")
        || !scan_hex (&p, UINT64_MAX, &guid))
        return import_fault (d, err, "this does not begin a forwarding table");
    if (import_table (d, guid, first, last, err) < 0)
        return -1;
    d->open->lacks_last = last % 64 == 0;
    return 0;
}

/* "5 : (Switch portguid 0x...: 'leaf 1')" or "5 : (path #2 out of 2: portguid
 * 0x...)". With -n there is no text, so the owner is not known. Other text
 * without a GUID means that no port has the LID.
 */
static int lfts_entry (struct import *d, char *p, struct error *err)
{
    uint64_t lid, port, guid;
    bool untold;

    if (!scan_hex (&p, FABRIC_MAX_LID, &lid) || !scan_words (&p, " ")
        || !scan_decimal (&p, UINT8_MAX, &port)
        || (*p && !scan_words (&p, " ")) || !d->open)
        return import_fault (d, err, "this is not an entry of a forwarding "
                                     "table");
    if (import_route (d, lid, port, err) < 0)
        return -1;
    untold = !*p || strstr (p, "(path #");
    if (port == LFT_NO_ROUTE)
        return 0;
    if (scan_to (&p, "portguid 0x") && scan_hex (&p, UINT64_MAX - 1, &guid)
        && guid != 0)
        return import_owner (d, lid, guid, err);
    return untold ? import_owner (d, lid, IMPORT_UNTOLD, err) : 0;
}

/* "22 valid lids dumped": the number of entries. Without "valid" it may also be
 * the last LID.
 */
static int lfts_trailer (struct import *d, char *p, struct error *err)
{
    const struct import_table *t = d->open;
    uint64_t count = 0;
    bool valid;

    for (size_t i = 0; i < sizeof (words) / sizeof (words[0]); i++)
        if (scan_words (&p, words[i].start))
            return words[i].why ? import_fault (d, err, "%s", words[i].why) : 0;
    if (!*p)
        return 0;
    if (!scan_decimal (&p, UINT32_MAX, &count))
        return import_fault (d, err, "\"%.40s\" does not belong to a "
                                     "forwarding table", p);
    scan_blanks (&p);
    valid = scan_text (&p, "valid ");
    if (!scan_text (&p, "lids dumped") || !t)
        return import_fault (d, err, "this does not end a forwarding table");
    if (count != t->routes && (valid || count != t->last))
        return import_fault (d, err, "the table has %zu entries, not %" PRIu64,
                             t->routes, count);
    return import_table_end (d, t->last, count == t->routes, err);
}

int import_lfts (struct import *d, char *line, struct error *err)
{
    scan_blanks (&line);
    if (scan_text (&line, "0x"))
        return lfts_entry (d, line, err);
    if (scan_words (&line, "Unicast lids ["))
        return lfts_header (d, line, err);
    return lfts_trailer (d, line, err);
}

int import_fdbs_end (struct import *d, struct error *err)
{
    return d->open ? import_table_end (d, d->open->last, true, err) : 0;
}

static int fdbs_header (struct import *d, char *p, struct error *err)
{
    uint64_t guid;

    if (import_fdbs_end (d, err) < 0)
        return -1;
    if (!scan_hex (&p, UINT64_MAX, &guid) || *p)
        return import_fault (d, err, "this does not begin a forwarding table");
    if (import_table (d, guid, 0, 0, err) < 0)
        return -1;
    d->open->first = 1;
    d->fdbs = guid;
    d->skip_table = false;
    return 0;
}

static int fdbs_entry (struct import *d, char *p, struct error *err)
{
    struct import_table *t = d->open;
    uint64_t lid, port;

    if (d->skip_table)
        return 0;
    if (!t || !scan_hex (&p, FABRIC_MAX_LID, &lid) || !scan_text (&p, " : "))
        return import_fault (d, err, "this is not an entry of a forwarding "
                                     "table");
    if (lid != t->last + 1)
        return import_fault (d, err, "the LIDs of a table follow one another");
    t->last = lid;
    if (strcmp (p, "UNREACHABLE") == 0)
        return 0;
    if (!scan_decimal (&p, UINT8_MAX, &port) || *p != ' ')
        return import_fault (d, err, "this is not a port of a forwarding table");
    if (import_route (d, lid, port, err) < 0)
        return -1;
    return import_owner (d, lid, IMPORT_SOMEBODY, err);
}

/* "PLFT_NUM: 1" */
static int fdbs_number (struct import *d, char *p, struct error *err)
{
    uint64_t number;

    if (!scan_decimal (&p, UINT8_MAX, &number) || *p || d->fdbs == 0)
        return import_fault (d, err, "this is not a table of a switch");
    if (number == 0)
        return 0;
    import_spread (d, d->fdbs)->private_lfts = true;
    d->skip_table = true;
    return import_fdbs_end (d, err);
}

int import_fdbs (struct import *d, char *line, struct error *err)
{
    char *p = line;

    if (scan_text (&line, "0x"))
        return fdbs_entry (d, line, err);
    if (!*line || *line == '#' || scan_text (&p, "LID "))
        return 0;
    if (scan_to (&p, "Switch 0x"))
        return fdbs_header (d, p, err);
    return scan_text (&line, "PLFT_NUM: ")
               ? fdbs_number (d, line, err)
               : import_fault (d, err, "this line does not belong to a "
                                      "forwarding table");
}
