/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is made of the shapes that real fabrics have.
 *
 * A shape is a text, a node or a cable a line, numbers hexadecimal:
 *
 *   switch GUID SYSTEM PORTS DESCRIPTION       SYSTEM 0: not known
 *   ca GUID SYSTEM PORTS DESCRIPTION           so is router
 *   GUID/PORT GUID/PORT RATE [STATE]           STATE: of the first end
 *
 * LIDs are given out in that order, and messages go by shortest paths over
 * cables that are up. What is made of it is a text, too:
 *
 *   host NAME GUID/PORT...                     its rails
 *   level GUID=LEVEL...                        the switches'
 *   N CLASS                                    so many links of a class
 *   cages GUID/PORT=CAGE...                    of switches, where known
 *   warning TEXT
 *   paths over N links                         between all endpoints
 *   no path: TEXT
 */
#include "config.h"
#include "ibquery/fabric.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ibquery/snapshot.h"
#include "tests/tap.h"

enum { TOP = 64, MAX_NODES = 64 };

#define LEAF(i) "switch 10" #i " 0 6 leaf" #i "\n"
#define HOST(leaf, port) \
    "ca " #leaf #port " 0 1 n" #leaf #port " x\n" #leaf #port "/1 10" #leaf \
    "/" #port " 4xHDR\n"
#define HOSTS(leaf) HOST (leaf, 1) HOST (leaf, 2) HOST (leaf, 3) HOST (leaf, 4)
#define MADE(leaf, port) "host n" #leaf #port " " #leaf #port "/1\n"
#define MADES(leaf) MADE (leaf, 1) MADE (leaf, 2) MADE (leaf, 3) MADE (leaf, 4)

