/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The reader, against agents in this process: it returns the fabric that they
 * are made of, or an error that names what is wrong.
 */
#include "config.h"
#include "ibquery/read/discover.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ibquery/model/generate.h"
#include "ibquery/read/explore.h"
#include "ibquery/read/smp.h"
#include "ibquery/test/agents.h"
#include "tests/tap.h"

enum { SEED = 20261122 };

static struct mads_options options;
static struct mads_counts counts; /* of the last reading */

static struct fabric *tree (unsigned int ports, unsigned int levels,
                            enum routing routing)
{
    const struct fat_tree t = {
        .ports = ports,
        .levels = levels,
        .how = { .routing = routing, .seed = 7 },
    };
    struct error err;
    struct fabric *f = generate_fat_tree (&t, &err);

    if (!f) {
        diag ("%s", err.text);
        exit (1);
    }
    return f;
}

static void must (int rc, const struct error *err)
{
    if (rc < 0) {
        diag ("%s", err->text);
        exit (1);
    }
}

/* f without the cable `gone`; its tables still lead there. */
static struct fabric *cut (const struct fabric *f, uint32_t gone)
{
    struct fabric *g = fabric_create ();
    struct error err;

    for (size_t i = 0; i < f->nnodes; i++) {
        const struct fabric_node *n = &f->node[i];

        must (fabric_add_node (g, n->guid, n->type, n->nports, n->desc, &err),
              &err);
        if (n->type == NODE_SWITCH) {
            must (fabric_set_switch_lid (g, i, n->lid, &err), &err);
            must (fabric_set_lft (g, i, n->lft, n->lft_top, &err), &err);
            continue;
        }
        for (unsigned int p = 1; p <= n->nports; p++) {
            const struct fabric_port *port = &f->port[n->first_port + p - 1];

            must (fabric_set_port (g, i, p, port->guid, port->lid, port->lmc,
                                   &err),
                  &err);
        }
    }
    for (size_t i = 0; i < f->nlinks; i++) {
        const struct fabric_link *l = &f->link[i];
        const struct fabric_port *a = &f->port[l->a], *b = &f->port[l->b];

        if (i != gone)
            must (fabric_add_cable (g, a->node, a->num, b->node, b->num,
                                    l->width, l->speed, &err),
                  &err);
    }
    must (fabric_finish (g, &err), &err);
    return g;
}

/* The first cable between switches. */
static uint32_t trunk (const struct fabric *f)
{
    uint32_t i = 0;

    while (f->link[i].kind != LINK_SWITCH)
        i++;
    return i;
}

static struct agents *agents (const struct fabric *f)
{
    struct agents *a = agents_create (f, NULL, SEED);

    if (!a)
        exit (1);
    options = mads_defaults;
    return a;
}

static struct fabric *reading (struct agents *a, struct error *err)
{
    const struct mads_wire wire = agents_wire (a);
    struct mads *m = mads_create (&options, &wire, err);
    struct fabric *f;

    if (!m)
        return NULL;
    err->text[0] = '\0';
    f = steady_read (m, "test/1", NULL, NULL, NULL, err);
    counts = mads_counts (m);
    mads_destroy (m);
    return f;
}

/* What a reading gives: "first", "second" (by the hash), "another", or the
 * error. */
static const char *outcome (struct agents *a, const struct fabric *first,
                            const struct fabric *second)
{
    static struct error err;
    struct fabric *f = reading (a, &err);
    const char *said = err.text;

    if (f && strcmp (f->hash, first->hash) == 0)
        said = "first";
    else if (f && second && strcmp (f->hash, second->hash) == 0)
        said = "second";
    else if (f)
        said = "another";
    fabric_destroy (f);
    return said;
}

static void is (const char *got, const char *wanted, const char *name)
{
    if (!ok (strcmp (got, wanted) == 0, "%s", name))
        diag ("got: %s", got);
}

static void like (const char *got, const char *part, const char *name)
{
    if (!ok (strstr (got, part) != NULL, "%s", name))
        diag ("got: %s", got);
}

static uint64_t asked (const struct agents *a, enum attr attr)
{
    return agents_count (a, MADS_DIRECTED, attr);
}

