/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kinds of exchange, what repeats of them measure, and what process 0 gets. */
#include "config.h"
#include "compare/exchange/exchange.h"

#include <stdlib.h>
#include <string.h>

#include "compare/test/inproc.h"
#include "tests/tap.h"

enum { LATENCY = 1000, TIMEOUT = 50000 };

struct task {
    const char *name;
    size_t len;
    struct measure_how how;
    struct series *series; /* of process 0 */
};

/* Process 0 measures with process 1. */
static int run_task (void *c, void *arg)
{
    struct task *task = arg;
    struct party p = inproc_party (c);
    struct error err = { .text = "" };
    const struct comm_exchange *ex
        = exchange_find (&comm_inproc, task->name, &err);
    struct results *r = results_create (2, false);
    struct series *s = inproc_series (&p);
    int rc = -1;

    if (ex && r && (p.me != 0 || s))
        rc = measure (&p, ex, !p.me, p.me == 0, task->len, &task->how, r,
                      &err);
    if (rc == 0)
        rc = results_collect (r, &p, task->len, s, &err);
    if (rc < 0)
        diag ("process %u: %s", p.me, err.text);
    if (s)
        task->series = s;
    results_destroy (r);
    return rc;
}

/* A byte takes a nanosecond, unless sends wait for receives. */
static const struct {
    const char *name;
    size_t len;
    unsigned int n;
    int64_t ns; /* of all, with latency 1000 */
    const char *story; /* of process 0 */
} kinds[] = {
    { "round-trip", 0, 1, 2000, "s1 r1" },
    { "round-trip", 500, 2, 6000, "s1 r1 s1 r1" },
    { "one-way", 500, 1, 3000, "s1 r1" },
    /* three messages in a row there, three back */
    { "one-way", 500, 3, 5000, "s1 s1 s1 r1 r1 r1" },
    { "both-ways", 500, 2, 3000, "s1 r1 s1 r1" },
    { "async", 500, 2, 2000, "s1 s1 r1 r1" },
    /* more than are started at once */
    { "async", 0, 40, 2000, NULL },
};

static void test_kinds (void)
{
    for (size_t i = 0; i < sizeof (kinds) / sizeof (kinds[0]); i++) {
        for (int sync = 0; sync <= 1; sync++) {
            struct inproc w = { .n = 2, .latency_ns = LATENCY,
                                .ns_per_byte = 1, .timeout_ns = TIMEOUT,
                                .synchronous = sync };
            struct task task = { .name = kinds[i].name, .len = kinds[i].len,
                                 .how = { .repeats = 1,
                                          .exchanges = kinds[i].n } };
            size_t well = inproc_run (&w, run_task, &task);
            const struct series_row *pair
                = task.series ? series_at (task.series, 0, 1, kinds[i].len)
                              : NULL;
            double ns = pair ? 2 * kinds[i].n * pair->time_ns[SERIES_MIN] : 0;

            ok (well == 2 && pair && pair->count == 1 && pair->lost == 0,
                "%s, %zu bytes, %u%s", kinds[i].name, kinds[i].len,
                kinds[i].n, sync ? ", sends wait for receives" : "");
            if (!sync)
                ok (ns == (double)kinds[i].ns, "... take %g ns", ns);
            if (kinds[i].story && !sync)
                ok (!strcmp (inproc_story (&w, 0, 0), kinds[i].story),
                    "... in order: %s", inproc_story (&w, 0, 0));
            series_destroy (task.series);
        }
    }
}

/* Every fifth message from 0 to 1 is lost. */
static bool lose_fifth (uint32_t from, uint32_t to, uint64_t k)
{
    (void)to;
    return from == 0 && k % 5 == 4;
}

