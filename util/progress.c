/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A line on a terminal. */
#include "config.h"
#include "util/progress.h"

#include <inttypes.h>
#include <time.h>
#include <unistd.h>

enum {
    FIRST_MS = 1000,
    EVERY_MS = 200,
};

static int64_t now_ms (void)
{
    struct timespec ts;

    clock_gettime (CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

struct progress progress_begin (FILE *fp, const char *what)
{
    if (fp && !isatty (fileno (fp)))
        fp = NULL;
    return (struct progress){ .fp = fp, .what = what, .start_ms = now_ms () };
}

void progress_show (struct progress *p, uint64_t done, uint64_t total)
{
    int64_t now;

    if (!p->fp)
        return;
    now = now_ms ();
    if (now - p->start_ms < FIRST_MS || now - p->shown_ms < EVERY_MS)
        return;
    p->shown_ms = now;
    fprintf (p->fp, "\r%s %" PRIu64 " of %" PRIu64 " ", p->what, done, total);
    fflush (p->fp);
}

void progress_end (struct progress *p)
{
    if (p->fp && p->shown_ms > 0) {
        fputs ("\r\033[K", p->fp);
        fflush (p->fp);
    }
    p->fp = NULL;
}
