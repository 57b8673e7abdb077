/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes
 *
 * The nodes and ports are those of a fabric that is being built, with a note
 * beside each of what it has no place for: who said it. Tables wait for the
 * nodes; the largest take their size from the entries they have, so that a
 * small file cannot ask for much memory.
 *
 * A port's LMC is not in every file. Where it is not told, the LIDs behind the
 * first that tables call the same port's give it.
 */
#include "config.h"
#include "ibquery/import/draft.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ibquery/import/deliver.h"

enum {
    GROW_MIN = 64,
    TABLES_MIN = 1 << 26, /* bytes that tables may take for nothing */
    TABLES_FACTOR = 64,   /* and for each entry */
    LIDS = FABRIC_MAX_LID + 1,
};

/* Of a node of the fabric; of a switch's port 0 and table. */
struct node_note {
    struct place at;
    struct place lid_at; /* file NULL: not told */
    struct place lft_at;
    uint64_t port_guid;
};

/* Of a port of the fabric. */
struct port_note {
    struct place lid_at; /* file NULL: not told */
    int lmc;             /* or DRAFT_UNKNOWN */
    struct place at;     /* of its cable; file NULL: there is none */
    struct draft_cable cable;
};

struct table {
    struct draft_table is;
    struct place at;
    uint8_t *lft;
    size_t size;       /* of lft */
    unsigned int next; /* the lowest LID that may follow */
    size_t routes;
    bool complete;
};

/* A LID as the topology has it, and as the tables have it. */
struct lid {
    struct place at;     /* file NULL: nobody's */
    uint32_t node;
    uint32_t port;       /* FABRIC_NONE: a switch's */
    uint64_t guid;       /* of the port; 0: not told */
    uint64_t table_guid; /* or DRAFT_UNTOLD, DRAFT_SOMEBODY */
    struct place table_at; /* file NULL: in no table */
};

struct draft {
    struct fabric *f;
    struct node_note *node;
    size_t nodes; /* there is room for */
    struct port_note *port;
    size_t ports;
    struct table *table;
    size_t ntables, tables;
    bool in_table;
    uint64_t allowed; /* bytes that tables may still take */
    struct lid *lid;  /* [LIDS] */
};

/* v, with room for n of *have items, the new ones zero; NULL and v untouched.
 */
static void *grow (void *v, size_t *have, size_t n, size_t size)
{
    size_t room = *have ? *have : GROW_MIN;
    char *more;

    if (n <= *have)
        return v;
    while (room < n)
        room *= 2;
    more = realloc (v, room * size);
    if (!more)
        return NULL;
    memset (more + *have * size, 0, (room - *have) * size);
    *have = room;
    return more;
}

struct draft *draft_create (struct error *err)
{
    struct draft *d = calloc (1, sizeof (*d));

    if (!d) {
        error_nomem (err);
        return NULL;
    }
    d->allowed = TABLES_MIN;
    d->f = fabric_create ();
    d->lid = calloc (LIDS, sizeof (*d->lid));
    if (!d->f || !d->lid) {
        draft_destroy (d);
        error_nomem (err);
        return NULL;
    }
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

static int same_node (const struct draft *d, const struct place *at,
                      uint32_t node, const struct draft_node *is,
                      struct error *err)
{
    const struct fabric_node *n = &d->f->node[node];
    const struct place *before = &d->node[node].at;

    if (n->type == is->type && n->nports == is->nports)
        return 0;
    error_input (err,
                 "%016" PRIx64 " is a %s of %u ports, but a %s of %u in "
                 "%s:%" PRIu64,
                 n->guid, fabric_type_name (is->type), is->nports,
                 fabric_type_name (n->type), n->nports, before->file,
                 before->line);
    return place_error (at, err);
}

int64_t draft_node (struct draft *d, const struct place *at,
                    const struct draft_node *is, struct error *err)
{
    int64_t node = fabric_find_node (d->f, is->guid);
    struct node_note *notes;
    struct port_note *ports;

    if (node != FABRIC_NONE)
        return same_node (d, at, node, is, err) < 0 ? -1 : node;
    node = fabric_add_node (d->f, is->guid, is->type, is->nports, is->desc,
                            err);
    if (node < 0)
        return place_error (at, err);
    fabric_set_system (d->f, node, is->system);
    notes = grow (d->node, &d->nodes, d->f->nnodes, sizeof (*notes));
    if (!notes)
        return error_nomem (err);
    d->node = notes;
    ports = grow (d->port, &d->ports, d->f->nports, sizeof (*ports));
    if (!ports)
        return error_nomem (err);
    d->port = ports;
    d->node[node].at = *at;
    return node;
}

/* A number that is another one elsewhere. */
static int differ (const struct place *at, const struct place *before,
                   const char *what, unsigned int now, unsigned int then,
                   struct error *err)
{
    error_input (err, "%s %u is %u in %s:%" PRIu64, what, now, then,
                 before->file, before->line);
    return place_error (at, err);
}

static int guids_differ (const struct place *at, const struct place *before,
                         uint64_t now, uint64_t then, struct error *err)
{
    error_input (err,
                 "port GUID %016" PRIx64 " is %016" PRIx64 " in %s:%" PRIu64,
                 now, then, before->file, before->line);
    return place_error (at, err);
}

static int switch_address (struct draft *d, const struct place *at,
                           uint32_t node, uint64_t guid, unsigned int lid,
                           struct error *err)
{
    struct node_note *note = &d->node[node];

