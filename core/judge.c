/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes. core/model says what to expect, core/explain which causes explain
 * what came instead; here it is decided what that is worth.
 *
 * Basis: the estimate of link j's excess is w' r with weights w that come out
 * of the model, so its prior part has the variance u' C u / u_j^2, where u is
 * A' w and C the covariance of the latencies before the job's samples. Where
 * the baseline makes that less than a quarter of what the spread of the
 * classes alone would give, sum of (u_l spread_l)^2, the basis is baseline.
 *
 * Confirmation: a cause must show in most of the rows that cross it (their
 * own residuals left over are less than a third of it, or noise, and nothing
 * on them got faster), from both initiators in half of them at least, and in
 * the fastest repeat of half of them. What fails is no finding, and UNKNOWN
 * where it is as much as a FAIL.
 *
 * The fastest repeat tells a cable from traffic: a message waits behind
 * foreign ones with a probability, for any time, so that the median of a
 * row's repeats rises by much more than the least of them. How far apart the
 * two are by noise alone, the lower third of the rows says, which traffic on
 * some does not move, of the job or of the baseline: a job of few rows may have
 * traffic on them all. What is further apart, and what the row shows less of
 * the excess than others do, may be a share of the excess, but no more than is
 * a FAIL itself, and a small share where few rows must do: chance lets single
 * ones pass. Rows that cross a doubted excess of some size support no other,
 * since traffic on several links of a path has several causes.
 */
#include "config.h"
#include "core/judge.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/explain.h"
#include "core/model.h"
#include "core/observe.h"
#include "core/stats.h"
#include "util/text.h"

enum {
    LOSS_ENOUGH = 4, /* samples, so two probes at least */
    DISPUTED_FEW = 2,
    ROWS_FEW = 2,
    REPEATS_ENOUGH = 6, /* over the rows of a FAIL */
};

#define NOISE_FLOOR_NS 5.0
#define BASELINE_SHARE 0.25    /* of the class's variance */
#define DISAGREE_SHARE 0.3     /* of the excess */
#define DISAGREE_SD 5.0
#define FASTEST_SHARE 0.3      /* of the excess */
#define FASTEST_SHARE_FEW 0.1
#define SCALE_MUCH 2.0         /* of the noise */
#define KNOWN_SD 120.0         /* of a latency that is worth saying */
#define DISPUTED_SHARE 0.05    /* of the probes */
#define LOSS_RATE 0.05
#define LOSS_EVIDENCE 8.0      /* natural log of odds */
#define LOSS_MARGIN 3.0

const struct judge_options judge_defaults = {
    .warn_ns = 100,
    .warn_spread = 6,
    .fail_ns = 300,
    .fail_spread = 10,
};

struct judgement {
    struct pathset *ps;
    const struct network *net;
    const struct samples *samples;
    const struct judge_options *opts;
    bool has_baseline;
    struct observations obs;
    double gap_ns; /* of an RTT over the fastest repeat, by noise alone */
    struct model model;
    struct explanation ex;
    bool doubted[CAUSES_MAX];
    struct verdict *verdict;
};

static const char *plural (size_t n)
{
    return n == 1 ? "" : "s";
}

/*
 * Samples against the plan
 */

struct key {
    uint32_t round, low, high;
};

static struct key make_key (size_t round, uint32_t a, uint32_t b)
{
    return (struct key){ (uint32_t)round, a < b ? a : b, a < b ? b : a };
}

static int compare_keys (const void *va, const void *vb)
{
    const struct key *a = va;
    const struct key *b = vb;

    if (a->round != b->round)
        return a->round < b->round ? -1 : 1;
    if (a->low != b->low)
        return a->low < b->low ? -1 : 1;
    return (a->high > b->high) - (a->high < b->high);
}

static size_t unique_keys (struct key *key, size_t n)
{
    size_t unique = 0;

    qsort (key, n, sizeof (*key), compare_keys);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || compare_keys (&key[i], &key[unique - 1]))
            key[unique++] = key[i];
    return unique;
}

/* Find how many of the plan's probes have no sample at all. Return 0, or -1
 * with err where a sample is none of the plan's.
 */
