/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "core/judge/judgement.h"

#include <math.h>
#include <stdlib.h>

#include "core/judge/mixture.h"
#include "core/judge/rates.h"
#include "core/paths/multipath.h"
#include "util/sort.h"

enum { DOUBTS_MAX = 8 }; /* links to be measured again */

/* Causes that a healthy run shows: without a confirm stage, with one, before
 * one.
 */
#define ALARMS 1e-4
#define ALARMS_CONFIRMED 0.05
#define ALARMS_FIRST 0.1

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
    return 0;
}

static void sort_findings (struct verdict *v)
{
    if (v->nfindings > 0)
        qsort (v->finding, v->nfindings, sizeof (*v->finding),
               compare_findings);
    for (size_t i = 0; i < v->nfindings; i++)
        if (v->finding[i].level > v->status)
            v->status = v->finding[i].level;
    verdict_find_at_once (v);
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
        || (!empty && analysis_make (&j, alarms, err) < 0))
        goto error;
    j.verdict->nodes = samples->nanswered;
    j.verdict->rounds = plan_rounds (plan);
    limit_samples (&j);
    limit_alone (&j);
    if (empty)
        note_limit (&j, FACT (NOTHING));
    else if (judge_links (&j, plan, err) < 0)
        goto error;
    if (samples->bursts
        && judge_rates (j.verdict, j.ps, samples->bursts, baseline, j.opts, err)
               < 0)
        goto error;
    sort_findings (j.verdict);
    analysis_clear (&j);
    judge_view_clear (&view);
    free (same.sample);
    return j.verdict;
error:
    analysis_clear (&j);
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
    list->v = pool_grow (list->pool, list->v, list->n, sizeof (*list->v));
    return &list->v[list->n++];
}

static void list_suspect (struct suspicions *list, struct suspicion *s,
                          struct suspect suspect)
{
    s->suspect = pool_grow (list->pool, s->suspect, s->n, sizeof (suspect));
    s->suspect[s->n++] = suspect;
}

static void list_members (const struct judgement *j, struct suspicions *list,
                          struct suspicion *s, size_t signature)
{
    const struct causes *c = &j->causes;

    for (size_t k = c->first[signature]; k < c->first[signature + 1]; k++) {
        struct suspect suspect = c->member[k].suspect;

        list_suspect (list, s, suspect);
        /* rows that cross a link both ways do not show which is slow */
        for (uint32_t way = 0; way < 2; way++)
            if (suspect.kind == SUSPECT_LINK
                && j->net->link[suspect.index].kind == LINK_SWITCH)
                list_suspect (list, s,
                              (struct suspect){
                                  .kind = SUSPECT_ARC,
                                  .index = 2 * suspect.index + way,
                              });
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
            list_members (j, list, s, rival[k].signature);
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

    for (int i = 0; i < DOUBTS_MAX; i++) {
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
        list_members (j, list, s, signature);
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
        for (size_t i = 0; i < slow.n; i++)
            list_suspect (list, s,
                          (struct suspect){ SUSPECT_LINK, slow.link[i], 0 });
    }
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

    *s = (struct suspicions){ .pool = pool_create () };
    if (count_absent_probes (plan, samples, &j.absent, err) == 0
        && analysis_make (&j, ALARMS_FIRST, err) == 0) {
        rc = list_causes (&j, s) < 0 ? judge_ill_conditioned (err) : 0;
        list_doubts (&j, s);
        list_pairs (&j, s);
        if (rc == 0 && !j.paths)
            rc = list_delays (&j, s, err);
    }
    analysis_clear (&j);
    return rc;
}

void suspicions_clear (struct suspicions *s)
{
    pool_destroy (s->pool);
    free (s->pair);
    *s = (struct suspicions){ 0 };
}
