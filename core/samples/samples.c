/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "core/samples/samples.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/linear/stats.h"
#include "util/json.h"
#include "util/text.h"

enum {
    FILE_MAX = 256 << 20,
    SAMPLES_MAX = 1 << 20,
    HOSTS_MAX = 1 << 17,
    ROUNDS_MAX = 1 << 20,
    SENT_MAX = 1 << 24,
    LEVEL_MAX = 15,
    LOOPBACKS_MAX = 1 << 20,
};

#define RTT_LIMIT_NS 1e12

static const struct {
    const char *key;
    double p;
} quantiles[RTT_COUNT] = {
    [RTT_MIN] = { "min", 0 },          [RTT_P05] = { "p05", 0.05 },
    [RTT_P25] = { "p25", 0.25 },       [RTT_MEDIAN] = { "median", 0.5 },
    [RTT_P75] = { "p75", 0.75 },       [RTT_P95] = { "p95", 0.95 },
    [RTT_MAX] = { "max", 1 },
};

struct samples *samples_create (void)
{
    return calloc (1, sizeof (struct samples));
}

static void free_names (char **name, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free (name[i]);
    free (name);
}

void samples_destroy (struct samples *s)
{
    if (s) {
        int saved_errno = errno;

        free_names (s->answered, s->nanswered);
        free_names (s->missing, s->nmissing);
        free (s->sample);
        free (s->loopback);
        free (s->node);
        free (s);
        errno = saved_errno;
    }
}

/* Make room for one more than n; sizes are powers of two. */
static void *grow (void *v, size_t n, size_t size)
{
    if (n & (n - 1))
        return v;
    return realloc (v, (n ? 2 * n : 1) * size);
}

int samples_add (struct samples *s, const struct sample *sample)
{
    struct sample *v = grow (s->sample, s->nsamples, sizeof (*v));

    if (!v)
        return -1;
    s->sample = v;
    v[s->nsamples++] = *sample;
    return 0;
}

int samples_add_loopback (struct samples *s, const struct loopback *loopback)
{
    struct loopback *v = grow (s->loopback, s->nloopbacks, sizeof (*v));

    if (!v)
        return -1;
    s->loopback = v;
    v[s->nloopbacks++] = *loopback;
    return 0;
}

int samples_add_node (struct samples *s, const struct node *node)
{
    struct node *v = grow (s->node, s->nnodes, sizeof (*v));

    if (!v)
        return -1;
    s->node = v;
    v[s->nnodes++] = *node;
    return 0;
}

int samples_add_host (struct samples *s, const char *host, bool answered)
{
    char ***list = answered ? &s->answered : &s->missing;
    size_t *n = answered ? &s->nanswered : &s->nmissing;
    char **v = grow (*list, *n, sizeof (*v));

    if (!v)
        return -1;
    *list = v;
    if (!(v[*n] = strdup (host)))
        return -1;
    (*n)++;
    return 0;
}

/* 8-4-4-4-12 hex digits. */
static bool is_uuid (const char *s)
{
    size_t i;

    for (i = 0; s[i]; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;

        if (dash ? s[i] != '-' : !isxdigit ((unsigned char)s[i]))
            return false;
    }
    return i == 36;
}

static bool is_word (const char *s)
{
    while (isgraph ((unsigned char)*s))
        s++;
    return !*s;
}

static bool is_numa (int numa)
{
    return numa >= -1 && numa <= NODE_NUMA_MAX;
}

int node_check (const struct node *node, const char *where, struct error *err)
{
    if (!text_is_hostname (node->host))
        return error_input (err, "%s.host is no host name", where);
    if (*node->boot && !is_uuid (node->boot))
        return error_input (err, "%s.boot is no UUID", where);
    if (!is_word (node->kernel))
        return error_input (err, "%s.kernel is no release", where);
    if (!is_word (node->governor))
        return error_input (err, "%s.governor is no word", where);
    if (!is_numa (node->numa) || !is_numa (node->adapter_numa))
        return error_input (err, "%s: a NUMA node is none from 0 to %d",
                            where, NODE_NUMA_MAX);
    return 0;
}

void sample_quantiles (double *rtt_ns, double *v, size_t n)
{
    stats_sort (v, n);
    for (int q = 0; q < RTT_COUNT; q++)
        rtt_ns[q] = stats_quantile (v, n, quantiles[q].p);
}

/*
 * Write
 */

static json_t *names_json (char **name, size_t n)
{
    json_t *list = json_array ();

    for (size_t i = 0; i < n; i++)
        if (json_array_append_new (list, json_string (name[i])) < 0) {
            json_decref (list);
            return NULL;
        }
    return list;
}

