/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The plan as a file. */
#include "config.h"
#include "core/plan.h"

#include <stdlib.h>
#include <string.h>

#include "util/json.h"

enum {
    BYTES_MAX = 1 << 28,
    ENDPOINTS_MAX = 1 << 20,
    ROUNDS_MAX = 1 << 20,
};

/* What a plan may call its method. */
static const char *const methods[] = { "pmm" };

static json_t *row_json (const struct pathset *ps, const struct row *row)
{
    const struct link_info *info = pathset_network (ps)->link;
    json_t *json = json_object ();

    for (size_t k = 0; k < row->n; k++)
        if (json_object_set_new (json, info[row->link[k]].id,
                                 json_integer (row->count[k])) < 0) {
            json_decref (json);
            return NULL;
        }
    return json;
}

static int append_round (json_t *rounds, const struct plan *plan,
                         struct pathset *ps, size_t round, struct error *err)
{
    json_t *list = json_array ();
    size_t n;
    const struct probe *p = plan_round (plan, round, &n);

    if (json_array_append_new (rounds, list) < 0)
        return error_nomem (err);
    for (size_t i = 0; i < n; i++) {
        struct row row;

        if (pathset_row (ps, p[i].a, p[i].b, &row, err) < 0)
            return -1;
        if (json_array_append_new (
                list, json_pack ("{s:s, s:s, s:o}",
                                 "a", pathset_endpoint (ps, p[i].a)->name,
                                 "b", pathset_endpoint (ps, p[i].b)->name,
                                 "row", row_json (ps, &row))) < 0)
            return error_nomem (err);
    }
    return 0;
}

static int set_extra (json_t *json, const struct plan_file_extra *extra)
{
    const struct {
        const char *key;
        double value;
    } number[] = {
        { "stderr_rms", extra->stderr_rms },
        { "stderr_max", extra->stderr_max },
        { "seconds", extra->seconds },
        { "peak_rss_mb", extra->peak_rss_mb },
    };

    for (size_t i = 0; i < sizeof (number) / sizeof (number[0]); i++)
        if (number[i].value != 0
            && json_object_set_new (json, number[i].key,
                                    json_real (number[i].value)) < 0)
            return -1;
    return 0;
}

static size_t extra_rounds (const struct plan *plan)
{
    return plan_rounds (plan) - plan_basis_rounds (plan)
           - plan_confirm_rounds (plan);
}

int plan_write (const struct plan *plan, struct pathset *ps,
                const struct plan_file_extra *extra, FILE *fp,
                struct error *err)
{
    json_t *json = json_file ("plan", pathset_network (ps)->hash);
    json_t *endpoints = json_array ();
    json_t *rounds = json_array ();
    json_t *numbers = NULL;
    int rc = -1;

    for (size_t i = 0; i < pathset_size (ps); i++)
        if (json_array_append_new (
                endpoints,
                json_string (pathset_endpoint (ps, i)->name)) < 0)
            goto nomem;
    for (size_t r = 0; r < plan_rounds (plan); r++)
        if (append_round (rounds, plan, ps, r, err) < 0)
            goto error;
    numbers = json_pack (
        "{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
        "method", plan_method (plan),
        "hosts", (json_int_t)pathset_size (ps),
        "links", (json_int_t)plan_links (plan),
        "rank", (json_int_t)plan_rank (plan),
        "measurements", (json_int_t)plan_probes (plan),
        "bound", (json_int_t)plan_bound (ps, plan_rank (plan)),
        "basis_rounds", (json_int_t)plan_basis_rounds (plan),
        "extra_rounds", (json_int_t)extra_rounds (plan));
    if (!json || !numbers || json_object_update (json, numbers) < 0
        || (plan_confirm_rounds (plan) > 0
            && json_object_set_new (
                   json, "confirm_rounds",
                   json_integer ((json_int_t)plan_confirm_rounds (plan))) < 0)
        || (extra && set_extra (json, extra) < 0)
        || json_object_set (json, "endpoints", endpoints) < 0
        || json_object_set (json, "rounds", rounds) < 0)
        goto nomem;
    rc = json_write (json, fp, err);
    goto error;
nomem:
    error_nomem (err);
error:
    json_decref (json);
    json_decref (numbers);
    json_decref (endpoints);
    json_decref (rounds);
    return rc;
}

static int check_fabric (const json_t *json, const char *fabric_hash,
                         struct error *err)
{
    const char *hash;

    if (json_get_string (json, NULL, "fabric", &hash, err) < 0)
        return -1;
    if (strcmp (hash, fabric_hash) != 0)
        return error_input (err, "made for another fabric (%.64s, this one"
                            " is %.64s)", hash, fabric_hash);
    return 0;
}

static struct pathset *read_endpoints (const json_t *json,
                                       pathset_resolve_f resolve, void *arg,
                                       struct error *err)
{
    const char **name = NULL;
    struct pathset *ps = NULL;
    json_t *list;
    size_t n;

    if (json_get_array (json, NULL, "endpoints", ENDPOINTS_MAX, &list, err)
        < 0)
        return NULL;
    n = json_array_size (list);
    if (!(name = calloc (n + 1, sizeof (*name)))) {
        error_nomem (err);
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        const json_t *s = json_array_get (list, i);

        name[i] = json_string_value (s);
        if (!name[i] || strlen (name[i]) != json_string_length (s)) {
            error_input (err, "endpoints[%zu]: not a name", i);
            goto error;
        }
    }
    ps = resolve (name, n, arg, err);
    /* where a host's name stands for its endpoints, or all for none */
    if (ps && pathset_size (ps) != n) {
        error_input (err, "endpoints: %zu names stand for %zu endpoints", n,
                     pathset_size (ps));
        pathset_destroy (ps);
        ps = NULL;
    }
error:
    free (name);
    return ps;
}

