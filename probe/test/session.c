/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Virtual time: what arrives when. */
#include "config.h"
#include "tests/emu/session.h"

#include <math.h>
#include <string.h>

#include "ibquery/model/generate.h"
#include "tests/emu/model.h"
#include "tests/tap.h"

enum { SECOND = 1000000000 };

struct got {
    int count;
    int64_t time;
    uint32_t from;
    size_t len; /* 0: the deadline */
};

static void deliver (void *owner, int64_t time,
                     const struct session_header *header,
                     const uint8_t *data, size_t len)
{
    struct got *got = owner;

    got->count++;
    got->time = time;
    got->from = header ? header->from : 0;
    got->len = data ? len : 0;
}

static struct fabric *fabric;
static struct emu_model *model;
static struct session_stats stats;

static int64_t way (uint32_t from, uint32_t to)
{
    uint32_t arc[PATH_MAX_HOPS];
    int n = model_path (model, from, to, arc);
    int64_t ns = 0;

    for (int i = 0; i < n; i++)
        ns += model_latency (model, arc[i]);
    return ns;
}

static int command (const char *a, const char *b, const char *c)
{
    char *argv[] = { (char *)a, (char *)b, (char *)c, NULL };
    struct error err = { .text = "" };

    return model_command (model, c ? 3 : b ? 2 : 1, argv, &err);
}

struct table {
    struct session *s;
    struct client *client[4];
    struct got got[4];
};

static void sit (struct table *t, size_t n)
{
    memset (t, 0, sizeof (*t));
    t->s = session_create (model, 0, n, deliver, &stats, SECOND, 0);
    for (uint32_t i = 0; i < n; i++)
        t->client[i] = session_join (t->s, &t->got[i], &i, 1, 0, NULL);
}

static int send_bytes (struct client *c, uint32_t from, uint32_t to,
                       size_t len, struct error *err)
{
    struct session_header header = { .from = from, .to = to };
    uint8_t data[64] = { 1 };

    return session_send (c, &header, data, len, err);
}

static void say (struct table *t, size_t i, uint32_t to)
{
    send_bytes (t->client[i], (uint32_t)i, to, 64, NULL);
}

static void test_messages (void)
{
    struct table t;

    sit (&t, 2);
    say (&t, 0, 1);
    session_wait (t.client[1], SECOND);
    session_run (t.s, 0);
    ok (t.got[1].count == 0, "nothing happens while someone runs");
    session_wait (t.client[0], 2 * SECOND);
    session_run (t.s, 0);
    ok (t.got[1].count == 1 && t.got[1].time == way (0, 1)
            && t.got[1].from == 0 && t.got[1].len == 64,
        "a message takes the sum of its way's latencies");
    say (&t, 1, 0);
    session_wait (t.client[1], INT64_MAX);
    session_run (t.s, 0);
    ok (t.got[0].count == 1 && t.got[0].time == way (0, 1) + way (1, 0),
        "... and back");
    session_wait (t.client[0], 5000);
    session_run (t.s, 0);
    ok (t.got[0].count == 2 && t.got[0].time == 5000 && t.got[0].len == 0,
        "a deadline passes when all wait");
    say (&t, 0, 1);
    session_wait (t.client[0], 5000);
    session_run (t.s, 0);
    ok (t.got[0].count == 3 && t.got[0].time == 5000,
        "one that has passed ends the wait at once");
    session_wait (t.client[0], INT64_MAX);
    session_run (t.s, 0);
    ok (t.got[1].count == 2 && t.got[1].time == 5000 + way (0, 1),
        "what was sent before still arrives");
    session_destroy (t.s);
    sit (&t, 1);
    session_wait (t.client[0], INT64_MAX - 1);
    session_run (t.s, 0);
    ok (t.got[0].count == 0, "a deadline that no clock can reach");
    session_destroy (t.s);
}

