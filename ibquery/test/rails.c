/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rails that are cabled to another leaf than their peers', or that hosts lack,
 * and fabrics in which none is.
 */
#include "config.h"
#include "ibquery/links/rails.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "ibquery/links/check.h"
#include "ibquery/links/fewer.h"
#include "ibquery/snapshot.h"
#include "tests/tap.h"
#include "util/rng.h"

enum { HOSTS = 64, RAILS = 8, LEAVES = 64, PORTS = 254 };

/* The leaf of each rail of each host. */
struct layout {
    unsigned int hosts, rails;
    unsigned int leaf[HOSTS][RAILS];
    const char *device; /* a format */
};

static struct fabric *build (const struct layout *l)
{
    struct fabric *f = fabric_create ();
    unsigned int used[LEAVES] = { 0 };
    char desc[FABRIC_NAME_MAX];
    int64_t leaf[LEAVES];
    uint16_t lid = 1;
    struct error err;
    bool good = true;

    for (unsigned int s = 0; s < LEAVES; s++) {
        sprintf (desc, "leaf%u", s);
        leaf[s] = fabric_add_node (f, 0x1000 + s, NODE_SWITCH, PORTS, desc,
                                   &err);
    }
    for (unsigned int h = 0; h < l->hosts; h++)
        for (unsigned int r = 0; r < l->rails; r++) {
            unsigned int s = l->leaf[h][r];
            uint64_t guid = 0x100000 + h * 0x100 + r * 0x10;
            int len = sprintf (desc, "n%u", h);
            int64_t node;

            snprintf (desc + len, sizeof (desc) - (size_t)len, l->device, r);
            node = fabric_add_node (f, guid, NODE_CA, 1, desc, &err);
            good = good && node >= 0
                   && fabric_set_port (f, (uint32_t)node, 1, guid + 1, lid++,
                                       0, &err) == 0
                   && fabric_add_cable (f, (uint32_t)node, 1,
                                        (uint32_t)leaf[s], ++used[s], 4, "NDR",
                                        &err) == 0;
        }
    if (!good || fabric_finish (f, &err) < 0) {
        ok (0, "a fabric: %s", err.text);
        exit (1);
    }
    return f;
}

/* Rail r of the hosts of a unit, so many, is at its r-th leaf. */
static void lay_units (struct layout *l, unsigned int unit)
{
    for (unsigned int h = 0; h < l->hosts; h++)
        for (unsigned int r = 0; r < l->rails; r++)
            l->leaf[h][r] = h / unit * l->rails + r;
}

/* All rails of a host at one leaf. */
static void lay_racks (struct layout *l, unsigned int unit)
{
    for (unsigned int h = 0; h < l->hosts; h++)
        for (unsigned int r = 0; r < l->rails; r++)
            l->leaf[h][r] = h / unit;
}

/* Each rail at a random one of so many leaves. */
static void lay_random (struct layout *l, unsigned int leaves)
{
    static uint64_t seed;
    struct rng rng;

    rng_seed (&rng, ++seed);
    for (unsigned int h = 0; h < l->hosts; h++)
        for (unsigned int r = 0; r < l->rails; r++)
            l->leaf[h][r] = (unsigned int)rng_below (&rng, leaves);
}

static size_t count_odd (const struct layout *l)
{
    struct fabric *f = build (l);
    struct pool *p = pool_create ();
    struct rail_odd *odd;
    size_t n = rails_find_odd (f, p, &odd);

    pool_destroy (p);
    fabric_destroy (f);
    return n;
}

static void example (void)
{
    struct layout l = { .hosts = 8, .rails = 8, .device = " mlx5_%u" };
    struct link_check *c;
    struct fabric *f;
    struct error err;

    lay_units (&l, 8);
    l.leaf[3][2] = 5;
    f = build (&l);
    c = check_links (f, NULL, NULL, &err);
    ok (c->nnotes == 1 && !strcmp (c->note[0], "n3 mlx5_2/1 is cabled to "
                                   "leaf5/4, where mlx5_2/1 of 7 of its 7 "
                                   "peers is at leaf2"),
        "%s", c->nnotes ? c->note[0] : "nothing is said");
    ok (check_status (c) == VERDICT_OK, "... which is no fault of a cable");
    check_destroy (c);
    fabric_destroy (f);
}

