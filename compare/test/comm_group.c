/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What tests see of a group: what is collected and told arrives whatever gets
 * lost or dies, and round trips take what the links do.
 */
#include "config.h"
#include "compare/exchange/comm_group.h"

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

    rc = comm_group.reserve (c, trip->len, &err) == 1
             && comm_group.barrier (c, &err) == 1
             ? round_trips (c, (uint32_t)g->me, trip->len, 10, &ns, &err)
             : -1;
    comm_group_close (c);
    if (g->me == 1)
        return rc != 1;
    if (rc != trip->rc || (rc == 1 && ns != 10 * trip->ns))
        diag ("%zu bytes: %d, %lld ns, not %lld %s", trip->len, rc,
              (long long)ns / 10, (long long)trip->ns, err.text);
    return rc != trip->rc || (rc == 1 && ns != 10 * trip->ns);
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
        { 4000, 2 * 160, "0", 1 },
        /* 3 packets of 4074 bytes: two that go before, and the last one's */
        { 12222, 2 * (163 + 2 * (30 + 164)), "0", 1 },
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
    return done_testing ();
}