static int check_plan (const struct plan *plan, const struct samples *samples,
                       size_t *absent, struct error *err)
{
    size_t nplan = 0;
    size_t nkeys = 0;
    struct key *planned;
    struct key *key;
    int rc = -1;

    planned = malloc ((plan_probes (plan) + 1) * sizeof (*planned));
    key = malloc ((samples->nsamples + 1) * sizeof (*key));
    if (!planned || !key) {
        error_nomem (err);
        goto done;
    }
    for (size_t r = 0; r < plan_rounds (plan); r++) {
        size_t n;
        const struct probe *probe = plan_round (plan, r, &n);

        for (size_t i = 0; i < n; i++)
            planned[nplan++] = make_key (r, probe[i].a, probe[i].b);
    }
    nplan = unique_keys (planned, nplan);
    for (size_t i = 0; i < samples->nsamples; i++) {
        const struct sample *s = &samples->sample[i];

        key[nkeys++] = make_key (s->round, s->a, s->b);
    }
    nkeys = unique_keys (key, nkeys);
    for (size_t i = 0; i < nkeys; i++)
        if (!bsearch (&key[i], planned, nplan, sizeof (*key), compare_keys)) {
            error_input (err, "the samples are not of this plan: it has no "
                              "such probe in round %" PRIu32, key[i].round);
            goto done;
        }
    *absent = nplan - nkeys;
    rc = 0;
done:
    free (planned);
    free (key);
    return rc;
}

/*
 * What the samples lack
 */

static int limit_missing (struct judgement *j)
{
    const struct samples *s = j->samples;
    char *fold;
    int rc;

    if (s->nmissing == 0)
        return 0;
    fold = hostlist_fold ((const char *const *)s->missing, s->nmissing);
    if (!fold)
        return -1;
    rc = verdict_limit (j->verdict, VERDICT_UNKNOWN,
                        "%zu node%s did not answer: %s", s->nmissing,
                        plural (s->nmissing), fold);
    free (fold);
    return rc;
}

static int limit_coverage (struct judgement *j, size_t absent)
{
    struct verdict *v = j->verdict;
    const struct observations *o = &j->obs;

    if (limit_missing (j) < 0)
        return -1;
    if (!j->samples->complete
        && verdict_limit (v, VERDICT_UNKNOWN, "the measurement did not end")
               < 0)
        return -1;
    if (absent > 0
        && verdict_limit (v, VERDICT_UNKNOWN,
                          "%zu planned probe%s not measured", absent,
                          absent == 1 ? " was" : "s were")
               < 0)
        return -1;
    if (o->silent > 0
        && verdict_limit (v, VERDICT_UNKNOWN,
                          "%zu probe%s lost all of %s messages", o->silent,
                          plural (o->silent), o->silent == 1 ? "its" : "their")
               < 0)
        return -1;
    if (o->disputed > DISPUTED_FEW
        && o->disputed > DISPUTED_SHARE * (double)o->n
        && verdict_limit (v, VERDICT_UNKNOWN,
                          "%zu probes took longer from one side than from "
                          "the other",
                          o->disputed)
               < 0)
        return -1;
    if (o->lost > 0
        && verdict_limit (v, VERDICT_OK,
                          "%" PRIu64 " of %" PRIu64 " messages were lost",
                          o->lost, o->sent)
               < 0)
        return -1;
    return 0;
}

static int limit_model (struct judgement *j)
{
    struct verdict *v = j->verdict;
    const struct model *m = &j->model;
    size_t unseen = 0;
    size_t shared;

    for (size_t k = 0; k < m->m; k++)
        unseen += m->col_start[k] == m->col_start[k + 1];
    shared = m->m - unseen - v->separable;
    if (unseen > 0
        && verdict_limit (v, VERDICT_UNKNOWN,
                          "%zu link%s not measured by any probe", unseen,
                          unseen == 1 ? " was" : "s were")
               < 0)
        return -1;
    if (shared > 0
        && verdict_limit (v, VERDICT_OK,
                          "%zu of the %zu links cannot be told apart from "
                          "others by this job's paths",
                          shared, m->m)
               < 0)
        return -1;
    if (!j->has_baseline)
        return verdict_limit (v, VERDICT_OK,
                              "no baseline: links were compared with their "
                              "classes only");
    if (m->uncovered > 0)
        return verdict_limit (v, VERDICT_OK,
                              "%zu of the %zu links are not in the baseline",
                              m->uncovered, m->m);
    return 0;
}

