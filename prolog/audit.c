/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Run an audit: begin, measure by a job, judge, record.
 *
 * Notes: srun ends its job when it is ended by SIGTERM, and so does its child
 * when it is killed; but slurmctld may not have been there to hear it, or both
 * were killed. So a job that did not end by itself is looked for by its name,
 * which no other audit's has, and cancelled.
 */
#include "config.h"
#include "prolog/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/judge/judge.h"
#include "probe/guids.h"
#include "probe/nodemap.h"
#include "prolog/baseline.h"
#include "prolog/controller.h"
#include "prolog/ports.h"
#include "prolog/record.h"
#include "prolog/signs.h"
#include "util/program.h"
#include "util/srun.h"
#include "util/text.h"

enum {
    IMMEDIATE_S = 5,      /* for the nodes to be free */
    PROBE_EARLY_MS = 3000, /* pmm-probe ends before the watchdog bites, ... */
    PORTS_MAX = 8,        /* of a node */
    LIST_MAX = 100000,    /* bytes of a node list: one argument of srun's */
    ARGS_MAX = 64,
    NAME_BYTES = 48,      /* of the job's name */
};

/* An audit on its way. */
struct run {
    const struct audit *audit;
    const struct audit_request *request;
    struct audit_result *result;
    struct nodemap *map;
    const char **node_of;  /* [endpoint of the fabric]: the node, borrowed */
    const char **node;     /* those that are measured, in order of name */
    size_t n;
    char *list;            /* these, folded */
    char *partners;        /* of them those that we have not drained */
    size_t npartners;
    char nonce[LEDGER_NONCE_BYTES];
    char job_name[NAME_BYTES];
    int lock;
};

/* Nothing will be measured. Return 0, as audit_run does then. */
__attribute__ ((format (printf, 2, 3))) static int
decline (struct run *run, const char *fmt, ...)
{
    struct audit_result *r = run->result;
    va_list ap;

    r->status = VERDICT_UNKNOWN;
    va_start (ap, fmt);
    vsnprintf (r->sentence, sizeof (r->sentence), fmt, ap);
    va_end (ap);
    text_clean (r->sentence);
    return 0;
}

__attribute__ ((format (printf, 2, 3))) static void
report (const struct run *run, const char *fmt, ...)
{
    va_list ap;

    if (!run->audit->report)
        return;
    fputs ("pmm audit: ", run->audit->report);
    va_start (ap, fmt);
    vfprintf (run->audit->report, fmt, ap);
    va_end (ap);
    putc ('\n', run->audit->report);
    fflush (run->audit->report);
}

/*
 * Whom
 */

static int compare_names (const void *a, const void *b)
{
    return strcmp (*(const char *const *)a, *(const char *const *)b);
}

/* The nodes of the request, each once, in order of name. */
static int sort_nodes (struct run *run, struct error *err)
{
    const struct audit_request *rq = run->request;

    if (rq->n > AUDIT_NODES_MAX)
        return error_input (err, "an audit is of at most %d nodes",
                            AUDIT_NODES_MAX);
    if (!(run->node = calloc (rq->n + 1, sizeof (*run->node))))
        return error_nomem (err);
    for (size_t i = 0; i < rq->n; i++) {
        if (!text_is_hostname (rq->node[i]))
            return error_input (err, "'%.63s' is no node's name",
                                rq->node[i]);
        run->node[i] = rq->node[i];
    }
    qsort (run->node, rq->n, sizeof (*run->node), compare_names);
    for (size_t i = 0; i < rq->n; i++)
        if (i == 0 || strcmp (run->node[i], run->node[run->n - 1]))
            run->node[run->n++] = run->node[i];
    return 0;
}

/* Leave in node_of what was asked for, and mark who has an endpoint. */
static int match_nodes (struct run *run, bool *known, struct error *err)
{
    const struct fabric *f = run->audit->fabric;
    const char *path = run->audit->site->node_map;

    if (*path && !(run->map = nodemap_load (path, err)))
        return -1;
    if (!(run->node_of = calloc (f->nendpoints + 1, sizeof (*run->node_of))))
        return error_nomem (err);
    if (guids_nodes (f, run->map, run->node_of, err) < 0)
        return -1;
    for (size_t i = 0; i < f->nendpoints; i++) {
        const char **found = bsearch (&run->node_of[i], run->node, run->n,
                                      sizeof (*run->node), compare_names);

        if (found)
            known[found - run->node] = true;
        else
            run->node_of[i] = NULL;
    }
    return 0;
}

