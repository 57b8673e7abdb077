/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes. What delays or loses one message often does so to the next, and where
 * there is traffic links differ: so counts scatter more than a binomial's. The
 * ratio of likelihoods is divided by as much as those of the samples that do not
 * cross the link do (Pearson's chi square over its degrees; quasi-likelihood, R.
 * W. M. Wedderburn 1974).
 *
 * A message is slow if it takes more than the least of its sample by a limit; it
 * waited if it takes a quarter of that more. A link that delays messages by itself
 * does so to more of those that waited, by odds of SHAPE, than traffic can. By the
 * longer limit, that is to all that are slow: of exponential waits of mean w these
 * are exp (-3 limit / 4 w), and w is as long as ten packets of 4 KiB take at 100
 * Gb/s (3.3 us). By the shorter one, to those from it to the longer one, all of
 * which are delayed by nearly the same time: of the sums of three exponential
 * waits (Erlang), whatever their mean, at most 68 % are. Where few messages did
 * not wait (QUIET_SHARE_MIN), as where a link is full (observe), most waited more
 * often than that.
 *
 * Messages that wait elsewhere on their way must not count for this. So both
 * kinds are divided between links, by the likeliest rates of links whose sums are
 * the rates of rows (L. A. Shepp, Y. Vardi 1982). Which of the links that mostly
 * come together it was is a guess: the odds are those of all of them together.
 *
 * A processor that sleeps delays messages, too, and likewise those of the host to
 * itself: messages of a host whose loopbacks were slow at two times are not
 * counted.
 *
 * Where switches spread messages, links are those between places. A cable of a
 * bundle affects the flows that cross it, a host end all of its flows alike: that
 * tells them apart where the same messages cross both. Where each message has a
 * flow of its own, it delays messages of several links behind it: if some other
 * link delays messages that do not cross the likeliest, no link is named.
 */
#include "config.h"
#include "core/judge/explain.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/linear/sparse.h"
#include "core/paths/multipath.h"
#include "util/alloc.h"
#include "util/pool.h"

enum {
    SAMPLES_MIN = 4,          /* samples with losses: at least two probes */
    ASLEEP_LOOPBACKS_MIN = 2, /* loopbacks with slow messages */
    LIMITS = 2,
    FLOW_TELLS = 2,     /* messages of a flow, on average */
    DIVIDE_PASSES = 20, /* more fit noise, as sums tell little of each link */
};

#define LOST_RATE 0.05      /* of messages lost, */
#define SLOW_RATE 0.02      /* or slow, */
#define CLASS_RATE 0.03     /* of all others of its class: it is not one link */
#define OWN_RATE 0.015      /* ... by the link itself, as they are divided */
#define QUIET_SHARE_MIN 0.3 /* that do not wait */
/* Natural logs of odds: needed to find a link (plus the log of the number of
 * links), and the range in which other links are suspects, too.
 */
#define EVIDENCE_MIN_LOG_ODDS 8.0
#define MARGIN_LOG_ODDS 3.0
#define SHAPE 1.0
#define FIRST_STAGE_SHARE \
    0.3 /* of the evidence and samples, to measure again */

/* Quantile of the normal distribution for a bound that holds in 99.9 %. */
#define BOUND_SD 3.09

static const struct {
    int slow, waited; /* of slow_limit_ns: the limit, and a quarter of it */
    double most;      /* of those that waited, in the range of such delays */
} limits[LIMITS] = { { 3, 1, .47 }, { 2, 0, .68 } };

struct tally {
    double sent, affected; /* messages; */
    double waited;         /* ... those that took a quarter of a limit more */
    double squares;        /* sum of affected^2 / sent of samples */
    double by_flow;        /* ... of messages of each flow, of all samples */
    size_t all, samples;   /* samples; with affected ones */
};

enum { IN_RANGE, OTHER, KINDS };

/* A sample: messages that it counts. */
struct counted {
    double sent, of[LIMITS][KINDS];
};

struct share_work {
    struct pool *pool; /* has all but `rows` */
    struct pathset *ps;
    const struct samples *samples;
    enum share_kind kind;
    size_t m;
    const uint32_t *of; /* [m] links of the job */
    bool first;
    double enough;              /* samples */
    double cables;              /* of the smallest bundle; 1: there is none */
    struct tally *link[LIMITS]; /* [m] */
    struct tally all[LIMITS];
    bool *left_out;          /* [endpoints] their messages are not counted */
    double need;             /* evidence */
    struct sparse *rows;     /* the links that samples cross; of delays: */
    struct counted *counted; /* [rows->nrows] */
    double
        *rate[LIMITS][KINDS]; /* [m] of each link's messages; NULL: not asked */
};

