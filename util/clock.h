/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Monotonic time, which no administrator sets; and the date, which one may set
 * wrong.
 */
#ifndef UTIL_CLOCK_H
#define UTIL_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t clock_ns (void)
{
    struct timespec t;

    clock_gettime (CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C (1000000000) + t.tv_nsec;
}

static inline int64_t clock_ms (void)
{
    return clock_ns () / 1000000;
}

/* The date in seconds since 1970: the wall clock's when this process first asks,
 * and from there as time goes by. It follows a wall clock that is slewed; one
 * that was set only when it has gone on so for an hour, so that one that is wrong
 * for some minutes changes nothing that is decided by date.
 */
int64_t clock_date (void);

/* What the wall clock is ahead of clock_date, in seconds: it was set, which is
 * not followed yet.
 */
int64_t clock_set_by (void);

#endif /* UTIL_CLOCK_H */
