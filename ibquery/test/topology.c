/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "ibquery/export/formats.h"

#include <stdlib.h>
#include <string.h>

#include "ibquery/import/import.h"
#include "ibquery/model/generate.h"
#include "tests/tap.h"

static struct topology_choice choice;
static bool yaml;

enum { HEAD = 2 }; /* lines before what is compared */

/* The file, without its first lines. */
static char *text_of (struct fabric *f, struct error *err)
{
    char *text = NULL, *rest;
    size_t size;
    FILE *fp = open_memstream (&text, &size);
    int rc = topology_write (f, &choice, yaml, fp, err);

    fclose (fp);
    rest = text;
    for (int i = 0; i < HEAD && rest; i++)
        rest = (rest = strchr (rest, '\n')) ? rest + 1 : NULL;
    rest = rc == 0 && rest ? strdup (rest) : NULL;
    free (text);
    return rest;
}

static void expect (struct fabric *f, const char *what, const char *expected)
{
    struct error err = { 0 };
    char *got = text_of (f, &err);

    ok (got && strcmp (got, expected) == 0, "%s", what);
    if (!got || strcmp (got, expected) != 0)
        diag ("%s\n%s", err.text, got ? got : "");
    free (got);
    fabric_destroy (f);
}

static struct fabric *tree (unsigned int ports, unsigned int levels)
{
    const struct fat_tree t = { .ports = ports, .levels = levels };
    struct error err;

    return generate_fat_tree (&t, &err);
}

static void fat_trees (void)
{
    expect (tree (4, 1), "one switch",
            "# 1 leaf of 4 hosts\n"
            "SwitchName=s1-0001 Nodes=h[0001-0004]\n");
    expect (tree (4, 2), "two levels",
            "# 4 leaves of 2 hosts\n"
            "# 1 group of level 2 of 8 hosts\n"
            "SwitchName=s1-0001 Nodes=h[0001-0002]\n"
            "SwitchName=s1-0002 Nodes=h[0003-0004]\n"
            "SwitchName=s1-0003 Nodes=h[0005-0006]\n"
            "SwitchName=s1-0004 Nodes=h[0007-0008]\n"
            "SwitchName=level2-1 Switches=s1-[0001-0004]\n");
    expect (tree (4, 3), "three levels: a pod is a group",
            "# 8 leaves of 2 hosts\n"
            "# 4 groups of level 2 of 4 hosts\n"
            "# 1 group of level 3 of 16 hosts\n"
            "SwitchName=s1-0001 Nodes=h[0001-0002]\n"
            "SwitchName=s1-0002 Nodes=h[0003-0004]\n"
            "SwitchName=s1-0003 Nodes=h[0005-0006]\n"
            "SwitchName=s1-0004 Nodes=h[0007-0008]\n"
            "SwitchName=s1-0005 Nodes=h[0009-0010]\n"
            "SwitchName=s1-0006 Nodes=h[0011-0012]\n"
            "SwitchName=s1-0007 Nodes=h[0013-0014]\n"
            "SwitchName=s1-0008 Nodes=h[0015-0016]\n"
            "SwitchName=level2-1 Switches=s1-[0001-0002]\n"
            "SwitchName=level2-2 Switches=s1-[0003-0004]\n"
            "SwitchName=level2-3 Switches=s1-[0005-0006]\n"
            "SwitchName=level2-4 Switches=s1-[0007-0008]\n"
            "SwitchName=level3-1 Switches=level2-[1-4]\n");
}

