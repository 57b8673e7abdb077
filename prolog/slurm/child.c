/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A call in a child process.
 *
 * Notes: what comes through the pipe is one byte, 0 or the fault of an error,
 * and then the result or the sentence. A child that ends without it has died.
 * What is printed goes to a file in memory, not to a pipe that could be full.
 */
#include "config.h"
#include "prolog/slurm/child.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/alloc.h"
#include "util/clock.h"
#include "util/text.h"

enum {
    READ_BYTES = 1 << 16,
    SAID_BYTES = 256,   /* of the last line that was printed */
    REAP_MS = 1000,     /* for a killed child to be gone */
};

/*
 * The child
 */

enum { FD_RESULT = 3, FD_FIRST_CLOSED };

static void reset_signals (void)
{
    struct sigaction action = { .sa_handler = SIG_DFL };
    sigset_t none;

    for (int sig = 1; sig < NSIG; sig++)
        sigaction (sig, &action, NULL); /* fails for some: no matter */
    sigemptyset (&none);
    sigprocmask (SIG_SETMASK, &none, NULL);
}

/* result and said are above FD_RESULT. */
static int set_up (pid_t parent, int result, int said)
{
    int null;

    prctl (PR_SET_PDEATHSIG, SIGKILL);
    if (getppid () != parent)
        return -1;
    reset_signals ();
    if ((null = open ("/dev/null", O_RDONLY)) < 0 || dup2 (null, 0) < 0
        || dup2 (said, 1) < 0 || dup2 (said, 2) < 0
        || dup2 (result, FD_RESULT) < 0)
        return -1;
    return (int)syscall (SYS_close_range, FD_FIRST_CLOSED, ~0U, 0);
}

static void write_all (int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t k = write (fd, p, n);

        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            _exit (EXIT_FAILURE);
        p += k;
        n -= (size_t)k;
    }
}

static void in_child (child_f fn, const void *arg)
{
    struct error err = { .fault = ERROR_WORLD };
    char *text = NULL;
    size_t len = 0;
    FILE *out = xcheck (open_memstream (&text, &len));
    int rc = fn (out, arg, &err);
    char first = rc < 0 ? (char)err.fault : 0;

    xcheck (fclose (out) == 0 ? text : NULL);
    write_all (FD_RESULT, &first, 1);
    if (rc < 0)
        write_all (FD_RESULT, err.text, strlen (err.text));
    else
        write_all (FD_RESULT, text, len);
}

void child_put (FILE *out, const char *s)
{
    fputs (s ? s : "", out);
    putc ('\0', out);
}

void child_put_number (FILE *out, uint64_t n)
{
    fprintf (out, "%" PRIu64 "%c", n, '\0');
}

/*
 * The parent
 */

const char *child_next (struct child_answer *a)
{
    const char *s = a->text + a->at;

    if (a->at >= a->len)
        return NULL;
    a->at += strlen (s) + 1;
    return s;
}

int child_next_number (struct child_answer *a, uint64_t max, uint64_t *n)
{
    const char *s = child_next (a);

    return s ? text_u64 (s, 0, max, n) : -1;
}

/* The last line of what was printed, without blanks at its ends. */
static char *last_line (int said, char buf[SAID_BYTES])
{
    off_t size = lseek (said, 0, SEEK_END);
    off_t from = size < SAID_BYTES ? 0 : size - SAID_BYTES + 1;
    ssize_t n = pread (said, buf, SAID_BYTES - 1, from);
    char *line;

    if (n < 0)
        n = 0;
    while (n > 0 && (buf[n - 1] == '\n' || buf[n - 1] == ' '))
        n--;
    buf[n] = '\0';
    line = strrchr (buf, '\n');
    return text_clean (line ? line + 1 : buf);
}

static int late (int timeout_ms, int said, struct error *err)
{
    char buf[SAID_BYTES];
    const char *line = last_line (said, buf);

    return error_world (err, "no answer in %g s%s%s", timeout_ms / 1e3,
                        *line ? ": " : "", line);
}

