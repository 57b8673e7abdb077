/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What goes over verbs, and what is believed of it. */
#include "config.h"
#include "probe/verbs_wire.h"

#include <string.h>

#include "tests/tap.h"
#include "util/rng.h"

#define KEY UINT64_C (0x0123456789abcdef)

static const uint8_t ipv4[VERBS_GID] = { [10] = 0xff, 0xff, 10, 77, 0, 11 };
static const uint8_t other_ipv4[VERBS_GID]
    = { [10] = 0xff, 0xff, 10, 77, 0, 12 };
static const uint8_t global[VERBS_GID] = { 0x20, 0x01, [15] = 7 };
static const uint8_t link_local[VERBS_GID] = { 0xfe, 0x80, [15] = 7 };

static struct verbs_address good_address (void)
{
    struct verbs_address a = {
        .ethernet = true,
        .rc = true,
        .lid = 17,
        .pkey = 0xffff,
        .qpn = 0xabcdef,
        .gap_us = 2000,
        .machine = 0xdeadbeef,
        .cores = 200,
        .first = true,
        .name = "mlx5_0/1",
    };

    memcpy (a.gid, ipv4, VERBS_GID);
    return a;
}

static void test_address (void)
{
    struct verbs_address a = good_address ();
    struct verbs_address b;
    struct transport_address t = { .guid = 1 };
    bool good = true;

    memset (&b, 0xff, sizeof (b));
    verbs_address_pack (&a, &t);
    ok (verbs_address_unpack (&b, &t) && b.ethernet && !b.roce_v1 && !b.global
            && b.rc && b.lid == 17 && b.pkey == 0xffff && b.qpn == 0xabcdef
            && b.first && b.cores == 200
            && b.gap_us == 2000 && b.machine == 0xdeadbeef
            && !memcmp (b.gid, ipv4, VERBS_GID)
            && !strcmp (b.name, "mlx5_0/1"),
        "an address comes back as it went");
    memset (a.name, 'x', VERBS_NAME_MAX);
    verbs_address_pack (&a, &t);
    ok (t.len == TRANSPORT_ADDRESS_MAX && verbs_address_unpack (&b, &t)
            && !strcmp (a.name, b.name),
        "... with the longest name");
    t.data[40] = '\n';
    ok (verbs_address_unpack (&b, &t) && !strchr (b.name, '\n'),
        "... and a name is made safe");
    t.data[0]++;
    ok (!verbs_address_unpack (&b, &t), "another version is none");
    t.data[0]--;
    for (t.len = 0; t.len < 32; t.len++)
        good = good && !verbs_address_unpack (&b, &t);
    ok (good, "nor is one that was cut");
    t.len = TRANSPORT_ADDRESS_MAX + 1;
    ok (!verbs_address_unpack (&b, &t), "nor one that is too long");
}

enum {
    SAME = 0,
    INFINIBAND = 1,
    UD = 2,
    PKEY = 4,
    V1 = 8,
    IPV6 = 16,
    BOTH_INFINIBAND = 32,
};

static const struct {
    const char *what;
    unsigned int differs;
    uint16_t pkey;
    const char *why; /* in the error; NULL: they agree */
} agreements[] = {
    { "two alike", SAME, 0, NULL },
    { "InfiniBand and Ethernet", INFINIBAND, 0, "not Ethernet as" },
    { "UD and RC", UD, 0, "another Service" },
    { "a limited member", PKEY, 0x7fff, NULL },
    { "another partition", PKEY, 0x8001,
      "mlx5_1/1: P_Key 0x8001 does not match 0xffff" },
    { "RoCE v1 and v2", V1, 0, "its GID is RoCE v1, not IPv4" },
    { "IPv6 and IPv4", IPV6, 0, "its GID is IPv6, not IPv4" },
    { "both of InfiniBand", BOTH_INFINIBAND, 0, NULL },
    { "... in two subnets", BOTH_INFINIBAND | IPV6, 0,
      "mlx5_1/1: in another subnet than mlx5_0/1" },
};

