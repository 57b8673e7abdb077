/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The plan as a file. */
#include "config.h"
#include "core/plan/plan.h"

#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/json.h"

enum {
    BYTES_MAX = 1 << 28,
    ENDPOINTS_MAX = 1 << 20,
    ROUNDS_MAX = 1 << 20,
    PROBES_MAX = 1 << 20, /* of a round */
    TARGETS_MAX = 1 << 20,
};

static size_t extra_rounds (const struct plan *plan)
{
    return plan_rounds (plan) - plan_basis_rounds (plan)
           - plan_confirm_rounds (plan);
}

static json_t *rounds_json (const struct plan *plan, struct pathset *ps,
                            struct error *err)
{
    const struct link_info *info = pathset_network (ps)->link;
    json_t *rounds = json_array ();

    for (size_t r = 0; r < plan_rounds (plan); r++) {
        json_t *list = json_array ();
        size_t n;
        const struct probe *p = plan_round (plan, r, &n);

        json_add (rounds, list);
        for (size_t i = 0; i < n; i++) {
            json_t *json = json_object ();
            struct row row;

            if (pathset_row (ps, p[i].a, p[i].b, &row, err) < 0) {
                json_decref (json);
                json_decref (rounds);
                return NULL;
            }
            for (size_t k = 0; k < row.n; k++)
                json_put (json, info[row.link[k]].id,
                          json_integer (row.count[k]));
            json_add (list,
                      json_pack ("{s:s, s:s, s:o}",
                                 "a", pathset_endpoint (ps, p[i].a)->name,
                                 "b", pathset_endpoint (ps, p[i].b)->name,
                                 "row", json));
        }
    }
    return rounds;
}

/* The targets that are not filled, and those that are. */
static void targets_json (const struct plan *plan,
                          const struct link_info *info, json_t *json[2])
{
    size_t n;
    const struct plan_target *t = plan_targets (plan, &n);

    json[0] = json_array ();
    json[1] = json_array ();
    for (size_t i = 0; i < n; i++)
        json_add (json[t[i].filled], json_string (info[t[i].link].id));
}

/* The list, or NULL instead of an empty one. */
static json_t *unless_empty (json_t *json)
{
    if (json_array_size (json) > 0)
        return json;
    json_decref (json);
    return NULL;
}

static json_t *real_or (double value, json_t *none)
{
    return value != 0 ? json_real (value) : none;
}

/* Unknown errors are null; unknown seconds and memory are omitted. */
int plan_write (const struct plan *plan, struct pathset *ps,
                const struct plan_file_extra *extra, FILE *fp,
                struct error *err)
{
    static const struct plan_file_extra none;
    const struct plan_file_extra *x = extra ? extra : &none;
    const struct network *net = pathset_network (ps);
    size_t least = plan_least_rounds (pathset_ports (ps), plan_rank (plan));
    size_t confirm = plan_confirm_rounds (plan), ntargets;
    json_t *rounds = rounds_json (plan, ps, err);
    json_t *endpoints, *targets[2];

    if (!rounds)
        return -1;
    plan_targets (plan, &ntargets);
    targets_json (plan, net->link, targets);
    endpoints = json_array ();
    for (size_t i = 0; i < pathset_size (ps); i++)
        json_add (endpoints, json_string (pathset_endpoint (ps, i)->name));
    return json_write_file (
        "plan", net->hash,
        json_pack ("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o*, s:o*, s:o*,"
                   " s:o*, s:o, s:o, s:o*, s:o*, s:o, s:o}",
                   "method", plan_method (plan),
                   "hosts", (json_int_t)pathset_ports (ps),
                   "links", (json_int_t)plan_links (plan),
                   "rank", (json_int_t)plan_rank (plan),
                   "measurements", (json_int_t)plan_probes (plan),
                   "bound", (json_int_t)least,
                   "basis_rounds", (json_int_t)plan_basis_rounds (plan),
                   "extra_rounds", (json_int_t)extra_rounds (plan),
                   "maximal", plan_maximal (plan) ? NULL : json_false (),
                   "confirm_rounds", confirm ? json_integer (confirm) : NULL,
                   "targets",
                   ntargets ? targets[1] : unless_empty (targets[1]),
                   "undetermined", unless_empty (targets[0]),
                   "stderr_rms", real_or (x->stderr_rms, json_null ()),
                   "stderr_max", real_or (x->stderr_max, json_null ()),
                   "seconds", real_or (x->seconds, NULL),
                   "peak_rss_mb", real_or (x->peak_rss_mb, NULL),
                   "endpoints", endpoints,
                   "rounds", rounds),
        fp, err);
}

