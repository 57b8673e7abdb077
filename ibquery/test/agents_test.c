/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "ibquery/test/agents.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/mad.h>

#include "ibquery/model/generate.h"
#include "ibquery/read/smp.h"
#include "tests/tap.h"

enum { LOST = -1, METHOD_SET = 2 };

static uint8_t answer[MADS_SIZE];
static uint8_t *const data = answer + MADS_DATA_OFFSET;

/* Build a request and have it answered; returns the MAD's status, or LOST.
 * The route is a string of port numbers, one character each, '1' being 1.
 */
static int ask_by (struct agents *a, int class, const char *route, int lid,
                   int method, int attribute, uint32_t modifier,
                   uint64_t mkey)
{
    uint8_t mad[MADS_SIZE] = { 0 };

    mad_set_field (mad, 0, IB_MAD_BASEVER_F, 1);
    mad_set_field (mad, 0, IB_MAD_MGMTCLASS_F, class);
    mad_set_field (mad, 0, IB_MAD_CLASSVER_F, 1);
    mad_set_field (mad, 0, IB_MAD_METHOD_F, method);
    mad_set_field64 (mad, 0, IB_MAD_TRID_F, 0x1234);
    mad_set_field (mad, 0, IB_MAD_ATTRID_F, attribute);
    mad_set_field (mad, 0, IB_MAD_ATTRMOD_F, modifier);
    if (class == MADS_PERF)
        mad_set_field (mad, MADS_DATA_OFFSET, IB_PC_PORT_SELECT_F, modifier);
    else
        mad_set_field64 (mad, 0, IB_MAD_MKEY_F, mkey);
    if (class == MADS_DIRECTED) {
        mad_set_field (mad, 0, IB_DRSMP_HOPCNT_F, strlen (route));
        for (size_t i = 0; route[i]; i++)
            mad[MAD_INITIAL_PATH + 1 + i] = route[i] - '0';
    }
    memset (answer, 0xee, sizeof (answer));
    if (!agents_answer (a, lid, mad, answer))
        return LOST;
    if (mad_get_field64 (answer, 0, IB_MAD_TRID_F) != 0x1234
        || mad_get_field (answer, 0, IB_MAD_RESPONSE_F) != 1)
        return -2;
    return mad_get_field (answer, 0,
                          class == MADS_DIRECTED ? IB_DRSMP_STATUS_F
                                              : IB_MAD_STATUS_F);
}

static int ask (struct agents *a, const char *route, int attribute,
                uint32_t modifier)
{
    return ask_by (a, MADS_DIRECTED, route, 0, 1, attribute, modifier, 0);
}

static uint64_t guid (void)
{
    return mad_get_field64 (data, 0, IB_NODE_GUID_F);
}

/* Each host of the fabric is found by the route that its tables give, and by
 * its LID, from the first one.
 */
static void all_hosts (struct agents *a)
{
    const struct fabric *f = a->f;
    size_t by_route = 0, by_lid = 0;

    for (size_t i = 0; i < f->nendpoints; i++) {
        const struct fabric_port *end = &f->port[f->endpoint[i].port];
        uint64_t wanted = f->node[end->node].guid;
        char route[64] = "1";
        int hops = 1;

        if (f->endpoint[i].port == a->port)
            route[0] = '\0';
        while (ask (a, route, IB_ATTR_NODE_INFO, 0) == 0
               && guid () != wanted && hops < 63) {
            uint32_t node = fabric_find_node (f, guid ());

            route[hops++] = '0' + f->node[node].lft[end->lid];
        }
        by_route += guid () == wanted
                    && mad_get_field (data, 0, IB_NODE_LOCAL_PORT_F)
                           == end->num;
        by_lid += ask_by (a, MADS_BY_LID, "", end->lid, 1,
                          IB_ATTR_NODE_INFO, 0, 0) == 0
                  && guid () == wanted;
    }
    ok (by_route == f->nendpoints, "all hosts by directed route: %zu",
        by_route);
    ok (by_lid == f->nendpoints, "all hosts by LID: %zu", by_lid);
}

