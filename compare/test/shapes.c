/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Star, complete graph and ring: who sends to whom before what, and what that
 * takes.
 */
#include "config.h"
#include "compare/exchange/program.h"

#include <stdlib.h>
#include <string.h>

#include "compare/series/formats.h"
#include "compare/test/inproc.h"
#include "tests/tap.h"

enum { LATENCY = 1000, TIMEOUT = 50000, N = 4, SLOW = 5000 };

struct task {
    enum series_shape shape;
    bool both_ways;
    size_t len;
    struct measure_how how;
    struct series *series;
    int rc[INPROC_MAX];
};

static int run_task (void *c, void *arg)
{
    struct task *task = arg;
    struct party p = inproc_party (c);
    struct error err = { .text = "" };
    struct series *s = inproc_series (&p);
    int rc = topology_run (&p, task->shape, task->both_ways, task->len,
                           &task->how, s, &err);

    if (s)
        task->series = s;
    task->rc[p.me] = rc;
    return rc < 0;
}

static struct inproc world (uint32_t n)
{
    return (struct inproc){ .n = n, .latency_ns = LATENCY, .ns_per_byte = 1,
                            .timeout_ns = TIMEOUT };
}

static const struct {
    enum series_shape shape;
    bool both_ways;
    size_t len;
    double ns; /* of a pass */
    const char *story[N];
} shapes[] = {
    /* the third message leaves at 200 and is there at 1300; its reply waits
     * for two others */
    { SERIES_STAR, false, 100, 2400,
      { "s1 s2 s3 r1 r2 r3", "r0 s0", "r0 s0", "r0 s0" } },
    { SERIES_STAR, true, 100, 1300,
      { "s1 s2 s3 r1 r2 r3", "s0 r0", "s0 r0", "s0 r0" } },
    { SERIES_RING, false, 100, 2200,
      { "s1 r3 s3 r1", "s2 r0 s0 r2", "s3 r1 s1 r3", "s0 r2 s2 r0" } },
    { SERIES_RING, true, 0, 1000,
      { "s1 s3 r3 r1", "s2 s0 r0 r2", "s3 s1 r1 r3", "s0 s2 r2 r0" } },
    { SERIES_COMPLETE, false, 0, 2000,
      { "s1 s2 s3 r1 r2 r3", "s2 s3 r0 s0 r2 r3", "s3 r0 r1 s0 s1 r3",
        "r0 r1 r2 s0 s1 s2" } },
    { SERIES_COMPLETE, true, 0, 1000,
      { "s1 s2 s3 r3 r2 r1", "s2 s3 s0 r0 r3 r2", "s3 s0 s1 r1 r0 r3",
        "s0 s1 s2 r2 r1 r0" } },
};

static const char *name_of (enum series_shape shape, bool both_ways)
{
    static char name[32];

    snprintf (name, sizeof (name), "%s%s", both_ways ? "i" : "",
              series_shape_names[shape]);
    return name;
}

static void test_shapes (void)
{
    for (size_t i = 0; i < sizeof (shapes) / sizeof (shapes[0]); i++) {
        struct inproc w = world (N);
        struct task task = { shapes[i].shape, shapes[i].both_ways,
                             shapes[i].len, { 0, 2, 3, 0 }, NULL, { 0 } };
        size_t well = inproc_run (&w, run_task, &task);
        const struct series_row *t = task.series->row;

        ok (well == N && t && t->count == 2 && t->lost == 0
                && task.series->complete,
            "%s", name_of (shapes[i].shape, shapes[i].both_ways));
        ok (t && t->time_ns[SERIES_MIN] == shapes[i].ns
                && t->time_ns[SERIES_MAX] == shapes[i].ns,
            "... a pass takes %g ns", t ? t->time_ns[SERIES_MIN] : 0);
        for (uint32_t k = 0; k < N; k++)
            ok (!strcmp (inproc_story (&w, k, 1), shapes[i].story[k]),
                "... %u: %s", k, inproc_story (&w, k, 1));
        series_destroy (task.series);
    }
}

/* What a star of 4 with 100 bytes and 2400 ns comes to, in MB/s: R(avg) is
 * 2 L / T, N is 3, as is N_i of the centre, and N_i of the others is 1.
 */
static void test_rates (void)
{
    struct inproc w = world (N);
    struct task task = { .shape = SERIES_STAR, .len = 100,
                         .how = { .repeats = 1, .exchanges = 1 } };
    char *text = NULL;
    size_t size;
    FILE *fp = open_memstream (&text, &size);

    inproc_run (&w, run_task, &task);
    series_write_text (task.series, "rates", SERIES_MEAN, fp, NULL);
    fclose (fp);
    ok (!strcmp (text, "star, one way, 100 bytes: R(total) 250.000 R(avg) "
                       "83.333 MB/s\n"
                       "    R(local) 250.000 MB/s h00\n"
                       "    R(local) 83.333 MB/s h01\n"
                       "    R(local) 83.333 MB/s h02\n"
                       "    R(local) 83.333 MB/s h03\n"),
        "rates follow from that");
    free (text);
    series_destroy (task.series);
}

