/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm simulate: the round-trip times that a plan would measure. */
#include "config.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "compare/throughput/across.h"
#include "compare/throughput/carry.h"
#include "core/samples/simulate.h"
#include "ibquery/snapshot.h"
#include "pmm/verb.h"
#include "util/alloc.h"
#include "util/rng.h"

enum {
    REPEATS_MAX = 100000,
    LATENCY_BYTES_MAX = 1 << 28,
    SPREAD_SEED = 1,
    BUSY_SEED = 1 << 20,
    NOISE_SEED = 1 << 21,
    MESSAGE = 1 << 20, /* bytes per message of a flow */
};

#define LATENCY_MAX_NS 1e9
#define HOST_NS 400.0
#define SWITCH_NS 150.0
#define LOOPBACK_NS 600.0
#define GBPS_MAX 1e5

static struct simulate_words {
    const char *latency, *noise, *outliers, *busy;
    struct strings slow, oneway, slow_switch, slow_host, misroute, rate;
    double spread, loopback;
    int repeats;
    uint64_t seed;
} given = { .repeats = 5, .seed = 1, .loopback = LOOPBACK_NS };

#define FIELD(name) offsetof (struct simulate_words, name)
static const struct opt options[] = {
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
      "standard deviation of one RTT, or a day like a site's (default: 0)" },
    { "outliers", 0, "P:NS", opt_string, FIELD (outliers),
      "this share takes longer by an exponential of mean NS" },
    { "loopback", 0, "NS", opt_double, FIELD (loopback),
      "what a host's message to itself takes; 0: no loopbacks"
      " (default: 600)" },
    { "repeats", 0, "N", opt_int, FIELD (repeats),
      "of each probe from either side (default: 5)" },
    { "seed", 0, "N", opt_u64, FIELD (seed), "of noise and outliers (default: 1)" },
    { 0 },
};

/* The true state of the links. */
struct truth {
    double *latency;  /* [nlinks] */
    double *arc;      /* [2 * nlinks] added in one direction */
    double *busy;     /* [nlinks] */
    double *host;     /* [nhosts] added by its software */
    double *loopback; /* [endpoints of the plan] */
    struct noise *noise;
};

/* Read n numbers separated by colons, each from 0 to its maximum. */
static int parse_numbers (const char *text, const double *max, size_t n,
                          double *value)
{
    char *copy = xstrdup (text);
    char *rest = copy;
    int rc = 0;

    for (size_t i = 0; i < n && rc == 0; i++)
        rc = rest ? text_double (strsep (&rest, ":"), 0, max[i], &value[i])
                  : -1;
    free (copy);
    return rest ? -1 : rc;
}

/*
 * Latencies
 */

static int random_latencies (const struct fabric *f, const char *how,
                             double *latency, struct error *err)
{
    static const double max[] = { LATENCY_MAX_NS, LATENCY_MAX_NS };
    const char *range = how + strlen ("random:");
    const char *last = strrchr (range, ':');
    bool seeded = last && last != strchr (range, ':');
    char *copy = xasprintf ("%.*s", seeded ? (int)(last - range) : INT_MAX,
                            range);
    uint64_t seed = 1;
    double v[2] = { 0 };
    struct rng rng;
    int rc = 0;

    if ((seeded && text_u64 (last + 1, 0, UINT64_MAX, &seed) < 0)
        || parse_numbers (copy, max, 2, v) < 0 || v[1] < v[0])
        rc = error_input (err, "--latency %.80s: random:MIN:MAX[:SEED] is "
                               "wanted, in ns", how);
    free (copy);
    rng_seed (&rng, seed);
    for (size_t l = 0; l < f->nlinks && rc == 0; l++)
        latency[l] = v[0] + (v[1] - v[0]) * rng_uniform (&rng);
    return rc;
}

/* A line "LINK ns": the name may contain blanks. */
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
    char *text, *save;
    bool *seen;
    size_t len, number = 0;
    int rc = 0;

    if (!fp)
        return -1;
    text = file_slurp (fp, LATENCY_BYTES_MAX, &len, err);
    file_close_input (fp);
    if (!text)
        return -1;
    seen = xcalloc (f->nlinks, sizeof (*seen));
    for (char *line = text; line && rc == 0; line = save) {
        uint32_t link;
        double ns;

        number++;
        if ((save = strchr (line, '\n')))
            *save++ = '\0';
        line += strspn (line, " \t\r");
        if (!*line || *line == '#')
            continue;
        rc = parse_line (f, line, &link, &ns, err);
        if (rc == 0 && seen[link])
            rc = error_input (err, "a link for the second time");
        if (rc < 0)
            error_prefix (err, "%s:%zu", path, number);
        else {
            seen[link] = true;
            latency[link] = ns;
        }
    }
    free (seen);
    free (text);
    return rc;
}

