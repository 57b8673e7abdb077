/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes
 *
 * Tables are kept until all nodes are known. A table grows with its entries, so
 * that a small file cannot request much memory.
 */
#include "config.h"
#include "ibquery/import/parser.h"

#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"

enum {
    GROW_MIN = 64,
    TABLES_MIN = 1 << 26, /* bytes that tables may use in any case */
};

struct import *import_create (const struct node_names *names)
{
    struct pool *pool = pool_create ();
    struct import *d = pool_alloc (pool, 1, sizeof (*d));

    d->pool = pool;
    d->allowed = TABLES_MIN;
    d->f = fabric_create ();
    d->f->names = names;
    d->lid = pool_alloc (pool, LIDS, sizeof (*d->lid));
    return d;
}

void import_destroy (struct import *d)
{
    if (!d)
        return;
    for (size_t i = 0; i < d->ntables; i++)
        free (d->table[i].lft);
    fabric_destroy (d->f);
    counters_destroy (d->counters);
    pool_destroy (d->pool);
}

int64_t import_node (struct import *d, uint64_t guid, enum node_type type,
                    unsigned int nports, uint64_t system, const char *desc,
                    struct error *err)
{
    int64_t node = fabric_find_node (d->f, guid);
    size_t port;

    if (node != FABRIC_NONE) {
        const struct fabric_node *n = &d->f->node[node];
        const struct place *at = &d->node[node].at;

        return n->type == type && n->nports == nports
                   ? node
                   : import_fault (d, err, "%016" PRIx64 " is a %s of %u ports, "
                                          "but a %s of %u in " PLACE,
                                  guid, fabric_type_name (type), nports,
                                  fabric_type_name (n->type), n->nports,
                                  at->file, at->line);
    }
    port = d->f->nports;
    if ((node = fabric_add_node (d->f, guid, type, nports, desc, err)) < 0)
        return place_error (&d->s.at, err);
    d->f->node[node].system = system;
    d->node = pool_grow (d->pool, d->node, node, sizeof (*d->node));
    d->node[node] = (struct node_note){ .at = d->s.at };
    for (; port < d->f->nports; port++) {
        d->port = pool_grow (d->pool, d->port, port, sizeof (*d->port));
        d->port[port] = (struct port_note){ 0 };
    }
    return node;
}

void import_product (struct import *d, uint32_t node, uint64_t vendor,
                    uint64_t device)
{
    struct fabric_node *n = &d->f->node[node];

    if (device == 0 || device > UINT16_MAX || vendor > FABRIC_MAX_VENDOR)
        return;
    n->vendor = vendor;
    n->device = device;
}

/* A number that differs from the one given before. */
static int conflicting_value_error (const struct import *d,
                                    const struct place *before,
                                    const char *what, unsigned int now,
                                    unsigned int then, struct error *err)
{
    return import_fault (d, err, "%s %u is %u in " PLACE, what, now, then,
                         before->file, before->line);
}

int import_address (struct import *d, uint32_t node, unsigned int port,
                   uint64_t guid, unsigned int lid, int lmc,
                   struct error *err)
{
    bool is_switch = d->f->node[node].type == NODE_SWITCH;
    const struct fabric_port *p
        = is_switch ? NULL : fabric_port_at (d->f, node, port, err);
    struct import_address *a;
    int rc;

    if (lid > FABRIC_MAX_LID)
        return import_fault (d, err, "LID %u is not a unicast LID", lid);
    if (!is_switch && !p)
        return place_error (&d->s.at, err);
    a = is_switch ? &d->node[node].address : &d->port[p - d->f->port].address;
    if (!a->at.file)
        *a = (struct import_address){ d->s.at, lid, guid, lmc };
    if (a->lid != lid)
        return conflicting_value_error (d, &a->at, "LID", lid, a->lid, err);
    if (guid && a->guid && guid != a->guid)
        return import_fault (d, err, "port GUID %016" PRIx64 " is %016" PRIx64
                                     " in " PLACE, guid, a->guid, a->at.file,
                             a->at.line);
    if (lmc != IMPORT_UNKNOWN && a->lmc != IMPORT_UNKNOWN && lmc != a->lmc)
        return conflicting_value_error (d, &a->at, "LMC", lmc, a->lmc, err);
    if (guid)
        a->guid = guid;
    if (lmc != IMPORT_UNKNOWN)
        a->lmc = lmc;
    rc = is_switch ? fabric_set_switch_lid (d->f, node, lid, err)
                   : fabric_set_port (d->f, node, port, a->guid, lid,
                                      a->lmc == IMPORT_UNKNOWN ? 0 : a->lmc,
                                      err);
    return rc < 0 ? place_error (&d->s.at, err) : 0;
}