static void test_agree (void)
{
    for (size_t i = 0; i < sizeof (agreements) / sizeof (agreements[0]); i++) {
        struct verbs_address a = good_address ();
        struct verbs_address b = good_address ();
        unsigned int differs = agreements[i].differs;
        const char *why = agreements[i].why;
        struct transport_address first;
        struct transport_address second;
        struct error err = { .text = "" };
        int rc;

        strcpy (b.name, "mlx5_1/1");
        a.ethernet = !(differs & BOTH_INFINIBAND);
        b.ethernet = a.ethernet && !(differs & INFINIBAND);
        b.rc = !(differs & UD);
        b.roce_v1 = differs & V1;
        if (differs & PKEY)
            b.pkey = agreements[i].pkey;
        if (differs & IPV6)
            memcpy (b.gid, link_local, VERBS_GID);
        verbs_address_pack (&a, &first);
        verbs_address_pack (&b, &second);
        rc = verbs_agree (&first, &second, &err);
        ok (why ? rc < 0 && strstr (err.text, why)
                      && strstr (err.text, "mlx5_1/1")
                : rc == 0,
            "%s: %s", agreements[i].what, err.text);
    }
}

/* Endpoints as "machine cores first"; what the one called `self` is told. */
static const struct {
    const char *what;
    struct {
        uint32_t machine;
        uint8_t cores;
        bool first;
    } at[6];
    size_t n, self;
    struct verbs_share share;
} shares[] = {
    { "a machine each", { { 1, 1, 1 }, { 2, 1, 1 } }, 2, 1, { 1, 0, 1, 0 } },
    { "two cores for two", { { 1, 2, 1 }, { 1, 2, 1 } }, 2, 1,
      { 2, 1, 1, 0 } },
    { "one core for two", { { 1, 1, 1 }, { 1, 1, 1 } }, 2, 1,
      { 2, 1, 2, 1 } },
    { "rails share a process",
      { { 1, 1, 1 }, { 1, 1, 0 }, { 2, 1, 1 }, { 2, 1, 0 } }, 4, 2,
      { 1, 0, 1, 0 } },
    { "the last of five on two cores",
      { { 1, 2, 1 }, { 9, 8, 1 }, { 1, 2, 1 }, { 1, 2, 1 }, { 1, 2, 1 },
        { 1, 2, 1 } }, 6, 5, { 5, 4, 3, 2 } },
    { "one that shares with nobody, beside others",
      { { 5, 2, 1 }, { 9, 8, 1 }, { 5, 2, 1 }, { 5, 2, 1 } }, 4, 1,
      { 1, 0, 2, 0 } },
    { "no cores at all", { { 1, 0, 1 }, { 1, 0, 1 } }, 2, 0, { 2, 0, 2, 0 } },
};

static void test_shares (void)
{
    for (size_t i = 0; i < sizeof (shares) / sizeof (shares[0]); i++) {
        const struct verbs_share *want = &shares[i].share;
        struct verbs_address at[6] = { 0 };
        struct verbs_share got = { 0 };

        for (size_t k = 0; k < shares[i].n; k++) {
            at[k].machine = shares[i].at[k].machine;
            at[k].cores = shares[i].at[k].cores;
            at[k].first = shares[i].at[k].first;
        }
        verbs_find_share (at, shares[i].n, shares[i].self, &got);
        ok (got.processes == want->processes && got.before == want->before
                && got.turns == want->turns && got.mine == want->mine,
            "%s: %zu processes, %zu before, turn %zu of %zu", shares[i].what,
            got.processes, got.before, got.mine, got.turns);
    }
}

static const struct {
    uint16_t a, b;
    bool match;
} pkeys[] = {
    { 0xffff, 0xffff, true },  { 0xffff, 0x7fff, true },
    { 0x7fff, 0xffff, true },  { 0x7fff, 0x7fff, false },
    { 0x8001, 0x0001, true },  { 0x8001, 0x8002, false },
    { 0xffff, 0x8001, false },
};

