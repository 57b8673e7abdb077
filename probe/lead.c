/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The leader of a check: plan, measure, measure again, judge, write results. */
#include "config.h"
#include "probe/lead.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/judge/confirm.h"
#include "core/judge/explain.h"
#include "core/judge/judge.h"
#include "core/plan/plan.h"
#include "core/samples/samples.h"
#include "core/solve/solve.h"
#include "ibquery/spread.h"
#include "ibquery/links/traffic.h"
#include "probe/burst.h"
#include "probe/identify.h"
#include "probe/probe.h"
#include "report/comment.h"
#include "report/report.h"
#include "report/words.h"
#include "util/alloc.h"
#include "util/file.h"
#include "util/json.h"
#include "util/progress.h"
#include "util/text.h"

enum { ODD_SAID = 8 }; /* nodes with a limit of their own in the verdict */

struct lead {
    struct step *step;
    const struct lead_options *opts;
    FILE *report;

    struct identity ends_of; /* the members' ends in the fabric */
    struct pathset *ps;
    struct plan *plan;
    struct spread_choice level; /* of service */
    struct probe_end *end; /* [endpoint of ps] */
    struct probe_result measured;
    struct baseline *baseline;
    struct traffic traffic; /* others' on the members' ports */
    struct judge_options thresholds;
    struct model judged; /* after the first stage */
    struct plan *longer; /* with a second stage; NULL: there is none */
    bool delays;         /* ... that takes many repeats */
    size_t odd;          /* problems with nodes */
    char reason[256];    /* the first of them */
    char unconfirmed[192]; /* why the second stage failed; "": it did not */
    struct burst_trouble bursts; /* why some rates are not known */
    struct verdict *verdict;
    struct lead_result *result; /* borrowed from the caller */
};

/*
 * The plan
 */

/* Plan for all ends; or, if a path is broken, possibly only one to another LID
 * than the first, for those with their ports' first LIDs.
 */
static struct plan *make_lead_plan (struct lead *ck, struct error *err)
{
    struct plan_options opts = {
        .extra_rounds = (unsigned int)ck->step->site.extra_rounds,
        .at_once = true,
    };
    const struct identity *id = &ck->ends_of;
    const char **name = xarray (id->n, sizeof (*name));
    struct plan *plan = NULL;

    for (bool first = ck->step->site.base_lids;; first = true) {
        size_t n = 0;

        for (size_t i = 0; i < id->n; i++)
            if (!first || id->lid[i] == 0)
                name[n++] = id->name[i];
        pathset_destroy (ck->ps);
        if ((ck->ps = fabric_pathset (ck->step->fabric, name, n, err)))
            plan = plan_make (ck->ps, &opts, err);
        if (plan || first || err->fault != ERROR_INPUT)
            break;
        fprintf (ck->report, "pmm: by the ports' first LIDs alone: %s\n",
                 err->text);
    }
    free (name);
    if (plan && plan_probes (plan) == 0 && ck->step->roster->nmembers > 1) {
        error_world (err, "no two ports of the job are in one subnet");
        plan_destroy (plan);
        return NULL;
    }
    return plan;
}

/* Map each endpoint of the plan to a peer of the group. */
static int map_endpoints (struct lead *ck, struct error *err)
{
    size_t n = pathset_size (ck->ps);

    ck->end = xarray (n, sizeof (*ck->end));
    memset (ck->end, 0xff, n * sizeof (*ck->end));
    for (size_t k = 0; k < ck->ends_of.n; k++) {
        int i = pathset_find (ck->ps, ck->ends_of.name[k]);

        if (i >= 0)
            ck->end[i] = (struct probe_end){ ck->ends_of.peer[k],
                                             ck->ends_of.lid[k] };
    }
    for (size_t i = 0; i < n; i++)
        if (ck->end[i].peer == UINT32_MAX)
            return error_input (err, "%s of the plan is not in the job",
                                pathset_endpoint (ck->ps, i)->name);
    return 0;
}

