/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How switches spread messages, read from agents in this process: it comes as
 * it is, where nobody spreads any it costs nothing, and what is refused, lost
 * or contradicts itself is a warning.
 */
#include "config.h"
#include "ibquery/read/groups.h"

#include <stdlib.h>
#include <string.h>

#include "ibquery/model/generate.h"
#include "ibquery/read/discover.h"
#include "ibquery/spread.h"
#include "ibquery/test/agents.h"
#include "tests/tap.h"
#include "util/alloc.h"
#include "util/rng.h"

enum { SWITCH_PORTS = 8, UP = 4 /* the first port up, of a leaf */ };

/* 32 hosts; 8 leaves with 4 ports down, 4 spines. */
static struct fabric *model (void)
{
    const struct fat_tree tree = { .ports = SWITCH_PORTS, .levels = 2 };
    struct fabric *f = generate_fat_tree (&tree, NULL);

    if (!f)
        exit (1);
    return f;
}

/* Messages of a switch to a LID that its table sends up may take any port up:
 * the last group of ngroups. All others go to one port. Some LIDs are hashed.
 */
static void spread (struct fabric *f, uint32_t node, size_t ngroups)
{
    struct fabric_node *n = &f->node[node];
    struct spread_entry *e = xcalloc (n->lft_top + 1U, sizeof (*e));
    struct spread_group *g = xcalloc (ngroups, sizeof (*g));
    struct error err = { 0 };

    n->spread = (struct fabric_spread){
        .known = true, .rc = 0xffff, .hashed = 0x00ff, .recovery = true,
    };
    g[ngroups - 1].port[0] = 0x1e0; /* 5 to 8 */
    for (unsigned int lid = 0; lid <= n->lft_top; lid++) {
        bool up = n->lft[lid] > UP && n->lft[lid] != LFT_NO_ROUTE;

        e[lid] = (struct spread_entry){
            .state = !up ? SPREAD_STATIC : lid % 8 ? SPREAD_FREE
                                                   : SPREAD_HASHED,
            .port = n->lft[lid],
            .group = up ? ngroups - 1 : 0,
        };
    }
    if (fabric_set_groups (f, node, g, ngroups, e, &err) < 0)
        diag ("%s", err.text);
    free (e);
    free (g);
}

static uint32_t leaf (const struct fabric *f, int i)
{
    char name[16];

    snprintf (name, sizeof (name), "s1-%04d", i);
    return fabric_find_switch (f, name);
}

static struct fabric *reading (struct agents *a, struct error *err)
{
    const struct mads_wire wire = agents_wire (a);
    struct mads *m = mads_create (&mads_defaults, &wire, err);
    struct fabric *f;

    err->text[0] = '\0';
    f = steady_read (m, "test/1", NULL, NULL, NULL, err);
    mads_destroy (m);
    if (!f)
        diag ("%s", err->text);
    return f;
}

static uint64_t asked (const struct agents *a, uint16_t attr)
{
    return agents_count (a, MADS_DIRECTED, attr);
}

static bool same_spread (const struct fabric_node *a,
                         const struct fabric_node *b)
{
    if (!a->spread.known != !b->spread.known
        || spread_differs (&a->spread, &b->spread)
        || !a->spread.entry != !b->spread.entry)
        return false;
    for (unsigned int lid = 0; lid <= a->lft_top; lid++)
        if (spread_moved (a, lid, b, lid)
            || (a->spread.entry
                && memcmp (&a->spread.entry[lid], &b->spread.entry[lid],
                           sizeof (struct spread_entry)) != 0))
            return false;
    return true;
}

/* Switches that were read as they are. */
static size_t right (const struct fabric *f, const struct fabric *got)
{
    size_t n = 0;

    for (size_t i = 0; got && i < f->nnodes; i++)
        n += f->node[i].type == NODE_SWITCH
             && same_spread (&f->node[i], &got->node[i]);
    return n;
}