static const struct {
    const char *what;
    unsigned int hosts, rails;
    void (*lay) (struct layout *l, unsigned int n);
    unsigned int n;
    size_t moved, found;
} row[] = {
    { "two units of 32", 64, 8, lay_units, 32, 0, 0 },
    { "... one rail moved", 64, 8, lay_units, 32, 1, 1 },
    { "... twelve of them, one a host", 64, 8, lay_units, 32, 12, 12 },
    { "... one rail in twelve", 64, 8, lay_units, 32, 42, 42 },
    { "four hosts of eight rails", 4, 8, lay_units, 4, 1, 1 },
    { "four hosts of four", 4, 4, lay_units, 4, 1, 1 },
    { "32 hosts of two", 32, 2, lay_units, 32, 1, 1 },
    { "three hosts: too few peers", 3, 8, lay_units, 3, 1, 0 },
    { "a host a unit", 8, 8, lay_units, 1, 1, 0 },
    { "a leaf a rack", 64, 8, lay_racks, 16, 0, 0 },
    { "... one rail at another", 64, 8, lay_racks, 16, 1, 1 },
    { "one rail", 64, 1, lay_racks, 16, 1, 0 },
};

static void tables (void)
{
    for (size_t i = 0; i < sizeof (row) / sizeof (row[0]); i++) {
        struct layout l = { .hosts = row[i].hosts, .rails = row[i].rails,
                            .device = " mlx5_%u" };
        size_t n;

        row[i].lay (&l, row[i].n);
        for (size_t k = 0; k < row[i].moved; k++)
            l.leaf[5 * k % l.hosts][k % l.rails] = LEAVES - 1;
        n = count_odd (&l);
        ok (n == row[i].found, "%s: %zu", row[i].what, n);
    }
}

/* Of two rails one is at another unit's leaf: which, the names tell. */
static void by_name (void)
{
    /* n19 and n20 are the last and the first of units */
    static const unsigned int swapped[][3] = { { 5, 25, 2 }, { 0, 30, 2 },
                                               { 19, 39, 3 }, { 0, 20, 3 } };
    struct layout l = { .hosts = 60, .rails = 2, .device = " mlx5_%u" };

    for (size_t i = 0; i < sizeof (swapped) / sizeof (*swapped); i++) {
        unsigned int a = swapped[i][0], b = swapped[i][1], leaf;
        size_t n;

        lay_units (&l, 20);
        leaf = l.leaf[a][1];
        l.leaf[a][1] = l.leaf[b][1];
        l.leaf[b][1] = leaf;
        n = count_odd (&l);
        ok (n == swapped[i][2], "a rail of n%u and of n%u: %zu", a, b, n);
    }
}

/* Where no rule is, none is broken; nor where rails have no names. */
static void no_rule (void)
{
    static const unsigned int hosts[] = { 4, 8, 32 };
    struct layout l = { .device = " mlx5_%u" };
    size_t n = 0;

    for (size_t i = 0; i < 3; i++)
        for (l.rails = 2; l.rails <= RAILS; l.rails += 3)
            for (unsigned int leaves = 2; leaves <= 16; leaves *= 2)
                for (int seed = 0; seed < 20; seed++) {
                    l.hosts = hosts[i];
                    lay_random (&l, leaves);
                    n += count_odd (&l);
                }
    ok (n == 0, "720 fabrics in which rails are anywhere: %zu", n);
    l = (struct layout){ .hosts = 8, .rails = 8, .device = "" };
    lay_units (&l, 8);
    l.leaf[3][2] = 5;
    ok (count_odd (&l) == 0, "rails without names are not compared");
}

/* Some rails by a rule, others not: storage. */
static void partly (void)
{
    struct layout l = { .hosts = 32, .rails = 8, .device = " mlx5_%u" };

    lay_units (&l, 32);
    for (unsigned int h = 0; h < l.hosts; h++)
        l.leaf[h][7] = 20 + h % 5;
    ok (count_odd (&l) == 0, "one rail is anywhere");
    l.leaf[9][4] = 30;
    ok (count_odd (&l) == 1, "... and another one of one host is odd");
}