/* The baseline is optional. */
static void load_baseline (struct lead *ck)
{
    const char *path = ck->step->site.baseline;
    struct error err;
    FILE *fp;

    if (!*path)
        return;
    if ((fp = file_open_input (path, &err))) {
        size_t most = baseline_enough (plan_probes (ck->plan));

        ck->baseline = baseline_near (fp, path, ck->ps, most, fabric_resolve,
                                      (void *)ck->step->fabric, &err);
        file_close_input (fp);
    }
    else if (errno == ENOENT)
        return;
    if (!ck->baseline)
        fprintf (ck->report, "pmm: no baseline: %s\n", err.text);
}

static bool over_connections (const struct site *site)
{
    return strcmp (site->service, "rc") == 0;
}

static int prepare_lead (void *arg, struct error *err)
{
    struct lead *ck = arg;
    const struct site *site = &ck->step->site;
    const char *path = ck->opts->plan;
    FILE *fp;

    if (step_load (ck->step, err) < 0
        || identify (&ck->ends_of, ck->step->roster, ck->step->fabric,
                     site->node_map, ck->report, err) < 0)
        return -1;
    if (!path)
        ck->plan = make_lead_plan (ck, err);
    else if ((fp = file_open_input (path, err))) {
        ck->plan = plan_read (fp, path, ck->step->fabric->hash, fabric_resolve,
                              (void *)ck->step->fabric, &ck->ps, err);
        file_close_input (fp);
    }
    if (!ck->plan || map_endpoints (ck, err) < 0
        || spread_choose (ck->step->fabric, ck->ps, over_connections (site),
                          (unsigned int)site->service_level, &ck->level, err)
               < 0)
        return -1;
    load_baseline (ck);
    ck->thresholds = judge_site_options (site);
    ck->thresholds.last = &ck->judged;
    return 0;
}

/*
 * The measurement
 */

/* Find others' traffic on the members' ports, from each member's last report.
 */
static void find_traffic (struct lead *ck)
{
    struct port_traffic *port = NULL;
    size_t n = 0;

    for (size_t m = 0; m < ck->measured.nmembers; m++) {
        char *text = ck->measured.member[m].remark;
        char *copy = xstrdup (text ? text : ""), *save;

        for (char *line = strtok_r (copy, "\n", &save); line;
             line = strtok_r (NULL, "\n", &save)) {
            port = xgrow (port, n, sizeof (*port));
            n += ports_parse_traffic (line, PROBE_REMARK, &port[n]);
        }
        free (copy);
    }
    traffic_clear (&ck->traffic);
    traffic_find (&ck->traffic, ck->step->fabric, NULL, port, n,
                  ck->step->site.busy_share);
    ck->thresholds.busy = ck->traffic.busy;
    ck->thresholds.nbusy = ck->traffic.nbusy;
    free (port);
}

/* Plan the second stage if anything looks slow that others' traffic does not
 * explain.
 */
static int plan_again (void *arg, struct error *err)
{
    struct lead *ck = arg;
    struct confirm_options opts = {
        .rounds = (unsigned int)ck->step->site.confirm_rounds,
        .judge = &ck->thresholds, .delays = &ck->delays,
    };

    if (plan_confirm_rounds (ck->plan) > 0)
        return 0;
    find_traffic (ck);
    ck->longer = confirm_plan (ck->ps, ck->plan, ck->measured.samples,
                               ck->baseline, &opts, err);
    if (ck->longer && plan_confirm_rounds (ck->longer) == 0) {
        plan_destroy (ck->longer);
        ck->longer = NULL;
        return 0;
    }
    return ck->longer ? 0 : -1;
}

/* Allow half of the remaining time, and leave the rest for what comes after. */
static void halve_time (struct group *g)
{
    int64_t now = group_now (g);

    g->deadline = now + (g->deadline - now) / 2;
}

