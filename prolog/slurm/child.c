/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A call in a child process.
 *
 * Notes. The answer, or an error's sentence, goes to a file in memory. Printed
 * output goes to another such file. Unlike a pipe, these are never full. The
 * first byte of the answer gives its kind. It is written last: if it is
 * missing, the child died.
 */
#include "config.h"
#include "prolog/slurm/child.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/alloc.h"
#include "util/clock.h"
#include "util/program.h"
#include "util/text.h"

enum {
    SAID_BYTES = 256,   /* of the last printed line */
    REAP_MS = 1000,     /* for a killed child to end */
    TICK_MAX_MS = 50,
};

enum said { DIED, ANSWER, BAD_INPUT, BAD_WORLD }; /* the first byte */

/*
 * The child
 */

enum { FD_ANSWER = 3, FD_FIRST_CLOSED };

__attribute__ ((noreturn)) static void
be_child (child_f fn, const void *arg, pid_t parent, int answer, int printed)
{
    int answer_high = fcntl (answer, F_DUPFD, FD_FIRST_CLOSED);
    int printed_high = fcntl (printed, F_DUPFD, FD_FIRST_CLOSED);
    int null = open ("/dev/null", O_RDONLY);
    struct error err = { .fault = ERROR_WORLD };
    char said = ANSWER;
    FILE *out;

    prctl (PR_SET_PDEATHSIG, SIGKILL);
    program_reset_signals ();
    if (getppid () != parent || dup2 (null, 0) < 0
        || dup2 (printed_high, 1) < 0 || dup2 (printed_high, 2) < 0
        || dup2 (answer_high, FD_ANSWER) < 0
        || !(out = fdopen (FD_ANSWER, "w")))
        _exit (EXIT_FAILURE);
    program_close_from (FD_FIRST_CLOSED);
    putc (DIED, out);
    if (fn (out, arg, &err) < 0) {
        said = err.fault == ERROR_INPUT ? BAD_INPUT : BAD_WORLD;
        rewind (out);
        if (ftruncate (FD_ANSWER, 1) == 0)
            fprintf (out, "%c%s", DIED, err.text);
    }
    if (fflush (out) == EOF || ferror (out)
        || pwrite (FD_ANSWER, &said, 1, 0) != 1)
        _exit (EXIT_FAILURE);
    _exit (EXIT_SUCCESS);
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

/* The last printed line, without trailing blanks. */
static char *last_line (int printed, char buf[SAID_BYTES])
{
    off_t size = lseek (printed, 0, SEEK_END);
    off_t from = size < SAID_BYTES ? 0 : size - SAID_BYTES + 1;
    ssize_t n = pread (printed, buf, SAID_BYTES - 1, from);
    char *line;

    if (n < 0)
        n = 0;
    while (n > 0 && (buf[n - 1] == '\n' || buf[n - 1] == ' '))
        n--;
    buf[n] = '\0';
    line = strrchr (buf, '\n');
    return text_clean (line ? line + 1 : buf);
}

/* Wait until the child ends, at most wait_ms. Return whether it has ended. */
static bool has_ended (pid_t pid, int wait_ms, int *status)
{
    int64_t begin = clock_ms ();

    while (waitpid (pid, status, WNOHANG) == 0) {
        int64_t ms = clock_ms () - begin;

        if (ms >= wait_ms)
            return false;
        poll (NULL, 0, ms < 8 * TICK_MAX_MS ? (int)ms / 8 + 1 : TICK_MAX_MS);
    }
    return true;
}

static int died (int status, int printed, struct error *err)
{
    char buf[SAID_BYTES];
    const char *line = last_line (printed, buf);

    if (*line)
        return error_world (err, "%s", line);
    if (WIFSIGNALED (status))
        return error_world (err, "ended by signal %d", WTERMSIG (status));
    return error_world (err, "ended with status %d", WEXITSTATUS (status));
}

/* Read the answer of a child that has ended. */
static int take_answer (struct child_answer *a, int fd, int printed,
                        int status, struct error *err)
{
    off_t size = lseek (fd, 0, SEEK_END);
    char said = DIED;
    char *text;

    if (pread (fd, &said, 1, 0) < 1 || said == DIED)
        return died (status, printed, err);
    if (size > CHILD_OUT_MAX)
        return error_world (err, "its result has more than %d bytes",
                            CHILD_OUT_MAX);
    text = xcalloc ((size_t)size, 1);
    if (pread (fd, text, (size_t)size - 1, 1) != size - 1)
        error_world (err, "its result cannot be read");
    else if (said == ANSWER) {
        *a = (struct child_answer){ .text = text, .len = (size_t)size - 1 };
        for (char *s = text; s < text + a->len; s += strlen (s) + 1) {
            a->v = xgrow (a->v, a->n, sizeof (*a->v));
            a->v[a->n++] = s;
        }
        return 0;
    }
    else if (said == BAD_INPUT)
        error_input (err, "%s", text);
    else
        error_world (err, "%s", text);
    free (text);
    return -1;
}

uint64_t child_number (const struct child_answer *a, size_t i)
{
    return strtoull (a->v[i], NULL, 10);
}

void child_clear (struct child_answer *a)
{
    free (a->text);
    free (a->v);
    *a = (struct child_answer){ 0 };
}

int child_call (child_f fn, const void *arg, int timeout_ms,
                struct child_answer *answer, struct error *err)
{
    int fd = memfd_create ("answer", MFD_CLOEXEC);
    int printed = memfd_create ("printed", MFD_CLOEXEC);
    pid_t parent = getpid ();
    pid_t pid = fd < 0 || printed < 0 ? -1 : fork ();
    char buf[SAID_BYTES];
    int status = 0;
    int rc = -1;

    if (pid == 0)
        be_child (fn, arg, parent, fd, printed);
    if (pid < 0)
        error_errno (err, "cannot start a process");
    else if (has_ended (pid, timeout_ms, &status))
        rc = take_answer (answer, fd, printed, status, err);
    else {
        const char *line = last_line (printed, buf);

        error_world (err, "no answer in %g s%s%s", timeout_ms / 1e3,
                     *line ? ": " : "", line);
        kill (pid, SIGKILL);
        has_ended (pid, REAP_MS, &status); /* unless it hangs in the kernel */
    }
    if (fd >= 0)
        close (fd);
    if (printed >= 0)
        close (printed);
    return rc;
}
