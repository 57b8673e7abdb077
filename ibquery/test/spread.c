/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "ibquery/spread.h"

#include <stdlib.h>
#include <string.h>

#include "ibquery/model/generate.h"
#include "ibquery/read/discover.h"
#include "ibquery/snapshot.h"
#include "ibquery/test/agents.h"
#include "tests/tap.h"

#define ON 1U
#define BY_LEVEL (1U << 28 | 1U << 27)
#define BY_TRANSPORT (1U << 29)
#define GROUPS 512U

static const struct {
    const char *what;
    uint32_t word[4];
    uint16_t ud, rc;
} infos[] = {
    { "off", { 0, GROUPS }, 0, 0 },
    { "on", { ON, GROUPS }, 0xffff, 0xffff },
    { "on, without any groups", { ON, 0 }, 0, 0 },
    { "groups in use, and none that it can have", { ON, 7U << 12 }, 0, 0 },
    { "on for some levels", { ON | BY_LEVEL, GROUPS, 0x00fe0102 }, 0xfe,
      0xfe },
    { "on for no level", { ON | BY_LEVEL, GROUPS, 0x0000ffff }, 0, 0 },
    { "levels that it does not mind", { ON | 1U << 27, GROUPS, 0x00fe0000 },
      0xffff, 0xffff },
    { "levels that it cannot mind", { ON | 1U << 28, GROUPS, 0x00fe0000 },
      0xffff, 0xffff },
    { "off, for some levels", { BY_LEVEL, GROUPS, 0x00fe0000 }, 0, 0 },
    { "on, but not for UD", { ON | BY_TRANSPORT, GROUPS, 0, 1 }, 0, 0xffff },
    { "on for some levels, but not for RC",
      { ON | BY_LEVEL | BY_TRANSPORT, GROUPS, 0xfff00000, 2 }, 0xfff0, 0 },
    { "transports that it cannot mind", { ON, GROUPS, 0, 3 }, 0xffff,
      0xffff },
};

static void decode (void)
{
    for (size_t i = 0; i < sizeof (infos) / sizeof (infos[0]); i++) {
        uint8_t info[SPREAD_INFO] = { 0 };
        struct fabric_spread a;

        for (int k = 0; k < 16; k++)
            info[k] = infos[i].word[k / 4] >> (24 - 8 * (k % 4));
        a = spread_decode (info);
        ok (a.known && a.ud == infos[i].ud && a.rc == infos[i].rc,
            "%s: UD %04x, RC %04x", infos[i].what, a.ud, a.rc);
    }
}

/* Hosts n1 .. n3 on leaves of their own, all on one spine; n4 on n3's leaf.
 * Adaptive routing by leaf (1, 2, 3) and spine (4), -1 where it is not known.
 */
static const struct {
    const char *what;
    int32_t ud[4];
    const char *set[2];
    unsigned int wanted;
    bool rc; /* of which nobody does anything adaptively */
    struct spread_choice choice;
} rows[] = {
    { "nobody has told", { -1, -1, -1, -1 }, { "n1", "n2" }, 0, false,
      { 0, 0, 0 } },
    { "nobody does", { 0, 0, 0, 0 }, { "n1", "n2" }, 3, false, { 3, 0, 0 } },
    { "one on the way does", { 0, 0, 0, 0xffff }, { "n1", "n2" }, 0, false,
      { 0, 1, 1 } },
    { "all on the way do", { 0xffff, 0xffff, 0, 0xffff }, { "n1", "n2" }, 2,
      false, { 2, 3, 3 } },
    { "one beside the way does", { 0, 0, 0xffff, 0 }, { "n1", "n2" }, 0, false,
      { 0, 0, 0 } },
    { "those do on some levels", { 0x0003, 0x0005, -1, 0x0013 },
      { "n1", "n2" }, 0, false, { 3, 0, 3 } },
    { "not on the one that is wanted", { 0x0003, 0x0005, 0, 0x0003 },
      { "n1", "n2" }, 5, false, { 5, 0, 0 } },
    { "on level 15 alone not", { 0x7fff, 0, 0, 0 }, { "n1", "n2" }, 0, false,
      { 15, 0, 1 } },
    { "on each some, on none all", { 0x00ff, 0xff00, 0, 0 }, { "n1", "n2" }, 9,
      false, { 9, 1, 1 } },
    { "on one leaf, the spine is beside it", { 0, 0, 0, 0xffff },
      { "n3", "n4" }, 0, false, { 0, 0, 0 } },
    { "UD, but not RC", { 0xffff, 0xffff, 0xffff, 0xffff }, { "n1", "n3" }, 0,
      true, { 0, 0, 0 } },
};

