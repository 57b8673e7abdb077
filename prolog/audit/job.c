/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The job of an audit.
 *
 * Notes. If srun receives SIGTERM, it ends its job. If srun is killed, its
 * child ends the job. But slurmctld may not answer at that time, or both may be
 * killed. So if a job did not end by itself, we find it by its name and cancel
 * it.
 */
#include "config.h"
#include "prolog/audit/parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "core/judge/verdict.h"
#include "prolog/slurm/controller.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/program.h"
#include "util/progress.h"
#include "util/srun.h"
#include "util/terminal.h"
#include "util/text.h"

enum {
    IMMEDIATE_S = 5, /* wait so long for free nodes */
    PORTS_MAX = 32,  /* per node */
};

/*
 * Arguments and environment
 */

char **job_environment (const struct site *site)
{
    struct program_words env = { 0 };

    srun_environment (&env);
    srun_mark_nested (&env);
    program_add (&env, "SLURM_PMIX_TIMEOUT=%d",
                 site_meet_timeout_s (site->audit_timeout_ms));
    return program_words_end (&env);
}

/* The job: n nodes, at once or not at all. */
static void add_job_args (struct program_words *a, const struct audit_job *job,
                          const char *list, size_t n)
{
    const struct site *site = job->audit->site;

    program_add (a, "--job-name=%s", job->name);
    program_add (a, "--partition=%s", site->audit_partition);
    program_add (a, "--nodelist=%s", list);
    program_add (a, "--nodes=%zu", n);
    program_add (a, "--immediate=%d", IMMEDIATE_S);
    /* minutes: the last resort */
    program_add (a, "--time=%d", site->audit_timeout_ms / 60000 + 2);
    program_add_all (a, "--exclusive", "--mem=0", "--gres=none");
}

/* A step that includes drained nodes. A job of salloc, from the same directory
 * as srun, holds the other nodes. All of it is one command, which prints the
 * tasks' standard output:
 *
 *     salloc -Q -KKILL --immediate=S --exclusive --no-bell -t MINUTES
 *            -p AuditPartition -N p -w PARTNERS
 *     env -i SLURM_CONF=...
 *     srun -Q --no-allocate --mpi=... --propagate=NONE --export=NONE -K1
 *          -N n -n n --ntasks-per-node=1 -w NODE,PARTNERS /path/pmm-probe ...
 *
 * Without partners it is this srun alone, since no job gets drained nodes.
 *
 * The drained node need not be in the partition. The variables that salloc sets
 * must not be in srun's environment: Slurm's PMIx would take the partners for
 * the whole job and hang. So env(1) starts srun with a new environment again.
 *
 * SIGTERM to salloc frees the partners and ends salloc and srun at once; after
 * SIGKILL the partners are held until the time limit. Neither ends the tasks,
 * which slurmctld does not know: pmm-probe --timeout does.
 */
static void add_with_drained (struct program_words *a,
                              const struct audit_job *job, char *const *env)
{
    const char *srun = job->audit->site->srun;
    const char *name = strrchr (srun, '/');

    if (job->npartners > 0) {
        program_add (a, "%.*ssalloc", (int)(name ? name + 1 - srun : 0), srun);
        program_add_all (a, "--quiet", "--kill-command=KILL", "--no-bell");
        add_job_args (a, job, job->partners, job->npartners);
        program_add_all (a, "/usr/bin/env", "-i");
        program_add_list (a, (const char *const *)env);
    }
    program_add_all (a, srun, "--no-allocate");
    program_add (a, "--nodelist=%s", job->nodes);
    program_add (a, "--nodes=%zu", job->n);
}

char **job_arguments (const struct audit_job *job, const char *mpi,
                      char *const *env)
{
    const struct site *site = job->audit->site;
    struct program_words a = { 0 };

    if (job->npartners < job->n)
        add_with_drained (&a, job, env);
    else {
        program_add (&a, "%s", site->srun);
        add_job_args (&a, job, job->nodes, job->n);
    }
    program_add (&a, "--ntasks=%zu", job->n);
    program_add (&a, "--verbose"); /* shows the node of each task, */
    program_add (&a, "--label");   /* ... and the task of each line */
    program_add (&a, "--mpi=%s", mpi);
    program_add_all (&a, "--ntasks-per-node=1", "--cpu-bind=none",
                     "--propagate=NONE", "--export=NONE", "--input=none",
                     "--chdir=/", "--kill-on-bad-exit=1", site->probe);
    if (job->audit->conf)
        program_add_all (&a, "--conf", job->audit->conf);
    program_add (&a, "--timeout");
    program_add (&a, "%.1f",
                 site_probe_timeout_ms (site->audit_timeout_ms) / 1e3);
    program_add_all (&a, "--nonce", job->nonce, "--leader", job->leader,
                     "--audit");
    if (job->rates)
        program_add (&a, "--rates=%s", job->rates);
    if (terminal_shows ())
        program_add (&a, "--progress");
    return program_words_end (&a);
}

