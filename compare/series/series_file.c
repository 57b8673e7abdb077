/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Series as a file: JSON, kind "series", one run per line. It also reads the
 * other formats that a series can be made from.
 */
#include "config.h"
#include "compare/series/series.h"

#include <ctype.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "compare/series/formats.h"
#include "util/alloc.h"
#include "util/json.h"
#include "util/text.h"

enum { FILE_MAX = 1 << 30, RUNS_MAX = 1 << 16 };

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
 * Write
 */

/* Put what pairs and topologies have in common into row. Returns row. "time_ns"
 * is omitted if nothing was completed.
 */
static json_t *row_json (json_t *row, uint64_t length, uint32_t count,
                         uint32_t lost, const double *time_ns)
{
    json_t *times;

    json_put (row, "length", json_integer ((json_int_t)length));
    json_put (row, "count", json_integer (count));
    json_put (row, "lost", json_integer (lost));
    if (lost == count)
        return row;
    times = json_object ();
    for (int i = 0; i < SERIES_STATS; i++)
        json_put (times, series_stat_name (i),
                  isnan (time_ns[i]) ? json_null () : json_real (time_ns[i]));
    json_put (row, "time_ns", times);
    return row;
}

static json_t *process_json (const struct series *s, size_t i)
{
    const struct series_process *p = &s->process[i];

    return json_pack ("{s:s, s:s, s:b}", "label", p->label, "host", p->host,
                      "lost", p->lost);
}

static json_t *pair_json (const struct series *s, size_t i)
{
    const struct series_pair *p = &s->pair[i];

    return row_json (json_pack ("{s:I, s:I}", "a", (json_int_t)p->a, "b",
                                (json_int_t)p->b),
                     p->length, p->count, p->lost, p->time_ns);
}

static json_t *topology_json (const struct series *s, size_t i)
{
    const struct series_topology *t = &s->topology[i];

    return row_json (json_pack ("{s:s, s:b}", "shape",
                                series_shape_name (t->shape), "both_ways",
                                t->both_ways),
                     t->length, t->count, t->lost, t->time_ns);
}

/* Write a list of the object row by row, as there may be millions. */
static void write_list (const char *key, size_t n, const struct series *s,
                        json_t *(*row) (const struct series *s, size_t i),
                        FILE *fp)
{
    fprintf (fp, ",\"%s\":[", key);
    for (size_t i = 0; i < n; i++) {
        json_t *json = xcheck (row (s, i));

        if (i > 0)
            putc (',', fp);
        json_dumpf (json, fp, JSON_COMPACT);
        json_decref (json);
    }
    putc (']', fp);
}

int series_write (const struct series *s, FILE *fp, struct error *err)
{
    json_t *json = xcheck (json_file ("series", NULL));
    const char *base = (const char *)s;
    char *text;

    json_put (json, "test", json_string (series_test_name (s->test)));
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
    fprintf (fp, "%.*s", (int)strlen (text) - 1, text); /* no brace yet */
    free (text);
    write_list ("processes", s->nprocesses, s, process_json, fp);
    write_list ("pairs", s->npairs, s, pair_json, fp);
    write_list ("topologies", s->ntopologies, s, topology_json, fp);
    fprintf (fp, "}\n");
    return ferror (fp) ? error_errno (err, "cannot write JSON") : 0;
}

/*
 * Read
 */

