/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes
 *
 * Everything is requested as soon as possible, in one run of the engine. A new
 * node is asked for its description, its ports and its table. For a port that
 * is up, the node at its far end is asked. If the other end of a cable is
 * already known, the cable is not followed from there as well; join checks that
 * both ends agree.
 *
 * A device that does not know the vendor's attribute may not answer at all. So
 * it is asked at most twice, until one switch has answered. Then all switches
 * that have not answered are asked again, as often as for anything else.
 *
 * The blocks of a table are requested a few at a time, and each answer starts
 * the next request. So no switch gets all of the window.
 */
#include "config.h"
#include "ibquery/read/explore.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ibquery/read/groups.h"
#include "ibquery/read/netdisc.h"
#include "ibquery/spread.h"
#include "util/alloc.h"
#include "util/text.h"

enum { BLOCKS_AT_ONCE = 4, ADAPTIVE_TRIES = 2 };

void explore_clear (struct explore *e)
{
    for (size_t i = 0; i < e->nnodes; i++) {
        struct explored_node *n = e->node[i];

        for (unsigned int k = 0; k <= n->info.nports; k++)
            free (n->port[k].ahead);
        groups_destroy (n->groups);
        free (n->port);
        free (n->lft);
        free (n->block);
        free (n);
    }
    free (e->node);
    map_clear (&e->by_guid);
    *e = (struct explore){ .mads = e->mads, .names = e->names };
}

__attribute__ ((format (printf, 3, 4)))
static int node_error (const struct explored_node *n, struct error *err,
                       const char *fmt, ...)
{
    char what[200];

    TEXT_PRINT (what, sizeof (what), fmt);
    return error_world (err, "%s %s%s(%016" PRIx64 "): %s",
                        fabric_type_name (n->info.type), n->desc,
                        *n->desc ? " " : "", n->info.guid, what);
}

/* The error for an answer without data. */
static int missing (const struct explored_node *n, uint32_t mod,
                    const struct mads_answer *a, struct error *err)
{
    char what[80];

    snprintf (what, sizeof (what),
              a->attr == ATTR_NODE_DESC     ? "NodeDescription"
              : a->attr == ATTR_SWITCH_INFO ? "SwitchInfo"
              : a->attr == ATTR_PORT_INFO   ? "PortInfo of port %u"
                                            : "LFT block %u",
              mod);
    return a->status != 0
               ? node_error (n, err, "%s is refused, status 0x%04x", what,
                             a->status)
               : node_error (n, err, "%s did not arrive", what);
}

static int on_explore_answer (void *arg, uint64_t cookie,
                              const struct mads_answer *a, struct error *err);

/* tries 0: as often as the options say. For NodeInfo, mod is the port that
 * leads to the node.
 */
static void request_node_attr (struct explore *e, uint32_t node,
                               const struct mads_to *to, enum attr attr,
                               uint32_t mod, uint8_t tries)
{
    mads_get (e->mads, &(struct mads_request){
                           .class = MADS_DIRECTED, .attr = attr,
                           .mod = attr == ATTR_NODE_INFO ? 0 : mod,
                           .tries = tries,
                           .optional = attr == ATTR_ADAPTIVE && tries > 0,
                           .to = to, .fn = on_explore_answer, .arg = e,
                           .cookie = (uint64_t)node << 32 | mod,
                       });
}

int explore_ahead (struct explore *e, uint32_t node, unsigned int num,
                   struct error *err)
{
    struct explored_node *n = e->node[node];
    struct explored_port *p = &n->port[num];

    if (p->far != EXPLORE_NONE || p->ahead)
        return 0;
    if (n->to.hops == MADS_HOPS)
        return node_error (n, err, "it is %d hops away, and there is more "
                                   "behind port %u", MADS_HOPS, num);
    p->ahead = xarray (1, sizeof (*p->ahead));
    *p->ahead = n->to;
    p->ahead->path[++p->ahead->hops] = (uint8_t)num;
    request_node_attr (e, node, p->ahead, ATTR_NODE_INFO, num, 0);
    return 0;
}

/* Ask for the node at the far end of a port that is up. No route leads through
 * adapters other than the local one.
 */