/*
 * The output
 */

/* Whether a line, without its newline, is the result with that nonce. If it is,
 * *sentence is the text after the nonce, and *unknown is whether it is UNKNOWN.
 */
static bool is_result (const char *line, const char *nonce, bool *unknown,
                       const char **sentence)
{
    char word[8], mark[LEDGER_NONCE_BYTES + 1];
    enum verdict_status status = VERDICT_OK;
    int end = 0;

    _Static_assert (LEDGER_NONCE_BYTES == 33, "a longer one is no match");
    if (sscanf (line, "pmm-result 1 %7s %33s %n", word, mark, &end) != 2
        || strcmp (mark, nonce) || end == 0 || !line[end])
        return false;
    while (status < VERDICT_FAIL && strcmp (word, verdict_status_name (status)))
        status++;
    *unknown = status == VERDICT_UNKNOWN;
    *sentence = line + end;
    return !strcmp (word, verdict_status_name (status));
}

/* A node of the step, as srun reports it. */
struct job_member {
    char node[64];
    bool started;            /* srun reports that its task started */
    size_t nports, ntraffic; /* lines about its ports */
};

/* The output of one task. */
struct job_record {
    FILE *fp;           /* writes text and len; NULL: no such task */
    char *text;
    size_t len;
    size_t size;        /* bytes so far */
    bool midline;       /* ... of a line that is not yet whole */
    unsigned int task;
    bool too_much, done;
};

enum { LEADERS, OTHERS, RECORDS }; /* of the first other task that has one */

struct job_ear {
    const struct audit_job *job;
    struct job_said *said;
    struct job_record record[RECORDS];
    struct job_member *member;  /* [task] */
    struct srun_words srun;
    char last[PROGRAM_LINE]; /* last message of pmm-probe, for people */
};

static bool is_blamed (const struct job_ear *ear, const char *node)
{
    size_t i = 0;

    while (i < ear->said->nfaults && strcmp (ear->said->fault[i].node, node))
        i++;
    return i < ear->said->nfaults;
}

static void add_job_fault (struct job_ear *ear, const char *node,
                           const char *why, bool launch)
{
    struct job_said *said = ear->said;
    struct job_fault *f = said->fault + said->nfaults;

    if (is_blamed (ear, node) || said->nfaults == ear->job->n
        || !text_is_hostname (node)
        || strlen (node) >= sizeof (said->fault->node))
        return;
    strcpy (f->node, node);
    snprintf (f->cause, sizeof (f->cause), "%s", why);
    f->launch = launch;
    said->nfaults++;
}

static void blame_list (struct job_ear *ear, const struct srun_told *told,
                        bool launch)
{
    struct hostlist hl = { 0 };

    if (hostlist_parse (&hl, told->nodes, ear->job->n, NULL) == 0)
        for (size_t i = 0; i < hl.count; i++)
            add_job_fault (ear, hl.name[i], told->why, launch);
    hostlist_clear (&hl);
}

static void read_srun_line (struct job_ear *ear, const char *line)
{
    struct srun_told told;
    size_t n = ear->job->n;

    switch (srun_tells (&told, line)) {
    case SRUN_LAUNCHING:
        ear->said->launched = true;
        if (told.task < n && strlen (told.nodes) < sizeof (ear->member->node))
            strcpy (ear->member[told.task].node, told.nodes);
        break;
    case SRUN_STARTED:
        for (size_t i = 0; i < n; i++)
            if (!strcmp (ear->member[i].node, told.nodes))
                ear->member[i].started = true;
        break;
    case SRUN_NO_LAUNCH:
        if (told.nodes[0])
            blame_list (ear, &told, true);
        else if (told.task < n)
            add_job_fault (ear, ear->member[told.task].node, told.why, true);
        break;
    case SRUN_LOST:
        blame_list (ear, &told, false);
        break;
    case SRUN_NO_NEWS:
        break;
    }
    ear->said->cancelled |= strstr (line, "Force Terminated Job") != NULL
                            || strstr (line, "has been revoked") != NULL;
}

