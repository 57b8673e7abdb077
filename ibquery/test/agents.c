/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes
 *
 * A directed route starts at the asking adapter: the first port of the path
 * is its own, each further one a switch's. The answer comes back the same
 * way, so it is lost where the request would be.
 */
#include "config.h"
#include "ibquery/test/agents.h"

#include <stdlib.h>
#include <string.h>

#include <infiniband/mad.h>

#include "ibquery/read/smp.h"

enum {
    STATUS_UNSUPPORTED = 3 << 2, /* method and attribute */
    STATUS_INVALID = 7 << 2,     /* field or modifier */
    FDB_CAP = FABRIC_MAX_LID + 1,
    CAP_SM = 1 << 1,
    CAP_EXT_SPEEDS = 1 << 14,
    CAP_VENDOR = 1 << 10,
    CAP_MASK2 = 1 << 15,
    CAP_ROUND_TRIP = 1 << 24,
    CAP2_EXTENDED = 1 << 1,
    PERF_EXTENDED = 1 << 9,
    PERF_XMIT_WAIT = 1 << 12,
    PERF2_EXTENDED_ERRORS = 1 << 1,
    FEC_TOLD = 1,           /* of PortInfoExtended's CapMask */
    VENDOR = 0x0002c9,
    DEVICE = 0xcf08,
    PHYS_POLLING = 2,
    FASTEST_US = 10,
    SLOWEST_US = 50,
};

static const struct {
    enum MAD_FIELDS field, extended;
    unsigned int bits;   /* of the former */
} counters[AGENTS_COUNTERS] = {
    [COUNT_SYMBOL_ERRORS] = { IB_PC_ERR_SYM_F, IB_PC_EXT_ERR_SYM_F, 16 },
    [COUNT_LINK_RECOVERIES]
    = { IB_PC_LINK_RECOVERS_F, IB_PC_EXT_LINK_RECOVERS_F, 8 },
    [COUNT_LINK_DOWNED] = { IB_PC_LINK_DOWNED_F, IB_PC_EXT_LINK_DOWNED_F, 8 },
    [COUNT_RECEIVE_ERRORS] = { IB_PC_ERR_RCV_F, IB_PC_EXT_ERR_RCV_F, 16 },
    [COUNT_REMOTE_ERRORS]
    = { IB_PC_ERR_PHYSRCV_F, IB_PC_EXT_ERR_PHYSRCV_F, 16 },
    [COUNT_RELAY_ERRORS]
    = { IB_PC_ERR_SWITCH_REL_F, IB_PC_EXT_ERR_SWITCH_REL_F, 16 },
    [COUNT_XMIT_DISCARDS]
    = { IB_PC_XMT_DISCARDS_F, IB_PC_EXT_XMT_DISCARDS_F, 16 },
    [COUNT_XMIT_CONSTRAINT]
    = { IB_PC_ERR_XMTCONSTR_F, IB_PC_EXT_ERR_XMTCONSTR_F, 8 },
    [COUNT_RECEIVE_CONSTRAINT]
    = { IB_PC_ERR_RCVCONSTR_F, IB_PC_EXT_ERR_RCVCONSTR_F, 8 },
    [COUNT_LOCAL_INTEGRITY]
    = { IB_PC_ERR_LOCALINTEG_F, IB_PC_EXT_ERR_LOCALINTEG_F, 4 },
    [COUNT_OVERRUNS]
    = { IB_PC_ERR_EXCESS_OVR_F, IB_PC_EXT_ERR_EXCESS_OVR_F, 4 },
    [COUNT_VL15_DROPPED]
    = { IB_PC_VL15_DROPPED_F, IB_PC_EXT_VL15_DROPPED_F, 16 },
    [COUNT_XMIT_WORDS] = { IB_PC_XMT_BYTES_F, IB_PC_EXT_XMT_BYTES_F, 32 },
    [COUNT_RECEIVE_WORDS] = { IB_PC_RCV_BYTES_F, IB_PC_EXT_RCV_BYTES_F, 32 },
    [COUNT_XMIT_PACKETS] = { IB_PC_XMT_PKTS_F, IB_PC_EXT_XMT_PKTS_F, 32 },
    [COUNT_RECEIVE_PACKETS] = { IB_PC_RCV_PKTS_F, IB_PC_EXT_RCV_PKTS_F, 32 },
    [COUNT_XMIT_WAIT] = { IB_PC_XMT_WAIT_F, IB_PC_EXT_XMT_WAIT_F, 32 },
};

