/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes on the noise. The standard deviation of single repeats comes from each
 * sample's quartiles: p75 - p25 of n normal repeats is about 1.349 (1 - 1.25 /
 * n) sigma (type 7 quantiles; within 5 % for n >= 2). This is poor with few
 * repeats: the median over all samples is used with the weight of twenty
 * repeats, the sample's own with that of n.
 *
 * If both sides measured, their difference is a second estimate, which includes
 * errors that a sample's repeats have in common; the greater one is used. For n
 * >= 3 a median has the variance pi/2 sigma^2 / (n + pi/2 - 1), the mean of
 * median and quartiles 1.13 sigma^2 / n (1.09 to 1.14, by simulation).
 */
#include "config.h"
#include "core/samples/observe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/linear/stats.h"
#include "core/paths/multipath.h"
#include "util/alloc.h"
#include "util/map.h"

enum {
    PRIOR_REPEATS = 20,
    PAIRS_ENOUGH = 8, /* differences that are enough for an estimate */
    LOOPBACK_REPEATS = 5,
    SKEW = RTT_FASTEST + 1, /* as a quantile: see more_of */
};

#define AGREE 4.0 /* standard deviations */
#define STAGE_SURE 3.0 /* likewise */
#define LEAST_SD 12.0   /* ns, of a least repeat if there are few rows */
#define USUAL_GAPS 2.0  /* usual gaps that are no sign of traffic */
#define STEP_GAPS 10.0  /* least repeat below all others: a clock step */
#define MIDDLE_BETTER 0.8 /* of the standard deviation */
#define TIGHT 4.0       /* of the usual spread: no traffic */
#define DOUBT_MOST 1e6   /* ns: the row has no information */
#define DOUBT_MEANS 3.0  /* an exponential exceeds it in 5 % of cases */

const struct accuracy observe_accuracy = { .ns = 5, .of_reading = 1e-3 };

static double spread_of (const struct sample *s)
{
    double n = s->sent - s->lost;

    return (s->rtt_ns[RTT_P75] - s->rtt_ns[RTT_P25])
           / (1.349 * (1 - 1.25 / n));
}

static double middle_of (const double *rtt_ns)
{
    return (rtt_ns[RTT_P25] + rtt_ns[RTT_MEDIAN] + rtt_ns[RTT_P75]) / 3;
}

/* By how much the way from the smaller end is slower. */
static double more_of (const struct sample *s)
{
    bool smaller = s->initiator == (s->a < s->b ? s->a : s->b);

    return s->way_ns[!smaller] - s->way_ns[smaller];
}

static double value (const struct sample *s, int quantile)
{
    return quantile == SKEW         ? more_of (s)
           : quantile == RTT_MIDDLE ? middle_of (s->rtt_ns)
                                    : s->rtt_ns[quantile];
}

/* The variance of a value over n repeats, in units of one repeat's. */
static double shrinkage (uint32_t n, int quantile)
{
    if (n < 3)
        return 1.0 / n;
    return quantile == RTT_MIDDLE ? 1.13 / n : M_PI_2 / (n + M_PI_2 - 1);
}

static bool usable (const struct sample *s)
{
    return s->lost < s->sent;
}

static bool has_value (const struct sample *s, int quantile)
{
    return usable (s) && (quantile != SKEW || s->way_ns[0] > 0);
}

static uint64_t sample_key (const struct sample *s)
{
    return pair_key (s->a, s->b);
}

#define ORDER(x, y) if ((x) != (y)) return (x) < (y) ? -1 : 1

static int compare_pairs (const void *va, const void *vb)
{
    const struct sample *x = *(const struct sample *const *)va;
    const struct sample *y = *(const struct sample *const *)vb;

    ORDER (sample_key (x), sample_key (y));
    ORDER (x->round, y->round);
    ORDER (x->initiator, y->initiator);
    ORDER (x, y);
    return 0;
}

static int compare_samples (const void *va, const void *vb)
{
    const struct sample *x = *(const struct sample *const *)va;
    const struct sample *y = *(const struct sample *const *)vb;

    ORDER (x->round, y->round);
    return compare_pairs (va, vb);
}

