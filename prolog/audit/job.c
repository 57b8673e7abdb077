/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The job of an audit.
 *
 * Notes: srun ends its job when it is ended by SIGTERM, and so does its child
 * when it is killed; but slurmctld may not have been there to hear it, or both
 * were killed. So a job that did not end by itself is looked for by its name,
 * and cancelled.
 */
#include "config.h"
#include "prolog/audit/job.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "prolog/audit/ports.h"
#include "prolog/audit/record.h"
#include "prolog/slurm/controller.h"
#include "util/program.h"
#include "util/srun.h"
#include "util/text.h"

enum {
    IMMEDIATE_S = 5,       /* for the nodes to be free */
    PROBE_EARLY_MS = 3000, /* pmm-probe ends before the watchdog bites */
    PORTS_MAX = 8,         /* of a node */
};

/*
 * Arguments and environment
 */

__attribute__ ((format (printf, 2, 3))) static void
add (struct job_args *a, const char *fmt, ...)
{
    va_list ap;

    if (a->n == JOB_ARGS_MAX)
        return;
    va_start (ap, fmt);
    if (vasprintf (&a->v[a->n], fmt, ap) < 0)
        a->v[a->n] = NULL;
    va_end (ap);
    if (a->v[a->n])
        a->n++;
    else
        a->n = JOB_ARGS_MAX; /* no memory: what is there is not to be run */
}

void job_args_clear (struct job_args *a)
{
    for (size_t i = 0; i < JOB_ARGS_MAX; i++)
        free (a->v[i]);
    *a = (struct job_args){ 0 };
}

/* Whether memory and room were enough. */
static int whole (const struct job_args *a, struct error *err)
{
    return a->n < JOB_ARGS_MAX ? 0 : error_nomem (err);
}

int job_environment (struct job_args *env, const struct site *site,
                     struct error *err)
{
    const char *conf = getenv ("SLURM_CONF");

    add (env, "PATH=/usr/local/bin:/usr/bin:/bin");
    add (env, "LC_ALL=C");
    if (conf && *conf == '/')
        add (env, "SLURM_CONF=%.*s", PATH_MAX, conf);
    add (env, "PMM_CHECK_NESTED=1"); /* the plugin does nothing then */
    add (env, "SLURM_PMIX_TIMEOUT=%d",
         site_pmix_timeout_s (site->audit_timeout_ms));
    return whole (env, err);
}

static void add_fixed (struct job_args *a, const char *const *word, size_t n)
{
    for (size_t i = 0; i < n; i++)
        add (a, "%s", word[i]);
}

/* The job: n nodes, at once or not at all. */
static void add_job (struct job_args *a, const struct job *job,
                     const char *list, size_t n)
{
    static const char *const fixed[]
        = { "--exclusive", "--mem=0", "--gres=none", "--quiet" };
    const struct site *site = job->site;

    add (a, "--job-name=%s", job->name);
    add (a, "--partition=%s", site->audit_partition);
    add (a, "--nodelist=%s", list);
    add (a, "--nodes=%zu", n);
    add (a, "--immediate=%d", IMMEDIATE_S);
    /* minutes: if all else fails */
    add (a, "--time=%d", site->audit_timeout_ms / 60000 + 2);
    add_fixed (a, fixed, sizeof (fixed) / sizeof (fixed[0]));
}

static void add_step (struct job_args *a, const struct job *job)
{
    static const char *const fixed[] = {
        "--mpi=pmix",       "--ntasks-per-node=1", "--cpu-bind=none",
        "--propagate=NONE", "--export=NONE",       "--input=none",
        "--chdir=/",        "--kill-on-bad-exit=1",
    };

    add (a, "--ntasks=%zu", job->n);
    add_fixed (a, fixed, sizeof (fixed) / sizeof (fixed[0]));
}

static void add_probe (struct job_args *a, const struct job *job)
{
    const struct site *site = job->site;
    int ms = site->audit_timeout_ms;
    int early_ms = ms / 5 < PROBE_EARLY_MS ? ms / 5 : PROBE_EARLY_MS;

    add (a, "%s", site->probe);
    if (job->conf) {
        add (a, "--conf");
        add (a, "%s", job->conf);
    }
    add (a, "--timeout");
    add (a, "%.1f", (ms - early_ms) / 1e3);
    add (a, "--nonce");
    add (a, "%s", job->nonce);
    add (a, "--audit");
}

/* A step that is also on nodes which Slurm gives to no job: it starts them for
 * SlurmUser (prolog/slurm/controller.h), while a job of salloc's, which is
 * beside srun, holds the others. PMIx must not learn from salloc's environment
 * that only these are of the job: so srun has an environment from scratch
 * again.
 */
static void add_with_drained (struct job_args *a, const struct job *job,
                              const struct job_args *env)
{
    const char *srun = job->site->srun;
    const char *name = strrchr (srun, '/');

    add (a, "%.*ssalloc", (int)(name ? name + 1 - srun : 0), srun);
    add (a, "--kill-command=KILL");
    add (a, "--no-bell");
    add_job (a, job, job->partners, job->npartners);
    add (a, "/usr/bin/env");
    add (a, "-i");
    add_fixed (a, (const char *const *)env->v, env->n);
    add (a, "%s", srun);
    add (a, "--no-allocate");
    add (a, "--quiet");
    add (a, "--nodelist=%s", job->nodes);
    add (a, "--nodes=%zu", job->n);
}

int job_arguments (struct job_args *a, const struct job *job,
                   const struct job_args *env, struct error *err)
{
    if (job->npartners < job->n)
        add_with_drained (a, job, env);
    else {
        add (a, "%s", job->site->srun);
        add_job (a, job, job->nodes, job->n);
    }
    add_step (a, job);
    add_probe (a, job);
    return whole (a, err);
}

