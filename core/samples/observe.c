/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes on the noise. A standard deviation of single repeats is estimated
 * from each sample's quartiles: p75 - p25 of n normal repeats is about 1.349
 * (1 - 1.25 / n) sigma (type 7 quantiles; within 5 % from n = 2 on). Few
 * repeats make that a poor estimate, so it is pooled by the median over all
 * samples, and a sample's own counts as n against twenty of the pooled: with
 * less, rows whose few repeats agree by chance look certain.
 * Where both sides measured, their difference is a second estimate, which
 * also sees what repeats within a sample share; the greater of the two is
 * taken. From n = 3 on a median has the variance pi/2 sigma^2 / (n + pi/2 -
 * 1), the mean of median and quartiles 1.13 sigma^2 / n (1.09 to 1.14, by
 * simulation).
 */
#include "config.h"
#include "core/samples/observe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/linear/stats.h"

enum {
    PRIOR_REPEATS = 20,
    PAIRS_ENOUGH = 8, /* differences that make an estimate */
};

#define AGREE 4.0 /* standard deviations */
#define LEAST_SD 12.0   /* ns, of a least repeat where few rows tell */
#define USUAL_GAPS 2.0  /* of medians over least repeats: no sign of traffic */
#define GAP_DOUBT 0.4   /* of what is more: that a least repeat may have waited */

static double spread_of (const struct sample *s)
{
    double n = s->sent - s->lost;

    return (s->rtt_ns[RTT_P75] - s->rtt_ns[RTT_P25])
           / (1.349 * (1 - 1.25 / n));
}

static double value (const struct sample *s, int quantile)
{
    const double *rtt = s->rtt_ns;

    if (quantile == RTT_MIDDLE)
        return (rtt[RTT_P25] + rtt[RTT_MEDIAN] + rtt[RTT_P75]) / 3;
    return rtt[quantile];
}

/* Its variance over n repeats, in units of one repeat's. */
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

static uint32_t low (const struct sample *s)
{
    return s->a < s->b ? s->a : s->b;
}

static uint32_t high (const struct sample *s)
{
    return s->a < s->b ? s->b : s->a;
}

#define ORDER(x, y) if ((x) != (y)) return (x) < (y) ? -1 : 1

static int compare_samples (const void *va, const void *vb)
{
    const struct sample *x = *(const struct sample *const *)va;
    const struct sample *y = *(const struct sample *const *)vb;

    ORDER (x->round, y->round);
    ORDER (low (x), low (y));
    ORDER (high (x), high (y));
    ORDER (x->initiator, y->initiator);
    ORDER (x, y);
    return 0;
}

static bool same_row (const struct sample *x, const struct sample *y)
{
    return x->round == y->round && low (x) == low (y)
           && high (x) == high (y);
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

/* Of any RTT, by the usual one; v has room for n values. */
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

/* At least `floor`. */
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

/* Merge the n samples of one row, of which one at least is usable. Return
 * whether some do not agree.
 */
static bool merge (struct observation *o, const struct sample *const *s,
                   size_t n, int quantile, double sigma, double floor)
{
    const struct sample *lowest = NULL;
    double weight = 0;
    double sum = 0;
    bool from_a = false;
    bool from_b = false;
    bool disputed = false;
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
        .min_ns = lowest->rtt_ns[RTT_MIN],
    };
    for (size_t i = 0; i < n; i++) {
        double var;
        double d;

        if (!usable (s[i]))
            continue;
        var = variance (s[i], quantile, sigma, floor);
        d = value (s[i], quantile) - value (lowest, quantile);
        o->repeats += s[i]->sent - s[i]->lost;
        o->min_ns = fmin (o->min_ns, s[i]->rtt_ns[RTT_MIN]);
        if (d * d > AGREE * AGREE * (var + var0)) {
            disputed = true;
            continue;
        }
        weight += 1 / var;
        sum += d / var;
        if (s[i]->initiator == o->a)
            from_a = true;
        else
            from_b = true;
    }
    o->rtt_ns = value (lowest, quantile) + sum / weight;
    o->var = fmax (1 / weight, floor);
    o->both = from_a && from_b;
    return disputed;
}

/* Merge by the fastest repeat; *gap: of the better side's median over it. */
static void merge_fastest (struct observation *o,
                           const struct sample *const *s, size_t n,
                           double *gap)
{
    double median = INFINITY;
    bool from[2] = { false };

    *o = (struct observation){ .a = s[0]->a, .b = s[0]->b,
                               .round = s[0]->round, .rtt_ns = INFINITY };
    for (size_t i = 0; i < n; i++) {
        if (!usable (s[i]))
            continue;
        o->repeats += s[i]->sent - s[i]->lost;
        o->rtt_ns = fmin (o->rtt_ns, s[i]->rtt_ns[RTT_MIN]);
        median = fmin (median, s[i]->rtt_ns[RTT_MEDIAN]);
        from[s[i]->initiator == o->a] = true;
    }
    o->min_ns = o->rtt_ns;
    o->both = from[0] && from[1];
    *gap = median - o->rtt_ns;
}

