/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes. judge.h has the model.
 *
 * Traffic may have added to all repeats of a row alike, at most as much as the
 * row is above the model's expectation; in a baseline, as it is above the same
 * pair's row in the job, since links do not get faster.
 */
#include "config.h"
#include "core/judge/judgement.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "core/paths/multipath.h"
#include "util/alloc.h"
#include "util/map.h"
#include "util/sort.h"
#include "util/terminal.h"

#define SOUND_MARGIN_SD 2.0      /* of a link that is reported as sound */
#define BASELINE_SLOW_MIN_SD 3.0 /* at which a baseline row is too slow */
#define BUSY_SD_NS 1e6           /* standard error of rows across a busy link */

/*
 * Samples against the plan
 */

/* 2^20 rounds, 2^21 endpoints: more than files may have. */
static uint64_t probe_key (size_t round, uint32_t a, uint32_t b)
{
    return (uint64_t)round << 42 | (uint64_t)(a < b ? a : b) << 21
           | (a < b ? b : a);
}

int count_absent_probes (const struct plan *plan, const struct samples *samples,
                         size_t *absent, struct error *err)
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

/* The observation of the same pair, and direction, in another run, or NULL. */
const struct observation *find_same_observation (const struct observations *in,
                                                 const struct observation *o)
{
    return bsearch (o, in->v, in->n, sizeof (*o), compare_observations);
}

/* Find how much slower each link may be at most. INFINITY: no row crosses it.
 * 0: all its rows cross links that are not in the baseline, a limit by itself.
 */
static int bound_links (struct judgement *j)
{
    const struct causes *c = &j->causes;
    const struct model *model = &j->model;
    double *upper = xarray (c->n, sizeof (*upper));
    bool *known = xcalloc (model->m, sizeof (*known));
    int rc = explain_bounds (&j->ex, SOUND_MARGIN_SD, j->opts->fail_ns, upper);

    j->most = pool_alloc (j->pool, model->m, sizeof (*j->most));
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

/*
 * Observations of the job and its baselines
 */

/* Add the loopback of an endpoint to a run, by its link. */
static void add_link_loopback (const struct judgement *j, struct model_run *run,
                               const struct pathset *ps, uint32_t end,
                               struct loopback_time time)
{
    uint32_t link = pathset_end_link (ps, end);

    if (isnan (time.ns) || link == NETWORK_NONE || j->distrusted[link])
        return;
    run->loopback = pool_grow (j->pool, run->loopback, run->nloopbacks,
                               sizeof (*run->loopback));
    run->loopback[run->nloopbacks++] = (struct link_loopback){ link, time };
}

static int observe_job (struct judgement *j, struct error *err)
{
    size_t n = pathset_size (j->ps);
    struct loopback_time *time = xarray (n, sizeof (*time));

    observe_loopbacks (j->samples, n, time);
    for (uint32_t i = 0; i < n; i++)
        add_link_loopback (j, &j->run, j->ps, i, time[i]);
    sort_array (j->run.loopback, j->run.nloopbacks, compare_u32); /* by links */
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
            o->var += BUSY_SD_NS * BUSY_SD_NS;
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
        if (more > BASELINE_SLOW_MIN_SD * sd && !b->tight)
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
    j->base = pool_alloc (j->pool, b->nruns, sizeof (*j->base));
    for (size_t i = 0; i < b->nruns && rc == 0; i++) {
        struct model_run *base = &j->base[j->nbase++];

        for (size_t k = b->run[i].loopback; k < baseline_loopbacks_end (b, i); k++)
            add_link_loopback (j, base, b->ps, b->loopback[k].end,
                               b->loopback[k].time);
        sort_array (base->loopback, base->nloopbacks, compare_u32);
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

static void clear_attempt (struct judgement *j)
{
    explanation_clear (&j->ex);
    causes_clear (&j->causes);
    model_clear (&j->model);
    observations_clear (&j->run.obs);
    while (j->nbase > 0)
        observations_clear (&j->base[--j->nbase].obs);
    j->run = (struct model_run){ 0 };
    pool_destroy (j->pool);
    j->pool = NULL;
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

int judge_ill_conditioned (struct error *err)
{
    return error_world (err, "the samples are too ill-conditioned to judge");
}

int analysis_make (struct judgement *j, double alarms, struct error *err)
{
    struct explanation *ex = &j->ex;

    j->distrusted = xcalloc (j->net->nlinks, sizeof (*j->distrusted));
    do {
        clear_attempt (j);
        j->pool = pool_create ();
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

void analysis_clear (struct judgement *j)
{
    clear_attempt (j);
    free (j->distrusted);
}

int align_stages (struct judgement *j, const struct plan *plan,
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
