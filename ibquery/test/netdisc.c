/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The reader begins with what libibnetdisc has found, and asks agents in this
 * process for the rest: whatever the library leaves out, gets wrong or saw
 * before a change, it is the fabric as it is.
 */
#include "config.h"
#include "ibquery/read/netdisc.h"

#include <stdlib.h>
#include <string.h>

#include <infiniband/mad.h>

#include "ibquery/model/generate.h"
#include "ibquery/read/explore.h"
#include "ibquery/read/smp.h"
#include "ibquery/read/discover.h"
#include "ibquery/test/agents.h"
#include "tests/tap.h"
#include "util/alloc.h"
#include "util/rng.h"

enum { SEED = 20261122 };

static struct agents *agents; /* who are asked */

/* What the library says. */
static struct {
    struct netdisc_node *node;
    size_t *first;            /* port[first[i] + k] is node i's port k */
    size_t nnodes;
    struct netdisc_port *port;
} found;
static struct rng rng;

/* What happens while the library is at work. */
static struct change {
    const struct fabric *becomes; /* NULL: nothing */
    bool asleep;                  /* the subnet manager has not seen it */
} change;

static void find_all (void);

static void happen (void)
{
    struct agents_node *host = agents_node (agents, agents->f->host[0].name);
    uint32_t act_count = host->sm.act_count;

    if (agents_become (agents, change.becomes) < 0)
        exit (1);
    if (change.asleep)
        agents_node (agents, agents->f->host[0].name)->sm.act_count = act_count;
    change.becomes = NULL;
}

static int64_t library (void *arg, int64_t max_ms, mads_take_f take,
                        void *take_arg)
{
    const struct netdisc_answer answer
        = { NETDISC_MAGIC, (uint32_t)found.nnodes, 1 };
    FILE *fp = tmpfile ();
    int64_t rc;

    (void)arg;
    (void)max_ms;
    if (found.nnodes == 0)
        return -1;
    fwrite (&answer, sizeof (answer), 1, fp);
    for (size_t i = 0; i < found.nnodes; i++) {
        fwrite (&found.node[i], sizeof (found.node[i]), 1, fp);
        fwrite (&found.port[found.first[i]], sizeof (*found.port),
                attr_node (found.node[i].info).nports + 1U, fp);
    }
    rewind (fp);
    rc = take (take_arg, fp);
    fclose (fp);
    if (change.becomes) {
        happen ();
        find_all ();
    }
    return rc;
}

static struct mads *engine (struct agents *a, bool with_library)
{
    struct mads_options options = mads_defaults;
    struct mads_wire wire = agents_wire (a);

    options.rate = 0;
    if (with_library)
        wire.netdisc = library;
    return mads_create (&options, &wire, NULL);
}

static int on_node_info (void *arg, uint64_t cookie,
                         const struct mads_answer *a, struct error *err)
{
    (void)arg;
    (void)err;
    memcpy (found.node[cookie].info, a->data, NETDISC_DATA);
    return 0;
}

static void clear_found (void)
{
    free (found.node);
    free (found.first);
    free (found.port);
    memset (&found, 0, sizeof (found));
}

/* What the library would find of the agents' fabric: all of it. */
static void find_all (void)
{
    struct agents *a = agents_create (agents->f, NULL, SEED);
    struct mads *m = engine (a, false);
    struct explore found_by = { .mads = m }, *e = &found_by;
    size_t nports = 0;

    clear_found ();
    e->no_tables = true;
    if (explore_all (e, NULL) < 0)
        exit (1);
    found.nnodes = e->nnodes;
    found.node = xcalloc (e->nnodes, sizeof (*found.node));
    found.first = xcalloc (e->nnodes, sizeof (*found.first));
    for (size_t i = 0; i < e->nnodes; i++) {
        const struct explored_node *n = e->node[i];
        struct netdisc_node *d = &found.node[i];

        d->to = n->to;
        found.first[i] = nports;
        memcpy (d->desc, n->desc, NETDISC_DATA);
        for (unsigned int k = 0; k <= n->info.nports; k++, nports++) {
            const struct explored_port *p = &n->port[k];

            found.port = xgrow (found.port, nports, sizeof (*found.port));
            found.port[nports] = (struct netdisc_port){
                .guid = p->guid,
                .far = p->far,
                .far_port = p->far_port,
            };
            memcpy (found.port[nports].info, p->raw, NETDISC_DATA);
        }
        mads_get (m, &(struct mads_request){
                         .class = MADS_DIRECTED,
                         .attr = ATTR_NODE_INFO,
                         .to = &d->to,
                         .fn = on_node_info,
                         .cookie = i,
                     });
    }
    if (mads_run (m, NULL) < 0)
        exit (1);
    explore_clear (e);
    mads_destroy (m);
    agents_destroy (a);
}