/* The second stage. If anything fails here, the samples of the first remain. */
static void measure_again (struct lead *ck, struct probe_stage stage)
{
    struct error err;
    int rc = group_meanwhile (ck->step->group, plan_again, ck, &err);

    if (rc == 0 && !ck->longer)
        return;
    if (rc == 0) {
        halve_time (ck->step->group);
        stage.plan = ck->longer;
        stage.first = plan_rounds (ck->plan);
        if (ck->delays && stage.repeats < SAMPLE_REPEATS_AGAIN)
            stage.repeats = SAMPLE_REPEATS_AGAIN;
        if (stage.flows > 0) {
            stage.single = ck->level.on[ck->level.level].adaptive > 0;
            stage.flows = SAMPLE_FLOWS_AGAIN;
            stage.repeats = stage.single
                                ? SAMPLE_SINGLES_AGAIN
                                : SAMPLE_FLOWS_AGAIN * SAMPLE_TIMES_AGAIN;
        }
        rc = probe_lead (ck->step->group, &stage, &ck->measured, &err);
    }
    if (rc < 0) {
        snprintf (ck->unconfirmed, sizeof (ck->unconfirmed), "%.150s",
                  err.text);
        return;
    }
    plan_destroy (ck->plan);
    ck->plan = ck->longer;
    ck->longer = NULL;
}

/* What the links carry, if it is wanted. Whatever fails here, the round trips
 * remain.
 */
static void measure_rates (struct lead *ck)
{
    const struct burst_options opts = {
        .ps = ck->ps, .end = ck->end,
        .hosts = ck->opts->rates == LEAD_RATES_HOSTS,
        .spread = ck->level.spread > 0, .level = ck->level.level,
    };

    if (ck->opts->rates == LEAD_NO_RATES)
        return;
    if (site_allows_rates (&ck->step->site, ck->opts->audit)) {
        halve_time (ck->step->group);
        burst_lead (ck->step->group, &opts, &ck->measured, &ck->bursts);
    }
    else {
        ck->measured.samples->bursts = bursts_create ();
        ck->measured.samples->bursts->left = LEFT_FORBIDDEN;
    }
}

static int measure_lead (struct lead *ck, struct error *err)
{
    struct progress line = ck->opts->relay
                               ? progress_relay (ck->report)
                               : progress_begin (ck->report, "pmm", "step");
    struct probe_stage stage = {
        .plan = ck->plan, .end = ck->end,
        .repeats = (unsigned int)ck->step->site.repeats,
        .level = ck->level.level, .progress = &line,
    };
    struct samples *s;
    struct error why;
    int rc;

    if (ck->level.spread > 0)
        stage.flows = stage.repeats < PROBE_FLOWS_MAX ? stage.repeats
                                                      : PROBE_FLOWS_MAX;
    rc = probe_lead (ck->step->group, &stage, &ck->measured, err);
    s = ck->measured.samples;
    s->level = ck->level.level;
    s->rc = over_connections (&ck->step->site);
    s->spread = ck->level.spread;
    if (rc == 0) {
        measure_again (ck, stage);
        measure_rates (ck);
    }
    progress_end (&line);
    /* a member that does not get this leaves by itself, later */
    halve_time (ck->step->group);
    if (stage_end (ck->step->group, &why) < 0 && rc == 0)
        fprintf (ck->report, "pmm: at the end: %s\n", why.text);
    return rc;
}

static uint64_t number_of_env (const char *name)
{
    const char *s = getenv (name);
    uint64_t n = 0;

    if (s)
        text_u64 (s, 0, UINT32_MAX, &n);
    return n;
}

static void complete_samples (struct lead *ck)
{
    const struct roster *r = ck->step->roster;
    struct samples *s = ck->measured.samples;

    s->job = number_of_env ("SLURM_JOB_ID");
    s->step = number_of_env ("SLURM_STEP_ID");
    snprintf (s->nonce, sizeof (s->nonce), "%s", ck->opts->nonce);
    s->late = ck->measured.stats.late;
    s->repeated = ck->measured.stats.duplicate;
    s->foreign = ck->measured.stats.foreign;
    s->complete = true;
    for (size_t rank = 0; rank < r->nranks; rank++) {
        int member = r->rank[rank].member;
        bool answered = !ck->ends_of.why[rank]
                        && ck->measured.member[member].answered;
        const char *host = r->rank[rank].host;
        char number[32];
        struct node node;
        size_t known = 0;

        if (ck->ends_of.foreign[rank])
            continue;
        if (!*host) {
            snprintf (number, sizeof (number), "rank%zu", rank);
            host = number;
        }
        samples_add_host (s, host, answered);
        if (!answered)
            continue;
        /* another of its processes may have described it */
        while (known < s->nnodes && strcmp (s->node[known].host, host) != 0)
            known++;
        if (known < s->nnodes)
            continue;
        node = ck->measured.member[member].node;
        snprintf (node.host, sizeof (node.host), "%s", host);
        samples_add_node (s, &node);
    }
}