enum { LEAVES = 3, HOSTS = 4, TOP = 8 };

static struct fabric *build (const int32_t *ud)
{
    static const uint8_t leaf_of[HOSTS] = { 0, 1, 2, 2 };
    struct fabric *f = fabric_create ();
    struct error err = { 0 };
    char desc[8];

    for (unsigned int i = 0; i <= LEAVES; i++) {
        uint8_t lft[TOP + 1];

        memset (lft, LFT_NO_ROUTE, sizeof (lft));
        for (unsigned int k = 0; k < HOSTS; k++)
            lft[k + 1] = i == LEAVES         ? leaf_of[k] + 1U
                         : i == leaf_of[k] ? 2 + k
                                           : 1;
        fabric_add_node (f, 0x100 + i, NODE_SWITCH, 8, "switch", &err);
        fabric_set_switch_lid (f, i, 10 + i, &err);
        fabric_set_lft (f, i, lft, TOP, &err);
        if (ud[i] >= 0)
            f->node[i].spread = (struct fabric_spread){ .known = true, .ud = ud[i] };
    }
    for (unsigned int i = 0; i < LEAVES; i++)
        fabric_add_cable (f, i, 1, LEAVES, i + 1, 4, "HDR", &err);
    for (unsigned int k = 0; k < HOSTS; k++) {
        snprintf (desc, sizeof (desc), "n%u", k + 1);
        fabric_add_node (f, 1 + k, NODE_CA, 1, desc, &err);
        fabric_set_port (f, LEAVES + 1 + k, 1, 1 + k, 1 + k, 0, &err);
        fabric_add_cable (f, LEAVES + 1 + k, 1, leaf_of[k], 2 + k, 4, "HDR",
                          &err);
    }
    if (fabric_finish (f, &err) < 0)
        diag ("%s", err.text);
    return f;
}

static void choose (void)
{
    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        const struct spread_choice *wanted = &rows[i].choice;
        struct fabric *f = build (rows[i].ud);
        struct error err = { 0 };
        struct pathset *ps = fabric_pathset (f, rows[i].set, 2, &err);
        struct spread_choice c = { 0 };

        ok (spread_choose (f, ps, rows[i].rc, rows[i].wanted, &c, &err) == 0
                && c.level == wanted->level && c.adaptive == wanted->adaptive
                && c.wanted == wanted->wanted,
            "%s: level %u, of %zu switches; %zu on %u%s", rows[i].what,
            c.level, c.adaptive, c.wanted, rows[i].wanted, err.text);
        pathset_destroy (ps);
        fabric_destroy (f);
    }
}

/*
 * Read from the switches
 */

/* What switches are: of each row, the first says for all what the others do
 * not.
 */
struct teller {
    bool tells, on, by_level;
    uint16_t levels;
    uint16_t wanted;
};

static const struct {
    const char *what;
    struct teller all, one;
    unsigned int loss;  /* per cent */
    bool silent;        /* who does not tell does not answer */
    unsigned int level; /* to probe on, between all hosts */
} fabrics[] = {
    { "nobody tells", { .tells = false }, { .tells = false }, 0, false, 0 },
    { "nobody answers", { .tells = false }, { .tells = false }, 0, true, 0 },
    { "on everywhere", { true, true, false, 0, 0xffff },
      { true, true, false, 0, 0xffff }, 0, false, 0 },
    { "on for level 0, at one for 1, too",
      { true, true, true, 0x0001, 0x0001 },
      { true, true, true, 0x0003, 0x0003 }, 0, false, 2 },
    { "on for levels 0 to 2, while MADs are lost",
      { true, true, true, 0x0007, 0x0007 },
      { true, true, true, 0x0007, 0x0007 }, 30, false, 3 },
    { "one does not answer", { true, true, true, 0x0001, 0x0001 },
      { .tells = false }, 0, true, 1 },
    { "off everywhere", { true, false, true, 0xffff, 0 },
      { true, false, false, 0, 0 }, 0, false, 0 },
};

