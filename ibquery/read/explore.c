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

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ibquery/adaptive.h"
#include "ibquery/read/smp.h"
#include "ibquery/read/netdisc.h"
#include "util/alloc.h"
#include "util/text.h"

enum { BLOCKS_AT_ONCE = 4, ADAPTIVE_TRIES = 2 };

struct explore *explore_create (struct mads *m)
{
    struct explore *e = xcalloc (1, sizeof (*e));

    e->mads = m;
    return e;
}

static void free_node (struct explored_node *n)
{
    for (unsigned int i = 0; n->port && i <= n->info.nports; i++)
        free (n->port[i].ahead);
    free (n->port);
    free (n->lft);
    free (n->block);
    free (n);
}

static void forget (struct explore *e)
{
    for (size_t i = 0; i < e->nnodes; i++)
        free_node (e->node[i]);
    free (e->node);
    map_clear (&e->by_guid);
    e->node = NULL;
    e->nnodes = 0;
}

void explore_clear (struct explore *e)
{
    struct mads *m = e->mads;

    forget (e);
    *e = (struct explore){ .mads = m };
}

void explore_destroy (struct explore *e)
{
    int saved_errno = errno;

    if (!e)
        return;
    explore_clear (e);
    free (e);
    errno = saved_errno;
}

uint32_t explore_find (const struct explore *e, uint64_t guid)
{
    return map_find (&e->by_guid, guid);
}

static bool is_switch (const struct explored_node *n)
{
    return n->info.type == NODE_SWITCH;
}

static uint64_t cookie_of (uint32_t node, uint32_t what)
{
    return (uint64_t)node << 32 | what;
}

/* The node of a cookie; *what is set to its port or block. */
static struct explored_node *node_of (const struct explore *e, uint64_t cookie,
                                      uint32_t *what)
{
    *what = (uint32_t)cookie;
    return e->node[cookie >> 32];
}

__attribute__ ((format (printf, 3, 4)))
static int node_error (const struct explored_node *n, struct error *err,
                       const char *fmt, ...)
{
    char what[200];
    va_list ap;

    va_start (ap, fmt);
    vsnprintf (what, sizeof (what), fmt, ap);
    va_end (ap);
    return error_world (err, "%s %s%s(%016" PRIx64 "): %s",
                        fabric_type_name (n->info.type), n->desc,
                        *n->desc ? " " : "", n->info.guid, what);
}

/* The error for an answer without data. */
__attribute__ ((format (printf, 4, 5)))
static int missing (const struct explored_node *n, const struct mads_answer *a,
                    struct error *err, const char *fmt, ...)
{
    char what[80];
    va_list ap;

    va_start (ap, fmt);
    vsnprintf (what, sizeof (what), fmt, ap);
    va_end (ap);
    if (a->status != 0)
        return node_error (n, err, "%s is refused, status 0x%04x", what,
                           a->status);
    return node_error (n, err, "%s did not arrive", what);
}

static void ask_times (struct explore *e, uint32_t node,
                       const struct mads_to *to, enum attr attr, uint32_t mod,
                       uint8_t tries, mads_answer_f fn)
{
    const struct mads_request r = {
        .class = MADS_DIRECTED,
        .attr = attr,
        .mod = mod,
        .tries = tries,
        .optional = attr == ATTR_ADAPTIVE && tries > 0,
        .to = to,
        .fn = fn,
        .arg = e,
        .cookie = cookie_of (node, mod),
    };

    mads_get (e->mads, &r);
}

static void ask (struct explore *e, uint32_t node, const struct mads_to *to,
                 enum attr attr, uint32_t mod, mads_answer_f fn)
{
    ask_times (e, node, to, attr, mod, 0, fn);
}

static int on_node_info (void *arg, uint64_t cookie,
                         const struct mads_answer *a, struct error *err);

