/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Check a job, once. */
#include "config.h"
#include "spank/check.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <limits.h>
#include <slurm/spank.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

#include "util/file.h"
#include "util/plugstack.h"
#include "util/slurmapi.h"

enum { LOCK_TICK_MS = 50, REMARK_WAIT_MS = 2000 };

/*
 * plugstack.conf
 */

/* Whether this plugin is required or optional in plugstack.conf. Slurm heeds
 * the return value of a `required` plugin, but not that of an `optional` one,
 * and does not tell a plugin which it is. So the plugin searches for its own
 * line: the one with its file name and with the same arguments.
 */
enum stack { STACK_UNKNOWN, STACK_OPTIONAL, STACK_REQUIRED };

static enum stack look_in (const char *path, const struct settings *settings)
{
    static const char here;
    struct plugstack_line line;
    const char *at = line.words;
    const char *name, *slash;
    Dl_info info;

    /* the plugin's own file */
    name = dladdr (&here, &info) && info.dli_fname ? info.dli_fname : "";
    if ((slash = strrchr (name, '/')))
        name = slash + 1;
    if (plugstack_find (path, name, &line, NULL) <= 0)
        return STACK_UNKNOWN;
    for (int i = 0; i < settings->words; i++) {
        size_t len = strlen (settings->word[i]);

        if (strncmp (at, settings->word[i], len)
            || (at[len] && at[len] != ' '))
            return STACK_UNKNOWN;
        at += len + (at[len] == ' ');
    }
    if (*at)
        return STACK_UNKNOWN;
    return line.required ? STACK_REQUIRED : STACK_OPTIONAL;
}

/* Search the plugstack.conf of slurmctld's configuration if `ask`, then the one
 * in the directory of $SLURM_CONF, then those in the usual directories.
 * slurmctld must not be asked in a child of slurmstepd.
 */
static enum stack stack_look (const struct settings *settings, bool ask)
{
    static const char *const usual[] = { "/etc/slurm/plugstack.conf",
                                         "/run/slurm/conf/plugstack.conf" };
    const char *own = getenv ("SLURM_CONF");
    const char *slash = own ? strrchr (own, '/') : NULL;
    enum stack stack = STACK_UNKNOWN;
    slurm_conf_t *conf = NULL;
    char path[PATH_MAX];

    /* The answer (some KB, once) is not freed, because the function for it has
     * another name from 26.05 on.
     */
    if (ask && slurm_load_ctl_conf (0, &conf) == SLURM_SUCCESS
        && conf->plugstack) {
        snprintf (path, sizeof (path), "%s", conf->plugstack);
        stack = look_in (path, settings);
    }
    if (stack == STACK_UNKNOWN && slash && slash - own < PATH_MAX / 2) {
        snprintf (path, sizeof (path), "%.*s/plugstack.conf",
                  (int)(slash - own), own);
        stack = look_in (path, settings);
    }
    for (size_t i = 0;
         i < sizeof (usual) / sizeof (usual[0]) && stack == STACK_UNKNOWN; i++)
        stack = look_in (usual[i], settings);
    return stack;
}

/*
 * Who is told
 */

/* The job should not start. Return CHECK_GO_ON if Slurm would ignore a veto,
 * else CHECK_VETO.
 */
static int veto (const struct settings *settings, const struct job_env *env,
                 const char *what, const char *why)
{
    static const char *const consequence[] = {
        [STACK_UNKNOWN] = "the job does not start if plugstack.conf has the "
                          "plugin as required",
        [STACK_OPTIONAL] = "the plugin is optional in plugstack.conf, so the "
                           "job starts",
        [STACK_REQUIRED] = "the job does not start",
    };
    enum stack stack = stack_look (settings, env->may_ask);

    slurm_error ("pmm: %s: %s; %s", what, why, consequence[stack]);
    return stack == STACK_OPTIONAL ? CHECK_GO_ON : CHECK_VETO;
}

static int decide (const struct settings *settings, const struct job_env *env,
                   const struct outcome *o, enum check_mode mode)
{
    if (mode == MODE_REQUIRE && o->status == OUTCOME_FAIL)
        return veto (settings, env, "check FAILED", o->text);
    if (mode == MODE_REQUIRE && o->status == OUTCOME_NONE)
        return veto (settings, env, "a check is required and could not run",
                     o->text);
    return CHECK_GO_ON;
}

/* Append the check's outcome to the job's Comment, with pmm-comment(1). It is a
 * separate program, because neither srun with its threads nor a child of
 * slurmstepd can call Slurm's library with a deadline. It runs as the user, in
 * an environment made from scratch, for at most REMARK_WAIT_MS. Failure is
 * ignored.
 */
static void remark (const struct settings *settings, uint32_t jobid,
                    const struct step_env *env, const struct outcome *o)
{
    char job[16];
    char level[16];
    char text[OUTCOME_TEXT];
    char *argv[] = { settings->site.job_comment, job, level, text, NULL };
    struct program program = {
        .argv = argv,
        .deadline_ms = program_now_ms () + REMARK_WAIT_MS,
    };
    char **environment;
    int status;

    if (!settings->site.job_comment[0])
        return;
    if (!(environment = step_environment (env, settings->site.timeout_ms)))
        return;
    program.env = environment;
    snprintf (job, sizeof (job), "%" PRIu32, jobid);
    snprintf (level, sizeof (level), "%s", outcome_name (o->status));
    snprintf (text, sizeof (text), "%s", o->text);
    program_run (&program, &status);
    program_free (environment);
}

/* Send a line to syslog. syslog(3) is not used: it may block, and leaves a
 * descriptor open in a process that is not ours.
 */
