/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm simulate: the round-trip times a plan would see. */
#include "config.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/samples/simulate.h"
#include "ibquery/snapshot.h"
#include "pmm/common.h"
#include "pmm/inputs.h"
#include "pmm/simulate_flows.h"
#include "pmm/verb.h"
#include "util/file.h"
#include "util/rng.h"
#include "util/text.h"

enum {
    REPEATS_MAX = 100000,
    LATENCY_BYTES_MAX = 1 << 28,
    SPREAD_SEED = 1,
    BUSY_SEED = 1 << 20,
    NOISE_SEED = 1 << 21,
};

#define LATENCY_MAX_NS 1e9
#define HOST_NS 400.0
#define SWITCH_NS 150.0
#define LOOPBACK_NS 600.0

struct options {
    const char *fabric, *plan, *latency, *noise, *outliers, *busy, *output;
    struct strings slow, oneway, slow_switch, slow_host, misroute, rate;
    double spread, loopback;
    int repeats;
    uint64_t seed;
};

#define FIELD(name) offsetof (struct options, name)
static const struct opt table[] = {
    { "fabric", 'f', "FILE", opt_string, FIELD (fabric), "the snapshot" },
    { "plan", 0, "FILE", opt_string, FIELD (plan), "what to measure" },
    { "latency", 0, "HOW", opt_string, FIELD (latency),
      "FILE of lines 'LINK ns', or random:MIN:MAX[:SEED]" },
    { "slow", 0, "LINK=+NS", opt_append, FIELD (slow),
      "add this much to one; may be given several times" },
    { "slow-oneway", 0, "PORT=+NS", opt_append, FIELD (oneway),
      "the same, of messages that leave by this port only" },
    { "slow-switch", 0, "SWITCH=+NS", opt_append, FIELD (slow_switch),
      "the same, of all links of a switch" },
    { "slow-host", 0, "HOST=+NS", opt_append, FIELD (slow_host),
      "a host's software: of all its round trips, and its loopback" },
    { "misroute", 0, "SWITCH:HOST=PORT", opt_append, FIELD (misroute),
      "in truth the switch sends what is for HOST by this port" },
    { "rate", 0, "LINK=GBPS", opt_append, FIELD (rate),
      "of a --throughput plan: in truth one carries no more" },
    { "spread", 0, "NS", opt_double, FIELD (spread),
      "of cables' lengths: each is longer by up to this much" },
    { "busy", 0, "SHARE:P:NS", opt_string, FIELD (busy),
      "on this share of the links others make messages wait" },
    { "noise", 0, "NS|NAME", opt_string, FIELD (noise),
      "standard deviation of one RTT, or a day like a site's: 0" },
    { "outliers", 0, "P:NS", opt_string, FIELD (outliers),
      "this share takes longer by an exponential of mean NS" },
    { "loopback", 0, "NS", opt_double, FIELD (loopback),
      "what a host's message to itself takes; 0: no loopbacks: 600" },
    { "repeats", 0, "N", opt_int, FIELD (repeats),
      "of each probe from either side: 5" },
    { "seed", 0, "N", opt_u64, FIELD (seed), "of noise and outliers: 1" },
    { "output", 'o', "FILE", opt_string, FIELD (output),
      "write here, not to standard output" },
    { 0 },
};
#undef FIELD

/* Split s, a copy, at colons. Return the number of parts, at most max. */
static size_t split (char *s, char **part, size_t max)
{
    size_t n = 0;

    for (char *p = s; p && n < max; n++) {
        part[n] = p;
        if ((p = strchr (p, ':')))
            *p++ = '\0';
    }
    return n;
}

static int random_latencies (const struct fabric *f, const char *how,
                             double *latency, struct error *err)
{
    char *copy = strdup (how);
    char *part[4];
    size_t n = copy ? split (copy, part, 4) : 0;
    uint64_t seed = 1;
    struct rng rng;
    double min;
    double max;
    int rc = 0;

    if (n < 3 || text_double (part[1], 0, LATENCY_MAX_NS, &min) < 0
        || text_double (part[2], min, LATENCY_MAX_NS, &max) < 0
        || (n == 4 && text_u64 (part[3], 0, UINT64_MAX, &seed) < 0))
        rc = error_input (err, "--latency %.80s: random:MIN:MAX[:SEED] is "
                               "wanted, in ns", how);
    free (copy);
    if (rc < 0)
        return -1;
    rng_seed (&rng, seed);
    for (size_t l = 0; l < f->nlinks; l++)
        latency[l] = min + (max - min) * rng_uniform (&rng);
    return 0;
}

