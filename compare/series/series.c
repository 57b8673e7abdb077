/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "compare/series/series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/linear/stats.h"
#include "util/alloc.h"
#include "util/sort.h"

static const char *const tests[SERIES_TESTS] = {
    [SERIES_ONE_TO_ONE] = "one_to_one",
    [SERIES_ASYNC_ONE_TO_ONE] = "async_one_to_one",
    [SERIES_ALL_TO_ALL] = "all_to_all",
    [SERIES_NOISE] = "test_noise",
    [SERIES_NOISE_BLOCKING] = "test_noise_blocking",
    [SERIES_TOPOLOGY] = "topology",
};

static const char *const shapes[SERIES_SHAPES] = {
    [SERIES_STAR] = "star",
    [SERIES_COMPLETE] = "complete",
    [SERIES_RING] = "ring",
};

static const char *const stats[SERIES_STATS] = {
    [SERIES_MIN] = "min",       [SERIES_P25] = "p25",
    [SERIES_MEDIAN] = "median", [SERIES_P75] = "p75",
    [SERIES_MAX] = "max",       [SERIES_MEAN] = "mean",
    [SERIES_SD] = "sd",
};

static int find (const char *const *names, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (!strcmp (names[i], name))
            return i;
    return -1;
}

const char *series_test_name (enum series_test test)
{
    return tests[test];
}

const char *series_shape_name (enum series_shape shape)
{
    return shapes[shape];
}

const char *series_stat_name (enum series_stat stat)
{
    return stats[stat];
}

int series_test_find (const char *name)
{
    return find (tests, SERIES_TESTS, name);
}

int series_shape_find (const char *name)
{
    return find (shapes, SERIES_SHAPES, name);
}

int series_stat_find (const char *name)
{
    return find (stats, SERIES_STATS, name);
}

struct series *series_create (enum series_test test)
{
    struct series *s = xcalloc (1, sizeof (*s));

    s->test = test;
    s->complete = true;
    return s;
}

void series_destroy (struct series *s)
{
    if (!s)
        return;
    for (uint32_t i = 0; i < s->nprocesses; i++) {
        free (s->process[i].label);
        free (s->process[i].host);
    }
    free (s->process);
    free (s->length);
    free (s->pair);
    free (s->topology);
    free (s);
}

static int check_word (const char *what, const char *word, struct error *err)
{
    size_t len = strlen (word);

    if (len == 0 || len > SERIES_WORD_MAX)
        return error_input (err, "%s: 1 to %d bytes are wanted", what,
                            SERIES_WORD_MAX);
    for (size_t i = 0; i < len; i++)
        if (word[i] <= ' ' || word[i] > '~')
            return error_input (err, "%s '%s': a blank, or a byte that is "
                                     "not printable", what, word);
    return 0;
}

int series_add_process (struct series *s, const char *label,
                        const char *host, struct error *err)
{
    if (!label)
        label = host;
    if (check_word ("host", host, err) < 0
        || check_word ("label", label, err) < 0)
        return -1;
    if (s->nprocesses == SERIES_PROCESSES_MAX)
        return error_input (err, "more than %d processes",
                            SERIES_PROCESSES_MAX);
    s->process = xgrow (s->process, s->nprocesses, sizeof (*s->process));
    s->process[s->nprocesses++] = (struct series_process){
        .label = xstrdup (label),
        .host = xstrdup (host),
    };
    return 0;
}

static int add_length (struct series *s, uint64_t length, struct error *err)
{
    size_t i = s->nlengths;

    while (i > 0 && s->length[i - 1] > length)
        i--;
    if (i > 0 && s->length[i - 1] == length)
        return 0;
    if (length > INT64_MAX)
        return error_input (err, "length %ju is too large",
                            (uintmax_t)length);
    if (s->nlengths == SERIES_LENGTHS_MAX)
        return error_input (err, "more than %d lengths", SERIES_LENGTHS_MAX);
    s->length = xgrow (s->length, s->nlengths, sizeof (*s->length));
    memmove (&s->length[i + 1], &s->length[i],
             (s->nlengths - i) * sizeof (*s->length));
    s->length[i] = length;
    s->nlengths++;
    return 0;
}

static int check_counts (uint32_t count, uint32_t lost, struct error *err)
{
    if (count > SERIES_COUNT_MAX || lost > count)
        return error_input (err, "%ju of %ju lost", (uintmax_t)lost,
                            (uintmax_t)count);
    return 0;
}

int series_add_pair (struct series *s, const struct series_pair *pair,
                     struct error *err)
{
    if (pair->a >= s->nprocesses || pair->b >= s->nprocesses)
        return error_input (err, "pair %ju %ju: there are %ju processes",
                            (uintmax_t)pair->a, (uintmax_t)pair->b,
                            (uintmax_t)s->nprocesses);
    if (check_counts (pair->count, pair->lost, err) < 0)
        return -1;
    if (s->npairs == SERIES_PAIRS_MAX)
        return error_input (err, "more than %d pairs", SERIES_PAIRS_MAX);
    if (add_length (s, pair->length, err) < 0)
        return -1;
    s->pair = xgrow (s->pair, s->npairs, sizeof (*s->pair));
    s->pair[s->npairs++] = *pair;
    return 0;
}

int series_add_topology (struct series *s, const struct series_topology *t,
                         struct error *err)
{
    if (check_counts (t->count, t->lost, err) < 0)
        return -1;
    if (s->ntopologies == SERIES_TOPOLOGIES_MAX)
        return error_input (err, "more than %d topologies",
                            SERIES_TOPOLOGIES_MAX);
    if (add_length (s, t->length, err) < 0)
        return -1;
    s->topology = xgrow (s->topology, s->ntopologies, sizeof (*s->topology));
    s->topology[s->ntopologies++] = *t;
    return 0;
}

