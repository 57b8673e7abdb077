/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes
 *
 * Directed routes are computed from the snapshot, breadth first from the local
 * port. An answer that differs from the snapshot ends the run.
 */
#include "config.h"
#include "ibquery/read/look.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ibquery/read/smp.h"
#include "util/alloc.h"
#include "util/rates.h"

enum { TRIES = 6 };

struct fabric_look;
struct look_question;

/* Whether the answer agrees with the snapshot. */
typedef bool (*expect_f) (const struct fabric_look *l,
                          const struct look_question *q, const uint8_t *data);

struct look_question {
    struct mads_to to;
    enum attr attr;
    uint32_t mod;
    uint32_t port;   /* the port asked about; FABRIC_NONE: a node */
    uint32_t node;
    expect_f expect;
};

struct fabric_look {
    struct mads *m;
    const struct fabric *f;
    uint64_t turn;
    struct mads_to *to; /* by node: the route to a switch */
    bool *seen;         /* by node */
    bool *asked;        /* by cable */
    uint32_t *queue;    /* switches, by distance */
    size_t nqueue;
    struct look_question *question;
    size_t nquestions;
    struct node_attr own;
    bool changed;
    struct error *why;
};

static bool is_switch (const struct fabric *f, uint32_t node)
{
    return f->node[node].type == NODE_SWITCH;
}

static uint32_t far_end (const struct fabric *f, uint32_t port)
{
    const struct fabric_link *l;

    if (f->port[port].link == FABRIC_NONE)
        return FABRIC_NONE;
    l = &f->link[f->port[port].link];
    return l->a == port ? l->b : l->a;
}

/*
 * What is expected
 */

static bool expect_switch (const struct fabric_look *l,
                           const struct look_question *q, const uint8_t *data)
{
    const struct node_attr info = attr_node (data);

    return info.guid == l->f->node[q->node].guid
           && info.type == NODE_SWITCH
           && info.local_port == l->f->port[q->port].num;
}

static bool same_rate (const struct rates *a, const struct rates *b)
{
    return (!a->lanes || a->lanes == b->lanes)
           && (!a->speeds || a->speeds == b->speeds);
}

static bool expect_adapter (const struct fabric_look *l,
                            const struct look_question *q, const uint8_t *data)
{
    const struct fabric_port *p = &l->f->port[q->port];
    const struct port_attr info = attr_port (data);
    struct port_rates rates;

    rates_decode (data, rates_cap_mask (data), &rates);
    return info.lid == p->lid && info.lmc == p->lmc
           && (p->state == PORT_UNKNOWN || info.state == p->state)
           && same_rate (&p->rates.active, &rates.active);
}

static bool expect_nobody (const struct fabric_look *l,
                           const struct look_question *q, const uint8_t *data)
{
    (void)l;
    (void)q;
    return attr_port (data).phys_state != PHYS_LINK_UP;
}

static bool expect_info (const struct fabric_look *l,
                         const struct look_question *q, const uint8_t *data)
{
    const struct switch_attr info = attr_switch (data);

    return !info.changed && info.top == l->f->node[q->node].lft_top;
}

static bool expect_block (const struct fabric_look *l,
                          const struct look_question *q, const uint8_t *data)
{
    const struct fabric_node *n = &l->f->node[q->node];
    unsigned int first = q->mod * LFT_BLOCK;
    unsigned int left = n->lft_top + 1 - first;

    return memcmp (data, n->lft + first, left < LFT_BLOCK ? left : LFT_BLOCK)
           == 0;
}

/*
 * The questions
 */

static int on_answer (void *arg, uint64_t cookie, const struct mads_answer *a,
                      struct error *err)
{
    struct fabric_look *l = arg;
    const struct look_question *q = &l->question[cookie];
    const struct fabric_node *n = &l->f->node[q->node];
    unsigned int num = q->port == FABRIC_NONE ? 0 : l->f->port[q->port].num;

    if (a->data && q->expect (l, q, a->data))
        return 0;
    l->changed = true;
    error_world (l->why, "%s %s (%016" PRIx64 ")%s%.0u %s",
                 fabric_type_name (n->type), n->desc, n->guid,
                 num ? " port " : "", num,
                 a->data ? "has changed" : "does not answer");
    return error_world (err, "the fabric has changed");
}

static void add (struct fabric_look *l, const struct look_question *q)
{
    l->question[l->nquestions++] = *q;
}

static struct mads_to beyond (const struct mads_to *to, unsigned int num)
{
    struct mads_to next = *to;

    next.path[++next.hops] = (uint8_t)num;
    return next;
}

/* Ask whether the cable at `port` still leads to the same far end. A switch
 * that was not seen before is queued.
 */
