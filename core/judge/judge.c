/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes. judge.h has the model.
 *
 * Traffic may have added to all repeats of a row alike, at most as much as the
 * row is above the model's expectation; in a baseline, as it is above the same
 * pair's row in the job, since links do not get faster.
 *
 * No finding: a cause that no link and no detour explains; a single row, unless
 * it was measured in several rounds or shows no traffic at all; a route that
 * got faster, unless its rows show no traffic; any cause below WarnExcess (a
 * route: ROUTE_NS).
 *
 * Basis: the estimate of a cause is w' r with weights w from the model, so its
 * prior part has the variance u' C u, with u = A' w over the links and C the
 * covariance of their latencies before the job's samples. The basis is the
 * baseline if pairs that both runs measured show more than half of the excess,
 * or if this variance is less than a quarter of what the spread of the classes
 * alone would give.
 */
#include "config.h"
#include "core/judge/judge.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/judge/cause.h"
#include "core/judge/explain.h"
#include "core/judge/mixture.h"
#include "core/linear/stats.h"
#include "core/paths/multipath.h"
#include "core/samples/observe.h"
#include "util/alloc.h"
#include "util/map.h"
#include "util/sort.h"
#include "util/terminal.h"
#include "util/text.h"

enum {
    ROWS_FEW = 2,
    PROBES_SURE = 3,    /* across a cable that is not single */
    ROUNDS_ENOUGH = 2,  /* for a single row to be a finding */
    HOSTS_ENOUGH = 4,   /* to compare a host's loopback with theirs */
    SWITCHES_NAMED = 3, /* for a route, the likeliest ones */
    OPEN_NAMED = 4,     /* links that are not judged */
    DOUBTS = 8,         /* links to be measured again */
    CABLES_MAX = 8,     /* slow ones that only some flows cross */
};

/* Causes that a healthy run shows: without a confirm stage, with one, before
 * one.
 */
#define ALARMS 1e-4
#define ALARMS_CONFIRMED 0.05
#define ALARMS_FIRST 0.1

#define CLEAR_SD 2.0        /* margin of a link that is reported as sound */
#define BASELINE_SD 3.0     /* at which a baseline row is too slow */
#define BASELINE_SHARE 0.25 /* of the class's variance */
#define KNOWN_SD 120.0      /* of a latency that is accurate enough to report */
#define BEFORE 3.0          /* log likelihood ratio: a cable was slow or not */
#define BUSY_NS 1e6         /* standard error of rows across a busy link */

/* Of what a loopback does not explain: with two thirds of it, the loopback has
 * two fifths of the whole. A process on another socket changes both, by some
 * hundred ns, so half is not always seen as half.
 */
#define OWN_SHARE (2 / 3.)

/* What a host's power profile or another socket may change; of a round trip, to
 * report a wrong route.
 */
#define SOFTWARE_NS 500.0
#define ROUTE_NS 60.0

const struct judge_options judge_defaults = {
    .warn_ns = 100,
    .warn_spread = 6,
    .fail_ns = 300,
    .fail_spread = 10,
    .open_share = 20,
};

struct judge_options judge_site_options (const struct site *site)
{
    return (struct judge_options){
        .warn_ns = site->warn_ns,
        .warn_spread = site->warn_spread,
        .fail_ns = site->fail_ns,
        .fail_spread = site->fail_spread,
        .open_share = site->open_share,
    };
}

struct judgement {
    struct pathset *ps;
    const struct network *net;
    const struct samples *samples;
    const struct baseline *baseline; /* NULL: none */
    const struct pathset *baseline_ps; /* of it, on net */
    const struct judge_options *opts;
    size_t absent; /* probes of the plan without any sample */
    size_t rounds; /* of the first stage */
    bool has_baseline;
    struct multipath *paths; /* NULL: single ones */
    struct model_run run, *base;
    size_t nbase;
    struct model model;
    struct causes causes;
    struct explanation ex;
    const struct member *face[CAUSES_MAX]; /* what each cause most likely is */
    size_t disturbed;                      /* rows disturbed by traffic */
    struct class_shift {
        uint32_t class_id;
        double ns; /* by which all its links differ */
    } shift[CAUSES_MAX];
    size_t nshifts;
    size_t unjudged;  /* links, due to traffic to a host end */
    bool crowded;     /* others' traffic met all messages of a cause */
    bool *distrusted; /* [nlinks] loopbacks by host link: distrust_loopbacks () */
    size_t ndistrusted;
    double *most; /* [model.m] ns that a link may be slower, see bound_links */
    struct verdict *verdict;
};

/*
 * Samples against the plan
 */

/* 2^20 rounds, 2^21 endpoints: more than files may have. */
static uint64_t probe_key (size_t round, uint32_t a, uint32_t b)
{
    return (uint64_t)round << 42 | (uint64_t)(a < b ? a : b) << 21
           | (a < b ? b : a);
}

/* Count the plan's probes without a sample. -1 with err: one is not of the
 * plan.
 */
static int count_absent_probes (const struct plan *plan,
                                const struct samples *samples, size_t *absent,
                                struct error *err)
{
    uint64_t *planned = xarray (plan_probes (plan), sizeof (*planned));
    bool *there = xcalloc (plan_probes (plan), sizeof (*there));
    size_t nplan = 0;
    int rc = 0;

    for (size_t r = 0; r < plan_rounds (plan); r++) {
        size_t n;
        const struct probe *probe = plan_round (plan, r, &n);

        for (size_t i = 0; i < n; i++)
            planned[nplan++] = probe_key (r, probe[i].a, probe[i].b);
    }
    qsort (planned, nplan, sizeof (*planned), compare_u64);
    for (size_t i = 0; i < samples->nsamples && rc == 0; i++) {
        const struct sample *s = &samples->sample[i];
        uint64_t key = probe_key (s->round, s->a, s->b);
        const uint64_t *found
            = bsearch (&key, planned, nplan, sizeof (key), compare_u64);

        if (found)
            there[found - planned] = true;
        else
            rc = error_input (err,
                              "the samples are not of this plan: it has no "
                              "such probe in round %" PRIu32,
                              s->round);
    }
    *absent = nplan;
    for (size_t i = 0; i < nplan; i++)
        *absent -= there[i];
    free (planned);
    free (there);
    return rc;
}

/* As observe sorts them: a pair's round trip, or from its smaller end, back. */
static int compare_observation_ends (const void *va, const void *vb)
{
    const struct observation *a = va;
    const struct observation *b = vb;
    uint64_t key = pair_key (a->a, a->b), other = pair_key (b->a, b->b);

    if (key != other)
        return util_compare (key, other);
    return util_compare (a->oneway ? 1 + (a->a > a->b) : 0,
                         b->oneway ? 1 + (b->a > b->b) : 0);
}

/* The observation of the same pair, and direction, in another run, or NULL. */
static const struct observation *
find_same_observation (const struct observations *in,
                       const struct observation *o)
{
    return bsearch (o, in->v, in->n, sizeof (*o), compare_observation_ends);
}

/*
 * Limits: what was not determined
 */

/* A fact of a kind; then, in braces, its numbers, and .name. */
#define FACT(of, ...) ((struct fact){ .kind = FACT_##of, __VA_ARGS__ })
#define N(...) .n = { __VA_ARGS__ }
#define NAMES(...) .name = { __VA_ARGS__ }

/* Append a limit that raises nothing. */
static void note_limit (struct judgement *j, struct fact limit)
{
    verdict_limit (j->verdict, VERDICT_OK, limit);
}

/* Ports that no other one of the job can reach. */
static void limit_alone (struct judgement *j)
{
    size_t n = pathset_size (j->ps), subnets = pathset_subnets (j->ps);
    size_t *ports = xcalloc (subnets + 1, sizeof (*ports));
    uint32_t *last = xcalloc (subnets + 1, sizeof (*last));
    const char *first = NULL;
    size_t seen = 0, alone = 0;

    for (uint32_t i = 0; i < n; i++)
        if (pathset_port (j->ps, i) == seen) {
            ports[pathset_subnet (j->ps, i)]++;
            last[pathset_subnet (j->ps, i)] = i;
            seen++;
        }
    for (size_t s = 0; s < subnets && subnets > 1; s++)
        if (ports[s] == 1) {
            alone++;
            first = first ? first : pathset_endpoint (j->ps, last[s])->name;
        }
    if (alone > 0)
        note_limit (j, FACT (ALONE, N (alone), NAMES (first)));
    free (ports);
    free (last);
}

static void limit_samples (struct judgement *j)
{
    const struct samples *s = j->samples;
    const struct observations *o = &j->run.obs;

    if (s->nmissing > 0) {
        char *fold
            = hostlist_fold ((const char *const *)s->missing, s->nmissing);

        verdict_limit (
            j->verdict, VERDICT_UNKNOWN,
            FACT (SILENT_NODES, N (s->nmissing), NAMES (fold ? fold : "?")));
        free (fold);
    }
    if (!s->complete)
        verdict_limit (j->verdict, VERDICT_UNKNOWN, FACT (INCOMPLETE));
    if (j->absent > 0)
        note_limit (j, FACT (ABSENT_PROBES, N (j->absent)));
    if (o->silent > 0)
        note_limit (j, FACT (SILENT_PROBES, N (o->silent)));
}