/* Find the end of the link's name and the number behind it. */
static int parse_line (const struct fabric *f, char *line, uint32_t *link,
                       double *ns, struct error *err)
{
    size_t len = strlen (line);
    char *number;

    while (len > 0 && strchr (" \t\r", line[len - 1]))
        line[--len] = '\0';
    number = line + len;
    while (number > line && !strchr (" \t", number[-1]))
        number--;
    if (number == line || text_double (number, 0, LATENCY_MAX_NS, ns) < 0)
        return error_input (err, "'LINK ns' is wanted");
    while (number > line && strchr (" \t", number[-1]))
        *--number = '\0';
    if ((*link = fabric_find_link (f, line)) == FABRIC_NONE)
        return error_input (err, "no link '%.80s'", line);
    return 0;
}

static int read_latencies (const struct fabric *f, const char *path,
                           double *latency, struct error *err)
{
    FILE *fp = file_open_input (path, err);
    char *text = NULL;
    char *save = NULL;
    bool *seen = NULL;
    size_t number = 0;
    size_t len;
    int rc = -1;

    if (!fp)
        return -1;
    text = file_slurp (fp, LATENCY_BYTES_MAX, &len, err);
    file_close_input (fp);
    if (!text)
        return -1;
    if (!(seen = calloc (f->nlinks + 1, sizeof (*seen)))) {
        error_nomem (err);
        goto done;
    }
    for (char *line = text; line; line = save) {
        uint32_t link;
        double ns;

        number++;
        if ((save = strchr (line, '\n')))
            *save++ = '\0';
        line += strspn (line, " \t\r");
        if (!*line || *line == '#')
            continue;
        if (parse_line (f, line, &link, &ns, err) < 0) {
            error_prefix (err, "%s:%zu", path, number);
            goto done;
        }
        if (seen[link]) {
            error_input (err, "%s:%zu: a link for the second time", path,
                         number);
            goto done;
        }
        seen[link] = true;
        latency[link] = ns;
    }
    rc = 0;
done:
    free (seen);
    free (text);
    return rc;
}

/* Split "WORD=+NS" into a copy of the word, which the caller frees, and the
 * number. NULL with err.
 */
static char *parse_fault (const char *fault, const char *option, double *ns,
                          struct error *err)
{
    const char *equals = strrchr (fault, '=');
    char *name;

    if (!equals
        || text_double (equals + 1, -LATENCY_MAX_NS, LATENCY_MAX_NS, ns) < 0) {
        error_input (err, "--%s %.80s: NAME=+NS is wanted", option, fault);
        return NULL;
    }
    if (!(name = strndup (fault, (size_t)(equals - fault))))
        error_nomem (err);
    return name;
}

/* What the links are in truth. */
struct truth {
    double *latency; /* [nlinks] */
    double *arc;     /* [2 * nlinks] more in one direction */
    double *busy;    /* [nlinks] */
    double *host;    /* [nhosts] what its software takes more */
    double *loopback; /* [endpoints of the plan] */
    struct noise *noise;
};

static int slow_link (const struct fabric *f, const char *name, double ns,
                      struct truth *t)
{
    uint32_t link = fabric_find_link (f, name);

    if (link == FABRIC_NONE)
        return -1;
    t->latency[link] += ns;
    return 0;
}

/* An arc leads from the link's end of its number. */
static int slow_arc (const struct fabric *f, const char *name, double ns,
                     struct truth *t)
{
    uint32_t port = fabric_find_port (f, name);
    uint32_t link = port == FABRIC_NONE ? FABRIC_NONE : f->port[port].link;

    if (link == FABRIC_NONE)
        return -1;
    t->arc[2 * link + (f->link[link].a != port)] += ns;
    return 0;
}

static int slow_switch (const struct fabric *f, const char *name, double ns,
                        struct truth *t)
{
    uint32_t node = fabric_find_switch (f, name);

