/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm check: have the plugin check a job that runs, or nodes.
 *
 * Notes. Slurm starts a step only for the job's owner, so root becomes the
 * owner. What then runs is the owner's, and could be changed by the owner: it
 * gets neither root's terminal nor any of root's files or variables, and its
 * lines are cleaned before root sees them.
 *
 * The step's tasks print the outcome that the plugin leaves in their
 * environment: it becomes the exit status, as Slurm knows of none.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "pmm/verb.h"
#include "prolog/slurm/child.h"
#include "prolog/slurm/controller.h"
#include "util/json.h"
#include "util/program.h"
#include "util/site.h"
#include "util/srun.h"
#include "util/terminal.h"

static bool rates; /* --rates */

static const struct opt options[] = {
    { "rates", 0, NULL, opt_true, 0,
      "also measure what cables carry, if Rates in pmm.conf allows it" },
    { 0 },
};

/* job 0: none. With a job, the plugin checks before srun makes its step, which
 * a check that is interrupted would leave in the job.
 */
static char **environment (const struct passwd *pw, int64_t job,
                           const char *const *more, size_t n)
{
    struct program_words env = { 0 };

    srun_environment (&env);
    if (job != 0)
        program_add (&env, "SLURM_JOB_ID=%jd", (intmax_t)job);
    program_add (&env, "HOME=%s", pw->pw_dir);
    program_add (&env, "USER=%s", pw->pw_name);
    program_add (&env, "LOGNAME=%s", pw->pw_name);
    for (size_t i = 0; i < n; i++)
        if (getenv (more[i]))
            program_add (&env, "%s=%s", more[i], getenv (more[i]));
    return xcheck (program_words_end (&env));
}

/* --- srun ----------------------------------------------------------------- */

struct job_check {
    const struct passwd *owner; /* who it is to be; NULL: it is us */
    char **argv, **env;
    enum verdict_status status;
};

static int become_job_owner (const struct passwd *pw)
{
    int tty = open ("/dev/tty", O_RDWR | O_CLOEXEC);
    struct error err;

    if (tty >= 0)
        ioctl (tty, TIOCNOTTY);
    if (child_become (pw, &err) < 0 || chdir ("/") < 0)
        return -1;
    return prctl (PR_SET_PDEATHSIG, SIGTERM); /* setuid cleared it */
}

/* In the child. */
static void exec_job_srun (void *arg)
{
    const struct job_check *x = arg;

    if (!x->owner || become_job_owner (x->owner) == 0)
        execve (x->argv[0], x->argv, x->env);
    dprintf (STDERR_FILENO, "pmm check: cannot run %.200s%s%s: %s\n",
             x->argv[0], x->owner ? " as " : "",
             x->owner ? x->owner->pw_name : "", strerror (errno));
    _exit (EXIT_WORLD);
}

/* A task's line is "pmm-check 1 JOB STATUS TEXT". */
static void read_task_line (void *arg, struct program_line *line)
{
    struct job_check *x = arg;
    char status[16];

    if (sscanf (line->text, "pmm-check 1 %*[0-9] %15s", status) == 1) {
        for (enum verdict_status i = VERDICT_OK; i <= VERDICT_FAIL; i++)
            if (strcmp (status, verdict_status_name (i)) == 0)
                x->status = i;
    } else if (*line->text) {
        printf ("%s\n", text_clean (line->text));
        fflush (stdout);
    }
}

static void take_err (void *arg, struct program_line *line)
{
    (void)arg;
    fprintf (stderr, "%s\n", text_clean (line->text));
}

/* Run it as the owner, or as ourselves if that is NULL. Return the exit status
 * of what the tasks tell.
 */
static int run_job_check (const struct passwd *owner, char **argv, char **env)
{
    struct job_check x = {
        .owner = owner, .argv = argv, .env = env, .status = VERDICT_UNKNOWN,
    };
    const struct program program = {
        .run = exec_job_srun, .deadline_ms = INT64_MAX, .stop = verb_stop (),
        .take = { read_task_line, take_err }, .arg = &x,
    };
    int status;

    if (program_run (&program, &status) == PROGRAM_NONE)
        die_world ("cannot start a process: %s", strerror (errno));
    return exit_status (x.status);
}

/* The option of the plugin, and the task, before which the plugin measures. */
static void add_task (struct program_words *args, const char *check)
{
    program_add (args, "--pmm-check=%s%s", check, rates ? ",rates" : "");
    program_add_all (args, "/bin/sh", "-c", "echo \"$PMM_CHECK\"");
}

/* --- a job ---------------------------------------------------------------- */