static void all (void)
{
    static const struct {
        size_t ngroups;
        unsigned int masks, loss;
    } rows[] = {
        { 1, 1, 0 }, { 2, 2, 0 }, { 5, 1, 0 }, { 5, 3, 0 }, { 511, 2, 0 },
        { 3, 2, 20 },
    };

    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        struct fabric *f = model (), *got;
        struct error err = { 0 };
        struct agents *a;
        size_t blocks;

        for (uint32_t k = 0; k < f->nnodes; k++)
            if (f->node[k].type == NODE_SWITCH)
                spread (f, k, rows[i].ngroups);
        a = agents_create (f, NULL, 7);
        for (size_t k = 0; k < f->nnodes; k++)
            a->node[k].ar.masks = rows[i].masks - 1;
        a->loss = rows[i].loss;
        got = reading (a, &err);
        blocks = (rows[i].ngroups * rows[i].masks + 1) / 2;
        ok (right (f, got) == 12 && got->nwarnings == 0,
            "%zu groups of %u masks, %u %% lost: %zu switches",
            rows[i].ngroups, rows[i].masks, rows[i].loss, right (f, got));
        if (rows[i].loss == 0)
            ok (asked (a, AGENTS_AR_GROUPS) == 12 * blocks
                    && asked (a, AGENTS_AR_LFT) == 12 * 3
                    && asked (a, AGENTS_PRIVATE_INFO) == 12
                    && asked (a, AGENTS_PRIVATE_MAP) == 0,
                "... each block once: %d, %d",
                (int)asked (a, AGENTS_AR_GROUPS),
                (int)asked (a, AGENTS_AR_LFT));
        fabric_destroy (got);
        agents_destroy (a);
        fabric_destroy (f);
    }
}

/* A static fabric costs no additional MAD; where one switch spreads messages,
 * it alone is asked over which ports, and all are asked for SL-to-VL tables.
 */
static void cost (void)
{
    struct fabric *f = model (), *got;
    struct error err = { 0 };
    struct agents *a = agents_create (f, NULL, 7);
    uint64_t sent;

    for (size_t i = 0; i < f->nnodes; i++)
        a->node[i].ar.known = i % 2;
    got = reading (a, &err);
    sent = a->sent;
    ok (got && asked (a, AGENTS_AR_LFT) + asked (a, AGENTS_AR_GROUPS)
                       + asked (a, AGENTS_PRIVATE_INFO)
                       + asked (a, AGENTS_SL_TO_VL) == 0,
        "nobody spreads messages: nothing more is asked, in %d MADs",
        (int)sent);
    fabric_destroy (got);
    agents_destroy (a);
    spread (f, leaf (f, 3), 2);
    a = agents_create (f, NULL, 7);
    got = reading (a, &err);
    ok (right (f, got) == 1 && asked (a, AGENTS_AR_LFT) == 3
            && asked (a, AGENTS_AR_GROUPS) == 1,
        "one does: only it is asked over which ports");
    /* leaves: 8 ports, a table of each kind; spines: of switches alone */
    ok (asked (a, AGENTS_SL_TO_VL) == 8 * 8 * 2 + 4 * 8 + 32,
        "... two tables for each port of a leaf, one for others: %d",
        (int)asked (a, AGENTS_SL_TO_VL));
    fabric_destroy (got);
    agents_destroy (a);
    fabric_destroy (f);
}

/* One leaf does not answer as it should. */
struct fault {
    const char *what;
    uint16_t attr;
    uint32_t block;      /* and those after it */
    int status;          /* -1: silence */
    void (*damage) (struct fabric_node *n);
    const char *warning; /* NULL: none */
};

static uint32_t bad; /* node */

static bool silence (struct agents *a, const struct agents_request *r,
                     void *arg)
{
    const struct fault *fault = arg;

    (void)a;
    return fault->status >= 0 || r->node != bad || r->attribute != fault->attr
           || r->modifier < fault->block;
}

static bool refuse (struct agents *a, const struct agents_request *r,
                    uint8_t answer[MADS_SIZE], void *arg)
{
    const struct fault *fault = arg;

    (void)a;
    if (fault->status > 0 && r->node == bad && r->attribute == fault->attr
        && r->modifier >= fault->block)
        answer[5] = fault->status;
    return true;
}

static void empty (struct fabric_node *n)
{
    memset (n->spread.group, 0, n->spread.ngroups * sizeof (*n->spread.group));
}

