/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Check a job, once, in srun or in slurmstepd.
 *
 * Notes: in slurmstepd this is a child that will become the batch script. It
 * has the user's ids and the script's standard output and error. It cannot
 * safely ask slurmctld, because a thread of slurmstepd may have held one of
 * Slurm's locks at the fork. The job's environment has all that is needed.
 * Slurm does not signal processes named slurmstepd, so we change our name for
 * the check; otherwise it would survive a scancel.
 */
#include "config.h"
#include "spank/check.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/file.h"
#include "util/plugstack.h"
#include "util/slurmapi.h"
#include "util/srun.h"
#include "util/text.h"

enum { LOCK_TICK_MS = 50, REMARK_WAIT_MS = 2000 };

enum check {
    CHECK_GO_ON,
    CHECK_VETO,
    CHECK_STOPPED, /* by a signal */
    CHECK_LATER,   /* srun has no running job yet */
};

/*
 * plugstack.conf
 */

/* Whether this plugin is required or optional in plugstack.conf. Slurm heeds
 * the return value of a `required` plugin, but not that of an `optional` one,
 * and does not tell a plugin which it is. So the plugin searches for its own
 * line: the one with its file name and with the same arguments.
 */
enum stack { STACK_UNKNOWN, STACK_OPTIONAL, STACK_REQUIRED };

static enum stack read_plugin_status (const char *path,
                                      const struct settings *settings)
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

/* Search the plugstack.conf of slurmctld's configuration if it may be asked,
 * then the one in the directory of $SLURM_CONF, then those in the usual
 * directories.
 */
static enum stack stack_look (const struct job *job)
{
    const char *own = getenv ("SLURM_CONF");
    const char *slash = own ? strrchr (own, '/') : NULL;
    enum stack stack = STACK_UNKNOWN;
    slurm_conf_t *conf = NULL;
    char asked[PATH_MAX] = "", beside[PATH_MAX] = "";
    const char *const path[] = { asked, beside, "/etc/slurm/plugstack.conf",
                                 "/run/slurm/conf/plugstack.conf" };

    /* The answer (some KB, once) is not freed, because the function for it has
     * another name from 26.05 on.
     */
    if (!job->sp && slurm_load_ctl_conf (0, &conf) == SLURM_SUCCESS
        && conf->plugstack)
        snprintf (asked, sizeof (asked), "%s", conf->plugstack);
    if (slash && slash - own < PATH_MAX / 2)
        snprintf (beside, sizeof (beside), "%.*s/plugstack.conf",
                  (int)(slash - own), own);
    for (size_t i = 0; i < 4 && stack == STACK_UNKNOWN; i++)
        if (path[i][0])
            stack = read_plugin_status (path[i], &job->settings);
    return stack;
}

/*
 * Who is told
 */

/* Whether the job may start. If it should not, but Slurm would ignore a veto,
 * it does, too.
 */
static enum check decide_job_start (const struct job *job,
                                    const struct outcome *o,
                                    enum check_mode mode)
{
    static const char *const consequence[] = {
        [STACK_UNKNOWN] = "the job does not start if plugstack.conf has the "
                          "plugin as required",
        [STACK_OPTIONAL] = "the plugin is optional in plugstack.conf, so the "
                           "job starts",
        [STACK_REQUIRED] = "the job does not start",
    };
    enum stack stack;

    if (mode != MODE_REQUIRE
        || (o->status != OUTCOME_FAIL && o->status != OUTCOME_NONE))
        return CHECK_GO_ON;
    stack = stack_look (job);
    slurm_error ("pmm: %s: %s; %s",
                 o->status == OUTCOME_FAIL
                     ? "check FAILED"
                     : "a check is required and could not run",
                 o->text, consequence[stack]);
    return stack == STACK_OPTIONAL ? CHECK_GO_ON : CHECK_VETO;
}

/* Append the check's outcome to the job's Comment, with pmm-comment(1). It is a
 * separate program, because neither srun with its threads nor a child of
 * slurmstepd can call Slurm's library with a deadline. It runs as the user, in
 * an environment made from scratch, for at most REMARK_WAIT_MS. Failure is
 * ignored.
 */
