/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "core/samples/simulate.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/paths/multipath.h"
#include "util/alloc.h"
#include "util/terminal.h"

#define JITTER_LOG_SD 0.6
#define BURST_ROUNDS 0.3 /* share of rounds with a burst */
#define BURST_P 0.8
#define BURST_NS 1500.0
#define STEP_NS 1000.0

enum { PASSES = 5, /* that a burst lasts */
       ROUNDS_APART = 4096,
       SLEEP_MIN_NS = 1000, SLEEP_MAX_NS = 50000,
       LATE_MIN_NS = 20000, LATE_MAX_NS = 100000 };

#define CALM .jitter_ns = 15, .shift_ns = 8
#define USUAL .jitter_ns = 40, .shift_ns = 20

/* pmm-replay(1) describes them. */
const struct noise_kind noise_kinds[] = {
    { "calm", CALM },
    { "site", USUAL, .tail_share = .02, .tail_ns = 2000, .repin_share = .1,
      .repin_ns = 200, .wait_share = .08, .wait_p = .3, .wait_ns = 400,
      .burst_share = .03, .sleep_share = .02 },
    { "busy", USUAL, .tail_share = .02, .tail_ns = 2000, .repin_share = .2,
      .repin_ns = 300, .wait_share = .15, .wait_p = .6, .wait_ns = 800,
      .burst_share = .1, .sleep_share = .02 },
    { "bgq5", USUAL, .wait_share = .05, .wait_p = .75, .wait_ns = 1500 },
    { "burst20", USUAL, .burst_share = .2 },
    { "cstate10", USUAL, .sleep_share = .1 },
    { "repin200", CALM, .repin_share = .1, .repin_ns = 200 },
    { "repin400", CALM, .repin_share = .2, .repin_ns = 400 },
    { "repin600", CALM, .repin_share = .2, .repin_ns = 600 },
    { "runsd60", .jitter_ns = 15, .shift_ns = 60 },
    { "steps", CALM, .step_share = .01 },
    { "loss5", CALM, .loss_share = .05 },
    { "hotspots", USUAL, .wait_share = .3, .wait_p = .9, .wait_ns = 300 },
    { "daemons", .jitter_ns = 80, .tail_share = .1, .tail_ns = 20000,
      .shift_ns = 40, .repin_share = .2, .repin_ns = 100, .sleep_share = .3 },
    { "late3", CALM, .late = 3 },
    { "jitter", .jitter_ns = 150, .shift_ns = 20 },
    { 0 },
};

const struct noise_kind *noise_find (const char *name)
{
    for (const struct noise_kind *k = noise_kinds; k->name; k++)
        if (!strcmp (k->name, name))
            return k;
    return NULL;
}

const char *noise_names (void)
{
    static char text[256];
    size_t len = 0;

    for (const struct noise_kind *k = noise_kinds; k->name; k++)
        len += (size_t)snprintf (text + len, sizeof (text) - len, "%s%s",
                                 len ? ", " : "", k->name);
    return text;
}

struct host_state {
    double shift_ns;
    bool sleeps, late;
};

struct noise {
    const struct noise_kind *kind;
    uint64_t seed;
    struct host_state *host; /* [endpoints] */
    uint8_t *waits, *bursts; /* [2 * nlinks] */
};

static bool happens (struct rng *rng, double p)
{
    return p > 0 && rng_uniform (rng) < p;
}

static double between (struct rng *rng, double low, double high)
{
    return low + (high - low) * rng_uniform (rng);
}

struct noise *noise_create (const struct noise_kind *kind,
                            const struct network *net, size_t n, uint64_t seed)
{
    struct noise *x = xcalloc (1, sizeof (*x));
    struct rng rng;

    x->kind = kind;
    x->seed = seed;
    x->host = xcalloc (n, sizeof (*x->host));
    x->waits = xcalloc (2 * net->nlinks, 1);
    x->bursts = xcalloc (2 * net->nlinks, 1);
    rng_seed (&rng, seed);
    for (size_t i = 0; i < n; i++) {
        x->host[i].shift_ns = kind->shift_ns * rng_normal (&rng);
        if (happens (&rng, kind->repin_share))
            x->host[i].shift_ns += happens (&rng, .5) ? kind->repin_ns
                                                      : -kind->repin_ns;
        x->host[i].sleeps = happens (&rng, kind->sleep_share);
    }
    for (unsigned int i = 0; i < kind->late && n > 0; i++)
        x->host[rng_below (&rng, n)].late = true;
    for (size_t k = 0; k < 2 * net->nlinks; k++)
        if (net->link[k / 2].kind == LINK_SWITCH) {
            x->waits[k] = happens (&rng, kind->wait_share);
            x->bursts[k] = happens (&rng, kind->burst_share);
        }
    return x;
}