/* Whether a link is a cable that rows cross as such, not as one of a bundle, nor
 * within a place.
 */
static bool is_single (const struct judgement *j, uint32_t link)
{
    return !j->paths || multipath_is_single (j->paths, link);
}

/* Whether LinkRoundTripLatency shows what to expect of it. */
static bool is_by_lrtl (const struct judgement *j, uint32_t link)
{
    const struct model *m = &j->model;

    return is_single (j, link) && m->unit[m->class_of[m->column[link]]] > 0;
}

static void limit_model (struct judgement *j)
{
    const struct samples *s = j->samples;
    const struct causes *c = &j->causes;
    const struct model *m = &j->model;
    size_t *separable = &j->verdict->separable;
    size_t seen = 0, links = 0;
    size_t measured = 0; /* by LinkRoundTripLatency */

    if (s->spread > 0)
        note_limit (j, FACT (SPREAD, N (s->spread, s->level)));
    else if (j->paths)
        note_limit (j, FACT (SPREAD_BEFORE));
    for (size_t k = 0; k < m->m; k++)
        links += is_single (j, m->link[k]);
    for (size_t k = 0; k < c->n; k++) {
        size_t n = 0;

        for (size_t i = c->first[k]; i < c->first[k + 1]; i++)
            n += c->member[i].suspect.kind == SUSPECT_LINK;
        seen += n;
        *separable += n == 1;
    }
    if (seen < links)
        note_limit (j, FACT (UNSEEN_LINKS, N (links - seen)));
    if (*separable < seen)
        note_limit (j, FACT (UNRESOLVED, N (seen - *separable, links)));
    for (size_t k = 0; k < m->m; k++)
        measured += is_by_lrtl (j, m->link[k]);
    if (!j->has_baseline && measured > 0)
        note_limit (j, FACT (NO_BASELINE_LRTL, N (measured, m->m)));
    else if (!j->has_baseline)
        note_limit (j, FACT (NO_BASELINE));
    if (j->has_baseline && m->uncovered > 0)
        note_limit (j, FACT (NOT_IN_BASELINE, N (m->uncovered, m->m)));
}

/*
 * The suspects of a finding
 */

/* Add a link, or that one direction of it explains the excess as well. */
static void add_suspect_link (const struct judgement *j, struct finding *f,
                              uint32_t link, bool oneway)
{
    const struct link_info *info = &j->net->link[link];

    if (info->kind == LINK_SWITCH && f->kind == FINDING_HOST_END)
        f->kind = FINDING_SWITCH_LINK;
    if (oneway)
        verdict_add_number (j->verdict, &f->oneway, &f->noneway, link);
    else
        verdict_add_number (j->verdict, &f->suspect, &f->nsuspects, link);
    if (info->kind == LINK_HOST && info->host)
        finding_add_host (j->verdict, f, info->host);
}

/* Add the links of a row; with a switch, only those at it. */
static void add_path (const struct judgement *j, struct finding *f, size_t row,
                      uint32_t sw)
{
    const struct observation *o = &j->run.obs.v[row];

    for (size_t p = 0; p < o->n; p++) {
        const uint32_t *end = j->net->link[o->link[p]].end;

        if (sw == NETWORK_NONE || end[0] == sw || end[1] == sw)
            add_suspect_link (j, f, o->link[p], false);
    }
}

/* Add the links from a switch to an endpoint; the row's path has the switch. */
static void add_route (const struct judgement *j, struct finding *f, size_t row,
                       const struct suspect *route)
{
    const struct observation *o = &j->run.obs.v[row];
    uint32_t from = o->a == route->to ? o->b : o->a;
    uint32_t arc[PATH_MAX_HOPS];
    bool passed = false;
    struct error err;
    int n = pathset_walk (j->ps, from, route->to, arc, &err);

    for (int k = 0; k < n; k++) {
        passed |= j->net->link[arc_link (arc[k])].end[arc[k] % 2]
                  == route->index;
        if (passed)
            add_suspect_link (j, f, arc_link (arc[k]), false);
    }
}

static enum suspect_kind cause_kind (const struct judgement *j, size_t number)
{
    return j->face[number]->suspect.kind;
}

/* Add the members of a signature; directions only as others, unless the
 * likeliest is a direction.
 */
static void add_members (const struct judgement *j, struct finding *f,
                         size_t signature, bool oneway)
{
    const struct causes *c = &j->causes;
    size_t first = c->start[signature];

    for (size_t i = c->first[signature]; i < c->first[signature + 1]; i++) {
        const struct suspect *s = &c->member[i].suspect;

        if (suspect_link (s) != NETWORK_NONE)
            add_suspect_link (j, f, suspect_link (s),
                              s->kind == SUSPECT_ARC && !oneway);
        else if (s->kind == SUSPECT_ROUTE && f->kind == FINDING_ROUTE)
            add_route (j, f, c->row[first], s);
        else if (s->kind == SUSPECT_SWITCH && f->kind != FINDING_ROUTE) {
            verdict_add_number (j->verdict, &f->sw, &f->nsw, s->index);
            for (size_t e = first;
                 f->kind == FINDING_SWITCH && e < c->start[signature + 1]; e++)
                add_path (j, f, c->row[e], s->index);
        }
    }
}

/* Add the likeliest of the switches that may have the wrong route. */
static void add_suspect_switches (struct judgement *j, struct finding *f,
                                  size_t number)
{
    uint32_t sw[SWITCHES_NAMED];
    int n = route_switches (&j->ex, number, j->ps, sw, SWITCHES_NAMED);

    for (int i = 0; i < n; i++)
        verdict_add_number (j->verdict, &f->sw, &f->nsw, sw[i]);
}

static void add_cause_suspects (struct judgement *j, struct finding *f,
                                size_t number)
{
    const struct cause *c = &j->ex.cause[number];
    size_t n;
    struct rival *rival = explain_suspects (&j->ex, number, &n);

    f->kind = suspect_traits[cause_kind (j, number)].finding;
    for (size_t i = 0; rival && i < n; i++)
        add_members (j, f, rival[i].signature,
                     cause_kind (j, number) == SUSPECT_ARC);
    free (rival);
    if (f->kind == FINDING_ROUTE)
        add_suspect_switches (j, f, number);
    /* a single row that differs alone */
    if (f->nsuspects == 0)
        add_path (j, f, j->causes.row[j->causes.start[c->signature]],
                  NETWORK_NONE);
}

/*
 * What a cause is worth
 */

/* Kinds that can be slow: links, directions, switches. */
static bool is_links (const struct judgement *j, size_t number)
{
    return suspect_traits[cause_kind (j, number)].slow;
}

static size_t cause_row_count (const struct judgement *j, const struct cause *c)
{
    return j->causes.start[c->signature + 1] - j->causes.start[c->signature];
}

/* Probes of a cause's rows: the directions of a pair are of one. */
static size_t probes_of (const struct judgement *j, const struct cause *c)
{
    const uint32_t *row = j->causes.row + j->causes.start[c->signature];
    const struct observation *o = j->run.obs.v;
    size_t n = cause_row_count (j, c), probes = n;

    for (size_t e = 1; e < n; e++)
        probes -= pair_key (o[row[e]].a, o[row[e]].b)
                  == pair_key (o[row[e - 1]].a, o[row[e - 1]].b);
    return probes;
}

/* Whether no run's repeats of a pair show traffic. */
static bool is_tight_in_all_runs (const struct judgement *j,
                                  const struct observation *o)
{
    bool tight = o->tight;

    for (size_t i = 0; i < j->nbase && tight; i++) {
        const struct observation *b
            = find_same_observation (&j->base[i].obs, o);

        tight = !b || b->tight;
    }
    return tight;
}

/* Whether all rows across it show traffic, and others do not: a full link makes
 * all messages wait, and not all alike. Where messages are spread, their paths
 * differ, too. Where no row is quiet, messages scatter by themselves.
 */
static bool is_busy (const struct judgement *j, const struct cause *c)
{
    const uint32_t *row = j->causes.row + j->causes.start[c->signature];
    const struct observations *o = &j->run.obs;
    bool some = false;

    for (size_t i = 0; i < o->n && !some; i++)
        some = o->v[i].quiet;
    for (size_t e = 0; e < cause_row_count (j, c) && some; e++)
        some = !o->v[row[e]].quiet;
    return some && !j->paths;
}

/* Others' traffic: what nothing explains; and, if repeats show traffic, a
 * single row while others could show it too, and a route that got faster.
 */
static bool is_traffic (const struct judgement *j, size_t number)
{
    const struct cause *c = &j->ex.cause[number];
    const uint32_t *row = j->causes.row + j->causes.start[c->signature];
    const struct observation *o = j->run.obs.v;
    size_t n = cause_row_count (j, c);

    if (!j->face[number] || cause_kind (j, number) == SUSPECT_ROW)
        return true;
    if (suspect_traits[cause_kind (j, number)].whole)
        return false;
    if (is_links (j, number))
        return n == 1 && j->model.nrows > ROWS_FEW
               && o[*row].rounds < ROUNDS_ENOUGH
               && !is_tight_in_all_runs (j, &o[*row]);
    if (n > 1 ? c->excess_ns > 0 : j->model.nrows <= ROWS_FEW)
        return false;
    for (size_t e = 0; e < n; e++)
        if (!is_tight_in_all_runs (j, &o[row[e]]))
            return true;
    return false;
}

