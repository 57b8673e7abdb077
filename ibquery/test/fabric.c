/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "ibquery/fabric.h"

#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"

/* What host_names builds: adapters on one switch, LIDs 1, 2, ... */
static const struct {
    const char *desc;
    const char *endpoint; /* NULL: no host */
} adapters[] = {
    { "node1 HCA-1", "node1" },
    { "node2 mlx5_0", "node2:1" },
    { "node2 mlx5_1", "node2:2" },
    { "node2 mlx5_1", "node2:3" },
    { "node-3.example.org", "node-3.example.org" },
    { "Mellanox Technologies Aggregation Node", NULL },
    { "MT4123 ConnectX6   Mellanox Technologies", "0000000000000007" },
    { "localhost mlx5_0", "0000000000000008" },
    { "", "0000000000000009" },
    { "bad;name mlx5_0", "000000000000000a" },
    { "-rf", "000000000000000b" },
    { "caf\xc3\xa9 \x1b[31m", "000000000000000c" },
    { "0123456789012345678901234567890123456789012345678901234567890123"
      "4567890123456789",
      "000000000000000d" },
};
enum { ADAPTERS = sizeof (adapters) / sizeof (adapters[0]) };

static struct fabric *star (struct error *err)
{
    struct fabric *f = fabric_create ();

    fabric_add_node (f, 0x100, NODE_SWITCH, 40, "leaf one", err);
    fabric_set_switch_lid (f, 0, 100, err);
    for (int i = 0; i < ADAPTERS; i++) {
        fabric_add_node (f, i + 1, NODE_CA, 1, adapters[i].desc, err);
        fabric_set_port (f, i + 1, 1, 0x1000 + i, i + 1, 0, err);
        fabric_add_cable (f, i + 1, 1, 0, i + 1, 4, "HDR", err);
    }
    return f;
}

static void host_names (void)
{
    struct error err = { 0 };
    struct fabric *f = star (&err);
    size_t hosts = 0;
    char name[160];

    ok (fabric_finish (f, &err) == 0, "finished: %s", err.text);
    for (int i = 0; i < ADAPTERS; i++) {
        uint32_t node = fabric_find_node (f, i + 1), e;
        bool rail = false;

        if (!adapters[i].endpoint) {
            ok (f->node[node].host == FABRIC_NONE, "no host: %s",
                adapters[i].desc);
            continue;
        }
        e = fabric_find_endpoint (f, adapters[i].endpoint);
        ok (e != FABRIC_NONE
                && f->port[f->endpoint[e].port].guid == 0x1000u + i
                && strcmp (f->endpoint[e].name, adapters[i].endpoint) == 0,
            "adapter %d is %s", i + 1, adapters[i].endpoint);
        rail = strchr (adapters[i].endpoint, ':') != NULL;
        hosts += !rail || strstr (adapters[i].endpoint, ":1");
    }
    ok (f->nhosts == hosts, "%zu hosts", f->nhosts);
    ok (f->nwarnings == 1
            && strncmp (f->warning[0], "7 adapters do not", 17) == 0,
        "one warning of all: %s", f->warning[0]);
    for (size_t i = 0; i < f->nwarnings; i++)
        ok (strspn (f->warning[i], "\x1b\n") == 0
                && !strchr (f->warning[i], '\x1b'),
            "clean: %s", f->warning[i]);
    ok (fabric_find_endpoint (f, "node2:4") == FABRIC_NONE
            && fabric_find_endpoint (f, "node2:0") == FABRIC_NONE
            && fabric_find_endpoint (f, "node2:") == FABRIC_NONE
            && fabric_find_endpoint (f, "") == FABRIC_NONE,
        "rails that are not there");
    ok (fabric_find_endpoint (f, "node2") == f->host[
            fabric_find_host (f, "node2")].first, "the first rail");
    fabric_port_name (f, f->link[fabric_find_link (f, "node1/1")].b, name,
                      sizeof (name));
    ok (strcmp (name, "leaf one/1") == 0, "port name: %s", name);
    fabric_destroy (f);
}

