/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "ibquery/spread.h"

#include <stdlib.h>
#include <string.h>

#include "ibquery/model/generate.h"
#include "ibquery/read/discover.h"
#include "ibquery/test/agents.h"
#include "tests/tap.h"

#define ON 1U
#define BY_LEVEL (1U << 28 | 1U << 27)
#define BY_TRANSPORT (1U << 29)
#define GROUPS 512U
#define RECOVERY (1U << 3 | 1U << 4)
#define HASH_CAN (1U << 31)
#define HASH_ON (1U << 15)

static const struct {
    const char *what;
    uint32_t word[7];
    uint16_t ud, rc, hashed;
    bool recovery;
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
    { "hashed on some levels, and not adaptive",
      { 0, GROUPS, 0, 0, 0, HASH_CAN | HASH_ON, 0xabcd0005 }, 0, 0, 5 },
    { "hashed, of which it is not capable",
      { 0, GROUPS, 0, 0, 0, HASH_ON, 0xffff }, 0, 0, 0 },
    { "not hashed, for some levels",
      { 0, GROUPS, 0, 0, 0, HASH_CAN, 0xffff }, 0, 0, 0 },
    { "hashed, without any groups",
      { ON, 0, 0, 0, 0, HASH_CAN | HASH_ON, 0xffff }, 0, 0, 0 },
    { "as a new fabric is by default",
      { ON | BY_LEVEL | BY_TRANSPORT | RECOVERY, GROUPS, 0xffff0000, 1, 0,
        HASH_CAN | HASH_ON, 0xffff }, 0, 0xffff, 0xffff, true },
    { "fast recovery, of which it is not capable", { 1U << 4, GROUPS }, 0, 0,
      0, false },
    { "fast recovery alone", { RECOVERY, 0 }, 0, 0, 0, true },
};

static void decode (void)
{
    for (size_t i = 0; i < sizeof (infos) / sizeof (infos[0]); i++) {
        uint8_t info[SPREAD_INFO] = { 0 };
        struct fabric_spread a;

        for (int k = 0; k < 28; k++)
            info[k] = infos[i].word[k / 4] >> (24 - 8 * (k % 4));
        a = spread_decode (info);
        ok (a.known && a.ud == infos[i].ud && a.rc == infos[i].rc
                && a.hashed == infos[i].hashed
                && a.recovery == infos[i].recovery && !a.group && !a.entry,
            "%s: UD %04x, RC %04x, hashed %04x", infos[i].what, a.ud, a.rc,
            a.hashed);
    }
}

static void levels (void)
{
    static const struct {
        uint16_t levels;
        const char *text;
    } rows[] = {
        { 0, "none" }, { 0xffff, "0-15" }, { 1, "0" }, { 0x8000, "15" },
        { 0x0003, "0-1" }, { 0x5555, "0,2,4,6,8,10,12,14" },
        { 0xb6db, "0-1,3-4,6-7,9-10,12-13,15" },
    };
    char text[SPREAD_TEXT];

    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++)
        ok (strcmp (spread_levels (rows[i].levels, text), rows[i].text) == 0,
            "levels %04x are %s", rows[i].levels, text);
}

/* Hosts n1 .. n3 on leaves of their own, all on one spine; n4 on n3's leaf.
 * What leaves (0, 1, 2) and spine (3) do, on which levels.
 */