static void no_tree (void)
{
    const struct dragonfly d = { 1, 2, 1, { .routing = ROUTING_MINHOP } };
    struct error err;

    expect (generate_dragonfly (&d, &err), "a dragonfly",
            "# 6 leaves of 1 host\n"
            "# 1 group of level 1 of 6 hosts\n"
            "# This fabric is not a tree: leaves are joined to each other by 6 "
            "cables (s1-0001/2 - s1-0002/2).\n"
            "# Leaves are grouped by them; within a group, Slurm takes all to "
            "be equally far.\n"
            "# For a dragonfly, TopologyParam=Dragonfly may place jobs "
            "better.\n"
            "SwitchName=s1-0001 Nodes=h0001\n"
            "SwitchName=s1-0002 Nodes=h0002\n"
            "SwitchName=s2-0001 Nodes=h0003\n"
            "SwitchName=s2-0002 Nodes=h0004\n"
            "SwitchName=s3-0001 Nodes=h0005\n"
            "SwitchName=s3-0002 Nodes=h0006\n"
            "SwitchName=level1-1 Switches=s1-[0001-0002],s2-[0001-0002],"
            "s3-[0001-0002]\n");
}

struct wire {
    unsigned int host;    /* its adapter, or a switch from 100 on */
    unsigned int port;
    unsigned int node;    /* a switch */
    unsigned int to;
};

/* Hosts h1 .. with so many ports, and switches of 8, wired as listed. */
static struct fabric *wired (unsigned int hosts, unsigned int ports,
                             const char *const *switches, size_t nswitches,
                             const struct wire *wire, size_t nwires)
{
    struct fabric *f = fabric_create ();
    struct error err = { 0 };
    char desc[32];

    for (unsigned int i = 0; i < hosts; i++) {
        snprintf (desc, sizeof (desc), "h%u mlx5_0", i + 1);
        fabric_add_node (f, 0x10 + i, NODE_CA, ports, desc, &err);
        for (unsigned int k = 0; k < ports; k++)
            fabric_set_port (f, i, k + 1, 0x1000 + 16 * i + k,
                             1 + ports * i + k, 0, &err);
    }
    for (size_t i = 0; i < nswitches; i++) {
        fabric_add_node (f, 0x100 + i, NODE_SWITCH, 8, switches[i], &err);
        fabric_set_switch_lid (f, hosts + i, 500 + i, &err);
    }
    for (size_t i = 0; i < nwires; i++)
        fabric_add_cable (f, wire[i].host >= 100 ? hosts + wire[i].host - 100
                                                 : wire[i].host - 1,
                          wire[i].port, hosts + wire[i].node - 100,
                          wire[i].to, 4, "HDR", &err);
    if (*err.text || fabric_finish (f, &err) < 0)
        diag ("%s", err.text);
    return f;
}

static void odd_ones (void)
{
    static const char *const names[]
        = { "MF0;leaf:MQM8700/U1", "MF0;leaf:MQM8700/U1", "sp#ine 1", "" };
    static const struct wire spine[] = {
        { 1, 1, 100, 1 }, { 2, 1, 100, 2 }, { 3, 1, 100, 3 }, { 4, 1, 100, 4 },
        { 5, 1, 101, 1 }, { 6, 1, 101, 2 }, { 7, 1, 101, 3 }, { 8, 1, 101, 4 },
        { 9, 1, 102, 8 }, /* at the spine */
        { 100, 7, 102, 1 }, { 100, 8, 102, 2 }, { 101, 7, 102, 3 },
        { 101, 8, 102, 4 },
    };
    static const struct wire planes[] = {
        { 1, 1, 100, 1 }, { 2, 1, 100, 2 }, { 3, 1, 100, 3 },
        { 1, 2, 103, 1 }, { 2, 2, 103, 2 },
    };

    expect (wired (9, 1, names, 3, spine, sizeof (spine) / sizeof (*spine)),
            "two switches of one name, and a host at the spine",
            "# 3 leaves of 1 to 4 hosts\n"
            "# 1 group of level 2 of 9 hosts\n"
            "SwitchName=leaf-MQM8700-U1-0000000000000100 Nodes=h[1-4]\n"
            "SwitchName=leaf-MQM8700-U1-0000000000000101 Nodes=h[5-8]\n"
            "SwitchName=sp-ine-1 Nodes=h9\n"
            "SwitchName=level2-1 Switches=leaf-MQM8700-U1-"
            "[0000000000000100-0000000000000101],sp-ine-1\n");
    expect (wired (3, 2, names, 4, planes, sizeof (planes) / sizeof (*planes)),
            "two planes, one of which has a part of the other's hosts",
            "# 1 pod of 3 hosts\n"
            "# pod-1: leaf-MQM8700-U1,switch-0000000000000103\n"
            "SwitchName=pod-1 Nodes=h[1-3]\n");
}