/* The tables, descriptions, LIDs and rates come as the fabric has them. */
static void contents (struct agents *a)
{
    const struct fabric *f = a->f;
    uint32_t leaf;
    bool same = true;
    int top = -1;

    ask (a, "1", IB_ATTR_NODE_INFO, 0);
    leaf = fabric_find_node (f, guid ());
    ok (f->node[leaf].type == NODE_SWITCH
            && mad_get_field (data, 0, IB_NODE_TYPE_F) == NODE_SWITCH
            && mad_get_field (data, 0, IB_NODE_NPORTS_F)
                   == f->node[leaf].nports,
        "the leaf's NodeInfo");
    ok (ask (a, "1", IB_ATTR_NODE_DESC, 0) == 0
            && strcmp ((char *)data, f->node[leaf].desc) == 0,
        "its NodeDescription: %s", (char *)data);
    ok (ask (a, "1", IB_ATTR_SWITCH_INFO, 0) == 0
            && (top = mad_get_field (data, 0, IB_SW_LINEAR_FDB_TOP_F))
                   == f->node[leaf].lft_top
            && mad_get_field (data, 0, IB_SW_STATE_CHANGE_F) == 0,
        "its SwitchInfo");
    ok (ask (a, "1", IB_ATTR_LINEARFORWTBL, 0) == 0, "its table");
    for (int lid = 0; lid < 64; lid++)
        same &= data[lid] == (lid <= top ? f->node[leaf].lft[lid] : 0xff);
    ok (same, "... has the fabric's entries");
    ok (ask (a, "1", IB_ATTR_LINEARFORWTBL, 1000) == 0x1c,
        "a block beyond the capacity is invalid");
    ok (ask (a, "1", IB_ATTR_PORT_INFO, 0) == 0
            && mad_get_field (data, 0, IB_PORT_LID_F) == f->node[leaf].lid,
        "port 0 has the switch's LID");
    ok (ask (a, "1", IB_ATTR_PORT_INFO, 1) == 0
            && mad_get_field (data, 0, IB_PORT_STATE_F) == STATE_ACTIVE
            && mad_get_field (data, 0, IB_PORT_LINK_WIDTH_ACTIVE_F) == 2
            && mad_get_field (data, 0, IB_PORT_LINK_SPEED_EXT_ACTIVE_F) == 4,
        "port 1 is active, 4xHDR");
    ok (ask (a, "1", IB_ATTR_PORT_INFO, 99) == 0x1c,
        "there is no port 99");
    ok (ask (a, "", IB_ATTR_PORT_INFO, 0) == 0
            && mad_get_field (data, 0, IB_PORT_LID_F)
                   == f->port[a->port].lid
            && mad_get_field (data, 0, IB_PORT_SMLID_F)
                   == f->port[a->port].lid,
        "the own port's LID, and the SM's");
    ok (ask (a, "", IB_ATTR_SWITCH_INFO, 0) == 0x0c,
        "an adapter has no SwitchInfo");
    ok (ask (a, "", IB_ATTR_SMINFO, 0) == 0
            && mad_get_field (data, 0, IB_SMINFO_STATE_F) == SM_MASTER
            && mad_get_field (data, 0, IB_SMINFO_ACT_F) == 1,
        "SMInfo of the master");
    ok (ask (a, "1", AGENTS_AR_INFO, 0) == 0x0c, "no adaptive routing");
    agents_node (a, f->node[leaf].desc)->ar.known = true;
    agents_node (a, f->node[leaf].desc)->ar.enabled = true;
    agents_node (a, f->node[leaf].desc)->ar.sl_mask = 0x8001;
    ok (ask (a, "1", AGENTS_AR_INFO, 0) == 0 && data[3] == 1
            && data[8] == 0x80 && data[9] == 1,
        "adaptive routing on two SLs");
    agents_node (a, f->node[leaf].desc)->ar.hash = true;
    agents_node (a, f->node[leaf].desc)->ar.hash_mask = 0x0102;
    agents_node (a, f->node[leaf].desc)->ar.recovery = true;
    ok (ask (a, "1", AGENTS_AR_INFO, 0) == 0 && data[3] == 0x19
            && data[20] == 0x80 && data[22] == 0x80 && data[26] == 1
            && data[27] == 2,
        "... hashed on two, and fast recovery");
    ok (ask (a, "1", AGENTS_AR_LFT, 0) == 0x0c
            && ask (a, "1", AGENTS_AR_GROUPS, 0) == 0x0c
            && ask (a, "1", AGENTS_PRIVATE_MAP, 0) == 0x0c
            && ask (a, "", AGENTS_PRIVATE_INFO, 0) == 0x0c,
        "... no groups, and no private LFTs");
    ok (ask (a, "1", AGENTS_PRIVATE_INFO, 0) == 0 && data[3] == 0,
        "... which are off");
    agents_node (a, f->node[leaf].desc)->private.mode = 1;
    agents_node (a, f->node[leaf].desc)->private.table[3] = 1;
    ok (ask (a, "1", AGENTS_PRIVATE_INFO, 0) == 0 && data[3] == 1
            && ask (a, "1", AGENTS_PRIVATE_MAP, 0) == 0 && data[3] == 1
            && data[16 + 3] == 1 && data[4] == 0
            && ask (a, "1", AGENTS_PRIVATE_MAP, 99) == 0x1c,
        "... and on, by the service level");
    a->p[f->node[leaf].first_port].drops = 0x8002;
    ok (ask (a, "1", AGENTS_SL_TO_VL, 2 << 8 | 1) == 0 && data[0] == 0x0f
            && data[7] == 0x0f && data[1] == 0
            && ask (a, "1", AGENTS_SL_TO_VL, 99) == 0x1c,
        "an SL-to-VL table that drops two levels");
    a->p[a->port].drops = 1;
    ok (ask (a, "", AGENTS_SL_TO_VL, 0) == 0 && data[0] == 0xf0,
        "... and an adapter's, one");
    ok (ask_by (a, MADS_DIRECTED, "1", 0, METHOD_SET, IB_ATTR_PORT_INFO, 1, 0)
            == LOST,
        "nothing is set");
}

