/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Run an audit: begin it, measure with a job, judge, record. */
#include "config.h"
#include "prolog/audit/audit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ibquery/nodemap.h"
#include "ibquery/spread.h"
#include "ibquery/links/traffic.h"
#include "prolog/audit/partners.h"
#include "prolog/audit/baseline.h"
#include "prolog/audit/parts.h"
#include "prolog/slurm/controller.h"
#include "report/words.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/sort.h"
#include "util/terminal.h"
#include "util/text.h"

enum {
    LIST_MAX = 100000, /* bytes of a node list, one argument of srun */
    NAME_BYTES = 48,   /* of the job's name */
    SEARCH_EVERY_S = 3600,
    RATES_EVERY_S = 3600, /* of a cable between switches */
    IDLE_PAUSE_MS = 500,  /* between tries */
    IDLE_PAUSES = 40,
};

/* A running audit, or one of its tries. */
struct audit_work {
    const struct audit *audit;
    struct audit_result *result;
    struct nodemap *map;
    const char **all_of;   /* [endpoint of the fabric]: the node, borrowed */
    const char **node_of;  /* ... if it is measured; else NULL */
    const char **node;     /* [job.n] the measured nodes, sorted by name */
    const char **partner;  /* those of them that are not drained */
    struct audit_job job;  /* of these; it owns its two lists */
    char nonce[LEDGER_NONCE_BYTES];

    size_t tries;
    int64_t end_ms;        /* no new try after this time */
    struct check_signs waits; /* of the published check */
    bool launched, cancelled; /* the job of the last try, */
    bool unmet;               /* ... whose processes may not have met in time */
    struct job_fault *fault; /* of all tries, */
    size_t nfaults, ntold; /* ... and the number before the last try */
};

/* Set the reason why there is no result. Return 0, as audit_run does then. */
__attribute__ ((format (printf, 2, 3))) static int
set_no_result (struct audit_work *run, const char *fmt, ...)
{
    struct audit_result *r = run->result;

    r->status = VERDICT_UNKNOWN;
    TEXT_PRINT (r->sentence, sizeof (r->sentence), fmt);
    text_clean (r->sentence);
    return 0;
}

__attribute__ ((format (printf, 2, 3))) static void
report_audit_progress (const struct audit_work *run, const char *fmt, ...)
{
    va_list ap;

    if (!run->audit->report)
        return;
    terminal_clear ();
    fputs ("pmm audit: ", run->audit->report);
    va_start (ap, fmt);
    vfprintf (run->audit->report, fmt, ap);
    va_end (ap);
    putc ('\n', run->audit->report);
    fflush (run->audit->report);
}

/*
 * The nodes
 */

/* Leave out the nodes that are not marked, and report them. */
static void drop_unmarked_nodes (struct audit_work *run, const bool *marked,
                                 const char *why)
{
    const char **out = xarray (run->job.n, sizeof (*out));
    size_t n = 0, kept = 0;

    for (size_t i = 0; i < run->job.n; i++) {
        if (marked[i])
            run->node[kept++] = run->node[i];
        else
            out[n++] = run->node[i];
    }
    run->job.n = kept;
    if (n > 0) {
        char *list = hostlist_fold (out, n);

        report_audit_progress (run, "%s, and left out: %.400s", why, list);
        free (list);
    }
    free (out);
}

/* From now on, measure these nodes. */
static void set_audit_nodes (struct audit_work *run, const char *const *node,
                             size_t n)
{
    memmove (run->node, node, n * sizeof (*node));
    run->job.n = n;
    sort_array (run->node, n, compare_strings);
    for (size_t i = 0; i < run->audit->fabric->nendpoints; i++)
        run->node_of[i] = text_find (run->node, n, run->all_of[i])
                              ? run->all_of[i]
                              : NULL;
    free ((char *)run->job.nodes);
    run->job.nodes = hostlist_fold (run->node, n);
}

