/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "compare/series/solved.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/json.h"
#include "util/text.h"

#define RTT_LIMIT_NS 1e15

/* The endpoints of all pairs, sorted, each once; *n of them. */
static const char **names (const json_t *pairs, uint32_t *n,
                           struct error *err)
{
    size_t size = json_array_size (pairs);
    const char **v = xcalloc (2 * size + 1, sizeof (*v));

    if (!v) {
        error_nomem (err);
        return NULL;
    }
    for (size_t i = 0; i < size; i++) {
        const json_t *pair = json_array_get (pairs, i);
        char where[64];

        snprintf (where, sizeof (where), "pairs[%zu]", i);
        if (json_get_string (pair, where, "a", &v[2 * i], err) < 0
            || json_get_string (pair, where, "b", &v[2 * i + 1], err) < 0) {
            free (v);
            return NULL;
        }
    }
    *n = text_unique (v, 2 * size);
    return v;
}

static uint32_t find (const char **name, uint32_t n, const json_t *pair,
                      const char *key)
{
    const char *text = json_string_value (json_object_get (pair, key));

    return (uint32_t)(text_find (name, n, text) - name);
}

/* "host" or "host:rail" */
static int add_process (struct series *s, const char *name, struct error *err)
{
    char host[SERIES_WORD_MAX + 1];

    snprintf (host, sizeof (host), "%s", name);
    host[strcspn (host, ":")] = '\0';
    return series_add_process (s, name, host, err);
}

static int add_pair (struct series *s, uint32_t a, uint32_t b, double rtt_ns,
                     struct error *err)
{
    struct series_pair p = { .a = a, .b = b, .count = 1 };

    for (int i = 0; i < SERIES_STATS; i++)
        p.time_ns[i] = i == SERIES_SD ? NAN : rtt_ns / 2;
    return series_add_pair (s, &p, err);
}

static int read_pair (struct series *s, const char **name, uint32_t n,
                      const json_t *pair, const char *where,
                      struct error *err)
{
    uint32_t a = find (name, n, pair, "a");
    uint32_t b = find (name, n, pair, "b");
    double rtt_ns;

    if (a == b)
        return error_input (err, "%s: a and b are the same", where);
    if (json_is_null (json_object_get (pair, "rtt_ns")))
        return 0;
    if (json_get_double (pair, where, "rtt_ns", 0, RTT_LIMIT_NS, &rtt_ns, err)
            < 0
        || add_pair (s, a, b, rtt_ns, err) < 0
        || add_pair (s, b, a, rtt_ns, err) < 0)
        return -1;
    return 0;
}

static int read_pairs (struct series *s, const json_t *pairs,
                       struct error *err)
{
    uint32_t n;
    const char **name = names (pairs, &n, err);
    int rc = name ? 0 : -1;

    for (uint32_t i = 0; rc == 0 && i < n; i++)
        rc = add_process (s, name[i], err);
    for (size_t i = 0; rc == 0 && i < json_array_size (pairs); i++) {
        char where[64];

        snprintf (where, sizeof (where), "pairs[%zu]", i);
        rc = read_pair (s, name, n, json_array_get (pairs, i), where, err);
    }
    free (name);
    return rc;
}

struct series *solved_series (const json_t *solution, struct error *err)
{
    struct series *s = NULL;
    const char *hash;
    json_t *pairs;

    if (json_get_string (solution, NULL, "fabric", &hash, err) < 0
        || json_get_array (solution, NULL, "pairs", SERIES_PAIRS_MAX / 2,
                           &pairs, err) < 0)
        return NULL;
    if (json_array_size (pairs) == 0) {
        error_input (err, "no pairs: pmm solve --pairs gives them");
        return NULL;
    }
    if (!(s = series_create (SERIES_ONE_TO_ONE))) {
        error_nomem (err);
        return NULL;
    }
    snprintf (s->pattern, sizeof (s->pattern), "pmm");
    snprintf (s->fabric, sizeof (s->fabric), "%s", hash);
    if (read_pairs (s, pairs, err) < 0) {
        series_destroy (s);
        s = NULL;
    }
    return s;
}