/* A fabric of hosts with rails, of which some lack some. */
enum { GROUP_MAX = 4 };
struct group {
    const char *name;     /* a format of a host's name */
    unsigned int hosts;
    unsigned int rails;   /* as bits */
};

/* Hosts of a unit share leaves; each rail has one there. With by_host all rails
 * of a host are at its unit's first.
 */
static struct fabric *build_groups (const struct group *group,
                                    unsigned int unit, bool by_host,
                                    const char *device)
{
    struct fabric *f = fabric_create ();
    unsigned int used[LEAVES] = { 0 }, host = 0;
    int64_t leaf[LEAVES];
    uint16_t lid = 1;
    struct error err;

    for (unsigned int s = 0; s < LEAVES; s++) {
        char desc[FABRIC_NAME_MAX];

        sprintf (desc, "leaf%u", s);
        leaf[s] = fabric_add_node (f, 0x1000 + s, NODE_SWITCH, PORTS, desc,
                                   &err);
    }
    for (unsigned int g = 0; g < GROUP_MAX && group[g].hosts > 0; g++)
        for (unsigned int h = 0; h < group[g].hosts; h++, host++)
            for (unsigned int r = 0; r < RAILS; r++) {
                unsigned int s = host / unit * RAILS + (by_host ? 0 : r);
                char desc[FABRIC_NAME_MAX];
                int64_t node;
                int len;

                if (!(group[g].rails >> r & 1))
                    continue;
                len = sprintf (desc, group[g].name, host);
                snprintf (desc + len, sizeof (desc) - (size_t)len, device, r);
                node = fabric_add_node (f, 0x100000 + host * 0x100 + r * 0x10,
                                        NODE_CA, 1, desc, &err);
                fabric_set_port (f, (uint32_t)node, 1,
                                 0x100001 + host * 0x100 + r * 0x10, lid++, 0,
                                 &err);
                fabric_add_cable (f, (uint32_t)node, 1,
                                  (uint32_t)leaf[s % LEAVES],
                                  ++used[s % LEAVES], 4, "NDR", &err);
            }
    if (fabric_finish (f, &err) < 0) {
        ok (0, "a fabric: %s", err.text);
        exit (1);
    }
    return f;
}