/* Choose the nodes of the request that have an endpoint, each once, sorted by
 * name. Nodes that made earlier audits fail are left out, unless the request
 * includes them anyway.
 */
static int find_audit_nodes (struct audit_work *run, struct error *err)
{
    const struct audit *a = run->audit;
    const struct fabric *f = a->fabric;
    const char *map = a->site->node_map;
    int64_t now = clock_date ();
    struct ledger_rows faulty = { 0 };
    bool *mark;

    if (a->n > AUDIT_NODES_MAX)
        return error_input (err, "an audit is of at most %d nodes",
                            AUDIT_NODES_MAX);
    run->node = xarray (a->n, sizeof (*run->node));
    for (size_t i = 0; i < a->n; i++) {
        if (!text_is_hostname (a->node[i]))
            return error_input (err, "'%.63s' is not a node name", a->node[i]);
        run->node[i] = a->node[i];
    }
    run->job.n = text_unique (run->node, a->n);
    run->fault = xcalloc (run->job.n, sizeof (*run->fault));
    run->node_of = xcalloc (f->nendpoints, sizeof (*run->node_of));
    run->job.node_of = run->node_of;
    if ((*map && !(run->map = nodemap_load_trusted (map, geteuid (), err)))
        || (!a->anyway && ledger_faulty (a->ledger, now, &faulty, err) < 0))
        return -1;
    run->all_of = nodemap_nodes (run->map, f);
    mark = xcalloc (run->job.n, sizeof (*mark));
    for (size_t i = 0; i < f->nendpoints; i++) {
        const char *const *found
            = text_find (run->node, run->job.n, run->all_of[i]);

        if (found)
            mark[found - run->node] = true;
    }
    drop_unmarked_nodes (run, mark, "not in the snapshot");
    for (size_t i = 0; i < run->job.n; i++)
        mark[i] = !ledger_is_out (&faulty, run->node[i], now);
    drop_unmarked_nodes (run, mark, "made earlier audits fail");
    set_audit_nodes (run, run->node, run->job.n);
    free (mark);
    return 0;
}

/* Find the nodes that are not drained by us. */
static int find_partners (struct audit_work *run, struct error *err)
{
    struct hostlist drained;

    if (controller_drained (&drained, err) < 0)
        return -1;
    free (run->partner);
    free ((char *)run->job.partners);
    run->partner = xarray (run->job.n, sizeof (*run->partner));
    run->job.npartners = 0;
    for (size_t i = 0; i < run->job.n; i++)
        if (!hostlist_has (&drained, run->node[i]))
            run->partner[run->job.npartners++] = run->node[i];
    run->job.partners = hostlist_fold (run->partner, run->job.npartners);
    hostlist_clear (&drained);
    return 0;
}

/*
 * The verdict
 */

/* Judge a record. If the step's own verdict is UNKNOWN, the samples do not show
 * why. A port that had to wait meanwhile may be slow because of others'
 * traffic. Ports that did not report their traffic are judged as if others had
 * none.
 */
static struct verdict *judge_record (struct audit_work *run,
                                     const struct audit_record *r,
                                     const struct job_said *said,
                                     struct baseline **base,
                                     struct error *err)
{
    const struct site *site = run->audit->site;
    const struct fabric *f = run->audit->fabric;
    struct judge_options opts = judge_site_options (site);
    const struct site_baseline where = { run->audit->ledger, f,
                                         site->baseline };
    struct spread_choice level;
    struct traffic traffic;
    struct verdict *v = NULL;
    size_t untold = 0, all = 0, most;
    char odd[256];