/*
 * Hosts of several rails. A row is a host, and the leaf of each rail, a letter;
 * "." for none. Capital letters have the spine X, others Y. GUIDs descend with
 * the rails of every other host.
 */

enum { RAILS = 4, SWITCHES = 10, RAIL_PORTS = 32 };

struct railed {
    const char *what;
    const char *hosts[20]; /* "NAME LEAVES" */
    const char *expected;
};

static const struct railed railed[] = {
    { "pods: a rail is missing, one has no name, one is cabled wrongly",
      { "a1 ABC", "a2 ABC", "a3 AB.", "a4 ABF", "b1 DEF", "b2 .EF", "b3 DEF",
        "b4 ..F", "? ..C" },
      "# 2 pods of 4 hosts\n"
      "# 1 group of level 2 of 8 hosts\n"
      "# pod-1: A,B,C\n"
      "# pod-2: D,E,F\n"
      "# Left out, as they do not tell their host's name: adapters "
      "0000000000001081\n"
      "# Cabled to several of these, and placed where most ports are: a4\n"
      "SwitchName=pod-1 Nodes=a[1-4]\n"
      "SwitchName=pod-2 Nodes=b[1-4]\n"
      "SwitchName=level2-1 Switches=pod-[1-2]\n" },
    { "a host at two leaves unites them not",
      { "a1 A", "a2 A", "a3 A", "gw AB", "b1 B", "b2 B", "b3 B" },
      "# 2 leaves of 3 to 4 hosts\n"
      "# 1 group of level 2 of 7 hosts\n"
      "# Cabled to several of these, and placed where most ports are, else by "
      "mlx5_0/1: gw\n"
      "SwitchName=A Nodes=a[1-3],gw\n"
      "SwitchName=B Nodes=b[1-3]\n"
      "SwitchName=level2-1 Switches=A,B\n" },
    { "each leaf shares hosts with the next: one rail for all",
      { "a1 AB", "a2 AB", "b1 BC", "b2 BC", "c1 CA", "c2 CA" },
      "# 3 leaves of 2 hosts\n"
      "# 1 group of level 2 of 6 hosts\n"
      "# Cabled to several of these, and placed where most ports are, else by "
      "mlx5_0/1: a[1-2],b[1-2],c[1-2]\n"
      "SwitchName=A Nodes=a[1-2]\n"
      "SwitchName=B Nodes=b[1-2]\n"
      "SwitchName=C Nodes=c[1-2]\n"
      "SwitchName=level2-1 Switches=A,B,C\n" },
    { "different numbers of rails, two at one leaf",
      { "g1 AABC", "g2 AABC", "c1 A", "c2 A", "c3 A", "c4 A" },
      "# 1 pod of 6 hosts\n"
      "# pod-1: A,B,C\n"
      "SwitchName=pod-1 Nodes=c[1-4],g[1-2]\n" },
    { "two fabrics, two hosts in both: each once, a root each",
      { "a1 A", "a2 A", "a3 A", "b1 B", "b2 B", "x1 Bd", "x2 dB", "d1 d",
        "d2 d", "e1 e", "e2 e" },
      "# 4 leaves of 2 to 4 hosts\n"
      "# 2 groups of level 2 of 4 to 7 hosts\n"
      "# Cabled to several of these, and placed where most ports are: "
      "x[1-2]\n"
      "# 2 fabrics are not joined: hosts that are in several are placed in the "
      "greatest.\n"
      "SwitchName=A Nodes=a[1-3]\n"
      "SwitchName=B Nodes=b[1-2],x[1-2]\n"
      "SwitchName=d Nodes=d[1-2]\n"
      "SwitchName=e Nodes=e[1-2]\n"
      "SwitchName=level2-1 Switches=A,B\n"
      "SwitchName=level2-2 Switches=d,e\n" },
    { "a leaf of storage that two leaves share",
      { "a1 AAd", "a2 AAd", "b1 BBd", "b2 BBd", "oss d" },
      "# 3 leaves of 1 to 2 hosts\n"
      "# 1 group of level 2 of 4 hosts\n"
      "# Cabled to several of these, and placed where most ports are: "
      "a[1-2],b[1-2]\n"
      "# 2 fabrics are not joined: hosts that are in several are placed in the "
      "greatest.\n"
      "SwitchName=A Nodes=a[1-2]\n"
      "SwitchName=B Nodes=b[1-2]\n"
      "SwitchName=d Nodes=oss\n"
      "SwitchName=level2-1 Switches=A,B\n" },
    { "without domains, where one host has the name",
      { "a1.site.org A", "a2.site.org A", "b1.site.org B", "b1.else.org B",
        "10.0.0.1 B" },
      "# 2 leaves of 2 to 3 hosts\n"
      "# 1 group of level 2 of 5 hosts\n"
      "# Hosts are called without their domain (site.org), as nodes of Slurm "
      "are.\n"
      "SwitchName=B Nodes=10.0.0.1,b1.else.org,b1.site.org\n"
      "SwitchName=A Nodes=a[1-2]\n"
      "SwitchName=level2-1 Switches=A,B\n" },
    { "a host alone, with two ports",
      { "a1 AB" },
      "# 1 pod of 1 host\n# pod-1: A,B\nSwitchName=pod-1 Nodes=a1\n" },
};

