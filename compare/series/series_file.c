/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Series as a file: JSON, kind "series", one run per line. It also reads the
 * other formats that a series can be made from.
 */
#include "config.h"

#include <ctype.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "compare/series/formats.h"
#include "util/alloc.h"
#include "util/json.h"
#include "util/text.h"

enum { FILE_MAX = 1 << 30, RUNS_MAX = 1 << 16, WHERE_MAX = 64 };

#define TIME_LIMIT_NS 1e15
#define SECONDS_LIMIT 1e9

/* The numbers and words of a run, by key. */
static const struct {
    const char *key;
    size_t offset;
} numbers[] = {
    { "seed", offsetof (struct series, seed) },
    { "repeats", offsetof (struct series, repeats) },
    { "noise_length", offsetof (struct series, noise_length) },
    { "noise_messages", offsetof (struct series, noise_messages) },
    { "noise_processes", offsetof (struct series, noise_processes) },
    { "steps", offsetof (struct series, steps) },
    { "probes", offsetof (struct series, probes) },
}, words[] = {
    { "pattern", offsetof (struct series, pattern) },
    { "exchange", offsetof (struct series, exchange) },
    { "transport", offsetof (struct series, transport) },
    { "fabric", offsetof (struct series, fabric) },
};

enum {
    NUMBERS = sizeof (numbers) / sizeof (numbers[0]),
    WORDS = sizeof (words) / sizeof (words[0]),
};

/*
 * Write. Lists are written row by row, as there may be millions.
 */

static void write_item (json_t *json, bool first, FILE *fp)
{
    if (!first)
        putc (',', fp);
    json_dumpf (xcheck (json), fp, JSON_COMPACT);
    json_decref (json);
}

/* "time_ns" is omitted if nothing was completed. */
static json_t *row_json (const struct series_row *r)
{
    json_t *row = r->shape == SERIES_PAIR
                      ? json_pack ("{s:I, s:I}", "a", (json_int_t)r->a, "b",
                                   (json_int_t)r->b)
                      : json_pack ("{s:s, s:b}", "shape",
                                   series_shape_names[r->shape], "both_ways",
                                   r->both_ways);
    json_t *times;

    json_put (row, "length", json_integer ((json_int_t)r->length));
    json_put (row, "count", json_integer (r->count));
    json_put (row, "lost", json_integer (r->lost));
    if (!series_measured (r))
        return row;
    times = json_object ();
    for (int i = 0; i < SERIES_STATS; i++)
        json_put (times, series_stat_names[i],
                  number_json (r->time_ns[i]));
    json_put (row, "time_ns", times);
    return row;
}

int series_write (const struct series *s, FILE *fp, struct error *err)
{
    json_t *json = xcheck (json_file ("series", NULL));
    const char *base = (const char *)s;
    char *text;

    json_put (json, "test", json_string (series_test_names[s->test]));
    for (size_t i = 0; i < WORDS; i++)
        if (base[words[i].offset])
            json_put (json, words[i].key,
                      json_string (base + words[i].offset));
    for (size_t i = 0; i < NUMBERS; i++)
        json_put (json, numbers[i].key,
                  json_integer ((json_int_t)*(const uint64_t *)(
                      base + numbers[i].offset)));
    json_put (json, "seconds", json_real (s->seconds));
    json_put (json, "complete", json_boolean (s->complete));
    text = xcheck (json_dumps (json, JSON_COMPACT));
    json_decref (json);
    fprintf (fp, "%.*s,\"processes\":[", (int)strlen (text) - 1, text);
    free (text);
    for (uint32_t i = 0; i < s->nprocesses; i++)
        write_item (json_pack ("{s:s, s:s, s:b}", "label", s->process[i].label,
                               "host", s->process[i].host, "lost",
                               s->process[i].lost),
                    i == 0, fp);
    fprintf (fp, "],\"pairs\":[");
    for (size_t i = 0; i < s->nrows; i++) {
        if (i == s->npairs)
            fprintf (fp, "],\"topologies\":[");
        write_item (row_json (&s->row[i]), i == 0 || i == s->npairs, fp);
    }
    fprintf (fp, s->npairs < s->nrows ? "]}\n" : "],\"topologies\":[]}\n");
    return ferror (fp) ? error_errno (err, "cannot write JSON") : 0;
}