    traffic_find (&traffic, f, run->node_of, said->traffic, said->ntraffic,
                  site->busy_share);
    most = baseline_enough (plan_probes (r->plan));
    if ((*base = site_baseline_near (&where, r->ps, most, odd, err))) {
        opts.busy = traffic.busy;
        opts.nbusy = traffic.nbusy;
        v = judge (r->ps, r->plan, r->samples, *base, &opts, err);
    }
    if (*odd)
        report_audit_progress (run, "the baseline is made anew: %s", odd);
    if (!v) {
        traffic_clear (&traffic);
        return NULL;
    }
    for (size_t i = 0; i < f->nendpoints; i++) {
        all += run->node_of[i] != NULL;
        untold += run->node_of[i] && !traffic.told[i];
    }
    if (r->unknown)
        verdict_limit (v, VERDICT_UNKNOWN, fact_said (r->sentence));
    if (said->stands_in)
        verdict_limit (
            v, VERDICT_UNKNOWN,
            (struct fact){ .kind = FACT_STOOD_IN,
                           .name = { run->job.leader, *said->recorder
                                                          ? said->recorder : NULL } });
    if (said->astray[0])
        verdict_limit (v, VERDICT_OK,
                       (struct fact){ .kind = FACT_ASTRAY,
                                      .name = { said->astray, run->job.leader } });
    if (untold > 0)
        verdict_limit (
            v, VERDICT_OK,
            (struct fact){ .kind = FACT_TRAFFIC_UNTOLD, .n = { untold, all } });
    if (!r->samples->bursts) /* else it is judged */
        signs_remark_pcie (v, f, run->node_of, said->port, said->nports);
    if (spread_choose (f, r->ps, !strcmp (site->service, "rc"),
                       (unsigned int)site->service_level, &level, NULL) == 0
        && level.level == r->samples->level)
        spread_limit (&level, f, v);
    corroborate (v, traffic.wait, traffic.nwaits, &opts);
    corroborate (v, run->waits.v, run->waits.n, &opts);
    traffic_clear (&traffic);
    return v;
}

/* Write a page of a FAIL, and of an audit that a person asked for. */
static void write_report (struct audit_work *run, const struct audit_record *r,
                          const struct verdict *v,
                          const struct baseline *base)
{
    const struct audit *a = run->audit;
    struct page page = {
        .fabric = a->fabric, .verdict = v, .ps = r->ps, .plan = r->plan,
        .samples = r->samples, .baseline = base,
    };
    bool asked = a->cause.why == LEDGER_BY_HAND || a->cause.why == LEDGER_CHECK;
    struct error err;

    if (*a->site->reports && (v->status == VERDICT_FAIL || asked)
        && reports_add (a->site, a->ledger, run->result->id, &page, &err) < 0)
        report_audit_progress (run, "no page of this audit: %s", err.text);
}

static bool put_sentence (struct audit_work *run, const struct verdict *v)
{
    char *says = words_sentence (v, run->audit->fabric);

    snprintf (run->result->sentence, sizeof (run->result->sentence), "%s",
              says);
    free (says);
    return true;
}

/* Read the record of the step, judge it, and enter it. If the record is
 * invalid, nothing was measured.
 */
static int judge_audit_record (struct audit_work *run, struct job_said *said,
                               struct error *err)
{
    struct ledger *ledger = run->audit->ledger;
    struct audit_result *result = run->result;
    struct baseline *base = NULL;
    struct verdict *v = NULL;
    struct audit_record r;
    struct error why;
    int rc = -1;

    if (record_read (&r, said->record, said->len, run->nonce,
                     run->audit->fabric, run->node_of, &why) < 0)
        rc = set_no_result (run, "%.250s", why.text);
    else if (!r.plan)
        rc = set_no_result (run, "%s", r.sentence);
    /* the leader is the node that printed the record, not the chosen one */
    else if ((v = judge_record (run, &r, said, &base, err))
             && ledger_led (ledger, result->id,
                            said->recorder[0] ? said->recorder : NULL, err)
                    == 0
             && put_sentence (run, v)
             && ledger_record (ledger, clock_date (), r.ps, r.samples, v,
                               result->sentence, err)
                    > 0) {
        result->status = v->status;
        write_report (run, &r, v, base);
        rc = 1;
    }
    verdict_destroy (v);
    baseline_destroy (base);
    record_clear (&r);
    return rc;
}

