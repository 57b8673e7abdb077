/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "ibquery/export/formats.h"
#include "ibquery/model/generate.h"

#include <stdlib.h>
#include <string.h>

#include "ibquery/fabric.h"
#include "tests/tap.h"

static const struct {
    unsigned int ports, levels;
    size_t hosts, switches, links, classes;
} sizes[] = {
    { 2, 1, 2, 1, 2, 1 },        { 6, 1, 6, 1, 6, 1 },
    { 64, 1, 64, 1, 64, 1 },     { 2, 2, 2, 3, 4, 2 },
    { 2, 6, 2, 11, 12, 6 },      { 4, 2, 8, 6, 16, 2 },
    { 6, 2, 18, 9, 36, 2 },      { 8, 3, 128, 80, 384, 3 },
    { 6, 4, 162, 189, 648, 4 },  { 12, 3, 432, 180, 1296, 3 },
    { 4, 6, 128, 352, 768, 6 },  { 4, 5, 64, 144, 320, 5 },
};

/* All pairs: whole, and as short as the tree allows; endpoint i is host i. */
static bool reach (const struct fabric *f, unsigned int h, unsigned int q)
{
    struct error err = { 0 };

    for (size_t a = 0; a < f->nendpoints; a++)
        for (size_t b = 0; b < f->nendpoints; b++) {
            uint32_t arc[PATH_MAX_HOPS];
            size_t x = a, y = b;
            unsigned int level = 0;
            int n = fabric_walk (f, a, b, arc, &err);

            for (; x != y && level < q; level++, x /= h, y /= h)
                ;
            if (n != (int)(2 * level)) {
                diag ("%zu to %zu: %d, not %u: %s", a, b, n, 2 * level,
                      err.text);
                return false;
            }
        }
    return true;
}

/* The most destinations whose paths share a link on their way down. */
static unsigned int most_down (const struct fabric *f)
{
    uint32_t *last = malloc (f->nlinks * sizeof (*last));
    unsigned int *count = calloc (f->nlinks, sizeof (*count)), most = 0;
    struct error err;

    memset (last, 0xff, f->nlinks * sizeof (*last));
    for (size_t b = 0; b < f->nendpoints; b++)
        for (size_t a = 0; a < f->nendpoints; a++) {
            uint32_t arc[PATH_MAX_HOPS];
            int n = fabric_walk (f, a, b, arc, &err);

            for (int i = n / 2; i < n; i++) {
                uint32_t l = arc_link (arc[i]);

                if (last[l] != b) {
                    last[l] = b;
                    if (++count[l] > most)
                        most = count[l];
                }
            }
        }
    free (last);
    free (count);
    return most;
}

static void tower (unsigned int p, unsigned int q)
{
    struct fat_tree tree = { p, q, .how = { ROUTING_DMODK, .seed = 1 } };
    struct error err;
    struct fabric *f = generate_fat_tree (&tree, &err);
    unsigned int most = most_down (f);

    ok (most == 1, "dmodk, %u-port %u-tree: a tower for each host", p, q);
    fabric_destroy (f);
}

/* By how much the up ports of a switch differ in destinations, at most. */
static unsigned int imbalance (const struct fabric *f, unsigned int p,
                               unsigned int q)
{
    unsigned int worst = 0;

    for (size_t s = 0; s < f->nnodes; s++) {
        const struct fabric_node *n = &f->node[s];
        unsigned int count[256] = { 0 }, least = UINT32_MAX, most = 0;

        if (n->type != NODE_SWITCH || n->level == q)
            continue;
        for (size_t e = 0; e < f->nendpoints; e++)
            count[n->lft[f->port[f->endpoint[e].port].lid]]++;
        for (unsigned int k = p / 2 + 1; k <= p; k++) {
            least = count[k] < least ? count[k] : least;
            most = count[k] > most ? count[k] : most;
        }
        worst = most - least > worst ? most - least : worst;
    }
    return worst;
}

