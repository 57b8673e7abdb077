/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The live fabric.
 *
 * Notes: what reads is a grandchild in a session of its own, since slurmd ends
 * the prolog's process group. The lock goes with the file description to the
 * reader, too: should that hang in the kernel where no signal reaches it, it
 * keeps the lock, and no second one joins it.
 *
 * A clock that is set back makes an attempt look as if it were of the future:
 * it does not count then, and the next one has the right time again.
 */
#include "config.h"
#include "prolog/node/live.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "util/file.h"

enum { TICK_MS = 100 };

/* A directory of root's, as `dir`, and the three names in it. */
struct place {
    int dir;
    char *path;       /* to be freed; `base` points into it */
    const char *base;
    char temp[256], lock[256];
};

static void leave (struct place *p)
{
    if (p->dir >= 0)
        close (p->dir);
    free (p->path);
}

/* Only who we are may write there. */
static bool is_ours (int fd)
{
    struct stat st;

    return fstat (fd, &st) == 0 && st.st_uid == geteuid ()
           && !(st.st_mode & 022);
}

/* The directory is made where it is missing; leave is due in both cases. */
static int enter (struct place *p, const char *path, struct error *err)
{
    const char *slash = strrchr (path, '/');

    *p = (struct place){ .dir = -1 };
    if (!slash || slash == path || strlen (slash) > 200)
        return error_input (err, "LiveFabric: %s will not do", path);
    if (!(p->path = strdup (path)))
        return error_nomem (err);
    p->path[slash - path] = '\0';
    p->base = p->path + (slash - path) + 1;
    snprintf (p->temp, sizeof (p->temp), "%s.new", p->base);
    snprintf (p->lock, sizeof (p->lock), "%s.lock", p->base);
    if (mkdir (p->path, 0755) < 0 && errno != EEXIST)
        return error_errno (err, "cannot make %s", p->path);
    p->dir = open (p->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (p->dir < 0)
        return error_errno (err, "cannot open %s", p->path);
    if (!is_ours (p->dir))
        return error_world (err, "%s is not trusted: others may write it",
                            p->path);
    return 0;
}

/* Whether the last attempt was long enough ago. */
static bool is_due (int lock)
{
    struct stat st;
    time_t now = time (NULL);

    return fstat (lock, &st) == 0
           && (st.st_size == 0 || st.st_mtime > now
               || now - st.st_mtime >= LIVE_EVERY_S);
}

/* Take the right to one attempt: the lock, with the time noted. Return its
 * descriptor, -1 with err, or with errno EAGAIN where it is not our turn.
 */
static int take_turn (const struct place *p, struct error *err)
{
    int fd = openat (p->dir, p->lock,
                     O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0600);

    if (fd < 0)
        return error_errno (err, "cannot open %s/%s", p->path, p->lock);
    if (flock (fd, LOCK_EX | LOCK_NB) < 0 || !is_due (fd)) {
        close (fd);
        errno = EAGAIN;
        return -1;
    }
    if (pwrite (fd, "tried\n", 6, 0) != 6) {
        error_errno (err, "cannot write %s/%s", p->path, p->lock);
        close (fd);
        errno = EIO;
        return -1;
    }
    return fd;
}

__attribute__ ((noreturn)) static void be_reader (const char *pmm, int out)
{
    const char *const argv[]
        = { pmm, "fabric", "read", "--smps", LIVE_SMPS, NULL };
    char *const env[] = { NULL };
    int null = open ("/dev/null", O_RDWR | O_CLOEXEC);

    if (null >= 0 && dup2 (null, STDIN_FILENO) == STDIN_FILENO
        && dup2 (out, STDOUT_FILENO) == STDOUT_FILENO
        && dup2 (null, STDERR_FILENO) == STDERR_FILENO)
        execve (pmm, (char *const *)argv, env);
    _exit (127);
}

/* Whether the reader ends well, and in time. */
static bool reads (pid_t pid)
{
    int status;

    for (int ms = 0; ms < LIVE_TIMEOUT_S * 1000; ms += TICK_MS) {
        pid_t ended = waitpid (pid, &status, WNOHANG);

        if (ended == pid)
            return WIFEXITED (status) && WEXITSTATUS (status) == 0;
        if (ended < 0 && errno != EINTR)
            return false;
        poll (NULL, 0, TICK_MS);
    }
    kill (pid, SIGKILL);
    return false;
}

/* See a reading through, and publish what it has read. */
__attribute__ ((noreturn)) static void watch (const struct place *p,
                                              const char *pmm, int out)
{
    struct sigaction action = { .sa_handler = SIG_DFL };
    sigset_t none;
    pid_t pid;

    for (int sig = 1; sig < NSIG; sig++)
        sigaction (sig, &action, NULL);
    sigemptyset (&none);
    sigprocmask (SIG_SETMASK, &none, NULL);
    pid = fork ();
    if (pid == 0)
        be_reader (pmm, out);
    if (pid < 0 || !reads (pid) || fsync (out) < 0
        || renameat (p->dir, p->temp, p->dir, p->base) < 0)
        unlinkat (p->dir, p->temp, 0);
    _exit (0);
}

/* Fork what watches, out of the caller's session, and do not wait for it. */
static int start (const struct place *p, const char *pmm, int out,
                  struct error *err)
{
    pid_t pid = fork ();

    if (pid < 0)
        return error_errno (err, "cannot fork");
    if (pid > 0) {
        while (waitpid (pid, NULL, 0) < 0 && errno == EINTR)
            ;
        return 0;
    }
    if (setsid () < 0 || chdir ("/") < 0 || (pid = fork ()) < 0) {
        unlinkat (p->dir, p->temp, 0);
        _exit (1);
    }
    if (pid == 0)
        watch (p, pmm, out);
    _exit (0);
}

bool live_wanted (const struct site *site)
{
    struct stat st;

    return *site->live_fabric && stat (site->snapshot, &st) < 0
           && errno == ENOENT;
}

int live_request (const struct site *site, struct error *err)
{
    struct place p;
    int lock = -1, out = -1;
    int rc = -1;

    if (!live_wanted (site))
        return 0;
    if (enter (&p, site->live_fabric, err) < 0)
        goto out;
    if ((lock = take_turn (&p, err)) < 0) {
        rc = errno == EAGAIN ? 0 : -1;
        goto out;
    }
    unlinkat (p.dir, p.temp, 0); /* of one who was killed */
    out = openat (p.dir, p.temp,
                  O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (out < 0 || fchmod (out, 0644) < 0)
        error_errno (err, "cannot write %s/%s", p.path, p.temp);
    else if (start (&p, site->pmm, out, err) == 0)
        rc = 1;
    if (rc < 0)
        unlinkat (p.dir, p.temp, 0);
out:
    if (out >= 0)
        close (out);
    if (lock >= 0)
        close (lock);
    leave (&p);
    return rc;
}

static bool is_fresh (const struct stat *st, int64_t max_age_s)
{
    time_t now = time (NULL);

    /* clocks of two hosts may differ */
    return now - st->st_mtime <= max_age_s;
}

/* Whether a reading is under way. */
static bool is_read (const char *path)
{
    struct stat st;
    char *temp;
    bool yes;

    if (asprintf (&temp, "%s.new", path) < 0)
        return false;
    yes = lstat (temp, &st) == 0 && is_fresh (&st, LIVE_TIMEOUT_S);
    free (temp);
    return yes;
}

FILE *live_open (const struct site *site, int wait_ms, struct error *err)
{
    const char *path = site->live_fabric;
    struct stat st;
    FILE *fp;

    for (; wait_ms > 0 && is_read (path); wait_ms -= TICK_MS)
        poll (NULL, 0, TICK_MS);
    if (!(fp = file_open_trusted (path, 0, err)))
        return NULL;
    if (fstat (fileno (fp), &st) == 0
        && is_fresh (&st, LIVE_EVERY_S + LIVE_TIMEOUT_S))
        return fp;
    error_world (err, "%s is old: the live fabric could not be read", path);
    file_close_input (fp);
    return NULL;
}