void noise_destroy (struct noise *n)
{
    if (!n)
        return;
    free (n->host);
    free (n->waits);
    free (n->bursts);
    free (n);
}

static double traffic_ns (const struct noise *n, uint32_t round, uint32_t arc,
                          struct rng *rng)
{
    struct rng burst;
    double ns = 0;

    if (n->waits[arc] && happens (rng, n->kind->wait_p))
        ns += n->kind->wait_ns * rng_exponential (rng);
    if (n->bursts[arc]) {
        /* in that round, for all messages that cross the arc */
        rng_seed (&burst,
                  n->seed ^ (uint64_t)arc << 20 ^ (uint64_t)round << 50);
        if (rng_uniform (&burst) < BURST_ROUNDS && happens (rng, BURST_P))
            ns += BURST_NS * rng_exponential (rng);
    }
    return ns;
}

static double host_ns (const struct host_state *h, struct rng *rng)
{
    double ns = h->shift_ns;

    if (h->sleeps && happens (rng, .5))
        ns += between (rng, SLEEP_MIN_NS, SLEEP_MAX_NS);
    if (h->late)
        ns += between (rng, LATE_MIN_NS, LATE_MAX_NS);
    return ns;
}

/* For a part of a round trip. */
static double noise_delay (const struct noise_kind *kind, double part,
                           struct rng *rng)
{
    double ns = part * kind->jitter_ns
                * exp (JITTER_LOG_SD * rng_normal (rng));

    if (happens (rng, part * kind->tail_share))
        ns += kind->tail_ns * rng_exponential (rng);
    return ns;
}

static double jitter (const struct noise_kind *kind, struct rng *rng)
{
    double ns = noise_delay (kind, 1, rng);

    if (happens (rng, kind->step_share))
        ns += happens (rng, .5) ? STEP_NS : -STEP_NS;
    return ns;
}

double noise_loopback_ns (const struct noise *n, uint32_t end, struct rng *rng)
{
    return jitter (n->kind, rng) + host_ns (&n->host[end], rng);
}

double noise_message_ns (const struct noise *n, uint32_t a, uint32_t b,
                         uint32_t round, const uint32_t *arc, int narcs,
                         struct rng *rng)
{
    double ns = jitter (n->kind, rng);

    if (happens (rng, n->kind->loss_share))
        return -INFINITY;
    ns += host_ns (&n->host[a], rng) + host_ns (&n->host[b], rng);
    for (int i = 0; i < narcs; i++)
        ns += traffic_ns (n, round, arc[i], rng);
    return ns;
}

double noise_way_ns (const struct noise *n, uint32_t from, uint32_t slice,
                     const uint32_t *arc, int narcs, struct rng *rng)
{
    double ns = noise_delay (n->kind, .5, rng) + host_ns (&n->host[from], rng);

    for (int i = 0; i < narcs; i++)
        ns += traffic_ns (n, slice, arc[i], rng);
    return ns;
}

/*
 * Samples
 */

/* How long a round trip waits for others' messages. */
static double wait_ns (const struct row *row, unsigned int pass,
                       const struct simulate_options *opts, struct rng *rng)
{
    double sum = 0;

    for (size_t i = 0; i < row->n && opts->busy; i++) {
        uint32_t link = row->link[i];
        double p = opts->busy[link];
        struct rng activity; /* of a link in a pass, the same for all rows */

        if (!(p > 0))
            continue;
        rng_seed (&activity,
                  opts->seed ^ (uint64_t)link << 24 ^ (uint64_t)pass << 48);
        p *= 2 * rng_uniform (&activity);
        for (int k = 0; k < row->count[i] && p > 0; k++)
            if (rng_uniform (rng) < p)
                sum += opts->busy_ns * rng_exponential (rng);
    }
    return sum;
}

/* The time of a round trip without noise. */
static double quiet_ns (const struct row *row, const double *latency_ns,
                        const struct simulate_options *opts)
{
    double sum = 0;

    for (size_t i = 0; i < row->n; i++) {
        uint32_t link = row->link[i];

        sum += row->count[i] * latency_ns[link];
        if (opts->arc_ns)
            sum += row->forth[i] * opts->arc_ns[2 * link]
                   + (row->count[i] - row->forth[i])
                         * opts->arc_ns[2 * link + 1];
    }
    return sum;
}