/* Tables of a port: the P_Key to use. */
static const struct {
    uint16_t table[4];
    uint16_t wanted, chosen; /* 0: any; none */
} tables[] = {
    { { 0xffff, 0x8001 }, 0, 0xffff },
    { { 0x7fff, 0x8001, 0x8002 }, 0, 0x8001 },
    { { 0x7fff, 0x0001 }, 0, 0x7fff },
    { { 0x0000, 0x8000 }, 0, 0 },
    { { 0x7fff, 0xffff }, 0x7fff, 0xffff },
    { { 0xffff, 0x0001 }, 0x8001, 0x0001 },
    { { 0xffff, 0x8001 }, 2, 0 },
};

static void test_choice_of_pkey (void)
{
    for (size_t i = 0; i < sizeof (tables) / sizeof (tables[0]); i++) {
        uint16_t best = 0;

        for (size_t k = 0; k < 4; k++)
            if (verbs_pkey_is_better (tables[i].table[k], best,
                                      tables[i].wanted))
                best = tables[i].table[k];
        ok (best == tables[i].chosen,
            "of 0x%04x and 0x%04x, 0x%04x being wanted: 0x%04x",
            tables[i].table[0], tables[i].table[1], tables[i].wanted, best);
    }
}

static void test_pkeys (void)
{
    for (size_t i = 0; i < sizeof (pkeys) / sizeof (pkeys[0]); i++)
        ok (verbs_pkeys_match (pkeys[i].a, pkeys[i].b) == pkeys[i].match,
            "P_Keys 0x%04x and 0x%04x %s", pkeys[i].a, pkeys[i].b,
            pkeys[i].match ? "match" : "do not match");
}

static void test_header (void)
{
    struct verbs_header h = { 3, 99, 1234, VERBS_WIRE };
    uint8_t buf[VERBS_HEADER + TRANSPORT_DATA_MAX + 1] = { 0 };
    struct verbs_header got;
    struct rng rng;
    int believed = 0;

    verbs_header_pack (buf, KEY, &h);
    ok (verbs_header_unpack (&got, buf, VERBS_HEADER, KEY, 4) && got.from == 3
            && got.sequence == 99 && got.held_ns == 1234
            && got.type == VERBS_WIRE,
        "a header comes back as it went");
    ok (!verbs_header_unpack (&got, buf, VERBS_HEADER, KEY ^ 1, 4),
        "one of another run is refused");
    ok (!verbs_header_unpack (&got, buf, VERBS_HEADER, KEY, 3),
        "... of a peer that is not there");
    ok (!verbs_header_unpack (&got, buf, VERBS_HEADER - 1, KEY, 4),
        "... cut");
    ok (!verbs_header_unpack (&got, buf, sizeof (buf), KEY, 4)
            && verbs_header_unpack (&got, buf, sizeof (buf) - 1, KEY, 4),
        "... too long");
    h.type = (enum verbs_type)4;
    verbs_header_pack (buf, KEY, &h);
    ok (!verbs_header_unpack (&got, buf, VERBS_HEADER, KEY, 4),
        "... of no type");
    rng_seed (&rng, 9);
    for (int i = 0; i < 100000; i++) {
        for (size_t k = 0; k < VERBS_HEADER; k++)
            buf[k] = (uint8_t)(rng_next (&rng) >> 16);
        believed += verbs_header_unpack (&got, buf, VERBS_HEADER, KEY,
                                         UINT32_MAX);
    }
    ok (believed == 0, "... and noise");
}

static const struct {
    uint32_t sequence;
    bool fresh;
} steps[] = {
    { 0, false },   { 1, true },      { 1, false },   { 2, true },
    { 5, true },    { 4, true },      { 4, false },   { 3, true },
    { 5, false },   { 68, true },     { 4, false },   { 5, false },
    { 6, true },    { 6, false },     { 132, true },  { 68, false },
    { 69, true },   { 1000000, true }, { 132, false }, { 999999, true },
    { 999937, true }, { 999936, false }, { UINT32_MAX, true },
    { UINT32_MAX, false }, { UINT32_MAX - 63, true },
};

