/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "ibquery/adaptive.h"

#include <stdlib.h>
#include <string.h>

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
        uint8_t info[ADAPTIVE_INFO] = { 0 };
        struct fabric_adaptive a;

        for (int k = 0; k < 16; k++)
            info[k] = infos[i].word[k / 4] >> (24 - 8 * (k % 4));
        a = adaptive_decode (info);
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
    struct adaptive_choice choice;
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
            fabric_set_adaptive (f, i, ud[i], 0, &err);
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
        const struct adaptive_choice *wanted = &rows[i].choice;
        struct fabric *f = build (rows[i].ud);
        struct error err = { 0 };
        struct pathset *ps = fabric_pathset (f, rows[i].set, 2, &err);
        struct adaptive_choice c = { 0 };

        ok (adaptive_choose (f, ps, rows[i].rc, rows[i].wanted, &c, &err) == 0
                && c.level == wanted->level && c.adaptive == wanted->adaptive
                && c.wanted == wanted->wanted,
            "%s: level %u, of %zu switches; %zu on %u%s", rows[i].what,
            c.level, c.adaptive, c.wanted, rows[i].wanted, err.text);
        pathset_destroy (ps);
        fabric_destroy (f);
    }
}

int main (void)
{
    decode ();
    choose ();
    return done_testing ();
}