/*
 * What it says
 */

struct ear {
    const struct job *job;
    struct job_said *said;
    size_t size;            /* of said->record */
    size_t max_ports;
    bool too_much, done;
    struct program_line line[PROGRAM_STREAMS];
    struct srun_words srun;
    char last[PROGRAM_LINE]; /* of pmm-probe's, for people */
};

static void hear_result (void *arg, struct program_line *line)
{
    struct ear *ear = arg;
    const char *sentence;
    bool unknown;

    ear->done |= !line->cut
                 && record_is_result (line->text, ear->job->nonce, &unknown,
                                      &sentence);
}

static void hear_words (void *arg, struct program_line *line)
{
    struct ear *ear = arg;
    struct job_said *said = ear->said;
    struct local_port port;

    text_clean (line->text);
    if (ports_parse (line->text, ear->job->nonce, &port)) {
        if (!line->cut && said->nports < ear->max_ports)
            said->port[said->nports++] = port;
    }
    else if (ports_parse_wait (line->text, ear->job->nonce, &port)) {
        if (!line->cut && said->nwaits < ear->max_ports)
            said->wait[said->nwaits++] = port;
    }
    else if (!srun_hear (&ear->srun, line->text))
        strcpy (ear->last, line->text);
}

static void keep (struct ear *ear, const char *data, size_t len)
{
    struct job_said *said = ear->said;

    if (said->len + len + 1 > ear->size) {
        size_t size = ear->size ? 2 * ear->size : 1 << 16;
        char *record = NULL;

        if (size <= RECORD_MAX)
            record = realloc (said->record, size);
        if (!record) {
            ear->too_much = true;
            return;
        }
        said->record = record;
        ear->size = size;
    }
    memcpy (said->record + said->len, data, len);
    said->len += len;
    said->record[said->len] = '\0';
}

static void hear (void *arg, enum program_stream from, const char *data,
                  size_t len)
{
    struct ear *ear = arg;

    if (from == PROGRAM_OUT && !ear->too_much)
        keep (ear, data, len);
    program_lines (&ear->line[from], data, len,
                   from == PROGRAM_OUT ? hear_result : hear_words, ear);
}

/* What is too much need not go on. */
static bool is_done (void *arg)
{
    const struct ear *ear = arg;

    return ear->done || ear->too_much;
}

__attribute__ ((format (printf, 2, 3))) static int
because (struct job_said *said, const char *fmt, ...)
{
    va_list ap;

    va_start (ap, fmt);
    vsnprintf (said->why, sizeof (said->why), fmt, ap);
    va_end (ap);
    return 0;
}

/* Why there is no result. */
static int explain (const struct ear *ear, enum program_end end, int status)
{
    const struct site *site = ear->job->site;
    const char *cause = srun_cause (&ear->srun);
    const char *detail = ear->srun.complaint[0] ? ear->srun.complaint
                                                : ear->last;

    if (ear->too_much)
        return because (ear->said, "the record is longer than %d bytes",
                        RECORD_MAX);
    if (cause)
        return because (ear->said, "%s", cause);
    if (end == PROGRAM_STOPPED)
        return because (ear->said, "the audit was interrupted");
    if (end == PROGRAM_TIMED_OUT)
        return because (ear->said, "no result within %g s%s%s",
                        site->audit_timeout_ms / 1e3, *detail ? "; " : "",
                        detail);
    if (WIFEXITED (status) && WEXITSTATUS (status) == 127)
        return because (ear->said, "cannot run %.200s", site->srun);
    return because (ear->said, "%s",
                    *detail ? detail : "srun ended without a word");
}

/*
 * All of it
 */

static void cancel (const struct job *job, struct job_said *said)
{
    struct error err;

    if (controller_cancel (job->name, &err) < 0)
        snprintf (said->left, sizeof (said->left),
                  "job %s may not have ended: %.180s", job->name, err.text);
}

static int run (const struct job *job, struct ear *ear,
                const struct job_args *argv, const struct job_args *env,
                struct error *err)
{
    struct program program = {
        .argv = argv->v,
        .env = env->v,
        .deadline_ms = program_now_ms () + job->site->audit_timeout_ms
                       + IMMEDIATE_S * 1000,
        .stop = job->stop,
        .take = hear,
        .done = is_done,
        .arg = ear,
    };
    int status;
    enum program_end end = program_run (&program, &status);

    if (end == PROGRAM_NONE)
        return error_errno (err, "cannot start a process");
    if (end != PROGRAM_ENDED || WIFSIGNALED (status))
        cancel (job, ear->said);
    return ear->done && !ear->too_much ? 1 : explain (ear, end, status);
}

int job_run (const struct job *job, struct job_said *said, struct error *err)
{
    struct ear ear = { .job = job, .said = said,
                       .max_ports = PORTS_MAX * job->n };
    struct job_args argv = { 0 }, env = { 0 };
    int rc = -1;

    *said = (struct job_said){ 0 };
    if (!(said->port = calloc (ear.max_ports, sizeof (*said->port)))
        || !(said->wait = calloc (ear.max_ports, sizeof (*said->wait))))
        error_nomem (err);
    else if (job_environment (&env, job->site, err) == 0
             && job_arguments (&argv, job, &env, err) == 0)
        rc = run (job, &ear, &argv, &env, err);
    job_args_clear (&argv);
    job_args_clear (&env);
    return rc;
}

void job_said_clear (struct job_said *said)
{
    free (said->record);
    free (said->port);
    free (said->wait);
    *said = (struct job_said){ 0 };
}