static int request_far_node (struct explore *e, uint32_t node, unsigned int num,
                             struct error *err)
{
    const struct explored_node *n = e->node[node];

    return !e->on_demand && num > 0
                   && n->port[num].info.phys_state == PHYS_LINK_UP
                   && (explored_is_switch (n) || node == 0)
               ? explore_ahead (e, node, num, err)
               : 0;
}

static void set_port (struct explored_port *p, const uint8_t *data)
{
    p->info = attr_port (data);
    memcpy (p->raw, data, sizeof (p->raw));
    p->asked = p->known = true;
}

static void ask_port (struct explore *e, uint32_t node,
                      const struct mads_to *to, unsigned int num)
{
    struct explored_port *p = &e->node[node]->port[num];

    if (!p->asked)
        request_node_attr (e, node, to, ATTR_PORT_INFO, num, 0);
    p->asked = true;
}

static void set_desc (struct explored_node *n, const uint8_t *data)
{
    memcpy (n->desc, data, NODE_DESC_SIZE);
    text_clean (n->desc);
    n->described = true;
}

void explore_block (struct explore *e, uint32_t node, unsigned int block)
{
    struct explored_node *n = e->node[node];

    if (n->block[block] != EXPLORE_NOT_ASKED)
        return;
    n->block[block] = EXPLORE_ASKED;
    request_node_attr (e, node, &n->to, ATTR_LFT, block, 0);
}

static void ask_adaptive (struct explore *e, uint32_t node, uint8_t tries)
{
    const struct explored_node *n = e->node[node];

    if (n->table != EXPLORE_NOT_ASKED && n->info.vendor == VENDOR_NVIDIA
        && !n->spread.known)
        request_node_attr (e, node, &n->to, ATTR_ADAPTIVE, 0, tries);
}

void explore_table (struct explore *e, uint32_t node)
{
    struct explored_node *n = e->node[node];

    if (n->table != EXPLORE_NOT_ASKED)
        return;
    n->table = EXPLORE_ASKED;
    request_node_attr (e, node, &n->to, ATTR_SWITCH_INFO, 0, 0);
    ask_adaptive (e, node, ADAPTIVE_TRIES);
}

/* The length of a switch's table is known. */
static int take_table (struct explore *e, uint32_t node,
                       struct switch_attr sw, struct error *err)
{
    struct explored_node *n = e->node[node];
    uint32_t blocks = sw.top / LFT_BLOCK + 1;

    if (sw.top > FABRIC_MAX_LID)
        return node_error (n, err, "its forwarding table ends at LID %u",
                           sw.top);
    n->sw = sw;
    n->table = EXPLORE_HERE;
    n->lft = memset (xarray (blocks, LFT_BLOCK), LFT_NO_ROUTE,
                     (size_t)blocks * LFT_BLOCK);
    n->block = xcalloc (blocks, sizeof (*n->block));
    for (uint32_t i = 0; !e->on_demand && i < BLOCKS_AT_ONCE && i < blocks; i++)
        explore_block (e, node, i);
    return 0;
}

/* A switch's second SwitchInfo, for explore_look. */
static void check_switch_moved (struct explore *e,
                                const struct explored_node *n,
                                const uint8_t *data)
{
    struct switch_attr now = { 0 };

    if (data)
        now = attr_switch (data);
    e->moved |= !data || n->sw.changed || now.changed || now.top != n->sw.top;
    e->pending |= now.changed;
}

static int on_node_info (struct explore *e, uint64_t cookie,
                         const uint8_t *data, unsigned int status,
                         struct error *err);

