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
    FRACTION_MAX = 1 << 20, /* |p| and q */
};

static json_t *row_json (const struct pathset *ps, const struct row *row)
{
    const struct link_info *info = pathset_network (ps)->link;
    json_t *json = json_object ();

    for (size_t k = 0; k < row->n; k++)
        json_put (json, info[row->link[k]].id, json_integer (row->count[k]));
    return json;
}

static int append_round (json_t *rounds, const struct plan *plan,
                         struct pathset *ps, size_t round, struct error *err)
{
    json_t *list = json_array ();
    size_t n;
    const struct probe *p = plan_round (plan, round, &n);

    json_add (rounds, list);
    for (size_t i = 0; i < n; i++) {
        struct row row;

        if (pathset_row (ps, p[i].a, p[i].b, &row, err) < 0)
            return -1;
        json_add (list, json_pack ("{s:s, s:s, s:o}",
                                   "a", pathset_endpoint (ps, p[i].a)->name,
                                   "b", pathset_endpoint (ps, p[i].b)->name,
                                   "row", row_json (ps, &row)));
    }
    return 0;
}

/* Unknown errors are null; unknown seconds and memory are omitted. */
static void set_extra (json_t *json, const struct plan_file_extra *extra)
{
    static const struct plan_file_extra none;
    const struct plan_file_extra *x = extra ? extra : &none;
    const struct {
        const char *key;
        double value;
    } number[] = {
        { "stderr_rms", x->stderr_rms },
        { "stderr_max", x->stderr_max },
        { "seconds", x->seconds },
        { "peak_rss_mb", x->peak_rss_mb },
    };

    for (size_t i = 0; i < sizeof (number) / sizeof (number[0]); i++)
        if (number[i].value != 0)
            json_put (json, number[i].key, json_real (number[i].value));
        else if (i < 2)
            json_put (json, number[i].key, json_null ());
}

static size_t extra_rounds (const struct plan *plan)
{
    return plan_rounds (plan) - plan_basis_rounds (plan)
           - plan_confirm_rounds (plan);
}

/* p/q as in solve/solution. */
static json_t *members_json (const struct plan_target *t,
                             const struct link_info *info)
{
    json_t *json = json_object ();

    for (size_t k = 0; k < t->n; k++) {
        const struct plan_member *m = &t->member[k];
        char text[48];

        snprintf (text, sizeof (text), "%jd/%jd", (intmax_t)m->p,
                  (intmax_t)m->q);
        json_put (json, info[m->link].id, json_string (text));
    }
    return json;
}

/* "targets": those determined alone; "combined": those determined in a
 * combination only; "undetermined". Nothing is written if there are no targets.
 */
static void set_targets (json_t *json, const struct plan *plan,
                         const struct pathset *ps)
{
    const struct link_info *info = pathset_network (ps)->link;
    json_t *alone = json_array ();
    json_t *combined = json_object ();
    json_t *not = json_array ();
    size_t n;
    const struct plan_target *t = plan_targets (plan, &n);

    for (size_t i = 0; i < n; i++) {
        const char *id = info[t[i].link].id;

        if (t[i].n > 1)
            json_put (combined, id, members_json (&t[i], info));
        else
            json_add (t[i].n == 1 ? alone : not, json_string (id));
    }
    if (n > 0)
        json_put (json, "targets", json_incref (alone));
    if (json_object_size (combined) > 0)
        json_put (json, "combined", json_incref (combined));
    if (json_array_size (not) > 0)
        json_put (json, "undetermined", json_incref (not));
    json_decref (alone);
    json_decref (combined);
    json_decref (not);
}

static size_t bound (const struct plan *plan, const struct pathset *ps)
{
    size_t least = plan_least_rounds (pathset_ports (ps), plan_rank (plan));

    return plan_bound (plan) > least ? plan_bound (plan) : least;
}