int explore_ahead (struct explore *e, uint32_t node, unsigned int num,
                       struct error *err)
{
    struct explored_node *n = e->node[node];
    struct explored_port *p = &n->port[num];
    struct mads_request r = {
        .class = MADS_DIRECTED,
        .attr = ATTR_NODE_INFO,
        .fn = on_node_info,
        .arg = e,
        .cookie = cookie_of (node, num),
    };

    if (p->far != EXPLORE_NONE || p->ahead)
        return 0;
    if (n->to.hops == MADS_HOPS)
        return node_error (n, err, "it is %d hops away, and there is more "
                                   "behind port %u",
                           MADS_HOPS, num);
    p->ahead = xarray (1, sizeof (*p->ahead));
    *p->ahead = n->to;
    p->ahead->path[++p->ahead->hops] = (uint8_t)num;
    r.to = p->ahead;
    mads_get (e->mads, &r);
    return 0;
}

static void set_port (struct explored_port *p, const uint8_t *data)
{
    p->info = attr_port (data);
    memcpy (p->raw, data, sizeof (p->raw));
    p->asked = p->known = true;
}

/* Ask for the node at the far end of a port that is up. No route leads through
 * adapters other than the local one.
 */
static int go_ahead (struct explore *e, uint32_t node, unsigned int num,
                     struct error *err)
{
    const struct explored_node *n = e->node[node];

    return num > 0 && n->port[num].info.phys_state == PHYS_LINK_UP
                   && (is_switch (n) || node == 0)
               ? explore_ahead (e, node, num, err)
               : 0;
}

static int on_port_info (void *arg, uint64_t cookie,
                         const struct mads_answer *a, struct error *err)
{
    struct explore *e = arg;
    uint32_t num;
    struct explored_node *n = node_of (e, cookie, &num);
    struct explored_port *p = &n->port[num];

    if (!a->data)
        return missing (n, a, err, "PortInfo of port %u", num);
    set_port (p, a->data);
    return go_ahead (e, cookie >> 32, num, err);
}

static void ask_port (struct explore *e, uint32_t node,
                      const struct mads_to *to, unsigned int num)
{
    struct explored_port *p = &e->node[node]->port[num];

    if (!p->asked)
        ask (e, node, to, ATTR_PORT_INFO, num, on_port_info);
    p->asked = true;
}

static void set_desc (struct explored_node *n, const uint8_t *data)
{
    memcpy (n->desc, data, NODE_DESC_SIZE);
    text_clean (n->desc);
    n->described = true;
}

static int on_node_desc (void *arg, uint64_t cookie,
                         const struct mads_answer *a, struct error *err)
{
    uint32_t unused;
    struct explored_node *n = node_of (arg, cookie, &unused);

    if (!a->data)
        return missing (n, a, err, "NodeDescription");
    set_desc (n, a->data);
    return 0;
}

static int on_lft (void *arg, uint64_t cookie, const struct mads_answer *a,
                   struct error *err)
{
    struct explore *e = arg;
    uint32_t block;
    struct explored_node *n = node_of (e, cookie, &block);

    if (!a->data)
        return missing (n, a, err, "LFT block %u", block);
    memcpy (n->lft + (size_t)block * LFT_BLOCK, a->data, LFT_BLOCK);
    if (e->guide) {
        n->block[block] = EXPLORE_HERE;
        return e->guide->block (e->guide->arg, cookie >> 32, block, err);
    }
    block += BLOCKS_AT_ONCE;
    if (block <= n->sw.top / LFT_BLOCK)
        ask (e, cookie >> 32, &n->to, ATTR_LFT, block, on_lft);
    return 0;
}

static int on_adaptive (void *arg, uint64_t cookie,
                        const struct mads_answer *a, struct error *err)
{
    uint32_t unused;
    struct explored_node *n = node_of (arg, cookie, &unused);

    (void)err;
    if (a->data)
        n->adaptive = adaptive_decode (a->data);
    else if (a->status == STATUS_NO_ATTR)
        n->adaptive.known = true; /* it has no adaptive routing */
    return 0;
}