/* What a port of a speed can do and does: all up to its own. */
static const struct {
    const char *name;
    uint8_t speed, extended;
} speeds[] = {
    { "SDR", 1, 0 }, { "DDR", 2, 0 }, { "QDR", 4, 0 }, { "FDR10", 4, 0 },
    { "FDR", 4, 1 }, { "EDR", 4, 2 }, { "HDR", 4, 4 }, { "NDR", 4, 8 },
};

static const struct {
    uint8_t lanes, code;
} widths[] = { { 1, 1 }, { 4, 2 }, { 8, 4 }, { 12, 8 }, { 2, 16 } };

/* All speeds up to one code. */
static uint8_t up_to (uint8_t code)
{
    return code ? 2 * code - 1 : 0;
}

static void set_rate (struct agents_port *p, const struct fabric_link *l)
{
    for (size_t i = 0; i < sizeof (widths) / sizeof (widths[0]); i++)
        if (widths[i].lanes == l->width)
            p->width.active = widths[i].code;
    p->width.supported = p->width.enabled = 1 | 2 | p->width.active;
    for (size_t i = 0; i < sizeof (speeds) / sizeof (speeds[0]); i++)
        if (strcmp (speeds[i].name, l->speed) == 0) {
            p->speed.active = speeds[i].speed;
            p->extended.active = speeds[i].extended;
        }
    p->fdr10 = strcmp (l->speed, "FDR10") == 0;
    p->speed.supported = p->speed.enabled = up_to (p->speed.active);
    p->extended.supported = p->extended.enabled = up_to (p->extended.active);
}

static uint32_t far_port (const struct fabric *f, uint32_t port)
{
    const struct fabric_link *l;

    if (f->port[port].link == FABRIC_NONE)
        return FABRIC_NONE;
    l = &f->link[f->port[port].link];
    return l->a == port ? l->b : l->a;
}

/* What a switch tells of how it spreads messages, as it would be read. */
static void set_spread (struct agents_node *n, const struct fabric_spread *s)
{
    n->ar.known = s->known;
    n->ar.enabled = (s->ud | s->rc) != 0;
    n->ar.by_sl = true;
    n->ar.sl_mask = s->ud | s->rc;
    if (n->ar.enabled)
        n->ar.off = (s->ud ? 0 : 1) | (s->rc ? 0 : 2);
    n->ar.group_cap = 512;
    n->ar.recovery = s->recovery;
    n->ar.hash = s->hashed != 0;
    n->ar.hash_mask = s->hashed;
    n->private.mode = n->private.table[1] = s->private_lfts;
}

/* What is as new: all of a fabric's nodes and ports. */
static int populate (const struct fabric *f, struct agents_node **node,
                     struct agents_port **port)
{
    *node = calloc (f->nnodes + 1, sizeof (**node));
    *port = calloc (f->nports + 1, sizeof (**port));
    if (!*node || !*port) {
        free (*node);
        free (*port);
        return -1;
    }
    for (size_t i = 0; i < f->nnodes; i++) {
        (*node)[i].guid = f->node[i].guid;
        (*node)[i].system_guid = f->node[i].system ? f->node[i].system
                                                   : f->node[i].guid;
        (*node)[i].perf.caps = PERF_EXTENDED | PERF_XMIT_WAIT;
        (*node)[i].perf.caps2 = PERF2_EXTENDED_ERRORS;
        (*node)[i].lft_top = f->node[i].lft_top;
        set_spread (&(*node)[i], &f->node[i].spread);
    }
    for (size_t i = 0; i < f->nports; i++) {
        bool cabled = f->port[i].link != FABRIC_NONE;

        (*port)[i].state = cabled ? STATE_ACTIVE : STATE_DOWN;
        if (f->port[i].state != PORT_UNKNOWN)
            (*port)[i].state = f->port[i].state;
        (*port)[i].phys = cabled ? PHYS_LINK_UP : PHYS_POLLING;
        (*port)[i].lrtl = f->port[i].lrtl;
        (*port)[i].drops = f->port[i].dropped;
        if (cabled)
            set_rate (&(*port)[i], &f->link[f->port[i].link]);
    }
    return 0;
}

struct agents *agents_create (const struct fabric *f, const char *from,
                              uint64_t seed)
{
    struct agents *a = calloc (1, sizeof (*a));
    uint32_t host = from ? fabric_find_host (f, from) : 0;

    if (!a || host >= f->nhosts || populate (f, &a->node, &a->p) < 0) {
        free (a);
        return NULL;
    }
    a->f = f;
    a->from = FABRIC_NONE;
    a->port = f->endpoint[f->host[host].first].port;
    rng_seed (&a->rng, seed);
    a->node[f->port[a->port].node].sm.state = SM_MASTER;
    a->node[f->port[a->port].node].sm.act_count = 1;
    return a;
}

