/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The look for a change, against agents in this process: none is seen where
 * there is none, each kind of change is, and it takes a fraction of a reading.
 */
#include "config.h"
#include "ibquery/read/discover.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ibquery/model/generate.h"
#include "ibquery/read/smp.h"
#include "ibquery/test/agents.h"
#include "tests/tap.h"

static struct fabric *tree (unsigned int ports)
{
    const struct fat_tree t = {
        .ports = ports,
        .levels = 2,
        .how = { .routing = ROUTING_DMODK },
    };
    struct error err;

    return generate_fat_tree (&t, &err);
}

/* The answer, and how many MADs it took. */
static int look (struct agents *a, const struct fabric *f, uint64_t turn,
                 uint64_t *sent, struct error *why)
{
    struct mads_options opts = mads_defaults;
    struct mads_wire wire = agents_wire (a);
    struct error err = { 0 };
    struct mads *m = mads_create (&opts, &wire, &err);
    int rc;

    *why = (struct error){ 0 };
    rc = look_changed (m, f, turn, why, &err);
    if (sent)
        *sent = mads_counts (m).sent;
    if (rc < 0)
        diag ("%s", err.text);
    mads_destroy (m);
    return rc;
}

/* What a reader makes of the fabric: rates, states and subnet as well. */
static struct fabric *read_all (struct agents *a, uint64_t *sent)
{
    struct mads_options opts = mads_defaults;
    struct mads_wire wire = agents_wire (a);
    struct error err = { 0 };
    struct mads *m = mads_create (&opts, &wire, &err);
    struct fabric *f = steady_read (m, "agents", NULL, NULL, NULL, &err);

    if (!f)
        diag ("%s", err.text);
    *sent = mads_counts (m).sent;
    mads_destroy (m);
    return f;
}

/* The cables of the hosts x and y change places. */
static struct fabric *swapped (const struct fabric *f, const char *x,
                               const char *y)
{
    struct fabric *g = fabric_create ();
    uint32_t p = fabric_find_port (f, x), q = fabric_find_port (f, y);
    struct error err = { 0 };

    for (size_t i = 0; i < f->nnodes; i++) {
        const struct fabric_node *n = &f->node[i];

        fabric_add_node (g, n->guid, n->type, n->nports, n->desc, &err);
        fabric_set_switch_lid (g, i, n->lid, &err);
        if (n->lft)
            fabric_set_lft (g, i, n->lft, n->lft_top, &err);
        for (unsigned int k = 0; n->type != NODE_SWITCH && k < n->nports; k++)
            fabric_set_port (g, i, k + 1, f->port[n->first_port + k].guid,
                             f->port[n->first_port + k].lid, 0, &err);
    }
    for (size_t i = 0; i < f->nlinks; i++) {
        const struct fabric_link *l = &f->link[i];
        const struct fabric_port *a = &f->port[l->a == p   ? q
                                               : l->a == q ? p
                                                           : l->a];
        const struct fabric_port *b = &f->port[l->b];

        fabric_add_cable (g, a->node, a->num, b->node, b->num, l->width,
                          l->speed, &err);
    }
    if (*err.text || fabric_finish (g, &err) < 0)
        diag ("%s", err.text);
    return g;
}

static void nothing_has_changed (void)
{
    struct fabric *f = tree (8);
    struct agents *a = agents_create (f, "h0003", 1);
    uint64_t all = 0, sent = 0;
    struct fabric *g = read_all (a, &all);
    struct error why;

    ok (g && strcmp (g->hash, f->hash) == 0 && g->subnet == 0xfe80ULL << 48,
        "read, with its subnet");
    for (uint64_t turn = 0; turn < 3; turn++)
        ok (look (a, g, turn, &sent, &why) == 0, "no change, turn %" PRIu64,
            turn);
    ok (sent <= f->nlinks + 2 * 12 + 2 && 2 * sent < all,
        "%" PRIu64 " MADs; a reading takes %" PRIu64, sent, all);
    a->loss = 30;
    ok (look (a, g, 0, NULL, &why) >= 0, "lost MADs are no error");
    fabric_destroy (g);
    agents_destroy (a);
    fabric_destroy (f);
}

