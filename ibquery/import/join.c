/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes
 *
 * import_finish joins the cables first; then the LIDs, some of which only the
 * tables give; then the tables, which need both.
 *
 * Not every file gives the LMC of a port. If none does, the LMC follows from
 * the LIDs after the first that the tables assign to the same port.
 */
#include "config.h"
#include "ibquery/import/parser.h"

#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/map.h"
#include "util/rates.h"
#include "util/text.h"

static const struct fabric_port *find_far (const struct import *d,
                                           const struct port_note *note)
{
    uint32_t node = fabric_find_node (d->f, note->cable.far);
    struct error ignored;

    return node == FABRIC_NONE ? NULL
                               : fabric_port_at (d->f, node,
                                                 note->cable.far_port,
                                                 &ignored);
}

/* Check the LID of the far end that this end's line gives. */
static int check_far_lid (const struct import *d, const struct port_note *note,
                          const struct fabric_port *far, struct error *err)
{
    const struct import_address *a
        = d->f->node[far->node].type == NODE_SWITCH
              ? &d->node[far->node].address
              : &d->port[far - d->f->port].address;

    if (note->cable.far_lid == IMPORT_UNKNOWN || !a->at.file
        || note->cable.far_lid == (int)a->lid)
        return 0;
    return place_input (&note->at, err, "the far end's LID %d is %u in " PLACE,
                        note->cable.far_lid, a->lid, a->at.file, a->at.line);
}

/* A cable's lanes and speed: the lower of its ends', if they are told. Return
 * whether the ends differ.
 */
static bool lower_rate (struct import_cable *c, const struct import_cable *back)
{
    struct rates here = rates_of (c->width, c->speed);
    struct rates there = rates_of (back->width, back->speed);
    bool narrower = rates_narrower (&there, &here);
    bool slower = rates_slower (&there, &here);

    if (narrower || !c->width)
        c->width = back->width;
    if (slower || !*c->speed)
        memcpy (c->speed, back->speed, sizeof (c->speed));
    return narrower || slower || (here.lanes && rates_narrower (&here, &there))
           || (here.speeds && rates_slower (&here, &there));
}

/* Check that both ends give the same cable, then add it once. */
static int join_cable (struct import *d, size_t port, struct error *err)
{
    const struct port_note *note = &d->port[port], *back;
    const struct fabric_port *p = &d->f->port[port];
    const struct fabric_port *far = find_far (d, note);
    const struct import_cable *c = &note->cable;
    struct import_cable lower = *c;
    uint64_t guid = d->f->node[p->node].guid;

    if (!far)
        return place_input (&note->at, err, "port %u leads to %016" PRIx64
                            "/%u, which no file has: is the file complete?",
                            p->num, c->far, c->far_port);
    if (far == p) {
        fabric_warn (d->f, "%.64s (%016" PRIx64 "): port %u leads to itself",
                     d->f->node[p->node].desc, guid, p->num);
        return 0;
    }
    back = &d->port[far - d->f->port];
    if (!back->at.file && !c->both)
        return place_input (&note->at, err,
                            "port %u leads to %016" PRIx64 "/%u, which has no "
                            "cable in any file", p->num, c->far, c->far_port);
    if (back->at.file
        && (back->cable.far != guid || back->cable.far_port != p->num))
        return place_input (&note->at, err, "port %u leads to %016" PRIx64
                                            "/%u, which leads to %016" PRIx64
                                            "/%u in " PLACE, p->num, c->far,
                            c->far_port, back->cable.far, back->cable.far_port,
                            back->at.file, back->at.line);
    if (check_far_lid (d, note, far, err) < 0)
        return -1;
    if (back->at.file && back < note)
        return 0;
    if (back->at.file && lower_rate (&lower, &back->cable) && d->nuneven++ == 0)
        d->uneven = note->at;
    return fabric_add_cable (d->f, p->node, p->num, far->node, far->num,
                             lower.width, lower.speed, err) < 0
               ? place_error (&note->at, err)
               : 0;
}