void agents_destroy (struct agents *a)
{
    if (!a)
        return;
    free (a->node);
    free (a->p);
    free (a->count);
    free (a->flight);
    free (a);
}

static uint64_t far_guid (const struct fabric *f, uint32_t port)
{
    uint32_t far = far_port (f, port);

    return far == FABRIC_NONE ? 0 : f->node[f->port[far].node].guid;
}

/* Whether a switch's cables are not what they were. */
static bool recabled (const struct fabric *f, uint32_t node,
                      const struct fabric *g, uint32_t was)
{
    const struct fabric_node *n = &f->node[node], *m = &g->node[was];

    if (n->nports != m->nports)
        return true;
    for (unsigned int k = 0; k < n->nports; k++)
        if (far_guid (f, n->first_port + k) != far_guid (g, m->first_port + k))
            return true;
    return false;
}

int agents_become (struct agents *a, const struct fabric *f)
{
    const struct fabric *old = a->f;
    const struct fabric_port *own = &old->port[a->port];
    uint32_t node = fabric_find_node (f, old->node[own->node].guid);
    struct agents_node *nodes;
    struct agents_port *ports;

    if (node == FABRIC_NONE || own->num > f->node[node].nports
        || populate (f, &nodes, &ports) < 0)
        return -1;
    for (size_t i = 0; i < f->nnodes; i++) {
        uint32_t was = fabric_find_node (old, f->node[i].guid);
        uint16_t top = nodes[i].lft_top;

        if (was == FABRIC_NONE)
            continue;
        nodes[i] = a->node[was];
        nodes[i].lft_top = top;
        nodes[i].changed |= recabled (f, i, old, was);
        nodes[i].sm.act_count++;
    }
    free (a->node);
    free (a->p);
    a->f = f;
    a->node = nodes;
    a->p = ports;
    a->port = f->node[node].first_port + own->num - 1;
    return 0;
}

struct agents_port *agents_port (struct agents *a, const char *name)
{
    uint32_t port = fabric_find_port (a->f, name);

    return port == FABRIC_NONE ? NULL : &a->p[port];
}

struct agents_node *agents_node (struct agents *a, const char *name)
{
    uint32_t host = fabric_find_host (a->f, name);

    if (host != FABRIC_NONE)
        return &a->node[a->f->port[a->f->endpoint[a->f->host[host].first].port]
                            .node];
    for (size_t i = 0; i < a->f->nnodes; i++)
        if (strcmp (a->f->node[i].desc, name) == 0)
            return &a->node[i];
    return NULL;
}

uint64_t agents_count (const struct agents *a, enum mads_class class,
                       uint16_t attribute)
{
    for (size_t i = 0; i < a->ncounts; i++)
        if (a->count[i].class == class
            && a->count[i].attribute == attribute)
            return a->count[i].n;
    return 0;
}

static bool count (struct agents *a, const struct agents_request *r)
{
    struct agents_count *more;

    for (size_t i = 0; i < a->ncounts; i++)
        if (a->count[i].class == r->class
            && a->count[i].attribute == r->attribute) {
            a->count[i].n++;
            return true;
        }
    more = realloc (a->count, (a->ncounts + 1) * sizeof (*more));
    if (!more)
        return false;
    more[a->ncounts++]
        = (struct agents_count){ r->class, r->attribute, 1 };
    a->count = more;
    return true;
}

/* Where a MAD is: at a node, which it entered by a port; 0: made there, or
 * the switch's own.
 */
struct place {
    uint32_t node;
    unsigned int port;
};

/* Out by a port whose state is at least this, and in at the far end. */
static bool hop (const struct agents *a, struct place *at, unsigned int out,
                 unsigned int state)
{
    const struct fabric_node *n = &a->f->node[at->node];
    uint32_t port, far;

    if (out == 0 || out > n->nports)
        return false;
    port = n->first_port + out - 1;
    far = far_port (a->f, port);
    if (far == FABRIC_NONE || a->p[port].state < state
        || a->p[far].state < state)
        return false;
    at->node = a->f->port[far].node;
    at->port = a->f->port[far].num;
    return true;
}

static bool is_switch (const struct agents *a, uint32_t node)
{
    return a->f->node[node].type == NODE_SWITCH;
}

static struct place home (const struct agents *a)
{
    const struct fabric_port *p = &a->f->port[a->port];

    return a->from == FABRIC_NONE ? (struct place){ p->node, p->num }
                                  : (struct place){ a->from, 0 };
}

