/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes. Causes become findings.
 *
 * No finding: a cause that no link and no detour explains; a single row, unless
 * it was measured in several rounds or shows no traffic at all; a route that
 * got faster, unless its rows show no traffic; any cause below WarnExcess (a
 * route: ROUTE_MIN_NS).
 *
 * Basis: the estimate of a cause is w' r with weights w from the model, so its
 * prior part has the variance u' C u, with u = A' w over the links and C the
 * covariance of their latencies before the job's samples. The basis is the
 * baseline if pairs that both runs measured show more than half of the excess,
 * or if this variance is less than a quarter of what the spread of the classes
 * alone would give.
 */
#include "config.h"
#include "core/judge/judgement.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/linear/stats.h"
#include "core/paths/multipath.h"
#include "util/alloc.h"

enum {
    FEW_ROWS_MAX = 2,
    PROBES_MIN = 3,         /* across a cable that is not single */
    ROUNDS_MIN = 2,         /* for a single row to be a finding */
    SWITCHES_NAMED_MAX = 3, /* for a route, the likeliest ones */
};

#define ALIKE_SD 3.0 /* standard errors by which the same excess may differ */
#define BASELINE_SHARE_MAX 0.25 /* of the class's variance */
#define KNOWN_MAX_SD_NS \
    120.0 /* of a latency that is accurate enough to report */

/* Of what a loopback does not explain: with two thirds of it, the loopback has
 * two fifths of the whole. A process on another socket changes both, by some
 * hundred ns, so half is not always seen as half.
 */
#define LOOPBACK_SHARE_MIN (2 / 3.)

/* What a host's power profile or another socket may change; of a round trip, to
 * report a wrong route.
 */
#define SOFTWARE_MAX_NS 500.0
#define ROUTE_MIN_NS 60.0

/*
 * The suspects of a finding
 */

/* Add a link, or that one direction of it explains the excess as well. */
void add_suspect_link (const struct judgement *j, struct finding *f,
                       uint32_t link, bool oneway)
{
    const struct link_info *info = &j->net->link[link];

    if (info->kind == LINK_SWITCH && f->kind == FINDING_HOST_END)
        f->kind = FINDING_SWITCH_LINK;
    if (oneway && has_suspect (f, link))
        return;
    for (size_t i = 0; i < f->noneway && !oneway; i++)
        if (f->oneway[i] == link)
            f->oneway[i] = f->oneway[--f->noneway];
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
        passed
            |= j->net->link[arc_link (arc[k])].end[arc[k] % 2] == route->index;
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

        switch (s->kind) {
        case SUSPECT_LINK:
        case SUSPECT_ARC:
        case SUSPECT_WARM:
            add_suspect_link (j, f, suspect_link (s),
                              s->kind == SUSPECT_ARC && !oneway);
            break;
        case SUSPECT_ROUTE:
            if (f->kind == FINDING_ROUTE)
                add_route (j, f, c->row[first], s);
            break;
        case SUSPECT_SWITCH:
            if (f->kind == FINDING_ROUTE)
                break;
            verdict_add_number (j->verdict, &f->sw, &f->nsw, s->index);
            for (size_t e = first;
                 f->kind == FINDING_SWITCH && e < c->start[signature + 1]; e++)
                add_path (j, f, c->row[e], s->index);
            break;
        case SUSPECT_CLASS:
        case SUSPECT_DRIFT:
        case SUSPECT_ROW:
        case SUSPECT_KINDS:
            break;
        }
    }
}