/* A .lst has all cables from one end, or all from both. */
static int join_cables (struct import *d, struct error *err)
{
    const struct port_note *once = NULL, *twice = NULL;

    for (size_t i = 0; i < d->f->nports; i++)
        if (d->port[i].at.file && join_cable (d, i, err) < 0)
            return -1;
    if (d->nuneven > 0)
        fabric_warn (d->f, "the rates that both ends tell differ for %s, the "
                           "first in " PLACE ": the lower is taken",
                     COUNTED (d->nuneven, "cable"), d->uneven.file,
                     d->uneven.line);
    for (size_t i = 0; i < d->f->nports; i++) {
        const struct port_note *note = &d->port[i];

        if (!note->at.file || !note->cable.both)
            continue;
        if (d->port[find_far (d, note) - d->f->port].at.file)
            twice = note;
        else
            once = note;
    }
    if (!once || !twice)
        return 0;
    return place_input (&once->at, err, "the cable is not listed from its "
                                        "other end, as others are: lines are "
                                        "missing");
}

/* Assign LIDs of the topology to their port. */
static int take_lids (struct import *d, unsigned int lid, unsigned int count,
                      uint32_t node, uint32_t port,
                      const struct import_address *a, struct error *err)
{
    for (; count-- > 0; lid++) {
        struct import_lid *l = &d->lid[lid];

        if (l->at.file)
            return place_input (&a->at, err, "LID %u belongs to %016" PRIx64
                                             ", but to %016" PRIx64 " in "
                                             PLACE, lid, d->f->node[node].guid,
                                d->f->node[l->node].guid, l->at.file,
                                l->at.line);
        l->node = node;
        l->port = port;
        l->guid = a->guid;
        l->at = a->at;
    }
    return 0;
}

static int take_node_lids (struct import *d, uint32_t node, struct error *err)
{
    const struct fabric_node *n = &d->f->node[node];

    if (n->type == NODE_SWITCH && n->lid == 0)
        return place_input (&d->node[node].at, err, "switch %016" PRIx64 " has "
                                                    "no LID", n->guid);
    if (n->type == NODE_SWITCH)
        return take_lids (d, n->lid, 1, node, FABRIC_NONE,
                          &d->node[node].address, err);
    for (unsigned int i = n->first_port; i < n->first_port + n->nports; i++) {
        const struct fabric_port *p = &d->f->port[i];

        if (p->lid != 0
            && take_lids (d, p->lid, 1U << p->lmc, node, i,
                          &d->port[i].address, err) < 0)
            return -1;
    }
    return 0;
}

/* Find the LMC of a port if no file gives it. */
static int find_port_lmc (struct import *d, const struct fabric_port *p,
                          const struct import_address *a, struct error *err)
{
    unsigned int count = 1, lmc = 0;
    bool untold = false;

    while (p->lid + count <= FABRIC_MAX_LID && count < 1 << FABRIC_MAX_LMC) {
        const struct import_lid *l = &d->lid[p->lid + count];

        untold = !l->at.file && l->table_at.file
                 && l->table_guid == IMPORT_UNTOLD;
        if (l->at.file || !l->table_at.file || untold
            || (l->table_guid != IMPORT_SOMEBODY && l->table_guid != p->guid))
            break;
        count++;
    }
    while (1U << lmc < count)
        lmc++;
    if (untold || 1U << lmc != count || p->lid % count != 0) {
        unsigned int lid = p->lid + count - !untold;

        return place_input (&d->lid[lid].table_at, err,
                            "LID %u is not known to be of the port with LID %u "
                            "in " PLACE ", whose LMC no file has", lid, p->lid,
                            a->at.file, a->at.line);
    }
    if (fabric_set_port (d->f, p->node, p->num, p->guid, p->lid, lmc, err) < 0)
        return place_error (&a->at, err);
    return take_lids (d, p->lid + 1, count - 1, p->node, p - d->f->port, a,
                      err);
}

/* Check that no two ports of adapters have one GUID. */
static int check_guids (const struct import *d, struct error *err)
{
    struct map seen = { 0 };
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < d->f->nports; i++) {
        const struct import_address *a = &d->port[i].address;
        uint32_t other = MAP_NONE;

        if (!a->at.file || a->guid == 0)
            continue;
        if ((other = map_find (&seen, a->guid)) != MAP_NONE)
            rc = place_input (&a->at, err, "port GUID %016" PRIx64 " is of "
                                           "another port in " PLACE, a->guid,
                              d->port[other].address.at.file,
                              d->port[other].address.at.line);
        map_put (&seen, a->guid, i);
    }
    map_clear (&seen);
    return rc;
}