static json_t *rtt_json (const double *rtt_ns)
{
    json_t *rtt = json_object ();

    for (int q = 0; q < RTT_COUNT; q++)
        json_object_set_new (rtt, quantiles[q].key, json_real (rtt_ns[q]));
    return rtt;
}

static json_t *sample_json (const struct sample *s, const struct pathset *ps)
{
    json_t *rtt = s->lost < s->sent ? rtt_json (s->rtt_ns) : NULL;

    return json_pack ("{s:s, s:s, s:I, s:s, s:I, s:I, s:o?}", "a",
                      pathset_endpoint (ps, s->a)->name, "b",
                      pathset_endpoint (ps, s->b)->name, "round",
                      (json_int_t)s->round, "initiator",
                      pathset_endpoint (ps, s->initiator)->name, "sent",
                      (json_int_t)s->sent, "lost", (json_int_t)s->lost,
                      "rtt_ns", rtt);
}

static json_t *loopbacks_json (const struct samples *s,
                               const struct pathset *ps)
{
    json_t *list = json_array ();

    for (size_t i = 0; i < s->nloopbacks; i++) {
        const struct loopback *l = &s->loopback[i];
        json_t *one = json_pack ("{s:s, s:I, s:o}", "end",
                                 pathset_endpoint (ps, l->end)->name, "round",
                                 (json_int_t)l->round, "rtt_ns",
                                 rtt_json (l->rtt_ns));

        if (json_array_append_new (list, one) < 0) {
            json_decref (list);
            return NULL;
        }
    }
    return list;
}

static json_t *text_or_null (const char *s)
{
    return *s ? json_string (s) : NULL;
}

static json_t *numa_or_null (int numa)
{
    return numa >= 0 ? json_integer (numa) : NULL;
}

/* What is not known of a node is left out. */
static json_t *nodes_json (const struct samples *s)
{
    json_t *list = json_array ();

    for (size_t i = 0; i < s->nnodes; i++) {
        const struct node *n = &s->node[i];
        json_t *one = json_pack ("{s:s, s:o*, s:o*, s:o*, s:o*, s:o*}",
                                 "host", n->host,
                                 "boot", text_or_null (n->boot),
                                 "kernel", text_or_null (n->kernel),
                                 "governor", text_or_null (n->governor),
                                 "numa", numa_or_null (n->numa),
                                 "adapter_numa",
                                 numa_or_null (n->adapter_numa));

        if (json_array_append_new (list, one) < 0) {
            json_decref (list);
            return NULL;
        }
    }
    return list;
}

int samples_write (const struct samples *s, const struct pathset *ps,
                   FILE *fp, struct error *err)
{
    json_t *json = json_file ("samples", pathset_network (ps)->hash);
    json_t *probes = json_array ();
    json_t *head;
    int rc = -1;

    if (!json || !probes)
        goto error;
    head = json_pack ("{s:I, s:I, s:s, s:{s:o, s:o, s:o}, s:{s:I, s:I, s:I},"
                      " s:I, s:I, s:o}",
                      "job", (json_int_t)s->job, "step", (json_int_t)s->step,
                      "nonce", s->nonce, "nodes", "answered",
                      names_json (s->answered, s->nanswered), "missing",
                      names_json (s->missing, s->nmissing), "known",
                      nodes_json (s), "messages",
                      "late", (json_int_t)s->late, "repeated",
                      (json_int_t)s->repeated, "foreign",
                      (json_int_t)s->foreign, "service_level",
                      (json_int_t)s->level, "adaptive_switches",
                      (json_int_t)s->adaptive, "loopbacks",
                      loopbacks_json (s, ps));
    if (!head)
        goto error;
    rc = json_object_update (json, head);
    json_decref (head);
    if (rc < 0)
        goto error;
    rc = -1;
    for (size_t i = 0; i < s->nsamples; i++)
        if (json_array_append_new (probes, sample_json (&s->sample[i], ps))
            < 0)
            goto error;
    if (json_object_set (json, "probes", probes) < 0
        || json_object_set_new (json, "complete", json_boolean (s->complete))
               < 0)
        goto error;
    rc = json_write (json, fp, err);
    goto done;
error:
    rc = error_nomem (err);
done:
    json_decref (json);
    json_decref (probes);
    return rc;
}

/*
 * Read. The names of the probes' endpoints are collected first, each once, so
 * that a set can be made of them; then they are looked up again.
 */

struct lists { /* of the JSON, borrowed */
    json_t *probes, *answered;
    json_t *loopbacks; /* NULL in older files */
};