static struct pathset *read_endpoints (const json_t *json,
                                       pathset_resolve_f resolve, void *arg,
                                       struct error *err)
{
    const char **name;
    struct pathset *ps = NULL;
    json_t *list, *s;
    size_t n, i;
    int rc = 0;

    if (json_get_array (json, NULL, "endpoints", ENDPOINTS_MAX, &list, err)
        < 0)
        return NULL;
    n = json_array_size (list);
    name = xarray (n, sizeof (*name));
    json_array_foreach (list, i, s) {
        name[i] = json_string_value (s);
        if (!name[i] || strlen (name[i]) != json_string_length (s)) {
            rc = error_input (err, "endpoints[%zu]: not a name", i);
            break;
        }
    }
    if (rc == 0)
        ps = resolve (name, n, arg, err);
    free (name);
    /* a host name may stand for several endpoints, no names for all */
    if (ps && pathset_size (ps) != n) {
        error_input (err, "endpoints: %zu names stand for %zu endpoints", n,
                     pathset_size (ps));
        pathset_destroy (ps);
        return NULL;
    }
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

/* How the ends of probes are resolved. */
struct ends {
    plan_find_f find;
    const void *arg;
    size_t most;              /* probes of a round */
    const struct pathset *ps; /* for checking the rows; NULL: no check */
};

static int find_plan_endpoint (const void *ps, const char *name,
                               struct error *err)
{
    int i = pathset_find (ps, name);

    return i >= 0 ? i
                  : error_input (err, "%s is not among the endpoints", name);
}

static int read_probe (struct plan *plan, size_t r, const json_t *probe,
                       const char *where, const struct ends *ends,
                       struct error *err)
{
    static const char *const key[] = { "a", "b" };
    int end[2];

    if (!json_is_object (probe))
        return error_input (err, "%s: not an object", where);
    for (int k = 0; k < 2; k++) {
        const char *name;

        if (json_get_string (probe, where, key[k], &name, err) < 0)
            return -1;
        if ((end[k] = ends->find (ends->arg, name, err)) < 0)
            return error_prefix (err, "%s.%s", where, key[k]);
    }
    if (ends->ps ? !pathset_is_pair (ends->ps, end[0], end[1])
                 : end[0] == end[1])
        return error_input (err, "%s: a and b are %s", where,
                            ends->ps && pathset_subnet (ends->ps, end[0])
                                            != pathset_subnet (ends->ps, end[1])
                                ? "in different subnets"
                                : "one endpoint");
    if (ends->ps
        && check_row (probe, where, ends->ps, end[0], end[1], err) < 0)
        return -1;
    plan_add (plan, r, end[0], end[1]);
    return 0;
}

/* Make a plan with the file's method and rounds. NULL with err. */
static struct plan *read_probes (const json_t *json, const struct ends *ends,
                                 struct error *err)
{
    const struct plan_rules *rules;
    struct plan *plan;
    const char *method;
    json_t *rounds;
    int rc = 0;

    if (json_get_string (json, NULL, "method", &method, err) < 0
        || json_get_array (json, NULL, "rounds", ROUNDS_MAX, &rounds, err) < 0)
        return NULL;
    if (!(rules = plan_rules (method))) {
        error_input (err, "method: %.40s is not known", method);
        return NULL;
    }
    plan = plan_create (rules->method);
    for (size_t r = 0; r < json_array_size (rounds) && rc == 0; r++) {
        const json_t *round = json_array_get (rounds, r);
        size_t n = json_array_size (round);

        if (!json_is_array (round) || n == 0 || n > ends->most)
            rc = error_input (err, "rounds[%zu]: not 1 to %zu probes", r,
                              ends->most);
        for (size_t i = 0; i < n && rc == 0; i++) {
            char where[64];

            snprintf (where, sizeof (where), "rounds[%zu][%zu]", r, i);
            rc = read_probe (plan, r, json_array_get (round, i), where, ends,
                             err);
        }
    }
    if (rc == 0)
        return plan;
    plan_destroy (plan);
    return NULL;
}

/* Read the targets that are filled, which plans of flows have unless they are
 * empty. The others may be on no path of these hosts.
 */
static int read_targets (struct plan *plan, const json_t *json,
                         struct pathset *ps, struct error *err)
{
    json_t *list, *ids, *value;
    const uint32_t *link;
    size_t n, i;
    int rc = 0;

