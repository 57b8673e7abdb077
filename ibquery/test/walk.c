/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "ibquery/fabric.h"

#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"

/* Three leaves in a row, hosts h1 (LID 1), h2 (2) and h3 (3, 4 ports, one of
 * them a rail with LID 4) on one each; port 1 is the host's, 2 leads to the
 * left, 3 to the right; h3's second port is on port 4 of the last leaf.
 */
enum { LEAVES = 3, TOP = 6 };

static const uint8_t healthy[LEAVES][TOP + 1] = {
    /* LID 0     1  2  3  4  5     6 */
    { 0xff, 1, 3, 3, 3, 0xff, 0xff },
    { 0xff, 2, 1, 3, 3, 0xff, 0xff },
    { 0xff, 2, 2, 1, 4, 0xff, 0xff },
};

static struct fabric *row (int leaf, int lid, int port, unsigned int top)
{
    struct fabric *f = fabric_create ();
    struct error err = { 0 };
    char desc[16];

    for (int i = 0; i < LEAVES; i++) {
        uint8_t lft[TOP + 1];

        snprintf (desc, sizeof (desc), "leaf%d", i + 1);
        fabric_add_node (f, 0x20 + i, NODE_SWITCH, 5, desc, &err);
        fabric_set_switch_lid (f, i, 10 + i, &err);
        memcpy (lft, healthy[i], sizeof (lft));
        if (i == leaf)
            lft[lid] = port;
        fabric_set_lft (f, i, lft, i == leaf ? top : TOP, &err);
    }
    for (int i = 0; i < LEAVES; i++) {
        snprintf (desc, sizeof (desc), "h%d x", i + 1);
        fabric_add_node (f, 0x10 + i, NODE_CA, 4, desc, &err);
        fabric_set_port (f, LEAVES + i, 1, 0x30 + i, i + 1, 0, &err);
        fabric_add_cable (f, LEAVES + i, 1, i, 1, 4, "HDR", &err);
        if (i > 0)
            fabric_add_cable (f, i, 2, i - 1, 3, 4, "HDR", &err);
    }
    fabric_set_port (f, LEAVES + 2, 4, 0x40, 4, 0, &err);
    fabric_add_cable (f, LEAVES + 2, 4, 2, 4, 4, "HDR", &err);
    if (fabric_finish (f, &err) < 0) {
        diag ("%s", err.text);
        fabric_destroy (f);
        return NULL;
    }
    return f;
}

static void broken (void)
{
    static const struct {
        int leaf, lid, port;
        unsigned int top;
        const char *from, *to, *sentence; /* NULL: the path is whole */
    } rows[] = {
        { 0, 5, 0xff, TOP, "h1", "h3:1", NULL },
        { 1, 3, 0xff, TOP, "h1", "h3:1",
          "switch leaf2 (0000000000000021) has no route to LID 3" },
        { 1, 3, 0xff, TOP, "h3:1", "h1", NULL },
        { 1, 3, 0, TOP, "h1", "h3:1", "sends LID 3 to itself, port 0" },
        { 1, 3, 6, TOP, "h1", "h3:1", "sends LID 3 to port 6, but has 5" },
        { 1, 3, 254, TOP, "h1", "h3:1", "sends LID 3 to port 254" },
        { 1, 3, 5, TOP, "h1", "h3:1",
          "sends LID 3 to port 5, which is not connected" },
        { 1, 3, 1, TOP, "h1", "h3:1", "h2 x/1, which does not have it" },
        { 1, 3, 2, TOP, "h1", "h3:1", "LID 3 is sent in a loop" },
        { 1, 3, 3, 2, "h1", "h3:1",
          "LID 3 lies beyond its forwarding table, which ends at 2" },
        { 2, 4, 1, TOP, "h1", "h3:2", "h3 x/1, which does not have it" },
    };

    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        struct fabric *f = row (rows[i].leaf, rows[i].lid, rows[i].port,
                                rows[i].top);
        uint32_t arc[PATH_MAX_HOPS];
        struct error err = { 0 };
        int n;

        n = fabric_walk (f, fabric_find_endpoint (f, rows[i].from),
                         fabric_find_endpoint (f, rows[i].to), arc, &err);
        ok (rows[i].sentence ? n == -1 && strstr (err.text, rows[i].sentence)
                             : n == 4,
            "leaf%d LID %d -> %d: %s", rows[i].leaf + 1, rows[i].lid,
            rows[i].port, n < 0 ? err.text : "whole");
        fabric_destroy (f);
    }
}

static void sets (void)
{
    static const struct {
        const char *name[3];
        int n;
        const char *sentence;
        size_t size;
        const char *first;
    } rows[] = {
        { { NULL }, 0, NULL, 4, "h1" },
        { { "h1", "h2" }, 2, NULL, 2, "h1" },
        { { "h2", "h1" }, 2, NULL, 2, "h2" },
        { { "h3", "h1" }, 2, NULL, 3, "h3:1" },
        { { "h3:2", "h1" }, 2, NULL, 2, "h3:2" },
        { { "h1" }, 1, NULL, 1, "h1" },
        { { "h1", "h4", "h5" }, 3, "not in the fabric: h[4-5]", 0, NULL },
        { { "h3:3" }, 1, "not in the fabric: h3:3", 0, NULL },
        { { "h1", "h1" }, 2, "h1", 0, NULL },
        { { "h3", "h3", "h3" }, 3, "h3 is named twice", 0, NULL },
    };
    struct fabric *f = row (0, 5, 0xff, TOP);
    struct error err = { 0 };
    struct pathset *ps;

    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        ps = fabric_pathset (f, rows[i].name, rows[i].n, &err);
        ok (rows[i].sentence
                ? !ps && strstr (err.text, rows[i].sentence)
                : ps && pathset_size (ps) == rows[i].size
                      && strcmp (pathset_endpoint (ps, 0)->name,
                                 rows[i].first) == 0,
            "set %zu: %s", i, ps ? "made" : err.text);
        pathset_destroy (ps);
    }
    ps = fabric_resolve (NULL, 0, f, &err);
    ok (ps && pathset_size (ps) == 0, "nobody resolves to nobody");
    pathset_destroy (ps);
    ok (strcmp (fabric_network (f)->hash, f->hash) == 0
            && fabric_network (f)->nlinks == f->nlinks,
        "the network is the fabric's");
    fabric_destroy (f);
}