int plan_write (const struct plan *plan, struct pathset *ps,
                const struct plan_file_extra *extra, FILE *fp,
                struct error *err)
{
    const struct {
        const char *key;
        size_t value;
    } number[] = {
        { "hosts", pathset_ports (ps) },
        { "links", plan_links (plan) },
        { "rank", plan_rank (plan) },
        { "measurements", plan_probes (plan) },
        { "bound", bound (plan, ps) },
        { "basis_rounds", plan_basis_rounds (plan) },
        { "extra_rounds", extra_rounds (plan) },
    };
    json_t *json = json_file ("plan", pathset_network (ps)->hash);
    json_t *endpoints = json_array ();
    json_t *rounds = json_array ();
    int rc = 0;

    json_put (json, "method", json_string (plan_method (plan)));
    for (size_t i = 0; i < sizeof (number) / sizeof (number[0]); i++)
        json_put (json, number[i].key, json_integer (number[i].value));
    if (!plan_maximal (plan))
        json_put (json, "maximal", json_false ());
    if (plan_confirm_rounds (plan) > 0)
        json_put (json, "confirm_rounds",
                  json_integer (plan_confirm_rounds (plan)));
    set_targets (json, plan, ps);
    set_extra (json, extra);
    for (size_t i = 0; i < pathset_size (ps); i++)
        json_add (endpoints, json_string (pathset_endpoint (ps, i)->name));
    json_put (json, "endpoints", endpoints);
    for (size_t r = 0; r < plan_rounds (plan) && rc == 0; r++)
        rc = append_round (rounds, plan, ps, r, err);
    json_put (json, "rounds", rounds);
    if (rc == 0)
        rc = json_write (json, fp, err);
    json_decref (json);
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
    name = xcalloc (n + 1, sizeof (*name));
    for (size_t i = 0; i < n; i++) {
        const json_t *s = json_array_get (list, i);

        name[i] = json_string_value (s);
        if (!name[i] || strlen (name[i]) != json_string_length (s)) {
            error_input (err, "endpoints[%zu]: not a name", i);
            goto error;
        }
    }
    ps = resolve (name, n, arg, err);
    /* a host name may stand for several endpoints, no names for all */
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

/* How the ends of probes are resolved. */
struct ends {
    plan_find_f find;
    const void *arg;
    size_t most;              /* probes of a round */
    const struct pathset *ps; /* for checking the rows; NULL: no check */
};

static int find_endpoint (const void *ps, const char *name,
                          struct error *err)
{
    int i = pathset_find (ps, name);

    return i >= 0 ? i
                  : error_input (err, "%s is not among the endpoints", name);
}

static int read_end (const json_t *json, const char *where, const char *key,
                     const struct ends *ends, int *end, struct error *err)
{
    const char *name;

    if (json_get_string (json, where, key, &name, err) < 0)
        return -1;
    if ((*end = ends->find (ends->arg, name, err)) < 0)
        return error_prefix (err, "%s.%s", where, key);
    return 0;
}

static bool are_one (const struct ends *ends, int a, int b)
{
    return ends->ps ? pathset_port (ends->ps, a) == pathset_port (ends->ps, b)
                    : a == b;
}

static int read_probe (struct plan *plan, size_t r, const json_t *probe,
                       const char *where, const struct ends *ends,
                       struct error *err)
{
    int a, b;