static void balance (unsigned int p, unsigned int q)
{
    struct fat_tree tree = { p, q, .how = { ROUTING_MINHOP, 7, 0, 0 } };
    struct error err;
    struct fabric *f = generate_fat_tree (&tree, &err);
    unsigned int worst = imbalance (f, p, q);

    ok (worst <= 1, "minhop, %u-port %u-tree: up ports differ by %u", p, q,
        worst);
    fabric_destroy (f);
}

static void seeds (void)
{
    char hash[3][33];
    static const uint64_t seed[3] = { 1, 1, 2 };

    for (int i = 0; i < 3; i++) {
        struct fat_tree tree = { 8, 3,
                                 .how = { ROUTING_MINHOP, .seed = seed[i] } };
        struct error err;
        struct fabric *f = generate_fat_tree (&tree, &err);

        strcpy (hash[i], f->hash);
        fabric_destroy (f);
    }
    ok (strcmp (hash[0], hash[1]) == 0, "a seed repeats its routes");
    ok (strcmp (hash[0], hash[2]) != 0, "another seed has others");
}

static unsigned int group_of (const struct fabric *f, uint32_t node)
{
    unsigned int group = 0;

    sscanf (f->node[node].desc, "s%u-", &group);
    return group;
}

static uint32_t leaf_of (const struct fabric *f, uint32_t endpoint)
{
    const struct fabric_port *p = &f->port[f->endpoint[endpoint].port];
    const struct fabric_link *l = &f->link[p->link];

    return f->port[l->a].node == p->node ? f->port[l->b].node
                                         : f->port[l->a].node;
}

/* Hops of all nodes to one, over the cables. */
static void distances (const struct fabric *f, uint32_t to,
                       unsigned int *distance)
{
    bool more = true;

    for (size_t i = 0; i < f->nnodes; i++)
        distance[i] = PATH_MAX_HOPS;
    distance[to] = 0;
    while (more) {
        more = false;
        for (size_t i = 0; i < f->nlinks; i++) {
            unsigned int *a = &distance[f->port[f->link[i].a].node];
            unsigned int *b = &distance[f->port[f->link[i].b].node];
            unsigned int least = (*a < *b ? *a : *b) + 1;

            if (*a > least || *b > least) {
                *(*a > *b ? a : b) = least;
                more = true;
            }
        }
    }
}

/* Walk from all hosts to all, or 200 of them. Returns the most cables between
 * switches on a path, or -1 where one is broken or longer than the shortest.
 */
static int diameter (const struct fabric *f)
{
    unsigned int *distance = malloc (f->nnodes * sizeof (*distance));
    uint32_t last = FABRIC_NONE, arc[PATH_MAX_HOPS];
    struct error err = { 0 };
    size_t step = f->nendpoints / 200 + 1;
    int most = 0;

    for (uint32_t b = 0; b < f->nendpoints && most >= 0; b += step) {
        if (leaf_of (f, b) != last)
            distances (f, last = leaf_of (f, b), distance);
        for (uint32_t a = 0; a < f->nendpoints && most >= 0; a++) {
            int n = fabric_walk (f, a, b, arc, &err);

            if (a == b)
                continue;
            if (n != (int)distance[leaf_of (f, a)] + 2) {
                diag ("%u to %u: %d hops %s", a, b, n, err.text);
                most = -1;
            } else if (n - 2 > most)
                most = n - 2;
        }
    }
    free (distance);
    return most;
}

/* The fewest and most cables to other switches that a switch has. */
static void degrees (const struct fabric *f, unsigned int range[2])
{
    range[0] = UINT32_MAX;
    range[1] = 0;
    for (size_t i = 0; i < f->nnodes; i++) {
        const struct fabric_node *n = &f->node[i];
        unsigned int degree = 0;

        for (unsigned int k = 0; k < n->nports; k++) {
            uint32_t link = f->port[n->first_port + k].link;

            degree += link != FABRIC_NONE && f->link[link].kind == LINK_SWITCH;
        }
        if (n->type == NODE_SWITCH) {
            range[0] = degree < range[0] ? degree : range[0];
            range[1] = degree > range[1] ? degree : range[1];
        }
    }
}