    if (!note->lid_at.file) {
        if (fabric_set_switch_lid (d->f, node, lid, err) < 0)
            return place_error (at, err);
        note->lid_at = *at;
        note->port_guid = guid;
        return 0;
    }
    if (d->f->node[node].lid != lid)
        return differ (at, &note->lid_at, "LID", lid, d->f->node[node].lid,
                       err);
    if (guid && note->port_guid && guid != note->port_guid)
        return guids_differ (at, &note->lid_at, guid, note->port_guid, err);
    if (guid)
        note->port_guid = guid;
    return 0;
}

static int port_error (const struct draft *d, const struct place *at,
                       uint32_t node, unsigned int port, struct error *err)
{
    const struct fabric_node *n = &d->f->node[node];

    error_input (err, "%s %016" PRIx64 " has no port %u",
                 fabric_type_name (n->type), n->guid, port);
    return place_error (at, err);
}

int draft_address (struct draft *d, const struct place *at, uint32_t node,
                   unsigned int port, uint64_t guid, unsigned int lid, int lmc,
                   struct error *err)
{
    const struct fabric_node *n = &d->f->node[node];
    const struct fabric_port *p;
    struct port_note *note;

    if (lid > FABRIC_MAX_LID) {
        error_input (err, "LID %u is no unicast LID", lid);
        return place_error (at, err);
    }
    if (n->type == NODE_SWITCH)
        return switch_address (d, at, node, guid, lid, err);
    if (port == 0 || port > n->nports)
        return port_error (d, at, node, port, err);
    p = &d->f->port[n->first_port + port - 1];
    note = &d->port[n->first_port + port - 1];
    if (note->lid_at.file) {
        if (p->lid != lid)
            return differ (at, &note->lid_at, "LID", lid, p->lid, err);
        if (guid && p->guid && guid != p->guid)
            return guids_differ (at, &note->lid_at, guid, p->guid, err);
        if (lmc != DRAFT_UNKNOWN && note->lmc != DRAFT_UNKNOWN
            && lmc != note->lmc)
            return differ (at, &note->lid_at, "LMC", lmc, note->lmc, err);
    } else {
        note->lid_at = *at;
        note->lmc = lmc;
    }
    if (lmc != DRAFT_UNKNOWN)
        note->lmc = lmc;
    if (fabric_set_port (d->f, node, port, guid ? guid : p->guid, lid,
                         note->lmc == DRAFT_UNKNOWN ? 0 : note->lmc, err) < 0)
        return place_error (at, err);
    return 0;
}

int draft_cable (struct draft *d, const struct place *at, uint32_t node,
                 const struct draft_cable *cable, struct error *err)
{
    const struct fabric_node *n = &d->f->node[node];
    struct port_note *note;

    if (cable->port == 0 || cable->port > n->nports)
        return port_error (d, at, node, cable->port, err);
    note = &d->port[n->first_port + cable->port - 1];
    if (note->at.file
        && (note->cable.far != cable->far
            || note->cable.far_port != cable->far_port)) {
        error_input (err,
                     "port %u of %016" PRIx64 " leads to %016" PRIx64
                     "/%u, but to %016" PRIx64 "/%u in %s:%" PRIu64,
                     cable->port, n->guid, cable->far, cable->far_port,
                     note->cable.far, note->cable.far_port, note->at.file,
                     note->at.line);
        return place_error (at, err);
    }
    if (note->at.file)
        return 0;
    note->at = *at;
    note->cable = *cable;
    if (fabric_set_state (d->f, node, cable->port, cable->state, err) < 0)
        return place_error (at, err);
    return 0;
}

int draft_table (struct draft *d, const struct place *at,
                 const struct draft_table *table, struct error *err)
{
    struct table *more;

    if (table->last > FABRIC_MAX_LID || table->first > table->last) {
        error_input (err, "LIDs %u to %u are no forwarding table's",
                     table->first, table->last);
        return place_error (at, err);
    }
    more = grow (d->table, &d->tables, d->ntables + 1, sizeof (*more));
    if (!more)
        return error_nomem (err);
    d->table = more;
    d->table[d->ntables++] = (struct table){ .is = *table, .at = *at };
    d->in_table = true;
    return 0;
}

/* Room for the entry of a LID. */
static int grow_table (struct draft *d, struct table *t, unsigned int lid,
                       struct error *err)
{
    size_t size = t->size ? t->size : GROW_MIN;
    uint8_t *lft;