    if (!json_is_object (probe))
        return error_input (err, "%s: not an object", where);
    if (read_end (probe, where, "a", ends, &a, err) < 0
        || read_end (probe, where, "b", ends, &b, err) < 0)
        return -1;
    if (are_one (ends, a, b))
        return error_input (err, "%s: a and b are one endpoint", where);
    if (ends->ps && check_row (probe, where, ends->ps, a, b, err) < 0)
        return -1;
    plan_add (plan, r, a, b);
    return 0;
}

static int read_rounds (struct plan *plan, const json_t *rounds,
                        const struct ends *ends, struct error *err)
{
    for (size_t r = 0; r < json_array_size (rounds); r++) {
        const json_t *round = json_array_get (rounds, r);
        size_t n = json_array_size (round);

        if (!json_is_array (round) || n == 0 || n > ends->most)
            return error_input (err, "rounds[%zu]: not 1 to %zu probes", r,
                                ends->most);
        for (size_t i = 0; i < n; i++) {
            char where[64];

            snprintf (where, sizeof (where), "rounds[%zu][%zu]", r, i);
            if (read_probe (plan, r, json_array_get (round, i), where, ends,
                            err) < 0)
                return -1;
        }
    }
    return 0;
}

/* The links of the set's paths, sorted by id. */
struct ids {
    const struct link_info *info;
    uint32_t *link; /* in the order of ids */
    size_t n;
};

static int compare_ids (const void *a, const void *b, void *arg)
{
    const struct link_info *info = arg;

    return strcmp (info[*(const uint32_t *)a].id,
                   info[*(const uint32_t *)b].id);
}

static int sort_ids (struct ids *ids, struct pathset *ps, struct error *err)
{
    const uint32_t *link = pathset_links (ps, &ids->n, err);

    if (!link)
        return -1;
    ids->link = xarray (ids->n + 1, sizeof (*ids->link));
    memcpy (ids->link, link, ids->n * sizeof (*ids->link));
    ids->info = pathset_network (ps)->link;
    qsort_r (ids->link, ids->n, sizeof (*ids->link), compare_ids,
             (void *)ids->info);
    return 0;
}

static int find_link (const struct ids *ids, const char *id, uint32_t *link,
                      struct error *err)
{
    size_t low = 0, high = ids->n;

    while (low < high) {
        size_t at = low + (high - low) / 2;
        int order = strcmp (ids->info[ids->link[at]].id, id);

        if (order == 0) {
            *link = ids->link[at];
            return 0;
        }
        if (order < 0)
            low = at + 1;
        else
            high = at;
    }
    return error_input (err, "no path between the hosts crosses %.40s", id);
}

/* "p/q" need not be in lowest terms, but q > 0. */
static int read_fraction (const json_t *json, struct plan_member *m)
{
    const char *text = json_string_value (json);
    char *end;

    if (!text)
        return -1;
    m->p = strtoll (text, &end, 10);
    if (end == text || *end != '/')
        return -1;
    text = end + 1;
    m->q = strtoll (text, &end, 10);
    return end == text || *end || m->q < 1 || m->q > FRACTION_MAX
        || llabs (m->p) > FRACTION_MAX ? -1 : 0;
}

static int read_combination (struct plan *plan, const char *id,
                             json_t *members, const struct ids *ids,
                             struct error *err)
{
    size_t size = json_object_size (members);
    struct plan_member *m = xcalloc (size + 1, sizeof (*m));
    bool has = false;
    const char *key;
    json_t *value;
    uint32_t link = 0;
    size_t n = 0;
    int rc = -1;

    if (find_link (ids, id, &link, err) < 0)
        goto error;
    json_object_foreach (members, key, value) {
        if (find_link (ids, key, &m[n].link, err) < 0)
            goto error;
        if (read_fraction (value, &m[n]) < 0) {
            error_input (err, "combined.%.40s.%.40s: no fraction", id, key);
            goto error;
        }
        has = has || (m[n].link == link && m[n].p != 0);
        n++;
    }
    if (n < 2 || !has) {
        error_input (err, "combined.%.40s: not a combination with it", id);
        goto error;
    }
    plan_add_target (plan, link, m, n);
    rc = 0;
error:
    free (m);
    return rc;
}

static int add_targets (struct plan *plan, json_t *list, json_t *combined,
                        const struct ids *ids, struct error *err)
{
    const char *id;
    json_t *value;
    size_t i;

    json_array_foreach (list, i, value) {
        struct plan_member m = { .p = 1, .q = 1 };

        if (!json_is_string (value))
            return error_input (err, "targets[%zu]: not a string", i);
        if (find_link (ids, json_string_value (value), &m.link, err) < 0)
            return error_prefix (err, "targets[%zu]", i);
        plan_add_target (plan, m.link, &m, 1);
    }
    json_object_foreach (combined, id, value)
        if (read_combination (plan, id, value, ids, err) < 0)
            return -1;
    return 0;
}

/* Read what set_targets writes. Undetermined links are not read: they may be on
 * no path of these hosts.
 */
static int read_targets (struct plan *plan, const json_t *json,
                         struct pathset *ps, struct error *err)
{
    json_t *list, *combined = NULL;
    struct ids ids = { 0 };
    size_t n;
    int rc;

