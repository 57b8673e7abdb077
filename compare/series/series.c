/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "compare/series/series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/linear/stats.h"
#include "util/alloc.h"
#include "util/sort.h"

const char *const series_test_names[] = {
    [SERIES_ONE_TO_ONE] = "one_to_one",
    [SERIES_ASYNC_ONE_TO_ONE] = "async_one_to_one",
    [SERIES_ALL_TO_ALL] = "all_to_all",
    [SERIES_NOISE] = "test_noise",
    [SERIES_NOISE_BLOCKING] = "test_noise_blocking",
    [SERIES_TOPOLOGY] = "topology",
    NULL,
};

const char *const series_shape_names[] = {
    [SERIES_PAIR] = "",
    [SERIES_STAR] = "star",
    [SERIES_COMPLETE] = "complete",
    [SERIES_RING] = "ring",
    NULL,
};

const char *const series_stat_names[] = {
    [SERIES_MIN] = "min",       [SERIES_P25] = "p25",
    [SERIES_MEDIAN] = "median", [SERIES_P75] = "p75",
    [SERIES_MAX] = "max",       [SERIES_MEAN] = "mean",
    [SERIES_SD] = "sd",         NULL,
};

int series_find (const char *const *names, const char *name)
{
    for (int i = 0; names[i]; i++)
        if (!strcmp (names[i], name))
            return i;
    return -1;
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
    free (s->row);
    free (s);
}

static int check_word (const char *what, const char *word, struct error *err)
{
    size_t len = strlen (word);

    if (len == 0 || len > SERIES_WORD_MAX)
        return error_input (err, "%s: need 1 to %d bytes", what,
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
        .label = xstrdup (label), .host = xstrdup (host),
    };
    return 0;
}

static int add_series_length (struct series *s, uint64_t length,
                              struct error *err)
{
    size_t i = s->nlengths;

    while (i > 0 && s->length[i - 1] > length)
        i--;
    if (i > 0 && s->length[i - 1] == length)
        return 0;
    if (length > INT64_MAX)
        return error_input (err, "length %ju is too large", (uintmax_t)length);
    if (s->nlengths == SERIES_LENGTHS_MAX)
        return error_input (err, "more than %d lengths", SERIES_LENGTHS_MAX);
    s->length = xgrow (s->length, s->nlengths, sizeof (*s->length));
    memmove (&s->length[i + 1], &s->length[i],
             (s->nlengths - i) * sizeof (*s->length));
    s->length[i] = length;
    s->nlengths++;
    return 0;
}

int series_add (struct series *s, const struct series_row *row,
                struct error *err)
{
    bool pair = row->shape == SERIES_PAIR;
    size_t n = pair ? s->npairs : s->nrows - s->npairs;
    size_t max = pair ? SERIES_PAIRS_MAX : SERIES_TOPOLOGIES_MAX;

    if (pair && (row->a >= s->nprocesses || row->b >= s->nprocesses))
        return error_input (err, "pair %ju %ju: there are %ju processes",
                            (uintmax_t)row->a, (uintmax_t)row->b,
                            (uintmax_t)s->nprocesses);
    if (row->count > SERIES_COUNT_MAX || row->lost > row->count)
        return error_input (err, "%ju of %ju lost", (uintmax_t)row->lost,
                            (uintmax_t)row->count);
    if (n == max)
        return error_input (err, "more than %zu %s", max,
                            pair ? "pairs" : "topologies");
    if (add_series_length (s, row->length, err) < 0)
        return -1;
    s->row = xgrow (s->row, s->nrows, sizeof (*s->row));
    s->row[s->nrows] = *row;
    if (pair) { /* the first topology moves to the end */
        s->row[s->nrows] = s->row[s->npairs];
        s->row[s->npairs++] = *row;
    }
    s->nrows++;
    return 0;
}

/* Pairs first. */
static int compare_rows (const void *x, const void *y)
{
    const struct series_row *p = x, *q = y;
    int order = util_compare (p->shape != SERIES_PAIR,
                              q->shape != SERIES_PAIR);

    if (order == 0)
        order = util_compare (p->length, q->length);
    if (order == 0)
        order = util_compare (p->shape, q->shape);
    if (order == 0)
        order = util_compare (p->both_ways, q->both_ways);
    if (order == 0)
        order = util_compare (p->a, q->a);
    return order ? order : util_compare (p->b, q->b);
}

int series_sort (struct series *s, struct error *err)
{
    if (s->nrows > 0)
        qsort (s->row, s->nrows, sizeof (*s->row), compare_rows);
    for (size_t i = 1; i < s->nrows; i++) {
        const struct series_row *r = &s->row[i];

        if (compare_rows (r - 1, r) != 0)
            continue;
        if (r->shape == SERIES_PAIR)
            return error_input (err, "pair %s %s, length %ju: listed twice",
                                s->process[r->a].label, s->process[r->b].label,
                                (uintmax_t)r->length);
        return error_input (err, "%s, length %ju: listed twice",
                            series_shape_names[r->shape], (uintmax_t)r->length);
    }
    return 0;
}

static bool contains_length (uint64_t length, const uint64_t *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (v[i] == length)
            return true;
    return false;
}

void series_keep (struct series *s, const uint64_t *length, size_t n)
{
    size_t rows = 0, lengths = 0;

    s->npairs = 0;
    for (size_t i = 0; i < s->nrows; i++)
        if (contains_length (s->row[i].length, length, n)) {
            s->npairs += s->row[i].shape == SERIES_PAIR;
            s->row[rows++] = s->row[i];
        }
    for (size_t i = 0; i < s->nlengths; i++)
        if (contains_length (s->length[i], length, n))
            s->length[lengths++] = s->length[i];
    s->nrows = rows;
    s->nlengths = lengths;
}

static const struct series_row *find_series_row (const struct series *s,
                                                 const struct series_row *key)
{
    return s->nrows == 0 ? NULL
                         : bsearch (key, s->row, s->nrows, sizeof (*key),
                                    compare_rows);
}

const struct series_row *series_at (const struct series *s, uint32_t a,
                                    uint32_t b, uint64_t length)
{
    return find_series_row (
        s, &(struct series_row){
               .shape = SERIES_PAIR, .a = a, .b = b, .length = length });
}

const struct series_row *series_topology_at (const struct series *s,
                                             enum series_shape shape,
                                             bool both_ways, uint64_t length)
{
    return find_series_row (s, &(struct series_row){ .shape = shape,
                                                     .both_ways = both_ways,
                                                     .length = length });
}

static bool has_statistic (const struct series *s, enum series_stat stat)
{
    for (size_t i = 0; i < s->nrows; i++)
        if (series_measured (&s->row[i]) && !isnan (s->row[i].time_ns[stat]))
            return true;
    return false;
}

enum series_stat series_stat_known (const struct series *s,
                                    enum series_stat stat)
{
    if (!has_statistic (s, stat))
        for (int i = 0; i < SERIES_STATS; i++)
            if (has_statistic (s, i))
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
    return shape == SERIES_RING ? n
           : n == 0             ? 0
           : shape == SERIES_STAR ? n - 1
                                  : (uint64_t)n * (n - 1) / 2;
}

uint64_t series_exchanges_of (enum series_shape shape, uint32_t n,
                              uint32_t i)
{
    return shape == SERIES_RING             ? 2
           : shape == SERIES_STAR && i != 0 ? 1
                                            : n - 1;
}