/* The job, which runs and may be checked by us; else die. */
static struct controller_job *job_to_check (const char *word)
{
    static const struct {
        const char *state, *why;
    } others[] = {
        { "pending", "has no nodes yet: srun --pmm-check measures before it "
                     "starts" },
        { "starting", "waits for its nodes to get ready: try again soon" },
        { "suspended", "is suspended" },
        { "ended", "has ended" },
    };
    struct controller_job *job = need (controller_job (word, &fault));

    if (job->id == 0)
        die_input ("Slurm has no job %.63s, or does not show it: it has ended, "
                   "or there was none", word);
    for (size_t i = 0; i < sizeof (others) / sizeof (others[0]); i++)
        if (!strcmp (job->state, others[i].state))
            die_input ("job %.63s %s", word, others[i].why);
    if (job->het)
        die_input ("job %.63s is a heterogeneous job, which is not checked",
                   word);
    if (geteuid () != 0 && job->uid != geteuid ())
        die_input ("job %.63s is %s's: Slurm starts steps in it for no other "
                   "user, not even SlurmUser: have %s or root run this", word,
                   job->user, job->user);
    return job;
}

static int measure_job (const struct site *site, const char *word)
{
    const struct controller_job *job = job_to_check (word);
    const struct passwd *pw = getpwuid (job->uid);
    struct program_words args = { 0 };
    char **argv, **env;

    if (!pw)
        die_world ("user %ju of job %.63s is not known here",
                   (uintmax_t)job->uid, word);
    program_add (&args, "%s", site->srun);
    program_add (&args, "--jobid=%u", job->id);
    program_add (&args, "--nodes=%u", job->count);
    program_add (&args, "--ntasks=%u", job->count);
    program_add_all (&args, "--overlap", "--ntasks-per-node=1", "--mem=0",
                     "--gres=none", "--mpi=none", "--propagate=NONE",
                     "--input=none", "--chdir=/", "--job-name=pmm-check",
                     "--quiet");
    add_task (&args, "again");
    argv = xcheck (program_words_end (&args));
    env = environment (pw, job->id, NULL, 0);
    verb_say ("this measures beside job %s's own traffic: the job may be "
              "slowed for a second or two, at most %g s, and its traffic may "
              "make the answer UNKNOWN", word, site->timeout_ms / 1e3);
    return run_job_check (job->uid == geteuid () ? NULL : pw, argv, env);
}

/* --- nodes ---------------------------------------------------------------- */

static int measure_nodes (const struct site *site, const char *list)
{
    static const char *const taken[] = { "SLURM_PARTITION", "SLURM_ACCOUNT",
                                         "SLURM_QOS", "SLURM_RESERVATION" };
    const struct passwd *pw = getpwuid (geteuid ());
    struct program_words args = { 0 };
    struct hostlist nodes;

    if (!pw)
        die_world ("user %ju is not known here", (uintmax_t)geteuid ());
    need_ok (hostlist_parse (&nodes, list, CONTROLLER_NODES_MAX, &fault));
    program_add (&args, "%s", site->srun);
    program_add (&args, "--nodelist=%s", list);
    program_add (&args, "--nodes=%zu", nodes.count);
    program_add (&args, "--ntasks=%zu", nodes.count);
    program_add (&args, "--time=%d", site->timeout_ms / 60000 + 2); /* min */
    program_add_all (&args, "--exclusive", "--mem=0", "--ntasks-per-node=1",
                     "--mpi=none", "--propagate=NONE", "--input=none",
                     "--chdir=/", "--job-name=pmm-check");
    add_task (&args, "report");
    verb_say (
        "this is a job of yours, which waits until %s free and holds %s for "
        "some seconds; it uses cables of switches beside others' jobs",
        nodes.count == 1 ? "the node is" : "all of these nodes are",
        nodes.count == 1 ? "it" : "them");
    return run_job_check (
        NULL, xcheck (program_words_end (&args)),
        environment (pw, 0, taken, sizeof (taken) / sizeof (taken[0])));
}

static int run_check (struct inputs *in)
{
    const char *word = in->operand[0];
    const struct site *site;

    terminal_end (); /* nothing is shown while srun waits and runs */
    /* root runs what it names */
    site = verb_site (in->conf, geteuid () == 0);
    if (word[strspn (word, "0123456789_")])
        return measure_nodes (site, word);
    return measure_job (site, word);
}

const struct verb verb_check = {
    .group = VERBS_SITE, .name = "check",
    .help = "check a running job's nodes, or these nodes", .may = TAKES_CONF,
    .operands = "JOBID|NODES", .min = 1, .max = 1, .options = options,
    .given = &rates, .run = run_check,
};
