/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm simulate: the round-trip times that a plan would measure. */
#include "config.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/samples/simulate.h"
#include "ibquery/spread.h"
#include "pmm/verb.h"
#include "util/rng.h"

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

static struct simulate_words {
    const char *latency, *noise, *outliers, *busy;
    struct strings slow, oneway, slow_switch, slow_host, misroute;
    double spread, loopback;
    int repeats;
    uint64_t seed;
} given = { .repeats = 5, .seed = 1, .loopback = LOOPBACK_NS };

#define FIELD(name) offsetof (struct simulate_words, name)
static const struct opt options[] = {
    { "latency", 0, "FILE|random:MIN:MAX[:SEED]", opt_string, FIELD (latency),
      "latencies of links: lines 'LINK ns', or random ones" },
    { "slow", 0, "LINK=+NS", opt_append, FIELD (slow),
      "make a link slower by NS; may be given several times" },
    { "slow-oneway", 0, "PORT=+NS", opt_append, FIELD (oneway),
      "make a link slower for messages that leave by this port" },
    { "slow-switch", 0, "SWITCH=+NS", opt_append, FIELD (slow_switch),
      "make all links of a switch slower" },
    { "slow-host", 0, "HOST=+NS", opt_append, FIELD (slow_host),
      "make a host's software slower: its round trips and loopback" },
    { "misroute", 0, "SWITCH:HOST=PORT", opt_append, FIELD (misroute),
      "plant a wrong route: the switch sends HOST's messages through PORT" },
    { "spread", 0, "NS", opt_double, FIELD (spread),
      "make each cable longer by up to NS" },
    { "busy", 0, "SHARE:P:NS", opt_string, FIELD (busy),
      "others' traffic: on this SHARE of the links, messages wait with chance "
      "P" },
    { "noise", 0, "NS|NAME", opt_string, FIELD (noise),
      "standard deviation of one RTT, or a day like a site's (default: 0)" },
    { "outliers", 0, "P:NS", opt_string, FIELD (outliers),
      "SHARE of round trips takes longer, exponentially, NS on average" },
    { "loopback", 0, "NS", opt_double, FIELD (loopback),
      "what a host's message to itself takes; 0: no loopbacks"
      " (default: 600)", 0, LATENCY_MAX_NS },
    { "repeats", 0, "N", opt_int, FIELD (repeats),
      "round trips of each probe from either side (default: 5)", 1,
      REPEATS_MAX },
    { "seed", 0, "N", opt_u64, FIELD (seed),
      "seed of noise and outliers (default: 1)" },
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
    char *copy = pool_strdup (verb_pool, text);
    char *rest = copy;
    int rc = 0;

    for (size_t i = 0; i < n && rc == 0; i++)
        rc = rest ? text_double (strsep (&rest, ":"), 0, max[i], &value[i])
                  : -1;
    return rest ? -1 : rc;
}

/*
 * Latencies
 */

static void random_latencies (const struct fabric *f, const char *how,
                              double *latency)
{
    static const double max[] = { LATENCY_MAX_NS, LATENCY_MAX_NS };
    const char *range = how + strlen ("random:");
    const char *last = strrchr (range, ':');
    bool seeded = last && last != strchr (range, ':');
    char *copy
        = verb_text ("%.*s", seeded ? (int)(last - range) : INT_MAX, range);
    uint64_t seed = 1;
    double v[2] = { 0 };
    struct rng rng;

    if ((seeded && text_u64 (last + 1, 0, UINT64_MAX, &seed) < 0)
        || parse_numbers (copy, max, 2, v) < 0 || v[1] < v[0])
        die_input ("--latency %.80s: expected random:MIN:MAX[:SEED], in ns",
                   how);
    rng_seed (&rng, seed);
    for (size_t l = 0; l < f->nlinks; l++)
        latency[l] = v[0] + (v[1] - v[0]) * rng_uniform (&rng);
}