/* The member of a task if the port is its own; else NULL. */
static struct job_member *owner (const struct job_ear *ear, unsigned int task,
                                 uint64_t node_guid, unsigned int number)
{
    const struct local_port port = { .node_guid = node_guid, .port = number };
    const struct audit_job *job = ear->job;
    struct job_member *m = task < job->n ? &ear->member[task] : NULL;

    if (!m || !m->node[0]
        || !signs_owns (job->audit->fabric, job->node_of, m->node, &port))
        return NULL;
    return m;
}

static void read_step_stderr (void *arg, struct program_line *line)
{
    struct job_ear *ear = arg;
    struct job_said *said = ear->said;
    struct port_traffic traffic;
    struct local_port port;
    struct job_member *m;
    uint64_t done, total;
    unsigned int task;
    char *text;

    text_clean (line->text);
    if (!(text = srun_label (line->text, &task))) {
        read_srun_line (ear, line->text);
        if (!srun_hear (&ear->srun, line->text))
            strcpy (ear->last, line->text);
    }
    else if (ports_parse (text, ear->job->nonce, &port)) {
        if (!line->cut && (m = owner (ear, task, port.node_guid, port.port))
            && m->nports++ < PORTS_MAX)
            said->port[said->nports++] = port;
    }
    else if (ports_parse_traffic (text, ear->job->nonce, &traffic)) {
        if (!line->cut
            && (m = owner (ear, task, traffic.node_guid, traffic.port))
            && m->ntraffic++ < PORTS_MAX)
            said->traffic[said->ntraffic++] = traffic;
    }
    else if (progress_parse (text, &done, &total))
        terminal_work ("step", done, total);
    else if (!srun_hear (&ear->srun, text))
        strcpy (ear->last, text);
}

/* The node of a task; "": not known. */
static const char *node_of_task (const struct job_ear *ear, unsigned int task)
{
    return task < ear->job->n ? ear->member[task].node : "";
}

/* Read a line of a record, or a piece of one: the leader's, and that of the
 * first other task that prints one; such lines of further tasks are ignored.
 */
static void read_record_line (void *arg, struct program_line *line)
{
    struct job_ear *ear = arg;
    const char *sentence, *piece;
    struct job_record *r;
    char *text;
    unsigned int task;
    bool unknown, result;

    if (line->cut || !(text = srun_label (line->text, &task)))
        return;
    result = is_result (text, ear->job->nonce, &unknown, &sentence);
    if (*text != '+' && !result)
        return;
    r = &ear->record[strcmp (node_of_task (ear, task), ear->job->leader)
                         ? OTHERS : LEADERS];
    if (!r->fp) {
        r->fp = xcheck (open_memstream (&r->text, &r->len));
        r->task = task;
    }
    if (r->task != task || r->done || r->too_much)
        return;
    if (result && r->midline)
        putc ('\n', r->fp); /* the task was interrupted */
    piece = result ? text : text + 1;
    r->midline = !result && *piece;
    r->size += (size_t)fprintf (r->fp, "%s%s", piece, r->midline ? "" : "\n");
    r->too_much = r->size >= RECORD_MAX;
    r->done = result;
}

/* Stop at the leader's result, or if its record is too long. Another task that
 * has a result may have been early: the leader's is waited for as long as it may
 * come.
 */
static bool is_result_complete (void *arg)
{
    const struct job_ear *ear = arg;

    return ear->record[LEADERS].done || ear->record[LEADERS].too_much
           || (ear->record[OTHERS].done && is_blamed (ear, ear->job->leader));
}

/* Choose the record that counts: the leader's; if it has none, another's, since
 * the leader may have been lost before the step began. Return whether there is
 * one.
 */