/* Add the likeliest of the switches that may have the wrong route. */
static void add_suspect_switches (struct judgement *j, struct finding *f,
                                  size_t number)
{
    uint32_t sw[SWITCHES_NAMED_MAX];
    int n = route_switches (&j->ex, number, j->ps, sw, SWITCHES_NAMED_MAX);

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

/* What a cause adds to a row of value 1, ns. */
static double amplitude_of (const struct judgement *j, const struct cause *c)
{
    return c->excess_ns * j->face[c - j->ex.cause]->unit;
}

static void subtract_cause (const struct judgement *j, const struct cause *c,
                            double *r)
{
    const struct causes *causes = &j->causes;

    for (size_t e = causes->start[c->signature];
         e < causes->start[c->signature + 1]; e++)
        r[causes->row[e]] -= causes->value[e] * amplitude_of (j, c);
}

/* Whether no row without traffic shows at least half of it, while there are such
 * rows: a full link makes all messages wait, and not all alike. A row that is as fast
 * as ever, or as all became, does not show it, though a wrong route or a cable that got
 * faster would explain both. Where messages are spread, their paths differ, too. Where
 * no row is quiet, messages scatter by themselves.
 */
static bool is_busy (const struct judgement *j, const struct cause *c)
{
    const struct causes *causes = &j->causes;
    const struct observations *o = &j->run.obs;
    double *all, *own, *rest; /* excess; without that of the run as a whole; without
                                 that of any other cause */
    bool busy = false;

    for (size_t i = 0; i < o->n && !busy; i++)
        busy = o->v[i].quiet;
    if (!busy || j->paths)
        return false;
    all = xarray (3 * o->n, sizeof (*all));
    own = all + o->n;
    rest = own + o->n;
    model_residual (&j->model, all);
    memcpy (own, all, o->n * sizeof (*own));
    memcpy (rest, all, o->n * sizeof (*rest));
    for (size_t i = 0; i < j->ex.n; i++) {
        const struct cause *other = &j->ex.cause[i];

        if (other == c || !j->face[i])
            continue;
        subtract_cause (j, other, rest);
        if (suspect_traits[cause_kind (j, i)].whole)
            subtract_cause (j, other, own);
    }
    for (size_t e = causes->start[c->signature];
         e < causes->start[c->signature + 1]; e++) {
        uint32_t row = causes->row[e];
        double most = causes->value[e] * amplitude_of (j, c);

        busy &= !o->v[row].quiet || rest[row] < most / 2
                || fmax (fabs (all[row]), fabs (own[row])) < most / 4;
    }
    free (all);
    return busy;
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
        return n == 1 && j->model.nrows > FEW_ROWS_MAX
               && o[*row].rounds < ROUNDS_MIN
               && !is_tight_in_all_runs (j, &o[*row]);
    if (n > 1 ? c->excess_ns > 0 : j->model.nrows <= FEW_ROWS_MAX)
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
    double amplitude = fabs (amplitude_of (j, c));
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
    return var < BASELINE_SHARE_MAX * alone;
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
    return var < KNOWN_MAX_SD_NS * KNOWN_MAX_SD_NS ? m->expected[col] : NAN;
}

/* Whether it may be a host that runs differently; no loopback excludes it. */
static bool may_be_software (const struct judgement *j, const struct finding *f)
{
    double ns;
    double sd;

    if (f->excess_ns - 3 * f->stderr_ns > SOFTWARE_MAX_NS)
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
    return n >= HOSTS_MIN && !isnan (own.ns);
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
            && *ns + 2 * *sd > LOOPBACK_SHARE_MIN * 2 * f->excess_ns)
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

double warn_threshold (const struct judge_options *opts, double se)
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

/* A link that got faster, or only did not get slower with its class. */
static void note_faster (struct judgement *j, size_t number)
{
    const struct cause *c = &j->ex.cause[number];
    const struct link_info *info
        = &j->net->link[j->face[number]->suspect.index];
    double before = c->excess_ns;
    char host[LINK_NAME];
    const char *name = host;

    link_name (info, host);
    if (!*host)
        name = info->id;
    for (size_t i = 0; i < j->nshifts; i++)
        before += info->class_id == j->shift[i].class_id ? j->shift[i].ns : 0;
    note_limit (j, -before > warn_threshold (j->opts, c->stderr_ns)
                       ? FACT (FASTER, N (-before), NAMES (name))
                       : FACT (STAYED, N (before - c->excess_ns), NAMES (name)));
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
        note_faster (j, number);
        return;
    }
    if (links ? c->excess_ns <= warn_threshold (opts, c->stderr_ns)
              : fabs (c->excess_ns)
                    <= fmax (ROUTE_MIN_NS, opts->warn_spread * c->stderr_ns))
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
             && probes_of (j, c) < PROBES_MIN)
        f->level = VERDICT_WARN;
    f->expected_ns = expected_of (j, f->suspect[0]);
    add_cause_facts (j, f, number, but);
    if (f->kind == FINDING_SWITCH_LINK)
        add_suspect_switches (j, f, number);
}