static const struct {
    const char *name, *shape, *made;
} rows[] = {
    { "a dual-port HCA",
      "switch 100 0 4 leaf1\n" "switch 101 0 4 leaf2\n" "ca 1 0 2 n1 HCA-1\n"
      "ca 2 0 1 n2 HCA-1\n" "1/1 100/1 4xEDR\n" "1/2 101/1 4xEDR\n"
      "2/1 101/2 4xEDR\n" "100/3 101/3 4xEDR\n",
      "host n1 1/1 1/2\n" "host n2 2/1\n" "level 100=1 101=1\n"
      "3 host 4xEDR\n" "1 switch 1-1 4xEDR\n" "paths over 4 links\n" },

    { "several HCAs, each a card of its own",
      "switch 100 0 8 leaf\n" "ca 1 1 1 n1 mlx5_0\n" "ca 2 2 1 n1 mlx5_1\n"
      "ca 3 3 1 n1 mlx5_2\n" "ca 4 4 1 n2 mlx5_0\n" "1/1 100/3 4xNDR\n"
      "2/1 100/2 4xNDR\n" "3/1 100/1 4xNDR\n" "4/1 100/4 4xNDR\n",
      "host n1 1/1 2/1 3/1\n" "host n2 4/1\n" "level 100=1\n" "4 host 4xNDR\n"
      "cages 100/3=2 100/2=1 100/1=1 100/4=2\n" "paths over 4 links\n" },

    { "cages: of ports of four lanes, not of cables in a chassis",
      "switch 100 0 8 leaf\n" "switch 101 5 8 leaf\n" "switch 102 5 8 spine\n"
      "ca 1 1 1 n1 x\n" "ca 2 2 1 n2 x\n" "1/1 100/1 2xNDR\n"
      "2/1 100/2 4xHDR\n" "100/7 101/8 4xXDR\n" "101/1 102/1 4xNDR\n",
      "host n1 1/1\n" "host n2 2/1\n" "level 100=1 101=2 102=3\n"
      "1 host 2xNDR\n" "1 host 4xHDR\n" "1 switch 1-2 4xXDR\n"
      "1 switch 2-3 internal 4xNDR\n" "cages 100/7=4 101/8=4\n"
      "paths over 2 links\n" },

    { "a dual-port card that is two HCAs",
      "switch 100 0 8 leaf\n" "ca 1 1 1 n1 mlx5_0\n" "ca 2 1 1 n1 mlx5_1\n"
      "1/1 100/1 4xHDR\n" "2/1 100/2 4xHDR\n",
      "host n1 1/1 2/1\n" "level 100=1\n" "2 host 4xHDR\n"
      "paths over 2 links\n" },

    { "two hosts of one name",
      "switch 100 0 8 leaf\n" "ca 1 1 1 n1 mlx5_0\n" "ca 2 2 1 n1 mlx5_0\n"
      "ca 3 3 1 n2 mlx5_0\n" "1/1 100/1 4xHDR\n" "2/1 100/2 4xHDR\n"
      "3/1 100/3 4xHDR\n",
      "host 0000000000000001 1/1\n" "host 0000000000000002 2/1\n"
      "host n2 3/1\n" "level 100=1\n" "3 host 4xHDR\n"
      "warning adapters 0000000000000001 and 0000000000000002 are on different "
      "cards, and both call themselves n1 mlx5_0: all adapters of n1 are "
      "called by their GUIDs\n" "paths over 3 links\n" },

    { "two hosts of one name with two rails each",
      "switch 100 0 8 leaf\n" "ca 4 4 1 n1 mlx5_0\n" "ca 5 4 1 n1 mlx5_1\n"
      "ca 2 2 1 n1 mlx5_0\n" "ca 3 2 1 n1 mlx5_1\n" "4/1 100/1 4xHDR\n"
      "5/1 100/2 4xHDR\n" "2/1 100/3 4xHDR\n" "3/1 100/4 4xHDR\n",
      "host 0000000000000002 2/1 3/1\n" "host 0000000000000004 4/1 5/1\n"
      "level 100=1\n" "4 host 4xHDR\n"
      "warning adapters 0000000000000002 and 0000000000000004 are on different "
      "cards, and both call themselves n1 mlx5_0: all adapters of n1 are "
      "called by their GUIDs\n" "paths over 4 links\n" },

    { "adapters of one description whose cards are not known",
      "switch 100 0 8 leaf\n" "ca 1 0 1 n1\n" "ca 2 0 1 n1\n"
      "1/1 100/1 4xHDR\n" "2/1 100/2 4xHDR\n",
      "host n1 1/1 2/1\n" "level 100=1\n" "2 host 4xHDR\n"
      "paths over 2 links\n" },

    { "adapters of one description on one card",
      "switch 100 0 8 leaf\n" "ca 1 1 1 n1\n" "ca 2 1 1 n1\n"
      "1/1 100/1 4xHDR\n" "2/1 100/2 4xHDR\n",
      "host n1 1/1 2/1\n" "level 100=1\n" "2 host 4xHDR\n"
      "paths over 2 links\n" },

    { "hosts without a description",
      "switch 100 0 8 \n" "ca 1 1 2 \n" "ca 2 2 1 localhost mlx5_0\n"
      "ca 3 2 1 (none) HCA-1\n"
      "ca 4 4 1 MT4129 ConnectX7   Mellanox Technologies\n" "1/1 100/1 4xHDR\n"
      "1/2 100/5 4xHDR\n" "2/1 100/2 4xHDR\n" "3/1 100/3 4xHDR\n"
      "4/1 100/4 4xHDR\n",
      "host 0000000000000001 1/1 1/2\n" "host 0000000000000002 2/1\n"
      "host 0000000000000003 3/1\n" "host 0000000000000004 4/1\n"
      "level 100=1\n" "5 host 4xHDR\n"
      "warning 4 adapters do not tell their host's name, one of them is "
      "0000000000000004 (MT4129 ConnectX7   Mellanox Technologies): start "
      "rdma-ndd on the hosts, or name them in NodeNameMap\n"
      "paths over 5 links\n" },

    { "a host without a description",
      "switch 100 0 8 leaf\n" "ca 1 1 1 n1\n" "ca 2 2 1 localhost mlx5_0\n"
      "1/1 100/1 4xHDR\n" "2/1 100/2 4xHDR\n",
      "host 0000000000000002 2/1\n" "host n1 1/1\n" "level 100=1\n"
      "2 host 4xHDR\n"
      "warning adapter 0000000000000002 (localhost mlx5_0) does not tell its "
      "host's name: start rdma-ndd there, or name it in NodeNameMap\n"
      "paths over 2 links\n" },

    { "virtual functions: machines that share a card",
      "switch 100 0 8 leaf\n" "ca 1 1 1 hyper1 mlx5_0\n" "ca 2 1 1 vm1 mlx5_0\n"
      "ca 3 1 1 vm2 mlx5_0\n" "ca 4 4 1 vm3 mlx5_0\n" "1/1 100/1 4xHDR\n"
      "2/1 100/2 4xHDR\n" "3/1 100/3 4xHDR\n" "4/1 100/4 4xHDR\n",
      "host hyper1 1/1\n" "host vm1 2/1\n" "host vm2 3/1\n" "host vm3 4/1\n"
      "level 100=1\n" "4 host 4xHDR\n" "paths over 4 links\n" },

    { "an HCA with a switch in it",
      "switch 100 100 8 leaf\n" "switch 10 10 4 hyper1 vswitch\n"
      "ca 11 10 1 hyper1 mlx5_0\n" "ca 12 10 1 vm1 mlx5_0\n"
      "ca 1 1 1 n1 mlx5_0\n" "11/1 10/2 4xHDR\n" "12/1 10/3 4xHDR\n"
      "10/1 100/1 4xHDR\n" "1/1 100/2 4xHDR\n",
      "host hyper1 11/1\n" "host n1 1/1\n" "host vm1 12/1\n"
      "level 10=1 100=1\n" "1 host 4xHDR\n" "2 host internal 4xHDR\n"
      "1 switch 1-1 4xHDR\n" "paths over 4 links\n" },

    { "SHARP",
      "switch 100 100 8 leaf\n" "ca 1 1 1 n1 mlx5_0\n" "ca 2 2 1 n2 mlx5_0\n"
      "ca 108 100 1 Mellanox Technologies Aggregation Node\n"
      "1/1 100/1 4xHDR\n" "2/1 100/2 4xHDR\n" "108/1 100/8 4xHDR\n",
      "host n1 1/1\n" "host n2 2/1\n" "level 100=1\n" "2 host 4xHDR\n"
      "1 other internal 4xHDR\n" "paths over 2 links\n" },

    { "a router",
      "switch 100 0 8 leaf\n" "ca 1 0 1 n1 mlx5_0\n" "ca 2 0 1 n2 mlx5_0\n"
      "router 50 0 2 n3 to storage\n" "1/1 100/1 4xHDR\n" "2/1 100/2 4xHDR\n"
      "50/1 100/8 4xHDR\n",
      "host n1 1/1\n" "host n2 2/1\n" "level 100=1\n" "2 host 4xHDR\n"
      "1 other 4xHDR\n" "paths over 2 links\n" },

    { "a chassis, by its system image",
      "switch 100 100 8 line1\n" "switch 101 100 8 line2\n"
      "switch 102 100 8 spine\n" "switch 103 103 8 edge\n" "ca 1 0 1 n1 x\n"
      "ca 2 0 1 n2 x\n" "ca 3 0 1 n3 x\n" "1/1 100/1 4xEDR\n"
      "2/1 101/1 4xEDR\n" "3/1 103/1 4xEDR\n" "100/8 102/1 4xEDR\n"
      "101/8 102/2 4xEDR\n" "103/8 102/3 4xEDR\n",
      "host n1 1/1\n" "host n2 2/1\n" "host n3 3/1\n"
      "level 100=1 101=1 102=2 103=1\n" "3 host 4xEDR\n"
      "1 switch 1-2 4xEDR\n" "2 switch 1-2 internal 4xEDR\n"
      "paths over 6 links\n" },

    { "two chassis, by their modules' names",
      "switch 100 100 8 MF0;ib1:CS7500/L01/U1\n"
      "switch 101 101 8 MF0;ib1:CS7500/S01/U1\n"
      "switch 102 102 8 MF0;ib10:CS7500/L01/U1\n" "ca 1 0 1 n1 x\n"
      "ca 2 0 1 n2 x\n" "1/1 100/1 4xEDR\n" "2/1 102/1 4xEDR\n"
      "100/8 101/1 4xEDR\n" "102/8 101/2 4xEDR\n" "101/7 101/8 4xEDR\n",
      "host n1 1/1\n" "host n2 2/1\n" "level 100=1 101=2 102=1\n"
      "2 host 4xEDR\n" "1 switch 1-2 4xEDR\n" "1 switch 1-2 internal 4xEDR\n"
      "1 switch 2-2 4xEDR\n" "paths over 4 links\n" },

    { "switches without hosts",
      "switch 100 0 4 leaf\n" "switch 101 0 4 leaf\n" "switch 102 0 4 spine\n"
      "switch 103 0 4 core\n" "switch 104 0 4 alone\n" "switch 105 0 4 far\n"
      "switch 106 0 4 away\n" "ca 1 0 1 n1 x\n" "ca 2 0 1 n2 x\n"
      "1/1 100/1 4xHDR\n" "2/1 101/1 4xHDR\n" "100/2 102/1 4xHDR\n"
      "101/2 102/2 4xHDR\n" "102/3 103/1 4xHDR\n" "105/1 106/1 4xHDR\n",
      "host n1 1/1\n" "host n2 2/1\n"
      "level 100=1 101=1 102=2 103=3 104=0 105=0 106=0\n" "2 host 4xHDR\n"
      "1 switch 0-0 4xHDR\n" "2 switch 1-2 4xHDR\n" "1 switch 2-3 4xHDR\n"
      "paths over 4 links\n" },

    { "a host at a spine",
      LEAF (1) LEAF (2) LEAF (3) "switch 109 0 6 spine1\n"
      "switch 10a 0 6 spine2\n" HOSTS (1) HOSTS (2) HOSTS (3)
      "101/5 109/1 4xHDR\n" "102/5 109/2 4xHDR\n" "103/5 109/3 4xHDR\n"
      "101/6 10a/1 4xHDR\n" "102/6 10a/2 4xHDR\n" "103/6 10a/3 4xHDR\n"
      "ca 1 0 1 ufm x\n" "1/1 10a/6 4xHDR\n",
      MADES (1) MADES (2) MADES (3) "host ufm 1/1\n"
      "level 101=1 102=1 103=1 109=2 10a=2\n" "13 host 4xHDR\n"
      "6 switch 1-2 4xHDR\n" "paths over 19 links\n" },

    { "a leaf with a single host",
      LEAF (1) LEAF (2) LEAF (3) "switch 109 0 6 spine1\n"
      "switch 10a 0 6 spine2\n" HOSTS (1) HOSTS (2) HOST (3, 1)
      "101/5 109/1 4xHDR\n" "102/5 109/2 4xHDR\n" "103/5 109/3 4xHDR\n"
      "101/6 10a/1 4xHDR\n" "102/6 10a/2 4xHDR\n" "103/6 10a/3 4xHDR\n",
      MADES (1) MADES (2) MADE (3, 1) "level 101=1 102=1 103=1 109=2 10a=2\n"
      "9 host 4xHDR\n" "6 switch 1-2 4xHDR\n" "paths over 12 links\n" },

    { "ports that are not active",
      "switch 100 0 8 leaf\n" "switch 101 0 8 leaf\n" "switch 102 0 8 spine\n"
      "ca 1 0 2 n1 x\n" "ca 2 0 1 n2 x\n" "ca 3 0 1 n3 x\n"
      "1/1 100/1 4xHDR active\n" "1/2 100/2 4xHDR init\n"
      "2/1 100/3 4xHDR armed\n" "3/1 101/1 4xHDR\n" "100/8 101/8 4xHDR init\n"
      "100/7 102/1 4xHDR\n" "101/7 102/2 4xHDR\n",
      "host n1 1/1\n" "host n3 3/1\n" "level 100=1 101=1 102=2\n"
      "3 host 4xHDR\n" "1 switch 1-1 4xHDR\n" "2 switch 1-2 4xHDR\n"
      "1 other 4xHDR\n"
      "warning n1: adapter 0000000000000001 port 2 is connected but is not "
      "active\n"
      "warning n2: adapter 0000000000000002 port 1 is connected but is not "
      "active\n" "paths over 4 links\n" },

    { "mixed speeds and widths",
      "switch 100 0 8 leaf\n" "switch 101 0 8 spine\n" "ca 1 0 1 n1 x\n"
      "ca 2 0 1 n2 x\n" "ca 3 0 1 n3 x\n" "1/1 100/1 4xHDR\n"
      "2/1 100/2 2xHDR\n" "3/1 100/3 4xEDR\n" "100/7 101/1 4xDDR\n"
      "100/8 101/2 -\n",
      "host n1 1/1\n" "host n2 2/1\n" "host n3 3/1\n" "level 100=1 101=2\n"
      "1 host 2xHDR\n" "1 host 4xEDR\n" "1 host 4xHDR\n" "1 switch 1-2\n"
      "1 switch 1-2 4xDDR\n" "paths over 3 links\n" },

    { "the other port is of another subnet",
      "switch 100 0 8 plane1\n" "ca 1 0 2 n1 x\n" "ca 2 0 2 n2 x\n"
      "1/1 100/1 4xHDR\n" "2/1 100/2 4xHDR\n",
      "host n1 1/1\n" "host n2 2/1\n" "level 100=1\n" "2 host 4xHDR\n"
      "paths over 2 links\n" },

    { "two planes that only hosts join",
      "switch 100 0 8 plane1\n" "switch 101 0 8 plane2\n" "ca 1 0 2 n1 x\n"
      "ca 2 0 2 n2 x\n" "1/1 100/1 4xHDR\n" "2/1 100/2 4xHDR\n"
      "1/2 101/1 4xHDR\n" "2/2 101/2 4xHDR\n",
      "host n1 1/1 1/2\n" "host n2 2/1 2/2\n" "level 100=1 101=1\n"
      "4 host 4xHDR\n"
      "no path: n1:2 to n1:1: switch plane2 (0000000000000101) has no route to "
      "LID 3\n" },

    { "parallel cables",
      "switch 100 0 8 leaf\n" "switch 101 0 8 leaf\n" "ca 1 0 1 n1 x\n"
      "ca 2 0 1 n2 x\n" "1/1 100/1 4xHDR\n" "2/1 101/1 4xHDR\n"
      "100/7 101/7 4xHDR\n" "100/8 101/8 4xHDR\n",
      "host n1 1/1\n" "host n2 2/1\n" "level 100=1 101=1\n" "2 host 4xHDR\n"
      "2 switch 1-1 4xHDR\n" "paths over 3 links\n" },
};