static bool answers (struct agents *a, const struct agents_request *r,
                     void *arg)
{
    (void)arg;
    return r->attribute != AGENTS_AR_INFO || a->node[r->node].ar.known;
}

static void tell (struct agents_node *n, const struct teller *t)
{
    n->ar.known = t->tells;
    n->ar.enabled = t->on;
    n->ar.by_sl = t->by_level;
    n->ar.sl_mask = t->levels;
    n->ar.group_cap = 256;
}

static struct fabric *reading (struct agents *a, struct error *err)
{
    const struct mads_wire wire = agents_wire (a);
    struct mads *m = mads_create (&mads_defaults, &wire, err);
    struct fabric *f = m ? steady_read (m, "test/1", NULL, NULL, err) : NULL;

    mads_destroy (m);
    return f;
}

/* Switches that are read as they are. */
static size_t right (const struct fabric *f, uint32_t one, size_t row)
{
    size_t n = 0;

    for (size_t i = 0; i < f->nnodes; i++) {
        const struct fabric_spread *a = &f->node[i].spread;
        const struct teller *t = i == one ? &fabrics[row].one
                                          : &fabrics[row].all;
        bool known = t->tells || !fabrics[row].silent;

        n += f->node[i].type == NODE_SWITCH && a->known == known
             && a->ud == t->wanted && a->rc == t->wanted;
    }
    return n;
}

static void read_all (void)
{
    const struct fat_tree tree = { .ports = 4, .levels = 3 };
    struct error err = { 0 };
    struct fabric *f = generate_fat_tree (&tree, &err);
    uint32_t one = fabric_find_switch (f, "s1-0002");
    size_t switches = 0;

    for (size_t i = 0; i < f->nnodes; i++)
        switches += f->node[i].type == NODE_SWITCH;
    for (size_t i = 0; i < sizeof (fabrics) / sizeof (fabrics[0]); i++) {
        struct agents *a = agents_create (f, NULL, 7);
        struct spread_choice c = { 0 };
        struct pathset *ps = NULL;
        struct fabric *got;

        for (size_t k = 0; k < f->nnodes; k++)
            tell (&a->node[k], k == one ? &fabrics[i].one : &fabrics[i].all);
        a->loss = fabrics[i].loss;
        if (fabrics[i].silent)
            a->before = answers;
        got = reading (a, &err);
        ok (got && right (got, one, i) == switches, "%s: %zu switches%s",
            fabrics[i].what, got ? right (got, one, i) : 0, err.text);
        if (got)
            ps = fabric_pathset (got, NULL, 0, &err);
        ok (ps && spread_choose (got, ps, false, 0, &c, &err) == 0
                && c.level == fabrics[i].level,
            "... probes on level %u", c.level);
        pathset_destroy (ps);
        fabric_destroy (got);
        agents_destroy (a);
    }
    fabric_destroy (f);
}

/* What a reader of a fabric makes whose switches route adaptively on these
 * levels, for tests of what comes after.
 */
static int write_one (uint16_t levels)
{
    const struct fat_tree tree = { .ports = 4, .levels = 3 };
    const struct teller told = { true, true, true, levels, levels };
    struct error err = { 0 };
    struct fabric *f = generate_fat_tree (&tree, &err), *got;
    struct agents *a = agents_create (f, NULL, 7);
    int rc;

    for (size_t k = 0; k < f->nnodes; k++)
        tell (&a->node[k], &told);
    got = reading (a, &err);
    rc = got && fabric_write (got, stdout, &err) == 0 ? 0 : 1;
    if (rc != 0)
        diag ("%s", err.text);
    fabric_destroy (got);
    agents_destroy (a);
    fabric_destroy (f);
    return rc;
}

/* Without arguments, the tests; with LEVELS, write_one. */
int main (int argc, char **argv)
{
    if (argc > 1)
        return write_one ((uint16_t)strtoul (argv[1], NULL, 0));
    decode ();
    choose ();
    read_all ();
    return done_testing ();
}