/*
 * Findings
 */

static struct finding *add_finding (struct verdict *v)
{
    struct finding *f = realloc (v->finding,
                                 (v->nfindings + 1) * sizeof (*f));

    if (!f)
        return NULL;
    v->finding = f;
    f += v->nfindings++;
    memset (f, 0, sizeof (*f));
    return f;
}

/* Fill in suspects (columns of the model), what they are and whose. */
static int set_suspects (const struct judgement *j, struct finding *f,
                         const uint32_t *col, size_t n)
{
    f->suspect = malloc (n * sizeof (*f->suspect));
    f->node = calloc (n, sizeof (*f->node));
    if (!f->suspect || !f->node)
        return -1;
    f->kind = FINDING_HOST_END;
    for (size_t i = 0; i < n; i++) {
        uint32_t link = j->model.link[col[i]];
        const struct link_info *info = &j->net->link[link];
        bool known = false;

        f->suspect[f->nsuspects++] = link;
        if (info->kind == LINK_SWITCH)
            f->kind = FINDING_SWITCH_LINK;
        if (info->kind != LINK_HOST || !info->host)
            continue;
        for (size_t k = 0; k < f->nnodes && !known; k++)
            known = !strcmp (f->node[k], info->host);
        if (known)
            continue;
        if (!(f->node[f->nnodes] = strdup (info->host)))
            return -1;
        f->nnodes++;
    }
    return 0;
}

/* 1: the baseline constrains what cause c was expected to be, 0: it does not,
 * -1: out of memory.
 */
static int has_basis (const struct judgement *j, const struct cause *c)
{
    const struct model *m = &j->model;
    double *u = malloc ((m->m + 1) * sizeof (*u));
    double alone = 0;
    double var;

    if (!u)
        return -1;
    for (size_t k = 0; k < m->m; k++) {
        u[k] = model_dot (m, (uint32_t)k, c->p);
        alone += pow (u[k] * m->spread[k], 2);
    }
    var = model_prior_variance (m, u);
    free (u);
    if (isnan (var))
        return -1;
    return j->has_baseline && var < BASELINE_SHARE * alone;
}

/* The latency that was expected of a column, NAN where that says little. */
static int expected_of (const struct model *m, uint32_t col, double *ns)
{
    double *u = calloc (m->m + 1, sizeof (*u));
    double var;

    if (!u)
        return -1;
    u[col] = 1;
    var = model_prior_variance (m, u);
    free (u);
    if (isnan (var))
        return -1;
    *ns = var < KNOWN_SD * KNOWN_SD ? m->expected[col] : NAN;
    return 0;
}

struct support {
    size_t rows;
    size_t disagree; /* do not show it */
    size_t both;     /* both sides saw it */
    size_t fastest;  /* the fastest repeat shows it */
    size_t clear;    /* and nothing that is doubted is beside it */
    size_t repeats;
};

static bool is_cause (const struct explanation *ex, size_t row,
                      double *excess_ns)
{
    for (size_t i = 0; i < ex->n; i++)
        if (ex->cause[i].kind == CAUSE_ROW && ex->cause[i].index == row) {
            *excess_ns = ex->cause[i].excess_ns;
            return true;
        }
    return false;
}

/* True if a row crosses a link that got faster: what is slow there is so only
 * beside it, and proves nothing.
 */
static bool is_offset (const struct judgement *j, size_t row)
{
    const struct model *m = &j->model;

    for (size_t p = m->row_start[row]; p < m->row_start[row + 1]; p++)
        for (size_t i = 0; i < j->ex.n; i++)
            if (j->ex.cause[i].kind == CAUSE_LINK
                && j->ex.cause[i].excess_ns < 0
                && j->ex.cause[i].index == m->row_col[p])
                return true;
    return false;
}

/* What causes in doubt add to a row. */
static double doubted_of (const struct judgement *j, size_t row)
{
    const struct model *m = &j->model;
    size_t first = m->row_start[row];
    double sum = 0;

    for (size_t p = first; p < m->row_start[row + 1]; p++)
        for (size_t i = 0; i < j->ex.n; i++)
            if (j->doubted[i] && j->ex.cause[i].index == m->row_col[p])
                sum += m->obs->v[row].count[p - first]
                       * j->ex.cause[i].excess_ns;
    return sum;
}

