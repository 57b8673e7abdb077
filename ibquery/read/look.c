/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes
 *
 * Directed routes are computed from the snapshot, breadth first from the local
 * port. An answer that differs from the snapshot ends the run.
 */
#include "config.h"
#include "ibquery/read/discover.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ibquery/read/groups.h"
#include "ibquery/read/smp.h"
#include "ibquery/spread.h"
#include "util/alloc.h"
#include "util/rates.h"

enum {
    TRIES = 6,
    STATIC_TURNS = 64, /* of them, one asks a switch that spreads no messages */
};

struct look_question {
    struct mads_to to;
    enum attr attr;
    uint32_t mod;
    uint32_t node, port; /* asked about; port FABRIC_NONE: the node */
};

struct fabric_look {
    const struct fabric *f;
    struct mads *m;
    uint32_t *first;    /* by node: the question that first reaches it, from 1;
                           0: none does */
    bool *asked;        /* by cable */
    uint32_t *queue;    /* switches, by distance */
    size_t nqueue;
    struct look_question *question;
    size_t nquestions;
    struct node_attr own;
    bool changed;
    struct error *why;
};

static bool same_rate (const struct rates *a, const struct rates *b)
{
    return (!a->lanes || a->lanes == b->lanes)
           && (!a->speeds || a->speeds == b->speeds);
}

/* A block of the table of groups; LIDs without a route are left out. */
static bool same_groups (const struct fabric_node *n, unsigned int lid,
                         const uint8_t *data)
{
    for (int i = 0; i < GROUPS_BLOCK && lid <= n->lft_top; i++, lid++) {
        const struct spread_entry *was = &n->spread.entry[lid];
        struct spread_entry is = groups_entry (data + i * GROUPS_ENTRY);

        if (is.state == SPREAD_STATIC)
            is.group = 0;
        if (n->lft[lid] != LFT_NO_ROUTE
            && (is.state != was->state || is.port != was->port
                || is.group != was->group))
            return false;
    }
    return true;
}

/* Whether the answer agrees with the snapshot. */
static bool answer_matches_snapshot (const struct fabric *f,
                                     const struct look_question *q,
                                     const uint8_t *data)
{
    const struct fabric_node *n = &f->node[q->node];
    const struct fabric_port *p = &f->port[q->port == FABRIC_NONE ? 0
                                                                  : q->port];
    const struct node_attr node = attr_node (data);
    const struct port_attr port = attr_port (data);
    const struct switch_attr sw = attr_switch (data);
    unsigned int left = n->lft_top + 1 - q->mod * LFT_BLOCK;
    struct fabric_spread spread;
    struct port_rates rates;

    switch (q->attr) {
    case ATTR_NODE_INFO:
        return node.guid == n->guid && node.type == NODE_SWITCH
               && node.local_port == p->num;
    case ATTR_SWITCH_INFO:
        return !sw.changed && sw.top == n->lft_top;
    case ATTR_LFT:
        return memcmp (data, n->lft + q->mod * LFT_BLOCK,
                       left < LFT_BLOCK ? left : LFT_BLOCK) == 0;
    case ATTR_ADAPTIVE:
        spread = spread_decode (data);
        spread.private_lfts = n->spread.private_lfts;
        return !spread_differs (&spread, &n->spread);
    case ATTR_AR_LFT:
        return same_groups (n, q->mod * GROUPS_BLOCK, data);
    default: /* PortInfo, of an adapter or where there is no cable */
        if (p->link == FABRIC_NONE)
            return port.phys_state != PHYS_LINK_UP;
        rates_decode (data, rates_cap_mask (data), &rates);
        return port.lid == p->lid && port.lmc == p->lmc
               && (p->state == PORT_UNKNOWN || port.state == p->state)
               && same_rate (&p->rates.active, &rates.active);
    }
}

static int on_look_answer (void *arg, uint64_t cookie,
                           const struct mads_answer *a, struct error *err)
{
    struct fabric_look *l = arg;
    const struct look_question *q = &l->question[cookie];
    const struct fabric_node *n = &l->f->node[q->node];
    unsigned int num = q->port == FABRIC_NONE ? 0 : l->f->port[q->port].num;

    if (a->data && answer_matches_snapshot (l->f, q, a->data))
        return 0;
    l->changed = true;
    error_world (l->why, "%s %s (%016" PRIx64 ")%s%.0u %s",
                 fabric_type_name (n->type), n->desc, n->guid,
                 num ? " port " : "", num,
                 a->data ? "has changed" : "does not answer");
    return error_world (err, "the fabric has changed");
}