    while (size <= lid)
        size *= 2;
    if (size - t->size > d->allowed)
        return error_input (err, "the tables are too large for their entries");
    lft = realloc (t->lft, size);
    if (!lft)
        return error_nomem (err);
    memset (lft + t->size, LFT_NO_ROUTE, size - t->size);
    d->allowed -= size - t->size;
    t->lft = lft;
    t->size = size;
    return 0;
}

int draft_route (struct draft *d, const struct place *at, unsigned int lid,
                 unsigned int port, struct error *err)
{
    struct table *t = &d->table[d->ntables - 1];

    if (lid < t->next || lid < t->is.first || lid > t->is.last) {
        error_input (err, "LID %u does not belong here", lid);
        return place_error (at, err);
    }
    if (lid >= t->size && grow_table (d, t, lid, err) < 0)
        return place_error (at, err);
    t->lft[lid] = port;
    t->next = lid + 1;
    t->routes++;
    d->allowed += TABLES_FACTOR;
    return 0;
}

size_t draft_routes (const struct draft *d)
{
    return d->table[d->ntables - 1].routes;
}

const struct draft_table *draft_open (const struct draft *d)
{
    return d->in_table ? &d->table[d->ntables - 1].is : NULL;
}

/* As long as it says, and no longer. */
int draft_table_end (struct draft *d, unsigned int last, bool complete,
                     struct error *err)
{
    struct table *t = &d->table[d->ntables - 1];
    uint8_t *lft;