static void beyond (struct fabric_node *n)
{
    n->spread.group[0].port[0] |= 1 << 9;
}

static void own (struct fabric_node *n)
{
    n->spread.group[1].port[0] |= 1;
}

static void far_group (struct fabric_node *n)
{
    n->spread.entry[7] = (struct spread_entry){ SPREAD_FREE, 5, 4000 };
}

static void static_port (struct fabric_node *n)
{
    n->spread.entry[6].port = 200;
}

/* A LID that nobody has. */
static void stray (struct fabric_node *n)
{
    n->spread.entry[0] = (struct spread_entry){ SPREAD_FREE, 5, 4000 };
}

static void faults (void)
{
    static const struct fault rows[] = {
        { "no table", AGENTS_AR_LFT, 0, 0x0c, NULL,
          "block 0 of the table of groups is refused, status 0x000c" },
        { "a part of the table", AGENTS_AR_LFT, 2, 0x1c, NULL,
          "block 2 of the table of groups is refused, status 0x001c" },
        { "a silent table", AGENTS_AR_LFT, 1, -1, NULL,
          "block 1 of the table of groups did not arrive" },
        { "no groups", AGENTS_AR_GROUPS, 0, 0x0c, NULL,
          "block 0 of the groups is refused, status 0x000c" },
        { "silent groups", AGENTS_AR_GROUPS, 0, -1, NULL,
          "block 0 of the groups did not arrive" },
        { "empty groups", 0, 0, 0, empty, "goes to group 1, which has no "
          "ports" },
        { "a port too many", 0, 0, 0, beyond, "has port 9, and the switch "
          "ports 1 to 8" },
        { "a group too many", 0, 0, 0, far_group,
          "it has 512 groups, and LIDs go to group 4000" },
        { "a static port too many", 0, 0, 0, static_port,
          "has static port 200, and the switch ports 1 to 8" },
        { "a group with the switch itself", 0, 0, 0, own, NULL },
        { "the group of a LID that nobody has", 0, 0, 0, stray, NULL },
        { "no PrivateLFTInfo", AGENTS_PRIVATE_INFO, 0, 0x0c, NULL, NULL },
        { "no SL-to-VL tables", AGENTS_SL_TO_VL, 0, 0x0c, NULL, NULL },
        { "silent SL-to-VL tables", AGENTS_SL_TO_VL, 0, -1, NULL, NULL },
    };

    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        struct fabric *f = model (), *got;
        struct fault fault = rows[i];
        struct error err = { 0 };
        struct agents *a;
        bool known;

        bad = leaf (f, 2);
        spread (f, leaf (f, 1), 2);
        spread (f, bad, 2);
        if (fault.damage)
            fault.damage (&f->node[bad]);
        a = agents_create (f, NULL, 7);
        a->before = silence;
        a->after = refuse;
        a->arg = &fault;
        got = reading (a, &err);
        known = got && got->node[bad].spread.entry;
        ok (got && same_spread (&f->node[leaf (f, 1)],
                                &got->node[leaf (f, 1)])
                && got->node[bad].spread.hashed == 0x00ff
                && known == !fault.warning
                && got->nwarnings == (fault.warning ? 1 : 0)
                && (known || !got->node[bad].spread.group)
                && (!fault.warning
                    || (strstr (got->warning[0], fault.warning)
                        && strstr (got->warning[0], "1 switch: s1-0002 ("))),
            "%s: %s", fault.what,
            got && got->nwarnings ? got->warning[0] : "no warning");
        fabric_destroy (got);
        agents_destroy (a);
        fabric_destroy (f);
    }
}