static void tell_site (const char *reason)
{
    const struct sockaddr_un to = { AF_UNIX, "/dev/log" };
    int fd = socket (AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    char line[OUTCOME_LINE];

    if (fd < 0)
        return;
    snprintf (line, sizeof (line), "<%d>pmm[%d]: not checked: %s",
              LOG_USER | LOG_WARNING, (int)getpid (), reason);
    sendto (fd, line, strlen (line), MSG_NOSIGNAL,
            (const struct sockaddr *)&to, sizeof (to));
    close (fd);
}

/* Report that there was no check: to the user if the user asked for one. */
static void not_checked (const struct settings *settings, const char *reason)
{
    if (settings->asked)
        slurm_spank_log ("pmm: not checked: %s", reason);
    else
        tell_site (reason);
}

/* Nothing was measured: write a result that says so. If pmm-probe gave no
 * result, it did not write the file either.
 */
static void leave_none (const struct settings *settings, uint32_t jobid,
                        const char *reason)
{
    struct outfile *out;
    struct error err;
    FILE *fp;

    if (!settings_one_file (settings))
        return;
    if ((out = file_create (settings->output, &err))) {
        fp = file_stream (out);
        fprintf (fp, "{\"kind\": \"result\", \"version\": 1, \"job\": %" PRIu32
                     ", \"status\": \"UNKNOWN\", \"sentence\": \"", jobid);
        for (; *reason; reason++)
            fprintf (fp, strchr ("\"\\", *reason) ? "\\%c" : "%c", *reason);
        fprintf (fp, "\", \"all_pairs\": false, \"pairs\": []}\n");
    }
    if (!out || file_finish (out, 0, &err) < 0)
        slurm_spank_log ("pmm: %s; the file there is of an earlier job",
                         err.text);
}

/*
 * The check
 */

static bool is_in_environment (uint32_t jobid, const struct job_env *env,
                               struct outcome *o)
{
    char record[OUTCOME_LINE];

    return env->step.get (env->step.arg, CHECK_VARIABLE, record,
                          sizeof (record)) == 0
           && outcome_parse_record (o, record, jobid);
}

static void check (const struct settings *settings, const struct job *job,
                   const struct job_env *env, enum check_mode mode,
                   struct outcome *o)
{
    struct spank_step step
        = { settings, job->id, job->nodes, isatty (STDERR_FILENO) };
    const char *exempt = job->het         ? "a heterogeneous job"
                         : job->nodes < 2 ? "one node, nothing to measure"
                                          : NULL;

    if (exempt) {
        outcome_set (o, OUTCOME_UNKNOWN, "%s", exempt);
        if (settings->asked)
            not_checked (settings, exempt);
        leave_none (settings, job->id, exempt);
        return;
    }
    step_run (&step, &env->step, o);
    if (o->status != OUTCOME_NONE)
        remark (settings, job->id, &env->step, o);
    else if (step_pause (0) == 0) {
        if (mode == MODE_REPORT)
            not_checked (settings, o->text);
        leave_none (settings, job->id, o->text);
    }
}

int check_job (const struct settings *settings, const struct job *job,
               const struct job_env *env, int *sig)
{
    enum check_mode mode = settings_mode (settings, job->partition);
    int left = settings->site.timeout_ms + STEP_OVERTIME_MS;
    char dir[64], record[OUTCOME_LINE];
    struct outcome o;
    bool known;
    int guard;

    *sig = 0;
    if (mode == MODE_OFF)
        return CHECK_GO_ON;
    snprintf (dir, sizeof (dir), "%s-%u", GUARD_DIR, (unsigned)geteuid ());
    guard = guard_open (dir, job->cluster, job->id, NULL);
    step_catch ();
    /* wait while another step of the job runs the check */
    while (guard >= 0 && !guard_lock (guard) && left > 0
           && step_pause (LOCK_TICK_MS) == 0)
        left -= LOCK_TICK_MS;
    known = !job->first_step
            && (is_in_environment (job->id, env, &o)
                || (guard >= 0 && guard_read (guard, job->id, job->start,
                                              &o)));
    /* A check that did not run is tried again only if a check is required;
     * otherwise it would only delay each step.
     */
    if (!known || (o.status == OUTCOME_NONE && mode == MODE_REQUIRE)) {
        check (settings, job, env, mode, &o);
        if (o.status != OUTCOME_NONE || step_pause (0) == 0) {
            outcome_format_record (&o, job->id, record);
            env->set (env->step.arg, CHECK_VARIABLE, record);
            if (guard >= 0)
                guard_write (guard, job->id, &o);
        }
    }
    *sig = step_release ();
    guard_close (guard);
    if (*sig) {
        slurm_error ("pmm: the check was interrupted");
        return CHECK_STOPPED;
    }
    return decide (settings, env, &o, mode);
}

int check_failed (const struct settings *settings, uint32_t jobid,
                  const struct job_env *env, const char *reason)
{
    struct outcome o;

    if (settings->chosen && settings->mode == MODE_OFF)
        return CHECK_GO_ON;
    /* an earlier step of the job was checked */
    if (is_in_environment (jobid, env, &o) && o.status != OUTCOME_NONE)
        return decide (settings, env, &o, settings->mode);
    outcome_set (&o, OUTCOME_NONE, "%s", reason);
    leave_none (settings, jobid, o.text);
    if (settings->chosen && settings->mode == MODE_REQUIRE)
        return decide (settings, env, &o, MODE_REQUIRE);
    not_checked (settings, o.text);
    return CHECK_GO_ON;
}