static int on_explore_answer (void *arg, uint64_t cookie,
                              const struct mads_answer *a, struct error *err)
{
    struct explore *e = arg;
    uint32_t node = cookie >> 32, mod = (uint32_t)cookie;
    struct explored_node *n;

    if (a->attr == ATTR_NODE_INFO)
        return on_node_info (e, cookie, a->data, a->status, err);
    n = e->node[node];
    if (a->attr == ATTR_ADAPTIVE) {
        if (a->data) {
            n->spread = spread_decode (a->data);
            n->max_groups = spread_max_groups (a->data, &n->masks);
        } else if (a->status == STATUS_NO_ATTR)
            n->spread.known = true; /* it has no adaptive routing */
        return 0;
    }
    if (a->attr == ATTR_SWITCH_INFO && n->table == EXPLORE_HERE) {
        check_switch_moved (e, n, a->data);
        return 0;
    }
    if (!a->data)
        return missing (n, mod, a, err);
    switch (a->attr) {
    case ATTR_SWITCH_INFO:
        return take_table (e, node, attr_switch (a->data), err);
    case ATTR_PORT_INFO:
        set_port (&n->port[mod], a->data);
        return request_far_node (e, node, mod, err);
    case ATTR_NODE_DESC:
        set_desc (n, a->data);
        return 0;
    }
    memcpy (n->lft + (size_t)mod * LFT_BLOCK, a->data, LFT_BLOCK);
    n->block[mod] = EXPLORE_HERE;
    mod += BLOCKS_AT_ONCE;
    if (!e->on_demand && mod <= n->sw.top / LFT_BLOCK)
        explore_block (e, node, mod);
    return 0;
}

/* If one switch has reported its adaptive routing, the others are asked again.
 */
int explore_run (struct explore *e, struct error *err)
{
    bool told = false;

    if (mads_run (e->mads, err) < 0)
        return -1;
    for (uint32_t i = 0; i < e->nnodes; i++)
        told |= e->node[i]->spread.known;
    for (uint32_t i = 0; told && i < e->nnodes; i++)
        ask_adaptive (e, i, 0);
    return mads_run (e->mads, err);
}

/* Ask a node for what is not known about it, as far as it is not on demand. */
static void ask_node (struct explore *e, uint32_t node)
{
    const struct explored_node *n = e->node[node];
    unsigned int last = e->on_demand ? 0 : n->info.nports;

    if (!n->described)
        request_node_attr (e, node, &n->to, ATTR_NODE_DESC, 0, 0);
    if (!explored_is_switch (n))
        return;
    if (!e->on_demand && !e->no_tables)
        explore_table (e, node);
    for (unsigned int i = 0; i <= last; i++)
        ask_port (e, node, &n->to, i);
}

static uint32_t add_explored_node (struct explore *e,
                                   const struct node_attr *info,
                                   const struct mads_to *to)
{
    struct explored_node *n = xcalloc (1, sizeof (*n));

    n->info = *info;
    n->to = *to;
    n->port = xcalloc (info->nports + 1U, sizeof (*n->port));
    for (unsigned int i = 0; i <= info->nports; i++)
        n->port[i].far = EXPLORE_NONE;
    map_put (&e->by_guid, info->guid, (uint32_t)e->nnodes);
    e->node = xgrow (e->node, e->nnodes, sizeof (struct explored_node *));
    e->node[e->nnodes] = n;
    return (uint32_t)e->nnodes++;
}

static bool is_plausible (const struct node_attr *info)
{
    return info->type >= NODE_CA && info->type <= NODE_ROUTER
           && info->local_port <= info->nports
           && (info->local_port > 0 || info->type == NODE_SWITCH);
}

/* The node that answered; it is added if it is new. */
static int64_t find_or_add_node (struct explore *e,
                                 const struct node_attr *info,
                                 const struct mads_to *to, struct error *err)
{
    uint32_t node = map_find (&e->by_guid, info->guid);
    struct explored_node *n;
    struct explored_port *p;

    if (!is_plausible (info))
        return error_world (err, "node %016" PRIx64 " says that it is of type "
                                 "%u and that its port %u of %u was asked",
                            info->guid, info->type, info->local_port,
                            info->nports);
    if (node == EXPLORE_NONE) {
        if (e->nnodes == FABRIC_MAX_NODES)
            return error_world (err, "more than %d nodes", FABRIC_MAX_NODES);
        node = add_explored_node (e, info, to);
        ask_node (e, node);
    }
    n = e->node[node];
    if (n->info.type != info->type || n->info.nports != info->nports)
        return node_error (n, err, "another node has its GUID");
    p = &n->port[info->local_port];
    if (!explored_is_switch (n) && p->guid == 0) {
        p->guid = info->port_guid;
        ask_port (e, node, to, info->local_port);
    }
    return node;
}

