/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Monotonic time that is set ahead, for a test that includes this once: what is
 * to time out does so at once, and what is not to may take as long as a busy
 * machine needs.
 *
 * ahead_open (path)     from here on the clock of this process, and of those
 *                       that it forks, is ahead by a second for each byte of
 *                       this file; it may not be there yet
 * ahead (seconds)       sets it ahead by so much
 *
 * A shell does the same with `printf %30s >>path`. Who keeps others waiting
 * does it, as soon as it is ready for what then happens.
 *
 * poll and ppoll wait by this clock, in small steps; what waits for time alone
 * is woken after the first of them. Not simulated: other clocks, and other
 * calls that wait.
 */
#ifndef TESTS_AHEAD_H
#define TESTS_AHEAD_H

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { AHEAD_STEP_NS = 2000000 };

static char ahead_path[128];

static void ahead_open (const char *path)
{
    strncpy (ahead_path, path, sizeof (ahead_path) - 1);
}

__attribute__ ((unused)) static void ahead (unsigned int seconds)
{
    int fd = open (ahead_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    char bytes[4096];

    memset (bytes, ' ', sizeof (bytes));
    if (fd < 0 || seconds > sizeof (bytes)
        || write (fd, bytes, seconds) != (ssize_t)seconds)
        _exit (99);
    close (fd);
}

/* In place of libc's, which may be those of a sanitizer. */

int clock_gettime (clockid_t id, struct timespec *t)
{
    static int (*next) (clockid_t, struct timespec *);
    int saved_errno = errno;
    struct stat st;
    int rc;

    /* dates may be another's (tests/at) */
    if (id != CLOCK_MONOTONIC
        && (next || (next = dlsym (RTLD_NEXT, "clock_gettime"))))
        return next (id, t);
    rc = (int)syscall (SYS_clock_gettime, id, t);
    if (rc == 0 && id == CLOCK_MONOTONIC && *ahead_path
        && stat (ahead_path, &st) == 0)
        t->tv_sec += st.st_size;
    errno = saved_errno;
    return rc;
}

static int64_t ahead_ns (void)
{
    struct timespec t;

    clock_gettime (CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C (1000000000) + t.tv_nsec;
}

int ppoll (struct pollfd *fds, nfds_t n, const struct timespec *timeout,
           const sigset_t *mask)
{
    int64_t left = timeout ? timeout->tv_sec * INT64_C (1000000000)
                                 + timeout->tv_nsec
                           : INT64_MAX;
    int64_t now = ahead_ns ();
    int64_t end = left < INT64_MAX - now ? now + left : INT64_MAX;
    bool any = false;
    int rc;

    for (nfds_t i = 0; i < n; i++)
        any |= fds[i].fd >= 0;
    do {
        struct timespec step = { 0, left < AHEAD_STEP_NS ? left
                                                         : AHEAD_STEP_NS };

        rc = (int)syscall (SYS_ppoll, fds, n, &step, mask, NSIG / 8);
        left = end - ahead_ns ();
    } while (rc == 0 && any && left > 0);
    return rc;
}

int poll (struct pollfd *fds, nfds_t n, int timeout_ms)
{
    const struct timespec t = { timeout_ms / 1000,
                                timeout_ms % 1000 * 1000000L };

    return ppoll (fds, n, timeout_ms < 0 ? NULL : &t, NULL);
}

#endif /* TESTS_AHEAD_H */