static struct support support_of (const struct judgement *j,
                                  const struct cause *c)
{
    const struct model *m = &j->model;
    size_t first = m->col_start[c->index];
    size_t end = m->col_start[c->index + 1];
    double share = end - first <= ROWS_FEW ? FASTEST_SHARE_FEW
                                           : FASTEST_SHARE;
    struct support s = { 0 };

    for (size_t e = first; e < end; e++) {
        size_t i = m->col_row[e];
        const struct observation *row = &m->obs->v[i];
        double excess = m->col_count[e] * c->excess_ns;
        double sd = j->ex.scale / sqrt (m->row_info[i]);
        double left = j->ex.z[i] / m->row_info[i];
        double missing = row->rtt_ns - row->min_ns - j->gap_ns;
        bool fastest;

        if (is_cause (&j->ex, i, &left))
            sd = 0;
        missing -= fmin (left, 0);
        fastest = missing < fmin (share * excess, j->opts->fail_ns);
        s.rows++;
        s.disagree += is_offset (j, i)
                      || (fabs (left) > DISAGREE_SHARE * excess
                          && fabs (left) > DISAGREE_SD * sd);
        s.both += row->both;
        s.fastest += fastest;
        s.clear += fastest && doubted_of (j, i) < DISAGREE_SHARE * excess;
        s.repeats += row->repeats;
    }
    return s;
}

/* Lower j->gap_ns to that of these rows. */
static int lower_gap (struct judgement *j, const struct observations *o)
{
    double *v = malloc ((o->n + 1) * sizeof (*v));

    if (!v)
        return -1;
    for (size_t i = 0; i < o->n; i++)
        v[i] = o->v[i].rtt_ns - o->v[i].min_ns;
    stats_sort (v, o->n);
    if (o->n > 0)
        j->gap_ns = fmin (j->gap_ns, stats_quantile (v, o->n, 1 / 3.));
    free (v);
    return 0;
}

static double warn_threshold (const struct judge_options *opts, double se)
{
    return fmax (opts->warn_ns, opts->warn_spread * se);
}

static enum verdict_status level_of (const struct judge_options *opts,
                                     const struct cause *c, bool baseline,
                                     size_t repeats)
{
    double warn = warn_threshold (opts, c->stderr_ns);

    if (!baseline || repeats < REPEATS_ENOUGH)
        return VERDICT_WARN;
    if (c->excess_ns > fmax (opts->fail_ns, opts->fail_spread * c->stderr_ns)
        && c->excess_ns - 3 * c->stderr_ns > warn)
        return VERDICT_FAIL;
    return VERDICT_WARN;
}

/* Doubt causes that are not confirmed, then those that stand beside them. */
static void find_doubted (struct judgement *j)
{
    bool changed = true;

    while (changed) {
        changed = false;
        for (size_t i = 0; i < j->ex.n; i++) {
            const struct cause *c = &j->ex.cause[i];
            struct support s;

            if (c->kind != CAUSE_LINK || j->doubted[i]
                || c->excess_ns <= warn_threshold (j->opts, c->stderr_ns))
                continue;
            s = support_of (j, c);
            if (3 * s.disagree > s.rows || 2 * s.both < s.rows
                || 2 * s.clear < s.rows)
                changed = j->doubted[i] = true;
        }
    }
}

static int doubt (struct judgement *j, const struct cause *c,
                  const struct support *s)
{
    const char *id = j->net->link[j->model.link[c->index]].id;
    const char *why = "has others beside it that come and go";

    if (3 * s->disagree > s->rows)
        why = "does not show on all paths across it";
    else if (2 * s->both < s->rows)
        why = "was not seen from both ends";
    else if (2 * s->fastest < s->rows)
        why = "comes and goes";
    return verdict_limit (j->verdict,
                          c->excess_ns > j->opts->fail_ns ? VERDICT_UNKNOWN
                                                          : VERDICT_OK,
                          "an excess of %.0f ns at %s %s", c->excess_ns, id,
                          why);
}