/*
 * Build
 */

static enum node_type type_of (const char *word)
{
    return strcmp (word, "ca") == 0       ? NODE_CA
           : strcmp (word, "switch") == 0 ? NODE_SWITCH
                                          : NODE_ROUTER;
}

static int add_cable (struct fabric *f, const char *line, struct error *err)
{
    unsigned int port[2], width = 0;
    struct fabric_port *p;
    char speed[8] = "", state[8] = "unknown", rate[16];
    uint64_t guid[2];
    uint32_t node[2];

    if (sscanf (line, "%" SCNx64 "/%u %" SCNx64 "/%u %15s %7s", &guid[0],
                &port[0], &guid[1], &port[1], rate, state)
        < 5)
        return -1;
    sscanf (rate, "%ux%7s", &width, speed);
    for (int i = 0; i < 2; i++)
        node[i] = fabric_find_node (f, guid[i]);
    if (!(p = fabric_port_at (f, node[0], port[0], err)))
        return -1;
    p->state = fabric_find_state (state);
    return fabric_add_cable (f, node[0], port[0], node[1], port[1], width,
                             speed, err);
}

static int add_line (struct fabric *f, const char *line, unsigned int *lid,
                     struct error *err)
{
    char word[8], desc[80] = "";
    uint64_t guid, system;
    unsigned int ports;
    int64_t node;