static struct fabric *make_railed (const struct railed *r)
{
    static const char leaves[] = "ABCDEFdeXY"; /* X, Y: spines */
    struct fabric *f = fabric_create ();
    unsigned int used[SWITCHES] = { 0 }, node = SWITCHES;
    struct error err = { 0 };

    for (unsigned int i = 0; i < SWITCHES; i++) {
        char name[] = { ' ', leaves[i], ' ', '\0' };

        fabric_add_node (f, 0x100 + i, NODE_SWITCH, RAIL_PORTS, name, &err);
        fabric_set_switch_lid (f, i, 500 + i, &err);
    }
    for (unsigned int i = 0; i < SWITCHES - 2; i++) {
        unsigned int spine = leaves[i] >= 'a' ? SWITCHES - 1 : SWITCHES - 2;

        fabric_add_cable (f, i, ++used[i], spine, ++used[spine], 4, "HDR",
                          &err);
    }
    for (unsigned int h = 0; r->hosts[h]; h++) {
        const char *rail = strchr (r->hosts[h], ' ') + 1;

        for (unsigned int k = 0; rail[k]; k++) {
            uint64_t guid = 0x1000 + 16 * h + (h % 2 ? k : RAILS - 1 - k);
            unsigned int leaf = (unsigned int)(strchr (leaves, rail[k])
                                               - leaves);
            char desc[32];

            if (rail[k] == '.')
                continue;
            snprintf (desc, sizeof (desc), "%.*s mlx5_%u",
                      (int)(rail - 1 - r->hosts[h]), r->hosts[h], k);
            fabric_add_node (f, guid, NODE_CA, 1, desc, &err);
            fabric_set_port (f, node, 1, guid, node, 0, &err);
            fabric_add_cable (f, node++, 1, leaf, ++used[leaf], 4, "HDR", &err);
        }
    }
    if (*err.text || fabric_finish (f, &err) < 0)
        diag ("%s", err.text);
    return f;
}