struct names {
    const char **name; /* sorted, borrowed from the JSON */
    uint32_t *index;   /* in the pathset */
    size_t n;
};

static int collect_names (struct names *names, const struct lists *lists,
                          const char *file, struct error *err)
{
    const json_t *probes = lists->probes;
    size_t n = json_array_size (probes);
    size_t loops = json_array_size (lists->loopbacks);
    size_t size;

    /* where nothing was probed, the hosts are all that there is */
    if (n == 0)
        n = json_array_size (lists->answered);
    size = 2 * n + loops + 1;
    if (!(names->name = calloc (size, sizeof (*names->name)))
        || !(names->index = calloc (size, sizeof (*names->index))))
        return error_nomem (err);
    for (size_t i = 0; i < n; i++) {
        const json_t *probe = json_array_get (probes, i);
        char where[64];

        snprintf (where, sizeof (where), "probes[%zu]", i);
        if (!probe) {
            names->name[names->n++]
                = json_string_value (json_array_get (lists->answered, i));
            continue;
        }
        if (json_get_string (probe, where, "a", &names->name[names->n], err)
                < 0
            || json_get_string (probe, where, "b", &names->name[names->n + 1],
                                err)
                   < 0)
            return error_prefix (err, "%s", file);
        names->n += 2;
    }
    for (size_t i = 0; i < loops; i++) {
        char where[64];

        snprintf (where, sizeof (where), "loopbacks[%zu]", i);
        if (json_get_string (json_array_get (lists->loopbacks, i), where,
                             "end", &names->name[names->n++], err) < 0)
            return error_prefix (err, "%s", file);
    }
    names->n = text_unique (names->name, names->n);
    return 0;
}

static int find_name (const struct names *names, const char *name,
                      uint32_t *index)
{
    const char *const *p = text_find (names->name, names->n, name);

    if (!p)
        return -1;
    *index = names->index[p - names->name];
    return 0;
}

static int read_hosts (struct samples *s, const json_t *nodes, bool answered,
                       json_t **list, struct error *err)
{
    const char *key = answered ? "answered" : "missing";

    if (json_get_array (nodes, "nodes", key, HOSTS_MAX, list, err) < 0)
        return -1;
    for (size_t i = 0; i < json_array_size (*list); i++) {
        const char *host = json_string_value (json_array_get (*list, i));

        if (!host || !text_is_hostname (host))
            return error_input (err, "nodes.%s[%zu] is no host name", key, i);
        if (samples_add_host (s, host, answered) < 0)
            return error_nomem (err);
    }
    return 0;
}

static int read_rtt (double *rtt_ns, const json_t *of, const char *where,
                     struct error *err)
{
    json_t *rtt = NULL;
    char place[80];

    if (json_get_object (of, where, "rtt_ns", &rtt, err) < 0)
        return -1;
    snprintf (place, sizeof (place), "%s.rtt_ns", where);
    for (int q = 0; q < RTT_COUNT; q++)
        if (json_get_double (rtt, place, quantiles[q].key,
                             q > 0 ? rtt_ns[q - 1] : 0, RTT_LIMIT_NS,
                             &rtt_ns[q], err)
            < 0)
            return -1;
    return 0;
}

static int read_sample (struct sample *sample, const struct names *names,
                        const json_t *probe, const char *where,
                        struct error *err)
{
    const char *a;
    const char *b;
    const char *initiator;
    uint64_t round;
    uint64_t sent;
    uint64_t lost;

    if (json_get_string (probe, where, "a", &a, err) < 0
        || json_get_string (probe, where, "b", &b, err) < 0
        || json_get_string (probe, where, "initiator", &initiator, err) < 0
        || json_get_u64 (probe, where, "round", 0, ROUNDS_MAX, &round, err)
               < 0
        || json_get_u64 (probe, where, "sent", 0, SENT_MAX, &sent, err) < 0
        || json_get_u64 (probe, where, "lost", 0, sent, &lost, err) < 0)
        return -1;
    if (!strcmp (a, b))
        return error_input (err, "%s: a and b are the same", where);
    if (strcmp (initiator, a) && strcmp (initiator, b))
        return error_input (err, "%s.initiator is neither a nor b", where);
    if (find_name (names, a, &sample->a) < 0
        || find_name (names, b, &sample->b) < 0
        || find_name (names, initiator, &sample->initiator) < 0)
        return error_input (err, "%s: no such endpoint", where);
    sample->round = (uint32_t)round;
    sample->sent = (uint32_t)sent;
    sample->lost = (uint32_t)lost;
    return lost < sent ? read_rtt (sample->rtt_ns, probe, where, err) : 0;
}

