/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a round trip is, by the stamps of a transport whose clocks are made up;
 * who sleeps is woken first; who is busy is waited for; who has several rails
 * is asked over those that are left.
 */
#include "config.h"
#include "probe/group.h"

#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"

enum {
    KEY = 42,
    GAP_NS = 1000,
    HEADER = 16,  /* of a message, */
    TYPE = 8,     /* ... in which its type is, */
    PONG = 2,     /* ... an echo's, */
    BUSY = 5,     /* ... of who has not yet what is asked for, */
    DATA = 7,     /* ... and of who has */
};

/* One peer, which echoes what it gets as the row says. */
static const struct answer {
    const char *what;
    int64_t way_ns, held_ns; /* by the stamps */
    int times;               /* how often the echo comes */
    int64_t rtt_ns;          /* -1: lost */
    uint32_t foreign, duplicate;
} answers[] = {
    { "what was held does not count", 5000, 3000, 1, 2000, 0, 0 },
    { "nothing was held", 5000, 0, 1, 5000, 0, 0 },
    { "all of it was", 5000, 5000, 1, 0, 0, 0 },
    { "more than it took is not believed", 5000, 5001, 1, -1, 1, 0 },
    { "an echo twice counts once", 7000, 0, 2, 7000, 0, 1 },
    { "no echo", 0, 0, 0, -1, 0, 0 },
};

struct fake {
    struct transport_handle handle; /* first */
    const struct answer *answer;
    int64_t now; /* of the process; the rail's clock is far ahead of it */
    struct packet echo;
    int left, sent;
    size_t len; /* of the last message */
    bool attends;
};

enum { AHEAD_NS = 1000000000 };

static int fake_send (void *t, uint32_t rail, uint32_t peer,
                      const uint8_t *data, size_t len,
                      struct transport_timing *timing, struct error *err)
{
    struct fake *f = t;

    (void)err;
    if (!timing)
        return 0;
    timing->stamp_ns = f->now + AHEAD_NS;
    f->echo = (struct packet){
        .stamp_ns = timing->stamp_ns + f->answer->way_ns,
        .held_ns = f->answer->held_ns,
        .peer = peer,
        .rail = rail,
        .len = len,
    };
    memcpy (f->echo.data, data, len);
    f->echo.data[TYPE] = PONG;
    f->left = f->answer->times;
    f->len = len;
    f->sent++;
    return 0;
}

static int fake_recv (void *t, int64_t deadline_ns, struct packet *packet,
                      struct error *err)
{
    struct fake *f = t;

    (void)err;
    if (f->left-- > 0) {
        *packet = f->echo;
        packet->time_ns = f->now += 10;
        return 1;
    }
    f->now = deadline_ns;
    return 0;
}

static int64_t fake_now_ns (const void *t)
{
    return ((const struct fake *)t)->now;
}

static bool fake_attend (void *t, bool on)
{
    ((struct fake *)t)->attends = on;
    return false;
}

static const struct transport fake = {
    .name = "fake",
    .attend = fake_attend,
    .send = fake_send,
    .recv = fake_recv,
    .now_ns = fake_now_ns,
};

static const uint32_t first[] = { 0, 1, 2 };

static void test_rtt (void)
{
    for (size_t i = 0; i < sizeof (answers) / sizeof (answers[0]); i++) {
        struct fake f = { .handle.gap_ns = GAP_NS, .answer = &answers[i] };
        struct group *g = group_create (&fake, &f, KEY, 2, 0, first);
        struct group_ping ping = { .rail = 0, .peer = 1 };
        struct group_stats stats;

        group_ping (g, &ping, NULL);
        group_until (g, group_now (g) + GAP_NS, NULL);
        stats = group_stats (g);
        ok (ping.rtt_ns == answers[i].rtt_ns
                && stats.foreign == answers[i].foreign
                && stats.duplicate == answers[i].duplicate && stats.late == 0,
            "%s: %d ns", answers[i].what, (int)ping.rtt_ns);
        group_destroy (g);
    }
}

static void test_bytes (void)
{
    struct fake f = { .handle.gap_ns = GAP_NS, .answer = &answers[1] };
    struct group *g = group_create (&fake, &f, KEY, 2, 0, first);
    struct group_ping ping = { .rail = 0, .peer = 1 };
    struct group_stats stats;

    g->ping_size = GROUP_PING_MAX;
    group_ping (g, &ping, NULL);
    stats = group_stats (g);
    ok (stats.bytes[0] > GROUP_PING_MAX && stats.bytes[0] == stats.bytes[1],
        "bytes count where they are sent and where they arrive");
    group_destroy (g);
}

