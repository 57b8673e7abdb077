/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes
 *
 * opensm writes, and ibdiagnet with another word before "Switch",
 *
 *     dump_ucast_routes: Switch 0x0000000000100000
 *     LID    : Port : Hops : Optimal
 *     0x0001 : 001  : 02   : yes
 *     0x0003 : UNREACHABLE
 *
 * for all LIDs from 1 to the last. A LID that no port has is UNREACHABLE. If a
 * switch has more than one table (PLFT_NUM), the file is refused: it is not
 * known which packets use which table.
 */
#include "config.h"
#include "ibquery/import/import.h"

#include <string.h>

/* A table has no header that gives its length. It ends at the next table, or at
 * the end of the file.
 */
struct fdbs {
    struct draft *d;
    struct scan *s;
    unsigned int last; /* last LID read of this table */
};

static int fault (const struct fdbs *t, struct error *err, const char *what)
{
    return place_input (&t->s->at, err, "%s", what);
}

static int read_header (struct fdbs *t, char *p, struct error *err)
{
    struct draft_table table = { .first = 1, .last = FABRIC_MAX_LID };

    if (draft_open (t->d) && draft_table_end (t->d, t->last, true, err) < 0)
        return -1;
    if (!scan_hex (&p, UINT64_MAX, &table.guid) || *p)
        return fault (t, err, "this begins no forwarding table");
    t->last = 0;
    return draft_table (t->d, &t->s->at, &table, err);
}

static int read_entry (struct fdbs *t, char *p, struct error *err)
{
    uint64_t lid, port;

    if (!draft_open (t->d) || !scan_hex (&p, FABRIC_MAX_LID, &lid)
        || !scan_text (&p, " : "))
        return fault (t, err, "this is no entry of a forwarding table");
    if (lid != t->last + 1)
        return fault (t, err, "the LIDs of a table follow one another");
    t->last = lid;
    if (strcmp (p, "UNREACHABLE") == 0)
        return 0;
    if (!scan_decimal (&p, UINT8_MAX, &port) || *p != ' ')
        return fault (t, err, "this is no port of a forwarding table");
    if (draft_route (t->d, &t->s->at, lid, port, err) < 0)
        return -1;
    return draft_owner (t->d, &t->s->at, lid, DRAFT_SOMEBODY, err);
}

static int read_line (struct fdbs *t, char *line, struct error *err)
{
    char *p = line;

    if (scan_text (&line, "0x"))
        return read_entry (t, line, err);
    if (!*line || *line == '#' || scan_text (&p, "LID "))
        return 0;
    if (scan_to (&p, "Switch 0x"))
        return read_header (t, p, err);
    if (scan_text (&line, "PLFT_NUM: "))
        return strcmp (line, "0") == 0
                   ? 0
                   : fault (t, err, "the switch has more tables than one");
    return fault (t, err, "this line is of no forwarding table");
}

int import_fdbs (struct draft *d, struct scan *s, struct error *err)
{
    struct fdbs t = { .d = d, .s = s };
    char *line;
    int rc;

    while ((rc = scan_line (s, &line, err)) > 0)
        if (read_line (&t, line, err) < 0)
            return -1;
    if (rc == 0 && draft_open (d))
        rc = draft_table_end (d, t.last, true, err);
    return rc;
}