int compare_observations (const void *va, const void *vb)
{
    const struct observation *x = va, *y = vb;

    ORDER (pair_key (x->a, x->b), pair_key (y->a, y->b));
    ORDER (x->oneway + (x->oneway && x->a > x->b),
           y->oneway + (y->oneway && y->a > y->b));
    return 0;
}

static bool same_row (const struct sample *x, const struct sample *y)
{
    return x->round == y->round && sample_key (x) == sample_key (y);
}

/* Pooled standard deviation of one repeat, by samples of a quantile; v has
 * room for n values.
 */
static double pool (const struct sample *const *s, size_t n, int quantile,
                    double *v)
{
    double inside = 0;
    double between = 0;
    size_t k = 0;

    for (size_t i = 0; i < n; i++)
        if (usable (s[i]) && s[i]->sent - s[i]->lost > 1)
            v[k++] = spread_of (s[i]);
    if (k > 0)
        inside = stats_median (v, k);
    k = 0;
    for (size_t i = 1; i < n; i++)
        if (same_row (s[i - 1], s[i]) && usable (s[i - 1]) && usable (s[i])
            && s[i - 1]->initiator != s[i]->initiator) {
            double d = value (s[i], quantile) - value (s[i - 1], quantile);

            v[k++] = fabs (d)
                     / sqrt (shrinkage (s[i]->sent - s[i]->lost, quantile)
                             + shrinkage (s[i - 1]->sent - s[i - 1]->lost,
                                          quantile));
        }
    if (k >= PAIRS_ENOUGH || (inside == 0 && k > 0))
        between = 1.4826 * stats_median (v, k);
    return fmax (inside, between);
}

/* The least variance of any RTT, from the median RTT; v has room for n values.
 */
static double least_variance (const struct accuracy *accuracy,
                              const struct sample *const *s, size_t n,
                              double *v)
{
    double usual = 0;
    size_t k = 0;

    for (size_t i = 0; i < n; i++)
        if (usable (s[i]))
            v[k++] = s[i]->rtt_ns[RTT_MEDIAN];
    if (k > 0)
        usual = stats_median (v, k);
    return pow (accuracy->ns, 2) + pow (accuracy->of_reading * usual, 2);
}

/* The result is at least `floor`. */
static double variance (const struct sample *s, int quantile, double sigma,
                        double floor)
{
    uint32_t n = s->sent - s->lost;
    double var = sigma * sigma;

    if (n > 1) {
        double own = spread_of (s);

        var = (PRIOR_REPEATS * var + n * own * own) / (PRIOR_REPEATS + n);
    }
    var = fmax (var * shrinkage (n, quantile), floor);
    return var > 0 ? var : 1;
}

/* Merge the n samples of one row, of which one at least is usable. */
static void merge_samples (struct observation *o, const struct sample *const *s,
                           size_t n, int quantile, double sigma, double floor)
{
    const struct sample *lowest = NULL;
    double weight = 0;
    double sum = 0;
    double var0;

    for (size_t i = 0; i < n; i++)
        if (usable (s[i])
            && (!lowest || value (s[i], quantile) < value (lowest, quantile)))
            lowest = s[i];
    var0 = variance (lowest, quantile, sigma, floor);
    *o = (struct observation){
        .a = lowest->a,
        .b = lowest->b,
        .round = lowest->round,
    };
    for (size_t i = 0; i < n; i++) {
        double var;
        double d;

        if (!usable (s[i]))
            continue;
        var = variance (s[i], quantile, sigma, floor);
        d = value (s[i], quantile) - value (lowest, quantile);
        o->repeats += s[i]->sent - s[i]->lost;
        if (d * d > AGREE * AGREE * (var + var0))
            continue;
        weight += 1 / var;
        sum += d / var;
    }
    o->rtt_ns = value (lowest, quantile) + sum / weight;
    o->var = fmax (1 / weight, floor);
}

/* The repeats of samples of one row: the least; the least first quartile, and
 * the mean of these; the greatest third quartile; the sum of the middles.
 */
struct fastest {
    double least, quarter, low, most, middles;
    size_t samples, repeats;
};

static const struct fastest fastest_none = { .least = INFINITY,
                                             .quarter = INFINITY };