static int check_row (const json_t *json, const char *where,
                      const struct pathset *ps, int a, int b,
                      struct error *err)
{
    const struct link_info *info = pathset_network (ps)->link;
    json_t *object;
    struct row row;

    if (json_get_object (json, where, "row", &object, err) < 0
        || pathset_row (ps, a, b, &row, err) < 0)
        return -1;
    for (size_t k = 0; k < row.n; k++) {
        const json_t *v = json_object_get (object, info[row.link[k]].id);

        if (!json_is_integer (v) || json_integer_value (v) != row.count[k])
            return error_input (err, "%s.row: the fabric's path crosses %s"
                                " %u times, here it is not so", where,
                                info[row.link[k]].id, row.count[k]);
    }
    if (json_object_size (object) != row.n)
        return error_input (err, "%s.row: links that are not on the path",
                            where);
    return 0;
}

static int read_end (const json_t *json, const char *where, const char *key,
                     const struct pathset *ps, int *end, struct error *err)
{
    const char *name;

    if (json_get_string (json, where, key, &name, err) < 0)
        return -1;
    if ((*end = pathset_find (ps, name)) < 0)
        return error_input (err, "%s.%s: %s is not among the endpoints",
                            where, key, name);
    return 0;
}

static int read_rounds (struct plan *plan, const json_t *rounds,
                        const struct pathset *ps, struct error *err)
{
    for (size_t r = 0; r < json_array_size (rounds); r++) {
        const json_t *round = json_array_get (rounds, r);
        size_t n = json_array_size (round);

        if (!json_is_array (round) || n == 0 || n > pathset_size (ps) / 2)
            return error_input (err, "rounds[%zu]: not 1 to %zu probes", r,
                                pathset_size (ps) / 2);
        for (size_t i = 0; i < n; i++) {
            const json_t *probe = json_array_get (round, i);
            char where[64];
            int a, b;

            snprintf (where, sizeof (where), "rounds[%zu][%zu]", r, i);
            if (!json_is_object (probe))
                return error_input (err, "%s: not an object", where);
            if (read_end (probe, where, "a", ps, &a, err) < 0
                || read_end (probe, where, "b", ps, &b, err) < 0)
                return -1;
            if (a == b)
                return error_input (err, "%s: a and b are one endpoint",
                                    where);
            if (check_row (probe, where, ps, a, b, err) < 0)
                return -1;
            if (plan_add (plan, r, a, b) < 0)
                return error_nomem (err);
        }
    }
    return 0;
}

/* A number that follows from the rest of the file or from the fabric. */
static int check_number (const json_t *json, const char *key,
                         uint64_t expected, struct error *err)
{
    uint64_t value;

    if (json_get_u64 (json, NULL, key, 0, INT64_MAX, &value, err) < 0)
        return -1;
    if (value != expected)
        return error_input (err, "%s: %ju, but it is %ju", key,
                            (uintmax_t)value, (uintmax_t)expected);
    return 0;
}

static struct plan *read_plan (const json_t *json, struct pathset *ps,
                               struct error *err)
{
    struct plan *plan = NULL;
    const char *method;
    json_t *rounds;
    uint64_t rank, basis_rounds;
    uint64_t confirm_rounds = 0;
    size_t links, i = 0;

    if (json_get_string (json, NULL, "method", &method, err) < 0
        || json_get_array (json, NULL, "rounds", ROUNDS_MAX, &rounds, err) < 0
        || !pathset_links (ps, &links, err)
        || json_get_u64 (json, NULL, "rank", 0, links, &rank, err) < 0
        || json_get_u64 (json, NULL, "basis_rounds", 0,
                         json_array_size (rounds), &basis_rounds, err) < 0
        || (json_object_get (json, "confirm_rounds")
            && json_get_u64 (json, NULL, "confirm_rounds", 0,
                             json_array_size (rounds) - basis_rounds,
                             &confirm_rounds, err) < 0))
        return NULL;
    while (i < sizeof (methods) / sizeof (methods[0])
           && strcmp (method, methods[i]) != 0)
        i++;
    if (i == sizeof (methods) / sizeof (methods[0])) {
        error_input (err, "method: %.40s is not known", method);
        return NULL;
    }
    if (!(plan = plan_create (methods[i]))) {
        error_nomem (err);
        return NULL;
    }
    if (read_rounds (plan, rounds, ps, err) < 0)
        goto error;
    plan_set_rank (plan, links, rank, basis_rounds);
    plan_set_confirm (plan, confirm_rounds);
    if (check_number (json, "hosts", pathset_size (ps), err) < 0
        || check_number (json, "links", links, err) < 0
        || check_number (json, "measurements", plan_probes (plan), err) < 0
        || check_number (json, "bound", plan_bound (ps, rank), err) < 0
        || check_number (json, "extra_rounds", extra_rounds (plan), err) < 0)
        goto error;
    return plan;
error:
    plan_destroy (plan);
    return NULL;
}

struct plan *plan_read (FILE *fp, const char *name, const char *fabric_hash,
                        pathset_resolve_f resolve, void *arg,
                        struct pathset **ps, struct error *err)
{
    json_t *json = json_read (fp, name, "plan", BYTES_MAX, err);
    struct plan *plan = NULL;

    *ps = NULL;
    if (!json)
        return NULL;
    if (check_fabric (json, fabric_hash, err) < 0
        || !(*ps = read_endpoints (json, resolve, arg, err))
        || !(plan = read_plan (json, *ps, err)))
        error_prefix (err, "%s", name);
    json_decref (json);
    return plan;
}