/* Read lines "LINK ns"; the name may contain blanks. */
static void read_latencies (const struct fabric *f, const char *path,
                            double *latency)
{
    FILE *fp = need (file_open_input (path, &fault));
    size_t len, n = 1;
    char *text
        = verb_keep (need (file_slurp (fp, LATENCY_BYTES_MAX, &len, &fault)));
    bool *seen = verb_array (f->nlinks, sizeof (*seen));

    file_close_input (fp);
    for (char *line = text, *next; line; line = next, n++) {
        char *number;
        uint32_t link;
        double ns;

        if ((next = strchr (line, '\n')))
            *next++ = '\0';
        line += strspn (line, " \t\r");
        if (!*line || *line == '#')
            continue;
        for (len = strlen (line); len > 0 && strchr (" \t\r", line[len - 1]);)
            line[--len] = '\0';
        number = line + len;
        while (number > line && !strchr (" \t", number[-1]))
            number--;
        if (number == line || text_double (number, 0, LATENCY_MAX_NS, &ns) < 0)
            die_input ("%s:%zu: expected 'LINK ns'", path, n);
        while (number > line && strchr (" \t", number[-1]))
            *--number = '\0';
        if ((link = fabric_find_link (f, line)) == FABRIC_NONE)
            die_input ("%s:%zu: no link '%.80s'", path, n, line);
        if (seen[link])
            die_input ("%s:%zu: a link for the second time", path, n);
        seen[link] = true;
        latency[link] = ns;
    }
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
    uint32_t host = fabric_host_named (f, name);

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

/* Split NAME=NUMBER, of which the number is from min to max. form is for the
 * error.
 */
static char *split_option (const char *option, const char *form,
                           const char *word, double min, double max,
                           double *number)
{
    const char *equals = strrchr (word, '=');

    if (!equals || text_double (equals + 1, min, max, number) < 0)
        die_input ("--%s %.80s: expected %s", option, word, form);
    return verb_text ("%.*s", (int)(equals - word), word);
}

static void add_simulated_fault (const struct fabric *f,
                                 const struct fault_kind *kind,
                                 const char *word, struct truth *t)
{
    double ns;
    char *name = split_option (kind->option, "NAME=+NS", word, -LATENCY_MAX_NS,
                               LATENCY_MAX_NS, &ns);

    if (!kind->slow (f, name, ns, t))
        die_input ("--%s %.80s: no such %s", kind->option, word, kind->of);
}

/*
 * The truth
 */

static void make_truth (const struct inputs *in, struct simulate_options *opts,
                        struct truth *t)
{
    static const double max[] = { 1, 1, LATENCY_MAX_NS };
    const struct fabric *f = in->fabric;
    double busy[3]; /* share, probability, ns */
    struct rng rng;

    t->latency = verb_array (f->nlinks, sizeof (*t->latency));
    t->arc = verb_array (2 * f->nlinks, sizeof (*t->arc));
    t->busy = verb_array (f->nlinks, sizeof (*t->busy));
    t->host = verb_array (f->nhosts, sizeof (*t->host));
    opts->arc_ns = t->arc;
    for (size_t l = 0; l < f->nlinks; l++)
        t->latency[l] = f->link[l].kind == LINK_HOST ? HOST_NS : SWITCH_NS;
    if (given.latency)
        (strncmp (given.latency, "random:", strlen ("random:")) == 0
             ? random_latencies
             : read_latencies) (f, given.latency, t->latency);
    rng_seed (&rng, SPREAD_SEED);
    for (size_t l = 0; l < f->nlinks; l++)
        t->latency[l] += given.spread * rng_uniform (&rng);
    for (size_t i = 0; i < sizeof (fault_kinds) / sizeof (fault_kinds[0]); i++)
        for (size_t k = 0; k < fault_kinds[i].faults->n; k++)
            add_simulated_fault (f, &fault_kinds[i],
                                 fault_kinds[i].faults->v[k], t);
    for (size_t l = 0; l < f->nlinks; l++)
        if (t->latency[l] + t->arc[2 * l] < 0
            || t->latency[l] + t->arc[2 * l + 1] < 0)
            die_input ("--slow: link %s is below 0 ns", f->link[l].id);
    if (!given.busy)
        return;
    if (parse_numbers (given.busy, max, 3, busy) < 0)
        die_input ("--busy %.80s: expected SHARE:P:NS", given.busy);
    rng_seed (&rng, BUSY_SEED + given.seed);
    for (size_t l = 0; l < f->nlinks; l++)
        t->busy[l] = rng_uniform (&rng) < busy[0] ? busy[1] : 0;
    opts->busy = t->busy;
    opts->busy_ns = busy[2];
}

/* A number of ns, or the name of a kind of noise. */
static void set_simulated_noise (const struct pathset *ps,
                                 struct simulate_options *opts, struct truth *t)
{
    const struct noise_kind *kind;

    if (!given.noise
        || text_double (given.noise, 0, LATENCY_MAX_NS, &opts->noise_ns) == 0)
        return;
    if (!(kind = noise_find (given.noise)))
        die_input ("--noise %.80s: expected a number of ns, or one of %s",
                   given.noise, noise_names ());
    opts->noise = t->noise = noise_create (kind, pathset_network (ps),
                                           pathset_size (ps),
                                           NOISE_SEED + given.seed);
}

/* The loopback times of the plan's endpoints. */
static void make_loopbacks (const struct fabric *f, const struct pathset *ps,
                            struct simulate_options *opts, struct truth *t)
{
    size_t n = pathset_size (ps);

    if (given.loopback == 0)
        return;
    t->loopback = verb_array (n, sizeof (*t->loopback));
    for (size_t i = 0; i < n; i++) {
        uint32_t end = pathset_endpoint (ps, i)->id;

        t->loopback[i] = given.loopback
                         + t->host[f->endpoint[f->end[end].endpoint].host];
    }
    opts->loopback_ns = t->loopback;
}

/* Apply SWITCH:HOST=PORT to the tables of f, which is a separate copy. */
static void misroute (struct fabric *f, const char *word)
{
    char *copy = pool_strdup (verb_pool, word);
    char *equals = strrchr (copy, '=');
    char *colon = strrchr (copy, ':');
    uint32_t sw = FABRIC_NONE;
    uint32_t host = FABRIC_NONE;
    uint64_t port = 0;

    if (equals && colon && colon < equals) {
        *equals = *colon = '\0';
        sw = fabric_find_switch (f, copy);
        host = fabric_find_end (f, colon + 1);
    }
    if (sw == FABRIC_NONE || host == FABRIC_NONE
        || text_u64 (equals + 1, 1, f->node[sw].nports, &port) < 0)
        die_input ("--misroute %.80s: expected SWITCH:HOST=PORT", word);
    if (f->end[host].lid > f->node[sw].lft_top)
        die_input ("--misroute %.80s: the switch has no route to this host",
                   word);
    f->node[sw].lft[f->end[host].lid] = (uint8_t)port;
}

/*
 * Plans of probes, and of flows
 */

/* Spread messages as switches do on the service level that probes choose. */
static void set_service_level (const struct inputs *in,
                               struct traffic_class *as,
                               struct spread_choice *c,
                               struct simulate_options *opts)
{
    size_t confirm = plan_confirm_rounds (in->plan);
    bool adaptive;

    need_ok (spread_choose (in->fabric, in->ps, as->rc, as->level, c, &fault));
    as->level = c->level;
    if (c->spread == 0)
        return;
    opts->spread = as;
    opts->again = confirm > 0 ? plan_rounds (in->plan) - confirm : 0;
    adaptive = c->on[c->level].adaptive > 0;
    opts->flows = adaptive ? SAMPLE_SINGLES_AGAIN : SAMPLE_FLOWS_AGAIN;
    opts->messages = adaptive ? 1 : SAMPLE_TIMES_AGAIN;
}

static int run_simulate (struct inputs *in)
{
    static const double max[] = { 1, LATENCY_MAX_NS };
    struct simulate_options opts = {
        .repeats = (unsigned int)given.repeats, .seed = given.seed,
    };
    double outliers[2] = { 0 }; /* share, ns */
    struct traffic_class as = { 0, false };
    struct spread_choice level;
    struct pathset *ps = in->ps; /* with the true paths */
    struct fabric *twisted = NULL;
    struct samples *samples;
    struct truth t = { 0 };

    if (plan_rules (plan_method (in->plan))->flows)
        die_input ("a plan of flows: pmm-compare simulate takes these");
    if (given.outliers && parse_numbers (given.outliers, max, 2, outliers) < 0)
        die_input ("--outliers %.80s: expected SHARE:NS", given.outliers);
    opts.outlier_share = outliers[0];
    opts.outlier_ns = outliers[1];
    set_service_level (in, &as, &level, &opts);
    make_truth (in, &opts, &t);
    set_simulated_noise (in->ps, &opts, &t);
    make_loopbacks (in->fabric, in->ps, &opts, &t);
    if (given.misroute.n > 0) {
        twisted = inputs_open (in, in->fabric_path);
        for (size_t i = 0; i < given.misroute.n; i++)
            misroute (twisted, given.misroute.v[i]);
        ps = need (pathset_on (in->ps, fabric_network (twisted), &fault));
    }
    samples = need (simulate (ps, in->plan, t.latency, &opts, &fault));
    samples->level = level.level;
    samples->spread = level.spread;
    need_ok (samples_write (samples, in->ps, inputs_output (in), &fault));
    samples_destroy (samples);
    if (ps != in->ps)
        pathset_destroy (ps);
    fabric_destroy (twisted);
    noise_destroy (t.noise);
    return EXIT_OK;
}

const struct verb verb_simulate = {
    .group = VERBS_REPLAY, .name = "simulate",
    .help = "simulate the round-trip times that a plan would measure",
    .needs = TAKES_FABRIC | TAKES_PLAN, .may = TAKES_OUTPUT,
    .options = options, .given = &given, .run = run_simulate,
};