static int explain_finding (struct finding *f, const struct support *s)
{
    const char *over = f->basis == BASIS_BASELINE
                           ? "what the baseline lets expect"
                           : "its class; no baseline tells whether that is "
                             "new";

    return asprintf (&f->why,
                     "%zu of %zu probe%s across %s show%s %+.0f ns (+-%.0f) "
                     "one way over %s",
                     s->rows - s->disagree, s->rows, plural (s->rows),
                     f->nsuspects == 1 ? "it" : "them",
                     s->rows - s->disagree == 1 ? "s" : "", f->excess_ns,
                     f->stderr_ns, over);
}

static int judge_cause (struct judgement *j, size_t number)
{
    const struct cause *c = &j->ex.cause[number];
    struct support s = support_of (j, c);
    struct finding *f;
    uint32_t *col;
    size_t n;
    int baseline;
    int rc;

    if (c->excess_ns <= warn_threshold (j->opts, c->stderr_ns))
        return 0;
    if (j->doubted[number])
        return doubt (j, c, &s);
    if ((baseline = has_basis (j, c)) < 0
        || !(col = explain_suspects (&j->model, &j->ex, number, &n)))
        return -1;
    if (!(f = add_finding (j->verdict))) {
        free (col);
        return -1;
    }
    rc = set_suspects (j, f, col, n);
    if (rc == 0)
        rc = expected_of (&j->model, col[0], &f->expected_ns);
    free (col);
    if (rc < 0)
        return -1;
    f->level = level_of (j->opts, c, baseline, s.repeats);
    f->basis = baseline ? BASIS_BASELINE : BASIS_CLASS;
    f->excess_ns = c->excess_ns;
    f->stderr_ns = c->stderr_ns;
    if (f->level > j->verdict->status)
        j->verdict->status = f->level;
    return explain_finding (f, &s) < 0 ? -1 : 0;
}

/* A class that is slower or faster as a whole: the runs differ, no link. */
static int judge_class (struct judgement *j, const struct cause *c)
{
    const char *name = "?";

    if (fabs (c->excess_ns) <= warn_threshold (j->opts, c->stderr_ns))
        return 0;
    for (size_t k = 0; k < j->model.m; k++)
        if (j->model.class_of[k] == c->index)
            name = j->net->link[j->model.link[k]].class_name;
    return verdict_limit (j->verdict,
                          c->excess_ns > j->opts->fail_ns ? VERDICT_UNKNOWN
                                                          : VERDICT_OK,
                          "all links of class %s are %+.0f ns off what was "
                          "expected, which was taken out",
                          name, c->excess_ns);
}

struct rest {
    size_t disturbed; /* rows */
    size_t lasting;   /* rows, by every sign not by chance */
    size_t faster;    /* links */
};

static int count_rest (struct judgement *j, struct rest *rest)
{
    for (size_t i = 0; i < j->ex.n; i++) {
        const struct cause *c = &j->ex.cause[i];
        const struct observation *row = &j->obs.v[c->index];
        double ns = c->excess_ns;

        if (c->kind == CAUSE_CLASS && judge_class (j, c) < 0)
            return -1;
        if (c->kind == CAUSE_LINK)
            rest->faster += -ns > warn_threshold (j->opts, c->stderr_ns);
        /* a row's excess is that of two ways */
        if (c->kind != CAUSE_ROW
            || fabs (ns) / 2 <= warn_threshold (j->opts, c->stderr_ns / 2))
            continue;
        if (ns / 2 > j->opts->fail_ns && row->both
            && row->rtt_ns - row->min_ns < ns / 2)
            rest->lasting++;
        else
            rest->disturbed++;
    }
    return 0;
}

/* Links that could hide a FAIL because times scatter are not determined. */
static int limit_scatter (struct judgement *j)
{
    double scale = j->ex.scale;
    size_t hidden = 0;

    for (size_t k = 0; k < j->model.m; k++) {
        double least = j->opts->warn_spread / sqrt (j->model.col_info[k]);

        hidden += least <= j->opts->fail_ns
                  && least * scale > j->opts->fail_ns;
    }
    if (hidden > 0)
        return verdict_limit (j->verdict, VERDICT_UNKNOWN,
                              "times scatter %.1f times as much as their "
                              "repeats let expect: more than %.0f ns would "
                              "not show on %zu link%s",
                              scale, j->opts->fail_ns, hidden,
                              plural (hidden));
    return verdict_limit (j->verdict, VERDICT_OK,
                          "times scatter %.1f times as much as their repeats "
                          "let expect: small excesses went unseen",
                          scale);
}