static void slimflies (void)
{
    static const struct {
        unsigned int q, hosts, degree, per_router;
    } rows[] = {
        { 3, 0, 5, 3 },    { 4, 0, 6, 3 },   { 5, 0, 7, 4 },
        { 7, 0, 11, 6 },   { 8, 2, 12, 2 },  { 9, 0, 13, 7 },
        { 11, 1, 17, 1 },  { 13, 1, 19, 1 }, { 16, 1, 24, 1 },
        { 17, 0, 25, 13 }, { 19, 1, 29, 1 }, { 25, 1, 37, 1 },
        { 27, 1, 41, 1 },
    };

    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        unsigned int q = rows[i].q, routers = 2 * q * q, range[2];
        struct slimfly fly = { q, rows[i].hosts, { ROUTING_MINHOP, 1, 0, 0 } };
        struct error err = { 0 };
        struct fabric *f = generate_slimfly (&fly, &err);

        if (!ok (f != NULL, "slimfly %u %s", q, err.text))
            continue;
        degrees (f, range);
        ok (f->nhosts == routers * rows[i].per_router
                && f->nnodes - f->nhosts == routers
                && f->nlinks == f->nhosts + routers * rows[i].degree / 2
                && range[0] == rows[i].degree && range[1] == rows[i].degree
                && f->nclasses == 2 && f->nwarnings == 0,
            "... has %u routers of degree %u with %u hosts each", routers,
            range[1], rows[i].per_router);
        ok (diameter (f) == 2, "... and diameter 2");
        fabric_destroy (f);
    }
}

/* Do all paths go local, global, local: one global cable between groups, none
 * within one, and no more than a local one at either side?
 */
static bool minimal (const struct fabric *f)
{
    uint32_t arc[PATH_MAX_HOPS];
    struct error err = { 0 };

    for (uint32_t a = 0; a < f->nendpoints; a++)
        for (uint32_t b = 0; b < f->nendpoints; b++) {
            int n = fabric_walk (f, a, b, arc, &err), globals = 0;
            int local[2] = { 0 };
            bool far = group_of (f, leaf_of (f, a))
                       != group_of (f, leaf_of (f, b));

            for (int i = 1; i + 1 < n; i++) {
                const struct fabric_link *l = &f->link[arc_link (arc[i])];

                if (group_of (f, f->port[l->a].node)
                    != group_of (f, f->port[l->b].node))
                    globals++;
                else
                    local[globals > 0]++;
            }
            if (n < 0 || globals != far || local[0] > 1 || local[1] > 1) {
                diag ("%u to %u: %d hops, %d, %d, %d: %s", a, b, n, local[0],
                      globals, local[1], err.text);
                return false;
            }
        }
    return true;
}

static void dragonflies (void)
{
    static const unsigned int rows[][3] = {
        { 1, 1, 1 }, { 2, 1, 3 }, { 2, 4, 2 }, { 1, 3, 1 }, { 4, 8, 4 },
    };

    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        unsigned int p = rows[i][0], a = rows[i][1], h = rows[i][2];
        unsigned int groups = a * h + 1, range[2];
        struct dragonfly fly = { p, a, h, { ROUTING_MINHOP, 1, 0, 0 } };
        struct error err = { 0 };
        struct fabric *f = generate_dragonfly (&fly, &err);

        if (!ok (f != NULL, "dragonfly (%u,%u,%u) %s", p, a, h, err.text))
            continue;
        degrees (f, range);
        ok (f->nhosts == groups * a * p && f->nnodes - f->nhosts == groups * a
                && f->nlinks == f->nhosts + groups * a * (a - 1) / 2
                                    + groups * (groups - 1) / 2
                && range[0] == a - 1 + h && range[1] == a - 1 + h
                && f->nwarnings == 0,
            "... has %zu hosts, %u groups, %zu links", f->nhosts, groups,
            f->nlinks);
        ok (minimal (f), "... and all go local, global, local");
        fabric_destroy (f);
    }
}

