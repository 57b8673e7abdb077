/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "ibquery/generate.h"

#include <stdlib.h>
#include <string.h>

#include "ibquery/walk.h"
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
    struct fat_tree tree = { p, q, ROUTING_DMODK, 1 };
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
    struct fat_tree tree = { p, q, ROUTING_MINHOP, 7 };
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
        struct fat_tree tree = { 8, 3, ROUTING_MINHOP, seed[i] };
        struct error err;
        struct fabric *f = generate_fat_tree (&tree, &err);

        strcpy (hash[i], f->hash);
        fabric_destroy (f);
    }
    ok (strcmp (hash[0], hash[1]) == 0, "a seed repeats its routes");
    ok (strcmp (hash[0], hash[2]) != 0, "another seed has others");
}

static void refusals (void)
{
    static const struct {
        unsigned int ports, levels;
        const char *sentence;
    } rows[] = {
        { 0, 3, "not 0" },   { 3, 3, "not 3" },
        { 66, 2, "not 66" }, { 8, 0, "not 0" },
        { 8, 7, "not 7" },   { 64, 3, "65536 hosts and needs 70656 LIDs" },
        { 64, 6, "LIDs, but there are 49151" },
    };

    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        struct fat_tree tree = { rows[i].ports, rows[i].levels, 0, 1 };
        struct error err = { 0 };
        struct fabric *f = generate_fat_tree (&tree, &err);

        ok (!f && strstr (err.text, rows[i].sentence), "refused: %s",
            err.text);
        fabric_destroy (f);
    }
}

static void netfile (void)
{
    struct fat_tree tree = { 4, 2, ROUTING_DMODK, 1 };
    struct error err;
    struct fabric *f = generate_fat_tree (&tree, &err);
    char *text = NULL;
    size_t len;
    FILE *fp = open_memstream (&text, &len);

    ok (generate_netfile (f, fp, &err) == 0, "a netfile");
    fclose (fp);
    ok (strstr (text, "caguid=0x0002c90000000010\nCa 1 \"h0001\"\t"
                      "# \"h0001 mlx5_0\"\n[1]\t\"s1-0001\"[1]\t"
                      "# lid 0 lmc 0 \"s1-0001\" lid 0 4xHDR\n")
            && strstr (text, "Switch 4 \"s2-0002\"\t"),
        "... with hosts and switches");
    free (text);
    fabric_destroy (f);
}

int main (void)
{
    for (size_t i = 0; i < sizeof (sizes) / sizeof (sizes[0]); i++)
        for (int r = ROUTING_DMODK; r <= ROUTING_MINHOP; r++) {
            struct fat_tree tree = { sizes[i].ports, sizes[i].levels, r, 1 };
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
    seeds ();
    refusals ();
    netfile ();
    return done_testing ();
}