/*
 * Read
 */

/* All that a run has apart from its lists. */
static int read_series_head (struct series *s, const json_t *json,
                             struct error *err)
{
    const char *text;
    int test;

    if (json_get_string (json, NULL, "test", &text, err) < 0)
        return -1;
    if ((test = series_find (series_test_names, text)) < 0)
        return error_input (err, "test: %.40s is not known", text);
    s->test = test;
    for (size_t i = 0; i < WORDS; i++) {
        const char *key = words[i].key;

        if (!json_object_get (json, key))
            continue;
        if (json_get_string (json, NULL, key, &text, err) < 0)
            return -1;
        if (strlen (text) > SERIES_WORD_MAX)
            return error_input (err, "%s: longer than %d bytes", key,
                                SERIES_WORD_MAX);
        strcpy ((char *)s + words[i].offset, text);
    }
    for (size_t i = 0; i < NUMBERS; i++)
        if (json_get_u64 (json, NULL, numbers[i].key, 0, INT64_MAX,
                          (uint64_t *)((char *)s + numbers[i].offset), err)
            < 0)
            return -1;
    if (json_get_double (json, NULL, "seconds", 0, SECONDS_LIMIT, &s->seconds,
                         err) < 0)
        return -1;
    return json_get_bool (json, NULL, "complete", &s->complete, err);
}

/* Quantiles ascend, and the mean lies between the extremes. */
static int read_times (const json_t *row, const char *where, double *time_ns,
                       struct error *err)
{
    json_t *json;
    double least = 0;
    char place[WHERE_MAX + 8];

    if (json_get_object (row, where, "time_ns", &json, err) < 0)
        return -1;
    snprintf (place, sizeof (place), "%s.time_ns", where);
    for (int i = 0; i < SERIES_STATS; i++) {
        const char *key = series_stat_names[i];

        time_ns[i] = NAN;
        if (!json_is_null (json_object_get (json, key))
            && json_get_double (json, place, key, 0, TIME_LIMIT_NS,
                                &time_ns[i], err) < 0)
            return -1;
    }
    for (int i = SERIES_MIN; i <= SERIES_MAX; i++) {
        if (time_ns[i] < least)
            return error_input (err, "%s.%s: less than a lower quantile",
                                place, series_stat_names[i]);
        if (!isnan (time_ns[i]))
            least = time_ns[i];
    }
    if (time_ns[SERIES_MEAN] < time_ns[SERIES_MIN]
        || time_ns[SERIES_MEAN] > time_ns[SERIES_MAX])
        return error_input (err, "%s.mean: not between min and max", place);
    return 0;
}

static int read_process (struct series *s, const json_t *row,
                         const char *where, struct error *err)
{
    const char *label, *host;
    bool lost;

    if (json_get_string (row, where, "label", &label, err) < 0
        || json_get_string (row, where, "host", &host, err) < 0
        || json_get_bool (row, where, "lost", &lost, err) < 0)
        return -1;
    if (series_add_process (s, label, host, err) < 0)
        return error_prefix (err, "%s", where);
    s->process[s->nprocesses - 1].lost = lost;
    return 0;
}

/* Read a row whose pair or shape is known. */
static int read_series_row (struct series *s, struct series_row *r,
                            const json_t *row, const char *where,
                            struct error *err)
{
    uint64_t count, lost;

    if (json_get_u64 (row, where, "length", 0, INT64_MAX, &r->length, err) < 0
        || json_get_u64 (row, where, "count", 0, SERIES_COUNT_MAX, &count,
                         err) < 0
        || json_get_u64 (row, where, "lost", 0, count, &lost, err) < 0
        || (lost < count && read_times (row, where, r->time_ns, err) < 0))
        return -1;
    r->count = (uint32_t)count;
    r->lost = (uint32_t)lost;
    return series_add (s, r, err) < 0 ? error_prefix (err, "%s", where) : 0;
}

static int read_pair (struct series *s, const json_t *row, const char *where,
                      struct error *err)
{
    struct series_row r = { .shape = SERIES_PAIR };
    uint64_t a, b;