static int connect_explored_ports (struct explore *e, uint32_t a,
                                   unsigned int a_num, uint32_t b,
                                   unsigned int b_num, struct error *err)
{
    struct explored_port *pa = &e->node[a]->port[a_num];
    struct explored_port *pb = &e->node[b]->port[b_num];

    if ((pa->far != EXPLORE_NONE && (pa->far != b || pa->far_port != b_num))
        || (pb->far != EXPLORE_NONE && (pb->far != a || pb->far_port != a_num)))
        return node_error (e->node[a], err, "port %u leads to %016" PRIx64
                                            "/%u, which leads elsewhere", a_num,
                           e->node[b]->info.guid, b_num);
    pa->far = b;
    pa->far_port = (uint8_t)b_num;
    pb->far = a;
    pb->far_port = (uint8_t)a_num;
    if (e->on_demand) {
        ask_port (e, a, &e->node[a]->to, a_num);
        ask_port (e, b, &e->node[b]->to, b_num);
    }
    return 0;
}

static int is_mute (const struct explored_node *n, unsigned int num,
                    const char *more, struct error *err)
{
    return node_error (n, err, "no answer from the far end of port %u, which "
                               "is active%s", num, more);
}

/* The local node, or the node at the far end of a port: no answer from there may
 * be an error if the port is active (put_mute). If the first node after the
 * local one does not answer, an M_Key may be missing.
 */
static int on_node_info (struct explore *e, uint64_t cookie,
                         const uint8_t *data, unsigned int status,
                         struct error *err)
{
    uint32_t num = (uint32_t)cookie;
    bool own = e->nnodes == 0;
    struct explored_node *from = own ? NULL : e->node[cookie >> 32];
    struct node_attr info;
    int64_t node;

    if (own && !data)
        return error_world (err, "the own port does not answer");
    if (!data && status != 0)
        return node_error (from, err, "NodeInfo of the far end of port %u is "
                                      "refused, status 0x%04x", num, status);
    if (!data && cookie >> 32 == 0
        && from->port[num].info.state == STATE_ACTIVE)
        return is_mute (from, num, " (is an M_Key needed?)", err);
    if (!data) {
        from->port[num].mute = from->port[num].info.state == STATE_ACTIVE;
        return from->port[num].mute && (e->on_demand || e->part)
                   ? is_mute (from, num, "", err)
                   : 0;
    }
    info = attr_node (data);
    node = find_or_add_node (e, &info, own ? &e->self : from->port[num].ahead,
                             err);
    return node < 0 ? -1
           : own    ? 0
                 : connect_explored_ports (e, cookie >> 32, num, (uint32_t)node,
                                           info.local_port, err);
}

/*
 * What libibnetdisc finds
 */

static bool is_zero (const uint8_t *data)
{
    static const uint8_t zero[NETDISC_DATA];

    return memcmp (data, zero, sizeof (zero)) == 0;
}

/* Forget the cables of a node on which its far ends do not agree, and an
 * adapter's port without one, except the local port. Return whether a cable is
 * left.
 */
static bool check_cables (struct explore *e, uint32_t node)
{
    struct explored_node *n = e->node[node];
    bool reached = false;

    for (unsigned int num = 0; num <= n->info.nports; num++) {
        struct explored_port *p = &n->port[num], *far;
        bool agreed = num > 0 && p->far < e->nnodes && p->far_port >= 1
                      && p->far_port <= e->node[p->far]->info.nports;

        if (agreed) {
            far = &e->node[p->far]->port[p->far_port];
            agreed = far->far == node && far->far_port == num;
        }
        reached |= agreed;
        if (!agreed && !explored_is_switch (n)
            && (node > 0 || num != n->info.local_port))
            *p = (struct explored_port){ 0 };
        if (!agreed)
            p->far = EXPLORE_NONE;
    }
    return reached;
}

struct netdisc_taking {
    struct explore *e;
    bool sound; /* the nodes are plausible: the local node comes first, and
                   every other node has a cable */
};