static void ask_adaptive (struct explore *e, uint32_t node, uint8_t tries)
{
    const struct explored_node *n = e->node[node];

    if (n->table != EXPLORE_NOT_ASKED && n->info.vendor == VENDOR_NVIDIA
        && !n->adaptive.known)
        ask_times (e, node, &n->to, ATTR_ADAPTIVE, 0, tries, on_adaptive);
}

/* Run until nothing is left to ask. If one switch has reported its adaptive
 * routing, the others are asked again.
 */
static int run (struct explore *e, struct error *err)
{
    bool told = false;

    if (mads_run (e->mads, err) < 0)
        return -1;
    for (uint32_t i = 0; i < e->nnodes; i++)
        told |= e->node[i]->adaptive.known;
    for (uint32_t i = 0; told && i < e->nnodes; i++)
        ask_adaptive (e, i, 0);
    return mads_run (e->mads, err);
}

static int on_switch_info (void *arg, uint64_t cookie,
                           const struct mads_answer *a, struct error *err)
{
    struct explore *e = arg;
    uint32_t unused;
    struct explored_node *n = node_of (e, cookie, &unused);
    uint32_t blocks;

    if (!a->data)
        return missing (n, a, err, "SwitchInfo");
    n->sw = attr_switch (a->data);
    if (n->sw.top > FABRIC_MAX_LID)
        return node_error (n, err, "its forwarding table ends at LID %u",
                           n->sw.top);
    n->table = EXPLORE_HERE;
    blocks = n->sw.top / LFT_BLOCK + 1;
    n->lft = memset (xarray (blocks, LFT_BLOCK), LFT_NO_ROUTE,
                     (size_t)blocks * LFT_BLOCK);
    if (e->guide) {
        n->block = xcalloc (blocks, sizeof (*n->block));
        return e->guide->table (e->guide->arg, cookie >> 32, err);
    }
    for (uint32_t i = 0; i < BLOCKS_AT_ONCE && i < blocks; i++)
        ask (e, cookie >> 32, &n->to, ATTR_LFT, i, on_lft);
    return 0;
}

void explore_table (struct explore *e, uint32_t node)
{
    struct explored_node *n = e->node[node];

    if (n->table != EXPLORE_NOT_ASKED)
        return;
    n->table = EXPLORE_ASKED;
    ask (e, node, &n->to, ATTR_SWITCH_INFO, 0, on_switch_info);
    ask_adaptive (e, node, ADAPTIVE_TRIES);
}

void explore_block (struct explore *e, uint32_t node, unsigned int block)
{
    struct explored_node *n = e->node[node];

    if (n->block[block] != EXPLORE_NOT_ASKED)
        return;
    n->block[block] = EXPLORE_ASKED;
    ask (e, node, &n->to, ATTR_LFT, block, on_lft);
}

/* Ask a node for everything that is not known about it. With a guide, ask only
 * for its description and for port 0 of a switch; the guide asks for the rest.
 */
static void ask_node (struct explore *e, uint32_t node)
{
    const struct explored_node *n = e->node[node];
    unsigned int last = e->guide ? 0 : n->info.nports;

    if (!n->described)
        ask (e, node, &n->to, ATTR_NODE_DESC, 0, on_node_desc);
    if (!is_switch (n))
        return;
    if (!e->guide && !e->no_tables)
        explore_table (e, node);
    for (unsigned int i = 0; i <= last; i++)
        ask_port (e, node, &n->to, i);
}

static uint32_t add_node (struct explore *e, const struct node_attr *info,
                          const struct mads_to *to)
{
    struct explored_node *n = xcalloc (1, sizeof (*n));
    uint32_t node = (uint32_t)e->nnodes;

    n->info = *info;
    n->to = *to;
    n->port = xcalloc (info->nports + 1U, sizeof (*n->port));
    for (unsigned int i = 0; i <= info->nports; i++)
        n->port[i].far = EXPLORE_NONE;
    map_put (&e->by_guid, info->guid, node);
    e->node = xgrow (e->node, e->nnodes, sizeof (struct explored_node *));
    e->node[e->nnodes++] = n;
    return node;
}