    d->in_table = false;
    t->is.last = last;
    t->complete = complete;
    if (t->size <= t->is.last && grow_table (d, t, t->is.last, err) < 0)
        return place_error (&t->at, err);
    lft = realloc (t->lft, t->is.last + 1);
    if (!lft)
        return error_nomem (err);
    d->allowed += t->size - (t->is.last + 1);
    t->lft = lft;
    t->size = t->is.last + 1;
    return 0;
}

int draft_owner (struct draft *d, const struct place *at, unsigned int lid,
                 uint64_t guid, struct error *err)
{
    struct lid *l = &d->lid[lid];

    if (!l->table_at.file || l->table_guid == DRAFT_UNTOLD
        || (l->table_guid == DRAFT_SOMEBODY && guid != DRAFT_UNTOLD)) {
        l->table_guid = guid;
        l->table_at = *at;
        return 0;
    }
    if (guid == DRAFT_UNTOLD || guid == DRAFT_SOMEBODY
        || guid == l->table_guid)
        return 0;
    error_input (err,
                 "LID %u belongs to port GUID %016" PRIx64 ", but to %016"
                 PRIx64 " in %s:%" PRIu64,
                 lid, guid, l->table_guid, l->table_at.file,
                 l->table_at.line);
    return place_error (at, err);
}

/* Join */

static const struct fabric_port *find_far (const struct draft *d,
                                           const struct port_note *note)
{
    uint32_t node = fabric_find_node (d->f, note->cable.far);
    unsigned int port = note->cable.far_port;

    if (node == FABRIC_NONE || port == 0 || port > d->f->node[node].nports)
        return NULL;
    return &d->f->port[d->f->node[node].first_port + port - 1];
}

/* The LID of the far end, as seen from here. */
static int check_far_lid (const struct draft *d, const struct port_note *note,
                          const struct fabric_port *far, struct error *err)
{
    const struct fabric_node *n = &d->f->node[far->node];
    bool is_switch = n->type == NODE_SWITCH;
    const struct place *at = is_switch ? &d->node[far->node].lid_at
                                       : &d->port[far - d->f->port].lid_at;
    unsigned int lid = is_switch ? n->lid : far->lid;

    if (note->cable.far_lid == DRAFT_UNKNOWN || !at->file
        || note->cable.far_lid == (int)lid)
        return 0;
    return differ (&note->at, at, "the far end's LID", note->cable.far_lid,
                   lid, err);
}

/* The cable at a port: told alike from both ends, then laid once. */
static int join_cable (struct draft *d, size_t port, struct error *err)
{
    const struct port_note *note = &d->port[port], *back;
    const struct fabric_port *p = &d->f->port[port], *far;
    const struct draft_cable *c = &note->cable;
    uint64_t guid = d->f->node[p->node].guid;

    if (!note->at.file)
        return 0;
    far = find_far (d, note);
    if (!far) {
        error_input (err,
                     "port %u leads to %016" PRIx64 "/%u, which no file has",
                     p->num, c->far, c->far_port);
        return place_error (&note->at, err);
    }
    if (far == p)
        return fabric_warn (d->f, err,
                            "%.64s (%016" PRIx64 "): port %u leads to itself",
                            d->f->node[p->node].desc, guid, p->num);
    back = &d->port[far - d->f->port];
    if (!back->at.file && !c->both) {
        error_input (err,
                     "port %u leads to %016" PRIx64 "/%u, which leads to "
                     "nobody in any file",
                     p->num, c->far, c->far_port);
        return place_error (&note->at, err);
    }
    if (back->at.file
        && (back->cable.far != guid || back->cable.far_port != p->num)) {
        error_input (err,
                     "port %u leads to %016" PRIx64 "/%u, which leads to "
                     "%016" PRIx64 "/%u in %s:%" PRIu64,
                     p->num, c->far, c->far_port, back->cable.far,
                     back->cable.far_port, back->at.file, back->at.line);
        return place_error (&note->at, err);
    }
    if (check_far_lid (d, note, far, err) < 0)
        return -1;
    if (back->at.file && back < note)
        return 0;
    if (fabric_add_cable (d->f, p->node, p->num, far->node, far->num, c->width,
                          c->speed, err) < 0)
        return place_error (&note->at, err);
    return 0;
}

/* A list has all cables from one end, or all from both. */
static int check_lists (const struct draft *d, struct error *err)
{
    const struct port_note *once = NULL, *twice = NULL;

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
    error_input (err, "the cable is not listed from its other end, as others "
                      "are: lines are missing");
    return place_error (&once->at, err);
}

static int join_cables (struct draft *d, struct error *err)
{
    for (size_t i = 0; i < d->f->nports; i++)
        if (join_cable (d, i, err) < 0)
            return -1;
    return check_lists (d, err);
}

/* Give a LID of the topology to its port. */
static int take_lid (struct draft *d, unsigned int lid, uint32_t node,
                     uint32_t port, uint64_t guid, const struct place *at,
                     struct error *err)
{
    struct lid *l = &d->lid[lid];