static void test_window (void)
{
    struct verbs_window w = { 0 };
    struct verbs_window v = { 0 };
    struct rng rng;
    static bool seen[20000];
    bool good = true;

    for (size_t i = 0; i < sizeof (steps) / sizeof (steps[0]); i++)
        ok (verbs_window_take (&w, steps[i].sequence) == steps[i].fresh,
            "number %u is %s", steps[i].sequence,
            steps[i].fresh ? "new" : "not");
    /* against a plain table: never twice, and all that are recent */
    rng_seed (&rng, 4);
    for (uint32_t i = 100; i < 19000; i++) {
        uint32_t n = i + (uint32_t)rng_below (&rng, 80) - 40;
        bool late = v.last >= 64 && n <= v.last - 64;
        bool fresh = verbs_window_take (&v, n);

        good = good && fresh == (!seen[n] && !late);
        seen[n] = seen[n] || fresh;
    }
    ok (good, "20,000 numbers out of order: each once");
}

static void test_grh (void)
{
    uint8_t grh[VERBS_GRH] = { 0 };

    grh[20] = 0x45;
    memcpy (grh + 32, ipv4 + 12, 4);
    ok (verbs_grh_is_from (grh, ipv4) && !verbs_grh_is_from (grh, other_ipv4),
        "an IPv4 header tells who sent it");
    ok (!verbs_grh_is_from (grh, global), "... and who did not");
    memset (grh, 0, sizeof (grh));
    grh[0] = 0x60;
    memcpy (grh + 8, global, VERBS_GID);
    ok (verbs_grh_is_from (grh, global)
            && !verbs_grh_is_from (grh, link_local),
        "so does an IPv6 header");
    memcpy (grh + 8, ipv4, VERBS_GID);
    ok (verbs_grh_is_from (grh, ipv4), "... with a mapped address, too");
}

/* A datagram as a device tells of it, by an endpoint of QP 5 and LID 17. */
static const struct {
    const char *what;
    bool ethernet, sends_grh;  /* the endpoint */
    uint32_t qpn;              /* what comes */
    uint16_t lid;
    const uint8_t *gid; /* in a GRH; NULL: there is none */
    bool good;
} origins[] = {
    { "InfiniBand by LID", false, false, 5, 17, NULL, true },
    { "... by another", false, false, 5, 18, NULL, false },
    { "... of another QP", false, false, 6, 17, NULL, false },
    { "... with a GRH for our sake", false, false, 5, 17, global, true },
    { "InfiniBand by GID", false, true, 5, 17, global, true },
    { "... through a router", false, true, 5, 99, global, true },
    { "... by another", false, true, 5, 17, link_local, false },
    { "... without a GRH", false, true, 5, 17, NULL, true },
    { "... nor its LID", false, true, 5, 18, NULL, false },
    { "Ethernet by GID", true, true, 5, 0, global, true },
    { "... by another", true, true, 5, 0, link_local, false },
    { "... of another QP", true, true, 6, 0, global, false },
    { "... that shows no GRH", true, true, 5, 0, NULL, true },
};

static void test_origin (void)
{
    for (size_t i = 0; i < sizeof (origins) / sizeof (origins[0]); i++) {
        struct verbs_address at = { .ethernet = origins[i].ethernet,
                                    .global = origins[i].sends_grh,
                                    .lid = 17,
                                    .qpn = 5 };
        uint8_t grh[VERBS_GRH] = { 0x60 };
        struct verbs_origin origin = { origins[i].qpn, origins[i].lid,
                                       origins[i].gid ? grh : NULL };

        memcpy (at.gid, global, VERBS_GID);
        if (origins[i].gid)
            memcpy (grh + 8, origins[i].gid, VERBS_GID);
        ok (verbs_is_from (&origin, &at, at.qpn) == origins[i].good, "%s: %s",
            origins[i].what, origins[i].good ? "believed" : "foreign");
    }
}

/* By each LID of a port, and by no other. */
static void test_lids (void)
{
    struct verbs_address at = { .lid = 16, .lmc = 2, .qpn = 5 };
    struct transport_address packed = { .guid = 1 };
    struct verbs_address b;
    unsigned int believed = 0;

    for (uint16_t lid = 10; lid < 30; lid++) {
        struct verbs_origin origin = { 5, lid, NULL };

        believed += verbs_is_from (&origin, &at, at.qpn) << (lid - 10);
    }
    ok (believed == 0xf << 6, "a port is heard by all of its LIDs");
    verbs_address_pack (&at, &packed);
    ok (verbs_address_unpack (&b, &packed) && b.lid == 16 && b.lmc == 2,
        "... which its address tells");
}