    if (sscanf (line, "%7s %" SCNx64 " %" SCNx64 " %u %79[^\n]", word, &guid,
                &system, &ports, desc)
        < 4)
        return add_cable (f, line, err);
    node = fabric_add_node (f, guid, type_of (word), ports, desc, err);
    if (node < 0)
        return -1;
    f->node[node].system = system;
    if (type_of (word) == NODE_SWITCH)
        return fabric_set_switch_lid (f, node, (*lid)++, err);
    for (unsigned int i = 1; i <= ports; i++)
        if (fabric_set_port (f, node, i, guid << 8 | i, (*lid)++, 0, err) < 0)
            return -1;
    return 0;
}

static uint32_t far_port (const struct fabric *f, uint32_t port)
{
    const struct fabric_link *l;

    if (f->port[port].link == FABRIC_NONE)
        return FABRIC_NONE;
    l = &f->link[f->port[port].link];
    if (!fabric_is_up (f, l))
        return FABRIC_NONE;
    return l->a == port ? l->b : l->a;
}

/* Towards one port: breadth first from it, over switches. */
static void route_to (const struct fabric *f, uint32_t port,
                      uint8_t (*lft)[TOP + 1])
{
    uint32_t queue[MAX_NODES];
    size_t head = 0, tail = 0;
    unsigned int lid = f->port[port].lid;
    uint32_t far = far_port (f, port);

    if (far == FABRIC_NONE || f->node[f->port[far].node].type != NODE_SWITCH)
        return;
    lft[f->port[far].node][lid] = f->port[far].num;
    queue[tail++] = f->port[far].node;
    while (head < tail) {
        const struct fabric_node *n = &f->node[queue[head++]];

        for (unsigned int k = 0; k < n->nports; k++) {
            const struct fabric_port *p;

            if ((far = far_port (f, n->first_port + k)) == FABRIC_NONE)
                continue;
            p = &f->port[far];
            if (f->node[p->node].type != NODE_SWITCH
                || lft[p->node][lid] != LFT_NO_ROUTE)
                continue;
            lft[p->node][lid] = p->num;
            queue[tail++] = p->node;
        }
    }
}