static int join_lids (struct import *d, struct error *err)
{
    if (check_guids (d, err) < 0)
        return -1;
    for (size_t i = 0; i < d->f->nnodes; i++)
        if (take_node_lids (d, i, err) < 0)
            return -1;
    for (size_t i = 0; i < d->f->nports; i++) {
        const struct import_address *a = &d->port[i].address;

        if (a->at.file && a->lmc == IMPORT_UNKNOWN && a->lid != 0
            && find_port_lmc (d, &d->f->port[i], a, err) < 0)
            return -1;
    }
    return 0;
}

/* Whether the tables assign a LID to a switch because of the LMC of its port 0,
 * which struct fabric does not have.
 */
static bool is_spare (const struct import *d, unsigned int lid)
{
    for (unsigned int k = 1; k < 1 << FABRIC_MAX_LMC && k < lid; k++) {
        const struct import_lid *l = &d->lid[lid - k];

        if (l->at.file)
            return d->f->node[l->node].type == NODE_SWITCH
                   && l->guid == d->lid[lid].table_guid;
    }
    return false;
}

/* Check that the tables and the topology agree on the owners of LIDs. */
static int check_owners (const struct import *d, struct error *err)
{
    for (unsigned int lid = 1; lid < LIDS; lid++) {
        const struct import_lid *l = &d->lid[lid];

        if (!l->table_at.file || l->table_guid == IMPORT_UNTOLD
            || l->table_guid == IMPORT_SOMEBODY)
            continue;
        if (!l->at.file && !is_spare (d, lid))
            return place_input (&l->table_at, err,
                                "LID %u belongs to port GUID %016" PRIx64 ", "
                                "but no port of the topology has it", lid,
                                l->table_guid);
        if (l->at.file && l->guid && l->guid != l->table_guid)
            return place_input (&l->table_at, err,
                                "LID %u belongs to port GUID %016" PRIx64 ", "
                                "but to %016" PRIx64 " in " PLACE, lid,
                                l->table_guid, l->guid, l->at.file, l->at.line);
    }
    return 0;
}

/* Check that a table covers all LIDs of the topology, and the LIDs without an
 * entry: a missing entry does not always mean that there is no route. Switches
 * often have no routes to each other.
 */
static int check_entries (const struct import *d, const struct import_table *t,
                          struct error *err)
{
    unsigned int lid = t->complete ? t->last : 1, top = FABRIC_MAX_LID;

    while (top > 0 && !d->lid[top].at.file)
        top--;
    if (t->last < top || t->first > 1)
        return place_input (&t->at, err, "the table has LIDs %u to %u only, "
                                         "but LID %u is in " PLACE, t->first,
                            t->last, top, d->lid[top].at.file,
                            d->lid[top].at.line);
    if (t->complete && (!t->lacks_last || t->next > t->last))
        return 0;
    for (; lid <= t->last; lid++) {
        const struct import_lid *l = &d->lid[lid];

        if (!l->at.file || t->lft[lid] != LFT_NO_ROUTE
            || (!t->complete && d->f->node[l->node].type == NODE_SWITCH))
            continue;
        return place_input (
            &t->at, err,
            t->complete
                ? "LID %u is left out, as dump_fts and ibroute do with a last "
                  "LID that is a multiple of 64: give a dump of opensm"
                : "LID %u is not in this table, nor that it has no route: give "
                  "opensm.fdbs or the output of dump_fts",
            lid);
    }
    return 0;
}

static int join_table (struct import *d, struct import_table *t,
                       struct error *err)
{
    uint32_t node = fabric_find_node (d->f, t->guid);
    const struct fabric_node *n = node == FABRIC_NONE ? NULL
                                                      : &d->f->node[node];