static void counters (struct agents *a)
{
    unsigned int lid = a->f->port[a->f->endpoint[1].port].lid;
    struct agents_port *p = &a->p[a->f->endpoint[1].port];

    p->count[COUNT_SYMBOL_ERRORS] = 70000;
    p->count[COUNT_LINK_DOWNED] = 3;
    ok (ask_by (a, MADS_PERF, "", lid, 1, IB_GSI_PORT_COUNTERS, 1, 0) == 0
            && mad_get_field (data, 0, IB_PC_ERR_SYM_F) == 65535
            && mad_get_field (data, 0, IB_PC_LINK_DOWNED_F) == 3
            && mad_get_field (data, 0, IB_PC_ERR_LOCALINTEG_F) == 0,
        "PortCounters stop at their largest value");
    ok (ask_by (a, MADS_PERF, "", lid, 1, IB_GSI_PORT_COUNTERS_EXT, 1, 0)
                == 0
            && mad_get_field64 (data, 0, IB_PC_EXT_ERR_SYM_F) == 70000
            && mad_get_field64 (data, 0, IB_PC_EXT_LINK_DOWNED_F) == 3,
        "PortCountersExtended do not");
    ok (ask_by (a, MADS_PERF, "", lid, 1, IB_GSI_PORT_COUNTERS, 9, 0)
            == 0x1c,
        "a port that is not there has none");
}