/* Enter the ports, even if nothing was measured. */
static int enter_ports (struct audit_work *run, const struct job_said *said,
                        struct error *err)
{
    const struct audit *a = run->audit;
    const struct signs_scope scope = { a->ledger, run->result->id,
                                       clock_date (), a->fabric, run->node_of };
    char odd[256];

    if (signs_enter (&scope, said->port, said->nports, err) < 0
        || signs_enter_file (&scope, a->site->signs, &run->waits, odd,
                             sizeof (odd), err) < 0)
        return -1;
    if (*odd)
        report_audit_progress (run, "no signs of the links: %s", odd);
    return 0;
}

/* Add a fault, once for each node, and only of measured nodes. */
static void add_node_fault (struct audit_work *run,
                            const struct job_fault *fault)
{
    for (size_t i = 0; i < run->nfaults; i++)
        if (!strcmp (run->fault[i].node, fault->node))
            return;
    if (text_find (run->node, run->job.n, fault->node)) {
        run->fault[run->nfaults] = *fault;
        run->fault[run->nfaults++].audit = run->result->id;
    }
}

static int measure_audit (struct audit_work *run, struct error *err)
{
    int64_t met_ms = site_meet_timeout_s (run->audit->site->audit_timeout_ms)
                     * INT64_C (1000);
    int64_t began = clock_ms ();
    struct job_said said;
    int rc = job_run (&run->job, &said, err);

    run->unmet = rc > 0 && clock_ms () - began >= met_ms;
    if (said.left[0])
        report_audit_progress (run, "%s", said.left);
    if (said.odd[0])
        report_audit_progress (run, "%s", said.odd);
    strcpy (run->result->astray, said.astray);
    run->launched = said.launched;
    run->cancelled = said.cancelled;
    for (size_t i = 0; rc == 0 && i < said.nfaults; i++)
        add_node_fault (run, &said.fault[i]);
    if (rc >= 0 && enter_ports (run, &said, err) < 0)
        rc = -1;
    if (rc == 0)
        set_no_result (run, "%s", said.why);
    else if (rc > 0)
        rc = judge_audit_record (run, &said, err);
    run->unmet &= rc == 0;
    check_clear_signs (&run->waits);
    job_said_clear (&said);
    return rc;
}

/*
 * One try
 */

/* Enter the audit. It is led by a node that did not lead the audit that this
 * one confirms, or else the last audit; by none that is drained, unless all
 * are. Return 1, 0 if the job has its audit already, -1 with err.
 */
static int begin_audit_record (struct audit_work *run,
                               const struct ledger_cause *why,
                               struct error *err)
{
    struct ledger *ledger = run->audit->ledger;
    struct ledger_cause cause = *why;
    const char *before = run->audit->before;
    bool alone = run->job.npartners == 0;
    struct ledger_rows last;
    int64_t id;

    if (ledger_give_up (ledger, clock_date (), 0, "its process was killed", err)
            < 0
        || ledger_list (ledger, LEDGER_AUDITS, 1, 0, &last, err) < 0)
        return -1;
    if (!before && last.n > 0)
        before = last.audit->leader;
    cause.leader = run->job.leader
        = partners_leader (alone ? run->node : run->partner,
                           alone ? run->job.n : run->job.npartners, cause.node,
                           before, last.n > 0 ? (uint64_t)last.audit->id : 0);
    id = ledger_begin (ledger, clock_date (), run->audit->fabric->hash, &cause,
                       run->node, run->job.n, run->nonce, err);
    if (id < 0)
        return errno == EEXIST ? set_no_result (run, "%s", err->text) : -1;
    run->result->id = id;
    return 1;
}

