/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A wall clock that is set, and what is told as the date meanwhile. */
#include "config.h"
#include "util/clock.h"

#include <stdbool.h>

#include "tests/tap.h"

enum { HOUR = 3600, DAY = 24 * HOUR, START = 1800000000 };

static int64_t wall = START, boot = 5000;

int clock_gettime (clockid_t id, struct timespec *t)
{
    *t = (struct timespec){ .tv_sec = id == CLOCK_REALTIME ? wall : boot };
    return 0;
}

static void pass (int64_t s)
{
    wall += s;
    boot += s;
}

/* Let time go by as a service sees it, which asks once a minute; true if it was
 * always told `date` and as many seconds more as went by.
 */
static bool goes_on (int64_t s, int64_t date)
{
    bool right = true;

    for (int64_t t = 0; t <= s; t += 60) {
        right &= clock_date () == date + t;
        if (t < s)
            pass (60);
    }
    return right;
}

int main (void)
{
    static const int64_t jump[] = { 200 * DAY, -200 * DAY, 3, -3, HOUR };

    ok (clock_date () == START && clock_set_by () == 0, "the wall clock's");
    pass (10 * DAY);
    ok (clock_date () == START + 10 * DAY && clock_set_by () == 0,
        "... after ten days in which nobody asked");
    for (int i = 0; i < 1000; i++) {
        pass (60);
        wall += i % 2;
        clock_date ();
    }
    ok (clock_date () == wall, "one that is slewed is followed");

    for (size_t i = 0; i < sizeof (jump) / sizeof (jump[0]); i++) {
        int64_t by = jump[i];

        wall += by;
        ok (goes_on (HOUR - 60, wall - by) && clock_set_by () == by,
            "set by %lld s: not followed for an hour", (long long)by);
        wall -= by;
        ok (clock_set_by () == 0 && goes_on (2 * HOUR, wall),
            "... if it comes back");
        wall += by;
        ok (goes_on (HOUR - 60, wall - by), "... nor the second time");
        pass (60);
        ok (clock_date () == wall && clock_set_by () == 0
                && goes_on (2 * HOUR, wall),
            "... but if it stays");
    }
    wall += DAY;
    goes_on (HOUR - 60, wall);
    wall += DAY;
    ok (goes_on (HOUR - 60, wall - 2 * DAY) && clock_set_by () == 2 * DAY,
        "set again: an hour from then");
    pass (60);
    ok (clock_date () == wall, "... and no longer");
    return done_testing ();
}