static void test_stamps (void)
{
    static const int64_t s = 1000000000;

    ok (verbs_stamp_is_sound (5 * s, 5 * s)
            && verbs_stamp_is_sound (3 * s, 5 * s)
            && verbs_stamp_is_sound (401 * s, 500 * s),
        "stamps of now and of a while ago");
    ok (!verbs_stamp_is_sound (6 * s, 5 * s)
            && !verbs_stamp_is_sound (399 * s, 500 * s),
        "... are not of the future, nor of long ago");
    ok (!verbs_stamp_is_sound (INT64_MAX, 5 * s)
            && !verbs_stamp_is_sound (INT64_MIN, 5 * s),
        "... nor of another clock");
}

static void test_gid (void)
{
    int v2 = verbs_gid_worth (ipv4, false);
    int v1 = verbs_gid_worth (ipv4, true);

    ok (v2 > verbs_gid_worth (global, false),
        "RoCE v2 of an IPv4 address is best");
    ok (verbs_gid_worth (global, false) > verbs_gid_worth (link_local, false),
        "... then of a global one");
    ok (verbs_gid_worth (link_local, false) > v1,
        "... then of a link-local one");
    ok (v1 > verbs_gid_worth (link_local, true)
            && verbs_gid_worth (link_local, true) >= 0,
        "... then v1");
}

static void test_ticks (void)
{
    ok (verbs_ticks_ns (156250, 156250) == 1000000, "a ms at 156.25 MHz");
    ok (verbs_ticks_ns (1000000000, 1000000) == 1000000000, "a s at 1 GHz");
    ok (verbs_ticks_ns (UINT64_C (1) << 48, 1000000)
            == INT64_C (281474976710656),
        "three days at 1 GHz");
    ok (verbs_ticks_ns (UINT64_C (1) << 53, 156250)
            == INT64_C (57646075230342348),
        "two years at 156.25 MHz");
}

static void test_timeouts (void)
{
    static const struct {
        int64_t ns;
        uint8_t code;
    } tab[] = {
        { 0, 1 },
        { 8191, 1 },
        { 8192, 2 },
        { 12500000, 12 },
        { 250000000, 16 },
        { INT64_MAX, 31 },
    };

    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++)
        ok (verbs_timeout_code (tab[i].ns) == tab[i].code,
            "more than %lld ns: code %d", (long long)tab[i].ns, tab[i].code);
}

static struct verbs_bulk_info good_info (void)
{
    return (struct verbs_bulk_info){
        .made = 3, .knows = 0xfedcba98, .asks = true, .strict = true,
        .way = { 1, 2, 63 }, .sl = 15, .mtu = 5, .size_log = 18, .qps = 4,
        .qpn = { 1, 2, 3, 0xffffff }, .rkey = 0xdeadbeef,
        .address = UINT64_C (0xfedcba9876543210),
    };
}

static void test_bulk_info (void)
{
    static const struct {
        int at;
        uint8_t value;
        const char *what;
    } bad[] = {
        { 0, 0, "no queue pairs yet" },
        { 23, 1, "a queue pair of more than 24 bits" },
        { 39, TRANSPORT_FLOWS_MAX, "no such flow" },
        { 40, 16, "no such service level" },
        { 41, 0, "no such MTU" },
        { 41, 6, "no such MTU" },
        { 42, 15, "messages too small" },
        { 42, 25, "messages too large" },
        { 43, 0, "no queue pair" },
        { 43, 5, "too many queue pairs" },
    };
    struct verbs_bulk_info a = good_info ();
    struct verbs_bulk_info b;
    uint8_t buf[VERBS_BULK_SIZE];

    verbs_bulk_pack (buf, &a);
    ok (verbs_bulk_unpack (&b, buf, sizeof (buf)) && b.made == a.made
            && b.knows == a.knows && b.asks && b.strict
            && !memcmp (&b.way, &a.way, sizeof (b.way)) && b.sl == a.sl
            && b.mtu == a.mtu && b.size_log == a.size_log && b.qps == a.qps
            && !memcmp (b.qpn, a.qpn, sizeof (b.qpn)) && b.rkey == a.rkey
            && b.address == a.address,
        "an end of a flow of bursts comes back as it went");
    ok (!verbs_bulk_unpack (&b, buf, sizeof (buf) - 1),
        "... not if it is short");
    for (size_t i = 0; i < sizeof (bad) / sizeof (bad[0]); i++) {
        verbs_bulk_pack (buf, &a);
        buf[bad[i].at] = bad[i].value;
        ok (!verbs_bulk_unpack (&b, buf, sizeof (buf)), "invalid: %s",
            bad[i].what);
    }
}