/* Wait until the nodes of the previous try are idle again. */
static void await_idle (const struct audit_work *run)
{
    const struct timespec pause = { 0, IDLE_PAUSE_MS * 1000000L };
    const volatile sig_atomic_t *stop = run->audit->stop;
    struct error err;

    for (int i = 0; i < IDLE_PAUSES && !(stop && *stop); i++) {
        struct hostlist idle;
        size_t n = 0;

        if (controller_idle (&idle, run->audit->site->audit_partition, &err)
            < 0)
            return;
        for (size_t k = 0; k < idle.count; k++)
            n += text_find (run->node, run->job.n, idle.name[k]) != NULL;
        hostlist_clear (&idle);
        if (n >= run->job.npartners)
            return;
        nanosleep (&pause, NULL);
    }
}

/* Whether a cable between switches that paths between the nodes cross was filled by
 * an audit in the last hour, or may have been by a try without a result; true if
 * that is not known.
 */
static bool has_busy_uplinks (const struct audit_work *run)
{
    const struct fabric *f = run->audit->fabric;
    const struct network *net = fabric_network (f);
    const char **name = xcalloc (f->nendpoints, sizeof (*name));
    int64_t since = clock_date () - RATES_EVERY_S;
    const uint32_t *link = NULL;
    struct pathset *ps;
    size_t n = 0, m = 0;
    bool busy = run->tries > 1;

    for (uint32_t i = 0; i < f->nendpoints; i++)
        if (run->node_of[i])
            name[n++] = f->endpoint[i].name;
    ps = fabric_pathset_lids (f, name, n, NULL);
    busy |= !ps || !(link = pathset_links (ps, &m, NULL));
    for (size_t i = 0; i < m && !busy; i++) {
        const struct link_info *info = &net->link[link[i]];
        int64_t ended = INT64_MAX;

        busy = info->kind == LINK_SWITCH
               && ledger_number (run->audit->ledger, LEDGER_RATED, 0, info->id,
                                 &ended, NULL) != 0
               && ended > since;
    }
    pathset_destroy (ps);
    free (name);
    return busy;
}

/* Which links the audit fills; NULL: it measures no rates. */
static const char *choose_rates (const struct audit_work *run)
{
    const struct site *site = run->audit->site;

    if (!site_allows_rates (site, 1))
        return NULL;
    return strcmp (site->audit_rates, "all") || has_busy_uplinks (run) ? "hosts"
                                                                       : "all";
}

/* Try to audit the chosen nodes. In all cases, enter the end of the audit.
 * Return values are those of audit_run.
 */
static int attempt (struct audit_work *run, const struct ledger_cause *cause,
                    struct error *err)
{
    const struct audit *a = run->audit;
    const struct site_baseline where = { a->ledger, a->fabric,
                                         a->site->baseline };
    char job_name[NAME_BYTES];
    struct error more;
    int rc;

    run->ntold = run->nfaults;
    run->launched = run->cancelled = run->unmet = false;
    if (find_partners (run, err) < 0)
        return set_no_result (run, "%.250s", err->text);
    if (run->tries++ > 0)
        await_idle (run);
    if ((rc = begin_audit_record (run, cause, err)) <= 0)
        return rc;
    /* a part of the nonce distinguishes the jobs of several ledgers */
    snprintf (job_name, sizeof (job_name), "pmm-audit-%jd-%.8s",
              (intmax_t)run->result->id, run->nonce);
    run->job.name = job_name;
    run->job.rates = choose_rates (run);
    rc = measure_audit (run, err);
    if (rc <= 0
        && ledger_give_up (a->ledger, clock_date (), run->result->id,
                           rc < 0 ? err->text : run->result->sentence,
                           &more) < 0
        && rc == 0) {
        *err = more;
        rc = -1;
    }
    if (rc == 1 && site_baseline_update (&where, &more) < 0)
        report_audit_progress (run, "the baseline is not published: %s",
                               more.text);
    return rc;
}

/*
 * Tries without the nodes at fault
 */

static bool may_try (const struct audit_work *run)
{
    const volatile sig_atomic_t *stop = run->audit->stop;

    return run->launched && !run->cancelled && !(stop && *stop)
           && run->tries < AUDIT_TRIES && clock_ms () < run->end_ms;
}

