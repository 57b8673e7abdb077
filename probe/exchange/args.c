/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "probe/exchange/args.h"

#include <stdlib.h>
#include <string.h>

#include "compare/pattern/pattern.h"
#include "compare/series/save.h"
#include "util/text.h"

enum { NUMBERS_MAX = 3, WORD_MAX = 40 };

/* Numbers of exchanges and the like. */
static int set_count (void *field, const char *value, uint64_t min,
                      uint64_t max, struct error *err)
{
    uint64_t v;

    if (text_u64 (value, min, max, &v) < 0)
        return error_input (err, "'%.40s' is no number from %u to %u", value,
                            (unsigned int)min, (unsigned int)max);
    *(unsigned int *)field = (unsigned int)v;
    return 0;
}

static int set_repeats (void *field, const char *value, struct error *err)
{
    return set_count (field, value, 1, MEASURE_REPEATS_MAX, err);
}

static int set_warm_up (void *field, const char *value, struct error *err)
{
    return set_count (field, value, 0, MEASURE_REPEATS_MAX, err);
}

static int set_exchanges (void *field, const char *value, struct error *err)
{
    return set_count (field, value, 1, MEASURE_EXCHANGES_MAX, err);
}

static int set_batch (void *field, const char *value, struct error *err)
{
    double ms;

    if (text_double (value, 0, 1e6, &ms) < 0)
        return error_input (err, "'%.40s' is no number of milliseconds",
                            value);
    *(int64_t *)field = (int64_t)(1e6 * ms);
    return 0;
}

static int set_seed (void *field, const char *value, struct error *err)
{
    struct exchange_args *a = field;

    a->shuffle = true;
    if (text_u64 (value, 0, INT64_MAX, &a->seed) < 0)
        return error_input (err, "'%.40s' is no number from 0 to %jd", value,
                            (intmax_t)INT64_MAX);
    return 0;
}

static int set_stat (void *field, const char *value, struct error *err)
{
    int stat = series_stat_find (value);

    if (stat < 0)
        return error_input (err, "'%.40s' is no statistic; there are min, "
                                 "p25, median, p75, max, mean, sd", value);
    *(enum series_stat *)field = (enum series_stat)stat;
    return 0;
}

static int set_format (void *field, const char *value, struct error *err)
{
    if (!series_format_known (value))
        return error_input (err, "'%.40s' is none of %s", value,
                            SERIES_FORMATS);
    return opt_string (field, value, err);
}

/*
 * Lengths
 */

static int add_length (struct lengths *l, uint64_t length, struct error *err)
{
    uint64_t *v;

    if (l->n > 0 && length <= l->v[l->n - 1])
        return error_input (err, "the lengths do not ascend");
    if (l->n == SERIES_LENGTHS_MAX)
        return error_input (err, "more than %d lengths", SERIES_LENGTHS_MAX);
    if (!(v = realloc (l->v, (l->n + 1) * sizeof (*v))))
        return error_nomem (err);
    l->v = v;
    l->v[l->n++] = length;
    return 0;
}

static int bad_length (const char *text, struct error *err)
{
    return error_input (err, "'%.40s' is no length of 0 to %d bytes, nor "
                             "FROM:TO:STEP or FROM:TO:xFACTOR",
                        text, ARGS_LENGTH_MAX);
}

/* From, to, and how to go on: xFACTOR or a step. By factor, 1 is behind 0. */
static int add_range (struct lengths *l, const char *const *part,
                      const char *text, struct error *err)
{
    bool by_factor = part[2][0] == 'x';
    uint64_t from, to, step;

    if (text_bytes (part[0], ARGS_LENGTH_MAX, &from) < 0
        || text_bytes (part[1], ARGS_LENGTH_MAX, &to) < 0
        || text_bytes (part[2] + by_factor, ARGS_LENGTH_MAX, &step) < 0
        || step == 0
        || (by_factor && step == 1) || from > to)
        return bad_length (text, err);
    for (uint64_t x = from; x <= to;
         x = !by_factor ? x + step : x ? x * step : 1)
        if (add_length (l, x, err) < 0)
            return -1;
    return 0;
}

static int add_lengths (struct lengths *l, char *text, struct error *err)
{
    const char *part[NUMBERS_MAX];
    char whole[WORD_MAX * NUMBERS_MAX];
    char *rest = NULL;
    uint64_t length;
    int n = 0;

    snprintf (whole, sizeof (whole), "%s", text);
    for (char *s = strtok_r (text, ":", &rest); s;
         s = strtok_r (NULL, ":", &rest)) {
        if (n == NUMBERS_MAX)
            return bad_length (whole, err);
        part[n++] = s;
    }
    if (n == NUMBERS_MAX)
        return add_range (l, part, whole, err);
    if (n != 1 || text_bytes (part[0], ARGS_LENGTH_MAX, &length) < 0)
        return bad_length (whole, err);
    return add_length (l, length, err);
}

static int set_lengths (void *field, const char *value, struct error *err)
{
    struct lengths *l = field;
    char word[WORD_MAX * NUMBERS_MAX];

    l->n = 0;
    while (args_next (&value, word, sizeof (word)))
        if (add_lengths (l, word, err) < 0)
            return -1;
    return l->n > 0 ? 0 : error_input (err, "there is no length");
}

static int set_bytes (void *field, const char *value, struct error *err)
{
    return text_bytes (value, ARGS_LENGTH_MAX, field) < 0
               ? bad_length (value, err)
               : 0;
}

/*
 * Names
 */

bool args_next (const char **list, char *name, size_t max)
{
    size_t len = strcspn (*list, ",");

    if (**list == '\0')
        return false;
    snprintf (name, max, "%.*s", (int)len, *list);
    *list += len + ((*list)[len] == ',');
    return true;
}

