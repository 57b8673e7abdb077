/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes
 *
 * Tables are kept until all nodes are known. A table grows with its entries, so
 * that a small file cannot request much memory.
 */
#include "config.h"
#include "ibquery/import/draft.h"

#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"

enum {
    GROW_MIN = 64,
    TABLES_MIN = 1 << 26, /* bytes that tables may use in any case */
    TABLES_FACTOR = 64,   /* and in addition for each entry */
};

/* Grow v, which has room for *have items, to n or more; new items are zero. */
static void *grow (void *v, size_t *have, size_t n, size_t size)
{
    size_t room = *have ? *have : GROW_MIN;

    if (n <= *have)
        return v;
    while (room < n)
        room *= 2;
    v = xrealloc (v, room, size);
    memset ((char *)v + *have * size, 0, (room - *have) * size);
    *have = room;
    return v;
}

struct draft *draft_create (void)
{
    struct draft *d = xcalloc (1, sizeof (*d));

    d->allowed = TABLES_MIN;
    d->f = fabric_create ();
    d->lid = xcalloc (LIDS, sizeof (*d->lid));
    return d;
}

void draft_destroy (struct draft *d)
{
    if (!d)
        return;
    for (size_t i = 0; i < d->ntables; i++)
        free (d->table[i].lft);
    fabric_destroy (d->f);
    free (d->node);
    free (d->port);
    free (d->table);
    free (d->lid);
    free (d);
}

int64_t draft_node (struct draft *d, uint64_t guid, enum node_type type,
                    unsigned int nports, uint64_t system, const char *desc,
                    struct error *err)
{
    int64_t node = fabric_find_node (d->f, guid);

    if (node != FABRIC_NONE) {
        const struct fabric_node *n = &d->f->node[node];
        const struct place *at = &d->node[node].at;

        return n->type == type && n->nports == nports
                   ? node
                   : draft_fault (d, err, "%016" PRIx64 " is a %s of %u ports, "
                                          "but a %s of %u in " PLACE,
                                  guid, fabric_type_name (type), nports,
                                  fabric_type_name (n->type), n->nports,
                                  at->file, at->line);
    }
    if ((node = fabric_add_node (d->f, guid, type, nports, desc, err)) < 0)
        return place_error (&d->s.at, err);
    d->f->node[node].system = system;
    d->node = grow (d->node, &d->nodes, d->f->nnodes, sizeof (*d->node));
    d->port = grow (d->port, &d->ports, d->f->nports, sizeof (*d->port));
    d->node[node].at = d->s.at;
    return node;
}

/* A number that differs from the one given before. */
static int differ (const struct draft *d, const struct place *before,
                   const char *what, unsigned int now, unsigned int then,
                   struct error *err)
{
    return draft_fault (d, err, "%s %u is %u in " PLACE, what, now, then,
                        before->file, before->line);
}

static int guids_differ (const struct draft *d, const struct place *before,
                         uint64_t now, uint64_t then, struct error *err)
{
    return draft_fault (d, err, "port GUID %016" PRIx64 " is %016" PRIx64
                        " in " PLACE, now, then, before->file, before->line);
}

static int switch_address (struct draft *d, uint32_t node, uint64_t guid,
                           unsigned int lid, struct error *err)
{
    struct node_note *note = &d->node[node];

    if (!note->lid_at.file) {
        if (fabric_set_switch_lid (d->f, node, lid, err) < 0)
            return place_error (&d->s.at, err);
        note->lid_at = d->s.at;
    } else if (d->f->node[node].lid != lid)
        return differ (d, &note->lid_at, "LID", lid, d->f->node[node].lid, err);
    if (guid && note->port_guid && guid != note->port_guid)
        return guids_differ (d, &note->lid_at, guid, note->port_guid, err);
    if (guid)
        note->port_guid = guid;
    return 0;
}

static int check_port (const struct draft *d, uint32_t node, unsigned int port,
                       struct error *err)
{
    const struct fabric_node *n = &d->f->node[node];

    return port > 0 && port <= n->nports
               ? 0
               : draft_fault (d, err, "%s %016" PRIx64 " has no port %u",
                              fabric_type_name (n->type), n->guid, port);
}

int draft_address (struct draft *d, uint32_t node, unsigned int port,
                   uint64_t guid, unsigned int lid, int lmc,
                   struct error *err)
{
    const struct fabric_node *n = &d->f->node[node];
    const struct fabric_port *p;
    struct port_note *note;

