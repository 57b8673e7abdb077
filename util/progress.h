/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A line on a terminal that says how far long work has come. There is none
 * where the stream is no terminal, nor for work of less than a second.
 *
 * Who runs in another's pipe cannot know where its output ends. It may say how
 * far it is in lines for that other to show:
 *
 *     pmm-progress DONE TOTAL
 */
#ifndef UTIL_PROGRESS_H
#define UTIL_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct progress {
    FILE *fp; /* NULL: nothing is said */
    const char *what;
    bool relayed; /* in lines for another */
    int64_t start_ms, shown_ms; /* shown: 0: not yet */
    int width;    /* of what stands on the terminal */
};

/* Begin; what ("pmm: step") must live until the end. fp may be NULL. */
struct progress progress_begin (FILE *fp, const char *what);

/* The same in lines for another, whatever fp is. */
struct progress progress_relay (FILE *fp);

/* Say "WHAT DONE of TOTAL", some times a second at most. */
void progress_show (struct progress *p, uint64_t done, uint64_t total);

/* Take the line away, until it is shown again or for ever. */
void progress_hide (struct progress *p);
void progress_end (struct progress *p);

/* Whether a line, without its end, is one for us to show. */
bool progress_parse (const char *line, uint64_t *done, uint64_t *total);

#endif /* UTIL_PROGRESS_H */