/* Everything once, and the look at what may have changed. */
static void whole (void)
{
    struct fabric *f = tree (8, 3, ROUTING_DMODK);
    struct agents *a = agents (f);
    struct error err;
    struct fabric *got = reading (a, &err);
    size_t switches = 0, switch_ports = 0, blocks = 0, hosts = f->nhosts;
    size_t ends = 0, named = 0;

    for (size_t i = 0; i < f->nnodes; i++)
        if (f->node[i].type == NODE_SWITCH) {
            switches++;
            switch_ports += f->node[i].nports + 1U;
            blocks += f->node[i].lft_top / LFT_BLOCK + 1U;
        }
    if (!ok (got && strcmp (got->hash, f->hash) == 0, "the whole fabric"))
        diag ("%s", err.text);
    for (size_t i = 0; got && i < f->nnodes; i++)
        named += strcmp (got->node[i].desc, f->node[i].desc) == 0;
    ok (named == f->nnodes, "the descriptions: %zu", named);
    for (size_t i = 0; got && i < f->nlinks; i++)
        ends += got->link[i].width == f->link[i].width
                && strcmp (got->link[i].speed, f->link[i].speed) == 0;
    ok (ends == f->nlinks, "the rates of the cables: %zu", ends);
    ok (got && got->nwarnings == 0, "no warnings");
    ok (asked (a, ATTR_LFT) == blocks, "each block once: %" PRIu64,
        asked (a, ATTR_LFT));
    ok (asked (a, ATTR_NODE_DESC) == f->nnodes, "each description once");
    ok (asked (a, ATTR_SWITCH_INFO) == 2 * switches,
        "SwitchInfo twice: all that the second look takes");
    ok (asked (a, ATTR_PORT_INFO) == switch_ports + hosts + 4,
        "each port once, and the own one for the SM: %" PRIu64,
        asked (a, ATTR_PORT_INFO));
    ok (asked (a, ATTR_NODE_INFO) <= 2 * f->nlinks + 1,
        "each cable twice at most: %" PRIu64, asked (a, ATTR_NODE_INFO));
    ok (counts.lost == 0 && counts.sent == counts.answered
            && counts.sent == a->sent,
        "%" PRIu64 " MADs", counts.sent);
    fabric_destroy (got);
    agents_destroy (a);
    fabric_destroy (f);
}

/* At the k-th MAD, the fabric becomes another. */
enum manager { AWAKE, ASLEEP, GONE };

struct turn {
    uint64_t at;
    const struct fabric *other;
    enum manager sm;
};

static bool turn (struct agents *a, const struct agents_request *r, void *arg)
{
    struct turn *t = arg;
    uint32_t act_count;

    if (r->number != t->at)
        return true;
    act_count = agents_node (a, a->f->host[0].name)->sm.act_count;
    if (agents_become (a, t->other) < 0)
        exit (1);
    if (t->sm == ASLEEP)
        agents_node (a, a->f->host[0].name)->sm.act_count = act_count;
    return true;
}

/* Torn at every MAD. */
static void torn (const struct fabric *f, const struct fabric *g,
                  enum manager sm, const char *name)
{
    struct turn t = { .other = g, .sm = sm };
    uint64_t last, first = 0, second = 0, refused = 0;
    char bad[600] = "";

    do {
        struct agents *a = agents (f);
        const char *said;

        t.at++;
        a->before = turn;
        a->arg = &t;
        if (sm == GONE)
            agents_node (a, f->host[0].name)->sm.state = 0;
        said = outcome (a, f, g);
        if (strcmp (said, "first") == 0)
            first++;
        else if (strcmp (said, "second") == 0)
            second++;
        else if (strcmp (said, "another") != 0)
            refused++;
        else if (!*bad)
            snprintf (bad, sizeof (bad), "MAD %" PRIu64, t.at);
        last = a->sent;
        agents_destroy (a);
    } while (t.at <= last);
    ok (!*bad && refused == 0, "%s: torn at none of %" PRIu64 " MADs", name,
        t.at);
    diag ("%" PRIu64 " times as it was, %" PRIu64 " as it is, %" PRIu64
          " refused; %s",
          first, second, refused, bad);
    ok (4 * first < second, "%s: it was read as it is", name);
}