/*
 * Faults: NAME=+NS of one link or several. Each finds what the name means and
 * returns false if there is no such thing.
 */

static bool slow_link (const struct fabric *f, const char *name, double ns,
                       struct truth *t)
{
    uint32_t link = fabric_find_link (f, name);

    if (link != FABRIC_NONE)
        t->latency[link] += ns;
    return link != FABRIC_NONE;
}

/* The arc starts at the port with this name. */
static bool slow_arc (const struct fabric *f, const char *name, double ns,
                      struct truth *t)
{
    uint32_t port = fabric_find_port (f, name);
    uint32_t link = port == FABRIC_NONE ? FABRIC_NONE : f->port[port].link;

    if (link != FABRIC_NONE)
        t->arc[2 * link + (f->link[link].a != port)] += ns;
    return link != FABRIC_NONE;
}

static bool slow_switch (const struct fabric *f, const char *name, double ns,
                         struct truth *t)
{
    uint32_t node = fabric_find_switch (f, name);

    for (uint32_t i = 0; node != FABRIC_NONE && i < f->node[node].nports;
         i++) {
        uint32_t link = f->port[f->node[node].first_port + i].link;

        if (link != FABRIC_NONE)
            t->latency[link] += ns;
    }
    return node != FABRIC_NONE;
}

/* A slow host adds ns to a round trip, half of it in each direction, and ns to
 * its loopback.
 */
static bool slow_host (const struct fabric *f, const char *name, double ns,
                       struct truth *t)
{
    uint32_t host = fabric_find_host (f, name);

    if (host == FABRIC_NONE)
        return false;
    t->host[host] += ns;
    for (uint32_t i = 0; i < f->host[host].count; i++) {
        uint32_t port = f->endpoint[f->host[host].first + i].port;

        if (f->port[port].link != FABRIC_NONE)
            t->latency[f->port[port].link] += ns / 2;
    }
    return true;
}

static const struct fault_kind {
    const char *option, *of;
    const struct strings *faults;
    bool (*slow) (const struct fabric *f, const char *name, double ns,
                  struct truth *t);
} fault_kinds[] = {
    { "slow", "link", &given.slow, slow_link },
    { "slow-oneway", "link", &given.oneway, slow_arc },
    { "slow-switch", "switch", &given.slow_switch, slow_switch },
    { "slow-host", "host", &given.slow_host, slow_host },
};

static int add_fault (const struct fabric *f, const struct fault_kind *kind,
                      const char *fault, struct truth *t, struct error *err)
{
    const char *equals = strrchr (fault, '=');
    char *name;
    double ns;
    bool found;

    if (!equals
        || text_double (equals + 1, -LATENCY_MAX_NS, LATENCY_MAX_NS, &ns) < 0)
        return error_input (err, "--%s %.80s: NAME=+NS is wanted",
                            kind->option, fault);
    name = xasprintf ("%.*s", (int)(equals - fault), fault);
    found = kind->slow (f, name, ns, t);
    free (name);
    return found ? 0 : error_input (err, "--%s %.80s: no such %s",
                                    kind->option, fault, kind->of);
}

/*
 * The truth
 */

/* SHARE:P:NS: draw the busy links; the seed selects them. */
static int make_busy (const struct fabric *f, struct simulate_options *opts,
                      struct truth *t, struct error *err)
{
    static const double max[] = { 1, 1, LATENCY_MAX_NS };
    double v[3]; /* share, probability, ns */
    struct rng rng;

    if (!given.busy)
        return 0;
    if (parse_numbers (given.busy, max, 3, v) < 0)
        return error_input (err, "--busy %.80s: SHARE:P:NS is wanted",
                            given.busy);
    rng_seed (&rng, BUSY_SEED + given.seed);
    for (size_t l = 0; l < f->nlinks; l++)
        t->busy[l] = rng_uniform (&rng) < v[0] ? v[1] : 0;
    opts->busy = t->busy;
    opts->busy_ns = v[2];
    return 0;
}