static bool by_route (const struct agents *a, const uint8_t *mad,
                      struct place *at)
{
    unsigned int hops = mad_get_field ((void *)mad, 0, IB_DRSMP_HOPCNT_F);

    *at = home (a);
    if (hops > MADS_HOPS)
        return false;
    for (unsigned int i = 1; i <= hops; i++) {
        unsigned int out = mad[MAD_INITIAL_PATH + i];

        if (i > 1 && !is_switch (a, at->node))
            return false;
        if (i == 1 && !is_switch (a, at->node) && out != at->port)
            return false;
        if (!hop (a, at, out, STATE_INIT))
            return false;
    }
    return true;
}

/* Whether a LID is one of the place's. */
static bool has_lid (const struct agents *a, const struct place *at,
                     unsigned int lid)
{
    const struct fabric_node *n = &a->f->node[at->node];
    const struct fabric_port *p;

    if (n->type == NODE_SWITCH)
        return n->lid == lid;
    p = &a->f->port[n->first_port + at->port - 1];
    return p->lid != 0 && lid >= p->lid && lid < p->lid + (1U << p->lmc);
}

static bool by_lid (const struct agents *a, unsigned int lid,
                    struct place *at)
{
    *at = home (a);
    if (lid == 0)
        return false;
    for (unsigned int i = 0; !has_lid (a, at, lid); i++) {
        const struct fabric_node *n = &a->f->node[at->node];
        unsigned int out = at->port;

        if (i > MADS_HOPS || (i > 0 && n->type != NODE_SWITCH))
            return false;
        if (n->type == NODE_SWITCH)
            out = n->lft && lid <= n->lft_top ? n->lft[lid] : LFT_NO_ROUTE;
        if (!hop (a, at, out, STATE_ACTIVE))
            return false;
    }
    return true;
}

/* The answers: each fills the payload and returns the MAD's status. */

typedef unsigned int (*answer_f) (const struct agents *a,
                                  const struct agents_request *r,
                                  uint8_t *data);

static unsigned int node_info (const struct agents *a,
                               const struct agents_request *r, uint8_t *data)
{
    const struct fabric_node *n = &a->f->node[r->node];
    const struct agents_node *s = &a->node[r->node];
    uint64_t port_guid = s->guid;

    if (n->type != NODE_SWITCH)
        port_guid = a->f->port[n->first_port + r->port - 1].guid;
    mad_set_field (data, 0, IB_NODE_BASE_VERS_F, 1);
    mad_set_field (data, 0, IB_NODE_CLASS_VERS_F, 1);
    mad_set_field (data, 0, IB_NODE_TYPE_F, n->type);
    mad_set_field (data, 0, IB_NODE_NPORTS_F, n->nports);
    mad_set_field64 (data, 0, IB_NODE_SYSTEM_GUID_F, s->system_guid);
    mad_set_field64 (data, 0, IB_NODE_GUID_F, s->guid);
    mad_set_field64 (data, 0, IB_NODE_PORT_GUID_F, port_guid);
    mad_set_field (data, 0, IB_NODE_DEVID_F, DEVICE);
    mad_set_field (data, 0, IB_NODE_LOCAL_PORT_F, r->port);
    mad_set_field (data, 0, IB_NODE_VENDORID_F, VENDOR);
    return 0;
}

static unsigned int node_desc (const struct agents *a,
                               const struct agents_request *r, uint8_t *data)
{
    memcpy (data, a->f->node[r->node].desc,
            strlen (a->f->node[r->node].desc));
    return 0;
}

static unsigned int switch_info (const struct agents *a,
                                 const struct agents_request *r,
                                 uint8_t *data)
{
    if (!is_switch (a, r->node))
        return STATUS_UNSUPPORTED;
    mad_set_field (data, 0, IB_SW_LINEAR_FDB_CAP_F, FDB_CAP);
    mad_set_field (data, 0, IB_SW_LINEAR_FDB_TOP_F, a->node[r->node].lft_top);
    mad_set_field (data, 0, IB_SW_STATE_CHANGE_F, a->node[r->node].changed);
    return 0;
}

/* The LID of the master SM, 0 where there is none. */
static unsigned int sm_lid (const struct agents *a)
{
    for (size_t i = 0; i < a->f->nnodes; i++)
        if (a->node[i].sm.state == SM_MASTER)
            return a->f->port[a->f->node[i].first_port].lid;
    return 0;
}

static void put_rate (uint8_t *data, const struct agents_rate *rate,
                      enum MAD_FIELDS supported, enum MAD_FIELDS enabled,
                      enum MAD_FIELDS active)
{
    mad_set_field (data, 0, supported, rate->supported);
    mad_set_field (data, 0, enabled, rate->enabled);
    mad_set_field (data, 0, active, rate->active);
}