/* A site's switches may all have one description. */
static void names_alike (void)
{
    static const struct {
        uint64_t guid;
        enum node_type type;
        const char *desc, *name;
    } rows[] = {
        { 0x0002c90000000001, NODE_SWITCH, "Infiniscale-IV",
          "Infiniscale-IV-0002c90000000001" },
        { 0x0002c90000000002, NODE_SWITCH, "Infiniscale-IV",
          "Infiniscale-IV-0002c90000000002" },
        { 0x0002c90000000003, NODE_SWITCH, "leaf", "leaf" },
        { 0x0002c90000000004, NODE_SWITCH, "", "0002c90000000004" },
        { 0x0002c90000000005, NODE_SWITCH, "", "0002c90000000005" },
        { 0x0002c90000000006, NODE_SWITCH, /* 63 bytes */
          "123456789012345678901234567890123456789012345678901234567890abc",
          "123456789012345678901234567890123456789012-0002c90000000006" },
        { 0x0002c90000000007, NODE_SWITCH,
          "123456789012345678901234567890123456789012345678901234567890abc",
          "123456789012345678901234567890123456789012-0002c90000000007" },
    };
    const size_t n = sizeof (rows) / sizeof (rows[0]);
    struct fabric *f = fabric_create ();
    struct error err = { 0 };
    char name[160];

    for (size_t i = 0; i < n; i++)
        fabric_add_node (f, rows[i].guid, rows[i].type, 4, rows[i].desc,
                         &err);
    for (size_t i = 0; i + 1 < n; i++)
        fabric_add_cable (f, i, 1, i + 1, 2, 4, "EDR", &err);
    ok (fabric_finish (f, &err) == 0, "finished");
    for (size_t i = 0; i < n; i++) {
        uint32_t node = fabric_find_node (f, rows[i].guid);

        snprintf (name, sizeof (name), "%s/%zu", rows[i].name, i ? 2 : 1ul);
        ok (strcmp (f->node[node].name, rows[i].name) == 0
                && strcmp (f->node[node].desc, rows[i].desc) == 0
                && strcmp (fabric_network (f)->sw[node].name, rows[i].name)
                       == 0
                && fabric_find_switch (f, rows[i].name) == node
                && fabric_find_port (f, name)
                       == f->node[node].first_port + (i > 0),
            "called %s, and found by it", f->node[node].name);
    }
    ok (fabric_find_switch (f, "Infiniscale-IV") == FABRIC_NONE,
        "a description that two have is no name");
    fabric_port_name (f, f->link[0].a, name, sizeof (name));
    ok (strcmp (name, "Infiniscale-IV-0002c90000000001/1") == 0
            && strlen (rows[n - 1].name) + strlen ("/254") < FABRIC_NAME_MAX,
        "a port: %s", name);
    fabric_destroy (f);
}

static void find_links (void)
{
    struct error err = { 0 };
    struct fabric *f = star (&err);
    static const struct {
        const char *text, *id;
    } rows[] = {
        { "0000000000000001/1", "0000000000000001/1" },
        { "0000000000000100/1", "0000000000000001/1" },
        { "node1/1", "0000000000000001/1" },
        { "node1 HCA-1/1", "0000000000000001/1" },
        { "leaf one/1", "0000000000000001/1" },
        { "leaf one/2", "0000000000000002/1" },
        { "node2 mlx5_0/1", "0000000000000002/1" },
        { "node2/1", NULL }, /* which rail? */
        { "node2 mlx5_1/1", NULL },
        { "leaf one/40", NULL },
        { "leaf one/41", NULL },
        { "leaf one/0", NULL },
        { "leaf one/", NULL },
        { "leaf one", NULL },
        { "leaf one/1/1", NULL },
        { "/1", NULL },
        { "", NULL },
        { "0000000000000100/41", NULL },
        { "0000000000000abc/1", NULL },
    };

    ok (fabric_finish (f, &err) == 0, "finished");
    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        uint32_t l = fabric_find_link (f, rows[i].text);

        ok (rows[i].id ? l != FABRIC_NONE
                             && strcmp (f->link[l].id, rows[i].id) == 0
                       : l == FABRIC_NONE,
            "link \"%s\"", rows[i].text);
    }
    ok (f->port[fabric_find_port (f, "node1/1")].node
                != f->port[fabric_find_port (f, "leaf one/1")].node
            && fabric_find_port (f, "leaf one/40") == FABRIC_NONE,
        "a port is one end of a link");
    ok (fabric_find_switch (f, "leaf one") != FABRIC_NONE
            && fabric_find_switch (f, "leaf one")
                   == fabric_find_switch (f, "0000000000000100")
            && fabric_find_switch (f, "0000000000000001") == FABRIC_NONE
            && fabric_find_switch (f, "node1 HCA-1") == FABRIC_NONE,
        "a switch by its GUID or its description");
    fabric_destroy (f);
}

