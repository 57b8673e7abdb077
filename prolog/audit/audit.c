/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Run an audit: begin, measure by a job, judge, record. */
#include "config.h"
#include "prolog/audit/audit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/judge/judge.h"
#include "probe/guids.h"
#include "probe/nodemap.h"
#include "prolog/audit/baseline.h"
#include "prolog/audit/job.h"
#include "prolog/audit/partners.h"
#include "prolog/audit/record.h"
#include "prolog/audit/signs.h"
#include "prolog/slurm/controller.h"
#include "util/text.h"

enum {
    LIST_MAX = 100000, /* bytes of a node list: one argument of srun's */
    NAME_BYTES = 48,   /* of the job's name */
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
    const char **partner;  /* of them those that we have not drained */
    size_t npartners;
    char *partners;        /* these, folded */
    const char *leader;    /* one of these */
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

/* The site's map, if it has one: it says who is drained for what. */
static int load_map (struct run *run, struct error *err)
{
    const char *path = run->audit->site->node_map;

    if (!*path)
        return 0;
    run->map = nodemap_load_trusted (path, geteuid (), err);
    return run->map ? 0 : -1;
}

/* Leave in node_of what was asked for, and mark who has an endpoint. */
static int match_nodes (struct run *run, bool *known, struct error *err)
{
    const struct fabric *f = run->audit->fabric;

    if (load_map (run, err) < 0)
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

    if (!(run->partner = partner))
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
    return rc;
}

/*
 * The verdict
 */

/* Who waited while it was measured may be slow for the traffic of others. */
static int hold_against_waits (const struct run *run,
                               const struct job_said *said,
                               struct verdict *v,
                               const struct judge_options *opts,
                               struct error *err)
{
    struct sign *sign;
    int n = signs_waits (run->audit->fabric, run->node_of, said->wait,
                         said->nwaits, &sign, err);
    int rc = n < 0 ? -1 : corroborate (v, sign, (size_t)n, opts);

    free (sign);
    return n >= 0 && rc < 0 ? error_nomem (err) : rc;
}

static struct verdict *judge_record (struct run *run, struct record *r,
                                     const struct job_said *said,
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
    if (v && hold_against_waits (run, said, v, &opts, err) < 0) {
        verdict_destroy (v);
        v = NULL;
    }
    baseline_clear (&base);
    return v;
}

static int enter (struct run *run, struct record *r,
                  const struct job_said *said, struct error *err)
{
    struct audit_result *result = run->result;
    struct verdict *v = judge_record (run, r, said, err);
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
static int conclude (struct run *run, struct job_said *said,
                     struct error *err)
{
    struct record_whom whom = { run->nonce, run->audit->fabric,
                                run->node_of };
    struct record r;
    struct error why;
    int rc;

    if (record_read (&r, said->record, said->len, &whom, &why) < 0)
        rc = decline (run, "%.250s", why.text);
    else if (!r.plan)
        rc = decline (run, "%s", r.sentence);
    else
        rc = enter (run, &r, said, err);
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
static int enter_ports (const struct run *run, const struct job_said *said,
                        struct error *err)
{
    const struct audit *a = run->audit;
    char odd[256];

    if (signs_enter (a->ledger, run->result->id, time (NULL), a->fabric,
                     run->node_of, said->port, said->nports, err) < 0
        || signs_enter_file (a->ledger, run->result->id, time (NULL),
                             a->fabric, run->node_of, a->site->signs, odd,
                             sizeof (odd), err) < 0)
        return -1;
    if (*odd)
        report (run, "no signs of the links: %s", odd);
    return 0;
}

static bool owns (const void *arg, const char *node,
                  const struct local_port *port)
{
    const struct run *run = arg;

    return signs_owns (run->audit->fabric, run->node_of, node, port);
}

static int measure (struct run *run, struct error *err)
{
    const struct job job = {
        .site = run->audit->site,
        .conf = run->audit->conf,
        .name = run->job_name,
        .nonce = run->nonce,
        .leader = run->leader,
        .nodes = run->list,
        .n = run->n,
        .partners = run->partners,
        .npartners = run->npartners,
        .stop = run->audit->stop,
        .owns = owns,
        .arg = run,
    };
    struct job_said said;
    int rc = job_run (&job, &said, err);

    if (said.left[0])
        report (run, "%s", said.left);
    if (rc >= 0 && enter_ports (run, &said, err) < 0)
        rc = -1;
    if (rc == 0)
        decline (run, "%s", said.why);
    else if (rc > 0)
        rc = conclude (run, &said, err);
    job_said_clear (&said);
    return rc;
}

/*
 * All of it
 */

/* Another than led the audit that this one is to confirm, or the last one. */
static int find_leader (struct run *run, struct error *err)
{
    const struct audit_request *rq = run->request;
    json_t *list = ledger_audits (run->audit->ledger, 1, err);
    const json_t *last = json_array_get (list, 0);
    const char *before
        = rq->before ? rq->before
                     : json_string_value (json_object_get (last, "leader"));
    uint64_t turn = (uint64_t)json_integer_value (json_object_get (last,
                                                                   "id"));

    run->leader = partners_leader (run->partner, run->npartners,
                                   rq->cause.node, before, turn);
    json_decref (list);
    return list ? 0 : -1;
}

/* Begin. Return 1, 0 where the job has its audit, -1 with err. */
static int begin (struct run *run, struct error *err)
{
    struct ledger *ledger = run->audit->ledger;
    struct ledger_cause cause = run->request->cause;
    int64_t id;

    if (ledger_give_up (ledger, time (NULL), 0,
                        "whoever ran it was killed", err) < 0)
        return -1;
    if (find_leader (run, err) < 0)
        return -1;
    cause.leader = run->leader;
    id = ledger_begin (ledger, time (NULL), run->audit->fabric->hash,
                       &cause, run->node, run->n, run->nonce,
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
    free (run->partner);
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
        decline (&run, "another audit, or what follows from one, is running");
    else if (rc > 0)
        rc = run_locked (&run, err);
    run_clear (&run);
    return rc;
}