/* Who is gone before all have joined is not waited for. */
static void test_left (void)
{
    const uint32_t end[] = { 0, 1 };
    struct got got = { 0 };
    struct session *s = session_create (model, 0, 2, deliver, &stats, SECOND,
                                        0);
    struct client *c;

    session_leave (session_join (s, &got, &end[0], 1, 0, NULL));
    c = session_join (s, &got, &end[1], 1, 0, NULL);
    session_wait (c, 5000);
    session_run (s, 0);
    ok (got.count == 1 && got.time == 5000,
        "a session starts though one has left it");
    session_destroy (s);
}

/* What a host sends to itself, and what its software takes. */
static void test_loopbacks (void)
{
    const char *host = fabric->host[1].name;
    struct table t;

    command ("loss", "1", NULL);
    sit (&t, 2);
    say (&t, 0, 0);
    for (size_t i = 0; i < 2; i++)
        session_wait (t.client[i], SECOND);
    session_run (t.s, 0);
    ok (t.got[0].count == 1 && t.got[0].time == MODEL_LOOPBACK_NS
            && t.got[0].from == 0,
        "a message to itself crosses no cable, which would lose it");
    session_destroy (t.s);
    command ("loss", "0", NULL);

    ok (command ("slow-host", host, "+300") == 0
            && command ("slow-host", "nobody", "+300") < 0
            && command ("slow-host", host, "300") < 0,
        "software of a host is made slower");
    sit (&t, 2);
    say (&t, 0, 1);
    say (&t, 1, 1);
    session_wait (t.client[0], SECOND);
    session_wait (t.client[1], SECOND);
    session_run (t.s, 0);
    ok (t.got[1].time == way (0, 1), "... what goes there is as fast");
    say (&t, 1, 0);
    session_wait (t.client[1], SECOND);
    session_run (t.s, 0);
    ok (t.got[1].time == MODEL_LOOPBACK_NS + 300, "... its loopback is slower");
    session_wait (t.client[1], SECOND);
    session_run (t.s, 0);
    ok (t.got[0].time == way (0, 1) + way (1, 0) + 300,
        "... and so is a round trip, once");
    session_destroy (t.s);
    ok (command ("heal", "all", NULL) == 0
            && model_noise (model, 1, 0, NULL, 0, NULL) == 0,
        "... healed");
}

/* 0 and 1 share a switch; both send to 3 and to each other at once. */
static void test_queues (void)
{
    int64_t packet = 1000;
    int64_t apart;
    struct table t;

    command ("packet", "1000", NULL);
    sit (&t, 4);
    say (&t, 0, 3);
    say (&t, 0, 2);
    for (size_t i = 0; i < 4; i++)
        session_wait (t.client[i], SECOND);
    session_run (t.s, 0);
    session_wait (t.client[3], SECOND);
    session_run (t.s, 0);
    apart = t.got[2].time - way (0, 2);
    ok (t.got[3].time == way (0, 3), "the first finds the link free");
    ok (apart >= packet && apart < packet + 50,
        "the second waits until the first has left the host (%d ns)",
        (int)apart);
    session_destroy (t.s);

    sit (&t, 4);
    say (&t, 0, 2);
    say (&t, 1, 2);
    say (&t, 3, 2);
    for (size_t i = 0; i < 4; i++)
        session_wait (t.client[i], SECOND);
    session_run (t.s, 0);
    for (int i = 0; i < 2; i++) {
        session_wait (t.client[2], SECOND);
        session_run (t.s, 0);
    }
    ok (t.got[2].count == 3 && t.got[2].time > way (0, 2) + 2 * packet - 600,
        "three that meet at a host come one by one");
    session_destroy (t.s);
    command ("packet", "30", NULL);
}

static void test_faults (void)
{
    int64_t healthy = way (0, 1);
    const char *id = fabric->link[model_first_arc (model, 0) / 2].id;

    command ("slow", id, "+1000");
    ok (way (0, 1) == healthy + 1000, "a slow link slows one way");
    command ("slow", id, "+300");
    ok (way (0, 1) == healthy + 300, "... planting again replaces");
    command ("heal", id, NULL);
    ok (way (0, 1) == healthy, "... and heals");
}