/* Name those that are not in the snapshot, and leave them out. */
static int leave_out (struct run *run, const bool *known, struct error *err)
{
    const char **strange = calloc (run->n + 1, sizeof (*strange));
    size_t nstrange = 0, kept = 0;
    char *list = NULL;

    if (!strange)
        return error_nomem (err);
    for (size_t i = 0; i < run->n; i++) {
        if (known[i])
            run->node[kept++] = run->node[i];
        else
            strange[nstrange++] = run->node[i];
    }
    run->n = kept;
    if (nstrange > 0 && (list = hostlist_fold (strange, nstrange)))
        report (run, "not in the snapshot, and left out: %.400s", list);
    free (list);
    free (strange);
    return 0;
}

static int find_nodes (struct run *run, struct error *err)
{
    bool *known;
    int rc;

    if (sort_nodes (run, err) < 0)
        return -1;
    if (!(known = calloc (run->n + 1, sizeof (*known))))
        return error_nomem (err);
    rc = match_nodes (run, known, err);
    if (rc == 0)
        rc = leave_out (run, known, err);
    free (known);
    if (rc == 0 && !(run->list = hostlist_fold (run->node, run->n)))
        rc = error_nomem (err);
    return rc;
}

/* Tell those that we drained from their partners. */
static int find_partners (struct run *run, struct error *err)
{
    const char **partner = calloc (run->n + 1, sizeof (*partner));
    struct hostlist drained = { 0 };
    int rc = -1;

    if (!partner)
        error_nomem (err);
    else if (controller_drained (&drained, err) == 0) {
        for (size_t i = 0; i < run->n; i++) {
            size_t k = 0;

            while (k < drained.count && strcmp (drained.name[k], run->node[i]))
                k++;
            if (k == drained.count)
                partner[run->npartners++] = run->node[i];
        }
        if ((run->partners = hostlist_fold (partner, run->npartners)))
            rc = 0;
        else
            error_nomem (err);
    }
    hostlist_clear (&drained);
    free (partner);
    return rc;
}

/*
 * The job
 */

struct args {
    char *v[ARGS_MAX + 1];
    size_t n;
};

__attribute__ ((format (printf, 2, 3))) static void
add (struct args *a, const char *fmt, ...)
{
    va_list ap;

    if (a->n == ARGS_MAX)
        return;
    va_start (ap, fmt);
    if (vasprintf (&a->v[a->n], fmt, ap) < 0)
        a->v[a->n] = NULL;
    va_end (ap);
    if (a->v[a->n])
        a->n++;
    else
        a->n = ARGS_MAX; /* no memory: what is there is not to be run */
}

static bool is_whole (const struct args *a)
{
    return a->n < ARGS_MAX;
}

static void args_clear (struct args *a)
{
    for (size_t i = 0; i < ARGS_MAX; i++)
        free (a->v[i]);
}

/* Nothing of our own environment but which Slurm this is. */
static void make_environment (struct args *env, const struct site *site)
{
    const char *conf = getenv ("SLURM_CONF");

    add (env, "PATH=/usr/local/bin:/usr/bin:/bin");
    add (env, "LC_ALL=C");
    if (conf && *conf == '/')
        add (env, "SLURM_CONF=%.*s", PATH_MAX, conf);
    add (env, "PMM_CHECK_NESTED=1"); /* the plugin does nothing then */
    add (env, "SLURM_PMIX_TIMEOUT=%d",
         site_pmix_timeout_s (site->audit_timeout_ms));
}

static void add_fixed (struct args *a, const char *const *word, size_t n)
{
    for (size_t i = 0; i < n; i++)
        add (a, "%s", word[i]);
}

/* The job: n nodes, at once or not at all. */
static void add_job (struct args *a, const struct run *run, const char *list,
                     size_t n)
{
    static const char *const fixed[]
        = { "--exclusive", "--mem=0", "--gres=none", "--quiet" };
    const struct site *site = run->audit->site;

    add (a, "--job-name=%s", run->job_name);
    add (a, "--partition=%s", site->audit_partition);
    add (a, "--nodelist=%s", list);
    add (a, "--nodes=%zu", n);
    add (a, "--immediate=%d", IMMEDIATE_S);
    /* minutes: if all else fails */
    add (a, "--time=%d", site->audit_timeout_ms / 60000 + 2);
    add_fixed (a, fixed, sizeof (fixed) / sizeof (fixed[0]));
}