/* Say what is no finding but worth saying. */
static int judge_rest (struct judgement *j)
{
    struct verdict *v = j->verdict;
    struct rest rest = { 0 };

    if (count_rest (j, &rest) < 0)
        return -1;
    if (j->ex.full
        && verdict_limit (v, VERDICT_UNKNOWN,
                          "more is slow than can be told apart") < 0)
        return -1;
    if (rest.lasting > 0
        && verdict_limit (v, VERDICT_UNKNOWN,
                          "%zu probe%s slow for no link's sake", rest.lasting,
                          rest.lasting == 1 ? " was" : "s were")
               < 0)
        return -1;
    if (rest.disturbed > 0
        && verdict_limit (v, VERDICT_OK,
                          "%zu probe%s disturbed and left aside",
                          rest.disturbed,
                          rest.disturbed == 1 ? " was" : "s were")
               < 0)
        return -1;
    if (rest.faster > 0
        && verdict_limit (v, VERDICT_OK,
                          "%zu link%s faster than %s", rest.faster,
                          rest.faster == 1 ? " is" : "s are",
                          j->has_baseline ? "in the baseline" : "the class")
               < 0)
        return -1;
    if (j->ex.scale > SCALE_MUCH)
        return limit_scatter (j);
    return 0;
}

/*
 * Loss: the link for which two loss rates, one across it and one elsewhere,
 * are the likeliest beside one rate everywhere.
 */

struct loss {
    uint64_t sent, lost;
    size_t samples; /* that lost any */
};

static bool is_missing (const struct samples *s, const char *host)
{
    for (size_t i = 0; i < s->nmissing; i++)
        if (!strcmp (s->missing[i], host))
            return true;
    return false;
}

static double log_likelihood (struct loss l)
{
    double k = (double)l.lost;
    double n = (double)l.sent;

    if (k == 0 || k == n)
        return 0;
    return k * log (k / n) + (n - k) * log (1 - k / n);
}

static int count_loss (struct judgement *j, struct loss *link,
                       struct loss *all, struct error *err)
{
    const struct samples *samples = j->samples;

    for (size_t i = 0; i < samples->nsamples; i++) {
        const struct sample *s = &samples->sample[i];
        struct row row;

        /* a node that is gone loses everything, wherever the fault is */
        if (is_missing (samples, pathset_endpoint (j->ps, s->a)->host)
            || is_missing (samples, pathset_endpoint (j->ps, s->b)->host))
            continue;
        if (pathset_row (j->ps, s->a, s->b, &row, err) < 0)
            return -1;
        all->sent += s->sent;
        all->lost += s->lost;
        for (size_t p = 0; p < row.n; p++) {
            int col = pathset_column (j->ps, row.link[p]);

            link[col].sent += s->sent;
            link[col].lost += s->lost;
            link[col].samples += s->lost > 0;
        }
    }
    return 0;
}

static double loss_evidence (struct loss link, struct loss all)
{
    struct loss rest = { all.sent - link.sent, all.lost - link.lost, 0 };
    double rate = (double)link.lost / (double)link.sent;

    if (link.samples < LOSS_ENOUGH || rate < LOSS_RATE
        || rate * (double)rest.sent <= (double)rest.lost)
        return 0;
    return log_likelihood (link) + log_likelihood (rest)
           - log_likelihood (all);
}

static int add_loss (struct judgement *j, const struct loss *link,
                     struct loss all, const uint32_t *col, size_t n)
{
    struct finding *f = add_finding (j->verdict);

    if (!f || set_suspects (j, f, col, n) < 0)
        return -1;
    f->level = VERDICT_WARN;
    f->basis = BASIS_LOSS;
    f->excess_ns = f->stderr_ns = f->expected_ns = NAN;
    if (f->level > j->verdict->status)
        j->verdict->status = f->level;
    return asprintf (&f->why,
                     "%" PRIu64 " of %" PRIu64 " messages across it were "
                     "lost, of all others %" PRIu64 " of %" PRIu64,
                     link[col[0]].lost, link[col[0]].sent,
                     all.lost - link[col[0]].lost,
                     all.sent - link[col[0]].sent)
                   < 0
               ? -1
               : 0;
}