/* Read to the end of file, which is the child's end. */
static int receive (struct child_answer *r, int fd, int said, int timeout_ms,
                    struct error *err)
{
    int64_t end = clock_ms () + timeout_ms;
    size_t size = 0;

    for (;;) {
        struct pollfd p = { fd, POLLIN, 0 };
        int64_t left = end - clock_ms ();
        ssize_t n;

        if (left <= 0)
            return late (timeout_ms, said, err);
        if (poll (&p, 1, (int)left) <= 0)
            continue;
        if (r->len > CHILD_OUT_MAX)
            return error_world (err, "its result has more than %d bytes",
                                CHILD_OUT_MAX);
        if (r->len + 1 >= size) {
            size = size ? 2 * size : READ_BYTES;
            r->text = xrealloc (r->text, size, 1);
        }
        n = read (fd, r->text + r->len, size - r->len - 1);
        if (n < 0 && errno != EINTR)
            return error_errno (err, "its result cannot be read");
        if (n == 0)
            return 0;
        if (n > 0)
            r->len += (size_t)n;
    }
}

/* A child that hangs in the kernel is left behind. */
static int reap (pid_t pid, int *status)
{
    for (int64_t end = clock_ms () + REAP_MS; clock_ms () < end;) {
        pid_t got = waitpid (pid, status, WNOHANG);

        if (got == pid)
            return 0;
        if (got < 0 && errno != EINTR)
            return -1;
        poll (NULL, 0, 1);
    }
    return -1;
}

static int died (int status, int said, struct error *err)
{
    char buf[SAID_BYTES];
    const char *line = last_line (said, buf);

    if (*line)
        return error_world (err, "%s", line);
    if (WIFSIGNALED (status))
        return error_world (err, "ended by signal %d", WTERMSIG (status));
    return error_world (err, "ended with status %d", WEXITSTATUS (status));
}

static int finish (pid_t pid, struct child_answer *r, int said,
                   struct error *err)
{
    int status = 0;

    reap (pid, &status);
    if (r->len == 0)
        return died (status, said, err);
    r->text[r->len] = '\0';
    if (r->text[0] == 0) {
        memmove (r->text, r->text + 1, r->len--);
        return 0;
    }
    return r->text[0] == ERROR_INPUT ? error_input (err, "%s", r->text + 1)
                                     : error_world (err, "%s", r->text + 1);
}

int child_call (child_f fn, const void *arg, int timeout_ms,
                struct child_answer *answer, struct error *err)
{
    struct child_answer r = { 0 };
    int fd[2] = { -1, -1 };
    int said = -1;
    int rc = -1;
    pid_t parent = getpid ();
    pid_t pid = -1;
    int status;

    if (pipe2 (fd, O_CLOEXEC) < 0
        || (said = memfd_create ("said", MFD_CLOEXEC)) < 0
        || (pid = fork ()) < 0) {
        error_errno (err, "no process for it");
        goto done;
    }
    if (pid == 0) {
        int high = fcntl (fd[1], F_DUPFD, FD_FIRST_CLOSED);
        int said_high = fcntl (said, F_DUPFD, FD_FIRST_CLOSED);

        if (high < 0 || said_high < 0 || set_up (parent, high, said_high) < 0)
            _exit (EXIT_FAILURE);
        in_child (fn, arg);
        _exit (EXIT_SUCCESS);
    }
    close (fd[1]);
    fd[1] = -1;
    if (receive (&r, fd[0], said, timeout_ms, err) == 0)
        rc = finish (pid, &r, said, err);
    else if (kill (pid, SIGKILL) == 0)
        reap (pid, &status);
done:
    for (int i = 0; i < 2; i++)
        if (fd[i] >= 0)
            close (fd[i]);
    if (said >= 0)
        close (said);
    if (rc < 0)
        free (r.text);
    else
        *answer = r;
    return rc;
}
