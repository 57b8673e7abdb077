/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes
 *
 * draft_finish joins the cables first; then the LIDs, some of which only the
 * tables give; then the tables, which need both.
 *
 * Not every file gives the LMC of a port. If none does, the LMC follows from
 * the LIDs after the first that the tables assign to the same port.
 */
#include "config.h"
#include "ibquery/import/draft.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ibquery/import/notes.h"
#include "util/alloc.h"

static const struct fabric_port *find_far (const struct draft *d,
                                           const struct port_note *note)
{
    uint32_t node = fabric_find_node (d->f, note->cable.far);
    unsigned int port = note->cable.far_port;

    if (node == FABRIC_NONE || port == 0 || port > d->f->node[node].nports)
        return NULL;
    return &d->f->port[d->f->node[node].first_port + port - 1];
}

/* Check the LID of the far end that this end's line gives. */
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
    return place_input (&note->at, err, "the far end's LID %d is %u in %s:%"
                        PRIu64, note->cable.far_lid, lid, at->file, at->line);
}

/* Check that both ends give the same cable, then add it once. */
static int join_cable (struct draft *d, size_t port, struct error *err)
{
    const struct port_note *note = &d->port[port], *back;
    const struct fabric_port *p = &d->f->port[port], *far;
    const struct draft_cable *c = &note->cable;
    uint64_t guid = d->f->node[p->node].guid;

    if (!note->at.file)
        return 0;
    far = find_far (d, note);
    if (!far)
        return place_input (&note->at, err, "port %u leads to %016" PRIx64
                            "/%u, which no file has", p->num, c->far,
                            c->far_port);
    if (far == p) {
        fabric_warn (d->f, "%.64s (%016" PRIx64 "): port %u leads to itself",
                     d->f->node[p->node].desc, guid, p->num);
        return 0;
    }
    back = &d->port[far - d->f->port];
    if (!back->at.file && !c->both)
        return place_input (&note->at, err, "port %u leads to %016" PRIx64
                            "/%u, which leads to nobody in any file",
                            p->num, c->far, c->far_port);
    if (back->at.file
        && (back->cable.far != guid || back->cable.far_port != p->num))
        return place_input (&note->at, err, "port %u leads to %016" PRIx64
                            "/%u, which leads to %016" PRIx64 "/%u in %s:%"
                            PRIu64, p->num, c->far, c->far_port,
                            back->cable.far, back->cable.far_port,
                            back->at.file, back->at.line);
    if (check_far_lid (d, note, far, err) < 0)
        return -1;
    if (back->at.file && back < note)
        return 0;
    if (fabric_add_cable (d->f, p->node, p->num, far->node, far->num, c->width,
                          c->speed, err) < 0)
        return place_error (&note->at, err);
    return 0;
}

/* A .lst has all cables from one end, or all from both. */
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
    return place_input (&once->at, err,
                        "the cable is not listed from its other end, as others "
                        "are: lines are missing");
}

static int join_cables (struct draft *d, struct error *err)
{
    for (size_t i = 0; i < d->f->nports; i++)
        if (join_cable (d, i, err) < 0)
            return -1;
    return check_lists (d, err);
}

/* Assign a LID of the topology to its port. */
static int take_lid (struct draft *d, unsigned int lid, uint32_t node,
                     uint32_t port, uint64_t guid, const struct place *at,
                     struct error *err)
{
    struct lid *l = &d->lid[lid];

    if (l->at.file)
        return place_input (at, err, "LID %u belongs to %016" PRIx64
                            ", but to %016" PRIx64 " in %s:%" PRIu64, lid,
                            d->f->node[node].guid, d->f->node[l->node].guid,
                            l->at.file, l->at.line);
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