/* Two leaves with a host each and two spines, each leaf with two cables to each
 * spine: ports 2 and 3, 4 and 5. The tables use ports 2.
 */
static struct fabric *tree (struct fabric_spread spread)
{
    struct fabric *f = fabric_create ();
    struct error err = { 0 };

    for (uint32_t i = 0; i < 4; i++) {
        uint8_t lft[3] = { LFT_NO_ROUTE, 2, 2 };

        if (i < 2)
            lft[i + 1] = 1;
        else
            lft[1] = 1, lft[2] = 3;
        fabric_add_node (f, 0x20 + i, NODE_SWITCH, 5, "switch", &err);
        fabric_set_switch_lid (f, i, 10 + i, &err);
        fabric_set_lft (f, i, lft, 2, &err);
    }
    for (uint32_t i = 0; i < 2; i++) {
        fabric_add_node (f, 0x10 + i, NODE_CA, 1, i ? "b x" : "a x", &err);
        fabric_set_port (f, 4 + i, 1, 0x30 + i, i + 1, 0, &err);
        fabric_add_cable (f, 4 + i, 1, i, 1, 4, "HDR", &err);
        for (uint32_t k = 0; k < 4; k++)
            fabric_add_cable (f, i, 2 + k, 2 + k / 2, 1 + 2 * i + k % 2, 4,
                              "HDR", &err);
    }
    f->node[0].spread = spread;
    ok (fabric_finish (f, &err) == 0, "a tree with parallel cables: %s",
        err.text);
    return f;
}

/* The ports of the first leaf by which messages to a host may leave, as bits.
 */
static unsigned int ports_to (const struct fabric *f, const char *host, bool rc,
                              unsigned int level)
{
    const struct network *net = fabric_network (f);
    struct traffic_class as = { level, rc };
    uint32_t arc[8] = { 0 }, leaf = fabric_find_node (f, 0x20);
    size_t n = net->hops (net->net, &as, leaf, fabric_find_end (f, host), arc,
                          8);
    unsigned int bits = 0;

    for (size_t i = 0; i < n; i++) {
        const struct fabric_link *l = &f->link[arc_link (arc[i])];
        uint32_t from = arc[i] % 2 ? l->b : l->a;

        if (f->port[from].node == leaf && (i == 0 || arc[i] > arc[i - 1]))
            bits |= 1U << f->port[from].num;
    }
    return bits;
}

static void spread (void)
{
    enum { ALL = 1 << 2 | 1 << 3 | 1 << 4 | 1 << 5 };
    static const struct {
        struct fabric_spread spread;
        struct spread_entry entry; /* for b, if there is a group */
        uint64_t group;
        bool rc;
        unsigned int level, ports;
        const char *what;
    } rows[] = {
        { { 0 }, { 0 }, 0, false, 0, 0, "nothing reported: by the table" },
        { { .ud = 1 }, { 0 }, 0, false, 0, 0, "not known: by the table" },
        { { .known = true, .hashed = 1 }, { 0 }, 0, false, 0, ALL,
          "hashed: over all that lead there" },
        { { .known = true, .hashed = 1 }, { 0 }, 0, false, 1, 0,
          "another level" },
        { { .known = true, .hashed = 1 }, { 0 }, 0, false, 16, 0,
          "no such level" },
        { { .known = true, .rc = 2 }, { 0 }, 0, true, 1, ALL,
          "adaptive: connections" },
        { { .known = true, .rc = 2 }, { 0 }, 0, false, 1, 0,
          "adaptive: not datagrams" },
        { { .known = true, .ud = 1, .ngroups = 1 }, { SPREAD_FREE, 2, 0 },
          1 << 3 | 1 << 4, false, 0, 1 << 3 | 1 << 4, "a group" },
        { { .known = true, .ud = 1, .ngroups = 1 }, { SPREAD_STATIC, 5, 0 },
          1 << 3 | 1 << 4, false, 0, 1 << 5, "a static port" },
        { { .known = true, .ud = 1, .ngroups = 1 }, { SPREAD_FREE, 2, 0 }, 0,
          false, 0, 0, "an empty group: by the table" },
    };

    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        struct fabric_spread s = rows[i].spread;
        struct spread_group group = { .port = { rows[i].group } };
        struct spread_entry entry[3] = { [2] = rows[i].entry };
        struct fabric *f;

        if (s.ngroups > 0) {
            s.group = &group;
            s.entry = entry;
        }
        f = tree (s);
        ok (ports_to (f, "b", rows[i].rc, rows[i].level) == rows[i].ports,
            "%s", rows[i].what);
        if (rows[i].ports == ALL)
            ok (ports_to (f, "a", rows[i].rc, rows[i].level) == 1 << 1,
                "to the host at the switch itself: its port");
        fabric_destroy (f);
    }
}

int main (void)
{
    broken ();
    sets ();
    spread ();
    return done_testing ();
}
