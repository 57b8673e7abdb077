/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What tests see of a group: what is collected and told arrives whatever gets
 * lost or dies, messages of any length arrive in the time that the wire takes,
 * and round trips take what the links do.
 */
#include "config.h"
#include "compare/exchange/comm_group.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "probe/test/arena.h"
#include "tests/tap.h"

enum { MEMBERS = 16, DEADLINE_S = 100, SPEAKS = 40000 };

static const char *const hosts[MEMBERS] = {
    "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o",
    "p",
};

static struct comm_group *join (struct group *g)
{
    g->deadline = group_now (g) + DEADLINE_S * 1000000000LL;
    return comm_group_open (g, hosts);
}

/* Member m has m * SPEAKS / 15 bytes of its own number. */
static size_t words (uint8_t *buf, uint32_t m)
{
    size_t len = (size_t)m * SPEAKS / 15;

    memset (buf, (int)m, len);
    return len;
}

/* Return whether that came from all but the dead. */
static bool check_all (struct comm_blob *all, const bool *dead)
{
    static uint8_t expected[SPEAKS];
    bool good = true;

    for (uint32_t m = 0; m < MEMBERS; m++) {
        size_t len = words (expected, m);

        good = good && (all[m].data == NULL) == dead[m]
               && (dead[m] || (all[m].len == len
                               && !memcmp (all[m].data, expected, len)));
        free (all[m].data);
    }
    return good;
}

static int run_speeches (struct group *g, void *data)
{
    const bool *dead = data;
    struct comm_group *c = dead[g->me] ? NULL : join (g);
    struct comm_blob all[MEMBERS] = { { 0 } };
    struct comm_blob told = { 0 };
    uint8_t buf[SPEAKS];
    uint32_t me = (uint32_t)g->me;
    struct error err = { .text = "" };
    bool good;

    if (!c)
        return 0;
    good = comm_group.collect (c, buf, words (buf, me), me ? NULL : all, &err)
                  == 1
           && (me > 0 || check_all (all, dead));
    if (me == 0)
        told = (struct comm_blob){ buf, words (buf, 9) };
    good = good && comm_group.tell (c, &told, &err) == 1;
    if (me > 0) {
        good = good && told.len == words (buf, 9)
               && !memcmp (told.data, buf, told.len);
        free (told.data);
    }
    if (!good)
        diag ("member %u: %s", me, err.text);
    comm_group_close (c);
    return !good;
}

static void test_speeches (const char *loss, bool *dead)
{
    struct arena a;

    ok (arena_start (&a, "loss", loss) == 0
            && arena_run (&a, MEMBERS, 1, run_speeches, dead) == MEMBERS,
        "what all say comes to one, and from there to all, loss %s", loss);
    arena_stop (&a);
}

/* Nobody leads: those that are told hear of it. */
static int run_leaderless (struct group *g, void *data)
{
    struct comm_group *c = g->me == 0 ? NULL : join (g);
    struct comm_blob told;
    struct error err = { .text = "" };
    int bad;

    (void)data;
    if (!c)
        return 0;
    bad = comm_group.collect (c, NULL, 0, NULL, &err) != 1
          || comm_group.tell (c, &told, &err) != -1
          || !strstr (err.text, "a, which leads, is gone");
    comm_group_close (c);
    return bad;
}

static void test_leaderless (void)
{
    struct arena a;

    ok (arena_start (&a, NULL, NULL) == 0
            && arena_run (&a, 4, 1, run_leaderless, NULL) == 4,
        "without the first there is nothing to be told");
    arena_stop (&a);
}

/* Round trips between 0 and 1, and what they are to take. */
struct trip {
    size_t len;
    int64_t ns;
    int rc;
};