/* Whether pairs that both runs measured well show at least half of a cause. */
static bool is_new (const struct judgement *j, const struct cause *c)
{
    const struct causes *causes = &j->causes;
    double amplitude
        = fabs (c->excess_ns) * causes_simplest (causes, c->signature)->unit;
    double shown = 0;
    double all = 0;

    for (size_t e = causes->start[c->signature];
         e < causes->start[c->signature + 1]; e++) {
        const struct observation *o = &j->run.obs.v[causes->row[e]];
        double most = causes->value[e] * amplitude;

        for (size_t i = 0; i < j->nbase; i++) {
            const struct observation *b
                = find_same_observation (&j->base[i].obs, o);
            double shift;
            double sd;

            if (!b)
                continue;
            shift = model_shift (j->net, o, &j->run, &j->base[i], &sd);
            if (sqrt (sd * sd + b->var) > most / 3)
                continue;
            shown += o->rtt_ns - b->rtt_ns - shift;
            all += most;
        }
    }
    return all > 0 && shown > all / 2;
}

/* Whether the baseline determines the expected values for cause c. */
static bool has_basis (const struct judgement *j, const struct cause *c)
{
    const struct model *m = &j->model;
    double alone = 0;
    double *u;
    double var;

    if (!j->has_baseline || is_new (j, c))
        return j->has_baseline;
    u = xarray (model_unknowns (m), sizeof (*u));
    model_transpose (m, c->p, u);
    for (size_t k = 0; k < m->m; k++)
        alone += pow (u[k] * m->spread[m->class_of[k]], 2);
    /* no baseline has the hosts' offsets of this run */
    for (size_t i = 0; i < m->noffsets; i++)
        u[model_offsets (m) + i] = 0;
    var = model_prior_variance (m, u);
    free (u);
    return var < BASELINE_SHARE * alone;
}

/* The expected latency of a link, NAN if it is not accurate enough. */
static double expected_of (const struct judgement *j, uint32_t link)
{
    const struct model *m = &j->model;
    uint32_t col = m->column[link];
    double *u, var;

    if (!is_single (j, link))
        return NAN;
    u = xcalloc (model_unknowns (m), sizeof (*u));
    u[col] = 1;
    var = model_prior_variance (m, u);
    free (u);
    return var < KNOWN_SD * KNOWN_SD ? m->expected[col] : NAN;
}

/* Whether it may be a host that runs differently; no loopback excludes it. */
static bool may_be_software (const struct judgement *j, const struct finding *f)
{
    double ns;
    double sd;

    if (f->excess_ns - 3 * f->stderr_ns > SOFTWARE_NS)
        return false;
    for (size_t i = 0; i < f->nsuspects; i++)
        if (j->net->link[f->suspect[i]].kind == LINK_HOST
            && !model_loopback (&j->model, f->suspect[i], &ns, &sd))
            return true;
    return false;
}

/* By how much a host's loopback is slower than the middle one of the others in
 * this run, and how much these differ. False: it is not known.
 */
static bool compare_host_loopbacks (const struct judgement *j, uint32_t link,
                                    double *ns, double *sd)
{
    double *other = xarray (j->run.nloopbacks, sizeof (*other));
    struct loopback_time own = model_loopback_time (&j->run, link);
    size_t n = 0;

    for (size_t k = 0; k < j->run.nloopbacks; k++)
        if (j->run.loopback[k].link != link)
            other[n++] = j->run.loopback[k].time.ns;
    if (n > 0) {
        double centre = stats_median (other, n);

        *ns = own.ns - centre;
        *sd = hypot (own.sd, stats_mad (other, n, centre));
    }
    free (other);
    return n >= HOSTS_ENOUGH && !isnan (own.ns);
}

/* A host link among the suspects whose loopback explains half of what its round
 * trips take more, or nearly so; NETWORK_NONE: there is none. The model has
 * subtracted that part, *ns of a round trip.
 */
static uint32_t find_own_end (const struct judgement *j,
                              const struct finding *f, double *ns, double *sd)
{
    for (size_t i = 0; i < f->nsuspects; i++)
        if (j->net->link[f->suspect[i]].kind == LINK_HOST
            && model_loopback (&j->model, f->suspect[i], ns, sd)
            && *ns + 2 * *sd > OWN_SHARE * 2 * f->excess_ns)
            return f->suspect[i];
    return NETWORK_NONE;
}

/* Make a finding that of a host's own end, not of a cable. */
static void blame_host (struct judgement *j, struct finding *f, uint32_t link,
                        double ns, double sd)
{
    double rest = f->excess_ns, rest_sd = f->stderr_ns;
    enum finding_basis basis = f->basis;

    j->verdict->nfindings--;
    f = verdict_add (j->verdict, VERDICT_WARN, basis);
    f->kind = FINDING_HOST_END;
    add_suspect_link (j, f, link, false);
    f->kind = FINDING_NODE;
    f->excess_ns = rest + ns / 2;
    f->stderr_ns = hypot (rest_sd, sd / 2);
    finding_add_fact (j->verdict, f,
                      FACT (HOST, N (f->excess_ns, f->stderr_ns, ns / 2)));
}

/* What its loopback tells of the one host end of a finding: false if nothing. The
 * model has subtracted what is slower than in the baseline. Other hosts may be
 * built differently: three quarters of the excess must be there, or not there.
 */
static bool find_loopback_fact (const struct judgement *j, struct finding *f,
                                struct fact *fact)
{
    bool before;
    double ns;
    double sd;
    double few;
    double many;

    if (f->kind != FINDING_HOST_END || f->nsuspects != 1)
        return false;
    before = model_loopback (&j->model, f->suspect[0], &ns, &sd);
    if (!before && !compare_host_loopbacks (j, f->suspect[0], &ns, &sd))
        return false;
    few = before ? 2 * j->opts->warn_ns : f->excess_ns / 2;
    many = before ? few : 3 * few;
    f->loopback = ns + 2 * sd < few    ? LOOPBACK_FAST
                  : ns - 2 * sd > many ? LOOPBACK_SLOW
                                       : LOOPBACK_UNTOLD;
    if (f->loopback == LOOPBACK_FAST)
        *fact = before ? FACT (LOOPBACK_FAST) : FACT (LOOPBACK_AS_OTHERS);
    else
        *fact = before ? FACT (LOOPBACK_SLOW, N (ns / 2))
                       : FACT (LOOPBACK_SLOWEST, N (ns / 2));
    return f->loopback != LOOPBACK_UNTOLD;
}

static double warn_threshold (const struct judge_options *opts, double se)
{
    return fmax (opts->warn_ns, opts->warn_spread * se);
}

bool judge_fails (const struct judge_options *opts, double ns, double se)
{
    return ns > fmax (opts->fail_ns, opts->fail_spread * se)
           && ns - 3 * se > warn_threshold (opts, se);
}

/*
 * Causes to findings
 */

/* How the excess of a cause compares with the rows: one way, or, where rows of one
 * direction each all come from one end or go to one, so; of a host link such rows
 * among others suffice.
 */
static struct fact cause_way_fact (const struct judgement *j, size_t number)
{
    const struct cause *c = &j->ex.cause[number];
    const uint32_t *row = j->causes.row + j->causes.start[c->signature];
    const struct observation *first = NULL;
    bool arc = cause_kind (j, number) == SUSPECT_ARC;
    uint32_t link = suspect_link (&j->face[number]->suspect);
    bool from = true, to = true, all = true;

    for (size_t e = 0; e < cause_row_count (j, c); e++) {
        const struct observation *o = &j->run.obs.v[row[e]];

        first = first || !o->oneway ? first : o;
        from &= !o->oneway
                || pathset_port (j->ps, o->a) == pathset_port (j->ps, first->a);
        to &= !o->oneway
              || pathset_port (j->ps, o->b) == pathset_port (j->ps, first->b);
        all &= o->oneway;
    }
    if (!all && arc && j->net->link[link].kind == LINK_HOST) {
        from &= j->net->link[link].end[j->face[number]->suspect.index % 2]
                == NETWORK_NONE;
        to &= !from;
        all = true;
    }
    if (!first || (!from && !to) || !all)
        return arc ? FACT (ONE_WAY_MEAN) : FACT (ONE_WAY);
    return (struct fact){
        .kind = arc ? FACT_MESSAGES_MEAN : FACT_MESSAGES,
        NAMES (from ? pathset_endpoint (j->ps, first->a)->name : NULL,
               to ? pathset_endpoint (j->ps, first->b)->name : NULL),
    };
}