/* Take all nodes (a mads_take_f). */
static int64_t take_netdisc (void *arg, FILE *fp)
{
    struct netdisc_taking *t = arg;
    struct explore *e = t->e;
    struct netdisc_answer answer;
    size_t nports = 0;

    if (fread (&answer, sizeof (answer), 1, fp) != 1
        || answer.magic != NETDISC_MAGIC || answer.nnodes > FABRIC_MAX_NODES)
        return -1;
    for (uint32_t i = 0; i < answer.nnodes; i++) {
        struct netdisc_node from;
        struct explored_node *n;
        struct node_attr info;

        if (fread (&from, sizeof (from), 1, fp) != 1)
            return -1;
        info = attr_node (from.info);
        nports += info.nports + 1U;
        if (!is_plausible (&info) || nports > FABRIC_MAX_PORTS
            || map_find (&e->by_guid, info.guid) != EXPLORE_NONE
            || from.to.hops > MADS_HOPS || (i == 0) != (from.to.hops == 0))
            return (int64_t)answer.mads;
        add_explored_node (e, &info, &from.to);
        n = e->node[i];
        if (!is_zero (from.desc))
            set_desc (n, from.desc);
        for (unsigned int k = 0; k <= info.nports; k++) {
            struct netdisc_port port;

            if (fread (&port, sizeof (port), 1, fp) != 1)
                return -1;
            n->port[k].far = port.far;
            n->port[k].far_port = port.far_port;
            if (!explored_is_switch (n))
                n->port[k].guid = port.guid;
            if (!is_zero (port.info))
                set_port (&n->port[k], port.info);
        }
    }
    t->sound = e->nnodes > 0;
    for (uint32_t i = 0; i < e->nnodes; i++)
        t->sound &= check_cables (e, i) || i == 0;
    return (int64_t)answer.mads;
}

/* Ask for PortInfo of an adapter's port through the cable that leads to it. */
static void ask_adapter (struct explore *e, uint32_t node, unsigned int num)
{
    const struct explored_port *p = &e->node[node]->port[num];
    const struct explored_node *far;
    struct explored_port *back;

    if (p->far == EXPLORE_NONE || e->node[p->far]->to.hops == MADS_HOPS) {
        ask_port (e, node, &e->node[node]->to, num);
        return;
    }
    far = e->node[p->far];
    back = &far->port[p->far_port];
    back->ahead = xarray (1, sizeof (*back->ahead));
    *back->ahead = far->to;
    back->ahead->path[++back->ahead->hops] = p->far_port;
    ask_port (e, node, back->ahead, num);
}

/* Queue requests for what the library has left out, and for the tables. */
static int queue_missing_requests (struct explore *e, struct error *err)
{
    for (uint32_t i = 0; i < e->nnodes; i++) {
        const struct explored_node *n = e->node[i];

        ask_node (e, i);
        for (unsigned int k = 1; k <= n->info.nports; k++)
            if (n->port[k].known) {
                if (request_far_node (e, i, k, err) < 0)
                    return -1;
            } else if (!explored_is_switch (n) && n->port[k].guid != 0)
                ask_adapter (e, i, k);
    }
    return 0;
}

int explore_all (struct explore *e, struct error *err)
{
    struct netdisc_taking t = { .e = e };
    bool no_tables = e->no_tables;

    mads_netdisc (e->mads, take_netdisc, &t);
    if (t.sound) {
        if (queue_missing_requests (e, err) < 0)
            return -1;
    } else {
        explore_clear (e);
        e->no_tables = no_tables;
        request_node_attr (e, 0, &e->self, ATTR_NODE_INFO, 0, 0);
    }
    return explore_run (e, err) < 0 ? -1 : groups_read (e, err);
}

int explore_start (struct explore *e, struct error *err)
{
    e->on_demand = true;
    if (e->nnodes == 0)
        request_node_attr (e, 0, &e->self, ATTR_NODE_INFO, 0, 0);
    return explore_run (e, err);
}

int explore_look (struct explore *e, struct error *err)
{
    e->moved = e->pending = false;
    for (uint32_t i = 0; i < e->nnodes; i++)
        if (e->node[i]->table == EXPLORE_HERE)
            request_node_attr (e, i, &e->node[i]->to, ATTR_SWITCH_INFO, 0, 0);
    return mads_run (e->mads, err) < 0 ? -1 : !e->moved;
}

