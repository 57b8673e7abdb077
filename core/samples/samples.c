/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "core/samples/samples.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/linear/stats.h"
#include "util/alloc.h"
#include "util/json.h"
#include "util/pool.h"
#include "util/text.h"

enum {
    FILE_MAX = 256 << 20,
    SAMPLES_MAX = 1 << 20,
    HOSTS_MAX = 1 << 17,
    ROUNDS_MAX = 1 << 20,
    SENT_MAX = 1 << 24,
    LEVEL_MAX = 15,
    FEW = 5, /* repeats that the quantiles show one by one */
    LOOPBACKS_MAX = 1 << 20,
    FLOWS_MAX = 1 << 20, /* of bursts */
    PORTS_MAX = 1 << 17,
    LEFT_MAX = 2 * LEFT_HOSTS - 1,
    BURSTS_MAX = 1 << 10, /* of a flow */
    MTU_MAX = 1 << 16,
    LANES_MAX = 255,
    MTS_MAX = 1 << 20,
};

#define RTT_LIMIT_NS 1e12
#define RATE_LIMIT 1e15

const double slow_limit_ns[SLOW_LIMITS] = { 250, 825, 1000, 3300 };

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

        for (size_t i = 0; i < s->nsamples; i++)
            free (s->sample[i].flow_ns);
        free_names (s->answered, s->nanswered);
        free_names (s->missing, s->nmissing);
        free (s->sample);
        free (s->loopback);
        bursts_destroy (s->bursts);
        free (s->node);
        free (s);
        errno = saved_errno;
    }
}