static void add_step (struct args *a, const struct run *run)
{
    static const char *const fixed[] = {
        "--mpi=pmix",       "--ntasks-per-node=1", "--cpu-bind=none",
        "--propagate=NONE", "--export=NONE",       "--input=none",
        "--chdir=/",        "--kill-on-bad-exit=1",
    };

    add (a, "--ntasks=%zu", run->n);
    add_fixed (a, fixed, sizeof (fixed) / sizeof (fixed[0]));
}

static void add_probe (struct args *a, const struct run *run)
{
    const struct site *site = run->audit->site;
    int ms = site->audit_timeout_ms;
    int early_ms = ms / 5 < PROBE_EARLY_MS ? ms / 5 : PROBE_EARLY_MS;

    add (a, "%s", site->probe);
    if (run->audit->conf) {
        add (a, "--conf");
        add (a, "%s", run->audit->conf);
    }
    add (a, "--timeout");
    add (a, "%.1f", (ms - early_ms) / 1e3);
    add (a, "--nonce");
    add (a, "%s", run->nonce);
    add (a, "--audit");
}

/* A step that is also on nodes which Slurm gives to no job: it starts them
 * for SlurmUser (prolog/controller.h), while a job of salloc's, which is beside
 * srun, holds the others. PMIx must not learn from salloc's environment that
 * only these are of the job: so srun has an environment from scratch again.
 */
static void add_with_drained (struct args *a, const struct run *run,
                              const struct args *env)
{
    const char *srun = run->audit->site->srun;
    const char *name = strrchr (srun, '/');

    add (a, "%.*ssalloc", (int)(name ? name + 1 - srun : 0), srun);
    add (a, "--kill-command=KILL");
    add (a, "--no-bell");
    add_job (a, run, run->partners, run->npartners);
    add (a, "/usr/bin/env");
    add (a, "-i");
    add_fixed (a, (const char *const *)env->v, env->n);
    add (a, "%s", srun);
    add (a, "--no-allocate");
    add (a, "--quiet");
    add (a, "--nodelist=%s", run->list);
    add (a, "--nodes=%zu", run->n);
}

static void make_arguments (struct args *a, const struct run *run,
                            const struct args *env)
{
    if (run->npartners < run->n)
        add_with_drained (a, run, env);
    else {
        add (a, "%s", run->audit->site->srun);
        add_job (a, run, run->list, run->n);
    }
    add_step (a, run);
    add_probe (a, run);
}

/* What it says. */
struct said {
    const char *nonce;
    char *out;            /* its standard output, with a NUL behind it */
    size_t len, size;
    bool too_much, done;
    struct program_line line[PROGRAM_STREAMS];
    struct srun_words srun;
    struct local_port *port; /* as the members know theirs */
    size_t nports, max_ports;
    char last[PROGRAM_LINE]; /* of pmm-probe's, for people */
};

static void hear_result (void *arg, struct program_line *line)
{
    struct said *s = arg;
    const char *sentence;
    bool unknown;

    s->done |= !line->cut
               && record_is_result (line->text, s->nonce, &unknown,
                                    &sentence);
}

static void hear_words (void *arg, struct program_line *line)
{
    struct said *s = arg;

    struct local_port port;

    text_clean (line->text);
    if (ports_parse (line->text, s->nonce, &port)) {
        if (!line->cut && s->nports < s->max_ports)
            s->port[s->nports++] = port;
    }
    else if (!srun_hear (&s->srun, line->text))
        strcpy (s->last, line->text);
}

static void keep (struct said *s, const char *data, size_t len)
{
    if (s->len + len + 1 > s->size) {
        size_t size = s->size ? 2 * s->size : 1 << 16;
        char *out = NULL;

        if (size <= RECORD_MAX)
            out = realloc (s->out, size);
        if (!out) {
            s->too_much = true;
            return;
        }
        s->out = out;
        s->size = size;
    }
    memcpy (s->out + s->len, data, len);
    s->len += len;
    s->out[s->len] = '\0';
}