    if (json_get_array (json, NULL, "targets", TARGETS_MAX, &list, err) < 0
        || !(link = pathset_links (ps, &n, err)))
        return -1;
    ids = json_object ();
    for (i = 0; i < n; i++)
        json_put (ids, pathset_network (ps)->link[link[i]].id,
                  json_integer (link[i]));
    json_array_foreach (list, i, value) {
        const char *id = json_string_value (value);
        const json_t *number = id ? json_object_get (ids, id) : NULL;

        if (!number) {
            rc = error_input (err, "targets[%zu]: not a link on a path between"
                              " the hosts", i);
            break;
        }
        plan_add_target (plan, json_integer_value (number), true);
    }
    json_decref (ids);
    return rc;
}

/* Read the numbers and targets of a plan, whose rounds are there. Some numbers
 * follow from the rest of the file or from the fabric.
 */
static int read_numbers (struct plan *plan, const json_t *json,
                         struct pathset *ps, struct error *err)
{
    const json_t *maximal = json_object_get (json, "maximal");
    size_t rounds = plan_rounds (plan), links;
    uint64_t rank, basis, confirm = 0;

    if (!pathset_links (ps, &links, err)
        || json_get_u64 (json, NULL, "rank", 0, links, &rank, err) < 0
        || json_get_u64 (json, NULL, "basis_rounds", 0, rounds, &basis, err)
            < 0
        || (json_object_get (json, "confirm_rounds")
            && json_get_u64 (json, NULL, "confirm_rounds", 0, rounds - basis,
                             &confirm, err) < 0)
        || (plan_rules (plan_method (plan))->flows
            && json_object_get (json, "targets")
            && read_targets (plan, json, ps, err) < 0))
        return -1;
    if (maximal && !json_is_boolean (maximal))
        return error_input (err, "maximal: neither true nor false");
    plan_set_rank (plan, links, rank, basis);
    plan_set_confirm (plan, confirm);
    plan_set_maximal (plan, !json_is_false (maximal));

    const struct {
        const char *key;
        size_t is;
    } known[] = {
        { "hosts", pathset_ports (ps) },
        { "links", links },
        { "measurements", plan_probes (plan) },
        { "extra_rounds", extra_rounds (plan) },
    };

    for (size_t i = 0; i < sizeof (known) / sizeof (known[0]); i++) {
        uint64_t value;

        if (json_get_u64 (json, NULL, known[i].key, 0, INT64_MAX, &value, err)
            < 0)
            return -1;
        if (value != known[i].is)
            return error_input (err, "%s: %ju, but it is %zu", known[i].key,
                                (uintmax_t)value, known[i].is);
    }
    return 0;
}

struct plan *plan_read (FILE *fp, const char *name, const char *fabric_hash,
                        pathset_resolve_f resolve, void *arg,
                        struct pathset **ps, struct error *err)
{
    json_t *json = json_read (fp, name, "plan", BYTES_MAX, err);
    struct plan *plan = NULL;
    const char *hash;
    int rc;

    *ps = NULL;
    if (!json)
        return NULL;
    rc = json_get_string (json, NULL, "fabric", &hash, err);
    if (rc == 0 && strcmp (hash, fabric_hash) != 0)
        rc = error_input (err, "made for another fabric (%.64s, this one"
                          " is %.64s)", hash, fabric_hash);
    if (rc == 0 && (*ps = read_endpoints (json, resolve, arg, err))) {
        const struct ends ends = { find_plan_endpoint, *ps,
                                   pathset_ports (*ps) / 2, *ps };

        plan = read_probes (json, &ends, err);
    }
    if (!plan || read_numbers (plan, json, *ps, err) < 0) {
        error_prefix (err, "%s", name);
        plan_destroy (plan);
        plan = NULL;
    }
    json_decref (json);
    return plan;
}

struct plan *plan_read_probes (FILE *fp, const char *name, plan_find_f find,
                               const void *arg, char *fabric,
                               struct error *err)
{
    const struct ends ends = { find, arg, PROBES_MAX, NULL };
    json_t *json = json_read (fp, name, "plan", BYTES_MAX, err);
    struct plan *plan = NULL;
    const char *hash;

    if (!json)
        return NULL;
    if (json_get_string (json, NULL, "fabric", &hash, err) < 0
        || !(plan = read_probes (json, &ends, err)))
        error_prefix (err, "%s", name);
    else
        snprintf (fabric, PLAN_FABRIC, "%s", hash);
    json_decref (json);
    return plan;
}
