/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rate of a burst: its best three quarters, against values by hand. */
#include "config.h"
#include "probe/bulk.h"

#include <math.h>

#include "tests/tap.h"

enum { POINTS = 1024 };

static struct bulk_point point[POINTS];
static size_t points;

/* n messages of 1000 bytes, one each `step` ns. */
static void add_messages (size_t n, int64_t step)
{
    int64_t ns = points > 0 ? point[points - 1].ns : 0;

    for (size_t i = 0; i < n; i++)
        bulk_arrive (point, &points, ns += step, 1000);
}

/* The rate, in bytes per us. */
static double best_rate (void)
{
    double bits = bulk_best (point, points);

    points = 0;
    return bits / 8e6;
}

static int is_rate (double a, double b)
{
    return fabs (a - b) < 1e-9 * b;
}

static void test_steady (void)
{
    add_messages (400, 10);
    ok (is_rate (best_rate (), 100000), "a message of 1000 bytes each 10 ns");
    add_messages (5, 10);
    ok (is_rate (best_rate (), 100000), "five messages");
    ok (best_rate () <= 0, "no points: no rate");
    add_messages (1, 10);
    ok (best_rate () <= 0, "one point: no rate");
    for (int i = 0; i < 4; i++)
        bulk_arrive (point, &points, 10, 1000);
    ok (points == 1 && point[0].bytes == 4000,
        "what comes at once is one point");
    ok (best_rate () <= 0, "... and has no rate");
    bulk_arrive (point, &points, 0, 0);
    bulk_arrive (point, &points, 10, 0);
    ok (best_rate () <= 0, "nothing came: no rate");
}

static void test_best (void)
{
    add_messages (100, 40);
    add_messages (300, 10);
    ok (is_rate (best_rate (), 100000), "a slow beginning does not count");
    add_messages (301, 10);
    add_messages (99, 40);
    ok (is_rate (best_rate (), 100000), "nor a slow end");
    add_messages (100, 10);
    add_messages (200, 20);
    add_messages (100, 10);
    ok (is_rate (best_rate (), 300 * 1000 / (100 * 10 + 200 * 20) * 1000.),
        "the middle does: 300 of 400 messages have to go through it");
    add_messages (200, 10);
    bulk_arrive (point, &points, point[points - 1].ns + 5000, 1000);
    add_messages (199, 10);
    ok (is_rate (best_rate (), 300000. / (300 * 10 + 4990) * 1000),
        "... and so does a pause there");
}

/* Four pairs, each with a message in a turn of 40 ns: they end together. */
static void test_turns (void)
{
    for (int64_t turn = 1; turn <= 100; turn++)
        for (int i = 0; i < 4; i++)
            bulk_arrive (point, &points, 40 * turn + i, 1000);
    ok (is_rate (best_rate (), 100000),
        "messages that end in turns look no faster");
}

/* The process sees nothing for a while, then all that has come. */
static void test_late (void)
{
    add_messages (50, 10);
    bulk_arrive (point, &points, 4000, 350 * 1000);
    ok (is_rate (best_rate (), 100000), "a look that was late: not faster");
    bulk_arrive (point, &points, 3500, 350 * 1000);
    add_messages (50, 10);
    ok (is_rate (best_rate (), 100000),
        "a first look that was late: the rate of the rest");
}

int main (void)
{
    test_steady ();
    test_best ();
    test_turns ();
    test_late ();
    return done_testing ();
}