    if (n->type == NODE_SWITCH && n->lid == 0)
        return place_input (&note->at, err, "switch %016" PRIx64 " has no LID",
                            n->guid);
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

/* Whether a LID is another LID of a port, according to the tables. */
enum answer { NO, YES, UNTOLD };

static enum answer is_same_port (const struct lid *l, uint64_t guid)
{
    if (l->at.file || !l->table_at.file)
        return NO;
    if (l->table_guid == DRAFT_UNTOLD)
        return UNTOLD;
    return l->table_guid == DRAFT_SOMEBODY || l->table_guid == guid ? YES : NO;
}

/* Find the LMC of a port if no file gives it. */
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

        return place_input (table, err,
                            "LID %u is not known to be of the port with LID %u"
                            " in %s:%" PRIu64 ", whose LMC no file has",
                            p->lid + count - (answer != UNTOLD), p->lid,
                            at->file, at->line);
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

/* Whether the tables assign a LID to a switch because of the LMC of its port 0,
 * which struct fabric does not have.
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

/* Check that the tables and the topology agree on the owners of LIDs. */
static int check_owners (const struct draft *d, struct error *err)
{
    for (unsigned int lid = 1; lid < LIDS; lid++) {
        const struct lid *l = &d->lid[lid];

        if (!l->table_at.file || l->table_guid == DRAFT_UNTOLD
            || l->table_guid == DRAFT_SOMEBODY)
            continue;
        if (!l->at.file && !is_spare (d, lid))
            return place_input (&l->table_at, err,
                                "LID %u belongs to port GUID %016" PRIx64
                                ", but to nobody in the topology", lid,
                                l->table_guid);
        if (l->at.file && l->guid && l->guid != l->table_guid)
            return place_input (&l->table_at, err,
                                "LID %u belongs to port GUID %016" PRIx64
                                ", but to %016" PRIx64 " in %s:%" PRIu64, lid,
                                l->table_guid, l->guid, l->at.file, l->at.line);
    }
    return 0;
}

/* Check that a table covers all LIDs of the topology. */
static int check_range (const struct draft *d, const struct table *t,
                        struct error *err)
{
    unsigned int top = FABRIC_MAX_LID;