static void private_lfts (void)
{
    static const struct {
        const char *what;
        uint8_t mode, table;
        int map; /* the status of the map */
        bool private;
    } rows[] = {
        { "off", 0, 1, 0, false }, { "on, with one table", 1, 0, 0, false },
        { "on, with two", 1, 1, 0, true }, { "on, and refused", 1, 0, 0x0c,
          true },
    };

    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        struct fault fault = { .attr = AGENTS_PRIVATE_MAP,
                               .status = rows[i].map };
        struct fabric *f = model (), *got;
        struct error err = { 0 };
        struct agents *a;

        bad = leaf (f, 2);
        spread (f, bad, 2);
        a = agents_create (f, NULL, 7);
        a->node[bad].private.mode = rows[i].mode;
        a->node[bad].private.table[5] = rows[i].table;
        a->after = refuse;
        a->arg = &fault;
        got = reading (a, &err);
        ok (got && got->node[bad].spread.private_lfts == rows[i].private
                && !got->node[leaf (f, 1)].spread.private_lfts
                && got->nwarnings == 0,
            "private LFTs: %s", rows[i].what);
        fabric_destroy (got);
        agents_destroy (a);
        fabric_destroy (f);
    }
}

/* Of one leaf's first port, messages from hosts are dropped on level 9, those
 * from switches on level 4. Of its second, level i goes to VL i.
 */
static bool by_input (struct agents *a, const struct agents_request *r,
                      uint8_t answer[MADS_SIZE], void *arg)
{
    uint8_t *data = answer + MADS_DATA_OFFSET;

    (void)arg;
    if (r->attribute == AGENTS_SL_TO_VL && r->node == leaf (a->f, 3)
        && (r->modifier & 0xff) == 1)
        data[r->modifier >> 8 > UP ? 2 : 4] = r->modifier >> 8 > UP ? 0xf0
                                                                    : 0x0f;
    if (r->attribute == AGENTS_SL_TO_VL && r->node == leaf (a->f, 3)
        && (r->modifier & 0xff) == 2)
        for (int i = 0; i < 8; i++)
            data[i] = (2 * i) << 4 | (2 * i + 1);
    return true;
}

static void drops (void)
{
    struct fabric *f = model (), *got;
    struct error err = { 0 };
    uint32_t up = fabric_find_port (f, "s1-0001/6");
    uint32_t host = fabric_find_port (f, "h0007/1");
    uint32_t third = fabric_find_port (f, "s1-0003/1");
    struct agents *a;
    size_t n = 0;

    spread (f, leaf (f, 2), 2);
    f->port[up].dropped = 0x8000;
    f->port[host].dropped = 0x7ffe;
    a = agents_create (f, NULL, 7);
    a->after = by_input;
    a->p[third + 1].vls = 4;
    a->p[up].vls = 5;
    a->p[host].vls = 1;
    got = reading (a, &err);
    for (size_t i = 0; got && i < got->nports; i++)
        n += got->port[i].dropped != 0;
    ok (got && got->port[up].dropped == 0x8000, "levels that a switch drops");
    ok (got && got->port[host].dropped == 0x7ffe, "... that an adapter drops");
    ok (got && got->port[third].dropped == (1 << 9 | 1 << 4),
        "... that are dropped by where they come from: %04x",
        got ? got->port[third].dropped : 0);
    ok (got && got->port[third + 1].dropped == 0xff00,
        "... that go to VLs which a port with eight does not have");
    ok (n == 4, "... of no other port");
    fabric_destroy (got);
    agents_destroy (a);
    fabric_destroy (f);
}

/* Polls. */

static int poll (struct agents *a, const struct fabric *f, uint64_t turn,
                 struct error *why)
{
    const struct mads_wire wire = agents_wire (a);
    struct error err = { 0 };
    struct mads *m = mads_create (&mads_defaults, &wire, &err);
    int rc = look_changed (m, f, turn, why, &err);

    mads_destroy (m);
    return rc;
}

