/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "ibquery/export/formats.h"

#include <stdlib.h>
#include <string.h>

#include "ibquery/model/generate.h"
#include "tests/tap.h"

static const bool *use; /* by endpoint */
static bool yaml;

/* The file, without its first two lines. */
static char *text_of (struct fabric *f, struct error *err)
{
    char *text = NULL, *rest;
    size_t size;
    FILE *fp = open_memstream (&text, &size);
    int rc = topology_write (f, use, yaml, fp, err);

    fclose (fp);
    rest = strchr (text, '\n');
    rest = rest ? strchr (rest + 1, '\n') : NULL;
    rest = rc == 0 && rest ? strdup (rest + 1) : NULL;
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
            "two planes: all are where most are",
            "# 1 leaf of 3 hosts\n"
            "# Of several ports, and placed where the first is: 2 hosts.\n"
            "# 2 planes are not joined; hosts are placed by the one that most "
            "are in.\n"
            "SwitchName=leaf-MQM8700-U1 Nodes=h[1-3]\n");
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
            "# Nodes that Slurm does not have are to be taken out.\n"
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
    bool these[16] = { false };

    for (size_t e = 0; e < f->nendpoints; e++)
        these[e] = f->port[f->endpoint[e].port].num == 2;
    these[f->host[1].first] = these[f->host[1].first + 1] = false;
    use = these;
    expect (f, "chosen hosts and rails alone",
            "# 1 leaf of 2 hosts\nSwitchName=compute Nodes=h[1,3]\n");
    use = NULL;
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
    as_yaml ();
    chosen ();
    refused ();
    return done_testing ();
}
