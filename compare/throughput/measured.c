/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "compare/throughput/measured.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"

#define NOBODY UINT32_MAX
#define RATE_MAX 1e15 /* bits a second: of no link */

/* The endpoint of a process, or NOBODY. */
static uint32_t endpoint_of (const struct pathset *ps,
                             const struct series_process *p)
{
    int at = pathset_find (ps, p->label);

    for (size_t i = 0; i < pathset_size (ps) && at < 0; i++)
        if (strcmp (pathset_endpoint (ps, i)->host, p->host) == 0)
            at = (int)i;
    return at < 0 ? NOBODY : (uint32_t)at;
}

/* process[] by endpoint; 0, or -1 with err. */
static int find_processes (const struct series *s, const struct pathset *ps,
                           uint32_t *process, struct error *err)
{
    size_t known = 0;

    for (size_t i = 0; i < pathset_size (ps); i++)
        process[i] = NOBODY;
    for (uint32_t i = 0; i < s->nprocesses; i++) {
        uint32_t e = endpoint_of (ps, &s->process[i]);

        if (e == NOBODY)
            continue;
        if (process[e] != NOBODY)
            return error_input (err, "two processes of the series are at %s",
                                pathset_endpoint (ps, e)->name);
        process[e] = i;
        known++;
    }
    return known > 0 ? 0 : error_input (err, "the series has no process at any"
                                        " endpoint of the plan");
}

static double pair_time (const struct series *s, uint32_t a, uint32_t b,
                         uint64_t length)
{
    const struct series_pair *pair = series_at (s, a, b, length);
    double ns;

    if (!series_measured (pair))
        return NAN;
    ns = pair->time_ns[SERIES_MEDIAN];
    return isnan (ns) ? pair->time_ns[SERIES_MEAN] : ns;
}

static double bits_a_second (double time_ns, uint64_t length)
{
    return time_ns > 0 ? length / 2. * 8 / (time_ns * 1e-9) : NAN;
}

static double flow_rate (const struct series *s, uint32_t a, uint32_t b)
{
    uint64_t length = s->length[s->nlengths - 1];
    double there, back;

    if (a == NOBODY || b == NOBODY)
        return NAN;
    there = bits_a_second (pair_time (s, a, b, length), length);
    back = bits_a_second (pair_time (s, b, a, length), length);
    if (isnan (there) || isnan (back))
        return isnan (there) ? back : there;
    return (there + back) / 2;
}

int measured_rates (const struct series *s, const struct pathset *ps,
                    const struct plan *plan, double *rate, struct error *err)
{
    uint32_t *process;
    size_t at = 0;
    int rc;

    if (s->test != SERIES_ASYNC_ONE_TO_ONE)
        return error_input (err, "a series of exchanges both ways at once is"
                            " wanted, this one is of %s",
                            series_test_name (s->test));
    if (s->nlengths == 0 || s->length[s->nlengths - 1] == 0)
        return error_input (err, "a series of messages without a byte");
    if (!(process = xcalloc (pathset_size (ps) + 1, sizeof (*process))))
        return error_nomem (err);
    rc = find_processes (s, ps, process, err);
    for (size_t r = 0; r < plan_rounds (plan) && rc == 0; r++) {
        size_t n;
        const struct probe *p = plan_round (plan, r, &n);

        for (size_t i = 0; i < n && rc == 0; i++, at++) {
            rate[at] = flow_rate (s, process[p[i].a], process[p[i].b]);
            if (rate[at] > RATE_MAX)
                rc = error_input (err, "%s to %s: %.3g Gb/s are more than any"
                                  " link has",
                                  pathset_endpoint (ps, p[i].a)->name,
                                  pathset_endpoint (ps, p[i].b)->name,
                                  rate[at] / 1e9);
        }
    }
    free (process);
    return rc;
}

static int add_flow (struct series *s, struct probe p, uint64_t length,
                     double rate, struct error *err)
{
    struct series_pair pair = {
        .a = p.a, .b = p.b, .count = 1, .lost = isnan (rate),
        .length = length,
    };

    for (int k = 0; k < SERIES_STATS; k++)
        pair.time_ns[k] = k == SERIES_SD ? 0 : length / 2. * 8 / rate * 1e9;
    if (isnan (rate))
        s->complete = false;
    return series_add_pair (s, &pair, err);
}

static int fill (struct series *s, const struct pathset *ps,
                 const struct plan *plan, const double *rate, uint64_t length,
                 struct error *err)
{
    size_t at = 0;

    for (size_t i = 0; i < pathset_size (ps); i++)
        if (series_add_process (s, pathset_endpoint (ps, i)->name,
                                pathset_endpoint (ps, i)->host, err) < 0)
            return -1;
    for (size_t r = 0; r < plan_rounds (plan); r++) {
        size_t n;
        const struct probe *p = plan_round (plan, r, &n);

        for (size_t i = 0; i < n; i++)
            if (add_flow (s, p[i], length, rate[at++], err) < 0)
                return -1;
    }
    s->steps = plan_rounds (plan);
    s->probes = plan_probes (plan);
    s->repeats = 1;
    snprintf (s->fabric, sizeof (s->fabric), "%s", pathset_network (ps)->hash);
    snprintf (s->pattern, sizeof (s->pattern), "%s", plan_method (plan));
    snprintf (s->exchange, sizeof (s->exchange), "both-ways");
    snprintf (s->transport, sizeof (s->transport), "simulated");
    return series_sort (s, err);
}

struct series *measured_series (const struct pathset *ps,
                                const struct plan *plan, const double *rate,
                                uint64_t length, struct error *err)
{
    struct series *s = series_create (SERIES_ASYNC_ONE_TO_ONE);

    if (!s) {
        error_nomem (err);
        return NULL;
    }
    if (fill (s, ps, plan, rate, length, err) < 0) {
        series_destroy (s);
        return NULL;
    }
    return s;
}