static void test_wake (void)
{
    struct fake f = { .handle.gap_ns = GAP_NS, .answer = &answers[5] };
    struct group *g = group_create (&fake, &f, KEY, 2, 0, first);
    struct group_ping ping = { .rail = 0, .peer = 1 };

    ok (!group_attend (g, true) && f.attends, "a transport that sleeps");
    g->ping_size = 100;
    group_wake (g, &ping, NULL);
    ok (f.sent == 1 && f.len == 100 && f.now == GAP_NS,
        "waking takes a gap at most");
    f.left = 1; /* the echo after all */
    group_until (g, group_now (g) + GAP_NS, NULL);
    ok (group_stats (g).late == 0, "... and its echo is not late");
    group_ping (g, &ping, NULL);
    f.left = 1;
    group_until (g, group_now (g) + GAP_NS, NULL);
    ok (group_stats (g).late == 1, "... as that of a ping is");
    ok (group_prepare (g, 0, 1, (struct transport_way){ 0, 0, 0 }, 0, NULL)
            == 0,
        "nothing to prepare where the transport does not say");
    group_destroy (g);
}

/* Two rails of one process, whose ways take 30 ns from the lower to the upper
 * one and 50 ns back, by its clock. The rails' own clocks differ.
 */
static int two_send (void *t, uint32_t rail, uint32_t peer,
                     const uint8_t *data, size_t len,
                     struct transport_timing *timing, struct error *err)
{
    struct fake *f = t;

    (void)err;
    timing->stamp_ns = f->now + AHEAD_NS * rail;
    f->now += rail == 0 ? 30 : 50;
    f->echo = (struct packet){
        .time_ns = f->now,
        .stamp_ns = f->now + AHEAD_NS * peer,
        .held_ns = timing->answers
                       ? timing->stamp_ns - timing->answers->stamp_ns
                       : 0,
        .peer = rail,
        .rail = peer,
        .len = len,
    };
    memcpy (f->echo.data, data, len);
    f->left = 1;
    return 0;
}

static int two_recv (void *t, int64_t deadline_ns, struct packet *packet,
                     struct error *err)
{
    struct fake *f = t;

    (void)err;
    if (f->left-- > 0) {
        *packet = f->echo;
        f->now += 7; /* what the process does before it answers */
        return 1;
    }
    f->now = deadline_ns;
    return 0;
}

static void test_directions (void)
{
    static const uint32_t firsts[][3] = { { 0, 2, 3 }, { 0, 1, 2 } };
    struct transport two = fake;

    two.send = two_send;
    two.recv = two_recv;
    for (int apart = 0; apart < 2; apart++)
        for (uint32_t rail = 0; rail < (apart ? 1 : 2); rail++) {
            struct fake f = { .handle = { .gap_ns = GAP_NS, .rails = 2 },
                              .now = 1000 };
            struct group *g
                = group_create (&two, &f, KEY, 2, 0, firsts[apart]);
            struct group_ping ping = { .rail = rail, .peer = 1 - rail };

            if (apart) /* to the other member, which is no echo of this one */
                g->rails = 1;
            group_ping (g, &ping, NULL);
            ok (apart ? ping.way_ns[0] == 0 && ping.way_ns[1] == 0
                      : ping.rtt_ns == 80
                            && ping.way_ns[0] == (rail == 0 ? 30 : 50)
                            && ping.way_ns[1] == 80 - ping.way_ns[0],
                "rail %u %s: %d ns there, %d back", (unsigned int)rail,
                apart ? "to another node" : "to one of its process",
                (int)ping.way_ns[0], (int)ping.way_ns[1]);
            group_destroy (g);
        }
}

/* A peer that has not yet what it is asked for, over a way as long as a gap
 * may be.
 */
struct slow {
    struct transport_handle handle; /* first */
    int64_t now;
    int64_t ready; /* it has it from then on */
    int64_t comes; /* its answer; 0: it was not asked */
    uint8_t asked[HEADER];
};

static int slow_send (void *t, uint32_t rail, uint32_t peer,
                      const uint8_t *data, size_t len,
                      struct transport_timing *timing, struct error *err)
{
    struct slow *s = t;

    (void)rail;
    (void)peer;
    (void)len;
    (void)timing;
    (void)err;
    memcpy (s->asked, data, HEADER);
    s->comes = s->now + s->handle.gap_ns;
    return 0;
}

static int slow_recv (void *t, int64_t deadline_ns, struct packet *packet,
                      struct error *err)
{
    struct slow *s = t;

    (void)err;
    if (s->comes == 0 || s->comes > deadline_ns) {
        s->now = deadline_ns;
        return 0;
    }
    s->now = s->comes;
    s->comes = 0;
    *packet = (struct packet){ .time_ns = s->now, .peer = 1, .len = HEADER };
    memcpy (packet->data, s->asked, HEADER);
    packet->data[TYPE] = s->now < s->ready ? BUSY : DATA;
    return 1;
}