static void fastest_add (struct fastest *f, const double *rtt_ns,
                         size_t repeats)
{
    f->samples++;
    f->repeats += repeats;
    f->least = fmin (f->least, rtt_ns[RTT_MIN]);
    f->quarter = fmin (f->quarter, rtt_ns[RTT_P25]);
    f->low += (rtt_ns[RTT_P25] - f->low) / (double)f->samples;
    f->most = fmax (f->most, rtt_ns[RTT_P75]);
    f->middles += middle_of (rtt_ns);
}

/* How far the first quartile is above the least repeat. */
static double gap_of (const struct fastest *f)
{
    return f->low - f->least;
}

/* How far the third quartile is. */
static double spread_above (const struct fastest *f)
{
    return f->most - f->least;
}

/* The usual value from noise alone: the lower quartile. v: room for n values.
 */
static double usual (double (*of) (const struct fastest *f),
                     const struct fastest *f, size_t n, double *v)
{
    size_t k = 0;

    for (size_t i = 0; i < n; i++)
        if (f[i].samples > 0)
            v[k++] = of (&f[i]);
    stats_sort (v, k);
    return k > 0 ? stats_quantile (v, k, 0.25) : 0;
}

/* The loopbacks of a run, each as one that was measured from one side; the
 * caller frees them.
 */
static struct fastest *fastest_loopbacks (const struct samples *samples)
{
    struct fastest *f = xarray (samples->nloopbacks, sizeof (*f));

    for (size_t k = 0; k < samples->nloopbacks; k++) {
        f[k] = fastest_none;
        fastest_add (&f[k], samples->loopback[k].rtt_ns, LOOPBACK_REPEATS);
    }
    return f;
}

/* Whether the least repeat is a clock step: far below others that agree. */
static bool is_step (double least, double next, double most, double gap)
{
    return next - least > STEP_GAPS * gap
           && sample_is_step (least, next, most);
}

static void drop_step (struct fastest *f, double gap)
{
    if (is_step (f->least, f->quarter, f->most, gap))
        f->least = f->quarter;
}

/* Merge repeats that were measured at another time. */
static void fastest_join (struct fastest *f, const struct fastest *other)
{
    f->least = fmin (f->least, other->least);
    f->quarter = fmin (f->quarter, other->quarter);
    f->most = fmax (f->most, other->most);
    f->low = f->samples > 0 ? fmin (f->low, other->low) : other->low;
    f->middles += other->middles;
    f->samples += other->samples;
    f->repeats += other->repeats;
}

/* By how much all repeats may have waited: for exponential waits, their mean
 * over the number of repeats. A quarter of the waits are below the gap.
 */
static double observation_doubt (const struct fastest *f, double usual_gap)
{
    double gap = fmax (0, gap_of (f) - USUAL_GAPS * usual_gap);

    return fmin (DOUBT_MEANS * gap / log (4 / 3.) / (double)f->repeats,
                 DOUBT_MOST);
}

/* The standard deviation of one side's value, from the two sides' differences.
 */
static double side_sd (const struct sample *const *s, size_t n, int quantile,
                       double *v)
{
    size_t k = 0;

    for (size_t i = 1; i < n; i++)
        if (same_row (s[i - 1], s[i]) && has_value (s[i - 1], quantile)
            && has_value (s[i], quantile))
            v[k++] = value (s[i], quantile) - value (s[i - 1], quantile);
    return k >= PAIRS_ENOUGH ? stats_mad (v, k, 0) * M_SQRT1_2 : LEAST_SD;
}

static bool is_spread_tight (const struct fastest *f, double usual_spread)
{
    return spread_above (f) < TIGHT * usual_spread;
}

/* Add the least times from the smaller end, and to it. */
static void ways_add (double ns[2], const struct sample *s)
{
    bool smaller = s->initiator == (s->a < s->b ? s->a : s->b);

    for (int w = 0; w < 2 && s->way_ns[0] > 0; w++)
        ns[w] = fmin (ns[w], s->way_ns[smaller ? w : !w]);
}

/* By how much repeats of a round trip differ without traffic. */
struct quiet {
    double gap, spread;
};

/* Lower it to what loopbacks show, if there are any: two of them are in a round
 * trip, and no traffic meets them, also where it meets all rows. It is not below
 * `least`, the instrument's accuracy: of 500 us a processor takes 0.1 us more or
 * less, of its loopback's 10 none.
 */
