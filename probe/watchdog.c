/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes: the lines are formatted beforehand, because a signal handler may do
 * little. The record starts with a newline, because the samples may be only
 * partly written.
 */
#include "config.h"
#include "probe/watchdog.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "util/error.h"

struct watchdog watchdog = { .nonce = "" };

static char record[256];
static char sentence[256];

static void on_alarm (int signum)
{
    bool prints = watchdog.prints;
    ssize_t n;

    (void)signum;
    if (prints && watchdog.at_record)
        watchdog.at_record ();
    n = prints ? write (STDOUT_FILENO, record, strlen (record))
               : write (STDERR_FILENO, sentence, strlen (sentence));
    _exit (prints && n >= 0 ? ERROR_WORLD : watchdog.status);
}

void watchdog_start (void)
{
    struct sigaction sa = { .sa_handler = on_alarm };
    struct itimerval timer = {
        .it_value = { watchdog.timeout_ms / 1000,
                      watchdog.timeout_ms % 1000 * 1000 },
    };

    watchdog_phase ("", "it started");
    sigaction (SIGALRM, &sa, NULL);
    setitimer (ITIMER_REAL, &timer, NULL);
    signal (SIGPIPE, SIG_IGN);
}

void watchdog_phase (const char *host, const char *phase)
{
    double timeout_s = (double)watchdog.timeout_ms / 1000;
    sigset_t mask;
    sigset_t old;

    sigemptyset (&mask);
    sigaddset (&mask, SIGALRM);
    sigprocmask (SIG_BLOCK, &mask, &old);
    snprintf (record, sizeof (record),
              "\npmm-result 1 UNKNOWN %s timed out after %g s while %s\n",
              watchdog.nonce, timeout_s, phase);
    snprintf (sentence, sizeof (sentence),
              "pmm: %s%stimed out after %g s while %s\n", host,
              *host ? ": " : "", timeout_s, phase);
    sigprocmask (SIG_SETMASK, &old, NULL);
}

int64_t watchdog_left_ns (void)
{
    struct itimerval timer;
    int64_t left_us;

    getitimer (ITIMER_REAL, &timer);
    left_us = (int64_t)timer.it_value.tv_sec * 1000000
              + timer.it_value.tv_usec;
    return 900 * left_us;
}