static const struct {
    const char *what;
    uint16_t ud[4], hashed[4];
    const char *set[2];
    unsigned int wanted;
    bool rc; /* of which nobody does anything adaptively */
    unsigned int level;
    struct spread_level on; /* the wanted one; drops is not compared */
    const char *text; /* NULL: none */
    const char *port; /* its messages are dropped on these levels */
    uint16_t dropped;
} rows[] = {
    { "nobody has told", { 0 }, { 0 }, { "n1", "n2" }, 0, false, 0, { 0 },
      NULL },
    { "on no level", { 0 }, { 0 }, { "n1", "n2" }, 3, false, 3, { 0 }, NULL },
    { "one on the way adapts", { 0, 0, 0, 0xffff }, { 0 }, { "n1", "n2" }, 0,
      false, 0, { 1, 0 },
      "service level 0: on 0, adaptive routing is on at 1 switch; no other "
      "level is free of adaptive and hashed routing" },
    { "all on the way do", { 0xffff, 0xffff, 0, 0xffff }, { 0 },
      { "n1", "n2" }, 2, false, 2, { 3, 0 },
      "service level 2: on 2, adaptive routing is on at 3 switches; no other" },
    { "one beside the way does", { 0, 0, 0xffff, 0 }, { 0 }, { "n1", "n2" }, 0,
      false, 0, { 0 }, NULL },
    { "those do on some levels", { 0x0003, 0x0005, 0, 0x0013 }, { 0 },
      { "n1", "n2" }, 0, false, 3, { 3, 0 }, "service level 3: on 0, " },
    { "not on the one that is wanted", { 0x0003, 0x0005, 0, 0x0003 }, { 0 },
      { "n1", "n2" }, 5, false, 5, { 0 }, NULL },
    { "on level 15 alone not", { 0x7fff }, { 0 }, { "n1", "n2" }, 0, false, 15,
      { 1, 0 }, "service level 15: on 0, " },
    { "on each some, on none all", { 0x00ff, 0xff00 }, { 0 }, { "n1", "n2" }, 9,
      false, 9, { 1, 0 }, "service level 9: on 9, " },
    { "on one leaf, the spine is beside it", { 0, 0, 0, 0xffff }, { 0 },
      { "n3", "n4" }, 0, false, 0, { 0 }, NULL },
    { "UD, but not RC", { 0xffff, 0xffff, 0xffff, 0xffff }, { 0 },
      { "n1", "n3" }, 0, true, 0, { 0 }, NULL },

    { "half of the fabric adapts: its own jobs", { 0x3, 0, 0, 0x3 }, { 0 },
      { "n1", "n2" }, 0, false, 2, { 2, 0 },
      "service level 2: on 0, adaptive routing is on at 2 switches" },
    { "... those of the other half", { 0x3, 0, 0, 0x3 }, { 0 },
      { "n3", "n4" }, 0, false, 0, { 0 }, NULL },
    { "hashed on level 0 alone", { 0 }, { 1, 1, 1, 1 }, { "n1", "n2" }, 0,
      false, 1, { 0, 3 },
      "service level 1: on 0, hashed routing is on at 3 switches" },
    { "... also for connections", { 0 }, { 1, 1, 1, 1 }, { "n1", "n2" }, 0,
      true, 1, { 0, 3 },
      "service level 1: on 0, hashed routing is on at 3 switches" },
    { "one adapts and would hash, two hash", { 1, 0, 0, 0 }, { 3, 3, 3, 3 },
      { "n1", "n2" }, 0, false, 2, { 1, 2 },
      "service level 2: on 0, adaptive routing is on at 1 switch and hashed "
      "routing is on at 2 switches" },
    { "... but not for connections", { 1, 0, 0, 0 }, { 3, 3, 3, 3 },
      { "n1", "n2" }, 0, true, 2, { 0, 3 }, "service level 2: on 0, hashed" },

    { "the wanted one is dropped on the way in", { 0 }, { 0 }, { "n1", "n2" },
      0, false, 1, { 0 },
      "service level 1: on 0, n1/1 drops messages", "n1/1", 1 },
    { "... amid", { 0 }, { 0 }, { "n1", "n2" }, 0, false, 2, { 0 },
      "service level 2: on 0, spine/2 drops messages", "spine/2", 3 },
    { "... on the way out", { 0 }, { 0 }, { "n1", "n2" }, 0, false, 1, { 0 },
      "service level 1: on 0, leaf2/3 drops messages", "leaf2/3", 1 },
    { "... beside the way", { 0 }, { 0 }, { "n1", "n2" }, 0, false, 0, { 0 },
      NULL, "leaf3/1", 0xffff },
    { "a free one is dropped", { 0xfffd, 0, 0, 0 }, { 0xfffd, 0, 0, 0 },
      { "n1", "n2" }, 0, false, 0, { 1, 0 },
      "service level 0: on 0, adaptive routing is on at 1 switch; level 1 is "
      "free of adaptive and hashed routing, but leaf1/1 drops it",
      "leaf1/1", 2 },
    { "... the next one not", { 0xfff9, 0, 0, 0 }, { 0 }, { "n1", "n2" }, 0,
      false, 2, { 1, 0 },
      "service level 2: on 0, adaptive routing is on at 1 switch", "leaf1/1",
      2 },
    { "the wanted one is dropped, all are spread",
      { 0xffff, 0, 0, 0 }, { 0 }, { "n1", "n2" }, 0, false, 3, { 1, 0 },
      "service level 3: on 0, adaptive routing is on at 1 switch and leaf1/1 "
      "drops messages; no other", "leaf1/1", 7 },
    { "all are dropped", { 0 }, { 0 }, { "n1", "n2" }, 4, false, 4, { 0 },
      "service level 4: on 4, n2/1 drops messages; level 0 is free of "
      "adaptive and hashed routing, but n2/1 drops it", "n2/1", 0xffff },
};

enum { LEAVES = 3, HOSTS = 4, TOP = 8 };