static int read_loopback (struct loopback *l, const struct names *names,
                          const json_t *from, const char *where,
                          struct error *err)
{
    const char *end;
    uint64_t round;

    if (json_get_string (from, where, "end", &end, err) < 0
        || json_get_u64 (from, where, "round", 0, ROUNDS_MAX, &round, err) < 0)
        return -1;
    if (find_name (names, end, &l->end) < 0)
        return error_input (err, "%s: no such endpoint", where);
    l->round = (uint32_t)round;
    return read_rtt (l->rtt_ns, from, where, err);
}

/*
 * Nodes
 */

/* A text that may be left out, of less than size bytes. */
static int read_text (const json_t *from, const char *where, const char *key,
                      char *text, size_t size, struct error *err)
{
    const char *s = "";

    if (json_object_get (from, key)
        && json_get_string (from, where, key, &s, err) < 0)
        return -1;
    if (strlen (s) >= size)
        return error_input (err, "%s.%s: longer than %zu bytes", where, key,
                            size - 1);
    strcpy (text, s);
    return 0;
}

static int read_numa (const json_t *from, const char *where, const char *key,
                      int *numa, struct error *err)
{
    uint64_t n;

    *numa = -1;
    if (!json_object_get (from, key))
        return 0;
    if (json_get_u64 (from, where, key, 0, NODE_NUMA_MAX, &n, err) < 0)
        return -1;
    *numa = (int)n;
    return 0;
}

static int read_node (struct node *n, const json_t *from, const char *where,
                      struct error *err)
{
    if (!json_is_object (from))
        return error_input (err, "%s is no object", where);
    if (read_text (from, where, "host", n->host, sizeof (n->host), err) < 0
        || read_text (from, where, "boot", n->boot, sizeof (n->boot), err) < 0
        || read_text (from, where, "kernel", n->kernel, sizeof (n->kernel),
                      err) < 0
        || read_text (from, where, "governor", n->governor,
                      sizeof (n->governor), err) < 0
        || read_numa (from, where, "numa", &n->numa, err) < 0
        || read_numa (from, where, "adapter_numa", &n->adapter_numa, err) < 0)
        return -1;
    return node_check (n, where, err);
}

/* Of hosts, each once. */
static int read_known (struct samples *s, const json_t *list,
                       struct error *err)
{
    size_t n = json_array_size (list);
    const char **name = calloc (n + 1, sizeof (*name));
    int rc = name ? 0 : error_nomem (err);

    for (size_t i = 0; rc == 0 && i < n; i++) {
        struct node node = { .numa = -1 };
        char where[64];

        snprintf (where, sizeof (where), "nodes.known[%zu]", i);
        rc = read_node (&node, json_array_get (list, i), where, err);
        if (rc == 0 && samples_add_node (s, &node) < 0)
            rc = error_nomem (err);
    }
    for (size_t i = 0; rc == 0 && i < n; i++)
        name[i] = s->node[i].host;
    if (rc == 0 && text_unique (name, n) < n)
        rc = error_input (err, "nodes.known: a host is there twice");
    free (name);
    return rc;
}

static int resolve_names (struct names *names, pathset_resolve_f resolve,
                          void *arg, struct pathset **ps, struct error *err)
{
    if (!*ps) {
        if (names->n == 0)
            return error_input (err, "no node answered");
        if (!(*ps = resolve (names->name, names->n, arg, err)))
            return -1;
    }
    for (size_t i = 0; i < names->n; i++) {
        int index = pathset_find (*ps, names->name[i]);

        if (index < 0)
            return error_input (err, "endpoint %s is not in the plan",
                                names->name[i]);
        names->index[i] = (uint32_t)index;
    }
    return 0;
}

static int check_hash (const json_t *json, const char *hash,
                       struct error *err)
{
    const json_t *value = json_object_get (json, "fabric");
    const char *found = json_string_value (value);

    if (!found)
        return error_input (err, "fabric is missing");
    if (strcmp (found, hash))
        return error_input (err, "made for another fabric, or for this one "
                                 "before it changed");
    return 0;
}

/* These and the messages came with later versions. */
static int read_level (struct samples *s, const json_t *json,
                       struct error *err)
{
    if (!json_object_get (json, "service_level"))
        return 0;
    if (json_get_u64 (json, NULL, "service_level", 0, LEVEL_MAX, &s->level,
                      err) < 0
        || json_get_u64 (json, NULL, "adaptive_switches", 0, UINT32_MAX,
                         &s->adaptive, err) < 0)
        return -1;
    return 0;
}