static bool take_record (struct job_ear *ear)
{
    struct job_said *said = ear->said;
    struct job_record *leaders = &ear->record[LEADERS];
    struct job_record *others = &ear->record[OTHERS];
    struct job_record *r = leaders;

    for (size_t i = 0; i < RECORDS; i++)
        if (ear->record[i].fp)
            xcheck (fclose (ear->record[i].fp) == 0 ? said : NULL);
    if (leaders->done && others->fp)
        strcpy (said->astray, node_of_task (ear, others->task));
    if (!leaders->done && !leaders->too_much && others->done
        && !others->too_much) {
        r = others;
        said->stands_in = true;
    }
    said->record = r->text;
    said->len = r->len;
    if (r->fp)
        strcpy (said->recorder, node_of_task (ear, r->task));
    free (r == leaders ? others->text : leaders->text);
    return r->done && !r->too_much;
}

/* Decide which nodes are at fault. If the step was not started on some nodes,
 * only these are: other errors are consequences.
 */
static void decide_faulty_nodes (struct job_ear *ear, bool timed_out)
{
    struct job_said *said = ear->said;
    size_t n = ear->job->n, started = 0, launches = 0, kept = 0;

    for (size_t i = 0; i < n; i++)
        started += ear->member[i].started;
    if (timed_out && started > 0)
        for (size_t i = 0; i < n; i++)
            if (!ear->member[i].started)
                add_job_fault (ear, ear->member[i].node,
                               "no answer to the task launch", true);
    for (size_t i = 0; i < said->nfaults; i++)
        launches += said->fault[i].launch;
    for (size_t i = 0; i < said->nfaults; i++)
        if (!launches || said->fault[i].launch)
            said->fault[kept++] = said->fault[i];
    said->nfaults = kept;
}

static void explain_job_failure (struct job_ear *ear, enum program_end end,
                                 int status)
{
    const struct site *site = ear->job->audit->site;
    struct job_said *said = ear->said;
    enum { MAX = sizeof (said->why) };
    /* a complaint of weight 1 only says that the step was ended */
    const char *detail = (ear->srun.weight > 1 || !ear->last[0])
                                 && !(end == PROGRAM_TIMED_OUT
                                      && ear->srun.weight == 1)
                             ? ear->srun.complaint
                             : ear->last;

    if (ear->record[LEADERS].too_much)
        snprintf (said->why, MAX, "the record is longer than %d bytes",
                  RECORD_MAX);
    else if (ear->srun.no_mpi)
        snprintf (said->why, MAX, "%s", site_mpi (site)->none);
    else if (end == PROGRAM_STOPPED)
        strcpy (said->why, "the audit was interrupted");
    if (said->why[0])
        return;
    decide_faulty_nodes (ear, end == PROGRAM_TIMED_OUT);
    if (said->nfaults == ear->job->n)
        snprintf (said->why, MAX, "all of the nodes: %s", said->fault[0].cause);
    else if (said->nfaults > 0)
        snprintf (said->why, MAX, "node %s: %s%s", said->fault[0].node,
                  said->fault[0].cause,
                  said->nfaults > 1 ? "; and others" : "");
    else if (end == PROGRAM_TIMED_OUT)
        snprintf (said->why, MAX, "no result within %g s%s%.220s",
                  site->audit_timeout_ms / 1e3, *detail ? "; " : "", detail);
    else if (WIFEXITED (status) && WEXITSTATUS (status) == 127)
        snprintf (said->why, MAX, "cannot run %.200s", site->srun);
    else
        snprintf (said->why, MAX, "%.255s",
                  *detail ? detail : "srun ended without a message");
}

/*
 * Running
 */

/* *another: there is no result because Slurm lacks this MPI type, or a node could
 * not start its task by it: another type may do.
 */
static int run_job_once (const struct audit_job *job, const char *mpi,
                         struct job_said *said, bool *another,
                         struct error *err)
{
    const size_t max_ports = PORTS_MAX * job->n;
    struct job_ear ear = {
        .job = job, .said = said,
        .member = xcalloc (job->n, sizeof (*ear.member)),
    };
    char **env = xcheck (job_environment (job->audit->site));
    char **argv = xcheck (job_arguments (job, mpi, env));
    const struct program program = {
        .argv = argv, .env = env,
        .deadline_ms
        = clock_ms () + job->audit->site->audit_timeout_ms + IMMEDIATE_S * 1000,
        .stop = job->audit->stop, .take = { read_record_line, read_step_stderr },
        .done = is_result_complete, .arg = &ear,
    };
    enum program_end end;
    struct error why;
    int status, rc;