static void test_background (void)
{
    struct table t;
    int slower = 0;

    command ("background", "h0001,h0016:0.5", NULL);
    for (uint64_t i = 0; i < 50; i++) {
        memset (&t, 0, sizeof (t));
        t.s = session_create (model, i, 2, deliver, &stats, SECOND, 0);
        for (uint32_t k = 0; k < 2; k++)
            t.client[k] = session_join (t.s, &t.got[k], &k, 1, 0, NULL);
        say (&t, 0, 1);
        session_wait (t.client[0], SECOND);
        session_wait (t.client[1], SECOND);
        session_run (t.s, 0);
        slower += t.got[1].time > way (0, 1);
        session_destroy (t.s);
    }
    ok (slower > 10 && slower < 40,
        "traffic at half load delays about half (%d of 50)", slower);
    command ("background", "off", NULL);
}

/* By how much a message is late. */
static double flooded (uint32_t from, uint32_t to, uint64_t number)
{
    uint32_t end[] = { from, to };
    struct table t = { 0 };
    double late;

    t.s = session_create (model, number, 2, deliver, &stats, SECOND, 0);
    for (int k = 0; k < 2; k++)
        t.client[k] = session_join (t.s, &t.got[k], &end[k], 1, 0, NULL);
    send_bytes (t.client[0], from, to, 1, NULL);
    session_wait (t.client[0], SECOND);
    session_wait (t.client[1], SECOND);
    session_run (t.s, 0);
    late = (double)(t.got[1].time - way (from, to));
    session_destroy (t.s);
    return late;
}

static void test_flood (void)
{
    const double T = FLOOD_PACKET * model_byte_ns (model, 0);
    struct session_count before, now;
    double most = 0, least = SECOND, shared = SECOND;
    uint32_t zero = 0, five = 5;
    struct table t = { 0 };
    bool quiet = true;

    command ("background", "h0005,h0001:1", NULL);
    command ("background", "h0009,h0001:1", NULL);
    for (uint64_t i = 0; i < 50; i++) {
        double late = flooded (1, 0, i); /* its neighbour's */

        most = late > most ? late : most;
        least = late < least ? late : least;
        late = flooded (8, 0, i); /* h0009's own */
        shared = late < shared ? late : shared;
        quiet &= flooded (0, 2, i) <= 0;
    }
    ok (least < 0.2 * T && most > 0.8 * T && most <= T + 1,
        "one full input: a message waits for up to a packet's time");
    ok (shared > 4 * T, "... behind those that share its input (%.0f ns)",
        shared);
    ok (quiet, "... and not the other way");

    t.s = session_create (model, 0, 2, deliver, &stats, SECOND, 0);
    t.client[0] = session_join (t.s, &t.got[0], &zero, 1, 0, NULL);
    t.client[1] = session_join (t.s, &t.got[1], &five, 1, 0, NULL);
    session_count (t.client[0], 0, &before);
    session_wait (t.client[0], 1000000);
    session_wait (t.client[1], 1000000);
    session_run (t.s, 0);
    session_count (t.client[0], 0, &now);
    ok (before.received <= 0 && now.sent <= 0
            && llround (now.received * model_byte_ns (model, 0)) == 1000000
            && llround (now.received_packets)
                   == llround (now.received / FLOOD_PACKET),
        "its counters grow by what its link carries in the time");
    command ("background", "off", NULL);
    session_update (t.s);
    send_bytes (t.client[1], 5, 0, 1, NULL);
    session_wait (t.client[0], 2000000);
    session_wait (t.client[1], 2000000);
    session_run (t.s, 0);
    before = now;
    session_count (t.client[0], 0, &now);
    ok (llround (now.received - before.received) == 1 + SESSION_HEADER,
        "... and by messages, when the flows have ended");
    session_destroy (t.s);
}

/* Set how all switches spread messages. */
static void spread_by (struct fabric_spread how)
{
    for (size_t i = 0; i < fabric->nnodes; i++)
        if (fabric->node[i].type == NODE_SWITCH)
            fabric->node[i].spread = how;
}

/* How long a message of two queue pairs takes from the first host to the last;
 * -1: it was lost.
 */