static int round_trips (struct comm_group *c, uint32_t me, size_t len,
                        unsigned int n, int64_t *ns, struct error *err)
{
    const struct comm_exchange *x = comm_group.exchanges;
    struct comm_side s = { .comm = &comm_group, .c = c, .peer = !me,
                           .first = me == 0, .len = len, .n = n,
                           .ns = -1 };
    int rc;

    while (strcmp (x->name, "round-trip") != 0)
        x++;
    rc = x->run (x, &s, err);
    *ns = s.ns;
    return rc;
}

static int run_trip (struct group *g, void *data)
{
    const struct trip *trip = data;
    struct comm_group *c = join (g);
    int64_t ns = -1;
    struct error err = { .text = "" };
    int rc;

    rc = comm_group.reserve (c, trip->len, comm_group.exchanges, &err) == 1
             && comm_group.barrier (c, &err) == 1
             ? round_trips (c, (uint32_t)g->me, trip->len, 10, &ns, &err)
             : -1;
    comm_group_close (c);
    if (g->me == 1)
        return rc != 1;
    if (rc != trip->rc || (rc == 1 && llabs (ns - 10 * trip->ns) > 20))
        diag ("%zu bytes: %d, %lld ns, not %lld %s", trip->len, rc,
              (long long)ns / 10, (long long)trip->ns, err.text);
    return rc != trip->rc || (rc == 1 && llabs (ns - 10 * trip->ns) > 20);
}

/* A round trip's latencies in the arena's emulator. */
static int64_t links_ns (const struct fabric *f)
{
    struct emu_model *m = model_create (f, ARENA_SEED);
    uint32_t arc[PATH_MAX_HOPS];
    int64_t ns = 0;

    for (uint32_t from = 0; from < 2; from++)
        for (int n = model_path (m, from, !from, arc); n > 0; n--)
            ns += model_latency (m, arc[n - 1]);
    model_destroy (m);
    return ns;
}

static void test_trips (void)
{
    static const struct {
        size_t len;
        int64_t ns; /* beside the links', at 200 Gb/s */
        const char *loss;
        int rc;
    } trips[] = {
        { 0, 0, "0", 1 },
        { 240, 0, "0", 1 },
        { 241, 2 * 11, "0", 1 },
        /* a message with its header of 30 bytes, as bulk data */
        { 12222, 2 * 494, "0.3", 1 },
        { 0, 0, "0.5", 0 },
    };

    for (size_t i = 0; i < sizeof (trips) / sizeof (trips[0]); i++) {
        struct trip trip = { trips[i].len, 0, trips[i].rc };
        struct arena a;
        bool good = arena_start (&a, "loss", trips[i].loss) == 0;

        trip.ns = links_ns (a.fabric) + trips[i].ns;
        ok (good && arena_run (&a, 2, 1, run_trip, &trip) == 2,
            "round trips of %zu bytes, loss %s", trips[i].len, trips[i].loss);
        arena_stop (&a);
    }
}

/*
 * Messages
 */

enum { ROUNDS = 20, MEGABYTE = 1 << 20 };

static int check_call (int rc, int expected, const char *what,
                       const struct error *err)
{
    if (rc == expected)
        return 0;
    diag ("%s: %d%s%s", what, rc, rc < 0 ? ": " : "", rc < 0 ? err->text : "");
    return 1;
}

#define CHECK(call, expected) check_call (call, expected, #call, &err)

static int send_to (struct comm_group *c, uint32_t peer, size_t len,
                    struct error *err)
{
    struct comm_messages m = { .peer = peer, .sends = true, .n = 1 };

    return comm_group.run (c, &m, 1, len, err);
}

static int recv_from (struct comm_group *c, uint32_t peer, size_t len,
                      struct error *err)
{
    struct comm_messages m = { .peer = peer, .n = 1 };

    return comm_group.run (c, &m, 1, len, err);
}

/* A member's part in something; 0 is well. */
typedef int (*part_f) (struct comm_group *c, struct group *g);