/* Each of them is seen. */
enum change { PLUGS, LOST_CABLE, NEW_CABLE, LID, RATE, STATE, TABLE, TOP,
              UNSEEN, SILENT, OTHER_SWITCH, CHANGES };
static const char *const change_name[] = {
    "two plugs", "a cable lost", "a new cable", "a LID", "a rate",
    "a state", "a block of a table", "the end of a table",
    "a change that the SM has not seen", "a switch that is silent",
    "another switch in its place",
};

/* The cable of h0017. */
static void plug (struct agents *a, bool in)
{
    agents_port (a, "s1-0005/1")->phys = in ? PHYS_LINK_UP : 2;
    agents_port (a, "s1-0005/1")->state = in ? STATE_ACTIVE : STATE_DOWN;
    agents_port (a, "h0017/1")->state = in ? STATE_ACTIVE : STATE_DOWN;
}

static void make (struct agents *a, struct fabric *f, enum change change)
{
    uint32_t leaf = fabric_find_switch (f, "s1-0005");

    switch (change) {
    case LOST_CABLE:
        plug (a, false);
        break;
    case NEW_CABLE:
        plug (a, true);
        break;
    case LID:
        f->port[fabric_find_port (f, "h0017/1")].lid = 99;
        break;
    case RATE:
        agents_port (a, "h0017/1")->width.active = 1;
        break;
    case STATE:
        agents_port (a, "h0017/1")->state = STATE_INIT;
        break;
    case TABLE:
        f->node[leaf].lft[9] ^= 1;
        break;
    case TOP:
        agents_node (a, "s1-0005")->lft_top++;
        break;
    case UNSEEN:
        agents_node (a, "s1-0005")->changed = true;
        break;
    case SILENT:
        agents_node (a, "s1-0005")->loss = 100;
        break;
    case OTHER_SWITCH:
        agents_node (a, "s1-0005")->guid ^= 0x100000;
        break;
    case PLUGS:
    case CHANGES:
        break;
    }
}

static void changes_are_seen (void)
{
    for (int i = 0; i < CHANGES; i++) {
        struct fabric *f = tree (8), *g = NULL, *moved = NULL;
        struct agents *a = agents_create (f, "h0003", 1);
        struct error why;
        uint64_t sent;

        plug (a, i != NEW_CABLE);
        g = read_all (a, &sent);
        if (i == PLUGS) {
            moved = swapped (f, "h0001/1", "h0017/1");
            agents_become (a, moved);
            for (size_t k = 0; k < f->nnodes; k++)
                a->node[k].changed = false; /* the SM has seen it */
        }
        make (a, f, i);
        ok (look (a, g, 0, NULL, &why) == 1 && *why.text, "%s: %s",
            change_name[i], why.text);
        fabric_destroy (g);
        agents_destroy (a);
        fabric_destroy (moved);
        fabric_destroy (f);
    }
}

/* A table changes beyond the first block: the turn of its block comes. */
static void turns_come (void)
{
    struct fabric *f = tree (16);
    struct agents *a = agents_create (f, NULL, 1);
    uint32_t spine = fabric_find_switch (f, "s2-0002");
    unsigned int blocks = f->node[spine].lft_top / LFT_BLOCK + 1, seen = 0;
    struct fabric *g;
    struct error why;
    uint64_t sent;

    g = read_all (a, &sent);
    f->node[spine].lft[70] ^= 1;
    for (unsigned int turn = 0; turn < blocks; turn++)
        seen += look (a, g, turn, NULL, &why);
    ok (blocks > 1 && seen == 1, "one of %u turns sees it", blocks);
    fabric_destroy (g);
    agents_destroy (a);
    fabric_destroy (f);
}

static void strangers (void)
{
    struct fabric *f = tree (4), *other = tree (8);
    struct agents *a = agents_create (other, "h0020", 1);
    struct error why;

    ok (look (a, f, 0, NULL, &why) == 1, "the own port is new: %s", why.text);
    agents_destroy (a);
    fabric_destroy (f);
    fabric_destroy (other);
}

int main (void)
{
    nothing_has_changed ();
    changes_are_seen ();
    turns_come ();
    strangers ();
    return done_testing ();
}