/* From ibnetdiscover's output to pods: 128 hosts of 8 rails. */
static void from_netdiscover (void)
{
    const struct fat_tree tree = { .ports = 16, .levels = 3, .rails = 8 };
    struct error err = { 0 };
    struct fabric *f = generate_fat_tree (&tree, &err);
    struct import *d = import_create (NULL);
    char *net = NULL, *lfts = NULL, *got;
    size_t size;
    FILE *fp = open_memstream (&net, &size);

    netdiscover_write (f, fp, &err);
    fclose (fp);
    fp = open_memstream (&lfts, &size);
    lfts_write (f, fp, &err);
    fclose (fp);
    fabric_destroy (f);
    fp = fmemopen (net, strlen (net), "r");
    import_file (d, fp, "net", NULL, &err);
    fclose (fp);
    fp = fmemopen (lfts, strlen (lfts), "r");
    import_file (d, fp, "lfts", NULL, &err);
    fclose (fp);
    f = import_finish (d, "net", &err);
    import_destroy (d);
    got = f ? text_of (f, &err) : NULL;
    ok (got && strstr (got, "# 16 pods of 8 hosts\n")
            && strstr (got, "\nSwitchName=pod-1 Nodes=h[0001-0008]\n")
            && strstr (got, "\nSwitchName=pod-16 Nodes=h[0121-0128]\n"),
        "128 hosts of 8 rails, from ibnetdiscover's output");
    if (*err.text)
        diag ("%s", err.text);
    free (got);
    free (net);
    free (lfts);
    fabric_destroy (f);
}

static void rails (void)
{
    for (size_t i = 0; i < sizeof (railed) / sizeof (*railed); i++)
        expect (make_railed (&railed[i]), railed[i].what, railed[i].expected);
    from_netdiscover ();
}

/* What Slurm 25.05 reads; blocks_of: what follows "block_sizes:". */
static void expect_blocks (struct fabric *f, const char *what,
                           const char *expected)
{
    struct error err = { 0 };
    char *got, *blocks;

    yaml = true;
    got = text_of (f, &err);
    yaml = false;
    blocks = got ? strstr (got, "    block_sizes:\n") : NULL;
    ok (blocks && !strcmp (blocks, expected), "blocks of %s", what);
    if (!blocks || strcmp (blocks, expected) != 0)
        diag ("%s\n%s", err.text, got ? got : "");
    free (got);
    fabric_destroy (f);
}