static int route (struct fabric *f, struct error *err)
{
    static uint8_t lft[MAX_NODES][TOP + 1];

    memset (lft, LFT_NO_ROUTE, sizeof (lft));
    for (size_t i = 0; i < f->nports; i++)
        if (f->node[f->port[i].node].type != NODE_SWITCH)
            route_to (f, i, lft);
    for (size_t i = 0; i < f->nnodes; i++)
        if (f->node[i].type == NODE_SWITCH
            && fabric_set_lft (f, i, lft[i], TOP, err) < 0)
            return -1;
    return 0;
}

static struct fabric *build (const char *shape, struct error *err)
{
    struct fabric *f = fabric_create ();
    unsigned int lid = 1;

    for (const char *next; *shape; shape = next + 1) {
        char line[128];

        next = strchr (shape, '\n');
        snprintf (line, sizeof (line), "%.*s", (int)(next - shape), shape);
        if (add_line (f, line, &lid, err) < 0)
            goto error;
    }
    if (route (f, err) < 0 || fabric_finish (f, err) < 0)
        goto error;
    return f;
error:
    fabric_destroy (f);
    return NULL;
}

/*
 * What was made
 */

static void put_paths (const struct fabric *f, FILE *fp)
{
    struct error err = { 0 };
    struct pathset *ps = fabric_pathset (f, NULL, 0, &err);
    size_t m;

    if (ps && pathset_links (ps, &m, &err))
        fprintf (fp, "paths over %zu links\n", m);
    else
        fprintf (fp, "no path: %s\n", err.text);
    pathset_destroy (ps);
}