static struct quiet quieter (struct quiet q, const struct samples *samples,
                             double least)
{
    size_t n = samples->nloopbacks;
    struct fastest *f = fastest_loopbacks (samples);
    double *v = xarray (n, sizeof (*v));

    if (n > 0) {
        q.gap = fmin (q.gap, fmax (2 * usual (gap_of, f, n, v), least));
        q.spread
            = fmin (q.spread, fmax (2 * usual (spread_above, f, n, v), least));
    }
    free (f);
    free (v);
    return q;
}

/* Whether at least a quarter of a round's messages met no traffic. Those that
 * wait at a full link wait for the rest of a packet, which takes a random time.
 */
static bool is_round_quiet (const struct fastest *f, const struct quiet *q)
{
    return is_spread_tight (f, q->spread) || gap_of (f) <= USUAL_GAPS * q->gap;
}

/* Replace the last row, a pair's, by one for each direction. The ways may be by
 * a coarser clock than the round trip: only their difference counts, and it
 * has a scatter of its own. Else twice a way has twice the variance of the round
 * trip, of which the mean of both has as much as before.
 */
static void split_row (struct observations *o, const double ns[2], double sd)
{
    struct observation *row = &o->v[o->n - 1];
    double more = ns[0] - ns[1];
    uint32_t a = row->a < row->b ? row->a : row->b;
    uint32_t b = row->a < row->b ? row->b : row->a;

    if (!(fabs (more) < row->rtt_ns)) /* or not known */
        return;
    row->a = a;
    row->b = b;
    row->oneway = true;
    row->var += fmax (row->var - pow (row->doubt_ns, 2), sd * sd)
                + pow (row->doubt_ns, 2);
    row->doubt_ns *= M_SQRT2;
    row[1] = row[0];
    row[0].rtt_ns += more;
    row[1].rtt_ns -= more;
    row[1].a = b;
    row[1].b = a;
    o->n++;
}

/* Fill o->v with rows of least repeats; s is sorted by pairs. */
static void merge_fastest (struct observations *o,
                           const struct samples *samples,
                           const struct sample *const *s, size_t n,
                           double floor, double *v)
{
    struct fastest *f = xarray (n, sizeof (*f));
    double middle_sd = side_sd (s, n, RTT_MIDDLE, v);
    double skew_sd = side_sd (s, n, SKEW, v);
    bool by_middles = middle_sd < MIDDLE_BETTER * o->sigma_ns;
    size_t rounds = 0;
    size_t k = 0;
    struct quiet quiet;
    double gap;
    double spread;
    double above;

    for (size_t i = 0, end; i < n; i = end) {
        f[rounds] = fastest_none;
        for (end = i; end < n && same_row (s[i], s[end]); end++)
            if (usable (s[end]))
                fastest_add (&f[rounds], s[end]->rtt_ns,
                             s[end]->sent - s[end]->lost);
        rounds++;
    }
    gap = usual (gap_of, f, rounds, v);
    spread = usual (spread_above, f, rounds, v);
    quiet = quieter ((struct quiet){ gap, spread }, samples, sqrt (floor));
    /* how far middles are above the least repeats, in rounds without traffic */
    for (size_t i = 0; i < rounds; i++)
        if (f[i].samples > 0 && is_spread_tight (&f[i], spread))
            v[k++] = f[i].middles / (double)f[i].samples - f[i].least;
    above = k > 0 ? stats_median (v, k) : NAN;
    rounds = 0;
    for (size_t i = 0, end; i < n; i = end) {
        struct observation *row = &o->v[o->n];
        struct fastest all = fastest_none;
        struct fastest tight = fastest_none;
        double ways[2] = { INFINITY, INFINITY };

        *row = (struct observation){ .a = s[i]->a, .b = s[i]->b,
                                     .round = s[i]->round };
        for (end = i; end < n && sample_key (s[i]) == sample_key (s[end]);
             end++) {
            if (usable (s[end]))
                ways_add (ways, s[end]);
            if (end > i && same_row (s[end], s[end - 1]))
                continue;
            if (f[rounds].samples > 0) {
                drop_step (&f[rounds], gap);
                fastest_join (&all, &f[rounds]);
                row->quiet |= is_round_quiet (&f[rounds], &quiet);
                if (is_spread_tight (&f[rounds], spread))
                    fastest_join (&tight, &f[rounds]);
                row->rounds++;
            }
            rounds++;
        }
        if (all.samples == 0) {
            o->silent++;
            continue;
        }
        row->rtt_ns = all.least;
        row->repeats = (uint32_t)all.repeats;
        row->doubt_ns = observation_doubt (&all, quiet.gap);
        row->var = fmax (pow (o->sigma_ns, 2), floor) + pow (row->doubt_ns, 2);
        row->tight = tight.samples == all.samples;
        /* with symmetrical noise, the middles without traffic are better */
        if (by_middles && tight.samples > 0 && !isnan (above)) {
            row->rtt_ns = tight.middles / (double)tight.samples - above;
            row->var
                = fmax (middle_sd * middle_sd / (double)tight.samples, floor);
            row->doubt_ns = 0;
        }
        o->n++;
        o->pairs++;
        split_row (o, ways, skew_sd);
    }
    free (f);
}