    if (node == FABRIC_NONE)
        return -1;
    for (uint32_t i = 0; i < f->node[node].nports; i++) {
        uint32_t link = f->port[f->node[node].first_port + i].link;

        if (link != FABRIC_NONE)
            t->latency[link] += ns;
    }
    return 0;
}

/* Half of it each way: so much in a round trip, and in its loopback, of which
 * a round trip has one way at either end.
 */
static int slow_host (const struct fabric *f, const char *name, double ns,
                      struct truth *t)
{
    uint32_t host = fabric_find_host (f, name);

    if (host == FABRIC_NONE)
        return -1;
    t->host[host] += ns;
    for (uint32_t i = 0; i < f->host[host].count; i++) {
        uint32_t port = f->endpoint[f->host[host].first + i].port;
        uint32_t link = f->port[port].link;

        if (link != FABRIC_NONE)
            t->latency[link] += ns / 2;
    }
    return 0;
}

typedef int (*slow_f) (const struct fabric *f, const char *name, double ns,
                       struct truth *t);

static int add_faults (const struct fabric *f, const struct strings *faults,
                       const char *option, slow_f slow, struct truth *t,
                       struct error *err)
{
    for (size_t i = 0; i < faults->n; i++) {
        double ns = 0;
        char *name = parse_fault (faults->v[i], option, &ns, err);
        int rc;

        if (!name)
            return -1;
        rc = slow (f, name, ns, t);
        free (name);
        if (rc < 0)
            return error_input (err, "--%s %.80s: no such %s", option,
                                faults->v[i],
                                slow == slow_switch ? "switch"
                                : slow == slow_host ? "host"
                                                    : "link");
    }
    return 0;
}

/* No link is faster than nothing. */
static int check_truth (const struct fabric *f, const struct truth *t,
                        struct error *err)
{
    for (size_t l = 0; l < f->nlinks; l++)
        if (t->latency[l] + t->arc[2 * l] < 0
            || t->latency[l] + t->arc[2 * l + 1] < 0)
            return error_input (err, "--slow: link %s is below 0 ns",
                                f->link[l].id);
    return 0;
}

static void add_spread (const struct fabric *f, double ns,
                        struct truth *t)
{
    struct rng rng;

    rng_seed (&rng, SPREAD_SEED);
    for (size_t l = 0; l < f->nlinks; l++)
        t->latency[l] += ns * rng_uniform (&rng);
}

/* SHARE:P:NS: draw the links by the seed. */
static int make_busy (const struct fabric *f, const struct options *o,
                      struct simulate_options *opts, struct truth *t,
                      struct error *err)
{
    char *copy = o->busy ? strdup (o->busy) : NULL;
    double share = 0;
    double p = 0;
    char *part[3];
    struct rng rng;
    int rc = 0;

    if (!o->busy)
        return 0;
    if (!copy)
        return error_nomem (err);
    if (split (copy, part, 3) < 3 || text_double (part[0], 0, 1, &share) < 0
        || text_double (part[1], 0, 1, &p) < 0
        || text_double (part[2], 0, LATENCY_MAX_NS, &opts->busy_ns) < 0)
        rc = error_input (err, "--busy %.80s: SHARE:P:NS is wanted", o->busy);
    free (copy);
    rng_seed (&rng, BUSY_SEED + o->seed);
    for (size_t l = 0; l < f->nlinks; l++)
        t->busy[l] = rng_uniform (&rng) < share ? p : 0;
    opts->busy = t->busy;
    return rc;
}

static int make_truth (const struct fabric *f, const struct options *o,
                       struct simulate_options *opts, struct truth *t,
                       struct error *err)
{
    int rc = 0;