static void put_classes (const struct fabric *f, FILE *fp)
{
    for (size_t i = 0; i < f->nclasses; i++) {
        size_t n = 0;

        for (size_t k = 0; k < f->nlinks; k++)
            n += f->link[k].class_id == i;
        fprintf (fp, "%zu %s\n", n, f->class_name[i]);
    }
}

static void put_cages (const struct fabric *f, FILE *fp)
{
    bool any = false;

    for (size_t i = 0; i < f->nlinks; i++)
        for (int end = 0; end < 2; end++) {
            const struct fabric_link *l = &f->link[i];
            const struct fabric_port *p = &f->port[end ? l->b : l->a];

            if (f->link_info[i].cage[end] == 0)
                continue;
            fprintf (fp, "%s %" PRIx64 "/%u=%u", any ? "" : "cages",
                     f->node[p->node].guid, p->num,
                     f->link_info[i].cage[end]);
            any = true;
        }
    fputs (any ? "\n" : "", fp);
}

/* The text; the caller frees it. */
static char *made_of (const struct fabric *f)
{
    size_t size;
    char *text;
    FILE *fp = open_memstream (&text, &size);

    for (size_t i = 0; i < f->nhosts; i++) {
        const struct fabric_host *h = &f->host[i];

        fprintf (fp, "host %s", h->name);
        for (uint32_t e = h->first; e < h->first + h->count; e++) {
            const struct fabric_port *p = &f->port[f->endpoint[e].port];

            fprintf (fp, " %" PRIx64 "/%u", f->node[p->node].guid, p->num);
        }
        fprintf (fp, "\n");
    }
    fprintf (fp, "level");
    for (size_t i = 0; i < f->nnodes; i++)
        if (f->node[i].type == NODE_SWITCH)
            fprintf (fp, " %" PRIx64 "=%u", f->node[i].guid, f->node[i].level);
    fprintf (fp, "\n");
    put_classes (f, fp);
    put_cages (f, fp);
    for (size_t i = 0; i < f->nwarnings; i++)
        fprintf (fp, "warning %s\n", f->warning[i]);
    put_paths (f, fp);
    fclose (fp);
    return text;
}

/* Written and read again. */
static struct fabric *again (const struct fabric *f, struct error *err)
{
    size_t size;
    char *text;
    FILE *fp = open_memstream (&text, &size);
    struct fabric *copy = NULL;

    if (fabric_write (f, fp, err) == 0 && fclose (fp) == 0) {
        fp = fmemopen (text, size, "r");
        copy = fabric_read (fp, "shape", err);
        fclose (fp);
    }
    free (text);
    return copy;
}

int main (void)
{
    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        struct error err = { 0 };
        struct fabric *f = build (rows[i].shape, &err), *copy;
        char *made, *made_again;

        if (!ok (f != NULL, "%s: %s", rows[i].name, f ? "built" : err.text))
            continue;
        made = made_of (f);
        if (!ok (strcmp (made, rows[i].made) == 0, "... what is made of it"))
            fprintf (stderr, "%s", made);
        copy = again (f, &err);
        made_again = copy ? made_of (copy) : NULL;
        ok (copy && strcmp (made_again, made) == 0,
            "... also when written and read again");
        free (made);
        free (made_again);
        fabric_destroy (f);
        fabric_destroy (copy);
    }
    return done_testing ();
}