static void polls (void)
{
    struct fabric *f = model (), *got;
    uint32_t one = leaf (f, 2);
    struct error err = { 0 }, why = { 0 };
    struct agents *a;
    int seen = 0, before;

    spread (f, one, 2);
    spread (f, leaf (f, 1), 2);
    a = agents_create (f, NULL, 7);
    got = reading (a, &err);
    before = asked (a, AGENTS_AR_LFT) + asked (a, AGENTS_AR_INFO);
    ok (got && poll (a, got, 0, &why) == 0 && poll (a, got, 1, &why) == 0
            && poll (a, got, 2, &why) == 0,
        "nothing has changed%s", why.text);
    ok ((int)(asked (a, AGENTS_AR_LFT) + asked (a, AGENTS_AR_INFO)) - before
            == 3 * 2 * 2,
        "... two MADs a poll for each switch that spreads messages");
    f->node[one].spread.entry[20].group = 0;
    for (int turn = 0; got && turn < 3; turn++)
        seen += poll (a, got, turn, &why) == 1;
    ok (seen == 1 && strstr (why.text, "switch s1-0002"),
        "another group, of one LID: seen once in three polls: %s", why.text);
    f->node[one].spread.entry[20].group = 1;
    f->node[one].spread.entry[0].group = 0; /* nobody's */
    ok (got && poll (a, got, 0, &why) == 0 && poll (a, got, 1, &why) == 0
            && poll (a, got, 2, &why) == 0, "... back again");
    a->node[one].ar.hash_mask = 0x000f;
    ok (got && poll (a, got, 0, &why) == 1, "other service levels: %s",
        why.text);
    fabric_destroy (got);
    agents_destroy (a);
    fabric_destroy (f);
}

/* A subnet manager turns adaptive routing on, at all switches. */
static void turned_on (void)
{
    struct fabric *f = model (), *got;
    struct error err = { 0 }, why = { 0 };
    struct agents *a = agents_create (f, NULL, 7);
    int seen = 0;

    for (size_t i = 0; i < f->nnodes; i++)
        a->node[i].ar.known = true;
    got = reading (a, &err);
    for (int turn = 0; got && turn < 64; turn++)
        seen += poll (a, got, turn, &why) != 0;
    ok (seen == 0 && asked (a, AGENTS_AR_INFO) == 12 + 12,
        "nobody spreads messages: a switch is asked once in 64 polls%s",
        why.text);
    for (size_t i = 0; i < f->nnodes; i++) {
        a->node[i].ar.enabled = true;
        a->node[i].ar.sl_mask = 1;
        a->node[i].ar.group_cap = 512;
    }
    for (int turn = 0; got && turn < 64; turn++)
        seen += poll (a, got, turn, &why) == 1;
    ok (seen == 12, "... now all do: seen in %d of 64 polls, %s", seen,
        why.text);
    fabric_destroy (got);
    agents_destroy (a);
    fabric_destroy (f);
}

/* A part of the fabric: of two hosts, or of the n of a bigger tree. */
static struct fabric *read_part (struct agents *a, const char *const *name,
                                 size_t n, struct error *err)
{
    const struct reach_hosts hosts = { name, n, NULL };
    struct mads_wire wire = agents_wire (a);
    struct mads *m = mads_create (&mads_defaults, &wire, err);
    struct fabric *f;

    err->text[0] = '\0';
    f = reach_read (m, "test/1", NULL, &hosts, err);
    mads_destroy (m);
    return f;
}

/* The GUIDs and ports to which a switch may send messages for a LID, in a
 * text.
 */
static void leaving (const struct fabric *f, uint32_t node, uint32_t to,
                     char *text, size_t size)
{
    const struct traffic_class as = { .level = 0, .rc = true };
    const struct network *net = fabric_network (f);
    uint32_t arc[SWITCH_PORTS];
    size_t n = net->hops (f, &as, node, to, arc, SWITCH_PORTS), len = 0;

    *text = '\0';
    if (n == 0 && net->hop (f, node, to, arc) != NETWORK_NONE)
        n = 1;
    for (size_t i = 0; i < n; i++) {
        const struct fabric_link *l = &f->link[arc[i] / 2];
        const struct fabric_port *p = &f->port[arc[i] % 2 ? l->a : l->b];

        len += snprintf (text + len, size - len, " %llx/%u",
                         (unsigned long long)f->node[p->node].guid, p->num);
    }
}

