/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Streams over the emulator: messages of any length arrive, each once and in
 * order, in the time that the wire takes, whatever gets lost.
 */
#include "config.h"
#include "compare/exchange/comm_group.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "probe/test/arena.h"
#include "tests/tap.h"

static struct comm_group *open_comm (struct group *g)
{
    static const char *const hosts[] = {
        "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n",
        "o", "p",
    };

    return comm_group_open (g, hosts);
}

enum { ROUNDS = 20, DEADLINE_S = 100, MEGABYTE = 1 << 20 };

/* A member's part in something; 0 is well. */
typedef int (*part_f) (struct comm_group *s, struct group *g);

static int check (int rc, int expected, const char *what,
                  const struct error *err)
{
    if (rc == expected)
        return 0;
    diag ("%s: %d%s%s", what, rc, rc < 0 ? ": " : "", rc < 0 ? err->text : "");
    return 1;
}

#define CHECK(call, expected) check (call, expected, #call, &err)

/* Back and forth, of lengths about a packet's. */
static int play_lengths (struct comm_group *s, struct group *g)
{
    static const size_t lengths[] = { 0, 1, 4074, 4075, 100000 };
    uint32_t me = (uint32_t)g->me;
    struct error err;
    int bad = 0;

    if (me > 1)
        return 0;
    for (int i = 0; i < ROUNDS && !bad; i++) {
        size_t len = lengths[i % 5];

        if (me == 0)
            bad = CHECK (comm_group.send (s, 1, len, &err), 1)
                  || CHECK (comm_group.recv (s, 1, 0, &err), 1);
        else
            bad = CHECK (comm_group.recv (s, 0, 0, &err), 1)
                  || CHECK (comm_group.send (s, 0, len, &err), 1);
    }
    return bad;
}

/* What is in notes, in order, with messages between them. */
static int play_notes (struct comm_group *s, struct group *g)
{
    uint32_t me = (uint32_t)g->me;
    struct error err;
    int bad = 0;

    if (me > 1)
        return 0;
    for (uint32_t i = 0; i < 10 * ROUNDS && !bad; i++) {
        char text[COMM_GROUP_NOTE_MAX];
        char got[COMM_GROUP_NOTE_MAX];
        size_t len = i % sizeof (text);

        memset (text, (int)i, sizeof (text));
        if (me == 0)
            bad = CHECK (comm_group.send_note (s, 1, text, len, &err), 1)
                  || CHECK (comm_group.send (s, 1, 10000, &err), 1);
        else
            bad = CHECK (comm_group.recv_note (s, 0, got, len, &err), 1)
                  || memcmp (text, got, len);
    }
    for (int i = 0; i < 10 * ROUNDS && !bad && me == 1; i++)
        bad = CHECK (comm_group.recv (s, 0, 0, &err), 1);
    return bad;
}

/* Everyone to everyone at once, itself included. */
static int play_all (struct comm_group *s, struct group *g)
{
    uint32_t n = (uint32_t)g->n;
    struct comm_done done;
    size_t count[16][2] = { { 0 } };
    struct error err;
    int bad = 0;
    int rc;

    for (uint32_t m = 0; m < n && !bad; m++)
        for (int k = 0; k < 3 && !bad; k++) {
            comm_group.start_recv (s, m, 0, &err);
            bad = CHECK (comm_group.start_send (s, m, 30000, &err), 1);
        }
    while (!bad && (rc = comm_group.wait_one (s, &done, &err)) != 0)
        if (rc < 0 || done.lost || ++count[done.peer][done.sent] > 3)
            bad = 1;
    for (uint32_t m = 0; m < n; m++)
        bad = bad || count[m][0] != 3 || count[m][1] != 3;
    return bad;
}