static void port_state (const struct agents_port *p, uint8_t *data)
{
    mad_set_field (data, 0, IB_PORT_STATE_F, p->state);
    mad_set_field (data, 0, IB_PORT_PHYS_STATE_F, p->phys);
    put_rate (data, &p->width, IB_PORT_LINK_WIDTH_SUPPORTED_F,
              IB_PORT_LINK_WIDTH_ENABLED_F, IB_PORT_LINK_WIDTH_ACTIVE_F);
    put_rate (data, &p->speed, IB_PORT_LINK_SPEED_SUPPORTED_F,
              IB_PORT_LINK_SPEED_ENABLED_F, IB_PORT_LINK_SPEED_ACTIVE_F);
    put_rate (data, &p->extended, IB_PORT_LINK_SPEED_EXT_SUPPORTED_F,
              IB_PORT_LINK_SPEED_EXT_ENABLED_F,
              IB_PORT_LINK_SPEED_EXT_ACTIVE_F);
    mad_set_field (data, 0, IB_PORT_LINK_ROUND_TRIP_F, p->lrtl);
    mad_set_field (data, 0, IB_PORT_OPER_VLS_F, p->vls);
}

static unsigned int port_info (const struct agents *a,
                               const struct agents_request *r, uint8_t *data)
{
    static const struct agents_port zero
        = { .state = STATE_ACTIVE, .phys = PHYS_LINK_UP };
    const struct fabric_node *n = &a->f->node[r->node];
    unsigned int num = r->modifier, lid = n->lid, lmc = 0;
    uint32_t caps = CAP_EXT_SPEEDS | CAP_VENDOR;

    if (n->type != NODE_SWITCH && num == 0)
        num = r->port;
    if (num > n->nports)
        return STATUS_INVALID;
    port_state (num ? &a->p[n->first_port + num - 1] : &zero, data);
    if (n->type != NODE_SWITCH) {
        lid = a->f->port[n->first_port + num - 1].lid;
        lmc = a->f->port[n->first_port + num - 1].lmc;
        if (num == 1 && a->node[r->node].sm.state)
            caps |= CAP_SM;
    }
    if (n->type != NODE_SWITCH || num == 0) {
        mad_set_field64 (data, 0, IB_PORT_GID_PREFIX_F, 0xfe80ULL << 48);
        mad_set_field (data, 0, IB_PORT_LID_F, lid);
        mad_set_field (data, 0, IB_PORT_LMC_F, lmc);
        mad_set_field (data, 0, IB_PORT_SMLID_F, sm_lid (a));
        if (a->node[r->node].extended_info) {
            caps |= CAP_MASK2;
            mad_set_field (data, 0, IB_PORT_CAPMASK2_F, CAP2_EXTENDED);
        }
        if (!a->node[r->node].no_lrtl)
            caps |= CAP_ROUND_TRIP;
        mad_set_field (data, 0, IB_PORT_CAPMASK_F, caps);
    }
    mad_set_field (data, 0, IB_PORT_LOCAL_PORT_F, r->port);
    return 0;
}

static unsigned int extended_port_info (const struct agents *a,
                                        const struct agents_request *r,
                                        uint8_t *data)
{
    const struct fabric_node *n = &a->f->node[r->node];

    if (!a->node[r->node].extended_info)
        return STATUS_UNSUPPORTED;
    if (r->modifier == 0 || r->modifier > n->nports)
        return STATUS_INVALID;
    mad_set_field (data, 0, IB_PORT_EXT_CAPMASK_F, FEC_TOLD);
    mad_set_field (data, 0, IB_PORT_EXT_FEC_MODE_ACTIVE_F,
                   a->p[n->first_port + r->modifier - 1].fec);
    return 0;
}

static unsigned int vendor_port_info (const struct agents *a,
                                      const struct agents_request *r,
                                      uint8_t *data)
{
    const struct fabric_node *n = &a->f->node[r->node];
    unsigned int num = r->modifier ? r->modifier : r->port;

    if (num == 0 || num > n->nports)
        return STATUS_INVALID;
    mad_set_field (data, 0, IB_MLNX_EXT_PORT_LINK_SPEED_ACTIVE_F,
                   a->p[n->first_port + num - 1].fdr10);
    return 0;
}

