/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pairs by any pattern, everyone with everyone, and the worst again. */
#include "config.h"
#include "compare/exchange/program.h"

#include <stdlib.h>
#include <string.h>

#include "compare/test/inproc.h"
#include "tests/tap.h"

enum { N = 6, LATENCY = 1000, TIMEOUT = 50000, SLOW = 700 };

static const uint64_t lengths[] = { 0, 100, 1000 };

enum { LENGTHS = sizeof (lengths) / sizeof (lengths[0]) };

struct task {
    enum pattern_kind kind;
    const char *exchange;
    struct measure_how how;
    size_t again; /* pairs to measure again */
    struct series *series, *repeated;
};

static int run_again (struct party *p, const struct task *task,
                      const struct comm_exchange *ex, const struct series *s,
                      struct series *again, struct error *err)
{
    struct probe pair[N * N];
    struct pattern *pattern;
    size_t n = s ? pairs_worst (s, pair, task->again) : 0;
    int rc = -1;

    pattern = pairs_tell (p, pair, n, err);
    if (pattern)
        rc = pairs_run (p, pattern, ex, lengths, LENGTHS, &task->how, false,
                        again, err);
    pattern_destroy (pattern);
    return rc;
}

static int run_task (void *c, void *arg)
{
    struct task *task = arg;
    struct party p = inproc_party (c);
    struct error err = { .text = "" };
    const struct comm_exchange *ex
        = exchange_find (&comm_inproc, task->exchange, &err);
    struct pattern *pattern
        = pattern_create (task->kind, p.n, NULL, NULL, &err);
    struct series *s = inproc_series (&p);
    struct series *again = inproc_series (&p);
    int rc = -1;

    if (s) {
        task->series = s;
        task->repeated = again;
    }
    if (task->kind == PATTERN_ALL_TO_ALL)
        rc = pairs_run_all (&p, lengths, LENGTHS, &task->how, s, &err);
    else if (ex && pattern)
        rc = pairs_run (&p, pattern, ex, lengths, LENGTHS, &task->how,
                        false, s, &err);
    if (rc == 0 && task->again > 0)
        rc = run_again (&p, task, ex, s, again, &err);
    if (rc < 0)
        diag ("process %u: %s", p.me, err.text);
    pattern_destroy (pattern);
    return rc;
}

static void clear (struct task *task)
{
    series_destroy (task->series);
    series_destroy (task->repeated);
}

/* Slow between 2 and 5, whoever begins. */
static int64_t slow (uint32_t from, uint32_t to)
{
    if ((from == 2 && to == 5) || (from == 5 && to == 2))
        return SLOW;
    return 0;
}

static const struct {
    const char *name, *exchange;
    uint64_t steps, probes;
    size_t pairs; /* with times, of each length */
    int64_t seconds_ns; /* 2 repeats of three lengths, 1 ns a byte */
} patterns[] = {
    /* a step of two round trips: 2 * (2000 + 2 * length) */
    { "one-factor", "round-trip", 10, 30, 30,
      10 * 2 * (3 * 2000 + 2 * 1100) + 2 * 3 * 2 * 2 * SLOW },
    { "one-to-one", "round-trip", 30, 30, 30,
      30 * 2 * (3 * 2000 + 2 * 1100) + 2 * 3 * 2 * 2 * SLOW },
    { "bisection", "round-trip", 6, 18, 18,
      6 * 2 * (3 * 2000 + 2 * 1100) + 2 * 3 * 2 * 2 * SLOW },
    { "one-factor", "both-ways", 10, 30, 30,
      10 * 2 * (3 * 1000 + 1100) + 2 * 3 * 2 * SLOW },
};

static void test_patterns (void)
{
    for (size_t i = 0; i < sizeof (patterns) / sizeof (patterns[0]); i++) {
        struct inproc w = { .n = N, .latency_ns = LATENCY, .ns_per_byte = 1,
                            .timeout_ns = TIMEOUT, .more_ns = slow };
        struct task task = {
            .kind = (enum pattern_kind)pattern_find (patterns[i].name),
            .exchange = patterns[i].exchange,
            .how = { .repeats = 2, .exchanges = 1 },
        };
        bool both = !strcmp (patterns[i].exchange, "both-ways");
        size_t well = inproc_run (&w, run_task, &task);
        const struct series *s = task.series;
        size_t right = 0;

        ok (well == N && s->complete, "%s, %s", patterns[i].name,
            patterns[i].exchange);
        ok (s->steps == patterns[i].steps && s->probes == patterns[i].probes
                && s->npairs == LENGTHS * patterns[i].pairs
                && s->nlengths == LENGTHS,
            "... in %d steps %d probes", (int)s->steps, (int)s->probes);
        ok (s->seconds * 1e9 == (double)patterns[i].seconds_ns,
            "... take %g ns", s->seconds * 1e9);
        for (size_t k = 0; k < s->npairs; k++) {
            double ns = (double)(LATENCY + (int64_t)s->row[k].length
                                 + slow (s->row[k].a, s->row[k].b));

            right += s->row[k].count == 2
                     && s->row[k].time_ns[SERIES_MAX] == (both ? ns / 2 : ns);
        }
        ok (right == s->npairs, "... each pair what it takes");
        clear (&task);
    }
}