static void irregulars (void)
{
    static const struct {
        unsigned int switches, hosts, degree, cables;
    } rows[] = {
        { 1, 1, 8, 0 },     { 1, 64, 1, 0 },    { 2, 3, 1, 1 },
        { 2, 64, 32, 32 },  { 3, 2, 32, 48 },   { 40, 200, 1, 39 },
        { 40, 2400, 4, 80 }, { 100, 832, 8, 400 }, { 50, 1600, 32, 800 },
    };

    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++)
        for (int r = ROUTING_MINHOP; r <= ROUTING_RANDOM; r++) {
            struct irregular net = { rows[i].switches, rows[i].hosts,
                                     rows[i].degree, { r, 1, 0, 0 } };
            struct error err = { 0 };
            struct fabric *f = generate_irregular (&net, &err);

            ok (f && f->nhosts == net.hosts
                    && f->nnodes - f->nhosts == net.switches
                    && f->nlinks == net.hosts + rows[i].cables
                    && diameter (f) >= 0,
                "irregular: %u switches, %u hosts, %u cables %s",
                net.switches, net.hosts, rows[i].cables, err.text);
            fabric_destroy (f);
        }
}

/* Whatever is pruned, the rest hangs together. */
static void pruned (void)
{
    struct error err = { 0 };
    size_t hosts = 0;
    bool whole = true;

    for (int r = ROUTING_DMODK; r <= ROUTING_RANDOM; r++)
        for (unsigned int percent = 1; percent <= 90; percent += 8) {
            struct fat_tree tree = { 8, 3, .how = { r, percent, percent, 0 } };
            struct fabric *f = generate_fat_tree (&tree, &err);

            whole = whole && f && diameter (f) >= 0 && f->nhosts < 128
                    && f->nwarnings == 0;
            hosts += f ? f->nhosts : 0;
            if (percent == 17) /* of 80 switches, 13; of 128 hosts, 21 */
                whole = whole && f->nhosts <= 107
                        && f->nnodes - f->nhosts <= 67
                        && f->nlinks - f->nhosts <= 256 - 43;
            fabric_destroy (f);
        }
    ok (whole, "pruned trees hang together, %zu hosts in all %s", hosts,
        err.text);
}

static void pruned_dragonfly (void)
{
    struct dragonfly fly = { 2, 4, 2, { ROUTING_MINHOP, 3, 10, 0 } };
    struct error err = { 0 };
    struct fabric *f = generate_dragonfly (&fly, &err);
    uint32_t arc[PATH_MAX_HOPS];
    bool whole = f && f->nhosts > 0;

    for (uint32_t a = 0; whole && a < f->nendpoints; a++)
        for (uint32_t b = 0; b < f->nendpoints; b++)
            whole = whole && fabric_walk (f, a, b, arc, &err) >= 0;
    ok (whole, "a pruned dragonfly has no loops %s", err.text);
    fabric_destroy (f);
}

static void oversubscribed (void)
{
    static const struct {
        unsigned int ports, levels, k;
        size_t hosts, switches, links;
    } rows[] = {
        { 12, 2, 2, 96, 16, 144 },   { 12, 3, 2, 576, 144, 1152 },
        { 12, 3, 3, 648, 126, 1080 }, { 8, 2, 7, 56, 9, 64 },
    };

    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++)
        for (int r = ROUTING_DMODK; r <= ROUTING_MINHOP; r++) {
            struct fat_tree tree = { rows[i].ports, rows[i].levels,
                                     { r, 1, 0, 0 }, rows[i].k };
            struct error err = { 0 };
            struct fabric *f = generate_fat_tree (&tree, &err);

            ok (f && f->nhosts == rows[i].hosts
                    && f->nnodes - f->nhosts == rows[i].switches
                    && f->nlinks == rows[i].links
                    && f->nclasses == rows[i].levels
                    && diameter (f) == 2 * (int)rows[i].levels - 2,
                "%u-port %u-tree, oversubscribed %u times: %zu hosts %s",
                rows[i].ports, rows[i].levels, rows[i].k, rows[i].hosts,
                err.text);
            fabric_destroy (f);
        }
}