/* Who comes first is answered first. */
static int play_any (struct comm_group *s, struct group *g)
{
    uint32_t n = (uint32_t)g->n;
    bool seen[16] = { false };
    struct error err;
    int bad = 0;

    if (g->me > 0)
        return CHECK (comm_group.send (s, 0, 5000, &err), 1)
               || CHECK (comm_group.recv (s, 0, 0, &err), 1);
    for (uint32_t i = 1; i < n && !bad; i++) {
        uint32_t from = 0;

        bad = CHECK (comm_group.recv_any (s, 0, &from, &err), 1)
              || from == 0 || seen[from]
              || CHECK (comm_group.send (s, from, 5000, &err), 1);
        seen[from] = true;
    }
    return bad;
}

static const struct {
    const char *what;
    part_f play;
} games[] = {
    { "messages of any length", play_lengths },
    { "notes", play_notes },
    { "all to all", play_all },
    { "from whomever", play_any },
};

static int run_game (struct group *g, void *data)
{
    struct comm_group *s = open_comm (g);
    struct error err;
    int bad;

    if (!s)
        return 1;
    g->deadline = group_now (g) + DEADLINE_S * 1000000000LL;
    bad = games[*(const size_t *)data].play (s, g)
          || CHECK (group_barrier (g, &err), 0);
    /* answer who missed what was last */
    bad = bad || group_until (g, group_now (g) + 3000000000LL, &err) < 0;
    comm_group_drop (s);
    return bad;
}

static void test_games (const char *word, const char *value)
{
    for (size_t i = 0; i < sizeof (games) / sizeof (games[0]); i++) {
        struct arena a;

        ok (arena_start (&a, word, value) == 0
                && arena_run (&a, 16, 1, run_game, &i) == 16,
            "%s, %s %s", games[i].what, word, value);
        arena_stop (&a);
    }
}

/* A train is as fast as the wire: 1 MB from 0 to 1, and its way back. */
static int run_rate (struct group *g, void *data)
{
    struct comm_group *s = open_comm (g);
    double ns = *(const double *)data * MEGABYTE;
    struct error err;
    int64_t start;
    int bad;

    g->deadline = group_now (g) + DEADLINE_S * 1000000000LL;
    bad = group_barrier (g, &err) < 0;
    start = group_now (g);
    if (g->me == 0) {
        bad = bad || CHECK (comm_group.send (s, 1, MEGABYTE, &err), 1)
              || CHECK (comm_group.recv (s, 1, 0, &err), 1);
        ns = (double)(group_now (g) - start) / ns;
        diag ("1 MB: %.3f times what its bytes take", ns);
        bad = bad || ns < 1 || ns > 1.1; /* it has a way to go */
    }
    else
        bad = bad || CHECK (comm_group.recv (s, 0, 0, &err), 1)
              || CHECK (comm_group.send (s, 0, 0, &err), 1);
    bad = bad || group_until (g, group_now (g) + 1000000000LL, &err) < 0;
    comm_group_drop (s);
    return bad;
}

static void test_rates (void)
{
    /* a packet of 4096 bytes carries 4074, and 30 ns more */
    double byte_ns = (4096 * 0.04 + 30) / 4074;
    struct arena a;

    ok (arena_start (&a, NULL, NULL) == 0
            && arena_run (&a, 2, 1, run_rate, &byte_ns) == 2,
        "a message takes what its bytes take");
    arena_stop (&a);
}

