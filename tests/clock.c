/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * clock.so: preloaded, it shows its process a clock that is OFFSET_S seconds ahead
 * of the machine's. Made and used by tests/at.
 *
 * What tells the time, and the times of files, has the offset added; what is told
 * a time has it taken off. A time that is waited for may be one of CLOCK_MONOTONIC,
 * whose seconds count from the machine's start: it is left as it is. Nothing is
 * shared between processes, so that any of them may be killed at any time. Not
 * faked: what calls the kernel itself (Go) or is linked statically; /proc.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <utime.h>

/* Since the Unix epoch, not since the start. */
#define IS_DATE(seconds) ((seconds) > 1000000000)

/* The C library's. */
#define REAL(name)                                                            \
    ((__typeof__ (real_##name))resolve ((void **)&real_##name, #name))

static void *resolve (void **function, const char *name)
{
    /* Conditions have had another version. */
    if (!*function && !(*function = dlvsym (RTLD_NEXT, name, "GLIBC_2.3.2")))
        *function = dlsym (RTLD_NEXT, name);
    return *function;
}

/* The machine's for what may be a date. */
static const struct timespec *machine (const struct timespec *faked,
                                       struct timespec *t)
{
    if (!faked || !IS_DATE (faked->tv_sec))
        return faked;
    *t = *faked;
    t->tv_sec -= OFFSET_S;
    return t;
}

/*
 * What tells the time
 */

/* A program may have a clock_gettime of its own (tests/ahead.h), which calls
 * this one: what else is here does not ask it.
 */
static int tell (clockid_t clock, struct timespec *t)
{
    static int (*real_clock_gettime) (clockid_t, struct timespec *);
    int rc = REAL (clock_gettime) (clock, t);

    if (rc == 0
        && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE
            || clock == CLOCK_TAI))
        t->tv_sec += OFFSET_S;
    return rc;
}

int clock_gettime (clockid_t clock, struct timespec *t)
{
    return tell (clock, t);
}

int gettimeofday (struct timeval *restrict t, void *restrict zone)
{
    struct timespec now;

    (void)zone;
    tell (CLOCK_REALTIME, &now);
    t->tv_sec = now.tv_sec;
    t->tv_usec = now.tv_nsec / 1000;
    return 0;
}

int timespec_get (struct timespec *t, int base)
{
    return base == TIME_UTC && tell (CLOCK_REALTIME, t) == 0 ? base : 0;
}

time_t time (time_t *seconds)
{
    struct timespec now;

    tell (CLOCK_REALTIME_COARSE, &now);
    if (seconds)
        *seconds = now.tv_sec;
    return now.tv_sec;
}

/*
 * The times of files
 */

#define STAT(name, type, params, args)                                        \
    int name params                                                           \
    {                                                                         \
        static int (*real_##name) params;                                     \
        int rc = REAL (name) args;                                            \
                                                                              \
        if (rc == 0) {                                                        \
            st->st_atim.tv_sec += OFFSET_S;                                   \
            st->st_mtim.tv_sec += OFFSET_S;                                   \
            st->st_ctim.tv_sec += OFFSET_S;                                   \
        }                                                                     \
        return rc;                                                            \
    }
#define STATS(bits)                                                           \
    STAT (stat##bits, stat##bits,                                             \
          (const char *restrict path, struct stat##bits *restrict st),        \
          (path, st))                                                         \
    STAT (lstat##bits, stat##bits,                                            \
          (const char *restrict path, struct stat##bits *restrict st),        \
          (path, st))                                                         \
    STAT (fstat##bits, stat##bits, (int fd, struct stat##bits *st), (fd, st)) \
    STAT (fstatat##bits, stat##bits,                                          \
          (int fd, const char *restrict path,                                 \
           struct stat##bits *restrict st, int flags),                        \
          (fd, path, st, flags))
STATS ()
STATS (64)

int statx (int fd, const char *restrict path, int flags, unsigned mask,
           struct statx *restrict st)
{
    static int (*real_statx) (int, const char *restrict, int, unsigned,
                              struct statx *restrict);
    int rc = REAL (statx) (fd, path, flags, mask, st);

    if (rc == 0) {
        st->stx_atime.tv_sec += OFFSET_S;
        st->stx_btime.tv_sec += OFFSET_S;
        st->stx_ctime.tv_sec += OFFSET_S;
        st->stx_mtime.tv_sec += OFFSET_S;
    }
    return rc;
}

static const struct timespec *machine2 (const struct timespec faked[2],
                                        struct timespec t[2])
{
    if (!faked)
        return NULL;
    for (int i = 0; i < 2; i++) {
        t[i] = faked[i];
        if (t[i].tv_nsec != UTIME_NOW && t[i].tv_nsec != UTIME_OMIT)
            t[i].tv_sec -= OFFSET_S;
    }
    return t;
}

int utimensat (int fd, const char *path, const struct timespec times[2],
               int flags)
{
    static int (*real_utimensat) (int, const char *, const struct timespec[2],
                                  int);
    struct timespec t[2];

    return REAL (utimensat) (fd, path, machine2 (times, t), flags);
}

int futimens (int fd, const struct timespec times[2])
{
    static int (*real_futimens) (int, const struct timespec[2]);
    struct timespec t[2];

    return REAL (futimens) (fd, machine2 (times, t));
}

int utimes (const char *path, const struct timeval times[2])
{
    static int (*real_utimes) (const char *, const struct timeval[2]);
    struct timeval t[2];

    for (int i = 0; times && i < 2; i++) {
        t[i] = times[i];
        t[i].tv_sec -= OFFSET_S;
    }
    return REAL (utimes) (path, times ? t : NULL);
}

int utime (const char *path, const struct utimbuf *times)
{
    static int (*real_utime) (const char *, const struct utimbuf *);
    struct utimbuf t;

    if (times)
        t = (struct utimbuf){ .actime = times->actime - OFFSET_S,
                              .modtime = times->modtime - OFFSET_S };
    return REAL (utime) (path, times ? &t : NULL);
}

/*
 * What is waited for
 */

#define WAIT(name, params, args)                                              \
    int name params                                                           \
    {                                                                         \
        static int (*real_##name) params;                                     \
        struct timespec t;                                                    \
                                                                              \
        return REAL (name) args;                                              \
    }
#define UNTIL const struct timespec *restrict until
WAIT (pthread_cond_timedwait,
      (pthread_cond_t * restrict c, pthread_mutex_t *restrict m, UNTIL),
      (c, m, machine (until, &t)))
WAIT (pthread_cond_clockwait,
      (pthread_cond_t * restrict c, pthread_mutex_t *restrict m,
       clockid_t clock, UNTIL),
      (c, m, clock, machine (until, &t)))
WAIT (pthread_mutex_timedlock, (pthread_mutex_t * restrict m, UNTIL),
      (m, machine (until, &t)))
WAIT (pthread_mutex_clocklock,
      (pthread_mutex_t * restrict m, clockid_t clock, UNTIL),
      (m, clock, machine (until, &t)))
WAIT (pthread_rwlock_timedrdlock, (pthread_rwlock_t * restrict l, UNTIL),
      (l, machine (until, &t)))
WAIT (pthread_rwlock_timedwrlock, (pthread_rwlock_t * restrict l, UNTIL),
      (l, machine (until, &t)))
WAIT (pthread_timedjoin_np,
      (pthread_t thread, void **result, const struct timespec *until),
      (thread, result, machine (until, &t)))
WAIT (sem_timedwait, (sem_t * restrict s, UNTIL), (s, machine (until, &t)))
WAIT (sem_clockwait, (sem_t * restrict s, clockid_t clock, UNTIL),
      (s, clock, machine (until, &t)))

int clock_nanosleep (clockid_t clock, int flags, const struct timespec *until,
                     struct timespec *left)
{
    static int (*real_clock_nanosleep) (clockid_t, int,
                                        const struct timespec *,
                                        struct timespec *);
    struct timespec t;

    return REAL (clock_nanosleep) (
        clock, flags, flags & TIMER_ABSTIME ? machine (until, &t) : until, left);
}

#define TIMER(name, params, args)                                             \
    int name params                                                           \
    {                                                                         \
        static int (*real_##name) params;                                     \
        struct itimerspec t = *new;                                           \
                                                                              \
        if (IS_DATE (t.it_value.tv_sec))                                      \
            t.it_value.tv_sec -= OFFSET_S;                                    \
        return REAL (name) args;                                              \
    }
TIMER (timer_settime,
       (timer_t timer, int flags, const struct itimerspec *restrict new,
        struct itimerspec *restrict old),
       (timer, flags, &t, old))
TIMER (timerfd_settime,
       (int fd, int flags, const struct itimerspec *new,
        struct itimerspec *old),
       (fd, flags, &t, old))
