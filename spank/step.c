/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The nested job step.
 *
 * Notes: srun has threads that wait for its signals with sigwait, and it loses
 * signals that arrive before its tasks are started. So we set a handler and
 * unblock the signals only in ppoll: the kernel prefers the main thread.
 */
#include "config.h"
#include "spank/check.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/progress.h"
#include "util/srun.h"
#include "util/text.h"

enum {
    LINES_MAX = 500,        /* forwarded */
    CANCEL_GRACE_MS = 1000, /* from the step's cancellation to our signal */
    RETRY_SLACK_MS = 1000,  /* that a second try may take longer */
};

/*
 * Signals
 */

static const int stop_signals[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM };

enum { STOP_SIGNALS = sizeof (stop_signals) / sizeof (stop_signals[0]) };

static struct sigaction old_action[STOP_SIGNALS];
static sigset_t old_mask;
static sigset_t wait_mask;
static volatile sig_atomic_t stopped;

static void on_step_signal (int sig)
{
    stopped = sig;
}

void step_catch (void)
{
    struct sigaction action = { .sa_handler = on_step_signal };
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
    int64_t end = clock_ms () + ms;
    int64_t left;

    while (!stopped && (left = end - clock_ms ()) > 0) {
        struct timespec t = { left / 1000, left % 1000 * 1000000 };

        ppoll (NULL, 0, &t, &wait_mask);
    }
    return stopped ? -1 : 0;
}

/*
 * Environment and arguments
 */

int job_getenv (const struct job *job, const char *name, char *buf, int size)
{
    const char *value;

    if (job->sp)
        return spank_getenv (job->sp, name, buf, size) == ESPANK_SUCCESS ? 0
                                                                         : -1;
    if (!(value = getenv (name)) || strlen (value) >= (size_t)size)
        return -1;
    strcpy (buf, value);
    return 0;
}

char **step_environment (const struct job *job)
{
    static const char *const taken[] = {
        "HOME", "USER", "LOGNAME", "TERM",
        "SLURM_CONF",            /* which Slurm: its slurm.conf */
        "SLURM_CONF_SERVER",     /* without a slurm.conf on this machine */
        "SLURM_SACK_SOCKET",     /* without munge */
        "SLURM_WORKING_CLUSTER", /* with -M */
    };
    struct program_words s = { 0 };
    char value[2048];

    program_add_all (&s, "PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C");
    for (size_t i = 0; i < sizeof (taken) / sizeof (taken[0]); i++)
        if (job_getenv (job, taken[i], value, sizeof (value)) == 0)
            program_add (&s, "%s=%s", taken[i], value);
    srun_mark_nested (&s);
    program_add (&s, "SLURM_PMIX_TIMEOUT=%d",
                 site_meet_timeout_s (job->settings.site.timeout_ms));
    return program_words_end (&s);
}

char **step_arguments (const struct job *job, const char *mpi,
                       const char *nonce, int left_ms)
{
    const struct settings *set = &job->settings;
    struct program_words s = { 0 };
    char cwd[PATH_MAX];

    program_add (&s, "%s", set->site.srun);
    program_add (&s, "--jobid=%" PRIu32, job->id);
    program_add (&s, "--nodes=%" PRIu32, job->nodes);
    program_add (&s, "--ntasks=%" PRIu32, job->nodes);
    program_add (&s, "--mpi=%s", mpi);
    program_add_all (&s, "--overlap", "--ntasks-per-node=1", "--mem=0",
                     "--gres=none", "--cpu-bind=none", "--propagate=NONE",
                     "--input=none", "--chdir=/", "--kill-on-bad-exit=1",
                     "--job-name=pmm-check", "--quiet", set->site.probe);
    for (int i = 0; i < set->words; i++)
        if (!strncasecmp (set->word[i], "conf=", 5))
            program_add_all (&s, "--conf", set->word[i] + 5);
        else
            program_add_all (&s, "--set", set->word[i]);
    program_add (&s, "--timeout");
    program_add (&s, "%.1f", site_probe_timeout_ms (left_ms) / 1e3);
    program_add_all (&s, "--nonce", nonce);
    if (set->check.rates)
        program_add (&s, "--rates=all");
    if (job->terminal)
        program_add (&s, "--progress");
    if (set->output) {
        program_add (&s, settings_one_file (set) ? "--result" : "--output");
        if (*set->output == '/' || !getcwd (cwd, sizeof (cwd)))
            program_add (&s, "%s", set->output);
        else
            program_add (&s, "%s/%s", cwd, set->output);
    }
    return program_words_end (&s);
}