bool has_suspect (const struct finding *f, uint32_t link)
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
 * whole classes differ, in either direction: these need not differ alike, and what
 * links differ from their class may look like another one's excess, as of a switch
 * by which alone the hosts are reached that did not get faster with the others.
 * What lags behind a class that got faster is a WARN, too.
 */
static void judge_laggard (struct judgement *j, struct finding *f)
{
    const struct class_shift *most = NULL;
    bool behind;

    for (size_t i = 0; i < j->nshifts; i++)
        if (!most || fabs (j->shift[i].ns) > fabs (most->ns))
            most = &j->shift[i];
    if (!most || !judge_fails (j->opts, f->excess_ns, f->stderr_ns)
        || judge_fails (j->opts, f->excess_ns - fabs (most->ns), f->stderr_ns))
        return;
    if (f->level == VERDICT_FAIL)
        f->level = VERDICT_WARN;
    behind = most->ns < 0 && is_of_class (j, f, most->class_id);
    if (behind && f->basis == BASIS_BASELINE) {
        f->basis = BASIS_BEHIND;
        f->expected_ns = NAN;
    }
    finding_add_fact (j->verdict, f,
                      behind ? FACT (CLASS_LESS, N (-most->ns))
                             : FACT (CLASS_DIFFERS, N (most->ns)));
}

/* Whether two got slower by the same, as far as is known. */
static bool are_alike (const struct finding *a, const struct finding *b)
{
    return a->basis == BASIS_BASELINE && b->basis == BASIS_BASELINE
           && fabs (a->excess_ns - b->excess_ns)
                  <= ALIKE_SD * hypot (a->stderr_ns, b->stderr_ns);
}

static bool is_most_likely_end (const struct judgement *j, const struct finding *f)
{
    return f->nsuspects > 0 && f->kind != FINDING_NODE
           && j->net->link[f->suspect[0]].kind == LINK_HOST;
}

/* Hosts go bad one by one, each by a time of its own. Where more of them got slower by
 * the same than would go bad in a month, they were changed, as by an upgrade; and what
 * else did may be the same, seen by few rows.
 */
static void judge_alike (struct judgement *j)
{
    struct verdict *v = j->verdict;
    struct finding like = { .basis = BASIS_CLASS };
    size_t hosts = 0, most = 0;

    for (size_t k = 0; k < j->model.m; k++)
        hosts += j->net->link[j->model.link[k]].kind == LINK_HOST;
    for (size_t i = 0; i < v->nfindings; i++) {
        size_t n = 0;

        for (size_t k = 0; k < v->nfindings; k++)
            n += is_most_likely_end (j, &v->finding[k])
                 && are_alike (&v->finding[i], &v->finding[k]);
        if (n > most) {
            most = n;
            like = v->finding[i];
        }
    }
    for (size_t i = 0; i < v->nfindings && most >= verdict_too_many (hosts); i++)
        if (are_alike (&like, &v->finding[i])) {
            v->finding[i].basis = BASIS_ALIKE;
            if (v->finding[i].level == VERDICT_FAIL)
                v->finding[i].level = VERDICT_WARN;
        }
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

static bool is_class (const struct judgement *j, size_t number)
{
    return j->face[number] && cause_kind (j, number) == SUSPECT_CLASS;
}

void judge_causes (struct judgement *j)
{
    struct verdict *v = j->verdict;

    for (size_t i = 0; i < j->ex.n; i++)
        if (is_class (j, i))
            judge_class (j, i);
    for (size_t i = 0; i < j->ex.n; i++)
        if (is_class (j, i))
            continue;
        else if (is_traffic (j, i))
            j->disturbed += probes_of (j, &j->ex.cause[i]);
        else if (cause_kind (j, i) == SUSPECT_DRIFT)
            judge_drift (j, i);
        else
            judge_cause (j, i);
    for (size_t i = 0; i < v->nfindings; i++)
        if (v->finding[i].kind != FINDING_ROUTE)
            judge_laggard (j, &v->finding[i]);
    judge_alike (j);
    for (size_t i = 0; i < v->nfindings; i++)
        for (size_t k = 0; k < v->nfindings; k++)
            spread_doubt (&v->finding[k], &v->finding[i]);
}