struct simulation {
    const struct pathset *ps;
    uint32_t arc[2 * PATH_MAX_HOPS]; /* of the round trip */
    int narcs, there;                /* of them, on the way there */
    const double *latency_ns;
    const struct simulate_options *opts;
    struct rng noise, traffic, loop;
    double *v;            /* [repeats] scratch */
    double *flow_ns;      /* [SAMPLE_FLOWS_MAX] */
    struct samples *samples;
};

/* Choose the path of a flow, there and back. */
static int choose_path (struct simulation *sim, const struct sample *s,
                        unsigned int k, struct row *row, struct error *err)
{
    const struct traffic_class *as = sim->opts->spread;
    const struct network *net = pathset_network (sim->ps);
    uint32_t a = pathset_endpoint (sim->ps, s->a)->id;
    uint32_t b = pathset_endpoint (sim->ps, s->b)->id;
    uint64_t flow = sim->opts->seed ^ rng_mix ((uint64_t)a << 32 | b)
                    ^ (sim->opts->one_flow ? 0
                                           : 2 * k + (s->initiator == s->b));
    int there = multipath_walk (net, as, a, b, rng_mix (flow), sim->arc, err);
    int back = there < 0 ? -1
                         : multipath_walk (net, as, b, a, rng_mix (~flow),
                                           sim->arc + there, err);

    if (back < 0)
        return -1;
    sim->narcs = there + back;
    sim->there = there;
    row->n = 0;
    for (int i = 0; i < sim->narcs; i++) {
        uint32_t arc = sim->arc[i];
        size_t p = 0;

        while (p < row->n && row->link[p] != arc_link (arc))
            p++;
        if (p == row->n) {
            row->link[p] = arc_link (arc);
            row->count[p] = row->forth[p] = 0;
            row->n++;
        }
        row->count[p]++;
        row->forth[p] += arc % 2 == 0;
    }
    return 0;
}

/* Keep the least time of each way, from the initiator, of round trips with so
 * much noise, which is on both alike.
 */
static void keep_ways (const struct simulation *sim, struct sample *s,
                       double noise_ns)
{
    for (int way = 0; way < 2; way++) {
        bool back = way != (s->initiator == s->b);
        double ns = noise_ns / 2;

        for (int k = back ? sim->there : 0;
             k < (back ? sim->narcs : sim->there); k++)
            ns += sim->latency_ns[arc_link (sim->arc[k])]
                  + (sim->opts->arc_ns ? sim->opts->arc_ns[sim->arc[k]] : 0);
        if (s->way_ns[way] == 0 || ns < s->way_ns[way])
            s->way_ns[way] = fmax (ns, 1);
    }
}

/* Fill the quantiles of one side's repeats. */
static int simulate_repeats (struct simulation *sim, struct sample *s,
                             struct row *row, struct error *err)
{
    const struct simulate_options *opts = sim->opts;
    bool again = opts->again > 0 && s->round >= opts->again;
    unsigned int repeats = again ? opts->flows * opts->messages : opts->repeats;
    unsigned int flows = again ? opts->flows : opts->repeats, n = 0;
    unsigned int first = 0; /* of a flow */
    uint32_t slow[SLOW_LIMITS] = { 0 };
    bool within = !strcmp (pathset_endpoint (sim->ps, s->a)->host,
                           pathset_endpoint (sim->ps, s->b)->host);

    s->way_ns[0] = s->way_ns[1] = 0;
    if (opts->spread) {
        s->flow_ns = sim->flow_ns;
        s->nflows = flows < SAMPLE_FLOWS_MAX ? flows : SAMPLE_FLOWS_MAX;
    }
    for (unsigned int k = 0; k < repeats; k++) {
        unsigned int flow = k / (repeats / flows);
        double ns, rtt_ns;

        if (flow < s->nflows && k % (repeats / flows) == 0)
            first = n;
        if (opts->spread && choose_path (sim, s, flow, row, err) < 0)
            return -1;
        rtt_ns = quiet_ns (row, sim->latency_ns, opts);
        ns = wait_ns (row, k, opts, &sim->traffic);
        if (opts->noise_ns > 0)
            ns += opts->noise_ns * rng_normal (&sim->noise);
        if (opts->outlier_share > 0
            && rng_uniform (&sim->noise) < opts->outlier_share)
            ns += opts->outlier_ns * rng_exponential (&sim->noise);
        ns += rtt_ns;
        if (opts->noise)
            /* passes over a stage's rounds: time goes on */
            ns += noise_message_ns (opts->noise, s->a, s->b,
                                    s->round + k / PASSES * ROUNDS_APART,
                                    sim->arc, sim->narcs, &sim->traffic);
        if (opts->more)
            ns += opts->more (opts->more_arg,
                              &(struct simulated){ s->round, sim->arc,
                                                   sim->narcs, sim->there },
                              &sim->traffic);
        if (within && ns > -INFINITY)
            keep_ways (sim, s, ns - rtt_ns);
        if (ns > -INFINITY)
            sim->v[n++] = fmax (ns, 0);
        if (flow < s->nflows && (k + 1) % (repeats / flows) == 0)
            sim->flow_ns[flow] = sample_flow (sim->v + first, n - first, slow);
    }
    s->sent = repeats;
    s->lost = repeats - n;
    if (n > 0)
        sample_times (s, sim->v, n, opts->spread ? slow : NULL);
    return 0;
}