static bool is_plausible (const struct node_attr *info)
{
    return info->type >= NODE_CA && info->type <= NODE_ROUTER
           && info->local_port <= info->nports
           && (info->local_port > 0 || info->type == NODE_SWITCH);
}

/* The node that answered; it is added if it is new. */
static int64_t arrive (struct explore *e, const uint8_t *data,
                       const struct mads_to *to, struct error *err)
{
    const struct node_attr info = attr_node (data);
    struct explored_node *n;
    struct explored_port *p;
    int64_t node;

    if (!is_plausible (&info))
        return error_world (err,
                            "node %016" PRIx64 " says that it is of type %u "
                            "and that its port %u of %u was asked",
                            info.guid, info.type, info.local_port,
                            info.nports);
    node = explore_find (e, info.guid);
    if (node == EXPLORE_NONE && e->nnodes == FABRIC_MAX_NODES)
        return error_world (err, "more than %d nodes", FABRIC_MAX_NODES);
    if (node == EXPLORE_NONE) {
        node = add_node (e, &info, to);
        ask_node (e, (uint32_t)node);
    }
    n = e->node[node];
    if (n->info.type != info.type || n->info.nports != info.nports)
        return node_error (n, err, "another node has its GUID");
    p = &n->port[info.local_port];
    if (is_switch (n) || p->guid != 0)
        return node;
    p->guid = info.port_guid;
    ask_port (e, node, to, info.local_port);
    return node;
}

static bool leads_to (const struct explored_port *p, uint32_t node,
                      unsigned int num)
{
    return p->far == node && p->far_port == num;
}

static int join (struct explore *e, uint32_t a, unsigned int a_num, uint32_t b,
                 unsigned int b_num, struct error *err)
{
    struct explored_port *pa = &e->node[a]->port[a_num];
    struct explored_port *pb = &e->node[b]->port[b_num];

    if ((pa->far != EXPLORE_NONE && !leads_to (pa, b, b_num))
        || (pb->far != EXPLORE_NONE && !leads_to (pb, a, a_num)))
        return node_error (e->node[a], err,
                           "port %u leads to %016" PRIx64 "/%u, which leads "
                           "elsewhere",
                           a_num, e->node[b]->info.guid, b_num);
    pa->far = b;
    pa->far_port = (uint8_t)b_num;
    pb->far = a;
    pb->far_port = (uint8_t)a_num;
    if (!e->guide)
        return 0;
    ask_port (e, a, &e->node[a]->to, a_num);
    ask_port (e, b, &e->node[b]->to, b_num);
    return e->guide->ahead (e->guide->arg, a, a_num, err);
}

/* No answer from the far end of a port: an error if the port is active. If the
 * first node after the local one does not answer, an M_Key may be missing.
 */
static int nobody_ahead (const struct explored_node *n, uint32_t num,
                         bool first, struct error *err)
{
    if (n->port[num].info.state != STATE_ACTIVE)
        return 0;
    return node_error (n, err,
                       "nobody answers at the far end of port %u, which is "
                       "active%s",
                       num, first ? " (is an M_Key needed?)" : "");
}

static int on_node_info (void *arg, uint64_t cookie,
                         const struct mads_answer *a, struct error *err)
{
    struct explore *e = arg;
    uint32_t num;
    struct explored_node *from = node_of (e, cookie, &num);
    int64_t node;

    if (!a->data && a->status != 0)
        return node_error (from, err,
                           "NodeInfo of the far end of port %u is refused, "
                           "status 0x%04x",
                           num, a->status);
    if (!a->data)
        return nobody_ahead (from, num, cookie >> 32 == 0, err);
    node = arrive (e, a->data, from->port[num].ahead, err);
    if (node < 0)
        return -1;
    return join (e, cookie >> 32, num, (uint32_t)node,
                 attr_node (a->data).local_port, err);
}

static int on_self (void *arg, uint64_t cookie, const struct mads_answer *a,
                    struct error *err)
{
    struct explore *e = arg;