static struct fact cause_route_fact (const struct judgement *j,
                                     const struct finding *f, size_t number)
{
    const struct suspect *s = &j->face[number]->suspect;

    return FACT (
        ROUTE,
        N (probes_of (j, &j->ex.cause[number]), f->excess_ns, f->stderr_ns),
        NAMES (j->net->sw[s->index].name, j->net->sw[s->index].id,
               pathset_endpoint (j->ps, s->to)->name));
}

/* but: what is as likely; FACT_SAID: nothing. */
static void add_cause_facts (struct judgement *j, struct finding *f,
                             size_t number, enum fact_kind but)
{
    struct verdict *v = j->verdict;
    struct fact loopback, also = { .kind = but };
    bool told = find_loopback_fact (j, f, &loopback);

    if (f->kind == FINDING_ROUTE) {
        finding_add_fact (v, f, cause_route_fact (j, f, number));
        return;
    }
    finding_add_fact (
        v, f,
        FACT (ACROSS, N (probes_of (j, &j->ex.cause[number]), f->nsuspects,
                         f->excess_ns, f->stderr_ns)));
    finding_add_fact (v, f, cause_way_fact (j, number));
    finding_add_fact (v, f,
                      f->basis == BASIS_BASELINE      ? FACT (ABOVE_BASELINE)
                      : is_by_lrtl (j, f->suspect[0]) ? FACT (ABOVE_LRTL)
                                                      : FACT (ABOVE_CLASS));
    if (f->nsw > 0 && f->kind != FINDING_SWITCH)
        finding_add_fact (v, f, FACT (SWITCH_TOO));
    if (but != FACT_SAID)
        finding_add_fact (v, f, also);
    else if (told)
        finding_add_fact (v, f, loopback);
}

/* A cause that paths of several lengths explain as well. */
static void note_uneven (struct judgement *j, size_t number)
{
    const struct suspect *s = &j->face[number]->suspect;
    uint32_t link = suspect_link (s);
    double ns = j->ex.cause[number].excess_ns;

    if (s->kind == SUSPECT_SWITCH)
        note_limit (j, FACT (UNEVEN, N (ns),
                             NAMES (j->net->sw[s->index].name,
                                    j->net->sw[s->index].id)));
    else
        note_limit (j, FACT (UNEVEN, N (ns, s->kind == SUSPECT_ARC),
                             NAMES (j->net->link[link].id)));
}

static void judge_cause (struct judgement *j, size_t number)
{
    const struct cause *c = &j->ex.cause[number];
    const struct judge_options *opts = j->opts;
    bool links = is_links (j, number);
    double loopback_ns, loopback_sd;
    bool busy = is_busy (j, c);
    enum fact_kind but = FACT_SAID;
    struct finding *f;
    uint32_t own;

    if (cause_kind (j, number) == SUSPECT_LINK
        && -c->excess_ns > warn_threshold (opts, c->stderr_ns)) {
        note_limit (
            j, FACT (FASTER, N (-c->excess_ns),
                     NAMES (j->net->link[j->face[number]->suspect.index].id)));
        return;
    }
    if (links ? c->excess_ns <= warn_threshold (opts, c->stderr_ns)
              : fabs (c->excess_ns)
                    <= fmax (ROUTE_NS, opts->warn_spread * c->stderr_ns))
        return;
    j->crowded |= busy;
    f = verdict_add (j->verdict, VERDICT_WARN, BASIS_CLASS);
    add_cause_suspects (j, f, number);
    f->excess_ns = c->excess_ns;
    f->stderr_ns = c->stderr_ns;
    if (has_basis (j, c)) {
        f->basis = BASIS_BASELINE;
        if (judge_fails (opts, f->excess_ns, f->stderr_ns))
            f->level = VERDICT_FAIL;
    }
    else if (j->paths && j->paths->uneven) {
        j->verdict->nfindings--;
        note_uneven (j, number);
        return;
    }
    if (f->kind != FINDING_ROUTE && f->level == VERDICT_FAIL
        && (own = find_own_end (j, f, &loopback_ns, &loopback_sd))
               != NETWORK_NONE) {
        blame_host (j, f, own, loopback_ns, loopback_sd);
        return;
    }
    /* no FAIL if another explanation is as likely */
    if (f->kind == FINDING_ROUTE)
        f->level = VERDICT_WARN;
    else if (f->kind != FINDING_SWITCH && f->nsw > 0)
        f->level = VERDICT_UNKNOWN;
    else if (cause_kind (j, number) == SUSPECT_WARM) {
        f->level = VERDICT_WARN;
        but = FACT_GREW;
    }
    else if (f->level == VERDICT_FAIL && busy) {
        f->level = VERDICT_WARN;
        but = FACT_TRAFFIC_TOO;
    }
    else if (f->level == VERDICT_FAIL && may_be_software (j, f)) {
        f->level = VERDICT_WARN;
        but = FACT_SOFTWARE_TOO;
    }
    /* by chance all flows of a pair or two crossed another cable */
    else if (f->level == VERDICT_FAIL && !is_single (j, f->suspect[0])
             && probes_of (j, c) < PROBES_SURE)
        f->level = VERDICT_WARN;
    f->expected_ns = expected_of (j, f->suspect[0]);
    add_cause_facts (j, f, number, but);
    if (f->kind == FINDING_SWITCH_LINK)
        add_suspect_switches (j, f, number);
}

/* A class that is slower or faster as a whole: the runs differ, not a link. */
static void judge_class (struct judgement *j, size_t number)
{
    const struct cause *c = &j->ex.cause[number];
    bool much = c->excess_ns > j->opts->fail_ns;
    const char *name = "?";

    if (fabs (c->excess_ns) <= warn_threshold (j->opts, c->stderr_ns))
        return;
    for (size_t k = 0; k < j->model.m; k++) {
        const struct link_info *info = &j->net->link[j->model.link[k]];

        if (info->class_id == j->face[number]->suspect.index)
            name = info->class_name;
    }
    j->shift[j->nshifts++] = (struct class_shift){
        j->face[number]->suspect.index, c->excess_ns };
    verdict_limit (j->verdict, much ? VERDICT_UNKNOWN : VERDICT_OK,
                   FACT (CLASS_SHIFT, N (c->excess_ns), NAMES (name)));
}

/* All links got slower during the run, or faster: a room warms up. */
static void judge_drift (struct judgement *j, size_t number)
{
    note_limit (j, FACT (DRIFT, N (j->ex.cause[number].excess_ns)));
}

static bool has_suspect (const struct finding *f, uint32_t link)
{
    for (size_t k = 0; k < f->nsuspects; k++)
        if (f->suspect[k] == link)
            return true;
    return false;
}

static bool is_of_class (const struct judgement *j, const struct finding *f,
                         uint32_t class_id)
{
    bool of = false;

    for (size_t k = 0; k < f->nsuspects; k++)
        of |= j->net->link[f->suspect[k]].class_id == class_id;
    return of;
}

/* Nothing FAILs that is not slower than it was itself, and slower by more than
 * whole classes differ: these need not differ alike, and what one link differs
 * from its class may look like another's excess. What lags behind a class that
 * got faster is a WARN, too.
 */
static void judge_laggard (struct judgement *j, struct finding *f)
{
    const struct class_shift *most = NULL;

    for (size_t i = 0; i < j->nshifts; i++)
        if ((j->shift[i].ns > 0 || is_of_class (j, f, j->shift[i].class_id))
            && (!most || fabs (j->shift[i].ns) > fabs (most->ns)))
            most = &j->shift[i];
    if (!most || !judge_fails (j->opts, f->excess_ns, f->stderr_ns)
        || judge_fails (j->opts, f->excess_ns - fabs (most->ns), f->stderr_ns))
        return;
    if (f->level == VERDICT_FAIL)
        f->level = VERDICT_WARN;
    finding_add_fact (j->verdict, f,
                      most->ns < 0 ? FACT (CLASS_LESS, N (-most->ns))
                                   : FACT (CLASS_MORE, N (most->ns)));
}

/* Links that a wrong route may not cross are UNKNOWN below its excess. */
static void spread_doubt (struct finding *f, const struct finding *route)
{
    if (route->kind == FINDING_ROUTE && f->kind != FINDING_ROUTE
        && f->excess_ns < fabs (route->excess_ns))
        for (size_t a = 0; a < f->nsuspects; a++)
            if (has_suspect (route, f->suspect[a]))
                f->level = VERDICT_UNKNOWN;
}

static void judge_causes (struct judgement *j)
{
    struct verdict *v = j->verdict;

    for (size_t i = 0; i < j->ex.n; i++)
        if (is_traffic (j, i))
            j->disturbed += probes_of (j, &j->ex.cause[i]);
        else if (cause_kind (j, i) == SUSPECT_CLASS)
            judge_class (j, i);
        else if (cause_kind (j, i) == SUSPECT_DRIFT)
            judge_drift (j, i);
        else
            judge_cause (j, i);
    for (size_t i = 0; i < v->nfindings; i++)
        if (v->finding[i].kind != FINDING_ROUTE)
            judge_laggard (j, &v->finding[i]);
    for (size_t i = 0; i < v->nfindings; i++)
        for (size_t k = 0; k < v->nfindings; k++)
            spread_doubt (&v->finding[k], &v->finding[i]);
}

/*
 * Other findings
 */