    *said = (struct job_said){
        .port = xcalloc (max_ports, sizeof (*said->port)),
        .traffic = xcalloc (max_ports, sizeof (*said->traffic)),
        .fault = xcalloc (job->n, sizeof (*said->fault)),
    };
    terminal_work ("waiting for Slurm", 0, 0);
    end = program_run (&program, &status);
    rc = take_record (&ear);
    if (end == PROGRAM_NONE)
        rc = error_errno (err, "cannot start a process");
    else if ((end != PROGRAM_ENDED || WIFSIGNALED (status))
             && controller_cancel (job->name, &why) < 0)
        snprintf (said->left, sizeof (said->left),
                  "job %s may not have ended: %.180s", job->name, why.text);
    if (rc == 0)
        explain_job_failure (&ear, end, status);
    *another = rc == 0 && end == PROGRAM_ENDED
               && (ear.srun.no_mpi || ear.srun.no_launch);
    program_free (argv);
    program_free (env);
    free (ear.member);
    return rc;
}

int job_run (const struct audit_job *job, struct job_said *said,
             struct error *err)
{
    const char *const *mpi = site_mpi (job->audit->site)->types;
    bool another;
    int rc = run_job_once (job, *mpi, said, &another, err);

    while (another && *++mpi) {
        struct job_said first = *said;

        rc = run_job_once (job, *mpi, said, &another, err);
        if (rc > 0 && first.nfaults > 0)
            snprintf (said->odd, sizeof (said->odd),
                      "--mpi=%s: %s; --mpi=%s did", mpi[-1], first.why, *mpi);
        if (rc == 0 && first.nfaults > 0) { /* which has more to say */
            job_said_clear (said);
            *said = first;
        }
        else
            job_said_clear (&first);
    }
    return rc;
}

void job_said_clear (struct job_said *said)
{
    free (said->record);
    free (said->port);
    free (said->traffic);
    free (said->fault);
    *said = (struct job_said){ 0 };
}

/*
 * The record
 */

void record_clear (struct audit_record *r)
{
    samples_destroy (r->samples);
    plan_destroy (r->plan);
    pathset_destroy (r->ps);
    *r = (struct audit_record){ 0 };
}

int record_read (struct audit_record *r, char *text, size_t len,
                 const char *nonce, const struct fabric *f,
                 const char *const *node_of, struct error *err)
{
    char *plan = NULL, *samples = NULL, *line;
    FILE *fp;

    *r = (struct audit_record){ 0 };
    if (len >= RECORD_MAX || text[len] != '\0')
        return error_input (err, "the record is longer than %d bytes",
                            RECORD_MAX);
    /* among other lines, such as Slurm's; nothing after the result is read */
    while (!r->sentence[0] && (line = strsep (&text, "\n"))) {
        const char *sentence;

        if (*line == '{' && !plan)
            plan = line;
        else if (*line == '{' && !samples)
            samples = line;
        else if (is_result (line, nonce, &r->unknown, &sentence)) {
            snprintf (r->sentence, sizeof (r->sentence), "%s", sentence);
            text_clean (r->sentence);
        }
    }
    if (!r->sentence[0])
        return error_input (err, "the record has no result");
    if (!plan)
        return 0;
    if (!samples)
        return error_input (err, "the record has no samples");
    fp = xcheck (fmemopen (plan, strlen (plan), "r"));
    r->plan = plan_read (fp, "the record's plan", f->hash, fabric_resolve,
                         (void *)f, &r->ps, err);
    fclose (fp);
    for (size_t i = 0; r->plan && i < pathset_size (r->ps); i++) {
        const struct endpoint *e = pathset_endpoint (r->ps, i);

        if (!node_of[f->end[e->id].endpoint])
            return error_input (err, "the record is of %.63s, which was not "
                                     "asked for", e->name);
    }
    if (!r->plan)
        return -1;
    fp = xcheck (fmemopen (samples, strlen (samples), "r"));
    r->samples = samples_read (fp, "the record's samples", f->hash,
                               fabric_resolve, (void *)f, &r->ps, err);
    fclose (fp);
    if (r->samples && strcmp (r->samples->nonce, nonce))
        return error_input (err, "the record's samples are of another run");
    return r->samples ? 0 : -1;
}