/*
 * The verdict
 */

static void limit_node (struct lead *ck, const char *sentence)
{
    if (ck->odd++ == 0)
        snprintf (ck->reason, sizeof (ck->reason), "%s", sentence);
    if (ck->odd <= ODD_SAID)
        verdict_limit (ck->verdict, VERDICT_UNKNOWN, fact_said (sentence));
}

/* Name the nodes without InfiniBand: nothing of theirs could be measured. */
static void name_foreign (struct lead *ck)
{
    const struct roster *r = ck->step->roster;
    const char **name = xcalloc (r->nranks, sizeof (*name));
    size_t n = 0;
    char *list;

    for (size_t rank = 0; rank < r->nranks; rank++)
        if (ck->ends_of.foreign[rank])
            name[n++] = r->rank[rank].host;
    if (n > 0 && (list = hostlist_fold (name, n))) {
        verdict_limit (ck->verdict, VERDICT_OK,
                       (struct fact){ .kind = FACT_NO_PORT,
                                      .n = { n },
                                      .name = { list } });
        free (list);
    }
    free (name);
}

/* Why rates are not known, in place of what the judge can tell of that; a check of
 * round trips is no worse without them.
 */
static void limit_rates (struct lead *ck)
{
    const struct burst_trouble *t = &ck->bursts;
    const struct roster *r = ck->step->roster;
    char hosts[NAME_MAX + 64] = "";
    struct fact why = { .kind = FACT_RATE_WHY, .name = { t->why } };
    struct verdict *v = ck->verdict;

    if (!*t->why)
        return;
    if (t->member != SIZE_MAX) {
        int n = snprintf (hosts, sizeof (hosts), "%.*s", NAME_MAX,
                          r->rank[r->member[t->member]].host);

        if (t->others > 0)
            snprintf (hosts + n, sizeof (hosts) - (size_t)n,
                      ", and %zu other%s", t->others, t->others == 1 ? "" : "s");
        why.name[1] = hosts;
    }
    verdict_limit (v, VERDICT_OK, why);
    for (size_t i = 0; i + 1 < v->nlimits; i++)
        if (v->limit[i].kind == FACT_RATE_HOSTS
            || v->limit[i].kind == FACT_RATE_TRANSPORT) {
            v->limit[i] = v->limit[--v->nlimits];
            break;
        }
}

/* Add a limit for each node that was not measured, and for each problem of the
 * others.
 */
static void add_limits (struct lead *ck)
{
    const struct roster *r = ck->step->roster;
    char sentence[256];

    if (ck->unconfirmed[0])
        verdict_limit (ck->verdict, VERDICT_UNKNOWN,
                       (struct fact){ .kind = FACT_UNCONFIRMED,
                                      .name = { ck->unconfirmed } });
    for (size_t rank = 0; rank < r->nranks; rank++) {
        const struct roster_rank *of = &r->rank[rank];
        const char *trouble = of->member == ROSTER_NONE
                                  ? NULL
                                  : ck->measured.member[of->member].trouble;

        /* not if it is silent: then the judge reports it as missing */
        if (ck->ends_of.why[rank] && !of->silent
            && !ck->ends_of.foreign[rank])
            limit_node (ck, ck->ends_of.why[rank]);
        if (trouble) {
            snprintf (sentence, sizeof (sentence), "%s: %.180s", of->host,
                      trouble);
            limit_node (ck, sentence);
        }
    }
    name_foreign (ck);
    limit_rates (ck);
    if (ck->odd > ODD_SAID)
        verdict_limit (ck->verdict, VERDICT_UNKNOWN,
                       (struct fact){ .kind = FACT_MORE_NODES,
                                      .n = { ck->odd - ODD_SAID } });
    spread_limit (&ck->level, ck->step->fabric, ck->verdict);
}