/* Back and forth. */
static int play_lengths (struct comm_group *c, struct group *g)
{
    static const size_t lengths[] = { 0, 1, 4074, 4075, 100000 };
    uint32_t me = (uint32_t)g->me;
    struct error err;
    int bad = 0;

    for (uint32_t i = 0; i < 2 * ROUNDS && !bad && me < 2; i++) {
        size_t len = lengths[i / 2 % 5];

        bad = me == i % 2 ? CHECK (send_to (c, !me, len, &err), 1)
                          : CHECK (recv_from (c, !me, len, &err), 1);
    }
    return bad;
}

/* One is ahead of the other: it gets what was sent before, in order. */
static int play_ahead (struct comm_group *c, struct group *g)
{
    uint32_t me = (uint32_t)g->me;
    struct comm_messages m = { .peer = !me, .sends = me == 0, .n = 2 };
    struct error err;
    int bad = me == 1 && group_until (g, group_now (g) + 10000000, &err) < 0;

    for (int i = 0; i < ROUNDS && !bad && me < 2; i++)
        bad = CHECK (comm_group.run (c, &m, 1, (size_t)i * 1000, &err), 1);
    return bad || (me < 2 && CHECK (me == 0 ? recv_from (c, 1, 5, &err)
                                            : send_to (c, 0, 5, &err), 1));
}

/* What is in notes, in order, with messages between them. */
static int play_notes (struct comm_group *c, struct group *g)
{
    uint32_t me = (uint32_t)g->me;
    struct error err;
    int bad = 0;

    for (uint32_t i = 0; i < 10 * ROUNDS && !bad && me < 2; i++) {
        char text[COMM_NOTE_MAX];
        char got[COMM_NOTE_MAX];
        size_t len = i % (sizeof (text) + 1);

        memset (text, (int)i, sizeof (text));
        if (me == i % 3 / 2)
            bad = CHECK (comm_group.send_note (c, !me, text, len, &err), 1);
        else
            bad = CHECK (comm_group.recv_note (c, !me, got, len, &err), 1)
                  || memcmp (text, got, len);
        if (!bad && i % 8 == 0)
            bad = me == 0 ? CHECK (send_to (c, 1, 10000, &err), 1)
                          : CHECK (recv_from (c, 0, 10000, &err), 1);
    }
    return bad;
}

/* Everyone to everyone at once, itself included. */
static int play_all (struct comm_group *c, struct group *g)
{
    struct comm_messages m[2 * MEMBERS];
    uint32_t n = (uint32_t)g->n, me = (uint32_t)g->me;
    struct error err;
    int bad = 0;

    for (int k = 0; k < 3 && !bad; k++) {
        for (uint32_t i = 0; i < n; i++) {
            m[2 * i] = (struct comm_messages){ .peer = (me + n - i) % n,
                                               .n = 3 };
            m[2 * i + 1] = (struct comm_messages){ .peer = (me + i) % n,
                                                   .sends = true, .n = 3 };
        }
        bad = CHECK (comm_group.run (c, m, 2 * (size_t)n, 30000, &err), 1);
        for (size_t i = 2; i < 2 * (size_t)n && !bad; i++)
            bad = m[i].lost || m[i].ns < 3 * 1200 * (int64_t)m[i].sends;
    }
    return bad;
}

static const struct {
    const char *what;
    part_f play;
} games[] = {
    { "messages of any length", play_lengths },
    { "one is ahead", play_ahead },
    { "notes", play_notes },
    { "all to all", play_all },
};

static int run_game (struct group *g, void *data)
{
    struct comm_group *c = join (g);
    struct error err;
    int bad = CHECK (comm_group.reserve (c, 0, NULL, &err), 1)
              || games[*(const size_t *)data].play (c, g);

    comm_group_close (c);
    return bad;
}