    (void)cookie;
    if (!a->data)
        return error_world (err, "the own port does not answer");
    if (arrive (e, a->data, &e->self, err) < 0)
        return -1;
    return e->guide && is_switch (e->node[0])
               ? e->guide->ahead (e->guide->arg, 0, 0, err)
               : 0;
}

/*
 * What libibnetdisc finds
 */

static bool is_zero (const uint8_t *data)
{
    static const uint8_t zero[NETDISC_DATA];

    return memcmp (data, zero, sizeof (zero)) == 0;
}

/* The port at the far end, or NULL if there is none. */
static const struct netdisc_port *far_end (const struct netdisc *t,
                                           const struct netdisc_port *p)
{
    const struct netdisc_node *far;

    if (p->far >= t->nnodes)
        return NULL;
    far = &t->node[p->far];
    return p->far_port >= 1 && p->far_port <= attr_node (far->info).nports
               ? &t->port[far->first + p->far_port]
               : NULL;
}

/* Take a port. Return whether it has a cable on which both ends agree. An
 * adapter's port without one is skipped, except the local port.
 */
static bool take_port (struct explore *e, uint32_t node, unsigned int num,
                       const struct netdisc *t)
{
    const struct netdisc_port *from = &t->port[t->node[node].first + num];
    const struct netdisc_port *far = far_end (t, from);
    const struct explored_node *n = e->node[node];
    struct explored_port *p = &n->port[num];
    bool agreed = num > 0 && far && far->far == node && far->far_port == num;

    if (agreed) {
        p->far = from->far;
        p->far_port = from->far_port;
    }
    if (!is_switch (n)) {
        if (!agreed && (node > 0 || num != n->info.local_port))
            return false;
        p->guid = from->guid;
    }
    if (!is_zero (from->info))
        set_port (p, from->info);
    return agreed;
}

/* Take a node. Return whether it is plausible: the local node comes first, and
 * every other node has a cable.
 */
static bool take_node (struct explore *e, uint32_t node,
                       const struct netdisc *t)
{
    const struct netdisc_node *from = &t->node[node];
    const struct node_attr info = attr_node (from->info);
    bool reached = node == 0;

    if (!is_plausible (&info) || explore_find (e, info.guid) != EXPLORE_NONE
        || (node == 0) != (from->to.hops == 0))
        return false;
    add_node (e, &info, &from->to);
    if (!is_zero (from->desc))
        set_desc (e->node[node], from->desc);
    for (unsigned int k = 0; k <= info.nports; k++)
        reached |= take_port (e, node, k, t);
    return reached;
}

static bool take_netdisc (struct explore *e, const struct netdisc *t)
{
    uint32_t i = 0;

    while (i < t->nnodes && take_node (e, i, t))
        i++;
    return i > 0 && i == t->nnodes;
}

/* Ask for PortInfo of an adapter's port through the cable that leads to it. */
static void ask_adapter (struct explore *e, uint32_t node, unsigned int num)
{
    const struct explored_port *p = &e->node[node]->port[num];
    struct explored_port *back;

    if (p->far == EXPLORE_NONE || e->node[p->far]->to.hops == MADS_HOPS) {
        ask_port (e, node, &e->node[node]->to, num);
        return;
    }
    back = &e->node[p->far]->port[p->far_port];
    back->ahead = xarray (1, sizeof (*back->ahead));
    *back->ahead = e->node[p->far]->to;
    back->ahead->path[++back->ahead->hops] = p->far_port;
    ask_port (e, node, back->ahead, num);
}

/* Ask for what the library has left out, and for the tables. */
static int complete (struct explore *e, struct error *err)
{
    for (uint32_t i = 0; i < e->nnodes; i++) {
        const struct explored_node *n = e->node[i];

        ask_node (e, i);
        for (unsigned int k = 1; k <= n->info.nports; k++)
            if (n->port[k].known) {
                if (go_ahead (e, i, k, err) < 0)
                    return -1;
            } else if (!is_switch (n) && n->port[k].guid != 0)
                ask_adapter (e, i, k);
    }
    return run (e, err);
}