    while (top > 0 && !d->lid[top].at.file)
        top--;
    if (t->is.last >= top && t->is.first <= 1)
        return 0;
    return place_input (&t->at, err,
                        "the table has LIDs %u to %u only, but LID %u is in "
                        "%s:%" PRIu64, t->is.first, t->is.last, top,
                        d->lid[top].at.file, d->lid[top].at.line);
}

/* Check the LIDs without an entry: a missing entry does not always mean that
 * there is no route. Switches often have no routes to each other.
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

static int join_table (struct draft *d, struct table *t, struct error *err)
{
    uint32_t node = fabric_find_node (d->f, t->is.guid);
    const struct fabric_node *n;

    if (node == FABRIC_NONE || d->f->node[node].type != NODE_SWITCH)
        return place_input (&t->at, err, "%016" PRIx64
                            " is no switch of the topology", t->is.guid);
    n = &d->f->node[node];
    if (check_range (d, t, err) < 0 || check_entries (d, t, err) < 0)
        return -1;
    if (n->lft)
        return place_input (&t->at, err, "a second table of switch %016" PRIx64,
                            t->is.guid);
    if (t->lft[n->lid] != 0 && t->lft[n->lid] != LFT_NO_ROUTE)
        return place_input (&t->at, err,
                            "LID %u leads to port %u of switch %016" PRIx64
                            ", whose own it is in %s:%" PRIu64, n->lid,
                            t->lft[n->lid], n->guid, d->node[node].lid_at.file,
                            d->node[node].lid_at.line);
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

        if (n->type == NODE_SWITCH && !n->lft)
            return place_input (&d->node[i].at, err,
                                "no file has the forwarding table of switch "
                                "%016" PRIx64 " (%s)", n->guid, n->desc);
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

/* The wrong entry of a switch, and in words what happens to the LID. */
struct deliver_fault {
    uint32_t node;
    unsigned int lid;
    unsigned int port;
    const char *why;
};

enum state { NEW, ON_PATH, DELIVERS };

struct deliver {
    const struct fabric *f;
    uint8_t *state; /* by node, for this LID */
    uint32_t *path; /* the switches followed so far */
    struct deliver_fault fault;
};

static unsigned int entry (const struct fabric_node *n, unsigned int lid)
{
    return n->lft && lid <= n->lft_top ? n->lft[lid] : LFT_NO_ROUTE;
}

/* The port at the far end of a switch's port; FABRIC_NONE if there is none. */
static uint32_t far_port (const struct fabric *f, const struct fabric_node *n,
                          unsigned int num)
{
    uint32_t port = n->first_port + num - 1;
    const struct fabric_link *l;

    if (num == 0 || num > n->nports || f->port[port].link == FABRIC_NONE)
        return FABRIC_NONE;
    l = &f->link[f->port[port].link];
    return l->a == port ? l->b : l->a;
}

/* What is wrong with an entry for a LID that leads to `far`; NULL: nothing so
 * far.
 */
static const char *find_fault (const struct deliver *d, uint32_t far,
                               unsigned int lid, uint32_t to)
{
    const struct fabric_node *next;

    if (far == FABRIC_NONE)
        return "which leads nowhere";
    if (far == to)
        return NULL;
    next = &d->f->node[d->f->port[far].node];
    if (next->type != NODE_SWITCH)
        return "which leads to another node";
    if (d->state[next - d->f->node] == ON_PATH)
        return "from where it comes back";
    return entry (next, lid) == LFT_NO_ROUTE ? "where it has no route" : NULL;
}

/* Follow a LID from a switch. False: d->fault is the wrong entry. */
static bool follow (struct deliver *d, uint32_t node, unsigned int lid,
                    uint32_t to)
{
    uint32_t far = FABRIC_NONE;
    size_t n = 0;

    if (entry (&d->f->node[node], lid) == LFT_NO_ROUTE)
        return true;
    for (; far != to && d->state[node] == NEW; node = d->f->port[far].node) {
        const struct fabric_node *sw = &d->f->node[node];

        d->state[node] = ON_PATH;
        d->path[n++] = node;
        far = far_port (d->f, sw, entry (sw, lid));
        d->fault = (struct deliver_fault){
            .node = node,
            .lid = lid,
            .port = entry (sw, lid),
            .why = find_fault (d, far, lid, to),
        };
        if (d->fault.why)
            return false;
    }
    while (n > 0)
        d->state[d->path[--n]] = DELIVERS;
    return true;
}

static bool delivers (struct deliver *d, unsigned int lid, uint32_t port)
{
    memset (d->state, NEW, d->f->nnodes);
    for (size_t i = 0; i < d->f->nnodes; i++)
        if (d->f->node[i].type == NODE_SWITCH && !follow (d, i, lid, port))
            return false;
    return true;
}

static int check_routes (const struct draft *d, struct error *err)
{
    struct deliver x = {
        .f = d->f,
        .state = xarray (d->f->nnodes, 1),
        .path = xarray (d->f->nnodes, sizeof (*x.path)),
    };
    const struct deliver_fault *fault = &x.fault;
    bool good = true;

    for (unsigned int lid = 1; good && lid < LIDS; lid++)
        if (d->lid[lid].at.file && d->lid[lid].port != FABRIC_NONE)
            good = delivers (&x, lid, d->lid[lid].port);
    free (x.state);
    free (x.path);
    if (good)
        return 0;
    return place_input (&d->node[fault->node].lft_at, err, "switch %016" PRIx64
                        " sends LID %u, of %s:%" PRIu64 ", to port %u, %s",
                        d->f->node[fault->node].guid, fault->lid,
                        d->lid[fault->lid].at.file,
                        d->lid[fault->lid].at.line, fault->port, fault->why);
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
        || check_routes (d, err) < 0)
        return NULL;
    fabric_set_source (f, source, 0);
    if (fabric_finish (f, err) < 0)
        return NULL;
    d->f = NULL;
    return f;
}