static int reach_verdict (struct lead *ck, struct error *err)
{
    const struct group_stats *stats = &ck->measured.stats;
    struct lead_result *result = ck->result;

    find_traffic (ck);
    ck->verdict = judge (ck->ps, ck->plan, ck->measured.samples, ck->baseline,
                         &ck->thresholds, err);
    if (!ck->verdict)
        return -1;
    corroborate (ck->verdict, ck->traffic.wait, ck->traffic.nwaits,
                 &ck->thresholds);
    add_limits (ck);
    report_text (ck->verdict, ck->step->fabric, ck->report);
    if (stats->late || stats->duplicate || stats->foreign)
        fprintf (ck->report, "pmm: %u late, %u repeated and %u foreign "
                 "messages\n", stats->late, stats->duplicate, stats->foreign);
    result->status = ck->verdict->status;
    /* the audit judges again and may resolve what is UNKNOWN here */
    if (ck->opts->audit && result->status == VERDICT_UNKNOWN && ck->odd == 0
        && !ck->unconfirmed[0])
        result->status = VERDICT_WARN;
    if (verdict_is_limited (ck->verdict) && ck->odd > 0)
        snprintf (result->sentence, sizeof (result->sentence), "%s",
                  ck->reason);
    else {
        char *says = words_sentence (ck->verdict, ck->step->fabric);

        snprintf (result->sentence, sizeof (result->sentence), "%s", says);
        free (says);
    }
    return 0;
}

/*
 * Output
 */

static void add_pair_latency (const struct lead *ck, json_t *list, uint32_t a,
                              uint32_t b, double rtt_ns, double stderr_ns)
{
    json_add (list, json_pack ("{s:s, s:s, s:f, s:o*}",
                               "a", pathset_endpoint (ck->ps, a)->name,
                               "b", pathset_endpoint (ck->ps, b)->name,
                               "latency_ns", rtt_ns / 2, "stderr_ns",
                               isfinite (stderr_ns) ? json_real (stderr_ns / 2)
                                                    : NULL));
}

/* Add all pairs, if there are not too many and there is a solution, or else the
 * measured ones. Return whether these are all.
 */
static bool add_pair_latencies (const struct lead *ck, json_t *list)
{
    struct solve_options opts = { .quantile = RTT_MEDIAN, .pairs = true };
    const struct samples *samples = ck->measured.samples;
    struct solution *all = pathset_size (ck->ps) <= LEAD_ENDS_MAX
                               ? solve (ck->ps, samples, &opts, NULL)
                               : NULL;

    for (size_t i = 0; all && i < all->npairs; i++)
        add_pair_latency (ck, list, all->pair[i].a, all->pair[i].b,
                          all->pair[i].rtt_ns, all->pair[i].stderr_ns);
    for (size_t i = 0; !all && i < samples->nsamples; i++) {
        const struct sample *s = &samples->sample[i];

        if (s->lost < s->sent)
            add_pair_latency (ck, list, s->initiator,
                              s->initiator == s->a ? s->b : s->a,
                              s->rtt_ns[RTT_MEDIAN], NAN);
    }
    solution_destroy (all);
    return all != NULL;
}

static int write_result (const struct lead *ck, FILE *fp, struct error *err)
{
    const struct network *net = pathset_network (ck->ps);
    const struct samples *s = ck->measured.samples;
    json_t *verdict = verdict_json (ck->verdict, net);
    json_t *pairs = json_array ();
    bool all = add_pair_latencies (ck, pairs);

    return json_write_file (
        "result", net->hash,
        json_pack ("{s:I, s:I, s:s, s:s, s:s, s:{s:o, s:o}, s:o, s:b, s:o}",
                   "job", (json_int_t)s->job, "step", (json_int_t)s->step,
                   "nonce", s->nonce,
                   "status", verdict_status_name (ck->verdict->status),
                   "sentence", ck->result->sentence,
                   "nodes", "answered", json_strings (s->answered, s->nanswered),
                   "missing", json_strings (s->missing, s->nmissing),
                   "verdict", verdict, "all_pairs", all, "pairs", pairs),
        fp, err);
}