static int judge_loss (struct judgement *j, struct error *err)
{
    size_t m = j->model.m;
    struct loss *link = calloc (m + 1, sizeof (*link));
    uint32_t *col = malloc ((m + 1) * sizeof (*col));
    struct loss all = { 0 };
    size_t best = 0;
    double most = 0;
    size_t n = 0;
    int rc = -1;

    if (!link || !col) {
        error_nomem (err);
        goto done;
    }
    if (count_loss (j, link, &all, err) < 0)
        goto done;
    for (size_t k = 0; k < m; k++) {
        double e = loss_evidence (link[k], all);

        if (e > most) {
            most = e;
            best = k;
        }
    }
    rc = 0;
    if (most <= LOSS_EVIDENCE + log ((double)m))
        goto done;
    col[n++] = (uint32_t)best;
    for (size_t k = 0; k < m; k++)
        if (k != best && loss_evidence (link[k], all) >= most - LOSS_MARGIN)
            col[n++] = (uint32_t)k;
    if (add_loss (j, link, all, col, n) < 0)
        rc = error_nomem (err);
done:
    free (link);
    free (col);
    return rc;
}

static int compare_findings (const void *va, const void *vb)
{
    const struct finding *a = va;
    const struct finding *b = vb;

    if (a->level != b->level)
        return a->level > b->level ? -1 : 1;
    if (isnan (a->excess_ns) || isnan (b->excess_ns))
        return isnan (a->excess_ns) - isnan (b->excess_ns);
    return (a->excess_ns < b->excess_ns) - (a->excess_ns > b->excess_ns);
}

static int judge_links (struct judgement *j, const struct observations *base,
                        size_t nbase, struct error *err)
{
    if (model_make (&j->model, j->ps, &j->obs, base, nbase, err) < 0)
        return -1;
    j->verdict->links = j->model.m;
    j->gap_ns = INFINITY;
    if (lower_gap (j, &j->obs) < 0)
        return error_nomem (err);
    for (size_t i = 0; i < nbase; i++)
        if (lower_gap (j, &base[i]) < 0)
            return error_nomem (err);
    if (explain_separable (&j->model, &j->verdict->separable) < 0
        || explain (&j->model, &j->ex) < 0 || limit_model (j) < 0)
        return error_nomem (err);
    find_doubted (j);
    for (size_t i = 0; i < j->ex.n; i++)
        if (j->ex.cause[i].kind == CAUSE_LINK && judge_cause (j, i) < 0)
            return error_nomem (err);
    if (judge_rest (j) < 0)
        return error_nomem (err);
    if (j->obs.lost > 0 && judge_loss (j, err) < 0)
        return -1;
    if (j->verdict->nfindings > 0)
        qsort (j->verdict->finding, j->verdict->nfindings,
               sizeof (*j->verdict->finding), compare_findings);
    return 0;
}

static int observe_baselines (struct observations *base,
                              const struct baseline *baseline, size_t n,
                              struct error *err)
{
    for (size_t i = 0; i < n; i++)
        if (observe (&base[i], baseline[i].ps, baseline[i].samples,
                     RTT_MEDIAN, NOISE_FLOOR_NS, err)
            < 0)
            return -1;
    return 0;
}

