/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes
 *
 * An agent answers at one LID: a switch for all of its ports, an adapter or
 * router for one port. Questions to one agent are asked one after another,
 * those to different agents at the same time: first its identity; then its
 * capabilities, by PortInfo and ClassPortInfo; then its ports.
 */
#include "config.h"
#include "ibquery/read/collect.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "ibquery/read/smp.h"
#include "util/alloc.h"

enum {
    ATTR_PORT_INFO_EXTENDED = 0x0033, /* SMP */
    ATTR_CLASS_PORT_INFO = 0x0001,    /* PerfMgt, as the next two */
    ATTR_COUNTERS = 0x0012,
    ATTR_COUNTERS_EXTENDED = 0x001d,
    CAP_MASK2 = 1 << 15,              /* of PortInfo: CapabilityMask2 exists */
    PORT_INFO_CAPS2 = 60,
    CAP2_EXTENDED = 1 << 1,           /* in it: PortInfoExtended exists */
};

struct agent {
    uint32_t node;
    uint8_t port;       /* 0: a switch, for all its ports */
    size_t first, n;    /* its ports among the counters */
    struct mads_to to;
    struct counters_caps caps;
    bool fec;           /* it has PortInfoExtended */
};

struct counter_reading {
    struct mads *m;
    const struct fabric *f;
    struct counters *c;
    struct agent *agent;
    size_t nagents;
    uint32_t *agent_of; /* of each port of the counters */
};

static int on_counter_answer (void *arg, uint64_t cookie,
                              const struct mads_answer *a, struct error *err);

/* cookie: the agent's index, or that of the port among the counters. */
static void request_counters (struct counter_reading *x, const struct agent *a,
                              enum mads_class class, uint16_t attr,
                              uint32_t mod, uint64_t cookie)
{
    mads_get (x->m, &(struct mads_request){
                        .class = class, .attr = attr,
                        .mod = class == MADS_PERF ? 0 : mod,
                        .select = class == MADS_PERF ? mod : 0, .to = &a->to,
                        .fn = on_counter_answer, .arg = x, .cookie = cookie,
                    });
}

/* The capabilities of an agent are known: ask it for its ports. */
static void ask_ports (struct counter_reading *x, const struct agent *a)
{
    for (size_t i = a->first; i < a->first + a->n; i++) {
        unsigned int num = x->c->port[i].port;

        if (!a->caps.extended_errors)
            request_counters (x, a, MADS_PERF, ATTR_COUNTERS, num, i);
        if (a->caps.extended)
            request_counters (x, a, MADS_PERF, ATTR_COUNTERS_EXTENDED, num, i);
        if (a->fec)
            request_counters (x, a, MADS_BY_LID, ATTR_PORT_INFO_EXTENDED, num,
                              i);
    }
}

static int check_node (const struct fabric_node *n, const struct agent *a,
                       const struct node_attr *now, struct error *err)
{
    if (now->guid == n->guid && (!a->port || now->local_port == a->port))
        return 0;
    return error_world (err, "the fabric is not as the snapshot has it: LID %u "
                             "of %.64s (%016" PRIx64 ") belongs to port %u of "
                             "%016" PRIx64 " now", a->to.lid, n->desc, n->guid,
                        now->local_port, now->guid);
}

static int on_counter_answer (void *arg, uint64_t cookie,
                              const struct mads_answer *an, struct error *err)
{
    struct counter_reading *x = arg;
    struct agent *a = &x->agent[cookie];
    const uint8_t *data = an->data;
    struct node_attr now;

    switch (an->attr) {
    case ATTR_NODE_INFO:
        if (!data)
            return 0;
        now = attr_node (data);
        request_counters (x, a, MADS_BY_LID, ATTR_PORT_INFO, a->port, cookie);
        return check_node (&x->f->node[a->node], a, &now, err);
    case ATTR_PORT_INFO:
        a->fec = data && rates_cap_mask (data) & CAP_MASK2
                 && get16 (data + PORT_INFO_CAPS2) & CAP2_EXTENDED;
        request_counters (x, a, MADS_PERF, ATTR_CLASS_PORT_INFO, a->port,
                          cookie);
        return 0;
    case ATTR_CLASS_PORT_INFO:
        if (data)
            counters_caps (data, &a->caps);
        if (data || an->status)
            ask_ports (x, a);
        return 0;
    }
    if (!data)
        return 0;
    a = &x->agent[x->agent_of[cookie]];
    if (an->attr == ATTR_COUNTERS)
        counters_decode (data, &a->caps, &x->c->port[cookie]);
    if (an->attr == ATTR_COUNTERS_EXTENDED)
        counters_decode_extended (data, &a->caps, &x->c->port[cookie]);
    if (an->attr == ATTR_PORT_INFO_EXTENDED)
        x->c->port[cookie].fec = counters_decode_fec (data);
    return 0;
}

/* List the ports that have a cable, and the agents that answer for them. */
static int list_counter_ports (struct counter_reading *x, struct error *err)
{
    for (const struct fabric_port *p = x->f->port;
         p < x->f->port + x->f->nports; p++) {
        const struct fabric_node *n = &x->f->node[p->node];
        bool is_switch = n->type == NODE_SWITCH;
        struct agent *last = x->nagents ? &x->agent[x->nagents - 1] : NULL;

        if (p->link == FABRIC_NONE)
            continue;
        if (!counters_add (x->c, n->guid, p->num, err))
            return -1;
        if (is_switch && last && last->node == p->node)
            last->n++;
        else
            x->agent[x->nagents++] = (struct agent){
                .node = p->node, .port = is_switch ? 0 : p->num,
                .first = x->c->nports - 1, .n = 1,
                .to.lid = is_switch ? n->lid : p->lid,
            };
        x->agent_of[x->c->nports - 1] = x->nagents - 1;
    }
    return 0;
}

struct counters *collect (struct mads *m, const struct fabric *f,
                          struct error *err)
{
    struct counters *c = counters_create ();
    struct counter_reading x = {
        .m = m, .f = f, .c = c, .agent = xarray (f->nports, sizeof (*x.agent)),
        .agent_of = xarray (f->nports, sizeof (*x.agent_of)),
    };
    int rc = list_counter_ports (&x, err);

    c->time = time (NULL);
    for (size_t i = 0; rc == 0 && i < x.nagents; i++)
        if (x.agent[i].to.lid != 0)
            request_counters (&x, &x.agent[i], MADS_BY_LID, ATTR_NODE_INFO, 0,
                              i);
    if (rc == 0)
        rc = mads_run (m, err);
    c->lasted = time (NULL) - c->time + 1;
    snprintf (c->fabric, sizeof (c->fabric), "%s", f->hash);
    free (x.agent);
    free (x.agent_of);
    if (rc == 0 && counters_sort (c, err) == 0)
        return c;
    counters_destroy (c);
    return NULL;
}