static void as_yaml (void)
{
    static const char *const names[] = { "one", "two", "three" };
    static const struct wire uneven[] = {
        { 1, 1, 100, 1 }, { 2, 1, 100, 2 }, { 3, 1, 100, 3 }, { 4, 1, 101, 1 },
        { 5, 1, 101, 2 }, { 6, 1, 102, 1 }, { 100, 7, 101, 7 },
        { 101, 8, 102, 8 },
    };

    yaml = true;
    expect (tree (4, 2), "a tree and blocks for Slurm 25.05",
            "# Take out nodes that Slurm does not have, and add those that are "
            "missing.\n"
            "# 4 leaves of 2 hosts\n"
            "# 1 group of level 2 of 8 hosts\n"
            "- topology: tree\n"
            "  cluster_default: true\n"
            "  tree:\n"
            "    switches:\n"
            "      - switch: \"s1-0001\"\n        nodes: \"h[0001-0002]\"\n"
            "      - switch: \"s1-0002\"\n        nodes: \"h[0003-0004]\"\n"
            "      - switch: \"s1-0003\"\n        nodes: \"h[0005-0006]\"\n"
            "      - switch: \"s1-0004\"\n        nodes: \"h[0007-0008]\"\n"
            "      - switch: \"level2-1\"\n"
            "        children: \"s1-[0001-0004]\"\n"
            "- topology: block\n"
            "  cluster_default: false\n"
            "  block:\n"
            "    block_sizes:\n"
            "      - 2\n"
            "    blocks:\n"
            "      - block: \"s1-0001\"\n"
                   "        nodes: \"h[0001-0002]\"\n"
            "      - block: \"s1-0002\"\n"
                   "        nodes: \"h[0003-0004]\"\n"
            "      - block: \"s1-0003\"\n"
                   "        nodes: \"h[0005-0006]\"\n"
            "      - block: \"s1-0004\"\n"
                   "        nodes: \"h[0007-0008]\"\n");
    expect_blocks (tree (4, 3), "pods: two sizes",
                   "    block_sizes:\n      - 2\n      - 4\n    blocks:\n"
                   "      - block: \"s1-0001\"\n"
                   "        nodes: \"h[0001-0002]\"\n"
                   "      - block: \"s1-0002\"\n"
                   "        nodes: \"h[0003-0004]\"\n"
                   "      - block: \"s1-0003\"\n"
                   "        nodes: \"h[0005-0006]\"\n"
                   "      - block: \"s1-0004\"\n"
                   "        nodes: \"h[0007-0008]\"\n"
                   "      - block: \"s1-0005\"\n"
                   "        nodes: \"h[0009-0010]\"\n"
                   "      - block: \"s1-0006\"\n"
                   "        nodes: \"h[0011-0012]\"\n"
                   "      - block: \"s1-0007\"\n"
                   "        nodes: \"h[0013-0014]\"\n"
                   "      - block: \"s1-0008\"\n"
                   "        nodes: \"h[0015-0016]\"\n");
    expect_blocks (wired (6, 1, names, 3, uneven,
                          sizeof (uneven) / sizeof (*uneven)),
                   "leaves of 3, 2 and 1",
                   "    block_sizes:\n      - 2\n    blocks:\n"
                   "      - block: \"one\"\n        nodes: \"h[1-3]\"\n"
                   "      - block: \"two\"\n        nodes: \"h[4-5]\"\n");
}

/* Five hosts in a plane, say of storage; three have a rail in another one, too.
 */
static void chosen (void)
{
    static const char *const names[] = { "compute", "storage" };
    static const struct wire wire[] = {
        { 1, 2, 100, 1 }, { 2, 2, 100, 2 }, { 3, 2, 100, 3 },
        { 1, 1, 101, 1 }, { 2, 1, 101, 2 }, { 3, 1, 101, 3 },
        { 4, 1, 101, 4 }, { 5, 1, 101, 5 },
    };
    struct fabric *f = wired (5, 2, names, 2, wire,
                              sizeof (wire) / sizeof (*wire));
    const bool hosts[] = { true, false, true, true, true };
    bool rails[16] = { false };

    for (size_t e = 0; e < f->nendpoints; e++)
        rails[e] = f->port[f->endpoint[e].port].num == 2;
    choice = (struct topology_choice){ .host = hosts, .use = rails };
    expect (f, "chosen hosts and rails alone",
            "# 1 leaf of 2 hosts\n"
            "# Left out, as no port of theirs that counts is at a switch: "
            "h[4-5]\n"
            "SwitchName=compute Nodes=h[1,3]\n");
    ok (choice.left_out && !strcmp (choice.left_out, "h[4-5]"),
        "... and who is left out");
    free (choice.left_out);
    choice = (struct topology_choice){ 0 };
}

static void refused (void)
{
    struct fabric *f = tree (4, 2);
    struct error err = { 0 };

    f->part = true;
    ok (!text_of (f, &err), "a part: %s", err.text);
    fabric_destroy (f);
    f = fabric_create ();
    fabric_finish (f, &err);
    ok (!text_of (f, &err), "nothing: %s", err.text);
    fabric_destroy (f);
}

int main (void)
{
    fat_trees ();
    no_tree ();
    odd_ones ();
    rails ();
    as_yaml ();
    chosen ();
    refused ();
    return done_testing ();
}