static int simulate_probe (struct simulation *sim, const struct probe *probe,
                           uint32_t round, struct error *err)
{
    struct sample sample = {
        .a = probe->a,
        .b = probe->b,
        .round = round,
        .sent = sim->opts->repeats,
    };
    const uint32_t initiator[2] = { probe->a, probe->b };
    struct row row;
    int there, back;

    if (pathset_row (sim->ps, probe->a, probe->b, &row, err) < 0
        || (there = pathset_walk (sim->ps, probe->a, probe->b, sim->arc, err))
               < 0
        || (back = pathset_walk (sim->ps, probe->b, probe->a,
                                 sim->arc + there, err)) < 0)
        return -1;
    sim->narcs = there + back;
    sim->there = there;
    for (int side = 0; side < 2; side++) {
        sample.initiator = initiator[side];
        if (simulate_repeats (sim, &sample, &row, err) < 0)
            return -1;
        samples_add (sim->samples, &sample);
    }
    return 0;
}

static double loopback_ns (struct simulation *sim, uint32_t end)
{
    const struct simulate_options *opts = sim->opts;
    double ns = opts->loopback_ns[end];

    if (opts->noise_ns > 0)
        ns += opts->noise_ns * rng_normal (&sim->loop);
    if (opts->noise)
        ns += noise_loopback_ns (opts->noise, end, &sim->loop);
    return fmax (ns, 0);
}

static void simulate_loopbacks (struct simulation *sim, size_t rounds)
{
    unsigned int repeats = sim->opts->repeats;

    for (size_t part = 0; part <= 2; part++)
        for (uint32_t end = 0; end < pathset_size (sim->ps); end++) {
            struct loopback l = { .end = end,
                                  .round = (uint32_t)(part * rounds / 2) };

            for (unsigned int k = 0; k < repeats; k++)
                sim->v[k] = loopback_ns (sim, end);
            sample_quantiles (l.rtt_ns, sim->v, repeats);
            samples_add_loopback (sim->samples, &l);
        }
}

struct samples *simulate (const struct pathset *ps, const struct plan *plan,
                          const double *latency_ns,
                          const struct simulate_options *opts,
                          struct error *err)
{
    struct simulation sim = {
        .ps = ps,
        .latency_ns = latency_ns,
        .opts = opts,
        .v = xarray (opts->repeats + opts->flows * opts->messages,
                     sizeof (*sim.v)),
        .flow_ns = xarray (SAMPLE_FLOWS_MAX, sizeof (*sim.flow_ns)),
        .samples = samples_create (),
    };

    rng_seed (&sim.noise, opts->seed);
    rng_seed (&sim.traffic, ~opts->seed);
    rng_seed (&sim.loop, opts->seed + 1);
    for (size_t i = 0; i < pathset_size (ps); i++) {
        const char *host = pathset_endpoint (ps, i)->host;

        /* rails of one host are adjacent */
        if (i == 0 || strcmp (host, pathset_endpoint (ps, i - 1)->host))
            samples_add_host (sim.samples, host, true);
    }
    if (opts->loopback_ns)
        simulate_loopbacks (&sim, plan_rounds (plan));
    for (size_t r = 0; r < plan_rounds (plan); r++) {
        size_t n;
        const struct probe *probe = plan_round (plan, r, &n);

        terminal_work ("round", r, plan_rounds (plan));
        for (size_t i = 0; i < n; i++)
            if (simulate_probe (&sim, &probe[i], (uint32_t)r, err) < 0)
                goto error;
    }
    sim.samples->complete = true;
    if (opts->spread) {
        sim.samples->spread = 1;
        sim.samples->level = opts->spread->level;
        sim.samples->rc = opts->spread->rc;
    }
    free (sim.v);
    free (sim.flow_ns);
    return sim.samples;
error:
    free (sim.v);
    free (sim.flow_ns);
    samples_destroy (sim.samples);
    return NULL;
}