    if (!n || n->type != NODE_SWITCH)
        return place_input (&t->at, err, "%016" PRIx64 " is not a switch of "
                                         "the topology", t->guid);
    if (check_entries (d, t, err) < 0)
        return -1;
    if (n->lft)
        return place_input (&t->at, err, "a second table of switch %016" PRIx64,
                            t->guid);
    if (t->lft[n->lid] != 0 && t->lft[n->lid] != LFT_NO_ROUTE)
        return place_input (&t->at, err, "LID %u leads to port %u of switch "
                                         "%016" PRIx64 ", but is its own in "
                                         PLACE, n->lid, t->lft[n->lid], n->guid,
                            d->node[node].address.at.file,
                            d->node[node].address.at.line);
    if (fabric_set_lft (d->f, node, t->lft, t->last, err) < 0)
        return place_error (&t->at, err);
    d->node[node].lft_at = t->at;
    free (t->lft);
    t->lft = NULL;
    return 0;
}

static int join_tables (struct import *d, struct error *err)
{
    for (size_t i = 0; i < d->ntables; i++)
        if (join_table (d, &d->table[i], err) < 0)
            return -1;
    for (size_t i = 0; i < d->f->nnodes; i++) {
        const struct fabric_node *n = &d->f->node[i];

        if (n->type == NODE_SWITCH && !n->lft)
            return place_input (&d->node[i].at, err,
                                "no file has the forwarding table of switch "
                                "%016" PRIx64 " (%s)", n->guid, n->desc);
    }
    return 0;
}

/* The entries of a switch, one for each LID of its table. */
static struct spread_entry *all_entries (const struct fabric_node *n,
                                         const struct import_spread *s)
{
    struct spread_entry *entry = xarray (n->lft_top + 1U, sizeof (*entry));

    for (unsigned int lid = 0; lid <= n->lft_top; lid++)
        entry[lid] = lid < s->nentries && s->entry[lid].state != IMPORT_NO_ENTRY
                         ? s->entry[lid]
                         : (struct spread_entry){ SPREAD_STATIC, n->lft[lid],
                                                  0 };
    return entry;
}

static int join_spread_groups (struct import *d, uint32_t node,
                               const struct import_spread *s, struct error *err)
{
    const struct fabric_node *n = &d->f->node[node];
    struct spread_entry *entry;
    int rc;

    if (s->nentries == 0)
        return 0;
    for (size_t lid = 0; lid < s->nentries; lid++)
        if (s->entry[lid].state != IMPORT_NO_ENTRY
            && s->entry[lid].port > n->nports
            && s->entry[lid].port != LFT_NO_ROUTE)
            return place_input (&s->at, err, "LID %zu of switch %016" PRIx64 " "
                                             "has static port %u, and the "
                                             "switch ports 1 to %u", lid,
                                n->guid, s->entry[lid].port, n->nports);
    for (unsigned int lid = FABRIC_MAX_LID; lid >= s->nentries; lid--)
        if (d->lid[lid].at.file)
            return place_input (&s->at, err, "the table of switch %016" PRIx64
                                             " ends at LID %zu, but LID %u is "
                                             "in " PLACE, n->guid,
                                s->nentries - 1, lid, d->lid[lid].at.file,
                                d->lid[lid].at.line);
    if (!n->lft)
        return place_input (&s->at, err, "groups take the forwarding tables: "
                                         "give ibdiagnet2.fdbs as well");
    entry = all_entries (n, s);
    rc = fabric_set_groups (d->f, node, s->group, s->ngroups, entry, err);
    free (entry);
    return rc < 0 ? place_error (&s->at, err) : 0;
}

/* How switches spread messages. Only AR_INFO of a db_csv tells on which service
 * levels, without which the rest means nothing.
 */
static int join_spread (struct import *d, struct error *err)
{
    for (size_t i = 0; i < d->nspreads; i++) {
        const struct import_spread *s = &d->spread[i];
        uint32_t node = fabric_find_node (d->f, s->guid);
        struct fabric_node *n = node == FABRIC_NONE ? NULL : &d->f->node[node];

        if (!n || n->type != NODE_SWITCH)
            return place_input (&s->at, err, "%016" PRIx64 " is not a switch "
                                             "of the topology", s->guid);
        if (!n->spread.known)
            return place_input (&s->at, err,
                                "switch %016" PRIx64 " has groups or private "
                                "LFTs, and no file has its AR_INFO: give "
                                "ibdiagnet2.db_csv as well", s->guid);
        n->spread.private_lfts |= s->private_lfts;
        if (join_spread_groups (d, node, s, err) < 0)
            return -1;
    }
    return 0;
}