static int observe_all (struct judgement *j, struct observations *base,
                        const struct baseline *baseline, size_t n,
                        struct error *err)
{
    if (observe (&j->obs, j->ps, j->samples, RTT_MEDIAN, NOISE_FLOOR_NS, err)
            < 0
        || observe_baselines (base, baseline, n, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        j->has_baseline |= base[i].n > 0;
    return 0;
}

static void clear (struct judgement *j, struct observations *base, size_t n)
{
    explanation_clear (&j->ex);
    model_clear (&j->model);
    observations_clear (&j->obs);
    for (size_t i = 0; base && i < n; i++)
        observations_clear (&base[i]);
    free (base);
}

struct verdict *judge (struct pathset *ps, const struct plan *plan,
                       const struct samples *samples,
                       const struct baseline *baseline, size_t nbaselines,
                       const struct judge_options *opts, struct error *err)
{
    struct observations *base = calloc (nbaselines + 1, sizeof (*base));
    struct judgement j = {
        .ps = ps,
        .net = pathset_network (ps),
        .samples = samples,
        .opts = opts ? opts : &judge_defaults,
        .verdict = verdict_create (),
    };
    struct verdict *result = NULL;
    size_t absent;

    if (!base || !j.verdict) {
        error_nomem (err);
        goto done;
    }
    if (check_plan (plan, samples, &absent, err) < 0
        || observe_all (&j, base, baseline, nbaselines, err) < 0)
        goto done;
    j.verdict->nodes = samples->nanswered;
    j.verdict->rounds = plan_rounds (plan);
    j.verdict->probes = j.obs.n;
    if (limit_coverage (&j, absent) < 0) {
        error_nomem (err);
        goto done;
    }
    if (plan_probes (plan) == 0) {
        if (verdict_limit (j.verdict, VERDICT_OK, "nothing to measure") < 0) {
            error_nomem (err);
            goto done;
        }
    }
    else if (judge_links (&j, base, nbaselines, err) < 0)
        goto done;
    result = j.verdict;
    j.verdict = NULL;
done:
    verdict_destroy (j.verdict);
    clear (&j, base, nbaselines);
    return result;
}

/*
 * What looks slow
 */

static int suspect_links (const struct judgement *j, size_t number,
                          struct suspicion *s)
{
    uint32_t *col = explain_suspects (&j->model, &j->ex, number, &s->n);

    if (!col || !(s->suspect = calloc (s->n + 1, sizeof (*s->suspect)))) {
        free (col);
        return -1;
    }
    for (size_t i = 0; i < s->n; i++)
        s->suspect[i] = (struct suspect){ SUSPECT_LINK,
                                          j->model.link[col[i]], 0 };
    free (col);
    return 0;
}

static int suspect_row (const struct judgement *j, size_t row,
                        struct suspicion *s)
{
    const struct observation *o = &j->obs.v[row];

    if (!(s->suspect = calloc (1, sizeof (*s->suspect))))
        return -1;
    s->suspect[s->n++] = (struct suspect){ SUSPECT_ROW, o->a, o->b };
    return 0;
}

static int list_suspicions (const struct judgement *j, struct suspicions *list)
{
    list->v = calloc (j->ex.n + 1, sizeof (*list->v));
    if (!list->v)
        return -1;
    for (size_t i = 0; i < j->ex.n; i++) {
        const struct cause *c = &j->ex.cause[i];
        struct suspicion *s = &list->v[list->n];

        if (c->kind == CAUSE_CLASS)
            continue;
        s->excess_ns = c->excess_ns;
        s->stderr_ns = c->stderr_ns;
        list->n++;
        if ((c->kind == CAUSE_LINK ? suspect_links (j, i, s)
                                   : suspect_row (j, c->index, s))
            < 0)
            return -1;
    }
    return 0;
}

int judge_first (struct suspicions *s, struct pathset *ps,
                 const struct plan *plan, const struct samples *samples,
                 const struct baseline *baseline, size_t nbaselines,
                 const struct judge_options *opts, struct error *err)
{
    struct observations *base = calloc (nbaselines + 1, sizeof (*base));
    struct judgement j = {
        .ps = ps,
        .net = pathset_network (ps),
        .samples = samples,
        .opts = opts ? opts : &judge_defaults,
    };
    size_t absent;
    int rc = -1;

    *s = (struct suspicions){ 0 };
    if (!base) {
        error_nomem (err);
        goto done;
    }
    if (check_plan (plan, samples, &absent, err) < 0
        || observe_all (&j, base, baseline, nbaselines, err) < 0
        || model_make (&j.model, ps, &j.obs, base, nbaselines, err) < 0)
        goto done;
    if (explain (&j.model, &j.ex) < 0 || list_suspicions (&j, s) < 0) {
        error_nomem (err);
        goto done;
    }
    rc = 0;
done:
    clear (&j, base, nbaselines);
    return rc;
}

void suspicions_clear (struct suspicions *s)
{
    for (size_t i = 0; i < s->n; i++)
        free (s->v[i].suspect);
    free (s->v);
    *s = (struct suspicions){ 0 };
}