/* What a least repeat of one side scatters by, from the differences of two
 * sides' (1.4826 times the median size over the root of two).
 */
static double least_sd (const struct sample *const *s, size_t n, double *v)
{
    size_t k = 0;

    for (size_t i = 1; i < n; i++)
        if (same_row (s[i - 1], s[i]) && usable (s[i - 1]) && usable (s[i]))
            v[k++] = s[i]->rtt_ns[RTT_MIN] - s[i - 1]->rtt_ns[RTT_MIN];
    return k >= PAIRS_ENOUGH ? stats_mad (v, k, 0) * M_SQRT1_2 : LEAST_SD;
}

/* Variances of rows by their gaps, which v is a copy of. */
static void weigh_gaps (struct observations *o, const double *gap, double *v,
                        double sd, double floor)
{
    double usual;

    memcpy (v, gap, o->n * sizeof (*v));
    usual = o->n > 0 ? stats_median (v, o->n) : 0;
    for (size_t i = 0; i < o->n; i++) {
        double more = fmax (0, gap[i] - USUAL_GAPS * usual);

        o->v[i].var = fmax (sd * sd + pow (GAP_DOUBT * more, 2), floor);
    }
}

static int grow (struct observations *o, size_t size)
{
    uint32_t *link = realloc (o->link, size * sizeof (*link));
    uint8_t *count = realloc (o->count, size);
    uint8_t *forth = realloc (o->forth, size);

    if (link)
        o->link = link;
    if (count)
        o->count = count;
    if (forth)
        o->forth = forth;
    return link && count && forth ? 0 : -1;
}

/* One block holds them all. */
int observe_rows (struct observations *o, const struct pathset *ps,
                  struct error *err)
{
    size_t size = 0;
    size_t used = 0;

    for (size_t i = 0; i < o->n; i++) {
        struct row row;

        if (pathset_row (ps, o->v[i].a, o->v[i].b, &row, err) < 0)
            return -1;
        if (used + row.n > size) {
            size = 2 * size + ROW_MAX;
            if (grow (o, size) < 0)
                return error_nomem (err);
        }
        memcpy (o->link + used, row.link, row.n * sizeof (*row.link));
        memcpy (o->count + used, row.count, row.n);
        memcpy (o->forth + used, row.forth, row.n);
        used += row.n;
        o->v[i].n = row.n;
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
    const struct sample **s = malloc ((n + 1) * sizeof (*s));
    double *v = malloc ((n + 1) * sizeof (*v));
    double *gap = malloc ((n + 1) * sizeof (*gap));
    double sigma;
    double floor;
    int rc = -1;

    *o = (struct observations){ 0 };
    o->v = malloc ((n + 1) * sizeof (*o->v));
    if (!s || !v || !gap || !o->v) {
        error_nomem (err);
        goto done;
    }
    for (size_t i = 0; i < n; i++) {
        s[i] = &samples->sample[i];
        o->sent += s[i]->sent;
        o->lost += s[i]->lost;
    }
    qsort (s, n, sizeof (*s), compare_samples);
    /* medians bear more than the middle does */
    sigma = o->sigma_ns
        = quantile == RTT_FASTEST
              ? least_sd (s, n, v)
              : pool (s, n, quantile == RTT_MIDDLE ? RTT_MEDIAN : quantile, v);
    floor = least_variance (accuracy, s, n, v);
    for (size_t i = 0, end; i < n; i = end) {
        bool some = false;

        for (end = i; end < n && same_row (s[i], s[end]); end++)
            some |= usable (s[end]);
        if (some && quantile == RTT_FASTEST) {
            merge_fastest (&o->v[o->n], s + i, end - i, &gap[o->n]);
            o->n++;
        }
        else if (some)
            o->disputed += merge (&o->v[o->n++], s + i, end - i, quantile,
                                  sigma, floor);
        else
            o->silent++;
    }
    if (quantile == RTT_FASTEST)
        weigh_gaps (o, gap, v, sigma, floor);
    for (size_t i = 0; i < o->n; i++)
        v[i] = o->v[i].rtt_ns - o->v[i].min_ns;
    stats_sort (v, o->n);
    if (o->n > 0)
        o->gap_ns = stats_quantile (v, o->n, 1 / 3.);
    rc = observe_rows (o, ps, err);
done:
    free (s);
    free (v);
    free (gap);
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