static void write_job_comment (const struct job *job, const struct outcome *o)
{
    char id[16];
    char *argv[] = { job->settings.site.job_comment, id,
                     (char *)outcome_name (o->status), (char *)o->text, NULL };
    struct program program = {
        .argv = argv, .deadline_ms = clock_ms () + REMARK_WAIT_MS,
    };
    char **environment;
    int status;

    if (!argv[0][0] || !(environment = step_environment (job)))
        return;
    program.env = environment;
    snprintf (id, sizeof (id), "%" PRIu32, job->id);
    program_run (&program, &status);
    program_free (environment);
}

/* Report that there was no check: to the user if the user asked for one, else
 * in syslog. syslog(3) is not used: it may block, and leaves a descriptor open
 * in a process that is not ours.
 */
static void not_checked (const struct job *job, const char *reason)
{
    const struct sockaddr_un to = { AF_UNIX, "/dev/log" };
    char line[OUTCOME_LINE];
    int fd;

    if (job->settings.asked) {
        slurm_spank_log ("pmm: not checked: %s", reason);
        return;
    }
    fd = socket (AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return;
    snprintf (line, sizeof (line), "<%d>pmm[%d]: not checked: %s",
              LOG_USER | LOG_WARNING, (int)getpid (), reason);
    sendto (fd, line, strlen (line), MSG_NOSIGNAL,
            (const struct sockaddr *)&to, sizeof (to));
    close (fd);
}

/* Nothing was measured: if the output is one file, write a result that says so;
 * otherwise the file of an earlier job could be mistaken for this one's. If
 * pmm-probe gave no result, it did not write the file either.
 */
static void write_unknown_result (const struct job *job, const char *reason)
{
    struct outfile *out;
    struct error err;
    FILE *fp;

    if (!settings_one_file (&job->settings))
        return;
    if ((out = file_create (job->settings.output, &err))) {
        fp = file_stream (out);
        fprintf (fp, "{\"kind\": \"result\", \"version\": 1, \"job\": %" PRIu32
                     ", \"status\": \"UNKNOWN\", \"sentence\": \"", job->id);
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

static bool is_in_environment (const struct job *job, struct outcome *o)
{
    char record[OUTCOME_LINE];

    return job_getenv (job, CHECK_VARIABLE, record, sizeof (record)) == 0
           && outcome_parse_record (o, record, job->id);
}

static void run_job_step_check (const struct job *job, enum check_mode mode,
                                struct outcome *o)
{
    const char *exempt = job->het ? "a heterogeneous job"
                         : job->nodes < 2 && !job->settings.asked
                             ? "one node is checked only if asked for"
                             : NULL;

    if (exempt)
        outcome_set (o, OUTCOME_UNKNOWN, "%s", exempt);
    if (exempt || !step_run (job, o)) {
        if (job->settings.asked)
            not_checked (job, o->text);
        write_unknown_result (job, o->text);
    }
    else if (o->status != OUTCOME_NONE)
        write_job_comment (job, o);
    else if (step_pause (0) == 0) {
        if (mode == MODE_REPORT)
            not_checked (job, o->text);
        write_unknown_result (job, o->text);
    }
}

/* *sig is the signal if CHECK_STOPPED is returned. */
static enum check check_job (struct job *job, int *sig)
{
    enum check_mode mode = settings_mode (&job->settings, job->partition);
    bool again = job->settings.check.again;
    int left = job->settings.site.timeout_ms + PROGRAM_OVERTIME_MS;
    char dir[64], record[OUTCOME_LINE];
    struct outcome o;
    bool known;
    int guard;

    if (mode == MODE_OFF)
        return CHECK_GO_ON;
    job->terminal = isatty (STDERR_FILENO);
    snprintf (dir, sizeof (dir), "%s-%u", GUARD_DIR, (unsigned)geteuid ());
    guard = guard_open (dir, job->cluster, job->id, NULL);
    step_catch ();
    /* wait while another step of the job runs the check */
    while (guard >= 0 && !guard_lock (guard) && left > 0
           && step_pause (LOCK_TICK_MS) == 0)
        left -= LOCK_TICK_MS;
    known = !job->sp && !again
            && (is_in_environment (job, &o)
                || (guard >= 0
                    && guard_read (guard, job->id, job->start, &o)));
    /* A check that did not run is tried again only if a check is required;
     * otherwise it would only delay each step.
     */
    if (!known || (o.status == OUTCOME_NONE && mode == MODE_REQUIRE)) {
        run_job_step_check (job, mode, &o);
        if (o.status != OUTCOME_NONE || step_pause (0) == 0) {
            outcome_format_record (&o, job->id, record);
            if (job->sp)
                spank_setenv (job->sp, CHECK_VARIABLE, record, 1);
            else
                setenv (CHECK_VARIABLE, record, 1);
            if (guard >= 0 && !again)
                guard_write (guard, job->id, &o);
        }
    }
    *sig = step_release ();
    guard_close (guard);
    if (*sig) {
        slurm_error ("pmm: the check was interrupted");
        return CHECK_STOPPED;
    }
    return decide_job_start (job, &o, mode);
}

/* The check of this job could not run. It is vetoed if the user required a
 * check and no earlier step of the job passed one.
 */
static enum check check_failed (const struct job *job, const char *reason)
{
    const struct settings *settings = &job->settings;
    struct outcome o;

    if (settings->check.chosen && settings->check.mode == MODE_OFF)
        return CHECK_GO_ON;
    /* an earlier step of the job was checked */
    if (is_in_environment (job, &o) && o.status != OUTCOME_NONE)
        return decide_job_start (job, &o, settings->check.mode);
    outcome_set (&o, OUTCOME_NONE, "%s", reason);
    write_unknown_result (job, o.text);
    if (settings->check.chosen && settings->check.mode == MODE_REQUIRE)
        return decide_job_start (job, &o, MODE_REQUIRE);
    not_checked (job, o.text);
    return CHECK_GO_ON;
}

/*
 * The job
 */

/* In slurmstepd: by the environment. Return 0, or -1 with err. */
static int load_here (struct job *job, struct error *err)
{
    char value[32];
    uint64_t nodes;

    if (job->id == 0
        || job_getenv (job, "SLURM_JOB_NUM_NODES", value, sizeof (value)) < 0
        || text_u64 (value, 1, UINT32_MAX, &nodes) < 0)
        return error_world (err, "Slurm does not tell the job's nodes");
    job->nodes = (uint32_t)nodes;
    job->het = job_getenv (job, "SLURM_HET_SIZE", value, sizeof (value)) == 0;
    job_getenv (job, "SLURM_JOB_PARTITION", job->partition,
                sizeof (job->partition));
    job_getenv (job, "SLURM_CLUSTER_NAME", job->cluster, sizeof (job->cluster));
    return 0;
}

/* In srun: ask slurmctld, because the environment describes this step, not the
 * job, and may be from another job. Return 0, or -1 with err. *running is false
 * for a job that does not run, for instance because it has no nodes yet.
 */
static int load_asking (struct job *job, bool *running, struct error *err)
{
    job_info_msg_t *msg = NULL;
    bool found = false;

    if (slurm_load_job (&msg, slurmapi_job (job->id), 0) != SLURM_SUCCESS)
        return error_world (err, "Slurm does not tell about job %u: %s",
                            job->id, slurm_strerror (errno));
    for (uint32_t i = 0; i < msg->record_count && !found; i++) {
        const job_info_t *info = &msg->job_array[i];

        if (info->slurmapi_job_id != job->id)
            continue;
        found = true;
        *running = (info->job_state & JOB_STATE_BASE) == JOB_RUNNING;
        job->nodes = info->num_nodes;
        job->het = info->het_job_id != 0;
        job->start = info->start_time;
        snprintf (job->partition, sizeof (job->partition), "%s",
                  info->partition ? info->partition : "");
        snprintf (job->cluster, sizeof (job->cluster), "%s",
                  info->cluster ? info->cluster : "");
    }
    slurm_free_job_info_msg (msg);
    if (!found)
        return error_world (err, "Slurm does not know job %u", job->id);
    return 0;
}

/* If the site configured no srun, use this srun's own program. */
static void use_own_srun (struct site *site)
{
    char path[PATH_MAX];
    ssize_t n = readlink ("/proc/self/exe", path, sizeof (path) - 1);
    char *own, *last;

    if (n < 0 || strcmp (site->srun, PMM_SRUN_PATH))
        return;
    path[n] = '\0';
    last = strrchr (path, '/');
    if (last && !strcmp (last, "/srun") && (own = strdup (path))) {
        free (site->srun);
        site->srun = own;
    }
}

/* Check a job, of which the id is set, and in slurmstepd sp. */
static enum check run_job_start_check (struct job *job, bool early, int argc,
                                       char **argv, int *sig)
{
    enum check rc = CHECK_GO_ON;
    bool running = true;
    struct error err;

    if (settings_read (&job->settings, argc, argv, &err) < 0)
        rc = check_failed (job, err.text);
    else if (settings_any (&job->settings)) {
        int loaded = job->sp ? load_here (job, &err)
                             : load_asking (job, &running, &err);

        /* early: srun itself reports a problem with the job in SLURM_JOB_ID */
        if (early && (loaded < 0 || !running))
            rc = CHECK_LATER;
        else if (loaded < 0)
            rc = check_failed (job, err.text);
        else {
            if (!job->sp)
                use_own_srun (&job->settings.site);
            if (!job->sp && getenv (SRUN_NESTED))
                slurm_spank_log ("pmm: %s in the environment is ignored: this "
                                 "srun is of no check", SRUN_NESTED);
            rc = check_job (job, sig);
        }
    }
    site_clear (&job->settings.site);
    return rc;
}

/* Check this job, unless an earlier call in this srun did. */
static int run_in_srun (uint32_t jobid, bool early, int argc, char **argv)
{
    static uint32_t checked;
    static enum check rc;
    struct job job = { .id = jobid };
    int sig;

    if (srun_is_nested ())
        return 0;
    if (checked == 0 || checked != jobid) {
        rc = run_job_start_check (&job, early, argc, argv, &sig);
        if (rc == CHECK_LATER)
            return 0;
        checked = jobid;
    }
    /* if srun is interrupted, the job must not start either */
    return rc == CHECK_GO_ON ? 0 : -1;
}

int srun_check_early (spank_t sp, int argc, char **argv)
{
    const char *value = getenv ("SLURM_JOB_ID");
    uint64_t jobid;

    (void)sp;
    if (!value || text_u64 (value, 1, UINT32_MAX, &jobid) < 0)
        return 0;
    return run_in_srun ((uint32_t)jobid, true, argc, argv);
}

int srun_check (spank_t sp, int argc, char **argv)
{
    uint32_t jobid = 0; /* an id that Slurm does not know */

    spank_get_item (sp, S_JOB_ID, &jobid);
    return run_in_srun (jobid, false, argc, argv);
}

/* End by this signal, as we would have without the check. From 24.11 on
 * slurmstepd handles and blocks signals, and its children inherit both.
 */
static void end_by (int sig)
{
    sigset_t set;

    signal (sig, SIG_DFL);
    sigemptyset (&set);
    sigaddset (&set, sig);
    pthread_sigmask (SIG_UNBLOCK, &set, NULL);
    raise (sig);
}

int slurmstepd_check (spank_t sp, int argc, char **argv)
{
    struct job job = { .sp = sp };
    char name[16] = "";
    enum check rc;
    uint32_t step;
    uid_t uid;
    int sig;

    if (spank_get_item (sp, S_JOB_STEPID, &step) != ESPANK_SUCCESS
        || step != SLURM_BATCH_SCRIPT
        || spank_get_item (sp, S_JOB_UID, &uid) != ESPANK_SUCCESS
        || uid != geteuid ())
        return 0;
    prctl (PR_GET_NAME, name);
    prctl (PR_SET_NAME, "pmm-check");
    spank_get_item (sp, S_JOB_ID, &job.id);
    options_recall (sp);
    rc = run_job_start_check (&job, false, argc, argv, &sig);
    prctl (PR_SET_NAME, name);
    if (rc == CHECK_STOPPED)
        end_by (sig);
    return rc == CHECK_VETO ? -1 : 0;
}