static void all_torn (void)
{
    struct fabric *f = tree (4, 2, ROUTING_DMODK);
    struct fabric *routed = tree (4, 2, ROUTING_MINHOP);
    struct fabric *pulled = cut (f, trunk (f));

    torn (f, pulled, AWAKE, "a cable pulled");
    torn (pulled, f, AWAKE, "a cable plugged in");
    torn (f, routed, AWAKE, "other tables");
    torn (f, pulled, ASLEEP, "a cable pulled, not seen yet");
    torn (pulled, f, ASLEEP, "a cable plugged in, not seen yet");
    torn (f, pulled, GONE, "a cable pulled, no subnet manager");
    torn (f, routed, GONE, "other tables, no subnet manager");
    fabric_destroy (f);
    fabric_destroy (routed);
    fabric_destroy (pulled);
}

/* LinkRoundTripLatency: of adapters and switches that have it. */
static void round_trips (void)
{
    struct fabric *f = tree (4, 2, ROUTING_DMODK), *got;
    struct agents *a;
    struct error err;
    size_t same = 0, silent = 0, means = 0;

    for (size_t i = 0; i < f->nports; i++)
        f->port[i].lrtl = f->port[i].link != FABRIC_NONE ? 200 + 70000 * i : 0;
    f->port[0].lrtl = 0xffffff;
    a = agents (f);
    for (size_t i = 1; i < f->nnodes; i += 2)
        a->node[i].no_lrtl = true;
    got = reading (a, &err);
    for (size_t i = 1; got && i < f->nports; i++) {
        same += got->port[i].lrtl
                == (f->port[i].node % 2 ? 0 : f->port[i].lrtl);
        silent += f->port[i].node % 2 && f->port[i].lrtl != 0;
    }
    ok (got && same == f->nports - 1 && silent > 5,
        "round trips of links, where nodes know them");
    ok (got && got->port[0].lrtl == 0, "all ones are none");
    for (size_t i = 0; got && i < got->nlinks; i++) {
        uint32_t x = got->port[got->link[i].a].lrtl;
        uint32_t y = got->port[got->link[i].b].lrtl;

        means += got->link_info[i].lrtl
                 == (x && y ? (x + y) / 2.0 : (double)(x + y));
    }
    ok (got && means == got->nlinks, "a link has the mean of those it has");
    fabric_destroy (got);
    agents_destroy (a);
    fabric_destroy (f);
}

static void loss (void)
{
    struct fabric *f = tree (8, 3, ROUTING_DMODK);
    struct agents *a = agents (f);

    a->loss = 30;
    is (outcome (a, f, NULL), "first", "30 % loss: the whole fabric");
    ok (counts.lost > counts.answered / 4, "... of %" PRIu64 " MADs %" PRIu64
        " were lost", counts.sent, counts.lost);
    agents_destroy (a);

    a = agents (f);
    agents_node (a, "s2-0003")->loss = 100;
    like (outcome (a, f, NULL), "active", "a switch that does not answer");
    agents_destroy (a);
    fabric_destroy (f);
}

/* Lose one answer for ever. */
static bool lose (struct agents *a, const struct agents_request *r, void *arg)
{
    const struct agents_request *lost = arg;

    (void)a;
    return r->node != lost->node || r->attribute != lost->attribute
           || r->modifier != lost->modifier;
}

static void missing (void)
{
    static const struct {
        enum attr attr;
        uint32_t mod;
        const char *said;
    } rows[] = {
        { ATTR_LFT, 2, "): LFT block 2 did not arrive" },
        { ATTR_PORT_INFO, 3, "): PortInfo of port 3 did not arrive" },
        { ATTR_PORT_INFO, 0, "): PortInfo of port 0 did not arrive" },
        { ATTR_SWITCH_INFO, 0, "): SwitchInfo did not arrive" },
        { ATTR_NODE_DESC, 0, "): NodeDescription did not arrive" },
    };
    struct fabric *f = tree (8, 3, ROUTING_DMODK);
    uint32_t node = fabric_find_switch (f, "s2-0003");

    for (size_t i = 0; i < sizeof (rows) / sizeof (*rows); i++) {
        struct agents *a = agents (f);
        struct agents_request lost = {
            .node = node,
            .attribute = rows[i].attr,
            .modifier = rows[i].mod,
        };
        const char *said;

        a->before = lose;
        a->arg = &lost;
        said = outcome (a, f, NULL);
        like (said, rows[i].said, rows[i].said + 3);
        if (rows[i].attr != ATTR_NODE_DESC)
            like (said, "switch s2-0003 (", "... of which switch");
        agents_destroy (a);
    }
    fabric_destroy (f);
}