static void ask_far (struct fabric_look *l, uint32_t port, uint32_t far,
                     const struct mads_to *to)
{
    uint32_t node = l->f->port[far].node;
    bool to_switch = is_switch (l->f, node);

    l->asked[l->f->port[port].link] = true;
    add (l, &(struct look_question){
                .to = beyond (to, l->f->port[port].num),
                .attr = to_switch ? ATTR_NODE_INFO : ATTR_PORT_INFO,
                .port = far,
                .node = node,
                .expect = to_switch ? expect_switch : expect_adapter,
            });
    if (l->seen[node])
        return;
    l->seen[node] = true;
    l->to[node] = beyond (to, l->f->port[port].num);
    if (to_switch && l->to[node].hops < MADS_HOPS)
        l->queue[l->nqueue++] = node;
}

static void ask_switch (struct fabric_look *l, uint32_t node)
{
    const struct fabric_node *n = &l->f->node[node];
    uint32_t blocks = n->lft_top / LFT_BLOCK + 1;
    struct look_question q = {
        .to = l->to[node],
        .attr = ATTR_SWITCH_INFO,
        .port = FABRIC_NONE,
        .node = node,
        .expect = expect_info,
    };

    add (l, &q);
    q.attr = ATTR_LFT;
    q.mod = (uint32_t)((l->turn + node) % blocks);
    q.expect = expect_block;
    if (n->lft)
        add (l, &q);
}

static void ask_ports (struct fabric_look *l, uint32_t node)
{
    const struct fabric_node *n = &l->f->node[node];

    for (unsigned int num = 1; num <= n->nports; num++) {
        uint32_t port = n->first_port + num - 1, far = far_end (l->f, port);

        if (far == FABRIC_NONE)
            add (l, &(struct look_question){
                        .to = l->to[node],
                        .attr = ATTR_PORT_INFO,
                        .mod = num,
                        .port = port,
                        .node = node,
                        .expect = expect_nobody,
                    });
        else if (!l->asked[l->f->port[port].link])
            ask_far (l, port, far, &l->to[node]);
    }
}

static int ask_all (struct fabric_look *l, struct error *err)
{
    for (size_t i = 0; i < l->nquestions; i++) {
        const struct look_question *q = &l->question[i];

        mads_get (l->m, &(struct mads_request){
                            .class = MADS_DIRECTED,
                            .attr = q->attr,
                            .mod = q->mod,
                            .to = &q->to,
                            .fn = on_answer,
                            .arg = l,
                            .cookie = i,
                            .tries = TRIES,
                        });
    }
    return mads_run (l->m, err);
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

/* The local port; FABRIC_NONE if the snapshot does not have it, or no cable
 * there.
 */
static int find_own (struct fabric_look *l, uint32_t *port, struct error *err)
{
    static const struct mads_to self;
    const struct mads_request r = {
        .class = MADS_DIRECTED,
        .attr = ATTR_NODE_INFO,
        .to = &self,
        .fn = on_own,
        .arg = l,
    };
    uint32_t node;

    mads_get (l->m, &r);
    if (mads_run (l->m, err) < 0)
        return -1;
    node = fabric_find_node (l->f, l->own.guid);
    *port = node == FABRIC_NONE || l->own.local_port == 0
                    || l->own.local_port > l->f->node[node].nports
                ? FABRIC_NONE
                : l->f->node[node].first_port + l->own.local_port - 1;
    if (*port != FABRIC_NONE && l->f->port[*port].link == FABRIC_NONE)
        *port = FABRIC_NONE;
    return 0;
}

/* Queue all questions, by distance from the local port. */
static void explore (struct fabric_look *l, uint32_t port)
{
    static const struct mads_to self;

    l->seen[l->f->port[port].node] = true;
    ask_far (l, port, far_end (l->f, port), &self);
    for (size_t i = 0; i < l->nqueue; i++) {
        ask_switch (l, l->queue[i]);
        ask_ports (l, l->queue[i]);
    }
}

static int look (struct fabric_look *l, struct error *err)
{
    uint32_t port;

    if (find_own (l, &port, err) < 0)
        return -1;
    if (port == FABRIC_NONE) {
        error_world (l->why, "the own port is not cabled in the snapshot");
        return 1;
    }
    explore (l, port);
    if (ask_all (l, err) < 0)
        return l->changed ? 1 : -1;
    return 0;
}

int look_changed (struct mads *m, const struct fabric *f, uint64_t turn,
                  struct error *why, struct error *err)
{
    struct fabric_look l = {
        .m = m,
        .f = f,
        .turn = turn,
        .why = why,
        .to = xarray (f->nnodes, sizeof (*l.to)),
        .seen = xcalloc (f->nnodes, sizeof (*l.seen)),
        .asked = xcalloc (f->nlinks, sizeof (*l.asked)),
        .queue = xarray (f->nnodes, sizeof (*l.queue)),
        .question = xarray (2 * f->nnodes + f->nlinks + f->nports,
                            sizeof (*l.question)),
    };
    int rc = look (&l, err);

    free (l.to);
    free (l.seen);
    free (l.asked);
    free (l.queue);
    free (l.question);
    return rc;
}
