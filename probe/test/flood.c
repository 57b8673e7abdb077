/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What saturated links make packets wait for, against values by hand. */
#include "config.h"
#include "tests/emu/flood.h"

#include <math.h>
#include <string.h>

#include "tests/tap.h"

enum {
    LINKS = 32,
    UP = 20, /* the last of these links, between leaf and spine */
    T = FLOOD_PACKET, /* ns of a packet, at a byte a ns */
};

static double byte_ns[2 * LINKS];
static struct flood_arc arc[2 * LINKS];

/* Host i's link is i: arc 2 i leaves it, arc 2 i + 1 comes to it. */
static struct flood_flow flow (double offer, uint32_t from, uint32_t to)
{
    return (struct flood_flow){ .offer = offer, .hops = 2,
                                .arc = { 2 * from, 2 * to + 1 } };
}

/* ... from another leaf, by the link UP down to this one. */
static struct flood_flow far_flow (double offer, uint32_t from, uint32_t to)
{
    return (struct flood_flow){ .offer = offer, .hops = 3,
                                .arc = { 2 * from, 2 * UP + 1, 2 * to + 1 } };
}

static int is (double a, double b)
{
    return fabs (a - b) < 1e-6;
}

static void test_two (void)
{
    struct flood_flow f[] = { flow (0.9, 1, 0), flow (0.9, 2, 0) };

    flood (f, 2, byte_ns, arc, 2 * LINKS);
    ok (is (f[0].rate, 0.5)
            && is (f[1].rate, 0.5) && is (arc[1].rate, 1),
        "two hosts flood a third: each gets half of its link");
    ok (is (arc[1].turn_ns, 2 * T) && arc[1].ahead_ns <= 0,
        "who comes to that link waits for up to two packets");
    ok (is (arc[2].ahead_ns, 2 * T * FLOOD_BUFFER),
        "... behind those that share its input");
    ok (is (arc[2].rate, 0.5) && is (arc[2].turn_ns, 2 * T),
        "and at the flooding host: its link moves on at half the pace");
    ok (arc[0].turn_ns <= 0 && arc[0].rate <= 0 && arc[3].turn_ns <= 0,
        "nothing waits the other way");
}

static void test_room (void)
{
    struct flood_flow f[] = { flow (0.5, 1, 0), flow (0.4, 2, 0) };

    flood (f, 2, byte_ns, arc, 2 * LINKS);
    ok (is (f[0].rate, 0.5) && is (f[1].rate, 0.4) && is (arc[1].rate, 0.9)
            && arc[1].turn_ns <= 0 && arc[2].ahead_ns <= 0,
        "a link that has room carries all, and nobody is held up");
    f[0] = flow (0.9, 1, 0);
    f[1] = flow (0.2, 2, 0);
    flood (f, 2, byte_ns, arc, 2 * LINKS);
    ok (is (f[0].rate, 0.8) && is (f[1].rate, 0.2),
        "who wants little gets it, the other one the rest");
    ok (is (arc[1].turn_ns, T / 0.8) && is (arc[2].ahead_ns, T / 0.8)
            && arc[4].ahead_ns <= 0 && arc[4].turn_ns <= 0,
        "... and has the one full input");
    f[0] = flow (1, 1, 0);
    flood (f, 1, byte_ns, arc, 2 * LINKS);
    ok (is (f[0].rate, 1) && is (arc[1].turn_ns, T)
            && is (arc[2].turn_ns, T),
        "one flow of all that a link carries saturates it");
}

static void test_inputs (void)
{
    struct flood_flow f[] = { far_flow (0.9, 4, 0), far_flow (0.9, 5, 0),
                              far_flow (0.9, 6, 0), flow (0.9, 1, 0) };

    flood (f, 4, byte_ns, arc, 2 * LINKS);
    ok (is (f[3].rate, 0.5) && is (f[0].rate, 1. / 6) && is (f[2].rate, 1. / 6),
        "shares are by input: three flows by one have that of one");
    ok (is (arc[1].turn_ns, 2 * T) && is (arc[2 * UP + 1].ahead_ns, 2 * T)
            && is (arc[2 * UP + 1].turn_ns, 6 * T)
            && is (arc[8].ahead_ns, 6 * T),
        "the link before it is held up, and so are the three hosts");
}

/* 8 flows of 0.9 and 8 of 0.1 towards one host: 7 neighbours, and 9 from
 * elsewhere. A sixteenth is less than 0.1, but these come by one input.
 */
static void test_many (void)
{
    struct flood_flow f[16];

    for (uint32_t i = 0; i < 16; i++)
        f[i] = i < 7 ? flow (i < 4 ? 0.9 : 0.1, i + 1, 0)
                     : far_flow (i < 11 ? 0.9 : 0.1, i + 1, 0);
    flood (f, 16, byte_ns, arc, 2 * LINKS);
    ok (is (f[0].rate, 0.14) && is (f[4].rate, 0.1)
            && is (arc[2 * UP + 1].rate, 0.14),
        "16 flows: three small neighbours get all, five inputs share the rest");
    ok (is (arc[1].turn_ns, T / 0.14) && is (arc[2 * UP + 1].ahead_ns, T / 0.14),
        "... which is 7 packets for who comes, more for who shares an input");
}

static void test_slow (void)
{
    struct flood_flow f[] = { flow (0.9, 1, 0), flow (0.3, 2, 0) };

    byte_ns[0] = byte_ns[1] = 4;
    flood (f, 2, byte_ns, arc, 2 * LINKS);
    ok (is (f[0].rate, 0.125) && is (f[1].rate, 0.125)
            && is (arc[1].turn_ns, 8 * T),
        "a slow link is saturated by less, and moves on slower");
    byte_ns[0] = byte_ns[1] = 1;
}

int main (void)
{
    for (int i = 0; i < 2 * LINKS; i++)
        byte_ns[i] = 1;
    test_two ();
    test_room ();
    test_inputs ();
    test_many ();
    test_slow ();
    return done_testing ();
}
