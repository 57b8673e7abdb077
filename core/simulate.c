/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "core/simulate.h"

#include <stdlib.h>
#include <string.h>

#include "util/rng.h"

/* Fill the quantiles of one side's repeats of an RTT; v is scratch. */
static void measure (struct sample *s, double rtt_ns, double *v,
                     const struct simulate_options *opts, struct rng *rng)
{
    for (unsigned int k = 0; k < opts->repeats; k++) {
        v[k] = rtt_ns;
        if (opts->noise_ns > 0)
            v[k] += opts->noise_ns * rng_normal (rng);
        if (opts->outlier_share > 0
            && rng_uniform (rng) < opts->outlier_share)
            v[k] += opts->outlier_ns * rng_exponential (rng);
        if (v[k] < 0)
            v[k] = 0;
    }
    sample_quantiles (s, v, opts->repeats);
}

static int simulate_probe (struct samples *samples, const struct pathset *ps,
                           const struct probe *probe, uint32_t round,
                           const double *latency_ns,
                           const struct simulate_options *opts,
                           struct rng *rng, double *v, struct error *err)
{
    struct sample sample = {
        .a = probe->a,
        .b = probe->b,
        .round = round,
        .sent = opts->repeats,
    };
    const uint32_t initiator[2] = { probe->a, probe->b };
    double rtt_ns = 0;
    struct row row;

    if (pathset_row (ps, probe->a, probe->b, &row, err) < 0)
        return -1;
    for (size_t i = 0; i < row.n; i++)
        rtt_ns += row.count[i] * latency_ns[row.link[i]];
    for (int side = 0; side < 2; side++) {
        sample.initiator = initiator[side];
        measure (&sample, rtt_ns, v, opts, rng);
        if (samples_add (samples, &sample) < 0)
            return error_nomem (err);
    }
    return 0;
}

static int add_hosts (struct samples *samples, const struct pathset *ps)
{
    for (size_t i = 0; i < pathset_size (ps); i++) {
        const char *host = pathset_endpoint (ps, i)->host;

        /* rails of one host stand together */
        if (i > 0 && !strcmp (host, pathset_endpoint (ps, i - 1)->host))
            continue;
        if (samples_add_host (samples, host, true) < 0)
            return -1;
    }
    return 0;
}

struct samples *simulate (const struct pathset *ps, const struct plan *plan,
                          const double *latency_ns,
                          const struct simulate_options *opts,
                          struct error *err)
{
    struct samples *samples = samples_create ();
    double *v = malloc (opts->repeats * sizeof (*v));
    struct rng rng;

    if (!samples || !v || add_hosts (samples, ps) < 0) {
        error_nomem (err);
        goto error;
    }
    rng_seed (&rng, opts->seed);
    for (size_t r = 0; r < plan_rounds (plan); r++) {
        size_t n;
        const struct probe *probe = plan_round (plan, r, &n);

        for (size_t i = 0; i < n; i++)
            if (simulate_probe (samples, ps, &probe[i], (uint32_t)r,
                                latency_ns, opts, &rng, v, err)
                < 0)
                goto error;
    }
    samples->complete = true;
    free (v);
    return samples;
error:
    free (v);
    samples_destroy (samples);
    return NULL;
}
