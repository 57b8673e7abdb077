/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Run a program under a watchdog.
 *
 * Notes: to end the program, it gets SIGTERM; if that has no effect, SIGKILL,
 * but only the program itself, because srun has a child that then ends the
 * step; then the rest of its process group gets SIGKILL. Its output is read
 * until the program ends and not to the end of file, since other processes of
 * the group may keep it open.
 *
 * The child of a process with threads may only make system calls, so all that
 * it needs is prepared before the fork.
 */
#include "config.h"
#include "util/program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "util/clock.h"

enum {
    TICK_MS = 20,           /* how often to check if it has ended */
    DONE_GRACE_MS = 5000,   /* for it to end by itself after `done` */
    TERM_GRACE_MS = 5000,   /* from SIGTERM to SIGKILL */
    KILL_GRACE_MS = 500,    /* from there to SIGKILL of the process group */
    PIPE_READS = 16,        /* of READ_BYTES: the size of a pipe */
    READ_BYTES = 4096,
    FILES_ENOUGH = 4096,    /* more costs time: some programs close them all */
};

static void close_fd (int *fd)
{
    if (*fd >= 0)
        close (*fd);
    *fd = -1;
}

/*
 * The process
 */

struct output {
    int fd; /* -1: it has ended */
    void (*take) (void *arg, struct program_line *line);
    void *arg;
    struct program_line line; /* as far as it has come */
};

struct launch {
    const struct program *program;
    pid_t parent;
    int in; /* for standard input */
    int to[PROGRAM_STREAMS];
};

void program_reset_signals (void)
{
    struct sigaction action = { .sa_handler = SIG_DFL };
    sigset_t none;

    for (int sig = 1; sig < NSIG; sig++)
        sigaction (sig, &action, NULL); /* fails for some signals */
    sigemptyset (&none);
    sigprocmask (SIG_SETMASK, &none, NULL);
}

void program_close_from (unsigned int first)
{
    struct rlimit limit = { 1024, 1024 };

#ifdef SYS_close_range
    if (syscall (SYS_close_range, first, ~0U, 0) == 0)
        return;
#endif
    getrlimit (RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur > 1 << 20)
        limit.rlim_cur = 1 << 20;
    for (unsigned int fd = first; fd < limit.rlim_cur; fd++)
        close ((int)fd);
}

void program_add (struct program_words *w, const char *fmt, ...)
{
    char **v = realloc (w->v, (w->n + 2) * sizeof (*v));
    int len = -1;
    va_list ap;

    if (v) {
        w->v = v;
        va_start (ap, fmt);
        len = vasprintf (&v[w->n], fmt, ap);
        va_end (ap);
        w->n += len >= 0;
        v[w->n] = NULL;
    }
    w->failed |= len < 0;
}

void program_add_list (struct program_words *w, const char *const *word)
{
    while (*word)
        program_add (w, "%s", *word++);
}

char **program_words_end (struct program_words *w)
{
    if (!w->failed)
        return w->v;
    program_free (w->v);
    errno = ENOMEM;
    return NULL;
}

void program_free (char **v)
{
    for (char **p = v; p && *p; p++)
        free (*p);
    free (v);
}

/* A user's `ulimit` is meant for the job, not for the check. */
static void lift_limits (void)
{
    struct rlimit limit;

    for (int i = 0; i < RLIM_NLIMITS; i++) {
        if (i == RLIMIT_STACK || getrlimit (i, &limit) < 0)
            continue;
        if (i == RLIMIT_CORE)
            limit.rlim_cur = 0;
        else if (i != RLIMIT_NOFILE || limit.rlim_max < FILES_ENOUGH)
            limit.rlim_cur = limit.rlim_max;
        else if (limit.rlim_cur < FILES_ENOUGH)
            limit.rlim_cur = FILES_ENOUGH;
        setrlimit (i, &limit);
    }
}

__attribute__ ((noreturn)) static void become (const struct launch *l)
{
    setpgid (0, 0);
    /* if we die, srun ends, and its step too */
    prctl (PR_SET_PDEATHSIG, SIGTERM);
    if (getppid () != l->parent)
        _exit (127);
    if (dup2 (l->in, STDIN_FILENO) < 0
        || dup2 (l->to[PROGRAM_OUT], STDOUT_FILENO) < 0
        || dup2 (l->to[PROGRAM_ERR], STDERR_FILENO) < 0)
        _exit (127);
    program_close_from (3);
    lift_limits ();
    program_reset_signals ();
    if (l->program->run)
        l->program->run (l->program->arg);
    execve (l->program->argv[0], l->program->argv, l->program->env);
    _exit (127);
}

/* Move fd away from 0, 1 and 2, which the child replaces. */
static int move_up (int fd)
{
    int up = fcntl (fd, F_DUPFD_CLOEXEC, 3);

    close (fd);
    return up;
}

/* Open a pipe that is read without blocking. */
static int open_pipe (int *to_read, int *to_write)
{
    int fd[2];

    if (pipe2 (fd, O_CLOEXEC) < 0)
        return -1;
    *to_read = move_up (fd[0]);
    *to_write = move_up (fd[1]);
    return *to_read < 0 || *to_write < 0 ? -1
                                         : fcntl (*to_read, F_SETFL,
                                                  O_NONBLOCK);
}

/* A file with this text, or with none. */
static int open_input (const char *text)
{
    int fd = text ? memfd_create ("input", MFD_CLOEXEC)
                  : open ("/dev/null", O_RDONLY | O_CLOEXEC);

    if (fd >= 0 && text
        && pwrite (fd, text, strlen (text), 0) != (ssize_t)strlen (text)) {
        close (fd);
        return -1;
    }
    return fd < 0 ? -1 : move_up (fd);
}

