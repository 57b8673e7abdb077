/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Snapshots of several subnets, joined. */
#include "config.h"
#include "ibquery/fabric.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ibquery/model/generate.h"
#include "ibquery/snapshot.h"
#include "tests/tap.h"

static const char *const names[] = { "one", "two", "three" };

/* Eight hosts with a port in each subnet, in trees of their own. */
static struct fabric *tree (unsigned int subnet)
{
    struct fat_tree t = { .ports = 4, .levels = 2,
                          .how = { .seed = subnet, .subnet = subnet } };

    return generate_fat_tree (&t, NULL);
}

/* A switch with a host, whose adapter has two ports; the subnet's is cabled. */
static struct fabric *small (uint64_t subnet, unsigned int port,
                             uint64_t switch_guid, unsigned int ports)
{
    struct fabric *f = fabric_create ();
    static const uint8_t lft[] = { 0xff, 1, 0 };

    fabric_add_node (f, 0x10, NODE_CA, ports, "h1 mlx4_0", NULL);
    fabric_set_port (f, 0, port, 0x10 + port, 1, 0, NULL);
    fabric_add_node (f, switch_guid, NODE_SWITCH, 2, "leaf", NULL);
    fabric_set_switch_lid (f, 1, 2, NULL);
    fabric_set_lft (f, 1, lft, 2, NULL);
    fabric_add_cable (f, 0, port, 1, 1, 4, "NDR", NULL);
    f->subnet = subnet;
    return fabric_finish (f, NULL) == 0 ? f : NULL;
}

static void clear (struct fabric **part, size_t n)
{
    for (size_t i = 0; i < n; i++)
        fabric_destroy (part[i]);
}

/* The example to read first: two trees are one fabric of eight hosts with two
 * rails each; a rail has paths to the others of its subnet.
 */
static void test_joined (void)
{
    struct fabric *part[] = { tree (2), tree (1) }, *back[2], *f, *g;
    struct error err = { 0 };
    uint32_t arc[PATH_MAX_HOPS];
    size_t paths = 0, none = 0, known = 0;
    struct pathset *ps;

    fabric_set_plug (part[0], &part[0]->port[0], "a cable");
    fabric_set_plug (part[1], &part[1]->port[part[1]->link[0].b], "another");
    f = fabric_join (part, names, 2, &err);
    ok (f && f->nhosts == 8 && f->nendpoints == 16 && f->nlinks == 32
            && f->nsubnets == 2 && f->prefix[0] == 0xfe80000000000001
            && f->prefix[1] == 0xfe80000000000002 && f->subnet == 0,
        "two subnets of 8 hosts are one fabric%s%s", err.text[0] ? ": " : "",
        err.text);
    for (uint32_t a = 0; f && a < f->nendpoints; a++)
        for (uint32_t b = 0; b < f->nendpoints; b++) {
            bool same = f->port[f->endpoint[a].port].subnet
                        == f->port[f->endpoint[b].port].subnet;
            int n = fabric_walk (f, a, b, arc, &err);

            paths += same && a != b && n >= 2;
            none += (!same || a == b) && n == 0;
        }
    ok (paths == 2 * 8 * 7 && none == 2 * 8 * 8 + 16,
        "there are paths within a subnet, and none between them");
    ps = fabric_pathset (f, NULL, 0, &err);
    ok (ps && pathset_subnets (ps) == 2 && pathset_ports (ps) == 16,
        "... for the planner, too");
    pathset_destroy (ps);
    for (unsigned int s = 1; s <= 2; s++)
        for (uint32_t i = 0; i < 8; i++) {
            uint64_t guid = 0x0002c90000000001 + ((uint64_t)s << 25)
                            + (i + 1) * 16;
            uint32_t e = fabric_find_guid (f, guid);

            known += e != FABRIC_NONE
                     && f->port[f->endpoint[e].port].subnet == s - 1
                     && f->endpoint[e].host == i;
        }
    ok (known == 16, "each port is found by its GUID, in its subnet");

    back[0] = tree (1);
    back[1] = tree (2);
    g = fabric_join (back, names, 2, &err);
    ok (g && !strcmp (f->hash, g->hash) && strcmp (f->hash, back[0]->hash),
        "the hash does not depend on the order");
    ok (fabric_write (f, stdout, &err) < 0, "%s", err.text);
    clear (part, 2);
    clear (back, 2);
    fabric_destroy (f);
    fabric_destroy (g);
}