/* Questions are asked in this order, but only later: by mads_run. */
static void add_look_question (struct fabric_look *l, const struct mads_to *to,
                               enum attr attr, uint32_t mod, uint32_t node,
                               uint32_t port)
{
    struct look_question *q = &l->question[l->nquestions];

    *q = (struct look_question){ *to, attr, mod, node, port };
    mads_get (l->m, &(struct mads_request){
                        .class = MADS_DIRECTED, .attr = attr, .mod = mod,
                        .tries = TRIES, .to = &q->to, .fn = on_look_answer,
                        .arg = l, .cookie = l->nquestions++,
                    });
}

/* Ask whether the cable at `port` still leads to the same far end. A switch
 * that was not seen before is queued.
 */
static void ask_far (struct fabric_look *l, uint32_t port,
                     const struct mads_to *from)
{
    uint32_t far = fabric_far_port (l->f, port), node = l->f->port[far].node;
    bool to_switch = l->f->node[node].type == NODE_SWITCH;
    struct mads_to to = *from;

    to.path[++to.hops] = l->f->port[port].num;
    l->asked[l->f->port[port].link] = true;
    add_look_question (l, &to, to_switch ? ATTR_NODE_INFO : ATTR_PORT_INFO, 0,
                       node, far);
    if (l->first[node])
        return;
    l->first[node] = l->nquestions;
    if (to_switch && to.hops < MADS_HOPS)
        l->queue[l->nqueue++] = node;
}

static void ask_switch (struct fabric_look *l, uint32_t node, uint64_t turn)
{
    const struct fabric_node *n = &l->f->node[node];
    uint32_t blocks = n->lft_top / LFT_BLOCK + 1;
    const struct mads_to *to = &l->question[l->first[node] - 1].to;

    add_look_question (l, to, ATTR_SWITCH_INFO, 0, node, FABRIC_NONE);
    if (n->lft)
        add_look_question (l, to, ATTR_LFT, (uint32_t)((turn + node) % blocks),
                           node, FABRIC_NONE);
    if (spread_is_on (&n->spread)
        || (n->spread.known && (turn + node) % STATIC_TURNS == 0))
        add_look_question (l, to, ATTR_ADAPTIVE, 0, node, FABRIC_NONE);
    if (n->spread.entry)
        add_look_question (l, to, ATTR_AR_LFT,
                           (turn + node) % (n->lft_top / GROUPS_BLOCK + 1U),
                           node, FABRIC_NONE);
    for (unsigned int num = 1; num <= n->nports; num++) {
        uint32_t port = n->first_port + num - 1, link = l->f->port[port].link;

        if (link == FABRIC_NONE)
            add_look_question (l, to, ATTR_PORT_INFO, num, node, port);
        else if (!l->asked[link])
            ask_far (l, port, to);
    }
}

static int on_own (void *arg, uint64_t cookie, const struct mads_answer *a,
                   struct error *err)
{
    struct fabric_look *l = arg;

    (void)cookie;
    if (!a->data)
        return error_world (err, "the own port does not answer");
    l->own = attr_node (a->data);
    return 0;
}

/* Find the local port, queue all questions by distance from it, and ask. */
static int ask_look_questions (struct fabric_look *l, uint64_t turn,
                               struct error *err)
{
    static const struct mads_to self;
    const struct mads_request who = {
        .class = MADS_DIRECTED, .attr = ATTR_NODE_INFO, .to = &self,
        .fn = on_own, .arg = l,
    };
    uint32_t node, port;

    mads_get (l->m, &who);
    if (mads_run (l->m, err) < 0)
        return -1;
    node = fabric_find_node (l->f, l->own.guid);
    if (node == FABRIC_NONE || l->own.local_port == 0
        || l->own.local_port > l->f->node[node].nports
        || l->f->port[port = l->f->node[node].first_port + l->own.local_port
                             - 1].link == FABRIC_NONE) {
        error_world (l->why, "the own port is not cabled in the snapshot");
        return 1;
    }
    l->first[node] = UINT32_MAX; /* nothing leads on from here */
    ask_far (l, port, &self);
    for (size_t i = 0; i < l->nqueue; i++)
        ask_switch (l, l->queue[i], turn);
    return mads_run (l->m, err) == 0 ? 0 : l->changed ? 1 : -1;
}

int look_changed (struct mads *m, const struct fabric *f, uint64_t turn,
                  struct error *why, struct error *err)
{
    struct fabric_look l = {
        .f = f,
        .m = m,
        .why = why,
        .first = xcalloc (f->nnodes, sizeof (*l.first)),
        .asked = xcalloc (f->nlinks, sizeof (*l.asked)),
        .queue = xarray (f->nnodes, sizeof (*l.queue)),
        .question = xarray (4 * f->nnodes + f->nlinks + f->nports,
                            sizeof (*l.question)),
    };
    int rc = ask_look_questions (&l, turn, err);

    free (l.first);
    free (l.asked);
    free (l.queue);
    free (l.question);
    return rc;
}