static int64_t by_queues (uint64_t number, uint32_t own, uint32_t other,
                          struct traffic_class as)
{
    struct session_header header = { .from = 0, .to = 15, .own = own,
                                     .other = other, .as = as };
    uint32_t end[] = { 0, 15 };
    struct table t = { 0 };
    int64_t time;

    t.s = session_create (model, number, 2, deliver, &stats, SECOND, 0);
    for (int k = 0; k < 2; k++)
        t.client[k] = session_join (t.s, &t.got[k], &end[k], 1, 0, NULL);
    session_send (t.client[0], &header, (const uint8_t *)"x", 1, NULL);
    session_wait (t.client[0], SECOND);
    session_wait (t.client[1], SECOND);
    session_run (t.s, 0);
    time = t.got[1].len > 0 ? t.got[1].time : -1;
    session_destroy (t.s);
    return time;
}

/* How many different times messages of n pairs of queue pairs take, of which
 * only one, or both, differ. Each is sent twice; same: both were equal.
 */
static size_t ways_of (uint32_t n, bool both, struct traffic_class as,
                       bool *same)
{
    int64_t time[64];
    size_t ways = 0;

    *same = true;
    for (uint32_t i = 0; i < n; i++) {
        int64_t ns = by_queues (0, i, both ? 2 * i : 0, as);
        size_t k = 0;

        *same &= ns == by_queues (0, i, both ? 2 * i : 0, as);
        while (k < ways && time[k] != ns)
            k++;
        if (k == ways)
            time[ways++] = ns;
    }
    return ways;
}

/* How many of two messages are slow that two hosts of a switch send to the last
 * host at the same time.
 */
static size_t slow_ones (uint64_t number, struct traffic_class as)
{
    static const uint8_t data[SESSION_DATA_MAX];
    uint32_t end[] = { 0, 1, 15 };
    struct table t = { 0 };
    size_t slow = 0;

    t.s = session_create (model, number, 3, deliver, &stats, SECOND, 0);
    for (int k = 0; k < 3; k++)
        t.client[k] = session_join (t.s, &t.got[k], &end[k], 1, 0, NULL);
    for (int k = 0; k < 2; k++) {
        struct session_header header = { .from = end[k], .to = 15, .as = as };

        session_send (t.client[k], &header, data, sizeof (data), NULL);
        session_wait (t.client[k], SECOND);
    }
    for (int k = 0; k < 2; k++) {
        session_wait (t.client[2], SECOND);
        session_run (t.s, 0);
        slow += t.got[2].time > 100000;
    }
    session_destroy (t.s);
    return slow;
}

static void test_spread (void)
{
    const struct traffic_class ud = { 0, false }, other = { 1, false };
    const struct traffic_class rc = { 0, true };
    uint32_t port = fabric->endpoint[0].port;
    int64_t table = way (0, 15);
    uint32_t arc[PATH_MAX_HOPS];
    size_t slow = 0;
    bool same;

    spread_by ((struct fabric_spread){ .known = true, .hashed = 1 });
    ok (ways_of (64, true, ud, &same) == 4 && same,
        "hashed: each of four ways, a flow always by the same");
    ok (ways_of (64, false, ud, &same) == 4 && same,
        "... if only one end's queue pair differs, too");
    ok (ways_of (16, true, other, &same) == 1
            && by_queues (0, 1, 1, other) == table,
        "... on another level by the table");

    spread_by ((struct fabric_spread){ .known = true, .rc = 1 });
    ok (ways_of (16, true, ud, &same) == 1, "adaptive for connections alone");
    model_path (model, 0, 15, arc);
    command ("slow", fabric->link[arc[1] / 2].id, "+100000");
    for (size_t i = 0; i < fabric->nlinks; i++)
        command ("rate", fabric->link[i].id, "10");
    for (uint64_t i = 0; i < 20; i++)
        slow += slow_ones (i, rc) == 1;
    for (size_t i = 0; i < fabric->nlinks; i++)
        command ("rate", fabric->link[i].id, "200");
    ok (slow == 20, "two at once take both of a switch's ports: %zu of 20",
        slow);
    for (uint32_t i = 0; i < 20; i++)
        slow -= by_queues (i, 1, 1, rc) > 100000;
    ok (slow > 4 && slow < 16, "... and one any of them: %zu of 20", slow);
    command ("background", "h0002,h0016:1", NULL);
    slow = 0;
    for (uint32_t i = 0; i < 20; i++)
        slow += by_queues (i, 1, 1, rc) > 100000;
    command ("background", "off", NULL);
    ok (slow == 0, "... but not one that background saturates");
    command ("heal", fabric->link[arc[1] / 2].id, NULL);

    spread_by ((struct fabric_spread){ 0 });
    fabric->port[port].dropped = 2;
    stats.lost = 0;
    ok (by_queues (0, 1, 1, other) == -1 && by_queues (0, 1, 1, ud) == table
            && stats.lost == 1,
        "a port drops a level that has no lane");
    fabric->port[port].dropped = 0;
    stats.lost = 0;
}