static void find_busy (struct judgement *j)
{
    for (size_t i = 0; i < j->opts->nbusy; i++) {
        const struct busy_link *busy = &j->opts->busy[i];
        struct finding *f
            = verdict_add (j->verdict, VERDICT_UNKNOWN, BASIS_TRAFFIC);

        add_suspect_link (j, f, busy->link, false);
        for (size_t k = 0; k < busy->nway; k++)
            verdict_add_number (j->verdict, &f->oneway, &f->noneway,
                                busy->way[k]);
        finding_add_fact (j->verdict, f, busy->carries);
    }
    if (j->unjudged > 0)
        note_limit (j, FACT (UNJUDGED, N (j->unjudged)));
}

/* Whether a finding is of the host at this link. */
static bool is_node (const struct judgement *j, uint32_t link)
{
    const struct verdict *v = j->verdict;
    bool found = false;

    for (size_t i = 0; i < v->nfindings; i++)
        found |= v->finding[i].kind == FINDING_NODE
                 && v->finding[i].suspect[0] == link;
    return found;
}

/* By how much the loopbacks of the job's hosts are slower, as most are: their
 * median, ns of a round trip, if that is much; 0 if not, or if they are few.
 */
static double judge_loopbacks (struct judgement *j)
{
    double *v = xarray (j->model.m, sizeof (*v)), sd, most = 0;
    size_t n = 0;

    for (size_t k = 0; k < j->model.m; k++)
        n += model_loopback (&j->model, j->model.link[k], &v[n], &sd);
    if (n >= HOSTS_ENOUGH)
        most = stats_median (v, n);
    free (v);
    if (fabs (most) <= j->opts->warn_ns)
        return 0;
    note_limit (j, FACT (LOOPBACKS_SHIFT, N (most / 2)));
    return most;
}

/* Find hosts whose loopback is slower by more than FailExcess, and by as much
 * than most are.
 */
static void judge_nodes (struct judgement *j)
{
    double most = judge_loopbacks (j);

    for (size_t k = 0; k < j->model.m; k++) {
        uint32_t link = j->model.link[k];
        struct finding *f;
        double ns;
        double sd;

        if (!model_loopback (&j->model, link, &ns, &sd)
            || (ns - fmax (0, most) - 3 * sd) / 2 <= j->opts->fail_ns
            || is_node (j, link))
            continue;
        f = verdict_add (j->verdict, VERDICT_WARN, BASIS_LOOPBACK);
        add_suspect_link (j, f, link, false);
        f->kind = FINDING_NODE;
        f->excess_ns = ns / 2;
        f->stderr_ns = sd / 2;
        finding_add_fact (j->verdict, f,
                          FACT (HOST_LOOPBACK, N (f->excess_ns, f->stderr_ns)));
    }
}

/* Shares of messages that are lost on no link in particular. With a lower bound
 * of 1 in 1,000, a check of 1,000 messages needs seven samples with losses: as
 * many pauses of hosts, each longer than RoundTrip, in a second or two are no
 * busy hosts. In a virtual machine, whose 12 hosts share two emulated processors,
 * none is lost (tests/t0710); it was not measured on hardware. Above 1 in 50 no
 * program gets on well.
 */
#define LOSS_WARN 0.001
#define LOSS_FAIL 0.02

/* A finding of the links that lose or delay messages; it frees share->link.
 * NULL if it is not known which link between switches does, since messages are
 * spread: then there is a note instead.
 */
static struct finding *add_share (struct judgement *j, struct share *share,
                                  enum finding_basis basis,
                                  enum fact_kind unknown)
{
    struct finding *f = verdict_add (j->verdict, VERDICT_WARN, basis);

    for (size_t i = 0; i < share->n; i++)
        add_suspect_link (j, f, share->link[i], false);
    free (share->link);
    if (!j->paths || f->kind == FINDING_HOST_END)
        return f;
    j->verdict->nfindings--;
    note_limit (j, (struct fact){ .kind = unknown });
    return NULL;
}

/* Find the link that delays some of its messages. */
static int judge_delays (struct judgement *j, struct error *err)
{
    struct share slow;
    struct finding *f;

    /* traffic may be why, or another path of some messages */
    if (j->crowded || j->paths)
        return 0;
    if (share_find (&slow, j->ps, j->samples, SHARE_SLOW, false, err) < 0)
        return -1;
    /* it is slow, or loses messages: that is why; or traffic hides it */
    for (size_t i = 0; i < j->verdict->nfindings && slow.n > 0; i++)
        if (has_suspect (&j->verdict->finding[i], slow.link[0]))
            slow.n = 0;
    for (size_t i = 0; i < j->verdict->nopen && slow.n > 0; i++)
        if (j->verdict->open[i] == slow.link[0])
            slow.n = 0;
    if (slow.n == 0)
        free (slow.link);
    else if ((f = add_share (j, &slow, BASIS_SLOW, FACT_SOME_LINK_DELAYS)))
        finding_add_fact (
            j->verdict, f,
            FACT (DELAYED, N (slow.affected, slow.sent, slow.more_ns / 1e3,
                              slow.other_affected, slow.other_sent)));
    return 0;
}

/* Find the link that loses messages. */
static int judge_loss (struct judgement *j, struct error *err)
{
    struct share loss;
    struct finding *f;

    if (share_find (&loss, j->ps, j->samples, SHARE_LOST, false, err) < 0)
        return -1;
    if (loss.other_least > LOSS_WARN)
        verdict_limit (
            j->verdict,
            loss.other_least > LOSS_FAIL ? VERDICT_FAIL : VERDICT_WARN,
            FACT (LOST_NOWHERE, N (loss.other_affected, loss.other_sent)));
    else
        note_limit (j, FACT (LOST_SOME, N (j->run.obs.lost, j->run.obs.sent)));
    if (loss.n == 0
        || !(f = add_share (j, &loss, BASIS_LOSS, FACT_SOME_LINK_LOSES)))
        return 0;
    if (loss.least > LOSS_FAIL)
        f->level = VERDICT_FAIL;
    finding_add_fact (j->verdict, f,
                      FACT (LOST, N (loss.affected, loss.sent,
                                     loss.other_affected, loss.other_sent)));
    return 0;
}

/* Whether it is about one link, and its cable may be slow or lose messages. */
static bool is_of_cable (const struct finding *f)
{
    return (f->kind == FINDING_HOST_END || f->kind == FINDING_SWITCH_LINK)
           && f->basis != BASIS_TRAFFIC && f->nsuspects == 1;
}

/* Say of findings, each of one link, which are of one transceiver. */
static void find_cages (struct judgement *j)
{
    struct verdict *v = j->verdict;

    for (size_t i = 0; i < v->nfindings; i++)
        for (size_t k = 0; k < v->nfindings && is_of_cable (&v->finding[i]);
             k++) {
            struct finding *f = &v->finding[i], *other = &v->finding[k];
            const struct switch_info *sw;
            unsigned int cage = 0;

            if (is_of_cable (other))
                cage = network_cage (j->net, f->suspect[0], other->suspect[0],
                                     &sw);
            if (cage > 0)
                finding_add_fact (v, f,
                                  FACT (CAGE, N (cage),
                                        NAMES (j->net->link[*other->suspect].id,
                                               sw->name, sw->id)));
        }
}

/*
 * Cables that only some flows cross
 */

/* Of the job's flows in rounds from this one on. */
static struct mixture *mixture_of_samples (const struct judgement *j,
                                           size_t first_round)
{
    struct pair_flows *flows = xarray (j->samples->nsamples, sizeof (*flows));
    struct mixture *m;
    size_t n = 0;

    for (size_t i = 0; i < j->samples->nsamples; i++) {
        const struct sample *s = &j->samples->sample[i];

        if (s->round >= first_round)
            flows[n++] = (struct pair_flows){ s->a, s->b, s->flow_ns,
                                              s->nflows };
    }
    m = mixture_create (j->paths, j->ps, flows, n);
    free (flows);
    return m;
}

static struct mixture *mixture_of_baseline (const struct judgement *j)
{
    const struct baseline *b = j->baseline;
    size_t n = b ? b->nrows : 0;
    struct pair_flows *flows = xarray (n, sizeof (*flows));
    struct mixture *m;

    for (size_t i = 0; i < n; i++)
        flows[i] = (struct pair_flows){ b->row[i].a, b->row[i].b,
                                        b->flow_ns + b->row[i].flow,
                                        b->row[i].nflows };
    m = b ? mixture_create (j->paths, j->baseline_ps, flows, n) : NULL;
    free (flows);
    return m;
}

/* before: mixture_evidence of the baselines, of other pairs perhaps. So a flow
 * may be slower by longer cables on its path: a cable is named above fail_ns
 * only, or, if the baselines cannot tell, above what links differ; this is a
 * FAIL only above both.
 */