/* Half-broken states. */
static void broken (struct agents *a)
{
    const struct fabric *f = a->f;
    struct agents_node *leaf;
    struct agents_port *up;
    char name[32];
    int arrived = 0;

    ask (a, "1", IB_ATTR_NODE_INFO, 0);
    leaf = &a->node[fabric_find_node (f, guid ())];
    snprintf (name, sizeof (name), "%016" PRIx64 "/3", guid ());
    up = agents_port (a, name);

    ok (ask (a, "13", IB_ATTR_NODE_INFO, 0) == 0, "a spine answers");
    up->state = STATE_INIT;
    ok (ask (a, "13", IB_ATTR_NODE_INFO, 0) == 0,
        "... over a port that is Init too");
    up->state = STATE_DOWN;
    ok (ask (a, "13", IB_ATTR_NODE_INFO, 0) == LOST,
        "... not where it is down");
    up->state = STATE_ACTIVE;
    ok (ask (a, "11", IB_ATTR_NODE_INFO, 0) == 0
            && ask (a, "111", IB_ATTR_NODE_INFO, 0) == LOST
            && ask (a, "2", IB_ATTR_NODE_INFO, 0) == LOST
            && ask (a, "19", IB_ATTR_NODE_INFO, 0) == LOST,
        "routes do not lead through adapters, nor out of ports there are not");

    leaf->mkey = 7;
    ok (ask (a, "1", IB_ATTR_NODE_INFO, 0) == LOST
            && ask_by (a, MADS_DIRECTED, "1", 0, 1, IB_ATTR_NODE_INFO, 0, 7)
                   == 0,
        "an M_Key is asked for");
    leaf->mkey = 0;
    leaf->busy = 1;
    ok (ask (a, "1", IB_ATTR_NODE_INFO, 0) == 1
            && ask (a, "1", IB_ATTR_NODE_INFO, 0) == 0,
        "busy, once");
    leaf->guid = 42;
    ok (ask (a, "1", IB_ATTR_NODE_INFO, 0) == 0 && guid () == 42,
        "another GUID");
    leaf->guid = f->node[leaf - a->node].guid;
    a->loss = 30;
    for (int i = 0; i < 1000; i++)
        arrived += ask (a, "1", IB_ATTR_NODE_INFO, 0) == 0;
    a->loss = 0;
    ok (arrived > 600 && arrived < 800, "30 %% are lost: %d of 1000 come",
        arrived);
    leaf->loss = 100;
    ok (ask (a, "1", IB_ATTR_NODE_INFO, 0) == LOST
            && ask (a, "13", IB_ATTR_NODE_INFO, 0) == 0,
        "a switch that answers nothing still forwards");
    leaf->loss = 0;
}

static struct fabric *other;

static bool become_at_three (struct agents *a, const struct agents_request *r,
                             void *arg)
{
    (void)arg;
    return r->number != 3 || agents_become (a, other) == 0;
}

static bool forge (struct agents *a, const struct agents_request *r,
                   uint8_t mad[MADS_SIZE], void *arg)
{
    (void)a;
    (void)arg;
    if (r->attribute == IB_ATTR_NODE_DESC)
        memcpy (mad + MADS_DATA_OFFSET, "evil", 5);
    return r->attribute != IB_ATTR_SWITCH_INFO;
}

