/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Groups over the emulator: barriers, pings and fetches while messages get
 * lost and members die; and what a member does meanwhile.
 */
#include "config.h"
#include "probe/group.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "probe/test/arena.h"
#include "tests/tap.h"

enum { BARRIERS = 40, DIES_AT = 10, DEADLINE_S = 100, WORK_MS = 100 };

struct shared {
    atomic_int entered[BARRIERS];
    size_t n;
    int nobody; /* members that die: member m with (m * 5 + 3) % n < this */
    size_t blob_len;
};

static bool dies (const struct shared *sh, size_t m)
{
    return (m * 5 + 3) % sh->n < (size_t)sh->nobody;
}

static void start (struct group *g)
{
    g->deadline = group_now (g) + DEADLINE_S * 1000000000LL;
}

/* Nobody leaves a barrier before all that live have come. */
static int run_barriers (struct group *g, void *data)
{
    struct shared *sh = data;
    struct error err;

    start (g);
    for (int b = 0; b < BARRIERS; b++) {
        int least = (int)sh->n - (b >= DIES_AT ? sh->nobody : 0);

        if (b == DIES_AT && dies (sh, g->me))
            return 0;
        sh->entered[b]++;
        if (group_barrier (g, &err) < 0) {
            diag ("member %zu, barrier %d: %s", g->me, b, err.text);
            return 1;
        }
        if (sh->entered[b] < least)
            return 2;
    }
    /* answer who missed the last token */
    return group_until (g, group_now (g) + 3000000000LL, &err) < 0;
}

static const struct {
    size_t n;
    const char *loss;
    int nobody;
} barriers[] = {
    { 1, "0", 0 },   { 2, "0", 0 },   { 3, "0", 0 },    { 16, "0", 0 },
    { 2, "0.2", 0 }, { 7, "0.1", 0 }, { 16, "0.05", 0 }, { 16, "0.3", 0 },
    { 2, "0", 1 },   { 5, "0", 2 },   { 16, "0", 1 },   { 16, "0", 7 },
    { 16, "0.02", 3 },
};

static uint8_t blob_byte (size_t i)
{
    return (uint8_t)(i * 7 + i / 224);
}

static int run_fetch (struct group *g, void *data)
{
    struct shared *sh = data;
    struct group_blob blob[16];
    uint32_t from[16];
    uint8_t *mine = malloc (sh->blob_len + 1);
    struct error err;
    int rc = 0;

    start (g);
    for (size_t i = 0; i < sh->blob_len; i++)
        mine[i] = blob_byte (i);
    if (g->me > 0) {
        /* asked before it is ready, too */
        rc = group_until (g, group_now (g) + 1000000, &err) < 0;
        group_serve (g, GROUP_RESULT, GROUP_ALL, mine, sh->blob_len);
        while (rc == 0 && !g->served[GROUP_RESULT])
            rc = group_until (g, group_now (g) + 1000000, &err) < 0;
        if (rc == 0)
            rc = group_until (g, group_now (g) + 900000000, &err) < 0;
        free (mine);
        return rc;
    }
    for (size_t i = 1; i < sh->n; i++)
        from[i - 1] = (uint32_t)i;
    if (group_fetch (g, GROUP_RESULT, from, sh->n - 1, blob, &err) < 0) {
        diag ("fetch: %s", err.text);
        free (mine);
        return 1;
    }
    for (size_t i = 0; i + 1 < sh->n; i++) {
        if (!blob[i].data || blob[i].len != sh->blob_len
            || memcmp (blob[i].data, mine, sh->blob_len))
            rc = 2;
        free (blob[i].data);
    }
    free (mine);
    return rc;
}

static const struct {
    size_t n, len;
    const char *loss;
} fetches[] = {
    { 2, 0, "0" },    { 2, 1, "0" },      { 16, 223, "0" },
    { 16, 224, "0" }, { 16, 225, "0.1" }, { 2, 100000, "0" },
    { 5, 5000, "0.2" },
};

/* Member 0 pings member 1, which has another key. */
static int run_foreign (struct group *g, void *data)
{
    struct group_ping ping = { .rail = 0, .peer = 1 };
    struct error err;

    (void)data;
    start (g);
    if (g->me == 0)
        return group_ping (g, &ping, &err) < 0 || ping.rtt_ns >= 0;
    return 1;
}

static int run_ping (struct group *g, void *data)
{
    struct group_ping ping = { .rail = 0, .peer = 1 };
    struct error err;
    int lost = 0;

    (void)data;
    start (g);
    if (g->me == 1)
        return group_until (g, group_now (g) + 5000000000LL, &err) < 0;
    for (int i = 0; i < 100; i++) {
        if (group_ping (g, &ping, &err) < 0)
            return 1;
        lost += ping.rtt_ns < 0;
    }
    /* 1 - 0.8^2 of them */
    return lost < 15 || lost > 60 || group_stats (g).duplicate
           || group_stats (g).late;
}

/* What is done meanwhile: it ends well or not, or lasts until the group has
 * failed.
 */
static const struct work {
    const char *what;
    bool fails, late, alone;
    const char *why; /* "": nothing went wrong */
} works[] = {
    { "it ends well", false, false, false, "" },
    { "it fails", true, false, false, "the work is too hard" },
    { "the group fails", false, true, false,
      "timed out before the nodes were done" },
    { "both do", true, true, false, "timed out before the nodes were done" },
    { "it fails without a group", true, false, true, "the work is too hard" },
};

static int do_work (void *arg, struct error *err)
{
    const struct work **work = arg;
    bool fails = (*work)->fails;

    if ((*work)->late)
        usleep (WORK_MS * 1000);
    *work = NULL;
    return fails ? error_input (err, "the work is too hard") : 0;
}

