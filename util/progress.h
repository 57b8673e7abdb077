/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A line on a terminal that says how far long work has come. There is none
 * where the stream is no terminal, nor for work of less than a second.
 */
#ifndef UTIL_PROGRESS_H
#define UTIL_PROGRESS_H

#include <stdint.h>
#include <stdio.h>

struct progress {
    FILE *fp; /* NULL: no terminal */
    const char *what;
    int64_t start_ms, shown_ms; /* shown: 0: not yet */
};

/* Begin; what ("pmm: round") must live until the end. fp may be NULL. */
struct progress progress_begin (FILE *fp, const char *what);

/* Say "WHAT DONE of TOTAL", some times a second at most. */
void progress_show (struct progress *p, uint64_t done, uint64_t total);

/* Take the line away. */
void progress_end (struct progress *p);

#endif /* UTIL_PROGRESS_H */