static int write_lead_plan (const struct lead *ck, FILE *fp, struct error *err)
{
    static const struct plan_file_extra none;

    return plan_write (ck->plan, ck->ps, &none, fp, err);
}

static int write_samples (const struct lead *ck, FILE *fp, struct error *err)
{
    return samples_write (ck->measured.samples, ck->ps, fp, err);
}

static int write_verdict (const struct lead *ck, FILE *fp, struct error *err)
{
    return verdict_write (ck->verdict, pathset_network (ck->ps), fp, err);
}

typedef int writer_f (const struct lead *ck, FILE *fp, struct error *err);

/* Write a file completely or not at all: NAME.json in the output directory, or
 * without a name the result file, if it is wanted. If it cannot be written, or
 * there is no writer yet, remove the file of an earlier check. Errors are only
 * reported. Return whether it was written.
 */
static bool write_output_file (struct lead *ck, const char *name,
                               writer_f *write)
{
    const char *dir = ck->opts->output;
    struct outfile *out;
    struct error err;
    char path[4096];
    int rc = -1;

    if (!(name ? dir : ck->opts->result))
        return false;
    if (name)
        snprintf (path, sizeof (path), "%s/%s.json", dir, name);
    else
        snprintf (path, sizeof (path), "%s", ck->opts->result);
    if ((!name || file_make_dir (dir, &err) == 0) && write
        && (out = file_create (path, &err)))
        rc = file_finish (out, write (ck, file_stream (out), &err), &err);
    if (rc < 0)
        file_remove (path);
    if (rc < 0 && write)
        fprintf (ck->report, "pmm: %s\n", err.text);
    return rc == 0;
}

static int print_to_text (struct lead *ck, writer_f *write, char **text,
                          struct error *err)
{
    size_t size;
    FILE *fp = xcheck (open_memstream (text, &size));
    int rc = write (ck, fp, err);

    xcheck (fclose (fp) == 0 ? *text : NULL);
    return rc;
}

void lead_result_clear (struct lead_result *result)
{
    free (result->plan);
    free (result->samples);
    result->plan = result->samples = NULL;
}

static int run_lead (struct lead *ck, struct error *err)
{
    struct lead_result *result = ck->result;

    if (group_meanwhile (ck->step->group, prepare_lead, ck, err) < 0
        || measure_lead (ck, err) < 0)
        return -1;
    complete_samples (ck);
    if ((ck->opts->audit
         && print_to_text (ck, write_lead_plan, &result->plan, err) < 0)
        || print_to_text (ck, write_samples, &result->samples, err) < 0) {
        lead_result_clear (result);
        return -1;
    }
    write_output_file (ck, "plan", write_lead_plan);
    result->left = write_output_file (ck, "samples", write_samples);
    write_output_file (ck, "verdict", NULL);
    if (reach_verdict (ck, err) < 0)
        return -1;
    write_output_file (ck, "verdict", write_verdict);
    write_output_file (ck, NULL, write_result);
    if (!ck->opts->audit)
        comment_facts (ck->verdict, ck->step->fabric, result->sentence,
                       sizeof (result->sentence));
    return 0;
}

int lead (struct step *step, const struct lead_options *opts,
          FILE *report, struct lead_result *result, struct error *err)
{
    struct lead ck = { .step = step, .opts = opts, .report = report,
                       .result = result };
    int rc;

    *result = (struct lead_result){ .status = VERDICT_UNKNOWN };
    rc = run_lead (&ck, err);
    if (step->group && !ck.measured.samples) /* no member has a plan */
        stage_end (step->group, NULL);
    identity_clear (&ck.ends_of);
    free (ck.end);
    plan_destroy (ck.plan);
    plan_destroy (ck.longer);
    pathset_destroy (ck.ps);
    probe_result_clear (&ck.measured);
    traffic_clear (&ck.traffic);
    model_clear (&ck.judged);
    baseline_destroy (ck.baseline);
    verdict_destroy (ck.verdict);
    return rc;
}