static void test_games (const char *word, const char *value)
{
    for (size_t i = 0; i < sizeof (games) / sizeof (games[0]); i++) {
        struct arena a;

        ok (arena_start (&a, word, value) == 0
                && arena_run (&a, MEMBERS, 1, run_game, &i) == MEMBERS,
            "%s, %s %s", games[i].what, word, value);
        arena_stop (&a);
    }
}

/* 1 MB from 0 to 1, and a short message back. */
static int run_rate (struct group *g, void *data)
{
    struct comm_group *c = join (g);
    double ns = *(const double *)data * MEGABYTE;
    struct error err;
    int64_t start;
    int bad = CHECK (comm_group.reserve (c, MEGABYTE, NULL, &err), 1)
              || CHECK (comm_group.barrier (c, &err), 1);

    start = group_now (g);
    if (g->me == 0) {
        bad = bad || CHECK (send_to (c, 1, MEGABYTE, &err), 1)
              || CHECK (recv_from (c, 1, 0, &err), 1);
        ns = (double)(group_now (g) - start) / ns;
        diag ("1 MB: %.3f times what its bytes take", ns);
        bad = bad || ns < 1 || ns > 1.1; /* it has a way to go */
    }
    else
        bad = bad || CHECK (recv_from (c, 0, MEGABYTE, &err), 1)
              || CHECK (send_to (c, 0, 0, &err), 1);
    comm_group_close (c);
    return bad;
}

static void test_rates (void)
{
    double byte_ns = 8 / 198.7;
    struct arena a;

    ok (arena_start (&a, NULL, NULL) == 0
            && arena_run (&a, 2, 1, run_rate, &byte_ns) == 2,
        "a message takes what its bytes take");
    arena_stop (&a);
}

/* Member 1 dies: what it owes is lost, and no more is waited for; others live,
 * and are served meanwhile.
 */
static int run_death (struct group *g, void *data)
{
    struct comm_group *c = join (g);
    struct error err;
    int64_t start;
    int bad = CHECK (comm_group.reserve (c, 0, NULL, &err), 1);

    (void)data;
    if (g->me == 1) {
        comm_group_drop (c);
        return bad;
    }
    if (g->me == 0) {
        bad = bad || CHECK (recv_from (c, 1, 100, &err), 0);
        start = group_now (g);
        bad = bad || CHECK (send_to (c, 1, MEGABYTE, &err), 0)
              || group_now (g) != start || g->member[2].dead
              || CHECK (comm_group.recv_note (c, 2, NULL, 0, &err), 1)
              || CHECK (recv_from (c, 2, 100, &err), 1);
    }
    else
        bad = bad || CHECK (send_to (c, 1, MEGABYTE, &err), 0)
              || CHECK (comm_group.recv_note (c, 1, NULL, 0, &err), 0)
              || CHECK (comm_group.send_note (c, 0, NULL, 0, &err), 1)
              || CHECK (send_to (c, 0, 100, &err), 1) || g->member[0].dead;
    bad = bad || CHECK (comm_group.barrier (c, &err), 1)
          || CHECK (g->me == 0 ? send_to (c, 2, 1, &err)
                               : recv_from (c, 0, 1, &err), 1);
    comm_group_close (c);
    return bad;
}

static void test_death (void)
{
    struct arena a;

    ok (arena_start (&a, NULL, NULL) == 0
            && arena_run (&a, 3, 1, run_death, NULL) == 3,
        "what a dead member owes is lost, and no more");
    arena_stop (&a);
}

/* Member 1 does not send what 0 waits for: it is lost, and the next is, until
 * all have met.
 */
static int run_late (struct group *g, void *data)
{
    struct comm_group *c = join (g);
    struct error err;
    int bad = CHECK (comm_group.reserve (c, 0, NULL, &err), 1);

    (void)data;
    if (g->me == 0)
        bad = bad || CHECK (recv_from (c, 1, 100, &err), 0)
              || CHECK (recv_from (c, 1, 100, &err), 0);
    bad = bad || CHECK (comm_group.barrier (c, &err), 1)
          || CHECK (g->me == 0 ? recv_from (c, 1, 100, &err)
                               : send_to (c, 0, 100, &err), 1);
    comm_group_close (c);
    return bad;
}