/*
 * Output
 */

struct run {
    const char *nonce;
    struct outcome *o;
    bool measured;       /* samples came before the result */
    bool said;           /* a result without samples: it has the reason */
    bool nothing;        /* ... which is that there is nothing to measure */
    int lines;           /* forwarded */
    char last[PROGRAM_LINE]; /* the last of these: many nodes may print the
                            same line */
    struct progress progress;
    struct srun_words srun;
};

const char *step_clean_line (char *line)
{
    text_clean (line);
    return strncmp (line, "pmm", 3) ? "pmm: " : "";
}

/* A line of standard output: the samples, one JSON object, or the result. */
static void take_result (void *arg, struct program_line *line)
{
    struct run *run = arg;

    if (line->text[0] == '{')
        run->measured = true;
    else if (!line->cut
             && outcome_parse_result (run->o, line->text, run->nonce)
             && !run->measured) {
        run->nothing = run->o->status == OUTCOME_OK;
        run->o->status = run->nothing ? OUTCOME_UNKNOWN : OUTCOME_NONE;
        run->said = true;
    }
}

/* A line of standard error. Slurm's messages are kept, not forwarded: they are
 * needed only if there is no result.
 */
static void read_step_message (void *arg, struct program_line *line)
{
    struct run *run = arg;
    const char *prefix = step_clean_line (line->text);
    uint64_t done, total;

    if (!line->text[0])
        return;
    if (progress_parse (line->text, &done, &total))
        progress_show (&run->progress, done, total);
    else if (!srun_hear (&run->srun, line->text)
             && strcmp (line->text, run->last) && run->lines < LINES_MAX) {
        progress_hide (&run->progress);
        strcpy (run->last, line->text);
        dprintf (STDERR_FILENO, "%s%s\n", prefix, line->text);
        if (++run->lines == LINES_MAX)
            dprintf (STDERR_FILENO, "pmm: (more is left out)\n");
    }
}

static bool has_result (void *arg)
{
    struct run *run = arg;

    return run->o->status != OUTCOME_NONE;
}

static void explain_step_failure (struct run *run, const struct site *site,
                                  enum program_end end, int status)
{
    const char *detail = run->srun.complaint;

    if (run->srun.no_mpi)
        outcome_set (run->o, OUTCOME_NONE, "%s", site_mpi (site)->none);
    else if (end == PROGRAM_STOPPED)
        outcome_set (run->o, OUTCOME_NONE, "the check was interrupted");
    else if (end == PROGRAM_TIMED_OUT)
        outcome_set (run->o, OUTCOME_NONE, "no result within %g s%s%s",
                     site->timeout_ms / 1e3, *detail ? "; " : "", detail);
    else if (WIFSIGNALED (status))
        outcome_set (run->o, OUTCOME_NONE, "%.160s was ended: %s", site->srun,
                     strsignal (WTERMSIG (status)));
    else if (WIFEXITED (status) && WEXITSTATUS (status) == 127)
        outcome_set (run->o, OUTCOME_NONE, "cannot run %.200s", site->srun);
    else
        outcome_set (run->o, OUTCOME_NONE,
                     "the check ended without a result%s%s%s",
                     *detail ? "; " : "", detail,
                     strstr (detail, "launch failed: Unspecified error")
                         ? ": slurmd's log on that node says why (journalctl "
                           "-u slurmd)"
                         : "");
}

/* Whether another type of MPI may do. */
enum step_mpi { MPI_DONE, MPI_MISSING, MPI_NO_LAUNCH };

/* What a step says that measured nothing: no word, why, that there is nothing to
 * measure.
 */
enum step_said { SAID_NO_WORD, SAID_WHY, SAID_NOTHING };

/* Run the step once. *another is set if there is no result because Slurm does not
 * have this type of MPI.
 */
