/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "core/samples/simulate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/rng.h"

/* A random number for a link in a pass, the same for all rows. */
static double activity (const struct simulate_options *opts, uint32_t link,
                        unsigned int pass)
{
    struct rng rng;

    rng_seed (&rng, opts->seed ^ (uint64_t)link << 24 ^ (uint64_t)pass << 48);
    return 2 * rng_uniform (&rng);
}

/* How long a round trip waits for others' messages. */
static double wait_ns (const struct row *row, unsigned int pass,
                       const struct simulate_options *opts, struct rng *rng)
{
    double sum = 0;

    for (size_t i = 0; i < row->n && opts->busy; i++) {
        uint32_t link = row->link[i];
        double p = opts->busy[link];

        if (p > 0)
            p *= activity (opts, link, pass);
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
    int narcs;
    const double *latency_ns;
    const struct simulate_options *opts;
    struct rng noise, traffic, loop;
    double *v;            /* [repeats] scratch */
    struct samples *samples;
};

/* The simple noise, and traffic. */
static double disturb (struct simulation *sim, const struct row *row,
                       unsigned int pass)
{
    const struct simulate_options *opts = sim->opts;
    double ns = wait_ns (row, pass, opts, &sim->traffic);

    if (opts->noise_ns > 0)
        ns += opts->noise_ns * rng_normal (&sim->noise);
    if (opts->outlier_share > 0
        && rng_uniform (&sim->noise) < opts->outlier_share)
        ns += opts->outlier_ns * rng_exponential (&sim->noise);
    return ns;
}

/* Fill the quantiles of one side's repeats. */
static void measure (struct simulation *sim, struct sample *s,
                     const struct row *row)
{
    const struct simulate_options *opts = sim->opts;
    double rtt_ns = quiet_ns (row, sim->latency_ns, opts);
    unsigned int n = 0;

    for (unsigned int k = 0; k < opts->repeats; k++) {
        double ns = rtt_ns + disturb (sim, row, k);

        if (opts->noise)
            ns += noise_message_ns (opts->noise, s->a, s->b, s->round,
                                    sim->arc, sim->narcs, &sim->traffic);
        if (ns > -INFINITY)
            sim->v[n++] = fmax (ns, 0);
    }
    s->lost = opts->repeats - n;
    if (n > 0)
        sample_quantiles (s->rtt_ns, sim->v, n);
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
    for (int side = 0; side < 2; side++) {
        sample.initiator = initiator[side];
        measure (sim, &sample, &row);
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

static void add_hosts (struct samples *samples, const struct pathset *ps)
{
    for (size_t i = 0; i < pathset_size (ps); i++) {
        const char *host = pathset_endpoint (ps, i)->host;

        /* rails of one host are adjacent */
        if (i > 0 && !strcmp (host, pathset_endpoint (ps, i - 1)->host))
            continue;
        samples_add_host (samples, host, true);
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
        .v = xarray (opts->repeats, sizeof (*sim.v)),
        .samples = samples_create (),
    };

    rng_seed (&sim.noise, opts->seed);
    rng_seed (&sim.traffic, ~opts->seed);
    rng_seed (&sim.loop, opts->seed + 1);
    add_hosts (sim.samples, ps);
    if (opts->loopback_ns)
        simulate_loopbacks (&sim, plan_rounds (plan));
    for (size_t r = 0; r < plan_rounds (plan); r++) {
        size_t n;
        const struct probe *probe = plan_round (plan, r, &n);

        for (size_t i = 0; i < n; i++)
            if (simulate_probe (&sim, &probe[i], (uint32_t)r, err) < 0)
                goto error;
    }
    sim.samples->complete = true;
    free (sim.v);
    return sim.samples;
error:
    free (sim.v);
    samples_destroy (sim.samples);
    return NULL;
}