    t->latency = malloc ((f->nlinks + 1) * sizeof (*t->latency));
    t->arc = calloc (2 * f->nlinks + 1, sizeof (*t->arc));
    t->busy = calloc (f->nlinks + 1, sizeof (*t->busy));
    t->host = calloc (f->nhosts + 1, sizeof (*t->host));
    if (!t->latency || !t->arc || !t->busy || !t->host)
        return error_nomem (err);
    opts->arc_ns = t->arc;
    for (size_t l = 0; l < f->nlinks; l++)
        t->latency[l] = f->link[l].kind == LINK_HOST ? HOST_NS : SWITCH_NS;
    if (o->latency && !strncmp (o->latency, "random:", strlen ("random:")))
        rc = random_latencies (f, o->latency, t->latency, err);
    else if (o->latency)
        rc = read_latencies (f, o->latency, t->latency, err);
    if (rc < 0)
        return -1;
    add_spread (f, o->spread, t);
    if (add_faults (f, &o->slow, "slow", slow_link, t, err) < 0
        || add_faults (f, &o->oneway, "slow-oneway", slow_arc, t, err) < 0
        || add_faults (f, &o->slow_switch, "slow-switch", slow_switch, t, err)
               < 0
        || add_faults (f, &o->slow_host, "slow-host", slow_host, t, err) < 0)
        return -1;
    if (check_truth (f, t, err) < 0)
        return -1;
    return make_busy (f, o, opts, t, err);
}

static void truth_clear (struct truth *t)
{
    free (t->latency);
    free (t->arc);
    free (t->busy);
    free (t->host);
    free (t->loopback);
    noise_destroy (t->noise);
}

/* A number of ns, or a kind's name. */
static int make_noise (const struct options *o, const struct pathset *ps,
                       struct simulate_options *opts, struct truth *t,
                       struct error *err)
{
    const struct noise_kind *kind;

    if (!o->noise
        || text_double (o->noise, 0, LATENCY_MAX_NS, &opts->noise_ns) == 0)
        return 0;
    if (!(kind = noise_find (o->noise)))
        return error_input (err, "--noise %.80s: a number of ns is wanted, or "
                                 "one of %s", o->noise, noise_names ());
    opts->noise = t->noise = noise_create (kind, pathset_network (ps),
                                            pathset_size (ps),
                                            NOISE_SEED + o->seed);
    return 0;
}

/* What the loopbacks of the plan's endpoints take. */
static int make_loopbacks (const struct fabric *f, const struct options *o,
                           const struct pathset *ps,
                           struct simulate_options *opts, struct truth *t,
                           struct error *err)
{
    size_t n = pathset_size (ps);

    if (o->loopback > LATENCY_MAX_NS)
        return error_input (err, "--loopback: 0 to %g ns is wanted",
                            LATENCY_MAX_NS);
    if (o->loopback == 0)
        return 0;
    if (!(t->loopback = malloc ((n + 1) * sizeof (*t->loopback))))
        return error_nomem (err);
    for (size_t i = 0; i < n; i++) {
        uint32_t end = pathset_endpoint (ps, i)->id;

        t->loopback[i] = o->loopback
                         + t->host[f->endpoint[f->end[end].endpoint].host];
    }
    opts->loopback_ns = t->loopback;
    return 0;
}

/* SWITCH:HOST=PORT, into the tables of f, a copy for this alone. */
static int misroute (struct fabric *f, const char *word, struct error *err)
{
    char *copy = strdup (word);
    char *equals = copy ? strrchr (copy, '=') : NULL;
    char *colon = copy ? strrchr (copy, ':') : NULL;
    uint32_t sw = FABRIC_NONE;
    uint32_t host = FABRIC_NONE;
    uint64_t port = 0;
    uint16_t lid;

    if (equals && colon && colon < equals) {
        *equals = *colon = '\0';
        sw = fabric_find_switch (f, copy);
        host = fabric_find_end (f, colon + 1);
    }
    if (sw != FABRIC_NONE
        && text_u64 (equals + 1, 1, f->node[sw].nports, &port) < 0)
        sw = FABRIC_NONE;
    free (copy);
    if (sw == FABRIC_NONE || host == FABRIC_NONE)
        return error_input (err, "--misroute %.80s: SWITCH:HOST=PORT is "
                            "wanted", word);
    lid = f->end[host].lid;
    if (lid > f->node[sw].lft_top)
        return error_input (err, "--misroute %.80s: the switch has no route "
                            "to this host", word);
    f->node[sw].lft[lid] = (uint8_t)port;
    return 0;
}