static void keys (void)
{
    struct fabric *f = tree (4, 2, ROUTING_DMODK);
    struct agents *a = agents (f);

    for (size_t i = 0; i < f->nnodes; i++)
        if (f->node[i].type == NODE_SWITCH)
            a->node[i].mkey = 0x1234;
    like (outcome (a, f, NULL), "is an M_Key needed?", "without the M_Key");
    options.mkey = 0x1234;
    is (outcome (a, f, NULL), "first", "with the M_Key");
    agents_destroy (a);
    fabric_destroy (f);
}

/* A host whose port no SM has made active, though it answers: it is there, and
 * carries no messages.
 */
static void not_active (void)
{
    static const enum port_state state[] = { PORT_INIT, PORT_ARMED };
    struct fabric *f = tree (4, 2, ROUTING_DMODK);
    uint32_t link = f->port[f->endpoint[3].port].link;

    for (size_t i = 0; i < sizeof (state) / sizeof (*state); i++) {
        struct agents *a = agents (f);
        struct error err;
        struct fabric *got;

        a->p[f->link[link].a].state = a->p[f->link[link].b].state = state[i];
        got = reading (a, &err);
        ok (got && strcmp (got->hash, f->hash) == 0
                && got->nhosts == f->nhosts - 1 && got->nwarnings == 1
                && strstr (got->warning[0], "is connected but is not active"),
            "a host whose port is %s: no host, and a warning",
            fabric_state_name (state[i]));
        ok (got && got->port[got->link[link].a].state == state[i]
                && !fabric_is_up (got, &got->link[link]),
            "... and no cable that carries messages");
        fabric_destroy (got);
        agents_destroy (a);
    }
    fabric_destroy (f);
}

static void states (void)
{
    struct fabric *f = tree (4, 2, ROUTING_DMODK);
    struct fabric *pulled = cut (f, trunk (f));
    struct agents *a = agents (f);
    struct error err;
    struct fabric *got;

    for (size_t i = 0; i < f->nnodes; i++)
        a->node[i].busy = 2;
    is (outcome (a, f, NULL), "first", "busy agents: asked again");
    agents_destroy (a);

    f->node[fabric_find_switch (f, "s2-0001")].lid = 0;
    a = agents (f);
    like (outcome (a, f, NULL), "no subnet manager has configured it",
          "a switch without a LID");
    agents_destroy (a);
    fabric_destroy (f);

    f = tree (4, 2, ROUTING_DMODK);
    a = agents (f);
    agents_node (a, f->host[3].name)->loss = 100;
    a->p[f->endpoint[3].port].state = PORT_INIT;
    a->p[f->link[f->port[f->endpoint[3].port].link].a].state = PORT_INIT;
    a->p[f->link[f->port[f->endpoint[3].port].link].b].state = PORT_INIT;
    got = reading (a, &err);
    ok (got && got->nhosts == f->nhosts - 1 && got->nwarnings == 1
            && strstr (got->warning[0], "is up, but there is no answer"),
        "a host that is booting: a warning");
    fabric_destroy (got);
    agents_destroy (a);

    /* A change that the subnet manager has not seen yet. */
    a = agents (f);
    agents_node (a, "s1-0002")->changed = true;
    is (outcome (a, f, NULL), "first", "PortStateChange: still the fabric");
    ok (asked (a, ATTR_NODE_DESC) == 2 * f->nnodes, "... read twice");
    agents_destroy (a);

    fabric_destroy (f);
    fabric_destroy (pulled);
}

/* At a time, the subnet manager is done with what it had to do. */
struct deed {
    int64_t at_us;
    const struct fabric *after;
};

static bool deed (struct agents *a, const struct agents_request *r, void *arg)
{
    struct deed *d = arg;

    (void)r;
    if (a->now_us < d->at_us)
        return true;
    d->at_us = INT64_MAX;
    if (agents_become (a, d->after) < 0)
        exit (1);
    for (size_t i = 0; i < a->f->nnodes; i++)
        a->node[i].changed = false;
    return true;
}