    if (l->at.file) {
        error_input (err,
                     "LID %u belongs to %016" PRIx64 ", but to %016" PRIx64
                     " in %s:%" PRIu64,
                     lid, d->f->node[node].guid, d->f->node[l->node].guid,
                     l->at.file, l->at.line);
        return place_error (at, err);
    }
    l->node = node;
    l->port = port;
    l->guid = guid;
    l->at = *at;
    return 0;
}

static int take_node_lids (struct draft *d, uint32_t node, struct error *err)
{
    const struct fabric_node *n = &d->f->node[node];
    const struct node_note *note = &d->node[node];

    if (n->type == NODE_SWITCH && n->lid == 0) {
        error_input (err, "switch %016" PRIx64 " has no LID", n->guid);
        return place_error (&note->at, err);
    }
    if (n->type == NODE_SWITCH)
        return take_lid (d, n->lid, node, FABRIC_NONE, note->port_guid,
                         &note->lid_at, err);
    for (unsigned int i = 0; i < n->nports; i++) {
        const struct fabric_port *p = &d->f->port[n->first_port + i];
        const struct port_note *at = &d->port[n->first_port + i];
        unsigned int end = p->lid == 0 ? 0 : p->lid + (1U << p->lmc);

        for (unsigned int lid = p->lid; lid < end; lid++)
            if (take_lid (d, lid, node, n->first_port + i, p->guid,
                          &at->lid_at, err) < 0)
                return -1;
    }
    return 0;
}

/* What may be another LID of a port, by the tables: yes, no, cannot tell. */
enum answer { NO, YES, UNTOLD };

static enum answer is_same_port (const struct lid *l, uint64_t guid)
{
    if (l->at.file || !l->table_at.file)
        return NO;
    if (l->table_guid == DRAFT_UNTOLD)
        return UNTOLD;
    return l->table_guid == DRAFT_SOMEBODY || l->table_guid == guid ? YES : NO;
}

/* The LMC of a port of which no file tells it. */
static int find_lmc (struct draft *d, const struct fabric_port *p,
                     const struct place *at, struct error *err)
{
    unsigned int count = 1, lmc = 0;
    enum answer answer = NO;

    while (p->lid + count <= FABRIC_MAX_LID && count < 1 << FABRIC_MAX_LMC) {
        answer = is_same_port (&d->lid[p->lid + count], p->guid);
        if (answer != YES)
            break;
        count++;
    }
    while (1U << lmc < count)
        lmc++;
    if (answer == UNTOLD || 1U << lmc != count || p->lid % count != 0) {
        const struct place *table = &d->lid[p->lid + count
                                            - (answer != UNTOLD)].table_at;

        error_input (err,
                     "LID %u is not known to be of the port with LID %u in "
                     "%s:%" PRIu64 ", whose LMC no file has",
                     p->lid + count - (answer != UNTOLD), p->lid, at->file,
                     at->line);
        return place_error (table, err);
    }
    if (fabric_set_port (d->f, p->node, p->num, p->guid, p->lid, lmc, err) < 0)
        return place_error (at, err);
    for (unsigned int i = 1; i < count; i++)
        if (take_lid (d, p->lid + i, p->node, p - d->f->port, p->guid, at,
                      err) < 0)
            return -1;
    return 0;
}

static int join_lids (struct draft *d, struct error *err)
{
    for (size_t i = 0; i < d->f->nnodes; i++)
        if (take_node_lids (d, i, err) < 0)
            return -1;
    for (size_t i = 0; i < d->f->nports; i++) {
        const struct fabric_port *p = &d->f->port[i];
        const struct port_note *note = &d->port[i];

        if (note->lid_at.file && note->lmc == DRAFT_UNKNOWN && p->lid != 0
            && find_lmc (d, p, &note->lid_at, err) < 0)
            return -1;
    }
    return 0;
}

/* Whether the tables give a LID to a switch for the LMC of its port 0, which a
 * fabric does not have.
 */
static bool is_spare (const struct draft *d, unsigned int lid)
{
    uint64_t guid = d->lid[lid].table_guid;

    for (unsigned int k = 1; k < 1 << FABRIC_MAX_LMC && k < lid; k++) {
        const struct lid *l = &d->lid[lid - k];

        if (l->at.file)
            return d->f->node[l->node].type == NODE_SWITCH && l->guid == guid;
    }
    return false;
}

/* Whose LIDs are, in the tables and in the topology. */
static int check_owners (const struct draft *d, struct error *err)
{
    for (unsigned int lid = 1; lid < LIDS; lid++) {
        const struct lid *l = &d->lid[lid];

        if (!l->table_at.file || l->table_guid == DRAFT_UNTOLD
            || l->table_guid == DRAFT_SOMEBODY)
            continue;
        if (!l->at.file && !is_spare (d, lid)) {
            error_input (err,
                         "LID %u belongs to port GUID %016" PRIx64
                         ", but to nobody in the topology",
                         lid, l->table_guid);
            return place_error (&l->table_at, err);
        }
        if (l->at.file && l->guid && l->guid != l->table_guid) {
            error_input (err,
                         "LID %u belongs to port GUID %016" PRIx64
                         ", but to %016" PRIx64 " in %s:%" PRIu64,
                         lid, l->table_guid, l->guid, l->at.file, l->at.line);
            return place_error (&l->table_at, err);
        }
    }
    return 0;
}

/* The LIDs that a table must have. */
static int check_range (const struct draft *d, const struct table *t,
                        struct error *err)
{
    unsigned int top = FABRIC_MAX_LID;

    while (top > 0 && !d->lid[top].at.file)
        top--;
    if (t->is.last >= top && t->is.first <= 1)
        return 0;
    error_input (err,
                 "the table has LIDs %u to %u only, but LID %u is in %s:%"
                 PRIu64,
                 t->is.first, t->is.last, top, d->lid[top].at.file,
                 d->lid[top].at.line);
    return place_error (&t->at, err);
}

/* A LID without an entry, which need not be one without a route. Switches often
 * have no routes to each other.
 */
static int check_entries (const struct draft *d, const struct table *t,
                          struct error *err)
{
    unsigned int lid = t->complete ? t->is.last : 1;