static void judge_cable (struct judgement *j, const struct slow_cable *c,
                         double before)
{
    bool was_fast = before < -BEFORE;
    double lengths = fmax (j->opts->fail_ns,
                           j->opts->warn_spread * j->model.differ);
    struct finding *f;

    if (c->spread_ns > j->opts->fail_ns
        || c->excess_ns <= (was_fast ? j->opts->fail_ns : lengths))
        return;
    f = verdict_add (j->verdict, VERDICT_WARN,
                     was_fast ? BASIS_BASELINE : BASIS_CLASS);
    f->kind = FINDING_SWITCH_LINK;
    for (size_t i = 0; i < c->n; i++)
        add_suspect_link (j, f, c->cable[i], false);
    f->excess_ns = c->excess_ns;
    f->stderr_ns = c->stderr_ns;
    if (was_fast && c->heap && c->excess_ns > lengths
        && judge_fails (j->opts, f->excess_ns, f->stderr_ns))
        f->level = VERDICT_FAIL;
    finding_add_fact (j->verdict, f,
                      FACT (FLOWS, N (c->slow, c->flows, c->excess_ns,
                                      c->stderr_ns, c->expected, c->n)));
    if (was_fast)
        finding_add_fact (j->verdict, f, FACT (NONE_BEFORE));
}

/* Find them in the confirm stage, where there is one. The flows of the baseline
 * tell whether they were slow before.
 */
static void judge_cables (struct judgement *j, const struct plan *plan)
{
    size_t confirm = plan_confirm_rounds (plan), n = 0;
    size_t cables = 0, judged, uneven = 0;
    struct mixture *all = mixture_of_samples (j, 0);
    struct mixture *m
        = confirm == 0 ? all
                       : mixture_of_samples (j, plan_rounds (plan) - confirm);
    struct mixture *old;
    struct slow_cable c[CABLES_MAX];
    double before[CABLES_MAX] = { 0 };
    bool slow_before[CABLES_MAX] = { 0 };

    while (m && n < CABLES_MAX && mixture_next (m, &c[n]))
        n++;
    old = n > 0 ? mixture_of_baseline (j) : NULL;
    for (size_t k = 0; old && k < n; k++)
        before[k] = mixture_evidence (old, c[k].cable[0], c[k].excess_ns,
                                      &slow_before[k]);
    mixture_destroy (old);
    for (size_t k = 0; k < n; k++) {
        if (!slow_before[k])
            judge_cable (j, &c[k], before[k]);
        free (c[k].cable);
    }
    if (all)
        cables = mixture_cables (all, &judged, &uneven);
    if (uneven > 0)
        note_limit (j, FACT (UNEVEN_PAIRS, N (uneven)));
    if (cables > 0)
        note_limit (j, FACT (FLOWS_ENOUGH, N (judged, cables)));
    if (m != all)
        mixture_destroy (m);
    mixture_destroy (all);
}

/*
 * Links that were not judged
 */

/* Find how much slower each link may be at most. INFINITY: no row crosses it.
 * 0: all its rows cross links that are not in the baseline, a limit by itself.
 */
static int bound_links (struct judgement *j)
{
    const struct causes *c = &j->causes;
    const struct model *model = &j->model;
    double *upper = xarray (c->n, sizeof (*upper));
    bool *known = xcalloc (model->m, sizeof (*known));
    int rc = explain_bounds (&j->ex, CLEAR_SD, j->opts->fail_ns, upper);

    j->most = xarray (model->m, sizeof (*j->most));
    for (size_t k = 0; k < model->m; k++)
        j->most[k] = INFINITY;
    for (size_t k = 0; k < c->n && rc == 0; k++)
        for (size_t i = c->first[k]; i < c->first[k + 1]; i++) {
            const struct member *m = &c->member[i];

            if (m->suspect.kind == SUSPECT_LINK
                && is_single (j, m->suspect.index))
                j->most[model->column[m->suspect.index]] = fmin (
                    upper[k] * causes_simplest (c, k)->unit / m->unit, DBL_MAX);
        }
    for (size_t i = 0; i < j->run.obs.n; i++) {
        const struct observation *o = &j->run.obs.v[i];
        bool all = true;

        for (size_t p = 0; p < o->n; p++)
            all &= model->covered[model->column[o->link[p]]];
        for (size_t p = 0; p < o->n && all; p++)
            known[model->column[o->link[p]]] = true;
    }
    for (size_t k = 0; k < model->m; k++)
        if (!known[k] && j->most[k] < INFINITY)
            j->most[k] = 0;
    free (upper);
    free (known);
    return rc;
}

/* Report which links could not be judged, the first few by name. */
static void limit_open (struct judgement *j, size_t hosts, size_t open_hosts)
{
    struct verdict *v = j->verdict;
    char *names = xstrdup ("");
    bool limited = v->limited;
    bool many
        = open_hosts > 0
          || 100 * (double)v->nopen > j->opts->open_share * (double)j->model.m;

    for (size_t i = 0; i < v->nopen && i < OPEN_NAMED; i++) {
        const struct link_info *link = &j->net->link[v->open[i]];
        char name[LINK_NAME], *more;

        link_name (link, name);
        more = xasprintf ("%s%s%s", names, i ? ", " : "",
                          *name ? name : link->id);

        free (names);
        names = more;
    }
    verdict_limit (
        v, many ? VERDICT_UNKNOWN : VERDICT_OK,
        FACT (OPEN,
              N (hosts - open_hosts, hosts,
                 j->model.m - hosts - (v->nopen - open_hosts),
                 j->model.m - hosts, j->opts->fail_ns, v->nopen > OPEN_NAMED),
              NAMES (names)));
    v->limited = limited; /* all others were judged */
    free (names);
}

/* List links that the rows do not show to be sound: host ends first. */
static void judge_open (struct judgement *j)
{
    struct verdict *v = j->verdict;
    size_t hosts = 0, open_hosts = 0;

    for (int others = 0; others < 2; others++)
        for (size_t k = 0; k < j->model.m; k++) {
            uint32_t link = j->model.link[k];
            bool host = j->net->link[link].kind == LINK_HOST;
            bool open = j->most[k] > j->opts->fail_ns;

            if (host == others || !is_single (j, link))
                continue;
            hosts += host;
            for (size_t i = 0; i < v->nfindings && open; i++)
                open = !has_suspect (&v->finding[i], link);
            if (open && verdict_add_number (v, &v->open, &v->nopen, link))
                open_hosts += host;
        }
    if (v->nopen > 0)
        limit_open (j, hosts, open_hosts);
}

/*
 * Observations of the job and its baselines
 */

/* The loopbacks of a run's endpoints, by their links. */
static void set_loopbacks (const struct judgement *j, struct model_run *run,
                           const struct pathset *ps,
                           const struct baseline_loopback *loopback, size_t n)
{
    run->loopback = xarray (n, sizeof (*run->loopback));
    for (size_t i = 0; i < n; i++) {
        uint32_t link = pathset_end_link (ps, loopback[i].end);

        if (link != NETWORK_NONE && !j->distrusted[link])
            run->loopback[run->nloopbacks++]
                = (struct link_loopback){ link, loopback[i].time };
    }
    qsort (run->loopback, run->nloopbacks, sizeof (*run->loopback),
           compare_u32); /* their first members */
}

static int observe_job (struct judgement *j, struct error *err)
{
    size_t n = pathset_size (j->ps), k = 0;
    struct loopback_time *time = xarray (n, sizeof (*time));
    struct baseline_loopback *loopback = xarray (n, sizeof (*loopback));

    observe_loopbacks (j->samples, n, time);
    for (uint32_t i = 0; i < n; i++)
        if (!isnan (time[i].ns))
            loopback[k++] = (struct baseline_loopback){ i, time[i] };
    set_loopbacks (j, &j->run, j->ps, loopback, k);
    free (loopback);
    free (time);
    return observe (&j->run.obs, j->ps, j->samples, RTT_FASTEST,
                    &observe_accuracy, err);
}

/* Round trips over busy links get almost no weight. */
static void downweight_busy_links (struct judgement *j)
{
    bool *full = xcalloc (j->net->nlinks, sizeof (*full));

    for (size_t b = 0; b < j->opts->nbusy; b++)
        full[j->opts->busy[b].link] = true;
    j->unjudged = 0;
    for (size_t b = 0; b < j->opts->nbusy; b++) {
        const struct busy_link *busy = &j->opts->busy[b];

        for (size_t k = 0; k < busy->nway; k++) {
            j->unjudged += !full[busy->way[k]];
            full[busy->way[k]] = true;
        }
    }
    for (size_t i = 0; i < j->run.obs.n; i++) {
        struct observation *o = &j->run.obs.v[i];
        bool busy = false;

        for (size_t k = 0; k < o->n; k++)
            busy |= full[o->link[k]];
        if (busy)
            o->var += BUSY_NS * BUSY_NS;
    }
    free (full);
}

/* Traffic in the baseline makes no link look slow. If a path is faster now and
 * its repeats varied then, there was traffic.
 */
static void doubt_baseline_rows (struct judgement *j, struct model_run *base)
{
    for (size_t i = 0; i < base->obs.n; i++) {
        struct observation *b = &base->obs.v[i];
        const struct observation *o = find_same_observation (&j->run.obs, b);
        double more;
        double doubt;
        double sd;

        if (!o)
            continue;
        b->var -= b->doubt_ns * b->doubt_ns;
        more = b->rtt_ns - o->rtt_ns
               + model_shift (j->net, o, &j->run, base, &sd);
        sd = sqrt (sd * sd + b->var + o->var - o->doubt_ns * o->doubt_ns);
        doubt = fmin (b->doubt_ns, fmax (0, more) + sd);
        if (more > BASELINE_SD * sd && !b->tight)
            doubt = more;
        b->var += doubt * doubt;
    }
}