static int set_patterns (void *field, const char *value, struct error *err)
{
    const char *list = value;
    char name[WORD_MAX];

    if (!*value)
        return error_input (err, "there is no pattern");
    while (args_next (&list, name, sizeof (name))) {
        int kind = pattern_find (name);

        if (kind < 0 && strcmp (name, "pmm"))
            return error_input (err, "'%s' is no pattern; 'pmm pattern' lists "
                                     "them", name);
        if (kind >= 0 && pattern_whole ((enum pattern_kind)kind)
            && kind != PATTERN_ALL_TO_ALL)
            return error_input (err, "%s is a topology, not a pattern of "
                                     "pairs", name);
    }
    return opt_string (field, value, err);
}

/* "star", or "istar" for both ways. */
static int set_shapes (void *field, const char *value, struct error *err)
{
    bool (*shape)[2] = field;
    char name[WORD_MAX];

    memset (shape, 0, SERIES_SHAPES * sizeof (*shape));
    while (args_next (&value, name, sizeof (name))) {
        bool both_ways = name[0] == 'i';
        int i = series_shape_find (name + both_ways);

        if (i < 0)
            return error_input (err, "'%s' is none of star, complete, ring, "
                                     "istar, icomplete, iring", name);
        shape[i][both_ways] = true;
    }
    return 0;
}

#define FIELD(x) offsetof (struct exchange_args, x)

const struct opt args_common[] = {
    { "repeats", 'n', "N", set_repeats, FIELD (how.repeats),
      "how often to measure each: 100" },
    { "warm-up", 0, "N", set_warm_up, FIELD (how.warm_up),
      "exchanges before, which do not count: 2" },
    { "output", 'o', "FILE", opt_string, FIELD (output),
      "leave the results there, too" },
    { 0 },
};

const struct opt args_series[] = {
    { "lengths", 'l', "LIST", set_lengths, FIELD (length),
      "bytes of a message: N, FROM:TO:STEP, FROM:TO:xFACTOR" },
    { "exchanges", 0, "N", set_exchanges, FIELD (how.exchanges),
      "exchanges of a repeat, timed together: 1, both ways 16" },
    { "batch-ms", 0, "MS", set_batch, FIELD (how.batch_ns),
      "more of them, until a repeat takes so long" },
    { "seed", 0, "N", set_seed, 0,
      "shuffle steps and processes, by this number" },
    { "stat", 0, "NAME", set_stat, FIELD (stat),
      "what tables say of the repeats: min, median, mean, ...: median" },
    { "append", 0, NULL, opt_true, FIELD (append),
      "behind what the output holds already" },
    { "format", 0, "NAME", set_format, FIELD (format),
      "as " SERIES_FORMATS ": json, or table where there is no FILE" },
    { 0 },
};

const struct opt args_pairs[] = {
    { "pattern", 'p', "NAMES", set_patterns, FIELD (pattern),
      "who with whom when, some patterns in turn: one-factor" },
    { "plan", 0, "FILE", opt_string, FIELD (plan),
      "the plan that is pattern pmm" },
    { "exchange", 'x', "NAME", opt_string, FIELD (exchange),
      "round-trip, one-way, both-ways, async, ...: round-trip" },
    { "retest", 0, "N", opt_int, FIELD (retest),
      "measure the N worst pairs again, alone" },
    { 0 },
};

const struct opt args_topology[] = {
    { "shapes", 0, "NAMES", set_shapes, FIELD (shape),
      "star, complete, ring; with i before, two-directional: all" },
    { 0 },
};

const struct opt args_noise[] = {
    { "exchange", 'x', "NAME", opt_string, FIELD (exchange),
      "of the goal pair: both-ways, or round-trip if blocking" },
    { "blocking", 0, NULL, opt_true, FIELD (blocking),
      "the goal pair exchanges by blocking messages" },
    { "noise-processes", 0, "N", opt_int, FIELD (noise_processes),
      "how many make noise: all others" },
    { "noise-length", 0, "BYTES", set_bytes, FIELD (noise_length),
      "of their messages: 8192" },
    { "noise-messages", 0, "N", opt_u64, FIELD (noise_messages),
      "to each of the others, in a repeat: 10" },
    { "goals", 0, "N", opt_u64, FIELD (goals),
      "how many goal pairs: all there are" },
    { "goal", 0, "A,B", opt_string, FIELD (goal), "the one goal pair" },
    { "noise-on", 0, "LIST", opt_string, FIELD (noise_on),
      "the processes that make noise, with --goal: drawn" },
    { 0 },
};

void args_init (struct exchange_args *a)
{
    *a = (struct exchange_args){
        .how = { .warm_up = 2, .repeats = 100 },
        .stat = SERIES_MEDIAN,
        .noise_processes = -1,
        .noise_length = 8192,
        .noise_messages = 10,
        .goals = UINT64_MAX,
    };
}

void args_clear (struct exchange_args *a)
{
    free (a->length.v);
    a->length = (struct lengths){ NULL, 0 };
}

int args_check (const struct exchange_args *a, struct error *err)
{
    struct series_save to = { .format = a->format ? a->format : "json",
                              .path = a->output, .append = a->append };

    if (series_save_check (&to, err) < 0)
        return error_prefix (err, "--format");
    if (a->append && !a->output)
        return error_input (err, "--append: to which --output?");
    if (a->noise_on && !a->goal)
        return error_input (err, "--noise-on: beside which --goal?");
    if (a->noise_messages > MEASURE_REPEATS_MAX)
        return error_input (err, "--noise-messages: more than %d",
                            MEASURE_REPEATS_MAX);
    return 0;
}