void observe_loopbacks (const struct samples *samples, size_t nendpoints,
                        struct loopback_time *time)
{
    size_t n = samples->nloopbacks;
    struct fastest *f = fastest_loopbacks (samples);
    struct fastest *all = xarray (nendpoints, sizeof (*all));
    double *v = xarray (n, sizeof (*v));
    double *next = xarray (nendpoints, sizeof (*next));
    double *most = xcalloc (nendpoints, sizeof (*most));
    double gap;

    for (size_t i = 0; i < nendpoints; i++) {
        all[i] = fastest_none;
        next[i] = INFINITY;
    }
    gap = usual (gap_of, f, n, v);
    for (size_t k = 0; k < n; k++) {
        uint32_t i = samples->loopback[k].end;

        drop_step (&f[k], gap);
        next[i] = fmin (next[i], fmax (all[i].least, f[k].least));
        most[i] = fmax (most[i], f[k].least);
        fastest_join (&all[i], &f[k]);
    }
    for (size_t i = 0; i < nendpoints; i++) {
        time[i] = (struct loopback_time){ .ns = NAN };
        if (all[i].samples == 0)
            continue;
        time[i] = (struct loopback_time){ all[i].least,
                                          observation_doubt (&all[i], gap) };
        /* two others agree: it is a clock step, or all the others waited */
        if (is_step (all[i].least, next[i], most[i], gap) && most[i] > next[i])
            time[i] = (struct loopback_time){ next[i],
                                              next[i] - all[i].least };
    }
    free (f);
    free (all);
    free (v);
    free (next);
    free (most);
}

/* Marks keys of endpoints among those of switches: by a table, which cable of a
 * bundle is crossed depends on the endpoint.
 */
#define ENDPOINTS (UINT64_C (1) << 63)

static void find_within (struct observation *o, const struct pathset *ps)
{
    const struct network *net = pathset_network (ps);
    uint32_t a = pathset_endpoint (ps, o->a)->id, arc;
    uint32_t b = pathset_endpoint (ps, o->b)->id;

    if (!net->multi)
        return;
    o->within = multipath_within (net->multi, a, b, &o->apart);
    if (o->apart == 0)
        return;
    net = net->multi->under;
    o->ends = o->apart > o->within
                  ? ENDPOINTS | pair_key (a, b)
                  : pair_key (net->attach (net->net, a, &arc),
                              net->attach (net->net, b, &arc));
}

/* The rows are stored in one block. */
int observe_rows (struct observations *o, const struct pathset *ps,
                  struct error *err)
{
    size_t size = 0;
    size_t used = 0;

    for (size_t i = 0; i < o->n; i++) {
        struct row row;

        if ((o->v[i].oneway ? pathset_row_there : pathset_row) (
                ps, o->v[i].a, o->v[i].b, &row, err)
            < 0)
            return -1;
        if (used + row.n > size) {
            size = 2 * size + ROW_MAX;
            o->link = xrealloc (o->link, size, sizeof (*o->link));
            o->count = xrealloc (o->count, size, 1);
            o->forth = xrealloc (o->forth, size, 1);
        }
        memcpy (o->link + used, row.link, row.n * sizeof (*row.link));
        memcpy (o->count + used, row.count, row.n);
        memcpy (o->forth + used, row.forth, row.n);
        used += row.n;
        o->v[i].n = row.n;
        find_within (&o->v[i], ps);
    }
    used = 0;
    for (size_t i = 0; i < o->n; i++) {
        o->v[i].link = o->link + used;
        o->v[i].count = o->count + used;
        o->v[i].forth = o->forth + used;
        used += o->v[i].n;
    }
    return 0;
}

