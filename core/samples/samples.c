/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "core/samples/samples.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/linear/stats.h"
#include "util/alloc.h"
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
    return xcalloc (1, sizeof (struct samples));
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
        free (s->run);
        free (s);
        errno = saved_errno;
    }
}

void samples_add (struct samples *s, const struct sample *sample)
{
    s->sample = xgrow (s->sample, s->nsamples, sizeof (*sample));
    s->sample[s->nsamples++] = *sample;
}

void samples_add_loopback (struct samples *s, const struct loopback *loopback)
{
    s->loopback = xgrow (s->loopback, s->nloopbacks, sizeof (*loopback));
    s->loopback[s->nloopbacks++] = *loopback;
}

void samples_add_node (struct samples *s, const struct node *node)
{
    s->node = xgrow (s->node, s->nnodes, sizeof (*node));
    s->node[s->nnodes++] = *node;
}

void samples_add_run (struct samples *s, uint32_t round)
{
    s->run = xgrow (s->run, s->nruns, sizeof (round));
    s->run[s->nruns++] = round;
}

/* A list of items that have a round each, `at` bytes from their start. */
struct dated {
    const char *v;
    size_t n, size, at;
};

/* The number of items of runs before the one that begins with a round. */
static size_t count_before (const struct dated *d, uint32_t round)
{
    size_t low = 0;
    size_t high = d->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        uint32_t of;

        memcpy (&of, d->v + middle * d->size + d->at, sizeof (of));
        if (of < round)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct samples samples_run (const struct samples *s, size_t i)
{
    const struct dated probes = { (const char *)s->sample, s->nsamples,
                                  sizeof (*s->sample),
                                  offsetof (struct sample, round) };
    const struct dated loopbacks = { (const char *)s->loopback, s->nloopbacks,
                                     sizeof (*s->loopback),
                                     offsetof (struct loopback, round) };
    uint32_t from = i > 0 ? s->run[i - 1] : 0;
    size_t sample = count_before (&probes, from);
    size_t loopback = count_before (&loopbacks, from);
    struct samples run = *s;

    if (i < s->nruns) {
        run.nsamples = count_before (&probes, s->run[i]);
        run.nloopbacks = count_before (&loopbacks, s->run[i]);
    }
    if (sample > 0)
        run.sample += sample;
    if (loopback > 0)
        run.loopback += loopback;
    run.nsamples -= sample;
    run.nloopbacks -= loopback;
    run.nruns = 0;
    return run;
}

void samples_add_host (struct samples *s, const char *host, bool answered)
{
    char ***list = answered ? &s->answered : &s->missing;
    size_t *n = answered ? &s->nanswered : &s->nmissing;

    *list = xgrow (*list, *n, sizeof (**list));
    (*list)[(*n)++] = xstrdup (host);
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
    if (*node->host && !text_is_hostname (node->host))
        return error_input (err, "%s.host is not a host name", where);
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

/* Makes item i of a list. */
typedef json_t *(*item_f) (const struct samples *s, const struct pathset *ps,
                           size_t i);

static json_t *list_json (const struct samples *s, const struct pathset *ps,
                          size_t n, item_f item)
{
    json_t *list = json_array ();

    for (size_t i = 0; i < n; i++)
        if (json_array_append_new (list, item (s, ps, i)) < 0) {
            json_decref (list);
            return NULL;
        }
    return list;
}

static json_t *answered_json (const struct samples *s,
                              const struct pathset *ps, size_t i)
{
    (void)ps;
    return json_string (s->answered[i]);
}

static json_t *missing_json (const struct samples *s, const struct pathset *ps,
                             size_t i)
{
    (void)ps;
    return json_string (s->missing[i]);
}

static json_t *rtt_json (const double *rtt_ns)
{
    json_t *rtt = json_object ();

    for (int q = 0; q < RTT_COUNT; q++)
        json_object_set_new (rtt, quantiles[q].key, json_real (rtt_ns[q]));
    return rtt;
}

static json_t *sample_json (const struct samples *samples,
                            const struct pathset *ps, size_t i)
{
    const struct sample *s = &samples->sample[i];
    json_t *rtt = s->lost < s->sent ? rtt_json (s->rtt_ns) : NULL;

    return json_pack ("{s:s, s:s, s:I, s:s, s:I, s:I, s:o?}", "a",
                      pathset_endpoint (ps, s->a)->name, "b",
                      pathset_endpoint (ps, s->b)->name, "round",
                      (json_int_t)s->round, "initiator",
                      pathset_endpoint (ps, s->initiator)->name, "sent",
                      (json_int_t)s->sent, "lost", (json_int_t)s->lost,
                      "rtt_ns", rtt);
}

static json_t *loopback_json (const struct samples *s,
                              const struct pathset *ps, size_t i)
{
    const struct loopback *l = &s->loopback[i];

    return json_pack ("{s:s, s:I, s:o}", "end",
                      pathset_endpoint (ps, l->end)->name, "round",
                      (json_int_t)l->round, "rtt_ns", rtt_json (l->rtt_ns));
}

static json_t *run_json (const struct samples *s, const struct pathset *ps,
                         size_t i)
{
    (void)ps;
    return json_integer (s->run[i]);
}

static const char *if_known (const char *s)
{
    return *s ? s : NULL;
}

static json_t *numa_if_known (int numa)
{
    return numa >= 0 ? json_integer (numa) : NULL;
}

/* Unknown values are left out. */
static json_t *node_json (const struct samples *s, const struct pathset *ps,
                          size_t i)
{
    const struct node *n = &s->node[i];

    (void)ps;
    return json_pack ("{s:s, s:s*, s:s*, s:s*, s:o*, s:o*}", "host", n->host,
                      "boot", if_known (n->boot),
                      "kernel", if_known (n->kernel),
                      "governor", if_known (n->governor),
                      "numa", numa_if_known (n->numa),
                      "adapter_numa", numa_if_known (n->adapter_numa));
}

int samples_write (const struct samples *s, const struct pathset *ps,
                   FILE *fp, struct error *err)
{
    json_t *all
        = json_pack ("{s:I, s:I, s:s, s:{s:o, s:o, s:o}, s:{s:I, s:I, s:I},"
                     " s:I, s:I, s:o*, s:o, s:o, s:b}",
                     "job", (json_int_t)s->job, "step", (json_int_t)s->step,
                     "nonce", s->nonce, "nodes", "answered",
                     list_json (s, ps, s->nanswered, answered_json), "missing",
                     list_json (s, ps, s->nmissing, missing_json), "known",
                     list_json (s, ps, s->nnodes, node_json), "messages",
                     "late", (json_int_t)s->late, "repeated",
                     (json_int_t)s->repeated, "foreign",
                     (json_int_t)s->foreign, "service_level",
                     (json_int_t)s->level, "adaptive_switches",
                     (json_int_t)s->adaptive, "runs",
                     s->nruns > 0 ? list_json (s, ps, s->nruns, run_json)
                                  : NULL,
                     "loopbacks",
                     list_json (s, ps, s->nloopbacks, loopback_json), "probes",
                     list_json (s, ps, s->nsamples, sample_json), "complete",
                     s->complete);

    return json_write_file ("samples", pathset_network (ps)->hash, all, fp,
                            err);
}

/*
 * Read. First collect the names of the probes' endpoints, without duplicates,
 * to make a pathset of them; then map each name to its index.
 */

enum { ANSWERED, MISSING, KNOWN, RUNS, PROBES, LOOPBACKS, LISTS };

struct reader {
    struct samples *samples;
    json_t *list[LISTS]; /* borrowed; NULL: not in an older file */
    const char **name;   /* of endpoints, sorted, borrowed from the JSON */
    uint32_t *index;     /* of these names in the pathset */
    size_t n;
};

static int read_host (struct reader *r, const json_t *from, const char *where,
                      bool answered, struct error *err)
{
    const char *host = json_string_value (from);

    if (!host || !text_is_hostname (host))
        return error_input (err, "%s is not a host name", where);
    samples_add_host (r->samples, host, answered);
    return 0;
}

static int read_answered (struct reader *r, const json_t *from,
                          const char *where, struct error *err)
{
    return read_host (r, from, where, true, err);
}

static int read_missing (struct reader *r, const json_t *from,
                         const char *where, struct error *err)
{
    return read_host (r, from, where, false, err);
}

/* An optional text of less than size bytes. */
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

static int read_node (struct reader *r, const json_t *from, const char *where,
                      struct error *err)
{
    struct node n = { .numa = -1 };

    if (!json_is_object (from))
        return error_input (err, "%s is no object", where);
    if (read_text (from, where, "host", n.host, sizeof (n.host), err) < 0
        || read_text (from, where, "boot", n.boot, sizeof (n.boot), err) < 0
        || read_text (from, where, "kernel", n.kernel, sizeof (n.kernel), err)
               < 0
        || read_text (from, where, "governor", n.governor,
                      sizeof (n.governor), err) < 0
        || read_numa (from, where, "numa", &n.numa, err) < 0
        || read_numa (from, where, "adapter_numa", &n.adapter_numa, err) < 0
        || node_check (&n, where, err) < 0)
        return -1;
    if (!*n.host)
        return error_input (err, "%s.host is missing", where);
    samples_add_node (r->samples, &n);
    return 0;
}

static int find_name (const struct reader *r, const char *name,
                      uint32_t *index)
{
    const char *const *p = text_find (r->name, r->n, name);

    if (!p)
        return -1;
    *index = r->index[p - r->name];
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

static int read_run (struct reader *r, const json_t *from, const char *where,
                     struct error *err)
{
    const struct samples *s = r->samples;
    json_int_t round = json_integer_value (from);

    if (round <= (s->nruns > 0 ? s->run[s->nruns - 1] : 0)
        || round > ROUNDS_MAX)
        return error_input (err, "%s is no round behind the one before",
                            where);
    samples_add_run (r->samples, (uint32_t)round);
    return 0;
}

/* Whether a round is of an earlier run than another. */
static bool is_before (const struct samples *s, uint32_t round,
                       uint32_t other)
{
    for (size_t i = 0; i < s->nruns; i++)
        if (round < s->run[i] && other >= s->run[i])
            return true;
    return false;
}

static int read_probe (struct reader *r, const json_t *probe,
                       const char *where, struct error *err)
{
    const struct samples *s = r->samples;
    struct sample sample = { 0 };
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
    if (find_name (r, a, &sample.a) < 0 || find_name (r, b, &sample.b) < 0
        || find_name (r, initiator, &sample.initiator) < 0)
        return error_input (err, "%s: no such endpoint", where);
    sample.round = (uint32_t)round;
    sample.sent = (uint32_t)sent;
    sample.lost = (uint32_t)lost;
    if (lost < sent && read_rtt (sample.rtt_ns, probe, where, err) < 0)
        return -1;
    if (s->nsamples > 0
        && is_before (s, sample.round, s->sample[s->nsamples - 1].round))
        return error_input (err, "%s is of a run before", where);
    samples_add (r->samples, &sample);
    return 0;
}

static int read_loopback (struct reader *r, const json_t *from,
                          const char *where, struct error *err)
{
    const struct samples *s = r->samples;
    struct loopback l;
    const char *end;
    uint64_t round;

    if (json_get_string (from, where, "end", &end, err) < 0
        || json_get_u64 (from, where, "round", 0, ROUNDS_MAX, &round, err) < 0)
        return -1;
    if (find_name (r, end, &l.end) < 0)
        return error_input (err, "%s: no such endpoint", where);
    l.round = (uint32_t)round;
    if (read_rtt (l.rtt_ns, from, where, err) < 0)
        return -1;
    if (s->nloopbacks > 0
        && is_before (s, l.round, s->loopback[s->nloopbacks - 1].round))
        return error_input (err, "%s is of a run before", where);
    samples_add_loopback (r->samples, &l);
    return 0;
}

static const struct {
    const char *in, *key;
    size_t max;
    bool later; /* since version 2 */
    int (*read) (struct reader *r, const json_t *item, const char *where,
                 struct error *err);
} lists[LISTS] = {
    [ANSWERED] = { "nodes", "answered", HOSTS_MAX, false, read_answered },
    [MISSING] = { "nodes", "missing", HOSTS_MAX, false, read_missing },
    [KNOWN] = { "nodes", "known", HOSTS_MAX, true, read_node },
    [RUNS] = { NULL, "runs", ROUNDS_MAX, true, read_run },
    [PROBES] = { NULL, "probes", SAMPLES_MAX, false, read_probe },
    [LOOPBACKS] = { NULL, "loopbacks", LOOPBACKS_MAX, true, read_loopback },
};

static int find_lists (struct reader *r, const json_t *json, struct error *err)
{
    json_t *nodes;

    if (json_get_object (json, NULL, "nodes", &nodes, err) < 0)
        return -1;
    for (int i = 0; i < LISTS; i++) {
        const json_t *in = lists[i].in ? nodes : json;

        if ((!lists[i].later || json_object_get (in, lists[i].key))
            && json_get_array (in, lists[i].in, lists[i].key, lists[i].max,
                               &r->list[i], err) < 0)
            return -1;
    }
    return 0;
}

static int read_list (struct reader *r, int which, struct error *err)
{
    const char *in = lists[which].in;
    char where[64];

    for (size_t i = 0; i < json_array_size (r->list[which]); i++) {
        snprintf (where, sizeof (where), "%s%s%s[%zu]", in ? in : "",
                  in ? "." : "", lists[which].key, i);
        if (lists[which].read (r, json_array_get (r->list[which], i), where,
                               err) < 0)
            return -1;
    }
    return 0;
}

static int check_known (const struct samples *s, struct error *err)
{
    const char **name = xarray (s->nnodes, sizeof (*name));
    int rc = 0;

    for (size_t i = 0; i < s->nnodes; i++)
        name[i] = s->node[i].host;
    if (text_unique (name, s->nnodes) < s->nnodes)
        rc = error_input (err, "nodes.known: a host is there twice");
    free (name);
    return rc;
}

/* Collect the names under a key of a list's items, which are objects. */
static int collect (struct reader *r, int which, const char *key,
                    struct error *err)
{
    for (size_t i = 0; i < json_array_size (r->list[which]); i++) {
        char where[64];

        snprintf (where, sizeof (where), "%s[%zu]", lists[which].key, i);
        if (json_get_string (json_array_get (r->list[which], i), where, key,
                             &r->name[r->n++], err) < 0)
            return -1;
    }
    return 0;
}

static int collect_names (struct reader *r, struct error *err)
{
    const struct samples *s = r->samples;
    size_t probes = json_array_size (r->list[PROBES]);
    size_t size = 2 * probes + s->nanswered
                  + json_array_size (r->list[LOOPBACKS]) + 1;

    r->name = xcalloc (size, sizeof (*r->name));
    r->index = xcalloc (size, sizeof (*r->index));
    /* if nothing was probed, only the hosts are known */
    for (size_t i = 0; probes == 0 && i < s->nanswered; i++)
        r->name[r->n++] = s->answered[i];
    if (collect (r, PROBES, "a", err) < 0 || collect (r, PROBES, "b", err) < 0
        || collect (r, LOOPBACKS, "end", err) < 0)
        return -1;
    r->n = text_unique (r->name, r->n);
    return 0;
}

static int resolve_names (struct reader *r, pathset_resolve_f resolve,
                          void *arg, struct pathset **ps, struct error *err)
{
    if (!*ps) {
        if (r->n == 0)
            return error_input (err, "no node answered");
        if (!(*ps = resolve (r->name, r->n, arg, err)))
            return -1;
    }
    for (size_t i = 0; i < r->n; i++) {
        int index = pathset_find (*ps, r->name[i]);

        if (index < 0)
            return error_input (err, "endpoint %s is not in the plan",
                                r->name[i]);
        r->index[i] = (uint32_t)index;
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

/* These keys and "messages" are missing in older files. */
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

static int read_head (struct samples *s, const json_t *json,
                      struct error *err)
{
    const char *nonce;

    /* the largest integer that jansson supports */
    if (json_get_u64 (json, NULL, "job", 0, INT64_MAX, &s->job, err) < 0
        || json_get_u64 (json, NULL, "step", 0, INT64_MAX, &s->step, err) < 0
        || json_get_bool (json, NULL, "complete", &s->complete, err) < 0
        || read_messages (s, json, err) < 0 || read_level (s, json, err) < 0)
        return -1;
    nonce = json_string_value (json_object_get (json, "nonce"));
    if (!nonce || strlen (nonce) >= sizeof (s->nonce)
        || strspn (nonce, "0123456789abcdef") != strlen (nonce))
        return error_input (err, "nonce is not up to 32 hex digits");
    strcpy (s->nonce, nonce);
    return 0;
}

static int read_nodes (struct reader *r, const json_t *json, struct error *err)
{
    if (find_lists (r, json, err) < 0 || read_list (r, ANSWERED, err) < 0
        || read_list (r, MISSING, err) < 0 || read_list (r, KNOWN, err) < 0
        || read_list (r, RUNS, err) < 0)
        return -1;
    return check_known (r->samples, err);
}

struct samples *samples_read (FILE *fp, const char *name,
                              const char *fabric_hash,
                              pathset_resolve_f resolve, void *arg,
                              struct pathset **ps, struct error *err)
{
    json_t *json = json_read (fp, name, "samples", FILE_MAX, err);
    struct reader r = { .samples = NULL };

    if (!json)
        return NULL;
    r.samples = samples_create ();
    if (check_hash (json, fabric_hash, err) < 0
        || read_head (r.samples, json, err) < 0
        || read_nodes (&r, json, err) < 0 || collect_names (&r, err) < 0
        || resolve_names (&r, resolve, arg, ps, err) < 0
        || read_list (&r, PROBES, err) < 0
        || read_list (&r, LOOPBACKS, err) < 0) {
        error_prefix (err, "%s", name);
        samples_destroy (r.samples);
        r.samples = NULL;
    }
    free (r.name);
    free (r.index);
    json_decref (json);
    return r.samples;
}