/* Two ends that ask until they are ready. Messages are lost, repeated, and come
 * in any order; now and then an end must begin anew.
 */
struct meeting {
    struct verbs_meet end[2];
    uint32_t made[2];
    struct word {
        int to;
        uint32_t made, knows;
        bool asks;
    } word[16];
    size_t words;
};

static void say_words (struct meeting *m, int from, bool asks)
{
    const struct verbs_meet *e = &m->end[from];

    if (m->words < 16)
        m->word[m->words++]
            = (struct word){ !from, e->made, e->other, asks };
}

static void renew (struct meeting *m, int i)
{
    m->end[i] = (struct verbs_meet){ .made = ++m->made[i] };
}

static void hear (struct meeting *m, const struct word *w)
{
    struct verbs_meet *e = &m->end[w->to];

    if (verbs_meet_is_past (e, w->made))
        renew (m, w->to);
    if (verbs_meet_may_connect (e, w->knows))
        e->other = w->made;
    verbs_meet_hear (e, w->made, w->knows);
    if (w->asks)
        say_words (m, w->to, false);
}

/* Return whether they are ready with each other within some turns. */
static bool meet_again (struct meeting *m, struct rng *rng, unsigned int loss)
{
    for (int turn = 0; turn < 1000; turn++) {
        for (int i = 0; i < 2; i++)
            if (!m->end[i].ready && rng_below (rng, 2))
                say_words (m, i, true);
        for (int k = 0; k < 4 && m->words > 0; k++) {
            size_t at = rng_below (rng, m->words);
            struct word w = m->word[at];

            if (rng_below (rng, 8))
                m->word[at] = m->word[--m->words];
            if (rng_below (rng, 100) >= loss)
                hear (m, &w);
        }
        if (m->end[0].ready && m->end[1].ready && m->words == 0)
            return m->end[0].other == m->end[1].made
                   && m->end[1].other == m->end[0].made;
    }
    return false;
}

static void test_meet (void)
{
    struct rng rng;
    unsigned int failed = 0;
    uint32_t most = 0;

    rng_seed (&rng, 7);
    for (unsigned int i = 0; i < 1000; i++) {
        struct meeting m = { 0 };

        renew (&m, 0);
        renew (&m, 1);
        failed += !meet_again (&m, &rng, i % 60);
        for (int k = 0; k < 3; k++) {
            renew (&m, (int)rng_below (&rng, 2));
            if (k == 1)
                renew (&m, (int)rng_below (&rng, 2));
            failed += !meet_again (&m, &rng, i % 60);
        }
        for (int k = 0; k < 2; k++)
            most = m.made[k] > most ? m.made[k] : most;
    }
    ok (failed == 0, "two ends meet, and again, in whatever order words come");
    ok (most < 64, "... with few sets of queue pairs: %u at most", most);
}

int main (void)
{
    test_address ();
    test_agree ();
    test_shares ();
    test_pkeys ();
    test_choice_of_pkey ();
    test_header ();
    test_window ();
    test_grh ();
    test_origin ();
    test_lids ();
    test_stamps ();
    test_gid ();
    test_ticks ();
    test_timeouts ();
    test_bulk_info ();
    test_meet ();
    return done_testing ();
}