int observe (struct observations *o, const struct pathset *ps,
             const struct samples *samples, int quantile,
             const struct accuracy *accuracy, struct error *err)
{
    size_t n = samples->nsamples;
    const struct sample **s = xarray (n, sizeof (*s));
    double *v = xarray (n, sizeof (*v));
    double sigma;
    double floor;

    *o = (struct observations){ .v = xarray (2 * n, sizeof (*o->v)) };
    for (size_t i = 0; i < n; i++) {
        s[i] = &samples->sample[i];
        o->sent += s[i]->sent;
        o->lost += s[i]->lost;
    }
    qsort (s, n, sizeof (*s),
           quantile == RTT_FASTEST ? compare_pairs : compare_samples);
    /* medians tolerate more outliers than middles */
    sigma = o->sigma_ns
        = quantile == RTT_FASTEST
              ? side_sd (s, n, RTT_MIN, v)
              : pool (s, n, quantile == RTT_MIDDLE ? RTT_MEDIAN : quantile, v);
    floor = least_variance (accuracy, s, n, v);
    if (quantile == RTT_FASTEST)
        merge_fastest (o, samples, s, n, floor, v);
    for (size_t i = 0, end; i < n && quantile != RTT_FASTEST; i = end) {
        bool some = false;

        for (end = i; end < n && same_row (s[i], s[end]); end++)
            some |= usable (s[end]);
        if (some)
            merge_samples (&o->v[o->n++], s + i, end - i, quantile, sigma,
                           floor);
        else
            o->silent++;
    }
    free (s);
    free (v);
    return ps ? observe_rows (o, ps, err) : 0;
}

/* The least RTT of a pair's round, of which s[i] is the first sample; *end: the
 * first of another one. INFINITY: all were lost.
 */
static double round_least (const struct sample *const *s, size_t n, size_t i,
                           size_t *end)
{
    double least = INFINITY;

    for (*end = i; *end < n && same_row (s[i], s[*end]); ++*end)
        if (usable (s[*end]))
            least = fmin (least, s[*end]->rtt_ns[RTT_MIN]);
    return least;
}

/* The median of n values, and the standard deviation of that; v is sorted. */
static double median_of (double *v, size_t n, double *sd)
{
    double middle = stats_median (v, n);

    *sd = stats_mad (v, n, middle) * sqrt (M_PI_2 / (double)n);
    return middle;
}

int observe_stage (struct stage_shift *shift, const struct pathset *ps,
                   const struct samples *samples, size_t first,
                   struct error *err)
{
    size_t n = samples->nsamples, k = 0;
    const struct sample **s = xarray (n, sizeof (*s));
    double *v = xarray (2 * n, sizeof (*v)), *per = v + n, before = NAN;
    double round = 0, drifts = 0, ns, each, sd[2];
    int rc = 0;

    *shift = (struct stage_shift){ 0 };
    for (size_t i = 0; i < n; i++)
        s[i] = &samples->sample[i];
    qsort (s, n, sizeof (*s), compare_pairs);
    for (size_t i = 0, end; i < n && rc == 0; i = end) {
        double least = round_least (s, n, i, &end);
        struct row row;

        if (i == 0 || sample_key (s[i]) != sample_key (s[i - 1]))
            before = NAN;
        if (s[i]->round < first) {
            before = least;
            round = s[i]->round;
        }
        else if (isfinite (before) && isfinite (least)
                 && (rc = pathset_row (ps, s[i]->a, s[i]->b, &row, err)) == 0) {
            double drift = row_crossings (row.count, row.n)
                           * (s[i]->round - round)
                           / (double)first;

            per[k] = drift > 0 ? (least - before) / drift : 0;
            drifts += drift;
            v[k++] = least - before;
        }
    }
    if (k >= PAIRS_ENOUGH / 2) {
        ns = median_of (v, k, &sd[0]);
        each = median_of (per, k, &sd[1]);
        if (sd[1] * drifts / (double)k < sd[0]) {
            if (fabs (each) > STAGE_SURE * sd[1])
                shift->drift_ns = each;
        }
        else if (fabs (ns) > STAGE_SURE * sd[0])
            shift->ns = ns;
    }
    free (s);
    free (v);
    return rc;
}