static int observe_all (struct judgement *j, struct error *err)
{
    const struct baseline *b = j->baseline;
    uint32_t *number;
    int rc = 0;

    if (observe_job (j, err) < 0)
        return -1;
    downweight_busy_links (j);
    if (!b)
        return 0;
    number = baseline_numbers (b, j->ps);
    j->base = xcalloc (b->nruns, sizeof (*j->base));
    for (size_t i = 0; i < b->nruns && rc == 0; i++) {
        struct model_run *base = &j->base[j->nbase++];
        size_t first = b->run[i].loopback;

        set_loopbacks (j, base, b->ps, b->loopback + first,
                       baseline_loopbacks_end (b, i) - first);
        rc = baseline_observe (b, i, j->baseline_ps, number, &base->obs, err);
        if (rc == 0)
            doubt_baseline_rows (j, base);
        j->has_baseline |= base->obs.n > 0;
    }
    free (number);
    return rc;
}

/* Traffic added at most a row's excess, as exactly as offsets are known. */
static void bound_doubts (struct judgement *j)
{
    const struct model *m = &j->model;
    double *r = xarray (m->nrows, sizeof (*r));

    model_residual (m, r);
    for (size_t i = 0; i < j->run.obs.n; i++) {
        struct observation *o = &j->run.obs.v[i];
        double var = 0;
        double doubt;

        for (size_t p = 0; p < o->n && j->nbase > 0; p++)
            if (j->net->link[o->link[p]].kind == LINK_HOST)
                var += 2 * pow (m->offset_sd[m->offset_of[o->link[p]]], 2);
        doubt = fmin (o->doubt_ns, fmax (0, r[i]) + sqrt (var));
        o->var += doubt * doubt - o->doubt_ns * o->doubt_ns;
        o->doubt_ns = doubt;
    }
    free (r);
}

/*
 * Analysis
 */

static void run_clear (struct model_run *run)
{
    observations_clear (&run->obs);
    free (run->loopback);
    *run = (struct model_run){ 0 };
}

static void clear_judgement (struct judgement *j)
{
    explanation_clear (&j->ex);
    causes_clear (&j->causes);
    model_clear (&j->model);
    run_clear (&j->run);
    while (j->nbase > 0)
        run_clear (&j->base[--j->nbase]);
    free (j->base);
    j->base = NULL;
}

/* Whether a host's loopback changed, but not its round trips, of which a cause
 * of the opposite size was found for this link.
 */
static bool is_opposite (const struct judgement *j, uint32_t link,
                         double excess_ns)
{
    double ns, sd;

    return j->net->link[link].kind == LINK_HOST && !j->distrusted[link]
           && model_loopback (&j->model, link, &ns, &sd)
           && fabs (2 * excess_ns + ns) < fabs (ns) / 2;
}

/* Distrust such loopbacks, of a host or of a whole class. Return whether there
 * are new ones.
 */
static bool distrust_loopbacks (struct judgement *j)
{
    size_t before = j->ndistrusted;

    for (size_t i = 0; i < j->ex.n; i++) {
        const struct cause *c = &j->ex.cause[i];
        const struct suspect *s
            = &causes_simplest (&j->causes, c->signature)->suspect;

        for (size_t k = 0; k < j->model.m; k++) {
            uint32_t link = j->model.link[k];
            bool of = s->kind == SUSPECT_LINK
                          ? s->index == link
                          : s->kind == SUSPECT_CLASS
                                && j->net->link[link].class_id == s->index;

            if (of && is_opposite (j, link, c->excess_ns)) {
                j->distrusted[link] = true;
                j->ndistrusted++;
            }
        }
    }
    return j->ndistrusted > before;
}

static int judge_ill_conditioned (struct error *err)
{
    return error_world (err, "the samples are too ill-conditioned to judge");
}

/* Find the causes. */
static int analyse (struct judgement *j, double alarms, struct error *err)
{
    struct explanation *ex = &j->ex;

    j->distrusted = xcalloc (j->net->nlinks, sizeof (*j->distrusted));
    do {
        clear_judgement (j);
        terminal_work ("judging", 0, 0);
        if (observe_all (j, err) < 0
            || model_make (&j->model, j->ps, &j->run, j->base, j->nbase,
                           j->opts->last, err)
                   < 0)
            return -1;
        bound_doubts (j);
        if (model_reweigh (&j->model) < 0)
            return judge_ill_conditioned (err);
        if (causes_make (&j->causes, j->ps, &j->run.obs, j->rounds, err) < 0)
            return -1;
        terminal_work ("explaining what is off", 0, 0);
        if (explain (ex, &j->model, &j->causes, alarms) < 0)
            return judge_ill_conditioned (err);
    } while (distrust_loopbacks (j));
    /* choose the most likely meaning of each cause, and scale its excess */
    for (size_t i = 0; i < ex->n; i++)
        if (route_or_link (ex, i, j->ps, j->opts->fail_ns, &j->face[i]) < 0)
            return judge_ill_conditioned (err);
    for (size_t i = 0; i < ex->n; i++) {
        struct cause *c = &ex->cause[i];
        const struct member *first = causes_simplest (&j->causes, c->signature);
        double scale = j->face[i] ? first->unit / j->face[i]->unit : 1;

        c->excess_ns *= scale;
        c->stderr_ns *= scale;
    }
    return bound_links (j) < 0 ? judge_ill_conditioned (err) : 0;
}

static int compare_findings (const void *va, const void *vb)
{
    const struct finding *a = va;
    const struct finding *b = vb;

    if (a->level != b->level)
        return a->level > b->level ? -1 : 1;
    if (isnan (a->excess_ns) || isnan (b->excess_ns))
        return isnan (a->excess_ns) - isnan (b->excess_ns);
    return util_compare (b->excess_ns, a->excess_ns);
}

static int judge_links (struct judgement *j, const struct plan *plan,
                        struct error *err)
{
    struct verdict *v = j->verdict;

    for (size_t k = 0; k < j->model.m; k++)
        v->links += j->paths ? j->paths->cables[j->model.link[k]] : 1;
    v->probes = j->run.obs.pairs;
    limit_model (j);
    find_busy (j);
    judge_causes (j);
    judge_nodes (j);
    if (j->paths)
        judge_cables (j, plan);
    judge_open (j);
    if (j->ex.full)
        verdict_limit (v, VERDICT_UNKNOWN, FACT (TOO_MANY));
    if (j->disturbed > 0)
        note_limit (j, FACT (DISTURBED, N (j->disturbed)));
    if (j->ndistrusted > 0)
        note_limit (j, FACT (DISTRUSTED, N (j->ndistrusted)));
    if ((j->run.obs.lost > 0 && judge_loss (j, err) < 0)
        || judge_delays (j, err) < 0)
        return -1;
    find_cages (j);
    if (v->nfindings > 0)
        qsort (v->finding, v->nfindings, sizeof (*v->finding),
               compare_findings);
    for (size_t i = 0; i < v->nfindings; i++)
        if (v->finding[i].level > v->status)
            v->status = v->finding[i].level;
    return 0;
}

static void judgement_clear (struct judgement *j)
{
    clear_judgement (j);
    free (j->distrusted);
    free (j->most);
}

int judge_view_make (struct judge_view *view, struct pathset *ps,
                     const struct samples *samples,
                     const struct baseline *baseline, struct error *err)
{
    const struct pathset *set[] = { ps, baseline ? baseline->ps : NULL };
    const struct network *net = pathset_network (ps);
    const struct baseline_run *before
        = baseline ? baseline_spread (baseline) : NULL;
    struct traffic_class as = { (unsigned int)samples->level, samples->rc > 0 };

    *view = (struct judge_view){
        .ps = ps, .baseline = baseline,
        .baseline_ps = baseline ? baseline->ps : NULL,
    };
    if (!net->hops || (samples->spread == 0 && !before))
        return 0;
    if (samples->spread == 0)
        as = (struct traffic_class){ (unsigned int)before->level,
                                     before->rc > 0 };
    view->ps = view->baseline_ps = NULL;
    if ((view->paths = multipath_create (set, baseline ? 2 : 1, &as, err))
        && (view->ps = pathset_on (ps, &view->paths->network, err))
        && baseline)
        view->baseline_ps
            = pathset_on (baseline->ps, &view->paths->network, err);
    return view->ps && (view->baseline_ps || !baseline) ? 0 : -1;
}

void judge_view_clear (struct judge_view *view)
{
    if (view->paths) {
        pathset_destroy (view->ps);
        pathset_destroy (view->baseline_ps);
    }
    multipath_destroy (view->paths);
    *view = (struct judge_view){ 0 };
}

/* Subtract from the second stage what it takes more as a whole, of a drift since
 * the pair's first round, or the middle of the first stage: machines and clocks
 * need not be as they were seconds before. *same is what to judge, with a
 * list of its own that the caller frees, or NULL.
 */