static int run_meanwhile (struct group *g, void *data)
{
    (void)data;
    for (size_t i = 0; i < sizeof (works) / sizeof (works[0]); i++) {
        const struct work *w = &works[i];
        const struct work *todo = w;
        struct error err = { .text = "" };
        int rc;

        g->deadline = w->late ? group_now (g) : INT64_MAX;
        rc = group_meanwhile (w->alone ? NULL : g, do_work, &todo, &err);
        if (todo || strcmp (err.text, w->why) || rc != (*w->why ? -1 : 0)) {
            diag ("%s: %d %s", w->what, rc, err.text);
            return 1;
        }
    }
    return 0;
}

static struct shared *new_shared (void)
{
    struct shared *sh = mmap (NULL, sizeof (*sh), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    return sh == MAP_FAILED ? NULL : sh;
}

static void test_barriers (struct shared *sh)
{
    for (size_t i = 0; i < sizeof (barriers) / sizeof (barriers[0]); i++) {
        struct arena a;
        size_t n = barriers[i].n;

        memset (sh, 0, sizeof (*sh));
        sh->n = n;
        sh->nobody = barriers[i].nobody;
        ok (arena_start (&a, "loss", barriers[i].loss) == 0
                && arena_run (&a, n, 1, run_barriers, sh) == n,
            "%zu members, loss %s, %d die", n, barriers[i].loss,
            barriers[i].nobody);
        ok (arena_stop (&a), "... the emulator ends well");
    }
}

static void test_fetches (struct shared *sh)
{
    for (size_t i = 0; i < sizeof (fetches) / sizeof (fetches[0]); i++) {
        struct arena a;
        size_t n = fetches[i].n;

        memset (sh, 0, sizeof (*sh));
        sh->n = n;
        sh->blob_len = fetches[i].len;
        ok (arena_start (&a, "loss", fetches[i].loss) == 0
                && arena_run (&a, n, 1, run_fetch, sh) == n,
            "%zu bytes from %zu, loss %s", fetches[i].len, n - 1,
            fetches[i].loss);
        arena_stop (&a);
    }
}

static void test_pings (struct shared *sh)
{
    struct arena a;

    ok (arena_start (&a, "loss", "0.2") == 0
            && arena_run (&a, 2, 1, run_ping, sh) == 2,
        "pings are lost at the rate of the loss");
    arena_stop (&a);
    ok (arena_start (&a, NULL, NULL) == 0
            && arena_run (&a, 2, 1, run_foreign, sh) == 1,
        "nobody echoes: the ping is lost, not an error");
    arena_stop (&a);
}

static void test_meanwhile (void)
{
    struct arena a;

    ok (arena_start (&a, NULL, NULL) == 0
            && arena_run (&a, 1, 1, run_meanwhile, NULL) == 1,
        "what is done meanwhile says how it went, if the group does well");
    arena_stop (&a);
}

/* A transport that only notes between which peers messages go. */
struct noted {
    struct transport_handle handle; /* first */
    int64_t now;
    const struct transport_address *own, *peer;
    size_t sent, apart; /* messages, and those between two subnets */
};

static int note_send (void *t, uint32_t rail, uint32_t peer,
                      const uint8_t *data, size_t len,
                      struct transport_timing *timing, struct error *err)
{
    struct noted *n = t;

    (void)data, (void)len, (void)timing, (void)err;
    n->sent++;
    n->apart += n->own[rail].subnet != n->peer[peer].subnet;
    return 0;
}

static int64_t note_now (const void *t)
{
    return ++((struct noted *)t)->now;
}

/* Two members with two rails each: questions go from rail to rail of one
 * subnet, also where no rails at the same place are in one.
 */
static void test_subnets (void)
{
    static const struct {
        uint64_t own[2], other[2];
        size_t sent;
    } rows[] = {
        { { 1, 2 }, { 1, 2 }, 8 },
        { { 1, 2 }, { 2, 1 }, 8 },
        { { 1, 3 }, { 2, 3 }, 8 },
        { { 3, 1 }, { 2, 3 }, 8 },
        { { 1, 1 }, { 2, 2 }, 0 },
    };
    static const struct transport transport
        = { .name = "noted", .send = note_send, .now_ns = note_now };
    static const uint32_t first[] = { 0, 2, 4 };

    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        const struct transport_address peer[] = {
            { .subnet = rows[i].own[0] }, { .subnet = rows[i].own[1] },
            { .subnet = rows[i].other[0] }, { .subnet = rows[i].other[1] },
        };
        struct noted n = { .handle = { .rails = 2, .gap_ns = 1000 },
                           .own = peer, .peer = peer };
        struct group *g = group_create (&transport, &n, 1, 2, 0, first);
        struct group_letter letter = { .asks = true };

        g->peer = peer;
        for (size_t k = 0; k < 8; k++)
            group_send (g, 1, &letter, NULL);
        ok (n.sent == rows[i].sent && n.apart == 0,
            "rails of subnets %d, %d and %d, %d: %zu messages, %zu between "
            "subnets", (int)rows[i].own[0], (int)rows[i].own[1],
            (int)rows[i].other[0], (int)rows[i].other[1], n.sent, n.apart);
        group_destroy (g);
    }
}

int main (void)
{
    struct shared *sh = new_shared ();

    if (!sh)
        return 1;
    test_barriers (sh);
    test_fetches (sh);
    test_pings (sh);
    test_meanwhile ();
    test_subnets ();
    return done_testing ();
}