static int compare_pairs (const void *x, const void *y)
{
    const struct series_pair *p = x, *q = y;
    int order = util_compare (p->length, q->length);

    if (order == 0)
        order = util_compare (p->a, q->a);
    return order ? order : util_compare (p->b, q->b);
}

static int compare_topologies (const void *x, const void *y)
{
    const struct series_topology *p = x, *q = y;
    int order = util_compare (p->length, q->length);

    if (order == 0)
        order = util_compare (p->shape, q->shape);
    return order ? order : util_compare (p->both_ways, q->both_ways);
}

int series_sort (struct series *s, struct error *err)
{
    if (s->npairs > 0)
        qsort (s->pair, s->npairs, sizeof (*s->pair), compare_pairs);
    if (s->ntopologies > 0)
        qsort (s->topology, s->ntopologies, sizeof (*s->topology),
               compare_topologies);
    for (size_t i = 1; i < s->npairs; i++)
        if (compare_pairs (&s->pair[i - 1], &s->pair[i]) == 0)
            return error_input (err, "pair %s %s, length %ju: there twice",
                                s->process[s->pair[i].a].label,
                                s->process[s->pair[i].b].label,
                                (uintmax_t)s->pair[i].length);
    for (size_t i = 1; i < s->ntopologies; i++)
        if (compare_topologies (&s->topology[i - 1], &s->topology[i]) == 0)
            return error_input (err, "%s, length %ju: there twice",
                                shapes[s->topology[i].shape],
                                (uintmax_t)s->topology[i].length);
    return 0;
}

static bool among (uint64_t length, const uint64_t *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (v[i] == length)
            return true;
    return false;
}

void series_keep (struct series *s, const uint64_t *length, size_t n)
{
    size_t pairs = 0, topologies = 0, lengths = 0;

    for (size_t i = 0; i < s->npairs; i++)
        if (among (s->pair[i].length, length, n))
            s->pair[pairs++] = s->pair[i];
    for (size_t i = 0; i < s->ntopologies; i++)
        if (among (s->topology[i].length, length, n))
            s->topology[topologies++] = s->topology[i];
    for (size_t i = 0; i < s->nlengths; i++)
        if (among (s->length[i], length, n))
            s->length[lengths++] = s->length[i];
    s->npairs = pairs;
    s->ntopologies = topologies;
    s->nlengths = lengths;
}

const struct series_pair *series_at (const struct series *s, uint32_t a,
                                     uint32_t b, uint64_t length)
{
    struct series_pair key = { .a = a, .b = b, .length = length };

    return s->npairs == 0 ? NULL
                          : bsearch (&key, s->pair, s->npairs,
                                     sizeof (key), compare_pairs);
}

const struct series_topology *series_topology_at (const struct series *s,
                                                  enum series_shape shape,
                                                  bool both_ways,
                                                  uint64_t length)
{
    struct series_topology key = {
        .shape = shape,
        .both_ways = both_ways,
        .length = length,
    };

    return s->ntopologies == 0 ? NULL
                               : bsearch (&key, s->topology, s->ntopologies,
                                          sizeof (key), compare_topologies);
}

static bool knows (const struct series *s, enum series_stat stat)
{
    for (size_t i = 0; i < s->npairs; i++)
        if (series_measured (&s->pair[i])
            && !isnan (s->pair[i].time_ns[stat]))
            return true;
    for (size_t i = 0; i < s->ntopologies; i++)
        if (s->topology[i].lost < s->topology[i].count
            && !isnan (s->topology[i].time_ns[stat]))
            return true;
    return false;
}

enum series_stat series_stat_known (const struct series *s,
                                    enum series_stat stat)
{
    if (!knows (s, stat))
        for (int i = 0; i < SERIES_STATS; i++)
            if (knows (s, i))
                return i;
    return stat;
}

/* The mean is clamped to the extremes, which rounding may exceed. */
void series_stats (double *v, size_t n, double out[SERIES_STATS])
{
    double sum = 0;
    double squares = 0;

    stats_sort (v, n);
    out[SERIES_MIN] = v[0];
    out[SERIES_P25] = stats_quantile (v, n, 0.25);
    out[SERIES_MEDIAN] = stats_quantile (v, n, 0.5);
    out[SERIES_P75] = stats_quantile (v, n, 0.75);
    out[SERIES_MAX] = v[n - 1];
    for (size_t i = 0; i < n; i++)
        sum += v[i] / (double)n;
    out[SERIES_MEAN] = fmin (fmax (sum, v[0]), v[n - 1]);
    for (size_t i = 0; i < n; i++)
        squares += (v[i] - sum) * (v[i] - sum);
    out[SERIES_SD] = n > 1 ? sqrt (squares / (double)(n - 1)) : 0;
}

uint64_t series_exchanges (enum series_shape shape, uint32_t n)
{
    switch (shape) {
    case SERIES_STAR:
        return n > 0 ? n - 1 : 0;
    case SERIES_RING:
        return n;
    default:
        return (uint64_t)n * (n - 1) / 2;
    }
}

uint64_t series_exchanges_of (enum series_shape shape, uint32_t n,
                              uint32_t i)
{
    switch (shape) {
    case SERIES_STAR:
        return i == 0 ? n - 1 : 1;
    case SERIES_RING:
        return 2;
    default:
        return n - 1;
    }
}
