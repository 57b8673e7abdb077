/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes. A flow of a pair keeps to one of many paths. A cable with an excess e
 * in each direction makes it slower by e if it crosses the cable on the way
 * there (chance f) or back (chance b), by 2 e if on both. So the time of a
 * flow, t, has the density
 *
 *     (1 - f)(1 - b) g(t) + (f (1 - b) + b (1 - f)) g(t - e) + f b g(t - 2 e)
 *
 * t is counted from the FAST_SHARE quantile of the pair's flows: even behind a
 * switch with two ports some flows avoid the cable. g is normal. Its spread is
 * that between the FAST_SHARE and the BULK_SHARE quantile of a pair, as delays
 * lift higher ones. All pairs share the spread that CALM_PAIRS_SHARE of them do
 * not exceed: with a host that sleeps, or ports that are busy, a pair's own is
 * more. Of the flows that avoid a slow cable, the fast ones are a greater share,
 * so g's mean is less. Besides, any flow is delayed with a chance of `tail` by a
 * time beyond `cut`: noise of any kind. Up to `cut`, sizes do not count. Messages
 * that wait for others have exponential delays. A host that sleeps makes the mean
 * of all so long that usual delays look like those of a slow cable; Pareto's
 * (Lomax's) distribution does not, its scale is the median of all.
 *
 * Cables with the same f and b for each measured pair form a group, which no
 * number of flows tells apart. For each group, e is chosen from the sizes
 * found. The likeliest group, by all flows, is found if the log likelihood
 * ratio, with a slow cable to without, exceeds EVIDENCE_MIN_LOG_ODDS plus the log of the
 * number of groups, as for the loss of messages (judge/share), in one of two
 * ways. Either that of all flows and that of the flows that may cross the group
 * do, with a tail of either shape: a busy cable or host has a heavier tail, of
 * which some flows that should be slow are not, and sizes do not agree. The
 * excess has to be CLEAR_MIN_SD beyond the fast flows then, as paths differ in
 * length, and the judge only warns, as a queue can look so. Or that of the
 * flows that may cross the group does where each pair has delays of its own, of
 * any density that does not increase with their size (Grenander's estimate): a
 * slow cable's flows are a heap at e. Each likelihood is that of its own best
 * delays. Groups within MARGIN_LOG_ODDS of the likeliest are suspects, too. Then its
 * slow flows are set aside, and the search goes on.
 */
#include "config.h"
#include "core/judge/mixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/linear/stats.h"
#include "util/alloc.h"
#include "util/map.h"
#include "util/pool.h"
#include "util/rng.h"
#include "util/sort.h"

#define EVIDENCE_MIN_LOG_ODDS 8.0
#define MARGIN_LOG_ODDS 3.0
#define FAST_SHARE 0.1
#define BULK_SHARE 0.3
#define FAST_Z \
    1.2816            /* of a normal distribution: standard deviations from
                         FAST_SHARE to the median */
#define BULK_Z 0.5244 /* from BULK_SHARE */
#define CALM_PAIRS_SHARE \
    0.25 /* of the pairs, by their spread: these do not wait */
#define CUT_SD 3.0
#define CLEAR_MIN_SD 6.0
#define BIN_GROWTH 1.05        /* of the bins of delays */
#define SD_MIN_NS 5.0          /* ns; as the judge's accuracy */
#define EXPECTED_FLOWS_MIN 8.0 /* slow flows of a cable that is judged */

enum {
    SIZES_MAX = 32,     /* tried for a group */
    DOUBTS_MAX = 32,    /* groups that are measured again */
    REFINE_STEPS = 3,   /* steps of expectation-maximisation */
    DENSITY_STEPS = 20, /* the same, of delays of any density */
    DELAY_BINS = 256,   /* of these, to 1e6 times the spread */
};

enum tail_shape { TAIL_EXPONENTIAL, TAIL_PARETO, TAIL_SHAPES };

struct mixture_flow {
    uint32_t pair;
    double t;
    bool aside;
};

struct mixture_crossing {
    uint32_t pair;
    double once, twice; /* chances that a round trip crosses the cable */
    double middle;      /* of the flows that do not, if the cable is slow */
};

struct mixture_group {
    size_t first, n;             /* cables */
    size_t crossing, ncrossings; /* pairs that may cross them */
};

/* Of flows that are not aside. */
struct flow_tally {
    double all, over; /* the cut */
    double sum[TAIL_SHAPES]; /* of these, ns beyond it: see tail_delay () */
};

struct mixture {
    struct pool *pool;   /* has all of it */
    uint32_t (*pair)[2]; /* [npairs] endpoints of the set */
    size_t npairs, nuneven;
    size_t *first;       /* [npairs + 1] flows of a pair */
    struct mixture_flow *flow;
    size_t nflows;
    struct mixture_crossing *crossing; /* [ncrossings] by group */
    size_t ncrossings;
    uint32_t *cable;     /* [ncables] by group */
    size_t ncables;
    struct mixture_group *group;
    size_t ngroups;
    double middle, sd, cut;
    double scale;             /* ns: median of the delays beyond the cut */
    struct flow_tally tally;  /* of all */
};

/*
 * Flows
 */

static int compare_flows (const void *va, const void *vb)
{
    const struct mixture_flow *a = va, *b = vb;

    return util_compare (a->pair, b->pair);
}

static void add_mixture_flows (struct mixture *m, struct map *number,
                               const struct pair_flows *s)
{
    uint64_t key = pair_key (s->a, s->b);
    uint32_t pair = map_find (number, key);

    if (pair == MAP_NONE) {
        pair = (uint32_t)m->npairs;
        map_put (number, key, pair);
        m->pair = pool_grow (m->pool, m->pair, m->npairs, sizeof (*m->pair));
        m->pair[m->npairs][0] = (uint32_t)(key >> 32);
        m->pair[m->npairs++][1] = (uint32_t)key;
    }
    for (uint32_t f = 0; f < s->n; f++)
        if (!isnan (s->ns[f])) {
            m->flow
                = pool_grow (m->pool, m->flow, m->nflows, sizeof (*m->flow));
            m->flow[m->nflows++]
                = (struct mixture_flow){ pair, s->ns[f], false };
        }
}

/* Count times from the pairs' fast flows. Find the bulk of those pairs that
 * have a choice of paths.
 */
static void find_bulk (struct mixture *m, const bool *chooses)
{
    double *v = xarray (m->nflows, sizeof (*v));
    double *half = xarray (m->npairs, sizeof (*half));
    size_t pairs = 0;

    for (size_t p = 0; p < m->npairs; p++) {
        size_t first = m->first[p], n = m->first[p + 1] - first;
        double fast;

        for (size_t i = 0; i < n; i++)
            v[i] = m->flow[first + i].t;
        stats_sort (v, n);
        fast = n > 0 ? stats_quantile (v, n, FAST_SHARE) : 0;
        if (n > 0 && chooses[p])
            half[pairs++] = stats_quantile (v, n, BULK_SHARE) - fast;
        for (size_t i = 0; i < n; i++)
            m->flow[first + i].t -= fast;
    }
    stats_sort (half, pairs);
    m->sd = SD_MIN_NS;
    if (pairs > 0)
        m->sd = fmax (SD_MIN_NS, stats_quantile (half, pairs, CALM_PAIRS_SHARE)
                                     / (FAST_Z - BULK_Z));
    m->middle = FAST_Z * m->sd;
    m->cut = m->middle + CUT_SD * m->sd;
    free (v);
    free (half);
}

/* Time beyond the cut, such that it is exponential in each shape. */
static double tail_delay (const struct mixture *m, enum tail_shape shape,
                          double t)
{
    t -= m->cut;
    return shape == TAIL_PARETO ? m->scale * log1p (t / m->scale) : t;
}

static void count_flow (const struct mixture *m, const struct mixture_flow *f,
                        struct flow_tally *tally)
{
    tally->all += !f->aside;
    if (f->aside || f->t <= m->cut)
        return;
    tally->over++;
    for (int s = 0; s < TAIL_SHAPES; s++)
        tally->sum[s] += tail_delay (m, s, f->t);
}

static void count_all (struct mixture *m)
{
    double *v = xarray (m->nflows, sizeof (*v));
    size_t n = 0;

    for (size_t i = 0; i < m->nflows; i++)
        if (!m->flow[i].aside && m->flow[i].t > m->cut)
            v[n++] = m->flow[i].t - m->cut;
    m->scale = n > 0 ? fmax (m->sd, stats_median (v, n)) : m->sd;
    free (v);
    m->tally = (struct flow_tally){ 0 };
    for (size_t i = 0; i < m->nflows; i++)
        count_flow (m, &m->flow[i], &m->tally);
}

/*
 * Groups
 */

struct mixture_entry {
    uint32_t cable;
    struct mixture_crossing c;
};

struct cable_key {
    uint64_t hash; /* of all its crossings */
    uint32_t cable;
    size_t n;      /* crossings */
};

static int compare_keys (const void *va, const void *vb)
{
    const struct cable_key *a = va, *b = vb;

    return a->hash != b->hash ? util_compare (a->hash, b->hash)
                              : util_compare (a->cable, b->cable);
}

/* The same for chances that differ by rounding only. */
static uint64_t hash_crossing (const struct mixture_crossing *c)
{
    return rng_mix (c->pair ^ rng_mix ((uint64_t)(c->once * 1e9 + 0.5))
                    ^ rng_mix (~(uint64_t)(c->twice * 1e9 + 0.5)));
}

/* Add the cables that some messages of one way cross; share[] is set. */
static size_t cross_way (struct multipath *paths, uint32_t from, uint32_t to,
                         uint32_t pair, double *share, const double *other,
                         struct mixture_entry *e)
{
    const struct multipath_share *way;
    size_t n = multipath_shares (paths, from, to, &way), count = 0;

    for (size_t i = 0; i < n; i++) {
        if (way[i].share > MULTIPATH_SURE) /* it is in the fast flows, too */
            continue;
        share[way[i].link] = way[i].share;
        if (other[way[i].link] == 0)
            e[count++]
                = (struct mixture_entry){ way[i].link, { .pair = pair } };
    }
    return count;
}

/* The chances of a pair's round trip, from those of its two ways, of which all
 * are 0 before and after. Return the number of entries.
 */
static size_t cross_pair (struct multipath *paths, uint32_t a, uint32_t b,
                          uint32_t pair, double *there, double *back,
                          struct mixture_entry *e)
{
    size_t n = cross_way (paths, a, b, pair, there, back, e);

    n += cross_way (paths, b, a, pair, back, there, e + n);
    for (size_t i = 0; i < n; i++) {
        double *f = &there[e[i].cable], *g = &back[e[i].cable];

        e[i].c.once = *f * (1 - *g) + *g * (1 - *f);
        e[i].c.twice = *f * *g;
        *f = *g = 0;
    }
    return n;
}

/* Whether the flows of a pair differ in length, from which an excess cannot be
 * told; they are set aside.
 */
static bool set_uneven_aside (struct mixture *m, struct multipath *paths,
                              uint32_t a, uint32_t b, uint32_t pair)
{
    if (!paths->uneven || multipath_within (paths, a, b, NULL) == 0)
        return false;
    for (size_t i = m->first[pair]; i < m->first[pair + 1]; i++)
        m->flow[i].aside = true;
    m->nuneven++;
    return true;
}

/* If a cable is slow, the FAST_SHARE quantile of a pair's flows is a higher one of
 * those that avoid it.
 */
static void set_middles (struct mixture *m)
{
    for (size_t k = 0; k < m->ncrossings; k++) {
        struct mixture_crossing *c = &m->crossing[k];
        double fast = FAST_SHARE / (1 - c->once - c->twice);

        c->middle
            = fast < 0.5 ? m->sd * stats_normal_two_sided (2 * fast) : 0;
    }
}

/* Put cables that all pairs cross alike into one group: those with the same key
 * follow one another. number[] of the first cable is its group's.
 */
static void make_groups (struct mixture *m, const struct cable_key *key,
                         uint32_t *number)
{
    m->cable = pool_alloc (m->pool, m->ncables, sizeof (*m->cable));
    m->group = pool_alloc (m->pool, m->ncables, sizeof (*m->group));
    for (size_t k = 0; k < m->ncables; k++) {
        m->cable[k] = key[k].cable;
        if (k > 0 && key[k].hash == key[k - 1].hash) {
            m->group[m->ngroups - 1].n++;
            continue;
        }
        number[key[k].cable] = (uint32_t)m->ngroups;
        m->group[m->ngroups++]
            = (struct mixture_group){ .first = k, .n = 1,
                                      .crossing = m->ncrossings };
        m->ncrossings += key[k].n;
    }
    m->crossing = pool_alloc (m->pool, m->ncrossings, sizeof (*m->crossing));
}

static void add_key (struct cable_key *key, const struct mixture_entry *e)
{
    key->cable = e->cable;
    key->hash += hash_crossing (&e->c);
    key->n++;
}

static void add_crossing (struct mixture *m, struct mixture_group *g,
                          const struct mixture_crossing *c)
{
    m->crossing[g->crossing + g->ncrossings++] = *c;
}

/* Find the groups, and which pairs have a choice of paths. The crossings of all
 * cables would not fit into memory, so they are computed twice: what they are
 * alike by, and those of one cable of each group.
 */
static void find_mixture_groups (struct mixture *m, struct multipath *paths,
                                 const struct pathset *ps, bool *chooses)
{
    size_t nlinks = paths->under->nlinks;
    double *there = xcalloc (nlinks, sizeof (*there));
    double *back = xcalloc (nlinks, sizeof (*back));
    struct mixture_entry *e = xarray (nlinks, sizeof (*e));
    struct cable_key *key = xcalloc (nlinks, sizeof (*key));
    uint32_t *number = xarray (nlinks, sizeof (*number));

    memset (number, 0xff, nlinks * sizeof (*number));
    for (int turn = 0; turn < 2; turn++) {
        for (uint32_t p = 0; p < m->npairs; p++) {
            uint32_t a = pathset_endpoint (ps, m->pair[p][0])->id;
            uint32_t b = pathset_endpoint (ps, m->pair[p][1])->id;
            size_t n;

            if (turn == 0 ? set_uneven_aside (m, paths, a, b, p) : !chooses[p])
                continue;
            n = cross_pair (paths, a, b, p, there, back, e);
            chooses[p] = n > 0;
            for (size_t i = 0; i < n && turn == 0; i++)
                add_key (&key[e[i].cable], &e[i]);
            for (size_t i = 0; i < n && turn > 0; i++)
                if (number[e[i].cable] != NETWORK_NONE)
                    add_crossing (m, &m->group[number[e[i].cable]], &e[i].c);
        }
        if (turn > 0)
            break;
        for (size_t l = 0; l < nlinks; l++)
            if (key[l].n > 0)
                key[m->ncables++] = key[l];
        qsort (key, m->ncables, sizeof (*key), compare_keys);
        make_groups (m, key, number);
    }
    free (there);
    free (back);
    free (e);
    free (key);
    free (number);
}

struct mixture *mixture_create (struct multipath *paths,
                                const struct pathset *ps,
                                const struct pair_flows *flows, size_t n)
{
    struct pool *pool = pool_create ();
    struct mixture *m = pool_alloc (pool, 1, sizeof (*m));
    struct map number = { 0 };
    bool *chooses;

    m->pool = pool;
    for (size_t i = 0; i < n; i++)
        if (flows[i].n > 0)
            add_mixture_flows (m, &number, &flows[i]);
    map_clear (&number);
    if (m->nflows == 0) {
        mixture_destroy (m);
        return NULL;
    }
    qsort (m->flow, m->nflows, sizeof (*m->flow), compare_flows);
    m->first = pool_alloc (pool, m->npairs + 1, sizeof (*m->first));
    for (size_t i = 0; i < m->nflows; i++)
        m->first[m->flow[i].pair + 1]++;
    for (size_t p = 0; p < m->npairs; p++)
        m->first[p + 1] += m->first[p];
    chooses = pool_alloc (pool, m->npairs, sizeof (*chooses));
    find_mixture_groups (m, paths, ps, chooses);
    find_bulk (m, chooses);
    count_all (m);
    set_middles (m);
    return m;
}

void mixture_destroy (struct mixture *m)
{
    if (m)
        pool_destroy (m->pool);
}

/*
 * Likelihoods
 */

/* What lies beyond the cut without a slow cable. */
struct mixture_tail {
    enum tail_shape shape;
    double share, mean; /* of tail_delay () */
};

static struct mixture_tail tail_of (const struct mixture *m,
                                    enum tail_shape shape,
                                    const struct flow_tally *of)
{
    return (struct mixture_tail){
        .shape = shape,
        .share = (of->over + 0.5) / (of->all + 1),
        .mean = (of->sum[shape] + m->sd) / (of->over + 1),
    };
}

static double log_tail (const struct mixture_tail *t,
                        const struct flow_tally *of)
{
    return (of->all - of->over) * log1p (-t->share)
           + of->over * log (t->share / t->mean) - of->sum[t->shape] / t->mean;
}

static double normal (double t, double sd)
{
    return 0.375 / sd * pow (1 + t * t / (4 * sd * sd), -2.5);
}

/* A group with an excess. */
struct mixture_fit {
    double excess, less;  /* log likelihood ratio against none */
    double slow, sum;     /* flows that cross it, by their chances; of these,
                             ns */
    double expected;      /* flows that cross it, if it is slow or not */
    struct flow_tally tally;   /* of those that may cross it */
};

/* The chance that a normal time about `middle` is beyond the cut. */
static double beyond (const struct mixture *m, double middle)
{
    return 0.5 * erfc ((m->cut - middle) / m->sd * M_SQRT1_2);
}

/* One step: the likelihood of `of` with an excess and a tail, which the chances
 * of flows then estimate anew.
 */
static void evaluate (const struct mixture *m, const struct mixture_group *g,
                      const struct flow_tally *of, struct mixture_tail *tail,
                      struct mixture_fit *fit)
{
    double e = fit->excess, less = 0, sum = 0;
    struct flow_tally rest = *of;

    *fit = (struct mixture_fit){ .excess = e };
    for (size_t k = g->crossing; k < g->crossing + g->ncrossings; k++) {
        const struct mixture_crossing *c = &m->crossing[k];
        double fast = log1p (-c->once * beyond (m, c->middle + e)
                             - c->twice * beyond (m, c->middle + 2 * e));

        for (size_t i = m->first[c->pair]; i < m->first[c->pair + 1]; i++) {
            const struct mixture_flow *f = &m->flow[i];
            double none, one, two, all, far; /* none: its log */

            if (f->aside)
                continue;
            count_flow (m, f, &fit->tally);
            fit->expected += c->once + c->twice;
            if (f->t <= m->cut) {
                less += fast;
                continue;
            }
            far = tail_delay (m, tail->shape, f->t);
            none = log (tail->share / tail->mean) - far / tail->mean;
            if (tail->shape == TAIL_PARETO)
                none -= log1p ((f->t - m->cut) / m->scale);
            one = (1 - tail->share) * c->once
                  * normal (f->t - c->middle - e, m->sd);
            two = (1 - tail->share) * c->twice
                  * normal (f->t - c->middle - 2 * e, m->sd);
            all = exp (none) + one + two; /* exp may give 0 */
            less += log (all) - none;
            fit->slow += (one + two) / all;
            sum += (one + two) / all * far;
            fit->sum += (one * (f->t - c->middle)
                         + two * (f->t - c->middle) / 2) / all;
        }
    }
    fit->less = less + log_tail (tail, of);
    rest.over -= fit->slow;
    rest.all -= fit->slow;
    rest.sum[tail->shape] -= sum;
    *tail = tail_of (m, tail->shape, &rest);
}

/* The likelihood ratio of a group with an excess, by the flows of a tally. */
static void try_excess (const struct mixture *m, const struct mixture_group *g,
                        const struct flow_tally *of, enum tail_shape shape,
                        double excess, bool refine, struct mixture_fit *fit)
{
    struct mixture_tail none = tail_of (m, shape, of), tail = none;

    fit->excess = excess;
    for (int i = 0; i < REFINE_STEPS; i++) {
        evaluate (m, g, of, &tail, fit);
        /* the mean of a normal distribution that is cut off */
        if (refine && fit->slow > 0.5)
            fit->excess = fit->sum / fit->slow
                          - m->sd * m->sd
                                * normal (m->cut - m->middle - fit->excess,
                                          m->sd)
                                / beyond (m, m->middle + fit->excess);
    }
    fit->less -= log_tail (&none, of);
}

/* The most likely excess of a group. */
static struct mixture_fit fit_group (const struct mixture *m,
                                     const struct mixture_group *g)
{
    struct mixture_fit best = { .less = -INFINITY }, fit;
    double *size = NULL;
    size_t n = 0, step;

    for (size_t k = g->crossing; k < g->crossing + g->ncrossings; k++) {
        uint32_t pair = m->crossing[k].pair;

        for (size_t i = m->first[pair]; i < m->first[pair + 1]; i++)
            if (!m->flow[i].aside && m->flow[i].t > m->cut) {
                size = xgrow (size, n, sizeof (*size));
                size[n++] = m->flow[i].t - m->middle;
            }
    }
    if (n > 0)
        stats_sort (size, n);
    step = n / SIZES_MAX + 1;
    for (size_t i = step / 2; i < n; i += step) {
        try_excess (m, g, &m->tally, TAIL_EXPONENTIAL, size[i], true, &fit);
        if (fit.less > best.less)
            best = fit;
    }
    free (size);
    return best;
}

static void set_aside (struct mixture *m, const struct mixture_group *g,
                       const struct mixture_fit *fit)
{
    for (size_t k = g->crossing; k < g->crossing + g->ncrossings; k++) {
        uint32_t pair = m->crossing[k].pair;

        for (size_t i = m->first[pair]; i < m->first[pair + 1]; i++) {
            struct mixture_flow *f = &m->flow[i];

            /* that it crosses the cable once or twice, in round numbers */
            if (f->t > m->cut && f->t > 0.5 * fit->excess
                && f->t < 2.5 * fit->excess)
                f->aside = true;
        }
    }
    count_all (m);
}

/*
 * Delays of any density
 */

static unsigned int bin_of (const struct mixture *m, double t)
{
    double k = log1p ((t - m->cut) * (BIN_GROWTH - 1) / (m->sd / 2))
               / log (BIN_GROWTH);

    return k < DELAY_BINS - 1 ? (unsigned int)k : DELAY_BINS - 1;
}

/* The likeliest density of `weight` that does not increase: neighbours that do
 * are pooled.
 */
static void make_decreasing (const struct mixture *m, const double *weight,
                             double *density)
{
    double mass[DELAY_BINS], width[DELAY_BINS], next = m->sd / 2, sum = 0;
    unsigned int end[DELAY_BINS], n = 0;

    for (unsigned int b = 0; b < DELAY_BINS; b++, next *= BIN_GROWTH) {
        mass[n] = weight[b];
        width[n] = next;
        end[n++] = b + 1;
        sum += weight[b];
        for (; n > 1 && mass[n - 1] * width[n - 2] > mass[n - 2] * width[n - 1];
             n--) {
            mass[n - 2] += mass[n - 1];
            width[n - 2] += width[n - 1];
            end[n - 2] = end[n - 1];
        }
    }
    for (unsigned int b = 0, k = 0; b < DELAY_BINS; b++) {
        k += b == end[k];
        density[b] = sum > 0 ? mass[k] / width[k] / sum : 0;
    }
}

/* How much likelier the flows of a pair are with an excess than without, if its
 * delays have any such density.
 */
static double pair_evidence (const struct mixture *m,
                             const struct mixture_crossing *c, double excess)
{
    double fast = log1p (-c->once * beyond (m, c->middle + excess)
                         - c->twice * beyond (m, c->middle + 2 * excess));
    double weight[DELAY_BINS] = { 0 }, density[DELAY_BINS], with = 0,
           without = 0;
    double all = 0, delayed = 0;

    for (size_t i = m->first[c->pair]; i < m->first[c->pair + 1]; i++) {
        const struct mixture_flow *f = &m->flow[i];

        all += !f->aside;
        if (f->aside || f->t <= m->cut)
            continue;
        delayed++;
        weight[bin_of (m, f->t)]++;
    }
    for (int step = 0; step <= DENSITY_STEPS; step++) {
        double share = (delayed + 0.5) / (all + 1);

        make_decreasing (m, weight, density);
        memset (weight, 0, sizeof (weight));
        delayed = with = 0;
        for (size_t i = m->first[c->pair]; i < m->first[c->pair + 1]; i++) {
            const struct mixture_flow *f = &m->flow[i];
            double none, slow;
            unsigned int bin;

            if (f->aside)
                continue;
            if (f->t <= m->cut) {
                with += log1p (-share) + fast;
                without += step == 0 ? log1p (-share) : 0;
                continue;
            }
            bin = bin_of (m, f->t);
            none = share * density[bin];
            slow = c->once * normal (f->t - c->middle - excess, m->sd)
                   + c->twice * normal (f->t - c->middle - 2 * excess, m->sd);
            slow *= 1 - share;
            with += log (none + slow);
            without += step == 0 ? log (none) : 0;
            weight[bin] += none / (none + slow);
            delayed += none / (none + slow);
        }
    }
    return with - without;
}

static double evidence_threshold (const struct mixture *m)
{
    return EVIDENCE_MIN_LOG_ODDS + log ((double)m->ngroups);
}

/* Whether a group with an excess is found by the flows of all pairs. */
static bool is_far (const struct mixture *m, const struct mixture_group *g,
                    const struct mixture_fit *fit)
{
    bool far = fit->less > evidence_threshold (m)
               && fit->excess > CLEAR_MIN_SD * m->sd;

    for (int shape = 0; shape < TAIL_SHAPES && far; shape++) {
        struct mixture_fit all, alone;

        try_excess (m, g, &m->tally, shape, fit->excess, false, &all);
        try_excess (m, g, &fit->tally, shape, fit->excess, false, &alone);
        far = all.less > evidence_threshold (m)
              && alone.less > evidence_threshold (m);
    }
    return far;
}

/* Whether it is found beside each pair's own delays. */
static bool is_heap (const struct mixture *m, const struct mixture_group *g,
                     const struct mixture_fit *fit)
{
    double heap = 0;

    for (size_t i = 0; i < g->ncrossings && fit->less > evidence_threshold (m);
         i++)
        heap += pair_evidence (m, &m->crossing[g->crossing + i], fit->excess);
    return heap > evidence_threshold (m);
}

static bool is_group_slow (const struct mixture *m,
                           const struct mixture_group *g,
                           const struct mixture_fit *fit)
{
    return is_far (m, g, fit) || is_heap (m, g, fit);
}

bool mixture_next (struct mixture *m, struct slow_cable *found)
{
    size_t best = SIZE_MAX;
    struct mixture_fit *fit;

    if (m->tally.over == 0)
        return false;
    fit = xarray (m->ngroups, sizeof (*fit));
    for (size_t g = 0; g < m->ngroups; g++) {
        fit[g] = fit_group (m, &m->group[g]);
        if ((best == SIZE_MAX || fit[g].less > fit[best].less)
            && is_group_slow (m, &m->group[g], &fit[g]))
            best = g;
    }
    if (best != SIZE_MAX) {
        const struct mixture_fit *b = &fit[best];

        *found = (struct slow_cable){
            .cable = pool_alloc (m->pool, m->ncables, sizeof (*found->cable)),
            .group = m->group[best].n,
            .excess_ns = b->excess,
            .stderr_ns = m->sd / sqrt (fmax (1, b->slow)),
            .spread_ns = m->sd,
            .slow = (size_t)(b->slow + 0.5),
            .flows = (size_t)b->tally.all,
            .expected = b->expected,
            .heap = is_heap (m, &m->group[best], b),
        };
        for (size_t g = 0; g < m->ngroups; g++) {
            size_t of = g == 0 ? best : g <= best ? g - 1 : g;

            if (fit[of].less <= b->less - MARGIN_LOG_ODDS)
                continue;
            memcpy (found->cable + found->n, m->cable + m->group[of].first,
                    m->group[of].n * sizeof (*m->cable));
            found->n += m->group[of].n;
        }
        set_aside (m, &m->group[best], b);
    }
    free (fit);
    return best != SIZE_MAX;
}

double mixture_evidence (struct mixture *m, uint32_t cable, double excess_ns,
                         bool *clear)
{
    for (size_t g = 0; g < m->ngroups; g++)
        for (size_t k = 0; k < m->group[g].n; k++)
            if (m->cable[m->group[g].first + k] == cable) {
                struct mixture_fit fit;

                try_excess (m, &m->group[g], &m->tally, TAIL_EXPONENTIAL,
                            excess_ns, false, &fit);
                *clear |= is_group_slow (m, &m->group[g], &fit);
                return fit.less;
            }
    return 0;
}

struct mixture_doubt {
    size_t group;
    double less;
};

static int compare_doubts (const void *va, const void *vb)
{
    const struct mixture_doubt *a = va, *b = vb;

    return util_compare (b->less, a->less);
}

static int compare_crossings (const void *va, const void *vb)
{
    const struct mixture_crossing *a = va, *b = vb;

    return util_compare (b->once + b->twice, a->once + a->twice);
}

size_t mixture_doubts (struct mixture *m, struct probe **pair)
{
    struct mixture_doubt *doubt = xarray (m->ngroups, sizeof (*doubt));
    bool *taken = xcalloc (m->npairs, sizeof (*taken)), more = true;
    size_t n = 0, ndoubts = 0;

    *pair = xarray (m->npairs, sizeof (**pair));
    for (size_t g = 0; g < m->ngroups && m->tally.over > 0; g++) {
        double less = fit_group (m, &m->group[g]).less;

        if (less > 0)
            doubt[ndoubts++] = (struct mixture_doubt){ g, less };
    }
    if (ndoubts > 0)
        qsort (doubt, ndoubts, sizeof (*doubt), compare_doubts);
    if (ndoubts > DOUBTS_MAX)
        ndoubts = DOUBTS_MAX;
    for (size_t i = 0; i < ndoubts; i++) {
        struct mixture_group *g = &m->group[doubt[i].group];

        qsort (m->crossing + g->crossing, g->ncrossings,
               sizeof (*m->crossing), compare_crossings);
    }
    /* the best pair of each in turn */
    for (size_t k = 0; more; k++) {
        more = false;
        for (size_t i = 0; i < ndoubts; i++) {
            const struct mixture_group *g = &m->group[doubt[i].group];
            uint32_t p;

            if (k >= g->ncrossings)
                continue;
            more = true;
            p = m->crossing[g->crossing + k].pair;
            if (!taken[p])
                (*pair)[n++] = (struct probe){ m->pair[p][0], m->pair[p][1] };
            taken[p] = true;
        }
    }
    free (doubt);
    free (taken);
    return n;
}

size_t mixture_cables (const struct mixture *m, size_t *judged,
                       size_t *uneven)
{
    *uneven = m->nuneven;
    *judged = 0;
    for (size_t g = 0; g < m->ngroups; g++) {
        const struct mixture_group *of = &m->group[g];
        double expected = 0;

        for (size_t k = of->crossing; k < of->crossing + of->ncrossings; k++) {
            const struct mixture_crossing *c = &m->crossing[k];

            expected += (c->once + c->twice)
                        * (double)(m->first[c->pair + 1] - m->first[c->pair]);
        }
        if (expected > EXPECTED_FLOWS_MIN)
            *judged += of->n;
    }
    return m->ncables;
}
