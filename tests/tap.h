/* SPDX-License-Identifier: GPL-2.0-or-later */
/* TAP for the unit tests.
 *
 * ok (cond, fmt, ...)   one numbered result; returns cond. A failure is also
 *                       printed on standard error: prove shows only that
 * diag (fmt, ...)       a comment
 * skip (fmt, ...)       one result that passes, marked as skipped
 * done_testing ()       prints the plan; the exit status of main ()
 *
 * trials (n)            how many of the n trials of a campaign to run: all with
 *                       PMM_FULL in the environment (contrib/check --full), a
 *                       quarter otherwise
 *
 * SANITIZED             1 under the address sanitizer, which sees in few trials
 *                       what it sees in many; else 0
 *
 * Signal handling is reset to the defaults, however the test was started
 * (nohup, a script's &).
 */
#ifndef TESTS_TAP_H
#define TESTS_TAP_H

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#if defined __has_feature && !defined __SANITIZE_ADDRESS__ /* clang */
#if __has_feature (address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

static inline unsigned int trials (unsigned int n)
{
    return getenv ("PMM_FULL") ? n : (n + 3) / 4;
}

static int tap_count;
static int tap_failed;

__attribute__ ((constructor)) static void tap_signals (void)
{
    sigset_t none;

    for (int sig = 1; sig < NSIG; sig++)
        signal (sig, SIG_DFL);
    sigemptyset (&none);
    sigprocmask (SIG_SETMASK, &none, NULL);
}

__attribute__ ((format (printf, 2, 3), unused)) static int
ok (int cond, const char *fmt, ...)
{
    va_list ap;

    printf ("%sok %d - ", cond ? "" : "not ", ++tap_count);
    va_start (ap, fmt);
    vprintf (fmt, ap);
    va_end (ap);
    printf ("\n");
    fflush (stdout);
    if (!cond) {
        tap_failed++;
        fprintf (stderr, "# failed: ");
        va_start (ap, fmt);
        vfprintf (stderr, fmt, ap);
        va_end (ap);
        fprintf (stderr, "\n");
    }
    return cond;
}

__attribute__ ((format (printf, 1, 2), unused)) static void
diag (const char *fmt, ...)
{
    va_list ap;

    printf ("# ");
    va_start (ap, fmt);
    vprintf (fmt, ap);
    va_end (ap);
    printf ("\n");
}

__attribute__ ((format (printf, 1, 2), unused)) static void
skip (const char *fmt, ...)
{
    va_list ap;

    printf ("ok %d # skip ", ++tap_count);
    va_start (ap, fmt);
    vprintf (fmt, ap);
    va_end (ap);
    printf ("\n");
}

__attribute__ ((unused)) static int done_testing (void)
{
    printf ("1..%d\n", tap_count);
    return tap_failed != 0;
}

#endif /* TESTS_TAP_H */