int import_cable (struct import *d, uint32_t node,
                 const struct import_cable *cable, struct error *err)
{
    struct fabric_port *p = fabric_port_at (d->f, node, cable->port, err);
    struct port_note *note;

    if (!p)
        return place_error (&d->s.at, err);
    note = &d->port[p - d->f->port];
    if (!note->at.file) {
        note->at = d->s.at;
        note->cable = *cable;
        p->state = cable->state;
    }
    if (note->cable.far == cable->far
        && note->cable.far_port == cable->far_port)
        return 0;
    return import_fault (d, err, "port %u of %016" PRIx64 " leads to %016"
                                 PRIx64 "/%u, but to %016" PRIx64 "/%u in "
                                 PLACE, cable->port, d->f->node[node].guid,
                         cable->far, cable->far_port, note->cable.far,
                         note->cable.far_port, note->at.file, note->at.line);
}

int import_table (struct import *d, uint64_t guid, unsigned int first,
                 unsigned int last, struct error *err)
{
    if (last > FABRIC_MAX_LID || first > last)
        return import_fault (d, err, "a forwarding table cannot have LIDs %u "
                                     "to %u", first, last);
    d->table = pool_grow (d->pool, d->table, d->ntables, sizeof (*d->table));
    d->open = &d->table[d->ntables++];
    *d->open = (struct import_table){
        .guid = guid, .first = first, .last = last, .at = d->s.at
    };
    return 0;
}

int import_allow (struct import *d, size_t bytes, struct error *err)
{
    if (bytes > d->allowed)
        return error_input (err, "the tables are too large for their entries");
    d->allowed -= bytes;
    return 0;
}

struct import_spread *import_spread (struct import *d, uint64_t guid)
{
    d->spread = pool_grow (d->pool, d->spread, d->nspreads,
                           sizeof (*d->spread));
    d->spread[d->nspreads] = (struct import_spread){
        .guid = guid, .at = d->s.at
    };
    return &d->spread[d->nspreads++];
}

/* Make room for the entry of a LID. */
static int grow_table (struct import *d, unsigned int lid, struct error *err)
{
    struct import_table *t = d->open;
    size_t size = t->size ? t->size : GROW_MIN;

    while (size <= lid)
        size *= 2;
    if (import_allow (d, size - t->size, err) < 0)
        return -1;
    t->lft = xrealloc (t->lft, size, 1);
    memset (t->lft + t->size, LFT_NO_ROUTE, size - t->size);
    t->size = size;
    return 0;
}

int import_route (struct import *d, unsigned int lid, unsigned int port,
                 struct error *err)
{
    struct import_table *t = d->open;

    if (lid < t->next || lid < t->first || lid > t->last)
        return import_fault (d, err, "LID %u does not belong here", lid);
    if (lid >= t->size && grow_table (d, lid, err) < 0)
        return place_error (&d->s.at, err);
    t->lft[lid] = port;
    t->next = lid + 1;
    t->routes++;
    d->allowed += IMPORT_ENTRY;
    return 0;
}

/* The table gets exactly the length that was given. */
int import_table_end (struct import *d, unsigned int last, bool complete,
                     struct error *err)
{
    struct import_table *t = d->open;

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

int import_owner (struct import *d, unsigned int lid, uint64_t guid,
                 struct error *err)
{
    struct import_lid *l = &d->lid[lid];

    if (!l->table_at.file || l->table_guid == IMPORT_UNTOLD
        || (l->table_guid == IMPORT_SOMEBODY && guid != IMPORT_UNTOLD)) {
        l->table_guid = guid;
        l->table_at = d->s.at;
        return 0;
    }
    if (guid == IMPORT_UNTOLD || guid == IMPORT_SOMEBODY
        || guid == l->table_guid)
        return 0;
    return import_fault (d, err, "LID %u belongs to port GUID %016" PRIx64 ", "
                                 "but to %016" PRIx64 " in " PLACE, lid, guid,
                         l->table_guid, l->table_at.file, l->table_at.line);
}

/* Whether the fabric has a cable at the port. */
static bool counter_port_has_cable (const struct fabric *f,
                                    const struct port_counters *c)
{
    uint32_t node = fabric_find_node (f, c->guid);

    return node != FABRIC_NONE
           && f->port[f->node[node].first_port + c->port - 1].link
                  != FABRIC_NONE;
}

struct counters *import_counters (struct import *d, const struct fabric *f,
                                 struct error *err)
{
    struct counters *c = d->counters;
    size_t n = 0;

    if (!c || d->began == 0) {
        error_input (err, c ? "no file says when its counters were read, as "
                              "a db_csv does before its sections"
                            : "no file has counters");
        return NULL;
    }
    for (size_t i = 0; i < c->nports; i++)
        if (counter_port_has_cable (f, &c->port[i]))
            c->port[n++] = c->port[i];
    c->nports = n;
    c->time = d->began;
    if (d->ended > d->began && d->ended - d->began <= UINT32_MAX)
        c->lasted = d->ended - d->began;
    strcpy (c->source, "ibdiagnet");
    strcpy (c->fabric, f->hash);
    d->counters = NULL;
    if (counters_sort (c, err) == 0)
        return c;
    counters_destroy (c);
    return NULL;
}