/* Start the program; its output is read at out[].fd. Return its process id, or
 * -1.
 */
static pid_t launch (const struct program *program,
                     struct output out[PROGRAM_STREAMS])
{
    struct launch l = { program, getpid (), -1, { -1, -1 } };
    pid_t pid = -1;
    int saved_errno;
    sigset_t all, mask;

    if ((l.in = open_input (program->input)) >= 0
        && open_pipe (&out[PROGRAM_OUT].fd, &l.to[PROGRAM_OUT]) == 0
        && open_pipe (&out[PROGRAM_ERR].fd, &l.to[PROGRAM_ERR]) == 0) {
        sigfillset (&all);
        pthread_sigmask (SIG_SETMASK, &all, &mask);
        if ((pid = fork ()) == 0)
            become (&l);
        pthread_sigmask (SIG_SETMASK, &mask, NULL);
        if (pid > 0)
            setpgid (pid, pid); /* in parent and child: either may be first */
    }
    saved_errno = errno;
    close_fd (&l.in);
    close_fd (&l.to[PROGRAM_OUT]);
    close_fd (&l.to[PROGRAM_ERR]);
    errno = saved_errno;
    return pid;
}

/* True if the process has ended. It is not reaped, so that its process group id
 * cannot be reused. A process that was reaped elsewhere has ended too.
 */
static bool has_ended (pid_t pid)
{
    siginfo_t info = { 0 };

    return waitid (P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0
           || info.si_pid == pid;
}

/*
 * Its output
 */

static void end_line (struct output *out)
{
    out->line.text[out->line.len] = '\0';
    if (out->take)
        out->take (out->arg, &out->line);
    out->line.len = 0;
    out->line.cut = false;
}

static void split_lines (struct output *out, const char *data, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (data[i] == '\n')
            end_line (out);
        else if (out->line.len < sizeof (out->line.text) - 1)
            out->line.text[out->line.len++] = data[i];
        else
            out->line.cut = true;
}

/* Pass on the data that is available, standard error first: srun tells there
 * whose output comes.
 */
static void read_streams (struct output out[PROGRAM_STREAMS])
{
    for (int from = PROGRAM_STREAMS; from-- > 0;)
        for (int i = 0; i < PIPE_READS && out[from].fd >= 0; i++) {
            char buf[READ_BYTES];
            ssize_t n = read (out[from].fd, buf, sizeof (buf));

            if (n < 0 && (errno == EAGAIN || errno == EINTR))
                break;
            if (n <= 0)
                close_fd (&out[from].fd);
            else
                split_lines (&out[from], buf, (size_t)n);
        }
}

/*
 * The watchdog
 */

/* Watch the process until it ends, or end it. Return how it ended. */
static enum program_end watch_process (const struct program *program, pid_t pid,
                                       struct output out[PROGRAM_STREAMS])
{
    const struct {
        int sig;
        pid_t pid;
        int grace_ms;
    } blow[] = {
        { SIGTERM, pid, TERM_GRACE_MS },
        { SIGKILL, pid, KILL_GRACE_MS },
        { SIGKILL, -pid, KILL_GRACE_MS },
    };
    int64_t deadline = program->deadline_ms;
    size_t blows = 0;
    enum program_end end = PROGRAM_ENDED;
    bool done = false;

    while (!has_ended (pid)) {
        struct pollfd fds[] = {
            { .fd = out[PROGRAM_OUT].fd, .events = POLLIN },
            { .fd = out[PROGRAM_ERR].fd, .events = POLLIN },
        };
        struct timespec t = { 0, TICK_MS * 1000000 };
        int64_t now = clock_ms ();

        if (!done && program->done && program->done (program->arg)) {
            done = true;
            if (deadline > now + DONE_GRACE_MS)
                deadline = now + DONE_GRACE_MS;
        }
        if (program->stop && *program->stop && end != PROGRAM_STOPPED) {
            end = PROGRAM_STOPPED;
            if (blows == 0)
                deadline = now;
        }
        if (now >= deadline) {
            if (blows == sizeof (blow) / sizeof (blow[0]))
                break;
            if (end == PROGRAM_ENDED)
                end = PROGRAM_TIMED_OUT;
            kill (blow[blows].pid, blow[blows].sig);
            deadline = now + blow[blows++].grace_ms;
        }
        ppoll (fds, PROGRAM_STREAMS, &t, program->mask);
        read_streams (out);
    }
    read_streams (out);
    for (int i = 0; i < PROGRAM_STREAMS; i++)
        if (out[i].line.len > 0) {
            out[i].line.cut = true;
            end_line (&out[i]);
        }
    if (blows > 0) {
        /* give srun's child some time to end the step */
        poll (NULL, 0, KILL_GRACE_MS);
        kill (-pid, SIGKILL);
    }
    return end;
}

enum program_end program_run (const struct program *program, int *status)
{
    struct output out[PROGRAM_STREAMS] = {
        { -1, program->take[PROGRAM_OUT], program->arg, .line.len = 0 },
        { -1, program->take[PROGRAM_ERR], program->arg, .line.len = 0 },
    };
    enum program_end end = PROGRAM_NONE;
    pid_t pid = launch (program, out);

    *status = 0;
    if (pid > 0) {
        end = watch_process (program, pid, out);
        while (waitpid (pid, status, WNOHANG) < 0 && errno == EINTR)
            ;
    }
    close_fd (&out[PROGRAM_OUT].fd);
    close_fd (&out[PROGRAM_ERR].fd);
    return end;
}