int explore_all (struct explore *e, struct error *err)
{
    const struct mads_request self = {
        .class = MADS_DIRECTED,
        .attr = ATTR_NODE_INFO,
        .to = &e->self,
        .fn = on_self,
        .arg = e,
    };
    struct netdisc t;

    if (!e->guide && mads_netdisc (e->mads, &t)) {
        bool sound = take_netdisc (e, &t);

        netdisc_clear (&t);
        if (sound)
            return complete (e, err);
        forget (e);
    }
    mads_get (e->mads, &self);
    return run (e, err);
}

int explore_places (struct explore *e, struct error *err)
{
    e->no_tables = true;
    return explore_all (e, err);
}

int explore_by (struct explore *e, const struct explore_guide *guide,
                struct error *err)
{
    int rc;

    e->guide = guide;
    if (e->nnodes == 0)
        rc = explore_all (e, err);
    else {
        unsigned int own = is_switch (e->node[0])
                               ? 0
                               : e->node[0]->info.local_port;

        rc = guide->ahead (guide->arg, 0, own, err);
        if (rc == 0)
            rc = run (e, err);
    }
    e->guide = NULL;
    return rc;
}

static int on_look (void *arg, uint64_t cookie, const struct mads_answer *a,
                    struct error *err)
{
    struct explore *e = arg;
    uint32_t unused;
    struct explored_node *n = node_of (e, cookie, &unused);
    struct switch_attr now;

    (void)err;
    if (!a->data) {
        e->moved = true;
        return 0;
    }
    now = attr_switch (a->data);
    if (n->sw.changed || now.changed || now.top != n->sw.top)
        e->moved = true;
    if (now.changed)
        e->pending = true;
    return 0;
}

int explore_look (struct explore *e, struct error *err)
{
    e->moved = e->pending = false;
    for (uint32_t i = 0; i < e->nnodes; i++)
        if (e->node[i]->table == EXPLORE_HERE)
            ask (e, i, &e->node[i]->to, ATTR_SWITCH_INFO, 0, on_look);
    if (mads_run (e->mads, err) < 0)
        return -1;
    return e->moved ? 0 : 1;
}

/* Whether a port has a cable that belongs to the result. */
static bool leads (const struct explore *e, const struct explored_port *p)
{
    return p->far != EXPLORE_NONE && (!e->part || p->used);
}

/* Warn if a port is up but its far end is not known. */
static void check_end (struct fabric *f, const struct explored_node *n,
                       unsigned int num)
{
    const struct explored_port *p = &n->port[num];

    if (p->known && p->info.phys_state == PHYS_LINK_UP)
        fabric_warn (f,
                     "%s %s (%016" PRIx64 "): port %u is up, but nobody "
                     "answers at its far end",
                     fabric_type_name (n->info.type), n->desc, n->info.guid,
                     num);
}

/* The rates of a port. For a switch, the capabilities of port 0 say whether the
 * extended speeds are valid.
 */
static void rates_at (const struct explored_node *n, unsigned int num,
                      struct port_rates *rates)
{
    const struct explored_port *p = &n->port[num];

    rates_decode (p->raw, rates_cap_mask (is_switch (n) ? n->port[0].raw
                                                        : p->raw),
                  rates);
}

static int put_port (struct fabric *f, uint32_t node,
                     const struct explored_node *n, unsigned int num,
                     struct error *err)
{
    const struct explored_port *p = &n->port[num];
    struct port_rates rates;

    if (p->info.phys_state != PHYS_LINK_UP)
        return node_error (n, err, "port %u is cabled, and down", num);
    rates_at (n, num, &rates);
    if (fabric_set_rates (f, node, num, &rates, err) < 0
        || fabric_set_state (f, node, num, p->info.state, err) < 0)
        return -1;
    return is_switch (n) ? 0
                         : fabric_set_port (f, node, num, p->guid,
                                            p->info.lid, p->info.lmc, err);
}