static int64_t slow_now_ns (const void *t)
{
    return ((const struct slow *)t)->now;
}

static const struct transport slow = {
    .name = "slow",
    .send = slow_send,
    .recv = slow_recv,
    .now_ns = slow_now_ns,
};

static void test_patience (void)
{
    static const int64_t gap_ms[] = { 1, 5, 20, 50, 200, 1000 };
    enum { MS = 1000000, READY_MS = 30000, LONG_MS = 100000 };

    for (size_t i = 0; i < sizeof (gap_ms) / sizeof (gap_ms[0]); i++) {
        struct slow s = { .handle.gap_ns = gap_ms[i] * MS,
                          .ready = (int64_t)READY_MS * MS };
        struct group *g = group_create (&slow, &s, KEY, 2, 0, first);
        struct group_blob blob = { 0 };
        uint32_t from = 1;

        g->deadline = (int64_t)LONG_MS * MS;
        ok (group_fetch (g, GROUP_RESULT, &from, 1, &blob, NULL) == 0
                && blob.data,
            "gaps of %d ms: who is asked and busy is waited for",
            (int)gap_ms[i]);
        free (blob.data);
        group_destroy (g);
    }
}

/* Two members with two rails each, of which some carry messages. */
static const struct rails {
    const char *what;
    bool own[2], other[2]; /* what is left */
    bool crossed;          /* a rail reaches those of another number */
    bool found;
} ways[] = {
    { "all rails", { true, true }, { true, true }, false, true },
    { "the first ones lost", { false, true }, { false, true }, false, true },
    { "the other's first lost", { true, true }, { false, true }, false, true },
    { "the own first lost", { false, true }, { true, true }, false, true },
    { "one each, of the same network", { true, false }, { false, true }, true,
      true },
    { "one each, of two networks", { true, false }, { false, true }, false,
      false },
};

struct planes {
    struct transport_handle handle; /* first */
    const struct rails *rails;
    int64_t now;
    struct packet answer;
    bool comes;
    int sent;
};

static int planes_send (void *t, uint32_t rail, uint32_t peer,
                        const uint8_t *data, size_t len,
                        struct transport_timing *timing, struct error *err)
{
    const struct rails *r = ((struct planes *)t)->rails;
    struct planes *p = t;

    (void)timing;
    (void)err;
    p->sent++;
    if (!r->own[rail] || !r->other[peer - 2]
        || (rail != peer - 2 && !r->crossed))
        return 0;
    p->answer = (struct packet){ .peer = peer, .rail = rail, .len = len };
    memcpy (p->answer.data, data, len);
    p->answer.data[TYPE] = DATA;
    p->comes = true;
    return 0;
}

static int planes_recv (void *t, int64_t deadline_ns, struct packet *packet,
                        struct error *err)
{
    struct planes *p = t;

    (void)err;
    if (!p->comes) {
        p->now = deadline_ns;
        return 0;
    }
    p->comes = false;
    *packet = p->answer;
    packet->time_ns = p->now += GAP_NS / 2;
    return 1;
}

static int64_t planes_now_ns (const void *t)
{
    return ((const struct planes *)t)->now;
}

static const struct transport planes = {
    .name = "planes",
    .send = planes_send,
    .recv = planes_recv,
    .now_ns = planes_now_ns,
};

static bool fetch (struct group *g, enum group_kind kind)
{
    struct group_blob blob = { 0 };
    uint32_t from = 1;
    bool there = group_fetch (g, kind, &from, 1, &blob, NULL) == 0
                 && blob.data;

    free (blob.data);
    return there;
}

static void test_ways (void)
{
    static const uint32_t two[] = { 0, 2, 4 };

    for (size_t i = 0; i < sizeof (ways) / sizeof (ways[0]); i++) {
        struct planes p = {
            .handle = { .gap_ns = GAP_NS,
                        .lost = { !ways[i].own[0], !ways[i].own[1] } },
            .rails = &ways[i],
        };
        struct group *g = group_create (&planes, &p, KEY, 2, 0, two);
        bool found = fetch (g, GROUP_PART);

        ok (found == ways[i].found, "%s: %s, asked %d times",
            ways[i].what, ways[i].found ? "it answers" : "it is given up",
            p.sent);
        p.sent = 0;
        if (ways[i].found)
            ok (fetch (g, GROUP_RESULT) && p.sent == 1,
                "... and then once");
        group_destroy (g);
    }
}

int main (void)
{
    test_rtt ();
    test_bytes ();
    test_directions ();
    test_wake ();
    test_patience ();
    test_ways ();
    return done_testing ();
}