/* Rail i of each host at the i-th leaf of its unit. */
static void rails (void)
{
    struct fat_tree tree = { .ports = 16, .levels = 2, .rails = 8 };
    struct error err = { 0 };
    struct fabric *f = generate_fat_tree (&tree, &err);
    bool right = f && f->nhosts == 16 && f->nendpoints == 128;

    for (uint32_t e = 0; right && e < f->nendpoints; e++) {
        const struct fabric_endpoint *end = &f->endpoint[e];
        uint32_t host = end->host, rail = e % 8;
        const struct fabric_port *far
            = &f->port[fabric_far_port (f, end->port)];
        char leaf[16], name[16];

        snprintf (leaf, sizeof (leaf), "s1-%04u", host / 8 * 8 + rail + 1);
        snprintf (name, sizeof (name), "mlx5_%u/1", rail);
        right = host == e / 8 && far->num == host % 8 + 1
                && !strcmp (f->node[far->node].desc, leaf)
                && !strcmp (end->rail, name);
    }
    ok (right, "16 hosts of eight rails %s", err.text);
    fabric_destroy (f);
}

static const struct {
    const char *sentence;
    struct fat_tree tree;
} tree_refusals[] = {
    { "16 leaves of this fat tree cannot be shared by hosts of 3 rails",
      { .ports = 16, .levels = 2, .rails = 3 } },
    { "not 0", { .ports = 0, .levels = 3 } },
    { "not 3", { .ports = 3, .levels = 3 } },
    { "not 66", { .ports = 66, .levels = 2 } },
    { "not 0", { .ports = 8, .levels = 0 } },
    { "not 7", { .ports = 8, .levels = 7 } },
    { "65536 hosts and needs 70656 LIDs", { .ports = 64, .levels = 3 } },
    { "LIDs, but there are 49151", { .ports = 64, .levels = 6 } },
    { "oversubscribed 8", { .ports = 8, .levels = 2, .oversubscribe = 8 } },
    { "oversubscribed 2", { .ports = 8, .levels = 1, .oversubscribe = 2 } },
    { "oversubscribed 4294967295",
      { .ports = 8, .levels = 2, .oversubscribe = UINT32_MAX } },
    { "pruned, not 91", { .ports = 8, .levels = 2, .how.prune = 91 } },
    { "no hosts", { .ports = 2, .levels = 6, .how.prune = 90 } },
};

static const struct {
    const char *sentence;
    struct dragonfly fly;
} dragonfly_refusals[] = {
    { "hosts per router, not 0", { 0, 4, 2, { 0 } } },
    { "routers per group, not 0", { 2, 0, 2, { 0 } } },
    { "global ports per router, not 4294967295", { 2, 4, UINT32_MAX, { 0 } } },
    { "switches of 65 ports", { 20, 26, 20, { 0 } } },
    { "65070 LIDs", { 8, 30, 8, { 0 } } },
};

static const struct {
    const char *sentence;
    struct slimfly fly;
} slimfly_refusals[] = {
    { "not 0", { 0, 0, { 0 } } },
    { "not 2", { 2, 0, { 0 } } },
    { "not 6", { 6, 0, { 0 } } },
    { "not 15", { 15, 0, { 0 } } },
    { "not 35", { 35, 0, { 0 } } },
    { "not 4294967295", { UINT32_MAX, 0, { 0 } } },
    { "not 4294967295 for hosts", { 5, UINT32_MAX, { 0 } } },
    { "switches of 65 ports", { 29, 0, { 0 } } },
};