/* All that a run has apart from its lists. */
static int read_head (struct series *s, const json_t *json, struct error *err)
{
    for (size_t i = 0; i < WORDS; i++) {
        const char *key = words[i].key, *text;

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

/* Check that quantiles ascend, and that the mean lies between the extremes. */
static int check_times (const double *time_ns, const char *where,
                        struct error *err)
{
    double least = 0;

    for (int i = SERIES_MIN; i <= SERIES_MAX; i++) {
        if (time_ns[i] < least)
            return error_input (err, "%s.%s: less than a lower quantile",
                                where, series_stat_name (i));
        if (!isnan (time_ns[i]))
            least = time_ns[i];
    }
    if (time_ns[SERIES_MEAN] < time_ns[SERIES_MIN]
        || time_ns[SERIES_MEAN] > time_ns[SERIES_MAX])
        return error_input (err, "%s.mean: not between min and max", where);
    return 0;
}

static int read_times (const json_t *row, const char *where, double *time_ns,
                       struct error *err)
{
    json_t *json;
    char place[80];

    if (json_get_object (row, where, "time_ns", &json, err) < 0)
        return -1;
    snprintf (place, sizeof (place), "%s.time_ns", where);
    for (int i = 0; i < SERIES_STATS; i++) {
        const char *key = series_stat_name (i);

        time_ns[i] = NAN;
        if (!json_is_null (json_object_get (json, key))
            && json_get_double (json, place, key, 0, TIME_LIMIT_NS,
                                &time_ns[i], err) < 0)
            return -1;
    }
    return check_times (time_ns, place, err);
}

/* Read what pairs and topologies have in common. */
static int read_row (const json_t *row, const char *where, uint64_t *length,
                     uint32_t *count, uint32_t *lost, double *time_ns,
                     struct error *err)
{
    uint64_t n, nlost;

    if (json_get_u64 (row, where, "length", 0, INT64_MAX, length, err) < 0
        || json_get_u64 (row, where, "count", 0, SERIES_COUNT_MAX, &n, err)
               < 0
        || json_get_u64 (row, where, "lost", 0, n, &nlost, err) < 0)
        return -1;
    *count = (uint32_t)n;
    *lost = (uint32_t)nlost;
    return nlost < n ? read_times (row, where, time_ns, err) : 0;
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

static int read_pair (struct series *s, const json_t *row, const char *where,
                      struct error *err)
{
    struct series_pair p = { 0 };
    uint64_t a, b;

    if (json_get_u64 (row, where, "a", 0, UINT32_MAX, &a, err) < 0
        || json_get_u64 (row, where, "b", 0, UINT32_MAX, &b, err) < 0
        || read_row (row, where, &p.length, &p.count, &p.lost, p.time_ns,
                     err) < 0)
        return -1;
    p.a = (uint32_t)a;
    p.b = (uint32_t)b;
    if (series_add_pair (s, &p, err) < 0)
        return error_prefix (err, "%s", where);
    return 0;
}

static int read_topology (struct series *s, const json_t *row,
                          const char *where, struct error *err)
{
    struct series_topology t = { 0 };
    const char *name;
    int shape;

    if (json_get_string (row, where, "shape", &name, err) < 0
        || json_get_bool (row, where, "both_ways", &t.both_ways, err) < 0
        || read_row (row, where, &t.length, &t.count, &t.lost, t.time_ns,
                     err) < 0)
        return -1;
    if ((shape = series_shape_find (name)) < 0)
        return error_input (err, "%s.shape: %.40s is not known", where, name);
    t.shape = shape;
    if (series_add_topology (s, &t, err) < 0)
        return error_prefix (err, "%s", where);
    return 0;
}

static const struct {
    const char *key;
    size_t max;
    int (*read) (struct series *s, const json_t *row, const char *where,
                 struct error *err);
} lists[] = {
    { "processes", SERIES_PROCESSES_MAX, read_process },
    { "pairs", SERIES_PAIRS_MAX, read_pair },
    { "topologies", SERIES_TOPOLOGIES_MAX, read_topology },
};

static int read_series (struct series *s, const json_t *json,
                        struct error *err)
{
    const char *name;
    int test;

    if (json_get_string (json, NULL, "test", &name, err) < 0)
        return -1;
    if ((test = series_test_find (name)) < 0)
        return error_input (err, "test: %.40s is not known", name);
    s->test = test;
    if (read_head (s, json, err) < 0)
        return -1;
    for (size_t k = 0; k < sizeof (lists) / sizeof (lists[0]); k++) {
        json_t *list;

        if (json_get_array (json, NULL, lists[k].key, lists[k].max, &list,
                            err) < 0)
            return -1;
        for (size_t i = 0; i < json_array_size (list); i++) {
            char where[64];

            snprintf (where, sizeof (where), "%s[%zu]", lists[k].key, i);
            if (lists[k].read (s, json_array_get (list, i), where, err) < 0)
                return -1;
        }
    }
    return 0;
}

/*
 * The pairs of a solution ("pmm solve --pairs"), for comparison with measured
 * ones
 */

/* Add the endpoints of all pairs, sorted and unique, as processes: each is
 * "host" or "host:rail". name [2 * pairs] gets them. *n: their number.
 */
static int add_endpoints (struct series *s, const json_t *pairs,
                          const char **name, size_t *n, struct error *err)
{
    size_t size = json_array_size (pairs);

    for (size_t i = 0; i < size; i++) {
        const json_t *pair = json_array_get (pairs, i);
        char where[64];

        snprintf (where, sizeof (where), "pairs[%zu]", i);
        if (json_get_string (pair, where, "a", &name[2 * i], err) < 0
            || json_get_string (pair, where, "b", &name[2 * i + 1], err) < 0)
            return -1;
    }
    *n = text_unique (name, 2 * size);
    for (size_t i = 0; i < *n; i++) {
        char host[SERIES_WORD_MAX + 1];

        snprintf (host, sizeof (host), "%s", name[i]);
        host[strcspn (host, ":")] = '\0';
        if (series_add_process (s, name[i], host, err) < 0)
            return -1;
    }
    return 0;
}

static int read_solved (struct series *s, const char **name, size_t n,
                        const json_t *pair, const char *where,
                        struct error *err)
{
    struct series_pair p = {
        .a = text_find (name, n, json_text (pair, "a")) - name,
        .b = text_find (name, n, json_text (pair, "b")) - name,
        .count = 1,
    }, back = p;
    double rtt_ns;

    if (p.a == p.b)
        return error_input (err, "%s: a and b are the same", where);
    if (json_is_null (json_object_get (pair, "rtt_ns")))
        return 0;
    if (json_get_double (pair, where, "rtt_ns", 0, TIME_LIMIT_NS, &rtt_ns, err)
        < 0)
        return -1;
    for (int i = 0; i < SERIES_STATS; i++)
        p.time_ns[i] = i == SERIES_SD ? NAN : rtt_ns / 2;
    memcpy (back.time_ns, p.time_ns, sizeof (back.time_ns));
    back.a = p.b;
    back.b = p.a;
    if (series_add_pair (s, &p, err) < 0)
        return -1;
    return series_add_pair (s, &back, err);
}

/* A series of length 0: half of each RTT, from each side. It represents the
 * quantile that the solution was made of, so all quantiles and the mean are
 * equal. Pairs that are not determined are missing. Processes are the endpoints
 * in the order of their names. Return 0, or -1 with err: the file has another
 * form, or no pairs.
 */
static int read_solution (struct series *s, const json_t *solution,
                          struct error *err)
{
    const char *hash, **name;
    json_t *pairs;
    size_t n = 0;
    int rc;

    if (json_get_string (solution, NULL, "fabric", &hash, err) < 0
        || json_get_array (solution, NULL, "pairs", SERIES_PAIRS_MAX / 2,
                           &pairs, err)
               < 0)
        return -1;
    if (json_array_size (pairs) == 0)
        return error_input (err, "no pairs: pmm solve --pairs gives them");
    snprintf (s->pattern, sizeof (s->pattern), "pmm");
    snprintf (s->fabric, sizeof (s->fabric), "%s", hash);
    name = xarray (2 * json_array_size (pairs), sizeof (*name));
    rc = add_endpoints (s, pairs, name, &n, err);
    for (size_t i = 0; rc == 0 && i < json_array_size (pairs); i++) {
        char where[64];

        snprintf (where, sizeof (where), "pairs[%zu]", i);
        rc = read_solved (s, name, n, json_array_get (pairs, i), where, err);
    }
    free (name);
    return rc;
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
    rc = !strcmp (kind, "series")     ? read_series (s, json, err)
         : !strcmp (kind, "solution") ? read_solution (s, json, err)
                                      : error_input (
                                          err,
                                          "a series or a solution is wanted,"
                                          " this is a %.64s", kind);
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

        if (!s)
            goto error;
        if (series_list_add (list, s, err) < 0) {
            series_destroy (s);
            goto error;
        }
        snprintf (where, sizeof (where), "%.255s: run %zu", name,
                  list->n + 1);
    } while (peek (fp) != EOF);
    return 0;
error:
    series_list_clear (list);
    return -1;
}