static void test_late (void)
{
    struct arena a;

    ok (arena_start (&a, NULL, NULL) == 0
            && arena_run (&a, 2, 1, run_late, NULL) == 2,
        "what does not come is lost, until the next barrier");
    arena_stop (&a);
}

/* Member 1 stops for so long that it is dead for 0, then goes on: neither waits
 * for the other for ever.
 */
struct stall {
    atomic_int lost, awake, serves, done;
};

static int run_stall (struct group *g, void *data)
{
    struct comm_group *c = join (g);
    struct stall *st = data;
    struct error err;
    int64_t start;
    int bad;

    if (g->me == 0) {
        bad = CHECK (comm_group.recv_note (c, 1, NULL, 0, &err), 0);
        st->lost = 1;
        while (!st->awake)
            usleep (1000);
        /* from here on the emulator's clock waits for this one, too */
        bad = bad || group_until (g, group_now (g) + group_gap (g), &err) < 0;
        st->serves = 1;
        while (!bad && !st->done)
            bad = group_until (g, group_now (g) + group_gap (g), &err) < 0;
        bad = bad || CHECK (comm_group.recv_note (c, 1, NULL, 0, &err), 0);
    }
    else {
        while (!st->lost)
            usleep (1000);
        st->awake = 1;
        while (!st->serves)
            usleep (100);
        bad = group_until (g, group_now (g) + group_gap (g), &err) < 0;
        start = group_now (g);
        bad = bad || CHECK (comm_group.recv_note (c, 0, NULL, 0, &err), 0)
              || group_now (g) - start > 3 * group_dead_ns (g)
              || CHECK (comm_group.send_note (c, 0, NULL, 0, &err), 0);
        st->done = 1;
    }
    comm_group_drop (c);
    return bad;
}

static void test_stall (void)
{
    struct stall *st = mmap (NULL, sizeof (*st), PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct arena a;

    if (st == MAP_FAILED)
        exit (1);
    ok (arena_start (&a, NULL, NULL) == 0
            && arena_run (&a, 2, 1, run_stall, st) == 2,
        "who only stalled, and is dead for another, does not wait for it");
    arena_stop (&a);
    munmap (st, sizeof (*st));
}

/* Member 1 dies: of many round trips that are timed together no more are tried
 * when one is lost.
 */
static int run_vain (struct group *g, void *data)
{
    struct comm_group *c = join (g);
    int64_t start, ns;
    struct error err = { .text = "" };
    int rc;

    (void)data;
    if (comm_group.barrier (c, &err) < 0)
        return 1;
    if (g->me == 1)
        raise (SIGKILL);
    start = group_now (g);
    rc = round_trips (c, (uint32_t)g->me, 0, 1000, &ns, &err);
    ns = group_now (g) - start;
    comm_group_close (c);
    return rc != 0 || ns > 2 * GROUP_PING_TIMEOUT * group_gap (g);
}

static void test_vain (void)
{
    struct arena a;

    ok (arena_start (&a, NULL, NULL) == 0
            && arena_run (&a, 2, 1, run_vain, NULL) == 1,
        "a thousand round trips with a dead member are given up soon");
    arena_stop (&a);
}

int main (void)
{
    bool dead[MEMBERS] = { false };

    test_speeches ("0", dead);
    test_speeches ("0.05", dead);
    dead[4] = dead[15] = true;
    test_speeches ("0.01", dead);
    test_leaderless ();
    test_trips ();
    test_vain ();
    test_games ("noise", "0");
    test_games ("noise", "500");
    test_games ("loss", "0.05");
    test_rates ();
    test_death ();
    test_late ();
    test_stall ();
    return done_testing ();
}