static int align_stages (struct judgement *j, const struct plan *plan,
                         struct samples *same, struct error *err)
{
    const struct samples *s = j->samples;
    struct stage_shift shift = { 0 };
    struct map first = { 0 }; /* a pair's round of the first stage */
    int rc = 0;

    *same = *s;
    same->sample = NULL;
    if (plan_confirm_rounds (plan) > 0)
        rc = observe_stage (&shift, j->ps, s, j->rounds, err);
    if (shift.ns == 0 && shift.drift_ns == 0)
        return rc;
    same->sample = xarray (s->nsamples, sizeof (*same->sample));
    for (size_t i = 0; i < s->nsamples; i++) {
        same->sample[i] = s->sample[i];
        if (s->sample[i].round < j->rounds)
            map_put (&first, pair_key (s->sample[i].a, s->sample[i].b),
                     s->sample[i].round);
    }
    for (size_t i = 0; i < s->nsamples && rc == 0; i++) {
        struct sample *to = &same->sample[i];
        double ns = shift.ns;
        struct row row = { .n = 0 };

        if (to->round < j->rounds)
            continue;
        if (shift.drift_ns != 0) {
            uint32_t round = map_find (&first, pair_key (to->a, to->b));

            rc = pathset_row (j->ps, to->a, to->b, &row, err);
            ns = shift.drift_ns * row_crossings (row.count, row.n)
                 * (to->round - (round == MAP_NONE ? j->rounds / 2 : round))
                 / (double)j->rounds;
        }
        for (int q = 0; q < RTT_COUNT; q++)
            to->rtt_ns[q] -= ns;
    }
    map_clear (&first);
    j->samples = same;
    if (fabs (shift.ns) > j->opts->warn_ns)
        note_limit (j, FACT (STAGE_SHIFT, N (shift.ns)));
    return rc;
}

struct verdict *judge (struct pathset *ps, const struct plan *plan,
                       const struct samples *samples,
                       const struct baseline *baseline,
                       const struct judge_options *opts, struct error *err)
{
    struct judgement j = {
        .samples = samples,
        .opts = opts ? opts : &judge_defaults,
        .verdict = verdict_create (),
    };
    double alarms = plan_confirm_rounds (plan) > 0 ? ALARMS_CONFIRMED : ALARMS;
    bool empty = plan_probes (plan) == 0;
    struct judge_view view;
    struct samples same;

    j.rounds = plan_rounds (plan) - plan_confirm_rounds (plan);
    same.sample = NULL;
    if (judge_view_make (&view, ps, samples, baseline, err) < 0)
        goto error;
    j.ps = view.ps;
    j.baseline = baseline;
    j.baseline_ps = view.baseline_ps;
    j.net = pathset_network (view.ps);
    j.paths = j.net->multi;
    if (count_absent_probes (plan, samples, &j.absent, err) < 0
        || align_stages (&j, plan, &same, err) < 0
        || (!empty && analyse (&j, alarms, err) < 0))
        goto error;
    j.verdict->nodes = samples->nanswered;
    j.verdict->rounds = plan_rounds (plan);
    limit_samples (&j);
    limit_alone (&j);
    if (empty)
        note_limit (&j, FACT (NOTHING));
    else if (judge_links (&j, plan, err) < 0)
        goto error;
    judgement_clear (&j);
    judge_view_clear (&view);
    free (same.sample);
    return j.verdict;
error:
    judgement_clear (&j);
    judge_view_clear (&view);
    free (same.sample);
    verdict_destroy (j.verdict);
    return NULL;
}

/*
 * The first stage
 */

/* Append an empty suspicion. */
static struct suspicion *add_suspicion (struct suspicions *list)
{
    list->v = xrealloc (list->v, list->n + 1, sizeof (*list->v));
    list->v[list->n] = (struct suspicion){ 0 };
    return &list->v[list->n++];
}

static void list_members (const struct judgement *j, struct suspicion *s,
                          size_t signature)
{
    const struct causes *c = &j->causes;
    size_t most = 3 * (c->first[signature + 1] - c->first[signature]);

    s->suspect = xrealloc (s->suspect, s->n + most, sizeof (*s->suspect));
    for (size_t k = c->first[signature]; k < c->first[signature + 1]; k++) {
        struct suspect suspect = c->member[k].suspect;

        s->suspect[s->n++] = suspect;
        /* rows that cross a link both ways do not show which is slow */
        for (uint32_t way = 0; way < 2; way++)
            if (suspect.kind == SUSPECT_LINK
                && j->net->link[suspect.index].kind == LINK_SWITCH)
                s->suspect[s->n++] = (struct suspect){
                    .kind = SUSPECT_ARC,
                    .index = 2 * suspect.index + way,
                };
    }
}

static int list_causes (struct judgement *j, struct suspicions *list)
{
    for (size_t i = 0; i < j->ex.n; i++) {
        const struct cause *c = &j->ex.cause[i];
        struct suspicion *s;
        struct rival *rival;
        size_t n;

        if (suspect_traits[causes_simplest (&j->causes, c->signature)
                               ->suspect.kind].whole)
            continue;
        if (!(rival = explain_suspects (&j->ex, i, &n)))
            return -1;
        s = add_suspicion (list);
        s->excess_ns = c->excess_ns;
        s->stderr_ns = c->stderr_ns;
        for (size_t k = 0; k < n; k++)
            list_members (j, s, rival[k].signature);
        free (rival);
    }
    return 0;
}

/* How slow the first cable of a signature may be; NULL: none is single. */
static double *most_of (struct judgement *j, size_t signature)
{
    const struct causes *c = &j->causes;

    for (size_t i = c->first[signature]; i < c->first[signature + 1]; i++) {
        const struct suspect *s = &c->member[i].suspect;

        if (s->kind == SUSPECT_LINK && is_single (j, s->index))
            return &j->most[j->model.column[s->index]];
    }
    return NULL;
}

/* List links that may still be above FailExcess, the least certain first. */
static void list_doubts (struct judgement *j, struct suspicions *list)
{
    const struct causes *c = &j->causes;

    for (int i = 0; i < DOUBTS; i++) {
        double *worst = NULL;
        size_t signature = 0;
        struct suspicion *s;

        /* signatures of links come first */
        for (size_t k = 0; k < c->kind[SUSPECT_LINK]; k++) {
            double *most = most_of (j, k);

            if (most && *most > j->opts->fail_ns && *most < INFINITY
                && (!worst || *most > *worst)) {
                worst = most;
                signature = k;
            }
        }
        if (!worst)
            return;
        s = add_suspicion (list);
        s->vague = true;
        s->excess_ns = s->stderr_ns = *worst;
        list_members (j, s, signature);
        *worst = 0;
    }
}

/* List a link that may delay some messages. */
static int list_delays (struct judgement *j, struct suspicions *list,
                        struct error *err)
{
    struct share slow;
    struct suspicion *s;

    if (share_find (&slow, j->ps, j->samples, SHARE_SLOW, true, err) < 0)
        return -1;
    list->delays = slow.n > 0;
    if (slow.n > 0) {
        s = add_suspicion (list);
        s->excess_ns = s->stderr_ns = j->opts->fail_ns;
        s->suspect = xarray (slow.n, sizeof (*s->suspect));
        for (; s->n < slow.n; s->n++)
            s->suspect[s->n] = (struct suspect){ SUSPECT_LINK,
                                                 slow.link[s->n], 0 };
    }
    free (slow.link);
    return 0;
}

/* List pairs whose flows may cross slow cables. */
static void list_pairs (const struct judgement *j, struct suspicions *list)
{
    struct mixture *m
        = j->paths ? mixture_of_samples (j, 0) : NULL;

    if (m)
        list->npairs = mixture_doubts (m, &list->pair);
    mixture_destroy (m);
}

int judge_first (struct suspicions *s, const struct judge_view *view,
                 const struct plan *plan, const struct samples *samples,
                 const struct judge_options *opts, struct error *err)
{
    struct judgement j = {
        .ps = view->ps,
        .net = pathset_network (view->ps),
        .paths = pathset_network (view->ps)->multi,
        .samples = samples,
        .baseline = view->baseline,
        .baseline_ps = view->baseline_ps,
        .opts = opts ? opts : &judge_defaults,
        .rounds = plan_rounds (plan),
    };
    int rc = -1;

    *s = (struct suspicions){ 0 };
    if (count_absent_probes (plan, samples, &j.absent, err) == 0
        && analyse (&j, ALARMS_FIRST, err) == 0) {
        rc = list_causes (&j, s) < 0 ? judge_ill_conditioned (err) : 0;
        list_doubts (&j, s);
        list_pairs (&j, s);
        if (rc == 0 && !j.paths)
            rc = list_delays (&j, s, err);
    }
    judgement_clear (&j);
    return rc;
}

void suspicions_clear (struct suspicions *s)
{
    for (size_t i = 0; i < s->n; i++)
        free (s->v[i].suspect);
    free (s->v);
    free (s->pair);
    *s = (struct suspicions){ 0 };
}