static int64_t slow_first (uint32_t from, uint32_t to)
{
    return from == 0 && to == 2 ? SLOW : 0;
}

/* What comes first waits for the others, then all are answered. */
static void test_arrival (void)
{
    struct inproc w = world (N);
    struct task task = { .shape = SERIES_COMPLETE,
                         .how = { .repeats = 1, .exchanges = 1 } };

    w.more_ns = slow_first;
    inproc_run (&w, run_task, &task);
    ok (!strcmp (inproc_story (&w, 2, 1), "s3 r1 r0 s0 s1 r3"),
        "replies go out when all messages are in: %s", inproc_story (&w, 2, 1));
    ok (task.series->row[0].time_ns[SERIES_MEAN] == 2000 + SLOW,
        "... and the slow one makes the time");
    series_destroy (task.series);
}

/* Barriers are inside the timing: the slowest process counts. */
static void test_batch (void)
{
    struct inproc w = world (N);
    struct task task = { .shape = SERIES_RING,
                         .how = { .warm_up = 1, .repeats = 2, .exchanges = 1,
                                  .batch_ns = 9000 } };
    size_t barriers = 0;

    inproc_run (&w, run_task, &task);
    for (size_t i = 0; i < w.nlog; i++)
        barriers += w.log[i].what == 'b' && w.log[i].rank == 1;
    /* warm-up 2; tries of 1 and 5 with 2 + 2 and 6 + 2, a tell being 2;
     * repeats of 5, 6 each; at last collect and tell */
    ok (barriers == 2 + 4 + 8 + 12 + 4, "a batch is as long as is wanted: %zu",
        barriers);
    ok (task.series->row[0].time_ns[SERIES_MEAN] == 2000,
        "... and its mean is a pass's time");
    series_destroy (task.series);
}

/* Whether sends wait for receives or not, nobody waits for ever. */
static void test_stuck (void)
{
    for (uint32_t n = TOPOLOGY_PROCESSES_MIN; n <= 7; n++)
        for (int k = 2 * SERIES_STAR; k < 2 * SERIES_SHAPES; k++) {
            struct inproc w = world (n);
            struct task task = { .shape = (enum series_shape)(k / 2),
                                 .both_ways = k % 2, .len = 10,
                                 .how = { .repeats = 2, .exchanges = 2 } };
            size_t well;

            w.synchronous = true;
            well = inproc_run (&w, run_task, &task);
            ok (well == n && !w.stuck && task.series->complete,
                "%s of %u, sends wait for receives",
                name_of (task.shape, task.both_ways), n);
            series_destroy (task.series);
        }
}

static void test_deaths (void)
{
    for (int k = 2 * SERIES_STAR; k < 2 * SERIES_SHAPES; k++) {
        struct inproc w = world (5);
        struct task task = { .shape = (enum series_shape)(k / 2),
                             .both_ways = k % 2,
                             .how = { .repeats = 100, .exchanges = 1 } };
        const struct series_row *t;
        size_t well;
        int said = 0;

        w.dies_ns[3] = 30500;
        well = inproc_run (&w, run_task, &task);
        t = &task.series->row[0];
        for (uint32_t i = 0; i < w.n; i++)
            said += i != 3 && task.rc[i] == 0;
        ok (well == 4 && said == 4 && !task.series->complete
                && task.series->process[3].lost,
            "%s: one dies, and all know",
            name_of (task.shape, task.both_ways));
        /* what it sent before it died still comes */
        ok (t->count == 100 && t->count - t->lost == (k % 2 ? 31 : 15)
                && t->time_ns[SERIES_MEDIAN] > 0,
            "... %u of %u repeats are kept", t->count - t->lost, t->count);
        ok (w.end_ns < 20 * TIMEOUT, "... in %g time-outs",
            (double)w.end_ns / TIMEOUT);
        series_destroy (task.series);
    }
}

/* One dies in the last pass, when the others have all that it sent. */
static void test_last_death (void)
{
    struct inproc w = world (N);
    struct task task = { .shape = SERIES_RING,
                         .how = { .repeats = 1, .exchanges = 1 } };
    const struct series_row *t;

    w.dies_ns[3] = 2000;
    inproc_run (&w, run_task, &task);
    t = &task.series->row[0];
    ok (t->count == 1 && t->lost == 0 && task.series->process[3].lost
            && !task.series->complete,
        "one dies when nothing is missing: no test of all is complete");
    series_destroy (task.series);
}

int main (void)
{
    test_shapes ();
    test_rates ();
    test_arrival ();
    test_batch ();
    test_stuck ();
    test_deaths ();
    test_last_death ();
    return done_testing ();
}