static unsigned int lft_block (const struct agents *a,
                               const struct agents_request *r, uint8_t *data)
{
    const struct fabric_node *n = &a->f->node[r->node];

    if (n->type != NODE_SWITCH)
        return STATUS_UNSUPPORTED;
    if (r->modifier >= FDB_CAP / LFT_BLOCK)
        return STATUS_INVALID;
    memset (data, LFT_NO_ROUTE, LFT_BLOCK);
    for (unsigned int i = 0; i < LFT_BLOCK; i++) {
        unsigned int lid = r->modifier * LFT_BLOCK + i;

        if (n->lft && lid <= n->lft_top)
            data[i] = n->lft[lid];
    }
    return 0;
}

static unsigned int sm_info (const struct agents *a,
                             const struct agents_request *r, uint8_t *data)
{
    const struct fabric_node *n = &a->f->node[r->node];
    const struct agents_node *s = &a->node[r->node];

    if (s->sm.state == 0 || n->type == NODE_SWITCH)
        return STATUS_UNSUPPORTED;
    mad_set_field64 (data, 0, IB_SMINFO_GUID_F, a->f->port[n->first_port].guid);
    mad_set_field (data, 0, IB_SMINFO_ACT_F, s->sm.act_count);
    mad_set_field (data, 0, IB_SMINFO_PRIO_F, s->sm.priority);
    mad_set_field (data, 0, IB_SMINFO_STATE_F, s->sm.state);
    return 0;
}

static void put_word (uint8_t *data, uint32_t word)
{
    for (int i = 0; i < 4; i++)
        data[i] = word >> (24 - 8 * i);
}

static unsigned int ar_info (const struct agents *a,
                             const struct agents_request *r, uint8_t *data)
{
    const struct agents_node *s = &a->node[r->node];

    if (!is_switch (a, r->node) || !s->ar.known)
        return STATUS_UNSUPPORTED;
    put_word (data, s->ar.enabled | (s->ar.by_sl ? 3U << 27 : 0)
                        | (s->ar.recovery ? 3U << 3 : 0)
                        | (s->ar.off ? 1U << 29 : 0)
                        | (uint32_t)s->ar.masks << 8);
    put_word (data + 4, s->ar.group_cap & 0xfff);
    put_word (data + 8, (uint32_t)s->ar.sl_mask << 16);
    put_word (data + 12, s->ar.off);
    put_word (data + 20, s->ar.hash ? 1U << 31 | 1U << 15 : 0);
    put_word (data + 24, s->ar.hash_mask);
    return 0;
}

/* The table of groups that the fabric's switch has. */
static unsigned int ar_lft (const struct agents *a,
                            const struct agents_request *r, uint8_t *data)
{
    const struct fabric_node *n = &a->f->node[r->node];
    const struct spread_entry *e = n->spread.entry;

    if (!e)
        return STATUS_UNSUPPORTED;
    for (unsigned int i = 0; i < 16; i++) {
        unsigned int lid = r->modifier * 16 + i;

        put_word (data + 4 * i,
                  lid > n->lft_top ? 0
                                   : (uint32_t)e[lid].state << 30
                                         | (uint32_t)e[lid].port << 16
                                         | e[lid].group);
    }
    return 0;
}

/* Of several masks of a group, each has every so manieth port. */
static unsigned int ar_groups (const struct agents *a,
                               const struct agents_request *r, uint8_t *data)
{
    const struct fabric_spread *s = &a->f->node[r->node].spread;
    unsigned int masks = a->node[r->node].ar.masks + 1U;

    if (!s->entry)
        return STATUS_UNSUPPORTED;
    for (unsigned int i = 0; i < 2; i++) {
        unsigned int mask = 2 * r->modifier + i, group = mask / masks;

        for (unsigned int p = 0; group < s->ngroups && p < 256; p++)
            if (s->group[group].port[p / 64] >> p % 64 & 1
                && p % masks == mask % masks)
                data[32 * i + 31 - p / 8] |= 1 << p % 8;
    }
    return 0;
}

static unsigned int private_info (const struct agents *a,
                                  const struct agents_request *r,
                                  uint8_t *data)
{
    if (!is_switch (a, r->node))
        return STATUS_UNSUPPORTED;
    data[1] = 4;
    data[2] = 1;
    data[3] = a->node[r->node].private.mode;
    return 0;
}

static unsigned int private_map (const struct agents *a,
                                 const struct agents_request *r, uint8_t *data)
{
    if (!is_switch (a, r->node) || a->node[r->node].private.mode == 0)
        return STATUS_UNSUPPORTED;
    if (r->modifier > a->f->node[r->node].nports / 4U)
        return STATUS_INVALID;
    for (unsigned int k = 0; k < 4; k++)
        memcpy (data + 16 * k, a->node[r->node].private.table, 16);
    return 0;
}

