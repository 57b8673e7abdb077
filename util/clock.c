/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The date, for a process that runs for long. */
#include "config.h"
#include "util/clock.h"

#include <stdbool.h>
#include <stdlib.h>

enum {
    SLEWED_S = 2,   /* what a clock may differ by from one call to the next, as
                       it is slewed, or as both clocks are cut to seconds */
    BELIEVED_S = 3600, /* how long a clock that was set must have gone on */
};

static struct {
    bool known;
    int64_t offset; /* of the date that we tell, to the time since boot */
    int64_t other;  /* ... of a clock that was set, */
    int64_t since;  /* ... since that time */
} date;

static int64_t seconds (clockid_t id)
{
    struct timespec t;

    clock_gettime (id, &t);
    return t.tv_sec;
}

/* What the wall clock differs by from what we tell. */
static int64_t update_date_offset (int64_t boot)
{
    int64_t offset = seconds (CLOCK_REALTIME) - boot;

    if (!date.known || llabs (offset - date.offset) <= SLEWED_S) {
        date.known = true;
        date.offset = date.other = offset;
    }
    else if (llabs (offset - date.other) > SLEWED_S) {
        date.other = offset;
        date.since = boot;
    }
    else if (boot - date.since >= BELIEVED_S)
        date.offset = offset;
    else
        date.other = offset;
    return offset - date.offset;
}

int64_t clock_date (void)
{
    int64_t boot = seconds (CLOCK_BOOTTIME);

    update_date_offset (boot);
    return boot + date.offset;
}

int64_t clock_set_by (void)
{
    return update_date_offset (seconds (CLOCK_BOOTTIME));
}
