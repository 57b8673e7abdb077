/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The nested job step.
 *
 * Notes: srun has threads that wait for its signals with sigwait, and it
 * loses those that come before its tasks are started. So ours are unblocked,
 * with a handler, in ppoll alone: the kernel prefers the main thread.
 *
 * A nested srun is ended by SIGTERM; should it not heed that, by SIGKILL to it
 * alone, for it has a child that then ends the step; then what is left of its
 * process group. Its output is not read to the end of file, since others of
 * the group may hold it open, but to srun's own end.
 *
 * The child of a process with threads may only make system calls: all that
 * it needs is made before the fork.
 */
#include "config.h"
#include "spank/step.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "util/progress.h"
#include "util/text.h"

enum {
    LINE_BYTES = 1024,    /* of a line, the rest is cut */
    LINES_MAX = 500,      /* forwarded */
    TICK_MS = 20,         /* between looks whether srun has ended */
    RESULT_GRACE_MS = 5000, /* for srun to end when the result is there */
    TERM_GRACE_MS = 5000, /* from SIGTERM to SIGKILL */
    KILL_GRACE_MS = 500,  /* from there to the process group */
    CANCEL_GRACE_MS = 1000, /* from the step's cancelling to ours */
};

static int64_t now_ms (void)
{
    struct timespec t;

    clock_gettime (CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/*
 * Signals
 */

static const int stop_signals[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM };

enum { STOP_SIGNALS = sizeof (stop_signals) / sizeof (stop_signals[0]) };

static struct sigaction old_action[STOP_SIGNALS];
static sigset_t old_mask;
static sigset_t wait_mask;
static volatile sig_atomic_t stopped;

static void stop (int sig)
{
    stopped = sig;
}

void step_catch (void)
{
    struct sigaction action = { .sa_handler = stop };
    sigset_t block;

    stopped = 0;
    sigemptyset (&block);
    for (int i = 0; i < STOP_SIGNALS; i++)
        sigaddset (&block, stop_signals[i]);
    pthread_sigmask (SIG_BLOCK, &block, &old_mask);
    wait_mask = old_mask;
    for (int i = 0; i < STOP_SIGNALS; i++) {
        sigdelset (&wait_mask, stop_signals[i]);
        sigaction (stop_signals[i], NULL, &old_action[i]);
        if (old_action[i].sa_handler != SIG_IGN) /* nohup, background */
            sigaction (stop_signals[i], &action, NULL);
    }
}

int step_release (void)
{
    for (int i = 0; i < STOP_SIGNALS; i++)
        sigaction (stop_signals[i], &old_action[i], NULL);
    pthread_sigmask (SIG_SETMASK, &old_mask, NULL);
    return stopped;
}

int step_pause (int ms)
{
    int64_t end = now_ms () + ms;
    int64_t left;

    while (!stopped && (left = end - now_ms ()) > 0) {
        struct timespec t = { left / 1000, left % 1000 * 1000000 };

        ppoll (NULL, 0, &t, &wait_mask);
    }
    return stopped ? -1 : 0;
}

/*
 * Environment and arguments
 */

struct strings {
    char **v;
    size_t count;
    size_t size;
    bool failed;
};

__attribute__ ((format (printf, 2, 3))) static void
add (struct strings *s, const char *fmt, ...)
{
    va_list ap;

    if (s->count + 2 > s->size) {
        size_t size = s->size ? 2 * s->size : 32;
        char **v = realloc (s->v, size * sizeof (*v));

        if (!v) {
            s->failed = true;
            return;
        }
        s->v = v;
        s->size = size;
    }
    va_start (ap, fmt);
    if (vasprintf (&s->v[s->count], fmt, ap) < 0) {
        s->failed = true;
        s->v[s->count] = NULL;
    }
    else
        s->v[++s->count] = NULL;
    va_end (ap);
}

static char **finish (struct strings *s)
{
    if (!s->failed)
        return s->v;
    step_free (s->v);
    errno = ENOMEM;
    return NULL;
}

void step_free (char **v)
{
    for (char **p = v; p && *p; p++)
        free (*p);
    free (v);
}

char **step_environment (const struct step_env *env, int timeout_ms)
{
    static const char *const taken[] = {
        "HOME", "USER", "LOGNAME", "TERM",
        "SLURM_CONF",            /* which Slurm this is, ... */
        "SLURM_WORKING_CLUSTER", /* ... with -M */
    };
    struct strings s = { 0 };
    char value[2048];

    add (&s, "PATH=/usr/local/bin:/usr/bin:/bin");
    add (&s, "LC_ALL=C");
    for (size_t i = 0; i < sizeof (taken) / sizeof (taken[0]); i++)
        if (env->get (env->arg, taken[i], value, sizeof (value)) == 0)
            add (&s, "%s=%s", taken[i], value);
    add (&s, "%s=1", STEP_NESTED);
    add (&s, "SLURM_PMIX_TIMEOUT=%d", site_pmix_timeout_s (timeout_ms));
    return finish (&s);
}

static void add_output (struct strings *s, const char *dir)
{
    char cwd[PATH_MAX];

    add (s, "--output");
    if (*dir == '/' || !getcwd (cwd, sizeof (cwd)))
        add (s, "%s", dir);
    else
        add (s, "%s/%s", cwd, dir);
}

/* What pmm-probe gets of the time left: it ends before the watchdog bites,
 * to say what it waited for.
 */
static int probe_timeout_ms (int left_ms)
{
    return left_ms - (left_ms / 5 < 3000 ? left_ms / 5 : 3000);
}

char **step_arguments (const struct step *step, const char *nonce, int left_ms)
{
    static const char *const fixed[] = {
        "--overlap",         "--mpi=pmix",      "--ntasks-per-node=1",
        "--mem=0",           "--gres=none",     "--cpu-bind=none",
        "--propagate=NONE",  "--input=none",    "--chdir=/",
        "--kill-on-bad-exit=1", "--job-name=pmm-check", "--quiet",
    };
    const struct settings *set = step->settings;
    struct strings s = { 0 };

    add (&s, "%s", set->site.srun);
    add (&s, "--jobid=%" PRIu32, step->jobid);
    add (&s, "--nodes=%" PRIu32, step->nodes);
    add (&s, "--ntasks=%" PRIu32, step->nodes);
    for (size_t i = 0; i < sizeof (fixed) / sizeof (fixed[0]); i++)
        add (&s, "%s", fixed[i]);
    add (&s, "%s", set->site.probe);
    for (int i = 0; i < set->words; i++) {
        if (!strncasecmp (set->word[i], "conf=", 5)) {
            add (&s, "--conf");
            add (&s, "%s", set->word[i] + 5);
        }
        else {
            add (&s, "--set");
            add (&s, "%s", set->word[i]);
        }
    }
    add (&s, "--timeout");
    add (&s, "%.1f", probe_timeout_ms (left_ms) / 1e3);
    add (&s, "--nonce");
    add (&s, "%s", nonce);
    if (step->terminal)
        add (&s, "--progress");
    if (set->output)
        add_output (&s, set->output);
    return finish (&s);
}

/*
 * Output
 */

struct line {
    char text[LINE_BYTES];
    size_t len;
    bool cut;
};

struct run {
    const char *nonce;
    struct outcome *o;
    bool measured;       /* samples came before the result */
    bool said;           /* a result without samples: why there are none */
    int out;             /* srun's standard output and error; -1: closed */
    int err;
    struct line out_line;
    struct line err_line;
    int lines;           /* forwarded, */
    char last[LINE_BYTES]; /* of which this was the last: many nodes may say
                            the same */
    struct progress progress;
    char complaint[160]; /* of Slurm itself */
    bool cancelled;      /* the step was */
};

const char *step_clean_line (char *line)
{
    text_clean (line);
    return strncmp (line, "pmm", 3) ? "pmm: " : "";
}

static bool by_slurm (const char *line)
{
    return !strncmp (line, "srun: ", 6) || !strncmp (line, "slurm", 5);
}

/* The samples, one JSON object, or the result. */
static void take_result (struct run *run, struct line *line)
{
    if (line->text[0] == '{')
        run->measured = true;
    else if (!line->cut
             && outcome_parse_result (run->o, line->text, run->nonce)
             && !run->measured) {
        run->o->status = OUTCOME_NONE;
        run->said = true;
    }
}

/* How well a line of Slurm's explains that there is no result: that others
 * were ended, as the step was, is a consequence.
 */
static int weight (const char *line)
{
    static const struct {
        const char *part;
        int weight;
    } tab[] = {
        { " DUE TO ", 3 },
        { " CANCELLED AT ", 1 },
        { ": Terminated", 1 },
        { ": Killed", 1 },
        { ": Exited with exit code ", 2 },
    };

    if (!strstr (line, "error: "))
        return 0;
    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++)
        if (strstr (line, tab[i].part))
            return tab[i].weight;
    return 3;
}

/* What Slurm says matters only if there will be no result. */
static void take_message (struct run *run, struct line *line)
{
    const char *prefix = step_clean_line (line->text);
    uint64_t done;
    uint64_t total;

    if (!line->text[0])
        return;
    if (progress_parse (line->text, &done, &total))
        progress_show (&run->progress, done, total);
    else if (by_slurm (line->text)) {
        run->cancelled |= strstr (line->text, " CANCELLED AT ") != NULL;
        if (weight (line->text) > weight (run->complaint))
            snprintf (run->complaint, sizeof (run->complaint), "%.*s",
                      (int)sizeof (run->complaint) - 1, line->text);
    }
    else if (strcmp (line->text, run->last) && run->lines < LINES_MAX) {
        progress_hide (&run->progress);
        strcpy (run->last, line->text);
        dprintf (STDERR_FILENO, "%s%s\n", prefix, line->text);
        if (++run->lines == LINES_MAX)
            dprintf (STDERR_FILENO, "pmm: (more is left out)\n");
    }
}

/* Read what is there, at most a pipe's worth. Return -1 at its end. */
static int read_lines (struct run *run, int fd, struct line *line,
                       void (*take) (struct run *, struct line *))
{
    char buf[4096];

    for (int i = 0; i < 16; i++) {
        ssize_t n = read (fd, buf, sizeof (buf));

        if (n < 0)
            return errno == EAGAIN || errno == EINTR ? 0 : -1;
        if (n == 0)
            return -1;
        for (ssize_t k = 0; k < n; k++) {
            if (buf[k] == '\n') {
                line->text[line->len] = '\0';
                take (run, line);
                line->len = 0;
                line->cut = false;
            }
            else if (line->len < sizeof (line->text) - 1)
                line->text[line->len++] = buf[k];
            else
                line->cut = true;
        }
    }
    return 0;
}

static void close_fd (int *fd)
{
    if (*fd >= 0)
        close (*fd);
    *fd = -1;
}

static void read_all (struct run *run)
{
    if (run->out >= 0
        && read_lines (run, run->out, &run->out_line, take_result) < 0)
        close_fd (&run->out);
    if (run->err >= 0
        && read_lines (run, run->err, &run->err_line, take_message) < 0)
        close_fd (&run->err);
}

/*
 * The process
 */

struct launch {
    char **argv;
    char **env;
    pid_t parent;
    int null; /* for standard input */
    int out;
    int err;
};

static void close_from (unsigned int first)
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

__attribute__ ((noreturn)) static void child (const struct launch *l)
{
    struct sigaction action = { .sa_handler = SIG_DFL };
    sigset_t none;

    setpgid (0, 0);
    /* should we die, srun ends, and its step with it */
    prctl (PR_SET_PDEATHSIG, SIGTERM);
    if (getppid () != l->parent)
        _exit (127);
    for (int sig = 1; sig < NSIG; sig++)
        sigaction (sig, &action, NULL);
    if (dup2 (l->null, STDIN_FILENO) < 0 || dup2 (l->out, STDOUT_FILENO) < 0
        || dup2 (l->err, STDERR_FILENO) < 0)
        _exit (127);
    close_from (3);
    sigemptyset (&none);
    sigprocmask (SIG_SETMASK, &none, NULL);
    execve (l->argv[0], l->argv, l->env);
    _exit (127);
}

/* Move fd away from 0, 1 and 2, which the child replaces. */
static int move_up (int fd)
{
    int up = fcntl (fd, F_DUPFD_CLOEXEC, 3);

    close (fd);
    return up;
}

/* A pipe that we read without waiting: *to_read, *to_write, or both -1. */
static int open_pipe (int *to_read, int *to_write)
{
    int fd[2];

    if (pipe2 (fd, O_CLOEXEC) < 0)
        return -1;
    *to_read = move_up (fd[0]);
    *to_write = move_up (fd[1]);
    if (*to_read >= 0 && *to_write >= 0
        && fcntl (*to_read, F_SETFL, O_NONBLOCK) == 0)
        return 0;
    close_fd (to_read);
    close_fd (to_write);
    return -1;
}

/* Start argv, and read from run->out and run->err what it says. Return its
 * process id, or -1.
 */
static pid_t launch (struct run *run, char **argv, char **env)
{
    struct launch l = { argv, env, getpid (), -1, -1, -1 };
    int null = open ("/dev/null", O_RDONLY | O_CLOEXEC);
    pid_t pid = -1;
    sigset_t all;
    sigset_t mask;

    if (null >= 0 && (l.null = move_up (null)) >= 0
        && open_pipe (&run->out, &l.out) == 0
        && open_pipe (&run->err, &l.err) == 0) {
        sigfillset (&all);
        pthread_sigmask (SIG_SETMASK, &all, &mask);
        if ((pid = fork ()) == 0)
            child (&l);
        pthread_sigmask (SIG_SETMASK, &mask, NULL);
        if (pid > 0)
            setpgid (pid, pid); /* by both: whoever is first */
    }
    close_fd (&l.null);
    close_fd (&l.out);
    close_fd (&l.err);
    return pid;
}

/* True if the process has ended; it is not reaped, so that its process group
 * cannot be another's. A process that somebody else reaped has ended, too.
 */
static bool has_ended (pid_t pid)
{
    siginfo_t info = { 0 };

    return waitid (P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0
           || info.si_pid == pid;
}

enum end { ENDED, TIMED_OUT, STOPPED };

/* See the process through to its end, which is due at `deadline`. Return who
 * ended it.
 */
static enum end watch (struct run *run, pid_t pid, int64_t deadline)
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
    size_t blows = 0;
    enum end end = ENDED;
    bool result = false;

    while (!has_ended (pid)) {
        struct pollfd fds[] = {
            { .fd = run->out, .events = POLLIN },
            { .fd = run->err, .events = POLLIN },
        };
        struct timespec t = { 0, TICK_MS * 1000000 };
        int64_t now = now_ms ();

        if (!result && run->o->status != OUTCOME_NONE) {
            result = true;
            if (deadline > now + RESULT_GRACE_MS)
                deadline = now + RESULT_GRACE_MS;
        }
        if (stopped && end != STOPPED) {
            end = STOPPED;
            if (blows == 0)
                deadline = now;
        }
        if (now >= deadline) {
            if (blows == sizeof (blow) / sizeof (blow[0]))
                break;
            if (end == ENDED)
                end = TIMED_OUT;
            kill (blow[blows].pid, blow[blows].sig);
            deadline = now + blow[blows++].grace_ms;
        }
        ppoll (fds, 2, &t, &wait_mask);
        read_all (run);
    }
    read_all (run);
    if (blows > 0) {
        /* a moment for the child of srun that ends the step */
        poll (NULL, 0, KILL_GRACE_MS);
        kill (-pid, SIGKILL);
    }
    return end;
}

/* Why there is no result. */
static void explain (struct run *run, const struct site *site, enum end end,
                     int status)
{
    static const struct {
        const char *part; /* of what Slurm says */
        const char *text;
    } known[] = {
        { "--mpi=list", "this Slurm has no PMIx (srun --mpi=list)" },
        { "plugin name for mpi/", "this Slurm has no PMIx (srun --mpi=list)" },
    };
    const char *detail = run->complaint;

    for (size_t i = 0; i < sizeof (known) / sizeof (known[0]); i++)
        if (strstr (detail, known[i].part)) {
            outcome_set (run->o, OUTCOME_NONE, "%s", known[i].text);
            return;
        }
    if (end == STOPPED)
        outcome_set (run->o, OUTCOME_NONE, "the check was interrupted");
    else if (end == TIMED_OUT)
        outcome_set (run->o, OUTCOME_NONE, "no result within %g s%s%s",
                     site->timeout_ms / 1e3, *detail ? "; " : "", detail);
    else if (WIFEXITED (status) && WEXITSTATUS (status) == 127)
        outcome_set (run->o, OUTCOME_NONE, "cannot run %.200s", site->srun);
    else
        outcome_set (run->o, OUTCOME_NONE,
                     "the check ended without a result%s%s",
                     *detail ? "; " : "", detail);
}

static enum end run_once (const struct step *step, const struct step_env *env,
                          int64_t deadline, struct outcome *o)
{
    const struct site *site = &step->settings->site;
    unsigned char random[(STEP_NONCE - 1) / 2];
    char nonce[STEP_NONCE];
    struct run run = { .nonce = nonce, .o = o, .out = -1, .err = -1 };
    char **argv = NULL;
    char **envp = NULL;
    enum end end = STOPPED;
    int status = 0;
    pid_t pid;

    outcome_set (o, OUTCOME_NONE, "cannot start a process");
    if (getrandom (random, sizeof (random), 0) != sizeof (random))
        return end;
    for (size_t i = 0; i < sizeof (random); i++)
        snprintf (nonce + 2 * i, 3, "%02x", random[i]);
    argv = step_arguments (step, nonce, (int)(deadline - now_ms ()));
    envp = step_environment (env, site->timeout_ms);
    if (argv && envp && (pid = launch (&run, argv, envp)) > 0) {
        run.progress = progress_begin (step->terminal ? stderr : NULL,
                                       "pmm: step");
        end = watch (&run, pid, deadline);
        progress_end (&run.progress);
        while (waitpid (pid, &status, WNOHANG) < 0 && errno == EINTR)
            ;
        if (o->status == OUTCOME_NONE && !run.said) {
            /* who cancels the job has a signal for us, too */
            if (run.cancelled && step_pause (CANCEL_GRACE_MS) < 0)
                end = STOPPED;
            explain (&run, site, end, status);
        }
    }
    close_fd (&run.out);
    close_fd (&run.err);
    step_free (argv);
    step_free (envp);
    return end;
}

void step_run (const struct step *step, const struct step_env *env,
               struct outcome *o)
{
    int timeout_ms = step->settings->site.timeout_ms;
    int64_t start = now_ms ();
    int64_t deadline = start + timeout_ms;
    int64_t took;
    enum end end;

    if (stopped) {
        outcome_set (o, OUTCOME_NONE, "the check was interrupted");
        return;
    }
    end = run_once (step, env, deadline, o);
    took = now_ms () - start;
    /* PMIx sometimes loses a message of an ordinary user's first fence, and
     * gives up after its timeout. What fails sooner would fail again.
     */
    if (o->status == OUTCOME_NONE && end == ENDED
        && took >= site_pmix_timeout_s (timeout_ms) * 1000
        && start + 2 * took <= deadline)
        run_once (step, env, deadline, o);
}