static int make_truth (const struct fabric *f, struct simulate_options *opts,
                       struct truth *t, struct error *err)
{
    struct rng rng;
    int rc = 0;

    t->latency = xarray (f->nlinks, sizeof (*t->latency));
    t->arc = xcalloc (2 * f->nlinks, sizeof (*t->arc));
    t->busy = xcalloc (f->nlinks, sizeof (*t->busy));
    t->host = xcalloc (f->nhosts, sizeof (*t->host));
    opts->arc_ns = t->arc;
    for (size_t l = 0; l < f->nlinks; l++)
        t->latency[l] = f->link[l].kind == LINK_HOST ? HOST_NS : SWITCH_NS;
    if (given.latency)
        rc = (strncmp (given.latency, "random:", strlen ("random:")) == 0
                  ? random_latencies
                  : read_latencies) (f, given.latency, t->latency, err);
    rng_seed (&rng, SPREAD_SEED);
    for (size_t l = 0; l < f->nlinks; l++)
        t->latency[l] += given.spread * rng_uniform (&rng);
    for (size_t i = 0; i < sizeof (fault_kinds) / sizeof (fault_kinds[0]); i++)
        for (size_t k = 0; k < fault_kinds[i].faults->n && rc == 0; k++)
            rc = add_fault (f, &fault_kinds[i], fault_kinds[i].faults->v[k], t,
                            err);
    for (size_t l = 0; l < f->nlinks && rc == 0; l++)
        if (t->latency[l] + t->arc[2 * l] < 0
            || t->latency[l] + t->arc[2 * l + 1] < 0)
            rc = error_input (err, "--slow: link %s is below 0 ns",
                              f->link[l].id);
    return rc < 0 ? -1 : make_busy (f, opts, t, err);
}

/* A number of ns, or the name of a kind of noise. */
static int make_noise (const struct pathset *ps, struct simulate_options *opts,
                       struct truth *t, struct error *err)
{
    const struct noise_kind *kind;

    if (!given.noise
        || text_double (given.noise, 0, LATENCY_MAX_NS, &opts->noise_ns) == 0)
        return 0;
    if (!(kind = noise_find (given.noise)))
        return error_input (err, "--noise %.80s: a number of ns is wanted, or "
                                 "one of %s", given.noise, noise_names ());
    opts->noise = t->noise = noise_create (kind, pathset_network (ps),
                                           pathset_size (ps),
                                           NOISE_SEED + given.seed);
    return 0;
}

/* The loopback times of the plan's endpoints. */
static int make_loopbacks (const struct fabric *f, const struct pathset *ps,
                           struct simulate_options *opts, struct truth *t,
                           struct error *err)
{
    size_t n = pathset_size (ps);

    if (given.loopback > LATENCY_MAX_NS)
        return error_input (err, "--loopback: 0 to %g ns is wanted",
                            LATENCY_MAX_NS);
    if (given.loopback == 0)
        return 0;
    t->loopback = xarray (n, sizeof (*t->loopback));
    for (size_t i = 0; i < n; i++) {
        uint32_t end = pathset_endpoint (ps, i)->id;

        t->loopback[i] = given.loopback
                         + t->host[f->endpoint[f->end[end].endpoint].host];
    }
    opts->loopback_ns = t->loopback;
    return 0;
}