static void test_people (void)
{
    struct table t;
    uint32_t zero = 0;
    uint32_t two = 2;
    struct error err;

    sit (&t, 3);
    session_wait (t.client[0], 7000);
    session_wait (t.client[1], SECOND);
    session_run (t.s, SECOND / 2);
    ok (t.got[0].count == 0, "a client that runs is waited for");
    session_run (t.s, SECOND + 1);
    ok (t.got[0].count == 1 && t.got[0].time == 7000,
        "... but not for longer than the stall limit");
    session_wait (t.client[2], 0);
    session_run (t.s, SECOND + 1);
    ok (t.got[2].count == 1 && t.got[2].time >= 7000,
        "it wakes at the session's present time");
    session_leave (t.client[2]);
    session_wait (t.client[0], 9000);
    session_run (t.s, SECOND + 2);
    ok (t.got[0].count == 2 && t.got[0].time == 9000,
        "who has left is not waited for");
    say (&t, 0, 2);
    session_wait (t.client[0], 90000);
    session_run (t.s, SECOND + 2);
    ok (stats.lost == 1, "a message to who has left is lost");
    ok (!session_join (t.s, NULL, &zero, 1, 0, &err), "nobody joins twice");
    ok (send_bytes (t.client[0], 1, 0, 1, &err) < 0
            && send_bytes (t.client[0], 0, 16, 1, &err) < 0,
        "endpoints are checked");
    session_destroy (t.s);

    memset (&t, 0, sizeof (t));
    t.s = session_create (model, 0, 3, deliver, &stats, SECOND, 0);
    t.client[0] = session_join (t.s, &t.got[0], &zero, 1, 0, NULL);
    session_wait (t.client[0], 100);
    session_run (t.s, SECOND);
    ok (t.got[0].count == 0, "a session waits for all to join");
    session_run (t.s, (int64_t)SECOND * SESSION_START_LIMITS);
    ok (t.got[0].count == 1, "... for some time");
    t.client[2] = session_join (t.s, &t.got[2], &two, 1, 0, NULL);
    ok (t.client[2] != NULL, "one that comes late may still join");
    session_destroy (t.s);
}

