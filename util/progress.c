/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The line is erased by blanks, which works on any terminal. */
#include "config.h"
#include "util/progress.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/text.h"

enum {
    FIRST_MS = 1000,
    EVERY_MS = 200,
};

static const char relay_word[] = "pmm-progress ";

struct progress progress_begin (FILE *fp, const char *what)
{
    if (fp && !isatty (fileno (fp)))
        fp = NULL;
    return (struct progress){ .fp = fp, .what = what, .start_ms = clock_ms () };
}

struct progress progress_relay (FILE *fp)
{
    return (struct progress){ .fp = fp, .relayed = true,
                              .start_ms = clock_ms () };
}

void progress_show (struct progress *p, uint64_t done, uint64_t total)
{
    char text[80];
    int64_t now;

    if (!p->fp)
        return;
    now = clock_ms ();
    if (now - p->start_ms < FIRST_MS || now - p->shown_ms < EVERY_MS)
        return;
    p->shown_ms = now;
    if (p->relayed)
        fprintf (p->fp, "%s%" PRIu64 " %" PRIu64 "\n", relay_word, done,
                 total);
    else {
        snprintf (text, sizeof (text), "%s %" PRIu64 " of %" PRIu64, p->what,
                  done, total);
        fprintf (p->fp, "\r%-*s", p->width, text);
        if (p->width < (int)strlen (text))
            p->width = (int)strlen (text);
    }
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