    if (json_get_u64 (row, where, "a", 0, UINT32_MAX, &a, err) < 0
        || json_get_u64 (row, where, "b", 0, UINT32_MAX, &b, err) < 0)
        return -1;
    r.a = (uint32_t)a;
    r.b = (uint32_t)b;
    return read_series_row (s, &r, row, where, err);
}

static int read_topology (struct series *s, const json_t *row,
                          const char *where, struct error *err)
{
    struct series_row r = { 0 };
    const char *name;
    int shape;

    if (json_get_string (row, where, "shape", &name, err) < 0
        || json_get_bool (row, where, "both_ways", &r.both_ways, err) < 0)
        return -1;
    shape = series_find (series_shape_names, name);
    if (shape <= SERIES_PAIR)
        return error_input (err, "%s.shape: %.40s is not known", where, name);
    r.shape = shape;
    return read_series_row (s, &r, row, where, err);
}

typedef int (*read_f) (struct series *s, const json_t *row, const char *where,
                       struct error *err);

static int read_series_list (struct series *s, const json_t *json,
                             const char *key, size_t max, read_f read,
                             struct error *err)
{
    json_t *list;

    if (json_get_array (json, NULL, key, max, &list, err) < 0)
        return -1;
    for (size_t i = 0; i < json_array_size (list); i++) {
        char where[WHERE_MAX];

        snprintf (where, sizeof (where), "%s[%zu]", key, i);
        if (read (s, json_array_get (list, i), where, err) < 0)
            return -1;
    }
    return 0;
}

static int read_series_run (struct series *s, const json_t *json,
                            struct error *err)
{
    if (read_series_head (s, json, err) < 0
        || read_series_list (s, json, "processes", SERIES_PROCESSES_MAX,
                             read_process, err)
               < 0
        || read_series_list (s, json, "pairs", SERIES_PAIRS_MAX, read_pair, err)
               < 0)
        return -1;
    return read_series_list (s, json, "topologies", SERIES_TOPOLOGIES_MAX,
                             read_topology, err);
}

/*
 * The pairs of a solution ("pmm solve --pairs") or of a check's result, if it
 * has all: a series of length 0 with half of each RTT, from each side. It
 * represents the quantile that the solution was made of, so all quantiles and
 * the mean are equal. Pairs that are not determined are missing. Processes are
 * the endpoints in the order of their names: "host" or "host:rail".
 */

static int add_endpoints (struct series *s, const json_t *pairs,
                          struct error *err)
{
    size_t n = 2 * json_array_size (pairs);
    const char **name = xarray (n, sizeof (*name));
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < n; i++) {
        char where[WHERE_MAX];

        snprintf (where, sizeof (where), "pairs[%zu]", i / 2);
        rc = json_get_string (json_array_get (pairs, i / 2), where,
                              i % 2 ? "b" : "a", &name[i], err);
    }
    n = rc == 0 ? text_unique (name, n) : 0;
    for (size_t i = 0; rc == 0 && i < n; i++) {
        char host[SERIES_WORD_MAX + 1];

        snprintf (host, sizeof (host), "%s", name[i]);
        host[strcspn (host, ":")] = '\0';
        rc = series_add_process (s, name[i], host, err);
    }
    free (name);
    return rc;
}

static int compare_label (const void *name, const void *process)
{
    return strcmp (name, ((const struct series_process *)process)->label);
}

static uint32_t find_process_endpoint (const struct series *s,
                                       const json_t *pair, const char *key)
{
    const struct series_process *p
        = bsearch (json_text (pair, key), s->process, s->nprocesses,
                   sizeof (*p), compare_label);

    return (uint32_t)(p - s->process);
}