    if (lid > FABRIC_MAX_LID)
        return draft_fault (d, err, "LID %u is not a unicast LID", lid);
    if (n->type == NODE_SWITCH)
        return switch_address (d, node, guid, lid, err);
    if (check_port (d, node, port, err) < 0)
        return -1;
    p = &d->f->port[n->first_port + port - 1];
    note = &d->port[n->first_port + port - 1];
    if (!note->lid_at.file) {
        note->lid_at = d->s.at;
        note->lmc = lmc;
    } else if (p->lid != lid)
        return differ (d, &note->lid_at, "LID", lid, p->lid, err);
    else if (guid && p->guid && guid != p->guid)
        return guids_differ (d, &note->lid_at, guid, p->guid, err);
    else if (lmc != DRAFT_UNKNOWN && note->lmc != DRAFT_UNKNOWN
             && lmc != note->lmc)
        return differ (d, &note->lid_at, "LMC", lmc, note->lmc, err);
    if (lmc != DRAFT_UNKNOWN)
        note->lmc = lmc;
    return fabric_set_port (d->f, node, port, guid ? guid : p->guid, lid,
                            note->lmc == DRAFT_UNKNOWN ? 0 : note->lmc, err) < 0
               ? place_error (&d->s.at, err)
               : 0;
}

int draft_cable (struct draft *d, uint32_t node,
                 const struct draft_cable *cable, struct error *err)
{
    const struct fabric_node *n = &d->f->node[node];
    struct port_note *note;

    if (check_port (d, node, cable->port, err) < 0)
        return -1;
    note = &d->port[n->first_port + cable->port - 1];
    if (note->at.file)
        return note->cable.far == cable->far
                       && note->cable.far_port == cable->far_port
                   ? 0
                   : draft_fault (d, err, "port %u of %016" PRIx64 " leads to "
                                  "%016" PRIx64 "/%u, but to %016" PRIx64 "/%u "
                                  "in " PLACE, cable->port, n->guid,
                                  cable->far, cable->far_port, note->cable.far,
                                  note->cable.far_port, note->at.file,
                                  note->at.line);
    note->at = d->s.at;
    note->cable = *cable;
    d->f->port[n->first_port + cable->port - 1].state = cable->state;
    return 0;
}

int draft_table (struct draft *d, uint64_t guid, unsigned int first,
                 unsigned int last, struct error *err)
{
    if (last > FABRIC_MAX_LID || first > last)
        return draft_fault (d, err, "a forwarding table cannot have LIDs %u to "
                                    "%u", first, last);
    d->table = xgrow (d->table, d->ntables, sizeof (*d->table));
    d->open = &d->table[d->ntables++];
    *d->open = (struct draft_table){
        .guid = guid, .first = first, .last = last, .at = d->s.at
    };
    return 0;
}

/* Make room for the entry of a LID. */
static int grow_table (struct draft *d, unsigned int lid, struct error *err)
{
    struct draft_table *t = d->open;
    size_t size = t->size ? t->size : GROW_MIN;

    while (size <= lid)
        size *= 2;
    if (size - t->size > d->allowed)
        return error_input (err, "the tables are too large for their entries");
    t->lft = xrealloc (t->lft, size, 1);
    memset (t->lft + t->size, LFT_NO_ROUTE, size - t->size);
    d->allowed -= size - t->size;
    t->size = size;
    return 0;
}

int draft_route (struct draft *d, unsigned int lid, unsigned int port,
                 struct error *err)
{
    struct draft_table *t = d->open;

    if (lid < t->next || lid < t->first || lid > t->last)
        return draft_fault (d, err, "LID %u does not belong here", lid);
    if (lid >= t->size && grow_table (d, lid, err) < 0)
        return place_error (&d->s.at, err);
    t->lft[lid] = port;
    t->next = lid + 1;
    t->routes++;
    d->allowed += TABLES_FACTOR;
    return 0;
}

/* The table gets exactly the length that was given. */
int draft_table_end (struct draft *d, unsigned int last, bool complete,
                     struct error *err)
{
    struct draft_table *t = d->open;

    t->last = last;
    t->complete = complete;
    if (t->size <= last && grow_table (d, last, err) < 0)
        return place_error (&t->at, err);
    t->lft = xrealloc (t->lft, last + 1, 1);
    d->allowed += t->size - (last + 1);
    t->size = last + 1;
    d->open = NULL;
    return 0;
}

int draft_owner (struct draft *d, unsigned int lid, uint64_t guid,
                 struct error *err)
{
    struct draft_lid *l = &d->lid[lid];

    if (!l->table_at.file || l->table_guid == DRAFT_UNTOLD
        || (l->table_guid == DRAFT_SOMEBODY && guid != DRAFT_UNTOLD)) {
        l->table_guid = guid;
        l->table_at = d->s.at;
        return 0;
    }
    if (guid == DRAFT_UNTOLD || guid == DRAFT_SOMEBODY
        || guid == l->table_guid)
        return 0;
    return draft_fault (d, err, "LID %u belongs to port GUID %016" PRIx64
                        ", but to %016" PRIx64 " in " PLACE, lid, guid,
                        l->table_guid, l->table_at.file, l->table_at.line);
}