/* Who has fewer rails than its peers, and who is another kind of host. */
static void fewer (void)
{
    static const struct {
        const char *what, *device;
        struct group group[GROUP_MAX];
        unsigned int unit;
        size_t found;
        const char *says;
    } rows[] = {
        { "all have all", " mlx5_%u", { { "n%u", 16, 0xff } }, 8, 0, NULL },
        { "one lacks one of 8", " mlx5_%u",
          { { "n%u", 15, 0xff }, { "n%u", 1, 0xfb } }, 8, 1,
          "n15 has no rail mlx5_2/1, where 7 of its 7 peers have it at leaf" },
        { "one lacks two", " mlx5_%u",
          { { "n%u", 15, 0xff }, { "n%u", 1, 0xf3 } }, 8, 2,
          "n15 has no rail" },
        { "two of a unit lack different ones", " mlx5_%u",
          { { "n%u", 14, 0xff }, { "n%u", 1, 0xfe }, { "n%u", 1, 0xfb } }, 8, 2,
          "n14 has no rail mlx5_0/1, where 7 of its 7 peers" },
        { "two of 16 lack the same", " mlx5_%u",
          { { "n%u", 14, 0xff }, { "n%u", 2, 0x7f } }, 8, 2, "rail mlx5_7/1" },
        { "a half of them do", " mlx5_%u",
          { { "n%u", 8, 0xff }, { "n%u", 8, 0x7f } }, 16, 0, NULL },
        { "login nodes of one rail", " mlx5_%u",
          { { "n%u", 14, 0xff }, { "login%u", 2, 0x01 } }, 8, 0, NULL },
        { "... called as the others", " mlx5_%u",
          { { "n%u", 14, 0xff }, { "n%u", 2, 0x01 } }, 8, 0, NULL },
        { "... one of them", " mlx5_%u",
          { { "n%u", 15, 0xff }, { "n%u", 1, 0x01 } }, 8, 0, NULL },
        { "storage of two rails, and one lacks one", " mlx5_%u",
          { { "n%u", 8, 0xff }, { "st%u", 7, 0x03 }, { "st%u", 1, 0x01 } }, 16,
          1, "st15 has no rail mlx5_1/1, where 7 of its 7 peers" },
        { "one of two rails", " mlx5_%u",
          { { "n%u", 15, 0x03 }, { "n%u", 1, 0x02 } }, 8, 1,
          "n15 has no rail mlx5_0/1" },
        { "... at two hosts: they may be meant to be so", " mlx5_%u",
          { { "n%u", 14, 0x03 }, { "n%u", 2, 0x01 } }, 8, 0, NULL },
        { "other names for as many rails", " mlx5_%u",
          { { "n%u", 15, 0x03 }, { "n%u", 1, 0x05 } }, 8, 0, NULL },
        { "rails without names", "",
          { { "n%u", 15, 0x0f }, { "n%u", 1, 0x07 } }, 8, 1,
          "n15 has 3 rails, where 7 of its 7 peers have more, most 4" },
        { "too few peers", " mlx5_%u",
          { { "n%u", 2, 0xff }, { "n%u", 1, 0x7f } }, 8, 0, NULL },
    };

    for (size_t i = 0; i < sizeof (rows) / sizeof (*rows); i++)
        for (int by_host = 0; by_host < 2; by_host++) {
            struct fabric *f = build_groups (rows[i].group, rows[i].unit,
                                             by_host, rows[i].device);
            struct pool *p = pool_create ();
            struct rails_fewer *list;
            size_t n = fewer_find (f, p, &list);
            char *text = n > 0 ? fewer_text (f, &list[0]) : NULL;

            ok (n == rows[i].found
                    && (!rows[i].says || (text && strstr (text, rows[i].says))),
                "%s%s: %zu %s", rows[i].what, by_host ? ", at one leaf" : "", n,
                text ? text : "");
            free (text);
            pool_destroy (p);
            fabric_destroy (f);
        }
}

/* A rail that is there, but not up, and an adapter of an unknown host. */
static void not_up (void)
{
    static const struct group groups[GROUP_MAX]
        = { { "n%u", 15, 0x0f }, { "n%u", 1, 0x07 } };
    struct fabric *f = build_groups (groups, 8, false, " mlx5_%u");
    struct link_check *c;
    struct error err;
    size_t len = 0;
    char *text, *said;
    FILE *fp;

    c = check_links (f, NULL, NULL, &err);
    ok (c->nfewer == 1 && c->nnotes == 0 && check_status (c) == VERDICT_OK,
        "a check notes it");
    check_destroy (c);
    f->port[f->endpoint[1].port].state = PORT_INIT;
    c = check_links (f, NULL, NULL, &err);
    ok (c->nnotes == 1 && strstr (c->note[0], "carries no messages: n0 "
                                              "mlx5_1/1 is init"),
        "... and a link that is not up: %s", c->note[0]);
    check_destroy (c);
    fp = open_memstream (&text, &len);
    fabric_write (f, fp, &err);
    fclose (fp);
    fabric_destroy (f);
    fp = fmemopen (text, len, "r");
    f = fabric_read (fp, "x", &err);
    fclose (fp);
    free (text);
    c = check_links (f, NULL, NULL, &err);
    said = fewer_text (f, &c->fewer[0]);
    ok (c->nfewer + c->nnotes == 3
            && strstr (said, "n0 mlx5_1/1 is init, where 7 of its 7 "
                             "peers have it up at leaf1"),
        "... whose host lacks a rail by that: %s", said);
    free (said);
    check_destroy (c);
    fabric_destroy (f);
}

int main (void)
{
    example ();
    tables ();
    by_name ();
    no_rule ();
    partly ();
    fewer ();
    not_up ();
    done_testing ();
}