/* Whether messages between the hosts may go the same ways in the part. */
static bool same_ways (const struct fabric *f, const struct fabric *part,
                       const char *const *name, size_t n)
{
    bool *seen = xcalloc (f->nnodes, sizeof (*seen)), same = true;
    uint32_t *queue = xcalloc (f->nnodes, sizeof (*queue));

    for (size_t k = 0; k < n; k++) {
        uint32_t to = fabric_find_endpoint (f, name[k]);
        uint32_t to_part = fabric_find_endpoint (part, name[k]);
        size_t count = 0;

        memset (seen, 0, f->nnodes * sizeof (*seen));
        for (size_t i = 0; i < n; i++) {
            uint32_t port
                = f->endpoint[fabric_find_endpoint (f, name[i])].port;
            uint32_t at = f->port[fabric_far_port (f, port)].node;

            if (!seen[at])
                queue[count++] = at;
            seen[at] = true;
        }
        for (size_t i = 0; i < count; i++) {
            const struct fabric_node *node = &f->node[queue[i]];
            uint32_t in_part = fabric_find_node (part, node->guid);
            char whole[400], got[400] = "";
            const char *p = whole;

            leaving (f, queue[i], to, whole, sizeof (whole));
            if (in_part != FABRIC_NONE)
                leaving (part, in_part, to_part, got, sizeof (got));
            same &= *whole && strcmp (whole, got) == 0;
            while ((p = strchr (p, ' '))) {
                uint32_t next = fabric_find_node (f, strtoull (++p, NULL, 16));

                if (f->node[next].type == NODE_SWITCH && !seen[next])
                    queue[count++] = next;
                seen[next] = true;
            }
        }
    }
    free (seen);
    free (queue);
    return same;
}

static void spread_all (struct fabric *f)
{
    for (uint32_t k = 0; k < f->nnodes; k++)
        if (f->node[k].type == NODE_SWITCH)
            spread (f, k, 3);
}

static void part (void)
{
    static const char *const name[] = { "h0001", "h0006" };
    struct fault fault = { .attr = AGENTS_AR_LFT, .status = 0x0c };
    struct fabric *f = model (), *got;
    struct error err = { 0 };
    struct agents *a;
    uint32_t port;

    spread_all (f);
    f->port[fabric_find_port (f, "h0006/1")].dropped = 0x0f0f;
    a = agents_create (f, NULL, 7);
    got = read_part (a, name, 2, &err);
    port = got ? fabric_find_port (got, "h0006/1") : 0;
    ok (got && got->nnodes == 2 + 2 + 4 && same_ways (f, got, name, 2)
            && got->port[port].dropped == 0x0f0f && got->nwarnings == 0,
        "a part: all ways of messages between two hosts%s", err.text);
    ok (asked (a, AGENTS_AR_LFT) == 6 && asked (a, AGENTS_AR_GROUPS) == 2,
        "... at the cost of a block of six tables, and of a group of two");
    fabric_destroy (got);
    bad = leaf (f, 1);
    a->after = refuse;
    a->arg = &fault;
    got = read_part (a, name, 2, &err);
    ok (got && !same_ways (f, got, name, 2) && got->nwarnings == 1
            && strstr (got->warning[0], "s1-0001"),
        "... one refuses: %s", got ? got->warning[0] : err.text);
    fabric_destroy (got);
    agents_destroy (a);
    fabric_destroy (f);
}

static void parts (void)
{
    const struct fat_tree tree = { .ports = SWITCH_PORTS, .levels = 3 };
    const char *name[12];
    struct error err = { 0 };
    struct fabric *f = generate_fat_tree (&tree, &err), *got;
    struct agents *a;
    struct rng rng;

    rng_seed (&rng, 20);
    spread_all (f);
    a = agents_create (f, NULL, 7);
    a->loss = 5;
    for (size_t n = 1; n <= 12; n += 3) {
        for (size_t i = 0; i < n; i++)
            name[i] = f->host[i * 10 + rng_below (&rng, 10)].name;
        got = read_part (a, name, n, &err);
        ok (got && got->part && same_ways (f, got, name, n)
                && got->nwarnings == 0,
            "a part of %zu hosts: %zu switches and hosts of %zu%s", n,
            got ? got->nnodes : 0, f->nnodes, err.text);
        fabric_destroy (got);
    }
    agents_destroy (a);
    fabric_destroy (f);
}

int main (void)
{
    all ();
    cost ();
    faults ();
    private_lfts ();
    drops ();
    polls ();
    turned_on ();
    part ();
    parts ();
    return done_testing ();
}