/*
 * The fabric
 */

/* Whether a port has a cable that belongs to the result. */
static bool is_cable_kept (const struct explore *e,
                           const struct explored_port *p)
{
    return p->far != EXPLORE_NONE && (!e->part || p->used);
}

/* A port's capabilities say which of its fields are valid; for a switch's
 * ports, those of port 0 do.
 */
static uint32_t cap_mask (const struct explored_node *n, unsigned int num)
{
    return rates_cap_mask (n->port[explored_is_switch (n) ? 0 : num].raw);
}

static struct port_rates rates_at (const struct explored_node *n,
                                   unsigned int num)
{
    struct port_rates rates;

    rates_decode (n->port[num].raw, cap_mask (n, num), &rates);
    return rates;
}

static int put_explored_port (struct fabric *f, uint32_t node,
                              const struct explored_node *n, unsigned int num,
                              struct error *err)
{
    const struct explored_port *p = &n->port[num];
    struct fabric_port *to = fabric_port_at (f, node, num, err);

    if (p->info.phys_state != PHYS_LINK_UP)
        return node_error (n, err, "port %u has a cable but its link is down",
                           num);
    to->rates = rates_at (n, num);
    if (cap_mask (n, num) & CAP_LRTL && p->info.lrtl <= FABRIC_MAX_LRTL)
        to->lrtl = p->info.lrtl;
    to->state = p->info.state <= PORT_ACTIVE ? p->info.state : PORT_UNKNOWN;
    to->dropped = p->dropped;
    return explored_is_switch (n)
               ? 0
               : fabric_set_port (f, node, num, p->guid, p->info.lid,
                                  p->info.lmc, err);
}

static int put_explored_switch (struct fabric *f, uint32_t node,
                                const struct explored_node *n,
                                struct error *err)
{
    bool here = n->table == EXPLORE_HERE;

    if (here && n->sw.cap == 0)
        return node_error (n, err, "it has no forwarding table");
    if (n->port[0].info.lid == 0)
        return node_error (n, err, "no subnet manager has configured it");
    f->node[node].spread = n->spread;
    if (fabric_set_switch_lid (f, node, n->port[0].info.lid, err) < 0)
        return -1;
    return here ? fabric_set_lft (f, node, n->lft, n->sw.top, err) : 0;
}

/* The LMC of adapters, which a subnet manager gives to all. */
static unsigned int find_adapter_lmc (const struct explore *e)
{
    unsigned int lmc = 0;

    for (size_t i = 0; i < e->nnodes; i++)
        for (unsigned int k = 1;
             k <= e->node[i]->info.nports && !explored_is_switch (e->node[i]);
             k++)
            if (e->node[i]->port[k].info.lmc > lmc)
                lmc = e->node[i]->port[k].info.lmc;
    return lmc;
}

/* A port that is active, and whose far end does not answer. The tables tell
 * what is there: a host, behind which is nothing else, is left out; without a
 * switch, the fabric is not known.
 */
static int put_mute (struct fabric *f, const struct explore *e,
                     const struct explored_node *n, unsigned int num,
                     struct error *err)
{
    size_t lids = 0, host = (size_t)1 << find_adapter_lmc (e);

    for (size_t lid = 1; n->lft && lid <= n->sw.top; lid++)
        lids += n->lft[lid] == num;
    if (lids == 0)
        return is_mute (n, num, "", err);
    if (lids != 1 && lids != host) {
        char more[64];

        snprintf (more, sizeof (more), ": a switch, with %zu LIDs behind it",
                  lids);
        return is_mute (n, num, more, err);
    }
    fabric_warn (f, "%s %s (%016" PRIx64 "): port %u is active, but the host "
                    "there does not answer, and is left out: restart it or its "
                    "adapter",
                 fabric_type_name (n->info.type), n->desc, n->info.guid, num);
    return 0;
}

/* Add what is known of a node but its cables. Warn if a port is up but its far
 * end is not known.
 */