    if (t->complete && (!t->is.lacks_last || t->next > t->is.last))
        return 0;
    for (; lid <= t->is.last; lid++) {
        const struct lid *l = &d->lid[lid];

        if (!l->at.file || t->lft[lid] != LFT_NO_ROUTE
            || (!t->complete && d->f->node[l->node].type == NODE_SWITCH))
            continue;
        error_input (err,
                     t->complete
                         ? "LID %u is left out, as dump_fts and ibroute do "
                           "with a last LID that is a multiple of 64: give a "
                           "dump of opensm"
                         : "LID %u is not in this table, nor that it has no "
                           "route: give opensm.fdbs or the output of dump_fts",
                     lid);
        return place_error (&t->at, err);
    }
    return 0;
}

static int join_table (struct draft *d, struct table *t, struct error *err)
{
    uint32_t node = fabric_find_node (d->f, t->is.guid);
    const struct fabric_node *n;

    if (node == FABRIC_NONE || d->f->node[node].type != NODE_SWITCH) {
        error_input (err, "%016" PRIx64 " is no switch of the topology",
                     t->is.guid);
        return place_error (&t->at, err);
    }
    n = &d->f->node[node];
    if (check_range (d, t, err) < 0 || check_entries (d, t, err) < 0)
        return -1;
    if (n->lft) {
        error_input (err, "a second table of switch %016" PRIx64, t->is.guid);
        return place_error (&t->at, err);
    }
    if (t->lft[n->lid] != 0 && t->lft[n->lid] != LFT_NO_ROUTE) {
        error_input (err,
                     "LID %u leads to port %u of switch %016" PRIx64
                     ", whose own it is in %s:%" PRIu64,
                     n->lid, t->lft[n->lid], n->guid,
                     d->node[node].lid_at.file, d->node[node].lid_at.line);
        return place_error (&t->at, err);
    }
    if (fabric_set_lft (d->f, node, t->lft, t->is.last, err) < 0)
        return place_error (&t->at, err);
    d->node[node].lft_at = t->at;
    free (t->lft);
    t->lft = NULL;
    return 0;
}

static int join_tables (struct draft *d, struct error *err)
{
    for (size_t i = 0; i < d->ntables; i++)
        if (join_table (d, &d->table[i], err) < 0)
            return -1;
    for (size_t i = 0; i < d->f->nnodes; i++) {
        const struct fabric_node *n = &d->f->node[i];

        if (n->type == NODE_SWITCH && !n->lft) {
            error_input (err,
                         "no file has the forwarding table of switch %016"
                         PRIx64 " (%s)",
                         n->guid, n->desc);
            return place_error (&d->node[i].at, err);
        }
    }
    return 0;
}

/* That what one file says of routes fits what another says of cables. */
static int check_routes (const struct draft *d, struct error *err)
{
    uint32_t *port = malloc (LIDS * sizeof (*port));
    struct deliver_fault fault;
    int rc;

    if (!port)
        return error_nomem (err);
    for (unsigned int lid = 0; lid < LIDS; lid++)
        port[lid] = d->lid[lid].at.file ? d->lid[lid].port : FABRIC_NONE;
    rc = deliver_check (d->f, port, &fault, err);
    free (port);
    if (rc != 0)
        return rc < 0 ? -1 : 0;
    error_input (err,
                 "switch %016" PRIx64 " sends LID %u, of %s:%" PRIu64
                 ", to port %u, %s",
                 d->f->node[fault.node].guid, fault.lid,
                 d->lid[fault.lid].at.file, d->lid[fault.lid].at.line,
                 fault.port, fault.why);
    return place_error (&d->node[fault.node].lft_at, err);
}

struct fabric *draft_finish (struct draft *d, const char *source,
                             struct error *err)
{
    struct fabric *f = d->f;

    if (f->nnodes == 0) {
        error_input (err, "no file has nodes and cables");
        return NULL;
    }
    if (d->ntables == 0) {
        error_input (err, "no file has forwarding tables");
        return NULL;
    }
    if (join_cables (d, err) < 0 || join_lids (d, err) < 0
        || check_owners (d, err) < 0 || join_tables (d, err) < 0
        || check_routes (d, err) < 0
        || fabric_set_source (f, source, 0, err) < 0
        || fabric_finish (f, err) < 0)
        return NULL;
    d->f = NULL;
    return f;
}