void observations_clear (struct observations *o)
{
    free (o->v);
    free (o->link);
    free (o->count);
    free (o->forth);
    *o = (struct observations){ 0 };
}

/*
 * Combine
 */

/* The mean and the sum of weighted squares about it are updated with each
 * observation (West, "Updating mean and variance estimates: an improved
 * method", 1979). If the weights are right, that sum is about n - 1: its median
 * is n - 1 times (1 - 2 / 9 (n - 1))^3 (Wilson and Hilferty, "The distribution
 * of chi-square", 1931). The median over all pairs gives the additional
 * difference between times. A pair's own scatter as its variance would leave
 * changed pairs no weight, and the solution would follow the others.
 */
struct mean {
    uint32_t a, b;
    uint32_t n;      /* observations */
    uint32_t repeats;
    double weight;
    double value;
    double scatter;  /* sum of weight times square */
};

#define VAGUE 0.25 /* standard deviation, of the RTT: says nothing of links */

struct combine {
    struct mean *v;
    size_t n;
    struct map pairs; /* index of v by pair_key */
    double sigma_ns;
    uint64_t sent, lost;
};

struct combine *combine_create (void)
{
    return xcalloc (1, sizeof (struct combine));
}

void combine_destroy (struct combine *c)
{
    if (c) {
        free (c->v);
        map_clear (&c->pairs);
        free (c);
    }
}

void combine_add (struct combine *c, const struct observations *o, double share)
{
    for (size_t i = 0; i < o->n; i++) {
        uint32_t a = o->v[i].a;
        uint32_t b = o->v[i].b;
        uint32_t at = map_find (&c->pairs, pair_key (a, b));
        double weight = share / o->v[i].var;
        struct mean *m;
        double d;

        if (o->v[i].var > pow (VAGUE * o->v[i].rtt_ns, 2))
            continue;
        if (at == MAP_NONE) {
            at = (uint32_t)c->n;
            map_put (&c->pairs, pair_key (a, b), at);
            c->v = xgrow (c->v, c->n, sizeof (*c->v));
            c->v[c->n++] = (struct mean){ .a = a < b ? a : b,
                                          .b = a < b ? b : a };
        }
        m = &c->v[at];
        d = o->v[i].rtt_ns - m->value;
        m->weight += weight;
        m->value += d * weight / m->weight;
        m->scatter += weight * d * (o->v[i].rtt_ns - m->value);
        m->repeats += o->v[i].repeats;
        m->n++;
    }
    c->sigma_ns = fmax (c->sigma_ns, o->sigma_ns);
    c->sent += o->sent;
    c->lost += o->lost;
}

int combine_finish (const struct combine *c, const struct pathset *ps,
                    struct observations *o, struct error *err)
{
    double *v = xarray (c->n, sizeof (*v));
    double factor = 1; /* by which observations scatter more than they should */
    size_t k = 0;

    *o = (struct observations){
        .v = xarray (c->n, sizeof (*o->v)),
        .n = c->n,
        .sigma_ns = c->sigma_ns,
        .sent = c->sent,
        .lost = c->lost,
    };
    for (size_t i = 0; i < c->n; i++) {
        double dof = c->v[i].n - 1.0;

        if (dof > 0)
            v[k++] = c->v[i].scatter / (dof * pow (1 - 2 / (9 * dof), 3));
    }
    if (k >= PAIRS_ENOUGH)
        factor = fmax (stats_median (v, k), 1);
    free (v);
    for (size_t i = 0; i < c->n; i++) {
        const struct mean *m = &c->v[i];

        o->v[i] = (struct observation){
            .a = m->a,
            .b = m->b,
            .repeats = m->repeats,
            .rtt_ns = m->value,
            .var = factor / m->weight,
        };
    }
    qsort (o->v, o->n, sizeof (*o->v), compare_observations);
    return observe_rows (o, ps, err);
}
