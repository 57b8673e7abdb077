/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes
 *
 * dump_fts, dump_lfts and ibroute write, with the number of entries last,
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
 */
#include "config.h"
#include "ibquery/import/import.h"

#include <inttypes.h>
#include <string.h>

/* Lines to skip, and lines that show that something is missing. */
static const struct {
    const char *start;
    const char *why; /* the error; NULL: skip the line */
} words[] = {
    { "  Lid  Out   Destination", NULL },
    { "       Port     Info", NULL },
    { "*** WARNING ***: this command has been replaced by", NULL },
    { "#", NULL },
    { "SubnGet", "a part of the table could not be read" },
    { "Multicast mlids ", "these are multicast tables" },
};

static int skip (char *line, const struct place *at, struct error *err)
{
    if (!*line)
        return 0;
    for (size_t i = 0; i < sizeof (words) / sizeof (words[0]); i++) {
        if (strncmp (line, words[i].start, strlen (words[i].start)) != 0)
            continue;
        if (!words[i].why)
            return 0;
        return place_input (at, err, "%s", words[i].why);
    }
    return place_input (at, err, "\"%.40s\" is of no forwarding table", line);
}

static int end_of_table (struct draft *d, const struct place *at,
                         struct error *err)
{
    if (!draft_open (d))
        return 0;
    return place_input (at, err,
                        "the table above does not say how long it is: lines "
                        "are missing");
}

static int read_header (struct draft *d, char *p, const struct place *at,
                        struct error *err)
{
    uint64_t first, last, guid;
    struct draft_table table;

    if (end_of_table (d, at, err) < 0)
        return -1;
    if (!scan_number (&p, UINT16_MAX, &first) || !scan_text (&p, "-")
        || !scan_number (&p, UINT16_MAX, &last)
        || !scan_text (&p, "] of switch ") || !scan_to (&p, "guid 0x")
        || !scan_hex (&p, UINT64_MAX, &guid))
        return place_input (at, err, "this begins no forwarding table");
    table = (struct draft_table){
        .guid = guid,
        .first = first,
        .last = last,
        .lacks_last = last % 64 == 0,
    };
    return draft_table (d, at, &table, err);
}

/* The owner of an entry's LID: "(Switch portguid 0x...: 'leaf 1')", "(path #2
 * out of 2: portguid 0x...)". With -n there is no text, so the owner is not
 * known. Other text without a GUID means that no port has the LID.
 */
static int read_owner (struct draft *d, char *p, const struct place *at,
                       unsigned int lid, struct error *err)
{
    bool untold = !*p || strstr (p, "(path #");
    uint64_t guid;

    if (scan_to (&p, "portguid 0x") && scan_hex (&p, UINT64_MAX - 1, &guid)
        && guid != 0)
        return draft_owner (d, at, lid, guid, err);
    return untold ? draft_owner (d, at, lid, DRAFT_UNTOLD, err) : 0;
}

/* "22 valid lids dumped": the number of entries. Without "valid" it may also be
 * the last LID.
 */
static int read_trailer (struct draft *d, char *p, const struct place *at,
                         struct error *err)
{
    const struct draft_table *table = draft_open (d);
    uint64_t count = 0;
    bool valid;

    if (!scan_decimal (&p, UINT32_MAX, &count))
        return skip (p, at, err);
    scan_blanks (&p);
    valid = scan_text (&p, "valid ");
    if (!scan_text (&p, "lids dumped") || !table)
        return place_input (at, err, "this ends no forwarding table");
    if (count != draft_routes (d) && (valid || count != table->last))
        return place_input (at, err, "the table has %zu entries, not %" PRIu64,
                            draft_routes (d), count);
    return draft_table_end (d, table->last, count == draft_routes (d), err);
}

static int read_entry (struct draft *d, char *p, const struct place *at,
                       struct error *err)
{
    uint64_t lid, port;

    if (!scan_hex (&p, FABRIC_MAX_LID, &lid) || !scan_text (&p, " ")
        || !scan_decimal (&p, UINT8_MAX, &port)
        || (*p && !scan_text (&p, " ")) || !draft_open (d))
        return place_input (at, err, "this is no entry of a forwarding table");
    if (draft_route (d, at, lid, port, err) < 0)
        return -1;
    return port == LFT_NO_ROUTE ? 0 : read_owner (d, p, at, lid, err);
}

int import_lfts (struct draft *d, struct scan *s, struct error *err)
{
    char *line;
    int rc;

    while ((rc = scan_line (s, &line, err)) > 0) {
        if (scan_text (&line, "0x"))
            rc = read_entry (d, line, &s->at, err);
        else if (scan_text (&line, "Unicast lids ["))
            rc = read_header (d, line, &s->at, err);
        else
            rc = read_trailer (d, line, &s->at, err);
        if (rc < 0)
            return -1;
    }
    return rc < 0 ? -1 : end_of_table (d, &s->at, err);
}