static const struct {
    const char *a, *b, *c;
    bool good;
} commands[] = {
    { "slow", "h0001/1", "+5", true },
    { "slow", "h0001/1", "5", false },
    { "slow", "h0001/1", "+-5", false },
    { "slow", "h0001/1", "+1e99", false },
    { "slow", "h0001/9", "+5", false },
    { "slow", "h0001/1", NULL, false },
    { "rate", "h0001/1", "2.5", true },
    { "rate", "h0001/1", "0", false },
    { "rate", "h0001/1", "1e9", false },
    { "rate", "h0001/9", "5", false },
    { "rate", "h0001/1", NULL, false },
    { "rate", "h0001/1", "5:2.5", true },
    { "rate", "h0001/1", "5:x", false },
    { "rate-noise", "0.1:0.05", NULL, true },
    { "rate-noise", "2", NULL, false },
    { "rate-noise", "0", NULL, true },
    { "retries", "h0001/1", "0.1", true },
    { "retries", "h0001/1", "1", false },
    { "width", "h0001/1", "2", true },
    { "width", "h0001/1", "3", false },
    { "width", "h0099/1", "2", false },
    { "pcie", "h0001", "16x8", true },
    { "pcie", "h0001", "2.5x16/32x16/16x16", true },
    { "pcie", "h0001", "16x16/16x8", false },
    { "pcie", "h0001", "16x8/", false },
    { "pcie", "h0001", "16x8.5", false },
    { "pcie", "h0001", "nanx8", false },
    { "pcie", "h0001", "rate=26:100", true },
    { "pcie", "h0001", "rate=", false },
    { "pcie", "h0001", "errors=7", true },
    { "pcie", "h0001", "errors=-1", false },
    { "pcie", "h0001", "none", true },
    { "pcie", "h0001", "together", true },
    { "pcie", "h0099", "none", false },
    { "order", "h0001", "0.75", true },
    { "order", "h0001", "no:0.75", true },
    { "order", "h0001", "0", false },
    { "heal", "h0001", NULL, true },
    { "heal", "all", NULL, true },
    { "heal", "nothing", NULL, false },
    { "loss", "1.1", NULL, false },
    { "loss", "nan", NULL, false },
    { "noise", "-1", NULL, false },
    { "noise", "site", NULL, true },
    { "noise", "sunny", NULL, false },
    { "noise", "0", NULL, true },
    { "slow-host", "h0001", "+5", true },
    { "slow-host", "h0001", "+0", true },
    { "slow-host", "h0001/1", "+5", false },
    { "outliers", "0.1:100", NULL, true },
    { "outliers", "0.1", NULL, false },
    { "outliers", ":", NULL, false },
    { "outliers", "off", NULL, true },
    { "background", "h0001,h0002", NULL, false },
    { "background", "h0001,h0099:0.5", NULL, false },
    { "background", "h0001:0.5", NULL, false },
    { "background", "random:5:0.5", NULL, true },
    { "background", "random:5:0.5:pausing", NULL, true },
    { "background", "random:5:pausing", NULL, false },
    { "background", "random:5000:0.5", NULL, false },
    { "background", "random:x:0.5", NULL, false },
    { "background", "random:4096:0.5", NULL, false },
    { "background", "off", NULL, true },
    { "packet", "x", NULL, false },
    { "explode", NULL, NULL, false },
    { "", NULL, NULL, false },
};

static const struct {
    const char *text;
    bool good;
} latencies[] = {
    { "h0001/1 500\nh0002/1 400 410 # end\n\n", true },
    { "h0001/1\n", false },
    { "h0001/1 1 2 3\n", false },
    { "h0099/1 5\n", false },
    { "h0001/1 -5\n", false },
    { "h0001/1 inf\n", false },
};

static void test_words (void)
{
    for (size_t i = 0; i < sizeof (commands) / sizeof (commands[0]); i++)
        ok ((command (commands[i].a, commands[i].b, commands[i].c) == 0)
                == commands[i].good,
            "'%s %s %s' is %s", commands[i].a,
            commands[i].b ? commands[i].b : "",
            commands[i].c ? commands[i].c : "",
            commands[i].good ? "taken" : "refused");
    for (size_t i = 0; i < sizeof (latencies) / sizeof (latencies[0]); i++) {
        FILE *fp = fmemopen ((void *)latencies[i].text,
                             strlen (latencies[i].text), "r");
        struct error err;

        ok ((model_read_latency (model, fp, "latency", &err) == 0)
                == latencies[i].good,
            "latency file %zu", i);
        fclose (fp);
    }
    ok (way (0, 1) == 910 || way (0, 1) == 900, "... is used (%d)",
        (int)way (0, 1));
}

int main (void)
{
    struct fat_tree tree = { .ports = 4, .levels = 3 };

    fabric = generate_fat_tree (&tree, NULL);
    model = model_create (fabric, 1);
    test_messages ();
    test_left ();
    test_loopbacks ();
    test_queues ();
    test_faults ();
    test_background ();
    test_flood ();
    test_spread ();
    test_people ();
    test_words ();
    model_destroy (model);
    fabric_destroy (fabric);
    return done_testing ();
}
