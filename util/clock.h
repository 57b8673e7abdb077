/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Monotonic time, which no administrator sets. */
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

#endif /* UTIL_CLOCK_H */