    if (json_get_array (json, NULL, "targets", TARGETS_MAX, &list, err) < 0
        || (json_object_get (json, "combined")
            && json_get_object (json, NULL, "combined", &combined, err) < 0))
        return -1;
    if ((rc = sort_ids (&ids, ps, err)) == 0)
        rc = add_targets (plan, list, combined, &ids, err);
    free (ids.link);
    if (rc < 0)
        return -1;
    plan_targets (plan, &n);
    return n > 0 || plan_rules (plan_method (plan))->flows
        ? 0 : error_input (err, "targets: there are none");
}

/* Plans of method "links" have targets; plans of flows have them unless they
 * are empty.
 */
static bool has_targets (const struct plan_rules *rules, const json_t *json)
{
    return rules->flows ? json_object_get (json, "targets") != NULL
                        : strcmp (rules->method, "links") == 0;
}

/* Check a number that follows from the rest of the file or from the fabric. */
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

/* A computed bound is checked by plan_check; the bound of all hosts is computed
 * here.
 */
static int read_bound (struct plan *plan, const json_t *json,
                       const struct pathset *ps, struct error *err)
{
    size_t least = plan_least_rounds (pathset_ports (ps), plan_rank (plan));
    uint64_t value;

    if (json_get_u64 (json, NULL, "bound", 0, ROUNDS_MAX, &value, err) < 0)
        return -1;
    if (value < least)
        return error_input (err, "bound: %ju, but it is %zu at least",
                            (uintmax_t)value, least);
    plan_set_bound (plan, value);
    return 0;
}

/* "maximal": true if missing. */
static int read_maximal (struct plan *plan, const json_t *json,
                         struct error *err)
{
    const json_t *maximal = json_object_get (json, "maximal");

    if (maximal && !json_is_boolean (maximal))
        return error_input (err, "maximal: neither true nor false");
    plan_set_maximal (plan, !json_is_false (maximal));
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

    if (json_get_string (json, NULL, "method", &method, err) < 0
        || json_get_array (json, NULL, "rounds", ROUNDS_MAX, &rounds, err) < 0)
        return NULL;
    if (!(rules = plan_rules (method))) {
        error_input (err, "method: %.40s is not known", method);
        return NULL;
    }
    plan = plan_create (rules->method);
    if (read_rounds (plan, rounds, ends, err) < 0) {
        plan_destroy (plan);
        plan = NULL;
    }
    return plan;
}

static struct plan *read_plan (const json_t *json, struct pathset *ps,
                               struct error *err)
{
    const struct ends ends = { find_endpoint, ps, pathset_ports (ps) / 2, ps };
    struct plan *plan = read_probes (json, &ends, err);
    uint64_t rank, basis_rounds;
    uint64_t confirm_rounds = 0;
    size_t links;

    if (!plan)
        return NULL;
    if (!pathset_links (ps, &links, err)
        || json_get_u64 (json, NULL, "rank", 0, links, &rank, err) < 0
        || json_get_u64 (json, NULL, "basis_rounds", 0,
                         plan_rounds (plan), &basis_rounds, err) < 0
        || (json_object_get (json, "confirm_rounds")
            && json_get_u64 (json, NULL, "confirm_rounds", 0,
                             plan_rounds (plan) - basis_rounds,
                             &confirm_rounds, err) < 0)
        || (has_targets (plan_rules (plan_method (plan)), json)
            && read_targets (plan, json, ps, err) < 0))
        goto error;
    plan_set_rank (plan, links, rank, basis_rounds);
    plan_set_confirm (plan, confirm_rounds);
    if (check_number (json, "hosts", pathset_ports (ps), err) < 0
        || check_number (json, "links", links, err) < 0
        || check_number (json, "measurements", plan_probes (plan), err) < 0
        || read_bound (plan, json, ps, err) < 0
        || read_maximal (plan, json, err) < 0
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