static void add_tally (struct tally *t, double sent, double affected,
                       double waited, double by_flow)
{
    t->sent += sent;
    t->affected += affected;
    t->waited += waited;
    t->squares += sent > 0 ? affected * affected / sent : 0;
    t->by_flow += by_flow;
    t->all++;
    t->samples += affected > 0;
}

static struct tally subtract_tally (const struct tally *all,
                                    const struct tally *t)
{
    return (struct tally){
        .sent = all->sent - t->sent,
        .affected = all->affected - t->affected,
        .waited = all->waited - t->waited,
        .squares = all->squares - t->squares,
        .all = all->all - t->all,
        .samples = all->samples - t->samples,
    };
}

/* Leave out the hosts that are missing, and those that sleep: of delays only. */
static void exclude_hosts (struct share_work *w)
{
    const struct samples *s = w->samples;
    size_t n = pathset_size (w->ps);
    unsigned int *asleep = xcalloc (n, sizeof (*asleep)); /* slow loopbacks */

    for (size_t i = 0; i < s->nloopbacks && w->kind != SHARE_LOST; i++) {
        const struct loopback *l = &s->loopback[i];

        asleep[l->end] += l->rtt_ns[RTT_P95] - l->rtt_ns[RTT_MIN]
                          > slow_limit_ns[limits[LIMITS - 1].slow];
    }
    for (uint32_t end = 0; end < n; end++) {
        w->left_out[end] = asleep[end] >= ASLEEP_LOOPBACKS_MIN;
        for (size_t i = 0; i < s->nmissing && !w->left_out[end]; i++)
            w->left_out[end]
                = !strcmp (s->missing[i], pathset_endpoint (w->ps, end)->host);
    }
    free (asleep);
}

/* Keep a sample to divide what it counts. */
static void keep_counted_sample (struct share_work *w, const struct sample *s,
                                 const uint32_t *col, const struct row *row)
{
    struct counted *c;

    w->counted
        = pool_grow (w->pool, w->counted, w->rows->nrows, sizeof (*w->counted));
    c = &w->counted[w->rows->nrows];
    c->sent = s->sent - s->lost;
    for (int limit = 0; limit < LIMITS; limit++) {
        c->of[limit][IN_RANGE] = s->slow[limits[limit].slow]
                                 - (limit > 0 ? s->slow[limits[0].slow] : 0);
        c->of[limit][OTHER]
            = s->slow[limits[limit].waited] - c->of[limit][IN_RANGE];
    }
    sparse_add (w->rows, col, (const int8_t *)row->count, row->n);
}

/* Count what crosses each link, and in total. */
static int count_crossings (struct share_work *w, struct error *err)
{
    bool lost = w->kind == SHARE_LOST;

    exclude_hosts (w);
    for (size_t i = 0; i < w->samples->nsamples; i++) {
        const struct sample *s = &w->samples->sample[i];
        uint32_t col[ROW_MAX];
        struct row row;

        if (w->left_out[s->a] || w->left_out[s->b])
            continue;
        if (pathset_row (w->ps, s->a, s->b, &row, err) < 0)
            return -1;
        for (size_t p = 0; p < row.n; p++)
            col[p] = (uint32_t)pathset_column (w->ps, row.link[p]);
        if (!lost)
            keep_counted_sample (w, s, col, &row);
        for (int limit = 0; limit < (lost ? 1 : LIMITS); limit++) {
            double sent = lost ? s->sent : s->sent - s->lost;
            double affected = lost ? s->lost : s->slow[limits[limit].slow];
            double waited = lost ? 0 : s->slow[limits[limit].waited];
            double by_flow = s->nflows > 0 ? sent / s->nflows : sent;

            add_tally (&w->all[limit], sent, affected, waited, by_flow);
            for (size_t p = 0; p < row.n; p++)
                add_tally (&w->link[limit][col[p]], sent, affected, waited,
                           by_flow);
        }
    }
    return 0;
}

static double log_likelihood (const struct tally *t)
{
    double k = t->affected, n = t->sent;

    return k == 0 || k == n ? 0 : k * log (k / n) + (n - k) * log (1 - k / n);
}