/* Two hosts, two leaves, a spine, two parallel cables on one side; nodes and
 * cables in the order given or in reverse.
 */
struct variant {
    const char *name;
    bool reverse;
    const char *desc, *speed;
    unsigned int last_port; /* of the second host on its leaf */
    unsigned int lid;       /* of the second host */
    int entry, port;        /* a table entry of the first leaf */
    bool same;              /* as the first variant */
};

static const struct variant variants[] = {
    { "as it is", false, "n2 x", "HDR", 1, 2, 2, 3, true },
    { "another order", true, "n2 x", "HDR", 1, 2, 2, 3, true },
    { "another name", false, "n9 x", "HDR", 1, 2, 2, 3, true },
    { "another speed", false, "n2 x", "SDR", 1, 2, 2, 3, true },
    { "a route to nobody", false, "n2 x", "HDR", 1, 2, 9, 3, true },
    { "another port", false, "n2 x", "HDR", 2, 2, 2, 3, false },
    { "another LID", false, "n2 x", "HDR", 1, 8, 2, 3, false },
    { "another route", false, "n2 x", "HDR", 1, 2, 2, 4, false },
    { "a lost route", false, "n2 x", "HDR", 1, 2, 2, LFT_NO_ROUTE, false },
};

static struct fabric *build (const struct variant *v, struct error *err)
{
    static const struct {
        uint64_t guid;
        enum node_type type;
    } nodes[] = { { 0xa1, NODE_CA },     { 0xa2, NODE_CA },
                  { 0xb1, NODE_SWITCH }, { 0xb2, NODE_SWITCH },
                  { 0xc1, NODE_SWITCH } };
    const struct {
        int a, port_a, b, port_b;
    } cables[] = { { 0, 1, 2, 1 },
                   { 1, 1, 3, v->last_port },
                   { 2, 3, 4, 1 },
                   { 2, 4, 4, 2 },
                   { 3, 3, 4, 3 } };
    uint8_t lft[12];
    struct fabric *f = fabric_create ();
    uint32_t index[5];

    for (int k = 0; k < 5; k++) {
        int i = v->reverse ? 4 - k : k;
        const char *desc = i == 0 ? "n1 x" : i == 1 ? v->desc : "switch";

        index[i] = fabric_add_node (f, nodes[i].guid, nodes[i].type,
                                    i < 2 ? 1 : 4, desc, err);
        if (i < 2)
            fabric_set_port (f, index[i], 1, nodes[i].guid + 0x1000,
                             i == 0 ? 1 : v->lid, 0, err);
        else
            fabric_set_switch_lid (f, index[i], 2 + i, err);
    }
    for (int k = 0; k < 5; k++) {
        int i = v->reverse ? 4 - k : k;
        bool swap = v->reverse;

        fabric_add_cable (f, index[swap ? cables[i].b : cables[i].a],
                          swap ? cables[i].port_b : cables[i].port_a,
                          index[swap ? cables[i].a : cables[i].b],
                          swap ? cables[i].port_a : cables[i].port_b, 4,
                          v->speed, err);
    }
    memset (lft, LFT_NO_ROUTE, sizeof (lft));
    lft[1] = 1;
    lft[2] = 3;
    lft[v->entry] = v->port;
    fabric_set_lft (f, index[2], lft, sizeof (lft) - 1, err);
    if (fabric_finish (f, err) < 0) {
        fabric_destroy (f);
        return NULL;
    }
    return f;
}

