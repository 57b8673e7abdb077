/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes: the thread draws, so that the time goes on where work has no units. It
 * alone holds the lock, but for terminal_clear, so a forked child that works is
 * safe; work is told by atomic words. It may show one phase with the numbers of
 * the next, for 0.2 s.
 */
#include "config.h"
#include "util/terminal.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "util/progress.h"

enum { EVERY_MS = 200 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct progress line; /* fp NULL: not shown */
static const char *_Atomic at; /* NULL: no work */
static _Atomic uint64_t at_done, at_total;

static void *draw_progress (void *arg)
{
    const struct timespec pause = { 0, EVERY_MS * 1000000 };

    for (;;) {
        const char *what;

        nanosleep (&pause, NULL);
        pthread_mutex_lock (&lock);
        if ((what = at)) {
            if (what != line.what)
                line.known_ms = 0;
            line.what = what;
            progress_show (&line, at_done, at_total);
        }
        pthread_mutex_unlock (&lock);
    }
    return arg;
}

void terminal_start (const char *who)
{
    struct progress begun = progress_begin (stderr, who, "");
    sigset_t all, mask;
    pthread_t thread;

    if (!begun.fp || line.fp)
        return;
    line = begun;
    /* signals are for the thread that works */
    sigfillset (&all);
    pthread_sigmask (SIG_SETMASK, &all, &mask);
    if (pthread_create (&thread, NULL, draw_progress, NULL) != 0)
        line.fp = NULL;
    else
        pthread_detach (thread);
    pthread_sigmask (SIG_SETMASK, &mask, NULL);
}

bool terminal_shows (void)
{
    return line.fp != NULL;
}

void terminal_work (const char *what, uint64_t done, uint64_t total)
{
    if (!line.fp)
        return;
    atomic_store_explicit (&at_done, done, memory_order_relaxed);
    atomic_store_explicit (&at_total, total, memory_order_relaxed);
    atomic_store_explicit (&at, what, memory_order_release);
}

void terminal_clear (void)
{
    if (!line.fp || !at)
        return;
    at = NULL;
    pthread_mutex_lock (&lock);
    progress_hide (&line);
    pthread_mutex_unlock (&lock);
}

void terminal_end (void)
{
    terminal_clear ();
    line.fp = NULL;
}

/*
 * Colours
 */

static bool coloured;

void terminal_set_colour (enum terminal_colour when)
{
    const char *no = getenv ("NO_COLOR");

    coloured = when == COLOUR_ALWAYS
               || (when == COLOUR_AUTO && !(no && *no)
                   && progress_terminal (stdout));
}

const char *terminal_level (const char *word)
{
    static const struct {
        const char *word, *text;
    } levels[] = {
        { "OK", "\033[32mOK\033[0m" },
        { "WARN", "\033[33mWARN\033[0m" },
        { "FAIL", "\033[1;31mFAIL\033[0m" },
        { "UNKNOWN", "\033[35mUNKNOWN\033[0m" },
    };

    for (size_t i = 0; coloured && i < sizeof (levels) / sizeof (levels[0]);
         i++)
        if (strcmp (word, levels[i].word) == 0)
            return levels[i].text;
    return word;
}