/* By how much counts scatter more than a binomial's, at least 1. */
static double dispersion (const struct tally *t)
{
    double p = t->affected / t->sent;

    return t->all < 2 || !(p > 0 && p < 1)
               ? 1
               : fmax (1, (t->squares - t->affected * p) / (p * (1 - p))
                              / (double)(t->all - 1));
}

/* Whether these counts are those of one of a bundle's cables: all that it affects
 * is of the flows that cross it, there or back. With f messages in a flow, counts
 * of which a share p is affected then scatter by 1 + f p (cables - 1) / 2 (1 - p),
 * and by 1 if all flows are alike.
 */
static bool is_of_one_cable (const struct tally *t, double cables)
{
    double p = t->affected / t->sent;
    double f = t->by_flow / (double)t->all;
    double more = f * p * (cables - 1) / (2 * (1 - p));

    return cables * p <= 2 && more > 0
           && dispersion (t) > log1p (more) * (1 + more) / more;
}

/* Whether flows tell a bundle's cable from a link behind it. */
static bool do_flows_tell (const struct tally *t)
{
    return t->by_flow >= FLOW_TELLS * (double)t->all;
}

/* Whether link k, where messages are spread, cannot be why: it is a bundle, and no
 * single one of its cables is why (all of them are no cause, here as elsewhere);
 * or it is a single link, and some bundle's cable is why.
 */
static bool is_not_why (const struct share_work *w, size_t k,
                        const struct tally *t)
{
    const struct multipath *multi = pathset_network (w->ps)->multi;
    double cables = multi ? multi->cables[w->of[k]] : 0;

    if (!multi || !do_flows_tell (t))
        return false;
    if (cables > 1)
        return !is_of_one_cable (t, cables);
    return is_of_one_cable (t, w->cables);
}

/* The likeliest rate of each link. */
static double *divide (const struct share_work *w, int limit, int kind)
{
    const struct sparse *a = w->rows;
    double *rate = pool_alloc (w->pool, w->m, sizeof (*rate));
    double *sent = xcalloc (2 * w->m, sizeof (*sent)), *got = sent + w->m;

    for (size_t i = 0; i < a->nrows; i++)
        for (size_t e = a->start[i]; e < a->start[i + 1]; e++)
            sent[a->col[e]] += w->counted[i].sent;
    for (size_t k = 0; k < w->m; k++)
        rate[k] = sent[k] > 0;
    for (int pass = 0; pass < DIVIDE_PASSES; pass++) {
        memset (got, 0, w->m * sizeof (*got));
        for (size_t i = 0; i < a->nrows; i++) {
            double count = w->counted[i].of[limit][kind], sum = 0;

            for (size_t e = a->start[i]; e < a->start[i + 1] && count > 0; e++)
                sum += rate[a->col[e]];
            for (size_t e = a->start[i]; e < a->start[i + 1] && sum > 0; e++)
                got[a->col[e]] += count / sum;
        }
        for (size_t k = 0; k < w->m; k++)
            rate[k] *= sent[k] > 0 ? got[k] / sent[k] : 0;
    }
    free (sent);
    return rate;
}

static bool does_row_cross (const struct sparse *a, size_t row, size_t k)
{
    for (size_t e = a->start[row]; e < a->start[row + 1]; e++)
        if (a->col[e] == k)
            return true;
    return false;
}

/* How many of the messages across link k that waited did so for a time in a link's
 * range, and how many for another, by it or by links that at least half of them
 * cross as well.
 */
static void own_messages (struct share_work *w, size_t k, int limit,
                          double own[KINDS])
{
    const struct sparse *a = w->rows;
    double *both = xcalloc (w->m, sizeof (*both)); /* messages across */

    for (int kind = 0; kind < KINDS; kind++)
        if (!w->rate[limit][kind])
            w->rate[limit][kind] = divide (w, limit, kind);
    for (size_t i = 0; i < a->nrows; i++)
        if (does_row_cross (a, i, k))
            for (size_t e = a->start[i]; e < a->start[i + 1]; e++)
                both[a->col[e]] += w->counted[i].sent;
    own[IN_RANGE] = own[OTHER] = 0;
    for (size_t l = 0; l < w->m; l++)
        if (2 * both[l] >= both[k])
            for (int kind = 0; kind < KINDS; kind++)
                own[kind] += w->rate[limit][kind][l] * both[l];
    free (both);
}