static struct fabric *build (const uint16_t *ud, const uint16_t *hashed)
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
        snprintf (desc, sizeof (desc), "leaf%u", i + 1);
        fabric_add_node (f, 0x100 + i, NODE_SWITCH, 8,
                         i == LEAVES ? "spine" : desc, &err);
        fabric_set_switch_lid (f, i, 10 + i, &err);
        fabric_set_lft (f, i, lft, TOP, &err);
        f->node[i].spread = (struct fabric_spread){
            .known = ud[i] || hashed[i], .ud = ud[i], .hashed = hashed[i],
        };
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

static bool begins (const char *text, const char *with)
{
    return text && with ? strncmp (text, with, strlen (with)) == 0
                        : text == with;
}

static void choose (void)
{
    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        struct fabric *f = build (rows[i].ud, rows[i].hashed);
        struct error err = { 0 };
        struct pathset *ps = fabric_pathset (f, rows[i].set, 2, &err);
        struct spread_choice c = { 0 };
        const struct spread_level *on = &c.on[rows[i].wanted];
        const struct spread_level *at;
        char *text = NULL;
        int rc;

        if (rows[i].port)
            f->port[fabric_find_port (f, rows[i].port)].dropped
                = rows[i].dropped;
        rc = spread_choose (f, ps, rows[i].rc, rows[i].wanted, &c, &err);
        at = &c.on[c.level];
        if (rc == 0)
            text = spread_text (f, &c);
        ok (rc == 0 && c.level == rows[i].level && c.wanted == rows[i].wanted
                && on->adaptive == rows[i].on.adaptive
                && on->hashed == rows[i].on.hashed
                && c.spread == at->adaptive + at->hashed
                && begins (text, rows[i].text),
            "%s: level %u, %zu spread%s%s%s", rows[i].what, c.level, c.spread,
            text ? ": " : "", text ? text : "", err.text);
        free (text);
        pathset_destroy (ps);
        fabric_destroy (f);
    }
}

/* Private LFTs on the way leave no level; fast recovery, only where a cable is
 * not active.
 */
static void detours (void)
{
    static const uint16_t none[LEAVES + 1], first[LEAVES + 1] = { 1, 1 };
    static const char *const far[] = { "n1", "n2" }, *const near[]
        = { "n3", "n4" };
    struct fabric *f = build (first, none);
    struct error err = { 0 };
    struct pathset *away = fabric_pathset (f, far, 2, &err);
    struct pathset *leaf = fabric_pathset (f, near, 2, &err);
    uint32_t down = fabric_find_port (f, "leaf1/2");
    struct spread_choice c;
    char *text;

    for (uint32_t i = 0; i <= LEAVES; i++) /* sorted by GUID: after the hosts */
        f->node[HOSTS + i].spread.private_lfts = i == 0 || i == LEAVES;
    ok (spread_choose (f, away, false, 0, &c, &err) == 0 && c.level == 1
            && c.private_lfts == 2 && c.spread == 2,
        "private LFTs: their switches spread on any level");
    ok (spread_choose (f, leaf, false, 0, &c, &err) == 0
            && c.private_lfts == 0 && c.spread == 0,
        "... on no other way");
    f->node[HOSTS].spread.recovery = true;
    ok (spread_choose (f, away, false, 0, &c, &err) == 0
            && c.down == FABRIC_NONE, "fast recovery, and all cables active");
    f->port[down].state = PORT_INIT;
    ok (spread_choose (f, leaf, false, 0, &c, &err) == 0
            && c.down == FABRIC_NONE, "... one not, beside the way");
    ok (spread_choose (f, away, false, 0, &c, &err) == 0 && c.down == down,
        "... on the way");
    f->node[HOSTS].spread.recovery = false;
    ok (spread_choose (f, away, false, 0, &c, &err) == 0
            && c.down == FABRIC_NONE, "... without fast recovery");
    f->port[fabric_find_port (f, "leaf3/4")].dropped = 2;
    ok (spread_choose (f, NULL, false, 0, &c, &err) == 0 && c.level == 2,
        "on all links: level 2");
    text = spread_text (f, &c);
    ok (begins (text, "service level 2: on 0, adaptive routing is on at 2 "
                      "switches"), "... by all switches: %s", text);
    free (text);
    pathset_destroy (away);
    pathset_destroy (leaf);
    fabric_destroy (f);
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
    struct fabric *f = m ? steady_read (m, "test/1", NULL, NULL, NULL, err)
                         : NULL;

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

int main (void)
{
    decode ();
    levels ();
    choose ();
    detours ();
    read_all ();
    return done_testing ();
}