static const struct {
    const char *sentence;
    struct irregular net;
} irregular_refusals[] = {
    { "switches, not 0", { 0, 1, 8, { 0 } } },
    { "switches, not 4097", { 4097, 1, 8, { 0 } } },
    { "not 0", { 4, 0, 8, { 0 } } },
    { "on average, not 0", { 4, 4, 0, { 0 } } },
    { "on average, not 33", { 4, 4, 33, { 0 } } },
    { "cannot have 65 hosts", { 1, 65, 8, { 0 } } },
    { "cannot have 4294967295 hosts", { 4096, UINT32_MAX, 8, { 0 } } },
    { "LIDs, but there are 49151", { 4096, 49000, 8, { 0 } } },
};

/* Hand each row of the family's table to its function. */
#define REFUSALS(family, rows, member)                                        \
    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {           \
        struct error err = { 0 };                                             \
        struct fabric *f = generate_##family (&rows[i].member, &err);         \
                                                                              \
        ok (!f && strstr (err.text, rows[i].sentence), "refused: %s",         \
            err.text);                                                        \
        fabric_destroy (f);                                                   \
    }

static void refusals (void)
{
    REFUSALS (fat_tree, tree_refusals, tree);
    REFUSALS (dragonfly, dragonfly_refusals, fly);
    REFUSALS (slimfly, slimfly_refusals, fly);
    REFUSALS (irregular, irregular_refusals, net);
}

static void netfile (void)
{
    struct fat_tree tree = { 4, 2, .how = { ROUTING_DMODK, .seed = 1 } };
    struct error err;
    struct fabric *f = generate_fat_tree (&tree, &err);
    char *text = NULL;
    size_t len;
    FILE *fp = open_memstream (&text, &len);

    ok (netfile_write (f, fp, &err) == 0, "a netfile");
    fclose (fp);
    ok (strstr (text, "caguid=0x2c90000000010\nCa\t1 \"h0001\"\t\t"
                      "# \"h0001 mlx5_0\"\n[1](2c90000000011) \t\"s1-0001\""
                      "[1]\t\t# lid 0 lmc 0 \"s1-0001\" lid 0 4xHDR\n")
            && strstr (text, "Switch\t4 \"s2-0002\"\t"),
        "... with hosts and switches");
    free (text);
    fabric_destroy (f);
}

int main (void)
{
    for (size_t i = 0; i < sizeof (sizes) / sizeof (sizes[0]); i++)
        for (int r = ROUTING_DMODK; r <= ROUTING_MINHOP; r++) {
            struct fat_tree tree = { sizes[i].ports, sizes[i].levels,
                                     .how = { r, 1, 0, 0 } };
            struct error err = { 0 };
            struct fabric *f = generate_fat_tree (&tree, &err);

            ok (f && f->nhosts == sizes[i].hosts
                    && f->nnodes - f->nhosts == sizes[i].switches
                    && f->nlinks == sizes[i].links
                    && f->nclasses == sizes[i].classes && f->nwarnings == 0,
                "%u-port %u-tree: %zu hosts, %zu switches, %zu links",
                sizes[i].ports, sizes[i].levels, sizes[i].hosts,
                sizes[i].switches, sizes[i].links);
            ok (f && reach (f, sizes[i].ports / 2, sizes[i].levels),
                "... all reach all by shortest paths");
            fabric_destroy (f);
        }
    tower (8, 3);
    tower (6, 4);
    tower (12, 3);
    balance (8, 3);
    balance (6, 4);
    balance (12, 3);
    oversubscribed ();
    rails ();
    pruned ();
    pruned_dragonfly ();
    dragonflies ();
    slimflies ();
    irregulars ();
    seeds ();
    refusals ();
    netfile ();
    return done_testing ();
}