static int read_messages (struct samples *s, const json_t *json,
                          struct error *err)
{
    json_t *messages;

    if (!json_object_get (json, "messages"))
        return 0;
    if (json_get_object (json, NULL, "messages", &messages, err) < 0
        || json_get_u64 (messages, "messages", "late", 0, INT64_MAX, &s->late,
                         err) < 0
        || json_get_u64 (messages, "messages", "repeated", 0, INT64_MAX,
                         &s->repeated, err) < 0
        || json_get_u64 (messages, "messages", "foreign", 0, INT64_MAX,
                         &s->foreign, err) < 0)
        return -1;
    return 0;
}

/* What came with version 2. */
static int read_controls (struct samples *s, const json_t *json,
                          const json_t *nodes, struct lists *lists,
                          struct error *err)
{
    json_t *known = NULL;

    if (json_object_get (json, "loopbacks")
        && json_get_array (json, NULL, "loopbacks", LOOPBACKS_MAX,
                           &lists->loopbacks, err) < 0)
        return -1;
    if (json_object_get (nodes, "known")
        && json_get_array (nodes, "nodes", "known", HOSTS_MAX, &known, err)
               < 0)
        return -1;
    return known ? read_known (s, known, err) : 0;
}

static int read_head (struct samples *s, const json_t *json,
                      struct lists *lists, struct error *err)
{
    json_t *missing;
    json_t *nodes;
    const char *nonce;

    /* the largest integer of JSON, as jansson has it */
    if (json_get_u64 (json, NULL, "job", 0, INT64_MAX, &s->job, err) < 0
        || json_get_u64 (json, NULL, "step", 0, INT64_MAX, &s->step, err) < 0
        || json_get_bool (json, NULL, "complete", &s->complete, err) < 0
        || json_get_array (json, NULL, "probes", SAMPLES_MAX, &lists->probes,
                           err) < 0
        || json_get_object (json, NULL, "nodes", &nodes, err) < 0
        || read_hosts (s, nodes, true, &lists->answered, err) < 0
        || read_hosts (s, nodes, false, &missing, err) < 0
        || read_controls (s, json, nodes, lists, err) < 0
        || read_messages (s, json, err) < 0 || read_level (s, json, err) < 0)
        return -1;
    nonce = json_string_value (json_object_get (json, "nonce"));
    if (!nonce || strlen (nonce) >= sizeof (s->nonce)
        || strspn (nonce, "0123456789abcdef") != strlen (nonce))
        return error_input (err, "nonce is not up to 32 hex digits");
    strcpy (s->nonce, nonce);
    return 0;
}

static int read_lists (struct samples *s, const struct lists *lists,
                       const struct names *names, struct error *err)
{
    char where[64];

    for (size_t i = 0; i < json_array_size (lists->probes); i++) {
        struct sample sample = { 0 };

        snprintf (where, sizeof (where), "probes[%zu]", i);
        if (read_sample (&sample, names, json_array_get (lists->probes, i),
                         where, err) < 0)
            return -1;
        if (samples_add (s, &sample) < 0)
            return error_nomem (err);
    }
    for (size_t i = 0; i < json_array_size (lists->loopbacks); i++) {
        struct loopback loopback;

        snprintf (where, sizeof (where), "loopbacks[%zu]", i);
        if (read_loopback (&loopback, names,
                           json_array_get (lists->loopbacks, i), where, err)
            < 0)
            return -1;
        if (samples_add_loopback (s, &loopback) < 0)
            return error_nomem (err);
    }
    return 0;
}

struct samples *samples_read (FILE *fp, const char *name,
                              const char *fabric_hash,
                              pathset_resolve_f resolve, void *arg,
                              struct pathset **ps, struct error *err)
{
    json_t *json = json_read (fp, name, "samples", FILE_MAX, err);
    struct samples *s = NULL;
    struct names names = { 0 };
    struct lists lists = { 0 };

    if (!json)
        return NULL;
    if (!(s = samples_create ())) {
        error_nomem (err);
        goto error;
    }
    if (check_hash (json, fabric_hash, err) < 0
        || read_head (s, json, &lists, err) < 0) {
        error_prefix (err, "%s", name);
        goto error;
    }
    if (collect_names (&names, &lists, name, err) < 0)
        goto error;
    if (resolve_names (&names, resolve, arg, ps, err) < 0
        || read_lists (s, &lists, &names, err) < 0) {
        error_prefix (err, "%s", name);
        goto error;
    }
    goto done;
error:
    samples_destroy (s);
    s = NULL;
done:
    free (names.name);
    free (names.index);
    json_decref (json);
    return s;
}