/* The set as it is in truth: in *f, the fabric with its wrong routes. */
static struct pathset *actual_paths (const struct options *o,
                                     const struct pathset *ps,
                                     struct fabric **f, struct error *err)
{
    if (!(*f = fabric_load (o->fabric, err)))
        return NULL;
    for (size_t i = 0; i < o->misroute.n; i++)
        if (misroute (*f, o->misroute.v[i], err) < 0)
            return NULL;
    return pathset_on (ps, fabric_network (*f), err);
}

static int parse_outliers (const char *word, struct simulate_options *opts,
                           struct error *err)
{
    char *copy;
    char *part[2];
    int rc = 0;

    if (!word)
        return 0;
    if (!(copy = strdup (word)))
        return error_nomem (err);
    if (split (copy, part, 2) < 2
        || text_double (part[0], 0, 1, &opts->outlier_share) < 0
        || text_double (part[1], 0, LATENCY_MAX_NS, &opts->outlier_ns) < 0)
        rc = error_input (err, "--outliers %.80s: SHARE:NS is wanted", word);
    free (copy);
    return rc;
}

static int save (const struct samples *s, const struct pathset *ps,
                 const char *path, struct error *err)
{
    struct outfile *out = file_create (path, err);

    if (!out)
        return -1;
    return file_finish (out,
                        samples_write (s, ps, file_stream (out), err), err);
}

/* What takes and gives latencies does not go with flows. */
static int check_flows (const struct options *o, struct error *err)
{
    if (o->latency || o->outliers || o->busy || o->slow.n > 0
        || o->oneway.n > 0 || o->slow_switch.n > 0 || o->slow_host.n > 0
        || o->misroute.n > 0 || o->noise || o->spread > 0)
        return error_input (err, "the plan is of flows, which have no latency:"
                            " of what is different in truth, --rate alone goes"
                            " with it");
    return 0;
}

static int run_probes (const struct options *o, const struct inputs *in,
                       struct error *err)
{
    struct simulate_options opts = {
        .repeats = (unsigned int)o->repeats,
        .seed = o->seed,
    };
    struct samples *samples = NULL;
    struct fabric *twisted = NULL;
    struct pathset *actual = NULL;
    struct truth truth = { 0 };
    int rc = -1;

    if (o->rate.n > 0)
        error_input (err, "--rate goes with a plan of method throughput");
    else if (parse_outliers (o->outliers, &opts, err) == 0
             && make_truth (in->fabric, o, &opts, &truth, err) == 0
             && make_noise (o, in->ps, &opts, &truth, err) == 0
             && make_loopbacks (in->fabric, o, in->ps, &opts, &truth, err) == 0
             && (o->misroute.n == 0
                 || (actual = actual_paths (o, in->ps, &twisted, err)))
             && (samples = simulate (actual ? actual : in->ps, in->plan,
                                     truth.latency, &opts, err)))
        rc = save (samples, in->ps, o->output, err);
    samples_destroy (samples);
    truth_clear (&truth);
    pathset_destroy (actual);
    fabric_destroy (twisted);
    return rc;
}

static int run (const struct options *o, struct error *err)
{
    struct inputs in;
    int rc = inputs_load (&in, o->fabric, o->plan, NULL, err);

    if (rc == 0 && !plan_rules (plan_method (in.plan))->flows)
        rc = run_probes (o, &in, err);
    else if (rc == 0 && (rc = check_flows (o, err)) == 0)
        rc = simulate_flows (&in, &o->rate, o->output, err);
    inputs_clear (&in);
    return rc;
}

int verb_simulate (int argc, char **argv)
{
    struct options o = { .repeats = 5, .seed = 1,
                         .loopback = LOOPBACK_NS };
    struct error err;
    int status;

    if (options_parse (table, &o, argc, argv, "", 0, 0, &status) < 0)
        goto done;
    status = EXIT_OK;
    if (o.repeats < 1 || o.repeats > REPEATS_MAX) {
        error_input (&err, "--repeats: 1 to %d is wanted", REPEATS_MAX);
        status = fail (argv[0], &err);
    }
    else if (run (&o, &err) < 0)
        status = fail (argv[0], &err);
done:
    free (o.slow.v);
    free (o.oneway.v);
    free (o.slow_switch.v);
    free (o.slow_host.v);
    free (o.misroute.v);
    free (o.rate.v);
    return status;
}
