/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes
 *
 * ibdiagnet2.far (import_far) has, for each switch that routes adaptively, its
 * groups of ports, in up to two sub-groups each, and its tables, one for each
 * private LFT:
 *
 *     Switch 0x0000000000100050 ...
 *     Groups Definition:
 *     Group   Sub Group   WHBF   Ports
 *     --------------------------------
 *     1       0           0      3,4,
 *     LFT Definition:
 *     PLFT_NUM: 0, top: 0x000e
 *     LID     Static Port   Lid State   Group
 *     ---------------------------------------
 *     0x0001  001           Static      0
 *     0x0003  003           Free        1
 *
 * A group may have no ports as long as no LID goes there. Which port of which
 * sub-group is preferred depends on load: both count alike. A LID without a row
 * follows the usual table.
 *
 * A switch in ibdiagnet2.plft (import_plft), or with PLFT_NUM 1 in this or in
 * the .fdbs, has private LFTs; which messages use which is not read. No example
 * of a .plft was at hand: only its lines with a switch's GUID are read.
 */
#include "config.h"
#include "ibquery/import/parser.h"



static const struct {
    const char *name;
    enum spread_state state;
} states[] = {
    { "Bounded", SPREAD_BOUNDED },
    { "Free", SPREAD_FREE },
    { "Static", SPREAD_STATIC },
    { "HBF", SPREAD_HASHED },
};

/* Lines to skip. */
static const char *const others[] = {
    "#", "-", "File version", "Group ", "Group\t", "LID ", "LID\t",
};

#define COUNT(a) (sizeof (a) / sizeof ((a)[0]))

/* "1  0  0  3,4," */
static int far_group (struct import *d, char *p, struct error *err)
{
    struct import_spread *s = d->far;
    uint64_t v[3], port; /* group, sub-group, weighted */

    for (int i = 0; i < 3; i++, scan_blanks (&p))
        if (!scan_decimal (&p, UINT16_MAX, &v[i]))
            return import_fault (d, err, "this is not a group of a .far");
    if (v[0] >= FABRIC_MAX_GROUPS || v[1] > 1
        || 2 * v[0] + v[1] < s->next_group)
        return import_fault (d, err, "group %" PRIu64 ", sub-group %" PRIu64 " "
                                     "does not belong here", v[0], v[1]);
    s->next_group = 2 * v[0] + v[1] + 1;
    d->allowed += IMPORT_ENTRY;
    if (v[0] >= s->ngroups
        && import_allow (d, (v[0] + 1 - s->ngroups) * sizeof (*s->group), err)
               < 0)
        return place_error (&d->s.at, err);
    while (s->ngroups <= v[0]) {
        s->group = pool_grow (d->pool, s->group, s->ngroups,
                              sizeof (*s->group));
        s->group[s->ngroups++] = (struct spread_group){ 0 };
    }
    while (scan_decimal (&p, UINT8_MAX, &port)) {
        s->group[v[0]].port[port / 64] |= (uint64_t)1 << port % 64;
        if (!scan_text (&p, ","))
            break;
        scan_blanks (&p);
    }
    return !*p ? 0 : import_fault (d, err, "\"%.40s\" is not a port", p);
}

/* "0x0003  003  Free  1" */
static int far_entry (struct import *d, char *p, struct error *err)
{
    struct import_spread *s = d->far;
    uint64_t lid, port, group;
    size_t i = 0;
    bool good = scan_text (&p, "0x") && scan_hex (&p, FABRIC_MAX_LID, &lid);

    scan_blanks (&p);
    good = good && scan_decimal (&p, UINT8_MAX, &port);
    scan_blanks (&p);
    while (good && i < COUNT (states) && !scan_text (&p, states[i].name))
        i++;
    scan_blanks (&p);
    if (!good || i == COUNT (states) || !scan_decimal (&p, UINT16_MAX, &group))
        return import_fault (d, err, "this is not an entry of a .far");
    if (lid < s->nentries)
        return import_fault (d, err, "LID %" PRIu64 " does not belong here",
                             lid);
    d->allowed += IMPORT_ENTRY;
    if (import_allow (d, (lid + 1 - s->nentries) * sizeof (*s->entry), err) < 0)
        return place_error (&d->s.at, err);
    while (s->nentries <= lid) {
        s->entry = pool_grow (d->pool, s->entry, s->nentries,
                              sizeof (*s->entry));
        s->entry[s->nentries++] = (struct spread_entry){
            .state = IMPORT_NO_ENTRY
        };
    }
    s->entry[lid] = (struct spread_entry){ states[i].state, port, group };
    return 0;
}

/* "PLFT_NUM: 0, top: 0x000e" */
static int far_table (struct import *d, char *p, struct error *err)
{
    uint64_t number;

    if (!scan_decimal (&p, UINT8_MAX, &number))
        return import_fault (d, err, "this does not begin a table of a .far");
    if (number > 0)
        d->far->private_lfts = true;
    d->far_part = number == 0 ? FAR_ENTRIES : FAR_OTHER;
    return 0;
}

/* Check that a switch whose groups began has a table. */
static int far_closed (const struct import *d, struct error *err)
{
    return !d->far || d->far_part == FAR_OTHER || d->far->nentries > 0
               ? 0
               : import_fault (d, err,
                              "switch %016" PRIx64 " has groups and no table: "
                              "lines are missing", d->far->guid);
}

int import_far (struct import *d, char *line, struct error *err)
{
    uint64_t guid;

    scan_blanks (&line);
    if (scan_text (&line, "Switch 0x")) {
        if (far_closed (d, err) < 0)
            return -1;
        if (!scan_hex (&line, UINT64_MAX, &guid))
            return import_fault (d, err, "this is not a switch's GUID");
        d->far = import_spread (d, guid);
        d->far_part = FAR_OTHER;
        return 0;
    }
    for (size_t i = 0; i < COUNT (others); i++)
        if (!*line || scan_text (&line, others[i]))
            return 0;
    if (!d->far)
        return import_fault (d, err, "this does not belong to a switch");
    if (scan_text (&line, "Groups Definition:")) {
        d->far_part = FAR_GROUPS;
        return 0;
    }
    if (scan_text (&line, "LFT Definition:")) {
        d->far_part = FAR_TABLES;
        return 0;
    }
    if (scan_text (&line, "PLFT_NUM: "))
        return far_table (d, line, err);
    return d->far_part == FAR_GROUPS    ? far_group (d, line, err)
           : d->far_part == FAR_ENTRIES ? far_entry (d, line, err)
           : d->far_part == FAR_OTHER
               ? 0
               : import_fault (d, err, "this is not a line of a .far");
}

int import_far_end (struct import *d, struct error *err)
{
    return far_closed (d, err);
}

int import_plft (struct import *d, char *line, struct error *err)
{
    uint64_t guid;

    if (!scan_to (&line, "Switch 0x"))
        return 0;
    if (!scan_hex (&line, UINT64_MAX, &guid))
        return import_fault (d, err, "this is not a switch's GUID");
    import_spread (d, guid)->private_lfts = true;
    return 0;
}