static int put_node (struct fabric *f, uint32_t node, const struct explore *e,
                     const struct explored_node *n, struct error *err)
{
    fabric_set_system (f, node, n->info.system_guid);
    for (unsigned int i = 1; i <= n->info.nports; i++)
        if (n->port[i].far == EXPLORE_NONE && !e->part) {
            check_end (f, n, i);
        } else if (leads (e, &n->port[i])
                   && put_port (f, node, n, i, err) < 0)
            return error_prefix (err, "%s", n->desc);
    return 0;
}

static int put_switch (struct fabric *f, uint32_t node,
                       const struct explored_node *n, struct error *err)
{
    if (n->table == EXPLORE_HERE && n->sw.cap == 0)
        return node_error (n, err, "it has no forwarding table");
    if (n->port[0].info.lid == 0)
        return node_error (n, err, "no subnet manager has configured it");
    if (fabric_set_switch_lid (f, node, n->port[0].info.lid, err) < 0
        || (n->adaptive.known
            && fabric_set_adaptive (f, node, n->adaptive.ud, n->adaptive.rc,
                                    err) < 0))
        return -1;
    if (n->table != EXPLORE_HERE)
        return 0;
    return fabric_set_lft (f, node, n->lft, n->sw.top, err);
}

static int put_cables (struct fabric *f, uint32_t node,
                       const struct explore *e, const struct explored_node *n,
                       struct error *err)
{
    for (unsigned int i = 1; i <= n->info.nports; i++) {
        const struct explored_port *p = &n->port[i];
        struct port_rates rates;
        uint32_t far;

        if (!leads (e, p))
            continue;
        far = fabric_find_node (f, e->node[p->far]->info.guid);
        if (far == node && p->far_port == i) {
            fabric_warn (f, "%s (%016" PRIx64 "): port %u leads to itself",
                         n->desc, n->info.guid, i);
            continue;
        }
        if (n->info.guid > f->node[far].guid
            || (far == node && i > p->far_port))
            continue;
        rates_at (n, i, &rates);
        if (fabric_add_cable (f, node, i, far, p->far_port,
                              rates_lanes (&rates.active),
                              rates_speed (&rates.active), err) < 0)
            return -1;
    }
    return 0;
}

/* The prefix of the GIDs, from the local port. */
static uint64_t subnet_of (const struct explore *e)
{
    const struct explored_node *own = e->nnodes > 0 ? e->node[0] : NULL;

    return own && own->info.local_port <= own->info.nports
               ? own->port[own->info.local_port].info.gid_prefix
               : 0;
}

struct fabric *explore_fabric (const struct explore *e, const char *source,
                               struct error *err)
{
    struct fabric *f = fabric_create ();

    fabric_set_source (f, source, time (NULL));
    f->part = e->part;
    f->subnet = subnet_of (e);
    for (size_t i = 0; i < e->nnodes; i++) {
        const struct explored_node *n = e->node[i];

        if ((!e->part || n->used)
            && fabric_add_node (f, n->info.guid, n->info.type, n->info.nports,
                                n->desc, err) < 0)
            goto error;
    }
    for (size_t i = 0; i < e->nnodes; i++) {
        const struct explored_node *n = e->node[i];
        uint32_t node = fabric_find_node (f, n->info.guid);

        if (node != FABRIC_NONE
            && (put_node (f, node, e, n, err) < 0
                || (is_switch (n) && put_switch (f, node, n, err) < 0)))
            goto error;
    }
    for (size_t i = 0; i < e->nnodes; i++) {
        const struct explored_node *n = e->node[i];
        uint32_t node = fabric_find_node (f, n->info.guid);

        if (node != FABRIC_NONE && put_cables (f, node, e, n, err) < 0)
            goto error;
    }
    if (fabric_finish (f, err) < 0)
        goto error;
    return f;
error:
    fabric_destroy (f);
    return NULL;
}
