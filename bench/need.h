/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A benchmark ends at the first error: it prints it and exits with a status
 * that is not 0.
 */
#ifndef BENCH_NEED_H
#define BENCH_NEED_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/error.h"
#include "util/text.h"

static inline _Noreturn void die (const struct error *err)
{
    fprintf (stderr, "%s: %s\n", program_invocation_short_name, err->text);
    exit (1);
}

/* Return what a function made; if it is NULL, the function has set err. */
static inline void *need (void *p, const struct error *err)
{
    if (!p)
        die (err);
    return p;
}

/* Parse an argument. */
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

/* Whether the first argument is --smallest: the benchmark is to do the least
 * that shows that it works. getopt begins behind it.
 */
static inline bool smallest (int argc, char **argv)
{
    bool first = argc > 1 && strcmp (argv[1], "--smallest") == 0;

    optind = first ? 2 : 1;
    return first;
}

/* Print the command, before its results. */
static inline void print_command (int argc, char **argv)
{
    printf ("`bench/%s", program_invocation_short_name);
    for (int i = 1; i < argc; i++)
        printf (strchr (argv[i], ' ') ? " '%s'" : " %s", argv[i]);
    putchar ('`');
}

#endif /* BENCH_NEED_H */