static int read_solved (struct series *s, const json_t *pair,
                        const char *where, struct error *err)
{
    struct series_row there = {
        .shape = SERIES_PAIR,
        .a = find_process_endpoint (s, pair, "a"),
        .b = find_process_endpoint (s, pair, "b"),
        .count = 1,
    }, back;
    const char *key = json_object_get (pair, "latency_ns") ? "latency_ns"
                                                           : "rtt_ns";
    double ns;

    if (there.a == there.b)
        return error_input (err, "%s: a and b are the same", where);
    if (json_is_null (json_object_get (pair, key)))
        return 0;
    if (json_get_double (pair, where, key, 0, TIME_LIMIT_NS, &ns, err) < 0)
        return -1;
    if (strcmp (key, "rtt_ns") == 0)
        ns /= 2;
    for (int i = 0; i < SERIES_STATS; i++)
        there.time_ns[i] = i == SERIES_SD ? NAN : ns;
    back = there;
    back.a = there.b;
    back.b = there.a;
    return series_add (s, &there, err) < 0 ? -1 : series_add (s, &back, err);
}

static int read_solution (struct series *s, const json_t *solution,
                          struct error *err)
{
    const size_t max = SERIES_PAIRS_MAX / 2;
    const char *hash;
    json_t *pairs;

    if (json_get_string (solution, NULL, "fabric", &hash, err) < 0
        || json_get_array (solution, NULL, "pairs", max, &pairs, err) < 0)
        return -1;
    if (json_array_size (pairs) == 0
        || json_is_false (json_object_get (solution, "all_pairs")))
        return error_input (err, "not all pairs: pmm solve --pairs gives them");
    snprintf (s->pattern, sizeof (s->pattern), "pmm");
    snprintf (s->fabric, sizeof (s->fabric), "%s", hash);
    if (add_endpoints (s, pairs, err) < 0)
        return -1;
    return read_series_list (s, solution, "pairs", max, read_solved, err);
}

/*
 * All formats
 */

static struct series *read_json (FILE *fp, const char *name,
                                 struct error *err)
{
    json_t *json = json_read (fp, name, NULL, FILE_MAX, err);
    const char *kind = json ? json_text (json, "kind") : "";
    struct series *s;
    int rc;

    if (!json)
        return NULL;
    s = series_create (SERIES_ONE_TO_ONE);
    if (!strcmp (kind, "series"))
        rc = read_series_run (s, json, err);
    else if (!strcmp (kind, "solution") || !strcmp (kind, "result"))
        rc = read_solution (s, json, err);
    else
        rc = error_input (err, "this is a %.64s, not a series, a solution or a"
                          " check's result", kind);
    if (rc < 0 || series_sort (s, err) < 0) {
        error_prefix (err, "%s", name);
        series_destroy (s);
        s = NULL;
    }
    json_decref (json);
    return s;
}

/* The next character that is not a blank; EOF: there is none. */
static int peek (FILE *fp)
{
    int c;

    do
        c = getc (fp);
    while (isspace (c));
    return c == EOF ? EOF : ungetc (c, fp);
}

int series_list_add (struct series_list *list, struct series *s,
                     struct error *err)
{
    if (list->n == RUNS_MAX)
        return error_input (err, "more than %d runs", RUNS_MAX);
    list->run = xgrow (list->run, list->n, sizeof (*list->run));
    list->run[list->n++] = s;
    return 0;
}

void series_list_clear (struct series_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        series_destroy (list->run[i]);
    free (list->run);
    *list = (struct series_list){ 0 };
}

const struct series *series_list_pairs (const struct series_list *list)
{
    const struct series *again = NULL;

    for (size_t i = list->n; i-- > 0;) {
        const char *pattern = list->run[i]->pattern;
        size_t len = strlen (pattern), tail = strlen (SERIES_AGAIN);

        if (list->run[i]->npairs == 0)
            continue;
        if (len <= tail || strcmp (pattern + len - tail, SERIES_AGAIN))
            return list->run[i];
        again = again ? again : list->run[i];
    }
    return again;
}

int series_read (struct series_list *list, FILE *fp, const char *name,
                 struct error *err)
{
    char where[320];

    *list = (struct series_list){ 0 };
    snprintf (where, sizeof (where), "%.255s", name);
    do {
        /* matrices of PARUS start with a letter */
        struct series *s = isalpha (peek (fp)) ? parus_read (fp, where, err)
                                               : read_json (fp, where, err);

        if (!s || series_list_add (list, s, err) < 0) {
            series_destroy (s);
            series_list_clear (list);
            return -1;
        }
        snprintf (where, sizeof (where), "%.255s: run %zu", name, list->n + 1);
    } while (peek (fp) != EOF);
    return 0;
}
