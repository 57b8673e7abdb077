/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A benchmark goes on or ends: what fails is said, and is its exit status. */
#ifndef BENCH_NEED_H
#define BENCH_NEED_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "util/error.h"
#include "util/text.h"

static inline _Noreturn void die (const struct error *err)
{
    fprintf (stderr, "%s: %s\n", program_invocation_short_name, err->text);
    exit (1);
}

/* What a function made, which set err where it is NULL. */
static inline void *need (void *p, const struct error *err)
{
    if (!p)
        die (err);
    return p;
}

/* Zeroed memory, also where n is 0. */
static inline void *allocate (size_t n, size_t size)
{
    struct error err;
    void *p = calloc (n + 1, size);

    if (!p)
        error_nomem (&err);
    return need (p, &err);
}

/* An argument. */
static inline uint64_t number (const char *text, uint64_t min, uint64_t max)
{
    uint64_t n;

    if (text_u64 (text, min, max, &n) < 0) {
        fprintf (stderr, "%s: '%s' is no number from %ju to %ju\n",
                 program_invocation_short_name, text, (uintmax_t)min,
                 (uintmax_t)max);
        exit (2);
    }
    return n;
}

#endif /* BENCH_NEED_H */
