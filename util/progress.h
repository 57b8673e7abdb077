/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A progress line on a terminal: who works, for how long, at what, how much of
 * it is done, and how long the rest of that takes:
 *
 *     pmm plan: 25 s, following paths 2400 of 11664 (about 12 s left)
 *
 * Not shown if the stream is not a terminal, or if TERM is dumb; in the first
 * second; in the background.
 *
 * The estimate follows from the rate since the total is known. It is not shown
 * for units that take different times (`uneven`), nor before a second's work.
 *
 * A program whose output goes to another program cannot know where that output
 * ends. It may print progress lines, which the other program shows:
 *
 *     pmm-progress DONE TOTAL
 *
 * The line of a whole program: util/terminal.h.
 */
#ifndef UTIL_PROGRESS_H
#define UTIL_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct progress {
    FILE *fp; /* NULL: no output */
    const char *who, *what;
    bool relayed; /* print lines for another program */
    bool uneven;  /* some units take much longer than others */
    int64_t start_ms, shown_ms; /* shown_ms 0: not yet */
    int64_t known_ms;    /* since when the total is as it is; 0: not yet */
    uint64_t known_done; /* units that were done then */
    uint64_t total;
    int width;           /* of the text on the terminal */
};

/* Whether the stream is a terminal that can do more than print: TERM is set, and
 * not to "dumb".
 */
bool progress_terminal (FILE *fp);

/* Begin; who ("pmm") and what ("step") must live until the end. fp may be NULL.
 */
struct progress progress_begin (FILE *fp, const char *who, const char *what);

/* The same, with lines for another program, even if fp is no terminal. */
struct progress progress_relay (FILE *fp);

/* Show it, at most a few times per second. total 0: how much there is to do is
 * not known, and nothing is counted.
 */
void progress_show (struct progress *p, uint64_t done, uint64_t total);

/* Remove the line, until it is shown again (hide) or for good (end). */
void progress_hide (struct progress *p);
void progress_end (struct progress *p);

/* Whether a line, without its end, is a progress line for us to show. */
bool progress_parse (const char *line, uint64_t *done, uint64_t *total);

#endif /* UTIL_PROGRESS_H */