static void hashes (void)
{
    struct error err = { 0 };
    struct fabric *first = build (&variants[0], &err);

    for (size_t i = 0; i < sizeof (variants) / sizeof (variants[0]); i++) {
        struct fabric *f = build (&variants[i], &err);

        ok (f && (strcmp (f->hash, first->hash) == 0) == variants[i].same,
            "%s: %s hash", variants[i].name,
            variants[i].same ? "the same" : "another");
        fabric_destroy (f);
    }
    ok (first->nlinks == 5
            && strcmp (first->link[2].id, "00000000000000b1/3") == 0
            && strcmp (first->link[3].id, "00000000000000b1/4") == 0,
        "parallel cables are two links");
    ok (first->nclasses == 2 && strcmp (first->class_name[0], "host 4xHDR") == 0
            && strcmp (first->class_name[1], "switch 1-2 4xHDR") == 0,
        "classes: %s, %s", first->class_name[0], first->class_name[1]);
    ok (strcmp (first->link_info[0].host, "n1") == 0
            && first->link_info[0].kind == LINK_HOST
            && !first->link_info[2].host
            && first->link_info[2].kind == LINK_SWITCH,
        "kinds and hosts of links");
    ok (first->link_info[2].rate == 200e9, "their nominal rate");
    fabric_destroy (first);
}

static int two_nodes (struct fabric *f, struct error *err)
{
    fabric_add_node (f, 0x10, NODE_CA, 2, "a x", err);
    return fabric_add_node (f, 0x20, NODE_SWITCH, 2, "s", err) < 0 ? -1 : 0;
}

static int twice (struct fabric *f, struct error *err)
{
    return fabric_add_node (f, 0x10, NODE_CA, 1, "b", err) < 0 ? -1 : 0;
}

static int no_guid (struct fabric *f, struct error *err)
{
    return fabric_add_node (f, 0, NODE_CA, 1, "b", err) < 0 ? -1 : 0;
}

static int no_ports (struct fabric *f, struct error *err)
{
    return fabric_add_node (f, 0x30, NODE_CA, 0, "b", err) < 0 ? -1 : 0;
}

static int many_ports (struct fabric *f, struct error *err)
{
    return fabric_add_node (f, 0x30, NODE_CA, 255, "b", err) < 0 ? -1 : 0;
}

static int all_ports (struct fabric *f, struct error *err)
{
    for (uint64_t guid = 0x30; guid < FABRIC_MAX_PORTS; guid++)
        if (fabric_add_node (f, guid, NODE_CA, 254, "b", err) < 0)
            return -1;
    return 0;
}

static int bad_port (struct fabric *f, struct error *err)
{
    return fabric_add_cable (f, 0, 3, 1, 1, 4, "HDR", err);
}

static int taken (struct fabric *f, struct error *err)
{
    fabric_add_cable (f, 0, 1, 1, 1, 4, "HDR", err);
    return fabric_add_cable (f, 0, 2, 1, 1, 4, "HDR", err);
}

static int loopback (struct fabric *f, struct error *err)
{
    return fabric_add_cable (f, 1, 1, 1, 1, 4, "HDR", err);
}

static int bad_width (struct fabric *f, struct error *err)
{
    return fabric_add_cable (f, 0, 1, 1, 1, 3, "HDR", err);
}

static int bad_speed (struct fabric *f, struct error *err)
{
    return fabric_add_cable (f, 0, 1, 1, 1, 4, "warp-speed", err);
}

static int bad_lid (struct fabric *f, struct error *err)
{
    return fabric_set_port (f, 0, 1, 1, 0xc000, 0, err);
}

static int bad_lmc (struct fabric *f, struct error *err)
{
    return fabric_set_port (f, 0, 1, 1, 8, 8, err);
}

static int unaligned (struct fabric *f, struct error *err)
{
    return fabric_set_port (f, 0, 1, 1, 5, 2, err);
}

static int ca_table (struct fabric *f, struct error *err)
{
    return fabric_set_lft (f, 0, (const uint8_t *)"", 0, err);
}

static int two_tables (struct fabric *f, struct error *err)
{
    fabric_set_lft (f, 1, (const uint8_t *)"", 0, err);
    return fabric_set_lft (f, 1, (const uint8_t *)"", 0, err);
}

static int same_lid (struct fabric *f, struct error *err)
{
    fabric_set_port (f, 0, 1, 1, 4, 2, err);
    fabric_set_switch_lid (f, 1, 7, err);
    return fabric_finish (f, err);
}