/* The cables of the smallest bundle; 1 if there is none. */
static double least_bundle (const struct share_work *w)
{
    const struct multipath *multi = pathset_network (w->ps)->multi;
    double least = INFINITY;

    for (size_t k = 0; multi && k < w->m; k++)
        if (multi->cables[w->of[k]] > 1)
            least = fmin (least, multi->cables[w->of[k]]);
    return isfinite (least) ? least : 1;
}

/* Log odds that a link delays these; less than 0: traffic delays as many. */
static double shape (const double own[KINDS], double most)
{
    double waited = own[IN_RANGE] + own[OTHER];

    if (own[IN_RANGE] <= most * waited)
        return -1;
    return own[IN_RANGE] * log (own[IN_RANGE] / waited / most)
           + (own[OTHER] > 0
                  ? own[OTHER] * log (own[OTHER] / waited / (1 - most))
                  : 0);
}

/* The log ratio of likelihoods that link k does it, of others that none does; 0:
 * it is not sure; less: traffic does it. *scatter: of the others.
 */
static double link_ratio (struct share_work *w, size_t k, int limit,
                          double *scatter)
{
    const struct tally *link = &w->link[limit][k], *all = &w->all[limit];
    struct tally others = subtract_tally (all, link);
    bool slow = w->kind == SHARE_SLOW;
    double own[KINDS], found;

    if ((double)link->samples < w->enough
        || link->affected < (slow ? SLOW_RATE : LOST_RATE) * link->sent
        || (slow && link->sent - link->waited < QUIET_SHARE_MIN * link->sent)
        || link->affected * others.sent <= others.affected * link->sent
        || is_not_why (w, k, link))
        return 0;
    *scatter = dispersion (&others);
    found = log_likelihood (link) + log_likelihood (&others)
            - log_likelihood (all);
    if (slow && found > (w->need - MARGIN_LOG_ODDS) * *scatter) {
        own_messages (w, k, limit, own);
        if (own[IN_RANGE] < OWN_RATE * link->sent
            || shape (own, limits[limit].most) / *scatter
                   < (w->first ? 0 : SHAPE))
            return -found;
    }
    return found;
}

/* Set ev [m] to the evidence of each link by a limit, if that is more. All are
 * divided by the scatter beside the likeliest: what differs between two links
 * must not be by what each leaves to others. By the shorter limit nothing is sure
 * where traffic at some link is the likeliest.
 */
static void weigh_shares (struct share_work *w, int limit, double *ev, int *by)
{
    double *ratio = xarray (w->m, sizeof (*ratio));
    double most = 0, traffic = 0, scatter = 1, one = 1;

    for (size_t k = 0; k < w->m; k++) {
        if ((ratio[k] = link_ratio (w, k, limit, &one)) > most) {
            most = ratio[k];
            scatter = one;
        }
        traffic = fmax (traffic, -ratio[k]);
    }
    for (size_t k = 0; k < w->m && (limit == 0 || traffic <= most); k++)
        if (ratio[k] / scatter > ev[k]) {
            ev[k] = ratio[k] / scatter;
            by[k] = limit;
        }
    free (ratio);
}

/* A lower bound of the share that is lost. A host that pauses loses a burst, so
 * what is counted is samples with losses, as a Poisson variable; each stands for
 * as many messages as they lost on average. The bound of a Poisson variable's
 * mean is Wilson and Hilferty's, which for few events is too low.
 */
static double least_share (const struct tally *t)
{
    double events = (double)t->samples;
    double root = 1 - 1 / (9 * events) - BOUND_SD / (3 * sqrt (events));

    if (t->samples == 0 || root <= 0)
        return 0;
    return pow (root, 3) * t->affected / t->sent;
}

/* Whether many messages that cross others of link k's class, but not k, are slow by
 * the longer limit, too.
 */
static bool is_class_slow (const struct share_work *w, size_t k)
{
    const struct link_info *info = pathset_network (w->ps)->link;
    const struct sparse *a = w->rows;
    double sent = 0, slow = 0;

    for (size_t i = 0; i < a->nrows; i++) {
        bool others = false;

        if (does_row_cross (a, i, k))
            continue;
        for (size_t e = a->start[i]; e < a->start[i + 1]; e++)
            others
                |= info[w->of[a->col[e]]].class_id == info[w->of[k]].class_id;
        sent += others ? w->counted[i].sent : 0;
        slow += others ? w->counted[i].of[0][IN_RANGE] : 0;
    }
    return slow > CLASS_RATE * sent;
}