/* Apply SWITCH:HOST=PORT to the tables of f, which is a separate copy. */
static int misroute (struct fabric *f, const char *word, struct error *err)
{
    char *copy = xstrdup (word);
    char *equals = strrchr (copy, '=');
    char *colon = strrchr (copy, ':');
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

/* The set with its true paths: in *f, the fabric with the wrong routes. */
static struct pathset *actual_paths (const struct inputs *in,
                                     struct fabric **f, struct error *err)
{
    if (!(*f = fabric_load (in->fabric_path, err)))
        return NULL;
    for (size_t i = 0; i < given.misroute.n; i++)
        if (misroute (*f, given.misroute.v[i], err) < 0)
            return NULL;
    return pathset_on (in->ps, fabric_network (*f), err);
}

/*
 * Plans of probes, and of flows
 */

static int run_probes (struct inputs *in, struct error *err)
{
    static const double max[] = { 1, LATENCY_MAX_NS };
    struct simulate_options opts = {
        .repeats = (unsigned int)given.repeats,
        .seed = given.seed,
    };
    double outliers[2] = { 0 }; /* share, ns */
    struct samples *samples = NULL;
    struct fabric *twisted = NULL;
    struct pathset *actual = NULL;
    struct truth t = { 0 };
    FILE *fp;
    int rc = -1;

    if (given.rate.n > 0)
        return error_input (err, "--rate goes with a plan of method "
                                 "throughput");
    if (given.outliers && parse_numbers (given.outliers, max, 2, outliers) < 0)
        return error_input (err, "--outliers %.80s: SHARE:NS is wanted",
                            given.outliers);
    opts.outlier_share = outliers[0];
    opts.outlier_ns = outliers[1];
    if (make_truth (in->fabric, &opts, &t, err) == 0
        && make_noise (in->ps, &opts, &t, err) == 0
        && make_loopbacks (in->fabric, in->ps, &opts, &t, err) == 0
        && (given.misroute.n == 0
            || (actual = actual_paths (in, &twisted, err)))
        && (samples = simulate (actual ? actual : in->ps, in->plan, t.latency,
                                &opts, err))
        && (fp = inputs_output (in, err)))
        rc = samples_write (samples, in->ps, fp, err);
    samples_destroy (samples);
    free (t.latency);
    free (t.arc);
    free (t.busy);
    free (t.host);
    free (t.loopback);
    noise_destroy (t.noise);
    pathset_destroy (actual);
    fabric_destroy (twisted);
    return rc;
}

/* LINK=GBPS: the true rate of the link. */
static int set_rate (const struct fabric *f, const char *word, double *rate,
                     struct error *err)
{
    const char *equals = strrchr (word, '=');
    uint32_t link;
    double gbps;
    char *name;

    if (!equals || text_double (equals + 1, 1e-6, GBPS_MAX, &gbps) < 0)
        return error_input (err, "--rate %.80s: LINK=GBPS is wanted", word);
    name = xasprintf ("%.*s", (int)(equals - word), word);
    link = fabric_find_link (f, name);
    free (name);
    if (link == FABRIC_NONE)
        return error_input (err, "--rate %.80s: no such link", word);
    rate[link] = gbps * 1e9;
    return 0;
}

/* The series of max-min fair rates. */
static int run_flows (struct inputs *in, struct error *err)
{
    double *rate, *link;
    struct series *s = NULL;
    int rc = 0;
    FILE *fp;

    if (given.latency || given.outliers || given.busy || given.slow.n > 0
        || given.oneway.n > 0 || given.slow_switch.n > 0
        || given.slow_host.n > 0 || given.misroute.n > 0 || given.noise
        || given.spread > 0)
        return error_input (err, "the plan is of flows, which have no latency:"
                            " of what is different in truth, --rate alone goes"
                            " with it");
    if (!across_known (in->ps))
        return error_input (err, "the snapshot has no link's width and speed,"
                            " which flows could have");
    rate = xcalloc (plan_probes (in->plan), sizeof (*rate));
    link = across_rates (in->ps);
    for (size_t i = 0; i < given.rate.n && rc == 0; i++)
        rc = set_rate (in->fabric, given.rate.v[i], link, err);
    if (rc == 0)
        rc = carry_simulate (in->ps, in->plan, link, rate, err);
    if (rc == 0)
        rc = (s = measured_series (in->ps, in->plan, rate, MESSAGE, err))
                     && (fp = inputs_output (in, err))
                 ? series_write (s, fp, err)
                 : -1;
    series_destroy (s);
    free (rate);
    free (link);
    return rc;
}

static int check (const struct inputs *in, struct error *err)
{
    (void)in;
    if (given.repeats < 1 || given.repeats > REPEATS_MAX)
        return error_input (err, "--repeats: 1 to %d is wanted", REPEATS_MAX);
    return 0;
}

static int run (struct inputs *in, struct error *err)
{
    return plan_rules (plan_method (in->plan))->flows ? run_flows (in, err)
                                                      : run_probes (in, err);
}

const struct verb verb_simulate = {
    .name = "simulate", .help = "the round-trip times a plan would see",
    .needs = TAKES_FABRIC | TAKES_PLAN, .may = TAKES_OUTPUT,
    .options = options, .given = &given, .check = check, .run = run,
};