static int put_explored_node (struct fabric *f, uint32_t node,
                              const struct explore *e,
                              const struct explored_node *n, struct error *err)
{
    f->node[node].system = n->info.system_guid;
    f->node[node].vendor = n->info.vendor;
    f->node[node].device = n->info.device;
    for (unsigned int i = 1; i <= n->info.nports; i++) {
        const struct explored_port *p = &n->port[i];

        if (is_cable_kept (e, p)) {
            if (put_explored_port (f, node, n, i, err) < 0)
                return error_prefix (err, "%s", n->desc);
        } else if (p->mute) {
            if (put_mute (f, e, n, i, err) < 0)
                return -1;
        } else if (!e->part && p->known && p->info.phys_state == PHYS_LINK_UP)
            fabric_warn (f, "%s %s (%016" PRIx64 "): port %u is up, but there "
                            "is no answer from its far end",
                         fabric_type_name (n->info.type), n->desc, n->info.guid,
                         i);
    }
    return explored_is_switch (n) ? put_explored_switch (f, node, n, err) : 0;
}

static int put_cables (struct fabric *f, uint32_t node,
                       const struct explore *e, const struct explored_node *n,
                       struct error *err)
{
    for (unsigned int i = 1; i <= n->info.nports; i++) {
        const struct explored_port *p = &n->port[i];
        struct rates rate;
        uint32_t far;

        if (!is_cable_kept (e, p))
            continue;
        far = fabric_find_node (f, e->node[p->far]->info.guid);
        if (far == node && p->far_port == i)
            fabric_warn (f, "%s (%016" PRIx64 "): port %u leads to itself",
                         n->desc, n->info.guid, i);
        if (n->info.guid > f->node[far].guid
            || (far == node && i >= p->far_port))
            continue;
        rate = rates_at (n, i).active;
        if (fabric_add_cable (f, node, i, far, p->far_port, rates_lanes (&rate),
                              rates_speed (&rate), err) < 0)
            return -1;
    }
    return 0;
}

/* Put the groups of all switches; warn if some are not known. Of a part they
 * are known when it is known what is used.
 */
static void put_groups (struct fabric *f, const struct explore *e)
{
    const struct explored_node *first = NULL;
    struct error why, other;
    size_t unknown = 0;

    for (size_t i = 0; e->on_demand == e->part && i < e->nnodes; i++) {
        const struct explored_node *n = e->node[i];
        uint32_t node = fabric_find_node (f, n->info.guid);

        if (node == FABRIC_NONE
            || groups_put (f, node, n, first ? &other : &why) == 0)
            continue;
        unknown++;
        first = first ? first : n;
    }
    if (first)
        fabric_warn (f, "the ports over which messages are spread are not "
                        "known of %s: %s (%016" PRIx64 "): %.100s",
                     COUNTED (unknown, "switch"), first->desc,
                     first->info.guid, why.text);
}

struct fabric *explore_fabric (const struct explore *e, const char *source,
                               struct error *err)
{
    struct fabric *f = fabric_create ();
    const struct explored_node *own = e->nnodes > 0 ? e->node[0] : NULL;

    fabric_set_source (f, source, time (NULL));
    f->names = e->names;
    f->part = e->part;
    if (own)
        f->subnet = own->port[own->info.local_port].info.gid_prefix;
    for (size_t i = 0; i < e->nnodes; i++) {
        const struct explored_node *n = e->node[i];

        if ((!e->part || n->used)
            && fabric_add_node (f, n->info.guid, n->info.type, n->info.nports,
                                n->desc, err) < 0)
            goto error;
    }
    for (int cables = 0; cables < 2; cables++)
        for (size_t i = 0; i < e->nnodes; i++) {
            const struct explored_node *n = e->node[i];
            uint32_t node = fabric_find_node (f, n->info.guid);

            if (node != FABRIC_NONE
                && (cables ? put_cables (f, node, e, n, err)
                           : put_explored_node (f, node, e, n, err)) < 0)
                goto error;
        }
    put_groups (f, e);
    if (fabric_finish (f, err) == 0)
        return f;
error:
    fabric_destroy (f);
    return NULL;
}