/* Member 1 dies: what it owes is lost, soon and for good, and others live. */
static int run_death (struct group *g, void *data)
{
    struct comm_group *s = open_comm (g);
    struct comm_done done;
    uint32_t from;
    struct error err;
    int bad = 0;

    (void)data;
    g->deadline = group_now (g) + DEADLINE_S * 1000000000LL;
    if (g->me == 1) {
        comm_group_drop (s);
        return 0;
    }
    if (g->me == 0) {
        int64_t start;

        bad = CHECK (comm_group.recv (s, 1, 0, &err), 0);
        start = group_now (g);
        bad = bad || CHECK (comm_group.send (s, 1, MEGABYTE, &err), 0);
        comm_group.start_recv (s, 1, 0, &err);
        bad = bad || CHECK (comm_group.wait_one (s, &done, &err), 1) || !done.lost
              || CHECK (comm_group.start_send (s, 1, 0, &err), 1)
              || CHECK (comm_group.wait_all (s, &err), 0)
              || group_now (g) != start
              || CHECK (comm_group.recv_any (s, 0, &from, &err), 0)
              || CHECK (comm_group.recv (s, 2, 0, &err), 1);
    }
    else
        bad = CHECK (comm_group.start_send (s, 1, MEGABYTE, &err), 1)
              || CHECK (comm_group.wait_all (s, &err), 0)
              || group_until (g, group_now (g) + 3 * group_dead_ns (g) / 2,
                              &err) < 0
              || CHECK (comm_group.send (s, 0, 100, &err), 1);
    bad = bad || group_until (g, group_now (g) + 1000000000LL, &err) < 0;
    comm_group_drop (s);
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

/* Member 1 does not send what 0 waits for, but something else behind the next
 * barrier, and not before 0 has given up.
 */
static int run_late (struct group *g, void *data)
{
    struct comm_group *s = open_comm (g);
    struct comm_done done;
    struct error err;
    int bad = 0;

    (void)data;
    g->deadline = group_now (g) + DEADLINE_S * 1000000000LL;
    if (g->me == 0) {
        bad = CHECK (comm_group.recv (s, 1, 0, &err), 0);
        comm_group.start_recv (s, 1, 0, &err);
        bad = bad || CHECK (comm_group.wait_one (s, &done, &err), 1) || !done.lost;
    }
    else
        bad = group_until (g, group_now (g) + 5 * group_dead_ns (g), &err) < 0
              || CHECK (comm_group.send (s, 0, 100, &err), 1);
    bad = bad || CHECK (comm_group.barrier (s, &err), 1);
    if (g->me == 0)
        bad = bad || CHECK (comm_group.recv (s, 1, 0, &err), 1)
              || CHECK (comm_group.recv (s, 1, 0, &err), 0);
    else
        bad = bad || CHECK (comm_group.send (s, 0, 100, &err), 1)
              || group_until (g, group_now (g) + 3 * group_dead_ns (g), &err)
                     < 0;
    comm_group_drop (s);
    return bad;
}

static void test_late (void)
{
    struct arena a;

    ok (arena_start (&a, NULL, NULL) == 0
            && arena_run (&a, 2, 1, run_late, NULL) == 2,
        "what comes late is not taken for what is waited for next");
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
    struct comm_group *s = open_comm (g);
    struct stall *st = data;
    struct error err;
    int64_t start;
    int bad;

    g->deadline = group_now (g) + DEADLINE_S * 1000000000LL;
    if (g->me == 0) {
        bad = CHECK (comm_group.recv (s, 1, 0, &err), 0);
        st->lost = 1;
        while (!st->awake)
            usleep (1000);
        /* from here on the emulator's clock waits for this one, too */
        bad = bad || group_until (g, group_now (g) + group_gap (g), &err) < 0;
        st->serves = 1;
        while (!bad && !st->done)
            bad = group_until (g, group_now (g) + group_gap (g), &err) < 0;
        bad = bad || CHECK (comm_group.recv (s, 1, 0, &err), 0);
    }
    else {
        while (!st->lost)
            usleep (1000);
        st->awake = 1;
        while (!st->serves)
            usleep (100);
        bad = group_until (g, group_now (g) + group_gap (g), &err) < 0;
        start = group_now (g);
        bad = bad || CHECK (comm_group.recv_note (s, 0, NULL, 0, &err), 0)
              || group_now (g) - start > 3 * group_dead_ns (g)
              || CHECK (comm_group.send (s, 0, 100, &err), 0);
        st->done = 1;
    }
    comm_group_drop (s);
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

int main (void)
{
    test_games ("noise", "0");
    test_games ("noise", "500");
    test_games ("loss", "0.05");
    test_rates ();
    test_death ();
    test_late ();
    test_stall ();
    return done_testing ();
}