/* "whole" where it is this fabric; else the error. */
static const char *reading (const struct fabric *f)
{
    static struct error err;
    struct mads *m = engine (agents, true);
    struct fabric *got = steady_read (m, "test/1", NULL, NULL, NULL, &err);
    bool whole = got && strcmp (got->hash, f->hash) == 0;

    for (size_t i = 0; whole && i < f->nnodes; i++)
        whole = strcmp (got->node[i].desc, f->node[i].desc) == 0;
    for (size_t i = 0; whole && i < f->nlinks; i++)
        whole = got->link[i].width == f->link[i].width
                && strcmp (got->link[i].speed, f->link[i].speed) == 0;
    if (!got)
        diag ("%s", err.text);
    mads_destroy (m);
    fabric_destroy (got);
    return whole ? "whole" : got ? "another" : err.text;
}

static struct fabric *tree (void)
{
    const struct fat_tree t = {
        .ports = 4,
        .levels = 3,
        .how = { .routing = ROUTING_DMODK, .seed = 7 },
    };

    return generate_fat_tree (&t, NULL);
}

static void begin (const struct fabric *f)
{
    agents = agents_create (f, NULL, SEED);
    find_all ();
}

static void end (void)
{
    clear_found ();
    agents_destroy (agents);
}

static uint64_t asked (enum attr attr)
{
    return agents_count (agents, MADS_DIRECTED, attr);
}

static struct netdisc_port *port_of (size_t node, unsigned int num)
{
    return &found.port[found.first[node] + num];
}

static unsigned int ports_of (size_t node)
{
    return attr_node (found.node[node].info).nports;
}

static void all_found (void)
{
    struct fabric *f = tree ();

    begin (f);
    ok (strcmp (reading (f), "whole") == 0, "all was found");
    ok (asked (ATTR_NODE_INFO) == 0 && asked (ATTR_NODE_DESC) == 0
            && asked (ATTR_PORT_INFO) == 4 && asked (ATTR_LFT) > 0,
        "... and is not asked for again, but for the own port, for the subnet "
        "manager");
    end ();
    fabric_destroy (f);
}

/* Where a switch spreads messages, what ports drop is asked for, of adapters by
 * the cables that lead to them.
 */
static void spread (void)
{
    struct fabric *f = tree (), *got;
    struct error err = { 0 };
    struct mads *m;
    size_t same = 0;

    f->node[fabric_find_switch (f, "s2-0003")].spread
        = (struct fabric_spread){ .known = true, .hashed = 0x8000 };
    f->port[fabric_find_port (f, "h0001/1")].dropped = 0x0001;
    f->port[fabric_find_port (f, "h0009/1")].dropped = 0x0002;
    f->port[fabric_find_port (f, "s1-0001/1")].dropped = 0x0004;
    begin (f);
    m = engine (agents, true);
    got = steady_read (m, "test/1", NULL, NULL, NULL, &err);
    for (size_t i = 0; got && i < f->nports; i++)
        same += got->port[i].dropped == f->port[i].dropped;
    ok (same == f->nports
            && got->node[fabric_find_switch (got, "s2-0003")].spread.hashed
                   == 0x8000,
        "what is spread and dropped: right at %zu of %zu ports%s", same,
        f->nports, err.text);
    mads_destroy (m);
    fabric_destroy (got);
    end ();
    fabric_destroy (f);
}

/* Leave out a part of everything: a node's description, what a port says, a
 * cable at one end or at both.
 */
static void leave_out (unsigned int percent)
{
    for (size_t i = 0; i < found.nnodes; i++) {
        if (rng_below (&rng, 100) < percent)
            memset (found.node[i].desc, 0, NETDISC_DATA);
        for (unsigned int k = 0; k <= ports_of (i); k++) {
            struct netdisc_port *p = port_of (i, k);

            if (rng_below (&rng, 100) < percent)
                memset (p->info, 0, NETDISC_DATA);
            if (k > 0 && p->far != NETDISC_NONE
                && rng_below (&rng, 100) < percent) {
                if (rng_below (&rng, 2))
                    port_of (p->far, p->far_port)->far = NETDISC_NONE;
                p->far = NETDISC_NONE;
            }
        }
    }
}

static void left_out (void)
{
    static const unsigned int percent[] = { 1, 5, 20, 50, 100 };
    struct fabric *f = tree ();

    for (size_t k = 0; k < sizeof (percent) / sizeof (*percent); k++) {
        unsigned int whole = 0;

        for (int i = 0; i < 20; i++) {
            begin (f);
            leave_out (percent[k]);
            agents->loss = i % 2 ? 20 : 0;
            whole += strcmp (reading (f), "whole") == 0;
            end ();
        }
        ok (whole == 20, "%u %% were left out: %u of 20 readings are whole",
            percent[k], whole);
    }
    fabric_destroy (f);
}