static void refusals (void)
{
    static const struct {
        int (*fn) (struct fabric *f, struct error *err);
        const char *sentence;
    } rows[] = {
        { twice, "GUID 0000000000000010 occurs twice" },
        { no_guid, "0000000000000000 is not a GUID" },
        { no_ports, "has 0 ports" },
        { many_ports, "has 255 ports" },
        { all_ports, "more than 4194304 ports" },
        { bad_port, "ca 0000000000000010 has no port 3" },
        { taken, "port 0000000000000020/1 has two cables" },
        { loopback, "leads to itself" },
        { bad_width, "3 lanes" },
        { bad_speed, "warp-speed is not a speed" },
        { bad_lid, "LID 49152 is not a unicast LID" },
        { bad_lmc, "LMC 8 is larger than 7" },
        { unaligned, "LID 5 does not fit its LMC 2" },
        { ca_table, "has no forwarding table" },
        { two_tables, "two forwarding tables" },
        { same_lid, "LID 7 belongs to" },
    };

    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        struct fabric *f = fabric_create ();
        struct error err = { 0 };

        two_nodes (f, &err);
        ok (rows[i].fn (f, &err) == -1 && strstr (err.text, rows[i].sentence),
            "refused: %s", err.text);
        fabric_destroy (f);
    }
}

/* Hosts are found without their domain, if that is clear. */
static void domains (void)
{
    static const char *const desc[] = {
        "cn0.a.org mlx5_0", "cn0-1.a.org mlx5_0", "cn1.a.org", "cn1.b.org",
        "cn2", "cn2.a.org", " cn3.a.org mlx5_0 ", "cn00.a.org",
    };
    static const struct {
        const char *name, *host;
        size_t n;
    } rows[] = {
        { "cn0", "cn0.a.org", 1 },     { "cn0-1", "cn0-1.a.org", 1 },
        { "cn1", NULL, 2 },            { "cn1.b.org", "cn1.b.org", 1 },
        { "cn2", "cn2", 1 },           { "cn2.a", "cn2.a.org", 1 },
        { "cn3", "cn3.a.org", 1 },     { "cn", NULL, 0 },
        { "cn00", "cn00.a.org", 1 },   { "cn4", NULL, 0 },
        { "", NULL, 0 },
    };
    enum { HOSTS = sizeof (desc) / sizeof (desc[0]) };
    const char *missing[] = { "cn0", "cn1", "cn9" };
    struct fabric *f = fabric_create ();
    struct error err = { 0 };

    fabric_add_node (f, 0x100, NODE_SWITCH, HOSTS, "s", &err);
    for (unsigned int i = 0; i < HOSTS; i++) {
        fabric_add_node (f, i + 1, NODE_CA, 1, desc[i], &err);
        fabric_set_port (f, i + 1, 1, 0x1000 + i, i + 1, 0, &err);
        fabric_add_cable (f, 0, i + 1, i + 1, 1, 4, "HDR", &err);
    }
    fabric_finish (f, &err);
    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        uint32_t host;
        size_t n = fabric_hosts_named (f, rows[i].name, &host);

        ok (n == rows[i].n
                && (host == FABRIC_NONE ? !rows[i].host
                                        : rows[i].host
                                              && !strcmp (f->host[host].name,
                                                          rows[i].host)),
            "'%s' is %s, %zu", rows[i].name,
            host == FABRIC_NONE ? "no host" : f->host[host].name, n);
    }
    ok (fabric_find_host (f, "cn0") == FABRIC_NONE
            && fabric_find_endpoint (f, "cn0") != FABRIC_NONE
            && fabric_find_link (f, "cn0/1") != FABRIC_NONE
            && fabric_find_link (f, "cn1/1") == FABRIC_NONE,
        "... so are endpoints and links, but not where a name must be whole");
    fabric_not_found (f, missing, 3, &err);
    ok (!strcmp (err.text, "cn1: hosts of the fabric have this name with 2 "
                           "domains: give one with its domain"),
        "%s", err.text);
    fabric_destroy (f);
}

static void empty (void)
{
    struct fabric *f = fabric_create ();
    struct error err;

    ok (fabric_finish (f, &err) == 0 && f->nhosts == 0
            && strlen (f->hash) == 32,
        "an empty fabric");
    ok (fabric_find_node (f, 1) == FABRIC_NONE
            && fabric_find_host (f, "a") == FABRIC_NONE
            && fabric_find_link (f, "a/1") == FABRIC_NONE,
        "... has nothing to be found");
    fabric_destroy (f);
    fabric_destroy (NULL);
}

int main (void)
{
    host_names ();
    names_alike ();
    find_links ();
    hashes ();
    refusals ();
    domains ();
    empty ();
    return done_testing ();
}