void samples_add (struct samples *s, const struct sample *sample)
{
    s->sample = xgrow (s->sample, s->nsamples, sizeof (*sample));
    s->sample[s->nsamples] = *sample;
    s->sample[s->nsamples].flow_ns = NULL;
    if (sample->nflows > 0) {
        double *flow_ns = xarray (sample->nflows, sizeof (*flow_ns));

        s->sample[s->nsamples].flow_ns
            = memcpy (flow_ns, sample->flow_ns,
                      sample->nflows * sizeof (*flow_ns));
    }
    s->nsamples++;
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

int node_check (const struct node *node, const char *where, struct error *err)
{
    int numa[] = { node->numa, node->adapter_numa };

    if (*node->host && !text_is_hostname (node->host))
        return error_input (err, "%s.host is not a host name", where);
    if (*node->boot && !is_uuid (node->boot))
        return error_input (err, "%s.boot is not a UUID", where);
    if (!is_word (node->kernel) || !is_word (node->governor))
        return error_input (err, "%s: kernel and governor must be words",
                            where);
    for (int i = 0; i < 2; i++)
        if (numa[i] < -1 || numa[i] > NODE_NUMA_MAX)
            return error_input (err, "%s: a NUMA node is not in 0 to %d",
                                where, NODE_NUMA_MAX);
    return 0;
}

void sample_quantiles (double *rtt_ns, double *v, size_t n)
{
    stats_sort (v, n);
    for (int q = 0; q < RTT_COUNT; q++)
        rtt_ns[q] = stats_quantile (v, n, quantiles[q].p);
}

/* How many of n repeats took longer, by their quantiles: of five at most it is
 * exact.
 */
static uint32_t sample_longer (const double *rtt_ns, size_t n, double than_ns)
{
    uint32_t longer = 0;
    int q = 1;

    for (size_t i = 0; i < n; i++) {
        double p = n > 1 ? (double)i / (double)(n - 1) : 0;

        for (; q < RTT_COUNT - 1 && quantiles[q].p < p; q++)
            ;
        longer += rtt_ns[q - 1]
                      + (rtt_ns[q] - rtt_ns[q - 1]) * (p - quantiles[q - 1].p)
                            / (quantiles[q].p - quantiles[q - 1].p)
                  > than_ns;
    }
    return longer;
}

/* The least that is not a step of the clock. */
static double least_of (const double *rtt_ns)
{
    return rtt_ns[sample_is_step (rtt_ns[RTT_MIN], rtt_ns[RTT_P25],
                                  rtt_ns[RTT_P75])
                      ? RTT_P25 : RTT_MIN];
}

static void add_slow (uint32_t *slow, double least, const double *v, size_t n)
{
    for (int k = 0; k < SLOW_LIMITS; k++)
        for (size_t i = 0; i < n; i++)
            slow[k] += v[i] > least + slow_limit_ns[k];
}

void sample_times (struct sample *s, double *v, size_t n, const uint32_t *slow)
{
    sample_quantiles (s->rtt_ns, v, n);
    memset (s->slow, 0, sizeof (s->slow));
    if (slow && n >= SAMPLE_FLOW_SEVERAL * (size_t)s->nflows)
        memcpy (s->slow, slow, sizeof (s->slow));
    else
        add_slow (s->slow, least_of (s->rtt_ns), v, n);
}

double sample_flow (const double *v, size_t n, uint32_t *slow)
{
    double least = INFINITY, second = INFINITY, ns;

    for (size_t i = 0; i < n; i++) {
        second = fmin (second, fmax (least, v[i]));
        least = fmin (least, v[i]);
    }
    ns = n == 0 ? NAN : n < SAMPLE_FLOW_SEVERAL ? least : second;
    add_slow (slow, ns, v, n);
    return ns;
}

/*
 * The file. Tables of the keys define the type of each value and its place in
 * memory, for writing and for reading.
 */

enum samples_type {
    END,  /* an endpoint by its name; while reading, its place in the names */
    U32,  /* 0 .. max */
    U64,
    TEXT, /* less than max bytes; "": not in the file */
    NUMA, /* -1: not in the file */
    RATE, /* bits per second; NAN: null */
};

struct samples_field {
    const char *key;
    enum samples_type type;
    size_t at;
    uint64_t max;
};

#define S(field) offsetof (struct sample, field)
static const struct samples_field sample_fields[] = {
    { "a", END, S (a), 0 },
    { "b", END, S (b), 0 },
    { "round", U32, S (round), ROUNDS_MAX },
    { "initiator", END, S (initiator), 0 },
    { "sent", U32, S (sent), SENT_MAX },
    { "lost", U32, S (lost), SENT_MAX },
    { .key = NULL },
};

static const struct samples_field loopback_fields[] = {
    { "end", END, offsetof (struct loopback, end), 0 },
    { "round", U32, offsetof (struct loopback, round), ROUNDS_MAX },
    { .key = NULL },
};

#define N(field) offsetof (struct node, field)
static const struct samples_field node_fields[] = {
    { "host", TEXT, N (host), sizeof (((struct node *)0)->host) },
    { "boot", TEXT, N (boot), sizeof (((struct node *)0)->boot) },
    { "kernel", TEXT, N (kernel), sizeof (((struct node *)0)->kernel) },
    { "governor", TEXT, N (governor), sizeof (((struct node *)0)->governor) },
    { "numa", NUMA, N (numa), NODE_NUMA_MAX },
    { "adapter_numa", NUMA, N (adapter_numa), NODE_NUMA_MAX },
    { .key = NULL },
};

/* INT64_MAX: the largest integer that jansson supports */
#define A(field) offsetof (struct samples, field)
static const struct samples_field head_fields[] = {
    { "job", U64, A (job), INT64_MAX },
    { "step", U64, A (step), INT64_MAX },
    { .key = NULL },
};

static const struct samples_field message_fields[] = {
    { "late", U64, A (late), INT64_MAX },
    { "repeated", U64, A (repeated), INT64_MAX },
    { "foreign", U64, A (foreign), INT64_MAX },
    { .key = NULL },
};

static const struct samples_field level_fields[] = {
    { "service_level", U64, A (level), LEVEL_MAX },
    { "adaptive_switches", U64, A (spread), UINT32_MAX },
    { .key = NULL },
};

static const struct samples_field transport_fields[] = {
    { "connected", U64, A (rc), 1 },
    { .key = NULL },
};

static const struct samples_field burst_fields[] = {
    { "left", U32, offsetof (struct bursts, left), LEFT_MAX },
    { .key = NULL },
};

#define F(field) offsetof (struct burst_flow, field)
static const struct samples_field burst_flow_fields[] = {
    { "a", END, F (a), 0 },
    { "b", END, F (b), 0 },
    { "round", U32, F (round), ROUNDS_MAX },
    { "crowd", U32, F (crowd), 1 },
    { "there_kept", U32, F (way[0].kept), BURSTS_MAX },
    { "there_lost", U32, F (way[0].lost), BURSTS_MAX },
    { "there_best", RATE, F (way[0].best), 0 },
    { "there_worst", RATE, F (way[0].worst), 0 },
    { "back_kept", U32, F (way[1].kept), BURSTS_MAX },
    { "back_lost", U32, F (way[1].lost), BURSTS_MAX },
    { "back_best", RATE, F (way[1].best), 0 },
    { "back_worst", RATE, F (way[1].worst), 0 },
    { .key = NULL },
};

#define P(field) offsetof (struct burst_port, field)
static const struct samples_field burst_port_fields[] = {
    { "end", END, P (end), 0 },
    { "bits", RATE, P (bits), 0 },
    { "mtu", U32, P (mtu), MTU_MAX },
    { "able_lanes", U32, P (able.lanes), LANES_MAX },
    { "able_mts", U32, P (able.mts), MTS_MAX },
    { "now_lanes", U32, P (now.lanes), LANES_MAX },
    { "now_mts", U32, P (now.mts), MTS_MAX },
    { "could_lanes", U32, P (could.lanes), LANES_MAX },
    { "could_mts", U32, P (could.mts), MTS_MAX },
    { "others_bits", RATE, P (others_bits), 0 },
    { "retries", U64, P (retries), INT64_MAX },
    { "errors", U64, P (errors), INT64_MAX },
    { "order", U32, P (order), ORDER_BETTER },
    { .key = NULL },
};

enum {
    ANSWERED,
    MISSING,
    KNOWN,
    PROBES,
    LOOPBACKS,
    BURST_FLOWS,
    BURST_PORTS,
    LISTS
};

/*
 * Write
 */

static json_t *write_samples_fields (json_t *obj, const struct samples_field *f,
                                     const void *from, const struct pathset *ps)
{
    for (; f->key; f++) {
        const void *v = (const char *)from + f->at;
        const uint32_t *u = v;

        if (f->type == END)
            json_put (obj, f->key,
                      json_string (pathset_endpoint (ps, *u)->name));
        else if (f->type == U32)
            json_put (obj, f->key, json_integer (*u));
        else if (f->type == U64)
            json_put (obj, f->key,
                      json_integer ((json_int_t) * (const uint64_t *)v));
        else if (f->type == TEXT && *(const char *)v)
            json_put (obj, f->key, json_string (v));
        else if (f->type == NUMA && *(const int *)v >= 0)
            json_put (obj, f->key, json_integer (*(const int *)v));
        else if (f->type == RATE)
            json_put (obj, f->key, number_json (*(const double *)v));
    }
    return obj;
}

static json_t *with_rtt (json_t *obj, const double *rtt_ns)
{
    json_t *rtt = json_object ();

    for (int q = 0; q < RTT_COUNT; q++)
        json_put (rtt, quantiles[q].key, json_real (rtt_ns[q]));
    json_put (obj, "rtt_ns", rtt);
    return obj;
}

static const char *const ways[2] = { "there", "back" };

static json_t *ways_json (const struct sample *s)
{
    json_t *way = json_object ();

    for (int w = 0; w < 2; w++)
        json_put (way, ways[w], json_real (s->way_ns[w]));
    return way;
}

static json_t *slow_json (const struct sample *s)
{
    json_t *list = json_array ();

    for (int k = 0; k < SLOW_LIMITS; k++)
        json_add (list, json_integer (s->slow[k]));
    return list;
}

static json_t *flows_json (const struct sample *s)
{
    json_t *list = json_array ();

    for (uint32_t f = 0; f < s->nflows; f++)
        json_add (list, number_json (s->flow_ns[f]));
    return list;
}

static json_t *samples_list_json (const struct samples *s,
                                  const struct pathset *ps, int which)
{
    const struct bursts *b = s->bursts;
    const size_t n[LISTS] = {
        s->nanswered,  s->nmissing,       s->nnodes,         s->nsamples,
        s->nloopbacks, b ? b->nflows : 0, b ? b->nports : 0,
    };
    json_t *list = json_array ();

    for (size_t i = 0; i < n[which]; i++) {
        json_t *item;

        if (which == ANSWERED || which == MISSING)
            item = json_string ((which == ANSWERED ? s->answered
                                                   : s->missing)[i]);
        else if (which == KNOWN)
            item = write_samples_fields (json_object (), node_fields,
                                         &s->node[i], ps);
        else if (which == LOOPBACKS)
            item = with_rtt (write_samples_fields (json_object (),
                                                   loopback_fields,
                                                   &s->loopback[i], ps),
                             s->loopback[i].rtt_ns);
        else if (which == BURST_FLOWS)
            item = write_samples_fields (json_object (), burst_flow_fields,
                                         &b->flow[i], ps);
        else if (which == BURST_PORTS)
            item = write_samples_fields (json_object (), burst_port_fields,
                                         &b->port[i], ps);
        else {
            const struct sample *x = &s->sample[i];

            item = write_samples_fields (json_object (), sample_fields, x, ps);
            if (x->lost < x->sent)
                with_rtt (item, x->rtt_ns);
            if (x->sent - x->lost > FEW)
                json_put (item, "slow", slow_json (x));
            if (x->way_ns[0] > 0)
                json_put (item, "way_ns", ways_json (x));
            if (x->nflows > 0)
                json_put (item, "flow_ns", flows_json (x));
        }
        json_add (list, item);
    }
    return list;
}

int samples_write (const struct samples *s, const struct pathset *ps,
                   FILE *fp, struct error *err)
{
    json_t *all = write_samples_fields (json_object (), head_fields, s, ps);

    json_put (all, "nonce", json_string (s->nonce));
    json_put (all, "nodes",
              json_pack ("{s:o, s:o, s:o}", "answered",
                         samples_list_json (s, ps, ANSWERED), "missing",
                         samples_list_json (s, ps, MISSING), "known",
                         samples_list_json (s, ps, KNOWN)));
    json_put (all, "messages",
              write_samples_fields (json_object (), message_fields, s, ps));
    write_samples_fields (all, level_fields, s, ps);
    if (s->spread > 0)
        write_samples_fields (all, transport_fields, s, ps);
    json_put (all, "loopbacks", samples_list_json (s, ps, LOOPBACKS));
    json_put (all, "probes", samples_list_json (s, ps, PROBES));
    if (s->bursts) {
        json_t *bursts = write_samples_fields (json_object (), burst_fields,
                                               s->bursts, ps);

        json_put (bursts, "flows", samples_list_json (s, ps, BURST_FLOWS));
        json_put (bursts, "ports", samples_list_json (s, ps, BURST_PORTS));
        json_put (all, "bursts", bursts);
    }
    json_put (all, "complete", json_boolean (s->complete));
    return json_write_file ("samples", pathset_network (ps)->hash, all, fp,
                            err);
}

/*
 * Read. Names of endpoints are collected in the order of the file; when all are
 * known, a pathset is made of them, and each is replaced by its index there.
 */

struct reader {
    struct samples *samples;
    struct pool *pool; /* of names */
    const char **name; /* of endpoints */
    size_t n;
    struct error *err;
};

static int read_samples_fields (struct reader *r, const struct samples_field *f,
                                const json_t *from, const char *where, void *to)
{
    for (; f->key; f++) {
        bool there = json_object_get (from, f->key) != NULL;
        void *v = (char *)to + f->at;
        const char *s = "";
        uint64_t n = 0;

        if (f->type == RATE) {
            double *rate = v;

            if (json_is_null (json_object_get (from, f->key)))
                *rate = NAN;
            else if (json_get_double (from, where, f->key, 0, RATE_LIMIT, rate,
                                      r->err)
                     < 0)
                return -1;
            continue;
        }
        if (f->type == END || (f->type == TEXT && there)) {
            if (json_get_string (from, where, f->key, &s, r->err) < 0)
                return -1;
        }
        else if (f->type != TEXT && (f->type != NUMA || there)
                 && json_get_u64 (from, where, f->key, 0, f->max, &n, r->err)
                        < 0)
            return -1;
        if (f->type == TEXT && strlen (s) >= f->max)
            return error_input (r->err, "%s.%s: longer than %zu bytes", where,
                                f->key, (size_t)f->max - 1);
        if (f->type == END) {
            r->name = xgrow (r->name, r->n, sizeof (*r->name));
            r->name[r->n] = pool_strdup (r->pool, s);
            n = r->n++;
        }
        if (f->type == TEXT)
            strcpy (v, s);
        else if (f->type == U64)
            *(uint64_t *)v = n;
        else if (f->type == NUMA)
            *(int *)v = there ? (int)n : -1;
        else
            *(uint32_t *)v = (uint32_t)n;
    }
    return 0;
}

static int read_rtt (struct reader *r, double *rtt_ns, const json_t *of,
                     const char *where)
{
    json_t *rtt = NULL;
    char place[80];

    if (json_get_object (of, where, "rtt_ns", &rtt, r->err) < 0)
        return -1;
    snprintf (place, sizeof (place), "%s.rtt_ns", where);
    for (int q = 0; q < RTT_COUNT; q++)
        if (json_get_double (rtt, place, quantiles[q].key,
                             q > 0 ? rtt_ns[q - 1] : 0, RTT_LIMIT_NS,
                             &rtt_ns[q], r->err)
            < 0)
            return -1;
    return 0;
}

static int read_ways (struct reader *r, struct sample *x, const json_t *of,
                      const char *where)
{
    json_t *way = NULL;
    char place[80];

    if (!json_object_get (of, "way_ns"))
        return 0;
    if (json_get_object (of, where, "way_ns", &way, r->err) < 0)
        return -1;
    snprintf (place, sizeof (place), "%s.way_ns", where);
    for (int w = 0; w < 2; w++)
        if (json_get_double (way, place, ways[w], 1, RTT_LIMIT_NS,
                             &x->way_ns[w], r->err)
            < 0)
            return -1;
    return 0;
}

/* Read how many are slow. Where few were sent, or by an older version, the
 * quantiles tell.
 */
static int read_slow (struct reader *r, struct sample *x, const json_t *of,
                      const char *where)
{
    uint32_t n = x->sent - x->lost;
    double least = least_of (x->rtt_ns);
    json_t *list;

    for (int k = 0; k < SLOW_LIMITS; k++)
        x->slow[k] = sample_longer (x->rtt_ns, n, least + slow_limit_ns[k]);
    if (!json_object_get (of, "slow"))
        return 0;
    if (json_get_array (of, where, "slow", SLOW_LIMITS, &list, r->err) < 0)
        return -1;
    for (size_t k = 0; k < json_array_size (list); k++) {
        json_int_t v = json_integer_value (json_array_get (list, k));

        if (!json_is_integer (json_array_get (list, k)) || v < 0 || v > n)
            return error_input (r->err, "%s.slow[%zu] is not in 0 to %u", where,
                                k, (unsigned int)n);
        x->slow[k] = (uint32_t)v;
    }
    return 0;
}

/* Read the times of flows, a number or null each. */
static int read_flow_times (struct reader *r, struct sample *x, double *flow_ns,
                            const json_t *of, const char *where)
{
    json_t *list;

    if (!json_object_get (of, "flow_ns"))
        return 0;
    if (json_get_array (of, where, "flow_ns", SAMPLE_FLOWS_MAX, &list, r->err)
        < 0)
        return -1;
    x->flow_ns = flow_ns;
    x->nflows = (uint32_t)json_array_size (list);
    for (uint32_t f = 0; f < x->nflows; f++) {
        const json_t *v = json_array_get (list, f);

        flow_ns[f] = json_is_null (v) ? NAN : json_number_value (v);
        if (!json_is_null (v)
            && (!json_is_number (v) || flow_ns[f] < 0
                || flow_ns[f] > RTT_LIMIT_NS))
            return error_input (r->err, "%s.flow_ns[%u] is not a time in ns",
                                where, (unsigned int)f);
    }
    return 0;
}

/* What is lost of a flow has no rate, and a loopback has one direction. */
static bool is_burst_flow (const struct burst_flow *f, bool loopback)
{
    for (int w = 0; w < 2; w++) {
        const struct burst_way *way = &f->way[w];

        if (!(way->worst <= way->best)
            || (way->best > 0 && (way->kept == 0 || (loopback && w == 1))))
            return false;
    }
    return true;
}

/* Read item `from` of a list. */
static int read_item (struct reader *r, int which, const json_t *from,
                      const char *where)
{
    struct samples *s = r->samples;
    const char *host = json_string_value (from);
    struct node node = { 0 };
    struct sample x = { 0 };
    struct loopback l = { 0 };
    struct burst_flow flow = { 0 };
    struct burst_port port = { 0 };
    double flow_ns[SAMPLE_FLOWS_MAX];

    switch (which) {
    case ANSWERED:
    case MISSING:
        if (!host || !text_is_hostname (host))
            return error_input (r->err, "%s is not a host name", where);
        samples_add_host (s, host, which == ANSWERED);
        return 0;
    case KNOWN:
        if (read_samples_fields (r, node_fields, from, where, &node) < 0
            || node_check (&node, where, r->err) < 0)
            return -1;
        if (!*node.host)
            return error_input (r->err, "%s.host: missing", where);
        samples_add_node (s, &node);
        return 0;
    case PROBES:
        if (read_samples_fields (r, sample_fields, from, where, &x) < 0)
            return -1;
        if (!strcmp (r->name[x.a], r->name[x.b]))
            return error_input (r->err, "%s: a and b are the same", where);
        if (x.lost > x.sent)
            return error_input (r->err, "%s: lost is more than sent", where);
        if ((x.lost < x.sent
             && (read_rtt (r, x.rtt_ns, from, where) < 0
                 || read_ways (r, &x, from, where) < 0
                 || read_slow (r, &x, from, where) < 0))
            || read_flow_times (r, &x, flow_ns, from, where) < 0)
            return -1;
        samples_add (s, &x);
        return 0;
    case BURST_FLOWS:
        if (read_samples_fields (r, burst_flow_fields, from, where, &flow) < 0)
            return -1;
        if (!is_burst_flow (&flow, !strcmp (r->name[flow.a], r->name[flow.b])))
            return error_input (r->err, "%s: its rates do not fit", where);
        bursts_add_flow (s->bursts, &flow);
        return 0;
    case BURST_PORTS:
        if (read_samples_fields (r, burst_port_fields, from, where, &port) < 0)
            return -1;
        if (isnan (port.bits))
            return error_input (r->err, "%s: its rates do not fit", where);
        bursts_add_port (s->bursts, &port);
        return 0;
    default:
        if (read_samples_fields (r, loopback_fields, from, where, &l) < 0
            || read_rtt (r, l.rtt_ns, from, where) < 0)
            return -1;
        samples_add_loopback (s, &l);
        return 0;
    }
}

static const struct {
    const char *in, *key;
    size_t max;
    bool optional;
} lists[LISTS] = {
    [ANSWERED] = { "nodes", "answered", HOSTS_MAX, false },
    [MISSING] = { "nodes", "missing", HOSTS_MAX, false },
    [KNOWN] = { "nodes", "known", HOSTS_MAX, true },
    [PROBES] = { NULL, "probes", SAMPLES_MAX, false },
    [LOOPBACKS] = { NULL, "loopbacks", LOOPBACKS_MAX, true },
    [BURST_FLOWS] = { "bursts", "flows", FLOWS_MAX, false },
    [BURST_PORTS] = { "bursts", "ports", PORTS_MAX, false },
};

static int take_sample (void *arg, const json_t *item, const char *where,
                        struct error *err)
{
    struct reader *r = arg;

    r->err = err;
    return read_item (r, PROBES, item, where);
}

/* All but the probes, which were taken before. */
static int read_lists (struct reader *r, const json_t *json)
{
    struct samples *s = r->samples;
    const char **host;
    size_t n;

    if (json_object_get (json, "bursts")) {
        json_t *bursts;

        s->bursts = bursts_create ();
        if (json_get_object (json, NULL, "bursts", &bursts, r->err) < 0
            || read_samples_fields (r, burst_fields, bursts, "bursts",
                                    s->bursts)
                   < 0)
            return -1;
    }
    for (int which = 0; which < (s->bursts ? LISTS : BURST_FLOWS); which++) {
        const char *name = lists[which].in, *key = lists[which].key;
        json_t *in = (json_t *)json, *list;

        if (name && json_get_object (json, NULL, name, &in, r->err) < 0)
            return -1;

        if (lists[which].optional && !json_object_get (in, key))
            continue;
        if (json_get_array (in, name, key, lists[which].max, &list, r->err) < 0)
            return -1;
        for (size_t i = 0; i < json_array_size (list); i++) {
            char where[64];

            snprintf (where, sizeof (where), "%s%s%s[%zu]", name ? name : "",
                      name ? "." : "", key, i);
            if (read_item (r, which, json_array_get (list, i), where) < 0)
                return -1;
        }
    }
    host = xarray (s->nnodes, sizeof (*host));
    for (size_t i = 0; i < s->nnodes; i++)
        host[i] = s->node[i].host;
    n = text_unique (host, s->nnodes);
    free (host);
    if (n < s->nnodes)
        return error_input (r->err, "nodes.known: a host is there twice");
    return 0;
}

static int read_samples_head (struct reader *r, const json_t *json,
                              const char *hash)
{
    const char *found = json_string_value (json_object_get (json, "fabric"));
    const char *nonce = json_string_value (json_object_get (json, "nonce"));
    struct samples *s = r->samples;
    json_t *messages;

    if (!found)
        return error_input (r->err, "fabric: missing");
    if (json_array_size (json_object_get (json, "runs")) > 0)
        return error_input (r->err, "a baseline of an earlier release: 'pmm "
                                    "baseline publish' makes one from the "
                                    "ledger, and so does the next audit");
    if (strcmp (found, hash))
        return error_input (r->err, "made for another fabric, or for this one "
                                    "before it changed");
    if (read_samples_fields (r, head_fields, json, NULL, s) < 0
        || json_get_bool (json, NULL, "complete", &s->complete, r->err) < 0)
        return -1;
    /* missing in older files */
    if (json_object_get (json, "messages")
        && (json_get_object (json, NULL, "messages", &messages, r->err) < 0
            || read_samples_fields (r, message_fields, messages, "messages", s)
                   < 0))
        return -1;
    if (json_object_get (json, "service_level")
        && read_samples_fields (r, level_fields, json, NULL, s) < 0)
        return -1;
    if (json_object_get (json, "connected")
        && read_samples_fields (r, transport_fields, json, NULL, s) < 0)
        return -1;
    if (!nonce || strlen (nonce) >= sizeof (s->nonce)
        || strspn (nonce, "0123456789abcdef") != strlen (nonce))
        return error_input (r->err, "nonce is not up to 32 hex digits");
    strcpy (s->nonce, nonce);
    return 0;
}

/* The same of bursts; no endpoint may have two ports. */
static int resolve_bursts (struct bursts *b, const uint32_t *index, size_t ends,
                           struct error *err)
{
    bool *seen = xcalloc (ends, sizeof (*seen));
    int rc = 0;

    for (size_t i = 0; i < b->nflows; i++) {
        b->flow[i].a = index[b->flow[i].a];
        b->flow[i].b = index[b->flow[i].b];
    }
    for (size_t i = 0; i < b->nports && rc == 0; i++) {
        uint32_t end = index[b->port[i].end];

        b->port[i].end = end;
        if (seen[end])
            rc = error_input (err, "bursts.ports[%zu].end is there twice", i);
        seen[end] = true;
    }
    free (seen);
    return rc;
}

/* Replace the places of endpoints' names by indices in the pathset, which is
 * made if there is none.
 */
static int resolve_names (struct reader *r, pathset_resolve_f resolve,
                          void *arg, struct pathset **ps)
{
    struct samples *s = r->samples;
    uint32_t *index;
    int rc = 0;

    if (!*ps) {
        /* if nothing was probed, only the hosts are known */
        size_t hosts = s->nsamples == 0 ? s->nanswered : 0;
        const char **name = xarray (r->n + hosts, sizeof (*name));
        size_t n = 0;

        for (; n < r->n; n++)
            name[n] = r->name[n];
        for (size_t i = 0; i < hosts; i++)
            name[n++] = s->answered[i];
        n = text_unique (name, n);
        if (n > 0)
            *ps = resolve (name, n, arg, r->err);
        else
            error_input (r->err, "no node answered");
        free (name);
        if (!*ps)
            return -1;
    }
    index = xarray (r->n, sizeof (*index));
    for (size_t i = 0; i < r->n && rc == 0; i++) {
        int found = pathset_find (*ps, r->name[i]);

        index[i] = (uint32_t)found;
        if (found < 0)
            rc = error_input (r->err, "endpoint %s is not in the plan",
                              r->name[i]);
    }
    for (size_t i = 0; i < s->nsamples && rc == 0; i++) {
        struct sample *x = &s->sample[i];

        x->a = index[x->a];
        x->b = index[x->b];
        x->initiator = index[x->initiator];
        if (x->initiator != x->a && x->initiator != x->b)
            rc = error_input (r->err,
                              "probes[%zu].initiator is neither a nor b", i);
    }
    for (size_t i = 0; i < s->nloopbacks && rc == 0; i++)
        s->loopback[i].end = index[s->loopback[i].end];
    if (rc == 0 && s->bursts)
        rc = resolve_bursts (s->bursts, index, pathset_size (*ps), r->err);
    free (index);
    return rc;
}

struct samples *samples_read (FILE *fp, const char *name,
                              const char *fabric_hash,
                              pathset_resolve_f resolve, void *arg,
                              struct pathset **ps, struct error *err)
{
    struct reader r = { .samples = samples_create (), .pool = pool_create () };
    const struct json_items probes = { lists[PROBES].key, lists[PROBES].max,
                                       take_sample, &r };
    json_t *json
        = json_read_items (fp, name, "samples", FILE_MAX, &probes, err);

    r.err = err;
    if (!json || read_samples_head (&r, json, fabric_hash) < 0
        || read_lists (&r, json) < 0
        || resolve_names (&r, resolve, arg, ps) < 0) {
        if (json)
            error_prefix (err, "%s", name);
        samples_destroy (r.samples);
        r.samples = NULL;
    }
    pool_destroy (r.pool);
    free (r.name);
    json_decref (json);
    return r.samples;
}