static void test_again (void)
{
    struct inproc w = { .n = N, .latency_ns = LATENCY, .ns_per_byte = 1,
                        .timeout_ns = TIMEOUT, .more_ns = slow };
    struct task task = { .kind = PATTERN_ONE_FACTOR,
                         .exchange = "round-trip", .again = 2,
                         .how = { .repeats = 1, .exchanges = 1 } };
    size_t well = inproc_run (&w, run_task, &task);
    const struct series *again = task.repeated;

    ok (well == N && again->steps == 2 && again->npairs == 2 * LENGTHS,
        "the worst two are measured again");
    ok ((series_at (again, 2, 5, 0) || series_at (again, 5, 2, 0)),
        "... the slow one is there, one way round");
    clear (&task);
}

static void test_worst (void)
{
    struct series *s = series_create (SERIES_ONE_TO_ONE);
    struct probe pair[N];
    static const struct series_row table[] = {
        { 0, 0, 1, false, 1, 0, 0, { [SERIES_MEDIAN] = 10 } },
        { 0, 1, 0, false, 1, 0, 0, { [SERIES_MEDIAN] = 12 } },
        { 0, 0, 2, false, 1, 0, 0, { [SERIES_MEDIAN] = 10 } },
        { 0, 2, 0, false, 1, 0, 0, { [SERIES_MEDIAN] = 10 } },
        { 0, 1, 2, false, 1, 1, 0, { [SERIES_MEDIAN] = 99 } }, /* lost */
        { 0, 2, 2, false, 1, 0, 0, { [SERIES_MEDIAN] = 99 } }, /* with itself */
        { 0, 0, 1, false, 1, 0, 8, { [SERIES_MEDIAN] = 100 } },
        { 0, 0, 2, false, 1, 0, 8, { [SERIES_MEDIAN] = 150 } },
        { 0, 1, 2, false, 1, 0, 8, { [SERIES_MEDIAN] = 100 } },
    };
    size_t n;

    for (int i = 0; i < 3; i++)
        series_add_process (s, NULL, "h", NULL);
    for (size_t i = 0; i < sizeof (table) / sizeof (table[0]); i++)
        series_add (s, &table[i], NULL);
    series_sort (s, NULL);
    n = pairs_worst (s, pair, N);
    ok (n == 3 && pair[0].a == 0 && pair[0].b == 2, "the worst comes first");
    ok (pair[1].a == 1 && pair[1].b == 0, "... then the worse of two ways");
    ok (pairs_worst (s, pair, 1) == 1, "... and no more than are wanted");
    series_destroy (s);
}

static void test_all (void)
{
    struct inproc w = { .n = 3, .latency_ns = LATENCY, .ns_per_byte = 1,
                        .timeout_ns = TIMEOUT };
    struct task task = { .kind = PATTERN_ALL_TO_ALL,
                         .exchange = "round-trip",
                         .how = { .warm_up = 1, .repeats = 3,
                                  .exchanges = 1 } };
    size_t well = inproc_run (&w, run_task, &task);
    const struct series *s = task.series;
    double sum = 0;

    ok (well == 3 && s->npairs == 9 * LENGTHS && s->steps == 1
            && s->probes == 9,
        "everyone with everyone, itself included");
    ok (series_at (s, 0, 1, 0)->count == 3
            && series_at (s, 0, 1, 0)->time_ns[SERIES_MEAN] == LATENCY,
        "... a message without bytes takes the latency, %g ns",
        series_at (s, 0, 1, 0)->time_ns[SERIES_MEAN]);
    for (uint32_t a = 0; a < 3; a++)
        sum += series_at (s, a, 1, 1000)->time_ns[SERIES_MEAN];
    /* the one from process 0 has waited for 0's to itself to leave */
    ok (sum == 3000 + 4000 + 5000,
        "... those of 1,000 come one behind the other, %g ns", sum);
    ok (!strcmp (inproc_story (&w, 1, 1), "s1 s2 s0 r1 r0 r2"),
        "... all are sent before any comes: %s", inproc_story (&w, 1, 1));
    clear (&task);
}

static const struct {
    const char *name;
    int64_t dies_ns;
    bool lost_pair; /* between two that live */
} deaths[] = {
    { "one-factor", 1, false },
    { "one-factor", 9000, false },
    { "all-to-all", 1500, false },
};

static void test_deaths (void)
{
    for (size_t i = 0; i < sizeof (deaths) / sizeof (deaths[0]); i++) {
        struct inproc w = { .n = 4, .latency_ns = LATENCY,
                            .timeout_ns = TIMEOUT,
                            .dies_ns = { [2] = deaths[i].dies_ns } };
        struct task task = {
            .kind = (enum pattern_kind)pattern_find (deaths[i].name),
            .exchange = "round-trip",
            .how = { .repeats = 2, .exchanges = 1 },
        };
        size_t well = inproc_run (&w, run_task, &task);
        const struct series *s = task.series;
        size_t kept = 0;

        for (size_t k = 0; s && k < s->npairs; k++)
            kept += s->row[k].a != 2 && s->row[k].b != 2
                    && s->row[k].lost == 0;
        ok (well == 3 && !s->complete && s->process[2].lost
                && !s->process[1].lost,
            "one dies at %d ns in %s, and the series says so",
            (int)deaths[i].dies_ns, deaths[i].name);
        ok (kept == LENGTHS * (i < 2 ? 6 : 9), "... the other pairs are kept, "
            "%zu", kept);
        clear (&task);
    }
}

int main (void)
{
    test_patterns ();
    test_worst ();
    test_again ();
    test_all ();
    test_deaths ();
    return done_testing ();
}