/* An adapter with a port in each of two subnets is one node. */
static void test_adapter (void)
{
    struct fabric *part[] = { small (1, 1, 0x20, 2), small (2, 2, 0x21, 2) };
    struct error err = { 0 };
    struct fabric *f = fabric_join (part, names, 2, &err);
    uint32_t node = f ? fabric_find_node (f, 0x10) : 0;

    ok (f && f->nnodes == 3 && f->nhosts == 1 && f->nendpoints == 2
            && f->port[f->node[node].first_port].subnet == 0
            && f->port[f->node[node].first_port + 1].subnet == 1,
        "an adapter of two subnets is one node%s%s", err.text[0] ? ": " : "",
        err.text);
    clear (part, 2);
    fabric_destroy (f);
}

/* Parts that do not go together. */
static void test_wrong (void)
{
    static const struct {
        struct {
            uint64_t subnet;
            unsigned int port;
            uint64_t guid;
            unsigned int ports;
        } part[2];
        const char *error;
    } rows[] = {
        { { { 1, 1, 0x20, 2 }, { 0, 2, 0x21, 2 } },
          "two does not say of which subnet it is" },
        { { { 1, 1, 0x20, 2 }, { 1, 2, 0x21, 2 } },
          "one and two are both of subnet 0000000000000001" },
        { { { 1, 1, 0x20, 2 }, { 2, 2, 0x20, 2 } },
          "two: switch 0000000000000020 is in another subnet, too" },
        { { { 1, 1, 0x20, 2 }, { 2, 1, 0x21, 2 } },
          "two: port 0000000000000010/1 has a cable in another subnet, too" },
        { { { 1, 1, 0x20, 2 }, { 2, 2, 0x21, 3 } },
          "two: ca 0000000000000010 is in another subnet, too" },
    };

    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        struct error err = { 0 };
        struct fabric *part[2], *f;

        for (int k = 0; k < 2; k++)
            part[k] = small (rows[i].part[k].subnet, rows[i].part[k].port,
                             rows[i].part[k].guid, rows[i].part[k].ports);
        f = fabric_join (part, names, 2, &err);
        ok (!f && err.fault == ERROR_INPUT && strstr (err.text, rows[i].error),
            "%s", err.text);
        clear (part, 2);
        fabric_destroy (f);
    }
}

/* Files of several subnets, and of one. */
static void test_files (void)
{
    char dir[] = "/tmp/pmm-subnets.XXXXXX";
    static const char *const path[] = { "subnet-1", "subnet-2" };
    struct fabric *part[] = { tree (1), tree (2) }, *f, *g;
    struct timespec date;
    struct error err = { 0 };

    if (!mkdtemp (dir) || chdir (dir) < 0)
        abort ();
    for (int i = 0; i < 2; i++) {
        FILE *fp = fopen (path[i], "w");

        if (!fp || fabric_write (part[i], fp, &err) < 0 || fclose (fp) != 0)
            abort ();
    }
    f = fabric_load ("subnet-2, subnet-1", &err);
    ok (f && f->nsubnets == 2, "a list of files is joined");
    g = fabric_load ("subnet-1", &err);
    ok (g && g->nsubnets == 0 && !strcmp (g->hash, part[0]->hash)
            && g->subnet == part[0]->subnet, "one file is as it is");
    ok (fabric_date ("subnet-2,subnet-1", &date) == 0 && date.tv_sec > 0
            && fabric_date ("subnet-1,nothing", &date) < 0,
        "their date is known if all exist");
    ok (!fabric_load ("subnet-1,nothing", &err)
            && strstr (err.text, "nothing"), "%s", err.text);
    ok (!fabric_load (" , ", &err), "%s", err.text);
    fabric_destroy (f);
    fabric_destroy (g);
    clear (part, 2);
    for (int i = 0; i < 2; i++)
        unlink (path[i]);
    rmdir (dir);
}

int main (void)
{
    test_joined ();
    test_adapter ();
    test_wrong ();
    test_files ();
    return done_testing ();
}
