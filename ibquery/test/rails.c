/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rails that are cabled to another leaf than their peers', and fabrics in which
 * none is.
 */
#include "config.h"
#include "ibquery/links/rails.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "ibquery/links/check.h"
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
    struct rail_odd *odd;
    size_t n = rails_find_odd (f, &odd);

    free (odd);
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

int main (void)
{
    example ();
    tables ();
    no_rule ();
    partly ();
    done_testing ();
}