/* Whether there is a result for the n nodes without node[first .. end-1].
 * Return 1, 0, or -1 with err. If it returns 0 and !may_try, this could not be
 * determined.
 */
static int works_without_nodes (struct audit_work *run, const char *const *node,
                                size_t n, size_t first, size_t end,
                                struct error *err)
{
    static const struct ledger_cause cause = { .why = LEDGER_SEARCH };
    const char **rest = xarray (n, sizeof (*rest));
    size_t count = 0;
    int rc;

    for (size_t i = 0; i < n; i++)
        if (i < first || i >= end)
            rest[count++] = node[i];
    set_audit_nodes (run, rest, count);
    rc = attempt (run, &cause, err);
    run->nfaults = run->ntold; /* search enters the node that it finds */
    free (rest);
    return rc;
}

/* Halve the candidates among the n nodes, at least three, until one is left: it
 * is at fault if the others work without it. If all tries work, it must fail
 * with another one. Return 1 with the node in *found, 0 if there is none, or -1
 * with err.
 */
static int find_faulty_node (struct audit_work *run, const char *const *node,
                             size_t n, const char **found, struct error *err)
{
    size_t first = 0, end = n;
    const char *pair[2];
    bool failed = false;
    int rc;

    while (end - first > 1) {
        size_t half = first + (end - first) / 2;

        rc = works_without_nodes (run, node, n, first, half, err);
        if (rc < 0 || (rc == 0 && !may_try (run)))
            return rc;
        failed |= rc == 0;
        if (rc)
            end = half;
        else
            first = half;
    }
    *found = pair[0] = node[first];
    if (failed)
        return 1;
    pair[1] = node[first > 0 ? 0 : 1];
    rc = works_without_nodes (run, pair, 2, 0, 0, err);
    return rc == 0 ? may_try (run) : rc < 0 ? -1 : 0;
}

/* Search for the node at fault, if there was no search within the hour. Return
 * 1 if it is in run->fault, 0 if none was found, or -1 with err. The chosen
 * nodes are the same as before.
 */
static int search_faulty_nodes (struct audit_work *run, struct error *err)
{
    const struct audit_result first = *run->result;
    struct job_fault fault = { 0 };
    int64_t now = clock_date ();
    const char **node;
    const char *found = NULL;
    size_t n = run->job.n;
    struct ledger_rows begun;
    bool searched = false;
    int rc;

    if (n <= AUDIT_NODES_MIN)
        return 0;
    if (ledger_list (run->audit->ledger, LEDGER_BEGUN, now - SEARCH_EVERY_S,
                     now + SEARCH_EVERY_S, &begun, err)
        < 0)
        return -1;
    for (size_t i = 0; i < begun.n; i++)
        searched |= begun.audit[i].why == LEDGER_SEARCH;
    if (searched)
        return 0;
    node = xarray (n, sizeof (*node));
    memcpy (node, run->node, n * sizeof (*node));
    report_audit_progress (
        run, "audit %" PRId64 ": %s; searching for the node at fault", first.id,
        first.sentence);
    rc = find_faulty_node (run, node, n, &found, err);
    *run->result = first;
    set_audit_nodes (run, node, n);
    if (rc > 0) {
        snprintf (fault.node, sizeof (fault.node), "%s", found);
        snprintf (fault.cause, sizeof (fault.cause), "%.*s",
                  (int)sizeof (fault.cause) - 1, first.sentence);
        add_node_fault (run, &fault);
    }
    free (node);
    return rc;
}

/* Whether the last try named this node as a fault. */
static bool is_told (const struct audit_work *run, const char *node)
{
    for (size_t k = run->ntold; node && k < run->nfaults; k++)
        if (!strcmp (run->fault[k].node, node))
            return true;
    return false;
}

/* Leave out the nodes that the last try named as faults. False if the audit is
 * about one of them, or if too few nodes remain.
 */