static void hear (void *arg, enum program_stream from, const char *data,
                  size_t len)
{
    struct said *s = arg;

    if (from == PROGRAM_OUT && !s->too_much)
        keep (s, data, len);
    program_lines (&s->line[from], data, len,
                   from == PROGRAM_OUT ? hear_result : hear_words, s);
}

static bool is_done (void *arg)
{
    return ((struct said *)arg)->done;
}

static void cancel (const struct run *run)
{
    struct error err;

    if (controller_cancel (run->job_name, &err) < 0)
        report (run, "job %s may not have ended: %s", run->job_name,
                err.text);
}

/* Why there is no result. */
static int explain (struct run *run, const struct said *s,
                    enum program_end end, int status)
{
    const struct site *site = run->audit->site;
    const char *cause = srun_cause (&s->srun);
    const char *detail = s->srun.complaint[0] ? s->srun.complaint : s->last;

    if (cause)
        return decline (run, "%s", cause);
    if (end == PROGRAM_STOPPED)
        return decline (run, "the audit was interrupted");
    if (end == PROGRAM_TIMED_OUT)
        return decline (run, "no result within %g s%s%s",
                        site->audit_timeout_ms / 1e3, *detail ? "; " : "",
                        detail);
    if (WIFEXITED (status) && WEXITSTATUS (status) == 127)
        return decline (run, "cannot run %.200s", site->srun);
    return decline (run, "%s", *detail ? detail : "srun ended without a word");
}

/* Return 1 with the record in `said`, 0 where there is none, -1 with err. */
static int run_job (struct run *run, struct said *said, struct error *err)
{
    struct args argv = { 0 }, env = { 0 };
    struct program program = { .argv = argv.v, .env = env.v,
                               .stop = run->audit->stop, .take = hear,
                               .done = is_done, .arg = said };
    enum program_end end = PROGRAM_NONE;
    int status, rc;

    make_environment (&env, run->audit->site);
    make_arguments (&argv, run, &env);
    program.deadline_ms = program_now_ms () + run->audit->site->audit_timeout_ms
                          + IMMEDIATE_S * 1000;
    if (!is_whole (&env) || !is_whole (&argv))
        rc = error_nomem (err);
    else if ((end = program_run (&program, &status)) == PROGRAM_NONE)
        rc = error_errno (err, "cannot start a process");
    else if (said->too_much)
        rc = decline (run, "the record is longer than %d bytes", RECORD_MAX);
    else
        rc = said->done ? 1 : explain (run, said, end, status);
    if (end != PROGRAM_NONE && (end != PROGRAM_ENDED || WIFSIGNALED (status)))
        cancel (run);
    args_clear (&argv);
    args_clear (&env);
    return rc;
}

/*
 * The verdict
 */

static struct verdict *judge_record (struct run *run, struct record *r,
                                     struct error *err)
{
    const struct site *site = run->audit->site;
    struct judge_options opts = {
        .warn_ns = site->warn_ns,
        .warn_spread = site->warn_spread,
        .fail_ns = site->fail_ns,
        .fail_spread = site->fail_spread,
    };
    struct baseline_set base;
    struct verdict *v = NULL;

    if (baseline_gather (&base, run->audit->ledger, run->audit->fabric,
                         site->baseline, err) == 0)
        v = judge (r->ps, r->plan, r->samples, base.v, base.n, &opts, err);
    if (base.odd[0])
        report (run, "no baseline: %s", base.odd);
    /* what the step could not tell, it alone knows */
    if (v && r->unknown && v->status != VERDICT_UNKNOWN
        && verdict_limit (v, VERDICT_UNKNOWN, "%s", r->sentence) < 0) {
        verdict_destroy (v);
        v = NULL;
        error_nomem (err);
    }
    baseline_clear (&base);
    return v;
}

static int enter (struct run *run, struct record *r, struct error *err)
{
    struct audit_result *result = run->result;
    struct verdict *v = judge_record (run, r, err);
    int rc = -1;

    if (v && ledger_record (run->audit->ledger, time (NULL), r->ps,
                            r->samples, v, err) > 0) {
        result->job = r->samples->job;
        result->status = v->status;
        verdict_sentence (v, pathset_network (r->ps), result->sentence,
                          sizeof (result->sentence));
        rc = 1;
    }
    verdict_destroy (v);
    return rc;
}

/* Read and enter what the step said. A record that makes no sense is the
 * step's fault, and measures nothing.
 */