static const struct {
    const char *what;
    struct measure_how how;
    bool loses;
    int64_t dies_ns;
    uint32_t count, lost;
    double ns;
    size_t sends; /* of process 0 */
} repeats[] = {
    { "repeats, of which warm-ups are none", { 3, 10, 1, 0 }, false, 0, 10, 0,
      1000, 13 },
    /* one takes 2000, so 1 and then 6 are tried, with a note each */
    { "a batch lasts as long as is wanted", { 0, 4, 1, 10000 }, false, 0, 4, 0,
      1000, 33 },
    { "a batch that is long enough stays as it is", { 0, 4, 5, 10000 }, false,
      0, 4, 0, 1000, 26 },
    { "lost ones are counted", { 0, 10, 1, 0 }, true, 0, 10, 2, 1000, 10 },
    { "who dies costs what is left", { 0, 10, 1, 0 }, false, 7000, 10, 7,
      1000, 0 },
    { "... a batch as well", { 0, 10, 1, 10000 }, false, 1000, 10, 10, 0, 0 },
};

static void test_repeats (void)
{
    for (size_t i = 0; i < sizeof (repeats) / sizeof (repeats[0]); i++) {
        struct inproc w = { .n = 2, .latency_ns = LATENCY,
                            .timeout_ns = TIMEOUT,
                            .dies_ns = { 0, repeats[i].dies_ns },
                            .loses = repeats[i].loses ? lose_fifth : NULL };
        struct task task = { .name = "round-trip", .how = repeats[i].how };
        size_t well = inproc_run (&w, run_task, &task);
        const struct series_row *pair
            = task.series ? series_at (task.series, 0, 1, 0) : NULL;
        bool dies = repeats[i].dies_ns > 0;
        size_t sends = 0;

        for (size_t k = 0; k < w.nlog; k++)
            sends += w.log[k].what == 's' && w.log[k].rank == 0;
        ok (pair && well == (dies ? 1 : 2), "%s: %zu do well",
            repeats[i].what, well);
        ok (pair && pair->count == repeats[i].count
                && pair->lost == repeats[i].lost,
            "... %u, %u lost", pair ? pair->count : 0, pair ? pair->lost : 0);
        ok (pair && pair->time_ns[SERIES_MEDIAN] == repeats[i].ns
                && pair->time_ns[SERIES_SD] == 0,
            "... %g ns", pair ? pair->time_ns[SERIES_MEDIAN] : 0);
        ok (repeats[i].sends == 0 || sends == repeats[i].sends,
            "... %zu sent", sends);
        ok (task.series && task.series->process[1].lost == dies
                && task.series->complete == (pair->lost < pair->count && !dies),
            "... and the series says so");
        series_destroy (task.series);
    }
}

static void test_names (void)
{
    static const struct comm_exchange own[] = {
        { .name = "ready", .help = "only here" },
        { .name = "round-trip", .help = "better" },
        { 0 },
    };
    struct comm comm = comm_inproc;
    struct error err;

    ok (!exchange_find (&comm, "none", &err)
            && !strcmp (err.text, "'none' is not an exchange; there are "
                                  "round-trip, one-way, both-ways, async"),
        "%s", err.text);
    comm.exchanges = own;
    ok (exchange_find (&comm, "ready", &err) == &own[0]
            && exchange_find (&comm, "round-trip", &err) == &own[1]
            && exchange_find (&comm, "async", &err)->both_ways,
        "a comm's own come first");
    ok (!exchange_find (&comm, "none", &err)
            && !strcmp (err.text, "'none' is not an exchange; there are "
                                  "ready, round-trip, one-way, both-ways, "
                                  "async"),
        "... and none is listed twice: %s", err.text);
}

static void test_growth (void)
{
    ok (measure_grow (1, 2000, 10000) == 6, "a batch grows as it must");
    ok (measure_grow (6, 12000, 10000) == 0, "... and is enough");
    ok (measure_grow (1, 1, 1000000) == 16, "... but not by too much at once");
    ok (measure_grow (100, 99, 100) == 126, "... and ends somewhat above");
    ok (measure_grow (1, 0, 1) == 2, "what takes no time grows too");
    ok (measure_grow (MEASURE_EXCHANGES_MAX, 1, 2) == 0, "there is a most");
}

int main (void)
{
    test_names ();
    test_growth ();
    test_kinds ();
    test_repeats ();
    return done_testing ();
}