/* A node that answers nothing, behind ports that are active. */
static struct fabric *read_mute (const struct fabric *f, uint32_t node,
                                 struct error *err)
{
    struct fabric *got;
    struct mads *m;

    agents = agents_create (f, NULL, SEED);
    agents->node[node].loss = 100;
    m = engine (agents, false);
    got = steady_read (m, "test/1", NULL, NULL, NULL, err);
    mads_destroy (m);
    agents_destroy (agents);
    return got;
}

static void mute (void)
{
    static const char *const sw[] = { "s1-0004", "s2-0003", "s3-0001" };
    struct fabric *f = tree (), *got;
    struct error err = { .text = "" };
    uint32_t host = fabric_find_host (f, "h0007"), port;

    port = f->endpoint[f->host[host].first].port;
    got = read_mute (f, f->port[port].node, &err);
    ok (got && got->nhosts + 1 == f->nhosts && got->nwarnings == 1
            && strstr (got->warning[0], "s1-0004")
            && strstr (got->warning[0], "is left out: restart it"),
        "a host that does not answer: %s", got ? got->warning[0] : err.text);
    fabric_destroy (got);
    for (size_t i = 0; i < sizeof (sw) / sizeof (sw[0]); i++) {
        got = read_mute (f, fabric_find_switch (f, sw[i]), &err);
        ok (!got && strstr (err.text, "no answer from the far end of port"),
            "a switch that does not: %s", err.text);
        fabric_destroy (got);
    }
    fabric_destroy (f);
}

/* What makes no sense is left aside. */
static void senseless (void)
{
    enum { KINDS = 8 };
    struct fabric *f = tree ();

    for (int kind = 0; kind < KINDS; kind++) {
        begin (f);
        switch (kind) {
        case 0:
            mad_set_field (found.node[1].info, 0, IB_NODE_TYPE_F, 9);
            break;
        case 1:
            memcpy (found.node[2].info, found.node[1].info, NETDISC_DATA);
            break;
        case 2:
            found.node[0].to.hops = 3;
            break;
        case 3:
            mad_set_field (found.node[1].info, 0, IB_NODE_LOCAL_PORT_F, 200);
            break;
        case 4:
            port_of (1, 1)->far = (uint32_t)found.nnodes;
            break;
        case 5:
            port_of (1, 1)->far_port = 250;
            break;
        case 6:
            for (unsigned int k = 0; k <= ports_of (3); k++)
                port_of (3, k)->far = NETDISC_NONE;
            break;
        case 7:
            found.nnodes = 0;
            break;
        }
        ok (strcmp (reading (f), "whole") == 0, "nonsense %d", kind);
        end ();
    }
    fabric_destroy (f);
}

/* f without its last cable; its tables still lead there. */
static struct fabric *cut (const struct fabric *f)
{
    struct fabric *g = fabric_create ();
    int rc = 0;

    for (size_t i = 0; i < f->nnodes; i++) {
        const struct fabric_node *n = &f->node[i];

        rc |= fabric_add_node (g, n->guid, n->type, n->nports, n->desc, NULL)
              < 0;
        if (n->lft)
            rc |= fabric_set_switch_lid (g, i, n->lid, NULL)
                  | fabric_set_lft (g, i, n->lft, n->lft_top, NULL);
        for (unsigned int k = 1; !n->lft && k <= n->nports; k++) {
            const struct fabric_port *p = &f->port[n->first_port + k - 1];

            rc |= fabric_set_port (g, i, k, p->guid, p->lid, p->lmc, NULL);
        }
    }
    for (size_t i = 0; i + 1 < f->nlinks; i++) {
        const struct fabric_link *l = &f->link[i];
        const struct fabric_port *a = &f->port[l->a], *b = &f->port[l->b];

        rc |= fabric_add_cable (g, a->node, a->num, b->node, b->num, l->width,
                                l->speed, NULL);
    }
    if (rc != 0 || fabric_finish (g, NULL) < 0)
        exit (1);
    return g;
}

/* All that the library says is from before the change. */
static void torn (const struct fabric *f, const struct fabric *g, bool asleep,
                  const char *name)
{
    const char *said;

    begin (f);
    change = (struct change){ g, asleep };
    said = reading (g);
    ok (strcmp (said, "whole") == 0, "%s", name);
    end ();
}

static void all_torn (void)
{
    struct fabric *f = tree (), *pulled = cut (f);

    torn (f, pulled, false, "a cable is pulled meanwhile");
    torn (pulled, f, false, "a cable is plugged in meanwhile");
    torn (f, pulled, true, "a cable is pulled, which nobody has seen");
    torn (pulled, f, true, "a cable is plugged in, which nobody has seen");
    fabric_destroy (f);
    fabric_destroy (pulled);
}

int main (void)
{
    rng_seed (&rng, SEED);
    all_found ();
    spread ();
    left_out ();
    senseless ();
    mute ();
    all_torn ();
    return done_testing ();
}