/* The world changes at the third MAD: a leaf's host is gone. */
static void changes (const struct fabric *f, const struct fabric *fewer)
{
    struct agents *a = agents_create (f, NULL, 1);
    uint32_t port = f->endpoint[a->f->nendpoints - 1].port;
    unsigned int lid = f->port[port].lid;

    other = (struct fabric *)fewer;
    a->before = become_at_three;
    ok (ask_by (a, MADS_BY_LID, "", lid, 1, IB_ATTR_NODE_INFO, 0, 0) == 0
            && ask_by (a, MADS_BY_LID, "", lid, 1, IB_ATTR_NODE_INFO, 0, 0)
                   == 0,
        "a host answers twice");
    ask_by (a, MADS_BY_LID, "", lid, 1, IB_ATTR_NODE_INFO, 0, 0);
    ok (a->f == fewer && a->sent == 3, "then the fabric is another one");
    ok (ask (a, "", IB_ATTR_SMINFO, 0) == 0
            && mad_get_field (data, 0, IB_SMINFO_ACT_F) == 2,
        "... whose SM has been at work");
    ok (agents_count (a, MADS_DIRECTED, IB_ATTR_NODE_INFO) == 3
            && agents_count (a, MADS_DIRECTED, IB_ATTR_SMINFO) == 1
            && agents_count (a, MADS_PERF, IB_ATTR_NODE_INFO) == 0,
        "all were counted");
    a->after = forge;
    ok (ask (a, "1", IB_ATTR_NODE_DESC, 0) == 0
            && strcmp ((char *)data, "evil") == 0
            && ask (a, "1", IB_ATTR_SWITCH_INFO, 0) == LOST,
        "answers can be forged and lost");
    agents_destroy (a);
}

/* What is asked through the engine. */
struct asked {
    size_t answers, nobody;
    uint64_t guid, sum;
};

static int take (void *arg, uint64_t cookie, const struct mads_answer *answer,
                 struct error *err)
{
    struct asked *asked = arg;

    (void)err;
    asked->answers += answer->data != NULL;
    asked->nobody += answer->data == NULL;
    if (answer->data)
        asked->guid = attr_node (answer->data).guid;
    asked->sum = asked->sum * 31 + cookie;
    return 0;
}

static void wire (struct agents *a)
{
    const struct mads_to leaf = { .hops = 1, .path = { 0, 1 } };
    const struct mads_to nowhere = { .hops = 2, .path = { 0, 1, 9 } };
    struct mads_wire w = agents_wire (a);
    struct asked asked = { 0 };
    struct mads_request r = {
        .class = MADS_DIRECTED,
        .attr = ATTR_NODE_INFO,
        .to = &leaf,
        .fn = take,
        .arg = &asked,
    };
    uint64_t in_order = 0, leaf_guid;
    int64_t began_us;
    struct mads *m;
    bool whole;

    ask (a, "1", IB_ATTR_NODE_INFO, 0);
    leaf_guid = guid ();
    m = mads_create (&mads_defaults, &w, NULL);
    a->loss = 30;
    for (r.cookie = 0; r.cookie < 200; r.cookie++) {
        in_order = in_order * 31 + r.cookie;
        mads_get (m, &r);
    }
    whole = mads_run (m, NULL) == 0;
    ok (whole && asked.answers == 200 && asked.guid == leaf_guid,
        "200 answers by way of the wire, of %d sendings",
        (int)mads_counts (m).sent);
    ok (asked.sum != in_order, "... not in their order");
    a->loss = 0;
    r.to = &nowhere;
    mads_get (m, &r);
    began_us = a->now_us;
    whole = mads_run (m, NULL) == 0;
    ok (whole && asked.nobody == 1 && a->now_us - began_us > 13000000,
        "nobody answers for %d ms", (int)((a->now_us - began_us) / 1000));
    mads_destroy (m);
}

int main (void)
{
    struct fat_tree tree = { .ports = 4, .levels = 2 };
    struct fabric *f = generate_fat_tree (&tree, NULL), *fewer;
    struct agents *a;

    tree.how.prune = 20;
    fewer = generate_fat_tree (&tree, NULL);
    a = f && fewer ? agents_create (f, NULL, 1) : NULL;
    if (!ok (a != NULL, "agents of %zu nodes", f ? f->nnodes : 0))
        return done_testing ();
    ok (!agents_create (f, "nobody", 1), "there is no host \"nobody\"");
    all_hosts (a);
    contents (a);
    counters (a);
    broken (a);
    wire (a);
    agents_destroy (a);
    changes (f, fewer);
    fabric_destroy (f);
    fabric_destroy (fewer);
    return done_testing ();
}