static void unfinished (void)
{
    struct fabric *f = tree (4, 2, ROUTING_DMODK);
    struct fabric *routed = tree (4, 2, ROUTING_MINHOP);
    struct fabric *pulled = cut (f, trunk (f));
    struct deed d = { .after = routed };
    struct agents *a = agents (f);
    struct error err;
    struct fabric *got;

    d.at_us = a->now_us + 1000000;
    a->before = deed;
    a->arg = &d;
    agents_node (a, "s1-0002")->changed = true;
    is (outcome (a, f, routed), "second",
        "a change that the subnet manager sees after a second: waited for");
    agents_destroy (a);

    a = agents (pulled);
    d.at_us = a->now_us + 100000;
    a->before = deed;
    a->arg = &d;
    is (outcome (a, pulled, routed), "second",
        "tables that lead nowhere: read when they are mended");
    agents_destroy (a);

    a = agents (pulled);
    got = reading (a, &err);
    ok (got && strcmp (got->hash, pulled->hash) == 0 && got->nwarnings == 1,
        "... never mended: a warning");
    if (got && got->nwarnings > 0)
        like (got->warning[0], "which has no cable", got->warning[0]);
    ok (asked (a, ATTR_NODE_DESC) == 3 * pulled->nnodes,
        "... after three readings");
    fabric_destroy (got);
    agents_destroy (a);

    fabric_destroy (f);
    fabric_destroy (routed);
    fabric_destroy (pulled);
}

/* The subnet manager sends, until a time, or for ever. */
static bool sweep (struct agents *a, const struct agents_request *r, void *arg)
{
    const int64_t *until_us = arg;

    (void)r;
    if (a->now_us < *until_us)
        agents_node (a, a->f->host[0].name)->sm.act_count += 5;
    return true;
}

static int64_t table_us; /* when the first block was asked for */

static bool sweep_first (struct agents *a, const struct agents_request *r,
                         void *arg)
{
    if (r->attribute == ATTR_LFT && table_us == 0)
        table_us = a->now_us;
    return sweep (a, r, arg);
}

static void sweeps (void)
{
    struct fabric *f = tree (4, 2, ROUTING_DMODK);
    struct agents *a = agents (f);
    int64_t until_us = a->now_us + 2000000;

    a->before = sweep_first;
    a->arg = &until_us;
    is (outcome (a, f, NULL), "first", "a sweep: the whole fabric");
    ok (table_us > until_us, "... read when it was over");
    ok (asked (a, ATTR_NODE_DESC) == f->nnodes, "... and once");
    agents_destroy (a);

    a = agents (f);
    until_us = INT64_MAX;
    a->before = sweep;
    a->arg = &until_us;
    is (outcome (a, f, NULL), "first", "a subnet manager that never rests");
    ok (asked (a, ATTR_NODE_DESC) == 2 * f->nnodes, "... two readings agree");
    options.deadline_ms = 5000;
    like (outcome (a, f, NULL), "not done within 5000 ms",
          "... a deadline: refused");
    agents_destroy (a);

    a = agents (f);
    agents_node (a, f->host[0].name)->sm.state = 0;
    is (outcome (a, f, NULL), "first", "no subnet manager answers");
    ok (asked (a, ATTR_NODE_DESC) == 2 * f->nnodes, "... two readings agree");
    agents_destroy (a);
    fabric_destroy (f);
}

static void limits (void)
{
    struct fabric *f = tree (8, 3, ROUTING_DMODK);
    struct agents *a = agents (f);
    uint64_t all;
    int64_t begin;

    outcome (a, f, NULL);
    all = counts.sent;
    options.max = all;
    is (outcome (a, f, NULL), "first", "as many MADs as are allowed");
    options.max = all - 1;
    like (outcome (a, f, NULL), "MADs are needed, which is the limit",
          "one MAD more: refused");
    ok (counts.sent == all - 1, "... and not sent: %" PRIu64, counts.sent);
    options.max = 0;

    options.rate = 1000;
    begin = a->now_us;
    outcome (a, f, NULL);
    ok (a->now_us - begin >= (int64_t)(counts.sent - 10) * 1000
            && a->now_us - begin < (int64_t)(counts.sent + 500) * 1000,
        "1000 MADs a second: %" PRIu64 " in %" PRId64 " ms", counts.sent,
        (a->now_us - begin) / 1000);
    agents_destroy (a);
    fabric_destroy (f);
}

int main (void)
{
    whole ();
    all_torn ();
    round_trips ();
    loss ();
    missing ();
    keys ();
    states ();
    unfinished ();
    not_active ();
    sweeps ();
    limits ();
    return done_testing ();
}