/*
 * Routes. Tables and cables are from the same time if every switch that has a
 * route to the LID of an adapter or router delivers it there, through any other
 * switches. If a cable was moved between two dumps, or a dump has something
 * else in place of what could not be read, some switches do not deliver.
 *
 * For one LID, the entries of the switches form a graph with one edge per
 * switch. It is followed from every switch until it reaches a switch that is
 * known to deliver. So each entry is examined once.
 */

enum state { NEW, ON_PATH, DELIVERS };

/* What is wrong with an entry for a LID that leads to `far`; NULL: nothing so
 * far.
 */
static const char *find_fault (const struct fabric *f, const uint8_t *state,
                               uint32_t far, unsigned int lid, uint32_t to)
{
    const struct fabric_node *next;

    if (far == FABRIC_NONE)
        return "which leads nowhere";
    if (far == to)
        return NULL;
    next = &f->node[f->port[far].node];
    if (next->type != NODE_SWITCH)
        return "which leads to another node";
    if (state[next - f->node] == ON_PATH)
        return "from where it comes back";
    return fabric_entry (next, lid) == LFT_NO_ROUTE ? "where it has no route"
                                                    : NULL;
}

/* Follow a LID from a switch to its port. state: by node, for this LID; path:
 * room for all switches.
 */
static int follow_lid_route (const struct import *d, uint32_t node,
                             unsigned int lid, uint8_t *state, uint32_t *path,
                             struct error *err)
{
    const struct fabric *f = d->f;
    uint32_t to = d->lid[lid].port, far = FABRIC_NONE;
    size_t n = 0;

    if (fabric_entry (&f->node[node], lid) == LFT_NO_ROUTE)
        return 0;
    for (; far != to && state[node] == NEW; node = f->port[far].node) {
        const struct fabric_node *sw = &f->node[node];
        unsigned int out = fabric_entry (sw, lid);
        const char *why;

        state[node] = ON_PATH;
        path[n++] = node;
        far = out == 0 || out > sw->nports
                  ? FABRIC_NONE
                  : fabric_far_port (f, sw->first_port + out - 1);
        if ((why = find_fault (f, state, far, lid, to)))
            return place_input (&d->node[node].lft_at, err,
                                "switch %016" PRIx64 " sends LID %u, of " PLACE
                                ", to port %u, %s", sw->guid, lid,
                                d->lid[lid].at.file, d->lid[lid].at.line, out,
                                why);
    }
    while (n > 0)
        state[path[--n]] = DELIVERS;
    return 0;
}

static int check_routes (const struct import *d, struct error *err)
{
    size_t n = d->f->nnodes;
    uint8_t *state = xarray (n, 1);
    uint32_t *path = xarray (n, sizeof (*path));
    int rc = 0;

    for (unsigned int lid = 1; rc == 0 && lid < LIDS; lid++) {
        if (!d->lid[lid].at.file || d->lid[lid].port == FABRIC_NONE)
            continue;
        memset (state, NEW, n);
        for (size_t i = 0; rc == 0 && i < n; i++)
            if (d->f->node[i].type == NODE_SWITCH)
                rc = follow_lid_route (d, i, lid, state, path, err);
    }
    free (state);
    free (path);
    return rc;
}

struct fabric *import_finish (struct import *d, const char *source,
                             struct error *err)
{
    struct fabric *f = d->f;
    int rc = 0;

    if (f->nnodes == 0)
        rc = error_input (err, "no file has nodes and cables: ibnetdiscover "
                               ">cables.txt makes one");
    if (rc < 0 || join_cables (d, err) < 0 || join_lids (d, err) < 0)
        return NULL;
    if (d->ntables == 0)
        fabric_warn (f, "no file has forwarding tables: names, cables and "
                        "counters can be shown, compared and checked; paths "
                        "and plans take the tables as well: dump_fts, or "
                        "ibdiagnet2.fdbs");
    else if (check_owners (d, err) < 0 || join_tables (d, err) < 0
             || check_routes (d, err) < 0)
        return NULL;
    if (join_spread (d, err) < 0)
        return NULL;
    fabric_set_source (f, source, d->began);
    if (fabric_finish (f, err) < 0)
        return NULL;
    d->f = NULL;
    return f;
}