/* Other levels go to VL 0. An adapter has one table for each port. */
static unsigned int sl_to_vl (const struct agents *a,
                              const struct agents_request *r, uint8_t *data)
{
    const struct fabric_node *n = &a->f->node[r->node];
    unsigned int out = r->modifier & 0xff, in = r->modifier >> 8;

    if (!is_switch (a, r->node))
        out = r->port;
    if (out == 0 || out > n->nports || in > n->nports)
        return STATUS_INVALID;
    for (unsigned int level = 0; level < 16; level++)
        if (a->p[n->first_port + out - 1].drops >> level & 1)
            data[level / 2] |= level % 2 ? 0x0f : 0xf0;
    return 0;
}

/* The port that a GMP's PortSelect means: of an adapter, the one it came to
 * as well. NULL where there is none.
 */
static const struct agents_port *selected (const struct agents *a,
                                           const struct agents_request *r,
                                           unsigned int select)
{
    const struct fabric_node *n = &a->f->node[r->node];

    if (select == 0 || select > n->nports)
        return NULL;
    return &a->p[n->first_port + select - 1];
}

static unsigned int perf_class (const struct agents *a,
                                const struct agents_request *r, uint8_t *data)
{
    mad_set_field (data, 0, IB_CPI_CAPMASK_F, a->node[r->node].perf.caps);
    mad_set_field (data, 0, IB_CPI_CAPMASK2_F, a->node[r->node].perf.caps2);
    return 0;
}

static unsigned int port_counters (const struct agents *a,
                                   const struct agents_request *r,
                                   uint8_t *data)
{
    unsigned int select = mad_get_field (data, 0, IB_PC_PORT_SELECT_F);
    const struct agents_port *p = selected (a, r, select);

    if (!p)
        return STATUS_INVALID;
    for (size_t i = 0; i < AGENTS_COUNTERS; i++) {
        uint64_t most = (1ULL << counters[i].bits) - 1;

        mad_set_field (data, 0, counters[i].field,
                       p->count[i] < most ? p->count[i] : most);
    }
    return 0;
}

static unsigned int port_counters_extended (const struct agents *a,
                                            const struct agents_request *r,
                                            uint8_t *data)
{
    unsigned int select = mad_get_field (data, 0, IB_PC_EXT_PORT_SELECT_F);
    const struct agents_port *p = selected (a, r, select);

    if (!p)
        return STATUS_INVALID;
    for (size_t i = 0; i < AGENTS_COUNTERS; i++)
        mad_set_field64 (data, 0, counters[i].extended, p->count[i]);
    return 0;
}

static const struct {
    uint8_t class;
    uint16_t attribute;
    answer_f answer;
} answers[] = {
    { MADS_DIRECTED, IB_ATTR_NODE_DESC, node_desc },
    { MADS_DIRECTED, IB_ATTR_NODE_INFO, node_info },
    { MADS_DIRECTED, IB_ATTR_SWITCH_INFO, switch_info },
    { MADS_DIRECTED, IB_ATTR_PORT_INFO, port_info },
    { MADS_DIRECTED, IB_ATTR_LINEARFORWTBL, lft_block },
    { MADS_DIRECTED, IB_ATTR_SMINFO, sm_info },
    { MADS_DIRECTED, AGENTS_SL_TO_VL, sl_to_vl },
    { MADS_DIRECTED, AGENTS_PRIVATE_INFO, private_info },
    { MADS_DIRECTED, AGENTS_PRIVATE_MAP, private_map },
    { MADS_DIRECTED, AGENTS_AR_INFO, ar_info },
    { MADS_DIRECTED, AGENTS_AR_GROUPS, ar_groups },
    { MADS_DIRECTED, AGENTS_AR_LFT, ar_lft },
    { MADS_DIRECTED, IB_ATTR_MLNX_EXT_PORT_INFO, vendor_port_info },
    { MADS_DIRECTED, IB_ATTR_PORT_INFO_EXT, extended_port_info },
    { MADS_PERF, CLASS_PORT_INFO, perf_class },
    { MADS_PERF, IB_GSI_PORT_COUNTERS, port_counters },
    { MADS_PERF, IB_GSI_PORT_COUNTERS_EXT, port_counters_extended },
};

static unsigned int reply (struct agents *a, const struct agents_request *r,
                           uint8_t *data)
{
    if (a->node[r->node].busy > 0) {
        a->node[r->node].busy--;
        return STATUS_BUSY;
    }
    for (size_t i = 0; i < sizeof (answers) / sizeof (answers[0]); i++)
        if (answers[i].class == r->class
            && answers[i].attribute == r->attribute)
            return answers[i].answer (a, r, data);
    return STATUS_UNSUPPORTED;
}

