/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "ibquery/read/collect.h"

#include <string.h>

#include "ibquery/model/generate.h"
#include "ibquery/test/agents.h"
#include "tests/tap.h"

enum { COUNTERS_ATTR = 0x12, EXTENDED_ATTR = 0x1d, FEC_ATTR = 0x33 };

static struct fabric *model (struct error *err)
{
    const struct fat_tree tree = {
        .ports = 4,
        .levels = 2,
        .how = { .routing = ROUTING_MINHOP, .seed = 3 },
    };

    return generate_fat_tree (&tree, err);
}

static struct counters *run (struct agents *a, struct error *err)
{
    struct mads_wire wire = agents_wire (a);
    struct mads *m = mads_create (&mads_defaults, &wire, err);
    struct counters *c = m ? collect (m, a->f, err) : NULL;

    mads_destroy (m);
    return c;
}

static const struct port_counters *port_of (const struct counters *c,
                                            const struct fabric *f,
                                            const char *name)
{
    const struct fabric_port *p = &f->port[fabric_find_port (f, name)];

    return counters_find (c, f->node[p->node].guid, p->num);
}

static size_t count_told (const struct counters *c)
{
    size_t n = 0;

    for (size_t i = 0; i < c->nports; i++)
        n += c->port[i].told != 0;
    return n;
}

static void test_all (struct agents *a)
{
    const struct fabric *f = a->f;
    const struct port_counters *p, *q;
    struct error err = { 0 };
    struct counters *c;

    agents_port (a, "h0003/1")->count[COUNT_SYMBOL_ERRORS] = 70000;
    agents_port (a, "s1-0001/3")->count[COUNT_LINK_DOWNED] = 300;
    agents_port (a, "s1-0001/3")->count[COUNT_XMIT_WAIT] = 1ULL << 40;
    a->node[f->port[fabric_find_port (f, "s1-0001/3")].node].extended_info
        = true;
    agents_port (a, "s1-0001/3")->fec = 2;
    agents_node (a, "h0003")->perf.caps2 = 0;
    agents_node (a, "h0004")->perf.caps = 0;
    c = run (a, &err);
    ok (c && c->nports == 2 * f->nlinks && count_told (c) == c->nports,
        "both ends of all cables%s", err.text);
    if (!c)
        return;
    p = port_of (c, f, "h0003/1");
    ok (p && p->value[COUNTER_SYMBOL_ERRORS] == 65535
            && p->at_end == 1U << COUNTER_SYMBOL_ERRORS
            && p->fec == FEC_UNKNOWN,
        "without wide error counters, 16 bits at their end");
    p = port_of (c, f, "s1-0001/3");
    ok (p && p->value[COUNTER_LINK_DOWNED] == 300 && p->at_end == 0
            && p->value[COUNTER_XMIT_WAIT] == 1ULL << 40
            && p->fec == FEC_RS,
        "with them, more; and the FEC mode");
    q = port_of (c, f, "h0004/1");
    ok (q && !(q->told >> COUNTER_XMIT_WAIT & 1)
            && q->told >> COUNTER_SYMBOL_ERRORS & 1,
        "no PortXmitWait where there is none");
    ok (agents_count (a, MADS_PERF, COUNTERS_ATTR) == 2
            && agents_count (a, MADS_PERF, EXTENDED_ATTR) == c->nports - 1
            && agents_count (a, MADS_DIRECTED, FEC_ATTR) == 4,
        "nobody is asked for what it does not have");
    ok (strcmp (c->fabric, f->hash) == 0 && c->time > 0 && c->lasted > 0,
        "which fabric, and when");
    counters_destroy (c);
}

static void test_broken (struct agents *a)
{
    const struct fabric *f = a->f;
    struct error err = { 0 };
    struct agents_node *leaf;
    struct counters *c;
    uint64_t guid;

    a->loss = 30;
    c = run (a, &err);
    ok (c && count_told (c) == 2 * f->nlinks,
        "lost MADs cost no counters%s", err.text);
    counters_destroy (c);
    a->loss = 0;

    agents_node (a, "h0003")->loss = 100;
    c = run (a, &err);
    ok (c && count_told (c) == 2 * f->nlinks - 1
            && port_of (c, f, "h0003/1")->told == 0,
        "of who does not answer nothing is told");
    counters_destroy (c);
    agents_node (a, "h0003")->loss = 0;

    leaf = agents_node (a, "s1-0001");
    guid = leaf->guid;
    leaf->guid++;
    c = run (a, &err);
    ok (!c && strstr (err.text, "s1-0001") && err.fault == ERROR_WORLD,
        "another node's counters are not taken: %s", err.text);
    counters_destroy (c);
    leaf->guid = guid;
}

int main (void)
{
    struct error err;
    struct fabric *f = model (&err);
    struct agents *a = agents_create (f, NULL, 1);

    test_all (a);
    test_broken (a);
    agents_destroy (a);
    fabric_destroy (f);
    return done_testing ();
}
