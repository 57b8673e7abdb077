/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rates of flows to a series and back, and series that are none of flows. */
#include "config.h"
#include "compare/throughput/measured.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/test/tablenet.h"
#include "tests/tap.h"

enum { FLOWS = 4, LENGTH = 1000 };

static struct plan *make_plan (void)
{
    static const uint32_t pair[FLOWS][3] = {
        { 0, 0, 1 }, { 0, 2, 3 }, { 1, 3, 0 }, { 1, 1, 2 },
    };
    struct plan *plan = plan_create ("throughput");

    for (int i = 0; i < FLOWS; i++)
        plan_add (plan, pair[i][0], pair[i][1], pair[i][2]);
    return plan;
}

static bool refuses (const struct series *s, const struct pathset *ps,
                     const struct plan *plan, const char *why)
{
    double rate[FLOWS];
    struct error err = { 0 };
    int rc = measured_rates (s, ps, plan, rate, &err);

    return rc < 0 && strstr (err.text, why);
}

static void test_there_and_back (struct pathset *ps, struct plan *plan)
{
    const double wanted[FLOWS] = { 8e9, NAN, 3e9, 1e9 };
    double rate[FLOWS] = { 0 };
    struct series *s = measured_series (ps, plan, wanted, LENGTH, NULL);
    bool good;

    good = s && measured_rates (s, ps, plan, rate, NULL) == 0;
    for (int i = 0; i < FLOWS; i++)
        good = good && (isnan (wanted[i]) ? isnan (rate[i])
                        : fabs (rate[i] / wanted[i] - 1) < 1e-9);
    ok (good && !s->complete && s->test == SERIES_ASYNC_ONE_TO_ONE,
        "rates there and back, one flow is lost");
    /* 1,000 bytes each way at 8 Gb/s are 1,000 ns: half of that */
    ok (fabs (series_at (s, 0, 1, LENGTH)->time_ns[SERIES_MEDIAN] - 500)
            < 1e-6,
        "half of what an exchange takes");
    s->test = SERIES_ONE_TO_ONE;
    ok (refuses (s, ps, plan, "both ways at once"),
        "one message at a time fills no link");
    series_destroy (s);
}

static void add (struct series *s, uint32_t a, uint32_t b, uint64_t length,
                 double median, double mean)
{
    struct series_row pair = {
        .a = a, .b = b, .count = 3, .lost = 1, .length = length,
    };

    pair.time_ns[SERIES_MEDIAN] = median;
    pair.time_ns[SERIES_MEAN] = mean;
    series_add (s, &pair, NULL);
}

/* Labels in another order, cores, several lengths, both sides. */
static void test_series (struct pathset *ps, struct plan *plan)
{
    struct series *s = series_create (SERIES_ASYNC_ONE_TO_ONE);
    double rate[FLOWS];

    series_add_process (s, "k3:0", "k3", NULL);
    series_add_process (s, "elsewhere", "elsewhere", NULL);
    series_add_process (s, "k2", "k2", NULL);
    series_add_process (s, "k1", "k1", NULL);
    ok (refuses (s, ps, plan, "without a byte"), "nothing was measured");
    add (s, 3, 2, 10, 1, 1);      /* k1 k2, of short messages */
    add (s, 3, 2, LENGTH, 500, 1);
    add (s, 2, 3, LENGTH, 250, 1); /* from the other side */
    add (s, 2, 0, LENGTH, NAN, 1000);
    series_sort (s, NULL);
    ok (measured_rates (s, ps, plan, rate, NULL) == 0
            && fabs (rate[0] - 12e9) < 1 && isnan (rate[1])
            && isnan (rate[2]) && fabs (rate[3] - 4e9) < 1,
        "by the greatest length, from both sides, the mean for no median");
    add (s, 1, 0, 2 * LENGTH, 1, 1);
    add (s, 2, 0, 2 * LENGTH, 1e-300, 1e-300);
    series_sort (s, NULL);
    ok (refuses (s, ps, plan, "any link has"), "a time that takes none");
    series_add_process (s, "k3:1", "k3", NULL);
    ok (refuses (s, ps, plan, "two processes"), "two processes of a host");
    series_destroy (s);

    s = series_create (SERIES_ASYNC_ONE_TO_ONE);
    series_add_process (s, "x", "x", NULL);
    series_add_process (s, "y", "y", NULL);
    add (s, 0, 1, LENGTH, 1, 1);
    series_sort (s, NULL);
    ok (refuses (s, ps, plan, "no process"), "processes of other hosts");
    series_destroy (s);
}

int main (void)
{
    struct tablenet *t = tablenet_paper ();
    struct pathset *ps = tablenet_pathset (t, (uint32_t[]){ 0, 1, 2, 3 }, 4);
    struct plan *plan = make_plan ();

    test_there_and_back (ps, plan);
    test_series (ps, plan);
    plan_destroy (plan);
    pathset_destroy (ps);
    tablenet_destroy (t);
    return done_testing ();
}