static bool exclude_faulty_nodes (struct audit_work *run)
{
    size_t told = run->nfaults - run->ntold;
    bool *keep;
    char why[200];

    if (told == run->job.n)
        for (size_t k = run->ntold; k < run->nfaults; k++)
            run->fault[k].launch = false;
    if (run->job.n - told < AUDIT_NODES_MIN
        || is_told (run, run->audit->cause.node))
        return false;
    snprintf (why, sizeof (why), "audit %" PRId64 ": %s", run->result->id,
              run->fault[run->ntold].cause);
    keep = xarray (run->job.n, sizeof (*keep));
    for (size_t i = 0; i < run->job.n; i++)
        keep[i] = !is_told (run, run->node[i]);
    drop_unmarked_nodes (run, keep, why);
    set_audit_nodes (run, run->node, run->job.n);
    free (keep);
    return true;
}

static int run_locked (struct audit_work *run, struct error *err)
{
    const struct audit *a = run->audit;
    const struct ledger_cause *cause = &run->audit->cause;
    int rc = controller_evicts (a->site->audit_partition, err);

    if (rc != 0)
        return set_no_result (run, "%.250s", err->text);
    run->end_ms
        = clock_ms () + (int64_t)AUDIT_TRIES_TIME * a->site->audit_timeout_ms;
    rc = attempt (run, cause, err);
    /* Slurm's PMIx sometimes loses the first message of an ordinary user's step,
     * which is no node's fault
     */
    if (rc == 0 && run->unmet && may_try (run)) {
        report_audit_progress (run, "audit %" PRId64 ": %s; once more",
                               run->result->id, run->result->sentence);
        rc = attempt (run, cause, err);
    }
    while (rc == 0 && may_try (run)) {
        if (run->nfaults == run->ntold
            && (rc = search_faulty_nodes (run, err)) <= 0)
            break;
        rc = 0;
        if (!exclude_faulty_nodes (run))
            break;
        rc = attempt (run, cause, err);
    }
    for (size_t i = 0; rc >= 0 && i < run->nfaults; i++) {
        const struct job_fault *fault = &run->fault[i];

        if ((rc > 0 || fault->launch)
            && ledger_fault_add (a->ledger, fault->audit, fault->node,
                                 fault->cause, err) < 0)
            return -1;
    }
    return rc;
}

/* Whether two ports are in one subnet, so that one can measure the other. */
static bool has_pair_in_subnet (const struct audit_work *run)
{
    const struct fabric *f = run->audit->fabric;
    bool has[FABRIC_MAX_SUBNETS] = { false };

    for (size_t i = 0; i < f->nendpoints; i++) {
        bool *subnet = &has[f->port[f->endpoint[i].port].subnet];

        if (run->node_of[i] && *subnet)
            return true;
        *subnet |= run->node_of[i] != NULL;
    }
    return false;
}

int audit_run (const struct audit *audit, struct audit_result *result,
               struct error *err)
{
    struct audit_work run = {
        .audit = audit, .result = result,
        .job = { .audit = audit, .nonce = run.nonce },
    };
    int lock = -1;
    int rc;

    *result = (struct audit_result){ .status = VERDICT_UNKNOWN };
    if ((rc = find_audit_nodes (&run, err)) < 0)
        ;
    else if (!has_pair_in_subnet (&run))
        rc = set_no_result (&run,
                            "fewer than two nodes to audit, and none with two "
                            "rails in one subnet");
    else if (strlen (run.job.nodes) > LIST_MAX)
        rc = set_no_result (&run, "the list of nodes is too long");
    else if ((rc = ledger_lock (audit->ledger, &lock, err)) == 0)
        set_no_result (&run,
                       "another audit or a round of the policy is running");
    else if (rc > 0)
        rc = run_locked (&run, err);
    if (lock >= 0)
        close (lock);
    nodemap_destroy (run.map);
    free (run.all_of);
    free (run.node_of);
    free (run.fault);
    free (run.node);
    free ((char *)run.job.nodes);
    free (run.partner);
    free ((char *)run.job.partners);
    return rc;
}