static bool lost (struct agents *a, unsigned int percent)
{
    return percent > 0 && rng_below (&a->rng, 100) < percent;
}

/* Where a MAD goes, and what it asks there. */
static bool deliver (struct agents *a, uint16_t lid, const uint8_t *mad,
                     struct agents_request *r)
{
    unsigned int class = mad_get_field ((void *)mad, 0, IB_MAD_MGMTCLASS_F);
    struct place at;

    if (mad_get_field ((void *)mad, 0, IB_MAD_METHOD_F) != METHOD_GET)
        return false;
    if (class == MADS_DIRECTED ? !by_route (a, mad, &at)
                               : !by_lid (a, lid, &at))
        return false;
    *r = (struct agents_request){
        .number = a->sent,
        .node = at.node,
        .port = at.port,
        .class = class == MADS_BY_LID ? MADS_DIRECTED : class,
        .attribute = mad_get_field ((void *)mad, 0, IB_MAD_ATTRID_F),
        .modifier = mad_get_field ((void *)mad, 0, IB_MAD_ATTRMOD_F),
    };
    return true;
}

bool agents_answer (struct agents *a, uint16_t lid,
                    const uint8_t request[MADS_SIZE],
                    uint8_t answer[MADS_SIZE])
{
    uint64_t mkey = mad_get_field64 ((void *)request, 0, IB_MAD_MKEY_F);
    struct agents_request r;
    unsigned int status;

    a->sent++;
    if (!deliver (a, lid, request, &r))
        return false;
    if (!count (a, &r) || (a->before && !a->before (a, &r, a->arg)))
        return false;
    /* where it goes may have changed */
    if (!deliver (a, lid, request, &r) || lost (a, a->loss)
        || lost (a, a->node[r.node].loss))
        return false;
    if (r.class == MADS_DIRECTED && a->node[r.node].mkey
        && a->node[r.node].mkey != mkey)
        return false;

    memcpy (answer, request, MADS_SIZE);
    if (r.class == MADS_DIRECTED)
        memset (answer + MADS_DATA_OFFSET, 0,
                MAD_INITIAL_PATH - MADS_DATA_OFFSET);
    status = reply (a, &r, answer + MADS_DATA_OFFSET);
    mad_set_field (answer, 0, IB_MAD_RESPONSE_F, 1);
    if (request[1] == MADS_DIRECTED) {
        mad_set_field (answer, 0, IB_DRSMP_STATUS_F, status);
        mad_set_field (answer, 0, IB_DRSMP_DIRECTION_F, 1);
    } else
        mad_set_field (answer, 0, IB_MAD_STATUS_F, status);
    return !a->after || a->after (a, &r, answer, a->arg);
}

static int wire_send (void *arg, const struct mads_packet *packet,
                      unsigned int timeout_ms, struct error *err)
{
    struct agents *a = arg;
    struct agents_flight *more, *flight;

    more = realloc (a->flight, (a->nflights + 1) * sizeof (*more));
    if (!more)
        return error_nomem (err);
    a->flight = more;
    flight = &more[a->nflights++];
    flight->packet = *packet;
    flight->packet.lost
        = !agents_answer (a, packet->lid, packet->mad, flight->packet.mad);
    flight->at_us = ++a->now_us;
    if (flight->packet.lost)
        flight->at_us += (int64_t)timeout_ms * 1000;
    else
        flight->at_us += FASTEST_US
                         + rng_below (&a->rng, SLOWEST_US - FASTEST_US);
    return 0;
}

static int wire_recv (void *arg, struct mads_packet *packet,
                      unsigned int timeout_ms, struct error *err)
{
    struct agents *a = arg;
    int64_t until = a->now_us + (int64_t)timeout_ms * 1000 + 1;
    size_t first = 0;

    (void)err;
    for (size_t i = 1; i < a->nflights; i++)
        if (a->flight[i].at_us < a->flight[first].at_us)
            first = i;
    if (a->nflights == 0 || a->flight[first].at_us > until) {
        a->now_us = until;
        return 0;
    }
    if (a->flight[first].at_us > a->now_us)
        a->now_us = a->flight[first].at_us;
    *packet = a->flight[first].packet;
    a->flight[first] = a->flight[--a->nflights];
    return 1;
}

static void wire_close (void *arg)
{
    struct agents *a = arg;

    a->nflights = 0;
}

static int64_t wire_now_us (void *arg)
{
    return ((struct agents *)arg)->now_us;
}

struct mads_wire agents_wire (struct agents *a)
{
    return (struct mads_wire){
        .send = wire_send,
        .recv = wire_recv,
        .close = wire_close,
        .now_us = wire_now_us,
        .arg = a,
    };
}
