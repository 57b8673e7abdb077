/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The line is erased by blanks, which works on any terminal. */
#include "config.h"
#include "util/progress.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/text.h"

enum {
    FIRST_MS = 1000,
    EVERY_MS = 200,
    COLUMNS_MAX = 79, /* of 80: in the last one some terminals wrap */
    TIME_TEXT = 48,
};

static const char relay_word[] = "pmm-progress ";

bool progress_terminal (FILE *fp)
{
    const char *term = getenv ("TERM");

    return term && *term && strcmp (term, "dumb") && isatty (fileno (fp));
}

struct progress progress_begin (FILE *fp, const char *who, const char *what)
{
    if (fp && !progress_terminal (fp))
        fp = NULL;
    return (struct progress){ .fp = fp, .who = who, .what = what,
                              .start_ms = clock_ms () };
}

struct progress progress_relay (FILE *fp)
{
    return (struct progress){ .fp = fp, .relayed = true,
                              .start_ms = clock_ms () };
}

/* "99 s", "3 min 20 s"; an estimate is less exact. */
static const char *put_time (char buf[TIME_TEXT], int64_t ms, bool estimate)
{
    int64_t s = (ms + 500) / 1000;

    if (s < 1)
        s = 1;
    if (s < 100)
        snprintf (buf, TIME_TEXT, "%" PRId64 " s", s);
    else if (estimate)
        snprintf (buf, TIME_TEXT, "%" PRId64 " min", (s + 30) / 60);
    else
        snprintf (buf, TIME_TEXT, "%" PRId64 " min %" PRId64 " s", s / 60,
                  s % 60);
    return buf;
}

/* The time that the rest takes, in ms; -1: not known. */
static int64_t estimate (const struct progress *p, int64_t now, uint64_t done)
{
    int64_t worked = now - p->known_ms;

    if (p->uneven || worked < FIRST_MS || done <= p->known_done)
        return -1;
    return (int64_t)((double)worked * (double)(p->total - done)
                     / (double)(done - p->known_done));
}

/* Append it if there is room. */
static void append_progress_part (char *text, const char *part, size_t columns)
{
    if (strlen (text) + strlen (part) <= columns)
        strcat (text, part);
}

static void print_progress_text (struct progress *p, int64_t now, uint64_t done)
{
    char text[COLUMNS_MAX + 1] = "", part[COLUMNS_MAX], time[TIME_TEXT];
    int64_t left = p->total > 0 ? estimate (p, now, done) : -1;
    size_t columns = COLUMNS_MAX;
    struct winsize size;

    /* a line that is wrapped cannot be erased */
    if (ioctl (fileno (p->fp), TIOCGWINSZ, &size) == 0 && size.ws_col > 0
        && size.ws_col <= COLUMNS_MAX)
        columns = size.ws_col - 1U;
    snprintf (text, columns + 1, "%s: %s, %s", p->who,
              put_time (time, now - p->start_ms, false), p->what);
    snprintf (part, sizeof (part), " %" PRIu64 " of %" PRIu64, done, p->total);
    if (p->total > 0)
        append_progress_part (text, part, columns);
    snprintf (part, sizeof (part), " (about %s left)",
              put_time (time, left, true));
    if (left >= 0)
        append_progress_part (text, part, columns);
    fprintf (p->fp, "\r%-*s", p->width, text);
    if (p->width < (int)strlen (text))
        p->width = (int)strlen (text);
}

void progress_show (struct progress *p, uint64_t done, uint64_t total)
{
    int64_t now;
    pid_t front;

    if (!p->fp)
        return;
    now = clock_ms ();
    if (p->known_ms == 0 || total != p->total || done < p->known_done) {
        p->known_ms = now;
        p->known_done = done;
        p->total = total;
    }
    if (now - p->start_ms < FIRST_MS || now - p->shown_ms < EVERY_MS)
        return;
    p->shown_ms = now;
    if (p->relayed)
        fprintf (p->fp, "%s%" PRIu64 " %" PRIu64 "\n", relay_word, done, total);
    else if ((front = tcgetpgrp (fileno (p->fp))) < 0 || front == getpgrp ())
        print_progress_text (p, now, done < total ? done : total);
    fflush (p->fp);
}

void progress_hide (struct progress *p)
{
    if (p->width == 0)
        return;
    fprintf (p->fp, "\r%*s\r", p->width, "");
    fflush (p->fp);
    p->width = 0;
}

void progress_end (struct progress *p)
{
    progress_hide (p);
    p->fp = NULL;
}

bool progress_parse (const char *line, uint64_t *done, uint64_t *total)
{
    char number[24];
    size_t len;

    if (strncmp (line, relay_word, strlen (relay_word)))
        return false;
    line += strlen (relay_word);
    len = strcspn (line, " ");
    if (!line[len] || len >= sizeof (number))
        return false;
    snprintf (number, sizeof (number), "%.*s", (int)len, line);
    return text_u64 (number, 0, UINT64_MAX, done) == 0
           && text_u64 (line + len + 1, 0, UINT64_MAX, total) == 0;
}