/* Whether some link delays messages that do not cross link k, too. */
static bool is_another_slow (const struct share_work *w, size_t k, int limit)
{
    struct tally *t = xcalloc (w->m + 1, sizeof (*t)), *all = &t[w->m];
    const struct sparse *a = w->rows;
    bool is = false;

    for (size_t i = 0; i < a->nrows; i++) {
        double sent = w->counted[i].sent;
        double slow = w->counted[i].of[limit][IN_RANGE];

        if (does_row_cross (a, i, k))
            continue;
        add_tally (all, sent, slow, 0, 0);
        for (size_t e = a->start[i]; e < a->start[i + 1]; e++)
            add_tally (&t[a->col[e]], sent, slow, 0, 0);
    }
    for (size_t l = 0; l < w->m && !is; l++) {
        struct tally others = subtract_tally (all, &t[l]);

        is = t[l].samples > 0
             && t[l].affected * others.sent > others.affected * t[l].sent
             && log_likelihood (&t[l]) + log_likelihood (&others)
                        - log_likelihood (all)
                    > w->need * dispersion (&others);
    }
    free (t);
    return is;
}

/* List links in the order of their evidence, of which there is `least` at least;
 * this makes *ev 0.
 */
static void list_links (struct share *share, const struct share_work *w,
                        double *ev, double least)
{
    size_t best;

    do {
        best = 0;
        for (size_t k = 1; k < w->m; k++)
            if (ev[k] > ev[best])
                best = k;
        if (ev[best] <= 0 || ev[best] < least)
            break;
        share->link[share->n++] = w->of[best];
        ev[best] = 0;
    } while (share->n < SHARE_LINKS_MAX);
}

int share_find (struct share *share, struct pathset *ps,
                const struct samples *samples, enum share_kind kind, bool first,
                struct error *err)
{
    double part = first ? FIRST_STAGE_SHARE : 1;
    struct share_work w = { .ps = ps,
                            .samples = samples,
                            .kind = kind,
                            .first = first,
                            .enough = part * SAMPLES_MIN,
                            .pool = pool_create () };
    int limit, *by; /* of the greater evidence */
    struct tally all;
    size_t best = 0;
    double *ev;
    int rc;

    *share = (struct share){ 0 };
    if (!(w.of = pathset_links (ps, &w.m, err))) {
        pool_destroy (w.pool);
        return -1;
    }
    for (int i = 0; i < LIMITS; i++)
        w.link[i] = pool_alloc (w.pool, w.m, sizeof (*w.link[i]));
    w.cables = least_bundle (&w);
    w.left_out = pool_alloc (w.pool, pathset_size (ps), sizeof (*w.left_out));
    ev = pool_alloc (w.pool, w.m, sizeof (*ev));
    w.need = part * (EVIDENCE_MIN_LOG_ODDS + log ((double)w.m));
    w.rows = sparse_create (w.m);
    by = pool_alloc (w.pool, w.m, sizeof (*by));
    rc = count_crossings (&w, err);
    for (int i = 0; i < (kind == SHARE_LOST ? 1 : LIMITS); i++)
        weigh_shares (&w, i, ev, by);
    for (size_t k = 1; k < w.m; k++)
        if (ev[k] > ev[best])
            best = k;
    for (size_t k = 0; k < w.m && kind == SHARE_SLOW; k++)
        if (ev[k] > fmax (0, ev[best] - MARGIN_LOG_ODDS)
            && is_class_slow (&w, k))
            w.need = INFINITY;
    limit = w.m > 0 ? by[best] : 0;
    all = w.all[limit];
    if (w.cables > 1 && kind == SHARE_SLOW && ev[best] > w.need
        && !do_flows_tell (&w.link[limit][best])
        && is_another_slow (&w, best, limit))
        w.need = INFINITY;
    if (rc == 0 && w.m > 0 && ev[best] > w.need) {
        const struct tally *t = &w.link[limit][best];

        list_links (share, &w, ev, first ? w.need : ev[best] - MARGIN_LOG_ODDS);
        share->sent = (uint64_t)t->sent;
        share->affected = (uint64_t)t->affected;
        share->least = least_share (t);
        share->more_ns = slow_limit_ns[limits[limit].slow];
        all = subtract_tally (&all, t);
    }
    share->other_sent = (uint64_t)all.sent;
    share->other_affected = (uint64_t)all.affected;
    share->other_least = least_share (&all);
    sparse_destroy (w.rows);
    pool_destroy (w.pool);
    return rc;
}