static int conclude (struct run *run, struct said *said, struct error *err)
{
    struct record_whom whom = { run->nonce, run->audit->fabric,
                                run->node_of };
    struct record r;
    struct error why;
    int rc;

    if (record_read (&r, said->out, said->len, &whom, &why) < 0)
        rc = decline (run, "%.250s", why.text);
    else if (!r.plan)
        rc = decline (run, "%s", r.sentence);
    else
        rc = enter (run, &r, err);
    record_clear (&r);
    return rc;
}

static void publish (const struct run *run)
{
    struct error err;

    if (baseline_publish (run->audit->ledger, run->audit->fabric,
                          run->audit->site->baseline, &err) < 0)
        report (run, "the baseline is not published: %s", err.text);
}

/* The ports enter whether anything was measured or not. */
static int enter_ports (const struct run *run, const struct said *said,
                        struct error *err)
{
    return signs_enter (run->audit->ledger, run->result->id, time (NULL),
                        run->audit->fabric, run->node_of, said->port,
                        said->nports, err) < 0 ? -1 : 0;
}

static int measure (struct run *run, struct error *err)
{
    struct said said = { .nonce = run->nonce,
                         .max_ports = PORTS_MAX * run->n };
    int rc;

    if (!(said.port = calloc (said.max_ports, sizeof (*said.port))))
        return error_nomem (err);
    rc = run_job (run, &said, err);
    if (rc >= 0 && enter_ports (run, &said, err) < 0)
        rc = -1;
    if (rc == 1)
        rc = conclude (run, &said, err);
    free (said.port);
    free (said.out);
    return rc;
}

/*
 * All of it
 */

/* Begin. Return 1, 0 where the job has its audit, -1 with err. */
static int begin (struct run *run, struct error *err)
{
    struct ledger *ledger = run->audit->ledger;
    int64_t id;

    if (ledger_give_up (ledger, time (NULL), 0,
                        "whoever ran it was killed", err) < 0)
        return -1;
    id = ledger_begin (ledger, time (NULL), run->audit->fabric->hash,
                       &run->request->cause, run->node, run->n, run->nonce,
                       err);
    if (id < 0)
        return errno == EEXIST ? decline (run, "%s", err->text) : -1;
    run->result->id = id;
    /* of the nonce only enough to tell ledgers apart */
    snprintf (run->job_name, sizeof (run->job_name), "pmm-audit-%jd-%.8s",
              (intmax_t)id, run->nonce);
    return 1;
}

/* What was begun ends, whatever happened. */
static int run_begun (struct run *run, struct error *err)
{
    int rc = measure (run, err);
    struct error more;

    if (rc <= 0
        && ledger_give_up (run->audit->ledger, time (NULL), run->result->id,
                           rc < 0 ? err->text : run->result->sentence,
                           &more) < 0
        && rc == 0) {
        *err = more;
        rc = -1;
    }
    if (rc == 1)
        publish (run);
    return rc;
}

static int run_locked (struct run *run, struct error *err)
{
    int rc = controller_evicts (run->audit->site->audit_partition, err);

    if (rc != 0 || find_partners (run, err) < 0)
        return decline (run, "%.250s", err->text);
    if (run->npartners == 0)
        return decline (run, "all of the nodes are drained");
    rc = begin (run, err);
    return rc == 1 ? run_begun (run, err) : rc;
}

static void run_clear (struct run *run)
{
    if (run->lock >= 0)
        close (run->lock);
    nodemap_destroy (run->map);
    free (run->node_of);
    free (run->node);
    free (run->list);
    free (run->partners);
}

int audit_run (const struct audit *audit, const struct audit_request *request,
               struct audit_result *result, struct error *err)
{
    struct run run = { .audit = audit, .request = request, .result = result,
                       .lock = -1 };
    int rc;

    *result = (struct audit_result){ .status = VERDICT_UNKNOWN };
    if ((rc = find_nodes (&run, err)) < 0)
        ;
    else if (run.n < AUDIT_NODES_MIN)
        rc = decline (&run, "there are no two nodes to audit");
    else if (strlen (run.list) > LIST_MAX)
        rc = decline (&run, "the list of nodes is too long");
    else if ((rc = ledger_lock (audit->ledger, &run.lock, err)) == 0)
        decline (&run, "another audit is running");
    else if (rc > 0)
        rc = run_locked (&run, err);
    run_clear (&run);
    return rc;
}
