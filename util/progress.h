/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A progress line on a terminal. Not shown if the stream is no terminal, nor
 * for work of less than a second.
 *
 * A program whose output goes to another program cannot know where that output
 * ends. It may print progress lines, which the other program shows:
 *
 *     pmm-progress DONE TOTAL
 */
#ifndef UTIL_PROGRESS_H
#define UTIL_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct progress {
    FILE *fp; /* NULL: no output */
    const char *what;
    bool relayed; /* print lines for another program */
    int64_t start_ms, shown_ms; /* shown_ms 0: not yet */
    int width;    /* of the text on the terminal */
};

/* Begin; what ("pmm: step") must live until the end. fp may be NULL. */
struct progress progress_begin (FILE *fp, const char *what);

/* The same, with lines for another program, even if fp is no terminal. */
struct progress progress_relay (FILE *fp);

/* Show "WHAT DONE of TOTAL", at most a few times per second. */
void progress_show (struct progress *p, uint64_t done, uint64_t total);

/* Remove the line, until it is shown again (hide) or for good (end). */
void progress_hide (struct progress *p);
void progress_end (struct progress *p);

/* Whether a line, without its end, is a progress line for us to show. */
bool progress_parse (const char *line, uint64_t *done, uint64_t *total);

#endif /* UTIL_PROGRESS_H */