static enum program_end run_step_once (const struct job *job, const char *mpi,
                                       int64_t deadline, struct outcome *o,
                                       enum step_said *said,
                                       enum step_mpi *another)
{
    const struct site *site = &job->settings.site;
    unsigned char random[(STEP_NONCE - 1) / 2];
    char nonce[STEP_NONCE];
    struct run run = { .nonce = nonce, .o = o };
    struct program program = { .deadline_ms = deadline, .mask = &wait_mask,
                               .stop = &stopped,
                               .take = { take_result, read_step_message },
                               .done = has_result, .arg = &run };
    char **argv = NULL;
    char **envp = NULL;
    enum program_end end = PROGRAM_NONE;
    int status = 0;

    outcome_set (o, OUTCOME_NONE, "no memory or entropy for a check");
    if (getrandom (random, sizeof (random), 0) != sizeof (random))
        return end;
    for (size_t i = 0; i < sizeof (random); i++)
        snprintf (nonce + 2 * i, 3, "%02x", random[i]);
    argv = step_arguments (job, mpi, nonce, (int)(deadline - clock_ms ()));
    envp = step_environment (job);
    if (argv && envp) {
        program.argv = argv;
        program.env = envp;
        run.progress = progress_begin (job->terminal ? stderr : NULL,
                                       "pmm", "step");
        end = program_run (&program, &status);
        if (end == PROGRAM_NONE)
            outcome_set (o, OUTCOME_NONE, "cannot start %.160s: %s",
                         site->srun, strerror (errno));
        progress_end (&run.progress);
    }
    if (end != PROGRAM_NONE && o->status == OUTCOME_NONE && !run.said) {
        /* if the job was cancelled, we get a signal too: wait for it */
        if (run.srun.cancelled && step_pause (CANCEL_GRACE_MS) < 0)
            end = PROGRAM_STOPPED;
        explain_step_failure (&run, site, end, status);
    }
    *said = run.nothing ? SAID_NOTHING : run.said ? SAID_WHY : SAID_NO_WORD;
    *another = end != PROGRAM_ENDED || o->status != OUTCOME_NONE || run.said
                   ? MPI_DONE
               : run.srun.no_mpi    ? MPI_MISSING
               : run.srun.no_launch ? MPI_NO_LAUNCH : MPI_DONE;
    program_free (argv);
    program_free (envp);
    return end;
}

bool step_run (const struct job *job, struct outcome *o)
{
    const struct site *site = &job->settings.site;
    const char *const *mpi = site_mpi (site)->types;
    int timeout_ms = site->timeout_ms;
    int64_t start = clock_ms ();
    enum program_end end;
    int64_t took;
    struct outcome launch = { .status = OUTCOME_NONE };
    struct job plain = *job;
    enum step_mpi another;
    enum step_said said;
    bool died;

    if (stopped) {
        outcome_set (o, OUTCOME_NONE, "the check was interrupted");
        return true;
    }
    do {
        end = run_step_once (job, *mpi, start + timeout_ms, o, &said, &another);
        if (another == MPI_NO_LAUNCH)
            launch = *o;
    } while (another && *++mpi);
    if (another == MPI_MISSING && *launch.text) /* the first had more to say */
        *o = launch;
    took = clock_ms () - start;
    /* PMIx sometimes loses a message of an ordinary user's first fence and
     * gives up after its timeout: then try again. A step that failed sooner
     * would fail again, but for one of rates: who dies in a burst ends it, and the
     * round trips with it. The second try must leave time to report its failure.
     */
    died = job->settings.check.rates && said == SAID_NO_WORD;
    if (o->status == OUTCOME_NONE && end == PROGRAM_ENDED && !another
        && (died || took >= site_meet_timeout_s (timeout_ms) * 1000)
        && took + RETRY_SLACK_MS
               <= site_probe_timeout_ms ((int)(timeout_ms - took))) {
        if (died)
            dprintf (STDERR_FILENO, "pmm: rates were not measured: %s\n",
                     o->text);
        plain.settings.check.rates = !died && job->settings.check.rates;
        run_step_once (&plain, *mpi, start + timeout_ms, o, &said, &another);
    }
    return said != SAID_NOTHING;
}
